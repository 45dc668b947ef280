/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Near-duplicates: signatures are those of a plain model whatever the form of the words, equal
 * values are as many as the Jaccard similarity says, documents are found as often as the plan's
 * curve says, short ones take about the time of long ones, and plans refuse what they cannot do.
 *
 * The curve is of independent places. Pairs of sets of 300 and more elements are within 1 % of it.
 *
 * Build: this file, ../support/support.c; cmocka, the library, libxxhash. Suite: property.
 */
#include "../support/bounds.h"
#include "../support/support.h"

#include <bloomery/near.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define RISK 1e-9

static bloomery_filter *hasher;

static int set_up(void **state)
{
    (void)state;
    hasher = bloomery_new(0, 0.5, NULL);
    return hasher == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    bloomery_free(hasher);
    return 0;
}

static bloomery_near planned(bloomery_near wanted)
{
    bloomery_error error;
    if (bloomery_near_plan(&wanted, &error) != BLOOMERY_OK)
        fail_msg("%s", error.text);
    return wanted;
}

static bloomery_near of_threshold(double threshold)
{
    return planned((bloomery_near){.threshold = threshold});
}

/* ---- Signatures ------------------------------------------------------------------------------ */

static const uint64_t multiplier = 0x9e3779b97f4a7c15U;

static uint64_t mixed(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
}

/* A sum of the words, each times a power. */
static uint64_t shingle_of(const uint64_t *words, size_t length)
{
    uint64_t sum = 0, power = 1;
    for (size_t i = length; i-- > 0; power *= multiplier)
        sum += words[i] * power;
    return mixed(sum);
}

static uint64_t number_of(uint32_t place, uint32_t step)
{
    return mixed((((uint64_t)place + 1) << 32 | step) * multiplier);
}

/* The full place that an empty one takes its value of: 32 draws, then the least rank of all. */
static uint32_t first_full(uint32_t place, uint32_t values, const bool *empty)
{
    uint32_t first = UINT32_MAX;
    for (uint32_t draw = 0; draw < 32; draw++) {
        const uint64_t number = number_of(place, draw / 4) >> 16 * (draw % 4) & 0xffff;
        if (!empty[number * values >> 16])
            return (uint32_t)(number * values >> 16);
    }
    for (uint32_t other = 0; other < values; other++)
        if (!empty[other] &&
            (first == UINT32_MAX || number_of(place, 8 + other) < number_of(place, 8 + first)))
            first = other;
    return first;
}

/* The model: all shingles' hashes, the least of each place by a search over all of them. */
static void model(const bloomery_near *near, const uint64_t *words, size_t count,
                  uint32_t *signature)
{
    static uint64_t shingles[5000];
    const size_t length = count < near->words ? count : near->words;
    const size_t all = count > 0 ? count - length + 1 : 0;
    bool empty[BLOOMERY_NEAR_VALUES_MAX];
    for (size_t i = 0; i < all; i++)
        shingles[i] = shingle_of(words + i, length);
    for (uint32_t place = 0; place < near->values; place++) {
        uint64_t least = UINT64_MAX;
        for (size_t i = 0; i < all; i++)
            if ((shingles[i] >> 32) * near->values >> 32 == place && shingles[i] < least)
                least = shingles[i];
        empty[place] = least == UINT64_MAX;
        signature[place] = (uint32_t)least;
    }
    for (uint32_t place = 0; count > 0 && place < near->values; place++)
        if (empty[place])
            signature[place] = signature[first_full(place, near->values, empty)];
}

/* Some word: few different ones, so that shingles repeat. */
static bloomery_key word_of(uint64_t seed, uint64_t number, char text[24])
{
    uint64_t state = seed + number;
    const uint64_t word = test_below(&state, 400);
    return bloomery_key_of(text, (size_t)snprintf(text, 24, "%.*s%llu", (int)(word % 9),
                                                  "lettersss", (unsigned long long)word));
}

