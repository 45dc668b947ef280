/* SPDX-License-Identifier: Apache-2.0 */
/* See cpu.h. */
#include "base/cpu.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* In rising order. */
static const struct {
    const char *name;
    enum bloomery_cpu level;
} levels[] = {
    {"scalar", BLOOMERY_CPU_SCALAR},
#if defined(__x86_64__)
    {"avx2", BLOOMERY_CPU_AVX2},
    {"avx512", BLOOMERY_CPU_AVX512},
    {"avx512-vpopcntdq", BLOOMERY_CPU_VPOPCNTDQ},
#elif defined(BLOOMERY_ARM_KERNELS)
    {"neon", BLOOMERY_CPU_NEON},
#endif
};

static enum bloomery_cpu detect(void)
{
#if defined(__x86_64__)
    /* The builtins also check with the kernel whether it saves the registers. */
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
        return BLOOMERY_CPU_SCALAR;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl"))
        return BLOOMERY_CPU_AVX2;
    return __builtin_cpu_supports("avx512vpopcntdq") ? BLOOMERY_CPU_VPOPCNTDQ : BLOOMERY_CPU_AVX512;
#elif defined(BLOOMERY_ARM_KERNELS)
    return BLOOMERY_CPU_NEON;
#else
    return BLOOMERY_CPU_SCALAR;
#endif
}

enum bloomery_cpu bloomery_cpu_named(const char *name, enum bloomery_cpu best)
{
    for (size_t i = 0; i < sizeof levels / sizeof levels[0] && levels[i].level <= best; i++)
        if (strcmp(name, levels[i].name) == 0)
            return levels[i].level;
    return BLOOMERY_CPU_SCALAR;
}

static enum bloomery_cpu choose(void)
{
    enum bloomery_cpu best = detect();
#ifdef BLOOMERY_CPU_SWITCH
    const char *wanted = getenv("BLOOMERY_CPU");
    if (wanted != NULL && wanted[0] != '\0')
        return bloomery_cpu_named(wanted, best);
#endif
    return best;
}

enum bloomery_cpu bloomery_cpu_level(void)
{
    /* 0: not known yet, else level + 1. Threads that look at once find the same. */
    static int known;
    int level = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (level == 0) {
        level = (int)choose() + 1;
        __atomic_store_n(&known, level, __ATOMIC_RELAXED);
    }
    return (enum bloomery_cpu)(level - 1);
}
