/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of sieve.h about what was popped: ending and renewing leases, walking through items,
 * and those that were put aside. */
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

/* ---- Ending and renewing ----------------------------------------------------------------- */

/* Renewing is one more way to change leases. */
enum { EXTEND = BLOOMERY_SIEVE_UNDO + 1 };

/* Returns how many of these leases were out; of all: how many there are. */
static uint64_t change(bloomery_sieve *sieve, int how, const uint64_t *numbers, size_t count,
                       double lease)
{
    if (how == EXTEND)
        return bloomery_queue_extend(sieve->queue, numbers, count, bloomery_sieve_wall_clock(),
                                     lease > 0 ? lease : sieve->lease);
    return count == BLOOMERY_SIEVE_ALL
               ? bloomery_queue_end_all(sieve->queue, (bloomery_sieve_outcome)how)
               : bloomery_queue_end(sieve->queue, numbers, count, (bloomery_sieve_outcome)how);
}

static bloomery_status change_leases(bloomery_sieve *sieve, int how, const uint64_t *numbers,
                                     size_t count, double lease, uint64_t *changed,
                                     bloomery_error *error)
{
    uint64_t leased = 0;
    lock(sieve);
    bloomery_status status = bloomery_sieve_commit_if_can(sieve, error);
    if (status == BLOOMERY_OK) {
        leased = change(sieve, how, numbers, count, lease);
        if (leased > 0)
            status = bloomery_sieve_commit_where_room(sieve, error);
    }
    unlock(sieve);
    assert(leased <= count);
    if (changed != NULL)
        *changed = leased;
    return status;
}

bloomery_status bloomery_sieve_finish(bloomery_sieve *sieve, const uint64_t *numbers, size_t count,
                                      bloomery_sieve_outcome outcome, uint64_t *finished,
                                      bloomery_error *error)
{
    if (outcome != BLOOMERY_SIEVE_DONE && outcome != BLOOMERY_SIEVE_BACK &&
        outcome != BLOOMERY_SIEVE_UNDO) {
        if (finished != NULL)
            *finished = 0;
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "%d is not an outcome: BLOOMERY_SIEVE_DONE, _BACK or _UNDO",
                             (int)outcome);
    }
    return change_leases(sieve, (int)outcome, numbers, count, 0, finished, error);
}

bloomery_status bloomery_sieve_extend(bloomery_sieve *sieve, const uint64_t *numbers, size_t count,
                                      double lease, uint64_t *extended, bloomery_error *error)
{
    if (!(lease >= 0 && lease < 1e12)) {
        if (extended != NULL)
            *extended = 0;
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a lease is 0 (as at opening) or a number of seconds");
    }
    if (count == BLOOMERY_SIEVE_ALL) {
        if (extended != NULL)
            *extended = 0;
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "leases are renewed by their numbers: BLOOMERY_SIEVE_ALL is for "
                             "bloomery_sieve_finish");
    }
    return change_leases(sieve, EXTEND, numbers, count, lease, extended, error);
}

/* ---- Walking through --------------------------------------------------------------------- */

struct visit {
    bloomery_sieve_visitor visit;
    void *context;
    int result; /* of the last visit: any number, a status among them */
};

static int visit_leased(void *context, const bloomery_sieve_item *item)
{
    struct visit *visit = context;
    visit->result = visit->visit(visit->context, item);
    return visit->result != 0;
}

static int visit_entry(void *context, const struct bloomery_entry *entry, uint64_t number)
{
    const bloomery_sieve_item item = {
        .key = entry->key, .payload = entry->payload, .number = number};
    return (entry->flags & BLOOMERY_ENTRY_MARKED) != 0 ? 0 : visit_leased(context, &item);
}

/* Negative: a status. */
static int each(bloomery_sieve *sieve, bloomery_sieve_items which, struct visit *visit,
                bloomery_error *error)
{
    switch (which) {
    case BLOOMERY_SIEVE_QUEUED:
        return bloomery_queue_each(sieve->queue, NULL, visit_entry, visit, error);
    case BLOOMERY_SIEVE_LEASED:
        return bloomery_queue_each_leased(sieve->queue, visit_leased, visit, error);
    case BLOOMERY_SIEVE_DEAD:
        return bloomery_dead_each(&sieve->dead, visit_entry, visit, error);
    }
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                         "%d are not items of a sieve: BLOOMERY_SIEVE_QUEUED, _LEASED or _DEAD",
                         (int)which);
}

bloomery_status bloomery_sieve_each(bloomery_sieve *sieve, bloomery_sieve_items which,
                                    bloomery_sieve_visitor visit, void *context, int *result,
                                    bloomery_error *error)
{
    struct visit all = {.visit = visit, .context = context};
    lock(sieve);
    const int ended = each(sieve, which, &all, error);
    unlock(sieve);
    if (result != NULL)
        *result = all.result;
    return ended < 0 ? (bloomery_status)ended : BLOOMERY_OK;
}

/* ---- Dead items -------------------------------------------------------------------------- */

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
