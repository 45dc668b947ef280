/* SPDX-License-Identifier: Apache-2.0 */
/* The library built with -Dsystem=none: what it cannot do it says, and the rest is as ever. */
#include "../support/many.h"
#include "../support/support.h"

#include <bloomery/builder.h>

#include <stdlib.h>
#include <string.h>

static bloomery_filter *filter_of(uint64_t keys)
{
    bloomery_error error;
    bloomery_filter *filter = bloomery_new(keys, 0.01, &error);
    assert_non_null(filter);
    return filter;
}

static void says_what_to_call_instead(bloomery_status status, const bloomery_error *error)
{
    assert_int_equal(status, BLOOMERY_UNSUPPORTED);
    assert_non_null(strstr(error->text, "bloomery_load and bloomery_view"));
}

static void files_are_refused_with_what_to_call_instead(void **state)
{
    bloomery_filter *filter = filter_of(1000);
    bloomery_filter *none = NULL;
    const bloomery_filter *unmapped = NULL;
    const bloomery_open_options standard_input = BLOOMERY_OPEN_OPTIONS;
    bloomery_error error;
    (void)state;
    says_what_to_call_instead(bloomery_save(filter, "/tmp/never", &error), &error);
    says_what_to_call_instead(bloomery_open("/tmp/never", NULL, &none, &error), &error);
    says_what_to_call_instead(bloomery_open(NULL, &standard_input, &none, &error), &error);
    says_what_to_call_instead(bloomery_map("/tmp/never", NULL, &unmapped, &error), &error);
    assert_null(none);
    assert_null(unmapped);
    bloomery_free(filter);
}

struct bytes {
    uint8_t *data;
    size_t count;
};

static int append(void *context, const void *data, size_t bytes)
{
    struct bytes *all = context;
    all->data = realloc(all->data, all->count + bytes);
    assert_non_null(all->data);
    memcpy(all->data + all->count, data, bytes);
    all->count += bytes;
    return 0;
}

static void what_is_written_loads_again(void **state)
{
    bloomery_filter *filter = filter_of(1000);
    bloomery_filter *again = NULL;
    struct bytes bytes = {NULL, 0};
    bloomery_error error;
    (void)state;
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(add_status(filter, bloomery_key_of(&i, 8)), BLOOMERY_OK);
    assert_int_equal(bloomery_write(filter, append, &bytes, &error), BLOOMERY_OK);
    assert_int_equal(bloomery_load(bytes.data, bytes.count, NULL, &again, &error), BLOOMERY_OK);
    assert_int_equal(bloomery_verify(again, &error), BLOOMERY_OK);
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(bloomery_may_contain(again, bloomery_key_of(&i, 8)));
    bloomery_free(filter);
    bloomery_free(again);
    free(bytes.data);
}

static void one_thread_does_what_many_would(void **state)
{
    enum { KEYS = 100000 };
    static uint64_t numbers[KEYS];
    static bloomery_key keys[KEYS];
    bloomery_filter *alone = filter_of(KEYS);
    bloomery_filter *together = filter_of(KEYS);
    bloomery_comparison comparison = BLOOMERY_COMPARISON;
    bloomery_error error;
    (void)state;
    for (size_t i = 0; i < KEYS; i++) {
        numbers[i] = i;
        keys[i] = bloomery_key_of(&numbers[i], 8);
    }
    assert_int_equal(bloomery_threads(), 1);
    assert_int_equal(add_list(alone, keys, KEYS, NULL), BLOOMERY_OK);
    assert_int_equal(add_list_threads(together, keys, KEYS, 8, &error), BLOOMERY_OK);
    assert_int_equal(bloomery_compare(alone, together, &comparison, &error), BLOOMERY_OK);
    assert_true(comparison.equal);
    bloomery_free(alone);
    bloomery_free(together);
}

static void static_filters_are_built_in_memory(void **state)
{
    enum { KEYS = 50000 };
    bloomery_plan plan = {.kind = BLOOMERY_STATIC, .keys = KEYS, .rate = 0.001};
    bloomery_builder_options options = BLOOMERY_BUILDER_OPTIONS;
    bloomery_builder *builder = NULL;
    const bloomery_filter *filter = NULL;
    bloomery_error error;
    (void)state;
    assert_int_equal(bloomery_builder_open(&plan, NULL, NULL, &builder, &error), BLOOMERY_OK);
    for (uint64_t i = 0; i < KEYS; i++) {
        const bloomery_key key = bloomery_key_of(&i, 8);
        const bloomery_keys keys = bloomery_keys_of_list(&key, 1);
        assert_int_equal(bloomery_builder_add(builder, &keys, &error), BLOOMERY_OK);
    }
    assert_int_equal(bloomery_builder_finish(builder, &filter, &error), BLOOMERY_OK);
    for (uint64_t i = 0; i < KEYS; i++)
        assert_true(bloomery_may_contain(filter, bloomery_key_of(&i, 8)));
    bloomery_free(filter);
    bloomery_builder_free(builder);
    options.directory = "/tmp"; /* where hashes could wait, were there files */
    options.memory = (uint64_t)16 << 20;
    says_what_to_call_instead(bloomery_builder_open(&plan, NULL, &options, &builder, &error),
                              &error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_refused_with_what_to_call_instead),
        cmocka_unit_test(what_is_written_loads_again),
        cmocka_unit_test(one_thread_does_what_many_would),
        cmocka_unit_test(static_filters_are_built_in_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
