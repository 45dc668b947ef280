/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan: what a filter takes before it is made. All numbers are the library's: every row of the
 * table is a call of bloomery_plan_solve, and so is every "would fit" of a message.
 *
 * What if a filter had this size and these probes (--bits-per-key, --probes)? A plan solves for the
 * best filter; there the user chooses and the library says what comes of it. Each rate is
 * bloomery_plan_rate's exact sum for a layout filled in by hand, so that rates over 0.5, which no
 * plan would propose, are shown too.
 *
 * --url gives a plan as the address of the explorer's calculator,
 *
 *     PAGE?n=KEYS&p=RATE&m=BITS&k=PROBES&kind=KIND#calculator
 *
 * What was not given is empty, and the calculator computes it. Behind kind= comes L=, if the blocks
 * per key were given.
 */
#include "base/numbers.h"
#include "base/options.h"
#include "base/out.h"
#include "base/report.h"
#include "command/explore/explorer_page.h"
#include "command/plan/plan_dialects.h"
#include "command/plan/rate_tables.h"
#include "command/sieve/sieve_command.h"
#include "filter/filter_report.h"
#include "tool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The command line ------------------------------------------------------------------------ */

enum {
    PROBES_MAX = 64,        /* of a classic filter */
    BLOCKED_PROBES_MAX = 8, /* in each block */
};

/* The options; 0 if not given. */
struct wish {
    uint64_t keys;
    double rate;
    uint64_t memory;
    bloomery_kind kind;
    uint64_t grow_to;
    uint32_t counter_bits;
    double bits_per_key;
    bloomery_plan_options options;
    bool json;
    const char *table; /* NULL: a plan */
    bool sieve;        /* a plan of that instead */
    bool for_filters;  /* an option was given that is for filters alone */
    struct tool_sieve_wish of_sieve;
    struct tool_dialect_wish dialects;
    bool url;         /* the address of the calculator in place of the table */
    const char *page; /* NULL: the installed one */
};

/* A number that need not be whole. False after a message. */
static bool take_number(const char *option, const char *text, double least, double most,
                        double *value)
{
    char *end = NULL;
    const bool begins = (text[0] >= '0' && text[0] <= '9') || text[0] == '.';
    const double number = begins && strpbrk(text, "xX") == NULL ? strtod(text, &end) : -1;
    if (end == NULL || *end != '\0' || !(number >= least && number <= most))
        return !tool_usage("%s %s: must be a number from %g to %g", option, text, least, most);
    *value = number;
    return true;
}

static bool take_key_bytes(const char *option, const char *text, void *at)
{
    return take_number(option, text, 1, BLOOMERY_SIEVE_ITEM_MAX, at);
}

static bool take_cache_hit(const char *option, const char *text, void *at)
{
    return take_number(option, text, 0, 1, at);
}

static bool take_disk_speed(const char *option, const char *text, void *at)
{
    uint64_t bytes;
    if (!tool_option_size(option, text, &bytes))
        return false;
    *(double *)at = (double)bytes;
    return true;
}

static bool take_fingerprint_bits(const char *option, const char *text, void *at)
{
    uint32_t *bits = at;
    return tool_option_small(option, text, 48, 64, bits) &&
           (*bits == 48 || *bits == 64 || !tool_usage("%s %s: must be 64 or 48", option, text));
}

static const double bits_min = 0.1;
static const double bits_max = 10000;

static bool take_bits_per_key(const char *option, const char *text, void *at)
{
    char *end = NULL;
    const size_t plain = strspn(text, "0123456789.");
    const double parsed = strtod(text, &end);
    if (plain == 0 || end != text + plain || *end != '\0' || parsed < bits_min || parsed > bits_max)
        return !tool_usage("%s %s: must be a number from 0.1 to 10,000, such as 10 or 9.6", option,
                           text);
    *(double *)at = parsed;
    return true;
}

static bool take_table(const char *option, const char *text, void *at)
{
    (void)option;
    *(const char **)at = text != NULL ? text : "";
    return true;
}

static const struct tool_option size_options[] = {
    {'n', "keys", "N", TOOL_COUNT(struct wish, keys, 1, TOOL_KEYS_MAX),
     .help = "plan for N keys (20M, 1e9)"},
    {'p', "rate", "RATE", TOOL_RATE(struct wish, rate),
     .help = "set the false-positive rate (0.01, 1e-6, 0.01%, 1/1000)"},
    {0, "memory", "SIZE", TOOL_SIZE(struct wish, memory),
     .help = "set the memory of the filter (512MiB, 2GB)"},
    TOOL_OPTIONS_END,
};

