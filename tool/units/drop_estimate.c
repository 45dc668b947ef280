/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter that is queried for each key before the key is added drops some new keys: those whose
 * bits others had set. One that comes when x different keys are in it is dropped with the filter's
 * rate with x keys, f(x). So of the keys from number a to number b
 *
 *     D(a, b) = integral from a to b of f(x) dx          are expected to be dropped, and
 *     K(a, b) = (b - a) - D(a, b)                        to be kept.
 *
 * A dropped key sets no bit, which it would not have done either had it been added. So x counts it,
 * and f is that of a filter to which all x keys were added. Most of them come while the filter is
 * nearly full: f rises about as x^(kL), with some ten to thirty bits kL of a key. So a filter
 * planned for 1 in a million and filled to its plan has dropped one key in twenty million.
 *
 * The keys in it are not counted by calls of add, which the same keys make again, but by those that
 * were kept. So K is known exactly, and b follows from K(a, b), which rises with b.
 *
 * In a chain a key is first looked for in the older layers. They are full and have rates r_1, r_2,
 * ... that no longer change; together R = 1 - (1 - r_1)(1 - r_2)... Only a part 1 - R of the new
 * keys comes through to the newest layer, so if that layer has got b - a keys,
 *
 *     (b - a) / (1 - R)    new keys came,
 *     (b - a) R / (1 - R)  of them were dropped by the older layers, and
 *     D(a, b)              by the newest.
 *
 * These are summed over the layers that were the newest one after the other. The number of keys at
 * which a layer ended (a little behind its planned keys) and its rate now are read off its bits.
 * The newest one has what is left of those that were kept.
 *
 * f is smooth, so sixteen points of the rule of Gauss give the integral to more digits than the
 * report shows. If there are few keys they are summed one by one.
 */
#include "units/drop_estimate.h"
#include "base/experimental.h"

#include <assert.h>
#include <math.h>

/* ---- One layer ------------------------------------------------------------------------------ */

/* The rate with a number of keys that need not be whole. */
static double rate_with(const bloomery_plan *plan, double keys)
{
    if (keys <= 0)
        return 0;
    if (keys >= 0x1p60)
        return 1;
    double below = floor(keys), part = keys - below;
    double rate = bloomery_plan_rate(plan, (uint64_t)below);
    if (part > 0)
        rate += part * (bloomery_plan_rate(plan, (uint64_t)below + 1) - rate);
    return rate;
}

/* D(from, to) by the rule of Gauss and Legendre: half of its points, the rest being their mirror
 * images. */
static double expected_drops(const bloomery_plan *plan, double from, double to)
{
    static const double place[8] = {0.09501250983763744, 0.28160355077925891, 0.45801677765722739,
                                    0.61787624440264375, 0.75540440835500303, 0.86563120238783174,
                                    0.94457502307323258, 0.98940093499164993};
    static const double weight[8] = {0.18945061045506850, 0.18260341504492359, 0.16915651939500254,
                                     0.14959598881657673, 0.12462897125553387, 0.09515851168249278,
                                     0.06225352393864789, 0.02715245941175409};
    if (!(to > from))
        return 0;
    double sum = 0;
    if (to - from <= 32) { /* few enough to be summed one by one */
        for (double x = from; x < to; x += 1)
            sum += rate_with(plan, x) * fmin(1, to - x);
        return sum;
    }
    /* Half a key less: the first of these keys comes when `from` others are in, not half a one
     * more. */
    const double middle = (from + to) / 2 - 0.5, half = (to - from) / 2;
    for (unsigned i = 0; i < 8; i++)
        sum += weight[i] * (rate_with(plan, middle - half * place[i]) +
                            rate_with(plan, middle + half * place[i]));
    return sum * half;
}

double tool_expected_new(const bloomery_plan *plan, double from, double to)
{
    return to > from ? to - from - expected_drops(plan, from, to) : 0;
}

/* Newton's steps: the derivative of K by its end is 1 - f. A filter of which hardly anything is
 * kept any more could not say how many keys it has; there the search ends. */
double tool_expected_keys(const bloomery_plan *plan, double from, double kept)
{
    double keys = from + kept;
    for (int step = 0; step < 60; step++) {
        double missing = kept - tool_expected_new(plan, from, keys);
        double passing = 1 - rate_with(plan, keys);
        if (fabs(missing) <= 1e-3 + 1e-12 * kept || passing < 1e-6)
            break;
        double next = keys + missing / passing;
        keys = next < from ? from : next;
    }
    assert(keys >= from);
    return keys;
}

