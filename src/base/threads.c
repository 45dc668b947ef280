/* SPDX-License-Identifier: Apache-2.0 */
/* Threads and locks of POSIX. */
#include "base/threads.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#endif

struct member {
    void (*work)(void *context, uint32_t number);
    void *context;
    uint32_t number;
    pthread_t handle;
};

static void *run(void *argument)
{
    const struct member *member = argument;
    member->work(member->context, member->number);
    return NULL;
}

/* They take no signals, since the program's handlers expect its own threads. Signals that a thread
 * causes itself, in a caller's function too, are the exception: no other thread could take them. */
void bloomery_workers_run(void (*work)(void *context, uint32_t number), void *context,
                          uint32_t threads)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    struct member members[BLOOMERY_WORKERS_MAX];
    sigset_t all;
    sigset_t before;
    uint32_t made = 1;
    assert(threads >= 1 && threads <= BLOOMERY_WORKERS_MAX);
    sigfillset(&all);
    for (uint32_t i = 0; i < sizeof own / sizeof own[0]; i++)
        sigdelset(&all, own[i]);
    const int masked = pthread_sigmask(SIG_SETMASK, &all, &before);
    for (uint32_t i = 1; i < threads; i++, made++) {
        members[i] = (struct member){.work = work, .context = context, .number = i};
        if (pthread_create(&members[i].handle, NULL, run, &members[i]) != 0)
            break;
    }
    if (masked == 0)
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    work(context, 0);
    for (uint32_t i = 1; i < made; i++)
        pthread_join(members[i].handle, NULL);
}

uint32_t bloomery_processors(void)
{
    /* The processors that this process may use, not those of the machine: taskset and cpusets give
     * it some of them. A quota of processor time, as containers have, is not seen. The call fails
     * on machines with more than the 1024 of a cpu_set_t. */
    long count = 0;
#if defined(__linux__)
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        count = CPU_COUNT(&set);
#endif
    if (count == 0)
        count = sysconf(_SC_NPROCESSORS_ONLN);
    return count >= 1 && count <= UINT16_MAX ? (uint32_t)count : 1;
}

/* ---- Locks ----------------------------------------------------------------------------------- */

/*
 * Plain mutexes: a waiting thread sleeps. On a machine with more threads than processors only that
 * does not slow down the thread that holds the lock.
 */

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(struct bloomery_lock), "a mutex fits a lock");

static pthread_mutex_t *mutex_of(struct bloomery_lock *lock)
{
    return (pthread_mutex_t *)(void *)lock->system;
}

void bloomery_lock_end(struct bloomery_lock *lock)
{
    pthread_mutex_destroy(mutex_of(lock));
}

bool bloomery_lock_begin(struct bloomery_lock *lock)
{
    return pthread_mutex_init(mutex_of(lock), NULL) == 0;
}

/* These fail only for locks that were never made or that the caller does not hold. */
void bloomery_lock(struct bloomery_lock *lock)
{
    int result = pthread_mutex_lock(mutex_of(lock));
    assert(result == 0);
    (void)result;
}

bool bloomery_try_lock(struct bloomery_lock *lock)
{
    return pthread_mutex_trylock(mutex_of(lock)) == 0;
}

void bloomery_unlock(struct bloomery_lock *lock)
{
    int result = pthread_mutex_unlock(mutex_of(lock));
    assert(result == 0);
    (void)result;
}
