/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of an absent key that are one block.
 *
 * Of a block that has j keys, let f be the share of the possible picks - a window of k words, a bit
 * in each - that find all their bits set. A block tested once passes with probability E[f], tested
 * 2, 3 or 4 times with E[f^2], E[f^3], E[f^4]. That is more than E[f] to that power, since f varies
 * from block to block. How much more,
 *
 *     E[f^i] = E[f]^i exp( i (i-1)/2 d_i(j) ),      d_i close to Var[f] / E[f]^2,
 *
 * is a table: exact values take sums of thousands of terms that cancel (docs/mathematics.md, 5.1).
 * They are computed once, as integers of any length, by tests/reference/rates.py --coinciding. d is
 * smooth: the values for up to 8 keys and four for each octave above are enough. What is between
 * them is right to 4e-6, and so E[f^i] to 3e-5.
 */
#ifndef BLOOMERY_PLAN_COINCIDING_H
#define BLOOMERY_PLAN_COINCIDING_H

#include <stdint.h>

enum {
    BLOOMERY_COINCIDING_MAX = 4, /* i */
    BLOOMERY_COINCIDING_NODES = 36,
};

/* For k = 1 to 8 and i = 2 to 4: d at 1, 2, .. 8, 10, 12, 14, 16, 20, 24 .. 1024 keys. */
extern const float bloomery_coinciding_table[8][BLOOMERY_COINCIDING_MAX - 1]
                                            [BLOOMERY_COINCIDING_NODES];

/* E[f^times] / E[f]^times; times 1 to 4, probes 1 to 8, load >= 1. */
double bloomery_coinciding(uint32_t probes, uint32_t times, uint64_t load);

#endif
