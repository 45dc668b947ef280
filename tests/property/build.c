/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter built by several threads is the filter that one thread makes, to the byte and with the
 * same count of adds: for every kind and number of blocks, for more threads than keys or blocks,
 * for shares of any size, for keys that all want the same block, and where the system gives no
 * threads. Meant to run under ThreadSanitizer too.
 *
 * Build: this file, ../support/support.c; cmocka, the library, threads. No arguments. Suite:
 * property, threads.
 */
#include "../support/built.h"
#include "../support/support.h"
#include "../support/team.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEYS = 60000, SHARES_MAX = (int)BLOOMERY_THREADS_MAX, PORTION_MAX = 1500 };

static const uint32_t team_sizes[] = {1, 2, 3, 5, 16, SHARES_MAX};
enum { TEAM_SIZES = sizeof team_sizes / sizeof team_sizes[0] };

/* ---- A source that watches how it is called ------------------------------------------------ */

/* The keys of one number. A portion is copied to where the last one was, so that a key that is used
 * after its time is another key. */
struct share {
    size_t next;
    size_t end;
    size_t last; /* keys of the portion that is out */
    uint64_t seed;
    atomic_bool busy;  /* a call is under way */
    atomic_bool ended; /* the last call returned 0 */
    bloomery_key keys[PORTION_MAX];
    uint8_t bytes[PORTION_MAX][TEST_SECRET_BYTES];
};

struct supply {
    const struct test_keys *keys;
    uint32_t count;
    struct share *shares;
    atomic_uint faults; /* cmocka's asserts belong to the main thread */
};

/* Shares are cut at random places: some are empty, some are large. */
static struct supply supply_make(const struct test_keys *keys, uint32_t count, uint64_t seed)
{
    struct supply supply = {.keys = keys, .count = count};
    size_t next = 0;
    supply.shares = calloc(count, sizeof *supply.shares);
    assert_non_null(supply.shares);
    for (uint32_t i = 0; i < count; i++) {
        struct share *share = &supply.shares[i];
        size_t left = keys->count - next;
        size_t now = test_below(&seed, 4) == 0 ? 0 : (size_t)test_below(&seed, left / 2 + 2);
        share->next = next;
        next = share->end = i + 1 == count ? keys->count : next + (now < left ? now : left);
        share->seed = test_next(&seed);
    }
    return supply;
}

/* Every key was handed out, and every source was called until it had no more. */
static void supply_check_and_free(struct supply *supply)
{
    assert_int_equal(atomic_load(&supply->faults), 0);
    for (uint32_t i = 0; i < supply->count; i++) {
        assert_int_equal(supply->shares[i].next, supply->shares[i].end);
        assert_true(atomic_load(&supply->shares[i].ended));
    }
    free(supply->shares);
}

static size_t source(void *context, uint32_t thread, const bloomery_key **keys)
{
    struct supply *supply = context;
    if (thread >= supply->count) {
        atomic_fetch_add(&supply->faults, 1);
        return 0;
    }
    struct share *share = &supply->shares[thread];
    if (atomic_exchange(&share->busy, true) || atomic_load(&share->ended))
        atomic_fetch_add(&supply->faults, 1);
    memset(share->bytes, 0xee, share->last * sizeof share->bytes[0]);
    size_t left = share->end - share->next;
    size_t count =
        1 + (size_t)test_below(&share->seed, test_below(&share->seed, 3) == 0 ? 70 : PORTION_MAX);
    count = count < left ? count : left;
    for (size_t i = 0; i < count; i++) {
        const bloomery_key *key = &supply->keys->keys[share->next + i];
        memcpy(share->bytes[i], key->data, key->bytes);
        share->keys[i] = bloomery_key_of(share->bytes[i], key->bytes);
    }
    share->next += count;
    share->last = count;
    *keys = share->keys;
    atomic_store(&share->ended, count == 0);
    atomic_store(&share->busy, false);
    return count;
}

/* ---- The comparison ------------------------------------------------------------------------ */

static struct test_bytes bytes_of(bloomery_filter *filter)
{
    struct test_bytes bytes = test_written(filter);
    bloomery_free(filter);
    return bytes;
}

static void assert_builds_alike(const bloomery_plan *plan, const bloomery_create_options *options,
                                const struct test_keys *keys, uint32_t threads)
{
    bloomery_error error;
    bloomery_filter *alone = test_create(plan, NULL);
    bloomery_filter *together = test_create(plan, options);
    bloomery_filter *array = test_create(plan, options);
    /* Some keys are in before; adds are counted on. */
    const size_t before = keys->count / 10;
    bloomery_filter *all[] = {alone, together, array};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(add_list(all[i], keys->keys, before, NULL), BLOOMERY_OK);
    assert_int_equal(add_list(alone, keys->keys, keys->count, NULL), BLOOMERY_OK);
    struct supply supply = supply_make(keys, threads, threads + keys->count);
    assert_int_equal(bloomery_add_from(together, source, &supply, threads, &error), BLOOMERY_OK);
    supply_check_and_free(&supply);
    assert_int_equal(add_list_threads(array, keys->keys, keys->count, threads, &error),
                     BLOOMERY_OK);
    struct test_bytes expected = bytes_of(alone);
    struct test_bytes found[] = {bytes_of(together), bytes_of(array)};
    for (size_t i = 0; i < 2; i++) {
        assert_true(test_bytes_equal(&found[i], &expected));
        test_bytes_free(&found[i]);
    }
    test_bytes_free(&expected);
}

