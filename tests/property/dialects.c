/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What holds for filters of other systems as for ours, whatever the system: the same filter however
 * the keys come (one by one, in batches, by several threads, by hash); no added key is denied; what
 * is written is read; a Bloomery file keeps it; the rate is what the library says that it is; every
 * allocation fails once. Whether the bits are those of the other system, tests/dialect compares.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/support.h"

#include <bloomery/dialect.h>
#include <bloomery/experimental.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How a filter of each dialect is made here: a dialect without a row fails. */
static const struct {
    uint32_t id;
    const char *variant;
    bloomery_dialect_parameters with;
} samples[] = {
#define WITH(...)                                                        \
    {                                                                    \
        .struct_bytes = sizeof(bloomery_dialect_parameters), __VA_ARGS__ \
    }
    {BLOOMERY_DIALECT_GUAVA, NULL, WITH(.keys = 3000, .rate = 0.01)},
    {BLOOMERY_DIALECT_GUAVA, "mitz32", WITH(.keys = 3000, .rate = 0.01)},
    {BLOOMERY_DIALECT_SHA384_SLICES, NULL, WITH(0)},
    {BLOOMERY_DIALECT_SIEVE_MURMUR3, NULL, WITH(.keys = 3000, .rate = 0.01)},
    {BLOOMERY_DIALECT_SIMPLE_HASH, NULL, WITH(0)},
    {BLOOMERY_DIALECT_MD5_CHAIN, NULL, WITH(.bits = 30000, .probes = 7)},
    {BLOOMERY_DIALECT_CLICKHOUSE, NULL, WITH(.bytes = 3700, .probes = 6, .seed = 7)},
    {BLOOMERY_DIALECT_CLICKHOUSE_INDEX, NULL, WITH(.keys = 3000, .rate = 0.025)},
    {BLOOMERY_DIALECT_DCSO, NULL, WITH(.keys = 3000, .rate = 0.01)},
    {BLOOMERY_DIALECT_PARQUET, NULL, WITH(.bytes = 4096)},
    {BLOOMERY_DIALECT_REDISBLOOM, NULL, WITH(.keys = 700, .rate = 0.01, .growth = 2)},
    {BLOOMERY_DIALECT_REDISBLOOM_CUCKOO, NULL, WITH(.keys = 700, .growth = 2)},
    {BLOOMERY_DIALECT_SPARK, NULL, WITH(.keys = 3000, .rate = 0.01)},
    {BLOOMERY_DIALECT_SPARK, "v1", WITH(.keys = 3000, .rate = 0.01)},
    {BLOOMERY_DIALECT_BITS_AND_BLOOMS, NULL, WITH(.keys = 3000, .rate = 0.01)},
    {BLOOMERY_DIALECT_LIBBLOOM, NULL, WITH(.keys = 3000, .rate = 0.01)},
    {BLOOMERY_DIALECT_LIBBLOOM, "1.6", WITH(.keys = 3000, .rate = 0.01)},
    {BLOOMERY_DIALECT_LEVELDB, NULL, WITH(.keys = 3000, .bits_per_key = 10)},
    {BLOOMERY_DIALECT_ROCKSDB, NULL, WITH(.keys = 3000, .bits_per_key = 10)},
    {BLOOMERY_DIALECT_ROCKSDB, "legacy", WITH(.keys = 3000, .bits_per_key = 10)},
    {BLOOMERY_DIALECT_CASSANDRA, NULL, WITH(.keys = 3000, .rate = 0.01)},
    {BLOOMERY_DIALECT_ORC, NULL, WITH(.keys = 3000, .rate = 0.01)},
    {BLOOMERY_DIALECT_PYBLOOM_LIVE, NULL, WITH(.keys = 3000, .rate = 0.01)},
#undef WITH
};
enum { SAMPLES = sizeof samples / sizeof samples[0], KEYS = 2500, ABSENT = 20000 };

static const bloomery_dialect *is(uint32_t id)
{
    static const bloomery_dialect none = {.name = "?"};
    const bloomery_dialect *dialect = bloomery_dialect_get(id);
    return dialect != NULL ? dialect : &none;
}

