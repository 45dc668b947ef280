/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases and the clock, what is popped where a disk is full, and popping what is queued only. The
 * clock on the wall and the writes of frames are this program's own: the clock can be set, and the
 * disk has the bytes that a test gives it.
 *
 * Build: this file, stream.c, ../support; cmocka, xxHash, the library. No arguments. Suite: sieve.
 */
#include "stream.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

static struct scene {
    time_t ahead;      /* seconds that the clock on the wall is */
    uint64_t disk_max; /* bytes of all files of the sieve; 0: no limit */
} scene;

/* ---- A clock and a disk of our own ----------------------------------------------------------- */

int clock_gettime(clockid_t clock, struct timespec *now)
{
    const int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_REALTIME)
        now->tv_sec += scene.ahead;
    return result;
}

static uint64_t disk_bytes(void)
{
    struct stat facts;
    uint64_t bytes = 0;
    DIR *directory = opendir(sieve_place.path);
    assert_non_null(directory);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (entry->d_name[0] != '.' &&
            fstatat(dirfd(directory), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0)
            bytes += (uint64_t)facts.st_size;
    closedir(directory);
    return bytes;
}

ssize_t pwritev(int file, const struct iovec *pieces, int count, off_t offset)
{
    struct stat facts;
    off_t end = offset;
    for (int i = 0; i < count; i++)
        end += (off_t)pieces[i].iov_len;
    if (scene.disk_max > 0 && fstat(file, &facts) == 0 && end > facts.st_size &&
        disk_bytes() + (uint64_t)(end - facts.st_size) > scene.disk_max) {
        errno = ENOSPC;
        return -1;
    }
    ssize_t moved = 0;
    for (int i = 0; i < count; i++) {
        const ssize_t bytes = pwrite(file, pieces[i].iov_base, pieces[i].iov_len, offset + moved);
        if (bytes < 0)
            return -1;
        moved += bytes;
    }
    return moved;
}

/* ---- Scenes ---------------------------------------------------------------------------------- */

static int setup(void **state)
{
    scene.ahead = 0;
    scene.disk_max = 0;
    return sieve_setup(state);
}

static bloomery_sieve *open_with(bool keep_leases, double lease)
{
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    options.directory = sieve_place.path;
    options.partitions = 1;
    options.engine = BLOOMERY_SIEVE_DISK;
    options.sync_seconds = 1e6;
    options.keep_leases = keep_leases;
    options.lease = lease;
    return must_open(&options);
}

static void push_many(bloomery_sieve *sieve, uint64_t from, uint64_t to, size_t payload_bytes)
{
    uint8_t *payload = calloc(1, payload_bytes + 1);
    for (uint64_t i = from; i < to; i++) {
        const bloomery_key key = bloomery_key_of(&i, sizeof i);
        assert_true(push_key(sieve, key, bloomery_key_of(payload, payload_bytes), NULL, NULL) >= 0);
    }
    free(payload);
}

/* Leases what comes, of three at most. */
static size_t pop_three(bloomery_sieve *sieve, bool again)
{
    bloomery_sieve_item items[3];
    size_t count = must_pop(sieve, items, 3);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(items[i].again, again);
    return count;
}

/* A sieve of three items, leased for so long. */
static void lease_three(double lease)
{
    bloomery_sieve *sieve = open_with(true, lease);
    push_many(sieve, 0, 3, 0);
    assert_int_equal(pop_three(sieve, false), 3);
    must_close(sieve);
}

/* How many of them come where the sieve is opened now and leases are kept. */
static size_t come_after_opening(double lease)
{
    bloomery_sieve *sieve = open_with(true, lease);
    const size_t count = pop_three(sieve, true);
    must_close(sieve);
    return count;
}

/* ---- Leases that have ended ------------------------------------------------------------------ */

static void ended_leases_are_ended_on_the_disk(void **state)
{
    (void)state;
    lease_three(3600);
    assert_int_equal(come_after_opening(3600), 0);
    must_close(open_with(false, 3600));
    assert_int_equal(come_after_opening(3600), 3);
}

static void a_clock_that_ran_ahead_holds_no_item(void **state)
{
    (void)state;
    const time_t month = 30 * 86400;
    scene.ahead = month;
    lease_three(100);
    scene.ahead = 0;
    assert_int_equal(come_after_opening(100), 3);
    test_remove(sieve_place.path);
    /* That they have ended is kept: nobody need pop them then. */
    scene.ahead = month;
    lease_three(100);
    scene.ahead = 0;
    must_close(open_with(true, 100));
    scene.ahead = month;
    assert_int_equal(come_after_opening(100), 3);
}

/* However short the leases are that a later open asks for. */
static void leases_last_as_long_as_they_were_granted(void **state)
{
    (void)state;
    lease_three(86400);
    assert_int_equal(come_after_opening(10), 0);
    scene.ahead = 2000;
    assert_int_equal(come_after_opening(10), 0);
    /* Leases that are granted later change nothing for these. */
    bloomery_sieve *sieve = open_with(true, 10);
    push_many(sieve, 3, 6, 0);
    assert_int_equal(pop_three(sieve, false), 3);
    must_close(sieve);
    scene.ahead = 2005;
    assert_int_equal(come_after_opening(10), 0);
    scene.ahead = 86500;
    sieve = open_with(true, 10);
    assert_int_equal(pop_three(sieve, true) + pop_three(sieve, true), 6);
    must_close(sieve);
}

static void a_clock_that_is_set_right_by_seconds_ends_nothing(void **state)
{
    (void)state;
    lease_three(5);
    scene.ahead = -20;
    assert_int_equal(come_after_opening(5), 0);
    scene.ahead = 6;
    assert_int_equal(come_after_opening(5), 3);
}

/* As a program wrote it that did not keep how long leases are. */
static void forget_the_longest(void)
{
    char path[400];
    snprintf(path, sizeof path, "%s/MANIFEST", sieve_place.path);
    struct test_bytes file = test_read_file(path);
    for (size_t at = 0; at < file.bytes; at += file.bytes / 2) {
        uint8_t *slot = file.data + at;
        const uint64_t used = test_load_u64(slot + 24);
        if (used > file.bytes / 2 || used < 320)
            continue;
        test_store_u64(slot + 264, 0);
        test_store_u64(slot + 40, 0);
        test_store_u64(slot + 40, XXH3_64bits(slot, used));
    }
    test_write_file(path, file.data, file.bytes);
    test_bytes_free(&file);
}

static void leases_of_unknown_length_may_be_of_an_hour(void **state)
{
    (void)state;
    lease_three(3000);
    forget_the_longest();
    assert_int_equal(come_after_opening(10), 0);
    scene.ahead = 3001;
    assert_int_equal(come_after_opening(10), 3);
    test_remove(sieve_place.path);
    scene.ahead = 86400;
    lease_three(3000);
    forget_the_longest();
    scene.ahead = 0;
    assert_int_equal(come_after_opening(10), 3);
}

/* ---- What comes out -------------------------------------------------------------------------- */

static void popping_what_is_queued_decides_nothing(void **state)
{
    (void)state;
    bloomery_sieve_item items[3];
    size_t count = 7;
    bloomery_sieve *sieve = open_with(true, 50);
    push_many(sieve, 0, 3, 0);
    assert_int_equal(bloomery_sieve_pop(sieve, items, 3, BLOOMERY_SIEVE_POP_QUEUED, &count, NULL),
                     BLOOMERY_OK);
    assert_int_equal(count, 0);
    assert_int_equal(sieve_info_of(sieve).pending, 3);
    assert_int_equal(sieve_info_of(sieve).decisions, 0);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    push_many(sieve, 3, 6, 0);
    assert_int_equal(bloomery_sieve_pop(sieve, items, 2, BLOOMERY_SIEVE_POP_QUEUED, &count, NULL),
                     BLOOMERY_OK);
    assert_int_equal(count, 2);
    assert_int_equal(bloomery_sieve_pop(sieve, items, 3, BLOOMERY_SIEVE_POP_QUEUED, &count, NULL),
                     BLOOMERY_OK);
    assert_int_equal(count, 1);
    assert_int_equal(items[0].number, 3);
    /* Leases end here too. */
    scene.ahead = 51;
    assert_int_equal(bloomery_sieve_pop(sieve, items, 3, BLOOMERY_SIEVE_POP_QUEUED, &count, NULL),
                     BLOOMERY_OK);
    assert_int_equal(count, 3);
    assert_true(items[0].again);
    assert_int_equal(sieve_info_of(sieve).pending, 3);
    assert_int_equal(pop_three(sieve, false), 3);
    must_close(sieve);
}

static void what_is_durably_done_is_counted(void **state)
{
    (void)state;
    const uint64_t numbers[] = {1, 2};
    bloomery_sieve *sieve = open_with(true, 50);
    push_many(sieve, 0, 3, 0);
    assert_int_equal(pop_three(sieve, false), 3);
    must_finish(sieve, numbers, 2);
    assert_int_equal(sieve_info_of(sieve).done, 2);
    assert_int_equal(sieve_info_of(sieve).done_durable, 0);
    assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
    assert_int_equal(sieve_info_of(sieve).done_durable, 2);
    must_close(sieve);
    sieve = open_with(true, 50);
    assert_int_equal(sieve_info_of(sieve).done_durable, 2);
    must_close(sieve);
}

/* ---- A full disk ----------------------------------------------------------------------------- */

enum { LONG = 1000000, FIRST = 80, MORE = 10 };

/* 80 MB that were popped and acknowledged lie in two segments, of which the first can go with the
 * next commit; and deciding what is pending needs its room. */
static void what_was_acknowledged_makes_room_for_what_is_pending(void **state)
{
    (void)state;
    bloomery_status status = BLOOMERY_OK;
    bloomery_sieve *sieve = open_with(true, 50);
    push_many(sieve, 0, FIRST, LONG);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
    assert_int_equal(sieve_drain_until(sieve, 1, &status), FIRST);
    push_many(sieve, FIRST, FIRST + MORE, LONG);
    scene.disk_max = disk_bytes() + LONG / 2;
    assert_int_equal(sieve_drain_until(sieve, 1, &status), MORE);
    assert_int_equal(status, BLOOMERY_OK);
    /* Where there is nothing to make room with, nothing is lost. */
    scene.disk_max = 0;
    push_many(sieve, FIRST + MORE, FIRST + 2 * MORE, LONG);
    assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
    scene.disk_max = disk_bytes() + LONG / 2;
    assert_int_equal(sieve_drain_until(sieve, 1, &status), 0);
    assert_int_equal(status, BLOOMERY_IO_FAILED);
    scene.disk_max = 0;
    assert_int_equal(sieve_drain_until(sieve, 1, &status), MORE);
    assert_int_equal(status, BLOOMERY_OK);
    must_close(sieve);
}

/* The last segment is far from full, and all in it was acknowledged. */
static void an_empty_queue_makes_room_for_what_is_pending(void **state)
{
    (void)state;
    bloomery_status status = BLOOMERY_OK;
    /* Commits come with the last acknowledgement, or only when the room is needed. */
    for (int early = 0; early < 2; early++) {
        bloomery_sieve *sieve = open_with(true, 50);
        push_many(sieve, 0, MORE, LONG);
        assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
        push_many(sieve, MORE, 2 * MORE, LONG);
        assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
        scene.disk_max = disk_bytes() + LONG / 2;
        for (size_t i = 0; i < MORE; i++) {
            bloomery_sieve_item item;
            size_t count = must_pop(sieve, &item, 1);
            assert_int_equal(count, 1);
            must_finish(sieve, &item.number, 1);
        }
        if (early) {
            must_close(sieve);
            sieve = open_with(true, 50);
            assert_int_equal(sieve_info_of(sieve).queue_bytes, 0);
        }
        assert_int_equal(sieve_drain_until(sieve, 1, &status), MORE);
        assert_int_equal(status, BLOOMERY_OK);
        assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
        assert_int_equal(sieve_info_of(sieve).queue_bytes, 0);
        scene.disk_max = 0;
        must_close(sieve);
        test_remove(sieve_place.path);
    }
}

/* A segment with a lease in it stays, however long the queue is empty. */
static void what_is_leased_keeps_its_segment(void **state)
{
    (void)state;
    bloomery_sieve_item items[2];
    size_t count = 0;
    bloomery_sieve *sieve = open_with(true, 50);
    push_many(sieve, 0, 2, 100000);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(bloomery_sieve_pop(sieve, items + i, 1, BLOOMERY_SIEVE_POP, &count, NULL),
                         BLOOMERY_OK);
    must_finish(sieve, &items[0].number, 1);
    must_close(sieve);
    sieve = open_with(true, 50);
    assert_true(sieve_info_of(sieve).queue_bytes > 200000);
    assert_int_equal(
        bloomery_sieve_finish(sieve, &items[1].number, 1, BLOOMERY_SIEVE_BACK, NULL, NULL),
        BLOOMERY_OK);
    count = must_pop(sieve, items, 1);
    assert_int_equal(count, 1);
    assert_int_equal(items[0].payload.bytes, 100000);
    must_finish(sieve, &items[0].number, 1);
    must_close(sieve);
    sieve = open_with(true, 50);
    assert_int_equal(sieve_info_of(sieve).queue_bytes, 0);
    assert_int_equal(sieve_info_of(sieve).done, 2);
    must_close(sieve);
}

/* Whatever room there is, what comes out can be committed: or it would be given out again and
 * again. */
static void what_comes_out_of_a_full_disk_can_be_committed(void **state)
{
    (void)state;
    enum { KEYS = 3000 };
    for (uint64_t room = 0; room < 200000; room += 16000) {
        bloomery_status status = BLOOMERY_OK;
        bloomery_sieve_item item;
        size_t count = 0;
        bloomery_sieve *sieve = open_with(true, 50);
        push_many(sieve, 0, KEYS, 30);
        must_close(sieve);
        scene.disk_max = disk_bytes() + room;
        sieve = open_with(true, 50);
        status = bloomery_sieve_pop(sieve, &item, 1, BLOOMERY_SIEVE_POP, &count, NULL);
        assert_true(status == BLOOMERY_OK ? count == 1 : status == BLOOMERY_IO_FAILED);
        if (bloomery_sieve_commit(sieve, NULL) != BLOOMERY_OK)
            fail_msg("room for %u bytes: what was popped can't be committed", (unsigned)room);
        scene.disk_max = 0;
        if (count == 1)
            must_finish(sieve, &item.number, 1);
        assert_int_equal(sieve_drain_until(sieve, 1, &status), KEYS - count);
        must_close(sieve);
        test_remove(sieve_place.path);
    }
}

/* Others come, and it is put aside when there is room. */
static void what_cannot_be_put_aside_stays_leased(void **state)
{
    (void)state;
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    bloomery_sieve *sieve = NULL;
    bloomery_sieve_item items[3];
    size_t count = 0;
    options.directory = sieve_place.path;
    options.partitions = 1;
    options.sync_seconds = 1e6;
    options.max_deliveries = 1;
    assert_int_equal(bloomery_sieve_open(&options, &sieve, NULL), BLOOMERY_OK);
    push_many(sieve, 0, 3, 5);
    count = must_pop(sieve, items, 2);
    assert_int_equal(count, 2);
    assert_int_equal(
        bloomery_sieve_finish(sieve, NULL, BLOOMERY_SIEVE_ALL, BLOOMERY_SIEVE_BACK, NULL, NULL),
        BLOOMERY_OK);
    assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
    scene.disk_max = disk_bytes();
    count = must_pop(sieve, items, 3);
    assert_int_equal(count, 1);
    assert_int_equal(items[0].number, 3);
    assert_int_equal(sieve_info_of(sieve).dead, 0);
    assert_int_equal(sieve_info_of(sieve).leased, 3);
    assert_int_equal(bloomery_sieve_pop(sieve, items, 3, BLOOMERY_SIEVE_POP, &count, NULL),
                     BLOOMERY_IO_FAILED);
    assert_int_equal(sieve_info_of(sieve).leased, 3);
    scene.disk_max = 0;
    count = must_pop(sieve, items, 3);
    assert_int_equal(count, 0);
    assert_int_equal(sieve_info_of(sieve).dead, 2);
    assert_int_equal(sieve_info_of(sieve).leased, 1);
    must_close(sieve);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, sieve_teardown)
        CASE(ended_leases_are_ended_on_the_disk),
        CASE(a_clock_that_ran_ahead_holds_no_item),
        CASE(leases_last_as_long_as_they_were_granted),
        CASE(a_clock_that_is_set_right_by_seconds_ends_nothing),
        CASE(leases_of_unknown_length_may_be_of_an_hour),
        CASE(popping_what_is_queued_decides_nothing),
        CASE(what_is_durably_done_is_counted),
        CASE(what_was_acknowledged_makes_room_for_what_is_pending),
        CASE(an_empty_queue_makes_room_for_what_is_pending),
        CASE(what_is_leased_keeps_its_segment),
        CASE(what_comes_out_of_a_full_disk_can_be_committed),
        CASE(what_cannot_be_put_aside_stays_leased),
#undef CASE
    };
    return test_run_group("sieve_leases", tests, NULL, NULL);
}
