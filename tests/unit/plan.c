/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner against exact numbers and against its own promises.
 *
 * plan_reference.h holds rates computed with 160 digits by another method
 * (tests/reference/rates.py, which tests/reference/crosscheck.py proves in turn by enumeration and
 * by simulation). What the planner promises about sizes - the rate is met, and nothing smaller
 * would meet it - is checked here with bloomery_plan_rate, once the table has shown that to be
 * right.
 *
 * Needs the static library: one test looks at the factors of the occupancy recurrence.
 */
#define BLOOMERY_EXPERIMENTAL
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "plan/classic_rate.h"
#include "plan_reference.h"

#include <bloomery/bloomery.h>
#include <bloomery/experimental.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- Shapes and small helpers -----------------------------------------------------------------
 */

enum {
    BLOCK_BITS = 512,
    BLOCK_BYTES = 64,
    BLOCK_PROBES = 8,
    CLASSIC_PROBES = 64,
    FOLDING_FROM = 256,
    FOLDING_UNIT = 16
};

/* What eight bits in a block may cost over the best number of them. */
static const double fastest_probes_cost = 1.02;

/* What is wanted of the planner: a kind and, if blocked, a number of blocks. */
struct shape {
    bloomery_kind kind;
    uint32_t blocks_per_key;
};

static const struct shape shapes[] = {{BLOOMERY_BLOCKED, 1},
                                      {BLOOMERY_BLOCKED, 2},
                                      {BLOOMERY_BLOCKED, 3},
                                      {BLOOMERY_BLOCKED, 4},
                                      {BLOOMERY_CLASSIC, 0}};

static bloomery_plan_options options_for(const struct shape *shape)
{
    bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
    options.blocks_per_key = shape->blocks_per_key;
    return options;
}

/* Solves or ends the test with the planner's own words. */
static bloomery_plan solved(bloomery_plan wish, const bloomery_plan_options *options)
{
    bloomery_error error = {0};
    bloomery_status status = bloomery_plan_solve(&wish, options, &error);
    if (status != BLOOMERY_OK)
        fail_msg("kind %d, %llu keys, rate %g, %llu bytes: %s", (int)wish.kind,
                 (unsigned long long)wish.keys, wish.rate, (unsigned long long)wish.bytes,
                 error.text);
    return wish;
}

static bloomery_plan plan_for(const struct shape *shape, uint64_t keys, double rate)
{
    bloomery_plan_options options = options_for(shape);
    return solved((bloomery_plan){.kind = shape->kind, .keys = keys, .rate = rate}, &options);
}

/* The geometry of a plan, by hand, with a hash that adds nothing to the rate. */
static bloomery_plan geometry(bloomery_kind kind, uint64_t bits, uint32_t blocks_per_key,
                              uint32_t probes)
{
    return (bloomery_plan){.kind = kind,
                           .bits = bits,
                           .blocks_per_key = blocks_per_key,
                           .probes = probes,
                           .hash = BLOOMERY_HASH_XXH3_128};
}

static bool is_fastest(const bloomery_plan *plan)
{
    return plan->kind == BLOOMERY_BLOCKED && plan->blocks_per_key == 1 &&
           plan->probes == BLOCK_PROBES;
}

static void describe(const bloomery_plan *plan, char text[static 200])
{
    snprintf(text, 200, "kind %d, %llu keys, rate %.6g, %llu bits, L %u, k %u", (int)plan->kind,
             (unsigned long long)plan->planned_keys, plan->planned_rate,
             (unsigned long long)plan->bits, plan->blocks_per_key, plan->probes);
}

/* The least rate that `keys` keys can have in the plan's geometry with the number of bits changed,
 * over every number of probes that could be it. */
static double best_rate(const bloomery_plan *plan, uint64_t bits, uint64_t keys)
{
    const uint32_t most = plan->blocks_per_key > 0 ? BLOCK_PROBES : CLASSIC_PROBES;
    const uint32_t first = plan->blocks_per_key > 0 ? 1 : plan->probes / 2 + 1;
    double best = 1;
    for (uint32_t probes = first; probes <= plan->probes + 6 && probes <= most; probes++) {
        bloomery_plan other = geometry(plan->kind, bits, plan->blocks_per_key, probes);
        other.hash = plan->hash;
        best = fmin(best, bloomery_plan_rate(&other, keys));
    }
    return best;
}

/* ---- Rates ------------------------------------------------------------------------------------
 */

/* docs/mathematics.md says where the planner leaves the exact sum, and how far it then goes astray.
 */
static double tolerance(const struct plan_reference_row *row)
{
    if (row->kind == BLOOMERY_CLASSIC)
        return row->size <= 4096 ? 1e-6 : 1e-3;
    return row->blocks_per_key == 1 ? 1e-11 : 5e-5;
}

