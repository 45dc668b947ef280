/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter and its file are the same thing: every way back in gives the same answers and the same
 * bytes, and the same input always makes the same bytes.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property.
 */
#include "../support/support.h"

#include <bloomery/records.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t secret[BLOOMERY_SECRET_BYTES] = {1, 2, 3, 250, 0, 0, 7, 7,
                                                      7, 7, 7, 7,   7, 7, 7, 9};

/* What options a filter can carry into its file. */
enum { VARIANTS = 6 };

static bloomery_create_options options_of(int variant)
{
    static char note[BLOOMERY_NOTE_BYTES + 1];
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    memset(note, 'n', BLOOMERY_NOTE_BYTES);
    if (variant == 1)
        options.seed = 0x8000000000000001u;
    if (variant == 2)
        options.note = note;
    if (variant == 3) {
        options.rule = (bloomery_key_rule){BLOOMERY_RULE_TRIM | BLOOMERY_RULE_CSV, ';', -1, '#'};
        options.note = "a";
    }
    if (variant >= 4 && test_keyed())
        options.secret = secret;
    options.secret_outside = variant == 5 && test_keyed();
    return options;
}

/* The same keys, the same facts, the same answers, the same bytes. */
static void assert_twin(const bloomery_filter *one, const bloomery_filter *other,
                        const struct test_keys *queried)
{
    size_t words = (queried->count + 63) / 64;
    uint64_t *answers = calloc(2 * words, sizeof *answers);
    assert_non_null(answers);
    size_t hits = query_list(one, queried->keys, queried->count, answers);
    assert_int_equal(hits, query_list(other, queried->keys, queried->count, answers + words));
    assert_memory_equal(answers, answers + words, words * sizeof *answers);
    for (size_t i = 0; i < queried->count; i += 17)
        assert_int_equal(bloomery_may_contain(one, queried->keys[i]),
                         bloomery_may_contain(other, queried->keys[i]));
    free(answers);
    test_assert_same(one, other);
    assert_int_equal(bloomery_verify(one, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_verify(other, NULL), BLOOMERY_OK);
}

static void assert_same_facts(const bloomery_filter *one, const bloomery_filter *other)
{
    bloomery_info a = BLOOMERY_INFO;
    bloomery_info b = BLOOMERY_INFO;
    bloomery_info_get(one, &a);
    bloomery_scan_result a_scan = scan_of(one);
    bloomery_info_get(other, &b);
    bloomery_scan_result b_scan = scan_of(other);
    assert_true((a.note == NULL) == (b.note == NULL));
    if (a.note != NULL)
        assert_string_equal(a.note, b.note);
    assert_true(a.kind == b.kind && a.layers == b.layers && a.blocks_per_key == b.blocks_per_key);
    assert_true(a.probes == b.probes && a.bits == b.bits && a.bytes == b.bytes);
    assert_true(a.format_version == b.format_version && a.file_bytes == b.file_bytes);
    assert_true(a.planned_keys == b.planned_keys && a.planned_rate == b.planned_rate);
    assert_true(a.wanted_rate == b.wanted_rate);
    assert_true(a.adds == b.adds && a.hash == b.hash && a.seed == b.seed);
    assert_true(a.secret_fingerprint == b.secret_fingerprint &&
                a.secret_in_file == b.secret_in_file);
    assert_memory_equal(&a.rule, &b.rule, sizeof a.rule);
    assert_true(a.dialect == 0 && b.dialect == 0);
    assert_true(a_scan.bits_set == b_scan.bits_set && a_scan.live_rate == b_scan.live_rate);
    assert_true(a_scan.estimated_keys == b_scan.estimated_keys &&
                a_scan.expected_rate == b_scan.expected_rate);
}

/* How a filter comes back from its file or bytes. */
enum way { WAY_MAP, WAY_COPY, WAY_DESCRIPTOR, WAY_VIEW, WAY_LOAD, WAYS };

/* Wherever the descriptor's offset is, which stays there; and the filter outlives it. */
static bloomery_status open_descriptor(const char *path, const bloomery_open_options *options,
                                       const bloomery_filter **filter, bloomery_error *error)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(lseek(file, 5, SEEK_SET), 5);
    bloomery_open_options with = *options;
    bloomery_filter *own = NULL;
    with.descriptor = file;
    bloomery_status status = bloomery_open(NULL, &with, &own, error);
    assert_int_equal(lseek(file, 0, SEEK_CUR), 5);
    if (status == BLOOMERY_OK) {
        assert_true(info_of(own).writable && !info_of(own).mapped);
        bloomery_free(own);
        status = bloomery_map(NULL, &with, filter, error);
    }
    assert_int_equal(lseek(file, 0, SEEK_CUR), 5);
    assert_int_equal(close(file), 0);
    return status;
}

