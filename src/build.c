/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building one filter with several threads, of which the calling one is the first:
 *
 *     source(0) source(1) ...     shares of keys, by number: a caller's, an array
 *         │         │
 *      thread    thread           takes the next number that is still free, until none is left
 *         └────┬────┘
 *            filter               blocked: range by range (below); else with atomic operations
 *
 * A number belongs to the call that takes it, not to a thread, so that with fewer threads than
 * requested, no key is left out.
 *
 * Positions of a classic filter are everywhere, and there are k of them. Setting them aside would
 * move 16 bytes for each, so bits are set at once, by atomic operations on single bytes. So are
 * those of filters made for concurrent adds, to which other threads may add at the same time.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "kernels/input.h"
#include "kernels/pipeline.h"
#include "kinds/chain.h"
#include "kinds/derive.h"
#include "library.h"
#include "plan/blocked_rate.h"

#include <assert.h>
#include <string.h>

/* ---- Ranges ---------------------------------------------------------------------------------- */

struct bloomery_ranges {
    bloomery_filter *filter;
    struct bloomery_layer *layer;
    uint32_t shift;              /* a range is 2^shift blocks, the last one what is left */
    uint32_t count;              /* R */
    uint32_t room;               /* K: the hashes that a thread can set aside in one place */
    bool narrow;                 /* of 64 bits: 8 bytes each, else 16 */
    struct bloomery_lock *locks; /* a lock per range */
    uint8_t *memory;             /* of all threads */
    size_t memory_bytes;
    size_t thread_bytes; /* of each */
};

/* What one thread has set aside. Place (j, r) is for hashes whose block number j is in range r. */
struct bloomery_aside {
    const struct bloomery_ranges *ranges;
    uint64_t *words;  /* [L][R][K], one or two for each hash */
    uint32_t *held;   /* [L][R]: how many in each place */
    uint64_t total;   /* in all places */
    size_t space;     /* keys that surely find room before `held` has to be looked at */
    uint32_t next;    /* the range to be added next, */
    uint32_t queried; /* and how many of its hashes have their blocks prefetched */
};

/* Ranges for this many threads, and their memory; false: there is none, and nothing to end.
 * `narrow`: lo of all hashes is 0. */
bool bloomery_ranges_start(struct bloomery_ranges *ranges, bloomery_filter *filter,
                           uint32_t threads, bool narrow);
void bloomery_ranges_end(struct bloomery_ranges *ranges);

/* The part of thread `thread`: start, add any number of times, finish. Keys are in the filter only
 * after `finish`. */
void bloomery_aside_start(struct bloomery_aside *aside, const struct bloomery_ranges *ranges,
                          uint32_t thread);
void bloomery_aside_add(struct bloomery_aside *aside, const struct bloomery_input *keys,
                        size_t count);
void bloomery_aside_finish(struct bloomery_aside *aside);

enum { THREADS_MAX = BLOOMERY_WORKERS_MAX, PORTION = 8192 };

/* The next portion of a share, a bloomery_source of keys in any form; 0: there is none. */
typedef size_t next_portion(void *context, uint32_t share, struct bloomery_input *keys);

struct team {
    bloomery_filter *filter;
    next_portion *next;
    void *context;
    uint32_t shares; /* the threads requested: the numbers to give to `source` */
    uint32_t taken;  /* of them; atomic */
    uint64_t adds;   /* atomic */
    bool narrow;     /* lo of all hashes is 0 */
    bool by_range;
    struct bloomery_ranges ranges;                /* where by range */
    const struct bloomery_operations *operations; /* the atomic ones, where not */
};

/* ---- What a thread does -------------------------------------------------------------------- */

static void add_word(void *context, size_t word, const bloomery_hash *hashes, size_t count)
{
    const struct team *team = context;
    const struct bloomery_layer *layer = bloomery_newest_layer(team->filter);
    (void)word;
    team->operations->add_word(layer, layer->payload, hashes, count, NULL);
}

