/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cuckoo filters equal a model of RedisBloom's byte for byte, in any sequence of adds, removals and
 * compactions. They have the rate that the formula says, take the keys that they were planned for,
 * and are the same after a way through a file, a dump and its chunks. A call that fails changes
 * nothing; hostile headers and files are refused.
 *
 * Build: this file, ../support/support.c, ../support/forge.c, ../support/bounds.c; cmocka, the
 * library. No arguments. Suite: property.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/bounds.h"
#include "../support/forge.h"
#include "../support/support.h"

#include <bloomery/dialect.h>
#include <bloomery/experimental.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The model ------------------------------------------------------------------------------- */

/* Written from the description of the layout alone. It moves keys with a list of what it changed,
 * and goes back by it. */
enum { MODEL_TABLES = 64, MODEL_MOVES = 600 };

struct model {
    uint64_t buckets, items, removed;
    uint32_t slots, iterations, growth, tables;
    uint8_t *table[MODEL_TABLES];
    uint64_t size[MODEL_TABLES]; /* buckets */
};

static uint64_t hash_of(bloomery_key key)
{
    const uint64_t m = UINT64_C(0xc6a4a7935bd1e995);
    const uint8_t *at = key.data;
    uint64_t h = (uint64_t)key.bytes * m;
    size_t left = key.bytes;
    for (; left >= 8; at += 8, left -= 8) {
        uint64_t word = test_load_u64(at) * m;
        word ^= word >> 47;
        h = (h ^ word * m) * m;
    }
    uint64_t rest = 0;
    for (size_t i = 0; i < left; i++)
        rest |= (uint64_t)at[i] << 8 * i;
    if (left > 0)
        h = (h ^ rest) * m;
    h = (h ^ h >> 47) * m;
    return h ^ h >> 47;
}

static uint64_t power_of_two(uint64_t least)
{
    uint64_t power = 1;
    while (power < least)
        power *= 2;
    return least == 0 ? 0 : power;
}

static void model_grow(struct model *model)
{
    uint64_t size = model->buckets;
    for (uint32_t i = 0; i < model->tables; i++)
        size *= model->growth;
    assert_true(model->tables < MODEL_TABLES);
    model->size[model->tables] = size;
    model->table[model->tables++] = calloc(size, model->slots);
}

static struct model model_make(uint64_t keys, uint32_t slots, uint32_t iterations, uint32_t growth)
{
    struct model model = {.slots = slots, .iterations = iterations};
    model.growth = (uint32_t)power_of_two(growth);
    model.buckets = power_of_two(keys / slots);
    if (model.buckets == 0)
        model.buckets = 1;
    model_grow(&model);
    return model;
}

static void model_free(struct model *model)
{
    for (uint32_t i = 0; i < model->tables; i++)
        free(model->table[i]);
}

static uint64_t other(uint64_t bucket, uint8_t print)
{
    return bucket ^ UINT64_C(0x5bd1e995) * print;
}

static uint8_t *find(const struct model *model, uint32_t table, uint64_t bucket, uint8_t byte)
{
    uint8_t *at = model->table[table] + bucket % model->size[table] * model->slots;
    for (uint32_t i = 0; i < model->slots; i++)
        if (at[i] == byte)
            return at + i;
    return NULL;
}

static bool place(const struct model *model, uint32_t table, uint64_t bucket, uint8_t print)
{
    uint8_t *at = find(model, table, bucket, 0);
    if (at == NULL)
        at = find(model, table, other(bucket, print), 0);
    if (at != NULL)
        *at = print;
    return at != NULL;
}

static bool move_keys(const struct model *model, uint64_t bucket, uint8_t print)
{
    const uint32_t last = model->tables - 1;
    uint8_t *changed[MODEL_MOVES], was[MODEL_MOVES];
    uint32_t victim = 0, moves = 0;
    assert_true(model->iterations <= MODEL_MOVES);
    bucket %= model->size[last];
    for (; moves < model->iterations; moves++) {
        uint8_t *slot = model->table[last] + bucket * model->slots + victim;
        changed[moves] = slot;
        was[moves] = *slot;
        *slot = print;
        print = was[moves];
        bucket = other(bucket, print) % model->size[last];
        uint8_t *free_slot = find(model, last, bucket, 0);
        if (free_slot != NULL) {
            *free_slot = print;
            return true;
        }
        victim = (victim + 1) % model->slots;
    }
    while (moves-- > 0)
        *changed[moves] = was[moves];
    return false;
}

static bool model_add(struct model *model, bloomery_key key)
{
    const uint64_t hash = hash_of(key);
    const uint8_t print = (uint8_t)(hash % 255 + 1);
    for (;;) {
        bool placed = false;
        for (uint32_t i = model->tables; i-- > 0 && !placed;)
            placed = place(model, i, hash, print);
        if (placed || move_keys(model, hash, print)) {
            model->items++;
            return true;
        }
        if (model->growth == 0)
            return false;
        model_grow(model);
    }
}

static uint32_t model_count(const struct model *model, bloomery_key key)
{
    const uint64_t hash = hash_of(key);
    const uint8_t print = (uint8_t)(hash % 255 + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < model->tables; i++)
        for (uint32_t slot = 0; slot < model->slots; slot++) {
            const uint64_t size = model->size[i];
            count += model->table[i][hash % size * model->slots + slot] == print;
            count += model->table[i][other(hash, print) % size * model->slots + slot] == print;
        }
    return count;
}

static bool model_compact(struct model *model, bool all)
{
    bool changed = model->removed > 0;
    for (uint32_t i = model->tables - 1; i > 0; i--) {
        bool stays = false;
        for (uint64_t at = 0; at < model->size[i] * model->slots; at++) {
            const uint8_t print = model->table[i][at];
            bool placed = print == 0;
            for (uint32_t to = 0; to < i && !placed; to++)
                placed = place(model, to, at / model->slots, print);
            if (placed && print != 0) {
                model->table[i][at] = 0;
                changed = true;
            }
            stays = stays || !placed;
        }
        if (!stays && i == model->tables - 1) {
            free(model->table[--model->tables]);
            changed = true;
        } else if (stays && !all) {
            break;
        }
    }
    model->removed = 0;
    return changed;
}

