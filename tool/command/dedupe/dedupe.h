/* SPDX-License-Identifier: Apache-2.0 */
/* The first occurrences of the records of inputs, in order, by several threads. */
#ifndef BLOOMERY_TOOL_DEDUPE_H
#define BLOOMERY_TOOL_DEDUPE_H

#include "base/out.h"
#include "command/dedupe/locked_append.h"
#include "command/dedupe/seen.h"
#include "input/input.h"
#include "key/rule.h"

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A filter whose keys are dropped. Nothing is added to it. */
struct tool_against {
    const char *path;
    const bloomery_filter *filter;
    bloomery_key_rule rule; /* by which its keys are made */
};

struct tool_dedupe {
    struct tool_seen *seen;
    bloomery_key_rule rule;
    struct tool_against *against;
    size_t against_count;
    bool invert;                            /* the dropped records are printed, not the kept ones */
    bool count_only;                        /* nothing is printed */
    bool silent;                            /* no progress line while lines are printed */
    bool may_stop;                          /* if it is full; later inputs then get no messages */
    const struct tool_interrupt *interrupt; /* ends the reading; NULL: nothing does */
    struct tool_appended *appended;         /* kept records go here too; NULL: nowhere */

    /* The results for records that were not only learned. */
    uint64_t lines, kept, dropped;
    uint64_t without_key; /* of the kept ones */
    struct tool_tally tally;
    bool stopped; /* what was seen is full: see seen.h */
    bool append_failed;
    struct tool_out out;
};

/* Takes all records of a source for seen, and prints nothing. False if an input could not be read
 * (the messages have been printed), or if it stopped. */
bool tool_dedupe_learn(struct tool_dedupe *dedupe, const struct tool_source *source);

/* Prints the first occurrences, and adds them. False as above, or if something could not be
 * written: out, append_failed. */
bool tool_dedupe_run(struct tool_dedupe *dedupe, const struct tool_source *source);

#endif /* BLOOMERY_TOOL_DEDUPE_H */
