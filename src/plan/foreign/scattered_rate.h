/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate of blocks of 512 bits in which a key throws k bits anywhere, as other systems have them.
 * A block of j keys has seen jk throws, so
 *
 *     rate = sum over j of P(load = j) E[(X_jk / 512)^k],     load Binomial(n, 1/N)
 *
 * with the moments of plan/classic_rate.h. Our own blocks are plan/blocked_rate.h.
 */
#ifndef BLOOMERY_PLAN_SCATTERED_RATE_H
#define BLOOMERY_PLAN_SCATTERED_RATE_H

#include <stdint.h>

/* One block per key; blocks >= 1, probes 1 to 64. */
double bloomery_scattered_rate(uint64_t blocks, uint32_t probes, uint64_t keys);

#endif