/* The filter of a sample; NULL where this build or machine has not got its hash. */
static bloomery_filter *make(size_t sample, const bloomery_create_options *options)
{
    const bloomery_dialect *dialect = bloomery_dialect_get(samples[sample].id);
    bloomery_dialect_parameters with = samples[sample].with;
    bloomery_filter *filter = NULL;
    bloomery_error error = {.text = ""};
    assert_non_null(dialect);
    /* 32 MiB each: for the long tier; tests/dialect has them in the quick one. */
    if (samples[sample].id == BLOOMERY_DIALECT_SHA384_SLICES && !test_long())
        return NULL;
    with.variant = samples[sample].variant;
    bloomery_status status = bloomery_dialect_create(dialect, &with, options, &filter, &error);
    if (status == BLOOMERY_UNSUPPORTED && strstr(error.text, "libcrypto") != NULL)
        return NULL;
    if (status != BLOOMERY_OK)
        fail_msg("%s: %s", dialect->name, error.text);
    return filter;
}

static const char *name_of(size_t sample)
{
    return is(samples[sample].id)->name;
}

/* Its bytes as a Bloomery file. */
static void expect_same(size_t sample, const bloomery_filter *one, const bloomery_filter *other,
                        const char *what)
{
    struct test_bytes first = test_written(one);
    struct test_bytes second = test_written(other);
    if (first.bytes != second.bytes || memcmp(first.data, second.data, first.bytes) != 0)
        fail_msg("%s: not the same filter: %s", name_of(sample), what);
    test_bytes_free(&first);
    test_bytes_free(&second);
}

static bloomery_filter *make_full(size_t sample, const struct test_keys *keys)
{
    bloomery_filter *filter = make(sample, NULL);
    if (filter != NULL)
        test_add_all(filter, keys);
    return filter;
}

/* ---- Properties ------------------------------------------------------------------------- */

static void every_dialect_is_tested(void **state)
{
    const bloomery_dialect *dialect;
    size_t count = 0;
    (void)state;
    for (; (dialect = bloomery_dialect_get((uint32_t)count + 1)) != NULL; count++) {
        size_t found = 0;
        for (size_t i = 0; i < SAMPLES; i++)
            found += samples[i].id == dialect->id;
        if (found == 0)
            fail_msg("no sample of %s", dialect->name);
        assert_ptr_equal(bloomery_dialect_find(dialect->name), dialect);
        assert_ptr_equal(bloomery_dialect_get(dialect->id), dialect);
    }
    assert_true(count >= 18);
    assert_null(bloomery_dialect_find("no such"));
    assert_null(bloomery_dialect_get(0));
}

static void no_false_negatives_of_dialects(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++)
        for (enum test_family family = 0; family < TEST_FAMILIES; family++) {
            struct test_keys keys = test_keys_make(family, i, 0, KEYS / 10);
            bloomery_filter *filter = make_full(i, &keys);
            for (size_t k = 0; filter != NULL && k < keys.count; k++)
                if (!bloomery_may_contain(filter, keys.keys[k]))
                    fail_msg("%s denies an added key", name_of(i));
            bloomery_free(filter);
            test_keys_free(&keys);
        }
}

static void keys_may_come_in_any_way(void **state)
{
    struct test_keys keys = test_keys_make(TEST_URLS, 3, 0, KEYS);
    uint64_t answers[KEYS / 64 + 1];
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        bloomery_filter *one = make_full(i, &keys);
        if (one == NULL)
            continue;
        bloomery_filter *batch = make(i, NULL);
        bloomery_filter *built = make(i, NULL);
        assert_int_equal(add_list(batch, keys.keys, KEYS, answers), BLOOMERY_OK);
        expect_same(i, one, batch, "added by a batch");
        assert_int_equal(add_list_threads(built, keys.keys, KEYS, 3, NULL), BLOOMERY_OK);
        expect_same(i, one, built, "built by three threads");
        assert_int_equal(query_list(one, keys.keys, KEYS, NULL), KEYS);
        bloomery_free(one);
        bloomery_free(batch);
        bloomery_free(built);
    }
    test_keys_free(&keys);
}

static void hashes_do_what_keys_do_or_are_refused(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 5, 0, KEYS);
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        const bool hashes = is(samples[i].id)->hashes;
        bloomery_filter *one = make_full(i, &keys);
        bloomery_filter *other = make(i, NULL);
        for (size_t k = 0; one != NULL && k < KEYS; k++) {
            bloomery_hash hash = {0, 0};
            const int status = bloomery_hash_key(one, keys.keys[k], &hash, NULL);
            const int added = add_hash_outcome(other, hash);
            assert_int_equal(status, hashes ? BLOOMERY_OK : BLOOMERY_UNSUPPORTED);
            assert_true(hashes ? added >= 0 : added == BLOOMERY_UNSUPPORTED);
            bloomery_prefetch_hash(other, hash);
            assert_true(bloomery_may_contain_hash(other, hash));
        }
        if (one != NULL && hashes)
            expect_same(i, one, other, "added by hash");
        bloomery_free(one);
        bloomery_free(other);
    }
    test_keys_free(&keys);
}

