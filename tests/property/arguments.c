/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong arguments are refused with a text and change nothing; structs of other versions are taken
 * as the header says.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property.
 * Without libsodium define BLOOMERY_TEST_NO_SODIUM.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/support.h"

#include <bloomery/dialect.h>
#include <bloomery/experimental.h>
#include <bloomery/records.h>
#include <bloomery/sieve.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A field put into padding would not change the size by which the library knows a caller's
 * struct. */
#define ENDS_WITHOUT_PADDING(type, last)                                                   \
    _Static_assert(sizeof(type) == offsetof(type, last) + sizeof(((const type *)0)->last), \
                   #type " ends with " #last)
ENDS_WITHOUT_PADDING(bloomery_plan_options, reserved);
ENDS_WITHOUT_PADDING(bloomery_create_options, note);
ENDS_WITHOUT_PADDING(bloomery_open_options, note);
ENDS_WITHOUT_PADDING(bloomery_plan, wanted_rate);
ENDS_WITHOUT_PADDING(bloomery_info, wanted_rate);
ENDS_WITHOUT_PADDING(bloomery_keys, nulls);
ENDS_WITHOUT_PADDING(bloomery_comparison, reserved);
ENDS_WITHOUT_PADDING(bloomery_layer_info, live_rate);
ENDS_WITHOUT_PADDING(bloomery_dialect_parameters, reserved);
ENDS_WITHOUT_PADDING(bloomery_sieve_options, max_deliveries);
ENDS_WITHOUT_PADDING(bloomery_sieve_info, leases);
ENDS_WITHOUT_PADDING(bloomery_limits, text);
ENDS_WITHOUT_PADDING(bloomery_sieve_recovery, folder);
ENDS_WITHOUT_PADDING(bloomery_sieve_plan, budget_rate);

static const uint8_t secret[BLOOMERY_SECRET_BYTES] = "sixteen letters";

static const bloomery_plan good = {.kind = BLOOMERY_BLOCKED,
                                   .bits = 1024,
                                   .blocks_per_key = 2,
                                   .probes = 4,
                                   .keys = 10,
                                   .rate = 0.5};

static void assert_create(const char *what, const bloomery_plan *plan,
                          const bloomery_create_options *options, bloomery_status expected)
{
    bloomery_filter *filter = (bloomery_filter *)(uintptr_t)plan;
    bloomery_error error = {.status = BLOOMERY_OK, .text = "untouched"};
    bloomery_status status = bloomery_create(plan, options, &filter, &error);
    if (status != expected)
        fail_msg("%s: %s, not %s", what, bloomery_status_name(status),
                 bloomery_status_name(expected));
    if (status == BLOOMERY_OK) {
        assert_string_equal(error.text, "untouched"); /* written on failure only */
        bloomery_free(filter);
        return;
    }
    assert_null(filter);
    assert_int_equal(error.status, status);
    assert_true(error.text[0] != '\0' && memchr(error.text, '\0', sizeof error.text) != NULL);
    /* The same without room for a text. */
    assert_int_equal(bloomery_create(plan, options, &filter, NULL), expected);
}

static void wrong_plans_are_refused(void **state)
{
    (void)state;
    const struct {
        const char *what;
        bloomery_plan plan;
        bloomery_status status;
    } cases[] = {
        {"good", good, BLOOMERY_OK},
        {"no bits", {.kind = BLOOMERY_CLASSIC, .probes = 1}, BLOOMERY_BAD_ARGUMENT},
        {"one bit", {.kind = BLOOMERY_CLASSIC, .bits = 1, .probes = 64}, BLOOMERY_OK},
        {"no probes", {.kind = BLOOMERY_CLASSIC, .bits = 64}, BLOOMERY_BAD_ARGUMENT},
        {"65 probes", {.kind = BLOOMERY_CLASSIC, .bits = 64, .probes = 65}, BLOOMERY_BAD_ARGUMENT},
        {"2^32 - 1 probes",
         {.kind = BLOOMERY_CLASSIC, .bits = 64, .probes = UINT32_MAX},
         BLOOMERY_BAD_ARGUMENT},
        {"classic with blocks",
         {.kind = BLOOMERY_CLASSIC, .bits = 64, .probes = 1, .blocks_per_key = 1},
         BLOOMERY_BAD_ARGUMENT},
        {"half a block", {.bits = 256, .blocks_per_key = 1, .probes = 1}, BLOOMERY_BAD_ARGUMENT},
        {"no blocks", {.bits = 512, .probes = 1}, BLOOMERY_BAD_ARGUMENT},
        {"four blocks", {.bits = 512, .blocks_per_key = 4, .probes = 8}, BLOOMERY_OK},
        {"five blocks", {.bits = 512, .blocks_per_key = 5, .probes = 1}, BLOOMERY_BAD_ARGUMENT},
        {"nine bits of eight words",
         {.bits = 512, .blocks_per_key = 1, .probes = 9},
         BLOOMERY_BAD_ARGUMENT},
        {"blocks that wrap",
         {.bits = 512, .blocks_per_key = 3, .probes = 0x55555556},
         BLOOMERY_BAD_ARGUMENT},
        {"2^63 bits",
         {.bits = 1ull << 63, .blocks_per_key = 1, .probes = 1},
         BLOOMERY_BAD_ARGUMENT},
        {"2^64 - 1 bits",
         {.kind = BLOOMERY_CLASSIC, .bits = UINT64_MAX, .probes = 1},
         BLOOMERY_BAD_ARGUMENT},
        {"other bytes",
         {.bits = 512, .blocks_per_key = 1, .probes = 1, .bytes = 128},
         BLOOMERY_BAD_ARGUMENT},
        {"a rate of 2",
         {.bits = 512, .blocks_per_key = 1, .probes = 1, .rate = 2},
         BLOOMERY_BAD_ARGUMENT},
        {"a rate that is no number",
         {.bits = 512, .blocks_per_key = 1, .probes = 1, .rate = NAN},
         BLOOMERY_BAD_ARGUMENT},
        {"a reserved kind",
         {.kind = (bloomery_kind)6, .bits = 512, .blocks_per_key = 1, .probes = 1},
         BLOOMERY_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_create(cases[i].what, &cases[i].plan, NULL, cases[i].status);
}

static void key_rules_that_contradict_themselves_are_refused(void **state)
{
    (void)state;
    static const bloomery_key_rule wrong[] = {
        {.flags = BLOOMERY_RULE_KNOWN + 1},
        {.flags = BLOOMERY_RULE_LOWER | BLOOMERY_RULE_UPPER},
        {.flags = BLOOMERY_RULE_LOWER | BLOOMERY_RULE_HEX},
        {.flags = BLOOMERY_RULE_UPPER | BLOOMERY_RULE_HEX},
        {.flags = BLOOMERY_RULE_CSV},
        {.delimiter = ','},
        {.delimiter = 256, .field = 1},
        {.comment = 256},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        options.rule = wrong[i];
        char what[30];
        snprintf(what, sizeof what, "rule %zu", i);
        assert_create(what, &good, &options, BLOOMERY_BAD_ARGUMENT);
    }
}

static void wrong_options_are_refused(void **state)
{
    static char long_note[BLOOMERY_NOTE_BYTES + 2];
    (void)state;
    memset(long_note, 'x', BLOOMERY_NOTE_BYTES + 1);
    /* The last two are about keys. */
    for (int which = 0; which < (test_keyed() ? 9 : 7); which++) {
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        struct test_memory memory = {0};
        bloomery_plan plan = good;
        if (which == 0)
            options.note = long_note;
        if (which == 1)
            plan.hash = (bloomery_hash_id)4;
        if (which == 2)
            options.struct_bytes = 0;
        if (which == 3) {
            options.allocator = test_allocator(&memory);
            options.allocator.release = NULL;
        }
        if (which == 4)
            options.rule.flags = 1u << 31;
        if (which == 5)
            options.rule.delimiter = 256;
        if (which == 6)
            options.secret_outside = true; /* and there is none */
        if (which == 7) {
            plan.hash = BLOOMERY_HASH_SIPHASH;
            options.secret_outside = true;
        }
        if (which == 8) {
            options.secret = secret;
            options.seed = 1;
        }
        char what[30];
        snprintf(what, sizeof what, "option %d", which);
        assert_create(what, &plan, &options, BLOOMERY_BAD_ARGUMENT);
    }
}

/* A caller built against a later header has more fields: unused, they do no harm. */
static void structs_may_grow(void **state)
{
    (void)state;
    struct {
        bloomery_create_options options;
        uint64_t later[4];
    } grown;
    memset(&grown, 0, sizeof grown);
    grown.options.struct_bytes = sizeof grown;
    assert_create("grown options", &good, &grown.options, BLOOMERY_OK);
    grown.later[3] = 1;
    assert_create("a later option", &good, &grown.options, BLOOMERY_UNSUPPORTED);

    struct {
        bloomery_info info;
        uint8_t later[64];
    } info;
    bloomery_filter *filter = test_create(&good, NULL);
    /* An earlier caller's struct is not written past its end, nor a later one's past ours. */
    for (size_t bytes = sizeof(size_t); bytes <= sizeof info; bytes += 8) {
        memset(&info, 0xab, sizeof info);
        info.info.struct_bytes = bytes;
        bloomery_info_get(filter, true, &info.info);
        assert_int_equal(info.info.struct_bytes, bytes);
        const uint8_t *all = (const uint8_t *)&info;
        size_t known = bytes < sizeof info.info ? bytes : sizeof info.info;
        for (size_t i = known; i < sizeof info; i++)
            assert_true(all[i] == 0xab || (i < bytes && all[i] == 0));
        if (bytes >= offsetof(bloomery_info, bits) + 8)
            assert_int_equal(info.info.bits, good.bits);
    }
    bloomery_free(filter);
}

/* A plan is read and filled by the size that the caller has: 0 is that of version 0.1. */
static void plans_may_grow(void **state)
{
    struct {
        bloomery_plan plan;
        uint64_t later;
    } grown;
    (void)state;
    memset(&grown, 0, sizeof grown);
    bloomery_plan plain = {.keys = 1000, .rate = 0.01};
    bloomery_plan sized = BLOOMERY_PLAN;
    sized.keys = grown.plan.keys = 1000;
    sized.rate = grown.plan.rate = 0.01;
    grown.plan.struct_bytes = sizeof grown;
    assert_int_equal(bloomery_plan_solve(&plain, NULL, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_plan_solve(&sized, NULL, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_plan_solve(&grown.plan, NULL, NULL), BLOOMERY_OK);
    assert_true(plain.struct_bytes == 0 && sized.struct_bytes == sizeof sized);
    assert_int_equal(grown.plan.struct_bytes, sizeof grown);
    assert_true(plain.bits > 0 && plain.bits == sized.bits && plain.bits == grown.plan.bits);
    assert_create("a plan without a size", &plain, NULL, BLOOMERY_OK);
    assert_create("a plan with its size", &sized, NULL, BLOOMERY_OK);
    assert_create("a later plan", &grown.plan, NULL, BLOOMERY_OK);
    grown.later = 1;
    assert_create("a later plan's number", &grown.plan, NULL, BLOOMERY_UNSUPPORTED);
    assert_int_equal(bloomery_plan_solve(&grown.plan, NULL, NULL), BLOOMERY_UNSUPPORTED);
    assert_true(bloomery_plan_rate(&grown.plan, 10) == 1);
    sized.struct_bytes = 8;
    assert_create("a plan that is too short", &sized, NULL, BLOOMERY_BAD_ARGUMENT);
}

/* What is filled in begins with its size; what was never initialised begins with anything. */
static void structs_without_their_size_are_not_filled(void **state)
{
    static const size_t sizes[] = {1, 4, sizeof(size_t), 5000, SIZE_MAX};
    bloomery_plan chain = {.kind = BLOOMERY_SCALABLE, .keys = 1000, .rate = 0.01};
    bloomery_filter *filter = test_create(&good, NULL);
    (void)state;
    assert_int_equal(bloomery_plan_solve(&chain, NULL, NULL), BLOOMERY_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        bloomery_plan plan = {.struct_bytes = sizes[i]};
        bloomery_layer_info layer = {.struct_bytes = sizes[i]};
        bloomery_comparison comparison = {.struct_bytes = sizes[i]};
        bloomery_info info = {.struct_bytes = sizes[i]};
        bloomery_error error = {.text = ""};
        assert_int_equal(bloomery_plan_layer(&chain, 1, &plan, &error), BLOOMERY_BAD_ARGUMENT);
        assert_non_null(strstr(error.text, "BLOOMERY_PLAN"));
        assert_int_equal(bloomery_layer_info_get(filter, 0, true, &layer), BLOOMERY_BAD_ARGUMENT);
        assert_int_equal(bloomery_compare(filter, filter, &comparison, &error),
                         BLOOMERY_BAD_ARGUMENT);
        assert_true(plan.struct_bytes == sizes[i] && plan.keys == 0);
        assert_true(layer.struct_bytes == sizes[i] && layer.bits == 0);
        assert_true(comparison.struct_bytes == sizes[i] && !comparison.equal);
        bloomery_info_get(filter, &info); /* cannot fail */
        assert_int_equal(info.struct_bytes, sizes[i]);
        assert_true(sizes[i] > sizeof info || info.kind == BLOOMERY_KIND_DEFAULT);
    }
    chain.struct_bytes = 0;
    assert_int_equal(bloomery_plan_layer(&chain, 1, &chain, NULL), BLOOMERY_OK);
    assert_true(chain.struct_bytes == 0 && chain.kind == BLOOMERY_BLOCKED);
    bloomery_free(filter);
}

/* Both functions of an allocator, or none; memory that is zero already is a third, never alone. */
static void half_an_allocator_is_refused(void **state)
{
    struct test_memory memory = {0};
    const bloomery_allocator whole = test_allocator(&memory);
    (void)state;
    for (int has = 1; has < 8; has++) {
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
        bloomery_error error = {.text = ""};
        bloomery_filter *filter;
        if ((has & 3) == 3)
            continue;
        options.allocator.allocate = (has & 1) != 0 ? whole.allocate : NULL;
        options.allocator.release = (has & 2) != 0 ? whole.release : NULL;
        options.allocator.allocate_zeroed = (has & 4) != 0 ? whole.allocate : NULL;
        opening.allocator = options.allocator;
        assert_create("half an allocator", &good, &options, BLOOMERY_BAD_ARGUMENT);
        assert_int_equal(bloomery_load(secret, sizeof secret, &opening, &filter, &error),
                         BLOOMERY_BAD_ARGUMENT);
        assert_string_equal(error.text, "an allocator needs both allocate and release");
    }
}

/* So are columns read, and comparisons filled. */
static void columns_and_comparisons_may_grow(void **state)
{
    struct {
        bloomery_keys column;
        uint64_t later;
    } grown;
    struct {
        bloomery_comparison found;
        uint64_t later;
    } comparison;
    const uint64_t keys[2] = {1, 2};
    bloomery_filter *filter = test_create(&good, NULL);
    (void)state;
    memset(&grown, 0, sizeof grown);
    grown.column.struct_bytes = sizeof grown;
    grown.column.form = BLOOMERY_KEYS_FIXED;
    grown.column.data = keys;
    grown.column.bytes = sizeof keys;
    grown.column.width = 8;
    grown.column.count = 2;
    assert_int_equal(bloomery_add_keys(filter, &grown.column, NULL, NULL, NULL), BLOOMERY_OK);
    grown.later = 1;
    assert_int_equal(bloomery_add_keys(filter, &grown.column, NULL, NULL, NULL),
                     BLOOMERY_BAD_ARGUMENT);
    memset(&comparison, 0xab, sizeof comparison);
    comparison.found.struct_bytes = sizeof comparison;
    assert_int_equal(bloomery_compare(filter, filter, &comparison.found, NULL), BLOOMERY_OK);
    assert_true(comparison.found.equal && comparison.found.struct_bytes == sizeof comparison);
    assert_true(comparison.later == UINT64_C(0xabababababababab));
    comparison.found.struct_bytes = 0;
    assert_int_equal(bloomery_compare(filter, filter, &comparison.found, NULL),
                     BLOOMERY_BAD_ARGUMENT);
    bloomery_free(filter);
}

/* A view wants its bytes at a multiple of 64; load takes them from anywhere. */
static void views_want_aligned_bytes(void **state)
{
    (void)state;
    bloomery_filter *filter = test_create(&good, NULL);
    struct test_bytes file = test_written(filter);
    bloomery_free(filter);
    uint8_t *room = aligned_alloc(64, (file.bytes + 191) / 64 * 64);
    assert_non_null(room);
    for (size_t off = 1; off < 64; off++) {
        bloomery_error error = {.status = BLOOMERY_OK};
        memcpy(room + off, file.data, file.bytes);
        filter = NULL;
        assert_int_equal(bloomery_view(room + off, file.bytes, NULL, &filter, &error),
                         BLOOMERY_BAD_ARGUMENT);
        assert_null(filter);
        assert_int_equal(bloomery_load(room + off, file.bytes, NULL, &filter, NULL), BLOOMERY_OK);
        bloomery_free(filter);
    }
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    options.flags = 4;
    assert_int_equal(bloomery_load(file.data, file.bytes, &options, &filter, NULL),
                     BLOOMERY_BAD_ARGUMENT);
    free(room);
    test_bytes_free(&file);
}

static void words_exist_for_every_number(void **state)
{
    (void)state;
    for (int value = -300; value < 300; value++) {
        assert_non_null(bloomery_status_name(value));
        assert_non_null(bloomery_status_text(value));
        const char *kind = bloomery_kind_name(value);
        if (kind != NULL)
            assert_int_equal(bloomery_kind_find(kind), value);
    }
    assert_string_equal(bloomery_status_name(1), "BLOOMERY_?");
    assert_string_equal(bloomery_status_name(BLOOMERY_SECRET_NEEDED), "BLOOMERY_SECRET_NEEDED");
    assert_string_equal(bloomery_status_text(77), "unknown status");
    assert_string_equal(bloomery_kind_name(BLOOMERY_CLASSIC), "classic");
    assert_int_equal(bloomery_kind_find("bloked"), BLOOMERY_KIND_DEFAULT);
    assert_int_equal(bloomery_kind_find(""), BLOOMERY_KIND_DEFAULT);
    assert_string_equal(bloomery_version(), BLOOMERY_VERSION);
    bloomery_free(NULL);
}

static void no_keys_of(bloomery_filter *filter)
{
    bloomery_keys column = BLOOMERY_KEYS;
    size_t found = 1;
    uint64_t new_bits = 1;
    bloomery_info before = BLOOMERY_INFO, after = BLOOMERY_INFO;
    bloomery_info_get(filter, &before);
    bloomery_scan_result before_scan = scan_of(filter);
    assert_int_equal(add_list_bits(filter, NULL, 0, NULL, &new_bits), BLOOMERY_OK);
    assert_int_equal(new_bits, 0);
    assert_int_equal(add_hashes(filter, NULL, 0, NULL), BLOOMERY_OK);
    assert_int_equal(hash_list(filter, NULL, 0, NULL), BLOOMERY_OK);
    assert_int_equal(query_list(filter, NULL, 0, NULL), 0);
    assert_int_equal(query_hashes(filter, NULL, 0, NULL), 0);
    for (uint32_t threads = 0; threads <= 8; threads++)
        assert_int_equal(add_list_threads(filter, NULL, 0, threads, NULL), BLOOMERY_OK);
    for (int form = BLOOMERY_KEYS_FIXED; form <= BLOOMERY_KEYS_HASHES128; form++) {
        column.form = (bloomery_keys_form)form;
        if (form == BLOOMERY_KEYS_HASHES64 && before.hash != BLOOMERY_HASH_XXH3_64)
            continue;
        for (size_t first = 0; first < 200; first += 199) {
            column.first = first;
            assert_int_equal(bloomery_add_keys(filter, &column, NULL, NULL, NULL), BLOOMERY_OK);
            assert_int_equal(query_keys(filter, &column, NULL, &found, NULL), BLOOMERY_OK);
            assert_int_equal(found, 0);
            assert_int_equal(bloomery_hash_keys(filter, &column, NULL, NULL), BLOOMERY_OK);
            assert_int_equal(add_keys_threads(filter, &column, 4, NULL), BLOOMERY_OK);
            if (before.counter_max > 0)
                assert_int_equal(remove_keys(filter, &column, NULL, &found, NULL), BLOOMERY_OK);
        }
    }
    bloomery_info_get(filter, &after);
    bloomery_scan_result after_scan = scan_of(filter);
    assert_int_equal(after_scan.bits_set, before_scan.bits_set);
    assert_int_equal(after.adds, before.adds);
}

/* In filters of other systems, which go other ways. */
static void no_keys_of_dialects(void)
{
    const bloomery_dialect *dialect;
    for (size_t i = 0; (dialect = bloomery_dialect_at(i)) != NULL; i++) {
        bloomery_dialect_parameters with = BLOOMERY_DIALECT_PARAMETERS;
        bloomery_filter *filter = NULL;
        with.keys = 2000;
        with.rate = 0.01;
        if (bloomery_dialect_create(dialect, &with, NULL, &filter, NULL) != BLOOMERY_OK)
            continue;
        assert_int_equal(add_list(filter, NULL, 0, NULL), BLOOMERY_OK);
        assert_int_equal(query_list(filter, NULL, 0, NULL), 0);
        for (uint32_t threads = 1; threads <= 4; threads += 3)
            assert_int_equal(add_list_threads(filter, NULL, 0, threads, NULL), BLOOMERY_OK);
        bloomery_free(filter);
    }
}

/* No keys at no address, in every call that takes many: fine, and nothing is added to NULL on the
 * way, which the sanitizer would see. */
static void no_keys_at_no_address_are_fine(void **state)
{
    (void)state;
    static const bloomery_hash_id hashes[] = {BLOOMERY_HASH_XXH3_64, BLOOMERY_HASH_XXH3_128};
    const bloomery_key key = bloomery_key_of(NULL, 0);
    for (size_t i = 0; i <= TEST_SHAPES; i++)
        for (int concurrent = 0; concurrent < 2; concurrent++)
            for (size_t hash = 0; hash < 2; hash++) {
                const struct test_shape *shape = &test_shapes[i < TEST_SHAPES ? i : 0];
                bloomery_plan plan = test_plan(shape, 1000, 0.01);
                bloomery_plan_options wish = BLOOMERY_PLAN_OPTIONS;
                bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
                options.concurrent_adds = concurrent;
                wish.hash = hashes[hash];
                plan.hash = wish.hash;
                if (i == TEST_SHAPES) {
                    plan = (bloomery_plan){.kind = BLOOMERY_SCALABLE, .keys = 100, .rate = 0.01};
                    assert_int_equal(bloomery_plan_solve(&plan, &wish, NULL), BLOOMERY_OK);
                }
                bloomery_filter *filter = test_create(&plan, &options);
                no_keys_of(filter);
                assert_true(bloomery_add(filter, key, NULL));
                assert_true(bloomery_may_contain(filter, key));
                no_keys_of(filter);
                bloomery_free(filter);
            }
    no_keys_of_dialects();
}

/* Whichever two of three are given, the plan keeps to them or says what would. */
static void wishes_are_kept_or_refused(void **state)
{
    (void)state;
    uint64_t random = 17;
    for (unsigned i = 0; i < (test_long() ? 20000u : 250u); i++) {
        const struct test_shape *shape = &test_shapes[i % TEST_SHAPES];
        bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
        bloomery_error error = {.status = BLOOMERY_OK};
        options.blocks_per_key = i % 3 == 0 ? shape->blocks_per_key : 0;
        uint64_t keys = (test_next(&random) >> (16 + test_below(&random, 47))) + 1;
        uint64_t bytes = (test_next(&random) >> (18 + test_below(&random, 45))) + 1;
        double rate = pow(10, -15 * (double)test_below(&random, 1000000) / 1e6);
        unsigned left_out = (unsigned)test_below(&random, 3);
        bloomery_plan wish = {.kind = shape->kind,
                              .keys = left_out == 0 ? 0 : keys,
                              .bytes = left_out == 1 ? 0 : bytes,
                              .rate = left_out == 2 ? 0 : rate};
        bloomery_plan plan = wish;
        bloomery_status status = bloomery_plan_solve(&plan, &options, &error);
        if (status != BLOOMERY_OK) {
            assert_int_equal(status, BLOOMERY_BAD_ARGUMENT);
            assert_true(error.text[0] != '\0');
            assert_memory_equal(&plan, &wish, sizeof plan);
            continue;
        }
        assert_true(wish.keys == 0 || plan.keys == wish.keys);
        assert_true(wish.bytes == 0 || plan.bytes <= wish.bytes);
        assert_true(wish.rate <= 0 || plan.rate <= wish.rate);
        assert_true(plan.bits > 0 && plan.bits <= plan.bytes * 8 && plan.probes >= 1);
        double built = bloomery_plan_rate(&plan, plan.keys);
        assert_true(fabs(built - plan.rate) <= 1e-6 * plan.rate);
        assert_true(plan.limit_ratio >= 0.99);
        /* Of the plans that are small enough filters can be made. */
        if (plan.bytes < 1u << 20)
            bloomery_free(test_create(&plan, NULL));
    }
}

/* A later version may have fields there. */
static void reserved_fields_must_be_zero(void **state)
{
    (void)state;
    bloomery_error error = {0};
    bloomery_plan plan = BLOOMERY_PLAN;
    plan.keys = 100;
    plan.rate = 0.01;
    bloomery_plan_options options = BLOOMERY_PLAN_OPTIONS;
    options.reserved = 1;
    assert_int_equal(bloomery_plan_solve(&plan, &options, &error), BLOOMERY_UNSUPPORTED);
    plan.reserved = 1U << 31;
    assert_int_equal(bloomery_plan_solve(&plan, NULL, &error), BLOOMERY_UNSUPPORTED);
    plan.struct_bytes = 0;
    assert_int_equal(bloomery_plan_solve(&plan, NULL, &error), BLOOMERY_UNSUPPORTED);
    bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_filter *filter = NULL;
    parameters.keys = 100;
    parameters.rate = 0.01;
    parameters.reserved = 1;
    assert_int_equal(
        bloomery_dialect_create(bloomery_dialect_find("guava"), &parameters, NULL, &filter, &error),
        BLOOMERY_UNSUPPORTED);
    for (size_t i = 0; i < sizeof((bloomery_sieve_options){0}).reserved; i++) {
        bloomery_sieve_options sieve_options = BLOOMERY_SIEVE_OPTIONS;
        bloomery_sieve *sieve = NULL;
        sieve_options.reserved[i] = 1;
        assert_int_equal(bloomery_sieve_open(&sieve_options, &sieve, &error), BLOOMERY_UNSUPPORTED);
        assert_null(sieve);
    }
    assert_null(filter);
    assert_non_null(strstr(error.text, "does not have"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reserved_fields_must_be_zero),
        cmocka_unit_test(wrong_plans_are_refused),
        cmocka_unit_test(wrong_options_are_refused),
        cmocka_unit_test(key_rules_that_contradict_themselves_are_refused),
        cmocka_unit_test(structs_may_grow),
        cmocka_unit_test(plans_may_grow),
        cmocka_unit_test(columns_and_comparisons_may_grow),
        cmocka_unit_test(structs_without_their_size_are_not_filled),
        cmocka_unit_test(half_an_allocator_is_refused),
        cmocka_unit_test(views_want_aligned_bytes),
        cmocka_unit_test(words_exist_for_every_number),
        cmocka_unit_test(no_keys_at_no_address_are_fine),
        cmocka_unit_test(wishes_are_kept_or_refused),
    };
    return test_run_group("arguments", tests, NULL, NULL);
}
