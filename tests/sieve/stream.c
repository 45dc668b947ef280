/* SPDX-License-Identifier: Apache-2.0 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

enum { SMALLEST_ID = 4, ID_BYTES = 4, NUMBER_BYTES = 8 };

/* ---- Keys and payloads -------------------------------------------------------------------- */

void stream_area_make(struct stream_area *area)
{
    area->bytes = malloc(STREAM_AREA);
    area->used = 0;
    assert_non_null(area->bytes);
}

void stream_area_free(struct stream_area *area)
{
    free(area->bytes);
    area->bytes = NULL;
}

bool stream_area_room(const struct stream_area *area)
{
    return area->used + 2 * STREAM_MAX < STREAM_AREA;
}

static size_t key_bytes(uint32_t id, bool giants)
{
    const uint64_t draw = test_mix(id);
    if (id < SMALLEST_ID)
        return id == 0 ? 0 : 1;
    if (giants && id % 4001 == 7)
        return 70000;
    if (giants && id % 20011 == 11)
        return STREAM_MAX;
    return draw % 16 == 0 ? ID_BYTES + (draw >> 8) % 197 : ID_BYTES + (draw >> 8) % 40;
}

static size_t payload_bytes(uint64_t push, bool giants)
{
    if (push % 3 == 0)
        return 0;
    if (giants && push % 9973 == 1)
        return 66000;
    return NUMBER_BYTES + push % 40;
}

/* Byte i of what fills keys and payloads. */
static uint8_t pattern(uint64_t seed, size_t i)
{
    return (uint8_t)(seed + i * 7 + (i >> 8));
}

static void put_little(uint8_t *to, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t get_little(const uint8_t *from, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

bloomery_key stream_key(struct stream_area *area, uint32_t id, bool giants)
{
    const size_t bytes = key_bytes(id, giants);
    uint8_t *to = area->bytes + area->used;
    assert_true(id < STREAM_IDS);
    assert_true(area->used + bytes <= STREAM_AREA);
    if (id < SMALLEST_ID) {
        to[0] = (uint8_t)id;
    } else {
        for (size_t i = 0; i < bytes - ID_BYTES; i++)
            to[i] = pattern(0, i);
        put_little(to + bytes - ID_BYTES, id, ID_BYTES);
    }
    area->used += bytes;
    return bloomery_key_of(to, bytes);
}

bloomery_key stream_payload(struct stream_area *area, uint64_t push, bool giants)
{
    const size_t bytes = payload_bytes(push, giants);
    uint8_t *to = area->bytes + area->used;
    assert_true(area->used + bytes <= STREAM_AREA);
    if (bytes == 0)
        return bloomery_key_of(NULL, 0);
    put_little(to, push, NUMBER_BYTES);
    for (size_t i = NUMBER_BYTES; i < bytes; i++)
        to[i] = pattern(push, i);
    area->used += bytes;
    return bloomery_key_of(to, bytes);
}

bool stream_id(bloomery_key key, bool giants, uint32_t *id)
{
    const uint8_t *bytes = key.data;
    *id = 0;
    if (key.bytes < ID_BYTES) {
        *id = key.bytes == 0 ? 0 : bytes[0];
        return *id < SMALLEST_ID && key.bytes == key_bytes(*id, giants);
    }
    *id = (uint32_t)get_little(bytes + key.bytes - ID_BYTES, ID_BYTES);
    if (*id < SMALLEST_ID || *id >= STREAM_IDS || key.bytes != key_bytes(*id, giants))
        return false;
    for (size_t i = 0; i < key.bytes - ID_BYTES; i++)
        if (bytes[i] != pattern(0, i))
            return false;
    return true;
}

bool stream_payload_is(bloomery_key payload, uint64_t push, bool giants)
{
    const uint8_t *bytes = payload.data;
    if (payload.bytes != payload_bytes(push, giants))
        return false;
    if (payload.bytes > 0 && get_little(bytes, NUMBER_BYTES) != push)
        return false;
    for (size_t i = NUMBER_BYTES; i < payload.bytes; i++)
        if (bytes[i] != pattern(push, i))
            return false;
    return true;
}

/* ---- Memory --------------------------------------------------------------------------------- */

static void *watched_allocate(void *context, size_t bytes, size_t alignment)
{
    struct stream_memory *memory = context;
    void *frame = memory->under.allocate(memory->under.context, bytes, alignment);
    if (memory->counts.bytes > memory->most)
        memory->most = memory->counts.bytes;
    return frame;
}

static void watched_release(void *context, void *frame, size_t bytes, size_t alignment)
{
    struct stream_memory *memory = context;
    memory->under.release(memory->under.context, frame, bytes, alignment);
}

bloomery_allocator stream_allocator(struct stream_memory *memory)
{
    memory->under = test_allocator(&memory->counts);
    bloomery_allocator allocator = memory->under;
    allocator.context = memory;
    allocator.allocate = watched_allocate;
    allocator.release = watched_release;
    return allocator;
}