static int into_bytes(void *context, const void *data, size_t bytes)
{
    struct test_bytes *to = context;
    uint8_t *more = realloc(to->data, to->bytes + bytes + 64);
    assert_non_null(more);
    memcpy(more + to->bytes, data, bytes);
    to->data = more;
    to->bytes += bytes;
    return 0;
}

static struct test_bytes in_dialect(const bloomery_filter *filter)
{
    struct test_bytes bytes = {NULL, 0};
    bloomery_error error = {.text = ""};
    if (bloomery_dialect_write(filter, NULL, into_bytes, &bytes, &error) != BLOOMERY_OK)
        fail_msg("not written: %s", error.text);
    return bytes;
}

static void a_bloomery_file_keeps_a_dialect(void **state)
{
    struct test_keys keys = test_keys_make(TEST_IDS, 0, 0, KEYS);
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        bloomery_filter *filter = make_full(i, &keys);
        const bloomery_filter *view = NULL;
        if (filter == NULL)
            continue;
        struct test_bytes ours = test_written(filter);
        assert_int_equal(bloomery_view(ours.data, ours.bytes, NULL, &view, NULL), BLOOMERY_OK);
        assert_int_equal(query_list(view, keys.keys, KEYS, NULL), KEYS);
        if (is(samples[i].id)->writes) {
            struct test_bytes one = in_dialect(filter);
            struct test_bytes other = in_dialect(view);
            assert_int_equal(one.bytes, other.bytes);
            assert_memory_equal(one.data, other.data, one.bytes);
            free(one.data);
            free(other.data);
        }
        bloomery_free(view);
        test_bytes_free(&ours);
        bloomery_free(filter);
    }
    test_keys_free(&keys);
}

static bool has_layers(const bloomery_info *info)
{
    return info->kind == BLOOMERY_SCALABLE || info->kind == BLOOMERY_CUCKOO;
}

/* What other systems do with threads is not promised; what ours promise with `concurrent_adds` is
 * kept, or refused. */
static void concurrent_filters_are_the_same_or_refused(void **state)
{
    struct test_keys keys = test_keys_make(TEST_DECIMAL, 0, 0, KEYS);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.concurrent_adds = true;
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        bloomery_filter *concurrent = NULL;
        bloomery_dialect_parameters with = samples[i].with;
        with.variant = samples[i].variant;
        bloomery_filter *plain = make_full(i, &keys);
        if (plain == NULL)
            continue;
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(plain, &info);
        const int status = bloomery_dialect_create(bloomery_dialect_get(samples[i].id), &with,
                                                   &options, &concurrent, NULL);
        assert_int_equal(status, has_layers(&info) ? BLOOMERY_UNSUPPORTED : BLOOMERY_OK);
        if (status == BLOOMERY_OK) {
            test_add_all(concurrent, &keys);
            expect_same(i, plain, concurrent, "made for concurrent adds");
        }
        bloomery_free(plain);
        bloomery_free(concurrent);
    }
    test_keys_free(&keys);
}

/* The union of two has what one with all keys has; sizes that differ, and folding, are refused. */
static void merged_filters_equal_the_whole(void **state)
{
    struct test_keys keys = test_keys_make(TEST_WORDS, 0, 0, KEYS);
    struct test_keys first = {.count = KEYS / 2, .keys = keys.keys};
    struct test_keys second = {.count = KEYS - KEYS / 2, .keys = keys.keys + KEYS / 2};
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        bloomery_filter *whole = make_full(i, &keys);
        bloomery_filter *folded = NULL;
        if (whole == NULL)
            continue;
        bloomery_filter *one = make_full(i, &first);
        bloomery_filter *other = make_full(i, &second);
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(whole, &info);
        bloomery_scan_result scan = scan_of(whole);
        const int status = bloomery_merge(one, other, NULL);
        assert_int_equal(status, has_layers(&info) ? BLOOMERY_UNSUPPORTED : BLOOMERY_OK);
        bloomery_scan_result merged_scan = scan_of(one);
        if (status == BLOOMERY_OK) {
            assert_int_equal(merged_scan.bits_set, scan.bits_set);
            assert_int_equal(query_list(one, keys.keys, KEYS, NULL), KEYS);
        }
        assert_int_equal(bloomery_fold(whole, 1, NULL, &folded, NULL), BLOOMERY_UNSUPPORTED);
        bloomery_free(whole);
        bloomery_free(one);
        bloomery_free(other);
    }
    test_keys_free(&keys);
}

