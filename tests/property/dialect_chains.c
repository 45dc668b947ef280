/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of other systems: their bits are counted as keys come, whatever way the chain came into
 * memory, so that estimates read nothing. And they may have many more layers than a Bloomery
 * file keeps.
 *
 * Build: this file, ../support/support.c; cmocka, the library. No arguments. Suite: property.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../support/support.h"

#include <bloomery/dialect.h>
#include <bloomery/experimental.h>

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *dialect;
    uint64_t keys;
    uint32_t growth;
} chains[] = {{"redisbloom", 100, 2}, {"redisbloom", 40, 1}, {"pybloom-live", 100, 2}};
enum { CHAINS = sizeof chains / sizeof chains[0] };

/* NULL: its hash needs libcrypto, which is not there. */
static bloomery_filter *chain(size_t which)
{
    bloomery_dialect_parameters with = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_filter *filter = NULL;
    with.keys = chains[which].keys;
    with.growth = chains[which].growth;
    with.rate = 0.01;
    const bloomery_dialect *dialect = bloomery_dialect_find(chains[which].dialect);
    bloomery_error error = {.text = ""};
    const bloomery_status status = bloomery_dialect_create(dialect, &with, NULL, &filter, &error);
    if (status != BLOOMERY_OK && strstr(error.text, "libcrypto") == NULL)
        fail_msg("%s", error.text);
    return filter;
}

/* The bits are known, and are those that the layers have; so are the keys. */
static void assert_counted(const bloomery_filter *filter)
{
    const uint32_t layers = info_of(filter).layers;
    double keys = 0;
    uint64_t bits = 0;
    for (uint32_t i = 0; i < layers; i++) {
        bloomery_layer_info known = BLOOMERY_LAYER_INFO;
        const void *cells;
        uint64_t bytes, set = 0;
        assert_int_equal(bloomery_layer_info_get(filter, i, false, &known), BLOOMERY_OK);
        assert_int_equal(bloomery_layer_span(filter, i, &cells, &bytes), BLOOMERY_OK);
        for (uint64_t byte = 0; byte < bytes; byte++)
            set += (uint64_t)__builtin_popcount(((const uint8_t *)cells)[byte]);
        assert_true(known.bits_known);
        assert_int_equal(known.bits_set, set);
        bits += known.bits_set;
        keys += known.estimated_keys;
    }
    assert_true(bloomery_estimate(filter, bits) == keys);
}

/* Room grows by powers of two: a sanitizer copies all with each realloc, and a long chain's header
 * comes in 65,536 pieces. */
static int append(void *context, const void *data, size_t bytes)
{
    struct test_bytes *all = context;
    const size_t after = all->bytes + bytes;
    if (all->bytes == 0 || (all->bytes ^ after) > (all->bytes & after)) {
        uint8_t *more = realloc(all->data, 2 * after + 1);
        if (more == NULL)
            return 1;
        all->data = more;
    }
    memcpy(all->data + all->bytes, data, bytes);
    all->bytes = after;
    return 0;
}

