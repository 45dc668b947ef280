/* SPDX-License-Identifier: Apache-2.0 */
/* See ribbon.h. */
#include "plan/ribbon.h"
#include "base/bytes.h"
#include "base/error.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>

bool bloomery_ribbon_is_sound(const struct bloomery_ribbon *ribbon)
{
    return ribbon->starts >= BLOOMERY_RIBBON_WIDTH &&
           ribbon->starts <= BLOOMERY_RIBBON_STARTS_MAX &&
           ribbon->starts % BLOOMERY_RIBBON_WIDTH == 0 &&
           ribbon->section_bits <= BLOOMERY_RIBBON_SECTION_BITS_MAX &&
           ribbon->columns <= BLOOMERY_RIBBON_COLUMNS_MAX &&
           ribbon->wide_from <= bloomery_ribbon_blocks(ribbon);
}

uint64_t bloomery_ribbon_bytes(const struct bloomery_ribbon *ribbon)
{
    assert(bloomery_ribbon_is_sound(ribbon)); /* so at most 2^52 blocks of 51 words */
    return bloomery_ribbon_plane(ribbon, BLOOMERY_RIBBON_PLANES_MAX) +
           bloomery_ribbon_metadata_bytes(ribbon);
}

uint64_t bloomery_ribbon_starts_below(const struct bloomery_ribbon *ribbon, uint64_t block)
{
    const uint64_t blocks = bloomery_ribbon_section_blocks(ribbon);
    const uint64_t rest = BLOOMERY_RIBBON_WIDTH * (block % blocks);
    return block / blocks * ribbon->starts + (rest < ribbon->starts ? rest : ribbon->starts);
}

/*
 * The greatest b0 with (A 2^-r + (S - A) 2^-(r+1)) / S <= p (1 - guard), where A of the S starts
 * lie below b0; so A / S <= p (1 - guard) 2^(r+1) - 1. Which starts are bumped is chance, and with
 * two numbers of columns the rate of one filter strays with it. The guard is for that: measured
 * deviations are 0.06 / sqrt(buckets) of p at four standard deviations.
 */
static uint64_t wide_from(const struct bloomery_ribbon *ribbon, double rate)
{
    const double guard = 0.1 / sqrt((double)bloomery_ribbon_buckets(ribbon));
    const double share = ldexp(rate, ribbon->columns + 1) * (1 - guard); /* below 2 */
    const uint64_t one = UINT64_C(1) << 52;
    /* A product of doubles, made an integer without another rounding: no compiler can fuse it. */
    const uint64_t fixed = (uint64_t)ldexp(share, 52);
    const uint64_t all = (uint64_t)ribbon->starts << ribbon->section_bits;
    if (fixed <= one)
        return 0;
    const uint64_t narrow = (uint64_t)(((bloomery_uint128)all * (fixed - one)) >> 52);
    return narrow / ribbon->starts * bloomery_ribbon_section_blocks(ribbon) +
           narrow % ribbon->starts / BLOOMERY_RIBBON_WIDTH;
}

struct bloomery_ribbon bloomery_ribbon_for(uint64_t keys, double rate)
{
    struct bloomery_ribbon ribbon = {0, 0, 0, 0};
    /* Rows per key: 25/26, for more keys than rows leave hardly a row empty. Small layers would
     * bump too much, so they have a row for each key, and tiny ones two. */
    const uint64_t wanted = keys == 0     ? 1
                            : keys < 64   ? 2 * keys
                            : keys < 4096 ? keys
                                          : (25 * keys + 25) / 26;
    assert(rate > 0 && rate < 1);
    while ((wanted + (UINT64_C(1) << ribbon.section_bits) - 1) >> ribbon.section_bits >
           BLOOMERY_RIBBON_STARTS_MAX)
        ribbon.section_bits++;
    const uint64_t together = (uint64_t)BLOOMERY_RIBBON_WIDTH << ribbon.section_bits;
    ribbon.starts = (uint32_t)((wanted + together - 1) / together) * BLOOMERY_RIBBON_WIDTH;
    while (ribbon.columns < BLOOMERY_RIBBON_COLUMNS_MAX && ldexp(1, -(ribbon.columns + 1)) >= rate)
        ribbon.columns++;
    ribbon.wide_from = wide_from(&ribbon, rate);
    assert(bloomery_ribbon_is_sound(&ribbon));
    return ribbon;
}