static void plan_rate_equals_exact_sum(void **state)
{
    (void)state;
    assert_true(COUNT(plan_reference) >= 150);
    for (size_t i = 0; i < COUNT(plan_reference); i++) {
        const struct plan_reference_row *row = &plan_reference[i];
        uint64_t bits = row->kind == BLOOMERY_BLOCKED ? row->size * BLOCK_BITS : row->size;
        bloomery_plan plan = geometry(row->kind, bits, row->blocks_per_key, row->probes);
        double rate = bloomery_plan_rate(&plan, row->keys);
        if (!(fabs(rate - row->rate) <= tolerance(row) * row->rate))
            fail_msg("kind %d, size %llu, L %u, k %u, %llu keys: %.9e, exactly %.9e",
                     (int)row->kind, (unsigned long long)row->size, row->blocks_per_key,
                     row->probes, (unsigned long long)row->keys, rate, row->rate);
    }
}

static void plan_rate_of_no_keys_is_zero_and_of_no_plan_one(void **state)
{
    (void)state;
    const bloomery_plan good[] = {geometry(BLOOMERY_BLOCKED, 5120, 2, 4),
                                  geometry(BLOOMERY_KIND_DEFAULT, 512, 1, 6),
                                  geometry(BLOOMERY_CLASSIC, 1001, 0, 7)};
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_true(bloomery_plan_rate(&good[i], 0) == 0);
        assert_true(bloomery_plan_rate(&good[i], 1) > 0);
    }
    const bloomery_plan none[] = {{.kind = BLOOMERY_BLOCKED},
                                  geometry(BLOOMERY_BLOCKED, 5120, 0, 4),
                                  geometry(BLOOMERY_BLOCKED, 5120, 5, 4),
                                  geometry(BLOOMERY_BLOCKED, 5120, 1, 0),
                                  geometry(BLOOMERY_BLOCKED, 5120, 1, 9),
                                  geometry(BLOOMERY_BLOCKED, 5121, 1, 4),
                                  geometry(BLOOMERY_CLASSIC, 0, 0, 7),
                                  geometry(BLOOMERY_CLASSIC, 1000, 0, 0),
                                  geometry(BLOOMERY_CLASSIC, 1000, 0, 65),
                                  geometry((bloomery_kind)5, 1024, 1, 4),
                                  geometry((bloomery_kind)99, 1024, 1, 4)};
    for (size_t i = 0; i < COUNT(none); i++)
        assert_true(bloomery_plan_rate(&none[i], 10) == 1);
}

/* From an empty filter to one that says yes to everything, and quickly even there. */
static void plan_rate_rises_with_keys_to_one(void **state)
{
    (void)state;
    const uint64_t blocks[] = {1, 2, 5, 64, 256, 1024, 1025, 100000};
    for (size_t i = 0; i < COUNT(blocks) * COUNT(shapes); i++) {
        const struct shape *shape = &shapes[i % COUNT(shapes)];
        uint64_t units = blocks[i / COUNT(shapes)];
        bloomery_plan plan = geometry(shape->kind, units * BLOCK_BITS, shape->blocks_per_key, 3);
        double before = 0;
        for (uint64_t keys = 1; keys <= 4096 * units; keys = keys * 3 + 1) {
            clock_t start = clock();
            double rate = bloomery_plan_rate(&plan, keys);
            double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
            if (!(rate >= before * (1 - 1e-9) && rate <= 1 && rate > 0 && seconds < 1))
                fail_msg("%llu units, L %u, %llu keys: rate %.12g after %.12g, %.1f s",
                         (unsigned long long)units, shape->blocks_per_key, (unsigned long long)keys,
                         rate, before, seconds);
            before = rate;
        }
        assert_true(before > 0.999);
    }
}

/* Probes beyond what pays make the rate worse, in filters of a few bits too. */
static void plan_rate_is_a_chance_for_every_geometry(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1, 2, 7, 8, 9, 31, 63, 64, 65, 511, 4096, 4097, UINT64_C(1) << 50};
    for (size_t i = 0; i < COUNT(sizes); i++)
        for (uint32_t probes = 1; probes <= 64; probes++) {
            bloomery_plan plan = geometry(BLOOMERY_CLASSIC, sizes[i], 0, probes);
            for (uint64_t keys = 1; keys < 1000; keys = keys * 4 + 1) {
                double rate = bloomery_plan_rate(&plan, keys);
                if (!(rate >= 0 && rate <= 1))
                    fail_msg("%llu bits, k %u, %llu keys: %g", (unsigned long long)sizes[i], probes,
                             (unsigned long long)keys, rate);
            }
        }
}

/* No factor is negative: it is why the recurrence loses no precision (mathematics.md, section 3).
 */
static void occupancy_never_subtracts(void **state)
{
    (void)state;
    static struct bloomery_occupancy occupancy;
    const double cells[] = {64, 65, 100, 512, 4096, 1e9};
    for (size_t i = 0; i < COUNT(cells); i++) {
        bloomery_occupancy_start(&occupancy, cells[i], BLOOMERY_MOMENTS_MAX);
        for (size_t f = 0; f < COUNT(occupancy.step); f++)
            assert_true(occupancy.step[f] >= 0);
    }
}

