/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of chunks of input, added to what was seen in the order of the chunks, whatever thread
 * comes with which.
 *
 *     adder = tool_adder_start(seen, &threads);
 *     each thread, for each chunk:
 *         adding.number = chunk.number; adding.count = ...; adding.hashes[...] = ...;
 *         if (!tool_adder_add(adder, &adding))
 *             return;
 *         ... adding.answers, of the first adding.answered keys ...
 *     stopped = tool_adder_end(adder);
 */
#ifndef BLOOMERY_TOOL_ADDER_H
#define BLOOMERY_TOOL_ADDER_H

#include "command/dedupe/seen.h"

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The keys of a chunk. One thread's; begins as zeros. */
struct tool_adding {
    uint64_t number; /* of the chunk: from 0 on, without a gap */
    size_t count;    /* of keys */
    bloomery_hash *hashes;
    uint64_t *answers; /* bit i is set if key i is new */
    size_t room;       /* of hashes; of answers in bits */
    size_t answered;   /* fewer than `count`: what was seen is full, and this is the last chunk */
    bool added;        /* the adder's own */
};

/* Makes room for `more` keys behind the `count` that are there. */
void tool_adding_make_room(struct tool_adding *adding, size_t more);
void tool_adding_free(struct tool_adding *adding);

struct tool_adder;

/* For `threads` threads, of which one may be needed for adding alone: then `threads` becomes the
 * number of those left to come with chunks. Never NULL. */
struct tool_adder *tool_adder_start(struct tool_seen *seen, uint32_t *threads);

/* Adds the keys when all chunks of lower numbers were added; returns when that is done. False if it
 * stopped at an earlier chunk: nothing was added. */
bool tool_adder_add(struct tool_adder *adder, struct tool_adding *adding);

/* Ends it, when no thread is in tool_adder_add. True if what was seen was full, and stopped it. */
bool tool_adder_end(struct tool_adder *adder);

#endif /* BLOOMERY_TOOL_ADDER_H */
