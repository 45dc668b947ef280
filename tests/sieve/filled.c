/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the memory engine reports of its filter: without reading it, and right however full it is.
 *
 * Drops. A stream of numbers, new ones and repeated ones, is pushed, and a new one that is
 * answered SEEN was dropped: D of them, counted here. Of those that were new a share r was to be
 * dropped, r being the rate at the time, so D varies by sum of r (1 - r). What the sieve expects
 * rests on the share of new keys among the pushes, estimated by those that the last 1,024
 * "chances" let through (sieve/fill_level.c), with a deviation of sqrt(q / 1024): in a window of
 * 1,024 chances, in which D_w are dropped, D_w / sqrt(1024 q). Neighbouring windows overlap,
 * which at most doubles the variance:
 *
 *     deviation^2  =  sum of r (1 - r)  +  2 sum of D_w^2 / (1024 q)
 *
 * and the bound is five of them, and nine drops more, which few are: by accident once in a million
 * streams. The streams are fixed, the secret of the sieve's hash is another one each time.
 *
 * Build: this file, stream.c, ../support; cmocka, the library. No arguments. Suite: sieve.
 */
#include "stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BATCH = 256, PAGE = 65536 /* of any machine, or a multiple */ };
static const double chances = 1024;

/* ---- Drops ------------------------------------------------------------------------------- */

struct stream {
    const char *name;
    bloomery_sieve_options options;
    double share; /* of new keys among the pushes */
    uint64_t seed;
    uint64_t fresh; /* new keys so far */
    double rate;    /* now */
    uint64_t dropped;
    double variance; /* of it */
    double error;    /* of the share: sum of D_w^2 */
    double window, window_drops;
};

static void push_some(struct stream *stream, bloomery_sieve *sieve)
{
    uint64_t numbers[BATCH];
    bloomery_key keys[BATCH];
    bool fresh[BATCH];
    uint8_t results[BATCH];
    double new_keys = 0;
    for (size_t i = 0; i < BATCH; i++) {
        fresh[i] =
            stream->fresh == 0 || (double)test_below(&stream->seed, 1000000) < stream->share * 1e6;
        numbers[i] = fresh[i] ? stream->fresh++ : test_below(&stream->seed, stream->fresh);
        new_keys += fresh[i];
        keys[i] = bloomery_key_of(&numbers[i], sizeof numbers[i]);
    }
    const double before = stream->rate;
    assert_int_equal(
        bloomery_sieve_push(sieve, keys, NULL, BATCH, BLOOMERY_SIEVE_PUSH, results, NULL, NULL),
        BLOOMERY_OK);
    stream->rate = sieve_info_of(sieve).live_rate;
    const double rate = (before + stream->rate) / 2;
    double drops = 0;
    for (size_t i = 0; i < BATCH; i++)
        drops += fresh[i] && results[i] == BLOOMERY_SIEVE_SEEN;
    stream->dropped += (uint64_t)drops;
    stream->variance += new_keys * rate * (1 - rate);
    stream->window += BATCH * (1 - rate);
    stream->window_drops += drops;
    if (stream->window > chances) {
        stream->error += stream->window_drops * stream->window_drops;
        stream->window = stream->window_drops = 0;
    }
}

static void judge(struct stream *stream, bloomery_sieve *sieve)
{
    const bloomery_sieve_info info = sieve_info_of(sieve);
    const double error = stream->error + stream->window_drops * stream->window_drops;
    const double bound = 5 * sqrt(stream->variance + 2 * error / (chances * stream->share)) + 9;
    const double off = info.expected_drops - (double)stream->dropped;
    print_message("# %s: of %llu new keys %llu were dropped, %.1f expected, off by %.1f of %.1f; "
                  "rate %.6g\n",
                  stream->name, (unsigned long long)stream->fresh,
                  (unsigned long long)stream->dropped, info.expected_drops, off, bound,
                  info.live_rate);
    if (!(fabs(off) <= bound))
        fail_msg("%s: %.1f drops are expected, and there were %llu", stream->name,
                 info.expected_drops, (unsigned long long)stream->dropped);
    assert_true(info.expected_drops <= (double)info.seen);
}

static bloomery_sieve_options memory_options(uint64_t keys, double rate, const char *dialect)
{
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    options.engine = BLOOMERY_SIEVE_MEMORY;
    options.full = BLOOMERY_SIEVE_WARN;
    options.keys = keys;
    options.rate = rate;
    options.dialect = dialect;
    return options;
}

/* From within the plan to where nearly every new key is dropped, and on. */
static void drops_are_expected_however_full_it_is(void **state)
{
    (void)state;
    struct stream streams[] = {
        {.name = "ours, all keys new", .options = memory_options(5000, 0.01, NULL), .share = 1},
        {.name = "ours, a third new", .options = memory_options(5000, 0.01, NULL), .share = 0.33},
        {.name = "ours, few new", .options = memory_options(5000, 0.01, NULL), .share = 0.05},
        {.name = "Sieve's, a third new",
         .options = memory_options(5000, 0.01, "sieve-murmur3"),
         .share = 0.33},
        {.name = "Guava's, half new", .options = memory_options(5000, 0.01, "guava"), .share = 0.5},
        {.name = "a small one", .options = memory_options(500, 0.1, NULL), .share = 0.5},
        {.name = "one that grows", .options = memory_options(500, 0.02, NULL), .share = 0.5},
    };
    streams[6].options.full = BLOOMERY_SIEVE_GROW;
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        struct stream *stream = &streams[i];
        bloomery_sieve *sieve = must_open(&stream->options);
        stream->seed = 40 + i;
        for (uint64_t n = stream->options.keys / 2; n <= 16 * stream->options.keys; n *= 2) {
            while (stream->fresh < n)
                push_some(stream, sieve);
            judge(stream, sieve);
        }
        must_close(sieve);
    }
}

