/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls with modes, as they are written in programs: what may be left out, what a number that
 * is not a mode does, and how all leases end at once.
 *
 * Build: this file, stream.c, ../support/support.c; cmocka, the library. No arguments.
 * Suite: sieve.
 */
#include "stream.h"

#include <stdio.h>
#include <string.h>

enum { MANY = 3000 };

struct place {
    struct test_directory directory;
    char path[300];
};

static struct place place_make(void)
{
    struct place place = {.directory = test_directory_make()};
    test_join(place.path, sizeof place.path, &place.directory, "sieve");
    return place;
}

static void place_free(struct place *place)
{
    test_remove(place->path);
    test_directory_remove(&place->directory);
}

static void push_numbers(bloomery_sieve *sieve, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        assert_true(
            push_key(sieve, bloomery_key_of(&i, sizeof i), bloomery_key_of("", 0), NULL, NULL) > 0);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
}

static size_t pop_all(bloomery_sieve *sieve)
{
    bloomery_sieve_item items[100];
    size_t all = 0;
    for (size_t count = 1; count > 0; all += count)
        count = must_pop(sieve, items, 100);
    return all;
}

static void what_a_push_tells_may_be_left_out(void **state)
{
    (void)state;
    uint64_t numbers[MANY];
    bloomery_key keys[MANY];
    for (uint64_t i = 0; i < MANY; i++) {
        numbers[i] = i / 2;
        keys[i] = bloomery_key_of(&numbers[i], sizeof numbers[i]);
    }
    for (int canon = 0; canon < 2; canon++) {
        bloomery_sieve_options options = {.canon = canon ? "url" : NULL};
        bloomery_sieve_pushed pushed;
        bloomery_sieve *sieve = must_open(&options);
        assert_int_equal(
            bloomery_sieve_push(sieve, keys, NULL, MANY, BLOOMERY_SIEVE_PUSH, NULL, NULL, NULL),
            BLOOMERY_OK);
        assert_int_equal(sieve_info_of(sieve).new_keys, MANY / 2);
        assert_int_equal(
            bloomery_sieve_push(sieve, keys, NULL, MANY, BLOOMERY_SIEVE_PUSH, NULL, &pushed, NULL),
            BLOOMERY_OK);
        assert_int_equal(pushed.done, MANY);
        assert_int_equal(pushed.last, 2 * MANY);
        assert_int_equal(sieve_info_of(sieve).queued, MANY / 2);
        must_close(sieve);
    }
}

/* Each mode with a list of keys that has one of them twice. */
static void modes_of_a_push_differ(void **state)
{
    (void)state;
    const bloomery_key keys[] = {bloomery_key_of("a", 1), bloomery_key_of("b", 1),
                                 bloomery_key_of("a", 1)};
    const bloomery_key payloads[] = {bloomery_key_of("1", 1), bloomery_key_of("2", 1),
                                     bloomery_key_of("3", 1)};
    static const uint8_t expected[3][3] = {
        [BLOOMERY_SIEVE_PUSH] = {BLOOMERY_SIEVE_NEW, BLOOMERY_SIEVE_NEW, BLOOMERY_SIEVE_SEEN},
        [BLOOMERY_SIEVE_PUSH_AGAIN] = {BLOOMERY_SIEVE_NEW, BLOOMERY_SIEVE_NEW, BLOOMERY_SIEVE_NEW},
        [BLOOMERY_SIEVE_PUSH_MARK] = {BLOOMERY_SIEVE_NEW, BLOOMERY_SIEVE_NEW, BLOOMERY_SIEVE_SEEN}};
    static const size_t queued[] = {2, 3, 0};
    for (int mode = BLOOMERY_SIEVE_PUSH; mode <= BLOOMERY_SIEVE_PUSH_MARK; mode++) {
        const bool marks = mode == BLOOMERY_SIEVE_PUSH_MARK;
        uint8_t results[3] = {0};
        bloomery_sieve_item items[3];
        size_t count = 0;
        bloomery_sieve *sieve = must_open(NULL);
        assert_int_equal(bloomery_sieve_push(sieve, keys, marks ? NULL : payloads, 3,
                                             (bloomery_sieve_push_mode)mode, results, NULL, NULL),
                         BLOOMERY_OK);
        assert_memory_equal(results, expected[mode], 3);
        assert_int_equal(sieve_info_of(sieve).marked, marks ? 3 : 0);
        count = must_pop(sieve, items, 3);
        assert_int_equal(count, queued[mode]);
        for (size_t i = 0; i < count; i++)
            assert_memory_equal(items[i].payload.data, payloads[i].data, 1);
        assert_int_equal(query_key(sieve, keys[1], NULL), BLOOMERY_SIEVE_SEEN);
        must_close(sieve);
    }
}

