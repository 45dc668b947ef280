/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/filter_report.h"

#include "base/experimental.h"
#include "base/json.h"
#include "base/numbers.h"
#include "base/out.h"
#include "tool.h"

#include <math.h>
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

/* ---- Layers to come ------------------------------------------------------------------------- */

/* The next layer of a chain that is to take `keys` keys and can take `room` of them so far. */
static bool next_layer(const bloomery_plan *plan, uint64_t keys, uint64_t room, uint32_t index,
                       bloomery_plan *layer)
{
    return room < keys && bloomery_plan_layer(plan, index, layer, NULL) == BLOOMERY_OK;
}

bool tool_growth_reaches(const bloomery_plan *plan, uint64_t keys)
{
    char most[TOOL_NUMBER_BYTES], wanted[TOOL_NUMBER_BYTES];
    uint64_t room = 0;
    bloomery_plan layer = BLOOMERY_PLAN;
    for (uint32_t i = 0; next_layer(plan, keys, room, i, &layer); i++)
        room += layer.planned_keys;
    if (room >= keys)
        return true;
    tool_error("a scalable filter that begins with these keys and this rate grows to at most %s "
               "keys, not to %s",
               tool_format_count(most, room), tool_format_count(wanted, keys));
    return false;
}

void tool_growth_report(struct tool_report *report, const bloomery_plan *plan, uint64_t keys)
{
    static const struct tool_column columns[] = {
        {"layer", "layer", 5},   {"keys", "keys", 15},
        {"bytes", "memory", 10}, {"blocks_per_key", "blocks", 6},
        {"probes", "probes", 6}, {"rate", "rate", 10},
        {"odds", "odds", 15},
    };
    static const struct tool_table table = {"  ", " ", columns,
                                            sizeof(columns) / sizeof(columns[0])};
    uint64_t room = 0, bytes = 0;
    bloomery_plan layer = BLOOMERY_PLAN;
    tool_report_blank(report);
    tool_report_line(report, "Layers at %s keys:", TOOL_SAY_COUNT(keys));
    tool_report_blank(report);
    struct tool_report *layers = tool_fact_table(report, "layers", &table);
    for (uint32_t i = 0; next_layer(plan, keys, room, i, &layer); i++) {
        struct tool_report *row = tool_fact_row(layers, true);
        tool_fact(row, NULL, "layer", tool_count(i + 1));
        tool_fact(row, "keys", NULL, tool_count(layer.planned_keys));
        tool_fact(row, "rate", NULL, tool_number(layer.planned_rate));
        tool_fact(row, "bytes", NULL, tool_size(layer.planned_bytes));
        tool_fact(row, "blocks_per_key", NULL, tool_count(layer.blocks_per_key));
        tool_fact(row, "probes", NULL, tool_count(layer.probes));
        tool_fact(row, NULL, "odds", tool_odds(layer.planned_rate));
        room += layer.planned_keys;
        bytes += layer.planned_bytes;
    }
    tool_report_line(report, "  all   %15s %10s, at a rate under %s", TOOL_SAY_COUNT(room),
                     TOOL_SAY_SIZE(bytes), TOOL_SAY_ODDS(plan->planned_rate));
}

/* ---- Layers there are ----------------------------------------------------------------------- */

/* Fills a list of rows with what the layers of a filter are. */
static void add_layers(struct tool_report *layers, const bloomery_filter *filter)
{
    bloomery_layer_info layer = BLOOMERY_LAYER_INFO;
    for (uint32_t i = 0; bloomery_layer_info_get(filter, i, true, &layer) == BLOOMERY_OK; i++) {
        struct tool_report *row = tool_fact_row(layers, true);
        tool_fact(row, NULL, "layer", tool_count(i + 1));
        tool_fact(row, "blocks_per_key", NULL, tool_count(layer.blocks_per_key));
        tool_fact(row, "probes", NULL, tool_count(layer.probes));
        tool_fact(row, "bits", NULL, tool_count(layer.bits));
        tool_fact(row, "bytes", NULL, tool_size(layer.bytes));
        tool_fact(row, "adds", NULL, tool_count(layer.adds));
        tool_fact(row, "planned_keys", NULL, tool_count(layer.planned_keys));
        tool_fact(row, "planned_rate", NULL, tool_number(layer.planned_rate));
        tool_fact(row, "bits_set", NULL, tool_count(layer.bits_set));
        tool_fact(row, "estimated_keys", NULL, tool_about(layer.estimated_keys));
        tool_fact(row, NULL, "about",
                  isinf(layer.estimated_keys) ? tool_text("all bits set")
                                              : tool_about(layer.estimated_keys));
        tool_fact(row, "live_rate", NULL, tool_number(layer.live_rate));
    }
}

void tool_layers_list(struct tool_report *report, const char *name, const bloomery_filter *filter)
{
    add_layers(tool_fact_list(report, name), filter);
}

void tool_layers_table(struct tool_report *report, const bloomery_filter *filter)
{
    static const struct tool_column columns[] = {
        {"layer", "layer", 5},
        {"about", "keys, about", 15},
        {"planned_keys", "planned for", 15},
        {"bytes", "memory", 10},
        {"blocks_per_key", "blocks", 6},
        {"probes", "probes", 6},
        {"planned_rate", "rate", 10},
        {"live_rate", "live", 10},
    };
    static const struct tool_table table = {"  ", " ", columns,
                                            sizeof(columns) / sizeof(columns[0])};
    tool_report_blank(report);
    add_layers(tool_fact_table(report, NULL, &table), filter);
    tool_report_blank(report);
}
