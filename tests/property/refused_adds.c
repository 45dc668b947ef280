/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls for one key that fail: none returns what looks like an answer, each says why where it can,
 * and a failure that nobody could receive stops the next save, once.
 *
 * Build: this file, ../support/support.c, specimens.c; cmocka, the library, threads. No arguments.
 * Suite: property.
 */
#include "../support/built.h"
#include "../support/support.h"
#include "../support/team.h"

#include <bloomery/dialect.h>

#include <stdio.h>
#include <string.h>

/* ---- Filters that refuse keys ---------------------------------------------------------------- */

/* A chain that may have one layer, with `count` keys in it; `concurrent` for several threads. */
static bloomery_filter *full_chain(const struct test_keys *keys, bool concurrent)
{
    const bloomery_plan plan = {.kind = BLOOMERY_SCALABLE, .keys = 200, .rate = 1e-6};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_counts counts = {0};
    options.memory_limit = 2000;
    options.concurrent_adds = concurrent;
    bloomery_filter *filter = test_create(&plan, &options);
    const bloomery_keys list = bloomery_keys_of_list(keys->keys, keys->count);
    assert_int_equal(bloomery_add_keys(filter, &list, NULL, &counts, NULL), BLOOMERY_FULL);
    assert_true(counts.done > 100 && counts.done < 400);
    return filter;
}

/* One of another system, which does not grow at all. */
static bloomery_filter *full_foreign(const struct test_keys *keys)
{
    bloomery_dialect_parameters with = {.keys = 200, .rate = 1e-6, .variant = "nonscaling"};
    bloomery_filter *filter = NULL;
    const bloomery_keys list = bloomery_keys_of_list(keys->keys, keys->count);
    assert_int_equal(
        bloomery_dialect_create(bloomery_dialect_find("redisbloom"), &with, NULL, &filter, NULL),
        BLOOMERY_OK);
    assert_int_equal(bloomery_add_keys(filter, &list, NULL, NULL, NULL), BLOOMERY_FULL);
    return filter;
}

/* Opened without its secret. */
static bloomery_filter *inspected(bloomery_kind kind)
{
    static const uint8_t secret[BLOOMERY_SECRET_BYTES] = "sixteen letters";
    const bloomery_plan plan = {.kind = kind, .keys = 200, .rate = 0.01};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    options.secret = secret;
    options.secret_outside = true;
    bloomery_filter *filter = test_create(&plan, &options);
    struct test_bytes bytes = test_written(filter);
    bloomery_free(filter);
    opening.inspect = true;
    assert_int_equal(bloomery_load(bytes.data, bytes.bytes, &opening, &filter, NULL), BLOOMERY_OK);
    test_bytes_free(&bytes);
    return filter;
}

static bloomery_filter *static_copy(void)
{
    const bloomery_filter *built = test_static_of_integers(0.01, 0, 1000);
    bloomery_filter *filter = NULL;
    assert_int_equal(bloomery_copy(built, NULL, &filter, NULL), BLOOMERY_OK);
    bloomery_free(built);
    return filter;
}

/* A key that the filter does not have. */
static bloomery_key absent_key(const bloomery_filter *filter)
{
    static uint64_t numbers[1000];
    for (size_t i = 0; i < 1000; i++) {
        numbers[i] = UINT64_C(0x1234567) * (i + 1);
        if (!bloomery_may_contain(filter, bloomery_key_of(&numbers[i], sizeof numbers[i])))
            return bloomery_key_of(&numbers[i], sizeof numbers[i]);
    }
    return bloomery_key_of(&numbers[0], sizeof numbers[0]); /* "possibly" for every key */
}

/* ---- Nothing is true on failure -------------------------------------------------------------- */

enum single { SINGLE_ADD, SINGLE_ADD_HASH, SINGLE_REMOVE };

static bool call(enum single which, bloomery_filter *filter, bloomery_key key,
                 bloomery_error *error)
{
    const bloomery_hash hash = {0, UINT64_C(0xfedcba9876543210)};
    return which == SINGLE_ADD        ? bloomery_add(filter, key, error)
           : which == SINGLE_ADD_HASH ? bloomery_add_hash(filter, hash, error)
                                      : bloomery_remove(filter, key, error);
}

static void expect_false(const char *what, enum single which, bloomery_filter *filter,
                         bloomery_status status)
{
    const bloomery_key key = absent_key(filter);
    bloomery_error error;
    memset(&error, 0x5a, sizeof error);
    const bool done = call(which, filter, key, &error);
    if (done || error.status != status || error.text[0] == '\0' ||
        memchr(error.text, '\0', sizeof error.text) == NULL)
        fail_msg("%s, call %d: %d, %s, not %s", what, (int)which, done,
                 bloomery_status_name((int)error.status), bloomery_status_name(status));
    assert_false(call(which, filter, key, NULL));
    bloomery_free(filter);
}

