/* SPDX-License-Identifier: Apache-2.0 */
/* Chains: where keys are added to them, when another layer is, and how two become one. chain.c has
 * the essays. */
#ifndef BLOOMERY_KINDS_CHAIN_H
#define BLOOMERY_KINDS_CHAIN_H

#include "kernels/fast_path.h"
#include "kinds/filter.h"

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
/* The same as a call that adds one key: what it returns, and the failures that nobody hears of. */
bool bloomery_chain_add_one(struct bloomery_filter *filter, bloomery_hash hash,
                            bloomery_error *error);
/* The same if the hash gives positions. */
bloomery_status bloomery_chain_add_positions(struct bloomery_filter *filter, bloomery_key key,
                                             uint32_t *new_bits, bloomery_error *error);

/*
 * Adds keys in order, as bloomery_chain_add does one by one; `answers` and `counts` as in
 * bloomery_add_keys, or NULL. `fast`: the fast path of blocked layers, or NULL in a chain of
 * another system.
 */
bloomery_status bloomery_chain_add_many(struct bloomery_filter *filter,
                                        const struct bloomery_fast_path *fast,
                                        const struct bloomery_input *keys, size_t count,
                                        uint64_t *answers, bloomery_counts *counts,
                                        bloomery_error *error);

/* Queries a chain of our own; `answers` as in bloomery_may_contain_keys, or NULL. Returns how many
 * are true. */
size_t bloomery_chain_query(const struct bloomery_filter *filter,
                            const struct bloomery_fast_path *fast,
                            const struct bloomery_input *keys, size_t count, uint64_t *answers);

/* Adds a layer. No other thread does so at the same time. BLOOMERY_FULL, BLOOMERY_OUT_OF_MEMORY,
 * BLOOMERY_UNSUPPORTED if the scheme cannot have the next one; nothing changes then. */
bloomery_status bloomery_chain_grow(struct bloomery_filter *filter, bloomery_error *error);

/* The hash of a chain that is planned for these keys in its first layer and this rate: all its
 * layers have the same. */
bloomery_hash_id bloomery_chain_hash(uint64_t keys, double rate);

/* The plan of a chain's first layer, from the plan of the chain, and that of the layer after
 * `newest`, for the hash that the chain has. */
bloomery_status bloomery_chain_first(bloomery_plan *plan, uint32_t blocks_per_key, uint32_t probes,
                                     uint32_t folds, bloomery_hash_id hash, bloomery_error *error);
bloomery_status bloomery_chain_next(const struct bloomery_layer *newest, bloomery_plan *plan,
                                    bloomery_hash_id hash, bloomery_error *error);

/* ---- Layer by layer -------------------------------------------------------------------------- */

/*
 * The way of a key through the layers of a filter: by its hash, or by positions. The hash of
 * another system may give positions, which differ from layer to layer.
 */

/* Returns whether keys come as positions: then they do not have hashes. */
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
    return filter->kind->grows || bloomery_has_tables(filter->kind) ||
           bloomery_by_positions(filter) || bloomery_counts_new(filter);
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

/* ---- Joining chains -------------------------------------------------------------------------- */

/* Puts a chain's layers, or copies of them, behind those of another. Nothing changes on failure. */
bloomery_status bloomery_chain_join(struct bloomery_filter *into,
                                    const struct bloomery_filter *from, bloomery_error *error);

#endif /* BLOOMERY_KINDS_CHAIN_H */
