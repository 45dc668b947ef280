/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters that grow: no key is lost, and the rate of the whole chain stays under the planned one,
 * to a hundred times the keys of the first layer and further. Where layers begin depends on the
 * sequence of keys alone: not on batches, threads, or on having been saved and opened between.
 *
 * Build: this file, ../support/support.c, ../support/bounds.c; cmocka, the library, threads. No
 * arguments. Suite: property.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/bounds.h"
#include "../support/support.h"
#include "../support/team.h"

#include <bloomery/experimental.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bloomery_filter *make(uint64_t keys, double rate, const bloomery_create_options *options)
{
    bloomery_plan plan = {.kind = BLOOMERY_SCALABLE, .keys = keys, .rate = rate};
    bloomery_error error = {.text = ""};
    if (bloomery_plan_solve(&plan, NULL, &error) != BLOOMERY_OK)
        fail_msg("%s", error.text);
    assert_int_equal(plan.kind, BLOOMERY_SCALABLE);
    assert_true(plan.planned_rate == rate && plan.planned_keys == keys);
    return test_create(&plan, options);
}

static void add_range(bloomery_filter *filter, const struct test_keys *keys, size_t from, size_t to)
{
    assert_int_equal(add_list(filter, keys->keys + from, to - from, NULL), BLOOMERY_OK);
}

/* ---- Rate ----------------------------------------------------------------------------------- */

static void no_key_is_lost_while_a_chain_grows(void **state)
{
    (void)state;
    for (int family = 0; family < TEST_FAMILIES; family++) {
        struct test_keys keys = test_keys_make((enum test_family)family, 1, 0, 20000);
        bloomery_filter *filter = make(100, 0.01, NULL);
        for (size_t done = 0; done < keys.count;) {
            size_t next = done * 2 + 7 < keys.count ? done * 2 + 7 : keys.count;
            add_range(filter, &keys, done, next);
            done = next;
            assert_int_equal(query_list(filter, keys.keys, done, NULL), done);
        }
        for (size_t i = 0; i < keys.count; i++)
            assert_true(bloomery_may_contain(filter, keys.keys[i]));
        bloomery_info info = info_of(filter);
        assert_int_equal(info.layers, 8); /* 100 (2^7 - 1) < 20000 <= 100 (2^8 - 1) */
        bloomery_free(filter);
        test_keys_free(&keys);
    }
}

/* At each doubling up to 128 times the first capacity (long: 1024 times), measured with keys that
 * were never added, and computed from the bits. */
static void compound_rate_stays_under_the_planned_one(void **state)
{
    (void)state;
    static const double rates[] = {0.1, 0.01, 1e-3, 1e-6};
    const uint64_t first = 1000;
    const bool emulated = test_emulator() != NULL; /* where arithmetic takes minutes */
    const uint64_t times = test_long() ? 1024 : emulated ? 16 : 128;
    const size_t absent = emulated ? 20000 : 200000;
    struct test_keys keys = test_keys_make(TEST_IDS, 3, 0, first * times + absent);
    double risk = 1e-9;
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        bloomery_filter *filter = make(first, rates[r], NULL);
        double worst = 0;
        size_t done = 0;
        for (uint64_t now = 1; now <= times; now *= 2) {
            add_range(filter, &keys, done, first * now);
            done = first * now;
            const double rate = scan_of(filter).live_rate;
            double hits = (double)query_list(filter, keys.keys + first * times, absent, NULL);
            assert_true(test_rate_at_least(hits, (double)absent, risk) <= rate);
            assert_true(test_rate_at_most(hits, (double)absent, risk) >= rate);
            assert_true(rate <= rates[r]);
            assert_true(info_of(filter).planned_rate == rates[r]);
            worst = rate / rates[r] > worst ? rate / rates[r] : worst;
        }
        print_message("# rate %g: at worst %.3f of it, in %u layers\n", rates[r], worst,
                      info_of(filter).layers);
        /* A chain that wasted its rate would pass too. */
        assert_true(worst > (emulated ? 0.5 : 0.7));
        bloomery_free(filter);
    }
    test_keys_free(&keys);
}

/* ---- When it grows -------------------------------------------------------------------------- */

