/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes are part of the file format: they must be those of the published functions, for keys of
 * every length, and stay so. Compared with the system's libraries through their public calls (the
 * library itself compiles XXH3 into its own code), with values written down from their
 * publications, and with a fingerprint that was computed once.
 *
 * Build: this file, ../support/support.c; cmocka, the library, libxxhash, libsodium. No arguments.
 * Suite: property. Without libsodium the keyed half is left out (define BLOOMERY_TEST_NO_SODIUM).
 */
#include "../support/support.h"

#include <string.h>
#include <xxhash.h>

#ifndef BLOOMERY_TEST_NO_SODIUM
#include <sodium.h>
#endif

enum { LENGTHS = 700 };

static uint8_t text[1 << 16];

static int make_text(void **state)
{
    uint64_t random = 11;
    (void)state;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (uint8_t)test_next(&random);
    return 0;
}

static bloomery_filter *make_filter_with(bloomery_hash_id hash,
                                         const bloomery_create_options *options)
{
    const bloomery_plan plan = {
        .kind = BLOOMERY_BLOCKED, .bits = 512, .blocks_per_key = 1, .probes = 1, .hash = hash};
    return test_create(&plan, options);
}

static bloomery_filter *make_filter(const bloomery_create_options *options)
{
    return make_filter_with(BLOOMERY_HASH_DEFAULT, options);
}

static bloomery_hash hash_of(const bloomery_filter *filter, const void *data, size_t bytes)
{
    bloomery_hash hash = {0, 0};
    assert_int_equal(bloomery_hash_key(filter, bloomery_key_of(data, bytes), &hash, NULL),
                     BLOOMERY_OK);
    return hash;
}

static void xxh3_hashes_are_those_of_libxxhash(void **state)
{
    static const uint64_t seeds[] = {0, 1, 42, 0x9e3779b185ebca8du, UINT64_MAX};
    (void)state;
    for (size_t s = 0; s < sizeof seeds / sizeof seeds[0]; s++) {
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        options.seed = seeds[s];
        bloomery_filter *filter = make_filter(&options);
        bloomery_filter *wider = make_filter_with(BLOOMERY_HASH_XXH3_128, &options);
        for (size_t length = 0; length <= sizeof text; length += length < LENGTHS ? 1 : 4099)
            for (size_t start = 0; start < 3 && start + length <= sizeof text; start++) {
                bloomery_hash ours = hash_of(filter, text + start, length);
                assert_true(ours.lo == 0 &&
                            ours.hi == XXH3_64bits_withSeed(text + start, length, seeds[s]));
                bloomery_hash wide = hash_of(wider, text + start, length);
                XXH128_hash_t theirs = XXH3_128bits_withSeed(text + start, length, seeds[s]);
                assert_true(wide.lo == theirs.low64 && wide.hi == theirs.high64);
            }
        bloomery_free(filter);
        bloomery_free(wider);
    }
}

/*
 * Batches hash groups of keys at once where lengths are alike: every key still gets its own hash,
 * and nothing behind a key is read. A filter that gets batches is compared with one that gets
 * libxxhash's hashes one by one; all keys end at a page that must not be touched.
 */
static void batches_hash_as_libxxhash_does(void **state)
{
    static const uint32_t shapes[][2] = {{1, 6}, {3, 7}, {1, 8}, {2, 6}};
    struct test_fence fence = test_fence_make(text, 256);
    uint64_t random = 5;
    (void)state;
    for (unsigned round = 0; round < (test_long() ? 20000 : 2000); round++) {
        bloomery_key keys[150];
        const size_t count = 1 + test_below(&random, 150);
        const size_t shortest = test_below(&random, 130);
        const size_t spread = test_below(&random, 3) == 0 ? 1 : 1 + test_below(&random, 60);
        for (size_t i = 0; i < count; i++) {
            const size_t bytes = shortest + test_below(&random, spread);
            keys[i] = bloomery_key_of((const uint8_t *)fence.data + 256 - bytes, bytes);
        }
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        options.seed = round % 2 == 0 ? 0 : test_next(&random);
        bloomery_plan plan = {.kind = BLOOMERY_BLOCKED,
                              .bits = 512 * 300,
                              .blocks_per_key = shapes[round % 4][0],
                              .probes = shapes[round % 4][1]};
        bloomery_filter *batch = test_create(&plan, &options);
        bloomery_filter *single = test_create(&plan, &options);
        assert_int_equal(add_list(batch, keys, count, NULL), BLOOMERY_OK);
        for (size_t i = 0; i < count; i++) {
            const uint64_t hash = XXH3_64bits_withSeed(keys[i].data, keys[i].bytes, options.seed);
            bloomery_add_hash(single, (bloomery_hash){0, hash}, NULL);
            assert_true(bloomery_may_contain(batch, keys[i]));
        }
        struct test_bytes one = test_written(batch);
        struct test_bytes other = test_written(single);
        assert_true(test_bytes_equal(&one, &other));
        assert_int_equal(query_list(single, keys, count, NULL), count);
        test_bytes_free(&one);
        test_bytes_free(&other);
        bloomery_free(batch);
        bloomery_free(single);
    }
    test_fence_free(&fence);
}

