/* SPDX-License-Identifier: Apache-2.0 */
/*
 * <bloomery/inline.h> against bloomery_may_contain and bloomery_add: the same answers, bits and
 * counts for every L and k, for keys of all lengths and any seed, from memory, maps and views, and
 * after further keys were added; and filters that it does not fit are refused.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property. Built
 * once more for each vector unit that the header knows, as a program of a user's would be; skipped
 * where the processor has not got it.
 */
#include "../support/support.h"
#include "../support/team.h"

#include <bloomery/dialect.h>
#include <bloomery/inline.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 300, ABSENT = 900, LENGTHS = 42, LONGEST = 1000 };

/* All lengths in turn: 0 to 40, and 1000. */
static size_t length_of(size_t i)
{
    return i % LENGTHS < LENGTHS - 1 ? i % LENGTHS : LONGEST;
}

/* Keys for every test, as bytes that begin anywhere. */
static uint8_t text[KEYS + ABSENT + LONGEST];

static bloomery_key key_at(size_t i)
{
    return bloomery_key_of(text + i, length_of(i));
}

static int make_text(void **state)
{
    uint64_t random = 3;
    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)test_next(&random);
    return 0;
}

static bloomery_inline taken_of(const bloomery_filter *filter)
{
    bloomery_inline taken;
    bloomery_error error;
    memset(&taken, 0xa5, sizeof taken);
    if (bloomery_inline_of(filter, &taken, &error) != BLOOMERY_OK)
        fail_msg("%s", error.text);
    return taken;
}

static size_t expect_same(const bloomery_inline *taken, const bloomery_filter *filter)
{
    size_t found = 0;
    for (size_t i = 0; i < KEYS + ABSENT; i++) {
        const bloomery_key key = key_at(i);
        const bool maybe = bloomery_may_contain(filter, key);
        bloomery_hash hash;
        assert_int_equal(bloomery_inline_may_contain(taken, key.data, key.bytes), maybe);
        assert_int_equal(bloomery_hash_key(filter, key, &hash, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_inline_may_contain_hash(taken, hash.hi), maybe);
        found += maybe;
    }
    /* Lengths that the compiler knows are short ways of their own. */
    for (size_t i = 0; i + 16 < sizeof text; i += 5) {
        const uint8_t *at = text + i;
        assert_int_equal(bloomery_inline_may_contain(taken, at, 4),
                         bloomery_may_contain(filter, bloomery_key_of(at, 4)));
        assert_int_equal(bloomery_inline_may_contain(taken, at, 8),
                         bloomery_may_contain(filter, bloomery_key_of(at, 8)));
        assert_int_equal(bloomery_inline_may_contain(taken, at, 16),
                         bloomery_may_contain(filter, bloomery_key_of(at, 16)));
    }
    return found;
}

static void add_keys(bloomery_filter *filter, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++)
        assert_true(add_status(filter, key_at(i)) == BLOOMERY_OK);
}

static bloomery_plan plan_of(uint32_t blocks_per_key, uint32_t probes, uint64_t blocks)
{
    return (bloomery_plan){.kind = BLOOMERY_BLOCKED,
                           .bits = blocks * 512,
                           .blocks_per_key = blocks_per_key,
                           .probes = probes};
}

/* ---- The same answers ------------------------------------------------------------------------ */

static void inline_answers_equal_the_calls(void **state)
{
    static const uint64_t seeds[] = {0, 1, UINT64_C(0x9e3779b97f4a7c15), UINT64_MAX};
    static const uint64_t blocks[] = {1, 3, 8, 29};
    (void)state;
    for (uint32_t blocks_per_key = 1; blocks_per_key <= 4; blocks_per_key++)
        for (uint32_t probes = 1; probes <= 8; probes++)
            for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
                const bloomery_plan plan = plan_of(blocks_per_key, probes, blocks[b]);
                bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
                options.seed = seeds[(blocks_per_key + probes + b) % 4];
                bloomery_filter *filter = test_create(&plan, &options);
                const bloomery_inline taken = taken_of(filter);
                assert_int_equal(expect_same(&taken, filter), 0);
                /* What is added later is seen. */
                add_keys(filter, 0, 20);
                assert_true(expect_same(&taken, filter) >= 20);
                add_keys(filter, 20, KEYS);
                assert_true(expect_same(&taken, filter) >= KEYS);
                assert_int_equal(bloomery_clear(filter, NULL), BLOOMERY_OK);
                assert_int_equal(expect_same(&taken, filter), 0);
                bloomery_free(filter);
            }
}

