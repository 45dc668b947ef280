/* SPDX-License-Identifier: Apache-2.0 */
/* What a key holds. */
#define BLOOMERY_EXPERIMENTAL

#include "bf.h"

#include <assert.h>
#include <bloomery/dialect.h>
#include <bloomery/experimental.h>
#include <string.h>

enum { TOLD_FILTER = 32, TOLD_LINK = 64, EFFORT_BYTES = 65536 };

server_type *bf_type;

/* ---- Making and releasing -------------------------------------------------------------------- */

struct bf_value *bf_value_new(void)
{
    struct bf_value *value = bf_try_alloc(sizeof *value);
    if (value == NULL)
        return NULL;
    *value = (struct bf_value){.filter = NULL};
    atomic_fetch_add(&bf_counts.keys, 1);
    return value;
}

void bf_value_free(void *value)
{
    struct bf_value *held = value;
    if (held == NULL || bf_populate_end(held))
        return;
    bloomery_free(held->filter);
    assert(held->bytes == 0);
    atomic_fetch_sub(&bf_counts.keys, 1);
    server.Free(held);
}

bloomery_status bf_value_create(server_context *context, uint64_t beside,
                                const struct bf_parameters *parameters, struct bf_value **value)
{
    bloomery_dialect_parameters given = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    *value = bf_value_new();
    if (*value == NULL)
        return BLOOMERY_OUT_OF_MEMORY;
    given.keys = parameters->capacity;
    given.rate = parameters->rate;
    if (parameters->capacity > BF_CAPACITY_MAX)
        given.variant = parameters->growth == 0 ? "large-nonscaling" : "large-scaling";
    else
        given.variant = parameters->growth == 0 ? "nonscaling" : "scaling";
    given.growth = parameters->growth;
    options.allocator = bf_allocator(*value);
    bf_limits(context, beside);
    const bloomery_status status =
        bloomery_dialect_create(bloomery_dialect_get(BLOOMERY_DIALECT_REDISBLOOM), &given, &options,
                                &(*value)->filter, NULL);
    bf_limits(NULL, 0);
    if (status == BLOOMERY_OK) {
        bf_keep_addresses(*value);
        bf_populate(*value);
    } else {
        bf_value_free(*value);
        *value = NULL;
    }
    return status;
}

bloomery_status bf_value_from_header(server_context *context, uint64_t beside, const void *header,
                                     size_t bytes, struct bf_value **value, bloomery_error *error)
{
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    *value = bf_value_new();
    if (*value == NULL)
        return BLOOMERY_OUT_OF_MEMORY;
    options.allocator = bf_allocator(*value);
    bf_limits(context, beside);
    const bloomery_status status =
        bloomery_redisbloom_loadchunk(&(*value)->filter, 1, header, bytes, &options, error);
    bf_limits(NULL, 0);
    if (status != BLOOMERY_OK) {
        bf_value_free(*value);
        *value = NULL;
    }
    return status;
}

struct bf_value *bf_value_emptied(const struct bf_value *value)
{
    uint8_t first[BF_HEADER_FIRST + BF_HEADER_LINK];
    struct bf_value *fresh = NULL;
    struct bf_link link;
    size_t bytes;
    memcpy(first, bf_header(value, &bytes), sizeof first);
    memset(first, 0, 8);
    memcpy(first + 8, &(uint32_t){1}, 4);
    bf_header_read_link(first, 0, &link);
    link.size = 0;
    bf_header_write_link(first, 0, &link);
    if (bf_value_from_header(NULL, 0, first, sizeof first, &fresh, NULL) == BLOOMERY_OK)
        bf_populate(fresh);
    return fresh;
}

bool bf_value_clear_if_tight(struct bf_value *value)
{
    bloomery_info info;
    bf_info_of(value, &info);
    if (!bf_is_tight(value->bytes) || (info.layers > 1 && bf_is_populated(value)))
        return false;
    /* Layers that go must not stay with the thread, which is not at this value. */
    const bool is_given = info.layers > 1 && bf_populate_end(value);
    const bloomery_status status = bloomery_clear(value->filter, NULL);
    assert(status == BLOOMERY_OK && !is_given);
    (void)status, (void)is_given;
    bf_populate(value);
    return true;
}

