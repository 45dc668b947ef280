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

#include <bloomery/builder.h>

#include "builder/spool.h"
#include "core/shape.h"

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

/* Uses up the spool, which it ends in any case. On failure there are no layers. */
bloomery_status bloomery_assemble(struct bloomery_assembly *assembly, struct bloomery_spool *spool,
                                  bloomery_error *error);

/* Releases the layers in memory. */
void bloomery_assembly_free(struct bloomery_assembly *assembly);

#endif