static void signatures_are_those_of_the_model_in_any_form(void **state)
{
    static const size_t counts[] = {0,  1,  2,   3,    4,    5,    6,    7,    11,   40,
                                    63, 64, 130, 1000, 1023, 1024, 1025, 1029, 2048, 5000};
    static char texts[5000][24], joined[5000 * 24];
    static bloomery_key list[5000];
    static bloomery_hash hashes[5000];
    static uint64_t narrow[5000];
    static int64_t offsets[5001];
    static uint32_t expected[BLOOMERY_NEAR_VALUES_MAX], found[BLOOMERY_NEAR_VALUES_MAX];
    (void)state;
    for (size_t i = 0; i < 5000; i++) {
        list[i] = word_of(77, i, texts[i]);
        memcpy(joined + offsets[i], texts[i], list[i].bytes);
        offsets[i + 1] = offsets[i] + (int64_t)list[i].bytes;
        narrow[i] = XXH3_64bits(texts[i], list[i].bytes);
        hashes[i] = (bloomery_hash){0, narrow[i]};
    }
    for (unsigned shape = 0; shape < 6; shape++) {
        const bloomery_near near =
            planned((bloomery_near){.threshold = 0.7,
                                    .permutations = (uint32_t[]){0, 1, 7, 100, 256, 1024}[shape],
                                    .shingle = (uint32_t[]){0, 1, 2, 3, 13, 64}[shape]});
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            const size_t count = counts[c];
            bloomery_keys wide = bloomery_keys_of_hashes(hashes, count);
            bloomery_keys all[] = {bloomery_keys_of_list(list, count),
                                   bloomery_keys_of_strings(joined, offsets, count), wide, wide};
            all[3].form = BLOOMERY_KEYS_HASHES64;
            all[3].data = narrow;
            if (count > 2000 && near.values > 256)
                continue; /* the model takes as long as values times words */
            model(&near, narrow, count, expected);
            for (size_t f = 0; f < 4; f++) {
                memset(found, 0x5a, sizeof found);
                assert_int_equal(bloomery_signature_of(&near, hasher, &all[f], found, NULL),
                                 BLOOMERY_OK);
                assert_memory_equal(found, expected, near.values * sizeof found[0]);
            }
        }
    }
}

