/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building one filter with several threads, of which the calling one is the first:
 *
 *     source(0) source(1) ...     shares of keys, by number: a caller's, an array
 *         │         │
 *      thread    thread           takes the next number that is still free, until none is left
 *         └────┬────┘
 *            filter               blocked: range by range (ranges.c); else with atomic operations
 *
 * A number belongs to the call that takes it, not to a thread, so that with fewer threads than
 * requested, no key is left out.
 *
 * Positions of a classic filter are everywhere, and there are k of them. Setting them aside would
 * move 16 bytes for each, so bits are set at once, by atomic operations on single bytes. So are
 * those of filters made for concurrent adds, to which others may add meanwhile.
 */
#include "add.h"
#include "batch/ranges.h"
#include "batch/window.h"
#include "chain/layers.h"
#include "ways.h"

#include "base/error.h"
#include "base/workers.h"

#include <assert.h>

enum { THREADS_MAX = BLOOMERY_WORKERS_MAX, PORTION = 8192 };

/* The next portion of a share, a bloomery_source of keys in any form; 0: there is none. */
typedef size_t next_portion(void *context, uint32_t share, struct bloomery_input *keys);

struct team {
    bloomery_filter *filter;
    next_portion *next;
    void *context;
    uint32_t shares; /* the threads requested: the numbers to give to `source` */
    uint32_t taken;  /* of them; atomic */
    uint64_t adds;   /* atomic */
    bool narrow;     /* lo of all hashes is 0 */
    bool by_range;
    struct bloomery_ranges ranges;                /* where by range */
    const struct bloomery_operations *operations; /* the atomic ones, where not */
};

/* ---- What a thread does -------------------------------------------------------------------- */

static void add_word(void *context, size_t word, const bloomery_hash *hashes, size_t count)
{
    const struct team *team = context;
    const struct bloomery_layer *layer = bloomery_newest_layer(team->filter);
    (void)word;
    team->operations->add_word(layer, layer->payload, hashes, count, NULL);
}

static void add_portion(struct team *team, struct bloomery_aside *aside,
                        const struct bloomery_input *keys, size_t count)
{
    const struct bloomery_native *native = bloomery_native_of(team->filter);
    if (team->by_range)
        bloomery_aside_add(aside, keys, count);
    else if (native != NULL)
        native->add[true](team->filter, keys, count, NULL, NULL);
    else
        bloomery_walk(team->filter, keys, count, true, add_word, team);
}

/* Adds those that are keys, as hashes; how many they are. */
static size_t add_valid(struct team *team, struct bloomery_aside *aside,
                        const struct bloomery_input *keys, size_t count)
{
    struct bloomery_compact compact;
    const struct bloomery_input list = bloomery_input_of_hashes(compact.hashes);
    size_t added = 0;
    for (size_t i = 0; i < count; i += BLOOMERY_COMPACT) {
        const size_t now = count - i < BLOOMERY_COMPACT ? count - i : BLOOMERY_COMPACT;
        const size_t kept = bloomery_input_compact(keys, team->filter, i, now, &compact);
        if (kept > 0)
            add_portion(team, aside, &list, kept);
        added += kept;
    }
    return added;
}

static void work(void *context, uint32_t number)
{
    struct team *team = context;
    struct bloomery_aside aside;
    struct bloomery_input keys;
    uint64_t adds = 0;
    if (team->by_range)
        bloomery_aside_start(&aside, &team->ranges, number);
    for (;;) {
        uint32_t share = __atomic_load_n(&team->taken, __ATOMIC_RELAXED);
        if (share >= team->shares)
            break;
        if (!__atomic_compare_exchange_n(&team->taken, &share, share + 1, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;
        for (size_t count; (count = team->next(team->context, share, &keys)) > 0; adds += count)
            if (keys.valid != NULL)
                count = add_valid(team, &aside, &keys, count);
            else
                add_portion(team, &aside, &keys, count);
    }
    if (team->by_range)
        bloomery_aside_finish(&aside);
    __atomic_fetch_add(&team->adds, adds, __ATOMIC_RELAXED);
}

/* ---- The team ------------------------------------------------------------------------------ */

static bloomery_status build_together(struct team *team, bloomery_error *error)
{
    bloomery_filter *filter = team->filter;
    const uint32_t count = team->shares < THREADS_MAX ? team->shares : THREADS_MAX;
    team->by_range =
        bloomery_newest_layer(filter)->blocks > 0 && !filter->concurrent && !filter->foreign;
    team->operations = filter->kind->operations(filter->shape.cell_bits, true);
    if (team->by_range && !bloomery_ranges_start(&team->ranges, filter, count, team->narrow))
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "not enough memory to build with %u threads", count);
    bloomery_workers_run(work, team, count);
    assert(team->taken == team->shares);
    bloomery_count_adds(filter, team->adds);
    if (team->by_range)
        bloomery_ranges_end(&team->ranges);
    return BLOOMERY_OK;
}

/* Portion by portion, in order. */
static bloomery_status build_alone(const struct team *team, bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    struct bloomery_input keys;
    for (uint32_t share = 0; share < team->shares; share++)
        for (size_t count;
             status == BLOOMERY_OK && (count = team->next(team->context, share, &keys)) > 0;)
            status = bloomery_add_present(team->filter, &keys, count, NULL, NULL, error);
    return status;
}

/* ---- How many threads ------------------------------------------------------------------------ */

_Static_assert(BLOOMERY_THREADS_MAX == BLOOMERY_WORKERS_MAX, "what may be asked for can be had");

bloomery_status bloomery_threads_check(uint32_t threads, bloomery_error *error)
{
    if (threads <= BLOOMERY_THREADS_MAX || threads == BLOOMERY_THREADS_ALL)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                         "%u threads are too many: set at most %u, or BLOOMERY_THREADS_ALL for as "
                         "many as the process may run at once",
                         threads, BLOOMERY_THREADS_MAX);
}

