/* SPDX-License-Identifier: Apache-2.0 */
#include "command/plot/chart.h"

#include "base/experimental.h"
#include "base/json.h"
#include "base/numbers.h"
#include "filter/files.h"
#include "tool.h"

#include <assert.h>
#include <bloomery/dialect.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The name of the file -------------------------------------------------------------------- */

enum { NAME_BYTES = 200 };

/* "ids.bloom, " or nothing. */
static const char *show_file(char name[NAME_BYTES], const char *file)
{
    name[0] = '\0';
    if (file == NULL)
        return name;
    json_t *text = tool_json_text(file); /* UTF-8, whatever the name was */
    const char *from = json_string_value(text);
    size_t length = strlen(from);
    if (length > NAME_BYTES - 3) { /* its end tells more; not from within a character */
        from += length - (NAME_BYTES - 3);
        while (((unsigned char)*from & 0xc0) == 0x80)
            from++;
        length = strlen(from);
    }
    memcpy(name, from, length + 1);
    tool_printable(name);
    memcpy(name + length, ", ", 3);
    json_decref(text);
    return name;
}

/* ---- The rate -------------------------------------------------------------------------------- */

/*
 * A filter of one layer has the rate that bloomery_plan_rate or bloomery_expected_rate returns. A
 * scalable filter with n keys has some full layers and one that is filling. An absent key passes if
 * it passes in one of them, so the chain's rate is 1 - (1 - r_0)(1 - r_1)... (docs/mathematics.md,
 * 8.1), with the library's rate of each layer.
 */

enum {
    LAYERS_MAX = 64,
    ROOM_OF_PLAN = 2,  /* a curve goes to this multiple of the planned keys */
    ROOM_OF_CHAIN = 8, /* and a chain's to this multiple of its first layer's */
    DECADES_MIN = 2,
    DECADES_MAX = 40,
    DECADES_BELOW_PLAN = 6, /* a filter with a few keys has rates like 1e-30 */
};

#define MARGIN 1.7 /* decades */

static const double room_past_now = 1.25;
static const double fill_shown = 0.75; /* if no plan is known */

struct chain {
    bloomery_plan layers[LAYERS_MAX];
    double full_rates[LAYERS_MAX];
    uint32_t count;
};

/* What the points are computed from: one of the three. */
struct source {
    const bloomery_plan *plan;
    const bloomery_filter *filter;
    const struct chain *chain;
};

/* The layers of a chain of this plan that `keys` keys fill. */
static void plan_chain(const bloomery_plan *plan, uint64_t keys, struct chain *chain)
{
    uint64_t room = 0;
    chain->count = 0;
    while (room < keys && chain->count < LAYERS_MAX) {
        bloomery_plan *layer = &chain->layers[chain->count];
        *layer = (bloomery_plan)BLOOMERY_PLAN;
        if (bloomery_plan_layer(plan, chain->count, layer, NULL) != BLOOMERY_OK)
            return;
        chain->full_rates[chain->count++] = bloomery_plan_rate(layer, layer->planned_keys);
        room += layer->planned_keys;
    }
}

static double chain_rate(const struct chain *chain, uint64_t keys)
{
    double none = 0; /* the logarithm of the chance that no layer lets a key pass */
    for (uint32_t i = 0; i < chain->count && keys > 0; i++) {
        const bloomery_plan *layer = &chain->layers[i];
        const bool full = keys >= layer->planned_keys && i + 1 < chain->count;
        const double rate = full ? chain->full_rates[i] : bloomery_plan_rate(layer, keys);
        none += log1p(-rate);
        keys -= full ? layer->planned_keys : keys;
    }
    return 0 - expm1(none);
}

/* Where the curve ends if the user did not say. */
static uint64_t choose_end(const struct tool_chart *chart, double unplanned)
{
    const double room = chart->grows ? ROOM_OF_CHAIN : ROOM_OF_PLAN;
    double end = chart->planned_keys > 0 ? room * chart->planned_keys : unplanned;
    if (chart->has_now && isfinite(chart->now_keys))
        end = fmax(end, room_past_now * chart->now_keys);
    return end < (double)TOOL_KEYS_MAX ? (uint64_t)fmax(1, ceil(end)) : TOOL_KEYS_MAX;
}

/* The rates that a drawing shows. The interesting part begins a little below the plan, or below
 * what is now. */
