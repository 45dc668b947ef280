/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains put together are one chain: layers of one shape become one while it has room, the others
 * stand side by side. No key is lost, rates add up, keys go on to the larger of the newest layers,
 * and a failure changes nothing.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/support.h"

#include <bloomery/experimental.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bloomery_filter *make(uint64_t keys, double rate, const bloomery_create_options *options)
{
    bloomery_plan plan = {.kind = BLOOMERY_SCALABLE, .keys = keys, .rate = rate};
    bloomery_error error = {.text = ""};
    if (bloomery_plan_solve(&plan, NULL, &error) != BLOOMERY_OK)
        fail_msg("%s", error.text);
    return test_create(&plan, options);
}

/* A chain planned for `plan` keys, with keys number first to first + count - 1 in it. */
static bloomery_filter *chain_of(uint64_t plan, uint64_t first, size_t count,
                                 const bloomery_create_options *options)
{
    bloomery_filter *filter = make(plan, 0.01, options);
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, first, count);
    assert_int_equal(add_list(filter, keys.keys, count, NULL), BLOOMERY_OK);
    test_keys_free(&keys);
    return filter;
}

static bloomery_layer_info layer_of(const bloomery_filter *filter, uint32_t index)
{
    bloomery_layer_info info = BLOOMERY_LAYER_INFO;
    assert_int_equal(bloomery_layer_info_get(filter, index, true, &info), BLOOMERY_OK);
    return info;
}

static void assert_has(const bloomery_filter *filter, uint64_t first, size_t count)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, first, count);
    assert_int_equal(query_list(filter, keys.keys, count, NULL), count);
    test_keys_free(&keys);
}

/* One minus the product of what the layers' rates leave. */
static double joint_rate(double one, double other)
{
    return one + other - one * other;
}

static void merged_chains_have_all_keys_and_both_rates(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{50, 50},    {50, 5000},    {5000, 50},
                                      {800, 3000}, {30000, 2000}, {2000, 30000}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        bloomery_filter *into = chain_of(100, 0, sizes[s][0], NULL);
        bloomery_filter *from = chain_of(130, 100000, sizes[s][1], NULL);
        const bloomery_info one = info_of(into);
        const bloomery_info other = info_of(from);
        const bloomery_scan_result one_scan = scan_of(into);
        const bloomery_scan_result other_scan = scan_of(from);
        struct test_bytes before = test_written(from);
        bloomery_error error = {.text = ""};
        assert_int_equal(bloomery_compatible(into, from, NULL), BLOOMERY_OK);
        if (bloomery_merge(into, from, &error) != BLOOMERY_OK)
            fail_msg("%s", error.text);
        const bloomery_info both = info_of(into);
        const bloomery_scan_result scan = scan_of(into);
        assert_int_equal(both.layers, one.layers + other.layers);
        assert_int_equal(scan.bits_set, one_scan.bits_set + other_scan.bits_set);
        assert_int_equal(both.adds, one.adds + other.adds);
        assert_int_equal(both.bytes, one.bytes + other.bytes);
        const double rate = joint_rate(one_scan.live_rate, other_scan.live_rate);
        assert_true(scan.live_rate > rate * 0.999999 && scan.live_rate < rate * 1.000001);
        /* What it promises from now on is more than either did, and holds. */
        assert_true(both.planned_rate > one.planned_rate * 1.000001);
        assert_true(both.planned_rate <= (one.planned_rate + other.planned_rate) * 1.000001);
        assert_true(scan.live_rate <= both.planned_rate);
        assert_has(into, 0, sizes[s][0]);
        assert_has(into, 100000, sizes[s][1]);
        struct test_bytes after = test_written(from);
        assert_true(test_bytes_equal(&before, &after));
        test_bytes_free(&before);
        test_bytes_free(&after);
        bloomery_free(from); /* what was merged is a copy */
        assert_has(into, 100000, sizes[s][1]);
        bloomery_free(into);
    }
}

/* Of shards with one plan: bit for bit the chain that all their keys make at once. */
static void layers_of_one_plan_become_one(void **state)
{
    (void)state;
    enum { SHARDS = 70, EACH = 60, PLANNED = 5000 };
    bloomery_filter *whole = chain_of(PLANNED, 0, (size_t)SHARDS * EACH, NULL);
    bloomery_filter *into = chain_of(PLANNED, 0, EACH, NULL);
    assert_int_equal(info_of(whole).layers, 1);
    for (uint64_t shard = 1; shard < SHARDS; shard++) {
        bloomery_filter *from = chain_of(PLANNED, shard * EACH, EACH, NULL);
        assert_int_equal(bloomery_merge(into, from, NULL), BLOOMERY_OK);
        bloomery_free(from);
    }
    test_assert_same(into, whole);
    /* It grows where the whole one does. */
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 100000, 5000);
    assert_int_equal(add_list(into, keys.keys, keys.count, NULL), BLOOMERY_OK);
    assert_int_equal(add_list(whole, keys.keys, keys.count, NULL), BLOOMERY_OK);
    test_keys_free(&keys);
    assert_int_equal(info_of(into).layers, 2);
    test_assert_same(into, whole);
    bloomery_free(into);
    bloomery_free(whole);
}

