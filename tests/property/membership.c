/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No key that was added is ever denied: over kinds, blocks, rates, families of keys and sizes,
 * queried one by one, in batches and by hash. The three ways of adding are run beside each other
 * and must leave the same bytes.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property.
 * BLOOMERY_TEST_LONG=1 adds larger filters.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/support.h"

#include <bloomery/experimental.h>

#include <stdlib.h>
#include <string.h>

static const double rates[] = {0.3, 0.01, 1e-4, 1e-9};
enum { RATES = sizeof rates / sizeof rates[0] };

static bool bit_of(const uint64_t *words, size_t i)
{
    return words[i >> 6] >> (i & 63) & 1;
}

static uint64_t *words_for(size_t count)
{
    size_t bytes = (count + 63) / 64 * sizeof(uint64_t) + 16;
    uint64_t *words = malloc(bytes);
    assert_non_null(words);
    memset(words, 0xff, bytes); /* so that bits left unwritten are seen */
    return words;
}

/* The same keys, added in three ways. */
struct trio {
    bloomery_filter *single;
    bloomery_filter *batch;
    bloomery_filter *hashed;
};

static struct trio trio_make(const bloomery_plan *plan, const bloomery_create_options *options)
{
    return (struct trio){test_create(plan, options), test_create(plan, options),
                         test_create(plan, options)};
}

static void trio_free(struct trio *trio)
{
    bloomery_free(trio->single);
    bloomery_free(trio->batch);
    bloomery_free(trio->hashed);
}

/* Adds the keys three ways; what each way says about every key must agree. */
static void add_three_ways(struct trio *trio, const struct test_keys *keys)
{
    uint64_t *fresh = words_for(keys->count);
    uint64_t batch_bits = 77;
    assert_int_equal(add_list_bits(trio->batch, keys->keys, keys->count, fresh, &batch_bits),
                     BLOOMERY_OK);
    for (size_t i = 0; i < keys->count; i++) {
        bloomery_hash hash;
        int result = add_outcome(trio->single, keys->keys[i]);
        assert_int_equal(bit_of(fresh, i), result);
        assert_int_equal(bloomery_hash_key(trio->hashed, keys->keys[i], &hash, NULL), BLOOMERY_OK);
        assert_int_equal(add_hash_outcome(trio->hashed, hash), result);
    }
    for (size_t i = keys->count; i % 64 != 0; i++)
        assert_false(bit_of(fresh, i));
    free(fresh);
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(trio->single, &info);
    bloomery_scan_result scan = scan_of(trio->single);
    assert_int_equal(scan.bits_set, batch_bits);
    assert_int_equal(test_cells(trio->single), batch_bits);
    assert_int_equal(test_cells(trio->hashed), batch_bits);
    assert_int_equal(info.adds, keys->count);
}

/* Queries three ways; they must agree, and count their answers. Returns how many are "possibly". */
static size_t query_three_ways(const bloomery_filter *filter, const struct test_keys *keys)
{
    uint64_t *answers = words_for(keys->count);
    size_t hits = 0;
    size_t told = query_list(filter, keys->keys, keys->count, answers);
    for (size_t i = 0; i < keys->count; i++) {
        bloomery_hash hash;
        bool maybe = bloomery_may_contain(filter, keys->keys[i]);
        assert_int_equal(bit_of(answers, i), maybe);
        assert_int_equal(bloomery_hash_key(filter, keys->keys[i], &hash, NULL), BLOOMERY_OK);
        bloomery_prefetch_hash(filter, hash);
        assert_int_equal(bloomery_may_contain_hash(filter, hash), maybe);
        hits += maybe;
    }
    for (size_t i = keys->count; i % 64 != 0; i++)
        assert_false(bit_of(answers, i));
    assert_int_equal(told, hits);
    assert_int_equal(query_list(filter, keys->keys, keys->count, NULL), hits);
    free(answers);
    return hits;
}

static void check_cell(const struct test_shape *shape, double rate, enum test_family family,
                       size_t count, bloomery_hash_id hash, const bloomery_create_options *options)
{
    bloomery_plan plan = test_plan(shape, count > 0 ? count : 1, rate);
    if (hash != BLOOMERY_HASH_DEFAULT)
        plan.hash = hash;
    struct test_keys present = test_keys_make(family, 3, 0, count);
    struct test_keys absent = test_keys_make(family, 3, count, 500);
    struct trio trio = trio_make(&plan, options);
    assert_int_equal(query_three_ways(trio.single, &absent), 0);
    add_three_ways(&trio, &present);
    assert_int_equal(query_three_ways(trio.single, &present), count);
    size_t maybe = query_three_ways(trio.single, &absent);
    assert_int_equal(query_three_ways(trio.batch, &absent), maybe);
    test_assert_same(trio.single, trio.batch);
    test_assert_same(trio.single, trio.hashed);
    trio_free(&trio);
    test_keys_free(&present);
    test_keys_free(&absent);
}

