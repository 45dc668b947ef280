/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static filters in files: what was saved is opened again, damage is refused or does no harm, what
 * a static filter can't do it says, and a build that fails leaves nothing behind.
 *
 * Build: this file, ../support/support.c, ../support/forge.c; cmocka, the library, libxxhash.
 * Argument: the directory ../vectors. Suite: property.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/built.h"
#include "../support/forge.h"
#include "../vectors/golden.h"

#include <bloomery/experimental.h>
#include <bloomery/records.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *vectors;

enum { KEYS = 10000, RIBBON_RECORD = FORGE_RECORDS + 8 + 64, RIBBON_BYTES = 32 };

static struct test_bytes a_static_file(double rate)
{
    const bloomery_filter *filter = test_static_of_integers(rate, 0, KEYS);
    struct test_bytes bytes = test_written(filter);
    bloomery_free(filter);
    return bytes;
}

/* ---- Back again ------------------------------------------------------------------------------ */

static void same_filter(const bloomery_filter *filter, const struct test_bytes *expected)
{
    struct test_bytes bytes = test_written(filter);
    assert_true(test_bytes_equal(&bytes, expected));
    assert_int_equal(bloomery_verify(filter, NULL), BLOOMERY_OK);
    assert_int_equal(test_found(filter, 0, KEYS), KEYS);
    assert_int_equal(info_of(filter).file_bytes, expected->bytes);
    test_bytes_free(&bytes);
}

static void a_static_file_opens_as_what_was_saved(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    char path[300];
    test_join(path, sizeof path, &directory, "a.bloom");
    static const double rates[] = {0.6, 0.1, 1.0 / 256, 1e-3, 1e-9};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        const bloomery_filter *filter = NULL;
        bloomery_filter *other = NULL;
        struct test_bytes bytes = a_static_file(rates[i]);
        assert_int_equal(forge_payload(&bytes) % 4096, 0);
        assert_int_equal(bloomery_view(bytes.data, bytes.bytes, NULL, &filter, NULL), BLOOMERY_OK);
        same_filter(filter, &bytes);
        assert_int_equal(bloomery_save(filter, path, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_copy(filter, NULL, &other, NULL), BLOOMERY_OK);
        same_filter(other, &bytes);
        bloomery_free(other);
        bloomery_free(filter);
        assert_int_equal(bloomery_map(path, NULL, &filter, NULL), BLOOMERY_OK);
        same_filter(filter, &bytes);
        bloomery_free(filter);
        assert_int_equal(bloomery_open(path, NULL, &other, NULL), BLOOMERY_OK);
        same_filter(other, &bytes);
        bloomery_free(other);
        assert_int_equal(bloomery_load(bytes.data, bytes.bytes, NULL, &other, NULL), BLOOMERY_OK);
        same_filter(other, &bytes);
        bloomery_free(other);
        test_bytes_free(&bytes);
    }
    test_directory_remove(&directory);
}

