/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From hashes to the layers of a static filter:
 *
 *     spool of layer 0 ─> sort, drop repeats ─> sections, solved by threads ─> memory or a file
 *                                                   └─ bumped ─> spool of layer 1 ─> ...
 *
 * The same set of hashes makes the same bytes, whatever the order, the threads and the memory.
 */
#ifndef BLOOMERY_BUILDER_ASSEMBLE_H
#define BLOOMERY_BUILDER_ASSEMBLE_H

#include "builder/spool.h"
#include "kinds/shape.h"

#include <bloomery/builder.h>

struct bloomery_assembly {
    const bloomery_allocator *allocator;
    uint64_t memory; /* for all that is not the filter itself */
    uint32_t threads;
    bool unchecked;
    double rate;
    bloomery_progress progress; /* or NULL */
    void *progress_context;
    int file; /* where the payload goes; -1: memory */

    /* What comes out; layers' offsets lie one behind the other. In memory each has its own. */
    struct bloomery_layer layers[BLOOMERY_CHAIN_MAX];
    uint32_t layer_count;
    uint64_t payload_bytes;
};

/* Uses up the spool, and ends it in any case. On failure the assembly has no layers. */
bloomery_status bloomery_assemble(struct bloomery_assembly *assembly, struct bloomery_spool *spool,
                                  bloomery_error *error);

/* Releases the layers in memory. */
void bloomery_assembly_free(struct bloomery_assembly *assembly);

/* ---- Gathering a section's keys -------------------------------------------------------------- */

/* Out of a spool: the hashes of a range, sorted and each once, and how many there are at all. */

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

#endif /* BLOOMERY_BUILDER_ASSEMBLE_H */
