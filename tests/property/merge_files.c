/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters that pass through on their way to a file make the file that merging in memory makes, to
 * the byte, in a memory that does not grow with them; and whatever fails, the old file stays.
 * (save_faults.c fails every single call of the system.)
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property.
 */
#include "../support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PARTS = 3 };

static struct test_directory directory;

static int make_directory(void **state)
{
    (void)state;
    directory = test_directory_make();
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    test_directory_remove(&directory);
    return 0;
}

static const char *path_of(char text[300], const char *name)
{
    test_join(text, 300, &directory, name);
    return text;
}

static const bloomery_filter *open_map(const char *path, const bloomery_open_options *options)
{
    const bloomery_filter *filter = NULL;
    bloomery_error error = {.text = ""};
    if (bloomery_map(path, options, &filter, &error) != BLOOMERY_OK)
        fail_msg("open: %s", error.text);
    return filter;
}

/* What the parts of a case are: their plan but for the size, and their sizes. */
struct parts {
    bloomery_plan plan;
    uint64_t bits[PARTS];
    size_t keys;
    bloomery_create_options options[PARTS];
};

/* Saves each part, and maps what was saved. Parts share a third of their keys. */
static void make_parts(const struct parts *parts, const bloomery_filter *maps[PARTS])
{
    char path[300];
    char name[16];
    for (size_t part = 0; part < PARTS; part++) {
        const bloomery_plan plan = test_by_hand(&parts->plan, parts->bits[part]);
        bloomery_filter *filter = test_create(&plan, &parts->options[part]);
        struct test_keys keys =
            test_keys_make(TEST_RANDOM, 1, part * parts->keys * 2 / 3, parts->keys);
        add_list(filter, keys.keys, keys.count, NULL);
        snprintf(name, sizeof name, "part-%zu", part);
        assert_int_equal(bloomery_save(filter, path_of(path, name), NULL), BLOOMERY_OK);
        bloomery_free(filter);
        test_keys_free(&keys);
        bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
        options.inspect = true;
        maps[part] = open_map(path, &options);
    }
}

/* Merges in memory what the maps hold. */
static bloomery_filter *in_memory(const bloomery_filter *maps[PARTS], uint64_t least,
                                  bool intersect)
{
    char path[300];
    bloomery_filter *into = NULL;
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(maps[0], &info);
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    options.inspect = true;
    if (info.bits > least) {
        uint32_t times = 0;
        while (info.bits >> times > least)
            times++;
        assert_int_equal(bloomery_fold(maps[0], times, NULL, &into, NULL), BLOOMERY_OK);
    } else {
        assert_int_equal(bloomery_open(path_of(path, "part-0"), &options, &into, NULL),
                         BLOOMERY_OK);
    }
    for (size_t part = 1; part < PARTS; part++)
        assert_int_equal(intersect ? bloomery_intersect(into, maps[part], NULL)
                                   : bloomery_merge(into, maps[part], NULL),
                         BLOOMERY_OK);
    return into;
}

/* Both ways, union and intersection; the last time over one of the parts. */
static void both_ways_agree(const struct parts *parts)
{
    const bloomery_filter *maps[PARTS];
    char path[300];
    uint64_t least = parts->bits[0];
    for (size_t part = 1; part < PARTS; part++)
        least = parts->bits[part] < least ? parts->bits[part] : least;
    make_parts(parts, maps);
    for (int intersect = 0; intersect < 2; intersect++) {
        bloomery_filter *expected = in_memory(maps, least, intersect);
        struct test_bytes bytes = test_written(expected);
        bloomery_error error = {.text = ""};
        path_of(path, intersect ? "part-1" : "merged");
        if ((intersect ? bloomery_intersect_save : bloomery_merge_save)(maps, PARTS, path,
                                                                        &error) != BLOOMERY_OK)
            fail_msg("merge_save: %s", error.text);
        struct test_bytes saved = test_read_file(path);
        assert_int_equal(saved.bytes, bytes.bytes);
        assert_memory_equal(saved.data, bytes.data, bytes.bytes);
        test_bytes_free(&saved);
        test_bytes_free(&bytes);
        bloomery_free(expected);
    }
    for (size_t part = 0; part < PARTS; part++)
        bloomery_free(maps[part]);
}

