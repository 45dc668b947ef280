/* SPDX-License-Identifier: Apache-2.0 */
/* What a sieve costs before it exists, and how it splits its memory. docs/sieve.md derives the
 * numbers. */
#include "../support/support.h"

#include "plan/classic_rate.h"
#include "sieve/disk.h"

#include <bloomery/sieve.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const uint64_t billion = 1000000000;

static bool near(double value, double wanted, double tolerance)
{
    const bool is = fabs(value - wanted) <= tolerance * fabs(wanted);
    if (!is)
        print_error("%.10g is not %.10g\n", value, wanted);
    return is;
}

static bloomery_sieve_plan solved(bloomery_sieve_plan plan)
{
    bloomery_error error = {0};
    const bloomery_status status = bloomery_sieve_plan_solve(&plan, &error);
    if (status != BLOOMERY_OK)
        print_error("%s\n", error.text);
    assert_int_equal(status, BLOOMERY_OK);
    return plan;
}

/* ---- The split ------------------------------------------------------------------------------- */

/* The parts by the header's words, added up here once more. */
static uint64_t sum_of_parts(const struct bloomery_sieve_budget *budget, uint32_t partitions,
                             uint32_t leases)
{
    const uint64_t fixed =
        32768 + 256 * (uint64_t)partitions + 96 * (uint64_t)leases + 4096 + 6 * 65536 + 2 * 131072;
    assert_int_equal(budget->fixed, fixed);
    return fixed + (uint64_t)partitions * budget->buffer_bytes +
           8 * ((uint64_t)1 << budget->cache_bits) + 8 * budget->batch +
           2 * ((budget->batch + 63) / 64 * 8) + 4 * (((uint64_t)1 << budget->bucket_bits) + 1);
}

static void parts_fit_in_the_memory(void **unused)
{
    (void)unused;
    uint64_t state = 3;
    for (size_t i = 0; i < 50000; i++) {
        const uint32_t partitions = (uint32_t)1 << test_below(&state, 9);
        const uint32_t leases = (uint32_t)test_below(&state, i % 2 ? 10000 : 1000001);
        const uint64_t memory = test_next(&state) >> (20 + test_below(&state, 34));
        struct bloomery_sieve_budget budget;
        uint64_t least = 0;
        const bool fits = bloomery_sieve_split(memory, partitions, leases, &budget, &least);
        assert_true(fits == (memory >= least));
        if (!fits)
            continue;
        assert_true(budget.total <= memory);
        assert_int_equal(budget.total, sum_of_parts(&budget, partitions, leases));
        /* nothing is left over but what no whole fingerprint more could use, until they have 32
         * bits */
        if (budget.batch < UINT32_MAX)
            assert_true(memory - budget.total < 64 + 4 * ((uint64_t)1 << budget.bucket_bits));
        assert_true(budget.batch >= 16384 && budget.batch <= UINT32_MAX);
        const uint64_t buffer = budget.buffer_bytes;
        const uint64_t free_memory = memory - budget.fixed;
        assert_true(buffer >= 4096 && buffer <= 65536 && (buffer & (buffer - 1)) == 0);
        assert_true(buffer == 4096 || partitions * buffer <= free_memory / 4);
        assert_true(buffer == 65536 || 2 * partitions * buffer > free_memory / 4);
        assert_in_range(budget.cache_bits, 10, 22);
        const uint64_t cache = (uint64_t)8 << budget.cache_bits;
        assert_true(budget.cache_bits == 10 || cache <= free_memory / 8);
        assert_true(budget.cache_bits == 22 || 2 * cache > free_memory / 8);
        const uint64_t buckets = (uint64_t)1 << budget.bucket_bits;
        assert_true(buckets == 256 ||
                    (buckets <= budget.batch / 16 && 2 * buckets > budget.batch / 16));
    }
}

