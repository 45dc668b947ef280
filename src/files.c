/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From bytes to a filter:
 *
 *     path  -> base/io.c  -> prefix -> format/parse.c -> shape ─┬─> kinds/filter.c -> filter
 *     bytes -------------------^            payload, mapped or read ┘
 *
 * The prefix is read once into our own memory and parsed there: a file that changes under a map can
 * change bits, but no size.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "base/io.h"
#include "base/memory.h"
#include "dialects/dialects.h"
#include "format/format.h"
#include "kinds/chain.h"
#include "library.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* The key of a keyed filter: from the file, or from the options, and the one it was made with. */
static bloomery_status find_secret(const struct bloomery_parsed *parsed,
                                   const bloomery_open_options *options,
                                   struct bloomery_traits *traits, bloomery_error *error)
{
    const bool inspect = options->inspect;
    const struct bloomery_hash_row *hash = parsed->shape.hash_row;
    assert(hash != NULL);
    traits->secret.seed = parsed->shape.seed;
    traits->secret_in_file = parsed->has_secret;
    if (parsed->has_secret)
        memcpy(traits->secret.siphash, parsed->secret, BLOOMERY_SECRET_BYTES);
    traits->secret_known = !hash->keyed && bloomery_hash_usable(hash);
    if (!hash->keyed)
        return traits->secret_known || inspect ? BLOOMERY_OK
                                               : bloomery_dialect_no_hash(hash, error);
    if (!hash->available)
        return inspect ? BLOOMERY_OK
                       : bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                                       "the filter is keyed, and this build has no hash %s: it was "
                                       "made without libsodium",
                                       hash->name);
    if (options->secret != NULL &&
        bloomery_secret_fingerprint(options->secret) != parsed->shape.secret_fingerprint)
        return bloomery_fail(error, BLOOMERY_SECRET_NEEDED, 0,
                             "the secret given is not the one that the filter was made with");
    if (options->secret != NULL)
        memcpy(traits->secret.siphash, options->secret, BLOOMERY_SECRET_BYTES);
    traits->secret_known = parsed->has_secret || options->secret != NULL;
    if (!traits->secret_known && !inspect)
        return bloomery_fail(
            error, BLOOMERY_SECRET_NEEDED, 0,
            "the filter is keyed and does not carry its secret, which must be given");
    return BLOOMERY_OK;
}

static bloomery_status read_traits(const struct bloomery_parsed *parsed,
                                   const bloomery_open_options *options, bool copy,
                                   struct bloomery_traits *traits, bloomery_error *error)
{
    *traits = (struct bloomery_traits){
        .allocator = options->allocator,
        .concurrent = copy && options->concurrent_adds,
        .of_our_file = true,
        .memory_limit = options->memory_limit,
        .rule = parsed->rule,
        .note = parsed->note,
        .note_bytes = parsed->note_bytes,
        .extra = parsed->extra,
        .extra_bytes = parsed->extra_bytes,
    };
    bloomery_status status = bloomery_dialect_may_open(&parsed->shape, traits, error);
    if (status != BLOOMERY_OK)
        return status;
    return find_secret(parsed, options, traits, error);
}

static void wipe(struct bloomery_parsed *parsed, struct bloomery_traits *traits)
{
    bloomery_wipe(parsed->secret, sizeof parsed->secret);
    bloomery_wipe(&traits->secret, sizeof traits->secret);
}

/* A read-only filter over the whole file at `bytes`. */
static bloomery_status make_view(const struct bloomery_parsed *parsed,
                                 const struct bloomery_traits *traits, const uint8_t *bytes,
                                 bloomery_filter **filter, bloomery_error *error)
{
    bloomery_status status = bloomery_filter_make(parsed->checked, traits,
                                                  bytes + parsed->payload_offset, filter, error);
    if (status == BLOOMERY_OK) {
        struct bloomery_cold *cold = bloomery_cold_of(*filter);
        cold->checksums = bytes + parsed->payload_offset + parsed->payload_bytes;
        cold->checksum_seed = parsed->header_checksum;
        cold->payload_offset = parsed->payload_offset;
    }
    return status;
}

/* Checks a copied payload, before keys may be added to it: saving it again would put good checksums
 * on damaged bits. Frees the filter on failure. */
