/* SPDX-License-Identifier: Apache-2.0 */
/* Drawings in a terminal: in braille if the locale is UTF-8, else in ASCII. Their width is that of
 * COLUMNS, of the terminal, or 80. */
#ifndef BLOOMERY_TOOL_PLOT_TERMINAL_H
#define BLOOMERY_TOOL_PLOT_TERMINAL_H

#include "command/plot/block_fill.h"
#include "command/plot/rate_curve.h"

/* Both return the exit code. */
int tool_curve_print(const struct tool_curve *curve);
int tool_fill_print(const struct tool_block_fill *fill);

#endif /* BLOOMERY_TOOL_PLOT_TERMINAL_H */
