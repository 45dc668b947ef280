/* SPDX-License-Identifier: Apache-2.0 */
#include "command/plot/plot_json.h"

#include "base/json.h"
#include "tool.h"

/* Expected blocks that are less than this are left out if there are none. */
static const double expected_shown = 1e-3;

int tool_curve_json(const struct tool_curve *curve)
{
    json_t *report = tool_json_report("plot");
    tool_json_add(report, "plot", tool_json_text("rate"));
    if (curve->file != NULL)
        tool_json_add(report, "file", tool_json_text(curve->file));
    tool_json_add(report, "kind", tool_json_text(bloomery_kind_name((int)curve->kind)));
    tool_json_add(report, "dialect",
                  curve->dialect != NULL ? tool_json_text(curve->dialect) : tool_json_null());
    tool_json_add(report, "blocks_per_key", tool_json_count(curve->blocks_per_key));
    tool_json_add(report, "probes", tool_json_count(curve->probes));
    tool_json_add(report, "bits", tool_json_count(curve->bits));
    tool_json_add(report, "bytes", tool_json_count(curve->bytes));
    const bool planned = curve->planned_keys > 0;
    tool_json_add(report, "planned_keys",
                  planned ? tool_json_count(curve->planned_keys) : tool_json_null());
    tool_json_add(report, "planned_rate",
                  planned ? tool_json_number(curve->planned_rate) : tool_json_null());
    if (curve->has_now) {
        json_t *now = tool_json_object();
        tool_json_add(now, "keys", tool_json_number(curve->now_keys));
        tool_json_add(now, "predicted_rate", tool_json_number(curve->now_predicted));
        tool_json_add(now, "live_rate", tool_json_number(curve->now_live));
        tool_json_add(report, "now", now);
    }
    json_t *points = tool_json_array();
    for (size_t i = 0; i < curve->count; i++) {
        json_t *point = tool_json_object();
        tool_json_add(point, "keys", tool_json_count(curve->points[i].keys));
        tool_json_add(point, "rate", tool_json_number(curve->points[i].rate));
        tool_json_append(points, point);
    }
    tool_json_add(report, "points", points);
    return tool_json_print(report, TOOL_FOUND);
}

static json_t *moments(double mean, double deviation)
{
    json_t *object = tool_json_object();
    tool_json_add(object, "mean", tool_json_number(mean));
    tool_json_add(object, "deviation", tool_json_number(deviation));
    return object;
}

int tool_fill_json(const struct tool_block_fill *fill)
{
    json_t *report = tool_json_report("plot");
    tool_json_add(report, "plot", tool_json_text("fill"));
    tool_json_add(report, "file", tool_json_text(fill->file));
    tool_json_add(report, "kind", tool_json_text(bloomery_kind_name((int)fill->kind)));
    tool_json_add(report, "layers", tool_json_count(fill->layers));
    tool_json_add(report, "blocks", tool_json_count(fill->blocks));
    tool_json_add(report, "block_cells", tool_json_count(TOOL_BLOCK_CELLS));
    tool_json_add(report, "blocks_per_key", tool_json_count(fill->blocks_per_key));
    tool_json_add(report, "probes", tool_json_count(fill->probes));
    tool_json_add(report, "estimated_keys", tool_json_number(fill->keys));
    tool_json_add(report, "measured", moments(fill->measured_mean, fill->measured_deviation));
    tool_json_add(report, "expected", moments(fill->expected_mean, fill->expected_deviation));
    json_t *rows = tool_json_array();
    for (unsigned set = 0; set <= TOOL_BLOCK_CELLS; set++) {
        if (fill->measured[set] == 0 && fill->expected[set] < expected_shown)
            continue;
        json_t *row = tool_json_object();
        tool_json_add(row, "cells_set", tool_json_count(set));
        tool_json_add(row, "blocks", tool_json_count(fill->measured[set]));
        tool_json_add(row, "expected", tool_json_number(fill->expected[set]));
        tool_json_append(rows, row);
    }
    tool_json_add(report, "fill", rows);
    return tool_json_print(report, TOOL_FOUND);
}
