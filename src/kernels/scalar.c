/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels in plain C, which define all answers, and which kernels are this machine's best. */
#include "base/bits.h"
#include "base/cpu.h"
#include "hash/xxh3.h"
#include "kernels/native.h"
#include "kinds/blocked.h"
#include "kinds/static.h"

#include <assert.h>
#include <string.h>

/* ---- Blocked filters ------------------------------------------------------------------------- */

#define LEVEL        scalar
#define LEVEL_NAME   "scalar"
#define LEVEL_TARGET BLOOMERY_RACES_MEANT
#include "kernels/block_template.h"

#include "kernels/blocked_operations_template.h"

#include "kernels/native_template.h"

/* ---- Static filters -------------------------------------------------------------------------- */

#undef LEVEL_TARGET
#define LEVEL_TARGET __attribute__((flatten))

/* A word's parity, one after the other. No branch on what is found so far: half of all absent keys
 * end at each column, and a branch would be mispredicted once a key. */
LEVEL_INLINE uint32_t parities_scalar(const uint8_t *block, const uint8_t *next, uint32_t mask,
                                      uint64_t first, uint64_t second)
{
    uint32_t found = 0;
    for (uint32_t j = 0; mask >> j != 0; j++) {
        const uint64_t bits = (bloomery_load_u64(block + (size_t)8 * j) & first) ^
                              (bloomery_load_u64(next + (size_t)8 * j) & second);
        found |= (uint32_t)__builtin_parityll(bits) << j;
    }
    return found;
}

LEVEL_INLINE uint32_t bumped_scalar(const uint8_t *thresholds, const uint64_t *starts)
{
    return bloomery_static_bumped(thresholds, starts);
}

#include "kernels/static_template.h"

/* ---- The best of this machine ---------------------------------------------------------------- */

const struct bloomery_native *bloomery_native_best(void)
{
    switch (bloomery_cpu_level()) {
#if defined(__x86_64__)
    case BLOOMERY_CPU_AVX512:
    case BLOOMERY_CPU_VPOPCNTDQ:
        return &bloomery_native_avx512;
    case BLOOMERY_CPU_AVX2:
        return &bloomery_native_avx2;
#elif defined(BLOOMERY_ARM_KERNELS)
    case BLOOMERY_CPU_NEON:
        return &bloomery_native_neon;
#endif
    default:
        return &bloomery_native_scalar;
    }
}

const struct bloomery_native *bloomery_static_best(void)
{
    const enum bloomery_cpu level = bloomery_cpu_level();
#if defined(__x86_64__)
    if (level >= BLOOMERY_CPU_VPOPCNTDQ)
        return &bloomery_static_vpopcntdq;
    if (level >= BLOOMERY_CPU_AVX512)
        return &bloomery_static_avx512;
    if (level >= BLOOMERY_CPU_AVX2)
        return &bloomery_static_avx2;
#elif defined(BLOOMERY_ARM_KERNELS)
    if (level >= BLOOMERY_CPU_NEON)
        return &bloomery_static_neon;
#endif
    (void)level;
    return &bloomery_static_scalar;
}

const struct bloomery_native *const bloomery_short_ways[BLOOMERY_SHORT_WAYS] = {
    NULL,
    &bloomery_native_scalar,
    &bloomery_static_scalar,
#if defined(__x86_64__)
    &bloomery_native_avx2,
    &bloomery_native_avx512,
    &bloomery_static_avx2,
    &bloomery_static_avx512,
    &bloomery_static_vpopcntdq,
#elif defined(BLOOMERY_ARM_KERNELS)
    &bloomery_native_neon,
    &bloomery_static_neon,
#endif
};
