/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XXH3 of libxxhash, compiled into the caller: for keys of a dozen bytes the call would cost as much
 * as the hash. Told a length, the compiler keeps only the few instructions that XXH3 takes for it:
 * 8-byte integers and keys of 9 to 16 bytes, IDs for example, cost a third of what they do with the
 * length found out at run time. The hash is the same.
 */
#ifndef BLOOMERY_HASH_XXH3_INLINE_H
#define BLOOMERY_HASH_XXH3_INLINE_H

#define XXH_INLINE_ALL
#include "hash/hashes.h"

#include <xxhash.h>

static inline __attribute__((always_inline)) bloomery_hash
bloomery_xxh3(uint64_t seed, const void *data, size_t bytes)
{
    XXH128_hash_t whole = XXH3_128bits_withSeed(data, bytes, seed);
    return (bloomery_hash){.lo = whole.low64, .hi = whole.high64};
}

/* A function that calls this should be `flatten`: libxxhash marks its parts as inline only. */
static inline __attribute__((always_inline)) bloomery_hash
bloomery_xxh3_short(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    if (key.bytes == 8)
        return bloomery_xxh3(secret->seed, key.data, 8);
    if (key.bytes >= 9 && key.bytes <= 16)
        return bloomery_xxh3(secret->seed, key.data, key.bytes);
    return bloomery_xxh3_any(secret, key);
}

#endif