static const struct tool_option filter_options[] = {
    {0, "kind", "KIND", TOOL_CALL(struct wish, kind, tool_take_kind), .words = TOOL_KIND_WORDS,
     .help = "plan only this kind of filter:\n"
             "blocked\tone cache miss per block, 1 to 4 blocks per key\n"
             "classic\tthe least memory of the kinds to which keys can be added\n"
             "static\tthe smallest; nothing can be added later\n"
             "counting\t4 times the memory of blocked; keys can be removed and counted\n"
             "scalable\tgrows as keys are added, at the same rate. It takes -n (default 1 Mi) "
             "and -p, and adds a layer after N keys\n"
             "cuckoo\tRedisBloom's: a byte for each key, 1 in 200 or more; keys can be removed",
     .more = "A classic filter has a cache miss for each bit. A scalable filter grows by "
             "layers of twice the size, and its rate stays below -p at any size. A static "
             "filter is built once from all its keys. Add new keys to a small scalable filter "
             "beside it, and query both with two -f."},
    {0, "grow-to", "N", TOOL_COUNT(struct wish, grow_to, 1, TOOL_KEYS_MAX),
     .help = "show the layers of a scalable filter with N keys"},
    {0, "counter-bits", "B", TOOL_CALL(struct wish, counter_bits, tool_take_counter_bits),
     .words = "4|8", .help = "count with 4 or 8 bits in a counting filter (default 4)",
     .more = "4 bits count to 15; 8 bits count to 255, for twice the memory. The option makes "
             "the filter a counting one."},
    {0, "blocks", "L", TOOL_SMALL(struct wish, options.blocks_per_key, 1, 4),
     .help = "plan only filters with L blocks per key, 1 to 4",
     .more = "A block is 512 bits, or as many counters."},
    {0, "folds", "D", TOOL_SMALL(struct wish, options.folds, 0, 30),
     .help = "plan a filter whose file can later be halved up to D times, at a higher rate "
             "(default 0)"},
    {0, "bits-per-key", "B", TOOL_CALL(struct wish, bits_per_key, take_bits_per_key),
     .help =
         "show the rate at B bits per key (10, 9.6). Takes -n (default 1M) or --memory, but not -p",
     .more = "B is 0.1 to 10,000. For each kind, the table shows the exact rate, and the "
             "number of probes with the lowest rate at this size."},
    {0, "probes", "K", TOOL_SMALL(struct wish, options.probes, 1, PROBES_MAX),
     .help = "set K bits per key: in each of its blocks (1 to 8), or in a classic filter (1 to "
             "64). Takes --bits-per-key, or two of -n, -p and --memory",
     .more = "The third of these is computed. 'bloomery build' chooses the probes itself."},
    TOOL_OPTIONS_END,
};

static const struct tool_option other_options[] = {
    {0, "sieve", NULL, TOOL_FLAG(struct wish, sieve),
     .help = "plan a sieve (crawl queue) instead of a filter: memory and disk",
     .more = "The report shows what -n distinct keys need in a process of --memory. It has "
             "memory and disk, the bytes that are read and written, how long that keeps a "
             "disk busy, and how many keys are dropped wrongly. For comparison, it shows what "
             "the sieve would need without a disk, at a rate of -p."},
    {0, "table", "[=NAME]", TOOL_CALL(struct wish, table, take_table),
     .words = "classic|clickhouse",
     .help = "print a table of rates by bits per key and probes, instead of a plan. It is "
             "classic (default) or clickhouse, the table by which ClickHouse sizes its filters",
     .more = "The classic table has (1 - e^(-k n/m))^k for 2 to 32 bits and 1 to 24 probes, "
             "with the lowest rate of each line marked. The other one has the table by which "
             "ClickHouse and Cassandra choose, beside the same formula. It also shows what "
             "ClickHouse chooses for some rates, in current and older releases. Only --json "
             "goes with it."},
    {0, "dialect", "NAME[,...]", TOOL_CALL(struct wish, dialects, tool_take_dialects),
     .words = TOOL_DIALECT_WORDS,
     .help = "plan a filter of another system, with its real rate, or of each system (all). "
             "Takes -n and -p",
     .more = "'bloomery dialects' lists the systems. The size is the system's own choice, and the "
             "rate is that of its layout with all keys in it. A system that takes bits for each "
             "key gets the textbook's number, rounded up."},
    {0, "json", NULL, TOOL_FLAG(struct wish, json),
     .help = "print the report as one JSON object, with unrounded numbers"},
    {0, "url", NULL, TOOL_FLAG(struct wish, url),
     .help = "print an address that opens this plan in the explorer. Takes two of -n, -p and "
             "--memory, or -n alone, and --kind, --blocks and --probes",
     .more = "It is PAGE?n=KEYS&p=RATE&m=BITS&k=PROBES&kind=KIND#calculator. What is not given is "
             "empty."},
    {0, "page", "PAGE", TOOL_TEXT(struct wish, page),
     .help =
         "use PAGE instead of the installed explorer. PAGE is a path or an address (https://...)",
     .more = "With --url. A path becomes an address that begins with file://; an address stays "
             "as it is."},
    TOOL_OPTIONS_END,
};

static const struct tool_option sieve_options[] = {
    {0, "pushes", "T", TOOL_COUNT(struct tool_sieve_wish, plan.pushes, 1, UINT64_C(1) << 62),
     .help = "plan for T pushes, including repeated ones (default: N)"},
    {0, "key-bytes", "B", TOOL_CALL(struct tool_sieve_wish, plan.key_bytes, take_key_bytes),
     .help = "set the average length of a key (default 50)"},
    {0, "cache-hit", "S", TOOL_CALL(struct tool_sieve_wish, plan.cache_hit, take_cache_hit),
     .help = "assume that the cache recognises a share S of the repeated pushes (default 0, "
             "the worst case)"},
    {0, "disk-speed", "R", TOOL_CALL(struct tool_sieve_wish, plan.disk_speed, take_disk_speed),
     .help = "assume a disk that transfers R bytes per second (default 500MB)"},
    {0, "fingerprint-bits", "B",
     TOOL_CALL(struct tool_sieve_wish, plan.fingerprint_bits, take_fingerprint_bits),
     .words = "48|64"},
    {0, "partitions", "P", TOOL_SMALL(struct tool_sieve_wish, plan.partitions, 1, 256),
     .help = "plan with these options of 'bloomery sieve push'"},
    {'p', "rate", "RATE", TOOL_RATE(struct tool_sieve_wish, plan.rate),
     .help = "compare with a filter of this rate (default 1e-6)"},
    TOOL_OPTIONS_END,
};