static int never(void *context, const bloomery_sieve_item *item)
{
    (void)context;
    (void)item;
    fail_msg("nothing is visited");
    return 0;
}

static void other_modes_are_refused(void **state)
{
    (void)state;
    const bloomery_key key = bloomery_key_of("a", 1);
    const uint64_t number = 1;
    bloomery_error error = {.text = ""};
    bloomery_sieve_pushed pushed = {7, 7};
    bloomery_sieve_item item;
    uint8_t result = 7;
    size_t count = 7;
    uint64_t finished = 7;
    int ended = 7;
    bloomery_sieve *sieve = must_open(NULL);
    assert_int_equal(bloomery_sieve_push(sieve, &key, NULL, 1, (bloomery_sieve_push_mode)3, &result,
                                         &pushed, &error),
                     BLOOMERY_BAD_ARGUMENT);
    assert_true(pushed.done == 0 && pushed.last == 0 && result == 7);
    pushed = (bloomery_sieve_pushed){7, 7};
    assert_int_equal(bloomery_sieve_push(sieve, &key, &key, 1, BLOOMERY_SIEVE_PUSH_MARK, &result,
                                         &pushed, &error),
                     BLOOMERY_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "payloads must be NULL"));
    assert_true(pushed.done == 0 && pushed.last == 0 && result == 7);
    assert_int_equal(sieve_info_of(sieve).pushed, 0);
    assert_int_equal(push_key(sieve, key, key, NULL, NULL), BLOOMERY_SIEVE_NEW);
    assert_int_equal(
        bloomery_sieve_pop(sieve, &item, 1, (bloomery_sieve_pop_mode)2, &count, &error),
        BLOOMERY_BAD_ARGUMENT);
    assert_int_equal(count, 0);
    assert_int_equal(bloomery_sieve_pop(sieve, &item, 1, BLOOMERY_SIEVE_POP_QUEUED, &count, NULL),
                     BLOOMERY_OK);
    assert_int_equal(count, 1);
    for (int outcome = 0; outcome <= 4; outcome += 4) {
        finished = 7;
        assert_int_equal(bloomery_sieve_finish(sieve, &number, 1, (bloomery_sieve_outcome)outcome,
                                               &finished, &error),
                         BLOOMERY_BAD_ARGUMENT);
        assert_int_equal(finished, 0);
    }
    for (int which = 0; which <= 4; which += 4)
        assert_int_equal(
            bloomery_sieve_each(sieve, (bloomery_sieve_items)which, never, NULL, &ended, &error),
            BLOOMERY_BAD_ARGUMENT);
    assert_int_equal(ended, 0);
    assert_int_equal(sieve_info_of(sieve).leased, 1);
    must_close(sieve);
}

/* ---- All leases ------------------------------------------------------------------------------ */

static int sum_deliveries(void *context, const bloomery_sieve_item *item)
{
    assert_true(item->lease_ends == 0);
    *(uint64_t *)context += item->deliveries;
    return 0;
}

