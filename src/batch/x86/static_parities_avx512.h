/* SPDX-License-Identifier: Apache-2.0 */
/* What both kernels of static filters for AVX-512 have: eight words in a register, eight thresholds
 * at once. */
#ifndef BLOOMERY_STATIC_PARITIES_AVX512_H
#define BLOOMERY_STATIC_PARITIES_AVX512_H

#include "core/static_query.h"

#include <immintrin.h>

#define INTO_AVX512                                                             \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) static inline \
        __attribute__((always_inline))

/* (word of the block & first) ^ (word of the next one & second), of the words in the mask. */
INTO_AVX512 __m512i bloomery_selected_rows(const uint8_t *block, const uint8_t *next, uint32_t mask,
                                           uint64_t first, uint64_t second)
{
    const __m512i one = _mm512_maskz_loadu_epi64((__mmask8)mask, block);
    const __m512i two = _mm512_maskz_loadu_epi64((__mmask8)mask, next);
    const __m512i some = _mm512_and_si512(two, _mm512_set1_epi64((long long)second));
    return _mm512_ternarylogic_epi64(one, _mm512_set1_epi64((long long)first), some, 0x6a);
}

/* Eight bytes are gathered from each threshold's byte on: 64 bytes of zeros lie behind the last. */
INTO_AVX512 uint32_t bloomery_bumped_avx512(const uint8_t *thresholds, const uint64_t *starts)
{
    const __m512i start = _mm512_load_si512(starts);
    const __m512i bytes = _mm512_i64gather_epi64(_mm512_srli_epi64(start, 9), thresholds, 1);
    const __m512i turn = _mm512_and_si512(_mm512_srli_epi64(start, 6), _mm512_set1_epi64(6));
    const __m512i threshold =
        _mm512_and_si512(_mm512_srlv_epi64(bytes, turn), _mm512_set1_epi64(3));
    const __m512i cuts =
        _mm512_srlv_epi64(_mm512_set1_epi64(0x80201000), _mm512_slli_epi64(threshold, 3));
    return _mm512_cmplt_epu64_mask(_mm512_and_si512(start, _mm512_set1_epi64(127)),
                                   _mm512_and_si512(cuts, _mm512_set1_epi64(0xff)));
}

#undef INTO_AVX512

#endif
