/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block and a key, in plain C: what a key sets in a block (kinds/derive.h). Files of the same
 * form do this for each vector unit (block_avx2.h, block_avx512.h, block_neon.h). Each defines, for
 * its unit:
 *
 *     hits(at, w, k)         whether the k bits of w are set in the block at `at`
 *     append(x, at, w, k)    2 x, plus 1 if one of them is not: answers of several keys in a row
 *     set(at, w, k)          sets them; 0 if all were set, else marks of the words in which one was
 *                            not, in any form
 *     count(marks)           how many words are marked
 *     set_shared(at, w, k)   the same while other threads set and test bits; how many were not set
 *
 * All eight words are treated alike, and those that are not among the k are left out by a mask. It
 * has all ones in k words from the first on, and no ones in the others. Masks come from a table of
 * eight rows for each k, a cache line each:
 *
 *     k = 3, r = 0     1 1 1 0 0 0 0 0
 *            ...
 *            r = 6     1 0 0 0 0 0 1 1            words 6, 7 and 0
 *
 * Reading while others write: a block is read by volatile loads, of which the compiler may assume
 * nothing. No processor of today tears an aligned 64-bit word. Bits only ever appear and publish
 * nothing but themselves. So any mixture of old and new words is an answer that was true at some
 * time during the call. Writing: one atomic OR for each word that changes. A race detector cannot
 * know that this is meant, hence BLOOMERY_RACES_MEANT on whatever reads or writes so.
 */
#ifndef BLOOMERY_KERNELS_BLOCK_H
#define BLOOMERY_KERNELS_BLOCK_H

#include "base/bytes.h"
#include "kinds/blocked.h"

#include <assert.h>
#include <stdbool.h>

#define BLOOMERY_RACES_MEANT __attribute__((no_sanitize("thread")))

enum { BLOOMERY_BLOCK_PROBES = BLOOMERY_BLOCK_PROBES_MAX };

/* The mask of a key, eight words. A row has 64 bytes: its place among the rows of k is the number
 * of the first word, shifted down by six bits less than to where it would be that number. */
static inline const uint64_t *bloomery_window(uint64_t w, uint32_t probes)
{
    enum { ROW_SHIFT = 6, ROWS = (BLOOMERY_BLOCK_WORDS - 1) << ROW_SHIFT };
    const uint8_t *rows = (const uint8_t *)(const void *)bloomery_window_words[probes];
    const uint64_t *row =
        (const uint64_t *)(const void *)(rows +
                                         (w >> (BLOOMERY_FIRST_WORD_SHIFT - ROW_SHIFT) & ROWS));
    assert(row == bloomery_window_words[probes][bloomery_first_word(w)]);
    return row;
}

/* ORs bits into a word that others may be writing to. Returns 1 if one of them was not set, in
 * exactly one of the threads that set it. */
static inline uint32_t bloomery_or_shared(uint64_t *word, uint64_t bits)
{
    return (__atomic_fetch_or(word, bits, __ATOMIC_RELAXED) & bits) != bits;
}

/* Answers of keys one after another: those before are doubled, and 1 is added if a is not 0. By the
 * carry that is two instructions, where compilers take four. */
static inline __attribute__((always_inline)) uint64_t bloomery_append_any(uint64_t answers,
                                                                          uint32_t a)
{
#if defined(__x86_64__)
    __asm__("negl %1\n\tadcq %0, %0" : "+r"(answers), "+r"(a) : : "cc");
    return answers;
#else
    return answers + answers + (a != 0);
#endif
}

#define INLINE static inline __attribute__((always_inline)) BLOOMERY_RACES_MEANT

/* A word as a number of this host, and back: words are little-endian in memory. */
INLINE uint64_t word_scalar(uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(word);
#else
    return word;
#endif
}

/* w turned so that the choice of the first of the k words is lowest, and the next ones follow. */
INLINE uint64_t turned_scalar(uint64_t w, uint32_t first)
{
    const uint32_t shift = first * BLOOMERY_CHOICE_BITS;
    assert(first < BLOOMERY_BLOCK_WORDS);
    const uint64_t choices = w & (((uint64_t)1 << BLOOMERY_FIRST_WORD_SHIFT) - 1);
    return choices >> shift | choices << (BLOOMERY_FIRST_WORD_SHIFT - shift);
}

/* Without a branch for each bit: no predictor can tell which is the first that is not set. */
INLINE bool hits_scalar(const uint8_t *block, uint64_t w, uint32_t probes)
{
    const volatile uint64_t *words = (const volatile uint64_t *)(const void *)block;
    const uint32_t first = probes == BLOOMERY_BLOCK_PROBES ? 0 : bloomery_first_word(w);
    uint64_t choices = turned_scalar(w, first);
    uint64_t all = 1;
    for (uint32_t i = 0; i < probes; i++, choices >>= BLOOMERY_CHOICE_BITS)
        all &=
            word_scalar(words[(first + i) % BLOOMERY_BLOCK_WORDS]) >> choices % BLOOMERY_WORD_BITS;
    return all != 0;
}

INLINE uint64_t append_scalar(uint64_t missed, const uint8_t *block, uint64_t w, uint32_t probes)
{
    return bloomery_append_any(missed, !hits_scalar(block, w, probes));
}

INLINE uint32_t set_scalar(uint8_t *block, uint64_t w, uint32_t probes)
{
    uint64_t *words = (uint64_t *)(void *)block;
    const uint32_t first = probes == BLOOMERY_BLOCK_PROBES ? 0 : bloomery_first_word(w);
    uint64_t choices = turned_scalar(w, first);
    uint64_t seen = 0;
    for (uint32_t i = 0; i < probes; i++, choices >>= BLOOMERY_CHOICE_BITS) {
        uint64_t *word = words + (first + i) % BLOOMERY_BLOCK_WORDS;
        const uint64_t before = word_scalar(*word);
        seen += before >> choices % BLOOMERY_WORD_BITS & 1;
        *word = word_scalar(before | (uint64_t)1 << choices % BLOOMERY_WORD_BITS);
    }
    assert(seen <= probes);
    return probes - (uint32_t)seen;
}

/* Reading first keeps the cache line shared if the bits are set already, and an atomic OR costs
 * several times a plain one. */
INLINE uint32_t set_shared_scalar(uint8_t *block, uint64_t w, uint32_t probes)
{
    uint64_t *words = (uint64_t *)(void *)block;
    const uint32_t first = bloomery_first_word(w);
    uint32_t fresh = 0;
    for (uint32_t i = 0; i < probes; i++) {
        uint64_t *word = words + (first + i) % BLOOMERY_BLOCK_WORDS;
        const uint64_t bit =
            word_scalar((uint64_t)1 << bloomery_bit_in_word(w, (first + i) % BLOOMERY_BLOCK_WORDS));
        if ((__atomic_load_n(word, __ATOMIC_RELAXED) & bit) == 0)
            fresh += bloomery_or_shared(word, bit);
    }
    assert(fresh <= probes && hits_scalar(block, w, probes));
    return fresh;
}

INLINE uint32_t count_scalar(uint32_t marks)
{
    return marks;
}

#undef INLINE

#endif /* BLOOMERY_KERNELS_BLOCK_H */
