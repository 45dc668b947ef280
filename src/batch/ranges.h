/* SPDX-License-Identifier: Apache-2.0 */
/* Several threads adding to one blocked filter without an atomic operation per key: ranges.c. */
#ifndef BLOOMERY_RANGES_H
#define BLOOMERY_RANGES_H

#include "batch/input.h"

struct bloomery_ranges {
    bloomery_filter *filter;
    struct bloomery_layer *layer;
    uint32_t shift;              /* a range is 2^shift blocks, the last one what is left */
    uint32_t count;              /* R */
    uint32_t room;               /* K: the hashes that a thread can set aside in one place */
    bool narrow;                 /* of 64 bits: 8 bytes each, else 16 */
    struct bloomery_lock *locks; /* a lock per range */
    uint8_t *memory;             /* of all threads */
    size_t memory_bytes;
    size_t thread_bytes; /* of each */
};

/* What one thread has set aside. Place (j, r) is for hashes whose block number j is in range r. */
struct bloomery_aside {
    const struct bloomery_ranges *ranges;
    uint64_t *words;  /* [L][R][K], one or two for each hash */
    uint32_t *held;   /* [L][R]: how many in each place */
    uint64_t total;   /* in all places */
    size_t space;     /* keys that surely find room before `held` has to be looked at */
    uint32_t next;    /* the range to be added next, */
    uint32_t queried; /* and how many of its hashes have their blocks prefetched */
};

/* Ranges for this many threads, and their memory; false: there is none, and nothing to end.
 * `narrow`: lo of all hashes is 0. */
bool bloomery_ranges_start(struct bloomery_ranges *ranges, bloomery_filter *filter,
                           uint32_t threads, bool narrow);
void bloomery_ranges_end(struct bloomery_ranges *ranges);

/* The part of thread `thread`: start, add any number of times, finish. Keys are in the filter only
 * after `finish`. */
void bloomery_aside_start(struct bloomery_aside *aside, const struct bloomery_ranges *ranges,
                          uint32_t thread);
void bloomery_aside_add(struct bloomery_aside *aside, const struct bloomery_input *keys,
                        size_t count);
void bloomery_aside_finish(struct bloomery_aside *aside);

#endif