static void find_range(struct tool_chart *chart)
{
    const double end = chart->points[chart->count - 1].line;
    const double planned = chart->planned_rate > 0 ? chart->planned_rate : end;
    const bool drawn = chart->now_rate > 0 && chart->now_keys <= chart->last;
    const double now = drawn ? chart->now_rate : end;
    const double lowest = fmin(planned, end) * pow(10, -DECADES_BELOW_PLAN);
    const double low = fmax(fmin(fmin(planned, end), now), fmax(lowest, pow(10, -DECADES_MAX)));
    const double high = fmin(1, fmax(fmax(planned, end), now));
    chart->top = (unsigned)fmin(fmax(0, floor(-log10(high) + 1e-9)), DECADES_MAX - DECADES_MIN);
    chart->bottom = (unsigned)fmin(ceil(-log10(low) + MARGIN), DECADES_MAX);
    if (chart->bottom < chart->top + DECADES_MIN)
        chart->bottom = chart->top + DECADES_MIN;
}

/* What a curve is of. */
struct subject {
    const char *file;    /* NULL: a plan */
    const char *dialect; /* another system's name; NULL: ours */
    bloomery_kind kind;
    uint32_t blocks_per_key, probes; /* these three of the first layer */
    uint64_t bits;
    uint64_t bytes;
    uint64_t planned_keys; /* 0: unknown */
    double planned_rate;
    const bloomery_scan_result *now; /* NULL: a plan */
};

/* The sentences of a chart, and the facts of its report. */
static void describe_curve(struct tool_chart *chart, const struct subject *of)
{
    char name[NAME_BYTES];
    const bool planned = of->planned_keys > 0;
    const char *kind = bloomery_kind_name((int)of->kind);
    struct tool_report *report = chart->report =
        tool_report_start("plot", (struct tool_report_form){0});
    snprintf(chart->title, sizeof(chart->title),
             "False-positive rate over the number of keys: %s%s filter, %s",
             show_file(name, of->file), of->dialect != NULL ? of->dialect : kind,
             TOOL_SAY_SIZE(of->bytes));
    if (planned)
        snprintf(chart->facts[0], sizeof(chart->facts[0]),
                 "planned: %s key%s at a rate of %s (%s)%s", TOOL_SAY_COUNT(of->planned_keys),
                 of->planned_keys == 1 ? "" : "s", TOOL_SAY_RATE(of->planned_rate),
                 TOOL_SAY_ODDS(of->planned_rate), chart->grows ? ", however far it grows" : "");
    tool_fact(report, "plot", NULL, tool_text("rate"));
    if (of->file != NULL)
        tool_fact(report, "file", NULL, tool_text(of->file));
    tool_fact(report, "kind", NULL, tool_text(kind));
    tool_fact(report, "dialect", NULL, tool_text(of->dialect));
    tool_fact(report, "blocks_per_key", NULL, tool_count(of->blocks_per_key));
    tool_fact(report, "probes", NULL, tool_count(of->probes));
    tool_fact(report, "bits", NULL, tool_count(of->bits));
    tool_fact(report, "bytes", NULL, tool_size(of->bytes));
    tool_fact(report, "planned_keys", NULL, tool_known(planned, tool_count(of->planned_keys)));
    tool_fact(report, "planned_rate", NULL, tool_known(planned, tool_number(of->planned_rate)));
    if (of->now == NULL)
        return;
    const double keys = of->now->estimated_keys;
    if (isinf(keys))
        snprintf(chart->facts[1], sizeof(chart->facts[1]), "now: all bits are set, rate 1");
    else
        snprintf(chart->facts[1], sizeof(chart->facts[1]),
                 "now: about %s key%s, at a rate of %s as predicted, %s live", TOOL_SAY_ABOUT(keys),
                 keys >= 0.5 && keys < 1.5 ? "" : "s", TOOL_SAY_RATE(of->now->expected_rate + 0.0),
                 TOOL_SAY_RATE(of->now->live_rate + 0.0));
    struct tool_report *now = tool_fact_object(report, "now");
    tool_fact(now, "keys", NULL, tool_number(keys));
    tool_fact(now, "predicted_rate", NULL, tool_number(of->now->expected_rate));
    tool_fact(now, "live_rate", NULL, tool_number(of->now->live_rate));
}

/* A chart of this, to `keys_max` keys, without its points. If the user did not say how many, room
 * is left past the plan and past what is now. */
