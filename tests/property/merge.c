/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters put together are the filter of all their keys, bit for bit, and a folded filter is the
 * one that would have been built at its size. Over all shapes and, for flat arrays, over sizes that
 * no plan has.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property.
 * merge_files.c writes them to files, merge_chains.c puts chains together.
 */
#include "../support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void merge(bloomery_filter *into, const bloomery_filter *from)
{
    bloomery_error error = {.text = ""};
    if (bloomery_merge(into, from, &error) != BLOOMERY_OK)
        fail_msg("merge: %s", error.text);
}

static bloomery_filter *fold(const bloomery_filter *filter, uint32_t times)
{
    bloomery_filter *folded = NULL;
    bloomery_error error = {.text = ""};
    if (bloomery_fold(filter, times, NULL, &folded, &error) != BLOOMERY_OK)
        fail_msg("fold %u: %s", times, error.text);
    return folded;
}

/* Every `step`-th key from `first` on. */
static void add_every(bloomery_filter *filter, const struct test_keys *keys, size_t first,
                      size_t step)
{
    for (size_t i = first; i < keys->count; i += step)
        assert_true(add_status(filter, keys->keys[i]) == BLOOMERY_OK);
}

static bloomery_filter *filter_of(const bloomery_plan *plan, const struct test_keys *keys,
                                  size_t first, size_t step)
{
    bloomery_filter *filter = test_create(plan, NULL);
    add_every(filter, keys, first, step);
    return filter;
}

static const bloomery_filter *view_of(const struct test_bytes *bytes)
{
    const bloomery_filter *view = NULL;
    bloomery_error error = {.text = ""};
    if (bloomery_view(bytes->data, bytes->bytes, NULL, &view, &error) != BLOOMERY_OK)
        fail_msg("view: %s", error.text);
    return view;
}

/* ---- Union ---------------------------------------------------------------------------------- */

static void parts_equal_the_whole(const bloomery_plan *plan, const struct test_keys *keys)
{
    bloomery_filter *whole = filter_of(plan, keys, 0, 1);
    for (size_t parts = 2; parts <= 5; parts++) {
        bloomery_filter *merged = filter_of(plan, keys, 0, parts);
        for (size_t part = 1; part < parts; part++) {
            bloomery_filter *other = filter_of(plan, keys, part, parts);
            merge(merged, other);
            bloomery_free(other);
        }
        test_assert_same(merged, whole); /* adds and all */
        assert_int_equal(bloomery_verify(merged, NULL), BLOOMERY_OK);
        bloomery_free(merged);
    }
    bloomery_free(whole);
}

static void merged_parts_equal_the_whole(void **state)
{
    (void)state;
    static const double rates[] = {0.1, 0.01, 1e-4};
    for (int shape = 0; shape < TEST_SHAPES; shape++)
        for (int family = 0; family < TEST_FAMILIES; family++)
            for (size_t r = 0; r < 3; r++) {
                struct test_keys keys = test_keys_make((enum test_family)family, 3, 0, 3000);
                bloomery_plan plan = test_plan(&test_shapes[shape], 3000, rates[r]);
                parts_equal_the_whole(&plan, &keys);
                test_keys_free(&keys);
            }
}

/* Flat arrays may have any number of bits; the last bytes then hold bits of no cell. */
static void merged_parts_equal_the_whole_at_odd_sizes(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 7, 64, 65, 511, 513, 1000, 32768, 32769, 40001};
    struct test_keys keys = test_keys_make(TEST_RANDOM, 4, 0, 1500);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        bloomery_plan plan = {.kind = BLOOMERY_CLASSIC, .bits = sizes[i], .probes = 5};
        parts_equal_the_whole(&plan, &keys);
    }
    test_keys_free(&keys);
}

/* The part that comes in may be a map, which others query during the merge. */
static void a_view_is_merged_like_a_filter(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_URLS, 5, 0, 2000);
    for (int shape = 0; shape < TEST_SHAPES; shape++) {
        bloomery_plan plan = test_plan(&test_shapes[shape], 2000, 0.01);
        bloomery_filter *whole = filter_of(&plan, &keys, 0, 1);
        bloomery_filter *into = filter_of(&plan, &keys, 0, 2);
        bloomery_filter *part = filter_of(&plan, &keys, 1, 2);
        struct test_bytes bytes = test_written(part);
        const bloomery_filter *view = view_of(&bytes);
        merge(into, view);
        test_assert_same(into, whole);
        bloomery_free(view);
        bloomery_free(into);
        bloomery_free(part);
        bloomery_free(whole);
        test_bytes_free(&bytes);
    }
    test_keys_free(&keys);
}

