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
 * neither loop nor call nor use the stack. All others leave by a jump. Nothing is prefetched: the
 * processor sees all blocks of a key at once, and deriving them twice would cost more (a tenth).
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

/* ---- Chains, and other hashes than XXH3-64 --------------------------------------------------- */

/* w of the first block is the same in all layers. */
LEVEL_INLINE bool OF_LEVEL(layers_hold)(const bloomery_filter *filter, bloomery_hash hash,
                                        uint32_t layers)
{
    const uint64_t word = bloomery_place_of(hash, 0, 1).word;
    for (const struct bloomery_layer *layer = filter->layers + layers; layer-- > filter->layers;) {
        const uint64_t block = bloomery_block_of(hash, 0, layer->blocks);
        if (OF_LEVEL(hits)(layer->payload + block * BLOOMERY_BLOCK_BYTES, word, layer->probes) &&
            (layer->blocks_per_key == 1 || OF_LEVEL(query_from)(layer, hash, 1)))
            return true;
    }
    return false;
}

LEVEL_TARGET static __attribute__((noinline)) bool
OF_LEVEL(query_layers)(const bloomery_filter *filter, bloomery_hash hash)
{
    return OF_LEVEL(layers_hold)(filter, hash, bloomery_layer_count(filter));
}

LEVEL_TARGET static __attribute__((noinline)) bool
OF_LEVEL(query_other_in_layers)(const bloomery_filter *filter, bloomery_key key)
{
    if (!filter->secret_known) /* whatever was added, "possibly" is never wrong */
        return true;
    return OF_LEVEL(query_layers)(filter, filter->hash->one(bloomery_secret_of(filter), key));
}

/* A chain has one layer until it grows. */
LEVEL_TARGET static bool OF_LEVEL(query_hash_in_layers)(const bloomery_filter *filter,
                                                        bloomery_hash hash)
{
    return __builtin_expect(bloomery_layer_count(filter) == 1, 1)
               ? OF_LEVEL(query_one)(filter, hash, false)
               : OF_LEVEL(query_layers)(filter, hash);
}

LEVEL_TARGET static bool OF_LEVEL(query_key_in_layers)(const bloomery_filter *filter,
                                                       bloomery_key key)
{
    if (filter->shape.hash != BLOOMERY_HASH_XXH3_64 || !bloomery_xxh3_is_short(key.bytes))
        return OF_LEVEL(query_other_in_layers)(filter, key);
    const bloomery_hash hash = OF_LEVEL(short_hash)(filter, key);
    return __builtin_expect(bloomery_layer_count(filter) == 1, 1)
               ? OF_LEVEL(query_one)(filter, hash, false)
               : OF_LEVEL(query_layers)(filter, hash);
}

LEVEL_TARGET static void OF_LEVEL(prefetch_in_layers)(const bloomery_filter *filter,
                                                      bloomery_hash hash)
{
    for (uint32_t i = bloomery_layer_count(filter); i-- > 0;)
        bloomery_blocked_prefetch(&filter->layers[i], filter->layers[i].payload, &hash, 1);
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
    return OF_LEVEL(added)(layer, OF_LEVEL(put_all)(layer, layer->payload, hash, false) > 0, error,
                           false);
}

