/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write m = 2^j r, r odd. Since G is odd, multiplying by it permutes the residues modulo 2^j, and
 * the residue of h G^i modulo 2^j follows from that of h alone. So a key does not draw k positions:
 * it draws a place on a ring of residues and takes the k places after it, and only modulo r its
 * positions are as good as independent:
 *
 *     ring        .  .  s  .  .  .  .  .  .        s: where a key begins; of 2^j places
 *     takes                1  2  3  4  5           its k = 5 places, in each one of r cells
 *     another        q
 *     takes             1  2  3  4  5              has four places in common with it
 *
 * At r = 1 there is one cell to a place, and a key is a false positive once the k places after it
 * are covered by the stretches of other keys. With J keys beginning at each place, J Poisson with
 * mean l = n / 2^j, that fails only if k places in a row, of the 2k-1 that can reach, have none:
 *
 *     rate = 1 - e^-kl (1 + (k-1) (1 - e^-l))
 *
 * (65,536 bits, k = 7, n = 6000: 0.197, and not 0.0053).
 *
 * For any r let S be a set of the k places. A key that begins where it covers c of S misses all its
 * cells there with chance x^c, x = 1 - 1/r, so a place with Poisson many such keys leaves S alone
 * with chance g(c) = exp(-l (1 - x^c)), and by inclusion and exclusion
 *
 *     rate = sum over S of (-1)^|S| product over the 2k-1 places s of g(|S covered from s|).
 *
 * What a place covers is a beginning of the k or an end of them. With T = |S| and a the number of S
 * among the first t, the product is that of g(a) over t = 1 .. k and of g(T - a) over t = 1 .. k-1,
 * which a walk over t sums up for all S of size T at once.
 *
 * Terms are as large as (1 + 1/2)^k in sum, so that some 1e-16 of that is lost. The sum over one
 * stretch alone,
 *
 *     E[(1 - x^J e^(-n (k-1) / m))^k],
 *
 * loses nothing and is less than the rate: it is taken if nothing else is left.
 */
#include "plan/foreign/chain_rate.h"

#include "plan/classic_rate.h"

#include <assert.h>
#include <float.h>
#include <math.h>

enum { PLACES_MAX = 64 };

/* Past this many keys to a place, J hardly varies. */
static const double crowded = 1e6;

/* Places: 2^j. */
static uint64_t ring_of(uint64_t bits)
{
    return bits & (0 - bits);
}

/* The sum over all S, and over the same terms without their signs. */
static double include_and_exclude(double load, double miss, uint32_t probes, double *magnitude)
{
    double alone[PLACES_MAX + 1]; /* g */
    double sum = 0;
    assert(probes <= PLACES_MAX);
    *magnitude = 0;
    for (uint32_t c = 0; c <= probes; c++)
        alone[c] = exp(load * (pow(miss, c) - 1));
    for (uint32_t size = 0; size <= probes; size++) {
        double ways[PLACES_MAX + 1] = {1};
        for (uint32_t t = 1; t <= probes; t++)
            for (uint32_t a = t < size ? t : size;; a--) {
                const double here = ways[a] + (a > 0 ? ways[a - 1] : 0);
                ways[a] = here * alone[a] * (t < probes ? alone[size - a] : 1);
                if (a == 0)
                    break;
            }
        sum += size % 2 == 0 ? ways[size] : -ways[size];
        *magnitude += ways[size];
    }
    return sum;
}

/* What the keys of one place alone make likely. */
static double one_stretch(double load, double miss, double others, uint32_t probes)
{
    const double max = load + 20 * sqrt(load) + 60;
    double rate = 0;
    for (double j = 0; j <= max; j++) {
        const double log_chance = j * log(load) - load - lgamma(j + 1);
        rate += exp(log_chance) * pow(1 - pow(miss, j) * others, probes);
    }
    return rate;
}

double bloomery_chain_walk_rate(uint64_t bits, uint32_t probes, uint64_t keys)
{
    assert(bits > 0 && probes > 0);
    const uint64_t ring = ring_of(bits);
    const double load = (double)keys / (double)ring;
    const double miss = 1 - (double)ring / (double)bits;
    double rate = bloomery_classic_rate(bits, probes, keys);
    double magnitude = 0;
    if (keys == 0 || ring == 1 || probes == 1 || load > crowded)
        return rate;
    const double others = exp(-(double)keys * (probes - 1) / (double)bits);
    if (load * probes < 1000)
        rate = fmax(rate, one_stretch(load, miss, others, probes));
    if (probes <= PLACES_MAX) {
        const double sum = include_and_exclude(load, miss, probes, &magnitude);
        if (sum > magnitude * DBL_EPSILON * 1000)
            rate = fmax(rate, sum);
    }
    assert(rate >= 0);
    return fmin(rate, 1);
}
