/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block in AVX-512: one register of eight 64-bit lanes (kernels/block.h says what the functions
 * do).
 *
 *     lanes        0         1         2      ...      7
 *     block       word 0    word 1    word 2          word 7
 *     w >>         0         6        12              42       vpsrlvq
 *     rotated    the bit that w names is the lowest one        vprorvq, whose counts ignore all
 *                                                              above their six lowest bits
 *     tested     in the lanes of the window                    vptestnmq
 */
#ifndef BLOOMERY_KERNELS_BLOCK_AVX512_H
#define BLOOMERY_KERNELS_BLOCK_AVX512_H

#include "kernels/block.h"

#include <immintrin.h>

#define TARGET_AVX512                                                                  \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt"))) \
    BLOOMERY_RACES_MEANT
#define INLINE_AVX512 TARGET_AVX512 static inline __attribute__((always_inline))

INLINE_AVX512 __m512i choices_avx512(uint64_t w)
{
    return _mm512_srlv_epi64(_mm512_set1_epi64((long long)w),
                             _mm512_setr_epi64(0, 6, 12, 18, 24, 30, 36, 42));
}

INLINE_AVX512 __mmask8 window_avx512(uint64_t w, uint32_t probes)
{
    return probes == BLOOMERY_BLOCK_PROBES
               ? (__mmask8)0xff
               : (__mmask8)bloomery_window_bits[probes][bloomery_first_word(w)];
}

INLINE_AVX512 __m512i read_avx512(const uint8_t *block)
{
    return *(const volatile __m512i *)(const void *)block;
}

/* The words of the window that lack their bit. */
INLINE_AVX512 __mmask8 missing_avx512(const uint8_t *block, uint64_t w, uint32_t probes)
{
    const __m512i lowest = _mm512_rorv_epi64(read_avx512(block), choices_avx512(w));
    return _mm512_mask_testn_epi64_mask(window_avx512(w, probes), lowest, _mm512_set1_epi64(1));
}

INLINE_AVX512 bool hits_avx512(const uint8_t *block, uint64_t w, uint32_t probes)
{
    return missing_avx512(block, w, probes) == 0;
}

INLINE_AVX512 uint64_t append_avx512(uint64_t missed, const uint8_t *block, uint64_t w,
                                     uint32_t probes)
{
    return bloomery_append_any(missed, missing_avx512(block, w, probes));
}

/* The bits of a key, and through `fresh` the lanes in which the block has them not. */
INLINE_AVX512 __m512i bits_avx512(__m512i block, uint64_t w, uint32_t probes, __mmask8 *fresh)
{
    const __mmask8 window = window_avx512(w, probes);
    const __m512i bits = _mm512_maskz_rolv_epi64(window, _mm512_set1_epi64(1), choices_avx512(w));
    *fresh = _mm512_mask_testn_epi64_mask(window, block, bits);
    return bits;
}

INLINE_AVX512 uint32_t set_avx512(uint8_t *block, uint64_t w, uint32_t probes)
{
    __mmask8 fresh;
    const __m512i before = _mm512_load_si512(block);
    const __m512i bits = bits_avx512(before, w, probes, &fresh);
    _mm512_store_si512(block, _mm512_or_si512(before, bits));
    return fresh;
}

INLINE_AVX512 uint32_t count_avx512(uint32_t marks)
{
    return (uint32_t)__builtin_popcount(marks);
}

INLINE_AVX512 bool set_any_avx512(uint8_t *block, uint64_t w, uint32_t probes)
{
    return set_avx512(block, w, probes) != 0;
}

INLINE_AVX512 uint32_t set_shared_avx512(uint8_t *block, uint64_t w, uint32_t probes)
{
    uint64_t each[BLOOMERY_BLOCK_WORDS] __attribute__((aligned(64)));
    __mmask8 missing;
    uint32_t fresh = 0;
    const __m512i bits = bits_avx512(read_avx512(block), w, probes, &missing);
    if (missing == 0)
        return 0;
    _mm512_store_si512(each, bits);
    for (uint32_t left = missing; left != 0; left &= left - 1) {
        const uint32_t word = (uint32_t)__builtin_ctz(left);
        fresh += bloomery_or_shared((uint64_t *)(void *)block + word, each[word]);
    }
    return fresh;
}

#endif /* BLOOMERY_KERNELS_BLOCK_AVX512_H */
