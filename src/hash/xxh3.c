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

__attribute__((noinline)) static bloomery_hash one(const struct bloomery_hash_secret *secret,
                                                   bloomery_key key)
{
    return hash(secret, key);
}

/* Told a length, the compiler keeps only the few instructions that XXH3 takes for it: 8-byte
 * integers and keys of 9 to 16 bytes, IDs for example, cost a third of what they do with the length
 * found out at run time behind a call. The hash is the same. */
__attribute__((flatten)) static void many(const struct bloomery_hash_secret *secret,
                                          const bloomery_key *keys, size_t count,
                                          bloomery_hash *hashes)
{
    const struct bloomery_hash_secret own = *secret;
    for (size_t i = 0; i < count; i++) {
        const bloomery_key key = keys[i];
        if (key.bytes == 8)
            hashes[i] = hash(&own, bloomery_key_of(key.data, 8));
        else if (key.bytes >= 9 && key.bytes <= 16)
            hashes[i] = hash(&own, key);
        else
            hashes[i] = one(&own, key);
    }
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
