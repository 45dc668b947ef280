/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many keys in one of several forms, and how they become hashes. Whatever a caller's keys look
 * like, a batch takes them eight or 64 at a time through one function. From there on it knows
 * hashes only:
 *
 *     list of keys ─┐
 *     one width ────┤
 *     offsets ──────┼─ hash ─> bloomery_hash[8]
 *     hashes ───────┘
 */
#ifndef BLOOMERY_KERNELS_INPUT_H
#define BLOOMERY_KERNELS_INPUT_H

#include "kinds/filter.h"

#include <string.h>

struct bloomery_input {
    int form;
    const uint8_t *data;    /* the first key, its descriptor or its hash; offsets: their bytes */
    size_t width;           /* fixed */
    size_t stride;          /* fixed */
    const uint8_t *offsets; /* the first of them, at any address */
    /* NULL: all are keys; else bit valid_first + i says whether key i is one. */
    const uint8_t *valid;
    size_t valid_first;
};

static inline struct bloomery_input bloomery_input_of_list(const bloomery_key *keys)
{
    return (struct bloomery_input){.form = BLOOMERY_KEYS_LIST,
                                   .data = (const uint8_t *)(const void *)keys};
}

static inline struct bloomery_input bloomery_input_of_hashes(const bloomery_hash *hashes)
{
    return (struct bloomery_input){.form = BLOOMERY_KEYS_HASHES128,
                                   .data = (const uint8_t *)(const void *)hashes};
}

static inline bool bloomery_input_is_hashes(const struct bloomery_input *keys)
{
    return keys->form >= BLOOMERY_KEYS_HASHES64;
}

/* Offset number `i`, of 4 or 8 bytes. */
static inline __attribute__((always_inline)) size_t
bloomery_input_offset(const struct bloomery_input *keys, size_t i, const size_t bytes)
{
    uint64_t wide = 0;
    uint32_t narrow = 0;
    if (bytes == sizeof wide)
        memcpy(&wide, keys->offsets + i * sizeof wide, sizeof wide);
    else
        memcpy(&narrow, keys->offsets + i * sizeof narrow, sizeof narrow);
    return (size_t)(bytes == sizeof wide ? wide : narrow);
}

/* Key number `i` of a form that is not hashes. `form` is a constant wherever this is called, and
 * leaves no branch behind. */
static inline __attribute__((always_inline)) bloomery_key
bloomery_input_key(const struct bloomery_input *keys, size_t i, const int form)
{
    if (form == BLOOMERY_KEYS_LIST)
        return ((const bloomery_key *)(const void *)keys->data)[i];
    if (form == BLOOMERY_KEYS_FIXED)
        return (bloomery_key){keys->data + i * keys->stride, keys->width};
    const size_t bytes = form == BLOOMERY_KEYS_OFFSETS32 ? sizeof(uint32_t) : sizeof(uint64_t);
    const size_t begin = bloomery_input_offset(keys, i, bytes);
    return (bloomery_key){keys->data + begin, bloomery_input_offset(keys, i + 1, bytes) - begin};
}

/* The same of any form. */
bloomery_key bloomery_input_at(const struct bloomery_input *keys, size_t i);

/* Which of keys `first` to first + count - 1 (at most 64) are keys. */
uint64_t bloomery_input_valid(const struct bloomery_input *keys, size_t first, size_t count);

/* Keys from number `first` on. */
struct bloomery_input bloomery_input_from(const struct bloomery_input *keys, size_t first);

/* The hashes of keys `first` to first + count - 1, valid or not. */
typedef void bloomery_key_hasher(const struct bloomery_input *keys, const bloomery_filter *filter,
                                 size_t first, size_t count, bloomery_hash *hashes);

/* For keys of this form and a filter that hashes keys. */
bloomery_key_hasher *bloomery_key_hasher_of(const struct bloomery_input *keys,
                                            const bloomery_filter *filter);

/* The same of `count` keys, at most 64, of which those in `valid` are keys. What else a list names
 * is not read; its hashes, and those in other forms, are not to be used. */
void bloomery_hash_valid_keys(bloomery_key_hasher *hash_keys, const struct bloomery_input *keys,
                              const bloomery_filter *filter, size_t first, size_t count,
                              uint64_t valid, bloomery_hash *hashes);

/* The hashes of the keys that are valid: room for one word more than is used. */
enum { BLOOMERY_COMPACT = 1024 };
struct bloomery_compact {
    bloomery_hash hashes[BLOOMERY_COMPACT + 64];
    uint64_t valid[BLOOMERY_COMPACT / 64]; /* which they are */
};

/* Of keys `first` to first + count - 1, at most BLOOMERY_COMPACT; how many are keys. */
size_t bloomery_input_compact(const struct bloomery_input *keys, const bloomery_filter *filter,
                              size_t first, size_t count, struct bloomery_compact *compact);

#endif /* BLOOMERY_KERNELS_INPUT_H */
