/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches of the most usual filters - blocked, XXH3, one link - in one piece: window.h calls the
 * hash, the prefetch and the kernel through pointers, a word of 64 keys at a time, and while it
 * hashes a word it asks the memory for nothing. Here the three are compiled into one loop that takes
 * turns every eight keys, so that the flow of lines never stops: a quarter less time per key where
 * the filter is larger than the caches. The answers are those of window.h, bit for bit.
 */
#ifndef BLOOMERY_BULK_H
#define BLOOMERY_BULK_H

#include "core/filter.h"

struct bloomery_bulk {
    /* How many may be in the filter; `answers` as in bloomery_may_contain_batch. */
    size_t (*ask)(const bloomery_filter *filter, const bloomery_key *keys, size_t count,
                  uint64_t *answers);
    /* `answers` as in bloomery_add_batch, or NULL. */
    void (*add)(bloomery_filter *filter, const bloomery_key *keys, size_t count, uint64_t *answers);
    /* Adds line number `line` alone of keys that are hashed already. */
    void (*add_line)(bloomery_filter *filter, const bloomery_hash *hashes, size_t count,
                     uint32_t line);
};

/* For this filter on this processor, or NULL: then window.h it is. */
const struct bloomery_bulk *bloomery_bulk_of(const bloomery_filter *filter);

#endif
