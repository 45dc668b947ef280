/* SPDX-License-Identifier: Apache-2.0 */
/* Queries: keys -> hash/ -> hashes -> core/<kind> -> words of answers. */
#include "query.h"

#include "base/bits.h"
#include "base/error.h"
#include "batch/window.h"
#include "chain/layers.h"
#include "ways.h"

#include "hash/xxh3.h"

#include <assert.h>
#include <string.h>

bloomery_status bloomery_can_take_hashes(const bloomery_filter *filter, bloomery_error *error)
{
    if (!bloomery_by_positions(filter))
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                         "the positions of keys in this filter are not a function of a hash");
}

bloomery_status bloomery_can_hash(const bloomery_filter *filter, bloomery_error *error)
{
    if (!filter->secret_known)
        return bloomery_fail(
            error, BLOOMERY_SECRET_NEEDED, 0,
            "keys can't be hashed: the filter is keyed and its secret was not given");
    return bloomery_can_take_hashes(filter, error);
}

bloomery_status bloomery_hash_key(const bloomery_filter *filter, bloomery_key key,
                                  bloomery_hash *hash, bloomery_error *error)
{
    if (!filter->secret_known || bloomery_by_positions(filter))
        return bloomery_can_hash(filter, error);
    *hash =
        filter->shape.hash == BLOOMERY_HASH_XXH3_64
            ? bloomery_xxh3_64(bloomery_secret_of(filter), &bloomery_secret_of(filter)->brief, key)
            : filter->hash->one(bloomery_secret_of(filter), key);
    return BLOOMERY_OK;
}

bool bloomery_may_contain_hash(const bloomery_filter *filter, bloomery_hash hash)
{
    const uint32_t layers = bloomery_layer_count(filter);
    if (filter->operations->may_contain == NULL) /* no hash gives its positions */
        return true;
    if (__builtin_expect(layers == 1, 1))
        return filter->operations->may_contain(&filter->layers[0], filter->layers[0].payload, hash);
    if (filter->kind->hands_on)
        return filter->operations->may_contain(filter->layers, filter->layers[0].payload, hash);
    const struct bloomery_subject subject = {.hash = hash};
    return bloomery_layers_may_contain(filter, layers, &subject, false);
}

void bloomery_prefetch_hash(const bloomery_filter *filter, bloomery_hash hash)
{
    if (filter->operations->prefetch_add == NULL)
        return;
    for (uint32_t i = bloomery_queried_layers(filter); i-- > 0;) {
        const struct bloomery_layer *layer = &filter->layers[i];
        filter->operations->prefetch_add(layer, layer->payload, &hash, 1);
    }
}

bool bloomery_query_key_any(const bloomery_filter *filter, bloomery_key key)
{
    if (!filter->secret_known) /* whatever was added, "possibly" is never wrong */
        return true;
    if (bloomery_by_positions(filter))
        return bloomery_positions_may_contain(filter, key);
    return bloomery_may_contain_hash(filter, filter->hash->one(bloomery_secret_of(filter), key));
}

bool bloomery_may_contain(const bloomery_filter *filter, bloomery_key key)
{
    return filter->query_key(filter, key);
}

struct querying {
    const bloomery_filter *filter;
    uint64_t *answers;
    size_t found;
};

/* A key may be in a chain if it may be in one of its layers. */
static void query_word(void *context, size_t word, const bloomery_hash *hashes, size_t count)
{
    struct querying *querying = context;
    const bloomery_filter *filter = querying->filter;
    const uint64_t all = count < 64 ? ((uint64_t)1 << count) - 1 : UINT64_MAX;
    uint64_t answers = 0;
    for (uint32_t i = bloomery_queried_layers(filter); i-- > 0 && answers != all;) {
        const struct bloomery_layer *layer = &filter->layers[i];
        answers |= filter->operations->query_word(layer, layer->payload, hashes, count);
    }
    assert(count == BLOOMERY_WORD || answers >> count == 0);
    querying->found += (size_t)__builtin_popcountll(answers);
    if (querying->answers != NULL)
        querying->answers[word] = answers;
}

/* Every answer "possibly". */
static size_t all_maybe(size_t count, uint64_t *answers)
{
    if (answers != NULL && count > 0) {
        memset(answers, 0xff, (size_t)bloomery_words_of(count) * 8);
        if (count % 64 != 0)
            answers[count / 64] = ((uint64_t)1 << count % 64) - 1;
    }
    return count;
}

static size_t query_positions(const bloomery_filter *filter, const struct bloomery_input *keys,
                              size_t count, uint64_t *answers)
{
    size_t found = 0;
    assert(!bloomery_input_is_hashes(keys));
    if (answers != NULL && count > 0)
        memset(answers, 0, (size_t)bloomery_words_of(count) * sizeof *answers);
    for (size_t i = 0; i < count; i++) {
        const bool there = bloomery_positions_may_contain(filter, bloomery_input_at(keys, i));
        found += there;
        if (answers != NULL)
            answers[i / 64] |= (uint64_t)there << i % 64;
    }
    return found;
}

size_t bloomery_query_input(const bloomery_filter *filter, const struct bloomery_input *keys,
                            size_t count, uint64_t *answers)
{
    struct querying querying = {filter, answers, 0};
    const struct bloomery_native *native = bloomery_native_of(filter);
    if (!filter->secret_known)
        return all_maybe(count, answers);
    if (bloomery_by_positions(filter))
        return query_positions(filter, keys, count, answers);
    if (native != NULL)
        return native->query(filter, keys, count, answers);
    bloomery_walk(filter, keys, count, false, query_word, &querying);
    return querying.found;
}
