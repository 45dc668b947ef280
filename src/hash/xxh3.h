/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XXH3, 64 bits, compiled into the caller: for short keys a call would cost as much as the hash.
 * XXH3 makes three numbers of its secret and the seed for 4 to 16 bytes, computed once per filter.
 * These lengths are written out here. Those up to 128 bytes are libxxhash's, with the length
 * bounded so that no more of it is compiled in; all others are called.
 *
 *     4 to 8     x = first four bytes << 32 + last four, XOR flip[0]
 *                rotations, two products (rrmxmx)
 *     9 to 16    a = first eight bytes XOR flip[1], b = last eight XOR flip[2]
 *                length + swap(a) + b + fold(a, b), one product (avalanche)
 *
 * The hash is that of XXH3_64bits_withSeed, to the last bit (tests/property/hashes.c).
 */
#ifndef BLOOMERY_HASH_XXH3_H
#define BLOOMERY_HASH_XXH3_H

#define XXH_INLINE_ALL
#include "hash/hashes.h"

#include "base/bytes.h"

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

/* rrmxmx behind its rotations. */
INLINE uint64_t bloomery_xxh3_products(uint64_t x, uint64_t bytes)
{
    x *= UINT64_C(0x9FB21C651E98DF25);
    x ^= (x >> 35) + bytes;
    x *= UINT64_C(0x9FB21C651E98DF25);
    return x ^ x >> 28;
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

INLINE uint64_t bloomery_xxh3_9_to_16(const struct bloomery_short_secret *secret,
                                      const uint8_t *data, size_t bytes)
{
    assert(bytes > 8 && bytes <= 16);
    const uint64_t a = bloomery_load_u64(data) ^ secret->flip[1];
    const uint64_t b = bloomery_load_u64(data + bytes - 8) ^ secret->flip[2];
    uint64_t x = bytes + __builtin_bswap64(a) + b + bloomery_multiply_fold(a, b);
    x = (x ^ x >> 37) * UINT64_C(0x165667919E3779F9);
    return x ^ x >> 32;
}

/* Of 4 to 16 bytes. */
INLINE uint64_t bloomery_xxh3_short(const struct bloomery_short_secret *secret, const void *data,
                                    size_t bytes)
{
    return bytes <= 8 ? bloomery_xxh3_4_to_8(secret, data, bytes)
                      : bloomery_xxh3_9_to_16(secret, data, bytes);
}

/* Of any key: those of 4 to 128 bytes here, others by a call. A function that calls this should be
 * `flatten`: libxxhash marks its parts as inline only. */
INLINE bloomery_hash bloomery_xxh3_64(const struct bloomery_hash_secret *secret,
                                      const struct bloomery_short_secret *short_secret,
                                      bloomery_key key)
{
    if (key.bytes - 4 <= 12)
        return (bloomery_hash){0, bloomery_xxh3_short(short_secret, key.data, key.bytes)};
    if (key.bytes - 17 <= 111)
        return (bloomery_hash){0, XXH3_64bits_withSeed(key.data, key.bytes, secret->seed)};
    return bloomery_hash_xxh3_64.one(secret, key);
}

#undef INLINE

#endif
