/* SPDX-License-Identifier: Apache-2.0 */
/* What a key of CF.* holds. */
#define BLOOMERY_EXPERIMENTAL

#include "cf.h"

#include <assert.h>
#include <bloomery/experimental.h>

enum { TOLD_FILTER = 40, TOLD_TABLE = 16 };

server_type *cf_type;

/* ---- Making and releasing -------------------------------------------------------------------- */

/* A value whose filter was made is counted. */
static bloomery_status finish(bloomery_status status, struct bf_value **value)
{
    if (status == BLOOMERY_OK) {
        atomic_fetch_add(&bf_counts.cuckoo_keys, 1);
        bf_populate(*value);
        return status;
    }
    bf_value_free(*value);
    *value = NULL;
    return status;
}

bloomery_status cf_value_create(server_context *context, const struct cf_parameters *parameters,
                                struct bf_value **value)
{
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    *value = bf_value_new();
    if (*value == NULL)
        return BLOOMERY_OUT_OF_MEMORY;
    options.allocator = bf_allocator(*value);
    bf_limits(context, 0);
    const bloomery_status status = bloomery_cuckoo_create(
        parameters->capacity, parameters->bucket_size, parameters->iterations, parameters->growth,
        &options, &(*value)->filter, NULL);
    bf_limits(NULL, 0);
    return finish(status, value);
}

bloomery_status cf_value_from_header(server_context *context, const void *header, size_t bytes,
                                     struct bf_value **value)
{
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    *value = bf_value_new();
    if (*value == NULL)
        return BLOOMERY_OUT_OF_MEMORY;
    options.allocator = bf_allocator(*value);
    bf_limits(context, 0);
    const bloomery_status status =
        bloomery_cuckoo_load_header(header, bytes, &options, &(*value)->filter, NULL);
    bf_limits(NULL, 0);
    return finish(status, value);
}

struct bf_value *cf_value_copy(const struct bf_value *value)
{
    struct bf_value *twin = bf_value_copy(NULL, value);
    if (twin != NULL)
        atomic_fetch_add(&bf_counts.cuckoo_keys, 1);
    return twin;
}

void cf_value_free(void *value)
{
    if (value == NULL)
        return;
    atomic_fetch_sub(&bf_counts.cuckoo_keys, 1);
    bf_value_free(value);
}

/* ---- Facts ----------------------------------------------------------------------------------- */

void cf_facts_of(const struct bf_value *value, bloomery_cuckoo_info *facts)
{
    *facts = (bloomery_cuckoo_info)BLOOMERY_CUCKOO_INFO;
    const bloomery_status status = bloomery_cuckoo_info_get(value->filter, facts);
    assert(status == BLOOMERY_OK && facts->tables > 0);
    (void)status;
}

void cf_header(const struct bf_value *value, uint8_t header[BLOOMERY_CUCKOO_HEADER])
{
    const bloomery_status status = bloomery_cuckoo_header(value->filter, header);
    assert(status == BLOOMERY_OK);
    (void)status;
}

const char *cf_slots(const struct bf_value *value, const bloomery_cuckoo_info *facts,
                     uint32_t index, uint64_t *bytes)
{
    const void *slots;
    uint64_t room;
    *bytes = facts->buckets * facts->slots;
    for (uint32_t i = 0; i < index && facts->growth > 1; i++)
        *bytes *= facts->growth;
    (void)bloomery_layer_span(value->filter, index, &slots, &room);
    assert(*bytes <= room);
    return slots;
}

uint64_t cf_told_bytes(const struct bf_value *value)
{
    bloomery_cuckoo_info facts;
    cf_facts_of(value, &facts);
    return TOLD_FILTER + (uint64_t)TOLD_TABLE * facts.tables + facts.bytes;
}
