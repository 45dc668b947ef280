/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The power is cut: of what was written and not synced some arrives, some does not, some arrives
 * torn, and names that were not synced are undone (../support/faulty_power.h). What the sieve said
 * to be durable is there all the same (life.h says how that is seen). A kill, of which crash.c is
 * about, cannot show a missing sync; this can.
 *
 * Build: this file, life.c, stream.c, ../support; cmocka, the library. Argument: the path
 * of the library of faults. Suite: sieve. BLOOMERY_TEST_LONG=1: more cuts.
 */
#include "life.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Calls that may leave something behind; a cut before any other is one before the next of these. */
#define CALLS "open,write,sync,rename,link,unlink,truncate,mkdir"

static void cut_off_at(struct place *place, const char *calls, uint64_t number, unsigned at,
                       uint64_t seed)
{
    char struck[32];
    char what[120];
    const struct fault fault = {.mode = "crash", .calls = calls, .at = at, .seed = seed};
    const int status = drive(place, number, &fault, LIFE_NO_FAULTS, struck);
    snprintf(what, sizeof what, "power cut before call %u (%s), seed %llu", at, struck,
             (unsigned long long)seed);
    if (status != FAULT_CUT && status != LIFE_END)
        fail_msg("%s, life %llu, %s: it ended with status %d", place->ledger.story->name,
                 (unsigned long long)number, what, status);
    ledger_judge(&place->ledger, place->path, place->copy, what);
}

static void cut_off(struct place *place, uint64_t number, unsigned at, uint64_t seed)
{
    cut_off_at(place, CALLS, number, at, seed);
}

/* A story whose power is cut every now and then, until it is over. */
static void live_through_cuts(const struct story *told, uint64_t seed, unsigned cuts)
{
    struct place place;
    struct story story = *told;
    uint64_t random = seed;
    unsigned lives = 0;
    story.pushes = story.pushes / (test_long() ? 2 : 8);
    place_make(&place, &story);
    while (!place.ledger.over) {
        /* Soon after it was opened, or later; in the end not before its end. */
        const unsigned at = lives >= cuts                 ? 0
                            : test_below(&random, 3) == 0 ? 1 + (unsigned)test_below(&random, 12)
                                                          : 1 + (unsigned)test_below(&random, 150);
        cut_off(&place, ++lives, at, test_next(&random) >> 20);
    }
    char what[40];
    snprintf(what, sizeof what, "seed %llu", (unsigned long long)seed);
    place_judge_end(&place, what);
    place_free(&place);
}

static void live_stories(const char *part, bool always)
{
    for (size_t i = 0; i < LIFE_STORIES; i++) {
        const struct story *story = &life_stories[i];
        if (strstr(story->name, part) == NULL || story->sync == BLOOMERY_SIEVE_SYNC_NEVER ||
            (story->sync == BLOOMERY_SIEVE_SYNC_ALWAYS) != always)
            continue;
        for (uint64_t seed = 1; seed <= (test_long() ? 20 : 1); seed++)
            live_through_cuts(story, seed + 100 * i, test_long() ? 30 : 8);
    }
}

static void disk_synced_always_survives_power_cuts(void **state)
{
    (void)state;
    live_stories("disk", true);
}

static void disk_synced_seldom_survives_power_cuts(void **state)
{
    (void)state;
    live_stories("disk", false);
}

static void memory_survives_power_cuts(void **state)
{
    (void)state;
    live_stories("memory", true);
    live_stories("memory", false);
}

/* Right before a sync, where the most is written that may be torn: the manifest's copies too, of
 * which one must stay whole. Twice in a row, so that the second cut meets what the first one
 * left. */
static void a_torn_commit_opens_by_itself(void **state)
{
    (void)state;
    for (unsigned at = 3; at <= (test_long() ? 90u : 30u); at++)
        for (uint64_t seed = 1; seed <= (test_long() ? 10 : 3); seed++) {
            struct place place;
            struct story story = life_stories[5]; /* its manifest is longer than a sector */
            story.pushes = 4000;
            place_make(&place, &story);
            cut_off_at(&place, "sync", 1, at, seed * 1000 + at);
            cut_off_at(&place, "sync", 2, at / 3 + 1, seed * 2000 + at);
            place_free(&place);
        }
}

