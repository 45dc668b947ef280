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

/* ---- How many bits are set ------------------------------------------------------------------- */

/*
 * How full is an array after t throws?
 *
 * Throw t balls into m cells, each ball into a uniform cell. X_t is the number of cells that are
 * hit. An absent key that draws k positions finds all of them set with probability (X_t / m)^k. So
 * all rates of Bloom filters are moments E[(X_t / m)^k]. Write a_i(t) for the i-th moment. One more
 * ball hits a new cell with probability 1 - X/m, hence
 *
 *     E[(X')^i] = E[X^i + ((X + 1)^i - X^i) (1 - X/m)]
 *
 * and, with the binomial theorem and both sides over m^i,
 *
 *     a_i(t+1) = (1 - i/m) a_i(t)  +  sum over r < i of  (C(i,r) - C(i,r-1)/m) m^(r-i) a_r(t).
 *
 * While i <= m no term is negative, so the recurrence loses no precision, however small the moment.
 * An alternating sum (inclusion and exclusion) would cancel to nothing at rates like 1e-12. A step
 * costs i^2/2 multiplications for all moments up to i.
 *
 * The well-known (1 - e^(-t/m))^k is the limit for large m. It is too low: the moment of a
 * spread-out variable exceeds the power of its mean. See docs/mathematics.md.
 */

enum { BLOOMERY_MOMENTS_MAX = 64 };

struct bloomery_occupancy {
    uint32_t order;                          /* moments 0 to order are kept */
    uint64_t throws;                         /* t */
    double moment[BLOOMERY_MOMENTS_MAX + 1]; /* a_i(t) */
    double step[(BLOOMERY_MOMENTS_MAX + 1) * (BLOOMERY_MOMENTS_MAX + 2) / 2]; /* the factors */
};

/* t = 0. cells >= 1, order <= BLOOMERY_MOMENTS_MAX. */
void bloomery_occupancy_start(struct bloomery_occupancy *occupancy, double cells, uint32_t order);

/* t += throws. O(throws * order^2 / 2). */
void bloomery_occupancy_throw(struct bloomery_occupancy *occupancy, uint64_t throws);

/* E[(X_t / m)^order] for large m or t from mean and variance of X: the relative error is of the
 * order of order^4 / m^2. O(1). */
double bloomery_occupancy_limit(double cells, double throws, double order);

#endif /* BLOOMERY_PLAN_CLASSIC_RATE_H */
