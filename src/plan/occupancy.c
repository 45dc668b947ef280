/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/occupancy.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

/* The factors of row i start here: row i has i + 1 of them. */
static size_t row(uint32_t i)
{
    return (size_t)i * (i + 1) / 2;
}

void bloomery_occupancy_start(struct bloomery_occupancy *occupancy, double cells, uint32_t order)
{
    assert(cells >= 1);
    assert(order <= BLOOMERY_MOMENTS_MAX);
    occupancy->order = order;
    occupancy->throws = 0;
    for (uint32_t i = 0; i <= order; i++) {
        double *factor = occupancy->step + row(i);
        double choose = 1;        /* C(i, r) */
        double choose_before = 0; /* C(i, r - 1) */
        for (uint32_t r = 0; r < i; r++) {
            factor[r] = (choose - choose_before / cells) * pow(cells, (double)r - (double)i);
            choose_before = choose;
            choose = choose * (i - r) / (r + 1);
        }
        factor[i] = 1 - i / cells;
        occupancy->moment[i] = i == 0 ? 1 : 0; /* X_0 = 0, and 0^0 = 1 */
    }
}

void bloomery_occupancy_throw(struct bloomery_occupancy *occupancy, uint64_t throws)
{
    double *moment = occupancy->moment;
    for (uint64_t t = 0; t < throws; t++) {
        /* From the highest down: a row needs the lower moments of the step before. */
        for (uint32_t i = occupancy->order; i > 0; i--) {
            const double *factor = occupancy->step + row(i);
            double sum = 0;
            for (uint32_t r = 0; r <= i; r++)
                sum += factor[r] * moment[r];
            moment[i] = sum;
        }
    }
    occupancy->throws += throws;
    assert(moment[occupancy->order] >= 0);
}

/*
 * With m large and c = t/m: E[X/m] = mu = 1 - (1 - 1/m)^t, and Var[X/m] = v with
 * v m = e^-c (1 - (1 + c) e^-c). To second order E[(X/m)^k] = mu^k (1 + k (k-1)/2 v/mu^2); written
 * as an exponential it also follows the next term, as for a log-normal X.
 */
double bloomery_occupancy_limit(double cells, double throws, double order)
{
    assert(cells >= 1);
    if (throws <= 0)
        return order > 0 ? 0 : 1;
    double empty = cells > 1 ? throws * log1p(-1 / cells) : -INFINITY; /* ln (1 - 1/m)^t */
    double mean = -expm1(empty);
    double load = throws / cells;
    double variance = exp(-load) * (-expm1(-load) - load * exp(-load)) / cells;
    if (variance < 0)
        variance = 0; /* rounding, if the load is tiny */
    double value = exp(order * log(mean) + order * (order - 1) / 2 * variance / (mean * mean));
    return value < 1 ? value : 1;
}
