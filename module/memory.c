/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter's memory comes from the server, so that the server counts it.
 *
 * Three things stand between the two. The library wants blocks at multiples of 64, the server gives
 * multiples of 16 or 8: a block is taken larger, and the four bytes before what the library gets say
 * how far it was moved. The library wants zeros, and Redis 7.0 has no function that returns them
 * without ending the server if there is no memory: pages within a block that may hold something are
 * handed back to the kernel, which gives zeros at the first touch. And what a client asks for is
 * held to the limits here, before anything is taken: whoever makes a filter or lets it grow need not
 * know how large it will be.
 */
#include "bf.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    LAZY_BYTES = 256 * 1024, /* less is cheaper to write over than to ask the kernel for */
    ASK_BYTES = 1024 * 1024, /* for less the server's memory is not looked up */
    LEAST_ALIGNMENT = 16,
    SHIFT_BYTES = 4,
};

/* The client for whom memory is taken; NULL: nobody's limits count. */
static server_context *asking;

void bf_limits(server_context *context)
{
    asking = context;
}

/* What maxmemory leaves. */
static uint64_t room_of_server(void)
{
    uint64_t most = 0;
    uint64_t used = 0;
    int error = 0;
    if (server.GetServerInfo == NULL || server.ServerInfoGetFieldUnsigned == NULL ||
        server.FreeServerInfo == NULL)
        return UINT64_MAX;
    server_facts *facts = server.GetServerInfo(NULL, "memory");
    if (facts == NULL)
        return UINT64_MAX;
    most = server.ServerInfoGetFieldUnsigned(facts, "maxmemory", &error);
    if (error == 0 && most > 0)
        used = server.ServerInfoGetFieldUnsigned(facts, "used_memory", &error);
    server.FreeServerInfo(NULL, facts);
    if (error != 0 || most == 0)
        return UINT64_MAX;
    return used < most ? most - used : 0;
}

bool bf_is_limited(server_context *context)
{
    return (server.GetContextFlags(context) &
            (SERVER_CONTEXT_REPLICATED | SERVER_CONTEXT_LOADING)) == 0;
}

static bool is_allowed(const struct bf_value *value, uint64_t bytes)
{
    const uint64_t limit = (uint64_t)bf_config.memory_limit;
    if (asking == NULL || !bf_is_limited(asking))
        return true;
    if (limit > 0 && (bytes > limit || value->bytes > limit - bytes))
        return false;
    return bytes < ASK_BYTES || bytes <= room_of_server();
}

static void clear(uint8_t *memory, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t before = (page - (uintptr_t)memory % page) % page;
    if (bytes < LAZY_BYTES || before >= bytes) {
        memset(memory, 0, bytes);
        return;
    }
    const size_t pages = (bytes - before) / page * page;
    const size_t after = bytes - before - pages;
    assert(before + pages + after == bytes);
    if (madvise(memory + before, pages, MADV_DONTNEED) != 0)
        memset(memory + before, 0, pages); /* locked memory, say */
    memset(memory, 0, before);
    memset(memory + before + pages, 0, after);
}

/* The block of the server's in which the library's lies. */
static uint8_t *block_of(void *memory)
{
    uint32_t shift;
    memcpy(&shift, (uint8_t *)memory - SHIFT_BYTES, SHIFT_BYTES);
    assert(shift >= SHIFT_BYTES);
    return (uint8_t *)memory - shift;
}

/* Where in a block the library's bytes begin. */
static uint32_t shift_in(const uint8_t *block, size_t alignment)
{
    return (uint32_t)(alignment - (uintptr_t)block % alignment);
}

static void *take(void *context, size_t bytes, size_t alignment)
{
    struct bf_value *value = context;
    const size_t unit = alignment < LEAST_ALIGNMENT ? LEAST_ALIGNMENT : alignment;
    size_t room;
    if (__builtin_add_overflow(bytes, unit, &room))
        return NULL;
    if (!is_allowed(value, room)) {
        atomic_fetch_add(&bf_counts.refusals, 1);
        return NULL;
    }
    uint8_t *block = server.TryAlloc(room);
    if (block == NULL)
        return NULL;
    const uint32_t shift = shift_in(block, unit);
    assert(shift >= SHIFT_BYTES && shift <= unit);
    memcpy(block + shift - SHIFT_BYTES, &shift, SHIFT_BYTES);
    clear(block + shift, bytes);
    value->bytes += room;
    atomic_fetch_add(&bf_counts.memory_bytes, room);
    return block + shift;
}

static void give(void *context, void *memory, size_t bytes, size_t alignment)
{
    struct bf_value *value = context;
    const size_t room = bytes + (alignment < LEAST_ALIGNMENT ? LEAST_ALIGNMENT : alignment);
    assert(value->bytes >= room);
    value->bytes -= room;
    atomic_fetch_sub(&bf_counts.memory_bytes, room);
    server.Free(block_of(memory));
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
 * the library's bytes move within it. */
static void *move(void *context, void *memory, size_t bytes, size_t alignment)
{
    const size_t unit = alignment < LEAST_ALIGNMENT ? LEAST_ALIGNMENT : alignment;
    uint8_t *old = block_of(memory);
    const uint32_t before = (uint32_t)((uint8_t *)memory - old);
    uint8_t *block = server.DefragAlloc(context, old);
    if (block == NULL)
        return NULL;
    const uint32_t shift = shift_in(block, unit);
    if (shift != before)
        memmove(block + shift, block + before, bytes);
    memcpy(block + shift - SHIFT_BYTES, &shift, SHIFT_BYTES);
    atomic_fetch_add(&bf_counts.defrag_moves, 1);
    return block + shift;
}

int bf_defrag(server_defrag *defrag, server_string *key, void **value)
{
    struct bf_value *held = *value;
    (void)key;
    /* What the thread of populate.c is at stays where it is. */
    if (server.DefragAlloc != NULL && bf_config.defrag != 0 && atomic_load(&held->holders) == 1)
        (void)bloomery_move(&held->filter, move, defrag);
    return 0; /* all of it is done */
}
