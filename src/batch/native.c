/* SPDX-License-Identifier: Apache-2.0 */
/* The short ways in plain C, and which are this machine's best. */
#include "batch/native.h"

#include "base/cpu.h"
#include "core/blocked.h"
#include "hash/xxh3.h"

#include <assert.h>
#include <string.h>

#define LEVEL        scalar
#define LEVEL_TARGET BLOOMERY_RACES_MEANT
#include "core/blocked_template.h"

#include "batch/native_template.h"

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
