/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/coinciding.h"

#include <assert.h>
#include <math.h>

enum {
    DENSE = 8,  /* up to here each load has a node */
    OCTAVE = 4, /* nodes of each octave after it */
    POINTS = 6, /* of a polynomial */
    LAST = 1024,
};

/* The load of a node. */
static double node_load(uint32_t node)
{
    if (node < DENSE)
        return node + 1;
    const uint32_t after = node - (DENSE - 1);
    const uint32_t octaves = after / OCTAVE;
    const uint32_t steps = (OCTAVE + after % OCTAVE) * (DENSE / OCTAVE);
    return (double)steps * (double)(1U << octaves);
}

/* The last node that is not past a load. */
static uint32_t node_of(uint64_t load)
{
    if (load <= DENSE)
        return (uint32_t)load - 1;
    const uint32_t octave = 63 - (uint32_t)__builtin_clzll(load / DENSE);
    const uint32_t part = (uint32_t)(load >> octave) * OCTAVE / DENSE - OCTAVE;
    return DENSE - 1 + octave * OCTAVE + part;
}

/* The polynomial through six nodes around the load (Lagrange). */
static double between(const float *table, uint64_t load)
{
    const uint32_t node = node_of(load);
    const double x = (double)load;
    uint32_t first = node < POINTS / 2 ? 0 : node - POINTS / 2 + 1;
    double sum = 0;
    assert(node < BLOOMERY_COINCIDING_NODES && node_load(node) <= x);
    if (node_load(node) >= x)
        return (double)table[node];
    if (first > BLOOMERY_COINCIDING_NODES - POINTS)
        first = BLOOMERY_COINCIDING_NODES - POINTS;
    for (uint32_t i = first; i < first + POINTS; i++) {
        double above = 1;
        double below = 1;
        for (uint32_t other = first; other < first + POINTS; other++)
            if (other != i) {
                above *= x - node_load(other);
                below *= node_load(i) - node_load(other);
            }
        sum += above / below * (double)table[i];
    }
    return sum;
}

double bloomery_coinciding(uint32_t probes, uint32_t times, uint64_t load)
{
    assert(probes >= 1 && probes <= 8 && load >= 1);
    assert(times >= 1 && times <= BLOOMERY_COINCIDING_MAX);
    if (times == 1)
        return 1;
    const float *table = bloomery_coinciding_table[probes - 1][times - 2];
    const double pairs = times * (times - 1) / 2.0;
    /* Past the table what varies falls with the bits that are still 0. */
    const double excess = load <= LAST ? between(table, load)
                                       : (double)table[BLOOMERY_COINCIDING_NODES - 1] *
                                             exp(((double)LAST - (double)load) * probes / 512);
    return exp(pairs * excess);
}
