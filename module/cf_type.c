/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cuckoo filter as it is saved, dumped and copied. The header that CF.SCANDUMP gives is
 *
 *     byte 0     items                       u64, little-endian, as all that follows
 *     byte 8     buckets of the first sub-filter     u64
 *     byte 16    deletes since the last compaction   u64
 *     byte 24    sub-filters                 u64
 *     byte 32    slots of a bucket           u16
 *     byte 34    iterations at most          u16
 *     byte 36    growth                      u16
 *
 * and the slots of the sub-filters follow one another. A payload (RDB, DUMP), as the reference
 * writes it (encoding version 4), has the same numbers in another order:
 *
 *     U sub-filters, U buckets, U items, U deletes, U slots of a bucket, U iterations, U growth
 *     each sub-filter: U buckets, S slots
 *
 * Memory is taken for slots that came, never for slots that are announced: the server's copies wait
 * until all have come. The AOF has CF.LOADCHUNK commands; pieces of zeros are left out, because the
 * header alone makes a filter of zeros.
 */
#include "cf.h"

#include <assert.h>
#include <string.h>

enum {
    FILTERS_MAX = 65536,
    PIECE_BYTES = 16 * 1024 * 1024, /* of the AOF */
    STEP_BYTES = 4 * 1024 * 1024,   /* of loading */
};

/* ---- Loading --------------------------------------------------------------------------------- */

/* The sub-filters of a payload. */
struct waiting {
    char **slots; /* the server's; NULL: already given back */
    uint64_t *bytes;
    uint64_t read;
};

/* What a header says, in its order. */
struct header {
    uint64_t items, buckets, deletes, filters;
    uint16_t slots, iterations, growth;
    uint8_t bytes[BLOOMERY_CUCKOO_HEADER];
};

/* Reads the numbers of a payload, and makes a header of them. */
static bool read_header(server_io *io, struct header *header)
{
    uint64_t slots, iterations, growth;
    if (!bf_read_number(io, &header->filters) || !bf_read_number(io, &header->buckets) ||
        !bf_read_number(io, &header->items) || !bf_read_number(io, &header->deletes) ||
        !bf_read_number(io, &slots) || !bf_read_number(io, &iterations) ||
        !bf_read_number(io, &growth))
        return false;
    header->slots = (uint16_t)slots;
    header->iterations = (uint16_t)iterations;
    header->growth = (uint16_t)growth;
    memcpy(header->bytes, &header->items, 4 * sizeof header->items);
    memcpy(header->bytes + 32, &header->slots, 3 * sizeof header->slots);
    return header->filters > 0 && header->filters <= FILTERS_MAX && slots <= UINT16_MAX &&
           iterations <= UINT16_MAX && growth <= UINT16_MAX;
}

/* Each sub-filter has `growth` times as many buckets as the one before. */
static bool read_slots(server_io *io, const struct header *header, struct waiting *waiting)
{
    uint64_t expected = header->buckets;
    for (; waiting->read < header->filters; waiting->read++) {
        uint64_t buckets, bytes;
        if (!bf_read_number(io, &buckets) || buckets != expected ||
            __builtin_mul_overflow(buckets, header->slots, &bytes))
            return false;
        char *slots = bf_read_bits(io, bytes);
        if (slots == NULL)
            return false;
        waiting->slots[waiting->read] = slots;
        waiting->bytes[waiting->read] = bytes;
        if (__builtin_mul_overflow(expected, header->growth, &expected))
            expected = 0; /* of no sub-filter */
    }
    return true;
}

/* Copies slots step by step, whose pages go back to the kernel as they lie in the filter. */
static bool place(struct bf_value *value, uint64_t begin, char *slots, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes;) {
        const uint64_t step = bytes - at < STEP_BYTES ? bytes - at : STEP_BYTES;
        if (bloomery_cuckoo_load_chunk(value->filter, begin + at + step + 1, slots + at,
                                       (size_t)step, NULL) != BLOOMERY_OK)
            return false;
        bf_drop_pages(slots + at, (size_t)step);
        at += step;
    }
    return true;
}

static struct bf_value *read_filter(server_io *io, const struct header *header,
                                    struct waiting *waiting)
{
    struct bf_value *value = NULL;
    bool made =
        read_slots(io, header, waiting) &&
        cf_value_from_header(NULL, header->bytes, sizeof header->bytes, &value) == BLOOMERY_OK;
    uint64_t begin = 0;
    for (uint64_t i = 0; i < waiting->read; i++) {
        made = made && place(value, begin, waiting->slots[i], waiting->bytes[i]);
        begin += waiting->bytes[i];
        server.Free(waiting->slots[i]);
    }
    if (made)
        return value;
    cf_value_free(value);
    return NULL;
}

