/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of a blocked filter in AVX2: two registers.
 *
 * Asking. As with AVX-512 (line_avx512.h), with sixteen 32-bit lanes: a position needs 9 bits, so
 * seven of them fit the 32-bit lanes of one register, the even lanes from shifts of the word to the
 * right, the odd ones from shifts that leave a position in the upper half. Bits 5 to 7 choose a lane
 * in each half of the line, and bit 8 between the halves.
 *
 * Adding. As with AVX-512, with four 64-bit lanes in each half.
 */
#ifndef BLOOMERY_CORE_X86_LINE_AVX2_H
#define BLOOMERY_CORE_X86_LINE_AVX2_H

#include "core/derive.h"

#include <immintrin.h>
#include <stdbool.h>

#define TARGET_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define INLINE_AVX2 TARGET_AVX2 static inline __attribute__((always_inline))

/* Of the positions that `slots` picks, those that are not set in the line: 1 in their lanes. */
INLINE_AVX2 __m256i missed_avx2(const uint8_t *line, uint64_t word, uint32_t slots)
{
    /* Position t is in lane 0, 2, 4, 6 for t = 0 to 3 and in lane 1, 3, 5 for t = 4 to 6. */
    const __m256i even = _mm256_setr_epi64x(0, 9, 18, 27);
    const __m256i odd = _mm256_setr_epi64x(36 - 32, 45 - 32, 54 - 32, 63 - 32);
    const __m256i slot = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 31);
    const __m256i one = _mm256_set1_epi32(1);
    const __m256i words = _mm256_set1_epi64x((long long)word);
    const __m256i *halves = (const __m256i *)(const void *)line;
    __m256i positions =
        _mm256_blend_epi32(_mm256_srlv_epi64(words, even), _mm256_srlv_epi64(words, odd), 0xAA);
    __m256i lane = _mm256_srli_epi32(positions, 5);
    __m256i first = _mm256_permutevar8x32_epi32(_mm256_load_si256(halves), lane);
    __m256i second = _mm256_permutevar8x32_epi32(_mm256_load_si256(halves + 1), lane);
    /* blendv looks at the highest bit of a lane: bit 8 of the position. */
    __m256i lanes = _mm256_castps_si256(
        _mm256_blendv_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second),
                         _mm256_castsi256_ps(_mm256_slli_epi32(positions, 31 - 8))));
    __m256i asked = _mm256_and_si256(_mm256_srlv_epi32(_mm256_set1_epi32((int)slots), slot), one);
    __m256i bits = _mm256_srlv_epi32(lanes, _mm256_and_si256(positions, _mm256_set1_epi32(31)));
    return _mm256_andnot_si256(bits, asked);
}

INLINE_AVX2 bool hits_avx2(const uint8_t *line, uint64_t word, uint32_t slots)
{
    __m256i missed = missed_avx2(line, word, slots);
    return _mm256_testz_si256(missed, missed) != 0;
}

/* A line as two halves. */
struct line256 {
    __m256i half[2];
};

INLINE_AVX2 struct line256 zero_avx2(void)
{
    return (struct line256){{_mm256_setzero_si256(), _mm256_setzero_si256()}};
}

/* A position set too. */
INLINE_AVX2 struct line256 set_avx2(struct line256 line, const uint64_t *position)
{
    const __m256i lane_starts = _mm256_setr_epi64x(0, 64, 128, 192);
    const __m256i one = _mm256_set1_epi64x(1);
    __m256i counts = _mm256_sub_epi64(_mm256_set1_epi64x((long long)*position), lane_starts);
    line.half[0] = _mm256_or_si256(line.half[0], _mm256_sllv_epi64(one, counts));
    counts = _mm256_sub_epi64(counts, _mm256_set1_epi64x(256));
    line.half[1] = _mm256_or_si256(line.half[1], _mm256_sllv_epi64(one, counts));
    return line;
}

INLINE_AVX2 struct line256 mark_avx2(struct line256 line, uint64_t word, uint32_t first,
                                     uint32_t count)
{
    for (uint32_t slot = first; slot < first + count; slot++) {
        uint64_t position = word >> (slot * BLOOMERY_POSITION_BITS) & 511;
        line = set_avx2(line, &position);
    }
    return line;
}

INLINE_AVX2 bool merge_avx2(uint8_t *at, struct line256 line)
{
    __m256i *halves = (__m256i *)(void *)at;
    bool seen = true;
    for (int i = 0; i < 2; i++) {
        __m256i before = _mm256_load_si256(halves + i);
        _mm256_store_si256(halves + i, _mm256_or_si256(before, line.half[i]));
        seen &= _mm256_testc_si256(before, line.half[i]) != 0;
    }
    return !seen;
}

INLINE_AVX2 uint64_t fresh_avx2(const uint8_t *at, struct line256 line)
{
    const __m256i *halves = (const __m256i *)(const void *)at;
    uint64_t words[8] __attribute__((aligned(32)));
    uint64_t sum = 0;
    for (size_t i = 0; i < 2; i++)
        _mm256_store_si256((__m256i *)(void *)(words + 4 * i),
                           _mm256_andnot_si256(_mm256_load_si256(halves + i), line.half[i]));
    /* From memory: the compiler would rather take the register apart, lane by lane. */
    __asm__("" : "+m"(words));
    for (int i = 0; i < 8; i++)
        sum += (uint64_t)__builtin_popcountll(words[i]);
    return sum;
}

#endif
