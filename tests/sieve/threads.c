/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that push the same keys, singly and in batches, while others pop and acknowledge: each
 * key counts once and comes out once. Meant to run under ThreadSanitizer too, which sees races that
 * happen to do no harm.
 *
 * Build: this file, stream.c, ../support; cmocka, the library, threads. No arguments. Suites:
 * sieve, threads.
 */
#include "../support/team.h"
#include "stream.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PUSHERS = 8, POPPERS = 3, KEYS = 6000, STEP = 97, POP = 50, MISCHIEF = 40 };

struct scene {
    struct team team;
    bloomery_sieve *sieve;
    bool answers; /* at once: the memory engine */
    struct stream_area area;
    bloomery_key keys[KEYS];
    pthread_mutex_t turn; /* of those who pop */
    atomic_uint fresh[KEYS];
    atomic_uint came[KEYS];
    atomic_uint again;
    atomic_uint pushers;
    atomic_ullong pushes;
    atomic_ullong acked;
};

#define MUST(scene, condition) TEAM_MUST(&(scene)->team, condition)

static const bloomery_key no_payload;

static void note_answer(struct scene *scene, size_t key, int answer)
{
    MUST(scene, answer == BLOOMERY_SIEVE_NEW || answer == BLOOMERY_SIEVE_SEEN ||
                    answer == BLOOMERY_SIEVE_PENDING);
    MUST(scene, answer != BLOOMERY_SIEVE_PENDING || !scene->answers);
    atomic_fetch_add(&scene->fresh[key], (unsigned)(answer == BLOOMERY_SIEVE_NEW));
}

/* All keys, each thread from another place on; the odd ones in batches. */
static void push(struct scene *scene, unsigned number)
{
    const size_t offset = number / 2 * 500;
    bloomery_error error;
    for (size_t i = 0; i < KEYS;) {
        bloomery_key batch[STEP];
        uint8_t results[STEP];
        bloomery_sieve_pushed pushed = {0, 0};
        if (number % 2 == 0) {
            const size_t key = (offset + i) % KEYS;
            note_answer(scene, key,
                        push_key(scene->sieve, scene->keys[key], no_payload, NULL, &error));
            i++;
            continue;
        }
        const size_t count = KEYS - i < STEP ? KEYS - i : STEP;
        for (size_t k = 0; k < count; k++)
            batch[k] = scene->keys[(offset + i + k) % KEYS];
        MUST(scene, bloomery_sieve_push(scene->sieve, batch, NULL, count, BLOOMERY_SIEVE_PUSH,
                                        results, &pushed, &error) == BLOOMERY_OK);
        MUST(scene, pushed.done == count);
        for (size_t k = 0; k < pushed.done; k++)
            note_answer(scene, (offset + i + k) % KEYS, results[k]);
        i += count;
    }
    atomic_fetch_add(&scene->pushes, KEYS);
    atomic_fetch_sub(&scene->pushers, 1);
}

static void note_item(struct scene *scene, const bloomery_sieve_item *item)
{
    uint32_t id = KEYS;
    MUST(scene, stream_id(item->key, false, &id) && id < KEYS);
    if (id >= KEYS)
        return;
    if (item->again)
        atomic_fetch_add(&scene->again, 1);
    else
        atomic_fetch_add(&scene->came[id], 1);
}

/* Returns how many came. Some are given back instead. */
static size_t pop_some(struct scene *scene, unsigned member)
{
    bloomery_sieve_item items[POP];
    uint64_t numbers[POP];
    bloomery_error error;
    size_t count = 0;
    uint64_t finished = 0;
    size_t back = 0;
    pthread_mutex_lock(&scene->turn);
    MUST(scene, bloomery_sieve_pop(scene->sieve, items, POP / 2, BLOOMERY_SIEVE_POP_QUEUED, &count,
                                   &error) == BLOOMERY_OK);
    if (count == 0)
        MUST(scene, bloomery_sieve_pop(scene->sieve, items, POP, BLOOMERY_SIEVE_POP, &count,
                                       &error) == BLOOMERY_OK);
    for (size_t i = 0; i < count; i++) {
        note_item(scene, &items[i]);
        numbers[i] = items[i].number;
    }
    pthread_mutex_unlock(&scene->turn);
    if (count > 4 && atomic_fetch_add(&scene->again, 0) < MISCHIEF + member)
        back = 2;
    MUST(scene, bloomery_sieve_finish(scene->sieve, numbers, back, BLOOMERY_SIEVE_BACK, &finished,
                                      &error) == BLOOMERY_OK);
    MUST(scene, finished == back);
    MUST(scene, bloomery_sieve_finish(scene->sieve, numbers + back, count - back,
                                      BLOOMERY_SIEVE_DONE, &finished, &error) == BLOOMERY_OK);
    MUST(scene, finished == count - back);
    atomic_fetch_add(&scene->acked, count - back);
    return count;
}

static void pop(struct scene *scene, unsigned number)
{
    for (bool last = false; !last;) {
        last = atomic_load(&scene->pushers) == 0;
        while (pop_some(scene, number) > 0)
            last = false;
    }
}

/* Asks for all at once: what came by then was seen. */
static void query_for_all(struct scene *scene)
{
    uint8_t answers[KEYS];
    bool came[KEYS];
    bloomery_error error;
    for (size_t i = 0; i < KEYS; i++)
        came[i] = atomic_load(&scene->came[i]) > 0;
    MUST(scene,
         bloomery_sieve_contains(scene->sieve, scene->keys, KEYS, answers, &error) == BLOOMERY_OK);
    for (size_t i = 0; i < KEYS; i++)
        MUST(scene, answers[i] <= BLOOMERY_SIEVE_PENDING &&
                        (!came[i] || answers[i] == BLOOMERY_SIEVE_SEEN));
}