static void any_number_of_threads_builds_the_same(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_IDS, 1, 0, KEYS);
    for (size_t s = 0; s < TEST_SHAPES; s++)
        for (size_t t = 0; t < TEAM_SIZES; t++) {
            bloomery_plan plan = test_plan(&test_shapes[s], KEYS, t % 2 == 0 ? 0.01 : 1e-6);
            assert_builds_alike(&plan, NULL, &keys, team_sizes[t]);
        }
    test_keys_free(&keys);
}

/* Two shares, each of which waits for the other before it gives its first portion. */
struct meeting {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint32_t here;
    bool met;
};

static size_t meet(void *context, uint32_t thread, const bloomery_key **keys)
{
    struct meeting *meeting = context;
    struct timespec limit;
    (void)thread;
    *keys = NULL;
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 20;
    pthread_mutex_lock(&meeting->mutex);
    meeting->here++;
    pthread_cond_broadcast(&meeting->changed);
    int waited = 0;
    while (meeting->here < 2 && waited == 0)
        waited = pthread_cond_timedwait(&meeting->changed, &meeting->mutex, &limit);
    meeting->met |= meeting->here == 2 && waited == 0;
    meeting->here -= waited != 0; /* the one that comes later meets no other */
    pthread_mutex_unlock(&meeting->mutex);
    return 0;
}

static void threads_work_at_once(void **state)
{
    (void)state;
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        struct meeting meeting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false};
        bloomery_plan plan = test_plan(&test_shapes[s], KEYS, 0.01);
        bloomery_filter *filter = test_create(&plan, NULL);
        assert_int_equal(bloomery_add_from(filter, meet, &meeting, 2, NULL), BLOOMERY_OK);
        assert_true(meeting.met);
        bloomery_free(filter);
    }
}

static void concurrent_filters_build_the_same(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_URLS, 2, 0, KEYS / 4);
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        options.concurrent_adds = true;
        bloomery_plan plan = test_plan(&test_shapes[s], KEYS / 4, 0.001);
        assert_builds_alike(&plan, &options, &keys, 4);
    }
    test_keys_free(&keys);
}

/* More threads than blocks, than bits, than keys. */
static void tiny_filters_build_the_same(void **state)
{
    (void)state;
    static const uint64_t units[] = {1, 2, 3, 17, 255, 257};
    static const size_t counts[] = {0, 1, 2, 63, 64, 65, 900};
    for (size_t s = 0; s < TEST_SHAPES; s++)
        for (size_t u = 0; u < sizeof units / sizeof units[0]; u++)
            for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
                bloomery_plan plan = {.kind = test_shapes[s].kind,
                                      .cell_bits = test_shapes[s].cell_bits,
                                      .blocks_per_key = test_shapes[s].blocks_per_key,
                                      .probes = 4,
                                      .bits =
                                          units[u] * (test_shapes[s].blocks_per_key > 0 ? 512 : 3)};
                struct test_keys keys = test_keys_make(TEST_LITTLE, 3, 0, counts[c]);
                assert_builds_alike(&plan, NULL, &keys, 16);
                test_keys_free(&keys);
            }
}

/* The same key again and again: all of it is for one range, the other threads' too. */
static void keys_that_all_take_one_block_build_the_same(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_WORDS, 4, 0, KEYS);
    for (size_t i = 0; i < keys.count; i++)
        if (i % 100 != 0)
            keys.keys[i] = keys.keys[0];
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_plan plan = test_plan(&test_shapes[s], KEYS, 0.01);
        assert_builds_alike(&plan, NULL, &keys, 4);
    }
    test_keys_free(&keys);
}

/* ---- What may go wrong --------------------------------------------------------------------- */

/* No thread can be made with a stack that no machine has room for. Sanitizers give threads stacks
 * of their own choosing, and then all are made, which is well too. */
static void without_threads_no_key_is_lost(void **state)
{
    (void)state;
    if (test_emulator() != NULL) /* which has room for any stack, until the machine has none left */
        skip();
    pthread_attr_t usual;
    pthread_attr_t huge;
    struct test_keys keys = test_keys_make(TEST_IDS, 5, 0, KEYS / 2);
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    assert_int_equal(pthread_getattr_default_np(&huge), 0);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 46), 0);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_plan plan = test_plan(&test_shapes[s], KEYS / 2, 0.01);
        assert_builds_alike(&plan, NULL, &keys, 5);
    }
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
    pthread_attr_destroy(&huge);
    pthread_attr_destroy(&usual);
    test_keys_free(&keys);
}

static size_t never_called(void *context, uint32_t thread, const bloomery_key **keys)
{
    bool *called = context;
    (void)thread;
    (void)keys;
    *called = true;
    return 0;
}

