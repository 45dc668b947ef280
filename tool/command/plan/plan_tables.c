/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What if a filter had this size and these probes? A plan solves for the best filter; here the user
 * chooses and the library says what comes of it. Each rate is bloomery_plan_rate's exact sum for a
 * layout filled in by hand, so that rates over 0.5, which no plan would propose, are shown too.
 */
#include "base/json.h"
#include "base/numbers.h"
#include "base/out.h"
#include "command/plan/plan.h"
#include "tool.h"

#include <bloomery/dialect.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_CELLS = 512,
    ROWS = 5,
    COUNTER_BITS = 4, /* the library's default */
};

static const double bits_min = 0.1;
static const double bits_max = 10000;
static const double memory_bits_max = 8.0 * (double)TOOL_MEMORY_MAX;

struct row {
    bloomery_plan plan;
    uint32_t best_probes; /* those with the lowest rate at this size */
    double best_rate;
};

bool tool_option_bits_per_key(const char *text, double *bits_per_key)
{
    char *end = NULL;
    const size_t plain = strspn(text, "0123456789.");
    const double parsed = strtod(text, &end);
    if (plain > 0 && end == text + plain && *end == '\0' && parsed >= bits_min &&
        parsed <= bits_max) {
        *bits_per_key = parsed;
        return true;
    }
    tool_usage("--bits-per-key %s: must be a number from 0.1 to 10,000, such as 10 or 9.6", text);
    return false;
}

static const char *excess_of(const struct tool_what_if *wish)
{
    const bool all_sizes = wish->keys > 0 && wish->memory > 0;
    if (wish->bits_per_key > 0 && wish->rate > 0)
        return "--bits-per-key decides the rate: leave out -p";
    if (wish->bits_per_key > 0 && all_sizes)
        return "--bits-per-key takes -n or --memory, not both";
    if (wish->rate > 0 && all_sizes)
        return "--probes takes two of -n, -p and --memory, not all three";
    if (wish->folds > 0)
        return "--probes and --bits-per-key do not go with --folds";
    if (wish->grows || wish->kind == BLOOMERY_SCALABLE)
        return "--probes and --bits-per-key are for filters of one layer, and a scalable one has "
               "several";
    return NULL;
}

bool tool_what_if_fits(const struct tool_what_if *wish, bloomery_kind *kind)
{
    const char *excess = *kind == BLOOMERY_STATIC
                             ? "a static filter has the bits that its keys and rate need, and no "
                               "probes"
                             : excess_of(wish);
    if (excess != NULL) {
        tool_usage("%s", excess);
        return false;
    }
    if (wish->probes <= TOOL_WHAT_IF_BLOCKED_PROBES || *kind == BLOOMERY_CLASSIC)
        return true;
    if (*kind != BLOOMERY_KIND_DEFAULT) {
        tool_usage("--probes %u: a key has at most %d probes in a block; with --kind classic it "
                   "has up to %d",
                   wish->probes, TOOL_WHAT_IF_BLOCKED_PROBES, TOOL_WHAT_IF_PROBES);
        return false;
    }
    *kind = BLOOMERY_CLASSIC;
    return true;
}

/* ---- Rates ----------------------------------------------------------------------------------- */

/* A layout of at least so many bits of memory per key. Blocks are whole, and so are the bytes of a
 * classic filter. */
static bloomery_plan layout(const struct tool_what_if *wish, bloomery_kind kind, uint32_t blocks)
{
    const uint32_t counter_bits = wish->counter_bits > 0 ? wish->counter_bits : COUNTER_BITS;
    bloomery_plan plan = {.kind = kind, .blocks_per_key = blocks, .planned_keys = wish->keys};
    plan.cell_bits = kind == BLOOMERY_COUNTING ? counter_bits : 1;
    const double cells = wish->bits_per_key * (double)wish->keys / plan.cell_bits;
    const double unit = kind == BLOOMERY_CLASSIC ? 8 : BLOCK_CELLS;
    plan.bits = (uint64_t)(fmax(1, ceil(cells / unit)) * unit);
    plan.planned_bytes = plan.bits / 8 * plan.cell_bits;
    plan.bits_per_key = (double)plan.bits * plan.cell_bits / (double)plan.planned_keys;
    return plan;
}

/* With the hash that a plan would take: the longer one if that lowers the rate by over 1 %. */
static double rate_with(bloomery_plan plan, uint32_t probes)
{
    plan.probes = probes;
    plan.hash = BLOOMERY_HASH_XXH3_64;
    const double rate = bloomery_plan_rate(&plan, plan.planned_keys);
    plan.hash = BLOOMERY_HASH_XXH3_128;
    const double longer = bloomery_plan_rate(&plan, plan.planned_keys);
    return longer < 0.99 * rate ? longer : rate;
}

