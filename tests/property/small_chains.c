/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain takes the memory that its layers need, whatever number of them it may get: little at
 * first, and room for twice as many records as often as it outgrows the room it has. Of a small
 * chain of another system's nothing is in memory but the words that have bits, whatever is done to
 * it.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/support.h"

#include <bloomery/dialect.h>
#include <bloomery/experimental.h>

#include <string.h>

/* What a filter may take besides its bits, and a layer besides its own. The filter that BF.ADD
 * makes has a block of 384 bytes, which the server's allocator has, with a byte of the module's. */
enum { FILTER_BYTES = 700, RECORD_BYTES = 128, DEFAULT_BYTES = 383 };

static uint64_t besides_bits(const bloomery_filter *filter)
{
    const bloomery_info info = info_of(filter);
    return info.memory_bytes - info.bytes;
}

/* A chain of Bloomery or of RedisBloom; small, so that some thousand keys make many layers. */
static bloomery_filter *chain(bool foreign, uint32_t growth, const bloomery_create_options *options)
{
    bloomery_dialect_parameters with = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_filter *filter = NULL;
    with.growth = growth;
    with.keys = 20;
    with.rate = 0.01;
    bloomery_plan plan = {.kind = BLOOMERY_SCALABLE, .keys = 20, .rate = 0.01};
    if (foreign) {
        assert_int_equal(bloomery_dialect_create(bloomery_dialect_find("redisbloom"), &with,
                                                 options, &filter, NULL),
                         BLOOMERY_OK);
        return filter;
    }
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    return test_create(&plan, options);
}

static void a_new_chain_takes_little_memory(void **state)
{
    bloomery_dialect_parameters with = BLOOMERY_DIALECT_PARAMETERS; /* as BF.ADD makes one */
    bloomery_filter *filter = NULL;
    (void)state;
    assert_int_equal(
        bloomery_dialect_create(bloomery_dialect_find("redisbloom"), &with, NULL, &filter, NULL),
        BLOOMERY_OK);
    assert_in_range(info_of(filter).memory_bytes, 144, DEFAULT_BYTES);
    bloomery_free(filter);
    filter = chain(false, 0, NULL);
    assert_in_range(besides_bits(filter), 1, FILTER_BYTES);
    bloomery_free(filter);
}

/* Room comes for 2 layers, 4, 8, ...: seldom, and never much more than is used. */
static void room_for_layers_comes_as_a_chain_grows(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 4000);
    (void)state;
    for (int foreign = 0; foreign < 2; foreign++) {
        struct test_memory memory = {.live = 0};
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        options.allocator = test_allocator(&memory);
        bloomery_filter *filter = chain(foreign == 1, foreign == 1 ? 1 : 0, &options);
        const uint64_t first = besides_bits(filter);
        uint64_t before = first;
        uint32_t layers = 1, changes = 0;
        for (size_t i = 0; i < keys.count && layers < 40; i++) {
            assert_true(add_status(filter, keys.keys[i]) == BLOOMERY_OK);
            const uint64_t now = besides_bits(filter);
            layers = info_of(filter).layers;
            assert_in_range(now, first, first + UINT64_C(2) * layers * RECORD_BYTES);
            assert_int_equal(memory.bytes, info_of(filter).memory_bytes);
            changes += now != before;
            before = now;
        }
        assert_true(layers >= 7);
        assert_in_range(1u << changes, layers, 2 * layers - 1);
        assert_int_equal(bloomery_clear(filter, NULL), BLOOMERY_OK);
        assert_int_equal(besides_bits(filter), first);
        assert_true(bloomery_add(filter, keys.keys[0], NULL));
        bloomery_free(filter);
        assert_int_equal(memory.live, 0);
    }
    test_keys_free(&keys);
}

/* Threads may be querying, so nothing may be put elsewhere: all the room is there at first. */
static void a_concurrent_chain_has_its_room_at_first(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 4000);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    (void)state;
    options.concurrent_adds = true;
    bloomery_filter *filter = chain(false, 0, &options);
    const uint64_t first = besides_bits(filter);
    test_add_all(filter, &keys);
    assert_true(info_of(filter).layers > 4);
    assert_int_equal(besides_bits(filter), first);
    bloomery_free(filter);
    test_keys_free(&keys);
}

/* Whichever allocation is refused, the chain keeps its keys, and grows when there is memory. */
static void a_refused_room_loses_nothing(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 300);
    unsigned refused = 0;
    (void)state;
    bloomery_filter *whole = chain(true, 1, NULL);
    test_add_all(whole, &keys);
    struct test_bytes wanted = test_written(whole);
    bloomery_free(whole);
    for (uint64_t at = 3; at < 30; at++) {
        struct test_memory memory = {.refuse_at = at};
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        options.allocator = test_allocator(&memory);
        bloomery_filter *filter = chain(true, 1, &options);
        for (size_t i = 0; i < keys.count; i++) {
            int found = add_outcome(filter, keys.keys[i]);
            if (found == BLOOMERY_OUT_OF_MEMORY) {
                refused++;
                for (size_t k = 0; k < i; k++)
                    assert_true(bloomery_may_contain(filter, keys.keys[k]));
                found = add_outcome(filter, keys.keys[i]);
            }
            assert_true(found >= 0);
        }
        memory.refuse_at = 0;
        struct test_bytes bytes = test_written(filter);
        assert_true(test_bytes_equal(&wanted, &bytes));
        test_bytes_free(&bytes);
        bloomery_free(filter);
        assert_true(memory.live == 0 && !memory.wrong);
    }
    assert_true(refused > 15);
    test_bytes_free(&wanted);
    test_keys_free(&keys);
}

