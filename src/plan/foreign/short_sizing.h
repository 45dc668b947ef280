/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizing with constants that were cut short, as RedisBloom and libbloom do it:
 *
 *     bits per key  b = -(ln p / 0.480453013918201)       ln(2)^2 = 0.4804530139182014...
 *     probes        k = ceil(0.693147180559945 b)         ln 2    = 0.6931471805599453...
 *
 * Both are a little too small, the first more so than the second. At p = 2^-j, whose b ln 2 is j,
 * the product passes it by some 1e-15 j and is rounded up to j + 1.
 */
#ifndef BLOOMERY_PLAN_SHORT_SIZING_H
#define BLOOMERY_PLAN_SHORT_SIZING_H

/* rate above 0 and below 1. */
double bloomery_short_bits_per_key(double rate);
double bloomery_short_probes(double bits_per_key);

#endif
