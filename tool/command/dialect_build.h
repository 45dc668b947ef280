/* SPDX-License-Identifier: Apache-2.0 */
/* `build --dialect`: another system's filter of the lines of the inputs, in that system's own file
 * or in one of ours. */
#ifndef BLOOMERY_TOOL_DIALECT_BUILD_H
#define BLOOMERY_TOOL_DIALECT_BUILD_H

#include "filter/dialect_option.h"
#include "filter/filter_file.h"
#include "input/input.h"

#include <bloomery/dialect.h>

struct tool_dialect_build {
    struct tool_dialect_choice *choice; /* its parameters are completed */
    uint64_t keys;                      /* of -n; 0: not given */
    double rate;                        /* of -p; 0: not given */
    const bloomery_key_rule *rule;
    const char *note; /* for a file of ours */
    bool ours;        /* a file of ours is to have the filter */
    const struct tool_source *source;
    struct tool_output output;
};

/* The exit code. */
int tool_dialect_build(struct tool_dialect_build *build);

#endif /* BLOOMERY_TOOL_DIALECT_BUILD_H */
