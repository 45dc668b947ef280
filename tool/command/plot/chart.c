/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter of one layer has the rate that bloomery_plan_rate or bloomery_expected_rate returns. A
 * scalable filter with n keys has some full layers and one that is filling. An absent key passes if
 * it passes in one of them, so the chain's rate is 1 - (1 - r_0)(1 - r_1)... (docs/mathematics.md,
 * 8.1), with the library's rate of each layer.
 */
#include "command/plot/chart.h"
#include "base/experimental.h"
#include "base/json.h"
#include "base/numbers.h"
#include "filter/facts.h"
#include "tool.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LAYERS_MAX = 64,
    ROOM_OF_PLAN = 2,  /* a curve goes to so many times the planned keys */
    ROOM_OF_CHAIN = 8, /* and of a chain to so many times those of its first layer */
};

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

static double rate_at(const struct source *source, uint64_t keys)
{
    if (source->chain != NULL)
        return chain_rate(source->chain, keys);
    return source->plan != NULL ? bloomery_plan_rate(source->plan, keys)
                                : bloomery_expected_rate(source->filter, keys);
}

static void fill_points(const struct source *source, struct tool_curve *curve)
{
    const uint64_t whole = curve->keys_max / TOOL_CURVE_POINTS;
    const uint64_t rest = curve->keys_max % TOOL_CURVE_POINTS;
    uint64_t before = 0;
    curve->count = 0;
    for (uint64_t i = 1; i <= TOOL_CURVE_POINTS; i++) {
        const uint64_t keys = whole * i + rest * i / TOOL_CURVE_POINTS;
        if (keys > before)
            curve->points[curve->count++] = (struct tool_curve_point){keys, rate_at(source, keys)};
        before = keys;
    }
}

static uint64_t at_most_all(double keys)
{
    return keys < (double)TOOL_KEYS_MAX ? (uint64_t)fmax(1, ceil(keys)) : TOOL_KEYS_MAX;
}

/* Where the curve ends if the user did not say. */
static uint64_t choose_end(const struct tool_curve *curve, double unplanned)
{
    const double room = curve->kind == BLOOMERY_SCALABLE ? ROOM_OF_CHAIN : ROOM_OF_PLAN;
    double end = curve->planned_keys > 0 ? room * (double)curve->planned_keys : unplanned;
    if (curve->has_now && isfinite(curve->now_keys))
        end = fmax(end, room_past_now * curve->now_keys);
    return at_most_all(end);
}

static bool one_rate(const char *file)
{
    tool_error("%s%sa static filter has one rate, and takes no key after it was built: there is "
               "no curve; 'bloomery %s' shows the rate",
               file != NULL ? file : "", file != NULL ? ": " : "",
               file != NULL ? "inspect" : "plan");
    return false;
}

/* ---- Plans ----------------------------------------------------------------------------------- */

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

