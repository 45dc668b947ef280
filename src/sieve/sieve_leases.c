/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of sieve.h about what was popped: ending and renewing leases, listing them, and the
 * items that were put aside. */
#include "base/error.h"
#include "sieve/engine.h"

#include <assert.h>

static void lock(bloomery_sieve *sieve)
{
    pthread_mutex_lock(&sieve->mutex);
}

static void unlock(bloomery_sieve *sieve)
{
    pthread_mutex_unlock(&sieve->mutex);
}

/* ---- Leases by their numbers ------------------------------------------------------------- */

enum what { ACKNOWLEDGE, RETURN, TAKE_BACK, EXTEND };

static size_t change(bloomery_sieve *sieve, enum what what, const uint64_t *numbers, size_t count,
                     double lease)
{
    switch (what) {
    case TAKE_BACK:
        return bloomery_queue_take_back(sieve->queue, numbers, count);
    case EXTEND:
        return bloomery_queue_extend(sieve->queue, numbers, count, bloomery_sieve_wall_clock(),
                                     lease > 0 ? lease : sieve->lease);
    case ACKNOWLEDGE:
    case RETURN:
        break;
    }
    return bloomery_queue_end(sieve->queue, numbers, count, what == RETURN);
}

static bloomery_status change_leases(bloomery_sieve *sieve, enum what what, const uint64_t *numbers,
                                     size_t count, double lease, size_t *unknown,
                                     bloomery_error *error)
{
    size_t not_leased = 0;
    lock(sieve);
    bloomery_status status = bloomery_sieve_commit_if_can(sieve, error);
    if (status == BLOOMERY_OK) {
        not_leased = change(sieve, what, numbers, count, lease);
        if (not_leased < count)
            status = bloomery_sieve_commit_where_room(sieve, error);
    }
    unlock(sieve);
    assert(not_leased <= count);
    if (unknown != NULL)
        *unknown = not_leased;
    return status;
}

bloomery_status bloomery_sieve_ack(bloomery_sieve *sieve, const uint64_t *numbers, size_t count,
                                   size_t *unknown, bloomery_error *error)
{
    return change_leases(sieve, ACKNOWLEDGE, numbers, count, 0, unknown, error);
}

bloomery_status bloomery_sieve_return(bloomery_sieve *sieve, const uint64_t *numbers, size_t count,
                                      size_t *unknown, bloomery_error *error)
{
    return change_leases(sieve, RETURN, numbers, count, 0, unknown, error);
}

bloomery_status bloomery_sieve_undo_pop(bloomery_sieve *sieve, const uint64_t *numbers,
                                        size_t count, size_t *unknown, bloomery_error *error)
{
    return change_leases(sieve, TAKE_BACK, numbers, count, 0, unknown, error);
}

bloomery_status bloomery_sieve_extend(bloomery_sieve *sieve, const uint64_t *numbers, size_t count,
                                      double lease, size_t *unknown, bloomery_error *error)
{
    if (!(lease >= 0 && lease < 1e12))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a lease is 0 (as at opening) or a number of seconds");
    return change_leases(sieve, EXTEND, numbers, count, lease, unknown, error);
}

/* ---- All of them ------------------------------------------------------------------------- */

bloomery_status bloomery_sieve_return_all(bloomery_sieve *sieve, uint64_t *count,
                                          bloomery_error *error)
{
    uint64_t ended = 0;
    lock(sieve);
    bloomery_status status = bloomery_sieve_commit_if_can(sieve, error);
    if (status == BLOOMERY_OK) {
        ended = bloomery_queue_end_all(sieve->queue);
        if (ended > 0)
            status = bloomery_sieve_commit_where_room(sieve, error);
    }
    unlock(sieve);
    if (count != NULL)
        *count = ended;
    return status;
}

int bloomery_sieve_each_leased(bloomery_sieve *sieve,
                               int (*take)(void *context, const bloomery_sieve_item *item,
                                           double ends),
                               void *context, bloomery_error *error)
{
    lock(sieve);
    const int result = bloomery_queue_each_leased(sieve->queue, take, context, error);
    unlock(sieve);
    return result;
}

struct visit {
    int (*take)(void *context, const bloomery_sieve_item *item);
    void *context;
};

static int visit_entry(void *context, const struct bloomery_entry *entry, uint64_t number)
{
    const struct visit *visit = context;
    const bloomery_sieve_item item = {
        .key = entry->key, .payload = entry->payload, .number = number};
    return (entry->flags & BLOOMERY_ENTRY_MARKED) != 0 ? 0 : visit->take(visit->context, &item);
}

int bloomery_sieve_each_queued(bloomery_sieve *sieve,
                               int (*take)(void *context, const bloomery_sieve_item *item),
                               void *context, bloomery_error *error)
{
    struct visit visit = {take, context};
    lock(sieve);
    const int result = bloomery_queue_each(sieve->queue, NULL, visit_entry, &visit, error);
    unlock(sieve);
    return result;
}

/* ---- Dead items -------------------------------------------------------------------------- */

int bloomery_sieve_each_dead(bloomery_sieve *sieve,
                             int (*take)(void *context, const bloomery_sieve_item *item),
                             void *context, bloomery_error *error)
{
    struct visit visit = {take, context};
    lock(sieve);
    const int result = bloomery_dead_each(&sieve->dead, visit_entry, &visit, error);
    unlock(sieve);
    return result;
}

struct queueing {
    struct bloomery_queue *queue;
    bloomery_error *error;
};

static int queue_again(void *context, const struct bloomery_entry *entry, uint64_t number)
{
    const struct queueing *queueing = context;
    (void)number;
    return bloomery_queue_append(queueing->queue, entry, queueing->error);
}

/* All of them to the end of the queue, or none. */
static bloomery_status queue_dead(bloomery_sieve *sieve, bloomery_error *error)
{
    struct queueing queueing = {sieve->queue, error};
    struct bloomery_queue_mark mark;
    bloomery_status status = bloomery_queue_seal(sieve->queue, error);
    if (status != BLOOMERY_OK)
        return status;
    bloomery_queue_mark(sieve->queue, &mark);
    status = (bloomery_status)bloomery_dead_each(&sieve->dead, queue_again, &queueing, error);
    if (status == BLOOMERY_OK)
        status = bloomery_queue_seal(sieve->queue, error);
    if (status != BLOOMERY_OK)
        bloomery_queue_rewind(sieve->queue, &mark);
    return status;
}

bloomery_status bloomery_sieve_end_dead(bloomery_sieve *sieve, bool again, uint64_t *count,
                                        bloomery_error *error)
{
    lock(sieve);
    const uint64_t items = sieve->dead.items;
    bloomery_status status = bloomery_sieve_commit_if_can(sieve, error);
    if (status == BLOOMERY_OK && again)
        status = queue_dead(sieve, error);
    if (status == BLOOMERY_OK && items > 0) {
        bloomery_dead_empty(&sieve->dead);
        status = bloomery_sieve_commit_where_room(sieve, error);
    }
    unlock(sieve);
    if (count != NULL)
        *count = status == BLOOMERY_OK ? items : 0;
    return status;
}
