/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the derivation of positions (src/core/derive.h) give the rates of ideal random positions,
 * down to 1e-9, where asking random keys would take 1e11 queries?
 *
 * It does not have to be asked whole. The positions of a key are drawn in order, and a query is a
 * false positive if all hit. So the rate is a product:
 *
 *     P(all hit) = P(first word's positions hit) * P(second word's hit | first's did) * ...
 *
 * The first factor is common enough to be counted. For the second, keys are made whose first word
 * certainly hits: with w_0 = lo, positions are chosen among the set bits of the line and packed
 * into lo (the spare bit is random); what then follows is what the derivation makes of such a lo.
 * If it is as good as random, the second word hits as often as independent positions would, given
 * these lines. The same step serves for the third word. Every factor is measured with millions of
 * trials, against the exact value for these very bits, so each has an error of some thousandths.
 *
 *     derivation [trials per factor]        prints a table; exit 1 if a factor is off by over 5
 * sigma
 */
#include "core/derive.h"

#include <bloomery/bloomery.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BITS = 512, BLOCKS = 1 << 14, WORD = BLOOMERY_POSITIONS_PER_WORD };

static uint8_t lines[BLOCKS][LINE_BITS / 8];
static uint16_t set_bits[BLOCKS][LINE_BITS];
static unsigned set_count[BLOCKS];
static uint64_t random_state = 20260101;

static uint64_t random64(void)
{
    random_state += BLOOMERY_GOLDEN;
    return bloomery_mix64(random_state);
}

static bool hit(uint64_t block, uint32_t position)
{
    return lines[block][position >> 3] >> (position & 7) & 1;
}

/* Fills lines with keys 0..n-1 through the real hash, as a filter does. */
static void fill(uint64_t keys, uint32_t probes)
{
    bloomery_plan plan = {.kind = BLOOMERY_BLOCKED,
                          .bits = (uint64_t)BLOCKS * LINE_BITS,
                          .lines = 1,
                          .probes = probes};
    bloomery_filter *filter;
    if (bloomery_create(&plan, NULL, &filter, NULL) != BLOOMERY_OK)
        exit(2);
    memset(lines, 0, sizeof lines);
    for (uint64_t key = 0; key < keys; key++) {
        bloomery_hash hash;
        bloomery_hash_key(filter, bloomery_key_of(&key, sizeof key), &hash);
        struct bloomery_draw draw = bloomery_draw_start(hash);
        uint64_t block = bloomery_line_of(hash, 0, BLOCKS);
        for (uint32_t i = 0; i < probes; i++) {
            uint32_t position = bloomery_draw_next(&draw);
            lines[block][position >> 3] |= (uint8_t)(1u << (position & 7));
        }
    }
    bloomery_free(filter);
    for (unsigned block = 0; block < BLOCKS; block++) {
        set_count[block] = 0;
        for (unsigned i = 0; i < LINE_BITS; i++)
            if (hit(block, i))
                set_bits[block][set_count[block]++] = (uint16_t)i;
    }
}

/* A lo whose first word hits in this block. */
static uint64_t lo_that_hits(unsigned block)
{
    uint64_t lo = random64() & (uint64_t)1 << 63;
    for (unsigned i = 0; i < WORD; i++)
        lo |= (uint64_t)set_bits[block][random64() % set_count[block]]
              << (i * BLOOMERY_POSITION_BITS);
    return lo;
}

/* Of keys whose first word hits, how often do positions WORD .. WORD + probes - 1 hit too? */
static int measure_rest(const char *label, uint64_t keys, uint32_t probes, uint64_t trials)
{
    double expected = 0;
    uint64_t found = 0;
    fill(keys, WORD + probes);
    for (uint64_t trial = 0; trial < trials; trial++) {
        unsigned block = (unsigned)(trial % BLOCKS);
        if (set_count[block] == 0)
            continue;
        struct bloomery_draw draw =
            bloomery_draw_start((bloomery_hash){.lo = lo_that_hits(block), .hi = 0});
        for (unsigned i = 0; i < WORD; i++)
            bloomery_draw_next(&draw);
        bool all = true;
        for (unsigned i = 0; i < probes && all; i++)
            all = hit(block, bloomery_draw_next(&draw));
        found += all;
        expected += pow(set_count[block] / (double)LINE_BITS, probes);
    }
    double sigma = ((double)found - expected) / sqrt(expected);
    printf("%-44s %12.1f %12llu   %8.4f   %+5.1f\n", label, expected, (unsigned long long)found,
           (double)found / expected, sigma);
    return fabs(sigma) > 5;
}

/* Random hashes against a line fill: the first word. */
static int measure_first(const char *label, uint64_t keys, uint32_t probes, uint64_t trials)
{
    double expected = 0;
    uint64_t found = 0;
    fill(keys, probes);
    for (unsigned block = 0; block < BLOCKS; block++)
        expected += pow(set_count[block] / (double)LINE_BITS, probes) / BLOCKS;
    expected *= (double)trials;
    for (uint64_t trial = 0; trial < trials; trial++) {
        bloomery_hash hash = {.lo = random64(), .hi = random64()};
        struct bloomery_draw draw = bloomery_draw_start(hash);
        uint64_t block = bloomery_line_of(hash, 0, BLOCKS);
        bool all = true;
        for (unsigned i = 0; i < probes && all; i++)
            all = hit(block, bloomery_draw_next(&draw));
        found += all;
    }
    double sigma = ((double)found - expected) / sqrt(expected);
    printf("%-44s %12.1f %12llu   %8.4f   %+5.1f\n", label, expected, (unsigned long long)found,
           (double)found / expected, sigma);
    return fabs(sigma) > 5;
}

int main(int argc, char **argv)
{
    const uint64_t trials = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000000;
    int bad = 0;
    printf("%-44s %12s %12s   %8s   %5s\n", "factor of the rate", "expected", "found", "ratio",
           "sigma");
    /* bits per key of the plan's table: 9.92, 15.55, 22.03, 38.82, 80.18 */
    bad |= measure_first("p=1e-2 k=6: word 0", (uint64_t)(BLOCKS * 512 / 9.92), 6, trials);
    bad |= measure_first("p=1e-3 k=9: words 0 and 1", (uint64_t)(BLOCKS * 512 / 15.55), 9, trials);
    bad |=
        measure_first("p=1e-4 k=12: words 0 and 1", (uint64_t)(BLOCKS * 512 / 22.03), 12, trials);
    bad |= measure_rest("p=1e-4 k=12: rest of word 1, given word 0",
                        (uint64_t)(BLOCKS * 512 / 22.03), 5, trials);
    bad |= measure_first("p=1e-6 k=16: words 0 to 2", (uint64_t)(BLOCKS * 512 / 38.82), 16, trials);
    bad |= measure_rest("p=1e-6 k=16: words 1 and 2, given word 0",
                        (uint64_t)(BLOCKS * 512 / 38.82), 9, trials);
    /* 0.24^15 would take 1e10 trials; in half-full lines the same draws hit often enough to count.
     */
    bad |= measure_rest("k=22, lines half full: words 1 to 3", (uint64_t)(BLOCKS * 512 / 31.7), 15,
                        trials);
    return bad;
}