static const struct tool_option_group groups[] = {
    {.rows = size_options},
    {.rows = filter_options, TOOL_GIVEN(struct wish, for_filters)},
    {.rows = other_options},
    {.title = "For --sieve. --memory is then the limit of the whole process, as in 'bloomery "
              "sieve push'; without it, the sieve alone gets 64 MiB:",
     .rows = sieve_options,
     .offset = offsetof(struct wish, of_sieve),
     TOOL_GIVEN(struct wish, of_sieve.in_use)},
    TOOL_GROUPS_END,
};

/* Whether an option was given that is for plans. */
static bool in_use(const struct wish *wish)
{
    return wish->keys > 0 || wish->rate > 0 || wish->memory > 0 || wish->for_filters ||
           wish->sieve || wish->of_sieve.in_use || wish->dialects.in_use || wish->url ||
           wish->page != NULL;
}

static bool fits_together(struct wish *wish)
{
    if (wish->options.blocks_per_key > 0 && wish->kind == BLOOMERY_CLASSIC)
        return !tool_usage("--blocks is for blocked filters; a classic one has none");
    if (wish->url && wish->kind == BLOOMERY_CUCKOO)
        return !tool_usage("the explorer has no cuckoo filters: leave out --url");
    if (!tool_counters_wanted(wish->counter_bits, &wish->kind))
        return false;
    if (wish->kind == BLOOMERY_STATIC && wish->options.blocks_per_key + wish->options.folds > 0)
        return !tool_usage("a static filter does not have blocks or folds");
    if (wish->options.blocks_per_key > 0 && wish->kind == BLOOMERY_KIND_DEFAULT)
        wish->kind = BLOOMERY_BLOCKED;
    if (wish->grow_to > 0 && wish->kind == BLOOMERY_KIND_DEFAULT)
        wish->kind = BLOOMERY_SCALABLE;
    if (wish->grow_to > 0 && wish->kind != BLOOMERY_SCALABLE)
        return !tool_usage("--grow-to is for scalable filters; others do not grow");
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
        tool_usage("no size: give two of -n, -p and --memory, or -n alone");
        return false;
    }
    if (wish->rate == 0 && wish->memory == 0)
        wish->rate = TOOL_RATE_OF(wish->kind);
    return true;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

struct row {
    bloomery_kind kind;
    uint32_t blocks;
    bool solved;
    bool fits;
    bool recommended;
    bloomery_plan plan;
    bloomery_error error; /* why it could not be solved */
};

enum { ROWS_MAX = 12 };

/* The rows there are: every kind of this version, blocked and counting with every number of blocks.
 * Scalable ones only by name: they are not for a known number of keys. */
static const struct {
    bloomery_kind kind;
    uint32_t blocks;
} shapes[] = {
    {BLOOMERY_BLOCKED, 1},  {BLOOMERY_BLOCKED, 2},  {BLOOMERY_BLOCKED, 3},  {BLOOMERY_BLOCKED, 4},
    {BLOOMERY_CLASSIC, 0},  {BLOOMERY_COUNTING, 1}, {BLOOMERY_COUNTING, 2}, {BLOOMERY_COUNTING, 3},
    {BLOOMERY_COUNTING, 4}, {BLOOMERY_SCALABLE, 0}, {BLOOMERY_STATIC, 0},   {BLOOMERY_CUCKOO, 0},
};

_Static_assert(sizeof(shapes) / sizeof(shapes[0]) == ROWS_MAX, "a row for each shape");

enum { NAME_BYTES = 64 };

/* "blocked with 2 blocks", "classic". Returns `name`. */
static const char *full_name(char *name, const struct row *row)
{
    char blocks[32] = "";
    if (row->blocks > 0)
        snprintf(blocks, sizeof(blocks), " with %u block%s", row->blocks,
                 row->blocks == 1 ? "" : "s");
    snprintf(name, NAME_BYTES, "%s%s", bloomery_kind_name((int)row->kind), blocks);
    return name;
}

/* Solves for the unknown of the three. If there is none, memory is a limit, not part of the
 * plan. */
static bool solve(const struct wish *wish, bloomery_kind kind, uint32_t blocks, bloomery_plan *plan,
                  bloomery_error *error)
{
    bloomery_plan_options with_blocks = wish->options;
    with_blocks.blocks_per_key = blocks;
    with_blocks.cell_bits = wish->counter_bits;
    *plan = (bloomery_plan){.kind = kind, .keys = wish->keys, .rate = wish->rate};
    if (wish->keys == 0 || wish->rate == 0)
        plan->bytes = wish->memory;
    return bloomery_plan_solve(plan, &with_blocks, error) == BLOOMERY_OK;
}