static const bloomery_filter *come_back(enum way way, const char *path,
                                        const struct test_bytes *bytes,
                                        const bloomery_create_options *wish)
{
    const bloomery_filter *filter = NULL;
    bloomery_filter *own = NULL;
    bloomery_error error = {.text = "(nothing said)"};
    bloomery_status status = BLOOMERY_UNSUPPORTED;
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    options.allocator = wish->allocator;
    options.secret = wish->secret_outside ? wish->secret : NULL; /* as the header says for open */
    if (way == WAY_MAP)
        status = bloomery_map(path, &options, &filter, &error);
    else if (way == WAY_COPY)
        status = bloomery_open(path, &options, &own, &error);
    else if (way == WAY_DESCRIPTOR)
        status = open_descriptor(path, &options, &filter, &error);
    else if (way == WAY_VIEW)
        status = bloomery_view(bytes->data, bytes->bytes, &options, &filter, &error);
    else
        status = bloomery_load(bytes->data, bytes->bytes, &options, &own, &error);
    if (status != BLOOMERY_OK)
        fail_msg("way %d: %s", (int)way, error.text);
    return own != NULL ? own : filter;
}

static void assert_rights(enum way way, const bloomery_filter *filter)
{
    bool writable = way == WAY_COPY || way == WAY_LOAD;
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    assert_int_equal(info.writable, writable);
    assert_int_equal(info.mapped, way == WAY_MAP || way == WAY_DESCRIPTOR);
    assert_true(info.secret_known);
}

static void check_reopened(const struct test_shape *shape, int variant, size_t count)
{
    struct test_directory directory = test_directory_make();
    char path[300];
    test_join(path, sizeof path, &directory, "filter.bloom");
    bloomery_create_options options = options_of(variant);
    bloomery_plan plan = test_plan(shape, count > 0 ? count : 1, 0.01);
    bloomery_filter *filter = test_create(&plan, &options);
    struct test_keys keys = test_keys_make(TEST_URLS, 1, 0, count + 2000);
    struct test_keys present = {.count = count, .keys = keys.keys};
    test_add_all(filter, &present);
    assert_int_equal(bloomery_save(filter, path, NULL), BLOOMERY_OK);
    struct test_bytes bytes = test_read_file(path);
    struct test_bytes written = test_written(filter);
    assert_true(test_bytes_equal(&bytes, &written));
    for (int way = 0; way < WAYS; way++) {
        const bloomery_filter *back = come_back((enum way)way, path, &bytes, &options);
        assert_same_facts(filter, back);
        assert_twin(filter, back, &keys);
        assert_rights((enum way)way, back);
        bloomery_free(back);
    }
    /* A loaded filter goes on where the saved one stopped. */
    bloomery_filter *loaded = NULL;
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    opening.secret = options.secret_outside ? options.secret : NULL;
    assert_int_equal(bloomery_load(bytes.data, bytes.bytes, &opening, &loaded, NULL), BLOOMERY_OK);
    for (size_t i = count; i < count + 200; i++)
        assert_int_equal(add_outcome(loaded, keys.keys[i]), add_outcome(filter, keys.keys[i]));
    assert_twin(filter, loaded, &keys);
    bloomery_free(loaded);
    bloomery_free(filter);
    test_bytes_free(&bytes);
    test_bytes_free(&written);
    test_keys_free(&keys);
    test_directory_remove(&directory);
}

