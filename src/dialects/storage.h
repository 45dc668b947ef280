/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LevelDB's and RocksDB's filters have more in common than a hash: bytes that stand for "no key" or
 * for "any key" without a bit of their own, and a promise that is bits per key instead of a rate.
 *
 * Our filters have bits. If theirs has next to no bits, ours has as few as possible, none or all of
 * them set, and keeps their bytes. So they come back while nothing was added or cleared:
 *
 *     extra    1 byte: 1 no key, 2 any key    then their bytes
 */
#ifndef BLOOMERY_DIALECTS_STORAGE_H
#define BLOOMERY_DIALECTS_STORAGE_H

#include "base/bytes.h"
#include "dialects/dialects.h"
#include "dialects/schemes.h"
#include "kinds/derive.h"

/* ---- Filters with one answer, and promises --------------------------------------------------- */

/* What is to be kept of such bytes at most. */
enum { BLOOMERY_CONSTANT_MAX = 1024 };

/* Gives a design, whose shape and layer are those of an empty filter of at most 4096 bits, one
 * answer for every key. The bytes are copied; BLOOMERY_CONSTANT_MAX of them at most. */
void bloomery_design_constant(struct bloomery_design *design, bool any_key, const uint8_t *bytes,
                              size_t count);

/* Whether a filter is still such a one; its bytes then. Whatever `extra` is, it is safe. O(1). */
bool bloomery_is_constant(const bloomery_filter *filter, const uint8_t **bytes, size_t *count);

/* A remark that the filter's rate is more than `factor` times that of the formula that such systems
 * give. The keys are those the filter was made for, or if unknown, as many as its probes tell, k
 * being bits per key times 0.69. */
bool bloomery_remark_promise(const bloomery_filter *filter,
                             double (*promised)(const struct bloomery_layer *layer, uint64_t keys),
                             double factor, char *text, size_t room);

/* ---- Their hash ------------------------------------------------------------------------------ */

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

static const uint32_t bloomery_storage_seed = 0xbc9f1d34;
static const uint32_t bloomery_storage_multiplier = 0xc6a4a793;

static inline uint32_t bloomery_unsigned_byte(uint8_t byte)
{
    return byte;
}

static inline uint32_t bloomery_signed_byte(uint8_t byte)
{
    return byte < 0x80 ? byte : byte - UINT32_C(0x100);
}

static inline __attribute__((always_inline)) bloomery_hash
bloomery_storage_hash(uint32_t (*last)(uint8_t), bloomery_key key)
{
    const uint8_t *data = key.data;
    const size_t whole = key.bytes / 4 * 4;
    uint32_t h = bloomery_storage_seed ^ (uint32_t)key.bytes * bloomery_storage_multiplier;
    for (size_t at = 0; at < whole; at += 4) {
        h = (h + bloomery_load_u32(data + at)) * bloomery_storage_multiplier;
        h ^= h >> 16;
    }
    if (key.bytes > whole) {
        for (size_t at = whole; at < key.bytes; at++)
            h += last(data[at]) << (8 * (at - whole));
        h *= bloomery_storage_multiplier;
        h ^= h >> 24;
    }
    return (bloomery_hash){.lo = h};
}

/* ---- A hash that is its own step ------------------------------------------------------------- */

/*
 * One hash of 32 bits that is its own second hash: LevelDB's scheme, and RocksDB's first one, which
 * puts a key into one block.
 *
 *     step = rotr32(h, 17)
 *     ROTATED_STEP    bit (h + i step mod 2^32) mod m           in all of the array
 *     ROTATED_BLOCK    bit (h + i step) mod B of block h mod N     B 512; 1024 or 2048 for cache
 *                                                               lines of 128 or 256 bytes
 *
 * Cheap, and further from independent positions than the usual formulas assume:
 *
 *   - two keys with one hash share everything: an absent key is taken for one of n with at least
 *     n / 2^32;
 *   - positions are a walk. Two walks with the same step share most of their positions when they
 *     begin near each other, and a walk whose step leads back to where it began has few. In an
 *     array of m bits that is of the order of 1/m and n/m^2, which tells in the small filters that
 *     these systems have for a few hundred keys, and more so in a block: B^2 = 2^18 walks are all
 *     there are;
 *   - the step is not another hash. With h = 2^17 u + v it is 2^15 v + u, so h + step = (2^15 + 1)
 *     w - 3 u with w = 4 u + v: not every number is one. In an array of more than 2^17 bits that is
 *     seen: keys share positions more often than chance has it, fewer bits are set, and the rate,
 *     measured with 10 bits a key, is 1.1 times that of the formula at 2^17 bits, 1.9 times at
 *     2^20, 2 at 2^22, 1.5 at 2^24, and depends on what m is.
 *
 * No formula says what a union of walks covers, so the rates here are counted. For a block, all B^2
 * walks are tried on its bits at once, B starting points in a word operation (`covered`). For a
 * small array, a fixed sample of hashes is tried (`hits`). For an expected rate, the bits are those
 * of keys drawn by a generator with a fixed start: the same number every time. A sample is as exact
 * as its size: some 4 % at a rate of one in a hundred. Arrays too large to be filled for that have
 * the usual formula's rate as the expected one, which is too low. Their estimate of keys is up to
 * 15 % too low; their live rate is counted like any other.
 */

enum { BLOOMERY_ROTATION = 17 };

/* Draws hashes: the same ones whenever it starts at 0. */
static inline uint32_t bloomery_storage_draw(uint64_t *state)
{
    *state += BLOOMERY_GOLDEN;
    return (uint32_t)bloomery_mix64(*state);
}

#endif
