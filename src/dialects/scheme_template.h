/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a probe scheme: a template, instantiated by defining before inclusion
 *
 *     SCHEME               the scheme's name, as in SCHEME_operations
 *     SCHEME_BLOCKS        if a key's bits are all in one block, that of steps.base
 *
 * in a file that has
 *
 *     struct bloomery_steps SCHEME_begin(layer, hash)   the walk before its first position
 *     uint64_t SCHEME_next(layer, steps, i)             position i = 0 .. k-1, below layer->bits
 *
 * as inline functions. Positions come one after the other, so a query ends with the first bit that
 * is not set and computes no further.
 */
#include "base/cpu.h"
#include "dialects/schemes.h"
#include "kernels/fast_path.h"

#define SCHEME_PASTE_(one, other) one##_##other
#define SCHEME_PASTE(one, other)  SCHEME_PASTE_(one, other)
#define SCHEME_NAME(name)         SCHEME_PASTE(SCHEME, name)

#define add_with  SCHEME_NAME(add_with)
#define test_with SCHEME_NAME(test_with)

static inline __attribute__((always_inline)) uint32_t add_with(bloomery_bit_setter *set,
                                                               const struct bloomery_layer *layer,
                                                               uint8_t *payload, bloomery_hash hash)
{
    struct bloomery_steps steps = SCHEME_NAME(begin)(layer, hash);
    uint64_t ahead[BLOOMERY_POSITIONS_AHEAD];
    uint32_t requested = 0;
    uint32_t new_bits = 0;
#ifndef SCHEME_BLOCKS
    /* All are on their way before the first is needed. A processor does not see that far ahead. */
    const uint32_t most = BLOOMERY_FOR_SIZE ? 0 : BLOOMERY_POSITIONS_AHEAD;
    for (; requested < layer->probes && requested < most; requested++) {
        ahead[requested] = SCHEME_NAME(next)(layer, &steps, requested);
        __builtin_prefetch(payload + (ahead[requested] >> 3), 1);
    }
#endif
    for (uint32_t i = 0; i < layer->probes; i++) {
        uint64_t position = i < requested ? ahead[i] : SCHEME_NAME(next)(layer, &steps, i);
        assert(position < layer->bits);
        new_bits += set(payload, position);
    }
    assert(new_bits <= layer->probes);
    return new_bits;
}

static inline __attribute__((always_inline)) bool test_with(bool (*test)(const uint8_t *, uint64_t),
                                                            const struct bloomery_layer *layer,
                                                            const uint8_t *payload,
                                                            bloomery_hash hash)
{
    struct bloomery_steps steps = SCHEME_NAME(begin)(layer, hash);
    for (uint32_t i = 0; i < layer->probes; i++) {
        uint64_t position = SCHEME_NAME(next)(layer, &steps, i);
        assert(position < layer->bits);
        if (!test(payload, position))
            return false;
    }
    return true;
}

static void SCHEME_NAME(positions_of)(const struct bloomery_layer *layer, bloomery_hash hash,
                                      uint64_t *positions)
{
    struct bloomery_steps steps = SCHEME_NAME(begin)(layer, hash);
    for (uint32_t i = 0; i < layer->probes; i++) {
        positions[i] = SCHEME_NAME(next)(layer, &steps, i);
        assert(positions[i] < layer->bits);
    }
}

#ifdef SCHEME_BLOCKS
static void SCHEME_NAME(prefetch)(const struct bloomery_layer *layer, const uint8_t *payload,
                                  const bloomery_hash *hashes, size_t count)
{
    for (size_t key = 0; key < count; key++)
        __builtin_prefetch(payload + (SCHEME_NAME(begin)(layer, hashes[key]).base >> 3));
}
#else
/* A query for an absent key reads two bits on average if the filter is half full, and more than
 * eight in one of 256. */
static void SCHEME_NAME(prefetch)(const struct bloomery_layer *layer, const uint8_t *payload,
                                  const bloomery_hash *hashes, size_t count)
{
    const uint32_t probes =
        layer->probes < BLOOMERY_PREFETCHED ? layer->probes : BLOOMERY_PREFETCHED;
    for (size_t key = 0; key < count; key++) {
        struct bloomery_steps steps = SCHEME_NAME(begin)(layer, hashes[key]);
        for (uint32_t i = 0; i < probes; i++)
            __builtin_prefetch(payload + (SCHEME_NAME(next)(layer, &steps, i) >> 3));
    }
}
#endif

