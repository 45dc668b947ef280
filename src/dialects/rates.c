/* SPDX-License-Identifier: Apache-2.0 */
/* The rates of flat filters by double hashing (rates.h). */
#include "dialects/rates.h"

#include "base/bytes.h"
#include "plan/classic_rate.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { PROBES_MAX = 64 }; /* of which pairs are looked at */

/* The largest common divisor. */
static uint32_t divisor(uint64_t a, uint32_t b)
{
    assert(b > 0);
    while (b > 0) {
        const uint32_t rest = (uint32_t)(a % b);
        a = b;
        b = rest;
    }
    return (uint32_t)a;
}

static double fraction(double value)
{
    return value - floor(value);
}

/* W(x) of both parts below: what a key adds that covers x of k positions at once, with a share f of
 * the bits set and `all` = f^k. By products of which none passes 1. */
static double covering(double f, double all, double k, uint32_t x)
{
    assert(f >= 0 && f <= 1 && x <= k);
    if (x < 3)
        return 0;
    return pow(f, k - x) - all - x * pow(f, k - 1) * (1 - f) -
           x * (x - 1.0) / 2 * pow(f, k - 2) * (1 - f) * (1 - f);
}

/* ---- Steps of one size ----------------------------------------------------------------------- */

/*
 * Positions x_i = a + i b have two words of chance and not k, which costs in two ways. (The classic
 * rate knows none of it, and for large m need not: all of this is of the order of 1/m. But take an
 * array of 28,800 bits, of 20 probes and 1000 keys, with a rate of one in a million. It is nine in
 * a million if sums wrap, and 54 if they do not.)
 *
 * Steps that lead back. Modulo m alone, let d = m / gcd(b, m) be the order of b: the key has only
 * min(d, k) positions. There are phi(d) steps of order d, so that
 *
 *     own = sum over d | m, d < k of  phi(d) / m (f^d - f^k),    f: the share of bits set.
 *
 * Keys beside each other. Take a key with step b, or -b, that begins t steps from the start of the
 * queried key. It covers x = k - |t| of its positions at once, with chance 1/m^2 each. Any two of a
 * key's positions are independent, so what is new begins with the third: a key that covers x
 * positions contributes
 *
 *     W(x) = f^(k-x) - f^k (1 + x g + x (x-1) / 2 g^2),               g = 1/f - 1,
 *
 * and n keys  n / m^2 sum of W(x)  over all rows of x points in the grid of k x k pairs of probes,
 * at any slope: slopes 1 and -1 are the case above, p/q is a key whose step is p/q of b.
 *
 * Sums that wrap. Sums are modulo 2^64 first: x_i = a + i b - w_i c mod m, with c = 2^64 mod m and
 * w_i the number of times that the sum has passed 2^64. w_i = floor(A + i B) with A and B the two
 * words as fractions of 2^64, which are independent of both modulo m. If m divides 2^64, c = 0, and
 * nothing is changed. Else let m = 2^v o. Modulo 2^v, c is 0; modulo o, in units of c, x_i = a' + i
 * b' - w_i. Two probes can coincide for many pairs only if b' is a fraction w/s with a small s, one
 * of o values. Then the number of positions is that of different pairs (i mod 2^u, i w - s w_i),
 * 2^u being the order of b modulo 2^v:
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

enum {
    FRACTIONS = 8,       /* the largest s */
    SMALL_ODD_PART = 23, /* the number of fractions with these s */
    OWN_POINTS = 96,
    OTHER_POINTS = 128,
};

struct step_filter {
    uint64_t bits;
    uint64_t even; /* 2^v */
    uint64_t odd;  /* o */
    uint32_t probes;
    double fill;
    double all; /* f^k */
};

/* ---- Without wrapping ------------------------------------------------------------------------ */

/* Places in a grid of k x k at which x points with steps p and q begin. */
static double beginnings(uint32_t probes, uint32_t p, uint32_t q, uint32_t x)
{
    const uint32_t wide = (x - 1) * p;
    const uint32_t high = (x - 1) * q;
    return wide < probes && high < probes ? (double)(probes - wide) * (probes - high) : 0;
}