static void the_file_is_that_of_merging_in_memory(void **state)
{
    (void)state;
    static const uint64_t sizes[][PARTS] = {
        {4096, 4096, 4096}, {1024, 4096, 2048}, {8192, 512, 4096}};
    for (int shape = 0; shape < TEST_SHAPES; shape++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            struct parts parts = {.plan = test_plan(&test_shapes[shape], 20000, 0.01),
                                  .keys = 20000};
            for (size_t part = 0; part < PARTS; part++) {
                parts.bits[part] = sizes[s][part] * 512;
                parts.options[part] = (bloomery_create_options)BLOOMERY_CREATE_OPTIONS;
                parts.options[part].note = part == 1 ? "the second" : "a note";
            }
            both_ways_agree(&parts);
        }
}

/* Last spans that are not whole, last bytes that are not, and arrays smaller than a byte. */
static void flat_files_of_any_size_agree(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 3, 511, 513, 65536 * 8 - 1, 65536 * 8 + 1, 65536 * 8 + 511};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        struct parts parts = {.plan = {.kind = BLOOMERY_CLASSIC, .probes = 4, .planned_keys = 1000},
                              .keys = 3000,
                              .bits = {sizes[s] * 2, sizes[s], sizes[s] * 8}};
        for (size_t part = 0; part < PARTS; part++)
            parts.options[part] = (bloomery_create_options)BLOOMERY_CREATE_OPTIONS;
        both_ways_agree(&parts);
    }
}

/* Where the first filter keeps its secret key is where the merged one does. */
static void secret_keys_stay_where_the_first_has_them(void **state)
{
    static const uint8_t key[BLOOMERY_SECRET_BYTES] = "0123456789abcde";
    (void)state;
    if (!test_keyed())
        skip();
    for (size_t inside = 0; inside < PARTS; inside++) {
        struct parts parts = {.plan = {.blocks_per_key = 1, .probes = 6, .keys = 1000},
                              .keys = 1000};
        char path[300];
        for (size_t part = 0; part < PARTS; part++) {
            parts.bits[part] = (uint64_t)512 * 32;
            parts.options[part] = (bloomery_create_options)BLOOMERY_CREATE_OPTIONS;
            parts.options[part].secret = key;
            parts.options[part].secret_outside = part != inside;
        }
        both_ways_agree(&parts);
        const bloomery_filter *merged = NULL;
        bloomery_status status = bloomery_map(path_of(path, "merged"), NULL, &merged, NULL);
        assert_int_equal(status, inside == 0 ? BLOOMERY_OK : BLOOMERY_SECRET_NEEDED);
        bloomery_free(merged);
    }
}

/* Opened without its key, a filter learns it from one that brings it, and keys can be added. */
static void a_key_is_learned_from_the_other_filter(void **state)
{
    static const uint8_t key[BLOOMERY_SECRET_BYTES] = "0123456789abcde";
    (void)state;
    if (!test_keyed())
        skip();
    bloomery_plan plan = {.blocks_per_key = 1, .probes = 6, .bits = (uint64_t)512 * 8};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.secret = key;
    options.secret_outside = true;
    bloomery_filter *filter = test_create(&plan, &options);
    bloomery_add(filter, bloomery_key_of("a", 1), NULL);
    struct test_bytes bytes = test_written(filter);
    bloomery_open_options inspect = BLOOMERY_OPEN_OPTIONS;
    inspect.inspect = true;
    bloomery_filter *blind = NULL;
    assert_int_equal(bloomery_load(bytes.data, bytes.bytes, &inspect, &blind, NULL), BLOOMERY_OK);
    assert_int_equal(add_status(blind, bloomery_key_of("b", 1)), BLOOMERY_SECRET_NEEDED);
    assert_int_equal(bloomery_merge(blind, filter, NULL), BLOOMERY_OK);
    assert_true(bloomery_add(blind, bloomery_key_of("b", 1), NULL));
    assert_true(bloomery_may_contain(blind, bloomery_key_of("a", 1)));
    assert_false(bloomery_may_contain(blind, bloomery_key_of("c", 1)));
    bloomery_free(blind);
    bloomery_free(filter);
    test_bytes_free(&bytes);
}

