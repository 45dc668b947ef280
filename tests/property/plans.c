/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans and the filters made of them: what a caller asks for stays as it was, so a plan can be
 * solved again and again; what was solved is not taken for something else; and the usual filter
 * needs no plan at all.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property.
 */
#include "../support/built.h"
#include "../support/support.h"

#include <string.h>

static const bloomery_kind kinds[] = {BLOOMERY_KIND_DEFAULT, BLOOMERY_BLOCKED, BLOOMERY_CLASSIC,
                                      BLOOMERY_COUNTING, BLOOMERY_SCALABLE};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void assert_same_filter(const bloomery_filter *one, const bloomery_filter *other)
{
    test_assert_same(one, other);
}

/* ---- No keys -------------------------------------------------------------------------------- */

/* An empty table's filter: of the smallest size, which denies every key, and is a filter otherwise.
 */
static void expect_empty(bloomery_filter *filter)
{
    struct test_keys keys = test_keys_make(TEST_URLS, 1, 0, 300);
    bloomery_filter *loaded = NULL;
    const bloomery_info info = info_of(filter);
    assert_true(info.planned_keys == 0 && info.planned_rate == 0);
    assert_in_range(info.bytes, 1, 64 * 8);
    assert_int_equal(query_list(filter, keys.keys, keys.count, NULL), 0);
    assert_false(bloomery_may_contain(filter, bloomery_key_of("", 0)));
    struct test_bytes bytes = test_written(filter);
    assert_int_equal(bloomery_load(bytes.data, bytes.bytes, NULL, &loaded, NULL), BLOOMERY_OK);
    assert_same_filter(filter, loaded);
    assert_true(bloomery_add(loaded, keys.keys[0], NULL));
    assert_true(bloomery_may_contain(loaded, keys.keys[0]));
    assert_int_equal(bloomery_verify(loaded, NULL), BLOOMERY_OK);
    test_bytes_free(&bytes);
    test_keys_free(&keys);
    bloomery_free(loaded);
    bloomery_free(filter);
}

static void plans_of_no_keys(void **state)
{
    static const double rates[] = {0.9, 0.01, 1e-9, 1e-15};
    (void)state;
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        bloomery_filter *filter = bloomery_new(0, rates[r], NULL);
        assert_non_null(filter);
        assert_int_equal(info_of(filter).bytes, 64);
        expect_empty(filter);
        for (size_t k = 0; k < KINDS - 1; k++) {
            bloomery_plan plan = {.kind = kinds[k], .rate = rates[r]};
            assert_int_equal(bloomery_create(&plan, NULL, &filter, NULL), BLOOMERY_OK);
            expect_empty(filter);
            assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
            assert_true(plan.keys == 0 && plan.planned_keys == 0 && plan.planned_rate == 0);
            assert_true(plan.bits > 0 && plan.probes > 0 && plan.bits_per_key == 0);
            assert_int_equal(plan.planned_bytes, kinds[k] == BLOOMERY_COUNTING ? 256 : 64);
            expect_empty(test_create(&plan, NULL));
        }
    }
}

