/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns: whatever form keys come in, they are the keys that they are one by one; a row without a
 * key is neither added nor found; and a column that leads outside its memory is refused before
 * anything is read or added.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property. Worth
 * running under AddressSanitizer.
 */
#define BLOOMERY_EXPERIMENTAL

#include "../support/support.h"

#include <bloomery/experimental.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 300, FIRST = 13, WIDTH = 8, WORDS = (KEYS + 63) / 64 };

/* The keys of a column in all of its forms, FIRST others in front of them. */
static struct {
    uint8_t data[(FIRST + KEYS) * WIDTH];
    int32_t narrow[FIRST + KEYS + 1];
    int64_t wide[FIRST + KEYS + 1];
    bloomery_key keys[FIRST + KEYS];
    bloomery_hash hashes[FIRST + KEYS];
    uint64_t hashes64[FIRST + KEYS];
    uint8_t valid[(FIRST + KEYS) / 8 + 1];
} all;

/* What batches have code of their own for: one block with all words and with some, several
 * blocks. */
static const struct {
    uint32_t blocks_per_key, probes;
} shapes[] = {{1, 8}, {1, 3}, {2, 4}, {4, 2}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static bloomery_filter *make(size_t shape)
{
    bloomery_plan plan = {.kind = BLOOMERY_BLOCKED,
                          .bits = 512 * 3,
                          .blocks_per_key = shapes[shape].blocks_per_key,
                          .probes = shapes[shape].probes};
    return test_create(&plan, NULL);
}

static int make_keys(void **state)
{
    uint64_t random = 5;
    bloomery_filter *filter = make(0);
    (void)state;
    for (size_t i = 0; i < FIRST + KEYS; i++) {
        const uint64_t value = test_next(&random);
        memcpy(all.data + i * WIDTH, &value, WIDTH);
        all.narrow[i] = (int32_t)(i * WIDTH);
        all.wide[i] = (int64_t)(i * WIDTH);
        all.keys[i] = bloomery_key_of(all.data + i * WIDTH, WIDTH);
        all.valid[i / 8] |= (uint8_t)((test_next(&random) & 1) << i % 8);
        assert_int_equal(bloomery_hash_key(filter, all.keys[i], &all.hashes[i], NULL), BLOOMERY_OK);
        all.hashes64[i] = all.hashes[i].hi;
    }
    all.narrow[FIRST + KEYS] = (FIRST + KEYS) * WIDTH;
    all.wide[FIRST + KEYS] = (FIRST + KEYS) * WIDTH;
    bloomery_free(filter);
    return 0;
}

static bloomery_keys column_of(bloomery_keys_form form)
{
    bloomery_keys column = BLOOMERY_KEYS;
    column.form = form;
    column.count = KEYS;
    column.first = FIRST;
    column.data = form == BLOOMERY_KEYS_LIST        ? (const void *)all.keys
                  : form == BLOOMERY_KEYS_HASHES64  ? (const void *)all.hashes64
                  : form == BLOOMERY_KEYS_HASHES128 ? (const void *)all.hashes
                                                    : all.data;
    if (form == BLOOMERY_KEYS_OFFSETS32 || form == BLOOMERY_KEYS_OFFSETS64)
        column.bytes = sizeof all.data;
    if (form == BLOOMERY_KEYS_FIXED)
        column.width = WIDTH;
    column.offsets = form == BLOOMERY_KEYS_OFFSETS32 ? (const void *)all.narrow : all.wide;
    return column;
}

static const bloomery_keys_form forms[] = {
    BLOOMERY_KEYS_FIXED,    BLOOMERY_KEYS_OFFSETS32, BLOOMERY_KEYS_OFFSETS64,
    BLOOMERY_KEYS_HASHES64, BLOOMERY_KEYS_HASHES128, BLOOMERY_KEYS_LIST,
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static bool is_key(size_t i)
{
    return (all.valid[(FIRST + i) / 8] >> (FIRST + i) % 8 & 1) != 0;
}

static bool answer(const uint64_t *answers, size_t i)
{
    return (answers[i / 64] >> i % 64 & 1) != 0;
}

/* Adds the keys one by one, those that are not keys left out unless `whole`. Returns how many bits
 * it set. */
static uint64_t add_singly(bloomery_filter *filter, bool whole, uint64_t answers[WORDS])
{
    const uint64_t before = test_cells(filter);
    memset(answers, 0, WORDS * sizeof *answers);
    for (size_t i = 0; i < KEYS; i++)
        if ((whole || is_key(i)) && bloomery_add(filter, all.keys[FIRST + i], NULL))
            answers[i / 64] |= (uint64_t)1 << i % 64;
    return test_cells(filter) - before;
}

static void assert_written_alike(const bloomery_filter *one, const bloomery_filter *other)
{
    test_assert_same(one, other);
}

static void assert_column_is_its_keys(size_t shape, bloomery_keys_form form, bool whole)
{
    bloomery_filter *left = make(shape);
    bloomery_filter *right = make(shape);
    bloomery_keys column = column_of(form);
    uint64_t one[WORDS], other[WORDS];
    uint64_t new_bits = 0;
    size_t found = 0;
    size_t wanted = 0;
    if (!whole) {
        column.valid = all.valid;
        column.nulls = -1;
    }
    assert_int_equal(add_keys_bits(left, &column, one, &new_bits, NULL), BLOOMERY_OK);
    assert_int_equal(new_bits, add_singly(right, whole, other));
    assert_memory_equal(one, other, sizeof one);
    assert_written_alike(left, right);
    assert_int_equal(query_keys(left, &column, one, &found, NULL), BLOOMERY_OK);
    for (size_t i = 0; i < KEYS; i++) {
        assert_int_equal(answer(one, i), whole || is_key(i));
        wanted += whole || is_key(i);
    }
    assert_int_equal(found, wanted);
    bloomery_free(left);
    bloomery_free(right);
}

static void columns_are_their_keys(void **state)
{
    (void)state;
    for (size_t shape = 0; shape < SHAPES; shape++)
        for (size_t form = 0; form < FORMS; form++)
            assert_column_is_its_keys(shape, forms[form], true);
}

/* Nobody wants to know what was new: for one block that is code of its own. And keys of 8 bytes in
 * a list are taken as integers. */
static void uncounted_columns_are_their_keys(void **state)
{
    (void)state;
    for (size_t shape = 0; shape < SHAPES; shape++) {
        const bloomery_keys column = column_of(BLOOMERY_KEYS_FIXED);
        bloomery_filter *one = make(shape);
        bloomery_filter *other = make(shape);
        bloomery_filter *list = make(shape);
        uint64_t answers[WORDS];
        add_singly(one, true, answers);
        assert_int_equal(bloomery_add_keys(other, &column, NULL, NULL, NULL), BLOOMERY_OK);
        assert_int_equal(add_list(list, all.keys + FIRST, KEYS, NULL), BLOOMERY_OK);
        assert_written_alike(one, other);
        assert_written_alike(one, list);
        assert_int_equal(query_list(one, all.keys + FIRST, KEYS, answers), KEYS);
        bloomery_free(one);
        bloomery_free(other);
        bloomery_free(list);
    }
}

static void a_row_without_a_key_is_not_added(void **state)
{
    (void)state;
    for (size_t shape = 0; shape < SHAPES; shape++)
        for (size_t form = 0; form < FORMS; form++)
            assert_column_is_its_keys(shape, forms[form], false);
}

/* The block of a key is floor(x N / 2^64): one key in 2^32 / N or so has another where the low half
 * of x is left out. */
static void integers_find_their_blocks_in_larger_filters(void **state)
{
    enum { MANY = 2000000 };
    bloomery_plan plan = {.kind = BLOOMERY_BLOCKED,
                          .bits = 512 * (UINT64_C(65536) + 5),
                          .blocks_per_key = 1,
                          .probes = 3};
    bloomery_filter *one = test_create(&plan, NULL);
    bloomery_filter *other = test_create(&plan, NULL);
    uint64_t *integers = malloc(MANY * sizeof *integers);
    uint64_t random = 11;
    (void)state;
    assert_non_null(integers);
    for (size_t i = 0; i < MANY; i++) {
        integers[i] = test_next(&random);
        bloomery_add(one, bloomery_key_of(&integers[i], sizeof integers[i]), NULL);
    }
    bloomery_keys column = BLOOMERY_KEYS;
    column.form = BLOOMERY_KEYS_FIXED;
    column.count = MANY;
    column.data = integers;
    column.width = sizeof *integers;
    assert_int_equal(bloomery_add_keys(other, &column, NULL, NULL, NULL), BLOOMERY_OK);
    assert_written_alike(one, other);
    free(integers);
    bloomery_free(one);
    bloomery_free(other);
}

static void assert_same_cells(const bloomery_filter *one, const bloomery_filter *other)
{
    const void *cells, *others;
    uint64_t bytes;
    assert_int_equal(bloomery_layer_span(one, 0, &cells, &bytes), BLOOMERY_OK);
    assert_int_equal(bloomery_layer_span(other, 0, &others, &bytes), BLOOMERY_OK);
    assert_memory_equal(cells, others, bytes);
}

/* From 16 MiB on batches request memory in another way. */
static void columns_are_their_keys_in_large_filters(void **state)
{
    (void)state;
    for (uint32_t blocks_per_key = 1; blocks_per_key <= 2; blocks_per_key++) {
        const bloomery_plan plan = {.kind = BLOOMERY_BLOCKED,
                                    .bits = UINT64_C(33) << 23,
                                    .blocks_per_key = blocks_per_key,
                                    .probes = 5};
        bloomery_filter *every = test_create(&plan, NULL);
        bloomery_filter *second = test_create(&plan, NULL);
        bloomery_filter *filter = test_create(&plan, NULL);
        for (size_t i = 0; i < KEYS; i++) {
            (void)bloomery_add(every, all.keys[FIRST + i], NULL);
            if (i % 2 == 0)
                (void)bloomery_add(second, all.keys[FIRST + i], NULL);
        }
        for (size_t form = 0; form < FORMS; form++) {
            const bloomery_keys column = column_of(forms[form]);
            uint64_t answers[WORDS];
            size_t found = 0;
            assert_int_equal(bloomery_add_keys(filter, &column, NULL, NULL, NULL), BLOOMERY_OK);
            assert_same_cells(filter, every);
            assert_int_equal(query_keys(second, &column, answers, &found, NULL), BLOOMERY_OK);
            for (size_t i = 0; i < KEYS; i++)
                assert_int_equal(answer(answers, i), i % 2 == 0);
            assert_int_equal(bloomery_clear(filter, NULL), BLOOMERY_OK);
        }
        bloomery_free(every);
        bloomery_free(second);
        bloomery_free(filter);
    }
}

/* Of keys most of which are absent: some of them pass their first block, and others all. */
static void columns_answer_as_their_keys(void **state)
{
    (void)state;
    for (size_t shape = 0; shape < SHAPES; shape++) {
        bloomery_filter *filter = make(shape);
        size_t wanted = 0;
        for (size_t i = 0; i < FIRST + KEYS; i += 2)
            assert_true(add_status(filter, all.keys[i]) == BLOOMERY_OK);
        for (size_t i = 0; i < KEYS; i++)
            wanted += bloomery_may_contain(filter, all.keys[FIRST + i]);
        assert_true(wanted >= KEYS / 2 && wanted < KEYS);
        for (size_t form = 0; form < FORMS; form++) {
            const bloomery_keys column = column_of(forms[form]);
            uint64_t answers[WORDS];
            size_t found = 0;
            assert_int_equal(query_keys(filter, &column, answers, &found, NULL), BLOOMERY_OK);
            assert_int_equal(found, wanted);
            for (size_t i = 0; i < KEYS; i++)
                assert_int_equal(answer(answers, i),
                                 bloomery_may_contain(filter, all.keys[FIRST + i]));
        }
        bloomery_free(filter);
    }
}

/* ---- Every form beside the list -------------------------------------------------------------- */

static bloomery_filter *make_counting(void)
{
    bloomery_plan plan = {.kind = BLOOMERY_COUNTING,
                          .bits = 512 * 3,
                          .blocks_per_key = 2,
                          .probes = 4,
                          .cell_bits = 4};
    return test_create(&plan, NULL);
}

struct done {
    uint64_t answers[WORDS];
    bloomery_counts counts;
};

/* 0 adds, 1 queries, 2 removes. */
static struct done done_with(bloomery_filter *filter, const bloomery_keys *keys, int what)
{
    struct done done;
    memset(&done, 0xff, sizeof done);
    assert_int_equal(what == 0 ? bloomery_add_keys(filter, keys, done.answers, &done.counts, NULL)
                     : what == 1
                         ? bloomery_may_contain_keys(filter, keys, done.answers, &done.counts, NULL)
                         : bloomery_remove_keys(filter, keys, done.answers, &done.counts, NULL),
                     BLOOMERY_OK);
    return done;
}

static void assert_same_done(const struct done *one, const struct done *other)
{
    assert_memory_equal(one->answers, other->answers, sizeof one->answers);
    assert_int_equal(one->counts.done, other->counts.done);
    assert_int_equal(one->counts.positive, other->counts.positive);
    assert_int_equal(one->counts.cells, other->counts.cells);
}

/* Adds half of the keys, queries all, adds all, and removes all twice over: each call says of each
 * form what it says of the list. */
static void answers_and_counts_of_every_form_agree(void **state)
{
    static const int calls[] = {0, 1, 0, 1, 2, 2, 1};
    (void)state;
    for (size_t form = 0; form < FORMS; form++)
        for (int nulls = 0; nulls < 2; nulls++) {
            bloomery_filter *list = make_counting(), *other = make_counting();
            for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
                bloomery_keys keys = column_of(BLOOMERY_KEYS_LIST);
                bloomery_keys same = column_of(forms[form]);
                keys.valid = same.valid = nulls ? all.valid : NULL;
                keys.nulls = same.nulls = nulls ? -1 : 0;
                keys.count = same.count = c == 0 ? KEYS / 2 : KEYS;
                const uint64_t before = test_cells(list);
                const struct done wanted = done_with(list, &keys, calls[c]);
                const struct done got = done_with(other, &same, calls[c]);
                const uint64_t after = test_cells(list);
                for (size_t w = 0; w < (keys.count + 63) / 64; w++)
                    assert_int_equal(wanted.answers[w], got.answers[w]);
                assert_same_done(&wanted, &got);
                assert_int_equal(wanted.counts.done, keys.count);
                assert_int_equal(wanted.counts.cells,
                                 after > before ? after - before : before - after);
                size_t positive = 0;
                for (size_t i = 0; i < keys.count; i++)
                    positive += answer(wanted.answers, i);
                assert_int_equal(wanted.counts.positive, positive);
                assert_written_alike(list, other);
            }
            bloomery_free(list);
            bloomery_free(other);
        }
}

/* The constructors make what is filled in by hand. */
static void constructors_make_the_usual_forms(void **state)
{
    (void)state;
    int64_t integers[KEYS];
    uint64_t answers[WORDS];
    memcpy(integers, all.data + FIRST * WIDTH, sizeof integers);
    const bloomery_keys made[] = {
        bloomery_keys_of_list(all.keys + FIRST, KEYS),
        bloomery_keys_of_integers(integers, KEYS),
        bloomery_keys_of_strings(all.data, all.wide + FIRST, KEYS),
        bloomery_keys_of_hashes(all.hashes + FIRST, KEYS),
    };
    for (size_t shape = 0; shape < SHAPES; shape++)
        for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
            bloomery_filter *one = make(shape), *other = make(shape);
            add_singly(one, true, answers);
            assert_int_equal(bloomery_add_keys(other, &made[i], NULL, NULL, NULL), BLOOMERY_OK);
            assert_written_alike(one, other);
            bloomery_free(one);
            bloomery_free(other);
        }
    /* No offsets but the first: no keys, and nothing of the data. */
    const int64_t none = 0;
    const bloomery_keys empty = bloomery_keys_of_strings(NULL, &none, 0);
    bloomery_filter *filter = make(0);
    assert_int_equal(bloomery_add_keys(filter, &empty, NULL, NULL, NULL), BLOOMERY_OK);
    assert_int_equal(test_cells(filter), 0);
    bloomery_free(filter);
}

