/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts of a sieve that another process has open: those of its last commit, and never a torn
 * one, whatever the moment.
 *
 * Build: this file, stream.c, ../support; cmocka, the library. No arguments. Suite: sieve.
 */
#include "stream.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bloomery_sieve_info must_read(void)
{
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    bloomery_error error = {0};
    options.directory = sieve_place.path;
    if (bloomery_sieve_info_read(&options, &info, &error) != BLOOMERY_OK)
        fail_msg("%s", error.text);
    return info;
}

static void must_refuse(bloomery_status status, const char *part)
{
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    bloomery_error error = {0};
    options.directory = sieve_place.path;
    const bloomery_status found = bloomery_sieve_info_read(&options, &info, &error);
    if (found != status || strstr(error.text, part) == NULL)
        fail_msg("wanted status %d and \"%s\", got %d: %s", status, part, found, error.text);
    assert_int_equal(info.pushed, 0);
}

static void push_some(bloomery_sieve *sieve, uint64_t first, uint64_t count)
{
    for (uint64_t i = first; i < first + count; i++)
        assert_true(push_key(sieve, bloomery_key_of(&i, sizeof i), bloomery_key_of(NULL, 0), NULL,
                             NULL) >= 0);
}

/* Pops `wanted` items, and acknowledges one less. */
static void pop_some(bloomery_sieve *sieve, size_t wanted)
{
    bloomery_sieve_item items[16];
    uint64_t numbers[16];
    size_t count = 0;
    assert_in_range(wanted, 1, 16);
    count = must_pop(sieve, items, wanted);
    for (size_t i = 0; i < count; i++)
        numbers[i] = items[i].number;
    assert_int_equal(count, wanted);
    assert_int_equal(
        bloomery_sieve_finish(sieve, numbers, count - 1, BLOOMERY_SIEVE_DONE, NULL, NULL),
        BLOOMERY_OK);
}

static void must_add_up(const bloomery_sieve_info *info)
{
    assert_int_equal(info->pushed,
                     info->new_keys + info->seen + info->pending + info->forced + info->marked);
    assert_int_equal(info->new_keys, info->queued + info->leased + info->done);
    assert_int_equal(info->durable, info->pushed);
}

/* ---- What it says ------------------------------------------------------------------------ */

static void must_be_the_same(const bloomery_sieve_info *read, const bloomery_sieve_info *open)
{
    assert_int_equal(read->engine, open->engine);
    assert_int_equal(read->partitions, open->partitions);
    assert_int_equal(read->fingerprint_bits, open->fingerprint_bits);
    assert_int_equal(read->order, open->order);
    assert_string_equal(read->canon, open->canon);
    assert_int_equal(read->pushed, open->pushed);
    assert_int_equal(read->new_keys, open->new_keys);
    assert_int_equal(read->seen, open->seen);
    assert_int_equal(read->pending, open->pending);
    assert_int_equal(read->forced, open->forced);
    assert_int_equal(read->marked, open->marked);
    assert_int_equal(read->queued, open->queued);
    assert_int_equal(read->leased, open->leased);
    assert_int_equal(read->done, open->done);
    assert_int_equal(read->done_durable, open->done_durable);
    assert_int_equal(read->capacity, open->capacity);
    assert_int_equal(read->planned, open->planned);
    assert_int_equal(read->over_capacity, open->over_capacity);
    assert_true(read->expected_drops == open->expected_drops);
    assert_int_equal(read->pending_bytes, open->pending_bytes);
    assert_int_equal(read->queue_bytes, open->queue_bytes);
    assert_int_equal(read->lease_bytes, open->lease_bytes);
    assert_true(read->flush_bytes == open->flush_bytes);
    if (open->engine == BLOOMERY_SIEVE_DISK) {
        assert_int_equal(read->distinct, open->distinct);
        assert_int_equal(read->seen_bytes, open->seen_bytes);
    }
}

