/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where one part of a sieve meets another: reopening from another directory, damage in one place
 * and what goes on elsewhere, options that are of the other engine, who synced and who did not.
 *
 * Build: this file, stream.c, ../support; cmocka, the library. No arguments. Suite: sieve.
 */
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const bloomery_key nothing;

static int push(bloomery_sieve *sieve, uint64_t number)
{
    char text[32];
    const int bytes = snprintf(text, sizeof text, "key %llu", (unsigned long long)number);
    return push_key(sieve, bloomery_key_of(text, (size_t)bytes), nothing, NULL, NULL);
}

static void push_many(bloomery_sieve *sieve, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        assert_true(push(sieve, i) >= 0);
}

/* The memory engine saves its filter by a path. */
static void another_directory_leaves_the_filter_in_its_place(void **state)
{
    (void)state;
    bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_MEMORY, 0);
    char here[400];
    char filter[400];
    struct stat facts;
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(sieve_place.directory.path), 0);
    options.directory = "sieve";
    bloomery_sieve *sieve = must_open(&options);
    assert_int_equal(chdir("/"), 0);
    push_many(sieve, 0, 300000); /* enough to be worth saving when it is closed */
    must_close(sieve);
    assert_int_equal(chdir(here), 0);
    snprintf(filter, sizeof filter, "%s/filter.1", sieve_place.path);
    assert_int_equal(stat(filter, &facts), 0);
    options.directory = sieve_place.path;
    sieve = must_open(&options);
    assert_int_equal(push(sieve, 299999), BLOOMERY_SIEVE_SEEN);
    must_close(sieve);
}

static void a_damaged_partition_stops_no_other(void **state)
{
    (void)state;
    bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_DISK, 0);
    bloomery_error error = {0};
    options.partitions = 16;
    bloomery_sieve *sieve = must_open(&options);
    push_many(sieve, 0, 8000);
    must_close(sieve);
    sieve_flip("pending-003.0", 200);
    sieve = must_open(&options);
    assert_int_equal(bloomery_sieve_flush(sieve, &error), BLOOMERY_CORRUPT);
    assert_non_null(strstr(error.text, "pending-003.0"));
    const uint64_t came = sieve_drain_until(sieve, 64, NULL);
    bloomery_sieve_info info = sieve_info_of(sieve);
    assert_int_equal(came + info.pending, 8000);
    assert_in_range(info.pending, 300, 700); /* a sixteenth */
    must_close(sieve);
}

static void options_of_the_other_engine_do_not_matter(void **state)
{
    (void)state;
    bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_MEMORY, 0);
    options.partitions = 4;
    options.fingerprint_bits = 48;
    options.order = BLOOMERY_SIEVE_ORDER_FIFO;
    for (int i = 0; i < 2; i++)
        assert_int_equal(bloomery_sieve_close(must_open(&options), NULL), BLOOMERY_OK);
    test_remove(sieve_place.path);
    options = sieve_options(BLOOMERY_SIEVE_DISK, 0);
    options.full = BLOOMERY_SIEVE_STOP;
    options.dialect = "sieve-murmur3";
    for (int i = 0; i < 2; i++)
        assert_int_equal(bloomery_sieve_close(must_open(&options), NULL), BLOOMERY_OK);
}

/* A portion that ends in the middle, since the filter is full: a key that counts as not pushed is
 * not in the filter either, or it would be called seen the next time and never be queued. Chains of
 * RedisBloom count new keys alone, so half of these are repeats. */
