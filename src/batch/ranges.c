/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several threads, one blocked filter, and not one atomic operation per key. The blocks are divided
 * into ranges, and a block is only touched by the thread that holds the lock of its range:
 *
 *     the filter    |  range 0  |  range 1  |  range 2  |  range 3  | ...
 *                                 thread 1                thread 0      hold locks
 *
 * Each thread sets the hashes of its keys aside by range. Its memory for that stays in its
 * second-level cache, so no hash ever moves from core to core:
 *
 *     thread 0      |####...    |###....    |####...    |######.    | ...  room for K hashes each
 *     thread 1      |##.....    |#######    |##.....    |###....    | ...
 *
 * When half of its places are full, the thread locks the fullest range whose lock is free and adds
 * what it has for it. It knows in advance the most likely range, and prefetches a block of it with
 * each hash that it sets aside. So memory works while keys are hashed, and a build of two threads
 * takes three fifths of one's time instead of three quarters. There are several times more ranges
 * than threads, so a free one is nearly always found. If not, the thread sleeps until it gets the
 * fullest. No thread ever waits for one that waits for its keys: no lock is held while hashing or
 * while a source is called. And a thread without a processor holds up one range, not all.
 *
 * A key of L blocks goes to L places, one for each of its blocks. Block j of a hash in a place (j,
 * r) is what will be set from there. Since bits are only ever set, their order does not matter, and
 * the filter is the one that a single thread makes.
 */
#include "batch/ranges.h"

#include "base/bytes.h"
#include "base/memory.h"
#include "batch/window.h"
#include "core/derive.h"
#include "plan/blocked_rate.h"

#include <assert.h>
#include <string.h>

enum {
    RANGES_PER_THREAD = 8,
    RANGES_MAX = 256,
    /* All places of a thread: half of the second-level cache that processors of today have at
     * least; a thirty-second of a smaller filter. */
    THREAD_BYTES_MAX = 512 << 10,
    THREAD_BYTES_MIN = 64 << 10,
    ROOM_MIN = 64, /* fewer are not worth a lock; this decides if threads are many */
    /* Places fill evenly. At a distance of a power of two the ends of all of them would share a few
     * cache lines of the first level; five more cache lines keep them apart. */
    GAP_BYTES = 5 * 64,
};

/* Of a hash. */
static size_t width_of(const struct bloomery_ranges *ranges)
{
    return ranges->narrow ? sizeof(uint64_t) : sizeof(bloomery_hash);
}

/* From one place to the next. */
static size_t place_bytes(const struct bloomery_ranges *ranges)
{
    return ranges->room * width_of(ranges) + GAP_BYTES;
}

static uint32_t places(const struct bloomery_ranges *ranges)
{
    return ranges->count * ranges->layer->blocks_per_key;
}

bool bloomery_ranges_start(struct bloomery_ranges *ranges, bloomery_filter *filter,
                           uint32_t threads, bool narrow)
{
    struct bloomery_layer *layer = bloomery_newest_layer(filter);
    const uint32_t max =
        threads < RANGES_MAX / RANGES_PER_THREAD ? threads * RANGES_PER_THREAD : RANGES_MAX;
    assert(layer->blocks > 0 && layer->blocks_per_key > 0 && threads > 0);
    *ranges = (struct bloomery_ranges){.filter = filter, .layer = layer, .narrow = narrow};
    while ((layer->blocks - 1) >> ranges->shift >= max)
        ranges->shift++;
    ranges->count = (uint32_t)((layer->blocks - 1) >> ranges->shift) + 1;
    assert(ranges->count <= RANGES_MAX);
    uint64_t bytes = layer->bytes / 32;
    bytes = bytes > THREAD_BYTES_MAX ? THREAD_BYTES_MAX : bytes;
    bytes = bytes < THREAD_BYTES_MIN ? THREAD_BYTES_MIN : bytes;
    ranges->room =
        (uint32_t)(bytes / width_of(ranges)) / places(ranges) / BLOOMERY_WORD * BLOOMERY_WORD;
    if (ranges->room < ROOM_MIN)
        ranges->room = ROOM_MIN;
    uint64_t rounded = 0;
    if (!bloomery_round_up((uint64_t)places(ranges) * (place_bytes(ranges) + sizeof(uint32_t)),
                           BLOOMERY_PAYLOAD_UNIT, &rounded) ||
        rounded > SIZE_MAX / threads)
        return false;
    ranges->thread_bytes = (size_t)rounded;
    ranges->memory_bytes = threads * ranges->thread_bytes;
    ranges->memory =
        bloomery_allocate(&filter->allocator, ranges->memory_bytes, BLOOMERY_PAYLOAD_UNIT);
    ranges->locks = bloomery_locks_make(&filter->allocator, ranges->count);
    if (ranges->memory != NULL && ranges->locks != NULL)
        return true;
    bloomery_ranges_end(ranges);
    return false;
}

