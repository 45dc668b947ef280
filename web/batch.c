/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many keys at a time, for the npm package; the page does not have this file (web/meson.build).
 *
 * The rest of the module is built for size. The loop over the usual filter is built for speed: blocked,
 * one block and eight bits for each key. In batches of short keys the calls of small functions take
 * as long as the work. WebAssembly has no instruction that prefetches, so the loop first reads one
 * word of the blocks of 64 keys: the processor requests many blocks at a time, and waits only once.
 */
#include "json.h"

#include <bloomery/inline.h>

#include <assert.h>
#include <string.h>

enum { WORD = 64, LONG = 128 };

/* XXH3-64 of 17 to 128 bytes, as a loop, which is a third as long as the header's: pairs of 16 bytes
 * from both ends. */
static inline uint64_t hash_17_to_128(const unsigned char *data, size_t bytes, uint64_t seed)
{
    uint64_t x = bytes * UINT64_C(0x9E3779B185EBCA87);
    for (size_t i = 0; i <= (bytes - 1) / 32; i++) {
        const unsigned char *secret = XXH3_kSecret + 32 * i;
        const unsigned char *ends[] = {data + 16 * i, data + bytes - 16 * (i + 1)};
        for (size_t end = 0; end < 2; end++, secret += 16)
            x += bloomery_inline_fold_(bloomery_inline_load64_(ends[end]) ^
                                           (bloomery_inline_load64_(secret) + seed),
                                       bloomery_inline_load64_(ends[end] + 8) ^
                                           (bloomery_inline_load64_(secret + 8) - seed));
    }
    x = (x ^ x >> 37) * UINT64_C(0x165667919E3779F9);
    return x ^ x >> 32;
}

/* The hashes of keys `first` to `end`. */
static inline void hash_keys(const bloomery_keys *keys, size_t first, size_t end, uint64_t seed,
                             uint64_t *hashes)
{
    const unsigned char *data = keys->data;
    const int32_t *offsets = keys->offsets;
    const size_t width = keys->width;
    for (size_t i = first; i < end; i++) {
        const size_t at = width > 0 ? i * width : (size_t)offsets[i];
        const size_t bytes = width > 0 ? width : (size_t)offsets[i + 1] - at;
        assert(bytes <= LONG && at + bytes <= keys->bytes);
        hashes[i - first] = bytes > 16 ? hash_17_to_128(data + at, bytes, seed)
                                       : bloomery_inline_hash_(data + at, bytes, seed);
    }
}

/* The blocks of keys, from their hashes; the first word of each is read, so that it is in the cache
 * afterwards. A memory of 4 GiB has fewer than 2^32 blocks: half a product is enough. */
static inline void find_blocks(const bloomery_inline *filter, const uint64_t *hashes, size_t count,
                               uint32_t *blocks)
{
    assert(filter->count <= UINT32_MAX);
    for (size_t i = 0; i < count; i++) {
        const uint64_t low = (hashes[i] & UINT32_MAX) * filter->count >> 32;
        blocks[i] = (uint32_t)(((hashes[i] >> 32) * filter->count + low) >> 32);
        (void)*(const volatile uint64_t *)(filter->words + (size_t)blocks[i] * 8);
    }
}

static size_t run(const bloomery_inline_adder *filter, bool adding, const bloomery_keys *keys,
                  uint64_t *answers)
{
    size_t positive = 0;
    for (size_t first = 0; first < keys->count; first += WORD) {
        const size_t count = keys->count - first < WORD ? keys->count - first : WORD;
        uint64_t hashes[WORD];
        uint32_t blocks[WORD];
        uint64_t word = 0;
        hash_keys(keys, first, first + count, filter->query.seed, hashes);
        find_blocks(&filter->query, hashes, count, blocks);
        for (size_t i = 0; i < count; i++) {
            const size_t at = (size_t)blocks[i] * 8;
            const uint64_t w = bloomery_inline_fold_(hashes[i], UINT64_C(0xBF58476D1CE4E5B9));
            word |= (uint64_t)(adding ? bloomery_inline_set_(filter->words + at, w, 8)
                                      : bloomery_inline_hits_(filter->query.words + at, w, 8))
                    << i;
        }
        positive += (size_t)__builtin_popcountll(word);
        if (answers != NULL)
            answers[first / WORD] = word;
    }
    if (adding)
        *filter->adds += keys->count;
    return positive;
}

