/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Damaged files. Any change before the payload is refused at once, before a byte is allocated; any
 * change in the payload or behind it lets a map or view open, is found by verify and reported with
 * its place, and is refused if the bytes are copied; and no damage makes a query unsafe.
 *
 * Build: this file, ../support/support.c, ../support/forge.c; cmocka, the library, xxhash.h. No
 * arguments. Suite: property. Worth running under AddressSanitizer.
 */
#include "../support/forge.h"
#include "../support/support.h"

#include <bloomery/records.h>

#include <stdlib.h>
#include <string.h>

/* ---- Refusals --------------------------------------------------------------------------- */

/* Statuses that opening may give, by the header. */
static bool is_refusal(bloomery_status status)
{
    return status == BLOOMERY_TRUNCATED || status == BLOOMERY_NOT_A_FILTER ||
           status == BLOOMERY_WRONG_VERSION || status == BLOOMERY_CORRUPT ||
           status == BLOOMERY_SECRET_NEEDED || status == BLOOMERY_UNSUPPORTED;
}

enum way { WAY_VIEW, WAY_LOAD, WAY_MAP, WAY_COPY, WAYS };

static bloomery_status enter(enum way way, const struct test_bytes *file, const char *path,
                             const bloomery_open_options *wish, const bloomery_filter **filter,
                             bloomery_error *error)
{
    bloomery_filter *own = (bloomery_filter *)(uintptr_t)wish;
    if (way == WAY_VIEW)
        return bloomery_view(file->data, file->bytes, wish, filter, error);
    if (way == WAY_MAP)
        return bloomery_map(path, wish, filter, error);
    const bloomery_status status = way == WAY_LOAD
                                       ? bloomery_load(file->data, file->bytes, wish, &own, error)
                                       : bloomery_open(path, wish, &own, error);
    *filter = own;
    return status;
}

/* The bytes are refused: with a reason, without a filter, and before anything was allocated. The
 * status is the same whichever way they come. Files are tried too where a path is given. */
static bloomery_status assert_refused(const struct test_bytes *file, const char *path,
                                      const char *what, uint64_t where)
{
    bloomery_status first = BLOOMERY_OK;
    if (path != NULL)
        test_write_file(path, file->data, file->bytes);
    for (int way = 0; way < (path != NULL ? WAYS : WAY_MAP); way++) {
        struct test_memory memory = {0};
        bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
        options.allocator = test_allocator(&memory);
        const bloomery_filter *filter = (const bloomery_filter *)&options;
        bloomery_error error = {.status = BLOOMERY_OK};
        bloomery_status status = enter((enum way)way, file, path, &options, &filter, &error);
        if (status == BLOOMERY_OK)
            fail_msg("%s at %llu: accepted", what, (unsigned long long)where);
        if (!is_refusal(status) || error.status != status || error.text[0] == '\0')
            fail_msg("%s at %llu: %s, reported as %s, \"%s\"", what, (unsigned long long)where,
                     bloomery_status_name(status), bloomery_status_name(error.status), error.text);
        assert_null(filter);
        assert_int_equal(memory.requests, 0);
        assert_null(memchr(error.text, '\n', strlen(error.text)));
        assert_true(way == 0 || status == first);
        first = status;
    }
    return first;
}

/* Filters with every sort of record. */
enum { SAMPLES = 6 };

static struct test_bytes sample(int number)
{
    static const uint8_t secret[BLOOMERY_SECRET_BYTES] = {9, 9, 9};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_plan plan = test_plan(&test_shapes[number % TEST_SHAPES], 300, 0.01);
    if (number == 1)
        options.note = "a note of no great length";
    if (number == 2)
        options.rule = (bloomery_key_rule){BLOOMERY_RULE_TRIM, '\t', 2, '#'};
    if (number == 3 && test_keyed())
        options.secret = secret;
    if (number == 4)
        options.seed = 12345;
    bloomery_filter *filter = test_create(&plan, &options);
    struct test_keys keys = test_keys_make(TEST_WORDS, 0, 0, 300);
    test_add_all(filter, &keys);
    struct test_bytes bytes = test_written(filter);
    bloomery_free(filter);
    test_keys_free(&keys);
    return bytes;
}

