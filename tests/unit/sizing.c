/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizing by other systems' rules, numbers in and numbers out: the calculator of the 20-million-ID
 * experiment, the table that ClickHouse and Cassandra carry along, the way ClickHouse goes through
 * it, and the rate of its quadratic rule. What they answer is in files of vectors or in
 * docs/mathematics.md.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "calc_utils_reference.h"

#include "dialects/clickhouse.h"
#include "dialects/sizing.h"
#include "plan/classic_rate.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static double limit_rate(double bits_per_key, uint32_t probes)
{
    return pow(-expm1(-(double)probes / bits_per_key), probes);
}

/* ---- The calculator -------------------------------------------------------------------------- */

static void calculator_answers_as_the_original(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(calc_utils_reference); i++) {
        const uint64_t n = calc_utils_reference[i].n;
        const uint64_t aligned = bloomery_calc_aligned(n, calc_utils_reference[i].p);
        const double rate = calc_utils_reference[i].rate;
        assert_int_equal(bloomery_calc_bits(n, calc_utils_reference[i].p),
                         calc_utils_reference[i].bits);
        assert_int_equal(aligned, calc_utils_reference[i].aligned);
        assert_int_equal(bloomery_calc_probes(n, aligned), calc_utils_reference[i].probes);
        assert_true(fabs(bloomery_calc_rate(n, aligned, 12) - rate) <= 1e-13 * rate);
    }
}

/* The experiment's own figures, and the fault. */
static void calculator_compares_the_wrong_numbers(void **state)
{
    (void)state;
    assert_int_equal(bloomery_calc_bits(20000000, 0.01), 191701168);
    assert_int_equal(bloomery_calc_aligned(20000000, 0.01), 268435456);
    assert_int_equal(bloomery_calc_probes(20000000, 268435456), 10);
    assert_true(fabs(bloomery_calc_rate(20000000, 268435456, 12) - 0.0018161693369827) < 1e-16);
    assert_int_equal(bloomery_calc_bits(65536, 0.5), 94549);
    assert_int_equal(bloomery_calc_aligned(65536, 0.5), 65536);
    assert_int_equal(bloomery_calc_aligned(65537, 0.5), 131072);
    assert_true(bloomery_calc_rate(65536, 65536, bloomery_calc_probes(65536, 65536)) > 0.63);
}

static void calculator_has_an_answer_to_everything(void **state)
{
    (void)state;
    const double none[] = {0, 1, -1, 2, NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < COUNT(none); i++) {
        assert_int_equal(bloomery_calc_bits(1000, none[i]), 0);
        assert_int_equal(bloomery_calc_aligned(1000, none[i]), 0);
    }
    assert_int_equal(bloomery_calc_bits(0, 0.5), 0);
    assert_int_equal(bloomery_calc_bits(UINT64_MAX, 1e-300), 0);
    assert_int_equal(bloomery_calc_bits(UINT64_C(1) << 60, 0.1), 0);
    assert_int_equal(bloomery_calc_bits(1, 1 - 1e-16), 1);
    assert_int_equal(bloomery_calc_probes(0, 64), 0);
    assert_int_equal(bloomery_calc_probes(64, 0), 0);
    assert_int_equal(bloomery_calc_probes(1, UINT64_MAX), UINT32_MAX);
    assert_true(bloomery_calc_rate(5, 0, 3) == 1);
    assert_true(bloomery_calc_rate(0, 64, 3) == 0);
    assert_true(bloomery_calc_rate(5, 64, 0) == 1);
}

/* ---- The table ------------------------------------------------------------------------------- */

/* To three digits, but for one entry: 0.092 for 5 bits and 3 probes is 0.0918. */
static void table_is_the_formula(void **state)
{
    (void)state;
    uint32_t entries = 0, others = 0;
    for (uint32_t bits = 2; bits < BLOOMERY_RATE_TABLE_ROWS; bits++)
        for (uint32_t probes = 1; bloomery_rate_table_parts(bits, probes) != 0; probes++) {
            const double limit = limit_rate(bits, probes);
            const double half = pow(10, floor(log10(limit)) - 2) / 2;
            entries++;
            if (fabs(bloomery_rate_table(bits, probes) - limit) > half * 1.0001) {
                others++;
                assert_true(bits == 5 && probes == 3);
            }
            /* A filter of a million keys is one in the limit. */
            const double million = bloomery_classic_rate(bits * UINT64_C(1000000), probes, 1000000);
            assert_true(fabs(million - limit) < 1e-4 * limit);
        }
    assert_int_equal(entries, 156);
    assert_int_equal(others, 1);
    assert_true(bloomery_rate_table(20, 10) == 8.89e-5);
    assert_true(fabs(limit_rate(20, 10) - 8.89e-5) < 5e-8);
}

/* Whole k, exactly as in the limit: the least rate of a row is at a neighbour of (m/n) ln 2, and
 * the rate of a finite filter, exactly, is above the limit and tends to it. */