uint32_t bloomery_threads_of(uint32_t threads)
{
    if (threads == BLOOMERY_THREADS_ALL)
        return bloomery_threads();
    return threads > 1 ? threads : 1;
}

/* ---- A caller's source ----------------------------------------------------------------------- */

struct caller {
    bloomery_source source;
    void *context;
};

static size_t next_of_caller(void *context, uint32_t share, struct bloomery_input *keys)
{
    const struct caller *caller = context;
    const bloomery_key *list = NULL;
    const size_t count = caller->source(caller->context, share, &list);
    *keys = bloomery_input_of_list(list);
    return count;
}

bloomery_status bloomery_add_from(bloomery_filter *filter, bloomery_source source, void *context,
                                  uint32_t threads, bloomery_error *error)
{
    struct caller caller = {source, context};
    struct team team = {.filter = filter, .next = next_of_caller, .context = &caller};
    bloomery_status status = bloomery_threads_check(threads, error);
    if (status == BLOOMERY_OK)
        status = bloomery_can_add(filter, error);
    if (status != BLOOMERY_OK)
        return status;
    team.shares = bloomery_threads_of(threads);
    team.narrow = filter->shape.hash == BLOOMERY_HASH_XXH3_64;
    return team.shares > 1 && !bloomery_adds_in_order(filter) ? build_together(&team, error)
                                                              : build_alone(&team, error);
}

/* ---- Keys that are there --------------------------------------------------------------------- */

struct array {
    const struct bloomery_input *keys;
    size_t count;
    size_t taken; /* atomic */
};

/* Each call takes the next portion: a thread that is delayed delays little. */
static size_t next_of_array(void *context, uint32_t share, struct bloomery_input *keys)
{
    struct array *array = context;
    (void)share;
    size_t first = __atomic_load_n(&array->taken, __ATOMIC_RELAXED);
    size_t count = 0;
    do {
        count = array->count - first < PORTION ? array->count - first : PORTION;
    } while (count > 0 && !__atomic_compare_exchange_n(&array->taken, &first, first + count, false,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    *keys = bloomery_input_from(array->keys, first);
    return count;
}

bloomery_status bloomery_build_input(bloomery_filter *filter, const struct bloomery_input *keys,
                                     size_t count, uint32_t threads, bloomery_counts *counts,
                                     bloomery_error *error)
{
    struct array array = {keys, count, 0};
    const size_t portions = count / PORTION + 1;
    bloomery_status status;
    /* Looking up the limits of memory takes longer than a portion. */
    threads = portions > 1 && !bloomery_adds_in_order(filter) ? bloomery_threads_of(threads) : 1;
    if (threads > 1) {
        struct team team = {.filter = filter, .next = next_of_array, .context = &array};
        team.shares = portions < threads ? (uint32_t)portions : threads;
        /* Hashes that come from elsewhere may be of 128 bits whatever the filter makes of keys. */
        team.narrow =
            filter->shape.hash == BLOOMERY_HASH_XXH3_64 && keys->form != BLOOMERY_KEYS_HASHES128;
        status = build_together(&team, error);
        if (counts != NULL)
            counts->done = status == BLOOMERY_OK ? count : 0;
    } else {
        status = bloomery_add_present(filter, keys, count, NULL, counts, error);
    }
    if (counts != NULL)
        counts->positive = counts->cells = 0;
    return status;
}
