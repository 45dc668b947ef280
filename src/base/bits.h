/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single bits, of payloads and of words.
 *
 * Of a payload bit i is bit i & 7 of byte i >> 3, on every host. Bytes, not words, so that the
 * scalar code is right at any alignment and byte order; a byte costs no more than a word.
 *
 * Of words, which hold answers and marks and stay in memory, it is bit i & 63 of word i >> 6.
 */
#ifndef BLOOMERY_BASE_BITS_H
#define BLOOMERY_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- Words ---------------------------------------------------------------------------------- */

/* Returns how many words hold this number of bits. */
static inline uint64_t bloomery_words_of(uint64_t bits)
{
    return bits / 64 + (bits % 64 != 0);
}

static inline bool bloomery_word_bit(const uint64_t *words, size_t i)
{
    return (words[i / 64] >> i % 64 & 1) != 0;
}

static inline void bloomery_word_bit_set(uint64_t *words, size_t i)
{
    words[i / 64] |= UINT64_C(1) << i % 64;
}

/* The lowest bit of a word becomes its highest one, and so on. */
static inline uint64_t bloomery_reverse_bits(uint64_t word)
{
    word = (word >> 1 & UINT64_C(0x5555555555555555)) | (word & UINT64_C(0x5555555555555555)) << 1;
    word = (word >> 2 & UINT64_C(0x3333333333333333)) | (word & UINT64_C(0x3333333333333333)) << 2;
    word = (word >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (word & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
    return __builtin_bswap64(word);
}

/* ---- Payloads ------------------------------------------------------------------------------- */

static inline bool bloomery_bit_test(const uint8_t *bytes, uint64_t bit)
{
    return bytes[bit >> 3] >> (bit & 7) & 1;
}

/* Sets a bit; returns 1 if it was not set before. */
typedef uint32_t bloomery_bit_setter(uint8_t *bytes, uint64_t bit);

static inline uint32_t bloomery_bit_set(uint8_t *bytes, uint64_t bit)
{
    uint8_t mask = (uint8_t)(1u << (bit & 7));
    uint8_t before = bytes[bit >> 3];
    bytes[bit >> 3] = before | mask;
    return (before & mask) == 0;
}

/* The same while other threads set and test bits. Reading first keeps the cache line shared if the
 * bit is set already, and an atomic OR costs several times a plain one. If threads set a bit at
 * once, it returns 1 in exactly one of them. Relaxed order suffices: bits only ever appear, and
 * publish nothing but themselves. */
static inline uint32_t bloomery_bit_set_atomic(uint8_t *bytes, uint64_t bit)
{
    uint8_t mask = (uint8_t)(1u << (bit & 7));
    uint8_t *byte = bytes + (bit >> 3);
    if (__atomic_load_n(byte, __ATOMIC_RELAXED) & mask)
        return 0;
    return (__atomic_fetch_or(byte, mask, __ATOMIC_RELAXED) & mask) == 0;
}

static inline bool bloomery_bit_test_atomic(const uint8_t *bytes, uint64_t bit)
{
    return __atomic_load_n(bytes + (bit >> 3), __ATOMIC_RELAXED) >> (bit & 7) & 1;
}

/* One bit, the lowest, of each cell of a word that is not 0. Cells have 1, 4 or 8 bits. */
static inline uint64_t bloomery_used_cells(uint64_t word, uint32_t cell_bits)
{
    for (uint32_t half = cell_bits / 2; half > 0; half /= 2)
        word |= word >> half;
    return cell_bits == 1   ? word
           : cell_bits == 4 ? word & UINT64_C(0x1111111111111111)
                            : word & UINT64_C(0x0101010101010101);
}

/* Set bits of `words` 64-bit words; their byte order does not matter. */
static inline uint64_t bloomery_count_bits(const uint8_t *bytes, size_t words)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, bytes + 8 * i, sizeof word);
        sum += (uint64_t)__builtin_popcountll(word);
    }
    return sum;
}

/* The same for many. */
uint64_t bloomery_count_payload(const uint8_t *bytes, size_t words);

#endif
