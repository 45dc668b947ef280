/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four keys side by side in AVX2 (kernels/lanes.h says what the functions do).
 *
 *     lane             0         1         2         3
 *     words          key 0     key 1     key 2     key 3         8 bytes of each
 *        XXH3-64 ──>  x         x         x         x            rotations, two products
 *     block         x_1 N + (x_0 N >> 32), its high half         two products
 *     w              fold(x, C1)                                 four products
 *        stores ──>  at[0]     at[1]     at[2]     at[3]         into the ring
 *                    word[0]   word[1]   word[2]   word[3]
 *
 * AVX2 multiplies numbers of 32 bits, so those of 64 are taken apart: x = x_1 2^32 + x_0, and
 *
 *     x c = x_1 c_1 2^64 + (x_1 c_0 + x_0 c_1) 2^32 + x_0 c_0
 *
 * Of a product's low half only the low half of the sum in the middle is needed. One vpmulld makes
 * both of its products, since it multiplies all eight halves by themselves, and c is a constant
 * whose halves can change places:
 *
 *     x                | x_1           | x_0           |
 *     c turned         | c_0           | c_1           |
 *     vpmulld          | x_1 c_0       | x_0 c_1       |
 *     << 32, added     | the sum       |       -       |
 *     vpmuludq         |           x_0 c_0             |     and both are added
 *
 * That is six instructions for four keys. Three vpmuludq for the three products would be seven, and
 * a scalar product is one for one key, but then needs a key to be moved out of its lane and back.
 *
 * Rotations by whole bytes are shuffles of bytes: one instruction instead of three.
 */
#ifndef BLOOMERY_KERNELS_LANES_AVX2_H
#define BLOOMERY_KERNELS_LANES_AVX2_H

#include "kernels/block_avx2.h"
#include "kernels/lanes.h"

#include <immintrin.h>

typedef __m256i lanes_avx2;
enum { LANES_avx2 = 4 };

INLINE_AVX2 __m256i all_avx2(uint64_t value)
{
    return _mm256_set1_epi64x((long long)value);
}

INLINE_AVX2 __m256i read_lanes_avx2(const void *from)
{
    return _mm256_loadu_si256((const __m256i *)from);
}

/* ---- What keys are made of ------------------------------------------------------------------- */

INLINE_AVX2 lanes_avx2 words_avx2(const uint8_t *data)
{
    return read_lanes_avx2(data);
}

/* Two words to 16 bytes, the first and the last of a key at the beginning of 16. */
INLINE_AVX2 __m128i first_and_last_avx2(size_t width)
{
    const long long words = 0x0706050403020100;
    const __m128i skipped = _mm_set1_epi8((char)(width - sizeof(uint64_t)));
    return _mm_add_epi8(_mm_set1_epi64x(words), _mm_unpacklo_epi64(_mm_setzero_si128(), skipped));
}

INLINE_AVX2 __m256i two_keys_avx2(const uint8_t *low, const uint8_t *high)
{
    const __m128i some = _mm_loadu_si128((const __m128i *)(const void *)low);
    const __m128i others = _mm_loadu_si128((const __m128i *)(const void *)high);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(some), others, 1);
}

/* 16 bytes of each key are read: of the last one, from behind its end. */
INLINE_AVX2 lanes_avx2 both_words_avx2(const uint8_t *data, size_t width, lanes_avx2 *last)
{
    const __m256i order = _mm256_broadcastsi128_si256(first_and_last_avx2(width));
    const __m256i even = _mm256_shuffle_epi8(two_keys_avx2(data, data + 2 * width), order);
    const __m256i odd = _mm256_shuffle_epi8(two_keys_avx2(data + width, data + 3 * width), order);
    *last = _mm256_unpackhi_epi64(even, odd);
    return _mm256_unpacklo_epi64(even, odd);
}

INLINE_AVX2 lanes_avx2 load_avx2(const uint8_t *hashes)
{
    return read_lanes_avx2(hashes);
}

/* Two words in half a register. */
INLINE_AVX2 __m128i two_words_avx2(const uint8_t *low, const uint8_t *high)
{
    const __m128d first = _mm_load_sd((const double *)(const void *)low);
    return _mm_castpd_si128(_mm_loadh_pd(first, (const double *)(const void *)high));
}

