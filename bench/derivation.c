/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does what a filter makes of its keys (XXH3 of 64 bits, then src/kinds/derive.h) give the rates of
 * ideal random positions? Three questions, all counted, none timed.
 *
 * 1. Is the plan's rate the one of ideal positions? Filters are filled with random positions, made
 *    by nothing but a generator, and the rate of their very bits is computed. Mean and spread of
 *    those.
 *
 * 2. Are ours as good, whatever the keys? Filters of sixteen families of keys in five shapes are
 *    filled and queried for absent keys of the same family through the public functions. Found over
 *    what ideal positions would have found; one standard error is that of counting and that of the
 *    spread between filters.
 *
 * 3. In a filter of 2^b blocks all keys of a block have the first b bits of their hash in common,
 * and
 *    the bits of the block are made of the same hash. Blocks get keys whose first 20, 24,
 *    28 and 32 bits are held fixed, and queried for others of the same first bits; beside them
 *    ideal blocks.
 *
 *     derivation [questions per cell]     20 million, of a filter of a twentieth as many keys. Exit
 *                                         1 if anything is off by over 5 standard errors
 */
#include "derivation_keys.h"

#include "kinds/derive.h"

#include <bloomery/bloomery.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPES = 5, IDEALS = 24, CHUNK = 4096, LINE_QUESTIONS = 10000 };

static const double too_far = 5;

struct shape {
    uint32_t lines;
    uint32_t probes;
    double rate;
    /* Of ideal filters of that shape: */
    double mean;
    double deviation; /* of a single one */
    bloomery_plan plan;
};

struct sample {
    double sum;
    double squares;
    uint64_t count;
};

static void note(struct sample *sample, double value)
{
    sample->sum += value;
    sample->squares += value * value;
    sample->count++;
}

static double mean_of(const struct sample *sample)
{
    return sample->sum / (double)sample->count;
}

static double variance_of(const struct sample *sample)
{
    const double count = (double)sample->count;
    const double mean = sample->sum / count;
    return fmax(0, (sample->squares - count * mean * mean) / (count - 1));
}

static uint64_t random_state = 20260101;

static uint64_t random64(void)
{
    random_state += BLOOMERY_GOLDEN;
    return bloomery_mix64(random_state);
}

/* ---- Lines ---------------------------------------------------------------------------------- */

typedef uint64_t line[BLOOMERY_BLOCK_WORDS];

/* One bit in each of `probes` words, one behind the other, as `w` has it. */
static void set(uint64_t *words, uint64_t w, uint32_t probes)
{
    for (uint32_t i = 0; i < probes; i++) {
        const uint32_t position = bloomery_block_position(w, i);
        words[position / BLOOMERY_WORD_BITS] |= (uint64_t)1 << position % BLOOMERY_WORD_BITS;
    }
}

static bool hits(const uint64_t *words, uint64_t w, uint32_t probes)
{
    for (uint32_t i = 0; i < probes; i++) {
        const uint32_t position = bloomery_block_position(w, i);
        if ((words[position / BLOOMERY_WORD_BITS] >> position % BLOOMERY_WORD_BITS & 1) == 0)
            return false;
    }
    return true;
}

/* How often ideal positions hit these very bits: any first word, any bits. */
static double chance(const uint64_t *words, uint32_t probes)
{
    double full[BLOOMERY_BLOCK_WORDS];
    double sum = 0;
    for (int i = 0; i < BLOOMERY_BLOCK_WORDS; i++)
        full[i] = __builtin_popcountll(words[i]) / (double)BLOOMERY_WORD_BITS;
    for (uint32_t first = 0; first < BLOOMERY_BLOCK_WORDS; first++) {
        double product = 1;
        for (uint32_t i = 0; i < probes; i++)
            product *= full[(first + i) % BLOOMERY_BLOCK_WORDS];
        sum += product;
    }
    return sum / BLOOMERY_BLOCK_WORDS;
}

/* ---- Ideal filters -------------------------------------------------------------------------- */

