/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations on counters: a template, instantiated by kinds/counting.c by defining before
 * inclusion
 *
 *     COUNTING_NAME(name)   the instance's name for a function
 *     COUNTING_BITS         of a counter: 4 or 8
 *     COUNTING_ATOMIC       true if several threads change counters at once
 *     COUNTING_LABEL        its name for people
 *
 * An absent key mostly meets a counter of 0 among its first two probes. Those lie in one or two of
 * a block's four or eight cache lines. When a word of keys is queried, only these two are
 * prefetched. The rest is as soon as a key survives them, and read when the word is through.
 */

#define BLOCK_BYTES ((size_t)CELLS / 8 * COUNTING_BITS)

/* The begin of block number `which` (0 to L-1) of a key; `word` says which of its counters. */
INLINE size_t COUNTING_NAME(block_of)(const struct bloomery_layer *layer, bloomery_hash hash,
                                      uint32_t which, uint64_t *word)
{
    const struct bloomery_place place = bloomery_place_of(hash, which, layer->blocks);
    assert(place.block < layer->blocks);
    *word = place.word;
    return (size_t)place.block * BLOCK_BYTES;
}

/* Adds a block of a key: how many counters left 0. */
INLINE uint32_t COUNTING_NAME(raise_block)(const struct bloomery_layer *layer, uint8_t *payload,
                                           bloomery_hash hash, uint32_t which)
{
    uint64_t word;
    uint8_t *block = payload + COUNTING_NAME(block_of)(layer, hash, which, &word);
    uint32_t fresh = 0;
    for (uint32_t probe = 0; probe < layer->probes; probe++)
        fresh += bloomery_counter_raise(block, bloomery_block_position(word, probe), 1,
                                        COUNTING_BITS, COUNTING_ATOMIC) == 0;
    assert(fresh <= layer->probes);
    return fresh;
}

static uint32_t COUNTING_NAME(add)(const struct bloomery_layer *layer, uint8_t *payload,
                                   bloomery_hash hash)
{
    uint32_t fresh = 0;
    for (uint32_t which = 0; which < layer->blocks_per_key; which++)
        fresh += COUNTING_NAME(raise_block)(layer, payload, hash, which);
    return fresh;
}

static uint64_t COUNTING_NAME(add_word)(const struct bloomery_layer *layer, uint8_t *payload,
                                        const bloomery_hash *hashes, size_t count,
                                        uint64_t *new_bits)
{
    uint64_t answers = 0;
    uint64_t total = 0;
    assert(count <= 64);
    for (size_t i = 0; i < count; i++) {
        const uint32_t fresh = COUNTING_NAME(add)(layer, payload, hashes[i]);
        total += fresh;
        answers |= (uint64_t)(fresh > 0) << i;
    }
    if (new_bits != NULL)
        *new_bits += total;
    return answers;
}

/* Probes `first` to `end` - 1 of a block. */
INLINE void COUNTING_NAME(prefetch_probes)(const struct bloomery_layer *layer,
                                           const uint8_t *payload, bloomery_hash hash,
                                           uint32_t which, uint32_t first, uint32_t end)
{
    uint64_t word;
    const uint8_t *block = payload + COUNTING_NAME(block_of)(layer, hash, which, &word);
    assert(first <= end && end <= layer->probes);
    for (uint32_t probe = first; probe < end; probe++)
        __builtin_prefetch(
            block + bloomery_counter_byte(bloomery_block_position(word, probe), COUNTING_BITS));
}

static void COUNTING_NAME(prefetch_block)(const struct bloomery_layer *layer,
                                          const uint8_t *payload, const bloomery_hash *hashes,
                                          size_t count, uint32_t which)
{
    for (size_t i = 0; i < count; i++)
        COUNTING_NAME(prefetch_probes)(layer, payload, hashes[i], which, 0, layer->probes);
}

static void COUNTING_NAME(add_block)(const struct bloomery_layer *layer, uint8_t *payload,
                                     struct bloomery_hashes hashes, size_t count, uint32_t which)
{
    assert(which < layer->blocks_per_key);
    for (size_t i = 0; i < count && i < COUNTING_AHEAD; i++) {
        const bloomery_hash hash = bloomery_hashes_at(hashes, i);
        COUNTING_NAME(prefetch_block)(layer, payload, &hash, 1, which);
    }
    for (size_t i = 0; i < count; i++) {
        if (i + COUNTING_AHEAD < count) {
            const bloomery_hash next = bloomery_hashes_at(hashes, i + COUNTING_AHEAD);
            COUNTING_NAME(prefetch_block)(layer, payload, &next, 1, which);
        }
        COUNTING_NAME(raise_block)(layer, payload, bloomery_hashes_at(hashes, i), which);
    }
}

/* ---- Queries --------------------------------------------------------------------------------- */

/* Whether probes `first` to k - 1 of a block find counters that are not 0. */
INLINE bool COUNTING_NAME(probes_hit)(const uint8_t *block, uint64_t word, uint32_t first,
                                      uint32_t end)
{
    for (uint32_t probe = first; probe < end; probe++)
        if (bloomery_counter_get(block, bloomery_block_position(word, probe), COUNTING_BITS,
                                 COUNTING_ATOMIC) == 0)
            return false;
    return true;
}

static bool COUNTING_NAME(may_contain)(const struct bloomery_layer *layer, const uint8_t *payload,
                                       bloomery_hash hash)
{
    for (uint32_t which = 0; which < layer->blocks_per_key; which++) {
        uint64_t word;
        const uint8_t *block = payload + COUNTING_NAME(block_of)(layer, hash, which, &word);
        if (!COUNTING_NAME(probes_hit)(block, word, 0, layer->probes))
            return false;
    }
    return true;
}

