/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile headers: every checksum is right, and the numbers are meant to hurt. Each is refused with
 * the status that the header promises and a text, before anything is allocated.
 *
 * Build: this file, ../support/support.c, ../support/forge.c; cmocka, the library, xxhash.h. No
 * arguments. Suite: property. Worth running under AddressSanitizer.
 */
#include "../support/forge.h"
#include "../support/support.h"

#include <bloomery/records.h>

#include <stdlib.h>
#include <string.h>

static const uint8_t secret[BLOOMERY_SECRET_BYTES] = "0123456789abcde";

/* A small valid file of each sort. */
enum { BLOCKED_FILE, CLASSIC_FILE, COUNTING_FILE, KEYED_FILE, OUTSIDE_FILE };

static struct test_bytes valid(int sort)
{
    const size_t shape = sort == CLASSIC_FILE ? 0 : sort == COUNTING_FILE ? 4 : 2;
    bloomery_plan plan = test_plan(&test_shapes[shape], 300, 0.01);
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    if (sort >= KEYED_FILE && test_keyed())
        options.secret = secret;
    options.secret_outside = sort == OUTSIDE_FILE && test_keyed();
    bloomery_filter *filter = test_create(&plan, &options);
    struct test_keys keys = test_keys_make(TEST_DECIMAL, 0, 0, 300);
    test_add_all(filter, &keys);
    struct test_bytes file = test_written(filter);
    bloomery_free(filter);
    test_keys_free(&keys);
    return file;
}

static bloomery_status enter(bool load, const struct test_bytes *file, const uint8_t *key,
                             struct test_memory *memory, const bloomery_filter **filter,
                             bloomery_error *error)
{
    bloomery_filter *own = NULL;
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    options.secret = key;
    options.allocator = test_allocator(memory);
    if (!load)
        return bloomery_view(file->data, file->bytes, &options, filter, error);
    const bloomery_status status = bloomery_load(file->data, file->bytes, &options, &own, error);
    *filter = own;
    return status;
}

static void assert_refused(const char *what, const struct test_bytes *file, const uint8_t *key,
                           bloomery_status first, bloomery_status other)
{
    for (int load = 0; load < 2; load++) {
        struct test_memory memory = {0};
        const bloomery_filter *filter = NULL;
        bloomery_error error = {.status = BLOOMERY_OK};
        bloomery_status status = enter(load, file, key, &memory, &filter, &error);
        if (status != first && status != other)
            fail_msg("%s: expected %s, not %s (%s)", what, bloomery_status_name(first),
                     bloomery_status_name(status), status ? error.text : "");
        assert_int_equal(error.status, status);
        assert_true(error.text[0] != '\0' && error.offset <= file->bytes);
        assert_null(filter);
        assert_int_equal(memory.requests, 0);
    }
}

static void assert_accepted(const char *what, const struct test_bytes *file)
{
    struct test_keys keys = test_keys_make(TEST_DECIMAL, 0, 0, 300);
    for (int load = 0; load < 2; load++) {
        struct test_memory memory = {0};
        const bloomery_filter *filter = NULL;
        bloomery_error error = {.text = ""};
        if (enter(load, file, NULL, &memory, &filter, &error) != BLOOMERY_OK)
            fail_msg("%s: refused: %s", what, error.text);
        assert_int_equal(query_list(filter, keys.keys, keys.count, NULL), keys.count);
        assert_int_equal(bloomery_verify(filter, NULL), BLOOMERY_OK);
        bloomery_free(filter);
        assert_true(memory.live == 0 && !memory.wrong);
    }
    test_keys_free(&keys);
}

/* ---- One field changed ------------------------------------------------------------------ */

struct edit {
    const char *what;
    size_t at;
    unsigned bytes;
    uint64_t value;
    bloomery_status status;
    bloomery_status other; /* as good; the same again where there is none */
};

#define ONE(status)         BLOOMERY_##status, BLOOMERY_##status
#define EITHER(one, second) BLOOMERY_##one, BLOOMERY_##second

