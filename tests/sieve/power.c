/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The power is cut: of what was written and not synced some arrives, some does not, some arrives torn, and names that
 * were not synced are undone (../support/faulty_power.h). What the sieve said to be durable is there all the same
 * (life.h says how that is seen). A kill, of which crash.c is about, cannot show a missing sync; this can.
 *
 * Build: this file, drive.c, life.c, stream.c, ../support; cmocka, the library. Argument: the path of the library of
 * faults. Suite: sieve. BLOOMERY_TEST_LONG=1: more cuts.
 */
#include "drive.h"

#include <errno.h>
#include <stdio.h>
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
    if (status != DRIVE_CUT && status != LIFE_END)
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
    for (uint64_t push = 1; push <= story.pushes; push++)
        if (!ledger_done(&place.ledger, push))
            fail_msg("%s, seed %llu: the item of push %llu never came", story.name,
                     (unsigned long long)seed, (unsigned long long)push);
    place_free(&place);
}

static void live_stories(const char *part, bool always)
{
    for (size_t i = 0; i < LIFE_STORIES; i++) {
        const struct story *story = &life_stories[i];
        if (strstr(story->name, part) == NULL || story->sync == BLOOMERY_SYNC_NEVER ||
            (story->sync == BLOOMERY_SYNC_ALWAYS) != always)
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

/* Right before a sync, where the most is written that may be torn: the manifest's copies too, of which one must stay
 * whole. Twice in a row, so that the second cut meets what the first one left. */
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

/* Cuts are felt: otherwise all of this passes in vain. */
static void cuts_are_felt(void **state)
{
    (void)state;
    struct place place;
    char struck[32];
    const struct fault fault = {.mode = "crash", .calls = "write", .at = 5, .seed = 1};
    place_make(&place, &life_stories[0]);
    assert_int_equal(drive(&place, 1, &fault, LIFE_NO_FAULTS, struck), DRIVE_CUT);
    assert_string_equal(struck, "write");
    place_free(&place);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_are_felt),
        cmocka_unit_test(making_survives_power_cuts),
        cmocka_unit_test(a_torn_commit_opens_by_itself),
        cmocka_unit_test(disk_synced_always_survives_power_cuts),
        cmocka_unit_test(disk_synced_seldom_survives_power_cuts),
        cmocka_unit_test(memory_survives_power_cuts),
    };
    int status = 0;
    if (drive_main(count, arguments, &status))
        return status;
    if (count != 2) {
        fprintf(stderr, "usage: %s PATH-OF-FAULTY-IO\n", arguments[0]);
        return 2;
    }
    drive_faulty_io = arguments[1];
    return test_run_group("sieve_power", tests, NULL, NULL);
}