/* Repeated keys do not make it grow, nor do the keys that were planned for. */
static void a_chain_grows_by_new_keys_only(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_URLS, 5, 0, 5400);
    bloomery_filter *filter = make(5000, 0.001, NULL);
    for (unsigned round = 0; round < 20; round++)
        add_range(filter, &keys, 0, 4900);
    bloomery_info info = info_of(filter);
    assert_int_equal(info.layers, 1);
    assert_int_equal(info.adds, 20 * 4900);
    assert_true(fabs(scan_of(filter).estimated_keys - 4900) < 100);
    add_range(filter, &keys, 4900, 5400);
    info = info_of(filter);
    assert_int_equal(info.layers, 2);
    assert_int_equal(info.planned_keys, 15000);
    bloomery_layer_info layer = BLOOMERY_LAYER_INFO;
    assert_int_equal(bloomery_layer_info_get(filter, 0, true, &layer), BLOOMERY_OK);
    assert_int_equal(layer.planned_keys, 5000);
    assert_true(layer.planned_rate == 0.001 / 4);
    assert_true(fabs(layer.estimated_keys - 5000) < 100);
    assert_int_equal(bloomery_layer_info_get(filter, 1, true, &layer), BLOOMERY_OK);
    assert_int_equal(layer.planned_keys, 10000);
    assert_true(layer.planned_rate == 0.001 / 4 * 0.75);
    assert_true(layer.estimated_keys > 300 && layer.estimated_keys < 500);
    assert_int_equal(bloomery_layer_info_get(filter, 2, true, &layer), BLOOMERY_BAD_ARGUMENT);

    /* What an older layer has is not added again: not a bit changes. */
    const uint64_t bits_set = scan_of(filter).bits_set;
    uint64_t new_bits = 1;
    uint64_t answers[80];
    assert_int_equal(add_list_bits(filter, keys.keys, 4900, answers, &new_bits), BLOOMERY_OK);
    assert_int_equal(new_bits, 0);
    for (size_t i = 0; i < 4900; i++)
        assert_false(answers[i / 64] >> i % 64 & 1);
    assert_int_equal(scan_of(filter).bits_set, bits_set);
    bloomery_free(filter);
    test_keys_free(&keys);
}

/* Who knows how many keys there are gets a filter of that size, whatever the keys are. */
static void a_chain_with_its_planned_keys_has_one_layer(void **state)
{
    (void)state;
    static const uint64_t planned[] = {1, 2, 10, 100, 1000, 20000};
    for (size_t p = 0; p < sizeof planned / sizeof planned[0]; p++) {
        const bool few = test_emulator() != NULL || planned[p] > 1000;
        for (uint64_t seed = 0; seed < (test_long() ? 60U : few ? 6U : 20U); seed++) {
            bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
            options.seed = seed;
            struct test_keys keys = test_keys_make(TEST_IDS, 9, 0, 2 * planned[p] + 20);
            bloomery_filter *filter = make(planned[p], p % 2 ? 1e-3 : 0.05, &options);
            add_range(filter, &keys, 0, planned[p]);
            assert_int_equal(info_of(filter).layers, 1);
            add_range(filter, &keys, planned[p], keys.count);
            assert_true(info_of(filter).layers > 1);
            bloomery_free(filter);
            test_keys_free(&keys);
        }
    }
}

/* The estimate, kept by summing up, is that of a scan, layer by layer. */
static void the_estimate_is_known_while_adding(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_RANDOM, 6, 0, 60000);
    bloomery_filter *filter = make(1000, 1e-4, NULL);
    uint64_t bits_set = 0;
    for (size_t done = 0; done < keys.count; done += 1500) {
        uint64_t new_bits;
        assert_int_equal(add_list_bits(filter, keys.keys + done, 1500, NULL, &new_bits),
                         BLOOMERY_OK);
        bits_set += new_bits;
        const bloomery_scan_result scan = scan_of(filter);
        assert_int_equal(scan.bits_set, bits_set);
        assert_true(fabs(bloomery_estimate(filter, bits_set) - scan.estimated_keys) <
                    1e-6 * scan.estimated_keys);
        double n = (double)(done + 1500);
        assert_true(fabs(scan.estimated_keys - n) < 0.01 * n + 4 * sqrt(n));
    }
    struct test_bytes bytes = test_written(filter);
    const bloomery_filter *view = NULL;
    assert_int_equal(bloomery_view(bytes.data, bytes.bytes, NULL, &view, NULL), BLOOMERY_OK);
    assert_true(bloomery_estimate(view, bits_set) == bloomery_estimate(filter, bits_set));
    bloomery_free(view);
    test_bytes_free(&bytes);
    bloomery_free(filter);
    test_keys_free(&keys);
}

