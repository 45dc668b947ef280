/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A block in NEON: four registers of two 64-bit lanes (kernels/block.h says what the functions do,
 * and block_avx2.h has the layout of a test). Shifts to the right are shifts to the left by a
 * negative count.
 *
 * Hashes and places are those of plain C (kernels/lanes.h). NEON has products of 32 bits for two
 * lanes (umull). A product of 64 bits would take seven instructions for two keys, and the fold of a
 * product of 128 bits some sixteen. AArch64 has mul and umulh: one instruction for a key, and three
 * for its fold.
 */
#ifndef BLOOMERY_KERNELS_BLOCK_NEON_H
#define BLOOMERY_KERNELS_BLOCK_NEON_H

#include "kernels/block.h"

#include <arm_neon.h>
#include <stddef.h>

#define INLINE_NEON static inline __attribute__((always_inline)) BLOOMERY_RACES_MEANT

/* w, shifted so that the six lowest bits are the choices for words 2 i and 2 i + 1. */
INLINE_NEON uint64x2_t quarter_choices_neon(uint64_t w, int i)
{
    static const int64_t down[BLOOMERY_BLOCK_WORDS] = {0, -6, -12, -18, -24, -30, -36, -42};
    return vshlq_u64(vdupq_n_u64(w), vld1q_s64(down + 2 * i));
}

/* The bits of a key in these words. `window` NULL: all words. */
INLINE_NEON uint64x2_t quarter_bits_neon(uint64_t w, const uint64_t *window, int i)
{
    const uint64x2_t choices = vandq_u64(quarter_choices_neon(w, i), vdupq_n_u64(63));
    const uint64x2_t bits = vshlq_u64(vdupq_n_u64(1), vreinterpretq_s64_u64(choices));
    return window == NULL ? bits : vandq_u64(bits, vld1q_u64(window + 2 * i));
}

INLINE_NEON const uint64_t *window_neon(uint64_t w, uint32_t probes)
{
    return probes == BLOOMERY_BLOCK_PROBES ? NULL : bloomery_window(w, probes);
}

INLINE_NEON uint64x2_t quarter_neon(const uint8_t *block, int i)
{
    return *(const volatile uint64x2_t *)(const void *)(block + 16 * i);
}

/* The words of the window that lack their bit, as the signs of two halves. Each word is shifted so
 * that its bit becomes its sign. */
INLINE_NEON uint64_t missing_neon(const uint8_t *block, uint64_t w, uint32_t probes)
{
    const uint64_t *window = window_neon(w, probes);
    uint64x2_t all = vdupq_n_u64(window == NULL ? UINT64_MAX : 0);
    for (int i = 0; i < 4; i++) {
        const uint64x2_t up = vbicq_u64(vdupq_n_u64(63), quarter_choices_neon(w, i));
        const uint64x2_t signs = vshlq_u64(quarter_neon(block, i), vreinterpretq_s64_u64(up));
        all = window == NULL ? vandq_u64(all, signs)
                             : vorrq_u64(all, vbicq_u64(vld1q_u64(window + 2 * i), signs));
    }
    const uint32x2_t halves = vshrn_n_u64(all, 32);
    const uint64_t both = vget_lane_u64(vreinterpret_u64_u32(halves), 0);
    return (window == NULL ? ~both : both) & UINT64_C(0x8000000080000000);
}

INLINE_NEON bool hits_neon(const uint8_t *block, uint64_t w, uint32_t probes)
{
    return missing_neon(block, w, probes) == 0;
}

INLINE_NEON uint64_t append_neon(uint64_t missed, const uint8_t *block, uint64_t w, uint32_t probes)
{
    return bloomery_append_any(missed, !hits_neon(block, w, probes));
}

INLINE_NEON uint32_t set_neon(uint8_t *block, uint64_t w, uint32_t probes)
{
    const uint64_t *window = window_neon(w, probes);
    uint8x16_t fresh = vdupq_n_u8(0); /* at most one bit in each half of a register, of four */
    for (int i = 0; i < 4; i++) {
        uint64_t *quarter = (uint64_t *)(void *)(block + 16 * i);
        const uint64x2_t bits = quarter_bits_neon(w, window, i);
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
    const uint64_t *window = window_neon(w, probes);
    uint32_t fresh = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t *quarter = (uint64_t *)(void *)(block + 16 * i);
        const uint64x2_t bits = quarter_bits_neon(w, window, i);
        const uint64x2_t missing = vbicq_u64(bits, quarter_neon(block, i));
        if (vgetq_lane_u64(missing, 0) != 0)
            fresh += bloomery_or_shared(quarter, vgetq_lane_u64(missing, 0));
        if (vgetq_lane_u64(missing, 1) != 0)
            fresh += bloomery_or_shared(quarter + 1, vgetq_lane_u64(missing, 1));
    }
    return fresh;
}

#endif /* BLOOMERY_KERNELS_BLOCK_NEON_H */