static void a_static_filter_of_no_keys_needs_none_in_its_plan(void **state)
{
    const bloomery_plan plan = {.rate = 0.01};
    const bloomery_filter *filter = NULL;
    bloomery_builder *builder = NULL;
    (void)state;
    assert_int_equal(bloomery_builder_open(&plan, NULL, NULL, &builder, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_builder_finish(builder, &filter, NULL), BLOOMERY_OK);
    assert_int_equal(test_found(filter, 0, 1000), 0);
    bloomery_builder_free(builder);
    bloomery_free(filter);
}

/* ---- Solved again --------------------------------------------------------------------------- */

static void a_plan_is_solved_twice(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        for (int given = 0; given < 3; given++) {
            if (kinds[k] == BLOOMERY_SCALABLE && given > 0)
                continue; /* it takes no bytes */
            bloomery_plan plan = {.kind = kinds[k],
                                  .keys = given != 1 ? 5000 : 0,
                                  .rate = given != 2 ? 0.01 : 0,
                                  .bytes = given != 0 ? 40000 : 0};
            const bloomery_plan wish = plan;
            assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
            const bloomery_plan first = plan;
            for (int again = 0; again < 3; again++)
                assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
            assert_memory_equal(&plan, &first, sizeof plan);
            assert_int_equal(plan.kind, wish.kind);
            assert_true(plan.keys == wish.keys && plan.bytes == wish.bytes);
            assert_memory_equal(&plan.rate, &wish.rate, sizeof plan.rate);
        }
}

/* In a loop with other numbers it is the plan that each of them gives alone. */
static void a_plan_is_solved_with_other_numbers(void **state)
{
    static const bloomery_kind turns[] = {BLOOMERY_BLOCKED, BLOOMERY_COUNTING, BLOOMERY_CLASSIC,
                                          BLOOMERY_SCALABLE, BLOOMERY_BLOCKED};
    bloomery_plan plan = BLOOMERY_PLAN;
    (void)state;
    for (size_t i = 0; i < 3 * sizeof turns / sizeof turns[0]; i++) {
        bloomery_plan alone = BLOOMERY_PLAN;
        plan.kind = alone.kind = turns[i / 3];
        plan.keys = alone.keys = 1000 * (i + 1);
        plan.rate = alone.rate = i % 2 == 0 ? 0.001 : 0.2;
        assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_plan_solve(&alone, NULL, NULL), BLOOMERY_OK);
        assert_memory_equal(&plan, &alone, sizeof plan);
        bloomery_free(test_create(&plan, NULL));
    }
}

/* ---- Changed in between ---------------------------------------------------------------------- */

static void assert_changed(const bloomery_plan *changed)
{
    bloomery_filter *filter = (bloomery_filter *)(uintptr_t)changed;
    bloomery_error error = {.text = ""};
    bloomery_plan again = *changed;
    assert_int_equal(bloomery_create(changed, NULL, &filter, &error), BLOOMERY_BAD_ARGUMENT);
    assert_null(filter);
    assert_non_null(strstr(error.text, "changed after it was solved"));
    assert_non_null(strstr(error.text, "bloomery_plan_solve"));
    assert_int_equal(bloomery_plan_solve(&again, NULL, NULL), BLOOMERY_OK);
    filter = test_create(&again, NULL);
    bloomery_free(filter);
}

static void a_changed_plan_is_refused(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        const bloomery_plan wish = {.kind = kinds[k], .keys = 5000, .rate = 0.01};
        bloomery_plan solved = wish;
        assert_int_equal(bloomery_plan_solve(&solved, NULL, NULL), BLOOMERY_OK);
        bloomery_plan plan = solved;
        plan.keys = 50000;
        assert_changed(&plan);
        plan.keys = 50;
        assert_changed(&plan);
        plan = solved;
        plan.rate = 0.001;
        assert_changed(&plan);
        bloomery_free(test_create(&solved, NULL)); /* which still fits */
    }
}

static void a_plan_of_another_kind_is_refused(void **state)
{
    (void)state;
    for (size_t from = 1; from < KINDS; from++)
        for (size_t to = 1; to < KINDS; to++) {
            bloomery_plan plan = {.kind = kinds[from], .keys = 5000, .rate = 0.01};
            assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
            plan.kind = kinds[to];
            if (from != to)
                assert_changed(&plan);
        }
}

/* Nothing says that a plan of another kind is given if its rate is met exactly. */
static void a_plan_that_meets_its_rate_exactly_is_taken(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        bloomery_plan plan = {.kind = kinds[k], .keys = 5000, .rate = 0.01};
        assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
        plan.rate = plan.planned_rate;
        bloomery_free(test_create(&plan, NULL));
    }
}

static void a_plan_with_fewer_bytes_is_refused(void **state)
{
    bloomery_plan plan = {.keys = 5000, .bytes = 40000};
    (void)state;
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    plan.bytes = 20000;
    assert_changed(&plan);
}

/* ---- Not solved ------------------------------------------------------------------------------ */