static const struct edit header_edits[] = {
    {"another magic", FORGE_MAGIC, 1, 0x88, ONE(NOT_A_FILTER)},
    {"line end mangled", FORGE_MAGIC + 6, 1, 0x0a, ONE(NOT_A_FILTER)},
    {"version 0", FORGE_VERSION, 2, 0, EITHER(CORRUPT, WRONG_VERSION)},
    {"version 1", FORGE_VERSION, 2, 1, ONE(WRONG_VERSION)},
    {"version 3", FORGE_VERSION, 2, 3, ONE(WRONG_VERSION)},
    {"version 65535", FORGE_VERSION, 2, 65535, ONE(WRONG_VERSION)},
    {"kind 0", FORGE_KIND, 2, 0, EITHER(UNSUPPORTED, CORRUPT)},
    {"kind counting", FORGE_KIND, 2, BLOOMERY_COUNTING, ONE(UNSUPPORTED)},
    {"kind 7, which is not one", FORGE_KIND, 2, 7, ONE(UNSUPPORTED)},
    {"kind 65535", FORGE_KIND, 2, 65535, ONE(UNSUPPORTED)},
    {"header size 0", FORGE_HEADER_BYTES, 4, 0, ONE(CORRUPT)},
    {"header size 136", FORGE_HEADER_BYTES, 4, 136, ONE(CORRUPT)},
    {"records beyond the file", FORGE_RECORD_BYTES, 4, 1u << 20, EITHER(CORRUPT, TRUNCATED)},
    {"records of 4 GiB", FORGE_RECORD_BYTES, 4, UINT32_MAX - 7, EITHER(CORRUPT, TRUNCATED)},
    {"records past the payload", FORGE_RECORD_BYTES, 4, 16376, EITHER(CORRUPT, TRUNCATED)},
    {"records of an odd size", FORGE_RECORD_BYTES, 4, 71, ONE(CORRUPT)},
    {"no records", FORGE_RECORD_BYTES, 4, 0, ONE(CORRUPT)},
    {"0 layers", FORGE_LAYERS, 4, 0, EITHER(CORRUPT, UNSUPPORTED)},
    {"2 layers, 1 there", FORGE_LAYERS, 4, 2, EITHER(CORRUPT, UNSUPPORTED)},
    {"65 layers", FORGE_LAYERS, 4, 65, EITHER(CORRUPT, UNSUPPORTED)},
    {"4 billion layers", FORGE_LAYERS, 4, UINT32_MAX, EITHER(CORRUPT, UNSUPPORTED)},
    {"payload inside the header", FORGE_PAYLOAD_OFFSET, 8, 64, ONE(CORRUPT)},
    {"payload at 0", FORGE_PAYLOAD_OFFSET, 8, 0, ONE(CORRUPT)},
    {"payload out of alignment", FORGE_PAYLOAD_OFFSET, 8, 264, EITHER(CORRUPT, TRUNCATED)},
    {"payload beyond the file", FORGE_PAYLOAD_OFFSET, 8, 1u << 14, EITHER(TRUNCATED, CORRUPT)},
    {"payload at 2^63", FORGE_PAYLOAD_OFFSET, 8, 1ull << 63, EITHER(CORRUPT, TRUNCATED)},
    {"no payload", FORGE_PAYLOAD_BYTES, 8, 0, EITHER(CORRUPT, TRUNCATED)},
    {"payload of an odd size", FORGE_PAYLOAD_BYTES, 8, 65, EITHER(CORRUPT, TRUNCATED)},
    {"payload longer", FORGE_PAYLOAD_BYTES, 8, 1u << 20, ONE(TRUNCATED)},
    {"payload of 2^40", FORGE_PAYLOAD_BYTES, 8, 1ull << 40, ONE(TRUNCATED)},
    {"payload of 2^63", FORGE_PAYLOAD_BYTES, 8, 1ull << 63, ONE(TRUNCATED)},
    {"payload of 2^64 - 64", FORGE_PAYLOAD_BYTES, 8, UINT64_MAX - 63, ONE(TRUNCATED)},
    {"a fingerprint without a key", FORGE_FINGERPRINT, 8, 5, ONE(CORRUPT)},
    {"hash 0", FORGE_HASH, 2, 0, EITHER(UNSUPPORTED, CORRUPT)},
    {"hash 4", FORGE_HASH, 2, 4, ONE(UNSUPPORTED)},
    {"hash 15", FORGE_HASH, 2, 15, ONE(UNSUPPORTED)},
    {"a keyed hash without a key", FORGE_HASH, 2, 2, ONE(CORRUPT)},
    {"reserved bytes", FORGE_RESERVED_A, 2, 1, ONE(WRONG_VERSION)},
    {"a count scheme", FORGE_COUNT_SCHEME, 1, 128, ONE(CORRUPT)},
    {"a required bit", FORGE_REQUIRED, 4, 1u << 31, ONE(WRONG_VERSION)},
    {"the first of the rest", FORGE_RESERVED_C, 1, 1, ONE(WRONG_VERSION)},
    {"the last of the rest", FORGE_CHECKSUM - 1, 1, 1, ONE(WRONG_VERSION)},
    {"dialect 1", FORGE_DIALECT, 4, 1, ONE(CORRUPT)},
    {"hash 16", FORGE_HASH, 2, 16, ONE(UNSUPPORTED)},
    {"blocks of 0 bits", FORGE_BLOCK_BITS, 2, 0, EITHER(UNSUPPORTED, CORRUPT)},
    {"blocks of 256 bits", FORGE_BLOCK_BITS, 2, 256, EITHER(UNSUPPORTED, CORRUPT)},
    {"blocks of 65535 bits", FORGE_BLOCK_BITS, 2, 65535, EITHER(UNSUPPORTED, CORRUPT)},
    {"cells of 0 bits", FORGE_CELL_BITS, 1, 0, EITHER(UNSUPPORTED, CORRUPT)},
    {"cells of 4 bits", FORGE_CELL_BITS, 1, 4, EITHER(UNSUPPORTED, CORRUPT)},
    {"bit order 1", FORGE_BIT_ORDER, 1, 1, ONE(UNSUPPORTED)},
    {"block scheme 255", FORGE_BLOCK_SCHEME, 1, 255, ONE(CORRUPT)},
    {"probe scheme 1", FORGE_PROBE_SCHEME, 1, 1, ONE(CORRUPT)},
    {"repeat scheme 1", FORGE_REPEAT_SCHEME, 1, 1, ONE(UNSUPPORTED)},
};

