/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that are wrong, and filters that do not take them: refused with a sentence and the number
 * of the key, before anything is added. And the ends of what is right: no keys at all, and chains
 * that get full.
 *
 * Build: this file, ../support/support.c, ../support/columns.c; cmocka, the library. No arguments.
 * Suite: property.
 */
#include "../support/built.h"
#include "../support/columns.h"
#include "../support/support.h"

#include <bloomery/dialect.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Calls ----------------------------------------------------------------------------------- */

enum call { CALL_QUERY, CALL_ADD, CALL_HASH, CALL_BUILD, CALL_BUILD_TEAM, CALL_REMOVE, CALLS };

/* What the last call left in them. */
static uint64_t answers[TEST_COLUMN_WORDS];
static bloomery_counts counts;

static bloomery_status call(enum call which, bloomery_filter *filter, const bloomery_keys *column,
                            bloomery_error *error)
{
    static bloomery_hash hashes[TEST_COLUMN_MAX];
    switch (which) {
    case CALL_QUERY:
        return bloomery_may_contain_keys(filter, column, answers, &counts, error);
    case CALL_ADD:
        return bloomery_add_keys(filter, column, answers, &counts, error);
    case CALL_HASH:
        return bloomery_hash_keys(filter, column, hashes, error);
    case CALL_BUILD:
        return add_keys_threads(filter, column, 1, error);
    case CALL_BUILD_TEAM:
        return add_keys_threads(filter, column, 3, error);
    case CALL_REMOVE:
        return bloomery_remove_keys(filter, column, answers, &counts, error);
    case CALLS:
        break;
    }
    return BLOOMERY_OK;
}

/* Where it makes no difference which key the error names. */
#define ANY_KEY UINT64_MAX

enum { KEYS_MAX = TEST_COLUMN_MAX };

/* The call fails with this status, says why, answers and counts nothing, and leaves the filter as
 * it is. */
static void expect_refused(const char *what, enum call which, bloomery_filter *filter,
                           const bloomery_keys *column, bloomery_status status, uint64_t offset)
{
    bloomery_error error = {.status = BLOOMERY_OK, .offset = 12345};
    struct test_bytes before = test_written(filter);
    memset(answers, 0xff, sizeof answers);
    counts = (bloomery_counts){7, 7, 7};
    const bloomery_status found = call(which, filter, column, &error);
    if (found != status)
        fail_msg("%s, call %d: %s, not %s", what, (int)which, bloomery_status_name(found),
                 bloomery_status_name(status));
    if (error.status != status || (offset != ANY_KEY && error.offset != offset))
        fail_msg("%s, call %d: error of %s at %llu, not %llu: %s", what, (int)which,
                 bloomery_status_name((int)error.status), (unsigned long long)error.offset,
                 (unsigned long long)offset, error.text);
    assert_true(error.text[0] != '\0' && memchr(error.text, '\0', sizeof error.text) != NULL);
    if (which == CALL_QUERY || which == CALL_ADD || which == CALL_REMOVE) {
        assert_true(counts.done == 0 && counts.positive == 0 && counts.cells == 0);
        /* A count that cannot be right has no answers. */
        const bool counted = column->struct_bytes <= sizeof *column && column->count <= KEYS_MAX;
        for (size_t i = 0; counted && i < (column->count + 63) / 64; i++)
            assert_int_equal(answers[i], 0);
    }
    assert_int_equal(call(which, filter, column, NULL), status);
    struct test_bytes after = test_written(filter);
    assert_true(test_bytes_equal(&before, &after));
    test_bytes_free(&before);
    test_bytes_free(&after);
}

/* ---- Wrong columns --------------------------------------------------------------------------- */

enum { KEYS = 100 };

static uint64_t numbers[KEYS];
static int32_t narrow[KEYS + 1];
static int64_t wide[KEYS + 1];
static const uint8_t bitmap[KEYS / 8 + 1] = {0xff, 0x0f, 0x33};

/* Every key of all of these is well. */
static bloomery_keys fixed(void)
{
    bloomery_keys column = BLOOMERY_KEYS;
    column.form = BLOOMERY_KEYS_FIXED;
    column.count = KEYS;
    column.data = numbers;
    column.bytes = sizeof numbers;
    column.width = sizeof numbers[0];
    return column;
}

