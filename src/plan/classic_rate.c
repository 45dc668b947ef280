/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/classic_rate.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

/* The recurrence serves small arrays, for at most some milliseconds. Beyond them, or once an array
 * is nearly full (X hardly varies then), the limit is good to 1e-3, or 3e-3 for 64 probes. */
static const uint64_t exact_bits = 4096;
static const double exact_load = 4;
static const double exact_throws = 8192;
/* Cells are full, to double precision, after this many throws per cell. */
static const double full_load = 60;

enum { TINY_BITS = 256 };

/* With fewer cells than probes the factors of the recurrence would change sign. So the distribution
 * of X itself is stepped, as cheap with so few cells. The same goes for more probes than the
 * recurrence has moments. */
static double tiny_rate(uint64_t bits, uint32_t probes, double throws)
{
    double chance[TINY_BITS + 1] = {1}; /* P(X = x) */
    double cells = (double)bits;
    for (double t = 0; t < throws; t++) {
        for (uint64_t x = bits; x > 0; x--)
            chance[x] =
                chance[x] * ((double)x / cells) + chance[x - 1] * ((cells - (double)x + 1) / cells);
        chance[0] = 0;
    }
    double rate = 0;
    for (uint64_t x = 1; x <= bits; x++)
        rate += chance[x] * pow((double)x / cells, probes);
    return rate < 1 ? rate : 1;
}

double bloomery_classic_rate(uint64_t bits, uint32_t probes, uint64_t keys)
{
    assert(bits > 0);
    assert(probes > 0);
    if (keys == 0)
        return 0;
    double throws = (double)probes * (double)keys;
    if (throws > full_load * (double)bits)
        return 1;
    if (bits <= TINY_BITS && (bits < probes || probes > BLOOMERY_MOMENTS_MAX))
        return tiny_rate(bits, probes, throws);
    if (bits > exact_bits || probes > BLOOMERY_MOMENTS_MAX ||
        (throws > exact_load * (double)bits && throws > exact_throws))
        return bloomery_occupancy_limit((double)bits, throws, probes);
    struct bloomery_occupancy occupancy;
    bloomery_occupancy_start(&occupancy, (double)bits, probes);
    bloomery_occupancy_throw(&occupancy, probes * keys);
    double rate = occupancy.moment[probes];
    return rate < 1 ? rate : 1;
}

/* ---- How many bits are set ------------------------------------------------------------------- */

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
