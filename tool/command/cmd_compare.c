/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare: what two filters have in common. Exit codes are those of cmp and diff: 0 if they are the
 * same, bit for bit, 1 if they are not, 2 if that could not be found out.
 */
#include "base/numbers.h"
#include "base/report.h"
#include "filter/filter_file.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>

/* 95 % of a normal distribution is within this many standard deviations. */
#define DEVIATIONS 1.96

struct answer {
    char **paths;
    struct tool_dialect_choice dialect;
    bool quiet, json;
    bool fit;
    bloomery_error reason; /* why they do not */
    bloomery_comparison found;
    double common[2]; /* the interval */
    double jaccard[2];
};

static const struct tool_option options[] = {
    {'q', "quiet", NULL, TOOL_FLAG(struct answer, quiet),
     .help = "print nothing; only set the exit code"},
    {0, "dialect", "D", TOOL_DIALECT(struct answer, dialect),
     .help = "read filters of another system. D is NAME[,parameter=value...], as listed by "
             "'bloomery dialects'"},
    {0, "json", NULL, TOOL_FLAG(struct answer, json),
     .help = "print the report as one JSON object, with unrounded numbers"},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {{.rows = options}, TOOL_GROUPS_END};

/* The common keys are none at least, and at most those of the smaller filter. */
static void find_intervals(struct answer *answer)
{
    const bloomery_comparison *found = &answer->found;
    const double most = fmin(found->keys[0], found->keys[1]);
    answer->common[0] = fmax(0, found->common_keys - DEVIATIONS * found->deviation);
    answer->common[1] =
        fmax(answer->common[0], fmin(most, found->common_keys + DEVIATIONS * found->deviation));
    const double off = DEVIATIONS * found->jaccard_deviation;
    answer->jaccard[0] = fmax(0, found->jaccard - off);
    answer->jaccard[1] = fmin(1, found->jaccard + off);
    if (isnan(found->jaccard)) { /* every bit of the union is set: nothing is known */
        answer->common[0] = answer->common[1] = NAN;
        answer->jaccard[0] = answer->jaccard[1] = NAN;
    }
}

/* ---- The report ------------------------------------------------------------------------------ */

static void say_keys(struct tool_report *report, const char *label, double keys)
{
    if (keys < 1e15)
        tool_fact_say(report, label, "about %s", TOOL_SAY_ABOUT(keys));
    else
        tool_fact_say(report, label, "unknown: all bits are set");
}

static void add_pair(struct tool_report *report, const char *name, const double values[2])
{
    struct tool_report *list = tool_fact_list(report, name);
    tool_fact(list, NULL, NULL, tool_number(values[0]));
    tool_fact(list, NULL, NULL, tool_number(values[1]));
}

/* What both have in common. */
static void report_found(struct tool_report *report, const struct answer *answer)
{
    const bloomery_comparison *found = &answer->found;
    say_keys(report, "keys in the 1st", found->keys[0]);
    say_keys(report, "keys in the 2nd", found->keys[1]);
    say_keys(report, "keys in either", found->union_keys);
    if (isnan(found->common_keys))
        tool_fact_say(report, "keys in both", "unknown: together they have all bits set");
    else {
        char keys[TOOL_NUMBER_BYTES + 32] = "unknown: all bits are set";
        if (found->common_keys < 1e15)
            snprintf(keys, sizeof(keys), "about %s", TOOL_SAY_ABOUT(found->common_keys));
        tool_fact_say(report, "keys in both", "%s; 95 %% interval %s to %s", keys,
                      TOOL_SAY_ABOUT(answer->common[0]), TOOL_SAY_ABOUT(answer->common[1]));
        tool_fact_say(report, "Jaccard index", "%.3g; 95 %% interval %.3g to %.3g", found->jaccard,
                      answer->jaccard[0], answer->jaccard[1]);
    }
    tool_fact_say(report, "equal", "%s",
                  found->equal                           ? "bit for bit"
                  : found->within[0] && found->within[1] ? "no: the same cells are set, but not "
                                                           "counted alike"
                                                         : "no");
    for (int i = 0; i < 2; i++)
        if (found->within[i] && !found->within[1 - i])
            tool_fact_say(report, "all keys of", "%s seem to be in %s", answer->paths[i],
                          answer->paths[1 - i]);
    add_pair(report, "keys", found->keys);
    tool_fact(report, "union_keys", NULL, tool_about(found->union_keys));
    tool_fact(report, "common_keys", NULL, tool_about(found->common_keys));
    tool_fact(report, "common_keys_deviation", NULL, tool_number(found->deviation));
    add_pair(report, "common_keys_interval", answer->common);
    tool_fact(report, "jaccard", NULL, tool_number(found->jaccard));
    add_pair(report, "jaccard_interval", answer->jaccard);
    struct tool_report *within = tool_fact_list(report, "within");
    tool_fact(within, NULL, NULL, tool_yes(found->within[0]));
    tool_fact(within, NULL, NULL, tool_yes(found->within[1]));
    tool_fact(report, "equal", NULL, tool_yes(found->equal));
}

static int report_answer(const struct answer *answer)
{
    static const struct tool_report_form form = {.indent = 2, .label = 17};
    struct tool_report *report = tool_report_start("compare", form);
    tool_report_line(
        report, "%s and %s%s%s", answer->paths[0], answer->paths[1],
        answer->fit ? "" : " are not compatible: ", answer->fit ? "" : answer->reason.text);
    struct tool_report *files = tool_fact_list(report, "files");
    tool_fact(files, NULL, NULL, tool_text(answer->paths[0]));
    tool_fact(files, NULL, NULL, tool_text(answer->paths[1]));
    tool_fact(report, "fit", NULL, tool_yes(answer->fit));
    tool_fact(report, "reason", NULL, tool_text(answer->fit ? NULL : answer->reason.text));
    if (answer->fit)
        report_found(report, answer);
    return tool_report_print(report, answer->json,
                             answer->fit && answer->found.equal ? TOOL_FOUND : TOOL_NONE);
}

/* ---- The command ----------------------------------------------------------------------------- */

static void say_folded(const struct answer *answer, const bloomery_filter *const filters[2])
{
    bloomery_info info[2] = {BLOOMERY_INFO, BLOOMERY_INFO};
    char sizes[2][TOOL_NUMBER_BYTES];
    for (int i = 0; i < 2; i++) {
        bloomery_info_get(filters[i], &info[i]);
        tool_format_size(sizes[i], info[i].bytes);
    }
    const int larger = info[1].bits > info[0].bits;
    if (info[0].bits != info[1].bits && !answer->quiet)
        tool_say("%s is folded first: %s to %s", answer->paths[larger], sizes[larger],
                 sizes[1 - larger]);
}

static int compare_filters(struct answer *answer, const bloomery_filter *const filters[2])
{
    bloomery_status status =
        bloomery_compare(filters[0], filters[1], &answer->found, &answer->reason);
    if (status != BLOOMERY_OK && status != BLOOMERY_MISMATCH)
        return tool_library_error(NULL, &answer->reason);
    answer->fit = status == BLOOMERY_OK;
    if (answer->fit) {
        find_intervals(answer);
        say_folded(answer, filters);
    }
    if (answer->quiet && !answer->json)
        return answer->fit && answer->found.equal ? TOOL_FOUND : TOOL_NONE;
    return report_answer(answer);
}

static int compare_main(int argc, char **argv)
{
    struct answer answer = {.found = BLOOMERY_COMPARISON, .dialect.ours_too = true};
    int code;
    if (!tool_options_read(argc, argv, &answer, &code))
        return code;
    if (argc - optind != 2)
        return tool_usage("name two filters, as in 'bloomery compare one.bloom other.bloom'");
    answer.paths = argv + optind;
    const bloomery_filter *filters[2] = {NULL, NULL};
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    opening.inspect = true;
    code = TOOL_ERROR;
    for (int i = 0; i < 2 && (i == 0 || filters[0] != NULL); i++)
        filters[i] = tool_filter_open_any(answer.paths[i], opening, NULL, &answer.dialect, NULL);
    if (filters[0] != NULL && filters[1] != NULL)
        code = compare_filters(&answer, filters);
    bloomery_free(filters[0]);
    bloomery_free(filters[1]);
    return code;
}

const struct tool_command cmd_compare = {
    .name = "compare",
    .run = compare_main,
    .summary = "show what two filters have in common",
    .synopsis = "bloomery compare FILTER OTHER",
    .introduction =
        "Compares two filters: the keys in each, in either and in both, and their "
        "Jaccard index (both / either). These are estimated from the bits, with 95 % "
        "intervals. The report also says whether all keys of one seem to be in the "
        "other, and whether the filters are equal, bit for bit. If the sizes differ, the "
        "larger filter is first folded to the smaller size.",
    .groups = groups,
    .epilogue = "Exit codes, as with cmp and diff: 0 they are equal; 1 they are not, or are not "
                "compatible; 2 an error.\n"
                "\n"
                "  bloomery compare monday.bloom tuesday.bloom\n"
                "  bloomery compare --dialect guava one.bf other.bf",
};
