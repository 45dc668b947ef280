/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy is the filter again, whatever it is made of: the same bytes, the same future, and nothing
 * shared; a damaged map or view has none.
 *
 * Build: this file, ../support/support.c, specimens.c; cmocka, the library. No arguments. Suite:
 * property.
 */
#include "../support/specimens.h"

#include <string.h>

enum { KEYS = 5000 };

static bloomery_filter *copy_of(const bloomery_filter *filter, const bloomery_open_options *options)
{
    bloomery_filter *copy = NULL;
    bloomery_error error = {.text = ""};
    if (bloomery_copy(filter, options, &copy, &error) != BLOOMERY_OK)
        fail_msg("no copy: %s", error.text);
    return copy;
}

static void a_copy_has_the_same_bytes_and_future(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    struct test_keys more = test_keys_make(TEST_RANDOM, 1, KEYS, 2 * KEYS);
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    (void)state;
    for (size_t i = 0; i < 2 * TEST_SPECIMENS; i++) {
        const char *name = test_specimen_name(i / 2);
        bloomery_filter *filter = test_specimen(i / 2, NULL, &keys);
        options.concurrent_adds = i % 2 == 1;
        bloomery_filter *copy = copy_of(filter, &options);
        test_assert_same_for(name, filter, copy);
        test_add_all(copy, &more);
        bloomery_filter *before = test_specimen(i / 2, NULL, &keys);
        test_assert_same_for(name, filter, before); /* it has nothing of what the copy got since */
        bloomery_free(before);
        test_add_all(filter, &more);
        test_assert_same_for(name, filter, copy);
        assert_int_equal(bloomery_clear(filter, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_clear(copy, NULL), BLOOMERY_OK);
        test_assert_same_for(name, filter, copy);
        bloomery_free(filter);
        test_add_all(copy, &more);
        assert_int_equal(query_list(copy, more.keys, more.count, NULL), more.count);
        bloomery_free(copy);
    }
    test_keys_free(&keys);
    test_keys_free(&more);
}

static void a_copy_of_a_view_can_be_added_to_and_outlives_it(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    (void)state;
    for (size_t i = 0; i < TEST_SPECIMENS; i++) {
        bloomery_filter *filter = test_specimen(i, NULL, &keys);
        struct test_bytes file = test_written(filter);
        const bloomery_filter *view = NULL;
        assert_int_equal(bloomery_view(file.data, file.bytes, NULL, &view, NULL), BLOOMERY_OK);
        bloomery_filter *copy = copy_of(view, NULL);
        bloomery_free(view);
        test_bytes_free(&file);
        test_assert_same_for(test_specimen_name(i), filter, copy);
        test_add_all(copy, &keys);
        test_add_all(filter, &keys);
        test_assert_same_for(test_specimen_name(i), filter, copy);
        bloomery_free(copy);
        bloomery_free(filter);
    }
    test_keys_free(&keys);
}

static void damage_is_not_copied(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    bloomery_filter *filter = test_specimen(1, NULL, &keys);
    struct test_bytes file = test_written(filter);
    const bloomery_filter *view = NULL;
    bloomery_filter *copy = filter;
    bloomery_error error = {.text = ""};
    (void)state;
    assert_int_equal(bloomery_view(file.data, file.bytes, NULL, &view, NULL), BLOOMERY_OK);
    file.data[file.bytes / 2] ^= 1;
    assert_int_equal(bloomery_copy(view, NULL, &copy, &error), BLOOMERY_CORRUPT);
    assert_int_equal(error.status, BLOOMERY_CORRUPT);
    assert_null(copy);
    bloomery_free(view);
    bloomery_free(filter);
    test_bytes_free(&file);
    test_keys_free(&keys);
}

static void a_copy_learns_the_secret_that_fits(void **state)
{
    static const uint8_t secret[BLOOMERY_SECRET_BYTES] = "0123456789abcdef";
    static const uint8_t other[BLOOMERY_SECRET_BYTES] = "0123456789abcdeF";
    const bloomery_plan plan = test_plan(&test_shapes[1], 1000, 0.01);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    bloomery_filter *inspected = NULL, *copy = NULL;
    const bloomery_key key = bloomery_key_of("key", 3);
    (void)state;
    if (!test_keyed())
        skip();
    options.secret = secret;
    options.secret_outside = true;
    bloomery_filter *filter = test_create(&plan, &options);
    struct test_bytes file = test_written(filter);
    opening.inspect = true;
    assert_int_equal(bloomery_load(file.data, file.bytes, &opening, &inspected, NULL), BLOOMERY_OK);
    copy = copy_of(inspected, NULL);
    assert_int_equal(add_status(copy, key), BLOOMERY_SECRET_NEEDED);
    bloomery_free(copy);
    opening.secret = other;
    assert_int_equal(bloomery_copy(inspected, &opening, &copy, NULL), BLOOMERY_SECRET_NEEDED);
    assert_null(copy);
    opening.secret = secret;
    copy = copy_of(inspected, &opening);
    assert_true(bloomery_add(copy, key, NULL));
    assert_true(bloomery_add(filter, key, NULL));
    test_assert_same_for("keyed", filter, copy);
    bloomery_free(copy);
    bloomery_free(inspected);
    bloomery_free(filter);
    test_bytes_free(&file);
}

static void every_allocation_of_a_copy_fails_once(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    (void)state;
    for (size_t i = 0; i < 2 * TEST_SPECIMENS; i++) {
        bloomery_filter *filter = test_specimen(i / 2, NULL, &keys);
        bloomery_filter *copy = NULL;
        struct test_memory memory;
        int status = BLOOMERY_OUT_OF_MEMORY;
        options.concurrent_adds = i % 2 == 1;
        for (uint64_t fails = 1; status != BLOOMERY_OK; fails++) {
            memory = (struct test_memory){.refuse_at = fails};
            options.allocator = test_allocator(&memory);
            status = bloomery_copy(filter, &options, &copy, NULL);
            if (status == BLOOMERY_OK)
                break;
            assert_int_equal(status, BLOOMERY_OUT_OF_MEMORY);
            assert_null(copy);
            assert_int_equal(memory.live, 0);
            assert_true(fails < 10);
        }
        assert_int_equal(info_of(copy).memory_bytes, memory.bytes);
        bloomery_free(copy);
        assert_true(memory.live == 0 && !memory.wrong);
        bloomery_free(filter);
    }
    test_keys_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_has_the_same_bytes_and_future),
        cmocka_unit_test(a_copy_of_a_view_can_be_added_to_and_outlives_it),
        cmocka_unit_test(damage_is_not_copied),
        cmocka_unit_test(a_copy_learns_the_secret_that_fits),
        cmocka_unit_test(every_allocation_of_a_copy_fails_once),
    };
    return test_run_group("copies", tests, NULL, NULL);
}
