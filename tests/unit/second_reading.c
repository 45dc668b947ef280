/* SPDX-License-Identifier: Apache-2.0 */
/* Which inputs `build` reads twice, and that the second reading notices that they are others. */
#include "filter/fill.h"
#include "input/input.h"
#include "tool.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { KEYS = 1000 };

static char directory[64];
static char *paths[] = {"keys"};

static int enter(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/bloomery-second-XXXXXX");
    return mkdtemp(directory) == NULL || chdir(directory) != 0;
}

static int leave(void **state)
{
    (void)state;
    unlink("keys");
    return chdir("/") != 0 || rmdir(directory) != 0;
}

static void write_file(const char *mode, const void *data, size_t bytes)
{
    FILE *file = fopen("keys", mode);
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void write_keys(void)
{
    unlink("keys");
    for (unsigned i = 0; i < KEYS; i++) {
        char line[16];
        const int length = snprintf(line, sizeof line, "%u\n", i);
        write_file("ab", line, (size_t)length);
    }
}

static struct tool_source source_of_keys(void)
{
    return (struct tool_source){.paths = paths, .count = 1, .delimiter = '\n', .threads = 1};
}

static bool is_read_twice(const struct tool_source *source, uint64_t least, uint64_t most)
{
    struct tool_second_reading second;
    const bool twice = tool_second_reading_begin(&second, source, least, most);
    if (twice)
        tool_second_reading_end(&second);
    return twice;
}

static void plain_regular_files_are_read_twice(void **state)
{
    struct tool_source source = source_of_keys();
    (void)state;
    unlink("keys");
    assert_false(is_read_twice(&source, 0, UINT64_MAX)); /* missing */
    assert_int_equal(mkdir("keys", 0700), 0);
    assert_false(is_read_twice(&source, 0, UINT64_MAX));
    assert_int_equal(rmdir("keys"), 0);
    assert_int_equal(mkfifo("keys", 0600), 0);
    assert_false(is_read_twice(&source, 0, UINT64_MAX));
    assert_int_equal(unlink("keys"), 0);
    write_file("wb", "\x1f\x8b\x08 packed", 10);
    assert_false(is_read_twice(&source, 0, UINT64_MAX));
    source.text = true; /* the bytes as they are */
    assert_true(is_read_twice(&source, 0, UINT64_MAX));
    source.text = false;
    write_file("wb",
               "\xff\xfe"
               "a\0\n\0",
               6); /* UTF-16 */
    assert_false(is_read_twice(&source, 0, UINT64_MAX));
    write_file("wb", "0123456789", 10);
    assert_true(is_read_twice(&source, 10, 10));
    assert_false(is_read_twice(&source, 11, UINT64_MAX));
    assert_false(is_read_twice(&source, 0, 9));
}

static void a_file_that_changed_is_named(void **state)
{
    const struct tool_source source = source_of_keys();
    struct tool_second_reading second;
    struct stat facts;
    (void)state;
    for (unsigned change = 0; change < 6; change++) {
        write_keys();
        assert_true(tool_second_reading_begin(&second, &source, 0, UINT64_MAX));
        assert_null(tool_second_reading_changed(&second));
        assert_int_equal(stat("keys", &facts), 0);
        struct timespec times[2] = {facts.st_atim, facts.st_mtim};
        if (change == 0) { /* another file of the same size and time */
            assert_int_equal(rename("keys", "old"), 0);
            write_keys();
            assert_int_equal(utimensat(AT_FDCWD, "keys", times, 0), 0);
            assert_int_equal(unlink("old"), 0);
        } else if (change == 1) { /* longer, with its old time */
            write_file("ab", "x\n", 2);
            assert_int_equal(utimensat(AT_FDCWD, "keys", times, 0), 0);
        } else if (change < 4) { /* of another time */
            times[1].tv_nsec += change == 2 ? 1 : 0;
            times[1].tv_sec += change == 3 ? 1 : 0;
            assert_int_equal(utimensat(AT_FDCWD, "keys", times, 0), 0);
        } else if (change == 4) { /* other bytes, with the old size and time */
            const struct timespec tick = {.tv_nsec = 20000000}; /* of the file system's clock */
            assert_int_equal(nanosleep(&tick, NULL), 0);
            write_file("r+b", "x", 1);
            assert_int_equal(utimensat(AT_FDCWD, "keys", times, 0), 0);
        } else {
            assert_int_equal(unlink("keys"), 0);
        }
        const char *changed = tool_second_reading_changed(&second);
        assert_non_null(changed);
        assert_string_equal(changed, "keys");
        tool_second_reading_end(&second);
    }
}

static void stdin_is_read_again_from_where_it_was(void **state)
{
    const struct tool_source source = {.count = 0, .delimiter = '\n'};
    struct tool_second_reading second;
    char rest[16];
    (void)state;
    write_file("wb", "abcdef\n", 7);
    const int before = dup(STDIN_FILENO);
    const int file = open("keys", O_RDONLY | O_CLOEXEC);
    assert_int_equal(dup2(file, STDIN_FILENO), STDIN_FILENO);
    assert_int_equal(lseek(STDIN_FILENO, 3, SEEK_SET), 3);
    assert_true(tool_second_reading_begin(&second, &source, 0, UINT64_MAX));
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(read(STDIN_FILENO, rest, sizeof rest), 4);
        assert_memory_equal(rest, "def\n", 4);
        assert_true(tool_second_reading_rewind(&second));
    }
    assert_null(tool_second_reading_changed(&second));
    tool_second_reading_end(&second);
    /* A pipe has no place to go back to. */
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
    assert_false(is_read_twice(&source, 0, UINT64_MAX));
    assert_int_equal(dup2(before, STDIN_FILENO), STDIN_FILENO);
    close(ends[0]);
    close(ends[1]);
    close(before);
    close(file);
}