/* Before each of the first calls: making a sieve has the most ways to go wrong. */
static void making_survives_power_cuts(void **state)
{
    (void)state;
    static const size_t stories[] = {0, 3, 5};
    for (size_t s = 0; s < sizeof stories / sizeof stories[0]; s++)
        for (unsigned at = 1; at <= (test_long() ? 60u : 14u); at++)
            for (uint64_t seed = 1; seed <= (test_long() ? 10 : 1); seed++) {
                struct place place;
                struct story story = life_stories[stories[s]];
                story.pushes = 400;
                place_make(&place, &story);
                cut_off(&place, 1, at, seed * 1000 + at);
                cut_off(&place, 2, 0, seed);
                assert_true(place.ledger.over);
                place_free(&place);
            }
}

/* ---- A kill, and then a power cut --------------------------------------------------------- */

enum { KEYS = 300, QUARTERS = 4 };

static struct test_bytes manifest_of(const char *path)
{
    char name[400];
    snprintf(name, sizeof name, "%s/MANIFEST", path);
    return test_read_file(name);
}

/* The process that was killed wrote one copy of its last commit, and did not sync it. The one that
 * comes next opens the sieve, and then the power is cut. */
static int reopen(const char *path, const char *later)
{
    struct test_bytes before = manifest_of(path);
    struct test_bytes after = manifest_of(later);
    const size_t quarter = after.bytes / QUARTERS;
    char name[400];
    static bloomery_sieve *sieve; /* the power goes before it is closed: that is not a leak */
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    size_t at = 0;
    snprintf(name, sizeof name, "%s/MANIFEST", path);
    const int file = open(name, O_RDWR | O_CLOEXEC);
    while (at < after.bytes && memcmp(before.data + at, after.data + at, quarter) == 0)
        at += quarter;
    if (file < 0 || before.bytes != after.bytes || at >= after.bytes ||
        pwrite(file, after.data + at, quarter, (off_t)at) != (ssize_t)quarter || close(file) != 0)
        return 1;
    test_bytes_free(&before);
    test_bytes_free(&after);
    options.directory = path;
    options.existing = true;
    return bloomery_sieve_open(&options, &sieve, NULL) == BLOOMERY_OK ? 0 : 2;
}

static bloomery_sieve *open_disk(const char *path, const char *what)
{
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    options.directory = path;
    options.engine = BLOOMERY_SIEVE_DISK;
    options.partitions = 1;
    options.sync_seconds = 1e6;
    return must_open_for(&options, what);
}

static void push_keys(bloomery_sieve *sieve, uint32_t from, uint32_t end)
{
    for (uint32_t i = from; i < end; i++)
        assert_true(push_key(sieve, bloomery_key_of(&i, sizeof i), bloomery_key_of("", 0), NULL,
                             NULL) >= 0);
}

/* `path`: all files that two commits name between them, and the manifest of the first one. The
 * second one merged the pending keys, so that it has other files. `later`: what it left. */
static void make_two_commits(const char *path, const char *later)
{
    char names[2][400];
    bloomery_sieve *sieve = open_disk(path, "making");
    push_keys(sieve, 0, KEYS / 3);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
    push_keys(sieve, KEYS / 3, KEYS);
    assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
    sieve_copy(path, later);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    must_close(sieve);
    static const char *const files[] = {"MANIFEST", "seen-000.1", "pending-000.1"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        snprintf(names[0], sizeof names[0], "%s/%s", later, files[i]);
        snprintf(names[1], sizeof names[1], "%s/%s", path, files[i]);
        struct test_bytes first = test_read_file(names[0]);
        if (i == 0) {
            struct test_bytes second = test_read_file(names[1]);
            test_write_file(names[0], second.data, second.bytes);
            test_bytes_free(&second);
        } else {
            assert_int_equal(access(names[1], F_OK), -1);
        }
        test_write_file(names[1], first.data, first.bytes);
        test_bytes_free(&first);
    }
}