static void what_was_not_pushed_is_not_seen(void **state)
{
    enum { KEYS = 1024 };
    static uint64_t numbers[KEYS];
    static bloomery_key keys[KEYS];
    static uint8_t results[KEYS];
    bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_MEMORY, 0);
    bloomery_error error = {.status = BLOOMERY_OK};
    uint64_t next = 0;
    bloomery_sieve_pushed pushed = {.done = KEYS};
    (void)state;
    options.keys = 1000;
    options.full = BLOOMERY_SIEVE_WARN;
    options.dialect = "redisbloom";
    options.memory = 1000000;
    bloomery_sieve *sieve = must_open(&options);
    bloomery_status status = BLOOMERY_OK;
    while (status == BLOOMERY_OK && next < 1000000) {
        for (size_t i = 0; i < KEYS; i++) {
            numbers[i] = i % 2 != 0 ? next++ : next / 2;
            keys[i] = bloomery_key_of(&numbers[i], sizeof numbers[i]);
        }
        status = bloomery_sieve_push(sieve, keys, NULL, KEYS, BLOOMERY_SIEVE_PUSH, results, &pushed,
                                     &error);
    }
    assert_int_equal(status, BLOOMERY_FULL);
    assert_in_range(pushed.done, 1, KEYS - 100);
    size_t seen = 0;
    for (size_t i = pushed.done; i < KEYS; i++)
        seen += i % 2 != 0 && query_key(sieve, keys[i], &error) == BLOOMERY_SIEVE_SEEN;
    assert_in_range(seen, 0, 2); /* false positives, 1 in a million each */
    must_close(sieve);
}

/* Pushes, pops and commits over more than one segment of the queue, in a process that is not there
 * to close it: 70 items of a megabyte, less than what makes saving the filter worth while. */
enum { LONG_ITEMS = 70, LONG_BYTES = 1000000 };

static bloomery_sieve_options long_options(void)
{
    bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_MEMORY, 0);
    options.keys = 20000000;
    options.full = BLOOMERY_SIEVE_STOP;
    return options;
}

static void live_without_an_end(void)
{
    const bloomery_sieve_options options = long_options();
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bloomery_sieve *sieve = NULL;
        bool good = bloomery_sieve_open(&options, &sieve, NULL) == BLOOMERY_OK;
        uint8_t *payload = calloc(1, LONG_BYTES);
        for (uint32_t i = 0; good && i < LONG_ITEMS; i++)
            good = push_key(sieve, bloomery_key_of(&i, sizeof i),
                            bloomery_key_of(payload, LONG_BYTES), NULL, NULL) == BLOOMERY_SIEVE_NEW;
        good = good && sieve_drain_until(sieve, 64, NULL) == LONG_ITEMS &&
               bloomery_sieve_commit(sieve, NULL) == BLOOMERY_OK;
        _exit(good ? 0 : 1);
    }
    assert_int_equal(test_wait(child), 0);
}

/* What the memory engine forgets where its log is not whole, it would call new again. */
static void a_missing_log_is_not_passed_over(void **state)
{
    (void)state;
    const bloomery_sieve_options options = long_options();
    bloomery_sieve *sieve = NULL;
    char segment[400];
    live_without_an_end();
    snprintf(segment, sizeof segment, "%s/queue-000000000001", sieve_place.path);
    assert_int_equal(unlink(segment), 0);
    assert_int_equal(bloomery_sieve_open(&options, &sieve, NULL), BLOOMERY_CORRUPT);
}

enum { LATER = 10, PAYLOAD_BYTES = 60000, HEADER = 64 };

static off_t bytes_of(const char *path)
{
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    return facts.st_size;
}

/* Items in a memory engine, each in a frame of its own. If they are 4 MiB the filter is saved. */
static void push_long(uint64_t count)
{
    static const uint8_t payload[PAYLOAD_BYTES];
    const bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_MEMORY, 0);
    bloomery_sieve *sieve = must_open(&options);
    for (uint64_t i = 0; i < count; i++) {
        char text[32];
        const int bytes = snprintf(text, sizeof text, "key %llu", (unsigned long long)i);
        assert_int_equal(push_key(sieve, bloomery_key_of(text, (size_t)bytes),
                                  bloomery_key_of(payload, sizeof payload), NULL, NULL),
                         BLOOMERY_SIEVE_NEW);
    }
    must_close(sieve);
}

/* A log in a segment that was left, since all of it was popped and is done: `before` long items,
 * then LATER short ones, which a saved filter lacks. Returns where these begin. */
static off_t make_left_log(uint64_t before, const char *segment)
{
    push_long(before);
    const off_t end = bytes_of(segment);
    const bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_MEMORY, 0);
    bloomery_sieve *sieve = must_open(&options);
    push_many(sieve, before, before + LATER);
    assert_int_equal(sieve_drain_until(sieve, 64, NULL), before + LATER);
    must_close(sieve);
    assert_true(bytes_of(segment) > end);
    return end;
}

