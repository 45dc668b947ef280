/* SPDX-License-Identifier: Apache-2.0 */
/* Two writers of a chart: for the terminal, and as an SVG. */
#include "command/plot/chart.h"

#include "base/numbers.h"
#include "base/out.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- Scales ---------------------------------------------------------------------------------- */

/* The smallest of 1, 2 and 5 times a power of ten, at least 1, of which `max` has at most `ticks`.
 */
static double tick_step(double max, unsigned ticks)
{
    static const double steps[] = {1, 2, 5, 10};
    const double power = pow(10, floor(log10(max / ticks)));
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (max / (steps[i] * power) <= ticks * (1 + 1e-9))
            return fmax(1, steps[i] * power);
    return fmax(1, 20 * power);
}

/* "0", "500 k", "1.5 M": a count with a prefix, in a buffer of TOOL_NUMBER_BYTES. */
static const char *tick_label(char *buffer, double value)
{
    static const char *const prefixes[] = {"", " k", " M", " G", " T"};
    size_t prefix = 0;
    while (value >= 1000 && prefix + 1 < sizeof(prefixes) / sizeof(prefixes[0])) {
        value /= 1000;
        prefix++;
    }
    snprintf(buffer, TOOL_NUMBER_BYTES, "%.4g%s", value, prefixes[prefix]);
    return buffer;
}

/* Where a rate of this logarithm stands: 0 at the top of a drawing, 1 at its bottom, and in
 * between. */
static double rate_place(const struct tool_chart *chart, double height)
{
    return fmin(1, fmax(0, (-height - chart->top) / (chart->bottom - chart->top)));
}

/* Returns the logarithm to base 10 of the rate with this number of keys. It is linear between the
 * points, and -INFINITY before the first one. */
static double rate_height(const struct tool_chart *chart, double keys)
{
    const struct tool_point *points = chart->points;
    size_t after = 0;
    while (after < chart->count && points[after].x < keys)
        after++;
    if (after == chart->count)
        return log10(points[chart->count - 1].line);
    if (after == 0)
        return points[0].x <= keys ? log10(points[0].line) : -INFINITY;
    const double from = points[after - 1].x, to = points[after].x;
    const double low = log10(points[after - 1].line), high = log10(points[after].line);
    return isinf(low) ? low : low + (high - low) * (keys - from) / (to - from);
}

/* Blocks by ranges of their fill: those that are not empty, and nearly all of what is expected. */
struct bins {
    unsigned first; /* the bits set of the first bin, which has `width` numbers of them */
    unsigned width;
    unsigned count;
    uint64_t measured[TOOL_BLOCK_CELLS + 1];
    double expected[TOOL_BLOCK_CELLS + 1];
    double most; /* the largest of both */
};

/* Of few blocks what they might have been is shown, too. */
static bool is_shown(const struct tool_chart *chart, unsigned set)
{
    return chart->points[set].bar > 0 ||
           chart->points[set].line >= fmin(0.5, 0.001 * (double)chart->blocks);
}

/* As narrow as at most `bins` of them allow. */
static void make_bins(const struct tool_chart *chart, unsigned bins, struct bins *made)
{
    unsigned first = 0, last = TOOL_BLOCK_CELLS;
    while (first < last && !is_shown(chart, first))
        first++;
    while (last > first && !is_shown(chart, last))
        last--;
    *made = (struct bins){.width = 1};
    while (last / made->width - first / made->width + 1 > bins)
        made->width *= 2;
    made->first = first / made->width * made->width;
    made->count = last / made->width - first / made->width + 1;
    for (unsigned set = made->first; set <= TOOL_BLOCK_CELLS; set++) {
        const unsigned bin = (set - made->first) / made->width;
        if (bin >= made->count)
            break;
        made->measured[bin] += chart->points[set].bar;
        made->expected[bin] += chart->points[set].line;
    }
    for (unsigned bin = 0; bin < made->count; bin++)
        made->most = fmax(made->most, fmax((double)made->measured[bin], made->expected[bin]));
}

/* ---- The terminal ---------------------------------------------------------------------------- */

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

enum {
    WIDTH_MIN = 40,
    WIDTH_DEFAULT = 80,
    WIDTH_MAX = 200,
    LABEL_COLUMNS = 8, /* left of the axis */
    ROWS = 16,
    TERMINAL_BINS = 24,
    TICK_COLUMNS = 12, /* from one label of keys to the next, at least */
};

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
    const struct tool_chart *chart;
    unsigned char dots[ROWS][WIDTH_MAX];
    unsigned char marks[ROWS][WIDTH_MAX]; /* enum mark */
};