static void least_memory_is_the_least(void **unused)
{
    (void)unused;
    static const uint32_t leases[] = {0, 1, 4096, 1000000};
    for (uint32_t partitions = 1; partitions <= 256; partitions *= 2)
        for (size_t i = 0; i < COUNT(leases); i++) {
            struct bloomery_sieve_budget budget;
            uint64_t least = 0;
            uint64_t same = 0;
            assert_false(bloomery_sieve_split(0, partitions, leases[i], &budget, &least));
            assert_true(bloomery_sieve_split(least, partitions, leases[i], &budget, &same));
            assert_int_equal(least, same);
            assert_int_equal(budget.batch, 16384);
            assert_false(bloomery_sieve_split(least - 1, partitions, leases[i], &budget, &same));
            assert_int_equal(least, same);
            /* and all that is more is enough, where buffers double too */
            for (uint64_t memory = least; memory < 4 * least; memory += 1 + least / 500)
                assert_true(bloomery_sieve_split(memory, partitions, leases[i], &budget, &same));
        }
}

static void partitions_follow_the_keys(void **unused)
{
    (void)unused;
    assert_int_equal(bloomery_sieve_partitions(0), 16);
    assert_int_equal(bloomery_sieve_partitions(1000000), 16);
    assert_int_equal(bloomery_sieve_partitions((uint64_t)1 << 28), 16);
    assert_int_equal(bloomery_sieve_partitions(((uint64_t)1 << 28) + 1), 32);
    assert_int_equal(bloomery_sieve_partitions(billion), 64);
    assert_int_equal(bloomery_sieve_partitions((uint64_t)1 << 32), 256);
    assert_int_equal(bloomery_sieve_partitions(UINT64_MAX), 256);
}

/* ---- Plans ----------------------------------------------------------------------------------- */

/* A billion keys of 80 bytes, 18 MB: DRUM's design counted by hand for r = 833,000, with 12 bytes a
 * key of a batch, the log read once, of the queue the writing alone, and no flush. Where ours
 * differs it is put back. */
static void a_billion_keys_cost_what_was_counted_by_hand(void **unused)
{
    (void)unused;
    const double r = 833000;
    for (uint32_t partitions = 64; partitions <= 256; partitions *= 4) {
        const bloomery_sieve_plan plan = solved((bloomery_sieve_plan){
            .keys = billion, .memory = 18000000, .key_bytes = 80, .partitions = partitions});
        const double batch = (double)plan.batch;
        assert_true(near((plan.seen_traffic - plan.seen_disk) * batch / r,
                         partitions == 64 ? 150e9 : 38e9, 0.1));
        assert_true(near(plan.pending_traffic - 16e9, 176e9, 0.1));
        assert_true(near(plan.queue_traffic / 2, 80e9, 0.1));
        assert_true(near(plan.seen_disk, 8e9, 0.01));
        /* 4.3 GB is the mean: half of what may wait */
        const double hand = partitions == 64 ? 4.3e9 : 17e9;
        assert_true(near(plan.pending_disk * r / batch / 88, hand / 80, 0.2));
        assert_true(near((double)plan.pending_max * r / batch, r * partitions, 1e-6));
    }
}

/* 1e10 layers to 1e9 pages; the cache answers 80 % of all. */
static void repeated_layers_cost_what_was_counted_by_hand(void **unused)
{
    (void)unused;
    const bloomery_sieve_plan plan = solved((bloomery_sieve_plan){.keys = billion,
                                                                  .pushes = 10 * billion,
                                                                  .memory = 18000000,
                                                                  .key_bytes = 80,
                                                                  .partitions = 64,
                                                                  .cache_hit = 8.0 / 9});
    assert_true(
        near((plan.seen_traffic - plan.seen_disk) * (double)plan.batch / 833000, 300e9, 0.1));
    assert_true(near(plan.pending_traffic - 32e9, 352e9, 0.1));
    assert_true(near(plan.queue_traffic / 2, 80e9, 0.1));
    assert_true(near(plan.seconds,
                     (plan.seen_traffic + plan.pending_traffic + plan.queue_traffic) / 500e6,
                     1e-12));
}

