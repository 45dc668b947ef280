/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocked operations for a processor, by hashes: a template, included behind
 * kernels/block_template.h. LEVEL_NAME is defined, its name for people. bloomery_blocked_LEVEL[1]
 * is for filters that several threads write.
 */

LEVEL_TARGET static bool OF_LEVEL(may_contain)(const struct bloomery_layer *layer,
                                               const uint8_t *payload, bloomery_hash hash)
{
    return OF_LEVEL(holds)(layer, payload, hash, 0);
}

/*
 * It goes block by block over the whole word. Most absent keys end at their first block, so only
 * that was prefetched. The others are prefetched as soon as a key survives it, and read when the
 * word is through.
 */
LEVEL_TARGET static uint64_t OF_LEVEL(query_word)(const struct bloomery_layer *layer,
                                                  const uint8_t *payload,
                                                  const bloomery_hash *hashes, size_t count)
{
    const struct bloomery_layer first = {
        .blocks = layer->blocks, .blocks_per_key = 1, .probes = layer->probes};
    uint64_t answers = 0;
    assert(count <= 64);
    for (size_t i = 0; i < count; i++)
        answers |= (uint64_t)OF_LEVEL(holds)(&first, payload, hashes[i], 0) << i;
    if (layer->blocks_per_key == 1)
        return answers;
    for (uint64_t left = answers; left != 0; left &= left - 1)
        bloomery_blocked_prefetch_rest(layer, payload, hashes[__builtin_ctzll(left)]);
    for (uint64_t left = answers; left != 0; left &= left - 1)
        if (!OF_LEVEL(holds)(layer, payload, hashes[__builtin_ctzll(left)], 1))
            answers &= ~(left & -left);
    return answers;
}

LEVEL_INLINE uint64_t OF_LEVEL(add_some)(const struct bloomery_layer *layer, uint8_t *payload,
                                         const bloomery_hash *hashes, size_t count,
                                         uint64_t *new_bits, const bool shared)
{
    uint64_t answers = 0;
    uint64_t total = 0;
    assert(count <= 64);
    for (size_t i = 0; i < count; i++) {
        const uint32_t fresh = OF_LEVEL(put_all)(layer, payload, hashes[i], shared);
        assert(fresh <= layer->probes * layer->blocks_per_key);
        total += fresh;
        answers |= (uint64_t)(fresh > 0) << i;
    }
    if (new_bits != NULL)
        *new_bits += total;
    return answers;
}

LEVEL_TARGET static uint32_t OF_LEVEL(add_hash)(const struct bloomery_layer *layer,
                                                uint8_t *payload, bloomery_hash hash)
{
    return OF_LEVEL(put_all)(layer, payload, hash, false);
}

LEVEL_TARGET static uint64_t OF_LEVEL(add_word)(const struct bloomery_layer *layer,
                                                uint8_t *payload, const bloomery_hash *hashes,
                                                size_t count, uint64_t *new_bits)
{
    return OF_LEVEL(add_some)(layer, payload, hashes, count, new_bits, false);
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

LEVEL_TARGET static uint64_t OF_LEVEL(add_word_shared)(const struct bloomery_layer *layer,
                                                       uint8_t *payload,
                                                       const bloomery_hash *hashes, size_t count,
                                                       uint64_t *new_bits)
{
    return OF_LEVEL(add_some)(layer, payload, hashes, count, new_bits, true);
}

const struct bloomery_operations OF_LEVEL(bloomery_blocked)[2] = {
    {
        .name = LEVEL_NAME,
        .add = OF_LEVEL(add_hash),
        .may_contain = OF_LEVEL(may_contain),
        .prefetch_add = bloomery_blocked_prefetch,
        .prefetch_query = bloomery_blocked_prefetch_first,
        .add_word = OF_LEVEL(add_word),
        .query_word = OF_LEVEL(query_word),
        .add_block = OF_LEVEL(add_block),
    },
    {
        .name = LEVEL_NAME "-concurrent",
        .add = BLOOMERY_HAS_THREADS ? OF_LEVEL(add_hash_shared) : OF_LEVEL(add_hash),
        .may_contain = OF_LEVEL(may_contain),
        .prefetch_add = bloomery_blocked_prefetch,
        .prefetch_query = bloomery_blocked_prefetch_first,
        .add_word = BLOOMERY_HAS_THREADS ? OF_LEVEL(add_word_shared) : OF_LEVEL(add_word),
        .query_word = OF_LEVEL(query_word),
    },
};
