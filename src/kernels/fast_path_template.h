/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of blocked filters, compiled in one piece for a processor: a template, included behind
 * kernels/block_template.h.
 *
 * Keys flow through a ring of 256 places, in groups of eight:
 *
 *     keys ─ hash ─┬─> ring: block, word ── window of 128 keys ── test or set ── 64 answers a word
 *                  └─> prefetch of the first block; of all blocks to add keys
 *
 * so that at any time the blocks of 128 keys are on their way, and the flow never stops.
 *
 * Queries of several blocks. Most absent keys end at their first block, so only that is prefetched.
 * When a word of 64 keys is through, the other blocks of those that survived are prefetched, and
 * read when the next word is through.
 *
 * LEVEL_EIGHTS(secret, words, blocks, at, word, hi), if defined, does for eight integers at once
 * what place() does for one: XXH3-64, first block and w. It needs fewer than 2^32 blocks.
 *
 * What is a constant to a function here (one block, integers, no answers wanted) is one for speed:
 * a build for size (BLOOMERY_FOR_SIZE) has one loop for all cases.
 *
 * A last group of fewer than eight keys is filled up with its last key. Querying or adding that
 * twice changes nothing, and the answers past the end are cut off.
 */

/* The first block of each key and, if it has more, its hash. */
struct OF_LEVEL(ring) {
    uint64_t at[RING] __attribute__((aligned(64)));
    uint64_t word[RING] __attribute__((aligned(64)));
    uint64_t lo[RING] __attribute__((aligned(64)));
    uint64_t hi[RING] __attribute__((aligned(64)));
};

LEVEL_INLINE bloomery_hash OF_LEVEL(hash_in)(const struct OF_LEVEL(ring) * ring, size_t slot)
{
    return (bloomery_hash){ring->lo[slot], ring->hi[slot]};
}

/* What is looked up or added. If a constant says that a key has one block, or that keys are
 * integers one after another, the compiler leaves out all code for other cases. */
struct OF_LEVEL(batch) {
    const bloomery_filter *filter;
    const struct bloomery_input *keys;
    size_t count;
    struct bloomery_layer layer;
    bloomery_key_hasher *hash_keys;
    struct bloomery_short_secret secret;
    bool list;     /* descriptors, and XXH3-64 */
    size_t hashed; /* the bytes of a given hash, or 0 */
};

LEVEL_INLINE struct OF_LEVEL(batch)
    OF_LEVEL(batch_of)(const bloomery_filter *filter, const struct bloomery_layer *layer,
                       const struct bloomery_input *keys, size_t count)
{
    assert(filter->shape.block_bits == BLOOMERY_BLOCK_BITS && !filter->foreign);
    return (struct OF_LEVEL(batch)){
        .filter = filter,
        .keys = keys,
        .count = count,
        .layer = {.payload = layer->payload,
                  .blocks = layer->blocks,
                  .blocks_per_key = layer->blocks_per_key,
                  .probes = layer->probes},
        .hash_keys = bloomery_key_hasher_of(keys, filter),
        .secret = bloomery_secret_of(filter)->brief,
        .list = keys->form == BLOOMERY_KEYS_LIST && filter->shape.hash == BLOOMERY_HASH_XXH3_64,
        .hashed = keys->form == BLOOMERY_KEYS_HASHES64    ? sizeof(uint64_t)
                  : keys->form == BLOOMERY_KEYS_HASHES128 ? sizeof(bloomery_hash)
                                                          : 0,
    };
}

LEVEL_INLINE bool OF_LEVEL(all_integers)(const bloomery_filter *filter,
                                         const struct bloomery_input *keys)
{
    return keys->form == BLOOMERY_KEYS_FIXED && keys->width == 8 && keys->stride == 8 &&
           filter->shape.hash == BLOOMERY_HASH_XXH3_64;
}

/* Whether keys i to i + 7 are integers, to be hashed here; else eight keys are hashed by a call.
 * They are if they lie one after another (`integers`, a constant), or if all descriptors say so. */