/* Whatever was lost of the second commit, one of both is there. */
static void expect_all_keys(const char *path, const char *what)
{
    bloomery_sieve *sieve = open_disk(path, what);
    bool came[KEYS] = {false};
    bloomery_sieve_item items[64];
    size_t count = 0;
    uint64_t damaged = 0;
    uint32_t different = 0;
    assert_int_equal(bloomery_sieve_verify(sieve, NULL, NULL, &damaged, NULL), BLOOMERY_OK);
    assert_int_equal(damaged, 0);
    do {
        count = must_pop(sieve, items, 64);
        for (size_t i = 0; i < count; i++) {
            uint32_t key = 0;
            memcpy(&key, items[i].key.data, sizeof key);
            assert_true(key < KEYS && !came[key]);
            came[key] = true;
            different++;
        }
    } while (count > 0);
    assert_int_equal(different, KEYS);
    must_close(sieve);
}

static void a_killed_commit_outlives_a_power_cut(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= (test_long() ? 300 : 30); seed++) {
        struct place place;
        char later[300];
        char what[60];
        const struct fault fault = {.mode = "crash", .seed = seed};
        snprintf(what, sizeof what, "power cut after a kill, seed %llu", (unsigned long long)seed);
        place_make(&place, &life_stories[0]);
        test_join(later, sizeof later, &place.disk.shadow, "later");
        make_two_commits(place.path, later);
        char *const arguments[] = {(char *)(uintptr_t) "reopen", place.path, later, NULL};
        assert_int_equal(drive_program(&place, &fault, arguments), 0);
        expect_all_keys(place.path, what);
        test_remove(later);
        place_free(&place);
    }
}

/* ---- Segments that are left early, dead items, other leases -------------------------------- */

enum { ROUNDS = 5, ROUND_KEYS = 40, PAYLOAD = 4000, ERRAND_KEYS = ROUNDS * ROUND_KEYS };

static bloomery_sieve *open_errand(const char *path, bloomery_sieve_engine engine, bool always,
                                   uint32_t leases)
{
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    bloomery_sieve *sieve = NULL;
    bloomery_error error = {.text = ""};
    options.directory = path;
    options.engine = engine;
    options.partitions = engine == BLOOMERY_SIEVE_DISK ? 1 : 0;
    options.sync = always ? BLOOMERY_SIEVE_SYNC_ALWAYS : BLOOMERY_SIEVE_SYNC_TIMED;
    options.sync_seconds = 1e6;
    options.leases = leases;
    options.max_deliveries = 2;
    options.keep_leases = true;
    if (bloomery_sieve_open(&options, &sieve, &error) == BLOOMERY_OK)
        return sieve;
    fprintf(stderr, "# %s\n", error.text);
    return NULL;
}

/* Acknowledges all of it but each fourth key, which is returned until it is put aside. */
static bool work_off(bloomery_sieve *sieve)
{
    bloomery_sieve_item items[64];
    size_t count = 1;
    while (count > 0) {
        uint64_t numbers[2][64];
        size_t counts[2] = {0, 0};
        if (bloomery_sieve_pop(sieve, items, 64, BLOOMERY_SIEVE_POP, &count, NULL) != BLOOMERY_OK)
            return false;
        for (size_t i = 0; i < count; i++) {
            uint32_t key = 0;
            memcpy(&key, items[i].key.data, sizeof key);
            const bool again = key % 4 == 0;
            numbers[again][counts[again]++] = items[i].number;
        }
        if (bloomery_sieve_finish(sieve, numbers[0], counts[0], BLOOMERY_SIEVE_DONE, NULL, NULL) !=
                BLOOMERY_OK ||
            bloomery_sieve_finish(sieve, numbers[1], counts[1], BLOOMERY_SIEVE_BACK, NULL, NULL) !=
                BLOOMERY_OK)
            return false;
    }
    return true;
}