static void use_and_compare(bloomery_sieve *sieve)
{
    bloomery_sieve_info open = BLOOMERY_SIEVE_INFO;
    push_some(sieve, 0, 5000);
    push_some(sieve, 2000, 100);
    assert_int_equal(mark_key(sieve, bloomery_key_of("m", 1), NULL, NULL) >= 0, 1);
    pop_some(sieve, 9);
    push_some(sieve, 10000, 77);
    assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
    open = sieve_info_of(sieve);
    bloomery_sieve_info read = must_read();
    must_be_the_same(&read, &open);
    must_add_up(&read);
    assert_int_equal(read.leased, 1);
    assert_int_equal(read.memory + read.commits + read.bytes_read, 0);
    /* What came since is in no commit yet. */
    push_some(sieve, 20000, 3);
    assert_int_equal(must_read().pushed, open.pushed);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
    open = sieve_info_of(sieve);
    read = must_read();
    must_be_the_same(&read, &open);
    must_add_up(&read);
    assert_int_equal(read.pending, 0);
}

static void facts_are_those_of_the_last_commit(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        bloomery_sieve_options options =
            sieve_options(kind < 2 ? BLOOMERY_SIEVE_DISK : BLOOMERY_SIEVE_MEMORY, 2);
        options.order = kind == 1 ? BLOOMERY_SIEVE_ORDER_FIFO : BLOOMERY_SIEVE_ORDER_BY_PARTITION;
        options.canon = kind == 1 ? "url" : NULL;
        options.full = kind == 3 ? BLOOMERY_SIEVE_WARN : BLOOMERY_SIEVE_GROW;
        options.keys = kind == 3 ? 2000 : 0;
        options.rate = kind == 3 ? 0.01 : 0;
        bloomery_sieve *sieve = must_open(&options);
        if (kind != 3)
            use_and_compare(sieve);
        else {
            push_some(sieve, 0, 5000);
            assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
            const bloomery_sieve_info info = must_read();
            assert_true(info.over_capacity && info.capacity == 2000);
            must_add_up(&info);
        }
        must_close(sieve);
        test_remove(sieve_place.path);
    }
}

static void reading_changes_nothing_and_locks_nobody_out(void **state)
{
    (void)state;
    const bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_DISK, 2);
    bloomery_sieve *sieve = must_open(&options);
    push_some(sieve, 0, 10);
    must_close(sieve);
    assert_int_equal(chmod(sieve_place.path, 0555), 0);
    assert_int_equal(must_read().pushed, 10);
    assert_int_equal(chmod(sieve_place.path, 0755), 0);
    sieve = must_open(&options);
    assert_int_equal(must_read().pushed, 10);
    must_close(sieve);
}

/* ---- Beside a writer --------------------------------------------------------------------- */

/* Commits without a pause until it is killed, or the test has ended. */
static void write_without_end(const bloomery_sieve_options *options)
{
    bloomery_sieve *sieve = NULL;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (bloomery_sieve_open(options, &sieve, NULL) != BLOOMERY_OK)
        _exit(1);
    for (uint64_t i = 0;; i++) {
        const uint64_t key = i * 2 / 3;
        bloomery_sieve_item items[2];
        size_t count = 0;
        if (push_key(sieve, bloomery_key_of(&key, sizeof key), bloomery_key_of(NULL, 0), NULL,
                     NULL) < 0 ||
            (i % 16 == 15 && bloomery_sieve_pop(sieve, items, 2, BLOOMERY_SIEVE_POP, &count,
                                                NULL) != BLOOMERY_OK) ||
            (count > 0 && bloomery_sieve_finish(sieve, &items[0].number, 1, BLOOMERY_SIEVE_DONE,
                                                NULL, NULL) != BLOOMERY_OK) ||
            (i % 4 == 0 && bloomery_sieve_commit(sieve, NULL) != BLOOMERY_OK))
            _exit(1);
    }
}