/* However shards are filled, no layer has more than it is planned for, but by one key's bits. With
 * just that many keys the rate of some forty blocks varies by a tenth. */
static void no_layer_passes_its_mark_by_merging(void **state)
{
    (void)state;
    enum { SHARDS = 40, PLANNED = 2000, ABSENT = 200000 };
    static const size_t sizes[] = {300, 900, 1999, 2600, 1500, 40, 7000, 0};
    bloomery_filter *into = chain_of(PLANNED, 0, 1000, NULL);
    uint32_t layers = 1, apart = 1;
    for (uint64_t shard = 1; shard < SHARDS; shard++) {
        const size_t count = sizes[shard % 8];
        bloomery_filter *from = chain_of(PLANNED, shard * 10000, count, NULL);
        apart += info_of(from).layers;
        if (layers + info_of(from).layers <= 64)
            assert_int_equal(bloomery_merge(into, from, NULL), BLOOMERY_OK);
        layers = info_of(into).layers;
        assert_has(into, shard * 10000, count);
        bloomery_free(from);
    }
    assert_has(into, 0, 1000);
    for (uint64_t shard = 1; shard < SHARDS; shard++)
        assert_has(into, shard * 10000, sizes[shard % 8]);
    assert_true(layers < apart * 2 / 3);
    for (uint32_t i = 0; i < layers; i++) {
        const bloomery_layer_info layer = layer_of(into, i);
        const double full = (double)layer.planned_keys + 4 * sqrt((double)layer.planned_keys);
        assert_true(layer.estimated_keys <= full && layer.live_rate <= layer.planned_rate * 1.25);
    }
    const double rate = scan_of(into).live_rate;
    assert_true(rate <= info_of(into).planned_rate);
    struct test_keys keys = test_keys_make(TEST_RANDOM, 2, 1 << 20, ABSENT);
    const double found = (double)query_list(into, keys.keys, ABSENT, NULL);
    assert_true(fabs(found - ABSENT * rate) < 5 * sqrt(ABSENT * rate) + 1);
    test_keys_free(&keys);
    bloomery_free(into);
}

/* A full layer that has nothing new takes no place of its own, nor does one without keys. */
static void what_is_in_already_adds_no_layer(void **state)
{
    (void)state;
    bloomery_filter *into = chain_of(100, 0, 5000, NULL);
    bloomery_filter *same = chain_of(100, 0, 5000, NULL);
    bloomery_filter *empty = chain_of(100, 0, 0, NULL);
    const bloomery_info before = info_of(into);
    const uint64_t bits_set = scan_of(into).bits_set;
    assert_true(before.layers > 3);
    assert_int_equal(bloomery_merge(into, same, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_merge(into, empty, NULL), BLOOMERY_OK);
    assert_int_equal(info_of(into).layers, before.layers);
    assert_int_equal(scan_of(into).bits_set, bits_set);
    assert_int_equal(info_of(into).adds, 2 * before.adds);
    assert_int_equal(bloomery_merge(empty, into, NULL), BLOOMERY_OK);
    assert_int_equal(info_of(empty).layers, before.layers);
    assert_has(empty, 0, 5000);
    bloomery_free(into);
    bloomery_free(same);
    bloomery_free(empty);
}

/* The larger of the two newest layers is the last, and grows on from there; the file is a chain. */
static void keys_are_added_to_the_larger_layer(void **state)
{
    (void)state;
    for (int larger = 0; larger < 2; larger++) {
        bloomery_filter *into = chain_of(100, 0, larger == 0 ? 10000 : 500, NULL);
        bloomery_filter *from = chain_of(130, 100000, larger == 0 ? 500 : 10000, NULL);
        const bloomery_filter *wide = larger == 0 ? into : from;
        const bloomery_layer_info newest = layer_of(wide, info_of(wide).layers - 1);
        assert_int_equal(bloomery_merge(into, from, NULL), BLOOMERY_OK);
        uint32_t layers = info_of(into).layers;
        assert_int_equal(layer_of(into, layers - 1).bits, newest.bits);
        assert_int_equal(layer_of(into, layers - 1).bits_set, newest.bits_set);
        struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 200000, 40000);
        assert_int_equal(add_list(into, keys.keys, keys.count, NULL), BLOOMERY_OK);
        test_keys_free(&keys);
        const uint32_t grown = info_of(into).layers;
        assert_true(grown > layers);
        assert_int_equal(layer_of(into, layers).planned_keys, newest.planned_keys * 2);
        assert_has(into, 0, larger == 0 ? 10000 : 500);
        assert_has(into, 100000, larger == 0 ? 500 : 10000);
        assert_has(into, 200000, 40000);
        /* Under the two rates together, however far it grows. */
        assert_true(scan_of(into).live_rate < 0.02);
        struct test_bytes bytes = test_written(into);
        bloomery_filter *loaded = NULL;
        assert_int_equal(bloomery_load(bytes.data, bytes.bytes, NULL, &loaded, NULL), BLOOMERY_OK);
        assert_int_equal(info_of(loaded).layers, grown);
        struct test_bytes again = test_written(loaded);
        assert_true(test_bytes_equal(&bytes, &again));
        assert_has(loaded, 200000, 40000);
        test_bytes_free(&again);
        test_bytes_free(&bytes);
        bloomery_free(loaded);
        bloomery_free(into);
        bloomery_free(from);
    }
}

