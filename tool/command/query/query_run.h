/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries filters for many lines with several threads, and prints lines in the order of the input.
 * query_run.c holds the essay.
 */
#ifndef BLOOMERY_TOOL_QUERY_RUN_H
#define BLOOMERY_TOOL_QUERY_RUN_H

#include "base/out.h"
#include "command/query/confirm.h"
#include "input/input.h"
#include "key/rule.h"
#include "key/wrong_form.h"

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A filter that is queried. */
struct tool_queried {
    const char *name;
    const bloomery_filter *filter;
    size_t rule;       /* its rule, of those of the question */
    uint64_t hits;     /* keys that may be in it (and are confirmed), so far */
    uint64_t rejected; /* keys that may be in it and are not confirmed */
};

struct tool_question {
    struct tool_queried *filters;
    size_t filter_count;
    bloomery_key_rule *rules; /* different ones, at least one */
    size_t rule_count;
    struct tool_confirm *confirm; /* keys in a filter must be in here too; NULL: nothing */
    struct tool_hint *hint;       /* keeps the first keys by the first rule; NULL: it need not */
    unsigned char delimiter;
    bool invert;          /* keys that are definitely in none of the filters are selected */
    bool count_only;      /* nothing is printed */
    bool quiet;           /* nor this, and the first selected key ends it */
    bool with_filename;   /* printed with the filter's name, for each filter that may have it */
    bool counts;          /* printed behind how often the one filter has the line */
    uint32_t counter_max; /* the maximum of a count */

    /* As grep has them. All but the names of inputs need a source of one thread. */
    bool input_names;  /* printed behind the name of its input; with count_only, a count of each */
    bool line_numbers; /* and behind its number there, from 1 on */
    bool list_inputs;  /* instead of the first selected line of an input, its name */
    uint64_t most;     /* lines selected of an input, whose rest is left; 0: all */

    bool silent; /* no progress line */

    /* The results so far. */
    struct tool_tally *tallies; /* of each rule */
    uint64_t queried;           /* records with a key by any of the rules */
    uint64_t passed_over;       /* those without */
    uint64_t selected;
    struct tool_out out;
};

/* Queries keys that are C strings; of the rules trim, case and hex apply. False if no more need to
 * be queried. */
bool tool_query_keys(struct tool_question *question, const char *const *keys, size_t count);

/* Queries all records of a source, whose delimiter is the question's. False if an input could not
 * be read to its end; the messages have been printed. No message has been printed for the tallies,
 * nor that the confirming file is out of order, which ends it early. */
bool tool_query_source(struct tool_question *question, const struct tool_source *source);

#endif /* BLOOMERY_TOOL_QUERY_RUN_H */
