/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding keys: key bytes become hashes here, once, and only hashes go on to core.
 */
#include "add.h"

#include "base/bits.h"
#include "base/error.h"
#include "batch/window.h"
#include "chain/grow.h"
#include "chain/layers.h"
#include "core/derive.h"
#include "dialect/dialects.h"
#include "ways.h"

#include <assert.h>
#include <string.h>

bloomery_status bloomery_can_add(const bloomery_filter *filter, bloomery_error *error)
{
    if (!filter->kind->adds)
        return bloomery_fail(error, BLOOMERY_READ_ONLY, 0,
                             "a static filter takes no more keys: build it again from all of them, "
                             "or query a scalable filter of the new ones beside it");
    if (filter->storage != BLOOMERY_OWNED)
        return bloomery_fail(
            error, BLOOMERY_READ_ONLY, 0,
            "the filter is read-only: open it with BLOOMERY_OPEN_COPY to add keys");
    if (!filter->secret_known && filter->foreign)
        return bloomery_dialect_no_hash(filter->hash, error);
    if (!filter->secret_known)
        return bloomery_fail(
            error, BLOOMERY_SECRET_NEEDED, 0,
            "keys can't be added: the filter is keyed and its secret was not given");
    return BLOOMERY_OK;
}

void bloomery_count_adds(bloomery_filter *filter, uint64_t adds)
{
    struct bloomery_layer *layer = bloomery_newest_layer(filter);
    /* Chains count by themselves: only grow.c knows which layer was the newest. */
    if (filter->kind->grows)
        return;
    if (filter->concurrent)
        __atomic_fetch_add(&layer->adds, adds, __ATOMIC_RELAXED);
    else
        layer->adds += adds;
}

/* Adds a key: BLOOMERY_NEW or BLOOMERY_SEEN, or why a chain could not grow. */
static int add_bits(bloomery_filter *filter, bloomery_hash hash, uint32_t *new_bits,
                    bloomery_error *error)
{
    struct bloomery_layer *layer = bloomery_newest_layer(filter);
    if (filter->kind->grows)
        return bloomery_chain_add(filter, hash, new_bits, error);
    *new_bits = filter->operations->add(layer, layer->payload, hash);
    return *new_bits > 0 ? BLOOMERY_NEW : BLOOMERY_SEEN;
}

/* What a call that adds one key leaves behind. */
static int added(bloomery_filter *filter, int found, uint32_t set, uint32_t *new_bits)
{
    assert(set <= BLOOMERY_POSITIONS_MAX);
    if (found >= 0)
        bloomery_count_adds(filter, bloomery_counts_new(filter) ? found == BLOOMERY_NEW : 1);
    if (new_bits != NULL)
        *new_bits = set;
    return found;
}

static int add_hash(bloomery_filter *filter, bloomery_hash hash, uint32_t *new_bits)
{
    uint32_t set = 0;
    int found = add_bits(filter, hash, &set, NULL);
    return added(filter, found, set, new_bits);
}

/* A key whose hash gives positions. */
static int add_positions(bloomery_filter *filter, bloomery_key key, uint32_t *new_bits,
                         bloomery_error *error)
{
    const struct bloomery_subject subject = {.key = key};
    uint32_t set = 0;
    if (filter->kind->grows)
        return added(filter, bloomery_chain_add_positions(filter, key, &set, error), set, new_bits);
    set = bloomery_layer_add(filter, filter->layers, &subject, true);
    return added(filter, set > 0 ? BLOOMERY_NEW : BLOOMERY_SEEN, set, new_bits);
}

int bloomery_add_hash(bloomery_filter *filter, bloomery_hash hash, uint32_t *new_bits)
{
    bloomery_status status = bloomery_can_add(filter, NULL);
    if (status == BLOOMERY_OK && bloomery_by_positions(filter))
        status = BLOOMERY_UNSUPPORTED;
    return status == BLOOMERY_OK ? add_hash(filter, hash, new_bits) : (int)status;
}

