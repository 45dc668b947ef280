/* SPDX-License-Identifier: Apache-2.0 */
/* A store in a directory of its own, or in memory, for the tests of the sieve's parts. */
#ifndef TESTS_UNIT_SIEVE_PLACE_H
#define TESTS_UNIT_SIEVE_PLACE_H

#include "../support/support.h"

#include "base/bytes.h"
#include "sieve/store.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct place {
    struct test_directory directory;
    struct test_memory memory;
    bloomery_allocator allocator;
    struct bloomery_store store;
};

static inline void place_open(struct place *place, bool on_disk)
{
    memset(place, 0, sizeof *place);
    place->allocator = test_allocator(&place->memory);
    place->store = (struct bloomery_store){
        .allocator = &place->allocator,
        .path = "crawl",
        .directory = -1,
        .syncs = false, /* what is durable is for tests that cut the power */
        .seed = 0x1234567,
        .id = "0123456789abcde",
    };
    if (!on_disk)
        return;
    place->directory = test_directory_make();
    place->store.directory = open(place->directory.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(place->store.directory >= 0);
}

static inline void place_close(struct place *place)
{
    assert_false(place->memory.wrong);
    assert_int_equal(place->memory.live, 0);
    assert_int_equal(place->store.memory, 0);
    if (place->store.directory < 0)
        return;
    close(place->store.directory);
    test_directory_remove(&place->directory);
}

static inline void place_path(const struct place *place, const char *name, char *path, size_t room)
{
    test_join(path, room, &place->directory, name);
}

/* From now on no file may become longer than that; RLIM_INFINITY: any. */
static inline void limit_files(uint64_t bytes)
{
    struct rlimit limit;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

#endif
