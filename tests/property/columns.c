/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns against descriptors: whatever the form, the kind, the number of keys and the nulls among
 * them, a column gives the answers, the counts, the hashes and the file, byte for byte, of the
 * calls that take one key; and a build of it by any number of threads the same file again.
 *
 * Data, offsets and bitmaps end where a page that must not be read begins: nothing outside is read.
 *
 * Build: this file, ../support/support.c, ../support/columns.c; cmocka, the library. No arguments.
 * Suite: property. What is refused: columns_refused.c.
 */
#include "../support/columns.h"
#include "../support/support.h"

#include <bloomery/dialect.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Filters --------------------------------------------------------------------------------- */

struct subject {
    const char *name;
    bloomery_plan plan; /* by hand, or keys and rate to be solved; none for a dialect */
    bloomery_plan_options wish;
    bloomery_create_options options;
    bool keyed;
    const char *dialect;
    bloomery_dialect_parameters with;
};

/* Small ones: with most numbers of keys here they fill up, so that answers are of both kinds. */
#define LINES(l, k)                                       \
    {                                                     \
        .name = "blocked, L = " #l ", k = " #k, .plan = { \
            .kind = BLOOMERY_BLOCKED,                     \
            .bits = 37 * 512,                             \
            .blocks_per_key = l,                          \
            .probes = k                                   \
        }                                                 \
    }
#define OPTIONS(...)                                                 \
    {                                                                \
        .struct_bytes = sizeof(bloomery_create_options), __VA_ARGS__ \
    }
#define WITH(...)                                                        \
    {                                                                    \
        .struct_bytes = sizeof(bloomery_dialect_parameters), __VA_ARGS__ \
    }
#define TWO_LINES                                                                    \
    {                                                                                \
        .kind = BLOOMERY_BLOCKED, .bits = 37 * 512, .blocks_per_key = 2, .probes = 5 \
    }

