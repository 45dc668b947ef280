/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/input.h"
#include "base/cpu.h"
#include "hash/xxh3.h"

#include <assert.h>
#include <string.h>

/* `constant` is one wherever this is called, the form of the keys. A build for size looks at the
 * form each time: one function serves all. */
static inline __attribute__((always_inline)) bloomery_key key_at(const struct bloomery_input *keys,
                                                                 size_t i, const int constant)
{
    return bloomery_input_key(keys, i, BLOOMERY_FOR_SIZE ? (int)keys->form : constant);
}

bloomery_key bloomery_input_at(const struct bloomery_input *keys, size_t i)
{
    assert(keys->form < BLOOMERY_KEYS_HASHES64);
    return keys->form == BLOOMERY_KEYS_LIST        ? key_at(keys, i, BLOOMERY_KEYS_LIST)
           : keys->form == BLOOMERY_KEYS_FIXED     ? key_at(keys, i, BLOOMERY_KEYS_FIXED)
           : keys->form == BLOOMERY_KEYS_OFFSETS32 ? key_at(keys, i, BLOOMERY_KEYS_OFFSETS32)
                                                   : key_at(keys, i, BLOOMERY_KEYS_OFFSETS64);
}

uint64_t bloomery_input_valid(const struct bloomery_input *keys, size_t first, size_t count)
{
    assert(count > 0 && count <= 64);
    const uint64_t all = UINT64_MAX >> (64 - count);
    if (keys->valid == NULL)
        return all;
    const size_t bit = keys->valid_first + first;
    const uint8_t *bytes = keys->valid + bit / 8;
    const unsigned shift = bit % 8;
    const unsigned needed = (unsigned)(shift + count + 7) / 8; /* up to 9 */
    uint64_t valid = bloomery_load_le(bytes, needed < 8 ? needed : 8) >> shift;
    if (needed > 8)
        valid |= (uint64_t)bytes[8] << (64 - shift);
    return valid & all;
}

struct bloomery_input bloomery_input_from(const struct bloomery_input *keys, size_t first)
{
    struct bloomery_input rest = *keys;
    const size_t stride = keys->form == BLOOMERY_KEYS_LIST        ? sizeof(bloomery_key)
                          : keys->form == BLOOMERY_KEYS_FIXED     ? keys->stride
                          : keys->form == BLOOMERY_KEYS_HASHES64  ? sizeof(uint64_t)
                          : keys->form == BLOOMERY_KEYS_HASHES128 ? sizeof(bloomery_hash)
                                                                  : 0;
    if (stride > 0 && first > 0)
        rest.data += first * stride;
    if (keys->offsets != NULL)
        rest.offsets += first * (keys->form == BLOOMERY_KEYS_OFFSETS32 ? 4 : 8);
    rest.valid_first += first;
    return rest;
}

/* ---- XXH3-64, a function for each form ------------------------------------------------------- */

#define HASHER(name, form)                                                              \
    __attribute__((flatten)) static void hash_keys_##name(                              \
        const struct bloomery_input *keys, const bloomery_filter *filter, size_t first, \
        size_t count, bloomery_hash *hashes)                                            \
    {                                                                                   \
        const struct bloomery_short_secret secret = bloomery_secret_of(filter)->brief;  \
        for (size_t i = 0; i < count; i++)                                              \
            hashes[i] = bloomery_xxh3_64(bloomery_secret_of(filter), &secret,           \
                                         key_at(keys, first + i, form));                \
    }

HASHER(list, BLOOMERY_KEYS_LIST)
HASHER(fixed, BLOOMERY_KEYS_FIXED)
HASHER(offsets32, BLOOMERY_KEYS_OFFSETS32)
HASHER(offsets64, BLOOMERY_KEYS_OFFSETS64)
#undef HASHER

/* ---- XXH3-128, likewise ---------------------------------------------------------------------- */

/* Lengths up to 128 are compiled in; libxxhash's function is called for longer keys. */
static inline __attribute__((always_inline)) bloomery_hash
xxh3_128(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    if (key.bytes > 128)
        return bloomery_hash_xxh3_128.one(secret, key);
    const XXH128_hash_t whole = XXH3_128bits_withSeed(key.data, key.bytes, secret->seed);
    return (bloomery_hash){.lo = whole.low64, .hi = whole.high64};
}

#define HASHER(name, form)                                                                   \
    __attribute__((flatten)) static void hash_keys_##name##_128(                             \
        const struct bloomery_input *keys, const bloomery_filter *filter, size_t first,      \
        size_t count, bloomery_hash *hashes)                                                 \
    {                                                                                        \
        for (size_t i = 0; i < count; i++)                                                   \
            hashes[i] = xxh3_128(bloomery_secret_of(filter), key_at(keys, first + i, form)); \
    }

