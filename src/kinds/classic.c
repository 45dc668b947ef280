/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The classic filter: m bits, any m, and k positions over all of them for a key (kinds/derive.h).
 * Each probe is a cache miss of its own in a large filter; in exchange no Bloom filter needs less
 * memory.
 */
#include "base/bits.h"
#include "base/error.h"
#include "base/threads.h"
#include "kinds/derive.h"
#include "kinds/kinds.h"
#include "plan/classic_rate.h"

#include <assert.h>
#include <math.h>

bloomery_status bloomery_classic_check(const struct bloomery_shape *shape,
                                       const struct bloomery_layer *layer, bloomery_error *error)
{
    if (shape->block_bits != 0)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0, "a classic filter has no blocks");
    if (layer->blocks_per_key != 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a classic filter has no blocks per key");
    return BLOOMERY_OK;
}

static inline __attribute__((always_inline)) uint32_t add_with(bloomery_bit_setter *set,
                                                               const struct bloomery_layer *layer,
                                                               uint8_t *payload, bloomery_hash hash)
{
    uint32_t new_bits = 0;
    for (uint32_t probe = 0; probe < layer->probes; probe++) {
        uint64_t position = bloomery_classic_position(hash, probe, layer->bits);
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
    for (uint32_t probe = 0; probe < layer->probes; probe++) {
        uint64_t position = bloomery_classic_position(hash, probe, layer->bits);
        assert(position < layer->bits);
        if (!test(payload, position))
            return false;
    }
    return true;
}

/* A word's positions in the order in which they will be touched. They are requested into the
 * second-level cache: a processor has several times as many requests under way for that as for the
 * first level. */
static void prefetch(const struct bloomery_layer *layer, const uint8_t *payload,
                     const bloomery_hash *hashes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (uint32_t probe = 0; probe < layer->probes; probe++)
            __builtin_prefetch(
                payload + (bloomery_classic_position(hashes[i], probe, layer->bits) >> 3), 0, 2);
}

#define BATCH_NAME(name) plain_##name
#define BATCH_SET        bloomery_bit_set
#define BATCH_TEST       bloomery_bit_test
#include "kinds/batch_template.h"

#define BATCH_NAME(name) atomic_##name
#define BATCH_SET        bloomery_bit_set_atomic
#define BATCH_TEST       bloomery_bit_test_atomic
#include "kinds/batch_template.h"

const struct bloomery_operations *bloomery_classic_operations(uint32_t cell_bits, bool concurrent)
{
    assert(cell_bits == 1);
    (void)cell_bits;
    static const struct bloomery_operations plain = {
        .name = "scalar",
        .add = plain_add,
        .may_contain = plain_may_contain,
        .prefetch_add = prefetch,
        .prefetch_query = prefetch,
        .add_word = plain_add_word,
        .query_word = plain_query_word,
    };
    static const struct bloomery_operations atomic = {
        .name = "scalar-concurrent",
        .add = atomic_add,
        .may_contain = atomic_may_contain,
        .prefetch_add = prefetch,
        .prefetch_query = prefetch,
        .add_word = atomic_add_word,
        .query_word = atomic_query_word,
    };
    return bloomery_is_shared(concurrent) ? &atomic : &plain;
}

double bloomery_classic_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return bloomery_classic_rate(layer->bits, layer->probes, keys);
}

/* Positions are uniform over all bits, so the live rate is fill^k. Bits past m in the last bytes
 * are not of the filter. */
void bloomery_classic_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                           const uint8_t *payload, struct bloomery_scan *scan)
{
    (void)shape;
    uint64_t whole = layer->bits / 64;
    uint64_t set = bloomery_count_payload(payload, (size_t)whole);
    for (uint64_t bit = whole * 64; bit < layer->bits; bit++)
        set += bloomery_bit_test(payload, bit);
    assert(set <= layer->bits);
    scan->bits_set = set;
    scan->saturated = 0;
    scan->live_rate = pow((double)set / (double)layer->bits, layer->probes);
}

/* Solves E[fill] = 1 - (1 - 1/m)^(kn) for n. */
double bloomery_classic_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    if (bits_set >= layer->bits)
        return INFINITY;
    if (layer->bits == 1)
        return 0;
    return log1p(-(double)bits_set / (double)layer->bits) /
           (layer->probes * log1p(-1 / (double)layer->bits));
}