static unsigned dot_column(const struct canvas *canvas, double keys)
{
    const double last = 2 * canvas->columns - 1;
    return (unsigned)fmin(last, fmax(0, round(keys / canvas->chart->last * last)));
}

/* Of a rate's logarithm; a rate below all that is shown is put at the bottom. */
static unsigned dot_row(const struct canvas *canvas, double height)
{
    return (unsigned)round(rate_place(canvas->chart, height) * (4 * ROWS - 1));
}

/* Without gaps where it is steep. */
static void draw_curve(struct canvas *canvas, const struct tool_chart *chart)
{
    static const unsigned char masks[4][2] = {{1, 8}, {2, 16}, {4, 32}, {64, 128}};
    const unsigned columns = 2 * canvas->columns;
    unsigned before = 4 * ROWS;
    for (unsigned column = 0; column < columns; column++) {
        const double keys = canvas->chart->last * column / (columns - 1);
        const double height = rate_height(chart, keys);
        if (height < -(double)chart->bottom)
            continue;
        const unsigned row = dot_row(canvas, height);
        const unsigned from = before > row + 1 ? before - 1 : row;
        for (unsigned at = row; at <= from; at++)
            canvas->dots[at / 4][column / 2] |= masks[at % 4][column % 2];
        before = row;
    }
}