static bloomery_status check_copy(const struct bloomery_parsed *parsed, const uint8_t *checksums,
                                  bloomery_filter **filter, bloomery_error *error)
{
    const uint8_t *payload = bloomery_payload_of(*filter);
    assert(bloomery_payload_room(*filter) == parsed->payload_bytes);
    assert(bloomery_cold_in(*filter)->checksums == NULL);
    bloomery_status status =
        bloomery_checksums_verify(payload, parsed->payload_bytes, checksums,
                                  parsed->header_checksum, parsed->payload_offset, error);
    if (status == BLOOMERY_OK)
        status = bloomery_spare_bits_check(*filter, parsed->payload_offset, error);
    if (status == BLOOMERY_OK)
        bloomery_chain_open(*filter);
    if (status != BLOOMERY_OK) {
        bloomery_free(*filter);
        *filter = NULL;
    }
    return status;
}

static bloomery_status open_mapped(int file, const struct bloomery_parsed *parsed,
                                   const struct bloomery_traits *traits, bloomery_filter **filter,
                                   bloomery_error *error)
{
    struct bloomery_map map = {NULL, 0};
    bloomery_status status = bloomery_map_file(file, (size_t)parsed->file_bytes, &map, error);
    if (status != BLOOMERY_OK)
        return status;
    assert(map.bytes == parsed->file_bytes);
    status = make_view(parsed, traits, map.data, filter, error);
    if (status != BLOOMERY_OK) {
        bloomery_unmap(&map);
        return status;
    }
    if (parsed->has_secret)
        bloomery_pages_hide(map.data, (size_t)parsed->payload_offset);
    (*filter)->storage = BLOOMERY_MAPPED;
    bloomery_cold_of(*filter)->map = map;
    return BLOOMERY_OK;
}

static bloomery_status open_copy(int file, const struct bloomery_parsed *parsed,
                                 const struct bloomery_traits *traits, bloomery_filter **filter,
                                 bloomery_error *error)
{
    const size_t bytes = (size_t)bloomery_checksums_bytes(parsed->payload_bytes);
    bloomery_status status = bloomery_filter_make(parsed->checked, traits, NULL, filter, error);
    if (status != BLOOMERY_OK)
        return status;
    uint8_t *checksums = bloomery_allocate(&traits->allocator, bytes, 8);
    if (checksums == NULL)
        status = bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                               "not enough memory for %llu bytes of checksums",
                               (unsigned long long)bytes);
    if (status == BLOOMERY_OK)
        status = bloomery_file_read(file, parsed->payload_offset, bloomery_payload_of(*filter),
                                    (size_t)parsed->payload_bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_file_read(file, parsed->payload_offset + parsed->payload_bytes, checksums,
                                    bytes, error);
    if (status == BLOOMERY_OK) {
        status = check_copy(parsed, checksums, filter, error);
    } else {
        bloomery_free(*filter);
        *filter = NULL;
    }
    bloomery_release(&traits->allocator, checksums, bytes, 8);
    return status;
}

