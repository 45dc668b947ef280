/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__x86_64__)

#include "batch/static_batch.h"

#include "base/bits.h"

#include <string.h>

#define LEVEL      vpopcntdq
#define LEVEL_NAME "avx512-vpopcntdq"
#define LEVEL_TARGET \
    __attribute__((  \
        target("avx512vpopcntdq,avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt")))
#define INLINE LEVEL_TARGET static inline __attribute__((always_inline))

#include "batch/x86/static_parities_avx512.h"

/* A processor with VPOPCNTDQ counts the bits of each word by itself. */
INLINE uint32_t parities_vpopcntdq(const uint8_t *block, const uint8_t *next, uint32_t mask,
                                   uint64_t first, uint64_t second)
{
    const __m512i rows = bloomery_selected_rows(block, next, mask, first, second);
    return _mm512_test_epi64_mask(_mm512_popcnt_epi64(rows), _mm512_set1_epi64(1));
}

INLINE uint32_t bumped_vpopcntdq(const uint8_t *thresholds, const uint64_t *starts)
{
    return bloomery_bumped_avx512(thresholds, starts);
}

#include "batch/static_template.h"

#endif
