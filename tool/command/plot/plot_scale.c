/* SPDX-License-Identifier: Apache-2.0 */
#include "command/plot/plot_scale.h"

#include "base/json.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Ranges ---------------------------------------------------------------------------------- */

enum {
    DECADES_MIN = 2,
    DECADES_MAX = 40,
    DECADES_BELOW_PLAN = 6, /* a filter with hardly a key has rates like 1e-30 */
};

#define MARGIN 1.7 /* decades */

double tool_tick_step(double max, unsigned ticks)
{
    static const double steps[] = {1, 2, 5, 10};
    const double power = pow(10, floor(log10(max / ticks)));
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (max / (steps[i] * power) <= ticks * (1 + 1e-9))
            return fmax(1, steps[i] * power);
    return fmax(1, 20 * power);
}

const char *tool_tick_label(char *buffer, double value)
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

struct tool_rate_range tool_curve_range(const struct tool_curve *curve)
{
    /* The interesting part begins a little below the plan, or below what is now. */
    const double last = curve->points[curve->count - 1].rate;
    const double planned = curve->planned_rate > 0 ? curve->planned_rate : last;
    const bool drawn = curve->now_predicted > 0 && curve->now_keys <= (double)curve->keys_max;
    const double now = drawn ? curve->now_predicted : last;
    const double lowest = fmin(planned, last) * pow(10, -DECADES_BELOW_PLAN);
    const double low = fmax(fmin(fmin(planned, last), now), fmax(lowest, pow(10, -DECADES_MAX)));
    const double high = fmin(1, fmax(fmax(planned, last), now));
    struct tool_rate_range range;
    range.top = (unsigned)fmin(fmax(0, floor(-log10(high) + 1e-9)), DECADES_MAX - DECADES_MIN);
    range.bottom = (unsigned)fmin(ceil(-log10(low) + MARGIN), DECADES_MAX);
    if (range.bottom < range.top + DECADES_MIN)
        range.bottom = range.top + DECADES_MIN;
    return range;
}

double tool_rate_place(const struct tool_rate_range *range, double height)
{
    return fmin(1, fmax(0, (-height - range->top) / (range->bottom - range->top)));
}

double tool_curve_height(const struct tool_curve *curve, double keys)
{
    const struct tool_curve_point *points = curve->points;
    size_t after = 0;
    while (after < curve->count && (double)points[after].keys < keys)
        after++;
    if (after == curve->count)
        return log10(points[curve->count - 1].rate);
    if (after == 0)
        return (double)points[0].keys <= keys ? log10(points[0].rate) : -INFINITY;
    const double from = (double)points[after - 1].keys, to = (double)points[after].keys;
    const double low = log10(points[after - 1].rate), high = log10(points[after].rate);
    return isinf(low) ? low : low + (high - low) * (keys - from) / (to - from);
}

/* ---- Bins ------------------------------------------------------------------------------------ */

/* Of few blocks what they might have been is shown, too. */
static bool is_shown(const struct tool_block_fill *fill, unsigned set)
{
    return fill->measured[set] > 0 ||
           fill->expected[set] >= fmin(0.5, 0.001 * (double)fill->blocks);
}

void tool_bins_make(const struct tool_block_fill *fill, unsigned bins, struct tool_bins *made)
{
    unsigned first = 0, last = TOOL_BLOCK_CELLS;
    while (first < last && !is_shown(fill, first))
        first++;
    while (last > first && !is_shown(fill, last))
        last--;
    *made = (struct tool_bins){.width = 1};
    while (last / made->width - first / made->width + 1 > bins)
        made->width *= 2;
    made->first = first / made->width * made->width;
    made->count = last / made->width - first / made->width + 1;
    for (unsigned set = made->first; set <= TOOL_BLOCK_CELLS; set++) {
        const unsigned bin = (set - made->first) / made->width;
        if (bin >= made->count)
            break;
        made->measured[bin] += fill->measured[set];
        made->expected[bin] += fill->expected[set];
    }
    for (unsigned bin = 0; bin < made->count; bin++)
        made->most = fmax(made->most, fmax((double)made->measured[bin], made->expected[bin]));
}

