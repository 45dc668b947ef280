/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of eight keys to hashes, with AVX-512 and with AVX2: see xxh3_template.h. */
#ifndef BLOOMERY_HASH_X86_XXH3_GROUPS_H
#define BLOOMERY_HASH_X86_XXH3_GROUPS_H

#include "base/bytes.h"
#include "hash/xxh3_inline.h"

#include <immintrin.h>

/* What a seed makes of the secret. */
struct bloomery_xxh3_secret {
    uint64_t flip;     /* of 4 to 8 bytes */
    uint64_t flip_low; /* of 9 to 16 bytes */
    uint64_t flip_high;
    uint64_t seed; /* of 17 to 96 bytes: this, and the words of the secret */
    uint64_t words[12];
};

static inline struct bloomery_xxh3_secret bloomery_xxh3_secret_of(uint64_t seed)
{
    const uint8_t *secret = XXH3_kSecret;
    uint64_t folded = seed ^ (uint64_t)__builtin_bswap32((uint32_t)seed) << 32;
    struct bloomery_xxh3_secret with = {
        .flip = (bloomery_load_u64(secret + 16) ^ bloomery_load_u64(secret + 24)) + folded,
        .flip_low = (bloomery_load_u64(secret + 32) ^ bloomery_load_u64(secret + 40)) - seed,
        .flip_high = (bloomery_load_u64(secret + 48) ^ bloomery_load_u64(secret + 56)) + seed,
        .seed = seed,
    };
    for (size_t i = 0; i < 12; i++)
        with.words[i] = bloomery_load_u64(secret + 8 * i);
    return with;
}

/* Where the 16 bytes of a step of a medium key lie, from the front and from the back: for a step that
 * the key does not have, those of step 0. */
static inline const uint8_t *bloomery_xxh3_front(bloomery_key key, size_t step)
{
    return (const uint8_t *)key.data + (key.bytes > 32 * step ? 16 * step : 0);
}

static inline const uint8_t *bloomery_xxh3_back(bloomery_key key, size_t step)
{
    return (const uint8_t *)key.data + key.bytes - 16 - (key.bytes > 32 * step ? 16 * step : 0);
}

_Static_assert(sizeof(bloomery_key) == 16 && offsetof(bloomery_key, bytes) == 8,
               "a key is a pointer and a length, 8 bytes each");

