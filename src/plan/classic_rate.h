/* SPDX-License-Identifier: Apache-2.0 */
/* The rate of a classic filter: m bits, k independent uniform positions per key over all of them.
 */
#ifndef BLOOMERY_PLAN_CLASSIC_RATE_H
#define BLOOMERY_PLAN_CLASSIC_RATE_H

#include <stdint.h>

/* E[(X_kn / m)^k]: exact up to 4096 bits, from mean and variance beyond. The relative error is
 * under 2e-3 for every k up to 64, under 1e-5 for k of at most 10. More than 64 probes, which only
 * filters of other systems have: exact up to 256 bits. bits >= 1, probes >= 1. 0 keys: 0. */
double bloomery_classic_rate(uint64_t bits, uint32_t probes, uint64_t keys);

#endif
