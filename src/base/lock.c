/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain mutexes: a waiting thread sleeps. On a machine with more threads than processors only that
 * does not slow down the thread that holds the lock.
 */
#include "base/lock.h"

#include "base/memory.h"

#include <assert.h>

struct bloomery_lock *bloomery_locks_make(const bloomery_allocator *allocator, uint32_t count)
{
    assert(count > 0);
    struct bloomery_lock *locks =
        bloomery_allocate(allocator, count * sizeof *locks, sizeof *locks);
    for (uint32_t i = 0; locks != NULL && i < count; i++)
        if (pthread_mutex_init(&locks[i].mutex, NULL) != 0) {
            for (uint32_t made = 0; made < i; made++)
                pthread_mutex_destroy(&locks[made].mutex);
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
        pthread_mutex_destroy(&locks[i].mutex);
    bloomery_release(allocator, locks, count * sizeof *locks, sizeof *locks);
}

/* These fail only for locks that were never made or that the caller does not hold. */
void bloomery_lock(struct bloomery_lock *lock)
{
    int result = pthread_mutex_lock(&lock->mutex);
    assert(result == 0);
    (void)result;
}

bool bloomery_try_lock(struct bloomery_lock *lock)
{
    return pthread_mutex_trylock(&lock->mutex) == 0;
}

void bloomery_unlock(struct bloomery_lock *lock)
{
    int result = pthread_mutex_unlock(&lock->mutex);
    assert(result == 0);
    (void)result;
}
