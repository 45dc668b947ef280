/* SPDX-License-Identifier: Apache-2.0 */
/* fold: a filter of half the size, once or several times over, without its keys. */
#include "base/numbers.h"
#include "base/options.h"
#include "base/report.h"
#include "filter/files.h"
#include "filter/filter_file.h"
#include "tool.h"

#include <stdio.h>

struct folding {
    struct tool_output output;
    const char *path;
    uint32_t times;  /* 0: not given */
    uint64_t memory; /* 0: not given */
};

static const struct tool_option options[] = {
    {'o', "output", "OUT", TOOL_TEXT(struct folding, output.path),
     .help = "write the folded filter to OUT; '-' is standard output"},
    {0, "times", "D", TOOL_SMALL(struct folding, times, 1, 30),
     .help = "halve it D times, 1 to 30 (default 1)"},
    {0, "memory", "SIZE", TOOL_SIZE(struct folding, memory),
     .help = "halve it until it needs at most this much memory (512MiB)",
     .more = "A filter that is already small enough is written unchanged."},
    TOOL_OUTPUT_ROWS(struct folding, output),
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {{.rows = options}, TOOL_GROUPS_END};

/* The memory of a filter that was halved so often: whole units of 64 bytes. */
static uint64_t folded_bytes(const bloomery_info *info, uint32_t times)
{
    const uint64_t bits = (info->bits >> times) * info->cell_bits;
    return (bits / 8 + (bits % 8 != 0) + 63) / 64 * 64;
}

/* How often it can be halved: what is halved are lines, or single bits. */
static uint32_t max_folds(const bloomery_info *info)
{
    uint64_t size = info->blocks_per_key > 0 ? info->bits / 512 : info->bits;
    uint32_t most = 0;
    for (; size % 2 == 0 && size > 0; size /= 2)
        most++;
    return most;
}

/* The folds that --memory requires; false after saying why there are too many. */
static bool times_for_memory(const struct folding *folding, const bloomery_info *info,
                             uint32_t *times)
{
    char size[TOOL_NUMBER_BYTES], least[TOOL_NUMBER_BYTES], given[TOOL_NUMBER_BYTES];
    const uint32_t most = max_folds(info);
    *times = 0;
    while (*times < most && folded_bytes(info, *times) > folding->memory)
        ++*times;
    if (folded_bytes(info, *times) <= folding->memory)
        return true;
    tool_format_size(size, info->bytes);
    tool_format_size(given, folding->memory);
    if (most == 0)
        tool_error("%s: its %s can't be halved, and --memory is %s; build it with --folds",
                   folding->path, size, given);
    else
        tool_error("%s: its %s can be halved %u time%s, to %s, and --memory is %s", folding->path,
                   size, most, most == 1 ? "" : "s",
                   tool_format_size(least, folded_bytes(info, most)), given);
    return false;
}

static int report(const struct folding *folding, const struct tool_facts *facts, uint32_t times)
{
    const bloomery_info *info = &facts->info;
    char size[TOOL_NUMBER_BYTES], now[TOOL_NUMBER_BYTES], then[TOOL_NUMBER_BYTES];
    char keys[TOOL_NUMBER_BYTES], plan[3 * TOOL_NUMBER_BYTES] = "";
    const char *name = tool_output_is_stdout(&folding->output) ? "stdout" : folding->output.path;
    if (info->planned_keys > 0 && info->planned_rate > 0)
        snprintf(plan, sizeof(plan), "; with the planned %s keys %s",
                 tool_format_count(keys, info->planned_keys),
                 tool_format_odds(then, info->planned_rate));
    if (!folding->output.quiet && !folding->output.json)
        tool_say("wrote %s: halved %u time%s, %s, rate now %s%s", name, times,
                 times == 1 ? "" : "s", tool_format_size(size, info->file_bytes),
                 tool_format_odds(now, facts->scan.live_rate), plan);
    tool_warn_overfull(name, facts);
    if (!folding->output.json)
        return TOOL_FOUND;
    struct tool_report *object = tool_report_start("fold", (struct tool_report_form){0});
    tool_output_report(object, &folding->output, facts);
    tool_fact(object, "times", NULL, tool_count(times));
    return tool_report_print(object, true, TOOL_FOUND);
}

/* Folds once it is known how often; not at all if it is small enough as it is. */
static int fold_filter(const struct folding *folding, const bloomery_filter *filter)
{
    uint32_t times = folding->times > 0 ? folding->times : 1;
    bloomery_filter *folded = NULL;
    bloomery_error error;
    bloomery_info info = BLOOMERY_INFO;
    struct tool_facts facts;
    bloomery_info_get(filter, &info);
    if (folding->memory > 0 && !info.can_grow && !times_for_memory(folding, &info, &times))
        return TOOL_ERROR;
    bloomery_status status = times > 0 ? bloomery_fold(filter, times, NULL, &folded, &error)
                                       : bloomery_verify(filter, &error);
    if (status != BLOOMERY_OK)
        return tool_library_error(folding->path, &error);
    const bloomery_filter *result = folded != NULL ? folded : filter;
    int code = TOOL_ERROR;
    if (tool_output_write(&folding->output, result, NULL) &&
        tool_output_look(&folding->output, result, &facts))
        code = report(folding, &facts, times);
    bloomery_free(folded);
    return code;
}

static int fold_main(int argc, char **argv)
{
    struct folding folding = {.output.lock = -1};
    int code;
    if (!tool_options_read(argc, argv, &folding, &code))
        return code;
    if (argc - optind != 1)
        return tool_usage("%s", optind == argc
                                    ? "no filter: name its file, as in 'bloomery fold -o "
                                      "half.bloom ids.bloom'"
                                    : "one filter at a time is folded");
    if (folding.times > 0 && folding.memory > 0)
        return tool_usage("--times and --memory exclude each other");
    folding.path = argv[optind];
    code = TOOL_ERROR;
    const bloomery_filter *filter = NULL;
    if (tool_output_begin(&folding.output) && (filter = tool_filter_inspect(folding.path)) != NULL)
        code = fold_filter(&folding, filter);
    bloomery_free(filter);
    tool_output_end(&folding.output);
    return code;
}

const struct tool_command cmd_fold = {
    .name = "fold",
    .run = fold_main,
    .summary = "make a filter smaller",
    .synopsis = "bloomery fold -o OUT [--times D | --memory SIZE] FILTER",
    .introduction =
        "Halves the size of a filter. The result is bit for bit the filter that would "
        "have been built at that size with the same probes, and its rate is higher. A "
        "filter of 256 blocks (16 KiB) or more can be halved four times, or more often "
        "if it was built with --folds. Smaller ones can be halved less often. OUT may be "
        "FILTER itself.",
    .groups = groups,
    .epilogue = "  bloomery fold -o phone.bloom --memory 4MiB ids.bloom",
};
