/* SPDX-License-Identifier: Apache-2.0 */
/* The rate of flat filters by double hashing: all k positions of a key are steps of one size. */
#ifndef BLOOMERY_PLAN_STEP_RATE_H
#define BLOOMERY_PLAN_STEP_RATE_H

#include <stdbool.h>
#include <stdint.h>

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

#endif
