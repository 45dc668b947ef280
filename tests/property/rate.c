/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate that was planned is the rate that is measured.
 *
 * A cell of the grid is one plan and one family of keys. It is measured on many filters that differ
 * by the seed of their hash, in two ways: by querying absent keys of the same family, and by the
 * live rate that the library computes from the bits. Two sorts of chance separate a measurement
 * from its plan, and each gets its own bound:
 *
 *   - hits among the absent keys are binomial once the bits are given: Chernoff's bound;
 *   - the bits themselves differ from filter to filter: `deviations` standard errors of the mean of
 *     the live rates, their spread being estimated over all families together.
 *
 * `slack` allows for the planner's own approximation (2e-3 where the array is large). The risk that
 * chance alone turns a cell red is under 1e-9, and there are fewer than a thousand cells; the seeds
 * are fixed, so that what passes once passes always.
 *
 * Build: this file, ../support/support.c, ../support/bounds.c; cmocka, the library, libm. No
 * arguments. Suite: property. BLOOMERY_TEST_LONG=1: larger filters, more queries (minutes).
 */
#include "../support/bounds.h"
#include "../support/support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double risk = 1e-11;
static const double deviations = 6.5;
static const double slack = 0.005;

/* What the filters of one or several cells showed. */
struct tally {
    double filters;
    double queried;
    double hits;
    double live;     /* sum of the live rates */
    double squares;  /* and of their squares */
    double expected; /* hits, going by the live rates */
    double planned;  /* the rate of a group's plan */
};

static void tally_add(struct tally *sum, const struct tally *more)
{
    sum->filters += more->filters;
    sum->queried += more->queried;
    sum->hits += more->hits;
    sum->live += more->live;
    sum->squares += more->squares;
    sum->expected += more->expected;
}

/* The standard error of a mean over `filters` live rates. */
static double standard_error(const struct tally *all, double filters)
{
    double mean = all->live / all->filters;
    double variance = all->squares / all->filters - mean * mean;
    return variance > 0 ? sqrt(variance / (all->filters - 1) * all->filters / filters) : 0;
}

/* The worst of everything that was seen, for the record. */
static struct {
    double live;     /* mean live rate over planned, by group with a standard error under 0.5 % */
    double measured; /* hits over planned, by group with 10000 expected hits or more */
    double beyond;   /* the least that the hits of a group prove, over planned */
    unsigned cells;
} worst;

/* Keys of one family: those to add come first, absent ones follow. Made once, used by every cell.
 */
static struct test_keys pool[TEST_FAMILIES];
static const size_t pool_absent = 300000;
static const size_t pool_keys = 40000;

static int make_pool(void **state)
{
    (void)state;
    for (int family = 0; family < TEST_FAMILIES; family++)
        pool[family] = test_keys_make((enum test_family)family, 0, 0, pool_keys + pool_absent);
    return 0;
}

static int free_pool(void **state)
{
    (void)state;
    for (int family = 0; family < TEST_FAMILIES; family++)
        test_keys_free(&pool[family]);
    print_message(
        "# rate: %u cells; over planned at worst: mean live rate of a group %.4f, measured "
        "rate of a group %.4f, beyond statistical error %.4f\n",
        worst.cells, worst.live, worst.measured, worst.beyond);
    return 0;
}

struct cell {
    const char *name;
    bloomery_plan plan;
    uint64_t keys; /* in each filter */
    enum test_family family;
    unsigned filters;
    uint64_t queried; /* by each filter */
};

/* Fills and queries one filter after the other. */
static struct tally measure(const struct cell *cell)
{
    struct tally tally = {0};
    const struct test_keys *keys = &pool[cell->family];
    /* No key is queried twice in one filter: the second answer would be no news. */
    assert_true(cell->keys + cell->queried <= keys->count);
    for (unsigned i = 0; i < cell->filters; i++) {
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        options.seed = i; /* the default seed, 0, is among them */
        bloomery_filter *filter = test_create(&cell->plan, &options);
        assert_int_equal(add_list(filter, keys->keys, cell->keys, NULL), BLOOMERY_OK);
        bloomery_scan_result scan = scan_of(filter);
        tally.hits += (double)query_list(filter, keys->keys + cell->keys, cell->queried, NULL);
        tally.filters += 1;
        tally.queried += (double)cell->queried;
        tally.live += scan.live_rate;
        tally.squares += scan.live_rate * scan.live_rate;
        tally.expected += scan.live_rate * (double)cell->queried;
        bloomery_free(filter);
    }
    worst.cells++;
    return tally;
}

