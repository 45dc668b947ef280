/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a key through the layers of a filter: by its hash, or by positions. The hash of
 * another system may give positions, which differ from layer to layer.
 */
#ifndef BLOOMERY_CHAIN_LAYERS_H
#define BLOOMERY_CHAIN_LAYERS_H

#include "core/filter.h"

/* Whether keys come as positions: there is no hash of a key then. */
static inline bool bloomery_by_positions(const bloomery_filter *filter)
{
    return filter->hash->positions != NULL;
}

/* Whether `adds` counts only keys that were new. */
static inline bool bloomery_counts_new(const bloomery_filter *filter)
{
    return filter->shape.count_scheme == BLOOMERY_COUNTS_NEW;
}

/* Whether keys must be added one after the other by one thread at a time. This holds in chains,
 * where the order of keys decides their layers, and for hashes that give positions. */
static inline bool bloomery_adds_in_order(const bloomery_filter *filter)
{
    return filter->kind->grows || bloomery_by_positions(filter) || bloomery_counts_new(filter);
}

/* A key on its way: by its bytes if the hash gives positions, else by its hash. */
struct bloomery_subject {
    bloomery_key key;
    bloomery_hash hash;
};

/* In these `positions` is bloomery_by_positions(filter), which callers know: compiled into them, a
 * hash stays in registers. */
#define BLOOMERY_INTO_CALLER static inline __attribute__((always_inline))

BLOOMERY_INTO_CALLER bool bloomery_layer_may_contain(const bloomery_filter *filter,
                                                     const struct bloomery_layer *layer,
                                                     const struct bloomery_subject *subject,
                                                     bool positions)
{
    uint64_t at[BLOOMERY_POSITIONS_MAX];
    if (!positions)
        return filter->operations->may_contain(layer, layer->payload, subject->hash);
    filter->hash->positions(bloomery_secret_of(filter), subject->key, layer->bits, layer->probes,
                            at);
    return filter->operations->may_contain_positions(layer, layer->payload, at);
}

BLOOMERY_INTO_CALLER uint32_t bloomery_layer_add(const bloomery_filter *filter,
                                                 const struct bloomery_layer *layer,
                                                 const struct bloomery_subject *subject,
                                                 bool positions)
{
    uint64_t at[BLOOMERY_POSITIONS_MAX];
    if (!positions)
        return filter->operations->add(layer, layer->payload, subject->hash);
    filter->hash->positions(bloomery_secret_of(filter), subject->key, layer->bits, layer->probes,
                            at);
    return filter->operations->add_positions(layer, layer->payload, at);
}

/* Whether one of the first `count` layers may have the key. The newest comes first: it is the
 * largest, and has what was added last. */
BLOOMERY_INTO_CALLER bool bloomery_layers_may_contain(const bloomery_filter *filter, uint32_t count,
                                                      const struct bloomery_subject *subject,
                                                      bool positions)
{
    for (uint32_t i = count; i-- > 0;)
        if (bloomery_layer_may_contain(filter, &filter->layers[i], subject, positions))
            return true;
    return false;
}

#undef BLOOMERY_INTO_CALLER

bool bloomery_positions_may_contain(const bloomery_filter *filter, bloomery_key key);

/* Counters: as bloomery_remove and bloomery_key_count. */
bool bloomery_positions_remove(bloomery_filter *filter, bloomery_key key, uint32_t *cleared);
uint32_t bloomery_positions_count(const bloomery_filter *filter, bloomery_key key);

#endif