LEVEL_TARGET static __attribute__((noinline)) bool
OF_LEVEL(add_all_shared)(bloomery_filter *filter, bloomery_hash hash, bloomery_error *error)
{
    struct bloomery_layer *layer = filter->layers;
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
    assert(place.block < layer->blocks);
    uint8_t *at = layer->payload + place.block * BLOOMERY_BLOCK_BYTES;
    const bool fresh = OF_LEVEL(set_any)(at, place.word, OF_LEVEL(probes)(layer, usual));
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

/* To a chain: as bloomery_chain_add, which makes the next layer if the newest is full. */
LEVEL_INLINE bool OF_LEVEL(added_to_chain)(struct bloomery_layer *layer, uint32_t fresh,
                                           bloomery_error *error)
{
    layer->bits_set += fresh;
    assert(layer->bits_set <= layer->bits);
    return OF_LEVEL(added)(layer, fresh > 0, error, false);
}

LEVEL_TARGET static __attribute__((noinline)) bool
OF_LEVEL(add_to_layers)(bloomery_filter *filter, bloomery_hash hash, bloomery_error *error)
{
    const uint32_t older = filter->shape.layer_count - 1;
    struct bloomery_layer *layer = &filter->layers[older];
    assert(!filter->concurrent);
    if (__builtin_expect(layer->bits_set >= layer->full_at, 0))
        return bloomery_chain_add_one(filter, hash, error);
    const bool seen = OF_LEVEL(layers_hold)(filter, hash, older);
    return OF_LEVEL(added_to_chain)(
        layer, seen ? 0 : OF_LEVEL(put_all)(layer, layer->payload, hash, false), error);
}

LEVEL_INLINE bool OF_LEVEL(add_to_chain)(bloomery_filter *filter, bloomery_hash hash,
                                         bloomery_error *error)
{
    struct bloomery_layer *layer = filter->layers;
    if (__builtin_expect(filter->shape.layer_count > 1 || layer->blocks_per_key > 1 ||
                             layer->bits_set >= layer->full_at,
                         0))
        return OF_LEVEL(add_to_layers)(filter, hash, error);
    return OF_LEVEL(added_to_chain)(layer, OF_LEVEL(put)(layer, layer->payload, hash, 0, false),
                                    error);
}

LEVEL_TARGET static __attribute__((noinline)) bool
OF_LEVEL(add_other_to_chain)(bloomery_filter *filter, bloomery_key key, bloomery_error *error)
{
    return OF_LEVEL(add_to_layers)(filter, filter->hash->one(bloomery_secret_of(filter), key),
                                   error);
}

LEVEL_TARGET static bool OF_LEVEL(add_key_to_chain)(bloomery_filter *filter, bloomery_key key,
                                                    bloomery_error *error)
{
    if (filter->shape.hash != BLOOMERY_HASH_XXH3_64 || !bloomery_xxh3_is_short(key.bytes))
        return OF_LEVEL(add_other_to_chain)(filter, key, error);
    return OF_LEVEL(add_to_chain)(filter, OF_LEVEL(short_hash)(filter, key), error);
}

LEVEL_TARGET static bool OF_LEVEL(add_given_to_chain)(bloomery_filter *filter, bloomery_hash hash,
                                                      bloomery_error *error)
{
    return OF_LEVEL(add_to_chain)(filter, hash, error);
}

/* A build for size has no functions of their own for the usual shape, and adds without answers take
 * the way of those with answers. */
#define USUAL(name) (BLOOMERY_FOR_SIZE ? OF_LEVEL(name) : OF_LEVEL(name##_usual))

static const struct bloomery_lookup OF_LEVEL(lookups)[3] = {
    {OF_LEVEL(query_key), OF_LEVEL(query_hash), OF_LEVEL(prefetch_hash)},
    {USUAL(query_key), USUAL(query_hash), USUAL(prefetch_hash)},
    {OF_LEVEL(query_key_in_layers), OF_LEVEL(query_hash_in_layers), OF_LEVEL(prefetch_in_layers)},
};

static const struct bloomery_addition OF_LEVEL(additions)[3] = {
    {OF_LEVEL(add_key), OF_LEVEL(add_given)},
    {USUAL(add_key), USUAL(add_given)},
    {OF_LEVEL(add_key_to_chain), OF_LEVEL(add_given_to_chain)},
};

static const struct bloomery_addition OF_LEVEL(shared_addition) = {OF_LEVEL(add_key_shared),
                                                                   OF_LEVEL(add_all_shared)};

const struct bloomery_fast_path OF_LEVEL(bloomery_fast) = {
    .query = OF_LEVEL(query),
    .add = {OF_LEVEL(add), BLOOMERY_HAS_THREADS ? OF_LEVEL(add_shared) : OF_LEVEL(add)},
    .add_tallied = BLOOMERY_FOR_SIZE ? NULL : OF_LEVEL(add_tallied),
#if defined(LEVEL_HASHES)
    .hash_named = OF_LEVEL(hash_keys),
#endif
    .lookups = OF_LEVEL(lookups),
    .additions = OF_LEVEL(additions),
    .shared_addition = BLOOMERY_HAS_THREADS ? &OF_LEVEL(shared_addition) : OF_LEVEL(additions),
};

#undef USUAL

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
