/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread that takes the pages of large filters ahead of those who add. A page that nobody touched
 * costs the kernel's zeroing at the first touch, in the middle of a command; a new filter of a GiB
 * would be slow for its first hundred thousand items.
 *
 *     main thread    makes a filter, counts one more holder, puts it into the queue
 *     this thread    takes its pages in steps, and stops if it is the only holder left
 *
 * Whoever counts the last holder off releases the value. So a key may be unlinked meanwhile, and the
 * step that is going on ends first. A filter that finds the queue full is left to those who add.
 */
#include "bf.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>

enum { QUEUE = 64, FROM_BYTES = 16 * 1024 * 1024, STEP_BYTES = 4 * 1024 * 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t comes = PTHREAD_COND_INITIALIZER;
static struct bf_value *queue[QUEUE];
static unsigned first, waiting;
static bool is_running; /* the thread is there; of the main thread alone */

static struct bf_value *next_value(void)
{
    (void)pthread_mutex_lock(&lock);
    while (waiting == 0)
        (void)pthread_cond_wait(&comes, &lock);
    struct bf_value *value = queue[first];
    first = (first + 1) % QUEUE;
    waiting--;
    (void)pthread_mutex_unlock(&lock);
    return value;
}

static void *populate(void *nothing)
{
    (void)nothing;
    for (;;) {
        struct bf_value *value = next_value();
        uint64_t at = 0;
        while (atomic_load(&value->holders) > 1) {
            const uint64_t to = bloomery_populate(value->filter, at, STEP_BYTES);
            if (to <= at)
                break;
            atomic_fetch_add(&bf_counts.populated_bytes, to - at);
            at = to;
        }
        bf_value_free(value);
        atomic_fetch_sub(&bf_counts.populating, 1);
    }
    return NULL;
}

/* The server's signals are its main thread's. */
static bool start(void)
{
    pthread_t thread;
    sigset_t all, before;
    (void)sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    const bool made = pthread_create(&thread, NULL, populate, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (made)
        (void)pthread_detach(thread);
    return made;
}

void bf_populate(struct bf_value *value)
{
    if (bf_config.prefault == 0 || value->bytes < FROM_BYTES)
        return;
    if (!is_running)
        is_running = start();
    if (!is_running)
        return;
    (void)pthread_mutex_lock(&lock);
    assert(waiting <= QUEUE);
    if (waiting < QUEUE) {
        atomic_fetch_add(&value->holders, 1);
        atomic_fetch_add(&bf_counts.populating, 1);
        queue[(first + waiting++) % QUEUE] = value;
        (void)pthread_cond_signal(&comes);
    }
    (void)pthread_mutex_unlock(&lock);
}
