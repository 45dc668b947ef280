/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other systems make of a number of keys and a rate. The sizes are their own, faults included,
 * and the rate is what their layout has with that many keys, whatever they were asked for:
 *
 *     $ bloomery plan --dialect leveldb -n 1M -p 1e-6
 *     leveldb     20   3.46 MiB     29.00   0.000234      1 in 4,280 234 times the wanted rate
 *
 * Some systems take bits for each key in the place of a rate. They get the textbook's number for
 * the rate, rounded up, as their manuals say.
 */
#include "command/plan/plan_dialects.h"

#include "base/experimental.h"
#include "base/report.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool tool_take_dialects(const char *option, const char *text, void *at)
{
    struct tool_dialect_wish *wish = at;
    wish->in_use = true;
    wish->all = strcmp(text, "all") == 0;
    return wish->all || tool_dialect_option(option, text, &wish->choice);
}

struct row {
    const bloomery_dialect *dialect;
    bloomery_dialect_parameters parameters;
    bloomery_dialect_plan plan;
    bloomery_error error;
    bool solved;
};

/* Completes what the user said of a dialect with -n and -p, in the numbers that it takes. */
static void complete(struct row *row, uint64_t keys, double rate)
{
    bloomery_dialect_parameters *parameters = &row->parameters;
    const char *takes = row->dialect->create_takes;
    const bool sized = parameters->bits > 0 || parameters->bytes > 0 || parameters->probes > 0 ||
                       parameters->bits_per_key > 0;
    if (parameters->keys == 0 && tool_dialect_list_has(takes, "keys"))
        parameters->keys = keys;
    if (sized || parameters->rate > 0 || rate <= 0)
        return;
    if (tool_dialect_list_has(takes, "rate"))
        parameters->rate = rate;
    else if (tool_dialect_list_has(takes, "bits_per_key"))
        parameters->bits_per_key = ceil(-log2(rate) / log(2));
}

static void solve(struct row *row)
{
    row->plan = (bloomery_dialect_plan)BLOOMERY_DIALECT_PLAN;
    row->solved = bloomery_dialect_plan_solve(row->dialect, &row->parameters, &row->plan,
                                              &row->error) == BLOOMERY_OK;
}

/* Where the real rate is not about the wanted one: how it differs. */
static const char *verdict(char *text, size_t room, double wanted, double real)
{
    const double times = wanted > 0 && real > 0 ? real / wanted : 1;
    text[0] = '\0';
    if (times > 1.05)
        snprintf(text, room, "%.*f times the wanted rate", times < 10, times);
    else if (times < 0.001)
        snprintf(text, room, "far below the wanted rate");
    else if (times < 0.5)
        snprintf(text, room, "1/%.0f of the wanted rate", 1 / times);
    return text;
}

static void add_row(struct tool_report *plans, const struct row *row, double wanted)
{
    char words[64];
    const bloomery_dialect_plan *plan = &row->plan;
    struct tool_report *out = tool_fact_row(plans, true);
    tool_fact(out, "dialect", NULL, tool_text(row->dialect->name));
    if (!row->solved) {
        tool_fact(out, "reason", NULL, tool_text(row->error.text));
        return;
    }
    tool_fact(out, "variant", NULL, tool_text(row->parameters.variant));
    tool_fact(out, "probes", NULL, tool_count(plan->probes));
    tool_fact(out, "bits", NULL, tool_count(plan->bits));
    tool_fact(out, "bytes", NULL, tool_size(plan->bytes));
    tool_fact(out, "blocks_per_key", NULL, tool_count(plan->blocks_per_key));
    tool_fact(out, "block_bits", NULL, tool_count(plan->block_bits));
    tool_fact(out, "grows", NULL, tool_yes(plan->grows != 0));
    tool_fact(out, "keys", NULL, tool_count(plan->keys));
    tool_fact(out, "bits_per_key", NULL, tool_number(plan->bits_per_key));
    tool_fact_say(out, "bits/key", "%.2f", plan->bits_per_key);
    tool_fact(out, "wanted_rate", NULL, tool_known(wanted > 0, tool_number(wanted)));
    tool_fact(out, "rate", NULL, tool_number(plan->expected_rate));
    tool_fact(out, NULL, "odds", tool_odds(plan->expected_rate));
    tool_fact(out, NULL, "verdict",
              tool_text(verdict(words, sizeof words, wanted, plan->expected_rate)));
}

static int report(const struct row *rows, size_t count, double wanted, bool json)
{
    static const struct tool_column columns[] = {
        {"dialect", "dialect", -16},  {"probes", "probes", 6}, {"bytes", "memory", 10},
        {"bits/key", "bits/key", 9},  {"rate", "rate", 10},    {"odds", "odds", 15},
        {"verdict", "compared", -30},
    };
    static const struct tool_table table = {"  ", " ", columns,
                                            sizeof(columns) / sizeof(columns[0])};
    struct tool_report *all = tool_report_start("plan", (struct tool_report_form){0});
    tool_report_line(all, "The rate is that of the system's own layout with all keys in it.");
    tool_report_blank(all);
    struct tool_report *plans = tool_fact_table(all, "plans", &table);
    for (size_t i = 0; i < count; i++)
        add_row(plans, &rows[i], wanted);
    for (size_t i = 0; i < count; i++)
        if (!rows[i].solved)
            tool_report_line(all, "Left out: %s: %s.", rows[i].dialect->name, rows[i].error.text);
    return tool_report_print(all, json, TOOL_FOUND);
}

int tool_dialect_plans(const struct tool_dialect_wish *wish, uint64_t keys, double rate, bool json)
{
    enum { ROWS_MAX = 64 };
    struct row rows[ROWS_MAX];
    size_t count = 0;
    const bloomery_dialect *next = wish->choice.dialect;
    if (wish->all && (keys == 0 || rate <= 0))
        return tool_usage("--dialect all takes -n and -p");
    for (uint32_t id = 1; !wish->all || (next = bloomery_dialect_get(id)) != NULL; id++) {
        struct row *row = &rows[count];
        if (wish->all && !(tool_dialect_list_has(next->create_takes, "keys") && next->creates))
            continue;
        *row = (struct row){.dialect = next, .parameters = BLOOMERY_DIALECT_PARAMETERS};
        if (!wish->all)
            row->parameters = wish->choice.parameters;
        complete(row, keys, rate);
        solve(row);
        if (++count == ROWS_MAX || !wish->all)
            break;
    }
    if (!wish->all && !rows[0].solved)
        return tool_library_error(NULL, &rows[0].error);
    const double wanted =
        !wish->all && rows[0].parameters.rate > 0 ? rows[0].parameters.rate : rate;
    return report(rows, count, wanted, json);
}
