/* SPDX-License-Identifier: Apache-2.0 */
/* The table of fingerprints is a set, however it grows; and the sums of expected drops. */
#include "units/fingerprints.h"
#include "base/random.h"
#include "units/drop_estimate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static uint64_t state = 1;

static uint64_t next_random(void)
{
    return tool_mix64(state += TOOL_GOLDEN);
}

/* ---- A model: a byte for each value ---------------------------------------------------------- */

enum { KEYS = 400000, BATCH = 1000, WORDS = (BATCH + 63) / 64 };

static bloomery_hash hash_of(uint64_t value, uint64_t spread)
{
    uint64_t z = (value + 1) * UINT64_C(0xD1B54A32D192ED03);
    z ^= z >> 29;
    z *= UINT64_C(0xAEF17502108EF2D9);
    z ^= z >> 32;
    /* A spread below the whole range puts all homes close together, the worst case of probing. */
    return (bloomery_hash){.lo = z * 3 + value, .hi = spread == 0 ? z : UINT64_MAX - z % spread};
}

/* Adds `count` random values below `range` and compares every answer. */
static void compare(uint32_t bits, uint64_t keys, uint64_t limit, uint64_t range, size_t count,
                    uint64_t spread)
{
    struct tool_fingerprints *set = tool_fingerprints_new(bits, keys, limit);
    unsigned char *there = calloc(range, 1);
    assert_non_null(set);
    assert_non_null(there);
    uint64_t different = 0;
    for (size_t done = 0; done < count; done += BATCH) {
        bloomery_hash hashes[BATCH];
        uint64_t values[BATCH], answers[WORDS], absent[WORDS];
        for (size_t i = 0; i < BATCH; i++) {
            values[i] = next_random() % range;
            hashes[i] = hash_of(values[i], spread);
        }
        tool_fingerprints_query(set, hashes, BATCH, absent);
        for (size_t i = 0; i < BATCH; i++)
            assert_int_equal(absent[i / 64] >> i % 64 & 1, !there[values[i]]);
        assert_int_equal(tool_fingerprints_add(set, hashes, BATCH, answers), BATCH);
        for (size_t i = 0; i < BATCH; i++) {
            assert_int_equal(answers[i / 64] >> i % 64 & 1, !there[values[i]]);
            different += !there[values[i]];
            there[values[i]] = 1;
        }
    }
    assert_int_equal(tool_fingerprints_count(set), different);
    if (limit > 0)
        assert_true(tool_fingerprints_bytes(set) <= limit);
    free(there);
    tool_fingerprints_free(set);
}

static void set_equals_model(void **unused)
{
    (void)unused;
    for (uint32_t bits = 64; bits <= 128; bits += 64) {
        compare(bits, 0, 0, KEYS, 600000, 0);    /* grows from little */
        compare(bits, 1, 0, KEYS, 600000, 0);    /* and from nothing */
        compare(bits, KEYS, 0, KEYS, 600000, 0); /* never grows */
        compare(bits, 0, 0, 100, 10000, 0);
        compare(bits, 10, bits / 8 * 600000, KEYS, 600000,
                0); /* by less than a doubling at the end */
    }
}

/* All homes in the last slots: clusters run into the tail, and the tail is not long enough. */
static void crowded_homes_are_found(void **unused)
{
    (void)unused;
    for (uint32_t bits = 64; bits <= 128; bits += 64) {
        compare(bits, 1, 0, 5000, 20000, UINT64_C(1) << 40);
        compare(bits, 3000, 0, 5000, 20000, UINT64_C(1) << 58);
    }
}

static void zero_is_a_fingerprint(void **unused)
{
    (void)unused;
    for (uint32_t bits = 64; bits <= 128; bits += 64) {
        struct tool_fingerprints *set = tool_fingerprints_new(bits, 10, 0);
        bloomery_hash hashes[3] = {{0}, {.lo = 0, .hi = 1}, {0}};
        uint64_t answers[1];
        assert_non_null(set);
        assert_int_equal(tool_fingerprints_add(set, hashes, 3, answers), 3);
        assert_int_equal(answers[0], 3);
        tool_fingerprints_query(set, hashes, 3, answers);
        assert_int_equal(answers[0], 0);
        assert_int_equal(tool_fingerprints_count(set), 2);
        tool_fingerprints_free(set);
    }
}

