/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/foreign/calc_utils.h"

#include <assert.h>
#include <math.h>

static const double bits_max = 4611686018427387904.0; /* 2^62 */

uint64_t bloomery_calc_bits(uint64_t n, double p)
{
    if (n == 0 || !(p > 0 && p < 1))
        return 0;
    const double bits = ceil(-(double)n * log(p) / pow(log(2), 2));
    return bits < bits_max ? (uint64_t)bits : 0;
}

uint64_t bloomery_calc_aligned(uint64_t n, double p)
{
    const uint64_t bits = bloomery_calc_bits(n, p);
    if (bits == 0)
        return 0;
    const uint64_t highest = UINT64_C(1) << (63 - __builtin_clzll(bits));
    assert(highest <= bits && bits < 2 * highest);
    return highest == n ? n : 2 * highest;
}

uint32_t bloomery_calc_probes(uint64_t n, uint64_t bits)
{
    if (n == 0 || bits == 0)
        return 0;
    const double probes = ceil(log(2) * ((double)bits / (double)n));
    return probes < (double)UINT32_MAX ? (uint32_t)probes : UINT32_MAX;
}

double bloomery_calc_rate(uint64_t n, uint64_t bits, uint32_t probes)
{
    if (bits == 0)
        return 1;
    /* A power of the constant e, not exp(): they differ in the last digits. */
    const double missed = pow(M_E, -(double)probes * (double)n / (double)bits);
    return pow(1 - missed, probes);
}