/* The moments from the distribution of X itself, one throw at a time. */
static void occupancy_equals_distribution(void **state)
{
    (void)state;
    enum { CELLS = 512, THROWS = 700 };
    static struct bloomery_occupancy occupancy;
    static long double chance[CELLS + 2];
    memset(chance, 0, sizeof chance);
    chance[0] = 1;
    bloomery_occupancy_start(&occupancy, CELLS, BLOOMERY_MOMENTS_MAX);
    for (int t = 1; t <= THROWS; t++) {
        for (int x = CELLS; x > 0; x--)
            chance[x] = chance[x] * x / CELLS + chance[x - 1] * (CELLS - x + 1) / CELLS;
        chance[0] = 0;
        bloomery_occupancy_throw(&occupancy, 1);
        if (t % 70 != 0 && t > 8)
            continue;
        for (unsigned k = 1; k <= BLOOMERY_MOMENTS_MAX; k++) {
            long double moment = 0;
            for (int x = 1; x <= CELLS; x++)
                moment += chance[x] * powl((long double)x / CELLS, k);
            double off = occupancy.moment[k] / (double)moment - 1;
            if (!(fabs(off) < 1e-11))
                fail_msg("moment %u after %d throws is off by %g", k, t, off);
        }
    }
}

/* ---- Solving for the size ---------------------------------------------------------------------
 */

static void check_fields(const bloomery_plan *plan)
{
    char text[200];
    describe(plan, text);
    bool blocked = plan->kind == BLOOMERY_BLOCKED;
    double again = bloomery_plan_rate(plan, plan->planned_keys);
    double limit = (double)plan->bits / ((double)plan->planned_keys * -log2(plan->planned_rate));
    uint32_t most = blocked ? plan->blocks_per_key : plan->probes;
    if (plan->bits % BLOCK_BITS != 0 || plan->bits != plan->planned_bytes * 8)
        fail_msg("bits and bytes differ: %s, %llu bytes", text,
                 (unsigned long long)plan->planned_bytes);
    if (blocked && plan->bits / BLOCK_BITS >= FOLDING_FROM &&
        plan->bits / BLOCK_BITS % FOLDING_UNIT != 0)
        fail_msg("does not fold: %s", text);
    if (!(fabs(plan->planned_rate / again - 1) < 1e-9))
        fail_msg("the rate is not that of the plan (%.9g): %s", again, text);
    if (!(fabs(plan->bits_per_key * (double)plan->planned_keys / (double)plan->bits - 1) < 1e-12))
        fail_msg("%g bits per key: %s", plan->bits_per_key, text);
    if (!(fabs(plan->limit_ratio / limit - 1) < 1e-9 && limit >= 1))
        fail_msg("%g times the information limit: %s", plan->limit_ratio, text);
    const double rounding = 1e-9;
    if (!(plan->absent_cache_lines >= 1 - rounding && plan->absent_cache_lines <= most + rounding &&
          plan->present_cache_lines >= 1 - rounding &&
          plan->present_cache_lines <= most + rounding))
        fail_msg("%g cache lines absent, %g present: %s", plan->absent_cache_lines,
                 plan->present_cache_lines, text);
}

/* The next smaller size that the planner could have built. */
static uint64_t smaller(const bloomery_plan *plan)
{
    uint64_t units = plan->bits / BLOCK_BITS;
    uint64_t step = plan->kind == BLOOMERY_BLOCKED && units > FOLDING_FROM ? FOLDING_UNIT : 1;
    return (units - step) * BLOCK_BITS;
}

/* Where eight bits in a block were taken: no size would do that is smaller than they may cost. Else
 * eight bits would have cost more. */
static void check_size(const bloomery_plan *plan, double rate)
{
    char text[200];
    describe(plan, text);
    if (plan->bits > BLOCK_BITS) {
        bloomery_plan least = *plan;
        if (is_fastest(plan)) {
            uint64_t units = (uint64_t)ceil((double)plan->bits / BLOCK_BITS / fastest_probes_cost);
            while (units >= FOLDING_FROM && units % FOLDING_UNIT != 0)
                units++;
            least.bits = units * BLOCK_BITS;
        }
        const uint64_t bits = smaller(&least);
        if (bits > 0 && best_rate(plan, bits, plan->planned_keys) <= rate)
            fail_msg("a smaller filter would do for %g: %s", rate, text);
    }
    if (plan->kind != BLOOMERY_BLOCKED || plan->blocks_per_key != 1 || is_fastest(plan))
        return;
    const uint64_t units = plan->bits / BLOCK_BITS;
    uint64_t most = (uint64_t)((double)units * fastest_probes_cost);
    most -= most % (most >= FOLDING_FROM ? FOLDING_UNIT : 1);
    bloomery_plan fastest =
        geometry(plan->kind, most * BLOCK_BITS, plan->blocks_per_key, BLOCK_PROBES);
    fastest.hash = plan->hash;
    if (bloomery_plan_rate(&fastest, plan->planned_keys) <= rate)
        fail_msg("eight bits would cost little for %g: %s", rate, text);
}

