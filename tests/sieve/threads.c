/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that push the same keys, singly and in batches, while others pop and acknowledge: each
 * key counts once and comes out once. Meant to run under ThreadSanitizer too, which sees races that
 * happen to do no harm.
 *
 * Build: this file, stream.c, ../support; cmocka, the library, threads. No arguments. Suites:
 * sieve, threads.
 */
#include "stream.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PUSHERS = 8, POPPERS = 3, KEYS = 6000, STEP = 97, POP = 50, MISCHIEF = 40 };

struct team {
    bloomery_sieve *sieve;
    bool answers; /* at once: the memory engine */
    struct stream_area area;
    bloomery_key keys[KEYS];
    pthread_barrier_t start;
    pthread_mutex_t turn; /* of those who pop */
    atomic_uint fresh[KEYS];
    atomic_uint came[KEYS];
    atomic_uint again;
    atomic_uint pushers;
    atomic_ullong pushes;
    atomic_ullong acked;
    atomic_uint faults; /* cmocka's asserts belong to the main thread */
    atomic_int line;
};

struct member {
    struct team *team;
    unsigned number;
};

#define MUST(team, condition)                      \
    do {                                           \
        if (!(condition)) {                        \
            atomic_fetch_add(&(team)->faults, 1);  \
            atomic_store(&(team)->line, __LINE__); \
        }                                          \
    } while (0)

static const bloomery_key no_payload;

static void note_answer(struct team *team, size_t key, int answer)
{
    MUST(team, answer == BLOOMERY_SIEVE_NEW || answer == BLOOMERY_SIEVE_SEEN ||
                   answer == BLOOMERY_SIEVE_PENDING);
    MUST(team, answer != BLOOMERY_SIEVE_PENDING || !team->answers);
    atomic_fetch_add(&team->fresh[key], (unsigned)(answer == BLOOMERY_SIEVE_NEW));
}

/* All keys, each thread from another place on; the odd ones in batches. */
static void *push(void *argument)
{
    const struct member *member = argument;
    struct team *team = member->team;
    const size_t offset = member->number / 2 * 500;
    bloomery_error error;
    pthread_barrier_wait(&team->start);
    for (size_t i = 0; i < KEYS;) {
        bloomery_key batch[STEP];
        uint8_t results[STEP];
        bloomery_sieve_pushed pushed = {0, 0};
        if (member->number % 2 == 0) {
            const size_t key = (offset + i) % KEYS;
            note_answer(team, key,
                        push_key(team->sieve, team->keys[key], no_payload, NULL, &error));
            i++;
            continue;
        }
        const size_t count = KEYS - i < STEP ? KEYS - i : STEP;
        for (size_t k = 0; k < count; k++)
            batch[k] = team->keys[(offset + i + k) % KEYS];
        MUST(team, bloomery_sieve_push(team->sieve, batch, NULL, count, BLOOMERY_SIEVE_PUSH,
                                       results, &pushed, &error) == BLOOMERY_OK);
        MUST(team, pushed.done == count);
        for (size_t k = 0; k < pushed.done; k++)
            note_answer(team, (offset + i + k) % KEYS, results[k]);
        i += count;
    }
    atomic_fetch_add(&team->pushes, KEYS);
    atomic_fetch_sub(&team->pushers, 1);
    return NULL;
}

static void note_item(struct team *team, const bloomery_sieve_item *item)
{
    uint32_t id = KEYS;
    MUST(team, stream_id(item->key, false, &id) && id < KEYS);
    if (id >= KEYS)
        return;
    if (item->again)
        atomic_fetch_add(&team->again, 1);
    else
        atomic_fetch_add(&team->came[id], 1);
}

/* Returns how many came. Some are given back instead. */
static size_t pop_some(struct team *team, unsigned member)
{
    bloomery_sieve_item items[POP];
    uint64_t numbers[POP];
    bloomery_error error;
    size_t count = 0;
    uint64_t finished = 0;
    size_t back = 0;
    pthread_mutex_lock(&team->turn);
    MUST(team, bloomery_sieve_pop(team->sieve, items, POP / 2, BLOOMERY_SIEVE_POP_QUEUED, &count,
                                  &error) == BLOOMERY_OK);
    if (count == 0)
        MUST(team, bloomery_sieve_pop(team->sieve, items, POP, BLOOMERY_SIEVE_POP, &count,
                                      &error) == BLOOMERY_OK);
    for (size_t i = 0; i < count; i++) {
        note_item(team, &items[i]);
        numbers[i] = items[i].number;
    }
    pthread_mutex_unlock(&team->turn);
    if (count > 4 && atomic_fetch_add(&team->again, 0) < MISCHIEF + member)
        back = 2;
    MUST(team, bloomery_sieve_finish(team->sieve, numbers, back, BLOOMERY_SIEVE_BACK, &finished,
                                     &error) == BLOOMERY_OK);
    MUST(team, finished == back);
    MUST(team, bloomery_sieve_finish(team->sieve, numbers + back, count - back, BLOOMERY_SIEVE_DONE,
                                     &finished, &error) == BLOOMERY_OK);
    MUST(team, finished == count - back);
    atomic_fetch_add(&team->acked, count - back);
    return count;
}

static void *pop(void *argument)
{
    const struct member *member = argument;
    struct team *team = member->team;
    pthread_barrier_wait(&team->start);
    for (bool last = false; !last;) {
        last = atomic_load(&team->pushers) == 0;
        while (pop_some(team, member->number) > 0)
            last = false;
    }
    return NULL;
}

