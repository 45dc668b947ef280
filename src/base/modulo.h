/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The remainder by a divisor that is known beforehand, without a division: two products take a
 * third of its time, and the processor may do several at once.
 *
 * Let m be the divisor, v = floor((2^64 - 1) / m) its inverse, a any number of 64 bits. Then
 * q = floor(a v / 2^64) is the quotient or 1 less: 2^64 / m - v is at most 1, since m (v + 1) is
 * over 2^64 - 1. So
 *
 *     a / m - a v / 2^64  =  a (2^64 / m - v) / 2^64  <  1,
 *
 * and numbers that differ by less than 1 have whole parts that differ by 1 at most. a - q m is
 * below 2 m then, and m is below 2^63.
 */
#ifndef BLOOMERY_BASE_MODULO_H
#define BLOOMERY_BASE_MODULO_H

#include "base/bytes.h"

#include <assert.h>
#include <stdint.h>

static inline uint64_t bloomery_inverse(uint64_t divisor)
{
    assert(divisor > 0 && divisor >> 63 == 0);
    return UINT64_MAX / divisor;
}

/* a mod divisor. */
static inline uint64_t bloomery_modulo(uint64_t a, uint64_t divisor, uint64_t inverse)
{
    const uint64_t quotient = (uint64_t)((bloomery_uint128)a * inverse >> 64);
    const uint64_t rest = a - quotient * divisor;
    assert(rest < 2 * divisor);
    /* Without a branch: nobody can predict which it is. */
    return rest - (divisor & (0 - (uint64_t)(rest >= divisor)));
}

#endif
