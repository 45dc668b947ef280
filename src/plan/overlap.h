/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The number of common keys of two filters of one geometry is computed from their cells and those
 * of their union. How exact is it?
 *
 *     common = n(A) + n(B) - n(A or B),    n = ln(Z / m) / (L ln(1 - q))
 *
 * where Z are the cells that are 0. Let Z_S be those that a set S of keys leaves 0, and v(S) the
 * square of the relative error of Z_S, Var[Z_S] / E[Z_S]^2. A cell is 0 under S and under T if it
 * is 0 under all keys of both, and those in both count once. So, set against the product of the two
 * means, only the common keys leave a mark:
 *
 *     Cov[Z_S, Z_T] / (E[Z_S] E[Z_T])  =  v(S and T)
 *
 * Let C be the common keys and U all of them. A and B meet in C, A and U in A, B and U in B. Of the
 * nine terms of Var[ln Z_A + ln Z_B - ln Z_U] is left, to the first order,
 *
 *     Var[common]  =  (v(U) - v(A) - v(B) + 2 v(C)) / (L ln(1 - q))^2
 *
 * For A = B, all sets are one and it is v / (L ln(1 - q))^2, as for a single filter.
 * docs/mathematics.md, section 14, writes v out and has the intersection's rate too.
 */
#ifndef BLOOMERY_PLAN_OVERLAP_H
#define BLOOMERY_PLAN_OVERLAP_H

#include <stdint.h>

struct bloomery_overlap {
    uint64_t bits;           /* m: cells */
    uint64_t blocks;         /* N; 0: flat */
    uint32_t blocks_per_key; /* L; not looked at in a flat array */
    uint32_t probes;         /* k */
    double keys[2];
    double union_keys;
    double common_keys;
};

/* The standard deviation of the Jaccard index: of (n(A) + n(B)) / n(U) - 1, to the first order. */
double bloomery_overlap_jaccard(const struct bloomery_overlap *overlap);

/* The standard deviation of the common keys. Infinite if the union is. */
double bloomery_overlap_deviation(const struct bloomery_overlap *overlap);

#endif
