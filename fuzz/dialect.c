/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzz target of another system's loader, DIALECT being its name: whatever the bytes are,
 * loading refuses them with a reason or gives a filter that can be queried, added to, described
 * and written.
 *
 * What the bytes do not say comes from the first 24 bytes of an input, where the dialect takes any
 * of it, and then only the fields that it takes; 0 is "not given":
 *
 *     0   variant (number of its name)    1  columns    2  probes, 2 bytes    4  index, 4 bytes
 *     8   bits, 4 bytes    12  bytes or keys, 4 bytes    16  rate or bits per key, a double
 *
 * (all little-endian). Besides what the sanitizers see, it aborts where
 *   - loading succeeds and gives no filter, or fails and gives one, or fails without a reason;
 *   - more memory was taken than the input justifies, or it is not all given back;
 *   - a filter is not written as the bytes that it was read from;
 *   - it is not the same filter after it was kept in a Bloomery file;
 *   - an added key is denied, or cannot be removed where keys can be.
 *
 * Build: with clang, -fsanitize=fuzzer,address,undefined and -DDIALECT=..., this file and the
 * library; or with regression.c as a plain test. Uses dialect.h.
 */
#define BLOOMERY_EXPERIMENTAL
#include "../tests/support/many.h"

#include <bloomery/dialect.h>
#include <bloomery/experimental.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PREFIX = 24, OWN_MEMORY = 65536, LARGEST = 1 << 20 };

/* Systems whose bytes may leave out the end of a filter that has one size, or all of an empty
 * one. */
static size_t left_out(void)
{
    if (strcmp(DIALECT, "pybloom-live") == 0)
        return (size_t)1 << 26;
    return strcmp(DIALECT, "sha384-slices") == 0 ? (size_t)1 << 25 : 0;
}

/* Bytes of memory for a byte of input. A cuckoo filter's table may be one slot, which has a record
 * and a line of a cache. */
static size_t memory_of_byte(void)
{
    return strcmp(DIALECT, "redisbloom-cuckoo") == 0 ? 512 : 16;
}

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz/dialect %s: broken promise: %s\n", DIALECT, what);
    abort();
}

/* ---- Memory ------------------------------------------------------------------------------ */

static struct {
    size_t live;
    size_t bytes;
} memory;

static void *take(void *context, size_t bytes, size_t alignment)
{
    void *block = NULL;
    (void)context;
    memory.bytes += bytes;
    if (posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes))
        return NULL;
    memory.live++;
    return block;
}

static void give(void *context, void *block, size_t bytes, size_t alignment)
{
    (void)context;
    (void)bytes;
    (void)alignment;
    memory.live--;
    free(block);
}

/* ---- Parameters -------------------------------------------------------------------------- */

static uint64_t get(const uint8_t *data, size_t at, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)data[at + i] << (8 * i);
    return value;
}

static void choose_variant(const char *variants, unsigned number, char name[64])
{
    for (; number > 0 && strstr(variants, ", ") != NULL; number--)
        variants = strstr(variants, ", ") + 2;
    snprintf(name, 64, "%.*s", (int)strcspn(variants, ","), variants);
}

/* Whether bytes of this dialect come with a parameter of that name. */
static bool takes(const bloomery_dialect *dialect, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = dialect->load_takes; *at != '\0'; at += *at == ',' ? 2 : 0) {
        const size_t here = strcspn(at, ",");
        if (here == length && memcmp(at, name, length) == 0)
            return true;
        at += here;
    }
    return false;
}

