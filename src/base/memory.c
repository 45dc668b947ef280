/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without an allocator of the caller's, small pieces of memory come from the C library and large
 * ones from the kernel (base/system.c).
 *
 * The kernel gives a container addresses for more memory than it may use, and ends who touches too
 * much of it. So large blocks are held to what the container can still give. One that would take
 * most of that gets small pages: a key that touches a huge page takes 2 MiB, and a filter that is
 * planned for more keys than come would take all of its memory.
 */
#include "base/memory.h"
#include "base/system.h"
#include "base/threads.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool is_paged(const bloomery_allocator *allocator, size_t bytes, size_t alignment)
{
    return allocator->allocate == NULL && bytes >= bloomery_pages_from() &&
           alignment <= BLOOMERY_PAGES_ALIGNMENT;
}

enum { LOOK_BYTES = 4 << 20 }; /* for less the container's limit is not looked up */

void *bloomery_allocate(const bloomery_allocator *allocator, size_t bytes, size_t alignment)
{
    void *memory = NULL;
    assert(bytes > 0);
    assert(alignment > 0 && (alignment & (alignment - 1)) == 0);
    if (is_paged(allocator, bytes, alignment)) {
        const uint64_t most = bytes < LOOK_BYTES ? UINT64_MAX : bloomery_limits_container();
        return bytes > most ? NULL : bloomery_pages_take(bytes, bytes <= most / 2);
    }
    const bool zeroed = allocator->allocate_zeroed != NULL;
    if (zeroed) {
        memory = allocator->allocate_zeroed(allocator->context, bytes, alignment);
    } else if (allocator->allocate != NULL) {
        memory = allocator->allocate(allocator->context, bytes, alignment);
    } else {
        size_t least = alignment < sizeof(void *) ? sizeof(void *) : alignment;
        if (posix_memalign(&memory, least, bytes) != 0)
            memory = NULL;
    }
    if (memory != NULL && (uintptr_t)memory % alignment != 0) { /* not what was requested */
        allocator->release(allocator->context, memory, bytes, alignment);
        memory = NULL;
    }
    if (memory != NULL && !zeroed)
        memset(memory, 0, bytes);
    return memory;
}

void bloomery_release(const bloomery_allocator *allocator, void *memory, size_t bytes,
                      size_t alignment)
{
    if (memory == NULL)
        return;
    assert(bytes > 0 && (uintptr_t)memory % alignment == 0);
    if (is_paged(allocator, bytes, alignment))
        bloomery_pages_give(memory, bytes);
    else if (allocator->allocate != NULL)
        allocator->release(allocator->context, memory, bytes, alignment);
    else
        free(memory);
}

/* ---- Locks ----------------------------------------------------------------------------------- */

/* Their memory; what a lock is, the system says (base/threads.c). */

struct bloomery_lock *bloomery_locks_make(const bloomery_allocator *allocator, uint32_t count)
{
    assert(count > 0);
    struct bloomery_lock *locks =
        bloomery_allocate(allocator, count * sizeof *locks, sizeof *locks);
    for (uint32_t i = 0; locks != NULL && i < count; i++)
        if (!bloomery_lock_begin(&locks[i])) {
            for (uint32_t made = 0; made < i; made++)
                bloomery_lock_end(&locks[made]);
            bloomery_release(allocator, locks, count * sizeof *locks, sizeof *locks);
            locks = NULL;
        }
    return locks;
}

void bloomery_locks_free(const bloomery_allocator *allocator, struct bloomery_lock *locks,
                         uint32_t count)
{
    if (locks == NULL)
        return;
    for (uint32_t i = 0; i < count; i++)
        bloomery_lock_end(&locks[i]);
    bloomery_release(allocator, locks, count * sizeof *locks, sizeof *locks);
}