/* The filter through its own system's bytes. */
static bloomery_filter *through_dialect(const bloomery_filter *filter)
{
    struct test_bytes bytes = {.data = NULL};
    bloomery_filter *loaded = NULL;
    assert_int_equal(bloomery_dialect_write(filter, NULL, append, &bytes, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_dialect_load(bloomery_dialect_get(info_of(filter).dialect),
                                           bytes.data, bytes.bytes, NULL, NULL, &loaded, NULL),
                     BLOOMERY_OK);
    free(bytes.data);
    return loaded;
}

/* And through our own. */
static bloomery_filter *through_file(const bloomery_filter *filter)
{
    struct test_bytes bytes = test_written(filter);
    bloomery_filter *loaded = NULL;
    assert_int_equal(bloomery_load(bytes.data, bytes.bytes, NULL, &loaded, NULL), BLOOMERY_OK);
    test_bytes_free(&bytes);
    return loaded;
}

static void bits_are_counted_whatever_way_a_chain_came(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 3000);
    (void)state;
    for (size_t i = 0; i < CHAINS; i++) {
        bloomery_filter *filter = chain(i), *other = NULL;
        if (filter == NULL)
            continue;
        assert_counted(filter);
        for (size_t k = 0; k < 150; k++)
            assert_true(add_status(filter, keys.keys[k]) == BLOOMERY_OK);
        assert_true(info_of(filter).layers > 1);
        assert_counted(filter);
        assert_int_equal(add_list(filter, keys.keys + 100, 300, NULL), BLOOMERY_OK);
        assert_counted(filter);
        bloomery_filter *(*const ways[])(const bloomery_filter *) = {through_dialect, through_file};
        for (size_t way = 0; way < 2; way++) {
            other = ways[way](filter);
            assert_counted(other);
            assert_int_equal(add_list(other, keys.keys + 400, 100, NULL), BLOOMERY_OK);
            assert_counted(other);
            bloomery_free(other);
        }
        assert_int_equal(bloomery_copy(filter, NULL, &other, NULL), BLOOMERY_OK);
        assert_counted(other);
        bloomery_free(other);
        assert_int_equal(bloomery_clear(filter, NULL), BLOOMERY_OK);
        assert_counted(filter);
        assert_true(bloomery_add(filter, keys.keys[0], NULL));
        assert_counted(filter);
        bloomery_free(filter);
    }
    test_keys_free(&keys);
}

/* Chunks come in any order, come twice, and may take the place of other bits. */
static void bits_of_chunks_are_counted(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 500);
    uint8_t header[BLOOMERY_REDISBLOOM_HEADER];
    uint64_t iterator = 0, next = 0;
    const void *data;
    size_t bytes;
    bloomery_filter *into = NULL;
    (void)state;
    bloomery_filter *filter = chain(0);
    test_add_all(filter, &keys);
    do {
        assert_int_equal(
            bloomery_redisbloom_scandump(filter, iterator, header, &data, &bytes, &next, NULL),
            BLOOMERY_OK);
        iterator = next;
        for (int twice = 0; twice < 1 + (iterator > 1); twice++)
            if (iterator != 0)
                assert_int_equal(
                    bloomery_redisbloom_loadchunk(&into, iterator, data, bytes, NULL, NULL),
                    BLOOMERY_OK);
        assert_counted(into);
    } while (iterator != 0);
    assert_true(bloomery_estimate(into, UINT64_MAX) == bloomery_estimate(filter, UINT64_MAX));
    /* Three bytes in the middle of the first layer. */
    assert_int_equal(bloomery_redisbloom_loadchunk(&into, 1 + 24, "\xff\x00\x01", 3, NULL, NULL),
                     BLOOMERY_OK);
    assert_counted(into);
    bloomery_free(into);
    bloomery_free(filter);
    test_keys_free(&keys);
}

static struct test_bytes bytes_of(const bloomery_filter *filter)
{
    struct test_bytes bytes = {.data = NULL};
    assert_int_equal(bloomery_dialect_write(filter, NULL, append, &bytes, NULL), BLOOMERY_OK);
    return bytes;
}

