/* SPDX-License-Identifier: Apache-2.0 */
/* XXH64, which Parquet takes: compiled in from libxxhash's header, as XXH3 is. */
#define XXH_INLINE_ALL
#include "hash/hashes.h"

#include <xxhash.h>

static bloomery_hash one(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    if (key.data == NULL) /* the empty key may come so */
        return (bloomery_hash){.lo = XXH64("", 0, secret->seed)};
    return (bloomery_hash){.lo = XXH64(key.data, key.bytes, secret->seed)};
}

const struct bloomery_hash_row bloomery_hash_xxh64 = {
    BLOOMERY_HASH_NAMED(xxh64),
    .available = true,
    .one = one,
};