static void words_that_do_not_exist_are_passed_over(void **state)
{
    static bloomery_key list[300], there[300];
    static char texts[300][24];
    uint8_t valid[40] = {0};
    size_t count = 0;
    uint32_t with[128], without[128];
    const bloomery_near near = of_threshold(0.8);
    (void)state;
    for (size_t i = 0; i < 300; i++) {
        list[i] = word_of(5, i, texts[i]);
        if (i % 3 == 0 || i > 200) {
            valid[i / 8] |= (uint8_t)(1 << i % 8);
            there[count++] = list[i];
        }
    }
    bloomery_keys some = bloomery_keys_of_list(list, 300),
                  all = bloomery_keys_of_list(there, count);
    some.valid = valid;
    assert_int_equal(bloomery_signature_of(&near, hasher, &some, with, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_signature_of(&near, hasher, &all, without, NULL), BLOOMERY_OK);
    assert_memory_equal(with, without, sizeof with);
}

static void repeated_shingles_make_no_difference(void **state)
{
    static uint64_t words[40000];
    uint32_t once[128], often[128];
    const bloomery_near near = planned((bloomery_near){.threshold = 0.8, .shingle = 1});
    (void)state;
    for (size_t i = 0; i < 40000; i++)
        words[i] = test_mix(i % 90);
    bloomery_keys keys = bloomery_keys_of_hashes(NULL, 90);
    keys.form = BLOOMERY_KEYS_HASHES64;
    keys.data = words;
    assert_int_equal(bloomery_signature_of(&near, hasher, &keys, once, NULL), BLOOMERY_OK);
    keys.count = 40000;
    assert_int_equal(bloomery_signature_of(&near, hasher, &keys, often, NULL), BLOOMERY_OK);
    assert_memory_equal(once, often, sizeof once);
}

static void a_secret_makes_signatures_of_its_own(void **state)
{
    uint8_t secret[BLOOMERY_SECRET_BYTES] = {1};
    const bloomery_plan plan = {.rate = 0.5};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_filter *keyed = NULL, *seeded = NULL;
    bloomery_key list[64];
    char texts[64][24];
    uint32_t open[128], secretly[128], otherwise[128];
    const bloomery_near near = of_threshold(0.8);
    (void)state;
    if (!test_keyed())
        skip();
    for (size_t i = 0; i < 64; i++)
        list[i] = word_of(8, i, texts[i]);
    const bloomery_keys words = bloomery_keys_of_list(list, 64);
    options.secret = secret;
    assert_int_equal(bloomery_create(&plan, &options, &keyed, NULL), BLOOMERY_OK);
    options.secret = NULL;
    options.seed = 9;
    assert_int_equal(bloomery_create(&plan, &options, &seeded, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_signature_of(&near, hasher, &words, open, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_signature_of(&near, keyed, &words, secretly, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_signature_of(&near, seeded, &words, otherwise, NULL), BLOOMERY_OK);
    size_t same = 0;
    for (size_t i = 0; i < 128; i++)
        same += open[i] == secretly[i] || open[i] == otherwise[i];
    assert_int_equal(same, 0);
    bloomery_free(keyed);
    bloomery_free(seeded);
}

/* ---- How often documents are found ----------------------------------------------------------- */

struct pairs {
    double similarity; /* of the pairs as they were made */
    double equal;      /* values, of all pairs */
    double found;      /* pairs with a band in common */
    uint64_t trials;
};

/* Pairs of sets of `size` elements each with this similarity, or next to it. */
static struct pairs make_pairs(const bloomery_near *near, size_t size, double similarity,
                               uint64_t trials, uint64_t seed)
{
    static uint64_t one[4096], other[4096];
    static uint8_t bands[2][8192];
    uint32_t signatures[2][BLOOMERY_NEAR_VALUES_MAX];
    const size_t common = (size_t)lround(2 * (double)size * similarity / (1 + similarity));
    struct pairs pairs = {.similarity = (double)common / (double)(2 * size - common),
                          .trials = trials};
    bloomery_keys keys = bloomery_keys_of_hashes(NULL, size);
    keys.form = BLOOMERY_KEYS_HASHES64;
    assert_true(bloomery_bands_bytes(near) <= sizeof bands[0]);
    for (uint64_t trial = 0; trial < trials; trial++) {
        for (size_t i = 0; i < size; i++) {
            one[i] = test_next(&seed);
            other[i] = i < common ? one[i] : test_next(&seed);
        }
        for (unsigned d = 0; d < 2; d++) {
            keys.data = d == 0 ? one : other;
            assert_int_equal(bloomery_signature_of(near, hasher, &keys, signatures[d], NULL), 0);
            bloomery_bands_of(near, signatures[d], bands[d]);
        }
        for (uint32_t i = 0; i < near->values; i++)
            pairs.equal += signatures[0][i] == signatures[1][i];
        const size_t width = 4 * (1 + (size_t)near->rows);
        bool found = false;
        for (uint32_t band = 0; band < near->bands; band++)
            found = found || memcmp(bands[0] + band * width, bands[1] + band * width, width) == 0;
        pairs.found += found;
    }
    return pairs;
}

static void equal_values_are_as_many_as_the_similarity_says(void **state)
{
    const bloomery_near near = planned((bloomery_near){.threshold = 0.8, .shingle = 1});
    (void)state;
    static const size_t sizes[] = {1, 3, 10, 60, 200, 1500};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (unsigned s = 0; s <= 10; s += 2) {
            const uint64_t trials = 400;
            const struct pairs pairs = make_pairs(&near, sizes[i], s / 10.0, trials, 100 * i + s);
            /* A value's deviation is at most 1/2. Those of a pair hang together where it is small;
             * the mean of all hangs on the pairs. */
            const double mean = pairs.equal / (double)(trials * near.values);
            const double bound = 6 * 0.5 / sqrt((double)trials * fmin((double)sizes[i], 60));
            if (fabs(mean - pairs.similarity) > bound)
                fail_msg("sets of %zu with similarity %.3f: %.3f equal values", sizes[i],
                         pairs.similarity, mean);
        }
}

static void documents_are_found_as_often_as_the_curve_says(void **state)
{
    static const double similarities[] = {0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95};
    const uint64_t trials = test_long() ? 40000 : 6000;
    bloomery_near near = planned((bloomery_near){.threshold = 0.8, .shingle = 1});
    (void)state;
    assert_int_equal(near.bands, 11);
    assert_int_equal(near.rows, 11);
    near.key_rate = 0; /* bands are compared, and not looked up */
    for (size_t i = 0; i < sizeof similarities / sizeof similarities[0]; i++) {
        const struct pairs pairs = make_pairs(&near, 300, similarities[i], trials, 7 + i);
        const double expected = bloomery_near_rate(&near, pairs.similarity);
        if (test_rate_at_least(pairs.found, (double)trials, RISK) > expected + 0.01 ||
            test_rate_at_most(pairs.found, (double)trials, RISK) < expected - 0.01)
            fail_msg("similarity %.3f: %.4f found where %.4f were expected", pairs.similarity,
                     pairs.found / (double)trials, expected);
    }
}

static void bands_are_keys_of_their_number_and_values(void **state)
{
    const bloomery_near near = planned(
        (bloomery_near){.threshold = 0.8, .permutations = 8, .forced_bands = 2, .forced_rows = 3});
    const uint32_t signature[8] = {0x01020304, 5, 6, 7, 8, 0xfffffffe, 9, 10};
    static const uint8_t expected[32] = {0, 0, 0, 0, 4, 3, 2,    1,    5,    0,   0,
                                         0, 6, 0, 0, 0, 1, 0,    0,    0,    7,   0,
                                         0, 0, 8, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff};
    uint8_t room[32];
    (void)state;
    assert_int_equal(bloomery_bands_bytes(&near), sizeof room);
    const bloomery_keys keys = bloomery_bands_of(&near, signature, room);
    assert_memory_equal(room, expected, sizeof room);
    assert_int_equal(keys.form, BLOOMERY_KEYS_FIXED);
    assert_int_equal(keys.count, 2);
    assert_int_equal(keys.width, 16);
    assert_ptr_equal(keys.data, room);
}

/* ---- Plans ----------------------------------------------------------------------------------- */

static void a_thousand_million_documents_take_at_most_60_gigabytes(void **state)
{
    (void)state;
    const bloomery_near near =
        planned((bloomery_near){.threshold = 0.8, .documents = 1000000000, .rate = 1e-5});
    assert_int_equal(near.keys, near.documents * near.bands);
    assert_true(near.bytes > (uint64_t)30e9 && near.bytes <= (uint64_t)60e9);
    bloomery_plan plan = {.keys = near.keys, .rate = near.key_rate};
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    assert_int_equal(plan.planned_bytes, near.bytes);
    assert_true(fabs(bloomery_near_rate(&near, 0) - 1e-5) < 1e-12);
    assert_true(bloomery_near_rate(&near, 0.9) >= 0.97);
    assert_true(bloomery_near_rate(&near, 0.5) <= 0.01);
}

/* The error of a plan by a finer sum than that of the library. */
static double error_of(const bloomery_near *near, double threshold, double miss_weight)
{
    double error = 0;
    const unsigned steps = 2000;
    for (unsigned i = 0; i < steps; i++) {
        const double s = (i + 0.5) / steps;
        const double found = 1 - pow(1 - pow(s, near->rows), near->bands);
        error += s < threshold ? (1 - miss_weight) * found : miss_weight * (1 - found);
    }
    return error / steps;
}

static void bands_and_rows_have_the_least_weighted_error(void **state)
{
    (void)state;
    for (double threshold = 0.1; threshold < 0.95; threshold += 0.2)
        for (double weight = 0.3; weight < 0.95; weight += 0.2) {
            const bloomery_near near = planned(
                (bloomery_near){.threshold = threshold, .permutations = 40, .miss_weight = weight});
            double best = 1;
            for (uint32_t rows = 1; rows <= 40; rows++)
                for (uint32_t bands = 1; bands * rows <= 40; bands++) {
                    const bloomery_near other = {.bands = bands, .rows = rows};
                    best = fmin(best, error_of(&other, threshold, weight));
                }
            assert_true(error_of(&near, threshold, weight) <= best * 1.001 + 1e-6);
        }
}

static void the_curve_rises_from_the_rate_to_one(void **state)
{
    (void)state;
    for (double threshold = 0.05; threshold < 1; threshold += 0.1) {
        const bloomery_near near =
            planned((bloomery_near){.threshold = threshold, .rate = 1e-3, .documents = 1000});
        double before = 0;
        for (unsigned i = 0; i <= 100; i++) {
            const double rate = bloomery_near_rate(&near, i / 100.0);
            assert_true(rate >= before && rate <= 1);
            before = rate;
        }
        assert_true(fabs(bloomery_near_rate(&near, -1) - 1e-3) < 1e-9);
        assert_true(bloomery_near_rate(&near, 2) == 1);
        assert_true(bloomery_near_similarity(&near, 0) == 0);
        assert_true(bloomery_near_similarity(&near, near.bands) == 1);
        assert_true(bloomery_near_similarity(&near, UINT32_MAX) == 1);
        for (uint32_t bands = 1; bands < near.bands; bands++) {
            const double similarity = bloomery_near_similarity(&near, bands);
            assert_true(fabs(pow(similarity, near.rows) * near.bands - bands) < 1e-6);
        }
    }
}

static void wrong_plans_are_refused_and_left_alone(void **state)
{
    const bloomery_near wrong[] = {
        {.threshold = 0},
        {.threshold = 1},
        {.threshold = -0.5},
        {.threshold = (double)NAN},
        {.threshold = (double)INFINITY},
        {.threshold = 0.8, .rate = 1},
        {.threshold = 0.8, .rate = -1e-5},
        {.threshold = 0.8, .rate = (double)NAN},
        {.threshold = 0.8, .miss_weight = 1},
        {.threshold = 0.8, .miss_weight = (double)NAN},
        {.threshold = 0.8, .permutations = 1025},
        {.threshold = 0.8, .shingle = 65},
        {.threshold = 0.8, .forced_bands = 4},
        {.threshold = 0.8, .forced_rows = 4},
        {.threshold = 0.8, .forced_bands = 43, .forced_rows = 3},
        {.threshold = 0.8, .forced_bands = 65536, .forced_rows = 65536},
        {.threshold = 0.8, .documents = (uint64_t)1 << 48},
        {.threshold = 0.8, .documents = UINT64_MAX},
        {.threshold = 0.8, .documents = 1000, .rate = 1e-300},
        {.struct_bytes = 12345, .threshold = 0.8},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bloomery_near near = wrong[i];
        bloomery_error error = {.status = BLOOMERY_OK};
        if (bloomery_near_plan(&near, &error) != BLOOMERY_BAD_ARGUMENT)
            fail_msg("plan %zu was made", i);
        assert_int_equal(error.status, BLOOMERY_BAD_ARGUMENT);
        assert_true(strlen(error.text) > 20);
        assert_memory_equal(&near, &wrong[i], sizeof near);
    }
}

static void what_was_not_planned_makes_no_keys(void **state)
{
    const bloomery_near none = {.threshold = 0.8};
    const bloomery_key word = bloomery_key_of("word", 4);
    bloomery_keys words = bloomery_keys_of_list(&word, 1);
    uint32_t signature[128];
    bloomery_error error;
    (void)state;
    assert_int_equal(bloomery_signature_of(&none, hasher, &words, signature, &error),
                     BLOOMERY_BAD_ARGUMENT);
    assert_non_null(strstr(error.text, "bloomery_near_plan"));
    assert_int_equal(bloomery_bands_of(&none, signature, signature).count, 0);
    assert_true(bloomery_near_rate(&none, 0.5) == 1);
    const bloomery_near near = of_threshold(0.8);
    words.form = (bloomery_keys_form)99;
    assert_int_equal(bloomery_signature_of(&near, hasher, &words, signature, &error),
                     BLOOMERY_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_are_those_of_the_model_in_any_form),
        cmocka_unit_test(words_that_do_not_exist_are_passed_over),
        cmocka_unit_test(repeated_shingles_make_no_difference),
        cmocka_unit_test(a_secret_makes_signatures_of_its_own),
        cmocka_unit_test(equal_values_are_as_many_as_the_similarity_says),
        cmocka_unit_test(documents_are_found_as_often_as_the_curve_says),
        cmocka_unit_test(bands_are_keys_of_their_number_and_values),
        cmocka_unit_test(a_thousand_million_documents_take_at_most_60_gigabytes),
        cmocka_unit_test(bands_and_rows_have_the_least_weighted_error),
        cmocka_unit_test(the_curve_rises_from_the_rate_to_one),
        cmocka_unit_test(wrong_plans_are_refused_and_left_alone),
        cmocka_unit_test(what_was_not_planned_makes_no_keys),
    };
    return test_run_group("near", tests, set_up, tear_down);
}