static void no_false_negatives(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 2, 63, 64, 65, 1000};
    for (size_t s = 0; s < TEST_SHAPES; s++)
        for (size_t r = 0; r < RATES; r++)
            for (int family = 0; family < TEST_FAMILIES; family++)
                for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
                    check_cell(&test_shapes[s], rates[r], (enum test_family)family, counts[c],
                               BLOOMERY_HASH_DEFAULT, NULL);
}

static void no_false_negatives_in_larger_filters(void **state)
{
    (void)state;
    size_t count = test_long() ? 5000000 : 100000;
    for (size_t s = 0; s < TEST_SHAPES; s++)
        for (size_t r = 0; r < RATES; r++) {
            int family = (int)((s * RATES + r) % TEST_FAMILIES);
            check_cell(&test_shapes[s], rates[r], (enum test_family)family, count + r,
                       BLOOMERY_HASH_DEFAULT, NULL);
        }
}

/* Seeds and keyed hashes, and filters that many threads may use, keep the same promises. */
static void no_false_negatives_whatever_the_options(void **state)
{
    (void)state;
    static const uint8_t secret[BLOOMERY_SECRET_BYTES] = "sixteen letters";
    for (size_t s = 0; s < TEST_SHAPES; s++)
        for (int family = 0; family < TEST_FAMILIES; family++)
            for (int variant = 0; variant < 4; variant++) {
                bloomery_hash_id hash = BLOOMERY_HASH_DEFAULT;
                bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
                if (variant == 0)
                    options.seed = UINT64_MAX;
                else if (variant == 1)
                    hash = BLOOMERY_HASH_XXH3_128;
                else if (variant == 2)
                    options.secret = test_keyed() ? secret : NULL;
                else
                    options.concurrent_adds = true;
                check_cell(&test_shapes[s], 0.003, (enum test_family)family, 777, hash, &options);
            }
}

/* Long keys and short ones take different roads through a hash. */
static void no_false_negatives_whatever_the_length(void **state)
{
    (void)state;
    enum { LENGTHS = 1100 };
    static uint8_t text[1u << 20];
    bloomery_key keys[LENGTHS];
    uint64_t random = 5;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)test_next(&random);
    for (size_t i = 0; i < LENGTHS; i++)
        keys[i] = bloomery_key_of(text + i % 7, i);
    keys[0] = bloomery_key_of(NULL, 0);
    keys[LENGTHS - 1] = bloomery_key_of(text, sizeof text);
    struct test_keys all = {.count = LENGTHS, .keys = keys};
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_plan plan = test_plan(&test_shapes[s], LENGTHS, 1e-9);
        struct trio trio = trio_make(&plan, NULL);
        add_three_ways(&trio, &all);
        assert_int_equal(query_three_ways(trio.batch, &all), LENGTHS);
        /* Lengths are part of a key: all of these were different. */
        bloomery_scan_result scan = scan_of(trio.batch);
        assert_true(scan.estimated_keys > LENGTHS * 0.99 && scan.estimated_keys < LENGTHS * 1.01);
        trio_free(&trio);
    }
}

/* Far beyond the plan, up to a filter in which every bit is set, still no key is denied. */
static void no_false_negatives_when_overfull(void **state)
{
    (void)state;
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_plan plan = test_plan(&test_shapes[s], 100, 0.01);
        struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 60000);
        bloomery_filter *filter = test_create(&plan, NULL);
        test_add_all(filter, &keys);
        assert_int_equal(query_three_ways(filter, &keys), keys.count);
        bloomery_info info = BLOOMERY_INFO;
        bloomery_info_get(filter, &info);
        bloomery_scan_result scan = scan_of(filter);
        assert_int_equal(scan.bits_set, info.bits);
        assert_true(scan.live_rate > 0.999999 && scan.live_rate <= 1);
        assert_true(scan.estimated_keys > 1e300);
        bloomery_free(filter);
        test_keys_free(&keys);
    }
}

/* Batches of every length around 64 and 128, at every start, are what single calls make. */
static void batch_equals_single(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_URLS, 9, 0, 1500);
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_plan plan = test_plan(&test_shapes[s], 3000, 0.05);
        struct trio trio = trio_make(&plan, NULL);
        uint64_t random = s + 1;
        for (size_t length = 0; length <= 330; length++) {
            size_t start = test_below(&random, keys.count - length);
            uint64_t fresh[8];
            memset(fresh, 0xff, sizeof fresh);
            assert_int_equal(add_list(trio.batch, keys.keys + start, length, fresh), BLOOMERY_OK);
            for (size_t i = 0; i < length; i++)
                assert_int_equal(add_outcome(trio.single, keys.keys[start + i]), bit_of(fresh, i));
            /* No word past the last is touched. */
            assert_true(fresh[(length + 63) / 64] == UINT64_MAX);
        }
        test_assert_same(trio.single, trio.batch);
        trio_free(&trio);
    }
    test_keys_free(&keys);
}

