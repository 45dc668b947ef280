/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight keys side by side in AVX-512 (kernels/lanes.h says what the functions do, and lanes_avx2.h
 * has the layout). It has low halves of products of 64 bits. High halves come from four products of
 * 32 x 32 bits, as in school.
 */
#ifndef BLOOMERY_KERNELS_LANES_AVX512_H
#define BLOOMERY_KERNELS_LANES_AVX512_H

#include "kernels/block_avx512.h"
#include "kernels/lanes.h"

#include <immintrin.h>

typedef __m512i lanes_avx512;
enum { LANES_avx512 = 8 };

INLINE_AVX512 __m512i all_avx512(uint64_t value)
{
    return _mm512_set1_epi64((long long)value);
}

/* ---- What keys are made of ------------------------------------------------------------------- */

INLINE_AVX512 lanes_avx512 words_avx512(const uint8_t *data)
{
    return _mm512_loadu_si512(data);
}

/* Four keys, two words apart in memory. */
INLINE_AVX512 __m512i four_keys_avx512(const uint8_t *data, size_t step)
{
    const __m512i first =
        _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)data));
    const __m128i *second = (const __m128i *)(const void *)(data + step);
    const __m128i *third = (const __m128i *)(const void *)(data + 2 * step);
    const __m128i *fourth = (const __m128i *)(const void *)(data + 3 * step);
    __m512i four = _mm512_inserti64x2(first, _mm_loadu_si128(second), 1);
    four = _mm512_inserti64x2(four, _mm_loadu_si128(third), 2);
    return _mm512_inserti64x2(four, _mm_loadu_si128(fourth), 3);
}

/* 16 bytes of each key are read, as by both_words_avx2. */
INLINE_AVX512 lanes_avx512 both_words_avx512(const uint8_t *data, size_t width, lanes_avx512 *last)
{
    const __m512i skipped =
        _mm512_maskz_set1_epi8(UINT64_C(0xff00ff00ff00ff00), (char)(width - sizeof(uint64_t)));
    const __m512i order = _mm512_add_epi8(all_avx512(0x0706050403020100), skipped);
    const __m512i even = _mm512_shuffle_epi8(four_keys_avx512(data, 2 * width), order);
    const __m512i odd = _mm512_shuffle_epi8(four_keys_avx512(data + width, 2 * width), order);
    *last = _mm512_unpackhi_epi64(even, odd);
    return _mm512_unpacklo_epi64(even, odd);
}

INLINE_AVX512 lanes_avx512 load_avx512(const uint8_t *hashes)
{
    return _mm512_loadu_si512(hashes);
}

INLINE_AVX512 __m128i two_words_avx512(const uint8_t *low, const uint8_t *high)
{
    const __m128d first = _mm_load_sd((const double *)(const void *)low);
    return _mm_castpd_si128(_mm_loadh_pd(first, (const double *)(const void *)high));
}

/* By loads of single words: where a gather is one instruction, it is many inside. */
INLINE_AVX512 lanes_avx512 gather_avx512(const uint8_t *const at[LANES_avx512])
{
    const __m256i low = _mm256_inserti128_si256(
        _mm256_castsi128_si256(two_words_avx512(at[0], at[1])), two_words_avx512(at[2], at[3]), 1);
    const __m256i high = _mm256_inserti128_si256(
        _mm256_castsi128_si256(two_words_avx512(at[4], at[5])), two_words_avx512(at[6], at[7]), 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

/* The odd words of two registers: the second halves of eight pairs. */
INLINE_AVX512 __m512i odd_words_avx512(const uint8_t *pairs)
{
    return _mm512_permutex2var_epi64(_mm512_loadu_si512(pairs),
                                     _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15),
                                     _mm512_loadu_si512(pairs + 64));
}

INLINE_AVX512 lanes_avx512 load_pairs_avx512(const uint8_t *hashes, lanes_avx512 *lo)
{
    *lo = _mm512_permutex2var_epi64(_mm512_loadu_si512(hashes),
                                    _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14),
                                    _mm512_loadu_si512(hashes + 64));
    return odd_words_avx512(hashes);
}

INLINE_AVX512 lanes_avx512 list_bytes_avx512(const bloomery_key *list)
{
    return odd_words_avx512((const uint8_t *)(const void *)list);
}

INLINE_AVX512 lanes_avx512 narrow_bytes_avx512(const uint8_t *offsets)
{
    const __m256i *from = (const __m256i *)(const void *)offsets;
    const __m256i *to = (const __m256i *)(const void *)(offsets + sizeof(uint32_t));
    return _mm512_cvtepu32_epi64(
        _mm256_sub_epi32(_mm256_loadu_si256(to), _mm256_loadu_si256(from)));
}

