/* SPDX-License-Identifier: Apache-2.0 */
/* plan: what was asked for, and the rows that answer it, one for each kind and number of blocks. */
#ifndef BLOOMERY_TOOL_PLAN_ROWS_H
#define BLOOMERY_TOOL_PLAN_ROWS_H

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

#endif /* BLOOMERY_TOOL_PLAN_ROWS_H */
