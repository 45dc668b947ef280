/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spark's pair of hashes of 32 bits: lo is the hash with the seed, lo >> 32 the one with the first
 * as its seed. The hash is MurmurHash3 x86 32 but for its tail:
 *
 *     h = seed
 *     4 bytes at a time as a little-endian word w, and then each of the last 0 to 3 bytes as a
 *     signed number w:
 *         h ^= rotl(w 0xcc9e2d51, 15) 0x1b873593      h = rotl(h, 13) 5 + 0xe6546b64
 *     h ^= length, finalised
 *
 * The original fills the tail up to one word, and leaves the second step out. A number is hashed as
 * 8 bytes, the least significant first.
 */
#include "base/bytes.h"
#include "hash/hashes.h"

#include <assert.h>

static uint32_t rotate(uint32_t value, unsigned bits)
{
    assert(bits > 0 && bits < 32);
    return value << bits | value >> (32 - bits);
}

static uint32_t mix(uint32_t h, uint32_t word)
{
    h ^= rotate(word * 0xcc9e2d51U, 15) * 0x1b873593U;
    return rotate(h, 13) * 5 + 0xe6546b64U;
}

static uint32_t finalise(uint32_t h)
{
    h = (h ^ (h >> 16)) * 0x85ebca6bU;
    h = (h ^ (h >> 13)) * 0xc2b2ae35U;
    return h ^ (h >> 16);
}

static uint32_t hash_32(uint32_t seed, bloomery_key key)
{
    const uint8_t *data = key.data;
    const size_t whole = key.bytes / 4 * 4;
    uint32_t h = seed;
    for (size_t at = 0; at < whole; at += 4)
        h = mix(h, bloomery_load_u32(data + at));
    for (size_t at = whole; at < key.bytes; at++)
        h = mix(h, (uint32_t)(int32_t)(int8_t)data[at]);
    return finalise(h ^ (uint32_t)key.bytes);
}

static bloomery_hash pair(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const uint32_t first = hash_32((uint32_t)secret->seed, key);
    const uint32_t second = hash_32(first, key);
    return (bloomery_hash){.lo = (uint64_t)second << 32 | first};
}

const struct bloomery_hash_row bloomery_hash_spark_pair = {
    BLOOMERY_HASH_NAMED(spark_pair),
    .available = true,
    .one = pair,
};