static struct row find_row(const struct tool_what_if *wish, bloomery_kind kind, uint32_t blocks)
{
    struct row row = {.plan = layout(wish, kind, blocks), .best_rate = 2};
    const uint32_t most =
        kind == BLOOMERY_CLASSIC ? TOOL_WHAT_IF_PROBES : TOOL_WHAT_IF_BLOCKED_PROBES;
    for (uint32_t probes = 1; probes <= most; probes++) {
        const double rate = rate_with(row.plan, probes);
        if (rate < row.best_rate) {
            row.best_rate = rate;
            row.best_probes = probes;
        }
    }
    row.plan.probes = wish->probes > 0 ? wish->probes : row.best_probes;
    row.plan.planned_rate = rate_with(row.plan, row.plan.probes);
    row.plan.limit_ratio = row.plan.planned_rate > 0 && row.plan.planned_rate < 1
                               ? row.plan.bits_per_key / -log2(row.plan.planned_rate)
                               : 0;
    return row;
}

static size_t find_rows(const struct tool_what_if *wish, struct row *rows)
{
    size_t count = 0;
    const bloomery_kind in_blocks =
        wish->kind == BLOOMERY_KIND_DEFAULT ? BLOOMERY_BLOCKED : wish->kind;
    for (uint32_t blocks = 1; blocks <= 4 && in_blocks != BLOOMERY_CLASSIC; blocks++)
        if (wish->blocks == 0 || wish->blocks == blocks)
            rows[count++] = find_row(wish, in_blocks, blocks);
    if (wish->kind == BLOOMERY_KIND_DEFAULT || wish->kind == BLOOMERY_CLASSIC)
        rows[count++] = find_row(wish, BLOOMERY_CLASSIC, 0);
    return count;
}

/* ---- Output ---------------------------------------------------------------------------------- */

static void print_row(struct tool_out *out, const struct row *row)
{
    char memory[TOOL_NUMBER_BYTES], rate[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES],
        best[TOOL_NUMBER_BYTES], blocks[16] = "-";
    const bloomery_plan *plan = &row->plan;
    if (plan->blocks_per_key > 0)
        snprintf(blocks, sizeof(blocks), "%u", plan->blocks_per_key);
    tool_out_format(
        out, "  %-8s %6s %7u %10s %9.2f %10s %15s %6u %10s\n", bloomery_kind_name((int)plan->kind),
        blocks, plan->probes, tool_format_size(memory, plan->planned_bytes), plan->bits_per_key,
        tool_format_rate(rate, plan->planned_rate), tool_format_odds(odds, plan->planned_rate),
        row->best_probes, tool_format_rate(best, row->best_rate));
}

static int print_text(const struct tool_what_if *wish, const struct row *rows, size_t count)
{
    struct tool_out out;
    char keys[TOOL_NUMBER_BYTES], probes[48] = "";
    if (wish->probes > 0)
        snprintf(probes, sizeof(probes), " and %u probe%s", wish->probes,
                 wish->probes == 1 ? "" : "s");
    tool_out_start(&out);
    tool_out_format(&out, "What if %s key%s had %.4g bits each%s?\n\n",
                    tool_format_count(keys, wish->keys), wish->keys == 1 ? "" : "s",
                    wish->bits_per_key, probes);
    tool_out_format(&out, "  %-8s %6s %7s %10s %9s %10s %15s %6s %10s\n", "kind", "blocks",
                    "probes", "memory", "bits/key", "rate", "odds", "best", "its rate");
    for (size_t i = 0; i < count; i++)
        print_row(&out, &rows[i]);
    tool_out_text(&out, "\nbest: the probes with the lowest rate at this size.\n");
    return tool_out_finish(&out, TOOL_FOUND);
}

static json_t *row_object(const struct row *row)
{
    const bloomery_plan *plan = &row->plan;
    json_t *object = tool_json_object();
    tool_json_add(object, "kind", tool_json_text(bloomery_kind_name((int)plan->kind)));
    tool_json_add(object, "blocks_per_key", tool_json_count(plan->blocks_per_key));
    tool_json_add(object, "probes", tool_json_count(plan->probes));
    tool_json_add(object, "keys", tool_json_count(plan->planned_keys));
    tool_json_add(object, "rate", tool_json_number(plan->planned_rate));
    tool_json_add(object, "one_in", tool_json_number(1 / plan->planned_rate));
    tool_json_add(object, "bytes", tool_json_count(plan->planned_bytes));
    tool_json_add(object, "bits", tool_json_count(plan->bits));
    tool_json_add(object, "cell_bits", tool_json_count(plan->cell_bits));
    tool_json_add(object, "bits_per_key", tool_json_number(plan->bits_per_key));
    tool_json_add(object, "limit_ratio", tool_json_number(plan->limit_ratio));
    tool_json_add(object, "best_probes", tool_json_count(row->best_probes));
    tool_json_add(object, "best_rate", tool_json_number(row->best_rate));
    return object;
}

