/* SPDX-License-Identifier: Apache-2.0 */
/* The number of different hashes: exact while it is small, then within bounds. */
#include "filter/hasher.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Hash number `index`: a permutation of 64-bit numbers (splitmix64), so different ones differ. */
static uint64_t hash_of(uint64_t index)
{
    uint64_t value = index * UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

static void small_numbers_are_exact(void **state)
{
    (void)state;
    static const uint64_t counts[] = {0, 1, 2, 1000, TOOL_DISTINCT_KEPT};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct tool_distinct distinct = {0};
        double deviation = -1;
        for (int round = 0; round < 3; round++)
            for (uint64_t j = 1; j <= counts[i]; j++)
                tool_distinct_add(&distinct, hash_of(j));
        assert_true(tool_distinct_estimate(&distinct, &deviation) == (double)counts[i]);
        assert_true(deviation == 0);
        tool_distinct_free(&distinct);
    }
}

static void the_hash_zero_counts(void **state)
{
    (void)state;
    struct tool_distinct distinct = {0};
    double deviation;
    tool_distinct_add(&distinct, 0);
    tool_distinct_add(&distinct, 0);
    assert_true(tool_distinct_estimate(&distinct, &deviation) == 1);
    tool_distinct_add(&distinct, 5);
    assert_true(tool_distinct_estimate(&distinct, &deviation) == 2);
    tool_distinct_free(&distinct);
}

/* Over many sets the mean error is 0 and the spread is as announced. */
static void estimates_are_within_bounds(void **state)
{
    (void)state;
    enum { SETS = 40, HASHES = 200000 };
    double sum = 0, squares = 0;
    for (uint64_t set = 0; set < SETS; set++) {
        struct tool_distinct distinct = {0};
        double deviation;
        for (uint64_t j = 1; j <= HASHES; j++) {
            tool_distinct_add(&distinct, hash_of(set * HASHES + j));
            if (j % 3 == 0) /* repeated ones */
                tool_distinct_add(&distinct, hash_of(set * HASHES + j / 3));
        }
        const double off = (tool_distinct_estimate(&distinct, &deviation) - HASHES) / deviation;
        assert_true(deviation > 0.006 * HASHES && deviation < 0.012 * HASHES);
        assert_true(off > -5 && off < 5);
        sum += off;
        squares += off * off;
        tool_distinct_free(&distinct);
    }
    /* Of 40 standard normal values: 5 deviations of their sum; of their squares' sum about 4.5. */
    assert_true(sum > -32 && sum < 32);
    assert_true(squares > 8 && squares < 82);
}

static void parts_merge_to_the_whole(void **state)
{
    (void)state;
    struct tool_distinct whole = {0}, parts[3] = {{0}, {0}, {0}};
    double deviation, merged;
    for (uint64_t j = 1; j <= 300000; j++) {
        tool_distinct_add(&whole, hash_of(j));
        tool_distinct_add(&parts[j % 8 == 0 ? 1 : 0], hash_of(j)); /* one small, one empty */
    }
    const double estimate = tool_distinct_estimate(&whole, &deviation);
    tool_distinct_merge(&parts[2], &parts[1]);
    tool_distinct_merge(&parts[2], &parts[0]);
    assert_true(tool_distinct_estimate(&parts[2], &merged) == estimate);
    assert_true(merged == deviation);
    assert_int_equal(whole.level, parts[2].level);
    tool_distinct_merge(&parts[1], &parts[2]);
    assert_true(tool_distinct_estimate(&parts[1], &merged) == estimate);
    for (int i = 0; i < 3; i++)
        tool_distinct_free(&parts[i]);
    tool_distinct_free(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimates_are_within_bounds), /* first: one of the breaks looks there */
        cmocka_unit_test(small_numbers_are_exact),
        cmocka_unit_test(the_hash_zero_counts),
        cmocka_unit_test(parts_merge_to_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
