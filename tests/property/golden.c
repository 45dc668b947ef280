/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of every released version stay readable, and the specification tells the truth: a reader
 * that was written from docs/format.md alone gives the library's answers.
 *
 * Build: this file, ../support/support.c, ../support/forge.c; cmocka, the library, libxxhash,
 * libsodium (without it define BLOOMERY_TEST_NO_SODIUM: keyed files are then left out). Argument:
 * the directory ../vectors. Suite: property.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../vectors/golden.h"
#include "../support/forge.h"
#include "../support/support.h"

#include <bloomery/experimental.h>

#include <string.h>
#include <xxhash.h>

#ifndef BLOOMERY_TEST_NO_SODIUM
#include <sodium.h>
#endif

static const char *directory;

static bool can_read(const struct golden *golden)
{
#ifdef BLOOMERY_TEST_NO_SODIUM
    return golden->key == NULL;
#else
    return golden != NULL;
#endif
}

static bloomery_hash_id golden_hash(const struct golden *golden)
{
    if (golden->hash != BLOOMERY_HASH_DEFAULT)
        return golden->hash;
    return golden->key != NULL ? BLOOMERY_HASH_SIPHASH : BLOOMERY_HASH_XXH3_64;
}

static struct test_bytes golden_file(const struct golden *golden)
{
    char path[4096];
    golden_path(golden, directory, path, sizeof path);
    return test_read_file(path);
}

static const bloomery_filter *golden_open(const struct golden *golden)
{
    char path[4096];
    const bloomery_filter *filter = NULL;
    bloomery_error error;
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    golden_path(golden, directory, path, sizeof path);
    options.secret = golden->secret_outside ? (const uint8_t *)golden->key : NULL;
    if (bloomery_map(path, &options, &filter, &error) != BLOOMERY_OK)
        fail_msg("%s: %s", path, error.text);
    return filter;
}

static void golden_files_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < GOLDENS; i++) {
        const struct golden *golden = &goldens[i];
        if (!can_read(golden))
            continue;
        const bloomery_filter *filter = golden_open(golden);
        bloomery_info info = BLOOMERY_INFO;
        bloomery_layer_info first = BLOOMERY_LAYER_INFO;
        bloomery_info_get(filter, &info);
        bloomery_scan_result scan = scan_of(filter);
        assert_int_equal(bloomery_layer_info_get(filter, 0, false, &first), BLOOMERY_OK);
        assert_int_equal(info.kind, golden->kind);
        assert_int_equal(info.format_version, 2);
        assert_int_equal(info.hash, golden_hash(golden));
        assert_int_equal(first.bits, golden->bits);
        assert_int_equal(first.blocks_per_key, golden->lines);
        assert_int_equal(first.probes, golden->probes);
        assert_true(golden->planned > 0 ? info.layers > 1 : info.layers == 1);
        assert_true(info.seed == golden->seed && info.planned_rate == 0.0625);
        assert_int_equal(info.adds, (golden->below + 2) / 3);
        assert_int_equal(first.planned_keys, golden->planned > 0 ? golden->planned : info.adds);
        assert_memory_equal(&info.rule, &golden->rule, sizeof info.rule);
        assert_true((info.note == NULL) == (golden->note == NULL));
        if (golden->note != NULL)
            assert_string_equal(info.note, golden->note);
        assert_true((golden->below == 0) == (scan.bits_set == 0));
        assert_int_equal(bloomery_verify(filter, NULL), BLOOMERY_OK);
        bloomery_free(filter);
    }
}

static void golden_files_answer_as_ever(void **state)
{
    (void)state;
    for (size_t i = 0; i < GOLDENS; i++) {
        if (!can_read(&goldens[i]))
            continue;
        const bloomery_filter *filter = golden_open(&goldens[i]);
        for (unsigned number = 0; number < goldens[i].below; number += 3) {
            char text[16];
            assert_true(bloomery_may_contain(filter, golden_key(number, text)));
        }
        assert_true(golden_digest(filter) == goldens[i].absent_digest);
        bloomery_free(filter);
    }
}

