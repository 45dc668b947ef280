/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is refused, and how: arguments, options that the directory contradicts, directories that are
 * not a sieve, second users, items that are too long. A refusal has changed nothing and says what
 * would work.
 *
 * Build: this file, stream.c, ../support; cmocka, the library. No arguments. Suite: sieve.
 */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const bloomery_key nothing;

static void must_refuse(const bloomery_sieve_options *options, bloomery_status status,
                        const char *part)
{
    bloomery_sieve *sieve = (void *)&sieve_place;
    bloomery_error error = {0};
    const bloomery_status found = bloomery_sieve_open(options, &sieve, &error);
    if (found != status || error.status != status || strstr(error.text, part) == NULL)
        fail_msg("wanted status %d and \"%s\", got %d: %s", status, part, found, error.text);
    assert_null(sieve);
    assert_int_equal(bloomery_sieve_open(options, &sieve, NULL), status);
}

static bloomery_key text_key(const char *text)
{
    return bloomery_key_of(text, strlen(text));
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_DISK, 2);
#define REFUSED(field, value, part)                       \
    do {                                                  \
        bloomery_sieve_options wrong = options;           \
        wrong.field = (value);                            \
        must_refuse(&wrong, BLOOMERY_BAD_ARGUMENT, part); \
    } while (0)
    REFUSED(engine, (bloomery_sieve_engine)7, "engine");
    REFUSED(fingerprint_bits, 40, "48");
    REFUSED(partitions, 3, "256");
    REFUSED(partitions, 512, "256");
    REFUSED(leases, 1000001, "1,000,000");
    REFUSED(lease, -1, "lease");
    REFUSED(lease, (double)NAN, "lease");
    REFUSED(sync, (bloomery_sieve_sync)3, "timed, always or never");
    REFUSED(sync, (bloomery_sieve_sync)-1, "timed, always or never");
    REFUSED(sync_seconds, -1, "sync_seconds");
    REFUSED(sync_seconds, (double)NAN, "sync_seconds");
    REFUSED(sync_seconds, (double)INFINITY, "sync_seconds");
    REFUSED(order, (bloomery_sieve_order)2, "first in, first out");
    REFUSED(canon, "strange", "strange");
    REFUSED(canon, "a name that is longer than 31 bytes", "31");
    REFUSED(memory, 1, "");
    options = sieve_options(BLOOMERY_SIEVE_MEMORY, 2);
    REFUSED(rate, 1.5, "rate");
    REFUSED(rate, (double)NAN, "rate");
    REFUSED(full, (bloomery_sieve_full)9, "full");
    REFUSED(memory, 1, "");
#undef REFUSED
    /* A disk engine needs a place. */
    options = sieve_options(BLOOMERY_SIEVE_DISK, 2);
    options.directory = NULL;
    must_refuse(&options, BLOOMERY_BAD_ARGUMENT, "directory");
    /* What exists is in a directory, and nothing is made in memory in its place. */
    options = sieve_options(BLOOMERY_SIEVE_DEFAULT, 2);
    options.directory = NULL;
    options.existing = true;
    must_refuse(&options, BLOOMERY_BAD_ARGUMENT, "directory");
    /* Nothing was made, but perhaps the directory. */
    assert_true(access(sieve_place.path, F_OK) != 0 || rmdir(sieve_place.path) == 0);
    must_close(NULL);
}

/* The number in a text that follows nothing but prose: the greatest. */
static uint64_t number_in(const char *text)
{
    uint64_t most = 0;
    for (; *text != '\0'; text++) {
        uint64_t value = 0;
        for (; *text >= '0' && (*text <= '9' || *text == ','); text++)
            if (*text != ',')
                value = value * 10 + (uint64_t)(*text - '0');
        most = value > most ? value : most;
        if (*text == '\0')
            break;
    }
    return most;
}

