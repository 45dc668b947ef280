/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the structures of the experiment: their keys, and the portions in which keys are added
 * and queried. A portion is 64 keys: first the cache lines that they will touch are fetched, then
 * they are looked at. Without that a program waits a hundred nanoseconds for memory on every key.
 */
#ifndef BLOOMERY_LINEAGE_PORTIONS_H
#define BLOOMERY_LINEAGE_PORTIONS_H

#include "base/random.h"
#include "exact_sets.h"

#include <assert.h>
#include <string.h>

enum { TOOL_PORTION = 64 }; /* keys added or queried together: one word of answers */

static inline const char *tool_key_at(struct tool_digits keys, size_t index)
{
    assert(index < keys.count);
    return keys.text + index * TOOL_DIGITS;
}

static inline uint64_t tool_key_hash(const char *key)
{
    uint64_t head;
    uint32_t tail;
    memcpy(&head, key, sizeof(head));
    memcpy(&tail, key + sizeof(head), sizeof(tail));
    return tool_mix64(tool_mix64(head) + tail * TOOL_GOLDEN);
}

/* In three parts of four digits, so that the processor can work on all twelve at once. */
static inline uint64_t tool_key_number(const char *key)
{
    uint64_t parts[3];
    for (size_t i = 0; i < 3; i++) {
        const unsigned char *digit = (const unsigned char *)key + 4 * i;
        parts[i] = digit[0] * 1000u + digit[1] * 100u + digit[2] * 10u + digit[3] - 1111u * '0';
    }
    const uint64_t number = (parts[0] * 10000 + parts[1]) * 10000 + parts[2];
    assert(number < UINT64_C(1000000000000)); /* they were digits */
    return number;
}

/* Portions of a set's keys, and the answers to one. */
typedef void (*tool_add_portion)(void *set, const char *keys, size_t count);
typedef uint64_t (*tool_query_portion)(const void *set, const char *keys, size_t count);

static inline size_t tool_portion_at(struct tool_digits keys, size_t from)
{
    return keys.count - from < TOOL_PORTION ? keys.count - from : (size_t)TOOL_PORTION;
}

static inline void tool_add_by_portions(void *set, struct tool_digits keys, tool_add_portion add)
{
    for (size_t from = 0; from < keys.count; from += TOOL_PORTION)
        add(set, tool_key_at(keys, from), tool_portion_at(keys, from));
}

static inline void tool_query_by_portions(const void *set, struct tool_digits keys,
                                          uint64_t *answers, tool_query_portion query)
{
    for (size_t from = 0; from < keys.count; from += TOOL_PORTION)
        answers[from / TOOL_PORTION] =
            query(set, tool_key_at(keys, from), tool_portion_at(keys, from));
}

/* Slots of a table for `count` keys: two thirds full, never entirely. */
static inline uint64_t tool_slots_for(size_t count)
{
    return (uint64_t)count + count / 2 + 1;
}

/* Fetches a slot and the cache line behind it. A search that fails looks at five slots on average,
 * and so often runs into the next cache line. A fetch past the end of a table does nothing. */
static inline void tool_fetch_slots(const void *slots, uint64_t slot, size_t slot_bytes)
{
    const uintptr_t address = (uintptr_t)slots + (uintptr_t)(slot * slot_bytes);
    __builtin_prefetch((const void *)address);
    __builtin_prefetch((const void *)(address + 64));
}

static inline uint64_t tool_next_slot(uint64_t slot, uint64_t slot_count)
{
    return slot + 1 < slot_count ? slot + 1 : 0;
}

#endif /* BLOOMERY_LINEAGE_PORTIONS_H */
