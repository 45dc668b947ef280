/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input as keys: records ended by a newline (or by NUL), handed out in batches that point into the
 * reading buffer. lines.c holds the essay.
 *
 *     struct tool_lines *lines = tool_lines_open(&source);
 *     while ((count = tool_lines_next(lines, &keys)) > 0)
 *         bloomery_add_batch(filter, keys, count, answers, NULL);
 *     failed = tool_lines_close(lines);
 */
#ifndef BLOOMERY_TOOL_LINES_H
#define BLOOMERY_TOOL_LINES_H

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most keys in a batch: a multiple of 64, and the length of answer arrays follows from it. */
enum {
    TOOL_BATCH_KEYS = 4096,
    TOOL_BATCH_WORDS = TOOL_BATCH_KEYS / 64,
};

/* Where keys come from. */
struct tool_source {
    char *const *paths;      /* files; "-" is stdin. They are read one after the other */
    size_t count;            /* 0: stdin alone */
    unsigned char delimiter; /* ends a record: '\n' or 0 */
    bool keep_going;         /* an input that fails is reported and the next one is read; otherwise
                                the first failure ends the input */
    bool unwarned;           /* no warnings about the inputs, as in a pass that only counts */
};

struct tool_lines;

/* Opens nothing yet; `source` and its paths must stay until tool_lines_close. Never NULL. */
struct tool_lines *tool_lines_open(const struct tool_source *source);

/*
 * The next 1 to TOOL_BATCH_KEYS keys, 0 at the end. They are valid until the next call. The byte
 * after each key is the delimiter, also after a last record that has none in the input, and the
 * next key of the batch begins right behind it: any run of them can be written out as one span.
 */
size_t tool_lines_next(struct tool_lines *lines, const bloomery_key **keys);

/* Records handed out so far, and bytes read of the files (before unpacking). */
uint64_t tool_lines_records(const struct tool_lines *lines);
uint64_t tool_lines_bytes(const struct tool_lines *lines);

/* Releases everything. True where all inputs were read to their end; otherwise the messages have
 * been printed. */
bool tool_lines_close(struct tool_lines *lines);

/* How many records the source holds, read in a pass of its own. False after a printed message: on
 * failure, or where the source can't be read twice (stdin, a pipe); `why_pipe`, if not NULL, is
 * then the hint that is printed after the input's name. */
bool tool_lines_count(const struct tool_source *source, const char *why_pipe, bool quiet,
                      uint64_t *records);

/* The bytes of all inputs as far as they are regular files, for progress; 0 where one is not. */
uint64_t tool_lines_total(const struct tool_source *source);

/* Adds all records to a filter, which messages call `name`, with progress ("adding") unless quiet.
 * False after a printed message; the filter may then hold some of them. `new_keys`: those that were
 * surely not in it. */
bool tool_lines_add(const struct tool_source *source, bloomery_filter *filter, const char *name,
                    const char *verb, bool quiet, uint64_t *records, uint64_t *new_keys);

#endif /* BLOOMERY_TOOL_LINES_H */