static void every_header_byte_flipped_is_refused(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    char path[300];
    test_join(path, sizeof path, &directory, "f");
    for (int number = 0; number < SAMPLES; number++) {
        struct test_bytes file = sample(number);
        size_t payload = forge_payload(&file);
        for (size_t at = 0; at < payload; at++) {
            uint8_t right = file.data[at];
            for (unsigned bit = 0; bit < 8; bit++) {
                file.data[at] = right ^ (uint8_t)(1u << bit);
                bloomery_status status =
                    assert_refused(&file, bit == at % 8 ? path : NULL, "bit flipped", at);
                if (at < 8)
                    assert_int_equal(status, BLOOMERY_NOT_A_FILTER);
            }
            /* And other values of the whole byte. */
            for (unsigned value = 0; value < 256; value += 51) {
                file.data[at] = (uint8_t)value;
                if (value != right)
                    assert_refused(&file, NULL, "byte changed", at);
            }
            file.data[at] = right;
        }
        test_bytes_free(&file);
    }
    test_directory_remove(&directory);
}

static void every_truncation_refused(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    char path[300];
    test_join(path, sizeof path, &directory, "f");
    for (int number = 0; number < SAMPLES; number++) {
        struct test_bytes file = sample(number);
        size_t whole = file.bytes;
        for (size_t length = 0; length <= whole + 64; length++) {
            if (length == whole)
                continue;
            /* Behind the end of a longer one lie 64 bytes of rubbish. */
            struct test_bytes cut = {file.data, length};
            bloomery_status status =
                assert_refused(&cut, length % 16 == 0 ? path : NULL, "cut", length);
            assert_int_equal(status, BLOOMERY_TRUNCATED);
            /* The bytes past the end are not even looked at. */
            struct test_fence fence = test_fence_make(file.data, length);
            bloomery_filter *filter = NULL;
            assert_int_equal(bloomery_load(fence.data, length, NULL, &filter, NULL),
                             BLOOMERY_TRUNCATED);
            test_fence_free(&fence);
        }
        test_bytes_free(&file);
    }
    test_directory_remove(&directory);
}

/* The order of the checks: a file that is not a filter is reported as such, whatever its length. */
static void other_files_are_not_filters(void **state)
{
    (void)state;
    static const char *const others[] = {"x", "\x89PNG\r\n\x1a\n and so on", "BLOOM",
                                         "a text that is longer than the header of a filter, "
                                         "which takes one hundred and twenty-eight bytes, or "
                                         "sixteen words of eight bytes each, give or take"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct test_bytes file = test_copy_bytes(others[i], strlen(others[i]));
        assert_int_equal(assert_refused(&file, NULL, "another file", i), BLOOMERY_NOT_A_FILTER);
        test_bytes_free(&file);
    }
}

/* ---- Damage in the payload -------------------------------------------------------------- */

/* A filter whose payload is several spans long; the last span is shorter unless `even`. */
static struct test_bytes large_sample(bool even)
{
    uint64_t bits = even ? (uint64_t)7 * FORGE_SPAN * 8 : (uint64_t)3 * FORGE_SPAN * 8 + 100000;
    bloomery_plan plan = {.kind = BLOOMERY_CLASSIC, .bits = bits, .probes = 5};
    bloomery_filter *filter = test_create(&plan, NULL);
    struct test_keys keys = test_keys_make(TEST_RANDOM, 0, 0, 50000);
    assert_int_equal(add_list(filter, keys.keys, keys.count, NULL), BLOOMERY_OK);
    struct test_bytes bytes = test_written(filter);
    bloomery_free(filter);
    test_keys_free(&keys);
    return bytes;
}

