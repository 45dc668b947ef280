/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static filters: no key is lost, the rate is the planned one, the size is the plan's, and the same
 * set of keys gives the same bytes.
 *
 * Build: this file, ../support/support.c; cmocka, the library. Suite: property.
 */
#include "../support/built.h"
#include "../support/team.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double rates[] = {0.75, 0.5, 0.3, 0.1, 0.01, 1.0 / 256, 1e-4, 1.0 / 65536, 1e-12};
enum { RATES = sizeof rates / sizeof rates[0] };

/* ---- Keys ------------------------------------------------------------------------------------ */

static void all_found(double rate, size_t count)
{
    const bloomery_filter *filter = test_static_of_integers(rate, 1000, count);
    const size_t found = test_found(filter, 1000, count);
    if (found != count)
        fail_msg("%zu of %zu keys are lost at %g", count - found, count, rate);
    bloomery_filter *copy = NULL; /* and one by one */
    assert_int_equal(bloomery_copy(filter, NULL, &copy, NULL), BLOOMERY_OK);
    for (uint64_t i = 0; i < count; i += 1 + count / 256) {
        const uint64_t value = 1000 + i;
        assert_true(bloomery_may_contain(copy, bloomery_key_of(&value, sizeof value)));
    }
    bloomery_free(copy);
    bloomery_free(filter);
}

static void no_static_key_is_lost_at_any_small_size(void **state)
{
    (void)state;
    const size_t end = test_long() ? 5000 : 700;
    for (size_t count = 0; count <= end; count++)
        all_found(rates[count % RATES], count);
}

static void no_static_key_is_lost_around_the_borders(void **state)
{
    static const size_t borders[] = {1024,  2048,   4095,   4096,   4097,   8192,   11500,  16384,
                                     65536, 131072, 136314, 136315, 136316, 136400, 262144, 300000};
    (void)state;
    for (size_t i = 0; i < sizeof borders / sizeof borders[0]; i++)
        for (size_t j = 0; j < (test_long() ? RATES : 2); j++)
            for (size_t count = borders[i] - 1; count <= borders[i] + 1; count++)
                all_found(rates[(i + j + count) % RATES], count);
}

static void no_static_key_is_lost_of_any_family(void **state)
{
    (void)state;
    for (int family = 0; family < TEST_FAMILIES; family++) {
        struct test_keys keys = test_keys_make((enum test_family)family, 1, 0, 20000);
        const bloomery_filter *filter = test_static_of(1e-3, &keys);
        assert_int_equal(query_list(filter, keys.keys, keys.count, NULL), keys.count);
        for (size_t i = 0; i < keys.count; i++)
            assert_true(bloomery_may_contain(filter, keys.keys[i]));
        bloomery_free(filter);
        test_keys_free(&keys);
    }
}

static void an_empty_static_filter_contains_nothing(void **state)
{
    (void)state;
    bloomery_info info = BLOOMERY_INFO;
    const bloomery_filter *filter = test_static_of_integers(0.5, 0, 0);
    bloomery_info_get(filter, &info);
    bloomery_scan_result scan = scan_of(filter);
    assert_true(scan.live_rate == 0 && scan.estimated_keys == 0 && info.planned_keys == 0);
    assert_int_equal(test_found(filter, 0, 10000), 0);
    for (uint64_t i = 0; i < 100; i++)
        assert_false(bloomery_may_contain(filter, bloomery_key_of(&i, sizeof i)));
    assert_false(bloomery_may_contain(filter, bloomery_key_of("", 0)));
    bloomery_free(filter);
}

/* ---- Rates and sizes ------------------------------------------------------------------------- */

/* Within 4.5 standard deviations of the live rate: 7 in 10^6 fail by accident, and the seeds are
 * fixed. The live rate is at most the rate that was wanted. */
static void rate_is(double rate, size_t count, size_t queries)
{
    bloomery_info info = BLOOMERY_INFO;
    const bloomery_filter *filter = test_static_of_integers(rate, 0, count);
    bloomery_info_get(filter, &info);
    bloomery_scan_result scan = scan_of(filter);
    const double expected = scan.live_rate * (double)queries;
    const double found = (double)test_found(filter, UINT64_C(1) << 40, queries);
    const double deviation = sqrt(expected * (1 - scan.live_rate));
    if (fabs(found - expected) > 4.5 * deviation + 1)
        fail_msg("%zu keys at %g: %g found, %g expected", count, rate, found, expected);
    /* Thresholds stray more in small filters; the guard covers it from some thousand keys on. */
    if (scan.live_rate > rate * (count < 4096 ? 1.02 : 1) || info.planned_rate > rate ||
        (count >= 100000 && scan.live_rate < rate * 0.98))
        fail_msg("%zu keys at %g: live rate %g", count, rate, scan.live_rate);
    bloomery_free(filter);
}

