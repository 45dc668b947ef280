/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/report.h"

void tool_json_add_facts(json_t *report, const bloomery_info *info)
{
    tool_json_add(report, "bytes", tool_json_count(info->bytes));
    tool_json_add(report, "file_bytes", tool_json_count(info->file_bytes));
    tool_json_add(report, "planned_keys",
                  info->planned_keys > 0 ? tool_json_count(info->planned_keys) : tool_json_null());
    tool_json_add(report, "planned_rate",
                  info->planned_rate > 0 ? tool_json_number(info->planned_rate) : tool_json_null());
    tool_json_add(report, "estimated_keys", tool_json_number(info->estimated_keys));
    tool_json_add(report, "predicted_rate", tool_json_number(info->expected_rate));
    tool_json_add(report, "live_rate", tool_json_number(info->live_rate));
}

void tool_json_add_change(json_t *report, const char *file, const struct tool_change *change)
{
    const bloomery_info *info = &change->info;
    tool_json_add(report, "file", tool_json_text(file));
    tool_json_add(report, "records", tool_json_count(change->records));
    tool_json_add(report, "passed_over", tool_json_count(change->passed_over));
    /* A static filter's bits are a solution of equations, not what keys have set. */
    tool_json_add(report, "new_bits",
                  info->kind == BLOOMERY_STATIC ? tool_json_null()
                                                : tool_json_count(change->new_bits));
    tool_json_add(report, "estimated_new_keys", tool_json_number(change->estimated_new_keys));
    tool_json_add_facts(report, info);
}
