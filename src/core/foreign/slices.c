/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters in slices: each of a key's k positions is in a slice of its own, of s = m/k bits.
 *
 *     |  slice 0  |  slice 1  | ... |  slice k-1  |        a key sets one bit in each
 *      0         s-1 s
 *
 * They come out of the hash as positions in the whole array, so that nothing is to be done here for
 * keys (core/foreign/positions.c). Only the number of set bits differs: in each slice n keys make n
 * throws among s bits, whatever happens in the others. So the rate is exactly
 *
 *     (1 - (1 - 1/s)^n)^k
 *
 * where a flat array has a moment of kn throws among m. Of a filter as it is, it is the product of
 * the slices' fills.
 *
 * And chains of them. Each next layer is for `growth` times the keys of the one before, at
 * `tightening` times its rate, and has its own k and s (bloomery_slices_size).
 */
#include "core/foreign/schemes.h"

#include "base/bits.h"
#include "base/error.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>

bloomery_status bloomery_slices_check(const struct bloomery_shape *shape,
                                      const struct bloomery_layer *layer, bloomery_error *error)
{
    if (layer->probes == 0 || layer->bits % layer->probes != 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "%llu bits are not %u slices of the same size",
                             (unsigned long long)layer->bits, layer->probes);
    return bloomery_flat_check(shape, layer, error);
}

double bloomery_slices_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    const uint64_t cells = layer->bits / layer->probes;
    const double slice = (double)cells;
    assert(cells * layer->probes == layer->bits);
    if (keys == 0)
        return 0;
    return pow(-expm1((double)keys * log1p(-1 / slice)), layer->probes);
}

double bloomery_slices_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    const uint64_t cells = layer->bits / layer->probes;
    const double slice = (double)cells;
    assert(cells * layer->probes == layer->bits);
    if (bits_set >= layer->bits)
        return INFINITY;
    if (slice <= 1)
        return 0;
    return log1p(-(double)bits_set / (double)layer->bits) / log1p(-1 / slice);
}

/* Bits `from` to `to - 1` that are set. */
static uint64_t count_range(const uint8_t *payload, uint64_t from, uint64_t to)
{
    uint64_t count = 0;
    assert(from <= to);
    for (; from < to && from % 64 != 0; from++)
        count += bloomery_bit_test(payload, from);
    if (from < to) {
        count += bloomery_count_payload(payload + from / 8, (size_t)((to - from) / 64));
        from += (to - from) / 64 * 64;
    }
    for (; from < to; from++)
        count += bloomery_bit_test(payload, from);
    return count;
}

void bloomery_slices_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                          const uint8_t *payload, struct bloomery_scan *scan)
{
    const uint64_t slice = layer->bits / layer->probes;
    (void)shape;
    *scan = (struct bloomery_scan){.live_rate = 1};
    for (uint32_t i = 0; i < layer->probes; i++) {
        const uint64_t set = count_range(payload, i * slice, (i + 1) * slice);
        scan->bits_set += set;
        scan->live_rate *= (double)set / (double)slice;
    }
    assert(scan->bits_set <= layer->bits);
}

/* The sums in the order of the system that does so, to the last bit: log2(1/p) is a quotient of
 * logarithms. */
bloomery_status bloomery_slices_size(uint64_t keys, double rate, struct bloomery_layer *layer,
                                     bloomery_error *error)
{
    const double ln2 = log(2);
    if (!(rate > 0 && rate < 1) || keys == 0 || keys > BLOOMERY_KEYS_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "slices are for 1 to 2^48 keys and a rate above 0 and below 1");
    const double probes = ceil(log(1 / rate) / ln2);
    const double slice = ceil((double)keys * fabs(log(rate)) / (probes * (ln2 * ln2)));
    if (!(probes >= 1 && probes <= BLOOMERY_POSITIONS_MAX) ||
        !(slice >= 1 && slice * probes <= (double)BLOOMERY_BITS_MAX))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "%llu keys at such a rate take more than 2^50 bits, or 1024 slices",
                             (unsigned long long)keys);
    *layer = (struct bloomery_layer){
        .bits = (uint64_t)slice * (uint64_t)probes,
        .probes = (uint32_t)probes,
        .keys = keys,
        .rate = rate,
    };
    assert(layer->bits > 0 && layer->bits % layer->probes == 0);
    return BLOOMERY_OK;
}

bloomery_status bloomery_slices_next_layer(const struct bloomery_shape *shape,
                                           const struct bloomery_layer *newest,
                                           struct bloomery_layer *next, bloomery_error *error)
{
    uint64_t keys;
    assert(shape->growth > 0 && newest->keys > 0);
    if (__builtin_mul_overflow(newest->keys, (uint64_t)shape->growth, &keys))
        keys = UINT64_MAX;
    return bloomery_slices_size(keys, newest->rate * shape->tightening, next, error);
}
