/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/report.h"

#include "base/experimental.h"
#include "base/numbers.h"
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

/* ---- Layers ---------------------------------------------------------------------------------- */

static const char head[] =
    "  layer            keys     memory blocks probes       rate            odds\n";

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

void tool_growth_print(struct tool_out *out, const bloomery_plan *plan, uint64_t keys)
{
    char count[TOOL_NUMBER_BYTES], memory[TOOL_NUMBER_BYTES], rate[TOOL_NUMBER_BYTES],
        odds[TOOL_NUMBER_BYTES];
    uint64_t room = 0, bytes = 0;
    bloomery_plan layer = BLOOMERY_PLAN;
    tool_out_format(out, "\nWith %s keys it will be a chain of\n\n%s",
                    tool_format_count(count, keys), head);
    for (uint32_t i = 0; next_layer(plan, keys, room, i, &layer); i++) {
        room += layer.planned_keys;
        bytes += layer.planned_bytes;
        tool_out_format(out, "  %5u %15s %10s %6u %6u %10s %15s\n", i + 1,
                        tool_format_count(count, layer.planned_keys),
                        tool_format_size(memory, layer.planned_bytes), layer.blocks_per_key,
                        layer.probes, tool_format_rate(rate, layer.planned_rate),
                        tool_format_odds(odds, layer.planned_rate));
    }
    tool_out_format(out, "  all   %15s %10s, at a rate under %s\n", tool_format_count(count, room),
                    tool_format_size(memory, bytes), tool_format_odds(odds, plan->planned_rate));
}

json_t *tool_growth_json(const bloomery_plan *plan, uint64_t keys)
{
    json_t *layers = tool_json_array();
    uint64_t room = 0;
    bloomery_plan layer = BLOOMERY_PLAN;
    for (uint32_t i = 0; next_layer(plan, keys, room, i, &layer); i++) {
        json_t *object = tool_json_object();
        tool_json_add(object, "keys", tool_json_count(layer.planned_keys));
        tool_json_add(object, "rate", tool_json_number(layer.planned_rate));
        tool_json_add(object, "bytes", tool_json_count(layer.planned_bytes));
        tool_json_add(object, "blocks_per_key", tool_json_count(layer.blocks_per_key));
        tool_json_add(object, "probes", tool_json_count(layer.probes));
        tool_json_append(layers, object);
        room += layer.planned_keys;
    }
    return layers;
}

/* ---- Layers there are ----------------------------------------------------------------------- */

static bool read_layer(const bloomery_filter *filter, uint32_t index, bloomery_layer_info *layer)
{
    *layer = (bloomery_layer_info)BLOOMERY_LAYER_INFO;
    return bloomery_layer_info_get(filter, index, true, layer) == BLOOMERY_OK;
}

void tool_layers_print(struct tool_out *out, const bloomery_filter *filter)
{
    char keys[TOOL_NUMBER_BYTES], planned[TOOL_NUMBER_BYTES], memory[TOOL_NUMBER_BYTES],
        rate[TOOL_NUMBER_BYTES], live[TOOL_NUMBER_BYTES];
    bloomery_layer_info layer;
    tool_out_format(out, "\n  %5s %15s %15s %10s %6s %6s %10s %10s\n", "layer", "keys, about",
                    "planned for", "memory", "blocks", "probes", "rate", "live");
    for (uint32_t i = 0; read_layer(filter, i, &layer); i++)
        tool_out_format(out, "  %5u %15s %15s %10s %6u %6u %10s %10s\n", i + 1,
                        isinf(layer.estimated_keys)
                            ? "all bits set"
                            : tool_format_count(keys, (uint64_t)(layer.estimated_keys + 0.5)),
                        tool_format_count(planned, layer.planned_keys),
                        tool_format_size(memory, layer.bytes), layer.blocks_per_key, layer.probes,
                        tool_format_rate(rate, layer.planned_rate),
                        tool_format_rate(live, layer.live_rate));
    tool_out_text(out, "\n");
}

json_t *tool_layers_json(const bloomery_filter *filter)
{
    json_t *layers = tool_json_array();
    bloomery_layer_info layer;
    for (uint32_t i = 0; read_layer(filter, i, &layer); i++) {
        json_t *object = tool_json_object();
        tool_json_add(object, "blocks_per_key", tool_json_count(layer.blocks_per_key));
        tool_json_add(object, "probes", tool_json_count(layer.probes));
        tool_json_add(object, "bits", tool_json_count(layer.bits));
        tool_json_add(object, "bytes", tool_json_count(layer.bytes));
        tool_json_add(object, "adds", tool_json_count(layer.adds));
        tool_json_add(object, "planned_keys", tool_json_count(layer.planned_keys));
        tool_json_add(object, "planned_rate", tool_json_number(layer.planned_rate));
        tool_json_add(object, "bits_set", tool_json_count(layer.bits_set));
        tool_json_add(object, "estimated_keys", tool_json_number(layer.estimated_keys));
        tool_json_add(object, "live_rate", tool_json_number(layer.live_rate));
        tool_json_append(layers, object);
    }
    return layers;
}
