/* SPDX-License-Identifier: Apache-2.0 */
#include "base/progress.h"

#include "base/numbers.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

enum when { AUTO, ALWAYS, NEVER };
static enum when when;

bool tool_progress_take(const char *option, const char *text, void *at)
{
    (void)at; /* all of a run shows it, or nothing */
    static const char *const names[] = {"auto", "always", "never"};
    for (int i = 0; i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            when = (enum when)i;
            return true;
        }
    return !tool_usage("%s is auto, always or never, not '%s'", option, text);
}

bool tool_progress_is_shown(bool silent)
{
    return when == ALWAYS || (when == AUTO && !silent);
}

bool tool_progress_is_in_the_way(bool lines)
{
    struct stat facts;
    return (lines && isatty(STDOUT_FILENO) == 1) ||
           (fstat(STDOUT_FILENO, &facts) == 0 && S_ISFIFO(facts.st_mode));
}

void tool_progress_start(struct tool_progress *progress, const char *verb, bool quiet)
{
    const char *terminal = getenv("TERM");
    progress->verb = verb;
    progress->active =
        !quiet && tool_progress_is_shown(terminal == NULL || strcmp(terminal, "dumb") == 0 ||
                                         isatty(STDERR_FILENO) != 1);
    progress->start = progress->active ? now() : 0;
    progress->next = progress->start + FIRST_AFTER;
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
    char count[TOOL_NUMBER_BYTES], rate[TOOL_NUMBER_BYTES], left[TOOL_NUMBER_BYTES];
    const double taken = time - progress->start,
                 share = part < whole ? (double)part / (double)whole : 1;
    tool_format_count(count, done);
    tool_format_count(rate, (uint64_t)((double)done / taken));
    /* Back to the first column, the text, and the rest of the line wiped. */
    fprintf(stderr, "\r%s: %s keys", progress->verb, count);
    if (whole > 0)
        fprintf(stderr, ", %.0f %%", 100 * share);
    fprintf(stderr, ", %s a second", rate);
    if (whole > 0 && share > 0)
        fprintf(stderr, ", %s left", tool_format_duration(left, taken * (1 / share - 1)));
    fputs("\x1b[K", stderr);
}

void tool_progress_stop(struct tool_progress *progress)
{
    tool_status_line_wipe();
    progress->active = false;
}