/* While version 2 is what is written, it is written like this. */
static void golden_files_are_written_as_ever(void **state)
{
    (void)state;
    for (size_t i = 0; i < GOLDENS; i++) {
        bloomery_filter *filter = NULL;
        if (!can_read(&goldens[i]))
            continue;
        assert_int_equal(golden_make(&goldens[i], &filter, NULL), BLOOMERY_OK);
        struct test_bytes ours = test_written(filter);
        struct test_bytes golden = golden_file(&goldens[i]);
        assert_true(test_bytes_equal(&ours, &golden));
        test_bytes_free(&ours);
        test_bytes_free(&golden);
        bloomery_free(filter);
    }
}

/* The golden cuckoo filter, whose hash and tables are its dialect's. */
static void the_golden_cuckoo_filter_is_read_and_written_as_ever(void **state)
{
    char path[4096], text[16];
    const bloomery_filter *filter = NULL;
    bloomery_filter *made = NULL;
    (void)state;
    snprintf(path, sizeof path, "%s/golden-v2-cuckoo.bloom", directory);
    struct test_bytes golden = test_read_file(path);
    assert_int_equal(bloomery_map(path, NULL, &filter, NULL), BLOOMERY_OK);
    const bloomery_info info = info_of(filter);
    assert_true(info.kind == BLOOMERY_CUCKOO && info.layers == 3 && info.adds == 190);
    assert_string_equal(info.note, "cuckoo");
    for (unsigned number = GOLDEN_CUCKOO_FROM; number < GOLDEN_CUCKOO_BELOW; number += 3)
        assert_true(bloomery_may_contain(filter, golden_key(number, text)));
    assert_true(golden_digest(filter) == GOLDEN_CUCKOO_DIGEST);
    assert_int_equal(golden_cuckoo_make(&made, NULL), BLOOMERY_OK);
    struct test_bytes ours = test_written(made);
    assert_true(test_bytes_equal(&ours, &golden));
    test_bytes_free(&ours);
    test_bytes_free(&golden);
    bloomery_free(made);
    bloomery_free(filter);
}

/* ---- A reader made from the specification ------------------------------------------------ */

static const uint64_t spec_c1 = 0xBF58476D1CE4E5B9u;
static const uint64_t spec_c2 = 0x94D049BB133111EBu;

static uint64_t spec_mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * spec_c1;
    x = (x ^ (x >> 27)) * spec_c2;
    return x ^ (x >> 31);
}

static uint64_t spec_fold(uint64_t a, uint64_t b)
{
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t spec_range(uint64_t h, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)h * n) >> 64);
}

static bloomery_hash spec_hash(const struct test_bytes *file, const struct golden *golden,
                               bloomery_key key)
{
#ifndef BLOOMERY_TEST_NO_SODIUM
    if (forge_get(file, FORGE_HASH, 2) == 2) {
        struct test_bytes output = {(uint8_t[16]){0}, 16};
        crypto_shorthash_siphashx24(output.data, key.data, key.bytes, (const uint8_t *)golden->key);
        return (bloomery_hash){forge_get(&output, 0, 8), forge_get(&output, 8, 8)};
    }
#endif
    const uint64_t seed = forge_get(file, FORGE_SEED, 8);
    assert_true(golden->key == NULL);
    if (forge_get(file, FORGE_HASH, 2) == 3)
        return (bloomery_hash){0, XXH3_64bits_withSeed(key.data, key.bytes, seed)};
    assert_int_equal(forge_get(file, FORGE_HASH, 2), 1);
    XXH128_hash_t hash = XXH3_128bits_withSeed(key.data, key.bytes, seed);
    return (bloomery_hash){hash.low64, hash.high64};
}

/* The records of layers come first, each with a head of 8 bytes and a body of 64. */
enum { SPEC_LAYER_BYTES = 72 };

/* Whether cell p of a layer is not 0. */
static bool spec_bit(const struct test_bytes *file, size_t layer, uint64_t p)
{
    uint64_t width = forge_get(file, FORGE_CELL_BITS, 1);
    uint64_t first = p * width;
    uint64_t begin = forge_get(file, FORGE_LAYER_OFFSET + layer, 8);
    unsigned byte = file->data[forge_payload(file) + begin + (first >> 3)];
    return (byte >> (first & 7) & ((1u << width) - 1)) != 0;
}