/* Long keys need another hash, which the library has. */
static bool all_short(const bloomery_keys *keys)
{
    if (keys->form == BLOOMERY_KEYS_FIXED)
        return keys->width <= LONG && keys->bytes == keys->count * keys->width;
    const int32_t *offsets = keys->offsets;
    uint32_t longest = 0;
    for (size_t i = 0; i < keys->count; i++) {
        const uint32_t bytes = (uint32_t)offsets[i + 1] - (uint32_t)offsets[i];
        longest = bytes > longest ? bytes : longest;
    }
    return longest <= LONG && offsets[0] == 0 && (size_t)offsets[keys->count] <= keys->bytes;
}

/* Adds or looks up keys of the usual filter. False: nothing was done, since the filter or a key is
 * another one. */
static bool usual_keys(bloomery_filter *filter, bool adding, const bloomery_keys *keys,
                       uint64_t *answers, size_t *positive)
{
    bloomery_inline_adder taken = {0};
    const bloomery_status status = adding ? bloomery_inline_adder_of(filter, &taken, NULL)
                                          : bloomery_inline_of(filter, &taken.query, NULL);
    if (status != BLOOMERY_OK || !bloomery_inline_is_usual_(&taken.query) || !all_short(keys))
        return false;
    *positive = run(&taken, adding, keys, answers);
    return true;
}

/* From a bit for each key to a byte for each, 0 or 1, in the same memory: from the end on, since the
 * bytes of a later bit are never before it. */
static void to_bytes(uint8_t *answers, size_t count)
{
    for (size_t i = (count + 7) / 8; i-- > 0;) {
        uint64_t bits = answers[i] * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);
        bits = (bits + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & UINT64_C(0x0101010101010101);
        memcpy(answers + 8 * i, &bits, sizeof bits);
    }
}

/* Many keys of any form: `add` 1 adds them, 0 queries them, -1 removes them. Keys of one width are
 * one after the other in `data`; if `width` is 0, `count` + 1 offsets of 32 bits say where they are
 * in it. The answers are bytes, 0 or 1, in memory for a multiple of 64 keys; NULL: none are wanted.
 * Returns how many keys were new, are possibly there or were removed; or a negative status, which
 * web_failure explains. */
__attribute__((export_name("web_keys"))) double web_keys(bloomery_filter *filter, int add,
                                                         const void *data, size_t bytes,
                                                         size_t width, const int32_t *offsets,
                                                         size_t count, uint64_t *answers)
{
    bloomery_keys keys = BLOOMERY_KEYS;
    bloomery_counts counts = {0, 0, 0};
    bloomery_status status = BLOOMERY_OK;
    size_t positive = 0;
    keys.form = width > 0 ? BLOOMERY_KEYS_FIXED : BLOOMERY_KEYS_OFFSETS32;
    keys.data = data;
    keys.bytes = bytes;
    keys.width = width;
    keys.offsets = offsets;
    keys.count = count;
    if (add < 0 || count == 0 || !usual_keys(filter, add > 0, &keys, answers, &positive)) {
        status = add > 0   ? bloomery_add_keys(filter, &keys, answers, &counts, &web_error)
                 : add < 0 ? bloomery_remove_keys(filter, &keys, answers, &counts, &web_error)
                           : bloomery_may_contain_keys(filter, &keys, answers, &counts, &web_error);
        positive = (size_t)counts.positive;
    }
    if (status != BLOOMERY_OK)
        return (double)status;
    if (answers != NULL)
        to_bytes((uint8_t *)answers, count);
    return (double)positive;
}