/* ---- Whole words ----------------------------------------------------------------------------- */

/* For few keys; the bits end anywhere in a word. NULL: no libcrypto for its hash. */
static bloomery_filter *small_chain(const char *dialect, uint64_t keys,
                                    const bloomery_create_options *options)
{
    bloomery_dialect_parameters with = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_filter *filter = NULL;
    bloomery_error error;
    with.growth = 2;
    with.keys = keys;
    with.rate = 0.01;
    const bloomery_status status =
        bloomery_dialect_create(bloomery_dialect_find(dialect), &with, options, &filter, &error);
    if (status != BLOOMERY_UNSUPPORTED || strstr(error.text, "libcrypto") == NULL)
        assert_int_equal(status, BLOOMERY_OK);
    return filter;
}

/* RedisBloom's needs no libcrypto. */
static const char *const dialects[] = {"redisbloom", "pybloom-live"};

/* The words of the bits are in memory, and a file has whole lines. */
static void a_small_chain_of_others_has_whole_words(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 2 * 600; i++) {
        bloomery_filter *filter = small_chain(dialects[i % 2], 1 + i / 2, NULL);
        if (filter == NULL)
            continue;
        const bloomery_info info = info_of(filter);
        const void *cells;
        uint64_t bytes;
        assert_int_equal(bloomery_layer_span(filter, 0, &cells, &bytes), BLOOMERY_OK);
        assert_int_equal(info.bytes, (info.bits + 511) / 512 * 64);
        if (info.bytes <= 1024)
            assert_int_equal(bytes, (info.bits + 63) / 64 * 8);
        else
            assert_int_equal(bytes, info.bytes);
        assert_in_range(info.memory_bytes, bytes, bytes + FILTER_BYTES);
        bloomery_free(filter);
    }
}

static void assert_written(const bloomery_filter *filter, const struct test_bytes *wanted)
{
    struct test_bytes bytes = test_written(filter);
    assert_true(test_bytes_equal(&bytes, wanted));
    test_bytes_free(&bytes);
}

/* A copy of a filter is the filter, and so is a copy of that. */
static void assert_copied(const bloomery_filter *filter, const struct test_bytes *wanted)
{
    bloomery_filter *copy = NULL, *again = NULL;
    assert_int_equal(bloomery_copy(filter, NULL, &copy, NULL), BLOOMERY_OK);
    assert_written(copy, wanted);
    assert_int_equal(bloomery_copy(copy, NULL, &again, NULL), BLOOMERY_OK);
    assert_written(again, wanted);
    bloomery_free(copy);
    bloomery_free(again);
}

/* To a new block; the old one is overwritten when it is released. */
static void *move(void *context, void *memory, size_t bytes, size_t alignment)
{
    const bloomery_allocator *allocator = context;
    void *now = allocator->allocate(allocator->context, bytes, alignment);
    assert_non_null(now);
    memcpy(now, memory, bytes);
    allocator->release(allocator->context, memory, bytes, alignment);
    return now;
}

/* Saved, loaded, copied, moved, grown and cleared, it is as one in whole lines, which one that was
 * loaded has. */
static void a_small_chain_of_others_loses_nothing(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 2000);
    (void)state;
    for (uint64_t i = 0; i < 2 * 130; i++) {
        const uint64_t many = 1 + i / 2;
        struct test_memory memory = {.live = 0};
        bloomery_allocator allocator = test_allocator(&memory);
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        bloomery_filter *loaded = NULL;
        options.allocator = allocator;
        bloomery_filter *filter = small_chain(dialects[i % 2], many, &options);
        if (filter == NULL) {
            assert_true(memory.live == 0);
            continue;
        }
        struct test_bytes empty = test_written(filter);
        const uint64_t first = info_of(filter).memory_bytes;
        for (uint64_t k = 0; k < many; k++)
            assert_true(add_status(filter, keys.keys[k]) == BLOOMERY_OK);
        struct test_bytes wanted = test_written(filter);
        assert_int_equal(bloomery_load(wanted.data, wanted.bytes, NULL, &loaded, NULL),
                         BLOOMERY_OK);
        assert_int_equal(bloomery_verify(filter, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_move(&filter, move, &allocator), BLOOMERY_OK);
        assert_written(filter, &wanted);
        assert_copied(filter, &wanted);
        assert_copied(loaded, &wanted);
        for (uint64_t k = many; k < 8 * many; k++)
            assert_int_equal(add_outcome(filter, keys.keys[k]), add_outcome(loaded, keys.keys[k]));
        assert_int_equal(bloomery_move(&filter, move, &allocator), BLOOMERY_OK);
        struct test_bytes grown = test_written(loaded);
        assert_written(filter, &grown);
        assert_copied(filter, &grown);
        assert_int_equal(bloomery_clear(filter, NULL), BLOOMERY_OK);
        assert_written(filter, &empty);
        assert_int_equal(info_of(filter).memory_bytes, first);
        bloomery_free(filter);
        bloomery_free(loaded);
        assert_true(memory.live == 0 && !memory.wrong);
        test_bytes_free(&empty);
        test_bytes_free(&wanted);
        test_bytes_free(&grown);
    }
    test_keys_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_chain_takes_little_memory),
        cmocka_unit_test(room_for_layers_comes_as_a_chain_grows),
        cmocka_unit_test(a_concurrent_chain_has_its_room_at_first),
        cmocka_unit_test(a_refused_room_loses_nothing),
        cmocka_unit_test(a_small_chain_of_others_has_whole_words),
        cmocka_unit_test(a_small_chain_of_others_loses_nothing),
    };
    return test_run_group("small_chains", tests, NULL, NULL);
}
