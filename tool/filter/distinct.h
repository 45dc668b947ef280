/* SPDX-License-Identifier: Apache-2.0 */
/* How many different hashes there are, from a sample of them. distinct.c holds the essay. */
#ifndef BLOOMERY_TOOL_DISTINCT_H
#define BLOOMERY_TOOL_DISTINCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOOL_DISTINCT_KEPT = 1 << 14 }; /* different hashes in a sample, at most */

/* One thread's sample. Begins as zeros. */
struct tool_distinct {
    uint32_t level;  /* those hashes are in the sample whose lowest `level` bits are 0 */
    size_t count;    /* of them, without zero_seen */
    bool zero_seen;  /* the hash 0, which marks empty slots, is in it */
    uint64_t *slots; /* NULL: none yet */
};

/* Takes a hash, evenly spread over all numbers of 64 bits. */
void tool_distinct_add_sampled(struct tool_distinct *distinct, uint64_t hash);

static inline void tool_distinct_add(struct tool_distinct *distinct, uint64_t hash)
{
    if ((hash & ((UINT64_C(1) << distinct->level) - 1)) == 0)
        tool_distinct_add_sampled(distinct, hash);
}

/* Takes those of another one. */
void tool_distinct_merge(struct tool_distinct *into, const struct tool_distinct *from);

/* The estimate, and its standard deviation: 0 while every hash is in the sample. */
double tool_distinct_estimate(const struct tool_distinct *distinct, double *deviation);

void tool_distinct_free(struct tool_distinct *distinct);

#endif /* BLOOMERY_TOOL_DISTINCT_H */
