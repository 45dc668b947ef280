/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter of one layer has the rate that bloomery_plan_rate or bloomery_expected_rate returns. A
 * scalable filter with n keys has some full layers and one that is filling. An absent key passes if
 * it passes in one of them, so the chain's rate is 1 - (1 - r_0)(1 - r_1)... (docs/mathematics.md,
 * 8.1), with the library's rate of each layer.
 */
#include "command/plot/rate_curve.h"

#include "base/experimental.h"
#include "base/numbers.h"
#include "filter/files.h"
#include "tool.h"

#include <math.h>

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