static void solved_size_is_the_smallest_that_meets_the_rate(void **state)
{
    (void)state;
    const double rates[] = {0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9, 1e-12};
    const uint64_t keys[] = {1, 2, 10, 100, 2000, 100000, 20000000, UINT64_C(10000000000)};
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (size_t i = 0; i < COUNT(keys) * COUNT(rates); i++) {
            double rate = rates[i % COUNT(rates)];
            bloomery_plan plan = plan_for(&shapes[s], keys[i / COUNT(rates)], rate);
            char text[200];
            describe(&plan, text);
            assert_int_equal(plan.kind, shapes[s].kind);
            assert_int_equal(plan.blocks_per_key, shapes[s].blocks_per_key);
            check_fields(&plan);
            if (plan.planned_rate > rate)
                fail_msg("wanted %g: %s", rate, text);
            check_size(&plan, rate);
        }
}

/* Of the probes that meet the rate in the size built, the fewest are taken, or eight in a block. */
static void solved_probes_are_the_fewest(void **state)
{
    (void)state;
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (double rate = 0.3; rate > 1e-10; rate /= 20) {
            bloomery_plan plan = plan_for(&shapes[s], 5000, rate);
            if (plan.probes == 1 || is_fastest(&plan))
                continue;
            bloomery_plan fewer = plan;
            fewer.probes--;
            assert_true(bloomery_plan_rate(&fewer, plan.planned_keys) > rate);
        }
}

/* The least bits per key that any number of probes needs, and that number. */
static double least_bits_per_key(const struct shape *shape, double rate, uint32_t *best)
{
    double least = INFINITY;
    for (uint32_t probes = 1; probes <= (shape->blocks_per_key > 0 ? BLOCK_PROBES : 33); probes++) {
        bloomery_plan_options options = options_for(shape);
        options.probes = probes;
        options.hash = BLOOMERY_HASH_XXH3_128;
        bloomery_plan plan = {.kind = shape->kind, .keys = 100000000, .rate = rate};
        if (bloomery_plan_solve(&plan, &options, NULL) == BLOOMERY_OK &&
            plan.bits_per_key < least * (1 - 1e-6)) {
            least = plan.bits_per_key;
            *best = plan.probes;
        }
    }
    return least;
}

/* The table of docs/mathematics.md, section 6: bits per key for many keys, and k. */
static void bits_per_key_are_those_of_the_table(void **state)
{
    (void)state;
    static const struct {
        double rate;
        double bits[5]; /* L = 1, 2, 3, 4, classic */
        uint32_t probes[5];
    } table[] = {
        {1e-1, {4.86, 4.86, 4.81, 4.84, 4.81}, {3, 2, 1, 1, 3}},
        {1e-2, {9.93, 9.71, 9.66, 9.71, 9.59}, {6, 3, 2, 2, 7}},
        {1e-3, {15.72, 14.66, 14.57, 14.62, 14.38}, {8, 5, 3, 3, 10}},
        {1e-4, {23.61, 19.87, 19.54, 19.43, 19.17}, {8, 6, 4, 3, 13}},
        {1e-6, {51.87, 31.45, 29.80, 29.32, 28.76}, {8, 8, 6, 5, 20}},
        {1e-9, {186.77, 57.51, 47.17, 45.12, 43.13}, {8, 8, 8, 7, 30}},
        {1e-12, {984.98, 103.74, 70.82, 62.90, 0}, {8, 8, 8, 8, 0}},
    };
    for (size_t i = 0; i < COUNT(table) * COUNT(shapes); i++) {
        const struct shape *shape = &shapes[i % COUNT(shapes)];
        const double rate = table[i / COUNT(shapes)].rate;
        const double wanted = table[i / COUNT(shapes)].bits[i % COUNT(shapes)];
        const uint32_t probes = table[i / COUNT(shapes)].probes[i % COUNT(shapes)];
        uint32_t best = 0;
        if (wanted == 0)
            continue;
        const double least = least_bits_per_key(shape, rate, &best);
        if (!(fabs(least / wanted - 1) < 0.0015) || best != probes)
            fail_msg("kind %d, L %u, rate %g: %.3f bits a key with k %u, not %.2f with %u",
                     (int)shape->kind, shape->blocks_per_key, rate, least, best, wanted, probes);
        const bloomery_plan plan = plan_for(shape, 100000000, rate);
        if (!(plan.bits_per_key <= least * 1.0001 * fastest_probes_cost))
            fail_msg("L %u, rate %g: %.3f bits a key", shape->blocks_per_key, rate,
                     plan.bits_per_key);
    }
}

/* L = 1 while within 10 % of classic at the same rate, else the least L that is, else the cheapest.
 */
static void blocks_per_key_are_chosen_by_memory(void **state)
{
    (void)state;
    const struct {
        double rate;
        uint32_t blocks_per_key;
    } table[] = {{0.5, 1},  {1e-2, 1}, {1e-3, 1}, {1e-4, 2},  {1e-6, 2},
                 {1e-7, 3}, {1e-8, 3}, {1e-9, 3}, {1e-12, 4}, {1e-15, 4}};
    for (size_t i = 0; i < COUNT(table); i++) {
        bloomery_plan plan =
            solved((bloomery_plan){.keys = 100000000, .rate = table[i].rate}, NULL);
        assert_int_equal(plan.kind, BLOOMERY_KIND_DEFAULT); /* as the caller set it */
        if (plan.blocks_per_key != table[i].blocks_per_key)
            fail_msg("rate %g: L %u, not %u", table[i].rate, plan.blocks_per_key,
                     table[i].blocks_per_key);
    }
    /* Tiny filters are one block whatever L is; the least L is then the cheapest. */
    bloomery_plan tiny = solved((bloomery_plan){.keys = 3, .rate = 1e-2}, NULL);
    assert_int_equal(tiny.blocks_per_key, 1);
    assert_int_equal(tiny.bits, BLOCK_BITS);
}

