/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window as it is saved, dumped and copied. Its header is
 *
 *     byte 0     "bloomwn" and 0xff: no filter's header, whose count of items would be negative
 *     byte 8     version, 1              u16, little-endian, as all that follows
 *     byte 10    is arriving             u16: 1 while BF.LOADCHUNK has not brought the last byte
 *     byte 12    generations             u32
 *     byte 16    period, milliseconds    u64; 0: none
 *     byte 24    since, milliseconds     u64: of the Unix epoch, when the newest generation began
 *     byte 32    rate of the whole       f64
 *     byte 40    a header of 73 bytes for each generation, the newest first: RedisBloom's, of one
 *                layer that does not scale; they differ in their counts of items alone
 *
 * The bits of the generations follow one another in dumps. A payload (RDB, DUMP) has the header as
 * one string and the bits of each generation as another one. The AOF has BF.LOADCHUNK commands.
 * Dumps and the AOF have all but the last byte of a window that is arriving: it is 0, and so it
 * arrives where they are loaded.
 */
#define BLOOMERY_EXPERIMENTAL

#include "window.h"

#include <assert.h>
#include <bloomery/experimental.h>
#include <string.h>

enum { VERSION = 1, ENCODING = 1, EFFORT_BYTES = 65536, OPTIONS_FIXED = 13 };

static const uint8_t magic[8] = {'b', 'l', 'o', 'o', 'm', 'w', 'n', 0xff};

/* The bytes of a generation's bits; all have as many. */
static uint64_t generation_bytes(const struct bf_window *window)
{
    bloomery_info info;
    bf_info_of(window->generations[0], &info);
    assert(info.layers == 1 && info.bits % 8 == 0);
    return info.bits / 8;
}

/* ---- The header ------------------------------------------------------------------------------ */

size_t bf_window_header(const struct bf_window *window, uint8_t header[BF_WINDOW_HEADER_MAX])
{
    uint8_t *at = header + BF_WINDOW_HEADER_FIRST;
    memcpy(header, magic, sizeof magic);
    memcpy(header + 8, &(uint16_t){VERSION}, 2);
    memcpy(header + 10, &(uint16_t){window->is_arriving}, 2);
    memcpy(header + 12, &window->plan.generations, 4);
    memcpy(header + 16, &window->plan.period_ms, 8);
    memcpy(header + 24, &window->plan.since_ms, 8);
    memcpy(header + 32, &window->plan.rate, 8);
    for (uint32_t i = 0; i < window->plan.generations; i++) {
        size_t bytes;
        const uint8_t *part = bf_header(window->generations[i], &bytes);
        assert(bytes == BF_WINDOW_HEADER_LINK);
        memcpy(at, part, bytes);
        at += bytes;
    }
    return (size_t)(at - header);
}

bool bf_window_is_header(bloomery_key chunk)
{
    return chunk.bytes >= sizeof magic && memcmp(chunk.data, magic, sizeof magic) == 0;
}

/* Whether two generations are of one plan: all but the counts of items. */
static bool is_one_plan(const uint8_t *one, const uint8_t *other)
{
    uint8_t rest[2][BF_WINDOW_HEADER_LINK];
    memcpy(rest[0], one, sizeof rest[0]);
    memcpy(rest[1], other, sizeof rest[1]);
    for (int i = 0; i < 2; i++) {
        memset(rest[i], 0, 8);
        memset(rest[i] + BF_HEADER_FIRST + 16, 0, 8);
    }
    return memcmp(rest[0], rest[1], sizeof rest[0]) == 0;
}

