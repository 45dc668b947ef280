/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fuzz target of the loader: whatever the bytes are, opening them refuses or gives a filter
 * that can be queried, read, verified, written and added to, within its memory.
 *
 * Each input is tried as it is, and then mended in two steps: with the checksums made right, so
 * that the checks behind them are reached; and with magic, version and sizes made right too, so
 * that almost every input gets as far as the records. Mending follows docs/format.md.
 *
 * Besides what the sanitizers see, it aborts where
 *   - opening succeeds and gives no filter, or fails and gives one, or fails without a reason;
 *   - something was allocated before a refusal of header or records, or more than the input
 * justifies;
 *   - memory is not all given back;
 *   - a filter that loaded cannot be written and loaded again to the same bytes;
 *   - an added key is denied, or can't be removed from a filter with counters.
 *
 * Build: with clang, -fsanitize=fuzzer,address,undefined, this file and the library; or with
 * regression.c as a plain test. Uses bloomery.h and xxhash.h.
 */
#include "../tests/support/many.h"
#include "mend.h"

#include <bloomery/dialect.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { VERSION = 2 };

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz/load: broken promise: %s\n", what);
    abort();
}

/* ---- Memory ------------------------------------------------------------------------------ */

static struct {
    size_t live;
    size_t requests;
    size_t bytes;
} memory;

static void *take(void *context, size_t bytes, size_t alignment)
{
    void *block = NULL;
    (void)context;
    memory.requests++;
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

/* ---- Mending ----------------------------------------------------------------------------- */

/* Magic, version, zero fields, and sizes that add up to the input's. */
static void mend_places(uint8_t *data, size_t size)
{
    if (size < HEADER + 64 + 16)
        return;
    memcpy(data,
           "\x89"
           "BLOOM\r\n",
           8);
    put(data, 8, VERSION, 2);
    put(data, 12, HEADER, 4);
    put(data, 58, 0, 2);
    put(data, 72, 0, 4);
    memset(data + 80, 0, 40);
    uint64_t records = get(data, 16, 4) / 8 * 8 % 512;
    uint64_t offset = (HEADER + records + 63) / 64 * 64;
    if (offset + 64 + 16 > size)
        offset = HEADER, records = 0;
    uint64_t rest = size - offset;
    uint64_t spans = (rest + SPAN + 7) / (SPAN + 8); /* at least as many as there can be */
    uint64_t payload = (rest - 8 * (spans + 1)) / 64 * 64;
    put(data, 16, records, 4);
    put(data, 24, offset, 8);
    put(data, 32, payload, 8);
}

/* What is left over behind the last checksum after mend_places. */
static size_t mended_size(const uint8_t *data, size_t size)
{
    if (size < HEADER + 64 + 16)
        return size;
    uint64_t payload = get(data, 32, 8);
    return (size_t)(get(data, 24, 8) + payload + 8 * ((payload + SPAN - 1) / SPAN + 1));
}

/* ---- A filter that came in --------------------------------------------------------------- */

struct bytes {
    uint8_t *data;
    size_t size;
    size_t room;
};

static int append(void *context, const void *data, size_t size)
{
    struct bytes *bytes = context;
    if (size > bytes->room - bytes->size)
        return 1;
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    return 0;
}

static struct bytes write_out(const bloomery_filter *filter)
{
    struct bytes bytes = {.room = (size_t)info_of(filter).file_bytes};
    must(posix_memalign((void **)&bytes.data, 64, bytes.room) == 0, "memory for the test");
    must(bloomery_write(filter, append, &bytes, NULL) == BLOOMERY_OK, "a filter can be written");
    must(bytes.size == bytes.room, "file_bytes is what bloomery_write writes");
    return bytes;
}

static void query(const bloomery_filter *filter, const uint8_t *data, size_t size)
{
    bloomery_key keys[70];
    uint64_t answers[2];
    size_t hits = 0;
    for (size_t i = 0; i < 70; i++)
        keys[i] = bloomery_key_of(data, size > 0 ? i * 7 % size : 0);
    size_t found = query_list(filter, keys, 70, answers);
    for (size_t i = 0; i < 70; i++) {
        bool maybe = bloomery_may_contain(filter, keys[i]);
        must((answers[i >> 6] >> (i & 63) & 1) == maybe, "a batch answers as single calls do");
        hits += maybe;
    }
    must(hits == found, "the batch counts its answers");
    for (unsigned bit = 0; bit < 64; bit += 7)
        hits += bloomery_may_contain_hash(filter,
                                          (bloomery_hash){UINT64_MAX << bit, ~(UINT64_MAX << bit)});
    must(hits <= found + 10, "a filter answers for any hash");
}

static int forget(void *context, const void *data, size_t size)
{
    (void)context;
    (void)data;
    (void)size;
    return 0;
}

/* What a Bloomery file says of another system may be anything. */
static void write_foreign(const bloomery_filter *filter)
{
    char text[80];
    bloomery_error error;
    for (uint32_t i = 0; i < 32 && bloomery_dialect_remark(filter, i, text, sizeof text); i++)
        must(text[0] != '\0', "a remark is a sentence");
    bloomery_dialect_variant(filter);
    bloomery_dialect_write(filter, NULL, forget, NULL, &error);
}

static void read_facts(const bloomery_filter *filter)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_error error;
    const bloomery_scan_result scan = scan_of(filter);
    bloomery_info_get(filter, &info);
    must(scan.bits_set <= info.bits, "no more bits are set than there are");
    must(scan.live_rate >= 0 && scan.live_rate <= 1, "a rate is 0 to 1");
    must(scan.expected_rate >= 0 && scan.expected_rate <= 1, "an expected rate is 0 to 1");
    must(scan.estimated_keys >= 0, "an estimate is not negative");
    must(info.note == NULL || strlen(info.note) <= BLOOMERY_NOTE_BYTES, "a note ends");
    if (bloomery_verify(filter, &error) != BLOOMERY_OK)
        must(error.status == BLOOMERY_CORRUPT && error.text[0] != '\0', "verify says why");
}