static void more_keys_never_take_fewer_bytes(void **state)
{
    (void)state;
    for (size_t s = 0; s < COUNT(shapes); s++) {
        uint64_t before = 0;
        for (uint64_t keys = 1; keys < 40000; keys += 1 + keys / 5) {
            bloomery_plan plan = plan_for(&shapes[s], keys, 5e-3);
            if (plan.planned_bytes < before)
                fail_msg("L %u, %llu keys: %llu bytes after %llu", shapes[s].blocks_per_key,
                         (unsigned long long)keys, (unsigned long long)plan.planned_bytes,
                         (unsigned long long)before);
            before = plan.planned_bytes;
        }
    }
}

static void lower_rates_never_take_fewer_bytes(void **state)
{
    (void)state;
    for (size_t s = 0; s < COUNT(shapes); s++) {
        uint64_t before = 0;
        for (double rate = 0.9; rate > 1e-9; rate *= 0.5) {
            bloomery_plan plan = plan_for(&shapes[s], 3000000, rate);
            assert_true(plan.planned_bytes >= before);
            before = plan.planned_bytes;
        }
    }
}

/* ---- The other two kinds of plan ------------------------------------------------------------ */

static void bytes_give_back_the_rate(void **state)
{
    (void)state;
    const uint64_t keys[] = {1, 40, 3000, 1000000, UINT64_C(5000000000)};
    const double rates[] = {0.2, 1e-2, 1e-5, 1e-9};
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (size_t i = 0; i < COUNT(keys) * COUNT(rates); i++) {
            bloomery_plan_options options = options_for(&shapes[s]);
            bloomery_plan plan =
                plan_for(&shapes[s], keys[i / COUNT(rates)], rates[i % COUNT(rates)]);
            bloomery_plan back = solved((bloomery_plan){.kind = plan.kind,
                                                        .keys = plan.planned_keys,
                                                        .bytes = plan.planned_bytes},
                                        &options);
            char text[200];
            describe(&back, text);
            check_fields(&back);
            /* Eight bits in a block may cost as much as 2 % more keys. */
            double more = is_fastest(&back) ? fastest_probes_cost : 1;
            double worst =
                best_rate(&back, back.bits, (uint64_t)((double)back.planned_keys * more));
            if (back.planned_bytes != plan.planned_bytes ||
                back.planned_rate > fmax(plan.planned_rate, worst))
                fail_msg("from %llu bytes at %g: %s", (unsigned long long)plan.planned_bytes,
                         plan.planned_rate, text);
            /* No other number of probes does better, as far as rates can be told apart. */
            if (worst > 1e-15 && worst < back.planned_rate * (1 - 1e-9))
                fail_msg("%g is possible: %s", worst, text);
        }
}

static void bytes_give_back_the_keys(void **state)
{
    (void)state;
    const uint64_t keys[] = {1, 40, 3000, 1000000, UINT64_C(5000000000)};
    const double rates[] = {0.2, 1e-2, 1e-5, 1e-9};
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (size_t i = 0; i < COUNT(keys) * COUNT(rates); i++) {
            bloomery_plan_options options = options_for(&shapes[s]);
            double rate = rates[i % COUNT(rates)];
            bloomery_plan plan = plan_for(&shapes[s], keys[i / COUNT(rates)], rate);
            bloomery_plan back = solved(
                (bloomery_plan){.kind = plan.kind, .rate = rate, .bytes = plan.planned_bytes},
                &options);
            char text[200];
            describe(&back, text);
            check_fields(&back);
            /* Eight bits in a block may cost 2 % of the keys. */
            double most = (double)back.planned_keys * (is_fastest(&back) ? fastest_probes_cost : 1);
            if (back.planned_bytes != plan.planned_bytes || most < (double)plan.planned_keys ||
                back.planned_rate > rate)
                fail_msg("from %llu bytes at %g: %s", (unsigned long long)plan.planned_bytes, rate,
                         text);
            if (best_rate(&back, back.bits, (uint64_t)most + 1) <= rate)
                fail_msg("one key more would fit at %g: %s", rate, text);
        }
}

/* Bytes that are not a multiple of a block, or of the folding unit, are not all used, and never
 * exceeded. */
static void odd_bytes_are_rounded_down(void **state)
{
    (void)state;
    for (uint64_t bytes = 64; bytes < 40000; bytes = bytes * 5 / 4 + 7)
        for (size_t s = 0; s < COUNT(shapes); s++) {
            bloomery_plan_options options = options_for(&shapes[s]);
            bloomery_plan plan = solved(
                (bloomery_plan){.kind = shapes[s].kind, .rate = 0.01, .bytes = bytes}, &options);
            uint64_t unit = plan.kind == BLOOMERY_BLOCKED && bytes / BLOCK_BYTES >= FOLDING_FROM
                                ? FOLDING_UNIT * BLOCK_BYTES
                                : BLOCK_BYTES;
            assert_true(plan.planned_bytes <= bytes);
            assert_true(bytes - plan.planned_bytes < unit);
            check_fields(&plan);
        }
}

