/* SPDX-License-Identifier: Apache-2.0 */
#include "command/plot/plot_svg.h"

#include "command/plot/plot_scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WIDTH = 760,
    HEIGHT = 440,
    LEFT = 92,
    RIGHT = 728,
    TOP = 84,
    BOTTOM = 376,
    KEY_TICKS = 6,
    BLOCK_TICKS = 5,
    FILL_TICKS = 8,
    BINS = 128,
    RATE_LABELS = 8,
};

static const char style[] =
    "<style>\n"
    "text { font: 14px sans-serif; fill: #1f2328; }\n"
    ".small { font-size: 12px; }\n"
    ".strong { font-weight: bold; }\n"
    ".middle { text-anchor: middle; }\n"
    ".end { text-anchor: end; }\n"
    ".page { fill: #ffffff; }\n"
    ".grid { stroke: #d0d7de; }\n"
    ".guide { fill: none; stroke: #57606a; stroke-dasharray: 3 4; }\n"
    ".curve { fill: none; stroke: #0969da; stroke-width: 2.5; stroke-linejoin: round; }\n"
    ".bar { fill: #9ecbff; }\n"
    ".expected { fill: none; stroke: #bc4c00; stroke-width: 2; }\n"
    ".planned { fill: #ffffff; stroke: #57606a; stroke-width: 2; }\n"
    ".now { fill: #bc4c00; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "text { fill: #e6edf3; }\n"
    ".page { fill: #0d1117; }\n"
    ".grid { stroke: #30363d; }\n"
    ".guide { stroke: #9ea7b3; }\n"
    ".curve { stroke: #58a6ff; }\n"
    ".bar { fill: #1f6feb; }\n"
    ".expected { stroke: #ffa657; }\n"
    ".planned { fill: #0d1117; stroke: #9ea7b3; }\n"
    ".now { fill: #ffa657; }\n"
    "}\n"
    "</style>\n";

/* ---- Pieces ---------------------------------------------------------------------------------- */

/* The titles are UTF-8 without control characters. U+FFFE and U+FFFF are UTF-8 and not XML. */
static void put_text(struct tool_out *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '&')
            tool_out_text(out, "&amp;");
        else if (*text == '<')
            tool_out_text(out, "&lt;");
        else if (*text == '>')
            tool_out_text(out, "&gt;");
        else if (strncmp(text, "\xef\xbf\xbe", 3) == 0 || strncmp(text, "\xef\xbf\xbf", 3) == 0) {
            tool_out_text(out, "?");
            text += 2;
        } else
            tool_out_bytes(out, text, 1);
    }
}

