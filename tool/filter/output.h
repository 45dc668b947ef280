/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters made of filters, on their way to the file that -o names: the same rules for all commands
 * that make one. The file may be that of an input, so it is locked before the inputs are opened, as
 * `add` does it. Two commands that change it then lose nothing.
 */
#ifndef BLOOMERY_TOOL_OUTPUT_H
#define BLOOMERY_TOOL_OUTPUT_H

#include "base/options.h"
#include "base/report.h"
#include "filter/facts.h"

#include <bloomery/dialect.h>

#include <jansson.h>
#include <stdbool.h>

struct tool_output {
    const char *path;                /* "-": stdout */
    const bloomery_dialect *dialect; /* whose file it is to be; NULL: ours */
    bool force, quiet, json;
    int lock; /* -1: none */
};

/* The rows of --force, --quiet and --json in a table of options. */
#define TOOL_OUTPUT_ROWS(structure, member)            \
    {.name = "force",                                  \
     TOOL_FLAG(structure, member.force),               \
     .help = "overwrite OUT even if it is no filter"}, \
        {.letter = 'q',                                \
         .name = "quiet",                              \
         TOOL_FLAG(structure, member.quiet),           \
         .help = "do not report what was written"},    \
        TOOL_JSON_ROW(structure, member.json)

/* Whether a filter may be written there, as far as can be said before anything is read; locks what
 * stands there. False after a message. tool_output_end opens the lock, in either case. */
bool tool_output_begin(struct tool_output *output);
void tool_output_end(struct tool_output *output);

/* Warns of a name such as "x.gz": filters are never compressed. tool_output_begin does so. */
void tool_output_warn_of_name(const char *path);

/* Whether it is stdout, and what messages call it. */
bool tool_output_is_stdout(const struct tool_output *output);
const char *tool_output_said(const struct tool_output *output);

/* Writes a filter that is in memory; `bytes`, where not NULL, becomes their number. False after a
 * message. */
bool tool_output_write(const struct tool_output *output, const bloomery_filter *filter,
                       uint64_t *bytes);

/* The current content of the file: from `filter`, or if that is NULL from the file. False
 * after a message. */
bool tool_output_look(const struct tool_output *output, const bloomery_filter *filter,
                      struct tool_facts *facts);

/* The facts of a filter that was written, by the names `inspect` has for them. */
void tool_output_add_facts(json_t *report, const struct tool_output *output,
                           const struct tool_facts *facts);
void tool_output_report(struct tool_report *report, const struct tool_output *output,
                        const struct tool_facts *facts);

#endif /* BLOOMERY_TOOL_OUTPUT_H */