static bool model_remove(struct model *model, bloomery_key key)
{
    const uint64_t hash = hash_of(key);
    const uint8_t print = (uint8_t)(hash % 255 + 1);
    for (uint32_t i = model->tables; i-- > 0;) {
        uint8_t *slot = find(model, i, hash, print);
        if (slot == NULL)
            slot = find(model, i, other(hash, print), print);
        if (slot == NULL)
            continue;
        *slot = 0;
        model->items--;
        model->removed++;
        if (model->tables > 1 && (double)model->removed > (double)model->items * 0.1)
            (void)model_compact(model, false);
        return true;
    }
    return false;
}

static struct test_bytes model_dump(const struct model *model)
{
    size_t bytes = BLOOMERY_CUCKOO_HEADER;
    for (uint32_t i = 0; i < model->tables; i++)
        bytes += model->size[i] * model->slots;
    struct test_bytes dump = {calloc(1, bytes + 64), bytes};
    test_store_u64(dump.data, model->items);
    test_store_u64(dump.data + 8, model->buckets);
    test_store_u64(dump.data + 16, model->removed);
    test_store_u64(dump.data + 24, model->tables);
    forge_put(&dump, 32, model->slots, 2);
    forge_put(&dump, 34, model->iterations, 2);
    forge_put(&dump, 36, model->growth, 2);
    size_t at = BLOOMERY_CUCKOO_HEADER;
    for (uint32_t i = 0; i < model->tables; i++) {
        memcpy(dump.data + at, model->table[i], model->size[i] * model->slots);
        at += model->size[i] * model->slots;
    }
    return dump;
}

/* ---- Filters --------------------------------------------------------------------------------- */

struct collected {
    struct test_bytes bytes;
    size_t room;
};

static int collect(void *context, const void *data, size_t bytes)
{
    struct collected *all = context;
    if (all->bytes.bytes + bytes > all->room) {
        all->room = 2 * (all->bytes.bytes + bytes);
        all->bytes.data = realloc(all->bytes.data, all->room + 64);
    }
    memcpy(all->bytes.data + all->bytes.bytes, data, bytes);
    all->bytes.bytes += bytes;
    return 0;
}

static const bloomery_dialect *dialect(void)
{
    return bloomery_dialect_find("redisbloom-cuckoo");
}

static struct test_bytes dump_of(const bloomery_filter *filter)
{
    struct collected all = {{NULL, 0}, 0};
    assert_int_equal(bloomery_dialect_write(filter, NULL, collect, &all, NULL), BLOOMERY_OK);
    return all.bytes;
}

static void assert_dumps(const bloomery_filter *filter, const struct test_bytes *wanted)
{
    struct test_bytes dump = dump_of(filter);
    assert_true(test_bytes_equal(&dump, wanted));
    test_bytes_free(&dump);
}

static void assert_is_model(const bloomery_filter *filter, const struct model *model)
{
    struct test_bytes wanted = model_dump(model);
    assert_dumps(filter, &wanted);
    test_bytes_free(&wanted);
}

static bloomery_filter *make(uint64_t keys, uint32_t slots, uint32_t iterations, uint32_t growth,
                             const bloomery_create_options *options)
{
    bloomery_filter *filter = NULL;
    bloomery_error error;
    if (bloomery_cuckoo_create(keys, slots, iterations, growth, options, &filter, &error) !=
        BLOOMERY_OK)
        fail_msg("%s", error.text);
    return filter;
}

static bloomery_filter *loaded(const struct test_bytes *dump)
{
    bloomery_filter *filter = NULL;
    bloomery_error error;
    if (bloomery_dialect_load(dialect(), dump->data, dump->bytes, NULL, NULL, &filter, &error) !=
        BLOOMERY_OK)
        fail_msg("%s", error.text);
    return filter;
}

static bloomery_cuckoo_info numbers_of(const bloomery_filter *filter)
{
    bloomery_cuckoo_info info = BLOOMERY_CUCKOO_INFO;
    assert_int_equal(bloomery_cuckoo_info_get(filter, &info), BLOOMERY_OK);
    return info;
}

/* Buckets of each size that is compared as a word, and others; tables of one bucket; few moves and
 * many; filters that do not grow, grow by one and by more. */
static const struct numbers {
    uint64_t keys;
    uint32_t slots, iterations, growth;
} shapes[] = {
    {16, 2, 20, 1},   {16, 2, 20, 2}, {64, 4, 10, 4},  {7, 1, 50, 2},   {1000, 2, 20, 1},
    {8, 3, 5, 3},     {4, 2, 20, 0},  {64, 2, 500, 0}, {2, 1, 1, 1},    {300, 255, 3, 1},
    {1024, 2, 20, 1}, {40, 5, 7, 1},  {1000, 8, 9, 2}, {96, 4, 500, 1}, {260, 7, 20, 32},
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* ---- The same bytes -------------------------------------------------------------------------- */

static void step(bloomery_filter *filter, struct model *model, uint64_t *state,
                 const struct test_keys *keys)
{
    const bloomery_key key = keys->keys[test_below(state, keys->count)];
    const uint64_t what = test_below(state, 100);
    const bool there = model_count(model, key) > 0;
    bloomery_error error = {.status = BLOOMERY_OK};
    assert_int_equal(bloomery_may_contain(filter, key), there);
    assert_int_equal(bloomery_key_count(filter, key), model_count(model, key));
    if (what < 55) {
        if (model->tables < 12 || model->growth == 0) {
            const bool added = model_add(model, key);
            assert_int_equal(add_outcome(filter, key), !added  ? (int)BLOOMERY_FULL
                                                       : there ? WAS_SEEN
                                                               : WAS_NEW);
        }
    } else if (what < 65) {
        if (model->tables < 12 || model->growth == 0) {
            const bool added = there || model_add(model, key);
            assert_int_equal(bloomery_cuckoo_add_absent(filter, key, &error), added && !there);
            assert_int_equal(error.status, added ? BLOOMERY_OK : BLOOMERY_FULL);
        }
    } else if (what < 99) {
        assert_int_equal(remove_outcome(filter, key),
                         model_remove(model, key) ? WAS_REMOVED : WAS_ABSENT);
    } else {
        const bool all = test_below(state, 2) == 1;
        bool changed = false;
        const bool wanted = model_compact(model, all);
        assert_int_equal(bloomery_cuckoo_compact(filter, all, &changed, NULL), BLOOMERY_OK);
        assert_int_equal(changed, wanted);
    }
}

static void assert_numbers(const bloomery_filter *filter, const struct model *model)
{
    const bloomery_cuckoo_info info = numbers_of(filter);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < model->tables; i++)
        bytes += model->size[i] * model->slots;
    assert_true(info.items == model->items && info.removed == model->removed);
    assert_true(info.buckets == model->buckets && info.bytes == bytes);
    assert_int_equal(info.tables, model->tables);
    assert_true(info.slots == model->slots && info.iterations == model->iterations);
    assert_int_equal(info.growth, model->growth);
    assert_true(info_of(filter).adds == model->items);
}