/* Every merge of every partition, one by one; and the formula that docs/sieve.md gives. */
static void traffic_is_the_sum_over_merges(void **unused)
{
    (void)unused;
    static const uint64_t keys[] = {1000, 3000000, 50000000, 1000000000, 20000000000};
    for (size_t i = 0; i < COUNT(keys); i++)
        for (uint64_t times = 1; times <= 5; times += 2)
            for (uint32_t bits = 48; bits <= 64; bits += 16) {
                const bloomery_sieve_plan plan =
                    solved((bloomery_sieve_plan){.keys = keys[i],
                                                 .pushes = times * keys[i],
                                                 .fingerprint_bits = bits,
                                                 .memory = 20000000,
                                                 .cache_hit = 0.25});
                const double stored = bits == 64 ? 4096.0 / 511 : 4096.0 / 681;
                const double n = (double)keys[i];
                const double batch = (double)plan.batch;
                const double pushes = n * (1 + (double)(times - 1) * 0.75) / plan.partitions;
                double moved = 0;
                for (uint32_t partition = 1; partition <= plan.partitions; partition++) {
                    double in_file = 0;
                    for (double at = batch * partition / plan.partitions;; at += batch) {
                        const double after = n / plan.partitions * fmin(at / pushes, 1);
                        moved += in_file + after;
                        in_file = after;
                        if (at >= pushes)
                            break;
                    }
                }
                assert_true(near(plan.seen_traffic, stored * moved, 1e-9));
                const double batches = pushes / batch;
                assert_true(near(plan.seen_traffic, stored * n * (batches + 1), 0.05));
                assert_true(near(plan.seen_disk, stored * n + 64 * plan.partitions, 1e-9));
                assert_true(near(plan.flush_seconds, 2 * plan.seen_disk / 500e6, 1e-9));
            }
}

/* "1 billion visited URLs in 18 MB", and what it takes. */
static void eighteen_megabytes_hold_no_billion_without_a_disk(void **unused)
{
    (void)unused;
    bloomery_sieve_plan plan =
        solved((bloomery_sieve_plan){.keys = billion, .memory = 18000000, .rate = 1e-4});
    assert_true(near(plan.budget_rate, 0.905, 0.001));
    assert_true(near(plan.limit_bytes, 1.66e9, 0.01));
    assert_true(near(plan.filter_bytes, 2.396e9, 0.1));
    assert_true(plan.filter_bytes > 128 * 18000000.0);
    assert_true(near(plan.wrong_drops, 0.0271, 0.01));
    assert_true(plan.min_memory < 18000000);
    plan =
        solved((bloomery_sieve_plan){.keys = billion, .memory = 18000000, .fingerprint_bits = 48});
    assert_true(near(plan.wrong_drops, 1776, 0.001));
    assert_true(near(plan.filter_bytes, 3.6e9, 0.1));
    assert_true(near(plan.seen_disk, 6e9, 0.01));
    plan = solved((bloomery_sieve_plan){.keys = billion, .memory = (uint64_t)4 << 30});
    assert_true(near(plan.budget_rate, exp2(-8 * 4.294967296), 1e-9));
}