/* The same for batches in which many windows follow each other, and for absent keys that survive
 * some of their blocks: the filters are half as large as their keys need. */
static void long_batches_equal_single(void **state)
{
    (void)state;
    struct test_keys keys = test_keys_make(TEST_URLS, 19, 0, 6000);
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_plan plan = test_plan(&test_shapes[s], 1500, 0.05);
        struct trio trio = trio_make(&plan, NULL);
        uint64_t random = s + 1;
        for (size_t start = 0, length; start < 3000; start += length) {
            uint64_t fresh[3000 / 64 + 1];
            length = 1 + test_below(&random, 3000 - start);
            assert_int_equal(add_list(trio.batch, keys.keys + start, length, fresh), BLOOMERY_OK);
            for (size_t i = 0; i < length; i++)
                assert_int_equal(add_outcome(trio.single, keys.keys[start + i]), bit_of(fresh, i));
        }
        test_assert_same(trio.single, trio.batch);
        assert_true(query_three_ways(trio.batch, &keys) > 3300);
        trio_free(&trio);
    }
    test_keys_free(&keys);
}

/* However far apart two equal keys lie in a batch, only the first is NEW. */
static void duplicates_in_one_batch_are_new_once(void **state)
{
    (void)state;
    enum { DISTINCT = 300, TOTAL = 2000 };
    struct test_keys keys = test_keys_make(TEST_IDS, 2, 0, DISTINCT);
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_plan plan = test_plan(&test_shapes[s], DISTINCT, 1e-12);
        for (uint64_t seed = 0; seed < 20; seed++) {
            bloomery_filter *filter = test_create(&plan, NULL);
            bloomery_key batch[TOTAL];
            bool met[DISTINCT] = {false};
            size_t choice[TOTAL];
            uint64_t *fresh = words_for(TOTAL);
            uint64_t random = seed;
            /* The first seeds repeat a key at once, later ones anywhere. */
            for (size_t i = 0; i < TOTAL; i++) {
                choice[i] = seed < 8 ? i / (seed + 2) % DISTINCT : test_below(&random, DISTINCT);
                batch[i] = keys.keys[choice[i]];
            }
            assert_int_equal(add_list(filter, batch, TOTAL, fresh), BLOOMERY_OK);
            for (size_t i = 0; i < TOTAL; i++) {
                assert_int_equal(bit_of(fresh, i), !met[choice[i]]);
                met[choice[i]] = true;
            }
            free(fresh);
            bloomery_free(filter);
        }
    }
    test_keys_free(&keys);
}

/* One hash serves every filter of the same hash id, seed and key, whatever its shape. */
static void hash_fits_every_filter_of_its_kind(void **state)
{
    (void)state;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.seed = 4711;
    struct test_keys keys = test_keys_make(TEST_WORDS, 0, 0, 200);
    bloomery_filter *filters[TEST_SHAPES];
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_plan plan = test_plan(&test_shapes[s], 1000 + 500 * s, 1e-6);
        filters[s] = test_create(&plan, &options);
    }
    for (size_t i = 0; i < keys.count; i++) {
        bloomery_hash hash;
        assert_int_equal(bloomery_hash_key(filters[0], keys.keys[i], &hash, NULL), BLOOMERY_OK);
        for (size_t s = 0; s < TEST_SHAPES; s++) {
            assert_true(bloomery_add_hash(filters[s], hash, NULL));
            assert_true(bloomery_may_contain(filters[s], keys.keys[i]));
        }
    }
    for (size_t s = 0; s < TEST_SHAPES; s++)
        bloomery_free(filters[s]);
    test_keys_free(&keys);
}

/* ---- Every k and L ---------------------------------------------------------------------- */

/* Adds in halves: the first without a count of new bits, which may be other code. */
static void add_in_halves(bloomery_filter *filter, const struct test_keys *keys, uint64_t *fresh,
                          uint64_t *bits)
{
    size_t half = keys->count / 128 * 64;
    size_t quarter = half / 128 * 64;
    assert_int_equal(add_list(filter, keys->keys, quarter, NULL), BLOOMERY_OK);
    assert_int_equal(add_list(filter, keys->keys + quarter, half - quarter, fresh + quarter / 64),
                     BLOOMERY_OK);
    assert_int_equal(
        add_list_bits(filter, keys->keys + half, keys->count - half, fresh + half / 64, bits),
        BLOOMERY_OK);
}

