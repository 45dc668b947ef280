/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare: what two filters have in common. Exit codes are those of cmp and diff: 0 if they are the
 * same, bit for bit, 1 if they are not, 2 if that could not be found out.
 */
#include "base/json.h"
#include "base/numbers.h"
#include "base/out.h"
#include "filter/filter_file.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>

/* 95 % of a normal distribution lie within so many standard deviations. */
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
    {'q', "quiet", NULL, TOOL_FLAG(struct answer, quiet), .help = "only the exit code"},
    {0, "dialect", "D", TOOL_DIALECT(struct answer, dialect),
     .help = "filters that are not Bloomery files are another system's: NAME[,parameter=value...] "
             "as 'bloomery dialects' lists them"},
    {0, "json", NULL, TOOL_FLAG(struct answer, json), .help = "one JSON object, numbers unrounded"},
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

/* ---- Text ------------------------------------------------------------------------------------ */

static const char *about(char *text, size_t room, double keys)
{
    char number[TOOL_NUMBER_BYTES];
    if (keys < 1e15)
        snprintf(text, room, "about %s", tool_format_count(number, (uint64_t)(keys + 0.5)));
    else
        snprintf(text, room, "any number: all bits set");
    return text;
}

static void print_within(struct tool_out *out, const struct answer *answer)
{
    const bloomery_comparison *found = &answer->found;
    if (found->equal)
        tool_out_text(out, "  equal            bit for bit\n");
    else if (found->within[0] && found->within[1])
        tool_out_text(out,
                      "  equal            no: the same cells are set, but not counted alike\n");
    else
        tool_out_text(out, "  equal            no\n");
    for (int i = 0; i < 2; i++)
        if (found->within[i] && !found->within[1 - i]) {
            tool_out_text(out, "  all keys of      ");
            tool_out_name(out, answer->paths[i]);
            tool_out_text(out, " seem to be in ");
            tool_out_name(out, answer->paths[1 - i]);
            tool_out_text(out, "\n");
        }
}

static void print_common(struct tool_out *out, const struct answer *answer)
{
    char text[80], low[TOOL_NUMBER_BYTES], high[TOOL_NUMBER_BYTES];
    const bloomery_comparison *found = &answer->found;
    if (isnan(found->common_keys)) {
        tool_out_text(out, "  keys in both     unknown: together they have all bits set\n");
        return;
    }
    tool_out_format(out, "  keys in both     %s; 95 %% interval %s to %s\n",
                    about(text, sizeof(text), found->common_keys),
                    tool_format_count(low, (uint64_t)(answer->common[0] + 0.5)),
                    tool_format_count(high, (uint64_t)(answer->common[1] + 0.5)));
    tool_out_format(out, "  Jaccard index    %.3g; 95 %% interval %.3g to %.3g\n", found->jaccard,
                    answer->jaccard[0], answer->jaccard[1]);
}

static int print_text(const struct answer *answer)
{
    struct tool_out out;
    char text[80];
    tool_out_start(&out);
    tool_out_name(&out, answer->paths[0]);
    tool_out_text(&out, " and ");
    tool_out_name(&out, answer->paths[1]);
    if (!answer->fit) {
        tool_out_format(&out, " are not compatible: %s\n", answer->reason.text);
        return tool_out_finish(&out, TOOL_NONE);
    }
    tool_out_text(&out, "\n");
    for (int i = 0; i < 2; i++)
        tool_out_format(&out, "  keys in the %s %s\n", i == 0 ? "1st " : "2nd ",
                        about(text, sizeof(text), answer->found.keys[i]));
    tool_out_format(&out, "  keys in either   %s\n",
                    about(text, sizeof(text), answer->found.union_keys));
    print_common(&out, answer);
    print_within(&out, answer);
    return tool_out_finish(&out, answer->found.equal ? TOOL_FOUND : TOOL_NONE);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *pair(const double values[2])
{
    json_t *array = tool_json_array();
    tool_json_append(array, tool_json_number(values[0]));
    tool_json_append(array, tool_json_number(values[1]));
    return array;
}

static int print_json(const struct answer *answer)
{
    const bloomery_comparison *found = &answer->found;
    json_t *report = tool_json_report("compare");
    json_t *files = tool_json_array();
    tool_json_append(files, tool_json_text(answer->paths[0]));
    tool_json_append(files, tool_json_text(answer->paths[1]));
    tool_json_add(report, "files", files);
    tool_json_add(report, "fit", tool_json_bool(answer->fit));
    tool_json_add(report, "reason",
                  answer->fit ? tool_json_null() : tool_json_text(answer->reason.text));
    if (answer->fit) {
        json_t *within = tool_json_array();
        tool_json_append(within, tool_json_bool(found->within[0]));
        tool_json_append(within, tool_json_bool(found->within[1]));
        tool_json_add(report, "keys", pair(found->keys));
        tool_json_add(report, "union_keys", tool_json_number(found->union_keys));
        tool_json_add(report, "common_keys", tool_json_number(found->common_keys));
        tool_json_add(report, "common_keys_deviation", tool_json_number(found->deviation));
        tool_json_add(report, "common_keys_interval", pair(answer->common));
        tool_json_add(report, "jaccard", tool_json_number(found->jaccard));
        tool_json_add(report, "jaccard_interval", pair(answer->jaccard));
        tool_json_add(report, "within", within);
        tool_json_add(report, "equal", tool_json_bool(found->equal));
    }
    return tool_json_print(report, answer->fit && found->equal ? TOOL_FOUND : TOOL_NONE);
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
        tool_say("%s is folded for it: %s to %s", answer->paths[larger], sizes[larger],
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
    if (answer->json)
        return print_json(answer);
    if (answer->quiet)
        return answer->fit && answer->found.equal ? TOOL_FOUND : TOOL_NONE;
    return print_text(answer);
}

static int compare_main(int argc, char **argv)
{
    struct answer answer = {.found = BLOOMERY_COMPARISON, .dialect.ours_too = true};
    int code;
    if (!tool_options_read(argc, argv, &answer, &code))
        return code;
    if (argc - optind != 2)
        return tool_usage("two filters are compared, as in 'bloomery compare one.bloom "
                          "other.bloom'");
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
    .summary = "say what two filters have in common",
    .synopsis = "bloomery compare FILTER OTHER",
    .introduction =
        "Compares two filters: the keys in each, in either and in both, and their Jaccard index "
        "(both / either). These are estimated from the bits, with 95 % intervals. The report also "
        "says whether all keys of one seem to be in the other, and whether the filters are equal, "
        "bit for bit. The larger of two sizes is first folded to the smaller one.",
    .groups = groups,
    .epilogue =
        "Exit codes, as of cmp and diff: 0 they are equal; 1 they are not, or are not compatible; "
        "2 an error.\n"
        "\n"
        "  bloomery compare monday.bloom tuesday.bloom\n"
        "  bloomery compare --dialect guava one.bf other.bf",
};
