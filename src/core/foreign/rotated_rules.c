/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One hash of 32 bits that is its own second hash: LevelDB's rule, and RocksDB's first one, which puts
 * a key into one line.
 *
 *     step = rotr32(h, 17)
 *     ROTATED_STEP    bit (h + i step mod 2^32) mod m           in all of the array
 *     ROTATED_LINE    bit (h + i step) mod B of line h mod N     B 512; 1024 or 2048 where caches have
 *                                                               lines of 128 or 256 bytes
 *
 * Cheap, and further from independent positions than the usual formulas know:
 *
 *   - two keys with one hash share everything: an absent key is taken for one of n with n / 2^32 at least;
 *   - positions are a walk. Two walks with the same step share most of their positions when they begin
 *     near each other, and a walk whose step leads back to where it began has few. In an array of m bits that is
 *     of the order of 1/m and n/m^2, which tells in the small filters that these systems have for a few
 *     hundred keys, and more so in a line: B^2 = 2^18 walks are all there are;
 *   - the step is no other hash. With h = 2^17 u + v it is 2^15 v + u, so h + step = (2^15 + 1) w - 3 u with
 *     w = 4 u + v: not every number is one. In an array of more than 2^17 bits that is seen: keys share
 *     positions more often than chance has it, fewer bits are set, and the rate, measured with 10 bits a key, is
 *     1.1 times that of the formula at 2^17 bits, 1.9 times at 2^20, 2 at 2^22, 1.5 at 2^24, and depends
 *     on what m is.
 *
 * There is no formula for what a union of walks covers. So the rates here are counted: of a line, all B^2
 * walks are tried on its bits at once, B starting points in a word operation (`covered`); of a small array, a
 * fixed sample of hashes (`hits`). Where a rate is expected, the bits are those of keys drawn by a generator
 * with a fixed start: the same number every time. A sample is as exact as its size: some 4 % at a rate of one
 * in a hundred. Arrays too large to be filled for that have the usual formula's rate as the expected one,
 * which is too low, and an estimate of keys that is up to 15 % too low; their live rate is counted like any
 * other.
 */
#include "core/foreign/rules.h"

#include "base/bytes.h"
#include "base/error.h"
#include "core/derive.h"
#include "core/foreign/steps.h"
#include "plan/blocked_rate.h"
#include "plan/classic_rate.h"

#include <math.h>

enum {
    ROTATION = 17,
    HASH_BITS = 32,
    LEAST_SHIFT = 9, /* lines of 512 */
    MOST_SHIFT = 11,
    LINE_MOST = 1 << MOST_SHIFT,
    LINE_WORDS = LINE_MOST / 64,
};

/* Draws hashes: the same ones whenever it starts at 0. */
static uint32_t draw(uint64_t *state)
{
    *state += BLOOMERY_GOLDEN;
    return (uint32_t)bloomery_mix64(*state);
}

/* ---- In all of the array --------------------------------------------------------------------- */

static inline struct bloomery_steps rotated_step_begin(const struct bloomery_link *link,
                                                       bloomery_hash hash)
{
    const uint32_t h = (uint32_t)hash.lo;
    (void)link;
    return (struct bloomery_steps){.at = h, .step = bloomery_rotate_right_32(h, ROTATION)};
}

static inline uint64_t rotated_step_next(const struct bloomery_link *link,
                                         struct bloomery_steps *steps, uint32_t i)
{
    const uint32_t at = (uint32_t)steps->at;
    (void)i;
    steps->at = at + (uint32_t)steps->step;
    return at % link->bits;
}

#define RULE rotated_step
#include "core/foreign/ruled_template.h"

/* How many walks are tried. Arrays up to so many bits (64 KiB on the stack) are filled for it, several of
 * them while that takes so many positions at most, and none that is fuller than that. */
enum { WALKS = 1 << 17, SMALL_BITS = 1 << 19, POSITIONS = 1 << 18, ARRAYS_MOST = 64, FULL = 12 };

static bloomery_hash draw_hash(uint64_t *state)
{
    return (bloomery_hash){.lo = draw(state)};
}

/* How many of `walks` absent keys are taken for present ones. */
static uint64_t hits(const struct bloomery_link *link, const uint8_t *bits, uint64_t walks,
                     uint64_t *state)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < walks; i++)
        found += rotated_step_plain_may_contain(link, bits, draw_hash(state));
    return found;
}

/* Positions end at 2^32: all there is beyond stays 0. */
static struct bloomery_link reached(const struct bloomery_link *link)
{
    struct bloomery_link lesser = *link;
    if (lesser.bits > UINT64_C(1) << HASH_BITS)
        lesser.bits = UINT64_C(1) << HASH_BITS;
    return lesser;
}

