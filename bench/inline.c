/* SPDX-License-Identifier: Apache-2.0 */
/* blocked-1's filter, queried one key at a time by the query that is compiled into the caller: of
 * three, the one that the processor runs best. BLOOMERY_CPU does not change it, for it is the
 * caller's code. */
#include "inline.h"

#include <stdlib.h>

struct inlined {
    bloomery_inline taken;
    bench_inline_loop *loop;
};

static bench_inline_loop *loop_of_processor(const char **kernel)
{
#if defined(BENCH_INLINE_X86)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
        *kernel = "avx512";
        return bench_inline_query_avx512;
    }
    if (__builtin_cpu_supports("avx2")) {
        *kernel = "avx2";
        return bench_inline_query_avx2;
    }
#endif
    *kernel = "scalar";
    return bench_inline_query_plain;
}

static void *make(uint32_t variant, const struct bench_case *wanted, struct bench_facts *facts)
{
    const bloomery_filter *filter = bench_borrow("inline", variant, facts);
    bloomery_error error;
    (void)wanted;
    if (filter == NULL)
        return NULL;
    struct inlined *inlined = bench_allocate(sizeof *inlined);
    inlined->loop = loop_of_processor(&facts->kernel);
    if (bloomery_inline_of(filter, &inlined->taken, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    return inlined;
}

static uint64_t query(void *context, const struct bench_chunk *chunk)
{
    const struct inlined *inlined = context;
    return inlined->loop(&inlined->taken, chunk);
}

const struct bench_contestant bench_inline[] = {
    {
        .name = "inline",
        .role = BENCH_OURS,
        .variant = 1,
        .make = make,
        .clear = bench_leave,
        .release = free,
        .operations = {NULL, NULL, query, NULL},
    },
    {.name = NULL},
};