static struct subject subjects[] = {
    LINES(1, 5),
    LINES(1, 8),
    LINES(2, 3),
    LINES(2, 8),
    LINES(3, 7),
    LINES(3, 8),
    LINES(4, 1),
    LINES(4, 8),
    {.name = "classic", .plan = {.kind = BLOOMERY_CLASSIC, .bits = 7001, .probes = 6}},
    {.name = "counting, 4 bits",
     .plan = {.kind = BLOOMERY_COUNTING, .bits = 37 * 512, .blocks_per_key = 2, .probes = 4}},
    {.name = "counting, 8 bits",
     .plan = {.kind = BLOOMERY_COUNTING,
              .bits = 37 * 512,
              .blocks_per_key = 1,
              .probes = 8,
              .cell_bits = 8}},
    {.name = "scalable", .plan = {.kind = BLOOMERY_SCALABLE, .keys = 600, .rate = 0.05}},
    {.name = "concurrent, one block",
     .plan = {.kind = BLOOMERY_BLOCKED, .bits = 37 * 512, .blocks_per_key = 1, .probes = 8},
     .options = OPTIONS(.concurrent_adds = true)},
    {.name = "concurrent", .plan = TWO_LINES, .options = OPTIONS(.concurrent_adds = true)},
    {.name = "seeded", .plan = TWO_LINES, .options = OPTIONS(.seed = UINT64_C(0x123456789abcdef))},
    {.name = "128 bits of hash", .plan = TWO_LINES, .wish = {.hash = BLOOMERY_HASH_XXH3_128}},
    {.name = "keyed", .plan = TWO_LINES, .keyed = true},
    {.name = "guava", .dialect = "guava", .with = WITH(.keys = 500, .rate = 0.05)},
    {.name = "redisbloom",
     .dialect = "redisbloom",
     .with = WITH(.keys = 300, .rate = 0.05, .growth = 2)},
    {.name = "md5-chain", .dialect = "md5-chain", .with = WITH(.bits = 5000, .probes = 5)},
    {.name = "md5-chain, counters",
     .dialect = "md5-chain",
     .with = WITH(.bits = 5000, .probes = 5, .cell_bits = 4)},
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

/* NULL where this build has not got its hash. */
static bloomery_filter *make(struct subject *subject)
{
    static const uint8_t secret[BLOOMERY_SECRET_BYTES] = "sixteen letters";
    bloomery_filter *filter = NULL;
    bloomery_error error = {.text = ""};
    bloomery_status status = BLOOMERY_OK;
    subject->options.struct_bytes = sizeof subject->options;
    subject->options.secret = subject->keyed && test_keyed() ? secret : NULL;
    if (subject->dialect != NULL) {
        const bloomery_dialect *dialect = bloomery_dialect_find(subject->dialect);
        assert_non_null(dialect);
        status = bloomery_dialect_create(dialect, &subject->with, NULL, &filter, &error);
        if (status == BLOOMERY_UNSUPPORTED && strstr(error.text, "libcrypto") != NULL)
            return NULL;
    } else {
        subject->wish.struct_bytes = sizeof subject->wish;
        if (subject->plan.bits == 0)
            status = bloomery_plan_solve(&subject->plan, &subject->wish, &error);
        if (subject->wish.hash != BLOOMERY_HASH_DEFAULT)
            subject->plan.hash = subject->wish.hash;
        if (status == BLOOMERY_OK)
            status = bloomery_create(&subject->plan, &subject->options, &filter, &error);
    }
    if (status != BLOOMERY_OK)
        fail_msg("%s: %s", subject->name, error.text);
    return filter;
}

static char now[200]; /* what is being compared */

static void expect(bool holds, const char *what)
{
    if (!holds)
        fail_msg("%s: %s", now, what);
}

/* ---- The comparisons ------------------------------------------------------------------------- */

/* Answers, and a word behind them that is never written. */
struct words {
    uint64_t words[TEST_COLUMN_WORDS + 1];
};

static struct words untouched(void)
{
    struct words words;
    memset(&words, 0xa5, sizeof words);
    return words;
}

/* What a call for each key answered. */
static void put(struct words *words, size_t i, bool answer)
{
    if (i % 64 == 0)
        words->words[i / 64] = 0;
    words->words[i / 64] |= (uint64_t)answer << i % 64;
}

static void expect_same_words(const struct words *one, const struct words *other, const char *what)
{
    expect(memcmp(one, other, sizeof *one) == 0, what);
}

static void expect_same_file(const bloomery_filter *one, const bloomery_filter *other,
                             const char *what)
{
    struct test_bytes first = test_written(one);
    struct test_bytes second = test_written(other);
    expect(test_bytes_equal(&first, &second), what);
    test_bytes_free(&first);
    test_bytes_free(&second);
}

static void check_adding(bloomery_filter *column, bloomery_filter *single,
                         const struct test_column *sample)
{
    struct words found = untouched();
    struct words expected = untouched();
    bloomery_counts counts = {77, 77, 77};
    const uint64_t before = test_cells(single);
    size_t sum = 0;
    expect(bloomery_add_keys(column, &sample->column, found.words, &counts, NULL) == BLOOMERY_OK,
           "adding failed");
    for (size_t i = 0; i < sample->column.count; i++) {
        const int result =
            test_column_has(sample, i) ? add_outcome(single, sample->keys[i]) : WAS_SEEN;
        assert_true(result == WAS_NEW || result == WAS_SEEN);
        put(&expected, i, result == WAS_NEW);
        sum += result == WAS_NEW;
    }
    expect_same_words(&found, &expected, "other keys were new");
    expect(counts.done == sample->column.count, "another number of keys done");
    expect(counts.positive == sum, "another number of new keys");
    expect(counts.cells == test_cells(single) - before, "another number of new bits");
    expect_same_file(column, single, "another filter after adding");
}

static void check_querying(const bloomery_filter *filter, const struct test_column *sample)
{
    struct words found = untouched();
    struct words expected = untouched();
    const bloomery_keys *column = &sample->column;
    bloomery_counts counts = {77, 77, 77};
    size_t sum = 0;
    for (size_t i = 0; i < column->count; i++) {
        const bool maybe =
            test_column_has(sample, i) && bloomery_may_contain(filter, sample->keys[i]);
        put(&expected, i, maybe);
        sum += maybe;
    }
    expect(bloomery_may_contain_keys(filter, column, found.words, &counts, NULL) == BLOOMERY_OK,
           "the query failed");
    expect_same_words(&found, &expected, "other answers");
    expect(counts.done == column->count && counts.positive == sum && counts.cells == 0,
           "another number of answers");
    counts = (bloomery_counts){77, 77, 77};
    expect(bloomery_may_contain_keys(filter, column, NULL, &counts, NULL) == BLOOMERY_OK &&
               counts.positive == sum,
           "another number without answers");
    found = untouched();
    expect(bloomery_may_contain_keys(filter, column, found.words, NULL, NULL) == BLOOMERY_OK,
           "the query failed without a number");
    expect_same_words(&found, &expected, "other answers without a number");
}

static void check_hashing(const bloomery_filter *filter, const struct test_column *sample)
{
    const size_t count = sample->column.count;
    bloomery_hash *hashes = calloc(count + 1, sizeof *hashes);
    assert_non_null(hashes);
    memset(hashes, 0xa5, (count + 1) * sizeof *hashes);
    expect(bloomery_hash_keys(filter, &sample->column, hashes, NULL) == BLOOMERY_OK,
           "hashing failed");
    for (size_t i = 0; i < count; i++) {
        bloomery_hash hash = {0, 0};
        if (test_column_has(sample, i))
            bloomery_hash_key(filter, sample->keys[i], &hash, NULL);
        expect(hashes[i].lo == hash.lo && hashes[i].hi == hash.hi, "another hash");
    }
    expect(hashes[count].hi == UINT64_C(0xa5a5a5a5a5a5a5a5), "a hash too many");
    free(hashes);
}

static void check_removing(bloomery_filter *column, bloomery_filter *single,
                           const struct test_column *sample)
{
    struct words found = untouched();
    struct words expected = untouched();
    bloomery_counts counts = {77, 77, 77};
    const uint64_t before = test_cells(single);
    size_t sum = 0;
    expect(bloomery_remove_keys(column, &sample->column, found.words, &counts, NULL) == BLOOMERY_OK,
           "removing failed");
    for (size_t i = 0; i < sample->column.count; i++) {
        const bool gone =
            test_column_has(sample, i) && bloomery_remove(single, sample->keys[i], NULL);
        put(&expected, i, gone);
        sum += gone;
    }
    expect_same_words(&found, &expected, "other keys were removed");
    expect(counts.done == sample->column.count, "another number of keys done");
    expect(counts.positive == sum, "another number of removed keys");
    expect(counts.cells == before - test_cells(single), "another number of counters");
    expect_same_file(column, single, "another filter after removing");
    expect(bloomery_remove_keys(column, &sample->column, NULL, NULL, NULL) == BLOOMERY_OK,
           "removing failed in silence");
    for (size_t i = 0; i < sample->column.count; i++)
        if (test_column_has(sample, i))
            bloomery_remove(single, sample->keys[i], NULL);
    expect_same_file(column, single, "another filter after removing in silence");
}

/* Without counting what was new, which may be other code; and by several threads. */
static void check_other_ways(struct subject *subject, const bloomery_filter *expected,
                             const struct test_column *one, const struct test_column *other)
{
    static const uint32_t threads[] = {1, 2, 5};
    bloomery_filter *filter = make(subject);
    uint64_t bits = 77;
    expect(bloomery_add_keys(filter, &one->column, NULL, NULL, NULL) == BLOOMERY_OK &&
               add_keys_bits(filter, &other->column, NULL, &bits, NULL) == BLOOMERY_OK,
           "adding failed in silence");
    expect_same_file(filter, expected, "another filter after adding in silence");
    bloomery_free(filter);
    for (size_t t = 0; t < sizeof threads / sizeof threads[0]; t++) {
        filter = make(subject);
        expect(add_keys_threads(filter, &one->column, threads[t], NULL) == BLOOMERY_OK &&
                   add_keys_threads(filter, &other->column, threads[t], NULL) == BLOOMERY_OK,
               "building failed");
        expect_same_file(filter, expected, "another filter after building");
        bloomery_free(filter);
    }
}

/* Whether the filter takes such a column at all; columns_refused.c has the others. */
static bool takes(const bloomery_filter *filter, bloomery_keys_form form)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_hash hash;
    bloomery_info_get(filter, &info);
    if (form == BLOOMERY_KEYS_HASHES64)
        return info.dialect == 0 && info.hash == BLOOMERY_HASH_XXH3_64;
    return form != BLOOMERY_KEYS_HASHES128 ||
           bloomery_hash_key(filter, bloomery_key_of("", 0), &hash, NULL) == BLOOMERY_OK;
}

