/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tables that people size filters by. The classic one is a formula, (1 - e^(-k n/m))^k over m/n
 * and k, for filters of many keys; what a filter that is about to be made will do, `plan` itself
 * says. ClickHouse's is a table of three digits that its programs carry along (Cassandra's do too),
 * and a way to go through it. The table is the formula rounded, but for one entry; the way is the
 * library's dialect, which does as ClickHouse does.
 */
#include "command/plan/rate_tables.h"

#include "base/numbers.h"
#include "base/out.h"
#include "base/report.h"
#include "tool.h"

#include <bloomery/dialect.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
                                TOOL_SAY_RATE(limit_rate(bits, probes)));
            tool_out_text(&out, least == to ? "*\n" : "\n");
        }
    }
    return tool_out_finish(&out, TOOL_FOUND);
}

static int classic_json(void)
{
    struct tool_report *report = tool_report_start("plan", (struct tool_report_form){0});
    tool_fact(report, "table", NULL, tool_text("classic"));
    struct tool_report *rows = tool_fact_list(report, "rows");
    for (uint32_t bits = BITS_MIN; bits <= CLASSIC_BITS_MAX; bits++) {
        struct tool_report *row = tool_fact_object(rows, NULL);
        tool_fact(row, "bits_per_key", NULL, tool_count(bits));
        tool_fact(row, "best_probes", NULL, tool_number(best_probes(bits)));
        tool_fact(row, "best_whole_probes", NULL, tool_count(best_whole_probes(bits)));
        struct tool_report *rates = tool_fact_list(row, "rates");
        for (uint32_t probes = 1; probes <= CLASSIC_PROBES_MAX; probes++)
            tool_fact(rates, NULL, NULL, tool_number(limit_rate(bits, probes)));
    }
    return tool_report_print(report, true, TOOL_FOUND);
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

static void print_choices(struct tool_out *out, const struct choice *today,
                          const struct choice *before)
{
    tool_out_text(out, "\n"
                       "What ClickHouse chooses for a rate, and the rate that results:\n"
                       "\n"
                       "     rate  bits/key   k   has rate  in older releases\n");
    for (size_t i = 0; i < WISHES; i++) {
        tool_out_format(out, "%9s %9u %3u %10s", TOOL_SAY_RATE(wishes[i]), today[i].bits_per_key,
                        today[i].probes,
                        TOOL_SAY_RATE(limit_rate(today[i].bits_per_key, today[i].probes)));
        if (memcmp(&today[i], &before[i], sizeof today[i]) != 0)
            tool_out_format(out, "  %u, k = %u", before[i].bits_per_key, before[i].probes);
        tool_out_text(out, "\n");
    }
}

/* A line of the table, and what the formula has for it. */
static void print_pair(struct tool_out *out, uint32_t bits, uint32_t from, uint32_t to)
{
    tool_out_format(out, "%3u  table", bits);
    for (uint32_t probes = from; probes <= to && table_rate(bits, probes) > 0; probes++)
        tool_out_format(out, "%12s", TOOL_SAY_RATE(table_rate(bits, probes)));
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

static void add_choice(struct tool_report *choices, const char *name, const struct choice *choice)
{
    struct tool_report *object = tool_fact_object(choices, name);
    tool_fact(object, "bits_per_key", NULL, tool_count(choice->bits_per_key));
    tool_fact(object, "probes", NULL, tool_count(choice->probes));
    tool_fact(object, "rate", NULL, tool_number(limit_rate(choice->bits_per_key, choice->probes)));
}

static int clickhouse_json(const struct choice *today, const struct choice *before)
{
    struct tool_report *report = tool_report_start("plan", (struct tool_report_form){0});
    tool_fact(report, "table", NULL, tool_text("clickhouse"));
    struct tool_report *rows = tool_fact_list(report, "rows");
    for (uint32_t bits = BITS_MIN; bits <= CLICKHOUSE_BITS_MAX; bits++) {
        struct tool_report *row = tool_fact_object(rows, NULL);
        tool_fact(row, "bits_per_key", NULL, tool_count(bits));
        struct tool_report *rates = tool_fact_list(row, "rates");
        struct tool_report *formula = tool_fact_list(row, "formula");
        for (uint32_t probes = 1; table_rate(bits, probes) > 0; probes++) {
            tool_fact(rates, NULL, NULL, tool_number(table_rate(bits, probes)));
            tool_fact(formula, NULL, NULL, tool_number(limit_rate(bits, probes)));
        }
    }
    struct tool_report *choices = tool_fact_list(report, "choices");
    for (size_t i = 0; i < WISHES; i++) {
        struct tool_report *choice = tool_fact_object(choices, NULL);
        tool_fact(choice, "asked", NULL, tool_number(wishes[i]));
        add_choice(choice, "decimal", &today[i]);
        add_choice(choice, "double", &before[i]);
    }
    return tool_report_print(report, true, TOOL_FOUND);
}

int tool_rate_table(const char *name, bool json)
{
    struct choice today[WISHES], before[WISHES];
    if (strcmp(name, "classic") == 0)
        return json ? classic_json() : print_classic();
    if (strcmp(name, "clickhouse") != 0)
        return tool_usage("unknown table '%s'; the tables are classic and clickhouse", name);
    for (size_t i = 0; i < WISHES; i++)
        if (!choose(wishes[i], "decimal", &today[i]) || !choose(wishes[i], "double", &before[i]))
            return TOOL_ERROR;
    return json ? clickhouse_json(today, before) : print_clickhouse(today, before);
}