/* All wanted rows; `chosen` is the plan that `build` would follow. Returns how many. */
static size_t solve_rows(const struct wish *wish, const bloomery_plan *chosen, struct row *rows)
{
    size_t count = 0;
    const bloomery_kind kind =
        chosen->kind != BLOOMERY_KIND_DEFAULT ? chosen->kind : BLOOMERY_BLOCKED;
    for (size_t i = 0; i < ROWS_MAX; i++) {
        struct row row = {.kind = shapes[i].kind, .blocks = shapes[i].blocks};
        /* Kinds with a purpose that the table does not weigh are shown by --kind alone, and static
         * filters have none of these three. */
        const bool is_cuckoo = row.kind == BLOOMERY_CUCKOO;
        const bool left_out =
            row.kind == BLOOMERY_SCALABLE || row.kind == BLOOMERY_COUNTING || is_cuckoo ||
            (row.kind == BLOOMERY_STATIC &&
             wish->options.folds + wish->options.probes + wish->options.blocks_per_key > 0);
        if (wish->kind != BLOOMERY_KIND_DEFAULT ? row.kind != wish->kind : left_out)
            continue;
        if (wish->options.blocks_per_key > 0 && row.blocks != wish->options.blocks_per_key)
            continue;
        row.solved = solve(wish, row.kind, row.blocks, &row.plan, &row.error);
        row.fits = row.solved && (wish->memory == 0 || row.plan.planned_bytes <= wish->memory);
        row.recommended =
            row.solved && row.kind == kind &&
            (row.kind == BLOOMERY_SCALABLE || is_cuckoo || row.blocks == chosen->blocks_per_key);
        rows[count++] = row;
    }
    return count;
}

/* ---- The line to copy ------------------------------------------------------------------------ */

enum { LINE_BYTES = 240 };

/* Without --kind and --blocks if they would be chosen anyway. */
static const char *build_line(char *line, const struct wish *wish, const struct row *row)
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
        snprintf(kind, sizeof(kind), " --kind %s", bloomery_kind_name((int)row->kind));
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

/* ---- The report ------------------------------------------------------------------------------ */

/* What plans and their what-ifs have in common, for JSON and for the columns of a table. */
static void add_plan(struct tool_report *row, const bloomery_plan *plan)
{
    tool_fact(row, "probes", NULL, tool_count(plan->probes));
    tool_fact(row, "keys", NULL, tool_count(plan->planned_keys));
    tool_fact(row, "rate", NULL, tool_number(plan->planned_rate));
    tool_fact(row, "one_in", NULL, tool_number(1 / plan->planned_rate));
    tool_fact(row, "bytes", NULL, tool_size(plan->planned_bytes));
    tool_fact(row, "bits", NULL, tool_count(plan->bits));
    tool_fact(row, "cell_bits", NULL, tool_count(plan->cell_bits));
    tool_fact(row, "bits_per_key", NULL, tool_number(plan->bits_per_key));
    tool_fact_say(row, "bits/key", "%.2f", plan->bits_per_key);
    tool_fact(row, "limit_ratio", NULL, tool_number(plan->limit_ratio));
}

static void add_kind(struct tool_report *row, bloomery_kind kind, uint32_t blocks)
{
    tool_fact(row, "kind", NULL, tool_text(bloomery_kind_name((int)kind)));
    tool_fact(row, "blocks_per_key", NULL, tool_count(blocks));
    tool_fact(row, NULL, "blocks", tool_known(blocks > 0, tool_count(blocks)));
}

static void add_row(struct tool_report *plans, const struct wish *wish, const struct row *row)
{
    char line[LINE_BYTES];
    const bloomery_plan *plan = &row->plan;
    struct tool_report *out = tool_fact_row(plans, row->fits);
    add_kind(out, row->kind, row->blocks);
    tool_fact(out, "fits", NULL, tool_yes(row->fits));
    tool_fact(out, "recommended", NULL, tool_yes(row->recommended && row->fits));
    if (!row->solved) {
        tool_fact(out, "reason", NULL, tool_text(row->error.text));
        return;
    }
    add_plan(out, plan);
    tool_fact(out, "absent_cache_lines", NULL, tool_number(plan->absent_cache_lines));
    tool_fact(out, "present_cache_lines", NULL, tool_number(plan->present_cache_lines));
    if (wish->options.probes == 0) /* which 'build' does not take */
        tool_fact(out, "build", NULL, tool_text(build_line(line, wish, row)));
    tool_fact(out, NULL, "star", tool_text(row->recommended ? "*" : ""));
    /* A few keys in the smallest filter there is. */
    const bool far_below = wish->rate > 0 && plan->planned_rate < wish->rate / 1000;
    tool_fact(out, NULL, "odds",
              far_below ? tool_text("far below") : tool_odds(plan->planned_rate));
    tool_fact_say(out, "limit", "%.2fx", plan->limit_ratio);
    tool_fact_say(out, "absent", "%.2f", plan->absent_cache_lines);
    tool_fact_say(out, "present", "%.2f", plan->present_cache_lines);
}

