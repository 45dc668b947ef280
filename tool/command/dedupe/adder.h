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
#ifndef BLOOMERY_TOOL_DEDUPE_ADDER_H
#define BLOOMERY_TOOL_DEDUPE_ADDER_H

#include "units/seen.h"

#include <stdbool.h>
#include <stdint.h>

struct tool_adder;

/* For `threads` threads, of which one may be needed for adding alone: then `threads` becomes the
 * number of those left to come with chunks. Never NULL. */
struct tool_adder *tool_adder_start(struct tool_seen *seen, uint32_t *threads);

/* Adds the keys when all chunks of lower numbers were added; returns when that is done. False if it
 * stopped at an earlier chunk: nothing was added. */
bool tool_adder_add(struct tool_adder *adder, struct tool_adding *adding);

/* Ends it, when no thread is in tool_adder_add. True if what was seen was full, and stopped it. */
bool tool_adder_end(struct tool_adder *adder);

/* ---- Messages -------------------------------------------------------------------------------- */

/* Prints the warnings: for tool_seen.tell. */
void tool_seen_tell(const struct tool_seen *seen, enum tool_seen_news news);

/* Prints the error that it is full, and its state after `lines` lines, of which `kept` were
 * kept. */
void tool_seen_say_full(const struct tool_seen *seen, uint64_t lines, uint64_t kept);

#endif /* BLOOMERY_TOOL_DEDUPE_ADDER_H */
