/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: what a filter takes before it is made. All numbers are the library's: every row of the
 * table is a call of bloomery_plan_solve, and so is every "would fit" of a message.
 */
#include "base/json.h"
#include "base/numbers.h"
#include "base/out.h"
#include "command/explore/explorer_page.h"
#include "command/plan/plan.h"
#include "command/sieve/sieve_plan.h"
#include "filter/growth.h"
#include "tool.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "bloomery plan -n N [-p RATE] [--memory SIZE]\n"
    "bloomery plan -p RATE --memory SIZE\n"
    "bloomery plan --bits-per-key B [--probes K] [-n N | --memory SIZE]\n"
    "bloomery plan --sieve -n N [--memory SIZE]\n"
    "bloomery plan --table [classic|clickhouse]\n"
    "bloomery plan --url -n N [-p RATE] [option...]\n"
    "\n"
    "Reports what Bloom filters take, kind by kind, before one is made: memory,\n"
    "rate, speed. Give any two of the number of keys, the rate and the memory; the\n"
    "third is computed. -n alone plans for a rate of 1e-4. All three check whether\n"
    "the filter fits; if not, the exit code is 2 and the message says what would\n"
    "fit.\n"
    "\n"
    "  -n, --keys N         the keys to plan for (20M, 1e9)\n"
    "  -p, --rate RATE      the false-positive rate (0.01, 1e-6, 0.01%, 1/1000)\n"
    "      --memory SIZE    the memory of the filter (512MiB, 2GB)\n"
    "      --kind KIND      only this kind: blocked, classic, static, counting (lines\n"
    "                       can be removed; 4 times the memory) or scalable, which\n"
    "                       takes -n and -p: -n keys, after which it first grows\n"
    "      --grow-to N      a scalable filter's layers once it has N keys\n"
    "      --counter-bits B counters of 4 (default) or 8 bits, in a counting filter\n"
    "      --blocks L       only filters with L blocks per key, 1 to 4\n"
    "      --folds D        plan a filter that can be halved D times. Default 0\n"
    "      --bits-per-key B what if: the rate of B bits for each key (10, 9.6). Takes\n"
    "                       -n (default 1M) or --memory, and no -p\n"
    "      --probes K       what if: K bits set by a key, in each block (1 to 8), or\n"
    "                       in all of a classic filter (1 to 64). Takes\n"
    "                       --bits-per-key, or two of -n, -p and --memory\n"
    "      --sieve          instead of filters: what a sieve takes, in memory and on\n"
    "                       disk\n"
    "      --table [NAME]   instead of a plan the rates over bits per key and\n"
    "                       probes: the classic table (default), or clickhouse, the\n"
    "                       one that ClickHouse sizes by\n"
    "      --json           one JSON object, numbers unrounded\n"
    "      --url            the address of the explorer's calculator with this plan.\n"
    "                       Takes two of -n, -p and --memory, or -n alone, and\n"
    "                       --kind, --blocks and --probes\n"
    "      --page PAGE      PAGE in place of the explorer that is installed: a path,\n"
    "                       or an address (https://...)\n"
    "\n" TOOL_SIEVE_PLAN_HELP "\n"
    "Columns:\n"
    "  blocks   blocks per key, of 512 bits or counters each\n"
    "  probes   the bits that a key sets in each block\n"
    "  limit    memory relative to the information-theoretic minimum\n"
    "  reads    cache lines read on average, for an absent and for a present key\n"
    "The row with a star is what 'bloomery build' makes by default.\n"
    "\n"
    "  bloomery plan -n 20M -p 0.01\n"
    "  bloomery plan -n 1e9 --memory 2GiB\n"
    "  bloomery plan -p 1e-6 --memory 512MiB --json\n"
    "  bloomery plan --bits-per-key 10 --probes 3\n"
    "  bloomery plan --sieve -n 1e9 --memory 18MB\n"
    "  bloomery plan --table clickhouse\n"
    "  xdg-open \"$(bloomery plan --url -n 20M -p 0.01)\"\n";

/* ---- The command line ------------------------------------------------------------------------ */