static void check_case(struct subject *subject, const struct test_column_spec *spec)
{
    bloomery_filter *column = make(subject);
    bloomery_hash hash;
    snprintf(now, sizeof now,
             "%s, form %d of width %zu + %zu, %zu keys from %zu on, nulls %d, shifted %d",
             subject->name, (int)spec->form, spec->width, spec->gap, spec->count, spec->first,
             (int)spec->nulls, spec->shifted);
    if (column == NULL || !takes(column, spec->form)) {
        bloomery_free(column);
        return;
    }
    bloomery_filter *single = make(subject);
    struct test_column *one = test_column_make(spec, column, spec->count + 1);
    struct test_column *other = test_column_make(spec, column, spec->count + 2);
    check_querying(column, one);
    check_adding(column, single, one);
    check_querying(column, one);
    check_querying(column, other);
    check_adding(column, single, other);
    check_other_ways(subject, column, one, other);
    if (bloomery_hash_key(column, bloomery_key_of("", 0), &hash, NULL) == BLOOMERY_OK)
        check_hashing(column, one);
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(column, &info);
    if (info.counter_max > 0)
        check_removing(column, single, one);
    test_column_free(one);
    test_column_free(other);
    bloomery_free(single);
    bloomery_free(column);
}

/* The same with enough keys that threads of a build share them. */
static struct subject large(const struct subject *subject)
{
    enum { TIMES = 60 };
    struct subject copy = *subject;
    copy.plan.bits *= copy.plan.keys > 0 ? 0 : TIMES; /* solved again */
    copy.plan.keys *= TIMES;
    copy.with.keys *= TIMES;
    copy.with.bits *= TIMES;
    if (copy.plan.bits == 0)
        copy.plan =
            (bloomery_plan){.kind = copy.plan.kind, .keys = copy.plan.keys, .rate = copy.plan.rate};
    return copy;
}

