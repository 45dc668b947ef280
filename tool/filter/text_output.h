/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that go to a file: packed, by a thread of its own, whole or not at all. */
#ifndef BLOOMERY_TOOL_TEXT_OUTPUT_H
#define BLOOMERY_TOOL_TEXT_OUTPUT_H

#include "base/out.h"
#include "filter/pack.h"
#include "input/packing.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Text outputs ---------------------------------------------------------------------------- */

/*
 * Lines for the file that -o names. It is written beside itself and renamed when the last line is
 * in it, so it may be an input too, and whatever fails leaves the file as it was.
 *
 *     struct tool_text_output output = {.path = "out.txt.gz", .packs = true};
 *     if (tool_text_output_begin(&output, &out))
 *         code = tool_text_output_finish(&output, &out, run(&out));
 */

struct tool_text_output {
    const char *path; /* NULL or "-": stdout */
    bool packs;       /* lines: a name that ends in .gz, .zst and the like makes them packed so */
    unsigned level;   /* at which they are packed; 0: the usual one */
    int directory;    /* these only between begin and finish */
    int file;
    bool null;  /* the null device, which takes everything */
    bool named; /* under `temporary`; otherwise it has no name yet */
    char target[NAME_MAX + 1];
    char temporary[NAME_MAX + 1];
    char temporary_path[PATH_MAX]; /* to be removed by a signal */
    struct tool_pack *pack;        /* NULL: the bytes go to the file as they are */
    struct tool_out *packed;       /* into which it packs */
};

/* Whether the name of a file says that it is compressed: ".gz", ".zst" and the like. */
bool tool_path_is_packed(const char *path);

/* Whether it is a file rather than stdout. */
bool tool_text_output_is_file(const struct tool_text_output *output);

/* For commands with --force, where it was not given: returns whether nothing would be lost.
 * tool_text_output_begin judges files that are not regular. False after a message. */
bool tool_text_output_is_new(const struct tool_text_output *output);

/* Makes the new file, and `out` write to it. A file that is a filter is not replaced: -o of other
 * commands names filters. False after a message. */
bool tool_text_output_begin(struct tool_text_output *output, struct tool_out *out);

/* Writes out what is buffered; then the file has the new content, unless `code` is TOOL_ERROR.
 * Returns `code`, or TOOL_ERROR after a message. */
int tool_text_output_finish(struct tool_text_output *output, struct tool_out *out, int code);

/* Instead of finishing it, and without a message: the file is as before. */
void tool_text_output_drop(struct tool_text_output *output);

/* ---- Packed outputs -------------------------------------------------------------------------- */

/*
 * A file in a directory of outputs, packed as wanted, and written whole or not at all. Packing is
 * the work of a thread of its own. One output is open at a time, and written by one thread at a
 * time.
 *
 *     struct tool_packed_output *output = tool_packed_output_open("out", "a.jsonl.gz", form);
 *     while (... && tool_packed_output_write(output, line, bytes))
 *         ...
 *     written = tool_packed_output_finish(output, &bytes_written);
 */

struct tool_packed_output;

/* Opens DIRECTORY/NAME for writing, in a directory that exists. A file of that name is replaced
 * when everything is written, and keeps its mode. Refuses files that are not regular, filters, and
 * packing or levels that tool_pack_makes does not have. NULL after a message. */
struct tool_packed_output *tool_packed_output_open(const char *directory, const char *name,
                                                   struct tool_pack_form form);

/* The bytes are copied. False once anything has failed, after one message. */
bool tool_packed_output_write(struct tool_packed_output *output, const void *data, size_t bytes);

/* Packs the end, and then the file has the name and lies on the disk. `bytes_written` (may be
 * NULL): the bytes of the file. Frees the output in any case. False after a message (that of a
 * failed write is not repeated); then the file is as before. */
bool tool_packed_output_finish(struct tool_packed_output *output, uint64_t *bytes_written);

/* Frees the output; the file is as before. */
void tool_packed_output_drop(struct tool_packed_output *output);

#endif /* BLOOMERY_TOOL_TEXT_OUTPUT_H */
