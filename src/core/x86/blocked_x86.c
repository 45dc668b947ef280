/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of the blocked filter for x86-64: the answers of core/blocked.c, bit for bit.
 *
 * Asking, AVX-512. A line is one register of eight 64-bit lanes, and a word of seven positions is
 * spread over the lanes by two variable shifts. Bits 6 to 8 of a position choose the lane of the
 * line that holds its bit (a permutation), bits 0 to 5 the bit in it (a rotation, which ignores
 * what stands above):
 *
 *     lanes      0        1        2       ...      word >> 0, 9, 18, ... 54
 *     line[p0>>6]  line[p1>>6]  line[p2>>6] ...      vpermq
 *     bit p0&63    bit p1&63    bit p2&63   ...      vprorvq, then one test of all lowest bits
 *
 * Asking, AVX2. The same with sixteen 32-bit lanes in two registers: a position needs 9 bits, so
 * seven of them fit the 32-bit lanes of one register, the even lanes from shifts of the word to the
 * right, the odd ones from shifts that leave a position in the upper half. Bit 8 chooses between
 * the two halves of the line.
 *
 * Adding. The k bits are collected in registers and go to memory as one OR of the whole line.
 * (Setting them one after another in memory takes longer: two of six bits nearly always fall into
 * one word, and the second load then waits for the first store.) A bit is its 64-bit lane's
 * bit in all lanes, cut down by a mask of that lane from a small table.
 */
#if defined(__x86_64__)

#include "core/blocked.h"
#include "core/derive.h"
#include "plan/blocked_rate.h"

#include <immintrin.h>

#define TARGET_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define TARGET_AVX512 \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt")))

TARGET_AVX512 static inline __attribute__((always_inline)) bool
hits_avx512(const uint8_t *line, uint64_t word, uint32_t slots)
{
    const __m512i low = _mm512_setr_epi64(0, 9, 18, 27, 36, 45, 54, 63);
    const __m512i high = _mm512_setr_epi64(6, 15, 24, 33, 42, 51, 60, 63);
    const __m512i words = _mm512_set1_epi64((long long)word);
    __m512i lanes = _mm512_permutexvar_epi64(_mm512_srlv_epi64(words, high),
                                             _mm512_load_si512((const void *)line));
    __m512i bits = _mm512_rorv_epi64(lanes, _mm512_srlv_epi64(words, low));
    return _mm512_mask_testn_epi64_mask((__mmask8)slots, bits, _mm512_set1_epi64(1)) == 0;
}

TARGET_AVX2 static inline __attribute__((always_inline)) bool
hits_avx2(const uint8_t *line, uint64_t word, uint32_t slots)
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
    __m256i bits = _mm256_sllv_epi32(asked, _mm256_and_si256(positions, _mm256_set1_epi32(31)));
    return _mm256_testc_si256(lanes, bits) != 0;
}

/* Lane i of the line, all its bits. */
static const uint64_t only_lane[8][8] __attribute__((aligned(64))) = {
#define LANE(i)          \
    {                    \
        [i] = UINT64_MAX \
    }
    LANE(0), LANE(1), LANE(2), LANE(3), LANE(4),
    LANE(5), LANE(6), LANE(7)
#undef LANE
};

/* The lane of slot t's bit. */
static inline const uint64_t *lane_of(uint64_t word, uint32_t slot)
{
    return only_lane[word >> (slot * BLOOMERY_POSITION_BITS + 6) & 7];
}

TARGET_AVX512 static inline __attribute__((always_inline)) __m512i
mark_avx512(__m512i line, uint64_t word, uint32_t first, uint32_t count)
{
    const __m512i low = _mm512_setr_epi64(0, 9, 18, 27, 36, 45, 54, 63);
    uint64_t bits[8] __attribute__((aligned(64)));
    /* All seven bits at once, each within its lane; through memory they come back broadcast. */
    _mm512_store_si512(
        bits, _mm512_rolv_epi64(_mm512_set1_epi64(1),
                                _mm512_srlv_epi64(_mm512_set1_epi64((long long)word), low)));
    for (uint32_t slot = first; slot < first + count; slot++) {
        __m512i lane = _mm512_load_si512(lane_of(word, slot));
        __m512i bit = _mm512_set1_epi64((long long)bits[slot]);
        line = _mm512_ternarylogic_epi64(line, lane, bit, 0xF8); /* line | (lane & bit) */
    }
    return line;
}

