/* SPDX-License-Identifier: Apache-2.0 */
/* Words of answers, a bit a record: bit i & 63 of word i >> 6. */
#ifndef BLOOMERY_TOOL_BITS_H
#define BLOOMERY_TOOL_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline size_t tool_words_of(size_t bits)
{
    return bits / 64 + (bits % 64 != 0);
}

static inline bool tool_bit(const uint64_t *words, size_t i)
{
    return (words[i / 64] >> i % 64 & 1) != 0;
}

static inline void tool_bit_set(uint64_t *words, size_t i)
{
    words[i / 64] |= UINT64_C(1) << i % 64;
}

/* Returns a mask of the bits in use of the last word of `bits` bits, at least 1. */
static inline uint64_t tool_last_bits(size_t bits)
{
    return bits % 64 == 0 ? UINT64_MAX : (UINT64_C(1) << bits % 64) - 1;
}

/* Counts the ones in the words of `bits` bits, those after the last bit included. */
static inline uint64_t tool_ones_in(const uint64_t *words, size_t bits)
{
    uint64_t ones = 0;
    for (size_t w = 0; w < tool_words_of(bits); w++)
        ones += (uint64_t)__builtin_popcountll(words[w]);
    return ones;
}

/* Returns the first bit from `from` on that is `value`, or `count`. */
static inline size_t tool_next_bit(const uint64_t *words, size_t from, size_t count, bool value)
{
    while (from < count) {
        uint64_t word = (value ? words[from / 64] : ~words[from / 64]) >> from % 64;
        if (word != 0) {
            from += (size_t)__builtin_ctzll(word);
            break;
        }
        from += 64 - from % 64;
    }
    return from < count ? from : count;
}

#endif /* BLOOMERY_TOOL_BITS_H */
