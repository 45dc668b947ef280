/* SPDX-License-Identifier: Apache-2.0 */
/* See static_build.h. */
#include "command/static_build.h"

#include "base/numbers.h"
#include "filter/files.h"
#include "filter/fill.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STATIC_MEMORY_MIN = 16 << 20 };

static bool open_builder(const struct tool_static_build *build, bloomery_plan *plan,
                         bloomery_builder **builder)
{
    bloomery_builder_options options = BLOOMERY_BUILDER_OPTIONS;
    bloomery_error error;
    const char *temporary = getenv("TMPDIR");
    if (build->memory > 0 && build->memory < STATIC_MEMORY_MIN)
        return !tool_usage("--memory is what the build of a static filter may use, and that is at "
                           "least 16MiB; the filter itself is as small as its keys and rate allow");
    options.memory = build->memory;
    options.threads = build->source->threads;
    options.directory = build->directory != NULL                    ? build->directory
                        : temporary != NULL && temporary[0] != '\0' ? temporary
                                                                    : "/tmp";
    *plan = (bloomery_plan){.kind = BLOOMERY_STATIC,
                            .keys = build->keys > 0 ? build->keys : 1,
                            .rate = build->rate > 0 ? build->rate : TOOL_RATE_DEFAULT};
    if (bloomery_plan_solve(plan, build->wish, &error) == BLOOMERY_OK &&
        bloomery_builder_open(plan, build->options, &options, builder, &error) == BLOOMERY_OK)
        return true;
    tool_library_error(NULL, &error);
    return false;
}

/* Straight to the file; as cmd_build.c's save of a filter. */
static bool save(const struct tool_static_build *build, bloomery_builder *builder)
{
    const char *output = build->report.output;
    bloomery_error error;
    int lock = -1;
    if (access(output, R_OK) == 0 && (lock = tool_filter_lock(output)) < 0)
        return false;
    bool good = lock >= 0 ? tool_may_replace_held(output, lock, build->force)
                          : tool_may_replace(output, build->force);
    if (good && bloomery_builder_save(builder, output, &error) != BLOOMERY_OK) {
        tool_library_error(output, &error);
        good = false;
    }
    tool_filter_unlock(lock);
    return good;
}

/* The filter of all keys: in memory for standard output, else a map of its file. */
static const bloomery_filter *finish(const struct tool_static_build *build,
                                     bloomery_builder *builder)
{
    const bool to_stdout = strcmp(build->report.output, "-") == 0;
    const bloomery_filter *filter = NULL;
    bloomery_error error;
    if (!to_stdout && !save(build, builder))
        return NULL;
    bloomery_open_options inspect = BLOOMERY_OPEN_OPTIONS;
    inspect.inspect = true;
    const bloomery_status status =
        to_stdout ? bloomery_builder_finish(builder, &filter, &error)
                  : bloomery_map(build->report.output, &inspect, &filter, &error);
    if (status != BLOOMERY_OK) {
        tool_library_error(to_stdout ? NULL : build->report.output, &error);
        return NULL;
    }
    if (!to_stdout || tool_filter_to_stdout(filter))
        return filter;
    bloomery_free(filter);
    return NULL;
}

int tool_static_build(const struct tool_static_build *build)
{
    bloomery_plan plan;
    bloomery_builder *builder = NULL;
    const bloomery_filter *filter = NULL;
    struct tool_change change;
    int code = TOOL_ERROR;
    if (!open_builder(build, &plan, &builder))
        return TOOL_ERROR;
    if (tool_lines_build(build->source, &build->options->rule, builder, build->report.quiet,
                         &change)) {
        *build->saves = true;
        filter = finish(build, builder);
    }
    if (filter != NULL) {
        plan.planned_keys = change.records; /* it is built for those that came */
        code = tool_build_report(&build->report, &plan, filter, &change);
    }
    bloomery_free(filter);
    bloomery_builder_free(builder);
    return code;
}