static bloomery_status merge_text(bloomery_filter *into, const bloomery_filter *from,
                                  const char *text)
{
    bloomery_error error = {.text = ""};
    const bloomery_status status = bloomery_redisbloom_merge(into, from, &error);
    if (strstr(error.text, text) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", error.text, text);
    return status;
}

/* Adds as many keys to two filters, to one together and to the other one by one, and looks for them
 * and for others in both ways. `answers` may be NULL. */
static void add_in_two_ways(bloomery_filter *together, bloomery_filter *singly,
                            const bloomery_key *keys, size_t count, bool answered)
{
    enum { MOST = 300 };
    uint64_t answers[MOST / 64 + 1] = {0};
    const bloomery_keys list = bloomery_keys_of_list(keys, count);
    bloomery_counts counts;
    size_t positive = 0;
    assert_true(count <= MOST);
    assert_int_equal(bloomery_may_contain_keys(together, &list, answers, &counts, NULL),
                     BLOOMERY_OK);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(bloomery_may_contain(singly, keys[i]), answers[i / 64] >> i % 64 & 1);
    assert_int_equal(bloomery_add_keys(together, &list, answered ? answers : NULL, &counts, NULL),
                     BLOOMERY_OK);
    for (size_t i = 0; i < count; i++) {
        const bool is_new = bloomery_add(singly, keys[i], NULL);
        positive += is_new;
        if (answered)
            assert_int_equal(is_new, answers[i / 64] >> i % 64 & 1);
    }
    assert_int_equal(counts.done, count);
    assert_int_equal(counts.positive, positive);
    assert_int_equal(info_of(together).adds, info_of(singly).adds);
}

/* Between 2 and 40 positions a key, of which batches request the first 32 at most; keys of 0 to 60
 * bytes, some of them twice in a batch; batches of every length about 8, 64 and 128. */
static void batches_answer_as_single_keys(void **state)
{
    enum { KEYS = 300, BYTES = 61 };
    static const double rates[] = {0.2, 0.1, 0.05, 0.001, 1e-9, 1e-12};
    static const size_t lengths[] = {1,  7,  8,  9,   15,  16,  17,  31,  33,
                                     63, 64, 65, 100, 127, 128, 129, 256, 300};
    static uint8_t text[KEYS * BYTES];
    bloomery_key keys[KEYS];
    uint64_t random = 1;
    (void)state;
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
        bloomery_dialect_parameters with = BLOOMERY_DIALECT_PARAMETERS;
        bloomery_filter *filters[2] = {NULL, NULL};
        with.keys = 1000;
        with.rate = rates[r];
        with.variant = r % 2 == 0 ? "scaling" : "nonscaling";
        for (int i = 0; i < 2; i++)
            assert_int_equal(bloomery_dialect_create(bloomery_dialect_find("redisbloom"), &with,
                                                     NULL, &filters[i], NULL),
                             BLOOMERY_OK);
        for (size_t n = 0; n < (r % 2 == 0 ? 18 : 8); n++) {
            for (size_t i = 0; i < sizeof text; i++)
                text[i] = (uint8_t)((random = random * 6364136223846793005u + 1442695041u) >> 56);
            for (size_t i = 0; i < KEYS; i++)
                keys[i] = bloomery_key_of(text + (i % 7 == 6 ? i - 6 : i) * BYTES,
                                          (i % 7 == 6 ? i - 6 : i) * 5 % BYTES);
            add_in_two_ways(filters[0], filters[1], keys, lengths[n], n % 3 != 2);
        }
        struct test_bytes bytes[2] = {{NULL, 0}, {NULL, 0}};
        for (int i = 0; i < 2; i++)
            assert_int_equal(bloomery_dialect_write(filters[i], bloomery_dialect_find("redisbloom"),
                                                    append, &bytes[i], NULL),
                             BLOOMERY_OK);
        assert_int_equal(bytes[0].bytes, bytes[1].bytes);
        assert_memory_equal(bytes[0].data, bytes[1].data, bytes[0].bytes);
        for (int i = 0; i < 2; i++) {
            free(bytes[i].data);
            bloomery_free(filters[i]);
        }
    }
}

