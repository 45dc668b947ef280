/* SPDX-License-Identifier: Apache-2.0 */
/* See layers.h. */
#include "chain/layers.h"

#include <assert.h>

bool bloomery_positions_may_contain(const bloomery_filter *filter, bloomery_key key)
{
    const struct bloomery_subject subject = {.key = key};
    return bloomery_layers_may_contain(filter, bloomery_layer_count(filter), &subject, true);
}

bool bloomery_positions_remove(bloomery_filter *filter, bloomery_key key, uint32_t *cleared)
{
    uint64_t positions[BLOOMERY_POSITIONS_MAX];
    const struct bloomery_layer *layer = filter->layers;
    assert(filter->shape.layer_count == 1);
    filter->hash->positions(bloomery_secret_of(filter), key, layer->bits, layer->probes, positions);
    return filter->operations->remove_positions(layer, layer->payload, positions, cleared);
}

uint32_t bloomery_positions_count(const bloomery_filter *filter, bloomery_key key)
{
    uint64_t positions[BLOOMERY_POSITIONS_MAX];
    const struct bloomery_layer *layer = filter->layers;
    filter->hash->positions(bloomery_secret_of(filter), key, layer->bits, layer->probes, positions);
    return filter->operations->count_positions(layer, layer->payload, positions);
}
