/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What counters promise: so long as only keys are removed that were added, no key that is still
 * there is lost, saturation included; counts are never too low; without its counters the filter is
 * the blocked one, bit for bit. Held against an exact multiset, in filters so small that counters
 * are shared, reach their maximum, and blocks of one key coincide.
 *
 * Build: this file, ../support/support.c, ../support/forge.c; cmocka, the library. No
 * arguments. Suite: property.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/counters.h"
#include "../support/support.h"

#include <bloomery/dialect.h>
#include <bloomery/experimental.h>
#include <bloomery/records.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_no_counter_is_used(const bloomery_filter *filter)
{
    struct test_bytes counters = test_counters(filter);
    for (size_t i = 0; i < counters.bytes; i++)
        assert_int_equal(counters.data[i], 0);
    assert_int_equal(scan_of(filter).bits_set, 0);
    test_bytes_free(&counters);
}

enum { KEYS_MAX = 400 };

/* ---- Against a multiset -------------------------------------------------------------------- */

/* Keys and how often each is in the filter now. */
struct multiset {
    bloomery_filter *filter;
    struct test_keys keys;
    uint32_t times[KEYS_MAX];
    uint64_t total;
    uint32_t most;
    uint64_t used; /* counters that are not 0, as the calls returned */
};

static void check_key(const struct multiset *set, size_t number)
{
    const bloomery_key key = set->keys.keys[number];
    const uint32_t count = bloomery_key_count(set->filter, key);
    assert_true(set->times[number] == 0 || bloomery_may_contain(set->filter, key));
    assert_true(count >= set->times[number] || count == set->most);
    /* A count of 0 may know better: the key's blocks coincide, and a counter is less than both
     * need. */
    assert_true(count == 0 || bloomery_may_contain(set->filter, key));
}

/* Adds a key, or takes one away that is there. A few keys come far more often than the others. */
static void step(struct multiset *set, uint64_t *state, uint64_t room)
{
    const size_t one =
        test_below(state, 3) == 0 ? test_below(state, 3) : test_below(state, set->keys.count);
    /* By turns with a call for one key, whose bits are counted here, and one that tells them. */
    const bool single = test_below(state, 2) == 0;
    const uint64_t before = single ? test_cells(set->filter) : 0;
    uint64_t changed = 0;
    if (set->total < room && (set->times[one] == 0 || test_below(state, 5) < 3)) {
        const bloomery_key key = set->keys.keys[one];
        const int found =
            single ? add_outcome(set->filter, key) : add_one(set->filter, key, &changed);
        if (single)
            changed = test_cells(set->filter) - before;
        assert_int_equal(found, changed > 0 ? WAS_NEW : WAS_SEEN);
        assert_true(found != WAS_NEW || set->times[one] == 0);
        set->used += changed;
        set->times[one]++;
        set->total++;
    } else if (set->times[one] > 0) {
        const bloomery_key key = set->keys.keys[one];
        const int found =
            single ? remove_outcome(set->filter, key) : remove_one(set->filter, key, &changed);
        assert_int_equal(found, WAS_REMOVED);
        if (single)
            changed = before - test_cells(set->filter);
        set->used -= changed;
        set->times[one]--;
        set->total--;
    }
    check_key(set, one);
}

static void run_multiset(const bloomery_plan *plan, size_t keys, uint64_t room, size_t steps,
                         uint64_t seed, bool saturated)
{
    struct multiset set = {.filter = test_create(plan, NULL),
                           .keys = test_keys_make(TEST_RANDOM, seed, 0, keys)};
    uint64_t state = seed;
    assert_true(keys <= KEYS_MAX);
    set.most = info_of(set.filter).counter_max;
    assert_int_equal(set.most, (1u << plan->cell_bits) - 1);
    for (size_t i = 0; i < steps; i++) {
        step(&set, &state, room);
        if (i % 16 == 0)
            for (size_t k = 0; k < keys; k++)
                check_key(&set, k);
    }
    const bloomery_scan_result scan = scan_of(set.filter);
    assert_int_equal(scan.bits_set, set.used);
    assert_int_equal(scan.saturated_cells > 0, saturated);
    assert_true(scan.saturated_cells <= scan.bits_set);
    for (size_t k = 0; k < keys; k++)
        for (; set.times[k] > 0; set.times[k]--)
            assert_true(bloomery_remove(set.filter, set.keys.keys[k], NULL));
    if (saturated)
        assert_int_equal(scan_of(set.filter).bits_set, scan_of(set.filter).saturated_cells);
    else
        assert_no_counter_is_used(set.filter);
    test_keys_free(&set.keys);
    bloomery_free(set.filter);
}

