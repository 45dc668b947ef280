/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One hash of 32 bits that is its own second hash: LevelDB's scheme, and RocksDB's first one, which
 * puts a key into one block.
 *
 *     step = rotr32(h, 17)
 *     ROTATED_STEP    bit (h + i step mod 2^32) mod m           in all of the array
 *     ROTATED_BLOCK    bit (h + i step) mod B of block h mod N     B 512; 1024 or 2048 for cache
 *                                                               lines of 128 or 256 bytes
 *
 * Cheap, and further from independent positions than the usual formulas assume:
 *
 *   - two keys with one hash share everything: an absent key is taken for one of n with at least
 *     n / 2^32;
 *   - positions are a walk. Two walks with the same step share most of their positions when they
 *     begin near each other, and a walk whose step leads back to where it began has few. In an
 *     array of m bits that is of the order of 1/m and n/m^2, which tells in the small filters that
 *     these systems have for a few hundred keys, and more so in a block: B^2 = 2^18 walks are all
 *     there are;
 *   - the step is no other hash. With h = 2^17 u + v it is 2^15 v + u, so h + step = (2^15 + 1) w -
 *     3 u with w = 4 u + v: not every number is one. In an array of more than 2^17 bits that is
 *     seen: keys share positions more often than chance has it, fewer bits are set, and the rate,
 *     measured with 10 bits a key, is 1.1 times that of the formula at 2^17 bits, 1.9 times at
 *     2^20, 2 at 2^22, 1.5 at 2^24, and depends on what m is.
 *
 * There is no formula for what a union of walks covers. So the rates here are counted. For a block,
 * all B^2 walks are tried on its bits at once, B starting points in a word operation (`covered`).
 * For a small array, a fixed sample of hashes is tried (`hits`). For an expected rate, the bits are
 * those of keys drawn by a generator with a fixed start: the same number every time. A sample is as
 * exact as its size: some 4 % at a rate of one in a hundred. Arrays too large to be filled for that
 * have the usual formula's rate as the expected one, which is too low. Their estimate of keys is up
 * to 15 % too low; their live rate is counted like any other.
 */
#include "core/foreign/schemes.h"

#include "base/bytes.h"
#include "base/error.h"
#include "core/foreign/steps.h"
#include "kinds/derive.h"
#include "plan/blocked_rate.h"
#include "plan/classic_rate.h"

#include <assert.h>
#include <math.h>

enum {
    ROTATION = 17,
    HASH_BITS = 32,
    MIN_SHIFT = 9, /* blocks of 512 */
    MAX_SHIFT = 11,
    BLOCK_MAX = 1 << MAX_SHIFT,
    BLOCK_WORDS = BLOCK_MAX / 64,
};

/* Draws hashes: the same ones whenever it starts at 0. */
static uint32_t draw(uint64_t *state)
{
    *state += BLOOMERY_GOLDEN;
    return (uint32_t)bloomery_mix64(*state);
}

/* ---- In all of the array --------------------------------------------------------------------- */

static inline struct bloomery_steps rotated_step_begin(const struct bloomery_layer *layer,
                                                       bloomery_hash hash)
{
    const uint32_t h = (uint32_t)hash.lo;
    (void)layer;
    return (struct bloomery_steps){.at = h, .step = bloomery_rotate_right_32(h, ROTATION)};
}

static inline uint64_t rotated_step_next(const struct bloomery_layer *layer,
                                         struct bloomery_steps *steps, uint32_t i)
{
    const uint32_t at = (uint32_t)steps->at;
    (void)i;
    steps->at = at + (uint32_t)steps->step;
    return at % layer->bits;
}

#define SCHEME rotated_step
#include "core/foreign/scheme_template.h"

/* How many walks are tried. Arrays up to so many bits (64 KiB on the stack) are filled for it.
 * Several are filled while that takes at most so many positions, and none that is fuller than
 * that. */
enum { WALKS = 1 << 17, SMALL_BITS = 1 << 19, POSITIONS = 1 << 18, ARRAYS_MAX = 64, FULL = 12 };

static bloomery_hash draw_hash(uint64_t *state)
{
    return (bloomery_hash){.lo = draw(state)};
}

/* How many of `walks` absent keys are taken for present ones. */
static uint64_t hits(const struct bloomery_layer *layer, const uint8_t *bits, uint64_t walks,
                     uint64_t *state)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < walks; i++)
        found += rotated_step_plain_may_contain(layer, bits, draw_hash(state));
    return found;
}

/* Positions end at 2^32: all there is beyond stays 0. */
static struct bloomery_layer reached(const struct bloomery_layer *layer)
{
    struct bloomery_layer lesser = *layer;
    if (lesser.bits > UINT64_C(1) << HASH_BITS)
        lesser.bits = UINT64_C(1) << HASH_BITS;
    return lesser;
}