static void all_leases_end_at_once(void **state)
{
    (void)state;
    static const uint64_t deliveries[] = {[BLOOMERY_SIEVE_BACK] = MANY, [BLOOMERY_SIEVE_UNDO] = 0};
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++)
        for (int outcome = BLOOMERY_SIEVE_DONE; outcome <= BLOOMERY_SIEVE_UNDO; outcome++) {
            struct place place = place_make();
            bloomery_sieve_options options = {.engine = (bloomery_sieve_engine)engine,
                                              .directory = place.path};
            uint64_t finished = 7;
            bloomery_sieve *sieve = must_open(&options);
            assert_int_equal(bloomery_sieve_finish(sieve, NULL, BLOOMERY_SIEVE_ALL,
                                                   (bloomery_sieve_outcome)outcome, &finished,
                                                   NULL),
                             BLOOMERY_OK);
            assert_int_equal(finished, 0);
            push_numbers(sieve, MANY);
            assert_int_equal(pop_all(sieve), MANY);
            assert_int_equal(bloomery_sieve_finish(sieve, NULL, BLOOMERY_SIEVE_ALL,
                                                   (bloomery_sieve_outcome)outcome, &finished,
                                                   NULL),
                             BLOOMERY_OK);
            assert_int_equal(finished, MANY);
            const bool done = outcome == BLOOMERY_SIEVE_DONE;
            const bloomery_sieve_info info = sieve_info_of(sieve);
            assert_int_equal(info.done, done ? MANY : 0);
            assert_int_equal(info.leased, done ? 0 : MANY);
            uint64_t sum = 0;
            assert_int_equal(
                bloomery_sieve_each(sieve, BLOOMERY_SIEVE_LEASED, sum_deliveries, &sum, NULL, NULL),
                BLOOMERY_OK);
            assert_int_equal(sum, done ? 0 : deliveries[outcome]);
            assert_int_equal(pop_all(sieve), done ? 0 : MANY);
            must_close(sieve);
            place_free(&place);
        }
}

/* Numbers that are leased count; those that are not, or come twice, do not. */
static void what_was_finished_is_counted(void **state)
{
    (void)state;
    const uint64_t numbers[] = {1, 0, 2, 1, 99, UINT64_MAX};
    uint64_t changed = 7;
    bloomery_sieve *sieve = must_open(NULL);
    push_numbers(sieve, 3);
    assert_int_equal(pop_all(sieve), 3);
    assert_int_equal(bloomery_sieve_extend(sieve, numbers, 6, 10, &changed, NULL), BLOOMERY_OK);
    assert_int_equal(changed, 3); /* 1 is leased both times */
    assert_int_equal(bloomery_sieve_finish(sieve, numbers, 6, BLOOMERY_SIEVE_DONE, &changed, NULL),
                     BLOOMERY_OK);
    assert_int_equal(changed, 2);
    assert_int_equal(bloomery_sieve_extend(sieve, numbers, 6, 10, &changed, NULL), BLOOMERY_OK);
    assert_int_equal(changed, 0);
    assert_int_equal(sieve_info_of(sieve).leased, 1);
    must_close(sieve);
}

/* A count of all leases is not one of numbers that could be read. */
static void leases_are_renewed_by_number_alone(void **state)
{
    (void)state;
    uint64_t changed = 7;
    bloomery_error error = {.status = BLOOMERY_OK};
    bloomery_sieve *sieve = must_open(NULL);
    push_numbers(sieve, 3);
    assert_int_equal(pop_all(sieve), 3);
    assert_int_equal(bloomery_sieve_extend(sieve, NULL, BLOOMERY_SIEVE_ALL, 10, &changed, &error),
                     BLOOMERY_BAD_ARGUMENT);
    assert_int_equal(error.status, BLOOMERY_BAD_ARGUMENT);
    assert_int_equal(changed, 0);
    assert_int_equal(bloomery_sieve_extend(sieve, NULL, 0, 10, &changed, NULL), BLOOMERY_OK);
    must_close(sieve);
}

/* ---- Visits ---------------------------------------------------------------------------------- */

static int give_context(void *context, const bloomery_sieve_item *item)
{
    (void)item;
    return *(const int *)context;
}

static int give_number(void *context, uint64_t fingerprint)
{
    (void)fingerprint;
    return *(const int *)context;
}

