/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A full disk and a failing one: a call that fails has changed nothing and goes through when there
 * is room; after a failed sync everything is refused until the sieve is opened again, which finds
 * the last commit. (life.h says how that is seen.)
 *
 * Build: this file, life.c, stream.c, ../support; cmocka, the library. Argument: the path
 * of the library of faults. Suite: sieve. BLOOMERY_TEST_LONG=1: every call, of all stories.
 */
#include "life.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A life that a fault strikes; whatever came of it, a second one without faults ends the story.
 * Returns whether there was a call to strike. */
static bool strike(const struct story *story, const struct fault *fault, enum life_faults faults)
{
    struct place place;
    char struck[32];
    char other[32];
    char what[120];
    place_make(&place, story);
    const int status = drive(&place, 1, fault, faults, struck);
    snprintf(what, sizeof what, "%s call %u (%s), errno %d, %u times", fault->mode, fault->at,
             struck, fault->error, fault->times);
    if (status != LIFE_END && !(status == LIFE_REFUSED && faults == LIFE_FAILED_SYNC))
        fail_msg("%s, %s: it ended with status %d", story->name, what, status);
    ledger_judge(&place.ledger, place.path, place.copy, what);
    if (!place.ledger.over) {
        const struct fault none = {.mode = "off"};
        assert_int_equal(drive(&place, 2, &none, LIFE_NO_FAULTS, other), LIFE_END);
        ledger_judge(&place.ledger, place.path, place.copy, what);
    }
    place_judge_end(&place, what);
    place_free(&place);
    return struck[0] != '\0';
}

static void strike_each(size_t number, uint64_t pushes, struct fault fault, enum life_faults faults,
                        unsigned most)
{
    struct story story = life_stories[number];
    story.pushes = pushes;
    for (fault.at = 1; fault.at <= most; fault.at += 1 + fault.at / (test_long() ? 100 : 4))
        if (!strike(&story, &fault, faults))
            return;
}

static void full_disk_changes_nothing(void **state)
{
    (void)state;
    static const size_t stories[] = {1, 3, 5, 0, 7, 2, 4, 6};
    for (size_t i = 0; i < (test_long() ? LIFE_STORIES : 3); i++)
        for (unsigned times = 1; times <= 6; times += test_long() ? 5 : 4)
            strike_each(stories[i], test_long() ? 4000 : 700,
                        (struct fault){.mode = "fail",
                                       .calls = "write,open,truncate",
                                       .times = times,
                                       .error = ENOSPC},
                        LIFE_FULL_DISK, test_long() ? 2000 : 100);
}

static void failed_sync_refuses_all_changes(void **state)
{
    (void)state;
    static const size_t stories[] = {5, 3, 1, 0, 7, 4, 6};
    for (size_t i = 0; i < (test_long() ? 7 : 3); i++)
        strike_each(stories[i], test_long() ? 4000 : 700,
                    (struct fault){.mode = "fail", .calls = "sync", .times = 1, .error = EIO},
                    LIFE_FAILED_SYNC, test_long() ? 2000 : 60);
}

/* Reads and writes that move some bytes only, or are interrupted: nothing is to be seen of that. */
static void short_and_interrupted_calls_do_no_harm(void **state)
{
    (void)state;
    for (size_t i = 0; i < LIFE_STORIES; i += test_long() ? 1 : 3)
        for (uint64_t seed = 1; seed <= (test_long() ? 10 : 1); seed++) {
            struct story story = life_stories[i];
            story.pushes = test_long() ? 1500 : 600;
            strike(&story, &(struct fault){.mode = "short", .seed = seed}, LIFE_NO_FAULTS);
            strike(&story, &(struct fault){.mode = "eintr", .seed = seed}, LIFE_NO_FAULTS);
        }
}

/* ---- Recovery that fails on its way -------------------------------------------------------- */

enum { FRAMES = 4, FRAME_KEYS = 50, POPPED = 60, WHOLE = (FRAMES - 2) * FRAME_KEYS };

static bloomery_status recover(const char *path, bloomery_sieve_recovery *recovery)
{
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    options.directory = path;
    return bloomery_sieve_recover(&options, NULL, NULL, recovery, NULL);
}

/* The first two frames of the queue have no sound header; all of the first one and a part of the
 * second is leased. */
