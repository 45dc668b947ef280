/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Double hashing in flat arrays, as several systems have it: probe i goes to a + i b, reduced to m.
 * dialects/schemes.h has the formulas. They differ in the width in which sums wrap, and in what
 * becomes of numbers that those systems' languages take for negative.
 */
#include "dialects/schemes.h"

#include "base/bits.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/threads.h"
#include "dialects/rates.h"
#include "hash/murmur3.h"
#include "plan/classic_rate.h"

#include <assert.h>
#include <math.h>

/* ---- A hash ---------------------------------------------------------------------------------- */

static bloomery_hash murmur3(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    return bloomery_murmur3(secret->seed, key.data, key.bytes);
}

const struct bloomery_hash_row bloomery_hash_murmur3 = {
    .id = BLOOMERY_HASH_MURMUR3,
    .name = "murmur3-x64-128",
    .available = true,
    .one = murmur3,
};

/* ---- Sums that wrap at 2^64 ------------------------------------------------------------------ */

static inline struct bloomery_steps double_begin(const struct bloomery_layer *layer,
                                                 bloomery_hash hash)
{
    (void)layer;
    assert(layer->bits > 0);
    return (struct bloomery_steps){.at = hash.lo, .step = hash.hi};
}

static inline uint64_t double_next(const struct bloomery_layer *layer, struct bloomery_steps *steps,
                                   uint32_t i)
{
    const uint64_t at = steps->at;
    (void)i;
    steps->at += steps->step;
    return bloomery_modulo(at, layer->bits, layer->inverse);
}

#define SCHEME double
#include "dialects/scheme_template.h"

const struct bloomery_operations *bloomery_double_operations(uint32_t cell_bits, bool concurrent)
{
    return double_operations(cell_bits, concurrent);
}

double bloomery_double_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return bloomery_step_rate(layer->bits, layer->probes, keys, true);
}

double bloomery_double_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    return bloomery_classic_estimate(layer, bits_set);
}

void bloomery_double_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                          const uint8_t *payload, struct bloomery_scan *scan)
{
    bloomery_classic_scan(shape, layer, payload, scan);
    const double fill = (double)scan->bits_set / (double)layer->bits;
    const double keys = bloomery_classic_estimate(layer, scan->bits_set);
    scan->live_rate = fmin(
        1, scan->live_rate + bloomery_step_excess(layer->bits, layer->probes, keys, fill, true));
    assert(scan->live_rate >= 0 && scan->live_rate <= 1);
}

const struct bloomery_kind_row bloomery_scheme_double = {
    BLOOMERY_FLAT_ROW(BLOOMERY_PROBES_DOUBLE), .check = bloomery_classic_check,
    .operations = double_operations,           BLOOMERY_ROW_RATES(bloomery_double),
    .probes_max = BLOOMERY_POSITIONS_MAX,
};

/* ---- 32 bits, the sign turned ---------------------------------------------------------------- */

enum { SIGNED_BITS = 31 };

/* A scheme that reaches only the first cells of a large array is a filter of those. */
static struct bloomery_layer reached(const struct bloomery_layer *layer, uint64_t reach)
{
    struct bloomery_layer lesser = *layer;
    lesser.bits = layer->bits < reach ? layer->bits : reach;
    assert(lesser.bits > 0 && lesser.bits <= layer->bits);
    return lesser;
}

static inline struct bloomery_steps flipped_double_32_begin(const struct bloomery_layer *layer,
                                                            bloomery_hash hash)
{
    (void)layer;
    assert(layer->bits > 0);
    return (struct bloomery_steps){.at = hash.lo, .step = hash.lo >> 32};
}

static inline uint64_t flipped_double_32_next(const struct bloomery_layer *layer,
                                              struct bloomery_steps *steps, uint32_t i)
{
    (void)i;
    steps->at += steps->step;
    return bloomery_flip_32((uint32_t)steps->at) % layer->bits;
}

#define SCHEME flipped_double_32
#include "dialects/scheme_template.h"

/* As far as the scheme reaches, and as evenly. Cells past 2^31 always stay 0. Cells that two
 * numbers reach are set sooner than those that one reaches (dialects/rates.h). */
static double flipped_double_32_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    const struct bloomery_layer lesser = reached(layer, UINT64_C(1) << SIGNED_BITS);
    return bloomery_turned_rate(BLOOMERY_TURN_FLIPPED_32, lesser.bits, lesser.probes, keys);
}

static double flipped_double_32_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    const struct bloomery_layer lesser = reached(layer, UINT64_C(1) << SIGNED_BITS);
    return bloomery_turned_keys(BLOOMERY_TURN_FLIPPED_32, lesser.bits, lesser.probes,
                                fmin(1, (double)bits_set / (double)lesser.bits));
}

static void flipped_double_32_scan(const struct bloomery_shape *shape,
                                   const struct bloomery_layer *layer, const uint8_t *payload,
                                   struct bloomery_scan *scan)
{
    const struct bloomery_layer lesser = reached(layer, UINT64_C(1) << SIGNED_BITS);
    bloomery_classic_scan(shape, layer, payload, scan);
    scan->live_rate = bloomery_turned_live(BLOOMERY_TURN_FLIPPED_32, lesser.bits, lesser.probes,
                                           fmin(1, (double)scan->bits_set / (double)lesser.bits));
    assert(scan->live_rate >= 0 && scan->live_rate <= 1);
}