static bloomery_keys list(void)
{
    static bloomery_key described[KEYS];
    for (size_t i = 0; i < KEYS; i++)
        described[i] = bloomery_key_of(&numbers[i], sizeof numbers[i]);
    return bloomery_keys_of_list(described, KEYS);
}

static bloomery_keys offsets32(void)
{
    bloomery_keys column = fixed();
    for (int32_t i = 0; i <= KEYS; i++)
        narrow[i] = i * 8;
    column.form = BLOOMERY_KEYS_OFFSETS32;
    column.offsets = narrow;
    column.width = 0;
    return column;
}

static bloomery_keys offsets64(void)
{
    bloomery_keys column = offsets32();
    for (int64_t i = 0; i <= KEYS; i++)
        wide[i] = i * 8;
    column.form = BLOOMERY_KEYS_OFFSETS64;
    column.offsets = wide;
    return column;
}

static bloomery_keys hashes_of(bloomery_keys_form form)
{
    bloomery_keys column = fixed();
    column.form = form;
    column.width = 0;
    column.count = form == BLOOMERY_KEYS_HASHES64 ? KEYS : KEYS / 2;
    return column;
}

/* The column in each of its forms, spoilt in one way. `what` applies to the forms in `forms`. */
enum fault {
    FAULT_SIZE_LARGER,
    FAULT_NULLS_NEGATIVE,
    FAULT_NULLS_TOO_MANY,
    FAULT_NULLS_UNSAID,
    FAULT_COUNT_HUGE,
    FAULT_FIRST_HUGE,
    FAULT_BOTH_HUGE,
    FAULT_NO_DATA,
    FAULT_NO_OFFSETS,
    FAULT_WIDTH_ZERO,
    FAULT_OVERLAP,
    FAULT_STRIDE_HUGE,
    FAULT_CUT,      /* the last key lies behind the data, by a byte */
    FAULT_CUT_HALF, /* from key 50 on */
    FAULT_NOTHING,  /* not a byte of data */
    FAULT_FALLING,  /* offsets */
    FAULT_NEGATIVE,
    FAULT_NEGATIVE_INSIDE,
    FAULT_BEYOND,
    FAULT_EXTREME,
    FAULTS
};

static void set_offset(const bloomery_keys *column, size_t i, int64_t value)
{
    if (column->form == BLOOMERY_KEYS_OFFSETS32)
        narrow[i] = (int32_t)value;
    else
        wide[i] = value;
}

static void spoil_general(bloomery_keys *column, enum fault fault)
{
    if (fault == FAULT_SIZE_LARGER)
        column->struct_bytes = 8192; /* no struct will be so large */
    if (fault == FAULT_NULLS_NEGATIVE || fault == FAULT_NULLS_TOO_MANY)
        column->valid = bitmap;
    if (fault == FAULT_NULLS_NEGATIVE)
        column->nulls = -2;
    if (fault == FAULT_NULLS_TOO_MANY)
        column->nulls = (int64_t)column->count + 1;
    if (fault == FAULT_NULLS_UNSAID)
        column->nulls = 1;
    if (fault == FAULT_COUNT_HUGE)
        column->count = SIZE_MAX;
    if (fault == FAULT_FIRST_HUGE)
        column->first = SIZE_MAX - 3;
    if (fault == FAULT_BOTH_HUGE)
        column->first = column->count = SIZE_MAX / 2 + 1; /* whose sum is 0 */
    if (fault == FAULT_NO_DATA)
        column->data = NULL;
}

