/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chart: what `plot` shows, before it is drawn. There are two.
 *
 *   rate   The false-positive rate over the number of keys, of a plan or of a filter: a line on a
 *          logarithmic scale, and marks where the plan is and where the filter is now.
 *   fill   How many blocks of a filter have how many bits set: bars of those that have, and a line
 *          of how many theory expects.
 *
 * chart.c makes them, with their sentences; all rates are the library's. draw.c draws them in a
 * terminal and as an SVG. As JSON a chart is its report, which has the numbers unrounded.
 */
#ifndef BLOOMERY_TOOL_CHART_H
#define BLOOMERY_TOOL_CHART_H

#include "base/out.h"
#include "base/report.h"

#include <bloomery/bloomery.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TOOL_BLOCK_CELLS = 512,
    TOOL_CHART_TEXT_BYTES = 400,
    /* An even number, so that the planned keys are a point of a curve to twice as many. */
    TOOL_CURVE_POINTS = 128,
};

struct tool_chart {
    bool is_fill;  /* else it is of a rate */
    bool counters; /* a fill of counters, in use if they are not 0 */
    bool grows;    /* a rate that a plan keeps however far the filter grows */

    /* UTF-8 without control characters. The facts are two sentences without a full stop, or "":
     * what is planned and what is now, or the moments of both fills. */
    char title[TOOL_CHART_TEXT_BYTES];
    char facts[2][TOOL_CHART_TEXT_BYTES];

    double last; /* keys, from 0 on; cells set, from 0 on */
    /* Points from the left to the right; of a fill one for each number of cells. */
    size_t count;
    struct tool_point {
        double x;     /* keys, or cells set */
        double line;  /* the rate, or the blocks that are expected */
        uint64_t bar; /* the blocks that there are */
    } points[TOOL_BLOCK_CELLS + 1];
    uint64_t blocks; /* of a fill */

    /* Of a rate. */
    unsigned top, bottom; /* it is shown from 10^-top down to 10^-bottom */
    double planned_keys;  /* 0: unknown */
    double planned_rate;
    bool has_now;    /* it is of a filter */
    double now_keys; /* infinite if all bits are set */
    double now_rate;

    struct tool_report *report; /* for JSON; the caller prints it or frees it */
};

/* The rate of a solved plan, from 1 to `keys_max` keys; 0: to as many as are worth seeing. False
 * after a message that says why it has no curve. */
bool tool_chart_of_plan(const bloomery_plan *plan, uint64_t keys_max, struct tool_chart *chart);

/* That of a filter, which `file` names. */
bool tool_chart_of_filter(const char *file, const bloomery_filter *filter, uint64_t keys_max,
                          struct tool_chart *chart);

/* The fill of its blocks. Reads all bits. False after a message: a filter of this kind has no such
 * blocks. */
bool tool_chart_of_fill(const char *file, const bloomery_filter *filter, struct tool_chart *chart);

/* Draws a chart in a terminal: in braille if the locale is UTF-8, else in ASCII, as wide as COLUMNS
 * or the terminal says, or 80 columns. Returns the exit code. */
int tool_chart_print(const struct tool_chart *chart);

/* Draws it as an SVG. */
void tool_chart_svg(struct tool_out *out, const struct tool_chart *chart);

#endif /* BLOOMERY_TOOL_CHART_H */
