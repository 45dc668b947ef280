/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where hashes wait until all have come: 256 heaps, by the first byte of their x. A heap is a list
 * of pieces of 16 KiB, in memory or in a file without a name.
 *
 *     heap 0     | piece | piece | piece .. |      the last one is being filled
 *     heap 1     | piece | piece ..     |
 *     ...
 *
 * When the memory for pieces is used up, all full pieces go to the file, and every piece that is
 * full later does so too. From then on no more than one piece of each heap is in memory.
 */
#ifndef BLOOMERY_BUILDER_SPOOL_H
#define BLOOMERY_BUILDER_SPOOL_H

#include "base/threads.h"

#include <bloomery/bloomery.h>

enum {
    BLOOMERY_HEAPS = 256,
    BLOOMERY_PIECE_BYTES = 16384,
    BLOOMERY_PIECE_HASHES = 1023,
};

struct bloomery_piece {
    struct bloomery_piece *next;
    uint64_t count;
    bloomery_hash hashes[BLOOMERY_PIECE_HASHES];
};

/* Memory of many pieces at once. */
struct bloomery_slab;

/* The pieces' memory, and the file: shared by the spools of all layers of one filter. */
struct bloomery_pool {
    const bloomery_allocator *allocator;
    const char *directory; /* of the file; NULL: there is none */
    uint64_t limit;        /* bytes of slabs at most */
    uint64_t bytes;        /* of slabs */
    uint64_t free_bytes;   /* of them, in pieces that are free */
    uint64_t max_bytes;    /* the most they were */
    struct bloomery_slab *slabs;
    struct bloomery_piece *free;
    struct bloomery_lock *lock; /* [0] for all of this, [1] held while pieces go to the file */
    int file;                   /* -1: not made yet */
    uint64_t file_bytes;        /* atomic */
};

struct bloomery_heap {
    struct bloomery_piece *pieces; /* the one being filled first */
    uint64_t count;                /* hashes, those in the file too */
    bool sorted;                   /* and each is there once; so only if all is in memory */
    uint64_t *places;              /* of pieces in the file, which are all full */
    size_t places_count;
    size_t places_room;
};

struct bloomery_spool {
    struct bloomery_pool *pool;
    uint32_t layer; /* whose x it is divided by */
    bool spilled;   /* atomic */
    struct bloomery_heap heaps[BLOOMERY_HEAPS];
    struct bloomery_lock *locks; /* one for each heap */
};

/* false: no memory. */
bool bloomery_pool_start(struct bloomery_pool *pool, const bloomery_allocator *allocator,
                         const char *directory, uint64_t limit);
void bloomery_pool_end(struct bloomery_pool *pool);

/* Lets the slabs grow by as much as `more` bytes of further pieces take beside those in use: free
 * ones are taken first. Returns what the slabs may come to. */
uint64_t bloomery_pool_allow(struct bloomery_pool *pool, uint64_t more);

bool bloomery_spool_start(struct bloomery_spool *spool, struct bloomery_pool *pool, uint32_t layer);
/* Gives pieces and places back. */
void bloomery_spool_end(struct bloomery_spool *spool);

/* Adds hashes, any thread. BLOOMERY_OUT_OF_MEMORY; BLOOMERY_FULL if the memory is used up and the
 * spool has no directory; BLOOMERY_IO_FAILED. */
bloomery_status bloomery_spool_add(struct bloomery_spool *spool, const bloomery_hash *hashes,
                                   size_t count, bloomery_error *error);

uint64_t bloomery_spool_count(const struct bloomery_spool *spool);

/* A walk through the pieces of a heap while nothing is added. `room` is for those of the file.
 * Returns the next one's hashes, or NULL behind the last one or, with an errno in `failed`, if
 * reading fails. */
struct bloomery_walk_pieces {
    const struct bloomery_heap *heap;
    const struct bloomery_piece *piece;
    size_t place;
    int file;
    int failed;
};
void bloomery_spool_walk(const struct bloomery_spool *spool, uint32_t heap,
                         struct bloomery_walk_pieces *walk);
const bloomery_hash *bloomery_spool_next(struct bloomery_walk_pieces *walk,
                                         struct bloomery_piece *room, size_t *count);

#endif
