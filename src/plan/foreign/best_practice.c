/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/foreign/best_practice.h"

#include "plan/foreign/rate_table.h"

#include <assert.h>
#include <math.h>

enum { ROWS = 20 }; /* of the table, the last one is left out */

static const struct bloomery_practice cheapest = {2, 2};
static const struct bloomery_practice dearest = {19, 13};

/* Whether an entry is above a rate. Decimal: parts > rate 1e7, where the product is not rounded -
 * what rounding takes from it is known, and decides where the rounded one is equal. */
static bool above(uint32_t bits, uint32_t probes, double rate,
                  enum bloomery_practice_literals literals)
{
    assert(bits < ROWS && bloomery_rate_table_parts(bits, probes) > 0); /* 0: there is no entry */
    if (literals == BLOOMERY_PRACTICE_DOUBLE)
        return bloomery_rate_table(bits, probes) > rate;
    const double parts = bloomery_rate_table_parts(bits, probes);
    const double product = rate * BLOOMERY_RATE_TABLE_UNITS;
    return parts > product ||
           (parts == product && fma(rate, BLOOMERY_RATE_TABLE_UNITS, -product) < 0);
}

struct bloomery_practice bloomery_best_practice(double rate,
                                                enum bloomery_practice_literals literals)
{
    assert(!isnan(rate));
    rate = fmin(1, fmax(0, rate));
    if (rate >= 0.283)
        return cheapest;
    for (uint32_t bits = 1; bits < ROWS; bits++) {
        const uint32_t best = bloomery_rate_table_best(bits);
        if (above(bits, best, rate, literals))
            continue;
        for (uint32_t probes = best; probes > 0; probes--)
            if (above(bits, probes, rate, literals))
                return (struct bloomery_practice){bits, probes + 1};
    }
    return dearest;
}

struct bloomery_practice bloomery_sound_practice(double rate)
{
    for (uint32_t bits = 2; bits < ROWS; bits++)
        for (uint32_t probes = 1; probes <= bloomery_rate_table_best(bits); probes++)
            if (!above(bits, probes, rate, BLOOMERY_PRACTICE_DOUBLE))
                return (struct bloomery_practice){bits, probes};
    return dearest;
}
