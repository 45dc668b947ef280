/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of nothing, in place of those that were lost. In the middle of a segment frames of them
 * fill the range to the byte. The one entry with a key of zeros is for that. The entries that were
 * there took at least a byte each. At the end of a segment they take what they need.
 */
#include "sieve/recover/recover.h"

#include "base/bytes.h"

#include <assert.h>
#include <string.h>

enum {
    DENSE = BLOOMERY_QUEUE_BUFFER,
    LONGEST = BLOOMERY_QUEUE_BODY_MAX - 1, /* an item's entry: prefixes of 4 and 3 bytes */
};

/* A head that takes `prefix` bytes, for a key of so many. */
static bool put_head(uint8_t *to, uint64_t prefix, uint64_t key, uint32_t flags)
{
    uint8_t head[8];
    if (key > BLOOMERY_SIEVE_ITEM_MAX ||
        bloomery_varint_put(head, (uint32_t)key << 3 | flags) != prefix)
        return false;
    memcpy(to, head, prefix);
    return true;
}

/* One entry of so many bytes, its key zeros. Where the length of a key's length jumps, a payload
 * takes what is left. */
static void put_void(uint8_t *to, uint64_t bytes)
{
    static const uint32_t payloads[] = {1, 128, 16384}; /* their lengths take 1, 2 and 3 bytes */
    memset(to, 0, bytes);
    for (uint64_t prefix = 1; prefix <= 4 && prefix <= bytes; prefix++)
        if (put_head(to, prefix, bytes - prefix, BLOOMERY_ENTRY_VOID))
            return;
    for (uint64_t i = 0; i < 3; i++)
        for (uint64_t prefix = 1; prefix <= 4; prefix++) {
            const uint64_t rest = prefix + i + 1 + payloads[i];
            if (rest <= bytes && bytes - rest <= BLOOMERY_SIEVE_ITEM_MAX - payloads[i] &&
                put_head(to, prefix, bytes - rest, BLOOMERY_ENTRY_VOID | BLOOMERY_ENTRY_PAYLOAD)) {
                bloomery_varint_put(to + prefix, payloads[i]);
                return;
            }
        }
}

/* A frame of so many entries of nothing, with a body of so many bytes. */
static bloomery_status put_frame(struct bloomery_recovery_gap gap, uint64_t *at, uint64_t entries,
                                 uint64_t bytes, bloomery_error *error)
{
    uint8_t *body = gap.recovery->area;
    struct bloomery_frame frame = {
        .entries = (uint32_t)entries, .body_bytes = (uint32_t)bytes, .first = *gap.number};
    assert(entries > 0 && entries <= bytes && bytes <= BLOOMERY_QUEUE_BODY_MAX);
    memset(body, BLOOMERY_ENTRY_VOID, entries - 1);
    put_void(body + entries - 1, bytes - (entries - 1));
    assert(bloomery_queue_is_body(body, frame.body_bytes, frame.entries));
    assert(bloomery_queue_is_frame(&frame, frame.first + entries));
    const bloomery_status status =
        bloomery_frame_write(&gap.recovery->sieve->store, gap.file, *at, &frame, NULL, body, error);
    if (status != BLOOMERY_OK)
        return status;
    *at += BLOOMERY_FRAME_HEADER + bytes;
    *gap.number += entries;
    if (gap.is_log) /* the queue is the memory engine's log */
        gap.recovery->result.seen += entries;
    return BLOOMERY_OK;
}

static bloomery_status no_fit(struct bloomery_recovery_gap gap, uint64_t at, bloomery_error *error)
{
    return bloomery_store_damaged(&gap.recovery->sieve->store, gap.file, at, error,
                                  "the numbers of the items around it do not fit to the bytes "
                                  "between them, so that it cannot be recovered");
}

/* Bytes that frames of so many entries take at least. */
static uint64_t min_bytes(uint64_t entries)
{
    return entries + (entries + DENSE - 1) / DENSE * BLOOMERY_FRAME_HEADER;
}

/* There may be more bytes than frames of short entries take. Then one entry alone takes what it
 * can, and the others are left what they need. */
bloomery_status bloomery_recovery_fill(struct bloomery_recovery_gap gap, uint64_t at,
                                       uint64_t bytes, uint64_t entries, bloomery_error *error)
{
    const uint64_t end = at + bytes;
    bloomery_status status = BLOOMERY_OK;
    while (status == BLOOMERY_OK && entries > 0) {
        assert(at <= end);
        const uint64_t left = end - at;
        const uint64_t rest = BLOOMERY_FRAME_HEADER + min_bytes(entries - 1);
        uint64_t some = entries;
        uint64_t body = left - BLOOMERY_FRAME_HEADER;
        if (left < min_bytes(entries))
            return no_fit(gap, at, error);
        if (entries > 1 && body > DENSE && left > rest) {
            some = 1;
            body = left - rest < LONGEST ? left - rest : LONGEST;
        } else if (entries > DENSE) {
            some = DENSE;
            body = DENSE;
        }
        if (body > (some > 1 ? DENSE : LONGEST))
            return no_fit(gap, at, error);
        status = put_frame(gap, &at, some, body, error);
        entries -= some;
    }
    return status == BLOOMERY_OK && at != end ? no_fit(gap, at, error) : status;
}

bloomery_status bloomery_recovery_append(struct bloomery_recovery_gap gap, uint64_t *at,
                                         uint64_t entries, bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    while (status == BLOOMERY_OK && entries > 0) {
        const uint64_t some = entries < DENSE ? entries : DENSE;
        status = put_frame(gap, at, some, some, error);
        entries -= some;
    }
    return status == BLOOMERY_OK
               ? bloomery_store_cut(&gap.recovery->sieve->store, gap.file, *at, error)
               : status;
}