/* Two chains of one plan, of which the second half of one is the first half of the other. */
static void a_union_of_redisbloom_chains_has_every_key(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 240);
    bloomery_filter *into = chain(0), *from = chain(0), *whole = chain(0);
    (void)state;
    assert_int_equal(add_list(into, keys.keys, 160, NULL), BLOOMERY_OK);
    assert_int_equal(add_list(from, keys.keys + 80, 160, NULL), BLOOMERY_OK);
    assert_int_equal(add_list(whole, keys.keys, 240, NULL), BLOOMERY_OK);
    const struct test_bytes before = bytes_of(from);
    assert_int_equal(bloomery_redisbloom_merge(into, from, NULL), BLOOMERY_OK);
    assert_int_equal(query_list(into, keys.keys, keys.count, NULL), keys.count);
    assert_counted(into);
    assert_in_range(info_of(into).adds, 240, 320); /* some are in two layers */
    bloomery_filter *few = chain(0), *more = chain(0);
    assert_int_equal(add_list(few, keys.keys, 60, NULL), BLOOMERY_OK);
    assert_int_equal(add_list(more, keys.keys + 30, 60, NULL), BLOOMERY_OK);
    assert_int_equal(bloomery_redisbloom_merge(few, more, NULL), BLOOMERY_OK);
    assert_in_range(info_of(few).adds, 84, 96); /* 90; one layer's bits say so */
    bloomery_free(few);
    bloomery_free(more);
    struct test_bytes after = bytes_of(from);
    assert_true(test_bytes_equal(&before, &after));
    const uint64_t adds = info_of(into).adds;
    assert_int_equal(bloomery_redisbloom_merge(into, into, NULL), BLOOMERY_OK);
    assert_int_equal(info_of(into).adds, adds);
    bloomery_filter *again = through_dialect(into); /* a header that can be read */
    assert_int_equal(query_list(again, keys.keys, keys.count, NULL), keys.count);
    bloomery_free(again);
    free(before.data);
    free(after.data);
    bloomery_free(into);
    bloomery_free(from);
    bloomery_free(whole);
    test_keys_free(&keys);
}

static void a_union_of_unequal_chains_names_what_differs(void **state)
{
    bloomery_dialect_parameters with = BLOOMERY_DIALECT_PARAMETERS;
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 150);
    bloomery_filter *into = chain(0), *other = NULL;
    (void)state;
    const struct test_bytes before = bytes_of(into);
    other = chain(1);
    assert_int_equal(merge_text(into, other, "layer 1 has 1152 bits in one filter and "),
                     BLOOMERY_MISMATCH);
    bloomery_free(other);
    other = chain(0);
    assert_int_equal(add_list(other, keys.keys, keys.count, NULL), BLOOMERY_OK);
    assert_int_equal(merge_text(into, other, "one filter has 1 layers, the other 2"),
                     BLOOMERY_MISMATCH);
    bloomery_free(other);
    with.keys = 55; /* as many bits at another rate */
    with.rate = 0.0001;
    assert_int_equal(
        bloomery_dialect_create(bloomery_dialect_find("redisbloom"), &with, NULL, &other, NULL),
        BLOOMERY_OK);
    assert_int_equal(merge_text(into, other, "layer 1 has 8 probes in one filter and 15"),
                     BLOOMERY_MISMATCH);
    bloomery_free(other);
    other = bloomery_new(100, 0.01, NULL);
    assert_int_equal(merge_text(into, other, "RedisBloom"), BLOOMERY_MISMATCH);
    bloomery_free(other);
    struct test_bytes after = bytes_of(into);
    assert_true(test_bytes_equal(&before, &after));
    free(before.data);
    free(after.data);
    bloomery_free(into);
    test_keys_free(&keys);
}

/* ---- Long chains ---------------------------------------------------------------------------- */

enum { LONG = 300, HEAD = 20, RECORD = 53, LAYERS_MAX = 65536 };

/* A chain of `layers` layers for one key each, and the keys that fill it. */
static bloomery_filter *long_chain(uint32_t layers, const struct test_keys *keys, size_t *added)
{
    bloomery_dialect_parameters with = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_filter *filter = NULL;
    with.keys = with.growth = 1;
    with.rate = 0.25;
    assert_int_equal(
        bloomery_dialect_create(bloomery_dialect_find("redisbloom"), &with, NULL, &filter, NULL),
        BLOOMERY_OK);
    for (*added = 0; *added < keys->count && info_of(filter).layers < layers; ++*added)
        assert_true(add_status(filter, keys->keys[*added]) == BLOOMERY_OK);
    assert_int_equal(info_of(filter).layers, layers);
    return filter;
}