/* Counted in arrays filled with `keys` keys. */
static double counted_rate(const struct bloomery_link *link, uint64_t keys)
{
    uint8_t bits[SMALL_BITS / 8 + 1];
    uint64_t state = 0;
    uint64_t found = 0;
    const uint64_t fill = POSITIONS / (keys * link->probes);
    const uint64_t arrays = fill < 1 ? 1 : fill < ARRAYS_MOST ? fill : ARRAYS_MOST;
    const uint64_t each = WALKS / arrays;
    assert(link->bits <= SMALL_BITS);
    for (uint64_t array = 0; array < arrays; array++) {
        memset(bits, 0, (size_t)(link->bits / 8 + 1));
        for (uint64_t key = 0; key < keys; key++)
            rotated_step_plain_add(link, bits, draw_hash(&state));
        found += hits(link, bits, each, &state);
    }
    const uint64_t walks = each * arrays;
    return (double)found / (double)walks;
}

double bloomery_rotated_step_expected_rate(const struct bloomery_link *link, uint64_t keys)
{
    const struct bloomery_link lesser = reached(link);
    double rate = bloomery_classic_rate(lesser.bits, lesser.probes, keys);
    if (keys > 0 && lesser.bits <= SMALL_BITS && keys <= lesser.bits * FULL / lesser.probes)
        rate = fmax(rate, counted_rate(&lesser, keys));
    return bloomery_rate_of_32_bits(rate, (double)keys);
}

double bloomery_rotated_step_estimate(const struct bloomery_link *link, uint64_t bits_set)
{
    const struct bloomery_link lesser = reached(link);
    return bloomery_classic_estimate(&lesser, bits_set);
}

void bloomery_rotated_step_scan(const struct bloomery_shape *shape,
                                const struct bloomery_link *link, const uint8_t *payload,
                                struct bloomery_scan *scan)
{
    const struct bloomery_link lesser = reached(link);
    uint64_t state = 0;
    bloomery_classic_scan(shape, link, payload, scan);
    scan->live_rate = pow(fmin(1, (double)scan->bits_set / (double)lesser.bits), link->probes);
    scan->live_rate =
        fmax(scan->live_rate, (double)hits(link, payload, WALKS, &state) / (double)WALKS);
}

/* ---- In a line ------------------------------------------------------------------------------- */

/* log2 of the bits of a line. */
static inline uint32_t line_shift(const struct bloomery_link *link)
{
    uint32_t shift = LEAST_SHIFT;
    while (shift < MOST_SHIFT && link->blocks << shift != link->bits)
        shift++;
    return shift;
}

static inline struct bloomery_steps rotated_line_begin(const struct bloomery_link *link,
                                                       bloomery_hash hash)
{
    const uint32_t h = (uint32_t)hash.lo;
    return (struct bloomery_steps){
        .at = h,
        .step = bloomery_rotate_right_32(h, ROTATION),
        .base = h % link->blocks << line_shift(link),
    };
}

static inline uint64_t rotated_line_next(const struct bloomery_link *link,
                                         struct bloomery_steps *steps, uint32_t i)
{
    const uint64_t at = steps->at;
    (void)i;
    steps->at += steps->step;
    return steps->base + (at & ((UINT64_C(1) << line_shift(link)) - 1));
}

#define RULE rotated_line
#define RULE_BLOCKS
#include "core/foreign/ruled_template.h"

bloomery_status bloomery_rotated_line_check(const struct bloomery_shape *shape,
                                            const struct bloomery_link *link, bloomery_error *error)
{
    for (uint32_t shift = LEAST_SHIFT; shift <= MOST_SHIFT; shift++)
        if (shape->block_bits == 1u << shift)
            return bloomery_blocks_check(shape, link, 1u << shift, error);
    return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                         "filters of this rule have lines of 512, 1024 or 2048 bits, not of %u",
                         shape->block_bits);
}

/* A line, twice over and a word more, so that no rotation of it runs past the end. */
struct doubled {
    uint64_t words[2 * LINE_WORDS + 1];
    size_t count; /* of the line itself */
};

static void double_line(struct doubled *line, const uint8_t *bytes, uint32_t shift)
{
    line->count = (size_t)1 << (shift - 6);
    for (size_t i = 0; i < 2 * line->count + 1; i++)
        line->words[i] = bloomery_load_u64(bytes + i % line->count * 8);
}

/* starts &= the line, rotated right by `by` bits; whether any is left. */
static bool keep_rotated(uint64_t *starts, const struct doubled *line, size_t by)
{
    const uint64_t *from = line->words + by / 64;
    const unsigned bits = by % 64;
    uint64_t any = 0;
    for (size_t i = 0; i < line->count; i++) {
        const uint64_t word = bits == 0 ? from[i] : from[i] >> bits | from[i + 1] << (64 - bits);
        starts[i] &= word;
        any |= starts[i];
    }
    return any != 0;
}

/* The part of all walks, B starts by B steps, whose k positions in this line are all set. A walk is the
 * same backwards: half of the steps do. */