static void creating_solves_a_plan_that_is_not(void **state)
{
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        const bloomery_plan wish = {.kind = kinds[k], .keys = 5000, .rate = 0.003};
        bloomery_plan before = wish, solved = wish;
        bloomery_filter *filter = NULL;
        bloomery_error error = {.text = ""};
        if (bloomery_create(&wish, NULL, &filter, &error) != BLOOMERY_OK)
            fail_msg("%s", error.text);
        assert_memory_equal(&wish, &before, sizeof wish);
        assert_int_equal(bloomery_plan_solve(&solved, NULL, NULL), BLOOMERY_OK);
        bloomery_filter *other = test_create(&solved, NULL);
        assert_same_filter(filter, other);
        bloomery_free(filter);
        bloomery_free(other);
    }
}

/* Each says which field is missing or too many. */
static void creating_says_what_a_plan_lacks(void **state)
{
    static const struct {
        bloomery_plan plan;
        const char *word;
    } lacking[] = {
        {{.kind = BLOOMERY_BLOCKED}, "rate"},
        {{.keys = 1000}, "rate"},
        {{.bytes = 1000}, "rate"},
        {{.keys = 1000, .rate = 0.01, .bytes = 100000}, "two"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof lacking / sizeof lacking[0]; i++) {
        bloomery_filter *filter = (bloomery_filter *)(uintptr_t)lacking;
        bloomery_error error = {.text = ""};
        assert_int_equal(bloomery_create(&lacking[i].plan, NULL, &filter, &error),
                         BLOOMERY_BAD_ARGUMENT);
        assert_null(filter);
        if (strstr(error.text, lacking[i].word) == NULL)
            fail_msg("no \"%s\" in: %s", lacking[i].word, error.text);
    }
}

static void a_new_filter_is_the_blocked_one_of_its_numbers(void **state)
{
    static const uint64_t counts[] = {1, 100, 100000};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        bloomery_error error;
        memset(&error, 0x5a, sizeof error);
        const bloomery_error untouched = error;
        const bloomery_plan plan = {.kind = BLOOMERY_BLOCKED, .keys = counts[i], .rate = 0.01};
        bloomery_filter *filter = bloomery_new(counts[i], 0.01, &error);
        bloomery_filter *other = test_create(&plan, NULL);
        assert_non_null(filter);
        assert_memory_equal(&error, &untouched, sizeof error);
        assert_same_filter(filter, other);
        bloomery_free(filter);
        bloomery_free(other);
    }
}

static void a_new_filter_of_wrong_numbers_is_refused(void **state)
{
    static const struct {
        uint64_t keys;
        double rate;
    } wrong[] = {{10, 0}, {10, 1}, {10, -1},    {10, 2},
                 {0, 0},  {0, 1},  {10, 1e-16}, {UINT64_MAX, 0.1}};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bloomery_error error = {.status = BLOOMERY_OK, .text = ""};
        assert_null(bloomery_new(wrong[i].keys, wrong[i].rate, &error));
        assert_int_equal(error.status, BLOOMERY_BAD_ARGUMENT);
        assert_true(error.text[0] != '\0');
        assert_null(bloomery_new(wrong[i].keys, wrong[i].rate, NULL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_of_no_keys),
        cmocka_unit_test(a_static_filter_of_no_keys_needs_none_in_its_plan),
        cmocka_unit_test(a_plan_is_solved_twice),
        cmocka_unit_test(a_plan_is_solved_with_other_numbers),
        cmocka_unit_test(a_changed_plan_is_refused),
        cmocka_unit_test(a_plan_of_another_kind_is_refused),
        cmocka_unit_test(a_plan_that_meets_its_rate_exactly_is_taken),
        cmocka_unit_test(a_plan_with_fewer_bytes_is_refused),
        cmocka_unit_test(creating_solves_a_plan_that_is_not),
        cmocka_unit_test(creating_says_what_a_plan_lacks),
        cmocka_unit_test(a_new_filter_is_the_blocked_one_of_its_numbers),
        cmocka_unit_test(a_new_filter_of_wrong_numbers_is_refused),
    };
    return test_run_group("plans", tests, NULL, NULL);
}
