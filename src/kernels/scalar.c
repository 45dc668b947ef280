/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels in plain C, which define all answers, and which kernels are this machine's best. */
#include "base/bits.h"
#include "base/cpu.h"
#include "hash/xxh3.h"
#include "kernels/fast_path.h"
#include "kernels/lanes.h"
#include "kinds/blocked.h"
#include "kinds/chain.h"
#include "kinds/static.h"

#include <assert.h>
#include <string.h>

/* ---- Blocked filters ------------------------------------------------------------------------- */

#define LEVEL        scalar
#define LEVEL_LANES  scalar
#define LEVEL_NAME   "scalar"
#define LEVEL_TARGET BLOOMERY_RACES_MEANT
#include "kernels/block_template.h"

#include "kernels/fast_path_template.h"
#include "kernels/single_template.h"

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

const struct bloomery_fast_path *bloomery_fast_path_best(void)
{
    switch (bloomery_cpu_level()) {
#if defined(__x86_64__)
    case BLOOMERY_CPU_AVX512:
    case BLOOMERY_CPU_VPOPCNTDQ:
        return &bloomery_fast_avx512;
    case BLOOMERY_CPU_AVX2:
        return &bloomery_fast_avx2;
#elif defined(BLOOMERY_ARM_KERNELS)
    case BLOOMERY_CPU_NEON:
        return &bloomery_fast_neon;
#endif
    default:
        return &bloomery_fast_scalar;
    }
}

const struct bloomery_fast_path *bloomery_fast_static_best(void)
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

const struct bloomery_fast_path *const bloomery_fast_paths[BLOOMERY_FAST_PATHS] = {
    NULL,
    &bloomery_fast_scalar,
    &bloomery_static_scalar,
#if defined(__x86_64__)
    &bloomery_fast_avx2,
    &bloomery_fast_avx512,
    &bloomery_static_avx2,
    &bloomery_static_avx512,
    &bloomery_static_vpopcntdq,
#elif defined(BLOOMERY_ARM_KERNELS)
    &bloomery_fast_neon,
    &bloomery_static_neon,
#endif
};
