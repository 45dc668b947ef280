/* SPDX-License-Identifier: Apache-2.0 */
/* One key at a time by the query and the add that are compiled into the caller. meson.build gives
 * the name and the flags: that header sees by the compiler's macros for which processor it is
 * compiled, so attributes of functions would change nothing. */
#include "inline.h"

/* A function that counts for how many keys of a chunk CALL of their bytes is true. Integers and IDs
 * have a length that the compiler knows. */
#define LOOP(name, handle, call)                                                   \
    static uint64_t name(const handle *taken, const struct bench_chunk *chunk)     \
    {                                                                              \
        const handle filter = *taken;                                              \
        uint64_t count = 0;                                                        \
        if (chunk->type == BENCH_INTEGERS)                                         \
            for (size_t i = 0; i < chunk->count; i++)                              \
                count += call(&filter, &chunk->numbers[i], 8);                     \
        else if (chunk->type == BENCH_IDS)                                         \
            for (size_t i = 0; i < chunk->count; i++)                              \
                count += call(&filter, chunk->keys[i].data, 12);                   \
        else                                                                       \
            for (size_t i = 0; i < chunk->count; i++)                              \
                count += call(&filter, chunk->keys[i].data, chunk->keys[i].bytes); \
        return count;                                                              \
    }

LOOP(query, bloomery_inline, bloomery_inline_may_contain)
LOOP(add, bloomery_inline_adder, bloomery_inline_add)

const struct bench_inline_loops BENCH_INLINE_LOOPS = {BENCH_INLINE_KERNEL, query, add};