/* A filter of the chunks of another one. */
static bloomery_filter *through_chunks(const bloomery_filter *filter,
                                       const bloomery_open_options *options)
{
    const size_t room = bloomery_redisbloom_header_bytes(filter);
    uint8_t *header = malloc(room);
    uint64_t iterator = 0;
    const void *data;
    size_t bytes;
    bloomery_filter *into = NULL;
    assert_non_null(header);
    do {
        uint8_t *to = iterator == 0 ? header : NULL;
        assert_int_equal(
            bloomery_redisbloom_scandump(filter, iterator, to, &data, &bytes, &iterator, NULL),
            BLOOMERY_OK);
        assert_true(iterator != 1 || bytes == room);
        if (iterator != 0)
            assert_int_equal(
                bloomery_redisbloom_loadchunk(&into, iterator, data, bytes, options, NULL),
                BLOOMERY_OK);
    } while (iterator != 0);
    free(header);
    return into;
}

/* Grown, dumped, loaded, copied: the same filter, which takes more keys. */
static void a_chain_of_many_layers_is_as_any_other(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 3000);
    bloomery_filter *others[3] = {NULL};
    size_t added = 0;
    (void)state;
    bloomery_filter *filter = long_chain(LONG, &keys, &added);
    struct test_bytes bytes = bytes_of(filter);
    assert_int_equal(bloomery_redisbloom_header_bytes(filter), HEAD + RECORD * LONG);
    others[0] = through_dialect(filter);
    others[1] = through_chunks(filter, NULL);
    assert_int_equal(bloomery_copy(filter, NULL, &others[2], NULL), BLOOMERY_OK);
    for (size_t i = 0; i < 3; i++) {
        struct test_bytes same = bytes_of(others[i]);
        assert_true(test_bytes_equal(&bytes, &same));
        free(same.data);
        assert_int_equal(info_of(others[i]).layers, LONG);
        assert_counted(others[i]);
        assert_int_equal(query_list(others[i], keys.keys, added, NULL), added);
        assert_int_equal(add_list(others[i], keys.keys + added, 100, NULL), BLOOMERY_OK);
        assert_true(info_of(others[i]).layers > LONG);
        assert_counted(others[i]);
        assert_int_equal(bloomery_clear(others[i], NULL), BLOOMERY_OK);
        assert_int_equal(info_of(others[i]).layers, 1);
        assert_true(bloomery_add(others[i], keys.keys[0], NULL));
        bloomery_free(others[i]);
    }
    free(bytes.data);
    bloomery_free(filter);
    test_keys_free(&keys);
}

static int ignore(void *context, const void *data, size_t bytes)
{
    (void)context;
    (void)data;
    (void)bytes;
    return 0;
}

/* A Bloomery file keeps 64 layers, and saving more is refused. */
static void a_bloomery_file_keeps_64_layers(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 200);
    struct test_directory directory = test_directory_make();
    bloomery_error error = {.text = ""};
    char path[300];
    size_t added = 0;
    (void)state;
    test_join(path, sizeof path, &directory, "f");
    for (uint32_t layers = 63; layers <= 66; layers++) {
        bloomery_filter *filter = long_chain(layers, &keys, &added);
        const bloomery_status wanted = layers > 64 ? BLOOMERY_UNSUPPORTED : BLOOMERY_OK;
        assert_int_equal(bloomery_write(filter, ignore, NULL, &error), wanted);
        assert_int_equal(bloomery_save(filter, path, &error), wanted);
        if (layers > 64)
            assert_non_null(strstr(error.text, "64"));
        bloomery_free(filter);
    }
    assert_int_equal(test_directory_entries(&directory), 1);
    test_directory_remove(&directory);
    test_keys_free(&keys);
}

