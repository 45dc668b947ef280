/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A number of 32 bits reduced to m cells is not spread evenly over them, unless m is small or
 * divides 2^32, and does not reach all of them if m is larger. Measure cells in units of 2^32:
 * there are M = m / 2^32 of them, and a, b are uniform in 0..1.
 *
 * Sums that wrap (m below 2^31): any two positions are independent and uniform in 0..1 before they
 * are reduced to M. Let q = floor(1 / M). A share s = 1/M - q of the cells is hit by q + 1 of the
 * 2^32 numbers, the others by q, and the rate is that of an array of two densities:
 *
 *     |   s m cells: n k (q+1) / 2^32 hits    |   the others: n k q / 2^32    |
 *      a position comes here with chance s M (q+1)
 *
 * Sums that do not wrap: probe i is at (a + i b) mod M. If M is large the first probe never leaves
 * the first unit, the second never the first two, and all of them meet where a and b are small:
 *
 *     M = 4, k = 4    |#################|#########|#####|##  |     hits by cell
 *                      0                 1         2     3
 *
 * The density is counted over points (a, b) that are spread evenly, in so many bins of the array,
 * and the rate is the mean, over the same points, of the product of the shares of set bits where
 * their probes are.
 *
 *     1.9e10 bits for 2e9 keys, k = 7: 1 in 33 and not 1 in 100
 */
#include "plan/foreign/half_rate.h"

#include "plan/classic_rate.h"
#include "plan/foreign/step_rate.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

enum { BINS = 256, POINTS = 16384 };

static const double unit = 4294967296;
/* Up to 1/64 of a unit positions are as good as even. */
static const uint64_t even_bits = UINT64_C(1) << 26;

struct density {
    uint32_t bins;
    double cells[BINS]; /* in units */
    double hits[BINS];  /* of a key */
    double reach;       /* all of these cells; beyond there are none */
};

/* The share of set bits in a bin. */
static double fill_of(const struct density *density, uint32_t bin, double keys)
{
    assert(bin < density->bins && density->cells[bin] > 0);
    return -expm1(-keys * density->hits[bin] / (density->cells[bin] * unit));
}

static void two_densities(struct density *density, uint64_t bits, uint32_t probes)
{
    const double range = (double)bits / unit;
    const double whole = floor(1 / range);
    const double more = 1 / range - whole;
    density->bins = more > 0 ? 2 : 1;
    density->reach = range;
    density->cells[0] = (1 - more) * range;
    density->hits[0] = (1 - more) * range * whole * probes;
    density->cells[1] = more * range;
    density->hits[1] = more * range * (whole + 1) * probes;
}

/* Where probe i of a point is: a bin. */
static uint32_t bin_of(const struct density *density, double range, uint32_t point, uint32_t i)
{
    assert(density->bins == BINS && density->reach > 0);
    const double golden = point * 0.6180339887498949;
    const double at = (point + 0.5) / POINTS + i * (golden - floor(golden));
    const double bin = fmod(at, range) / density->reach * BINS;
    return bin < BINS ? (uint32_t)bin : BINS - 1;
}

static void count_hits(struct density *density, uint64_t bits, uint32_t probes)
{
    const double range = (double)bits / unit;
    density->bins = BINS;
    density->reach = fmin(range, probes);
    for (uint32_t bin = 0; bin < BINS; bin++) {
        density->cells[bin] = density->reach / BINS;
        density->hits[bin] = 0;
    }
    for (uint32_t point = 0; point < POINTS; point++)
        for (uint32_t i = 0; i < probes; i++)
            density->hits[bin_of(density, range, point, i)] += 1.0 / POINTS;
}

static void measure(struct density *density, uint64_t bits, uint32_t probes, bool wraps)
{
    if (wraps)
        two_densities(density, bits, probes);
    else
        count_hits(density, bits, probes);
}

static double uneven_rate(uint64_t bits, uint32_t probes, double keys, bool wraps)
{
    struct density density;
    double fill[BINS] = {0};
    double sum = 0;
    measure(&density, bits, probes, wraps);
    for (uint32_t bin = 0; bin < density.bins; bin++)
        fill[bin] = fill_of(&density, bin, keys);
    if (wraps) {
        for (uint32_t bin = 0; bin < density.bins; bin++)
            sum += density.hits[bin] / probes * fill[bin];
        return pow(sum, probes);
    }
    for (uint32_t point = 0; point < POINTS; point++) {
        double chance = 1;
        for (uint32_t i = 0; i < probes; i++)
            chance *= fill[bin_of(&density, (double)bits / unit, point, i)];
        sum += chance;
    }
    return sum / POINTS;
}

double bloomery_half_rate(uint64_t bits, uint32_t probes, uint64_t keys, bool wraps)
{
    assert(bits > 0 && probes > 0 && (!wraps || bits <= (uint64_t)unit));
    if (bits <= even_bits || keys == 0)
        return bloomery_step_rate(bits, probes, keys, wraps);
    const double fill = -expm1((double)probes * (double)keys * log1p(-1 / (double)bits));
    const uint64_t reached = bits < (uint64_t)unit ? bits : (uint64_t)unit;
    return fmin(1, uneven_rate(bits, probes, (double)keys, wraps) +
                       bloomery_step_excess(reached, probes, (double)keys, fill, wraps));
}

/* The share of all bits that so many keys set. */
static double filled(const struct density *density, uint64_t bits, double keys)
{
    double cells = 0;
    for (uint32_t bin = 0; bin < density->bins; bin++)
        cells += density->cells[bin] * fill_of(density, bin, keys);
    return cells * unit / (double)bits;
}

double bloomery_half_keys(uint64_t bits, uint32_t probes, double fill, bool wraps)
{
    struct density density;
    assert(fill >= 0 && fill <= 1);
    if (fill <= 0)
        return 0;
    if (bits <= even_bits)
        return fill < 1 && bits > 1 ? log1p(-fill) / (probes * log1p(-1 / (double)bits)) : INFINITY;
    measure(&density, bits, probes, wraps);
    double low = 0;
    double high = fmax(1, fill * (double)bits / probes);
    while (filled(&density, bits, high) < fill) {
        high *= 2;
        if (high > 0x1p60)
            return INFINITY;
    }
    for (int step = 0; step < 60; step++) {
        const double middle = (low + high) / 2;
        if (filled(&density, bits, middle) < fill)
            low = middle;
        else
            high = middle;
    }
    return high;
}