/* `aside`: where keys wait that are added by ranges; NULL: they are not. */
static void add_portion(struct team *team, struct bloomery_aside *aside,
                        const struct bloomery_input *keys, size_t count)
{
    const struct bloomery_fast_path *fast = bloomery_fast_path_of(team->filter);
    if (aside != NULL)
        bloomery_aside_add(aside, keys, count);
    else if (fast != NULL)
        fast->add[true](team->filter, team->filter->layers, keys, count, NULL, NULL);
    else
        bloomery_pipeline(team->filter, keys, count, true, add_word, team);
}

/* Adds those that are keys, as hashes; how many they are. */
static size_t add_valid(struct team *team, struct bloomery_aside *aside,
                        const struct bloomery_input *keys, size_t count)
{
    struct bloomery_compact compact;
    const struct bloomery_input list = bloomery_input_of_hashes(compact.hashes);
    size_t added = 0;
    for (size_t i = 0; i < count; i += BLOOMERY_COMPACT) {
        const size_t now = count - i < BLOOMERY_COMPACT ? count - i : BLOOMERY_COMPACT;
        const size_t kept = bloomery_input_compact(keys, team->filter, i, now, &compact);
        if (kept > 0)
            add_portion(team, aside, &list, kept);
        added += kept;
    }
    return added;
}

static void work(void *context, uint32_t number)
{
    struct team *team = context;
    struct bloomery_aside memory, *aside = team->by_range ? &memory : NULL;
    struct bloomery_input keys;
    uint64_t adds = 0;
    if (aside != NULL)
        bloomery_aside_start(aside, &team->ranges, number);
    for (;;) {
        uint32_t share = __atomic_load_n(&team->taken, __ATOMIC_RELAXED);
        if (share >= team->shares)
            break;
        if (!__atomic_compare_exchange_n(&team->taken, &share, share + 1, false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;
        for (size_t count; (count = team->next(team->context, share, &keys)) > 0; adds += count)
            if (keys.valid != NULL)
                count = add_valid(team, aside, &keys, count);
            else
                add_portion(team, aside, &keys, count);
    }
    if (aside != NULL)
        bloomery_aside_finish(aside);
    __atomic_fetch_add(&team->adds, adds, __ATOMIC_RELAXED);
}

/* ---- The team ------------------------------------------------------------------------------ */

static bloomery_status build_together(struct team *team, bloomery_error *error)
{
    bloomery_filter *filter = team->filter;
    const uint32_t count = team->shares < THREADS_MAX ? team->shares : THREADS_MAX;
    team->by_range =
        bloomery_newest_layer(filter)->blocks > 0 && !filter->concurrent && !filter->foreign;
    team->operations = filter->kind->operations(filter->shape.cell_bits, true);
    if (team->by_range && !bloomery_ranges_start(&team->ranges, filter, count, team->narrow))
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "not enough memory to build with %u threads", count);
    bloomery_workers_run(work, team, count);
    assert(team->taken == team->shares);
    bloomery_count_adds(filter, team->adds);
    if (team->by_range)
        bloomery_ranges_end(&team->ranges);
    return BLOOMERY_OK;
}

/* ---- How many threads ------------------------------------------------------------------------ */

_Static_assert(BLOOMERY_THREADS_MAX == BLOOMERY_WORKERS_MAX, "what may be asked for can be had");

bloomery_status bloomery_threads_check(uint32_t threads, bloomery_error *error)
{
    if (threads <= BLOOMERY_THREADS_MAX || threads == BLOOMERY_THREADS_ALL)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                         "%u threads are too many: set at most %u, or BLOOMERY_THREADS_ALL for as "
                         "many as the process may run at once",
                         threads, BLOOMERY_THREADS_MAX);
}

uint32_t bloomery_threads_of(uint32_t threads)
{
    if (threads == BLOOMERY_THREADS_ALL)
        return bloomery_threads();
    return threads > 1 ? threads : 1;
}

/* ---- A caller's source ----------------------------------------------------------------------- */

struct caller {
    bloomery_source source;
    void *context;
};

static size_t next_of_caller(void *context, uint32_t share, struct bloomery_input *keys)
{
    const struct caller *caller = context;
    const bloomery_key *list = NULL;
    const size_t count = caller->source(caller->context, share, &list);
    *keys = bloomery_input_of_list(list);
    return count;
}

