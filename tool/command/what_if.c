/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What if a filter had this size and these probes? A plan solves for the best filter; here the user
 * chooses and the library says what comes of it. Each rate is bloomery_plan_rate's exact sum for a
 * layout filled in by hand, so that rates over 0.5, which no plan would propose, are shown too.
 */
#include "command/what_if.h"

#include "base/json.h"
#include "base/numbers.h"
#include "base/out.h"
#include "tool.h"

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
