/* SPDX-License-Identifier: Apache-2.0 */
/* See workers.h. */
#include "builder/workers.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>

struct worker {
    void (*work)(void *context, uint32_t number);
    void *context;
    uint32_t number;
    pthread_t handle;
};

static void *run(void *argument)
{
    const struct worker *worker = argument;
    worker->work(worker->context, worker->number);
    return NULL;
}

/* They take no signals, since the program's handlers expect its own threads. Those that a thread
 * causes itself are the exception: no other thread could take them. */
void bloomery_workers_run(void (*work)(void *context, uint32_t number), void *context,
                          uint32_t threads)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    struct worker workers[BLOOMERY_WORKERS_MAX];
    sigset_t all;
    sigset_t before;
    uint32_t made = 1;
    assert(threads >= 1 && threads <= BLOOMERY_WORKERS_MAX);
    sigfillset(&all);
    for (uint32_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(&all, own[i]);
    const int masked = pthread_sigmask(SIG_SETMASK, &all, &before);
    for (uint32_t i = 1; i < threads; i++, made++) {
        workers[i] = (struct worker){.work = work, .context = context, .number = i};
        if (pthread_create(&workers[i].handle, NULL, run, &workers[i]) != 0)
            break;
    }
    if (masked == 0)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    work(context, 0);
    for (uint32_t i = 1; i < made; i++)
        pthread_join(workers[i].handle, NULL);
}
