/* SPDX-License-Identifier: Apache-2.0 */
/* See build_report.h. */
#include "command/build_report.h"

#include "base/json.h"
#include "base/numbers.h"
#include "filter/files.h"
#include "filter/filter_report.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * The number of different keys is an estimate. Of m bits, n keys with k bits each set a number
 * whose variance is about m e^-c (1 - (1 + c) e^-c), where c = n k / m, and a bit more or less
 * stands for e^c / k keys; so the estimate's standard deviation is sqrt(m (e^c - 1 - c)) / k: 2,500
 * of 100 million keys at a rate of 1 in 100. Lines that are fuller than others add a twentieth.
 * Only where the records are six times that more, and some, it is said that keys were repeated.
 */
static bool surely_repeated(const struct tool_change *change)
{
    const bloomery_info *info = &change->facts.info;
    const bloomery_scan_result *scan = &change->facts.scan;
    if (!info->has_bits) /* its keys are counted, not estimated */
        return (double)change->records > scan->estimated_keys;
    double bits_per_key = info->probes * (info->blocks_per_key > 0 ? info->blocks_per_key : 1.0);
    double load = -log1p(-scan->fill);
    double deviation = sqrt((double)info->bits * (expm1(load) - load)) / bits_per_key;
    if (info->layers > 1) /* layers differ in fill and probes: a bound, not the deviation */
        deviation += 0.001 * (double)change->records;
    return (double)change->records - scan->estimated_keys > 10 + 6 * deviation;
}

/* More keys than it was planned for. A scalable filter grows instead. */
static bool is_overfull(const bloomery_plan *plan, const struct tool_change *change)
{
    return plan->kind != BLOOMERY_SCALABLE && change->records > plan->planned_keys;
}

/* What "wrote" says of keys and rate. While the filter is within its plan, the rate is the one
 * planned; past it, only the bits know what has become of it. */
static void describe(char *text, size_t room, const bloomery_plan *plan,
                     const struct tool_change *change)
{
    char records[TOOL_NUMBER_BYTES], keys[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES];
    char size[TOOL_NUMBER_BYTES], layers[TOOL_NUMBER_BYTES] = "";
    bool overfull = is_overfull(plan, change);
    double estimated = change->facts.scan.estimated_keys;
    tool_format_count(records, change->records);
    tool_format_size(size, change->facts.info.file_bytes);
    tool_format_odds(odds, overfull ? change->facts.scan.live_rate : plan->planned_rate);
    if (plan->kind == BLOOMERY_SCALABLE)
        snprintf(layers, sizeof(layers), " in %u layer%s", change->facts.info.layers,
                 change->facts.info.layers == 1 ? "" : "s");
    if (overfull && !(estimated < 1e15))
        snprintf(text, room, "%s records, %s, every bit set: it takes any key for added", records,
                 size);
    else if (overfull || surely_repeated(change))
        snprintf(text, room, "%s records, about %s different keys, %s%s, %s", records,
                 tool_format_count(keys, (uint64_t)(estimated + 0.5)), size, layers, odds);
    else
        snprintf(text, room, "%s key%s, %s%s, %s", records, change->records == 1 ? "" : "s", size,
                 layers, odds);
}

enum { PASSED_BYTES = TOOL_NUMBER_BYTES + 40 };

static const char *describe_passed_over(char text[PASSED_BYTES], const struct tool_change *change)
{
    char number[TOOL_NUMBER_BYTES];
    const uint64_t keyless = change->passed_over - change->headers; /* a header should have none */
    text[0] = '\0';
    if (keyless > 0)
        snprintf(text, PASSED_BYTES, "; %s record%s no key", tool_format_count(number, keyless),
                 keyless == 1 ? " has" : "s have");
    return text;
}

static void report(const struct tool_build_report *build, const bloomery_plan *plan,
                   const struct tool_change *change)
{
    char text[6 * TOOL_NUMBER_BYTES + 80], passed[PASSED_BYTES], space[TOOL_ROOM_BYTES];
    const char *name = strcmp(build->output, "-") == 0 ? "stdout" : build->output;
    if (!build->quiet && !build->json) {
        describe(text, sizeof(text), plan, change);
        tool_say("wrote %s: %s%s%s", name, text, describe_passed_over(passed, change),
                 tool_describe_room(space, &change->facts.info));
    }
    if (is_overfull(plan, change))
        tool_warn_overfull(name, &change->facts);
}

static int print_json(const struct tool_build_report *build, const struct tool_change *change)
{
    json_t *object = tool_json_report("build");
    tool_json_add_change(object, build->output, change);
    return tool_json_print(object, TOOL_FOUND);
}

int tool_build_report(const struct tool_build_report *build, const bloomery_plan *plan,
                      const bloomery_filter *filter, struct tool_change *change)
{
    static const bloomery_scan_result nothing;
    if (build->quiet && !build->json && !is_overfull(plan, change))
        return TOOL_FOUND;
    tool_change_find(&nothing, filter, change);
    report(build, plan, change);
    return build->json ? print_json(build, change) : TOOL_FOUND;
}
