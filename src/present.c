/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs of which some are not keys. The others go on as hashes, 1,024 at a time, and the answers
 * come back to their places:
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

#include <assert.h>
#include <string.h>

enum { WORD = 64 };

static size_t words_of(size_t count)
{
    return count / WORD + (count % WORD != 0);
}

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

size_t bloomery_query_present(const bloomery_filter *filter, const struct bloomery_input *keys,
                              size_t count, uint64_t *answers)
{
    if (keys->valid == NULL)
        return bloomery_query_input(filter, keys, count, answers);
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

/* Keys with positions, one by one: those before one that fails are in the filter, and have their
 * answers. */
static bloomery_status add_valid_singly(bloomery_filter *filter, const struct bloomery_input *keys,
                                        size_t count, uint64_t *answers, bloomery_counts *counts,
                                        bloomery_error *error)
{
    for (size_t i = 0; i < count; i++) {
        struct bloomery_input one = bloomery_input_from(keys, i);
        bloomery_counts found;
        one.valid = NULL;
        counts->done = i;
        if (bloomery_input_valid(keys, i, 1) == 0)
            continue;
        const bloomery_status status = bloomery_add_input(filter, &one, 1, NULL, &found, error);
        if (status != BLOOMERY_OK)
            return status;
        counts->positive += found.positive;
        counts->cells += found.cells;
        if (answers != NULL)
            answers[i / WORD] |= (uint64_t)found.positive << i % WORD;
    }
    counts->done = count;
    return BLOOMERY_OK;
}

/* The place of key `number` of those that are keys. */
static size_t place_of(const struct bloomery_compact *compact, size_t number)
{
    size_t word = 0;
    uint64_t left = compact->valid[0];
    for (size_t now; number >= (now = (size_t)__builtin_popcountll(left)); number -= now)
        left = compact->valid[++word];
    for (; number > 0; number--)
        left &= left - 1;
    assert(left != 0 && word < BLOOMERY_COMPACT / WORD);
    return word * WORD + (size_t)__builtin_ctzll(left);
}

/* The keys among `count` (at most BLOOMERY_COMPACT) from `first` on. */
static bloomery_status add_valid_some(bloomery_filter *filter, const struct bloomery_input *keys,
                                      size_t first, size_t count, uint64_t *answers,
                                      bloomery_counts *counts, bloomery_error *error)
{
    struct bloomery_compact compact;
    const struct bloomery_input list = bloomery_input_of_hashes(compact.hashes);
    uint64_t compacted[BLOOMERY_COMPACT / WORD + 1] = {0};
    bloomery_counts found = {0, 0, 0};
    const size_t kept = bloomery_input_compact(keys, filter, first, count, &compact);
    const bloomery_status status =
        bloomery_add_input(filter, &list, kept, answers != NULL ? compacted : NULL,
                           counts != NULL ? &found : NULL, error);
    if (answers != NULL)
        spread_all(compacted, compact.valid, words_of(count), answers);
    if (counts != NULL) {
        counts->done += status == BLOOMERY_OK ? count : place_of(&compact, found.done);
        counts->positive += found.positive;
        counts->cells += found.cells;
    }
    return status;
}

bloomery_status bloomery_add_present(bloomery_filter *filter, const struct bloomery_input *keys,
                                     size_t count, uint64_t *answers, bloomery_counts *counts,
                                     bloomery_error *error)
{
    if (keys->valid == NULL)
        return bloomery_add_input(filter, keys, count, answers, counts, error);
    bloomery_counts own = {0, 0, 0};
    bloomery_status status = BLOOMERY_OK;
    if (counts != NULL)
        *counts = own;
    if (answers != NULL && count > 0)
        memset(answers, 0, words_of(count) * sizeof *answers);
    if (bloomery_by_positions(filter))
        return add_valid_singly(filter, keys, count, answers, counts != NULL ? counts : &own,
                                error);
    for (size_t i = 0; i < count && status == BLOOMERY_OK; i += BLOOMERY_COMPACT)
        status = add_valid_some(filter, keys, i,
                                count - i < BLOOMERY_COMPACT ? count - i : BLOOMERY_COMPACT,
                                answers != NULL ? answers + i / WORD : NULL, counts, error);
    return status;
}