LEVEL_INLINE bool OF_LEVEL(are_eights)(const struct OF_LEVEL(batch) * batch, size_t i,
                                       const bool integers)
{
    const bloomery_key *list = (const bloomery_key *)(const void *)batch->keys->data + i;
    uint64_t others = 0;
    if (batch->count - i < GROUP || !(integers || batch->list))
        return false;
    for (size_t j = 0; !integers && j < GROUP; j++)
        others |= list[j].bytes ^ 8;
    return others == 0;
}

/* Eight integers one after another, as they lie in memory. */
LEVEL_INLINE const uint8_t *OF_LEVEL(eights_at)(const struct OF_LEVEL(batch) * batch, size_t i,
                                                const bool integers, uint64_t copies[GROUP])
{
    const bloomery_key *list = (const bloomery_key *)(const void *)batch->keys->data + i;
    if (integers)
        return batch->keys->data + i * sizeof(uint64_t);
    for (size_t j = 0; j < GROUP; j++)
        memcpy(copies + j, list[j].data, sizeof(uint64_t));
    return (const uint8_t *)(const void *)copies;
}

/* A key goes into the ring, and its blocks are prefetched: the first, or all if it is added. */
LEVEL_INLINE void OF_LEVEL(place)(const struct bloomery_layer *layer, struct OF_LEVEL(ring) * ring,
                                  size_t slot, bloomery_hash hash, const bool adding)
{
    const struct bloomery_place place = bloomery_place_of(hash, 0, layer->blocks);
    ring->at[slot] = place.block * BLOOMERY_BLOCK_BYTES;
    ring->word[slot] = place.word;
    __builtin_prefetch(layer->payload + place.block * BLOOMERY_BLOCK_BYTES);
    if (layer->blocks_per_key > 1) {
        ring->lo[slot] = hash.lo;
        ring->hi[slot] = hash.hi;
    }
    if (adding)
        bloomery_blocked_prefetch_rest(layer, layer->payload, hash);
}

/* Eight keys of any length, by XXH3-64, in the instructions of this processor. */
LEVEL_TARGET __attribute__((noinline, flatten)) static void
OF_LEVEL(hash_list)(const bloomery_key *list, const bloomery_filter *filter, uint64_t hashes[GROUP])
{
    const struct bloomery_short_secret secret = bloomery_secret_of(filter)->brief;
    for (size_t j = 0; j < GROUP; j++)
        hashes[j] = bloomery_xxh3_64(bloomery_secret_of(filter), &secret, list[j]).hi;
}

