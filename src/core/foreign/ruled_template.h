/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a probe rule: a template, instantiated by defining before inclusion
 *
 *     RULE               the rule's name, as in bloomery_RULE_operations
 *     RULE_BLOCKS        where a key's bits are all in one block, that of steps.base
 *
 * in a file that has
 *
 *     struct bloomery_steps RULE_begin(layer, hash)       the walk before its first position
 *     uint64_t RULE_next(layer, steps, i)                 position i = 0 .. k-1, below layer->bits
 *
 * as inline functions. Positions come one after the other, so asking ends with the first bit that is
 * not set and computes no further.
 */
#include "core/foreign/steps.h"

#define RULE_PASTE_(one, other) one##_##other
#define RULE_PASTE(one, other)  RULE_PASTE_(one, other)
#define RULE_NAME(name)         RULE_PASTE(RULE, name)

#define add_with  RULE_NAME(add_with)
#define test_with RULE_NAME(test_with)

static inline __attribute__((always_inline)) uint32_t add_with(bloomery_bit_setter *set,
                                                               const struct bloomery_layer *layer,
                                                               uint8_t *payload, bloomery_hash hash)
{
    struct bloomery_steps steps = RULE_NAME(begin)(layer, hash);
    uint32_t new_bits = 0;
    for (uint32_t i = 0; i < layer->probes; i++) {
        uint64_t position = RULE_NAME(next)(layer, &steps, i);
        assert(position < layer->bits);
        new_bits += set(payload, position);
    }
    return new_bits;
}

static inline __attribute__((always_inline)) bool test_with(bool (*test)(const uint8_t *, uint64_t),
                                                            const struct bloomery_layer *layer,
                                                            const uint8_t *payload,
                                                            bloomery_hash hash)
{
    struct bloomery_steps steps = RULE_NAME(begin)(layer, hash);
    for (uint32_t i = 0; i < layer->probes; i++) {
        uint64_t position = RULE_NAME(next)(layer, &steps, i);
        assert(position < layer->bits);
        if (!test(payload, position))
            return false;
    }
    return true;
}

static void RULE_NAME(positions_of)(const struct bloomery_layer *layer, bloomery_hash hash,
                                    uint64_t *positions)
{
    struct bloomery_steps steps = RULE_NAME(begin)(layer, hash);
    for (uint32_t i = 0; i < layer->probes; i++)
        positions[i] = RULE_NAME(next)(layer, &steps, i);
}

#ifdef RULE_BLOCKS
static void RULE_NAME(prefetch)(const struct bloomery_layer *layer, const uint8_t *payload,
                                const bloomery_hash *hashes, size_t count)
{
    for (size_t key = 0; key < count; key++)
        __builtin_prefetch(payload + (RULE_NAME(begin)(layer, hashes[key]).base >> 3));
}
#else
/* Asked for an absent key, a filter that is half full reads two bits on average, and hardly ever more
 * than eight. */
static void RULE_NAME(prefetch)(const struct bloomery_layer *layer, const uint8_t *payload,
                                const bloomery_hash *hashes, size_t count)
{
    const uint32_t probes =
        layer->probes < BLOOMERY_PREFETCHED ? layer->probes : BLOOMERY_PREFETCHED;
    for (size_t key = 0; key < count; key++) {
        struct bloomery_steps steps = RULE_NAME(begin)(layer, hashes[key]);
        for (uint32_t i = 0; i < probes; i++)
            __builtin_prefetch(payload + (RULE_NAME(next)(layer, &steps, i) >> 3));
    }
}
#endif

#define RULE_PLAIN(name)  RULE_PASTE(RULE_NAME(plain), name)
#define RULE_ATOMIC(name) RULE_PASTE(RULE_NAME(atomic), name)

#define BATCH_NAME(name) RULE_PLAIN(name)
#define BATCH_SET        bloomery_bit_set
#define BATCH_TEST       bloomery_bit_test
#include "core/batch_template.h"

#define BATCH_NAME(name) RULE_ATOMIC(name)
#define BATCH_SET        bloomery_bit_set_atomic
#define BATCH_TEST       bloomery_bit_test_atomic
#include "core/batch_template.h"

const struct bloomery_operations *RULE_PASTE(RULE_PASTE(bloomery, RULE),
                                             operations)(uint32_t cell_bits, bool concurrent)
{
    static const struct bloomery_operations plain = {
        .name = "scalar",
        .add = RULE_PLAIN(add),
        .may_contain = RULE_PLAIN(may_contain),
        .prefetch_add = RULE_NAME(prefetch),
        .prefetch_query = RULE_NAME(prefetch),
        .add_word = RULE_PLAIN(add_word),
        .query_word = RULE_PLAIN(query_word),
        .positions_of = RULE_NAME(positions_of),
    };
    static const struct bloomery_operations atomic = {
        .name = "scalar-concurrent",
        .add = RULE_ATOMIC(add),
        .may_contain = RULE_ATOMIC(may_contain),
        .prefetch_add = RULE_NAME(prefetch),
        .prefetch_query = RULE_NAME(prefetch),
        .add_word = RULE_ATOMIC(add_word),
        .query_word = RULE_ATOMIC(query_word),
        .positions_of = RULE_NAME(positions_of),
    };
    (void)cell_bits;
    return concurrent ? &atomic : &plain;
}

#undef add_with
#undef test_with
#undef RULE_PASTE_
#undef RULE_PASTE
#undef RULE_NAME
#undef RULE_PLAIN
#undef RULE_ATOMIC
#undef RULE
#undef RULE_BLOCKS
