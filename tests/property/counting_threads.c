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
#include "../support/team.h"

#include <stdlib.h>

enum { THREADS = 4, SHARE = 50, STAYING = 20 };

struct scene {
    struct team team;
    bloomery_filter *filter;
    struct test_keys keys; /* SHARE for each thread, then those that stay */
    atomic_uint running;
    atomic_uint removed;
    size_t rounds;
};

static void watch(struct scene *scene)
{
    const bloomery_key *staying = scene->keys.keys + (size_t)THREADS * SHARE;
    while (atomic_load(&scene->running) > 0) {
        for (size_t i = 0; i < STAYING; i++)
            TEAM_MUST(&scene->team, bloomery_may_contain(scene->filter, staying[i]));
        TEAM_MUST(&scene->team, query_list(scene->filter, staying, STAYING, NULL) == STAYING);
    }
}

/* Adds its keys and takes them away again. All share one block or two, so counters meet. */
static void come_and_go(void *context, unsigned number)
{
    struct scene *scene = context;
    if (number == THREADS) {
        watch(scene);
        return;
    }
    const bloomery_key *keys = scene->keys.keys + (size_t)number * SHARE;
    for (size_t round = 0; round < scene->rounds; round++) {
        const bloomery_key key = keys[round % SHARE];
        TEAM_MUST(&scene->team, add_status(scene->filter, key) == BLOOMERY_OK);
        TEAM_MUST(&scene->team, bloomery_key_count(scene->filter, key) >= 1);
        TEAM_MUST(&scene->team, bloomery_remove(scene->filter, key, NULL));
    }
    atomic_fetch_sub(&scene->running, 1);
}

static struct scene *scene_new(const bloomery_plan *plan)
{
    struct scene *scene = calloc(1, sizeof *scene);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    assert_non_null(scene);
    options.concurrent_adds = true;
    scene->filter = test_create(plan, &options);
    scene->keys = test_keys_make(TEST_RANDOM, 11, 0, THREADS * SHARE + STAYING);
    return scene;
}

static void scene_free(struct scene *scene)
{
    bloomery_free(scene->filter);
    test_keys_free(&scene->keys);
    free(scene);
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
            struct scene *scene = scene_new(&plan);
            const size_t first = (size_t)THREADS * SHARE;
            scene->rounds = test_long() ? 200000 : 10000;
            for (size_t i = 0; i < STAYING; i++)
                bloomery_add(scene->filter, scene->keys.keys[first + i], NULL);
            struct test_bytes before = test_counters(scene->filter);
            atomic_store(&scene->running, THREADS);
            team_run(&scene->team, THREADS + 1, come_and_go, scene);
            struct test_bytes after = test_counters(scene->filter);
            for (size_t cell = 0; cell < plan.bits; cell++) {
                const uint32_t value = test_counter_at(&after, test_widths[w], cell);
                if (value != (1u << test_widths[w]) - 1)
                    assert_int_equal(value, test_counter_at(&before, test_widths[w], cell));
            }
            test_bytes_free(&before);
            test_bytes_free(&after);
            scene_free(scene);
        }
}

/* All threads remove the keys of thread 0, each of which is there once. */
static void remove_the_same(void *context, unsigned number)
{
    struct scene *scene = context;
    (void)number;
    for (size_t i = 0; i < SHARE; i++) {
        team_wait(&scene->team);
        int found = remove_outcome(scene->filter, scene->keys.keys[i]);
        TEAM_MUST(&scene->team, found == WAS_REMOVED || found == WAS_ABSENT);
        atomic_fetch_add(&scene->removed, (unsigned)(found == WAS_REMOVED));
    }
}

/* One thread removes each key, and no counter falls short of what the other keys need. The
 * keys that stay are few, so that no removal is taken for another key's. */
static void threads_remove_a_key_once(void **state)
{
    (void)state;
    for (size_t w = 0; w < TEST_WIDTHS; w++)
        for (int round = 0; round < (test_long() ? 200 : 20); round++) {
            bloomery_plan plan = test_counting_plan(test_widths[w], 1, 8, 16);
            struct scene *scene = scene_new(&plan);
            bloomery_filter *left = test_create(&plan, NULL);
            for (size_t i = 0; i < STAYING; i++) {
                bloomery_add(left, scene->keys.keys[(size_t)THREADS * SHARE + i], NULL);
                bloomery_add(scene->filter, scene->keys.keys[(size_t)THREADS * SHARE + i], NULL);
            }
            for (size_t i = 0; i < SHARE; i++)
                bloomery_add(scene->filter, scene->keys.keys[i], NULL);
            team_run(&scene->team, THREADS, remove_the_same, scene);
            assert_int_equal(atomic_load(&scene->removed), SHARE);
            test_assert_same_counters(scene->filter, left);
            bloomery_free(left);
            scene_free(scene);
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
