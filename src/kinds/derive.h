/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a hash to positions: our own scheme. It is part of the file format: if a line of it changes,
 * no old file answers. The scheme is also in kernels/block.h (the bits of a word), block_*.h beside
 * it (the same for vector units) and kernels/avx512.c (block and word of eight
 * keys). include/bloomery/inline.h has queries compiled into the caller. The second reader,
 * tests/reference/format_reader.py, is written from docs/format.md.
 *
 *     C1 = 0xBF58476D1CE4E5B9   C2 = 0x94D049BB133111EB   G = 0x9E3779B97F4A7C15
 *     fold(a, b)      = low 64 bits of a b XOR high 64 bits of a b
 *     fastrange(x, N) = floor(x N / 2^64), uniform in 0 .. N-1, decided by the high bits of x
 *     mix64(x)        = the finaliser of splitmix64, a bijection of 64 bits
 *
 * blocked   A block is eight words of 64 bits. In each of its L blocks a key sets one bit in each
 *           of k words that follow one another, the first after the eighth. All of a block comes
 *           from one number x:
 *
 *               x_0 = hi,   x_j = fold(hi XOR j G, C2)         j = 1 .. L-1
 *               block j    = fastrange(x_j, N)
 *               w_j       = fold(x_j XOR lo, C1)
 *
 *               63      51 50 48 47    42 41    36        11     6 5      0
 *               ┌─────────┬─────┬────────┬────────┬─  ─  ─┬────────┬────────┐
 *            w  │    -    │  r  │ word 7 │ word 6 │       │ word 1 │ word 0 │
 *               └─────────┴─────┴────────┴────────┴─  ─  ─┴────────┴────────┘
 *
 *           r is the first of the k words, and the six bits of word c say which of its bits,
 *           whatever its turn is. With k = 3 and r = 6:
 *
 *               word     0        1     2     3     4     5     6        7
 *               bit   w & 63      -     -     -     -     -  w>>36&63  w>>42&63
 *
 *           So a vector unit shifts w by 0, 6, 12, .. 42, sets a bit in each word, and leaves the
 *           words out that are not of the k: no loop over the k bits. Positions do not know N, so
 *           halving N folds blocks 2i and 2i+1 together:
 *           floor(floor(x N / 2^64) / 2) = floor(x (N/2) / 2^64).
 *           The block takes the high bits of x, w mixes all of them: XXH3's 64 bits are enough, and
 *           lo is 0 with them.
 *
 * classic   position i is fastrange(mix64(hi + i s), m) with the step s = mix64(hi XOR lo) | 1: the
 *           splitmix64 generator, started at hi, with a step of its own per key. The step is odd,
 *           so no two words of a key are the same. It is mixed, so that with 64 bits of hash (lo is
 *           0) keys whose hi are neighbours do not walk one behind the other.
 *
 * Coinciding blocks, and repeated positions of a classic key, stay as they fall; the rates of plan/
 * count on it.
 */
#ifndef BLOOMERY_KINDS_DERIVE_H
#define BLOOMERY_KINDS_DERIVE_H

#include "base/bytes.h"

#include <assert.h>
#include <bloomery/bloomery.h>

#define BLOOMERY_GOLDEN UINT64_C(0x9E3779B97F4A7C15)
#define BLOOMERY_MIX_1  UINT64_C(0xBF58476D1CE4E5B9)
#define BLOOMERY_MIX_2  UINT64_C(0x94D049BB133111EB)

enum {
    BLOOMERY_BLOCK_WORDS = 8,
    BLOOMERY_WORD_BITS = 64,
    BLOOMERY_CHOICE_BITS = 6, /* of w for each word */
    BLOOMERY_FIRST_WORD_SHIFT = 48,
};

static inline uint64_t bloomery_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * BLOOMERY_MIX_1;
    x = (x ^ (x >> 27)) * BLOOMERY_MIX_2;
    return x ^ (x >> 31);
}

static inline uint64_t bloomery_mix_fold(uint64_t a, uint64_t b)
{
    return bloomery_multiply_fold(a, b);
}

static inline uint64_t bloomery_fastrange(uint64_t hash, uint64_t size)
{
    return bloomery_multiply_high(hash, size);
}

/* What a key does in one of its blocks. */
struct bloomery_place {
    uint64_t block; /* its number among all, 0 to N-1 */
    uint64_t word;  /* w: which bits of it */
};

/* x_j of block number `which` (0 to L-1) of a key. */
static inline uint64_t bloomery_block_hash(bloomery_hash hash, uint32_t which)
{
    return which == 0
               ? hash.hi
               : bloomery_mix_fold(hash.hi ^ which * BLOOMERY_GOLDEN, UINT64_C(0x94D049BB133111EB));
}

/* The place of block number `which` (0 to L-1) of a key: 0 to blocks-1. */
static inline uint64_t bloomery_block_of(bloomery_hash hash, uint32_t which, uint64_t blocks)
{
    assert(blocks > 0);
    return bloomery_fastrange(bloomery_block_hash(hash, which), blocks);
}

static inline struct bloomery_place bloomery_place_of(bloomery_hash hash, uint32_t which,
                                                      uint64_t blocks)
{
    const uint64_t x = bloomery_block_hash(hash, which);
    return (struct bloomery_place){bloomery_fastrange(x, blocks),
                                   bloomery_mix_fold(x ^ hash.lo, BLOOMERY_MIX_1)};
}

/* The first of the k words. */
static inline uint32_t bloomery_first_word(uint64_t w)
{
    return (uint32_t)(w >> BLOOMERY_FIRST_WORD_SHIFT) & (BLOOMERY_BLOCK_WORDS - 1);
}

/* Which bit of word `word` (0 to 7). */
static inline uint32_t bloomery_bit_in_word(uint64_t w, uint32_t word)
{
    assert(word < BLOOMERY_BLOCK_WORDS);
    return (uint32_t)(w >> (BLOOMERY_CHOICE_BITS * word)) & (BLOOMERY_WORD_BITS - 1);
}

/* The position in the block, 0 to 511, of bit number `probe` (0 to k-1). */
static inline uint32_t bloomery_block_position(uint64_t w, uint32_t probe)
{
    const uint32_t word = (bloomery_first_word(w) + probe) & (BLOOMERY_BLOCK_WORDS - 1);
    return BLOOMERY_WORD_BITS * word + bloomery_bit_in_word(w, word);
}

/* Position `probe` (0 to k-1) of a classic key in `bits` bits. */
static inline uint64_t bloomery_classic_position(bloomery_hash hash, uint32_t probe, uint64_t bits)
{
    const uint64_t step = bloomery_mix64(hash.hi ^ hash.lo) | 1;
    assert(bits > 0);
    return bloomery_fastrange(bloomery_mix64(hash.hi + probe * step), bits);
}

#endif /* BLOOMERY_KINDS_DERIVE_H */