#ifndef SCHEME_BLOCKS
/*
 * Many keys (kernels/fast_path.h). They are hashed eight at a time, while the memory of those
 * before is on its way.
 *
 * A key that is added touches all of its bits, so all are requested, some keys ahead. Positions
 * wait in a ring and are computed once.
 *
 *     keys     ... | i: set its bits | i + 1 | ... | i + AHEAD: positions, requests |
 */
static inline __attribute__((always_inline)) void
SCHEME_NAME(add_keys)(bloomery_bit_setter *set, const bloomery_filter *filter,
                      const struct bloomery_layer *layer, const struct bloomery_input *keys,
                      size_t count, uint64_t *answers, bloomery_counts *counts)
{
    enum { EIGHT = BLOOMERY_EIGHT, AHEAD = BLOOMERY_KEYS_AHEAD, KEPT = 2 * AHEAD };
    bloomery_key_hasher *hash_keys = bloomery_key_hasher_of(keys, filter);
    const uint32_t probes = layer->probes;
    uint8_t *const payload = layer->payload;
    uint64_t ring[AHEAD][BLOOMERY_POSITIONS_AHEAD];
    bloomery_hash hashes[KEPT]; /* those of keys to come must not replace any */
    uint64_t word = 0;
    bloomery_counts done = {0, 0, 0};
    for (size_t key = 0; key < count + AHEAD; key++) {
        uint64_t *at = ring[key % AHEAD];
        if (key >= AHEAD) {
            uint32_t fresh = 0;
            if (probes > BLOOMERY_POSITIONS_AHEAD)
                fresh = add_with(set, layer, payload, hashes[(key - AHEAD) % KEPT]);
            for (uint32_t i = 0; probes <= BLOOMERY_POSITIONS_AHEAD && i < probes; i++)
                fresh += set(payload, at[i]);
            done.cells += fresh;
            done.positive += fresh > 0;
            word |= (uint64_t)(fresh > 0) << done.done % 64;
            done.done++;
            if (done.done % 64 == 0 || done.done == count) {
                if (answers != NULL)
                    answers[(done.done - 1) / 64] = word;
                word = 0;
            }
        }
        if (key >= count)
            continue;
        if (key % EIGHT == 0)
            hash_keys(keys, filter, key, count - key < EIGHT ? count - key : EIGHT,
                      hashes + key % KEPT);
        struct bloomery_steps steps = SCHEME_NAME(begin)(layer, hashes[key % KEPT]);
        for (uint32_t i = 0; probes <= BLOOMERY_POSITIONS_AHEAD && i < probes; i++) {
            at[i] = SCHEME_NAME(next)(layer, &steps, i);
            assert(at[i] < layer->bits);
            bloomery_request_to_change(payload + (at[i] >> 3));
        }
    }
    assert(done.done == count && done.positive <= count);
    if (counts != NULL)
        *counts = done;
}

/* Computes positions `from` to `to` of a key, and has their memory on its way. The numbers are
 * constants but for the last end, and of the positions before them no more than the step is
 * computed. */
static inline __attribute__((always_inline)) void
SCHEME_NAME(request)(const struct bloomery_layer *layer, const uint8_t *payload, bloomery_hash hash,
                     uint32_t from, uint32_t to, uint64_t *at)
{
    struct bloomery_steps steps = SCHEME_NAME(begin)(layer, hash);
    for (uint32_t i = 0; i < from; i++)
        (void)SCHEME_NAME(next)(layer, &steps, i);
    for (uint32_t i = from; i < to; i++) {
        at[i - from] = SCHEME_NAME(next)(layer, &steps, i);
        assert(at[i - from] < layer->bits);
        bloomery_request(payload + (at[i - from] >> 3));
    }
}

/* Which of `count` keys, at most eight, have all of their `each` bits. All are looked at: nobody
 * can predict which is the first that is not set. */
static inline __attribute__((always_inline)) uint32_t
SCHEME_NAME(look)(bool (*test)(const uint8_t *, uint64_t), const uint8_t *payload,
                  const uint64_t *at, size_t count, uint32_t each)
{
    uint32_t there = 0;
    for (size_t key = 0; key < count; key++) {
        bool all = true;
        for (uint32_t i = 0; i < each; i++)
            all &= test(payload, *at++);
        there |= (uint32_t)all << key;
    }
    return there;
}

/*
 * Keys that are looked up, in three steps. Of an absent key in a filter that is half full the first
 * two positions tell in three of four cases, the first four in all but one of 16.
 *
 *     keys                  ... | eight are looked at | ... | of eight the first two: requested |
 *     those that have them      the next two are requested at once, and looked at thereafter
 *     those that have them      all others
 */
