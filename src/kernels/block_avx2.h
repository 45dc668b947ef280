/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block in AVX2: two registers of four 64-bit lanes (kernels/block.h says what the functions do).
 *
 *     lanes          0         1         2         3
 *     block         word 0    word 1    word 2    word 3    and words 4 to 7 in the other one
 *     w >>           0         6        12        18        24, 30, 36, 42
 *     choice        the six lowest bits of each
 *     block <<      63 - choice: the bit that w names becomes the sign of its lane
 *     signs         the two registers, combined by AND: vmovmskpd takes the four signs out
 *
 * 63 - choice is one instruction, an AND of the bits that are not set. So a test needs no bits of
 * its own to compare with. To set bits they are made: a 1 in each lane, shifted by its choice.
 */
#ifndef BLOOMERY_KERNELS_BLOCK_AVX2_H
#define BLOOMERY_KERNELS_BLOCK_AVX2_H

#include "kernels/block.h"

#include <immintrin.h>
#include <string.h>

#define TARGET_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt"))) BLOOMERY_RACES_MEANT
#define INLINE_AVX2 TARGET_AVX2 static inline __attribute__((always_inline))

/* A block as two halves. */
struct block_avx2 {
    __m256i half[2];
};

/* w, shifted so that the six lowest bits of each lane are the choice for its word. */
INLINE_AVX2 struct block_avx2 choices_avx2(uint64_t w)
{
    const __m256i all = _mm256_set1_epi64x((long long)w);
    return (struct block_avx2){{_mm256_srlv_epi64(all, _mm256_setr_epi64x(0, 6, 12, 18)),
                                _mm256_srlv_epi64(all, _mm256_setr_epi64x(24, 30, 36, 42))}};
}

INLINE_AVX2 struct block_avx2 window_avx2(uint64_t w, uint32_t probes)
{
    const __m256i *row = (const __m256i *)(const void *)bloomery_window(w, probes);
    return (struct block_avx2){{_mm256_load_si256(row), _mm256_load_si256(row + 1)}};
}

INLINE_AVX2 struct block_avx2 bits_avx2(uint64_t w, uint32_t probes)
{
    const __m256i one = _mm256_set1_epi64x(1);
    const __m256i lowest = _mm256_set1_epi64x(BLOOMERY_WORD_BITS - 1);
    struct block_avx2 bits = choices_avx2(w);
    for (int i = 0; i < 2; i++)
        bits.half[i] = _mm256_sllv_epi64(one, _mm256_and_si256(bits.half[i], lowest));
    if (probes == BLOOMERY_BLOCK_PROBES)
        return bits;
    const struct block_avx2 window = window_avx2(w, probes);
    for (int i = 0; i < 2; i++)
        bits.half[i] = _mm256_and_si256(bits.half[i], window.half[i]);
    return bits;
}

INLINE_AVX2 struct block_avx2 read_avx2(const uint8_t *block)
{
    const volatile __m256i *halves = (const volatile __m256i *)(const void *)block;
    return (struct block_avx2){{halves[0], halves[1]}};
}

/* The signs of four lanes, each for two words: of all words, that both have their bit; of fewer,
 * that one of them is in the window and lacks it. */
INLINE_AVX2 uint32_t signs_avx2(const uint8_t *block, uint64_t w, uint32_t probes)
{
    const __m256i lowest = _mm256_set1_epi64x(BLOOMERY_WORD_BITS - 1);
    const struct block_avx2 choices = choices_avx2(w);
    struct block_avx2 signs = read_avx2(block);
    __m256i all;
    for (int i = 0; i < 2; i++)
        signs.half[i] =
            _mm256_sllv_epi64(signs.half[i], _mm256_andnot_si256(choices.half[i], lowest));
    if (probes == BLOOMERY_BLOCK_PROBES) {
        all = _mm256_and_si256(signs.half[0], signs.half[1]);
    } else {
        const struct block_avx2 window = window_avx2(w, probes);
        all = _mm256_or_si256(_mm256_andnot_si256(signs.half[0], window.half[0]),
                              _mm256_andnot_si256(signs.half[1], window.half[1]));
    }
    return (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(all));
}

enum { ALL_SIGNS_AVX2 = 15 };

INLINE_AVX2 bool hits_avx2(const uint8_t *block, uint64_t w, uint32_t probes)
{
    return signs_avx2(block, w, probes) == (probes == BLOOMERY_BLOCK_PROBES ? ALL_SIGNS_AVX2 : 0);
}

/* A comparison leaves signs < 15 in the carry. Compilers turn it into signs <= 14, which is not
 * there. */
