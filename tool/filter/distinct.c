/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample of the different hashes: all whose lowest bits are 0, of so many bits that the sample
 * fits.
 *
 *     level 0   all hashes             up to 16,384 different ones
 *     level 1   ...0                   when there are more: half of those that are kept go
 *     level 2   ...00
 *
 * A hash that comes again falls on its own slot, so repeats count once. Each different hash is in
 * the sample of level s with a chance of 2^-s, independently. With c of them in the sample, c * 2^s
 * are estimated. The variance of c is n 2^-s (1 - 2^-s), so the standard deviation of the estimate
 * is 2^s sqrt(c (1 - 2^-s)). That is 0.78 % to 1.1 % while c is between half of the room and all
 * of it. At level 0 the count is exact.
 *
 * The level at which the sample fits depends on the set of hashes alone. Samples of several threads
 * are merged at the higher of their levels, and go up as one would. So the estimate is the same
 * whatever the threads and the order. (Wegman's adaptive sampling; Flajolet, "On adaptive
 * sampling", Computing 43, 1990.)
 */
#include "filter/distinct.h"

#include "tool.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 2 * TOOL_DISTINCT_KEPT };

static bool is_sampled(const struct tool_distinct *distinct, uint64_t hash)
{
    return (hash & ((UINT64_C(1) << distinct->level) - 1)) == 0;
}

/* The low bits are 0 in a sample: high ones choose the slot. False if it is there already. */
static bool insert(uint64_t *slots, uint64_t hash)
{
    size_t slot = hash >> 40 & (SLOTS - 1);
    while (slots[slot] != 0) {
        if (slots[slot] == hash)
            return false;
        slot = (slot + 1) & (SLOTS - 1);
    }
    slots[slot] = hash;
    return true;
}

static void go_up(struct tool_distinct *distinct)
{
    uint64_t *old = distinct->slots;
    distinct->slots = tool_allocate(SLOTS * sizeof(uint64_t));
    memset(distinct->slots, 0, SLOTS * sizeof(uint64_t));
    distinct->level++;
    distinct->count = 0;
    for (size_t i = 0; i < SLOTS; i++)
        if (old[i] != 0 && is_sampled(distinct, old[i]))
            distinct->count += insert(distinct->slots, old[i]);
    free(old);
}

void tool_distinct_add_sampled(struct tool_distinct *distinct, uint64_t hash)
{
    if (hash == 0) {
        distinct->zero_seen = true;
        return;
    }
    if (distinct->slots == NULL) {
        distinct->slots = tool_allocate(SLOTS * sizeof(uint64_t));
        memset(distinct->slots, 0, SLOTS * sizeof(uint64_t));
    }
    distinct->count += insert(distinct->slots, hash);
    while (distinct->count > TOOL_DISTINCT_KEPT && distinct->level < 63)
        go_up(distinct);
    assert(distinct->count <= TOOL_DISTINCT_KEPT);
}

void tool_distinct_merge(struct tool_distinct *into, const struct tool_distinct *from)
{
    into->zero_seen = into->zero_seen || from->zero_seen;
    while (into->level < from->level && into->slots != NULL)
        go_up(into);
    if (into->level < from->level)
        into->level = from->level;
    for (size_t i = 0; i < SLOTS && from->slots != NULL; i++)
        if (from->slots[i] != 0)
            tool_distinct_add(into, from->slots[i]);
}

double tool_distinct_estimate(const struct tool_distinct *distinct, double *deviation)
{
    const double kept = (double)(distinct->count + distinct->zero_seen);
    const double each = ldexp(1, (int)distinct->level);
    *deviation = each * sqrt(kept * (1 - 1 / each));
    return kept * each;
}

void tool_distinct_free(struct tool_distinct *distinct)
{
    free(distinct->slots);
    *distinct = (struct tool_distinct){0};
}