/* tally: of the cells judged; all: of every cell of that plan, to know the spread from. */
static void judge(const char *what, const char *family, const struct cell *cell,
                  const struct tally *tally, const struct tally *all)
{
    double planned = all->planned;
    double mean = tally->live / tally->filters;
    double play = deviations * standard_error(all, tally->filters) + slack * planned;
    char place[160];
    snprintf(place, sizeof place, "%s, %s, %s keys: m %llu, k %u, L %u, n %llu", what, cell->name,
             family, (unsigned long long)cell->plan.bits, cell->plan.probes,
             cell->plan.blocks_per_key, (unsigned long long)cell->keys);
    if (fabs(mean - planned) > play)
        fail_msg("%s: planned %.4g, mean live rate %.4g, allowed difference %.2g", place, planned,
                 mean, play);
    if (tally->queried <= 0)
        return;
    double low = test_rate_at_least(tally->hits, tally->queried, risk);
    double high = test_rate_at_most(tally->hits, tally->queried, risk);
    double live = tally->expected / tally->queried;
    if (low > live * (1 + 1e-9) || high < live * (1 - 1e-9))
        fail_msg("%s: live rate %.4g, measured %.4g (%.0f of %.0f)", place, live,
                 tally->hits / tally->queried, tally->hits, tally->queried);
    if (low > planned + play || high < planned - play)
        fail_msg("%s: planned %.4g, measured %.4g (%.0f of %.0f)", place, planned,
                 tally->hits / tally->queried, tally->hits, tally->queried);
}

/* Notes the worst ratios of a group: all families of one plan. */
static void note_worst(const struct tally *all)
{
    double error = standard_error(all, all->filters);
    double live = all->live / all->filters;
    double low = test_rate_at_least(all->hits, all->queried, risk);
    if (error < 0.005 * all->planned)
        worst.live = fmax(worst.live, live / all->planned);
    if (all->queried * all->planned >= 10000)
        worst.measured = fmax(worst.measured, all->hits / all->queried / all->planned);
    worst.beyond = fmax(worst.beyond, (live - deviations * error) / all->planned);
    worst.beyond = fmax(worst.beyond, (low - deviations * error) / all->planned);
    assert_true(worst.beyond <= 1.05); /* the promise, whatever the slack above */
}

/* One plan with every family of keys. */
static void check_group(const char *what, struct cell cell)
{
    struct tally all = {0};
    struct tally each[TEST_FAMILIES];
    all.planned = bloomery_plan_rate(&cell.plan, cell.keys);
    for (int family = 0; family < TEST_FAMILIES; family++) {
        cell.family = (enum test_family)family;
        each[family] = measure(&cell);
        tally_add(&all, &each[family]);
    }
    for (int family = 0; family < TEST_FAMILIES; family++)
        judge(what, test_family_names[family], &cell, &each[family], &all);
    judge(what, "all", &cell, &all, &all);
    note_worst(&all);
}

/* ---- The grid ------------------------------------------------------------------------ */

static void measured_rate_within_bounds(void **state)
{
    (void)state;
    static const struct {
        double rate;
        uint64_t queried; /* by all filters of a cell */
    } rates[] = {{0.3, 30000}, {0.1, 60000}, {0.01, 300000}, {1e-3, 600000}, {1e-4, 600000}};
    static const struct {
        uint64_t keys;
        unsigned filters;
    } sizes[] = {{1, 200}, {3, 200}, {10, 100}, {100, 60}, {1000, 24}, {30000, 6}};
    unsigned times = test_long() ? 20 : 1;
    for (size_t s = 0; s < TEST_SHAPES; s++)
        for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++)
            for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++) {
                struct cell cell = {
                    .name = test_shapes[s].name,
                    .plan = test_plan(&test_shapes[s], sizes[n].keys, rates[r].rate),
                    .keys = sizes[n].keys,
                    .filters = times * sizes[n].filters,
                    .queried = rates[r].queried / sizes[n].filters,
                };
                assert_true(
                    fabs(bloomery_plan_rate(&cell.plan, cell.keys) / cell.plan.planned_rate - 1) <
                    1e-6);
                check_group("grid", cell);
            }
}