/* Recovery counts what the filter lacks, and what it has stays seen. */
static void must_recover_all_but(uint64_t before, uint64_t lost)
{
    const bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_MEMORY, 0);
    bloomery_sieve_recovery found = BLOOMERY_SIEVE_RECOVERY;
    assert_int_equal(bloomery_sieve_recover(&options, NULL, NULL, &found, NULL), BLOOMERY_OK);
    assert_true(found.damaged > 0);
    assert_int_equal(found.seen, lost);
    assert_int_equal(bloomery_sieve_recover(&options, NULL, NULL, &found, NULL), BLOOMERY_OK);
    assert_int_equal(found.damaged, 0);
    bloomery_sieve *sieve = must_open(&options);
    for (uint64_t i = 0; i < before + LATER; i++) {
        const uint8_t expected =
            i < before + LATER - lost ? BLOOMERY_SIEVE_SEEN : BLOOMERY_SIEVE_NEW;
        assert_int_equal(push(sieve, i), expected);
    }
    must_close(sieve);
}

/* Keys that the filter got after it was saved are in the queue alone. A segment that was cut where
 * they begin has no damaged frame: what is missing are numbers. */
static void a_log_that_lacks_its_end_is_not_passed_over(void **state)
{
    (void)state;
    const bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_MEMORY, 0);
    enum { SAVED = 80, NOT_SAVED = 2 };
    const struct {
        uint64_t before;
        off_t short_by; /* of the long items; all: the header is left */
        uint64_t lost;
    } cases[] = {
        {SAVED, 0, LATER},
        {SAVED, PAYLOAD_BYTES / 2, LATER},
        {NOT_SAVED, 0, LATER},
        {NOT_SAVED, NOT_SAVED * PAYLOAD_BYTES, NOT_SAVED + LATER},
    };
    char segment[400];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bloomery_sieve *sieve = NULL;
        bloomery_error error = {.text = ""};
        snprintf(segment, sizeof segment, "%s/queue-000000000001", sieve_place.path);
        const off_t end = make_left_log(cases[i].before, segment) - cases[i].short_by;
        assert_int_equal(truncate(segment, end > PAYLOAD_BYTES ? end : HEADER), 0);
        if (bloomery_sieve_open(&options, &sieve, &error) == BLOOMERY_OK)
            fail_msg("case %zu: a log that lacks its end was opened", i);
        assert_int_equal(error.status, BLOOMERY_CORRUPT);
        must_recover_all_but(cases[i].before, cases[i].lost);
        test_remove(sieve_place.path);
    }
}

/* Two damaged frames become one of nothing, and the filter was saved between them. A kill before
 * the manifest is written leaves one that still names that place. */
static void an_interrupted_recovery_finds_where_the_filter_was_saved(void **state)
{
    enum { SAVED = 80, FRAME_CHECKSUM = 40 };
    (void)state;
    const bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_MEMORY, 0);
    bloomery_sieve_recovery found = BLOOMERY_SIEVE_RECOVERY;
    char segment[400];
    char path[400];
    snprintf(segment, sizeof segment, "%s/queue-000000000001", sieve_place.path);
    snprintf(path, sizeof path, "%s/MANIFEST", sieve_place.path);
    push_long(SAVED);
    const off_t end = bytes_of(segment);
    bloomery_sieve *sieve = must_open(&options);
    push_many(sieve, SAVED, SAVED + LATER);
    assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
    push_many(sieve, SAVED + LATER, SAVED + 2 * LATER);
    must_close(sieve);
    const off_t frame = (end - HEADER) / SAVED; /* long items are alike */
    sieve_flip("queue-000000000001", (long)(end - frame + FRAME_CHECKSUM));
    sieve_flip("queue-000000000001", (long)(end + FRAME_CHECKSUM));
    struct test_bytes manifest = test_read_file(path);
    for (int times = 0; times < 2; times++) {
        test_write_file(path, manifest.data, manifest.bytes);
        assert_int_equal(bloomery_sieve_recover(&options, NULL, NULL, &found, NULL), BLOOMERY_OK);
        assert_int_equal(found.queued, LATER + 1);
        sieve = must_open(&options);
        for (uint64_t i = SAVED + LATER; i < SAVED + 2 * LATER; i++)
            assert_int_equal(push(sieve, i), BLOOMERY_SIEVE_SEEN);
        must_close(sieve);
    }
    test_bytes_free(&manifest);
}

