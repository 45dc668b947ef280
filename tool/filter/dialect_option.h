/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Another system, as users name it: NAME[,PARAMETER=VALUE...], such as
 *
 *     guava
 *     guava,variant=mitz32
 *     clickhouse,bytes=1MiB,probes=3,seed=7
 *     leveldb,bits_per_key=10,keys=20M
 *
 * The parameters are the fields of bloomery_dialect_parameters and some short names for them.
 * `bloomery dialects` says which of them a dialect takes, and the library refuses others.
 */
#ifndef BLOOMERY_TOOL_DIALECT_OPTION_H
#define BLOOMERY_TOOL_DIALECT_OPTION_H

#include "base/options.h"

#include <bloomery/dialect.h>

#include <stdbool.h>
#include <stddef.h>

struct tool_dialect_choice {
    char option[16];                 /* "--dialect", for messages; "": not known */
    const bloomery_dialect *dialect; /* NULL: not given */
    bloomery_dialect_parameters parameters;
    bool has_parameters;
    bool ours_too;    /* where there are several filters, some may be our files */
    char variant[64]; /* what parameters.variant points to */
};

/* Reads the value of an option. False after a message. */
bool tool_dialect_option(const char *option, const char *text, struct tool_dialect_choice *choice);

/* The same for a row in a table of options, whose member is a struct tool_dialect_choice. What such
 * a row has for `words`: completions offer the names of all dialects. */
tool_option_call tool_take_dialect;
#define TOOL_DIALECT_WORDS "@dialects"
#define TOOL_DIALECT(structure, member) \
    TOOL_CALL(structure, member, tool_take_dialect), .words = TOOL_DIALECT_WORDS

/* Whether a list of names separated by ", ", such as that of bloomery_dialect.load_takes, has this
 * one. */
bool tool_dialect_list_has(const char *list, const char *name);

/* All names of dialects, separated by ", "; returns `text`. */
enum { TOOL_DIALECT_NAMES_BYTES = 600 };
const char *tool_dialect_names(char text[TOOL_DIALECT_NAMES_BYTES]);

#endif /* BLOOMERY_TOOL_DIALECT_OPTION_H */
