/* SPDX-License-Identifier: Apache-2.0 */
#include "sieves.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct sieve_place sieve_place;

int sieve_setup(void **state)
{
    (void)state;
    sieve_place.directory = test_directory_make();
    test_join(sieve_place.path, sizeof sieve_place.path, &sieve_place.directory, "sieve");
    return 0;
}

int sieve_teardown(void **state)
{
    (void)state;
    test_directory_remove(&sieve_place.directory);
    return 0;
}

static void copy_file(int from, int to)
{
    static uint8_t area[65536];
    for (;;) {
        const ssize_t bytes = read(from, area, sizeof area);
        assert_true(bytes >= 0);
        if (bytes == 0)
            break;
        assert_int_equal(write(to, area, (size_t)bytes), bytes);
    }
    close(from);
    close(to);
}

void sieve_copy(const char *from, const char *to)
{
    DIR *directory = opendir(from);
    assert_non_null(directory);
    test_remove(to);
    assert_int_equal(mkdir(to, 0700), 0);
    const int target = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(target >= 0);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        const int source = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC);
        const int copy =
            openat(target, entry->d_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        assert_true(source >= 0 && copy >= 0);
        copy_file(source, copy);
    }
    close(target);
    closedir(directory);
}

void sieve_flip(const char *name, long offset)
{
    char path[400];
    uint8_t byte = 0;
    snprintf(path, sizeof path, "%s/%s", sieve_place.path, name);
    const int file = open(path, O_RDWR | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(pread(file, &byte, 1, offset), 1);
    byte ^= 64;
    assert_int_equal(pwrite(file, &byte, 1, offset), 1);
    close(file);
}

bloomery_sieve_options sieve_options(bloomery_sieve_engine engine, uint32_t partitions)
{
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    options.directory = sieve_place.path;
    options.engine = engine;
    options.sync = BLOOMERY_SIEVE_SYNC_NEVER;
    if (engine == BLOOMERY_SIEVE_DISK)
        options.partitions = partitions;
    return options;
}

bloomery_sieve *must_open_for(const bloomery_sieve_options *options, const char *what)
{
    bloomery_sieve *sieve = NULL;
    bloomery_error error = {0};
    if (bloomery_sieve_open(options, &sieve, &error) != BLOOMERY_OK)
        fail_msg("%s: %s", what, error.text);
    assert_non_null(sieve);
    return sieve;
}

bloomery_sieve *must_open(const bloomery_sieve_options *options)
{
    return must_open_for(options, "open");
}

void must_close(bloomery_sieve *sieve)
{
    assert_int_equal(bloomery_sieve_close(sieve, NULL), BLOOMERY_OK);
}

size_t must_pop(bloomery_sieve *sieve, bloomery_sieve_item *items, size_t most)
{
    size_t count = 0;
    bloomery_error error = {.text = ""};
    if (bloomery_sieve_pop(sieve, items, most, BLOOMERY_SIEVE_POP, &count, &error) != BLOOMERY_OK)
        fail_msg("pop: %s", error.text);
    assert_true(count <= most);
    return count;
}

void must_finish(bloomery_sieve *sieve, const uint64_t *numbers, size_t count)
{
    assert_int_equal(bloomery_sieve_finish(sieve, numbers, count, BLOOMERY_SIEVE_DONE, NULL, NULL),
                     BLOOMERY_OK);
}

bloomery_sieve_info sieve_info_of(bloomery_sieve *sieve)
{
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    bloomery_sieve_info_get(sieve, &info);
    return info;
}

uint64_t sieve_drain_until(bloomery_sieve *sieve, size_t most, bloomery_status *status)
{
    bloomery_sieve_item items[64];
    uint64_t numbers[64];
    uint64_t all = 0;
    assert_in_range(most, 1, 64);
    for (;;) {
        size_t count = 0;
        const bloomery_status found =
            bloomery_sieve_pop(sieve, items, most, BLOOMERY_SIEVE_POP, &count, NULL);
        if (status != NULL)
            *status = found;
        if (found != BLOOMERY_OK || count == 0)
            return all;
        for (size_t i = 0; i < count; i++)
            numbers[i] = items[i].number;
        must_finish(sieve, numbers, count);
        all += count;
    }
}

uint64_t sieve_drain(bloomery_sieve *sieve)
{
    bloomery_status status = BLOOMERY_OK;
    const uint64_t all = sieve_drain_until(sieve, 64, &status);
    assert_int_equal(status, BLOOMERY_OK);
    return all;
}
