/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases. What is asked of them, and what it costs with n of them:
 *
 *     append       amortised O(1): a quarter more room than leases, and moving together once that
 *                  is used up
 *     find, kill   O(log n): binary search by number, which the dead keep
 *     what ended   O(n / 256 + what is in chunks where something may have ended)
 */
#include "sieve/queue/queue_inside.h"

#include <assert.h>
#include <math.h>

static const double dead = -1;

static bool lives(const struct bloomery_leases *leases, uint32_t index)
{
    return leases->list[index].ends >= 0;
}

static uint64_t chunks_of(uint32_t capacity)
{
    return (uint64_t)capacity / BLOOMERY_LEASE_CHUNK + 1;
}

bool bloomery_leases_make(struct bloomery_store *store, struct bloomery_leases *leases,
                          uint32_t limit)
{
    assert(limit >= 1 && limit <= 1u << 30);
    *leases = (struct bloomery_leases){.limit = limit, .capacity = limit + limit / 4 + 64};
    leases->list = bloomery_store_take(store, leases->capacity * sizeof *leases->list);
    leases->least = bloomery_store_take(store, chunks_of(leases->capacity) * sizeof *leases->least);
    if (leases->list != NULL && leases->least != NULL)
        return true;
    bloomery_leases_free(store, leases);
    return false;
}

void bloomery_leases_free(struct bloomery_store *store, struct bloomery_leases *leases)
{
    bloomery_store_give(store, leases->list, leases->capacity * sizeof *leases->list);
    bloomery_store_give(store, leases->least, chunks_of(leases->capacity) * sizeof *leases->least);
    leases->list = NULL;
    leases->least = NULL;
}

static void lower(const struct bloomery_leases *leases, uint32_t index, double ends)
{
    double *least = &leases->least[index / BLOOMERY_LEASE_CHUNK];
    if (index % BLOOMERY_LEASE_CHUNK == 0 && index + 1 == leases->count)
        *least = ends; /* the chunk begins here */
    else if (ends < *least)
        *least = ends;
}

/* Moves the living together. */
static void compact(struct bloomery_leases *leases)
{
    const uint32_t before = leases->count;
    leases->count = 0;
    for (uint32_t i = leases->first; i < before; i++) {
        if (!lives(leases, i))
            continue;
        leases->list[leases->count++] = leases->list[i];
        lower(leases, leases->count - 1, leases->list[leases->count - 1].ends);
    }
    leases->first = 0;
    assert(leases->count == leases->live);
}

void bloomery_leases_add(struct bloomery_leases *leases, const struct bloomery_lease *lease)
{
    assert(leases->live < leases->limit && lease->ends >= 0);
    if (leases->count == leases->capacity)
        compact(leases);
    assert(leases->count < leases->capacity);
    assert(leases->count == 0 ||
           !bloomery_place_before(bloomery_lease_place(lease),
                                  bloomery_lease_place(&leases->list[leases->count - 1])));
    assert(leases->count == 0 || leases->list[leases->count - 1].number < lease->number);
    leases->list[leases->count++] = *lease;
    leases->live++;
    lower(leases, leases->count - 1, lease->ends);
}

uint32_t bloomery_leases_from(const struct bloomery_leases *leases, uint64_t number)
{
    uint32_t low = leases->first;
    uint32_t high = leases->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (leases->list[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t bloomery_leases_find(const struct bloomery_leases *leases, uint64_t number)
{
    const uint32_t index = bloomery_leases_from(leases, number);
    return index < leases->count && leases->list[index].number == number && lives(leases, index)
               ? index
               : leases->count;
}

void bloomery_leases_kill(struct bloomery_leases *leases, uint32_t index)
{
    assert(index < leases->count && lives(leases, index) && leases->live > 0);
    leases->list[index].ends = dead;
    leases->live--;
    while (leases->first < leases->count && !lives(leases, leases->first))
        leases->first++;
    /* Moving costs what lives, and comes after three times as many deaths. */
    if (leases->live == 0 ||
        (leases->count > 4 * BLOOMERY_LEASE_CHUNK && leases->live < leases->count / 4))
        compact(leases);
}

void bloomery_leases_extend(struct bloomery_leases *leases, uint32_t index, double ends)
{
    assert(index < leases->count && lives(leases, index) && ends >= 0);
    leases->list[index].ends = ends;
    /* A later end leaves the chunk's bound too low, which is allowed. */
    if (ends < leases->least[index / BLOOMERY_LEASE_CHUNK])
        leases->least[index / BLOOMERY_LEASE_CHUNK] = ends;
}

uint32_t bloomery_leases_ended(const struct bloomery_leases *leases, uint32_t from, double now)
{
    uint32_t index = from < leases->first ? leases->first : from;
    while (index < leases->count) {
        const uint32_t chunk = index / BLOOMERY_LEASE_CHUNK;
        const uint32_t rest = leases->count - chunk * BLOOMERY_LEASE_CHUNK;
        const uint32_t end = chunk * BLOOMERY_LEASE_CHUNK +
                             (rest < BLOOMERY_LEASE_CHUNK ? rest : BLOOMERY_LEASE_CHUNK);
        const bool whole =
            index % BLOOMERY_LEASE_CHUNK == 0 || index == leases->first; /* the dead don't count */
        double least = INFINITY;
        if (leases->least[chunk] <= now) {
            for (; index < end; index++) {
                if (!lives(leases, index))
                    continue;
                if (leases->list[index].ends <= now)
                    return index;
                least = leases->list[index].ends < least ? leases->list[index].ends : least;
            }
            if (whole)
                leases->least[chunk] = least;
        }
        index = end;
    }
    return leases->count;
}

uint32_t bloomery_leases_next(const struct bloomery_leases *leases, uint32_t from)
{
    uint32_t index = from < leases->first ? leases->first : from;
    while (index < leases->count && !lives(leases, index))
        index++;
    return index;
}

bool bloomery_leases_in(const struct bloomery_leases *leases, uint64_t segment)
{
    uint32_t low = leases->first;
    uint32_t high = leases->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (leases->list[middle].segment < segment)
            low = middle + 1;
        else
            high = middle;
    }
    const uint32_t next = bloomery_leases_next(leases, low);
    return next < leases->count && leases->list[next].segment == segment;
}
