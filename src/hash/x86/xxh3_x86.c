/* SPDX-License-Identifier: Apache-2.0 */
/* Many keys at once: groups of eight, and what is left one by one. */
#if defined(__x86_64__)

#include "hash/x86/xxh3_groups.h"

__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt"))) void
bloomery_xxh3_many_avx512(const struct bloomery_hash_secret *secret, const bloomery_key *keys,
                          size_t count, bloomery_hash *hashes)
{
    const struct bloomery_xxh3_secret with = bloomery_xxh3_secret_of(secret->seed);
    const __m512i first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const __m512i last = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        __m512i lo, hi;
        xxh3_group_avx512(secret, &with, keys + i, &lo, &hi);
        _mm512_storeu_si512(hashes + i, _mm512_permutex2var_epi64(lo, first, hi));
        _mm512_storeu_si512(hashes + i + 4, _mm512_permutex2var_epi64(lo, last, hi));
    }
    for (; i < count; i++)
        hashes[i] = bloomery_xxh3_any(secret, keys[i]);
}

__attribute__((target("avx2,bmi,bmi2,popcnt"))) void
bloomery_xxh3_many_avx2(const struct bloomery_hash_secret *secret, const bloomery_key *keys,
                        size_t count, bloomery_hash *hashes)
{
    const struct bloomery_xxh3_secret with = bloomery_xxh3_secret_of(secret->seed);
    uint64_t lo[8] __attribute__((aligned(32)));
    uint64_t hi[8] __attribute__((aligned(32)));
    size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        xxh3_group_avx2(secret, &with, keys + i, lo, hi);
        for (size_t j = 0; j < 8; j++)
            hashes[i + j] = (bloomery_hash){.lo = lo[j], .hi = hi[j]};
    }
    for (; i < count; i++)
        hashes[i] = bloomery_xxh3_any(secret, keys[i]);
}

#endif
