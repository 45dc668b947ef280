/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the planner says of blocks of eight words, against blocks that are built bit by bit with the
 * real derivation (src/kinds/derive.h) and against sums of another kind; and what it says of
 * hashes.
 *
 * Seeds are fixed. Each simulated number is a mean over many filters and may be 4.5 of its standard
 * errors from what it should be: one in 150,000 passes that by accident, and there are some 250.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kinds/derive.h"
#include "plan/blocked_rate.h"
#include "plan/solve.h"

#include <bloomery/bloomery.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { WORDS = 8, WORD_BITS = 64, LINES_MAX = 16 };

/* ---- Filters bit by bit ---------------------------------------------------------------------- */

struct small {
    uint64_t blocks;
    uint32_t blocks_per_key;
    uint32_t probes;
    uint64_t word[LINES_MAX][WORDS];
};

static uint64_t drawn; /* the seed goes on from test to test */

static bloomery_hash draw(bool wide)
{
    drawn += 2 * BLOOMERY_GOLDEN;
    return (bloomery_hash){wide ? bloomery_mix64(drawn + BLOOMERY_GOLDEN) : 0,
                           bloomery_mix64(drawn)};
}

static void add(struct small *filter, bloomery_hash hash)
{
    for (uint32_t which = 0; which < filter->blocks_per_key; which++) {
        const struct bloomery_place place = bloomery_place_of(hash, which, filter->blocks);
        for (uint32_t probe = 0; probe < filter->probes; probe++) {
            const uint32_t position = bloomery_block_position(place.word, probe);
            filter->word[place.block][position / WORD_BITS] |= UINT64_C(1) << position % WORD_BITS;
        }
    }
}

static bool may_contain(const struct small *filter, bloomery_hash hash)
{
    for (uint32_t which = 0; which < filter->blocks_per_key; which++) {
        const struct bloomery_place place = bloomery_place_of(hash, which, filter->blocks);
        for (uint32_t probe = 0; probe < filter->probes; probe++) {
            const uint32_t position = bloomery_block_position(place.word, probe);
            if ((filter->word[place.block][position / WORD_BITS] >> position % WORD_BITS & 1) == 0)
                return false;
        }
    }
    return true;
}

/* Mean over blocks of the mean over windows of the shares of bits set, for each of a key's
 * blocks. */
static double live_rate(const struct small *filter)
{
    double sum = 0;
    for (uint64_t block = 0; block < filter->blocks; block++)
        for (uint32_t first = 0; first < WORDS; first++) {
            double product = 1;
            for (uint32_t i = 0; i < filter->probes; i++)
                product *= __builtin_popcountll(filter->word[block][(first + i) % WORDS]) /
                           (double)WORD_BITS;
            sum += product;
        }
    return pow(sum / WORDS / (double)filter->blocks, filter->blocks_per_key);
}

static uint64_t bits_set(const struct small *filter)
{
    uint64_t bits = 0;
    for (uint64_t block = 0; block < filter->blocks; block++)
        for (uint32_t word = 0; word < WORDS; word++)
            bits += (uint64_t)__builtin_popcountll(filter->word[block][word]);
    return bits;
}

/* ---- Rates ----------------------------------------------------------------------------------- */

static void judge_rate(uint64_t blocks, uint32_t blocks_per_key, uint32_t probes, uint64_t keys,
                       bool wide)
{
    enum { FILTERS = 2000 };
    const double planned = bloomery_blocked_rate(blocks, blocks_per_key, probes, keys);
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < FILTERS; i++) {
        struct small filter = {
            .blocks = blocks, .blocks_per_key = blocks_per_key, .probes = probes};
        for (uint64_t key = 0; key < keys; key++)
            add(&filter, draw(wide));
        const double live = live_rate(&filter);
        sum += live;
        squares += live * live;
    }
    const double mean = sum / FILTERS;
    const double error = sqrt((squares / FILTERS - mean * mean) / FILTERS);
    if (!(fabs(mean - planned) < 4.5 * error))
        fail_msg("N %llu, L %u, k %u, %llu keys: %.5g planned, %.5g +- %.2g built",
                 (unsigned long long)blocks, blocks_per_key, probes, (unsigned long long)keys,
                 planned, mean, error);
}