/* ---- The sequence decides, and nothing else ------------------------------------------------- */

struct portions {
    const struct test_keys *keys;
    size_t next[3]; /* of each share */
    size_t end[3];
};

static size_t next_portion(void *context, uint32_t thread, const bloomery_key **keys)
{
    struct portions *portions = context;
    size_t left = portions->end[thread] - portions->next[thread];
    size_t count = left < 777 ? left : 777;
    *keys = portions->keys->keys + portions->next[thread];
    portions->next[thread] += count;
    return count;
}

/* Every third key is one that came before. */
static struct test_keys with_repeats(size_t count)
{
    struct test_keys keys = test_keys_make(TEST_DECIMAL, 8, 0, count);
    uint64_t random = 9;
    for (size_t i = 3; i < count; i += 3)
        keys.keys[i] = keys.keys[test_below(&random, i)];
    return keys;
}

static void any_way_of_adding_gives_the_same_chain(void **state)
{
    (void)state;
    struct test_keys keys = with_repeats(30000);
    bloomery_create_options shared = BLOOMERY_CREATE_OPTIONS;
    shared.concurrent_adds = true;
    bloomery_filter *one = make(500, 0.01, NULL);
    bloomery_filter *others[6];
    for (size_t i = 0; i < 6; i++)
        others[i] = make(500, 0.01, i == 4 ? &shared : NULL);
    uint64_t random = 10;
    bool fresh[30000];
    for (size_t i = 0; i < keys.count; i++) {
        int found = add_outcome(one, keys.keys[i]);
        assert_true(found == WAS_NEW || found == WAS_SEEN);
        fresh[i] = found == WAS_NEW;
    }
    for (size_t done = 0; done < keys.count;) {
        size_t count = test_below(&random, 300) + 1;
        count = count < keys.count - done ? count : keys.count - done;
        uint64_t answers[5], hashed[5], single[5];
        bloomery_hash hashes[300];
        assert_int_equal(add_list(others[0], keys.keys + done, count, answers), 0);
        assert_int_equal(hash_list(others[1], keys.keys + done, count, hashes), 0);
        assert_int_equal(add_hashes(others[1], hashes, count, hashed), 0);
        assert_int_equal(add_list(others[4], keys.keys + done, count, single), 0);
        for (size_t i = 0; i < count; i++) {
            assert_true((answers[i / 64] >> i % 64 & 1) == fresh[done + i]);
            assert_true((hashed[i / 64] >> i % 64 & 1) == fresh[done + i]);
            assert_true((single[i / 64] >> i % 64 & 1) == fresh[done + i]);
        }
        done += count;
    }
    assert_int_equal(add_list_threads(others[2], keys.keys, keys.count, 8, NULL), BLOOMERY_OK);
    struct portions portions = {&keys, {0, 9000, 20000}, {9000, 20000, 30000}};
    assert_int_equal(bloomery_add_from(others[3], next_portion, &portions, 3, NULL), 0);
    for (size_t done = 0, count = 1; done < keys.count; done += count, count = count * 3 % 4001) {
        count = count < keys.count - done ? count : keys.count - done;
        const bloomery_keys list = bloomery_keys_of_list(keys.keys + done, count);
        assert_int_equal(bloomery_add_keys(others[5], &list, NULL, NULL, NULL), BLOOMERY_OK);
    }
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(scan_of(others[i]).bits_set, scan_of(one).bits_set);
        test_assert_same(one, others[i]);
        bloomery_free(others[i]);
    }
    bloomery_free(one);
    test_keys_free(&keys);
}