/* Counted in arrays filled with `keys` keys. */
static double counted_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    uint8_t bits[SMALL_BITS / 8 + 1];
    uint64_t state = 0;
    uint64_t found = 0;
    const uint64_t fill = POSITIONS / (keys * layer->probes);
    const uint64_t arrays = fill < 1 ? 1 : fill < ARRAYS_MAX ? fill : ARRAYS_MAX;
    const uint64_t each = WALKS / arrays;
    assert(layer->bits <= SMALL_BITS);
    for (uint64_t array = 0; array < arrays; array++) {
        memset(bits, 0, (size_t)(layer->bits / 8 + 1));
        for (uint64_t key = 0; key < keys; key++)
            rotated_step_plain_add(layer, bits, draw_hash(&state));
        found += hits(layer, bits, each, &state);
    }
    const uint64_t walks = each * arrays;
    assert(found <= walks);
    return (double)found / (double)walks;
}

double bloomery_rotated_step_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    const struct bloomery_layer lesser = reached(layer);
    double rate = bloomery_classic_rate(lesser.bits, lesser.probes, keys);
    if (keys > 0 && lesser.bits <= SMALL_BITS && keys <= lesser.bits * FULL / lesser.probes)
        rate = fmax(rate, counted_rate(&lesser, keys));
    return bloomery_rate_of_32_bits(rate, (double)keys);
}

double bloomery_rotated_step_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    const struct bloomery_layer lesser = reached(layer);
    return bloomery_classic_estimate(&lesser, bits_set);
}

void bloomery_rotated_step_scan(const struct bloomery_shape *shape,
                                const struct bloomery_layer *layer, const uint8_t *payload,
                                struct bloomery_scan *scan)
{
    const struct bloomery_layer lesser = reached(layer);
    uint64_t state = 0;
    bloomery_classic_scan(shape, layer, payload, scan);
    scan->live_rate = pow(fmin(1, (double)scan->bits_set / (double)lesser.bits), layer->probes);
    scan->live_rate =
        fmax(scan->live_rate, (double)hits(layer, payload, WALKS, &state) / (double)WALKS);
}

/* ---- In a block ------------------------------------------------------------------------------ */

/* log2 of the bits of a block. */
static inline uint32_t block_shift(const struct bloomery_layer *layer)
{
    uint32_t shift = MIN_SHIFT;
    while (shift < MAX_SHIFT && layer->blocks << shift != layer->bits)
        shift++;
    assert(layer->blocks << shift == layer->bits);
    return shift;
}

static inline struct bloomery_steps rotated_block_begin(const struct bloomery_layer *layer,
                                                        bloomery_hash hash)
{
    const uint32_t h = (uint32_t)hash.lo;
    return (struct bloomery_steps){
        .at = h,
        .step = bloomery_rotate_right_32(h, ROTATION),
        .base = h % layer->blocks << block_shift(layer),
    };
}

static inline uint64_t rotated_block_next(const struct bloomery_layer *layer,
                                          struct bloomery_steps *steps, uint32_t i)
{
    const uint64_t at = steps->at;
    (void)i;
    steps->at += steps->step;
    return steps->base + (at & ((UINT64_C(1) << block_shift(layer)) - 1));
}

#define SCHEME rotated_block
#define SCHEME_BLOCKS
#include "core/foreign/scheme_template.h"

bloomery_status bloomery_rotated_block_check(const struct bloomery_shape *shape,
                                             const struct bloomery_layer *layer,
                                             bloomery_error *error)
{
    for (uint32_t shift = MIN_SHIFT; shift <= MAX_SHIFT; shift++)
        if (shape->block_bits == 1u << shift)
            return bloomery_blocks_check(shape, layer, 1u << shift, error);
    return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                         "filters of this scheme have blocks of 512, 1024 or 2048 bits, not of %u",
                         shape->block_bits);
}

/* A block, twice over and a word more, so that no rotation of it runs past the end. */
struct doubled {
    uint64_t words[2 * BLOCK_WORDS + 1];
    size_t count; /* of the block itself */
};

static void double_block(struct doubled *block, const uint8_t *bytes, uint32_t shift)
{
    block->count = (size_t)1 << (shift - 6);
    assert(block->count <= BLOCK_WORDS);
    for (size_t i = 0; i < 2 * block->count + 1; i++)
        block->words[i] = bloomery_load_u64(bytes + i % block->count * 8);
}

/* starts &= the block, rotated right by `by` bits; whether any is left. */
static bool keep_rotated(uint64_t *starts, const struct doubled *block, size_t by)
{
    const uint64_t *from = block->words + by / 64;
    const unsigned bits = by % 64;
    uint64_t any = 0;
    assert(by < 64 * block->count);
    for (size_t i = 0; i < block->count; i++) {
        const uint64_t word = bits == 0 ? from[i] : from[i] >> bits | from[i + 1] << (64 - bits);
        starts[i] &= word;
        any |= starts[i];
    }
    return any != 0;
}

/* The part of all walks, B starts by B steps, whose k positions in this block are all set. A walk
 * is the same backwards: half of the steps do. */
