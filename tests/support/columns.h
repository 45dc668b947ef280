/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns from a seed, and their keys by descriptor. Data, offsets and bitmap end where a page
 * begins that must not be read.
 */
#ifndef TESTS_COLUMNS_H
#define TESTS_COLUMNS_H

#include "support.h"

enum {
    TEST_COLUMN_MAX = 1000,
    TEST_COLUMN_FIRST_MAX = 13,
    TEST_COLUMN_WORDS = (TEST_COLUMN_MAX + 63) / 64,
    TEST_COLUMN_KEY_MAX = 300 /* bytes */
};

enum test_nulls {
    TEST_NULLS_NO_BITMAP,
    TEST_NULLS_NO_BITMAP_UNKNOWN,
    TEST_NULLS_SOME,
    TEST_NULLS_SOME_COUNTED,
    TEST_NULLS_ALL,
    TEST_NULLS_NONE,   /* in a bitmap */
    TEST_NULLS_UNSAID, /* a bitmap with some, and `nulls` is 0 */
    TEST_NULLS_KINDS
};

struct test_column_spec {
    bloomery_keys_form form;
    size_t width;
    size_t gap;
    size_t count;
    size_t first;
    enum test_nulls nulls;
    bool shifted; /* offsets and hashes at odd addresses */
};

/* Keys `first` on are those of the column, and described in `keys`. */
struct test_column {
    bloomery_keys column;
    bloomery_key all[TEST_COLUMN_FIRST_MAX + TEST_COLUMN_MAX];
    const bloomery_key *keys;
    uint64_t valid[TEST_COLUMN_WORDS + 1];
    uint8_t *plain; /* what `all` points to */
    struct test_fence data;
    struct test_fence offsets;
    struct test_fence bitmap;
};

/* The column of a spec; of hashes, as the filter makes them of the keys. Those of another seed
 * share some keys with it, and some come again in it. */
struct test_column *test_column_make(const struct test_column_spec *spec,
                                     const bloomery_filter *filter, uint64_t seed);
void test_column_free(struct test_column *sample);

/* Whether key `i` is one, or a null. */
bool test_column_has(const struct test_column *sample, size_t i);

#endif