/* ---- Refused --------------------------------------------------------------------------------- */

static void assert_refused(const char *what, const bloomery_keys *column, size_t key)
{
    bloomery_filter *filter = make(0);
    bloomery_info info = BLOOMERY_INFO;
    for (int adding = 0; adding < 2; adding++) {
        bloomery_error error = {.text = ""};
        const bloomery_status status =
            adding ? bloomery_add_keys(filter, column, NULL, NULL, &error)
                   : bloomery_may_contain_keys(filter, column, NULL, NULL, &error);
        if (status != BLOOMERY_BAD_ARGUMENT)
            fail_msg("%s: %s", what, bloomery_status_name(status));
        assert_true(error.text[0] != '\0');
        assert_true(key == SIZE_MAX || error.offset == key); /* SIZE_MAX: any */
    }
    bloomery_info_get(filter, &info);
    bloomery_scan_result scan = scan_of(filter);
    assert_true(scan.bits_set == 0 && info.adds == 0);
    bloomery_free(filter);
}

/* Offset `at` of a column by offsets is `value`, which makes key `key` wrong. */
static void assert_offset_refused(bloomery_keys_form form, size_t at, int64_t value, size_t key)
{
    bloomery_keys column = column_of(form);
    const int64_t wide = all.wide[FIRST + at];
    const int32_t narrow = all.narrow[FIRST + at];
    all.wide[FIRST + at] = value;
    all.narrow[FIRST + at] = (int32_t)value;
    assert_refused("an offset", &column, key);
    all.wide[FIRST + at] = wide;
    all.narrow[FIRST + at] = narrow;
}

