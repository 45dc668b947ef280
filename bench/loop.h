/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the loops of rivals and limits have in common: what they read, and the hash.
 *
 * The hash is that of our filters, XXH3 of 64 bits, inlined, and the compiler knows the lengths of
 * the keys of a type: 8 bytes, 12 bytes, or 17 to 128. It does not know the seed, as with any
 * filter, so that nothing is computed ahead but what does not depend on the key.
 */
#ifndef BLOOMERY_BENCH_LOOP_H
#define BLOOMERY_BENCH_LOOP_H

#include "bench.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* A loop has a copy of its own: were it in memory that the loop's stores might change, it would be
 * read again for every key. */
struct bench_loop {
    unsigned char *memory;
    uint64_t blocks;
    uint64_t seed;
    const uint64_t *numbers;
    const bloomery_key *keys;
    size_t count;
};

static inline __attribute__((always_inline)) uint64_t
bench_loop_hash(const struct bench_loop *loop, size_t i, enum bench_type type)
{
    if (type == BENCH_INTEGERS)
        return XXH3_64bits_withSeed(&loop->numbers[i], 8, loop->seed);
    if (type == BENCH_IDS)
        return XXH3_64bits_withSeed(loop->keys[i].data, 12, loop->seed);
    const bloomery_key key = loop->keys[i];
    if (key.bytes <= 16 || key.bytes > 128)
        __builtin_unreachable();
    return XXH3_64bits_withSeed(key.data, key.bytes, loop->seed);
}

#endif