static void any_sequence_gives_the_bytes_of_the_model(void **state)
{
    struct test_memory memory = {.live = 0};
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    uint64_t seed = 36;
    (void)state;
    options.allocator = test_allocator(&memory);
    for (size_t i = 0; i < SHAPES; i++) {
        const struct numbers *shape = &shapes[i];
        struct test_keys keys = test_keys_make(TEST_DECIMAL, i, 0, shape->keys < 500 ? 150 : 1500);
        bloomery_filter *filter =
            make(shape->keys, shape->slots, shape->iterations, shape->growth, &options);
        struct model model =
            model_make(shape->keys, shape->slots, shape->iterations, shape->growth);
        for (int n = 0; n < (test_long() ? 100000 : 4000); n++) {
            step(filter, &model, &seed, &keys);
            if (n % 100 == 0) {
                assert_is_model(filter, &model);
                assert_numbers(filter, &model);
            }
        }
        assert_is_model(filter, &model);
        bloomery_free(filter);
        model_free(&model);
        test_keys_free(&keys);
    }
    assert_true(memory.live == 0 && !memory.wrong);
}

/* RedisBloom's own default allows 32 of them. */
static void thirty_two_tables_are_as_in_the_model(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 3, 0, 4000);
    bloomery_filter *filter = make(64, 2, 20, 1, NULL);
    struct model model = model_make(64, 2, 20, 1);
    size_t added = 0;
    (void)state;
    for (; model.tables < 32; added++) {
        assert_true(model_add(&model, keys.keys[added]));
        assert_true(add_outcome(filter, keys.keys[added]) >= 0);
    }
    assert_is_model(filter, &model);
    for (size_t i = 0; i < added; i++)
        assert_true(bloomery_may_contain(filter, keys.keys[i]));
    for (size_t i = 0; i < added; i++) {
        assert_int_equal(remove_outcome(filter, keys.keys[i]),
                         model_remove(&model, keys.keys[i]) ? WAS_REMOVED : WAS_ABSENT);
        if (i % 64 == 0)
            assert_is_model(filter, &model);
    }
    assert_is_model(filter, &model);
    bloomery_free(filter);
    model_free(&model);
    test_keys_free(&keys);
}

/* ---- Batches --------------------------------------------------------------------------------- */

static void batches_do_what_single_calls_do(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        const struct numbers *shape = &shapes[i];
        struct test_keys keys = test_keys_make(TEST_WORDS, i, 0, 700);
        const uint32_t growth = shape->growth == 0 ? 1 : shape->growth;
        bloomery_filter *one = make(200, shape->slots, shape->iterations, growth, NULL);
        bloomery_filter *other_one = make(200, shape->slots, shape->iterations, growth, NULL);
        const bloomery_keys list = bloomery_keys_of_list(keys.keys, 400);
        uint64_t answers[11];
        bloomery_counts counts;
        assert_int_equal(bloomery_add_keys(one, &list, answers, &counts, NULL), BLOOMERY_OK);
        assert_true(counts.done == 400 && counts.cells == 400);
        for (size_t k = 0; k < 400; k++)
            assert_int_equal(add_outcome(other_one, keys.keys[k]), answers[k / 64] >> k % 64 & 1);
        test_assert_same(one, other_one);
        const bloomery_keys all = bloomery_keys_of_list(keys.keys, 700);
        assert_int_equal(bloomery_may_contain_keys(one, &all, answers, &counts, NULL), BLOOMERY_OK);
        for (size_t k = 0; k < 700; k++)
            assert_int_equal(bloomery_may_contain(one, keys.keys[k]),
                             answers[k / 64] >> k % 64 & 1);
        assert_true(counts.positive >= 400);
        const bloomery_keys some = bloomery_keys_of_list(keys.keys + 100, 300);
        assert_int_equal(bloomery_remove_keys(one, &some, answers, &counts, NULL), BLOOMERY_OK);
        for (size_t k = 0; k < 300; k++)
            assert_int_equal(remove_outcome(other_one, keys.keys[100 + k]),
                             answers[k / 64] >> k % 64 & 1);
        assert_int_equal(counts.positive, 300);
        test_assert_same(one, other_one);
        bloomery_free(one);
        bloomery_free(other_one);
        test_keys_free(&keys);
    }
}

/* Those before the key that does not fit are in the filter. */
static void a_batch_ends_at_the_key_that_does_not_fit(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 9, 0, 300);
    bloomery_filter *filter = make(128, 2, 20, 0, NULL);
    bloomery_filter *single = make(128, 2, 20, 0, NULL);
    const bloomery_keys list = bloomery_keys_of_list(keys.keys, 300);
    bloomery_counts counts;
    bloomery_error error;
    size_t fit = 0;
    (void)state;
    while (add_outcome(single, keys.keys[fit]) >= 0)
        fit++;
    assert_int_equal(bloomery_add_keys(filter, &list, NULL, &counts, &error), BLOOMERY_FULL);
    assert_int_equal(counts.done, fit);
    assert_non_null(strstr(error.text, "full"));
    test_assert_same(filter, single);
    bloomery_free(filter);
    bloomery_free(single);
    test_keys_free(&keys);
}