/* A chain from a Bloomery file can be saved again: it is full before it has too many layers. */
static void a_chain_of_a_bloomery_file_ends_with_64_layers(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 1000);
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    bloomery_filter *opened = NULL;
    bloomery_filter *copy = NULL;
    bloomery_error error = {.text = ""};
    size_t done = 0;
    (void)state;
    bloomery_filter *filter = long_chain(60, &keys, &done);
    struct test_bytes bytes = test_written(filter);
    const bloomery_keys many = bloomery_keys_of_list(keys.keys, keys.count);
    bloomery_counts counts = {0};
    assert_int_equal(bloomery_load(bytes.data, bytes.bytes, NULL, &opened, &error), BLOOMERY_OK);
    assert_int_equal(bloomery_copy(opened, &options, &copy, &error), BLOOMERY_OK);
    bloomery_filter *const both[] = {opened, copy};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(bloomery_add_keys(both[i], &many, NULL, &counts, &error), BLOOMERY_FULL);
        assert_true(counts.done > 0 && counts.done < keys.count);
        assert_int_equal(info_of(both[i]).layers, 64);
        assert_int_equal(bloomery_write(both[i], ignore, NULL, &error), BLOOMERY_OK);
        bloomery_free(both[i]);
    }
    bloomery_free(filter);
    free(bytes.data);
    test_keys_free(&keys);
}

/* A dump of `layers` layers, each with the one key that it is for. */
static struct test_bytes dump_of(size_t layers)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 1);
    size_t none = 0;
    bloomery_filter *filter = long_chain(1, &keys, &none);
    test_add_all(filter, &keys);
    struct test_bytes one = bytes_of(filter);
    const size_t bits = one.bytes - HEAD - RECORD;
    struct test_bytes all = {.bytes = HEAD + layers * (RECORD + bits)};
    all.data = malloc(all.bytes);
    assert_non_null(all.data);
    memcpy(all.data, one.data, HEAD);
    for (size_t byte = 0; byte < 4; byte++) { /* keys and layers: as many */
        all.data[byte] = (uint8_t)(layers >> 8 * byte);
        all.data[8 + byte] = (uint8_t)(layers >> 8 * byte);
    }
    for (size_t i = 0; i < layers; i++) {
        memcpy(all.data + HEAD + i * RECORD, one.data + HEAD, RECORD);
        memcpy(all.data + HEAD + layers * RECORD + i * bits, one.data + HEAD + RECORD, bits);
    }
    free(one.data);
    bloomery_free(filter);
    test_keys_free(&keys);
    return all;
}

/* And is dumped and loaded in pieces. */
static void a_chain_ends_with_65536_layers(void **state)
{
    const bloomery_dialect *dialect = bloomery_dialect_find("redisbloom");
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 100);
    bloomery_filter *filter = NULL;
    bloomery_error error = {.text = ""};
    int found = BLOOMERY_OK;
    (void)state;
    struct test_bytes dump = dump_of(LAYERS_MAX + 1);
    assert_int_equal(
        bloomery_dialect_load(dialect, dump.data, dump.bytes, NULL, NULL, &filter, &error),
        BLOOMERY_UNSUPPORTED);
    assert_non_null(strstr(error.text, "65536"));
    free(dump.data);
    dump = dump_of(LAYERS_MAX - 1);
    assert_int_equal(
        bloomery_dialect_load(dialect, dump.data, dump.bytes, NULL, NULL, &filter, NULL),
        BLOOMERY_OK);
    assert_int_equal(info_of(filter).layers, LAYERS_MAX - 1);
    assert_true(bloomery_may_contain(filter, keys.keys[0]));
    struct test_bytes same = bytes_of(filter);
    assert_true(test_bytes_equal(&dump, &same));
    free(same.data);
    free(dump.data);
    for (size_t i = 0; i < keys.count && found >= 0; i++)
        found = add_outcome(filter, keys.keys[i]);
    assert_int_equal(found, BLOOMERY_FULL);
    assert_int_equal(info_of(filter).layers, LAYERS_MAX);
    /* A dump of it is 65,537 chunks: 4e9 steps if each layer is looked for from the first on. */
    bloomery_filter *again = through_chunks(filter, NULL);
    dump = bytes_of(filter);
    same = bytes_of(again);
    assert_true(test_bytes_equal(&dump, &same));
    free(same.data);
    free(dump.data);
    bloomery_free(again);
    bloomery_free(filter);
    test_keys_free(&keys);
}