static void nothing_is_true_on_failure(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 5000);
    (void)state;
    for (int which = SINGLE_ADD; which <= SINGLE_ADD_HASH; which++) {
        expect_false("full", (enum single)which, full_chain(&keys, false), BLOOMERY_FULL);
        expect_false("shared", (enum single)which, full_chain(&keys, true), BLOOMERY_FULL);
        expect_false("foreign", (enum single)which, full_foreign(&keys), BLOOMERY_FULL);
        expect_false("static", (enum single)which, static_copy(), BLOOMERY_READ_ONLY);
        if (test_keyed())
            expect_false("no secret", (enum single)which, inspected(BLOOMERY_BLOCKED),
                         BLOOMERY_SECRET_NEEDED);
    }
    expect_false("no counters", SINGLE_REMOVE, bloomery_new(100, 0.01, NULL), BLOOMERY_UNSUPPORTED);
    expect_false("static", SINGLE_REMOVE, static_copy(), BLOOMERY_UNSUPPORTED);
    if (test_keyed())
        expect_false("no secret", SINGLE_REMOVE, inspected(BLOOMERY_COUNTING),
                     BLOOMERY_SECRET_NEEDED);
    test_keys_free(&keys);
}

/* Hashes are nothing to a filter whose keys have positions. */
static void a_hash_that_a_filter_cannot_use_is_refused(void **state)
{
    bloomery_dialect_parameters with = {.bits = 1000, .probes = 5};
    bloomery_filter *filter = NULL;
    (void)state;
    const bloomery_status status =
        bloomery_dialect_create(bloomery_dialect_find("md5-chain"), &with, NULL, &filter, NULL);
    if (status == BLOOMERY_UNSUPPORTED) /* no libcrypto */
        skip();
    assert_int_equal(status, BLOOMERY_OK);
    expect_false("positions", SINGLE_ADD_HASH, filter, BLOOMERY_UNSUPPORTED);
}

/* The status says which false it is: also a status of before is written over. */
static void a_key_that_was_seen_is_not_a_failure(void **state)
{
    (void)state;
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        const bloomery_plan plan = test_plan(&test_shapes[s], 100, 1e-9);
        bloomery_filter *filter = test_create(&plan, NULL);
        const bloomery_key key = bloomery_key_of("key", 3);
        bloomery_hash hash;
        bloomery_error error = {.status = BLOOMERY_FULL, .text = "of before"};
        assert_int_equal(bloomery_hash_key(filter, key, &hash, &error), BLOOMERY_OK);
        assert_true(bloomery_add(filter, key, &error));
        assert_false(bloomery_add(filter, key, &error));
        assert_int_equal(error.status, BLOOMERY_OK);
        error.status = BLOOMERY_FULL;
        assert_false(bloomery_add_hash(filter, hash, &error));
        assert_int_equal(error.status, BLOOMERY_OK);
        if (plan.kind == BLOOMERY_COUNTING) {
            error.status = BLOOMERY_FULL;
            assert_false(bloomery_remove(filter, bloomery_key_of("another", 7), &error));
            assert_int_equal(error.status, BLOOMERY_OK);
        }
        bloomery_free(filter);
    }
}

/* ---- The next save --------------------------------------------------------------------------- */

static int swallow(void *context, const void *data, size_t bytes)
{
    (void)data;
    *(uint64_t *)context += bytes;
    return 0;
}

/* The calls that give the keys of a filter on. */
enum giving {
    GIVING_SAVE,
    GIVING_WRITE,
    GIVING_MERGE,
    GIVING_DIALECT_SAVE,
    GIVING_DIALECT,
    GIVINGS
};

static bloomery_status give(enum giving which, const bloomery_filter *filter, const char *path,
                            bloomery_error *error)
{
    uint64_t bytes = 0;
    if (which == GIVING_SAVE)
        return bloomery_save(filter, path, error);
    if (which == GIVING_DIALECT_SAVE)
        return bloomery_dialect_save(filter, NULL, path, error);
    if (which == GIVING_MERGE) {
        const bloomery_plan plan = {.kind = BLOOMERY_SCALABLE, .keys = 200, .rate = 1e-6};
        bloomery_filter *into = test_create(&plan, NULL);
        const bloomery_status status = bloomery_merge(into, filter, error);
        assert_int_equal(test_cells(into) > 0, status == BLOOMERY_OK);
        bloomery_free(into);
        return status;
    }
    const bloomery_status status =
        which == GIVING_WRITE ? bloomery_write(filter, swallow, &bytes, error)
                              : bloomery_dialect_write(filter, NULL, swallow, &bytes, error);
    assert_int_equal(bytes > 0, status == BLOOMERY_OK);
    return status;
}

