/* SPDX-License-Identifier: Apache-2.0 */
/* Chains that grow: where keys are added to them, and when another layer is. grow.c holds the
 * essay. */
#ifndef BLOOMERY_GROW_H
#define BLOOMERY_GROW_H

#include "core/filter.h"

/* A chain's first layer is planned for this part of the rate that the chain stays under. Each
 * further one is planned for that part of the rate of the layer before. They add up to 1: both are
 * exact in binary. */
#define BLOOMERY_CHAIN_FIRST    0.25
#define BLOOMERY_CHAIN_FACTOR   0.75
#define BLOOMERY_CHAIN_RATE_MIN 1e-12
#define BLOOMERY_CHAIN_GROWTH   2 /* times the keys of the layer before */

/* The rate that a chain stays under, however far it grows. */
double bloomery_chain_rate(const struct bloomery_layer *layers, uint32_t count);

/* Counts the bits of a chain that is not a map or a view, and finds out when its layers are full.
 * Does nothing for other kinds. */
void bloomery_chain_open(struct bloomery_filter *filter);

/* The same for a chain that is empty, without reading its layers. */
void bloomery_chain_begin(struct bloomery_filter *filter);

/* Adds a key and counts it; fails if the chain cannot grow. `new_bits` is over 0 if the key is new;
 * it is only written if the call did not fail. */
bloomery_status bloomery_chain_add(struct bloomery_filter *filter, bloomery_hash hash,
                                   uint32_t *new_bits, bloomery_error *error);
/* The same if the hash gives positions. */
bloomery_status bloomery_chain_add_positions(struct bloomery_filter *filter, bloomery_key key,
                                             uint32_t *new_bits, bloomery_error *error);

/* Adds up to 64 keys in order, as bloomery_chain_add does one by one. Bit i of `answers` is set if
 * key i was new; `new_bits` is added to, unless NULL. False if one of them might make the newest
 * layer full: nothing was added then, and each is to be added by itself. */
bool bloomery_chain_add_word(struct bloomery_filter *filter, const bloomery_hash *hashes,
                             size_t keys, uint64_t *answers, uint64_t *new_bits);

/* The hash of a chain that is planned for these keys in its first layer and this rate: all its
 * layers have the same. */
bloomery_hash_id bloomery_chain_hash(uint64_t keys, double rate);

/* The plan of a chain's first layer, from the plan of the chain, and that of the layer after
 * `newest`, for the hash that the chain has. */
bloomery_status bloomery_chain_first(bloomery_plan *plan, uint32_t blocks_per_key, uint32_t probes,
                                     uint32_t folds, bloomery_hash_id hash, bloomery_error *error);
bloomery_status bloomery_chain_next(const struct bloomery_layer *newest, bloomery_plan *plan,
                                    bloomery_hash_id hash, bloomery_error *error);

#endif