/* The spread is estimated from what was seen, so that something must be seen: as many filters as
 * show 50 throws into a bit already set, over all families. */
static unsigned enough_filters(uint64_t bits, uint64_t throws)
{
    double coincidences = (double)(throws * throws) / (2 * (double)bits) * TEST_FAMILIES;
    return (unsigned)fmin(5000, fmax(1000, 50 / coincidences));
}

/* Arrays so small that the limits of the formulas are far off, filled to any degree. */
static void measured_rate_within_bounds_in_tiny_filters(void **state)
{
    (void)state;
    static const uint64_t flat[] = {1, 2, 3, 7, 8, 9, 63, 64, 65, 127, 129, 1000};
    static const uint64_t blocks[] = {1, 2, 3, 5, 17};
    static const uint32_t probes[] = {1, 2, 5};
    for (size_t p = 0; p < 3; p++) {
        for (size_t i = 0; i < sizeof flat / sizeof flat[0]; i++)
            for (uint64_t keys = 1; keys <= flat[i]; keys *= 6) {
                bloomery_plan plan = {
                    .kind = BLOOMERY_CLASSIC, .bits = flat[i], .probes = probes[p]};
                unsigned filters = enough_filters(flat[i], keys * probes[p]);
                check_group("tiny", (struct cell){"classic", plan, keys, TEST_RANDOM, filters,
                                                  20000 / filters});
            }
        for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
            for (uint32_t blocks_per_key = 1; blocks_per_key <= 4; blocks_per_key++)
                for (uint64_t keys = 20; keys <= 100 * blocks[i]; keys *= 5) {
                    bloomery_plan plan = {.kind = BLOOMERY_BLOCKED,
                                          .bits = 512 * blocks[i],
                                          .blocks_per_key = blocks_per_key,
                                          .probes = probes[p]};
                    check_group("tiny",
                                (struct cell){"blocked", plan, keys, TEST_RANDOM, 100, 200});
                }
    }
}

/* Sizes at which weak probe sequences fall into step: a power of two, and one off. */
static void measured_rate_within_bounds_at_powers_of_two(void **state)
{
    (void)state;
    static const unsigned powers[] = {10, 13, 16, 18};
    static const uint32_t probes[] = {4, 7, 20};
    for (size_t i = 0; i < sizeof powers / sizeof powers[0]; i++)
        for (uint64_t off = 0; off < 3; off++)
            for (size_t p = 0; p < sizeof probes / sizeof probes[0]; p++) {
                uint64_t bits = ((uint64_t)1 << powers[i]) + off - 1;
                bloomery_plan plan = {.kind = BLOOMERY_CLASSIC, .bits = bits, .probes = probes[p]};
                unsigned filters = powers[i] < 16 ? 24 : 8;
                uint64_t keys = bits * 7 / 10 / probes[p];
                check_group("power of two", (struct cell){"classic", plan, keys, TEST_RANDOM,
                                                          filters, 60000 / filters});
            }
    for (size_t i = 0; i < sizeof powers / sizeof powers[0]; i++)
        for (uint64_t off = 0; off < 3; off++)
            for (uint32_t blocks_per_key = 1; blocks_per_key <= 4; blocks_per_key++) {
                uint64_t blocks = ((uint64_t)1 << (powers[i] - 8)) + off - 1;
                bloomery_plan plan = {.kind = BLOOMERY_BLOCKED,
                                      .bits = 512 * blocks,
                                      .blocks_per_key = blocks_per_key,
                                      .probes = 3};
                uint64_t keys = 512 * blocks * 7 / 30 / blocks_per_key;
                check_group("power of two",
                            (struct cell){"blocked", plan, keys, TEST_RANDOM, 12, 5000});
            }
}

/* Rates that cannot be sampled in reasonable time are read off the bits. */
static void live_rate_within_bounds_of_small_rates(void **state)
{
    (void)state;
    static const double rates[] = {1e-5, 1e-6, 1e-7, 1e-9, 1e-12};
    for (size_t s = 0; s < TEST_SHAPES; s++)
        for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++)
            for (uint64_t keys = 1000; keys <= 20000; keys *= 20) {
                bloomery_plan plan = test_plan(&test_shapes[s], keys, rates[r]);
                unsigned filters = keys == 1000 ? 60 : 10;
                check_group("small rate", (struct cell){test_shapes[s].name, plan, keys,
                                                        TEST_RANDOM, filters, 1000});
            }
}

