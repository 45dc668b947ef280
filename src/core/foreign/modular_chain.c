/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain of numbers below P = 2^64 - 59, as DCSO's filters have it: position i = 0 .. k-1 is
 * h[i+1] mod m, with
 *
 *     h[i+1] = (h[i] G mod 2^64) mod P,        G = 2^64 - 1469
 *
 * The product wraps at 2^64 before it is reduced, so it is no multiplication modulo P. All but 59
 * in 2^64 products are below P, and then the reduction does nothing: the chain is h G^i modulo
 * 2^64. That is what makes sizes that are multiples of powers of two bad ones:
 * plan/foreign/chain_rate.c.
 */
#include "core/foreign/schemes.h"

#include "core/foreign/steps.h"
#include "plan/foreign/chain_rate.h"

#include <assert.h>
#include <math.h>

static const uint64_t modulus = 0 - UINT64_C(59);
static const uint64_t factor = 0 - UINT64_C(1469);

static inline struct bloomery_steps modular_chain_begin(const struct bloomery_layer *layer,
                                                        bloomery_hash hash)
{
    (void)layer;
    return (struct bloomery_steps){.at = hash.lo};
}

static inline uint64_t modular_chain_next(const struct bloomery_layer *layer,
                                          struct bloomery_steps *steps, uint32_t i)
{
    const uint64_t product = steps->at * factor;
    (void)i;
    steps->at = product < modulus ? product : product - modulus;
    assert(steps->at < modulus);
    return steps->at % layer->bits;
}

#define SCHEME modular_chain
#include "core/foreign/scheme_template.h"

double bloomery_modular_chain_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return bloomery_chain_walk_rate(layer->bits, layer->probes, keys);
}

/* How many bits are set is as in a classic filter; which of them belong together is not. */
double bloomery_modular_chain_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    return bloomery_classic_estimate(layer, bits_set);
}

void bloomery_modular_chain_scan(const struct bloomery_shape *shape,
                                 const struct bloomery_layer *layer, const uint8_t *payload,
                                 struct bloomery_scan *scan)
{
    bloomery_flat_scan(shape, layer, payload, scan);
    if (scan->bits_set < layer->bits)
        scan->live_rate = bloomery_chain_walk_rate(
            layer->bits, layer->probes,
            (uint64_t)llround(bloomery_classic_estimate(layer, scan->bits_set)));
}