static inline __m128i load_128(const uint8_t *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* ---- AVX-512: eight lanes -------------------------------------------------------------------- */

#define BLOOMERY_INLINE_AVX512                                                            \
    __attribute__((                                                                       \
        target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt"))) static inline \
        __attribute__((always_inline))

BLOOMERY_INLINE_AVX512 __m512i swap_avx512(__m512i lanes)
{
    return _mm512_shuffle_epi8(lanes, _mm512_broadcast_i32x4(_mm_setr_epi8(
                                          7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8)));
}

#define LANES_NAME(name)            xxh3_##name##_avx512
#define LANES_INLINE                BLOOMERY_INLINE_AVX512
#define LANES                       __m512i
#define LANES_OP(name)              _mm512_##name
#define LANES_XOR                   _mm512_xor_si512
#define LANES_AND                   _mm512_and_si512
#define LANES_OF(value)             _mm512_set1_epi64((long long)(value))
#define LANES_LOW(a, b, low, carry) _mm512_mullo_epi64(a, b)
#define LANES_TIMES                 _mm512_mullo_epi64
#define LANES_SWAP                  swap_avx512
#define LANES_WHERE(bytes, over, a, b) \
    _mm512_mask_blend_epi64(_mm512_cmpgt_epi64_mask(bytes, LANES_OF(over)), b, a)
#include "hash/x86/xxh3_template.h"

/* Eight bytes of each of eight keys: those at the begin, or, `from_end`, the last ones. */
BLOOMERY_INLINE_AVX512 __m512i load_avx512(const bloomery_key *keys, const bool from_end)
{
    __m128i pairs[4];
    for (size_t i = 0; i < 4; i++) {
        const uint8_t *first = keys[2 * i].data;
        const uint8_t *second = keys[2 * i + 1].data;
        if (from_end) {
            first += keys[2 * i].bytes - 8;
            second += keys[2 * i + 1].bytes - 8;
        }
        __m128i low = _mm_loadl_epi64((const __m128i *)(const void *)first);
        pairs[i] = _mm_castps_si128(
            _mm_loadh_pi(_mm_castsi128_ps(low), (const __m64 *)(const void *)second));
    }
    __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(pairs[0]), pairs[1], 1);
    __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(pairs[2]), pairs[3], 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

BLOOMERY_INLINE_AVX512 struct xxh3_sixteen_avx512 load_16_avx512(const uint8_t *const at[8])
{
    __m512i halves[2];
    for (int i = 0; i < 2; i++) { /* keys 0, 2, 4, 6 and keys 1, 3, 5, 7 */
        __m512i four = _mm512_castsi128_si512(load_128(at[i]));
        four = _mm512_inserti64x2(four, load_128(at[i + 2]), 1);
        four = _mm512_inserti64x2(four, load_128(at[i + 4]), 2);
        halves[i] = _mm512_inserti64x2(four, load_128(at[i + 6]), 3);
    }
    return (struct xxh3_sixteen_avx512){_mm512_unpacklo_epi64(halves[0], halves[1]),
                                        _mm512_unpackhi_epi64(halves[0], halves[1])};
}

BLOOMERY_INLINE_AVX512 void xxh3_medium_keys_avx512(const struct bloomery_xxh3_secret *with,
                                                    const bloomery_key *keys, __m512i bytes,
                                                    __m512i *lo, __m512i *hi)
{
    struct xxh3_sixteen_avx512 front[3], back[3];
#pragma GCC unroll 3
    for (size_t step = 0; step < 3; step++) {
        const uint8_t *at[8];
        for (int i = 0; i < 8; i++)
            at[i] = bloomery_xxh3_front(keys[i], step);
        front[step] = load_16_avx512(at);
        for (int i = 0; i < 8; i++)
            at[i] = bloomery_xxh3_back(keys[i], step);
        back[step] = load_16_avx512(at);
    }
    xxh3_medium_avx512(with, front, back, bytes, lo, hi);
}

/* Eight keys of any length. */
BLOOMERY_INLINE_AVX512 void xxh3_group_avx512(const struct bloomery_hash_secret *secret,
                                              const struct bloomery_xxh3_secret *with,
                                              const bloomery_key *keys, __m512i *lo, __m512i *hi)
{
    const __m512i odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    __m512i bytes =
        _mm512_permutex2var_epi64(_mm512_loadu_si512(keys), odd, _mm512_loadu_si512(keys + 4));
    if (_mm512_cmpneq_epi64_mask(bytes, _mm512_set1_epi64(8)) == 0) {
        xxh3_eight_avx512(with, load_avx512(keys, false), lo, hi);
    } else if (_mm512_cmpge_epu64_mask(_mm512_sub_epi64(bytes, _mm512_set1_epi64(9)),
                                       _mm512_set1_epi64(8)) == 0) {
        xxh3_nine_to_sixteen_avx512(with, load_avx512(keys, false), load_avx512(keys, true), bytes,
                                    lo, hi);
    } else if (_mm512_cmpge_epu64_mask(_mm512_sub_epi64(bytes, _mm512_set1_epi64(17)),
                                       _mm512_set1_epi64(96 - 16)) == 0) {
        xxh3_medium_keys_avx512(with, keys, bytes, lo, hi);
    } else {
        uint64_t hashes[2][8] __attribute__((aligned(64)));
        for (int i = 0; i < 8; i++) {
            bloomery_hash hash = bloomery_xxh3_any(secret, keys[i]);
            hashes[0][i] = hash.lo;
            hashes[1][i] = hash.hi;
        }
        *lo = _mm512_load_si512(hashes[0]);
        *hi = _mm512_load_si512(hashes[1]);
    }
}

/* ---- AVX2: twice four lanes ------------------------------------------------------------------ */

#define BLOOMERY_INLINE_AVX2 \
    __attribute__((target("avx2,bmi,bmi2,popcnt"))) static inline __attribute__((always_inline))

BLOOMERY_INLINE_AVX2 __m256i swap_avx2(__m256i lanes)
{
    return _mm256_shuffle_epi8(lanes, _mm256_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11,
                                                       10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13,
                                                       12, 11, 10, 9, 8));
}

/* a b modulo 2^64, for want of an instruction. */
BLOOMERY_INLINE_AVX2 __m256i times_avx2(__m256i a, __m256i b)
{
    __m256i crossed = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), b),
                                       _mm256_mul_epu32(a, _mm256_srli_epi64(b, 32)));
    return _mm256_add_epi64(_mm256_mul_epu32(a, b), _mm256_slli_epi64(crossed, 32));
}

