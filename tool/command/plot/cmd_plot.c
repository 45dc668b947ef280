/* SPDX-License-Identifier: Apache-2.0 */
/* plot: the rate over the number of keys, and the fill of blocks. chart.h says how. */
#include "base/numbers.h"
#include "base/options.h"
#include "base/out.h"
#include "command/plot/chart.h"
#include "filter/filter_file.h"
#include "filter/text_output.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

/* ---- The command line ------------------------------------------------------------------------ */

enum { PROBES_MAX = 64 };

/* The options; 0 if not given. */
struct wish {
    uint64_t keys;
    double rate;
    uint64_t memory;
    bloomery_kind kind;
    uint32_t counter_bits;
    bloomery_plan_options options;
    bool of_plan; /* an option was given that is for plans */
    bool fill;
    struct tool_dialect_choice dialect;
    uint64_t to;
    bool svg;
    bool json;
    bool force;
    struct tool_text_output output;
};

static const struct tool_option plan_options[] = {
    {'n', "keys", "N", TOOL_COUNT(struct wish, keys, 1, TOOL_KEYS_MAX),
     .help = "plan for N keys (20M, 1e9)"},
    {'p', "rate", "RATE", TOOL_RATE(struct wish, rate),
     .help = "set the false-positive rate (default 1e-4). Write it as 0.01, 1e-6, 0.01% or 1/1000"},
    {0, "memory", "SIZE", TOOL_SIZE(struct wish, memory),
     .help = "set the memory of the filter, instead of -n or -p"},
    {0, "kind", "KIND", TOOL_CALL(struct wish, kind, tool_take_kind),
     .words = "blocked|classic|counting|scalable",
     .help = "choose the kind of filter (default blocked). The others are classic, counting and "
             "scalable"},
    {0, "counter-bits", "B", TOOL_CALL(struct wish, counter_bits, tool_take_counter_bits),
     .words = "4|8", .help = "count with 4 or 8 bits in a counting filter (default 4)"},
    {0, "blocks", "L", TOOL_SMALL(struct wish, options.blocks_per_key, 1, 4),
     .help = "plan with L blocks per key, 1 to 4"},
    {0, "probes", "K", TOOL_SMALL(struct wish, options.probes, 1, PROBES_MAX),
     .help = "set K bits per key: 1 to 8 in each block, or 1 to 64 in a classic filter"},
    {0, "folds", "D", TOOL_SMALL(struct wish, options.folds, 0, 30),
     .help = "plan a filter that can be halved D times"},
    TOOL_OPTIONS_END,
};

static const struct tool_option filter_options[] = {
    {0, "fill", NULL, TOOL_FLAG(struct wish, fill),
     .help = "draw how full its blocks are, instead of the rate"},
    {0, "dialect", "D", TOOL_DIALECT(struct wish, dialect),
     .help = "read another system's file. D is NAME[,parameter=value...], as listed by "
             "'bloomery dialects'. Files with a magic number do not need it"},
    TOOL_OPTIONS_END,
};