/* What a header says; false: it is damaged. */
static bool read_plan(const uint8_t *header, size_t bytes, struct bf_window_plan *plan,
                      bool *is_arriving)
{
    const uint8_t *parts = header + BF_WINDOW_HEADER_FIRST;
    struct bf_link link;
    uint32_t layers, options;
    uint16_t version, arriving;
    if (bytes < BF_WINDOW_HEADER_FIRST || memcmp(header, magic, sizeof magic) != 0)
        return false;
    memcpy(&version, header + 8, 2);
    memcpy(&arriving, header + 10, 2);
    memcpy(&plan->generations, header + 12, 4);
    memcpy(&plan->period_ms, header + 16, 8);
    memcpy(&plan->since_ms, header + 24, 8);
    memcpy(&plan->rate, header + 32, 8);
    if (version != VERSION || arriving > 1 || plan->generations < BF_GENERATIONS_MIN ||
        plan->generations > BF_GENERATIONS_MAX ||
        bytes != BF_WINDOW_HEADER_FIRST + (size_t)BF_WINDOW_HEADER_LINK * plan->generations ||
        plan->period_ms > UINT64_C(1000) * BF_EVERY_MAX || plan->period_ms % 1000 != 0 ||
        plan->since_ms > BF_TIME_MAX || !(plan->rate > 0 && plan->rate < 1))
        return false;
    memcpy(&layers, parts + 8, 4);
    memcpy(&options, parts + 12, 4);
    if (layers != 1 || options != OPTIONS_FIXED)
        return false;
    for (uint32_t i = 1; i < plan->generations; i++)
        if (!is_one_plan(parts, parts + (size_t)i * BF_WINDOW_HEADER_LINK))
            return false;
    bf_header_read_link(parts, 0, &link);
    plan->capacity = link.capacity;
    *is_arriving = arriving != 0;
    return true;
}

bloomery_status bf_window_from_header(server_context *context, const void *header, size_t bytes,
                                      struct bf_window **made)
{
    struct bf_window_plan plan = {0};
    uint64_t taken = 0;
    bool is_arriving;
    *made = NULL;
    if (!read_plan(header, bytes, &plan, &is_arriving))
        return BLOOMERY_CORRUPT;
    struct bf_window *window = bf_window_new(&plan);
    bloomery_status status = window != NULL ? BLOOMERY_OK : BLOOMERY_OUT_OF_MEMORY;
    for (uint32_t i = 0; status == BLOOMERY_OK && i < plan.generations; i++) {
        const uint8_t *part =
            (const uint8_t *)header + BF_WINDOW_HEADER_FIRST + (size_t)i * BF_WINDOW_HEADER_LINK;
        status = bf_value_from_header(context, taken, part, BF_WINDOW_HEADER_LINK,
                                      &window->generations[i], NULL);
        if (status == BLOOMERY_OK)
            taken += window->generations[i]->bytes;
    }
    if (status == BLOOMERY_OK)
        *made = window;
    else
        bf_window_free(window);
    return status;
}

/* ---- Chunks ---------------------------------------------------------------------------------- */

/* The last byte of the oldest generation, with which a window has arrived. */
static uint8_t last_byte(const struct bf_window *window)
{
    const void *data;
    uint64_t room;
    const struct bf_value *oldest = window->generations[window->plan.generations - 1];
    (void)bloomery_layer_span(oldest->filter, 0, &data, &room);
    assert(generation_bytes(window) <= room);
    return ((const uint8_t *)data)[generation_bytes(window) - 1];
}

void bf_window_chunk(const struct bf_window *window, uint64_t iterator, const void **data,
                     size_t *bytes, uint64_t *next)
{
    const uint64_t each = generation_bytes(window);
    const uint64_t at = iterator - 1;
    const uint64_t end = each * window->plan.generations - window->is_arriving;
    *data = "";
    *bytes = 0;
    *next = 0;
    if (at >= end)
        return;
    const bloomery_status status = bloomery_redisbloom_scandump(
        window->generations[at / each]->filter, at % each + 1, NULL, data, bytes, next, NULL);
    assert(status == BLOOMERY_OK && *bytes > 0);
    assert(!window->is_arriving || last_byte(window) == 0);
    (void)status;
    *bytes = end - at < *bytes ? (size_t)(end - at) : *bytes;
    *next = iterator + *bytes;
}

