/* SPDX-License-Identifier: Apache-2.0 */
/* plan --dialect: what filters of other systems would be, and their real rates. */
#ifndef BLOOMERY_TOOL_PLAN_DIALECTS_H
#define BLOOMERY_TOOL_PLAN_DIALECTS_H

#include "filter/dialect_option.h"

struct tool_dialect_wish {
    struct tool_dialect_choice choice;
    bool all; /* every system that has a sizing */
    bool in_use;
};

/* Takes NAME[,PARAMETER=VALUE...], or "all". */
tool_option_call tool_take_dialects;

/* Prints the plans for keys and a rate, of which 0 means not given, and returns the exit code. */
int tool_dialect_plans(const struct tool_dialect_wish *wish, uint64_t keys, double rate, bool json);

#endif /* BLOOMERY_TOOL_PLAN_DIALECTS_H */