/* Asks, looks, flushes and commits in between. */
static void watch(struct scene *scene)
{
    bloomery_error error;
    uint64_t pushed = 0;
    unsigned round = 0;
    while (atomic_load(&scene->pushers) > 0) {
        bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
        bloomery_sieve_info_get(scene->sieve, &info);
        MUST(scene, info.pushed >= pushed && info.durable <= info.pushed);
        MUST(scene,
             info.pushed == info.new_keys + info.seen + info.pending + info.forced + info.marked);
        pushed = info.pushed;
        const size_t key = round * 131 % KEYS;
        const bool came = atomic_load(&scene->came[key]) > 0;
        const int answer = query_key(scene->sieve, scene->keys[key], &error);
        MUST(scene, answer >= 0 && (!came || answer == BLOOMERY_SIEVE_SEEN));
        if (round % 10 == 0)
            query_for_all(scene);
        if (round % 100 == 0)
            MUST(scene, bloomery_sieve_flush(scene->sieve, &error) == BLOOMERY_OK);
        if (round % 15 == 0)
            MUST(scene, bloomery_sieve_commit(scene->sieve, &error) == BLOOMERY_OK);
        round++;
    }
}

static void work(void *context, unsigned number)
{
    if (number < PUSHERS)
        push(context, number);
    else if (number < PUSHERS + POPPERS)
        pop(context, number);
    else
        watch(context);
}

static void run_team(struct scene *scene)
{
    atomic_store(&scene->pushers, PUSHERS);
    assert_int_equal(pthread_mutex_init(&scene->turn, NULL), 0);
    team_run(&scene->team, PUSHERS + POPPERS + 1, work, scene);
    /* An item may have been given back after the others saw nothing more. */
    while (pop_some(scene, 0) > 0)
        continue;
    pthread_mutex_destroy(&scene->turn);
    assert_int_equal(atomic_load(&scene->team.faults), 0);
}

static void judge_team(struct scene *scene)
{
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    for (size_t i = 0; i < KEYS; i++) {
        const unsigned fresh = atomic_load(&scene->fresh[i]);
        if (atomic_load(&scene->came[i]) != 1 || (scene->answers ? fresh != 1 : fresh > 1))
            fail_msg("key %zu was called new %u times and came %u times", i, fresh,
                     atomic_load(&scene->came[i]));
    }
    bloomery_sieve_info_get(scene->sieve, &info);
    assert_int_equal(info.pushed, atomic_load(&scene->pushes));
    assert_int_equal(info.new_keys, KEYS);
    assert_int_equal(info.seen, info.pushed - KEYS);
    assert_int_equal(info.done, KEYS);
    assert_int_equal(atomic_load(&scene->acked), KEYS);
    assert_int_equal(info.queued + info.leased + info.pending, 0);
    assert_true(atomic_load(&scene->again) > 0);
}

/* Without seconds and in memory: without a directory. */
static void each_key_counts_once(bloomery_sieve_engine engine, double seconds,
                                 bloomery_sieve_order order)
{
    struct test_directory directory = test_directory_make();
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    bloomery_error error;
    char path[300];
    struct scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    stream_area_make(&scene->area);
    for (uint32_t i = 0; i < KEYS; i++)
        scene->keys[i] = stream_key(&scene->area, i, false);
    test_join(path, sizeof path, &directory, "sieve");
    scene->answers = engine == BLOOMERY_SIEVE_MEMORY;
    options.engine = engine;
    options.directory = scene->answers && seconds == 0 ? NULL : path;
    options.sync = seconds == 0 ? BLOOMERY_SIEVE_SYNC_NEVER : BLOOMERY_SIEVE_SYNC_TIMED;
    options.sync_seconds = seconds;
    options.order = order;
    options.partitions = scene->answers ? 0 : 4;
    options.rate = scene->answers ? 1e-12 : 0;
    options.keys = 5000;
    if (bloomery_sieve_open(&options, &scene->sieve, &error) != BLOOMERY_OK)
        fail_msg("%s", error.text);
    run_team(scene);
    judge_team(scene);
    assert_int_equal(bloomery_sieve_close(scene->sieve, &error), BLOOMERY_OK);
    stream_area_free(&scene->area);
    free(scene);
    test_remove(path);
    test_directory_remove(&directory);
}

static void memory_counts_each_key_once(void **state)
{
    (void)state;
    for (int round = 0; round < (test_long() ? 20 : 1); round++) {
        each_key_counts_once(BLOOMERY_SIEVE_MEMORY, 0, BLOOMERY_SIEVE_ORDER_FIFO);
        each_key_counts_once(BLOOMERY_SIEVE_MEMORY, 0.01, BLOOMERY_SIEVE_ORDER_FIFO);
    }
}

static void disk_counts_each_key_once(void **state)
{
    (void)state;
    for (int round = 0; round < (test_long() ? 20 : 1); round++) {
        each_key_counts_once(BLOOMERY_SIEVE_DISK, 0.01, BLOOMERY_SIEVE_ORDER_BY_PARTITION);
        each_key_counts_once(BLOOMERY_SIEVE_DISK, 0, BLOOMERY_SIEVE_ORDER_FIFO);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_counts_each_key_once),
        cmocka_unit_test(disk_counts_each_key_once),
    };
    return test_run_group("sieve_threads", tests, NULL, NULL);
}
