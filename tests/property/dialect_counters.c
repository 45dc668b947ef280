/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters that keys touch as often as their positions name them, of another system: threads that
 * add and remove at once lose nothing, a key that was added once is removed once, and filters are
 * put together counter by counter. tests/dialect has their values. Meant to run under
 * ThreadSanitizer too.
 *
 * Build: this file, ../support/support.c, ../support/forge.c; cmocka, the library, threads. No
 * arguments. Suite: property, threads. Skipped without libcrypto.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/counters.h"
#include "../support/team.h"

#include <bloomery/dialect.h>
#include <bloomery/experimental.h>

#include <stdio.h>
#include <string.h>

enum { THREADS = 4, SHARE = 30, STAYING = 2, CELLS = 300, PROBES = 7 };

static bloomery_key key_of(unsigned number)
{
    static char texts[THREADS * SHARE + STAYING][16];
    if (texts[number][0] == 0)
        snprintf(texts[number], sizeof texts[number], "key %u", number);
    return bloomery_key_of(texts[number], strlen(texts[number]));
}

static bloomery_filter *make(uint32_t cell_bits, bool concurrent)
{
    bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_filter *filter;
    parameters.bits = CELLS;
    parameters.probes = PROBES;
    parameters.cell_bits = cell_bits;
    options.concurrent_adds = concurrent;
    const bloomery_status status = bloomery_dialect_create(
        bloomery_dialect_get(BLOOMERY_DIALECT_MD5_CHAIN), &parameters, &options, &filter, NULL);
    if (status == BLOOMERY_UNSUPPORTED)
        skip();
    assert_int_equal(status, BLOOMERY_OK);
    return filter;
}

struct scene {
    struct team team;
    bloomery_filter *filter;
    atomic_uint removed;
    unsigned rounds;
};

static void come_and_go(void *context, unsigned number)
{
    struct scene *scene = context;
    for (unsigned round = 0; round < scene->rounds; round++) {
        const bloomery_key key = key_of(number * SHARE + round % SHARE);
        TEAM_MUST(&scene->team, add_status(scene->filter, key) == BLOOMERY_OK);
        TEAM_MUST(&scene->team, bloomery_key_count(scene->filter, key) >= 1);
        TEAM_MUST(&scene->team, bloomery_remove(scene->filter, key, NULL));
        for (unsigned i = 0; i < STAYING; i++)
            TEAM_MUST(&scene->team,
                      bloomery_may_contain(scene->filter, key_of(THREADS * SHARE + i)));
    }
}

static void remove_the_same(void *context, unsigned number)
{
    struct scene *scene = context;
    (void)number;
    for (unsigned i = 0; i < SHARE; i++) {
        team_meet(&scene->team, THREADS);
        const int found = remove_outcome(scene->filter, key_of(i));
        TEAM_MUST(&scene->team, found == WAS_REMOVED || found == WAS_ABSENT);
        atomic_fetch_add(&scene->removed, (unsigned)(found == WAS_REMOVED));
    }
}

static void name_all_keys(void)
{
    for (unsigned i = 0; i < THREADS * SHARE + STAYING; i++)
        key_of(i);
}

/* Some counters reach 15 with all that come at once: those may be saturated, all others are as
 * before. */
static void threads_lose_no_count(void **state)
{
    (void)state;
    name_all_keys();
    for (size_t w = 0; w < TEST_WIDTHS; w++) {
        struct scene scene = {.filter = make(test_widths[w], true),
                              .rounds = test_long() ? 100000 : 5000};
        for (unsigned i = 0; i < STAYING; i++)
            bloomery_add(scene.filter, key_of(THREADS * SHARE + i), NULL);
        struct test_bytes before = test_counters(scene.filter);
        team_run(&scene.team, THREADS, come_and_go, &scene);
        struct test_bytes after = test_counters(scene.filter);
        for (size_t cell = 0; cell < CELLS; cell++) {
            const uint32_t value = test_counter_at(&after, test_widths[w], cell);
            if (value != (1u << test_widths[w]) - 1)
                assert_int_equal(value, test_counter_at(&before, test_widths[w], cell));
        }
        test_bytes_free(&before);
        test_bytes_free(&after);
        bloomery_free(scene.filter);
    }
}

static void threads_remove_a_named_key_once(void **state)
{
    (void)state;
    name_all_keys();
    for (int round = 0; round < (test_long() ? 200 : 20); round++) {
        struct scene scene = {.filter = make(8, true)};
        bloomery_filter *left = make(8, false);
        for (unsigned i = 0; i < SHARE; i++)
            bloomery_add(scene.filter, key_of(i), NULL);
        team_run(&scene.team, THREADS, remove_the_same, &scene);
        assert_int_equal(atomic_load(&scene.removed), SHARE);
        test_assert_same_counters(scene.filter, left);
        bloomery_free(left);
        bloomery_free(scene.filter);
    }
}

static void merged_counters_are_sums(void **state)
{
    (void)state;
    for (size_t w = 0; w < TEST_WIDTHS; w++) {
        bloomery_filter *one = make(test_widths[w], false);
        bloomery_filter *other = make(test_widths[w], false);
        bloomery_filter *all = make(test_widths[w], false);
        for (unsigned i = 0; i < 60; i++) {
            bloomery_add(i % 3 > 0 ? one : other, key_of(i), NULL);
            bloomery_add(all, key_of(i), NULL);
        }
        assert_int_equal(bloomery_merge(one, other, NULL), BLOOMERY_OK);
        test_assert_same_counters(one, all);
        bloomery_error error;
        bloomery_filter *dropped;
        assert_int_equal(bloomery_drop_counters(one, NULL, &dropped, &error), BLOOMERY_UNSUPPORTED);
        assert_null(dropped);
        bloomery_free(one);
        bloomery_free(other);
        bloomery_free(all);
    }
}

/* The counts say which counters no other key needs: all of a key that was alone. */
static void removals_tell_what_they_cleared(void **state)
{
    uint64_t positions[PROBES];
    (void)state;
    for (unsigned i = 0; i < SHARE; i++) {
        bloomery_filter *filter = make(4, false);
        uint64_t cleared = 0, fresh = 0, distinct = 0;
        assert_int_equal(bloomery_positions(filter, 0, key_of(i), positions, PROBES), PROBES);
        for (unsigned p = 0; p < PROBES; p++) {
            unsigned before = 0;
            while (positions[before] != positions[p])
                before++;
            distinct += before == p;
        }
        assert_int_equal(add_one(filter, key_of(i), &fresh), WAS_NEW);
        assert_int_equal(fresh, distinct);
        assert_int_equal(add_one(filter, key_of(i), &fresh), WAS_SEEN);
        assert_int_equal(bloomery_key_count(filter, key_of(i)), 2);
        assert_int_equal(remove_one(filter, key_of(i), &cleared), WAS_REMOVED);
        assert_int_equal(cleared, 0);
        assert_int_equal(remove_one(filter, key_of(i), &cleared), WAS_REMOVED);
        assert_int_equal(cleared, distinct);
        assert_int_equal(remove_one(filter, key_of(i), &cleared), WAS_ABSENT);
        bloomery_free(filter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_lose_no_count),
        cmocka_unit_test(threads_remove_a_named_key_once),
        cmocka_unit_test(merged_counters_are_sums),
        cmocka_unit_test(removals_tell_what_they_cleared),
    };
    return test_run_group("dialect_counters", tests, NULL, NULL);
}
