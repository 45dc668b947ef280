/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a key in filters of other systems, where it is another than that of a hash in one layer:
 * where hashes hand out positions, which differ from layer to layer, and in chains, which those systems
 * let grow by rules of their own.
 */
#ifndef BLOOMERY_FOREIGN_CHAIN_H
#define BLOOMERY_FOREIGN_CHAIN_H

#include "core/filter.h"
#include "core/foreign/schemes.h"

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

/* Whether keys must be added one after the other by one thread at a time: in chains, where it depends
 * on the order of keys in which layer they are, and where hashes hand out positions. */
static inline bool bloomery_adds_in_order(const bloomery_filter *filter)
{
    return filter->kind->grows || bloomery_by_positions(filter) || bloomery_counts_new(filter);
}

/* BLOOMERY_NEW, BLOOMERY_SEEN, or why a chain could not grow; adds are counted by the caller. */
int bloomery_positions_add(bloomery_filter *filter, bloomery_key key, uint32_t *new_bits,
                           bloomery_error *error);

bool bloomery_positions_may_contain(const bloomery_filter *filter, bloomery_key key);

/* Counters: as bloomery_remove and bloomery_key_count. */
bool bloomery_positions_remove(bloomery_filter *filter, bloomery_key key, uint32_t *cleared);
uint32_t bloomery_positions_count(const bloomery_filter *filter, bloomery_key key);

/* As bloomery_chain_add, in a chain of another system; adds are counted here. */
int bloomery_foreign_chain_add(bloomery_filter *filter, bloomery_hash hash, uint32_t *new_bits,
                               bloomery_error *error);

#endif