void bloomery_ranges_end(struct bloomery_ranges *ranges)
{
    const bloomery_allocator *allocator = &ranges->filter->allocator;
    bloomery_locks_free(allocator, ranges->locks, ranges->count);
    bloomery_release(allocator, ranges->memory, ranges->memory_bytes, BLOOMERY_PAYLOAD_UNIT);
}

void bloomery_aside_start(struct bloomery_aside *aside, const struct bloomery_ranges *ranges,
                          uint32_t thread)
{
    uint8_t *memory = ranges->memory + thread * ranges->thread_bytes;
    assert(memory + ranges->thread_bytes <= ranges->memory + ranges->memory_bytes);
    size_t hash_bytes = places(ranges) * place_bytes(ranges);
    *aside = (struct bloomery_aside){.ranges = ranges,
                                     .words = (uint64_t *)(void *)memory,
                                     .held = (uint32_t *)(void *)(memory + hash_bytes)};
}

/* How many keys surely find room: as many as fit if all have a block in the fullest place. */
static size_t find_space(const struct bloomery_aside *aside)
{
    uint32_t max = 0;
    for (uint32_t i = 0; i < places(aside->ranges); i++)
        max = aside->held[i] > max ? aside->held[i] : max;
    assert(max <= aside->ranges->room);
    return aside->ranges->room - max;
}

static struct bloomery_hashes hashes_of(const struct bloomery_aside *aside, size_t place)
{
    const struct bloomery_ranges *ranges = aside->ranges;
    return (struct bloomery_hashes){aside->words + place * (place_bytes(ranges) / sizeof(uint64_t)),
                                    ranges->narrow};
}

/* Sets a word of keys aside, for which there is room. Between them the blocks of as many hashes
 * of the range that will be added next are prefetched, which so have arrived by then. `narrow` is a
 * constant in each call. */
static inline __attribute__((always_inline)) void set_aside(struct bloomery_aside *aside,
                                                            const bloomery_hash *hashes,
                                                            size_t count, const bool narrow)
{
    const struct bloomery_ranges *ranges = aside->ranges;
    const uint64_t blocks = ranges->layer->blocks;
    const size_t block_bytes = (size_t)(ranges->layer->bytes / blocks);
    const uint32_t shift = ranges->shift;
    const size_t stride = place_bytes(ranges) / sizeof(uint64_t);
    assert(count <= BLOOMERY_WORD && count <= aside->space);
    for (uint32_t which = 0; which < ranges->layer->blocks_per_key; which++) {
        const size_t first = (size_t)which * ranges->count;
        uint64_t *to = aside->words + first * stride;
        uint32_t *held = aside->held + first;
        const struct bloomery_hashes next = {to + aside->next * stride, narrow};
        for (size_t i = 0; i < count; i++) {
            size_t range = (size_t)(bloomery_block_of(hashes[i], which, blocks) >> shift);
            assert(range < ranges->count && held[range] < ranges->room);
            uint64_t *place = to + range * stride;
            const size_t at = held[range]++;
            if (narrow) {
                place[at] = hashes[i].hi;
            } else {
                place[2 * at] = hashes[i].lo;
                place[2 * at + 1] = hashes[i].hi;
            }
            if (aside->queried + i < held[aside->next])
                __builtin_prefetch(
                    ranges->layer->payload +
                    bloomery_block_of(bloomery_hashes_at(next, aside->queried + i), which, blocks) *
                        block_bytes);
        }
    }
    aside->queried += (uint32_t)count;
    aside->total += count * ranges->layer->blocks_per_key;
    aside->space -= count;
}