/* What was asked for: the title, and an object. */
static void add_title(struct tool_report *report, const struct wish *wish)
{
    const char *keys = TOOL_SAY_COUNT(wish->keys), *plural = wish->keys == 1 ? "" : "s";
    const char *rate = TOOL_SAY_EXACT(wish->rate), *odds = TOOL_SAY_ODDS(wish->rate);
    const char *memory = TOOL_SAY_SIZE(wish->memory);
    if (wish->keys == 0)
        tool_report_line(report, "As many keys as fit in %s at a rate of %s (%s)", memory, rate,
                         odds);
    else if (wish->rate == 0)
        tool_report_line(report, "%s key%s in %s", keys, plural, memory);
    else
        tool_report_line(report, "%s key%s at a rate of %s (%s)%s%s", keys, plural, rate, odds,
                         wish->memory > 0 ? ", within " : "", wish->memory > 0 ? memory : "");
    struct tool_report *asked = tool_fact_object(report, "asked");
    if (wish->keys > 0)
        tool_fact(asked, "keys", NULL, tool_count(wish->keys));
    if (wish->rate > 0)
        tool_fact(asked, "rate", NULL, tool_number(wish->rate));
    if (wish->memory > 0)
        tool_fact(asked, "memory", NULL, tool_size(wish->memory));
    if (wish->options.folds > 0)
        tool_fact(asked, "folds", NULL, tool_count(wish->options.folds));
}

static int report_rows(const struct wish *wish, const struct row *rows, size_t count)
{
    /* The keys only if they are what was to be found. */
    static const struct tool_column columns[] = {
        {"star", "", 1},
        {"kind", "kind", -8},
        {"blocks", "blocks", 6},
        {"probes", "probes", 7},
        {"keys", "keys", 19},
        {"bytes", "memory", 10},
        {"bits/key", "bits/key", 9},
        {"rate", "rate", 10},
        {"odds", "odds", 15},
        {"limit", "minimum", 7},
        {"absent", "absent", 8},
        {"present", "present", 8},
    };
    enum { KEYS = 4, COUNT = sizeof(columns) / sizeof(columns[0]) };
    struct tool_column without[COUNT - 1];
    memcpy(without, columns, KEYS * sizeof(columns[0]));
    memcpy(without + KEYS, columns + KEYS + 1, (COUNT - KEYS - 1) * sizeof(columns[0]));
    const struct tool_table table = {"", " ", wish->keys == 0 ? columns : without,
                                     wish->keys == 0 ? COUNT : COUNT - 1};

    char line[LINE_BYTES], name[NAME_BYTES];
    struct tool_report *report = tool_report_start("plan", (struct tool_report_form){0});
    add_title(report, wish);
    tool_report_blank(report);
    tool_report_line(report, "%*s%22s", wish->keys == 0 ? 93 : 73, "", "cache lines for a key");
    struct tool_report *plans = tool_fact_table(report, "plans", &table);
    for (size_t i = 0; i < count; i++)
        add_row(plans, wish, &rows[i]);
    tool_report_blank(report);
    for (size_t i = 0; i < count; i++)
        if (!rows[i].fits && rows[i].solved)
            tool_report_line(report, "Left out: %s, which needs %s.", full_name(name, &rows[i]),
                             TOOL_SAY_SIZE(rows[i].plan.planned_bytes));
        else if (!rows[i].fits)
            tool_report_line(report, "Left out: %s: %s.", full_name(name, &rows[i]),
                             rows[i].error.text);
    for (size_t i = 0; i < count; i++)
        if (rows[i].recommended && rows[i].fits)
            tool_report_line(report, "* recommended: %s", build_line(line, wish, &rows[i]));
    if (wish->grow_to > 0)
        tool_growth_report(report, &rows[0].plan, wish->grow_to);
    return tool_report_print(report, wish->json, TOOL_FOUND);
}

/* ---- What if --------------------------------------------------------------------------------- */

/* The keys that a table shows if neither keys nor memory are given: rates hardly depend on them. */
#define WHAT_IF_KEYS UINT64_C(1000000)

enum {
    BLOCK_CELLS = 512,
    WHAT_IF_ROWS = 5,
    COUNTER_BITS = 4, /* the library's default */
};

static const double memory_bits_max = 8.0 * (double)TOOL_MEMORY_MAX;

struct what_if {
    bloomery_plan plan;
    uint32_t best_probes; /* those with the lowest rate at this size */
    double best_rate;
};

static const char *excess_of(const struct wish *wish)
{
    const bool all_sizes = wish->keys > 0 && wish->memory > 0;
    if (wish->bits_per_key > 0 && wish->rate > 0)
        return "--bits-per-key decides the rate: leave out -p";
    if (wish->bits_per_key > 0 && all_sizes)
        return "--bits-per-key takes -n or --memory, not both";
    if (wish->rate > 0 && all_sizes)
        return "--probes takes two of -n, -p and --memory, not all three";
    if (wish->options.folds > 0)
        return "--probes and --bits-per-key do not go with --folds";
    if (wish->grow_to > 0 || wish->kind == BLOOMERY_SCALABLE)
        return "--probes and --bits-per-key are for filters of one layer, and a scalable one has "
               "several";
    return NULL;
}

/* Whether the options go together; a kind of 0 becomes one that can have these probes. False after
 * a message. */
