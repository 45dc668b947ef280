/* SPDX-License-Identifier: Apache-2.0 */
/* base/pages.h where there is no kernel to ask: all memory is the C library's. */
#include "base/pages.h"

size_t bloomery_pages_from(void)
{
    return SIZE_MAX;
}

/* Never called, then: no block is as large. */
void *bloomery_pages_take(size_t bytes)
{
    (void)bytes;
    return NULL;
}

void bloomery_pages_give(void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}

void bloomery_pages_hide(const void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
}

size_t bloomery_pages_touch(uint8_t *memory, size_t bytes)
{
    bloomery_pages_touch_each(memory, bytes, BLOOMERY_PAGES_ALIGNMENT);
    return bytes;
}