static struct tool_chart begin_curve(const struct subject *of, uint64_t keys_max, double unplanned)
{
    struct tool_chart chart = {
        .grows = of->kind == BLOOMERY_SCALABLE,
        .planned_keys = (double)of->planned_keys,
        .planned_rate = of->planned_rate,
        .has_now = of->now != NULL,
        .now_keys = of->now != NULL ? of->now->estimated_keys : 0,
        .now_rate = of->now != NULL ? of->now->expected_rate : 0,
        .last = (double)keys_max,
    };
    if (keys_max == 0)
        chart.last = (double)choose_end(&chart, unplanned);
    return chart;
}

static void end_curve(struct tool_chart *chart, const struct subject *of,
                      const struct source *source)
{
    const uint64_t keys_max = (uint64_t)chart->last;
    const uint64_t whole = keys_max / TOOL_CURVE_POINTS, rest = keys_max % TOOL_CURVE_POINTS;
    describe_curve(chart, of);
    struct tool_report *points = tool_fact_list(chart->report, "points");
    uint64_t before = 0;
    for (uint64_t i = 1; i <= TOOL_CURVE_POINTS; i++) {
        const uint64_t keys = whole * i + rest * i / TOOL_CURVE_POINTS;
        if (keys > before) {
            const double rate = source->chain != NULL ? chain_rate(source->chain, keys)
                                : source->plan != NULL
                                    ? bloomery_plan_rate(source->plan, keys)
                                    : bloomery_expected_rate(source->filter, keys);
            struct tool_report *point = tool_fact_object(points, NULL);
            tool_fact(point, "keys", NULL, tool_count(keys));
            tool_fact(point, "rate", NULL, tool_number(rate));
            chart->points[chart->count++] = (struct tool_point){.x = (double)keys, .line = rate};
        }
        before = keys;
    }
    assert(chart->count > 0 && chart->count <= TOOL_CURVE_POINTS);
    find_range(chart);
}

static bool one_rate(const char *file)
{
    tool_error("%s%sa static filter has a single rate, and no key can be added to it, so it "
               "does not have a curve; 'bloomery %s' shows the rate",
               file != NULL ? file : "", file != NULL ? ": " : "",
               file != NULL ? "inspect" : "plan");
    return false;
}

/* A chain that `keys` keys do not fit in has no rate for them. */
static bool chain_reaches(const struct chain *chain, uint64_t keys)
{
    char most[TOOL_NUMBER_BYTES], wanted[TOOL_NUMBER_BYTES];
    uint64_t room = 0;
    for (uint32_t i = 0; i < chain->count; i++)
        room += chain->layers[i].planned_keys;
    if (room >= keys)
        return true;
    tool_error("this scalable filter grows to at most %s keys, not to %s",
               tool_format_count(most, room), tool_format_count(wanted, keys));
    return false;
}

bool tool_chart_of_plan(const bloomery_plan *plan, uint64_t keys_max, struct tool_chart *chart)
{
    struct chain chain;
    struct source source = {.plan = plan};
    const struct subject of = {
        .kind = plan->kind != BLOOMERY_KIND_DEFAULT ? plan->kind : BLOOMERY_BLOCKED,
        .blocks_per_key = plan->blocks_per_key,
        .probes = plan->probes,
        .bits = plan->bits,
        .bytes = plan->planned_bytes,
        .planned_keys = plan->planned_keys,
        .planned_rate = plan->planned_rate,
    };
    if (plan->kind == BLOOMERY_STATIC)
        return one_rate(NULL);
    *chart = begin_curve(&of, keys_max, 0);
    if (plan->kind == BLOOMERY_SCALABLE) {
        plan_chain(plan, (uint64_t)chart->last, &chain);
        source.chain = &chain;
        if (!chain_reaches(&chain, (uint64_t)chart->last))
            return false;
    }
    end_curve(chart, &of, &source);
    return true;
}

/* Returns the plan that our chain was made by, from its first layer. */
static bloomery_plan plan_of(const bloomery_info *info, const bloomery_layer_info *first)
{
    return (bloomery_plan){
        .kind = BLOOMERY_SCALABLE,
        .blocks_per_key = first->blocks_per_key,
        .probes = first->probes,
        .cell_bits = 1,
        .hash = info->hash,
        .bits = first->bits,
        .planned_keys = first->planned_keys,
        .planned_rate = info->planned_rate,
        .planned_bytes = first->bytes,
    };
}