int bloomery_add(bloomery_filter *filter, bloomery_key key, uint32_t *new_bits)
{
    return filter->add_key(filter, key, new_bits);
}

int bloomery_add_key_any(bloomery_filter *filter, bloomery_key key, uint32_t *new_bits)
{
    bloomery_status status = bloomery_can_add(filter, NULL);
    if (status != BLOOMERY_OK)
        return status;
    if (bloomery_by_positions(filter))
        return add_positions(filter, key, new_bits, NULL);
    return add_hash(filter, filter->hash->one(bloomery_secret_of(filter), key), new_bits);
}

/* ---- Batches -------------------------------------------------------------------------------- */

struct adding {
    bloomery_filter *filter;
    uint64_t *answers;
    uint64_t *new_bits;
    size_t added;
    size_t found_new; /* of them */
    bloomery_status status;
    bloomery_error *error;
};

/* How many of a word's keys were added; fewer than `count` only if a chain could not grow. */
typedef size_t add_some(struct adding *adding, const bloomery_hash *hashes, size_t count,
                        uint64_t *answers);

static size_t add_to_layer(struct adding *adding, const bloomery_hash *hashes, size_t count,
                           uint64_t *answers)
{
    bloomery_filter *filter = adding->filter;
    struct bloomery_layer *layer = bloomery_newest_layer(filter);
    *answers = filter->operations->add_word(layer, layer->payload, hashes, count, adding->new_bits);
    return count;
}

/* Each key by itself; the window around it still hides the memory's latency. */
static size_t add_singly(struct adding *adding, const bloomery_hash *hashes, size_t count,
                         uint64_t *answers)
{
    *answers = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t set = 0;
        int found = add_bits(adding->filter, hashes[i], &set, adding->error);
        if (found < 0) {
            adding->status = (bloomery_status)found;
            return i;
        }
        *answers |= (uint64_t)(found == BLOOMERY_NEW) << i;
        if (adding->new_bits != NULL)
            *adding->new_bits += set;
    }
    return count;
}

static size_t add_to_chain(struct adding *adding, const bloomery_hash *hashes, size_t count,
                           uint64_t *answers)
{
    if (bloomery_chain_add_word(adding->filter, hashes, count, answers, adding->new_bits))
        return count;
    return add_singly(adding, hashes, count, answers);
}

static inline __attribute__((always_inline)) void add_word(struct adding *adding, size_t word,
                                                           const bloomery_hash *hashes,
                                                           size_t count, add_some *some)
{
    uint64_t answers = 0;
    if (adding->status == BLOOMERY_OK)
        adding->added += some(adding, hashes, count, &answers);
    adding->found_new += (size_t)__builtin_popcountll(answers);
    if (adding->answers != NULL)
        adding->answers[word] = answers;
}

static void add_word_plain(void *context, size_t word, const bloomery_hash *hashes, size_t count)
{
    add_word(context, word, hashes, count, add_to_layer);
}

static void add_word_chain(void *context, size_t word, const bloomery_hash *hashes, size_t count)
{
    add_word(context, word, hashes, count, add_to_chain);
}

static bloomery_status add_many(bloomery_filter *filter, const struct bloomery_input *keys,
                                size_t count, uint64_t *answers, uint64_t *new_bits, size_t *done,
                                bloomery_error *error)
{
    struct adding adding = {filter, answers, new_bits, 0, 0, BLOOMERY_OK, error};
    if (new_bits != NULL)
        *new_bits = 0;
    if (filter->kind->grows)
        bloomery_walk(filter, keys, count, true, add_word_chain, &adding);
    else
        bloomery_walk(filter, keys, count, true, add_word_plain, &adding);
    assert(adding.added <= count && (adding.added == count) == (adding.status == BLOOMERY_OK));
    bloomery_count_adds(filter, bloomery_counts_new(filter) ? adding.found_new : adding.added);
    *done = adding.added;
    return adding.status;
}