/* The table "The arithmetic" of docs/sieve.md. */
static void the_page_has_the_numbers_of_the_plan(void **unused)
{
    (void)unused;
    static const struct {
        bloomery_sieve_plan queried;
        uint64_t batch;
        double pending, pending_gb, seen_gb, logs_gb, minutes, millions;
    } rows[] = {
        {{.memory = 18000000}, 1253887, 80e6, 4.8, 108, 136, 11.6, 1.4},
        {{.memory = 13000000}, 1045013, 67e6, 4.0, 128, 136, 12.3, 1.4},
        {{.memory = 13000000, .partitions = 256}, 1039055, 266e6, 16.1, 38, 137, 9.3, 1.8},
        {{.memory = 0}, 6856951, 439e6, 26.3, 26, 136, 8.9, 1.9},
        {{.memory = 13000000, .pushes = 10000000000, .cache_hit = 0.8},
         1045013,
         67e6,
         4.0,
         344,
         382,
         27.7,
         6.0},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        bloomery_sieve_plan queried = rows[i].queried;
        queried.keys = billion;
        const bloomery_sieve_plan plan = solved(queried);
        assert_int_equal(plan.batch, rows[i].batch);
        assert_true(near((double)plan.pending_max, rows[i].pending, 0.007));
        assert_true(near(plan.pending_disk / 1e9, rows[i].pending_gb, 0.007));
        assert_true(near(plan.seen_disk / 1e9, 8.02, 0.001));
        assert_true(near(plan.queue_disk / 1e9, 52, 0.002));
        assert_true(near(plan.seen_traffic / 1e9, rows[i].seen_gb, 0.01));
        assert_true(near(plan.pending_traffic / 1e9, rows[i].logs_gb, 0.01));
        assert_true(near(plan.queue_traffic / 1e9, 104, 0.002));
        assert_true(near(plan.seconds / 60, rows[i].minutes, 0.01));
        assert_true(near((double)plan.pushes / plan.seconds / 1e6, rows[i].millions, 0.035));
        assert_true(near(plan.flush_seconds, 32, 0.01));
    }
    static const struct {
        double rate, min_gb, classic_gb, blocked_gb, classic_millions, blocked_millions;
    } filters[] = {
        {1e-2, 0.83, 1.20, 1.26, 15.0, 14.3},
        {1e-4, 1.66, 2.40, 2.48, 7.5, 7.3},
        {1e-6, 2.49, 3.59, 3.93, 5.0, 4.6},
    };
    for (size_t i = 0; i < COUNT(filters); i++) {
        const bloomery_sieve_plan plan = solved(
            (bloomery_sieve_plan){.keys = billion, .memory = 18000000, .rate = filters[i].rate});
        assert_true(near(plan.limit_bytes / 1e9, filters[i].min_gb, 0.004));
        assert_true(near(plan.filter_bytes / 1e9, filters[i].blocked_gb, 0.004));
        bloomery_error error;
        bloomery_plan classic = {
            .keys = billion, .rate = filters[i].rate, .kind = BLOOMERY_CLASSIC};
        assert_int_equal(bloomery_plan_solve(&classic, NULL, &error), BLOOMERY_OK);
        assert_true(near((double)classic.planned_bytes / 1e9, filters[i].classic_gb, 0.004));
        for (int blocked = 0; blocked < 2; blocked++) {
            bloomery_plan small = {.bytes = 18000000,
                                   .rate = filters[i].rate,
                                   .kind = blocked ? BLOOMERY_BLOCKED : BLOOMERY_CLASSIC};
            assert_int_equal(bloomery_plan_solve(&small, NULL, &error), BLOOMERY_OK);
            assert_true(near((double)small.planned_keys / 1e6,
                             blocked ? filters[i].blocked_millions : filters[i].classic_millions,
                             0.01));
        }
    }
}

/* 1e9 different keys, one after the other; those it takes for seen are dropped and not added. */
static void a_filter_of_18_megabytes_drops_nine_of_ten(void **unused)
{
    (void)unused;
    const double bits = 1e9 * log2(1e4) / log(2);      /* planned for 1e9 keys at 1e-4, */
    const uint64_t words = (uint64_t)ceil(bits / 128); /* whose words were taken for bits */
    assert_true(near(bits, 19.17e9, 0.001));
    assert_true(near((double)words, 149.8e6, 0.001));
    assert_true(near((double)words / 8, 18.7e6, 0.002));
    const double step = 1e5;
    double let_through = 0;
    double half_from = 0;
    for (double pushed = 0; pushed < 1e9; pushed += step) {
        const double rate = bloomery_classic_rate(words, 14, (uint64_t)let_through);
        if (half_from == 0 && rate >= 0.5)
            half_from = pushed;
        let_through += step * (1 - rate);
    }
    assert_true(near(let_through, 76e6, 0.01));
    assert_true(near(1 - let_through / 1e9, 0.924, 0.001));
    assert_true(near(half_from, 38e6, 0.01));
}

/* The sums of the plan against the engine's counters: everything but the queue, which is written
 * and not read here. */
