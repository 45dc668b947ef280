/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of flat layers by double hashing, each sized with constants cut short
 * (plan/foreign/short_sizing.h):
 *
 *     layer      0         1            2
 *     keys      n         g n          g^2 n          g: growth
 *     rate      r         t r          t^2 r          t: tightening
 *     bits      trunc(keys bits-per-key), 1 if that is 0, rounded up to a multiple of 64
 *
 * With t = 1/2 all layers together stay below 2 r however many there are.
 */
#include "core/foreign/schemes.h"

#include "base/bits.h"
#include "base/error.h"
#include "plan/foreign/short_sizing.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>

bloomery_status bloomery_tightened_size(uint64_t keys, double rate, struct bloomery_layer *layer,
                                        bloomery_error *error)
{
    if (!(rate > 0 && rate < 1) || keys == 0 || keys > BLOOMERY_KEYS_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a layer is for 1 to 2^48 keys and a rate above 0 and below 1");
    const double bits_per_key = bloomery_short_bits_per_key(rate);
    const double probes = bloomery_short_probes(bits_per_key);
    const double bits = fmax(1, trunc((double)keys * bits_per_key));
    if (!(probes >= 1 && probes <= BLOOMERY_POSITIONS_MAX) ||
        !(bits <= (double)(BLOOMERY_BITS_MAX - 63)))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "%llu keys at such a rate take more than 2^50 bits, or 1024 probes",
                             (unsigned long long)keys);
    *layer = (struct bloomery_layer){
        .bits = bloomery_words_of((uint64_t)bits) * 64,
        .probes = (uint32_t)probes,
        .keys = keys,
        .rate = rate,
    };
    assert(layer->bits > 0 && layer->bits <= BLOOMERY_BITS_MAX && layer->bits % 64 == 0);
    return BLOOMERY_OK;
}

bloomery_status bloomery_tightened_next_layer(const struct bloomery_shape *shape,
                                              const struct bloomery_layer *newest,
                                              struct bloomery_layer *next, bloomery_error *error)
{
    uint64_t keys;
    assert(shape->growth > 0 && newest->keys > 0);
    if (__builtin_mul_overflow(newest->keys, (uint64_t)shape->growth, &keys))
        keys = UINT64_MAX;
    return bloomery_tightened_size(keys, newest->rate * shape->tightening, next, error);
}