bool tool_curve_of_plan(const bloomery_plan *plan, uint64_t keys_max, struct tool_curve *curve)
{
    struct chain chain;
    struct source source = {.plan = plan};
    *curve = (struct tool_curve){
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
    curve->keys_max = keys_max > 0 ? keys_max : choose_end(curve, 0);
    if (plan->kind == BLOOMERY_SCALABLE) {
        plan_chain(plan, curve->keys_max, &chain);
        source.chain = &chain;
        if (!chain_reaches(&chain, curve->keys_max))
            return false;
    }
    fill_points(&source, curve);
    return true;
}

/* ---- Filters --------------------------------------------------------------------------------- */

/* The plan that a chain of ours was made by, from its first layer. */
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

static bool chain_of_filter(const char *file, const bloomery_filter *filter,
                            const bloomery_info *info, struct tool_curve *curve,
                            struct chain *chain)
{
    bloomery_layer_info first = BLOOMERY_LAYER_INFO;
    bloomery_layer_info_get(filter, 0, false, &first);
    const bloomery_plan plan = plan_of(info, &first);
    plan_chain(&plan, curve->keys_max > info->planned_keys ? curve->keys_max : info->planned_keys,
               chain);
    if (!has_layers_of(filter, chain, info->layers)) {
        tool_error("%s: its layers are not those of one plan, as after a merge: there is no curve "
                   "of it; 'bloomery inspect' shows the layers",
                   file);
        return false;
    }
    return chain_reaches(chain, curve->keys_max);
}

static bool has_curve(const char *file, const bloomery_info *info)
{
    if (!info->has_bits)
        return one_rate(file);
    if (info->dialect == 0 || (info->kind != BLOOMERY_SCALABLE && info->layers == 1))
        return true;
    tool_error("%s: a chain of %s grows by that system's rules: there is no curve of it; "
               "'bloomery inspect' shows its layers",
               file, bloomery_dialect_get(info->dialect)->name);
    return false;
}

bool tool_curve_of_filter(const char *file, const bloomery_filter *filter, uint64_t keys_max,
                          struct tool_curve *curve)
{
    struct chain chain;
    struct source source = {.filter = filter};
    struct tool_facts facts;
    tool_facts_read(filter, &facts);
    const bloomery_info info = facts.info;
    if (!has_curve(file, &info))
        return false;
    *curve = (struct tool_curve){
        .file = file,
        .dialect = info.dialect != 0 ? bloomery_dialect_get(info.dialect)->name : NULL,
        .kind = info.kind,
        .blocks_per_key = info.blocks_per_key,
        .probes = info.probes,
        .bits = info.bits,
        .bytes = info.bytes,
        .planned_keys = info.planned_rate > 0 ? info.planned_keys : 0,
        .planned_rate = info.planned_rate,
        .has_now = true,
        .now_keys = facts.scan.estimated_keys,
        .now_predicted = facts.scan.expected_rate,
        .now_live = facts.scan.live_rate,
    };
    const double unplanned = bloomery_estimate(filter, (uint64_t)(fill_shown * (double)info.bits));
    curve->keys_max = keys_max > 0 ? keys_max : choose_end(curve, unplanned);
    if (info.kind == BLOOMERY_SCALABLE) {
        if (!chain_of_filter(file, filter, &info, curve, &chain))
            return false;
        source.chain = &chain;
    }
    fill_points(&source, curve);
    return true;
}

/* ---- Block fill ------------------------------------------------------------------------------ */

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

/* ---- Measured -------------------------------------------------------------------------------- */

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

static void measure(const bloomery_filter *filter, uint32_t layer, uint32_t cell_bits,
                    uint64_t blocks, struct tool_block_fill *fill)
{
    const void *data;
    uint64_t bytes;
    const size_t block_bytes = (size_t)CELLS / 8 * cell_bits;
    bloomery_layer_span(filter, layer, &data, &bytes);
    assert(bytes >= blocks * block_bytes);
    for (uint64_t i = 0; i < blocks; i++)
        fill->measured[cells_set((const unsigned char *)data + i * block_bytes, cell_bits)]++;
}

/* ---- Expected -------------------------------------------------------------------------------- */

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

/* ---- Both ------------------------------------------------------------------------------------ */

static bool has_blocks(const char *file, const bloomery_info *info)
{
    if (info->dialect != 0)
        tool_error("%s: the fill by block is for filters of ours; filters of %s have other blocks, "
                   "or none",
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

static void sum_up(struct tool_block_fill *fill)
{
    const double blocks = (double)fill->blocks;
    double squares[2] = {0};
    for (int x = 0; x <= CELLS; x++) {
        fill->measured_mean += x * (double)fill->measured[x] / blocks;
        fill->expected_mean += x * fill->expected[x] / blocks;
    }
    for (int x = 0; x <= CELLS; x++) {
        const double off[2] = {x - fill->measured_mean, x - fill->expected_mean};
        squares[0] += off[0] * off[0] * (double)fill->measured[x] / blocks;
        squares[1] += off[1] * off[1] * fill->expected[x] / blocks;
    }
    fill->measured_deviation = sqrt(squares[0]);
    fill->expected_deviation = sqrt(squares[1]);
}

bool tool_block_fill(const char *file, const bloomery_filter *filter, struct tool_block_fill *fill)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    if (!has_blocks(file, &info))
        return false;
    *fill = (struct tool_block_fill){
        .file = file,
        .kind = info.kind,
        .counters = info.counter_max > 0,
        .blocks_per_key = info.blocks_per_key,
        .probes = info.probes,
        .layers = info.layers,
    };
    for (uint32_t i = 0; i < info.layers; i++) {
        bloomery_layer_info layer = BLOOMERY_LAYER_INFO;
        bloomery_layer_info_get(filter, i, true, &layer);
        const uint64_t blocks = layer.bits / CELLS;
        measure(filter, i, info.cell_bits, blocks, fill);
        expect(&layer, blocks, fill->expected);
        fill->blocks += blocks;
        fill->keys += layer.estimated_keys;
    }
    sum_up(fill);
    return true;
}

/* ---- Plot scale ------------------------------------------------------------------------------ */

/* ---- Ranges ---------------------------------------------------------------------------------- */

enum {
    DECADES_MIN = 2,
    DECADES_MAX = 40,
    DECADES_BELOW_PLAN = 6, /* a filter with hardly a key has rates like 1e-30 */
};

#define MARGIN 1.7 /* decades */

double tool_tick_step(double max, unsigned ticks)
{
    static const double steps[] = {1, 2, 5, 10};
    const double power = pow(10, floor(log10(max / ticks)));
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
        if (max / (steps[i] * power) <= ticks * (1 + 1e-9))
            return fmax(1, steps[i] * power);
    return fmax(1, 20 * power);
}

const char *tool_tick_label(char *buffer, double value)
{
    static const char *const prefixes[] = {"", " k", " M", " G", " T"};
    size_t prefix = 0;
    while (value >= 1000 && prefix + 1 < sizeof(prefixes) / sizeof(prefixes[0])) {
        value /= 1000;
        prefix++;
    }
    snprintf(buffer, TOOL_NUMBER_BYTES, "%.4g%s", value, prefixes[prefix]);
    return buffer;
}

struct tool_rate_range tool_curve_range(const struct tool_curve *curve)
{
    /* The interesting part begins a little below the plan, or below what is now. */
    const double last = curve->points[curve->count - 1].rate;
    const double planned = curve->planned_rate > 0 ? curve->planned_rate : last;
    const bool drawn = curve->now_predicted > 0 && curve->now_keys <= (double)curve->keys_max;
    const double now = drawn ? curve->now_predicted : last;
    const double lowest = fmin(planned, last) * pow(10, -DECADES_BELOW_PLAN);
    const double low = fmax(fmin(fmin(planned, last), now), fmax(lowest, pow(10, -DECADES_MAX)));
    const double high = fmin(1, fmax(fmax(planned, last), now));
    struct tool_rate_range range;
    range.top = (unsigned)fmin(fmax(0, floor(-log10(high) + 1e-9)), DECADES_MAX - DECADES_MIN);
    range.bottom = (unsigned)fmin(ceil(-log10(low) + MARGIN), DECADES_MAX);
    if (range.bottom < range.top + DECADES_MIN)
        range.bottom = range.top + DECADES_MIN;
    return range;
}

double tool_rate_place(const struct tool_rate_range *range, double height)
{
    return fmin(1, fmax(0, (-height - range->top) / (range->bottom - range->top)));
}

double tool_curve_height(const struct tool_curve *curve, double keys)
{
    const struct tool_curve_point *points = curve->points;
    size_t after = 0;
    while (after < curve->count && (double)points[after].keys < keys)
        after++;
    if (after == curve->count)
        return log10(points[curve->count - 1].rate);
    if (after == 0)
        return (double)points[0].keys <= keys ? log10(points[0].rate) : -INFINITY;
    const double from = (double)points[after - 1].keys, to = (double)points[after].keys;
    const double low = log10(points[after - 1].rate), high = log10(points[after].rate);
    return isinf(low) ? low : low + (high - low) * (keys - from) / (to - from);
}

/* ---- Bins ------------------------------------------------------------------------------------ */

/* Of few blocks what they might have been is shown, too. */
static bool is_shown(const struct tool_block_fill *fill, unsigned set)
{
    return fill->measured[set] > 0 ||
           fill->expected[set] >= fmin(0.5, 0.001 * (double)fill->blocks);
}

void tool_bins_make(const struct tool_block_fill *fill, unsigned bins, struct tool_bins *made)
{
    unsigned first = 0, last = TOOL_BLOCK_CELLS;
    while (first < last && !is_shown(fill, first))
        first++;
    while (last > first && !is_shown(fill, last))
        last--;
    *made = (struct tool_bins){.width = 1};
    while (last / made->width - first / made->width + 1 > bins)
        made->width *= 2;
    made->first = first / made->width * made->width;
    made->count = last / made->width - first / made->width + 1;
    for (unsigned set = made->first; set <= TOOL_BLOCK_CELLS; set++) {
        const unsigned bin = (set - made->first) / made->width;
        if (bin >= made->count)
            break;
        made->measured[bin] += fill->measured[set];
        made->expected[bin] += fill->expected[set];
    }
    for (unsigned bin = 0; bin < made->count; bin++)
        made->most = fmax(made->most, fmax((double)made->measured[bin], made->expected[bin]));
}

unsigned tool_bin_last(const struct tool_bins *bins, unsigned bin)
{
    const unsigned last = bins->first + (bin + 1) * bins->width - 1;
    return last < TOOL_BLOCK_CELLS ? last : TOOL_BLOCK_CELLS;
}

/* ---- Sentences ------------------------------------------------------------------------------- */

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

const char *tool_curve_title(char text[TOOL_PLOT_TEXT_BYTES], const struct tool_curve *curve)
{
    char name[NAME_BYTES], memory[TOOL_NUMBER_BYTES];
    snprintf(text, TOOL_PLOT_TEXT_BYTES,
             "False-positive rate over the number of keys: %s%s filter, %s",
             show_file(name, curve->file),
             curve->dialect != NULL ? curve->dialect : bloomery_kind_name((int)curve->kind),
             tool_format_size(memory, curve->bytes));
    return text;
}

const char *tool_fill_title(char text[TOOL_PLOT_TEXT_BYTES], const struct tool_block_fill *fill)
{
    char name[NAME_BYTES], blocks[TOOL_NUMBER_BYTES];
    snprintf(text, TOOL_PLOT_TEXT_BYTES, "Fill by block: %s%s filter, %s block%s of %d %s",
             show_file(name, fill->file), bloomery_kind_name((int)fill->kind),
             tool_format_count(blocks, fill->blocks), fill->blocks == 1 ? "" : "s",
             TOOL_BLOCK_CELLS, fill->counters ? "counters" : "bits");
    return text;
}

const char *tool_curve_planned(char text[TOOL_PLOT_TEXT_BYTES], const struct tool_curve *curve)
{
    char keys[TOOL_NUMBER_BYTES], rate[TOOL_NUMBER_BYTES], odds[TOOL_NUMBER_BYTES];
    text[0] = '\0';
    if (curve->planned_keys > 0)
        snprintf(text, TOOL_PLOT_TEXT_BYTES, "planned: %s key%s at a rate of %s (%s)%s",
                 tool_format_count(keys, curve->planned_keys), curve->planned_keys == 1 ? "" : "s",
                 tool_format_rate(rate, curve->planned_rate),
                 tool_format_odds(odds, curve->planned_rate),
                 curve->kind == BLOOMERY_SCALABLE ? ", however far it grows" : "");
    return text;
}

const char *tool_curve_now(char text[TOOL_PLOT_TEXT_BYTES], const struct tool_curve *curve)
{
    char keys[TOOL_NUMBER_BYTES], predicted[TOOL_NUMBER_BYTES], live[TOOL_NUMBER_BYTES];
    text[0] = '\0';
    if (!curve->has_now)
        return text;
    if (isinf(curve->now_keys))
        snprintf(text, TOOL_PLOT_TEXT_BYTES, "now: any number of keys, all bits are set: rate 1");
    else
        snprintf(text, TOOL_PLOT_TEXT_BYTES,
                 "now: about %s key%s, at a rate of %s as predicted, %s live",
                 tool_format_count(keys, (uint64_t)(curve->now_keys + 0.5)),
                 curve->now_keys >= 0.5 && curve->now_keys < 1.5 ? "" : "s",
                 tool_format_rate(predicted, curve->now_predicted + 0.0),
                 tool_format_rate(live, curve->now_live + 0.0));
    return text;
}

const char *tool_fill_moments(char text[TOOL_PLOT_TEXT_BYTES], double mean, double deviation)
{
    snprintf(text, TOOL_PLOT_TEXT_BYTES, "mean %.1f, standard deviation %.1f", mean, deviation);
    return text;
}
