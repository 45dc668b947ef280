/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XXH3, 64 bits, compiled into the caller: for short keys a call would cost as much as the hash.
 * XXH3 makes three numbers of its secret and the seed for 4 to 16 bytes, computed once per filter.
 * These lengths are written out here, and for batches those up to 128 bytes too. For single keys
 * these are libxxhash's, with the length bounded so that no more of it is compiled in; all others
 * are called.
 *
 *     4 to 8     x = first four bytes << 32 + last four, XOR flip[0]
 *                rotations, two products (rrmxmx)
 *     9 to 16    a = first eight bytes XOR flip[1], b = last eight XOR flip[2]
 *                length + swap(a) + b + fold(a, b), one product (avalanche)
 *     17 to 128  a sum of products of 16 bytes each, and the avalanche
 *
 * The hash is that of XXH3_64bits_withSeed, to the last bit (tests/property/hashes.c).
 */
#ifndef BLOOMERY_HASH_XXH3_H
#define BLOOMERY_HASH_XXH3_H

#define XXH_INLINE_ALL
#include "hash/hashes.h"

#include "base/bytes.h"
#include "base/cpu.h"

#include <assert.h>
#include <xxhash.h>

#define INLINE static inline __attribute__((always_inline))

INLINE struct bloomery_short_secret bloomery_short_secret_of(uint64_t seed)
{
    const uint64_t swapped = (uint64_t)__builtin_bswap32((uint32_t)seed) << 32;
    /* Words 1 and 2, 3 and 4, 5 and 6 of XXH3's default secret, XORed. */
    return (struct bloomery_short_secret){{UINT64_C(0xc73ab174c5ecd5a2) - (seed ^ swapped),
                                           UINT64_C(0x6782737bea4239b9) + seed,
                                           UINT64_C(0xaf56bc3b0996523a) - seed}};
}

INLINE uint64_t bloomery_rotate_left(uint64_t value, unsigned bits)
{
    assert(bits > 0 && bits < 64);
    return value << bits | value >> (64 - bits);
}

/* XXH3's factors: of rrmxmx, of its avalanche, and the one that the length starts with. */
#define BLOOMERY_XXH3_RRMXMX    UINT64_C(0x9FB21C651E98DF25)
#define BLOOMERY_XXH3_AVALANCHE UINT64_C(0x165667919E3779F9)
#define BLOOMERY_XXH3_LENGTH    UINT64_C(0x9E3779B185EBCA87)

/* rrmxmx behind its rotations. */
INLINE uint64_t bloomery_xxh3_products(uint64_t x, uint64_t bytes)
{
    x *= BLOOMERY_XXH3_RRMXMX;
    x ^= (x >> 35) + bytes;
    x *= BLOOMERY_XXH3_RRMXMX;
    return x ^ x >> 28;
}

INLINE uint64_t bloomery_xxh3_avalanche(uint64_t x)
{
    x = (x ^ x >> 37) * BLOOMERY_XXH3_AVALANCHE;
    return x ^ x >> 32;
}

/* Of a word of eight bytes, as they lie in memory. The halves change places, which the rotations do
 * on their way. */
INLINE uint64_t bloomery_xxh3_8(const struct bloomery_short_secret *secret, uint64_t word)
{
    const uint64_t x = word ^ bloomery_rotate_left(secret->flip[0], 32);
    return bloomery_xxh3_products(
        bloomery_rotate_left(x, 32) ^ bloomery_rotate_left(x, 17) ^ bloomery_rotate_left(x, 56), 8);
}

INLINE uint64_t bloomery_xxh3_4_to_8(const struct bloomery_short_secret *secret,
                                     const uint8_t *data, size_t bytes)
{
    assert(bytes >= 4 && bytes <= 8);
    const uint64_t first = bloomery_load_u32(data);
    const uint64_t x = ((first << 32) + bloomery_load_u32(data + bytes - 4)) ^ secret->flip[0];
    return bloomery_xxh3_products(x ^ bloomery_rotate_left(x, 49) ^ bloomery_rotate_left(x, 24),
                                  bytes);
}

/* Of 9 to 16 bytes, by the first eight and the last eight. */
INLINE uint64_t bloomery_xxh3_two_words(const struct bloomery_short_secret *secret, uint64_t first,
                                        uint64_t last, uint64_t bytes)
{
    const uint64_t a = first ^ secret->flip[1];
    const uint64_t b = last ^ secret->flip[2];
    assert(bytes > 8 && bytes <= 16);
    return bloomery_xxh3_avalanche(bytes + __builtin_bswap64(a) + b + bloomery_multiply_fold(a, b));
}

INLINE uint64_t bloomery_xxh3_9_to_16(const struct bloomery_short_secret *secret,
                                      const uint8_t *data, size_t bytes)
{
    assert(bytes > 8 && bytes <= 16);
    return bloomery_xxh3_two_words(secret, bloomery_load_u64(data),
                                   bloomery_load_u64(data + bytes - 8), bytes);
}

/* Of 4 to 16 bytes. */
INLINE uint64_t bloomery_xxh3_short(const struct bloomery_short_secret *secret, const void *data,
                                    size_t bytes)
{
    return bytes <= 8 ? bloomery_xxh3_4_to_8(secret, data, bytes)
                      : bloomery_xxh3_9_to_16(secret, data, bytes);
}