/* 8 keys at a time can't bring a counter of 4 bits to 15 by one block each; with four blocks of
 * which all may coincide it takes 4 keys. Here counters are exact, so nothing is left in the
 * end. */
static void removals_lose_no_present_key(void **state)
{
    const size_t steps = test_long() ? 20000 : 1500;
    (void)state;
    for (size_t w = 0; w < TEST_WIDTHS; w++)
        for (uint32_t blocks_per_key = 1; blocks_per_key <= 4; blocks_per_key++)
            for (uint32_t probes = 1; probes <= 8; probes = 2 * probes + 1)
                for (uint64_t blocks = 1; blocks <= 3; blocks++) {
                    bloomery_plan plan =
                        test_counting_plan(test_widths[w], blocks_per_key, probes, blocks);
                    run_multiset(&plan, 60, 14 / blocks_per_key, steps,
                                 probes + 100 * blocks_per_key, false);
                }
}

/* The same where counters reach their maximum and stay. */
static void saturated_counters_lose_no_present_key(void **state)
{
    const size_t steps = test_long() ? 60000 : 10000;
    (void)state;
    for (size_t w = 0; w < TEST_WIDTHS; w++)
        for (uint32_t blocks_per_key = 1; blocks_per_key <= 4; blocks_per_key++)
            for (uint64_t blocks = 1; blocks <= 2; blocks++) {
                bloomery_plan plan = test_counting_plan(test_widths[w], blocks_per_key, 8, blocks);
                run_multiset(&plan, 300, UINT64_MAX, steps, (uint64_t)7 * blocks_per_key + blocks,
                             true);
            }
}

/* ---- One key, counter by counter ------------------------------------------------------------- */

/* A block names k counters, each once, and each block that names one adds 1: counters are at most 1
 * where no blocks coincide, and add up to what the blocks named. */
static void a_block_touches_a_counter_once(void **state)
{
    (void)state;
    for (size_t w = 0; w < TEST_WIDTHS; w++)
        for (uint32_t blocks_per_key = 1; blocks_per_key <= 4; blocks_per_key++)
            for (uint64_t index = 0; index < 20; index++) {
                const uint32_t probes = 1 + (uint32_t)index % 8;
                bloomery_plan plan = test_counting_plan(test_widths[w], blocks_per_key, probes, 1);
                struct test_keys key = test_keys_make(TEST_URLS, 3, index, 1);
                bloomery_filter *filter = test_create(&plan, NULL);
                uint64_t new_bits = 0;
                uint32_t sum = 0;
                assert_int_equal(add_one(filter, key.keys[0], &new_bits), WAS_NEW);
                struct test_bytes counters = test_counters(filter);
                assert_int_equal(counters.bytes, 64 * test_widths[w]);
                for (size_t cell = 0; cell < 512; cell++) {
                    assert_true(test_counter_at(&counters, test_widths[w], cell) <= blocks_per_key);
                    sum += test_counter_at(&counters, test_widths[w], cell);
                }
                assert_true(new_bits <= sum && new_bits >= probes);
                assert_int_equal(sum, probes * blocks_per_key);
                assert_int_equal(scan_of(filter).bits_set, new_bits);
                assert_int_equal(bloomery_key_count(filter, key.keys[0]), 1);
                uint64_t cleared = 0;
                assert_int_equal(remove_one(filter, key.keys[0], &cleared), WAS_REMOVED);
                assert_int_equal(cleared, new_bits);
                assert_no_counter_is_used(filter);
                test_bytes_free(&counters);
                test_keys_free(&key);
                bloomery_free(filter);
            }
}

