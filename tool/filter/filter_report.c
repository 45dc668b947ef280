/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/filter_report.h"
#include "base/numbers.h"

#include <stdio.h>

const char *tool_describe_room(char text[TOOL_ROOM_BYTES], const bloomery_info *info)
{
    char keys[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES];
    bloomery_plan plan = BLOOMERY_PLAN;
    bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
    plan.kind = info->kind;
    plan.rate = info->wanted_rate;
    plan.bytes = info->bytes;
    options.hash = info->hash;
    options.blocks_per_key = info->blocks_per_key;
    options.probes = info->probes;
    options.cell_bits = info->cell_bits;
    text[0] = '\0';
    if (info->wanted_rate > info->planned_rate &&
        bloomery_plan_solve(&plan, &options, NULL) == BLOOMERY_OK &&
        plan.planned_keys > info->planned_keys)
        snprintf(text, TOOL_ROOM_BYTES, "; it has room for %s keys at %s",
                 tool_format_count(keys, plan.planned_keys),
                 tool_format_odds(odds, info->wanted_rate));
    return text;
}

void tool_json_add_facts(json_t *report, const struct tool_facts *facts)
{
    const bloomery_info *info = &facts->info;
    const bloomery_scan_result *scan = &facts->scan;
    tool_json_add(report, "bytes", tool_json_count(info->bytes));
    tool_json_add(report, "file_bytes", tool_json_count(info->file_bytes));
    tool_json_add(report, "planned_keys",
                  info->planned_keys > 0 ? tool_json_count(info->planned_keys) : tool_json_null());
    tool_json_add(report, "planned_rate",
                  info->planned_rate > 0 ? tool_json_number(info->planned_rate) : tool_json_null());
    tool_json_add(report, "wanted_rate",
                  info->wanted_rate > 0 ? tool_json_number(info->wanted_rate) : tool_json_null());
    tool_json_add(report, "estimated_keys", tool_json_number(scan->estimated_keys));
    tool_json_add(report, "predicted_rate", tool_json_number(scan->expected_rate));
    tool_json_add(report, "live_rate", tool_json_number(scan->live_rate));
}

void tool_json_add_change(json_t *report, const char *file, const struct tool_change *change)
{
    const bloomery_info *info = &change->facts.info;
    tool_json_add(report, "file", tool_json_text(file));
    tool_json_add(report, "records", tool_json_count(change->records));
    tool_json_add(report, "passed_over", tool_json_count(change->passed_over));
    /* A static filter's bits are a solution of equations, not what keys have set. */
    tool_json_add(report, "new_bits",
                  info->kind == BLOOMERY_STATIC ? tool_json_null()
                                                : tool_json_count(change->new_bits));
    tool_json_add(report, "estimated_new_keys", tool_json_number(change->estimated_new_keys));
    tool_json_add_facts(report, &change->facts);
}

void tool_report_filter(struct tool_report *report, const struct tool_facts *facts)
{
    const bloomery_info *info = &facts->info;
    const bloomery_scan_result *scan = &facts->scan;
    tool_fact(report, "bytes", NULL, tool_size(info->bytes));
    tool_fact(report, "file_bytes", NULL, tool_size(info->file_bytes));
    tool_fact(report, "planned_keys", NULL,
              tool_known(info->planned_keys > 0, tool_count(info->planned_keys)));
    tool_fact(report, "planned_rate", NULL,
              tool_known(info->planned_rate > 0, tool_number(info->planned_rate)));
    tool_fact(report, "wanted_rate", NULL,
              tool_known(info->wanted_rate > 0, tool_number(info->wanted_rate)));
    tool_fact(report, "estimated_keys", NULL, tool_about(scan->estimated_keys));
    tool_fact(report, "predicted_rate", NULL, tool_number(scan->expected_rate));
    tool_fact(report, "live_rate", NULL, tool_number(scan->live_rate));
}

void tool_report_change(struct tool_report *report, const char *file,
                        const struct tool_change *change)
{
    const bloomery_info *info = &change->facts.info;
    tool_fact(report, "file", NULL, tool_text(file));
    tool_fact(report, "records", NULL, tool_count(change->records));
    tool_fact(report, "passed_over", NULL, tool_count(change->passed_over));
    /* A static filter's bits are a solution of equations, not what keys have set. */
    tool_fact(report, "new_bits", NULL,
              tool_known(info->kind != BLOOMERY_STATIC, tool_count(change->new_bits)));
    tool_fact(report, "estimated_new_keys", NULL, tool_about(change->estimated_new_keys));
    tool_report_filter(report, &change->facts);
}