/* Opens and views: verify tells the span. Loads and copies: refused, and nothing leaks. */
static void assert_damage_found(const struct test_bytes *file, const char *path, size_t first,
                                size_t last)
{
    if (path != NULL)
        test_write_file(path, file->data, file->bytes);
    for (int way = 0; way < (path != NULL ? WAYS : WAY_MAP); way++) {
        struct test_memory memory = {0};
        bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
        options.allocator = test_allocator(&memory);
        const bloomery_filter *filter = NULL;
        bloomery_error error = {.offset = 0};
        bloomery_status status = enter((enum way)way, file, path, &options, &filter, &error);
        if (way == WAY_VIEW || way == WAY_MAP) {
            assert_int_equal(status, BLOOMERY_OK);
            status = bloomery_verify(filter, &error);
        }
        assert_int_equal(status, BLOOMERY_CORRUPT);
        assert_int_equal(error.status, BLOOMERY_CORRUPT);
        if (error.offset < first || error.offset > last)
            fail_msg("way %d: damage in %zu to %zu, reported at %llu: %s", way, first, last,
                     (unsigned long long)error.offset, error.text);
        bloomery_free(filter);
        assert_true(memory.live == 0 && !memory.wrong);
    }
}

static void payload_damage_is_found_at_its_place(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    char path[300];
    test_join(path, sizeof path, &directory, "f");
    uint64_t random = 1;
    for (int even = 0; even < 2; even++) {
        struct test_bytes file = large_sample(even != 0);
        size_t payload = forge_payload(&file);
        size_t bytes = forge_trailer(&file) - payload;
        for (unsigned i = 0; i < 60; i++) {
            /* The ends of every span, and places between. */
            size_t span = i / 3 % ((bytes + FORGE_SPAN - 1) / FORGE_SPAN);
            size_t length = bytes - span * FORGE_SPAN;
            length = length < FORGE_SPAN ? length : FORGE_SPAN;
            size_t at = i % 3 == 0   ? 0
                        : i % 3 == 1 ? length - 1
                                     : (size_t)test_below(&random, length);
            size_t start = payload + span * FORGE_SPAN;
            file.data[start + at] ^= (uint8_t)(1u << (i % 8));
            assert_damage_found(&file, i < 12 ? path : NULL, start, start + at);
            file.data[start + at] ^= (uint8_t)(1u << (i % 8));
        }
        /* Of two damaged spans the first is reported. */
        file.data[payload + 2 * FORGE_SPAN] ^= 1;
        file.data[payload + FORGE_SPAN + 5] ^= 1;
        assert_damage_found(&file, path, payload + FORGE_SPAN, payload + FORGE_SPAN + 5);
        test_bytes_free(&file);
    }
    test_directory_remove(&directory);
}

/* Where something unknown stands before the payload, the place is still that in the file. */
static void payload_damage_is_found_behind_unknown_records(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    char path[300];
    test_join(path, sizeof path, &directory, "f");
    struct test_bytes file = large_sample(false);
    uint8_t body[1000] = {1, 2, 3};
    forge_add_record(&file, 999, 0, body, sizeof body, sizeof body);
    size_t start = forge_payload(&file) + FORGE_SPAN;
    file.data[start + 11] ^= 4;
    assert_damage_found(&file, path, start, start + 11);
    test_bytes_free(&file);
    test_directory_remove(&directory);
}

static void every_checksum_byte_flipped_is_found(void **state)
{
    (void)state;
    for (int even = 0; even < 2; even++) {
        struct test_bytes file = large_sample(even != 0);
        for (size_t at = forge_trailer(&file); at < file.bytes; at++)
            for (unsigned bit = 0; bit < 8; bit++) {
                file.data[at] ^= (uint8_t)(1u << bit);
                assert_damage_found(&file, NULL, 0, at);
                file.data[at] ^= (uint8_t)(1u << bit);
            }
        test_bytes_free(&file);
    }
}

