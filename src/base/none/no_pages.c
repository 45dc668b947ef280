/* SPDX-License-Identifier: Apache-2.0 */
/* base/pages.h and limits.h where there is no kernel to ask: all memory is the C library's. */
#include "base/limits.h"
#include "base/pages.h"

size_t bloomery_pages_from(void)
{
    return SIZE_MAX;
}

/* Never called, then: no block is as large. */
void *bloomery_pages_take(size_t bytes, bool huge)
{
    (void)bytes;
    (void)huge;
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

const char *bloomery_limits_root(void)
{
    return "";
}

void bloomery_limits_read(const char *root, bloomery_limits *limits)
{
    (void)root;
    limits->machine = limits->machine_left = UINT64_MAX;
    limits->container = limits->container_left = UINT64_MAX;
    limits->process = limits->process_left = UINT64_MAX;
}

uint64_t bloomery_limits_container(void)
{
    return UINT64_MAX;
}

uint64_t bloomery_limits_spare(uint64_t limit, uint64_t left)
{
    (void)limit;
    return left;
}