/* Written, read again, written again: the same bytes. */
static void round_trip(const bloomery_filter *filter, const bloomery_open_options *options)
{
    bloomery_filter *again = NULL;
    struct bytes first = write_out(filter);
    must(bloomery_load(first.data, first.size, options, &again, NULL) == BLOOMERY_OK,
         "what was written can be loaded");
    struct bytes second = write_out(again);
    must(first.size == second.size && memcmp(first.data, second.data, first.size) == 0,
         "what was loaded is written the same");
    bloomery_free(again);
    free(first.data);
    free(second.data);
}

/* Whether it was added. A chain can be full, or plan a layer for which memory is too short. */
static bool add(bloomery_filter *filter, const uint8_t *data, size_t size)
{
    bloomery_key key = bloomery_key_of(data, size);
    int result = add_outcome(filter, key);
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    must(info.can_add || result == BLOOMERY_READ_ONLY, "what is built once takes no keys");
    if (!info.can_add)
        return false;
    /* A cuckoo filter's next table may be larger than any can be. */
    if (result == BLOOMERY_FULL || result == BLOOMERY_OUT_OF_MEMORY ||
        (info.kind == BLOOMERY_CUCKOO && result == BLOOMERY_UNSUPPORTED))
        return false;
    must(result == WAS_NEW || result == WAS_SEEN || result == BLOOMERY_SECRET_NEEDED,
         "a loaded filter takes keys");
    must(bloomery_may_contain(filter, key), "an added key is not denied");
    return true;
}

/* Counters, whatever the bytes said that they were. A bucket of a cuckoo filter that is both of a
 * key's counts twice, and each table counts. */
static void take_away(bloomery_filter *filter, const bloomery_open_options *options,
                      const uint8_t *data, size_t size)
{
    bloomery_key key = bloomery_key_of(data, size);
    bloomery_filter *dropped = NULL;
    const uint32_t count = bloomery_key_count(filter, key);
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    const uint32_t once = info.kind == BLOOMERY_CUCKOO ? 2 : 1;
    const uint32_t most = info.kind == BLOOMERY_CUCKOO ? 2 * 255 * info.layers : 255;
    must(count >= 1 && count <= most, "an added key is counted");
    if (bloomery_drop_counters(filter, NULL, &dropped, NULL) == BLOOMERY_OK) {
        must(bloomery_may_contain(dropped, key), "dropping counters loses no key");
        round_trip(dropped, options);
        bloomery_free(dropped);
    }
    int result = remove_outcome(filter, key);
    must(result == WAS_REMOVED || result == BLOOMERY_UNSUPPORTED ||
             result == BLOOMERY_SECRET_NEEDED,
         "an added key can be removed");
    must(bloomery_key_count(filter, key) + once >= count, "a removal takes one");
}

/* ---- The target -------------------------------------------------------------------------- */

static void try_one(const uint8_t *data, size_t size, bool load, bool inspect)
{
    static const uint8_t key[BLOOMERY_SECRET_BYTES] = "a golden secret!";
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    const bloomery_filter *filter = NULL;
    bloomery_filter *own = NULL;
    bloomery_error error = {.status = BLOOMERY_OK};
    memset(&memory, 0, sizeof memory);
    options.allocator = (bloomery_allocator){take, give, NULL, NULL};
    options.inspect = inspect;
    options.secret = size % 2 != 0 ? key : NULL;
    bloomery_status status = load ? bloomery_load(data, size, &options, &own, &error)
                                  : bloomery_view(data, size, &options, &filter, &error);
    filter = load ? own : filter;
    must((status == BLOOMERY_OK) == (filter != NULL), "a filter if and only if it opened");
    must(memory.bytes <= size + PREFIX_MAX, "no more memory than the input justifies");
    if (filter == NULL) {
        must(error.status == status && error.text[0] != '\0', "a refusal says why");
        must(status != BLOOMERY_BAD_ARGUMENT, "bytes are not arguments");
        /* Only checksums of the payload are found wrong after memory was taken. */
        must(memory.requests == 0 || load, "nothing is allocated before a refusal");
    } else {
        must(get(data, 8, 2) == VERSION, "inputs are mended to the version that opens");
        query(filter, data, size);
        /* The expected rate of a small filter takes milliseconds, a hundred times all the rest. */
        if (XXH3_64bits(data, size) % 16 == 0)
            read_facts(filter);
        write_foreign(filter);
        if (load) {
            round_trip(filter, &options);
            if (add(own, data, size))
                take_away(own, &options, data, size);
            round_trip(filter, &options);
        }
        bloomery_free(filter);
    }
    must(memory.live == 0, "memory is given back");
}

static void try_all(const uint8_t *data, size_t size)
{
    try_one(data, size, false, false);
    try_one(data, size, true, false);
    try_one(data, size, true, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = NULL;
    if (size > (1u << 22))
        return 0;
    must(posix_memalign((void **)&copy, 64, size + 1) == 0, "memory for the test");
    memcpy(copy, data, size);
    try_all(copy, size);
    mend_checksums(copy, size);
    try_all(copy, size);
    memcpy(copy, data, size);
    mend_places(copy, size);
    size = mended_size(copy, size);
    mend_checksums(copy, size);
    try_all(copy, size);
    free(copy);
    return 0;
}
