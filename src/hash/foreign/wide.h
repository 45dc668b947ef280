/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Digests as numbers of up to 512 bits. Systems written in Python divide them by the size of a
 * filter again and again, each remainder being a position:
 *
 *     654321 = 40895 * 16 + 1        1
 *      40895 =  2555 * 16 + 15      15
 *       2555 =   159 * 16 + 11      11
 *
 * Schoolbook division by one 64-bit limb, from the highest on. The remainder of one limb stands
 * before the next, and 128 bits over 64 are exact.
 */
#ifndef BLOOMERY_HASH_WIDE_H
#define BLOOMERY_HASH_WIDE_H

#include "base/bytes.h"

#include <assert.h>

enum { BLOOMERY_WIDE_LIMBS = 8 };

struct bloomery_wide {
    uint64_t limbs[BLOOMERY_WIDE_LIMBS]; /* the lowest first */
    uint32_t count;                      /* of them, the highest of which is not 0; 0: zero */
};

static inline void bloomery_wide_trim(struct bloomery_wide *number)
{
    while (number->count > 0 && number->limbs[number->count - 1] == 0)
        number->count--;
}

/* From up to 64 bytes, the lowest first. */
static inline struct bloomery_wide bloomery_wide_le(const uint8_t *bytes, size_t count)
{
    struct bloomery_wide number = {.count = (uint32_t)((count + 7) / 8)};
    assert(number.count <= BLOOMERY_WIDE_LIMBS);
    for (size_t i = 0; i < count; i++)
        number.limbs[i / 8] |= (uint64_t)bytes[i] << i % 8 * 8;
    bloomery_wide_trim(&number);
    return number;
}

/* The highest first. */
static inline struct bloomery_wide bloomery_wide_be(const uint8_t *bytes, size_t count)
{
    struct bloomery_wide number = {.count = (uint32_t)((count + 7) / 8)};
    assert(number.count <= BLOOMERY_WIDE_LIMBS);
    for (size_t i = 0; i < count; i++)
        number.limbs[i / 8] |= (uint64_t)bytes[count - 1 - i] << i % 8 * 8;
    bloomery_wide_trim(&number);
    return number;
}

static inline bool bloomery_wide_below(const struct bloomery_wide *number, uint64_t limit)
{
    return number->count == 0 ? limit > 0 : number->count == 1 && number->limbs[0] < limit;
}

/* Divides, and returns the remainder. */
static inline uint64_t bloomery_wide_divide(struct bloomery_wide *number, uint64_t divisor)
{
    uint64_t rest = 0;
    assert(divisor > 0);
    for (uint32_t i = number->count; i-- > 0;) {
        const bloomery_uint128 part = (bloomery_uint128)rest << 64 | number->limbs[i];
        number->limbs[i] = (uint64_t)(part / divisor);
        rest = (uint64_t)(part % divisor);
    }
    bloomery_wide_trim(number);
    return rest;
}

#endif