/* ---- Memory --------------------------------------------------------------------------------- */

/* An allocator that knows how much was out at the most. */
struct gauge {
    size_t now;
    size_t most;
    unsigned requests;
    unsigned refuse_at;
};

static void *gauge_allocate(void *context, size_t bytes, size_t alignment)
{
    struct gauge *gauge = context;
    void *memory = NULL;
    if (++gauge->requests == gauge->refuse_at || posix_memalign(&memory, alignment, bytes) != 0)
        return NULL;
    gauge->now += bytes;
    gauge->most = gauge->now > gauge->most ? gauge->now : gauge->most;
    return memory;
}

static void gauge_release(void *context, void *memory, size_t bytes, size_t alignment)
{
    struct gauge *gauge = context;
    (void)alignment;
    gauge->now -= bytes;
    free(memory);
}

/* Two parts of `blocks` blocks each, mapped with an allocator. */
static void map_pair(struct gauge *gauge, uint64_t blocks, const bloomery_filter *maps[2])
{
    bloomery_plan plan = {.blocks_per_key = 1, .probes = 6, .bits = blocks * 512};
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    char path[300];
    bloomery_filter *filter = test_create(&plan, NULL);
    bloomery_add(filter, bloomery_key_of("a", 1), NULL);
    assert_int_equal(bloomery_save(filter, path_of(path, "big"), NULL), BLOOMERY_OK);
    bloomery_free(filter);
    options.allocator = (bloomery_allocator){gauge_allocate, gauge_release, gauge, NULL};
    maps[0] = open_map(path, &options);
    maps[1] = open_map(path, &options);
}

static void memory_does_not_grow_with_the_filters(void **state)
{
    (void)state;
    char path[300];
    for (uint64_t blocks = 1 << 10; blocks <= 1 << 19; blocks <<= 3) {
        struct gauge gauge = {.now = 0};
        const bloomery_filter *maps[2];
        map_pair(&gauge, blocks, maps);
        gauge.most = gauge.now;
        size_t before = gauge.now;
        bloomery_status status = bloomery_merge_save(maps, 2, path_of(path, "merged"), NULL);
        assert_int_equal(status, BLOOMERY_OK);
        assert_int_equal(gauge.now, before);
        /* A span, 8 bytes for each, and a filter without its bits. */
        assert_true(gauge.most - before <= 65536 + blocks / 128 + 8192);
        gauge.most = gauge.now;
        bloomery_comparison comparison = BLOOMERY_COMPARISON;
        assert_int_equal(bloomery_compare(maps[0], maps[1], &comparison, NULL), BLOOMERY_OK);
        assert_true(comparison.equal);
        assert_int_equal(gauge.most, before);
        bloomery_free(maps[0]);
        bloomery_free(maps[1]);
        assert_int_equal(gauge.now, 0);
    }
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    struct gauge gauge = {.now = 0};
    const bloomery_filter *maps[2];
    char path[300];
    map_pair(&gauge, 1 << 12, maps);
    test_write_file(path_of(path, "old"), "old", 3);
    size_t before = gauge.now;
    unsigned refused = 0;
    bloomery_status status;
    do {
        bloomery_error error = {.text = ""};
        gauge.requests = 0;
        gauge.refuse_at = ++refused;
        status = bloomery_merge_save(maps, 2, path, &error);
        assert_int_equal(gauge.now, before);
        if (status != BLOOMERY_OK) {
            assert_int_equal(status, BLOOMERY_OUT_OF_MEMORY);
            assert_true(error.status == status && error.text[0] != '\0');
            struct test_bytes old = test_read_file(path);
            assert_true(old.bytes == 3 && memcmp(old.data, "old", 3) == 0);
            test_bytes_free(&old);
        }
    } while (status != BLOOMERY_OK);
    assert_true(refused > 2);
    /* Folding: nothing is left behind either. */
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    options.allocator = (bloomery_allocator){gauge_allocate, gauge_release, &gauge, NULL};
    for (refused = 1, status = BLOOMERY_OUT_OF_MEMORY; status != BLOOMERY_OK; refused++) {
        bloomery_filter *folded = (bloomery_filter *)(uintptr_t)&gauge;
        gauge.requests = 0;
        gauge.refuse_at = refused;
        status = bloomery_fold(maps[0], 2, &options, &folded, NULL);
        assert_true((status == BLOOMERY_OK) == (folded != NULL));
        assert_true(status == BLOOMERY_OK || status == BLOOMERY_OUT_OF_MEMORY);
        bloomery_free(folded);
        assert_int_equal(gauge.now, before);
    }
    assert_true(refused > 3);
    bloomery_free(maps[0]);
    bloomery_free(maps[1]);
}