INLINE_AVX2 lanes_avx2 gather_avx2(const uint8_t *const at[LANES_avx2])
{
    return _mm256_inserti128_si256(_mm256_castsi128_si256(two_words_avx2(at[0], at[1])),
                                   two_words_avx2(at[2], at[3]), 1);
}

/* Halves of pairs come out in the order 0 2 1 3. */
enum { IN_ORDER_AVX2 = _MM_SHUFFLE(3, 1, 2, 0) };

INLINE_AVX2 lanes_avx2 load_pairs_avx2(const uint8_t *hashes, lanes_avx2 *lo)
{
    const __m256i some = read_lanes_avx2(hashes);
    const __m256i others = read_lanes_avx2(hashes + sizeof some);
    *lo = _mm256_permute4x64_epi64(_mm256_unpacklo_epi64(some, others), IN_ORDER_AVX2);
    return _mm256_permute4x64_epi64(_mm256_unpackhi_epi64(some, others), IN_ORDER_AVX2);
}

INLINE_AVX2 lanes_avx2 list_bytes_avx2(const bloomery_key *list)
{
    const __m256i some = read_lanes_avx2(list);
    const __m256i others = read_lanes_avx2(list + 2);
    return _mm256_permute4x64_epi64(_mm256_unpackhi_epi64(some, others), IN_ORDER_AVX2);
}

INLINE_AVX2 lanes_avx2 narrow_bytes_avx2(const uint8_t *offsets)
{
    const __m128i *from = (const __m128i *)(const void *)offsets;
    const __m128i *to = (const __m128i *)(const void *)(offsets + sizeof(uint32_t));
    return _mm256_cvtepu32_epi64(_mm_sub_epi32(_mm_loadu_si128(to), _mm_loadu_si128(from)));
}

INLINE_AVX2 lanes_avx2 wide_bytes_avx2(const uint8_t *offsets)
{
    return _mm256_sub_epi64(read_lanes_avx2(offsets + sizeof(uint64_t)), read_lanes_avx2(offsets));
}

INLINE_AVX2 lanes_avx2 same_bytes_avx2(size_t bytes)
{
    return all_avx2(bytes);
}

INLINE_AVX2 bool are_between_avx2(const lanes_avx2 *bytes, size_t count, uint64_t least,
                                  uint64_t span)
{
    __m256i outside = _mm256_setzero_si256();
    for (size_t i = 0; i < count; i++)
        outside = _mm256_or_si256(outside, span == 0 ? _mm256_xor_si256(bytes[i], all_avx2(least))
                                                     : _mm256_sub_epi64(bytes[i], all_avx2(least)));
    return _mm256_testz_si256(outside, span == 0 ? outside : all_avx2(~span)) != 0;
}

/* ---- Products -------------------------------------------------------------------------------- */

/* The low halves of products. */
INLINE_AVX2 __m256i low_product_avx2(__m256i x, uint64_t c)
{
    const __m256i middle = _mm256_mullo_epi32(x, all_avx2(c << 32 | c >> 32));
    const __m256i sum = _mm256_add_epi32(middle, _mm256_slli_epi64(middle, 32));
    return _mm256_add_epi64(_mm256_mul_epu32(x, all_avx2(c)),
                            _mm256_blend_epi32(_mm256_setzero_si256(), sum, 0xaa));
}

/* fold(a, b): the halves of whole products, XORed. Carries go over a1 b0 and a0 b1. a1 and b1 are
 * the high halves of a and b in the low halves of lanes. */
INLINE_AVX2 __m256i fold_avx2(__m256i a, __m256i a1, __m256i b, __m256i b1)
{
    const __m256i lowest = _mm256_mul_epu32(a, b);
    const __m256i one = _mm256_add_epi64(_mm256_mul_epu32(a1, b), _mm256_srli_epi64(lowest, 32));
    const __m256i other = _mm256_add_epi64(_mm256_mul_epu32(a, b1),
                                           _mm256_blend_epi32(one, _mm256_setzero_si256(), 0xaa));
    const __m256i high =
        _mm256_add_epi64(_mm256_add_epi64(_mm256_mul_epu32(a1, b1), _mm256_srli_epi64(one, 32)),
                         _mm256_srli_epi64(other, 32));
    return _mm256_xor_si256(high, _mm256_blend_epi32(lowest, _mm256_slli_epi64(other, 32), 0xaa));
}