/* A key that is not there is refused, and not a counter changes; not even where its counters are in
 * use but are too small for all of its blocks. */
static void removing_an_absent_key_changes_nothing(void **state)
{
    size_t refused = 0;
    (void)state;
    for (size_t w = 0; w < TEST_WIDTHS; w++)
        for (uint32_t blocks_per_key = 1; blocks_per_key <= 4; blocks_per_key++) {
            bloomery_plan plan = test_counting_plan(test_widths[w], blocks_per_key, 4, 2);
            struct test_keys keys = test_keys_make(TEST_WORDS, 1, 0, 300);
            bloomery_filter *filter = test_create(&plan, NULL);
            bloomery_filter *before = test_create(&plan, NULL);
            for (size_t i = 0; i < 30; i++) {
                bloomery_add(filter, keys.keys[i], NULL);
                bloomery_add(before, keys.keys[i], NULL);
            }
            for (size_t i = 30; i < keys.count; i++) {
                uint64_t cleared = 99;
                if (bloomery_key_count(filter, keys.keys[i]) > 0)
                    continue;
                assert_int_equal(remove_outcome(filter, keys.keys[i]), WAS_ABSENT);
                assert_int_equal(remove_one(filter, keys.keys[i], &cleared), WAS_ABSENT);
                assert_int_equal(cleared, 0);
                refused++;
            }
            test_assert_same_counters(filter, before);
            test_keys_free(&keys);
            bloomery_free(filter);
            bloomery_free(before);
        }
    assert_true(refused > 1000);
}

/* The counters that a key names, in a filter of one block. */
static size_t counters_of(const bloomery_filter *filter, bloomery_key key, uint64_t *at)
{
    return bloomery_positions(filter, 0, key, at, 32);
}

/* Where two blocks of a key coincide and name one counter, that counter must be 2 for the key to be
 * there. A key is found whose blocks do, and others that use all of its counters, that one once. */
static void a_counter_too_small_for_both_blocks_is_absent(void **state)
{
    struct test_keys keys = test_keys_make(TEST_WORDS, 7, 0, 20000);
    unsigned found = 0;
    (void)state;
    for (size_t k = 0; k < keys.count / 2 && found < 20; k++) {
        const uint32_t bits = test_widths[k % TEST_WIDTHS];
        bloomery_plan plan = test_counting_plan(bits, 2, 2, 1);
        bloomery_filter *filter = test_create(&plan, NULL);
        uint64_t at[32];
        assert_int_equal(counters_of(filter, keys.keys[k], at), 4);
        const uint64_t twice = at[0] == at[2] || at[0] == at[3] ? at[0] : at[1];
        const bool coincide = twice == at[2] || twice == at[3];
        size_t others = 0;
        while (coincide && others < 400 && !bloomery_may_contain(filter, keys.keys[k]))
            bloomery_add(filter, keys.keys[keys.count / 2 + (13 * k + others++) % 2000], NULL);
        struct test_bytes counters = test_counters(filter);
        if (coincide && test_counter_at(&counters, bits, (size_t)twice) == 1 &&
            bloomery_may_contain(filter, keys.keys[k])) {
            found++;
            assert_int_equal(remove_outcome(filter, keys.keys[k]), WAS_ABSENT);
            assert_int_equal(add_outcome(filter, keys.keys[k]), WAS_SEEN);
            struct test_bytes after = test_counters(filter);
            assert_int_equal(test_counter_at(&after, bits, (size_t)twice), 3);
            test_bytes_free(&after);
            assert_true(bloomery_remove(filter, keys.keys[k], NULL));
        }
        test_bytes_free(&counters);
        bloomery_free(filter);
    }
    assert_int_equal(found, 20);
    test_keys_free(&keys);
}

