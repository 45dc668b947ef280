/* SPDX-License-Identifier: Apache-2.0 */
/* What a chunk knows of the input that it comes from, and which inputs are refused. */
#include "input/input.h"

#include "input/chunks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

enum { PATHS = 6 };

struct inputs {
    char directory[64];
    char paths[PATHS][96];
    char *list[PATHS];
};

enum { PLAIN, NOTHING, PACKED, ARCHIVE, PACKED_ARCHIVE, MISSING };

static void write_plain(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void write_gzip(const char *path, const void *data, size_t bytes)
{
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, data, (unsigned)bytes), (int)bytes);
    assert_int_equal(gzclose(file), Z_OK);
}

/* An archive of one member with the line "m", and the two empty blocks of the end. */
static void make_tar(unsigned char tar[2048])
{
    unsigned sum = 0;
    memset(tar, 0, 2048);
    memcpy(tar, "member", 6);
    memcpy(tar + 100, "0000644", 7);
    memcpy(tar + 108, "0000000", 7);
    memcpy(tar + 116, "0000000", 7);
    memcpy(tar + 124, "00000000002", 11);
    memcpy(tar + 136, "00000000000", 11);
    memset(tar + 148, ' ', 8);
    tar[156] = '0';
    memcpy(tar + 257,
           "ustar\0"
           "00",
           8);
    for (size_t i = 0; i < 512; i++)
        sum += tar[i];
    snprintf((char *)tar + 148, 8, "%06o", sum);
    memcpy(tar + 512, "m\n", 2);
}

static int make_inputs(void **state)
{
    static const char *const names[PATHS] = {"plain",   "nothing",        "packed",
                                             "archive", "packed archive", "missing"};
    struct inputs *inputs = calloc(1, sizeof(*inputs));
    unsigned char tar[2048];
    const char *parent = getenv("TMPDIR");
    assert_non_null(inputs);
    snprintf(inputs->directory, sizeof(inputs->directory), "%.30s/bloomery-test-XXXXXX",
             parent != NULL && strlen(parent) < 30 ? parent : "/tmp");
    assert_non_null(mkdtemp(inputs->directory));
    for (size_t i = 0; i < PATHS; i++) {
        snprintf(inputs->paths[i], sizeof(inputs->paths[i]), "%s/%s", inputs->directory, names[i]);
        inputs->list[i] = inputs->paths[i];
    }
    make_tar(tar);
    write_plain(inputs->paths[PLAIN], "a\nb", 3);
    write_plain(inputs->paths[NOTHING], "", 0);
    write_gzip(inputs->paths[PACKED], "c\n", 2);
    write_plain(inputs->paths[ARCHIVE], tar, sizeof(tar));
    write_gzip(inputs->paths[PACKED_ARCHIVE], tar, sizeof(tar));
    *state = inputs;
    return 0;
}

static int remove_inputs(void **state)
{
    struct inputs *inputs = *state;
    for (size_t i = 0; i < PATHS; i++)
        unlink(inputs->paths[i]);
    rmdir(inputs->directory);
    free(inputs);
    return 0;
}

static void a_chunk_knows_its_input_and_how_that_is_packed(void **state)
{
    static const struct {
        size_t index;
        enum tool_packing packing;
    } expected[] = {{PLAIN, TOOL_PLAIN},
                    {PLAIN, TOOL_PLAIN}, /* the last line comes by itself, having no end */
                    {PACKED, TOOL_GZIP},
                    {ARCHIVE, TOOL_TAR},
                    {PACKED_ARCHIVE, TOOL_TAR}};
    const struct inputs *inputs = *state;
    const struct tool_source source = {
        .paths = inputs->list, .count = MISSING, .delimiter = '\n', .threads = 1};
    struct tool_chunks *chunks = tool_chunks_open(&source, NULL);
    struct tool_chunk chunk = {0};
    size_t seen = 0;
    for (; tool_chunks_take(chunks, &chunk); seen++) {
        assert_true(seen < sizeof(expected) / sizeof(expected[0]));
        assert_int_equal(chunk.input_index, expected[seen].index);
        assert_int_equal(chunk.packing, expected[seen].packing);
        assert_ptr_equal(chunk.input, inputs->paths[chunk.input_index]);
    }
    assert_int_equal(seen, sizeof(expected) / sizeof(expected[0]));
    tool_chunk_free(&chunk);
    assert_true(tool_chunks_close(chunks));
}

static void archives_are_refused_by_name(void **state)
{
    const struct inputs *inputs = *state;
    for (size_t i = 0; i < PATHS; i++) {
        const struct tool_source source = {
            .paths = &inputs->list[i], .count = 1, .delimiter = '\n', .no_archives = true};
        const bool archive = i == ARCHIVE || i == PACKED_ARCHIVE;
        struct tool_input input;
        unsigned char buffer[4096];
        size_t count;
        tool_input_start(&input, &source, -1);
        const enum tool_opened opened =
            tool_input_open_next(&input, buffer, sizeof(buffer), &count);
        assert_int_equal(opened, archive || i == MISSING ? TOOL_OPEN_FAILED : TOOL_OPENED);
        if (archive)
            assert_string_equal(input.error,
                                "is a tar archive; unpack it first, each member to a file");
        tool_input_close(&input);
    }
}

static void a_path_says_how_it_is_packed(void **state)
{
    const struct inputs *inputs = *state;
    assert_int_equal(tool_path_packing(inputs->paths[PLAIN]), TOOL_PLAIN);
    assert_int_equal(tool_path_packing(inputs->paths[NOTHING]), TOOL_PLAIN);
    assert_int_equal(tool_path_packing(inputs->paths[PACKED]), TOOL_GZIP);
    assert_int_equal(tool_path_packing(inputs->paths[ARCHIVE]), TOOL_TAR);
    assert_int_equal(tool_path_packing(inputs->paths[PACKED_ARCHIVE]), TOOL_GZIP);
    assert_int_equal(tool_path_packing(inputs->paths[MISSING]), TOOL_PLAIN);
    assert_int_equal(tool_path_packing(inputs->directory), TOOL_PLAIN);
    assert_int_equal(tool_path_packing("-"), TOOL_PLAIN);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_chunk_knows_its_input_and_how_that_is_packed, make_inputs,
                                        remove_inputs),
        cmocka_unit_test_setup_teardown(archives_are_refused_by_name, make_inputs, remove_inputs),
        cmocka_unit_test_setup_teardown(a_path_says_how_it_is_packed, make_inputs, remove_inputs),
    };
    const char *pattern = getenv("BLOOMERY_TEST_FILTER");
    if (pattern != NULL && pattern[0] != '\0')
        cmocka_set_test_filter(pattern);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
