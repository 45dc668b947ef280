/* SPDX-License-Identifier: Apache-2.0 */
/* plot: the rate over the number of keys, and the fill of blocks. This file reads the command line;
 * rate_curve.c and block_fill.c make the numbers, and plot_*.c show them. */
#include "base/json.h"
#include "base/numbers.h"
#include "base/out.h"
#include "command/plot/chart.h"
#include "filter/foreign_file.h"
#include "filter/text_output.h"
#include "tool.h"

#include <stdlib.h>
#include <string.h>

static const char help[] =
    "bloomery plot -n N [-p RATE] [--memory SIZE] [--kind KIND] [option...]\n"
    "bloomery plot FILTER [--to N]\n"
    "bloomery plot --fill FILTER\n"
    "\n"
    "Draws the false-positive rate over the number of keys: of a plan, or of a\n"
    "filter, where it is marked how many keys it has now. With --fill: how many\n"
    "blocks of a filter have how many bits set, beside what theory expects.\n"
    "\n"
    "A plan, as in 'bloomery plan':\n"
    "  -n, --keys N         the keys to plan for (20M, 1e9)\n"
    "  -p, --rate RATE      the false-positive rate (0.01, 1e-6, 0.01%, 1/1000).\n"
    "                       Default 1e-4\n"
    "      --memory SIZE    the memory of the filter, in place of -n or of -p\n"
    "      --kind KIND      blocked (default), classic, counting or scalable\n"
    "      --counter-bits B counters of 4 (default) or 8 bits, in a counting filter\n"
    "      --blocks L       L blocks per key, 1 to 4\n"
    "      --probes K       K bits set by a key: in each block (1 to 8), or in all\n"
    "                       of a classic filter (1 to 64)\n"
    "      --folds D        a filter that can be halved D times\n"
    "A filter:\n"
    "      --fill           the fill of its blocks in place of the rate\n"
    "      --dialect D      FILTER is another system's file:\n"
    "                       NAME[,parameter=value...] as 'bloomery dialects' lists\n"
    "                       them; files with a magic need no name\n"
    "Output:\n"
    "      --to N           the curve goes to N keys. Default: twice the planned\n"
    "                       ones, or 8 times those after which a scalable filter\n"
    "                       first grows\n"
    "      --svg            an SVG in place of a drawing for the terminal\n"
    "  -o, --output FILE    writes the SVG to FILE. Default '-', stdout. A name that\n"
    "                       ends in .svg implies --svg\n"
    "      --force          -o replaces a file\n"
    "      --json           the numbers, unrounded\n"
    "\n"
    "A terminal gets braille if the locale is UTF-8 (LC_ALL, LC_CTYPE, LANG), else\n"
    "ASCII, as wide as COLUMNS or the terminal says, or 80 columns.\n"
    "\n"
    "Some filters have no plot; a sentence says why, and the exit code is 2. Static\n"
    "filters have one rate. Chains of other systems grow by rules of their own. Only\n"
    "blocked, counting and scalable filters of ours have blocks to fill.\n"
    "\n"
    "  bloomery plot -n 1M -p 0.01\n"
    "  bloomery plot ids.bloom\n"
    "  bloomery plot --fill ids.bloom\n"
    "  bloomery plot ids.bloom --svg -o ids.svg\n";

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

/* ---- The command line ------------------------------------------------------------------------ */

enum {
    OPTION_MEMORY = TOOL_OPTION_OWN,
    OPTION_KIND,
    OPTION_COUNTER_BITS,
    OPTION_BLOCKS,
    OPTION_PROBES,
    OPTION_FOLDS, /* the last one for plans */
    OPTION_FILL,
    OPTION_DIALECT,
    OPTION_TO,
    OPTION_SVG,
    OPTION_FORCE,
    OPTION_JSON,
};

enum { PROBES_MAX = 64 };

static const struct option options[] = {
    {"keys", required_argument, NULL, 'n'},
    {"rate", required_argument, NULL, 'p'},
    {"memory", required_argument, NULL, OPTION_MEMORY},
    {"kind", required_argument, NULL, OPTION_KIND},
    {"counter-bits", required_argument, NULL, OPTION_COUNTER_BITS},
    {"blocks", required_argument, NULL, OPTION_BLOCKS},
    {"probes", required_argument, NULL, OPTION_PROBES},
    {"folds", required_argument, NULL, OPTION_FOLDS},
    {"fill", no_argument, NULL, OPTION_FILL},
    {"dialect", required_argument, NULL, OPTION_DIALECT},
    {"to", required_argument, NULL, OPTION_TO},
    {"svg", no_argument, NULL, OPTION_SVG},
    {"output", required_argument, NULL, 'o'},
    {"force", no_argument, NULL, OPTION_FORCE},
    {"json", no_argument, NULL, OPTION_JSON},
    {NULL, 0, NULL, 0},
};