double bloomery_ribbon_rate(const struct bloomery_ribbon *ribbon)
{
    const double all = ldexp(ribbon->starts, ribbon->section_bits);
    const double narrow = (double)bloomery_ribbon_starts_below(ribbon, ribbon->wide_from);
    return ldexp(1 + narrow / all, -(ribbon->columns + 1));
}

/* ---- Solving a plan -------------------------------------------------------------------------- */

/*
 * The size of a static filter is not known before it is built: how many keys a layer bumps is
 * chance. So a plan adds up the layers that are expected, each the exact geometry for the mean
 * number of keys. The true size is within 0.2 % of that from 100,000 keys on.
 */

/* With bytes given, rates above 0.5 are refused, as in plan/solve.c; the rest is how exactly the
 * rate is solved. */
static const double worst_rate = 0.500001;

/* The share of its keys that a layer bumps, measured over 20 to 200 builds of each size. The last
 * block of a layer has no starts of its own, which in small layers is some more room. */
static double bumped_share(uint64_t keys)
{
    const double n = (double)keys;
    if (keys < 4096)
        return keys < 2048 ? 0 : 0.0059 * (n - 2048) / 2048;
    return 0.0388 - 53 / n;
}

uint64_t bloomery_ribbon_expected_bytes(uint64_t keys, double rate)
{
    uint64_t bytes = 0;
    do {
        const struct bloomery_ribbon ribbon = bloomery_ribbon_for(keys, rate);
        bytes += bloomery_ribbon_bytes(&ribbon);
        keys = (uint64_t)llround((double)keys * bumped_share(keys));
    } while (keys > 0);
    return bytes;
}

static bloomery_status check_ranges(const bloomery_plan *plan, const bloomery_plan_options *options,
                                    bloomery_error *error)
{
    const bloomery_status bad = BLOOMERY_BAD_ARGUMENT;
    const bloomery_status numbers = bloomery_plan_check_numbers(plan, error);
    if (numbers != BLOOMERY_OK)
        return numbers;
    if (options->blocks_per_key != 0 || options->probes != 0 || options->folds != 0)
        return bloomery_fail(error, bad, 0,
                             "a static filter has no probes, no blocks and no folds to choose");
    if (options->cell_bits > 1)
        return bloomery_fail(error, bad, 0, "a static filter has no counters");
    if (options->hash == BLOOMERY_HASH_XXH3_64)
        return bloomery_fail(error, bad, 0,
                             "a static filter needs a hash of 128 bits: XXH3-128 or SipHash");
    return BLOOMERY_OK;
}

/* The lowest rate whose filter fits, to one part in 10^6; 0: none below 1 does. */
static double solve_rate(const bloomery_plan *plan)
{
    double low = log2(BLOOMERY_RATE_MIN); /* too low */
    double high = log2(0.999999);         /* fits */
    if (bloomery_ribbon_expected_bytes(plan->keys, exp2(high)) > plan->bytes)
        return 0;
    if (bloomery_ribbon_expected_bytes(plan->keys, BLOOMERY_RATE_MIN) <= plan->bytes)
        return BLOOMERY_RATE_MIN;
    while (high - low > 1e-6) {
        const double middle = low + (high - low) / 2;
        if (bloomery_ribbon_expected_bytes(plan->keys, exp2(middle)) <= plan->bytes)
            high = middle;
        else
            low = middle;
    }
    return exp2(high);
}

