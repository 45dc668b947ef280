/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a filter takes, and what lies in it: its memory to the byte, pages that nobody touched, the
 * cells of a layer, the bits that a chain counts, and how it grows.
 *
 * Build: this file, ../support/support.c, specimens.c; cmocka, the library. No arguments. Suite:
 * property.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/specimens.h"

#include <bloomery/dialect.h>
#include <bloomery/experimental.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { KEYS = 5000 };

/* ---- Memory --------------------------------------------------------------------------------- */

static void assert_all(const bloomery_filter *filter, const struct test_memory *memory)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    assert_int_equal(info_of(filter).memory_bytes, memory->bytes);
    assert_int_equal(info.memory_bytes, memory->bytes);
}

static void memory_is_what_was_allocated(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    (void)state;
    for (size_t i = 0; i < 2 * TEST_SPECIMENS; i++) {
        struct test_memory memory = {.live = 0}, other = {.live = 0};
        const bloomery_filter *opened = NULL;
        options.allocator = test_allocator(&memory);
        options.concurrent_adds = opening.concurrent_adds = i % 2 == 1;
        opening.allocator = test_allocator(&other);
        bloomery_filter *filter = test_specimen(i / 2, &options, &keys);
        assert_all(filter, &memory);
        struct test_bytes file = test_written(filter);
        assert_all(filter, &memory);
        assert_int_equal(bloomery_view(file.data, file.bytes, &opening, &opened, NULL),
                         BLOOMERY_OK);
        assert_all(opened, &other);
        bloomery_free(opened);
        bloomery_filter *own = NULL;
        assert_int_equal(bloomery_load(file.data, file.bytes, &opening, &own, NULL), BLOOMERY_OK);
        assert_all(own, &other);
        assert_int_equal(bloomery_clear(own, NULL), BLOOMERY_OK);
        assert_all(own, &other);
        bloomery_free(own);
        assert_int_equal(bloomery_clear(filter, NULL), BLOOMERY_OK);
        assert_all(filter, &memory);
        bloomery_free(filter);
        assert_int_equal(memory.bytes + other.bytes, 0);
        test_bytes_free(&file);
    }
    test_keys_free(&keys);
}

/* ---- Zeroed memory -------------------------------------------------------------------------- */

/* Pages from the kernel, which knows which of them were touched. */
struct pages {
    uint8_t *largest;
    size_t bytes; /* of it */
    uint64_t live;
};

static void *zero_pages(void *context, size_t bytes, size_t alignment)
{
    struct pages *pages = context;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (alignment > page)
        return NULL;
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_NOHUGEPAGE); /* one touch is one page */
    pages->live++;
    if (bytes > pages->bytes) {
        pages->largest = memory;
        pages->bytes = bytes;
    }
    return memory;
}

static void *no_memory(void *context, size_t bytes, size_t alignment)
{
    (void)context;
    (void)bytes;
    (void)alignment;
    fail_msg("memory that need not be zero was asked for");
    return NULL;
}

static void release_pages(void *context, void *memory, size_t bytes, size_t alignment)
{
    struct pages *pages = context;
    (void)alignment;
    pages->live--;
    munmap(memory, bytes);
}

static size_t touched(const struct pages *pages)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t count = (pages->bytes + page - 1) / page;
    unsigned char *there = malloc(count);
    size_t found = 0;
    assert_non_null(there);
    assert_int_equal(mincore(pages->largest, pages->bytes, there), 0);
    for (size_t i = 0; i < count; i++)
        found += there[i] & 1;
    free(there);
    return found;
}