/* ---- The properties -------------------------------------------------------------------------- */

static const struct test_column_spec forms[] = {
    {.form = BLOOMERY_KEYS_FIXED, .width = 8},
    {.form = BLOOMERY_KEYS_FIXED, .width = 8, .gap = 3},
    {.form = BLOOMERY_KEYS_FIXED, .width = 20},
    {.form = BLOOMERY_KEYS_OFFSETS32},
    {.form = BLOOMERY_KEYS_OFFSETS64, .shifted = true},
    {.form = BLOOMERY_KEYS_HASHES64, .shifted = true},
    {.form = BLOOMERY_KEYS_HASHES128},
};
enum { FORMS = sizeof forms / sizeof forms[0] };

static void columns_equal_descriptors_whatever_the_nulls(void **state)
{
    static const size_t counts[] = {0, 1, 7, 8, 63, 64, 65, 127, 128, 129, 130, 1000};
    unsigned turn = 0;
    (void)state;
    for (size_t s = 0; s < SUBJECTS; s++)
        for (size_t f = 0; f < FORMS; f++)
            for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
                for (int nulls = 0; nulls < TEST_NULLS_KINDS; nulls++) {
                    struct test_column_spec spec = forms[f];
                    spec.count = counts[c];
                    spec.nulls = (enum test_nulls)nulls;
                    spec.first = turn++ % 3 == 0 ? 0 : turn % (TEST_COLUMN_FIRST_MAX + 1);
                    /* Long columns take most of the time: one kind of nulls in the quick tier. */
                    if (spec.count == 1000 && turn % 3 != 0 && !test_long())
                        continue;
                    check_case(&subjects[s], &spec);
                }
}

/* Each width is a function of its own, or an end of one, in a hash. */
static void columns_of_every_width_equal_descriptors(void **state)
{
    static const size_t counts[] = {11, 65, 200};
    (void)state;
    for (size_t s = 0; s < SUBJECTS; s++) {
        for (size_t width = 1; width <= 40; width++)
            for (size_t gap = 0; gap < 3; gap++) {
                const size_t c = (s + width + gap) % (sizeof counts / sizeof counts[0]);
                const struct test_column_spec spec = {
                    .form = BLOOMERY_KEYS_FIXED,
                    .width = width,
                    .gap = gap * 2,
                    .count = counts[c],
                    .first = (s + width) % 4,
                    .nulls = (enum test_nulls)((s + width + gap) % TEST_NULLS_KINDS)};
                check_case(&subjects[s], &spec);
            }
    }
}