static inline __attribute__((always_inline)) void
SCHEME_NAME(query_portion)(bool (*test)(const uint8_t *, uint64_t), const bloomery_filter *filter,
                           const struct bloomery_layer *layer, const struct bloomery_input *keys,
                           size_t begin, size_t count, uint64_t *answers)
{
    enum { EIGHT = BLOOMERY_EIGHT, FIRST = BLOOMERY_FIRST, SECOND = BLOOMERY_SECOND };
    enum { OTHERS = BLOOMERY_POSITIONS_AHEAD - SECOND };
    bloomery_key_hasher *hash_keys = bloomery_key_hasher_of(keys, filter);
    bloomery_hash hashes[BLOOMERY_PORTION];
    uint64_t first_at[BLOOMERY_PORTION * FIRST];
    uint64_t second_at[BLOOMERY_PORTION * (SECOND - FIRST)];
    uint64_t other_at[BLOOMERY_PORTION * OTHERS];
    uint8_t second[BLOOMERY_PORTION], other[BLOOMERY_PORTION]; /* which keys they are of */
    const uint8_t *payload = layer->payload;
    const uint32_t others = layer->probes - SECOND;
    size_t seconds = 0, left = 0;
    assert(count <= BLOOMERY_PORTION && layer->probes >= SECOND && others <= OTHERS);
    for (size_t next = 0; next < count + BLOOMERY_QUERIES_AHEAD; next += EIGHT) {
        const size_t end = count - next < EIGHT ? count : next + EIGHT;
        if (next < count)
            hash_keys(keys, filter, begin + next, end - next, hashes + next);
        for (size_t key = next; key < count && key < end; key++)
            SCHEME_NAME(request)(layer, payload, hashes[key], 0, FIRST, first_at + key * FIRST);
        const size_t before = next - BLOOMERY_QUERIES_AHEAD;
        if (next < BLOOMERY_QUERIES_AHEAD || before >= count)
            continue;
        uint32_t there = SCHEME_NAME(look)(test, payload, first_at + before * FIRST,
                                           count - before < EIGHT ? count - before : EIGHT, FIRST);
        for (; there != 0; there &= there - 1) {
            const size_t key = before + (size_t)__builtin_ctz(there);
            SCHEME_NAME(request)
            (layer, payload, hashes[key], FIRST, SECOND, second_at + seconds * (SECOND - FIRST));
            second[seconds++] = (uint8_t)key;
        }
    }
    for (size_t at = 0; at < seconds; at += EIGHT) {
        uint32_t there =
            SCHEME_NAME(look)(test, payload, second_at + at * (SECOND - FIRST),
                              seconds - at < EIGHT ? seconds - at : EIGHT, SECOND - FIRST);
        for (; there != 0; there &= there - 1) {
            const uint8_t key = second[at + (size_t)__builtin_ctz(there)];
            SCHEME_NAME(request)
            (layer, payload, hashes[key], SECOND, layer->probes, other_at + left * others);
            other[left++] = key;
        }
    }
    for (size_t at = 0; at < left; at += EIGHT) {
        uint32_t there = SCHEME_NAME(look)(test, payload, other_at + at * others,
                                           left - at < EIGHT ? left - at : EIGHT, others);
        for (; there != 0; there &= there - 1)
            bloomery_word_bit_set(answers, other[at + (size_t)__builtin_ctz(there)]);
    }
}

/* Keys are looked up by portions, whose positions fit in the first-level cache. */
static inline __attribute__((always_inline)) size_t
SCHEME_NAME(query_keys)(bool (*test)(const uint8_t *, uint64_t), const bloomery_filter *filter,
                        const struct bloomery_layer *layer, const struct bloomery_input *keys,
                        size_t count, uint64_t *answers)
{
    const bool ahead =
        layer->probes >= BLOOMERY_SECOND && layer->probes <= BLOOMERY_POSITIONS_AHEAD;
    size_t positive = 0;
    for (size_t at = 0; at < count; at += BLOOMERY_PORTION) {
        const size_t now = count - at < BLOOMERY_PORTION ? count - at : BLOOMERY_PORTION;
        uint64_t found[BLOOMERY_PORTION / 64] = {0};
        if (ahead) {
            SCHEME_NAME(query_portion)(test, filter, layer, keys, at, now, found);
        } else {
            bloomery_hash hashes[BLOOMERY_PORTION];
            bloomery_key_hasher_of(keys, filter)(keys, filter, at, now, hashes);
            for (size_t key = 0; key < now; key++)
                found[key / 64] |= (uint64_t)test_with(test, layer, layer->payload, hashes[key])
                                   << key % 64;
        }
        for (size_t word = 0; word < (now + 63) / 64; word++) {
            positive += (size_t)__builtin_popcountll(found[word]);
            if (answers != NULL)
                answers[at / 64 + word] = found[word];
        }
    }
    return positive;
}
#endif