static bool what_if_fits(struct wish *wish)
{
    const char *excess = wish->kind == BLOOMERY_STATIC
                             ? "a static filter has the bits that its keys and rate need, and no "
                               "probes"
                         : wish->kind == BLOOMERY_CUCKOO
                             ? "a cuckoo filter has slots for fingerprints, and no probes"
                             : excess_of(wish);
    if (excess != NULL)
        return !tool_usage("%s", excess);
    if (wish->options.probes <= BLOCKED_PROBES_MAX || wish->kind == BLOOMERY_CLASSIC)
        return true;
    if (wish->kind != BLOOMERY_KIND_DEFAULT) {
        tool_usage("--probes %u: a key has at most %d probes in a block; with --kind classic it "
                   "has up to %d",
                   wish->options.probes, BLOCKED_PROBES_MAX, PROBES_MAX);
        return false;
    }
    wish->kind = BLOOMERY_CLASSIC;
    return true;
}

/* Returns a layout of at least the wanted bits of memory per key. Blocks are whole, and so are the
 * bytes of a classic filter. */
static bloomery_plan layout(const struct wish *wish, bloomery_kind kind, uint32_t blocks)
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

static struct what_if find_row(const struct wish *wish, bloomery_kind kind, uint32_t blocks)
{
    struct what_if row = {.plan = layout(wish, kind, blocks), .best_rate = 2};
    const uint32_t most = kind == BLOOMERY_CLASSIC ? PROBES_MAX : BLOCKED_PROBES_MAX;
    for (uint32_t probes = 1; probes <= most; probes++) {
        const double rate = rate_with(row.plan, probes);
        if (rate < row.best_rate) {
            row.best_rate = rate;
            row.best_probes = probes;
        }
    }
    row.plan.probes = wish->options.probes > 0 ? wish->options.probes : row.best_probes;
    row.plan.planned_rate = rate_with(row.plan, row.plan.probes);
    row.plan.limit_ratio = row.plan.planned_rate > 0 && row.plan.planned_rate < 1
                               ? row.plan.bits_per_key / -log2(row.plan.planned_rate)
                               : 0;
    return row;
}

static size_t find_rows(const struct wish *wish, struct what_if *rows)
{
    size_t count = 0;
    const bloomery_kind in_blocks =
        wish->kind == BLOOMERY_KIND_DEFAULT ? BLOOMERY_BLOCKED : wish->kind;
    for (uint32_t blocks = 1; blocks <= 4 && in_blocks != BLOOMERY_CLASSIC; blocks++)
        if (wish->options.blocks_per_key == 0 || wish->options.blocks_per_key == blocks)
            rows[count++] = find_row(wish, in_blocks, blocks);
    if (wish->kind == BLOOMERY_KIND_DEFAULT || wish->kind == BLOOMERY_CLASSIC)
        rows[count++] = find_row(wish, BLOOMERY_CLASSIC, 0);
    return count;
}

static int report_what_if(const struct wish *wish, const struct what_if *rows, size_t count)
{
    static const struct tool_column columns[] = {
        {"kind", "kind", -8},    {"blocks", "blocks", 6},     {"probes", "probes", 7},
        {"bytes", "memory", 10}, {"bits/key", "bits/key", 9}, {"rate", "rate", 10},
        {"odds", "odds", 15},    {"best_probes", "best", 6},  {"best_rate", "its rate", 10},
    };
    static const struct tool_table table = {"  ", " ", columns,
                                            sizeof(columns) / sizeof(columns[0])};
    char probes[48] = "";
    if (wish->options.probes > 0)
        snprintf(probes, sizeof(probes), " and %u probe%s", wish->options.probes,
                 wish->options.probes == 1 ? "" : "s");
    struct tool_report *report = tool_report_start("plan", (struct tool_report_form){0});
    struct tool_report *given = tool_fact_object(report, "what_if");
    tool_report_line(report, "What if %s key%s had %.4g bits each%s?", TOOL_SAY_COUNT(wish->keys),
                     wish->keys == 1 ? "" : "s", wish->bits_per_key, probes);
    tool_report_blank(report);
    tool_fact(given, "keys", NULL, tool_count(wish->keys));
    tool_fact(given, "bits_per_key", NULL, tool_number(wish->bits_per_key));
    if (wish->options.probes > 0)
        tool_fact(given, "probes", NULL, tool_count(wish->options.probes));
    struct tool_report *plans = tool_fact_table(report, "plans", &table);
    for (size_t i = 0; i < count; i++) {
        struct tool_report *row = tool_fact_row(plans, true);
        add_kind(row, rows[i].plan.kind, rows[i].plan.blocks_per_key);
        add_plan(row, &rows[i].plan);
        tool_fact(row, NULL, "odds", tool_odds(rows[i].plan.planned_rate));
        tool_fact(row, "best_probes", NULL, tool_count(rows[i].best_probes));
        tool_fact(row, "best_rate", NULL, tool_number(rows[i].best_rate));
    }
    tool_report_blank(report);
    tool_report_line(report, "best: the number of probes with the lowest rate at this size.");
    return tool_report_print(report, wish->json, TOOL_FOUND);
}

/* Memory for a rate, or keys, with probes that the user chose: nothing is recommended. */
static int plan_with_probes(const struct wish *wish)
{
    struct row rows[ROWS_MAX];
    const bloomery_plan none = BLOOMERY_PLAN;
    const size_t count = solve_rows(wish, &none, rows);
    bool any = false;
    for (size_t i = 0; i < count; i++)
        any |= rows[i].solved;
    if (!any)
        return tool_library_error(NULL, &rows[0].error);
    return report_rows(wish, rows, count);
}