/* Adds what is in the place of block number `which` (0 to L-1) in a range whose lock is held. */
static void add_place(struct bloomery_aside *aside, uint32_t which, uint32_t range)
{
    const struct bloomery_ranges *ranges = aside->ranges;
    const struct bloomery_layer *layer = ranges->layer;
    const size_t place = (size_t)which * ranges->count + range;
    const struct bloomery_hashes hashes = hashes_of(aside, place);
    const size_t count = aside->held[place];
    assert(count <= ranges->room && count <= aside->total);
    aside->held[place] = 0;
    aside->total -= count;
    ranges->filter->operations->add_block(layer, layer->payload, hashes, count, which);
}

/* What is set aside for all blocks of a range. */
static uint64_t held_for(const struct bloomery_aside *aside, uint32_t range)
{
    uint64_t sum = 0;
    for (uint32_t which = 0; which < aside->ranges->layer->blocks_per_key; which++)
        sum += aside->held[which * aside->ranges->count + range];
    return sum;
}

static uint32_t fullest_of(const struct bloomery_aside *aside)
{
    uint32_t fullest = 0;
    for (uint32_t i = 1; i < aside->ranges->count; i++)
        if (held_for(aside, i) > held_for(aside, fullest))
            fullest = i;
    return fullest;
}

/* Locks the range that is the next one, or a free one at least half as full as the fullest, or
 * waits for the fullest. */
static uint32_t lock_range(const struct bloomery_aside *aside)
{
    const struct bloomery_ranges *ranges = aside->ranges;
    const uint32_t fullest = fullest_of(aside);
    const uint64_t enough = held_for(aside, fullest) / 2 + 1;
    for (uint32_t i = 0; i < ranges->count; i++) {
        uint32_t range = (aside->next + i) % ranges->count;
        if (held_for(aside, range) >= enough && bloomery_try_lock(&ranges->locks[range]))
            return range;
    }
    bloomery_lock(&ranges->locks[fullest]);
    return fullest;
}

static void add_range(struct bloomery_aside *aside)
{
    const uint32_t range = lock_range(aside);
    for (uint32_t which = 0; which < aside->ranges->layer->blocks_per_key; which++)
        add_place(aside, which, range);
    bloomery_unlock(&aside->ranges->locks[range]);
    assert(held_for(aside, range) == 0);
    aside->next = fullest_of(aside);
    aside->queried = 0;
}

void bloomery_aside_add(struct bloomery_aside *aside, const struct bloomery_input *keys,
                        size_t count)
{
    const struct bloomery_ranges *ranges = aside->ranges;
    const uint64_t enough = (uint64_t)places(ranges) * ranges->room / 2;
    bloomery_take *take = bloomery_take_of(keys, ranges->filter);
    bloomery_hash hashes[BLOOMERY_WORD];
    for (size_t i = 0; i < count; i += BLOOMERY_WORD) {
        const size_t now = count - i < BLOOMERY_WORD ? count - i : BLOOMERY_WORD;
        take(keys, ranges->filter, i, now, hashes);
        while (aside->space < now && (aside->space = find_space(aside)) < now)
            add_range(aside);
        if (ranges->narrow)
            set_aside(aside, hashes, now, true);
        else
            set_aside(aside, hashes, now, false);
        if (aside->total >= enough && aside->queried >= aside->held[aside->next])
            add_range(aside);
    }
}

void bloomery_aside_finish(struct bloomery_aside *aside)
{
    while (aside->total > 0)
        add_range(aside);
    assert(find_space(aside) == aside->ranges->room);
    aside->space = 0;
}