TARGET_AVX512 static inline __attribute__((always_inline)) bool merge_avx512(uint8_t *at,
                                                                             __m512i line)
{
    __m512i before = _mm512_load_si512(at);
    _mm512_store_si512(at, _mm512_or_si512(before, line));
    return _mm512_test_epi64_mask(_mm512_andnot_si512(before, line), line) != 0;
}

TARGET_AVX512 static inline __attribute__((always_inline)) uint64_t fresh_avx512(const uint8_t *at,
                                                                                 __m512i line)
{
    uint64_t words[8] __attribute__((aligned(64)));
    uint64_t sum = 0;
    _mm512_store_si512(words, _mm512_andnot_si512(_mm512_load_si512(at), line));
    for (int i = 0; i < 8; i++)
        sum += (uint64_t)__builtin_popcountll(words[i]);
    return sum;
}

/* A line as two halves. */
struct line256 {
    __m256i half[2];
};

TARGET_AVX2 static inline __attribute__((always_inline)) struct line256 zero_avx2(void)
{
    return (struct line256){{_mm256_setzero_si256(), _mm256_setzero_si256()}};
}

TARGET_AVX2 static inline __attribute__((always_inline)) struct line256
mark_avx2(struct line256 line, uint64_t word, uint32_t first, uint32_t count)
{
    for (uint32_t slot = first; slot < first + count; slot++) {
        const __m256i *lane = (const __m256i *)(const void *)lane_of(word, slot);
        uint64_t position = word >> (slot * BLOOMERY_POSITION_BITS);
        __m256i bit = _mm256_set1_epi64x((long long)((uint64_t)1 << (position & 63)));
        for (int i = 0; i < 2; i++)
            line.half[i] =
                _mm256_or_si256(line.half[i], _mm256_and_si256(bit, _mm256_load_si256(lane + i)));
    }
    return line;
}

TARGET_AVX2 static inline __attribute__((always_inline)) bool merge_avx2(uint8_t *at,
                                                                         struct line256 line)
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

TARGET_AVX2 static inline __attribute__((always_inline)) uint64_t fresh_avx2(const uint8_t *at,
                                                                             struct line256 line)
{
    const __m256i *halves = (const __m256i *)(const void *)at;
    uint64_t words[8] __attribute__((aligned(32)));
    uint64_t sum = 0;
    for (size_t i = 0; i < 2; i++)
        _mm256_store_si256((__m256i *)(void *)(words + 4 * i),
                           _mm256_andnot_si256(_mm256_load_si256(halves + i), line.half[i]));
    for (int i = 0; i < 8; i++)
        sum += (uint64_t)__builtin_popcountll(words[i]);
    return sum;
}

#define TEMPLATE_NAME(name) bloomery_blocked_avx512_##name
#define TEMPLATE_LABEL      "avx512"
#define TEMPLATE_TARGET     TARGET_AVX512
#define TEMPLATE_LINE       __m512i
#define TEMPLATE_ZERO       _mm512_setzero_si512
#define TEMPLATE_MARK       mark_avx512
#define TEMPLATE_MERGE      merge_avx512
#define TEMPLATE_FRESH      fresh_avx512
#define TEMPLATE_HITS       hits_avx512
#include "core/x86/blocked_template.h"

#define TEMPLATE_NAME(name) bloomery_blocked_avx2_##name
#define TEMPLATE_LABEL      "avx2"
#define TEMPLATE_TARGET     TARGET_AVX2
#define TEMPLATE_LINE       struct line256
#define TEMPLATE_ZERO       zero_avx2
#define TEMPLATE_MARK       mark_avx2
#define TEMPLATE_MERGE      merge_avx2
#define TEMPLATE_FRESH      fresh_avx2
#define TEMPLATE_HITS       hits_avx2
#include "core/x86/blocked_template.h"

#endif
