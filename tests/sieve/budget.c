/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a sieve and what it was used with before: any budget from the least on opens any
 * sieve and decides what is pending, in pieces where a log has more keys than a batch; and what is
 * promised of its memory holds.
 *
 * Build: this file, stream.c, ../support; cmocka, the library. No arguments. Suite: sieve.
 */
#include "stream.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KEYS = 60000,
    POPPED = 3000,
    KEY_MAX = 300000,
    /* Of an item that is longer than a buffer: read, and written to the queue. */
    ITEM_COPIES = 2,
};

static const bloomery_key nothing;

struct form {
    const char *name;
    uint32_t partitions;
    uint32_t bits;
    bool ordered;
    bool lengths; /* keys of all lengths; else of about ten bytes */
};

static const struct form forms[] = {
    {"one partition", 1, 64, false, false},
    {"two partitions of 48 bits", 2, 48, false, false},
    {"one partition in order", 1, 64, true, false},
    {"two partitions in order", 2, 64, true, false},
    {"256 partitions in order", 256, 64, true, false},
    {"two partitions, keys of all lengths", 2, 64, false, true},
    {"16 partitions in order, keys of all lengths", 16, 64, true, true},
};

static struct scene {
    char *key;
    uint8_t *came;
    struct stream_memory memory;
} scene;

static int setup(void **state)
{
    const int status = sieve_setup(state);
    scene.key = malloc(KEY_MAX);
    scene.came = calloc(2 * KEYS, 1);
    memset(&scene.memory, 0, sizeof scene.memory);
    return scene.key != NULL && scene.came != NULL ? status : -1;
}

static int teardown(void **state)
{
    free(scene.key);
    free(scene.came);
    return sieve_teardown(state);
}

/* Few are long, so that all together are some megabytes. */
static size_t length_of(const struct form *form, uint32_t id)
{
    static const size_t lengths[] = {300, 3000, 5000, 20000, 33000, 60000, 65000, 100000, 290000};
    if (!form->lengths || id % 1000 > 8)
        return 0;
    return lengths[id % 1000];
}

static bloomery_key key_of(const struct form *form, uint32_t id)
{
    const size_t wanted = length_of(form, id);
    size_t bytes = (size_t)snprintf(scene.key, KEY_MAX, "key %u", id);
    if (wanted > bytes) {
        memset(scene.key + bytes, 'a' + (int)(id % 26), wanted - bytes);
        bytes = wanted;
    }
    return bloomery_key_of(scene.key, bytes);
}

static bloomery_sieve_options options_of(const struct form *form)
{
    bloomery_sieve_options options = sieve_options(BLOOMERY_SIEVE_DISK, form->partitions);
    options.allocator = stream_allocator(&scene.memory);
    options.fingerprint_bits = form->bits;
    options.order = form->ordered ? BLOOMERY_SIEVE_ORDER_FIFO : BLOOMERY_SIEVE_ORDER_BY_PARTITION;
    return options;
}

/* Counts the memory from here. */
static bloomery_sieve *open_counted(const bloomery_sieve_options *options)
{
    scene.memory.most = 0;
    return must_open(options);
}

/* The least memory, as the refusal of less says it. */
static uint64_t least_of(const struct form *form)
{
    bloomery_sieve_options options = options_of(form);
    bloomery_sieve *sieve = NULL;
    bloomery_error error = {0};
    options.memory = 1;
    assert_int_equal(bloomery_sieve_open(&options, &sieve, &error), BLOOMERY_BAD_ARGUMENT);
    const char *says = strstr(error.text, "at least ");
    assert_non_null(says);
    return strtoull(says + strlen("at least "), NULL, 10);
}

/* Ids [from, to), each second one twice; every tenth is marked first, and so does not come out. */
static void push(bloomery_sieve *sieve, const struct form *form, uint32_t from, uint32_t to)
{
    bloomery_error error = {0};
    for (uint32_t id = from; id < to; id++) {
        const bloomery_key key = key_of(form, id);
        int result = id % 10 == 0 ? mark_key(sieve, key, NULL, &error) : 0;
        if (result >= 0)
            result = push_key(sieve, key, nothing, NULL, &error);
        if (result >= 0 && id % 2 == 0)
            result = push_key(sieve, key_of(form, id / 2), nothing, NULL, &error);
        if (result < 0)
            fail_msg("%s: %s", form->name, error.text);
    }
}