/* ---- Rates ----------------------------------------------------------------------------------- */

/* The formula against counts: with tables of few buckets, where some fingerprints have one bucket,
 * and of many. */
static void the_rate_is_the_one_of_the_formula(void **state)
{
    static const struct {
        uint32_t buckets, slots, load;
    } cases[] = {{1, 8, 75},   {2, 8, 75},    {8, 4, 60},    {64, 4, 80},
                 {256, 8, 95}, {4096, 4, 90}, {65536, 2, 20}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint32_t buckets = cases[i].buckets, slots = cases[i].slots;
        const uint32_t n = buckets * slots * cases[i].load / 100;
        const uint32_t filters = buckets < 256 ? 2000 / buckets + 40 : 1;
        const size_t asked = buckets < 256 ? 200 : 200000;
        double hits = 0, expected = 0, live = 0;
        for (uint32_t f = 0; f < filters; f++) {
            struct test_keys keys = test_keys_make(TEST_RANDOM, 100 * i + f, 0, n);
            struct test_keys absent = test_keys_make(TEST_RANDOM, 100 * i + f, 1 << 24, asked);
            bloomery_filter *filter = make((uint64_t)buckets * slots, slots, 500, 0, NULL);
            for (uint32_t k = 0; k < n; k++)
                (void)add_outcome(filter, keys.keys[k]);
            hits += (double)query_list(filter, absent.keys, asked, NULL);
            expected += bloomery_expected_rate(filter, numbers_of(filter).items);
            live += scan_of(filter).live_rate;
            bloomery_free(filter);
            test_keys_free(&keys);
            test_keys_free(&absent);
        }
        const double trials = (double)asked * filters;
        /* Filters differ from each other, so the allowance for the formula is wider. */
        assert_true(live / filters >= test_rate_at_least(hits, trials, 1e-6));
        assert_true(live / filters <= test_rate_at_most(hits, trials, 1e-6));
        assert_true(fabs(expected / live - 1) <
                    5 / sqrt(expected / filters * 255 * buckets / 2 * filters));
    }
}

static void planned_tables_take_their_keys(void **state)
{
    static const double rates[] = {0.005, 0.01, 0.02, 0.03, 0.06};
    static const uint64_t counts[] = {1, 10, 100, 1000, 30000, 60000};
    unsigned grown = 0, made = 0;
    (void)state;
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++)
        for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
            bloomery_plan plan = {.kind = BLOOMERY_CUCKOO, .keys = counts[c], .rate = rates[r]};
            assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
            assert_true(plan.planned_rate <= rates[r] && plan.planned_keys == counts[c]);
            assert_true(plan.planned_bytes >= plan.bits && plan.bits >= counts[c]);
            assert_true(bloomery_plan_rate(&plan, counts[c]) == plan.planned_rate);
            struct test_keys keys = test_keys_make(TEST_IDS, r, 0, counts[c]);
            bloomery_filter *filter = test_create(&plan, NULL);
            assert_int_equal(info_of(filter).bits, plan.bits);
            assert_true(info_of(filter).planned_rate == plan.planned_rate);
            test_add_all(filter, &keys);
            grown += info_of(filter).layers > 1;
            made++;
            bloomery_free(filter);
            test_keys_free(&keys);
        }
    assert_int_equal(made, 30);
    assert_int_equal(grown, 0);
}

static void assert_refused(uint64_t keys, double rate, uint64_t bytes, const char *why)
{
    bloomery_plan plan = {.kind = BLOOMERY_CUCKOO, .keys = keys, .rate = rate, .bytes = bytes};
    bloomery_error error;
    assert_int_equal(bloomery_plan_solve(&plan, NULL, &error), BLOOMERY_BAD_ARGUMENT);
    if (strstr(error.text, why) == NULL)
        fail_msg("\"%s\" is not in: %s", why, error.text);
}

static void plans_name_what_is_possible(void **state)
{
    bloomery_plan plan = {.kind = BLOOMERY_CUCKOO, .rate = 0.02, .bytes = 1 << 20};
    (void)state;
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    assert_true(plan.planned_rate <= 0.02 && plan.planned_bytes <= 1 << 20);
    assert_true(plan.planned_keys > 500000);
    plan = (bloomery_plan){.kind = BLOOMERY_CUCKOO, .keys = 900000, .bytes = 1 << 20};
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    assert_true(plan.planned_rate < 0.03 && plan.probes == 4);
    assert_refused(1000, 1e-4, 0, "counting");
    assert_refused(UINT64_C(1) << 40, 0.02, 0, "2^32");
    assert_refused(1000000, 0, 65536, "do not fit");
    assert_refused(0, 0.02, 63, "at least 64 bytes");
}

/* As many new keys as bloomery_keys_left says bring the rate to the limit and not past it. */
static void keys_that_are_left_keep_the_rate_below_the_limit(void **state)
{
    static const uint64_t counts[] = {30, 1000, 20000};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        bloomery_plan plan = {.kind = BLOOMERY_CUCKOO, .keys = counts[i], .rate = 0.02};
        struct test_keys keys = test_keys_make(TEST_IDS, i, 0, 8 * counts[i]);
        bloomery_filter *filter = test_create(&plan, NULL);
        uint64_t added = 0, scans = 0;
        for (uint64_t left; (left = bloomery_keys_left(filter, 0.05)) > 0; scans++)
            for (; left > 0; left--)
                assert_true(add_outcome(filter, keys.keys[added++]) >= 0);
        assert_true(scan_of(filter).live_rate <= 0.05 || added <= counts[i]);
        assert_true(scan_of(filter).live_rate > 0.045 && scans < 40);
        assert_true(info_of(filter).layers > 1);
        bloomery_free(filter);
        test_keys_free(&keys);
    }
}