/* Blocks of a key coincide often here, and share the keys among few. */
static void planned_rate_is_that_of_filters_of_a_few_blocks(void **state)
{
    (void)state;
    static const uint64_t blocks[] = {1, 2, 3, 8};
    drawn = 1;
    for (size_t i = 0; i < COUNT(blocks); i++)
        for (uint32_t blocks_per_key = 1; blocks_per_key <= 4; blocks_per_key++)
            for (uint32_t probes = 1; probes <= 8; probes++) {
                const uint32_t load = probes < 3 ? 90 : 55 + 10 * (blocks_per_key % 2);
                const uint64_t keys = (load * blocks[i] + blocks_per_key - 1) / blocks_per_key;
                judge_rate(blocks[i], blocks_per_key, probes, keys, probes % 2 == 0);
            }
}

/* The live rate is the chance of a random absent key in these very bits, coincidences included. */
static void live_rate_is_how_often_absent_keys_pass(void **state)
{
    (void)state;
    enum { QUERIED = 400000 };
    static const struct small shapes[] = {
        {1, 2, 3, {{0}}}, {2, 3, 2, {{0}}}, {3, 4, 1, {{0}}}, {8, 1, 8, {{0}}}, {5, 2, 8, {{0}}}};
    drawn = 2;
    for (size_t i = 0; i < COUNT(shapes); i++) {
        struct small filter = shapes[i];
        for (uint64_t key = 0; key < 70 * filter.blocks / filter.blocks_per_key; key++)
            add(&filter, draw(false));
        const double live = live_rate(&filter);
        double passed = 0;
        for (int key = 0; key < QUERIED; key++)
            passed += may_contain(&filter, draw(false));
        const double error = sqrt(live * (1 - live) / QUERIED);
        if (!(fabs(passed / QUERIED - live) < 4.5 * error))
            fail_msg("shape %zu: %.5g of absent keys pass, %.5g by the bits", i, passed / QUERIED,
                     live);
    }
}

/* The chain over marked words, and inclusion and exclusion over them, are the same number; the
 * latter in double, so where chances are not small. */
static void ring_equals_inclusion_and_exclusion(void **state)
{
    (void)state;
    static struct bloomery_ring ring;
    for (uint32_t probes = 1; probes <= WORDS; probes++) {
        bloomery_ring_start(&ring, probes);
        for (int keys = 0; keys < 2000; keys++, bloomery_ring_step(&ring)) {
            const double stepped = bloomery_ring_chance(&ring);
            const double at_once = bloomery_ring_chance_at(&ring, keys);
            if (!(fabs(stepped - at_once) < 1e-12 && stepped >= 0 && stepped < 1 + 1e-12))
                fail_msg("k %u, %d keys: %.17g and %.17g", probes, keys, stepped, at_once);
        }
    }
}

/* Eight bits are in eight words that do not know of each other. */
static void eight_bits_are_eight_independent_words(void **state)
{
    (void)state;
    static struct bloomery_ring ring;
    bloomery_ring_start(&ring, WORDS);
    for (int keys = 0; keys < 300; keys++, bloomery_ring_step(&ring)) {
        const double wanted = pow(-expm1(keys * log1p(-1.0 / WORD_BITS)), WORDS);
        assert_true(fabs(bloomery_ring_chance(&ring) - wanted) <= 1e-12 * wanted);
    }
}

/* What eight bits and one bit in a block tested again have in common with arrays of cells. */
static double cells_moment(int cells, int throws, uint32_t order)
{
    double chance[513] = {1};
    double moment = 0;
    for (int t = 0; t < throws; t++) {
        for (int x = cells; x > 0; x--)
            chance[x] = chance[x] * x / cells + chance[x - 1] * (cells - x + 1) / cells;
        chance[0] = 0;
    }
    for (int x = 0; x <= cells; x++)
        moment += chance[x] * pow((double)x / cells, order);
    return moment;
}

