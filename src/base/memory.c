/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without an allocator of the caller's, small blocks come from the C library and large ones from
 * the kernel: those arrive as zero pages that cost nothing until they are touched, so that an empty
 * 100 GB filter is made in microseconds.
 */
#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const size_t map_from = (size_t)1 << 20;
static const size_t page = 4096; /* the least alignment that mmap guarantees on any Linux */

static bool is_mapped(const bloomery_allocator *allocator, size_t bytes, size_t alignment)
{
    return allocator->allocate == NULL && bytes >= map_from && alignment <= page;
}

void *bloomery_allocate(const bloomery_allocator *allocator, size_t bytes, size_t alignment)
{
    void *memory = NULL;
    assert(bytes > 0);
    assert(alignment > 0 && (alignment & (alignment - 1)) == 0);
    if (is_mapped(allocator, bytes, alignment)) {
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return memory == MAP_FAILED ? NULL : memory;
    }
    if (allocator->allocate != NULL) {
        memory = allocator->allocate(allocator->context, bytes, alignment);
    } else {
        size_t least = alignment < sizeof(void *) ? sizeof(void *) : alignment;
        if (posix_memalign(&memory, least, bytes) != 0)
            memory = NULL;
    }
    if (memory != NULL && (uintptr_t)memory % alignment != 0) { /* not what was asked for */
        allocator->release(allocator->context, memory, bytes, alignment);
        memory = NULL;
    }
    if (memory != NULL)
        memset(memory, 0, bytes);
    return memory;
}

void bloomery_release(const bloomery_allocator *allocator, void *memory, size_t bytes,
                      size_t alignment)
{
    if (memory == NULL)
        return;
    if (is_mapped(allocator, bytes, alignment))
        munmap(memory, bytes);
    else if (allocator->allocate != NULL)
        allocator->release(allocator->context, memory, bytes, alignment);
    else
        free(memory);
}