/* Two cells of 1e-5 are sampled all the same. */
static void measured_rate_within_bounds_at_1e_5(void **state)
{
    (void)state;
    unsigned filters = test_long() ? 120 : 8;
    static const size_t chosen[] = {0, 1};
    for (size_t i = 0; i < 2; i++) {
        const struct test_shape *shape = &test_shapes[chosen[i]];
        bloomery_plan plan = test_plan(shape, 10000, 1e-5);
        check_group("1e-5", (struct cell){shape->name, plan, 10000, TEST_RANDOM, filters, 250000});
    }
}

/* ---- Larger filters: keys are made in chunks, as the pool has no room for them ------- */

static double chunk_hits(bloomery_filter *filter, enum test_family family, uint64_t first,
                         uint64_t count, bool adding)
{
    const uint64_t chunk = 100000;
    double hits = 0;
    for (uint64_t done = 0; done < count; done += chunk) {
        uint64_t now = count - done < chunk ? count - done : chunk;
        struct test_keys keys = test_keys_make(family, 0, first + done, now);
        if (adding)
            assert_int_equal(add_list(filter, keys.keys, now, NULL), BLOOMERY_OK);
        else
            hits += (double)query_list(filter, keys.keys, now, NULL);
        test_keys_free(&keys);
    }
    return hits;
}

/* The relative spread of live rates falls with the root of the size: found at a smaller one. */
static double spread_of(const struct test_shape *shape, double rate, uint64_t keys)
{
    struct cell cell = {
        .plan = test_plan(shape, 4000, rate), .keys = 4000, .filters = 60, .family = TEST_RANDOM};
    struct tally tally = measure(&cell);
    double relative = standard_error(&tally, 1) / (tally.live / tally.filters);
    return relative * sqrt(4000 / (double)keys);
}

static void measured_rate_within_bounds_of_millions(void **state)
{
    (void)state;
    static const double rates[] = {0.01, 0.001};
    uint64_t keys = test_long() ? 50000000 : 2000000;
    uint64_t queried = test_long() ? 20000000 : 500000;
    for (size_t s = 0; s < TEST_SHAPES; s++)
        for (size_t r = 0; r < 2; r++) {
            enum test_family family = (enum test_family)((s * 2 + r) % TEST_FAMILIES);
            bloomery_plan plan = test_plan(&test_shapes[s], keys, rates[r]);
            bloomery_filter *filter = test_create(&plan, NULL);
            chunk_hits(filter, family, 0, keys, true);
            double hits = chunk_hits(filter, family, keys, queried, false);
            bloomery_scan_result scan = scan_of(filter);
            bloomery_free(filter);
            double spread = spread_of(&test_shapes[s], rates[r], keys);
            double play = (slack + deviations * spread) * plan.planned_rate;
            double count = (double)queried;
            if (test_rate_at_least(hits, count, risk) > plan.planned_rate + play ||
                test_rate_at_most(hits, count, risk) < plan.planned_rate - play ||
                fabs(scan.live_rate - plan.planned_rate) > play)
                fail_msg("%s, %s keys: planned %.5g, live %.5g, measured %.5g, allowed "
                         "difference %.2g",
                         test_shapes[s].name, test_family_names[family], plan.planned_rate,
                         scan.live_rate, hits / count, play);
        }
}

/* ---- Live rate and estimate ---------------------------------------------------------- */

/* At every degree of filling, under and over the plan. */
static void live_rate_matches_measurement(void **state)
{
    (void)state;
    static const double fills[] = {0.1, 0.5, 1, 2, 5, 12};
    for (size_t s = 0; s < TEST_SHAPES; s++)
        for (size_t f = 0; f < sizeof fills / sizeof fills[0]; f++) {
            bloomery_plan plan = test_plan(&test_shapes[s], 3000, 0.05);
            const struct test_keys *keys = &pool[(s + f) % TEST_FAMILIES];
            uint64_t count = (uint64_t)(3000 * fills[f]);
            bloomery_filter *filter = test_create(&plan, NULL);
            add_list(filter, keys->keys, count, NULL);
            bloomery_info info = BLOOMERY_INFO;
            bloomery_info_get(filter, &info);
            bloomery_scan_result scan = scan_of(filter);
            double hits = (double)query_list(filter, keys->keys + count, pool_absent, NULL);
            bloomery_free(filter);
            assert_true(fabs(scan.fill - (double)scan.bits_set / (double)info.bits) < 1e-12);
            if (test_rate_at_least(hits, (double)pool_absent, risk) > scan.live_rate ||
                test_rate_at_most(hits, (double)pool_absent, risk) < scan.live_rate)
                fail_msg("%s, filled %g times: live %.5g, measured %.5g", test_shapes[s].name,
                         fills[f], scan.live_rate, hits / (double)pool_absent);
            /* What the estimate predicts is close to what the bits say. */
            assert_true(scan.expected_rate < 1.25 * scan.live_rate + 1e-4);
            assert_true(scan.expected_rate > 0.75 * scan.live_rate - 1e-4);
        }
}

