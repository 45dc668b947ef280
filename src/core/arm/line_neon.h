/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line of a blocked filter in NEON: four registers of 16 bytes.
 *
 * Asking. Four registers are what the widest table lookup (tbl) takes as one table: bits 3 to 8 of
 * a position name the byte, bits 0 to 2 the bit in it. The seven positions of a word become seven
 * 16-bit lanes without a shift of the word itself: lane t gets its bytes t and t + 1, and position
 * t, which begins at bit 9 t = 8 t + t of the word, begins at bit t of that lane:
 *
 *     lane      0     1     2    ...   6     bytes 0-1, 1-2, 2-3, ... 6-7 of the word
 *     >> t      p0    p1    p2   ...   p6    what stands above them is cut off by masks
 *     found     line[p >> 3]                 tbl; the lanes' upper bytes find something too, unused
 *     missing   1 << (p & 7) without found   none left: all are set
 *
 * Adding. The k bits are collected in registers and go to memory as one OR of the whole line, as in
 * the kernels for x86. A bit is its 64-bit lane's bit in all lanes, cut down by a mask of that lane
 * from a small table: eight instructions for four registers, beside the loads. A shift that finds
 * its lane by itself, as AVX-512 has it, takes the lowest byte of its count only, which reaches but
 * half a line; comparing each byte's number with p >> 3 takes twelve.
 */
#ifndef BLOOMERY_CORE_ARM_LINE_NEON_H
#define BLOOMERY_CORE_ARM_LINE_NEON_H

#include "core/derive.h"

#include <arm_neon.h>
#include <stdbool.h>

#define INLINE_NEON static inline __attribute__((always_inline))

/* Lanes 0 to 6 of a word's positions, each with other bits above it. */
INLINE_NEON uint16x8_t positions_neon(uint64_t word)
{
    static const uint8_t bytes[16] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 7};
    static const int16_t down[8] = {0, -1, -2, -3, -4, -5, -6, -7};
    uint8x16_t spread = vqtbl1q_u8(vreinterpretq_u8_u64(vdupq_n_u64(word)), vld1q_u8(bytes));
    return vshlq_u16(vreinterpretq_u16_u8(spread), vld1q_s16(down));
}

INLINE_NEON bool hits_neon(const uint8_t *line, uint64_t word, uint32_t slots)
{
    static const int16_t down[8] = {0, -1, -2, -3, -4, -5, -6, -7};
    /* 1 in the lanes asked for. */
    const uint16x8_t asked =
        vandq_u16(vshlq_u16(vdupq_n_u16((uint16_t)slots), vld1q_s16(down)), vdupq_n_u16(1));
    const uint8x16x4_t table = vld1q_u8_x4(line);
    uint16x8_t positions = positions_neon(word);
    uint16x8_t byte = vandq_u16(vshrq_n_u16(positions, 3), vdupq_n_u16(63));
    uint16x8_t found = vreinterpretq_u16_u8(vqtbl4q_u8(table, vreinterpretq_u8_u16(byte)));
    uint16x8_t bit = vshlq_u16(asked, vreinterpretq_s16_u16(vandq_u16(positions, vdupq_n_u16(7))));
    uint8x8_t missing = vmovn_u16(vbicq_u16(bit, found));
    return vget_lane_u64(vreinterpret_u64_u8(missing), 0) == 0;
}

/* Lane i of the line, all its bits. */
static const uint64_t only_lane[8][8] __attribute__((aligned(64))) = {
#define LANE(i)          \
    {                    \
        [i] = UINT64_MAX \
    }
    LANE(0), LANE(1), LANE(2), LANE(3), LANE(4),
    LANE(5), LANE(6), LANE(7)
#undef LANE
};

INLINE_NEON uint64x2x4_t zero_neon(void)
{
    const uint64x2_t none = vdupq_n_u64(0);
    return (uint64x2x4_t){{none, none, none, none}};
}

INLINE_NEON uint64x2x4_t mark_neon(uint64x2x4_t line, uint64_t word, uint32_t first, uint32_t count)
{
    for (uint32_t slot = first; slot < first + count; slot++) {
        uint64_t position = word >> (slot * BLOOMERY_POSITION_BITS);
        const uint64_t *lane = only_lane[position >> 6 & 7];
        uint64x2_t bit = vdupq_n_u64((uint64_t)1 << (position & 63));
        for (int i = 0; i < 4; i++)
            line.val[i] = vorrq_u64(line.val[i], vandq_u64(bit, vld1q_u64(lane + 2 * i)));
    }
    return line;
}

INLINE_NEON uint8x16_t register_at(const uint8_t *line, int i)
{
    return vld1q_u8(line + 16 * i);
}

INLINE_NEON bool merge_neon(uint8_t *at, uint64x2x4_t line)
{
    uint8x16_t fresh = vdupq_n_u8(0);
    for (int i = 0; i < 4; i++) {
        uint8x16_t before = register_at(at, i);
        uint8x16_t bits = vreinterpretq_u8_u64(line.val[i]);
        fresh = vorrq_u8(fresh, vbicq_u8(bits, before));
        vst1q_u8(at + 16 * i, vorrq_u8(before, bits));
    }
    return vmaxvq_u32(vreinterpretq_u32_u8(fresh)) != 0;
}

INLINE_NEON uint64_t fresh_neon(const uint8_t *at, uint64x2x4_t line)
{
    uint8x16_t counts = vdupq_n_u8(0); /* at most 8 from each of four registers */
    for (int i = 0; i < 4; i++) {
        uint8x16_t bits = vreinterpretq_u8_u64(line.val[i]);
        counts = vaddq_u8(counts, vcntq_u8(vbicq_u8(bits, register_at(at, i))));
    }
    return vaddlvq_u8(counts);
}

#endif