/* A counter at its maximum stays there, whatever is added and removed. */
static void a_saturated_counter_stays(void **state)
{
    (void)state;
    for (size_t w = 0; w < TEST_WIDTHS; w++) {
        const uint32_t most = (1u << test_widths[w]) - 1;
        bloomery_plan plan = test_counting_plan(test_widths[w], 1, 5, 4);
        struct test_keys keys = test_keys_make(TEST_DECIMAL, 2, 0, 1);
        bloomery_filter *filter = test_create(&plan, NULL);
        for (uint32_t i = 1; i <= most + 3; i++) {
            bloomery_add(filter, keys.keys[0], NULL);
            assert_int_equal(bloomery_key_count(filter, keys.keys[0]), i < most ? i : most);
        }
        const uint64_t cells = scan_of(filter).bits_set;
        assert_int_equal(scan_of(filter).saturated_cells, cells);
        for (uint32_t i = 0; i < 2 * most; i++) {
            uint64_t cleared = 1;
            assert_int_equal(remove_one(filter, keys.keys[0], &cleared), WAS_REMOVED);
            assert_int_equal(cleared, 0);
        }
        assert_int_equal(bloomery_key_count(filter, keys.keys[0]), most);
        assert_int_equal(scan_of(filter).saturated_cells, cells);
        assert_int_equal(info_of(filter).adds,
                         most + 3); /* removals are not adds, nor the reverse */
        test_keys_free(&keys);
        bloomery_free(filter);
    }
}

/* ---- Two keys that share cells --------------------------------------------------------------- */

/* Two of `keys` that share one counter and no more: the first, and the one that is returned. */
static size_t find_neighbour(const bloomery_filter *filter, const struct test_keys *keys,
                             uint64_t *shared)
{
    uint64_t one[32], other[32];
    const size_t count = counters_of(filter, keys->keys[0], one);
    for (size_t k = 1; k < keys->count; k++) {
        unsigned same = 0;
        counters_of(filter, keys->keys[k], other);
        for (size_t i = 0; i < count; i++)
            for (size_t j = 0; j < count; j++)
                if (one[i] == other[j]) {
                    *shared = one[i];
                    same++;
                }
        if (same == 1)
            return k;
    }
    fail_msg("no two keys share one counter");
    return 0;
}

static void assert_counters(const bloomery_filter *filter, uint32_t bits, uint64_t shared,
                            uint32_t there, uint32_t used)
{
    struct test_bytes counters = test_counters(filter);
    assert_int_equal(test_counter_at(&counters, bits, (size_t)shared), there);
    assert_int_equal(scan_of(filter).bits_set, used);
    test_bytes_free(&counters);
}

/* Of two keys that share a counter: 1 + 1 there, and minus the first 1 again. */
static void counters_of_two_keys_add_up(void **state)
{
    struct test_keys keys = test_keys_make(TEST_DECIMAL, 1, 0, 5000);
    (void)state;
    for (size_t w = 0; w < TEST_WIDTHS; w++) {
        bloomery_plan plan = test_counting_plan(test_widths[w], 1, 3, 1);
        bloomery_filter *filter = test_create(&plan, NULL);
        uint64_t shared = 0;
        const size_t second = find_neighbour(filter, &keys, &shared);
        bloomery_add(filter, keys.keys[0], NULL);
        assert_counters(filter, test_widths[w], shared, 1, 3);
        bloomery_add(filter, keys.keys[second], NULL);
        assert_counters(filter, test_widths[w], shared, 2, 5);
        assert_true(bloomery_remove(filter, keys.keys[0], NULL));
        assert_counters(filter, test_widths[w], shared, 1, 3);
        assert_true(bloomery_may_contain(filter, keys.keys[second]));
        assert_false(bloomery_may_contain(filter, keys.keys[0]));
        bloomery_free(filter);
    }
    test_keys_free(&keys);
}

/* The same two keys as bits, and the first one's cleared: what would a filter without counters have
 * lost? The bits are those of the blocked filter, changed in its file. */