/* The rate of a layer is half of that before: some time there is none for the next. */
static void a_chain_that_can_grow_no_more_is_full(void **state)
{
    struct test_keys keys = test_keys_make(TEST_RANDOM, 1, 0, 20000);
    bloomery_dialect_parameters with = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_filter *filter = NULL;
    bloomery_error error = {.text = ""};
    bloomery_counts counts = {0};
    (void)state;
    with.keys = with.growth = 1;
    assert_int_equal(
        bloomery_dialect_create(bloomery_dialect_find("redisbloom"), &with, NULL, &filter, NULL),
        BLOOMERY_OK);
    const bloomery_keys many = bloomery_keys_of_list(keys.keys, keys.count);
    assert_int_equal(bloomery_add_keys(filter, &many, NULL, &counts, &error), BLOOMERY_FULL);
    assert_int_equal(error.status, BLOOMERY_FULL);
    assert_in_range(info_of(filter).layers, 900, 1024);
    assert_int_equal(query_list(filter, keys.keys, counts.done, NULL), counts.done);
    bloomery_free(filter);
    test_keys_free(&keys);
}

/* Whichever request of memory is refused, loading fails and leaves nothing. */
static void a_long_dump_without_memory_leaves_nothing(void **state)
{
    const bloomery_dialect *dialect = bloomery_dialect_find("redisbloom");
    struct test_bytes dump = dump_of(LONG);
    bloomery_status status = BLOOMERY_OUT_OF_MEMORY;
    uint64_t at = 0;
    (void)state;
    while (status != BLOOMERY_OK) {
        struct test_memory memory = {.refuse_at = ++at};
        bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
        bloomery_filter *filter = NULL;
        options.allocator = test_allocator(&memory);
        status =
            bloomery_dialect_load(dialect, dump.data, dump.bytes, NULL, &options, &filter, NULL);
        assert_true(status == BLOOMERY_OK || status == BLOOMERY_OUT_OF_MEMORY);
        assert_true((status == BLOOMERY_OK) == (filter != NULL));
        assert_int_equal(memory.bytes, filter != NULL ? info_of(filter).memory_bytes : 0);
        bloomery_free(filter);
        assert_true(memory.live == 0 && !memory.wrong);
    }
    assert_true(at > 4);
    free(dump.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_counted_whatever_way_a_chain_came),
        cmocka_unit_test(bits_of_chunks_are_counted),
        cmocka_unit_test(batches_answer_as_single_keys),
        cmocka_unit_test(a_union_of_redisbloom_chains_has_every_key),
        cmocka_unit_test(a_union_of_unequal_chains_names_what_differs),
        cmocka_unit_test(a_chain_of_many_layers_is_as_any_other),
        cmocka_unit_test(a_bloomery_file_keeps_64_layers),
        cmocka_unit_test(a_chain_of_a_bloomery_file_ends_with_64_layers),
        cmocka_unit_test(a_chain_ends_with_65536_layers),
        cmocka_unit_test(a_chain_that_can_grow_no_more_is_full),
        cmocka_unit_test(a_long_dump_without_memory_leaves_nothing),
    };
    return test_run_group("dialect_chains", tests, NULL, NULL);
}
