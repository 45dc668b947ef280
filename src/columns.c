/* SPDX-License-Identifier: Apache-2.0 */
/* Many keys: a caller's struct is checked whole, and becomes an input (kernels/input.h). */
#include "base/error.h"
#include "base/versioned.h"
#include "kinds/chain.h"
#include "library.h"

#include <assert.h>
#include <string.h>

enum { WORD = 64, KEYS_BYTES_FIRST = sizeof(bloomery_keys) };

/* More bytes than any process has: no key can have a number beyond. */
static const size_t count_max =
    (size_t)(sizeof(size_t) > 4 ? UINT64_C(1) << 47 : (uint64_t)(SIZE_MAX / 2));

/* ---- Checking -------------------------------------------------------------------------------- */

static bloomery_status bad(bloomery_error *error, const char *text)
{
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "%s", text);
}

/* Values of `width` bytes, one every `stride` bytes. */
static bloomery_status check_fixed(const bloomery_keys *keys, size_t width, size_t stride,
                                   bloomery_error *error)
{
    size_t end;
    if (keys->count == 0)
        return BLOOMERY_OK;
    if (width == 0)
        return bad(error, "keys of one width have at least 1 byte: set `width`");
    if (stride < width)
        return bad(error, "the keys overlap: their stride is less than their width");
    if (keys->data == NULL)
        return bad(error, "there are keys, and `data` is NULL");
    if (__builtin_mul_overflow(keys->first + keys->count - 1, stride, &end) ||
        __builtin_add_overflow(end, width, &end))
        return bad(error, "the keys end past the end of memory: `count`, `first` or `stride` is "
                          "too large");
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

/* Whether the offsets of `count` keys rise from 0 or more. Without an end at the first that falls,
 * so that the compiler makes vectors of it: the sign of the difference says that an offset fell,
 * and its own that it is negative, without which the difference might overflow. */
static bool offsets_rise(const uint8_t *offsets, size_t count, const bool wide)
{
    uint64_t signs = (uint64_t)offset_of(offsets, 0, wide);
    uint32_t narrow_signs = 0;
    for (size_t i = 0; wide && i < count; i++) {
        const uint64_t before = (uint64_t)offset_of(offsets, i, true);
        const uint64_t next = (uint64_t)offset_of(offsets, i + 1, true);
        signs |= (next - before) | next;
    }
    for (size_t i = 0; !wide && i < count; i++) {
        const uint32_t before = (uint32_t)offset_of(offsets, i, false);
        const uint32_t next = (uint32_t)offset_of(offsets, i + 1, false);
        narrow_signs |= (next - before) | next;
    }
    return signs >> 63 == 0 && narrow_signs >> 31 == 0;
}

static bloomery_status check_offsets(const bloomery_keys *keys, const bool wide,
                                     bloomery_error *error)
{
    const size_t size = wide ? sizeof(int64_t) : sizeof(int32_t);
    size_t total;
    if (keys->count == 0)
        return BLOOMERY_OK;
    if (keys->offsets == NULL)
        return bad(error, "keys by offsets need `offsets`, which is NULL");
    if (__builtin_mul_overflow(keys->first + keys->count, size, &total) || total > SIZE_MAX - size)
        return bad(error, "there are more keys than memory has room for offsets");
    const uint8_t *offsets = (const uint8_t *)keys->offsets + keys->first * size;
    int64_t before = offset_of(offsets, 0, wide);
    const int64_t last = offset_of(offsets, keys->count, wide);
    if (offsets_rise(offsets, keys->count, wide) && (uint64_t)last <= keys->bytes &&
        (keys->data != NULL || last == 0))
        return BLOOMERY_OK;
    /* Something is wrong: what? */
    if (before < 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "the first offset is negative");
    for (size_t i = 0; i < keys->count; i++) {
        const int64_t next = offset_of(offsets, i + 1, wide);
        if (next < before)
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, i,
                                 "offsets fall: key %zu begins at byte %lld and ends at %lld", i,
                                 (long long)before, (long long)next);
        if ((uint64_t)next > keys->bytes)
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, i,
                                 "key %zu ends at byte %lld of the %zu that `bytes` says", i,
                                 (long long)next, keys->bytes);
        before = next;
    }
    assert(keys->data == NULL && before > 0);
    return bad(error, "there are keys, and `data` is NULL");
}