static void clearing_bits_would_lose_the_other_key(void **state)
{
    bloomery_plan plan = {.kind = BLOOMERY_BLOCKED, .blocks_per_key = 1, .probes = 3, .bits = 512};
    struct test_keys keys = test_keys_make(TEST_DECIMAL, 1, 0, 5000);
    bloomery_filter *filter = test_create(&plan, NULL);
    uint64_t shared = 0;
    (void)state;
    const size_t second = find_neighbour(filter, &keys, &shared);
    bloomery_add(filter, keys.keys[0], NULL);
    struct test_bytes one = test_written(filter);
    bloomery_add(filter, keys.keys[second], NULL);
    assert_true(bloomery_may_contain(filter, keys.keys[second]));
    struct test_bytes both = test_written(filter);
    bloomery_free(filter);
    for (size_t at = forge_payload(&both); at < forge_trailer(&both); at++)
        both.data[at] &= (uint8_t)~one.data[at];
    assert_true(forge_seal(&both));
    assert_int_equal(bloomery_load(both.data, both.bytes, NULL, &filter, NULL), BLOOMERY_OK);
    assert_false(bloomery_may_contain(filter, keys.keys[second]));
    bloomery_free(filter);
    test_bytes_free(&one);
    test_bytes_free(&both);
    test_keys_free(&keys);
}

/* Two real keys with the very same cells: of one removed, the other stays, where clearing bits
 * would lose both. */
static void keys_with_the_same_cells_stand_for_each_other(void **state)
{
    bloomery_plan plan = test_counting_plan(4, 1, 2, 1);
    struct test_keys keys = test_keys_make(TEST_WORDS, 0, 0, 200000);
    bloomery_filter *filter = test_create(&plan, NULL);
    size_t twin = 1;
    (void)state;
    assert_true(bloomery_add(filter, keys.keys[0], NULL));
    while (twin < keys.count && !bloomery_may_contain(filter, keys.keys[twin]))
        twin++;
    assert_true(twin < keys.count);
    assert_int_equal(add_outcome(filter, keys.keys[twin]), WAS_SEEN);
    assert_true(bloomery_remove(filter, keys.keys[twin], NULL));
    assert_true(bloomery_may_contain(filter, keys.keys[0]));
    assert_int_equal(bloomery_key_count(filter, keys.keys[0]), 1);
    assert_true(bloomery_remove(filter, keys.keys[0], NULL));
    assert_false(bloomery_may_contain(filter, keys.keys[0]));
    test_keys_free(&keys);
    bloomery_free(filter);
}

/* ---- Blocked without counters ---------------------------------------------------------------- */

static void check_dropped(uint32_t cell_bits, uint32_t blocks_per_key, uint64_t blocks, bool keyed)
{
    static const uint8_t secret[BLOOMERY_SECRET_BYTES] = {1, 2, 3};
    struct test_keys keys = test_keys_make(TEST_IDS, 1, 0, 200);
    bloomery_plan plan = test_counting_plan(cell_bits, blocks_per_key, 5, blocks);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_filter *dropped = NULL;
    plan.planned_keys = 20;
    plan.planned_rate = 0.25;
    options.seed = keyed ? 0 : 77;
    options.secret = keyed ? secret : NULL;
    options.note = "of counters";
    options.rule.flags = BLOOMERY_RULE_TRIM;
    bloomery_filter *counting = test_create(&plan, &options);
    plan.kind = BLOOMERY_BLOCKED;
    plan.cell_bits = 1;
    bloomery_filter *blocked = test_create(&plan, &options);
    for (size_t i = 0; i < 40; i++) {
        uint64_t new_counters = 0;
        uint64_t new_bits = 0;
        assert_int_equal(add_one(counting, keys.keys[i % 25], &new_counters),
                         add_one(blocked, keys.keys[i % 25], &new_bits));
        assert_int_equal(new_counters, new_bits);
    }
    assert_int_equal(bloomery_drop_counters(counting, NULL, &dropped, NULL), BLOOMERY_OK);
    struct test_bytes one = test_written(dropped);
    struct test_bytes other = test_written(blocked);
    assert_true(test_bytes_equal(&one, &other));
    for (size_t i = 0; i < keys.count; i++)
        assert_int_equal(bloomery_may_contain(counting, keys.keys[i]),
                         bloomery_may_contain(blocked, keys.keys[i]));
    assert_true(scan_of(counting).live_rate == scan_of(blocked).live_rate);
    assert_true(scan_of(counting).estimated_keys == scan_of(blocked).estimated_keys);
    bloomery_free(dropped);
    assert_int_equal(bloomery_drop_counters(blocked, NULL, &dropped, NULL), BLOOMERY_UNSUPPORTED);
    assert_null(dropped);
    test_bytes_free(&one);
    test_bytes_free(&other);
    bloomery_free(counting);
    bloomery_free(blocked);
    test_keys_free(&keys);
}