static bool take_plan_option(struct wish *wish, int option)
{
    wish->of_plan = true;
    switch (option) {
    case 'n':
        return tool_option_count("-n", optarg, 1, TOOL_KEYS_MAX, &wish->keys);
    case 'p':
        return tool_option_rate("-p", optarg, &wish->rate);
    case OPTION_MEMORY:
        return tool_option_size("--memory", optarg, &wish->memory);
    case OPTION_KIND:
        return tool_parse_kind(optarg, &wish->kind);
    case OPTION_COUNTER_BITS:
        return tool_option_counter_bits(optarg, &wish->counter_bits);
    case OPTION_BLOCKS:
        return tool_option_small("--blocks", optarg, 1, 4, &wish->options.blocks_per_key);
    case OPTION_PROBES:
        return tool_option_small("--probes", optarg, 1, PROBES_MAX, &wish->options.probes);
    case OPTION_FOLDS:
        return tool_option_small("--folds", optarg, 0, 30, &wish->options.folds);
    default:
        return false;
    }
}

static bool take_option(struct wish *wish, int option)
{
    switch (option) {
    case OPTION_FILL:
        wish->fill = true;
        return true;
    case OPTION_DIALECT:
        return tool_dialect_option("--dialect", optarg, &wish->dialect);
    case OPTION_TO:
        return tool_option_count("--to", optarg, 1, TOOL_KEYS_MAX, &wish->to);
    case OPTION_SVG:
        wish->svg = true;
        return true;
    case 'o':
        wish->output.path = optarg;
        return true;
    case OPTION_FORCE:
        wish->force = true;
        return true;
    case OPTION_JSON:
        wish->json = true;
        return true;
    default:
        return take_plan_option(wish, option);
    }
}

/* A name that ends in .svg says --svg. */
static bool is_svg(const char *path)
{
    const size_t bytes = path != NULL ? strlen(path) : 0;
    return bytes > 4 && strcasecmp(path + bytes - 4, ".svg") == 0;
}

static bool fits_together(const struct wish *wish, const char *path)
{
    const char *why = NULL;
    if (wish->svg && wish->json)
        why = "--svg and --json are two forms of output: give one";
    else if (wish->output.path != NULL && !wish->svg)
        why = "-o names a file for --svg, as a name that ends in .svg says; "
              "a drawing for the terminal, and JSON, go to stdout";
    else if (wish->force && wish->output.path == NULL)
        why = "--force lets -o replace a file, and there is no -o";
    else if (path != NULL && wish->of_plan)
        why = "a filter has its plan in it: give a filter, or -n, -p and --memory";
    else if (path == NULL && wish->fill)
        why = "--fill takes a filter, whose blocks are counted";
    else if (path == NULL && wish->dialect.dialect != NULL)
        why = "--dialect says how to read a filter, and none is named";
    else if (wish->fill && wish->to > 0)
        why = "--to is for the curve of the rate, not for --fill";
    else if (path == NULL && !wish->of_plan)
        why = "what is to be plotted? name a filter, or give a plan: -n 1M -p 0.01";
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
    if (wish->kind == BLOOMERY_SCALABLE && wish->keys == 0)
        wish->keys = TOOL_CHAIN_KEYS;
    if (why == NULL && wish->keys == 0 && (wish->rate <= 0 || wish->memory == 0))
        why = "how large? give two of -n, -p and --memory, or -n alone";
    if (wish->rate <= 0 && wish->memory == 0)
        wish->rate = TOOL_RATE_DEFAULT;
    if (why != NULL)
        tool_usage("%s", why);
    return why == NULL;
}

static bool make_curve_of_plan(struct wish *wish, struct tool_curve *curve)
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
    return tool_curve_of_plan(&plan, wish->to, curve);
}

/* ---- Output ---------------------------------------------------------------------------------- */

/* One of the two is NULL. */
static int show(struct wish *wish, const struct tool_curve *curve,
                const struct tool_block_fill *fill)
{
    struct tool_out out;
    if (wish->json)
        return curve != NULL ? tool_curve_json(curve) : tool_fill_json(fill);
    if (!wish->svg)
        return curve != NULL ? tool_curve_print(curve) : tool_fill_print(fill);
    tool_out_start(&out);
    if (!tool_text_output_begin(&wish->output, &out))
        return TOOL_ERROR;
    if (curve != NULL)
        tool_curve_svg(&out, curve);
    else
        tool_fill_svg(&out, fill);
    return tool_text_output_finish(&wish->output, &out, TOOL_FOUND);
}

static int plot_filter(struct wish *wish, const char *path)
{
    struct tool_curve curve;
    struct tool_block_fill fill;
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    opening.inspect = true;
    const bloomery_filter *filter = tool_filter_open_any(path, opening, NULL, &wish->dialect, NULL);
    int code = TOOL_ERROR;
    if (filter != NULL && wish->fill && tool_block_fill(path, filter, &fill))
        code = show(wish, NULL, &fill);
    else if (filter != NULL && !wish->fill && tool_curve_of_filter(path, filter, wish->to, &curve))
        code = show(wish, &curve, NULL);
    bloomery_free(filter);
    return code;
}

