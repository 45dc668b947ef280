/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers of a plot, unrounded. */
#ifndef BLOOMERY_TOOL_PLOT_JSON_H
#define BLOOMERY_TOOL_PLOT_JSON_H

#include "command/plot/block_fill.h"
#include "command/plot/rate_curve.h"

/* Both return the exit code. */
int tool_curve_json(const struct tool_curve *curve);
int tool_fill_json(const struct tool_block_fill *fill);

#endif /* BLOOMERY_TOOL_PLOT_JSON_H */
