/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter is a handful of blocks of memory, which point to each other:
 *
 *     filter ──┬── payload                 layers 0 .. i lie in it
 *     (layers, │
 *      extra,  ├── layer i+1, layer i+2    grown since, a block each
 *      note)   └── growing                 the lock of a concurrent chain
 *
 * Each is offered to the caller's function, the filter itself last, since all pointers to the
 * others are in it. Places within a block are kept as distances from its beginning before it moves,
 * since the old block may be gone after.
 */
#include "core/filter.h"

#include <assert.h>

struct mover {
    bloomery_mover move;
    void *context;
};

static void *move_block(const struct mover *mover, void *memory, uint64_t bytes, size_t alignment)
{
    void *now = mover->move(mover->context, memory, (size_t)bytes, alignment);
    assert(now != NULL && (uintptr_t)now % alignment == 0);
    return now;
}

/* The payload that the filter was made with, and the layers in it. */
static void move_payload(const struct mover *mover, bloomery_filter *filter)
{
    uint64_t at[BLOOMERY_CHAIN_MAX];
    const uint32_t layers = filter->shape.layer_count;
    assert(layers <= BLOOMERY_CHAIN_MAX);
    if (filter->storage != BLOOMERY_OWNED)
        return;
    for (uint32_t i = 0; i < layers; i++)
        at[i] = (uint64_t)((uintptr_t)filter->layers[i].payload - (uintptr_t)filter->payload);
    filter->payload =
        move_block(mover, filter->payload, filter->payload_bytes, BLOOMERY_PAYLOAD_UNIT);
    for (uint32_t i = 0; i < layers; i++)
        if (!filter->layers[i].own_memory) {
            assert(at[i] + filter->layers[i].bytes <= filter->payload_bytes);
            filter->layers[i].payload = filter->payload + at[i];
        }
    filter->first.payload = filter->payload;
}

/* A lock must not be copied: it ends before its memory moves, and begins anew there. */
static void move_lock(const struct mover *mover, bloomery_filter *filter)
{
    if (filter->growing == NULL)
        return;
    pthread_mutex_destroy(&filter->growing->mutex);
    filter->growing =
        move_block(mover, filter->growing, sizeof *filter->growing, sizeof *filter->growing);
    const int result = pthread_mutex_init(&filter->growing->mutex, NULL);
    assert(result == 0); /* it needs no memory: it only fills its struct in */
    (void)result;
}

static bloomery_filter *move_itself(const struct mover *mover, bloomery_filter *filter)
{
    const size_t extra = (size_t)(filter->extra - (uint8_t *)filter);
    const size_t note = (size_t)((uint8_t *)filter->note - (uint8_t *)filter);
    filter = move_block(mover, filter, filter->own_bytes, 64);
    assert(extra <= filter->own_bytes && note + filter->note_bytes < filter->own_bytes);
    filter->shape.layers = filter->layers;
    filter->extra = (uint8_t *)filter + extra;
    filter->note = (char *)filter + note;
    return filter;
}

bloomery_status bloomery_move(bloomery_filter **filter, bloomery_mover move, void *context)
{
    const struct mover mover = {move, context};
    bloomery_filter *moving = *filter;
    if (moving->allocator.allocate == NULL)
        return BLOOMERY_UNSUPPORTED;
    move_payload(&mover, moving);
    for (uint32_t i = 0; i < moving->shape.layer_count; i++)
        if (moving->layers[i].own_memory)
            moving->layers[i].payload = move_block(&mover, moving->layers[i].payload,
                                                   moving->layers[i].bytes, BLOOMERY_PAYLOAD_UNIT);
    move_lock(&mover, moving);
    *filter = move_itself(&mover, moving);
    return BLOOMERY_OK;
}