/* Asks for all at once: what came by then was seen. */
static void query_for_all(struct team *team)
{
    uint8_t answers[KEYS];
    bool came[KEYS];
    bloomery_error error;
    for (size_t i = 0; i < KEYS; i++)
        came[i] = atomic_load(&team->came[i]) > 0;
    MUST(team,
         bloomery_sieve_contains(team->sieve, team->keys, KEYS, answers, &error) == BLOOMERY_OK);
    for (size_t i = 0; i < KEYS; i++)
        MUST(team, answers[i] <= BLOOMERY_SIEVE_PENDING &&
                       (!came[i] || answers[i] == BLOOMERY_SIEVE_SEEN));
}

/* Asks, looks, flushes and commits in between. */
static void *watch(void *argument)
{
    const struct member *member = argument;
    struct team *team = member->team;
    bloomery_error error;
    uint64_t pushed = 0;
    unsigned round = 0;
    pthread_barrier_wait(&team->start);
    while (atomic_load(&team->pushers) > 0) {
        bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
        bloomery_sieve_info_get(team->sieve, &info);
        MUST(team, info.pushed >= pushed && info.durable <= info.pushed);
        MUST(team,
             info.pushed == info.new_keys + info.seen + info.pending + info.forced + info.marked);
        pushed = info.pushed;
        const size_t key = round * 131 % KEYS;
        const bool came = atomic_load(&team->came[key]) > 0;
        const int answer = query_key(team->sieve, team->keys[key], &error);
        MUST(team, answer >= 0 && (!came || answer == BLOOMERY_SIEVE_SEEN));
        if (round % 10 == 0)
            query_for_all(team);
        if (round % 100 == 0)
            MUST(team, bloomery_sieve_flush(team->sieve, &error) == BLOOMERY_OK);
        if (round % 15 == 0)
            MUST(team, bloomery_sieve_commit(team->sieve, &error) == BLOOMERY_OK);
        round++;
    }
    return NULL;
}

static void run_team(struct team *team)
{
    enum { THREADS = PUSHERS + POPPERS + 1 };
    pthread_t threads[THREADS];
    struct member members[THREADS];
    atomic_store(&team->pushers, PUSHERS);
    assert_int_equal(pthread_barrier_init(&team->start, NULL, THREADS), 0);
    assert_int_equal(pthread_mutex_init(&team->turn, NULL), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        members[i] = (struct member){team, i};
        void *(*work)(void *) = i < PUSHERS ? push : i < PUSHERS + POPPERS ? pop : watch;
        assert_int_equal(pthread_create(&threads[i], NULL, work, &members[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&team->start);
    /* An item may have been given back after the others saw nothing more. */
    while (pop_some(team, 0) > 0)
        continue;
    pthread_mutex_destroy(&team->turn);
}

static void judge_team(struct team *team)
{
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    if (atomic_load(&team->faults) > 0)
        fail_msg("%u faults, one of them in line %d", atomic_load(&team->faults),
                 atomic_load(&team->line));
    for (size_t i = 0; i < KEYS; i++) {
        const unsigned fresh = atomic_load(&team->fresh[i]);
        if (atomic_load(&team->came[i]) != 1 || (team->answers ? fresh != 1 : fresh > 1))
            fail_msg("key %zu was called new %u times and came %u times", i, fresh,
                     atomic_load(&team->came[i]));
    }
    bloomery_sieve_info_get(team->sieve, &info);
    assert_int_equal(info.pushed, atomic_load(&team->pushes));
    assert_int_equal(info.new_keys, KEYS);
    assert_int_equal(info.seen, info.pushed - KEYS);
    assert_int_equal(info.done, KEYS);
    assert_int_equal(atomic_load(&team->acked), KEYS);
    assert_int_equal(info.queued + info.leased + info.pending, 0);
    assert_true(atomic_load(&team->again) > 0);
}

/* Without seconds and in memory: without a directory. */
static void each_key_counts_once(bloomery_sieve_engine engine, double seconds,
                                 bloomery_sieve_order order)
{
    struct test_directory directory = test_directory_make();
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    bloomery_error error;
    char path[300];
    struct team *team = calloc(1, sizeof *team);
    assert_non_null(team);
    stream_area_make(&team->area);
    for (uint32_t i = 0; i < KEYS; i++)
        team->keys[i] = stream_key(&team->area, i, false);
    test_join(path, sizeof path, &directory, "sieve");
    team->answers = engine == BLOOMERY_SIEVE_MEMORY;
    options.engine = engine;
    options.directory = team->answers && seconds == 0 ? NULL : path;
    options.sync = seconds == 0 ? BLOOMERY_SIEVE_SYNC_NEVER : BLOOMERY_SIEVE_SYNC_TIMED;
    options.sync_seconds = seconds;
    options.order = order;
    options.partitions = team->answers ? 0 : 4;
    options.rate = team->answers ? 1e-12 : 0;
    options.keys = 5000;
    if (bloomery_sieve_open(&options, &team->sieve, &error) != BLOOMERY_OK)
        fail_msg("%s", error.text);
    run_team(team);
    judge_team(team);
    assert_int_equal(bloomery_sieve_close(team->sieve, &error), BLOOMERY_OK);
    stream_area_free(&team->area);
    free(team);
    sieve_remove(path);
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