static void popped_keys_stay_seen_after_opening(void **state)
{
    (void)state;
    const bloomery_sieve_options options = long_options();
    live_without_an_end();
    for (int opening = 0; opening < 2; opening++) {
        bloomery_sieve *sieve = must_open(&options);
        for (uint32_t i = 0; i < LONG_ITEMS; i++)
            assert_int_equal(query_key(sieve, bloomery_key_of(&i, sizeof i), NULL),
                             BLOOMERY_SIEVE_SEEN);
        assert_int_equal(sieve_drain_until(sieve, 64, NULL), 0);
        must_close(sieve);
    }
}

/* Merges after a commit make new files; those that the commit named must be there until the next
 * one. */
static void files_of_the_last_commit_stay(void **state)
{
    (void)state;
    bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_DISK, 0);
    bloomery_sieve *sieve = NULL;
    options.partitions = 1;
    options.memory = 1300000; /* batches of some 16,000 keys */
    options.sync_seconds = 1e6;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (bloomery_sieve_open(&options, &sieve, NULL) != BLOOMERY_OK)
            _exit(1);
        push_many(sieve, 0, 40000);
        const bool good = bloomery_sieve_commit(sieve, NULL) == BLOOMERY_OK;
        push_many(sieve, 40000, 120000);
        _exit(good ? 0 : 1);
    }
    assert_int_equal(test_wait(child), 0);
    sieve = must_open(&options);
    bloomery_sieve_info info = sieve_info_of(sieve);
    assert_int_equal(info.pushed, 40000);
    assert_true(info.distinct > 0);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    assert_int_equal(sieve_drain_until(sieve, 64, NULL), 40000);
    push_many(sieve, 0, 120000);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    assert_int_equal(sieve_drain_until(sieve, 64, NULL), 80000);
    must_close(sieve);
}

/* As the lineage's queue tells it after every push, and says once that it is full. */
static void count_warnings(void *context, const char *text)
{
    assert_non_null(strstr(text, "1000"));
    ++*(int *)context;
}

static void the_estimate_is_known_after_every_push(void **state)
{
    (void)state;
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    int warnings = 0;
    /* The queue of the lineage: its Murmur3 filter, 1 in 100, one warning at its capacity. */
    options.engine = BLOOMERY_SIEVE_MEMORY;
    options.rate = 0.01;
    options.full = BLOOMERY_SIEVE_WARN;
    options.dialect = "sieve-murmur3";
    options.keys = 1000;
    options.warning = count_warnings;
    options.warning_context = &warnings;
    bloomery_sieve *sieve = must_open(&options);
    bloomery_sieve_info info = sieve_info_of(sieve);
    assert_int_equal(info.distinct, 0);
    for (uint64_t i = 1; i <= 1500; i++) {
        assert_true(push(sieve, i) >= 0);
        info = sieve_info_of(sieve);
        const double estimate = (double)info.distinct;
        /* Four standard deviations of an estimate from a fill of a half, and a key. */
        assert_true(estimate > 0.93 * (double)i - 1 && estimate < 1.07 * (double)i + 1);
        if (i <= 1000)
            assert_int_equal(warnings, 0);
    }
    assert_int_equal(warnings, 1);
    must_close(sieve);
}

/* Decided without a merge, since that is cheaper for a few: then they are not in the seen-set
 * yet. */