/* Far apart blocks: where a number is cut to 32 bits the answers differ. */
static void large_filters_answer_alike(void **state)
{
    (void)state;
    for (uint32_t blocks_per_key = 1; blocks_per_key <= 4; blocks_per_key++) {
        const bloomery_plan plan = plan_of(blocks_per_key, 6, 100003);
        bloomery_filter *filter = test_create(&plan, NULL);
        const bloomery_inline taken = taken_of(filter);
        add_keys(filter, 1, KEYS);
        assert_true(expect_same(&taken, filter) >= KEYS - 1);
        bloomery_free(filter);
    }
}

static void maps_views_and_copies_answer_alike(void **state)
{
    const struct test_directory directory = test_directory_make();
    char path[300];
    (void)state;
    test_join(path, sizeof path, &directory, "f");
    for (uint32_t blocks_per_key = 1; blocks_per_key <= 4; blocks_per_key++) {
        const bloomery_plan plan = plan_of(blocks_per_key, 9 - 2 * blocks_per_key, 40);
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        options.note = "a note";
        bloomery_filter *filter = test_create(&plan, &options);
        add_keys(filter, 0, KEYS);
        assert_int_equal(bloomery_save(filter, path, NULL), BLOOMERY_OK);
        struct test_bytes bytes = test_written(filter);
        const bloomery_filter *map = NULL, *view = NULL;
        bloomery_filter *loaded = NULL, *opened = NULL;
        assert_int_equal(bloomery_map(path, NULL, &map, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_view(bytes.data, bytes.bytes, NULL, &view, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_load(bytes.data, bytes.bytes, NULL, &loaded, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_open(path, NULL, &opened, NULL), BLOOMERY_OK);
        const bloomery_filter *const others[] = {map, view, loaded, opened};
        for (size_t i = 0; i < 4; i++) {
            const bloomery_inline taken = taken_of(others[i]);
            assert_int_equal(expect_same(&taken, others[i]), expect_same(&taken, filter));
            bloomery_free(others[i]);
        }
        bloomery_free(filter);
        test_bytes_free(&bytes);
    }
    test_directory_remove(&directory);
}

/* ---- The same bits and counts ---------------------------------------------------------------- */

static bloomery_inline_adder adder_of(bloomery_filter *filter)
{
    bloomery_inline_adder taken;
    bloomery_error error;
    memset(&taken, 0xa5, sizeof taken);
    if (bloomery_inline_adder_of(filter, &taken, &error) != BLOOMERY_OK)
        fail_msg("%s", error.text);
    return taken;
}

/* Adds keys to both: inlined, by the hash too, to one of them, and by calls to the other. */
static void expect_adds_alike(const bloomery_inline_adder *taken, bloomery_filter *filter,
                              bloomery_filter *other)
{
    for (size_t i = 0; i < KEYS; i++) {
        const bloomery_key key = key_at(i);
        const bool fresh = bloomery_add(other, key, NULL);
        bloomery_hash hash;
        assert_int_equal(bloomery_hash_key(other, key, &hash, NULL), BLOOMERY_OK);
        if (i % 3 == 0)
            assert_int_equal(bloomery_inline_add_hash(taken, hash.hi), fresh);
        else if (i % 3 == 1)
            assert_int_equal(bloomery_inline_add(taken, key.data, key.bytes), fresh);
        else /* beside calls of the library */
            assert_int_equal(bloomery_add(filter, key, NULL), fresh);
        assert_true(bloomery_inline_may_contain(&taken->query, key.data, key.bytes));
        assert_false(bloomery_inline_add(taken, key.data, key.bytes));
        assert_false(bloomery_add(other, key, NULL));
    }
}

/* Lengths that the compiler knows are short ways of their own. */
#define EXPECT_LENGTH(bytes)                                            \
    assert_int_equal(bloomery_inline_add(taken, text + 2 * i, (bytes)), \
                     bloomery_add(other, bloomery_key_of(text + 2 * i, (bytes)), NULL))

static void expect_lengths_alike(const bloomery_inline_adder *taken, bloomery_filter *other)
{
    for (size_t i = 0; i < 4; i++) {
        EXPECT_LENGTH(0);
        EXPECT_LENGTH(1);
        EXPECT_LENGTH(2);
        EXPECT_LENGTH(3);
        EXPECT_LENGTH(4);
        EXPECT_LENGTH(5);
        EXPECT_LENGTH(7);
        EXPECT_LENGTH(8);
        EXPECT_LENGTH(9);
        EXPECT_LENGTH(12);
        EXPECT_LENGTH(15);
        EXPECT_LENGTH(16);
        EXPECT_LENGTH(17);
        EXPECT_LENGTH(32);
        EXPECT_LENGTH(40);
    }
}

static void inlined_adds_equal_the_calls(void **state)
{
    static const uint64_t seeds[] = {0, 1, UINT64_C(0x9e3779b97f4a7c15), UINT64_MAX};
    static const uint64_t blocks[] = {1, 3, 29, 517};
    (void)state;
    for (uint32_t blocks_per_key = 1; blocks_per_key <= 4; blocks_per_key++)
        for (uint32_t probes = 1; probes <= 8; probes++)
            for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
                const bloomery_plan plan = plan_of(blocks_per_key, probes, blocks[b]);
                bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
                options.seed = seeds[(blocks_per_key + probes + b) % 4];
                bloomery_filter *filter = test_create(&plan, &options);
                bloomery_filter *other = test_create(&plan, &options);
                const bloomery_inline_adder taken = adder_of(filter);
                expect_lengths_alike(&taken, other);
                test_assert_same(filter, other);
                expect_adds_alike(&taken, filter, other);
                test_assert_same(filter, other); /* the count of adds, too */
                assert_int_equal(expect_same(&taken.query, filter),
                                 expect_same(&taken.query, other));
                /* It stays valid when the filter is emptied. */
                assert_int_equal(bloomery_clear(filter, NULL), BLOOMERY_OK);
                assert_int_equal(bloomery_clear(other, NULL), BLOOMERY_OK);
                expect_lengths_alike(&taken, other);
                test_assert_same(filter, other);
                bloomery_free(filter);
                bloomery_free(other);
            }
}

/* A filter takes more keys than it was planned for, inlined as by calls; the facts say so. */
static void inlined_adds_past_the_plan_are_counted(void **state)
{
    const bloomery_plan plan = {.kind = BLOOMERY_BLOCKED, .keys = 20, .rate = 0.01};
    bloomery_filter *filter = test_create(&plan, NULL);
    const bloomery_inline_adder taken = adder_of(filter);
    bloomery_info info = BLOOMERY_INFO;
    (void)state;
    for (uint64_t i = 0; i < 1000; i++)
        bloomery_inline_add(&taken, &i, sizeof i);
    bloomery_info_get(filter, &info);
    assert_int_equal(info.planned_keys, 20);
    assert_int_equal(info.adds, 1000);
    for (uint64_t i = 0; i < 1000; i++)
        assert_true(bloomery_may_contain(filter, bloomery_key_of(&i, sizeof i)));
    bloomery_free(filter);
}

/* Each thread has a filter of its own; all of them query one that was filled before. */
enum { TEAM = 4, EACH = 2000 };
struct parts {
    struct team team;
    bloomery_inline_adder whole;
    bloomery_inline_adder part[TEAM];
};

static void add_part(void *context, unsigned number)
{
    struct parts *parts = context;
    const bloomery_inline_adder part = parts->part[number];
    for (uint64_t i = number * EACH; i < (number + 1) * EACH; i++) {
        bloomery_inline_add(&part, &i, sizeof i);
        TEAM_MUST(&parts->team, bloomery_inline_may_contain(&parts->whole.query, &i, sizeof i));
    }
}

static void parts_of_threads_merge_to_the_whole(void **state)
{
    const bloomery_plan plan = {.kind = BLOOMERY_BLOCKED, .keys = TEAM * EACH, .rate = 0.001};
    bloomery_filter *whole = test_create(&plan, NULL);
    bloomery_filter *filters[TEAM];
    struct parts parts = {.whole = adder_of(whole)};
    (void)state;
    for (uint64_t i = 0; i < (uint64_t)TEAM * EACH; i++)
        bloomery_inline_add(&parts.whole, &i, sizeof i);
    for (size_t t = 0; t < TEAM; t++) {
        filters[t] = test_create(&plan, NULL);
        parts.part[t] = adder_of(filters[t]);
    }
    team_run(&parts.team, TEAM, add_part, &parts);
    for (size_t t = 1; t < TEAM; t++) {
        assert_int_equal(bloomery_merge(filters[0], filters[t], NULL), BLOOMERY_OK);
        bloomery_free(filters[t]);
    }
    test_assert_same(filters[0], whole);
    bloomery_free(filters[0]);
    bloomery_free(whole);
}

/* ---- Refused --------------------------------------------------------------------------------- */

/* An adder is refused in the same way. */
static void expect_no_adder(bloomery_filter *filter, bloomery_status status, const char *word)
{
    static const bloomery_inline_adder zero;
    bloomery_inline_adder taken;
    bloomery_error error = {.status = BLOOMERY_OK};
    memset(&taken, 0xa5, sizeof taken);
    assert_int_equal(bloomery_inline_adder_of(filter, &taken, &error), status);
    assert_int_equal(error.status, status);
    if (strstr(error.text, word) == NULL)
        fail_msg("no \"%s\" in: %s", word, error.text);
    assert_memory_equal(&taken, &zero, sizeof zero);
    assert_int_equal(bloomery_inline_adder_of(filter, &taken, NULL), status);
}

static void expect_refused(bloomery_filter *filter, const char *word)
{
    static const bloomery_inline zero;
    bloomery_inline taken;
    bloomery_error error = {.status = BLOOMERY_OK};
    memset(&taken, 0xa5, sizeof taken);
    assert_int_equal(bloomery_inline_of(filter, &taken, &error), BLOOMERY_UNSUPPORTED);
    assert_int_equal(error.status, BLOOMERY_UNSUPPORTED);
    if (strstr(error.text, word) == NULL)
        fail_msg("no \"%s\" in: %s", word, error.text);
    assert_ptr_equal(taken.words, NULL);
    assert_int_equal(taken.count, zero.count);
    assert_int_equal(taken.seed, zero.seed);
    assert_int_equal(taken.blocks_per_key, zero.blocks_per_key);
    assert_int_equal(taken.probes, zero.probes);
    assert_int_equal(bloomery_inline_of(filter, &taken, NULL), BLOOMERY_UNSUPPORTED);
    expect_no_adder(filter, BLOOMERY_UNSUPPORTED, word);
    bloomery_free(filter);
}

/* By its type a map or a view cannot be added to; a cast does not change that. */
static void maps_and_views_have_no_adder(void **state)
{
    const struct test_directory directory = test_directory_make();
    const bloomery_plan plan = plan_of(1, 8, 20);
    bloomery_filter *filter = test_create(&plan, NULL);
    const bloomery_filter *map = NULL, *view = NULL;
    char path[300];
    (void)state;
    test_join(path, sizeof path, &directory, "f");
    assert_int_equal(bloomery_save(filter, path, NULL), BLOOMERY_OK);
    struct test_bytes bytes = test_written(filter);
    assert_int_equal(bloomery_map(path, NULL, &map, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_view(bytes.data, bytes.bytes, NULL, &view, NULL), BLOOMERY_OK);
    expect_no_adder((bloomery_filter *)(uintptr_t)map, BLOOMERY_READ_ONLY, "read-only");
    expect_no_adder((bloomery_filter *)(uintptr_t)view, BLOOMERY_READ_ONLY, "read-only");
    bloomery_free(map);
    bloomery_free(view);
    bloomery_free(filter);
    test_bytes_free(&bytes);
    test_directory_remove(&directory);
}

static void other_kinds_are_refused(void **state)
{
    static const struct test_shape scalable = {"scalable", BLOOMERY_SCALABLE, 0, 1};
    bloomery_plan plan = test_plan(&scalable, 1000, 0.01);
    (void)state;
    expect_refused(test_create(&plan, NULL), "blocked");
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        plan = test_plan(&test_shapes[s], 1000, 0.01);
        if (plan.kind != BLOOMERY_BLOCKED)
            expect_refused(test_create(&plan, NULL), "blocked");
    }
}

static void other_hashes_are_refused(void **state)
{
    static const uint8_t secret[BLOOMERY_SECRET_BYTES] = "sixteen letters";
    bloomery_plan plan = plan_of(2, 4, 20);
    bloomery_open_options inspect = BLOOMERY_OPEN_OPTIONS;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    (void)state;
    plan.hash = BLOOMERY_HASH_XXH3_128;
    expect_refused(test_create(&plan, &options), "xxh3-64");
    if (!test_keyed())
        return;
    plan.hash = BLOOMERY_HASH_DEFAULT;
    options.secret = secret;
    options.secret_outside = true;
    bloomery_filter *filter = test_create(&plan, &options);
    struct test_bytes bytes = test_written(filter);
    expect_refused(filter, "xxh3-64");
    inspect.inspect = true;
    assert_int_equal(bloomery_load(bytes.data, bytes.bytes, &inspect, &filter, NULL), BLOOMERY_OK);
    expect_refused(filter, "xxh3-64");
    test_bytes_free(&bytes);
}

static void filters_that_several_threads_write_are_refused(void **state)
{
    const bloomery_plan plan = plan_of(1, 8, 20);
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    const bloomery_filter *view = NULL;
    bloomery_filter *filter = NULL;
    (void)state;
    options.concurrent_adds = opening.concurrent_adds = true;
    filter = test_create(&plan, &options);
    struct test_bytes bytes = test_written(filter);
    expect_refused(filter, "threads");
    assert_int_equal(bloomery_load(bytes.data, bytes.bytes, &opening, &filter, NULL), BLOOMERY_OK);
    expect_refused(filter, "threads");
    /* No keys are added to a view, and `concurrent_adds` has no meaning there. */
    assert_int_equal(bloomery_view(bytes.data, bytes.bytes, &opening, &view, NULL), BLOOMERY_OK);
    const bloomery_inline taken = taken_of(view);
    assert_int_equal(expect_same(&taken, view), 0);
    bloomery_free(view);
    test_bytes_free(&bytes);
}

/* Also those of blocks: their schemes are others. */
static void other_systems_are_refused(void **state)
{
    static const struct {
        const char *name;
        bloomery_dialect_parameters with;
    } samples[] = {
        {"guava", {.struct_bytes = sizeof samples[0].with, .keys = 100, .rate = 0.01}},
        {"parquet", {.struct_bytes = sizeof samples[0].with, .bytes = 4096}},
        {"rocksdb", {.struct_bytes = sizeof samples[0].with, .keys = 100, .bits_per_key = 10}},
        {"md5-chain", {.struct_bytes = sizeof samples[0].with, .bits = 1000, .probes = 5}},
        {"redisbloom", {.struct_bytes = sizeof samples[0].with, .keys = 100, .rate = 0.01}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
        bloomery_filter *filter = NULL;
        const bloomery_status status = bloomery_dialect_create(
            bloomery_dialect_find(samples[i].name), &samples[i].with, NULL, &filter, NULL);
        if (status == BLOOMERY_UNSUPPORTED) /* no libcrypto */
            continue;
        assert_int_equal(status, BLOOMERY_OK);
        expect_refused(filter, "Bloomery's own");
    }
}

/* Compiled for a vector unit, this program is one of those whose users know that they have it. */
static void leave_where_the_processor_has_less(void)
{
    enum { SKIPPED = 77 }; /* to Meson */
    bool has = true;
#if defined(__AVX512F__)
    has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#elif defined(__AVX2__)
    has = __builtin_cpu_supports("avx2");
#endif
    if (!has) {
        printf("# this processor lacks what the program was compiled for\n");
        exit(SKIPPED);
    }
}

int main(void)
{
    leave_where_the_processor_has_less();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inline_answers_equal_the_calls),
        cmocka_unit_test(large_filters_answer_alike),
        cmocka_unit_test(maps_views_and_copies_answer_alike),
        cmocka_unit_test(inlined_adds_equal_the_calls),
        cmocka_unit_test(inlined_adds_past_the_plan_are_counted),
        cmocka_unit_test(parts_of_threads_merge_to_the_whole),
        cmocka_unit_test(maps_and_views_have_no_adder),
        cmocka_unit_test(other_kinds_are_refused),
        cmocka_unit_test(other_hashes_are_refused),
        cmocka_unit_test(filters_that_several_threads_write_are_refused),
        cmocka_unit_test(other_systems_are_refused),
    };
    return test_run_group("inline_query", tests, make_text, NULL);
}
