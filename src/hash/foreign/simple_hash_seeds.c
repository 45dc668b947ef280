/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash of a widely posted Java class: seven polynomials over the UTF-16 units c of a string,
 *
 *     r = seed r + c mod 2^32, from 0 on;        position: the low bits of r
 *
 * with the seeds 5 7 11 13 31 37 61. Keys are UTF-8 here and decoded on the way; a character past
 * U+FFFF is two units. The empty string has position 0 seven times, and a string of one unit its
 * unit seven times: src/dialect/lineage/simple_hash.c says what follows from that.
 */
#include "hash/foreign/simple_hash_seeds.h"

#include "hash/hashes.h"

#include <assert.h>

enum { REPLACEMENT = 0xfffd, LAST_PLANE_0 = 0xffff, SIZE_BITS_MAX = 30 };

const uint32_t bloomery_simple_seeds[BLOOMERY_SIMPLE_SEEDS] = {5, 7, 11, 13, 31, 37, 61};

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

/* What may follow a first byte: how many bytes, the range of the first of them, and what the first
 * byte itself gives. All others are 0x80 to 0xbf. */
struct lead {
    uint32_t follow;
    uint8_t min;
    uint8_t max;
    uint32_t value;
};

static struct lead lead_of(uint8_t byte)
{
    if (byte < 0x80)
        return (struct lead){0, 0, 0, byte};
    if (byte >= 0xc2 && byte <= 0xdf)
        return (struct lead){1, 0x80, 0xbf, byte & 0x1fu};
    if (byte >= 0xe0 && byte <= 0xef)
        return (struct lead){2, byte == 0xe0 ? 0xa0 : 0x80, 0xbf, byte & 0x0fu};
    if (byte >= 0xf0 && byte <= 0xf4)
        return (struct lead){3, byte == 0xf0 ? 0x90 : 0x80, byte == 0xf4 ? 0x8f : 0xbf,
                             byte & 0x07u};
    return (struct lead){0, 0, 0, REPLACEMENT};
}

uint32_t bloomery_decode_utf8(const uint8_t *text, size_t bytes, size_t *at)
{
    assert(*at < bytes);
    const struct lead lead = lead_of(text[(*at)++]);
    uint32_t value = lead.value;
    for (uint32_t i = 0; i < lead.follow; i++) {
        const uint8_t min = i == 0 ? lead.min : 0x80;
        const uint8_t max = i == 0 ? lead.max : 0xbf;
        if (*at == bytes || text[*at] < min || text[*at] > max)
            return REPLACEMENT;
        value = value << 6 | (text[(*at)++] & 0x3fu);
    }
    return value;
}

/* ---- Seven polynomials ----------------------------------------------------------------------- */

static inline void step(uint32_t *sums, const uint32_t *seeds, uint32_t count, uint32_t unit)
{
    for (uint32_t i = 0; i < count; i++)
        sums[i] = seeds[i] * sums[i] + unit;
}

static void hash(bloomery_key key, const uint32_t *seeds, uint32_t count, uint64_t cells,
                 uint64_t *positions)
{
    uint32_t sums[BLOOMERY_SIMPLE_SEEDS] = {0};
    for (size_t at = 0; at < key.bytes;) {
        const uint32_t character = bloomery_decode_utf8(key.data, key.bytes, &at);
        if (character > LAST_PLANE_0) {
            step(sums, seeds, count, 0xd800 + ((character - 0x10000) >> 10));
            step(sums, seeds, count, 0xdc00 + ((character - 0x10000) & 0x3ff));
        } else {
            step(sums, seeds, count, character);
        }
    }
    for (uint32_t i = 0; i < count; i++)
        positions[i] = sums[i] & (cells - 1);
}

static bool is_size(uint64_t cells)
{
    return cells > 0 && (cells & (cells - 1)) == 0 && cells <= UINT64_C(1) << SIZE_BITS_MAX;
}

static bool fits_seven(uint64_t cells, uint32_t probes)
{
    return is_size(cells) && probes == BLOOMERY_SIMPLE_SEEDS;
}

static bool fits_six(uint64_t cells, uint32_t probes)
{
    return is_size(cells) && probes == BLOOMERY_SIMPLE_SEEDS - 1;
}

static void positions_seven(const struct bloomery_hash_secret *secret, bloomery_key key,
                            uint64_t cells, uint32_t probes, uint64_t *positions)
{
    (void)secret;
    assert(fits_seven(cells, probes));
    hash(key, bloomery_simple_seeds, probes, cells, positions);
}

static void positions_six(const struct bloomery_hash_secret *secret, bloomery_key key,
                          uint64_t cells, uint32_t probes, uint64_t *positions)
{
    (void)secret;
    assert(fits_six(cells, probes));
    hash(key, bloomery_simple_seeds + 1, probes, cells, positions);
}

const struct bloomery_hash_row bloomery_hash_simple_seven = {
    BLOOMERY_HASH_NAMED(simple_seven),
    .available = true,
    .positions = positions_seven,
    .fits = fits_seven,
};

const struct bloomery_hash_row bloomery_hash_simple_six = {
    BLOOMERY_HASH_NAMED(simple_six),
    .available = true,
    .positions = positions_six,
    .fits = fits_six,
};
