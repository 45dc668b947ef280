/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate of a blocked filter: N blocks of eight words of 64 bits. A key picks L blocks, uniformly
 * and independently (they may coincide), and sets a bit in each of k cyclically consecutive words.
 *
 *     key ──┬─ block 0 of N:  │   1    │ 1      │      1 │        │ ..  k = 3, first word 0
 *           └─ block 1 of N:  │        │        │ 1      │     1  │ ..  first word 2
 *
 * L = 1. An absent key that comes to a block of j keys passes with a probability g(j)
 * (plan/ring.h), and j is Binomial(n, 1/N):
 *
 *     rate = sum over j of P(load = j) g(j)
 *
 * Sizing by the average load would be too optimistic. In the range of plans g is convex, so the
 * crowded blocks cost more than the empty ones save.
 *
 * L > 1. The T = nL picks of all keys spread over the blocks. Of the absent key's own blocks d are
 * different. A block that it tests i times passes with g_i(j) (plan/coinciding.h). The picks that
 * came to any of the d are S, Binomial(T, d/N), and each of those went to one of the d alike. So
 * with H_d(s) for the chance that all pass after s picks, summed over the ways to divide L into d,
 *
 *     rate = sum over d = 1 .. L of  N (N-1) .. (N-d+1) / N^L  E[H_d(S)]
 *
 *     L = 2   H_2 = g | g                     H_1 = g_2
 *     L = 3   H_3 = g | g | g                 H_2 = 3 g_2 | g                  H_1 = g_3
 *     L = 4   H_4 = g | g | g | g             H_3 = 6 g_2 | g | g
 *             H_2 = 3 g_2 | g_2 + 4 g_3 | g   H_1 = g_4
 *
 *     (a | b)(s) = sum over i of P(i) a(i) b(s - i),    i Binomial(s, the part of blocks in a)
 *
 * H knows neither N nor n: it is tabulated once for all sizes. In large filters, and in crowded
 * ones, the blocks' loads are taken as independent, with a first-order correction
 * (docs/mathematics.md, section 5). At small rates coincidences weigh far more than 1/N suggests.
 */
#ifndef BLOOMERY_PLAN_BLOCKED_RATE_H
#define BLOOMERY_PLAN_BLOCKED_RATE_H

#include "plan/ring.h"

#include <stdint.h>

enum {
    BLOOMERY_BLOCK_BITS = 512,
    BLOOMERY_BLOCK_BYTES = 64,
    BLOOMERY_BLOCKS_PER_KEY_MAX = 4,
    BLOOMERY_BLOCK_PROBES_MAX = 8, /* k of a block: one bit in each of its words at most */
};

enum {
    BLOOMERY_LOADS_MAX = 1024,
    BLOOMERY_JOINT_MAX = 1024,
};

/* g_1 to g_L by load and H by picks, filled as far as needed. 70 KiB: fit for the stack. */
struct bloomery_block_rates {
    uint32_t probes;         /* k */
    uint32_t blocks_per_key; /* L */
    uint32_t known;          /* loads 0 to known - 1 */
    uint32_t joint_known[BLOOMERY_BLOCKS_PER_KEY_MAX];
    struct bloomery_ring ring;
    double rate[BLOOMERY_BLOCKS_PER_KEY_MAX][BLOOMERY_LOADS_MAX];  /* g_1 to g_4 */
    double joint[BLOOMERY_BLOCKS_PER_KEY_MAX][BLOOMERY_JOINT_MAX]; /* g | g; H_2, H_3, H_4 */
};

/* blocks 1 to 4, probes 1 to 8. */
void bloomery_block_rates_start(struct bloomery_block_rates *rates, uint32_t blocks_per_key,
                                uint32_t probes);

/* The rate with `keys` keys in `blocks` >= 1 blocks. Microseconds once the tables are filled. */
double bloomery_block_rates_expect(struct bloomery_block_rates *rates, uint64_t blocks,
                                   uint64_t keys);

/* Both in one. */
double bloomery_blocked_rate(uint64_t blocks, uint32_t blocks_per_key, uint32_t probes,
                             uint64_t keys);

/* The chance q that one pick of a key sets a given bit of the filter: k / (512 N). */
double bloomery_blocked_hit(uint64_t blocks, uint32_t probes);

/* The keys that set so many of `bits` bits on average: ln(1 - fill) / (L ln(1 - q)). Infinite if
 * all are set. */
double bloomery_blocked_estimate_keys(uint64_t bits, uint64_t blocks, uint32_t blocks_per_key,
                                      uint32_t probes, uint64_t bits_set);

/* The chance that a block passes a key, when so many keys picked it. */
typedef double bloomery_load_function(void *context, uint64_t load);

/* E[function(load)], load being Binomial(trials, chance), trials >= 1: for blocks of other systems
 * too. Loads that weigh nothing are left out; O(sqrt(trials * chance)) calls. */
double bloomery_expect_load(double trials, double chance, bloomery_load_function *function,
                            void *context);

#endif