/* Few keys have columns of half the wanted rate; the plan says the rate that they have. */
static void plans_of_few_keys_say_the_rate_that_is_built(void **state)
{
    static const uint64_t counts[] = {1, 2, 10, 64, 100, 1000};
    static const double wanted[] = {0.5, 0.3, 0.1, 0.01, 1e-6};
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
        for (size_t r = 0; r < sizeof wanted / sizeof wanted[0]; r++) {
            bloomery_plan plan = {.kind = BLOOMERY_STATIC, .keys = counts[c], .rate = wanted[r]};
            bloomery_info info = BLOOMERY_INFO;
            assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
            struct test_keys keys = test_keys_make(TEST_RANDOM, 5, 0, (size_t)counts[c]);
            const bloomery_filter *filter = test_static_of(wanted[r], &keys);
            bloomery_info_get(filter, &info);
            assert_true(plan.rate == wanted[r] && plan.planned_rate <= wanted[r]);
            assert_true(info.planned_rate <= plan.planned_rate &&
                        info.planned_rate >= 0.85 * plan.planned_rate);
            assert_int_equal(info.bytes, plan.planned_bytes);
            assert_true(counts[c] > 64 || wanted[r] != 0.5 || plan.planned_rate == 0.25);
            bloomery_free(filter);
            test_keys_free(&keys);
        }
}

static void static_rates_are_the_ones_planned(void **state)
{
    static const double planned[] = {0.75, 0.4, 0.1, 0.03, 0.01, 0.004, 1e-3, 1e-4, 1e-5, 1e-6};
    (void)state;
    const size_t queries = test_long() ? 20000000 : 1000000;
    for (size_t i = 0; i < sizeof planned / sizeof planned[0]; i++) {
        rate_is(planned[i], 200000, queries);
        rate_is(planned[i], 5000, queries / 4);
        rate_is(planned[i], 300, queries / 4);
    }
}

static void static_sizes_are_those_of_their_plans(void **state)
{
    (void)state;
    static const size_t counts[] = {100000, 140000, 300000};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        for (size_t j = 0; j < RATES; j += 2) {
            bloomery_plan plan = {.kind = BLOOMERY_STATIC, .keys = counts[i], .rate = rates[j]};
            bloomery_info info = BLOOMERY_INFO;
            assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
            const bloomery_filter *filter = test_static_of_integers(rates[j], 7, counts[i]);
            bloomery_info_get(filter, &info);
            const double bytes = (double)plan.planned_bytes;
            if (fabs((double)info.bytes - bytes) > 0.002 * bytes + 256)
                fail_msg("%zu keys at %g: %llu bytes, planned %llu", counts[i], rates[j],
                         (unsigned long long)info.bytes, (unsigned long long)plan.planned_bytes);
            assert_true(plan.planned_rate == rates[j] && info.planned_keys == counts[i]);
            bloomery_free(filter);
        }
}

static void static_filters_are_near_the_limit(void **state)
{
    static const struct {
        double rate;
        double factor;
    } targets[] = {{1e-2, 1.02}, {1e-3, 1.008}, {1.0 / 256, 1.008}};
    (void)state;
    const size_t count = 1000000;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        bloomery_info info = BLOOMERY_INFO;
        const bloomery_filter *filter = test_static_of_integers(targets[i].rate, 1, count);
        bloomery_info_get(filter, &info);
        const double limit = (double)count * -log2(targets[i].rate) / 8;
        if ((double)info.bytes > targets[i].factor * limit)
            fail_msg("%g times the limit at %g", (double)info.bytes / limit, targets[i].rate);
        bloomery_free(filter);
    }
}

static void static_plans_are_solved_for_each_of_the_three(void **state)
{
    (void)state;
    for (uint64_t keys = 1000; keys <= 1000000000000; keys *= 1000)
        for (size_t j = 1; j < RATES; j++) {
            bloomery_plan plan = {.kind = BLOOMERY_STATIC, .keys = keys, .rate = rates[j]};
            assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
            bloomery_plan by_bytes = {
                .kind = BLOOMERY_STATIC, .keys = keys, .bytes = plan.planned_bytes};
            assert_int_equal(bloomery_plan_solve(&by_bytes, NULL, NULL), BLOOMERY_OK);
            assert_true(by_bytes.planned_rate <= rates[j] * 1.0001 &&
                        by_bytes.planned_bytes <= plan.planned_bytes);
            bloomery_plan for_keys = {
                .kind = BLOOMERY_STATIC, .rate = rates[j], .bytes = plan.planned_bytes};
            assert_int_equal(bloomery_plan_solve(&for_keys, NULL, NULL), BLOOMERY_OK);
            assert_true(for_keys.planned_keys >= keys &&
                        for_keys.planned_bytes <= plan.planned_bytes);
            assert_true(bloomery_plan_rate(&plan, keys) == rates[j]);
        }
}

