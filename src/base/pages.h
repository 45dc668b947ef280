/* SPDX-License-Identifier: Apache-2.0 */
/* Memory by the page, for large blocks. */
#ifndef BLOOMERY_BASE_PAGES_H
#define BLOOMERY_BASE_PAGES_H

#include <stddef.h>

#define BLOOMERY_HUGE_PAGE ((size_t)2 << 20)

/* Blocks of at least so many bytes are taken by the page; SIZE_MAX: none are. */
size_t bloomery_pages_from(void);

enum { BLOOMERY_PAGES_ALIGNMENT = 4096 }; /* that mmap guarantees on any Linux */

/* `bytes` zeroed bytes, or NULL; and back. */
void *bloomery_pages_take(size_t bytes);
void bloomery_pages_give(void *memory, size_t bytes);

/* Fresh zero pages for `bytes` bytes at a multiple of 2 MiB, with these rights (PROT_...), given
 * back by munmap; or NULL. Only so can the kernel use huge pages for all that fits into them. */
void *bloomery_pages(size_t bytes, int rights);

#endif