/* ---- With it --------------------------------------------------------------------------------- */

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
            sum += covering(filter->fill, filter->all, filter->probes, *here);
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
    if (!wraps || filter.odd == 1) {
        /* The sum of W over the rows of slopes other than 1, of one of both signs. */
        const uint32_t k = filter.probes;
        double sum = 0;
        for (uint32_t p = 1; 2 * p < k; p++)
            for (uint32_t q = 1; 2 * q < k; q++)
                for (uint32_t x = 3; divisor(p, q) == 1 && beginnings(k, p, q, x) > 0; x++)
                    sum += covering(filter.fill, filter.all, filter.probes, x) *
                           (beginnings(k, p, q, x) - 2 * beginnings(k, p, q, x + 1) +
                            beginnings(k, p, q, x + 2));
        double own = 0;
        for (uint32_t d = 1; d < filter.probes && d <= filter.bits; d++)
            if (filter.bits % d == 0) {
                uint32_t totient = 0;
                for (uint32_t i = 1; i <= d; i++)
                    totient += divisor(i, d) == 1;
                own += totient * (pow(filter.fill, d) - filter.all);
            }
        return (own / (double)filter.bits) + 2 * keys * sum / ((double)bits * (double)bits);
    }
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

/* ---- Signed numbers, the negative ones turned over ------------------------------------------- */

/*
 * Positions are c_i = a + i b in signed numbers of W bits, turned over if negative, modulo m. On a
 * circle of 2^W numbers the walk goes on without end; turned over, it goes up the circle's one half
 * and down the other:
 *
 *     2^(W-1)  |      /\      /\
 *              |  /\ /  \    /          position before mod m
 *           0  | /  X    \/\/
 *
 * A and B are the two words as fractions of 2^W, n_i = floor(A + i B), and a remainder from 1/2 on
 * means "negative". Position i is then, modulo m and with w = 2^W mod m,
 *
 *     +(a + i b) + o_i,  o_i = -n_i w                  or if it is negative
 *     -(a + i b) + o_i,  o_i = (n_i + 1) w - 1       (flipped; without the 1 for an absolute
 *     value).
 *
 * a and b modulo m are independent of A and B: m is much smaller than 2^W. So signs and o_i are
 * given for each point (A, B) of a set that is spread evenly. What two positions share depends on a
 * and b alone. With f the share of bits that is set, to the first order in 1/m, beside the rate of
 * independent positions:
 *
 *   - a key's own. Two positions i < j of the same sign are one if (j - i) b = +-(o_i - o_j): for a
 *     few b of m. Each such b leaves d different positions and is worth (f^d - f^k) / m. Two of
 *     unlike sign are one if 2 a + (i + j) b = o_j - o_i, for one a in m (with m even, for two if
 *     both sides are even, and none if only one is); then so are all that have the same i + j and
 *     o_j - o_i, and d = k - their number. Independent positions have one coincidence in m for each
 *     pair, which the classic rate counts: (f^(k-1) - f^k) / m for each pair that was looked at is
 *     taken off.
 *   - those of other keys. Another walk a', b' with b' = +-b, or that and +-w, lies on the queried
 *     one at all (i, j) with one i -+ j and one difference of the o; there is one a' in m for each
 *     such stretch. One of x positions is worth n / m^2 times
 *
 *         W(x) = f^(k-x) - f^k - x f^(k-1) (1 - f) - x (x-1) / 2 f^(k-2) (1 - f)^2
 *
 *     since single ones and pairs are those of independent positions.
 *
 * And positions of 31 bits are not spread evenly over an array that is a large part of 2^31. With q
 * = floor(2^31 / m), the first 2^31 - q m cells are hit by q + 1 numbers each, the others by q.
 * Past 2^31 that is none.
 */

enum {
    DISTANCE_MAX = 8, /* j - i */
    POINTS_MAX = 256, /* and fewer if there are many probes */
    POINTS_MIN = 32,
    POINT_PROBES = 4096, /* the probes of all points together */
};

static const double reach_32 = 2147483648;
/* Up to 1/64 of that positions are as good as even. */
static const uint64_t even_bits = UINT64_C(1) << 25;

struct turned {
    uint64_t bits;
    uint64_t wrap; /* w */
    uint64_t less; /* 1 if numbers are flipped */
    uint32_t probes;
    double fill;
    double all; /* f^k */
};

struct place {
    bool negative;
    uint64_t offset; /* o_i mod m */
};

struct walk {
    struct place places[PROBES_MAX];
};

/* ---- Numbers modulo m ------------------------------------------------------------------------ */

static uint64_t plus(const struct turned *turned, uint64_t a, uint64_t b)
{
    return a >= turned->bits - b ? a - (turned->bits - b) : a + b;
}

