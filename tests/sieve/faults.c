/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A full disk and a failing one: a call that fails has changed nothing and goes through when there is room; after a
 * failed sync everything is refused until the sieve is opened again, which finds the last commit. (life.h says how
 * that is seen.)
 *
 * Build: this file, drive.c, life.c, stream.c, ../support; cmocka, the library. Argument: the path of the library of
 * faults. Suite: sieve. BLOOMERY_TEST_LONG=1: every call, of all stories.
 */
#include "drive.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A life that a fault strikes; whatever came of it, a second one without faults ends the story. Returns whether there was
 * a call to strike. */
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
    for (uint64_t push = 1; push <= story->pushes; push++)
        if (!ledger_done(&place.ledger, push))
            fail_msg("%s, %s: the item of push %llu never came", story->name, what,
                     (unsigned long long)push);
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
    };
    int status = 0;
    if (drive_main(count, arguments, &status))
        return status;
    if (count != 2) {
        fprintf(stderr, "usage: %s PATH-OF-FAULTY-IO\n", arguments[0]);
        return 2;
    }
    drive_faulty_io = arguments[1];
    return test_run_group("sieve_faults", tests, NULL, NULL);
}
