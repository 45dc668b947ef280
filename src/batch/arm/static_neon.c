/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#if defined(BLOOMERY_ARM_KERNELS)

#include "batch/static_batch.h"

#include "base/bits.h"
#include "batch/static_parities.h"

#include <arm_neon.h>
#include <string.h>

#define LEVEL        neon
#define LEVEL_NAME   "neon"
#define LEVEL_TARGET __attribute__((flatten))
#define INLINE       static inline __attribute__((always_inline))

/* The bits of each byte in words 2 i and 2 i + 1. */
INLINE uint8x16_t quarter_counts(const uint8_t *block, const uint8_t *next, int i, uint64_t first,
                                 uint64_t second)
{
    const uint64x2_t one = vreinterpretq_u64_u8(vld1q_u8(block + 16 * i));
    const uint64x2_t two = vreinterpretq_u64_u8(vld1q_u8(next + 16 * i));
    const uint64x2_t rows =
        veorq_u64(vandq_u64(one, vdupq_n_u64(first)), vandq_u64(two, vdupq_n_u64(second)));
    return vcntq_u8(vreinterpretq_u8_u64(rows));
}

/* The counts of bytes are added in pairs until a byte is left of each word; its lowest bit is the
 * word's parity. */
INLINE uint32_t parities_neon(const uint8_t *block, const uint8_t *next, uint32_t mask,
                              uint64_t first, uint64_t second)
{
    static const uint8_t weights[8] = {1, 2, 4, 8, 16, 32, 64, 128};
    (void)mask; /* what lies behind the words is the layer's as well */
    const uint8x16_t low = vpaddq_u8(quarter_counts(block, next, 0, first, second),
                                     quarter_counts(block, next, 1, first, second));
    const uint8x16_t high = vpaddq_u8(quarter_counts(block, next, 2, first, second),
                                      quarter_counts(block, next, 3, first, second));
    const uint8x16_t pairs = vpaddq_u8(low, high);
    const uint8x8_t words = vget_low_u8(vpaddq_u8(pairs, pairs));
    return vaddv_u8(vmul_u8(vand_u8(words, vdup_n_u8(1)), vld1_u8(weights)));
}

INLINE uint32_t bumped_neon(const uint8_t *thresholds, const uint64_t *starts)
{
    return bloomery_static_bumped(thresholds, starts);
}

#include "batch/static_template.h"

#endif
