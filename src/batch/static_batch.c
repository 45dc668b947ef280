/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of static filters in plain C, and which are this machine's best. */
#include "batch/static_batch.h"

#include "base/bits.h"
#include "base/cpu.h"
#include "batch/static_parities.h"

#include <string.h>

#define LEVEL        scalar
#define LEVEL_NAME   "scalar"
#define LEVEL_TARGET __attribute__((flatten))

#define INLINE static inline __attribute__((always_inline))

/* A word's parity, one after the other. No branch on what is found so far: half of all absent keys
 * end at each column, and a branch would be mispredicted once a key. */
INLINE uint32_t parities_scalar(const uint8_t *block, const uint8_t *next, uint32_t mask,
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

INLINE uint32_t bumped_scalar(const uint8_t *thresholds, const uint64_t *starts)
{
    return bloomery_static_bumped(thresholds, starts);
}

#include "batch/static_template.h"

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