/* ---- The same bytes -------------------------------------------------------------------------- */

struct adder {
    bloomery_builder *builder;
    const uint64_t *values;
    size_t count;
};

static void add_values(void *context, unsigned number)
{
    const struct adder *adder = (const struct adder *)context + number;
    bloomery_key keys[100];
    for (size_t i = 0; i < adder->count; i += 100) {
        const size_t now = adder->count - i < 100 ? adder->count - i : 100;
        for (size_t j = 0; j < now; j++)
            keys[j] = bloomery_key_of(&adder->values[i + j], sizeof(uint64_t));
        if (build_list(adder->builder, keys, now, NULL) != BLOOMERY_OK)
            abort();
    }
}

/* Shuffled, each twice, from three threads. */
static struct test_bytes built_shuffled(const uint64_t *values, size_t count,
                                        const bloomery_builder_options *options)
{
    uint64_t seed = 5;
    uint64_t *twice = malloc(2 * count * sizeof *twice);
    assert_non_null(twice);
    memcpy(twice, values, count * sizeof *twice);
    memcpy(twice + count, values, count * sizeof *twice);
    for (size_t i = 2 * count; i > 1; i--) {
        const size_t j = (size_t)test_below(&seed, i);
        const uint64_t other = twice[j];
        twice[j] = twice[i - 1];
        twice[i - 1] = other;
    }
    bloomery_builder *builder = test_builder(0.004, NULL, options);
    struct team team = {0};
    struct adder adders[3];
    for (size_t i = 0; i < 3; i++) {
        const size_t first = 2 * count * i / 3;
        adders[i] = (struct adder){builder, twice + first, 2 * count * (i + 1) / 3 - first};
    }
    team_run(&team, 3, add_values, adders);
    free(twice);
    const bloomery_filter *filter = test_finish(builder);
    struct test_bytes bytes = test_written(filter);
    bloomery_free(filter);
    return bytes;
}

static void any_order_repeats_threads_and_memory_give_the_same_bytes(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    /* As hashes that wait they take more than 16 MiB allow. */
    const size_t count = 500000;
    struct test_integers integers = test_integers_make(99, count);
    const bloomery_filter *filter = test_static_of_integers(0.004, 99, count);
    const struct test_bytes expected = test_written(filter);
    for (uint32_t threads = 1; threads <= 7; threads += 3) {
        bloomery_builder_options options = BLOOMERY_BUILDER_OPTIONS;
        options.threads = threads;
        options.unchecked = threads == 7;
        if (threads < 7) {
            options.memory = UINT64_C(16) << 20;
            options.directory = directory.path;
        }
        struct test_bytes bytes = built_shuffled(integers.values, count, &options);
        assert_true(test_bytes_equal(&bytes, &expected));
        test_bytes_free(&bytes);
    }
    assert_int_equal(test_directory_entries(&directory), 0);
    bloomery_hash *hashes = malloc(count * sizeof *hashes);
    assert_non_null(hashes);
    assert_int_equal(bloomery_hash_keys(filter, &integers.column, hashes, NULL), BLOOMERY_OK);
    bloomery_builder *builder = test_builder(0.004, NULL, NULL);
    assert_int_equal(build_hashes(builder, hashes, count, NULL), BLOOMERY_OK);
    bloomery_free(filter);
    filter = test_finish(builder);
    struct test_bytes bytes = test_written(filter);
    assert_true(test_bytes_equal(&bytes, &expected));
    test_bytes_free(&bytes);
    test_bytes_free((struct test_bytes *)(uintptr_t)&expected);
    bloomery_free(filter);
    free(hashes);
    free(integers.values);
    test_directory_remove(&directory);
}

/* Absent keys, of which a part fits in the first plane and a part was bumped. */
static void single_keys_are_answered_as_batches_are(void **state)
{
    (void)state;
    static const double wanted[] = {0.7, 0.3, 0.05, 0.004, 1e-3, 1e-5, 1e-9};
    enum { QUERIES = 64 * 400 };
    struct test_integers integers = test_integers_make(1000, QUERIES);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const bloomery_filter *filter = test_static_of_integers(wanted[i], 5, 30000);
        uint64_t answers[QUERIES / 64];
        size_t found;
        assert_int_equal(query_keys(filter, &integers.column, answers, &found, NULL), BLOOMERY_OK);
        for (size_t j = 0; j < QUERIES; j++)
            assert_int_equal(answers[j / 64] >> (j % 64) & 1,
                             bloomery_may_contain(filter, bloomery_key_of(&integers.values[j], 8)));
        bloomery_free(filter);
    }
    free(integers.values);
}