#define LANES_NAME(name)            xxh3_##name##_avx2
#define LANES_INLINE                BLOOMERY_INLINE_AVX2
#define LANES                       __m256i
#define LANES_OP(name)              _mm256_##name
#define LANES_XOR                   _mm256_xor_si256
#define LANES_AND                   _mm256_and_si256
#define LANES_OF(value)             _mm256_set1_epi64x((long long)(value))
#define LANES_LOW(a, b, low, carry) _mm256_blend_epi32(low, _mm256_slli_epi64(carry, 32), 0xAA)
#define LANES_TIMES                 times_avx2
#define LANES_SWAP                  swap_avx2
#define LANES_WHERE(bytes, over, a, b) \
    _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(bytes, LANES_OF(over)))
#include "hash/x86/xxh3_template.h"

/* As load_avx512, of four keys. */
BLOOMERY_INLINE_AVX2 __m256i load_avx2(const bloomery_key *keys, const bool from_end)
{
    __m128i pairs[2];
    for (size_t i = 0; i < 2; i++) {
        const uint8_t *first = keys[2 * i].data;
        const uint8_t *second = keys[2 * i + 1].data;
        if (from_end) {
            first += keys[2 * i].bytes - 8;
            second += keys[2 * i + 1].bytes - 8;
        }
        __m128i low = _mm_loadl_epi64((const __m128i *)(const void *)first);
        pairs[i] = _mm_castps_si128(
            _mm_loadh_pi(_mm_castsi128_ps(low), (const __m64 *)(const void *)second));
    }
    return _mm256_inserti128_si256(_mm256_castsi128_si256(pairs[0]), pairs[1], 1);
}

BLOOMERY_INLINE_AVX2 struct xxh3_sixteen_avx2 load_16_avx2(const uint8_t *const at[4])
{
    __m256i even = _mm256_castsi128_si256(load_128(at[0]));
    __m256i odd = _mm256_castsi128_si256(load_128(at[1]));
    even = _mm256_inserti128_si256(even, load_128(at[2]), 1);
    odd = _mm256_inserti128_si256(odd, load_128(at[3]), 1);
    return (struct xxh3_sixteen_avx2){_mm256_unpacklo_epi64(even, odd),
                                      _mm256_unpackhi_epi64(even, odd)};
}

BLOOMERY_INLINE_AVX2 void xxh3_medium_keys_avx2(const struct bloomery_xxh3_secret *with,
                                                const bloomery_key *keys, __m256i bytes,
                                                __m256i *lo, __m256i *hi)
{
    struct xxh3_sixteen_avx2 front[3], back[3];
#pragma GCC unroll 3
    for (size_t step = 0; step < 3; step++) {
        const uint8_t *at[4];
        for (int i = 0; i < 4; i++)
            at[i] = bloomery_xxh3_front(keys[i], step);
        front[step] = load_16_avx2(at);
        for (int i = 0; i < 4; i++)
            at[i] = bloomery_xxh3_back(keys[i], step);
        back[step] = load_16_avx2(at);
    }
    xxh3_medium_avx2(with, front, back, bytes, lo, hi);
}

/* Eight keys of any length, to lo[8] and hi[8]. */
BLOOMERY_INLINE_AVX2 void xxh3_group_avx2(const struct bloomery_hash_secret *secret,
                                          const struct bloomery_xxh3_secret *with,
                                          const bloomery_key *keys, uint64_t *lo, uint64_t *hi)
{
    uint64_t not_eight = 0, not_short = 0;
    bool medium = true;
    for (int i = 0; i < 8; i++) {
        not_eight |= keys[i].bytes ^ 8;
        not_short |= (keys[i].bytes - 9) & ~(uint64_t)7;
        medium &= keys[i].bytes - 17 < 96 - 16;
    }
    if (not_eight != 0 && not_short != 0 && !medium) {
        for (int i = 0; i < 8; i++) {
            bloomery_hash hash = bloomery_xxh3_any(secret, keys[i]);
            lo[i] = hash.lo;
            hi[i] = hash.hi;
        }
        return;
    }
    for (int half = 0; half < 8; half += 4) {
        const bloomery_key *four = keys + half;
        __m256i bytes = _mm256_setr_epi64x((long long)four[0].bytes, (long long)four[1].bytes,
                                           (long long)four[2].bytes, (long long)four[3].bytes);
        __m256i low, high;
        if (not_eight == 0)
            xxh3_eight_avx2(with, load_avx2(four, false), &low, &high);
        else if (not_short == 0)
            xxh3_nine_to_sixteen_avx2(with, load_avx2(four, false), load_avx2(four, true), bytes,
                                      &low, &high);
        else
            xxh3_medium_keys_avx2(with, four, bytes, &low, &high);
        _mm256_store_si256((__m256i *)(void *)(lo + half), low);
        _mm256_store_si256((__m256i *)(void *)(hi + half), high);
    }
}

#endif