static int plot_main(int argc, char **argv)
{
    struct wish wish = {.options = BLOOMERY_PLAN_OPTIONS};
    struct tool_curve curve;
    int option;
    while ((option = tool_getopt(argc, argv, "n:p:o:", options)) != -1) {
        if (option == TOOL_OPTION_HELP)
            return TOOL_FOUND;
        if (!take_option(&wish, option))
            return TOOL_ERROR;
    }
    if (argc - optind > 1)
        return tool_usage("'%s': plot takes one filter", argv[optind + 1]);
    const char *path = optind < argc ? argv[optind] : NULL;
    wish.svg = wish.svg || (!wish.json && is_svg(wish.output.path));
    if (!fits_together(&wish, path) || !(wish.force || tool_text_output_is_new(&wish.output)))
        return TOOL_ERROR;
    if (path != NULL)
        return plot_filter(&wish, path);
    return make_curve_of_plan(&wish, &curve) ? show(&wish, &curve, NULL) : TOOL_ERROR;
}

const struct tool_command cmd_plot = {
    .name = "plot",
    .run = plot_main,
    .summary = "the rate over the number of keys, or the fill of blocks, drawn",
    .help = help,
};

/* ---- Plot json ------------------------------------------------------------------------------- */

/* Expected blocks that are less than this are left out if there are none. */
static const double expected_shown = 1e-3;

int tool_curve_json(const struct tool_curve *curve)
{
    json_t *report = tool_json_report("plot");
    tool_json_add(report, "plot", tool_json_text("rate"));
    if (curve->file != NULL)
        tool_json_add(report, "file", tool_json_text(curve->file));
    tool_json_add(report, "kind", tool_json_text(bloomery_kind_name((int)curve->kind)));
    tool_json_add(report, "dialect",
                  curve->dialect != NULL ? tool_json_text(curve->dialect) : tool_json_null());
    tool_json_add(report, "blocks_per_key", tool_json_count(curve->blocks_per_key));
    tool_json_add(report, "probes", tool_json_count(curve->probes));
    tool_json_add(report, "bits", tool_json_count(curve->bits));
    tool_json_add(report, "bytes", tool_json_count(curve->bytes));
    const bool planned = curve->planned_keys > 0;
    tool_json_add(report, "planned_keys",
                  planned ? tool_json_count(curve->planned_keys) : tool_json_null());
    tool_json_add(report, "planned_rate",
                  planned ? tool_json_number(curve->planned_rate) : tool_json_null());
    if (curve->has_now) {
        json_t *now = tool_json_object();
        tool_json_add(now, "keys", tool_json_number(curve->now_keys));
        tool_json_add(now, "predicted_rate", tool_json_number(curve->now_predicted));
        tool_json_add(now, "live_rate", tool_json_number(curve->now_live));
        tool_json_add(report, "now", now);
    }
    json_t *points = tool_json_array();
    for (size_t i = 0; i < curve->count; i++) {
        json_t *point = tool_json_object();
        tool_json_add(point, "keys", tool_json_count(curve->points[i].keys));
        tool_json_add(point, "rate", tool_json_number(curve->points[i].rate));
        tool_json_append(points, point);
    }
    tool_json_add(report, "points", points);
    return tool_json_print(report, TOOL_FOUND);
}

static json_t *moments(double mean, double deviation)
{
    json_t *object = tool_json_object();
    tool_json_add(object, "mean", tool_json_number(mean));
    tool_json_add(object, "deviation", tool_json_number(deviation));
    return object;
}

int tool_fill_json(const struct tool_block_fill *fill)
{
    json_t *report = tool_json_report("plot");
    tool_json_add(report, "plot", tool_json_text("fill"));
    tool_json_add(report, "file", tool_json_text(fill->file));
    tool_json_add(report, "kind", tool_json_text(bloomery_kind_name((int)fill->kind)));
    tool_json_add(report, "layers", tool_json_count(fill->layers));
    tool_json_add(report, "blocks", tool_json_count(fill->blocks));
    tool_json_add(report, "block_cells", tool_json_count(TOOL_BLOCK_CELLS));
    tool_json_add(report, "blocks_per_key", tool_json_count(fill->blocks_per_key));
    tool_json_add(report, "probes", tool_json_count(fill->probes));
    tool_json_add(report, "estimated_keys", tool_json_number(fill->keys));
    tool_json_add(report, "measured", moments(fill->measured_mean, fill->measured_deviation));
    tool_json_add(report, "expected", moments(fill->expected_mean, fill->expected_deviation));
    json_t *rows = tool_json_array();
    for (unsigned set = 0; set <= TOOL_BLOCK_CELLS; set++) {
        if (fill->measured[set] == 0 && fill->expected[set] < expected_shown)
            continue;
        json_t *row = tool_json_object();
        tool_json_add(row, "cells_set", tool_json_count(set));
        tool_json_add(row, "blocks", tool_json_count(fill->measured[set]));
        tool_json_add(row, "expected", tool_json_number(fill->expected[set]));
        tool_json_append(rows, row);
    }
    tool_json_add(report, "fill", rows);
    return tool_json_print(report, TOOL_FOUND);
}