static const struct tool_option output_options[] = {
    {0, "to", "N", TOOL_COUNT(struct wish, to, 1, TOOL_KEYS_MAX),
     .help = "draw the curve up to N keys (default: twice the plan's). For a scalable filter the "
             "default is 8 times the keys after which it first grows"},
    {0, "svg", NULL, TOOL_FLAG(struct wish, svg),
     .help = "write an SVG file instead of a drawing for the terminal"},
    {'o', "output", "FILE", TOOL_TEXT(struct wish, output.path),
     .help = "write the SVG to FILE (default '-', standard output). A name that ends in .svg "
             "implies --svg",
     .more = "FILE is written completely or not at all."},
    {0, "force", NULL, TOOL_FLAG(struct wish, force), .help = "let -o replace a file"},
    {0, "json", NULL, TOOL_FLAG(struct wish, json),
     .help = "print the numbers as one JSON object, unrounded"},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {
    {.title = "A plan, as in 'bloomery plan':",
     .rows = plan_options,
     TOOL_GIVEN(struct wish, of_plan)},
    {.title = "A filter:", .rows = filter_options},
    {.title = "Output:", .rows = output_options},
    TOOL_GROUPS_END,
};

static bool fits_together(const struct wish *wish, const char *path)
{
    const char *why = NULL;
    if (wish->svg && wish->json)
        why = "--svg and --json are two forms of output: give one";
    else if (wish->output.path != NULL && !wish->svg)
        why = "-o is for --svg, which a name that ends in .svg implies; "
              "a drawing for the terminal, and JSON, go to standard output";
    else if (wish->force && wish->output.path == NULL)
        why = "--force lets -o replace a file; give -o too";
    else if (path != NULL && wish->of_plan)
        why = "a filter contains its plan: give a filter, or -n, -p and --memory";
    else if (path == NULL && wish->fill)
        why = "--fill takes a filter, whose blocks are counted";
    else if (path == NULL && wish->dialect.dialect != NULL)
        why = "--dialect says how to read a filter, and none is named";
    else if (wish->fill && wish->to > 0)
        why = "--to is for the curve of the rate, not for --fill";
    else if (path == NULL && !wish->of_plan)
        why = "nothing to plot: name a filter, or give a plan (-n 1M -p 0.01)";
    if (why != NULL)
        tool_usage("%s", why);
    return why == NULL;
}

/* ---- Plans ----------------------------------------------------------------------------------- */

/* As `bloomery plan` understands these options. */
static bool plan_fits_together(struct wish *wish)
{
    const char *why = NULL;
    if (!tool_counters_wanted(wish->counter_bits, &wish->kind))
        return false;
    if (wish->options.blocks_per_key > 0 && wish->kind == BLOOMERY_CLASSIC)
        why = "--blocks is for blocked filters; a classic one has none";
    else if (wish->kind == BLOOMERY_SCALABLE && wish->memory > 0)
        why = "a scalable filter is planned by -n and -p";
    else if (wish->keys > 0 && wish->rate > 0 && wish->memory > 0)
        why = "give two of -n, -p and --memory; the third follows";
    else if (wish->kind == BLOOMERY_CUCKOO)
        why = "the rate of a cuckoo filter rises by 2 in 255 for each key of a bucket, until its "
              "table is full; it has no curve";
    if (wish->kind == BLOOMERY_SCALABLE && wish->keys == 0)
        wish->keys = TOOL_CHAIN_KEYS;
    if (why == NULL && wish->keys == 0 && (wish->rate <= 0 || wish->memory == 0))
        why = "no size: give two of -n, -p and --memory, or -n alone";
    if (wish->rate <= 0 && wish->memory == 0)
        wish->rate = TOOL_RATE_DEFAULT;
    if (why != NULL)
        tool_usage("%s", why);
    return why == NULL;
}

static bool make_chart_of_plan(struct wish *wish, struct tool_chart *chart)
{
    bloomery_error error;
    if (!plan_fits_together(wish))
        return false;
    bloomery_plan plan = {
        .kind = wish->kind,
        .keys = wish->keys,
        .rate = wish->rate,
        .bytes = wish->memory,
    };
    wish->options.cell_bits = wish->counter_bits;
    if (bloomery_plan_solve(&plan, &wish->options, &error) != BLOOMERY_OK) {
        tool_library_error(NULL, &error);
        return false;
    }
    return tool_chart_of_plan(&plan, wish->to, chart);
}

static bool make_chart_of_filter(const struct wish *wish, const char *path,
                                 struct tool_chart *chart)
{
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    opening.inspect = true;
    const bloomery_filter *filter = tool_filter_open_any(path, opening, NULL, &wish->dialect, NULL);
    const bool made =
        filter != NULL && (wish->fill ? tool_chart_of_fill(path, filter, chart)
                                      : tool_chart_of_filter(path, filter, wish->to, chart));
    bloomery_free(filter);
    return made;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int show(struct wish *wish, const struct tool_chart *chart)
{
    struct tool_out out;
    if (wish->json)
        return tool_report_print(chart->report, true, TOOL_FOUND);
    tool_report_free(chart->report);
    if (!wish->svg)
        return tool_chart_print(chart);
    tool_out_start(&out);
    if (!tool_text_output_begin(&wish->output, &out))
        return TOOL_ERROR;
    tool_chart_svg(&out, chart);
    return tool_text_output_finish(&wish->output, &out, TOOL_FOUND);
}

static int plot_main(int argc, char **argv)
{
    struct wish wish = {.options = BLOOMERY_PLAN_OPTIONS};
    struct tool_chart chart;
    int code;
    if (!tool_options_read(argc, argv, &wish, &code))
        return code;
    if (argc - optind > 1)
        return tool_usage("'%s': plot takes one filter", argv[optind + 1]);
    const char *path = optind < argc ? argv[optind] : NULL;
    const size_t bytes = wish.output.path != NULL ? strlen(wish.output.path) : 0;
    wish.svg = wish.svg ||
               (!wish.json && bytes > 4 && strcasecmp(wish.output.path + bytes - 4, ".svg") == 0);
    if (!fits_together(&wish, path) || !(wish.force || tool_text_output_is_new(&wish.output)))
        return TOOL_ERROR;
    const bool made = path != NULL ? make_chart_of_filter(&wish, path, &chart)
                                   : make_chart_of_plan(&wish, &chart);
    return made ? show(&wish, &chart) : TOOL_ERROR;
}

const struct tool_command cmd_plot = {
    .name = "plot",
    .run = plot_main,
    .summary = "draw the rate over the number of keys, or the fill of blocks",
    .synopsis = "bloomery plot -n N [-p RATE] [--memory SIZE] [--kind KIND] [option...]\n"
                "bloomery plot FILTER [--to N]\n"
                "bloomery plot --fill FILTER",
    .introduction =
        "Draws the false-positive rate over the number of keys, for a plan or a filter. "
        "A mark shows how many keys the filter holds now. With --fill, it draws a "
        "histogram of the bits set per block, beside the one that theory predicts.",
    .groups = groups,
    .epilogue = "On a terminal the drawing is in braille if the locale is UTF-8 (LC_ALL, "
                "LC_CTYPE, LANG), else in ASCII. Its width is that of COLUMNS, of the terminal, "
                "or 80 columns.\n"
                "\n"
                "Some filters can't be plotted; a message says why, and the exit code is 2. A "
                "static filter has a single rate. Filters of other systems that grow do so by "
                "their own rules. Only our blocked, counting and scalable filters have blocks "
                "for --fill.\n"
                "\n"
                "  bloomery plot -n 1M -p 0.01\n"
                "  bloomery plot ids.bloom\n"
                "  bloomery plot --fill ids.bloom\n"
                "  bloomery plot ids.bloom --svg -o ids.svg",
};