/* The library's own word on these bits, against absent keys. Weak hashes of texts do as they do:
 * only random keys are promised anything. */
static void live_rate_matches_measurement_of_dialects(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    struct test_keys absent = test_keys_make(TEST_RANDOM, 1, KEYS, ABSENT);
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        bloomery_filter *filter = make_full(i, &keys);
        if (filter == NULL)
            continue;
        bloomery_scan_result scan = scan_of(filter);
        const double found = (double)query_list(filter, absent.keys, ABSENT, NULL);
        const double expected = scan.live_rate * ABSENT;
        const double deviation = sqrt(expected * (1 - scan.live_rate)) + 1;
        if (!(fabs(found - expected) <= 5 * deviation + 0.05 * expected))
            fail_msg("%s: measured %.6f, live rate %.6f", name_of(i), found / ABSENT,
                     scan.live_rate);
        if (samples[i].id != BLOOMERY_DIALECT_SIMPLE_HASH &&
            !(fabs(scan.estimated_keys - KEYS) < 0.1 * KEYS))
            fail_msg("%s: %.0f keys estimated of %d", name_of(i), scan.estimated_keys, KEYS);
        bloomery_free(filter);
    }
    test_keys_free(&keys);
    test_keys_free(&absent);
}

static void positions_are_the_bits_of_a_key(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 9, 0, 50);
    uint64_t positions[BLOOMERY_POSITIONS_MAX];
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        bloomery_filter *filter = make(i, NULL);
        for (size_t k = 0; filter != NULL && k < keys.count; k++) {
            uint64_t distinct = 0;
            const size_t count =
                bloomery_positions(filter, 0, keys.keys[k], positions, BLOOMERY_POSITIONS_MAX);
            assert_true(count > 0);
            for (size_t one = 0; one < count; one++) {
                bool first = true;
                for (size_t before = 0; before < one; before++)
                    first = first && positions[before] != positions[one];
                distinct += first;
            }
            assert_int_equal(bloomery_clear(filter, NULL), BLOOMERY_OK);
            assert_true(bloomery_add(filter, keys.keys[k], NULL));
            if (k == 0)
                assert_int_equal(scan_of(filter).bits_set,
                                 info_of(filter).kind == BLOOMERY_CUCKOO ? 1 : distinct);
            assert_int_equal(bloomery_positions(filter, 99, keys.keys[k], positions, 1), 0);
        }
        bloomery_free(filter);
    }
    test_keys_free(&keys);
}

/* Each request for memory is refused once: creating and loading say so and leak nothing. */
static void every_allocation_of_a_dialect_fails_once(void **state)
{
    struct test_memory memory = {0};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        const bloomery_dialect *dialect = bloomery_dialect_get(samples[i].id);
        bloomery_dialect_parameters with = samples[i].with;
        bloomery_filter *filter = make(i, NULL);
        if (filter == NULL)
            continue;
        bloomery_free(filter);
        with.variant = samples[i].variant;
        for (uint64_t fails = 1;; fails++) {
            memory = (struct test_memory){.refuse_at = fails};
            options.allocator = test_allocator(&memory);
            const int status = bloomery_dialect_create(dialect, &with, &options, &filter, NULL);
            if (status == BLOOMERY_OK)
                break;
            assert_int_equal(status, BLOOMERY_OUT_OF_MEMORY);
            assert_null(filter);
            assert_int_equal(memory.live, 0);
            assert_true(fails < 10);
        }
        bloomery_free(filter);
        assert_int_equal(memory.live, 0);
    }
}

/* Moves a block, and poisons the old one. */
static void *shake(void *context, void *block, size_t bytes, size_t alignment)
{
    const bloomery_allocator *allocator = context;
    void *now = allocator->allocate(allocator->context, bytes, alignment);
    assert_non_null(now);
    memcpy(now, block, bytes);
    allocator->release(allocator->context, block, bytes, alignment);
    return now;
}

