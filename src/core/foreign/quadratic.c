/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probe i at (a + i b + i^2) mod 2^64 mod m, as ClickHouse's core filter has it. From one probe to
 * the next a step is added that grows by 2: 1 + b, 3 + b, 5 + b. So b = 0 still gives k positions.
 * Two words cannot give k independent ones; plan/foreign/quadratic_rate.c computes the cost.
 */
#include "core/foreign/schemes.h"

#include "core/foreign/steps.h"
#include "plan/classic_rate.h"
#include "plan/foreign/quadratic_rate.h"

#include <assert.h>
#include <math.h>

static inline struct bloomery_steps quadratic_begin(const struct bloomery_layer *layer,
                                                    bloomery_hash hash)
{
    (void)layer;
    return (struct bloomery_steps){.at = hash.lo, .step = hash.hi + 1};
}

static inline uint64_t quadratic_next(const struct bloomery_layer *layer,
                                      struct bloomery_steps *steps, uint32_t i)
{
    const uint64_t at = steps->at;
    (void)i;
    steps->at += steps->step;
    steps->step += 2;
    return at % layer->bits;
}

#define SCHEME quadratic
#include "core/foreign/scheme_template.h"

double bloomery_quadratic_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return bloomery_quadratic_rate(layer->bits, layer->probes, keys,
                                   bloomery_classic_rate(layer->bits, layer->probes, keys));
}

/* Fill gives the number of keys as in a classic filter: a key's own positions coincide hardly more
 * often. */
double bloomery_quadratic_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    return bloomery_classic_estimate(layer, bits_set);
}

void bloomery_quadratic_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                             const uint8_t *payload, struct bloomery_scan *scan)
{
    bloomery_flat_scan(shape, layer, payload, scan);
    const double fill = (double)scan->bits_set / (double)layer->bits;
    assert(fill <= 1);
    if (scan->bits_set < layer->bits)
        scan->live_rate =
            fmin(1, scan->live_rate + bloomery_quadratic_excess(
                                          layer->bits, layer->probes,
                                          bloomery_classic_estimate(layer, scan->bits_set), fill));
}