static int print_json(const struct tool_what_if *wish, const struct row *rows, size_t count)
{
    json_t *report = tool_json_report("plan");
    json_t *given = tool_json_object();
    tool_json_add(given, "keys", tool_json_count(wish->keys));
    tool_json_add(given, "bits_per_key", tool_json_number(wish->bits_per_key));
    if (wish->probes > 0)
        tool_json_add(given, "probes", tool_json_count(wish->probes));
    tool_json_add(report, "what_if", given);
    json_t *plans = tool_json_array();
    for (size_t i = 0; i < count; i++)
        tool_json_append(plans, row_object(&rows[i]));
    tool_json_add(report, "plans", plans);
    return tool_json_print(report, TOOL_FOUND);
}

int tool_what_if(struct tool_what_if wish)
{
    struct row rows[ROWS];
    if (wish.keys == 0 && wish.memory > 0)
        wish.keys = (uint64_t)fmax(1, floor(8.0 * (double)wish.memory / wish.bits_per_key));
    else if (wish.keys == 0)
        wish.keys = TOOL_WHAT_IF_KEYS;
    if (wish.bits_per_key <= 0)
        wish.bits_per_key = 8.0 * (double)wish.memory / (double)wish.keys;
    if (wish.bits_per_key * (double)wish.keys > memory_bits_max || wish.keys > TOOL_KEYS_MAX) {
        tool_error("a filter takes at most 128 TiB and 281,474,976,710,656 keys");
        return TOOL_ERROR;
    }
    const size_t count = find_rows(&wish, rows);
    return wish.json ? print_json(&wish, rows, count) : print_text(&wish, rows, count);
}

/* ---- Rate tables ----------------------------------------------------------------------------- */

/*
 * Two tables that people size filters by. The classic one is a formula, (1 - e^(-k n/m))^k over m/n
 * and k, for filters of many keys; what a filter that is about to be made will do, `plan` itself
 * says. ClickHouse's is a table of three digits that its programs carry along (Cassandra's do too),
 * and a way to go through it. The table is the formula rounded, but for one entry; the way is the
 * library's dialect, which does as ClickHouse does.
 */

enum {
    BITS_MIN = 2,
    CLASSIC_BITS_MAX = 32,
    CLASSIC_PROBES_MAX = 24,
    CLICKHOUSE_BITS_MAX = 20,
    CLICKHOUSE_PROBES_MAX = 14,
    CLASSIC_COLUMNS = 8, /* side by side, so that lines stay readable */
    CLICKHOUSE_COLUMNS = 7,
};

/* In the limit of many keys (docs/mathematics.md, section 2). */
static double limit_rate(uint32_t bits_per_key, uint32_t probes)
{
    return pow(-expm1(-(double)probes / bits_per_key), probes);
}

static double best_probes(uint32_t bits_per_key)
{
    return bits_per_key * log(2);
}

/* The whole k with the least rate. */
static uint32_t best_whole_probes(uint32_t bits_per_key)
{
    const uint32_t below = (uint32_t)fmax(1, floor(best_probes(bits_per_key)));
    return limit_rate(bits_per_key, below + 1) < limit_rate(bits_per_key, below) ? below + 1
                                                                                 : below;
}

static void print_heading(struct tool_out *out, const char *first, uint32_t from, uint32_t to)
{
    char name[16];
    tool_out_format(out, "\n%s", first);
    for (uint32_t probes = from; probes <= to; probes++) {
        snprintf(name, sizeof name, "k = %u", probes);
        tool_out_format(out, "%12s", name);
    }
    tool_out_text(out, "\n");
}

/* ---- Classic --------------------------------------------------------------------------------- */