static bloomery_status check_form(const bloomery_filter *filter, const bloomery_keys *keys,
                                  bloomery_error *error)
{
    switch (keys->form) {
    case BLOOMERY_KEYS_LIST:
        return check_fixed(keys, sizeof(bloomery_key), sizeof(bloomery_key), error);
    case BLOOMERY_KEYS_FIXED:
        return check_fixed(keys, keys->width, keys->stride != 0 ? keys->stride : keys->width,
                           error);
    case BLOOMERY_KEYS_OFFSETS32:
        return check_offsets(keys, false, error);
    case BLOOMERY_KEYS_OFFSETS64:
        return check_offsets(keys, true, error);
    case BLOOMERY_KEYS_HASHES64:
        if (filter->shape.hash != BLOOMERY_HASH_XXH3_64)
            return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                                 "hashes of 64 bits are for filters with hash %s, not %s",
                                 bloomery_hash_xxh3_64.name, filter->hash->name);
        return check_fixed(keys, sizeof(uint64_t), sizeof(uint64_t), error);
    case BLOOMERY_KEYS_HASHES128:
        if (bloomery_by_positions(filter))
            return bloomery_can_take_hashes(filter, error);
        return check_fixed(keys, sizeof(bloomery_hash), sizeof(bloomery_hash), error);
    }
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                         "keys do not have a form %d: set `form`, or call bloomery_keys_of_list or "
                         "another function that does",
                         (int)keys->form);
}

static bool has_a_size(const bloomery_keys *keys)
{
    return keys->struct_bytes == 0 || keys->struct_bytes == sizeof *keys ||
           bloomery_versioned_is_known(keys, KEYS_BYTES_FIRST, sizeof *keys);
}

/* Everything that keys can have wrong, before anything is done with them. */
bloomery_status bloomery_keys_read(const bloomery_filter *filter, const bloomery_keys *keys,
                                   struct bloomery_input *input, bloomery_error *error)
{
    static const uint8_t nothing[1]; /* what keys of no bytes point to */
    if (!has_a_size(keys))
        return bad(error, "the struct does not begin with its size, or sets a field that this "
                          "version of the library does not know: initialise it with BLOOMERY_KEYS");
    if (!(keys->first <= count_max && keys->count <= count_max - keys->first))
        return bad(error, "there are more keys than memory has bytes: `count` or `first` is wrong");
    if (keys->nulls < -1 || (keys->nulls > 0 && (uint64_t)keys->nulls > keys->count))
        return bad(error, "there can't be that many nulls");
    if (keys->nulls > 0 && keys->valid == NULL)
        return bad(error, "some keys are null, and `valid`, which says which, is NULL");
    *input = (struct bloomery_input){
        .form = (int)keys->form,
        .data = keys->data != NULL ? keys->data : nothing,
        .width = keys->width,
        .stride = keys->stride != 0 ? keys->stride : keys->width,
        .offsets = keys->offsets,
        .valid = keys->valid,
    };
    bloomery_status status = BLOOMERY_OK;
    if (keys->threads > 1)
        status = bloomery_threads_check(keys->threads, error);
    if (status == BLOOMERY_OK)
        status = check_form(filter, keys, error);
    if (status == BLOOMERY_OK && keys->first > 0 && keys->count > 0)
        *input = bloomery_input_from(input, keys->first);
    return status;
}

/* ---- The entry points ------------------------------------------------------------------------ */

/* After a refusal all answers and counts are 0. A count that cannot be right has no answers. */
static bloomery_status refuse(bloomery_status status, const bloomery_keys *keys, uint64_t *answers,
                              bloomery_counts *counts)
{
    assert(status != BLOOMERY_OK);
    if (answers != NULL && has_a_size(keys) && keys->count <= count_max && keys->count > 0)
        memset(answers, 0, (keys->count / WORD + (keys->count % WORD != 0)) * sizeof *answers);
    if (counts != NULL)
        *counts = (bloomery_counts){0, 0, 0};
    return status;
}