static void make_damaged(bloomery_sieve_engine engine, const char *path, const char *open)
{
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    bloomery_sieve_item items[POPPED];
    bloomery_sieve *sieve = NULL;
    size_t count = 0;
    char name[400];
    options.directory = open;
    options.engine = engine;
    options.partitions = engine == BLOOMERY_SIEVE_DISK ? 1 : 0;
    options.sync_seconds = 1e6;
    assert_int_equal(bloomery_sieve_open(&options, &sieve, NULL), BLOOMERY_OK);
    for (uint32_t i = 0; i < FRAMES * FRAME_KEYS; i++) {
        const bloomery_key key = bloomery_key_of(&i, sizeof i);
        assert_true(push_key(sieve, key, bloomery_key_of("", 0), NULL, NULL) >= 0);
        if (i % FRAME_KEYS != FRAME_KEYS - 1)
            continue;
        assert_int_equal(bloomery_sieve_flush(sieve, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
    }
    count = must_pop(sieve, items, POPPED);
    assert_int_equal(count, POPPED);
    assert_int_equal(bloomery_sieve_commit(sieve, NULL), BLOOMERY_OK);
    sieve_copy(open, path); /* as a kill would leave it */
    must_close(sieve);
    snprintf(name, sizeof name, "%s/queue-%012d", path, 1);
    struct test_bytes queue = test_read_file(name);
    const size_t frame = 48 + FRAME_KEYS * (1 + sizeof(uint32_t));
    assert_int_equal(queue.bytes, 64 + FRAMES * frame);
    /* Where half a write of such a header does not mend it. */
    queue.data[64 + 40] ^= 1;
    queue.data[64 + frame + 40] ^= 1;
    test_write_file(name, queue.data, queue.bytes);
    test_bytes_free(&queue);
}

/* What is not damaged comes out, and nothing else is in the way. */
static void expect_whole_frames(const char *path, const char *what)
{
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    bloomery_sieve_item items[4 * WHOLE];
    bloomery_sieve *sieve = NULL;
    bloomery_error error = {.text = ""};
    uint64_t damaged = 0;
    size_t count = 0;
    options.directory = path;
    if (bloomery_sieve_open(&options, &sieve, &error) != BLOOMERY_OK ||
        bloomery_sieve_verify(sieve, NULL, NULL, &damaged, &error) != BLOOMERY_OK || damaged > 0 ||
        bloomery_sieve_pop(sieve, items, 4 * WHOLE, BLOOMERY_SIEVE_POP, &count, &error) !=
            BLOOMERY_OK)
        fail_msg("%s: %u damaged, %s", what, (unsigned)damaged, error.text);
    if (count != WHOLE)
        fail_msg("%s: %zu items", what, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(items[i].number, 2 * FRAME_KEYS + 1 + i);
    must_close(sieve);
}

static void recovery_that_failed_is_done_again(void **state)
{
    (void)state;
    for (int engine = BLOOMERY_SIEVE_MEMORY; engine <= BLOOMERY_SIEVE_DISK; engine++)
        for (unsigned at = 1;; at++) {
            struct place place;
            bloomery_sieve_recovery recovery = BLOOMERY_SIEVE_RECOVERY;
            char what[80];
            const struct fault fault = {.mode = "fail",
                                        .calls = "write,open,truncate,rename,link,mkdir",
                                        .at = at,
                                        .error = ENOSPC};
            place_make(&place, &life_stories[0]);
            make_damaged((bloomery_sieve_engine)engine, place.path, place.copy);
            test_remove(place.copy);
            char *const arguments[] = {(char *)(uintptr_t) "recover", place.path, NULL};
            const int failed = drive_program(&place, &fault, arguments);
            snprintf(what, sizeof what, "engine %d, call %u, %d", engine, at, failed);
            if (recover(place.path, &recovery) != BLOOMERY_OK)
                fail_msg("%s: it cannot be recovered", what);
            expect_whole_frames(place.path, what);
            const bool struck = access(place.disk.report, F_OK) == 0;
            if (struck) {
                struct test_bytes call = test_read_file(place.disk.report);
                /* The manifest's, so that all is done and nothing counts. */
                if (memcmp(call.data, "rename", 6) == 0)
                    assert_true(recovery.damaged > 0 && recovery.queued > 0);
                test_bytes_free(&call);
            }
            place_free(&place);
            if (!struck)
                break;
        }
}

/* Faults are felt: otherwise all of this passes in vain. */
static void faults_are_felt(void **state)
{
    (void)state;
    const struct fault full = {
        .mode = "fail", .calls = "write", .at = 9, .times = 3, .error = ENOSPC};
    struct place place;
    char struck[32];
    place_make(&place, &life_stories[5]);
    assert_int_equal(drive(&place, 1, &full, LIFE_FULL_DISK, struck), LIFE_END);
    assert_string_equal(struck, "write");
    assert_true(place.ledger.failures > 0);
    place_free(&place);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_are_felt),
        cmocka_unit_test(full_disk_changes_nothing),
        cmocka_unit_test(failed_sync_refuses_all_changes),
        cmocka_unit_test(short_and_interrupted_calls_do_no_harm),
        cmocka_unit_test(recovery_that_failed_is_done_again),
    };
    int status = 0;
    if (drive_main(count, arguments, &status))
        return status;
    if (count == 3 && strcmp(arguments[1], "recover") == 0)
        return recover(arguments[2], NULL) == BLOOMERY_OK ? 0 : 1;
    if (count != 2) {
        fprintf(stderr, "usage: %s PATH-OF-FAULTY-IO\n", arguments[0]);
        return 2;
    }
    fault_library = arguments[1];
    return test_run_group("sieve_faults", tests, NULL, NULL);
}