/*
 * The standard deviation of the estimate, in keys. The empty bits Z vary because throws coincide
 * (within a block) and because blocks get different loads; n is found from Z, so its deviation is
 * that of Z over |dZ/dn|. With c the load, v = e^-c (1 - (1+c) e^-c) cells of variance per cell.
 */
static double estimate_deviation(const bloomery_plan *plan, double keys)
{
    double bits = (double)plan->bits;
    double blocks_per_key = plan->blocks_per_key > 0 ? plan->blocks_per_key : 1;
    double throws = keys * blocks_per_key * plan->probes;
    double load = throws / bits;
    double variance = bits * exp(-load) * (1 - (1 + load) * exp(-load));
    double slope = plan->probes * blocks_per_key * exp(-load);
    if (plan->blocks_per_key > 0) {
        double blocks = bits / 512;
        double picks = keys * blocks_per_key / blocks;
        double keep = pow(1 - 1.0 / 512, plan->probes); /* an empty bit stays empty */
        double empty = exp(-picks * (1 - keep));
        variance += blocks * 512 * 512 *
                    (exp(-picks * (1 - keep * keep)) -
                     empty * empty * (1 + picks * (1 - keep) * (1 - keep)));
        slope = 512 * blocks_per_key * (1 - keep) * empty;
    }
    return sqrt(variance) / slope;
}

static void estimate_within_bounds(void **state)
{
    (void)state;
    static const double fills[] = {0.001, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95};
    for (size_t s = 0; s < TEST_SHAPES; s++)
        for (size_t f = 0; f < sizeof fills / sizeof fills[0]; f++)
            for (int twice = 0; twice < 2; twice++) {
                bloomery_plan plan = test_plan(&test_shapes[s], 20000, twice ? 1e-3 : 0.1);
                double blocks_per_key = plan.blocks_per_key > 0 ? plan.blocks_per_key : 1;
                uint64_t count = (uint64_t)(-log1p(-fills[f]) * (double)plan.bits /
                                            (blocks_per_key * plan.probes));
                const struct test_keys *keys = &pool[f % TEST_FAMILIES];
                bloomery_filter *filter = test_create(&plan, NULL);
                /* Repeated keys count once. */
                for (int time = 0; time <= twice; time++)
                    assert_int_equal(add_list(filter, keys->keys, count, NULL), BLOOMERY_OK);
                bloomery_info info = BLOOMERY_INFO;
                bloomery_info_get(filter, &info);
                bloomery_scan_result scan = scan_of(filter);
                bloomery_free(filter);
                assert_true(scan.fill > fills[f] * 0.85 && scan.fill < fills[f] * 1.1 + 0.001);
                double play =
                    fmax(0.01 * (double)count, 4 * estimate_deviation(&plan, (double)count));
                if (fabs(scan.estimated_keys - (double)count) > play)
                    fail_msg("%s, fill %.3f: %llu keys, estimated %.1f, allowed difference %.1f",
                             test_shapes[s].name, scan.fill, (unsigned long long)count,
                             scan.estimated_keys, play);
                assert_int_equal(info.adds, count * (uint64_t)(twice + 1));
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_rate_within_bounds),
        cmocka_unit_test(measured_rate_within_bounds_in_tiny_filters),
        cmocka_unit_test(measured_rate_within_bounds_at_powers_of_two),
        cmocka_unit_test(live_rate_within_bounds_of_small_rates),
        cmocka_unit_test(measured_rate_within_bounds_at_1e_5),
        cmocka_unit_test(measured_rate_within_bounds_of_millions),
        cmocka_unit_test(live_rate_matches_measurement),
        cmocka_unit_test(estimate_within_bounds),
    };
    return test_run_group("rate", tests, make_pool, free_pool);
}