/* Chains that were merged have layers that no plan has. */
static bool has_layers_of(const bloomery_filter *filter, const struct chain *chain, uint32_t layers)
{
    for (uint32_t i = 0; i < layers && i < chain->count; i++) {
        bloomery_layer_info layer = BLOOMERY_LAYER_INFO;
        bloomery_layer_info_get(filter, i, false, &layer);
        if (layer.bits != chain->layers[i].bits ||
            layer.planned_keys != chain->layers[i].planned_keys)
            return false;
    }
    return layers <= chain->count;
}

/* The chain that a scalable filter is, with `keys` keys. False after a message. */
static bool chain_of_filter(const char *file, const bloomery_filter *filter,
                            const bloomery_info *info, uint64_t keys, struct chain *chain)
{
    bloomery_layer_info first = BLOOMERY_LAYER_INFO;
    bloomery_layer_info_get(filter, 0, false, &first);
    const bloomery_plan plan = plan_of(info, &first);
    plan_chain(&plan, keys > info->planned_keys ? keys : info->planned_keys, chain);
    if (!has_layers_of(filter, chain, info->layers)) {
        tool_error(
            "%s: its layers are not those of one plan, as after a merge, so it has no curve; "
            "'bloomery inspect' shows the layers",
            file);
        return false;
    }
    return chain_reaches(chain, keys);
}

bool tool_chart_of_filter(const char *file, const bloomery_filter *filter, uint64_t keys_max,
                          struct tool_chart *chart)
{
    struct chain chain;
    struct source source = {.filter = filter};
    struct tool_facts facts;
    tool_facts_read(filter, &facts);
    const bloomery_info *info = &facts.info;
    const char *dialect = info->dialect != 0 ? bloomery_dialect_get(info->dialect)->name : NULL;
    if (!info->has_bits)
        return one_rate(file);
    if (info->kind == BLOOMERY_CUCKOO) {
        tool_error("%s: the rate of a cuckoo filter rises evenly with its keys, so it has no "
                   "curve; 'bloomery inspect' shows it",
                   file);
        return false;
    }
    if (dialect != NULL && (info->kind == BLOOMERY_SCALABLE || info->layers > 1)) {
        tool_error("%s: a chain of %s grows by that system's rules, so it has no curve; "
                   "'bloomery inspect' shows its layers",
                   file, dialect);
        return false;
    }
    const struct subject of = {
        .file = file,
        .dialect = dialect,
        .kind = info->kind,
        .blocks_per_key = info->blocks_per_key,
        .probes = info->probes,
        .bits = info->bits,
        .bytes = info->bytes,
        .planned_keys = info->planned_rate > 0 ? info->planned_keys : 0,
        .planned_rate = info->planned_rate,
        .now = &facts.scan,
    };
    *chart = begin_curve(&of, keys_max,
                         bloomery_estimate(filter, (uint64_t)(fill_shown * (double)info->bits)));
    if (info->kind == BLOOMERY_SCALABLE) {
        if (!chain_of_filter(file, filter, info, (uint64_t)chart->last, &chain))
            return false;
        source.chain = &chain;
    }
    end_curve(chart, &of, &source);
    return true;
}

/* ---- The fill -------------------------------------------------------------------------------- */

/*
 * The fill of blocks. n keys make T = nL picks of a block each. The picks that one of the N blocks
 * gets, its load, are Binomial(T, 1/N): in a large filter nearly Poisson with mean T/N. A pick sets
 * k different bits of its block, so the set bits of a block of load j follow a chain of j steps:
 *
 *     x set bits  ->  x + r,  with the chance  C(512 - x, r) C(x, k - r) / C(512, k)
 *
 * and the number of blocks with x set bits is N times the mixture of these over all loads. That the
 * k bits lie in different words is left out: it does not change the mean, and the deviation by less
 * than a part in 200 (docs/mathematics.md, section 17). In a scalable filter the layers are added.
 */

enum {
    CELLS = TOOL_BLOCK_CELLS,
    PROBES_MAX = 8,
};

/* Expected blocks that are less than this are left out of JSON if there are none. */
static const double expected_shown = 1e-3;

static unsigned cells_set(const unsigned char *block, uint32_t cell_bits)
{
    const size_t bytes = (size_t)CELLS / 8 * cell_bits;
    unsigned set = 0;
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, block + i, sizeof(word));
        if (cell_bits == 4) { /* the lowest bit of each counter: whether one of its bits is set */
            word |= word >> 2;
            word = (word | word >> 1) & UINT64_C(0x1111111111111111);
        } else if (cell_bits == 8) {
            word |= word >> 4;
            word |= word >> 2;
            word = (word | word >> 1) & UINT64_C(0x0101010101010101);
        }
        set += (unsigned)__builtin_popcountll(word);
    }
    return set;
}

