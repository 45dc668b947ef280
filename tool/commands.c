/* SPDX-License-Identifier: Apache-2.0 */
/* The list of commands, in the order in which the help has them. */
#include "tool.h"

const struct tool_command *const tool_commands[] = {
    &cmd_plan,  &cmd_build,   &cmd_add,      &cmd_remove,   &cmd_query,   &cmd_dedupe,
    &cmd_merge, &cmd_fold,    &cmd_convert,  &cmd_dialects, &cmd_compare, &cmd_inspect,
    &cmd_plot,  &cmd_explore, &cmd_generate, &cmd_sieve,
};
_Static_assert(sizeof(tool_commands) / sizeof(tool_commands[0]) == TOOL_COMMANDS, "all of them");