static int print_classic(void)
{
    struct tool_out out;
    char rate[TOOL_NUMBER_BYTES];
    tool_out_start(&out);
    tool_out_text(&out, "Rates of a classic filter with m/n bits per key and k probes, "
                        "(1 - e^(-k n/m))^k. A star marks\n"
                        "the least rate of a line; best is the k that would give the least if it "
                        "need not be whole.\n");
    for (uint32_t from = 1; from <= CLASSIC_PROBES_MAX; from += CLASSIC_COLUMNS) {
        const uint32_t to = from + CLASSIC_COLUMNS - 1;
        print_heading(&out, "m/n   best", from, to);
        for (uint32_t bits = BITS_MIN; bits <= CLASSIC_BITS_MAX; bits++) {
            const uint32_t least = best_whole_probes(bits);
            tool_out_format(&out, "%3u  %5.2f", bits, best_probes(bits));
            for (uint32_t probes = from; probes <= to; probes++)
                tool_out_format(&out, "%c%11s", probes > from && probes - 1 == least ? '*' : ' ',
                                tool_format_rate(rate, limit_rate(bits, probes)));
            tool_out_text(&out, least == to ? "*\n" : "\n");
        }
    }
    return tool_out_finish(&out, TOOL_FOUND);
}

static int classic_json(void)
{
    json_t *report = tool_json_report("plan");
    json_t *rows = tool_json_array();
    tool_json_add(report, "table", tool_json_text("classic"));
    for (uint32_t bits = BITS_MIN; bits <= CLASSIC_BITS_MAX; bits++) {
        json_t *row = tool_json_object();
        json_t *rates = tool_json_array();
        for (uint32_t probes = 1; probes <= CLASSIC_PROBES_MAX; probes++)
            tool_json_append(rates, tool_json_number(limit_rate(bits, probes)));
        tool_json_add(row, "bits_per_key", tool_json_count(bits));
        tool_json_add(row, "best_probes", tool_json_number(best_probes(bits)));
        tool_json_add(row, "best_whole_probes", tool_json_count(best_whole_probes(bits)));
        tool_json_add(row, "rates", rates);
        tool_json_append(rows, row);
    }
    tool_json_add(report, "rows", rows);
    return tool_json_print(report, TOOL_FOUND);
}

/* ---- ClickHouse ------------------------------------------------------------------------------ */

/* The table's entry for this many bits per key and probes; 0 if it has none. */
static double table_rate(uint32_t bits_per_key, uint32_t probes)
{
    static const uint8_t columns[CLICKHOUSE_BITS_MAX + 1] = {0, 0, 2, 3,  4,  5,  6,  6,  7,  8, 8,
                                                             8, 8, 9, 10, 10, 11, 12, 12, 13, 14};
    char text[32];
    if (bits_per_key > CLICKHOUSE_BITS_MAX || probes > columns[bits_per_key])
        return 0;
    if (bits_per_key == 5 && probes == 3) /* the formula has 0.0919 */
        return 0.092;
    snprintf(text, sizeof text, "%.2e", limit_rate(bits_per_key, probes));
    return strtod(text, NULL);
}

/* What its releases take for a rate, today and before; of the rates, some are entries of the table,
 * where the two differ, and some lie where it has no answer. */
static const double wishes[] = {0.3,  0.25,  0.237, 0.23,  0.22,  0.155, 0.1,
                                0.05, 0.025, 0.01,  0.005, 0.001, 1e-4,  1e-6};

enum { WISHES = sizeof wishes / sizeof wishes[0] };

struct choice {
    uint32_t bits_per_key;
    uint32_t probes;
};

/* Asks the dialect for a filter of 8 keys, which has as many bytes as there are bits for one. */
static bool choose(double rate, const char *variant, struct choice *choice)
{
    bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_info info = BLOOMERY_INFO;
    bloomery_error error;
    bloomery_filter *filter;
    parameters.keys = 8;
    parameters.rate = rate;
    parameters.variant = variant;
    if (bloomery_dialect_create(bloomery_dialect_get(BLOOMERY_DIALECT_CLICKHOUSE), &parameters,
                                NULL, &filter, &error) != BLOOMERY_OK) {
        tool_library_error(NULL, &error);
        return false;
    }
    bloomery_info_get(filter, &info);
    *choice = (struct choice){(uint32_t)(info.bits / 8), info.probes};
    bloomery_free(filter);
    return true;
}

/* All of them, or false after a message. */
static bool choose_all(struct choice *today, struct choice *before)
{
    for (size_t i = 0; i < WISHES; i++)
        if (!choose(wishes[i], "decimal", &today[i]) || !choose(wishes[i], "double", &before[i]))
            return false;
    return true;
}

