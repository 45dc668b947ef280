/* SPDX-License-Identifier: Apache-2.0 */
/* Cuckoo filters: what is theirs alone (bloomery/experimental.h). kinds/tables.c has the tables,
 * dialects/redisbloom_cuckoo.c the bytes. */
#include "base/error.h"
#include "base/experimental.h"
#include "base/versioned.h"
#include "dialects/redisbloom.h"
#include "kinds/tables.h"
#include "library.h"

#include <assert.h>
#include <string.h>

/* What version 0.1 has of the struct. */
enum { CUCKOO_BYTES_FIRST = sizeof(bloomery_cuckoo_info) };

/* ---- Making ---------------------------------------------------------------------------------- */

/* A filter of a design that `status` tells to be good. */
static bloomery_status make(bloomery_status status, struct bloomery_design *design,
                            const bloomery_open_options *options, bloomery_filter **filter,
                            bloomery_error *error)
{
    if (status == BLOOMERY_OK)
        status = bloomery_design_make(bloomery_dialect_row(BLOOMERY_DIALECT_REDISBLOOM_CUCKOO),
                                      design, options, filter, error);
    bloomery_design_end(design);
    return status;
}

/* A filter of these numbers; of a plan, unless that is NULL. */
static bloomery_status create(uint64_t keys, uint32_t slots, uint32_t iterations, uint32_t growth,
                              const bloomery_plan *plan, const bloomery_create_options *given,
                              bloomery_filter **filter, bloomery_error *error)
{
    bloomery_open_options chosen, options;
    struct bloomery_design design;
    *filter = NULL;
    bloomery_status status = bloomery_creation_as_opening(given, &chosen, error);
    if (status == BLOOMERY_OK)
        status = bloomery_design_begin(&chosen, &options, &design, error);
    if (status != BLOOMERY_OK)
        return status;
    status = bloomery_cuckoo_design(keys, slots, iterations, growth, &design, error);
    if (plan != NULL) {
        design.layers[0].keys = plan->planned_keys;
        design.layers[0].rate = plan->planned_rate;
    }
    return make(status, &design, &options, filter, error);
}

bloomery_status bloomery_cuckoo_create(uint64_t keys, uint32_t slots, uint32_t iterations,
                                       uint32_t growth, const bloomery_create_options *given,
                                       bloomery_filter **filter, bloomery_error *error)
{
    return create(keys, slots, iterations, growth, NULL, given, filter, error);
}

/* Keys for all slots get just the planned buckets. */
bloomery_status bloomery_cuckoo_of_plan(const bloomery_plan *plan,
                                        const bloomery_create_options *given,
                                        bloomery_filter **filter, bloomery_error *error)
{
    return create(plan->bits, plan->probes, BLOOMERY_PLANNED_ITERATIONS, 1, plan, given, filter,
                  error);
}

bloomery_status bloomery_cuckoo_load_header(const void *data, size_t bytes,
                                            const bloomery_open_options *given,
                                            bloomery_filter **filter, bloomery_error *error)
{
    bloomery_open_options options;
    struct bloomery_design design;
    *filter = NULL;
    bloomery_status status = bloomery_design_begin(given, &options, &design, error);
    if (status == BLOOMERY_OK && bytes > BLOOMERY_CUCKOO_HEADER)
        status = bloomery_fail(error, BLOOMERY_CORRUPT, BLOOMERY_CUCKOO_HEADER,
                               "a header has %d bytes, not %zu", BLOOMERY_CUCKOO_HEADER, bytes);
    if (status == BLOOMERY_OK)
        status = bloomery_cuckoo_parse_header(data, bytes, &design, error);
    if (status == BLOOMERY_OK && options.memory_limit > 0 &&
        bloomery_tables_slots(&design.shape, design.shape.layer_count) > options.memory_limit)
        status = bloomery_fail(
            error, BLOOMERY_OUT_OF_MEMORY, 0,
            "a filter of %llu bytes would pass the limit of memory",
            (unsigned long long)bloomery_tables_slots(&design.shape, design.shape.layer_count));
    return make(status, &design, &options, filter, error);
}

/* ---- Facts ----------------------------------------------------------------------------------- */

bloomery_status bloomery_cuckoo_info_get(const bloomery_filter *filter, bloomery_cuckoo_info *info)
{
    const bloomery_status status = bloomery_tables_are(filter, false, NULL);
    if (status != BLOOMERY_OK)
        return status;
    const struct bloomery_layer *first = &filter->layers[0];
    const bloomery_cuckoo_info facts = {
        .items = first->adds,
        .removed = first->removed,
        .buckets = first->blocks,
        .bytes = bloomery_tables_slots(&filter->shape, filter->shape.layer_count),
        .tables = filter->shape.layer_count,
        .slots = first->probes,
        .iterations = first->iterations,
        .growth = filter->shape.growth,
    };
    bloomery_versioned_give(&facts, sizeof facts, info, CUCKOO_BYTES_FIRST);
    return BLOOMERY_OK;
}

bloomery_status bloomery_cuckoo_header(const bloomery_filter *filter, uint8_t *header)
{
    const bloomery_status status = bloomery_tables_are(filter, false, NULL);
    if (status == BLOOMERY_OK)
        bloomery_cuckoo_write_header(filter, header);
    return status;
}

/* ---- Changing -------------------------------------------------------------------------------- */

bool bloomery_cuckoo_add_absent(bloomery_filter *filter, bloomery_key key, bloomery_error *error)
{
    uint32_t fresh = 0;
    bloomery_status status = bloomery_tables_are(filter, true, error);
    if (status == BLOOMERY_OK)
        status = bloomery_tables_add(filter, filter->hash->one(bloomery_secret_of(filter), key),
                                     true, &fresh, error);
    return bloomery_add_answer(filter, status, fresh, error);
}

bloomery_status bloomery_cuckoo_compact(bloomery_filter *filter, bool all, bool *changed,
                                        bloomery_error *error)
{
    const bloomery_status status = bloomery_tables_are(filter, true, error);
    const bool now = status == BLOOMERY_OK && bloomery_tables_compact(filter, all);
    if (changed != NULL)
        *changed = now;
    return status;
}

bloomery_status bloomery_cuckoo_load_chunk(bloomery_filter *filter, uint64_t iterator,
                                           const void *data, size_t bytes, bloomery_error *error)
{
    const bloomery_status status = bloomery_tables_are(filter, true, error);
    if (status != BLOOMERY_OK)
        return status;
    uint64_t at = iterator - 1 - bytes;
    uint32_t table = 0;
    const uint32_t tables = filter->shape.layer_count;
    if (iterator == 0 || bytes > iterator - 1)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "%zu bytes can't end at iterator %llu", bytes,
                             (unsigned long long)iterator);
    if (filter->shape.growth <= 1) { /* all of one size, and up to 65,536 of them */
        const uint64_t before = at / filter->layers[0].bits;
        table = before < tables ? (uint32_t)before : tables;
        at %= filter->layers[0].bits;
    }
    for (; table < tables && at >= filter->layers[table].bits; table++)
        at -= filter->layers[table].bits;
    if (table == tables || bytes > filter->layers[table].bits - at)
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "%zu bytes that end at iterator %llu are not in one table of this filter", bytes,
            (unsigned long long)iterator);
    assert(at + bytes <= bloomery_held_bytes(filter, &filter->layers[table]));
    if (bytes > 0)
        memcpy(filter->layers[table].payload + at, data, bytes);
    return BLOOMERY_OK;
}