/* ---- What is refused ------------------------------------------------------------------------ */

static void nothing_is_written_where_filters_do_not_fit(void **state)
{
    (void)state;
    struct parts parts = {.plan = {.blocks_per_key = 1, .probes = 6, .keys = 1000}, .keys = 1000};
    const bloomery_filter *maps[PARTS];
    char path[300];
    bloomery_error error;
    for (size_t part = 0; part < PARTS; part++) {
        parts.bits[part] = part < 2 ? (uint64_t)512 * 32 : (uint64_t)512 * 48;
        parts.options[part] = (bloomery_create_options)BLOOMERY_CREATE_OPTIONS;
    }
    make_parts(&parts, maps);
    path_of(path, "never");
    const bloomery_filter *const *filters = maps;
    assert_int_equal(bloomery_merge_save(filters, 0, path, &error), BLOOMERY_BAD_ARGUMENT);
    assert_int_equal(bloomery_merge_save(filters, PARTS, path, &error), BLOOMERY_MISMATCH);
    assert_non_null(strstr(error.text, "filter 3 does not fit the first: the sizes differ"));
    assert_int_not_equal(access(path, F_OK), 0);
    for (size_t part = 0; part < PARTS; part++)
        bloomery_free(maps[part]);
}

static void a_damaged_file_is_not_merged(void **state)
{
    (void)state;
    struct gauge gauge = {.now = 0};
    const bloomery_filter *maps[2];
    char path[300];
    bloomery_error error;
    map_pair(&gauge, 1 << 12, maps);
    bloomery_free(maps[1]);
    struct test_bytes bytes = test_read_file(path_of(path, "big"));
    bytes.data[100000] ^= 1;
    test_write_file(path_of(path, "bad"), bytes.data, bytes.bytes);
    test_bytes_free(&bytes);
    maps[1] = open_map(path, NULL);
    path_of(path, "never");
    bloomery_status status = bloomery_merge_save(maps, 2, path, &error);
    assert_int_equal(status, BLOOMERY_CORRUPT);
    assert_non_null(strstr(error.text, "filter 2: "));
    assert_int_not_equal(access(path, F_OK), 0);
    bloomery_free(maps[0]);
    bloomery_free(maps[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_file_is_that_of_merging_in_memory),
        cmocka_unit_test(flat_files_of_any_size_agree),
        cmocka_unit_test(secret_keys_stay_where_the_first_has_them),
        cmocka_unit_test(a_key_is_learned_from_the_other_filter),
        cmocka_unit_test(memory_does_not_grow_with_the_filters),
        cmocka_unit_test(every_allocation_fails_once),
        cmocka_unit_test(nothing_is_written_where_filters_do_not_fit),
        cmocka_unit_test(a_damaged_file_is_not_merged),
    };
    return test_run_group("merge_files", tests, make_directory, remove_directory);
}
