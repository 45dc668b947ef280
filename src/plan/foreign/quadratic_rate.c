/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three things that k independent positions would not do, each rare and each worth more than it is
 * rare: a filter at 1 in 10^13 by the classic formula can be one at 1 in 10^5.
 *
 * 1. A key's own positions coincide. i and j do where (j - i)(b + i + j) = 0 mod m: with chance
 *    g/m, g the power of two in j - i and m, and not 1/m. The key then needs a bit less.
 * 2. A stored key hits two positions of the queried one, i to i' and j to j', with chance g/m^2, g
 *    the power of two in j - i, j' - i' and m, and not 1/m^2.
 * 3. A stored key lies on the queried one as on a ruler, shifted by s or turned round: then r of k
 *    positions are the same at once, all of them for s = 0. Each of these has the chance 1/m^2,
 *    since a and b decide it, and not m^-r. There are two with r = k and four with every smaller r.
 *
 * Two of r positions that coincide were counted by 2 already, so 3 counts if three or more of the r
 * cells would otherwise be empty: e = 1 - fill, P(Bin(r, e) >= 3). The other k - r must be set
 * anyhow.
 *
 * All sums wrap at 2^64. If m is a power of two that changes nothing; else two keys lie on each
 * other only where they wrap at the same steps, but for a linear term, and two linear terms chosen
 * at random do so at r steps with the chance agree(r): floor(x + i y) for uniform x, y, up to
 * integer a + i b.
 */
#include "plan/foreign/quadratic_rate.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

enum { AGREE_ROWS = 17 };

/* Exact to the digits given (tests/reference/lines_agree.py); from there on it falls as 2 / r^2. */
static double agree(uint32_t r)
{
    static const double chance[AGREE_ROWS] = {
        1,        1,        1,        0.375,    0.194444, 0.114583, 0.0758333, 0.0527778, 0.0387755,
        0.029635, 0.023281, 0.018668, 0.015352, 0.012774, 0.010805, 0.009259,  0.008006,
    };
    return r < AGREE_ROWS ? chance[r] : 2 / ((double)r * r);
}

/* P(Bin(trials, chance) >= 3). */
static double three_or_more(uint32_t trials, double chance)
{
    assert(trials >= 2 && chance >= 0 && chance <= 1);
    const double other = 1 - chance;
    const double none = pow(other, trials);
    const double one = trials * chance * pow(other, trials - 1);
    const double two = (double)trials * (trials - 1) / 2 * chance * chance * pow(other, trials - 2);
    return fmax(0, 1 - none - one - two);
}

/* How many pairs of probes are a multiple of `step` apart. */
static double pairs_apart(uint32_t probes, uint32_t step)
{
    assert(probes > 0 && step > 0);
    const uint32_t distances = (probes - 1) / step;
    const double count = distances;
    return count * probes - step * count * (count + 1) / 2;
}

double bloomery_quadratic_excess(uint64_t bits, uint32_t probes, double keys, double fill)
{
    const double m = (double)bits;
    const double empty = 1 - fill;
    const bool power_of_two = (bits & (bits - 1)) == 0;
    double excess = 0;
    assert(bits >= 1 && probes >= 1 && fill >= 0 && fill <= 1);
    for (uint32_t g = 2; g < probes && bits % g == 0; g *= 2) {
        const double pairs = pairs_apart(probes, g);
        excess += g / 2.0 * pairs * pow(fill, probes - 1) * empty / m;
        excess += (double)g * pairs * pairs * keys / m / m * pow(fill, probes - 2) * empty * empty;
    }
    for (uint32_t r = 3; r <= probes; r++)
        excess += (r == probes ? 2 : 4) * keys / m / m * pow(fill, probes - r) *
                  three_or_more(r, empty) * (power_of_two ? 1 : agree(r));
    return excess;
}

double bloomery_quadratic_rate(uint64_t bits, uint32_t probes, uint64_t keys, double classic_rate)
{
    if (keys == 0)
        return 0;
    const double throws = (double)probes * (double)keys;
    const double fill = bits > 1 ? -expm1(throws * log1p(-1 / (double)bits)) : 1;
    return fmin(1, classic_rate + bloomery_quadratic_excess(bits, probes, (double)keys, fill));
}