/* What the refusal calls the least memory is enough, and a byte less is not. */
static void too_little_memory_is_refused_with_the_least(void **state)
{
    (void)state;
    for (uint32_t partitions = 1; partitions <= 256; partitions *= 16) {
        bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_DISK, 2);
        bloomery_sieve *sieve = NULL;
        bloomery_error error = {0};
        options.partitions = partitions;
        options.memory = 1000;
        assert_int_equal(bloomery_sieve_open(&options, &sieve, &error), BLOOMERY_BAD_ARGUMENT);
        const uint64_t least = number_in(error.text);
        assert_true(least > 100000 && least < 18000000);
        options.memory = least - 1;
        must_refuse(&options, BLOOMERY_BAD_ARGUMENT, "");
        options.memory = least;
        sieve = must_open(&options);
        assert_int_equal(push_key(sieve, nothing, nothing, NULL, NULL), BLOOMERY_SIEVE_PENDING);
        must_close(sieve);
        test_remove(sieve_place.path);
    }
}

static size_t leave(void *context, bloomery_key key, void *out, size_t room)
{
    (void)context;
    (void)key;
    (void)out;
    (void)room;
    return SIZE_MAX;
}

static void options_that_the_directory_contradicts_are_refused(void **state)
{
    (void)state;
    bloomery_sieve_options made = sieve_options(BLOOMERY_SIEVE_DISK, 2);
    made.canon = "url";
    made.leases = 100;
    made.keys = 5000;
    must_close(must_open(&made));
#define CONTRADICTS(field, value, part)               \
    do {                                              \
        bloomery_sieve_options wrong = made;          \
        wrong.field = (value);                        \
        must_refuse(&wrong, BLOOMERY_MISMATCH, part); \
    } while (0)
    CONTRADICTS(engine, BLOOMERY_SIEVE_MEMORY, "engine");
    CONTRADICTS(partitions, 4, "partitions");
    CONTRADICTS(fingerprint_bits, 48, "bits");
    CONTRADICTS(canon, "none", "url");
    CONTRADICTS(canon, "url-query", "url");
    CONTRADICTS(order, BLOOMERY_SIEVE_ORDER_FIFO, "order");
    CONTRADICTS(keys, 5001, "keys");
    bloomery_sieve_options own = made;
    own.canon = "own";
    own.canonicaliser = leave;
    must_refuse(&own, BLOOMERY_MISMATCH, "url");
#undef CONTRADICTS
    /* What is left out is what the directory says. */
    bloomery_sieve_options few = BLOOMERY_SIEVE_OPTIONS;
    few.directory = sieve_place.path;
    bloomery_sieve *sieve = must_open(&few);
    bloomery_sieve_info info = sieve_info_of(sieve);
    assert_int_equal(info.engine, BLOOMERY_SIEVE_DISK);
    assert_int_equal(info.partitions, 2);
    assert_int_equal(info.fingerprint_bits, 64);
    assert_string_equal(info.canon, "url");
    assert_true(push_key(sieve, text_key("HTTP://A/"), nothing, NULL, NULL) >= 0);
    bloomery_sieve_item item;
    size_t count = must_pop(sieve, &item, 1);
    assert_int_equal(count, 1);
    assert_int_equal(item.key.bytes, 9);
    assert_memory_equal(item.key.data, "http://a/", 9);
    must_close(sieve);
    few.existing = true;
    must_close(must_open(&few));
    must_close(must_open(&made));
}

static void put_file(const char *name)
{
    char path[400];
    snprintf(path, sizeof path, "%s/%s", sieve_place.path, name);
    test_write_file(path, "mine", 4);
}