static void hostile_columns_are_refused(void **state)
{
    (void)state;
    const int64_t end = (FIRST + KEYS) * WIDTH;
    for (size_t form = 1; form < 3; form++) {
        assert_offset_refused(forms[form], KEYS, end + 1, KEYS - 1);
        assert_offset_refused(forms[form], KEYS, INT32_MAX, KEYS - 1);
        assert_offset_refused(forms[form], 100, end + 1, 99);
        assert_offset_refused(forms[form], 100, 0, 99);
        assert_offset_refused(forms[form], 100, -1, 99);
        assert_offset_refused(forms[form], 0, -1, 0);
        assert_offset_refused(forms[form], 0, INT32_MIN, 0);
    }
    assert_offset_refused(BLOOMERY_KEYS_OFFSETS64, KEYS, INT64_MAX, KEYS - 1);
    for (size_t form = 0; form < FORMS; form++) {
        bloomery_keys column = column_of(forms[form]);
        if (forms[form] == BLOOMERY_KEYS_OFFSETS32 || forms[form] == BLOOMERY_KEYS_OFFSETS64) {
            column.bytes--;
            assert_refused("a byte too few", &column, KEYS - 1);
        }
        column = column_of(forms[form]);
        column.count = SIZE_MAX / 2;
        column.first = SIZE_MAX / 2 + 2;
        assert_refused("numbers that wrap", &column, 0);
        column = column_of(forms[form]);
        column.nulls = 1;
        assert_refused("nulls without a bitmap", &column, 0);
        column = column_of(forms[form]);
        column.struct_bytes--;
        assert_refused("a shorter struct", &column, 0);
    }
    bloomery_keys column = column_of(BLOOMERY_KEYS_FIXED);
    column.width = 0;
    assert_refused("keys without a width", &column, 0);
    column = column_of(BLOOMERY_KEYS_FIXED);
    column.stride = WIDTH - 1;
    assert_refused("keys that overlap", &column, 0);
    column = column_of(BLOOMERY_KEYS_FIXED);
    column.stride = SIZE_MAX / 4;
    assert_refused("strides that wrap", &column, SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_their_keys),
        cmocka_unit_test(uncounted_columns_are_their_keys),
        cmocka_unit_test(integers_find_their_blocks_in_larger_filters),
        cmocka_unit_test(columns_are_their_keys_in_large_filters),
        cmocka_unit_test(columns_answer_as_their_keys),
        cmocka_unit_test(a_row_without_a_key_is_not_added),
        cmocka_unit_test(answers_and_counts_of_every_form_agree),
        cmocka_unit_test(constructors_make_the_usual_forms),
        cmocka_unit_test(hostile_columns_are_refused),
    };
    return test_run_group("column_forms", tests, make_keys, NULL);
}