const struct bloomery_kind_row bloomery_scheme_flipped_double_32 = {
    BLOOMERY_FLAT_ROW(BLOOMERY_PROBES_FLIPPED_DOUBLE_32),
    .check = bloomery_classic_check,
    .operations = flipped_double_32_operations,
    BLOOMERY_ROW_RATES(flipped_double_32),
    .probes_max = BLOOMERY_POSITIONS_MAX,
};

/* ---- Positions that the hash gives ----------------------------------------------------------- */

/*
 * Filters whose keys come as positions. Their systems take more than 128 bits out of a key (slices
 * of a SHA-384 digest, seven seeded hashes, a chain of MD5 digests). The hash of such a system
 * gives k positions below m. All that is left here is to set and to test them. Several in flight
 * hide each other's way to memory; all of them are prefetched before the first is needed.
 */

static inline void prefetch_all(const struct bloomery_layer *layer, const uint8_t *payload,
                                const uint64_t *positions)
{
    for (uint32_t i = 0; i < layer->probes; i++)
        __builtin_prefetch(payload + (positions[i] >> 3));
}

static inline __attribute__((always_inline)) uint32_t set_all(bloomery_bit_setter *set,
                                                              const struct bloomery_layer *layer,
                                                              uint8_t *payload,
                                                              const uint64_t *positions)
{
    uint32_t new_bits = 0;
    prefetch_all(layer, payload, positions);
    for (uint32_t i = 0; i < layer->probes; i++) {
        assert(positions[i] < layer->bits);
        new_bits += set(payload, positions[i]);
    }
    assert(new_bits <= layer->probes);
    return new_bits;
}

static inline __attribute__((always_inline)) bool test_all(bool (*test)(const uint8_t *, uint64_t),
                                                           const struct bloomery_layer *layer,
                                                           const uint8_t *payload,
                                                           const uint64_t *positions)
{
    for (uint32_t i = 0; i < layer->probes; i++) {
        assert(positions[i] < layer->bits);
        if (!test(payload, positions[i]))
            return false;
    }
    return true;
}

static uint32_t add_plain(const struct bloomery_layer *layer, uint8_t *payload,
                          const uint64_t *positions)
{
    return set_all(bloomery_bit_set, layer, payload, positions);
}

static bool may_contain_plain(const struct bloomery_layer *layer, const uint8_t *payload,
                              const uint64_t *positions)
{
    return test_all(bloomery_bit_test, layer, payload, positions);
}

static uint32_t add_atomic(const struct bloomery_layer *layer, uint8_t *payload,
                           const uint64_t *positions)
{
    return set_all(bloomery_bit_set_atomic, layer, payload, positions);
}

static bool may_contain_atomic(const struct bloomery_layer *layer, const uint8_t *payload,
                               const uint64_t *positions)
{
    return test_all(bloomery_bit_test_atomic, layer, payload, positions);
}

const struct bloomery_operations *bloomery_positions_operations(uint32_t cell_bits, bool concurrent)
{
    static const struct bloomery_operations plain = {
        .name = "positions",
        .add_positions = add_plain,
        .may_contain_positions = may_contain_plain,
    };
    static const struct bloomery_operations atomic = {
        .name = "positions-concurrent",
        .add_positions = add_atomic,
        .may_contain_positions = may_contain_atomic,
    };
    (void)cell_bits;
    return bloomery_is_shared(concurrent) ? &atomic : &plain;
}

const struct bloomery_kind_row bloomery_scheme_positions = {
    BLOOMERY_FLAT_ROW(BLOOMERY_PROBES_POSITIONS),
    .check = bloomery_classic_check,
    .takes_positions = true,
    .operations = bloomery_positions_operations,
    BLOOMERY_ROW_RATES(bloomery_classic),
    .probes_max = BLOOMERY_POSITIONS_MAX,
};

/* ---- One block for a key --------------------------------------------------------------------- */

bloomery_status bloomery_blocks_check(const struct bloomery_shape *shape,
                                      const struct bloomery_layer *layer, uint32_t block_bits,
                                      bloomery_error *error)
{
    if (shape->block_bits != block_bits)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "filters of this scheme have no blocks of %u bits", shape->block_bits);
    if (layer->blocks_per_key != 1)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a key has one block in filters of this scheme, not %u",
                             layer->blocks_per_key);
    if (layer->bits % block_bits != 0 || layer->blocks != layer->bits / block_bits ||
        layer->blocks > UINT32_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a filter of this scheme has 1 to 2^32-1 blocks of %u bits; %llu bits "
                             "make others",
                             block_bits, (unsigned long long)layer->bits);
    return BLOOMERY_OK;
}

double bloomery_rate_of_32_bits(double rate, double keys)
{
    return rate + (1 - rate) * -expm1(-ldexp(keys, -32));
}
