/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/blocked_rate.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* A line is full, to double precision, after this many throws per bit. */
static const double full_load = 60;
/* Past this many throws the number of set bits hardly varies and its limit serves (error under
 * 3e-3 for 64 bits, 1e-5 for up to 8). */
static const uint64_t limit_throws = 2048;
/* Up to these the loads of a key's lines are summed jointly; beyond them as independent loads times
 * a first-order correction, an error under 5e-4 (docs/mathematics.md, section 5): the more lines
 * there are the less they share, and the higher the load the less its variation matters. */
static const double joint_blocks = 128;
static const double joint_load = 128;
static const double joint_picks = 64;
/* Loads further from the mean than this many standard deviations weigh nothing, even at rates of
 * 1e-15, to which only crowded lines contribute; some more loads above, for the long tail at small
 * means. */
static const double deviations_below = 6;
static const double deviations_above = 10;
static const double spare_loads = 30;

void bloomery_line_rates_start(struct bloomery_line_rates *rates, uint32_t lines, uint32_t probes)
{
    assert(lines >= 1 && lines <= BLOOMERY_LINES_MAX);
    assert(probes >= 1 && probes * lines <= BLOOMERY_MOMENTS_MAX);
    rates->lines = lines;
    rates->probes = probes;
    rates->known = 0;
    bloomery_occupancy_start(&rates->occupancy, BLOOMERY_BLOCK_BITS, probes * lines);
}

/* The chance that `times` * k positions in a line of this load are all set. */
static double line_rate(struct bloomery_line_rates *rates, uint32_t times, uint64_t load)
{
    assert(times >= 1 && times <= rates->lines);
    if (load >= BLOOMERY_LOADS_MAX || load * rates->probes >= limit_throws)
        return bloomery_occupancy_limit(BLOOMERY_BLOCK_BITS, (double)load * rates->probes,
                                        (double)times * rates->probes);
    while (rates->known <= load) {
        for (size_t i = 0; i < rates->lines; i++)
            rates->rate[i][rates->known] = rates->occupancy.moment[(i + 1) * rates->probes];
        rates->known++;
        bloomery_occupancy_throw(&rates->occupancy, rates->probes);
    }
    return rates->rate[times - 1][load];
}

/* Loads that matter: Binomial(trials, chance), from `first`, `weight` by ratios outwards from the
 * mode, so that no logarithm of a huge factorial is needed. */
struct loads {
    double trials;
    double odds; /* chance / (1 - chance) */
    uint64_t first, mode, last;
};

static struct loads loads_of(double trials, double chance)
{
    double mean = trials * chance;
    double below = deviations_below * sqrt(mean);
    double last = floor(mean + deviations_above * sqrt(mean) + spare_loads);
    struct loads loads = {
        .trials = trials,
        .odds = chance / (1 - chance),
        .first = mean > below ? (uint64_t)(mean - below) : 0,
        .mode = (uint64_t)mean,
        .last = (uint64_t)(last < trials ? last : trials),
    };
    assert(loads.first <= loads.mode && loads.mode <= loads.last);
    return loads;
}

/* P(load + 1) / P(load) */
static double ratio(const struct loads *loads, uint64_t load)
{
    return (loads->trials - (double)load) / ((double)load + 1) * loads->odds;
}

/* Weights are relative to the mode's and normalised at the end. */
double bloomery_expect_load(double trials, double chance, bloomery_load_function *function,
                            void *context)
{
    if (chance >= 1) /* a single line gets everything */
        return function(context, (uint64_t)trials);
    struct loads loads = loads_of(trials, chance);
    double sum = 0;
    double weights = 0;
    double weight = 1;
    for (uint64_t load = loads.mode; load <= loads.last; load++) {
        sum += weight * function(context, load);
        weights += weight;
        weight *= ratio(&loads, load);
    }
    weight = 1;
    for (uint64_t load = loads.mode; load > loads.first; load--) {
        weight /= ratio(&loads, load - 1);
        sum += weight * function(context, load - 1);
        weights += weight;
    }
    return sum / weights;
}

/*
 * Several lines whose loads share `trials` picks: times[0] * k bits are asked of this line, the
 * rest of those after it. What the last line contributes depends only on how many picks the lines
 * before it took, so it is remembered by that number: three lines then cost as little as two.
 */
enum { REMEMBERED = 1024 };

struct shared {
    struct bloomery_line_rates *rates;
    double trials;
    double blocks;
    const uint32_t *times;
    uint32_t lines;
    uint64_t taken;    /* by the lines before this one */
    double *last_line; /* [REMEMBERED], negative: not known yet */
};

