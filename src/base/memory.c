/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Without an allocator of the caller's, small pieces of memory come from the C library and large
 * ones from the kernel. Those arrive as zero pages that cost nothing until they are touched, so an
 * empty 100 GB filter is made in microseconds.
 *
 * From 2 MiB on they begin at a multiple of 2 MiB, and the kernel is advised to use huge pages.
 * Every key touches a cache line somewhere else, and with pages of 4 KiB it also waits for the
 * translation of the address. Only whole huge pages are used, and the rest stays on small ones. So
 * no memory is taken beyond what was requested:
 *
 *     |<- aligned, 2 MiB ->|<---- 2 MiB ---->|<- rest, 4 KiB pages ->|
 *     ^ block
 *
 * A kernel without huge pages ignores the wish.
 */
#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t map_from = (size_t)1 << 20;
static const size_t page = 4096; /* the minimum alignment that mmap guarantees on any Linux */

static bool is_mapped(const bloomery_allocator *allocator, size_t bytes, size_t alignment)
{
    return allocator->allocate == NULL && bytes >= map_from && alignment <= page;
}

void *bloomery_pages(size_t bytes, int rights)
{
    const size_t unit = (size_t)sysconf(_SC_PAGESIZE);
    if (bytes > SIZE_MAX - 2 * BLOOMERY_HUGE_PAGE || unit > BLOOMERY_HUGE_PAGE)
        return NULL;
    /* More than enough is taken, and what is too much given back. */
    const size_t whole = (bytes + unit - 1) / unit * unit;
    const size_t taken = whole + BLOOMERY_HUGE_PAGE - unit;
    uint8_t *first = mmap(NULL, taken, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (first == MAP_FAILED)
        return NULL;
    const size_t before = (size_t)(-(uintptr_t)first % BLOOMERY_HUGE_PAGE);
    assert(before + whole <= taken);
    if (before > 0)
        munmap(first, before);
    if (taken > before + whole)
        munmap(first + before + whole, taken - before - whole);
    return first + before;
}

void *bloomery_allocate(const bloomery_allocator *allocator, size_t bytes, size_t alignment)
{
    void *memory = NULL;
    assert(bytes > 0);
    assert(alignment > 0 && (alignment & (alignment - 1)) == 0);
    if (is_mapped(allocator, bytes, alignment) && bytes >= BLOOMERY_HUGE_PAGE) {
        memory = bloomery_pages(bytes, PROT_READ | PROT_WRITE);
        if (memory != NULL) { /* a wish: no matter if it is not granted */
            madvise(memory, bytes, MADV_HUGEPAGE);
            return memory;
        } /* else there may still be address space for the block itself, unaligned */
    }
    if (is_mapped(allocator, bytes, alignment)) {
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return memory == MAP_FAILED ? NULL : memory;
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
    if (is_mapped(allocator, bytes, alignment))
        munmap(memory, bytes);
    else if (allocator->allocate != NULL)
        allocator->release(allocator->context, memory, bytes, alignment);
    else
        free(memory);
}
