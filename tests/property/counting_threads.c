/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that add to one counting filter and remove from it at once: counters stay the exact sums
 * of what is there, keys that stay are never denied, and a key that was added once is removed once.
 * Meant to run under ThreadSanitizer too.
 *
 * Build: this file, ../support/support.c, ../support/forge.c; cmocka, the library, threads. No
 * arguments. Suite: property, threads.
 */
#include "../support/counters.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { THREADS = 4, SHARE = 50, STAYING = 20 };

struct team {
    bloomery_filter *filter;
    struct test_keys keys; /* SHARE for each thread, then those that stay */
    pthread_barrier_t start;
    atomic_uint running;
    atomic_uint faults; /* cmocka's asserts belong to the main thread */
    atomic_uint removed;
    size_t rounds;
};

struct member {
    struct team *team;
    unsigned number;
};

static void expect(struct team *team, bool holds)
{
    if (!holds)
        atomic_fetch_add(&team->faults, 1);
}

/* Adds its keys and takes them away again. All share one block or two, so counters meet. */
static void *come_and_go(void *argument)
{
    const struct member *member = argument;
    struct team *team = member->team;
    const bloomery_key *keys = team->keys.keys + (size_t)member->number * SHARE;
    pthread_barrier_wait(&team->start);
    for (size_t round = 0; round < team->rounds; round++) {
        const bloomery_key key = keys[round % SHARE];
        expect(team, add_status(team->filter, key) == BLOOMERY_OK);
        expect(team, bloomery_key_count(team->filter, key) >= 1);
        expect(team, bloomery_remove(team->filter, key, NULL));
    }
    atomic_fetch_sub(&team->running, 1);
    return NULL;
}

static void *watch(void *argument)
{
    const struct member *member = argument;
    struct team *team = member->team;
    const bloomery_key *staying = team->keys.keys + (size_t)THREADS * SHARE;
    pthread_barrier_wait(&team->start);
    while (atomic_load(&team->running) > 0) {
        for (size_t i = 0; i < STAYING; i++)
            expect(team, bloomery_may_contain(team->filter, staying[i]));
        expect(team, query_list(team->filter, staying, STAYING, NULL) == STAYING);
    }
    return NULL;
}

static void run_team(struct team *team, void *(*work)(void *), bool watched)
{
    pthread_t threads[THREADS + 1];
    struct member members[THREADS + 1];
    const unsigned count = THREADS + watched;
    atomic_store(&team->running, THREADS);
    assert_int_equal(pthread_barrier_init(&team->start, NULL, count), 0);
    for (unsigned i = 0; i < count; i++) {
        members[i] = (struct member){team, i};
        assert_int_equal(pthread_create(&threads[i], NULL, i < THREADS ? work : watch, &members[i]),
                         0);
    }
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&team->start);
    assert_int_equal(atomic_load(&team->faults), 0);
}

static struct team *team_new(const bloomery_plan *plan)
{
    struct team *team = calloc(1, sizeof *team);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    assert_non_null(team);
    options.concurrent_adds = true;
    team->filter = test_create(plan, &options);
    team->keys = test_keys_make(TEST_RANDOM, 11, 0, THREADS * SHARE + STAYING);
    return team;
}

static void team_free(struct team *team)
{
    bloomery_free(team->filter);
    test_keys_free(&team->keys);
    free(team);
}

/* 2 keys stay and 4 come and go: no counter of 4 bits gets to 15, so what is left is exactly what
 * was there before. With 20 that stay some counters stick: then it is not less. */
static void threads_that_add_and_remove_lose_nothing(void **state)
{
    (void)state;
    for (size_t w = 0; w < TEST_WIDTHS; w++)
        for (uint32_t blocks_per_key = 1; blocks_per_key <= 2; blocks_per_key++) {
            bloomery_plan plan =
                test_counting_plan(test_widths[w], blocks_per_key, 8, blocks_per_key);
            struct team *team = team_new(&plan);
            const size_t first = (size_t)THREADS * SHARE;
            team->rounds = test_long() ? 200000 : 10000;
            for (size_t i = 0; i < STAYING; i++)
                bloomery_add(team->filter, team->keys.keys[first + i], NULL);
            struct test_bytes before = test_counters(team->filter);
            run_team(team, come_and_go, true);
            struct test_bytes after = test_counters(team->filter);
            for (size_t cell = 0; cell < plan.bits; cell++) {
                const uint32_t value = test_counter_at(&after, test_widths[w], cell);
                if (value != (1u << test_widths[w]) - 1)
                    assert_int_equal(value, test_counter_at(&before, test_widths[w], cell));
            }
            test_bytes_free(&before);
            test_bytes_free(&after);
            team_free(team);
        }
}

/* All threads remove the keys of thread 0, each of which is there once. */
static void *remove_the_same(void *argument)
{
    const struct member *member = argument;
    struct team *team = member->team;
    for (size_t i = 0; i < SHARE; i++) {
        pthread_barrier_wait(&team->start);
        int found = remove_outcome(team->filter, team->keys.keys[i]);
        expect(team, found == WAS_REMOVED || found == WAS_ABSENT);
        atomic_fetch_add(&team->removed, (unsigned)(found == WAS_REMOVED));
    }
    return NULL;
}

/* Each is removed once, whoever was first, and no counter falls short of what the others need. The
 * keys that stay are few, so that no removal is taken for another key's. */
static void threads_remove_a_key_once(void **state)
{
    (void)state;
    for (size_t w = 0; w < TEST_WIDTHS; w++)
        for (int round = 0; round < (test_long() ? 200 : 20); round++) {
            bloomery_plan plan = test_counting_plan(test_widths[w], 1, 8, 16);
            struct team *team = team_new(&plan);
            bloomery_filter *left = test_create(&plan, NULL);
            for (size_t i = 0; i < STAYING; i++) {
                bloomery_add(left, team->keys.keys[(size_t)THREADS * SHARE + i], NULL);
                bloomery_add(team->filter, team->keys.keys[(size_t)THREADS * SHARE + i], NULL);
            }
            for (size_t i = 0; i < SHARE; i++)
                bloomery_add(team->filter, team->keys.keys[i], NULL);
            run_team(team, remove_the_same, false);
            assert_int_equal(atomic_load(&team->removed), SHARE);
            test_assert_same_counters(team->filter, left);
            bloomery_free(left);
            team_free(team);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_add_and_remove_lose_nothing),
        cmocka_unit_test(threads_remove_a_key_once),
    };
    return test_run_group("counting_threads", tests, NULL, NULL);
}