INLINE_AVX2 uint64_t append_avx2(uint64_t missed, const uint8_t *block, uint64_t w, uint32_t probes)
{
    const uint32_t signs = signs_avx2(block, w, probes);
    if (probes != BLOOMERY_BLOCK_PROBES)
        return bloomery_append_any(missed, signs);
    __asm__("cmpl %2, %1\n\tadcq %0, %0" : "+r"(missed) : "r"(signs), "i"(ALL_SIGNS_AVX2) : "cc");
    return missed;
}

/* Marks of the words in which the block lacks a bit, four bits each, as vpmovmskb takes them from
 * 32 bytes: words 0, 1, 4, 5, 2, 3, 6, 7, the order in which vpackssdw leaves two registers. */
INLINE_AVX2 uint32_t fresh_avx2(struct block_avx2 now, struct block_avx2 bits)
{
    const __m256i none = _mm256_setzero_si256();
    const __m256i low = _mm256_cmpeq_epi64(_mm256_andnot_si256(now.half[0], bits.half[0]), none);
    const __m256i high = _mm256_cmpeq_epi64(_mm256_andnot_si256(now.half[1], bits.half[1]), none);
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_packs_epi32(low, high));
}

INLINE_AVX2 uint32_t count_avx2(uint32_t marks)
{
    return (uint32_t)__builtin_popcount(marks) / 4;
}

INLINE_AVX2 uint32_t set_avx2(uint8_t *block, uint64_t w, uint32_t probes)
{
    const struct block_avx2 bits = bits_avx2(w, probes);
    struct block_avx2 now;
    for (int i = 0; i < 2; i++) {
        __m256i *half = (__m256i *)(void *)block + i;
        now.half[i] = _mm256_load_si256(half);
        _mm256_store_si256(half, _mm256_or_si256(now.half[i], bits.half[i]));
    }
    return fresh_avx2(now, bits);
}

/* Without marks, which take half as many instructions again. */
INLINE_AVX2 bool set_any_avx2(uint8_t *block, uint64_t w, uint32_t probes)
{
    const struct block_avx2 bits = bits_avx2(w, probes);
    struct block_avx2 missing;
    for (int i = 0; i < 2; i++) {
        __m256i *half = (__m256i *)(void *)block + i;
        const __m256i now = _mm256_load_si256(half);
        missing.half[i] = _mm256_andnot_si256(now, bits.half[i]);
        _mm256_store_si256(half, _mm256_or_si256(now, bits.half[i]));
    }
    const __m256i either = _mm256_or_si256(missing.half[0], missing.half[1]);
    return _mm256_testz_si256(either, either) == 0;
}

/* Counts words that lacked no bit, in four lanes: a comparison leaves -1 in each. */
typedef __m256i tally_avx2;

INLINE_AVX2 tally_avx2 set_tallied_avx2(uint8_t *block, uint64_t w, uint32_t probes,
                                        tally_avx2 tally)
{
    const struct block_avx2 bits = bits_avx2(w, probes);
    for (int i = 0; i < 2; i++) {
        __m256i *half = (__m256i *)(void *)block + i;
        const __m256i now = _mm256_load_si256(half);
        const __m256i missing = _mm256_andnot_si256(now, bits.half[i]);
        _mm256_store_si256(half, _mm256_or_si256(now, bits.half[i]));
        tally = _mm256_sub_epi64(tally, _mm256_cmpeq_epi64(missing, _mm256_setzero_si256()));
    }
    return tally;
}

INLINE_AVX2 uint64_t tally_sum_avx2(tally_avx2 tally)
{
    uint64_t lanes[4];
    memcpy(lanes, &tally, sizeof lanes);
    return lanes[0] + lanes[1] + lanes[2] + lanes[3];
}

INLINE_AVX2 uint32_t set_shared_avx2(uint8_t *block, uint64_t w, uint32_t probes)
{
    const struct block_avx2 bits = bits_avx2(w, probes);
    uint64_t each[BLOOMERY_BLOCK_WORDS] __attribute__((aligned(32)));
    uint32_t fresh = 0;
    if (fresh_avx2(read_avx2(block), bits) == 0)
        return 0;
    for (int i = 0; i < 2; i++)
        _mm256_store_si256((__m256i *)(void *)each + i, bits.half[i]);
    for (uint32_t word = 0; word < BLOOMERY_BLOCK_WORDS; word++) {
        uint64_t *at = (uint64_t *)(void *)block + word;
        if ((each[word] & ~__atomic_load_n(at, __ATOMIC_RELAXED)) != 0)
            fresh += bloomery_or_shared(at, each[word]);
    }
    return fresh;
}

#endif /* BLOOMERY_KERNELS_BLOCK_AVX2_H */