/* false where the fault is none in this form; `*offset` the first key that is wrong. */
static bool spoil(bloomery_keys *column, enum fault fault, uint64_t *offset)
{
    const bool by_offsets = column->offsets != NULL;
    const size_t size = sizeof numbers[0];
    *offset = 0;
    spoil_general(column, fault);
    if (fault <= FAULT_NO_DATA)
        return true;
    if (fault >= FAULT_FALLING || fault == FAULT_NO_OFFSETS) {
        if (!by_offsets)
            return false;
        if (fault == FAULT_NO_OFFSETS)
            column->offsets = NULL;
        if (fault == FAULT_FALLING)
            set_offset(column, 41, 40 * 8 - 1), *offset = 40;
        if (fault == FAULT_NEGATIVE)
            set_offset(column, 0, -1);
        if (fault == FAULT_NEGATIVE_INSIDE)
            set_offset(column, 7, -1), *offset = 6;
        if (fault == FAULT_BEYOND)
            set_offset(column, KEYS, KEYS * 8 + 1), *offset = KEYS - 1;
        if (fault == FAULT_EXTREME)
            set_offset(column, 3, column->form == BLOOMERY_KEYS_OFFSETS32 ? INT32_MAX : INT64_MAX),
                *offset = 2;
        return true;
    }
    if (fault == FAULT_CUT || fault == FAULT_CUT_HALF || fault == FAULT_NOTHING) {
        if (!by_offsets) /* their bytes follow from their number */
            return false;
        *offset = fault == FAULT_CUT ? column->count - 1 : fault == FAULT_CUT_HALF ? 30 : 0;
        column->bytes =
            fault == FAULT_CUT ? column->bytes - 1 : *offset * size + (fault == FAULT_CUT_HALF);
        return true;
    }
    if (by_offsets)
        return false;
    if (column->form != BLOOMERY_KEYS_FIXED)
        return false;
    if (fault == FAULT_WIDTH_ZERO)
        column->width = 0;
    if (fault == FAULT_OVERLAP)
        column->stride = column->width - 1;
    if (fault == FAULT_STRIDE_HUGE) {
        column->stride = SIZE_MAX / 64 + 1;
        *offset = ANY_KEY;
    }
    return true;
}

static bloomery_keys whole(int form)
{
    return form == BLOOMERY_KEYS_LIST        ? list()
           : form == BLOOMERY_KEYS_FIXED     ? fixed()
           : form == BLOOMERY_KEYS_OFFSETS32 ? offsets32()
           : form == BLOOMERY_KEYS_OFFSETS64 ? offsets64()
                                             : hashes_of((bloomery_keys_form)form);
}

static void wrong_columns_are_refused_before_anything_is_added(void **state)
{
    static const struct test_shape scalable = {"scalable", BLOOMERY_SCALABLE, 0, 1};
    (void)state;
    for (size_t s = 0; s <= TEST_SHAPES; s++) {
        const bloomery_plan plan =
            test_plan(s < TEST_SHAPES ? &test_shapes[s] : &scalable, 200, 0.01);
        bloomery_filter *filter = test_create(&plan, NULL);
        assert_true(add_status(filter, bloomery_key_of("k", 1)) == BLOOMERY_OK);
        for (int form = BLOOMERY_KEYS_LIST; form <= BLOOMERY_KEYS_HASHES128; form++)
            for (int fault = 0; fault < FAULTS; fault++)
                for (int which = 0; which < CALLS; which++) {
                    bloomery_keys column = whole(form);
                    uint64_t offset;
                    char what[60];
                    if (!spoil(&column, (enum fault)fault, &offset))
                        continue;
                    snprintf(what, sizeof what, "%s, form %d, fault %d",
                             plan.blocks_per_key ? "blocks" : "", form, fault);
                    expect_refused(what, (enum call)which, filter, &column, BLOOMERY_BAD_ARGUMENT,
                                   offset);
                }
        bloomery_free(filter);
    }
}

static void unknown_forms_are_refused(void **state)
{
    static const int unknown[] = {-1, 0, BLOOMERY_KEYS_HASHES128 + 1, INT_MAX, INT_MIN};
    const bloomery_plan plan = test_plan(&test_shapes[4], 200, 0.01);
    bloomery_filter *filter = test_create(&plan, NULL);
    (void)state;
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        for (int which = 0; which < CALLS; which++) {
            bloomery_keys column = fixed();
            column.form = (bloomery_keys_form)unknown[i];
            expect_refused("form", (enum call)which, filter, &column, BLOOMERY_BAD_ARGUMENT, 0);
        }
    bloomery_free(filter);
}

/* ---- Filters that do not take them ----------------------------------------------------------- */

static void hashes_of_64_bits_are_for_filters_that_make_such(void **state)
{
    static const uint8_t secret[BLOOMERY_SECRET_BYTES] = "sixteen letters";
    const bloomery_keys column = hashes_of(BLOOMERY_KEYS_HASHES64);
    bloomery_plan plan = test_plan(&test_shapes[1], 200, 0.01);
    (void)state;
    for (int keyed = 0; keyed <= test_keyed(); keyed++) {
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        plan.hash = keyed ? BLOOMERY_HASH_SIPHASH : BLOOMERY_HASH_XXH3_128;
        options.secret = keyed ? secret : NULL;
        bloomery_filter *filter = test_create(&plan, &options);
        for (int which = 0; which < CALLS; which++)
            expect_refused("another hash", (enum call)which, filter, &column, BLOOMERY_MISMATCH, 0);
        bloomery_free(filter);
    }
}

