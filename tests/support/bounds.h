/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far may a count lie from what is expected before it cannot be an accident?
 *
 * Of `trials` independent trials with chance p, the chance of a share of x or beyond (on the far
 * side of p) is at most exp(-trials * D(x, p)), D being the relative entropy x ln(x/p) + (1-x)
 * ln((1-x)/(1-p)) (Chernoff's bound). It holds for every count, small ones included, where a number
 * of standard deviations would mislead.
 */
#ifndef TESTS_BOUNDS_H
#define TESTS_BOUNDS_H

#include <stdint.h>

/* The least and the greatest expected share that a count of `hits` in `trials` still allows, each
 * with a chance of error of at most `risk`. */
double test_rate_at_least(double hits, double trials, double risk);
double test_rate_at_most(double hits, double trials, double risk);

/* The chance that chi-square with `freedom` degrees is at least `value`, about (Wilson, Hilferty).
 */
double test_chi_square_tail(double value, double freedom);

/* The chance that a standard normal variable is at least z. */
double test_normal_tail(double z);

#endif