INLINE_AVX2 __m256i high_half_avx2(__m256i x)
{
    return _mm256_srli_epi64(x, 32);
}

/* ---- Hashes and places ----------------------------------------------------------------------- */

INLINE_AVX2 lanes_avx2 hash_8_avx2(const struct bloomery_short_secret *secret, lanes_avx2 words)
{
    const __m256i by_56 =
        _mm256_setr_epi8(1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11, 12, 13, 14, 15, 8, /* both halves */
                         1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11, 12, 13, 14, 15, 8);
    __m256i x = _mm256_xor_si256(words, all_avx2(bloomery_rotate_left(secret->flip[0], 32)));
    const __m256i turned =
        _mm256_xor_si256(_mm256_shuffle_epi32(x, _MM_SHUFFLE(2, 3, 0, 1)), /* by 32 */
                         _mm256_shuffle_epi8(x, by_56));
    x = _mm256_or_si256(_mm256_slli_epi64(x, 17), _mm256_srli_epi64(x, 64 - 17));
    x = low_product_avx2(_mm256_xor_si256(turned, x), BLOOMERY_XXH3_RRMXMX);
    x = _mm256_xor_si256(x, _mm256_add_epi64(_mm256_srli_epi64(x, 35), all_avx2(8)));
    x = low_product_avx2(x, BLOOMERY_XXH3_RRMXMX);
    return _mm256_xor_si256(x, _mm256_srli_epi64(x, 28));
}

INLINE_AVX2 lanes_avx2 hash_9_to_16_avx2(const struct bloomery_short_secret *secret,
                                         lanes_avx2 first, lanes_avx2 last, lanes_avx2 bytes)
{
    const __m256i swap =
        _mm256_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8, /* both halves */
                         7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
    const __m256i a = _mm256_xor_si256(first, all_avx2(secret->flip[1]));
    const __m256i b = _mm256_xor_si256(last, all_avx2(secret->flip[2]));
    __m256i x = _mm256_add_epi64(_mm256_add_epi64(bytes, _mm256_shuffle_epi8(a, swap)), b);
    x = _mm256_add_epi64(x, fold_avx2(a, high_half_avx2(a), b, high_half_avx2(b)));
    x = low_product_avx2(_mm256_xor_si256(x, _mm256_srli_epi64(x, 37)), BLOOMERY_XXH3_AVALANCHE);
    return _mm256_xor_si256(x, _mm256_srli_epi64(x, 32));
}

INLINE_AVX2 lanes_avx2 block_hash_avx2(lanes_avx2 hi, uint32_t which)
{
    const __m256i x = _mm256_xor_si256(hi, all_avx2(which * BLOOMERY_GOLDEN));
    return fold_avx2(x, high_half_avx2(x), all_avx2(BLOOMERY_MIX_2),
                     all_avx2(BLOOMERY_MIX_2 >> 32));
}

INLINE_AVX2 void place_avx2(lanes_avx2 x, lanes_avx2 lo, const struct bloomery_layer *layer,
                            uint8_t **at, uint64_t *word)
{
    const __m256i blocks = all_avx2(layer->blocks);
    const __m256i low = high_half_avx2(_mm256_mul_epu32(x, blocks));
    const __m256i block = _mm256_add_epi64(_mm256_mul_epu32(high_half_avx2(x), blocks), low);
    /* The block's number is the high half. Its 64 bytes are a shift by 6 the other way. */
    const __m256i offset = _mm256_and_si256(_mm256_srli_epi64(block, 32 - 6),
                                            all_avx2(~(uint64_t)(BLOOMERY_BLOCK_BYTES - 1)));
    _mm256_store_si256((__m256i *)(void *)at,
                       _mm256_add_epi64(offset, all_avx2((uintptr_t)layer->payload)));
    const __m256i mixed = _mm256_xor_si256(x, lo);
    _mm256_store_si256((__m256i *)(void *)word,
                       fold_avx2(mixed, high_half_avx2(mixed), all_avx2(BLOOMERY_MIX_1),
                                 all_avx2(BLOOMERY_MIX_1 >> 32)));
}

#endif /* BLOOMERY_KERNELS_LANES_AVX2_H */