/* Asked in batches, by hashes, through a map and one by one. */
static void all_ways_to_query_agree(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_WORDS, 2, 0, 40000);
    bloomery_filter *filter = make(300, 0.05, NULL);
    add_range(filter, &keys, 0, 20000);
    uint64_t *answers = malloc(keys.count / 8 + 8);
    uint64_t *hashed = malloc(keys.count / 8 + 8);
    bloomery_hash *hashes = malloc(keys.count * sizeof *hashes);
    size_t found = query_list(filter, keys.keys, keys.count, answers);
    assert_int_equal(hash_list(filter, keys.keys, keys.count, hashes), BLOOMERY_OK);
    assert_int_equal(query_hashes(filter, hashes, keys.count, hashed), found);
    assert_memory_equal(answers, hashed, keys.count / 8);
    assert_true(found > 20000 && found < 21500);
    for (size_t i = 0; i < keys.count; i++)
        assert_true(bloomery_may_contain(filter, keys.keys[i]) == (answers[i / 64] >> i % 64 & 1));
    free(answers);
    free(hashed);
    free(hashes);
    bloomery_free(filter);
    test_keys_free(&keys);
}

/* Saved and opened after every portion, it is the chain that was never closed. */
static void a_reopened_chain_grows_on(void **state)
{
    (void)state;
    struct test_keys keys = with_repeats(20000);
    bloomery_filter *whole = make(200, 0.001, NULL);
    bloomery_filter *parts = make(200, 0.001, NULL);
    add_range(whole, &keys, 0, keys.count);
    for (size_t done = 0; done < keys.count; done += 1000) {
        add_range(parts, &keys, done, done + 1000);
        struct test_bytes bytes = test_written(parts);
        assert_int_equal(bytes.bytes, info_of(parts).file_bytes);
        bloomery_free(parts);
        assert_int_equal(bloomery_load(bytes.data, bytes.bytes, NULL, &parts, NULL), BLOOMERY_OK);
        assert_int_equal(bloomery_verify(parts, NULL), BLOOMERY_OK);
        test_bytes_free(&bytes);
    }
    test_assert_same(whole, parts);
    struct test_directory directory = test_directory_make();
    char path[256];
    test_join(path, sizeof path, &directory, "chain.bloom");
    assert_int_equal(bloomery_save(parts, path, NULL), BLOOMERY_OK);
    const bloomery_filter *mapped = NULL;
    assert_int_equal(bloomery_map(path, NULL, &mapped, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_verify(mapped, NULL), BLOOMERY_OK);
    assert_int_equal(query_list(mapped, keys.keys, keys.count, NULL), keys.count);
    bloomery_free(mapped);
    test_directory_remove(&directory);
    bloomery_free(whole);
    bloomery_free(parts);
    test_keys_free(&keys);
}

static void a_cleared_chain_is_a_new_one(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_IDS, 4, 0, 9000);
    for (unsigned loaded = 0; loaded < 2; loaded++) {
        bloomery_filter *used = make(300, 0.01, NULL);
        bloomery_filter *fresh = make(300, 0.01, NULL);
        add_range(used, &keys, 0, 5000);
        if (loaded) { /* its layers then lie in one piece */
            struct test_bytes bytes = test_written(used);
            bloomery_free(used);
            assert_int_equal(bloomery_load(bytes.data, bytes.bytes, NULL, &used, NULL), 0);
            test_bytes_free(&bytes);
        }
        assert_int_equal(bloomery_clear(used, NULL), BLOOMERY_OK);
        test_assert_same(used, fresh);
        add_range(used, &keys, 3000, 9000);
        add_range(fresh, &keys, 3000, 9000);
        test_assert_same(used, fresh);
        bloomery_free(used);
        bloomery_free(fresh);
    }
    test_keys_free(&keys);
}

/* ---- Limits --------------------------------------------------------------------------------- */

