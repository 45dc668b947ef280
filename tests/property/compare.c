/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A comparison of two filters tells the truth: the first field in which they differ, how many keys
 * they have in common, and how far off that may be.
 *
 * Build: this file, ../support/support.c; cmocka, the library, libm. No arguments. Suite: property.
 * BLOOMERY_TEST_LONG=1: more pairs of filters.
 */
#include "../support/support.h"

#include <bloomery/records.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Whether they fit ----------------------------------------------------------------------- */

/* How one filter is made; the other has one field changed. */
struct making {
    bloomery_plan plan;
    bloomery_create_options options;
};

static const uint8_t own_keys[2][BLOOMERY_SECRET_BYTES] = {"fifteen letters", "sixteen lettres"};

static struct making usual(void)
{
    struct making making = {
        .plan = {.kind = BLOOMERY_BLOCKED,
                 .blocks_per_key = 2,
                 .probes = 4,
                 .bits = (uint64_t)512 * 24},
        .options = BLOOMERY_CREATE_OPTIONS,
    };
    making.options.rule =
        (bloomery_key_rule){BLOOMERY_RULE_TRIM | BLOOMERY_RULE_LOWER, ',', 2, '#'};
    making.options.seed = 7;
    return making;
}

/* Of several fields that differ the first is reported, so each change brings all later ones with
 * it. */
static struct making differing(int field)
{
    struct making making = usual();
    bloomery_key_rule *rule = &making.options.rule;
    const bool chained = field == 0;
    if (field <= 7)
        making.plan.bits = (uint64_t)512 * 25;
    if (field <= 6)
        making.plan.probes = 5;
    if (field <= 5)
        making.plan.blocks_per_key = 3;
    if (field <= 4)
        rule->flags &= ~(uint32_t)BLOOMERY_RULE_LOWER;
    if (field <= 3)
        rule->flags &= ~(uint32_t)BLOOMERY_RULE_TRIM;
    if (field <= 2)
        making.options.seed = 8;
    if (field == 1 && test_keyed()) {
        making.options.seed = 0;
        making.options.secret = own_keys[0];
    }
    if (chained)
        making.plan.kind = BLOOMERY_CLASSIC, making.plan.blocks_per_key = 0;
    return making;
}

static void refused_with(const bloomery_filter *one, const bloomery_filter *other,
                         const char *words)
{
    bloomery_error error = {.text = ""};
    assert_int_equal(bloomery_compatible(one, other, &error), BLOOMERY_MISMATCH);
    assert_int_equal(error.status, BLOOMERY_MISMATCH);
    if (strstr(error.text, words) == NULL)
        fail_msg("no \"%s\" in \"%s\"", words, error.text);
}

static void the_first_difference_is_named_with_both_values(void **state)
{
    (void)state;
    static const char *const words[][2] = {
        {"the kinds differ: blocked, and classic", "the kinds differ: classic, and blocked"},
        {"the hashes differ: xxh3-64, and siphash", "the hashes differ: siphash, and xxh3-64"},
        {"the seeds differ: 7, and 8", "the seeds differ: 8, and 7"},
        {"blanks at both ends removed, and blanks kept",
         "blanks kept, and blanks at both ends removed"},
        {"letters made lower case, and not made", "not made lower case, and letters made"},
        {"the blocks of a key differ: 2, and 3", "the blocks of a key differ: 3, and 2"},
        {"a block differ: 4, and 5", "a block differ: 5, and 4"},
        {"the sizes differ: 12288 bits, and 12800;", "the sizes differ: 12800 bits, and 12288;"},
    };
    const struct making first = usual();
    bloomery_filter *one = test_create(&first.plan, &first.options);
    assert_int_equal(bloomery_compatible(one, one, NULL), BLOOMERY_OK);
    for (int field = 0; field < 8; field++) {
        if (field == 1 && !test_keyed())
            continue;
        const struct making second = differing(field);
        bloomery_filter *other = test_create(&second.plan, &second.options);
        refused_with(one, other, words[field][0]);
        refused_with(other, one, words[field][1]);
        bloomery_comparison comparison = BLOOMERY_COMPARISON;
        assert_int_equal(bloomery_compare(one, other, &comparison, NULL), BLOOMERY_MISMATCH);
        assert_int_equal(bloomery_merge(one, other, NULL), BLOOMERY_MISMATCH);
        assert_int_equal(bloomery_intersect(one, other, NULL), BLOOMERY_MISMATCH);
        bloomery_free(other);
    }
    bloomery_free(one);
}

