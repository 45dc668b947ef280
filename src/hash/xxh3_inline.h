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

/* A function that calls these should be `flatten`: libxxhash marks its parts as inline only. */

static inline __attribute__((always_inline)) bloomery_hash
bloomery_xxh3_64(uint64_t seed, const void *data, size_t bytes)
{
    return (bloomery_hash){.lo = 0, .hi = XXH3_64bits_withSeed(data, bytes, seed)};
}

/* Short keys inlined, others by a call. */
static inline __attribute__((always_inline)) bloomery_hash
bloomery_xxh3_64_short(const struct bloomery_hash_secret *secret, const void *data, size_t bytes)
{
    if (bytes == 8)
        return bloomery_xxh3_64(secret->seed, data, 8);
    if (bytes >= 9 && bytes <= 16)
        return bloomery_xxh3_64(secret->seed, data, bytes);
    return bloomery_hash_xxh3_64.one(secret, (bloomery_key){data, bytes});
}

#endif
