/* SPDX-License-Identifier: Apache-2.0 */
/* A block in AVX2: two registers of four 64-bit lanes, each as block_avx512.h has all eight. AVX2
 * does not rotate: bits are shifted to their places, and compared. */
#ifndef BLOOMERY_KERNELS_BLOCK_AVX2_H
#define BLOOMERY_KERNELS_BLOCK_AVX2_H

#include "kernels/block.h"

#include <immintrin.h>

#define TARGET_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt"))) BLOOMERY_RACES_MEANT
#define INLINE_AVX2 TARGET_AVX2 static inline __attribute__((always_inline))

/* A block as two halves. */
struct block_avx2 {
    __m256i half[2];
};

/* `window` NULL: all words. */
INLINE_AVX2 __m256i half_bits_avx2(__m256i w, __m256i steps, const uint64_t *window)
{
    const __m256i choices = _mm256_and_si256(_mm256_srlv_epi64(w, steps), _mm256_set1_epi64x(63));
    const __m256i bits = _mm256_sllv_epi64(_mm256_set1_epi64x(1), choices);
    if (window == NULL)
        return bits;
    return _mm256_and_si256(bits, _mm256_loadu_si256((const __m256i *)(const void *)window));
}

INLINE_AVX2 struct block_avx2 bits_avx2(uint64_t w, uint32_t probes)
{
    const uint64_t *window = probes == BLOOMERY_BLOCK_PROBES ? NULL : bloomery_window(w, probes);
    const __m256i all = _mm256_set1_epi64x((long long)w);
    return (struct block_avx2){{half_bits_avx2(all, _mm256_setr_epi64x(0, 6, 12, 18), window),
                                half_bits_avx2(all, _mm256_setr_epi64x(24, 30, 36, 42),
                                               window == NULL ? NULL : window + 4)}};
}

INLINE_AVX2 struct block_avx2 read_avx2(const uint8_t *block)
{
    const volatile __m256i *halves = (const volatile __m256i *)(const void *)block;
    return (struct block_avx2){{halves[0], halves[1]}};
}

INLINE_AVX2 bool hits_avx2(const uint8_t *block, uint64_t w, uint32_t probes)
{
    const struct block_avx2 bits = bits_avx2(w, probes);
    const struct block_avx2 now = read_avx2(block);
    const __m256i missing = _mm256_or_si256(_mm256_andnot_si256(now.half[0], bits.half[0]),
                                            _mm256_andnot_si256(now.half[1], bits.half[1]));
    return _mm256_testz_si256(missing, missing) != 0;
}

/* The words in which the block lacks a bit, the lowest bit for word 0. A word has at most one. */
INLINE_AVX2 uint32_t fresh_avx2(struct block_avx2 now, struct block_avx2 bits)
{
    uint32_t same = 0;
    for (int i = 0; i < 2; i++) {
        const __m256i missing = _mm256_andnot_si256(now.half[i], bits.half[i]);
        const __m256i none = _mm256_cmpeq_epi64(missing, _mm256_setzero_si256());
        same |= (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(none)) << 4 * i;
    }
    return same ^ 0xff;
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
    return (uint32_t)__builtin_popcount(fresh_avx2(now, bits));
}

INLINE_AVX2 uint32_t set_shared_avx2(uint8_t *block, uint64_t w, uint32_t probes)
{
    const struct block_avx2 bits = bits_avx2(w, probes);
    uint64_t each[BLOOMERY_BLOCK_WORDS] __attribute__((aligned(32)));
    uint32_t fresh = 0;
    uint32_t left = fresh_avx2(read_avx2(block), bits);
    if (left == 0)
        return 0;
    for (int i = 0; i < 2; i++)
        _mm256_store_si256((__m256i *)(void *)each + i, bits.half[i]);
    for (; left != 0; left &= left - 1) {
        const uint32_t word = (uint32_t)__builtin_ctz(left);
        fresh += bloomery_or_shared((uint64_t *)(void *)block + word, each[word]);
    }
    return fresh;
}

INLINE_AVX2 bool mark_avx2(uint8_t *block, uint64_t w, uint32_t probes)
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

#endif /* BLOOMERY_KERNELS_BLOCK_AVX2_H */