static const struct edit layer_edits[] = {
    {"0 bits", FORGE_LAYER_BITS, 8, 0, ONE(CORRUPT)},
    {"512 bits more", FORGE_LAYER_BITS, 8, 1u << 16, ONE(CORRUPT)},
    {"2^40 bits", FORGE_LAYER_BITS, 8, 1ull << 40, ONE(CORRUPT)},
    {"2^50 bits", FORGE_LAYER_BITS, 8, 1ull << 50, ONE(CORRUPT)},
    {"2^63 bits", FORGE_LAYER_BITS, 8, 1ull << 63, ONE(CORRUPT)},
    {"2^64 - 1 bits", FORGE_LAYER_BITS, 8, UINT64_MAX, ONE(CORRUPT)},
    {"2^64 - 7 bits", FORGE_LAYER_BITS, 8, UINT64_MAX - 6, ONE(CORRUPT)},
    {"k = 0", FORGE_LAYER_PROBES, 4, 0, ONE(CORRUPT)},
    {"k = 9", FORGE_LAYER_PROBES, 4, 9, ONE(CORRUPT)},
    {"k = 64", FORGE_LAYER_PROBES, 4, 64, ONE(CORRUPT)},
    {"k = 65", FORGE_LAYER_PROBES, 4, 65, ONE(CORRUPT)},
    {"k = 255", FORGE_LAYER_PROBES, 4, 255, ONE(CORRUPT)},
    {"k = 2^31", FORGE_LAYER_PROBES, 4, 1u << 31, ONE(CORRUPT)},
    {"k = 2^32 - 1", FORGE_LAYER_PROBES, 4, UINT32_MAX, ONE(CORRUPT)},
    {"L = 0", FORGE_LAYER_LINES, 4, 0, ONE(CORRUPT)},
    {"L = 5", FORGE_LAYER_LINES, 4, 5, ONE(CORRUPT)},
    {"L = 8", FORGE_LAYER_LINES, 4, 8, ONE(CORRUPT)},
    {"L = 2^31", FORGE_LAYER_LINES, 4, 1u << 31, ONE(CORRUPT)},
    {"L = 2^32 - 1", FORGE_LAYER_LINES, 4, UINT32_MAX, ONE(CORRUPT)},
    {"a rate over 1", FORGE_LAYER_RATE, 8, 0x4000000000000000u, ONE(CORRUPT)},
    {"a negative rate", FORGE_LAYER_RATE, 8, 0xbff0000000000000u, ONE(CORRUPT)},
    {"a rate that is not a number", FORGE_LAYER_RATE, 8, 0x7ff8000000000000u, ONE(CORRUPT)},
    {"an endless rate", FORGE_LAYER_RATE, 8, 0x7ff0000000000000u, ONE(CORRUPT)},
    {"a place in the payload", FORGE_LAYER_OFFSET, 8, 64, ONE(CORRUPT)},
    {"a place beyond the payload", FORGE_LAYER_OFFSET, 8, UINT64_MAX - 63, ONE(CORRUPT)},
    {"more bytes", FORGE_LAYER_BYTES, 8, 1u << 20, ONE(CORRUPT)},
    {"no bytes", FORGE_LAYER_BYTES, 8, 0, ONE(CORRUPT)},
    {"bytes that wrap", FORGE_LAYER_BYTES, 8, UINT64_MAX - 63, ONE(CORRUPT)},
    {"a reserved word", FORGE_LAYER_RESERVED, 8, 1, ONE(WRONG_VERSION)},
    {"a record of no type", FORGE_RECORDS, 2, 0, EITHER(WRONG_VERSION, CORRUPT)},
    {"an unknown required record", FORGE_RECORDS, 2, 4711, ONE(WRONG_VERSION)},
    {"a record of 0 bytes", FORGE_RECORDS + 4, 4, 0, ONE(CORRUPT)},
    {"a record past the records", FORGE_RECORDS + 4, 4, 65, ONE(CORRUPT)},
    {"a record of 4 GiB", FORGE_RECORDS + 4, 4, UINT32_MAX, ONE(CORRUPT)},
    {"a record of 4 GiB - 7", FORGE_RECORDS + 4, 4, UINT32_MAX - 6, ONE(CORRUPT)},
};

