/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reproducible disorder: a generator of random numbers and random permutations, both functions of
 * a seed alone, the same on every machine and in every locale. Nothing here is secret; keys of
 * filters come from elsewhere.
 *
 * A permutation of the numbers below a power of two puts things in an order that looks shuffled
 * without holding them in memory. It is a Feistel network, whose two halves are hashed into each
 * other in turn. For a range that is not a power of two, permute the next larger one and skip what
 * falls outside: at most every second number does.
 */
#ifndef BLOOMERY_TOOL_RANDOM_H
#define BLOOMERY_TOOL_RANDOM_H

#include <assert.h>
#include <stdint.h>

/* The finaliser of splitmix64, a bijection of the 64-bit integers. */
static inline uint64_t tool_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* 2^64 over the golden ratio, odd: the step of splitmix64. */
#define TOOL_GOLDEN UINT64_C(0x9E3779B97F4A7C15)

struct tool_random {
    uint64_t state;
};

/* Streams of one seed for different uses (`stream`, any number) have nothing in common. */
static inline struct tool_random tool_random_make(uint64_t seed, uint64_t stream)
{
    struct tool_random random = {tool_mix64(tool_mix64(seed + TOOL_GOLDEN) + stream)};
    return random;
}

static inline uint64_t tool_random_next(struct tool_random *random)
{
    random->state += TOOL_GOLDEN;
    return tool_mix64(random->state);
}

/* The value of `word`, taken as a fraction of 2^64, in 0 .. bound-1. Uneven by bound / 2^64. */
static inline uint64_t tool_scale(uint64_t word, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)word * bound) >> 64);
}

enum { TOOL_PERMUTATION_ROUNDS = 6 };

struct tool_permutation {
    unsigned low_bits;
    unsigned high_bits;
    uint64_t keys[TOOL_PERMUTATION_ROUNDS];
};

/* Of the numbers below 2^bits; bits: 2 to 64. */
static inline struct tool_permutation tool_permutation_make(unsigned bits, uint64_t seed,
                                                            uint64_t stream)
{
    assert(bits >= 2 && bits <= 64);
    struct tool_permutation permutation = {.low_bits = (bits + 1) / 2, .high_bits = bits / 2};
    struct tool_random random = tool_random_make(seed, stream);
    for (int round = 0; round < TOOL_PERMUTATION_ROUNDS; round++)
        permutation.keys[round] = tool_random_next(&random);
    return permutation;
}

/* The upper `bits` of a word that depends on all of `half`. */
static inline uint64_t tool_permutation_round(uint64_t half, uint64_t key, unsigned bits)
{
    uint64_t word = (half ^ key) * 0xD6E8FEB86659FD93u;
    word = (word ^ (word >> 32)) * 0xA0761D6478BD642Fu;
    return word >> (64 - bits);
}

static inline uint64_t tool_permutation_at(const struct tool_permutation *permutation,
                                           uint64_t number)
{
    const unsigned low_bits = permutation->low_bits;
    const unsigned high_bits = permutation->high_bits;
    uint64_t low = number & (((uint64_t)1 << low_bits) - 1);
    uint64_t high = number >> low_bits;
    assert(high >> high_bits == 0);
    for (int round = 0; round < TOOL_PERMUTATION_ROUNDS; round += 2) {
        high ^= tool_permutation_round(low, permutation->keys[round], high_bits);
        low ^= tool_permutation_round(high, permutation->keys[round + 1], low_bits);
    }
    return high << low_bits | low;
}

#endif /* BLOOMERY_TOOL_RANDOM_H */
