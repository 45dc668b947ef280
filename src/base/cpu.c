/* SPDX-License-Identifier: Apache-2.0 */
/* See cpu.h. */
#include "base/cpu.h"
#include "base/bits.h"

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

enum bloomery_cpu bloomery_cpu_level(void)
{
    /* 0: not known yet, else level + 1. Threads that look at once find the same. */
    static int known;
    int level = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (level == 0) {
        enum bloomery_cpu best = detect();
#ifdef BLOOMERY_CPU_SWITCH
        const char *wanted = getenv("BLOOMERY_CPU");
        if (wanted != NULL && wanted[0] != '\0')
            best = bloomery_cpu_named(wanted, best);
#endif
        level = (int)best + 1;
        __atomic_store_n(&known, level, __ATOMIC_RELAXED);
    }
    return (enum bloomery_cpu)(level - 1);
}

/* ---- Set bits of whole payloads -------------------------------------------------------------- */

/* Set bits of whole payloads, as fast as memory gives them. */

#if defined(__x86_64__)

/* Four sums: one would wait for itself, three cycles for each word. */
__attribute__((target("popcnt"))) static uint64_t count_popcnt(const uint8_t *bytes, size_t words)
{
    uint64_t sums[4] = {0};
    uint64_t four[4];
    size_t i = 0;
    for (; i + 4 <= words; i += 4) {
        memcpy(four, bytes + 8 * i, sizeof four);
        for (size_t j = 0; j < 4; j++)
            sums[j] += (uint64_t)__builtin_popcountll(four[j]);
    }
    for (; i < words; i++) {
        memcpy(four, bytes + 8 * i, 8);
        sums[0] += (uint64_t)__builtin_popcountll(four[0]);
    }
    return sums[0] + sums[1] + sums[2] + sums[3];
}

uint64_t bloomery_count_payload(const uint8_t *bytes, size_t words)
{
    return bloomery_cpu_level() >= BLOOMERY_CPU_AVX2 ? count_popcnt(bytes, words)
                                                     : bloomery_count_bits(bytes, words);
}

#else

uint64_t bloomery_count_payload(const uint8_t *bytes, size_t words)
{
    return bloomery_count_bits(bytes, words);
}

#endif
