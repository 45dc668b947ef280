/* SPDX-License-Identifier: Apache-2.0 */
/* Drawings as SVG: one file that needs no other, readable on a light and on a dark page. */
#ifndef BLOOMERY_TOOL_PLOT_SVG_H
#define BLOOMERY_TOOL_PLOT_SVG_H

#include "base/out.h"
#include "command/plot/block_fill.h"
#include "command/plot/rate_curve.h"

void tool_curve_svg(struct tool_out *out, const struct tool_curve *curve);
void tool_fill_svg(struct tool_out *out, const struct tool_block_fill *fill);

#endif /* BLOOMERY_TOOL_PLOT_SVG_H */
