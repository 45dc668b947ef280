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
 * A key that is added touches all of its bits, so all are requested, a few keys ahead: of many
 * requests at once a processor drops some. Positions wait in a ring and are computed once.
 *
 *     keys     ... | i: set its bits | i + 1 | ... | i + AHEAD: positions, requests |
 */
static inline __attribute__((always_inline)) uint64_t
SCHEME_NAME(add_ahead)(bloomery_bit_setter *set, const struct bloomery_layer *layer,
                       uint8_t *payload, const bloomery_hash *hashes, size_t count,
                       uint64_t *new_bits)
{
    uint64_t ring[BLOOMERY_KEYS_AHEAD][BLOOMERY_POSITIONS_AHEAD];
    const uint32_t probes = layer->probes;
    uint64_t answers = 0, total = 0;
    assert(probes <= BLOOMERY_POSITIONS_AHEAD && count <= 64);
    for (size_t key = 0; key < count + BLOOMERY_KEYS_AHEAD; key++) {
        uint64_t *at = ring[key % BLOOMERY_KEYS_AHEAD];
        uint32_t fresh = 0;
        if (key >= BLOOMERY_KEYS_AHEAD) {
            for (uint32_t i = 0; i < probes; i++)
                fresh += set(payload, at[i]);
            answers |= (uint64_t)(fresh > 0) << (key - BLOOMERY_KEYS_AHEAD);
            total += fresh;
        }
        if (key >= count)
            continue;
        struct bloomery_steps steps = SCHEME_NAME(begin)(layer, hashes[key]);
        for (uint32_t i = 0; i < probes; i++) {
            at[i] = SCHEME_NAME(next)(layer, &steps, i);
            assert(at[i] < layer->bits);
            __builtin_prefetch(payload + (at[i] >> 3), 1);
        }
    }
    if (new_bits != NULL)
        *new_bits += total;
    return answers;
}

/* Computes positions, and has them on their way. */
static inline __attribute__((always_inline)) void
SCHEME_NAME(request)(const struct bloomery_layer *layer, const uint8_t *payload,
                     struct bloomery_walking *walking, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to && i < layer->probes; i++) {
        walking->at[i] = SCHEME_NAME(next)(layer, &walking->steps, i);
        assert(walking->at[i] < layer->bits);
        __builtin_prefetch(payload + (walking->at[i] >> 3));
    }
}

/* Looks at positions that were requested, all of them: which is the first that is not set nobody
 * can predict. Of a key that has them the next are requested. */
static inline __attribute__((always_inline)) void
SCHEME_NAME(look)(bool (*test)(const uint8_t *, uint64_t), const struct bloomery_layer *layer,
                  const uint8_t *payload, struct bloomery_walking *walking, uint32_t from,
                  uint32_t to, uint32_t next)
{
    bool there = walking->there;
    if (!there)
        return;
    for (uint32_t i = from; i < to && i < layer->probes; i++)
        there &= test(payload, walking->at[i]);
    walking->there = there;
    if (there)
        SCHEME_NAME(request)(layer, payload, walking, to, next);
}

/*
 * The same for keys that are looked up, in three steps. Of an absent key in a filter that is half
 * full the first two positions tell in three of four cases, the first five in all but one of 32.
 *
 *     keys   ... | i: the others | ... | i + 8: up to 5 | ... | i + 16: up to 2 | ... | i + 24
 *                                        request others         request up to 5   request up to 2
 *
 * A number that would be below 0 is none of a key: unsigned, it is beyond the last.
 */