#define SCHEME_PLAIN(name)  SCHEME_PASTE(SCHEME_NAME(plain), name)
#define SCHEME_ATOMIC(name) SCHEME_PASTE(SCHEME_NAME(atomic), name)

#define BATCH_NAME(name) SCHEME_PLAIN(name)
#define BATCH_SET        bloomery_bit_set
#define BATCH_TEST       bloomery_bit_test
#include "kinds/batch_template.h"

#define BATCH_NAME(name) SCHEME_ATOMIC(name)
#define BATCH_SET        bloomery_bit_set_atomic
#define BATCH_TEST       bloomery_bit_test_atomic
#include "kinds/batch_template.h"

#ifdef SCHEME_BLOCKS
#define BATCHES(instance) NULL
#else
#define BATCHES(instance) (BLOOMERY_FOR_SIZE ? NULL : &SCHEME_##instance(batches))

static void SCHEME_PLAIN(add_keys)(const bloomery_filter *filter,
                                   const struct bloomery_layer *layer,
                                   const struct bloomery_input *keys, size_t count,
                                   uint64_t *answers, bloomery_counts *counts)
{
    SCHEME_NAME(add_keys)(bloomery_payload_bit_set, filter, layer, keys, count, answers, counts);
}

static void SCHEME_ATOMIC(add_keys)(const bloomery_filter *filter,
                                    const struct bloomery_layer *layer,
                                    const struct bloomery_input *keys, size_t count,
                                    uint64_t *answers, bloomery_counts *counts)
{
    SCHEME_NAME(add_keys)(bloomery_bit_set_atomic, filter, layer, keys, count, answers, counts);
}

static size_t SCHEME_PLAIN(query_keys)(const bloomery_filter *filter,
                                       const struct bloomery_layer *layer,
                                       const struct bloomery_input *keys, size_t count,
                                       uint64_t *answers)
{
    return SCHEME_NAME(query_keys)(bloomery_payload_bit_test, filter, layer, keys, count, answers);
}

static size_t SCHEME_ATOMIC(query_keys)(const bloomery_filter *filter,
                                        const struct bloomery_layer *layer,
                                        const struct bloomery_input *keys, size_t count,
                                        uint64_t *answers)
{
    return SCHEME_NAME(query_keys)(bloomery_bit_test_atomic, filter, layer, keys, count, answers);
}

static const struct bloomery_fast_path SCHEME_PLAIN(batches) = {
    .name = "scalar",
    .query = SCHEME_PLAIN(query_keys),
    .add = {SCHEME_PLAIN(add_keys), SCHEME_ATOMIC(add_keys)},
};

static const struct bloomery_fast_path SCHEME_ATOMIC(batches) = {
    .name = "scalar-concurrent",
    .query = SCHEME_ATOMIC(query_keys),
    .add = {SCHEME_PLAIN(add_keys), SCHEME_ATOMIC(add_keys)},
};
#endif

static const struct bloomery_operations *SCHEME_NAME(operations)(uint32_t cell_bits,
                                                                 bool concurrent)
{
    static const struct bloomery_operations plain = {
        .name = "scalar",
        .add = SCHEME_PLAIN(add),
        .may_contain = SCHEME_PLAIN(may_contain),
        .prefetch_add = SCHEME_NAME(prefetch),
        .prefetch_query = SCHEME_NAME(prefetch),
        .add_word = SCHEME_PLAIN(add_word),
        .query_word = SCHEME_PLAIN(query_word),
        .batches = BATCHES(PLAIN),
        .positions_of = SCHEME_NAME(positions_of),
    };
    static const struct bloomery_operations atomic = {
        .name = "scalar-concurrent",
        .add = SCHEME_ATOMIC(add),
        .may_contain = SCHEME_ATOMIC(may_contain),
        .prefetch_add = SCHEME_NAME(prefetch),
        .prefetch_query = SCHEME_NAME(prefetch),
        .add_word = SCHEME_ATOMIC(add_word),
        .query_word = SCHEME_ATOMIC(query_word),
        .batches = BATCHES(ATOMIC),
        .positions_of = SCHEME_NAME(positions_of),
    };
    (void)cell_bits;
    return bloomery_is_shared(concurrent) ? &atomic : &plain;
}

#undef BATCHES
#undef add_with
#undef test_with
#undef SCHEME_PASTE_
#undef SCHEME_PASTE
#undef SCHEME_NAME
#undef SCHEME_PLAIN
#undef SCHEME_ATOMIC
#undef SCHEME
#undef SCHEME_BLOCKS
