/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Double hashing with two numbers a and b of 32 bits each, as libbloom has it: probe i at a + i b,
 * mod m. Its first releases let the sum wrap at 2^32 (DOUBLE_32), the later ones do not
 * (DOUBLE_HALVES). So the same keys set other bits once a sum passes 2^32.
 *
 * In arrays that are no small part of 2^32 bits neither spreads its positions evenly:
 * plan/foreign/half_rate.c.
 */
#include "core/foreign/schemes.h"

#include "base/error.h"

#include "core/foreign/steps.h"
#include "plan/foreign/half_rate.h"

#include <assert.h>
#include <math.h>

static inline struct bloomery_steps double_32_begin(const struct bloomery_layer *layer,
                                                    bloomery_hash hash)
{
    (void)layer;
    return (struct bloomery_steps){.at = hash.lo, .step = hash.hi};
}

static inline uint64_t double_32_next(const struct bloomery_layer *layer,
                                      struct bloomery_steps *steps, uint32_t i)
{
    const uint32_t at = (uint32_t)steps->at;
    (void)i;
    steps->at += steps->step;
    return at % layer->bits;
}

#define SCHEME double_32
#include "core/foreign/scheme_template.h"

static inline struct bloomery_steps double_halves_begin(const struct bloomery_layer *layer,
                                                        bloomery_hash hash)
{
    (void)layer;
    return (struct bloomery_steps){.at = (uint32_t)hash.lo, .step = (uint32_t)hash.hi};
}

static inline uint64_t double_halves_next(const struct bloomery_layer *layer,
                                          struct bloomery_steps *steps, uint32_t i)
{
    const uint64_t at = steps->at;
    (void)i;
    steps->at += steps->step;
    return at % layer->bits;
}

#define SCHEME double_halves
#include "core/foreign/scheme_template.h"

/* ---- Statistics ------------------------------------------------------------------------------ */

double bloomery_double_32_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return bloomery_half_rate(layer->bits, layer->probes, keys, true);
}

double bloomery_double_halves_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return bloomery_half_rate(layer->bits, layer->probes, keys, false);
}

double bloomery_double_32_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    return bloomery_half_keys(layer->bits, layer->probes, (double)bits_set / (double)layer->bits,
                              true);
}

double bloomery_double_halves_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    return bloomery_half_keys(layer->bits, layer->probes, (double)bits_set / (double)layer->bits,
                              false);
}

/* The number of bits that lie so unevenly does not give the rate; the keys estimated from it do. */
static double live_rate(const struct bloomery_layer *layer, double keys, bool wraps)
{
    assert(keys >= 0);
    return keys < 0x1p60
               ? bloomery_half_rate(layer->bits, layer->probes, (uint64_t)llround(keys), wraps)
               : 1;
}

void bloomery_double_32_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                             const uint8_t *payload, struct bloomery_scan *scan)
{
    bloomery_flat_scan(shape, layer, payload, scan);
    scan->live_rate = live_rate(layer, bloomery_double_32_estimate(layer, scan->bits_set), true);
}

void bloomery_double_halves_scan(const struct bloomery_shape *shape,
                                 const struct bloomery_layer *layer, const uint8_t *payload,
                                 struct bloomery_scan *scan)
{
    bloomery_flat_scan(shape, layer, payload, scan);
    scan->live_rate =
        live_rate(layer, bloomery_double_halves_estimate(layer, scan->bits_set), false);
}

bloomery_status bloomery_double_32_check(const struct bloomery_shape *shape,
                                         const struct bloomery_layer *layer, bloomery_error *error)
{
    if (layer->bits > UINT64_C(1) << 32)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "positions of 32 bits reach at most 2^32 bits, not %llu",
                             (unsigned long long)layer->bits);
    return bloomery_flat_check(shape, layer, error);
}
