/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter is a handful of blocks of memory, which point to each other:
 *
 *     filter ──┬── payload                 layers 0 .. i lie in it
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
    explicit_bzero(crooked, bytes); /* it may hold the secret */
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

/* The payload that the filter was made with, and the layers in it. They lie there in their order,
 * though after a merge others may be between them. */
static void move_payload(struct mover *mover, bloomery_filter *filter)
{
    uint64_t at = 0;
    if (filter->storage != BLOOMERY_OWNED)
        return;
    filter->payload =
        move_block(mover, filter->payload, filter->payload_bytes, BLOOMERY_PAYLOAD_UNIT);
    for (uint32_t i = 0; i < filter->shape.layer_count; i++) {
        struct bloomery_layer *layer = &filter->layers[i];
        if (layer->own_memory)
            continue;
        layer->payload = filter->payload != NULL ? filter->payload + at : NULL;
        at += layer->bytes;
        assert(at <= filter->payload_bytes);
    }
}

/* The layers that have grown since. */
static void move_layers(struct mover *mover, bloomery_filter *filter)
{
    for (uint32_t i = 0; i < filter->shape.layer_count; i++) {
        struct bloomery_layer *layer = &filter->layers[i];
        if (layer->own_memory)
            layer->payload = move_block(mover, layer->payload, layer->bytes, BLOOMERY_PAYLOAD_UNIT);
    }
}

/* Releases the layers whose records are lost: where these are, no layer may be. */
static void release_layers_of(const struct mover *mover, const uint8_t *records, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        struct bloomery_layer layer;
        memcpy(&layer, records + i * sizeof layer, sizeof layer);
        if (layer.own_memory)
            bloomery_release(&mover->allocator, layer.payload, (size_t)layer.bytes,
                             BLOOMERY_PAYLOAD_UNIT);
    }
}

/* The records of layers that are no part of the filter's block. If they are lost, so are the
 * layers. */
static void move_room(struct mover *mover, bloomery_filter *filter)
{
    const size_t alignment = BLOOMERY_ROOM_ALIGNMENT;
    const size_t bytes = filter->room * sizeof(struct bloomery_layer);
    if (!bloomery_has_room_apart(filter))
        return;
    void *now = offer(mover, filter->layers, bytes, alignment);
    if ((uintptr_t)now % alignment != 0) {
        void *straight = copy_straight(mover, now, bytes, alignment);
        if (straight == NULL)
            release_layers_of(mover, now, filter->shape.layer_count);
        release_crooked(mover, now, bytes, alignment);
        now = straight;
    }
    filter->layers = filter->shape.layers = now != NULL ? now : filter->own;
    if (now == NULL)
        filter->shape.layer_count = 0;
}

static void move_lock(struct mover *mover, bloomery_filter *filter)
{
    if (filter->growing == NULL)
        return;
    bloomery_lock_end(filter->growing);
    filter->growing =
        move_block(mover, filter->growing, sizeof *filter->growing, sizeof *filter->growing);
    if (filter->growing == NULL)
        return;
    const bool begun = bloomery_lock_begin(filter->growing);
    assert(begun);
    (void)begun;
}

/* A filter of any kind, but for what lies behind its layers. */
union still {
    bloomery_filter filter;
    uint8_t bytes[sizeof(bloomery_filter) + BLOOMERY_CHAIN_MAX * sizeof(struct bloomery_layer)];
};

/* NULL: it is lost, and what it owned is released. */
static bloomery_filter *move_itself(struct mover *mover, bloomery_filter *filter)
{
    union still still;
    const size_t extra = (size_t)(filter->extra - (uint8_t *)filter);
    const size_t note = (size_t)((uint8_t *)filter->note - (uint8_t *)filter);
    const size_t bytes = filter->own_bytes;
    const bool apart = bloomery_has_room_apart(filter);
    const bool plans = filter->next != NULL;
    const size_t next = plans ? (size_t)((uint8_t *)filter->next - (uint8_t *)filter) : 0;
    memcpy(still.bytes, filter, bytes < sizeof still ? bytes : sizeof still);
    if (!apart)
        still.filter.layers = still.filter.own;
    filter = move_block(mover, filter, bytes, 64);
    if (filter != NULL) {
        assert(extra <= bytes && note + filter->note_bytes < bytes);
        if (!apart)
            filter->layers = filter->shape.layers = filter->own;
        if (plans)
            filter->next = (bloomery_plan *)(void *)((uint8_t *)filter + next);
        filter->extra = (uint8_t *)filter + extra;
        filter->note = (char *)filter + note;
    } else {
        bloomery_release_others(&still.filter);
    }
    explicit_bzero(&still, sizeof still);
    return filter;
}

bloomery_status bloomery_move(bloomery_filter **filter, bloomery_mover move, void *context)
{
    bloomery_filter *moving = *filter;
    struct mover mover = {move, context, moving->allocator, BLOOMERY_OK};
    if (moving->allocator.allocate == NULL)
        return BLOOMERY_UNSUPPORTED;
    move_payload(&mover, moving);
    move_layers(&mover, moving);
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
