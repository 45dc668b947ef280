/* SPDX-License-Identifier: Apache-2.0 */
/* Without an allocator of the caller's, small pieces of memory come from the C library and large
 * ones from the kernel (base/pages.c). */
#include "base/memory.h"

#include "base/pages.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static bool is_paged(const bloomery_allocator *allocator, size_t bytes, size_t alignment)
{
    return allocator->allocate == NULL && bytes >= bloomery_pages_from() &&
           alignment <= BLOOMERY_PAGES_ALIGNMENT;
}

void *bloomery_allocate(const bloomery_allocator *allocator, size_t bytes, size_t alignment)
{
    void *memory = NULL;
    assert(bytes > 0);
    assert(alignment > 0 && (alignment & (alignment - 1)) == 0);
    if (is_paged(allocator, bytes, alignment))
        return bloomery_pages_take(bytes);
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