unsigned tool_bin_last(const struct tool_bins *bins, unsigned bin)
{
    const unsigned last = bins->first + (bin + 1) * bins->width - 1;
    return last < TOOL_BLOCK_CELLS ? last : TOOL_BLOCK_CELLS;
}

/* ---- Sentences ------------------------------------------------------------------------------- */

enum { NAME_BYTES = 200 };

/* "ids.bloom, " or nothing. */
static const char *show_file(char name[NAME_BYTES], const char *file)
{
    name[0] = '\0';
    if (file == NULL)
        return name;
    json_t *text = tool_json_text(file); /* UTF-8, whatever the name was */
    const char *from = json_string_value(text);
    size_t length = strlen(from);
    if (length > NAME_BYTES - 3) { /* its end tells more; not from within a character */
        from += length - (NAME_BYTES - 3);
        while (((unsigned char)*from & 0xc0) == 0x80)
            from++;
        length = strlen(from);
    }
    memcpy(name, from, length + 1);
    tool_printable(name);
    memcpy(name + length, ", ", 3);
    json_decref(text);
    return name;
}

const char *tool_curve_title(char text[TOOL_PLOT_TEXT_BYTES], const struct tool_curve *curve)
{
    char name[NAME_BYTES], memory[TOOL_NUMBER_BYTES];
    snprintf(text, TOOL_PLOT_TEXT_BYTES,
             "False-positive rate over the number of keys: %s%s filter, %s",
             show_file(name, curve->file),
             curve->dialect != NULL ? curve->dialect : bloomery_kind_name((int)curve->kind),
             tool_format_size(memory, curve->bytes));
    return text;
}

const char *tool_fill_title(char text[TOOL_PLOT_TEXT_BYTES], const struct tool_block_fill *fill)
{
    char name[NAME_BYTES], blocks[TOOL_NUMBER_BYTES];
    snprintf(text, TOOL_PLOT_TEXT_BYTES, "Fill by block: %s%s filter, %s block%s of %d %s",
             show_file(name, fill->file), bloomery_kind_name((int)fill->kind),
             tool_format_count(blocks, fill->blocks), fill->blocks == 1 ? "" : "s",
             TOOL_BLOCK_CELLS, fill->counters ? "counters" : "bits");
    return text;
}

const char *tool_curve_planned(char text[TOOL_PLOT_TEXT_BYTES], const struct tool_curve *curve)
{
    char keys[TOOL_NUMBER_BYTES], rate[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES];
    text[0] = '\0';
    if (curve->planned_keys > 0)
        snprintf(text, TOOL_PLOT_TEXT_BYTES, "planned: %s key%s at a rate of %s (%s)%s",
                 tool_format_count(keys, curve->planned_keys), curve->planned_keys == 1 ? "" : "s",
                 tool_format_rate(rate, curve->planned_rate),
                 tool_format_odds(odds, curve->planned_rate),
                 curve->kind == BLOOMERY_SCALABLE ? ", however far it grows" : "");
    return text;
}

const char *tool_curve_now(char text[TOOL_PLOT_TEXT_BYTES], const struct tool_curve *curve)
{
    char keys[TOOL_NUMBER_BYTES], predicted[TOOL_NUMBER_BYTES], live[TOOL_NUMBER_BYTES];
    text[0] = '\0';
    if (!curve->has_now)
        return text;
    if (isinf(curve->now_keys))
        snprintf(text, TOOL_PLOT_TEXT_BYTES, "now: any number of keys, all bits are set: rate 1");
    else
        snprintf(text, TOOL_PLOT_TEXT_BYTES,
                 "now: about %s key%s, at a rate of %s as predicted, %s live",
                 tool_format_count(keys, (uint64_t)(curve->now_keys + 0.5)),
                 curve->now_keys >= 0.5 && curve->now_keys < 1.5 ? "" : "s",
                 tool_format_rate(predicted, curve->now_predicted + 0.0),
                 tool_format_rate(live, curve->now_live + 0.0));
    return text;
}

const char *tool_fill_moments(char text[TOOL_PLOT_TEXT_BYTES], double mean, double deviation)
{
    snprintf(text, TOOL_PLOT_TEXT_BYTES, "mean %.1f, standard deviation %.1f", mean, deviation);
    return text;
}
