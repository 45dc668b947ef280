/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of files, and the checksums of a filter's file made right again: docs/format.md. */
#ifndef FUZZ_MEND_H
#define FUZZ_MEND_H

#define XXH_INLINE_ALL
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

enum { HEADER = 128, CHECKSUM_AT = 120, PREFIX_MAX = 16384, SPAN = 65536 };

static inline uint64_t get(const uint8_t *data, size_t at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)data[at + i] << (8 * i);
    return value;
}

static inline void put(uint8_t *data, size_t at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        data[at + i] = (uint8_t)(value >> (8 * i));
}

static inline void mend_checksums(uint8_t *data, size_t size)
{
    if (size < HEADER)
        return;
    uint64_t offset = get(data, 24, 8);
    uint64_t payload = get(data, 32, 8);
    if (offset < HEADER || offset > PREFIX_MAX || offset > size)
        return;
    put(data, CHECKSUM_AT, 0, 8);
    uint64_t seed = XXH3_64bits_withSeed(data, (size_t)offset, 0);
    put(data, CHECKSUM_AT, seed, 8);
    uint64_t spans = payload / SPAN + (payload % SPAN != 0);
    if (payload > size - offset || spans * 8 + 8 > size - offset - payload)
        return;
    uint8_t *sums = data + offset + payload;
    for (uint64_t i = 0; i < spans; i++) {
        uint64_t left = payload - i * SPAN;
        put(sums, (size_t)i * 8,
            XXH3_64bits_withSeed(data + offset + i * SPAN, (size_t)(left < SPAN ? left : SPAN),
                                 seed),
            8);
    }
    put(sums, (size_t)spans * 8, XXH3_64bits_withSeed(sums, (size_t)spans * 8, seed), 8);
}

#endif