static void only_counters_can_be_removed(void **state)
{
    (void)state;
    for (size_t s = 0; s < 4; s++)
        for (int form = BLOOMERY_KEYS_LIST; form <= BLOOMERY_KEYS_HASHES128; form++) {
            const bloomery_plan plan = test_plan(&test_shapes[s], 200, 0.01);
            bloomery_filter *filter = test_create(&plan, NULL);
            const bloomery_keys column = whole(form);
            expect_refused("remove", CALL_REMOVE, filter, &column, BLOOMERY_UNSUPPORTED, 0);
            bloomery_free(filter);
        }
}

/* Nothing can be added to a view, which is const, and everything can be looked up. */
static void views_can_be_queried(void **state)
{
    static bloomery_hash hashes[KEYS];
    (void)state;
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        const bloomery_plan plan = test_plan(&test_shapes[s], 200, 0.01);
        bloomery_filter *filter = test_create(&plan, NULL);
        const bloomery_keys column = offsets32();
        size_t found = 0;
        assert_int_equal(bloomery_add_keys(filter, &column, NULL, NULL, NULL), BLOOMERY_OK);
        struct test_bytes bytes = test_written(filter);
        const bloomery_filter *view = NULL;
        assert_int_equal(bloomery_view(bytes.data, bytes.bytes, NULL, &view, NULL), BLOOMERY_OK);
        assert_int_equal(query_keys(view, &column, NULL, &found, NULL), BLOOMERY_OK);
        assert_int_equal(found, KEYS);
        assert_int_equal(bloomery_hash_keys(view, &column, hashes, NULL), BLOOMERY_OK);
        bloomery_free(view);
        bloomery_free(filter);
        test_bytes_free(&bytes);
    }
}

/* What is built at once takes no keys later, not even a copy of its own that could be changed. */
static void static_filters_take_no_keys(void **state)
{
    const struct test_keys some = test_keys_make(TEST_URLS, 1, 0, 200);
    const bloomery_filter *built = test_static_of(0.01, &some);
    bloomery_filter *filter = NULL;
    (void)state;
    assert_int_equal(bloomery_copy(built, NULL, &filter, NULL), BLOOMERY_OK);
    for (int form = BLOOMERY_KEYS_LIST; form <= BLOOMERY_KEYS_HASHES128; form++) {
        const bloomery_keys column = whole(form);
        if (form == BLOOMERY_KEYS_HASHES64) /* which it does not know */
            continue;
        expect_refused("add", CALL_ADD, filter, &column, BLOOMERY_READ_ONLY, 0);
        expect_refused("build", CALL_BUILD, filter, &column, BLOOMERY_READ_ONLY, 0);
        expect_refused("build", CALL_BUILD_TEAM, filter, &column, BLOOMERY_READ_ONLY, 0);
        expect_refused("remove", CALL_REMOVE, filter, &column, BLOOMERY_UNSUPPORTED, 0);
    }
    bloomery_free(filter);
    bloomery_free(built);
    struct test_keys used = some;
    test_keys_free(&used);
}

/* "Possibly" for every key in every form, and "definitely not" for a row without a key. */
static void expect_maybe(const bloomery_filter *filter, bloomery_keys column, bool nulls)
{
    uint64_t found_words[2] = {0, 0};
    size_t found = 0;
    size_t sum = 0;
    bloomery_error error = {.status = BLOOMERY_OK};
    column.valid = nulls ? bitmap : NULL;
    column.nulls = nulls ? -1 : 0;
    assert_int_equal(query_keys(filter, &column, found_words, &found, &error),
                     BLOOMERY_SECRET_NEEDED);
    assert_int_equal(error.status, BLOOMERY_SECRET_NEEDED);
    assert_true(error.text[0] != '\0');
    for (size_t i = 0; i < 128; i++) {
        const bool maybe = i < column.count && (!nulls || (bitmap[i / 8] >> i % 8 & 1) != 0);
        assert_int_equal(found_words[i / 64] >> i % 64 & 1, maybe);
        sum += maybe;
    }
    assert_int_equal(found, sum);
    found = 0;
    assert_int_equal(query_keys(filter, &column, NULL, &found, NULL), BLOOMERY_SECRET_NEEDED);
    assert_int_equal(found, sum);
}

