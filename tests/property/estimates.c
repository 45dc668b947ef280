/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many different keys are in a filter is read off its bits: within 1 % or four standard
 * deviations at any fill from 0.1 % to 95 %, in every kind, by a scan or by summing up what each
 * add said. Repeated adds count nothing.
 *
 * The deviation: n keys of b bits each leave a cell of m empty with chance e^-c, c = nb/m. The
 * number of cells set varies by m e^-c (1 - (1 + c) e^-c), and one more stands for e^c / b keys:
 * together a standard deviation of sqrt(m (e^c - 1 - c)) / b. In blocks, whose loads vary, it is a
 * little more: the number of set cells in a block varies with its load too, but then so do the
 * picks of the other blocks, which sum to nL; what is left is a few per cent, for which the bound
 * has a quarter to spare.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/support.h"

#include <bloomery/builder.h>
#include <bloomery/dialect.h>
#include <bloomery/experimental.h>

#include <math.h>
#include <stdlib.h>

static const uint64_t cells = (uint64_t)1 << 21;

static bloomery_plan geometry(bloomery_kind kind, uint32_t blocks_per_key, uint32_t probes)
{
    return (bloomery_plan){
        .kind = kind, .bits = cells, .blocks_per_key = blocks_per_key, .probes = probes};
}

static double deviation(const bloomery_plan *plan, double keys)
{
    double bits_per_key = plan->probes * (plan->blocks_per_key > 0 ? plan->blocks_per_key : 1.0);
    double load = keys * bits_per_key / (double)cells;
    return 1.25 * sqrt((double)cells * (expm1(load) - load)) / bits_per_key;
}

/* Keys that fill this share of the cells, on average. */
static uint64_t keys_for(const bloomery_filter *filter, double fill)
{
    return (uint64_t)(bloomery_estimate(filter, (uint64_t)(fill * (double)cells)) + 0.5);
}

static void check(const bloomery_plan *plan, uint64_t seed, double *worst)
{
    static const double fills[] = {0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.7, 0.85, 0.95};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.seed = seed;
    bloomery_filter *filter = test_create(plan, &options);
    uint64_t most = keys_for(filter, 0.95);
    struct test_keys keys = test_keys_make(TEST_DECIMAL, seed, 0, most);
    uint64_t bits_set = 0, done = 0;
    for (size_t i = 0; i < sizeof fills / sizeof fills[0]; i++) {
        uint64_t n = keys_for(filter, fills[i]);
        for (unsigned again = 0; again < 2; again++) {
            uint64_t new_bits;
            uint64_t from = again ? 0 : done;
            assert_int_equal(add_list_bits(filter, keys.keys + from, n - from, NULL, &new_bits), 0);
            bits_set += new_bits;
            assert_true(!again || new_bits == 0);
        }
        done = n;
        bloomery_scan_result scan = scan_of(filter);
        assert_int_equal(scan.bits_set, bits_set);
        assert_true(fabs(scan.fill - fills[i]) < 0.01);
        assert_true(scan.estimated_keys == bloomery_estimate(filter, bits_set));
        double off = fabs(scan.estimated_keys - (double)n);
        double allowed = fmax(0.01 * (double)n, 4 * deviation(plan, (double)n));
        if (off / allowed > *worst)
            *worst = off / allowed;
        if (off > allowed)
            fail_msg("%s, L = %u, k = %u, fill %g: %llu keys, estimated %.1f, allowed %.1f",
                     bloomery_kind_name((int)plan->kind), plan->blocks_per_key, plan->probes,
                     fills[i], (unsigned long long)n, scan.estimated_keys, allowed);
    }
    test_keys_free(&keys);
    bloomery_free(filter);
}

static void estimates_are_right_at_any_fill(void **state)
{
    (void)state;
    static const uint32_t probes[] = {1, 2, 5, 6, 8};
    const uint64_t seeds = test_long() ? 8 : 1;
    double worst = 0;
    for (uint64_t seed = 0; seed < seeds; seed++)
        for (size_t i = 0; i < sizeof probes / sizeof probes[0]; i++) {
            bloomery_plan plan = geometry(BLOOMERY_CLASSIC, 0, probes[i]);
            check(&plan, seed, &worst);
            for (uint32_t blocks_per_key = 1; blocks_per_key <= 4; blocks_per_key++) {
                plan = geometry(BLOOMERY_BLOCKED, blocks_per_key, probes[i]);
                check(&plan, seed, &worst);
            }
            plan = geometry(BLOOMERY_COUNTING, 1 + (uint32_t)i % 2, probes[i]);
            check(&plan, seed, &worst);
        }
    print_message("# estimates: at worst %.2f of what is allowed\n", worst);
}