/* --bits-per-key and --probes. If the size is known the rate follows; else a solver finds it. */
static int plan_what_if(struct wish *wish)
{
    struct what_if rows[WHAT_IF_ROWS];
    if (!what_if_fits(wish) || !fits_together(wish))
        return TOOL_ERROR;
    if (wish->rate > 0)
        return plan_with_probes(wish);
    if (wish->keys == 0 && wish->memory > 0)
        wish->keys = (uint64_t)fmax(1, floor(8.0 * (double)wish->memory / wish->bits_per_key));
    else if (wish->keys == 0)
        wish->keys = WHAT_IF_KEYS;
    if (wish->bits_per_key <= 0)
        wish->bits_per_key = 8.0 * (double)wish->memory / (double)wish->keys;
    if (wish->bits_per_key * (double)wish->keys > memory_bits_max || wish->keys > TOOL_KEYS_MAX) {
        tool_error("a filter takes at most 128 TiB and 281,474,976,710,656 keys");
        return TOOL_ERROR;
    }
    return report_what_if(wish, rows, find_rows(wish, rows));
}

/* ---- The address of a plan ------------------------------------------------------------------- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char digits[] = "0123456789";

/* Whether the address has a place for all that is wanted. False after a message. */
static bool url_takes(const struct wish *wish)
{
    const struct {
        bool given;
        const char *option;
    } others[] = {
        {wish->json, "--json"},
        {wish->sieve || wish->of_sieve.in_use, "--sieve"},
        {wish->dialects.in_use, "--dialect"},
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

static void put_query(struct tool_out *out, const struct wish *wish)
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
    /* The calculator takes a link without a kind for one to another calculator: a flat array. */
    const bloomery_kind kind = wish->kind != BLOOMERY_KIND_DEFAULT ? wish->kind : BLOOMERY_BLOCKED;
    tool_out_format(out, "&kind=%s", bloomery_kind_name((int)kind));
    if (wish->options.blocks_per_key > 0)
        tool_out_format(out, "&L=%u", wish->options.blocks_per_key);
    tool_out_text(out, "#calculator\n");
}

/* Prints the address and returns the exit code. */
static int print_url(const struct wish *wish)
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

/* The address is of a plan that there is. */
static int plan_url(struct wish *wish)
{
    bloomery_plan plan;
    bloomery_error error;
    if (!url_takes(wish) || (wish->options.probes > 0 && !what_if_fits(wish)) ||
        !fits_together(wish))
        return TOOL_ERROR;
    if (!solve(wish, wish->kind, wish->options.blocks_per_key, &plan, &error))
        return tool_library_error(NULL, &error);
    return print_url(wish);
}

/* ---- The answer ------------------------------------------------------------------------------ */

/* All three numbers are given and do not go together: says what needs how much, and what would fit.
 */
static int refuse(const struct wish *wish, const bloomery_plan *chosen, const struct row *rows,
                  size_t count)
{
    char keys[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES], needed[TOOL_NUMBER_BYTES],
        given[TOOL_NUMBER_BYTES], fits[TOOL_NUMBER_BYTES];
    char message[512], name[NAME_BYTES];
    int length = snprintf(
        message, sizeof(message), "%s keys at a rate of %s need %s and --memory is %s",
        tool_format_count(keys, wish->keys), tool_format_odds(odds, wish->rate),
        tool_format_size(needed, chosen->planned_bytes), tool_format_size(given, wish->memory));
    size_t used = (size_t)length;

    struct wish other = *wish;
    bloomery_plan plan;
    other.rate = 0;
    const char *sign = ": what fits is ";
    if (solve(&other, wish->kind, wish->options.blocks_per_key, &plan, NULL)) {
        used += (size_t)snprintf(message + used, sizeof(message) - used, "%sa rate of %s", sign,
                                 tool_format_odds(fits, plan.planned_rate));
        sign = ", or ";
    }
    other.rate = wish->rate;
    other.keys = 0;
    if (solve(&other, wish->kind, wish->options.blocks_per_key, &plan, NULL)) {
        used += (size_t)snprintf(message + used, sizeof(message) - used, "%s%s keys", sign,
                                 tool_format_count(fits, plan.planned_keys));
        sign = ", or ";
    }
    for (size_t i = 0; i < count; i++)
        if (rows[i].fits) {
            used += (size_t)snprintf(message + used, sizeof(message) - used, "%s%s, in %s", sign,
                                     full_name(name, &rows[i]),
                                     tool_format_size(fits, rows[i].plan.planned_bytes));
            break;
        }
    if (used == (size_t)length)
        snprintf(message + used, sizeof(message) - used, ", where no useful rate fits");
    tool_error("%s", message);
    return TOOL_ERROR;
}

/* The table's name may be an operand: --table clickhouse is what one writes. */
static int print_table(const struct wish *wish, int count, char **operands)
{
    const char *name = wish->table[0] != 0 ? wish->table : count > 0 ? *operands : "classic";
    if (count > (wish->table[0] == 0))
        return tool_usage("'%s': --table takes one name", operands[count - 1]);
    if (in_use(wish))
        return tool_usage("--table prints a table: only --json goes with it");
    return tool_rate_table(name, wish->json);
}

static int plan_sieve(struct wish *wish)
{
    struct tool_sieve_wish *of_sieve = &wish->of_sieve;
    if (!wish->sieve)
        return tool_usage(
            "--pushes, --key-bytes, --disk-speed, --cache-hit, --fingerprint-bits and "
            "--partitions are for --sieve");
    if (wish->for_filters)
        return tool_usage(
            "--sieve takes -n, -p, --memory and its own options, not those of filters");
    of_sieve->plan.keys = wish->keys;
    of_sieve->plan.rate = wish->rate;
    of_sieve->memory = wish->memory;
    of_sieve->json = wish->json;
    return tool_sieve_plan(of_sieve);
}

/* Numbers without their options: names the options that they seem to need. */
static int refuse_operands(char **operands, size_t count)
{
    char options[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof(options); i++) {
        uint64_t number;
        double rate;
        const char *option = tool_parse_rate(operands[i], &rate) && rate < 1 ? "-p"
                             : tool_parse_count(operands[i], &number)        ? "-n"
                             : tool_parse_size(operands[i], &number)         ? "--memory"
                                                                             : NULL;
        if (option == NULL)
            return tool_usage("'%s': plan takes no operands", operands[i]);
        used += (size_t)snprintf(options + used, sizeof(options) - used, "%s%s %s",
                                 i > 0 ? " " : "", option, operands[i]);
    }
    return tool_usage("'%s': plan takes no operands; did you mean '%s'?", operands[0], options);
}

static int plan_main(int argc, char **argv)
{
    struct wish wish = {.options = BLOOMERY_PLAN_OPTIONS};
    int code;
    if (!tool_options_read(argc, argv, &wish, &code))
        return code;
    if (wish.page != NULL && !wish.url)
        return tool_usage("--page names the explorer for --url");
    if (wish.url && wish.table == NULL && optind == argc)
        return plan_url(&wish);
    if (wish.table != NULL)
        return print_table(&wish, argc - optind, argv + optind);
    if (optind < argc)
        return refuse_operands(argv + optind, (size_t)(argc - optind));
    if (wish.sieve || wish.of_sieve.in_use)
        return plan_sieve(&wish);
    if (wish.dialects.in_use)
        return wish.for_filters || wish.memory > 0
                   ? tool_usage("--dialect takes -n, -p and --json; other numbers stand behind its "
                                "name, such as leveldb,bits_per_key=10")
                   : tool_dialect_plans(&wish.dialects, wish.keys, wish.rate, wish.json);
    if (wish.bits_per_key > 0 || wish.options.probes > 0)
        return plan_what_if(&wish);
    if (!fits_together(&wish))
        return TOOL_ERROR;

    bloomery_plan chosen;
    bloomery_error error;
    if (!solve(&wish, wish.kind, wish.options.blocks_per_key, &chosen, &error))
        return tool_library_error(NULL, &error);
    if (wish.grow_to > 0 && !tool_growth_reaches(&chosen, wish.grow_to))
        return TOOL_ERROR;
    struct row rows[ROWS_MAX];
    size_t count = solve_rows(&wish, &chosen, rows);
    if (wish.memory > 0 && chosen.planned_bytes > wish.memory)
        return refuse(&wish, &chosen, rows, count);
    return report_rows(&wish, rows, count);
}

const struct tool_command cmd_plan = {
    .name = "plan",
    .run = plan_main,
    .summary = "show how much memory a filter needs",
    .synopsis = "bloomery plan -n N [-p RATE] [--memory SIZE]\n"
                "bloomery plan -p RATE --memory SIZE\n"
                "bloomery plan --bits-per-key B [--probes K] [-n N | --memory SIZE]\n"
                "bloomery plan --sieve -n N [--memory SIZE]\n"
                "bloomery plan --dialect NAME[,...]|all -n N -p RATE\n"
                "bloomery plan --table [classic|clickhouse]\n"
                "bloomery plan --url -n N [-p RATE] [option...]",
    .introduction =
        "Shows the memory, rate and speed of each kind of Bloom filter before you build "
        "one. Give any two of the number of keys, the rate and the memory; the third is "
        "computed. With -n alone, the rate is 1e-4. With all three, plan checks whether "
        "the filter fits. If not, the exit code is 2 and the message says what would fit.",
    .groups = groups,
    .epilogue = "Columns of the table:\n"
                "  blocks       blocks per key; a block has 512 bits or counters\n"
                "  probes       bits that a key sets in each block\n"
                "  odds         the rate as a fraction\n"
                "  minimum      memory, as a multiple of the information-theoretic minimum\n"
                "  cache lines  read per lookup on average: of an absent, then a present key\n"
                "\n"
                "A star marks the filter that 'bloomery build' makes by default.\n"
                "\n"
                "  bloomery plan -n 20M -p 0.01\n"
                "  bloomery plan -n 1e9 --memory 2GiB\n"
                "  bloomery plan -p 1e-6 --memory 512MiB --json\n"
                "  bloomery plan --bits-per-key 10 --probes 3\n"
                "  bloomery plan --sieve -n 1e9 --memory 18MB\n"
                "  bloomery plan --dialect all -n 20M -p 0.01\n"
                "  bloomery plan --table clickhouse\n"
                "  xdg-open \"$(bloomery plan --url -n 20M -p 0.01)\"",
};
