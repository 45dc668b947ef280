/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other system's own sizing decides, so what it is told is what the user said, and what it
 * needs besides: the number of keys is counted where nothing else says how large the filter is to
 * be, and the rate is our default where nothing else says how good.
 */
#include "command/dialect_build.h"

#include "base/json.h"
#include "base/numbers.h"
#include "filter/files.h"
#include "filter/fill.h"
#include "filter/filter_report.h"
#include "filter/foreign_file.h"
#include "tool.h"

#include <assert.h>

static bool takes(const struct tool_dialect_build *build, const char *name)
{
    return tool_dialect_list_has(build->choice->dialect->create_takes, name);
}

/* -n and -p are other words for two of the parameters. */
static bool take_options(struct tool_dialect_build *build)
{
    bloomery_dialect_parameters *parameters = &build->choice->parameters;
    if ((build->keys > 0 && parameters->keys > 0) || (build->rate > 0 && parameters->rate > 0)) {
        tool_usage("%s is given twice, as an option and as a parameter of the dialect",
                   build->keys > 0 && parameters->keys > 0 ? "the number of keys" : "the rate");
        return false;
    }
    if (build->keys > 0)
        parameters->keys = build->keys;
    if (build->rate > 0)
        parameters->rate = build->rate;
    return true;
}

static bool complete(struct tool_dialect_build *build)
{
    bloomery_dialect_parameters *parameters = &build->choice->parameters;
    const bool sized = parameters->bits > 0 || parameters->bytes > 0;
    if (!take_options(build))
        return false;
    if (parameters->rate == 0 && !sized && parameters->probes == 0 &&
        parameters->bits_per_key == 0 && takes(build, "rate"))
        parameters->rate = TOOL_RATE_DEFAULT;
    if (parameters->keys > 0 || sized || !takes(build, "keys"))
        return true;
    return tool_lines_count(build->source, build->rule,
                            "can't be read twice to count its keys; say how many with -n",
                            build->output.quiet, &parameters->keys);
}

static int stop(void *context, const void *data, size_t bytes)
{
    (void)context, (void)data, (void)bytes;
    return -1;
}

/* Whether it can be written, asked before the keys are read: what stops is only the receiver
 * then. */
static bool can_be_written(const struct tool_dialect_build *build, const bloomery_filter *filter)
{
    bloomery_error error;
    const bloomery_status status =
        build->ours ? BLOOMERY_OK
                    : bloomery_dialect_write(filter, build->choice->dialect, stop, NULL, &error);
    if (status == BLOOMERY_OK || status == BLOOMERY_IO_FAILED)
        return true;
    tool_library_error(NULL, &error);
    tool_say("a file of ours can have such a filter: --ours");
    return false;
}

static int report(const struct tool_dialect_build *build, const bloomery_filter *filter,
                  struct tool_change *change, uint64_t bytes)
{
    static const bloomery_scan_result nothing;
    char keys[TOOL_NUMBER_BYTES], size[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES];
    const struct tool_output *output = &build->output;
    tool_change_find(&nothing, filter, change);
    if (!output->quiet && !output->json)
        tool_say("wrote %s: a file of %s, %s key%s, %s, %s", tool_output_said(output),
                 build->ours ? "ours" : build->choice->dialect->name,
                 tool_format_count(keys, change->records), change->records == 1 ? "" : "s",
                 tool_format_size(size, bytes),
                 tool_format_odds(odds, change->facts.scan.live_rate));
    char reading[TOOL_READING_BYTES];
    if (!output->quiet && !output->json && !build->ours)
        tool_foreign_say_reading(filter, output->dialect);
    tool_warn_overfull(tool_output_said(output), &change->facts);
    if (!output->quiet)
        tool_remarks_say(tool_output_said(output), filter);
    if (!output->json)
        return TOOL_FOUND;
    json_t *object = tool_json_report("build");
    tool_json_add_change(object, output->path, change);
    tool_json_add(object, "dialect", tool_json_text(build->choice->dialect->name));
    if (!build->ours) {
        tool_foreign_reading(filter, output->dialect, reading);
        tool_json_add(object, "read_as", tool_json_text(reading));
    }
    tool_json_add(object, "file_bytes",
                  tool_json_count(bytes)); /* and not those of a file of ours */
    tool_json_add(object, "written_bytes", tool_json_count(bytes));
    tool_json_add(object, "remarks", tool_remarks_json(filter));
    return tool_json_print(object, TOOL_FOUND);
}

static int build_filter(struct tool_dialect_build *build)
{
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_filter *filter = NULL;
    bloomery_error error;
    struct tool_change change;
    uint64_t bytes = 0;
    options.rule = *build->rule;
    options.note = build->note;
    if (!complete(build))
        return TOOL_ERROR;
    if (bloomery_dialect_create(build->choice->dialect, &build->choice->parameters, &options,
                                &filter, &error) != BLOOMERY_OK)
        return tool_library_error(NULL, &error);
    int code = TOOL_ERROR;
    if (can_be_written(build, filter) &&
        tool_lines_add(build->source, build->rule, filter, build->output.path, "building",
                       build->output.quiet, &change) &&
        tool_output_write(&build->output, filter, &bytes))
        code = report(build, filter, &change, bytes);
    bloomery_free(filter);
    return code;
}

int tool_dialect_build(struct tool_dialect_build *build)
{
    int code = TOOL_ERROR;
    assert(build->choice->dialect != NULL);
    build->output.dialect = build->ours ? NULL : build->choice->dialect;
    if (tool_output_begin(&build->output))
        code = build_filter(build);
    tool_output_end(&build->output);
    return code;
}