/* The deviation that the bound rests on is the one that is found: neither far less nor more. */
static void estimates_vary_as_derived(void **state)
{
    (void)state;
    static const struct {
        bloomery_kind kind;
        uint32_t blocks_per_key;
        uint32_t probes;
    } table[] = {{BLOOMERY_CLASSIC, 0, 6}, {BLOOMERY_BLOCKED, 1, 6}, {BLOOMERY_BLOCKED, 2, 5}};
    enum { TIMES = 60 };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        bloomery_plan plan = geometry(table[i].kind, table[i].blocks_per_key, table[i].probes);
        struct test_keys keys = test_keys_make(TEST_LITTLE, 1, 0, 250000);
        double squares = 0;
        for (uint64_t seed = 0; seed < TIMES; seed++) {
            bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
            options.seed = seed + 100;
            bloomery_filter *filter = test_create(&plan, &options);
            uint64_t bits_set;
            assert_int_equal(add_list_bits(filter, keys.keys, keys.count, NULL, &bits_set), 0);
            double off = bloomery_estimate(filter, bits_set) - (double)keys.count;
            squares += off * off;
            bloomery_free(filter);
        }
        /* Chi-square with 60 degrees: 0.5 to 1.7 of it is more than four deviations to each
         * side. */
        double ratio = sqrt(squares / TIMES) / deviation(&plan, (double)keys.count) * 1.25;
        print_message("# %s, L = %u: found %.2f of the deviation derived\n",
                      bloomery_kind_name((int)plan.kind), plan.blocks_per_key, ratio);
        assert_true(ratio > 0.6 && ratio < 1.25 * 1.35);
        test_keys_free(&keys);
    }
}

static void the_ends_are_exact(void **state)
{
    (void)state;
    static const bloomery_kind kinds[] = {BLOOMERY_CLASSIC, BLOOMERY_BLOCKED, BLOOMERY_COUNTING};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        bloomery_plan plan = geometry(kinds[i], kinds[i] == BLOOMERY_CLASSIC ? 0 : 1, 5);
        bloomery_filter *filter = test_create(&plan, NULL);
        assert_true(bloomery_estimate(filter, 0) == 0 && !signbit(bloomery_estimate(filter, 0)));
        assert_true(isinf(bloomery_estimate(filter, cells)));
        assert_true(isinf(bloomery_estimate(filter, UINT64_MAX)));
        assert_true(bloomery_add(filter, bloomery_key_of("", 0), NULL));
        bloomery_scan_result scan = scan_of(filter);
        assert_true(fabs(scan.estimated_keys - 1) < 0.21); /* or two positions coincide */
        bloomery_free(filter);
    }
}

/* Sums of a caller's that went wrong: more bits than there are mean that all are set, in every
 * system's filters. */
static void more_bits_than_there_are_are_all(void **state)
{
    (void)state;
    static const bloomery_kind kinds[] = {BLOOMERY_CLASSIC, BLOOMERY_BLOCKED, BLOOMERY_COUNTING,
                                          BLOOMERY_SCALABLE};
    const size_t ours = sizeof kinds / sizeof kinds[0];
    const bloomery_dialect *dialect = bloomery_dialect_get(1);
    size_t looked_at = 0;
    for (size_t i = 0; i < ours || dialect != NULL; i++) {
        bloomery_plan plan = {.kind = kinds[i < ours ? i : 0], .keys = 2000, .rate = 0.01};
        bloomery_dialect_parameters with = BLOOMERY_DIALECT_PARAMETERS;
        bloomery_filter *filter = NULL;
        bloomery_info info = BLOOMERY_INFO;
        with.keys = plan.keys;
        with.rate = plan.rate;
        if (i < ours) {
            assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
            filter = test_create(&plan, NULL);
        } else {
            (void)bloomery_dialect_create(dialect, &with, NULL, &filter, NULL);
            dialect = bloomery_dialect_get((uint32_t)(i - ours + 2));
        }
        if (filter == NULL) /* it takes other parameters, or its hash is not there */
            continue;
        bloomery_info_get(filter, &info);
        const double all = bloomery_estimate(filter, info.bits);
        for (uint64_t more = 1; more < UINT64_C(1) << 60; more *= 16)
            assert_true(bloomery_estimate(filter, info.bits + more) == all);
        assert_true(bloomery_estimate(filter, UINT64_MAX) == all && all > (double)plan.keys);
        bloomery_free(filter);
        looked_at++;
    }
    assert_true(looked_at >= ours + 6);
}

