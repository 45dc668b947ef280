/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain mutexes: a waiting thread sleeps. On a machine with more threads than processors only that
 * does not slow down the thread that holds the lock.
 */
#include "base/lock.h"

#include "base/memory.h"

#include <assert.h>
#include <pthread.h>

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(struct bloomery_lock), "a mutex fits a lock");

static pthread_mutex_t *mutex_of(struct bloomery_lock *lock)
{
    return (pthread_mutex_t *)(void *)lock->system;
}

struct bloomery_lock *bloomery_locks_make(const bloomery_allocator *allocator, uint32_t count)
{
    assert(count > 0);
    struct bloomery_lock *locks =
        bloomery_allocate(allocator, count * sizeof *locks, sizeof *locks);
    for (uint32_t i = 0; locks != NULL && i < count; i++)
        if (pthread_mutex_init(mutex_of(&locks[i]), NULL) != 0) {
            for (uint32_t made = 0; made < i; made++)
                bloomery_lock_end(&locks[made]);
            bloomery_release(allocator, locks, count * sizeof *locks, sizeof *locks);
            locks = NULL;
        }
    return locks;
}

void bloomery_locks_free(const bloomery_allocator *allocator, struct bloomery_lock *locks,
                         uint32_t count)
{
    if (locks == NULL)
        return;
    for (uint32_t i = 0; i < count; i++)
        bloomery_lock_end(&locks[i]);
    bloomery_release(allocator, locks, count * sizeof *locks, sizeof *locks);
}

void bloomery_lock_end(struct bloomery_lock *lock)
{
    pthread_mutex_destroy(mutex_of(lock));
}

void bloomery_lock_begin(struct bloomery_lock *lock)
{
    const int result = pthread_mutex_init(mutex_of(lock), NULL);
    assert(result == 0); /* it only fills its struct in */
    (void)result;
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