static void blocks_tested_again_are_as_arrays_of_cells(void **state)
{
    (void)state;
    static const int loads[] = {1, 2, 3, 7, 8, 9, 13, 25, 50, 99, 201, 450, 1000, 1100};
    for (size_t i = 0; i < COUNT(loads); i++)
        for (uint32_t times = 2; times <= 4; times++) {
            const int load = loads[i];
            const double one =
                cells_moment(512, load, times) / pow(cells_moment(512, load, 1), times);
            const double eight =
                pow(cells_moment(64, load, times) / pow(cells_moment(64, load, 1), times), WORDS);
            assert_true(fabs(bloomery_coinciding(1, times, (uint64_t)load) / one - 1) < 3e-5);
            assert_true(fabs(bloomery_coinciding(8, times, (uint64_t)load) / eight - 1) < 3e-5);
        }
}

/* Neither the step from tables to formulas nor that from few blocks to many is seen in the rate. */
static void rates_do_not_jump_where_the_method_changes(void **state)
{
    (void)state;
    for (uint32_t blocks_per_key = 1; blocks_per_key <= 4; blocks_per_key++)
        for (uint32_t probes = 1; probes <= 8; probes++) {
            double before = 0;
            for (uint64_t keys = 900 / blocks_per_key; keys < 1200 / blocks_per_key; keys++) {
                const double rate = bloomery_blocked_rate(1, blocks_per_key, probes, keys);
                assert_true(rate >= before * (1 - 1e-5));
                before = rate;
            }
            before = 1;
            for (uint64_t blocks = 1016; blocks < 1034; blocks++) {
                const double rate =
                    bloomery_blocked_rate(blocks, blocks_per_key, probes, 20000 / blocks_per_key);
                assert_true(rate <= before * (1 + 1e-5));
                before = rate;
            }
        }
}

/* ---- Bits ------------------------------------------------------------------------------------ */

static void judge_estimate(uint64_t blocks, uint32_t blocks_per_key, uint32_t probes, uint64_t keys)
{
    enum { FILTERS = 4000 };
    const double n = (double)keys;
    const struct bloomery_overlap overlap = {.bits = blocks * 512,
                                             .blocks = blocks,
                                             .blocks_per_key = blocks_per_key,
                                             .probes = probes,
                                             .keys = {n, n},
                                             .union_keys = n,
                                             .common_keys = n};
    const double deviation = bloomery_overlap_deviation(&overlap);
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < FILTERS; i++) {
        struct small filter = {
            .blocks = blocks, .blocks_per_key = blocks_per_key, .probes = probes};
        for (uint64_t key = 0; key < keys; key++)
            add(&filter, draw(false));
        const double off = bloomery_blocked_estimate_keys(512 * blocks, blocks, blocks_per_key,
                                                          probes, bits_set(&filter)) -
                           n;
        sum += off;
        squares += off * off;
    }
    const double mean = sum / FILTERS;
    const double spread = sqrt(squares / FILTERS - mean * mean);
    /* The logarithm's curvature adds some hundredths of a key. 4.5 / sqrt(2 FILTERS) is 5 %. */
    if (!(fabs(mean) < 4.5 * spread / sqrt(FILTERS) + 0.15 && fabs(spread / deviation - 1) < 0.055))
        fail_msg("N %llu, L %u, k %u: off by %g, spread %g, derived %g", (unsigned long long)blocks,
                 blocks_per_key, probes, mean, spread, deviation);
}

static void estimated_keys_vary_as_derived(void **state)
{
    (void)state;
    drawn = 3;
    for (uint32_t probes = 1; probes <= 8; probes++) {
        judge_estimate(1, 1, probes, 300 / probes);
        judge_estimate(4, 2, probes, 600 / probes);
        judge_estimate(9, 1 + probes % 4, probes, 2400 / probes / (1 + probes % 4));
    }
}

