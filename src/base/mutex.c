/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain mutexes: a waiting thread sleeps. On a machine with more threads than processors only that
 * does not slow down the thread that holds the lock.
 */
#include "base/lock.h"

#include <assert.h>
#include <pthread.h>

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
