/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single keys and hashes of blocked filters, compiled in one piece for a processor: a template,
 * included behind kernels/fast_path_template.h. LEVEL_NAME is defined too, the level's name for
 * people.
 *
 * One key at a time, a program has as many keys in flight as fit into the instructions that the
 * processor looks ahead: some hundred. Every instruction less is one more key. So each function is
 * compiled twice, for keys of one block with eight bits and for all others, and which of the two is
 * decided when the filter is made. For short keys, of 4 to 16 bytes, with one block, functions
 * neither loop nor call nor use the stack. All others leave by a jump.
 *
 *     bloomery_may_contain ─> filter->lookup->key ─┬─ 8 bytes ── hash ── block ── answer
 *                                                  ├─ 4 to 16 ── hash ──┘
 *                                                  └─ others ── hash by a call ── all blocks
 *
 * `usual`, a constant: one block, eight bits. `shared`, a constant: other threads write at the same
 * time.
 */

/* The hash of a short key. */
LEVEL_INLINE bloomery_hash OF_LEVEL(short_hash)(const bloomery_filter *filter, bloomery_key key)
{
    return (bloomery_hash){
        0, bloomery_xxh3_single(&bloomery_secret_of(filter)->brief, key.data, key.bytes)};
}

/* Bits of a block of a key. */
LEVEL_INLINE uint32_t OF_LEVEL(probes)(const struct bloomery_layer *layer, const bool usual)
{
    assert(!usual || (layer->blocks_per_key == 1 && layer->probes == BLOOMERY_BLOCK_PROBES));
    return usual ? (uint32_t)BLOOMERY_BLOCK_PROBES : layer->probes;
}

/* ---- Lookups --------------------------------------------------------------------------------- */

LEVEL_TARGET static __attribute__((noinline)) bool
OF_LEVEL(query_from)(const struct bloomery_layer *layer, bloomery_hash hash, uint32_t first)
{
    bloomery_blocked_prefetch_rest(layer, layer->payload, hash);
    return OF_LEVEL(holds)(layer, layer->payload, hash, first);
}

LEVEL_INLINE bool OF_LEVEL(query_one)(const bloomery_filter *filter, bloomery_hash hash,
                                      const bool usual)
{
    const struct bloomery_layer *layer = filter->layers;
    const struct bloomery_place place = bloomery_place_of(hash, 0, layer->blocks);
    const bool hit = OF_LEVEL(hits)(layer->payload + place.block * BLOOMERY_BLOCK_BYTES, place.word,
                                    OF_LEVEL(probes)(layer, usual));
    if (!usual && __builtin_expect(layer->blocks_per_key > 1, 0) && hit)
        return OF_LEVEL(query_from)(layer, hash, 1);
    return hit;
}

LEVEL_TARGET static __attribute__((noinline)) bool
OF_LEVEL(query_other)(const bloomery_filter *filter, bloomery_key key)
{
    return OF_LEVEL(query_from)(filter->layers, filter->hash->one(bloomery_secret_of(filter), key),
                                0);
}

LEVEL_TARGET static bool OF_LEVEL(query_key)(const bloomery_filter *filter, bloomery_key key)
{
    return bloomery_xxh3_is_short(key.bytes)
               ? OF_LEVEL(query_one)(filter, OF_LEVEL(short_hash)(filter, key), false)
               : OF_LEVEL(query_other)(filter, key);
}

LEVEL_TARGET static bool OF_LEVEL(query_key_usual)(const bloomery_filter *filter, bloomery_key key)
{
    return bloomery_xxh3_is_short(key.bytes)
               ? OF_LEVEL(query_one)(filter, OF_LEVEL(short_hash)(filter, key), true)
               : OF_LEVEL(query_other)(filter, key);
}

LEVEL_TARGET static bool OF_LEVEL(query_hash)(const bloomery_filter *filter, bloomery_hash hash)
{
    return OF_LEVEL(query_one)(filter, hash, false);
}

LEVEL_TARGET static bool OF_LEVEL(query_hash_usual)(const bloomery_filter *filter,
                                                    bloomery_hash hash)
{
    return OF_LEVEL(query_one)(filter, hash, true);
}

LEVEL_TARGET static void OF_LEVEL(prefetch_hash)(const bloomery_filter *filter, bloomery_hash hash)
{
    bloomery_blocked_prefetch(filter->layers, filter->layers->payload, &hash, 1);
}

