/* SPDX-License-Identifier: Apache-2.0 */
/* Asking: keys -> hash/ -> hashes -> core/<kind> -> words of answers. */
#include "query.h"

#include "batch/window.h"
#include "chain/foreign_chain.h"
#include "ways.h"

#include "hash/xxh3.h"

#include <assert.h>
#include <string.h>

bloomery_status bloomery_hash_key(const bloomery_filter *filter, bloomery_key key,
                                  bloomery_hash *hash)
{
    if (!filter->key_known)
        return BLOOMERY_KEY_NEEDED;
    if (bloomery_by_positions(filter))
        return BLOOMERY_UNSUPPORTED;
    *hash = filter->shape.hash == BLOOMERY_HASH_XXH3_64
                ? bloomery_xxh3_64(&filter->secret, &filter->short_secret, key)
                : filter->hash->one(&filter->secret, key);
    return BLOOMERY_OK;
}

bloomery_status bloomery_hash_batch(const bloomery_filter *filter, const bloomery_key *keys,
                                    size_t count, bloomery_hash *hashes)
{
    if (!filter->key_known)
        return BLOOMERY_KEY_NEEDED;
    if (bloomery_by_positions(filter))
        return BLOOMERY_UNSUPPORTED;
    if (count > 0)
        bloomery_hash_many(filter->hash, &filter->secret, keys, count, hashes);
    return BLOOMERY_OK;
}

bool bloomery_may_contain_hash(const bloomery_filter *filter, bloomery_hash hash)
{
    const uint32_t links = bloomery_link_count(filter);
    if (filter->operations.may_contain == NULL) /* no hash gives its positions */
        return true;
    if (__builtin_expect(links == 1, 1))
        return filter->operations.may_contain(&filter->links[0], filter->links[0].payload, hash);
    /* The newest link first: it is the largest, and holds what was added last. */
    for (uint32_t i = links; i-- > 0;) {
        const struct bloomery_link *link = &filter->links[i];
        if (filter->operations.may_contain(link, link->payload, hash))
            return true;
    }
    return false;
}

void bloomery_prefetch_hash(const bloomery_filter *filter, bloomery_hash hash)
{
    if (filter->operations.prefetch_add == NULL)
        return;
    for (uint32_t i = bloomery_link_count(filter); i-- > 0;) {
        const struct bloomery_link *link = &filter->links[i];
        filter->operations.prefetch_add(link, link->payload, &hash, 1);
    }
}

bool bloomery_ask_key_any(const bloomery_filter *filter, bloomery_key key)
{
    if (!filter->key_known) /* whatever was added, "maybe" is never wrong */
        return true;
    if (bloomery_by_positions(filter))
        return bloomery_positions_may_contain(filter, key);
    return bloomery_may_contain_hash(filter, filter->hash->one(&filter->secret, key));
}

bool bloomery_may_contain(const bloomery_filter *filter, bloomery_key key)
{
    return filter->ask_key(filter, key);
}

struct asking {
    const bloomery_filter *filter;
    uint64_t *answers;
    size_t found;
};

/* A key may be in a chain if it may be in one of its links. */
static void ask_word(void *context, size_t word, const bloomery_hash *hashes, size_t count)
{
    struct asking *asking = context;
    const bloomery_filter *filter = asking->filter;
    const uint64_t all = count < 64 ? ((uint64_t)1 << count) - 1 : UINT64_MAX;
    uint64_t answers = 0;
    for (uint32_t i = bloomery_link_count(filter); i-- > 0 && answers != all;) {
        const struct bloomery_link *link = &filter->links[i];
        answers |= filter->operations.ask_word(link, link->payload, hashes, count);
    }
    assert(count == BLOOMERY_WORD || answers >> count == 0);
    asking->found += (size_t)__builtin_popcountll(answers);
    if (asking->answers != NULL)
        asking->answers[word] = answers;
}

/* Every answer "maybe". */
static size_t all_maybe(size_t count, uint64_t *answers)
{
    if (answers != NULL && count > 0) {
        memset(answers, 0xff, (count + 63) / 64 * 8);
        if (count % 64 != 0)
            answers[count / 64] = ((uint64_t)1 << count % 64) - 1;
    }
    return count;
}

static size_t ask_positions(const bloomery_filter *filter, const struct bloomery_keys *keys,
                            size_t count, uint64_t *answers)
{
    size_t found = 0;
    if (answers != NULL && count > 0)
        memset(answers, 0, (count + 63) / 64 * sizeof *answers);
    for (size_t i = 0; i < count; i++) {
        const bool there = bloomery_positions_may_contain(filter, bloomery_keys_at(keys, i));
        found += there;
        if (answers != NULL)
            answers[i / 64] |= (uint64_t)there << i % 64;
    }
    return found;
}

size_t bloomery_ask_keys(const bloomery_filter *filter, const struct bloomery_keys *keys,
                         size_t count, uint64_t *answers)
{
    struct asking asking = {filter, answers, 0};
    if (!filter->key_known)
        return all_maybe(count, answers);
    if (bloomery_by_positions(filter))
        return bloomery_keys_are_hashes(keys) ? all_maybe(count, answers)
                                              : ask_positions(filter, keys, count, answers);
    if (filter->native != NULL)
        return filter->native->ask(filter, keys, count, answers);
    bloomery_walk(filter, keys, count, false, ask_word, &asking);
    return asking.found;
}

size_t bloomery_may_contain_batch(const bloomery_filter *filter, const bloomery_key *keys,
                                  size_t count, uint64_t *answers)
{
    const struct bloomery_keys list = bloomery_keys_of(keys);
    return bloomery_ask_keys(filter, &list, count, answers);
}

size_t bloomery_may_contain_hashes(const bloomery_filter *filter, const bloomery_hash *hashes,
                                   size_t count, uint64_t *answers)
{
    const struct bloomery_keys list = bloomery_keys_of_hashes(hashes);
    return bloomery_ask_keys(filter, &list, count, answers);
}