/* Takes keys i to i + 7 in. */
LEVEL_INLINE void OF_LEVEL(enter)(const struct OF_LEVEL(batch) * batch, size_t i,
                                  struct OF_LEVEL(ring) * ring, const bool integers,
                                  const bool adding)
{
    assert(i % GROUP == 0 && i < batch->count);
    if (OF_LEVEL(are_eights)(batch, i, integers)) {
        const struct bloomery_layer *layer = &batch->layer;
        uint64_t copies[GROUP];
        const uint8_t *words = OF_LEVEL(eights_at)(batch, i, integers, copies);
#if defined(LEVEL_EIGHTS)
        if (layer->blocks <= UINT32_MAX) {
            const size_t slot = i % RING;
            LEVEL_EIGHTS(&batch->secret, words, layer->blocks, ring->at + slot, ring->word + slot,
                         ring->hi + slot);
            for (size_t j = 0; j < GROUP; j++) {
                __builtin_prefetch(layer->payload + ring->at[slot + j]);
                if (layer->blocks_per_key > 1)
                    ring->lo[slot + j] = 0;
                if (adding)
                    bloomery_blocked_prefetch_rest(layer, layer->payload,
                                                   (bloomery_hash){0, ring->hi[slot + j]});
            }
            return;
        }
#endif
        for (size_t j = 0; j < GROUP; j++) {
            const uint64_t hash = bloomery_xxh3_8(&batch->secret, bloomery_load_u64(words + 8 * j));
            OF_LEVEL(place)(layer, ring, i % RING + j, (bloomery_hash){0, hash}, adding);
        }
        return;
    }
    if (batch->list && batch->count - i >= GROUP) {
        uint64_t own[GROUP];
        OF_LEVEL(hash_list)
        ((const bloomery_key *)(const void *)batch->keys->data + i, batch->filter, own);
        for (size_t j = 0; j < GROUP; j++)
            OF_LEVEL(place)(&batch->layer, ring, i % RING + j, (bloomery_hash){0, own[j]}, adding);
        return;
    }
    const size_t now = batch->count - i < GROUP ? batch->count - i : GROUP;
    bloomery_hash hashes[GROUP];
    if (batch->hashed == sizeof(uint64_t) && now == GROUP) {
        const uint8_t *words = batch->keys->data + i * sizeof(uint64_t);
        for (size_t j = 0; j < GROUP; j++) {
            uint64_t hash;
            memcpy(&hash, words + j * sizeof hash, sizeof hash);
            OF_LEVEL(place)(&batch->layer, ring, i % RING + j, (bloomery_hash){0, hash}, adding);
        }
        return;
    }
    if (batch->hashed == sizeof(bloomery_hash) && now == GROUP) {
        const uint8_t *pairs = batch->keys->data + i * sizeof(bloomery_hash);
        for (size_t j = 0; j < GROUP; j++) {
            bloomery_hash hash;
            memcpy(&hash, pairs + j * sizeof hash, sizeof hash);
            OF_LEVEL(place)(&batch->layer, ring, i % RING + j, hash, adding);
        }
        return;
    }
    batch->hash_keys(batch->keys, batch->filter, i, now, hashes);
    for (size_t j = 0; j < GROUP; j++)
        OF_LEVEL(place)(&batch->layer, ring, i % RING + j, hashes[j < now ? j : now - 1], adding);
}

/* The answers of the last word: what lies behind the end is none. */
LEVEL_INLINE uint64_t OF_LEVEL(within)(uint64_t answers, size_t word, size_t count)
{
    const size_t left = count - word * WORD;
    assert(word * WORD < count);
    return left < WORD ? answers & (((uint64_t)1 << left) - 1) : answers;
}

/* ---- Queries --------------------------------------------------------------------------------- */

/* Prefetches the other blocks of the keys of a word that `alive` has. */
LEVEL_INLINE void OF_LEVEL(follow)(const struct bloomery_layer *layer,
                                   const struct OF_LEVEL(ring) * ring, size_t word, uint64_t alive)
{
    for (; alive != 0; alive &= alive - 1)
        bloomery_blocked_prefetch_rest(
            layer, layer->payload,
            OF_LEVEL(hash_in)(ring, (word * WORD + (size_t)__builtin_ctzll(alive)) % RING));
}

/* Those of them whose other blocks hold them too. */
LEVEL_INLINE uint64_t OF_LEVEL(settle)(const struct bloomery_layer *layer,
                                       const struct OF_LEVEL(ring) * ring, size_t word,
                                       uint64_t alive)
{
    for (uint64_t left = alive; left != 0; left &= left - 1) {
        const size_t slot = (word * WORD + (size_t)__builtin_ctzll(left)) % RING;
        if (!OF_LEVEL(holds)(layer, layer->payload, OF_LEVEL(hash_in)(ring, slot), 1))
            alive &= ~(left & -left);
    }
    return alive;
}