LEVEL_TARGET static void OF_LEVEL(prefetch_hash_usual)(const bloomery_filter *filter,
                                                       bloomery_hash hash)
{
    bloomery_blocked_prefetch_block(filter->layers, filter->layers->payload, &hash, 1, 0);
}

/* ---- Adds ------------------------------------------------------------------------------------ */

/* What adding a key leaves behind: its count, and its answer. */
LEVEL_INLINE bool OF_LEVEL(added)(struct bloomery_layer *layer, bool fresh, bloomery_error *error,
                                  const bool shared)
{
    if (shared)
        __atomic_fetch_add(&layer->adds, 1, __ATOMIC_RELAXED);
    else
        layer->adds++;
    if (error != NULL)
        error->status = BLOOMERY_OK;
    return fresh;
}

LEVEL_TARGET static __attribute__((noinline)) bool
OF_LEVEL(add_all)(bloomery_filter *filter, bloomery_hash hash, bloomery_error *error)
{
    struct bloomery_layer *layer = filter->layers;
    bloomery_blocked_prefetch_rest(layer, layer->payload, hash);
    return OF_LEVEL(added)(layer, OF_LEVEL(put_all)(layer, layer->payload, hash, false) > 0, error,
                           false);
}

LEVEL_TARGET static __attribute__((noinline)) bool
OF_LEVEL(add_all_shared)(bloomery_filter *filter, bloomery_hash hash, bloomery_error *error)
{
    struct bloomery_layer *layer = filter->layers;
    bloomery_blocked_prefetch_rest(layer, layer->payload, hash);
    return OF_LEVEL(added)(layer, OF_LEVEL(put_all)(layer, layer->payload, hash, true) > 0, error,
                           true);
}

LEVEL_TARGET static __attribute__((noinline)) bool
OF_LEVEL(add_other)(bloomery_filter *filter, bloomery_key key, bloomery_error *error)
{
    const bloomery_hash hash = filter->hash->one(bloomery_secret_of(filter), key);
    return bloomery_is_shared(filter->concurrent) ? OF_LEVEL(add_all_shared)(filter, hash, error)
                                                  : OF_LEVEL(add_all)(filter, hash, error);
}

LEVEL_INLINE bool OF_LEVEL(add_one)(bloomery_filter *filter, bloomery_hash hash,
                                    bloomery_error *error, const bool usual)
{
    struct bloomery_layer *layer = filter->layers;
    if (!usual && __builtin_expect(layer->blocks_per_key > 1, 0))
        return OF_LEVEL(add_all)(filter, hash, error);
    const struct bloomery_place place = bloomery_place_of(hash, 0, layer->blocks);
    uint8_t *at = layer->payload + place.block * BLOOMERY_BLOCK_BYTES;
    assert(place.block < layer->blocks && (uintptr_t)at % BLOOMERY_BLOCK_BYTES == 0);
    const bool fresh = OF_LEVEL(mark)(at, place.word, OF_LEVEL(probes)(layer, usual));
    assert(OF_LEVEL(hits)(at, place.word, layer->probes));
    return OF_LEVEL(added)(layer, fresh, error, false);
}

LEVEL_TARGET static bool OF_LEVEL(add_key)(bloomery_filter *filter, bloomery_key key,
                                           bloomery_error *error)
{
    return bloomery_xxh3_is_short(key.bytes)
               ? OF_LEVEL(add_one)(filter, OF_LEVEL(short_hash)(filter, key), error, false)
               : OF_LEVEL(add_other)(filter, key, error);
}

LEVEL_TARGET static bool OF_LEVEL(add_key_usual)(bloomery_filter *filter, bloomery_key key,
                                                 bloomery_error *error)
{
    return bloomery_xxh3_is_short(key.bytes)
               ? OF_LEVEL(add_one)(filter, OF_LEVEL(short_hash)(filter, key), error, true)
               : OF_LEVEL(add_other)(filter, key, error);
}

LEVEL_TARGET static bool OF_LEVEL(add_key_shared)(bloomery_filter *filter, bloomery_key key,
                                                  bloomery_error *error)
{
    return bloomery_xxh3_is_short(key.bytes)
               ? OF_LEVEL(add_all_shared)(filter, OF_LEVEL(short_hash)(filter, key), error)
               : OF_LEVEL(add_other)(filter, key, error);
}