static void read_parameters(const bloomery_dialect *dialect, const uint8_t *data,
                            bloomery_dialect_parameters *parameters, char variant[64])
{
    const uint64_t number = get(data, 12, 4);
    double fraction;
    memcpy(&fraction, data + 16, sizeof fraction);
    if (takes(dialect, "variant") && dialect->variants != NULL && data[0] > 0) {
        choose_variant(dialect->variants, data[0], variant);
        parameters->variant = variant;
    }
    parameters->columns = takes(dialect, "columns") ? data[1] : 0;
    parameters->probes = takes(dialect, "probes") ? (uint32_t)get(data, 2, 2) : 0;
    parameters->index = takes(dialect, "index") ? get(data, 4, 4) : 0;
    parameters->bits = takes(dialect, "bits") ? get(data, 8, 4) : 0;
    parameters->bytes = takes(dialect, "bytes") ? number : 0;
    parameters->keys = takes(dialect, "keys") ? number : 0;
    parameters->rate = takes(dialect, "rate") ? fraction : 0;
    parameters->bits_per_key = takes(dialect, "bits_per_key") ? fraction : 0;
}

/* ---- A filter that came in --------------------------------------------------------------- */

struct bytes {
    uint8_t *data;
    size_t size;
    size_t room;
    bool refused;
};

static int append(void *context, const void *data, size_t size)
{
    struct bytes *bytes = context;
    while (size > bytes->room - bytes->size) {
        bytes->room = bytes->room * 2 + 4096;
        bytes->data = realloc(bytes->data, bytes->room);
        must(bytes->data != NULL, "memory for the test");
    }
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    return 0;
}

static void describe(const bloomery_filter *filter, bool scan)
{
    char text[8];
    bloomery_info info = BLOOMERY_INFO;
    bloomery_scan_result facts = BLOOMERY_SCAN_RESULT;
    bloomery_info_get(filter, &info);
    if (scan)
        bloomery_scan(filter, &facts);
    must(bloomery_dialect_get(info.dialect) != NULL, "its dialect is known");
    must(facts.live_rate >= 0 && facts.live_rate <= 1, "a rate is 0 to 1");
    must(facts.expected_rate >= 0 && facts.expected_rate <= 1, "an expected rate is 0 to 1");
    must(!(facts.estimated_keys < 0), "an estimate is not negative");
    for (uint32_t i = 0; bloomery_dialect_remark(filter, i, text, sizeof text); i++)
        must(i < 32 && memchr(text, 0, sizeof text) != NULL, "remarks end");
    bloomery_dialect_variant(filter);
}

/* The bytes in its own dialect; empty where that has none, or where the filter was one of many that
 * could not all be kept with it. */
static struct bytes written(const bloomery_filter *filter, const bloomery_dialect *dialect)
{
    struct bytes bytes = {.data = NULL};
    bloomery_error error = {.text = ""};
    if (!dialect->writes)
        return bytes;
    const bloomery_status status = bloomery_dialect_write(filter, NULL, append, &bytes, &error);
    must(status == BLOOMERY_OK ||
             (status == BLOOMERY_UNSUPPORTED && bytes.size == 0 && strstr(error.text, "others")),
         "what was read can be written");
    bytes.refused = status != BLOOMERY_OK;
    return bytes;
}

static void check_written(const bloomery_filter *filter, const bloomery_dialect *dialect,
                          const uint8_t *data, size_t size, bool whole)
{
    struct bytes bytes = written(filter, dialect);
    if (dialect->writes && whole && !bytes.refused)
        must(bytes.size == size && (size == 0 || memcmp(bytes.data, data, size) == 0),
             "it is written as it was read");
    free(bytes.data);
}

/* Kept in a Bloomery file, it is still the same filter. */
static void check_kept(const bloomery_filter *filter, const bloomery_dialect *dialect)
{
    struct bytes ours = {.data = NULL};
    bloomery_filter *again = NULL;
    bloomery_error error;
    const bloomery_status status = bloomery_write(filter, append, &ours, &error);
    must(status == BLOOMERY_OK || status == BLOOMERY_UNSUPPORTED, "it can be kept");
    if (status == BLOOMERY_OK) {
        must(bloomery_load(ours.data, ours.size, NULL, &again, &error) == BLOOMERY_OK,
             "what was kept can be read");
        struct bytes one = written(filter, dialect);
        struct bytes other = written(again, dialect);
        must(one.size == other.size &&
                 (one.size == 0 || memcmp(one.data, other.data, one.size) == 0),
             "what was kept is the same");
        free(one.data);
        free(other.data);
        bloomery_free(again);
    }
    free(ours.data);
}

