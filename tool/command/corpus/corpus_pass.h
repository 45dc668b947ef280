/* SPDX-License-Identifier: Apache-2.0 */
/* One way through documents, by several threads: judged in the order of the input, and written. */
#ifndef BLOOMERY_TOOL_CORPUS_PASS_H
#define BLOOMERY_TOOL_CORPUS_PASS_H

#include "command/corpus/documents.h"
#include "command/dedupe/seen.h"

struct tool_corpus_pass {
    const struct tool_judge *judge;
    struct tool_seen *seen;
    bool
        learns; /* documents were judged in an earlier run: their keys are added, and that is all */
    bool silent; /* no progress line */

    /* Called with what stays, in order; false ends the pass. */
    bool (*write)(void *context, const void *data, size_t bytes);
    void *context;

    /* The results, added to what is there. */
    struct tool_corpus_counts counts;
    struct tool_tally tally;
    uint64_t texts;   /* documents with a text, of all passes */
    uint64_t clashes; /* of these, those that have the member that --annotate would add */
    bool stopped;     /* what was seen is full */
    bool failed;      /* `write` returned false */
};

/* False if an input could not be read (the messages have been printed), if it stopped or failed. */
bool tool_corpus_pass_run(struct tool_corpus_pass *pass, const struct tool_source *source);

#endif /* BLOOMERY_TOOL_CORPUS_PASS_H */
