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
#include "dialects/dialects.h"
#include "query.h"
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
            "the filter is read-only: bloomery_open and _load make one that keys can be added to");
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

/* ---- Keys that could not be added ------------------------------------------------------------ */

/* Keeps in mind what no caller heard of. Returns false: the key is not new. */
static bool refused(bloomery_filter *filter, bloomery_status status, const bloomery_error *error)
{
    assert(status < 0 && -status <= UINT8_MAX);
    if (error != NULL)
        return false;
    if (filter->has_rest)
        __atomic_fetch_add(&bloomery_rest_of(filter)->failed_adds, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&filter->add_failure, (uint8_t)-status, __ATOMIC_RELEASE);
    return false;
}

/* ---- Single keys ----------------------------------------------------------------------------- */

/* Adds a key, which is new if it set bits; or says why a chain could not grow. */
static bloomery_status add_bits(bloomery_filter *filter, bloomery_hash hash, uint32_t *set,
                                bloomery_error *error)
{
    struct bloomery_layer *layer = bloomery_newest_layer(filter);
    if (filter->kind->grows)
        return bloomery_chain_add(filter, hash, set, error);
    *set = filter->operations->add(layer, layer->payload, hash);
    return BLOOMERY_OK;
}

/* A key whose hash gives positions; it is counted. */
static bloomery_status add_positions(bloomery_filter *filter, bloomery_key key, uint32_t *set,
                                     bloomery_error *error)
{
    const struct bloomery_subject subject = {.key = key};
    bloomery_status status = BLOOMERY_OK;
    if (filter->kind->grows)
        status = bloomery_chain_add_positions(filter, key, set, error);
    else
        *set = bloomery_layer_add(filter, filter->layers, &subject, true);
    assert(status != BLOOMERY_OK || *set <= BLOOMERY_POSITIONS_MAX);
    if (status == BLOOMERY_OK)
        bloomery_count_adds(filter, bloomery_counts_new(filter) ? *set > 0 : 1);
    return status;
}

/* A key by its hash; it is counted. */
static bloomery_status add_hash(bloomery_filter *filter, bloomery_hash hash, uint32_t *set,
                                bloomery_error *error)
{
    const bloomery_status status = add_bits(filter, hash, set, error);
    if (status == BLOOMERY_OK)
        bloomery_count_adds(filter, bloomery_counts_new(filter) ? *set > 0 : 1);
    return status;
}

/* What a call that adds one key returns. */
static bool answer(bloomery_filter *filter, bloomery_status status, uint32_t set,
                   bloomery_error *error)
{
    if (status != BLOOMERY_OK)
        return refused(filter, status, error);
    if (error != NULL)
        error->status = BLOOMERY_OK;
    return set > 0;
}

bool bloomery_add_hash(bloomery_filter *filter, bloomery_hash hash, bloomery_error *error)
{
    uint32_t set = 0;
    bloomery_status status = bloomery_can_add(filter, error);
    if (status == BLOOMERY_OK && bloomery_by_positions(filter))
        status = bloomery_can_take_hashes(filter, error);
    else if (status == BLOOMERY_OK)
        status = add_hash(filter, hash, &set, error);
    return answer(filter, status, set, error);
}

bool bloomery_add(bloomery_filter *filter, bloomery_key key, bloomery_error *error)
{
    return filter->add_key(filter, key, error);
}

bool bloomery_add_key_any(bloomery_filter *filter, bloomery_key key, bloomery_error *error)
{
    uint32_t set = 0;
    bloomery_status status = bloomery_can_add(filter, error);
    if (status == BLOOMERY_OK && bloomery_by_positions(filter))
        status = add_positions(filter, key, &set, error);
    else if (status == BLOOMERY_OK)
        status = add_hash(filter, filter->hash->one(bloomery_secret_of(filter), key), &set, error);
    return answer(filter, status, set, error);
}

/* ---- Many keys ------------------------------------------------------------------------------- */

struct adding {
    bloomery_filter *filter;
    uint64_t *answers;
    uint64_t *cells; /* NULL: not counted */
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
    *answers = filter->operations->add_word(layer, layer->payload, hashes, count, adding->cells);
    return count;
}

/* Each key by itself; the window around it still hides the memory's latency. */
static size_t add_singly(struct adding *adding, const bloomery_hash *hashes, size_t count,
                         uint64_t *answers)
{
    *answers = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t set = 0;
        adding->status = add_bits(adding->filter, hashes[i], &set, adding->error);
        if (adding->status != BLOOMERY_OK)
            return i;
        *answers |= (uint64_t)(set > 0) << i;
        if (adding->cells != NULL)
            *adding->cells += set;
    }
    return count;
}

static size_t add_to_chain(struct adding *adding, const bloomery_hash *hashes, size_t count,
                           uint64_t *answers)
{
    if (bloomery_chain_add_word(adding->filter, hashes, count, answers, adding->cells))
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
                                size_t count, uint64_t *answers, bloomery_counts *counts,
                                bloomery_error *error)
{
    uint64_t cells = 0;
    struct adding adding = {filter,      answers, counts != NULL ? &cells : NULL, 0, 0,
                            BLOOMERY_OK, error};
    if (filter->kind->grows)
        bloomery_walk(filter, keys, count, true, add_word_chain, &adding);
    else
        bloomery_walk(filter, keys, count, true, add_word_plain, &adding);
    assert(adding.added <= count && (adding.added == count) == (adding.status == BLOOMERY_OK));
    bloomery_count_adds(filter, bloomery_counts_new(filter) ? adding.found_new : adding.added);
    if (counts != NULL)
        *counts = (bloomery_counts){adding.added, adding.found_new, cells};
    return adding.status;
}

/* Keys whose hash gives positions, one by one: a digest takes longer than the way to memory. */
static bloomery_status add_many_positions(bloomery_filter *filter,
                                          const struct bloomery_input *keys, size_t count,
                                          uint64_t *answers, bloomery_counts *counts,
                                          bloomery_error *error)
{
    bloomery_counts done = {0, 0, 0};
    bloomery_status status = BLOOMERY_OK;
    assert(!bloomery_input_is_hashes(keys));
    if (answers != NULL && count > 0)
        memset(answers, 0, (size_t)bloomery_words_of(count) * sizeof *answers);
    for (; done.done < count; done.done++) {
        uint32_t set = 0;
        status = add_positions(filter, bloomery_input_at(keys, done.done), &set, error);
        if (status != BLOOMERY_OK)
            break;
        if (answers != NULL)
            answers[done.done / 64] |= (uint64_t)(set > 0) << done.done % 64;
        done.positive += set > 0;
        done.cells += set;
    }
    if (counts != NULL)
        *counts = done;
    return status;
}

bloomery_status bloomery_add_input(bloomery_filter *filter, const struct bloomery_input *keys,
                                   size_t count, uint64_t *answers, bloomery_counts *counts,
                                   bloomery_error *error)
{
    const struct bloomery_native *native = bloomery_native_of(filter);
    assert(bloomery_can_add(filter, NULL) == BLOOMERY_OK && keys->valid == NULL);
    if (bloomery_by_positions(filter))
        return add_many_positions(filter, keys, count, answers, counts, error);
    if (native == NULL)
        return add_many(filter, keys, count, answers, counts, error);
    native->add[filter->concurrent](filter, keys, count, answers, counts);
    bloomery_count_adds(filter, count);
    return BLOOMERY_OK;
}
