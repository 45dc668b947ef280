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
 */
#include "hash/foreign/murmur3.h"

#include "hash/hashes.h"

bloomery_hash bloomery_murmur3(uint64_t seed, const uint8_t *data, size_t bytes)
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

static bloomery_hash one(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    return bloomery_murmur3(secret->seed, key.data, key.bytes);
}

const struct bloomery_hash_row bloomery_hash_murmur3 = {
    BLOOMERY_HASH_NAMED(murmur3),
    .available = true,
    .one = one,
};
