/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate of a flat filter whose positions are (a + i b + i^2) mod 2^64 mod m. Two words a and b
 * of a hash make all of a key's k positions (docs/mathematics.md, section 15).
 */
#ifndef BLOOMERY_PLAN_QUADRATIC_RATE_H
#define BLOOMERY_PLAN_QUADRATIC_RATE_H

#include <stdint.h>

/*
 * The part to be added to fill^k, or to the classic rate, because a key's positions depend on each
 * other. The filter has `keys` keys and a share `fill` of its bits set. bits >= 1, probes >= 1,
 * fill 0 to 1. The rate is good to 4 per cent for up to 7 probes from 64 bits on, to a fifth
 * beyond. O(probes).
 */
double bloomery_quadratic_excess(uint64_t bits, uint32_t probes, double keys, double fill);

/* The whole: the classic rate, which must be known, and the excess. 0 keys: 0. */
double bloomery_quadratic_rate(uint64_t bits, uint32_t probes, uint64_t keys, double classic_rate);

#endif