static void apply_edits(int sort, const struct edit *edits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct test_bytes file = valid(sort);
        forge_put(&file, edits[i].at, edits[i].value, edits[i].bytes);
        if (!forge_seal(&file))
            forge_seal_header(&file);
        assert_refused(edits[i].what, &file, NULL, edits[i].status, edits[i].other);
        test_bytes_free(&file);
    }
}

static void hostile_headers_are_refused(void **state)
{
    (void)state;
    apply_edits(BLOCKED_FILE, header_edits, sizeof header_edits / sizeof header_edits[0]);
}

static void hostile_layers_are_refused(void **state)
{
    (void)state;
    apply_edits(BLOCKED_FILE, layer_edits, sizeof layer_edits / sizeof layer_edits[0]);
}

static void hostile_classic_filters_are_refused(void **state)
{
    (void)state;
    static const struct edit edits[] = {
        {"blocks", FORGE_LAYER_LINES, 4, 1, ONE(CORRUPT)},
        {"blocks", FORGE_BLOCK_BITS, 2, 512, EITHER(CORRUPT, UNSUPPORTED)},
        {"k = 0", FORGE_LAYER_PROBES, 4, 0, ONE(CORRUPT)},
        {"k = 65", FORGE_LAYER_PROBES, 4, 65, ONE(CORRUPT)},
        {"0 bits", FORGE_LAYER_BITS, 8, 0, ONE(CORRUPT)},
        {"more bits than bytes", FORGE_LAYER_BITS, 8, 1u << 16, ONE(CORRUPT)},
        {"fewer bits than bytes", FORGE_LAYER_BITS, 8, 1, ONE(CORRUPT)},
        {"2^64 - 1 bits", FORGE_LAYER_BITS, 8, UINT64_MAX, ONE(CORRUPT)},
    };
    apply_edits(CLASSIC_FILE, edits, sizeof edits / sizeof edits[0]);
}

