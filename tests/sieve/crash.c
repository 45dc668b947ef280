/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill -9 at moments that nobody chose: no push that was said to be durable is lost, nothing comes
 * twice, what was acknowledged stays so, what was leased comes again (life.h says how that is
 * seen). The same story is killed again and again until it is over.
 *
 * Build: this file, life.c, stream.c, ../support; cmocka, the library. No arguments. Suite: sieve.
 * BLOOMERY_TEST_LONG=1: a thousand kills.
 */
#include "life.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* One life of at most `seconds` (negative: to its end). Returns whether it was killed. */
static bool live(struct place *place, uint64_t number, double seconds)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        _exit(life_live(place->ledger.story, place->path, number, LIFE_NO_FAULTS, ends[1]));
    }
    close(ends[1]);
    if (!ledger_listen(&place->ledger, ends[0], seconds)) {
        kill(child, SIGKILL);
        ledger_listen(&place->ledger, ends[0], -1);
    }
    close(ends[0]);
    const int status = test_wait(child);
    const bool killed = status == -SIGKILL;
    if (!killed && status != LIFE_END)
        fail_msg("%s: the life ended with status %d", place->ledger.story->name, status);
    return killed;
}

/* Killed at random moments, some of them soon after it was opened; in the end it may finish. */
static void kill_again_and_again(const struct story *told, unsigned kills)
{
    struct place place;
    struct story story = *told;
    uint64_t random = test_mix(story.pushes + (uint64_t)getpid());
    unsigned killed = 0;
    story.pushes = test_long() ? story.pushes * 10 : story.pushes / 2;
    place_make(&place, &story);
    for (unsigned i = 0; i < kills && !place.ledger.over; i++) {
        const double longest = test_below(&random, 4) == 0 ? 0.004 : 0.12;
        killed += live(&place, i + 1, longest * (double)test_below(&random, 1000) / 1000);
        ledger_judge(&place.ledger, place.path, place.copy, "after a kill");
    }
    while (!place.ledger.over) {
        live(&place, kills + 1, -1);
        ledger_judge(&place.ledger, place.path, place.copy, "at the end");
    }
    place_judge_end(&place, "at the end");
    print_message("# %s: %u kills, %llu pushes lost that were not durable, %llu items came again\n",
                  story.name, killed, (unsigned long long)place.ledger.lost,
                  (unsigned long long)place.ledger.again);
    assert_true(killed > 0);
    place_free(&place);
}

static void kill_minus_9_loses_nothing_durable(void **state)
{
    (void)state;
    for (size_t i = 0; i < LIFE_STORIES; i++)
        kill_again_and_again(&life_stories[i], test_long() ? 125 : 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kill_minus_9_loses_nothing_durable),
    };
    return test_run_group("sieve_crash", tests, NULL, NULL);
}