static void the_engine_moves_what_the_plan_says(void **unused)
{
    (void)unused;
    enum { KEYS = 1000000, BATCH = 400, BYTES = 50 };
    const struct test_directory directory = test_directory_make();
    bloomery_sieve_options options = BLOOMERY_SIEVE_OPTIONS;
    options.directory = directory.path;
    options.memory = 1330000;
    options.partitions = 16;
    options.sync = BLOOMERY_SIEVE_SYNC_NEVER;
    bloomery_sieve *sieve = NULL;
    bloomery_error error = {0};
    if (bloomery_sieve_open(&options, &sieve, &error) != BLOOMERY_OK)
        fail_msg("%s", error.text);
    static char bytes[BATCH][BYTES + 1];
    bloomery_key keys[BATCH];
    for (unsigned from = 0; from < KEYS; from += BATCH) {
        for (unsigned i = 0; i < BATCH; i++) {
            snprintf(bytes[i], sizeof bytes[i], "https://www.example.com/%0*u", BYTES - 24,
                     from + i);
            keys[i] = bloomery_key_of(bytes[i], BYTES);
        }
        assert_int_equal(
            bloomery_sieve_push(sieve, keys, NULL, BATCH, BLOOMERY_SIEVE_PUSH, NULL, NULL, &error),
            BLOOMERY_OK);
    }
    assert_int_equal(bloomery_sieve_flush(sieve, &error), BLOOMERY_OK);
    bloomery_sieve_info info = BLOOMERY_SIEVE_INFO;
    bloomery_sieve_info_get(sieve, &info);
    const bloomery_sieve_plan plan = solved((bloomery_sieve_plan){
        .keys = KEYS, .memory = 1330000, .partitions = 16, .key_bytes = BYTES});
    assert_true(KEYS / plan.partitions > 3 * plan.batch);
    assert_int_equal(info.new_keys, KEYS);
    assert_true(near((double)(info.bytes_read + info.bytes_written),
                     plan.seen_traffic + plan.pending_traffic + plan.queue_traffic / 2, 0.01));
    assert_true(near((double)info.seen_bytes, plan.seen_disk, 0.01));
    assert_true(near((double)info.queue_bytes, plan.queue_disk, 0.01));
    assert_true(info.memory <= options.memory);
    assert_int_equal(bloomery_sieve_close(sieve, &error), BLOOMERY_OK);
    test_directory_remove(&directory);
}

static void defaults_are_filled_in(void **unused)
{
    (void)unused;
    const bloomery_sieve_plan plan = solved((bloomery_sieve_plan){.keys = billion});
    assert_int_equal(plan.pushes, billion);
    assert_int_equal(plan.memory, 64 << 20);
    assert_true(plan.key_bytes == 50 && plan.rate == 1e-6 && plan.disk_speed == 500e6);
    assert_int_equal(plan.fingerprint_bits, 64);
    assert_int_equal(plan.partitions, 64);
    assert_int_equal(plan.pending_max, 64 * plan.batch);
    /* one key: written once everywhere */
    const bloomery_sieve_plan one = solved((bloomery_sieve_plan){.keys = 1});
    assert_int_equal(one.pending_max, 1);
    assert_true(one.seen_traffic > 8 && one.seen_traffic < 9);
}