static uint32_t wanted_of(uint32_t to)
{
    return to - (to + 9) / 10;
}

/* Pops until `most` items came or none is left, each for the first time, in order where that is
 * promised. */
static uint32_t drain(bloomery_sieve *sieve, const struct form *form, uint32_t most)
{
    uint32_t all = 0;
    uint32_t last = 0;
    size_t count = 1;
    while (count > 0 && all < most) {
        bloomery_sieve_item items[64];
        uint64_t numbers[64];
        bloomery_error error = {0};
        if (bloomery_sieve_pop(sieve, items, 64, BLOOMERY_SIEVE_POP, &count, &error) != BLOOMERY_OK)
            fail_msg("%s: %s", form->name, error.text);
        for (size_t i = 0; i < count; i++) {
            char text[32] = "";
            const size_t bytes = items[i].key.bytes < 31 ? items[i].key.bytes : 31;
            memcpy(text, items[i].key.data, bytes);
            const uint32_t id = (uint32_t)strtoul(text + 4, NULL, 10);
            const bloomery_key key = key_of(form, id);
            assert_int_equal(key.bytes, items[i].key.bytes);
            assert_memory_equal(key.data, items[i].key.data, key.bytes);
            assert_int_equal(scene.came[id], 0);
            assert_true(id % 10 != 0 && (!form->ordered || id > last));
            scene.came[id] = 1;
            last = id;
            numbers[i] = items[i].number;
        }
        must_finish(sieve, numbers, count);
        all += (uint32_t)count;
    }
    return all;
}

/* The most that the sieve allocated. A long item is there twice while it moves from the log to the
 * queue. */
static void assert_within(const struct form *form, uint64_t memory)
{
    const uint64_t more = form->lengths ? ITEM_COPIES * (uint64_t)KEY_MAX : 0;
    if (scene.memory.most > memory + more)
        fail_msg("%s: %llu bytes of %llu", form->name, (unsigned long long)scene.memory.most,
                 (unsigned long long)(memory + more));
}

/* Much memory first, and some of the pushes decided without a merge; then the least. */
static void decide_with(const struct form *form, uint64_t memory)
{
    bloomery_sieve_options options = options_of(form);
    bloomery_sieve *sieve = open_counted(&options);
    bloomery_error error = {0};
    push(sieve, form, 1, KEYS / 3);
    uint32_t came = drain(sieve, form, POPPED);
    push(sieve, form, KEYS / 3, KEYS);
    must_close(sieve);
    options.memory = memory;
    sieve = open_counted(&options);
    assert_true(query_key(sieve, key_of(form, 7), NULL) != BLOOMERY_SIEVE_NEW);
    push(sieve, form, KEYS, KEYS + 100);
    if (bloomery_sieve_flush(sieve, &error) != BLOOMERY_OK)
        fail_msg("%s: %s", form->name, error.text);
    bloomery_sieve_info info = sieve_info_of(sieve);
    assert_int_equal(info.pending, 0);
    assert_int_equal(info.new_keys, wanted_of(KEYS + 100));
    came += drain(sieve, form, UINT32_MAX);
    assert_int_equal(came, wanted_of(KEYS + 100));
    push(sieve, form, 1, KEYS + 100);
    assert_int_equal(drain(sieve, form, UINT32_MAX), 0);
    must_close(sieve);
    assert_within(form, memory);
    test_remove(sieve_place.path);
    memset(scene.came, 0, 2 * KEYS);
}

static void the_least_memory_opens_any_sieve(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        decide_with(&forms[i], least_of(&forms[i]));
}

static void any_memory_opens_any_sieve(void **state)
{
    (void)state;
    const uint64_t least = least_of(&forms[3]);
    for (uint64_t more = 50000; more < 2000000; more *= 5)
        decide_with(&forms[3], least + more);
}

/* A piece is whole by itself: damage in a later one keeps nothing back of those before. */
/* ---- The memory engine --------------------------------------------------------------------- */