/* Memory and files come in units of 64 bytes, whatever the kind; less is refused. */
static void classic_plans_are_whole_blocks(void **state)
{
    (void)state;
    for (uint64_t keys = 1; keys < 100000; keys = keys * 3 + 1) {
        bloomery_plan plan = plan_for(&shapes[COUNT(shapes) - 1], keys, 0.02);
        assert_true(plan.bits % BLOCK_BITS == 0);
        assert_true(plan.planned_bytes * 8 == plan.bits);
    }
    bloomery_plan least = {.kind = BLOOMERY_CLASSIC, .keys = 2, .bytes = BLOCK_BYTES};
    assert_int_equal(solved(least, NULL).bits, BLOCK_BITS);
    least.bytes--;
    assert_int_equal(bloomery_plan_solve(&least, NULL, NULL), BLOOMERY_BAD_ARGUMENT);
}

/* ---- Options ----------------------------------------------------------------------------------
 */

static void folds_give_multiples(void **state)
{
    (void)state;
    const uint64_t keys[] = {1, 1000, 1000000};
    for (uint32_t folds = 0; folds <= 20; folds++)
        for (size_t i = 0; i < COUNT(keys); i++) {
            bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
            options.folds = folds;
            bloomery_plan plan = solved((bloomery_plan){.keys = keys[i], .rate = 0.01}, &options);
            uint64_t units = plan.bits / BLOCK_BITS;
            uint64_t unit = UINT64_C(1) << folds;
            assert_true(units % unit == 0);
            assert_true(units < FOLDING_FROM || units % FOLDING_UNIT == 0);
            assert_true(plan.planned_rate <= 0.01);
            /* Rounding adds less than one unit. */
            bloomery_plan_options plain = BLOOMERY_PLAN_OPTIONS;
            plain.blocks_per_key = plan.blocks_per_key;
            bloomery_plan least = solved((bloomery_plan){.keys = keys[i], .rate = 0.01}, &plain);
            assert_true(units < least.bits / BLOCK_BITS + unit + FOLDING_UNIT);
        }
}

static void wanted_blocks_and_probes_are_kept(void **state)
{
    (void)state;
    for (size_t s = 0; s < COUNT(shapes); s++)
        for (uint32_t probes = 2; probes <= (shapes[s].blocks_per_key > 0 ? BLOCK_PROBES : 20);
             probes += 3) {
            bloomery_plan_options options = options_for(&shapes[s]);
            options.probes = probes;
            const bloomery_plan wishes[] = {
                {.kind = shapes[s].kind, .keys = 5000, .rate = 1e-3},
                {.kind = shapes[s].kind, .keys = 5000, .bytes = 20000},
                {.kind = shapes[s].kind, .rate = 1e-3, .bytes = 20000},
            };
            for (size_t i = 0; i < COUNT(wishes); i++) {
                bloomery_plan plan = solved(wishes[i], &options);
                assert_int_equal(plan.blocks_per_key, shapes[s].blocks_per_key);
                assert_int_equal(plan.probes, probes);
                assert_true(wishes[i].rate == 0 || plan.planned_rate <= wishes[i].rate);
                check_fields(&plan);
            }
        }
}

/* Without a hash in the options the plan chooses one; a secret key means SipHash. A chain takes the
 * hash that will do after ten doublings, and all its layers have it. */
static void plans_tell_the_hash_they_are_made_for(void **state)
{
    (void)state;
    const bloomery_plan many = {.keys = 1000000000, .rate = 1e-9};
    const bloomery_plan few = {.keys = 1000000000, .rate = 1e-2};
    bloomery_plan_options keyed = BLOOMERY_PLAN_OPTIONS;
    bloomery_plan_options forced = BLOOMERY_PLAN_OPTIONS;
    keyed.hash = BLOOMERY_HASH_SIPHASH;
    forced.hash = BLOOMERY_HASH_XXH3_128;
    assert_int_equal(solved(few, NULL).hash, BLOOMERY_HASH_XXH3_64);
    assert_int_equal(solved(many, NULL).hash, BLOOMERY_HASH_XXH3_128);
    assert_int_equal(solved(few, &keyed).hash, BLOOMERY_HASH_SIPHASH);
    assert_int_equal(solved(few, &forced).hash, BLOOMERY_HASH_XXH3_128);
    for (double rate = 1e-1; rate > 1e-12; rate /= 1000) {
        bloomery_plan chain =
            solved((bloomery_plan){.kind = BLOOMERY_SCALABLE, .keys = 1000000, .rate = rate}, NULL);
        const double then = rate / 4 * pow(0.75, 10);
        const bool enough = 0x1p10 * 1e6 / 0x1p64 <= 0.01 * then;
        bloomery_plan layer = BLOOMERY_PLAN;
        assert_int_equal(chain.hash, enough ? BLOOMERY_HASH_XXH3_64 : BLOOMERY_HASH_XXH3_128);
        for (uint32_t i = 0; i < 24; i += 11) {
            assert_int_equal(bloomery_plan_layer(&chain, i, &layer, NULL), BLOOMERY_OK);
            assert_int_equal(layer.hash, chain.hash);
        }
    }
}

