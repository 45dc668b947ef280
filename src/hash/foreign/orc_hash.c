/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ORC's two hashes, 64 bits each.
 *
 * Of bytes: one lane of MurmurHash3 x64 128, which is not half of it. From h = 104729 on, 8 bytes
 * at a time as a little-endian word w,
 *
 *     h ^= rotl(w c1, 31) c2      h = rotl(h, 27) 5 + 0x52dce729
 *
 * then what is left, filled up with zeros, by the first step alone; h ^= length; finalised.
 *
 * Of whole numbers (and dates, and the bits of a double): Thomas Wang's mix of 64 bits, but with
 * right shifts that copy the sign. A key is a number in two's complement, least significant byte
 * first; fewer than 8 bytes are widened with their sign, as ORC widens integers, and no byte past
 * the 8th counts.
 */
#include "hash/foreign/murmur3.h"
#include "hash/hashes.h"

#include <assert.h>

static const uint64_t seed = 104729;

static bloomery_hash of_bytes(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const uint8_t *data = key.data;
    const size_t whole = key.bytes / 8 * 8;
    uint64_t h = seed;
    (void)secret;
    for (size_t at = 0; at < whole; at += 8) {
        h ^= bloomery_murmur3_first(bloomery_load_u64(data + at));
        h = bloomery_rotate_64(h, 27) * 5 + 0x52dce729;
    }
    if (key.bytes > whole)
        h ^= bloomery_murmur3_first(bloomery_load_le(data + whole, (unsigned)(key.bytes - whole)));
    return (bloomery_hash){.lo = bloomery_fmix64(h ^ key.bytes)};
}

/* A right shift that copies the sign. */
static uint64_t shifted(uint64_t value, unsigned bits)
{
    assert(bits > 0 && bits < 64);
    return (uint64_t)((int64_t)value >> bits);
}

static bloomery_hash of_number(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const unsigned bytes = key.bytes < 8 ? (unsigned)key.bytes : 8;
    (void)secret;
    uint64_t k = bloomery_load_le(key.data, bytes);
    if (bytes > 0 && bytes < 8)
        k = shifted(k << (64 - 8 * bytes), 64 - 8 * bytes);
    k = ~k + (k << 21);
    k ^= shifted(k, 24);
    k += (k << 3) + (k << 8);
    k ^= shifted(k, 14);
    k += (k << 2) + (k << 4);
    k ^= shifted(k, 28);
    k += k << 31;
    return (bloomery_hash){.lo = k};
}

const struct bloomery_hash_row bloomery_hash_orc_bytes = {
    BLOOMERY_HASH_NAMED(orc_bytes),
    .available = true,
    .one = of_bytes,
};

const struct bloomery_hash_row bloomery_hash_orc_long = {
    BLOOMERY_HASH_NAMED(orc_long),
    .available = true,
    .one = of_number,
};
