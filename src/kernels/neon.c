/* SPDX-License-Identifier: Apache-2.0 */
/* All kernels for 64-bit ARM. Their answers are those of kernels/scalar.c, bit for bit. */
#include "base/cpu.h"

#if defined(BLOOMERY_ARM_KERNELS)

#include "base/bits.h"
#include "hash/xxh3.h"
#include "kernels/block_neon.h"
#include "kernels/fast_path.h"
#include "kernels/lanes.h"
#include "kinds/blocked.h"
#include "kinds/chain.h"
#include "kinds/static.h"

#include <arm_neon.h>
#include <assert.h>
#include <string.h>

/* ---- Blocked filters ------------------------------------------------------------------------- */

#define LEVEL        neon
#define LEVEL_LANES  scalar
#define LEVEL_NAME   "neon"
#define LEVEL_TARGET BLOOMERY_RACES_MEANT
#include "kernels/block_template.h"

#include "kernels/fast_path_template.h"
#include "kernels/single_template.h"

/* ---- Static filters -------------------------------------------------------------------------- */

#undef LEVEL_TARGET
#define LEVEL_TARGET __attribute__((flatten))

/* The bits of each byte in words 2 i and 2 i + 1. */
LEVEL_INLINE uint8x16_t quarter_counts(const uint8_t *block, const uint8_t *next, int i,
                                       uint64_t first, uint64_t second)
{
    const uint64x2_t one = vreinterpretq_u64_u8(vld1q_u8(block + 16 * i));
    const uint64x2_t two = vreinterpretq_u64_u8(vld1q_u8(next + 16 * i));
    const uint64x2_t rows =
        veorq_u64(vandq_u64(one, vdupq_n_u64(first)), vandq_u64(two, vdupq_n_u64(second)));
    return vcntq_u8(vreinterpretq_u8_u64(rows));
}

/* The counts of bytes are added in pairs until a byte is left of each word; its lowest bit is the
 * word's parity. */
LEVEL_INLINE uint32_t parities_neon(const uint8_t *block, const uint8_t *next, uint32_t mask,
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

LEVEL_INLINE uint32_t bumped_neon(const uint8_t *thresholds, const uint64_t *starts)
{
    return bloomery_static_bumped(thresholds, starts);
}

#include "kernels/static_template.h"

#endif
