/* SPDX-License-Identifier: Apache-2.0 */
/* A block in NEON: four registers of two 64-bit lanes (kernels/block.h says what the functions do).
 * Shifts to the right are shifts to the left by a negative count. */
#ifndef BLOOMERY_KERNELS_BLOCK_NEON_H
#define BLOOMERY_KERNELS_BLOCK_NEON_H

#include "kernels/block.h"

#include <arm_neon.h>

#define INLINE_NEON static inline __attribute__((always_inline)) BLOOMERY_RACES_MEANT

/* The bits of a key in words 2 i and 2 i + 1. */
INLINE_NEON uint64x2_t quarter_bits_neon(uint64x2_t w, const uint64_t *window, int i)
{
    static const int64_t down[BLOOMERY_BLOCK_WORDS] = {0, -6, -12, -18, -24, -30, -36, -42};
    const uint64x2_t choices = vandq_u64(vshlq_u64(w, vld1q_s64(down + 2 * i)), vdupq_n_u64(63));
    const uint64x2_t bits = vshlq_u64(vdupq_n_u64(1), vreinterpretq_s64_u64(choices));
    return vandq_u64(bits, vld1q_u64(window + 2 * i));
}

INLINE_NEON uint64x2_t quarter_neon(const uint8_t *block, int i)
{
    return *(const volatile uint64x2_t *)(const void *)(block + 16 * i);
}

INLINE_NEON bool hits_neon(const uint8_t *block, uint64_t w, uint32_t probes)
{
    const uint64_t *window = bloomery_window(w, probes);
    uint64x2_t missing = vdupq_n_u64(0);
    for (int i = 0; i < 4; i++)
        missing = vorrq_u64(missing, vbicq_u64(quarter_bits_neon(vdupq_n_u64(w), window, i),
                                               quarter_neon(block, i)));
    return vmaxvq_u32(vreinterpretq_u32_u64(missing)) == 0;
}

INLINE_NEON uint64_t append_neon(uint64_t missed, const uint8_t *block, uint64_t w, uint32_t probes)
{
    return bloomery_append_any(missed, !hits_neon(block, w, probes));
}

INLINE_NEON uint32_t set_neon(uint8_t *block, uint64_t w, uint32_t probes)
{
    const uint64_t *window = bloomery_window(w, probes);
    uint8x16_t fresh = vdupq_n_u8(0); /* at most one bit in each half of a register, of four */
    for (int i = 0; i < 4; i++) {
        uint64_t *quarter = (uint64_t *)(void *)(block + 16 * i);
        const uint64x2_t bits = quarter_bits_neon(vdupq_n_u64(w), window, i);
        const uint64x2_t now = vld1q_u64(quarter);
        fresh = vaddq_u8(fresh, vcntq_u8(vreinterpretq_u8_u64(vbicq_u64(bits, now))));
        vst1q_u64(quarter, vorrq_u64(now, bits));
    }
    return vaddlvq_u8(fresh);
}

INLINE_NEON uint32_t count_neon(uint32_t marks)
{
    return marks;
}

INLINE_NEON bool set_any_neon(uint8_t *block, uint64_t w, uint32_t probes)
{
    return set_neon(block, w, probes) != 0;
}

INLINE_NEON uint32_t set_shared_neon(uint8_t *block, uint64_t w, uint32_t probes)
{
    const uint64_t *window = bloomery_window(w, probes);
    uint32_t fresh = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t *quarter = (uint64_t *)(void *)(block + 16 * i);
        const uint64x2_t bits = quarter_bits_neon(vdupq_n_u64(w), window, i);
        const uint64x2_t missing = vbicq_u64(bits, quarter_neon(block, i));
        if (vgetq_lane_u64(missing, 0) != 0)
            fresh += bloomery_or_shared(quarter, vgetq_lane_u64(missing, 0));
        if (vgetq_lane_u64(missing, 1) != 0)
            fresh += bloomery_or_shared(quarter + 1, vgetq_lane_u64(missing, 1));
    }
    return fresh;
}

#endif /* BLOOMERY_KERNELS_BLOCK_NEON_H */
