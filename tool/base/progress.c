/* SPDX-License-Identifier: Apache-2.0 */
#include "base/progress.h"

#include "base/numbers.h"
#include "base/status_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_AFTER 0.5 /* seconds: short jobs stay silent */
#define BETWEEN     0.1

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void tool_progress_start(struct tool_progress *progress, const char *verb, bool quiet)
{
    const char *terminal = getenv("TERM");
    progress->verb = verb;
    progress->active =
        !quiet && terminal != NULL && strcmp(terminal, "dumb") != 0 && isatty(STDERR_FILENO) == 1;
    progress->next = progress->active ? now() + FIRST_AFTER : 0;
}

void tool_progress_update(struct tool_progress *progress, uint64_t done, uint64_t part,
                          uint64_t whole)
{
    if (!progress->active)
        return;
    double time = now();
    if (time < progress->next)
        return;
    progress->next = time + BETWEEN;
    tool_status_line_begin();
    char count[TOOL_NUMBER_BYTES];
    tool_format_count(count, done);
    /* Back to the first column, the text, and the rest of the line wiped. */
    if (whole > 0)
        fprintf(stderr, "\r%s: %s keys, %.0f %%\x1b[K", progress->verb, count,
                100.0 * (double)(part < whole ? part : whole) / (double)whole);
    else
        fprintf(stderr, "\r%s: %s keys\x1b[K", progress->verb, count);
}

void tool_progress_stop(struct tool_progress *progress)
{
    tool_status_line_wipe();
    progress->active = false;
}
