/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MurmurHash2 (Austin Appleby, public domain) for 64 bits, known as MurmurHash64A, and for 32 bits,
 * from their definitions. Words are little-endian, and the same steps are taken in both widths:
 *
 *                          64 bits                    32 bits
 *     begin                h = seed ^ length m        h = seed ^ length
 *     each word w          w *= m                     w *= m
 *                          w ^= w >> 47               w ^= w >> 24
 *                          w *= m                     w *= m
 *                          h = (h ^ w) m              h = h m ^ w
 *     what is left, if any h = (h ^ rest) m           h = (h ^ rest) m
 *     end                  h ^= h >> 47               h ^= h >> 13
 *                          h *= m                     h *= m
 *                          h ^= h >> 47               h ^= h >> 15
 *
 * RedisBloom and libbloom make a pair of them: the hash of the key with a fixed seed, and once more
 * with that hash as the seed.
 */
#include "hash/foreign/murmur2.h"

#include "hash/hashes.h"

#include "base/bytes.h"

static const uint64_t factor_64 = UINT64_C(0xc6a4a7935bd1e995);
static const uint32_t factor_32 = 0x5bd1e995;
static const uint32_t libbloom_seed = 0x9747b28c;

uint64_t bloomery_murmur64a(uint64_t seed, const uint8_t *data, size_t bytes)
{
    const size_t whole = bytes / 8 * 8;
    uint64_t h = seed ^ (uint64_t)bytes * factor_64;
    for (size_t at = 0; at < whole; at += 8) {
        uint64_t word = bloomery_load_u64(data + at) * factor_64;
        word = (word ^ word >> 47) * factor_64;
        h = (h ^ word) * factor_64;
    }
    if (bytes > whole)
        h = (h ^ bloomery_load_le(data + whole, (unsigned)(bytes - whole))) * factor_64;
    h = (h ^ h >> 47) * factor_64;
    return h ^ h >> 47;
}

uint32_t bloomery_murmur2(uint32_t seed, const uint8_t *data, size_t bytes)
{
    const size_t whole = bytes / 4 * 4;
    uint32_t h = seed ^ (uint32_t)bytes;
    for (size_t at = 0; at < whole; at += 4) {
        uint32_t word = bloomery_load_u32(data + at) * factor_32;
        word = (word ^ word >> 24) * factor_32;
        h = h * factor_32 ^ word;
    }
    if (bytes > whole)
        h = (h ^ (uint32_t)bloomery_load_le(data + whole, (unsigned)(bytes - whole))) * factor_32;
    h = (h ^ h >> 13) * factor_32;
    return h ^ h >> 15;
}

static bloomery_hash pair_64(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    (void)secret;
    const uint64_t first = bloomery_murmur64a(factor_64, key.data, key.bytes);
    return (bloomery_hash){.lo = first, .hi = bloomery_murmur64a(first, key.data, key.bytes)};
}

static bloomery_hash pair_32(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    (void)secret;
    const uint32_t first = bloomery_murmur2(libbloom_seed, key.data, key.bytes);
    return (bloomery_hash){.lo = first, .hi = bloomery_murmur2(first, key.data, key.bytes)};
}

const struct bloomery_hash_row bloomery_hash_murmur64a = {
    BLOOMERY_HASH_NAMED(murmur64a),
    .available = true,
    .one = pair_64,
};

const struct bloomery_hash_row bloomery_hash_murmur2 = {
    BLOOMERY_HASH_NAMED(murmur2),
    .available = true,
    .one = pair_32,
};
