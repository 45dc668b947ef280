/* SPDX-License-Identifier: Apache-2.0 */
/* CityHash 1.0.2 (hash/city.c), which ClickHouse kept: 64 bits of keys, 128 bits of its
 * files' blocks. */
#ifndef BLOOMERY_HASH_CITY_H
#define BLOOMERY_HASH_CITY_H

#include <bloomery/bloomery.h>

/* The hash of the empty key, and what a seed is mixed in with. */
#define BLOOMERY_CITY_K2 UINT64_C(0x9ae16a3b2f90404f)

/* Two words become one. */
static inline uint64_t bloomery_city_mix(uint64_t lo, uint64_t hi)
{
    const uint64_t factor = UINT64_C(0x9ddfea08eb382d69);
    uint64_t a = (lo ^ hi) * factor;
    a ^= a >> 47;
    uint64_t b = (hi ^ a) * factor;
    b ^= b >> 47;
    return b * factor;
}

/* `data` may be NULL if `bytes` is 0. O(bytes). */
uint64_t bloomery_city64(const uint8_t *data, size_t bytes);

/* Bytes that lie in several places, one behind the other. */
struct bloomery_city_piece {
    const uint8_t *data;
    size_t bytes;
};

/* The 128 bits of all pieces taken together. Any of them may be empty. O(bytes). */
bloomery_hash bloomery_city128(const struct bloomery_city_piece *pieces, size_t count);

#endif