HASHER(list, BLOOMERY_KEYS_LIST)
HASHER(fixed, BLOOMERY_KEYS_FIXED)
HASHER(offsets32, BLOOMERY_KEYS_OFFSETS32)
HASHER(offsets64, BLOOMERY_KEYS_OFFSETS64)
#undef HASHER

/* ---- Others ---------------------------------------------------------------------------------- */

static void hash_keys_list_any(const struct bloomery_input *keys, const bloomery_filter *filter,
                               size_t first, size_t count, bloomery_hash *hashes)
{
    bloomery_hash_many(filter->hash, bloomery_secret_of(filter),
                       (const bloomery_key *)(const void *)keys->data + first, count, hashes);
}

static void hash_keys_any(const struct bloomery_input *keys, const bloomery_filter *filter,
                          size_t first, size_t count, bloomery_hash *hashes)
{
    for (size_t i = 0; i < count; i++)
        hashes[i] =
            filter->hash->one(bloomery_secret_of(filter), bloomery_input_at(keys, first + i));
}

static void hash_keys_hashes64(const struct bloomery_input *keys, const bloomery_filter *filter,
                               size_t first, size_t count, bloomery_hash *hashes)
{
    (void)filter;
    for (size_t i = 0; i < count; i++) {
        hashes[i].lo = 0;
        memcpy(&hashes[i].hi, keys->data + (first + i) * sizeof(uint64_t), sizeof(uint64_t));
    }
}

static void hash_keys_hashes128(const struct bloomery_input *keys, const bloomery_filter *filter,
                                size_t first, size_t count, bloomery_hash *hashes)
{
    (void)filter;
    memcpy(hashes, keys->data + first * sizeof *hashes, count * sizeof *hashes);
}

bloomery_key_hasher *bloomery_key_hasher_of(const struct bloomery_input *keys,
                                            const bloomery_filter *filter)
{
    if (keys->form == BLOOMERY_KEYS_HASHES64)
        return hash_keys_hashes64;
    if (keys->form == BLOOMERY_KEYS_HASHES128)
        return hash_keys_hashes128;
    const bool wide = filter->shape.hash == BLOOMERY_HASH_XXH3_128;
    if (filter->shape.hash != BLOOMERY_HASH_XXH3_64 && !wide)
        return keys->form == BLOOMERY_KEYS_LIST ? hash_keys_list_any : hash_keys_any;
    if (BLOOMERY_FOR_SIZE)
        return wide ? hash_keys_list_128 : hash_keys_list;
    switch (keys->form) {
    case BLOOMERY_KEYS_FIXED:
        return wide ? hash_keys_fixed_128 : hash_keys_fixed;
    case BLOOMERY_KEYS_OFFSETS32:
        return wide ? hash_keys_offsets32_128 : hash_keys_offsets32;
    case BLOOMERY_KEYS_OFFSETS64:
        return wide ? hash_keys_offsets64_128 : hash_keys_offsets64;
    default:
        assert(keys->form == BLOOMERY_KEYS_LIST);
        return wide ? hash_keys_list_128 : hash_keys_list;
    }
}

void bloomery_hash_valid_keys(bloomery_key_hasher *hash_keys, const struct bloomery_input *keys,
                              const bloomery_filter *filter, size_t first, size_t count,
                              uint64_t valid, bloomery_hash *hashes)
{
    bloomery_key list[64];
    const struct bloomery_input some = bloomery_input_of_list(list);
    assert(count <= sizeof list / sizeof list[0]);
    if (keys->form != BLOOMERY_KEYS_LIST) {
        hash_keys(keys, filter, first, count, hashes);
        return;
    }
    for (size_t i = 0; i < count; i++)
        list[i] = (valid >> i & 1) != 0 ? bloomery_input_at(keys, first + i)
                                        : (bloomery_key){keys->data, 0};
    hash_keys(&some, filter, 0, count, hashes);
}

size_t bloomery_input_compact(const struct bloomery_input *keys, const bloomery_filter *filter,
                              size_t first, size_t count, struct bloomery_compact *compact)
{
    bloomery_key_hasher *hash_keys = bloomery_key_hasher_of(keys, filter);
    size_t kept = 0;
    assert(count <= BLOOMERY_COMPACT);
    for (size_t i = 0; i < count; i += 64) {
        const size_t now = count - i < 64 ? count - i : 64;
        const uint64_t valid = bloomery_input_valid(keys, first + i, now);
        bloomery_hash *hashes = compact->hashes + kept;
        assert(kept <= i);
        compact->valid[i / 64] = valid;
        bloomery_hash_valid_keys(hash_keys, keys, filter, first + i, now, valid, hashes);
        for (uint64_t left = valid; left != 0; left &= left - 1)
            *hashes++ = compact->hashes[kept + (size_t)__builtin_ctzll(left)];
        kept += (size_t)__builtin_popcountll(valid);
    }
    assert(kept <= count);
    return kept;
}
