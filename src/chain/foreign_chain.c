/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of other systems, as all of them do it: a key that one of the links may have is seen, and
 * nothing else happens; a new one goes to the newest link, or, where that has got as many new keys as
 * it was planned for, to another link after it. `adds` of a link counts its new keys.
 */
#include "chain/foreign_chain.h"

#include "base/error.h"
#include "base/memory.h"
#include "chain/grow.h"

#include <assert.h>

/* A key on its way: by its bytes where the hash hands out positions, else by its hash. */
struct subject {
    bloomery_key key;
    bloomery_hash hash;
};

static bool link_may_contain(const bloomery_filter *filter, const struct bloomery_link *link,
                             const struct subject *subject)
{
    uint64_t positions[BLOOMERY_POSITIONS_MAX];
    if (!bloomery_by_positions(filter))
        return filter->operations.may_contain(link, link->payload, subject->hash);
    filter->hash->positions(&filter->secret, subject->key, link->bits, link->probes, positions);
    return filter->operations.may_contain_positions(link, link->payload, positions);
}

static uint32_t link_add(const bloomery_filter *filter, const struct bloomery_link *link,
                         const struct subject *subject)
{
    uint64_t positions[BLOOMERY_POSITIONS_MAX];
    if (!bloomery_by_positions(filter))
        return filter->operations.add(link, link->payload, subject->hash);
    filter->hash->positions(&filter->secret, subject->key, link->bits, link->probes, positions);
    return filter->operations.add_positions(link, link->payload, positions);
}

static bool may_contain(const bloomery_filter *filter, const struct subject *subject)
{
    for (uint32_t i = bloomery_link_count(filter); i-- > 0;)
        if (link_may_contain(filter, &filter->links[i], subject))
            return true;
    return false;
}

/* ---- Chains ---------------------------------------------------------------------------------- */

static bloomery_status full(const bloomery_filter *filter, const char *why, bloomery_error *error)
{
    uint64_t keys = 0;
    for (uint32_t i = 0; i < filter->shape.link_count; i++)
        keys += filter->links[i].adds;
    return bloomery_fail(error, BLOOMERY_FULL, 0, "full with %llu keys in %u link%s: %s",
                         (unsigned long long)keys, filter->shape.link_count,
                         filter->shape.link_count == 1 ? "" : "s", why);
}

static bloomery_status grow(bloomery_filter *filter, bloomery_error *error)
{
    const uint32_t count = filter->shape.link_count;
    const uint64_t now = bloomery_payload_bytes(filter);
    struct bloomery_link link = {.offset = 0};
    uint64_t total;
    if (filter->shape.growth == 0)
        return full(filter, "a filter of its kind does not grow", error);
    if (count == BLOOMERY_CHAIN_MAX)
        return full(filter, "a chain has no more", error);
    bloomery_status status =
        filter->kind->next_link(&filter->shape, &filter->links[count - 1], &link, error);
    if (status != BLOOMERY_OK)
        return status;
    struct bloomery_shape alone = filter->shape;
    alone.links = &link;
    alone.link_count = 1;
    status = bloomery_shape_lay_out(&alone, &link.bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_shape_check(&alone, link.bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    if (__builtin_add_overflow(now, link.bytes, &total) || total > SIZE_MAX ||
        (filter->memory_limit > 0 && total > filter->memory_limit))
        return full(filter, "another one would pass the limit of memory", error);
    link.offset = now;
    link.own_memory = true;
    link.payload = bloomery_allocate(&filter->allocator, (size_t)link.bytes, BLOOMERY_PAYLOAD_UNIT);
    if (link.payload == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "not enough memory for another link of %llu bytes",
                             (unsigned long long)link.bytes);
    filter->links[count] = link;
    filter->shape.link_count = count + 1;
    assert(bloomery_payload_bytes(filter) == total);
    return BLOOMERY_OK;
}

static int chain_add(bloomery_filter *filter, const struct subject *subject, uint32_t *new_bits,
                     bloomery_error *error)
{
    assert(!filter->concurrent && filter->kind->grows);
    *new_bits = 0;
    if (may_contain(filter, subject))
        return BLOOMERY_SEEN;
    struct bloomery_link *link = bloomery_newest_link(filter);
    if (link->adds >= link->keys) {
        bloomery_status status = grow(filter, error);
        if (status != BLOOMERY_OK)
            return status;
        link = bloomery_newest_link(filter);
    }
    *new_bits = link_add(filter, link, subject);
    assert(*new_bits > 0);
    link->adds++;
    return BLOOMERY_NEW;
}

int bloomery_foreign_chain_add(bloomery_filter *filter, bloomery_hash hash, uint32_t *new_bits,
                               bloomery_error *error)
{
    const struct subject subject = {.hash = hash};
    return chain_add(filter, &subject, new_bits, error);
}

/* ---- Positions ------------------------------------------------------------------------------- */

int bloomery_positions_add(bloomery_filter *filter, bloomery_key key, uint32_t *new_bits,
                           bloomery_error *error)
{
    const struct subject subject = {.key = key};
    if (filter->kind->grows)
        return chain_add(filter, &subject, new_bits, error);
    *new_bits = link_add(filter, filter->links, &subject);
    return *new_bits > 0 ? BLOOMERY_NEW : BLOOMERY_SEEN;
}

bool bloomery_positions_may_contain(const bloomery_filter *filter, bloomery_key key)
{
    const struct subject subject = {.key = key};
    return may_contain(filter, &subject);
}

bool bloomery_positions_remove(bloomery_filter *filter, bloomery_key key, uint32_t *cleared)
{
    uint64_t positions[BLOOMERY_POSITIONS_MAX];
    const struct bloomery_link *link = filter->links;
    assert(filter->shape.link_count == 1);
    filter->hash->positions(&filter->secret, key, link->bits, link->probes, positions);
    return filter->operations.remove_positions(link, link->payload, positions, cleared);
}

uint32_t bloomery_positions_count(const bloomery_filter *filter, bloomery_key key)
{
    uint64_t positions[BLOOMERY_POSITIONS_MAX];
    const struct bloomery_link *link = filter->links;
    filter->hash->positions(&filter->secret, key, link->bits, link->probes, positions);
    return filter->operations.count_positions(link, link->payload, positions);
}
