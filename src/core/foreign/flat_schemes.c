/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Double hashing in flat arrays, as several systems have it: probe i goes to a + i b, reduced to m.
 * core/foreign/schemes.h has the formulas. They differ in the width in which sums wrap, and in what
 * becomes of numbers that those systems' languages take for negative.
 */
#include "core/foreign/schemes.h"

#include "base/bytes.h"
#include "plan/classic_rate.h"

#include "core/foreign/steps.h"
#include "plan/foreign/step_rate.h"
#include "plan/foreign/turned_rate.h"

#include <assert.h>
#include <math.h>

/* ---- Statistics ------------------------------------------------------------------------------ */

bloomery_status bloomery_flat_check(const struct bloomery_shape *shape,
                                    const struct bloomery_layer *layer, bloomery_error *error)
{
    return bloomery_classic_check(shape, layer, error);
}

void bloomery_flat_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                        const uint8_t *payload, struct bloomery_scan *scan)
{
    bloomery_classic_scan(shape, layer, payload, scan);
}

/* A scheme that reaches only the first cells of a large array is a filter of those. */
static struct bloomery_layer reached(const struct bloomery_layer *layer, uint64_t reach)
{
    struct bloomery_layer lesser = *layer;
    lesser.bits = layer->bits < reach ? layer->bits : reach;
    assert(lesser.bits > 0 && lesser.bits <= layer->bits);
    return lesser;
}

/* ---- Guava, 64 bits -------------------------------------------------------------------------- */

static inline struct bloomery_steps masked_double_begin(const struct bloomery_layer *layer,
                                                        bloomery_hash hash)
{
    (void)layer;
    return (struct bloomery_steps){.at = hash.lo, .step = hash.hi};
}

static inline uint64_t masked_double_next(const struct bloomery_layer *layer,
                                          struct bloomery_steps *steps, uint32_t i)
{
    const uint64_t at = steps->at;
    (void)i;
    steps->at += steps->step;
    return bloomery_modulo(at & INT64_MAX, layer->bits, layer->inverse);
}

#define SCHEME masked_double
#include "core/foreign/scheme_template.h"

/* ---- Without a mask -------------------------------------------------------------------------- */

static inline struct bloomery_steps double_begin(const struct bloomery_layer *layer,
                                                 bloomery_hash hash)
{
    (void)layer;
    return (struct bloomery_steps){.at = hash.lo, .step = hash.hi};
}

static inline uint64_t double_next(const struct bloomery_layer *layer, struct bloomery_steps *steps,
                                   uint32_t i)
{
    const uint64_t at = steps->at;
    (void)i;
    steps->at += steps->step;
    return bloomery_modulo(at, layer->bits, layer->inverse);
}

#define SCHEME double
#include "core/foreign/scheme_template.h"

double bloomery_double_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return bloomery_step_rate(layer->bits, layer->probes, keys, true);
}

double bloomery_double_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    return bloomery_classic_estimate(layer, bits_set);
}

void bloomery_double_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                          const uint8_t *payload, struct bloomery_scan *scan)
{
    bloomery_flat_scan(shape, layer, payload, scan);
    const double fill = (double)scan->bits_set / (double)layer->bits;
    const double keys = bloomery_classic_estimate(layer, scan->bits_set);
    scan->live_rate = fmin(
        1, scan->live_rate + bloomery_step_excess(layer->bits, layer->probes, keys, fill, true));
}

/* ---- 32 bits, the sign turned ---------------------------------------------------------------- */

enum { SIGNED_BITS = 31 };

static inline struct bloomery_steps flipped_double_32_begin(const struct bloomery_layer *layer,
                                                            bloomery_hash hash)
{
    (void)layer;
    return (struct bloomery_steps){.at = hash.lo, .step = hash.lo >> 32};
}

static inline uint64_t flipped_double_32_next(const struct bloomery_layer *layer,
                                              struct bloomery_steps *steps, uint32_t i)
{
    (void)i;
    steps->at += steps->step;
    return bloomery_flip_32((uint32_t)steps->at) % layer->bits;
}

#define SCHEME flipped_double_32
#include "core/foreign/scheme_template.h"

double bloomery_flipped_double_32_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    const struct bloomery_layer lesser = reached(layer, UINT64_C(1) << SIGNED_BITS);
    return bloomery_turned_rate(BLOOMERY_TURN_FLIPPED_32, lesser.bits, lesser.probes, keys);
}

double bloomery_flipped_double_32_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    const struct bloomery_layer lesser = reached(layer, UINT64_C(1) << SIGNED_BITS);
    return bloomery_turned_keys(BLOOMERY_TURN_FLIPPED_32, lesser.bits, lesser.probes,
                                fmin(1, (double)bits_set / (double)lesser.bits));
}

void bloomery_flipped_double_32_scan(const struct bloomery_shape *shape,
                                     const struct bloomery_layer *layer, const uint8_t *payload,
                                     struct bloomery_scan *scan)
{
    const struct bloomery_layer lesser = reached(layer, UINT64_C(1) << SIGNED_BITS);
    bloomery_flat_scan(shape, layer, payload, scan);
    scan->live_rate = bloomery_turned_live(BLOOMERY_TURN_FLIPPED_32, lesser.bits, lesser.probes,
                                           fmin(1, (double)scan->bits_set / (double)lesser.bits));
}