/* The bytes of "keys": the kernel notes a change of times when a page is written to first. */
static volatile char *mapped;
static size_t mapped_bytes;

static void map_keys(void)
{
    struct stat facts;
    const int file = open("keys", O_RDWR);
    assert_true(file >= 0);
    assert_int_equal(fstat(file, &facts), 0);
    mapped_bytes = (size_t)facts.st_size;
    void *bytes = mmap(NULL, mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    assert_ptr_not_equal(bytes, MAP_FAILED);
    close(file);
    mapped = bytes;
    mapped[mapped_bytes - 3] = mapped[mapped_bytes - 3];
}

/* Hashes the keys and adds them; `between` is done between. Whether they were added. */
static bool hash_and_add(void (*between)(void))
{
    const struct tool_source source = source_of_keys();
    const bloomery_key_rule rule = {.field = 0};
    const bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    struct tool_second_reading second;
    struct tool_hasher hasher;
    struct tool_change change;
    write_keys();
    map_keys();
    assert_true(tool_second_reading_begin(&second, &source, 0, UINT64_MAX));
    assert_true(tool_hasher_open(&hasher, BLOOMERY_HASH_DEFAULT, &options, 0.01, 0));
    hasher.counts_only = true;
    assert_true(tool_lines_hash(&source, &rule, &hasher, true, &change));
    assert_int_equal(change.records, KEYS);
    assert_int_equal(tool_hasher_different_keys(&hasher), KEYS);
    between();
    bloomery_filter *filter = tool_hasher_least(BLOOMERY_HASH_XXH3_64, &options);
    assert_non_null(filter);
    const bool added = tool_lines_add_again(&second, &rule, filter, "filter", true, &change);
    for (unsigned i = 0; i < KEYS && added; i++) {
        char key[16];
        const int length = snprintf(key, sizeof key, "%u", i);
        assert_true(bloomery_may_contain(filter, bloomery_key_of(key, (size_t)length)));
    }
    bloomery_free(filter);
    tool_hasher_close(&hasher);
    tool_second_reading_end(&second);
    munmap((void *)(uintptr_t)mapped, mapped_bytes);
    return added;
}

static void nothing(void)
{
}

static void append(void)
{
    write_file("ab", "x\n", 2);
}

/* What neither size nor times tell: a line more in the same bytes, in a page that was written to
 * before the file was looked at. */
static void cut_a_line_in_two(void)
{
    mapped[mapped_bytes - 3] = '\n';
}

static void other_records_are_refused(void **state)
{
    (void)state;
    assert_true(hash_and_add(nothing));
    assert_false(hash_and_add(append));
    assert_false(hash_and_add(cut_a_line_in_two));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_regular_files_are_read_twice),
        cmocka_unit_test(a_file_that_changed_is_named),
        cmocka_unit_test(stdin_is_read_again_from_where_it_was),
        cmocka_unit_test(other_records_are_refused),
    };
    if (getenv("BLOOMERY_TEST_FILTER") != NULL)
        cmocka_set_test_filter(getenv("BLOOMERY_TEST_FILTER"));
    return cmocka_run_group_tests(tests, enter, leave);
}