static void plans_out_of_range_are_refused(void **unused)
{
    (void)unused;
    static const struct {
        bloomery_sieve_plan plan;
        const char *text;
    } cases[] = {
        {{.keys = 0}, "2^48"},
        {{.keys = ((uint64_t)1 << 48) + 1}, "2^48"},
        {{.keys = 10, .pushes = 9}, "pushes"},
        {{.keys = 10, .key_bytes = -1}, "bytes"},
        {{.keys = 10, .key_bytes = 1048577}, "bytes"},
        {{.keys = 10, .key_bytes = NAN}, "bytes"},
        {{.keys = 10, .rate = 1}, "rate"},
        {{.keys = 10, .rate = -1e-3}, "rate"},
        {{.keys = 10, .rate = NAN}, "rate"},
        {{.keys = 10, .rate = 1e-300}, ""},
        {{.keys = 10, .fingerprint_bits = 56}, "64 or 48"},
        {{.keys = 10, .partitions = 3}, "power of two"},
        {{.keys = 10, .partitions = 512}, "power of two"},
        {{.keys = 10, .cache_hit = 1.01}, "cache"},
        {{.keys = 10, .cache_hit = -0.1}, "cache"},
        {{.keys = 10, .cache_hit = NAN}, "cache"},
        {{.keys = 10, .disk_speed = -1}, "disk"},
        {{.keys = 10, .disk_speed = INFINITY}, "disk"},
        {{.keys = 10, .disk_speed = NAN}, "disk"},
        {{.keys = 10, .memory = 1000000}, "at least"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        bloomery_sieve_plan plan = cases[i].plan;
        bloomery_error error = {0};
        assert_int_equal(bloomery_sieve_plan_solve(&plan, &error), BLOOMERY_BAD_ARGUMENT);
        if (strstr(error.text, cases[i].text) == NULL)
            fail_msg("case %zu says: %s", i, error.text);
        assert_memory_equal(&plan, &cases[i].plan, sizeof plan);
    }
}

/* The text names the least, and the least does. */
static void least_memory_is_reported(void **unused)
{
    (void)unused;
    for (uint32_t partitions = 1; partitions <= 256; partitions *= 4) {
        bloomery_sieve_plan plan = {.keys = billion, .partitions = partitions, .memory = 1};
        bloomery_error error = {0};
        assert_int_equal(bloomery_sieve_plan_solve(&plan, &error), BLOOMERY_BAD_ARGUMENT);
        const char *digits = strstr(error.text, "at least ");
        assert_non_null(digits);
        plan.memory = strtoull(digits + strlen("at least "), NULL, 10);
        assert_int_equal(bloomery_sieve_plan_solve(&plan, &error), BLOOMERY_OK);
        assert_int_equal(plan.memory, plan.min_memory);
        assert_int_equal(plan.batch, 16384);
    }
}

static void numbers_are_sound_at_the_ends(void **unused)
{
    (void)unused;
    static const uint64_t keys[] = {1, 2, 16384, (uint64_t)1 << 40, (uint64_t)1 << 48};
    static const double key_bytes[] = {1e-9, 15, 16, 2047, 2048, 1048576};
    for (size_t i = 0; i < COUNT(keys); i++)
        for (size_t j = 0; j < COUNT(key_bytes); j++) {
            const bloomery_sieve_plan plan =
                solved((bloomery_sieve_plan){.keys = keys[i],
                                             .pushes = i % 2 ? UINT64_MAX : keys[i],
                                             .memory = j % 2 ? (uint64_t)1 << 50 : 0,
                                             .key_bytes = key_bytes[j]});
            const double numbers[] = {
                plan.seen_disk,    plan.pending_disk,  plan.queue_disk,
                plan.seen_traffic, plan.queue_traffic, plan.pending_traffic,
                plan.seconds,      plan.flush_seconds, plan.wrong_drops,
                plan.filter_bytes, plan.limit_bytes,   (double)plan.pending_max,
            };
            for (size_t k = 0; k < COUNT(numbers); k++)
                assert_true(isfinite(numbers[k]) && numbers[k] > 0);
            assert_true(plan.budget_rate >= 0 && plan.budget_rate <= 1);
            assert_true(plan.queue_disk >= (key_bytes[j] + 1) * (double)keys[i]);
            assert_true(plan.filter_bytes > plan.limit_bytes);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_fit_in_the_memory),
        cmocka_unit_test(least_memory_is_the_least),
        cmocka_unit_test(partitions_follow_the_keys),
        cmocka_unit_test(a_billion_keys_cost_what_was_counted_by_hand),
        cmocka_unit_test(repeated_layers_cost_what_was_counted_by_hand),
        cmocka_unit_test(traffic_is_the_sum_over_merges),
        cmocka_unit_test(eighteen_megabytes_hold_no_billion_without_a_disk),
        cmocka_unit_test(the_page_has_the_numbers_of_the_plan),
        cmocka_unit_test(a_filter_of_18_megabytes_drops_nine_of_ten),
        cmocka_unit_test(the_engine_moves_what_the_plan_says),
        cmocka_unit_test(defaults_are_filled_in),
        cmocka_unit_test(plans_out_of_range_are_refused),
        cmocka_unit_test(least_memory_is_reported),
        cmocka_unit_test(numbers_are_sound_at_the_ends),
    };
    return test_run_group("sieve_plan", tests, NULL, NULL);
}