static void keyed_filters_without_their_key_say_maybe(void **state)
{
    static const uint8_t secret[BLOOMERY_SECRET_BYTES] = {1};
    (void)state;
    if (!test_keyed())
        skip();
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_open_options inspect = BLOOMERY_OPEN_OPTIONS;
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        options.secret = secret;
        options.secret_outside = true;
        const bloomery_plan plan = test_plan(&test_shapes[s], 100, 0.01);
        bloomery_filter *filter = test_create(&plan, &options);
        struct test_bytes bytes = test_written(filter);
        bloomery_free(filter);
        inspect.inspect = true;
        assert_int_equal(bloomery_load(bytes.data, bytes.bytes, &inspect, &filter, NULL),
                         BLOOMERY_OK);
        for (int form = BLOOMERY_KEYS_LIST; form <= BLOOMERY_KEYS_HASHES128; form++) {
            if (form == BLOOMERY_KEYS_HASHES64)
                continue;
            const bloomery_keys column = whole(form);
            for (int nulls = 0; nulls < 2; nulls++)
                expect_maybe(filter, column, nulls != 0);
            for (int which = CALL_ADD; which <= CALL_BUILD_TEAM; which++)
                expect_refused("no secret", (enum call)which, filter, &column,
                               BLOOMERY_SECRET_NEEDED, 0);
            if (test_shapes[s].kind == BLOOMERY_COUNTING)
                expect_refused("no secret", CALL_REMOVE, filter, &column, BLOOMERY_SECRET_NEEDED,
                               0);
        }
        bloomery_free(filter);
        test_bytes_free(&bytes);
    }
}

static bloomery_filter *make_dialect(const char *name, bloomery_dialect_parameters with,
                                     uint64_t memory_limit)
{
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_filter *filter = NULL;
    options.memory_limit = memory_limit;
    const bloomery_status status =
        bloomery_dialect_create(bloomery_dialect_find(name), &with, &options, &filter, NULL);
    if (status == BLOOMERY_UNSUPPORTED) /* no libcrypto */
        skip();
    assert_int_equal(status, BLOOMERY_OK);
    return filter;
}

static void hashes_are_not_for_filters_by_positions(void **state)
{
    const bloomery_dialect_parameters with = {
        .struct_bytes = sizeof with, .bits = 3000, .probes = 5, .cell_bits = 4};
    bloomery_filter *filter = make_dialect("md5-chain", with, 0);
    const bloomery_keys keys = fixed();
    (void)state;
    for (int which = 0; which < CALLS; which++)
        for (int form = BLOOMERY_KEYS_HASHES64; form <= BLOOMERY_KEYS_HASHES128; form++) {
            const bloomery_keys column = whole(form);
            expect_refused(
                "positions", (enum call)which, filter, &column,
                form == BLOOMERY_KEYS_HASHES64 ? BLOOMERY_MISMATCH : BLOOMERY_UNSUPPORTED, 0);
        }
    expect_refused("positions", CALL_HASH, filter, &keys, BLOOMERY_UNSUPPORTED, 0);
    bloomery_free(filter);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* No keys: nothing is read, whatever the pointers. No bytes in any key: the data may be NULL. */
static void columns_of_nothing_are_well(void **state)
{
    static const int64_t zeros[KEYS + 1];
    (void)state;
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        const bloomery_plan plan = test_plan(&test_shapes[s], 200, 0.01);
        bloomery_filter *filter = test_create(&plan, NULL);
        for (int which = 0; which < CALLS; which++) {
            if (which == CALL_REMOVE && test_shapes[s].kind != BLOOMERY_COUNTING)
                continue;
            for (int form = BLOOMERY_KEYS_LIST; form <= BLOOMERY_KEYS_HASHES128; form++)
                for (int64_t nulls = -1; nulls < 1; nulls++) {
                    bloomery_keys column = BLOOMERY_KEYS;
                    column.form = (bloomery_keys_form)form;
                    column.first = nulls < 0 ? 1000 : 0;
                    column.nulls = nulls;
                    assert_int_equal(call((enum call)which, filter, &column, NULL), BLOOMERY_OK);
                }
            for (int form = BLOOMERY_KEYS_OFFSETS32; form <= BLOOMERY_KEYS_OFFSETS64; form++) {
                bloomery_keys column = BLOOMERY_KEYS;
                column.form = (bloomery_keys_form)form;
                column.count = KEYS;
                column.offsets = zeros;
                assert_int_equal(call((enum call)which, filter, &column, NULL), BLOOMERY_OK);
                column.valid = bitmap;
                column.nulls = -1;
                assert_int_equal(call((enum call)which, filter, &column, NULL), BLOOMERY_OK);
            }
        }
        bloomery_free(filter);
    }
}

