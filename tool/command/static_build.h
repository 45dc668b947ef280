/* SPDX-License-Identifier: Apache-2.0 */
/* build --kind static: the keys go to a builder, which makes the file when all have come. */
#ifndef BLOOMERY_TOOL_STATIC_BUILD_H
#define BLOOMERY_TOOL_STATIC_BUILD_H

#include "command/build_report.h"

struct tool_static_build {
    const struct tool_source *source;
    const bloomery_create_options *options; /* with the rule, and the secret if there is one */
    const bloomery_plan_options *wish;
    double rate;           /* 0: the default */
    uint64_t keys;         /* what was given; the filter is for those that come */
    uint64_t memory;       /* for keys that wait; 0: the default */
    const char *directory; /* where the rest waits; NULL: TMPDIR or /tmp */
    bool force;
    bool *saves; /* set when the filter may be in its file */
    struct tool_build_report report;
};

/* The exit code. */
int tool_static_build(const struct tool_static_build *build);

#endif
