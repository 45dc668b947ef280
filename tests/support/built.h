/* SPDX-License-Identifier: Apache-2.0 */
/* Static filters for tests: hashes and keys in, a filter out; whatever fails is the test's failure.
 */
#ifndef TESTS_BUILT_H
#define TESTS_BUILT_H

#include "support.h"

#include <bloomery/builder.h>

#include <stdlib.h>

/* A builder at this rate; the options may be NULL. */
static inline bloomery_builder *test_builder(double rate, const bloomery_create_options *options,
                                             const bloomery_builder_options *builder_options)
{
    bloomery_plan plan = BLOOMERY_PLAN;
    bloomery_builder *builder = NULL;
    bloomery_error error;
    plan.kind = BLOOMERY_STATIC;
    plan.rate = rate;
    if (bloomery_builder_open(&plan, options, builder_options, &builder, &error) != BLOOMERY_OK)
        fail_msg("no builder at %g: %s", rate, error.text);
    return builder;
}

/* Adds a list of keys, or hashes. */
static inline bloomery_status build_list(bloomery_builder *builder, const bloomery_key *list,
                                         size_t count, bloomery_error *error)
{
    const bloomery_keys keys = bloomery_keys_of_list(list, count);
    return bloomery_builder_add(builder, &keys, error);
}

static inline bloomery_status build_hashes(bloomery_builder *builder, const bloomery_hash *hashes,
                                           size_t count, bloomery_error *error)
{
    const bloomery_keys keys = bloomery_keys_of_hashes(hashes, count);
    return bloomery_builder_add(builder, &keys, error);
}

/* Its filter; the builder is freed. */
static inline const bloomery_filter *test_finish(bloomery_builder *builder)
{
    const bloomery_filter *filter = NULL;
    bloomery_error error;
    if (bloomery_builder_finish(builder, &filter, &error) != BLOOMERY_OK)
        fail_msg("not built: %s", error.text);
    bloomery_builder_free(builder);
    return filter;
}

static inline const bloomery_filter *test_static_of(double rate, const struct test_keys *keys)
{
    bloomery_builder *builder = test_builder(rate, NULL, NULL);
    assert_int_equal(build_list(builder, keys->keys, keys->count, NULL), BLOOMERY_OK);
    return test_finish(builder);
}

/* Integers first to first + count - 1, of 8 bytes, as a column. */
struct test_integers {
    uint64_t *values;
    bloomery_keys column;
};

static inline struct test_integers test_integers_make(uint64_t first, size_t count)
{
    struct test_integers integers = {.values = malloc(count * sizeof(uint64_t) + 1)};
    assert_non_null(integers.values);
    for (size_t i = 0; i < count; i++)
        integers.values[i] = first + i;
    integers.column.struct_bytes = sizeof integers.column;
    integers.column.form = BLOOMERY_KEYS_FIXED;
    integers.column.data = integers.values;
    integers.column.bytes = count * sizeof(uint64_t);
    integers.column.width = sizeof(uint64_t);
    integers.column.count = count;
    return integers;
}

static inline const bloomery_filter *test_static_of_integers(double rate, uint64_t first,
                                                             size_t count)
{
    struct test_integers integers = test_integers_make(first, count);
    bloomery_builder *builder = test_builder(rate, NULL, NULL);
    bloomery_error error;
    if (bloomery_builder_add(builder, &integers.column, &error) != BLOOMERY_OK)
        fail_msg("not added: %s", error.text);
    free(integers.values);
    return test_finish(builder);
}

static inline size_t test_found(const bloomery_filter *filter, uint64_t first, size_t count)
{
    struct test_integers integers = test_integers_make(first, count);
    size_t found = 0;
    assert_int_equal(query_keys(filter, &integers.column, NULL, &found, NULL), BLOOMERY_OK);
    free(integers.values);
    return found;
}

#endif
