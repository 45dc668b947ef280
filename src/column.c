/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns: checked whole, and then keys like others (keys.h). If some are no keys, the others go on
 * as hashes, 1,024 at a time, and the answers come back to their places:
 *
 *     valid      1 1 0 1 0 0 1 1
 *     hashes     a b   c     d e   ──>   a b c d e   ──>   1 0 1 1 0
 *     answers    1 0 0 1 0 0 1 0
 *
 * Filters whose hash gives positions take them one by one.
 */
#include "add.h"
#include "chain/layers.h"
#include "query.h"

#include "base/error.h"
#include "base/sized.h"

#include <assert.h>
#include <string.h>

enum { WORD = 64 };

static size_t words_of(size_t count)
{
    return count / WORD + (count % WORD != 0);
}

/* ---- Checking -------------------------------------------------------------------------------- */

static bloomery_status bad(bloomery_error *error, const char *text)
{
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "%s", text);
}

/* Values of `width` bytes, one every `stride` bytes, of which the last one ends within the data. */
static bloomery_status check_fixed(const bloomery_keys *keys, size_t width, size_t stride,
                                   bloomery_error *error)
{
    size_t end;
    if (column->count == 0)
        return BLOOMERY_OK;
    if (width == 0)
        return bad(error, "keys of a fixed width have at least 1 byte: a column says how many");
    if (stride < width)
        return bad(error, "the keys of a column overlap: its stride is less than their width");
    if (column->data == NULL)
        return bad(error, "a column of keys has no data");
    if (__builtin_mul_overflow(column->first + column->count - 1, stride, &end) ||
        __builtin_add_overflow(end, width, &end) || end > column->bytes) {
        const size_t fits = column->bytes < width ? 0 : (column->bytes - width) / stride + 1;
        const size_t key = fits > column->first ? fits - column->first : 0;
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, key,
                             "key %zu of the column ends past its %zu bytes", key, column->bytes);
    }
    return BLOOMERY_OK;
}

/* `wide`: 64 bits. */
static inline __attribute__((always_inline)) int64_t offset_of(const uint8_t *offsets, size_t i,
                                                               const bool wide)
{
    int64_t offset = 0;
    int32_t narrow = 0;
    if (wide) {
        memcpy(&offset, offsets + i * sizeof offset, sizeof offset);
        return offset;
    }
    memcpy(&narrow, offsets + i * sizeof narrow, sizeof narrow);
    return narrow;
}

static bloomery_status check_offsets(const bloomery_keys *keys, const bool wide,
                                     bloomery_error *error)
{
    const size_t size = wide ? sizeof(int64_t) : sizeof(int32_t);
    size_t total;
    if (column->count == 0)
        return BLOOMERY_OK;
    if (column->offsets == NULL)
        return bad(error, "a column by offsets has no offsets");
    if (__builtin_mul_overflow(column->first + column->count, size, &total) ||
        total > SIZE_MAX - size)
        return bad(error, "a column has more keys than memory has offsets");
    const uint8_t *offsets = (const uint8_t *)column->offsets + column->first * size;
    int64_t before = offset_of(offsets, 0, wide);
    if (before < 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "the first offset is negative");
    for (size_t i = 0; i < column->count; i++) {
        const int64_t next = offset_of(offsets, i + 1, wide);
        if (next < before)
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, i,
                                 "offsets fall: key %zu begins at byte %lld and ends at %lld", i,
                                 (long long)before, (long long)next);
        if ((uint64_t)next > column->bytes)
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, i,
                                 "key %zu ends at byte %lld, and the column has %zu", i,
                                 (long long)next, column->bytes);
        before = next;
    }
    if (column->data == NULL && before > 0)
        return bad(error, "a column of keys has no data");
    return BLOOMERY_OK;
}