/* A whole payload with the whole trailer of another file does not pass for this one's. */
static void checksums_of_another_file_are_found(void **state)
{
    (void)state;
    bloomery_plan plan = test_plan(&test_shapes[1], 20000, 0.01);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    struct test_bytes files[2];
    for (unsigned i = 0; i < 2; i++) {
        options.seed = i;
        bloomery_filter *filter = test_create(&plan, &options);
        files[i] = test_written(filter);
        bloomery_free(filter);
    }
    assert_int_equal(files[0].bytes, files[1].bytes);
    size_t payload = forge_payload(&files[0]);
    memcpy(files[0].data + payload, files[1].data + payload, files[0].bytes - payload);
    assert_damage_found(&files[0], NULL, 0, files[0].bytes);
    test_bytes_free(&files[0]);
    test_bytes_free(&files[1]);
}

/* Bits past m are zero in what we write; set ones are found although every checksum is right. */
static void set_spare_bits_are_found(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {1, 7, 63, 65, 511, 100003};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        bloomery_plan plan = {.kind = BLOOMERY_CLASSIC, .bits = sizes[i], .probes = 3};
        bloomery_filter *filter = test_create(&plan, NULL);
        struct test_bytes file = test_written(filter);
        bloomery_free(filter);
        size_t payload = forge_payload(&file);
        size_t bits = (forge_trailer(&file) - payload) * 8;
        for (size_t bit = sizes[i]; bit < bits; bit += 1 + bit % 5) {
            size_t at = payload + bit / 8;
            file.data[at] ^= (uint8_t)(1u << (bit % 8));
            assert_true(forge_seal(&file));
            assert_damage_found(&file, NULL, at, at);
            file.data[at] ^= (uint8_t)(1u << (bit % 8));
        }
        test_bytes_free(&file);
    }
}

/* ---- Any payload is safe to query ------------------------------------------------------- */

static void query_everything(const bloomery_filter *filter)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 77, 0, 3000);
    uint64_t answers[47];
    size_t hits = query_list(filter, keys.keys, keys.count, answers);
    size_t again = 0;
    for (size_t i = 0; i < keys.count; i++)
        again += bloomery_may_contain(filter, keys.keys[i]);
    assert_int_equal(hits, again);
    for (uint64_t edge = 0; edge < 64; edge++) {
        uint64_t power = (uint64_t)1 << edge;
        const bloomery_hash odd[] = {
            {power, ~power}, {~power, power - 1}, {UINT64_MAX, UINT64_MAX - power}};
        uint64_t answers_of_odd = 0;
        const size_t found = query_hashes(filter, odd, 3, &answers_of_odd);
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(answers_of_odd >> i & 1, bloomery_may_contain_hash(filter, odd[i]));
        assert_int_equal(found, (size_t)__builtin_popcountll(answers_of_odd));
    }
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    bloomery_scan_result scan = scan_of(filter);
    assert_true(scan.bits_set <= info.bits);
    assert_true(scan.fill >= 0 && scan.fill <= 1);
    assert_true(scan.live_rate >= 0 && scan.live_rate <= 1);
    assert_true(scan.expected_rate >= 0 && scan.expected_rate <= 1);
    assert_true(scan.estimated_keys >= 0);
    (void)bloomery_verify(filter, NULL);
    test_keys_free(&keys);
}

static void random_payload_is_safe_to_query(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (unsigned round = 0; round < 40; round++) {
        /* Seven spans: the file is a multiple of 64 long, and ends at the fence. */
        struct test_bytes file = round < 8 ? large_sample(true) : sample((int)round % SAMPLES);
        size_t payload = forge_payload(&file);
        for (size_t at = payload; at < file.bytes; at++)
            file.data[at] = round % 4 == 0 ? 0xff : (uint8_t)test_next(&random);
        struct test_fence fence = test_fence_make(file.data, file.bytes);
        const uint8_t *data = file.bytes % 64 == 0 ? fence.data : file.data;
        const bloomery_filter *filter = NULL;
        assert_int_equal(bloomery_view(data, file.bytes, NULL, &filter, NULL), BLOOMERY_OK);
        query_everything(filter);
        bloomery_free(filter);
        test_fence_free(&fence);
        /* With checksums made right the same rubbish even loads, but for bits past the last. */
        assert_true(forge_seal(&file));
        bloomery_filter *own = NULL;
        if (bloomery_load(file.data, file.bytes, NULL, &own, NULL) == BLOOMERY_OK) {
            struct test_keys keys = test_keys_make(TEST_RANDOM, 77, 0, 3000);
            query_everything(own);
            assert_int_equal(add_list(own, keys.keys, keys.count, NULL), BLOOMERY_OK);
            test_keys_free(&keys);
            bloomery_free(own);
        }
        test_bytes_free(&file);
    }
}

