/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a probe scheme: a template, instantiated by defining before inclusion
 *
 *     SCHEME               the scheme's name, as in bloomery_SCHEME_operations
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
#include "core/foreign/steps.h"

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
    uint32_t new_bits = 0;
    for (uint32_t i = 0; i < layer->probes; i++) {
        uint64_t position = SCHEME_NAME(next)(layer, &steps, i);
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
/* A query for an absent key reads two bits on average if the filter is half full, and hardly ever
 * more than eight. */
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

#define SCHEME_PLAIN(name)  SCHEME_PASTE(SCHEME_NAME(plain), name)
#define SCHEME_ATOMIC(name) SCHEME_PASTE(SCHEME_NAME(atomic), name)

#define BATCH_NAME(name) SCHEME_PLAIN(name)
#define BATCH_SET        bloomery_bit_set
#define BATCH_TEST       bloomery_bit_test
#include "core/batch_template.h"

#define BATCH_NAME(name) SCHEME_ATOMIC(name)
#define BATCH_SET        bloomery_bit_set_atomic
#define BATCH_TEST       bloomery_bit_test_atomic
#include "core/batch_template.h"

const struct bloomery_operations *SCHEME_PASTE(SCHEME_PASTE(bloomery, SCHEME),
                                               operations)(uint32_t cell_bits, bool concurrent)
{
    static const struct bloomery_operations plain = {
        .name = "scalar",
        .add = SCHEME_PLAIN(add),
        .may_contain = SCHEME_PLAIN(may_contain),
        .prefetch_add = SCHEME_NAME(prefetch),
        .prefetch_query = SCHEME_NAME(prefetch),
        .add_word = SCHEME_PLAIN(add_word),
        .query_word = SCHEME_PLAIN(query_word),
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
        .positions_of = SCHEME_NAME(positions_of),
    };
    (void)cell_bits;
    return concurrent ? &atomic : &plain;
}

#undef add_with
#undef test_with
#undef SCHEME_PASTE_
#undef SCHEME_PASTE
#undef SCHEME_NAME
#undef SCHEME_PLAIN
#undef SCHEME_ATOMIC
#undef SCHEME
#undef SCHEME_BLOCKS