static void best_probes_are_those_of_the_derivation(void **state)
{
    (void)state;
    for (uint32_t bits = 2; bits <= 32; bits++) {
        const double real = bits * log(2);
        uint32_t best = 1;
        for (uint32_t probes = 1; probes <= 40; probes++)
            if (limit_rate(bits, probes) < limit_rate(bits, best))
                best = probes;
        assert_true(best == (uint32_t)floor(real) || best == (uint32_t)ceil(real));
        if (bits < BLOOMERY_RATE_TABLE_ROWS)
            assert_int_equal(bloomery_rate_table_best(bits), best);
        double before = 1;
        for (uint64_t keys = 10; keys <= 100000; keys *= 10) {
            const double exact = bloomery_classic_rate(bits * keys, best, keys);
            assert_true(exact > limit_rate(bits, best) && exact < before);
            before = exact;
        }
        assert_true(before < limit_rate(bits, best) * 1.001);
    }
}

static void assert_practice(double rate, enum bloomery_practice_literals literals, uint32_t bits,
                            uint32_t probes)
{
    const struct bloomery_practice practice = bloomery_best_practice(rate, literals);
    assert_int_equal(practice.bits_per_key, bits);
    assert_int_equal(practice.probes, probes);
}

static void practice_has_its_faults(void **state)
{
    (void)state;
    const enum bloomery_practice_literals both[] = {BLOOMERY_PRACTICE_DECIMAL,
                                                    BLOOMERY_PRACTICE_DOUBLE};
    for (size_t i = 0; i < COUNT(both); i++) {
        assert_practice(0.283, both[i], 2, 2);
        assert_practice(7, both[i], 2, 2);
        assert_practice(0.282, both[i], 3, 2);
        assert_practice(0.23, both[i], 19, 13);
        assert_practice(0.225, both[i], 19, 13);
        assert_practice(0.22, both[i], 4, 2);
        assert_practice(0.025, both[i], 8, 4);
        assert_practice(0, both[i], 19, 13);
        assert_practice(-3, both[i], 19, 13);
        assert_practice(nextafter(0.237, 1), both[i], 3, 2);
        assert_practice(nextafter(0.237, 0), both[i], 19, 13);
    }
    assert_practice(0.237, BLOOMERY_PRACTICE_DECIMAL, 19, 13);
    assert_practice(0.237, BLOOMERY_PRACTICE_DOUBLE, 3, 2);
    assert_practice(0.155, BLOOMERY_PRACTICE_DECIMAL, 4, 3);
    assert_practice(0.155, BLOOMERY_PRACTICE_DOUBLE, 4, 2);
    assert_int_equal(bloomery_sound_practice(0.23).bits_per_key, 4);
    assert_int_equal(bloomery_sound_practice(0.23).probes, 1);
    assert_int_equal(bloomery_sound_practice(1e-9).bits_per_key, 19);
}

/* ---- The quadratic rule ---------------------------------------------------------------------- */

/* Two keys are one to it with chance 1/m^2, and keys turned round as well, whatever k is. */
static void rates_have_a_floor_of_two_equal_walks(void **state)
{
    (void)state;
    const double m = 4096;
    const double floor_rate = 2 * 40 / m / m;
    const double classic = bloomery_classic_rate(4096, 15, 40);
    const double rate = bloomery_quadratic_rate(4096, 15, 40, classic);
    assert_true(classic < 1e-12);
    assert_true(rate > floor_rate && rate < 2 * floor_rate);
    assert_true(bloomery_quadratic_rate(4000, 15, 40, classic) < rate / 50);
    assert_true(bloomery_quadratic_rate(4096, 15, 0, 0) == 0);
    assert_true(bloomery_quadratic_rate(8, 1024, 1000000, 1) == 1);
    for (uint32_t probes = 1; probes <= 2; probes++) /* two words are enough for two positions */
        assert_true(bloomery_quadratic_excess(4096, probes, 1000, 0.5) == 0);
    for (uint64_t bits = 8; bits <= 4096; bits += 8)
        for (uint32_t probes = 1; probes <= 70; probes += 3) {
            const double excess = bloomery_quadratic_excess(bits, probes, 100, 0.5);
            assert_true(isfinite(excess) && excess >= 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calculator_answers_as_the_original),
        cmocka_unit_test(calculator_compares_the_wrong_numbers),
        cmocka_unit_test(calculator_has_an_answer_to_everything),
        cmocka_unit_test(table_is_the_formula),
        cmocka_unit_test(best_probes_are_those_of_the_derivation),
        cmocka_unit_test(practice_has_its_faults),
        cmocka_unit_test(rates_have_a_floor_of_two_equal_walks),
    };
    const char *pattern = getenv("BLOOMERY_TEST_FILTER");
    if (pattern != NULL && pattern[0] != '\0')
        cmocka_set_test_filter(pattern);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
