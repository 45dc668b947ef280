/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__x86_64__)

#include "batch/static_batch.h"

#include "base/bits.h"
#include "batch/static_parities.h"

#include <immintrin.h>
#include <string.h>

#define LEVEL        avx2
#define LEVEL_NAME   "avx2"
#define LEVEL_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define INLINE       LEVEL_TARGET static inline __attribute__((always_inline))

/*
 * Eight words in two registers. The two are folded into one of eight times 32 bits, and those on
 * themselves until the highest bit of each is the parity:
 *
 *     low   | w0        | w1        | w2        | w3        |     XOR of the halves of a word
 *     high  | w4        | w5        | w6        | w7        |
 *     both  | w0  | w4  | w1  | w5  | w2  | w6  | w3  | w7  |     so the order is 0 4 1 5 2 6 3 7
 */
INLINE uint32_t parities_avx2(const uint8_t *block, const uint8_t *next, uint32_t mask,
                              uint64_t first, uint64_t second)
{
    const __m256i c1 = _mm256_set1_epi64x((long long)first);
    const __m256i c2 = _mm256_set1_epi64x((long long)second);
    const __m256i *one = (const __m256i *)(const void *)block;
    const __m256i *two = (const __m256i *)(const void *)next;
    (void)mask; /* what lies behind the words is the layer's as well */
    const __m256i low = _mm256_xor_si256(_mm256_and_si256(_mm256_loadu_si256(one), c1),
                                         _mm256_and_si256(_mm256_loadu_si256(two), c2));
    const __m256i high = _mm256_xor_si256(_mm256_and_si256(_mm256_loadu_si256(one + 1), c1),
                                          _mm256_and_si256(_mm256_loadu_si256(two + 1), c2));
    __m256i both = _mm256_blend_epi32(_mm256_xor_si256(low, _mm256_srli_epi64(low, 32)),
                                      _mm256_xor_si256(high, _mm256_slli_epi64(high, 32)), 0xaa);
    both = _mm256_xor_si256(both, _mm256_slli_epi32(both, 16));
    both = _mm256_xor_si256(both, _mm256_slli_epi32(both, 8));
    both = _mm256_xor_si256(both, _mm256_slli_epi32(both, 4));
    both = _mm256_xor_si256(both, _mm256_slli_epi32(both, 2));
    both = _mm256_xor_si256(both, _mm256_slli_epi32(both, 1));
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(both));
}

INLINE uint32_t ordered_avx2(uint32_t bits)
{
    return _pdep_u32(bits, 0x55) | _pdep_u32(bits >> 4, 0xaa);
}

INLINE uint32_t bumped_avx2(const uint8_t *thresholds, const uint64_t *starts)
{
    return bloomery_static_bumped(thresholds, starts);
}

#include "batch/static_template.h"

#endif