static uint64_t minus(const struct turned *turned, uint64_t a, uint64_t b)
{
    return a >= b ? a - b : a + (turned->bits - b);
}

static uint64_t times(const struct turned *turned, uint64_t a, uint64_t b)
{
    return (uint64_t)((bloomery_uint128)a * b % turned->bits);
}

/* ---- Walks ----------------------------------------------------------------------------------- */

static void draw(const struct turned *turned, double start, double step, struct walk *walk)
{
    for (uint32_t i = 0; i < turned->probes; i++) {
        const double at = start + i * step;
        const double wraps = floor(at);
        const uint64_t wrapped = times(turned, (uint64_t)wraps, turned->wrap);
        walk->places[i].negative = at - wraps >= 0.5;
        walk->places[i].offset =
            walk->places[i].negative
                ? minus(turned, plus(turned, wrapped, turned->wrap), turned->less)
                : minus(turned, 0, wrapped);
    }
}

/* The difference of two offsets, seen in the direction of the first. */
static uint64_t apart(const struct turned *turned, const struct place *one,
                      const struct place *other)
{
    return one->negative ? minus(turned, other->offset, one->offset)
                         : minus(turned, one->offset, other->offset);
}

static bool same(const struct turned *turned, const struct walk *walk, uint32_t i, uint32_t j,
                 uint64_t step)
{
    const struct place *one = &walk->places[i];
    const struct place *other = &walk->places[j];
    return one->negative == other->negative &&
           times(turned, j - i, step) == apart(turned, one, other);
}

/* ---- A key's own ----------------------------------------------------------------------------- */

/* f^d - f^k for a step that makes probes i and j one. It is 0 if earlier probes in the order of
 * looking are one as well, so that each step counts once. */
static double worth_of_step(const struct turned *turned, const struct walk *walk, uint32_t i,
                            uint32_t distance, uint64_t step)
{
    uint32_t different = 0;
    for (uint32_t s = 1; s <= distance; s++)
        for (uint32_t at = 0; at + s < turned->probes && (s < distance || at < i); at++)
            if (same(turned, walk, at, at + s, step))
                return 0;
    for (uint32_t j = 0; j < turned->probes; j++) {
        bool again = false;
        for (uint32_t before = 0; before < j && !again; before++)
            again = same(turned, walk, before, j, step);
        different += !again;
    }
    return pow(turned->fill, different) - turned->all;
}

static double steps_back(const struct turned *turned, const struct walk *walk)
{
    double sum = 0;
    for (uint32_t distance = 1; distance <= DISTANCE_MAX; distance++) {
        const uint32_t common = divisor(turned->bits, distance);
        const uint64_t part = turned->bits / common;
        for (uint32_t i = 0; i + distance < turned->probes; i++) {
            const struct place *place = &walk->places[i];
            if (place->negative != place[distance].negative)
                continue;
            sum -= pow(turned->fill, turned->probes - 1) - turned->all;
            const uint64_t gap = apart(turned, place, &place[distance]);
            if (gap % common != 0)
                continue;
            /* x / s modulo `part`, which shares no divisor with s: s divides one of x, x + part,
             * ... */
            uint64_t x = gap / common % part;
            const uint32_t s = distance / common;
            assert(s > 0 && (s == 1 || part % s != 0));
            while (x % s != 0)
                x += part;
            const uint64_t step = x / s;
            for (uint32_t t = 0; t < common; t++)
                sum += worth_of_step(turned, walk, i, distance, step + t * part);
        }
    }
    return sum;
}

/* All i < j of unlike sign with one sum, by the difference of their offsets. */
static double turned_back_at(const struct turned *turned, const struct walk *walk, uint32_t total)
{
    uint64_t gaps[PROBES_MAX];
    uint32_t counts[PROBES_MAX];
    uint32_t found = 0;
    double sum = 0;
    for (uint32_t i = total < turned->probes ? 0 : total - turned->probes + 1; 2 * i < total; i++) {
        const struct place *one = &walk->places[i];
        const struct place *other = &walk->places[total - i];
        if (one->negative == other->negative)
            continue;
        sum -= pow(turned->fill, turned->probes - 1) - turned->all;
        const uint64_t gap = one->negative ? minus(turned, one->offset, other->offset)
                                           : minus(turned, other->offset, one->offset);
        uint32_t at = 0;
        while (at < found && gaps[at] != gap)
            at++;
        if (at == found) {
            gaps[found] = gap;
            counts[found++] = 0;
        }
        counts[at]++;
    }
    for (uint32_t at = 0; at < found; at++) {
        /* How many a of m make 2 a equal to something of this parity. */
        sum += (turned->bits % 2 != 0 || total % 2 != 0 ? 1
                : gaps[at] % 2 == 0                     ? 2
                                                        : 0) *
               (pow(turned->fill, turned->probes - counts[at]) - turned->all);
    }
    return sum;
}

