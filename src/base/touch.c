/* SPDX-License-Identifier: Apache-2.0 */
/* See pages.h: with a kernel, and without. */
#include "base/pages.h"

/* Others may write to the same byte with plain instructions, as to all of a filter's memory; an
 * atomic OR of nothing takes none of their bits away. */
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("thread")))
#endif
void bloomery_pages_touch_each(uint8_t *memory, size_t bytes, size_t page)
{
    const volatile uint8_t nothing = 0; /* a compiler that knows the value makes a load of it */
    for (size_t at = 0; at < bytes; at += page - (uintptr_t)(memory + at) % page)
        __atomic_fetch_or(memory + at, nothing, __ATOMIC_RELAXED);
}