static double covered(const uint8_t *bytes, uint32_t shift, uint32_t probes)
{
    struct doubled line;
    uint64_t starts[LINE_WORDS];
    uint64_t count = 0;
    const size_t bits = (size_t)1 << shift;
    double_line(&line, bytes, shift);
    for (size_t step = 0; step <= bits / 2; step++) {
        bool any = true;
        memcpy(starts, line.words, line.count * sizeof *starts);
        for (uint32_t i = 1; i < probes && any; i++)
            any = keep_rotated(starts, &line, i * step % bits);
        for (size_t i = 0; any && i < line.count; i++)
            count += (uint64_t)__builtin_popcountll(starts[i]) << (step % (bits / 2) != 0);
    }
    return ldexp((double)count, -2 * (int)shift);
}

/* Lines tried for each load: about as many in all for every filter, and one where a load is seldom. */
struct lines {
    uint32_t shift;
    uint32_t probes;
    double mean;
    uint64_t state;
};

enum { TRIES = 48, SELDOM = 3, CROWDED = 6 };

static uint32_t tries_for(const struct lines *lines, uint64_t load)
{
    const double deviation = sqrt(lines->mean);
    if (fabs((double)load - lines->mean) > SELDOM * deviation)
        return 1;
    return (uint32_t)fmax(1, TRIES / fmax(1, deviation));
}

static double covered_with(void *context, uint64_t load)
{
    struct lines *lines = context;
    const uint32_t tries = tries_for(lines, load);
    double sum = 0;
    for (uint32_t i = 0; i < tries; i++) {
        uint8_t bytes[LINE_MOST / 8] = {0};
        for (uint64_t key = 0; key < load; key++) {
            uint32_t at = draw(&lines->state);
            const uint32_t step = draw(&lines->state);
            for (uint32_t probe = 0; probe < lines->probes; probe++, at += step)
                bloomery_bit_set(bytes, at & ((1u << lines->shift) - 1));
        }
        sum += load > 0 ? covered(bytes, lines->shift, lines->probes) : 0;
    }
    return sum / tries;
}

double bloomery_rotated_line_expected_rate(const struct bloomery_link *link, uint64_t keys)
{
    const double load = (double)keys / (double)link->blocks;
    const double each = ldexp(load * link->probes, -(int)line_shift(link));
    struct lines lines = {.shift = line_shift(link), .probes = link->probes, .mean = load};
    if (keys == 0)
        return 0;
    if (each > CROWDED)
        return bloomery_rate_of_32_bits(pow(-expm1(-each), link->probes), (double)keys);
    const double rate =
        bloomery_expect_load((double)keys, 1 / (double)link->blocks, covered_with, &lines);
    return bloomery_rate_of_32_bits(rate, (double)keys);
}

/* The cells that a walk of k steps touches: 2^t of them, or k if those are fewer, where the step has 2^t
 * multiples, as 2^(t-1) of B steps do. */
static double cells_of_a_walk(uint32_t shift, uint32_t probes)
{
    double sum = 1;
    for (uint32_t t = 1; t <= shift; t++)
        sum += ldexp(fmin(probes, ldexp(1, (int)t)), (int)t - 1);
    return ldexp(sum, -(int)shift);
}

double bloomery_rotated_line_estimate(const struct bloomery_link *link, uint64_t bits_set)
{
    if (bits_set >= link->bits)
        return INFINITY;
    const double hit = cells_of_a_walk(line_shift(link), link->probes) / (double)link->bits;
    return log1p(-(double)bits_set / (double)link->bits) / log1p(-hit);
}

enum { LINES_TRIED = 256 };

/* All walks in some lines, and the fill of all lines: the one corrects the other. */
void bloomery_rotated_line_scan(const struct bloomery_shape *shape,
                                const struct bloomery_link *link, const uint8_t *payload,
                                struct bloomery_scan *scan)
{
    const uint32_t shift = line_shift(link);
    const size_t bytes = (size_t)1 << (shift - 3);
    const uint64_t tried = link->blocks < LINES_TRIED ? link->blocks : LINES_TRIED;
    double fills = 0;
    double tried_fills = 0;
    double tried_covered = 0;
    uint64_t next = 0;
    (void)shape;
    *scan = (struct bloomery_scan){.bits_set = 0};
    for (uint64_t line = 0; line < link->blocks; line++) {
        const uint8_t *at = payload + line * bytes;
        const uint64_t set = bloomery_count_bits(at, bytes / 8);
        const double fill = pow(ldexp((double)set, -(int)shift), link->probes);
        scan->bits_set += set;
        fills += fill;
        if (next < tried && line == next * link->blocks / tried) {
            tried_fills += fill;
            tried_covered += covered(at, shift, link->probes);
            next++;
        }
    }
    const double rate = tried_fills > 0 ? fills / tried_fills * tried_covered : fills;
    scan->live_rate = bloomery_rate_of_32_bits(
        fmin(1, rate / (double)link->blocks), bloomery_rotated_line_estimate(link, scan->bits_set));
}