static void reopen_equals(void **state)
{
    (void)state;
    /* The last is several chunks of 64 KiB long. */
    static const size_t counts[] = {0, 1, 1000, 150000};
    for (size_t s = 0; s < TEST_SHAPES; s++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
            for (int variant = 0; variant < VARIANTS; variant++) {
                if (counts[c] > 1000 && variant != (int)s)
                    continue;
                check_reopened(&test_shapes[s], variant, counts[c]);
            }
}

/* Sizes of the array around every border: of a word, a cache line, a chunk, a huge page, and where
 * a map of a file begins at a huge page. */
static void reopen_equals_at_every_border(void **state)
{
    (void)state;
    static const uint64_t borders[] = {8,
                                       64,
                                       512,
                                       4096,
                                       65536 * 8,
                                       512,
                                       131072,
                                       65536 * 16,
                                       65536 * 24,
                                       (uint64_t)16 << 20,
                                       (uint64_t)64 << 20};
    struct test_keys keys = test_keys_make(TEST_LITTLE, 0, 0, 3000);
    for (size_t i = 0; i < sizeof borders / sizeof borders[0]; i++)
        for (int off = -1; off <= 1; off++) {
            bloomery_plan plan = {.kind = BLOOMERY_CLASSIC,
                                  .bits = (uint64_t)((int64_t)borders[i] + off),
                                  .probes = 5};
            bloomery_filter *filter = test_create(&plan, NULL);
            for (size_t k = 0; k < 1000; k++)
                bloomery_add(filter, keys.keys[k], NULL);
            struct test_bytes bytes = test_written(filter);
            bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
            for (int way = WAY_VIEW; way < WAYS; way++) {
                const bloomery_filter *back = come_back((enum way)way, NULL, &bytes, &options);
                assert_twin(filter, back, &keys);
                bloomery_free(back);
            }
            bloomery_free(filter);
            test_bytes_free(&bytes);
        }
    test_keys_free(&keys);
}

/* From some MiB on a file is mapped at an address that suits huge pages. */
static void reopen_equals_where_the_map_is_large(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_LITTLE, 0, 0, 3000);
    struct test_directory directory = test_directory_make();
    char path[4096];
    test_join(path, sizeof path, &directory, "large.bloom");
    bloomery_plan plan = {.kind = BLOOMERY_CLASSIC, .bits = (uint64_t)9 * 8 << 20, .probes = 5};
    bloomery_filter *filter = test_create(&plan, NULL);
    for (size_t k = 0; k < 1000; k++)
        bloomery_add(filter, keys.keys[k], NULL);
    assert_int_equal(bloomery_save(filter, path, NULL), BLOOMERY_OK);
    const bloomery_filter *back = NULL;
    assert_int_equal(bloomery_map(path, NULL, &back, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_verify(back, NULL), BLOOMERY_OK);
    assert_twin(filter, back, &keys);
    bloomery_free(back);
    bloomery_free(filter);
    test_directory_remove(&directory);
    test_keys_free(&keys);
}

/* Neither the order of keys nor the way of adding them nor where memory comes from shows. */
static void same_input_same_bytes(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_IDS, 0, 0, 5000);
    for (size_t s = 0; s < TEST_SHAPES; s++)
        for (int variant = 0; variant < VARIANTS; variant++) {
            bloomery_create_options options = options_of(variant);
            bloomery_plan plan = test_plan(&test_shapes[s], keys.count, 0.01);
            struct test_memory memory = {0};
            bloomery_filter *forward = test_create(&plan, &options);
            options.allocator = test_allocator(&memory);
            options.concurrent_adds = true;
            bloomery_filter *backward = test_create(&plan, &options);
            test_add_all(forward, &keys);
            for (size_t i = keys.count; i > 0; i--)
                bloomery_add(backward, keys.keys[i - 1], NULL);
            assert_twin(forward, backward, &keys);
            bloomery_free(forward);
            bloomery_free(backward);
            assert_true(memory.live == 0 && memory.bytes == 0 && !memory.wrong);
        }
    test_keys_free(&keys);
}

struct stop {
    uint64_t room;
    uint64_t taken;
};

static int take_some(void *context, const void *data, size_t bytes)
{
    struct stop *stop = context;
    (void)data;
    if (bytes > stop->room - stop->taken)
        return 7;
    stop->taken += bytes;
    return 0;
}