uint64_t tool_expected_full(const bloomery_plan *plan, double rate)
{
    uint64_t below = 0, above = plan->planned_keys > 0 ? plan->planned_keys : 1;
    while (above < UINT64_C(1) << 58 && bloomery_plan_rate(plan, above) <= rate) {
        below = above;
        above *= 2;
    }
    while (above - below > 1) {
        uint64_t middle = below + (above - below) / 2;
        if (bloomery_plan_rate(plan, middle) <= rate)
            below = middle;
        else
            above = middle;
    }
    return above;
}

/* ---- Chains ---------------------------------------------------------------------------------- */

/* The shape of layer `index`. If it is known to be empty, its memory is not touched before keys
 * come. */
static void read_layer(const bloomery_filter *filter, bloomery_kind kind, uint32_t index, bool scan,
                       struct tool_chain_layer *layer)
{
    bloomery_layer_info info = BLOOMERY_LAYER_INFO;
    bloomery_status status = bloomery_layer_info_get(filter, index, false, &info);
    assert(status == BLOOMERY_OK);
    if (scan && !(info.bits_known && info.bits_set == 0))
        status = bloomery_layer_info_get(filter, index, true, &info);
    assert(status == BLOOMERY_OK);
    (void)status;
    *layer = (struct tool_chain_layer){.keys = info.estimated_keys, .rate = info.live_rate};
    layer->plan = (bloomery_plan){
        .kind = kind == BLOOMERY_SCALABLE ? BLOOMERY_BLOCKED : kind,
        .blocks_per_key = info.blocks_per_key,
        .probes = info.probes,
        .bits = info.bits,
        .planned_keys = info.planned_keys,
        .planned_rate = info.planned_rate,
        .planned_bytes = info.bytes,
    };
}

void tool_chain_read(const bloomery_filter *filter, struct tool_chain *chain)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    assert(info.layers >= 1 && info.layers <= TOOL_LAYERS_MAX);
    chain->layers = info.layers;
    for (uint32_t i = 0; i < info.layers; i++)
        read_layer(filter, info.kind, i, true, &chain->layer[i]);
}

void tool_chain_follow(const bloomery_filter *filter, const struct tool_chain *before,
                       uint64_t kept, struct tool_chain *chain)
{
    bloomery_info info = BLOOMERY_INFO;
    double left = (double)kept;
    bloomery_info_get(filter, &info);
    assert(info.layers >= before->layers && info.layers <= TOOL_LAYERS_MAX);
    *chain = *before;
    chain->layers = info.layers;
    for (uint32_t i = before->layers - 1; i < info.layers; i++) {
        struct tool_chain_layer *layer = &chain->layer[i];
        const double from = i < before->layers ? layer->keys : 0;
        const bool is_newest = i + 1 == info.layers;
        if (i >= before->layers || !is_newest)
            read_layer(filter, info.kind, i, !is_newest, layer);
        if (is_newest) {
            layer->keys = tool_expected_keys(&layer->plan, from, left > 0 ? left : 0);
            layer->rate = rate_with(&layer->plan, layer->keys);
        }
        left -= tool_expected_new(&layer->plan, from, layer->keys);
    }
}

/* The rate of the first `layers` layers together. */
static double rate_of_layers(const struct tool_chain *chain, uint32_t layers)
{
    double pass = 0; /* the logarithm, in which small rates are not lost */
    for (uint32_t i = 0; i < layers; i++)
        pass += log1p(-chain->layer[i].rate);
    return 0 - expm1(pass);
}

double tool_chain_rate(const struct tool_chain *chain)
{
    return rate_of_layers(chain, chain->layers);
}

double tool_chain_keys(const struct tool_chain *chain)
{
    double keys = 0;
    for (uint32_t i = 0; i < chain->layers; i++)
        keys += chain->layer[i].keys;
    return keys;
}

double tool_chain_drops(const struct tool_chain *before, const struct tool_chain *after)
{
    double drops = 0;
    assert(before->layers <= after->layers);
    for (uint32_t i = before->layers - 1; i < after->layers; i++) {
        const struct tool_chain_layer *layer = &after->layer[i];
        const double from = i < before->layers ? before->layer[i].keys : 0;
        const double older = rate_of_layers(after, i);
        if (!(layer->keys > from))
            continue;
        drops += expected_drops(&layer->plan, from, layer->keys);
        drops += (layer->keys - from) * older / (1 - older);
    }
    return drops;
}