/* A scalable filter is compared with the least for its rate, not for that of its first layer. */
static void the_limit_of_a_scalable_filter_is_that_of_its_rate(void **state)
{
    (void)state;
    for (double rate = 0.5; rate > 1e-12; rate /= 7) {
        const bloomery_plan chain =
            solved((bloomery_plan){.kind = BLOOMERY_SCALABLE, .keys = 1000000, .rate = rate}, NULL);
        const double limit = 8.0 * (double)chain.planned_bytes / (1e6 * -log2(rate));
        assert_true(fabs(chain.limit_ratio / limit - 1) < 1e-9);
        assert_true(chain.planned_rate <= rate && chain.planned_rate >= rate);
    }
}

/* ---- What is refused --------------------------------------------------------------------------
 */

static void assert_refused(bloomery_plan wish, const bloomery_plan_options *options,
                           const char *what)
{
    bloomery_plan before;
    memcpy(&before, &wish, sizeof before);
    bloomery_error error;
    memset(&error, 'x', sizeof error);
    bloomery_status status = bloomery_plan_solve(&wish, options, &error);
    if (status != BLOOMERY_BAD_ARGUMENT)
        fail_msg("%s: status %d", what, (int)status);
    if (memcmp(&before, &wish, sizeof before) != 0)
        fail_msg("%s: the plan changed", what);
    assert_int_equal(error.status, BLOOMERY_BAD_ARGUMENT);
    assert_non_null(memchr(error.text, '\0', sizeof error.text));
    assert_true(strlen(error.text) > 10 && error.text[strlen(error.text) - 1] != '\n');
    /* The error may be left out. */
    assert_int_equal(bloomery_plan_solve(&wish, options, NULL), BLOOMERY_BAD_ARGUMENT);
}

static void bad_numbers_are_refused_and_leave_the_plan_alone(void **state)
{
    (void)state;
    const uint64_t max_keys = UINT64_C(1) << 48;
    const struct {
        const char *what;
        bloomery_plan wish;
    } table[] = {
        {"nothing", {.keys = 0}},
        {"keys alone", {.keys = 10}},
        {"bytes alone", {.bytes = 4096}},
        {"all three", {.keys = 10, .rate = 0.01, .bytes = 4096}},
        {"a rate of 1", {.keys = 10, .rate = 1}},
        {"a rate of 2", {.keys = 10, .rate = 2}},
        {"a negative rate", {.keys = 10, .rate = -0.01}},
        {"a tiny rate", {.keys = 10, .rate = 0.99e-15}},
        {"a denormal rate", {.keys = 10, .rate = DBL_TRUE_MIN}},
        {"a rate that is not a number", {.keys = 10, .rate = (double)NAN}},
        {"an endless rate", {.keys = 10, .rate = (double)INFINITY}},
        {"too many keys", {.keys = max_keys + 1, .rate = 0.01}},
        {"all keys", {.keys = UINT64_MAX, .rate = 0.01}},
        {"too many bytes", {.keys = 10, .bytes = (UINT64_C(1) << 47) + 1}},
        {"all bytes", {.rate = 0.01, .bytes = UINT64_MAX}},
        {"less than a block", {.keys = 1, .bytes = 63}},
        {"too many bits", {.keys = max_keys, .rate = 1e-15}},
        {"too little memory", {.keys = 1000000000, .bytes = 10}},
        {"too little memory still", {.keys = 1000000000, .bytes = 18000000}},
        {"less than a classic unit", {.rate = 0.1, .bytes = 63, .kind = BLOOMERY_CLASSIC}},
    };
    for (size_t i = 0; i < COUNT(table); i++)
        assert_refused(table[i].wish, NULL, table[i].what);
}

static void bad_options_are_refused_and_leave_the_plan_alone(void **state)
{
    (void)state;
    const struct {
        const char *what;
        bloomery_kind kind;
        uint32_t blocks_per_key, probes, folds;
    } table[] = {
        {"five blocks", BLOOMERY_BLOCKED, 5, 0, 0},
        {"a wealth of blocks", BLOOMERY_BLOCKED, UINT32_MAX, 8, 0},
        {"blocks of a classic filter", BLOOMERY_CLASSIC, 1, 0, 0},
        {"65 probes", BLOOMERY_CLASSIC, 0, 65, 0},
        {"nine probes in a block", BLOOMERY_BLOCKED, 1, 9, 0},
        {"nine probes in a block of counters", BLOOMERY_COUNTING, 1, 9, 0},
        {"nine probes in a block of a chain", BLOOMERY_SCALABLE, 0, 9, 0},
        {"a wealth of probes", BLOOMERY_BLOCKED, 3, UINT32_MAX, 0},
        {"31 folds", BLOOMERY_BLOCKED, 0, 0, 31},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
        options.blocks_per_key = table[i].blocks_per_key;
        options.probes = table[i].probes;
        options.folds = table[i].folds;
        assert_refused((bloomery_plan){.kind = table[i].kind, .keys = 1000, .rate = 0.01}, &options,
                       table[i].what);
    }
}

