/* SPDX-License-Identifier: Apache-2.0 */
/* See bounds.h. */
#include "bounds.h"

#include <math.h>

/* -ln of Chernoff's bound on the chance of a share at least as far from p as x. */
static double surprise(double x, double p, double trials)
{
    double sum = 0;
    if (x > 0)
        sum += x * log(x / p);
    if (x < 1)
        sum += (1 - x) * log1p((p - x) / (1 - p));
    return trials * sum;
}

/* The p between `near` (no surprise) and `far` (endless surprise) where the surprise is ln(1/risk).
 */
static double solve(double share, double trials, double risk, double near, double far)
{
    double limit = -log(risk);
    for (int step = 0; step < 200; step++) {
        double middle = (near + far) / 2;
        if (surprise(share, middle, trials) < limit)
            near = middle;
        else
            far = middle;
    }
    return (near + far) / 2;
}

double test_rate_at_least(double hits, double trials, double risk)
{
    double share = hits / trials;
    return hits <= 0 ? 0 : solve(share, trials, risk, share, 0);
}

double test_rate_at_most(double hits, double trials, double risk)
{
    double share = hits / trials;
    return hits >= trials ? 1 : solve(share, trials, risk, share, 1);
}

double test_normal_tail(double z)
{
    return erfc(z / sqrt(2)) / 2;
}

double test_chi_square_tail(double value, double freedom)
{
    double spread = 2 / (9 * freedom);
    return test_normal_tail((cbrt(value / freedom) - (1 - spread)) / sqrt(spread));
}
