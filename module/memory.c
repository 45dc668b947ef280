/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter's memory comes from the server, so that the server counts it.
 *
 * Three things stand between the two. The library wants blocks at multiples of 64, and the server
 * promises multiples of 16 or 8. Its jemalloc gives multiples of 64 for all but some small sizes.
 * Where it did not, a larger block is taken, and the library's bytes lie further back in it. The
 * byte behind them says so:
 *
 *     | 0 to 56 bytes | the library's bytes | mark | unused |
 *     ^ block         ^ a multiple of 64
 *
 * The library wants zeros, and Redis 7.0 has no function that returns them and survives if
 * memory is exhausted: pages within a block that may hold something are handed back to the
 * kernel, which gives zeros at the first touch. And what a client asks for is held to the limits
 * here, before anything is allocated: the code that makes a filter or lets it grow need not know
 * how large it will be.
 */
#define BLOOMERY_EXPERIMENTAL

#include "bf.h"

#include <assert.h>
#include <bloomery/experimental.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ASK_BYTES = 1024 * 1024, /* for less the server's memory is not looked up */
    SERVER_ALIGNMENT = 8,
    SHIFT_UNITS = 0x7f, /* of a mark: how far back, in units of the server's alignment */
    IS_LARGER = 0x80,   /* the block is one of those larger ones */
};

/* The client for whom memory is taken; NULL: nobody's limits count. */
static server_context *asking;
static uint64_t beside_bytes; /* that its key has besides */

void bf_limits(server_context *context, uint64_t beside)
{
    asking = context;
    beside_bytes = beside;
}

/* maxmemory, the memory that counts against it, and whether the server evicts keys beyond it.
 * False: there is no maxmemory. */
static bool read_maxmemory(uint64_t *most, uint64_t *used, bool *evicts)
{
    int error = 0;
    int no_use = 0;
    if (server.GetServerInfo == NULL || server.ServerInfoGetFieldUnsigned == NULL ||
        server.FreeServerInfo == NULL)
        return false;
    server_facts *facts = server.GetServerInfo(NULL, "memory");
    if (facts == NULL)
        return false;
    *most = server.ServerInfoGetFieldUnsigned(facts, "maxmemory", &error);
    *used = server.ServerInfoGetFieldUnsigned(facts, "used_memory", &no_use);
    const char *policy = server.ServerInfoGetFieldC != NULL
                             ? server.ServerInfoGetFieldC(facts, "maxmemory_policy")
                             : NULL;
    *evicts = policy != NULL && strcmp(policy, "noeviction") != 0;
    server.FreeServerInfo(NULL, facts);
    return error == 0 && no_use == 0 && *most > 0;
}

/* What maxmemory leaves. A server that evicts keys makes room for what is new. There only a key
 * that with the bytes it `has` already is larger than all of maxmemory does not fit. */
static uint64_t room_of_server(uint64_t has)
{
    uint64_t most, used;
    bool evicts;
    if (!read_maxmemory(&most, &used, &evicts))
        return UINT64_MAX;
    if (evicts)
        used = has;
    return used < most ? most - used : 0;
}

/* What the server's jemalloc takes for a block: above 16 KiB there are four sizes between a power
 * of two and the next. */
static uint64_t taken_for(uint64_t bytes)
{
    if (bytes < ASK_BYTES)
        return bytes;
    const uint64_t step = UINT64_C(1) << (61 - __builtin_clzll(bytes - 1));
    assert(step <= bytes / 4 + 1);
    return (bytes + step - 1) / step * step;
}

/* The kernel gives addresses for more memory than the machine or the container has, and ends who
 * touches it. So the whole key must fit in the machine, with the bytes it `has` already; and
 * generations of a window that are made one after the other, none of them touched yet, must fit
 * together in what is left. What filters have not touched yet still counts as free in a container,
 * so all of them together are held to its limit too. NULL, or the count of refusals that names the
 * reason. */