/* What a visitor returns is not a status of the call, whatever number it is. */
static void a_visit_ends_with_any_result(void **state)
{
    (void)state;
    static const int wanted[] = {1, 77, BLOOMERY_CORRUPT, BLOOMERY_IO_FAILED, INT32_MIN};
    struct place place = place_make();
    bloomery_sieve_options options = {.directory = place.path, .max_deliveries = 1};
    bloomery_sieve_item item;
    bloomery_sieve *sieve = must_open(&options);
    push_numbers(sieve, 3);
    /* One of each: dead, leased, queued. */
    for (int i = 0; i < 2; i++) {
        must_pop(sieve, &item, 1);
        if (i == 0)
            assert_int_equal(
                bloomery_sieve_finish(sieve, &item.number, 1, BLOOMERY_SIEVE_BACK, NULL, NULL),
                BLOOMERY_OK);
    }
    const bloomery_sieve_info info = sieve_info_of(sieve);
    assert_true(info.dead == 1 && info.leased == 1 && info.queued == 1);
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        int context = wanted[i];
        for (int which = BLOOMERY_SIEVE_QUEUED; which <= BLOOMERY_SIEVE_DEAD; which++) {
            int ended = 0;
            assert_int_equal(bloomery_sieve_each(sieve, (bloomery_sieve_items)which, give_context,
                                                 &context, &ended, NULL),
                             BLOOMERY_OK);
            assert_int_equal(ended, wanted[i]);
        }
        int ended = 0;
        assert_int_equal(bloomery_sieve_each_seen(sieve, give_number, &context, &ended, NULL),
                         BLOOMERY_OK);
        assert_int_equal(ended, wanted[i]);
    }
    must_close(sieve);
    place_free(&place);
}

/* ---- Structs --------------------------------------------------------------------------------- */

/* Of a size of 0, as `= {0}` makes them. */
static void structs_of_zeros_work(void **state)
{
    (void)state;
    struct place place = place_make();
    bloomery_sieve_options options = {.directory = place.path};
    bloomery_sieve_info info = {0};
    bloomery_sieve_info read = {0};
    bloomery_sieve_recovery recovery = {.aside = 7};
    bloomery_sieve *sieve = must_open(&options);
    push_numbers(sieve, 5);
    bloomery_sieve_info_get(sieve, &info);
    assert_int_equal(info.pushed, 5);
    assert_int_equal(info.leases, 4096); /* the last field */
    assert_int_equal(info.struct_bytes, 0);
    must_close(sieve);
    assert_int_equal(bloomery_sieve_info_read(&options, &read, NULL), BLOOMERY_OK);
    assert_int_equal(read.pushed, 5);
    assert_int_equal(read.leases, 4096);
    assert_int_equal(bloomery_sieve_recover(&options, NULL, NULL, &recovery, NULL), BLOOMERY_OK);
    assert_int_equal(recovery.aside, 0);
    bloomery_sieve_plan plan = {.keys = 1000000};
    assert_int_equal(bloomery_sieve_plan_solve(&plan, NULL), BLOOMERY_OK);
    assert_true(plan.min_memory > 0 && plan.budget_rate > 0);
    place_free(&place);
}

/* Which order a sieve of the memory engine was made with does not matter. */
static void the_memory_engine_is_first_in_first_out(void **state)
{
    (void)state;
    for (int order = BLOOMERY_SIEVE_ORDER_BY_PARTITION; order <= BLOOMERY_SIEVE_ORDER_FIFO;
         order++) {
        bloomery_sieve_options options = {.order = (bloomery_sieve_order)order};
        bloomery_sieve_item items[10];
        size_t count = 0;
        bloomery_sieve *sieve = must_open(&options);
        assert_int_equal(sieve_info_of(sieve).order, BLOOMERY_SIEVE_ORDER_FIFO);
        push_numbers(sieve, 10);
        count = must_pop(sieve, items, 10);
        assert_int_equal(count, 10);
        for (uint64_t i = 0; i < 10; i++)
            assert_memory_equal(items[i].key.data, &i, sizeof i);
        must_close(sieve);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_push_tells_may_be_left_out),
        cmocka_unit_test(modes_of_a_push_differ),
        cmocka_unit_test(other_modes_are_refused),
        cmocka_unit_test(all_leases_end_at_once),
        cmocka_unit_test(what_was_finished_is_counted),
        cmocka_unit_test(leases_are_renewed_by_number_alone),
        cmocka_unit_test(a_visit_ends_with_any_result),
        cmocka_unit_test(structs_of_zeros_work),
        cmocka_unit_test(the_memory_engine_is_first_in_first_out),
    };
    return test_run_group("sieve_calls", tests, NULL, NULL);
}