/* Sections of the second layer are largest just below each power of two of them. */
static void the_least_memory_is_enough_for_any_number_of_keys(void **state)
{
    (void)state;
    static const size_t counts[] = {3000000, 6500000};
    struct test_directory directory = test_directory_make();
    for (size_t i = 0; i < (test_long() ? 2 : 1); i++) {
        struct test_integers integers = test_integers_make(7, counts[i]);
        bloomery_builder_options options = BLOOMERY_BUILDER_OPTIONS;
        options.memory = UINT64_C(16) << 20;
        options.directory = directory.path;
        bloomery_builder *builder = test_builder(0.01, NULL, &options);
        assert_int_equal(bloomery_builder_add(builder, &integers.column, NULL), BLOOMERY_OK);
        const bloomery_filter *filter = test_finish(builder); /* which looks all keys up */
        bloomery_free(filter);
        free(integers.values);
    }
    test_directory_remove(&directory);
}

/* ---- Hostile keys ---------------------------------------------------------------------------- */

static void hashes_that_share_a_half_are_all_found(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    static bloomery_hash hashes[COUNT];
    for (int same = 0; same < 2; same++) {
        uint64_t seed = 3;
        for (size_t i = 0; i < COUNT; i++) {
            hashes[i] = (bloomery_hash){test_next(&seed), test_next(&seed)};
            if (same == 0)
                hashes[i].hi = 12345;
            if (same == 1)
                hashes[i] = (bloomery_hash){1, 2};
        }
        bloomery_info info = BLOOMERY_INFO;
        bloomery_builder *builder = test_builder(0.001, NULL, NULL);
        assert_int_equal(build_hashes(builder, hashes, COUNT, NULL), BLOOMERY_OK);
        const bloomery_filter *filter = test_finish(builder);
        assert_int_equal(query_hashes(filter, hashes, COUNT, NULL), COUNT);
        for (size_t i = 0; i < COUNT; i++)
            assert_true(bloomery_may_contain_hash(filter, hashes[i]));
        bloomery_info_get(filter, &info);
        assert_true(info.layers <= 6);
        assert_int_equal(info.planned_keys, same == 1 ? 1 : COUNT);
        bloomery_free(filter);
    }
}

/* In every layer but the first all of them start at one row. Chance does not do that. */
static void hashes_made_to_collide_everywhere_are_refused(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    static bloomery_hash hashes[COUNT];
    uint64_t seed = 3;
    bloomery_error error;
    const bloomery_filter *filter = NULL;
    for (size_t i = 0; i < COUNT; i++) {
        const uint64_t lo = test_next(&seed);
        hashes[i] = (bloomery_hash){lo, 12345 ^ (lo << 32 | lo >> 32)};
    }
    bloomery_builder *builder = test_builder(0.001, NULL, NULL);
    assert_int_equal(build_hashes(builder, hashes, COUNT, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_builder_finish(builder, &filter, &error), BLOOMERY_UNSUPPORTED);
    assert_non_null(strstr(error.text, "secret"));
    assert_null(filter);
    bloomery_builder_free(builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_static_key_is_lost_at_any_small_size),
        cmocka_unit_test(no_static_key_is_lost_around_the_borders),
        cmocka_unit_test(no_static_key_is_lost_of_any_family),
        cmocka_unit_test(an_empty_static_filter_contains_nothing),
        cmocka_unit_test(plans_of_few_keys_say_the_rate_that_is_built),
        cmocka_unit_test(static_rates_are_the_ones_planned),
        cmocka_unit_test(static_sizes_are_those_of_their_plans),
        cmocka_unit_test(static_filters_are_near_the_limit),
        cmocka_unit_test(static_plans_are_solved_for_each_of_the_three),
        cmocka_unit_test(any_order_repeats_threads_and_memory_give_the_same_bytes),
        cmocka_unit_test(single_keys_are_answered_as_batches_are),
        cmocka_unit_test(the_least_memory_is_enough_for_any_number_of_keys),
        cmocka_unit_test(hashes_that_share_a_half_are_all_found),
        cmocka_unit_test(hashes_made_to_collide_everywhere_are_refused),
    };
    return test_run_group("static_filters", tests, NULL, NULL);
}
