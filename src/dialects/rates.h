/* SPDX-License-Identifier: Apache-2.0 */
/* The rates of flat filters by double hashing, which several systems have: all k positions of a key
 * are steps of one size, in unsigned numbers or in signed ones. */
#ifndef BLOOMERY_DIALECTS_RATES_H
#define BLOOMERY_DIALECTS_RATES_H

#include <stdbool.h>
#include <stdint.h>

/* ---- Steps of one size ----------------------------------------------------------------------- */

/* The rate of flat filters by double hashing: all k positions of a key are steps of one size. */

/*
 * The part to be added to fill^k, or to the classic rate, because positions are a + i b, i = 0 ..
 * k-1. They are taken modulo m alone, or, if `wraps`, modulo some power of two that is much larger
 * than m first. The filter has `keys` keys and a share `fill` of its bits set. bits >= 1, probes >=
 * 1, fill 0 to 1; `keys` may be infinite. Measured, the whole rate is right to 2 per cent from
 * 1,000 bits on, to 13 per cent from 64 bits on, for up to 20 probes. Past 64 it is a guess.
 * O(probes^2), a few milliseconds at most.
 */
double bloomery_step_excess(uint64_t bits, uint32_t probes, double keys, double fill, bool wraps);

/* The classic rate and that. 0 keys: 0. */
double bloomery_step_rate(uint64_t bits, uint32_t probes, uint64_t keys, bool wraps);

/* ---- Signed numbers, the negative ones turned over ------------------------------------------- */

/* The rate of flat filters by double hashing in signed numbers, the negative ones turned over. */

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

/* The same if a share `fill` of the bits is set. Also the number of keys that set this share on
 * average, INFINITY if none does. */
double bloomery_turned_live(enum bloomery_turn turn, uint64_t bits, uint32_t probes, double fill);
double bloomery_turned_keys(enum bloomery_turn turn, uint64_t bits, uint32_t probes, double fill);

#endif