/* The largest number of keys whose filter fits; 0: not even one does. */
static uint64_t solve_keys(const bloomery_plan *plan)
{
    uint64_t fits = 0;
    for (uint64_t step = BLOOMERY_KEYS_MAX; step > 0; step /= 2)
        if (fits + step <= BLOOMERY_KEYS_MAX &&
            bloomery_ribbon_expected_bytes(fits + step, plan->rate) <= plan->bytes)
            fits += step;
    return fits;
}

/* The cache lines of two neighbouring blocks, in each plane that a query comes to. Thresholds are
 * left out: they are a thousandth of the memory, and stay in a cache. */
static double lines_of(const struct bloomery_ribbon *ribbon, bool present)
{
    double lines = 0;
    double reached = 1;
    for (uint32_t plane = 0; plane < BLOOMERY_RIBBON_PLANES_MAX; plane++) {
        const uint32_t words = bloomery_ribbon_words(ribbon->columns + 1U, plane);
        /* Blocks of eight words are whole cache lines; smaller ones begin at any word. */
        if (words > 0)
            lines += reached * (words == BLOOMERY_RIBBON_PLANE ? 2 : 1 + (2.0 * words - 1) / 8);
        reached *= present ? 1 : ldexp(1, -(int)words);
    }
    return lines;
}

bloomery_status bloomery_ribbon_solve(bloomery_plan *plan, const bloomery_plan_options *options,
                                      bloomery_error *error)
{
    struct bloomery_phrase wanted;
    bloomery_status status = check_ranges(plan, options, error);
    if (status != BLOOMERY_OK)
        return status;
    const double rate = plan->rate != 0 ? plan->rate : solve_rate(plan);
    if (rate == 0 || (plan->rate == 0 && rate > worst_rate))
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "%llu keys do not fit in %llu bytes: for 1 in 100 they need %s",
            (unsigned long long)plan->keys, (unsigned long long)plan->bytes,
            bloomery_phrase_bytes(&wanted, bloomery_ribbon_expected_bytes(plan->keys, 0.01)));
    const bool none = bloomery_plan_is_of_none(plan);
    const uint64_t keys = plan->bytes != 0 && plan->keys == 0 ? solve_keys(plan) : plan->keys;
    if (keys == 0 && !none)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "%llu bytes hold not a single key at a rate of %s",
                             (unsigned long long)plan->bytes, bloomery_phrase_rate(&wanted, rate));
    const uint64_t bytes = bloomery_ribbon_expected_bytes(keys, rate);
    if (bytes > BLOOMERY_BITS_MAX / 8)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "a filter has at most 2^47 bytes");
    const struct bloomery_ribbon ribbon = bloomery_ribbon_for(keys, rate);
    /* The filter's own rate may be below `rate`, by more than the guard for its thresholds: a
     * filter of few keys has whole columns, and may have half of the rate. */
    static const double guarded = 0.85;
    const double own = bloomery_ribbon_rate(&ribbon);
    plan->planned_rate = none ? 0 : plan->rate != 0 ? (own < guarded * rate ? own : rate) : rate;
    plan->planned_keys = keys;
    plan->planned_bytes = bytes;
    plan->blocks_per_key = 0;
    plan->probes = ribbon.columns + 1U;
    plan->cell_bits = 1;
    plan->bits = bloomery_ribbon_blocks(&ribbon) * BLOOMERY_RIBBON_WIDTH;
    plan->bits_per_key = none ? 0 : 8 * (double)bytes / (double)keys;
    plan->limit_ratio = none ? 0 : plan->bits_per_key / -log2(plan->planned_rate);
    plan->absent_cache_lines = lines_of(&ribbon, false);
    plan->present_cache_lines = lines_of(&ribbon, true);
    plan->hash = options->hash == BLOOMERY_HASH_DEFAULT ? BLOOMERY_HASH_XXH3_128 : options->hash;
    return BLOOMERY_OK;
}