/* It stops at the key that does not fit, tells how many were added, and loses none. */
static void a_full_chain_says_so_and_keeps_all(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_URLS, 7, 0, 20000);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.memory_limit = 12000;
    bloomery_filter *filter = make(1000, 0.01, &options);
    bloomery_filter *singly = make(1000, 0.01, &options);
    uint64_t answers[20000 / 64 + 1];
    uint64_t new_bits;
    assert_int_equal(add_list_bits(filter, keys.keys, keys.count, answers, &new_bits),
                     BLOOMERY_FULL);
    bloomery_info info = info_of(filter);
    assert_true(info.bytes <= options.memory_limit);
    assert_true(info.adds > 2500 && info.adds < 20000);
    assert_int_equal(info.layers, 2);
    assert_int_equal(scan_of(filter).bits_set, new_bits);
    assert_int_equal(query_list(filter, keys.keys, info.adds, NULL), info.adds);
    assert_false(bloomery_may_contain(filter, keys.keys[info.adds])); /* else it were SEEN */
    for (size_t i = info.adds; i < keys.count; i++)
        assert_false(answers[i / 64] >> i % 64 & 1);
    for (size_t i = 0; i < keys.count; i++) {
        int found = add_outcome(singly, keys.keys[i]);
        if (i == info.adds)
            assert_int_equal(found, BLOOMERY_FULL);
        if (found == BLOOMERY_FULL)
            break;
    }
    test_assert_same(filter, singly);
    assert_int_equal(add_outcome(filter, keys.keys[0]), WAS_SEEN);

    bloomery_error error = {.text = ""};
    assert_int_equal(add_list_threads(filter, keys.keys + info.adds, 1, 1, &error), BLOOMERY_FULL);
    assert_non_null(strstr(error.text, "2 layers"));
    assert_non_null(strstr(error.text, "the limit of 11.72 KiB"));
    bloomery_free(filter);
    bloomery_free(singly);

    bloomery_plan plan = {.kind = BLOOMERY_SCALABLE, .keys = 1000000, .rate = 0.01};
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_create(&plan, &options, &filter, &error), BLOOMERY_BAD_ARGUMENT);
    assert_null(filter);
    test_keys_free(&keys);
}

/* Whatever allocation fails: the keys that were reported added are there, and it can go on
 * later. */
static void a_layer_without_memory_loses_nothing(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_LITTLE, 7, 0, 3000);
    bloomery_filter *whole = make(100, 0.01, NULL);
    add_range(whole, &keys, 0, keys.count);
    unsigned refused = 0;
    for (uint64_t at = 1; at < 12; at++) {
        struct test_memory memory = {.refuse_at = at};
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        options.allocator = test_allocator(&memory);
        bloomery_plan plan = {.kind = BLOOMERY_SCALABLE, .keys = 100, .rate = 0.01};
        bloomery_filter *filter = NULL;
        assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
        if (bloomery_create(&plan, &options, &filter, NULL) == BLOOMERY_OK) {
            bloomery_status status = add_list(filter, keys.keys, keys.count, NULL);
            if (status != BLOOMERY_OK) {
                assert_int_equal(status, BLOOMERY_OUT_OF_MEMORY);
                refused++;
                size_t done = info_of(filter).adds;
                assert_int_equal(query_list(filter, keys.keys, done, NULL), done);
                add_range(filter, &keys, done, keys.count);
            }
            memory.refuse_at = 0;
            test_assert_same(whole, filter);
        }
        bloomery_free(filter);
        assert_int_equal(memory.live, 0);
        assert_false(memory.wrong);
    }
    assert_true(refused >= 4);
    bloomery_free(whole);
    test_keys_free(&keys);
}

static void plans_that_no_chain_has_are_refused(void **state)
{
    (void)state;
    const bloomery_plan plans[] = {
        {.kind = BLOOMERY_SCALABLE, .keys = 100},
        {.kind = BLOOMERY_SCALABLE, .keys = 100, .bytes = 6400},
        {.kind = BLOOMERY_SCALABLE, .rate = 0.01, .bytes = 6400},
        {.kind = BLOOMERY_SCALABLE, .keys = 100, .rate = 1e-13},
        {.kind = BLOOMERY_SCALABLE, .keys = 100, .rate = NAN},
        {.kind = BLOOMERY_SCALABLE, .keys = UINT64_MAX, .rate = 0.01},
    };
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++) {
        bloomery_plan plan = plans[i];
        bloomery_error error = {.text = ""};
        assert_int_equal(bloomery_plan_solve(&plan, NULL, &error), BLOOMERY_BAD_ARGUMENT);
        assert_true(strlen(error.text) > 20);
        assert_memory_equal(&plan, &plans[i], sizeof plan);
    }
    bloomery_plan unknown = {
        .kind = BLOOMERY_SCALABLE, .bits = 5120, .blocks_per_key = 1, .probes = 5};
    bloomery_filter *filter = NULL;
    assert_int_equal(bloomery_create(&unknown, NULL, &filter, NULL), BLOOMERY_BAD_ARGUMENT);
}

