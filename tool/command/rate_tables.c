/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tables that people size filters by. The classic one is a formula, (1 - e^(-k n/m))^k over m/n
 * and k, for filters of many keys; what a filter that is about to be made will do, `plan` itself
 * says. ClickHouse's is a table of three digits that its programs carry along (Cassandra's do too),
 * and a way to go through it. The table is the formula rounded, but for one entry; the way is the
 * library's dialect, which does as ClickHouse does.
 */
#include "command/rate_tables.h"

#include "base/json.h"
#include "base/numbers.h"
#include "base/out.h"
#include "tool.h"

#include <bloomery/dialect.h>
#include <math.h>
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
