/* SPDX-License-Identifier: Apache-2.0 */
/* Packed outputs: what is read of them is what was written, and a failure leaves the old file. */
#include "filter/text_output.h"

#include "input/input.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const enum tool_packing packings[] = {TOOL_PLAIN, TOOL_GZIP, TOOL_ZSTD, TOOL_XZ,
                                             TOOL_BZIP2, TOOL_LZ4,  TOOL_LZIP, TOOL_LZMA};
enum { PACKINGS = sizeof(packings) / sizeof(packings[0]) };

/* More than all buffers of the ring; of slow packers more than one. */
static size_t many_bytes(enum tool_packing packing)
{
    const bool quick = packing == TOOL_PLAIN || packing == TOOL_GZIP || packing == TOOL_ZSTD ||
                       packing == TOOL_LZ4;
    return quick ? 10000000 : 2500000;
}

/* The directory of the outputs, and the only file in it. */
struct place {
    char directory[64];
    char file[80];
};

static int make_place(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    const char *parent = getenv("TMPDIR");
    assert_non_null(place);
    snprintf(place->directory, sizeof(place->directory), "%.30s/bloomery-test-XXXXXX",
             parent != NULL && strlen(parent) < 30 ? parent : "/tmp");
    assert_non_null(mkdtemp(place->directory));
    snprintf(place->file, sizeof(place->file), "%s/out", place->directory);
    *state = place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;
    unlink(place->file);
    rmdir(place->directory);
    free(place);
    return 0;
}

static size_t entries(const struct place *place)
{
    DIR *directory = opendir(place->directory);
    size_t count = 0;
    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 2; /* . and .. */
}

static void write_file(const struct place *place, const void *data, size_t bytes)
{
    FILE *file = fopen(place->file, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void assert_file(const struct place *place, const char *content)
{
    char text[64] = "";
    FILE *file = fopen(place->file, "rb");
    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof(text) - 1, file), strlen(content));
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, content);
}

/* Text that packs well, and behind it bytes that do not. */
static unsigned char *make_content(size_t bytes)
{
    unsigned char *content = malloc(bytes + 1);
    uint64_t number = 1;
    assert_non_null(content);
    for (size_t i = 0; i < bytes / 2; i++)
        content[i] = (unsigned char)"one line and then another\n"[i % 26];
    for (size_t i = bytes / 2; i < bytes; i++) {
        number = number * UINT64_C(6364136223846793005) + 1442695040888963407;
        content[i] = (unsigned char)(number >> 56);
    }
    return content;
}

/* What the reading side makes of the file; it recognises the packing by itself. */
static void assert_reads_as(const struct place *place, enum tool_packing packing,
                            const unsigned char *content, size_t bytes)
{
    enum { ROOM = 1 << 16 };
    char path[sizeof(place->file)];
    memcpy(path, place->file, sizeof(path));
    char *const paths[] = {path};
    const struct tool_source source = {.paths = paths, .count = 1, .delimiter = '\n'};
    struct tool_input input;
    unsigned char *buffer = malloc(ROOM);
    size_t at = 0, first;
    ssize_t count;
    assert_non_null(buffer);
    assert_int_equal(tool_path_packing(path), packing);
    tool_input_start(&input, &source, -1);
    assert_int_equal(tool_input_open_next(&input, buffer, ROOM, &first), TOOL_OPENED);
    assert_int_equal(input.packing, packing);
    count = (ssize_t)first;
    do {
        assert_true((size_t)count <= bytes - at);
        assert_memory_equal(buffer, content + at, (size_t)count);
        at += (size_t)count;
        count = tool_input_read(&input, buffer, ROOM);
    } while (count > 0);
    assert_int_equal(count, 0);
    assert_int_equal(at, bytes);
    tool_input_close(&input);
    free(buffer);
}

