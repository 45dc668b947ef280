/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A braille character is a cell of 2 by 4 dots, U+2800 plus a mask:
 *
 *     0x01 0x08        In ASCII a cell with dots in its upper half is ', with dots in its lower
 *     0x02 0x10        half ., and with both :
 *     0x04 0x20
 *     0x40 0x80
 *
 * The locale is read from the environment, as setlocale would: this program never calls that, so
 * that no number depends on it.
 */
#include "base/out.h"
#include "command/plot/chart.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    WIDTH_MIN = 40,
    WIDTH_DEFAULT = 80,
    WIDTH_MAX = 200,
    LABEL_COLUMNS = 8, /* left of the axis */
    ROWS = 16,
    TERMINAL_BINS = 24,
    TICK_COLUMNS = 12, /* from one label of keys to the next, at least */
};

/* ---- The terminal ---------------------------------------------------------------------------- */

static bool locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value == NULL || value[0] == '\0')
            continue;
        const char *charset = strchr(value, '.');
        return charset != NULL &&
               (strncasecmp(charset, ".UTF-8", 6) == 0 || strncasecmp(charset, ".utf8", 5) == 0);
    }
    return false;
}

static unsigned find_width(void)
{
    const char *columns = getenv("COLUMNS");
    struct winsize size = {0};
    unsigned long width = columns != NULL ? strtoul(columns, NULL, 10) : 0;
    if (width == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        width = size.ws_col;
    if (width == 0)
        width = WIDTH_DEFAULT;
    return (unsigned)(width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width);
}

/* A mask as a character of UTF-8. */
static const char *braille(char text[4], unsigned mask)
{
    text[0] = (char)0xe2;
    text[1] = (char)(0xa0 | mask >> 6);
    text[2] = (char)(0x80 | (mask & 0x3f));
    text[3] = '\0';
    return text;
}

/* ---- The canvas of a curve ------------------------------------------------------------------- */

enum mark { NOTHING, GUIDE_DOWN, GUIDE_ACROSS, PLANNED, NOW, MARKS };

/* In ASCII, and in UTF-8. */
static const char *const mark_signs[MARKS][2] = {
    {" ", " "}, {"|", "┊"}, {"-", "┄"}, {"+", "◇"}, {"O", "●"},
};

struct canvas {
    bool utf8;
    unsigned columns;
    double keys_max;
    struct tool_rate_range range;
    unsigned char dots[ROWS][WIDTH_MAX];
    unsigned char marks[ROWS][WIDTH_MAX]; /* enum mark */
};

static unsigned dot_column(const struct canvas *canvas, double keys)
{
    const double last = 2 * canvas->columns - 1;
    return (unsigned)fmin(last, fmax(0, round(keys / canvas->keys_max * last)));
}

/* Of a rate's logarithm; a rate below all that is shown is put at the bottom. */
static unsigned dot_row(const struct canvas *canvas, double height)
{
    return (unsigned)round(tool_rate_place(&canvas->range, height) * (4 * ROWS - 1));
}

static void set_dot(struct canvas *canvas, unsigned column, unsigned row)
{
    static const unsigned char masks[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    canvas->dots[row / 4][column / 2] |= masks[row % 4][column % 2];
}

/* Without gaps where it is steep. */
static void draw_curve(struct canvas *canvas, const struct tool_curve *curve)
{
    const unsigned columns = 2 * canvas->columns;
    unsigned before = 4 * ROWS;
    for (unsigned column = 0; column < columns; column++) {
        const double keys = canvas->keys_max * column / (columns - 1);
        const double height = tool_curve_height(curve, keys);
        if (height < -(double)canvas->range.bottom)
            continue;
        const unsigned row = dot_row(canvas, height);
        const unsigned from = before > row + 1 ? before - 1 : row;
        for (unsigned at = row; at <= from; at++)
            set_dot(canvas, column, at);
        before = row;
    }
}

static void draw_planned(struct canvas *canvas, const struct tool_curve *curve)
{
    if (curve->planned_keys == 0 || curve->planned_keys > curve->keys_max)
        return;
    const unsigned column = dot_column(canvas, (double)curve->planned_keys) / 2;
    const unsigned row = dot_row(canvas, log10(curve->planned_rate)) / 4;
    for (unsigned at = row; at < ROWS; at++)
        canvas->marks[at][column] = GUIDE_DOWN;
    /* A scalable filter stays below its rate however far it grows. */
    const unsigned end = curve->kind == BLOOMERY_SCALABLE ? canvas->columns : column;
    for (unsigned at = 0; at < end; at++)
        canvas->marks[row][at] = GUIDE_ACROSS;
    canvas->marks[row][column] = PLANNED;
}

static void draw_now(struct canvas *canvas, const struct tool_curve *curve)
{
    if (!curve->has_now || !(curve->now_keys <= (double)curve->keys_max))
        return;
    const double height = curve->now_predicted > 0 ? log10(curve->now_predicted) : -INFINITY;
    const unsigned column = dot_column(canvas, curve->now_keys) / 2;
    canvas->marks[dot_row(canvas, height) / 4][column] = NOW;
}

static void print_cell(struct tool_out *out, const struct canvas *canvas, unsigned row,
                       unsigned column)
{
    char text[4];
    const unsigned dots = canvas->dots[row][column];
    const enum mark mark = (enum mark)canvas->marks[row][column];
    if (dots == 0 || mark >= PLANNED)
        tool_out_text(out, mark_signs[mark][canvas->utf8]);
    else if (canvas->utf8)
        tool_out_text(out, braille(text, dots));
    else
        tool_out_text(out, (dots & 0xe4) == 0 ? "'" : (dots & 0x1b) == 0 ? "." : ":");
}

/* The name of the decade in this row, or "". */
static const char *row_label(char *label, const struct canvas *canvas, unsigned row)
{
    const struct tool_rate_range *range = &canvas->range;
    const unsigned decades = range->bottom - range->top;
    const unsigned step = (2 * decades + ROWS - 1) / ROWS; /* every other row at most */
    label[0] = '\0';
    for (unsigned decade = range->top; decade <= range->bottom; decade += step)
        if (dot_row(canvas, -(double)decade) / 4 == row)
            tool_format_rate(label, pow(10, -(double)decade));
    return label;
}

static void print_rows(struct tool_out *out, const struct canvas *canvas)
{
    char label[TOOL_NUMBER_BYTES];
    for (unsigned row = 0; row < ROWS; row++) {
        unsigned end = canvas->columns;
        while (end > 0 && canvas->dots[row][end - 1] == 0 && canvas->marks[row][end - 1] == 0)
            end--;
        row_label(label, canvas, row);
        tool_out_format(out, "%*s %s", LABEL_COLUMNS, label,
                        canvas->utf8 ? (label[0] != '\0' ? "┤" : "│")
                                     : (label[0] != '\0' ? "+" : "|"));
        for (unsigned column = 0; column < end; column++)
            print_cell(out, canvas, row, column);
        tool_out_text(out, "\n");
    }
}

static void print_axis(struct tool_out *out, const struct canvas *canvas)
{
    char label[TOOL_NUMBER_BYTES], line[WIDTH_MAX + TOOL_NUMBER_BYTES];
    bool ticks[WIDTH_MAX] = {false};
    const double step = tool_tick_step(canvas->keys_max, canvas->columns / TICK_COLUMNS);
    size_t used = 0;
    memset(line, ' ', sizeof(line));
    for (double keys = 0; keys <= canvas->keys_max; keys += step) {
        const unsigned column = dot_column(canvas, keys) / 2;
        const size_t length = strlen(tool_tick_label(label, keys));
        size_t at = LABEL_COLUMNS + 2 + column - (column + 2 > length / 2 ? length / 2 : 0);
        if (at + length > LABEL_COLUMNS + 2 + canvas->columns)
            at = LABEL_COLUMNS + 2 + canvas->columns - length;
        memcpy(line + at, label, length);
        used = at + length;
        ticks[column] = true;
    }
    line[used] = '\0';
    tool_out_format(out, "%*s%s", LABEL_COLUMNS + 1, "", canvas->utf8 ? "└" : "+");
    for (unsigned column = 0; column < canvas->columns; column++)
        tool_out_text(out,
                      canvas->utf8 ? (ticks[column] ? "┬" : "─") : (ticks[column] ? "+" : "-"));
    tool_out_format(out, "\n%s\n%*srate (logarithmic) over keys\n", line, LABEL_COLUMNS + 2, "");
}

int tool_curve_print(const struct tool_curve *curve)
{
    char text[TOOL_PLOT_TEXT_BYTES];
    struct tool_out out;
    struct canvas canvas = {
        .utf8 = locale_is_utf8(),
        .columns = find_width() - LABEL_COLUMNS - 2,
        .keys_max = (double)curve->keys_max,
        .range = tool_curve_range(curve),
    };
    draw_curve(&canvas, curve);
    draw_planned(&canvas, curve);
    draw_now(&canvas, curve);
    tool_out_start(&out);
    tool_out_format(&out, "%s\n\n", tool_curve_title(text, curve));
    print_rows(&out, &canvas);
    print_axis(&out, &canvas);
    tool_out_text(&out, "\n");
    if (tool_curve_planned(text, curve)[0] != '\0')
        tool_out_format(&out, "%s %s\n", mark_signs[PLANNED][canvas.utf8], text);
    if (tool_curve_now(text, curve)[0] != '\0')
        tool_out_format(&out, "%s %s\n", mark_signs[NOW][canvas.utf8], text);
    return tool_out_finish(&out, TOOL_FOUND);
}

/* ---- The bars of a fill ---------------------------------------------------------------------- */

/* Measured in the upper two rows of dots, expected in the lowest one. */
static void print_braille_bar(struct tool_out *out, double measured, double expected,
                              unsigned columns)
{
    char text[4];
    const unsigned dots = 2 * columns;
    const unsigned of_measured = (unsigned)round(measured * dots);
    const unsigned of_expected = (unsigned)round(expected * dots);
    for (unsigned dot = 0; dot < of_measured || dot < of_expected; dot += 2) {
        const unsigned mask = (dot < of_measured ? 0x03 : 0) | (dot + 1 < of_measured ? 0x18 : 0) |
                              (dot < of_expected ? 0x40 : 0) | (dot + 1 < of_expected ? 0x80 : 0);
        tool_out_text(out, braille(text, mask));
    }
}

/* "#####|##": the bar is measured, its | is where it is expected to end. */
static void print_ascii_bar(struct tool_out *out, double measured, double expected,
                            unsigned columns)
{
    const unsigned bar = (unsigned)round(measured * columns);
    const unsigned mark = (unsigned)round(expected * columns);
    for (unsigned column = 1; column <= bar || column <= mark; column++)
        tool_out_text(out, column == mark ? "|" : column <= bar ? "#" : " ");
}

/* "1,045.3" */
static const char *format_tenths(char *buffer, double value)
{
    const double tenths = round(10 * value);
    tool_format_count(buffer, (uint64_t)(tenths / 10));
    const size_t length = strlen(buffer);
    snprintf(buffer + length, TOOL_NUMBER_BYTES - length, ".%u", (unsigned)fmod(tenths, 10));
    return buffer;
}

static void print_bins(struct tool_out *out, const struct tool_bins *bins, bool utf8,
                       unsigned columns)
{
    char label[2 * TOOL_NUMBER_BYTES], count[TOOL_NUMBER_BYTES], tenths[TOOL_NUMBER_BYTES];
    for (unsigned bin = 0; bin < bins->count; bin++) {
        const unsigned first = bins->first + bin * bins->width, last = tool_bin_last(bins, bin);
        if (last > first)
            snprintf(label, sizeof(label), "%u-%u", first, last);
        else
            snprintf(label, sizeof(label), "%u", first);
        tool_out_format(out, "%9s %13s %13s", label, tool_format_count(count, bins->measured[bin]),
                        format_tenths(tenths, bins->expected[bin]));
        const double measured = (double)bins->measured[bin] / bins->most,
                     expected = bins->expected[bin] / bins->most;
        if (fmax(measured, expected) * columns >= 0.5)
            tool_out_text(out, " ");
        if (utf8)
            print_braille_bar(out, measured, expected, columns);
        else
            print_ascii_bar(out, measured, expected, columns);
        tool_out_text(out, "\n");
    }
}

int tool_fill_print(const struct tool_block_fill *fill)
{
    enum { TABLE_COLUMNS = 39 };
    char text[TOOL_PLOT_TEXT_BYTES], bar[4];
    struct tool_out out;
    struct tool_bins bins;
    const bool utf8 = locale_is_utf8();
    const unsigned width = find_width();
    tool_bins_make(fill, TERMINAL_BINS, &bins);
    tool_out_start(&out);
    tool_out_format(&out, "%s\n\n", tool_fill_title(text, fill));
    tool_out_format(&out, "%9s %13s %13s\n", fill->counters ? "in use" : "bits set", "blocks",
                    "expected");
    print_bins(&out, &bins, utf8, width > TABLE_COLUMNS + 1 ? width - TABLE_COLUMNS : 1);
    tool_out_format(&out, "\n%s measured: %s\n", utf8 ? braille(bar, 0x1b) : "#",
                    tool_fill_moments(text, fill->measured_mean, fill->measured_deviation));
    tool_out_format(&out, "%s expected: %s\n", utf8 ? braille(bar, 0xc0) : "|",
                    tool_fill_moments(text, fill->expected_mean, fill->expected_deviation));
    return tool_out_finish(&out, TOOL_FOUND);
}

/* ---- Plot svg -------------------------------------------------------------------------------- */

enum {
    SVG_WIDTH = 760,
    SVG_HEIGHT = 440,
    LEFT = 92,
    RIGHT = 728,
    TOP = 84,
    BOTTOM = 376,
    KEY_TICKS = 6,
    BLOCK_TICKS = 5,
    FILL_TICKS = 8,
    SVG_BINS = 128,
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
                    SVG_WIDTH, SVG_HEIGHT, SVG_WIDTH, SVG_HEIGHT);
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
                    SVG_WIDTH, SVG_HEIGHT);
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
    tool_bins_make(fill, SVG_BINS, &bins);
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
