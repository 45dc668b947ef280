/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many keys of the usual filter: blocked, one block and eight bits for each key. The rest of the
 * module is built for size; this loop is built for speed, since in batches of short keys the calls
 * of small functions take as long as the work. Only the npm package has it (web/meson.build).
 *
 * Nothing is prefetched, as WebAssembly cannot: the processor looks ahead by itself.
 */
#include "batch.h"

#include <bloomery/inline.h>

#include <assert.h>

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

static size_t run(const bloomery_inline_adder *filter, bool adding, const bloomery_keys *keys,
                  uint64_t *answers)
{
    size_t positive = 0;
    for (size_t first = 0; first < keys->count; first += WORD) {
        const size_t end = keys->count - first < WORD ? keys->count : first + WORD;
        uint64_t hashes[WORD];
        uint64_t word = 0;
        hash_keys(keys, first, end, filter->query.seed, hashes);
        if (adding)
            for (size_t i = 0; i < end - first; i++)
                word |= (uint64_t)bloomery_inline_to_block_(filter, hashes[i], 8) << i;
        else
            for (size_t i = 0; i < end - first; i++)
                word |= (uint64_t)bloomery_inline_in_block_(&filter->query, hashes[i], 8) << i;
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

bool web_usual_keys(bloomery_filter *filter, bool adding, const bloomery_keys *keys,
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