/* Bits stay; each key counts twice. */
static void a_filter_merged_with_itself(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_DECIMAL, 6, 0, 1000);
    for (int shape = 0; shape < TEST_SHAPES; shape++) {
        bloomery_plan plan = test_plan(&test_shapes[shape], 1000, 0.01);
        bloomery_filter *once = filter_of(&plan, &keys, 0, 1);
        bloomery_filter *twice = filter_of(&plan, &keys, 0, 1);
        add_every(twice, &keys, 0, 1);
        merge(once, once);
        test_assert_same(once, twice);
        struct test_bytes before = test_written(once);
        assert_int_equal(bloomery_intersect(once, once, NULL), BLOOMERY_OK);
        struct test_bytes after = test_written(once);
        assert_true(test_bytes_equal(&before, &after));
        test_bytes_free(&before);
        test_bytes_free(&after);
        bloomery_free(once);
        bloomery_free(twice);
    }
    test_keys_free(&keys);
}

/* ---- Counters ------------------------------------------------------------------------------- */

/* A counting filter small enough that some of its counters reach their maximum. */
static bloomery_plan crowded(uint32_t cell_bits)
{
    return (bloomery_plan){.kind = BLOOMERY_COUNTING,
                           .cell_bits = cell_bits,
                           .bits = cell_bits == 4 ? 8 * 512 : 2 * 512,
                           .blocks_per_key = 2,
                           .probes = 6};
}

static void counters_add_up_and_stay_at_their_maximum(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_IDS, 7, 0, 21000);
    for (uint32_t cell_bits = 4; cell_bits <= 8; cell_bits += 4) {
        bloomery_plan plan = crowded(cell_bits);
        bloomery_filter *probe = NULL;
        if (bloomery_create(&plan, NULL, &probe, NULL) == BLOOMERY_UNSUPPORTED)
            skip();
        bloomery_free(probe);
        struct test_keys some = keys;
        /* Half of the counters full, and far more than full in sum. */
        some.count = cell_bits == 4 ? 5000 : 21000;
        bloomery_filter *whole = filter_of(&plan, &some, 0, 1);
        uint64_t saturated = scan_of(whole).saturated_cells;
        assert_true(saturated > plan.bits / 100 && saturated <= plan.bits);
        parts_equal_the_whole(&plan, &some);
        bloomery_free(whole);
        some.count = cell_bits == 4 ? 1200 : 9500;
        whole = filter_of(&plan, &some, 0, 1);
        saturated = scan_of(whole).saturated_cells;
        assert_true(saturated < plan.bits);
        parts_equal_the_whole(&plan, &some);
        for (uint32_t times = 1; plan.bits >> times >= 512; times++) {
            bloomery_plan small = test_by_hand(&plan, plan.bits >> times);
            small.planned_rate = 0;
            bloomery_filter *built = filter_of(&small, &some, 0, 1);
            bloomery_filter *folded = fold(whole, times);
            test_assert_same(folded, built);
            bloomery_free(built);
            bloomery_free(folded);
        }
        bloomery_free(whole);
    }
    test_keys_free(&keys);
}

/* Of counters the lesser stays: so often was a key added to both. */
static void intersection_keeps_the_lesser_count(void **state)
{
    (void)state;
    bloomery_plan plan = {.kind = BLOOMERY_COUNTING, .keys = 1000, .rate = 1e-6};
    bloomery_filter *one = NULL;
    bloomery_filter *other = NULL;
    if (bloomery_plan_solve(&plan, NULL, NULL) != BLOOMERY_OK ||
        bloomery_create(&plan, NULL, &one, NULL) != BLOOMERY_OK)
        skip();
    other = test_create(&plan, NULL);
    bloomery_key key = bloomery_key_of("a key", 5);
    for (int i = 0; i < 3; i++)
        bloomery_add(one, key, NULL);
    for (int i = 0; i < 7; i++)
        bloomery_add(other, key, NULL);
    bloomery_add(other, bloomery_key_of("another", 7), NULL);
    assert_int_equal(bloomery_intersect(one, other, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_key_count(one, key), 3);
    assert_int_equal(bloomery_key_count(one, bloomery_key_of("another", 7)), 0);
    assert_int_equal(info_of(one).adds, 3);
    bloomery_free(one);
    bloomery_free(other);
}

/* ---- Folding -------------------------------------------------------------------------------- */

/* Folds as often as it can, step by step and at once, and compares with what is built so small. */
static void folds_equal_what_is_built(const bloomery_plan *plan, const struct test_keys *keys,
                                      uint64_t least)
{
    bloomery_filter *large = filter_of(plan, keys, 0, 1);
    bloomery_filter *step = NULL;
    for (uint32_t times = 1; (plan->bits >> times) >= least; times++) {
        const bloomery_plan small = test_by_hand(plan, plan->bits >> times);
        bloomery_filter *built = filter_of(&small, keys, 0, 1);
        bloomery_filter *folded = fold(large, times);
        bloomery_filter *next = fold(step != NULL ? step : large, 1);
        test_assert_same(folded, built);
        test_assert_same(next, built);
        bloomery_free(step);
        step = next;
        bloomery_free(folded);
        bloomery_free(built);
    }
    assert_non_null(step);
    bloomery_filter *none = step;
    assert_int_equal(bloomery_fold(step, 1, NULL, &none, NULL), BLOOMERY_BAD_ARGUMENT);
    assert_null(none);
    bloomery_free(step);
    bloomery_free(large);
}

static void fold_equals_building_at_that_size(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_RANDOM, 8, 0, 2500);
    for (int shape = 0; shape < TEST_SHAPES; shape++) {
        bloomery_plan plan = test_plan(&test_shapes[shape], 2500, 0.001);
        for (uint64_t odd = 1; odd <= 5; odd += 2) {
            bloomery_plan chosen = test_by_hand(&plan, odd * 512 * 32);
            folds_equal_what_is_built(&chosen, &keys,
                                      odd * (plan.kind == BLOOMERY_CLASSIC ? 1 : 512));
        }
    }
    test_keys_free(&keys);
}