/* In pieces of many lengths: none, some bytes, and more than a buffer of the ring. */
static void round_trip(const struct place *place, enum tool_packing packing,
                       const unsigned char *content, size_t bytes)
{
    static const size_t lengths[] = {1, 0, 70000, 13, (3 << 20) + 1, 4096};
    uint64_t written = UINT64_MAX;
    struct stat facts;
    struct tool_packed_output *output = tool_packed_output_open(
        place->directory, "out", (struct tool_pack_form){.packing = packing});
    assert_non_null(output);
    for (size_t at = 0, i = 0; at < bytes; i++) {
        const size_t wanted = lengths[i % (sizeof(lengths) / sizeof(lengths[0]))];
        const size_t now = wanted < bytes - at ? wanted : bytes - at;
        assert_true(tool_packed_output_write(output, content + at, now));
        at += now;
    }
    assert_true(tool_packed_output_finish(output, &written));
    assert_int_equal(entries(place), 1);
    assert_int_equal(stat(place->file, &facts), 0);
    assert_int_equal(written, facts.st_size);
    assert_reads_as(place, packing, content, bytes);
}

static void what_is_packed_is_read_again(void **state)
{
    for (size_t i = 0; i < PACKINGS; i++) {
        const size_t bytes = many_bytes(packings[i]);
        unsigned char *content = make_content(bytes);
        round_trip(*state, packings[i], content, bytes);
        free(content);
    }
}

static void a_line_and_nothing_are_packed_too(void **state)
{
    static const unsigned char line[] = "line\n";
    const struct place *place = *state;
    for (size_t i = 0; i < PACKINGS; i++) {
        struct stat facts;
        round_trip(place, packings[i], line, 5);
        round_trip(place, packings[i], line, 0);
        assert_int_equal(stat(place->file, &facts), 0);
        assert_true((facts.st_size == 0) == (packings[i] == TOOL_PLAIN));
    }
}

static void the_old_file_gives_way_and_its_mode_stays(void **state)
{
    const struct place *place = *state;
    for (size_t i = 0; i < PACKINGS; i++) {
        struct stat facts;
        write_file(place, "old", 3);
        assert_int_equal(chmod(place->file, 0640), 0);
        round_trip(place, packings[i], (const unsigned char *)"new\n", 4);
        assert_int_equal(stat(place->file, &facts), 0);
        assert_int_equal(facts.st_mode & 07777, 0640);
    }
}

/* ---- Messages -------------------------------------------------------------------------------- */

static FILE *messages;
static int stderr_kept;

static void catch_messages(void)
{
    messages = tmpfile();
    assert_non_null(messages);
    fflush(stderr);
    stderr_kept = dup(STDERR_FILENO);
    assert_true(stderr_kept >= 0);
    assert_true(dup2(fileno(messages), STDERR_FILENO) >= 0);
}

/* How many lines there were; the last one is `line`. */
static size_t caught_messages(char *line, int room)
{
    size_t count = 0;
    fflush(stderr);
    assert_true(dup2(stderr_kept, STDERR_FILENO) >= 0);
    close(stderr_kept);
    rewind(messages);
    while (fgets(line, room, messages) != NULL)
        count++;
    fclose(messages);
    return count;
}

static void a_dropped_output_leaves_the_old_file_and_no_litter(void **state)
{
    const struct place *place = *state;
    unsigned char *content = make_content(many_bytes(TOOL_PLAIN));
    char line[256];
    write_file(place, "old", 3);
    catch_messages();
    for (size_t i = 0; i < PACKINGS; i++) {
        const size_t lengths[] = {0, 5, many_bytes(packings[i])};
        for (size_t j = 0; j < sizeof(lengths) / sizeof(lengths[0]); j++) {
            struct tool_packed_output *output = tool_packed_output_open(
                place->directory, "out", (struct tool_pack_form){.packing = packings[i]});
            assert_non_null(output);
            assert_true(tool_packed_output_write(output, content, lengths[j]));
            tool_packed_output_drop(output);
            assert_int_equal(entries(place), 1);
            assert_file(place, "old");
        }
    }
    assert_int_equal(caught_messages(line, sizeof(line)), 0);
    free(content);
}

/* One message of a failed write, be it noticed by the writer (who then drops the output or finishes
 * it) or only at the end: `bytes` are then less than a buffer of the ring. */
