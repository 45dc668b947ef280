/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adding keys: key bytes become hashes here, once, and only hashes go on to core.
 *
 * Of threads that add one key at once each may find a different bit of it not set yet, and all are
 * told NEW. A filter that must tell exactly one has stripes: locks, one of which is chosen by the
 * key's hash and held while the key is added, so that adds of one key come one after the other.
 * Only the first of them can find a bit that is not set. Adds of other keys go on beside it, and their
 * bits are still set with atomic operations: keys of different stripes share lines.
 */
#include "add.h"

#include "base/error.h"
#include "bulk.h"
#include "core/derive.h"
#include "window.h"

#include <assert.h>

bloomery_status bloomery_can_add(const bloomery_filter *filter, bloomery_error *error)
{
    if (filter->storage != BLOOMERY_OWNED)
        return bloomery_fail(
            error, BLOOMERY_READ_ONLY, 0,
            "the filter is read-only: open it with BLOOMERY_OPEN_COPY to add keys");
    if (!filter->key_known)
        return bloomery_fail(error, BLOOMERY_KEY_NEEDED, 0,
                             "keys can't be added: the filter is keyed and its key was not given");
    return BLOOMERY_OK;
}

void bloomery_count_adds(bloomery_filter *filter, uint64_t adds)
{
    struct bloomery_link *link = bloomery_newest_link(filter);
    if (filter->concurrent)
        __atomic_fetch_add(&link->adds, adds, __ATOMIC_RELAXED);
    else
        link->adds += adds;
}

/* Not hi or lo alone: the number of the lock must tell nothing about lines or positions. */
static struct bloomery_lock *stripe_of(const bloomery_filter *filter, bloomery_hash hash)
{
    uint64_t mixed = bloomery_mix64(hash.hi ^ (hash.lo << 32 | hash.lo >> 32));
    return &filter->stripes[bloomery_fastrange(mixed, BLOOMERY_STRIPES)];
}

/* How many bits were newly set. */
static uint32_t set_bits(bloomery_filter *filter, bloomery_hash hash)
{
    struct bloomery_link *link = bloomery_newest_link(filter);
    uint8_t *payload = bloomery_link_payload(filter, link);
    if (filter->stripes == NULL)
        return filter->operations.add(link, payload, hash);
    struct bloomery_lock *stripe = stripe_of(filter, hash);
    bloomery_lock_take(stripe);
    uint32_t set = filter->operations.add(link, payload, hash);
    bloomery_lock_open(stripe);
    return set;
}

static int add_hash(bloomery_filter *filter, bloomery_hash hash, uint32_t *new_bits)
{
    uint32_t set = set_bits(filter, hash);
    assert(set <= 64);
    bloomery_count_adds(filter, 1);
    if (new_bits != NULL)
        *new_bits = set;
    return set > 0 ? BLOOMERY_NEW : BLOOMERY_SEEN;
}

int bloomery_add_hash(bloomery_filter *filter, bloomery_hash hash, uint32_t *new_bits)
{
    bloomery_status status = bloomery_can_add(filter, NULL);
    return status == BLOOMERY_OK ? add_hash(filter, hash, new_bits) : (int)status;
}

int bloomery_add(bloomery_filter *filter, bloomery_key key, uint32_t *new_bits)
{
    bloomery_status status = bloomery_can_add(filter, NULL);
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

/* Each key under its stripe; the window around it still hides the memory's latency. */
static void add_word_once(void *context, size_t word, const bloomery_hash *hashes, size_t count)
{
    struct adding *adding = context;
    uint64_t answers = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t set = set_bits(adding->filter, hashes[i]);
        answers |= (uint64_t)(set > 0) << i;
        if (adding->new_bits != NULL)
            *adding->new_bits += set;
    }
    if (adding->answers != NULL)
        adding->answers[word] = answers;
}

bloomery_status bloomery_add_batch(bloomery_filter *filter, const bloomery_key *keys, size_t count,
                                   uint64_t *answers, uint64_t *new_bits)
{
    struct adding adding = {filter, answers, new_bits};
    bloomery_status status = bloomery_can_add(filter, NULL);
    if (status != BLOOMERY_OK)
        return status;
    if (new_bits != NULL)
        *new_bits = 0;
    const struct bloomery_bulk *bulk = new_bits == NULL ? bloomery_bulk_of(filter) : NULL;
    if (bulk != NULL && count > 0)
        bulk->add(filter, keys, count, answers);
    else if (filter->stripes != NULL)
        bloomery_walk(filter, keys, count, true, add_word_once, &adding);
    else
        bloomery_walk(filter, keys, count, true, add_word, &adding);
    bloomery_count_adds(filter, count);
    return BLOOMERY_OK;
}