static bool push_round(bloomery_sieve *sieve, uint32_t first)
{
    static uint8_t payload[PAYLOAD];
    uint32_t numbers[ROUND_KEYS];
    bloomery_key keys[ROUND_KEYS];
    bloomery_key payloads[ROUND_KEYS];
    for (uint32_t i = 0; i < ROUND_KEYS; i++) {
        numbers[i] = first + i;
        keys[i] = bloomery_key_of(&numbers[i], sizeof numbers[i]);
        payloads[i] = bloomery_key_of(payload, PAYLOAD);
    }
    return bloomery_sieve_push(sieve, keys, payloads, ROUND_KEYS, BLOOMERY_SIEVE_PUSH, NULL, NULL,
                               NULL) == BLOOMERY_OK;
}

/* Every round fills a segment and empties it. In between the dead are queued again once, and once
 * the sieve gets other leases. */
static int errand(const char *path, bloomery_sieve_engine engine, bool always)
{
    static bloomery_sieve *sieve; /* the power goes before it is closed: that is not a leak */
    sieve = open_errand(path, engine, always, 100);
    bool good = sieve != NULL;
    for (uint32_t round = 0; good && round < ROUNDS; round++) {
        good = push_round(sieve, round * ROUND_KEYS) &&
               bloomery_sieve_flush(sieve, NULL) == BLOOMERY_OK && work_off(sieve);
        if (round == 1)
            good = good && bloomery_sieve_end_dead(sieve, true, NULL, NULL) == BLOOMERY_OK;
        if (round == 2) {
            good = good && bloomery_sieve_close(sieve, NULL) == BLOOMERY_OK;
            sieve = good ? open_errand(path, engine, always, 300) : NULL;
            good = sieve != NULL;
        }
    }
    return good && bloomery_sieve_close(sieve, NULL) == BLOOMERY_OK ? 0 : 1;
}

struct errand_keys {
    const char *what;
    bool came[ERRAND_KEYS];
    uint64_t count;
};

static int take_key(void *context, const bloomery_sieve_item *item)
{
    struct errand_keys *keys = context;
    uint32_t key = ERRAND_KEYS;
    assert_int_equal(item->key.bytes, sizeof key);
    assert_int_equal(item->payload.bytes, PAYLOAD);
    memcpy(&key, item->key.data, sizeof key);
    if (key >= ERRAND_KEYS || keys->came[key])
        fail_msg("%s: key %u is there twice", keys->what, key);
    keys->came[key] = true;
    keys->count++;
    return 0;
}

/* Of each key that came to the queue there is one item: queued, leased, dead or done. */
static void judge_errand(const char *path, bloomery_sieve_engine engine, const char *what)
{
    static struct errand_keys keys;
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    uint64_t damaged = 0;
    if (access(path, F_OK) != 0)
        return;
    keys = (struct errand_keys){.what = what};
    bloomery_sieve *sieve = open_errand(path, engine, false, 0);
    if (sieve == NULL)
        fail_msg("%s: it does not open", what);
    assert_int_equal(bloomery_sieve_verify(sieve, NULL, NULL, &damaged, NULL), BLOOMERY_OK);
    if (damaged > 0)
        fail_msg("%s: damaged", what);
    assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
    info = sieve_info_of(sieve);
    if (info.new_keys != info.queued + info.leased + info.done + info.dead)
        fail_msg("%s: %u new keys; %u queued, %u leased, %u done, %u dead", what,
                 (unsigned)info.new_keys, (unsigned)info.queued, (unsigned)info.leased,
                 (unsigned)info.done, (unsigned)info.dead);
    assert_int_equal(bloomery_sieve_each(sieve, BLOOMERY_SIEVE_QUEUED, take_key, &keys, NULL, NULL),
                     0);
    assert_int_equal(keys.count, info.queued);
    assert_int_equal(bloomery_sieve_each(sieve, BLOOMERY_SIEVE_LEASED, take_key, &keys, NULL, NULL),
                     0);
    assert_int_equal(keys.count, info.queued + info.leased);
    assert_int_equal(bloomery_sieve_each(sieve, BLOOMERY_SIEVE_DEAD, take_key, &keys, NULL, NULL),
                     0);
    assert_int_equal(keys.count, info.queued + info.leased + info.dead);
    /* It goes on, and in the end each fourth key is dead. */
    assert_int_equal(
        bloomery_sieve_finish(sieve, NULL, BLOOMERY_SIEVE_ALL, BLOOMERY_SIEVE_BACK, NULL, NULL),
        BLOOMERY_OK);
    assert_true(work_off(sieve));
    info = sieve_info_of(sieve);
    assert_int_equal(info.dead, (info.new_keys + 3) / 4);
    assert_int_equal(info.done + info.dead, info.new_keys);
    must_close(sieve);
}

