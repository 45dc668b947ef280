/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a queue without directory, by number, in a ring of pointers that doubles when it is
 * full. */
#include "base/error.h"
#include "sieve/queue/queue_inside.h"

#include <assert.h>
#include <inttypes.h>

enum { SLOT_BYTES = sizeof(void *) };

static uint64_t bytes_of(uint32_t body)
{
    return sizeof(struct bloomery_ring_frame) + body;
}

static struct bloomery_ring_frame **slot(const struct bloomery_queue_ring *ring, uint64_t number)
{
    assert(ring->capacity > 0 && (ring->capacity & (ring->capacity - 1)) == 0);
    return &ring->slots[number & (ring->capacity - 1)];
}

static bloomery_status no_memory(bloomery_error *error, uint64_t bytes)
{
    return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                         "no memory for a frame of the queue of %" PRIu64 " bytes", bytes);
}

static bloomery_status grow(struct bloomery_store *store, struct bloomery_queue_ring *ring,
                            bloomery_error *error)
{
    struct bloomery_queue_ring larger = *ring;
    larger.capacity = ring->capacity == 0 ? 64 : 2 * ring->capacity;
    const uint64_t bytes = larger.capacity * SLOT_BYTES;
    larger.slots = bloomery_store_take(store, bytes);
    if (larger.slots == NULL)
        return no_memory(error, bytes);
    for (uint64_t i = 0; i < ring->count; i++)
        *slot(&larger, ring->base + i) = *slot(ring, ring->base + i);
    larger.bytes += (larger.capacity - ring->capacity) * SLOT_BYTES;
    bloomery_store_give(store, ring->slots, ring->capacity * SLOT_BYTES);
    *ring = larger;
    return BLOOMERY_OK;
}

bloomery_status bloomery_ring_add(struct bloomery_store *store, struct bloomery_queue_ring *ring,
                                  const struct bloomery_ring_frame *facts, const void *body,
                                  bloomery_error *error)
{
    const uint64_t bytes = bytes_of(facts->bytes);
    if (ring->most > 0 && (bytes > ring->most || ring->bytes > ring->most - bytes))
        return bloomery_fail(error, BLOOMERY_FULL, 0,
                             "the queue has used up its %" PRIu64
                             " bytes of memory: pop and acknowledge items first",
                             ring->most);
    if (ring->count == ring->capacity) {
        const bloomery_status status = grow(store, ring, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    struct bloomery_ring_frame *frame = bloomery_store_take(store, bytes);
    if (frame == NULL)
        return no_memory(error, bytes);
    assert(ring->count < ring->capacity && *slot(ring, ring->base + ring->count) == NULL);
    *frame = *facts;
    memcpy(frame->body, body, facts->bytes);
    *slot(ring, ring->base + ring->count++) = frame;
    ring->bytes += bytes;
    return BLOOMERY_OK;
}

struct bloomery_ring_frame *bloomery_ring_find(const struct bloomery_queue_ring *ring,
                                               uint64_t number)
{
    if (number < ring->base || number - ring->base >= ring->count)
        return NULL;
    return *slot(ring, number);
}

static void give(struct bloomery_store *store, struct bloomery_queue_ring *ring, uint64_t number)
{
    struct bloomery_ring_frame *frame = *slot(ring, number);
    if (frame == NULL)
        return;
    const uint64_t bytes = bytes_of(frame->bytes);
    assert(ring->bytes >= bytes);
    ring->bytes -= bytes;
    bloomery_store_give(store, frame, bytes);
    *slot(ring, number) = NULL;
}

void bloomery_ring_drop(struct bloomery_store *store, struct bloomery_queue_ring *ring,
                        uint64_t number)
{
    if (bloomery_ring_find(ring, number) == NULL)
        return;
    give(store, ring, number);
    while (ring->count > 0 && *slot(ring, ring->base) == NULL) {
        ring->base++;
        ring->count--;
    }
    assert(ring->count > 0 || ring->bytes == ring->capacity * SLOT_BYTES);
}

void bloomery_ring_cut(struct bloomery_store *store, struct bloomery_queue_ring *ring,
                       uint64_t number)
{
    while (ring->count > 0 && ring->base + ring->count > number) {
        give(store, ring, ring->base + ring->count - 1);
        ring->count--;
    }
    if (ring->count == 0)
        ring->base = number;
    assert(ring->count > 0 || ring->bytes == ring->capacity * SLOT_BYTES);
}

void bloomery_ring_free(struct bloomery_store *store, struct bloomery_queue_ring *ring)
{
    bloomery_ring_cut(store, ring, 0);
    bloomery_store_give(store, ring->slots, ring->capacity * SLOT_BYTES);
    ring->slots = NULL;
    ring->capacity = 0;
}