static void COUNTING_NAME(prefetch_add)(const struct bloomery_layer *layer, const uint8_t *payload,
                                        const bloomery_hash *hashes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (uint32_t which = 0; which < layer->blocks_per_key; which++)
            COUNTING_NAME(prefetch_block)(layer, payload, hashes + i, 1, which);
}

static void COUNTING_NAME(prefetch_query)(const struct bloomery_layer *layer,
                                          const uint8_t *payload, const bloomery_hash *hashes,
                                          size_t count)
{
    const uint32_t first = layer->probes < FIRST_PROBES ? layer->probes : FIRST_PROBES;
    for (size_t i = 0; i < count; i++)
        COUNTING_NAME(prefetch_probes)(layer, payload, hashes[i], 0, 0, first);
}

static uint64_t COUNTING_NAME(query_word)(const struct bloomery_layer *layer,
                                          const uint8_t *payload, const bloomery_hash *hashes,
                                          size_t count)
{
    const uint32_t first = layer->probes < FIRST_PROBES ? layer->probes : FIRST_PROBES;
    uint64_t answers = 0;
    assert(count <= 64);
    for (size_t i = 0; i < count; i++) {
        uint64_t word;
        const uint8_t *block = payload + COUNTING_NAME(block_of)(layer, hashes[i], 0, &word);
        if (!COUNTING_NAME(probes_hit)(block, word, 0, first))
            continue;
        answers |= (uint64_t)1 << i;
        COUNTING_NAME(prefetch_probes)(layer, payload, hashes[i], 0, first, layer->probes);
        for (uint32_t which = 1; which < layer->blocks_per_key; which++)
            COUNTING_NAME(prefetch_block)(layer, payload, hashes + i, 1, which);
    }
    for (uint64_t left = answers; left != 0; left &= left - 1)
        if (!COUNTING_NAME(may_contain)(layer, payload, hashes[__builtin_ctzll(left)]))
            answers &= ~(left & -left);
    return answers;
}

/* ---- Removing and counting ------------------------------------------------------------------- */

INLINE uint32_t COUNTING_NAME(value_of)(const struct touched *touched, const uint8_t *payload,
                                        uint32_t i)
{
    assert(i < touched->count && touched->at[i].times > 0);
    return bloomery_counter_get(payload + touched->at[i].block * BLOCK_BYTES,
                                touched->at[i].position, COUNTING_BITS, COUNTING_ATOMIC);
}

/* Gives back what was taken from the first `count` counters. A counter that saturated since, or was
 * saturated, stays; nothing was taken from the latter. */
static void COUNTING_NAME(put_back)(const struct touched *touched, uint8_t *payload,
                                    const uint8_t *taken, uint32_t count)
{
    assert(count <= touched->count);
    for (uint32_t i = 0; i < count; i++)
        if (taken[i] > 0)
            bloomery_counter_raise(payload + touched->at[i].block * BLOCK_BYTES,
                                   touched->at[i].position, taken[i], COUNTING_BITS,
                                   COUNTING_ATOMIC);
}

static bool COUNTING_NAME(remove)(const struct bloomery_layer *layer, uint8_t *payload,
                                  bloomery_hash hash, uint32_t *cleared)
{
    struct touched touched;
    uint8_t taken[TOUCHED_MAX];
    uint32_t zero = 0;
    touched_find(&touched, layer, hash);
    *cleared = 0;
    for (uint32_t i = 0; i < touched.count; i++)
        if (COUNTING_NAME(value_of)(&touched, payload, i) < touched.at[i].times)
            return false;
    for (uint32_t i = 0; i < touched.count; i++) {
        const uint32_t times = touched.at[i].times;
        const uint32_t before =
            bloomery_counter_lower(payload + touched.at[i].block * BLOCK_BYTES,
                                   touched.at[i].position, times, COUNTING_BITS, COUNTING_ATOMIC);
        assert(before >= times || COUNTING_ATOMIC);
        if (before < times) { /* others were faster */
            COUNTING_NAME(put_back)(&touched, payload, taken, i);
            return false;
        }
        taken[i] = before == bloomery_counter_max(COUNTING_BITS) ? 0 : (uint8_t)times;
        zero += before == times;
    }
    assert(zero <= touched.count);
    *cleared = zero;
    return true;
}

/* A saturated counter says no more than "that often, or more". */
static uint32_t COUNTING_NAME(count)(const struct bloomery_layer *layer, const uint8_t *payload,
                                     bloomery_hash hash)
{
    struct touched touched;
    uint32_t min = bloomery_counter_max(COUNTING_BITS);
    touched_find(&touched, layer, hash);
    for (uint32_t i = 0; i < touched.count; i++) {
        const uint32_t value = COUNTING_NAME(value_of)(&touched, payload, i);
        if (value != bloomery_counter_max(COUNTING_BITS) && value / touched.at[i].times < min)
            min = value / touched.at[i].times;
    }
    return min;
}

static const struct bloomery_operations COUNTING_NAME(operations) = {
    .name = COUNTING_LABEL,
    .add = COUNTING_NAME(add),
    .may_contain = COUNTING_NAME(may_contain),
    .prefetch_add = COUNTING_NAME(prefetch_add),
    .prefetch_query = COUNTING_NAME(prefetch_query),
    .add_word = COUNTING_NAME(add_word),
    .query_word = COUNTING_NAME(query_word),
    .add_block = COUNTING_NAME(add_block),
    .remove = COUNTING_NAME(remove),
    .count = COUNTING_NAME(count),
};

#undef BLOCK_BYTES
#undef COUNTING_NAME
#undef COUNTING_BITS
#undef COUNTING_ATOMIC
#undef COUNTING_LABEL
