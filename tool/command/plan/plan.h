/* SPDX-License-Identifier: Apache-2.0 */
/* plan: what was asked for, and the rows that answer it, one for each kind and number of blocks. */
#ifndef BLOOMERY_TOOL_COMMAND_PLAN_PLAN_H
#define BLOOMERY_TOOL_COMMAND_PLAN_PLAN_H

#include "command/sieve/sieve_plan.h"

#include <bloomery/bloomery.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The options; 0 if not given. */
struct tool_plan_wish {
    uint64_t keys;
    double rate;
    uint64_t memory;
    bloomery_kind kind;
    uint64_t grow_to;
    uint32_t counter_bits; /* 0: not given */
    double bits_per_key;
    bloomery_plan_options options;
    bool json;
    bool in_use;       /* an option was given that is for plans */
    const char *table; /* NULL: a plan */
    bool sieve;        /* a plan of that instead */
    bool for_filters;  /* an option was given that is for filters alone */
    struct tool_sieve_wish of_sieve;
    bool url;         /* the address of the calculator in place of the table */
    const char *page; /* NULL: the installed one */
};

struct tool_plan_row {
    bloomery_kind kind;
    uint32_t blocks;
    bool solved;
    bool fits;
    bool recommended;
    bloomery_plan plan;
    bloomery_error error; /* why it could not be solved */
};

enum { TOOL_PLAN_ROWS = 11 }; /* at most */

/* Solves for the unknown of the three. If there is none, memory is a limit, not part of the
 * plan. */
bool tool_plan_solve(const struct tool_plan_wish *wish, bloomery_kind kind, uint32_t blocks,
                     bloomery_plan *plan, bloomery_error *error);

/* All wanted rows; `chosen` is the plan that `build` would follow. Returns how many. */
size_t tool_plan_solve_rows(const struct tool_plan_wish *wish, const bloomery_plan *chosen,
                            struct tool_plan_row *rows);

const char *tool_plan_kind_name(const struct tool_plan_row *row);

/* "blocked with 2 blocks", "classic". Returns `name`. */
enum { TOOL_PLAN_NAME_BYTES = 64 };
const char *tool_plan_full_name(char *name, const struct tool_plan_row *row);

/* ---- What if --------------------------------------------------------------------------------- */

/* plan --bits-per-key, plan --probes: the rate of a size and of probes that the user chose. */

/* The keys that a table shows if neither keys nor memory are given: rates hardly depend on them. */
#define TOOL_WHAT_IF_KEYS UINT64_C(1000000)

enum {
    TOOL_WHAT_IF_PROBES = 64,        /* the maximum, of a classic filter */
    TOOL_WHAT_IF_BLOCKED_PROBES = 8, /* in each block */
};

struct tool_what_if {
    uint64_t keys;         /* 0: as many as fit in memory, or TOOL_WHAT_IF_KEYS */
    uint64_t memory;       /* 0: not given */
    double bits_per_key;   /* 0: what memory and keys give */
    double rate;           /* 0: not given */
    bool grows;            /* --grow-to was given */
    uint32_t folds;        /* 0: none */
    uint32_t probes;       /* 0: those with the lowest rate */
    bloomery_kind kind;    /* 0: blocked and classic */
    uint32_t blocks;       /* 0: any */
    uint32_t counter_bits; /* 0: 4 */
    bool json;
};

/* A value of --bits-per-key. False after a message. */
bool tool_option_bits_per_key(const char *text, double *bits_per_key);

/* Whether the options go together; a kind of 0 becomes one that can have these probes. False after
 * a message. */
bool tool_what_if_fits(const struct tool_what_if *wish, bloomery_kind *kind);

/* Prints the table and returns the exit code. */
int tool_what_if(struct tool_what_if wish);

/* ---- Rate tables ----------------------------------------------------------------------------- */

/* plan --table: rates over bits per key and probes. */

/* Prints a table, "classic" or "clickhouse", and returns the exit code: TOOL_ERROR after a message
 * where there is no such table. */
int tool_rate_table(const char *name, bool json);

/* ---- Plan url -------------------------------------------------------------------------------- */

/*
 * plan --url: a plan as the address of the explorer's calculator,
 *
 *     PAGE?n=KEYS&p=RATE&m=BITS&k=PROBES#calculator
 *
 * What was not given is empty, and the calculator computes it. Behind k= come kind=, if it is not
 * the one that `build` makes, and L=, if the blocks per key were given.
 */

/* Whether the address has a place for all that is wanted. False after a message. */
bool tool_plan_url_takes(const struct tool_plan_wish *wish);

/* Prints the address and returns the exit code. */
int tool_plan_url(const struct tool_plan_wish *wish);

#endif /* BLOOMERY_TOOL_COMMAND_PLAN_PLAN_H */