/* Tables of one slot, as many as there can be: a chunk comes to the table that has its place. */
static void chunks_come_to_their_tables_of_many(void **state)
{
    bloomery_filter *small = make(1, 1, 1, 1, NULL), *filter = NULL;
    struct test_bytes dump = dump_of(small);
    const uint64_t tables = 65536;
    (void)state;
    forge_put(&dump, 24, tables, 8);
    assert_int_equal(bloomery_cuckoo_load_header(dump.data, 38, NULL, &filter, NULL), BLOOMERY_OK);
    for (uint64_t i = 0; i < tables; i++) {
        const uint8_t slot = (uint8_t)(i % 251 + 1);
        assert_int_equal(bloomery_cuckoo_load_chunk(filter, i + 2, &slot, 1, NULL), BLOOMERY_OK);
    }
    for (uint64_t i = 0; i < tables; i += 13) {
        const void *slots;
        uint64_t bytes;
        assert_int_equal(bloomery_layer_span(filter, (uint32_t)i, &slots, &bytes), BLOOMERY_OK);
        assert_int_equal(*(const uint8_t *)slots, i % 251 + 1);
    }
    assert_int_equal(bloomery_cuckoo_load_chunk(filter, tables + 2, "x", 1, NULL),
                     BLOOMERY_BAD_ARGUMENT);
    assert_int_equal(bloomery_cuckoo_load_chunk(filter, UINT64_MAX, "x", 1, NULL),
                     BLOOMERY_BAD_ARGUMENT);
    test_bytes_free(&dump);
    bloomery_free(filter);
    bloomery_free(small);
}

/* ---- Files, dumps, chunks, copies ------------------------------------------------------------ */

/* A filter with some tables and removals. */
static bloomery_filter *used(const struct numbers *shape, const struct test_keys *keys)
{
    const uint32_t growth = shape->growth > 4 ? 4 : shape->growth;
    bloomery_filter *filter = make(shape->keys, shape->slots, shape->iterations, growth, NULL);
    for (size_t k = 0; k < keys->count && numbers_of(filter).tables < 6; k++)
        (void)add_outcome(filter, keys->keys[k]);
    for (size_t k = 0; k < keys->count; k += 25)
        (void)remove_outcome(filter, keys->keys[k]);
    return filter;
}

static bloomery_filter *by_chunks(const struct test_bytes *dump, const bloomery_filter *like)
{
    bloomery_filter *filter = NULL;
    size_t at = BLOOMERY_CUCKOO_HEADER;
    assert_int_equal(bloomery_cuckoo_load_header(dump->data, at, NULL, &filter, NULL), BLOOMERY_OK);
    for (uint32_t i = 0; i < info_of(like).layers; i++) {
        bloomery_layer_info layer = BLOOMERY_LAYER_INFO;
        bloomery_layer_info_get(like, i, false, &layer);
        const size_t half = (size_t)layer.bits / 2, rest = (size_t)layer.bits - half;
        bloomery_error error;
        /* The second half first; past the end of a table nothing is taken. */
        assert_int_equal(bloomery_cuckoo_load_chunk(filter, at - 38 + half + rest + 1,
                                                    dump->data + at + half, rest, &error),
                         BLOOMERY_OK);
        assert_int_equal(
            bloomery_cuckoo_load_chunk(filter, at - 38 + half + 1, dump->data + at, half, &error),
            BLOOMERY_OK);
        assert_int_equal(bloomery_cuckoo_load_chunk(filter, at - 38 + half + rest + 2,
                                                    dump->data + at, rest + 1, &error),
                         BLOOMERY_BAD_ARGUMENT);
        at += half + rest;
    }
    assert_int_equal(at, dump->bytes);
    return filter;
}

/* What became of a filter by another way answers and grows as the filter itself. */
static void assert_twins(bloomery_filter *one, bloomery_filter *twin, const struct test_keys *keys)
{
    test_assert_same(one, twin);
    for (size_t k = 0; k < keys->count; k += 3)
        assert_int_equal(remove_outcome(one, keys->keys[k]), remove_outcome(twin, keys->keys[k]));
    for (size_t k = 0; k < keys->count && numbers_of(one).tables < 9; k++)
        assert_int_equal(add_outcome(one, keys->keys[k]), add_outcome(twin, keys->keys[k]));
    struct test_bytes dump = dump_of(one);
    assert_dumps(twin, &dump);
    test_bytes_free(&dump);
}

static void any_way_gives_the_same_filter(void **state)
{
    struct test_directory directory = test_directory_make();
    char path[300];
    (void)state;
    test_join(path, sizeof path, &directory, "filter");
    for (size_t i = 0; i < SHAPES; i++) {
        struct test_keys keys = test_keys_make(TEST_URLS, i, 0, 2000);
        for (int way = 0; way < 5; way++) {
            bloomery_filter *filter = used(&shapes[i], &keys), *twin = NULL;
            struct test_bytes dump = dump_of(filter), file = test_written(filter);
            if (way == 0) {
                twin = loaded(&dump);
            } else if (way == 1) {
                twin = by_chunks(&dump, filter);
            } else if (way == 2) {
                assert_int_equal(bloomery_save(filter, path, NULL), BLOOMERY_OK);
                assert_int_equal(bloomery_open(path, NULL, &twin, NULL), BLOOMERY_OK);
            } else if (way == 3) {
                assert_int_equal(bloomery_copy(filter, NULL, &twin, NULL), BLOOMERY_OK);
            } else {
                assert_int_equal(bloomery_load(file.data, file.bytes, NULL, &twin, NULL),
                                 BLOOMERY_OK);
            }
            assert_dumps(twin, &dump);
            if (way != 0 && way != 1) /* a dump does not keep the planned keys */
                assert_true(info_of(twin).planned_keys == info_of(filter).planned_keys);
            else {
                bloomery_free(filter);
                filter = loaded(&dump);
            }
            assert_twins(filter, twin, &keys);
            bloomery_free(filter);
            bloomery_free(twin);
            test_bytes_free(&dump);
            test_bytes_free(&file);
        }
        test_keys_free(&keys);
    }
    test_directory_remove(&directory);
}