/* Where the plan is, and where the filter is now. */
static void draw_marks(struct canvas *canvas, const struct tool_chart *chart)
{
    if (chart->planned_keys > 0 && chart->planned_keys <= chart->last) {
        const unsigned column = dot_column(canvas, chart->planned_keys) / 2;
        const unsigned row = dot_row(canvas, log10(chart->planned_rate)) / 4;
        for (unsigned at = row; at < ROWS; at++)
            canvas->marks[at][column] = GUIDE_DOWN;
        /* A scalable filter stays below its rate however far it grows. */
        const unsigned end = chart->grows ? canvas->columns : column;
        for (unsigned at = 0; at < end; at++)
            canvas->marks[row][at] = GUIDE_ACROSS;
        canvas->marks[row][column] = PLANNED;
    }
    if (chart->has_now && chart->now_keys <= chart->last) {
        const double height = chart->now_rate > 0 ? log10(chart->now_rate) : -INFINITY;
        const unsigned column = dot_column(canvas, chart->now_keys) / 2;
        canvas->marks[dot_row(canvas, height) / 4][column] = NOW;
    }
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
    const struct tool_chart *range = canvas->chart;
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
    const double step = tick_step(canvas->chart->last, canvas->columns / TICK_COLUMNS);
    size_t used = 0;
    memset(line, ' ', sizeof(line));
    for (double keys = 0; keys <= canvas->chart->last; keys += step) {
        const unsigned column = dot_column(canvas, keys) / 2;
        const size_t length = strlen(tick_label(label, keys));
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

static int print_rate(const struct tool_chart *chart)
{
    struct tool_out out;
    struct canvas canvas = {
        .utf8 = locale_is_utf8(),
        .columns = find_width() - LABEL_COLUMNS - 2,
        .chart = chart,
    };
    draw_curve(&canvas, chart);
    draw_marks(&canvas, chart);
    tool_out_start(&out);
    tool_out_format(&out, "%s\n\n", chart->title);
    print_rows(&out, &canvas);
    print_axis(&out, &canvas);
    tool_out_text(&out, "\n");
    for (int i = 0; i < 2; i++)
        if (chart->facts[i][0] != '\0')
            tool_out_format(&out, "%s %s\n", mark_signs[i == 0 ? PLANNED : NOW][canvas.utf8],
                            chart->facts[i]);
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

static void print_bins(struct tool_out *out, const struct bins *bins, bool utf8, unsigned columns)
{
    char label[2 * TOOL_NUMBER_BYTES], count[TOOL_NUMBER_BYTES], tenths[TOOL_NUMBER_BYTES];
    for (unsigned bin = 0; bin < bins->count; bin++) {
        const unsigned first = bins->first + bin * bins->width;
        const unsigned end = first + bins->width - 1;
        const unsigned last = end < TOOL_BLOCK_CELLS ? end : TOOL_BLOCK_CELLS;
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

static int print_fill(const struct tool_chart *chart)
{
    enum { TABLE_COLUMNS = 39 };
    char bar[4];
    struct tool_out out;
    struct bins bins;
    const bool utf8 = locale_is_utf8();
    const unsigned width = find_width();
    make_bins(chart, TERMINAL_BINS, &bins);
    tool_out_start(&out);
    tool_out_format(&out, "%s\n\n", chart->title);
    tool_out_format(&out, "%9s %13s %13s\n", chart->counters ? "in use" : "bits set", "blocks",
                    "expected");
    print_bins(&out, &bins, utf8, width > TABLE_COLUMNS + 1 ? width - TABLE_COLUMNS : 1);
    tool_out_format(&out, "\n%s %s\n", utf8 ? braille(bar, 0x1b) : "#", chart->facts[0]);
    tool_out_format(&out, "%s %s\n", utf8 ? braille(bar, 0xc0) : "|", chart->facts[1]);
    return tool_out_finish(&out, TOOL_FOUND);
}

int tool_chart_print(const struct tool_chart *chart)
{
    return chart->is_fill ? print_fill(chart) : print_rate(chart);
}

/* ---- Pieces of an SVG ------------------------------------------------------------------------ */

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

/* What it is, for those who see it and for those who hear it; the facts are lines below the title,
 * too. */
static void begin(struct tool_out *out, const struct tool_chart *chart)
{
    /* Of a fill, what the facts are of. */
    const char *const prefixes[2] = {chart->is_fill ? "bars, " : "",
                                     chart->is_fill ? "line, " : ""};
    char facts[2][TOOL_CHART_TEXT_BYTES + 8];
    tool_out_format(out,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                    "viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"title desc\">\n"
                    "<title id=\"title\">",
                    SVG_WIDTH, SVG_HEIGHT, SVG_WIDTH, SVG_HEIGHT);
    put_text(out, chart->title);
    tool_out_text(out, "</title>\n<desc id=\"desc\">");
    put_text(out, chart->is_fill && chart->counters
                      ? "Bars: the number of blocks by their counters in use. A line: the number "
                        "that theory expects."
                  : chart->is_fill
                      ? "Bars: the number of blocks by their bits set. A line: the number "
                        "that theory expects."
                      : "A curve: the false-positive rate, on a logarithmic scale, "
                        "over the number of keys in the filter.");
    for (int i = 0; i < 2; i++) {
        snprintf(facts[i], sizeof(facts[i]), "%s%s", prefixes[i], chart->facts[i]);
        if (facts[i][0] != '\0') {
            tool_out_text(out, " ");
            put_text(out, facts[i]);
            tool_out_text(out, ".");
        }
    }
    tool_out_format(out, "</desc>\n%s<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", style,
                    SVG_WIDTH, SVG_HEIGHT);
    put_label(out, "strong", 24, 28, chart->title);
    put_label(out, "small", 24, 48, facts[0]);
    put_label(out, "small", 24, 66, facts[1]);
}

/* A line across at this height, with its label. */
static void put_grid(struct tool_out *out, double y, const char *label)
{
    put_line(out, "grid", LEFT, y, RIGHT, y);
    put_label(out, "small end", LEFT - 10, y + 4, label);
}

/* Of the horizontal axis counts from `first` to `max`; and the names of both axes. */
static void put_axes(struct tool_out *out, double first, double max, unsigned ticks,
                     const char *across, const char *up)
{
    char label[TOOL_NUMBER_BYTES];
    const double step = tick_step(max - first, ticks);
    for (double value = ceil(first / step) * step; value <= max; value += step) {
        const double x = LEFT + (RIGHT - LEFT) * (value - first) / (max - first);
        put_line(out, "grid", x, BOTTOM, x, BOTTOM + 5);
        put_label(out, "small middle", x, BOTTOM + 20, tick_label(label, value));
    }
    put_label(out, "middle", (LEFT + RIGHT) / 2.0, BOTTOM + 46, across);
    tool_out_format(out,
                    "<text class=\"small middle\" transform=\"translate(22 %d) rotate(-90)\">"
                    "%s</text>\n",
                    (TOP + BOTTOM) / 2, up);
}

/* ---- The rate as an SVG ---------------------------------------------------------------------- */

static double x_of(const struct tool_chart *chart, double keys)
{
    return LEFT + (RIGHT - LEFT) * keys / chart->last;
}

/* A rate below all that is shown is put at the bottom. */
static double y_of(const struct tool_chart *chart, double rate)
{
    const double height = rate > 0 ? log10(rate) : -INFINITY;
    return TOP + (BOTTOM - TOP) * rate_place(chart, height);
}

/* From where the curve rises above the lower edge. */
static void put_curve(struct tool_out *out, const struct tool_chart *chart)
{
    const double edge = -(double)chart->bottom;
    double before = -INFINITY;
    bool begun = false;
    for (size_t i = 0; i < chart->count; i++) {
        const double keys = chart->points[i].x, rate = chart->points[i].line;
        const double height = log10(rate);
        if (height >= edge && !begun) {
            double entry = keys;
            if (isfinite(before))
                entry -= (keys - chart->points[i - 1].x) * (height - edge) / (height - before);
            tool_out_format(out, "<path class=\"curve\" d=\"M%.1f %.1f", x_of(chart, entry),
                            isfinite(before) ? (double)BOTTOM : y_of(chart, rate));
            begun = true;
        }
        if (begun)
            tool_out_format(out, " L%.1f %.1f", x_of(chart, keys), y_of(chart, rate));
        before = height;
    }
    if (begun)
        tool_out_text(out, "\"/>\n");
}

/* Where the plan is, and where the filter is now. */
static void put_marks(struct tool_out *out, const struct tool_chart *chart)
{
    if (chart->planned_keys > 0 && chart->planned_keys <= chart->last) {
        const double x = x_of(chart, chart->planned_keys);
        const double y = y_of(chart, chart->planned_rate);
        /* A scalable filter stays below its rate however far it grows. */
        put_line(out, "guide", LEFT, y, chart->grows ? RIGHT : x, y);
        put_line(out, "guide", x, y, x, BOTTOM);
        tool_out_format(out, "<circle class=\"planned\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n", x, y);
        put_label(out, "small", x + 10, y + 18, "planned");
    }
    if (chart->has_now && chart->now_keys <= chart->last) {
        const double x = x_of(chart, chart->now_keys), y = y_of(chart, chart->now_rate);
        tool_out_format(out, "<circle class=\"now\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n", x, y);
        put_label(out, "small end", x - 10, y - 8, "now");
    }
}

static void put_rate(struct tool_out *out, const struct tool_chart *chart)
{
    const unsigned step = (chart->bottom - chart->top + RATE_LABELS - 1) / RATE_LABELS;
    for (unsigned decade = chart->top; decade <= chart->bottom; decade += step) {
        const double rate = pow(10, -(double)decade);
        put_grid(out, y_of(chart, rate), TOOL_SAY_RATE(rate));
    }
    put_axes(out, 0, chart->last, KEY_TICKS, "keys in the filter",
             "false-positive rate, logarithmic");
    put_curve(out, chart);
    put_marks(out, chart);
}

/* ---- The fill as an SVG ---------------------------------------------------------------------- */

static double bin_x(const struct bins *bins, unsigned bin)
{
    return LEFT + (double)(RIGHT - LEFT) * bin / bins->count;
}

static double bin_y(const struct bins *bins, double blocks)
{
    return BOTTOM - (BOTTOM - TOP) * blocks / bins->most;
}

static void put_bars(struct tool_out *out, const struct bins *bins)
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

static void put_fill(struct tool_out *out, const struct tool_chart *chart)
{
    char label[TOOL_NUMBER_BYTES];
    struct bins bins;
    make_bins(chart, SVG_BINS, &bins);
    const double step = tick_step(bins.most, BLOCK_TICKS);
    for (double blocks = 0; blocks <= bins.most; blocks += step)
        put_grid(out, bin_y(&bins, blocks), tick_label(label, blocks));
    put_axes(out, bins.first, bins.first + (double)bins.width * bins.count, FILL_TICKS,
             chart->counters ? "counters in use in a block" : "bits set in a block", "blocks");
    put_bars(out, &bins);
}

void tool_chart_svg(struct tool_out *out, const struct tool_chart *chart)
{
    begin(out, chart);
    if (chart->is_fill)
        put_fill(out, chart);
    else
        put_rate(out, chart);
    tool_out_text(out, "</svg>\n");
}