LEVEL_INLINE size_t OF_LEVEL(query_shape)(const struct OF_LEVEL(batch) batch, uint64_t *answers,
                                          const bool integers)
{
    const struct bloomery_layer *layer = &batch.layer;
    const size_t end = (batch.count + GROUP - 1) / GROUP * GROUP;
    struct OF_LEVEL(ring) ring;
    uint64_t hits = 0;
    uint64_t before = 0; /* of the word before, those that survived their first block */
    size_t found = 0;
    for (size_t i = 0; i < end + WINDOW; i += GROUP) {
        if (i < end)
            OF_LEVEL(enter)(&batch, i, &ring, integers, false);
        if (i < WINDOW)
            continue;
        const size_t ready = i - WINDOW;
        uint64_t eight = 0;
        for (size_t j = GROUP; j-- > 0;) { /* so the first key ends in the lowest bit */
            const size_t slot = ready % RING + j;
            eight += eight +
                     OF_LEVEL(hits)(layer->payload + ring.at[slot], ring.word[slot], layer->probes);
        }
        hits |= eight << ready % WORD;
        if (ready % WORD != WORD - GROUP && ready + GROUP != end)
            continue;
        const size_t word = ready / WORD;
        uint64_t done = hits = OF_LEVEL(within)(hits, word, batch.count);
        if (layer->blocks_per_key > 1) {
            OF_LEVEL(follow)(layer, &ring, word, hits);
            done = word > 0 ? OF_LEVEL(settle)(layer, &ring, word - 1, before) : 0;
            before = hits;
        }
        found += (size_t)__builtin_popcountll(done);
        if (answers != NULL && (layer->blocks_per_key == 1 || word > 0))
            answers[layer->blocks_per_key == 1 ? word : word - 1] = done;
        hits = 0;
    }
    if (layer->blocks_per_key > 1 && end > 0) {
        const size_t last = (end - 1) / WORD;
        before = OF_LEVEL(settle)(layer, &ring, last, before);
        found += (size_t)__builtin_popcountll(before);
        if (answers != NULL)
            answers[last] = before;
    }
    assert(found <= batch.count);
    return found;
}

LEVEL_INLINE size_t OF_LEVEL(query_block)(struct OF_LEVEL(batch) batch, uint64_t *answers,
                                          const bool integers)
{
    batch.layer.blocks_per_key = 1;
    if (batch.layer.probes != BLOOMERY_BLOCK_PROBES)
        return OF_LEVEL(query_shape)(batch, answers, integers);
    batch.layer.probes = BLOOMERY_BLOCK_PROBES;
    return OF_LEVEL(query_shape)(batch, answers, integers);
}

LEVEL_TARGET static size_t OF_LEVEL(query)(const bloomery_filter *filter,
                                           const struct bloomery_layer *layer,
                                           const struct bloomery_input *keys, size_t count,
                                           uint64_t *answers)
{
    const struct OF_LEVEL(batch) batch = OF_LEVEL(batch_of)(filter, layer, keys, count);
    if (BLOOMERY_FOR_SIZE)
        return OF_LEVEL(query_shape)(batch, answers, OF_LEVEL(all_integers)(filter, keys));
    if (batch.layer.blocks_per_key > 1)
        return OF_LEVEL(all_integers)(filter, keys) ? OF_LEVEL(query_shape)(batch, answers, true)
                                                    : OF_LEVEL(query_shape)(batch, answers, false);
    return OF_LEVEL(all_integers)(filter, keys) ? OF_LEVEL(query_block)(batch, answers, true)
                                                : OF_LEVEL(query_block)(batch, answers, false);
}

/* ---- Adding ---------------------------------------------------------------------------------- */