/* ---- Those of other keys --------------------------------------------------------------------- */

/* The ways in which another walk may lie on this one: of the same sign or the opposite, in the same
 * direction or the opposite. Its step is that of this one and `extra`. */
struct relation {
    bool opposite;
    bool reversed;
    uint64_t extra;
};

/* The sum of W over the stretches at one distance: pairs i = distance + j, or distance - j. */
static double stretches(const struct turned *turned, const struct walk *one,
                        const struct walk *other, const struct relation *relation, int32_t distance)
{
    const int32_t k = (int32_t)turned->probes;
    const bool down = relation->opposite != relation->reversed;
    uint64_t gaps[PROBES_MAX];
    uint32_t counts[PROBES_MAX];
    uint32_t found = 0;
    double sum = 0;
    for (int32_t j = 0; j < k; j++) {
        const int32_t i = down ? distance - j : distance + j;
        if (i < 0 || i >= k ||
            (one->places[i].negative != other->places[j].negative) != relation->opposite)
            continue;
        const uint64_t moved = times(turned, (uint64_t)j, relation->extra);
        const uint64_t offset = apart(turned, &one->places[i], &other->places[j]);
        const uint64_t gap =
            relation->opposite ? plus(turned, offset, moved) : minus(turned, offset, moved);
        uint32_t at = 0;
        while (at < found && gaps[at] != gap)
            at++;
        if (at == found) {
            gaps[found] = gap;
            counts[found++] = 0;
        }
        counts[at]++;
    }
    for (uint32_t at = 0; at < found; at++)
        sum += covering(turned->fill, turned->all, turned->probes, counts[at]);
    return sum;
}

static double lying_on(const struct turned *turned, const struct walk *one,
                       const struct walk *other)
{
    const uint64_t extras[] = {0, turned->wrap, minus(turned, 0, turned->wrap)};
    const int32_t k = (int32_t)turned->probes;
    double sum = 0;
    for (uint32_t way = 0; way < 4; way++)
        for (uint32_t extra = 0; extra < (turned->wrap > 0 ? 3 : 1); extra++) {
            const struct relation relation = {(way & 1) != 0, (way & 2) != 0, extras[extra]};
            for (int32_t distance = 1 - k; distance < 2 * k; distance++)
                sum += stretches(turned, one, other, &relation, distance);
        }
    return sum;
}

/* ---- All of it ------------------------------------------------------------------------------- */

/*
 * The mean over A and B of the effect of a key's own positions is hard to compute. Most of it is
 * from B near 0, where walks are short, and from near 1/2, where they go to and fro. B and 1 - B
 * are the same walk from either end. So B = (1 - cos(pi u)) / 4 with u even in 0 .. 1, and pi/2
 * sin(pi u) for the weight.
 */
static double own_at(const struct turned *turned, uint32_t point, uint32_t points)
{
    static const double pi = 3.14159265358979323846;
    const double u = (point + 0.5) / points;
    struct walk walk;
    double sum = 0;
    /* 1 over the plastic number: with even steps in the other direction, the most even points */
    draw(turned, fraction(point * 0.7548776662466927), (1 - cos(pi * u)) / 4, &walk);
    sum += steps_back(turned, &walk);
    for (uint32_t total = 1; total + 2 < 2 * turned->probes; total++)
        sum += turned_back_at(turned, &walk, total);
    return sum * pi / 2 * sin(pi * u);
}