const char *bf_window_load(struct bf_window *window, uint64_t iterator, bloomery_key chunk)
{
    const uint64_t each = generation_bytes(window);
    const uint64_t from = iterator - chunk.bytes; /* the iterator that asks for them */
    const uint64_t which = (from - 1) / each;
    if (!window->is_arriving)
        return "ERR the window is whole, or was rotated or cleared while it was loaded";
    if (from == 0 || which >= window->plan.generations)
        return "ERR invalid offset - no link found";
    if (bloomery_redisbloom_loadchunk(&window->generations[which]->filter, iterator - which * each,
                                      chunk.data, chunk.bytes, NULL, NULL) != BLOOMERY_OK)
        return "ERR invalid chunk - Too big for current filter";
    if (iterator - 1 == each * window->plan.generations)
        bf_window_arrived(window);
    return NULL;
}

/* ---- RDB and AOF ----------------------------------------------------------------------------- */

/* A generation of its header and the bits that a payload has next. Memory is taken for bits that
 * came, never for bits that are announced. NULL: they are damaged, or memory lacks. */
static struct bf_value *read_generation(server_io *io, const uint8_t *header)
{
    struct bf_value *value = NULL;
    struct bf_link link;
    uint64_t left;
    size_t bytes = 0;
    bf_header_read_link(header, 0, &link);
    if (!bf_can_load(link.bytes, &left)) {
        server.LogIOError(io, "warning",
                          "bloomery: a generation's %llu bytes are more than the %llu that the "
                          "container's memory limit leaves",
                          (unsigned long long)link.bytes, (unsigned long long)left);
        return NULL;
    }
    char *bits = server.LoadStringBuffer(io, &bytes);
    if (bits == NULL || server.IsIOError(io) != 0)
        return NULL;
    if (bytes == link.bytes &&
        bf_value_from_header(NULL, 0, header, BF_WINDOW_HEADER_LINK, &value, NULL) == BLOOMERY_OK &&
        !bf_place(value, link.bytes + 1, bits, link.bytes)) {
        bf_value_free(value);
        value = NULL;
    }
    server.Free(bits);
    if (value != NULL)
        bf_populate(value);
    return value;
}

static struct bf_window *read_window(server_io *io, const uint8_t *header, size_t bytes)
{
    struct bf_window_plan plan = {0};
    bool is_arriving;
    if (!read_plan(header, bytes, &plan, &is_arriving))
        return NULL;
    struct bf_window *window = bf_window_new(&plan);
    if (window != NULL)
        window->is_arriving = is_arriving;
    for (uint32_t i = 0; window != NULL && i < plan.generations; i++) {
        window->generations[i] = read_generation(io, header + BF_WINDOW_HEADER_FIRST +
                                                         (size_t)i * BF_WINDOW_HEADER_LINK);
        if (window->generations[i] != NULL)
            continue;
        bf_window_free(window);
        window = NULL;
    }
    if (window != NULL && is_arriving && last_byte(window) != 0) {
        bf_window_free(window);
        window = NULL;
    }
    return window;
}

static void *load(server_io *io, int encoding)
{
    struct bf_window *window = NULL;
    size_t bytes = 0;
    const uint64_t refused = atomic_load(&bf_counts.refused_by_allocator);
    char *header = encoding == ENCODING ? server.LoadStringBuffer(io, &bytes) : NULL;
    if (header != NULL && server.IsIOError(io) == 0)
        window = read_window(io, (const uint8_t *)header, bytes);
    if (header != NULL)
        server.Free(header);
    if (window == NULL) {
        const bool lacks = atomic_load(&bf_counts.refused_by_allocator) != refused;
        server.LogIOError(io, "warning", "bloomery: a window can't be loaded: %s",
                          lacks ? "the server is out of memory" : "it is damaged or too large");
        return NULL;
    }
    const server_string *name =
        server.GetKeyNameFromIO != NULL ? server.GetKeyNameFromIO(io) : NULL;
    if (name != NULL && server.GetDbIdFromIO != NULL) {
        const bloomery_key text = bf_key_of(name);
        bf_window_is_at(window, text.data, text.bytes, server.GetDbIdFromIO(io));
    }
    return window;
}