/* Block `which` of a key: the first cell of it in *first; the number that says which bits. */
static uint64_t spec_block(bloomery_hash hash, uint64_t which, uint64_t count, uint64_t *first)
{
    const uint64_t golden_ratio = 0x9E3779B97F4A7C15u;
    uint64_t x = which == 0 ? hash.hi : spec_fold(hash.hi ^ which * golden_ratio, spec_c2);
    *first = spec_range(x, count) * 512;
    return spec_fold(x ^ hash.lo, spec_c1);
}

static bool spec_layer_may_contain(const struct test_bytes *file, size_t layer, bloomery_hash hash)
{
    uint64_t bits = forge_get(file, FORGE_LAYER_BITS + layer, 8);
    uint64_t k = forge_get(file, FORGE_LAYER_PROBES + layer, 4);
    uint64_t blocks_per_key = forge_get(file, FORGE_LAYER_LINES + layer, 4);
    bool all = true;
    if (forge_get(file, FORGE_KIND, 2) == 2) {
        uint64_t step = spec_mix64(hash.hi ^ hash.lo) | 1;
        for (uint64_t i = 0; i < k; i++)
            all &= spec_bit(file, layer, spec_range(spec_mix64(hash.hi + i * step), bits));
        return all;
    }
    for (uint64_t which = 0; which < blocks_per_key; which++) {
        uint64_t first;
        uint64_t w = spec_block(hash, which, bits / 512, &first);
        for (uint64_t i = 0; i < k; i++) {
            uint64_t word = ((w >> 48) + i) % 8;
            all &= spec_bit(file, layer, first + 64 * word + (w >> (6 * word)) % 64);
        }
    }
    return all;
}

static bool spec_may_contain(const struct test_bytes *file, bloomery_hash hash)
{
    bool any = false;
    for (size_t i = 0; i < forge_get(file, FORGE_LAYERS, 4); i++)
        any |= spec_layer_may_contain(file, i * SPEC_LAYER_BYTES, hash);
    return any;
}

static void a_reader_of_the_specification_agrees(void **state)
{
    (void)state;
    for (size_t i = 0; i < GOLDENS; i++) {
        if (!can_read(&goldens[i]))
            continue;
        struct test_bytes file = golden_file(&goldens[i]);
        const bloomery_filter *filter = golden_open(&goldens[i]);
        for (unsigned number = 0; number < 5000; number++) {
            char text[16];
            bloomery_key key = golden_key(number, text);
            assert_int_equal(spec_may_contain(&file, spec_hash(&file, &goldens[i], key)),
                             bloomery_may_contain(filter, key));
        }
        bloomery_free(filter);
        test_bytes_free(&file);
    }
}

/* ---- Before the first release --------------------------------------------------------------- */

static void a_file_of_version_1_says_how_to_be_made_again(void **state)
{
    (void)state;
    for (int load = 0; load < 2; load++) {
        char path[4096];
        const bloomery_filter *map = NULL;
        bloomery_filter *loaded = NULL;
        bloomery_error error = {.status = BLOOMERY_OK};
        snprintf(path, sizeof path, "%s/golden-v1-blocked-one-line.bloom", directory);
        struct test_bytes file = test_read_file(path);
        assert_int_equal(load ? bloomery_load(file.data, file.bytes, NULL, &loaded, &error)
                              : bloomery_map(path, NULL, &map, &error),
                         BLOOMERY_WRONG_VERSION);
        test_bytes_free(&file);
        assert_null(map);
        assert_null(loaded);
        assert_int_equal(error.status, BLOOMERY_WRONG_VERSION);
        assert_int_equal(error.offset, FORGE_VERSION);
        assert_non_null(
            strstr(error.text, "written in format version 1, which was never released"));
        assert_non_null(strstr(error.text, "make the filter again from its keys (bloomery build)"));
    }
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files_are_read),
        cmocka_unit_test(golden_files_answer_as_ever),
        cmocka_unit_test(golden_files_are_written_as_ever),
        cmocka_unit_test(the_golden_cuckoo_filter_is_read_and_written_as_ever),
        cmocka_unit_test(a_reader_of_the_specification_agrees),
        cmocka_unit_test(a_file_of_version_1_says_how_to_be_made_again),
    };
    if (count != 2) {
        fprintf(stderr, "usage: %s DIRECTORY-OF-VECTORS\n", arguments[0]);
        return 2;
    }
    directory = arguments[1];
    return test_run_group("golden", tests, NULL, NULL);
}