/* A file that is open. `name` is for messages. */
static bloomery_status read_file(int file, const char *name, const bloomery_open_options *options,
                                 bool copy, bloomery_filter **filter, bloomery_error *error)
{
    struct bloomery_parsed parsed;
    struct bloomery_traits traits = {.secret_known = false};
    uint8_t prefix[BLOOMERY_PREFIX_MAX];
    uint64_t file_bytes = 0;
    bloomery_status status = bloomery_file_size(file, name, &file_bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    size_t prefix_bytes = file_bytes < sizeof prefix ? (size_t)file_bytes : sizeof prefix;
    status = bloomery_file_read(file, 0, prefix, prefix_bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_format_parse(prefix, prefix_bytes, file_bytes, bloomery_dialect_rows,
                                       &parsed, error);
    if (status == BLOOMERY_OK)
        status = read_traits(&parsed, options, copy, &traits, error);
    if (status == BLOOMERY_OK && copy)
        status = open_copy(file, &parsed, &traits, filter, error);
    else if (status == BLOOMERY_OK)
        status = open_mapped(file, &parsed, &traits, filter, error);
    wipe(&parsed, &traits);
    bloomery_wipe(prefix, sizeof prefix);
    assert((status == BLOOMERY_OK) == (*filter != NULL));
    return status;
}

/* The file at a path or, without one, the file that the options name. */
static bloomery_status open_file(const char *path, const bloomery_open_options *given, bool copy,
                                 bloomery_filter **filter, bloomery_error *error)
{
    bloomery_open_options options;
    char name[40];
    int file = -1;
    *filter = NULL;
    bloomery_status status = bloomery_open_options_read(given, &options, error);
    if (status == BLOOMERY_OK && path == NULL && given == NULL)
        status = bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                               "the path is NULL: give one, or options whose `descriptor` is an "
                               "open file");
    if (status == BLOOMERY_OK && path != NULL)
        status = bloomery_file_open(path, &file, error);
    if (status != BLOOMERY_OK)
        return status;
    if (path != NULL) {
        status = read_file(file, path, &options, copy, filter, error);
        bloomery_file_close(file);
    } else {
        snprintf(name, sizeof name, "descriptor %d", (int)options.descriptor);
        status = read_file(options.descriptor, name, &options, copy, filter, error);
    }
    return status;
}

bloomery_status bloomery_open(const char *path, const bloomery_open_options *options,
                              bloomery_filter **filter, bloomery_error *error)
{
    return open_file(path, options, true, filter, error);
}

bloomery_status bloomery_map(const char *path, const bloomery_open_options *options,
                             const bloomery_filter **filter, bloomery_error *error)
{
    bloomery_filter *mapped = NULL;
    const bloomery_status status = open_file(path, options, false, &mapped, error);
    *filter = mapped;
    return status;
}

/* The part of view and load that both have. */
static bloomery_status parse_span(const void *data, size_t bytes,
                                  const bloomery_open_options *given, bool copy,
                                  struct bloomery_parsed *parsed, struct bloomery_traits *traits,
                                  bloomery_error *error)
{
    bloomery_open_options options;
    size_t prefix_bytes = bytes < BLOOMERY_PREFIX_MAX ? bytes : BLOOMERY_PREFIX_MAX;
    bloomery_status status = bloomery_open_options_read(given, &options, error);
    if (status == BLOOMERY_OK)
        status =
            bloomery_format_parse(data, prefix_bytes, bytes, bloomery_dialect_rows, parsed, error);
    if (status == BLOOMERY_OK)
        status = read_traits(parsed, &options, copy, traits, error);
    return status;
}

bloomery_status bloomery_view(const void *data, size_t bytes, const bloomery_open_options *given,
                              const bloomery_filter **filter, bloomery_error *error)
{
    bloomery_filter *view = NULL;
    struct bloomery_parsed parsed;
    struct bloomery_traits traits = {.secret_known = false};
    *filter = NULL;
    if ((uintptr_t)data % BLOOMERY_PAYLOAD_UNIT != 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a view needs bytes at an address that is a multiple of 64; "
                             "bloomery_load copies from any");
    bloomery_status status = parse_span(data, bytes, given, false, &parsed, &traits, error);
    if (status == BLOOMERY_OK)
        status = make_view(&parsed, &traits, data, &view, error);
    wipe(&parsed, &traits);
    assert((status == BLOOMERY_OK) == (view != NULL));
    *filter = view;
    return status;
}

bloomery_status bloomery_load(const void *data, size_t bytes, const bloomery_open_options *given,
                              bloomery_filter **filter, bloomery_error *error)
{
    struct bloomery_parsed parsed;
    struct bloomery_traits traits = {.secret_known = false};
    const uint8_t *from = data;
    *filter = NULL;
    bloomery_status status = parse_span(data, bytes, given, true, &parsed, &traits, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_make(parsed.checked, &traits, NULL, filter, error);
    if (status == BLOOMERY_OK) {
        memcpy(bloomery_payload_of(*filter), from + parsed.payload_offset,
               (size_t)parsed.payload_bytes);
        status =
            check_copy(&parsed, from + parsed.payload_offset + parsed.payload_bytes, filter, error);
    }
    wipe(&parsed, &traits);
    assert((status == BLOOMERY_OK) == (*filter != NULL));
    return status;
}

/* ---- Saving ---------------------------------------------------------------------------------- */

/* From a filter to bytes, and checking that they are still the ones that were written. */

uint64_t bloomery_file_bytes(const bloomery_filter *filter)
{
    const uint64_t payload_bytes = bloomery_payload_bytes(filter);
    return bloomery_format_payload_offset(filter) + payload_bytes +
           bloomery_checksums_bytes(payload_bytes);
}

/* A sink that takes bytes or reports why not. */
struct writer {
    bloomery_status (*write)(struct writer *writer, const void *data, size_t bytes);
    bloomery_sink sink;
    void *context;
    struct bloomery_replacement *replacement;
    bloomery_error *error;
};

static bloomery_status write_to_sink(struct writer *writer, const void *data, size_t bytes)
{
    if (writer->sink(writer->context, data, bytes) != 0)
        return bloomery_fail(writer->error, BLOOMERY_IO_FAILED, 0, "the receiver stopped");
    return BLOOMERY_OK;
}

static bloomery_status write_to_file(struct writer *writer, const void *data, size_t bytes)
{
    return bloomery_replacement_write(writer->replacement, data, bytes, writer->error);
}

/* If a span lies in one layer it is passed on as it is. If it passes the end of one, or of what is
 * in memory, it is put together. */
const uint8_t *bloomery_filter_spans(void *context, uint64_t at, size_t bytes, uint8_t *room)
{
    const bloomery_filter *filter = context;
    const struct bloomery_layer *layer = filter->layers;
    assert(bytes <= BLOOMERY_SPAN);
    while (at >= layer->offset + layer->bytes)
        layer++;
    assert(layer < filter->layers + filter->shape.layer_count);
    if (at + bytes <= layer->offset + bloomery_held_bytes(filter, layer))
        return layer->payload + (at - layer->offset);
    for (size_t done = 0; done < bytes; layer++) {
        assert(layer < filter->layers + filter->shape.layer_count);
        const uint64_t from = at + done - layer->offset, left = layer->bytes - from;
        const size_t now = left < bytes - done ? (size_t)left : bytes - done;
        /* Bytes of a layer that are not in memory are zeros. */
        uint8_t *to = room + done;
        const uint64_t held = bloomery_held_bytes(filter, layer);
        const uint64_t rest = from < held ? held - from : 0;
        const size_t there = rest < now ? (size_t)rest : now;
        memcpy(to, layer->payload + from, there);
        memset(to + there, 0, now - there);
        done += now;
    }
    return room;
}

/* What is written: the head of a filter, and a payload. */
struct source {
    const bloomery_filter *filter;
    bloomery_spans *spans;
    void *context;
};

/* Each span is sent right after its checksum is taken, while it is still in the cache. `memory` has
 * room for the checksums and, behind them, for a span. */
static bloomery_status write_payload(const struct source *source, struct writer *writer,
                                     uint64_t seed, uint8_t *memory)
{
    const uint64_t payload_bytes = bloomery_payload_bytes(source->filter);
    uint8_t *room = memory + bloomery_checksums_bytes(payload_bytes);
    uint8_t *next = memory;
    _Static_assert((int)BLOOMERY_SPAN == (int)BLOOMERY_CHECKSUM_SPAN, "a span has a checksum");
    for (uint64_t at = 0; at < payload_bytes; at += BLOOMERY_SPAN) {
        uint64_t left = payload_bytes - at;
        size_t bytes = left < BLOOMERY_SPAN ? (size_t)left : BLOOMERY_SPAN;
        const uint8_t *span = source->spans(source->context, at, bytes, room);
        if (span == NULL)
            return bloomery_fail(writer->error, BLOOMERY_IO_FAILED, at,
                                 "reading a temporary file failed");
        bloomery_store_u64(next, bloomery_checksum(span, bytes, seed));
        next += 8;
        bloomery_status status = writer->write(writer, span, bytes);
        if (status != BLOOMERY_OK)
            return status;
    }
    bloomery_store_u64(next, bloomery_checksum(memory, (size_t)(next - memory), seed));
    assert(next + 8 == room);
    return writer->write(writer, memory, (size_t)(room - memory));
}

/* Whether it can be written at all. What was not read yet may be damaged, and would get good
 * checksums. */
static bloomery_status check_unread(const struct source *source, bloomery_error *error)
{
    const bloomery_filter *filter = source->filter;
    bloomery_status status = bloomery_format_check(filter, error);
    if (status == BLOOMERY_OK)
        status = bloomery_failed_adds_take(filter, error);
    if (status != BLOOMERY_OK)
        return status;
    if (source->spans != bloomery_filter_spans || bloomery_cold_in(filter)->checksums == NULL)
        return BLOOMERY_OK;
    return bloomery_verify(filter, error);
}

static bloomery_status write_all(const struct source *source, struct writer *writer)
{
    uint8_t prefix[BLOOMERY_PREFIX_MAX];
    uint64_t seed;
    const bloomery_filter *filter = source->filter;
    /* A payload that lies in one piece needs no room to put spans together. */
    const bool whole = source->spans == bloomery_filter_spans && filter->shape.layer_count == 1 &&
                       bloomery_held_bytes(filter, filter->layers) == filter->layers->bytes;
    const size_t bytes = (size_t)bloomery_checksums_bytes(bloomery_payload_bytes(filter)) +
                         (whole ? 0 : BLOOMERY_SPAN);
    uint8_t *memory = bloomery_allocate(&filter->allocator, bytes, 8);
    if (memory == NULL)
        return bloomery_fail(writer->error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "not enough memory for %llu bytes of checksums",
                             (unsigned long long)bytes);
    size_t prefix_bytes = bloomery_format_prefix(filter, prefix, &seed);
    assert(prefix_bytes == bloomery_format_payload_offset(filter));
    bloomery_status status = writer->write(writer, prefix, prefix_bytes);
    if (status == BLOOMERY_OK)
        status = write_payload(source, writer, seed, memory);
    bloomery_release(&filter->allocator, memory, bytes, 8);
    bloomery_wipe(prefix, sizeof prefix); /* it may hold the secret */
    return status;
}

/* Sources take no const context, though ours only read. */
static struct source own_spans(const bloomery_filter *filter)
{
    return (struct source){filter, bloomery_filter_spans, (void *)(uintptr_t)filter};
}

bloomery_status bloomery_write(const bloomery_filter *filter, bloomery_sink sink, void *context,
                               bloomery_error *error)
{
    const struct source source = own_spans(filter);
    struct writer writer = {
        .write = write_to_sink, .sink = sink, .context = context, .error = error};
    bloomery_status status = check_unread(&source, error);
    return status == BLOOMERY_OK ? write_all(&source, &writer) : status;
}

static bloomery_status save(const struct source *source, const char *path, bloomery_error *error)
{
    struct bloomery_replacement replacement;
    bloomery_status status = check_unread(source, error);
    if (status == BLOOMERY_OK)
        status = bloomery_replacement_begin(&replacement, path,
                                            source->filter->secret_in_file ? 0600 : 0666, error);
    if (status != BLOOMERY_OK)
        return status;
    struct writer writer = {.write = write_to_file, .replacement = &replacement, .error = error};
    status = write_all(source, &writer);
    if (status == BLOOMERY_OK)
        status = bloomery_replacement_commit(&replacement, error);
    if (status != BLOOMERY_OK)
        bloomery_replacement_abandon(&replacement);
    return status;
}

bloomery_status bloomery_save(const bloomery_filter *filter, const char *path,
                              bloomery_error *error)
{
    const struct source source = own_spans(filter);
    return save(&source, path, error);
}

bloomery_status bloomery_save_spans(const bloomery_filter *filter, bloomery_spans *spans,
                                    void *context, const char *path, bloomery_error *error)
{
    const struct source source = {filter, spans, context};
    return save(&source, path, error);
}

bloomery_status bloomery_verify_map(const bloomery_filter *filter, bloomery_error *error)
{
    enum { SPANS = 16 };
    const uint64_t each = (uint64_t)SPANS * BLOOMERY_CHECKSUM_SPAN;
    const uint64_t bytes = bloomery_cold_in(filter)->payload_bytes;
    assert(bloomery_cold_in(filter)->checksums != NULL);
    for (uint64_t i = 0; i == 0 || i * each < bytes; i++) {
        const bloomery_status status = bloomery_checksums_verify_spans(
            bloomery_cold_in(filter)->payload, bytes, bloomery_cold_in(filter)->checksums,
            bloomery_cold_in(filter)->checksum_seed, bloomery_cold_in(filter)->payload_offset,
            i * SPANS, (i + 1) * SPANS, error);
        if (status != BLOOMERY_OK)
            return status;
        bloomery_map_forget(bloomery_cold_in(filter)->payload + i * each,
                            bloomery_cold_in(filter)->payload +
                                ((i + 1) * each < bytes ? (i + 1) * each : bytes));
    }
    return bloomery_spare_bits_check(filter, bloomery_cold_in(filter)->payload_offset, error);
}

bloomery_status bloomery_verify(const bloomery_filter *filter, bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    if (bloomery_cold_in(filter)->checksums != NULL) /* a filter of its own memory has none yet */
        status = bloomery_checksums_verify(
            bloomery_cold_in(filter)->payload, bloomery_cold_in(filter)->payload_bytes,
            bloomery_cold_in(filter)->checksums, bloomery_cold_in(filter)->checksum_seed,
            bloomery_cold_in(filter)->payload_offset, error);
    if (status == BLOOMERY_OK)
        status = bloomery_spare_bits_check(filter, bloomery_cold_in(filter)->payload_offset, error);
    return status;
}
