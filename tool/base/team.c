/* SPDX-License-Identifier: Apache-2.0 */
#include "base/team.h"

#include <assert.h>
#include <pthread.h>

struct member {
    pthread_t thread;
    tool_work *work;
    void *context;
    uint32_t number;
};

static void *run_member(void *argument)
{
    const struct member *member = argument;
    member->work(member->context, member->number);
    return NULL;
}

void tool_team_run(uint32_t threads, tool_work *work, void *context)
{
    struct member members[TOOL_THREADS_MAX];
    uint32_t started = 1;
    assert(threads >= 1 && threads <= TOOL_THREADS_MAX);
    for (; started < threads; started++) {
        struct member *member = &members[started];
        *member = (struct member){.work = work, .context = context, .number = started};
        if (pthread_create(&member->thread, NULL, run_member, member) != 0)
            break;
    }
    work(context, 0);
    while (--started > 0)
        pthread_join(members[started].thread, NULL);
}