static void save(server_io *io, void *value)
{
    const struct bf_window *window = value;
    uint8_t header[BF_WINDOW_HEADER_MAX];
    const size_t bytes = bf_window_header(window, header);
    server.SaveStringBuffer(io, (const char *)header, bytes);
    for (uint32_t i = 0; i < window->plan.generations; i++) {
        const void *data;
        uint64_t room;
        (void)bloomery_layer_span(window->generations[i]->filter, 0, &data, &room);
        assert(generation_bytes(window) <= room);
        server.SaveStringBuffer(io, data, (size_t)generation_bytes(window));
    }
}

static void rewrite(server_io *io, server_string *key, void *value)
{
    const struct bf_window *window = value;
    uint8_t header[BF_WINDOW_HEADER_MAX];
    const void *data = header;
    size_t bytes = bf_window_header(window, header);
    uint64_t iterator = 1;
    while (iterator != 0) {
        server.EmitAOF(io, bf_names->loadchunk, "slb", key, (long long)iterator, data, bytes);
        bf_window_chunk(window, iterator, &data, &bytes, &iterator);
    }
}

/* ---- What else a type has -------------------------------------------------------------------- */

uint64_t bf_window_told_bytes(const struct bf_window *window)
{
    uint64_t bytes = sizeof *window;
    for (uint32_t i = 0; i < window->plan.generations; i++) {
        bloomery_info info;
        bf_info_of(window->generations[i], &info);
        bytes += bf_told_bytes(&info);
    }
    return bytes;
}

static size_t memory_of(const void *value)
{
    return (size_t)bf_window_told_bytes(value);
}

static void digest(server_digest *digest, void *value)
{
    const struct bf_window *window = value;
    uint8_t header[BF_WINDOW_HEADER_MAX];
    const size_t bytes = bf_window_header(window, header);
    server.DigestAddStringBuffer(digest, (const char *)header, bytes);
    for (uint32_t i = 0; i < window->plan.generations; i++) {
        const void *data;
        uint64_t room;
        (void)bloomery_layer_span(window->generations[i]->filter, 0, &data, &room);
        server.DigestAddStringBuffer(digest, data, (size_t)generation_bytes(window));
    }
    server.DigestEndSequence(digest);
}

static size_t release_effort(server_string *key, const void *value)
{
    const struct bf_window *window = value;
    (void)key;
    return (size_t)(bf_window_told_bytes(window) / EFFORT_BYTES) + window->plan.generations;
}

static void *copy_window(server_string *from, server_string *to, const void *value)
{
    const struct bf_window *window = value;
    struct bf_window *twin = bf_window_new(&window->plan);
    bool is_whole = twin != NULL;
    if (is_whole)
        twin->is_arriving = window->is_arriving;
    (void)from;
    (void)to;
    for (uint32_t i = 0; is_whole && i < window->plan.generations; i++) {
        twin->generations[i] = bf_value_copy(NULL, window->generations[i]);
        is_whole = twin->generations[i] != NULL;
    }
    if (is_whole)
        return twin;
    bf_window_free(twin);
    return NULL;
}

static int move_window(server_defrag *defrag, server_string *key, void **value)
{
    struct bf_window *window = *value;
    (void)key;
    for (uint32_t i = 0; i < window->plan.generations; i++)
        bf_value_move(defrag, window->generations[i]);
    return 0; /* all of it is done */
}

bool bf_window_type_create(server_context *context)
{
    static const struct server_type_methods methods = {
        .version = SERVER_TYPE_VERSION,
        .load = load,
        .save = save,
        .rewrite = rewrite,
        .memory = memory_of,
        .digest = digest,
        .release = bf_window_free,
        .release_effort = release_effort,
        .copy = copy_window,
        .defrag = move_window,
    };
    bf_window_type = server.CreateDataType(context, "bloomwind", ENCODING, &methods);
    return bf_window_type != NULL;
}