static void without_counters_it_is_the_blocked_filter(void **state)
{
    (void)state;
    for (size_t w = 0; w < TEST_WIDTHS; w++)
        for (uint32_t blocks_per_key = 1; blocks_per_key <= 4; blocks_per_key++)
            for (uint64_t blocks = 1; blocks <= 9; blocks += 4) {
                check_dropped(test_widths[w], blocks_per_key, blocks, false);
                if (test_keyed())
                    check_dropped(test_widths[w], blocks_per_key, blocks, true);
            }
}

/* The plan is blocked's, with four or eight times the memory. */
static void a_plan_is_that_of_blocked(void **state)
{
    static const double rates[] = {0.3, 0.01, 1e-6};
    (void)state;
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++)
        for (size_t w = 0; w < TEST_WIDTHS; w++) {
            bloomery_plan blocked = {.keys = 50000, .rate = rates[r]};
            bloomery_plan plan = {.kind = BLOOMERY_COUNTING, .keys = 50000, .rate = rates[r]};
            bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
            options.cell_bits = w == 0 ? 0 : test_widths[w];
            assert_int_equal(bloomery_plan_solve(&blocked, NULL, NULL), BLOOMERY_OK);
            assert_int_equal(bloomery_plan_solve(&plan, &options, NULL), BLOOMERY_OK);
            assert_int_equal(plan.cell_bits, test_widths[w]);
            assert_int_equal(plan.bits, blocked.bits);
            assert_int_equal(plan.probes, blocked.probes);
            assert_int_equal(plan.blocks_per_key, blocked.blocks_per_key);
            assert_int_equal(plan.planned_bytes, test_widths[w] * blocked.planned_bytes);
            assert_true(plan.planned_rate == blocked.planned_rate);
            assert_true(bloomery_plan_rate(&plan, 77777) == bloomery_plan_rate(&blocked, 77777));
            assert_true(plan.bits_per_key == test_widths[w] * blocked.bits_per_key);
            assert_true(plan.limit_ratio > 0.999 * test_widths[w] * blocked.limit_ratio);
            assert_true(plan.absent_cache_lines > blocked.absent_cache_lines);
            assert_true(plan.present_cache_lines <=
                        plan.blocks_per_key *
                            (test_widths[w] < plan.probes ? test_widths[w] : plan.probes));
            bloomery_plan within = {
                .kind = BLOOMERY_COUNTING, .keys = 50000, .bytes = plan.planned_bytes};
            assert_int_equal(bloomery_plan_solve(&within, &options, NULL), BLOOMERY_OK);
            assert_true(within.planned_bytes <= plan.planned_bytes &&
                        within.planned_rate <= plan.planned_rate);
        }
}

/* The cache lines that a key's probes lie in, and those that an absent key's reach up to the first
 * counter of 0: counted from the positions, against what the plan says. */