static bool filter_removes(const bloomery_filter *filter)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    return info.can_remove && info.writable;
}

static void add_and_query(bloomery_filter *filter, const uint8_t *data, size_t size)
{
    const bloomery_key key = bloomery_key_of(data, size % 97);
    uint64_t positions[BLOOMERY_POSITIONS_MAX];
    const int result = add_outcome(filter, key);
    if (!bloomery_may_contain(filter, bloomery_key_of("some key", 8)))
        must(bloomery_key_count(filter, bloomery_key_of("some key", 8)) == 0,
             "a key that is denied counts 0");
    must(bloomery_positions(filter, 0, key, positions, BLOOMERY_POSITIONS_MAX) > 0,
         "a key has positions");
    must(result == WAS_NEW || result == WAS_SEEN || result == BLOOMERY_FULL ||
             result == BLOOMERY_OUT_OF_MEMORY || result == BLOOMERY_UNSUPPORTED ||
             result == BLOOMERY_BAD_ARGUMENT,
         "a loaded filter takes keys, or is full");
    must(result < 0 || bloomery_may_contain(filter, key), "an added key is not denied");
    if (filter_removes(filter) && result >= 0) {
        must(bloomery_key_count(filter, key) > 0, "an added key is counted");
        must(remove_outcome(filter, key) == WAS_REMOVED, "an added key can be removed");
    }
}

/* ---- The target -------------------------------------------------------------------------- */

static uint32_t sum_of(const uint8_t *data, size_t size)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < size && i < 4096; i++)
        sum = sum * 31 + data[i];
    return sum >> 8;
}

static void try_one(const bloomery_dialect *dialect, const bloomery_dialect_parameters *parameters,
                    const uint8_t *data, size_t size, bool whole)
{
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    bloomery_filter *filter = NULL;
    bloomery_error error = {.status = BLOOMERY_OK};
    memset(&memory, 0, sizeof memory);
    options.allocator = (bloomery_allocator){take, give, NULL, NULL};
    options.memory_limit = LARGEST;
    const bloomery_status status =
        bloomery_dialect_load(dialect, data, size, parameters, &options, &filter, &error);
    must((status == BLOOMERY_OK) == (filter != NULL), "a filter if and only if it was read");
    must(memory.bytes <= memory_of_byte() * size + left_out() + OWN_MEMORY,
         "no more memory than the input justifies");
    if (filter == NULL) {
        must(error.status == status && error.text[0] != '\0', "a refusal says why");
    } else {
        check_written(filter, dialect, data, size, whole);
        check_kept(filter, dialect);
        add_and_query(filter, data, size);
        /* The expected rate of a small filter takes milliseconds, a hundred times all the rest. */
        describe(filter, sum_of(data, size) % 8 == 0);
        check_kept(filter, dialect);
        bloomery_free(filter);
    }
    must(memory.live == 0, "memory is given back");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bloomery_dialect *dialect = bloomery_dialect_find(DIALECT);
    bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
    char variant[64] = "";
    must(dialect != NULL, "there is such a dialect");
    if (size > LARGEST)
        return 0;
    bloomery_dialect_sniff(data, size);
    if (dialect->load_takes[0] != '\0') {
        if (size < PREFIX)
            return 0;
        read_parameters(dialect, data, &parameters, variant);
        data += PREFIX;
        size -= PREFIX;
    }
    /* A copy that ends where its memory does. */
    uint8_t *copy = malloc(size > 0 ? size : 1);
    must(copy != NULL, "memory for the test");
    if (size > 0)
        memcpy(copy, data, size);
    /* One chosen among several filters is not written again as the whole. */
    if (dialect->reads)
        try_one(dialect, &parameters, copy, size, !takes(dialect, "index"));
    free(copy);
    return 0;
}
