/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of a frame's body: a key, its payload, and what is to become of it. As bytes:
 *
 *     flags and key length    varint of key bytes << 3 | flags
 *     payload length          varint, only with BLOOMERY_ENTRY_PAYLOAD
 *     key, payload
 *
 * A varint is 7 bits a byte, the least significant first, the top bit set on all bytes but the
 * last. Lengths are at most BLOOMERY_SIEVE_ITEM_MAX together, so a prefix is at most 4 + 3 bytes.
 */
#ifndef BLOOMERY_SIEVE_ENTRY_H
#define BLOOMERY_SIEVE_ENTRY_H

#include <bloomery/sieve.h>

#include <assert.h>
#include <string.h>

enum {
    BLOOMERY_ENTRY_PAYLOAD = 1,
    BLOOMERY_ENTRY_MARKED = 2, /* seen, and no item */
    BLOOMERY_ENTRY_FORCED = 4, /* an item although it was seen */
    BLOOMERY_ENTRY_VOID = 6,   /* both: nothing; what stood here was lost to damage (recover.h) */
    BLOOMERY_ENTRY_PREFIX_MAX = 8,
};

struct bloomery_entry {
    bloomery_key key;
    bloomery_key payload;
    uint32_t flags; /* MARKED, FORCED */
};

/* Whether a sieve can have taken an entry of these lengths. */
static inline bool bloomery_entry_fits(const struct bloomery_entry *entry)
{
    return entry->key.bytes <= BLOOMERY_SIEVE_ITEM_MAX &&
           entry->payload.bytes <= BLOOMERY_SIEVE_ITEM_MAX - entry->key.bytes;
}

static inline size_t bloomery_varint_put(uint8_t *to, uint32_t value)
{
    size_t bytes = 0;
    assert(value < 1U << 28); /* or reading takes it for none */
    for (; value >= 128; value >>= 7)
        to[bytes++] = (uint8_t)(value | 128);
    to[bytes++] = (uint8_t)value;
    return bytes;
}

/* The bytes taken, or 0 if there is no whole varint of at most 4 bytes. */
static inline size_t bloomery_varint_get(const uint8_t *from, size_t room, uint32_t *value)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < room && i < 4; i++) {
        sum |= (uint32_t)(from[i] & 127) << (7 * i);
        if (from[i] < 128) {
            *value = sum;
            return i + 1;
        }
    }
    return 0;
}

/* The most that an entry takes. */
static inline size_t bloomery_entry_bound(const struct bloomery_entry *entry)
{
    return BLOOMERY_ENTRY_PREFIX_MAX + entry->key.bytes + entry->payload.bytes;
}

/* Writes an entry; `to` has room for bloomery_entry_bound. Returns its bytes. */
static inline size_t bloomery_entry_put(uint8_t *to, const struct bloomery_entry *entry)
{
    const bool paid = entry->payload.bytes > 0;
    assert(bloomery_entry_fits(entry));
    size_t at = bloomery_varint_put(to, (uint32_t)entry->key.bytes << 3 | entry->flags |
                                            (paid ? BLOOMERY_ENTRY_PAYLOAD : 0));
    if (paid)
        at += bloomery_varint_put(to + at, (uint32_t)entry->payload.bytes);
    assert(at <= BLOOMERY_ENTRY_PREFIX_MAX);
    if (entry->key.bytes > 0)
        memcpy(to + at, entry->key.data, entry->key.bytes);
    at += entry->key.bytes;
    if (paid)
        memcpy(to + at, entry->payload.data, entry->payload.bytes);
    return at + entry->payload.bytes;
}

/* Reads an entry, which points into `from`; the bytes taken, or 0 if there is no sound one. */
static inline size_t bloomery_entry_get(const uint8_t *from, size_t room,
                                        struct bloomery_entry *entry)
{
    uint32_t head = 0;
    uint32_t payload = 0;
    size_t at = bloomery_varint_get(from, room, &head);
    if (at == 0)
        return 0;
    if (head & BLOOMERY_ENTRY_PAYLOAD) {
        const size_t more = bloomery_varint_get(from + at, room - at, &payload);
        if (more == 0)
            return 0;
        at += more;
    }
    if ((head >> 3) > room - at || payload > room - at - (head >> 3))
        return 0;
    entry->flags = head & (BLOOMERY_ENTRY_MARKED | BLOOMERY_ENTRY_FORCED);
    entry->key = bloomery_key_of(from + at, head >> 3);
    entry->payload = bloomery_key_of(from + at + (head >> 3), payload);
    return at + (head >> 3) + payload;
}

#endif