INLINE_AVX512 lanes_avx512 wide_bytes_avx512(const uint8_t *offsets)
{
    return _mm512_sub_epi64(_mm512_loadu_si512(offsets + sizeof(uint64_t)),
                            _mm512_loadu_si512(offsets));
}

INLINE_AVX512 lanes_avx512 same_bytes_avx512(size_t bytes)
{
    return all_avx512(bytes);
}

INLINE_AVX512 bool are_between_avx512(const lanes_avx512 *bytes, size_t count, uint64_t least,
                                      uint64_t span)
{
    (void)count; /* one: eight keys are a register */
    return _mm512_test_epi64_mask(span == 0 ? _mm512_xor_si512(*bytes, all_avx512(least))
                                            : _mm512_sub_epi64(*bytes, all_avx512(least)),
                                  all_avx512(~span)) == 0;
}

/* ---- Hashes and places ----------------------------------------------------------------------- */

/* fold(a, b), as fold_avx2. */
INLINE_AVX512 __m512i fold_avx512(__m512i a, __m512i b)
{
    const __m512i a1 = _mm512_srli_epi64(a, 32);
    const __m512i b1 = _mm512_srli_epi64(b, 32);
    const __m512i lowest = _mm512_srli_epi64(_mm512_mul_epu32(a, b), 32);
    const __m512i one = _mm512_add_epi64(_mm512_mul_epu32(a1, b), lowest);
    const __m512i other =
        _mm512_add_epi64(_mm512_mul_epu32(a, b1), _mm512_and_si512(one, all_avx512(UINT32_MAX)));
    const __m512i high =
        _mm512_add_epi64(_mm512_add_epi64(_mm512_mul_epu32(a1, b1), _mm512_srli_epi64(one, 32)),
                         _mm512_srli_epi64(other, 32));
    return _mm512_xor_si512(_mm512_mullo_epi64(a, b), high);
}

INLINE_AVX512 lanes_avx512 hash_8_avx512(const struct bloomery_short_secret *secret,
                                         lanes_avx512 words)
{
    const __m512i prime = all_avx512(BLOOMERY_XXH3_RRMXMX);
    __m512i x = _mm512_xor_si512(words, all_avx512(bloomery_rotate_left(secret->flip[0], 32)));
    x = _mm512_ternarylogic_epi64(_mm512_rol_epi64(x, 32), _mm512_rol_epi64(x, 17),
                                  _mm512_rol_epi64(x, 56), 0x96); /* XOR of the three */
    x = _mm512_mullo_epi64(x, prime);
    x = _mm512_xor_si512(x, _mm512_add_epi64(_mm512_srli_epi64(x, 35), all_avx512(8)));
    x = _mm512_mullo_epi64(x, prime);
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, 28));
}

INLINE_AVX512 lanes_avx512 hash_9_to_16_avx512(const struct bloomery_short_secret *secret,
                                               lanes_avx512 first, lanes_avx512 last,
                                               lanes_avx512 bytes)
{
    const __m512i swap = _mm512_set_epi64(
        0x08090a0b0c0d0e0f, 0x0001020304050607, 0x08090a0b0c0d0e0f, 0x0001020304050607,
        0x08090a0b0c0d0e0f, 0x0001020304050607, 0x08090a0b0c0d0e0f, 0x0001020304050607);
    const __m512i a = _mm512_xor_si512(first, all_avx512(secret->flip[1]));
    const __m512i b = _mm512_xor_si512(last, all_avx512(secret->flip[2]));
    __m512i x = _mm512_add_epi64(_mm512_add_epi64(bytes, _mm512_shuffle_epi8(a, swap)), b);
    x = _mm512_add_epi64(x, fold_avx512(a, b));
    x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 37)),
                           all_avx512(BLOOMERY_XXH3_AVALANCHE));
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, 32));
}

INLINE_AVX512 lanes_avx512 block_hash_avx512(lanes_avx512 hi, uint32_t which)
{
    return fold_avx512(_mm512_xor_si512(hi, all_avx512(which * BLOOMERY_GOLDEN)),
                       all_avx512(BLOOMERY_MIX_2));
}

INLINE_AVX512 void place_avx512(lanes_avx512 x, lanes_avx512 lo, const struct bloomery_layer *layer,
                                uint8_t **at, uint64_t *word)
{
    const __m512i blocks = all_avx512(layer->blocks);
    const __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(x, blocks), 32);
    const __m512i block = _mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(x, 32), blocks), low);
    const __m512i offset = _mm512_slli_epi64(_mm512_srli_epi64(block, 32), 6);
    _mm512_store_si512(at, _mm512_add_epi64(offset, all_avx512((uintptr_t)layer->payload)));
    _mm512_store_si512(word, fold_avx512(_mm512_xor_si512(x, lo), all_avx512(BLOOMERY_MIX_1)));
}

#endif /* BLOOMERY_KERNELS_LANES_AVX512_H */