static void full_filters_hold_any_number_of_keys(void **state)
{
    (void)state;
    assert_true(isinf(bloomery_blocked_estimate_keys(512, 1, 1, 8, 512)));
    assert_true(bloomery_blocked_estimate_keys(512, 1, 1, 8, 0) == 0);
    assert_true(fabs(bloomery_blocked_estimate_keys(512, 1, 1, 8, 8) - 1) < 1e-2);
    assert_true(bloomery_blocked_hit(1, 8) == 8 / 512.0);
}

/* ---- Hashes ---------------------------------------------------------------------------------- */

static bloomery_plan solved(bloomery_plan wish, bloomery_hash_id hash)
{
    bloomery_error error = {0};
    if (bloomery_solve(&wish, 0, 0, 0, hash, &error) != BLOOMERY_OK)
        fail_msg("%llu keys, rate %g: %s", (unsigned long long)wish.keys, wish.rate, error.text);
    return wish;
}

static void equal_hashes_are_part_of_the_rate(void **state)
{
    (void)state;
    static const bloomery_kind kinds[] = {BLOOMERY_BLOCKED, BLOOMERY_CLASSIC};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        const uint64_t keys = UINT64_C(1) << 40;
        const uint64_t bits = UINT64_C(1) << 46;
        const uint32_t blocks_per_key = kinds[i] == BLOOMERY_BLOCKED ? 4 : 0;
        const double wide =
            bloomery_geometry_rate(kinds[i], bits, blocks_per_key, 8, BLOOMERY_HASH_XXH3_128, keys);
        const double narrow =
            bloomery_geometry_rate(kinds[i], bits, blocks_per_key, 8, BLOOMERY_HASH_XXH3_64, keys);
        const double same = 0x1p-24;
        assert_true(fabs(narrow - (wide + same - wide * same)) < 1e-12 * narrow);
        assert_true(bloomery_geometry_rate(kinds[i], bits, blocks_per_key, 8, BLOOMERY_HASH_SIPHASH,
                                           keys) == wide);
        assert_true(bloomery_geometry_rate(kinds[i], bits, blocks_per_key, 8, BLOOMERY_HASH_DEFAULT,
                                           keys) == narrow);
        assert_true(bloomery_geometry_rate(kinds[i], bits, blocks_per_key, 8, BLOOMERY_HASH_XXH3_64,
                                           0) == 0);
    }
}

/* A billion keys have one hash of 64 bits in 2^64 / 1e9 = 1.8e10 times: 1 % of 5.4e-9. */
static void hash_is_chosen_by_its_part_of_the_rate(void **state)
{
    (void)state;
    const uint64_t billion = 1000000000;
    static const bloomery_kind kinds[] = {BLOOMERY_BLOCKED, BLOOMERY_CLASSIC, BLOOMERY_COUNTING};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        const bloomery_plan few = {.kind = kinds[i], .keys = billion, .rate = 5.5e-9};
        const bloomery_plan many = {.kind = kinds[i], .keys = billion, .rate = 5.3e-9};
        assert_int_equal(solved(few, 0).hash, BLOOMERY_HASH_XXH3_64);
        assert_int_equal(solved(many, 0).hash, BLOOMERY_HASH_XXH3_128);
        assert_int_equal(solved(few, BLOOMERY_HASH_XXH3_128).hash, BLOOMERY_HASH_XXH3_128);
        assert_int_equal(solved(many, BLOOMERY_HASH_XXH3_64).hash, BLOOMERY_HASH_XXH3_64);
        assert_int_equal(solved(few, BLOOMERY_HASH_SIPHASH).hash, BLOOMERY_HASH_SIPHASH);
        /* The same where the rate, or the keys, come out of the plan. */
        const bloomery_plan low = {
            .kind = kinds[i], .keys = billion, .bytes = solved(many, 0).planned_bytes * 11 / 10};
        const bloomery_plan high = {
            .kind = kinds[i], .keys = billion, .bytes = solved(few, 0).planned_bytes * 9 / 10};
        assert_int_equal(solved(low, 0).hash, BLOOMERY_HASH_XXH3_128);
        assert_int_equal(solved(high, 0).hash, BLOOMERY_HASH_XXH3_64);
        const bloomery_plan keys = {
            .kind = kinds[i], .rate = 5.3e-9, .bytes = solved(many, 0).planned_bytes * 11 / 10};
        assert_int_equal(solved(keys, 0).hash, BLOOMERY_HASH_XXH3_128);
    }
    assert_int_equal(bloomery_hash_for(billion, 0), BLOOMERY_HASH_XXH3_64);
}