static void write_equals_save_equals_bytes_count(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    char path[300];
    test_join(path, sizeof path, &directory, "f");
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_plan plan = test_plan(&test_shapes[s], 60000, 0.01);
        bloomery_filter *filter = test_create(&plan, NULL);
        struct stop all = {.room = info_of(filter).file_bytes};
        assert_int_equal(bloomery_write(filter, take_some, &all, NULL), BLOOMERY_OK);
        assert_int_equal(all.taken, info_of(filter).file_bytes);
        assert_int_equal(bloomery_save(filter, path, NULL), BLOOMERY_OK);
        struct test_bytes saved = test_read_file(path);
        struct test_bytes written = test_written(filter);
        assert_true(test_bytes_equal(&saved, &written));
        assert_int_equal(saved.bytes, info_of(filter).file_bytes);
        /* A sink that stops anywhere stops the writing. */
        for (uint64_t room = 0; room < saved.bytes; room += saved.bytes / 37 + 1) {
            struct stop some = {.room = room};
            bloomery_error error = {0};
            assert_int_equal(bloomery_write(filter, take_some, &some, &error), BLOOMERY_IO_FAILED);
            assert_int_equal(error.status, BLOOMERY_IO_FAILED);
            assert_true(error.text[0] != '\0');
        }
        test_bytes_free(&saved);
        test_bytes_free(&written);
        bloomery_free(filter);
    }
    test_directory_remove(&directory);
}

/* A filter mapped from the very file that is replaced goes on with the old content. */
static void save_over_its_own_map(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    char path[300];
    test_join(path, sizeof path, &directory, "f");
    struct test_keys keys = test_keys_make(TEST_RANDOM, 0, 0, 40000);
    bloomery_plan plan = test_plan(&test_shapes[1], 20000, 0.01);
    bloomery_filter *filter = test_create(&plan, NULL);
    struct test_keys half = {.count = 20000, .keys = keys.keys};
    test_add_all(filter, &half);
    assert_int_equal(bloomery_save(filter, path, NULL), BLOOMERY_OK);
    const bloomery_filter *map = NULL;
    assert_int_equal(bloomery_map(path, NULL, &map, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_save(map, path, NULL), BLOOMERY_OK);
    assert_twin(filter, map, &keys);
    bloomery_filter *other = test_create(&plan, NULL);
    assert_int_equal(bloomery_save(other, path, NULL), BLOOMERY_OK);
    assert_twin(filter, map, &keys);
    bloomery_free(other);
    bloomery_free(map);
    bloomery_free(filter);
    test_keys_free(&keys);
    test_directory_remove(&directory);
}

static void save_keeps_mode_and_follows_links(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    char path[300];
    char layer[300];
    struct stat facts;
    test_join(path, sizeof path, &directory, "target");
    test_join(layer, sizeof layer, &directory, "link");
    bloomery_plan plan = test_plan(&test_shapes[1], 100, 0.01);
    bloomery_filter *filter = test_create(&plan, NULL);
    /* A new file gets what the umask leaves, as with any program. */
    mode_t mask = umask(027);
    assert_int_equal(bloomery_save(filter, path, NULL), BLOOMERY_OK);
    umask(mask);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0640);
    assert_int_equal(chmod(path, 0604), 0);
    assert_int_equal(symlink("target", layer), 0);
    assert_int_equal(bloomery_save(filter, layer, NULL), BLOOMERY_OK);
    assert_int_equal(lstat(layer, &facts), 0);
    assert_true(S_ISLNK(facts.st_mode));
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0604);
    assert_int_equal(test_directory_entries(&directory), 2);
    bloomery_free(filter);
    test_directory_remove(&directory);
}

static void assert_save_refused(const bloomery_filter *filter, const char *path)
{
    bloomery_error error = {0};
    assert_int_equal(bloomery_save(filter, path, &error), BLOOMERY_IO_FAILED);
    assert_int_equal(error.status, BLOOMERY_IO_FAILED);
    assert_true(error.text[0] != '\0');
}

/* Only regular files are written and read, and opening a pipe does not block. */
static void only_regular_files(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    bloomery_plan plan = test_plan(&test_shapes[0], 100, 0.01);
    bloomery_filter *filter = test_create(&plan, NULL);
    char pipe[300];
    char missing[300];
    char name[300];
    test_join(pipe, sizeof pipe, &directory, "pipe");
    test_join(missing, sizeof missing, &directory, "none/f");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0'; /* longer than any file system allows */
    const char *refused[] = {directory.path, pipe, missing, "/dev/null", "", name};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const bloomery_filter *opened = filter;
        bloomery_error error = {0};
        assert_save_refused(filter, refused[i]);
        bloomery_status status = bloomery_map(refused[i], NULL, &opened, &error);
        assert_true(status == BLOOMERY_IO_FAILED || status == BLOOMERY_NOT_A_FILTER);
        assert_int_equal(error.status, status);
        assert_null(opened);
    }
    assert_int_equal(test_directory_entries(&directory), 1);
    bloomery_free(filter);
    test_directory_remove(&directory);
}

