/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people use before they use a filter, each made as well as it can be made simply, so that the
 * experiment compares filters with good alternatives and not with poor ones:
 *
 *   strings       an open-addressing table, two thirds full. A slot of 16 bytes holds a short
 *                 string and its length, so that a key costs one cache line
 *   integers      such a table of 64-bit numbers, possible if the keys are known to be numbers
 *   sorted list   these numbers in order without gaps, the smallest, and binary search. Sorted by
 *                 radix, which is quick because twelve decimal digits are a number below 2^40
 *   MD5 digests   such a table of 16-byte digests, a fixed size for keys of any length. That two of
 *                 a billion keys share one has a chance of 1.5e-21, so it counts as exact
 *   bitmap        such a table of bits, 100 a key: a filter with k = 1, the oldest way to 1 %
 *
 * Then filters: Bloomery's, and those of the original experiment, of the same sizes as there and
 * bit for bit the same.
 *
 * Keys are added and queried in portions of 64. First the cache lines that they will touch are
 * fetched, then they are looked at. Without that a program waits a hundred nanoseconds for memory
 * on every key. All memory is requested in huge pages.
 */
#include "sets.h"

#include "base/random.h"
#include "base/statistics.h"
#include "tool.h"

#include <bloomery/dialect.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

#ifdef BLOOMERY_HAVE_LIBCRYPTO
#define OPENSSL_SUPPRESS_DEPRECATED /* MD5() is faster than what came after it */
#include <openssl/md5.h>
#else
#define MD5(text, bytes, digest) ((void)(text), NULL)
#endif

enum {
    HUGE_PAGE = 2 << 20,
    PORTION = 64, /* keys added or queried together: one word of answers */
    BATCH = 4096, /* keys handed to the library at once: a multiple of 64 */
};

/* ---- Memory ---------------------------------------------------------------------------------- */

void *tool_pages(uint64_t bytes, size_t alignment)
{
    const bool large = bytes >= 2 * (uint64_t)HUGE_PAGE;
    const size_t least = large ? HUGE_PAGE : 64;
    void *memory = NULL;
    if (bytes > SIZE_MAX / 2 ||
        posix_memalign(&memory, alignment > least ? alignment : least, (size_t)bytes) != 0)
        return NULL;
    if (large)
        (void)madvise(memory, (size_t)bytes, MADV_HUGEPAGE); /* a wish: it may be refused */
    memset(memory, 0, (size_t)bytes);
    return memory;
}

/* These two are also the library's allocator. */
static void *allocate(void *context, size_t bytes, size_t alignment)
{
    struct tool_set *set = context;
    void *memory = tool_pages(bytes, alignment);
    if (memory == NULL) {
        tool_no_memory(bytes);
        return NULL;
    }
    set->bytes += bytes;
    return memory;
}

static void release(void *context, void *memory, size_t bytes, size_t alignment)
{
    (void)context, (void)bytes, (void)alignment; /* a filter gives nothing back before its end */
    free(memory);
}