static void offsets_and_hashes_may_lie_anywhere(void **state)
{
    (void)state;
    for (size_t s = 0; s < SUBJECTS; s++)
        for (size_t f = 3; f < FORMS; f++)
            for (size_t first = 0; first <= TEST_COLUMN_FIRST_MAX; first++) {
                struct test_column_spec spec = forms[f];
                spec.shifted = !spec.shifted;
                spec.count = 90 + first;
                spec.first = first;
                spec.nulls = (enum test_nulls)(first % TEST_NULLS_KINDS);
                check_case(&subjects[s], &spec);
            }
}

/* Portions of a build, which are some thousand keys: more than one, whose ends are within bytes of
 * the bitmap. */
static void long_columns_build_the_same(void **state)
{
    enum { COUNT = 40000 };
    static uint64_t numbers[COUNT + 3];
    static uint8_t valid[(COUNT + 3) / 8 + 1];
    (void)state;
    for (size_t i = 0; i < COUNT + 3; i++)
        numbers[i] = test_mix(i / 2);
    for (size_t i = 0; i < sizeof valid; i++)
        valid[i] = (uint8_t)(i % 5 == 0 ? 0xff : test_mix(i));
    for (size_t s = 0; s < SUBJECTS; s++) {
        struct subject subject = large(&subjects[s]);
        for (uint32_t turn = 0; turn <= 6; turn++) {
            const uint32_t threads = turn < 6 ? turn : BLOOMERY_THREADS_ALL;
            bloomery_keys column = BLOOMERY_KEYS;
            column.form = BLOOMERY_KEYS_FIXED;
            column.data = numbers;
            column.width = sizeof numbers[0];
            column.first = 3;
            column.count = COUNT;
            column.valid = turn % 2 == 0 ? valid : NULL;
            column.nulls = -1;
            bloomery_filter *added = make(&subject);
            bloomery_filter *built = make(&subject);
            snprintf(now, sizeof now, "%s, %u threads", subject.name, threads);
            if (added != NULL) {
                bloomery_add_keys(added, &column, NULL, NULL, NULL);
                expect(add_keys_threads(built, &column, threads, NULL) == BLOOMERY_OK,
                       "building failed");
                expect_same_file(built, added, "another filter");
            }
            bloomery_free(added);
            bloomery_free(built);
        }
    }
}

/* Hashes are taken as they are, by calls of one as by columns and builds, wherever they come from
 * and whatever hash the filter has. */
static void hashes_of_any_value_are_the_same_everywhere(void **state)
{
    enum { COUNT = 20000 };
    static bloomery_hash hashes[COUNT];
    uint64_t random = 8;
    bloomery_keys column = BLOOMERY_KEYS;
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        hashes[i] = (bloomery_hash){test_next(&random), test_next(&random)};
    column.form = BLOOMERY_KEYS_HASHES128;
    column.count = COUNT;
    column.data = hashes;
    for (size_t s = 0; s < SUBJECTS; s++) {
        struct subject subject = large(&subjects[s]);
        bloomery_filter *single = make(&subject);
        bloomery_filter *added = make(&subject);
        snprintf(now, sizeof now, "%s, hashes of any value", subject.name);
        if (single != NULL && takes(single, column.form)) {
            for (size_t i = 0; i < COUNT; i++)
                bloomery_add_hash(single, hashes[i], NULL);
            bloomery_add_keys(added, &column, NULL, NULL, NULL);
            expect_same_file(added, single, "another filter after adding");
            for (uint32_t threads = 1; threads <= 4; threads++) {
                bloomery_filter *built = make(&subject);
                add_keys_threads(built, &column, threads, NULL);
                expect_same_file(built, single, "another filter after building");
                bloomery_free(built);
            }
        }
        bloomery_free(single);
        bloomery_free(added);
    }
}

