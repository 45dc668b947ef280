/* SPDX-License-Identifier: Apache-2.0 */
/* The rate of flat filters by double hashing in signed numbers, the negative ones turned over. */
#ifndef BLOOMERY_PLAN_TURNED_RATE_H
#define BLOOMERY_PLAN_TURNED_RATE_H

#include <stdint.h>

/* A walk c_i = a + i b that wraps at 2^width, taken for signed, and what becomes of a negative
 * c. */
enum bloomery_turn {
    BLOOMERY_TURN_FLIPPED_32, /* width 32, ~c; then mod m */
    BLOOMERY_TURN_ABSOLUTE,   /* width 64, -c; then mod m */
};

/*
 * The rate with `keys` keys. bits >= 1, probes >= 1. 0 keys: 0. Measured, it is right to 3 per cent
 * from 64 bits on for up to 10 probes, to 5 for 20. Means over points leave it up to 15 per cent
 * too high for 40; past 64 it is a guess. O(probes^3), some tens of milliseconds at most.
 */
double bloomery_turned_rate(enum bloomery_turn turn, uint64_t bits, uint32_t probes, uint64_t keys);

/* The same if a share `fill` of the bits is set. Also the keys that set so many on average,
 * INFINITY if no number of keys does. */
double bloomery_turned_live(enum bloomery_turn turn, uint64_t bits, uint32_t probes, double fill);
double bloomery_turned_keys(enum bloomery_turn turn, uint64_t bits, uint32_t probes, double fill);

#endif
