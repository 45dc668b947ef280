/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of locks; what a lock is, the system says (base/mutex.c). */
#include "base/lock.h"

#include "base/memory.h"

#include <assert.h>

struct bloomery_lock *bloomery_locks_make(const bloomery_allocator *allocator, uint32_t count)
{
    assert(count > 0);
    struct bloomery_lock *locks =
        bloomery_allocate(allocator, count * sizeof *locks, sizeof *locks);
    for (uint32_t i = 0; locks != NULL && i < count; i++)
        if (!bloomery_lock_begin(&locks[i])) {
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