/* ---- Threads -------------------------------------------------------------------------------- */

enum { THREADS = 4, SHARED = 8000 };

struct adders {
    struct team team;
    bloomery_filter *filter;
    const struct test_keys *keys;
    atomic_uint fresh[SHARED];
};

static void add_all(void *context, unsigned number)
{
    struct adders *adders = context;
    bloomery_info info = BLOOMERY_INFO;
    for (size_t i = 0; i < SHARED; i += number % 2 ? 50 : 1) {
        size_t at = (i + number * 100) % SHARED;
        const bloomery_key *keys = adders->keys->keys + at;
        uint64_t answers = 0;
        if (number % 2) { /* SHARED is a multiple of 50 */
            TEAM_MUST(&adders->team, add_list(adders->filter, keys, 50, &answers) == BLOOMERY_OK);
            TEAM_MUST(&adders->team, query_list(adders->filter, keys, 50, NULL) == 50);
        } else {
            answers = bloomery_add(adders->filter, *keys, NULL);
            TEAM_MUST(&adders->team, bloomery_may_contain(adders->filter, *keys));
        }
        for (size_t key = 0; key < 50; key++)
            atomic_fetch_add(&adders->fresh[(at + key) % SHARED], answers >> key & 1);
        bloomery_info_get(adders->filter, &info);
        TEAM_MUST(&adders->team,
                  info.layers >= 1 && info.bytes % 64 == 0 && info.bits == info.bytes * 8);
    }
}

static void many_adders_lose_nothing_while_it_grows(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_URLS, 11, 0, SHARED);
    for (unsigned round = 0; round < 2; round++) {
        static struct adders adders;
        memset(&adders, 0, sizeof adders);
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        options.concurrent_adds = true;
        bloomery_filter *filter = make(100, 1e-9, &options);
        adders.filter = filter;
        adders.keys = &keys;
        team_run(&adders.team, THREADS, add_all, &adders);
        assert_int_equal(query_list(filter, keys.keys, SHARED, NULL), SHARED);
        for (size_t i = 0; i < SHARED; i++) /* at 1e-9 none is a false positive */
            assert_true(adders.fresh[i] >= 1);
        bloomery_info info = info_of(filter);
        assert_int_equal(info.adds, THREADS * SHARED);
        assert_int_equal(info.layers, 7);
        /* Threads that come to a full layer at once do not fill it further. */
        for (uint32_t i = 0; i < info.layers; i++) {
            bloomery_layer_info layer = BLOOMERY_LAYER_INFO;
            assert_int_equal(bloomery_layer_info_get(filter, i, true, &layer), BLOOMERY_OK);
            double planned = (double)layer.planned_keys;
            assert_true(layer.estimated_keys < planned + 2 * sqrt(planned) + THREADS);
        }
        assert_true(bloomery_estimate(filter, scan_of(filter).bits_set) > 0);
        struct test_bytes bytes = test_written(filter);
        bloomery_filter *loaded = NULL;
        assert_int_equal(bloomery_load(bytes.data, bytes.bytes, NULL, &loaded, NULL), 0);
        assert_int_equal(query_list(loaded, keys.keys, SHARED, NULL), SHARED);
        bloomery_free(loaded);
        test_bytes_free(&bytes);
        bloomery_free(filter);
    }
    test_keys_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_key_is_lost_while_a_chain_grows),
        cmocka_unit_test(compound_rate_stays_under_the_planned_one),
        cmocka_unit_test(a_chain_grows_by_new_keys_only),
        cmocka_unit_test(a_chain_with_its_planned_keys_has_one_layer),
        cmocka_unit_test(the_estimate_is_known_while_adding),
        cmocka_unit_test(any_way_of_adding_gives_the_same_chain),
        cmocka_unit_test(all_ways_to_query_agree),
        cmocka_unit_test(a_reopened_chain_grows_on),
        cmocka_unit_test(a_cleared_chain_is_a_new_one),
        cmocka_unit_test(a_full_chain_says_so_and_keeps_all),
        cmocka_unit_test(a_layer_without_memory_loses_nothing),
        cmocka_unit_test(plans_that_no_chain_has_are_refused),
        cmocka_unit_test(many_adders_lose_nothing_while_it_grows),
    };
    return test_run_group("scalable", tests, NULL, NULL);
}
