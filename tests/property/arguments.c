/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrong arguments are refused with a text and change nothing.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property.
 * Without libsodium define BLOOMERY_TEST_NO_SODIUM.
 */
#include "../support/support.h"

#include <bloomery/builder.h>
#include <bloomery/dialect.h>
#include <bloomery/records.h>
#include <bloomery/sieve.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t secret[BLOOMERY_SECRET_BYTES] = "sixteen letters";

static const bloomery_plan good = {.kind = BLOOMERY_BLOCKED,
                                   .bits = 1024,
                                   .blocks_per_key = 2,
                                   .probes = 4,
                                   .planned_keys = 10,
                                   .planned_rate = 0.5};

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
         {.bits = 512, .blocks_per_key = 1, .probes = 1, .planned_bytes = 128},
         BLOOMERY_BAD_ARGUMENT},
        {"a rate of 2",
         {.bits = 512, .blocks_per_key = 1, .probes = 1, .planned_rate = 2},
         BLOOMERY_BAD_ARGUMENT},
        {"a rate that is not a number",
         {.bits = 512, .blocks_per_key = 1, .probes = 1, .planned_rate = NAN},
         BLOOMERY_BAD_ARGUMENT},
        {"an unknown kind",
         {.kind = (bloomery_kind)7, .bits = 512, .blocks_per_key = 1, .probes = 1},
         BLOOMERY_UNSUPPORTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_create(cases[i].what, &cases[i].plan, NULL, cases[i].status);
}

static void key_rules_that_contradict_themselves_are_refused(void **state)
{
    (void)state;
    static const bloomery_key_rule wrong[] = {
        {.flags = BLOOMERY_RULE_ELSEWHERE << 1},
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
            options.struct_bytes = 8; /* not a size that the struct has */
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
        const bloomery_filter *view = filter;
        assert_int_equal(bloomery_view(room + off, file.bytes, NULL, &view, &error),
                         BLOOMERY_BAD_ARGUMENT);
        assert_null(view);
        assert_int_equal(bloomery_load(room + off, file.bytes, NULL, &filter, NULL), BLOOMERY_OK);
        bloomery_free(filter);
    }
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    options.reserved[1] = 1;
    assert_int_equal(bloomery_load(file.data, file.bytes, &options, &filter, NULL),
                     BLOOMERY_UNSUPPORTED);
    free(room);
    test_bytes_free(&file);
}

static void words_exist_for_every_number(void **state)
{
    (void)state;
    for (int value = -300; value < 300; value++) {
        const char *status = bloomery_status_name(value);
        assert_int_equal(status != NULL, value <= BLOOMERY_OK && value >= BLOOMERY_BUSY);
        assert_true(status == NULL || strncmp(status, "BLOOMERY_", 9) == 0);
        const char *kind = bloomery_kind_name(value);
        if (kind != NULL)
            assert_int_equal(bloomery_kind_find(kind), value);
    }
    assert_string_equal(bloomery_status_name(BLOOMERY_OK), "BLOOMERY_OK");
    assert_string_equal(bloomery_status_name(BLOOMERY_SECRET_NEEDED), "BLOOMERY_SECRET_NEEDED");
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
    const uint64_t used = test_cells(filter);
    bloomery_info before = BLOOMERY_INFO, after = BLOOMERY_INFO;
    bloomery_info_get(filter, &before);
    assert_int_equal(add_list_bits(filter, NULL, 0, NULL, &new_bits), BLOOMERY_OK);
    assert_int_equal(new_bits, 0);
    assert_int_equal(add_hashes(filter, NULL, 0, NULL), BLOOMERY_OK);
    assert_int_equal(hash_list(filter, NULL, 0, NULL), BLOOMERY_OK);
    assert_int_equal(query_list(filter, NULL, 0, NULL), 0);
    assert_int_equal(query_hashes(filter, NULL, 0, NULL), 0);
    for (uint32_t threads = 0; threads <= 8; threads++)
        assert_int_equal(add_list_threads(filter, NULL, 0, threads, NULL), BLOOMERY_OK);
    for (int form = BLOOMERY_KEYS_LIST; form <= BLOOMERY_KEYS_HASHES128; form++) {
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
    assert_int_equal(test_cells(filter), used);
    assert_int_equal(after.adds, before.adds);
}

/* In filters of other systems, which go other ways. */
static void no_keys_of_dialects(void)
{
    const bloomery_dialect *dialect;
    for (uint32_t id = 1; (dialect = bloomery_dialect_get(id)) != NULL; id++) {
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
        /* The fields of the caller stay as they were. */
        assert_true(plan.keys == wish.keys && plan.bytes == wish.bytes && plan.kind == wish.kind);
        assert_memory_equal(&plan.rate, &wish.rate, sizeof plan.rate);
        assert_true(wish.keys == 0 || plan.planned_keys == wish.keys);
        assert_true(wish.bytes == 0 || plan.planned_bytes <= wish.bytes);
        assert_true(wish.rate <= 0 || plan.planned_rate <= wish.rate);
        assert_true(plan.bits > 0 && plan.bits <= plan.planned_bytes * 8 && plan.probes >= 1);
        double built = bloomery_plan_rate(&plan, plan.planned_keys);
        assert_true(fabs(built - plan.planned_rate) <= 1e-6 * plan.planned_rate);
        assert_true(plan.limit_ratio >= 0.99);
        /* Of the plans that are small enough filters can be made. */
        if (plan.planned_bytes < 1u << 20)
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
    for (size_t i = 0; i < sizeof((bloomery_builder_options){0}).reserved; i++) {
        const bloomery_plan with = {.keys = 100, .rate = 0.01};
        bloomery_builder_options builder_options = BLOOMERY_BUILDER_OPTIONS;
        bloomery_builder *builder = NULL;
        builder_options.reserved[i] = 1;
        assert_int_equal(bloomery_builder_open(&with, NULL, &builder_options, &builder, &error),
                         BLOOMERY_UNSUPPORTED);
        assert_null(builder);
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
        cmocka_unit_test(half_an_allocator_is_refused),
        cmocka_unit_test(views_want_aligned_bytes),
        cmocka_unit_test(words_exist_for_every_number),
        cmocka_unit_test(no_keys_at_no_address_are_fine),
        cmocka_unit_test(wishes_are_kept_or_refused),
    };
    return test_run_group("arguments", tests, NULL, NULL);
}