static double excess(enum bloomery_turn turn, uint64_t bits, uint32_t probes, double keys,
                     double fill)
{
    const uint32_t looked = probes < PROBES_MAX ? probes : PROBES_MAX;
    const uint32_t wanted = POINT_PROBES / looked;
    const uint32_t points = wanted < POINTS_MIN   ? POINTS_MIN
                            : wanted > POINTS_MAX ? POINTS_MAX
                                                  : wanted;
    const uint64_t half = (turn == BLOOMERY_TURN_ABSOLUTE ? UINT64_C(1) << 63 : 1U << 31) % bits;
    struct turned turned = {.bits = bits, .probes = looked, .fill = fill};
    double own = 0;
    double others = 0;
    if (bits < 2 || fill <= 0 || fill >= 1 || !isfinite(keys))
        return 0;
    turned.wrap = plus(&turned, half, half);
    turned.less = turn == BLOOMERY_TURN_FLIPPED_32;
    turned.all = pow(fill, looked);
    for (uint32_t point = 0; point < points; point++) {
        own += own_at(&turned, point, points);
        struct walk one;
        struct walk other;
        /* powers of 1 over the root of x^5 = x + 1 */
        draw(&turned, fraction(point * 0.8566748838545029), fraction(point * 0.733891856627126),
             &one);
        draw(&turned, fraction(point * 0.6287067210378087), fraction(point * 0.5385972572236101),
             &other);
        others += lying_on(&turned, &one, &other);
    }
    const double cells = (double)bits;
    return (own + others * keys / cells) / cells / points * pow(fill, probes - looked);
}

/* The two densities of numbers of 31 bits: cells, and the share of a position that goes there. */
struct density {
    double cells[2];
    double share[2];
};

static struct density density_of(uint64_t bits)
{
    const double cells = (double)bits;
    const double whole = floor(reach_32 / cells);
    const double more = reach_32 - whole * cells;
    assert(more >= 0 && more < cells);
    return (struct density){{more, cells - more},
                            {more * (whole + 1) / reach_32, (cells - more) * whole / reach_32}};
}

static double filled(const struct density *density, int part, double throws)
{
    return density->share[part] > 0 ? -expm1(-throws * density->share[part] / density->cells[part])
                                    : 0;
}

static bool is_even(enum bloomery_turn turn, uint64_t bits)
{
    return turn == BLOOMERY_TURN_ABSOLUTE || bits <= even_bits;
}

double bloomery_turned_rate(enum bloomery_turn turn, uint64_t bits, uint32_t probes, uint64_t keys)
{
    const double throws = (double)probes * (double)keys;
    assert(bits > 0 && probes > 0);
    if (keys == 0 || bits == 1)
        return keys > 0;
    double rate;
    double fill;
    if (is_even(turn, bits)) {
        rate = bloomery_classic_rate(bits, probes, keys);
        fill = -expm1(throws * log1p(-1 / (double)bits));
    } else {
        const struct density density = density_of(bits);
        fill = 0;
        for (int part = 0; part < 2; part++)
            fill += density.share[part] * filled(&density, part, throws);
        rate = pow(fill, probes);
    }
    rate += excess(turn, bits, probes, (double)keys, fill);
    return rate < 0 ? 0 : rate > 1 ? 1 : rate;
}

/* ---- From bits ------------------------------------------------------------------------------- */

static double cells_set(const struct density *density, double throws)
{
    return density->cells[0] * filled(density, 0, throws) +
           density->cells[1] * filled(density, 1, throws);
}

double bloomery_turned_keys(enum bloomery_turn turn, uint64_t bits, uint32_t probes, double fill)
{
    assert(bits > 0 && probes > 0 && fill >= 0 && fill <= 1);
    if (fill <= 0 || bits == 1)
        return fill <= 0 ? 0 : INFINITY;
    if (is_even(turn, bits))
        return fill < 1 ? log1p(-fill) / (probes * log1p(-1 / (double)bits)) : INFINITY;
    const struct density density = density_of(bits);
    double low = 0;
    double high = 1;
    while (cells_set(&density, high * probes) < fill * (double)bits) {
        low = high;
        high *= 2;
        if (high > 0x1p60)
            return INFINITY;
    }
    for (int step = 0; step < 60; step++) {
        const double middle = (low + high) / 2;
        if (cells_set(&density, middle * probes) < fill * (double)bits)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double bloomery_turned_live(enum bloomery_turn turn, uint64_t bits, uint32_t probes, double fill)
{
    const double keys = bloomery_turned_keys(turn, bits, probes, fill);
    if (is_even(turn, bits)) {
        const double rate = pow(fill, probes) + excess(turn, bits, probes, keys, fill);
        return rate < 0 ? 0 : rate > 1 ? 1 : rate;
    }
    /* The number of bits that lie so unevenly does not give the rate; the keys estimated from it
     * do. */
    return keys < 0x1p60 ? bloomery_turned_rate(turn, bits, probes, (uint64_t)llround(keys)) : 1;
}

/* ---- Its numbers ----------------------------------------------------------------------------- */