static void put_label(struct tool_out *out, const char *look, double x, double y, const char *text)
{
    tool_out_format(out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", look, x, y);
    put_text(out, text);
    tool_out_text(out, "</text>\n");
}

static void put_line(struct tool_out *out, const char *look, double x1, double y1, double x2,
                     double y2)
{
    tool_out_format(out, "<path class=\"%s\" d=\"M%.1f %.1f L%.1f %.1f\"/>\n", look, x1, y1, x2,
                    y2);
}

/* `facts`: two sentences without a full stop, which may be "". They are the description, and lines
 * below the title. */
static void begin(struct tool_out *out, const char *title, const char *what,
                  const char *const facts[2])
{
    tool_out_format(out,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                    "viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"title desc\">\n"
                    "<title id=\"title\">",
                    WIDTH, HEIGHT, WIDTH, HEIGHT);
    put_text(out, title);
    tool_out_text(out, "</title>\n<desc id=\"desc\">");
    put_text(out, what);
    for (int i = 0; i < 2; i++)
        if (facts[i][0] != '\0') {
            tool_out_text(out, " ");
            put_text(out, facts[i]);
            tool_out_text(out, ".");
        }
    tool_out_format(out, "</desc>\n%s<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", style,
                    WIDTH, HEIGHT);
    put_label(out, "strong", 24, 28, title);
}

/* Of the horizontal axis: counts from 0 to `max`, of which 0 is `first`. */
static void put_across(struct tool_out *out, double first, double max, unsigned ticks,
                       const char *name)
{
    char label[TOOL_NUMBER_BYTES];
    const double step = tool_tick_step(max - first, ticks);
    for (double value = ceil(first / step) * step; value <= max; value += step) {
        const double x = LEFT + (RIGHT - LEFT) * (value - first) / (max - first);
        put_line(out, "grid", x, BOTTOM, x, BOTTOM + 5);
        put_label(out, "small middle", x, BOTTOM + 20, tool_tick_label(label, value));
    }
    put_label(out, "middle", (LEFT + RIGHT) / 2.0, BOTTOM + 46, name);
}

/* ---- The rate -------------------------------------------------------------------------------- */

static double x_of(const struct tool_curve *curve, double keys)
{
    return LEFT + (RIGHT - LEFT) * keys / (double)curve->keys_max;
}

/* A rate below all that is shown is put at the bottom. */
static double y_of(const struct tool_rate_range *range, double rate)
{
    const double height = rate > 0 ? log10(rate) : -INFINITY;
    return TOP + (BOTTOM - TOP) * tool_rate_place(range, height);
}

static void put_rates(struct tool_out *out, const struct tool_rate_range *range)
{
    char label[TOOL_NUMBER_BYTES];
    const unsigned step = (range->bottom - range->top + RATE_LABELS - 1) / RATE_LABELS;
    for (unsigned decade = range->top; decade <= range->bottom; decade += step) {
        const double rate = pow(10, -(double)decade), y = y_of(range, rate);
        put_line(out, "grid", LEFT, y, RIGHT, y);
        put_label(out, "small end", LEFT - 10, y + 4, tool_format_rate(label, rate));
    }
}

/* From where the curve rises above the lower edge. */
static void put_curve(struct tool_out *out, const struct tool_curve *curve,
                      const struct tool_rate_range *range)
{
    const double edge = -(double)range->bottom;
    double before = -INFINITY;
    bool begun = false;
    for (size_t i = 0; i < curve->count; i++) {
        const double keys = (double)curve->points[i].keys, rate = curve->points[i].rate;
        const double height = log10(rate);
        if (height >= edge && !begun) {
            double entry = keys;
            if (isfinite(before))
                entry -= (keys - (double)curve->points[i - 1].keys) * (height - edge) /
                         (height - before);
            tool_out_format(out, "<path class=\"curve\" d=\"M%.1f %.1f", x_of(curve, entry),
                            isfinite(before) ? (double)BOTTOM : y_of(range, rate));
            begun = true;
        }
        if (begun)
            tool_out_format(out, " L%.1f %.1f", x_of(curve, keys), y_of(range, rate));
        before = height;
    }
    if (begun)
        tool_out_text(out, "\"/>\n");
}

static void put_planned(struct tool_out *out, const struct tool_curve *curve,
                        const struct tool_rate_range *range)
{
    if (curve->planned_keys == 0 || curve->planned_keys > curve->keys_max)
        return;
    const double x = x_of(curve, (double)curve->planned_keys);
    const double y = y_of(range, curve->planned_rate);
    /* A scalable filter stays below its rate however far it grows. */
    put_line(out, "guide", LEFT, y, curve->kind == BLOOMERY_SCALABLE ? RIGHT : x, y);
    put_line(out, "guide", x, y, x, BOTTOM);
    tool_out_format(out, "<circle class=\"planned\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n", x, y);
    put_label(out, "small", x + 10, y + 18, "planned");
}

static void put_now(struct tool_out *out, const struct tool_curve *curve,
                    const struct tool_rate_range *range)
{
    if (!curve->has_now || !(curve->now_keys <= (double)curve->keys_max))
        return;
    const double x = x_of(curve, curve->now_keys), y = y_of(range, curve->now_predicted);
    tool_out_format(out, "<circle class=\"now\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n", x, y);
    put_label(out, "small end", x - 10, y - 8, "now");
}

void tool_curve_svg(struct tool_out *out, const struct tool_curve *curve)
{
    char title[TOOL_PLOT_TEXT_BYTES], planned[TOOL_PLOT_TEXT_BYTES], now[TOOL_PLOT_TEXT_BYTES];
    const struct tool_rate_range range = tool_curve_range(curve);
    const char *const facts[] = {tool_curve_planned(planned, curve), tool_curve_now(now, curve)};
    begin(out, tool_curve_title(title, curve),
          "A curve: the false-positive rate, on a logarithmic scale, over the number of keys in "
          "the filter.",
          facts);
    put_label(out, "small", 24, 48, planned);
    put_label(out, "small", 24, 66, now);
    put_rates(out, &range);
    put_across(out, 0, (double)curve->keys_max, KEY_TICKS, "keys in the filter");
    tool_out_format(out,
                    "<text class=\"small middle\" transform=\"translate(22 %d) rotate(-90)\">"
                    "false-positive rate, logarithmic</text>\n",
                    (TOP + BOTTOM) / 2);
    put_curve(out, curve, &range);
    put_planned(out, curve, &range);
    put_now(out, curve, &range);
    tool_out_text(out, "</svg>\n");
}

/* ---- The fill -------------------------------------------------------------------------------- */

static double bin_x(const struct tool_bins *bins, unsigned bin)
{
    return LEFT + (double)(RIGHT - LEFT) * bin / bins->count;
}

static double bin_y(const struct tool_bins *bins, double blocks)
{
    return BOTTOM - (BOTTOM - TOP) * blocks / bins->most;
}

static void put_blocks(struct tool_out *out, const struct tool_bins *bins)
{
    char label[TOOL_NUMBER_BYTES];
    const double step = tool_tick_step(bins->most, BLOCK_TICKS);
    for (double blocks = 0; blocks <= bins->most; blocks += step) {
        const double y = bin_y(bins, blocks);
        put_line(out, "grid", LEFT, y, RIGHT, y);
        put_label(out, "small end", LEFT - 10, y + 4, tool_tick_label(label, blocks));
    }
}

static void put_bars(struct tool_out *out, const struct tool_bins *bins)
{
    for (unsigned bin = 0; bin < bins->count; bin++)
        if (bins->measured[bin] > 0) {
            const double y = bin_y(bins, (double)bins->measured[bin]);
            tool_out_format(out,
                            "<rect class=\"bar\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
                            "height=\"%.2f\"/>\n",
                            bin_x(bins, bin), y, 0.9 * (RIGHT - LEFT) / bins->count, BOTTOM - y);
        }
    for (unsigned bin = 0; bin < bins->count; bin++)
        tool_out_format(out, "%s%.2f %.2f", bin > 0 ? " L" : "<path class=\"expected\" d=\"M",
                        bin_x(bins, bin) + 0.45 * (RIGHT - LEFT) / bins->count,
                        bin_y(bins, bins->expected[bin]));
    tool_out_text(out, "\"/>\n");
}

void tool_fill_svg(struct tool_out *out, const struct tool_block_fill *fill)
{
    char title[TOOL_PLOT_TEXT_BYTES], moments[TOOL_PLOT_TEXT_BYTES];
    char measured[TOOL_PLOT_TEXT_BYTES], expected[TOOL_PLOT_TEXT_BYTES];
    struct tool_bins bins;
    tool_bins_make(fill, BINS, &bins);
    snprintf(measured, sizeof(measured), "bars, measured: %s",
             tool_fill_moments(moments, fill->measured_mean, fill->measured_deviation));
    snprintf(expected, sizeof(expected), "line, expected: %s",
             tool_fill_moments(moments, fill->expected_mean, fill->expected_deviation));
    const char *const facts[] = {measured, expected};
    begin(out, tool_fill_title(title, fill),
          fill->counters ? "Bars: how many blocks have so many counters in use. A line: how many "
                           "of them theory expects."
                         : "Bars: how many blocks have so many bits set. A line: how many of them "
                           "theory expects.",
          facts);
    put_label(out, "small", 24, 48, measured);
    put_label(out, "small", 24, 66, expected);
    put_blocks(out, &bins);
    put_across(out, bins.first, bins.first + (double)bins.width * bins.count, FILL_TICKS,
               fill->counters ? "counters in use in a block" : "bits set in a block");
    tool_out_format(out,
                    "<text class=\"small middle\" transform=\"translate(22 %d) rotate(-90)\">"
                    "blocks</text>\n",
                    (TOP + BOTTOM) / 2);
    put_bars(out, &bins);
    tool_out_text(out, "</svg>\n");
}