static void a_plan_reads_what_it_says(void **state)
{
    enum { QUERIED = 20000 };
    (void)state;
    for (size_t w = 0; w < TEST_WIDTHS; w++) {
        bloomery_plan plan = {.kind = BLOOMERY_COUNTING, .keys = 5000, .rate = 0.01};
        bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
        options.cell_bits = test_widths[w];
        assert_int_equal(bloomery_plan_solve(&plan, &options, NULL), BLOOMERY_OK);
        assert_int_equal(plan.blocks_per_key, 1);
        bloomery_filter *filter = test_create(&plan, NULL);
        struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 5000 + QUERIED);
        for (size_t i = 0; i < 5000; i++)
            bloomery_add(filter, keys.keys[i], NULL);
        struct test_bytes counters = test_counters(filter);
        double absent = 0;
        double present = 0;
        for (size_t i = 5000; i < keys.count; i++) {
            uint64_t at[32];
            uint32_t read = 0;
            uint32_t all = 0;
            bool hit = true;
            const size_t count = counters_of(filter, keys.keys[i], at);
            for (size_t probe = 0; probe < count; probe++) {
                const uint32_t part = 1u << (at[probe] % 512 * test_widths[w] / 512);
                all |= part;
                read |= hit ? part : 0;
                hit = hit && test_counter_at(&counters, test_widths[w], (size_t)at[probe]) > 0;
            }
            present += __builtin_popcount(all);
            absent += __builtin_popcount(read);
        }
        assert_true(fabs(present / QUERIED - plan.present_cache_lines) < 0.03);
        assert_true(fabs(absent / QUERIED - plan.absent_cache_lines) < 0.05);
        test_bytes_free(&counters);
        test_keys_free(&keys);
        bloomery_free(filter);
    }
}

static void other_counters_are_refused(void **state)
{
    static const struct {
        bloomery_kind kind;
        uint32_t cell_bits;
    } wrong[] = {{BLOOMERY_COUNTING, 1},          {BLOOMERY_COUNTING, 2}, {BLOOMERY_COUNTING, 16},
                 {BLOOMERY_COUNTING, UINT32_MAX}, {BLOOMERY_BLOCKED, 4},  {BLOOMERY_CLASSIC, 8},
                 {BLOOMERY_SCALABLE, 4},          {BLOOMERY_BLOCKED, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bloomery_plan plan = {.kind = wrong[i].kind, .keys = 1000, .rate = 0.01};
        bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
        bloomery_filter *filter = NULL;
        options.cell_bits = wrong[i].cell_bits;
        assert_int_equal(bloomery_plan_solve(&plan, &options, NULL), BLOOMERY_BAD_ARGUMENT);
        plan = (bloomery_plan){.kind = wrong[i].kind, .cell_bits = wrong[i].cell_bits};
        plan.bits = 512;
        plan.probes = 3;
        plan.blocks_per_key = wrong[i].kind == BLOOMERY_CLASSIC ? 0 : 1;
        assert_int_not_equal(bloomery_create(&plan, NULL, &filter, NULL), BLOOMERY_OK);
        assert_null(filter);
    }
}

/* ---- What can't be removed from -------------------------------------------------------------- */

static void filters_that_remove_nothing(void **state)
{
    const bloomery_key key = bloomery_key_of("key", 3);
    bloomery_plan plans[] = {{.kind = BLOOMERY_BLOCKED, .keys = 100, .rate = 0.01},
                             {.kind = BLOOMERY_CLASSIC, .keys = 100, .rate = 0.01},
                             {.kind = BLOOMERY_SCALABLE, .keys = 100, .rate = 0.01}};
    (void)state;
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        assert_int_equal(bloomery_plan_solve(&plans[i], NULL, NULL), BLOOMERY_OK);
        bloomery_filter *filter = test_create(&plans[i], NULL);
        assert_int_equal(bloomery_key_count(filter, key), 0);
        bloomery_add(filter, key, NULL);
        bloomery_add(filter, key, NULL);
        assert_int_equal(bloomery_key_count(filter, key), 1);
        assert_int_equal(remove_status(filter, key), BLOOMERY_UNSUPPORTED);
        assert_int_equal(info_of(filter).counter_max, 0);
        bloomery_free(filter);
    }
}