/* ---- 17 to 128 bytes ------------------------------------------------------------------------- */

/*
 * Such a key is a sum of 2 to 8 products, one from each end for each 32 bytes begun:
 *
 *     bytes          0..15    16..31    ...    -32..-17    -16..-1
 *     with words     0, 1     4, 5      ...     6, 7        2, 3       of the secret
 *
 *     product        fold(first eight bytes XOR (word + seed), others XOR (next word - seed))
 *
 * libxxhash adds the seed to the secret for each product of each key. For a batch it is added once.
 */
enum { BLOOMERY_LONG_WORDS = 16 };

struct bloomery_long_secret {
    uint64_t words[BLOOMERY_LONG_WORDS];
};

INLINE struct bloomery_long_secret bloomery_long_secret_of(uint64_t seed)
{
    /* The first words of XXH3's default secret. */
    struct bloomery_long_secret secret = {{
        UINT64_C(0xbe4ba423396cfeb8),
        UINT64_C(0x1cad21f72c81017c),
        UINT64_C(0xdb979083e96dd4de),
        UINT64_C(0x1f67b3b7a4a44072),
        UINT64_C(0x78e5c0cc4ee679cb),
        UINT64_C(0x2172ffcc7dd05a82),
        UINT64_C(0x8e2443f7744608b8),
        UINT64_C(0x4c263a81e69035e0),
        UINT64_C(0xcb00c391bb52283c),
        UINT64_C(0xa32e531b8b65d088),
        UINT64_C(0x4ef90da297486471),
        UINT64_C(0xd8acdea946ef1938),
        UINT64_C(0x3f349ce33f76faa8),
        UINT64_C(0x1d4f0bc7c7bbdcf9),
        UINT64_C(0x3159b4cd4be0518a),
        UINT64_C(0x647378d9c97e9fc8),
    }};
    for (int i = 0; i < BLOOMERY_LONG_WORDS; i += 2) {
        secret.words[i] += seed;
        secret.words[i + 1] -= seed;
    }
    return secret;
}

/* The products of 16 bytes at a distance from each end. */
INLINE uint64_t bloomery_xxh3_both_ends(const struct bloomery_long_secret *secret,
                                        const uint8_t *data, size_t bytes, const size_t distance)
{
    const uint64_t *words = secret->words + distance / 4;
    const uint8_t *end = data + bytes - distance - 16;
    return bloomery_multiply_fold(bloomery_load_u64(data + distance) ^ words[0],
                                  bloomery_load_u64(data + distance + 8) ^ words[1]) +
           bloomery_multiply_fold(bloomery_load_u64(end) ^ words[2],
                                  bloomery_load_u64(end + 8) ^ words[3]);
}

INLINE uint64_t bloomery_xxh3_17_to_128(const struct bloomery_long_secret *secret,
                                        const uint8_t *data, size_t bytes)
{
    assert(bytes > 16 && bytes <= 128);
    uint64_t sum = bytes * BLOOMERY_XXH3_LENGTH;
    sum += bloomery_xxh3_both_ends(secret, data, bytes, 0);
    if (bytes > 32)
        sum += bloomery_xxh3_both_ends(secret, data, bytes, 16);
    if (bytes > 64)
        sum += bloomery_xxh3_both_ends(secret, data, bytes, 32);
    if (bytes > 96)
        sum += bloomery_xxh3_both_ends(secret, data, bytes, 48);
    return bloomery_xxh3_avalanche(sum);
}

/* ---- Any length ------------------------------------------------------------------------------ */

/* Whether a single key has 4 to 16 bytes. */
INLINE bool bloomery_xxh3_is_short(size_t bytes)
{
    return __builtin_expect(bytes == sizeof(uint64_t), 1) || bytes - 4 <= 12;
}

/* The hash of a single key of 4 to 16 bytes. Integers come first: from there on their length is
 * known, and one load and a rotation make the word of their halves. */
INLINE uint64_t bloomery_xxh3_single(const struct bloomery_short_secret *secret, const void *data,
                                     size_t bytes)
{
    if (__builtin_expect(bytes != sizeof(uint64_t), 0))
        return bloomery_xxh3_short(secret, data, bytes);
    const uint64_t x = bloomery_rotate_left(bloomery_load_u64(data), 32) ^ secret->flip[0];
    return bloomery_xxh3_products(x ^ bloomery_rotate_left(x, 49) ^ bloomery_rotate_left(x, 24),
                                  sizeof(uint64_t));
}

/* Of any key: those of 4 to 128 bytes here, others by a call. A function that calls this should be
 * `flatten`: libxxhash marks its parts as inline only. */
INLINE bloomery_hash bloomery_xxh3_64(const struct bloomery_hash_secret *secret,
                                      const struct bloomery_short_secret *short_secret,
                                      bloomery_key key)
{
    if (key.bytes - 4 <= 12)
        return (bloomery_hash){0, bloomery_xxh3_short(short_secret, key.data, key.bytes)};
    if (!BLOOMERY_FOR_SIZE && key.bytes - 17 <= 111)
        return (bloomery_hash){0, XXH3_64bits_withSeed(key.data, key.bytes, secret->seed)};
    return bloomery_hash_xxh3_64.one(secret, key);
}

#undef INLINE

#endif
