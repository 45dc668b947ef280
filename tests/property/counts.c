/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counts say how far a call came: the keys before the one that was refused are added, with the
 * answers and bits of adding them one by one, and none after.
 *
 * Build: this file, ../support/support.c, specimens.c; cmocka, the library. No arguments. Suite:
 * property.
 */
#include "../support/built.h"
#include "../support/specimens.h"

#include <bloomery/dialect.h>

#include <string.h>

enum { KEYS = 2000, WORDS = (KEYS + 63) / 64 };

/* Chains that refuse keys after some: a chain with a limit, of other systems one that does not
 * grow and two with a limit. */
enum { FULL = 4 };

/* NULL: the last one's hash needs libcrypto, which is not there. */
static bloomery_filter *fills_up(size_t which)
{
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_dialect_parameters with = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_filter *filter = NULL;
    options.memory_limit = 2000;
    if (which == 0) {
        bloomery_plan plan = {.kind = BLOOMERY_SCALABLE, .keys = 200, .rate = 0.01};
        assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
        return test_create(&plan, &options);
    }
    with.keys = 300;
    with.rate = 0.01;
    if (which == 1)
        with.variant = "nonscaling";
    else
        with.growth = 2;
    const bloomery_dialect *dialect =
        bloomery_dialect_find(which == 3 ? "pybloom-live" : "redisbloom");
    const bloomery_status status = bloomery_dialect_create(dialect, &with, &options, &filter, NULL);
    assert_true(status == BLOOMERY_OK || (which == 3 && status == BLOOMERY_UNSUPPORTED));
    return filter;
}

/* What adding one by one does with these keys, up to the first that is refused. */
struct outcome {
    bloomery_status status;
    bloomery_counts counts;
    uint64_t answers[WORDS];
};

static struct outcome one_by_one(bloomery_filter *filter, const bloomery_key *keys, size_t count)
{
    struct outcome outcome = {.status = BLOOMERY_OK};
    const uint64_t before = test_cells(filter);
    for (size_t i = 0; i < count && outcome.status == BLOOMERY_OK; i++) {
        const int found = add_outcome(filter, keys[i]);
        if (found < 0) {
            outcome.status = (bloomery_status)found;
            continue;
        }
        const bool fresh = found == WAS_NEW;
        outcome.answers[i / 64] |= (uint64_t)fresh << i % 64;
        outcome.counts.positive += fresh;
        outcome.counts.done++;
    }
    outcome.counts.cells = test_cells(filter) - before;
    return outcome;
}

static struct outcome at_once(bloomery_filter *filter, const bloomery_key *keys, size_t count)
{
    struct outcome outcome;
    bloomery_error error = {.status = BLOOMERY_OK};
    memset(&outcome, 0xff, sizeof outcome);
    const bloomery_keys list = bloomery_keys_of_list(keys, count);
    outcome.status = bloomery_add_keys(filter, &list, outcome.answers, &outcome.counts, &error);
    assert_int_equal(error.status, outcome.status);
    assert_true(outcome.status == BLOOMERY_OK || error.text[0] != '\0');
    for (size_t i = (count + 63) / 64; i < WORDS; i++)
        outcome.answers[i] = 0; /* not asked for */
    return outcome;
}

static void assert_same_outcome(const struct outcome *one, const struct outcome *other)
{
    assert_int_equal(one->status, other->status);
    assert_int_equal(one->counts.done, other->counts.done);
    assert_int_equal(one->counts.positive, other->counts.positive);
    assert_int_equal(one->counts.cells, other->counts.cells);
    assert_memory_equal(one->answers, other->answers, sizeof one->answers);
}

/* Batches of every size up to where it is full, and then of old keys and new ones. */
static void counts_say_how_far_a_full_chain_came(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    bloomery_key mixed[KEYS];
    (void)state;
    for (size_t which = 0; which < FULL; which++)
        for (size_t batch = 1; batch <= KEYS; batch = batch * 3 + 1) {
            bloomery_filter *some = fills_up(which), *single = fills_up(which);
            if (some == NULL)
                continue;
            struct outcome wanted = {.status = BLOOMERY_OK}, got;
            for (size_t at = 0; at < KEYS && wanted.status == BLOOMERY_OK; at += batch) {
                const size_t count = KEYS - at < batch ? KEYS - at : batch;
                wanted = one_by_one(single, keys.keys + at, count);
                got = at_once(some, keys.keys + at, count);
                assert_same_outcome(&wanted, &got);
            }
            assert_int_equal(wanted.status, BLOOMERY_FULL);
            for (size_t i = 0; i < KEYS; i++) /* old ones, until a new one comes */
                mixed[i] = keys.keys[i < 99 ? i : KEYS - 1 - i];
            wanted = one_by_one(single, mixed, KEYS);
            got = at_once(some, mixed, KEYS);
            assert_int_equal(got.status, BLOOMERY_FULL);
            assert_true(got.counts.done >= 99);
            assert_same_outcome(&wanted, &got);
            test_assert_same(single, some);
            bloomery_free(some);
            bloomery_free(single);
        }
    test_keys_free(&keys);
}

