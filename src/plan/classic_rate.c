/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/classic_rate.h"

#include "plan/occupancy.h"

#include <assert.h>
#include <math.h>

/* The recurrence serves small arrays, for at most some milliseconds. Beyond them, or once an array
 * is nearly full (X hardly varies then), the limit is good to 1e-3, or 3e-3 for 64 probes. */
static const uint64_t exact_bits = 4096;
static const double exact_load = 4;
static const double exact_throws = 8192;
/* Cells are full, to double precision, after this many throws per cell. */
static const double full_load = 60;

enum { TINY_BITS = 256 };

/* With fewer cells than probes the factors of the recurrence would change sign. So the distribution
 * of X itself is stepped, as cheap with so few cells. The same goes for more probes than the
 * recurrence has moments. */
static double tiny_rate(uint64_t bits, uint32_t probes, double throws)
{
    double chance[TINY_BITS + 1] = {1}; /* P(X = x) */
    double cells = (double)bits;
    for (double t = 0; t < throws; t++) {
        for (uint64_t x = bits; x > 0; x--)
            chance[x] =
                chance[x] * ((double)x / cells) + chance[x - 1] * ((cells - (double)x + 1) / cells);
        chance[0] = 0;
    }
    double rate = 0;
    for (uint64_t x = 1; x <= bits; x++)
        rate += chance[x] * pow((double)x / cells, probes);
    return rate < 1 ? rate : 1;
}

double bloomery_classic_rate(uint64_t bits, uint32_t probes, uint64_t keys)
{
    assert(bits > 0);
    assert(probes > 0);
    if (keys == 0)
        return 0;
    double throws = (double)probes * (double)keys;
    if (throws > full_load * (double)bits)
        return 1;
    if (bits <= TINY_BITS && (bits < probes || probes > BLOOMERY_MOMENTS_MAX))
        return tiny_rate(bits, probes, throws);
    if (bits > exact_bits || probes > BLOOMERY_MOMENTS_MAX ||
        (throws > exact_load * (double)bits && throws > exact_throws))
        return bloomery_occupancy_limit((double)bits, throws, probes);
    struct bloomery_occupancy occupancy;
    bloomery_occupancy_start(&occupancy, (double)bits, probes);
    bloomery_occupancy_throw(&occupancy, probes * keys);
    double rate = occupancy.moment[probes];
    return rate < 1 ? rate : 1;
}