/* The chances of loads `first` to `first + count - 1`, which are all that weigh anything. */
struct loads {
    uint64_t first;
    uint64_t count;
    double *weights;
};

/* The weights begin at the mode and go outwards by the ratio of neighbours, so no factorial of a
 * large number is needed; they are normalised at the end. */
static struct loads expect_loads(double picks, double blocks)
{
    const double mean = picks / blocks, odds = 1 / (blocks - 1);
    const double reach = 10 * sqrt(mean * (1 - 1 / blocks)) + 30;
    if (blocks < 2)
        return (struct loads){(uint64_t)picks, 1, NULL};
    const uint64_t mode = (uint64_t)mean;
    const uint64_t first = mean > reach ? (uint64_t)(mean - reach) : 0;
    const uint64_t last = (uint64_t)fmin(picks, mean + reach);
    struct loads loads = {first, last - first + 1, NULL};
    loads.weights = tool_allocate(loads.count * sizeof(double));
    double *at = loads.weights, sum = 1;
    at[mode - first] = 1;
    for (uint64_t j = mode; j < last; j++)
        sum += at[j + 1 - first] = at[j - first] * (picks - (double)j) / ((double)j + 1) * odds;
    for (uint64_t j = mode; j > first; j--)
        sum += at[j - 1 - first] = at[j - first] * (double)j / (picks - (double)j + 1) / odds;
    for (uint64_t i = 0; i < loads.count; i++)
        at[i] /= sum;
    return loads;
}

/* steps[x][r]: of a pick in a block with x set bits, the chance that r of its k are new. */
static void tabulate_steps(uint32_t probes, double steps[CELLS + 1][PROBES_MAX + 1])
{
    double all = 1;
    for (uint32_t i = 0; i < probes; i++)
        all *= CELLS - i;
    for (uint32_t x = 0; x <= CELLS; x++) {
        double choose = 1; /* C(k, r) */
        for (uint32_t r = 0; r <= probes; r++) {
            double ways = choose;
            for (uint32_t i = 0; i < r; i++)
                ways *= x + i < CELLS ? CELLS - x - i : 0;
            for (uint32_t i = 0; i < probes - r; i++)
                ways *= x > i ? x - i : 0;
            steps[x][r] = ways / all;
            choose = choose * (probes - r) / (r + 1);
        }
    }
}

/* One pick more, in place: from full blocks down, so that what moved is not moved again. */
static void add_pick(uint32_t probes, double steps[CELLS + 1][PROBES_MAX + 1], double *chances)
{
    for (uint32_t x = CELLS + 1; x-- > 0;) {
        const double before = chances[x];
        if (before <= 0)
            continue;
        chances[x] = before * steps[x][0];
        for (uint32_t r = 1; r <= probes && x + r <= CELLS; r++)
            chances[x + r] += before * steps[x][r];
    }
}

static void expect(const bloomery_layer_info *layer, uint64_t blocks, double *expected)
{
    static double steps[CELLS + 1][PROBES_MAX + 1];
    double chances[CELLS + 1] = {1};
    if (isinf(layer->estimated_keys)) {
        expected[CELLS] += (double)blocks;
        return;
    }
    const double picks = round(layer->estimated_keys * layer->blocks_per_key);
    struct loads loads = expect_loads(picks, (double)blocks);
    tabulate_steps(layer->probes, steps);
    for (uint64_t load = 0; load < loads.first + loads.count; load++) {
        if (load >= loads.first) {
            const double weight = loads.weights != NULL ? loads.weights[load - loads.first] : 1;
            for (uint32_t x = 0; x <= CELLS; x++)
                expected[x] += (double)blocks * weight * chances[x];
        }
        add_pick(layer->probes, steps, chances);
    }
    free(loads.weights);
}

static bool has_blocks(const char *file, const bloomery_info *info)
{
    if (info->dialect != 0)
        tool_error(
            "%s: the fill by block is for Bloomery filters; filters of %s have other blocks, or "
            "none",
            file, bloomery_dialect_get(info->dialect)->name);
    else if (!info->has_bits)
        tool_error("%s: about half of the bits of a static filter are set, whatever its keys are: "
                   "it has no fill to plot",
                   file);
    else if (info->blocks_per_key == 0)
        tool_error("%s: a classic filter has no blocks, its keys set bits anywhere; 'bloomery "
                   "inspect' shows its fill",
                   file);
    else
        return true;
    return false;
}

