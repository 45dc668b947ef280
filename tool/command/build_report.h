/* SPDX-License-Identifier: Apache-2.0 */
/* What build reports of the filter that it wrote: keys, repeated ones, size and rate. */
#ifndef BLOOMERY_TOOL_BUILD_REPORT_H
#define BLOOMERY_TOOL_BUILD_REPORT_H

#include "filter/fill.h"

struct tool_build_report {
    const char *output; /* "-" for standard output */
    bool quiet;
    bool json;
};

/* Reads the filter's bits only if something is to be said of them. `change` is what building found;
 * this fills the rest of it. Returns the exit code. */
int tool_build_report(const struct tool_build_report *build, const bloomery_plan *plan,
                      const bloomery_filter *filter, struct tool_change *change);

#endif
