/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a hash to positions. This is part of the file format: change a line and no old file answers.
 *
 *     G           = 0x9E3779B97F4A7C15
 *     mix64(x)    = the finaliser of splitmix64, a bijection of 64 bits
 *     fastrange(h, N) = floor(h N / 2^64), uniform in 0 .. N-1, decided by the high bits of h
 *
 * blocked   line 0 is fastrange(hi, N), line j is fastrange(mix64(hi + j G), N). Position words are
 *           w_0 = lo, w_t = mix64(lo + t G); a word gives seven positions of 9 bits, from its low
 *           end:
 *
 *               63 62      54 53     45 44     36 35     27 26     18 17      9 8       0
 *               ┌─┬─────────┬─────────┬─────────┬─────────┬─────────┬─────────┬─────────┐
 *               │-│    6    │    5    │    4    │    3    │    2    │    1    │    0    │
 *               └─┴─────────┴─────────┴─────────┴─────────┴─────────┴─────────┴─────────┘
 *
 *           drawn one after another, the first k for line 0, the next k for line 1. Positions come
 *           from lo and lines from hi, so they are independent; and positions do not know N, so
 *           that halving N folds lines 2i and 2i+1 together:
 *           floor(floor(h N / 2^64) / 2) = floor(h (N/2) / 2^64).
 *
 * classic   position i is fastrange(mix64(hi + i (lo | 1)), m): the splitmix64 generator, started
 *           at hi, with a step of its own per key. The step is odd, so no two words of a key are
 *           the same, and both halves of the hash decide: keys share all positions only if they
 *           share 127 bits.
 *
 * Repeated positions and coinciding lines stay as they fall; the rates of plan/ count on it.
 */
#ifndef BLOOMERY_CORE_DERIVE_H
#define BLOOMERY_CORE_DERIVE_H

#include <bloomery/bloomery.h>

#define BLOOMERY_GOLDEN UINT64_C(0x9E3779B97F4A7C15)

enum { BLOOMERY_POSITION_BITS = 9, BLOOMERY_POSITIONS_PER_WORD = 7 };

static inline uint64_t bloomery_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

static inline uint64_t bloomery_fastrange(uint64_t hash, uint64_t size)
{
    return (uint64_t)(((unsigned __int128)hash * size) >> 64);
}

/* The index of line `line` (0 to L-1) among `blocks`. */
static inline uint64_t bloomery_line_of(bloomery_hash hash, uint32_t line, uint64_t blocks)
{
    uint64_t high = line == 0 ? hash.hi : bloomery_mix64(hash.hi + line * BLOOMERY_GOLDEN);
    return bloomery_fastrange(high, blocks);
}

/* The positions of a blocked key, in order. */
struct bloomery_draw {
    uint64_t lo;
    uint64_t word;
    uint64_t next_step; /* (t + 1) G */
    uint32_t left;      /* positions left in the word */
};

static inline struct bloomery_draw bloomery_draw_start(bloomery_hash hash)
{
    return (struct bloomery_draw){hash.lo, hash.lo, BLOOMERY_GOLDEN, BLOOMERY_POSITIONS_PER_WORD};
}

static inline uint32_t bloomery_draw_next(struct bloomery_draw *draw)
{
    if (draw->left == 0) {
        draw->word = bloomery_mix64(draw->lo + draw->next_step);
        draw->next_step += BLOOMERY_GOLDEN;
        draw->left = BLOOMERY_POSITIONS_PER_WORD;
    }
    uint32_t position = (uint32_t)draw->word & ((1u << BLOOMERY_POSITION_BITS) - 1);
    draw->word >>= BLOOMERY_POSITION_BITS;
    draw->left--;
    return position;
}

/* Position `probe` (0 to k-1) of a classic key in `bits` bits. */
static inline uint64_t bloomery_classic_position(bloomery_hash hash, uint32_t probe, uint64_t bits)
{
    return bloomery_fastrange(bloomery_mix64(hash.hi + probe * (hash.lo | 1)), bits);
}

#endif
