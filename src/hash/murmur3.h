/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MurmurHash3, the one for 64-bit processors with 128 bits (Austin Appleby, public domain), from
 * its definition:
 *
 *     h1 = h2 = seed
 *     16 bytes at a time, as two little-endian words k1 k2:
 *         h1 ^= rotl(k1 c1, 31) c2     h1 = (rotl(h1, 27) + h2) 5 + 0x52dce729
 *         h2 ^= rotl(k2 c2, 33) c1     h2 = (rotl(h2, 31) + h1) 5 + 0x38495ab5
 *     what is left, filled up with zeros: the two ^= alone, each only if it has a byte
 *     both ^= length, are added to each other, finalised, and added to each other again
 *
 * It is here in parts, since several systems have variants of their own.
 */
#ifndef BLOOMERY_HASH_MURMUR3_H
#define BLOOMERY_HASH_MURMUR3_H

#include "base/bytes.h"

#include <bloomery/bloomery.h>

#include <assert.h>
#include <string.h>

#define BLOOMERY_MURMUR3_C1 UINT64_C(0x87c37b91114253d5)
#define BLOOMERY_MURMUR3_C2 UINT64_C(0x4cf5ad432745937f)

struct bloomery_murmur3 {
    uint64_t h1;
    uint64_t h2;
};

static inline uint64_t bloomery_rotate_64(uint64_t value, unsigned bits)
{
    assert(bits > 0 && bits < 64);
    return value << bits | value >> (64 - bits);
}

/* The finaliser. */
static inline uint64_t bloomery_fmix64(uint64_t x)
{
    x = (x ^ (x >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    x = (x ^ (x >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return x ^ (x >> 33);
}

static inline uint64_t bloomery_murmur3_first(uint64_t k1)
{
    return bloomery_rotate_64(k1 * BLOOMERY_MURMUR3_C1, 31) * BLOOMERY_MURMUR3_C2;
}

static inline uint64_t bloomery_murmur3_second(uint64_t k2)
{
    return bloomery_rotate_64(k2 * BLOOMERY_MURMUR3_C2, 33) * BLOOMERY_MURMUR3_C1;
}

static inline void bloomery_murmur3_block(struct bloomery_murmur3 *state, const uint8_t *block)
{
    state->h1 ^= bloomery_murmur3_first(bloomery_load_u64(block));
    state->h1 = (bloomery_rotate_64(state->h1, 27) + state->h2) * 5 + 0x52dce729;
    state->h2 ^= bloomery_murmur3_second(bloomery_load_u64(block + 8));
    state->h2 = (bloomery_rotate_64(state->h2, 31) + state->h1) * 5 + 0x38495ab5;
}

/* The last `left` (0 to 15) bytes of `bytes`, filled up to 16. */
static inline bloomery_hash bloomery_murmur3_finish(struct bloomery_murmur3 *state,
                                                    const uint8_t *tail, size_t left, size_t bytes)
{
    assert(left < 16 && bytes % 16 == left);
    if (left > 8)
        state->h2 ^= bloomery_murmur3_second(bloomery_load_u64(tail + 8));
    if (left > 0)
        state->h1 ^= bloomery_murmur3_first(bloomery_load_u64(tail));
    uint64_t h1 = state->h1 ^ bytes;
    uint64_t h2 = state->h2 ^ bytes;
    h1 += h2;
    h2 += h1;
    h1 = bloomery_fmix64(h1);
    h2 = bloomery_fmix64(h2);
    h1 += h2;
    h2 += h1;
    return (bloomery_hash){.lo = h1, .hi = h2};
}

/* All of it; `data` may be NULL if `bytes` is 0. */
static inline bloomery_hash bloomery_murmur3(uint64_t seed, const uint8_t *data, size_t bytes)
{
    struct bloomery_murmur3 state = {seed, seed};
    uint8_t tail[16] = {0};
    size_t whole = bytes / 16 * 16;
    for (size_t at = 0; at < whole; at += 16)
        bloomery_murmur3_block(&state, data + at);
    if (bytes > whole)
        memcpy(tail, data + whole, bytes - whole);
    return bloomery_murmur3_finish(&state, tail, bytes - whole, bytes);
}

#endif
