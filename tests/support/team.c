/* SPDX-License-Identifier: Apache-2.0 */
#include "team.h"

#include <sched.h>

enum { MOST = 16 };

struct member {
    struct team *team;
    unsigned number;
};

static void *begin(void *argument)
{
    const struct member *member = argument;
    struct team *team = member->team;
    team_wait(team);
    team->work(team->context, member->number);
    return NULL;
}

void team_run(struct team *team, unsigned members, void (*work)(void *context, unsigned number),
              void *context)
{
    pthread_t threads[MOST];
    struct member all[MOST];
    assert_in_range(members, 1, MOST);
    team->work = work;
    team->context = context;
    assert_int_equal(pthread_barrier_init(&team->together, NULL, members), 0);
    for (unsigned i = 0; i < members; i++) {
        all[i] = (struct member){team, i};
        assert_int_equal(pthread_create(&threads[i], NULL, begin, &all[i]), 0);
    }
    for (unsigned i = 0; i < members; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    pthread_barrier_destroy(&team->together);
    if (atomic_load(&team->faults) > 0)
        fail_msg("%u faults, one of them in line %d", atomic_load(&team->faults),
                 atomic_load(&team->line));
}

void team_wait(struct team *team)
{
    pthread_barrier_wait(&team->together);
}

void team_meet(struct team *team, unsigned members)
{
    const unsigned turn = atomic_fetch_add(&team->arrived, 1) / members;
    while (atomic_load(&team->arrived) < (turn + 1) * members)
        sched_yield();
}

void team_fault(struct team *team, int line)
{
    atomic_fetch_add(&team->faults, 1);
    atomic_store(&team->line, line);
}
