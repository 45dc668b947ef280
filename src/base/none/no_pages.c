/* SPDX-License-Identifier: Apache-2.0 */
/* base/pages.h where there is no kernel to ask: all memory is the C library's. */
#include "base/pages.h"

#include <stdint.h>

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
