/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bits. Only the newest layer of a chain gets any: when there is a further layer, the bits of the
 * one before are what they stay. Our own chains count them; those of other systems are read then,
 * once for each doubling.
 *
 * Rates. With b bits set, n keys are in the layer (its kind's estimate). A further key is called
 * seen as often as a layer of this shape calls one with n keys (its expected rate). Of our own
 * flat array it is (b/m)^k, exactly. A key that was dropped would have set no bit, so n counts it.
 * The number of keys that were let through is less, and past the plan far less. A key passes a
 * chain if it passes each layer.
 *
 * Drops. A push is of a key that was pushed before, or of a new one. At a rate r, a new one is
 * answered NEW with probability 1 - r, and dropped with r. Of T pushes, of which a share q is of
 * new keys, expected are
 *
 *     q T (1 - r)  answered NEW    and    q T r  dropped,
 *
 * so N that were answered NEW mean N r / (1 - r) that were dropped. That is right on average at any
 * r below 1. Near 1 it says nothing on most days and everything on one. With 1 - r = 1e-6 and a
 * million new keys there is one NEW, or none, or two. What varies is the share only, and other
 * pushes show it, since it changes slowly:
 *
 *     q = sum of N / sum of T (1 - r)    over the last pushes: as many as would have 1,024 NEW
 *                                        if all were new
 *     D = sum of q T r                   over all pushes
 *
 * The deviation of q is about sqrt(q / 1024), 3 % if all keys are new, however near r is to 1. If
 * every bit is set, q is that of the time before. If r is small, the sums are those of the last
 * 1,024 pushes and D is theirs. No more can have been dropped than were answered SEEN, which is the
 * caller's to see to.
 */
#include "sieve/memory_engine.h"

#include "plan/solve.h"

#include <assert.h>
#include <math.h>

/* The NEW by which a share is estimated: the deviation of 3 % above. And those that a share of all
 * pushes counts for, which is what a sieve that is opened again begins with. They are few, since
 * the share of late pushes is less. */
static const double chances_max = 1024;
static const double chances_kept = 64;

/* Rates are computed at some numbers of bits, and interpolated between these. Near empty the next
 * number has half as many more, near full a quarter fewer that are not set. A rate lasts for 1/256
 * more. */
enum { STEPS_EMPTY = 2, STEPS_FULL = 4, STEPS_FIRST = 256, STEPS_LASTING = 256 };

/* ---- Bits -------------------------------------------------------------------------------- */

static uint64_t count_layer(const bloomery_filter *filter, uint32_t index)
{
    const struct bloomery_layer *layer = &filter->layers[index];
    struct bloomery_scan scan;
    if (filter->kind->grows)
        return layer->bits_set;
    filter->kind->scan(&filter->shape, layer, layer->payload, &scan);
    return scan.bits_set;
}

static double layer_keys(const bloomery_filter *filter, uint32_t index, uint64_t bits_set)
{
    return filter->kind->estimate(&filter->layers[index], bits_set);
}

static double layer_rate(const bloomery_filter *filter, uint32_t index, uint64_t bits_set)
{
    const struct bloomery_layer *layer = &filter->layers[index];
    const double keys = layer_keys(filter, index, bits_set);
    if (bits_set >= layer->bits || !(keys < 0x1p60))
        return 1;
    if (filter->shape.kind == BLOOMERY_CLASSIC && !filter->foreign)
        return pow((double)bits_set / (double)layer->bits, layer->probes);
    return filter->kind->expected_rate(layer, (uint64_t)llround(keys));
}

/* How often a new key is called seen with `bits_set` bits in the newest layer. What the hash adds
 * is part of our own rates, as everywhere (plan/solve.h). */
static double rate_with(const struct bloomery_fill_level *level, const bloomery_filter *filter,
                        uint64_t bits_set)
{
    const uint32_t newest = level->layers - 1;
    assert(level->layers > 0 && newest < bloomery_layer_count(filter));
    const double passing = log1p(-layer_rate(filter, newest, bits_set));
    const double rate = 0 - expm1(level->older_passing + passing);
    const double keys = level->older_keys + layer_keys(filter, newest, bits_set);
    return filter->foreign || !(keys < (double)BLOOMERY_KEYS_MAX)
               ? rate
               : bloomery_rate_with_hash((bloomery_hash_id)filter->shape.hash,
                                         (uint64_t)llround(keys), rate);
}

/* Rates are interpolated from here on. */
static void begin_rates(struct bloomery_fill_level *level, const bloomery_filter *filter)
{
    const uint64_t set = level->layer_bits[level->layers - 1];
    level->rate = rate_with(level, filter, set);
    level->rate_until = 0;
    level->found_bits[0] = level->found_bits[1] = set;
    level->found_rates[0] = level->found_rates[1] = level->rate;
}

/* The newest layer is another one: what the one before has stays. */
static void close_layer(struct bloomery_fill_level *level, const bloomery_filter *filter)
{
    const uint32_t last = level->layers - 1;
    assert(level->layers < BLOOMERY_CHAIN_MAX);
    level->layer_bits[last] = count_layer(filter, last);
    level->older_keys += layer_keys(filter, last, level->layer_bits[last]);
    level->older_passing += log1p(-layer_rate(filter, last, level->layer_bits[last]));
    level->layer_bits[level->layers++] = 0;
}

void bloomery_fill_level_start(struct bloomery_fill_level *level, const bloomery_filter *filter,
                               bool scan)
{
    const uint32_t layers = bloomery_layer_count(filter);
    *level = (struct bloomery_fill_level){.layers = 1};
    while (level->layers < layers) {
        close_layer(level, filter);
        level->bits_set += level->layer_bits[level->layers - 2];
    }
    level->layer_bits[layers - 1] = scan ? count_layer(filter, layers - 1) : 0;
    level->bits_set += level->layer_bits[layers - 1];
    begin_rates(level, filter);
}

void bloomery_fill_level_add(struct bloomery_fill_level *level, const bloomery_filter *filter,
                             uint64_t new_bits)
{
    const uint32_t layers = bloomery_layer_count(filter);
    assert(level->layers <= layers);
    level->bits_set += new_bits;
    if (layers == level->layers) {
        level->layer_bits[layers - 1] += new_bits;
        return;
    }
    uint64_t older = 0;
    while (level->layers < layers)
        close_layer(level, filter);
    begin_rates(level, filter);
    for (uint32_t i = 0; i + 1 < layers; i++)
        older += level->layer_bits[i];
    level->layer_bits[layers - 1] = level->bits_set - older;
}

/* ---- Keys and rates ---------------------------------------------------------------------- */

double bloomery_fill_level_keys(const struct bloomery_fill_level *level,
                                const bloomery_filter *filter)
{
    const uint32_t newest = level->layers - 1;
    return level->older_keys + layer_keys(filter, newest, level->layer_bits[newest]);
}

double bloomery_fill_level_rate(const struct bloomery_fill_level *level,
                                const bloomery_filter *filter)
{
    return rate_with(level, filter, level->layer_bits[level->layers - 1]);
}

/* Between two numbers of bits a rate rises about as a power of them. */
static double rate_between(const uint64_t bits[2], const double rates[2], uint64_t set)
{
    assert(set >= bits[0]);
    if (bits[1] <= bits[0])
        return rates[1];
    if (bits[0] == 0 || !(rates[0] > 0))
        return rates[0] +
               (rates[1] - rates[0]) * (double)(set - bits[0]) / (double)(bits[1] - bits[0]);
    const double part = log((double)set / (double)bits[0]) / log((double)bits[1] / (double)bits[0]);
    return rates[0] * pow(rates[1] / rates[0], part);
}

double bloomery_fill_level_rate_about(struct bloomery_fill_level *level,
                                      const bloomery_filter *filter)
{
    const uint32_t newest = level->layers - 1;
    const uint64_t all = filter->layers[newest].bits;
    const uint64_t set = level->layer_bits[newest];
    const uint64_t rest = all - (set < all ? set : all);
    if (set < level->rate_until)
        return level->rate;
    while (set >= level->found_bits[1] && level->found_bits[1] < all) {
        const uint64_t from = level->found_bits[1];
        const uint64_t step =
            from < all - from ? from / STEPS_EMPTY + all / STEPS_FIRST : (all - from) / STEPS_FULL;
        level->found_bits[0] = from;
        level->found_rates[0] = level->found_rates[1];
        level->found_bits[1] = from + step + 1;
        level->found_rates[1] = rate_with(level, filter, level->found_bits[1]);
    }
    level->rate = rate_between(level->found_bits, level->found_rates, set);
    level->rate_until = set + 1 + (set < rest ? set : rest) / STEPS_LASTING;
    return level->rate;
}

/* ---- Drops ------------------------------------------------------------------------------- */

void bloomery_drops_start(struct bloomery_fill_level *level, double fresh, double pushes)
{
    if (!(pushes > 0))
        return;
    level->chances = fmin(pushes, chances_kept);
    level->fresh = level->chances * fmin(1, fresh / pushes);
}

double bloomery_drops_among(struct bloomery_fill_level *level, uint64_t fresh, uint64_t pushes,
                            double rate)
{
    assert(fresh <= pushes);
    level->fresh += (double)fresh;
    level->chances += (double)pushes * (1 - rate);
    if (level->chances > chances_max) {
        level->fresh *= chances_max / level->chances;
        level->chances = chances_max;
    }
    return level->chances > 0 ? level->fresh / level->chances * (double)pushes * rate : 0;
}