static void a_cleared_filter_is_a_new_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        const struct numbers *shape = &shapes[i];
        const uint32_t growth = shape->growth > 4 ? 4 : shape->growth;
        struct test_keys keys = test_keys_make(TEST_URLS, i, 0, 2000);
        bloomery_filter *filter = used(shape, &keys);
        bloomery_filter *fresh = make(shape->keys, shape->slots, shape->iterations, growth, NULL);
        assert_int_equal(bloomery_clear(filter, NULL), BLOOMERY_OK);
        test_assert_same(filter, fresh);
        assert_int_equal(info_of(filter).memory_bytes, info_of(fresh).memory_bytes);
        bloomery_free(filter);
        bloomery_free(fresh);
        test_keys_free(&keys);
    }
}

/* A key of a server is a filter of 1,024 slots. */
static void a_small_filter_takes_little_beside_its_slots(void **state)
{
    (void)state;
    bloomery_filter *filter = make(1024, 2, 20, 1, NULL);
    assert_in_range(info_of(filter).memory_bytes, 1024, 1024 + 250);
    bloomery_free(filter);
    filter = make(4, 2, 20, 1, NULL);
    assert_in_range(info_of(filter).memory_bytes, 4, 8 + 250);
    bloomery_free(filter);
}

/* ---- What fails ------------------------------------------------------------------------------ */

static void a_refused_key_changes_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < SHAPES; i++) {
        const struct numbers *shape = &shapes[i];
        struct test_keys keys = test_keys_make(TEST_RANDOM, i, 0, 3000);
        bloomery_filter *filter = make(shape->keys, shape->slots, shape->iterations, 0, NULL);
        unsigned refused = 0;
        for (size_t k = 0; k < keys.count && refused < 40; k++) {
            struct test_bytes before = dump_of(filter);
            const int outcome = add_outcome(filter, keys.keys[k]);
            if (outcome < 0) {
                assert_int_equal(outcome, BLOOMERY_FULL);
                assert_dumps(filter, &before);
                refused++;
            }
            test_bytes_free(&before);
        }
        assert_int_equal(refused, 40);
        bloomery_free(filter);
        test_keys_free(&keys);
    }
}

/* Each request for memory is refused once, in making, adding, loading and copying. */
static void refused_memory_loses_nothing(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 5, 0, 400);
    unsigned refused = 0;
    (void)state;
    for (uint64_t at = 1; at < 16; at++) {
        struct test_memory memory = {.refuse_at = at};
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
        bloomery_filter *filter = NULL, *copy = NULL;
        options.allocator = opening.allocator = test_allocator(&memory);
        bloomery_status status = bloomery_cuckoo_create(64, 2, 20, 1, &options, &filter, NULL);
        if (status != BLOOMERY_OK) {
            assert_true(status == BLOOMERY_OUT_OF_MEMORY && filter == NULL && memory.live == 0);
            continue;
        }
        for (size_t k = 0; k < keys.count; k++) {
            struct test_bytes before = dump_of(filter);
            int outcome = add_outcome(filter, keys.keys[k]);
            if (outcome == BLOOMERY_OUT_OF_MEMORY) {
                refused++;
                assert_dumps(filter, &before);
                outcome = add_outcome(filter, keys.keys[k]);
            }
            assert_true(outcome >= 0);
            test_bytes_free(&before);
        }
        struct test_bytes dump = dump_of(filter);
        for (uint64_t next = 1; next < 4; next++) {
            const uint64_t live = memory.live;
            memory.refuse_at = memory.requests + next;
            status = bloomery_copy(filter, &opening, &copy, NULL);
            assert_true(status == BLOOMERY_OK || (status == BLOOMERY_OUT_OF_MEMORY && !copy));
            bloomery_free(copy);
            memory.refuse_at = memory.requests + next;
            status = bloomery_dialect_load(dialect(), dump.data, dump.bytes, NULL, &opening, &copy,
                                           NULL);
            assert_true(status == BLOOMERY_OK || (status == BLOOMERY_OUT_OF_MEMORY && !copy));
            bloomery_free(copy);
            assert_int_equal(memory.live, live);
        }
        bloomery_free(filter);
        assert_true(memory.live == 0 && !memory.wrong);
        test_bytes_free(&dump);
    }
    assert_true(refused > 5);
    test_keys_free(&keys);
}

static void tables_have_fewer_than_2_32_slots(void **state)
{
    bloomery_filter *filter = NULL;
    bloomery_error error;
    int outcome = 0;
    (void)state;
    assert_int_equal(bloomery_cuckoo_create(UINT64_C(1) << 32, 1, 20, 1, NULL, &filter, &error),
                     BLOOMERY_UNSUPPORTED);
    assert_non_null(strstr(error.text, "2^32"));
    assert_null(filter);
    /* The next table would have 2^17 times 2^15 slots. */
    filter = make(1 << 17, 1, 1, 32768, NULL);
    for (uint64_t i = 0; outcome >= 0; i++)
        outcome = add_outcome(filter, bloomery_key_of(&i, sizeof i));
    assert_int_equal(outcome, BLOOMERY_UNSUPPORTED);
    assert_int_equal(numbers_of(filter).tables, 1);
    bloomery_free(filter);
}

static void a_memory_limit_ends_growth(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 5, 0, 1000);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    size_t k = 0;
    (void)state;
    options.memory_limit = 256;
    bloomery_filter *filter = make(64, 2, 20, 1, &options);
    while (add_outcome(filter, keys.keys[k]) >= 0)
        k++;
    assert_int_equal(add_outcome(filter, keys.keys[k]), BLOOMERY_FULL);
    assert_int_equal(numbers_of(filter).tables, 4);
    bloomery_free(filter);
    test_keys_free(&keys);
}

