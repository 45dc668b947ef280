/* SPDX-License-Identifier: Apache-2.0 */
/* The false-positive rate over the number of keys, of a plan or of a filter. All rates are the
 * library's. */
#ifndef BLOOMERY_TOOL_COMMAND_PLOT_CHART_H
#define BLOOMERY_TOOL_COMMAND_PLOT_CHART_H

#include "base/numbers.h"
#include "base/out.h"

#include <bloomery/dialect.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An even number, so that the planned keys are a point of a curve to twice as many. */
enum { TOOL_CURVE_POINTS = 128 };

struct tool_curve {
    const char *file;    /* NULL: a plan */
    const char *dialect; /* another system's name; NULL: ours */
    bloomery_kind kind;
    uint32_t blocks_per_key; /* these three of the first layer */
    uint32_t probes;
    uint64_t bits;
    uint64_t bytes;
    uint64_t planned_keys; /* 0: unknown */
    double planned_rate;
    bool has_now; /* it is a file; now_keys is infinite if all bits are set */
    double now_keys;
    double now_predicted;
    double now_live;
    uint64_t keys_max;
    size_t count;
    struct tool_curve_point {
        uint64_t keys; /* from 1 on, rising */
        double rate;
    } points[TOOL_CURVE_POINTS];
};

/* Of a solved plan, from 1 to `keys_max` keys; 0: to as many as are worth seeing. False after a
 * message: there is no curve. */
bool tool_curve_of_plan(const bloomery_plan *plan, uint64_t keys_max, struct tool_curve *curve);

/* Of a filter, which `file` names. */
bool tool_curve_of_filter(const char *file, const bloomery_filter *filter, uint64_t keys_max,
                          struct tool_curve *curve);

/* ---- Block fill ------------------------------------------------------------------------------ */

/* How many blocks of a filter have how many bits set, and how many theory expects. */

enum { TOOL_BLOCK_CELLS = 512 };

struct tool_block_fill {
    const char *file;
    bloomery_kind kind;
    bool counters; /* cells are counters, in use if they are not 0 */
    uint32_t blocks_per_key;
    uint32_t probes;
    uint32_t layers;
    uint64_t blocks;
    double keys; /* estimated; infinite if all bits are set */
    /* The number of blocks with so many bits set. */
    uint64_t measured[TOOL_BLOCK_CELLS + 1];
    double expected[TOOL_BLOCK_CELLS + 1];
    double measured_mean, measured_deviation; /* of a block's set bits */
    double expected_mean, expected_deviation;
};

/* Reads all bits. False after a message: a filter of this kind has no such blocks. */
bool tool_block_fill(const char *file, const bloomery_filter *filter, struct tool_block_fill *fill);

/* ---- Plot scale ------------------------------------------------------------------------------ */

/* What drawings in a terminal and in an SVG have in common: ranges, ticks, bins, sentences. */

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

/* ---- Plot json ------------------------------------------------------------------------------- */

/* The numbers of a plot, unrounded. */

/* Both return the exit code. */
int tool_curve_json(const struct tool_curve *curve);
int tool_fill_json(const struct tool_block_fill *fill);

/* ---- Plot svg -------------------------------------------------------------------------------- */

/* Drawings as SVG: one file that needs no other, readable on a light and on a dark page. */

void tool_curve_svg(struct tool_out *out, const struct tool_curve *curve);
void tool_fill_svg(struct tool_out *out, const struct tool_block_fill *fill);

/* ---- Plot terminal --------------------------------------------------------------------------- */

/* Drawings in a terminal: in braille if the locale is UTF-8, else in ASCII. Their width is that of
 * COLUMNS, of the terminal, or 80. */

/* Both return the exit code. */
int tool_curve_print(const struct tool_curve *curve);
int tool_fill_print(const struct tool_block_fill *fill);

#endif /* BLOOMERY_TOOL_COMMAND_PLOT_CHART_H */