static double shared_rate(void *context, uint64_t load)
{
    const struct shared *now = context;
    double rate = line_rate(now->rates, now->times[0], load);
    if (now->lines == 1)
        return rate;
    struct shared rest = *now;
    rest.trials = now->trials - (double)load;
    rest.blocks = now->blocks - 1;
    rest.times = now->times + 1;
    rest.lines = now->lines - 1;
    rest.taken = now->taken + load;
    double *remembered =
        rest.lines == 1 && rest.taken < REMEMBERED ? now->last_line + rest.taken : NULL;
    if (remembered != NULL && *remembered >= 0)
        return rate * *remembered;
    double others = bloomery_expect_load(rest.trials, 1 / rest.blocks, shared_rate, &rest);
    if (remembered != NULL)
        *remembered = others;
    return rate * others;
}

static double one_more_rate(void *context, uint64_t load)
{
    return shared_rate(context, load + 1);
}

/*
 * Different lines as if their loads were independent, each Binomial(picks, 1/N), times
 *
 *     exp(-picks / N^2 * sum over pairs of r_i r_j),    r = E[g(load + 1)] / E[g(load)] - 1
 *
 * because a pick that one line takes is lost to the others: their loads have covariance -picks/N^2.
 */
static double apart_rate(const struct shared *all, double picks)
{
    double rate = 1;
    double sum = 0;
    double squares = 0;
    for (uint32_t i = 0; i < all->lines; i++) {
        struct shared line = *all;
        line.times = all->times + i;
        line.lines = 1;
        double expected = bloomery_expect_load(picks, 1 / all->blocks, shared_rate, &line);
        rate *= expected;
        if (all->lines > 1 && expected > 0) {
            double more =
                bloomery_expect_load(picks, 1 / all->blocks, one_more_rate, &line) / expected - 1;
            sum += more;
            squares += more * more;
        }
    }
    double pairs = (sum * sum - squares) / 2;
    return rate * exp(-picks * pairs / (all->blocks * all->blocks));
}

/* The chance that the key's different lines, each asked for times[i] * k bits, all say yes. */
static double distinct_rate(struct bloomery_line_rates *rates, uint64_t blocks, double picks,
                            const uint32_t *times, uint32_t lines)
{
    double last_line[REMEMBERED];
    struct shared all = {rates, picks, (double)blocks, times, lines, 0, last_line};
    bool few =
        picks <= joint_picks || (all.blocks <= joint_blocks && picks <= joint_load * all.blocks);
    if (lines == 1 || !few)
        return apart_rate(&all, picks);
    for (size_t i = 0; i < REMEMBERED; i++)
        last_line[i] = -1;
    return bloomery_expect_load(picks, 1 / (double)blocks, shared_rate, &all);
}

double bloomery_line_rates_expect(struct bloomery_line_rates *rates, uint64_t blocks, uint64_t keys)
{
    static const uint32_t apart[] = {1, 1, 1};
    static const uint32_t pair[] = {2, 1};
    static const uint32_t triple[] = {3};
    assert(blocks > 0);
    if (keys == 0)
        return 0;
    double picks = (double)keys * rates->lines;
    double same = 1 / (double)blocks; /* the chance that one line is the same as another */
    if (picks * same * rates->probes > full_load * BLOOMERY_BLOCK_BITS)
        return 1;
    double rate = 0;
    if (rates->lines == 1) {
        rate = distinct_rate(rates, blocks, picks, apart, 1);
    } else if (rates->lines == 2) {
        rate = same * distinct_rate(rates, blocks, picks, pair, 1);
        if (blocks > 1)
            rate += (1 - same) * distinct_rate(rates, blocks, picks, apart, 2);
    } else {
        rate = same * same * distinct_rate(rates, blocks, picks, triple, 1);
        if (blocks > 1)
            rate += 3 * same * (1 - same) * distinct_rate(rates, blocks, picks, pair, 2);
        if (blocks > 2)
            rate += (1 - same) * (1 - 2 * same) * distinct_rate(rates, blocks, picks, apart, 3);
    }
    return rate < 1 ? rate : 1;
}

double bloomery_blocked_rate(uint64_t blocks, uint32_t lines, uint32_t probes, uint64_t keys)
{
    struct bloomery_line_rates rates;
    bloomery_line_rates_start(&rates, lines, probes);
    return bloomery_line_rates_expect(&rates, blocks, keys);
}

double bloomery_blocked_estimate_keys(uint64_t bits, uint64_t blocks, uint32_t lines,
                                      uint32_t probes, uint64_t bits_set)
{
    (void)blocks;
    if (bits_set >= bits)
        return INFINITY;
    return log1p(-(double)bits_set / (double)bits) / (lines * log1p(-(double)probes / (double)bits));
}