static void what_it_cannot_do_is_refused(void **state)
{
    bloomery_filter *one = make(100, 2, 20, 1, NULL), *two = make(100, 2, 20, 1, NULL);
    bloomery_filter *larger = make(1000, 2, 20, 1, NULL);
    bloomery_filter *made = NULL, *plain = bloomery_new(100, 0.01, NULL);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_comparison comparison = BLOOMERY_COMPARISON;
    bloomery_error error;
    uint8_t header[BLOOMERY_CUCKOO_HEADER];
    const bloomery_key key = bloomery_key_of("a", 1);
    (void)state;
    assert_int_equal(bloomery_merge(one, two, &error), BLOOMERY_UNSUPPORTED);
    assert_non_null(strstr(error.text, "cuckoo filters can't be merged"));
    assert_int_equal(bloomery_merge(one, larger, &error), BLOOMERY_UNSUPPORTED);
    assert_non_null(strstr(error.text, "cuckoo filters can't be merged"));
    assert_int_equal(bloomery_intersect(one, two, &error), BLOOMERY_UNSUPPORTED);
    assert_int_equal(bloomery_fold(one, 1, NULL, &made, &error), BLOOMERY_UNSUPPORTED);
    assert_non_null(strstr(error.text, "cuckoo filters can't be folded"));
    assert_int_equal(bloomery_compare(one, larger, &comparison, &error), BLOOMERY_UNSUPPORTED);
    assert_non_null(strstr(error.text, "cuckoo filters can't be compared"));
    assert_int_equal(bloomery_drop_counters(one, NULL, &made, &error), BLOOMERY_UNSUPPORTED);
    assert_non_null(strstr(error.text, "a cuckoo filter has fingerprints"));
    options.concurrent_adds = true;
    assert_int_equal(bloomery_cuckoo_create(9, 2, 2, 1, &options, &made, &error),
                     BLOOMERY_UNSUPPORTED);
    options = (bloomery_create_options)BLOOMERY_CREATE_OPTIONS;
    options.seed = 1;
    assert_int_equal(bloomery_cuckoo_create(9, 2, 2, 1, &options, &made, &error),
                     BLOOMERY_BAD_ARGUMENT);
    assert_int_equal(bloomery_cuckoo_create(9, 256, 2, 1, NULL, &made, &error),
                     BLOOMERY_BAD_ARGUMENT);
    assert_int_equal(bloomery_cuckoo_create(9, 2, 65536, 1, NULL, &made, &error),
                     BLOOMERY_BAD_ARGUMENT);
    assert_int_equal(bloomery_cuckoo_create(9, 2, 2, 32769, NULL, &made, &error),
                     BLOOMERY_BAD_ARGUMENT);
    assert_null(made);
    /* Those of other kinds have none of this. */
    assert_int_equal(bloomery_cuckoo_header(plain, header), BLOOMERY_MISMATCH);
    assert_int_equal(bloomery_cuckoo_compact(plain, true, NULL, &error), BLOOMERY_MISMATCH);
    assert_int_equal(bloomery_cuckoo_load_chunk(plain, 1, header, 0, &error), BLOOMERY_MISMATCH);
    assert_false(bloomery_cuckoo_add_absent(plain, key, &error));
    assert_int_equal(error.status, BLOOMERY_MISMATCH);
    bloomery_free(one);
    bloomery_free(two);
    bloomery_free(larger);
    bloomery_free(plain);
}

/* ---- Hostile bytes --------------------------------------------------------------------------- */

static void wrong_headers_are_refused(void **state)
{
    static const struct {
        size_t at;
        unsigned bytes;
        uint64_t value;
    } wrong[] = {
        {0, 8, UINT64_MAX},
        {8, 8, 0},
        {8, 8, 3},
        {8, 8, UINT64_C(1) << 63},
        {8, 8, UINT64_C(1) << 31},
        {16, 8, UINT64_C(1) << 63},
        {24, 8, 0},
        {24, 8, 65537},
        {24, 8, UINT64_MAX},
        {32, 2, 0},
        {32, 2, 256},
        {34, 2, 0},
        {36, 2, 3},
        {36, 2, 65535},
        {36, 2, 40000},
    };
    bloomery_filter *filter = make(32, 2, 20, 1, NULL), *made = NULL;
    struct test_bytes dump = dump_of(filter);
    bloomery_error error;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct test_bytes bad = test_copy_bytes(dump.data, dump.bytes);
        forge_put(&bad, wrong[i].at, wrong[i].value, wrong[i].bytes);
        const bloomery_status status =
            bloomery_cuckoo_load_header(bad.data, BLOOMERY_CUCKOO_HEADER, NULL, &made, &error);
        if (status != BLOOMERY_CORRUPT && status != BLOOMERY_UNSUPPORTED)
            fail_msg("header %zu: %s", i, bloomery_status_name(status));
        assert_null(made);
        test_bytes_free(&bad);
    }
    /* Several tables of a filter that does not grow; tables whose sizes pass 2^32. */
    forge_put(&dump, 24, 2, 8);
    forge_put(&dump, 36, 0, 2);
    assert_int_equal(bloomery_cuckoo_load_header(dump.data, 38, NULL, &made, &error),
                     BLOOMERY_CORRUPT);
    forge_put(&dump, 24, 64, 8);
    forge_put(&dump, 36, 32768, 2);
    assert_int_equal(bloomery_cuckoo_load_header(dump.data, 38, NULL, &made, &error),
                     BLOOMERY_UNSUPPORTED);
    test_bytes_free(&dump);
    bloomery_free(filter);
}

/* No memory is taken for tables that a dump names and does not have. */
static void tables_that_do_not_follow_take_no_memory(void **state)
{
    bloomery_filter *filter = make(1, 1, 1, 1, NULL), *made = NULL;
    struct test_bytes dump = dump_of(filter);
    struct test_memory memory = {.live = 0};
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    bloomery_error error;
    (void)state;
    options.allocator = test_allocator(&memory);
    forge_put(&dump, 24, 65536, 8);
    assert_int_equal(
        bloomery_dialect_load(dialect(), dump.data, dump.bytes, NULL, &options, &made, &error),
        BLOOMERY_TRUNCATED);
    assert_non_null(strstr(error.text, "65536 tables"));
    assert_true(made == NULL && memory.requests == 0);
    test_bytes_free(&dump);
    bloomery_free(filter);
}