/* Two filters of one shape; `one` may be served by code for this processor, `other`, made for
 * concurrent adds, is served by the plain code that defines the answers. */
static void check_twins(const bloomery_plan *plan, const struct test_keys *present,
                        const struct test_keys *absent)
{
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.concurrent_adds = true;
    bloomery_filter *one = test_create(plan, NULL);
    bloomery_filter *other = test_create(plan, &options);
    uint64_t fresh[2][8] = {{0}};
    uint64_t bits[2] = {0};
    add_in_halves(one, present, fresh[0], &bits[0]);
    add_in_halves(other, present, fresh[1], &bits[1]);
    assert_memory_equal(fresh[0], fresh[1], sizeof fresh[0]);
    assert_int_equal(bits[0], bits[1]);
    for (size_t i = 0; i < 50; i++) {
        if (i % 2 == 0) {
            assert_int_equal(add_outcome(one, absent->keys[i]),
                             add_outcome(other, absent->keys[i]));
            continue;
        }
        const uint64_t before = test_cells(one);
        uint64_t answers[2];
        assert_int_equal(add_list_bits(one, &absent->keys[i], 1, &answers[0], &bits[0]), 0);
        assert_int_equal(add_list_bits(other, &absent->keys[i], 1, &answers[1], &bits[1]), 0);
        assert_int_equal(answers[0], answers[1]);
        assert_int_equal(bits[0], bits[1]);
        assert_int_equal(bits[0], test_cells(one) - before);
        assert_int_equal(answers[0], bits[0] > 0);
    }
    test_assert_same(one, other);
    assert_int_equal(query_three_ways(one, present), present->count);
    assert_int_equal(query_three_ways(one, absent), query_three_ways(other, absent));
    bloomery_free(one);
    bloomery_free(other);
}

static void answers_do_not_depend_on_the_processor(void **state)
{
    (void)state;
    static const uint64_t blocks[] = {1, 2, 7, 64};
    struct test_keys absent = test_keys_make(TEST_DECIMAL, 0, 1000, 700);
    for (uint32_t blocks_per_key = 0; blocks_per_key <= 4; blocks_per_key++)
        for (uint32_t probes = 1; probes <= (blocks_per_key > 0 ? 8 : 64); probes++)
            for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
                bloomery_plan plan = {.kind =
                                          blocks_per_key > 0 ? BLOOMERY_BLOCKED : BLOOMERY_CLASSIC,
                                      .bits = 512 * blocks[b] + (blocks_per_key > 0 ? 0 : probes),
                                      .blocks_per_key = blocks_per_key,
                                      .probes = probes};
                size_t count = 130 + probes; /* from nearly empty to nearly full */
                struct test_keys present = test_keys_make(TEST_DECIMAL, 0, 0, count);
                check_twins(&plan, &present, &absent);
                test_keys_free(&present);
            }
    test_keys_free(&absent);
}

/* Clearing gives what creating gives. */
static void clear_is_empty(void **state)
{
    (void)state;
    for (size_t s = 0; s < TEST_SHAPES; s++) {
        bloomery_plan plan = test_plan(&test_shapes[s], 5000, 0.01);
        struct test_keys keys = test_keys_make(TEST_RANDOM, s, 0, 5000);
        struct trio trio = trio_make(&plan, NULL);
        add_three_ways(&trio, &keys);
        assert_int_equal(bloomery_clear(trio.single, NULL), BLOOMERY_OK);
        assert_int_equal(query_three_ways(trio.single, &keys), 0);
        bloomery_filter *fresh = test_create(&plan, NULL);
        test_assert_same(trio.single, fresh);
        test_add_all(trio.single, &keys);
        test_assert_same(trio.single, trio.batch);
        bloomery_free(fresh);
        trio_free(&trio);
        test_keys_free(&keys);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_false_negatives),
        cmocka_unit_test(no_false_negatives_in_larger_filters),
        cmocka_unit_test(no_false_negatives_whatever_the_options),
        cmocka_unit_test(no_false_negatives_whatever_the_length),
        cmocka_unit_test(no_false_negatives_when_overfull),
        cmocka_unit_test(batch_equals_single),
        cmocka_unit_test(long_batches_equal_single),
        cmocka_unit_test(duplicates_in_one_batch_are_new_once),
        cmocka_unit_test(hash_fits_every_filter_of_its_kind),
        cmocka_unit_test(answers_do_not_depend_on_the_processor),
        cmocka_unit_test(clear_is_empty),
    };
    return test_run_group("membership", tests, NULL, NULL);
}