/* Keys whose hash gives positions, one by one: a digest takes longer than the way to memory. */
static bloomery_status add_many_positions(bloomery_filter *filter, const struct bloomery_input *keys,
                                          size_t count, uint64_t *answers, uint64_t *new_bits,
                                          size_t *done, bloomery_error *error)
{
    if (bloomery_input_is_hashes(keys))
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "positions in this filter are no function of a hash");
    if (answers != NULL && count > 0)
        memset(answers, 0, (size_t)bloomery_words_of(count) * sizeof *answers);
    if (new_bits != NULL)
        *new_bits = 0;
    for (size_t i = 0; i < count; i++, ++*done) {
        uint32_t set = 0;
        int found = add_positions(filter, bloomery_input_at(keys, i), &set, error);
        if (found < 0)
            return (bloomery_status)found;
        if (answers != NULL)
            answers[i / 64] |= (uint64_t)(found == BLOOMERY_NEW) << i % 64;
        if (new_bits != NULL)
            *new_bits += set;
    }
    return BLOOMERY_OK;
}

/* `done`: how many of the keys were added. */
static bloomery_status add_until(bloomery_filter *filter, const struct bloomery_input *keys,
                                 size_t count, uint64_t *answers, uint64_t *new_bits, size_t *done,
                                 bloomery_error *error)
{
    const bloomery_status status = bloomery_can_add(filter, error);
    const struct bloomery_native *native = bloomery_native_of(filter);
    *done = 0;
    if (status != BLOOMERY_OK)
        return status;
    if (bloomery_by_positions(filter))
        return add_many_positions(filter, keys, count, answers, new_bits, done, error);
    if (native == NULL)
        return add_many(filter, keys, count, answers, new_bits, done, error);
    native->add[filter->concurrent](filter, keys, count, answers, new_bits);
    bloomery_count_adds(filter, count);
    *done = count;
    return BLOOMERY_OK;
}

bloomery_status bloomery_add_input(bloomery_filter *filter, const struct bloomery_input *keys,
                                  size_t count, uint64_t *answers, uint64_t *new_bits,
                                  bloomery_error *error)
{
    size_t done;
    return add_until(filter, keys, count, answers, new_bits, &done, error);
}

bloomery_status bloomery_add_some(bloomery_filter *filter, const bloomery_key *keys, size_t count,
                                  uint64_t *answers, uint64_t *new_bits, size_t *done,
                                  bloomery_error *error)
{
    const struct bloomery_input list = bloomery_input_of_list(keys);
    const bloomery_status status = add_until(filter, &list, count, answers, new_bits, done, error);
    assert(*done <= count && (status != BLOOMERY_OK || *done == count));
    if (status == BLOOMERY_OK || *done > 0)
        return status;
    if (answers != NULL && count > 0)
        memset(answers, 0, (size_t)bloomery_words_of(count) * sizeof *answers);
    if (new_bits != NULL)
        *new_bits = 0;
    return status;
}

bloomery_status bloomery_add_batch(bloomery_filter *filter, const bloomery_key *keys, size_t count,
                                   uint64_t *answers, uint64_t *new_bits)
{
    const struct bloomery_input list = bloomery_input_of_list(keys);
    return bloomery_add_input(filter, &list, count, answers, new_bits, NULL);
}

bloomery_status bloomery_add_hashes_until(bloomery_filter *filter, const bloomery_hash *hashes,
                                          size_t count, uint64_t *answers, uint64_t *new_bits,
                                          size_t *done)
{
    const struct bloomery_input list = bloomery_input_of_hashes(hashes);
    return add_until(filter, &list, count, answers, new_bits, done, NULL);
}

bloomery_status bloomery_add_hashes(bloomery_filter *filter, const bloomery_hash *hashes,
                                    size_t count, uint64_t *answers, uint64_t *new_bits)
{
    const struct bloomery_input list = bloomery_input_of_hashes(hashes);
    return bloomery_add_input(filter, &list, count, answers, new_bits, NULL);
}