/* Every bit is set: nothing comes through any more, and what came before says how many would
 * have. */
static void drops_are_expected_where_every_bit_is_set(void **state)
{
    (void)state;
    struct stream stream = {
        .name = "a full one", .options = memory_options(100, 0.1, NULL), .share = 0.5, .seed = 7};
    bloomery_sieve *sieve = must_open(&stream.options);
    while (sieve_info_of(sieve).distinct < UINT64_MAX)
        push_some(&stream, sieve);
    for (int i = 0; i < 400; i++)
        push_some(&stream, sieve);
    assert_true(sieve_info_of(sieve).live_rate == 1);
    judge(&stream, sieve);
    must_close(sieve);
}

/* A sieve that is closed and opened after some pushes each expects as many as one that is not. */
static void drops_are_expected_over_openings(void **state)
{
    (void)state;
    struct test_directory directory = test_directory_make();
    char path[300];
    test_join(path, sizeof path, &directory, "sieve");
    struct stream stream = {.name = "opened again and again",
                            .options = memory_options(2000, 0.01, NULL),
                            .share = 0.5,
                            .seed = 9};
    stream.options.directory = path;
    stream.options.sync = BLOOMERY_SIEVE_SYNC_NEVER;
    for (int life = 0; life < 40; life++) {
        bloomery_sieve *sieve = must_open(&stream.options);
        for (int i = 0; i < 8; i++)
            push_some(&stream, sieve);
        judge(&stream, sieve);
        must_close(sieve);
    }
    test_remove(path);
    test_directory_remove(&directory);
}

/* What is marked or forced is never dropped. */
static void marked_and_forced_keys_are_not_drops(void **state)
{
    (void)state;
    const bloomery_sieve_options options = memory_options(1000, 0.1, NULL);
    bloomery_sieve *sieve = must_open(&options);
    for (uint64_t i = 0; i < 5000; i++) /* seen, and rightly so */
        assert_true(
            push_key(sieve, bloomery_key_of("again", 5), bloomery_key_of("", 0), NULL, NULL) >= 0);
    for (uint64_t i = 0; i < 5000; i++) {
        const bloomery_key key = bloomery_key_of(&i, sizeof i);
        if (i % 2 == 0)
            assert_true(mark_key(sieve, key, NULL, NULL) >= 0);
        else
            assert_int_equal(push_key_again(sieve, key, bloomery_key_of("", 0), NULL, NULL),
                             BLOOMERY_SIEVE_NEW);
    }
    assert_true(sieve_info_of(sieve).live_rate > 0.5);
    assert_true(sieve_info_of(sieve).expected_drops < 0.1);
    must_close(sieve);
}

/* ---- Reading ----------------------------------------------------------------------------- */

/* An allocator whose large frames can be made unreadable. */
struct fenced {
    void *largest;
    size_t bytes;
};

static void *fenced_allocate(void *context, size_t bytes, size_t alignment)
{
    struct fenced *fenced = context;
    const size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
    uint8_t *map =
        mmap(NULL, whole + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    /* What lies before it and behind it stays mapped until the program ends. */
    uint8_t *memory = map + (alignment - (uintptr_t)map % alignment) % alignment;
    if (bytes > fenced->bytes)
        *fenced = (struct fenced){memory, whole};
    return memory;
}

static void fenced_release(void *context, void *memory, size_t bytes, size_t alignment)
{
    (void)context;
    (void)alignment;
    munmap(memory, (bytes + PAGE - 1) / PAGE * PAGE);
}

static void status_reads_no_filter(void **state)
{
    (void)state;
    for (int grows = 0; grows < 2; grows++) {
        struct fenced fenced = {NULL, 0};
        bloomery_sieve_options options = memory_options(1000000, 1e-3, NULL);
        options.full = grows ? BLOOMERY_SIEVE_GROW : BLOOMERY_SIEVE_WARN;
        options.allocator = (bloomery_allocator){fenced_allocate, fenced_release, &fenced, NULL};
        bloomery_sieve *sieve = must_open(&options);
        for (uint64_t i = 0; i < 20000; i++)
            assert_true(push_key(sieve, bloomery_key_of(&i, sizeof i), bloomery_key_of("", 0), NULL,
                                 NULL) >= 0);
        assert_true(fenced.bytes > 1000000);
        assert_int_equal(mprotect(fenced.largest, fenced.bytes, PROT_NONE), 0);
        const bloomery_sieve_info info = sieve_info_of(sieve);
        assert_int_equal(mprotect(fenced.largest, fenced.bytes, PROT_READ | PROT_WRITE), 0);
        assert_true(info.distinct > 19000 && info.distinct < 21000);
        assert_true(info.live_rate > 0 && info.live_rate < 1e-3);
        must_close(sieve);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drops_are_expected_however_full_it_is),
        cmocka_unit_test(drops_are_expected_where_every_bit_is_set),
        cmocka_unit_test(drops_are_expected_over_openings),
        cmocka_unit_test(marked_and_forced_keys_are_not_drops),
        cmocka_unit_test(status_reads_no_filter),
    };
    return test_run_group("sieve_filled", tests, NULL, NULL);
}