/* Down to sizes at which many words become one bit, and to last words that are not whole. */
static void flat_arrays_fold_bit_by_bit(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_WORDS, 9, 0, 60);
    for (uint64_t odd = 1; odd <= 99; odd += 14) {
        bloomery_plan plan = {
            .kind = BLOOMERY_CLASSIC, .planned_keys = 60, .probes = 3, .bits = odd << 12};
        plan = test_by_hand(&plan, plan.bits);
        folds_equal_what_is_built(&plan, &keys, odd);
    }
    test_keys_free(&keys);
}

static void folding_that_is_impossible_is_refused(void **state)
{
    (void)state;
    bloomery_plan plan = {.blocks_per_key = 1, .probes = 4, .bits = 12 * 512};
    bloomery_filter *filter = test_create(&plan, NULL);
    bloomery_filter *folded = filter;
    bloomery_error error;
    assert_int_equal(bloomery_fold(filter, 3, NULL, &folded, &error), BLOOMERY_BAD_ARGUMENT);
    assert_null(folded);
    assert_string_equal(error.text, "a filter of 12 blocks can be halved 2 times, not 3");
    static const uint32_t never[] = {0, 31, 64, UINT32_MAX};
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(bloomery_fold(filter, never[i], NULL, &folded, &error),
                         BLOOMERY_BAD_ARGUMENT);
    folded = fold(filter, 2);
    bloomery_free(filter);
    assert_int_equal(bloomery_fold(folded, 1, NULL, &filter, &error), BLOOMERY_BAD_ARGUMENT);
    assert_null(filter);
    assert_non_null(strstr(error.text, "odd"));
    bloomery_free(folded);
}

/* The larger one is folded on the fly; into a larger one nothing can be put. */
static void filters_of_different_sizes_merge_at_the_lesser(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_LITTLE, 10, 0, 2000);
    for (int shape = 0; shape < TEST_SHAPES; shape++) {
        bloomery_plan plan = test_plan(&test_shapes[shape], 2000, 0.01);
        bloomery_plan small = test_by_hand(&plan, 512 * 24);
        bloomery_plan large = test_by_hand(&plan, 512 * 24 * 8);
        bloomery_filter *whole = filter_of(&small, &keys, 0, 1);
        bloomery_filter *one = filter_of(&small, &keys, 0, 2);
        bloomery_filter *other = filter_of(&large, &keys, 1, 2);
        struct test_bytes before = test_written(other);
        bloomery_error error;
        assert_int_equal(bloomery_compatible(other, one, &error), BLOOMERY_OK);
        assert_int_equal(bloomery_merge(other, one, &error), BLOOMERY_MISMATCH);
        assert_non_null(strstr(error.text, "fold it first"));
        struct test_bytes after = test_written(other);
        assert_true(test_bytes_equal(&before, &after));
        merge(one, other);
        test_assert_same(one, whole);
        test_bytes_free(&before);
        test_bytes_free(&after);
        bloomery_free(one);
        bloomery_free(other);
        bloomery_free(whole);
    }
    test_keys_free(&keys);
}

/* ---- Intersection --------------------------------------------------------------------------- */

/* Keys 0 to 2000 in the one, 1000 to 3000 in the other. No common key is lost; the others are taken
 * for common ones as often as the other filter's rate, and strangers less often than either's. */
