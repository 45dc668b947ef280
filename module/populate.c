/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread that takes the pages of large filters ahead of those who add. A page that nobody touched
 * costs the kernel's zeroing at the first touch, in the middle of a command; a new filter of a GiB
 * would be slow for its first hundred thousand items.
 *
 *     main thread    makes a filter, puts its value into the queue
 *     this thread    takes its pages in steps; the value it is at is `current`
 *
 * A value that is released leaves the queue. If it is the current one, the thread hears of it and
 * releases it when its step is done: so a key may be unlinked meanwhile. A filter that finds the
 * queue full is left to those who add.
 */
#include "bf.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

/* Where processors are few the main thread comes first: it is no slower for taking pages itself.
 * Steps are short, since whoever maps memory meanwhile waits for the one that is going on. */
enum { NICE = 10, QUEUE = 64, FROM_BYTES = 16 * 1024 * 1024, STEP_BYTES = 256 * 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t comes = PTHREAD_COND_INITIALIZER;
static struct bf_value *queue[QUEUE]; /* NULL: it was released */
static unsigned first, waiting;
static struct bf_value *current;
static bool is_given_up; /* the current one is the thread's to release */
static bool is_running;  /* the thread is there; of the main thread alone */

static struct bf_value *next_value(void)
{
    struct bf_value *value = NULL;
    (void)pthread_mutex_lock(&lock);
    while (value == NULL) {
        while (waiting == 0)
            (void)pthread_cond_wait(&comes, &lock);
        value = queue[first];
        first = (first + 1) % QUEUE;
        waiting--;
    }
    current = value;
    (void)pthread_mutex_unlock(&lock);
    return value;
}

static bool is_wanted(void)
{
    (void)pthread_mutex_lock(&lock);
    const bool wanted = !is_given_up;
    (void)pthread_mutex_unlock(&lock);
    return wanted;
}

/* Leaves the current value; true: it is to be released. */
static bool leave(void)
{
    (void)pthread_mutex_lock(&lock);
    const bool given_up = is_given_up;
    current = NULL;
    is_given_up = false;
    (void)pthread_mutex_unlock(&lock);
    return given_up;
}

static void *populate(void *nothing)
{
    (void)nothing;
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE); /* of this thread, in Linux */
    for (;;) {
        struct bf_value *value = next_value();
        uint64_t at = 0;
        while (is_wanted()) {
            const uint64_t to = bloomery_populate(value->filter, at, STEP_BYTES);
            if (to <= at)
                break;
            atomic_fetch_add(&bf_counts.populated_bytes, to - at);
            at = to;
        }
        if (leave())
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
        atomic_fetch_add(&bf_counts.populating, 1);
        queue[(first + waiting++) % QUEUE] = value;
        (void)pthread_cond_signal(&comes);
    }
    (void)pthread_mutex_unlock(&lock);
}

/* Where a value is in the queue; `waiting`: nowhere. */
static unsigned place_of(const struct bf_value *value)
{
    unsigned place = 0;
    while (place < waiting && queue[(first + place) % QUEUE] != value)
        place++;
    return place;
}

bool bf_is_populated(const struct bf_value *value)
{
    if (value->bytes < FROM_BYTES) /* and never was larger */
        return false;
    (void)pthread_mutex_lock(&lock);
    const bool is_populated = current == value || place_of(value) < waiting;
    (void)pthread_mutex_unlock(&lock);
    return is_populated;
}

bool bf_populate_end(struct bf_value *value)
{
    if (value->bytes < FROM_BYTES)
        return false;
    (void)pthread_mutex_lock(&lock);
    const unsigned place = place_of(value);
    const bool is_current = current == value;
    assert(!is_current || (place == waiting && !is_given_up));
    is_given_up = is_given_up || is_current;
    if (place < waiting) {
        queue[(first + place) % QUEUE] = NULL;
        atomic_fetch_sub(&bf_counts.populating, 1);
    }
    (void)pthread_mutex_unlock(&lock);
    return is_current;
}