static void print_choices(struct tool_out *out, const struct choice *today,
                          const struct choice *before)
{
    char rate[TOOL_NUMBER_BYTES], has[TOOL_NUMBER_BYTES];
    tool_out_text(out, "\nWhat it takes for a rate, and what rate that has:\n\n"
                       "     rate  bits/key   k   has rate  in older releases\n");
    for (size_t i = 0; i < WISHES; i++) {
        tool_out_format(out, "%9s %9u %3u %10s", tool_format_rate(rate, wishes[i]),
                        today[i].bits_per_key, today[i].probes,
                        tool_format_rate(has, limit_rate(today[i].bits_per_key, today[i].probes)));
        if (memcmp(&today[i], &before[i], sizeof today[i]) != 0)
            tool_out_format(out, "  %u, k = %u", before[i].bits_per_key, before[i].probes);
        tool_out_text(out, "\n");
    }
}

/* A line of the table, and what the formula has for it. */
static void print_pair(struct tool_out *out, uint32_t bits, uint32_t from, uint32_t to)
{
    char rate[TOOL_NUMBER_BYTES];
    tool_out_format(out, "%3u  table", bits);
    for (uint32_t probes = from; probes <= to && table_rate(bits, probes) > 0; probes++)
        tool_out_format(out, "%12s", tool_format_rate(rate, table_rate(bits, probes)));
    tool_out_text(out, "\n   formula");
    for (uint32_t probes = from; probes <= to && table_rate(bits, probes) > 0; probes++)
        tool_out_format(out, "%12.4e", limit_rate(bits, probes));
    tool_out_text(out, "\n");
}

static int print_clickhouse(const struct choice *today, const struct choice *before)
{
    struct tool_out out;
    tool_out_start(&out);
    tool_out_text(&out, "ClickHouse's table of rates, and under each line the formula, "
                        "(1 - e^(-k n/m))^k.\n");
    for (uint32_t from = 1; from <= CLICKHOUSE_PROBES_MAX; from += CLICKHOUSE_COLUMNS) {
        const uint32_t to = from + CLICKHOUSE_COLUMNS - 1;
        print_heading(&out, "m/n       ", from, to);
        for (uint32_t bits = BITS_MIN; bits <= CLICKHOUSE_BITS_MAX; bits++)
            if (table_rate(bits, from) > 0)
                print_pair(&out, bits, from, to);
    }
    print_choices(&out, today, before);
    return tool_out_finish(&out, TOOL_FOUND);
}

static json_t *choice_object(const struct choice *choice)
{
    json_t *object = tool_json_object();
    tool_json_add(object, "bits_per_key", tool_json_count(choice->bits_per_key));
    tool_json_add(object, "probes", tool_json_count(choice->probes));
    tool_json_add(object, "rate",
                  tool_json_number(limit_rate(choice->bits_per_key, choice->probes)));
    return object;
}

static int clickhouse_json(const struct choice *today, const struct choice *before)
{
    json_t *report = tool_json_report("plan");
    json_t *rows = tool_json_array();
    json_t *choices = tool_json_array();
    tool_json_add(report, "table", tool_json_text("clickhouse"));
    for (uint32_t bits = BITS_MIN; bits <= CLICKHOUSE_BITS_MAX; bits++) {
        json_t *row = tool_json_object();
        json_t *rates = tool_json_array();
        json_t *formula = tool_json_array();
        for (uint32_t probes = 1; table_rate(bits, probes) > 0; probes++) {
            tool_json_append(rates, tool_json_number(table_rate(bits, probes)));
            tool_json_append(formula, tool_json_number(limit_rate(bits, probes)));
        }
        tool_json_add(row, "bits_per_key", tool_json_count(bits));
        tool_json_add(row, "rates", rates);
        tool_json_add(row, "formula", formula);
        tool_json_append(rows, row);
    }
    tool_json_add(report, "rows", rows);
    for (size_t i = 0; i < WISHES; i++) {
        json_t *choice = tool_json_object();
        tool_json_add(choice, "asked", tool_json_number(wishes[i]));
        tool_json_add(choice, "decimal", choice_object(&today[i]));
        tool_json_add(choice, "double", choice_object(&before[i]));
        tool_json_append(choices, choice);
    }
    tool_json_add(report, "choices", choices);
    return tool_json_print(report, TOOL_FOUND);
}

int tool_rate_table(const char *name, bool json)
{
    struct choice today[WISHES], before[WISHES];
    if (strcmp(name, "classic") == 0)
        return json ? classic_json() : print_classic();
    if (strcmp(name, "clickhouse") != 0)
        return tool_usage("there is no table '%s', only classic and clickhouse", name);
    if (!choose_all(today, before))
        return TOOL_ERROR;
    return json ? clickhouse_json(today, before) : print_clickhouse(today, before);
}
