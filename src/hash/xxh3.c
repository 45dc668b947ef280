/* SPDX-License-Identifier: Apache-2.0 */
#include "hash/xxh3.h"

static bloomery_hash one_64(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    return (bloomery_hash){.lo = 0, .hi = XXH3_64bits_withSeed(key.data, key.bytes, secret->seed)};
}

__attribute__((flatten)) static void many_64(const struct bloomery_hash_secret *secret,
                                             const bloomery_key *keys, size_t count,
                                             bloomery_hash *hashes)
{
    const struct bloomery_short_secret short_secret = bloomery_short_secret_of(secret->seed);
    for (size_t i = 0; i < count; i++)
        hashes[i] = bloomery_xxh3_64(secret, &short_secret, keys[i]);
}

static bloomery_hash one_128(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const XXH128_hash_t whole = XXH3_128bits_withSeed(key.data, key.bytes, secret->seed);
    return (bloomery_hash){.lo = whole.low64, .hi = whole.high64};
}

bloomery_hash bloomery_xxh3_salted(const void *salt, size_t salt_bytes, const void *data,
                                   size_t bytes)
{
    XXH3_state_t state;
    XXH3_128bits_reset(&state);
    if (salt_bytes > 0)
        XXH3_128bits_update(&state, salt, salt_bytes);
    if (bytes > 0)
        XXH3_128bits_update(&state, data, bytes);
    const XXH128_hash_t whole = XXH3_128bits_digest(&state);
    return (bloomery_hash){.lo = whole.low64, .hi = whole.high64};
}

const struct bloomery_hash_row bloomery_hash_xxh3_64 = {
    .id = BLOOMERY_HASH_XXH3_64,
    .name = "xxh3-64",
    .keyed = false,
    .available = true,
    .one = one_64,
    .many = many_64,
};

const struct bloomery_hash_row bloomery_hash_xxh3_128 = {
    .id = BLOOMERY_HASH_XXH3_128,
    .name = "xxh3-128",
    .keyed = false,
    .available = true,
    .one = one_128,
};

uint64_t bloomery_checksum(const void *data, size_t bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, bytes, seed);
}