/* Counters of other widths, which would lie elsewhere, and numbers that do not fit the payload. */
static void hostile_counting_filters_are_refused(void **state)
{
    (void)state;
    static const struct edit edits[] = {
        {"kind blocked", FORGE_KIND, 2, BLOOMERY_BLOCKED, EITHER(UNSUPPORTED, CORRUPT)},
        {"kind classic", FORGE_KIND, 2, BLOOMERY_CLASSIC, EITHER(UNSUPPORTED, CORRUPT)},
        {"kind scalable", FORGE_KIND, 2, BLOOMERY_SCALABLE, EITHER(UNSUPPORTED, CORRUPT)},
        {"counters of 0 bits", FORGE_CELL_BITS, 1, 0, EITHER(UNSUPPORTED, CORRUPT)},
        {"counters of 1 bit", FORGE_CELL_BITS, 1, 1, EITHER(UNSUPPORTED, CORRUPT)},
        {"counters of 2 bits", FORGE_CELL_BITS, 1, 2, EITHER(UNSUPPORTED, CORRUPT)},
        {"counters of 5 bits", FORGE_CELL_BITS, 1, 5, EITHER(UNSUPPORTED, CORRUPT)},
        {"twice as wide", FORGE_CELL_BITS, 1, 8, ONE(CORRUPT)},
        {"counters of 16 bits", FORGE_CELL_BITS, 1, 16, EITHER(UNSUPPORTED, CORRUPT)},
        {"counters of 255 bits", FORGE_CELL_BITS, 1, 255, EITHER(UNSUPPORTED, CORRUPT)},
        {"no blocks", FORGE_BLOCK_BITS, 2, 0, EITHER(UNSUPPORTED, CORRUPT)},
        {"blocks of 2048", FORGE_BLOCK_BITS, 2, 2048, EITHER(UNSUPPORTED, CORRUPT)},
        {"repeats that count", FORGE_REPEAT_SCHEME, 1, 1, ONE(UNSUPPORTED)},
        {"2^48 counters", FORGE_LAYER_BITS, 8, 1ull << 48, ONE(CORRUPT)},
        {"2^50 counters", FORGE_LAYER_BITS, 8, 1ull << 50, ONE(CORRUPT)},
        {"2^62 counters", FORGE_LAYER_BITS, 8, 1ull << 62, ONE(CORRUPT)},
        {"2^64 - 512 counters", FORGE_LAYER_BITS, 8, UINT64_MAX - 511, ONE(CORRUPT)},
        {"no blocks", FORGE_LAYER_LINES, 4, 0, ONE(CORRUPT)},
        {"5 blocks", FORGE_LAYER_LINES, 4, 5, ONE(CORRUPT)},
        {"k = 9", FORGE_LAYER_PROBES, 4, 9, ONE(CORRUPT)},
    };
    apply_edits(COUNTING_FILE, edits, sizeof edits / sizeof edits[0]);
}

/* Of a chain the next layer is planned from the keys and the rate of the newest: they are not facts
 * only. */
static void hostile_plans_of_chains_are_refused(void **state)
{
    (void)state;
    static const struct edit edits[] = {
        {"no keys", FORGE_LAYER_KEYS, 8, 0, ONE(CORRUPT)},
        {"2^48 + 1 keys", FORGE_LAYER_KEYS, 8, (1ull << 48) + 1, ONE(CORRUPT)},
        {"2^63 keys", FORGE_LAYER_KEYS, 8, 1ull << 63, ONE(CORRUPT)},
        {"2^64 - 1 keys", FORGE_LAYER_KEYS, 8, UINT64_MAX, ONE(CORRUPT)},
        {"no rate", FORGE_LAYER_RATE, 8, 0, ONE(CORRUPT)},
        {"2^48 keys", FORGE_LAYER_KEYS, 8, 1ull << 48, ONE(OK)},
    };
    bloomery_plan plan = {.kind = BLOOMERY_SCALABLE, .keys = 1000, .rate = 0.01};
    assert_int_equal(bloomery_plan_solve(&plan, NULL, NULL), BLOOMERY_OK);
    bloomery_filter *filter = test_create(&plan, NULL);
    struct test_keys keys = test_keys_make(TEST_DECIMAL, 0, 0, 300);
    test_add_all(filter, &keys);
    test_keys_free(&keys);
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        struct test_bytes file = test_written(filter);
        forge_put(&file, edits[i].at, edits[i].value, edits[i].bytes);
        assert_true(forge_seal(&file));
        if (edits[i].status == BLOOMERY_OK)
            assert_accepted(edits[i].what, &file);
        else
            assert_refused(edits[i].what, &file, NULL, edits[i].status, edits[i].other);
        test_bytes_free(&file);
    }
    bloomery_free(filter);
}

