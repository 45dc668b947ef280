/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the command `dedupe`: the options, and the objects at work on them. */
#ifndef BLOOMERY_TOOL_DEDUPE_COMMAND_H
#define BLOOMERY_TOOL_DEDUPE_COMMAND_H

#include "command/dedupe/dedupe.h"
#include "filter/text_output.h"

/* The names of enum tool_on_full. */
extern const char *const tool_on_full_names[3];

struct tool_corpus_options;

struct tool_dedupe_command {
    uint64_t keys;   /* 0: not given */
    double rate;     /* 0: not given */
    uint64_t memory; /* 0: not given */
    uint32_t exact;  /* bits; 0: a filter */
    int on_full;     /* -1: not given */
    const char *state, *append, *secret_file;
    bool keyed; /* with a secret of this run, or of the state */
    struct tool_text_output output;
    bool quiet, json;
    struct tool_source source;
    struct tool_rule_choice choice;

    const char **lists; /* against which lines are compared: files of lines */
    size_t list_count;
    const char **againsts; /* all of them, as they were given */
    size_t against_given;

    int lock; /* of the state; -1: none */
    bool state_made;
    struct tool_appended appended;
    /* Of corpora (corpus/corpus.h). */
    struct tool_corpus_options *corpus;
    uint64_t estimated_keys; /* for which a new filter is made without -n; 0: not known */
    double rate_default;     /* without -p; 0: that of lines */
    const char *note;        /* of a new filter; NULL: none */

    uint64_t planned_keys; /* of the filter's first layer; 0: none */
    const char
        *planned_from; /* "option", "sample", "default", "memory" or "state"; NULL: a table */

    double target; /* the rate of a new filter; 0: what came out of its plan */
    struct tool_seen seen;
    struct tool_dedupe dedupe;
};

/* Sorts what lines are compared against into filters, which it opens, and files of lines, with the
 * file to append to before these. False after a message, as all of these. */
bool tool_dedupe_sort_againsts(struct tool_dedupe_command *command);

/* Returns the keys to plan for by a sample with this many distinct keys of `all`. If not all was
 * read they are at least a few, since small layers that follow each other cost more than they
 * save. */
double tool_keys_of_sample(double distinct, double all, bool whole);

/* Makes filter or table, or opens the state, whose lock is then held. */
bool tool_dedupe_prepare(struct tool_dedupe_command *command);

/* Writes the state back, if there is one. */
bool tool_dedupe_save_state(struct tool_dedupe_command *command);

/* Settles by which rule keys are made, after both of them. False after a message. */
bool tool_dedupe_settle_rules(struct tool_dedupe_command *command);

/* Prints the report at the end. Returns `code`, or TOOL_ERROR if it can't be written. */
int tool_dedupe_report(const struct tool_dedupe_command *command, int code);

#endif /* BLOOMERY_TOOL_DEDUPE_COMMAND_H */