static void views_count(void **state)
{
    const bloomery_key key = bloomery_key_of("key", 3);
    bloomery_plan plan = test_counting_plan(4, 1, 3, 2);
    bloomery_filter *filter = test_create(&plan, NULL);
    const bloomery_filter *view = NULL;
    bloomery_filter *dropped = NULL;
    (void)state;
    bloomery_add(filter, key, NULL);
    bloomery_add(filter, key, NULL);
    struct test_bytes file = test_written(filter);
    assert_int_equal(bloomery_view(file.data, file.bytes, NULL, &view, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_key_count(view, key), 2);
    assert_int_equal(bloomery_drop_counters(view, NULL, &dropped, NULL), BLOOMERY_OK);
    assert_true(bloomery_may_contain(dropped, key));
    assert_int_equal(bloomery_key_count(dropped, key), 1);
    bloomery_free(dropped);
    bloomery_free(view);
    test_bytes_free(&file);
    bloomery_free(filter);
}

/* Opened without its secret a filter answers "possibly" for every key, as often as can be. */
static void without_its_key_a_count_is_the_maximum(void **state)
{
    static const uint8_t secret[BLOOMERY_SECRET_BYTES] = {9};
    const bloomery_key key = bloomery_key_of("key", 3);
    bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_plan plan = test_counting_plan(8, 2, 3, 2);
    (void)state;
    if (!test_keyed())
        skip();
    options.secret = secret;
    options.secret_outside = true;
    bloomery_filter *filter = test_create(&plan, &options);
    struct test_bytes file = test_written(filter);
    bloomery_free(filter);
    opening.inspect = true;
    assert_int_equal(bloomery_load(file.data, file.bytes, &opening, &filter, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_key_count(filter, key), 255);
    assert_int_equal(remove_status(filter, key), BLOOMERY_SECRET_NEEDED);
    bloomery_free(filter);
    test_bytes_free(&file);
}

/* What was removed stays removed in a file. */
static void counters_are_kept_in_the_file(void **state)
{
    (void)state;
    for (size_t w = 0; w < TEST_WIDTHS; w++) {
        bloomery_plan plan = test_counting_plan(test_widths[w], 2, 4, 3);
        struct test_keys keys = test_keys_make(TEST_RANDOM, 5, 0, 30);
        bloomery_filter *filter = test_create(&plan, NULL);
        bloomery_filter *loaded = NULL;
        test_add_all(filter, &keys);
        test_add_all(filter, &keys);
        struct test_bytes file = test_written(filter);
        assert_int_equal(bloomery_load(file.data, file.bytes, NULL, &loaded, NULL), BLOOMERY_OK);
        for (size_t i = 0; i < keys.count; i++) {
            assert_true(bloomery_remove(filter, keys.keys[i], NULL));
            assert_true(bloomery_remove(loaded, keys.keys[i], NULL));
            assert_true(bloomery_key_count(loaded, keys.keys[i]) >= 1);
        }
        test_assert_same_counters(filter, loaded);
        assert_int_equal(bloomery_clear(loaded, NULL), BLOOMERY_OK);
        assert_no_counter_is_used(loaded);
        bloomery_free(loaded);
        bloomery_free(filter);
        test_bytes_free(&file);
        test_keys_free(&keys);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(removals_lose_no_present_key),
        cmocka_unit_test(saturated_counters_lose_no_present_key),
        cmocka_unit_test(a_block_touches_a_counter_once),
        cmocka_unit_test(removing_an_absent_key_changes_nothing),
        cmocka_unit_test(a_counter_too_small_for_both_blocks_is_absent),
        cmocka_unit_test(a_saturated_counter_stays),
        cmocka_unit_test(counters_of_two_keys_add_up),
        cmocka_unit_test(clearing_bits_would_lose_the_other_key),
        cmocka_unit_test(keys_with_the_same_cells_stand_for_each_other),
        cmocka_unit_test(without_counters_it_is_the_blocked_filter),
        cmocka_unit_test(a_plan_is_that_of_blocked),
        cmocka_unit_test(a_plan_reads_what_it_says),
        cmocka_unit_test(other_counters_are_refused),
        cmocka_unit_test(filters_that_remove_nothing),
        cmocka_unit_test(views_count),
        cmocka_unit_test(without_its_key_a_count_is_the_maximum),
        cmocka_unit_test(counters_are_kept_in_the_file),
    };
    return test_run_group("counting", tests, NULL, NULL);
}