/* Bits that a reader ignores, and numbers that are facts only. */
static void harmless_changes_are_accepted(void **state)
{
    (void)state;
    static const struct edit edits[] = {
        {"an ignorable bit", FORGE_IGNORABLE, 4, 0xdeadbeef, ONE(OK)},
        {"adds", FORGE_LAYER_ADDS, 8, UINT64_MAX, ONE(OK)},
        {"planned keys", FORGE_LAYER_KEYS, 8, UINT64_MAX, ONE(OK)},
        {"planned keys unknown", FORGE_LAYER_KEYS, 8, 0, ONE(OK)},
        {"planned rate unknown", FORGE_LAYER_RATE, 8, 0, ONE(OK)},
    };
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        struct test_bytes file = valid(BLOCKED_FILE);
        forge_put(&file, edits[i].at, edits[i].value, edits[i].bytes);
        assert_true(forge_seal(&file));
        assert_accepted(edits[i].what, &file);
        test_bytes_free(&file);
    }
}

/* ---- Records ---------------------------------------------------------------------------- */

enum {
    LAYER_RECORD = 1,
    RULE_RECORD = 2,
    KEY_RECORD = 3,
    NOTE_RECORD = 5,
    WANTED_RECORD = 8,
    REQUIRED = 1
};

struct extra {
    const char *what;
    unsigned type;
    unsigned flags;
    size_t bytes;
    uint32_t claimed;
    bloomery_status status;
    bloomery_status other;
};

static const struct extra extras[] = {
    {"an unknown required record", 77, REQUIRED, 8, 8, ONE(WRONG_VERSION)},
    {"an unknown required record of 0 bytes", 65535, REQUIRED, 0, 0, ONE(WRONG_VERSION)},
    {"an unknown ignorable record", 77, 0, 8, 8, ONE(OK)},
    {"one of 0 bytes", 78, 0, 0, 0, ONE(OK)},
    {"one of 5 bytes", 79, 0, 5, 5, ONE(OK)},
    {"one of 12000 bytes", 80, 0, 12000, 12000, ONE(OK)},
    {"one that passes the end", 81, 0, 8, 9, ONE(CORRUPT)},
    {"one that passes the end by far", 82, 0, 8, 1u << 31, ONE(CORRUPT)},
    {"one whose size wraps", 83, 0, 8, UINT32_MAX, ONE(CORRUPT)},
    {"one whose size wraps to 0", 84, 0, 8, UINT32_MAX - 7, ONE(CORRUPT)},
    {"a second layer", LAYER_RECORD, REQUIRED, 64, 64, EITHER(CORRUPT, UNSUPPORTED)},
    {"a short layer", LAYER_RECORD, REQUIRED, 56, 56, ONE(CORRUPT)},
    {"a key in a filter that is not keyed", KEY_RECORD, REQUIRED, 16, 16, ONE(CORRUPT)},
    {"a short key", KEY_RECORD, REQUIRED, 8, 8, ONE(CORRUPT)},
    {"a short rule", RULE_RECORD, REQUIRED, 8, 8, ONE(CORRUPT)},
    {"a long rule", RULE_RECORD, REQUIRED, 24, 24, ONE(CORRUPT)},
    {"a wanted rate over 1", WANTED_RECORD, 0, 8, 8, ONE(CORRUPT)},
    {"a short wanted rate", WANTED_RECORD, 0, 4, 4, ONE(CORRUPT)},
    {"a note", NOTE_RECORD, 0, 100, 100, ONE(OK)},
    {"an empty note", NOTE_RECORD, 0, 0, 0, ONE(OK)},
    {"a note too long", NOTE_RECORD, 0, BLOOMERY_NOTE_BYTES + 1, BLOOMERY_NOTE_BYTES + 1,
     ONE(CORRUPT)},
};

