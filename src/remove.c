/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What counters are for: removing keys, counting them, and leaving the counters behind. Removals do
 * not change the filter's count of adds: that counts calls of add.
 */
#include "add.h"
#include "chain/layers.h"
#include "options.h"
#include "ways.h"

#include "base/bytes.h"
#include "base/error.h"
#include "core/counting.h"

#include <assert.h>
#include <string.h>

/* ---- Removing -------------------------------------------------------------------------------- */

bloomery_status bloomery_can_remove(const bloomery_filter *filter, bloomery_error *error)
{
    if (!filter->kind->removes)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "keys can be removed from counting filters only");
    return bloomery_can_add(filter, error);
}

static int remove_hash(bloomery_filter *filter, bloomery_hash hash, uint32_t *cleared)
{
    struct bloomery_layer *layer = bloomery_newest_layer(filter);
    uint32_t zero = 0;
    assert(filter->shape.layer_count == 1);
    const bool removed = filter->operations->remove(layer, layer->payload, hash, &zero);
    assert(zero <= 64 && (removed || zero == 0));
    if (cleared != NULL)
        *cleared = zero;
    return removed ? BLOOMERY_REMOVED : BLOOMERY_ABSENT;
}

static int remove_positions(bloomery_filter *filter, bloomery_key key, uint32_t *cleared)
{
    uint32_t zero = 0;
    const bool removed = bloomery_positions_remove(filter, key, &zero);
    assert(zero <= BLOOMERY_POSITIONS_MAX && (removed || zero == 0));
    if (cleared != NULL)
        *cleared = zero;
    return removed ? BLOOMERY_REMOVED : BLOOMERY_ABSENT;
}

int bloomery_remove_hash(bloomery_filter *filter, bloomery_hash hash, uint32_t *cleared)
{
    bloomery_status status = bloomery_can_remove(filter, NULL);
    if (status == BLOOMERY_OK && bloomery_by_positions(filter))
        status = BLOOMERY_UNSUPPORTED;
    return status == BLOOMERY_OK ? remove_hash(filter, hash, cleared) : (int)status;
}

int bloomery_remove(bloomery_filter *filter, bloomery_key key, uint32_t *cleared)
{
    bloomery_status status = bloomery_can_remove(filter, NULL);
    if (status != BLOOMERY_OK)
        return status;
    if (bloomery_by_positions(filter))
        return remove_positions(filter, key, cleared);
    return remove_hash(filter, filter->hash->one(bloomery_secret_of(filter), key), cleared);
}

/* ---- Counting -------------------------------------------------------------------------------- */

uint32_t bloomery_key_count(const bloomery_filter *filter, bloomery_key key)
{
    const struct bloomery_layer *layer = filter->layers;
    if (filter->operations->count == NULL && filter->operations->count_positions == NULL)
        return bloomery_may_contain(filter, key) ? 1 : 0;
    if (!filter->secret_known) /* whatever was added, that is never too low */
        return bloomery_counter_max(filter->shape.cell_bits);
    if (filter->operations->count == NULL)
        return bloomery_positions_count(filter, key);
    return filter->operations->count(layer, layer->payload,
                                     filter->hash->one(bloomery_secret_of(filter), key));
}

/* ---- Without counters ------------------------------------------------------------------------ */

bloomery_status bloomery_drop_counters(const bloomery_filter *filter,
                                       const bloomery_open_options *given,
                                       bloomery_filter **dropped, bloomery_error *error)
{
    bloomery_open_options options;
    uint64_t bytes = 0;
    *dropped = NULL;
    bloomery_status status = bloomery_open_options_read(given, &options, error);
    if (status != BLOOMERY_OK)
        return status;
    if (filter->foreign)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "the counters of a filter of another system can't be dropped");
    if (!filter->kind->removes)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "a filter of kind %s has no counters to drop",
                             bloomery_kind_name((int)filter->shape.kind));
    if (bloomery_rest_in(filter)->checksums != NULL) { /* what was not read yet may be damaged */
        status = bloomery_verify(filter, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    struct bloomery_layer layer = filter->layers[0];
    struct bloomery_shape shape = filter->shape;
    shape.kind = BLOOMERY_BLOCKED;
    shape.cell_bits = 1;
    shape.layers = &layer;
    struct bloomery_traits traits = bloomery_traits_of(filter);
    traits.allocator = options.allocator;
    status = bloomery_shape_lay_out(&shape, &bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_shape_check(&shape, bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_make(&shape, &traits, NULL, bytes, dropped, error);
    bloomery_wipe(&traits.secret, sizeof traits.secret);
    if (status == BLOOMERY_OK)
        bloomery_counting_drop(&filter->layers[0], filter->shape.cell_bits,
                               filter->layers[0].payload, bloomery_payload_of(*dropped));
    return status;
}