static void a_reader_beside_a_writer_sees_whole_commits(void **state)
{
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        bloomery_sieve_options options = sieve_options((bloomery_sieve_engine)engine, 2);
        bloomery_sieve *sieve = NULL;
        options.leases = 200000; /* so that a copy is long */
        sieve = must_open(&options);
        must_close(sieve);
        fflush(NULL);
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            write_without_end(&options);
        uint64_t before = 0, commits = 0;
        while (commits < 300) {
            const bloomery_sieve_info info = must_read();
            must_add_up(&info);
            assert_true(info.pushed >= before);
            commits += info.pushed > before;
            before = info.pushed;
            assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
        }
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(test_wait(child), -SIGKILL);
        test_remove(sieve_place.path);
    }
}

/* ---- Copies that are not whole ----------------------------------------------------------- */

enum { COPIES = 4 };

/* Writes a byte over one of copy `copy`, and returns what was there. */
static uint8_t strike(int copy, uint8_t by)
{
    char path[400];
    struct stat facts;
    uint8_t byte = 0;
    snprintf(path, sizeof path, "%s/MANIFEST", sieve_place.path);
    const int file = open(path, O_RDWR);
    assert_true(file >= 0 && fstat(file, &facts) == 0);
    const off_t place = facts.st_size / COPIES * copy + 200;
    assert_int_equal(pread(file, &byte, 1, place), 1);
    const uint8_t other = byte ^ by;
    assert_int_equal(pwrite(file, &other, 1, place), 1);
    assert_int_equal(close(file), 0);
    return byte;
}

static void the_other_copy_of_a_torn_one_counts(void **state)
{
    (void)state;
    const bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_DISK, 2);
    bloomery_sieve *sieve = must_open(&options);
    push_some(sieve, 0, 10);
    assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
    for (int copy = 0; copy < COPIES; copy++) {
        strike(copy, 255);
        assert_int_equal(must_read().pushed, 10);
        strike(copy, 255);
    }
    /* Either slot without a whole copy is damage, though the other one can be read. */
    for (int slot = 0; slot < 2; slot++) {
        strike(2 * slot, 255);
        strike(2 * slot + 1, 255);
        must_refuse(BLOOMERY_CORRUPT, "MANIFEST is damaged");
        strike(2 * slot, 255);
        strike(2 * slot + 1, 255);
    }
    must_close(sieve);
}

static void a_directory_that_is_not_a_sieve_is_refused(void **state)
{
    (void)state;
    char path[400];
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    const bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_DISK, 2);
    const bloomery_sieve_options none = BLOOMERY_SIEVE_OPTIONS;
    bloomery_error error = {0};
    assert_int_equal(bloomery_sieve_info_read(&none, &info, &error), BLOOMERY_BAD_ARGUMENT);
    must_refuse(BLOOMERY_NOT_A_FILTER, "there is no such sieve");
    assert_int_equal(mkdir(sieve_place.path, 0755), 0);
    must_refuse(BLOOMERY_NOT_A_FILTER, "it has no MANIFEST");
    bloomery_sieve *sieve = must_open(&options);
    push_some(sieve, 0, 10);
    must_close(sieve);
    snprintf(path, sizeof path, "%s/MANIFEST", sieve_place.path);
    assert_int_equal(unlink(path), 0);
    must_refuse(BLOOMERY_NOT_A_FILTER, "MANIFEST is missing");
    assert_int_equal(bloomery_sieve_open(&options, &sieve, &error), BLOOMERY_NOT_A_FILTER);
    assert_non_null(strstr(error.text, "MANIFEST is missing"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, sieve_setup, sieve_teardown)
        CASE(facts_are_those_of_the_last_commit),
        CASE(reading_changes_nothing_and_locks_nobody_out),
        CASE(a_reader_beside_a_writer_sees_whole_commits),
        CASE(the_other_copy_of_a_torn_one_counts),
        CASE(a_directory_that_is_not_a_sieve_is_refused),
#undef CASE
    };
    return test_run_group("sieve_look", tests, NULL, NULL);
}
