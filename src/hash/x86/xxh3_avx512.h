/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XXH3, 128 bits, of eight short keys at once: a lane of a register for each. libxxhash has vector
 * code for long inputs only; short ones it hashes one after the other, and what is a chain of three
 * or four multiplications for one key is the same chain for eight here. Two lengths have a path: keys
 * of 8 bytes, integers, and keys of 9 to 16, IDs. The numbers are those of the specification of XXH3
 * (its sections on inputs of 4 to 8 and of 9 to 16 bytes) and the secret is libxxhash's own table, so
 * that the hash is the same, which tests/property/hashes.c checks for every length and many seeds.
 */
#ifndef BLOOMERY_HASH_X86_XXH3_AVX512_H
#define BLOOMERY_HASH_X86_XXH3_AVX512_H

#include "base/bytes.h"
#include "hash/xxh3_inline.h"

#include <immintrin.h>

#define BLOOMERY_TARGET_AVX512 \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt")))
#define BLOOMERY_INLINE_AVX512 BLOOMERY_TARGET_AVX512 static inline __attribute__((always_inline))

/* What a seed makes of the secret. */
struct bloomery_xxh3_eight {
    uint64_t flip;     /* 4 to 8 bytes */
    uint64_t flip_low; /* 9 to 16 bytes */
    uint64_t flip_high;
};

static inline struct bloomery_xxh3_eight bloomery_xxh3_eight_of(uint64_t seed)
{
    const uint8_t *secret = XXH3_kSecret;
    uint64_t folded = seed ^ (uint64_t)__builtin_bswap32((uint32_t)seed) << 32;
    return (struct bloomery_xxh3_eight){
        .flip = (bloomery_load_u64(secret + 16) ^ bloomery_load_u64(secret + 24)) + folded,
        .flip_low = (bloomery_load_u64(secret + 32) ^ bloomery_load_u64(secret + 40)) - seed,
        .flip_high = (bloomery_load_u64(secret + 48) ^ bloomery_load_u64(secret + 56)) + seed,
    };
}

BLOOMERY_INLINE_AVX512 __m512i bloomery_lanes_of(uint64_t value)
{
    return _mm512_set1_epi64((long long)value);
}

/* 64 x 64 -> 128 bits, from four products of 32 x 32. */
BLOOMERY_INLINE_AVX512 void bloomery_multiply_avx512(__m512i a, __m512i b, __m512i *low,
                                                     __m512i *high)
{
    __m512i a_high = _mm512_srli_epi64(a, 32);
    __m512i b_high = _mm512_srli_epi64(b, 32);
    __m512i middle = _mm512_add_epi64(_mm512_mul_epu32(a_high, b),
                                      _mm512_srli_epi64(_mm512_mul_epu32(a, b), 32));
    __m512i carry = _mm512_add_epi64(_mm512_mul_epu32(a, b_high),
                                     _mm512_and_si512(middle, bloomery_lanes_of(UINT32_MAX)));
    *high = _mm512_add_epi64(
        _mm512_add_epi64(_mm512_mul_epu32(a_high, b_high), _mm512_srli_epi64(middle, 32)),
        _mm512_srli_epi64(carry, 32));
    *low = _mm512_mullo_epi64(a, b);
}

/* x ^ (x >> shift) */
#define BLOOMERY_XORSHIFT(x, shift) _mm512_xor_si512(x, _mm512_srli_epi64(x, shift))

BLOOMERY_INLINE_AVX512 __m512i bloomery_avalanche_avx512(__m512i x)
{
    x = _mm512_mullo_epi64(BLOOMERY_XORSHIFT(x, 37),
                           bloomery_lanes_of(UINT64_C(0x165667919E3779F9)));
    return BLOOMERY_XORSHIFT(x, 32);
}

/* Eight 8-byte loads at `shift` bytes past each key's data. */
BLOOMERY_INLINE_AVX512 __m512i bloomery_load_eight(const bloomery_key *keys, const size_t *shift)
{
    __m128i pairs[4];
    for (int i = 0; i < 4; i++) {
        const uint8_t *first = keys[2 * i].data;
        const uint8_t *second = keys[2 * i + 1].data;
        __m128i low = _mm_loadl_epi64((const __m128i *)(const void *)(first + shift[2 * i]));
        pairs[i] = _mm_castps_si128(_mm_loadh_pi(
            _mm_castsi128_ps(low), (const __m64 *)(const void *)(second + shift[2 * i + 1])));
    }
    __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(pairs[0]), pairs[1], 1);
    __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(pairs[2]), pairs[3], 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

