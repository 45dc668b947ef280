/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that begin at the same moment. What one of them finds wrong is counted, because cmocka's
 * asserts belong to the main thread, and fails the test when all have ended. */
#ifndef TESTS_TEAM_H
#define TESTS_TEAM_H

#include "support.h"

#include <pthread.h>
#include <stdatomic.h>

struct team {
    void (*work)(void *context, unsigned number);
    void *context;
    pthread_barrier_t together;
    atomic_uint arrived;
    atomic_uint faults;
    atomic_int line; /* of one of them */
};

/* Runs work(context, 0) to work(context, members - 1), each in a thread of its own. */
void team_run(struct team *team, unsigned members, void (*work)(void *context, unsigned number),
              void *context);

/* Waits until all members have called it. They sleep, and wake on whichever processor is free. */
void team_wait(struct team *team);

/* Waits until `members` threads have called it. Nobody sleeps, for work that is so short that a
 * sleeper would come too late to be in the way of the others. */
void team_meet(struct team *team, unsigned members);

void team_fault(struct team *team, int line);
#define TEAM_MUST(team, condition) ((condition) ? (void)0 : team_fault(team, __LINE__))

#endif