static bloomery_status check_form(const bloomery_filter *filter, const bloomery_keys *keys,
                                  bloomery_error *error)
{
    switch (column->form) {
    case BLOOMERY_KEYS_FIXED:
        return check_fixed(column, column->width,
                           column->stride != 0 ? column->stride : column->width, error);
    case BLOOMERY_KEYS_OFFSETS32:
        return check_offsets(column, false, error);
    case BLOOMERY_KEYS_OFFSETS64:
        return check_offsets(column, true, error);
    case BLOOMERY_KEYS_HASHES64:
        if (filter->shape.hash != BLOOMERY_HASH_XXH3_64)
            return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                                 "hashes of 64 bits are for filters with hash %s, not %s",
                                 bloomery_hash_xxh3_64.name, filter->hash->name);
        return check_fixed(column, sizeof(uint64_t), sizeof(uint64_t), error);
    case BLOOMERY_KEYS_HASHES128:
        if (bloomery_by_positions(filter))
            return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                                 "positions in this filter are no function of a hash");
        return check_fixed(column, sizeof(bloomery_hash), sizeof(bloomery_hash), error);
    }
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "there is no form %d of a column",
                         (int)column->form);
}

/* Everything that a column can have wrong, before anything is done with it. */
bloomery_status bloomery_keys_read(const bloomery_filter *filter, const bloomery_keys *keys,
                                     struct bloomery_input *keys, bloomery_error *error)
{
    static const uint8_t nothing[1]; /* what keys of no bytes point to */
    size_t end;
    *keys = (struct bloomery_input){.data = nothing};
    if (!bloomery_sized_is_known(column, sizeof *column, sizeof *column))
        return bad(error, "a column begins with its size, and has no fields that this version does "
                          "not know: initialise it with BLOOMERY_COLUMN");
    if (column->nulls < -1 || (column->nulls > 0 && (uint64_t)column->nulls > column->count))
        return bad(error, "a column can't have so many nulls");
    if (column->nulls > 0 && column->valid == NULL)
        return bad(error, "a column claims nulls and has no bitmap that says which they are");
    if (__builtin_add_overflow(column->first, column->count, &end) || end > SIZE_MAX / 2)
        return bad(error, "a column can't have so many keys");
    *keys = (struct bloomery_input){
        .form = (int)column->form,
        .data = column->data != NULL ? column->data : nothing,
        .width = column->width,
        .stride = column->stride != 0 ? column->stride : column->width,
        .offsets = column->offsets,
        .valid = column->valid,
    };
    const bloomery_status status = check_form(filter, column, error);
    if (status == BLOOMERY_OK && column->count > 0)
        *keys = bloomery_input_from(keys, column->first);
    return status;
}

/* ---- Where some are no keys ------------------------------------------------------------------ */

/* Answer j goes to the place of the j-th bit of `valid`. */
static uint64_t spread(uint64_t answers, uint64_t valid)
{
    uint64_t all = 0;
    for (; valid != 0; valid &= valid - 1, answers >>= 1)
        all |= (valid & -valid) & -(answers & 1);
    return all;
}

/* The same for many words. */
static void spread_all(const uint64_t *answers, const uint64_t *valid, size_t words, uint64_t *to)
{
    size_t at = 0; /* answers taken */
    for (size_t i = 0; i < words; i++) {
        const size_t now = (size_t)__builtin_popcountll(valid[i]);
        uint64_t bits = answers[at / WORD] >> at % WORD;
        if (at % WORD + now > WORD)
            bits |= answers[at / WORD + 1] << (WORD - at % WORD);
        to[i] = spread(bits, valid[i]);
        at += now;
    }
}

/* The answers of a word of keys that hand out positions, or of a filter without its key. */
static uint64_t query_singly(const bloomery_filter *filter, const struct bloomery_input *keys,
                             size_t first, size_t count)
{
    const uint64_t valid = bloomery_input_valid(keys, first, count);
    uint64_t word = 0;
    if (!filter->secret_known) /* "possibly" is never wrong */
        return valid;
    for (uint64_t left = valid; left != 0; left &= left - 1)
        if (bloomery_may_contain(filter,
                                 bloomery_input_at(keys, first + (size_t)__builtin_ctzll(left))))
            word |= left & -left;
    return word;
}