/* Returns false if no call was cut. */
static bool cut_errand(bloomery_sieve_engine engine, const char *sync, const struct fault *fault)
{
    struct place place;
    char what[120];
    char name[8];
    place_make(&place, &life_stories[0]);
    snprintf(name, sizeof name, "%d", (int)engine);
    snprintf(what, sizeof what, "%s, engine %d, sync %s, call %u", fault->mode, (int)engine, sync,
             fault->at);
    char *const arguments[] = {(char *)(uintptr_t) "errand", place.path, name,
                               (char *)(uintptr_t)sync, NULL};
    const int status = drive_program(&place, fault, arguments);
    if (status != FAULT_CUT && status != 0 && strcmp(fault->mode, "crash") == 0)
        fail_msg("%s: it ended with status %d", what, status);
    judge_errand(place.path, engine, what);
    const bool struck = access(place.disk.report, F_OK) == 0;
    place_free(&place);
    return struck;
}

static void dead_items_and_left_segments_survive_power_cuts(void **state)
{
    (void)state;
    static const char *const syncs[] = {"always", "seldom"};
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++)
        for (int s = 0; s < 2; s++)
            for (unsigned at = 1;; at += test_long() ? 1 : 1 + at / 6) {
                const struct fault fault = {
                    .mode = "crash", .calls = CALLS, .at = at, .seed = at * 7919};
                if (!cut_errand((bloomery_sieve_engine)engine, syncs[s], &fault))
                    break;
            }
}

static void dead_items_and_left_segments_survive_full_disks(void **state)
{
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++)
        for (unsigned at = 1;; at += test_long() ? 1 : 1 + at / 6) {
            const struct fault fault = {.mode = "fail",
                                        .calls = "write,open,truncate,rename",
                                        .at = at,
                                        .times = 2,
                                        .error = ENOSPC};
            if (!cut_errand((bloomery_sieve_engine)engine, "always", &fault))
                break;
        }
}

/* Cuts are felt: otherwise all of this passes in vain. */
static void cuts_are_felt(void **state)
{
    (void)state;
    struct place place;
    char struck[32];
    const struct fault fault = {.mode = "crash", .calls = "write", .at = 5, .seed = 1};
    place_make(&place, &life_stories[0]);
    assert_int_equal(drive(&place, 1, &fault, LIFE_NO_FAULTS, struck), FAULT_CUT);
    assert_string_equal(struck, "write");
    place_free(&place);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_are_felt),
        cmocka_unit_test(making_survives_power_cuts),
        cmocka_unit_test(a_torn_commit_opens_by_itself),
        cmocka_unit_test(a_killed_commit_outlives_a_power_cut),
        cmocka_unit_test(dead_items_and_left_segments_survive_power_cuts),
        cmocka_unit_test(dead_items_and_left_segments_survive_full_disks),
        cmocka_unit_test(disk_synced_always_survives_power_cuts),
        cmocka_unit_test(disk_synced_seldom_survives_power_cuts),
        cmocka_unit_test(memory_survives_power_cuts),
    };
    int status = 0;
    if (drive_main(count, arguments, &status))
        return status;
    if (count == 4 && strcmp(arguments[1], "reopen") == 0)
        return reopen(arguments[2], arguments[3]);
    if (count == 5 && strcmp(arguments[1], "errand") == 0)
        return errand(arguments[2], (bloomery_sieve_engine)strtol(arguments[3], NULL, 10),
                      strcmp(arguments[4], "always") == 0);
    if (count != 2) {
        fprintf(stderr, "usage: %s PATH-OF-FAULTY-IO\n", arguments[0]);
        return 2;
    }
    fault_library = arguments[1];
    return test_run_group("sieve_power", tests, NULL, NULL);
}
