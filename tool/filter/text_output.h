/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines for the file that -o names. It is written beside itself and renamed when the last line is
 * in it, so it may be an input too, and whatever fails leaves the file as it was.
 *
 *     struct tool_text_output output = {.path = "out.txt.gz", .packs = true};
 *     if (tool_text_output_begin(&output, &out))
 *         code = tool_text_output_finish(&output, &out, run(&out));
 */
#ifndef BLOOMERY_TOOL_TEXT_OUTPUT_H
#define BLOOMERY_TOOL_TEXT_OUTPUT_H

#include "base/out.h"

#include <limits.h>
#include <stdbool.h>

struct tool_text_output {
    const char *path; /* NULL or "-": stdout */
    bool packs;       /* lines: a name that ends in .gz, .zst and the like makes them packed so */
    int directory;    /* these only between begin and finish */
    int file;
    bool named; /* under `temporary`; otherwise it has no name yet */
    char target[NAME_MAX + 1];
    char temporary[NAME_MAX + 1];
    char temporary_path[PATH_MAX]; /* to be removed by a signal */
    struct tool_pack *pack;        /* NULL: the bytes go to the file as they are */
    struct tool_out *packed;       /* into which it packs */
};

/* Whether it is a file rather than stdout. */
bool tool_text_output_is_file(const struct tool_text_output *output);

/* For commands with --force, where it was not given: whether nothing would be lost. What is no
 * regular file is left to tool_text_output_begin. False after a message. */
bool tool_text_output_is_new(const struct tool_text_output *output);

/* Makes the new file, and `out` write to it. A file that is a filter is not replaced: -o of other
 * commands names filters. False after a message. */
bool tool_text_output_begin(struct tool_text_output *output, struct tool_out *out);

/* Writes out what is buffered; then the file has the new content, unless `code` is TOOL_ERROR.
 * Returns `code`, or TOOL_ERROR after a message. */
int tool_text_output_finish(struct tool_text_output *output, struct tool_out *out, int code);

/* Instead of finishing it, and without a message: the file is as before. */
void tool_text_output_drop(struct tool_text_output *output);

#endif /* BLOOMERY_TOOL_TEXT_OUTPUT_H */
