/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asking for many keys at once: the answers are those of asking one by one, whatever the size of
 * the batch and the state of the sieve, and what several keys need is read once.
 *
 * Build: this file, stream.c, ../support; cmocka, the library. No arguments. Suite: sieve.
 */
#include "stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const bloomery_key nothing;

enum { KEYS = 60000, QUERIED = 40000, ALONE = 1000, DIGITS = 24 };

static struct scene {
    uint64_t random;
    bloomery_key keys[QUERIED];
    uint64_t numbers[QUERIED];
    char texts[QUERIED][DIGITS];
    uint8_t answers[QUERIED];
} scene;

static int setup(void **state)
{
    scene.random = 1;
    return sieve_setup(state);
}

static bloomery_sieve_options options_of(bloomery_sieve_engine engine)
{
    bloomery_sieve_options options = sieve_options(engine, 0);
    options.rate = engine == BLOOMERY_SIEVE_MEMORY ? 1e-12 : 0;
    return options;
}

static bloomery_key key_of(uint64_t number, char text[DIGITS])
{
    return bloomery_key_of(
        text, (size_t)snprintf(text, DIGITS, "http://A/%llu", (unsigned long long)number));
}

static void push_many(bloomery_sieve *sieve, uint64_t from, uint64_t to)
{
    char text[DIGITS];
    for (uint64_t i = from; i < to; i++)
        assert_true(push_key(sieve, key_of(i, text), nothing, NULL, NULL) >= 0);
}

/* Keys below `below`, some of them several times. */
static void choose_keys(size_t count, uint64_t below)
{
    for (size_t i = 0; i < count; i++) {
        const bool doubled = i > 0 && test_below(&scene.random, 8) == 0;
        scene.numbers[i] = doubled ? scene.numbers[test_below(&scene.random, i)]
                                   : test_below(&scene.random, below);
        scene.keys[i] = key_of(scene.numbers[i], scene.texts[i]);
    }
}

/* Keys below `decided` were seen; of the others that is `unseen`. */
static void query_in_batches(bloomery_sieve *sieve, uint64_t decided, int unseen)
{
    static const size_t sizes[] = {0, 1, 2, 30, 255, 256, 257, 3000, 16384, 16385, QUERIED};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t count = sizes[i];
        choose_keys(count, KEYS);
        memset(scene.answers, 77, sizeof scene.answers);
        assert_int_equal(bloomery_sieve_contains(sieve, scene.keys, count, scene.answers, NULL),
                         BLOOMERY_OK);
        for (size_t j = 0; j < count; j++) {
            const uint64_t number = scene.numbers[j];
            const int expected = number < decided ? BLOOMERY_SIEVE_SEEN : unseen;
            const int one = j < ALONE ? query_key(sieve, scene.keys[j], NULL) : expected;
            if (scene.answers[j] != expected || one != expected)
                fail_msg("key %llu of %zu: %d in a batch, %d alone, not %d",
                         (unsigned long long)number, count, scene.answers[j], one, expected);
        }
        if (count < QUERIED)
            assert_int_equal(scene.answers[count], 77);
    }
}

/* Each stage is asked of a sieve that was just opened: its cache knows nothing. */
static void stages_of(const bloomery_sieve_options *options)
{
    const bool disk = options->engine == BLOOMERY_SIEVE_DISK;
    bloomery_sieve *sieve = must_open(options);
    query_in_batches(sieve, 0, BLOOMERY_SIEVE_NEW);
    push_many(sieve, 0, 30000);
    must_close(sieve);
    sieve = must_open(options);
    if (disk)
        query_in_batches(sieve, 0, BLOOMERY_SIEVE_PENDING);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    must_close(sieve);
    sieve = must_open(options);
    query_in_batches(sieve, 30000, BLOOMERY_SIEVE_NEW);
    /* A few more are decided without a merge. */
    push_many(sieve, 30000, 30010);
    assert_int_equal(sieve_drain(sieve), 30010);
    bloomery_sieve_info info = sieve_info_of(sieve);
    assert_true(options->partitions != 1 || info.distinct == 30000);
    must_close(sieve);
    sieve = must_open(options);
    query_in_batches(sieve, 30010, BLOOMERY_SIEVE_NEW);
    push_many(sieve, 30010, 36000);
    must_close(sieve);
    sieve = must_open(options);
    if (disk)
        query_in_batches(sieve, 30010, BLOOMERY_SIEVE_PENDING);
    must_close(sieve);
    test_remove(sieve_place.path);
}

static void a_batch_answers_as_one_by_one(void **state)
{
    (void)state;
    bloomery_sieve_options options = options_of(BLOOMERY_SIEVE_MEMORY);
    stages_of(&options);
    options = options_of(BLOOMERY_SIEVE_DISK);
    for (uint32_t partitions = 1; partitions <= 64; partitions *= 8)
        for (uint32_t bits = 48; bits <= 64; bits += 16) {
            options.partitions = partitions;
            options.fingerprint_bits = bits;
            options.order =
                partitions == 8 ? BLOOMERY_SIEVE_ORDER_FIFO : BLOOMERY_SIEVE_ORDER_BY_PARTITION;
            stages_of(&options);
        }
}