/* The keys that a filter is filled with until nothing is left, asking as often as that says. */
static uint64_t fill_up(bloomery_filter *filter, double limit, size_t *asked)
{
    uint64_t keys = 0, left;
    for (*asked = 0; (left = bloomery_keys_left(filter, limit)) > 0; ++*asked) {
        assert_true(left < UINT64_C(1) << 32 && *asked < 60);
        for (const uint64_t end = keys + left; keys < end; keys++)
            assert_true(add_status(filter, bloomery_key_of(&keys, sizeof keys)) == BLOOMERY_OK);
    }
    return keys;
}

/* The keys that the library counts as left bring the rate to its limit in a few steps, and not
 * beyond: a filter with a few more of them is. */
static void keys_left_end_at_the_limit(void **state)
{
    (void)state;
    static const bloomery_kind kinds[] = {BLOOMERY_CLASSIC, BLOOMERY_BLOCKED, BLOOMERY_COUNTING};
    static const struct {
        uint64_t keys;
        double rate, limit;
    } cases[] = {{100000, 0.01, 0}, {100000, 1e-4, 0}, {20000, 0.01, 0.1},
                 {500, 0.01, 0},    {10, 0.01, 0},     {2, 1e-4, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0] * 3; i++) {
        bloomery_plan plan = {
            .kind = kinds[i % 3], .keys = cases[i / 3].keys, .rate = cases[i / 3].rate};
        bloomery_info info = BLOOMERY_INFO;
        size_t asked;
        assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
        bloomery_filter *filter = test_create(&plan, NULL);
        uint64_t keys = fill_up(filter, cases[i / 3].limit, &asked);
        bloomery_info_get(filter, &info);
        bloomery_scan_result scan = scan_of(filter);
        const double limit = cases[i / 3].limit > 0 ? cases[i / 3].limit
                                                    : fmax(info.wanted_rate, 2 * info.planned_rate);
        assert_true(asked <= 40);
        assert_true(keys + 1 >= cases[i / 3].keys);
        assert_true(scan.live_rate <= limit || scan.estimated_keys <= (double)plan.keys + 1);
        for (uint64_t end = keys + keys / 100 + 5; keys < end; keys++)
            assert_true(add_status(filter, bloomery_key_of(&keys, sizeof keys)) == BLOOMERY_OK);
        assert_true(scan_of(filter).live_rate > limit);
        assert_int_equal(bloomery_keys_left(filter, cases[i / 3].limit), 0);
        bloomery_free(filter);
    }
}

/* A chain grows, an unknown plan has no limit, and nothing is added to a static filter. */
static void keys_left_are_without_end_if_no_limit_is_set(void **state)
{
    (void)state;
    bloomery_plan unknown = geometry(BLOOMERY_BLOCKED, 1, 5);
    bloomery_plan grows = {.kind = BLOOMERY_SCALABLE, .keys = 100, .rate = 0.01};
    bloomery_plan solid = {.kind = BLOOMERY_STATIC, .keys = 100, .rate = 0.01};
    assert_int_equal(bloomery_plan_solve(&grows, NULL, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_plan_solve(&solid, NULL, NULL), BLOOMERY_OK);
    bloomery_filter *filter = test_create(&unknown, NULL);
    assert_true(bloomery_keys_left(filter, 0) == UINT64_MAX);
    assert_true(bloomery_keys_left(filter, 0.01) > 0);
    assert_true(bloomery_keys_left(filter, 0.01) < cells);
    bloomery_free(filter);
    filter = test_create(&grows, NULL);
    assert_true(bloomery_keys_left(filter, 0) == UINT64_MAX);
    bloomery_free(filter);
    bloomery_builder *builder = NULL;
    assert_int_equal(bloomery_builder_open(&solid, NULL, NULL, &builder, NULL), BLOOMERY_OK);
    const bloomery_filter *built = NULL;
    assert_int_equal(bloomery_builder_finish(builder, &built, NULL), BLOOMERY_OK);
    assert_true(bloomery_keys_left(built, 0) == 0);
    bloomery_free(built);
    bloomery_builder_free(builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_are_right_at_any_fill),
        cmocka_unit_test(estimates_vary_as_derived),
        cmocka_unit_test(the_ends_are_exact),
        cmocka_unit_test(more_bits_than_there_are_are_all),
        cmocka_unit_test(keys_left_end_at_the_limit),
        cmocka_unit_test(keys_left_are_without_end_if_no_limit_is_set),
    };
    return test_run_group("estimates", tests, NULL, NULL);
}