/* Planned for 64 bits the filter makes up for them, where it can. */
static void rates_are_met_with_64_bits_of_hash(void **state)
{
    (void)state;
    for (double rate = 1e-7; rate > 6e-11; rate /= 2) {
        const bloomery_plan wish = {.kind = BLOOMERY_BLOCKED, .keys = 1000000000, .rate = rate};
        const bloomery_plan narrow = solved(wish, BLOOMERY_HASH_XXH3_64);
        const bloomery_plan wide = solved(wish, BLOOMERY_HASH_XXH3_128);
        assert_true(narrow.planned_rate <= rate &&
                    (double)narrow.planned_bytes * 1.02 >= (double)wide.planned_bytes);
        const double again =
            bloomery_geometry_rate(narrow.kind, narrow.bits, narrow.blocks_per_key, narrow.probes,
                                   BLOOMERY_HASH_XXH3_64, narrow.planned_keys);
        assert_true(fabs(narrow.planned_rate / again - 1) < 1e-9);
        assert_true(narrow.planned_rate > bloomery_hash_rate(BLOOMERY_HASH_XXH3_64, wish.keys));
    }
}

static void rates_below_that_of_the_hash_are_refused_with_a_way_out(void **state)
{
    (void)state;
    bloomery_error error = {0};
    bloomery_plan plan = {.kind = BLOOMERY_BLOCKED, .keys = 1000000000, .rate = 5e-11};
    const bloomery_plan before = plan;
    assert_int_equal(bloomery_solve(&plan, 0, 0, 0, BLOOMERY_HASH_XXH3_64, &error),
                     BLOOMERY_BAD_ARGUMENT);
    assert_memory_equal(&before, &plan, sizeof plan);
    assert_non_null(strstr(error.text, "XXH3-64"));
    assert_non_null(strstr(error.text, "XXH3-128"));
    assert_int_equal(bloomery_solve(&plan, 0, 0, 0, BLOOMERY_HASH_DEFAULT, &error), BLOOMERY_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planned_rate_is_that_of_filters_of_a_few_blocks),
        cmocka_unit_test(live_rate_is_how_often_absent_keys_pass),
        cmocka_unit_test(ring_equals_inclusion_and_exclusion),
        cmocka_unit_test(eight_bits_are_eight_independent_words),
        cmocka_unit_test(blocks_tested_again_are_as_arrays_of_cells),
        cmocka_unit_test(rates_do_not_jump_where_the_method_changes),
        cmocka_unit_test(estimated_keys_vary_as_derived),
        cmocka_unit_test(full_filters_hold_any_number_of_keys),
        cmocka_unit_test(equal_hashes_are_part_of_the_rate),
        cmocka_unit_test(hash_is_chosen_by_its_part_of_the_rate),
        cmocka_unit_test(rates_are_met_with_64_bits_of_hash),
        cmocka_unit_test(rates_below_that_of_the_hash_are_refused_with_a_way_out),
    };
    const char *pattern = getenv("BLOOMERY_TEST_FILTER");
    if (pattern != NULL && pattern[0] != '\0')
        cmocka_set_test_filter(pattern);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