static void intersection_keeps_common_keys(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_IDS, 11, 0, 43000);
    for (int shape = 0; shape < TEST_SHAPES; shape++) {
        bloomery_plan plan = test_plan(&test_shapes[shape], 2000, 0.05);
        bloomery_filter *one = test_create(&plan, NULL);
        bloomery_filter *other = test_create(&plan, NULL);
        bloomery_filter *common = test_create(&plan, NULL);
        add_list(one, keys.keys, 2000, NULL);
        add_list(other, keys.keys + 1000, 2000, NULL);
        add_list(common, keys.keys + 1000, 1000, NULL);
        const double rates[] = {scan_of(one).live_rate, scan_of(other).live_rate};
        assert_int_equal(bloomery_intersect(one, other, NULL), BLOOMERY_OK);
        assert_int_equal(query_list(one, keys.keys + 1000, 1000, NULL), 1000);
        double alone = (double)query_list(one, keys.keys, 1000, NULL) / 1000;
        assert_true(alone > rates[1] / 2 && alone < rates[1] * 2);
        size_t found = query_list(one, keys.keys + 3000, 40000, NULL);
        double strangers = (double)found / 40000;
        assert_true(strangers < rates[0] && strangers < rates[1]);
        /* The caveat: more bits are left than those of the common keys. */
        assert_true(scan_of(one).bits_set > scan_of(common).bits_set);
        assert_true(scan_of(one).live_rate > scan_of(common).live_rate);
        assert_int_equal(info_of(one).adds, 2000);
        bloomery_free(one);
        bloomery_free(other);
        bloomery_free(common);
    }
    test_keys_free(&keys);
}

/* Of filters without a common key the rate is about the product of their rates. */
static void strangers_to_both_pass_with_the_product_of_the_rates(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_RANDOM, 12, 0, 20000);
    for (int shape = 0; shape < TEST_SHAPES; shape++) {
        bloomery_plan plan = test_plan(&test_shapes[shape], 10000, 0.1);
        bloomery_filter *one = filter_of(&plan, &keys, 0, 2);
        bloomery_filter *other = filter_of(&plan, &keys, 1, 2);
        double product = scan_of(one).live_rate * scan_of(other).live_rate;
        assert_int_equal(bloomery_intersect(one, other, NULL), BLOOMERY_OK);
        double found = scan_of(one).live_rate;
        if (!(found > 0.8 * product && found < 1.25 * product))
            fail_msg("%s: %g, not %g", test_shapes[shape].name, found, product);
        bloomery_free(one);
        bloomery_free(other);
    }
    test_keys_free(&keys);
}

/* ---- Damage --------------------------------------------------------------------------------- */

/* A damaged part would get good checksums in the whole. */
static void damage_does_not_pass_on(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_BIG, 13, 0, 40000);
    bloomery_plan plan = test_plan(&test_shapes[1], 40000, 0.01);
    bloomery_filter *into = filter_of(&plan, &keys, 0, 2);
    bloomery_filter *part = filter_of(&plan, &keys, 1, 2);
    struct test_bytes good = test_written(into);
    struct test_bytes bad = test_written(part);
    bad.data[bad.bytes - 1000] ^= 4;
    const bloomery_filter *view = view_of(&bad);
    bloomery_filter *folded = into;
    assert_int_equal(bloomery_merge(into, view, NULL), BLOOMERY_CORRUPT);
    assert_int_equal(bloomery_intersect(into, view, NULL), BLOOMERY_CORRUPT);
    assert_int_equal(bloomery_fold(view, 1, NULL, &folded, NULL), BLOOMERY_CORRUPT);
    assert_null(folded);
    struct test_bytes after = test_written(into);
    assert_true(test_bytes_equal(&good, &after));
    test_bytes_free(&good);
    test_bytes_free(&bad);
    test_bytes_free(&after);
    bloomery_free(view);
    bloomery_free(into);
    bloomery_free(part);
    test_keys_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged_parts_equal_the_whole),
        cmocka_unit_test(merged_parts_equal_the_whole_at_odd_sizes),
        cmocka_unit_test(a_view_is_merged_like_a_filter),
        cmocka_unit_test(a_filter_merged_with_itself),
        cmocka_unit_test(counters_add_up_and_stay_at_their_maximum),
        cmocka_unit_test(intersection_keeps_the_lesser_count),
        cmocka_unit_test(fold_equals_building_at_that_size),
        cmocka_unit_test(flat_arrays_fold_bit_by_bit),
        cmocka_unit_test(folding_that_is_impossible_is_refused),
        cmocka_unit_test(filters_of_different_sizes_merge_at_the_lesser),
        cmocka_unit_test(intersection_keeps_common_keys),
        cmocka_unit_test(strangers_to_both_pass_with_the_product_of_the_rates),
        cmocka_unit_test(damage_does_not_pass_on),
    };
    return test_run_group("merge", tests, NULL, NULL);
}
