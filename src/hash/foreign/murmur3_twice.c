/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four words of a key: murmur3 x64 128 of it, and of it with a byte 0x01 behind. bits-and-blooms
 * makes its positions of them. With h[0] and h[1] of the first and h[2] and h[3] of the second,
 * position i = 0 .. k-1 is
 *
 *     (h[i & 1] + i h[2 + (((i + (i & 1)) & 3) >> 1)]) mod 2^64 mod m
 *
 * whose second index runs through 2 3 3 2, again and again. The key is read once: both hashes go
 * the same way up to its last sixteen bytes.
 */
#include "hash/foreign/murmur3.h"
#include "hash/hashes.h"

static void four_words(bloomery_key key, uint64_t words[4])
{
    const uint8_t *data = key.data;
    struct bloomery_murmur3 state = {0, 0};
    uint8_t tail[16] = {0};
    const size_t whole = key.bytes / 16 * 16;
    const size_t left = key.bytes - whole;
    for (size_t at = 0; at < whole; at += 16)
        bloomery_murmur3_block(&state, data + at);
    struct bloomery_murmur3 further = state;
    if (left > 0)
        memcpy(tail, data + whole, left);
    const bloomery_hash first = bloomery_murmur3_finish(&state, tail, left, key.bytes);
    tail[left] = 1;
    if (left + 1 == sizeof tail)
        bloomery_murmur3_block(&further, tail);
    const bloomery_hash second =
        bloomery_murmur3_finish(&further, tail, (left + 1) % sizeof tail, key.bytes + 1);
    words[0] = first.lo;
    words[1] = first.hi;
    words[2] = second.lo;
    words[3] = second.hi;
}

static void positions_of(const struct bloomery_hash_secret *secret, bloomery_key key,
                         uint64_t cells, uint32_t probes, uint64_t *positions)
{
    uint64_t words[4];
    (void)secret;
    four_words(key, words);
    for (uint32_t i = 0; i < probes; i++)
        positions[i] = (words[i & 1] + i * words[2 + (((i + (i & 1)) & 3) >> 1)]) % cells;
}

const struct bloomery_hash_row bloomery_hash_murmur3_twice = {
    BLOOMERY_HASH_NAMED(murmur3_twice),
    .available = true,
    .positions = positions_of,
};
