/* SPDX-License-Identifier: Apache-2.0 */
/* All memory of the library passes here, so that a caller's allocator sees every byte. */
#ifndef BLOOMERY_BASE_MEMORY_H
#define BLOOMERY_BASE_MEMORY_H

#include <bloomery/bloomery.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `bytes` (> 0) zeroed bytes at a multiple of `alignment`, or NULL. */
void *bloomery_allocate(const bloomery_allocator *allocator, size_t bytes, size_t alignment);

/* Gives back what bloomery_allocate returned for the same numbers; NULL is fine. */
void bloomery_release(const bloomery_allocator *allocator, void *memory, size_t bytes,
                      size_t alignment);

/* ---- Memory by the page ---------------------------------------------------------------------- */

/* For large blocks. */

#define BLOOMERY_HUGE_PAGE ((size_t)2 << 20)

/* Returns the smallest number of bytes that is allocated by the page; SIZE_MAX: none is. */
size_t bloomery_pages_from(void);

enum { BLOOMERY_PAGES_ALIGNMENT = 4096 }; /* that mmap guarantees on any Linux */

/* `bytes` zeroed bytes, or NULL; and back. From 2 MiB on in huge pages, or not. */
void *bloomery_pages_take(size_t bytes, bool huge);
void bloomery_pages_give(void *memory, size_t bytes);

/* Faults in the pages of a block now rather than when they are first written to. Changes no byte,
 * even if other threads write there at the same time. Returns the offset it reached: less than
 * `bytes` if memory ran out. */
size_t bloomery_pages_touch(uint8_t *memory, size_t bytes);

/* The same by writing to a byte of every `page` bytes what is there already. Others may write to
 * the same byte with plain instructions, as to all of a filter's memory; an atomic OR of nothing
 * takes none of their bits away. */
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("thread")))
#endif
static inline void
bloomery_pages_touch_each(uint8_t *memory, size_t bytes, size_t page)
{
    const volatile uint8_t nothing = 0; /* a compiler that knows the value makes a load of it */
    for (size_t at = 0; at < bytes; at += page - (uintptr_t)(memory + at) % page)
        __atomic_fetch_or(memory + at, nothing, __ATOMIC_RELAXED);
}

/* Advises the kernel to serve these bytes with huge pages, or without; nothing fails if it does
 * not. */
void bloomery_pages_wish(void *memory, size_t bytes, bool huge);

/* Leaves the pages that these bytes lie in out of core dumps, since a secret is among them. They
 * stay out until they are given back to the system. Only a wish, and only for the first
 * thousands of a process: each may cut a mapping in three, and their number is limited. */
void bloomery_pages_hide(const void *memory, size_t bytes);

/* Fresh zero pages for `bytes` bytes at a multiple of 2 MiB, with these rights (PROT_...), given
 * back by munmap; or NULL. Only so can the kernel use huge pages for all that fits into them. */
void *bloomery_pages(size_t bytes, int rights);

#endif /* BLOOMERY_BASE_MEMORY_H */