/* Where a chain can't grow, the keys before the one that did not fit are in it, nulls or not. */
static void expect_full(bloomery_filter *column, bloomery_filter *list)
{
    enum { COUNT = 1000 };
    static uint64_t many[COUNT];
    static bloomery_key keys[COUNT];
    static uint8_t valid[COUNT / 8];
    uint64_t fresh[COUNT / 64 + 1], expected[COUNT / 64 + 1];
    bloomery_counts of_list = {0}, of_column = {0};
    size_t count = 0;
    bloomery_error error = {.status = BLOOMERY_OK, .text = ""};
    for (size_t i = 0; i < COUNT; i++) {
        many[i] = test_mix(i);
        if (i % 3 == 1)
            continue;
        valid[i / 8] |= (uint8_t)(1 << i % 8);
        keys[count++] = bloomery_key_of(&many[i], 8);
    }
    bloomery_keys all = fixed();
    all.data = many;
    all.count = COUNT;
    all.valid = valid;
    all.nulls = -1;
    const bloomery_keys listed = bloomery_keys_of_list(keys, count);
    assert_int_equal(bloomery_add_keys(list, &listed, expected, &of_list, NULL), BLOOMERY_FULL);
    assert_int_equal(bloomery_add_keys(column, &all, fresh, &of_column, &error), BLOOMERY_FULL);
    assert_int_equal(error.status, BLOOMERY_FULL);
    assert_true(error.text[0] != '\0');
    assert_int_equal(of_list.cells, of_column.cells);
    assert_int_equal(of_list.positive, of_column.positive);
    /* The column came to the same key: two of three are keys. */
    assert_true(of_list.done > 0 && of_list.done < count);
    assert_int_equal(of_column.done, of_list.done / 2 * 3 + of_list.done % 2 * 2);
    for (size_t i = 0, key = 0; i < COUNT; i++) {
        const bool is = i % 3 != 1;
        assert_int_equal(fresh[i / 64] >> i % 64 & 1,
                         is && (expected[key / 64] >> key % 64 & 1) != 0);
        key += is;
    }
    test_assert_same(column, list);
    error = (bloomery_error){.status = BLOOMERY_OK};
    assert_int_equal(add_keys_threads(column, &all, 2, &error), BLOOMERY_FULL);
    assert_int_equal(error.status, BLOOMERY_FULL);
    bloomery_free(column);
    bloomery_free(list);
}

static void full_chains_keep_what_came_before(void **state)
{
    bloomery_plan plan = {.kind = BLOOMERY_SCALABLE, .keys = 100, .rate = 0.01};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    (void)state;
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    options.memory_limit = plan.planned_bytes * 4;
    expect_full(test_create(&plan, &options), test_create(&plan, &options));
}

/* Those of other systems grow by other rules; the hash of the second hands out positions. */
static void full_chains_of_dialects_keep_what_came_before(void **state)
{
    static const char *const names[] = {"redisbloom", "pybloom-live"};
    const bloomery_dialect_parameters with = {
        .struct_bytes = sizeof with, .keys = 100, .rate = 0.01, .growth = 2};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        expect_full(make_dialect(names[i], with, 500), make_dialect(names[i], with, 500));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_columns_are_refused_before_anything_is_added),
        cmocka_unit_test(unknown_forms_are_refused),
        cmocka_unit_test(hashes_of_64_bits_are_for_filters_that_make_such),
        cmocka_unit_test(only_counters_can_be_removed),
        cmocka_unit_test(views_can_be_queried),
        cmocka_unit_test(static_filters_take_no_keys),
        cmocka_unit_test(keyed_filters_without_their_key_say_maybe),
        cmocka_unit_test(hashes_are_not_for_filters_by_positions),
        cmocka_unit_test(columns_of_nothing_are_well),
        cmocka_unit_test(full_chains_keep_what_came_before),
        cmocka_unit_test(full_chains_of_dialects_keep_what_came_before),
    };
    return test_run_group("columns_refused", tests, NULL, NULL);
}
