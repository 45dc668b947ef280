/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter is a handful of blocks of memory, which point to each other:
 *
 *     filter ──┬── payload                 layers 0 .. i lie in it, or in front of the filter
 *     (records,│
 *      extra,  ├── layer i+1, layer i+2    grown since, a block each
 *      note)   ├── records of layers       of a chain that has outgrown those of the filter
 *              └── growing                 the lock of a concurrent chain
 *
 * Each is offered to the caller's function, the filter itself last, since all pointers to the
 * others are in it. Places within a block are kept as distances from its beginning before it moves,
 * since the old block may be gone after.
 *
 * A block that came to lie at no multiple of its alignment is copied once more, since kernels read
 * whole cache lines. If there is no memory for that, the block is lost and with it the filter.
 */
#include "ways.h"

#include "base/bytes.h"
#include "base/experimental.h"
#include "base/memory.h"

#include <assert.h>
#include <string.h>

struct mover {
    bloomery_mover move;
    void *context;
    bloomery_allocator allocator; /* the filter's: the filter itself may be lost */
    bloomery_status status;
};

/* A copy of a block that came to lie at a wrong place; NULL: there is no memory for it. */
static void *copy_straight(struct mover *mover, const void *crooked, size_t bytes, size_t alignment)
{
    void *straight = bloomery_allocate(&mover->allocator, bytes, alignment);
    if (straight != NULL)
        memcpy(straight, crooked, bytes);
    if (mover->status == BLOOMERY_OK || straight == NULL)
        mover->status = straight != NULL ? BLOOMERY_BAD_ARGUMENT : BLOOMERY_OUT_OF_MEMORY;
    return straight;
}

static void release_crooked(const struct mover *mover, void *crooked, size_t bytes,
                            size_t alignment)
{
    bloomery_wipe(crooked, bytes); /* it may hold the secret */
    mover->allocator.release(mover->allocator.context, crooked, bytes, alignment);
}

static void *offer(const struct mover *mover, void *memory, size_t bytes, size_t alignment)
{
    void *now = mover->move(mover->context, memory, bytes, alignment);
    return now != NULL ? now : memory;
}

/* Where the block is now; NULL: it is lost, and released. */
static void *move_block(struct mover *mover, void *memory, uint64_t bytes, size_t alignment)
{
    assert(memory != NULL && (uintptr_t)memory % alignment == 0);
    void *now = offer(mover, memory, (size_t)bytes, alignment);
    if ((uintptr_t)now % alignment == 0)
        return now;
    void *straight = copy_straight(mover, now, (size_t)bytes, alignment);
    release_crooked(mover, now, (size_t)bytes, alignment);
    return straight;
}

/* The layers that have grown since. */
static void move_layers(struct mover *mover, bloomery_filter *filter)
{
    for (uint32_t i = 0; i < filter->shape.layer_count; i++) {
        struct bloomery_layer *layer = &filter->layers[i];
        if (bloomery_is_apart(filter, layer))
            layer->payload = move_block(mover, layer->payload, layer->bytes, BLOOMERY_PAYLOAD_UNIT);
    }
}

/* While the payload moves, its layers are nowhere. */
static void detach_layers(bloomery_filter *filter)
{
    for (uint32_t i = 0; i < filter->shape.layer_count; i++)
        if (!bloomery_is_apart(filter, &filter->layers[i]))
            filter->layers[i].payload = NULL;
}

/* They lie in it in their order, though after a merge others may be between them. Layers that were
 * lost are nowhere as well, and the filter is about to be. */
static void attach_layers(bloomery_filter *filter)
{
    uint8_t *payload = bloomery_payload_of(filter);
    uint64_t at = 0;
    for (uint32_t i = 0; i < filter->shape.layer_count && payload != NULL; i++) {
        struct bloomery_layer *layer = &filter->layers[i];
        const uint64_t room = bloomery_payload_room(filter);
        const uint64_t bytes = layer->bytes < room ? layer->bytes : room; /* one may be cut short */
        if (layer->payload != NULL || bytes > room - at)
            continue;
        layer->payload = payload + at;
        at += bytes;
    }
}

/* The payload that the filter was made with, where it is a block of its own. */
static void move_payload(struct mover *mover, bloomery_filter *filter)
{
    if (filter->storage != BLOOMERY_OWNED || filter->near_words > 0)
        return;
    struct bloomery_rest *rest = bloomery_rest_of(filter);
    detach_layers(filter);
    rest->payload = move_block(mover, rest->payload, rest->payload_bytes, BLOOMERY_PAYLOAD_UNIT);
    attach_layers(filter);
}

