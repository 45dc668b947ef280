/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/output.h"

#include "base/json.h"
#include "filter/files.h"
#include "filter/filter_report.h"
#include "filter/foreign_file.h"
#include "tool.h"

#include <string.h>
#include <unistd.h>

bool tool_output_is_stdout(const struct tool_output *output)
{
    return strcmp(output->path, "-") == 0;
}

const char *tool_output_said(const struct tool_output *output)
{
    return tool_output_is_stdout(output) ? "stdout" : output->path;
}

static bool may_replace(const struct tool_output *output)
{
    if (output->dialect != NULL)
        return tool_foreign_may_replace(output->path, output->dialect, output->force);
    return tool_may_replace(output->path, output->force);
}

/* What was locked, which may have taken a while. */
static bool may_replace_held(const struct tool_output *output)
{
    if (output->dialect != NULL)
        return tool_foreign_may_replace_held(output->path, output->lock, output->dialect,
                                             output->force);
    return tool_may_replace_held(output->path, output->lock, output->force);
}

void tool_output_warn_of_name(const char *path)
{
    static const char *const endings[] = {".gz", ".zst", ".xz",   ".bz2", ".lz4",
                                          ".lz", ".Z",   ".lzma", ".zip"};
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        const size_t ending = strlen(endings[i]);
        if (length > ending && strcmp(path + length - ending, endings[i]) == 0)
            tool_warning("%s: is written uncompressed, whatever its name says", path);
    }
}

bool tool_output_begin(struct tool_output *output)
{
    output->lock = -1;
    if (output->path == NULL) {
        tool_usage("where to? -o FILE names the filter to write");
        return false;
    }
    if (tool_output_is_stdout(output)) {
        if (output->json)
            tool_usage("--json and '-o -' both want standard output; name a file for the filter");
        return !output->json && tool_stdout_takes_bytes();
    }
    if (!may_replace(output))
        return false;
    tool_output_warn_of_name(output->path);
    if (access(output->path, R_OK) != 0)
        return true;
    output->lock = tool_filter_lock(output->path);
    return output->lock >= 0 && may_replace_held(output);
}

void tool_output_end(struct tool_output *output)
{
    tool_filter_unlock(output->lock);
    output->lock = -1;
}

bool tool_output_write(const struct tool_output *output, const bloomery_filter *filter,
                       uint64_t *bytes)
{
    bloomery_error error;
    if (output->dialect != NULL)
        return tool_foreign_write(filter, output->dialect, output->path, bytes);
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    if (bytes != NULL)
        *bytes = info.file_bytes;
    if (tool_output_is_stdout(output))
        return tool_filter_to_stdout(filter);
    if (bloomery_save(filter, output->path, &error) == BLOOMERY_OK)
        return true;
    tool_library_error(output->path, &error);
    return false;
}

bool tool_output_look(const struct tool_output *output, const bloomery_filter *filter,
                      struct tool_facts *facts)
{
    const bloomery_filter *opened = NULL;
    if (filter == NULL) {
        filter = opened = tool_filter_inspect(output->path);
        if (opened == NULL)
            return false;
    }
    tool_facts_read(filter, facts);
    facts->info.note = NULL; /* it ends with the filter */
    bloomery_free(opened);
    return true;
}

void tool_output_add_facts(json_t *report, const struct tool_output *output,
                           const struct tool_facts *facts)
{
    const bloomery_info *info = &facts->info;
    tool_json_add(report, "file", tool_json_text(output->path));
    tool_json_add(report, "kind", tool_json_text(bloomery_kind_name((int)info->kind)));
    tool_json_add(report, "layers", tool_json_count(info->layers));
    tool_json_add(report, "adds", tool_json_count(info->adds));
    tool_json_add_facts(report, facts);
}

void tool_output_report(struct tool_report *report, const struct tool_output *output,
                        const struct tool_facts *facts)
{
    const bloomery_info *info = &facts->info;
    tool_fact(report, "file", NULL, tool_text(output->path));
    tool_fact(report, "kind", NULL, tool_text(bloomery_kind_name((int)info->kind)));
    tool_fact(report, "layers", NULL, tool_count(info->layers));
    tool_fact(report, "adds", NULL, tool_count(info->adds));
    tool_report_filter(report, facts);
}