/* The empty key: values of the published reference, xxhsum -H3 and -H2 </dev/null among them. */
static void xxh3_hashes_are_the_published_ones(void **state)
{
    (void)state;
    bloomery_filter *filter = make_filter(NULL);
    bloomery_filter *wide = make_filter_with(BLOOMERY_HASH_XXH3_128, NULL);
    assert_true(hash_of(filter, NULL, 0).hi == 0x2d06800538d394c2u);
    const bloomery_hash empty = hash_of(wide, NULL, 0);
    assert_true(empty.hi == 0x99aa06d3014798d8u && empty.lo == 0x6001c324468d497fu);
    bloomery_free(wide);
    bloomery_free(filter);
}

#ifndef BLOOMERY_TEST_NO_SODIUM

static uint64_t little_endian(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

static void siphash_hashes_are_those_of_libsodium(void **state)
{
    (void)state;
    for (unsigned which = 0; which < 4; which++) {
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        uint8_t key[BLOOMERY_SECRET_BYTES];
        for (unsigned i = 0; i < sizeof key; i++)
            key[i] = (uint8_t)(which == 0 ? i : test_mix(which * 100 + i));
        options.secret = key;
        bloomery_filter *filter = make_filter(&options);
        for (size_t length = 0; length <= LENGTHS; length++) {
            uint8_t output[crypto_shorthash_siphashx24_BYTES];
            bloomery_hash ours = hash_of(filter, text + 1, length);
            crypto_shorthash_siphashx24(output, text + 1, length, key);
            assert_true(ours.lo == little_endian(output) && ours.hi == little_endian(output + 8));
        }
        bloomery_free(filter);
    }
}

/*
 * Batches are hashed in lanes, several keys at once, whatever their lengths: each is compared with
 * libsodium's hash of one key. All keys end at a page that must not be touched. The level is the
 * processor's, and the one that BLOOMERY_CPU names in the suite `levels`.
 */
static void siphash_of_batches_is_that_of_libsodium(void **state)
{
    enum { LONGEST = 200, MOST = 20 };
    struct test_fence fence = test_fence_make(text, LONGEST);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    uint8_t secret[BLOOMERY_SECRET_BYTES];
    uint64_t random = 9;
    (void)state;
    for (unsigned i = 0; i < sizeof secret; i++)
        secret[i] = (uint8_t)test_next(&random);
    options.secret = secret;
    bloomery_filter *filter = make_filter(&options);
    for (size_t length = 0; length <= LONGEST; length++)
        for (size_t count = 0; count <= MOST; count++) {
            bloomery_key keys[MOST];
            bloomery_hash hashes[MOST];
            for (size_t i = 0; i < count; i++) {
                /* Alike, nearly alike, or any others beside one of this length. */
                const size_t other = count % 3 == 0   ? length
                                     : count % 3 == 1 ? (length + i) % (LONGEST + 1)
                                                      : test_below(&random, LONGEST + 1);
                const size_t bytes = i == length % count ? length : other;
                keys[i] = bloomery_key_of((const uint8_t *)fence.data + LONGEST - bytes, bytes);
            }
            const bloomery_keys list = bloomery_keys_of_list(keys, count);
            assert_int_equal(bloomery_hash_keys(filter, &list, hashes, NULL), BLOOMERY_OK);
            for (size_t i = 0; i < count; i++) {
                uint8_t output[crypto_shorthash_siphashx24_BYTES];
                crypto_shorthash_siphashx24(output, keys[i].data, keys[i].bytes, secret);
                assert_true(hashes[i].lo == little_endian(output) &&
                            hashes[i].hi == little_endian(output + 8));
            }
        }
    bloomery_free(filter);
    test_fence_free(&fence);
}

/* The authors' vectors for 128 bits of output: key 00 01 .. 0f, messages (empty), 00, 00 01, 00 01
 * 02. */
static void siphash_hashes_are_the_published_ones(void **state)
{
    static const uint8_t expected[][16] = {
        {0xa3, 0x81, 0x7f, 0x04, 0xba, 0x25, 0xa8, 0xe6, 0x6d, 0xf6, 0x72, 0x14, 0xc7, 0x55, 0x02,
         0x93},
        {0xda, 0x87, 0xc1, 0xd8, 0x6b, 0x99, 0xaf, 0x44, 0x34, 0x76, 0x59, 0x11, 0x9b, 0x22, 0xfc,
         0x45},
        {0x81, 0x77, 0x22, 0x8d, 0xa4, 0xa4, 0x5d, 0xc7, 0xfc, 0xa3, 0x8b, 0xde, 0xf6, 0x0a, 0xff,
         0xe4},
        {0x9c, 0x70, 0xb6, 0x0c, 0x52, 0x67, 0xa9, 0x4e, 0x5f, 0x33, 0xb6, 0xb0, 0x29, 0x85, 0xed,
         0x51},
    };
    uint8_t key[BLOOMERY_SECRET_BYTES];
    (void)state;
    for (unsigned i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)i;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.secret = key;
    bloomery_filter *filter = make_filter(&options);
    for (size_t length = 0; length < 4; length++) {
        bloomery_hash hash = hash_of(filter, key, length);
        assert_true(hash.lo == little_endian(expected[length]));
        assert_true(hash.hi == little_endian(expected[length] + 8));
    }
    bloomery_free(filter);
}

static uint64_t fingerprint_of(const uint8_t *key, bool outside)
{
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    bloomery_info info = BLOOMERY_INFO;
    options.secret = key;
    options.secret_outside = outside;
    bloomery_filter *filter = make_filter(&options);
    bloomery_info_get(filter, &info);
    assert_int_equal(info.hash, BLOOMERY_HASH_SIPHASH);
    assert_int_equal(info.secret_in_file, !outside);
    bloomery_free(filter);
    return info.secret_fingerprint;
}

/* docs/format.md says what a fingerprint is; it distinguishes keys and never changes. */
static void secret_fingerprint_is_stable(void **state)
{
    static const char fixed[] = "bloomery key fingerprint 1";
    (void)state;
    for (unsigned which = 0; which < 200; which++) {
        uint8_t key[BLOOMERY_SECRET_BYTES] = {0};
        uint8_t output[crypto_shorthash_siphashx24_BYTES];
        key[which / 8 % 16] = (uint8_t)(1u << (which % 8));
        crypto_shorthash_siphashx24(output, (const uint8_t *)fixed, strlen(fixed), key);
        assert_true(fingerprint_of(key, which % 2) == little_endian(output));
    }
}

/* Without a key given, each filter draws its own. */
static void drawn_keys_differ(void **state)
{
    uint64_t met[20];
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        bloomery_info info = BLOOMERY_INFO;
        bloomery_filter *filter = make_filter_with(BLOOMERY_HASH_SIPHASH, NULL);
        bloomery_info_get(filter, &info);
        bloomery_free(filter);
        met[i] = info.secret_fingerprint;
        assert_true(met[i] != 0 && info.secret_in_file);
        for (unsigned j = 0; j < i; j++)
            assert_true(met[j] != met[i]);
    }
}