static size_t query_valid(const bloomery_filter *filter, const struct bloomery_input *keys,
                          size_t count, uint64_t *answers)
{
    const bool singly = !filter->secret_known || bloomery_by_positions(filter);
    struct bloomery_compact compact;
    const struct bloomery_input list = bloomery_input_of_hashes(compact.hashes);
    uint64_t compacted[BLOOMERY_COMPACT / WORD + 1] = {0};
    uint64_t placed[BLOOMERY_COMPACT / WORD];
    size_t found = 0;
    for (size_t i = 0; i < count; i += BLOOMERY_COMPACT) {
        const size_t now = count - i < BLOOMERY_COMPACT ? count - i : BLOOMERY_COMPACT;
        if (singly) {
            for (size_t j = 0; j < now; j += WORD) {
                placed[j / WORD] =
                    query_singly(filter, keys, i + j, now - j < WORD ? now - j : WORD);
                found += (size_t)__builtin_popcountll(placed[j / WORD]);
            }
        } else {
            const size_t kept = bloomery_input_compact(keys, filter, i, now, &compact);
            found += bloomery_query_input(filter, &list, kept, compacted);
            spread_all(compacted, compact.valid, words_of(now), placed);
        }
        if (answers != NULL)
            memcpy(answers + i / WORD, placed, words_of(now) * sizeof *placed);
    }
    return found;
}

/* A word of keys that hand out positions. */
static bloomery_status add_singly(bloomery_filter *filter, const struct bloomery_input *keys,
                                  size_t first, uint64_t valid, uint64_t *answers,
                                  uint64_t *new_bits, bloomery_error *error)
{
    for (; valid != 0; valid &= valid - 1) {
        const struct bloomery_input one =
            bloomery_input_from(keys, first + (size_t)__builtin_ctzll(valid));
        uint64_t found = 0;
        uint64_t set = 0;
        const bloomery_status status = bloomery_add_input(filter, &one, 1, &found, &set, error);
        if (status != BLOOMERY_OK)
            return status;
        *answers |= found != 0 ? valid & -valid : 0;
        *new_bits += set;
    }
    return BLOOMERY_OK;
}

/* Keys with positions, or keys for which a chain might have no room. In both cases those before one
 * that fails are in the filter, and have their answers. */
static bloomery_status add_valid_singly(bloomery_filter *filter, const struct bloomery_input *keys,
                                        size_t count, uint64_t *answers, uint64_t *new_bits,
                                        bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    for (size_t i = 0; i < count && status == BLOOMERY_OK; i += WORD) {
        const size_t now = count - i < WORD ? count - i : WORD;
        uint64_t word = 0;
        status =
            add_singly(filter, keys, i, bloomery_input_valid(keys, i, now), &word, new_bits, error);
        if (answers != NULL)
            answers[i / WORD] = word;
    }
    return status;
}

bloomery_status bloomery_add_valid(bloomery_filter *filter, const struct bloomery_input *keys,
                                   size_t count, uint64_t *answers, uint64_t *new_bits,
                                   bloomery_error *error)
{
    bloomery_status status = bloomery_can_add(filter, error);
    struct bloomery_compact compact;
    const struct bloomery_input list = bloomery_input_of_hashes(compact.hashes);
    uint64_t total = 0;
    if (status != BLOOMERY_OK)
        return status;
    if (answers != NULL && count > 0)
        memset(answers, 0, words_of(count) * sizeof *answers);
    if (bloomery_by_positions(filter))
        status = add_valid_singly(filter, keys, count, answers, &total, error);
    for (size_t i = 0; i < count && status == BLOOMERY_OK && !bloomery_by_positions(filter);
         i += BLOOMERY_COMPACT) {
        const size_t now = count - i < BLOOMERY_COMPACT ? count - i : BLOOMERY_COMPACT;
        uint64_t compacted[BLOOMERY_COMPACT / WORD + 1] = {0};
        uint64_t set = 0;
        const size_t kept = bloomery_input_compact(keys, filter, i, now, &compact);
        status = bloomery_add_input(filter, &list, kept, answers != NULL ? compacted : NULL,
                                   new_bits != NULL ? &set : NULL, error);
        total += set;
        if (answers != NULL)
            spread_all(compacted, compact.valid, words_of(now), answers + i / WORD);
    }
    if (new_bits != NULL)
        *new_bits = total;
    return status;
}

