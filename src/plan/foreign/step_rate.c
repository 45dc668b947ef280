/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Positions x_i = a + i b have two words of chance and not k, which costs in two ways. (The classic
 * rate knows none of it, and for large m need not: all of this is of the order of 1/m. But a rate
 * of one in a million in an array of 28,800 bits, of 20 probes and 1000 keys, is nine in a million
 * if sums wrap, and 54 if they do not.)
 *
 * Steps that lead back. Modulo m alone, let d = m / gcd(b, m) be the order of b: the key has only
 * min(d, k) positions. There are phi(d) steps of order d, so that
 *
 *     own = sum over d | m, d < k of  phi(d) / m (f^d - f^k),    f: the share of bits set.
 *
 * Keys beside each other. A key with step b, or -b, that begins t steps from where the queried key
 * begins covers x = k - |t| of its positions at once; with chance 1/m^2 each. Any two of a key's
 * positions are independent, so what is new begins with the third: a key that covers x positions
 * contributes
 *
 *     W(x) = f^(k-x) - f^k (1 + x g + x (x-1) / 2 g^2),               g = 1/f - 1,
 *
 * and n keys  n / m^2 sum of W(x)  over all rows of x points in the grid of k x k pairs of probes,
 * at any slope: slopes 1 and -1 are the case above, p/q is a key whose step is p/q of b.
 *
 * Sums that wrap. Modulo 2^64 first, x_i = a + i b - w_i c mod m, with c = 2^64 mod m and w_i the
 * number of times that the sum has passed 2^64: w_i = floor(A + i B) with A and B the two words as
 * fractions of 2^64, which are independent of both modulo m. If m divides 2^64, c = 0, and nothing
 * is changed. Else let m = 2^v o. Modulo 2^v, c is 0; modulo o, in units of c, x_i = a' + i b' -
 * w_i. Two probes can coincide for many pairs only if b' is a fraction w/s with a small s, one of o
 * values, and then the number of positions is that of different pairs (i mod 2^u, i w - s w_i), 2^u
 * being the order of b modulo 2^v:
 *
 *     own = sum over s, w, u of  phi(2^u) / m (E f^different - f^k),
 *
 * the mean being over A and B. A step of 0 mod m, for one, now leads to about 1 + B k positions
 * instead of one. If o is so small that such fractions are most of its values, all b' are gone
 * through. For keys beside each other the other key's w is another sequence, and what is aligned is
 * broken up where the difference of both changes.
 *
 * Means over A and B are taken at points that are evenly spread, always the same ones.
 */
#include "plan/foreign/step_rate.h"

#include "plan/classic_rate.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    PROBES_MAX = 64,     /* of which pairs are looked at */
    FRACTIONS = 8,       /* s up to so many */
    SMALL_ODD_PART = 23, /* there are so many fractions with them */
    OWN_POINTS = 96,
    OTHER_POINTS = 128,
};

static uint32_t divisor(uint32_t a, uint32_t b)
{
    while (b > 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint32_t totient(uint32_t d)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i <= d; i++)
        count += divisor(i, d) == 1;
    return count;
}

struct step_filter {
    uint64_t bits;
    uint64_t even; /* 2^v */
    uint64_t odd;  /* o */
    uint32_t probes;
    double fill;
    double all; /* f^k */
};

/* ---- Without wrapping ------------------------------------------------------------------------ */

static double own_orders(const struct step_filter *filter)
{
    double sum = 0;
    for (uint32_t d = 1; d < filter->probes && d <= filter->bits; d++)
        if (filter->bits % d == 0)
            sum += totient(d) * (pow(filter->fill, d) - filter->all);
    return sum / (double)filter->bits;
}

/* W(x), by products of which none passes 1. */
static double covering(const struct step_filter *filter, uint32_t x)
{
    const double f = filter->fill;
    const double k = filter->probes;
    if (x < 3)
        return 0;
    return pow(f, k - x) - filter->all - x * pow(f, k - 1) * (1 - f) -
           x * (x - 1.0) / 2 * pow(f, k - 2) * (1 - f) * (1 - f);
}

/* Places in a grid of k x k at which x points with steps p and q begin. */
static double beginnings(uint32_t probes, uint32_t p, uint32_t q, uint32_t x)
{
    const uint32_t wide = (x - 1) * p;
    const uint32_t high = (x - 1) * q;
    return wide < probes && high < probes ? (double)(probes - wide) * (probes - high) : 0;
}

/* Sum of W over the rows of slopes other than 1, of one of both signs. */
static double other_slopes(const struct step_filter *filter)
{
    const uint32_t k = filter->probes;
    double sum = 0;
    for (uint32_t p = 1; 2 * p < k; p++)
        for (uint32_t q = 1; 2 * q < k; q++)
            for (uint32_t x = 3; divisor(p, q) == 1 && beginnings(k, p, q, x) > 0; x++)
                sum +=
                    covering(filter, x) * (beginnings(k, p, q, x) - 2 * beginnings(k, p, q, x + 1) +
                                           beginnings(k, p, q, x + 2));
    return sum;
}

/* ---- With it --------------------------------------------------------------------------------- */

static double fraction(double value)
{
    return value - floor(value);
}

static void count_wraps(int32_t *wraps, uint32_t probes, double start, double step)
{
    assert(probes <= PROBES_MAX);
    for (uint32_t i = 0; i < probes; i++)
        wraps[i] = (int32_t)floor(start + i * step);
}