static void copied_and_moved_dialects_go_on_as_before(void **state)
{
    struct test_keys keys = test_keys_make(TEST_DECIMAL, 0, 0, KEYS);
    struct test_keys first = {.count = KEYS / 2, .keys = keys.keys};
    struct test_keys second = {.count = KEYS - KEYS / 2, .keys = keys.keys + KEYS / 2};
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        struct test_memory memory = {.live = 0};
        bloomery_filter *filter = make_full(i, &first);
        bloomery_filter *copy = NULL;
        options.allocator = test_allocator(&memory);
        if (filter == NULL)
            continue;
        assert_int_equal(bloomery_copy(filter, &options, &copy, NULL), BLOOMERY_OK);
        expect_same(i, filter, copy, "copied");
        assert_int_equal(info_of(copy).memory_bytes, memory.bytes);
        assert_int_equal(bloomery_move(&copy, shake, &options.allocator), BLOOMERY_OK);
        expect_same(i, filter, copy, "moved");
        test_add_all(filter, &second);
        test_add_all(copy, &second);
        assert_int_equal(info_of(copy).memory_bytes, memory.bytes);
        expect_same(i, filter, copy, "added to after that");
        assert_int_equal(bloomery_move(&copy, shake, &options.allocator), BLOOMERY_OK);
        assert_int_equal(query_list(copy, keys.keys, KEYS, NULL), KEYS);
        if (is(samples[i].id)->writes) {
            struct test_bytes one = in_dialect(filter);
            struct test_bytes other = in_dialect(copy);
            assert_int_equal(one.bytes, other.bytes);
            assert_memory_equal(one.data, other.data, one.bytes);
            free(one.data);
            free(other.data);
        }
        bloomery_free(copy);
        bloomery_free(filter);
        assert_true(memory.live == 0 && !memory.wrong);
    }
    test_keys_free(&keys);
}

/* What a filter's kind can, as its facts have it, is what calls do. */
static void expect_as_said(bloomery_filter *filter, bloomery_filter *other, const char *name)
{
    const struct test_keys keys = test_keys_make(TEST_RANDOM, 5, 0, KEYS);
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    const bool added = add_status(filter, keys.keys[0]) == BLOOMERY_OK;
    const bool removed = remove_status(filter, keys.keys[0]) == BLOOMERY_OK;
    const bool merged = bloomery_merge(filter, other, NULL) == BLOOMERY_OK;
    const uint32_t layers = info.layers;
    for (size_t i = 0; i < keys.count; i++)
        bloomery_add(filter, keys.keys[i], NULL);
    if (info.can_add != added || info.can_remove != removed || info.can_merge != merged)
        fail_msg("%s: adds %d, removes %d, merges %d", name, added, removed, merged);
    if (info.dialect != 0 && info.can_grow && info.can_merge)
        fail_msg("%s: a chain of another system can't be merged", name);
    bloomery_info_get(filter, &info);
    bloomery_scan_result scan = scan_of(filter);
    if (info.can_grow != (info.layers > layers) || info.has_bits != (scan.bits_set > 0))
        fail_msg("%s: %u layers, %d", name, info.layers, info.has_bits);
    struct test_keys made = keys;
    test_keys_free(&made);
    bloomery_free(filter);
    bloomery_free(other);
}

static void kinds_do_what_they_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        bloomery_filter *filter = make(i, NULL);
        if (filter != NULL)
            expect_as_said(filter, make(i, NULL), name_of(i));
    }
    for (size_t s = 0; s <= TEST_SHAPES; s++) {
        static const struct test_shape growing = {"scalable", BLOOMERY_SCALABLE, 0, 0};
        const struct test_shape *shape = s < TEST_SHAPES ? &test_shapes[s] : &growing;
        const bloomery_plan plan = test_plan(shape, KEYS / 10, 0.01);
        expect_as_said(test_create(&plan, NULL), test_create(&plan, NULL), shape->name);
    }
}