/* Unknown kinds are refused too, whatever the status says. */
static void other_kinds_are_refused(void **state)
{
    (void)state;
    const int kinds[] = {-1, 7, 8, 255};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        bloomery_plan plan = {.kind = (bloomery_kind)kinds[i], .keys = 100, .rate = 0.01};
        bloomery_plan before;
        memcpy(&before, &plan, sizeof before);
        assert_true(bloomery_plan_solve(&plan, NULL, NULL) < 0);
        assert_memory_equal(&before, &plan, sizeof before);
    }
}

/* "10 bytes for a billion keys" is answered with what would fit, and an error only then written. */
static void refusals_say_what_would_do(void **state)
{
    (void)state;
    bloomery_error error = {0};
    bloomery_plan plan = {.keys = 1000000000, .bytes = 18000000};
    assert_int_equal(bloomery_plan_solve(&plan, NULL, &error), BLOOMERY_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "GiB")); /* what 1 in 100 would take */
    assert_non_null(strstr(error.text, "%"));   /* the rate that these bytes give */
    memset(&error, 'x', sizeof error);
    plan = (bloomery_plan){.keys = 1000, .rate = 0.01};
    assert_int_equal(bloomery_plan_solve(&plan, NULL, &error), BLOOMERY_OK);
    assert_int_equal(error.text[0], 'x');
}

/* A rate is printed with its size, however small it is: digits cut off would make it another
 * one. */
static void the_smallest_rates_are_printed_whole(void **state)
{
    (void)state;
    for (double rate = 0.09; rate > 1e-300; rate /= 7) {
        struct bloomery_phrase phrase;
        double odds = 0;
        assert_int_equal(sscanf(bloomery_phrase_rate(&phrase, rate), "1 in %lf", &odds), 1);
        assert_true(fabs(odds * rate - 1) < 0.05);
    }
    struct bloomery_phrase least;
    assert_null(strstr(bloomery_phrase_rate(&least, 5e-324), "inf"));
}

static void the_ends_of_the_ranges_are_solved(void **state)
{
    (void)state;
    const uint64_t max_keys = UINT64_C(1) << 48;
    const bloomery_plan wishes[] = {
        {.keys = max_keys, .rate = 0.5},
        {.keys = 1, .rate = 1e-15},
        {.keys = 1, .rate = 0.999999},
        {.keys = 1, .bytes = 64},
        {.keys = 1, .bytes = UINT64_C(1) << 47},
        {.rate = 1e-15, .bytes = 64},
        {.rate = 0.5, .bytes = UINT64_C(1) << 47},
    };
    for (size_t i = 0; i < COUNT(wishes); i++) {
        bloomery_plan plan = solved(wishes[i], NULL);
        assert_true(plan.planned_keys >= 1 && plan.planned_keys <= max_keys && plan.probes >= 1);
        assert_true(wishes[i].rate == 0 || plan.planned_rate <= wishes[i].rate);
        assert_true(wishes[i].bytes == 0 || plan.planned_bytes <= wishes[i].bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_rate_equals_exact_sum),
        cmocka_unit_test(plan_rate_of_no_keys_is_zero_and_of_no_plan_one),
        cmocka_unit_test(plan_rate_rises_with_keys_to_one),
        cmocka_unit_test(plan_rate_is_a_chance_for_every_geometry),
        cmocka_unit_test(occupancy_never_subtracts),
        cmocka_unit_test(occupancy_equals_distribution),
        cmocka_unit_test(solved_size_is_the_smallest_that_meets_the_rate),
        cmocka_unit_test(solved_probes_are_the_fewest),
        cmocka_unit_test(bits_per_key_are_those_of_the_table),
        cmocka_unit_test(blocks_per_key_are_chosen_by_memory),
        cmocka_unit_test(more_keys_never_take_fewer_bytes),
        cmocka_unit_test(lower_rates_never_take_fewer_bytes),
        cmocka_unit_test(bytes_give_back_the_rate),
        cmocka_unit_test(bytes_give_back_the_keys),
        cmocka_unit_test(odd_bytes_are_rounded_down),
        cmocka_unit_test(classic_plans_are_whole_blocks),
        cmocka_unit_test(folds_give_multiples),
        cmocka_unit_test(wanted_blocks_and_probes_are_kept),
        cmocka_unit_test(plans_tell_the_hash_they_are_made_for),
        cmocka_unit_test(the_limit_of_a_scalable_filter_is_that_of_its_rate),
        cmocka_unit_test(bad_numbers_are_refused_and_leave_the_plan_alone),
        cmocka_unit_test(bad_options_are_refused_and_leave_the_plan_alone),
        cmocka_unit_test(other_kinds_are_refused),
        cmocka_unit_test(refusals_say_what_would_do),
        cmocka_unit_test(the_smallest_rates_are_printed_whole),
        cmocka_unit_test(the_ends_of_the_ranges_are_solved),
    };
    const char *pattern = getenv("BLOOMERY_TEST_FILTER");
    if (pattern != NULL && pattern[0] != '\0')
        cmocka_set_test_filter(pattern);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