static bloomery_sieve_options options_of_filter(const char *dialect, uint64_t keys, uint64_t memory)
{
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    options.directory = sieve_place.path;
    options.allocator = stream_allocator(&scene.memory);
    options.engine = BLOOMERY_SIEVE_MEMORY;
    options.sync = BLOOMERY_SIEVE_SYNC_NEVER;
    options.keys = keys;
    options.full = dialect != NULL ? BLOOMERY_SIEVE_STOP : BLOOMERY_SIEVE_GROW;
    options.dialect = dialect;
    options.memory = memory;
    return options;
}

static void a_filter_that_is_too_large_is_not_made(void **state)
{
    static const char *const dialects[] = {NULL, "sieve-murmur3", "dcso"};
    (void)state;
    for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; i++) {
        const bloomery_sieve_options options = options_of_filter(dialects[i], 10000000, 4 << 20);
        bloomery_sieve *sieve = NULL;
        bloomery_error error = {0};
        scene.memory.most = 0;
        assert_int_equal(bloomery_sieve_open(&options, &sieve, &error), BLOOMERY_BAD_ARGUMENT);
        assert_non_null(strstr(error.text, "the filter, planned for 10000000 keys, takes "));
        assert_true(scene.memory.most <= options.memory);
    }
}

static void a_saved_filter_is_read_within_the_memory(void **state)
{
    static const char *const dialects[] = {NULL, "sieve-murmur3"};
    (void)state;
    for (size_t i = 0; i < sizeof dialects / sizeof dialects[0]; i++) {
        const bloomery_sieve_options options = options_of_filter(dialects[i], 1000000, 6 << 20);
        const struct form *form = &forms[0];
        bloomery_sieve *sieve = open_counted(&options);
        for (uint32_t id = 0; id < 400000; id++)
            assert_int_equal(push_key(sieve, key_of(form, id), nothing, NULL, NULL) >= 0, 1);
        must_close(sieve);
        sieve = open_counted(&options);
        bloomery_sieve_info info = sieve_info_of(sieve);
        assert_true(info.seen_bytes > options.memory / 2);
        assert_int_equal(query_key(sieve, key_of(form, 7), NULL), BLOOMERY_SIEVE_SEEN);
        must_close(sieve);
        assert_true(scene.memory.most <= options.memory);
        test_remove(sieve_place.path);
    }
}

/* ---- Damage -------------------------------------------------------------------------------- */

static void damage_costs_no_piece_before_it(void **state)
{
    (void)state;
    const struct form *form = &forms[0];
    bloomery_sieve_options options = options_of(form);
    bloomery_sieve *sieve = open_counted(&options);
    bloomery_error error = {0};
    char path[400];
    uint8_t byte = 0;
    push(sieve, form, 1, KEYS);
    must_close(sieve);
    snprintf(path, sizeof path, "%s/pending-000.0", sieve_place.path);
    const int file = open(path, O_RDWR);
    assert_true(file >= 0);
    const off_t end = lseek(file, 0, SEEK_END);
    assert_int_equal(pread(file, &byte, 1, end - 10), 1);
    byte ^= 1;
    assert_int_equal(pwrite(file, &byte, 1, end - 10), 1);
    close(file);
    options.memory = least_of(form);
    for (unsigned turn = 0; turn < 2; turn++) {
        sieve = open_counted(&options);
        assert_int_equal(bloomery_sieve_flush(sieve, &error), BLOOMERY_CORRUPT);
        assert_non_null(strstr(error.text, "pending-000.0"));
        bloomery_sieve_info info = sieve_info_of(sieve);
        assert_true(info.new_keys > KEYS / 2 && info.pending > 0);
        assert_int_equal(info.pending + info.new_keys + info.seen + info.marked, info.pushed);
        must_close(sieve);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        CASE(the_least_memory_opens_any_sieve),
        CASE(any_memory_opens_any_sieve),
        CASE(a_filter_that_is_too_large_is_not_made),
        CASE(a_saved_filter_is_read_within_the_memory),
        CASE(damage_costs_no_piece_before_it),
#undef CASE
    };
    return test_run_group("sieve_budget", tests, NULL, NULL);
}
