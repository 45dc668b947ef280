/* SPDX-License-Identifier: Apache-2.0 */
/* Adding keys: key bytes become hashes here, once, and only hashes go on to core. */
#include "window.h"

#include <assert.h>

static bloomery_status can_add(const bloomery_filter *filter)
{
    if (filter->storage != BLOOMERY_OWNED)
        return BLOOMERY_READ_ONLY;
    return filter->key_known ? BLOOMERY_OK : BLOOMERY_KEY_NEEDED;
}

static void count_adds(const bloomery_filter *filter, struct bloomery_link *link, uint64_t adds)
{
    if (filter->concurrent)
        __atomic_fetch_add(&link->adds, adds, __ATOMIC_RELAXED);
    else
        link->adds += adds;
}

static int add_hash(bloomery_filter *filter, bloomery_hash hash, uint32_t *new_bits)
{
    struct bloomery_link *link = bloomery_newest_link(filter);
    uint32_t set = filter->operations.add(link, bloomery_link_payload(filter, link), hash);
    assert(set <= 64);
    count_adds(filter, link, 1);
    if (new_bits != NULL)
        *new_bits = set;
    return set > 0 ? BLOOMERY_NEW : BLOOMERY_SEEN;
}

int bloomery_add_hash(bloomery_filter *filter, bloomery_hash hash, uint32_t *new_bits)
{
    bloomery_status status = can_add(filter);
    return status == BLOOMERY_OK ? add_hash(filter, hash, new_bits) : (int)status;
}

int bloomery_add(bloomery_filter *filter, bloomery_key key, uint32_t *new_bits)
{
    bloomery_status status = can_add(filter);
    if (status != BLOOMERY_OK)
        return status;
    return add_hash(filter, filter->hash->one(&filter->secret, key), new_bits);
}

struct adding {
    bloomery_filter *filter;
    uint64_t *answers;
    uint64_t *new_bits;
};

static void add_word(void *context, size_t word, const bloomery_hash *hashes, size_t count)
{
    struct adding *adding = context;
    bloomery_filter *filter = adding->filter;
    struct bloomery_link *link = bloomery_newest_link(filter);
    uint64_t answers = filter->operations.add_word(link, bloomery_link_payload(filter, link),
                                                   hashes, count, adding->new_bits);
    if (adding->answers != NULL)
        adding->answers[word] = answers;
}

bloomery_status bloomery_add_batch(bloomery_filter *filter, const bloomery_key *keys, size_t count,
                                   uint64_t *answers, uint64_t *new_bits)
{
    struct adding adding = {filter, answers, new_bits};
    bloomery_status status = can_add(filter);
    if (status != BLOOMERY_OK)
        return status;
    if (new_bits != NULL)
        *new_bits = 0;
    bloomery_walk(filter, keys, count, true, add_word, &adding);
    count_adds(filter, bloomery_newest_link(filter), count);
    return BLOOMERY_OK;
}
