/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run over a directory of outputs has done, so that a later one can go on. journal.c has the
 * lines. One process at a time: the journal is locked.
 */
#ifndef BLOOMERY_TOOL_JOURNAL_H
#define BLOOMERY_TOOL_JOURNAL_H

#include "command/corpus/documents.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOOL_JOURNAL_NAME    ".bloomery-dedupe"
#define TOOL_CHECKPOINT_NAME ".bloomery-dedupe.filter"

/* An input whose output is written. */
struct tool_journal_input {
    char *path;
    uint64_t bytes;
    int64_t modified; /* nanoseconds since 1970 */
};

struct tool_journal {
    int file; /* -1: not open */
    char *path, *checkpoint_path;
    bool resumed; /* it was there before */
    bool whole;   /* the run that it is of came to its end */

    struct tool_journal_input *done; /* in the order in which they were judged */
    size_t done_count, done_room;
    size_t checkpoint; /* of these, those that the saved filter has; 0: there is none */
    char **begun;      /* outputs that may be there without being done */
    size_t begun_count;
    struct tool_corpus_counts counts; /* of the done ones */
    double wrong; /* and the removals among theirs that are expected to be wrong */
};

/* Opens the journal of a directory, which is made if it does not exist. `options`: a line of what
 * must be the same in all runs. False after a message, as all of these. */
bool tool_journal_open(struct tool_journal *journal, const char *directory, const char *options);
void tool_journal_close(struct tool_journal *journal);

/* Whether an input's output is written. `changed` is set if the input is not as it was then. */
bool tool_journal_has(const struct tool_journal *journal, const char *path, bool *changed);

/* Whether an output of this input may have been left by an earlier run. */
bool tool_journal_has_begun(const struct tool_journal *journal, const char *path);

/* Before an output takes its name, after that, when the filter was saved at checkpoint_path, and
 * when all is done. */
bool tool_journal_begin(struct tool_journal *journal, const char *path);
bool tool_journal_done(struct tool_journal *journal, const char *path,
                       const struct tool_corpus_counts *counts, double wrong);
bool tool_journal_checkpoint(struct tool_journal *journal);
bool tool_journal_end(struct tool_journal *journal);

#endif /* BLOOMERY_TOOL_JOURNAL_H */
