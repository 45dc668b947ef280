/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of other systems, as all of them do it: a key that one of the layers may have is seen, and
 * nothing else happens; a new one goes to the newest layer, or, where that has got as many new keys as
 * it was planned for, to another layer after it. `adds` of a layer counts its new keys.
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

static bool layer_may_contain(const bloomery_filter *filter, const struct bloomery_layer *layer,
                              const struct subject *subject)
{
    uint64_t positions[BLOOMERY_POSITIONS_MAX];
    if (!bloomery_by_positions(filter))
        return filter->operations.may_contain(layer, layer->payload, subject->hash);
    filter->hash->positions(&filter->secret, subject->key, layer->bits, layer->probes, positions);
    return filter->operations.may_contain_positions(layer, layer->payload, positions);
}

static uint32_t layer_add(const bloomery_filter *filter, const struct bloomery_layer *layer,
                          const struct subject *subject)
{
    uint64_t positions[BLOOMERY_POSITIONS_MAX];
    if (!bloomery_by_positions(filter))
        return filter->operations.add(layer, layer->payload, subject->hash);
    filter->hash->positions(&filter->secret, subject->key, layer->bits, layer->probes, positions);
    return filter->operations.add_positions(layer, layer->payload, positions);
}

static bool may_contain(const bloomery_filter *filter, const struct subject *subject)
{
    for (uint32_t i = bloomery_layer_count(filter); i-- > 0;)
        if (layer_may_contain(filter, &filter->layers[i], subject))
            return true;
    return false;
}

/* ---- Chains ---------------------------------------------------------------------------------- */

static bloomery_status full(const bloomery_filter *filter, const char *why, bloomery_error *error)
{
    uint64_t keys = 0;
    for (uint32_t i = 0; i < filter->shape.layer_count; i++)
        keys += filter->layers[i].adds;
    return bloomery_fail(error, BLOOMERY_FULL, 0, "full with %llu keys in %u link%s: %s",
                         (unsigned long long)keys, filter->shape.layer_count,
                         filter->shape.layer_count == 1 ? "" : "s", why);
}

static bloomery_status grow(bloomery_filter *filter, bloomery_error *error)
{
    const uint32_t count = filter->shape.layer_count;
    const uint64_t now = bloomery_payload_bytes(filter);
    struct bloomery_layer layer = {.offset = 0};
    uint64_t total;
    if (filter->shape.growth == 0)
        return full(filter, "a filter of its kind does not grow", error);
    if (count == BLOOMERY_CHAIN_MAX)
        return full(filter, "a chain has no more", error);
    bloomery_status status =
        filter->kind->next_layer(&filter->shape, &filter->layers[count - 1], &layer, error);
    if (status != BLOOMERY_OK)
        return status;
    struct bloomery_shape alone = filter->shape;
    alone.layers = &layer;
    alone.layer_count = 1;
    status = bloomery_shape_lay_out(&alone, &layer.bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_shape_check(&alone, layer.bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    if (__builtin_add_overflow(now, layer.bytes, &total) || total > SIZE_MAX ||
        (filter->memory_limit > 0 && total > filter->memory_limit))
        return full(filter, "another one would pass the limit of memory", error);
    layer.offset = now;
    layer.own_memory = true;
    layer.payload =
        bloomery_allocate(&filter->allocator, (size_t)layer.bytes, BLOOMERY_PAYLOAD_UNIT);
    if (layer.payload == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "not enough memory for another link of %llu bytes",
                             (unsigned long long)layer.bytes);
    filter->layers[count] = layer;
    filter->shape.layer_count = count + 1;
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
    struct bloomery_layer *layer = bloomery_newest_layer(filter);
    if (layer->adds >= layer->keys) {
        bloomery_status status = grow(filter, error);
        if (status != BLOOMERY_OK)
            return status;
        layer = bloomery_newest_layer(filter);
    }
    *new_bits = layer_add(filter, layer, subject);
    assert(*new_bits > 0);
    layer->adds++;
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
    *new_bits = layer_add(filter, filter->layers, &subject);
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
    const struct bloomery_layer *layer = filter->layers;
    assert(filter->shape.layer_count == 1);
    filter->hash->positions(&filter->secret, key, layer->bits, layer->probes, positions);
    return filter->operations.remove_positions(layer, layer->payload, positions, cleared);
}

uint32_t bloomery_positions_count(const bloomery_filter *filter, bloomery_key key)
{
    uint64_t positions[BLOOMERY_POSITIONS_MAX];
    const struct bloomery_layer *layer = filter->layers;
    filter->hash->positions(&filter->secret, key, layer->bits, layer->probes, positions);
    return filter->operations.count_positions(layer, layer->payload, positions);
}
