/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 32-bit hash of LevelDB, and RocksDB's first one, which is the same but for one thing:
 *
 *     h = seed ^ (length M)
 *     4 bytes at a time, as a little-endian word w:    h = (h + w) M    h ^= h >> 16
 *     the 1 to 3 bytes left, b0 b1 b2:    h = (h + b0 + (b1 << 8) + (b2 << 16)) M    h ^= h >> 24
 *
 * modulo 2^32. RocksDB takes those last bytes for signed numbers. One that is 0x80 or more is 256
 * less, and what it borrows comes from the bytes above it. Both use one seed for filters.
 */
#include "base/bytes.h"
#include "hash/hashes.h"

static const uint32_t filter_seed = 0xbc9f1d34;
static const uint32_t multiplier = 0xc6a4a793;

static uint32_t unsigned_byte(uint8_t byte)
{
    return byte;
}

static uint32_t signed_byte(uint8_t byte)
{
    return byte < 0x80 ? byte : byte - UINT32_C(0x100);
}

static inline __attribute__((always_inline)) bloomery_hash hash_with(uint32_t (*last)(uint8_t),
                                                                     bloomery_key key)
{
    const uint8_t *data = key.data;
    const size_t whole = key.bytes / 4 * 4;
    uint32_t h = filter_seed ^ (uint32_t)key.bytes * multiplier;
    for (size_t at = 0; at < whole; at += 4) {
        h = (h + bloomery_load_u32(data + at)) * multiplier;
        h ^= h >> 16;
    }
    if (key.bytes > whole) {
        for (size_t at = whole; at < key.bytes; at++)
            h += last(data[at]) << (8 * (at - whole));
        h *= multiplier;
        h ^= h >> 24;
    }
    return (bloomery_hash){.lo = h};
}

static bloomery_hash leveldb(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    (void)secret;
    return hash_with(unsigned_byte, key);
}

static bloomery_hash rocksdb(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    (void)secret;
    return hash_with(signed_byte, key);
}

const struct bloomery_hash_row bloomery_hash_leveldb = {
    BLOOMERY_HASH_NAMED(leveldb),
    .available = true,
    .one = leveldb,
};

const struct bloomery_hash_row bloomery_hash_rocksdb_legacy = {
    BLOOMERY_HASH_NAMED(rocksdb_legacy),
    .available = true,
    .one = rocksdb,
};