/* Lines of one key that coincide are one in N pairs, which is far below every error here. */
static double ideal_rate(const struct shape *shape, uint64_t keys, line *lines)
{
    const uint64_t blocks = shape->plan.bits / (BLOOMERY_BLOCK_WORDS * BLOOMERY_WORD_BITS);
    double sum = 0;
    memset(lines, 0, blocks * sizeof *lines);
    for (uint64_t i = 0; i < keys * shape->lines; i++) {
        const uint64_t at = bloomery_fastrange(random64(), blocks);
        set(lines[at], random64(), shape->probes);
    }
    for (uint64_t i = 0; i < blocks; i++)
        sum += chance(lines[i], shape->probes);
    return pow(sum / (double)blocks, shape->lines);
}

/* Plans a shape and finds out what ideal positions make of it. */
static bool plan_shape(struct shape *shape, uint64_t keys)
{
    bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
    bloomery_error error;
    struct sample sample = {0};
    options.blocks_per_key = shape->lines;
    options.probes = shape->probes;
    shape->plan = (bloomery_plan){.keys = keys, .rate = shape->rate};
    if (bloomery_plan_solve(&shape->plan, &options, &error) != BLOOMERY_OK) {
        fprintf(stderr, "derivation: %s\n", error.text);
        exit(2);
    }
    line *lines = malloc(shape->plan.planned_bytes);
    if (lines == NULL)
        exit(2);
    for (int i = 0; i < IDEALS; i++)
        note(&sample, ideal_rate(shape, keys, lines));
    free(lines);
    shape->mean = mean_of(&sample);
    shape->deviation = sqrt(variance_of(&sample));
    const double sigma =
        (shape->plan.planned_rate - shape->mean) / (shape->deviation / sqrt(IDEALS));
    printf("L = %u, k = %u: planned %.6e, ideal positions %.6e, ratio %.4f (%+.1f)\n", shape->lines,
           shape->probes, shape->plan.planned_rate, shape->mean,
           shape->plan.planned_rate / shape->mean, sigma);
    return fabs(sigma) <= too_far;
}

/* ---- Families of keys ----------------------------------------------------------------------- */

/* Adds or looks up keys number `first` to `first + count - 1`; how many were found. */
static uint64_t run_family(bloomery_filter *filter, const struct family *family, uint64_t first,
                           uint64_t count, bool adding)
{
    static uint8_t bytes[CHUNK][FAMILY_KEY_MAX];
    static bloomery_key list[CHUNK];
    uint64_t found = 0;
    for (uint64_t done = 0; done < count; done += CHUNK) {
        const size_t now = count - done < CHUNK ? (size_t)(count - done) : CHUNK;
        for (size_t i = 0; i < now; i++)
            list[i] = bloomery_key_of(bytes[i], family->make(first + done + i, bytes[i]));
        const bloomery_keys keys = bloomery_keys_of_list(list, now);
        bloomery_counts counts;
        if ((adding ? bloomery_add_keys(filter, &keys, NULL, &counts, NULL)
                    : bloomery_may_contain_keys(filter, &keys, NULL, &counts, NULL)) != BLOOMERY_OK)
            exit(2);
        found += adding ? 0 : counts.positive;
    }
    return found;
}

static bool measure_cell(const struct shape *shape, const struct family *family, uint64_t keys,
                         uint64_t queries)
{
    const double expected = shape->mean * (double)queries;
    const double spread = shape->deviation * (double)queries;
    bloomery_filter *filter;
    if (bloomery_create(&shape->plan, NULL, &filter, NULL) != BLOOMERY_OK)
        exit(2);
    run_family(filter, family, 0, keys, true);
    const uint64_t found = run_family(filter, family, keys, queries, false);
    bloomery_free(filter);
    const double sigma =
        ((double)found - expected) / sqrt(expected + spread * spread * (1 + 1.0 / IDEALS));
    printf(" %8.4f (%+.1f)", (double)found / expected, sigma);
    fflush(stdout);
    return fabs(sigma) <= too_far;
}