static void assert_stopped(enum giving which, const bloomery_filter *filter, const char *path,
                           const char *text)
{
    bloomery_error error = {.status = BLOOMERY_OK, .text = ""};
    test_write_file(path, "old", 3);
    const bloomery_status status = give(which, filter, path, &error);
    if (status != BLOOMERY_FULL || error.status != BLOOMERY_FULL ||
        strstr(error.text, text) == NULL)
        fail_msg("call %d: %s, %s", (int)which, bloomery_status_name((int)status), error.text);
    struct test_bytes old = test_read_file(path);
    assert_true(old.bytes == 3 && memcmp(old.data, "old", 3) == 0);
    test_bytes_free(&old);
    /* Once: the program has heard of it. */
    if (give(which, filter, path, &error) != BLOOMERY_OK)
        fail_msg("call %d, again: %s", (int)which, error.text);
}

static void a_failed_add_without_error_stops_the_next_save(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 5000);
    struct test_directory directory = test_directory_make();
    char path[300];
    (void)state;
    test_join(path, sizeof path, &directory, "f");
    for (int which = 0; which < GIVINGS; which++)
        for (int concurrent = 0; concurrent < 2; concurrent++) {
            const bool foreign = which >= GIVING_DIALECT_SAVE;
            bloomery_filter *filter =
                foreign ? full_foreign(&keys) : full_chain(&keys, concurrent == 1);
            const bloomery_key key = absent_key(filter);
            assert_false(bloomery_add(filter, key, NULL));
            /* A small filter of another system does not count them. */
            assert_stopped((enum giving)which, filter, path,
                           foreign ? "could not be added" : "1 key could not be added");
            for (int i = 0; i < 3; i++)
                assert_false(i == 1
                                 ? bloomery_add_hash(filter, (bloomery_hash){1, ~UINT64_C(0)}, NULL)
                                 : bloomery_add(filter, key, NULL));
            assert_false(bloomery_add(filter, keys.keys[0], NULL)); /* which is there */
            assert_stopped((enum giving)which, filter, path,
                           foreign ? "could not be added" : "3 keys could not be added");
            bloomery_free(filter);
        }
    test_directory_remove(&directory);
    test_keys_free(&keys);
}

/* A caller that receives the failure decides; and what is cleared has no keys to miss. */
static void a_failure_that_was_received_stops_nothing(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 5000);
    uint64_t bytes = 0;
    (void)state;
    bloomery_filter *filter = full_chain(&keys, false);
    const bloomery_key key = absent_key(filter);
    bloomery_error error;
    assert_false(bloomery_add(filter, key, &error));
    assert_int_equal(error.status, BLOOMERY_FULL);
    assert_int_equal(add_list(filter, &key, 1, NULL), BLOOMERY_FULL);
    assert_int_equal(bloomery_write(filter, swallow, &bytes, NULL), BLOOMERY_OK);
    assert_false(bloomery_add(filter, key, NULL));
    assert_int_equal(bloomery_clear(filter, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_write(filter, swallow, &bytes, NULL), BLOOMERY_OK);
    bloomery_free(filter);
    test_keys_free(&keys);
}

/* A copy has the keys of its original, and lacks those that it lacks. Each says so once. */
static void a_copy_lacks_what_its_original_lacks(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 5000);
    uint64_t bytes = 0;
    (void)state;
    for (int foreign = 0; foreign < 2; foreign++) {
        bloomery_filter *filter = foreign == 1 ? full_foreign(&keys) : full_chain(&keys, false);
        bloomery_filter *copy = NULL;
        assert_false(bloomery_add(filter, absent_key(filter), NULL));
        assert_int_equal(bloomery_copy(filter, NULL, &copy, NULL), BLOOMERY_OK);
        const bloomery_filter *both[] = {filter, copy};
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(bloomery_write(both[i], swallow, &bytes, NULL), BLOOMERY_FULL);
            assert_int_equal(bloomery_write(both[i], swallow, &bytes, NULL), BLOOMERY_OK);
            bloomery_free(both[i]);
        }
    }
    test_keys_free(&keys);
}

struct vain {
    struct team team;
    bloomery_filter *filter;
    bloomery_key key;
};

static void add_in_vain(void *context, unsigned number)
{
    struct vain *vain = context;
    (void)number;
    for (int i = 0; i < 1000; i++)
        TEAM_MUST(&vain->team, !bloomery_add(vain->filter, vain->key, NULL));
}