enum {
    OPTION_MEMORY = TOOL_OPTION_OWN,
    OPTION_KIND,
    OPTION_GROW_TO,
    OPTION_COUNTER_BITS,
    OPTION_BLOCKS,
    OPTION_FOLDS,
    OPTION_BITS_PER_KEY,
    OPTION_PROBES,
    OPTION_TABLE,
    OPTION_SIEVE,
    OPTION_JSON,
    OPTION_URL,
    OPTION_PAGE,
};

static const struct option options[] = {
    {"keys", required_argument, NULL, 'n'},
    {"rate", required_argument, NULL, 'p'},
    {"memory", required_argument, NULL, OPTION_MEMORY},
    {"kind", required_argument, NULL, OPTION_KIND},
    {"grow-to", required_argument, NULL, OPTION_GROW_TO},
    {"counter-bits", required_argument, NULL, OPTION_COUNTER_BITS},
    {"blocks", required_argument, NULL, OPTION_BLOCKS},
    {"folds", required_argument, NULL, OPTION_FOLDS},
    {"bits-per-key", required_argument, NULL, OPTION_BITS_PER_KEY},
    {"probes", required_argument, NULL, OPTION_PROBES},
    {"table", optional_argument, NULL, OPTION_TABLE},
    {"sieve", no_argument, NULL, OPTION_SIEVE},
    TOOL_SIEVE_PLAN_OPTIONS,
    {"json", no_argument, NULL, OPTION_JSON},
    {"url", no_argument, NULL, OPTION_URL},
    {"page", required_argument, NULL, OPTION_PAGE},
    {NULL, 0, NULL, 0},
};

static bool take_option(struct tool_plan_wish *wish, int option)
{
    wish->in_use |= option != OPTION_TABLE && option != OPTION_JSON;
    wish->for_filters |= option >= OPTION_KIND && option <= OPTION_PROBES;
    switch (option) {
    case 'n':
        return tool_option_count("-n", optarg, 1, TOOL_KEYS_MAX, &wish->keys);
    case 'p':
        return tool_option_rate("-p", optarg, &wish->rate);
    case OPTION_MEMORY:
        return tool_option_size("--memory", optarg, &wish->memory);
    case OPTION_KIND:
        return tool_parse_kind(optarg, &wish->kind);
    case OPTION_GROW_TO:
        return tool_option_count("--grow-to", optarg, 1, TOOL_KEYS_MAX, &wish->grow_to);
    case OPTION_COUNTER_BITS:
        return tool_option_counter_bits(optarg, &wish->counter_bits);
    case OPTION_BLOCKS:
        return tool_option_small("--blocks", optarg, 1, 4, &wish->options.blocks_per_key);
    case OPTION_FOLDS:
        return tool_option_small("--folds", optarg, 0, 30, &wish->options.folds);
    case OPTION_BITS_PER_KEY:
        return tool_option_bits_per_key(optarg, &wish->bits_per_key);
    case OPTION_PROBES:
        return tool_option_small("--probes", optarg, 1, TOOL_WHAT_IF_PROBES, &wish->options.probes);
    case OPTION_TABLE:
        wish->table = optarg != NULL ? optarg : "";
        return true;
    case OPTION_SIEVE:
        wish->sieve = true;
        return true;
    case OPTION_JSON:
        wish->json = true;
        return true;
    case OPTION_URL:
        wish->url = true;
        return true;
    case OPTION_PAGE:
        wish->page = optarg;
        return true;
    default:
        return tool_sieve_plan_option(&wish->of_sieve, option);
    }
}

