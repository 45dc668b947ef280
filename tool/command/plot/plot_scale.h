/* SPDX-License-Identifier: Apache-2.0 */
/* What drawings in a terminal and in an SVG have in common: ranges, ticks, bins, sentences. */
#ifndef BLOOMERY_TOOL_PLOT_SCALE_H
#define BLOOMERY_TOOL_PLOT_SCALE_H

#include "base/numbers.h"
#include "command/plot/block_fill.h"
#include "command/plot/rate_curve.h"

#include <stddef.h>
#include <stdint.h>

/* The smallest of 1, 2 and 5 times a power of ten, at least 1, of which `max` has at most `ticks`.
 */
double tool_tick_step(double max, unsigned ticks);

/* "0", "500 k", "1.5 M": a count with a prefix, in a buffer of TOOL_NUMBER_BYTES. */
const char *tool_tick_label(char *buffer, double value);

/* The rates that a drawing shows: 10^-top to 10^-bottom. */
struct tool_rate_range {
    unsigned top;
    unsigned bottom;
};
struct tool_rate_range tool_curve_range(const struct tool_curve *curve);

/* Where a rate of this logarithm stands: 0 at the top of a drawing, 1 at its bottom, and in
 * between. */
double tool_rate_place(const struct tool_rate_range *range, double height);

/* The logarithm to base 10 of the curve's rate with so many keys, between its points a straight
 * line. -INFINITY before the first point. */
double tool_curve_height(const struct tool_curve *curve, double keys);

/* Blocks by ranges of their fill: those that are not empty, and nearly all of what is expected. */
struct tool_bins {
    unsigned first; /* the bits set of the first bin, which has `width` numbers of them */
    unsigned width;
    unsigned count;
    uint64_t measured[TOOL_BLOCK_CELLS + 1];
    double expected[TOOL_BLOCK_CELLS + 1];
    double most; /* the largest of both */
};

/* As narrow as at most `bins` of them allow. */
void tool_bins_make(const struct tool_block_fill *fill, unsigned bins, struct tool_bins *made);

/* The last number of bits of a bin. */
unsigned tool_bin_last(const struct tool_bins *bins, unsigned bin);

enum { TOOL_PLOT_TEXT_BYTES = 400 };

/* The title; a file's name without control characters, and UTF-8 in any case. */
const char *tool_curve_title(char text[TOOL_PLOT_TEXT_BYTES], const struct tool_curve *curve);
const char *tool_fill_title(char text[TOOL_PLOT_TEXT_BYTES], const struct tool_block_fill *fill);

/* What is planned, and what is now, without a full stop; "" if that is unknown. */
const char *tool_curve_planned(char text[TOOL_PLOT_TEXT_BYTES], const struct tool_curve *curve);
const char *tool_curve_now(char text[TOOL_PLOT_TEXT_BYTES], const struct tool_curve *curve);

/* Mean and standard deviation of a block's set bits, measured or expected. */
const char *tool_fill_moments(char text[TOOL_PLOT_TEXT_BYTES], double mean, double deviation);

#endif /* BLOOMERY_TOOL_PLOT_SCALE_H */
