/* SPDX-License-Identifier: Apache-2.0 */
/* XXH3 of libxxhash, inlined: for keys of a dozen bytes the call would cost as much as the hash. */
#define XXH_INLINE_ALL
#include "hash/hashes.h"

#include <xxhash.h>

static inline bloomery_hash hash(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    XXH128_hash_t whole = XXH3_128bits_withSeed(key.data, key.bytes, secret->seed);
    return (bloomery_hash){.lo = whole.low64, .hi = whole.high64};
}

static bloomery_hash one(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    return hash(secret, key);
}

static void many(const struct bloomery_hash_secret *secret, const bloomery_key *keys, size_t count,
                 bloomery_hash *hashes)
{
    for (size_t i = 0; i < count; i++)
        hashes[i] = hash(secret, keys[i]);
}

const struct bloomery_hash_row bloomery_hash_xxh3 = {
    .id = BLOOMERY_HASH_XXH3,
    .name = "xxh3",
    .keyed = false,
    .available = true,
    .one = one,
    .many = many,
};

uint64_t bloomery_checksum(const void *data, size_t bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, bytes, seed);
}