static void static_filters_are_refused(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_URLS, 1, 0, 100);
    const bloomery_filter *built = test_static_of(0.01, &keys);
    bloomery_filter *filter = NULL;
    assert_int_equal(bloomery_copy(built, NULL, &filter, NULL), BLOOMERY_OK);
    for (uint32_t threads = 0; threads < 3; threads++) {
        bool called = false;
        bloomery_key key = bloomery_key_of("k", 1);
        bloomery_error error = {.status = BLOOMERY_OK};
        assert_int_equal(bloomery_add_from(filter, never_called, &called, threads, &error),
                         BLOOMERY_READ_ONLY);
        assert_int_equal(error.status, BLOOMERY_READ_ONLY);
        assert_true(error.text[0] != '\0');
        assert_int_equal(add_list_threads(filter, &key, 1, threads, NULL), BLOOMERY_READ_ONLY);
        assert_false(called);
    }
    bloomery_free(built);
    bloomery_free(filter);
    test_keys_free(&keys);
}

static void keyed_filters_without_their_key_are_refused(void **state)
{
    (void)state;
    if (!test_keyed())
        skip();
    static const uint8_t secret[BLOOMERY_SECRET_BYTES] = {1};
    bloomery_open_options inspect = BLOOMERY_OPEN_OPTIONS;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.secret = secret;
    options.secret_outside = true;
    bloomery_plan plan = test_plan(&test_shapes[1], 100, 0.01);
    bloomery_filter *filter = test_create(&plan, &options);
    struct test_bytes bytes = test_written(filter);
    bloomery_free(filter);
    inspect.inspect = true;
    assert_int_equal(bloomery_load(bytes.data, bytes.bytes, &inspect, &filter, NULL), BLOOMERY_OK);
    bool called = false;
    assert_int_equal(bloomery_add_from(filter, never_called, &called, 2, NULL),
                     BLOOMERY_SECRET_NEEDED);
    assert_false(called);
    bloomery_free(filter);
    test_bytes_free(&bytes);
}

/* ---- Together with other adds -------------------------------------------------------------- */

struct beside {
    struct team team;
    bloomery_filter *filter;
    const struct test_keys *keys;
};

/* One adds all keys with several threads; the other every second key, one by one, and queries it.
 */
static void add_beside(void *context, unsigned number)
{
    struct beside *beside = context;
    const struct test_keys *keys = beside->keys;
    if (number == 0)
        TEAM_MUST(&beside->team, add_list_threads(beside->filter, keys->keys, keys->count, 3,
                                                  NULL) == BLOOMERY_OK);
    for (size_t i = 0; number == 1 && i < keys->count; i += 2)
        TEAM_MUST(&beside->team, add_status(beside->filter, keys->keys[i]) == BLOOMERY_OK &&
                                     bloomery_may_contain(beside->filter, keys->keys[i]));
}

static void others_may_add_to_a_concurrent_filter_during_a_build(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_IDS, 6, 0, KEYS / 4);
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_plan plan = test_plan(&test_shapes[s], KEYS / 4, 0.01);
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        options.concurrent_adds = true;
        struct beside beside = {.filter = test_create(&plan, &options), .keys = &keys};
        team_run(&beside.team, 2, add_beside, &beside);
        bloomery_filter *alone = test_create(&plan, NULL);
        add_list(alone, keys.keys, keys.count, NULL);
        for (size_t i = 0; i < keys.count; i += 2)
            bloomery_add(alone, keys.keys[i], NULL);
        struct test_bytes expected = bytes_of(alone);
        struct test_bytes found = bytes_of(beside.filter);
        assert_true(test_bytes_equal(&found, &expected));
        test_bytes_free(&found);
        test_bytes_free(&expected);
    }
    test_keys_free(&keys);
}

static void there_is_at_least_one_thread(void **state)
{
    (void)state;
    assert_true(bloomery_threads() >= 1);
    struct test_keys keys = test_keys_make(TEST_IDS, 7, 0, KEYS / 4);
    bloomery_plan plan = test_plan(&test_shapes[2], KEYS / 4, 0.01);
    bloomery_filter *filter = test_create(&plan, NULL);
    assert_int_equal(add_list_threads(filter, keys.keys, keys.count, 0, NULL), BLOOMERY_OK);
    assert_int_equal(query_list(filter, keys.keys, keys.count, NULL), keys.count);
    bloomery_free(filter);
    test_keys_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads_builds_the_same),
        cmocka_unit_test(threads_work_at_once),
        cmocka_unit_test(concurrent_filters_build_the_same),
        cmocka_unit_test(tiny_filters_build_the_same),
        cmocka_unit_test(keys_that_all_take_one_block_build_the_same),
        cmocka_unit_test(without_threads_no_key_is_lost),
        cmocka_unit_test(static_filters_are_refused),
        cmocka_unit_test(keyed_filters_without_their_key_are_refused),
        cmocka_unit_test(others_may_add_to_a_concurrent_filter_during_a_build),
        cmocka_unit_test(there_is_at_least_one_thread),
    };
    return test_run_group("build", tests, NULL, NULL);
}
