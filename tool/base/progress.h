/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line on stderr that says how far a long job has come: only on a terminal, only after half a
 * second, at most ten times a second. Elsewhere these functions do nothing.
 */
#ifndef BLOOMERY_TOOL_PROGRESS_H
#define BLOOMERY_TOOL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct tool_progress {
    const char *verb; /* "adding" */
    bool active;      /* stderr is a terminal and the job is not quiet */
    double next;      /* when to write next, in seconds of the monotonic clock */
};

void tool_progress_start(struct tool_progress *progress, const char *verb, bool quiet);

/* `done` is a number of keys; `part` and `whole` are anything of which the percentage is shown
 * (bytes read, keys), whole = 0: unknown. Call it about once per batch. */
void tool_progress_update(struct tool_progress *progress, uint64_t done, uint64_t part,
                          uint64_t whole);

/* Wipes the line and writes no more. */
void tool_progress_stop(struct tool_progress *progress);

#endif /* BLOOMERY_TOOL_PROGRESS_H */
