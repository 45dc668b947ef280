/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of Q lines with a key, H may be in a filter of rate p. Of the A lines that were never added,
 * about A p are among these H. All others were never added: Q - H = A (1 - p), so
 *
 *     expected false positives = (Q - H) p / (1 - p)
 *
 * With a file that confirms, lines that it lacks were never added, and so A = Q - confirmed ones.
 */
#include "command/query/query_report.h"

#include "base/json.h"
#include "base/numbers.h"
#include "base/statistics.h"
#include "tool.h"

#include <math.h>
#include <unistd.h>

/* ---- Rates ----------------------------------------------------------------------------------- */

/* Reading all bits of a larger filter takes longer than most queries do. */
static const uint64_t read_max = UINT64_C(1) << 30;

/* The filter's false-positive rate: that of its bits, or of a large one the planned rate. `live`:
 * which of them. */
static double rate_of(const struct tool_queried *queried, bool *live)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(queried->filter, &info);
    *live = info.bytes <= read_max || !(info.planned_rate > 0);
    if (!*live)
        return info.planned_rate;
    bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
    bloomery_scan(queried->filter, &scan);
    return scan.live_rate;
}

/* Returns how many of `found` lines are false positives at this rate, if `others` were absent. */
static double false_among(double found, double others, double rate)
{
    const double expected = rate < 1 ? others * rate / (1 - rate) : found;
    return expected < found ? expected : found;
}

/* False positives among the lines that were found in this filter, before they were confirmed. */
static double expected_of(const struct tool_question *question, const struct tool_queried *queried,
                          double rate)
{
    const uint64_t found = queried->hits + (question->confirm != NULL ? 0 : queried->rejected);
    const double others = found < question->queried ? (double)(question->queried - found) : 0;
    if (question->confirm != NULL)
        return others * rate;
    return false_among((double)found, others, rate);
}

/* Lines that are possibly in one of the filters. */
static uint64_t found_in_any(const struct tool_question *question)
{
    return question->invert ? question->queried - question->selected : question->selected;
}

/* False positives among the lines that are possibly in any filter; `rate`: the share of absent
 * lines that are. A file that confirms lets none through. */
static double expected_in_all(const struct tool_question *question, double *rate)
{
    double pass = 0; /* the logarithm of the share that all filters deny */
    for (size_t f = 0; f < question->filter_count; f++) {
        bool live;
        pass += log1p(-rate_of(&question->filters[f], &live));
    }
    const uint64_t found = found_in_any(question);
    *rate = -expm1(pass);
    return question->confirm != NULL
               ? 0
               : false_among((double)found, (double)(question->queried - found), *rate);
}

static const char *format_expected(char text[TOOL_NUMBER_BYTES], double expected)
{
    if (expected >= 1000 && expected < 1e15)
        return tool_format_count(text, (uint64_t)(expected + 0.5));
    return tool_format_rate(text, expected);
}

/* ---- Messages -------------------------------------------------------------------------------- */

static void say_hints(const struct tool_question *question)
{
    for (size_t f = 0; f < question->filter_count && question->hint != NULL; f++) {
        const struct tool_queried *queried = &question->filters[f];
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(queried->filter, &info);
        const struct tool_hint_answer answer = {.name = queried->name,
                                                .hits = queried->hits,
                                                .queried = question->queried,
                                                .optional = tool_rule_is_none(&info.rule)};
        if (queried->rule == 0 && answer.hits <= answer.queried)
            tool_hint_say(question->hint, queried->filter, &answer);
    }
}

/* Rejecting false positives is what a file that confirms is for. It rejects more if its lines are
 * no keys of the filter, and then denies all. */
static void warn_of_rejected(const struct tool_question *question, const char *confirmed_by)
{
    for (size_t f = 0; f < question->filter_count; f++) {
        const struct tool_queried *queried = &question->filters[f];
        char found[TOOL_NUMBER_BYTES], rejected[TOOL_NUMBER_BYTES], chance[TOOL_NUMBER_BYTES];
        bool live;
        if (queried->rejected < 2)
            continue; /* one may always be chance */
        const double rate = rate_of(queried, &live);
        const uint64_t others = question->queried - queried->hits;
        const double expected = expected_of(question, queried, rate);
        if ((double)queried->rejected <= expected || queried->rejected > others ||
            tool_plausible(queried->rejected, others, rate))
            continue;
        tool_warning("%s: lacks %s of %s keys that %s may have; by chance it would lack about %s. "
                     "%s",
                     confirmed_by, tool_format_count(rejected, queried->rejected),
                     tool_format_count(found, queried->hits + queried->rejected), queried->name,
                     format_expected(chance, expected),
                     queried->hits == 0 ? "Do its lines have the key elsewhere, or in another form?"
                                        : "The filter was built from more, or from another list");
    }
}

/* Chance alone finds some. If it should have found this many, none says more than "absent". */
enum { CHANCE_LEAST = 20 };

