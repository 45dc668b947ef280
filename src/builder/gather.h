/* SPDX-License-Identifier: Apache-2.0 */
/* Out of a spool: the hashes of a range, sorted and each once, and how many there are at all. */
#ifndef BLOOMERY_BUILDER_GATHER_H
#define BLOOMERY_BUILDER_GATHER_H

#include "builder/spool.h"

/* The x of hashes, both ends included. */
struct bloomery_x_range {
    uint64_t first;
    uint64_t last;
};

/* A thread's memory for hashes. */
struct bloomery_gathered {
    bloomery_hash *hashes;
    size_t room;
    size_t count;
    struct bloomery_piece *piece; /* for those of the file */
};

/* Gathers those of a range. BLOOMERY_FULL if they find no room; BLOOMERY_IO_FAILED. */
bloomery_status bloomery_gather(const struct bloomery_spool *spool, struct bloomery_x_range range,
                                struct bloomery_gathered *gathered, bloomery_error *error);

/* The distinct hashes of one heap, and the same on several times as much memory as there is. A heap
 * that lies in memory is sorted by the way. */
bloomery_status bloomery_gather_count(struct bloomery_spool *spool, uint32_t heap,
                                      struct bloomery_gathered *gathered, uint64_t *count,
                                      bloomery_error *error);

#endif