struct bf_value *bf_value_copy(server_context *context, const struct bf_value *value)
{
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    struct bf_value *twin = bf_value_new();
    if (twin == NULL)
        return NULL;
    options.allocator = bf_allocator(twin);
    bf_limits(context, 0);
    const bloomery_status status = bloomery_copy(value->filter, &options, &twin->filter, NULL);
    bf_limits(NULL, 0);
    if (status != BLOOMERY_OK) {
        bf_value_free(twin);
        return NULL;
    }
    bf_populate(twin);
    return twin;
}

void bf_value_grew(struct bf_value *value, uint64_t before)
{
    if (value->bytes <= before)
        return;
    atomic_fetch_add(&bf_counts.scale_outs, 1);
    bf_populate(value);
}

void bf_value_move(server_defrag *defrag, struct bf_value *value)
{
    if (server.DefragAlloc == NULL || bf_config.defrag == 0 || bf_is_populated(value))
        return;
    const uint64_t before = atomic_load(&bf_counts.defrag_moves);
    (void)bloomery_move(&value->filter, bf_move, defrag);
    if (atomic_load(&bf_counts.defrag_moves) != before)
        bf_populate_moved(value);
}

/* ---- Types ----------------------------------------------------------------------------------- */

/* From some bytes on the server releases values in the background. */
size_t bf_value_release_effort(server_string *key, const void *value)
{
    const struct bf_value *held = value;
    (void)key;
    return (size_t)(held->bytes / EFFORT_BYTES) + 1;
}

int bf_value_defrag(server_defrag *defrag, server_string *key, void **value)
{
    (void)key;
    bf_value_move(defrag, *value);
    return 0; /* all of it is done */
}

server_type *bf_value_type(server_context *context, const char *const names[2],
                           const struct server_type_methods *methods, bool *is_reference)
{
    server_type *type = NULL;
    for (size_t i = 0; i < 2 && type == NULL; i++) {
        assert(strlen(names[i]) == SERVER_TYPE_NAME);
        type = server.CreateDataType(context, names[i], BF_ENCODING, methods);
        *is_reference = i == 0;
    }
    return type;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

void bf_info_of(const struct bf_value *value, bloomery_info *info)
{
    *info = (bloomery_info)BLOOMERY_INFO;
    bloomery_info_get(value->filter, info);
    if (info->adds > INT64_MAX) /* as the header has it */
        info->adds = INT64_MAX;
}

uint64_t bf_told_bytes(const bloomery_info *info)
{
    return TOLD_FILTER + (uint64_t)TOLD_LINK * info->layers + info->bits / 8;
}

const uint8_t *bf_header(const struct bf_value *value, size_t *bytes)
{
    /* Pages that no header reached are never touched, so this costs nothing. */
    static uint8_t room[BF_HEADER_FIRST + BF_HEADER_LINK * (size_t)BF_LINKS_MAX];
    const void *data = room;
    uint64_t next;
    assert(bloomery_redisbloom_header_bytes(value->filter) <= sizeof room);
    const bloomery_status status =
        bloomery_redisbloom_scandump(value->filter, 0, room, &data, bytes, &next, NULL);
    assert(status == BLOOMERY_OK && *bytes >= BF_HEADER_FIRST + BF_HEADER_LINK);
    (void)status;
    return data;
}

#define LINK_FIELDS(ROW)  \
    ROW(0, bytes)         \
    ROW(8, bits)          \
    ROW(16, size)         \
    ROW(24, rate)         \
    ROW(32, bits_per_key) \
    ROW(40, probes)       \
    ROW(44, capacity)     \
    ROW(52, power)

/* As they lie in memory: the processors that these servers run on put the low byte first. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "headers are little-endian");

void bf_header_read_link(const uint8_t *header, uint32_t index, struct bf_link *link)
{
    const uint8_t *at = header + BF_HEADER_FIRST + (size_t)index * BF_HEADER_LINK;
#define READ(offset, field) memcpy(&link->field, at + (offset), sizeof link->field);
    LINK_FIELDS(READ)
#undef READ
}

void bf_header_write_link(uint8_t *header, uint32_t index, const struct bf_link *link)
{
    uint8_t *at = header + BF_HEADER_FIRST + (size_t)index * BF_HEADER_LINK;
#define WRITE(offset, field) memcpy(at + (offset), &link->field, sizeof link->field);
    LINK_FIELDS(WRITE)
#undef WRITE
}