static void hostile_records_are_refused(void **state)
{
    (void)state;
    uint8_t body[12000];
    memset(body, 'x', sizeof body);
    memset(body + 56, 0, 8); /* the reserved word of a layer */
    for (size_t i = 0; i < sizeof extras / sizeof extras[0]; i++) {
        const struct extra *extra = &extras[i];
        struct test_bytes file = valid(BLOCKED_FILE);
        forge_add_record(&file, extra->type, extra->flags, body, extra->bytes, extra->claimed);
        if (extra->status == BLOOMERY_OK)
            assert_accepted(extra->what, &file);
        else
            assert_refused(extra->what, &file, NULL, extra->status, extra->other);
        test_bytes_free(&file);
    }
}

/* Key rules decide how keys are made: what is not known must not be passed over. */
static void unknown_key_rules_are_refused(void **state)
{
    (void)state;
    static const uint32_t bodies[][4] = {
        {BLOOMERY_RULE_ELSEWHERE << 1, 0, 0, 0},
        {1u << 31, 0, 0, 0},
        {UINT32_MAX, 0, 0, 0},
        {0, 256, 1, 0},
        {0, UINT32_MAX, 1, 0},
        {0, 0, 0, 256},
        {BLOOMERY_RULE_LOWER | BLOOMERY_RULE_UPPER, 0, 0, 0},
        {BLOOMERY_RULE_LOWER | BLOOMERY_RULE_HEX, 0, 0, 0},
        {BLOOMERY_RULE_UPPER | BLOOMERY_RULE_HEX, 0, 0, 0},
        {BLOOMERY_RULE_UPPER | BLOOMERY_RULE_INT64, 0, 0, 0},
        {BLOOMERY_RULE_INT32 | BLOOMERY_RULE_INT64, 0, 0, 0},
        {BLOOMERY_RULE_INT32 | BLOOMERY_RULE_HEX, 0, 0, 0},
        {BLOOMERY_RULE_UTF16 | BLOOMERY_RULE_HEX, 0, 0, 0},
        {BLOOMERY_RULE_UTF16 | BLOOMERY_RULE_INT32, 0, 0, 0},
        {0, ',', 0, 0},
        {BLOOMERY_RULE_CSV, 0, 0, 0},
        {BLOOMERY_RULE_ELSEWHERE, ',', 2, 0},
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct test_bytes file = valid(BLOCKED_FILE);
        forge_add_record(&file, RULE_RECORD, REQUIRED, bodies[i], 16, 16);
        assert_refused("a rule", &file, NULL, BLOOMERY_WRONG_VERSION, BLOOMERY_CORRUPT);
        test_bytes_free(&file);
    }
    struct test_bytes file = valid(BLOCKED_FILE);
    static const uint32_t body[4] = {BLOOMERY_RULE_TRIM, 0, 0, '#'};
    forge_add_record(&file, RULE_RECORD, REQUIRED, body, 16, 16);
    assert_accepted("a known rule", &file);
    forge_add_record(&file, RULE_RECORD, REQUIRED, body, 16, 16);
    assert_refused("two rules", &file, NULL, BLOOMERY_CORRUPT, BLOOMERY_CORRUPT);
    test_bytes_free(&file);
}

/* A file of as many layers as there can be, and one more. */
static void too_many_layers_are_refused(void **state)
{
    (void)state;
    for (unsigned layers = 2; layers <= 66; layers += layers < 63 ? 61 : 1) {
        struct test_bytes file = valid(BLOCKED_FILE);
        uint8_t body[64];
        memcpy(body, file.data + FORGE_LAYER, sizeof body);
        for (unsigned i = 1; i < layers; i++)
            forge_add_record(&file, LAYER_RECORD, REQUIRED, body, 64, 64);
        forge_put(&file, FORGE_LAYERS, layers, 4);
        assert_true(forge_seal(&file));
        assert_refused("many layers", &file, NULL, BLOOMERY_CORRUPT, BLOOMERY_UNSUPPORTED);
        test_bytes_free(&file);
    }
}