static void forms_are_looked_up_as_they_are_pushed(void **state)
{
    (void)state;
    bloomery_sieve_options options = options_of(BLOOMERY_SIEVE_DISK);
    static char giant[100000] = "http://EXAMPLE.org/";
    const bloomery_key given[] = {bloomery_key_of("HTTP://a", 8), bloomery_key_of("http://A/", 9),
                                  bloomery_key_of("http://a/b", 10),
                                  bloomery_key_of(giant, sizeof giant)};
    uint8_t answers[700];
    bloomery_key many[700];
    memset(giant + 19, 'x', sizeof giant - 19);
    options.canon = "url";
    bloomery_sieve *sieve = must_open(&options);
    assert_true(push_key(sieve, given[0], nothing, NULL, NULL) >= 0);
    memcpy(giant, "http://example.org/", 19);
    assert_true(push_key(sieve, given[3], nothing, NULL, NULL) >= 0);
    memcpy(giant, "http://EXAMPLE.org/", 19);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    for (size_t i = 0; i < 700; i++)
        many[i] = given[i % 4];
    assert_int_equal(bloomery_sieve_contains(sieve, many, 700, answers, NULL), BLOOMERY_OK);
    for (size_t i = 0; i < 700; i++)
        assert_int_equal(answers[i], i % 4 == 2 ? BLOOMERY_SIEVE_NEW : BLOOMERY_SIEVE_SEEN);
    must_close(sieve);
}

/* Bytes that a batch of `count` distinct keys reads. */
static uint64_t read_by(bloomery_sieve *sieve, size_t count)
{
    bloomery_sieve_info before = BLOOMERY_SIEVE_INFO;
    bloomery_sieve_info after = BLOOMERY_SIEVE_INFO;
    choose_keys(count, (uint64_t)1 << 40);
    before = sieve_info_of(sieve);
    assert_int_equal(bloomery_sieve_contains(sieve, scene.keys, count, scene.answers, NULL),
                     BLOOMERY_OK);
    after = sieve_info_of(sieve);
    return after.bytes_read - before.bytes_read;
}

static void a_batch_reads_a_frame_once(void **state)
{
    (void)state;
    bloomery_sieve_options options = options_of(BLOOMERY_SIEVE_DISK);
    options.partitions = 4;
    bloomery_sieve *sieve = must_open(&options);
    push_many(sieve, 0, 400000);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    bloomery_sieve_info info = sieve_info_of(sieve);
    /* Each file's header is read once more. */
    assert_in_range(read_by(sieve, 16384), info.seen_bytes / 2, info.seen_bytes + 4 * 64);
    /* Few keys, few frames: three each, or there would be no use in looking where they are. */
    assert_true(read_by(sieve, 20) <= 20 * 3 * 4096 + 4 * 64);
    must_close(sieve);
}

static void what_fails_one_key_fails_its_batch(void **state)
{
    (void)state;
    bloomery_sieve_options options = options_of(BLOOMERY_SIEVE_DISK);
    bloomery_error error = {0};
    options.partitions = 16;
    bloomery_sieve *sieve = must_open(&options);
    push_many(sieve, 0, 8000);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    must_close(sieve);
    sieve_flip("seen-003.1", 200);
    sieve = must_open(&options);
    choose_keys(2000, 8000);
    assert_int_equal(bloomery_sieve_contains(sieve, scene.keys, 2000, scene.answers, &error),
                     BLOOMERY_CORRUPT);
    assert_non_null(strstr(error.text, "seen-003.1"));
    size_t seen = 0;
    for (size_t i = 0; i < 2000; i++)
        seen += query_key(sieve, scene.keys[i], NULL) == BLOOMERY_SIEVE_SEEN;
    assert_in_range(seen, 1700, 1999);
    /* A key that is too long is found before anything is asked. */
    choose_keys(300, 8000);
    memset(scene.answers, 77, sizeof scene.answers);
    scene.keys[299].bytes = BLOOMERY_SIEVE_ITEM_MAX + 1;
    assert_int_equal(bloomery_sieve_contains(sieve, scene.keys, 300, scene.answers, &error),
                     BLOOMERY_BAD_ARGUMENT);
    assert_int_equal(scene.answers[0], 77);
    must_close(sieve);
}

/* Without memory for many, they are asked for a few at a time. */
static void a_batch_needs_no_memory(void **state)
{
    (void)state;
    struct test_memory memory = {.requests = 0};
    bloomery_sieve_options options = options_of(BLOOMERY_SIEVE_DISK);
    options.allocator = test_allocator(&memory);
    bloomery_sieve *sieve = must_open(&options);
    push_many(sieve, 0, 3000);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    memory.refuse_at = memory.requests + 1;
    choose_keys(3000, 6000);
    assert_int_equal(bloomery_sieve_contains(sieve, scene.keys, 3000, scene.answers, NULL),
                     BLOOMERY_OK);
    assert_int_equal(memory.requests, memory.refuse_at);
    for (size_t i = 0; i < 3000; i++)
        assert_int_equal(scene.answers[i],
                         scene.numbers[i] < 3000 ? BLOOMERY_SIEVE_SEEN : BLOOMERY_SIEVE_NEW);
    must_close(sieve);
    assert_int_equal(memory.live, 0);
    assert_false(memory.wrong);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, sieve_teardown)
        CASE(a_batch_answers_as_one_by_one), CASE(forms_are_looked_up_as_they_are_pushed),
        CASE(a_batch_reads_a_frame_once),    CASE(what_fails_one_key_fails_its_batch),
        CASE(a_batch_needs_no_memory),
#undef CASE
    };
    return test_run_group("sieve_contains", tests, NULL, NULL);
}
