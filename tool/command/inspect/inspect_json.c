/* SPDX-License-Identifier: Apache-2.0 */
#include "command/inspect/inspect.h"

#include "base/experimental.h"
#include "base/json.h"
#include "filter/report.h"
#include "key/rule.h"
#include "tool.h"

#include <stdio.h>

static json_t *hex_text(uint64_t value)
{
    char text[20];
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)value);
    return tool_json_text(text);
}

static json_t *decimal_text(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    return tool_json_text(text);
}

static json_t *name_or_null(const char *name)
{
    return name != NULL ? tool_json_text(name) : tool_json_null();
}

static void add_dialect(json_t *object, const struct tool_findings *report)
{
    const bloomery_dialect *dialect = report->dialect, *origin = report->origin.dialect;
    tool_json_add(object, "dialect", name_or_null(dialect != NULL ? dialect->name : NULL));
    tool_json_add(object, "file_dialect", name_or_null(origin != NULL ? origin->name : NULL));
    if (dialect == NULL)
        return;
    tool_json_add(object, "variant", name_or_null(bloomery_dialect_variant(report->filter)));
    tool_json_add(object, "remarks", tool_remarks_json(report->filter));
}

static void add_header(json_t *object, const struct tool_findings *report)
{
    const bloomery_info *info = &report->info;
    tool_json_add(object, "format_version", tool_json_count(info->format_version));
    tool_json_add(object, "kind", tool_json_text(bloomery_kind_name((int)info->kind)));
    tool_json_add(object, "layers", tool_json_count(info->layers));
    tool_json_add(object, "blocks_per_key", tool_json_count(info->blocks_per_key));
    tool_json_add(object, "probes", tool_json_count(info->probes));
    tool_json_add(object, "bits", tool_json_count(info->bits));
    tool_json_add(object, "cell_bits", tool_json_count(info->cell_bits));
    if (info->counter_max > 0)
        tool_json_add(object, "counter_max", tool_json_count(info->counter_max));
    tool_json_add(object, "bytes", tool_json_count(info->bytes));
    const bool foreign = report->origin.dialect != NULL;
    tool_json_add(object, "file_bytes",
                  tool_json_count(foreign ? report->origin.bytes : info->file_bytes));
    bool keyed = info->secret_fingerprint != 0;
    tool_json_add(object, "hash", name_or_null(bloomery_hash_name(info->hash)));
    tool_json_add(object, "seed", decimal_text(info->seed));
    tool_json_add(object, "secret_fingerprint",
                  keyed ? hex_text(info->secret_fingerprint) : tool_json_null());
    tool_json_add(object, "secret_in_file", tool_json_bool(info->secret_in_file));
    tool_json_add(object, "note",
                  info->note != NULL ? tool_json_text(info->note) : tool_json_null());
    json_t *flags = tool_json_array();
    for (size_t i = 0; i < TOOL_RULE_NAMES; i++)
        if (info->rule.flags >> i & 1)
            tool_json_append(flags, tool_json_text(tool_rule_names[i]));
    tool_json_add(object, "rule", flags);
    if (info->rule.field != 0) {
        tool_json_add(object, "rule_field", tool_json_integer(info->rule.field));
        tool_json_add(object, "rule_delimiter", tool_json_count(info->rule.delimiter));
    }
    if (info->rule.comment != 0)
        tool_json_add(object, "rule_comment", tool_json_count(info->rule.comment));
    tool_json_add(object, "adds", tool_json_count(info->adds));
    tool_json_add(object, "planned_keys",
                  info->planned_keys > 0 ? tool_json_count(info->planned_keys) : tool_json_null());
    tool_json_add(object, "planned_rate",
                  info->planned_rate > 0 ? tool_json_number(info->planned_rate) : tool_json_null());
    tool_json_add(object, "wanted_rate",
                  info->wanted_rate > 0 ? tool_json_number(info->wanted_rate) : tool_json_null());
}

static void add_state(json_t *object, const struct tool_findings *report)
{
    const bloomery_info *info = &report->info;
    const bloomery_scan_result *scan = &report->scan;
    tool_json_add(object, "bits_set", tool_json_count(scan->bits_set));
    if (info->counter_max > 0)
        tool_json_add(object, "saturated_cells", tool_json_count(scan->saturated_cells));
    tool_json_add(object, "fill", tool_json_number(scan->fill));
    tool_json_add(object, "estimated_keys", tool_json_number(scan->estimated_keys));
    tool_json_add(object, "over_full", tool_json_bool(report->over_full));
    tool_json_add(object, "predicted_rate", tool_json_number(scan->expected_rate));
    tool_json_add(object, "live_rate", tool_json_number(scan->live_rate));
}

static json_t *measurement_object(const struct tool_inspection *request,
                                  const struct tool_findings *report)
{
    json_t *object = tool_json_object();
    tool_json_add(object, "queries", tool_json_count(request->measure));
    tool_json_add(object, "false_positives", tool_json_count(report->hits));
    tool_json_add(object, "rate",
                  tool_json_number((double)report->hits / (double)request->measure));
    tool_json_add(object, "low_95", tool_json_number(report->interval.low));
    tool_json_add(object, "high_95", tool_json_number(report->interval.high));
    tool_json_add(object, "agrees_with_live", tool_json_bool(report->hits_plausible));
    tool_json_add(object, "enough_queries", tool_json_bool(report->enough_queries));
    tool_json_add(object, "live_above_planned", tool_json_bool(report->above_planned));
    return object;
}

static json_t *canaries_object(const struct tool_canaries *canaries)
{
    json_t *object = tool_json_object();
    tool_json_add(object, "queries", tool_json_count(canaries->queried));
    tool_json_add(object, "hits", tool_json_count(canaries->hits));
    json_t *first = tool_json_array();
    for (size_t i = 0; i < canaries->shown; i++)
        tool_json_append(first, tool_json_text(canaries->text[i]));
    tool_json_add(object, "first", first);
    return object;
}

int tool_inspect_json(const struct tool_inspection *request, const struct tool_findings *report)
{
    json_t *object = tool_json_report("inspect");
    tool_json_add(object, "file", tool_json_text(request->path));
    add_dialect(object, report);
    add_header(object, report);
    add_state(object, report);
    if (report->info.kind == BLOOMERY_SCALABLE) /* of RedisBloom some never grow */
        tool_json_add(object, "chain", tool_layers_json(report->filter));
    if (report->measured)
        tool_json_add(object, "measured", measurement_object(request, report));
    if (request->canary != NULL)
        tool_json_add(object, "canaries", canaries_object(&report->canaries));
    if (report->verified) {
        tool_json_add(object, "intact", tool_json_bool(report->intact));
        tool_json_add(object, "damage",
                      report->intact ? tool_json_null() : tool_json_text(report->damage.text));
    }
    tool_json_add(object, "finding", tool_json_bool(tool_findings_any(report)));
    return tool_json_print(object, tool_findings_any(report) ? TOOL_NONE : TOOL_FOUND);
}