void tool_set_release(struct tool_set *set)
{
    free(set->words);
    bloomery_free(set->filter);
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static const char *key_at(struct tool_digits keys, size_t index)
{
    return keys.text + index * TOOL_DIGITS;
}

static size_t some_at(struct tool_digits keys, size_t from, size_t most)
{
    return keys.count - from < most ? keys.count - from : most;
}

static uint64_t key_hash(const char *key)
{
    uint64_t head;
    uint32_t tail;
    memcpy(&head, key, sizeof(head));
    memcpy(&tail, key + sizeof(head), sizeof(tail));
    return tool_mix64(tool_mix64(head) + tail * TOOL_GOLDEN);
}

/* In three parts of four digits, so that the processor can work on all twelve at once. */
static uint64_t key_number(const char *key)
{
    uint64_t parts[3];
    for (size_t i = 0; i < 3; i++) {
        const unsigned char *digit = (const unsigned char *)key + 4 * i;
        parts[i] = digit[0] * 1000u + digit[1] * 100u + digit[2] * 10u + digit[3] - 1111u * '0';
    }
    return (parts[0] * 10000 + parts[1]) * 10000 + parts[2];
}

/* ---- Tables: of strings, of integers, of digests --------------------------------------------- */

/* What a slot holds of a key, and where the search for it begins. A slot whose first word is 0 is
 * empty, so integers are held plus 1. */
struct search {
    uint64_t entry[2];
    uint64_t slot;
};

static void make_digest(const char *key, uint64_t entry[2])
{
    if (MD5((const unsigned char *)key, TOOL_DIGITS, (unsigned char *)entry) == NULL) {
        tool_error("'md5' needs libcrypto, which does not work here: leave it out");
        exit(TOOL_ERROR);
    }
    entry[0] += entry[0] == 0;
}

/* Makes the entries of a portion, and fetches the slots with which the searches begin and the
 * cache line behind each. A search that fails looks at five slots on average, and so often runs
 * into the next one. A fetch past the end of a table does nothing. Returns the portion's size. */
static size_t begin_searches(const struct tool_set *set, struct tool_digits keys, size_t from,
                             struct search *searches)
{
    const size_t count = some_at(keys, from, PORTION);
    for (size_t i = 0; i < count; i++) {
        const char *key = key_at(keys, from + i);
        uint64_t entry[2] = {0, 0};
        uint64_t hash;
        if (set->structure == &tool_structures[TOOL_INTEGERS]) {
            entry[0] = key_number(key) + 1;
            hash = tool_mix64(entry[0] * TOOL_GOLDEN);
        } else if (set->structure == &tool_structures[TOOL_MD5]) {
            make_digest(key, entry);
            hash = entry[0];
        } else {
            memcpy(entry, key, TOOL_DIGITS);
            ((char *)entry)[15] = TOOL_DIGITS;
            hash = key_hash(key);
        }
        searches[i] = (struct search){{entry[0], entry[1]}, tool_scale(hash, set->size)};
        const unsigned width = set->structure->width;
        const uint64_t word = width > 0 ? searches[i].slot * width : searches[i].slot / 64;
        __builtin_prefetch(&set->words[word]);
        if (width > 0)
            __builtin_prefetch((const void *)((uintptr_t)&set->words[word] + 64));
    }
    return count;
}

/* The slot that holds the key or is the empty one where it belongs. */
static uint64_t *find_slot(const struct tool_set *set, const struct search *search)
{
    const unsigned width = set->structure->width;
    for (uint64_t slot = search->slot;; slot = slot + 1 < set->size ? slot + 1 : 0) {
        uint64_t *found = &set->words[slot * width];
        if (found[0] == 0 ||
            (found[0] == search->entry[0] && (width == 1 || found[1] == search->entry[1])))
            return found;
    }
}

static bool table_fill(struct tool_set *set)
{
    const size_t keys = set->keys.count, width = set->structure->width;
    set->size = width > 0 ? keys + keys / 2 + 1 : (uint64_t)keys * 100; /* never full */
    const uint64_t words = width > 0 ? set->size * width : (set->size + 63) / 64;
    set->words = allocate(set, (size_t)(words * sizeof(uint64_t)), 64);
    struct search searches[PORTION];
    for (size_t from = 0, count; from < keys && set->words != NULL; from += count) {
        count = begin_searches(set, set->keys, from, searches);
        for (size_t i = 0; i < count; i++) {
            const uint64_t slot = searches[i].slot;
            if (width > 0)
                memcpy(find_slot(set, &searches[i]), searches[i].entry, width * sizeof(uint64_t));
            else
                set->words[slot / 64] |= UINT64_C(1) << slot % 64;
        }
    }
    return set->words != NULL;
}

static void table_query(const struct tool_set *set, struct tool_digits keys, uint64_t *answers)
{
    struct search searches[PORTION];
    for (size_t from = 0, count; from < keys.count; from += count) {
        count = begin_searches(set, keys, from, searches);
        uint64_t word = 0;
        for (size_t i = 0; i < count; i++) {
            const uint64_t slot = searches[i].slot;
            const uint64_t in = set->structure->width > 0 ? *find_slot(set, &searches[i]) != 0
                                                          : set->words[slot / 64] >> slot % 64 & 1;
            word |= in << i;
        }
        answers[from / PORTION] = word;
    }
}

/* ---- Sorted list ----------------------------------------------------------------------------- */

/* Sorts numbers below 2^40 by the lowest ten bits, then stably by the next ten, and so on: four
 * times, so that the result is where it began. */
static void radix_sort(uint64_t *numbers, uint64_t *other, size_t count)
{
    enum { RADIX = 1 << 10 };
    for (unsigned shift = 0; shift < 40; shift += 10) {
        size_t places[RADIX + 1] = {0};
        for (size_t i = 0; i < count; i++)
            places[(numbers[i] >> shift & (RADIX - 1)) + 1]++;
        for (unsigned value = 1; value < RADIX; value++)
            places[value] += places[value - 1];
        for (size_t i = 0; i < count; i++)
            other[places[numbers[i] >> shift & (RADIX - 1)]++] = numbers[i];
        uint64_t *swapped = numbers;
        numbers = other;
        other = swapped;
    }
}

static bool sorted_fill(struct tool_set *set)
{
    const size_t bytes = set->keys.count * sizeof(uint64_t);
    set->words = allocate(set, bytes, 64);
    uint64_t *other = set->words != NULL ? allocate(set, bytes, 64) : NULL;
    if (other == NULL)
        return false;
    for (size_t i = 0; i < set->keys.count; i++)
        set->words[i] = key_number(key_at(set->keys, i));
    radix_sort(set->words, other, set->keys.count);
    free(other);
    set->bytes -= bytes;
    return true;
}

/* Sixty-four binary searches in step. All have the same lengths to halve, so each step is a choice
 * without a branch. The number that comes next can be fetched for all of them. */
static void sorted_query(const struct tool_set *set, struct tool_digits keys, uint64_t *answers)
{
    uint64_t wanted[PORTION];
    const uint64_t *base[PORTION];
    for (size_t from = 0, count; from < keys.count; from += count) {
        count = some_at(keys, from, PORTION);
        for (size_t i = 0; i < count; i++) {
            wanted[i] = key_number(key_at(keys, from + i));
            base[i] = set->words;
        }
        for (size_t length = set->keys.count; length > 1;) {
            const size_t half = length / 2;
            length -= half;
            for (size_t i = 0; i < count; i++) {
                base[i] += half * (size_t)(base[i][half] <= wanted[i]);
                __builtin_prefetch(base[i] + length / 2);
            }
        }
        uint64_t word = 0;
        for (size_t i = 0; i < count; i++)
            word |= (uint64_t)(*base[i] == wanted[i]) << i;
        answers[from / PORTION] = word;
    }
}

/* ---- Filters --------------------------------------------------------------------------------- */

/* The keys of the next batch as the library takes them. */
static bloomery_keys batch_at(struct tool_digits keys, size_t from, bloomery_key batch[BATCH])
{
    const size_t count = some_at(keys, from, BATCH);
    for (size_t i = 0; i < count; i++)
        batch[i] = bloomery_key_of(key_at(keys, from + i), TOOL_DIGITS);
    return bloomery_keys_of_list(batch, count);
}

static bool filter_fill(struct tool_set *set)
{
    const struct tool_structure *structure = set->structure;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.allocator = (bloomery_allocator){allocate, release, set, NULL};
    bloomery_error error;
    bloomery_status status;
    const bloomery_dialect *dialect = bloomery_dialect_find(structure->name);
    if (dialect != NULL) {
        bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
        if (structure->requested_rate) {
            parameters.keys = set->keys.count;
            parameters.rate = set->rate;
        }
        status = bloomery_dialect_create(dialect, &parameters, &options, &set->filter, &error);
    } else {
        set->shape =
            (bloomery_plan){.kind = structure->kind, .keys = set->keys.count, .rate = set->rate};
        status = bloomery_plan_solve(&set->shape, NULL, &error);
        if (status == BLOOMERY_OK)
            status = bloomery_create(&set->shape, &options, &set->filter, &error);
    }
    bloomery_key batch[BATCH];
    for (size_t from = 0; from < set->keys.count && status == BLOOMERY_OK; from += BATCH) {
        const bloomery_keys list = batch_at(set->keys, from, batch);
        status = bloomery_add_keys(set->filter, &list, NULL, NULL, &error);
    }
    if (status != BLOOMERY_OK)
        tool_library_error(structure->name, &error);
    return status == BLOOMERY_OK;
}

static void filter_query(const struct tool_set *set, struct tool_digits keys, uint64_t *answers)
{
    bloomery_key batch[BATCH];
    for (size_t from = 0; from < keys.count; from += BATCH) {
        const bloomery_keys list = batch_at(keys, from, batch);
        bloomery_may_contain_keys(set->filter, &list, answers + from / 64, NULL, NULL);
    }
}

static int add_to_sum(void *context, const void *data, size_t bytes)
{
    struct tool_set *set = context;
    set->written_bytes += bytes;
    set->written_crc = (uint32_t)crc32_z(set->written_crc, data, bytes);
    return 0;
}

void tool_set_settle(struct tool_set *set)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_scan_result scan = BLOOMERY_SCAN_RESULT;
    if (set->filter == NULL) { /* the bitmap */
        uint64_t ones = 0;
        for (uint64_t i = 0; i * 64 < set->size; i++)
            ones += (uint64_t)__builtin_popcountll(set->words[i]);
        scan.live_rate = (double)ones / (double)set->size;
        set->shape = (bloomery_plan){.kind = BLOOMERY_CLASSIC, .bits = set->size, .probes = 1};
    } else {
        bloomery_info_get(set->filter, &info);
        bloomery_scan(set->filter, &scan);
    }
    set->live_rate = scan.live_rate;
    set->predicted_rate = bloomery_plan_rate(&set->shape, set->keys.count);
    if (info.dialect != 0) {
        set->shape = (bloomery_plan){.kind = info.kind, .bits = info.bits, .probes = info.probes};
        /* Of the keys as estimated from its bits: nothing else knows its own way from hash to bits.
         * The estimate is within a hundredth even for a handful. */
        set->predicted_rate = scan.expected_rate;
        if (bloomery_dialect_write(set->filter, NULL, add_to_sum, set, NULL) != BLOOMERY_OK)
            set->written_bytes = 0;
    }
    /* The bits of a key of Guava's filter lie in steps: position i is a + i b modulo m. Steps that
     * return early make keys alike. The predicted rate has what that adds on average. With few keys
     * one filter has much more of it or nothing: up to 0.25 k/m where it was measured (1 to 4,097
     * keys, rates of 0.6 to 1e-9). Many times that is allowed, nothing if keys are many. */
    if (set->structure == &tool_structures[TOOL_GUAVA])
        set->stray = fmin(1, 2.0 * info.probes / (double)info.bits);
    set->allowed_rate = set->predicted_rate * tool_allowed_factor(&set->shape, set->keys.count);
}

/* ---- The table ------------------------------------------------------------------------------- */

const struct tool_structure tool_structures[TOOL_STRUCTURES] = {
    {"strings", "set of strings", true, false, 2, 0, table_fill, table_query},
    {"sorted", "sorted list", true, false, 0, 0, sorted_fill, sorted_query},
    {"integers", "set of 64-bit integers", true, false, 1, 0, table_fill, table_query},
    {"md5", "set of MD5 digests", true, false, 2, 0, table_fill, table_query},
    {"bitmap", "one-hash bitmap", false, false, 0, 0, table_fill, table_query},
    {"blocked", "Bloomery, blocked", false, true, 0, BLOOMERY_BLOCKED, filter_fill, filter_query},
    {"classic", "Bloomery, classic", false, true, 0, BLOOMERY_CLASSIC, filter_fill, filter_query},
    {"guava", "Guava's filter, here", false, true, 0, 0, filter_fill, filter_query},
    {"sha384-slices", "SHA-384 filter, here", false, false, 0, 0, filter_fill, filter_query},
};
