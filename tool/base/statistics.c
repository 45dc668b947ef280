/* SPDX-License-Identifier: Apache-2.0 */
#include "base/statistics.h"

#include <assert.h>
#include <math.h>

static const double each_tail = 0.0005;

struct tool_interval tool_wilson(uint64_t hits, uint64_t trials)
{
    assert(trials > 0 && hits <= trials);
    const double z = 1.959963984540054; /* 97.5 % of the normal distribution lie below */
    const double count = (double)trials;
    const double share = (double)hits / count;
    const double middle = (share + z * z / (2 * count)) / (1 + z * z / count);
    const double reach =
        z / (1 + z * z / count) * sqrt(share * (1 - share) / count + z * z / (4 * count * count));
    struct tool_interval interval = {middle - reach, middle + reach};
    /* The ends are exact if rounding would miss them by a hair. */
    if (hits == 0)
        interval.low = 0;
    if (hits == trials)
        interval.high = 1;
    return interval;
}

/* The logarithm of the chance of exactly `hits`. Long doubles, because it is a small difference of
 * large numbers. */
static double log_chance(uint64_t hits, uint64_t trials, double rate)
{
    int sign;
    const long double n = (long double)trials;
    const long double x = (long double)hits;
    return (double)(lgammal_r(n + 1, &sign) - lgammal_r(x + 1, &sign) -
                    lgammal_r(n - x + 1, &sign) + x * logl((long double)rate) +
                    (n - x) * log1pl(-(long double)rate));
}

/* The chance of `hits` or more, for hits above the mean, or of `hits` or fewer, for hits below. The
 * terms fall away from the mean, each a known multiple of the one before. */
static double tail(uint64_t hits, uint64_t trials, double rate, bool upper)
{
    const double nothing = 1e-290; /* numbers near the least there are don't shrink any more */
    const double odds = rate / (1 - rate);
    double term = exp(log_chance(hits, trials, rate));
    double sum = term;
    for (uint64_t x = hits; term > sum * 1e-12 && term > nothing; sum += term) {
        if (x == (upper ? trials : 0))
            break;
        if (upper) {
            term *= (double)(trials - x) / (double)(x + 1) * odds;
            x++;
        } else {
            term *= (double)x / (double)(trials - x + 1) / odds;
            x--;
        }
    }
    return sum;
}

bool tool_plausible(uint64_t hits, uint64_t trials, double rate)
{
    assert(trials > 0 && hits <= trials);
    if (rate <= 0)
        return hits == 0;
    if (rate >= 1)
        return hits == trials;
    const double mean = (double)trials * rate;
    /* On its own side of the mean a count is one of about half of all. */
    if (fabs((double)hits - mean) < 1)
        return true;
    return tail(hits, trials, rate, (double)hits > mean) >= each_tail;
}

void tool_plausible_hits(uint64_t trials, double rate, uint64_t *least, uint64_t *most)
{
    uint64_t mean = (uint64_t)((double)trials * (rate < 0 ? 0 : rate > 1 ? 1 : rate));
    mean = mean < trials ? mean : trials;
    assert(tool_plausible(mean, trials, rate));

    uint64_t low = mean; /* plausible; the one before `out` is not, or there is none */
    for (uint64_t out = 0; low > out;) {
        uint64_t middle = out + (low - out) / 2;
        if (tool_plausible(middle, trials, rate))
            low = middle;
        else
            out = middle + 1;
    }
    uint64_t high = mean;
    for (uint64_t out = trials; high < out;) {
        uint64_t middle = out - (out - high) / 2;
        if (tool_plausible(middle, trials, rate))
            high = middle;
        else
            out = middle - 1;
    }
    *least = low;
    *most = high;
}

/* The variance of (x / 512)^k among the lines of a blocked filter, over the square of its mean. The
 * keys of a line are Poisson distributed, and a line with j keys has about as many bits set as
 * j k throws leave. */
static double line_variance(double load, double probes)
{
    const unsigned most = (unsigned)(load + 20 * sqrt(load) + 50);
    double mean = 0;
    double square = 0;
    for (unsigned number = 0; number <= most; number++) {
        const double keys = number;
        int sign;
        double chance = exp(keys * log(load) - load - lgamma_r(keys + 1, &sign));
        double fill = -expm1(keys * probes * log1p(-1.0 / 512));
        mean += chance * pow(fill, probes);
        square += chance * pow(fill, 2 * probes);
    }
    return mean > 0 ? fmax(square / (mean * mean) - 1, 0) : INFINITY;
}

/*
 * The live rate of a blocked filter is the mean of (x / 512)^k over its blocks, to the power L; x
 * counts the bits set in a block. Plans predict its average over all filters of the shape. One
 * filter strays from that by the standard deviation among lines over the root of their number. In a
 * classic filter the bits set are nearly binomial, and to the power k their deviation counts k
 * fold.
 *
 * Eight deviations are allowed. If rates are very low the distribution has a long tail, and a few
 * full blocks make up most of the rate. A million filters were made from 1e-12 to 0.3 and for 1 to
 * 100,000 keys. One in ten thousand went beyond; of those whose L was chosen by the plan, one did.
 */
double tool_allowed_factor(const bloomery_plan *shape, uint64_t keys)
{
    const double deviations = 8;
    const double bits = (double)shape->bits;
    const double probes = shape->probes;
    double variance, power;
    if (shape->kind == BLOOMERY_CLASSIC) {
        const double fill = -expm1(-(double)keys * probes / bits);
        variance = probes * probes * (1 - fill) / (fill * bits);
        power = 1;
    } else {
        const double lines = bits / 512;
        const double load = (double)keys * shape->blocks_per_key / lines;
        if (load > 1e5)
            return 1.05; /* every bit is set anyway */
        variance = line_variance(load, probes) / lines;
        power = shape->blocks_per_key;
    }
    return 1.05 * pow(1 + deviations * sqrt(variance), power);
}