/* `counted`: whether the caller wants answers or counts. */
LEVEL_INLINE void OF_LEVEL(add_shape)(const struct OF_LEVEL(batch) batch, uint64_t *answers,
                                      bloomery_counts *counts, const bool integers,
                                      const bool counted, const bool shared)
{
    const struct bloomery_layer *layer = &batch.layer;
    const size_t end = (batch.count + GROUP - 1) / GROUP * GROUP;
    struct OF_LEVEL(ring) ring;
    uint64_t hits = 0;
    uint64_t total = 0;
    size_t positive = 0;
    for (size_t i = 0; i < end + WINDOW; i += GROUP) {
        if (i < end)
            OF_LEVEL(enter)(&batch, i, &ring, integers, true);
        if (i < WINDOW)
            continue;
        const size_t ready = i - WINDOW;
        for (size_t j = 0; j < GROUP; j++) {
            const size_t slot = ready % RING + j;
            uint8_t *at = layer->payload + ring.at[slot];
            uint32_t fresh = shared ? OF_LEVEL(set_shared)(at, ring.word[slot], layer->probes)
                                    : OF_LEVEL(set)(at, ring.word[slot], layer->probes);
            for (uint32_t which = 1; which < layer->blocks_per_key; which++)
                fresh += OF_LEVEL(put)(layer, layer->payload, OF_LEVEL(hash_in)(&ring, slot), which,
                                       shared);
            if (counted) {
                total += fresh;
                hits |= (uint64_t)(fresh > 0) << (ready % WORD + j);
            }
        }
        if (!counted || (ready % WORD != WORD - GROUP && ready + GROUP != end))
            continue;
        if (answers != NULL || counts != NULL)
            hits = OF_LEVEL(within)(hits, ready / WORD, batch.count);
        if (answers != NULL)
            answers[ready / WORD] = hits;
        if (counts != NULL)
            positive += (size_t)__builtin_popcountll(hits);
        hits = 0;
    }
    if (counted && counts != NULL)
        *counts = (bloomery_counts){batch.count, positive, total};
}

/* The usual way to build a filter: one block, and the caller wants no answers. */
LEVEL_INLINE void OF_LEVEL(add_uncounted)(struct OF_LEVEL(batch) batch, const bool integers)
{
    batch.layer.blocks_per_key = 1;
    if (batch.layer.probes != BLOOMERY_BLOCK_PROBES) {
        OF_LEVEL(add_shape)(batch, NULL, NULL, integers, false, false);
    } else {
        batch.layer.probes = BLOOMERY_BLOCK_PROBES;
        OF_LEVEL(add_shape)(batch, NULL, NULL, integers, false, false);
    }
}

LEVEL_TARGET static void OF_LEVEL(add)(const bloomery_filter *filter,
                                       const struct bloomery_layer *layer,
                                       const struct bloomery_input *keys, size_t count,
                                       uint64_t *answers, bloomery_counts *counts)
{
    struct OF_LEVEL(batch) batch = OF_LEVEL(batch_of)(filter, layer, keys, count);
    if (BLOOMERY_FOR_SIZE) {
        const bool integers = OF_LEVEL(all_integers)(filter, keys);
        OF_LEVEL(add_shape)(batch, answers, counts, integers, true, false);
    } else if (batch.layer.blocks_per_key > 1 && OF_LEVEL(all_integers)(filter, keys)) {
        OF_LEVEL(add_shape)(batch, answers, counts, true, true, false);
    } else if (batch.layer.blocks_per_key > 1) {
        OF_LEVEL(add_shape)(batch, answers, counts, false, true, false);
    } else if (answers != NULL || counts != NULL) {
        batch.layer.blocks_per_key = 1;
        OF_LEVEL(add_shape)(batch, answers, counts, false, true, false);
    } else if (OF_LEVEL(all_integers)(filter, keys)) {
        OF_LEVEL(add_uncounted)(batch, true);
    } else {
        OF_LEVEL(add_uncounted)(batch, false);
    }
}

LEVEL_TARGET static void OF_LEVEL(add_shared)(const bloomery_filter *filter,
                                              const struct bloomery_layer *layer,
                                              const struct bloomery_input *keys, size_t count,
                                              uint64_t *answers, bloomery_counts *counts)
{
    struct OF_LEVEL(batch) batch = OF_LEVEL(batch_of)(filter, layer, keys, count);
    if (batch.layer.blocks_per_key > 1) {
        OF_LEVEL(add_shape)(batch, answers, counts, false, true, true);
    } else if (answers != NULL || counts != NULL) {
        batch.layer.blocks_per_key = 1;
        OF_LEVEL(add_shape)(batch, answers, counts, false, true, true);
    } else {
        batch.layer.blocks_per_key = 1;
        OF_LEVEL(add_shape)(batch, NULL, NULL, false, false, true);
    }
}
