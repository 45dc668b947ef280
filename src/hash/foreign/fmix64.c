/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ClickHouse's hash of a number: the finaliser of murmur3 of its value, taken as unsigned in its
 * own width (-1 in one byte is 255). A key is the number's bytes, little-endian, 1 to 8 of them. 16
 * bytes (128 bits, UUID, IPv6) are its two words XORed. 32 (256 bits) are its words XORed but for
 * the highest, which ClickHouse forgets. The empty key is 0, which is also what a part without
 * numbers hashes to.
 *
 * ClickHouse has no numbers of other lengths. Here they have zeros after them, and past 32 bytes
 * all words but the fourth count, so every key has a hash.
 */
#include "hash/foreign/murmur3.h"
#include "hash/hashes.h"

enum { WORD = 8, FORGOTTEN = 3 };

static bloomery_hash one(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const uint8_t *data = key.data;
    uint64_t value = 0;
    (void)secret;
    for (size_t at = 0, word = 0; at < key.bytes; at += WORD, word++) {
        const size_t left = key.bytes - at;
        if (word != FORGOTTEN)
            value ^= bloomery_load_le(data + at, left < WORD ? (unsigned)left : WORD);
    }
    return (bloomery_hash){.lo = bloomery_fmix64(value), .hi = 0};
}

const struct bloomery_hash_row bloomery_hash_fmix64 = {
    BLOOMERY_HASH_NAMED(fmix64),
    .available = true,
    .one = one,
};