static void popped_keys_are_contained(void **state)
{
    (void)state;
    bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_DISK, 0);
    options.partitions = 1;
    bloomery_sieve *sieve = must_open(&options);
    push_many(sieve, 0, 100000);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    push_many(sieve, 100000, 100010);
    assert_int_equal(sieve_drain_until(sieve, 64, NULL), 100010);
    must_close(sieve);
    sieve = must_open(&options); /* without what the cache knows */
    for (uint64_t i = 99990; i < 100010; i++) {
        char text[32];
        const int bytes = snprintf(text, sizeof text, "key %llu", (unsigned long long)i);
        assert_int_equal(query_key(sieve, bloomery_key_of(text, (size_t)bytes), NULL),
                         BLOOMERY_SIEVE_SEEN);
    }
    assert_int_equal(query_key(sieve, bloomery_key_of("key", 3), NULL), BLOOMERY_SIEVE_NEW);
    must_close(sieve);
}

static void damage_of_the_older_slot_does_not_matter(void **state)
{
    (void)state;
    bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_DISK, 0);
    bloomery_sieve *sieve = must_open(&options);
    push_many(sieve, 0, 10);
    must_close(sieve); /* the first commit: slot 1 */
    for (long offset = 0; offset < 320; offset++) {
        sieve_flip("MANIFEST", offset);
        sieve = must_open(&options);
        bloomery_sieve_info info = sieve_info_of(sieve);
        assert_int_equal(info.pushed, 10);
        must_close(sieve);
        sieve_flip("MANIFEST", offset);
    }
}

static void refused_options_leave_nothing_behind(void **state)
{
    (void)state;
    bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_DISK, 0);
    bloomery_sieve *sieve = NULL;
    struct stat facts;
    options.struct_bytes = sizeof(size_t);
    assert_int_equal(bloomery_sieve_open(&options, &sieve, NULL), BLOOMERY_BAD_ARGUMENT);
    assert_null(sieve);
    assert_int_equal(stat(sieve_place.path, &facts), -1);
    options = sieve_options(BLOOMERY_SIEVE_DISK, 0);
    options.memory = 1000;
    assert_int_equal(bloomery_sieve_open(&options, &sieve, NULL), BLOOMERY_BAD_ARGUMENT);
    assert_int_equal(stat(sieve_place.path, &facts), -1);
}

/* Each length that a key can't have, with and without a canonicaliser. */
static void absurd_lengths_are_refused(void **state)
{
    (void)state;
    const size_t lengths[] = {BLOOMERY_SIEVE_ITEM_MAX + 1, (size_t)1 << 32, SIZE_MAX / 2,
                              SIZE_MAX - 15, SIZE_MAX};
    const char *const canons[] = {"none", "url", "url-query"};
    for (int i = 0; i < 3; i++) {
        bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_DISK, 0);
        options.canon = canons[i];
        bloomery_sieve *sieve = must_open(&options);
        for (size_t j = 0; j < sizeof lengths / sizeof lengths[0]; j++) {
            const bloomery_key key = bloomery_key_of("http://a", lengths[j]);
            assert_int_equal(push_key(sieve, key, nothing, NULL, NULL), BLOOMERY_BAD_ARGUMENT);
            assert_int_equal(push_key(sieve, bloomery_key_of("a", 1), key, NULL, NULL),
                             BLOOMERY_BAD_ARGUMENT);
            assert_int_equal(query_key(sieve, key, NULL), BLOOMERY_BAD_ARGUMENT);
        }
        assert_int_equal(push(sieve, 1), BLOOMERY_SIEVE_PENDING);
        must_close(sieve);
        test_remove(sieve_place.path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, sieve_setup, sieve_teardown)
        CASE(another_directory_leaves_the_filter_in_its_place),
        CASE(a_damaged_partition_stops_no_other),
        CASE(options_of_the_other_engine_do_not_matter),
        CASE(what_was_not_pushed_is_not_seen),
        CASE(a_missing_log_is_not_passed_over),
        CASE(a_log_that_lacks_its_end_is_not_passed_over),
        CASE(an_interrupted_recovery_finds_where_the_filter_was_saved),
        CASE(popped_keys_stay_seen_after_opening),
        CASE(the_estimate_is_known_after_every_push),
        CASE(files_of_the_last_commit_stay),
        CASE(popped_keys_are_contained),
        CASE(damage_of_the_older_slot_does_not_matter),
        CASE(refused_options_leave_nothing_behind),
        CASE(absurd_lengths_are_refused),
#undef CASE
    };
    return test_run_group("sieve_edges", tests, NULL, NULL);
}