static void directories_that_are_not_a_sieve_are_left_alone(void **state)
{
    (void)state;
    bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_DEFAULT, 2);
    options.existing = true;
    must_refuse(&options, BLOOMERY_NOT_A_FILTER, "");
    assert_int_not_equal(access(sieve_place.path, F_OK), 0);
    assert_int_equal(mkdir(sieve_place.path, 0700), 0);
    must_refuse(&options, BLOOMERY_NOT_A_FILTER, "");
    options.existing = false;
    static const char *const names[] = {"notes.txt", "seen-000.1", "queue-000000000001", ".hidden"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        put_file(names[i]);
        must_refuse(&options, BLOOMERY_NOT_A_FILTER, "");
        struct test_directory here;
        snprintf(here.path, sizeof here.path, "%.199s", sieve_place.path);
        assert_int_equal(test_directory_entries(&here), 1);
        char path[400];
        snprintf(path, sizeof path, "%s/%s", sieve_place.path, names[i]);
        struct test_bytes mine = test_read_file(path);
        assert_int_equal(mine.bytes, 4);
        assert_memory_equal(mine.data, "mine", 4);
        test_bytes_free(&mine);
        unlink(path);
    }
    must_close(must_open(&options)); /* an empty one is fine */
    test_remove(sieve_place.path);
    test_write_file(sieve_place.path, "mine", 4);
    const bloomery_status status = bloomery_sieve_open(&options, &(bloomery_sieve *){NULL}, NULL);
    assert_true(status == BLOOMERY_NOT_A_FILTER || status == BLOOMERY_IO_FAILED);
    unlink(sieve_place.path);
}

/* It has the secret of the hash, by which keys that collide can be made. */
static void the_secret_is_its_owners(void **state)
{
    (void)state;
    struct stat facts;
    char path[400];
    const mode_t before = umask(0);
    bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_DISK, 2);
    must_close(must_open(&options));
    umask(before);
    snprintf(path, sizeof path, "%s/MANIFEST", sieve_place.path);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
}

static void another_version_is_refused(void **state)
{
    (void)state;
    bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_DISK, 2);
    char path[400];
    must_close(must_open(&options));
    snprintf(path, sizeof path, "%s/MANIFEST", sieve_place.path);
    struct test_bytes manifest = test_read_file(path);
    for (uint8_t version = 1; version <= 4; version++) {
        char text[16];
        snprintf(text, sizeof text, "version %u", version);
        for (size_t copy = 0; copy < 4; copy++)
            manifest.data[copy * (manifest.bytes / 4) + 8] = version;
        test_write_file(path, manifest.data, manifest.bytes);
        if (version == 3)
            must_close(must_open(&options));
        else
            must_refuse(&options, BLOOMERY_WRONG_VERSION, text);
    }
    test_bytes_free(&manifest);
}

/* A second process, while the first one has it; afterwards it may. */
static void a_second_process_is_refused(void **state)
{
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        bloomery_sieve_options options = sieve_options((bloomery_sieve_engine)engine, 2);
        bloomery_sieve *sieve = must_open(&options);
        for (int open_now = 1; open_now >= 0; open_now--) {
            fflush(NULL);
            const pid_t child = fork();
            assert_true(child >= 0);
            if (child == 0) {
                /* Opened by another process altogether: this one's copy of the descriptor does not
                 * matter. */
                bloomery_sieve *second = NULL;
                const bloomery_status found = bloomery_sieve_open(&options, &second, NULL);
                _exit(found == (open_now ? BLOOMERY_BUSY : BLOOMERY_OK) ? 0 : 1);
            }
            assert_int_equal(test_wait(child), 0);
            if (open_now)
                must_close(sieve);
        }
        test_remove(sieve_place.path);
    }
}

/* Nor the same one twice. */
static void a_second_opening_is_refused(void **state)
{
    (void)state;
    bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_DISK, 2);
    bloomery_sieve *sieve = must_open(&options);
    must_refuse(&options, BLOOMERY_BUSY, "");
    assert_int_equal(push_key(sieve, nothing, nothing, NULL, NULL), BLOOMERY_SIEVE_PENDING);
    must_close(sieve);
}