/* What is not a key is not looked at: its bytes do not matter, only its bit. */
static void duplicates_in_a_column_are_new_once(void **state)
{
    static const uint64_t numbers[] = {5, 5, 6, 5, 6, 7, 7};
    static const uint8_t valid[] = {0x7b}; /* not the first 6 */
    bloomery_keys column = BLOOMERY_KEYS;
    uint64_t answers = 0;
    bloomery_counts counts = {0};
    size_t found = 0;
    (void)state;
    column.form = BLOOMERY_KEYS_FIXED;
    column.count = sizeof numbers / sizeof numbers[0];
    column.data = numbers;
    column.width = sizeof numbers[0];
    column.valid = valid;
    column.nulls = 1;
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_plan plan = test_plan(&test_shapes[s], 100, 1e-12);
        bloomery_filter *filter = test_create(&plan, NULL);
        assert_int_equal(bloomery_add_keys(filter, &column, &answers, &counts, NULL), BLOOMERY_OK);
        assert_int_equal(answers, 1 | 1 << 4 | 1 << 5);
        assert_true(counts.done == column.count && counts.positive == 3);
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(filter, &info);
        bloomery_scan_result scan = scan_of(filter);
        assert_int_equal(info.adds, 6);
        assert_int_equal(scan.bits_set, counts.cells);
        assert_int_equal(query_keys(filter, &column, &answers, &found, NULL), BLOOMERY_OK);
        assert_int_equal(answers, 0x7b);
        assert_int_equal(found, 6);
        bloomery_free(filter);
    }
}

/* What a list has in the place of a null may be anything: nobody looks at it. */
static void what_is_not_a_key_is_not_read(void **state)
{
    enum { COUNT = 20000 };
    static bloomery_key list[COUNT], present[COUNT];
    static uint8_t valid[COUNT / 8];
    static uint64_t numbers[COUNT], answers[COUNT / 64 + 1];
    static bloomery_hash hashes[COUNT];
    size_t keys = 0;
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        numbers[i] = i * UINT64_C(0x9e3779b97f4a7c15);
        list[i] = bloomery_key_of((const void *)(uintptr_t)(i + 1), (size_t)1 << 40);
        if (i % 3 == 0)
            continue;
        valid[i / 8] |= (uint8_t)(1U << i % 8);
        list[i] = present[keys++] = bloomery_key_of(&numbers[i], 4 + i % 5);
    }
    bloomery_keys some = bloomery_keys_of_list(list, COUNT);
    some.valid = valid;
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        const bloomery_plan plan = test_plan(&test_shapes[s], COUNT, 0.01);
        const bool counting = plan.kind == BLOOMERY_COUNTING;
        bloomery_filter *by_list = test_create(&plan, NULL), *by_team = test_create(&plan, NULL);
        bloomery_filter *by_key = test_create(&plan, NULL);
        size_t found = 0;
        assert_int_equal(bloomery_hash_keys(by_list, &some, hashes, NULL), BLOOMERY_OK);
        assert_true(hashes[0].hi == 0 && hashes[0].lo == 0 && hashes[1].hi != 0);
        assert_int_equal(bloomery_add_keys(by_list, &some, answers, NULL, NULL), BLOOMERY_OK);
        assert_int_equal(answers[0] & 9, 0);
        assert_int_equal(add_keys_threads(by_team, &some, 3, NULL), BLOOMERY_OK);
        assert_int_equal(add_list(by_key, present, keys, NULL), BLOOMERY_OK);
        expect_same_file(by_list, by_key, "a list with nulls");
        expect_same_file(by_team, by_key, "a list with nulls, by threads");
        assert_int_equal(query_keys(by_list, &some, answers, &found, NULL), BLOOMERY_OK);
        assert_int_equal(found, keys);
        assert_int_equal(remove_keys(by_list, &some, answers, &found, NULL),
                         counting ? BLOOMERY_OK : BLOOMERY_UNSUPPORTED);
        assert_int_equal(found, counting ? keys : 0);
        assert_int_equal(answers[0] & 9, 0);
        assert_int_equal(test_cells(by_list) == 0, counting);
        bloomery_free(by_list);
        bloomery_free(by_team);
        bloomery_free(by_key);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_equal_descriptors_whatever_the_nulls),
        cmocka_unit_test(columns_of_every_width_equal_descriptors),
        cmocka_unit_test(offsets_and_hashes_may_lie_anywhere),
        cmocka_unit_test(long_columns_build_the_same),
        cmocka_unit_test(hashes_of_any_value_are_the_same_everywhere),
        cmocka_unit_test(duplicates_in_a_column_are_new_once),
        cmocka_unit_test(what_is_not_a_key_is_not_read),
    };
    return test_run_group("columns", tests, NULL, NULL);
}