/* ---- The entry points ------------------------------------------------------------------------ */

bloomery_status bloomery_may_contain_column(const bloomery_filter *filter,
                                            const bloomery_keys *keys, uint64_t *answers,
                                            size_t *found, bloomery_error *error)
{
    struct bloomery_input keys;
    const bloomery_status status = bloomery_keys_read(filter, column, &keys, error);
    if (status != BLOOMERY_OK)
        return status;
    const size_t yes = keys.valid != NULL
                           ? query_valid(filter, &keys, column->count, answers)
                           : bloomery_query_input(filter, &keys, column->count, answers);
    if (found != NULL)
        *found = yes;
    if (!filter->secret_known)
        return bloomery_fail(error, BLOOMERY_SECRET_NEEDED, 0,
                             "the filter is keyed and its secret was not given: every answer is "
                             "\"possibly\"");
    return BLOOMERY_OK;
}

bloomery_status bloomery_add_column(bloomery_filter *filter, const bloomery_keys *keys,
                                    uint64_t *answers, uint64_t *new_bits, bloomery_error *error)
{
    struct bloomery_input keys;
    const bloomery_status status = bloomery_keys_read(filter, column, &keys, error);
    if (status != BLOOMERY_OK)
        return status;
    if (keys.valid != NULL)
        return bloomery_add_valid(filter, &keys, column->count, answers, new_bits, error);
    return bloomery_add_input(filter, &keys, column->count, answers, new_bits, error);
}

bloomery_status bloomery_remove_column(bloomery_filter *filter, const bloomery_keys *keys,
                                       uint64_t *answers, size_t *removed, bloomery_error *error)
{
    struct bloomery_input keys;
    size_t total = 0;
    bloomery_status status = bloomery_keys_read(filter, column, &keys, error);
    if (status == BLOOMERY_OK)
        status = bloomery_can_remove(filter, error);
    if (status != BLOOMERY_OK)
        return status;
    const bool hashes = bloomery_input_is_hashes(&keys);
    bloomery_take *take = bloomery_take_of(&keys, filter);
    if (answers != NULL && column->count > 0)
        memset(answers, 0, words_of(column->count) * sizeof *answers);
    for (size_t i = 0; i < column->count; i++) {
        bloomery_hash hash;
        if (bloomery_input_valid(&keys, i, 1) == 0)
            continue;
        if (hashes)
            take(&keys, filter, i, 1, &hash);
        const int result = hashes ? bloomery_remove_hash(filter, hash, NULL)
                                  : bloomery_remove(filter, bloomery_input_at(&keys, i), NULL);
        assert(result == BLOOMERY_REMOVED || result == BLOOMERY_ABSENT);
        total += result == BLOOMERY_REMOVED;
        if (answers != NULL)
            answers[i / WORD] |= (uint64_t)(result == BLOOMERY_REMOVED) << i % WORD;
    }
    if (removed != NULL)
        *removed = total;
    return BLOOMERY_OK;
}

bloomery_status bloomery_hash_column(const bloomery_filter *filter, const bloomery_keys *keys,
                                     bloomery_hash *hashes, bloomery_error *error)
{
    struct bloomery_input keys;
    const bloomery_status status = bloomery_keys_read(filter, column, &keys, error);
    if (status != BLOOMERY_OK)
        return status;
    if (!filter->secret_known)
        return bloomery_fail(
            error, BLOOMERY_SECRET_NEEDED, 0,
            "the filter is keyed and its secret was not given: keys can't be hashed");
    if (bloomery_by_positions(filter))
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "positions in this filter are no function of a hash");
    bloomery_take *take = bloomery_take_of(&keys, filter);
    for (size_t i = 0; i < column->count; i += WORD) {
        const size_t now = column->count - i < WORD ? column->count - i : WORD;
        const uint64_t valid = bloomery_input_valid(&keys, i, now);
        take(&keys, filter, i, now, hashes + i);
        for (size_t j = 0; j < now; j++)
            if ((valid >> j & 1) == 0)
                hashes[i + j] = (bloomery_hash){0, 0};
    }
    return BLOOMERY_OK;
}