static double covered(const uint8_t *bytes, uint32_t shift, uint32_t probes)
{
    struct doubled block;
    uint64_t starts[BLOCK_WORDS];
    uint64_t count = 0;
    const size_t bits = (size_t)1 << shift;
    double_block(&block, bytes, shift);
    for (size_t step = 0; step <= bits / 2; step++) {
        bool any = true;
        memcpy(starts, block.words, block.count * sizeof *starts);
        for (uint32_t i = 1; i < probes && any; i++)
            any = keep_rotated(starts, &block, i * step % bits);
        for (size_t i = 0; any && i < block.count; i++)
            count += (uint64_t)__builtin_popcountll(starts[i]) << (step % (bits / 2) != 0);
    }
    return ldexp((double)count, -2 * (int)shift);
}

/* Blocks tried for each load: about as many in all for every filter, and one if a load is rare. */
struct blocks {
    uint32_t shift;
    uint32_t probes;
    double mean;
    uint64_t state;
};

enum { TRIES = 48, SELDOM = 3, CROWDED = 6 };

static uint32_t tries_for(const struct blocks *blocks, uint64_t load)
{
    const double deviation = sqrt(blocks->mean);
    if (fabs((double)load - blocks->mean) > SELDOM * deviation)
        return 1;
    return (uint32_t)fmax(1, TRIES / fmax(1, deviation));
}

static double covered_with(void *context, uint64_t load)
{
    struct blocks *blocks = context;
    const uint32_t tries = tries_for(blocks, load);
    double sum = 0;
    for (uint32_t i = 0; i < tries; i++) {
        uint8_t bytes[BLOCK_MAX / 8] = {0};
        for (uint64_t key = 0; key < load; key++) {
            uint32_t at = draw(&blocks->state);
            const uint32_t step = draw(&blocks->state);
            for (uint32_t probe = 0; probe < blocks->probes; probe++, at += step)
                bloomery_bit_set(bytes, at & ((1u << blocks->shift) - 1));
        }
        sum += load > 0 ? covered(bytes, blocks->shift, blocks->probes) : 0;
    }
    return sum / tries;
}

double bloomery_rotated_block_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    const double load = (double)keys / (double)layer->blocks;
    const double each = ldexp(load * layer->probes, -(int)block_shift(layer));
    struct blocks blocks = {.shift = block_shift(layer), .probes = layer->probes, .mean = load};
    if (keys == 0)
        return 0;
    if (each > CROWDED)
        return bloomery_rate_of_32_bits(pow(-expm1(-each), layer->probes), (double)keys);
    const double rate =
        bloomery_expect_load((double)keys, 1 / (double)layer->blocks, covered_with, &blocks);
    return bloomery_rate_of_32_bits(rate, (double)keys);
}

/* The cells that a walk of k steps touches: 2^t of them if the step has 2^t multiples, as 2^(t-1)
 * of B steps do, or k if those are fewer. */
static double cells_of_a_walk(uint32_t shift, uint32_t probes)
{
    double sum = 1;
    for (uint32_t t = 1; t <= shift; t++)
        sum += ldexp(fmin(probes, ldexp(1, (int)t)), (int)t - 1);
    return ldexp(sum, -(int)shift);
}

double bloomery_rotated_block_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    if (bits_set >= layer->bits)
        return INFINITY;
    const double hit = cells_of_a_walk(block_shift(layer), layer->probes) / (double)layer->bits;
    return log1p(-(double)bits_set / (double)layer->bits) / log1p(-hit);
}

enum { BLOCKS_TRIED = 256 };

/* All walks in some blocks, and the fill of all blocks: the one corrects the other. */
void bloomery_rotated_block_scan(const struct bloomery_shape *shape,
                                 const struct bloomery_layer *layer, const uint8_t *payload,
                                 struct bloomery_scan *scan)
{
    const uint32_t shift = block_shift(layer);
    const size_t bytes = (size_t)1 << (shift - 3);
    const uint64_t tried = layer->blocks < BLOCKS_TRIED ? layer->blocks : BLOCKS_TRIED;
    double fills = 0;
    double tried_fills = 0;
    double tried_covered = 0;
    uint64_t next = 0;
    (void)shape;
    *scan = (struct bloomery_scan){.bits_set = 0};
    for (uint64_t block = 0; block < layer->blocks; block++) {
        const uint8_t *at = payload + block * bytes;
        const uint64_t set = bloomery_count_bits(at, bytes / 8);
        const double fill = pow(ldexp((double)set, -(int)shift), layer->probes);
        scan->bits_set += set;
        fills += fill;
        if (next < tried && block == next * layer->blocks / tried) {
            tried_fills += fill;
            tried_covered += covered(at, shift, layer->probes);
            next++;
        }
    }
    assert(next == tried && scan->bits_set <= layer->bits);
    const double rate = tried_fills > 0 ? fills / tried_fills * tried_covered : fills;
    scan->live_rate =
        bloomery_rate_of_32_bits(fmin(1, rate / (double)layer->blocks),
                                 bloomery_rotated_block_estimate(layer, scan->bits_set));
}