/* The seals of this test are those of the library, or the tests above prove nothing. */
static void files_follow_the_specification(void **state)
{
    (void)state;
    for (int number = 0; number < SAMPLES + 2; number++) {
        struct test_bytes file =
            number < SAMPLES ? sample(number) : large_sample(number == SAMPLES);
        struct test_bytes sealed = test_copy_bytes(file.data, file.bytes);
        assert_true(forge_seal(&sealed));
        assert_true(test_bytes_equal(&file, &sealed));
        assert_int_equal(forge_get(&file, FORGE_VERSION, 2), 2);
        assert_int_equal(forge_get(&file, FORGE_HEADER_BYTES, 4), 128);
        assert_int_equal(forge_get(&file, FORGE_LAYERS, 4), 1);
        assert_int_equal(forge_payload(&file) % 64, 0);
        test_bytes_free(&file);
        test_bytes_free(&sealed);
    }
}

static int refuse_all(void *context, const void *data, size_t bytes)
{
    (void)data;
    (void)bytes;
    *(bool *)context = true;
    return 0;
}

/* A map is not read when it is opened: what is damaged in it must not leave with good checksums. */
static void damage_is_not_written_again_as_good(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    char path[300];
    test_join(path, sizeof path, &directory, "copy");
    for (int number = 0; number < SAMPLES; number++) {
        struct test_bytes file = sample(number);
        file.data[forge_payload(&file) + 5] ^= 4;
        const bloomery_filter *view = NULL;
        bloomery_error error = {.text = ""};
        bool called = false;
        assert_int_equal(bloomery_view(file.data, file.bytes, NULL, &view, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_save(view, path, &error), BLOOMERY_CORRUPT);
        assert_int_equal(error.offset, forge_payload(&file));
        assert_int_equal(bloomery_write(view, refuse_all, &called, &error), BLOOMERY_CORRUPT);
        assert_false(called);
        assert_int_equal(test_directory_entries(&directory), 0);
        bloomery_free(view);
        test_bytes_free(&file);
    }
    test_directory_remove(&directory);
}

/* Nor without its counters. */
static void damage_does_not_leave_with_the_counters(void **state)
{
    (void)state;
    bloomery_plan plan = {.kind = BLOOMERY_COUNTING, .keys = 300, .rate = 0.01};
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    bloomery_filter *filter = test_create(&plan, NULL);
    const bloomery_filter *view = NULL;
    bloomery_filter *dropped = filter;
    struct test_bytes file = test_written(filter);
    file.data[forge_payload(&file) + 100] = 0x11;
    assert_int_equal(bloomery_view(file.data, file.bytes, NULL, &view, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_drop_counters(view, NULL, &dropped, NULL), BLOOMERY_CORRUPT);
    assert_null(dropped);
    bloomery_free(view);
    bloomery_free(filter);
    test_bytes_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_follow_the_specification),
        cmocka_unit_test(every_header_byte_flipped_is_refused),
        cmocka_unit_test(every_truncation_refused),
        cmocka_unit_test(other_files_are_not_filters),
        cmocka_unit_test(payload_damage_is_found_at_its_place),
        cmocka_unit_test(payload_damage_is_found_behind_unknown_records),
        cmocka_unit_test(every_checksum_byte_flipped_is_found),
        cmocka_unit_test(checksums_of_another_file_are_found),
        cmocka_unit_test(set_spare_bits_are_found),
        cmocka_unit_test(damage_is_not_written_again_as_good),
        cmocka_unit_test(damage_does_not_leave_with_the_counters),
        cmocka_unit_test(random_payload_is_safe_to_query),
    };
    return test_run_group("damage", tests, NULL, NULL);
}
