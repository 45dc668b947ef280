/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries filters for many lines with several threads, and prints lines in the order of the input.
 * query_run.c holds the essay.
 */
#ifndef BLOOMERY_TOOL_COMMAND_QUERY_QUERY_H
#define BLOOMERY_TOOL_COMMAND_QUERY_QUERY_H

#include "base/out.h"
#include "input/input.h"
#include "key/rule.h"
#include "key/wrong_form.h"

#include <bloomery/bloomery.h>
#include <bloomery/dialect.h>
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

/* ---- Confirm --------------------------------------------------------------------------------- */

/*
 * A sorted file of keys, which is exact; a filter has a false-positive rate. The file stays on disk
 * and is mapped; the filter keeps most queries away from it.
 */

struct tool_confirm;

/* Opens a file of lines that end in `delimiter`, in the order of their bytes, or of their keys by
 * each of the rules. What its lines look like decides how they are compared with keys. NULL after a
 * message: also if it is packed, no file, or is seen to be out of order. Warns if its first line
 * begins with a byte order mark: no key is such a line. */
struct tool_confirm *tool_confirm_open(const char *path, unsigned char delimiter,
                                       const bloomery_key_rule *rules, size_t count);

/*
 * Whether a line of the file has this key, by rule number `rule`. `key`: as it is before the steps
 * hex, int64, int32 and utf16. A line is the key itself, or has it where the rule says. A carriage
 * return at its end does not matter. If the rule changes case or reads hexadecimal digits, the key
 * is found in lower and in upper case. Any number of threads.
 */
bool tool_confirm_has(struct tool_confirm *confirm, size_t rule, bloomery_key key);

/* Whether no search so far has come upon lines out of order. If one has, answers mean nothing. */
bool tool_confirm_is_sorted(const struct tool_confirm *confirm);

/* Prints the message of that. */
void tool_confirm_say_unsorted(const struct tool_confirm *confirm);

/* NULL is fine. */
void tool_confirm_close(struct tool_confirm *confirm);

#endif /* BLOOMERY_TOOL_COMMAND_QUERY_QUERY_H */
