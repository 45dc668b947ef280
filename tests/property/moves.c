/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter whose every block has moved is the filter as before: the old memory is poisoned, and
 * answers, bytes, growth and the release of all blocks are right.
 *
 * Build: this file, ../support/support.c, specimens.c; cmocka, the library. No arguments. Suite:
 * property.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/specimens.h"

#include <bloomery/experimental.h>

#include <stdlib.h>
#include <string.h>

enum { KEYS = 5000 };

/* Moves every block, or every second one. */
struct shaker {
    bloomery_allocator allocator;
    uint64_t offered;
    uint64_t bytes;
    bool seldom;
};

static void *shake(void *context, void *memory, size_t bytes, size_t alignment)
{
    struct shaker *shaker = context;
    shaker->bytes += bytes;
    if (shaker->offered++ % 2 == 1 && shaker->seldom)
        return memory;
    void *now = shaker->allocator.allocate(shaker->allocator.context, bytes, alignment);
    assert_non_null(now);
    memcpy(now, memory, bytes);
    /* Poisons the old block. */
    shaker->allocator.release(shaker->allocator.context, memory, bytes, alignment);
    return now;
}

static bloomery_filter *moved(bloomery_filter *filter, const struct test_memory *memory,
                              bloomery_allocator allocator, bool seldom)
{
    struct shaker shaker = {.allocator = allocator, .seldom = seldom};
    const bloomery_filter *before = filter;
    const uint64_t live = memory->live;
    assert_int_equal(info_of(filter).memory_bytes, memory->bytes);
    assert_int_equal(bloomery_move(&filter, shake, &shaker), BLOOMERY_OK);
    assert_true(seldom || filter != before);
    assert_int_equal(shaker.offered, live); /* every block, once */
    assert_int_equal(shaker.bytes, memory->bytes);
    assert_int_equal(memory->live, live);
    assert_false(memory->wrong);
    return filter;
}

static void a_moved_filter_goes_on_as_before(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    struct test_keys more = test_keys_make(TEST_RANDOM, 1, KEYS, 2 * KEYS);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    (void)state;
    for (size_t i = 0; i < 4 * TEST_SPECIMENS; i++) {
        const char *name = test_specimen_name(i / 4);
        struct test_memory memory = {.live = 0};
        options.concurrent_adds = i % 2 == 1;
        options.allocator = test_allocator(&memory);
        bloomery_filter *filter = test_specimen(i / 4, &options, &keys);
        bloomery_filter *still = NULL;
        assert_int_equal(bloomery_copy(filter, NULL, &still, NULL), BLOOMERY_OK);
        filter = moved(filter, &memory, options.allocator, i / 2 % 2 == 1);
        test_assert_same_for(name, still, filter);
        assert_int_equal(query_list(filter, keys.keys, KEYS, NULL), KEYS);
        test_add_all(filter, &more);
        test_add_all(still, &more);
        test_assert_same_for(name, still, filter);
        filter = moved(filter, &memory, options.allocator, false);
        test_assert_same_for(name, still, filter);
        assert_int_equal(bloomery_clear(filter, NULL), BLOOMERY_OK);
        test_add_all(filter, &keys);
        assert_int_equal(query_list(filter, keys.keys, KEYS, NULL), KEYS);
        bloomery_free(filter);
        bloomery_free(still);
        assert_true(memory.live == 0 && !memory.wrong);
    }
    test_keys_free(&keys);
    test_keys_free(&more);
}

/* What is not the filter's own is not offered. */
static void views_and_maps_keep_their_bytes_where_they_are(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    struct test_directory directory = test_directory_make();
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    char path[300];
    (void)state;
    test_join(path, sizeof path, &directory, "f");
    for (size_t i = 0; i < 2 * TEST_SPECIMENS; i++) {
        struct test_memory memory = {.live = 0};
        bloomery_filter *filter = test_specimen(i / 2, NULL, &keys);
        const bloomery_filter *opened = NULL;
        struct test_bytes file = test_written(filter);
        test_write_file(path, file.data, file.bytes);
        options.allocator = test_allocator(&memory);
        if (i % 2 == 0)
            assert_int_equal(bloomery_view(file.data, file.bytes, &options, &opened, NULL),
                             BLOOMERY_OK);
        else
            assert_int_equal(bloomery_map(path, &options, &opened, NULL), BLOOMERY_OK);
        assert_int_equal(memory.live, 1);
        opened = moved((bloomery_filter *)(uintptr_t)opened, &memory, options.allocator, false);
        assert_int_equal(query_list(opened, keys.keys, KEYS, NULL), KEYS);
        assert_int_equal(bloomery_verify(opened, NULL), BLOOMERY_OK);
        test_assert_same_for(test_specimen_name(i / 2), filter, opened);
        bloomery_free(opened);
        assert_true(memory.live == 0 && !memory.wrong);
        bloomery_free(filter);
        test_bytes_free(&file);
    }
    test_directory_remove(&directory);
    test_keys_free(&keys);
}

static void *never(void *context, void *memory, size_t bytes, size_t alignment)
{
    (void)context;
    (void)bytes;
    (void)alignment;
    fail_msg("a block was offered");
    return memory;
}