/* Where some are not keys, done is the number of the refused key among all of them. */
static void a_row_without_a_key_counts_as_done(void **state)
{
    enum { FIRST = 5, COUNT = KEYS - FIRST };
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    uint8_t valid[(KEYS + 7) / 8];
    (void)state;
    for (size_t i = 0; i < sizeof valid; i++)
        valid[i] = (uint8_t)(i * 37 + 11);
    for (size_t which = 0; which < FULL; which++) {
        bloomery_filter *some = fills_up(which), *single = fills_up(which);
        struct outcome wanted = {.status = BLOOMERY_OK}, got;
        bloomery_keys list = bloomery_keys_of_list(keys.keys, COUNT);
        list.first = FIRST;
        list.valid = valid;
        for (size_t i = FIRST; some != NULL && i < KEYS; i++, wanted.counts.done++) {
            if ((valid[i / 8] >> i % 8 & 1) == 0)
                continue;
            const int found = add_outcome(single, keys.keys[i]);
            wanted.status = found < 0 ? (bloomery_status)found : BLOOMERY_OK;
            if (found < 0)
                break;
            wanted.answers[(i - FIRST) / 64] |= (uint64_t)(found == WAS_NEW) << (i - FIRST) % 64;
            wanted.counts.positive += found == WAS_NEW;
        }
        if (some != NULL) {
            assert_int_equal(wanted.status, BLOOMERY_FULL);
            wanted.counts.cells = test_cells(single);
            memset(&got, 0xff, sizeof got);
            got.status = bloomery_add_keys(some, &list, got.answers, &got.counts, NULL);
            assert_same_outcome(&wanted, &got);
            test_assert_same(single, some);
        }
        bloomery_free(some);
        bloomery_free(single);
    }
    test_keys_free(&keys);
}

/* Keys that come again within a batch, some places behind themselves: as far as a window reaches,
 * across words, and across the end of a link. Only the first of them is new and takes room. */
static void repeats_in_a_batch_are_seen_and_take_no_room(void **state)
{
    static const size_t distances[] = {1, 2, 3, 7, 8, 9, 17, 63, 64, 65};
    enum { DISTANCES = sizeof distances / sizeof distances[0] };
    struct test_keys keys = test_keys_make(TEST_RANDOM, 5, 0, KEYS);
    bloomery_key mixed[KEYS];
    (void)state;
    for (size_t i = 0; i < KEYS; i++) {
        const size_t distance = distances[i / 3 % DISTANCES];
        mixed[i] = i % 3 == 2 && i >= distance ? mixed[i - distance] : keys.keys[i];
    }
    for (size_t which = 0; which < FULL; which++)
        for (size_t batch = 20; batch <= KEYS; batch *= 5) {
            bloomery_filter *some = fills_up(which), *single = fills_up(which);
            struct outcome wanted = {.status = BLOOMERY_OK};
            for (size_t at = 0; some != NULL && at < KEYS && wanted.status == BLOOMERY_OK;
                 at += batch) {
                const size_t count = KEYS - at < batch ? KEYS - at : batch;
                wanted = one_by_one(single, mixed + at, count);
                const struct outcome got = at_once(some, mixed + at, count);
                assert_same_outcome(&wanted, &got);
            }
            if (some != NULL) {
                assert_int_equal(wanted.status, BLOOMERY_FULL);
                test_assert_same(single, some);
            }
            bloomery_free(some);
            bloomery_free(single);
        }
    test_keys_free(&keys);
}

/* Where nothing is refused it is a batch as any other. */
static void a_filter_that_takes_all_says_so(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 5000);
    struct test_keys more = test_keys_make(TEST_URLS, 2, 0, KEYS);
    (void)state;
    for (size_t i = 0; i < TEST_SPECIMENS; i++) {
        bloomery_filter *some = test_specimen(i, NULL, &keys), *single = NULL;
        assert_int_equal(bloomery_copy(some, NULL, &single, NULL), BLOOMERY_OK);
        const struct outcome wanted = one_by_one(single, more.keys, KEYS);
        const struct outcome got = at_once(some, more.keys, KEYS);
        const struct outcome none = at_once(some, NULL, 0);
        assert_same_outcome(&wanted, &got);
        assert_int_equal(got.counts.done, KEYS);
        assert_true(none.status == BLOOMERY_OK && none.counts.done == 0);
        assert_true(none.counts.positive == 0 && none.counts.cells == 0);
        test_assert_same(single, some);
        bloomery_free(some);
        bloomery_free(single);
    }
    test_keys_free(&keys);
    test_keys_free(&more);
}

static void a_filter_that_takes_none_answers_none(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 100);
    const bloomery_filter *built = test_static_of(0.01, &keys);
    struct test_bytes file = test_written(built);
    bloomery_filter *filter = NULL;
    (void)state;
    assert_int_equal(bloomery_load(file.data, file.bytes, NULL, &filter, NULL), BLOOMERY_OK);
    struct outcome got = at_once(filter, keys.keys, keys.count);
    struct outcome wanted = {.status = BLOOMERY_READ_ONLY};
    assert_same_outcome(&wanted, &got);
    bloomery_free(filter);
    bloomery_free(built);
    test_bytes_free(&file);
    test_keys_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_say_how_far_a_full_chain_came),
        cmocka_unit_test(a_row_without_a_key_counts_as_done),
        cmocka_unit_test(repeats_in_a_batch_are_seen_and_take_no_room),
        cmocka_unit_test(a_filter_that_takes_all_says_so),
        cmocka_unit_test(a_filter_that_takes_none_answers_none),
    };
    return test_run_group("counts", tests, NULL, NULL);
}