static atomic_ullong *refused_by_system(uint64_t has, uint64_t bytes)
{
    bloomery_limits limits = BLOOMERY_LIMITS;
    bloomery_limits_get(&limits);
    const uint64_t taken = atomic_load(&bf_counts.memory_bytes);
    const uint64_t container = limits.container - limits.container / 16;
    if (bytes >= limits.machine || has >= limits.machine - bytes)
        return &bf_counts.refused_by_machine;
    if (bytes >= container || taken >= container - bytes)
        return &bf_counts.refused_by_container;
    if (bytes < limits.room && beside_bytes < limits.room - bytes)
        return NULL;
    return bytes < limits.process_left && beside_bytes < limits.process_left - bytes
               ? &bf_counts.refused_by_container
               : &bf_counts.refused_by_process;
}

bool bf_is_tight(uint64_t bytes)
{
    uint64_t most, used;
    bool evicts;
    if (bytes < ASK_BYTES || !read_maxmemory(&most, &used, &evicts))
        return false;
    return used >= most || taken_for(bytes) > most - used;
}

bool bf_can_load(uint64_t bytes, uint64_t *left)
{
    bloomery_limits limits = BLOOMERY_LIMITS;
    *left = UINT64_MAX;
    if (bytes < ASK_BYTES)
        return true;
    bloomery_limits_get(&limits);
    *left = limits.container_left < limits.machine ? limits.container_left : limits.machine;
    return bytes <= *left;
}

/* NULL, or the count of refusals that names the reason. */
static atomic_ullong *refused_by(const struct bf_value *value, uint64_t bytes)
{
    const uint64_t limit = (uint64_t)bf_config.memory_limit;
    const uint64_t has = value->bytes + beside_bytes;
    if (asking == NULL || !bf_is_limited(asking))
        return NULL;
    if (limit > 0 && (bytes > limit || has > limit - bytes))
        return &bf_counts.refused_by_key_limit;
    if (bytes < ASK_BYTES)
        return NULL;
    atomic_ullong *reason = refused_by_system(has, bytes);
    if (reason == NULL && taken_for(bytes) > room_of_server(has))
        reason = &bf_counts.refused_by_maxmemory;
    return reason;
}

static void refuse(atomic_ullong *reason)
{
    atomic_fetch_add(&bf_counts.refusals, 1);
    atomic_fetch_add(reason, 1);
}

void *bf_try_alloc(size_t bytes)
{
    void *memory = server.TryAlloc(bytes);
    if (memory == NULL)
        refuse(&bf_counts.refused_by_allocator);
    return memory;
}

/* BF.CLEAR and BF.ROTATE put an empty filter in the place of a full one, which is released later.
 * New addresses come from the kernel, which gives none while it makes huge pages (populate.c): it
 * then waits for all processors, and on a busy machine a command waited up to 37 ms. So addresses
 * are asked for when the filter is made, and given back at once. The servers' allocator keeps
 * them, without memory, for the next block of that size; another allocator gives them back to the
 * kernel. */
void bf_keep_addresses(const struct bf_value *value)
{
    bloomery_limits limits = BLOOMERY_LIMITS;
    if (bf_config.prefault == 0 || value->bytes < BF_POPULATED_BYTES)
        return;
    bloomery_limits_get(&limits);
    if (value->bytes >= limits.process_left / 2) /* addresses may be limited */
        return;
    void *block = server.TryAlloc((size_t)value->bytes);
    if (block != NULL)
        server.Free(block);
}

static void clear(uint8_t *memory, size_t bytes)
{
    size_t before;
    if (bytes < BF_LAZY_BYTES) {
        memset(memory, 0, bytes);
        return;
    }
    const size_t pages = bf_whole_pages(memory, bytes, &before);
    const size_t after = bytes - before - pages;
    assert(before + pages + after == bytes);
    if (madvise(memory + before, pages, MADV_DONTNEED) != 0)
        memset(memory + before, 0, pages); /* locked memory, say */
    memset(memory, 0, before);
    memset(memory + before + pages, 0, after);
}