static inline __attribute__((always_inline)) uint64_t
SCHEME_NAME(query_ahead)(bool (*test)(const uint8_t *, uint64_t),
                         const struct bloomery_layer *layer, const uint8_t *payload,
                         const bloomery_hash *hashes, size_t count)
{
    enum { RING = 4 * BLOOMERY_KEYS_AHEAD, FIRST = BLOOMERY_FIRST, SECOND = BLOOMERY_SECOND };
    const size_t ahead = BLOOMERY_KEYS_AHEAD;
    struct bloomery_walking ring[RING];
    const uint32_t probes = layer->probes;
    uint64_t answers = 0;
    assert(probes <= BLOOMERY_POSITIONS_AHEAD && count <= 64);
    for (size_t key = 0; key < count + 3 * ahead; key++) {
        struct bloomery_walking *walking = &ring[key % RING];
        if (key < count) {
            walking->steps = SCHEME_NAME(begin)(layer, hashes[key]);
            walking->there = true;
            SCHEME_NAME(request)(layer, payload, walking, 0, FIRST);
        }
        walking = &ring[(key - ahead) % RING];
        if (key - ahead < count)
            SCHEME_NAME(look)(test, layer, payload, walking, 0, FIRST, SECOND);
        walking = &ring[(key - 2 * ahead) % RING];
        if (key - 2 * ahead < count)
            SCHEME_NAME(look)(test, layer, payload, walking, FIRST, SECOND, probes);
        walking = &ring[(key - 3 * ahead) % RING];
        if (key - 3 * ahead >= count)
            continue;
        for (uint32_t i = SECOND; i < probes && walking->there; i++)
            walking->there = test(payload, walking->at[i]);
        answers |= (uint64_t)walking->there << (key - 3 * ahead);
    }
    return answers;
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
#define WORD_OF(instance, name) SCHEME_##instance(name##_word)
#define REQUESTS                false
#else
#define WORD_OF(instance, name) SCHEME_##instance(name##_window)
#define REQUESTS                true

static uint64_t SCHEME_PLAIN(add_window)(const struct bloomery_layer *layer, uint8_t *payload,
                                         const bloomery_hash *hashes, size_t count,
                                         uint64_t *new_bits)
{
    if (layer->probes > BLOOMERY_POSITIONS_AHEAD)
        return SCHEME_PLAIN(add_word)(layer, payload, hashes, count, new_bits);
    return SCHEME_NAME(add_ahead)(bloomery_bit_set, layer, payload, hashes, count, new_bits);
}

static uint64_t SCHEME_ATOMIC(add_window)(const struct bloomery_layer *layer, uint8_t *payload,
                                          const bloomery_hash *hashes, size_t count,
                                          uint64_t *new_bits)
{
    if (layer->probes > BLOOMERY_POSITIONS_AHEAD)
        return SCHEME_ATOMIC(add_word)(layer, payload, hashes, count, new_bits);
    return SCHEME_NAME(add_ahead)(bloomery_bit_set_atomic, layer, payload, hashes, count, new_bits);
}

static uint64_t SCHEME_PLAIN(query_window)(const struct bloomery_layer *layer,
                                           const uint8_t *payload, const bloomery_hash *hashes,
                                           size_t count)
{
    if (layer->probes > BLOOMERY_POSITIONS_AHEAD)
        return SCHEME_PLAIN(query_word)(layer, payload, hashes, count);
    return SCHEME_NAME(query_ahead)(bloomery_bit_test, layer, payload, hashes, count);
}

static uint64_t SCHEME_ATOMIC(query_window)(const struct bloomery_layer *layer,
                                            const uint8_t *payload, const bloomery_hash *hashes,
                                            size_t count)
{
    if (layer->probes > BLOOMERY_POSITIONS_AHEAD)
        return SCHEME_ATOMIC(query_word)(layer, payload, hashes, count);
    return SCHEME_NAME(query_ahead)(bloomery_bit_test_atomic, layer, payload, hashes, count);
}
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
        .add_word = WORD_OF(PLAIN, add),
        .query_word = WORD_OF(PLAIN, query),
        .requests = REQUESTS,
        .positions_of = SCHEME_NAME(positions_of),
    };
    static const struct bloomery_operations atomic = {
        .name = "scalar-concurrent",
        .add = SCHEME_ATOMIC(add),
        .may_contain = SCHEME_ATOMIC(may_contain),
        .prefetch_add = SCHEME_NAME(prefetch),
        .prefetch_query = SCHEME_NAME(prefetch),
        .add_word = WORD_OF(ATOMIC, add),
        .query_word = WORD_OF(ATOMIC, query),
        .requests = REQUESTS,
        .positions_of = SCHEME_NAME(positions_of),
    };
    (void)cell_bits;
    return bloomery_is_shared(concurrent) ? &atomic : &plain;
}

#undef WORD_OF
#undef REQUESTS
#undef add_with
#undef test_with
#undef SCHEME_PASTE_
#undef SCHEME_PASTE
#undef SCHEME_NAME
#undef SCHEME_PLAIN
#undef SCHEME_ATOMIC
#undef SCHEME
#undef SCHEME_BLOCKS