/* What a key is has to be the same; how records are laid out need not be. */
static void what_a_key_is_is_compared_and_no_layout(void **state)
{
    (void)state;
    bloomery_plan plan = {.kind = BLOOMERY_CLASSIC, .probes = 3, .bits = 1000};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.rule = (bloomery_key_rule){0, ',', 1, '#'};
    bloomery_filter *one = test_create(&plan, &options);
    const uint32_t layout = BLOOMERY_RULE_CRLF | BLOOMERY_RULE_SKIP_EMPTY | BLOOMERY_RULE_CSV |
                            BLOOMERY_RULE_HEADER | BLOOMERY_RULE_ELSEWHERE;
    for (uint32_t flag = 1; flag <= BLOOMERY_RULE_ELSEWHERE; flag <<= 1) {
        const bool elsewhere = flag == BLOOMERY_RULE_ELSEWHERE; /* goes with no field */
        options.rule = (bloomery_key_rule){flag, elsewhere ? 0 : ',', elsewhere ? 0 : 1, '#'};
        bloomery_filter *other = test_create(&plan, &options);
        if ((flag & layout) == 0)
            refused_with(one, other, "the key rules differ");
        else
            assert_int_equal(bloomery_compatible(one, other, NULL), BLOOMERY_OK);
        bloomery_free(other);
    }
    static const bloomery_key_rule layouts[] = {
        {0, ',', 1, '%'}, {0, ';', 1, '#'}, {0, ',', -1, '#'}, {0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        options.rule = layouts[i];
        bloomery_filter *other = test_create(&plan, &options);
        assert_int_equal(bloomery_compatible(one, other, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_merge(one, other, NULL), BLOOMERY_OK);
        bloomery_free(other);
    }
    bloomery_free(one);
}

static void secret_keys_are_compared_by_their_fingerprints(void **state)
{
    (void)state;
    if (!test_keyed())
        skip();
    bloomery_plan plan = {.blocks_per_key = 1, .probes = 3, .bits = 1024};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.secret = own_keys[0];
    bloomery_filter *one = test_create(&plan, &options);
    options.secret_outside = true;
    bloomery_filter *same = test_create(&plan, &options);
    options.secret = own_keys[1];
    bloomery_filter *other = test_create(&plan, &options);
    assert_int_equal(bloomery_compatible(one, same, NULL), BLOOMERY_OK);
    refused_with(one, other, "the secrets differ: one with fingerprint");
    bloomery_free(one);
    bloomery_free(same);
    bloomery_free(other);
}

static void sizes_fit_that_fold_to_each_other(void **state)
{
    (void)state;
    static const struct {
        uint64_t one, other;
        bool fit;
    } sizes[] = {{1, 1, true},  {3, 24, true}, {24, 3, true},      {3, 6, true},   {3, 9, false},
                 {4, 6, false}, {5, 6, false}, {1, 1 << 14, true}, {10, 15, false}};
    for (int classic = 0; classic < 2; classic++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            bloomery_plan plan = {.kind = classic ? BLOOMERY_CLASSIC : BLOOMERY_BLOCKED,
                                  .blocks_per_key = classic ? 0 : 1,
                                  .probes = 3};
            plan.bits = sizes[i].one * (classic ? 1 : 512);
            bloomery_filter *one = test_create(&plan, NULL);
            plan.bits = sizes[i].other * (classic ? 1 : 512);
            bloomery_filter *other = test_create(&plan, NULL);
            bloomery_status expected = sizes[i].fit ? BLOOMERY_OK : BLOOMERY_MISMATCH;
            assert_int_equal(bloomery_compatible(one, other, NULL), expected);
            assert_int_equal(bloomery_compatible(other, one, NULL), expected);
            bloomery_free(one);
            bloomery_free(other);
        }
}

/* ---- What they have in common --------------------------------------------------------------- */

/* The one has `own` keys for itself, the other twice as many, and both `common`. */
struct overlap {
    uint64_t own;
    uint64_t common;
};

static void add_range(bloomery_filter *filter, const struct test_keys *keys, uint64_t first,
                      uint64_t count)
{
    assert_int_equal(add_list(filter, keys->keys + first, (size_t)count, NULL), BLOOMERY_OK);
}

static bloomery_comparison compare(const bloomery_plan *plan, struct overlap overlap, uint64_t seed,
                                   uint64_t folds)
{
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    const bloomery_plan larger = test_by_hand(plan, plan->bits << folds);
    bloomery_comparison comparison = BLOOMERY_COMPARISON;
    bloomery_error error = {.text = ""};
    struct test_keys keys =
        test_keys_make(TEST_IDS, 1, 0, (size_t)(overlap.own * 3 + overlap.common));
    options.seed = seed;
    bloomery_filter *one = test_create(plan, &options);
    bloomery_filter *other = test_create(&larger, &options);
    add_range(one, &keys, 0, overlap.own + overlap.common);
    add_range(other, &keys, overlap.own, overlap.common + overlap.own * 2);
    if (bloomery_compare(one, other, &comparison, &error) != BLOOMERY_OK)
        fail_msg("%s", error.text);
    bloomery_free(one);
    bloomery_free(other);
    test_keys_free(&keys);
    return comparison;
}

/* Over many pairs that differ by their seed: the mean of what is estimated is what it is, and it
 * strays by as much as `deviation` says. */
static void judge_overlap(const struct test_shape *shape, const bloomery_plan *plan,
                          struct overlap overlap, uint64_t folds)
{
    const unsigned pairs = test_long() ? 400 : 60;
    double sum = 0, squares = 0, said = 0;
    for (unsigned seed = 1; seed <= pairs; seed++) {
        bloomery_comparison found = compare(plan, overlap, seed, folds);
        double off = found.common_keys - (double)overlap.common;
        assert_true(found.deviation > 0 || overlap.own == 0);
        assert_true(fabs(found.jaccard - found.common_keys / found.union_keys) < 1e-12);
        double all = (double)(overlap.common + 3 * overlap.own);
        assert_true(fabs(found.union_keys / all - 1) < 0.06);
        assert_true(fabs(found.common_keys - found.keys[0] - found.keys[1] + found.union_keys) <
                        1e-6 ||
                    found.common_keys == 0);
        if (overlap.common > 0 && fabs(off) > 6 * found.deviation + 0.5)
            fail_msg("%s: %g common keys, not %g; deviation %g", shape->name, found.common_keys,
                     (double)overlap.common, found.deviation);
        sum += off;
        squares += off * off;
        said += found.deviation;
    }
    if (overlap.common == 0) /* cut off at 0 */
        return;
    double spread = sqrt(squares / pairs);
    /* A sample deviation of `pairs` normal values is off by a factor 1 ± 1/sqrt(2 pairs). */
    double slack = 1 + 5 / sqrt(2.0 * pairs);
    double mean = said / pairs;
    if (fabs(sum / pairs) > 5 * mean / sqrt(pairs) + 0.3 || spread > mean * slack + 0.3 ||
        spread < mean / slack - 0.3)
        fail_msg("%s, %llu common: off by %g on average and %g in square, where %g was announced",
                 shape->name, (unsigned long long)overlap.common, sum / pairs, spread, mean);
}

static void common_keys_are_estimated_within_bounds(void **state)
{
    (void)state;
    static const struct overlap overlaps[] = {{2000, 0}, {1500, 1500}, {200, 5000}, {50, 5900}};
    for (int shape = 0; shape < TEST_SHAPES; shape++)
        for (size_t i = 0; i < sizeof overlaps / sizeof overlaps[0]; i++) {
            bloomery_plan plan = test_plan(&test_shapes[shape], 6000, 0.01);
            judge_overlap(&test_shapes[shape], &plan, overlaps[i], i % 2 * 2);
        }
}

static void equal_filters_and_parts_are_reported(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_URLS, 2, 0, 3000);
    for (int shape = 0; shape < TEST_SHAPES; shape++) {
        bloomery_plan plan = test_plan(&test_shapes[shape], 3000, 0.01);
        bloomery_filter *all = test_create(&plan, NULL);
        bloomery_filter *same = test_create(&plan, NULL);
        bloomery_filter *part = test_create(&plan, NULL);
        bloomery_comparison found = BLOOMERY_COMPARISON;
        add_range(all, &keys, 0, 3000);
        add_range(same, &keys, 1500, 1500);
        add_range(same, &keys, 0, 1500);
        add_range(part, &keys, 0, 1000);
        assert_int_equal(bloomery_compare(all, same, &found, NULL), BLOOMERY_OK);
        assert_true(found.equal && found.within[0] && found.within[1] && found.jaccard == 1);
        assert_int_equal(bloomery_compare(part, all, &found, NULL), BLOOMERY_OK);
        assert_true(!found.equal && found.within[0] && !found.within[1]);
        assert_true(fabs(found.common_keys - 1000) < 50 && fabs(found.jaccard - 1.0 / 3) < 0.02);
        assert_int_equal(bloomery_compare(all, part, &found, NULL), BLOOMERY_OK);
        assert_true(!found.within[0] && found.within[1]);
        bloomery_free(all);
        bloomery_free(same);
        bloomery_free(part);
    }
    test_keys_free(&keys);
}

/* Nothing in it, or everything: no division by zero, and no number where there is none. */
static void empty_and_full_filters_compare(void **state)
{
    (void)state;
    for (int classic = 0; classic < 2; classic++) {
        bloomery_plan plan = {.kind = classic ? BLOOMERY_CLASSIC : BLOOMERY_BLOCKED,
                              .blocks_per_key = classic ? 0 : 1,
                              .probes = 8,
                              .bits = classic ? 100 : 512};
        bloomery_filter *empty = test_create(&plan, NULL);
        bloomery_filter *full = test_create(&plan, NULL);
        struct test_keys keys = test_keys_make(TEST_RANDOM, 3, 0, 5000);
        bloomery_comparison found = BLOOMERY_COMPARISON;
        add_range(full, &keys, 0, 5000);
        test_keys_free(&keys);
        assert_int_equal(bloomery_compare(empty, empty, &found, NULL), BLOOMERY_OK);
        assert_true(found.equal && found.union_keys == 0 && found.common_keys == 0 &&
                    found.jaccard == 0 && found.deviation == 0);
        assert_int_equal(bloomery_compare(empty, full, &found, NULL), BLOOMERY_OK);
        assert_true(!found.equal && found.within[0] && isinf(found.union_keys) &&
                    isnan(found.common_keys) && isnan(found.jaccard) && isinf(found.deviation));
        bloomery_free(empty);
        bloomery_free(full);
    }
}

/* Bits past the last one, which only a damaged file has, are not cells. */
static void spare_bits_do_not_count(void **state)
{
    (void)state;
    bloomery_plan plan = {.kind = BLOOMERY_CLASSIC, .probes = 3, .bits = 1001};
    struct test_keys keys = test_keys_make(TEST_RANDOM, 4, 0, 100);
    bloomery_filter *filter = test_create(&plan, NULL);
    const bloomery_filter *view = NULL;
    bloomery_comparison right = BLOOMERY_COMPARISON, found = BLOOMERY_COMPARISON;
    add_range(filter, &keys, 0, 100);
    struct test_bytes bytes = test_written(filter);
    /* The payload is 128 bytes; two checksums of 8 bytes follow it. */
    memset(bytes.data + bytes.bytes - 16 - 2, 0xff, 2);
    assert_int_equal(bloomery_view(bytes.data, bytes.bytes, NULL, &view, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_compare(filter, filter, &right, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_compare(filter, view, &found, NULL), BLOOMERY_OK);
    assert_true(found.equal && found.keys[1] == right.keys[0]);
    bloomery_free(view);
    bloomery_free(filter);
    test_bytes_free(&bytes);
    test_keys_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_difference_is_named_with_both_values),
        cmocka_unit_test(what_a_key_is_is_compared_and_no_layout),
        cmocka_unit_test(secret_keys_are_compared_by_their_fingerprints),
        cmocka_unit_test(sizes_fit_that_fold_to_each_other),
        cmocka_unit_test(common_keys_are_estimated_within_bounds),
        cmocka_unit_test(equal_filters_and_parts_are_reported),
        cmocka_unit_test(empty_and_full_filters_compare),
        cmocka_unit_test(spare_bits_do_not_count),
    };
    return test_run_group("compare", tests, NULL, NULL);
}
