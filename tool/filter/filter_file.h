/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters as files, our own and other systems': finding the sort of a file, reading it, writing it
 * back. filter_file.c says how it is found. All functions print their own message before they
 * report failure, but for tool_filter_load.
 */
#ifndef BLOOMERY_TOOL_FILTER_FILTER_FILE_H
#define BLOOMERY_TOOL_FILTER_FILTER_FILE_H
#include "base/options.h"
#include "base/report.h"
#include "filter/dialect_option.h"
#include "filter/files.h"

#include <bloomery/dialect.h>

#include <stdbool.h>
#include <stdint.h>

/* The origin of a filter. */
struct tool_origin {
    const bloomery_dialect *dialect; /* whose file it is; NULL: ours, or nobody's */
    bool ours;                       /* it begins with our magic */
    bool packed;                     /* it is compressed */
    uint64_t bytes;                  /* of the file as it is; our filters know it themselves */
};

/* A file that was opened, once: nothing that is given it looks at its path again. */
struct tool_filter_file {
    const char *path;
    int descriptor; /* -1: it can't be opened */
    int reason;     /* why not, an errno */
    struct tool_origin origin;
    /* Our own filter is read into memory, in huge pages, instead of mapped, if that can be done
     * and its checksums agree. The opener sets it. */
    bool in_memory;
};

/*
 * Opens a file and finds its system: ours; the dialect that was `chosen` (NULL, or without a
 * dialect: none was); or one with the magic of another system. Any other file counts as ours:
 * tool_filter_load says what is wrong, also if it could not be opened. False if it is a pipe or
 * standard input.
 */
bool tool_filter_file_open(struct tool_filter_file *file, const char *path,
                           const struct tool_dialect_choice *chosen);
/* The same of a file that is open, at its beginning or not, and stays open: of the lock on it. */
bool tool_filter_file_held(struct tool_filter_file *file, const char *path, int descriptor,
                           const struct tool_dialect_choice *chosen);
/* Standard input, as a filter of this dialect. */
void tool_filter_file_stdin(struct tool_filter_file *file, const bloomery_dialect *dialect);
void tool_filter_file_close(struct tool_filter_file *file);

/* The filter in it. A Bloomery file is mapped and watched, or read if a `copy` is to receive
 * it; others are read whole and unpacked. `options` has, for another system's, the
 * key rule and the note. NULL with the reason in `error`, or after a message if `error->status` is
 * BLOOMERY_OK. */
const bloomery_filter *tool_filter_load(const struct tool_filter_file *file,
                                        const bloomery_open_options *options,
                                        const struct tool_dialect_choice *chosen,
                                        bloomery_filter **copy, bloomery_error *error);

/* Returns whether the user's choice agrees with our file, which knows its dialect. */
bool tool_origin_agrees(const char *path, const struct tool_dialect_choice *chosen,
                        const bloomery_filter *filter);

/* The same with the secret of `secret_file`, which may be NULL. `copy` may be NULL. NULL after a
 * message. */
const bloomery_filter *tool_filter_open_file(const struct tool_filter_file *file,
                                             bloomery_open_options options, const char *secret_file,
                                             const struct tool_dialect_choice *chosen,
                                             bloomery_filter **copy);

/* And the opening, for queries. `origin` may be NULL. */
const bloomery_filter *tool_filter_open_any(const char *path, bloomery_open_options options,
                                            const char *secret_file,
                                            const struct tool_dialect_choice *chosen,
                                            struct tool_origin *origin);

/* Prints, as a second line, what to do about a file that is not our filter, if opening it failed
 * with `status`. The line says what the file looks like, and names the `option` for other systems'
 * files; NULL: the command has none. Prints nothing if the status says something else, or if the
 * file begins as ours do. */
void tool_foreign_hint(const struct tool_filter_file *file, const char *option,
                       bloomery_status status);

/* After a file could not be read as the dialect that was chosen: what it looks like, if that is
 * something else. */
void tool_foreign_hint_other(const struct tool_filter_file *file,
                             const struct tool_dialect_choice *chosen);

/* Writes the dialect's own bytes to a file, as a whole or not at all, or to stdout if it is "-".
 * `bytes` receives their number, if not NULL. */
bool tool_foreign_write(const bloomery_filter *filter, const bloomery_dialect *dialect,
                        const char *path, uint64_t *bytes);

/* Whether the file is just what this filter, which was loaded from it, would be written as. If it
 * is one of several in a file, or something else that is not kept went with it, writing it back
 * would lose the rest. */
bool tool_foreign_is_whole(const struct tool_filter_file *file, const bloomery_filter *filter,
                           const bloomery_dialect *dialect);

/*
 * How --dialect names a file that was written: "clickhouse,probes=5,seed=7". It has what the file
 * does not say and what is not the default, of the filter in it. True if that is more than the
 * name.
 */
enum { TOOL_READING_BYTES = 200 };
bool tool_foreign_reading(const bloomery_filter *filter, const bloomery_dialect *dialect,
                          char text[TOOL_READING_BYTES]);

/* Says so. */
void tool_foreign_say_reading(const bloomery_filter *filter, const bloomery_dialect *dialect);

/* "note: " and what the library remarks of a filter, on stderr. */
void tool_remarks_say(const char *path, const bloomery_filter *filter);

/* The same as a list of a report, and as facts of its text if they have a label. */
void tool_remarks_add(struct tool_report *report, const char *name, const char *label,
                      const bloomery_filter *filter);

/* ---- The filter that a command writes -------------------------------------------------------- */

/*
 * Filters made of filters, on their way to the file that -o names: the same rules for all commands
 * that make one. The file may be that of an input, so it is locked before the inputs are opened, as
 * `add` does it. Two commands that change it then lose nothing.
 */

struct tool_output {
    const char *path;                /* "-": stdout */
    const bloomery_dialect *dialect; /* whose file it is to be; NULL: ours */
    bool force, quiet, json;
    int lock; /* -1: none */
};

/* The rows of --force, --quiet and --json in a table of options. */
#define TOOL_OUTPUT_ROWS(structure, member)               \
    {.name = "force",                                     \
     TOOL_FLAG(structure, member.force),                  \
     .help = "overwrite OUT even if it is not a filter"}, \
        {.letter = 'q',                                   \
         .name = "quiet",                                 \
         TOOL_FLAG(structure, member.quiet),              \
         .help = "print no report of what was written"},  \
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
void tool_output_report(struct tool_report *report, const struct tool_output *output,
                        const struct tool_facts *facts);

#endif /* BLOOMERY_TOOL_FILTER_FILTER_FILE_H */
