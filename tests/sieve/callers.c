/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a caller or its machine hands over, however odd, is answered: no assert stands behind it,
 * and nothing crashes.
 *
 * The clock on the wall is this program's own, and stands where a test sets it.
 *
 * Build: this file, stream.c, ../support; cmocka, the library. No arguments. Suite: sieve.
 */
#include "stream.h"

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int64_t wall_seconds;
static bool wall_is_set;

/* In place of the C library's, for the library under test too. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    if (clock != CLOCK_REALTIME || !wall_is_set)
        return (int)syscall(SYS_clock_gettime, clock, now);
    *now = (struct timespec){.tv_sec = (time_t)wall_seconds, .tv_nsec = 999999999};
    return 0;
}

static void set_wall(int64_t seconds)
{
    wall_seconds = seconds;
    wall_is_set = true;
}

/* A machine whose clock was never set: pops lease, leases end, and acknowledging goes on. */
static void clock_before_1970_pops(void **state)
{
    (void)state;
    static const int64_t moments[] = {-1, -2, -3600, -86400LL * 365 * 60, INT64_MIN / 2};
    for (size_t i = 0; i < sizeof moments / sizeof moments[0]; i++)
        for (int disk = 0; disk < 2; disk++) {
            struct test_directory directory = test_directory_make();
            char path[300];
            test_join(path, sizeof path, &directory, "sieve");
            bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
            options.directory = path;
            options.engine = disk ? BLOOMERY_SIEVE_DISK : BLOOMERY_SIEVE_MEMORY;
            options.keep_leases = true;
            options.lease = 100;
            set_wall(moments[i]);
            bloomery_sieve *sieve = must_open(&options);
            bloomery_sieve_item items[2];
            size_t count = 0;
            assert_true(
                push_key(sieve, bloomery_key_of("a", 1), bloomery_key_of("", 0), NULL, NULL) >= 0);
            count = must_pop(sieve, items, 2);
            assert_int_equal(count, 1);
            count = must_pop(sieve, items, 2);
            assert_int_equal(count, 0);
            must_close(sieve);
            sieve = must_open(&options);
            count = must_pop(sieve, items, 2);
            assert_int_equal(count, 0);
            /* The clock is set: what was leased before comes again. */
            set_wall(1700000000);
            count = must_pop(sieve, items, 2);
            assert_int_equal(count, 1);
            assert_true(items[0].again && items[0].key.bytes == 1);
            const uint64_t number = items[0].number;
            must_finish(sieve, &number, 1);
            must_close(sieve);
            wall_is_set = false;
            test_remove(path);
            test_directory_remove(&directory);
        }
}

/* As filters refuse it: with the same status and sentence. */
static void an_allocator_needs_both_functions(void **state)
{
    (void)state;
    static const bloomery_sieve_engine engines[] = {BLOOMERY_SIEVE_DEFAULT, BLOOMERY_SIEVE_MEMORY,
                                                    BLOOMERY_SIEVE_DISK};
    struct test_directory directory = test_directory_make();
    char path[300];
    test_join(path, sizeof path, &directory, "sieve");
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++)
        for (int without = 0; without < 2; without++) {
            struct test_memory memory = {0};
            bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
            bloomery_create_options filter_options = BLOOMERY_CREATE_OPTIONS;
            bloomery_sieve *sieve = (bloomery_sieve *)(uintptr_t)path;
            bloomery_filter *filter = NULL;
            bloomery_error error = {0}, same = {0};
            bloomery_plan plan = {.bits = 512, .blocks_per_key = 1, .probes = 1};
            options.engine = engines[i];
            options.directory = path;
            options.allocator = test_allocator(&memory);
            if (without == 0)
                options.allocator.release = NULL;
            else
                options.allocator.allocate = NULL;
            filter_options.allocator = options.allocator;
            assert_int_equal(bloomery_sieve_open(&options, &sieve, &error), BLOOMERY_BAD_ARGUMENT);
            assert_null(sieve);
            assert_int_equal(bloomery_create(&plan, &filter_options, &filter, &same),
                             BLOOMERY_BAD_ARGUMENT);
            assert_string_equal(error.text, same.text);
            assert_int_equal(memory.requests, 0);
            assert_int_equal(test_directory_entries(&directory), 0);
        }
    test_directory_remove(&directory);
}

/* Nothing, at no address. */
static void no_keys_are_pushed_and_acknowledged(void **state)
{
    (void)state;
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    bloomery_sieve *sieve = must_open(&options);
    bloomery_sieve_pushed pushed = {1, 1};
    uint64_t finished = 1;
    size_t count = 1;
    for (int mode = BLOOMERY_SIEVE_PUSH; mode <= BLOOMERY_SIEVE_PUSH_MARK; mode++) {
        assert_int_equal(bloomery_sieve_push(sieve, NULL, NULL, 0, (bloomery_sieve_push_mode)mode,
                                             NULL, &pushed, NULL),
                         BLOOMERY_OK);
        assert_int_equal(pushed.done, 0);
        assert_int_equal(pushed.last, 0);
    }
    count = must_pop(sieve, NULL, 0);
    assert_int_equal(count, 0);
    assert_int_equal(bloomery_sieve_finish(sieve, NULL, 0, BLOOMERY_SIEVE_DONE, &finished, NULL),
                     BLOOMERY_OK);
    assert_int_equal(finished, 0);
    assert_int_equal(bloomery_sieve_finish(sieve, NULL, 0, BLOOMERY_SIEVE_BACK, NULL, NULL),
                     BLOOMERY_OK);
    assert_int_equal(query_key(sieve, bloomery_key_of(NULL, 0), NULL), BLOOMERY_SIEVE_NEW);
    assert_int_equal(
        push_key(sieve, bloomery_key_of(NULL, 0), bloomery_key_of(NULL, 0), NULL, NULL),
        BLOOMERY_SIEVE_NEW);
    must_close(sieve);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_before_1970_pops),
        cmocka_unit_test(an_allocator_needs_both_functions),
        cmocka_unit_test(no_keys_are_pushed_and_acknowledged),
    };
    return test_run_group("sieve_callers", tests, NULL, NULL);
}