/* Its bits are not counted yet; the layers must become full all the same, and not before. */
static void a_view_of_a_chain_is_merged_like_the_chain(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 200000, 40000);
    bloomery_filter *from = chain_of(100, 100000, 10000, NULL);
    bloomery_filter *into[2] = {chain_of(100, 0, 500, NULL), chain_of(100, 0, 500, NULL)};
    struct test_bytes bytes = test_written(from);
    const bloomery_filter *view = NULL;
    assert_int_equal(bloomery_view(bytes.data, bytes.bytes, NULL, &view, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_merge(into[0], from, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_merge(into[1], view, NULL), BLOOMERY_OK);
    struct test_bytes written[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(add_list(into[i], keys.keys, keys.count, NULL), BLOOMERY_OK);
        written[i] = test_written(into[i]);
    }
    assert_true(test_bytes_equal(&written[0], &written[1]));
    for (int i = 0; i < 2; i++) {
        test_bytes_free(&written[i]);
        bloomery_free(into[i]);
    }
    bloomery_free(view);
    bloomery_free(from);
    test_bytes_free(&bytes);
    test_keys_free(&keys);
}

/* Whichever layer came first by merging: cleared, it is the chain that was made. */
static void a_merged_chain_is_cleared_to_its_own_plan(void **state)
{
    (void)state;
    for (unsigned loaded = 0; loaded < 2; loaded++) {
        struct test_memory memory = {0};
        bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        options.allocator = opening.allocator = test_allocator(&memory);
        bloomery_filter *fresh = chain_of(5000, 0, 0, NULL);
        bloomery_filter *into = chain_of(5000, 0, 3000, &options);
        bloomery_filter *from = chain_of(100, 100000, 2000, NULL);
        if (loaded) { /* its layers then lie in one piece */
            struct test_bytes bytes = test_written(into);
            bloomery_free(into);
            assert_int_equal(bloomery_load(bytes.data, bytes.bytes, &opening, &into, NULL), 0);
            test_bytes_free(&bytes);
        }
        const uint64_t before = memory.bytes;
        assert_int_equal(bloomery_merge(into, from, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_clear(into, NULL), BLOOMERY_OK);
        assert_int_equal(memory.bytes, before);
        test_assert_same(into, fresh);
        bloomery_free(fresh);
        bloomery_free(into);
        bloomery_free(from);
        assert_int_equal(memory.live, 0);
    }
}

static void a_merged_chain_can_be_cleared_and_used_again(void **state)
{
    (void)state;
    for (int larger = 0; larger < 2; larger++) {
        bloomery_filter *into = chain_of(100, 0, larger == 0 ? 90 : 10, NULL);
        bloomery_filter *from = chain_of(larger == 0 ? 50 : 200, 1000, 40, NULL);
        assert_int_equal(bloomery_merge(into, from, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_clear(into, NULL), BLOOMERY_OK);
        bloomery_info info = info_of(into);
        assert_true(info.layers == 1 && test_cells(into) == 0 && info.adds == 0);
        struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 5000, 3000);
        assert_int_equal(add_list(into, keys.keys, keys.count, NULL), BLOOMERY_OK);
        test_keys_free(&keys);
        assert_has(into, 5000, 3000);
        bloomery_free(into);
        bloomery_free(from);
    }
}

/* ---- Failures ------------------------------------------------------------------------------- */

static void refuse_merge(bloomery_filter *into, const bloomery_filter *from, bloomery_status why,
                         const char *words)
{
    struct test_bytes before = test_written(into);
    bloomery_error error = {.text = ""};
    assert_int_equal(bloomery_merge(into, from, &error), why);
    assert_int_equal(error.status, why);
    if (strstr(error.text, words) == NULL)
        fail_msg("no \"%s\" in \"%s\"", words, error.text);
    struct test_bytes after = test_written(into);
    assert_true(test_bytes_equal(&before, &after));
    test_bytes_free(&before);
    test_bytes_free(&after);
}

static void a_chain_takes_no_more_than_it_may(void **state)
{
    (void)state;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_filter *from = chain_of(130, 100000, 5000, NULL);
    bloomery_filter *into = chain_of(100, 0, 500, NULL);
    options.memory_limit = info_of(into).bytes + info_of(from).bytes;
    bloomery_filter *enough = chain_of(100, 0, 500, &options);
    options.memory_limit--;
    bloomery_filter *short_of = chain_of(100, 0, 500, &options);
    assert_int_equal(bloomery_merge(enough, from, NULL), BLOOMERY_OK);
    refuse_merge(short_of, from, BLOOMERY_FULL, "limit");
    /* Full layers with other keys each stay apart. */
    uint64_t first = 200000;
    for (; info_of(into).layers + info_of(from).layers <= 64; first += 5000) {
        bloomery_free(from);
        from = chain_of(130, first, 5000, NULL);
        assert_int_equal(bloomery_merge(into, from, NULL), BLOOMERY_OK);
    }
    bloomery_free(from);
    from = chain_of(130, first, 5000, NULL);
    refuse_merge(into, from, BLOOMERY_FULL, "64 at most");
    assert_has(into, 0, 500);
    assert_has(into, first - 5000, 5000);
    bloomery_free(into);
    bloomery_free(from);
    bloomery_free(enough);
    bloomery_free(short_of);
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    struct test_memory memory = {0};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.allocator = test_allocator(&memory);
    bloomery_filter *into = chain_of(100, 0, 500, &options);
    bloomery_filter *from = chain_of(130, 100000, 5000, NULL);
    const uint64_t live = memory.live;
    const uint32_t layers = info_of(from).layers;
    for (uint32_t refused = 1; refused <= layers; refused++) {
        struct test_bytes before = test_written(into);
        memory.refuse_at = memory.requests + refused;
        assert_int_equal(bloomery_merge(into, from, NULL), BLOOMERY_OUT_OF_MEMORY);
        memory.refuse_at = 0;
        assert_int_equal(memory.live, live);
        struct test_bytes after = test_written(into);
        assert_true(test_bytes_equal(&before, &after));
        test_bytes_free(&before);
        test_bytes_free(&after);
    }
    assert_int_equal(bloomery_merge(into, from, NULL), BLOOMERY_OK);
    assert_int_equal(memory.live, live + layers);
    bloomery_free(into);
    bloomery_free(from);
    assert_true(memory.live == 0 && !memory.wrong);
}

static void what_chains_cannot_do_is_refused(void **state)
{
    (void)state;
    bloomery_filter *one = chain_of(100, 0, 500, NULL);
    bloomery_filter *other = chain_of(100, 0, 500, NULL);
    bloomery_filter *folded = one;
    bloomery_comparison comparison = BLOOMERY_COMPARISON;
    const bloomery_filter *both[] = {one, other};
    struct test_bytes before = test_written(one);
    assert_int_equal(bloomery_intersect(one, other, NULL), BLOOMERY_UNSUPPORTED);
    assert_int_equal(bloomery_fold(one, 1, NULL, &folded, NULL), BLOOMERY_UNSUPPORTED);
    assert_null(folded);
    assert_int_equal(bloomery_compare(one, other, &comparison, NULL), BLOOMERY_UNSUPPORTED);
    assert_int_equal(bloomery_merge_save(both, 2, "/nowhere/at/all", NULL), BLOOMERY_UNSUPPORTED);
    assert_int_equal(bloomery_merge(one, one, NULL), BLOOMERY_OK); /* has all its keys already */
    struct test_bytes after = test_written(one);
    assert_true(test_bytes_equal(&before, &after));
    test_bytes_free(&before);
    test_bytes_free(&after);
    bloomery_free(one);
    bloomery_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merged_chains_have_all_keys_and_both_rates),
        cmocka_unit_test(layers_of_one_plan_become_one),
        cmocka_unit_test(no_layer_passes_its_mark_by_merging),
        cmocka_unit_test(what_is_in_already_adds_no_layer),
        cmocka_unit_test(keys_are_added_to_the_larger_layer),
        cmocka_unit_test(a_view_of_a_chain_is_merged_like_the_chain),
        cmocka_unit_test(a_merged_chain_can_be_cleared_and_used_again),
        cmocka_unit_test(a_merged_chain_is_cleared_to_its_own_plan),
        cmocka_unit_test(a_chain_takes_no_more_than_it_may),
        cmocka_unit_test(every_allocation_fails_once),
        cmocka_unit_test(what_chains_cannot_do_is_refused),
    };
    return test_run_group("merge_chains", tests, NULL, NULL);
}