bloomery_status bloomery_add_from(bloomery_filter *filter, bloomery_source source, void *context,
                                  uint32_t threads, bloomery_error *error)
{
    struct caller caller = {source, context};
    struct team team = {.filter = filter, .next = next_of_caller, .context = &caller};
    bloomery_status status = bloomery_threads_check(threads, error);
    if (status == BLOOMERY_OK)
        status = bloomery_can_add(filter, error);
    if (status != BLOOMERY_OK)
        return status;
    team.shares = bloomery_threads_of(threads);
    team.narrow = filter->shape.hash == BLOOMERY_HASH_XXH3_64;
    if (team.shares > 1 && !bloomery_adds_in_order(filter))
        return build_together(&team, error);
    /* Portion by portion, in order. */
    struct bloomery_input keys;
    for (uint32_t share = 0; share < team.shares; share++)
        for (size_t count;
             status == BLOOMERY_OK && (count = next_of_caller(&caller, share, &keys)) > 0;)
            status = bloomery_add_present(filter, &keys, count, NULL, NULL, error);
    return status;
}

/* ---- Keys that are there --------------------------------------------------------------------- */

struct array {
    const struct bloomery_input *keys;
    size_t count;
    size_t taken; /* atomic */
};

/* Each call takes the next portion: a thread that is delayed delays little. */
static size_t next_of_array(void *context, uint32_t share, struct bloomery_input *keys)
{
    struct array *array = context;
    (void)share;
    size_t first = __atomic_load_n(&array->taken, __ATOMIC_RELAXED);
    size_t count = 0;
    do {
        count = array->count - first < PORTION ? array->count - first : PORTION;
    } while (count > 0 && !__atomic_compare_exchange_n(&array->taken, &first, first + count, false,
                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    *keys = bloomery_input_from(array->keys, first);
    return count;
}

bloomery_status bloomery_build_input(bloomery_filter *filter, const struct bloomery_input *keys,
                                     size_t count, uint32_t threads, bloomery_counts *counts,
                                     bloomery_error *error)
{
    struct array array = {keys, count, 0};
    const size_t portions = count / PORTION + 1;
    bloomery_status status;
    /* Looking up the limits of memory takes longer than a portion. */
    threads = portions > 1 && !bloomery_adds_in_order(filter) ? bloomery_threads_of(threads) : 1;
    if (threads > 1) {
        struct team team = {.filter = filter, .next = next_of_array, .context = &array};
        team.shares = portions < threads ? (uint32_t)portions : threads;
        /* Hashes that come from elsewhere may be of 128 bits whatever the filter makes of keys. */
        team.narrow =
            filter->shape.hash == BLOOMERY_HASH_XXH3_64 && keys->form != BLOOMERY_KEYS_HASHES128;
        status = build_together(&team, error);
        if (counts != NULL)
            counts->done = status == BLOOMERY_OK ? count : 0;
    } else {
        status = bloomery_add_present(filter, keys, count, NULL, counts, error);
    }
    if (counts != NULL)
        counts->positive = counts->cells = 0;
    return status;
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

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
    for (uint32_t which = 0; which < aside->ranges->layer->blocks_per_key; which++) {
        /* The place of block `which` (0 to L-1); this thread holds the lock of the range. */
        const struct bloomery_ranges *ranges = aside->ranges;
        const struct bloomery_layer *layer = ranges->layer;
        const size_t place = (size_t)which * ranges->count + range;
        const struct bloomery_hashes hashes = {
            aside->words + place * (place_bytes(ranges) / sizeof(uint64_t)), ranges->narrow};
        const size_t count = aside->held[place];
        assert(count <= ranges->room && count <= aside->total);
        aside->held[place] = 0;
        aside->total -= count;
        ranges->filter->operations->add_block(layer, layer->payload, hashes, count, which);
    }
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
    bloomery_key_hasher *hash_keys = bloomery_key_hasher_of(keys, ranges->filter);
    bloomery_hash hashes[BLOOMERY_WORD];
    for (size_t i = 0; i < count; i += BLOOMERY_WORD) {
        const size_t now = count - i < BLOOMERY_WORD ? count - i : BLOOMERY_WORD;
        hash_keys(keys, ranges->filter, i, now, hashes);
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
