/* SPDX-License-Identifier: Apache-2.0 */
/* All memory of the library passes here, so that a caller's allocator sees every byte. */
#ifndef BLOOMERY_BASE_MEMORY_H
#define BLOOMERY_BASE_MEMORY_H

#include <bloomery/bloomery.h>

/* `bytes` (> 0) zeroed bytes at a multiple of `alignment`, or NULL. */
void *bloomery_allocate(const bloomery_allocator *allocator, size_t bytes, size_t alignment);

/* Gives back what bloomery_allocate returned for the same numbers; NULL is fine. */
void bloomery_release(const bloomery_allocator *allocator, void *memory, size_t bytes,
                      size_t alignment);

#endif
