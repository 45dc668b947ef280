/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Items that were delivered too often and never acknowledged: put aside, so that they neither come
 * again nor hold a lease. A file "dead.G", a frame (store.h) for each of them, whose first entry is
 * the item as the queue had it and whose number is the item's. G counts how often the list was
 * emptied.
 *
 * As of every file, what the manifest says of it counts: an item is in the list with the commit
 * that ends its lease, and not before. The list is emptied by a commit that names the next
 * generation; then the file is removed.
 */
#ifndef BLOOMERY_SIEVE_DEAD_H
#define BLOOMERY_SIEVE_DEAD_H

#include "sieve/store/entry.h"
#include "sieve/store/store.h"

enum { BLOOMERY_DEAD_STATE = 24 }; /* bytes in the manifest */

struct bloomery_dead {
    struct bloomery_store *store;
    struct bloomery_store_file file; /* open if `bytes` is not 0 */
    uint64_t generation;
    uint64_t committed; /* the generation that the last commit names */
    uint64_t bytes;     /* of the file that count; 0: there is none */
    uint64_t items;
};

/* Empty. */
void bloomery_dead_start(struct bloomery_dead *dead, struct bloomery_store *store);
void bloomery_dead_close(struct bloomery_dead *dead);

/* The part of the manifest: generation, bytes, items, u64 each. Restoring opens the file and cuts
 * what lies behind its bytes. BLOOMERY_CORRUPT. */
void bloomery_dead_store(const struct bloomery_dead *dead, uint8_t to[BLOOMERY_DEAD_STATE]);
bloomery_status bloomery_dead_restore(struct bloomery_dead *dead,
                                      const uint8_t from[BLOOMERY_DEAD_STATE],
                                      bloomery_error *error);
/* Whether the state names the file of this generation. */
bool bloomery_dead_names(const struct bloomery_dead *dead, uint64_t generation);

/* Appends an entry of the queue, as it lies in its frame. On failure nothing has changed. */
bloomery_status bloomery_dead_append(struct bloomery_dead *dead, uint64_t number,
                                     const uint8_t *entry, size_t bytes, bloomery_error *error);

/* Forgets all items. The file goes with bloomery_dead_committed. */
void bloomery_dead_empty(struct bloomery_dead *dead);

/* Makes durable what was appended: before a commit. */
bloomery_status bloomery_dead_sync(struct bloomery_dead *dead, bloomery_error *error);
/* After it. */
void bloomery_dead_committed(struct bloomery_dead *dead);

/* Whether a frame may be one of these. */
bool bloomery_dead_is_frame(const struct bloomery_frame *frame);

/* Calls `take` for each item, in the order in which they were put aside. Non-zero ends it and is
 * returned. */
int bloomery_dead_each(struct bloomery_dead *dead,
                       int (*take)(void *context, const struct bloomery_entry *entry,
                                   uint64_t number),
                       void *context, bloomery_error *error);

/* Reads all frames; reports damage, and counts it. */
bloomery_status bloomery_dead_verify(struct bloomery_dead *dead, bloomery_sieve_report report,
                                     void *context, uint64_t *damaged, bloomery_error *error);

#endif