/* Different pairs (i mod order, i w - s w_i), the second modulo `odd` unless that is 0. */
static uint32_t different(const int32_t *wraps, uint32_t probes, uint32_t order, int32_t w,
                          int32_t s, int32_t odd)
{
    uint32_t count = 0;
    assert(order > 0 && s > 0);
    for (uint32_t i = 0; i < probes; i++) {
        bool again = false;
        for (uint32_t j = i; j >= order && !again;) {
            j -= order;
            const int32_t apart = (int32_t)(i - j) * w - s * (wraps[i] - wraps[j]);
            again = apart == 0 || (odd > 0 && apart % odd == 0);
        }
        count += !again;
    }
    return count;
}

/* E f^different - f^k of the step w/s. */
static double leads_back(const struct step_filter *filter, uint32_t order, int32_t w, int32_t s,
                         int32_t odd)
{
    int32_t wraps[PROBES_MAX];
    double sum = 0;
    for (uint32_t point = 0; point < OWN_POINTS; point++) {
        /* 1 over the plastic number: with an even step in the other direction, the most even
         * points */
        count_wraps(wraps, filter->probes, fraction(point * 0.7548776662466927),
                    (point + 0.5) / OWN_POINTS);
        sum += pow(filter->fill, different(wraps, filter->probes, order, w, s, odd));
    }
    return sum / OWN_POINTS - filter->all;
}

static double own_fractions(const struct step_filter *filter)
{
    double sum = 0;
    for (uint32_t order = 1; order < filter->probes && order <= filter->even; order *= 2) {
        const double steps = order > 1 ? order / 2 : 1;
        if (steps * pow(filter->fill, order) < 1e-3 * filter->fill)
            break; /* there are no fewer than `order` different ones */
        if (filter->odd <= SMALL_ODD_PART)
            for (int32_t w = 0; w < (int32_t)filter->odd; w++)
                sum += steps * leads_back(filter, order, w, 1, (int32_t)filter->odd);
        else
            for (int32_t s = 1; s <= FRACTIONS && s < (int32_t)filter->probes; s++)
                for (int32_t w = 0; w <= s; w++)
                    if (divisor((uint32_t)w, (uint32_t)s) == 1)
                        sum += steps * leads_back(filter, order, w, s, 0);
    }
    return sum / (double)filter->bits;
}

/* Sum of W over all stretches in which two sequences of wraps, shifted against each other, keep
 * their distance. */
static double aligned(const struct step_filter *filter, const int32_t *one, const int32_t *other)
{
    const int32_t k = (int32_t)filter->probes;
    double sum = 0;
    for (int32_t shift = 1 - k; shift < k; shift++) {
        uint32_t count[4 * PROBES_MAX] = {0};
        const int32_t from = shift < 0 ? -shift : 0;
        const int32_t to = shift < 0 ? k : k - shift;
        assert(from < to && one[to - 1] < 2 * PROBES_MAX && other[to + shift - 1] < 2 * PROBES_MAX);
        for (int32_t i = from; i < to; i++)
            count[one[i] - other[i + shift] + 2 * PROBES_MAX]++;
        for (int32_t i = from; i < to; i++) {
            uint32_t *here = &count[one[i] - other[i + shift] + 2 * PROBES_MAX];
            sum += covering(filter, *here);
            *here = 0;
        }
    }
    return sum;
}

static double other_aligned(const struct step_filter *filter)
{
    int32_t one[PROBES_MAX];
    int32_t other[PROBES_MAX];
    double sum = 0;
    for (uint32_t point = 0; point < OTHER_POINTS; point++) {
        /* powers of 1 over the root of x^5 = x + 1 */
        count_wraps(one, filter->probes, fraction(point * 0.8566748838545029),
                    fraction(point * 0.733891856627126));
        count_wraps(other, filter->probes, fraction(point * 0.6287067210378087),
                    fraction(point * 0.5385972572236101));
        sum += aligned(filter, one, other);
    }
    return sum / OTHER_POINTS;
}

/* ---- Both ------------------------------------------------------------------------------------ */

double bloomery_step_excess(uint64_t bits, uint32_t probes, double keys, double fill, bool wraps)
{
    assert(bits > 0 && probes > 0 && fill >= 0 && fill <= 1);
    struct step_filter filter = {
        .bits = bits,
        .even = bits & (0 - bits),
        .odd = bits / (bits & (0 - bits)),
        .probes = probes < PROBES_MAX ? probes : PROBES_MAX,
        .fill = fill,
        .all = pow(fill, probes),
    };
    if (fill <= 0 || fill >= 1 || !isfinite(keys))
        return 0;
    if (!wraps || filter.odd == 1)
        return own_orders(&filter) +
               2 * keys * other_slopes(&filter) / ((double)bits * (double)bits);
    return own_fractions(&filter) * filter.probes / probes +
           2 * keys * other_aligned(&filter) / ((double)bits * (double)bits);
}

double bloomery_step_rate(uint64_t bits, uint32_t probes, uint64_t keys, bool wraps)
{
    const double fill = -expm1((double)probes * (double)keys * log1p(-1 / (double)bits));
    if (keys == 0 || bits == 1)
        return keys > 0;
    return fmin(1, bloomery_classic_rate(bits, probes, keys) +
                       bloomery_step_excess(bits, probes, (double)keys, fill, wraps));
}
