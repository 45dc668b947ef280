/* SPDX-License-Identifier: Apache-2.0 */
/* A filter like blocked-1's, asked and filled one key at a time by the code that is compiled into
 * the caller: of three, the one that the processor runs best. BLOOMERY_CPU does not change it, for
 * it is the caller's code. */
#include "inline.h"

#include <stdlib.h>

struct inlined {
    bloomery_filter *filter;
    bloomery_inline taken;
    bloomery_inline_adder adder;
    const struct bench_inline_loops *loops;
};

static const struct bench_inline_loops *loops_of_processor(void)
{
#if defined(BENCH_INLINE_X86)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return &bench_inline_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        return &bench_inline_avx2;
#endif
    return &bench_inline_plain;
}

static void *make(uint32_t variant, const struct bench_case *wanted, struct bench_facts *facts)
{
    bloomery_error error;
    struct inlined *inlined = bench_allocate(sizeof *inlined);
    inlined->filter = bench_blocked_make(wanted, variant, false, facts);
    inlined->loops = loops_of_processor();
    facts->kernel = inlined->loops->kernel;
    if (bloomery_inline_of(inlined->filter, &inlined->taken, &error) != BLOOMERY_OK ||
        bloomery_inline_adder_of(inlined->filter, &inlined->adder, &error) != BLOOMERY_OK)
        bench_fail("%s", error.text);
    return inlined;
}

static uint64_t add(void *context, const struct bench_chunk *chunk)
{
    const struct inlined *inlined = context;
    return inlined->loops->add(&inlined->adder, chunk);
}

static uint64_t query(void *context, const struct bench_chunk *chunk)
{
    const struct inlined *inlined = context;
    return inlined->loops->query(&inlined->taken, chunk);
}

static void clear(void *context)
{
    const struct inlined *inlined = context;
    bench_clear(inlined->filter);
}

static void release(void *context)
{
    struct inlined *inlined = context;
    bench_release(inlined->filter);
    free(inlined);
}

const struct bench_contestant bench_inline[] = {
    {
        .name = "inline",
        .role = BENCH_OURS,
        .variant = 1,
        .make = make,
        .clear = clear,
        .release = release,
        .operations = {add, NULL, query, NULL},
    },
    {.name = NULL},
};
