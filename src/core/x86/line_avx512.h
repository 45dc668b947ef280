/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of a blocked filter in AVX-512: one register of eight 64-bit lanes.
 *
 * Asking. A word of seven positions is spread over the lanes by two variable shifts. Bits 6 to 8 of
 * a position choose the lane of the line that holds its bit (a permutation), bits 0 to 5 the bit in
 * it (a rotation, which ignores what stands above):
 *
 *     lanes      0        1        2       ...      word >> 0, 9, 18, ... 54
 *     line[p0>>6]  line[p1>>6]  line[p2>>6] ...      vpermq
 *     bit p0&63    bit p1&63    bit p2&63   ...      vprorvq, then one test of all lowest bits
 *
 * Adding. The k bits are collected in a register and go to memory as one OR of the whole line.
 * (Setting them one after another in memory takes longer: two of six bits nearly always fall into
 * one word, and the second load then waits for the first store.) A shift by 64 or more, or by a
 * "negative" count, leaves nothing, so a bit finds its lane by itself: lane i shifts 1 by p - 64 i.
 *
 *     p = 200:   1 << 200    1 << 136    1 << 72    1 << 8    1 << -56 ...
 *                   0           0           0       bit 200      0
 */
#ifndef BLOOMERY_CORE_X86_LINE_AVX512_H
#define BLOOMERY_CORE_X86_LINE_AVX512_H

#include "core/derive.h"

#include <immintrin.h>
#include <stdbool.h>

#define TARGET_AVX512 \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt")))
#define INLINE_AVX512 TARGET_AVX512 static inline __attribute__((always_inline))

/* Which of the positions that `slots` picks are not set in the line: bit t for the t-th. */
INLINE_AVX512 __mmask8 misses_avx512(const uint8_t *line, uint64_t word, uint32_t slots)
{
    const __m512i low = _mm512_setr_epi64(0, 9, 18, 27, 36, 45, 54, 63);
    const __m512i high = _mm512_setr_epi64(6, 15, 24, 33, 42, 51, 60, 63);
    const __m512i words = _mm512_set1_epi64((long long)word);
    __m512i lanes = _mm512_permutexvar_epi64(_mm512_srlv_epi64(words, high),
                                             _mm512_load_si512((const void *)line));
    __m512i bits = _mm512_rorv_epi64(lanes, _mm512_srlv_epi64(words, low));
    return _mm512_mask_testn_epi64_mask((__mmask8)slots, bits, _mm512_set1_epi64(1));
}

INLINE_AVX512 bool hits_avx512(const uint8_t *line, uint64_t word, uint32_t slots)
{
    return misses_avx512(line, word, slots) == 0;
}

/* A position set too. */
INLINE_AVX512 __m512i set_avx512(__m512i line, const uint64_t *position)
{
    const __m512i lane_starts = _mm512_setr_epi64(0, 64, 128, 192, 256, 320, 384, 448);
    __m512i counts = _mm512_sub_epi64(_mm512_set1_epi64((long long)*position), lane_starts);
    return _mm512_or_si512(line, _mm512_sllv_epi64(_mm512_set1_epi64(1), counts));
}

INLINE_AVX512 __m512i mark_avx512(__m512i line, uint64_t word, uint32_t first, uint32_t count)
{
    const __m512i low = _mm512_setr_epi64(0, 9, 18, 27, 36, 45, 54, 63);
    const __m512i words = _mm512_set1_epi64((long long)word);
    uint64_t positions[8] __attribute__((aligned(64)));
    _mm512_store_si512(positions,
                       _mm512_and_si512(_mm512_srlv_epi64(words, low), _mm512_set1_epi64(511)));
    /* From memory a position comes broadcast to all lanes for nothing; the compiler would rather
     * shuffle the register, with the unit that the shifts need. */
    __asm__("" : "+m"(positions));
    for (uint32_t slot = first; slot < first + count; slot++)
        line = set_avx512(line, positions + slot);
    return line;
}

INLINE_AVX512 bool merge_avx512(uint8_t *at, __m512i line)
{
    __m512i before = _mm512_load_si512(at);
    _mm512_store_si512(at, _mm512_or_si512(before, line));
    return _mm512_test_epi64_mask(_mm512_andnot_si512(before, line), line) != 0;
}

INLINE_AVX512 uint64_t fresh_avx512(const uint8_t *at, __m512i line)
{
    uint64_t words[8] __attribute__((aligned(64)));
    uint64_t sum = 0;
    _mm512_store_si512(words, _mm512_andnot_si512(_mm512_load_si512(at), line));
    /* From memory: the compiler would rather take the register apart, lane by lane. */
    __asm__("" : "+m"(words));
    for (int i = 0; i < 8; i++)
        sum += (uint64_t)__builtin_popcountll(words[i]);
    return sum;
}

#endif