static void what_the_c_library_gave_is_not_moved(void **state)
{
    const bloomery_plan plan = test_plan(&test_shapes[1], 1000, 0.01);
    bloomery_filter *filter = test_create(&plan, NULL);
    const bloomery_filter *before = filter;
    (void)state;
    assert_int_equal(bloomery_move(&filter, never, NULL), BLOOMERY_UNSUPPORTED);
    assert_ptr_equal(filter, before);
    bloomery_free(filter);
}

static void *stay(void *context, void *memory, size_t bytes, size_t alignment)
{
    size_t *offered = context;
    (void)memory;
    (void)bytes;
    (void)alignment;
    ++*offered;
    return NULL;
}

static void a_block_that_is_not_moved_stays(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    (void)state;
    for (size_t i = 0; i < 2 * TEST_SPECIMENS; i++) {
        struct test_memory memory = {.live = 0};
        size_t offered = 0;
        options.concurrent_adds = i % 2 == 1;
        options.allocator = test_allocator(&memory);
        bloomery_filter *filter = test_specimen(i / 2, &options, &keys);
        const bloomery_filter *before = filter;
        assert_int_equal(bloomery_move(&filter, stay, &offered), BLOOMERY_OK);
        assert_ptr_equal(filter, before);
        assert_int_equal(offered, memory.live);
        assert_int_equal(query_list(filter, keys.keys, KEYS, NULL), KEYS);
        test_add_all(filter, &keys);
        bloomery_free(filter);
        assert_true(memory.live == 0 && !memory.wrong);
    }
    test_keys_free(&keys);
}

/* An allocator that knows one kind of block at a wrong place: 16 bytes behind a right one. */
enum { CROOKED = 16 };

struct bender {
    size_t live;
    size_t offered;
    size_t which; /* of the blocks offered, comes to lie at a wrong place */
    bool empty;   /* memory is exhausted */
};

static void *take(void *context, size_t bytes, size_t alignment)
{
    struct bender *bender = context;
    void *memory = NULL;
    if (bender->empty || posix_memalign(&memory, alignment, bytes) != 0)
        return NULL;
    bender->live++;
    return memory;
}

static void give(void *context, void *memory, size_t bytes, size_t alignment)
{
    struct bender *bender = context;
    const bool crooked = (uintptr_t)memory % alignment != 0;
    memset(memory, 0xdd, bytes);
    free(crooked ? (uint8_t *)memory - CROOKED : memory);
    bender->live--;
}

static void *bend(void *context, void *memory, size_t bytes, size_t alignment)
{
    struct bender *bender = context;
    void *now = NULL;
    if (bender->offered++ != bender->which)
        return memory;
    assert_int_equal(posix_memalign(&now, alignment, bytes + CROOKED), 0);
    memcpy((uint8_t *)now + CROOKED, memory, bytes);
    bender->live++;
    give(bender, memory, bytes, alignment);
    return (uint8_t *)now + CROOKED;
}

static bloomery_filter *bendable(size_t specimen, struct bender *bender,
                                 const struct test_keys *keys)
{
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    *bender = (struct bender){.live = 0};
    options.concurrent_adds = specimen % 2 == 1;
    options.allocator = (bloomery_allocator){take, give, bender, NULL};
    return test_specimen(specimen / 2, &options, keys);
}

static void a_block_at_a_wrong_place_is_put_right(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    struct bender bender;
    (void)state;
    for (size_t i = 0; i < 2 * TEST_SPECIMENS; i++)
        for (size_t which = 0, blocks = 1; which < blocks; which++) {
            bloomery_filter *filter = bendable(i, &bender, &keys);
            bloomery_filter *still = NULL;
            assert_int_equal(bloomery_copy(filter, NULL, &still, NULL), BLOOMERY_OK);
            blocks = bender.live;
            bender.which = which;
            assert_int_equal(bloomery_move(&filter, bend, &bender), BLOOMERY_BAD_ARGUMENT);
            assert_true(bender.live == blocks && bender.offered == blocks);
            test_assert_same_for(test_specimen_name(i / 2), still, filter);
            test_add_all(filter, &keys);
            bloomery_free(filter);
            bloomery_free(still);
            assert_int_equal(bender.live, 0);
        }
    test_keys_free(&keys);
}

static void without_memory_to_put_it_right_all_is_released(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    struct bender bender;
    (void)state;
    for (size_t i = 0; i < 2 * TEST_SPECIMENS; i++)
        for (size_t which = 0, blocks = 1; which < blocks; which++) {
            bloomery_filter *filter = bendable(i, &bender, &keys);
            blocks = bender.live;
            bender.which = which;
            bender.empty = true;
            assert_int_equal(bloomery_move(&filter, bend, &bender), BLOOMERY_OUT_OF_MEMORY);
            assert_null(filter);
            assert_int_equal(bender.live, 0);
        }
    test_keys_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_moved_filter_goes_on_as_before),
        cmocka_unit_test(views_and_maps_keep_their_bytes_where_they_are),
        cmocka_unit_test(what_the_c_library_gave_is_not_moved),
        cmocka_unit_test(a_block_that_is_not_moved_stays),
        cmocka_unit_test(a_block_at_a_wrong_place_is_put_right),
        cmocka_unit_test(without_memory_to_put_it_right_all_is_released),
    };
    return test_run_group("moves", tests, NULL, NULL);
}