BLOOMERY_INLINE_AVX512 void bloomery_xxh3_eight_8(const struct bloomery_xxh3_eight *with,
                                                  const bloomery_key *keys, __m512i *lo,
                                                  __m512i *hi)
{
    static const size_t none[8];
    __m512i input = bloomery_load_eight(keys, none);
    __m512i low, high;
    bloomery_multiply_avx512(_mm512_xor_si512(input, bloomery_lanes_of(with->flip)),
                             bloomery_lanes_of(XXH_PRIME64_1 + (8 << 2)), &low, &high);
    high = _mm512_add_epi64(high, _mm512_slli_epi64(low, 1));
    low = _mm512_xor_si512(low, _mm512_srli_epi64(high, 3));
    low = _mm512_mullo_epi64(BLOOMERY_XORSHIFT(low, 35),
                             bloomery_lanes_of(UINT64_C(0x9FB21C651E98DF25)));
    *lo = BLOOMERY_XORSHIFT(low, 28);
    *hi = bloomery_avalanche_avx512(high);
}

BLOOMERY_INLINE_AVX512 void bloomery_xxh3_eight_9to16(const struct bloomery_xxh3_eight *with,
                                                      const bloomery_key *keys, __m512i bytes,
                                                      __m512i *lo, __m512i *hi)
{
    static const size_t none[8];
    const __m512i swap =
        _mm512_broadcast_i32x4(_mm_setr_epi8(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8));
    size_t shift[8];
    for (int i = 0; i < 8; i++)
        shift[i] = keys[i].bytes - 8;
    __m512i first = bloomery_load_eight(keys, none);
    __m512i last = bloomery_load_eight(keys, shift);
    __m512i low, high;
    bloomery_multiply_avx512(
        _mm512_xor_si512(_mm512_xor_si512(first, last), bloomery_lanes_of(with->flip_low)),
        bloomery_lanes_of(XXH_PRIME64_1), &low, &high);
    low =
        _mm512_add_epi64(low, _mm512_slli_epi64(_mm512_sub_epi64(bytes, bloomery_lanes_of(1)), 54));
    last = _mm512_xor_si512(last, bloomery_lanes_of(with->flip_high));
    high = _mm512_add_epi64(
        high, _mm512_add_epi64(last, _mm512_mul_epu32(last, bloomery_lanes_of(XXH_PRIME32_2 - 1))));
    low = _mm512_xor_si512(low, _mm512_shuffle_epi8(high, swap));
    __m512i low_product, high_product;
    bloomery_multiply_avx512(low, bloomery_lanes_of(XXH_PRIME64_2), &low_product, &high_product);
    high_product =
        _mm512_add_epi64(high_product, _mm512_mullo_epi64(high, bloomery_lanes_of(XXH_PRIME64_2)));
    *lo = bloomery_avalanche_avx512(low_product);
    *hi = bloomery_avalanche_avx512(high_product);
}

/* Eight keys, of any length. */
BLOOMERY_INLINE_AVX512 void bloomery_xxh3_eight_hash(const struct bloomery_hash_secret *secret,
                                                     const struct bloomery_xxh3_eight *with,
                                                     const bloomery_key *keys, __m512i *lo,
                                                     __m512i *hi)
{
    _Static_assert(sizeof(bloomery_key) == 16 && offsetof(bloomery_key, bytes) == 8,
                   "a key is a pointer and a length, 8 bytes each");
    const __m512i lengths = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    __m512i bytes =
        _mm512_permutex2var_epi64(_mm512_loadu_si512(keys), lengths, _mm512_loadu_si512(keys + 4));
    if (_mm512_cmpneq_epi64_mask(bytes, bloomery_lanes_of(8)) == 0) {
        bloomery_xxh3_eight_8(with, keys, lo, hi);
    } else if (_mm512_cmpge_epu64_mask(_mm512_sub_epi64(bytes, bloomery_lanes_of(9)),
                                       bloomery_lanes_of(8)) == 0) {
        bloomery_xxh3_eight_9to16(with, keys, bytes, lo, hi);
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

#endif