static void limit_is_kept(void **unused)
{
    (void)unused;
    const uint64_t limit = 1 << 20;
    struct tool_fingerprints *set = tool_fingerprints_new(64, 10, limit);
    bloomery_hash *hashes = calloc(KEYS, sizeof(*hashes));
    uint64_t *answers = calloc(KEYS / 64 + 1, sizeof(*answers));
    assert_true(set != NULL && hashes != NULL && answers != NULL);
    for (size_t i = 0; i < KEYS; i++)
        hashes[i] = hash_of(i, 0);
    size_t added = tool_fingerprints_add(set, hashes, KEYS, answers);
    assert_int_equal(added, tool_fingerprints_count(set));
    assert_true(tool_fingerprints_bytes(set) <= limit);
    assert_true(added > limit / 8 * 2 / 3 && added <= limit / 8 * 3 / 4);
    /* What is there is still found, and only a new one has no room. */
    assert_int_equal(tool_fingerprints_add(set, hashes, added, answers), added);
    assert_int_equal(answers[0], 0);
    assert_int_equal(tool_fingerprints_add(set, hashes + added, 1, answers), 0);
    free(hashes);
    free(answers);
    tool_fingerprints_free(set);
    assert_null(tool_fingerprints_new(64, 1000000, limit));
    assert_null(tool_fingerprints_new(64, UINT64_MAX, 0));
    assert_null(tool_fingerprints_new(128, UINT64_C(1) << 48, 0));
}

/* ---- Expected drops -------------------------------------------------------------------------- */

static bloomery_plan plan_for(uint64_t keys, double rate)
{
    bloomery_plan plan = {.keys = keys, .rate = rate};
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    return plan;
}

/* The definition: each key is new with a chance of 1 - f. */
static double sum_new(const bloomery_plan *plan, uint64_t from, uint64_t to)
{
    double sum = 0;
    for (uint64_t x = from; x < to; x++)
        sum += 1 - bloomery_plan_rate(plan, x);
    return sum;
}

static void integral_is_the_sum(void **unused)
{
    (void)unused;
    for (double rate = 0.3; rate > 1e-4; rate /= 5) {
        bloomery_plan plan = plan_for(500, rate);
        for (uint64_t to = 10; to <= 2000; to *= 4) {
            double sum = sum_new(&plan, to / 3, to), drops = (double)(to - to / 3) - sum;
            double got = tool_expected_new(&plan, (double)(to / 3), (double)to);
            assert_true(fabs(got - sum) <= 0.002 * drops + 1e-9 * (double)to);
            double keys = tool_expected_keys(&plan, (double)(to / 3), got);
            assert_true(fabs(keys - (double)to) < 0.01 + 1e-6 * (double)to);
        }
    }
}

static void full_is_where_the_rate_is_reached(void **unused)
{
    (void)unused;
    bloomery_plan plan = plan_for(100000, 1e-6);
    uint64_t full = tool_expected_full(&plan, 2e-6);
    assert_true(full > 100000 && full < 110000);
    assert_true(bloomery_plan_rate(&plan, full) > 2e-6);
    assert_true(bloomery_plan_rate(&plan, full - 1) <= 2e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_equals_model),
        cmocka_unit_test(crowded_homes_are_found),
        cmocka_unit_test(zero_is_a_fingerprint),
        cmocka_unit_test(limit_is_kept),
        cmocka_unit_test(integral_is_the_sum),
        cmocka_unit_test(full_is_where_the_rate_is_reached),
    };
    const char *pattern = getenv("BLOOMERY_TEST_FILTER");
    if (pattern != NULL && pattern[0] != '\0')
        cmocka_set_test_filter(pattern);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