/* ---- Secrets ---------------------------------------------------------------------------- */

static void secrets_are_demanded(void **state)
{
    (void)state;
    static const uint8_t wrong[BLOOMERY_SECRET_BYTES] = "0123456789abcdX";
    if (!test_keyed())
        skip();
    struct test_bytes file = valid(OUTSIDE_FILE);
    /* The secret is nowhere in a file that is to be without it. */
    for (size_t at = 0; at + BLOOMERY_SECRET_BYTES <= file.bytes; at++)
        assert_memory_not_equal(file.data + at, secret, BLOOMERY_SECRET_BYTES);
    assert_refused("no secret", &file, NULL, BLOOMERY_SECRET_NEEDED, BLOOMERY_SECRET_NEEDED);
    assert_refused("another secret", &file, wrong, BLOOMERY_SECRET_NEEDED, BLOOMERY_SECRET_NEEDED);
    struct test_memory memory = {0};
    const bloomery_filter *known = NULL;
    bloomery_filter *filter = NULL;
    assert_int_equal(enter(true, &file, secret, &memory, &known, NULL), BLOOMERY_OK);
    bloomery_key key = bloomery_key_of("1000007", 7);
    assert_true(bloomery_may_contain(known, key));
    bloomery_free(known);
    /* For inspection it opens, denies nothing and takes nothing. */
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    options.inspect = true;
    assert_int_equal(bloomery_load(file.data, file.bytes, &options, &filter, NULL), BLOOMERY_OK);
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    bloomery_hash hash;
    uint64_t answers[2] = {0, 0};
    bloomery_key keys[65];
    for (int i = 0; i < 65; i++)
        keys[i] = bloomery_key_of("absent", 6);
    assert_true(!info.secret_known && !info.secret_in_file && info.secret_fingerprint != 0);
    assert_true(bloomery_may_contain(filter, keys[0]));
    assert_int_equal(query_list(filter, keys, 65, answers), 65);
    assert_true(answers[0] == UINT64_MAX && answers[1] == 1);
    assert_int_equal(add_status(filter, key), BLOOMERY_SECRET_NEEDED);
    assert_int_equal(add_list(filter, keys, 1, NULL), BLOOMERY_SECRET_NEEDED);
    assert_int_equal(bloomery_hash_key(filter, key, &hash, NULL), BLOOMERY_SECRET_NEEDED);
    bloomery_free(filter);
    test_bytes_free(&file);
}

/* A file that carries a key carries the right one. */
static void a_changed_key_is_refused(void **state)
{
    (void)state;
    if (!test_keyed())
        skip();
    struct test_bytes file = valid(KEYED_FILE);
    size_t found = 0;
    for (size_t at = FORGE_RECORDS; at + BLOOMERY_SECRET_BYTES <= forge_payload(&file); at += 8)
        if (memcmp(file.data + at, secret, BLOOMERY_SECRET_BYTES) == 0)
            found = at;
    assert_true(found > 0);
    file.data[found] ^= 1;
    assert_true(forge_seal(&file));
    assert_refused("a changed key", &file, NULL, BLOOMERY_CORRUPT, BLOOMERY_CORRUPT);
    file.data[found] ^= 1;
    forge_put(&file, FORGE_SEED, 1, 8);
    assert_true(forge_seal(&file));
    assert_refused("a seed beside a key", &file, NULL, BLOOMERY_CORRUPT, BLOOMERY_CORRUPT);
    test_bytes_free(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_headers_are_refused),
        cmocka_unit_test(hostile_layers_are_refused),
        cmocka_unit_test(hostile_classic_filters_are_refused),
        cmocka_unit_test(hostile_counting_filters_are_refused),
        cmocka_unit_test(hostile_plans_of_chains_are_refused),
        cmocka_unit_test(harmless_changes_are_accepted),
        cmocka_unit_test(hostile_records_are_refused),
        cmocka_unit_test(unknown_key_rules_are_refused),
        cmocka_unit_test(too_many_layers_are_refused),
        cmocka_unit_test(secrets_are_demanded),
        cmocka_unit_test(a_changed_key_is_refused),
    };
    return test_run_group("hostile", tests, NULL, NULL);
}