static bool fits_together(struct tool_plan_wish *wish)
{
    if (wish->options.blocks_per_key > 0 && wish->kind == BLOOMERY_CLASSIC) {
        tool_usage("--blocks is for blocked filters; a classic one has none");
        return false;
    }
    if (!tool_counters_wanted(wish->counter_bits, &wish->kind))
        return false;
    if (wish->kind == BLOOMERY_STATIC && wish->options.blocks_per_key + wish->options.folds > 0)
        return !tool_usage("a static filter has no blocks and no folds");
    if (wish->options.blocks_per_key > 0 && wish->kind == BLOOMERY_KIND_DEFAULT)
        wish->kind = BLOOMERY_BLOCKED;
    if (wish->grow_to > 0 && wish->kind == BLOOMERY_KIND_DEFAULT)
        wish->kind = BLOOMERY_SCALABLE;
    if (wish->grow_to > 0 && wish->kind != BLOOMERY_SCALABLE) {
        tool_usage("--grow-to is for scalable filters; others do not grow");
        return false;
    }
    if (wish->kind == BLOOMERY_SCALABLE) {
        if (wish->memory > 0) {
            tool_usage("a scalable filter is planned by -n and -p; with 'build', --memory limits "
                       "how far it grows");
            return false;
        }
        wish->keys = wish->keys > 0 ? wish->keys : TOOL_CHAIN_KEYS;
    }
    if (wish->bits_per_key > 0)
        return true;
    if (wish->keys == 0 && (wish->rate == 0 || wish->memory == 0)) {
        tool_usage("how large? give two of -n, -p and --memory, or -n alone");
        return false;
    }
    if (wish->rate == 0 && wish->memory == 0)
        wish->rate = TOOL_RATE_DEFAULT;
    return true;
}

/* ---- The line to copy ------------------------------------------------------------------------ */

enum { LINE_BYTES = 240 };

