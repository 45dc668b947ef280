/* SPDX-License-Identifier: Apache-2.0 */
/* The rate of flat filters by double hashing with two numbers of 32 bits. */
#ifndef BLOOMERY_PLAN_HALF_RATE_H
#define BLOOMERY_PLAN_HALF_RATE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * With `keys` keys and positions a + i b, modulo 2^32 first if `wraps`, modulo m. bits >= 1, at
 * most 2^32 if `wraps`; probes >= 1. 0 keys: 0. What plan/foreign/step_rate.h says, and past 2^26
 * bits what uneven positions cost, right to some 2 per cent. Some milliseconds at most.
 */
double bloomery_half_rate(uint64_t bits, uint32_t probes, uint64_t keys, bool wraps);

/* The keys with which a share `fill` of the bits is set on average; INFINITY if no number of keys
 * sets so many. */
double bloomery_half_keys(uint64_t bits, uint32_t probes, double fill, bool wraps);

#endif
