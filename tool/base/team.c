/* SPDX-License-Identifier: Apache-2.0 */
#include "base/team.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>

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

/* Whether there are addresses for another of that many threads: its stack, and what all of them
 * will allocate. Under a limit of them a thread that just fits would leave too few to work with. */
static bool has_room(uint32_t threads)
{
    const size_t beside = (size_t)threads << 22;
    size_t stack = (size_t)8 << 20;
    pthread_attr_t usual;
    if (pthread_getattr_default_np(&usual) == 0) {
        (void)pthread_attr_getstacksize(&usual, &stack);
        (void)pthread_attr_destroy(&usual);
    }
    void *room =
        mmap(NULL, stack + beside, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return false;
    munmap(room, stack + beside);
    return true;
}

void tool_team_run(uint32_t threads, tool_work *work, void *context)
{
    struct member members[TOOL_THREADS_MAX];
    uint32_t started = 1;
    assert(threads >= 1 && threads <= TOOL_THREADS_MAX);
    for (; started < threads; started++) {
        struct member *member = &members[started];
        *member = (struct member){.work = work, .context = context, .number = started};
        if (!has_room(started + 1) ||
            pthread_create(&member->thread, NULL, run_member, member) != 0)
            break;
    }
    work(context, 0);
    while (--started > 0)
        pthread_join(members[started].thread, NULL);
}
