/* SPDX-License-Identifier: Apache-2.0 */
/* See sieve_set.h. */
#include "sieve_set.h"

#include "sieve.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static void *map(uint64_t bytes)
{
    void *memory =
        mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        sieve_fail("no memory for a hash set");
    /* As our own filters have it. */
    madvise(memory, (size_t)bytes, MADV_HUGEPAGE);
    return memory;
}

void sieve_set_make(struct sieve_set *set, uint64_t room)
{
    assert(room > 0 && (room & (room - 1)) == 0);
    *set = (struct sieve_set){.room = room, .text_room = 1 << 20};
    set->slots = map(room * sizeof *set->slots);
    set->text = map(set->text_room);
}

void sieve_set_free(struct sieve_set *set)
{
    munmap(set->slots, (size_t)(set->room * sizeof *set->slots));
    munmap(set->text, (size_t)set->text_room);
}

uint64_t sieve_set_bytes(const struct sieve_set *set)
{
    return set->room * sizeof *set->slots + set->text_bytes;
}

static void grow(struct sieve_set *set)
{
    const struct sieve_set old = *set;
    set->room *= 2;
    set->slots = map(set->room * sizeof *set->slots);
    for (uint64_t i = 0; i < old.room; i++) {
        uint64_t at = old.slots[i].hash & (set->room - 1);
        if (old.slots[i].place == 0)
            continue;
        while (set->slots[at].place != 0)
            at = (at + 1) & (set->room - 1);
        set->slots[at] = old.slots[i];
    }
    munmap(old.slots, (size_t)(old.room * sizeof *old.slots));
}

static uint64_t keep(struct sieve_set *set, bloomery_key key)
{
    const uint32_t length = (uint32_t)key.bytes;
    const uint64_t place = set->text_bytes;
    if (place + sizeof length + key.bytes > set->text_room) {
        set->text =
            mremap(set->text, (size_t)set->text_room, (size_t)set->text_room * 2, MREMAP_MAYMOVE);
        if (set->text == MAP_FAILED)
            sieve_fail("no memory for a hash set");
        set->text_room *= 2;
    }
    memcpy(set->text + place, &length, sizeof length);
    memcpy(set->text + place + sizeof length, key.data, key.bytes);
    set->text_bytes += sizeof length + key.bytes;
    return place + 1;
}

bool sieve_set_add(struct sieve_set *set, bloomery_key key)
{
    const uint64_t hash = XXH3_64bits(key.data, key.bytes);
    uint64_t at = hash & (set->room - 1);
    for (; set->slots[at].place != 0; at = (at + 1) & (set->room - 1)) {
        const char *held = set->text + set->slots[at].place - 1;
        uint32_t length;
        if (set->slots[at].hash != hash)
            continue;
        memcpy(&length, held, sizeof length);
        if (length == key.bytes && memcmp(held + sizeof length, key.data, length) == 0)
            return false;
    }
    set->slots[at] = (struct sieve_set_slot){hash, keep(set, key)};
    if (++set->count > set->room / 4 * 3)
        grow(set);
    return true;
}
