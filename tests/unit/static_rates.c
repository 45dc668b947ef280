/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates of static filters that no count of false positives reaches, by their factors. At 1e-9 an
 * absent key has to agree with 30 columns, in planes of eight:
 *
 *     rate = P(plane 0) P(plane 1 | 0) P(plane 2 | 0, 1) P(plane 3 | 0, 1, 2)
 *
 * Each plane agrees once in 256 keys, which is counted, and so is each set of planes, as far as
 * counting reaches: planes that agreed together more often than by chance would show there.
 *
 * Build: this file, ../support/support.c; cmocka, the library's inside. Suite: unit.
 */
#include "../support/built.h"

#include "kinds/filter.h"
#include "kinds/static.h"

#include <math.h>

enum { PLANES = 5, SETS = 1 << PLANES, KEYS = 100000 };

/* Of one column, row by row as docs/format.md has it: not as kinds/static.h does it. */
static unsigned column_of(const struct bloomery_layer *layer, const struct bloomery_equation *at,
                          uint32_t plane, uint32_t column)
{
    const struct bloomery_ribbon *ribbon = &layer->ribbon;
    const uint8_t *base = layer->payload + bloomery_ribbon_plane(ribbon, plane);
    unsigned sum = 0;
    for (uint32_t row = 0; row < 64; row++) {
        const uint32_t bit = at->shift + row;
        const uint64_t word = bloomery_ribbon_word(ribbon, plane, at->block + bit / 64) + column;
        sum ^= (unsigned)(base[8 * word + bit % 64 / 8] >> bit % 8) &
               (unsigned)(at->coefficients >> row) & 1;
    }
    return sum;
}

/* Planes whose columns are all as the fingerprint says. */
static unsigned planes_that_agree(const struct bloomery_layer *layer,
                                  const struct bloomery_equation *at, uint32_t columns)
{
    unsigned agree = 0;
    for (uint32_t plane = 0; plane * 8 < columns; plane++) {
        uint32_t same = 0;
        const uint32_t most = bloomery_ribbon_words(columns, plane);
        while (same < most &&
               column_of(layer, at, plane, same) == (at->fingerprint >> (plane * 8 + same) & 1))
            same++;
        agree |= (unsigned)(same == most) << plane;
    }
    return agree;
}

struct tally {
    double found[SETS];
    double expected[SETS];
    double chance; /* the sum of all keys' chances to be answered "possibly" */
    double chance_squared;
};

/* Counts what agrees for one absent key, whose start is in this layer. */
static void count_planes(const struct bloomery_layer *layer, const struct bloomery_equation *at,
                         struct tally *tally)
{
    const uint32_t columns =
        layer->ribbon.columns + (uint32_t)(at->block >= layer->ribbon.wide_from);
    const unsigned agree = planes_that_agree(layer, at, columns);
    assert_true(columns <= 8 * PLANES);
    assert_int_equal(bloomery_static_fits(layer, at, 0), agree == (1U << (columns + 7) / 8) - 1);
    for (unsigned set = 1; set < SETS; set++) {
        uint32_t bits = 0;
        for (uint32_t plane = 0; plane < PLANES; plane++)
            bits += (set >> plane & 1) * bloomery_ribbon_words(columns, plane);
        if (set >> (columns + 7) / 8 != 0)
            continue;
        tally->found[set] += (agree & set) == set;
        tally->expected[set] += ldexp(1, -(int)bits);
    }
    tally->chance += ldexp(1, -(int)columns);
    tally->chance_squared += ldexp(1, -2 * (int)columns);
}

/* A bumped key is asked for in the next layer, so its chance is that of the layer it ends in. */
static void count_key(const bloomery_filter *filter, bloomery_hash hash, struct tally *tally)
{
    for (uint32_t i = 0;; i++) {
        const struct bloomery_layer *layer = &filter->layers[i];
        const struct bloomery_equation at = bloomery_equation_of(hash, i, &layer->ribbon);
        const uint8_t *thresholds = bloomery_static_thresholds(layer);
        if (at.offset >= bloomery_static_cut(thresholds, at.bucket)) {
            count_planes(layer, &at, tally);
            return;
        }
        assert_true(layer->cascades && i + 1 < filter->shape.layer_count);
    }
}

static void rate_is_the_product_of_its_factors(double rate)
{
    struct tally tally = {0};
    const double queries = test_long() ? 5e7 : 5e5;
    uint64_t seed = 11;
    const bloomery_filter *filter = test_static_of_integers(rate, 0, KEYS);
    bloomery_scan_result scan = scan_of(filter);
    for (double i = 0; i < queries; i++) {
        const uint64_t lo = test_next(&seed);
        count_key(filter, (bloomery_hash){lo, test_next(&seed)}, &tally);
    }
    for (unsigned set = 1; set < SETS; set++) /* 4.5 deviations, and of rare ones a few more */
        if (fabs(tally.found[set] - tally.expected[set]) > 4.5 * sqrt(tally.expected[set]) + 4)
            fail_msg("rate %g, planes %x: %g agree, %g by chance", rate, set, tally.found[set],
                     tally.expected[set]);
    const double mean = tally.chance / queries;
    const double variance = tally.chance_squared / queries - mean * mean;
    if (!(fabs(mean - scan.live_rate) <= 4.5 * sqrt(variance / queries) + 1e-9 * rate))
        fail_msg("rate %g: live rate %g, %g in the sample", rate, scan.live_rate, mean);
    if (scan.live_rate > rate || scan.live_rate < 0.98 * rate)
        fail_msg("rate %g: live rate %g", rate, scan.live_rate);
    bloomery_free(filter);
}

static void rates_down_to_1e9_are_products_of_their_factors(void **state)
{
    static const double rates[] = {1e-4, 1e-6, 1e-9};
    (void)state;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++)
        rate_is_the_product_of_its_factors(rates[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_down_to_1e9_are_products_of_their_factors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
