/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A section's equations, solved as the library does it, two keys at a time, and here one key after
 * the other, as docs/format.md has it: the same rows are taken by the same equations, the same keys
 * are bumped. Sections are as full as chance makes them, fuller, and much too full; with one
 * column, where half of all equations that are left over hold by chance, and with many.
 *
 * Build: this file, ../support/support.c; cmocka, the library's inside. Suite: unit.
 */
#include "../support/built.h"

#include "builder/pairs.h"
#include "builder/section.h"

#include <string.h>

enum { ROOM = 200000, ROWS = BLOOMERY_RIBBON_STARTS_MAX + BLOOMERY_RIBBON_WIDTH };

static bloomery_hash keys[ROOM], solved[ROOM];
static struct bloomery_band band[ROWS];
static uint32_t taken[ROOM]; /* by a key; 0: no row */

/* Takes the first free row and says which + 1, 0 for none; false: it contradicts what is there. */
static bool insert(bloomery_hash key, uint32_t at, uint32_t columns, uint32_t *row)
{
    uint64_t coefficients = key.lo | 1;
    uint64_t fingerprint = bloomery_equation_f(key.lo, 0);
    *row = 0;
    for (; coefficients != 0; at++, coefficients >>= 1) {
        if ((coefficients & 1) == 0)
            continue;
        if (band[at].coefficients == 0) {
            band[at] = (struct bloomery_band){coefficients, fingerprint};
            *row = at + 1;
            return true;
        }
        coefficients ^= band[at].coefficients;
        fingerprint ^= band[at].fingerprint;
    }
    return fingerprint << (64 - columns) == 0;
}

/* The threshold of a bucket, whose keys are `from` to `to`. */
static uint32_t solve_bucket(const struct bloomery_ribbon *ribbon, size_t from, size_t to)
{
    static const uint32_t cuts[] = {0, 16, 32, 128};
    uint32_t threshold = 0;
    for (size_t i = to; i-- > from;) {
        const uint32_t start = bloomery_equation_start(keys[i].hi, ribbon);
        if (start % BLOOMERY_RIBBON_BUCKET < cuts[threshold])
            break;
        if (insert(keys[i], start, ribbon->columns + 1U, &taken[i]))
            continue;
        while (cuts[threshold] <= start % BLOOMERY_RIBBON_BUCKET)
            threshold++;
        for (size_t j = i + 1; j < to; j++) {
            const uint32_t other = bloomery_equation_start(keys[j].hi, ribbon);
            if (other % BLOOMERY_RIBBON_BUCKET < cuts[threshold] && taken[j] > 0)
                band[taken[j] - 1] = (struct bloomery_band){0, 0};
        }
    }
    return threshold;
}

static void is_solved_alike(uint64_t planned, size_t count, double rate)
{
    const struct bloomery_ribbon ribbon = bloomery_ribbon_for(planned, rate);
    struct bloomery_section section;
    size_t bumped = 0;
    assert_int_equal(ribbon.section_bits, 0);
    for (uint64_t i = 0; i < count; i++)
        keys[i] = (bloomery_hash){bloomery_mix64(2 * i + planned), bloomery_mix64(2 * i + 1)};
    bloomery_pairs_sort(keys, count, 0, 0);
    memcpy(solved, keys, count * sizeof *keys);
    void *memory = aligned_alloc(64, (bloomery_section_bytes(&ribbon) + 63) / 64 * 64);
    assert_non_null(memory);
    bloomery_section_start(&section, &ribbon, 0, memory);
    bloomery_section_solve(&section, 0, solved, count);

    memset(band, 0, sizeof band);
    memset(taken, 0, sizeof taken);
    for (size_t bucket = 0, from = 0, to = 0; bucket < bloomery_ribbon_buckets(&ribbon); bucket++) {
        while (to < count && bloomery_equation_start(keys[to].hi, &ribbon) / 128 == bucket)
            to++;
        const uint32_t threshold = solve_bucket(&ribbon, from, to);
        assert_int_equal(section.thresholds[bucket], threshold);
        for (; from < to; from++) {
            const uint32_t start = bloomery_equation_start(keys[from].hi, &ribbon);
            if (start % 128 < bloomery_ribbon_cut(threshold))
                assert_memory_equal(&keys[from], &solved[bumped++], sizeof *keys);
        }
    }
    assert_int_equal(section.bumped_count, bumped);
    assert_memory_equal(section.band, band, (ribbon.starts + 64U) * sizeof *band);
    free(memory);
}

static void two_keys_at_once_are_solved_as_one_after_the_other(void **state)
{
    static const uint64_t planned[] = {1, 30, 64, 1000, 5000, 100000};
    static const double rates[] = {0.6, 0.3, 0.01, 1e-9};
    (void)state;
    for (size_t i = 0; i < sizeof planned / sizeof planned[0]; i++)
        for (size_t j = 0; j < sizeof rates / sizeof rates[0]; j++) {
            is_solved_alike(planned[i], (size_t)planned[i], rates[j]);
            is_solved_alike(planned[i], (size_t)(planned[i] + planned[i] / 10), rates[j]);
            is_solved_alike(planned[i], (size_t)(2 * planned[i]), rates[j]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_keys_at_once_are_solved_as_one_after_the_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