static void items_of_any_length_pass_and_longer_ones_are_refused(void **state)
{
    (void)state;
    uint8_t *bytes = calloc(1, BLOOMERY_SIEVE_ITEM_MAX + 1);
    assert_non_null(bytes);
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++) {
        bloomery_sieve_options options = sieve_options((bloomery_sieve_engine)engine, 2);
        bloomery_sieve *sieve = must_open(&options);
        const bloomery_key longest = bloomery_key_of(bytes, BLOOMERY_SIEVE_ITEM_MAX);
        const bloomery_key shorter = bloomery_key_of(bytes, BLOOMERY_SIEVE_ITEM_MAX - 1);
        const bloomery_key one = bloomery_key_of(bytes, 1);
        const bloomery_key longer = bloomery_key_of(bytes, BLOOMERY_SIEVE_ITEM_MAX + 1);
        bloomery_error error = {0};
        uint64_t number = 77;
        uint8_t results[3];
        bloomery_sieve_pushed pushed = {77, 77};
        const bloomery_key keys[3] = {nothing, longer, one};
        assert_int_equal(push_key(sieve, longer, nothing, &number, &error), BLOOMERY_BAD_ARGUMENT);
        assert_int_equal(push_key(sieve, longest, one, NULL, &error), BLOOMERY_BAD_ARGUMENT);
        assert_int_equal(push_key_again(sieve, one, longest, NULL, &error), BLOOMERY_BAD_ARGUMENT);
        assert_int_equal(mark_key(sieve, longer, NULL, &error), BLOOMERY_BAD_ARGUMENT);
        bloomery_sieve_info info = sieve_info_of(sieve);
        assert_int_equal(info.pushed, 0);
        assert_int_equal(bloomery_sieve_push(sieve, keys, NULL, 3, BLOOMERY_SIEVE_PUSH, results,
                                             &pushed, &error),
                         BLOOMERY_BAD_ARGUMENT);
        assert_int_equal(pushed.done, pushed.last);
        assert_true(pushed.done <= 1);
        const size_t empty = pushed.done; /* the empty key, without a payload */
        assert_int_equal(bloomery_sieve_push(sieve, keys, NULL, 0, BLOOMERY_SIEVE_PUSH, results,
                                             &pushed, &error),
                         BLOOMERY_OK);
        assert_int_equal(pushed.done, 0);
        assert_true(push_key(sieve, longest, nothing, NULL, &error) > 0);
        assert_true(push_key(sieve, shorter, one, NULL, &error) > 0);
        assert_true(push_key(sieve, one, shorter, NULL, &error) > 0);
        assert_true(push_key(sieve, nothing, longest, NULL, &error) >= 0);
        size_t bytes_came = 0;
        size_t items = 0;
        for (;;) {
            bloomery_sieve_item item[2];
            size_t count = 0;
            assert_int_equal(bloomery_sieve_pop(sieve, item, 2, BLOOMERY_SIEVE_POP, &count, &error),
                             BLOOMERY_OK);
            if (count == 0)
                break;
            items += count;
            for (size_t i = 0; i < count; i++) {
                bytes_came += item[i].key.bytes + item[i].payload.bytes;
                assert_int_equal(bloomery_sieve_finish(sieve, &item[i].number, 1,
                                                       BLOOMERY_SIEVE_DONE, NULL, &error),
                                 BLOOMERY_OK);
            }
        }
        assert_int_equal(items, 4);
        assert_int_equal(bytes_came, (size_t)BLOOMERY_SIEVE_ITEM_MAX * (empty == 0 ? 4 : 3));
        must_close(sieve);
        test_remove(sieve_place.path);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, sieve_setup, sieve_teardown)
        CASE(bad_options_are_refused),
        CASE(too_little_memory_is_refused_with_the_least),
        CASE(options_that_the_directory_contradicts_are_refused),
        CASE(directories_that_are_not_a_sieve_are_left_alone),
        CASE(the_secret_is_its_owners),
        CASE(another_version_is_refused),
        CASE(a_second_process_is_refused),
        CASE(a_second_opening_is_refused),
        CASE(items_of_any_length_pass_and_longer_ones_are_refused),
#undef CASE
    };
    return test_run_group("sieve_contract", tests, NULL, NULL);
}
