/* SPDX-License-Identifier: Apache-2.0 */
#include "hash/xxh3_inline.h"

#include "base/cpu.h"

bloomery_hash bloomery_xxh3_any(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    return bloomery_xxh3(secret->seed, key.data, key.bytes);
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

__attribute__((flatten)) static void many(const struct bloomery_hash_secret *secret,
                                          const bloomery_key *keys, size_t count,
                                          bloomery_hash *hashes)
{
#if defined(__x86_64__)
    if (bloomery_cpu_level() >= BLOOMERY_CPU_AVX512) {
        bloomery_xxh3_many_avx512(secret, keys, count, hashes);
        return;
    }
    if (bloomery_cpu_level() >= BLOOMERY_CPU_AVX2) {
        bloomery_xxh3_many_avx2(secret, keys, count, hashes);
        return;
    }
#endif
    const struct bloomery_hash_secret own = *secret;
    for (size_t i = 0; i < count; i++)
        hashes[i] = bloomery_xxh3_short(&own, keys[i]);
}

const struct bloomery_hash_row bloomery_hash_xxh3 = {
    .id = BLOOMERY_HASH_XXH3,
    .name = "xxh3",
    .keyed = false,
    .available = true,
    .one = bloomery_xxh3_any,
    .many = many,
};

uint64_t bloomery_checksum(const void *data, size_t bytes, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, bytes, seed);
}
