/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line on stderr that says how far a long job has come, how fast it is, and how long the rest
 * will take: only on a terminal unless --progress says otherwise, only after half a second, at most
 * ten times a second. Elsewhere these functions do nothing.
 *
 *     querying: 4,589,000 keys, 23 %, 9,120,000 a second, 2 s left
 */
#ifndef BLOOMERY_TOOL_PROGRESS_H
#define BLOOMERY_TOOL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* The row of --progress in a table of options. */
#define TOOL_PROGRESS_ROW                                                               \
    {                                                                                   \
        .name = "progress", .argument = "WHEN", .words = "always|never|auto",           \
        .type = TOOL_TYPE_CALL, .call = tool_progress_take,                             \
        .help = "show progress, speed and time left on standard error (default auto). " \
                "With auto they are shown on a terminal, unless lines are printed to "  \
                "it or into a pipe"                                                     \
    }

/* Takes its value. False after a message. */
bool tool_progress_take(const char *option, const char *text, void *at);

/* Whether a job shows its progress that does not by itself, if `silent`: --progress decides. */
bool tool_progress_is_shown(bool silent);

/* Whether a progress line would be drawn over what stdout gets: `lines` on a terminal, or anything
 * by a pipe, whose reader may draw on the terminal. */
bool tool_progress_is_in_the_way(bool lines);

struct tool_progress {
    const char *verb; /* "adding" */
    bool active;      /* stderr is a terminal and the job is not quiet */
    double start;
    double next; /* when to write next, in seconds of the monotonic clock */
};

void tool_progress_start(struct tool_progress *progress, const char *verb, bool quiet);

/* `done` is a number of keys; `part` and `whole` are anything of which the percentage is shown
 * (bytes read, keys), whole = 0: unknown. Call it about once per batch. */
void tool_progress_update(struct tool_progress *progress, uint64_t done, uint64_t part,
                          uint64_t whole);

/* Wipes the line and writes no more. */
void tool_progress_stop(struct tool_progress *progress);

#endif /* BLOOMERY_TOOL_PROGRESS_H */