/* How far into a block the library's bytes begin. */
static size_t shift_in(const uint8_t *block, size_t alignment)
{
    return (alignment - (uintptr_t)block % alignment) % alignment;
}

/* How much larger a block has to be for any shift. */
static size_t slack_of(size_t alignment)
{
    return alignment > SERVER_ALIGNMENT ? alignment - SERVER_ALIGNMENT : 0;
}

static size_t shift_of(uint8_t mark)
{
    return (size_t)(mark & SHIFT_UNITS) * SERVER_ALIGNMENT;
}

/* How many bytes the server allocates for `bytes` of the library. */
static size_t room_of(size_t bytes, size_t alignment, uint8_t mark)
{
    return bytes + 1 + ((mark & IS_LARGER) != 0 ? slack_of(alignment) : 0);
}

static uint8_t mark_for(const uint8_t *block, size_t alignment)
{
    const size_t shift = shift_in(block, alignment);
    assert(shift % SERVER_ALIGNMENT == 0 && shift <= slack_of(alignment));
    return (uint8_t)(shift / SERVER_ALIGNMENT) | IS_LARGER;
}

static void *take(void *context, size_t bytes, size_t alignment)
{
    struct bf_value *value = context;
    uint8_t mark = 0;
    size_t most;
    if (__builtin_add_overflow(bytes, 1 + slack_of(alignment), &most))
        return NULL;
    atomic_ullong *reason = refused_by(value, most);
    if (reason != NULL) {
        refuse(reason);
        return NULL;
    }
    uint8_t *block = bf_try_alloc(bytes + 1);
    if (block != NULL && shift_in(block, alignment) > 0) {
        server.Free(block);
        block = bf_try_alloc(most);
        mark = block != NULL ? mark_for(block, alignment) : 0;
    }
    if (block == NULL)
        return NULL;
    uint8_t *memory = block + shift_of(mark);
    assert((uintptr_t)memory % alignment == 0);
    clear(memory, bytes);
    memory[bytes] = mark;
    value->bytes += room_of(bytes, alignment, mark);
    atomic_fetch_add(&bf_counts.memory_bytes, room_of(bytes, alignment, mark));
    return memory;
}

static void give(void *context, void *memory, size_t bytes, size_t alignment)
{
    struct bf_value *value = context;
    const uint8_t mark = ((uint8_t *)memory)[bytes];
    const size_t room = room_of(bytes, alignment, mark);
    assert((mark & IS_LARGER) != 0 || mark == 0);
    assert(value->bytes >= room);
    bf_populate_forget(value, memory, bytes);
    value->bytes -= room;
    atomic_fetch_sub(&bf_counts.memory_bytes, room);
    server.Free((uint8_t *)memory - shift_of(mark));
}

bloomery_allocator bf_allocator(struct bf_value *value)
{
    return (bloomery_allocator){
        .allocate = take,
        .release = give,
        .context = value,
        .allocate_zeroed = take,
    };
}

/* The server copies a block as it is. Where that one begins at another place of a line of memory,
 * the library's bytes move within it, if it is a larger one. Else the library copies them once
 * more. */
void *bf_move(void *defrag, void *memory, size_t bytes, size_t alignment)
{
    uint8_t mark = ((uint8_t *)memory)[bytes];
    const size_t before = shift_of(mark);
    uint8_t *block = server.DefragAlloc(defrag, (uint8_t *)memory - before);
    if (block == NULL)
        return NULL;
    if ((mark & IS_LARGER) != 0)
        mark = mark_for(block, alignment);
    uint8_t *now = block + shift_of(mark);
    assert((mark & IS_LARGER) == 0 || (uintptr_t)now % alignment == 0);
    if (shift_of(mark) != before)
        memmove(now, block + before, bytes);
    now[bytes] = mark;
    atomic_fetch_add(&bf_counts.defrag_moves, 1);
    return now;
}