bloomery_status bloomery_may_contain_keys(const bloomery_filter *filter, const bloomery_keys *keys,
                                          uint64_t *answers, bloomery_counts *counts,
                                          bloomery_error *error)
{
    struct bloomery_input input;
    const bloomery_status status = bloomery_keys_read(filter, keys, &input, error);
    if (status != BLOOMERY_OK)
        return refuse(status, keys, answers, counts);
    const size_t found = bloomery_query_present(filter, &input, keys->count, answers);
    if (counts != NULL)
        *counts = (bloomery_counts){keys->count, found, 0};
    if (filter->secret_known)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_SECRET_NEEDED, 0,
                         "the filter is keyed and its secret was not given: every answer is "
                         "\"possibly\"");
}

bloomery_status bloomery_add_keys(bloomery_filter *filter, const bloomery_keys *keys,
                                  uint64_t *answers, bloomery_counts *counts, bloomery_error *error)
{
    struct bloomery_input input;
    bloomery_status status = bloomery_keys_read(filter, keys, &input, error);
    if (status == BLOOMERY_OK)
        status = bloomery_can_add(filter, error);
    if (status == BLOOMERY_OK && keys->threads > 1 && answers != NULL)
        status = bad(error, "several threads give no answers: pass NULL, or set `threads` to 1");
    if (status != BLOOMERY_OK)
        return refuse(status, keys, answers, counts);
    if (keys->threads > 1)
        return bloomery_build_input(filter, &input, keys->count, keys->threads, counts, error);
    return bloomery_add_present(filter, &input, keys->count, answers, counts, error);
}

bloomery_status bloomery_remove_keys(bloomery_filter *filter, const bloomery_keys *keys,
                                     uint64_t *answers, bloomery_counts *counts,
                                     bloomery_error *error)
{
    struct bloomery_input input;
    bloomery_status status = bloomery_keys_read(filter, keys, &input, error);
    if (status == BLOOMERY_OK)
        status = bloomery_can_remove(filter, error);
    if (status != BLOOMERY_OK)
        return refuse(status, keys, answers, counts);
    bloomery_remove_input(filter, &input, keys->count, answers, counts);
    return BLOOMERY_OK;
}

/* In lanes, where the processor has them and all are keys. */
static bloomery_key_hasher *hasher_of(const struct bloomery_input *input,
                                      const bloomery_filter *filter)
{
    const struct bloomery_fast_path *fast = bloomery_fast_path_of(filter);
    const bool named = input->form == BLOOMERY_KEYS_LIST ||
                       input->form == BLOOMERY_KEYS_OFFSETS32 ||
                       input->form == BLOOMERY_KEYS_OFFSETS64;
    return named && input->valid == NULL && filter->shape.hash == BLOOMERY_HASH_XXH3_64 &&
                   fast != NULL && fast->hash_named != NULL
               ? fast->hash_named
               : bloomery_key_hasher_of(input, filter);
}

bloomery_status bloomery_hash_keys(const bloomery_filter *filter, const bloomery_keys *keys,
                                   bloomery_hash *hashes, bloomery_error *error)
{
    struct bloomery_input input = {.valid = NULL};
    bloomery_status status = bloomery_keys_read(filter, keys, &input, error);
    if (status == BLOOMERY_OK)
        status = bloomery_can_hash(filter, error);
    if (status != BLOOMERY_OK)
        return status;
    bloomery_key_hasher *hash_keys = hasher_of(&input, filter);
    if (input.valid == NULL && keys->count > 0)
        hash_keys(&input, filter, 0, keys->count, hashes);
    for (size_t i = 0; input.valid != NULL && i < keys->count; i += WORD) {
        const size_t now = keys->count - i < WORD ? keys->count - i : WORD;
        const uint64_t valid = bloomery_input_valid(&input, i, now);
        bloomery_hash_valid_keys(hash_keys, &input, filter, i, now, valid, hashes + i);
        for (size_t j = 0; j < now; j++)
            if ((valid >> j & 1) == 0)
                hashes[i + j] = (bloomery_hash){0, 0};
    }
    return BLOOMERY_OK;
}