static void warn_of_too_few(const struct tool_question *question)
{
    for (size_t f = 0; f < question->filter_count; f++) {
        const struct tool_queried *queried = &question->filters[f];
        char all[TOOL_NUMBER_BYTES], chance[TOOL_NUMBER_BYTES], keys[TOOL_NUMBER_BYTES],
            planned[TOOL_NUMBER_BYTES];
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(queried->filter, &info);
        const double expected = (double)question->queried * info.planned_rate;
        if (queried->hits + queried->rejected > 0 || expected < CHANCE_LEAST ||
            info.bytes > read_max)
            continue;
        bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
        bloomery_scan(queried->filter, &scan);
        const bool empty = info.has_bits && info.planned_keys >= 100 &&
                           scan.estimated_keys < (double)info.planned_keys / 100;
        if (!empty && (double)question->queried * scan.live_rate < CHANCE_LEAST)
            continue;
        tool_format_count(all, question->queried);
        format_expected(chance, expected);
        if (empty)
            tool_notice("%s: none of %s lines was found, where chance alone finds about %s if the "
                        "filter is full. It holds about %s of the %s keys that it was planned for",
                        queried->name, all, chance,
                        tool_format_count(keys, (uint64_t)(scan.estimated_keys + 0.5)),
                        tool_format_count(planned, info.planned_keys));
        else
            tool_notice("%s: none of %s lines was found, where chance alone finds about %s. They "
                        "are few different lines, or were chosen by a filter",
                        queried->name, all, chance);
    }
}

/* What a count is worth: if false positives are to be expected among it, or people look. */
static void say_expected(const struct tool_question *question)
{
    char number[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES];
    double rate;
    if (question->confirm != NULL || question->queried == 0)
        return;
    const double expected = expected_in_all(question, &rate);
    if (expected < 1 && isatty(STDERR_FILENO) == 0)
        return;
    tool_notice("about %s %s expected to be false positives (%s)",
                format_expected(number, expected),
                question->invert ? "more lines were never added, and are" : "of these are",
                tool_format_odds(odds, rate));
}

bool tool_query_say_rest(struct tool_question *question, const char *confirmed_by)
{
    bool good = true;
    uint64_t hits = 0;
    const bool sorted = question->confirm == NULL || tool_confirm_is_sorted(question->confirm);
    if (!sorted) {
        tool_confirm_say_unsorted(question->confirm);
        good = false;
    }
    for (size_t r = 0; r < question->rule_count; r++)
        good = tool_tally_say(&question->tallies[r], &question->rules[r],
                              "such records were not looked up") &&
               good;
    for (size_t f = 0; f < question->filter_count; f++)
        hits += question->filters[f].hits;
    /* Hits of one filter may be chance. Those of several, or confirmed ones, count as real. */
    if (hits == 0 || (question->filter_count == 1 && question->confirm == NULL))
        say_hints(question);
    if (confirmed_by != NULL && sorted)
        warn_of_rejected(question, confirmed_by);
    if (!question->quiet)
        warn_of_too_few(question);
    if (question->count_only && !question->quiet)
        say_expected(question);
    return good;
}

/* ---- Counts ---------------------------------------------------------------------------------- */

void tool_query_print_counts(struct tool_question *question)
{
    if (!question->with_filename) {
        tool_out_format(&question->out, "%llu\n", (unsigned long long)question->selected);
        return;
    }
    for (size_t f = 0; f < question->filter_count; f++)
        tool_out_format(&question->out, "%s:%llu\n", question->filters[f].name,
                        (unsigned long long)question->filters[f].hits);
}

static json_t *json_of_filter(const struct tool_question *question,
                              const struct tool_queried *queried)
{
    json_t *filter = tool_json_object();
    bool live;
    const double rate = rate_of(queried, &live);
    const double expected = question->confirm != NULL ? 0 : expected_of(question, queried, rate);
    tool_json_add(filter, "file", tool_json_text(queried->name));
    tool_json_add(filter, "maybe_added", tool_json_count(queried->hits));
    if (question->confirm != NULL) {
        tool_json_add(filter, "rejected_by_confirm", tool_json_count(queried->rejected));
        tool_json_add(filter, "expected_rejected",
                      tool_json_number(expected_of(question, queried, rate)));
    }
    tool_json_add(filter, "rate", tool_json_number(rate));
    tool_json_add(filter, "rate_is_planned", tool_json_bool(!live));
    tool_json_add(filter, "expected_false_positives", tool_json_number(expected));
    return filter;
}

int tool_query_print_json(struct tool_question *question, const char *confirmed_by, bool all_read,
                          int code)
{
    json_t *object = tool_json_report("query");
    double rate;
    tool_json_add(object, "inverted", tool_json_bool(question->invert));
    tool_json_add(object, "records", tool_json_count(question->queried));
    tool_json_add(object, "passed_over", tool_json_count(question->passed_over));
    tool_json_add(object, "count", tool_json_count(question->selected));
    tool_json_add(object, "expected_false_positives",
                  tool_json_number(expected_in_all(question, &rate)));
    tool_json_add(object, "all_read", tool_json_bool(all_read));
    if (confirmed_by != NULL)
        tool_json_add(object, "confirmed_by", tool_json_text(confirmed_by));
    json_t *filters = tool_json_array();
    for (size_t f = 0; f < question->filter_count; f++)
        tool_json_append(filters, json_of_filter(question, &question->filters[f]));
    tool_json_add(object, "filters", filters);
    return tool_json_print(object, code);
}