static void *load(server_io *io, int encoding)
{
    struct header header = {0};
    struct waiting waiting = {0};
    struct bf_value *value = NULL;
    const uint64_t refused = atomic_load(&bf_counts.refused_by_allocator);
    if (encoding != BF_ENCODING) {
        server.LogIOError(io, "warning",
                          "bloomery: cuckoo filters of encoding version %d are not read", encoding);
        return NULL;
    }
    if (read_header(io, &header)) {
        waiting.slots = bf_try_alloc(header.filters * sizeof *waiting.slots);
        waiting.bytes = bf_try_alloc(header.filters * sizeof *waiting.bytes);
        if (waiting.slots != NULL && waiting.bytes != NULL)
            value = read_filter(io, &header, &waiting);
    }
    if (waiting.slots != NULL)
        server.Free(waiting.slots);
    if (waiting.bytes != NULL)
        server.Free(waiting.bytes);
    if (value != NULL)
        bf_populate(value);
    else
        bf_log_unloaded(io, refused);
    return value;
}

/* ---- Saving ---------------------------------------------------------------------------------- */

static void save(server_io *io, void *value)
{
    bloomery_cuckoo_info facts;
    cf_facts_of(value, &facts);
    server.SaveUnsigned(io, facts.tables);
    server.SaveUnsigned(io, facts.buckets);
    server.SaveUnsigned(io, facts.items);
    server.SaveUnsigned(io, facts.removed);
    server.SaveUnsigned(io, facts.slots);
    server.SaveUnsigned(io, facts.iterations);
    server.SaveUnsigned(io, facts.growth);
    for (uint32_t i = 0; i < facts.tables; i++) {
        uint64_t bytes;
        const char *slots = cf_slots(value, &facts, i, &bytes);
        assert(bytes % facts.slots == 0);
        server.SaveUnsigned(io, bytes / facts.slots);
        server.SaveStringBuffer(io, slots, (size_t)bytes);
    }
}

static bool is_zero(const char *bytes, size_t count)
{
    return count == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, count - 1) == 0);
}

static void rewrite(server_io *io, server_string *key, void *value)
{
    const char *command = cf_loadchunk_name();
    uint8_t header[BLOOMERY_CUCKOO_HEADER];
    bloomery_cuckoo_info facts;
    uint64_t position = 1;
    cf_facts_of(value, &facts);
    cf_header(value, header);
    server.EmitAOF(io, command, "slb", key, 1LL, (const char *)header, sizeof header);
    for (uint32_t i = 0; i < facts.tables; i++) {
        uint64_t bytes;
        const char *slots = cf_slots(value, &facts, i, &bytes);
        for (uint64_t at = 0; at < bytes;) {
            const size_t step = bytes - at < PIECE_BYTES ? (size_t)(bytes - at) : PIECE_BYTES;
            position += step;
            if (!is_zero(slots + at, step))
                server.EmitAOF(io, command, "slb", key, (long long)position, slots + at, step);
            at += step;
        }
    }
}

/* ---- What else a type has -------------------------------------------------------------------- */

static size_t memory_of(const void *value)
{
    return (size_t)cf_told_bytes(value);
}

static void digest(server_digest *digest, void *value)
{
    uint8_t header[BLOOMERY_CUCKOO_HEADER];
    bloomery_cuckoo_info facts;
    cf_facts_of(value, &facts);
    cf_header(value, header);
    server.DigestAddStringBuffer(digest, (const char *)header, sizeof header);
    for (uint32_t i = 0; i < facts.tables; i++) {
        uint64_t bytes;
        const char *slots = cf_slots(value, &facts, i, &bytes);
        server.DigestAddStringBuffer(digest, slots, (size_t)bytes);
    }
    server.DigestEndSequence(digest);
}

static void *copy_value(server_string *from, server_string *to, const void *value)
{
    (void)from;
    (void)to;
    return cf_value_copy(value);
}

bool cf_type_create(server_context *context, bool *is_reference)
{
    static const struct server_type_methods methods = {
        .version = SERVER_TYPE_VERSION,
        .load = load,
        .save = save,
        .rewrite = rewrite,
        .memory = memory_of,
        .digest = digest,
        .release = cf_value_free,
        .release_effort = bf_value_release_effort,
        .copy = copy_value,
        .defrag = bf_value_defrag,
    };
    static const char *const names[] = {"MBbloomCF", "bloomcuck"};
    cf_type = bf_value_type(context, names, &methods, is_reference);
    return cf_type != NULL;
}