/* A plan is what is made of the same numbers, and its rate is the filter's own. */
static void plans_of_dialects_are_what_is_made(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        bloomery_filter *filter = make(i, NULL);
        bloomery_dialect_parameters with = samples[i].with;
        bloomery_dialect_plan plan = BLOOMERY_DIALECT_PLAN;
        bloomery_layer_info layer = BLOOMERY_LAYER_INFO;
        with.variant = samples[i].variant;
        assert_int_equal(bloomery_dialect_plan_solve(is(samples[i].id), &with, &plan, NULL),
                         BLOOMERY_OK);
        if (filter == NULL)
            continue;
        assert_int_equal(bloomery_layer_info_get(filter, 0, false, &layer), BLOOMERY_OK);
        if (plan.bits != layer.bits || plan.probes != layer.probes ||
            plan.blocks_per_key != layer.blocks_per_key || plan.keys != layer.planned_keys)
            fail_msg("%s: planned %llu bits and %u probes", name_of(i),
                     (unsigned long long)plan.bits, plan.probes);
        const double rate = bloomery_expected_rate(filter, plan.keys);
        if (!(fabs(plan.expected_rate - rate) <= 1e-12 * rate))
            fail_msg("%s: planned a rate of %g, not %g", name_of(i), plan.expected_rate, rate);
        bloomery_free(filter);
    }
}

/* Of filters that no machine has room for, too; and what is refused leaves the plan alone. */
static void plans_of_dialects_take_no_memory(void **state)
{
    const bloomery_dialect_parameters many = {.keys = UINT64_C(1) << 40, .rate = 0.001};
    const bloomery_dialect_parameters wrong = {.keys = 10, .rate = 2};
    bloomery_dialect_plan plan = BLOOMERY_DIALECT_PLAN;
    const bloomery_dialect_plan before = plan;
    bloomery_error error = {0};
    (void)state;
    assert_int_equal(
        bloomery_dialect_plan_solve(is(BLOOMERY_DIALECT_BITS_AND_BLOOMS), &wrong, &plan, &error),
        BLOOMERY_BAD_ARGUMENT);
    assert_true(error.text[0] != '\0');
    assert_int_equal(bloomery_dialect_plan_solve(NULL, &many, &plan, &error),
                     BLOOMERY_BAD_ARGUMENT);
    assert_int_equal(bloomery_dialect_plan_solve(is(BLOOMERY_DIALECT_GUAVA), NULL, &plan, &error),
                     BLOOMERY_BAD_ARGUMENT);
    assert_memory_equal(&plan, &before, sizeof plan);
    assert_int_equal(
        bloomery_dialect_plan_solve(is(BLOOMERY_DIALECT_BITS_AND_BLOOMS), &many, &plan, &error),
        BLOOMERY_OK);
    assert_true(plan.bytes > UINT64_C(1) << 40 && plan.probes == 10 && plan.keys == many.keys);
    assert_true(plan.expected_rate > 0.0009 && plan.expected_rate < 0.0011);
}

static void an_unknown_dialect_is_refused(void **state)
{
    bloomery_filter *filter = NULL;
    bloomery_error error = {0};
    const bloomery_dialect *none = bloomery_dialect_find("guavaa");
    (void)state;
    assert_null(none);
    assert_int_equal(bloomery_dialect_create(none, NULL, NULL, &filter, &error),
                     BLOOMERY_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "bloomery_dialect_find"));
    assert_int_equal(bloomery_dialect_load(none, "", 0, NULL, NULL, &filter, &error),
                     BLOOMERY_BAD_ARGUMENT);
    assert_null(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dialect_is_tested),
        cmocka_unit_test(no_false_negatives_of_dialects),
        cmocka_unit_test(keys_may_come_in_any_way),
        cmocka_unit_test(hashes_do_what_keys_do_or_are_refused),
        cmocka_unit_test(a_bloomery_file_keeps_a_dialect),
        cmocka_unit_test(concurrent_filters_are_the_same_or_refused),
        cmocka_unit_test(merged_filters_equal_the_whole),
        cmocka_unit_test(live_rate_matches_measurement_of_dialects),
        cmocka_unit_test(positions_are_the_bits_of_a_key),
        cmocka_unit_test(every_allocation_of_a_dialect_fails_once),
        cmocka_unit_test(copied_and_moved_dialects_go_on_as_before),
        cmocka_unit_test(kinds_do_what_they_say),
        cmocka_unit_test(plans_of_dialects_are_what_is_made),
        cmocka_unit_test(plans_of_dialects_take_no_memory),
        cmocka_unit_test(an_unknown_dialect_is_refused),
    };
    return test_run_group("dialects", tests, NULL, NULL);
}