/* Straight to the file, by way of a directory or of memory. */
static void saving_a_builder_writes_the_same_file(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    char path[300];
    test_join(path, sizeof path, &directory, "a.bloom");
    const struct test_bytes expected = a_static_file(1e-3);
    struct test_integers integers = test_integers_make(0, KEYS);
    for (int spilling = 0; spilling < 2; spilling++) {
        bloomery_builder_options options = BLOOMERY_BUILDER_OPTIONS;
        options.directory = spilling ? directory.path : NULL;
        bloomery_builder *builder = test_builder(1e-3, NULL, &options);
        assert_int_equal(bloomery_builder_add(builder, &integers.column, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_builder_save(builder, path, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_builder_save(builder, path, NULL), BLOOMERY_BAD_ARGUMENT);
        assert_int_equal(bloomery_builder_add(builder, &integers.column, NULL),
                         BLOOMERY_BAD_ARGUMENT);
        bloomery_builder_free(builder);
        struct test_bytes bytes = test_read_file(path);
        assert_true(test_bytes_equal(&bytes, &expected));
        test_bytes_free(&bytes);
        assert_int_equal(test_directory_entries(&directory), 1);
    }
    free(integers.values);
    test_bytes_free((struct test_bytes *)(uintptr_t)&expected);
    test_directory_remove(&directory);
}

static void the_golden_static_file_is_read_and_written_as_ever(void **state)
{
    (void)state;
    const bloomery_filter *filter = NULL;
    char path[4096];
    snprintf(path, sizeof path, "%s/golden-v2-static.bloom", vectors);
    struct test_bytes golden = test_read_file(path);
    assert_int_equal(bloomery_map(path, NULL, &filter, NULL), BLOOMERY_OK);
    for (unsigned number = 0; number < GOLDEN_STATIC_BELOW; number += 3) {
        char text[16];
        assert_true(bloomery_may_contain(filter, golden_key(number, text)));
    }
    assert_true(golden_digest(filter) == GOLDEN_STATIC_DIGEST);
    bloomery_free(filter);
    assert_int_equal(golden_static_make(&filter, NULL), BLOOMERY_OK);
    struct test_bytes ours = test_written(filter);
    assert_true(test_bytes_equal(&ours, &golden));
    bloomery_free(filter);
    test_bytes_free(&ours);
    test_bytes_free(&golden);
}

/* A secret, a rule and a note are kept; with the secret outside, keys need it. */
static void a_static_filter_keeps_its_secret_rule_and_note(void **state)
{
    (void)state;
    if (!test_keyed())
        skip();
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    bloomery_info info = BLOOMERY_INFO;
    const bloomery_filter *filter = NULL;
    options.secret = (const uint8_t *)"a static secret!";
    options.secret_outside = true;
    options.note = "a note";
    options.rule.flags = BLOOMERY_RULE_TRIM;
    struct test_keys keys = test_keys_make(TEST_URLS, 1, 0, 3000);
    bloomery_builder *builder = test_builder(0.01, &options, NULL);
    assert_int_equal(build_list(builder, keys.keys, keys.count, NULL), BLOOMERY_OK);
    const bloomery_filter *built = test_finish(builder);
    struct test_bytes bytes = test_written(built);
    assert_int_equal(bloomery_view(bytes.data, bytes.bytes, NULL, &filter, NULL),
                     BLOOMERY_SECRET_NEEDED);
    opening.secret = options.secret;
    assert_int_equal(bloomery_view(bytes.data, bytes.bytes, &opening, &filter, NULL), BLOOMERY_OK);
    assert_int_equal(query_list(filter, keys.keys, keys.count, NULL), keys.count);
    bloomery_info_get(filter, &info);
    assert_string_equal(info.note, "a note");
    assert_true(info.hash == BLOOMERY_HASH_SIPHASH && info.rule.flags == BLOOMERY_RULE_TRIM);
    assert_true(!info.writable && !info.can_add && !info.can_merge && !info.has_bits);
    bloomery_free(filter);
    bloomery_free(built);
    test_bytes_free(&bytes);
    test_keys_free(&keys);
}

/* ---- Damage ---------------------------------------------------------------------------------- */

/* Each byte of the ribbon's record turned, and the header sealed again. Only numbers that describe
 * another ribbon of the same size could pass; there is none with one byte's difference but in b0,
 * where a plane's padding hides a few blocks. */
static void damaged_ribbon_records_are_refused(void **state)
{
    (void)state;
    struct test_bytes bytes = a_static_file(0.004);
    size_t passed = 0;
    for (size_t at = RIBBON_RECORD + 8; at < RIBBON_RECORD + 8 + RIBBON_BYTES; at++)
        for (unsigned bit = 0; bit < 8; bit++) {
            const bloomery_filter *filter = NULL;
            bloomery_error error = {.status = BLOOMERY_OK};
            const uint64_t was = forge_get(&bytes, at, 1);
            forge_put(&bytes, at, was ^ UINT64_C(1) << bit, 1);
            assert_true(forge_seal_header(&bytes));
            const bloomery_status status =
                bloomery_view(bytes.data, bytes.bytes, NULL, &filter, &error);
            assert_true((status == BLOOMERY_OK) == (filter != NULL));
            assert_true(status == BLOOMERY_OK || error.text[0] != '\0');
            if (filter != NULL) {
                passed++;
                assert_true(at >= RIBBON_RECORD + 16 && at < RIBBON_RECORD + 24);
                (void)test_found(filter, 0, KEYS);
            }
            bloomery_free(filter);
            forge_put(&bytes, at, was, 1);
        }
    assert_true(passed <= 8);
    assert_true(forge_seal_header(&bytes));
    test_bytes_free(&bytes);
}

/* A layer without its ribbon, a ribbon too many, and a ribbon in a filter of another kind. */
static void ribbons_go_with_layers_of_static_filters(void **state)
{
    (void)state;
    static const uint8_t body[32] = {64, 0, 0, 0, 0};
    const bloomery_filter *filter = NULL;
    struct test_bytes bytes = a_static_file(0.1);
    forge_put(&bytes, RIBBON_RECORD, 77, 2);
    forge_put(&bytes, RIBBON_RECORD + 2, 0, 2); /* a record that a reader skips */
    assert_true(forge_seal(&bytes));
    assert_int_equal(bloomery_view(bytes.data, bytes.bytes, NULL, &filter, NULL), BLOOMERY_CORRUPT);
    test_bytes_free(&bytes);
    bytes = a_static_file(0.1);
    forge_put(&bytes, FORGE_KIND, BLOOMERY_CLASSIC, 2);
    assert_true(forge_seal(&bytes));
    assert_int_equal(bloomery_view(bytes.data, bytes.bytes, NULL, &filter, NULL), BLOOMERY_CORRUPT);
    test_bytes_free(&bytes);
    bytes = a_static_file(0.1);
    forge_add_record(&bytes, 7, 1, body, sizeof body, sizeof body);
    assert_int_equal(bloomery_view(bytes.data, bytes.bytes, NULL, &filter, NULL), BLOOMERY_CORRUPT);
    test_bytes_free(&bytes);
    bytes = a_static_file(0.1);
    forge_put(&bytes, FORGE_HASH, BLOOMERY_HASH_XXH3_64, 2);
    assert_true(forge_seal(&bytes));
    assert_int_equal(bloomery_view(bytes.data, bytes.bytes, NULL, &filter, NULL), BLOOMERY_CORRUPT);
    test_bytes_free(&bytes);
}

/* Memory that ends at a page that can't be read: the end of the last layer is the end of that. */
static void *allocate_at_fence(void *context, size_t bytes, size_t alignment)
{
    struct test_fence *fence = context;
    if (bytes != fence->bytes || fence->map != NULL)
        return aligned_alloc(alignment < 64 ? 64 : alignment, (bytes + 63) / 64 * 64);
    void *zeros = calloc(1, bytes);
    assert_non_null(zeros);
    *fence = test_fence_make(zeros, bytes);
    free(zeros);
    return fence->data;
}

static void release_at_fence(void *context, void *memory, size_t bytes, size_t alignment)
{
    const struct test_fence *fence = context;
    (void)bytes;
    (void)alignment;
    if (memory != fence->data)
        free(memory);
}

static void any_payload_is_safe_to_query(void **state)
{
    (void)state;
    static const double rates[] = {0.6, 0.1, 1.0 / 256, 1e-3, 1e-9};
    for (size_t i = 0; i < 2 * sizeof rates / sizeof rates[0]; i++) {
        struct test_fence fence = {.map = NULL};
        struct test_bytes bytes = a_static_file(rates[i / 2]);
        bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
        bloomery_filter *filter = NULL;
        uint64_t seed = i;
        fence.bytes = (size_t)forge_get(&bytes, FORGE_PAYLOAD_BYTES, 8);
        options.allocator = (bloomery_allocator){
            .allocate = allocate_at_fence, .release = release_at_fence, .context = &fence};
        assert_int_equal(bloomery_load(bytes.data, bytes.bytes, &options, &filter, NULL),
                         BLOOMERY_OK);
        const void *span;
        uint64_t span_bytes;
        assert_int_equal(bloomery_layer_span(filter, 0, &span, &span_bytes), BLOOMERY_OK);
        assert_ptr_equal(span, fence.data);
        for (size_t at = 0; at < fence.bytes; at++)
            fence.data[at] = i % 2 == 0 ? 0xff : (uint8_t)test_next(&seed);
        size_t found = test_found(filter, 0, 100000);
        if (i % 2 == 0) /* all thresholds 3: every key goes through all layers */
            assert_int_equal(found, 100000);
        struct test_integers integers = test_integers_make(0, 5000);
        found = test_found(filter, 0, 5000);
        for (size_t j = 0; j < 5000; j++)
            found -= bloomery_may_contain(filter, bloomery_key_of(&integers.values[j], 8));
        assert_int_equal(found, 0);
        free(integers.values);
        bloomery_scan_result scan = scan_of(filter);
        assert_true(scan.live_rate >= 0 && scan.live_rate <= 1);
        bloomery_free(filter);
        test_fence_free(&fence);
        test_bytes_free(&bytes);
    }
}

static void spare_bytes_of_a_static_filter_must_be_zero(void **state)
{
    (void)state;
    struct test_bytes bytes = a_static_file(0.01);
    const size_t last = forge_trailer(&bytes) - 1; /* of the zeros behind the last thresholds */
    const bloomery_filter *filter = NULL;
    forge_put(&bytes, last, 1, 1);
    assert_true(forge_seal(&bytes));
    assert_int_equal(bloomery_view(bytes.data, bytes.bytes, NULL, &filter, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_verify(filter, NULL), BLOOMERY_CORRUPT);
    bloomery_free(filter);
    test_bytes_free(&bytes);
}

/* ---- What it refuses ------------------------------------------------------------------------- */

static void what_a_static_filter_cannot_do_it_refuses(void **state)
{
    (void)state;
    bloomery_error error;
    bloomery_comparison comparison = BLOOMERY_COMPARISON;
    bloomery_filter *made = NULL;
    bloomery_filter *filter = NULL;
    const bloomery_filter *built = test_static_of_integers(0.01, 0, 1000);
    const bloomery_filter *other = test_static_of_integers(0.01, 500, 1000);
    bloomery_plan plan = {.kind = BLOOMERY_STATIC, .keys = 1000, .rate = 0.01};
    const bloomery_key key = bloomery_key_of("key", 3);
    const bloomery_filter *const both[] = {built, other};
    uint64_t position;
    struct test_bytes before = test_written(built);
    /* Of the calls that change a filter a copy is needed: what was built is const. */
    assert_int_equal(bloomery_copy(built, NULL, &filter, NULL), BLOOMERY_OK);
    assert_int_equal(add_status(filter, key), BLOOMERY_READ_ONLY);
    assert_int_equal(add_list(filter, &key, 1, NULL), BLOOMERY_READ_ONLY);
    assert_int_equal(add_list_threads(filter, &key, 1, 2, &error), BLOOMERY_READ_ONLY);
    assert_non_null(strstr(error.text, "build it again"));
    assert_int_equal(add_hash_status(filter, (bloomery_hash){1, 2}), BLOOMERY_READ_ONLY);
    assert_int_equal(remove_status(filter, key), BLOOMERY_UNSUPPORTED);
    assert_int_equal(bloomery_clear(filter, NULL), BLOOMERY_UNSUPPORTED);
    assert_int_equal(bloomery_merge(filter, other, &error), BLOOMERY_UNSUPPORTED);
    assert_int_equal(bloomery_intersect(filter, other, &error), BLOOMERY_UNSUPPORTED);
    assert_int_equal(bloomery_fold(filter, 1, NULL, &made, &error), BLOOMERY_UNSUPPORTED);
    assert_int_equal(bloomery_drop_counters(filter, NULL, &made, &error), BLOOMERY_UNSUPPORTED);
    assert_int_equal(bloomery_merge_save(both, 2, "/nowhere/x", &error), BLOOMERY_UNSUPPORTED);
    assert_int_equal(bloomery_intersect_save(both, 2, "/nowhere/x", &error), BLOOMERY_UNSUPPORTED);
    assert_int_not_equal(bloomery_compare(filter, other, &comparison, &error), BLOOMERY_OK);
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_create(&plan, NULL, &made, &error), BLOOMERY_UNSUPPORTED);
    assert_non_null(strstr(error.text, "bloomery_builder_open"));
    assert_int_equal(bloomery_positions(filter, 0, key, &position, 1), 0);
    struct test_bytes after = test_written(filter);
    assert_true(test_bytes_equal(&before, &after));
    test_bytes_free(&before);
    test_bytes_free(&after);
    bloomery_free(filter);
    bloomery_free(built);
    bloomery_free(other);
}

static void plans_of_static_filters_refuse_what_they_have_not(void **state)
{
    (void)state;
    bloomery_plan_options options[5] = {BLOOMERY_PLAN_OPTIONS, BLOOMERY_PLAN_OPTIONS,
                                        BLOOMERY_PLAN_OPTIONS, BLOOMERY_PLAN_OPTIONS,
                                        BLOOMERY_PLAN_OPTIONS};
    options[0].probes = 3;
    options[1].blocks_per_key = 1;
    options[2].folds = 2;
    options[3].cell_bits = 4;
    options[4].hash = BLOOMERY_HASH_XXH3_64;
    for (size_t i = 0; i < 5; i++) {
        bloomery_plan plan = {.kind = BLOOMERY_STATIC, .keys = 1000, .rate = 0.01};
        assert_int_equal(bloomery_plan_solve(&plan, &options[i], NULL), BLOOMERY_BAD_ARGUMENT);
    }
    bloomery_plan small = {.kind = BLOOMERY_STATIC, .keys = 1000000, .bytes = 1000};
    assert_int_equal(bloomery_plan_solve(&small, NULL, NULL), BLOOMERY_BAD_ARGUMENT);
    bloomery_plan none = {.kind = BLOOMERY_STATIC, .rate = 1e-9, .bytes = 64};
    assert_int_equal(bloomery_plan_solve(&none, NULL, NULL), BLOOMERY_BAD_ARGUMENT);
}

/* ---- Failures of a build --------------------------------------------------------------------- */

static int stop_at_once(void *context, uint64_t done, uint64_t total)
{
    *(uint64_t *)context += 1;
    return done <= total;
}

static void a_directory_that_is_not_there_is_refused_at_once(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    char nowhere[400];
    bloomery_plan plan = {.kind = BLOOMERY_STATIC, .rate = 0.01};
    bloomery_builder_options options = BLOOMERY_BUILDER_OPTIONS;
    bloomery_builder *builder = NULL;
    bloomery_error error;
    test_join(nowhere, sizeof nowhere, &directory, "no/such");
    options.directory = nowhere;
    assert_int_equal(bloomery_builder_open(&plan, NULL, &options, &builder, &error),
                     BLOOMERY_IO_FAILED);
    assert_non_null(strstr(error.text, "no/such"));
    assert_null(builder);
    test_directory_remove(&directory);
}

static void a_build_that_fails_leaves_the_old_file(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    struct test_integers integers = test_integers_make(0, 700000);
    char path[300];
    char nowhere[400];
    char gone[400];
    uint64_t calls = 0;
    bloomery_error error;
    test_join(path, sizeof path, &directory, "old.bloom");
    test_join(nowhere, sizeof nowhere, &directory, "no/such");
    test_join(gone, sizeof gone, &directory, "gone");
    test_write_file(path, "old", 3);
    for (int way = 0; way < 4; way++) {
        bloomery_builder_options options = BLOOMERY_BUILDER_OPTIONS;
        options.memory = UINT64_C(16) << 20;
        options.directory = way == 0 ? gone : way == 1 ? NULL : directory.path;
        options.progress = way == 2 ? stop_at_once : NULL;
        options.progress_context = &calls;
        assert_int_equal(mkdir(gone, 0700), 0);
        bloomery_builder *builder = test_builder(0.01, NULL, &options);
        assert_int_equal(rmdir(gone), 0);
        bloomery_status status = bloomery_builder_add(builder, &integers.column, &error);
        assert_int_equal(status, way == 0   ? BLOOMERY_IO_FAILED
                                 : way == 1 ? BLOOMERY_FULL
                                            : BLOOMERY_OK);
        if (way == 0)
            assert_non_null(strstr(error.text, "gone"));
        if (way < 2) /* what failed once fails again */
            assert_int_equal(bloomery_builder_add(builder, &integers.column, NULL), status);
        status = bloomery_builder_save(builder, way == 3 ? nowhere : path, &error);
        assert_int_equal(status, way == 1 ? BLOOMERY_FULL : BLOOMERY_IO_FAILED);
        bloomery_builder_free(builder);
        struct test_bytes bytes = test_read_file(path);
        assert_true(bytes.bytes == 3 && memcmp(bytes.data, "old", 3) == 0);
        test_bytes_free(&bytes);
        assert_int_equal(test_directory_entries(&directory), 1);
    }
    assert_true(calls > 0);
    free(integers.values);
    test_directory_remove(&directory);
}

static void a_builder_gives_all_its_memory_back(void **state)
{
    (void)state;
    struct test_integers integers = test_integers_make(0, 3000);
    for (uint64_t refuse_at = 0, requests = 1; refuse_at <= requests; refuse_at++) {
        struct test_memory memory = {.refuse_at = refuse_at};
        bloomery_plan plan = {.kind = BLOOMERY_STATIC, .rate = 0.01};
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        bloomery_builder_options builder_options = BLOOMERY_BUILDER_OPTIONS;
        bloomery_builder *builder = NULL;
        const bloomery_filter *filter = NULL;
        builder_options.threads = 2;
        options.allocator = test_allocator(&memory);
        bloomery_status status =
            bloomery_builder_open(&plan, &options, &builder_options, &builder, NULL);
        if (status == BLOOMERY_OK)
            status = bloomery_builder_add(builder, &integers.column, NULL);
        if (status == BLOOMERY_OK)
            status = bloomery_builder_finish(builder, &filter, NULL);
        assert_int_equal(status, refuse_at == 0 ? BLOOMERY_OK : BLOOMERY_OUT_OF_MEMORY);
        bloomery_builder_free(builder);
        bloomery_free(filter);
        assert_true(memory.live == 0 && !memory.wrong);
        if (refuse_at == 0)
            requests = memory.requests;
    }
    free(integers.values);
}

static void builders_refuse_what_they_cannot_make(void **state)
{
    (void)state;
    static const struct {
        bloomery_plan plan;
        uint64_t memory;
    } wrong[] = {
        {{.kind = BLOOMERY_BLOCKED, .rate = 0.01}, 0},
        {{.kind = BLOOMERY_STATIC, .rate = 0}, 0},
        {{.kind = BLOOMERY_STATIC, .rate = 1}, 0},
        {{.kind = BLOOMERY_STATIC, .rate = 0.01}, 1 << 20},
        {{.kind = BLOOMERY_STATIC, .rate = 0.01, .hash = BLOOMERY_HASH_XXH3_64}, 0},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bloomery_builder_options options = BLOOMERY_BUILDER_OPTIONS;
        bloomery_builder *builder = NULL;
        bloomery_error error = {.text = ""};
        options.memory = wrong[i].memory;
        assert_int_not_equal(
            bloomery_builder_open(&wrong[i].plan, NULL, &options, &builder, &error), BLOOMERY_OK);
        assert_null(builder);
        assert_true(error.text[0] != '\0');
    }
    bloomery_builder_free(NULL);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_static_file_opens_as_what_was_saved),
        cmocka_unit_test(saving_a_builder_writes_the_same_file),
        cmocka_unit_test(the_golden_static_file_is_read_and_written_as_ever),
        cmocka_unit_test(a_static_filter_keeps_its_secret_rule_and_note),
        cmocka_unit_test(damaged_ribbon_records_are_refused),
        cmocka_unit_test(ribbons_go_with_layers_of_static_filters),
        cmocka_unit_test(any_payload_is_safe_to_query),
        cmocka_unit_test(spare_bytes_of_a_static_filter_must_be_zero),
        cmocka_unit_test(what_a_static_filter_cannot_do_it_refuses),
        cmocka_unit_test(plans_of_static_filters_refuse_what_they_have_not),
        cmocka_unit_test(a_directory_that_is_not_there_is_refused_at_once),
        cmocka_unit_test(a_build_that_fails_leaves_the_old_file),
        cmocka_unit_test(a_builder_gives_all_its_memory_back),
        cmocka_unit_test(builders_refuse_what_they_cannot_make),
    };
    if (count != 2)
        return 2;
    vectors = arguments[1];
    return test_run_group("static_files", tests, NULL, NULL);
}