static void zeroed_memory_stays_untouched(void **state)
{
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    struct test_shape chain = {"scalable", BLOOMERY_SCALABLE, 0, 0};
    (void)state;
    for (size_t i = 0; i < TEST_SHAPES + 1; i++) {
        struct pages pages = {.largest = NULL};
        const struct test_shape *shape = i < TEST_SHAPES ? &test_shapes[i] : &chain;
        bloomery_plan plan = test_plan(shape, 1000000, 0.01);
        options.allocator = (bloomery_allocator){no_memory, release_pages, &pages, zero_pages};
        bloomery_filter *filter = test_create(&plan, &options);
        assert_true(pages.bytes >= 1000000);
        if (touched(&pages) != 0)
            fail_msg("%s: %zu pages were touched", shape->name, touched(&pages));
        assert_true(bloomery_add(filter, bloomery_key_of("key", 3), NULL));
        assert_true(bloomery_may_contain(filter, bloomery_key_of("key", 3)));
        assert_in_range(touched(&pages), 1, 64);
        bloomery_free(filter);
        assert_int_equal(pages.live, 0);
    }
}

/* ---- Layers --------------------------------------------------------------------------------- */

static bool is_set(const uint8_t *cells, uint32_t cell_bits, uint64_t cell)
{
    if (cell_bits == 1)
        return (cells[cell / 8] >> cell % 8 & 1) != 0;
    return cell_bits == 8 ? cells[cell] != 0 : (cells[cell / 2] >> cell % 2 * 4 & 15) != 0;
}

static void the_span_of_a_layer_has_its_cells(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    (void)state;
    for (size_t i = 0; i < TEST_SPECIMENS; i++) {
        bloomery_filter *filter = test_specimen(i, NULL, &keys);
        bloomery_info info = BLOOMERY_INFO;
        const void *cells = &info;
        uint64_t bytes = 1, positions[BLOOMERY_POSITIONS_MAX], all = 0;
        bloomery_info_get(filter, &info);
        for (uint32_t j = 0; j < info.layers; j++) {
            bloomery_layer_info layer = BLOOMERY_LAYER_INFO;
            uint64_t set = 0;
            assert_int_equal(bloomery_layer_info_get(filter, j, true, &layer), BLOOMERY_OK);
            assert_int_equal(bloomery_layer_span(filter, j, &cells, &bytes), BLOOMERY_OK);
            assert_int_equal(bytes, layer.bytes);
            for (uint64_t cell = 0; cell < layer.bits; cell++)
                set += is_set(cells, info.cell_bits, cell);
            assert_int_equal(set, layer.bits_set);
            all += bytes;
        }
        assert_int_equal(all, info.bytes);
        if (info.layers == 1)
            for (size_t k = 0; k < 100; k++) {
                const size_t count =
                    bloomery_positions(filter, 0, keys.keys[k], positions, BLOOMERY_POSITIONS_MAX);
                for (size_t p = 0; p < count; p++)
                    assert_true(is_set(cells, info.cell_bits, positions[p]));
            }
        assert_int_equal(bloomery_layer_span(filter, info.layers, &cells, &bytes),
                         BLOOMERY_BAD_ARGUMENT);
        assert_null(cells);
        assert_int_equal(bytes, 0);
        bloomery_free(filter);
    }
    test_keys_free(&keys);
}

static void bits_that_a_chain_counts_need_no_scan(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    bloomery_info info = BLOOMERY_INFO;
    (void)state;
    for (size_t i = 0; i < TEST_SPECIMENS; i++) {
        bloomery_filter *filter = test_specimen(i, NULL, &keys);
        bloomery_info_get(filter, &info);
        for (uint32_t j = 0; j < info.layers; j++) {
            bloomery_layer_info known = BLOOMERY_LAYER_INFO, scanned = BLOOMERY_LAYER_INFO;
            assert_int_equal(bloomery_layer_info_get(filter, j, false, &known), BLOOMERY_OK);
            assert_int_equal(bloomery_layer_info_get(filter, j, true, &scanned), BLOOMERY_OK);
            assert_int_equal(known.bits_known, info.kind == BLOOMERY_SCALABLE);
            assert_true(scanned.bits_known);
            assert_int_equal(known.bits_set, known.bits_known ? scanned.bits_set : 0);
            if (known.bits_known)
                assert_true(known.estimated_keys == scanned.estimated_keys);
            assert_true(known.live_rate == 0);
        }
        bloomery_free(filter);
    }
    test_keys_free(&keys);
}

