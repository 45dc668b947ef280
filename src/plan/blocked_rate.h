/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate of a blocked filter: N lines of 512 bits; a key picks L lines, uniformly and
 * independently (they may coincide), and throws k bits into each.
 *
 *     key ──┬─ line 0 of N:  ··1···1··········1·····   k throws
 *           └─ line 1 of N:  ·1·········1·······1···   k throws
 *
 * L = 1. A line that j keys picked has seen jk throws, so an absent key that comes to it finds its
 * k bits set with probability g(j) = E[(X_jk / 512)^k] (plan/occupancy.h), and j is Binomial(n,
 * 1/N):
 *
 *     rate = sum over j of P(load = j) g(j)
 *
 * Sizing by the average load instead would be too optimistic: g is convex where it matters, so the
 * crowded lines cost more than the empty ones save.
 *
 * L = 2, 3. The nL picks of all keys spread over the lines, so one line's load is Binomial(nL,
 * 1/N), and the absent key's own lines either all differ, and then share the nL picks (jointly
 * multinomial), or some coincide, and then one line must answer for 2k or 3k bits. With d lines
 * different:
 *
 *     L = 2   (1 - 1/N) E[g_k g_k]          + 1/N E[g_2k]
 *     L = 3   (1 - 1/N)(1 - 2/N) E[g_k g_k g_k] + 3/N (1 - 1/N) E[g_k g_2k] + 1/N^2 E[g_3k]
 *
 * At small rates the coincidences weigh far more than 1/N suggests: E[g_2k] is ten times E[g_k]^2
 * at 1e-9 and four hundred times at 1e-15. The joint law matters where lines are few; elsewhere a
 * first-order correction to independent loads stands for it (docs/mathematics.md, section 5).
 */
#ifndef BLOOMERY_PLAN_BLOCKED_RATE_H
#define BLOOMERY_PLAN_BLOCKED_RATE_H

#include "plan/occupancy.h"

#include <stdint.h>

enum {
    BLOOMERY_BLOCK_BITS = 512,
    BLOOMERY_BLOCK_BYTES = 64,
    BLOOMERY_LINES_MAX = 4,
    BLOOMERY_LINE_PROBES_MAX = 8, /* k of a line: one bit in each of its words at most */
};

enum { BLOOMERY_LOADS_MAX = 1024 };

/* g_k, g_2k, g_3k by load, filled as far as anybody asked. 43 KiB: fit for the stack. */
struct bloomery_line_rates {
    uint32_t probes; /* k */
    uint32_t lines;  /* L: g is known for 1 to L times k bits */
    uint32_t known;  /* loads 0 to known - 1 */
    double rate[BLOOMERY_LINES_MAX][BLOOMERY_LOADS_MAX];
    struct bloomery_occupancy occupancy;
};

/* lines 1 to 3, probes * lines 1 to 64. */
void bloomery_line_rates_start(struct bloomery_line_rates *rates, uint32_t lines, uint32_t probes);

/* The rate with `keys` keys in `blocks` >= 1 lines. Microseconds once the table is filled. */
double bloomery_line_rates_expect(struct bloomery_line_rates *rates, uint64_t blocks,
                                  uint64_t keys);

/* Both in one. */
double bloomery_blocked_rate(uint64_t blocks, uint32_t lines, uint32_t probes, uint64_t keys);

double bloomery_blocked_estimate_keys(uint64_t bits, uint64_t blocks, uint32_t lines,
                                      uint32_t probes, uint64_t bits_set);

/* What a line says yes to, when so many keys picked it. */
typedef double bloomery_load_function(void *context, uint64_t load);

/* E[function(load)], load being Binomial(trials, chance), trials >= 1: for blocks of other systems. Loads
 * that weigh nothing are not asked for; O(sqrt(trials * chance)) calls. */
double bloomery_expect_load(double trials, double chance, bloomery_load_function *function,
                            void *context);

#endif
