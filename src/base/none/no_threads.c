/* SPDX-License-Identifier: Apache-2.0 */
/* base/lock.h and base/workers.h where there is one thread. In builds with asserts, locks still
 * find the one that is taken twice or never given back: with threads that would be a standstill. */
#include "base/lock.h"
#include "base/workers.h"

#include <assert.h>

enum { OPEN = 0x5a, HELD = 0xa5 };

bool bloomery_lock_begin(struct bloomery_lock *lock)
{
    lock->system[0] = OPEN;
    return true;
}

void bloomery_lock_end(struct bloomery_lock *lock)
{
    assert(lock->system[0] == OPEN);
    (void)lock;
}

void bloomery_lock(struct bloomery_lock *lock)
{
    assert(lock->system[0] == OPEN);
    lock->system[0] = HELD;
}

bool bloomery_try_lock(struct bloomery_lock *lock)
{
    const bool free = lock->system[0] == OPEN;
    lock->system[0] = HELD;
    return free;
}

void bloomery_unlock(struct bloomery_lock *lock)
{
    assert(lock->system[0] == HELD);
    lock->system[0] = OPEN;
}

void bloomery_workers_run(void (*work)(void *context, uint32_t number), void *context,
                          uint32_t threads)
{
    assert(threads >= 1 && threads <= BLOOMERY_WORKERS_MAX);
    (void)threads;
    work(context, 0);
}

uint32_t bloomery_processors(void)
{
    return 1;
}