/* Mean and standard deviation of a block's set bits, measured and expected: to the report and to
 * the sentences. */
static void sum_up(struct tool_chart *chart)
{
    const double blocks = (double)chart->blocks;
    double mean[2] = {0}, squares[2] = {0};
    for (int x = 0; x <= CELLS; x++) {
        mean[0] += x * (double)chart->points[x].bar / blocks;
        mean[1] += x * chart->points[x].line / blocks;
    }
    for (int x = 0; x <= CELLS; x++) {
        const double off[2] = {x - mean[0], x - mean[1]};
        squares[0] += off[0] * off[0] * (double)chart->points[x].bar / blocks;
        squares[1] += off[1] * off[1] * chart->points[x].line / blocks;
    }
    for (int i = 0; i < 2; i++) {
        struct tool_report *moments =
            tool_fact_object(chart->report, i == 0 ? "measured" : "expected");
        tool_fact(moments, "mean", NULL, tool_number(mean[i]));
        tool_fact(moments, "deviation", NULL, tool_number(sqrt(squares[i])));
        snprintf(chart->facts[i], sizeof(chart->facts[i]), "%s: mean %.1f, standard deviation %.1f",
                 i == 0 ? "measured" : "expected", mean[i], sqrt(squares[i]));
    }
}

bool tool_chart_of_fill(const char *file, const bloomery_filter *filter, struct tool_chart *chart)
{
    double expected[CELLS + 1] = {0}, keys = 0;
    char name[NAME_BYTES];
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    if (!has_blocks(file, &info))
        return false;
    *chart = (struct tool_chart){
        .is_fill = true, .counters = info.counter_max > 0, .last = CELLS, .count = CELLS + 1};
    const size_t block_bytes = (size_t)CELLS / 8 * info.cell_bits;
    for (uint32_t i = 0; i < info.layers; i++) {
        bloomery_layer_info layer = BLOOMERY_LAYER_INFO;
        bloomery_layer_info_get(filter, i, true, &layer);
        const uint64_t blocks = layer.bits / CELLS;
        const void *data;
        uint64_t bytes;
        bloomery_layer_span(filter, i, &data, &bytes);
        assert(bytes >= blocks * block_bytes);
        for (uint64_t b = 0; b < blocks; b++)
            chart->points[cells_set((const unsigned char *)data + b * block_bytes, info.cell_bits)]
                .bar++;
        expect(&layer, blocks, expected);
        chart->blocks += blocks;
        keys += layer.estimated_keys;
    }
    for (unsigned x = 0; x <= CELLS; x++) {
        chart->points[x].x = x;
        chart->points[x].line = expected[x];
    }
    const char *kind = bloomery_kind_name((int)info.kind);
    snprintf(chart->title, sizeof(chart->title), "Fill by block: %s%s filter, %s block%s of %d %s",
             show_file(name, file), kind, TOOL_SAY_COUNT(chart->blocks),
             chart->blocks == 1 ? "" : "s", CELLS, chart->counters ? "counters" : "bits");
    struct tool_report *report = chart->report =
        tool_report_start("plot", (struct tool_report_form){0});
    tool_fact(report, "plot", NULL, tool_text("fill"));
    tool_fact(report, "file", NULL, tool_text(file));
    tool_fact(report, "kind", NULL, tool_text(kind));
    tool_fact(report, "layers", NULL, tool_count(info.layers));
    tool_fact(report, "blocks", NULL, tool_count(chart->blocks));
    tool_fact(report, "block_cells", NULL, tool_count(CELLS));
    tool_fact(report, "blocks_per_key", NULL, tool_count(info.blocks_per_key));
    tool_fact(report, "probes", NULL, tool_count(info.probes));
    tool_fact(report, "estimated_keys", NULL, tool_number(keys));
    sum_up(chart);
    struct tool_report *rows = tool_fact_list(report, "fill");
    for (unsigned x = 0; x <= CELLS; x++) {
        const struct tool_point *point = &chart->points[x];
        if (point->bar == 0 && point->line < expected_shown)
            continue;
        struct tool_report *row = tool_fact_object(rows, NULL);
        tool_fact(row, "cells_set", NULL, tool_count(x));
        tool_fact(row, "blocks", NULL, tool_count(point->bar));
        tool_fact(row, "expected", NULL, tool_number(point->line));
    }
    return true;
}
