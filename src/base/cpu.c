/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)

static enum bloomery_cpu detect(void)
{
    /* The builtins also ask the kernel whether it saves the registers. */
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
        return BLOOMERY_CPU_SCALAR;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return BLOOMERY_CPU_AVX512;
    return BLOOMERY_CPU_AVX2;
}

#else

static enum bloomery_cpu detect(void)
{
    return BLOOMERY_CPU_SCALAR;
}

#endif

#ifdef BLOOMERY_CPU_SWITCH

/* A level below the processor's; the suite runs at each. */
static enum bloomery_cpu lowered(enum bloomery_cpu best)
{
    static const char *const names[] = {"scalar", "avx2", "avx512"};
    const char *wanted = getenv("BLOOMERY_CPU");
    for (int level = 0; wanted != NULL && level < (int)best; level++)
        if (strcmp(wanted, names[level]) == 0)
            return (enum bloomery_cpu)level;
    return best;
}

#else

static enum bloomery_cpu lowered(enum bloomery_cpu best)
{
    return best;
}

#endif

enum bloomery_cpu bloomery_cpu_level(void)
{
    /* 0: not asked yet, else level + 1. Threads that ask at once find the same. */
    static int known;
    int level = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (level == 0) {
        level = (int)lowered(detect()) + 1;
        __atomic_store_n(&known, level, __ATOMIC_RELAXED);
    }
    return (enum bloomery_cpu)(level - 1);
}