static void fail_to_write(const struct place *place, enum tool_packing packing,
                          const unsigned char *content, size_t bytes, bool finish)
{
    char line[256];
    bool well = true;
    catch_messages();
    struct tool_packed_output *output = tool_packed_output_open(
        place->directory, "out", (struct tool_pack_form){.packing = packing});
    assert_non_null(output);
    const bool noticed = bytes > 1000000;
    for (size_t i = 0; well && (noticed ? i < 100 : i < 1); i++)
        well = tool_packed_output_write(output, content, bytes);
    assert_true(!well || !noticed);
    if (noticed)
        assert_false(tool_packed_output_write(output, content, 1));
    if (finish)
        assert_false(tool_packed_output_finish(output, NULL));
    else
        tool_packed_output_drop(output);
    assert_int_equal(caught_messages(line, sizeof(line)), 1);
    assert_non_null(strstr(line, "writing to "));
    assert_non_null(strstr(line, place->file));
    assert_non_null(strstr(line, "File too large"));
    assert_int_equal(entries(place), 1);
    assert_file(place, "old");
}

static void a_failed_write_leaves_the_old_file_after_one_message(void **state)
{
    enum { BYTES = 6000000, FEW = 100000 };
    const struct place *place = *state;
    unsigned char *content = make_content(BYTES);
    struct rlimit before, small;
    write_file(place, "old", 3);
    void (*const action)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 50000;
    for (size_t i = 0; i < PACKINGS; i++)
        for (int finish = 0; finish < 2; finish++) {
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
            fail_to_write(place, packings[i], content, BYTES, finish);
            if (finish)
                fail_to_write(place, packings[i], content + BYTES / 2, FEW, finish);
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        }
    signal(SIGXFSZ, action);
    free(content);
}

static void assert_refused(const struct place *place, const char *directory,
                           enum tool_packing packing, const char *words)
{
    char line[256], first[256];
    catch_messages();
    assert_null(
        tool_packed_output_open(directory, "out", (struct tool_pack_form){.packing = packing}));
    fflush(stderr);
    rewind(messages);
    assert_non_null(fgets(first, sizeof(first), messages));
    caught_messages(line, sizeof(line));
    assert_non_null(strstr(first, words));
    assert_true(entries(place) <= 1);
}

static void what_cannot_be_packed_or_replaced_is_refused(void **state)
{
    const struct place *place = *state;
    char missing[80];
    snprintf(missing, sizeof(missing), "%s/none", place->directory);
    assert_refused(place, place->directory, TOOL_COMPRESS, "compressed with compress (.Z)");
    assert_refused(place, place->directory, TOOL_LZOP, "output can't be compressed in that way");
    assert_refused(place, place->directory, TOOL_TAR, "a tar archive");
    assert_refused(place, missing, TOOL_GZIP, "does not exist");
    assert_int_equal(entries(place), 0);
    write_file(place,
               "\x89"
               "BLOOM\r\nand what a filter has",
               30);
    assert_refused(place, place->directory, TOOL_GZIP, "is a filter");
    unlink(place->file);
    assert_int_equal(mkfifo(place->file, 0600), 0);
    assert_refused(place, place->directory, TOOL_PLAIN,
                   "is not a regular file, and would be replaced");
    assert_refused(place, place->directory, TOOL_ZSTD,
                   "is not a regular file, and would be replaced");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)
    static const struct CMUnitTest tests[] = {
        TEST(what_is_packed_is_read_again),
        TEST(a_line_and_nothing_are_packed_too),
        TEST(the_old_file_gives_way_and_its_mode_stays),
        TEST(a_dropped_output_leaves_the_old_file_and_no_litter),
        TEST(a_failed_write_leaves_the_old_file_after_one_message),
        TEST(what_cannot_be_packed_or_replaced_is_refused),
    };
    const char *pattern = getenv("BLOOMERY_TEST_FILTER");
    if (pattern != NULL && pattern[0] != '\0')
        cmocka_set_test_filter(pattern);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