/* Releases the layers whose records are lost: where these are, no layer may be. */
static void release_layers_of(const struct mover *mover, const bloomery_filter *filter,
                              const uint8_t *records)
{
    for (uint32_t i = 0; i < filter->shape.layer_count; i++) {
        struct bloomery_layer layer;
        memcpy(&layer, records + i * sizeof layer, sizeof layer);
        if (bloomery_is_apart(filter, &layer))
            bloomery_release(&mover->allocator, layer.payload, (size_t)layer.bytes,
                             BLOOMERY_PAYLOAD_UNIT);
    }
}

/* The records of layers that are no part of the filter's block. If they are lost, so are the
 * layers. */
static void move_room(struct mover *mover, bloomery_filter *filter)
{
    const size_t alignment = BLOOMERY_ROOM_ALIGNMENT;
    const size_t bytes = bloomery_room(filter) * sizeof(struct bloomery_layer);
    if (!bloomery_has_room_apart(filter))
        return;
    void *now = offer(mover, filter->layers, bytes, alignment);
    if ((uintptr_t)now % alignment != 0) {
        void *straight = copy_straight(mover, now, bytes, alignment);
        if (straight == NULL)
            release_layers_of(mover, filter, now);
        release_crooked(mover, now, bytes, alignment);
        now = straight;
    }
    filter->shape.layers = now != NULL ? now : filter->own;
    if (now == NULL)
        filter->shape.layer_count = 0;
}

static void move_lock(struct mover *mover, bloomery_filter *filter)
{
    if (bloomery_rest_in(filter)->growing == NULL)
        return;
    struct bloomery_rest *rest = bloomery_rest_of(filter);
    bloomery_lock_end(rest->growing);
    rest->growing = move_block(mover, rest->growing, sizeof *rest->growing, sizeof *rest->growing);
    if (rest->growing == NULL)
        return;
    const bool begun = bloomery_lock_begin(rest->growing);
    assert(begun);
    (void)begun;
}

/* A filter of any kind, but for what lies before it and behind its rest. */
union still {
    bloomery_filter filter;
    uint8_t bytes[sizeof(bloomery_filter) + BLOOMERY_CHAIN_MAX * sizeof(struct bloomery_layer) +
                  sizeof(struct bloomery_rest)];
};

/* All pointers into the filter's own allocation, once it lies elsewhere. `was`: where it lay. */
static void point_anew(bloomery_filter *filter, uintptr_t was, bool room_apart)
{
    const uintptr_t by = (uintptr_t)filter - was; /* modulo 2^64 */
    if (!room_apart)
        filter->shape.layers = filter->own;
    if (!filter->has_rest)
        return;
    struct bloomery_rest *rest = bloomery_rest_of(filter);
    if (rest->next != NULL)
        rest->next = (bloomery_plan *)((uintptr_t)rest->next + by);
    rest->extra = (uint8_t *)((uintptr_t)rest->extra + by);
    rest->note = (char *)((uintptr_t)rest->note + by);
}

/* NULL: it is lost, and what it owned is released. */
static bloomery_filter *move_itself(struct mover *mover, bloomery_filter *filter)
{
    union still still;
    const size_t before = (size_t)((uint8_t *)filter - bloomery_base_of(filter));
    const size_t bytes = bloomery_own_bytes(filter) - before;
    const bool near = filter->near_words > 0;
    const uintptr_t was = (uintptr_t)filter;
    const bool apart = bloomery_has_room_apart(filter);
    if (near)
        detach_layers(filter);
    memcpy(still.bytes, filter, bytes < sizeof still ? bytes : sizeof still);
    uint8_t *block =
        move_block(mover, bloomery_base_of(filter), before + bytes, BLOOMERY_PAYLOAD_UNIT);
    if (block != NULL) {
        filter = (bloomery_filter *)(void *)(block + before);
        point_anew(filter, was, apart);
        if (near)
            attach_layers(filter);
    } else {
        filter = NULL;
        point_anew(&still.filter, was, apart);
        bloomery_release_others(&still.filter);
    }
    bloomery_wipe(&still, sizeof still);
    return filter;
}

bloomery_status bloomery_move(bloomery_filter **filter, bloomery_mover move, void *context)
{
    bloomery_filter *moving = *filter;
    struct mover mover = {move, context, moving->allocator, BLOOMERY_OK};
    if (moving->allocator.allocate == NULL)
        return BLOOMERY_UNSUPPORTED;
    move_layers(&mover, moving);
    move_payload(&mover, moving);
    move_room(&mover, moving);
    move_lock(&mover, moving);
    moving = move_itself(&mover, moving);
    if (mover.status == BLOOMERY_OUT_OF_MEMORY) {
        bloomery_free(moving);
        moving = NULL;
    }
    assert(moving != NULL || mover.status == BLOOMERY_OUT_OF_MEMORY);
    *filter = moving;
    return mover.status;
}
