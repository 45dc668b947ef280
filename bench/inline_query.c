/* SPDX-License-Identifier: Apache-2.0 */
/* One key at a time by the query that is compiled into the caller. meson.build gives the name and
 * the flags: that header sees by the compiler's macros for which processor it is compiled, so
 * attributes of functions would change nothing. */
#include "inline.h"

uint64_t BENCH_INLINE_QUERY(const bloomery_inline *taken, const struct bench_chunk *chunk)
{
    const bloomery_inline filter = *taken;
    uint64_t found = 0;
    if (chunk->type == BENCH_INTEGERS)
        for (size_t i = 0; i < chunk->count; i++)
            found += bloomery_inline_may_contain(&filter, &chunk->numbers[i], 8);
    else if (chunk->type == BENCH_IDS)
        for (size_t i = 0; i < chunk->count; i++)
            found += bloomery_inline_may_contain(&filter, chunk->keys[i].data, 12);
    else
        for (size_t i = 0; i < chunk->count; i++)
            found +=
                bloomery_inline_may_contain(&filter, chunk->keys[i].data, chunk->keys[i].bytes);
    return found;
}
