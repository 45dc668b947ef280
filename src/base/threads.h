/* SPDX-License-Identifier: Apache-2.0 */
/* Locks, and threads that work together. In a build without a system (base/none) there is one
 * thread, and locks do nothing. */
#ifndef BLOOMERY_BASE_THREADS_H
#define BLOOMERY_BASE_THREADS_H

#include <bloomery/bloomery.h>
#include <stdint.h>

/* Whether several threads can be in the library: a constant of the build, so that without a system
 * what threads would share takes no code. */
#if defined(BLOOMERY_SYSTEM_NONE)
enum { BLOOMERY_HAS_THREADS = 0 };
#else
enum { BLOOMERY_HAS_THREADS = 1 };
#endif

/* Whether a filter's cells may change under its reader. */
static inline bool bloomery_is_shared(bool concurrent)
{
    return BLOOMERY_HAS_THREADS && concurrent;
}

/* Locks by the dozen, each on a cache line of its own, so that threads that hold different ones do
 * not disturb each other. */
struct bloomery_lock {
    uint8_t system[64]; /* what the system has for it */
} __attribute__((aligned(64)));

/* `count` (> 0) open locks, or NULL. */
struct bloomery_lock *bloomery_locks_make(const bloomery_allocator *allocator, uint32_t count);

/* Gives them back, all open; NULL is fine. */
void bloomery_locks_free(const bloomery_allocator *allocator, struct bloomery_lock *locks,
                         uint32_t count);

/* A lock must not be copied: an open one ends before its memory moves, and begins anew there, which
 * cannot fail then. At first it can, if the system has no lock to spare: false. */
bool bloomery_lock_begin(struct bloomery_lock *lock);
void bloomery_lock_end(struct bloomery_lock *lock);

void bloomery_lock(struct bloomery_lock *lock);
bool bloomery_try_lock(struct bloomery_lock *lock);
void bloomery_unlock(struct bloomery_lock *lock);

/* ---- Threads that work together -------------------------------------------------------------- */

/* Threads that share a piece of work, the calling one among them. */

enum { BLOOMERY_WORKERS_MAX = 256 };

/* Calls `work` with `context` and a number in as many of `threads` threads as the system gives; the
 * calling one is number 0. Returns when all are done. */
void bloomery_workers_run(void (*work)(void *context, uint32_t number), void *context,
                          uint32_t threads);

/* How many threads are worth making: at least 1. */
uint32_t bloomery_processors(void);

#endif /* BLOOMERY_BASE_THREADS_H */