static void failures_of_several_threads_are_all_counted(void **state)
{
    enum { THREADS = 4 };
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 5000);
    bloomery_filter *filter = full_chain(&keys, true);
    bloomery_error error = {.text = ""};
    uint64_t bytes = 0;
    struct vain vain = {.filter = filter, .key = absent_key(filter)};
    (void)state;
    team_run(&vain.team, THREADS, add_in_vain, &vain);
    assert_int_equal(bloomery_write(filter, swallow, &bytes, &error), BLOOMERY_FULL);
    assert_non_null(strstr(error.text, "4000 keys could not be added"));
    assert_int_equal(bloomery_write(filter, swallow, &bytes, &error), BLOOMERY_OK);
    bloomery_free(filter);
    test_keys_free(&keys);
}

/* ---- How many threads a call may have -------------------------------------------------------- */

static size_t no_keys(void *context, uint32_t shard, const bloomery_key **keys)
{
    (void)shard;
    (void)keys;
    *(bool *)context = true;
    return 0;
}

static void threads_over_the_limit_are_refused(void **state)
{
    static const uint32_t counts[] = {0,
                                      1,
                                      2,
                                      BLOOMERY_THREADS_MAX,
                                      BLOOMERY_THREADS_ALL,
                                      BLOOMERY_THREADS_MAX + 1,
                                      1000,
                                      BLOOMERY_THREADS_ALL - 1};
    struct test_keys keys = test_keys_make(TEST_IDS, 1, 0, 3000);
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const bool good = i < 5;
        const bloomery_status wanted = good ? BLOOMERY_OK : BLOOMERY_BAD_ARGUMENT;
        bloomery_filter *filter = bloomery_new(3000, 0.01, NULL);
        const bloomery_plan plan = {.rate = 0.01};
        bloomery_builder_options options = {.threads = counts[i]};
        bloomery_builder *builder = NULL;
        bloomery_error error = {.text = ""};
        bool called = false;
        assert_int_equal(add_list_threads(filter, keys.keys, keys.count, counts[i], &error),
                         wanted);
        assert_int_equal(info_of(filter).adds, good ? keys.count : 0);
        assert_true(good || strstr(error.text, "BLOOMERY_THREADS_ALL") != NULL);
        assert_true(good || strstr(error.text, "256") != NULL);
        error.text[0] = '\0';
        assert_int_equal(bloomery_add_from(filter, no_keys, &called, counts[i], &error), wanted);
        assert_int_equal(called, good);
        assert_true(good || strstr(error.text, "BLOOMERY_THREADS_ALL") != NULL);
        error.text[0] = '\0';
        assert_int_equal(bloomery_builder_open(&plan, NULL, &options, &builder, &error), wanted);
        assert_true(good || strstr(error.text, "256") != NULL);
        bloomery_builder_free(builder);
        bloomery_free(filter);
    }
    test_keys_free(&keys);
}

/* Which answers belong to which key is not known then. */
static void several_threads_give_no_answers(void **state)
{
    struct test_keys keys = test_keys_make(TEST_IDS, 1, 0, 3000);
    bloomery_filter *filter = bloomery_new(3000, 0.01, NULL);
    uint64_t answers[3000 / 64 + 1];
    bloomery_counts counts = {7, 7, 7};
    bloomery_error error = {.text = ""};
    bloomery_keys list = bloomery_keys_of_list(keys.keys, keys.count);
    (void)state;
    list.threads = 2;
    assert_int_equal(bloomery_add_keys(filter, &list, answers, &counts, &error),
                     BLOOMERY_BAD_ARGUMENT);
    assert_true(error.text[0] != '\0' && counts.done == 0 && test_cells(filter) == 0);
    assert_int_equal(bloomery_add_keys(filter, &list, NULL, &counts, &error), BLOOMERY_OK);
    assert_true(counts.done == 3000 && counts.positive == 0 && counts.cells == 0);
    list.threads = 1;
    assert_int_equal(bloomery_add_keys(filter, &list, answers, &counts, &error), BLOOMERY_OK);
    assert_true(counts.done == 3000 && counts.positive == 0 && counts.cells == 0);
    bloomery_free(filter);
    test_keys_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_true_on_failure),
        cmocka_unit_test(a_hash_that_a_filter_cannot_use_is_refused),
        cmocka_unit_test(a_key_that_was_seen_is_not_a_failure),
        cmocka_unit_test(a_failed_add_without_error_stops_the_next_save),
        cmocka_unit_test(a_failure_that_was_received_stops_nothing),
        cmocka_unit_test(a_copy_lacks_what_its_original_lacks),
        cmocka_unit_test(failures_of_several_threads_are_all_counted),
        cmocka_unit_test(threads_over_the_limit_are_refused),
        cmocka_unit_test(several_threads_give_no_answers),
    };
    return test_run_group("refused_adds", tests, NULL, NULL);
}
