/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs of other versions are taken as the header says: shorter, longer, of zeros, or never
 * initialised.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/support.h"

#include <bloomery/builder.h>
#include <bloomery/dialect.h>
#include <bloomery/experimental.h>
#include <bloomery/sieve.h>

#include <string.h>

/* A field put into padding would not change the size by which the library knows a caller's
 * struct. */
#define ENDS_WITHOUT_PADDING(type, last)                                                   \
    _Static_assert(sizeof(type) == offsetof(type, last) + sizeof(((const type *)0)->last), \
                   #type " ends with " #last)
ENDS_WITHOUT_PADDING(bloomery_plan_options, reserved);
ENDS_WITHOUT_PADDING(bloomery_create_options, note);
ENDS_WITHOUT_PADDING(bloomery_open_options, note);
ENDS_WITHOUT_PADDING(bloomery_plan, present_cache_lines);
ENDS_WITHOUT_PADDING(bloomery_info, note);
ENDS_WITHOUT_PADDING(bloomery_scan_result, expected_rate);
ENDS_WITHOUT_PADDING(bloomery_builder_options, progress_context);
ENDS_WITHOUT_PADDING(bloomery_keys, nulls);
ENDS_WITHOUT_PADDING(bloomery_comparison, reserved);
ENDS_WITHOUT_PADDING(bloomery_layer_info, live_rate);
ENDS_WITHOUT_PADDING(bloomery_dialect_parameters, reserved);
ENDS_WITHOUT_PADDING(bloomery_sieve_options, max_deliveries);
ENDS_WITHOUT_PADDING(bloomery_sieve_info, leases);
ENDS_WITHOUT_PADDING(bloomery_limits, text);
ENDS_WITHOUT_PADDING(bloomery_sieve_recovery, folder);
ENDS_WITHOUT_PADDING(bloomery_sieve_plan, budget_rate);

static const bloomery_plan good = {.kind = BLOOMERY_BLOCKED,
                                   .bits = 1024,
                                   .blocks_per_key = 2,
                                   .probes = 4,
                                   .planned_keys = 10,
                                   .planned_rate = 0.5};

static void assert_create(const char *what, const bloomery_plan *plan,
                          const bloomery_create_options *options, bloomery_status expected)
{
    bloomery_filter *filter = NULL;
    const bloomery_status status = bloomery_create(plan, options, &filter, NULL);
    if (status != expected)
        fail_msg("%s: %s, not %s", what, bloomery_status_name(status),
                 bloomery_status_name(expected));
    assert_true((filter == NULL) == (status != BLOOMERY_OK));
    bloomery_free(filter);
}

/* A caller built against a later header has more fields: unused, they do no harm. */
static void structs_may_grow(void **state)
{
    (void)state;
    struct {
        bloomery_create_options options;
        uint64_t later[4];
    } grown;
    memset(&grown, 0, sizeof grown);
    grown.options.struct_bytes = sizeof grown;
    assert_create("grown options", &good, &grown.options, BLOOMERY_OK);
    grown.later[3] = 1;
    assert_create("a later option", &good, &grown.options, BLOOMERY_UNSUPPORTED);

    struct {
        bloomery_info info;
        uint8_t later[64];
    } info;
    bloomery_filter *filter = test_create(&good, NULL);
    /* A later caller's struct is not written past ours. */
    for (size_t bytes = sizeof info.info; bytes <= sizeof info; bytes += 8) {
        memset(&info, 0xab, sizeof info);
        info.info.struct_bytes = bytes;
        bloomery_info_get(filter, &info.info);
        assert_int_equal(info.info.struct_bytes, bytes);
        const uint8_t *all = (const uint8_t *)&info;
        for (size_t i = sizeof info.info; i < sizeof info; i++)
            assert_true(all[i] == 0xab || (i < bytes && all[i] == 0));
        assert_int_equal(info.info.bits, good.bits);
    }
    bloomery_free(filter);
}

/* A plan is read and filled by the size that the caller has: 0 is that of version 0.1. */
static void plans_may_grow(void **state)
{
    struct {
        bloomery_plan plan;
        uint64_t later;
    } grown;
    (void)state;
    memset(&grown, 0, sizeof grown);
    bloomery_plan plain = {.keys = 1000, .rate = 0.01};
    bloomery_plan sized = BLOOMERY_PLAN;
    sized.keys = grown.plan.keys = 1000;
    sized.rate = grown.plan.rate = 0.01;
    grown.plan.struct_bytes = sizeof grown;
    assert_int_equal(bloomery_plan_solve(&plain, NULL, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_plan_solve(&sized, NULL, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_plan_solve(&grown.plan, NULL, NULL), BLOOMERY_OK);
    assert_true(plain.struct_bytes == 0 && sized.struct_bytes == sizeof sized);
    assert_int_equal(grown.plan.struct_bytes, sizeof grown);
    assert_true(plain.bits > 0 && plain.bits == sized.bits && plain.bits == grown.plan.bits);
    assert_create("a plan without a size", &plain, NULL, BLOOMERY_OK);
    assert_create("a plan with its size", &sized, NULL, BLOOMERY_OK);
    assert_create("a later plan", &grown.plan, NULL, BLOOMERY_OK);
    grown.later = 1;
    assert_create("a later plan's number", &grown.plan, NULL, BLOOMERY_UNSUPPORTED);
    assert_int_equal(bloomery_plan_solve(&grown.plan, NULL, NULL), BLOOMERY_UNSUPPORTED);
    assert_true(bloomery_plan_rate(&grown.plan, 10) == 1);
    sized.struct_bytes = 8;
    assert_create("a plan that is too short", &sized, NULL, BLOOMERY_BAD_ARGUMENT);
}

/* So are keys read, and comparisons filled. */
static void keys_and_comparisons_may_grow(void **state)
{
    struct {
        bloomery_keys column;
        uint64_t later;
    } grown;
    struct {
        bloomery_comparison found;
        uint64_t later;
    } comparison;
    const uint64_t keys[2] = {1, 2};
    bloomery_filter *filter = test_create(&good, NULL);
    (void)state;
    memset(&grown, 0, sizeof grown);
    grown.column.struct_bytes = sizeof grown;
    grown.column.form = BLOOMERY_KEYS_FIXED;
    grown.column.data = keys;
    grown.column.width = 8;
    grown.column.count = 2;
    assert_int_equal(bloomery_add_keys(filter, &grown.column, NULL, NULL, NULL), BLOOMERY_OK);
    grown.later = 1;
    assert_int_equal(bloomery_add_keys(filter, &grown.column, NULL, NULL, NULL),
                     BLOOMERY_BAD_ARGUMENT);
    memset(&comparison, 0xab, sizeof comparison);
    comparison.found.struct_bytes = sizeof comparison;
    assert_int_equal(bloomery_compare(filter, filter, &comparison.found, NULL), BLOOMERY_OK);
    assert_true(comparison.found.equal && comparison.found.struct_bytes == sizeof comparison);
    assert_true(comparison.later == UINT64_C(0xabababababababab));
    comparison.found = (bloomery_comparison){0};
    assert_int_equal(bloomery_compare(filter, filter, &comparison.found, NULL), BLOOMERY_OK);
    assert_true(comparison.found.equal);
    bloomery_free(filter);
}

/* A struct that was never initialised begins with anything: what is only filled is filled then as
 * in version 0.1, and a plan, which is also read, is refused. */
static void an_uninitialised_info_is_filled(void **state)
{
    static const size_t sizes[] = {1, 4, sizeof(size_t), 5000, SIZE_MAX};
    bloomery_plan chain = {.kind = BLOOMERY_SCALABLE, .keys = 1000, .rate = 0.01};
    bloomery_filter *filter = test_create(&good, NULL);
    (void)state;
    assert_int_equal(bloomery_plan_solve(&chain, NULL, NULL), BLOOMERY_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        bloomery_plan plan = {.struct_bytes = sizes[i]};
        bloomery_layer_info layer;
        bloomery_comparison comparison;
        bloomery_info info;
        bloomery_scan_result scan;
        bloomery_error error = {.text = ""};
        memset(&layer, 0xab, sizeof layer);
        memset(&comparison, 0xab, sizeof comparison);
        memset(&info, 0xab, sizeof info);
        memset(&scan, 0xab, sizeof scan);
        layer.struct_bytes = comparison.struct_bytes = sizes[i];
        info.struct_bytes = scan.struct_bytes = sizes[i];
        assert_int_equal(bloomery_plan_solve(&plan, NULL, &error), BLOOMERY_BAD_ARGUMENT);
        assert_non_null(strstr(error.text, "BLOOMERY_PLAN"));
        assert_true(plan.struct_bytes == sizes[i] && plan.bits == 0);
        assert_int_equal(bloomery_plan_layer(&chain, 1, &plan, NULL), BLOOMERY_OK);
        assert_true(plan.struct_bytes == sizes[i] && plan.bits > 0);
        assert_int_equal(bloomery_layer_info_get(filter, 0, true, &layer), BLOOMERY_OK);
        assert_int_equal(bloomery_compare(filter, filter, &comparison, &error), BLOOMERY_OK);
        bloomery_info_get(filter, &info);
        bloomery_scan(filter, &scan);
        assert_true(layer.bits == good.bits && layer.probes == good.probes);
        assert_true(comparison.equal && comparison.within[0]);
        assert_true(info.kind == BLOOMERY_BLOCKED && info.bits == good.bits && info.note == NULL);
        assert_true(scan.bits_set == test_cells(filter) && scan.live_rate < 1);
    }
    chain.struct_bytes = 0;
    assert_int_equal(bloomery_plan_layer(&chain, 1, &chain, NULL), BLOOMERY_OK);
    assert_true(chain.struct_bytes == 0 && chain.kind == BLOOMERY_BLOCKED);
    bloomery_free(filter);
}

/* Every struct may begin with 0, for the size that it had in version 0.1. */
static void structs_of_zeros_work(void **state)
{
    static const uint64_t numbers[] = {1, 2, 3};
    bloomery_plan plan = {.keys = 100, .rate = 0.01}, layer_plan = {0};
    bloomery_plan_options wish = {0};
    bloomery_create_options options = {0};
    bloomery_open_options opening = {0};
    bloomery_keys keys = {
        .form = BLOOMERY_KEYS_FIXED, .data = numbers, .count = 3, .width = sizeof numbers[0]};
    bloomery_info info = {0};
    bloomery_scan_result scan = {0};
    bloomery_layer_info layer = {0};
    bloomery_comparison comparison = {0};
    bloomery_limits limits = {0};
    bloomery_filter *filter = NULL, *copy = NULL;
    bloomery_counts counts;
    (void)state;
    assert_int_equal(bloomery_plan_solve(&plan, &wish, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_create(&plan, &options, &filter, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_add_keys(filter, &keys, NULL, &counts, NULL), BLOOMERY_OK);
    assert_true(counts.done == 3 && counts.positive == 3);
    bloomery_info_get(filter, &info);
    bloomery_scan(filter, &scan);
    assert_true(info.adds == 3 && info.bits == plan.bits && info.struct_bytes == 0);
    assert_true(scan.bits_set == counts.cells && scan.struct_bytes == 0);
    assert_int_equal(bloomery_layer_info_get(filter, 0, true, &layer), BLOOMERY_OK);
    assert_true(layer.bits_set == counts.cells);
    assert_int_equal(bloomery_copy(filter, &opening, &copy, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_compare(filter, copy, &comparison, NULL), BLOOMERY_OK);
    assert_true(comparison.equal);
    bloomery_limits_get(&limits);
    assert_true(limits.room > 0);
    plan = (bloomery_plan){.kind = BLOOMERY_SCALABLE, .keys = 100, .rate = 0.01};
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_plan_layer(&plan, 1, &layer_plan, NULL), BLOOMERY_OK);
    assert_true(layer_plan.bits > 0);
    bloomery_free(copy);
    bloomery_free(filter);
}

/* So may those of builders, of other systems' filters and of sieves. */
static void more_structs_of_zeros_work(void **state)
{
    static const uint64_t numbers[] = {1, 2, 3};
    const bloomery_keys keys = {
        .form = BLOOMERY_KEYS_FIXED, .data = numbers, .count = 3, .width = sizeof numbers[0]};
    const bloomery_plan plan = {.rate = 0.01};
    const bloomery_builder_options building = {0};
    const bloomery_create_options options = {0};
    const bloomery_dialect_parameters with = {.keys = 100, .rate = 0.01};
    const bloomery_sieve_options sieving = {.keys = 1000};
    bloomery_builder *builder = NULL;
    const bloomery_filter *built = NULL;
    bloomery_filter *filter = NULL;
    bloomery_sieve *sieve = NULL;
    bloomery_sieve_info info = {0};
    bloomery_sieve_plan sieve_plan = {.keys = 1000};
    (void)state;
    assert_int_equal(bloomery_builder_open(&plan, &options, &building, &builder, NULL),
                     BLOOMERY_OK);
    assert_int_equal(bloomery_builder_add(builder, &keys, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_builder_finish(builder, &built, NULL), BLOOMERY_OK);
    assert_int_equal(query_list(built, (bloomery_key[]){{numbers, 8}, {numbers + 1, 8}}, 2, NULL),
                     2);
    bloomery_builder_free(builder);
    bloomery_free(built);
    assert_int_equal(
        bloomery_dialect_create(bloomery_dialect_find("guava"), &with, &options, &filter, NULL),
        BLOOMERY_OK);
    bloomery_free(filter);
    assert_int_equal(bloomery_sieve_open(&sieving, &sieve, NULL), BLOOMERY_OK);
    bloomery_sieve_info_get(sieve, &info);
    assert_true(info.engine == BLOOMERY_SIEVE_MEMORY && info.planned == 1000);
    assert_int_equal(bloomery_sieve_close(sieve, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_sieve_plan_solve(&sieve_plan, NULL), BLOOMERY_OK);
    assert_true(sieve_plan.seen_disk > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_may_grow),
        cmocka_unit_test(plans_may_grow),
        cmocka_unit_test(keys_and_comparisons_may_grow),
        cmocka_unit_test(an_uninitialised_info_is_filled),
        cmocka_unit_test(structs_of_zeros_work),
        cmocka_unit_test(more_structs_of_zeros_work),
    };
    return test_run_group("structs", tests, NULL, NULL);
}
