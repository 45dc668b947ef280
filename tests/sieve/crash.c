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
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct scene {
    struct test_directory directory;
    char path[300];
    char copy[300];
    struct ledger ledger;
};

static void scene_make(struct scene *scene, const struct story *story)
{
    memset(scene, 0, sizeof *scene);
    scene->directory = test_directory_make();
    test_join(scene->path, sizeof scene->path, &scene->directory, "sieve");
    test_join(scene->copy, sizeof scene->copy, &scene->directory, "copy");
    ledger_make(&scene->ledger, story);
}

static void scene_free(struct scene *scene)
{
    sieve_remove(scene->path);
    sieve_remove(scene->copy);
    test_directory_remove(&scene->directory);
    ledger_free(&scene->ledger);
}

/* One life of at most `seconds` (negative: to its end). Returns whether it was killed. */
static bool live(struct scene *scene, uint64_t number, double seconds)
{
    int ends[2];
    int status = 0;
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        _exit(life_live(scene->ledger.story, scene->path, number, LIFE_NO_FAULTS, ends[1]));
    }
    close(ends[1]);
    if (!ledger_listen(&scene->ledger, ends[0], seconds)) {
        kill(child, SIGKILL);
        ledger_listen(&scene->ledger, ends[0], -1);
    }
    close(ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!killed && !(WIFEXITED(status) && WEXITSTATUS(status) == LIFE_END))
        fail_msg("%s: the life ended with status %x", scene->ledger.story->name, (unsigned)status);
    return killed;
}

/* Killed at random moments, some of them soon after it was opened; in the end it may finish. */
static void kill_again_and_again(const struct story *told, unsigned kills)
{
    struct scene scene;
    struct story story = *told;
    uint64_t random = test_mix(story.pushes + (uint64_t)getpid());
    unsigned killed = 0;
    story.pushes = test_long() ? story.pushes * 10 : story.pushes / 2;
    scene_make(&scene, &story);
    for (unsigned i = 0; i < kills && !scene.ledger.over; i++) {
        const double longest = test_below(&random, 4) == 0 ? 0.004 : 0.12;
        killed += live(&scene, i + 1, longest * (double)test_below(&random, 1000) / 1000);
        ledger_judge(&scene.ledger, scene.path, scene.copy, "after a kill");
    }
    while (!scene.ledger.over) {
        live(&scene, kills + 1, -1);
        ledger_judge(&scene.ledger, scene.path, scene.copy, "at the end");
    }
    for (uint64_t push = 1; push <= story.pushes; push++)
        if (!ledger_done(&scene.ledger, push))
            fail_msg("%s: the item of push %llu never came", story.name, (unsigned long long)push);
    print_message("# %s: %u kills, %llu pushes lost that were not durable, %llu items came again\n",
                  story.name, killed, (unsigned long long)scene.ledger.lost,
                  (unsigned long long)scene.ledger.again);
    assert_true(killed > 0);
    scene_free(&scene);
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