/* A batch may leave bits uncounted: then they are unknown, never wrong. */
static void bits_of_a_batch_are_known_or_said_to_be_unknown(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    bloomery_plan plan = {.kind = BLOOMERY_SCALABLE, .keys = 10 * KEYS, .rate = 0.01};
    bloomery_layer_info known = BLOOMERY_LAYER_INFO, scanned = BLOOMERY_LAYER_INFO;
    (void)state;
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    bloomery_filter *filter = test_create(&plan, NULL);
    assert_int_equal(add_list(filter, keys.keys, KEYS, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_layer_info_get(filter, 0, false, &known), BLOOMERY_OK);
    assert_int_equal(bloomery_layer_info_get(filter, 0, true, &scanned), BLOOMERY_OK);
    assert_int_equal(known.bits_set, known.bits_known ? scanned.bits_set : 0);
    bloomery_free(filter);
    test_keys_free(&keys);
}

static void info_says_how_a_filter_grows(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, KEYS);
    bloomery_dialect_parameters with = {
        .struct_bytes = sizeof with, .keys = 700, .rate = 0.01, .growth = 3};
    bloomery_info info = BLOOMERY_INFO;
    bloomery_filter *filter;
    (void)state;
    for (size_t i = 0; i < TEST_SPECIMENS; i++) {
        bloomery_layer_info one = BLOOMERY_LAYER_INFO, next = BLOOMERY_LAYER_INFO;
        filter = test_specimen(i, NULL, &keys);
        bloomery_info_get(filter, &info);
        assert_true(info.growth == (info.kind == BLOOMERY_SCALABLE ? 2 : 0));
        assert_int_equal(info.can_grow, info.growth > 0);
        assert_true((info.tightening > 0) == (info.kind == BLOOMERY_SCALABLE));
        if (i == TEST_GROWN) {
            assert_int_equal(bloomery_layer_info_get(filter, 0, false, &one), BLOOMERY_OK);
            assert_int_equal(bloomery_layer_info_get(filter, 1, false, &next), BLOOMERY_OK);
            assert_true((double)next.planned_keys == (double)one.planned_keys * info.growth);
            assert_true(next.planned_rate == one.planned_rate * info.tightening);
        }
        bloomery_free(filter);
    }
    assert_int_equal(bloomery_dialect_create(bloomery_dialect_get(BLOOMERY_DIALECT_REDISBLOOM),
                                             &with, NULL, &filter, NULL),
                     BLOOMERY_OK);
    bloomery_info_get(filter, &info);
    assert_true(info.growth == 3 && info.tightening == 0.5 && info.can_grow);
    bloomery_free(filter);
    /* A chain that never grows. */
    with = (bloomery_dialect_parameters){
        .struct_bytes = sizeof with, .variant = "nonscaling", .keys = 700, .rate = 0.01};
    assert_int_equal(bloomery_dialect_create(bloomery_dialect_get(BLOOMERY_DIALECT_REDISBLOOM),
                                             &with, NULL, &filter, NULL),
                     BLOOMERY_OK);
    bloomery_info_get(filter, &info);
    assert_true(info.growth == 0 && info.tightening == 0 && !info.can_grow);
    bloomery_free(filter);
    test_keys_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_what_was_allocated),
        cmocka_unit_test(zeroed_memory_stays_untouched),
        cmocka_unit_test(the_span_of_a_layer_has_its_cells),
        cmocka_unit_test(bits_that_a_chain_counts_need_no_scan),
        cmocka_unit_test(bits_of_a_batch_are_known_or_said_to_be_unknown),
        cmocka_unit_test(info_says_how_a_filter_grows),
    };
    return test_run_group("footprint", tests, NULL, NULL);
}