/* Looks for a secret in each block that is given back. */
struct search {
    bloomery_allocator allocator;
    const uint8_t *secret;
    uint64_t blocks;
};

static void *search_allocate(void *context, size_t bytes, size_t alignment)
{
    const struct search *search = context;
    return search->allocator.allocate(search->allocator.context, bytes, alignment);
}

static void search_release(void *context, void *memory, size_t bytes, size_t alignment)
{
    struct search *search = context;
    search->blocks++;
    assert_null(memmem(memory, bytes, search->secret, BLOOMERY_SECRET_BYTES));
    search->allocator.release(search->allocator.context, memory, bytes, alignment);
}

static void no_secret_is_left_in_freed_memory(void **state)
{
    static const uint8_t secret[BLOOMERY_SECRET_BYTES] = "the secret: 16 b";
    (void)state;
    for (uint64_t keys = 1; keys <= 100000; keys *= 10) {
        struct test_memory memory = {.live = 0};
        struct search search = {.allocator = test_allocator(&memory), .secret = secret};
        bloomery_plan plan = {.keys = keys, .rate = 0.01};
        bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
        bloomery_filter *copy = NULL;
        bloomery_open_options opening = BLOOMERY_OPEN_OPTIONS;
        options.secret = secret;
        options.allocator = opening.allocator =
            (bloomery_allocator){search_allocate, search_release, &search, NULL};
        assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
        bloomery_filter *filter = test_create(&plan, &options);
        assert_int_equal(bloomery_copy(filter, &opening, &copy, NULL), BLOOMERY_OK);
        bloomery_free(filter);
        bloomery_free(copy);
        assert_true(search.blocks >= 2 && memory.live == 0 && !memory.wrong);
    }
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xxh3_hashes_are_those_of_libxxhash),
        cmocka_unit_test(batches_hash_as_libxxhash_does),
        cmocka_unit_test(xxh3_hashes_are_the_published_ones),
#ifndef BLOOMERY_TEST_NO_SODIUM
        cmocka_unit_test(siphash_hashes_are_those_of_libsodium),
        cmocka_unit_test(siphash_of_batches_is_that_of_libsodium),
        cmocka_unit_test(siphash_hashes_are_the_published_ones),
        cmocka_unit_test(secret_fingerprint_is_stable),
        cmocka_unit_test(drawn_keys_differ),
        cmocka_unit_test(no_secret_is_left_in_freed_memory),
#endif
    };
    return test_run_group("hashes", tests, make_text, NULL);
}
