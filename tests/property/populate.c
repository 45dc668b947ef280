/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Populating a filter takes its pages and changes no cell, even if others add during it; with a
 * kernel that knows how, and with one that does not.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suites: property,
 * threads.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/support.h"
#include "../support/team.h"

#include <bloomery/experimental.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* ---- The kernel ----------------------------------------------------------------------------- */

/* What it says of the wish to populate: 0, it does as it can; else an error, from some call on. */
static int refusal;
static int refuse_from, wishes;

/* The kernel's, with a switch. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int madvise(void *memory, size_t bytes, int advice)
{
    if (advice == MADV_POPULATE_WRITE && wishes++ >= refuse_from && refusal != 0) {
        errno = refusal;
        return -1;
    }
    return (int)syscall(SYS_madvise, memory, bytes, advice);
}

static void kernel_refuses(int error, int from)
{
    refusal = error;
    refuse_from = from;
    wishes = 0;
}

/* ---- Memory whose pages are counted --------------------------------------------------------- */

struct pages {
    uint8_t *largest;
    size_t bytes; /* of it */
};

static void *take(void *context, size_t bytes, size_t alignment)
{
    struct pages *pages = context;
    uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || (uintptr_t)memory % alignment != 0)
        return NULL;
    madvise(memory, bytes, MADV_NOHUGEPAGE); /* one touch is one page */
    if (bytes > pages->bytes)
        *pages = (struct pages){memory, bytes};
    return memory;
}

static void release(void *context, void *memory, size_t bytes, size_t alignment)
{
    (void)context;
    (void)alignment;
    munmap(memory, bytes);
}

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Pages of this process alone, by bit 56 of the kernel's table: the one of zeros, which everybody
 * reads, is none. */
static size_t touched(const struct pages *pages, size_t from, size_t bytes)
{
    const size_t page = page_bytes();
    const int table = open("/proc/self/pagemap", O_RDONLY);
    size_t found = 0;
    assert_true(table >= 0);
    for (size_t at = from / page * page; at < from + bytes; at += page) {
        uint64_t entry = 0;
        const uintptr_t number = (uintptr_t)(pages->largest + at) / page;
        assert_int_equal(pread(table, &entry, sizeof entry, (off_t)(number * sizeof entry)),
                         sizeof entry);
        found += entry >> 56 & 1;
    }
    close(table);
    return found;
}

static bloomery_filter *filter_in(struct pages *pages, uint64_t bytes)
{
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_plan plan = {.bits = bytes * 8, .probes = 6, .blocks_per_key = 1, .cell_bits = 1};
    *pages = (struct pages){.largest = NULL};
    options.allocator = (bloomery_allocator){take, release, pages, take};
    return test_create(&plan, &options);
}

enum { BYTES = 9 << 20 }; /* some steps, and a part of one */

static void pages_are_taken_and_no_cell_changes(void **state)
{
    struct pages pages;
    const bool counted = test_emulator() == NULL;
    (void)state;
    for (int old = 0; old < 2; old++) {
        kernel_refuses(old == 1 ? EINVAL : 0, 0);
        bloomery_filter *filter = filter_in(&pages, BYTES);
        struct test_bytes before = test_written(filter);
        bloomery_free(filter);
        filter = filter_in(&pages, BYTES);
        assert_int_equal(touched(&pages, 0, BYTES), 0);
        assert_int_equal(bloomery_populate(filter, 4096 + 64, 5 << 20), 4096 + 64 + (5 << 20));
        if (counted) {
            assert_int_equal(touched(&pages, 0, 4096), 0);
            assert_int_equal(touched(&pages, 4096, 5 << 20), (5 << 20) / page_bytes());
            assert_int_equal(touched(&pages, 6 << 20, 3 << 20), 0);
        }
        assert_int_equal(bloomery_populate(filter, 0, UINT64_MAX), BYTES);
        if (counted)
            assert_int_equal(touched(&pages, 0, BYTES), BYTES / page_bytes());
        struct test_bytes after = test_written(filter);
        assert_true(test_bytes_equal(&before, &after));
        test_bytes_free(&before);
        test_bytes_free(&after);
        bloomery_free(filter);
    }
    kernel_refuses(0, 0);
}

static void it_stops_if_memory_is_exhausted(void **state)
{
    struct pages pages;
    (void)state;
    bloomery_filter *filter = filter_in(&pages, BYTES);
    kernel_refuses(ENOMEM, 1);
    const uint64_t came = bloomery_populate(filter, 0, BYTES);
    assert_true(came > 0 && came < BYTES);
    assert_int_equal(bloomery_populate(filter, came, BYTES), came);
    kernel_refuses(0, 0);
    assert_int_equal(bloomery_populate(filter, came, BYTES), BYTES);
    bloomery_free(filter);
}

static void what_is_not_there_is_not_populated(void **state)
{
    struct pages pages;
    (void)state;
    bloomery_filter *filter = filter_in(&pages, BYTES);
    assert_int_equal(bloomery_populate(filter, 5, 0), 5);
    assert_int_equal(bloomery_populate(filter, BYTES, 1), BYTES);
    assert_int_equal(bloomery_populate(filter, UINT64_MAX, UINT64_MAX), UINT64_MAX);
    assert_int_equal(bloomery_populate(filter, BYTES - 1, UINT64_MAX), BYTES);
    bloomery_free(filter);
}

/* ---- While others add ----------------------------------------------------------------------- */

struct populating {
    struct team team;
    bloomery_filter *filter;
    const struct test_keys *keys;
    atomic_bool done; /* the adder is */
};

/* One thread adds and removes with plain instructions, and each change counts; the other populates
 * the one page again and again. */
static void add_or_populate(void *context, unsigned number)
{
    struct populating *populating = context;
    const struct test_keys *keys = populating->keys;
    bloomery_filter *filter = populating->filter;
    for (size_t k = 0; number == 0 && k < keys->count; k++) {
        bloomery_add(filter, keys->keys[k], NULL);
        if (k >= 10)
            bloomery_remove(filter, keys->keys[k - 10], NULL);
    }
    if (number == 0)
        atomic_store(&populating->done, true);
    else
        do
            bloomery_populate(filter, 0, UINT64_MAX);
        while (!atomic_load(&populating->done));
}

static void keys_added_at_the_same_time_stay(void **state)
{
    struct test_keys keys = test_keys_make(TEST_LITTLE, 1, 0, 100000);
    const struct test_shape shape = {"counting", BLOOMERY_COUNTING, 1, 8};
    (void)state;
    for (int old = 0; old < 2; old++) {
        bloomery_plan plan = test_plan(&shape, 10, 0.1);
        bloomery_filter *filter = test_create(&plan, NULL);
        struct populating populating = {.filter = filter, .keys = &keys};
        kernel_refuses(old == 1 ? EINVAL : 0, 0);
        team_run(&populating.team, 2, add_or_populate, &populating);
        kernel_refuses(0, 0);
        for (size_t k = keys.count - 10; k < keys.count; k++)
            assert_true(bloomery_remove(filter, keys.keys[k], NULL));
        bloomery_scan_result scan = scan_of(filter);
        assert_int_equal(scan.bits_set, 0);
        bloomery_free(filter);
    }
    test_keys_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_taken_and_no_cell_changes),
        cmocka_unit_test(it_stops_if_memory_is_exhausted),
        cmocka_unit_test(what_is_not_there_is_not_populated),
        cmocka_unit_test(keys_added_at_the_same_time_stay),
    };
    return test_run_group("populate", tests, NULL, NULL);
}