static bool measure_families(const struct shape *shapes, uint64_t keys, uint64_t queries)
{
    bool good = true;
    printf("\nfound over expected (standard errors), %" PRIu64 " keys, %" PRIu64
           " queries each\n%-16s",
           keys, queries, "keys");
    for (int i = 0; i < SHAPES; i++)
        printf("    L = %u, k = %u ", shapes[i].lines, shapes[i].probes);
    putchar('\n');
    for (int i = 0; i < FAMILIES; i++) {
        printf("%-16s", families[i].name);
        for (int j = 0; j < SHAPES; j++)
            good = measure_cell(&shapes[j], &families[i], keys, queries) && good;
        putchar('\n');
    }
    return good;
}

/* ---- First bits held fixed ------------------------------------------------------------------ */

/* The number that says which bits of a block, of a random hash whose first `held` bits are
 * given. */
static uint64_t word_of(uint64_t first_bits, unsigned held)
{
    const uint64_t hi = first_bits << (64 - held) | random64() >> held;
    return bloomery_place_of((bloomery_hash){.lo = 0, .hi = hi}, 0, 1).word;
}

static bool measure_held(unsigned held, uint32_t probes, uint32_t load, uint64_t questions)
{
    struct sample ideal = {0};
    struct sample ours = {0};
    for (uint64_t i = 0; i < questions / LINE_QUESTIONS + 2; i++) {
        line words = {0};
        uint64_t found = 0;
        const uint64_t first_bits = random64() >> (64 - held);
        for (uint32_t key = 0; key < load; key++)
            set(words, word_of(first_bits, held), probes);
        for (uint32_t queried = 0; queried < LINE_QUESTIONS; queried++)
            found += hits(words, word_of(first_bits, held), probes);
        note(&ours, (double)found / LINE_QUESTIONS);
        for (int more = 0; more < 10; more++) { /* without questions they cost little */
            memset(words, 0, sizeof words);
            for (uint32_t key = 0; key < load; key++)
                set(words, random64(), probes);
            note(&ideal, chance(words, probes));
        }
    }
    const double error =
        sqrt(variance_of(&ours) / (double)ours.count + variance_of(&ideal) / (double)ideal.count);
    const double sigma = (mean_of(&ours) - mean_of(&ideal)) / error;
    printf("%-5u %-3u %-5u %-10" PRIu64 " %.4e  %8.4f (%+.1f)\n", held, probes, load,
           ours.count * LINE_QUESTIONS, mean_of(&ideal), mean_of(&ours) / mean_of(&ideal), sigma);
    return fabs(sigma) <= too_far;
}

int main(int argc, char **argv)
{
    static struct shape shapes[SHAPES] = {
        {.lines = 1, .probes = 6, .rate = 1e-2}, {.lines = 1, .probes = 8, .rate = 1e-3},
        {.lines = 2, .probes = 6, .rate = 1e-3}, {.lines = 3, .probes = 4, .rate = 1e-3},
        {.lines = 4, .probes = 3, .rate = 1e-3},
    };
    const uint64_t queries = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000000;
    const uint64_t keys = queries / 20;
    bool good = true;
    if (keys < 1000) {
        fprintf(stderr, "derivation: at least 20000 queries\n");
        return 2;
    }
    for (int i = 0; i < SHAPES; i++)
        good = plan_shape(&shapes[i], keys) && good;
    good = measure_families(shapes, keys, queries) && good;
    printf("\nfirst bits of the hash held fixed: found over expected (standard errors)\n"
           "held  k   keys    queries  expected      ratio\n");
    /* The mean loads of L = 1 at 1e-2 with k = 6, and at 1e-3 with k = 8. */
    for (unsigned held = 20; held <= 32; held += 4) {
        good = measure_held(held, 6, 52, 3 * queries) && good;
        good = measure_held(held, 8, 33, 3 * queries) && good;
    }
    puts(good ? "\nall within 5 standard errors" : "\nNOT all within 5 standard errors");
    return good ? 0 : 1;
}
