/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MurmurHash3 x64 128 as Cassandra has it. The last 1 to 15 bytes are signed numbers that are
 * widened to 64 bits before they are shifted to their places and XORed together. So a byte from
 * 0x80 on there turns over all bits above it in its word. For others, and for whole blocks of 16,
 * nothing is different.
 *
 * Cassandra's filters up to 3.x begin at h1 and step by h2, later ones begin at h2 and step by h1:
 * two rows.
 */
#include "hash/foreign/murmur3.h"
#include "hash/hashes.h"

/* Up to 8 bytes as a word. */
static uint64_t signed_word(const uint8_t *from, size_t bytes)
{
    uint64_t word = 0;
    assert(bytes > 0 && bytes <= 8);
    for (size_t i = 0; i < bytes; i++)
        word ^= (uint64_t)(int64_t)(int8_t)from[i] << (8 * i);
    return word;
}

static bloomery_hash one(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const uint8_t *data = key.data;
    const size_t whole = key.bytes / 16 * 16;
    const size_t left = key.bytes - whole;
    struct bloomery_murmur3 state = {secret->seed, secret->seed};
    uint8_t tail[16] = {0};
    for (size_t at = 0; at < whole; at += 16)
        bloomery_murmur3_block(&state, data + at);
    if (left > 0)
        bloomery_store_u64(tail, signed_word(data + whole, left < 8 ? left : 8));
    if (left > 8)
        bloomery_store_u64(tail + 8, signed_word(data + whole + 8, left - 8));
    return bloomery_murmur3_finish(&state, tail, left, key.bytes);
}

static bloomery_hash swapped(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const bloomery_hash hash = one(secret, key);
    return (bloomery_hash){.lo = hash.hi, .hi = hash.lo};
}

const struct bloomery_hash_row bloomery_hash_murmur3_cassandra = {
    BLOOMERY_HASH_NAMED(murmur3_cassandra),
    .available = true,
    .one = one,
};

const struct bloomery_hash_row bloomery_hash_murmur3_cassandra_swapped = {
    BLOOMERY_HASH_NAMED(murmur3_cassandra_swapped),
    .available = true,
    .one = swapped,
};