/* Without --kind and --blocks if they would be chosen anyway. */
static const char *build_line(char *line, const struct tool_plan_wish *wish,
                              const struct tool_plan_row *row)
{
    char rate[TOOL_NUMBER_BYTES], how[3 * TOOL_NUMBER_BYTES];
    char kind[32] = "", counters[32] = "", blocks[32] = "", folds[32] = "";
    if (row->kind == BLOOMERY_STATIC) /* its --memory is that of the build */
        snprintf(
            how, sizeof(how), "-p %s",
            tool_format_exact(rate, row->plan.rate > 0 ? row->plan.rate : row->plan.planned_rate));
    else if (wish->rate > 0)
        snprintf(how, sizeof(how), "-p %s", tool_format_exact(rate, wish->rate));
    else
        snprintf(how, sizeof(how), "--memory %llu", (unsigned long long)wish->memory);
    if (row->kind != BLOOMERY_BLOCKED)
        snprintf(kind, sizeof(kind), " --kind %s", tool_plan_kind_name(row));
    if (wish->counter_bits > 0)
        snprintf(counters, sizeof(counters), " --counter-bits %u", wish->counter_bits);
    if (row->blocks > 0 && (!row->recommended || wish->options.blocks_per_key > 0))
        snprintf(blocks, sizeof(blocks), " --blocks %u", row->blocks);
    if (wish->options.folds > 0)
        snprintf(folds, sizeof(folds), " --folds %u", wish->options.folds);
    snprintf(line, LINE_BYTES, "bloomery build -n %llu %s%s%s%s%s -o FILE [INPUT...]",
             (unsigned long long)row->plan.planned_keys, how, kind, counters, blocks, folds);
    return line;
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void print_title(struct tool_out *out, const struct tool_plan_wish *wish)
{
    char keys[TOOL_NUMBER_BYTES], rate[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES],
        memory[TOOL_NUMBER_BYTES];
    tool_format_count(keys, wish->keys);
    tool_format_exact(rate, wish->rate);
    tool_format_odds(odds, wish->rate);
    tool_format_size(memory, wish->memory);
    if (wish->keys == 0)
        tool_out_format(out, "As many keys as fit in %s at a rate of %s (%s)\n\n", memory, rate,
                        odds);
    else if (wish->rate == 0)
        tool_out_format(out, "%s key%s in %s\n\n", keys, wish->keys == 1 ? "" : "s", memory);
    else
        tool_out_format(out, "%s key%s at a rate of %s (%s)%s%s\n\n", keys,
                        wish->keys == 1 ? "" : "s", rate, odds, wish->memory > 0 ? ", within " : "",
                        wish->memory > 0 ? memory : "");
}

static void print_row(struct tool_out *out, const struct tool_plan_wish *wish,
                      const struct tool_plan_row *row)
{
    char keys[TOOL_NUMBER_BYTES], memory[TOOL_NUMBER_BYTES], rate[TOOL_NUMBER_BYTES],
        odds[TOOL_NUMBER_BYTES], blocks[16] = "-";
    const bloomery_plan *plan = &row->plan;
    /* A few keys in the smallest filter there is. */
    const bool far_below = wish->rate > 0 && plan->planned_rate < wish->rate / 1000;
    if (row->blocks > 0)
        snprintf(blocks, sizeof(blocks), "%u", row->blocks);
    tool_out_format(out, "%c %-8s %6s %7u", row->recommended ? '*' : ' ', tool_plan_kind_name(row),
                    blocks, plan->probes);
    if (wish->keys == 0)
        tool_out_format(out, " %19s", tool_format_count(keys, plan->planned_keys));
    tool_out_format(out, " %10s %9.2f %10s %15s %6.2fx %8.2f %8.2f\n",
                    tool_format_size(memory, plan->planned_bytes), plan->bits_per_key,
                    tool_format_rate(rate, plan->planned_rate),
                    far_below ? "far below" : tool_format_odds(odds, plan->planned_rate),
                    plan->limit_ratio, plan->absent_cache_lines, plan->present_cache_lines);
}

static void print_left_out(struct tool_out *out, const struct tool_plan_row *row)
{
    char size[TOOL_NUMBER_BYTES], name[TOOL_PLAN_NAME_BYTES];
    if (row->solved)
        tool_out_format(out, "Left out: %s, which needs %s.\n", tool_plan_full_name(name, row),
                        tool_format_size(size, row->plan.planned_bytes));
    else
        tool_out_format(out, "Left out: %s: %s.\n", tool_plan_full_name(name, row),
                        row->error.text);
}

static int print_text(const struct tool_plan_wish *wish, const struct tool_plan_row *rows,
                      size_t count)
{
    struct tool_out out;
    char line[LINE_BYTES];
    tool_out_start(&out);
    print_title(&out, wish);
    const char *keys = wish->keys == 0 ? "                    " : "";
    tool_out_format(&out, "%28s%s%44s %22s\n", "", keys, "", "reads, for a key that is");
    tool_out_format(&out, "  %-8s %6s %7s", "kind", "blocks", "probes");
    if (wish->keys == 0)
        tool_out_format(&out, " %19s", "keys");
    tool_out_format(&out, " %10s %9s %10s %15s %7s %8s %8s\n", "memory", "bits/key", "rate", "odds",
                    "limit", "absent", "present");
    for (size_t i = 0; i < count; i++)
        if (rows[i].fits)
            print_row(&out, wish, &rows[i]);
    tool_out_text(&out, "\n");
    for (size_t i = 0; i < count; i++)
        if (!rows[i].fits)
            print_left_out(&out, &rows[i]);
    for (size_t i = 0; i < count; i++)
        if (rows[i].recommended && rows[i].fits)
            tool_out_format(&out, "* recommended: %s\n", build_line(line, wish, &rows[i]));
    if (wish->grow_to > 0)
        tool_growth_print(&out, &rows[0].plan, wish->grow_to);
    return tool_out_finish(&out, TOOL_FOUND);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *row_object(const struct tool_plan_wish *wish, const struct tool_plan_row *row)
{
    char line[LINE_BYTES];
    const bloomery_plan *plan = &row->plan;
    json_t *object = tool_json_object();
    tool_json_add(object, "kind", tool_json_text(tool_plan_kind_name(row)));
    tool_json_add(object, "blocks_per_key", tool_json_count(row->blocks));
    tool_json_add(object, "fits", tool_json_bool(row->fits));
    tool_json_add(object, "recommended", tool_json_bool(row->recommended && row->fits));
    if (!row->solved) {
        tool_json_add(object, "reason", tool_json_text(row->error.text));
        return object;
    }
    tool_json_add(object, "probes", tool_json_count(plan->probes));
    tool_json_add(object, "keys", tool_json_count(plan->planned_keys));
    tool_json_add(object, "rate", tool_json_number(plan->planned_rate));
    tool_json_add(object, "one_in", tool_json_number(1 / plan->planned_rate));
    tool_json_add(object, "bytes", tool_json_count(plan->planned_bytes));
    tool_json_add(object, "bits", tool_json_count(plan->bits));
    tool_json_add(object, "cell_bits", tool_json_count(plan->cell_bits));
    tool_json_add(object, "bits_per_key", tool_json_number(plan->bits_per_key));
    tool_json_add(object, "limit_ratio", tool_json_number(plan->limit_ratio));
    tool_json_add(object, "absent_cache_lines", tool_json_number(plan->absent_cache_lines));
    tool_json_add(object, "present_cache_lines", tool_json_number(plan->present_cache_lines));
    if (wish->options.probes == 0) /* which 'build' does not take */
        tool_json_add(object, "build", tool_json_text(build_line(line, wish, row)));
    return object;
}

static int print_json(const struct tool_plan_wish *wish, const struct tool_plan_row *rows,
                      size_t count)
{
    json_t *report = tool_json_report("plan");
    json_t *queried = tool_json_object();
    if (wish->keys > 0)
        tool_json_add(queried, "keys", tool_json_count(wish->keys));
    if (wish->rate > 0)
        tool_json_add(queried, "rate", tool_json_number(wish->rate));
    if (wish->memory > 0)
        tool_json_add(queried, "memory", tool_json_count(wish->memory));
    if (wish->options.folds > 0)
        tool_json_add(queried, "folds", tool_json_count(wish->options.folds));
    tool_json_add(report, "asked", queried);
    json_t *plans = tool_json_array();
    for (size_t i = 0; i < count; i++)
        tool_json_append(plans, row_object(wish, &rows[i]));
    tool_json_add(report, "plans", plans);
    if (wish->grow_to > 0)
        tool_json_add(report, "layers", tool_growth_json(&rows[0].plan, wish->grow_to));
    return tool_json_print(report, TOOL_FOUND);
}

/* ---- What if --------------------------------------------------------------------------------- */

/* Memory for a rate, or keys, with probes that the user chose: nothing is recommended. */
static int plan_with_probes(const struct tool_plan_wish *wish)
{
    struct tool_plan_row rows[TOOL_PLAN_ROWS];
    const bloomery_plan none = BLOOMERY_PLAN;
    const size_t count = tool_plan_solve_rows(wish, &none, rows);
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any |= rows[i].solved;
    if (!any)
        return tool_library_error(NULL, &rows[0].error);
    return wish->json ? print_json(wish, rows, count) : print_text(wish, rows, count);
}

static struct tool_what_if what_if_of(const struct tool_plan_wish *wish)
{
    return (struct tool_what_if){
        .keys = wish->keys,
        .memory = wish->memory,
        .rate = wish->rate,
        .bits_per_key = wish->bits_per_key,
        .probes = wish->options.probes,
        .kind = wish->kind,
        .grows = wish->grow_to > 0,
        .folds = wish->options.folds,
        .json = wish->json,
    };
}

/* --bits-per-key and --probes. If the size is known the rate follows; else a solver finds it. */
static int plan_what_if(struct tool_plan_wish *wish)
{
    struct tool_what_if what = what_if_of(wish);
    if (!tool_what_if_fits(&what, &wish->kind) || !fits_together(wish))
        return TOOL_ERROR;
    if (wish->rate > 0)
        return plan_with_probes(wish);
    what.kind = wish->kind;
    what.blocks = wish->options.blocks_per_key;
    what.counter_bits = wish->counter_bits;
    return tool_what_if(what);
}

/* ---- The answer ------------------------------------------------------------------------------ */

/* All three numbers are given and do not go together: says what needs how much, and what would fit.
 */
static int refuse(const struct tool_plan_wish *wish, const bloomery_plan *chosen,
                  const struct tool_plan_row *rows, size_t count)
{
    char keys[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES], needed[TOOL_NUMBER_BYTES],
        given[TOOL_NUMBER_BYTES], fits[TOOL_NUMBER_BYTES];
    char message[512], name[TOOL_PLAN_NAME_BYTES];
    int length = snprintf(
        message, sizeof(message), "%s keys at a rate of %s need %s and --memory is %s",
        tool_format_count(keys, wish->keys), tool_format_odds(odds, wish->rate),
        tool_format_size(needed, chosen->planned_bytes), tool_format_size(given, wish->memory));
    size_t used = (size_t)length;

    struct tool_plan_wish other = *wish;
    bloomery_plan plan;
    other.rate = 0;
    const char *sign = ": what fits is ";
    if (tool_plan_solve(&other, wish->kind, wish->options.blocks_per_key, &plan, NULL)) {
        used += (size_t)snprintf(message + used, sizeof(message) - used, "%sa rate of %s", sign,
                                 tool_format_odds(fits, plan.planned_rate));
        sign = ", or ";
    }
    other.rate = wish->rate;
    other.keys = 0;
    if (tool_plan_solve(&other, wish->kind, wish->options.blocks_per_key, &plan, NULL)) {
        used += (size_t)snprintf(message + used, sizeof(message) - used, "%s%s keys", sign,
                                 tool_format_count(fits, plan.planned_keys));
        sign = ", or ";
    }
    for (size_t i = 0; i < count; i++)
        if (rows[i].fits) {
            used += (size_t)snprintf(message + used, sizeof(message) - used, "%s%s, in %s", sign,
                                     tool_plan_full_name(name, &rows[i]),
                                     tool_format_size(fits, rows[i].plan.planned_bytes));
            break;
        }
    if (used == (size_t)length)
        snprintf(message + used, sizeof(message) - used, ", where no useful rate fits");
    tool_error("%s", message);
    return TOOL_ERROR;
}

/* The table's name may be an operand: --table clickhouse is what one writes. */
static int print_table(const struct tool_plan_wish *wish, int count, char **operands)
{
    const char *name = wish->table[0] != 0 ? wish->table : count > 0 ? *operands : "classic";
    if (count > (wish->table[0] == 0))
        return tool_usage("'%s': --table takes one name", operands[count - 1]);
    if (wish->in_use)
        return tool_usage("--table prints a table: it goes with --json and nothing else");
    return tool_rate_table(name, wish->json);
}

static int plan_sieve(struct tool_plan_wish *wish)
{
    struct tool_sieve_wish *of_sieve = &wish->of_sieve;
    if (!wish->sieve)
        return tool_usage(
            "--pushes, --key-bytes, --disk-speed, --cache-hit, --fingerprint-bits and "
            "--partitions are for --sieve");
    if (wish->for_filters)
        return tool_usage("--sieve takes -n, -p and --memory, and options of its own, none of "
                          "filters");
    of_sieve->plan.keys = wish->keys;
    of_sieve->plan.rate = wish->rate;
    of_sieve->memory = wish->memory;
    of_sieve->json = wish->json;
    return tool_sieve_plan(of_sieve);
}

/* The address is of a plan that there is. */
static int plan_url(struct tool_plan_wish *wish)
{
    bloomery_plan plan;
    bloomery_error error;
    const struct tool_what_if what = what_if_of(wish);
    if (!tool_plan_url_takes(wish) ||
        (wish->options.probes > 0 && !tool_what_if_fits(&what, &wish->kind)) ||
        !fits_together(wish))
        return TOOL_ERROR;
    if (!tool_plan_solve(wish, wish->kind, wish->options.blocks_per_key, &plan, &error))
        return tool_library_error(NULL, &error);
    return tool_plan_url(wish);
}

static int plan_main(int argc, char **argv)
{
    struct tool_plan_wish wish = {.options = BLOOMERY_PLAN_OPTIONS};
    int option;
    while ((option = tool_getopt(argc, argv, "n:p:", options)) != -1) {
        if (option == TOOL_OPTION_HELP)
            return TOOL_FOUND;
        if (!take_option(&wish, option))
            return TOOL_ERROR;
    }
    if (wish.page != NULL && !wish.url)
        return tool_usage("--page names the explorer for --url");
    if (wish.url && wish.table == NULL && optind == argc)
        return plan_url(&wish);
    if (wish.table != NULL)
        return print_table(&wish, argc - optind, argv + optind);
    if (optind < argc)
        return tool_usage("'%s': plan takes no operands", argv[optind]);
    if (wish.sieve || wish.of_sieve.in_use)
        return plan_sieve(&wish);
    if (wish.bits_per_key > 0 || wish.options.probes > 0)
        return plan_what_if(&wish);
    if (!fits_together(&wish))
        return TOOL_ERROR;

    bloomery_plan chosen;
    bloomery_error error;
    if (!tool_plan_solve(&wish, wish.kind, wish.options.blocks_per_key, &chosen, &error))
        return tool_library_error(NULL, &error);
    if (wish.grow_to > 0 && !tool_growth_reaches(&chosen, wish.grow_to))
        return TOOL_ERROR;
    struct tool_plan_row rows[TOOL_PLAN_ROWS];
    size_t count = tool_plan_solve_rows(&wish, &chosen, rows);
    if (wish.memory > 0 && chosen.planned_bytes > wish.memory)
        return refuse(&wish, &chosen, rows, count);
    return wish.json ? print_json(&wish, rows, count) : print_text(&wish, rows, count);
}

const struct tool_command cmd_plan = {
    .name = "plan",
    .run = plan_main,
    .summary = "what a filter takes, before it is made",
    .help = help,
};

/* ---- Plan rows ------------------------------------------------------------------------------- */

/* The rows there are: every kind of this version, blocked and counting with every number of blocks.
 * Scalable ones only by name: they are not for a known number of keys. */
static const struct {
    bloomery_kind kind;
    uint32_t blocks;
} shapes[] = {
    {BLOOMERY_BLOCKED, 1},  {BLOOMERY_BLOCKED, 2},  {BLOOMERY_BLOCKED, 3},  {BLOOMERY_BLOCKED, 4},
    {BLOOMERY_CLASSIC, 0},  {BLOOMERY_COUNTING, 1}, {BLOOMERY_COUNTING, 2}, {BLOOMERY_COUNTING, 3},
    {BLOOMERY_COUNTING, 4}, {BLOOMERY_SCALABLE, 0}, {BLOOMERY_STATIC, 0},
};

_Static_assert(sizeof(shapes) / sizeof(shapes[0]) == TOOL_PLAN_ROWS, "a row for each shape");

const char *tool_plan_kind_name(const struct tool_plan_row *row)
{
    return bloomery_kind_name((int)row->kind);
}

const char *tool_plan_full_name(char *name, const struct tool_plan_row *row)
{
    char blocks[32] = "";
    if (row->blocks > 0)
        snprintf(blocks, sizeof(blocks), " with %u block%s", row->blocks,
                 row->blocks == 1 ? "" : "s");
    snprintf(name, TOOL_PLAN_NAME_BYTES, "%s%s", tool_plan_kind_name(row), blocks);
    return name;
}

bool tool_plan_solve(const struct tool_plan_wish *wish, bloomery_kind kind, uint32_t blocks,
                     bloomery_plan *plan, bloomery_error *error)
{
    bloomery_plan_options with_blocks = wish->options;
    with_blocks.blocks_per_key = blocks;
    with_blocks.cell_bits = wish->counter_bits;
    *plan = (bloomery_plan){.kind = kind, .keys = wish->keys, .rate = wish->rate};
    if (wish->keys == 0 || wish->rate == 0)
        plan->bytes = wish->memory;
    return bloomery_plan_solve(plan, &with_blocks, error) == BLOOMERY_OK;
}

/* Kinds with a purpose that the table does not weigh: only --kind shows them. */
static bool only_by_name(bloomery_kind kind)
{
    return kind == BLOOMERY_SCALABLE || kind == BLOOMERY_COUNTING;
}

/* Whether something is wanted that static filters do not have: then the table has none. */
static bool not_static(const struct tool_plan_wish *wish)
{
    return wish->options.folds + wish->options.probes + wish->options.blocks_per_key > 0;
}

size_t tool_plan_solve_rows(const struct tool_plan_wish *wish, const bloomery_plan *chosen,
                            struct tool_plan_row *rows)
{
    size_t count = 0;
    const bloomery_kind kind =
        chosen->kind != BLOOMERY_KIND_DEFAULT ? chosen->kind : BLOOMERY_BLOCKED;
    for (size_t i = 0; i < TOOL_PLAN_ROWS; i++) {
        struct tool_plan_row row = {.kind = shapes[i].kind, .blocks = shapes[i].blocks};
        if (wish->kind != BLOOMERY_KIND_DEFAULT ? row.kind != wish->kind : only_by_name(row.kind))
            continue;
        if (wish->kind == BLOOMERY_KIND_DEFAULT && row.kind == BLOOMERY_STATIC && not_static(wish))
            continue;
        if (wish->options.blocks_per_key > 0 && row.blocks != wish->options.blocks_per_key)
            continue;
        row.solved = tool_plan_solve(wish, row.kind, row.blocks, &row.plan, &row.error);
        row.fits = row.solved && (wish->memory == 0 || row.plan.planned_bytes <= wish->memory);
        row.recommended = row.solved && row.kind == kind &&
                          (row.kind == BLOOMERY_SCALABLE || row.blocks == chosen->blocks_per_key);
        rows[count++] = row;
    }
    return count;
}

/* ---- Plan url -------------------------------------------------------------------------------- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char digits[] = "0123456789";

bool tool_plan_url_takes(const struct tool_plan_wish *wish)
{
    const struct {
        bool given;
        const char *option;
    } others[] = {
        {wish->json, "--json"},
        {wish->sieve || wish->of_sieve.in_use, "--sieve"},
        {wish->bits_per_key > 0, "--bits-per-key"},
        {wish->counter_bits > 0, "--counter-bits"},
        {wish->grow_to > 0, "--grow-to"},
        {wish->options.folds > 0, "--folds"},
        {wish->keys > 0 && wish->rate > 0 && wish->memory > 0, "all of -n, -p and --memory"},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (others[i].given) {
            tool_usage("--url does not go with %s: an address has two of -n, -p and --memory, and "
                       "--kind, --blocks and --probes",
                       others[i].option);
            return false;
        }
    return true;
}

/* "https://", by the letters that RFC 3986 has for that. */
static bool has_scheme(const char *page)
{
    const size_t first = strspn(page, letters);
    size_t bytes = first;
    while (page[bytes] != '\0' &&
           (strchr(letters, page[bytes]) != NULL || strchr(digits, page[bytes]) != NULL ||
            strchr("+-.", page[bytes]) != NULL))
        bytes++;
    return first > 0 && strncmp(page + bytes, "://", 3) == 0;
}

/* An address stays as it is, so it must be able to take what is put behind it. */
static bool address_takes_a_query(const char *page)
{
    for (const char *at = page; *at != '\0'; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f) {
            tool_usage("--page: an address has no blanks and no control characters");
            return false;
        }
    if (strpbrk(page, "?#") == NULL)
        return true;
    tool_usage("--page %s: the plan comes where this address has a '?' or a '#' already", page);
    return false;
}

static void put_path(struct tool_out *out, const char *path)
{
    for (; *path != '\0'; path++)
        if (strchr(letters, *path) != NULL || strchr(digits, *path) != NULL ||
            strchr("/-._~", *path) != NULL)
            tool_out_bytes(out, path, 1);
        else
            tool_out_format(out, "%%%02X", (unsigned char)*path);
}

static void put_query(struct tool_out *out, const struct tool_plan_wish *wish)
{
    char rate[TOOL_NUMBER_BYTES];
    tool_out_text(out, "?n=");
    if (wish->keys > 0)
        tool_out_format(out, "%llu", (unsigned long long)wish->keys);
    tool_out_text(out, "&p=");
    if (wish->rate > 0)
        tool_out_text(out, tool_format_exact(rate, wish->rate));
    tool_out_text(out, "&m=");
    if (wish->memory > 0)
        tool_out_format(out, "%llu", (unsigned long long)wish->memory * 8);
    tool_out_text(out, "&k=");
    if (wish->options.probes > 0)
        tool_out_format(out, "%u", wish->options.probes);
    if (wish->kind != BLOOMERY_KIND_DEFAULT && wish->kind != BLOOMERY_BLOCKED)
        tool_out_format(out, "&kind=%s", bloomery_kind_name((int)wish->kind));
    if (wish->options.blocks_per_key > 0)
        tool_out_format(out, "&L=%u", wish->options.blocks_per_key);
    tool_out_text(out, "#calculator\n");
}

int tool_plan_url(const struct tool_plan_wish *wish)
{
    char path[PATH_MAX];
    struct tool_out out;
    tool_out_start(&out);
    if (wish->page != NULL && has_scheme(wish->page)) {
        if (!address_takes_a_query(wish->page))
            return TOOL_ERROR;
        tool_out_text(&out, wish->page);
    } else {
        /* A page that was named may be on its way there; the installed one has to be there. */
        if (wish->page != NULL ? !tool_explorer_path(wish->page, path)
                               : !tool_explorer_find(NULL, path))
            return TOOL_ERROR;
        tool_out_text(&out, "file://");
        put_path(&out, path);
    }
    put_query(&out, wish);
    return tool_out_finish(&out, TOOL_FOUND);
}
