/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What counters are for: removing keys, counting them, and leaving the counters behind. Removals do
 * not change the filter's count of adds: that counts calls of add.
 */
#include "add.h"
#include "batch/window.h"
#include "chain/layers.h"
#include "options.h"
#include "ways.h"

#include "base/bytes.h"
#include "base/error.h"
#include "core/counting.h"

#include <assert.h>
#include <string.h>

/* ---- Removing -------------------------------------------------------------------------------- */

bloomery_status bloomery_can_remove(const bloomery_filter *filter, bloomery_error *error)
{
    if (!filter->kind->removes)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "keys can be removed from counting filters only");
    return bloomery_can_add(filter, error);
}

/* Removes a key by its hash; `zero` counts the counters that are 0 now. */
static inline bool remove_hash(bloomery_filter *filter, bloomery_hash hash, uint32_t *zero)
{
    struct bloomery_layer *layer = bloomery_newest_layer(filter);
    assert(filter->shape.layer_count == 1);
    const bool removed = filter->operations->remove(layer, layer->payload, hash, zero);
    assert(*zero <= 64 && (removed || *zero == 0));
    return removed;
}

bool bloomery_remove(bloomery_filter *filter, bloomery_key key, bloomery_error *error)
{
    uint32_t zero = 0;
    if (bloomery_can_remove(filter, error) != BLOOMERY_OK)
        return false;
    if (error != NULL)
        error->status = BLOOMERY_OK;
    if (bloomery_by_positions(filter))
        return bloomery_positions_remove(filter, key, &zero);
    return remove_hash(filter, filter->hash->one(bloomery_secret_of(filter), key), &zero);
}

/* ---- Removing many keys ---------------------------------------------------------------------- */

struct removing {
    bloomery_filter *filter;
    const struct bloomery_input *keys;
    uint64_t *answers;
    bloomery_counts counts;
};

/* Keys one after the other, since one may come twice; the window hides the memory's latency. */
static void remove_word(void *context, size_t word, const bloomery_hash *hashes, size_t count)
{
    struct removing *removing = context;
    uint64_t answers = 0;
    uint64_t left = bloomery_input_valid(removing->keys, word * BLOOMERY_WORD, count);
    for (; left != 0; left &= left - 1) {
        uint32_t zero = 0;
        if (remove_hash(removing->filter, hashes[__builtin_ctzll(left)], &zero))
            answers |= left & -left;
        removing->counts.cells += zero;
    }
    removing->counts.positive += (size_t)__builtin_popcountll(answers);
    if (removing->answers != NULL)
        removing->answers[word] = answers;
}

/* The same of a list of which some are not keys: the walk would read them. */
static void remove_present(struct removing *removing, size_t count)
{
    bloomery_hash hashes[BLOOMERY_WORD];
    bloomery_take *take = bloomery_take_of(removing->keys, removing->filter);
    for (size_t i = 0; i < count; i += BLOOMERY_WORD) {
        const size_t now = count - i < BLOOMERY_WORD ? count - i : BLOOMERY_WORD;
        bloomery_take_valid(take, removing->keys, removing->filter, i, now,
                            bloomery_input_valid(removing->keys, i, now), hashes);
        remove_word(removing, i / BLOOMERY_WORD, hashes, now);
    }
}

/* The same of keys whose hash gives positions. */
static void remove_positions(struct removing *removing, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t zero = 0;
        const bool removed = bloomery_input_valid(removing->keys, i, 1) != 0 &&
                             bloomery_positions_remove(removing->filter,
                                                       bloomery_input_at(removing->keys, i), &zero);
        assert(zero <= BLOOMERY_POSITIONS_MAX && (removed || zero == 0));
        removing->counts.positive += removed;
        removing->counts.cells += zero;
        if (removing->answers != NULL && i % BLOOMERY_WORD == 0)
            removing->answers[i / BLOOMERY_WORD] = 0;
        if (removing->answers != NULL && removed)
            removing->answers[i / BLOOMERY_WORD] |= (uint64_t)1 << i % BLOOMERY_WORD;
    }
}

void bloomery_remove_input(bloomery_filter *filter, const struct bloomery_input *keys, size_t count,
                           uint64_t *answers, bloomery_counts *counts)
{
    struct removing removing = {filter, keys, answers, {count, 0, 0}};
    assert(bloomery_can_remove(filter, NULL) == BLOOMERY_OK);
    if (bloomery_by_positions(filter))
        remove_positions(&removing, count);
    else if (keys->form == BLOOMERY_KEYS_LIST && keys->valid != NULL)
        remove_present(&removing, count);
    else
        bloomery_walk(filter, keys, count, true, remove_word, &removing);
    if (counts != NULL)
        *counts = removing.counts;
}

/* ---- Counting -------------------------------------------------------------------------------- */

uint32_t bloomery_key_count(const bloomery_filter *filter, bloomery_key key)
{
    const struct bloomery_layer *layer = filter->layers;
    if (filter->operations->count == NULL && filter->operations->count_positions == NULL)
        return bloomery_may_contain(filter, key) ? 1 : 0;
    if (!filter->secret_known) /* whatever was added, that is never too low */
        return bloomery_counter_max(filter->shape.cell_bits);
    if (filter->operations->count == NULL)
        return bloomery_positions_count(filter, key);
    return filter->operations->count(layer, layer->payload,
                                     filter->hash->one(bloomery_secret_of(filter), key));
}

/* ---- Without counters ------------------------------------------------------------------------ */

bloomery_status bloomery_drop_counters(const bloomery_filter *filter,
                                       const bloomery_open_options *given,
                                       bloomery_filter **dropped, bloomery_error *error)
{
    bloomery_open_options options;
    uint64_t bytes = 0;
    *dropped = NULL;
    bloomery_status status = bloomery_open_options_read(given, &options, error);
    if (status != BLOOMERY_OK)
        return status;
    if (filter->foreign)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "the counters of a filter of another system can't be dropped");
    if (!filter->kind->removes)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "a filter of kind %s has no counters to drop",
                             bloomery_kind_name((int)filter->shape.kind));
    if (bloomery_rest_in(filter)->checksums != NULL) { /* what was not read yet may be damaged */
        status = bloomery_verify(filter, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    struct bloomery_layer layer = filter->layers[0];
    struct bloomery_shape shape = filter->shape;
    shape.kind = BLOOMERY_BLOCKED;
    shape.kind_row = bloomery_kind_row(BLOOMERY_BLOCKED);
    shape.cell_bits = 1;
    shape.layers = &layer;
    struct bloomery_traits traits = bloomery_traits_of(filter);
    traits.allocator = options.allocator;
    status = bloomery_shape_lay_out(&shape, &bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_shape_check(&shape, bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_make(&shape, &traits, NULL, bytes, dropped, error);
    bloomery_wipe(&traits.secret, sizeof traits.secret);
    if (status == BLOOMERY_OK)
        bloomery_counting_drop(&filter->layers[0], filter->shape.cell_bits,
                               filter->layers[0].payload, bloomery_payload_of(*dropped));
    return status;
}