LEVEL_TARGET static bool OF_LEVEL(add_given)(bloomery_filter *filter, bloomery_hash hash,
                                             bloomery_error *error)
{
    return OF_LEVEL(add_one)(filter, hash, error, false);
}

LEVEL_TARGET static bool OF_LEVEL(add_given_usual)(bloomery_filter *filter, bloomery_hash hash,
                                                   bloomery_error *error)
{
    return OF_LEVEL(add_one)(filter, hash, error, true);
}

static const struct bloomery_lookup OF_LEVEL(lookups)[2] = {
    {OF_LEVEL(query_key), OF_LEVEL(query_hash), OF_LEVEL(prefetch_hash)},
    {OF_LEVEL(query_key_usual), OF_LEVEL(query_hash_usual), OF_LEVEL(prefetch_hash_usual)},
};

static const struct bloomery_addition OF_LEVEL(additions)[2] = {
    {OF_LEVEL(add_key), OF_LEVEL(add_given)},
    {OF_LEVEL(add_key_usual), OF_LEVEL(add_given_usual)},
};

static const struct bloomery_addition OF_LEVEL(shared_addition) = {OF_LEVEL(add_key_shared),
                                                                   OF_LEVEL(add_all_shared)};

const struct bloomery_fast_path OF_LEVEL(bloomery_fast) = {
    .query = OF_LEVEL(query),
    .add = {OF_LEVEL(add), BLOOMERY_HAS_THREADS ? OF_LEVEL(add_shared) : OF_LEVEL(add)},
    .lookups = OF_LEVEL(lookups),
    .additions = OF_LEVEL(additions),
    .shared_addition = BLOOMERY_HAS_THREADS ? &OF_LEVEL(shared_addition) : OF_LEVEL(additions),
};

/* ---- Single hashes of a layer, and ranges of blocks ------------------------------------------ */

/* bloomery_blocked_LEVEL[1] is for filters that several threads write. */

LEVEL_TARGET static bool OF_LEVEL(may_contain)(const struct bloomery_layer *layer,
                                               const uint8_t *payload, bloomery_hash hash)
{
    return OF_LEVEL(holds)(layer, payload, hash, 0);
}

LEVEL_TARGET static uint32_t OF_LEVEL(add_hash)(const struct bloomery_layer *layer,
                                                uint8_t *payload, bloomery_hash hash)
{
    return OF_LEVEL(put_all)(layer, payload, hash, false);
}

LEVEL_INLINE void OF_LEVEL(fetch_block)(const struct bloomery_layer *layer, const uint8_t *payload,
                                        struct bloomery_hashes hashes, size_t i, uint32_t which)
{
    const bloomery_hash hash = bloomery_hashes_at(hashes, i);
    bloomery_blocked_prefetch_block(layer, payload, &hash, 1, which);
}

LEVEL_TARGET static void OF_LEVEL(add_block)(const struct bloomery_layer *layer, uint8_t *payload,
                                             struct bloomery_hashes hashes, size_t count,
                                             uint32_t which)
{
    assert(which < layer->blocks_per_key);
    for (size_t i = 0; i < count && i < BLOOMERY_AHEAD; i++)
        OF_LEVEL(fetch_block)(layer, payload, hashes, i, which);
    for (size_t i = 0; i < count; i++) {
        if (i + BLOOMERY_AHEAD < count)
            OF_LEVEL(fetch_block)(layer, payload, hashes, i + BLOOMERY_AHEAD, which);
        OF_LEVEL(put)(layer, payload, bloomery_hashes_at(hashes, i), which, false);
    }
}

LEVEL_TARGET static uint32_t OF_LEVEL(add_hash_shared)(const struct bloomery_layer *layer,
                                                       uint8_t *payload, bloomery_hash hash)
{
    return OF_LEVEL(put_all)(layer, payload, hash, true);
}

const struct bloomery_operations OF_LEVEL(bloomery_blocked)[2] = {
    {
        .name = LEVEL_NAME,
        .add = OF_LEVEL(add_hash),
        .may_contain = OF_LEVEL(may_contain),
        .prefetch_add = bloomery_blocked_prefetch,
        .add_block = OF_LEVEL(add_block),
    },
    {
        .name = LEVEL_NAME "-concurrent",
        .add = BLOOMERY_HAS_THREADS ? OF_LEVEL(add_hash_shared) : OF_LEVEL(add_hash),
        .may_contain = OF_LEVEL(may_contain),
        .prefetch_add = bloomery_blocked_prefetch,
    },
};
