/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Large blocks of memory from the kernel. They arrive as zero pages that cost nothing until they
 * are touched, so an empty 100 GB filter is made in microseconds.
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
#include "base/pages.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

size_t bloomery_pages_from(void)
{
    return (size_t)1 << 20;
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

void bloomery_pages_wish(void *memory, size_t bytes, bool huge)
{
#if defined(MADV_HUGEPAGE)
    (void)madvise(memory, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#else /* other systems join pages by themselves */
    (void)memory;
    (void)bytes;
    (void)huge;
#endif
}

/* Of the 65530 mappings that a process may have. */
enum { HIDDEN_MAX = 8192 };

void bloomery_pages_hide(const void *memory, size_t bytes)
{
#if defined(MADV_DONTDUMP)
    static unsigned hidden;
    const uintptr_t unit = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = (uintptr_t)memory / unit * unit;
    if (__atomic_load_n(&hidden, __ATOMIC_RELAXED) >= HIDDEN_MAX)
        return;
    __atomic_fetch_add(&hidden, 1, __ATOMIC_RELAXED);
    (void)madvise((void *)begin, (uintptr_t)memory + bytes - begin, MADV_DONTDUMP);
#else
    (void)memory;
    (void)bytes;
#endif
}

void *bloomery_pages_take(size_t bytes, bool huge)
{
    void *memory = NULL;
    if (bytes >= BLOOMERY_HUGE_PAGE)
        memory = bloomery_pages(bytes, PROT_READ | PROT_WRITE);
    if (memory != NULL) {
        bloomery_pages_wish(memory, bytes, huge);
        return memory;
    } /* else there may still be address space for the block itself, unaligned */
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void bloomery_pages_give(void *memory, size_t bytes)
{
    munmap(memory, bytes);
}

/* Since Linux 5.14; the headers may be older. */
#if defined(__linux__) && !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23
#endif

enum { STEP = 4 << 20 }; /* bytes that are touched, or not, together */

/* Lets the kernel fault in these pages. Returns whether it did; `no_memory` says whether it has
 * none. Any other failure, such as memory of a device or a kernel without the call, is not one: the
 * caller then touches the pages one by one. */
static bool populate(void *memory, size_t bytes, bool *no_memory)
{
    *no_memory = false;
#if defined(MADV_POPULATE_WRITE)
    if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0)
        return true;
    *no_memory = errno == ENOMEM || errno == EAGAIN || errno == EHWPOISON;
#else
    (void)memory;
    (void)bytes;
#endif
    return false;
}

size_t bloomery_pages_touch(uint8_t *memory, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < bytes;) {
        const size_t now = bytes - at < STEP ? bytes - at : STEP;
        const size_t before = (uintptr_t)(memory + at) % page; /* madvise takes whole pages */
        bool no_memory;
        if (!populate(memory + at - before, before + now, &no_memory)) {
            if (no_memory)
                return at;
            bloomery_pages_touch_each(memory + at, now, page);
        }
        at += now;
    }
    return bytes;
}