/* Whatever a header says, the filter that it makes can be used, written and read again. */
static void what_any_header_makes_can_be_used(void **state)
{
    uint64_t random = 11;
    unsigned made = 0;
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    (void)state;
    options.memory_limit = 1 << 16;
    for (int n = 0; n < (test_long() ? 200000 : 3000); n++) {
        uint8_t header[BLOOMERY_CUCKOO_HEADER], chunk[64];
        struct test_bytes bytes = {header, sizeof header};
        bloomery_filter *filter = NULL;
        forge_put(&bytes, 0, test_next(&random) >> test_below(&random, 64), 8);
        forge_put(&bytes, 8, UINT64_C(1) << test_below(&random, 8), 8);
        forge_put(&bytes, 16, test_next(&random) >> test_below(&random, 64), 8);
        forge_put(&bytes, 24, 1 + test_below(&random, 9), 8);
        forge_put(&bytes, 32, 1 + test_below(&random, 9), 2);
        forge_put(&bytes, 34, 1 + test_below(&random, 30), 2);
        forge_put(&bytes, 36, UINT64_C(1) << test_below(&random, 3), 2);
        if (bloomery_cuckoo_load_header(header, sizeof header, &options, &filter, NULL) !=
            BLOOMERY_OK)
            continue;
        made++;
        for (int i = 0; i < 20; i++) {
            const size_t length = 1 + test_below(&random, sizeof chunk);
            for (size_t k = 0; k < length; k++)
                chunk[k] = (uint8_t)test_next(&random);
            (void)bloomery_cuckoo_load_chunk(filter, test_below(&random, 2000), chunk, length,
                                             NULL);
        }
        for (uint64_t k = 0; k < 60; k++) {
            (void)add_outcome(filter, bloomery_key_of(&k, sizeof k));
            if (test_below(&random, 2) == 0)
                (void)remove_outcome(filter, bloomery_key_of(&k, sizeof k));
        }
        (void)bloomery_cuckoo_compact(filter, true, NULL, NULL);
        struct test_bytes dump = dump_of(filter);
        bloomery_filter *again = loaded(&dump);
        assert_dumps(again, &dump);
        bloomery_free(again);
        bloomery_free(filter);
        test_bytes_free(&dump);
    }
    assert_true(made > 1000);
}

/* Dumps and files that are cut short, or that have another byte. */
static void damaged_bytes_are_refused_or_safe(void **state)
{
    struct test_keys keys = test_keys_make(TEST_URLS, 1, 0, 100);
    bloomery_filter *filter = used(&shapes[0], &keys), *made = NULL;
    struct test_bytes dump = dump_of(filter), file = test_written(filter);
    bloomery_error error;
    (void)state;
    for (size_t bytes = 0; bytes < dump.bytes; bytes++) {
        struct test_fence fence = test_fence_make(dump.data, bytes);
        assert_int_equal(
            bloomery_dialect_load(dialect(), fence.data, bytes, NULL, NULL, &made, &error),
            BLOOMERY_TRUNCATED);
        test_fence_free(&fence);
    }
    assert_int_equal(
        bloomery_dialect_load(dialect(), dump.data, dump.bytes + 1, NULL, NULL, &made, &error),
        BLOOMERY_TRUNCATED);
    for (size_t at = 0; at < BLOOMERY_CUCKOO_HEADER; at++)
        for (int bit = 0; bit < 8; bit++) {
            struct test_bytes bad = test_copy_bytes(dump.data, dump.bytes);
            bad.data[at] ^= (uint8_t)(1 << bit);
            if (bloomery_dialect_load(dialect(), bad.data, bad.bytes, NULL, NULL, &made, &error) ==
                BLOOMERY_OK) {
                (void)bloomery_remove(made, keys.keys[1], &error);
                (void)bloomery_add(made, keys.keys[1], &error);
                bloomery_free(made);
            }
            test_bytes_free(&bad);
        }
    /* In our file every field is under a checksum; sealed again, numbers are checked. */
    for (size_t at = 0; at < forge_payload(&file); at++)
        for (int bit = 0; bit < 8; bit += 3) {
            struct test_bytes bad = test_copy_bytes(file.data, file.bytes);
            bad.data[at] ^= (uint8_t)(1 << bit);
            assert_true(bloomery_load(bad.data, bad.bytes, NULL, &made, &error) != BLOOMERY_OK);
            if (forge_seal(&bad) &&
                bloomery_load(bad.data, bad.bytes, NULL, &made, &error) == BLOOMERY_OK) {
                if (info_of(made).kind == BLOOMERY_CUCKOO && info_of(made).writable) {
                    (void)bloomery_remove(made, keys.keys[1], &error);
                    (void)bloomery_add(made, keys.keys[1], &error);
                    (void)bloomery_cuckoo_compact(made, true, NULL, &error);
                }
                bloomery_free(made);
            }
            test_bytes_free(&bad);
        }
    test_bytes_free(&dump);
    test_bytes_free(&file);
    bloomery_free(filter);
    test_keys_free(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_sequence_gives_the_bytes_of_the_model),
        cmocka_unit_test(thirty_two_tables_are_as_in_the_model),
        cmocka_unit_test(batches_do_what_single_calls_do),
        cmocka_unit_test(a_batch_ends_at_the_key_that_does_not_fit),
        cmocka_unit_test(the_rate_is_the_one_of_the_formula),
        cmocka_unit_test(planned_tables_take_their_keys),
        cmocka_unit_test(plans_name_what_is_possible),
        cmocka_unit_test(keys_that_are_left_keep_the_rate_below_the_limit),
        cmocka_unit_test(chunks_come_to_their_tables_of_many),
        cmocka_unit_test(any_way_gives_the_same_filter),
        cmocka_unit_test(a_cleared_filter_is_a_new_one),
        cmocka_unit_test(a_small_filter_takes_little_beside_its_slots),
        cmocka_unit_test(a_refused_key_changes_nothing),
        cmocka_unit_test(refused_memory_loses_nothing),
        cmocka_unit_test(tables_have_fewer_than_2_32_slots),
        cmocka_unit_test(a_memory_limit_ends_growth),
        cmocka_unit_test(what_it_cannot_do_is_refused),
        cmocka_unit_test(wrong_headers_are_refused),
        cmocka_unit_test(tables_that_do_not_follow_take_no_memory),
        cmocka_unit_test(what_any_header_makes_can_be_used),
        cmocka_unit_test(damaged_bytes_are_refused_or_safe),
    };
    return test_run_group("cuckoo", tests, NULL, NULL);
}