/* A terminal obeys them: each is shown as '?'. UTF-8 stays, and what is not UTF-8 is not one. */
static void names_in_errors_have_no_control_characters(void **state)
{
    (void)state;
    const bloomery_filter *filter = NULL;
    bloomery_error error = {0};
    assert_int_equal(bloomery_map("no/\x1b[2J\n\x7f\xc2\x9b \x9b Gr\xc3\xb6\xc3\x9f"
                                  "e \xe6\x97\xa5 \xe9",
                                  NULL, &filter, &error),
                     BLOOMERY_IO_FAILED);
    assert_null(filter);
    assert_non_null(strstr(error.text, "no/?[2J???? ? Gr\xc3\xb6\xc3\x9f"
                                       "e \xe6\x97\xa5 \xe9: "));
}

/* The longest name a file can have does not fail: temporary names are not longer. */
static void save_under_the_longest_name(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    bloomery_plan plan = test_plan(&test_shapes[0], 100, 0.01);
    bloomery_filter *filter = test_create(&plan, NULL);
    char name[256];
    char path[600];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    test_join(path, sizeof path, &directory, name);
    for (int time = 0; time < 2; time++)
        assert_int_equal(bloomery_save(filter, path, NULL), BLOOMERY_OK);
    assert_int_equal(test_directory_entries(&directory), 1);
    bloomery_free(filter);
    test_directory_remove(&directory);
}

/* Nothing stays open, whatever comes of it. */
static unsigned open_descriptors(void)
{
    unsigned open_now = 0;
    for (int file = 0; file < 256; file++)
        open_now += fcntl(file, F_GETFD) >= 0;
    return open_now;
}

static void no_descriptor_is_left_open(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    char path[300];
    test_join(path, sizeof path, &directory, "f");
    bloomery_plan plan = test_plan(&test_shapes[0], 100000, 0.01);
    bloomery_filter *filter = test_create(&plan, NULL);
    unsigned before = open_descriptors();
    for (int i = 0; i < 5; i++) {
        bloomery_filter *opened = NULL;
        const bloomery_filter *map = NULL;
        assert_int_equal(bloomery_save(filter, path, NULL), BLOOMERY_OK);
        assert_save_refused(filter, directory.path);
        assert_int_equal(bloomery_open(path, NULL, &opened, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_map(path, NULL, &map, NULL), BLOOMERY_OK);
        assert_true(open_descriptors() <= before); /* a map needs no descriptor */
        bloomery_free(opened);
        bloomery_free(map);
        assert_int_equal(bloomery_open(directory.path, NULL, &opened, NULL), BLOOMERY_IO_FAILED);
        assert_int_equal(bloomery_map(directory.path, NULL, &map, NULL), BLOOMERY_IO_FAILED);
        struct test_bytes bytes = test_read_file(path);
        bytes.data[9] ^= 0x55;
        bytes.data[40] ^= 0x55;
        test_write_file(path, bytes.data, bytes.bytes - 1);
        assert_true(bloomery_open(path, NULL, &opened, NULL) < 0);
        assert_true(bloomery_map(path, NULL, &map, NULL) < 0);
        test_bytes_free(&bytes);
    }
    assert_int_equal(open_descriptors(), before);
    bloomery_free(filter);
    test_directory_remove(&directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reopen_equals),
        cmocka_unit_test(reopen_equals_at_every_border),
        cmocka_unit_test(reopen_equals_where_the_map_is_large),
        cmocka_unit_test(same_input_same_bytes),
        cmocka_unit_test(write_equals_save_equals_bytes_count),
        cmocka_unit_test(save_over_its_own_map),
        cmocka_unit_test(save_keeps_mode_and_follows_links),
        cmocka_unit_test(only_regular_files),
        cmocka_unit_test(names_in_errors_have_no_control_characters),
        cmocka_unit_test(save_under_the_longest_name),
        cmocka_unit_test(no_descriptor_is_left_open),
    };
    return test_run_group("files", tests, NULL, NULL);
}
