/* SPDX-License-Identifier: Apache-2.0 */
#include "core/block.h"

/* clang-format off */
#define ROW(a, b, c, d, e, f, g, h) \
    {-(uint64_t)(a), -(uint64_t)(b), -(uint64_t)(c), -(uint64_t)(d), \
     -(uint64_t)(e), -(uint64_t)(f), -(uint64_t)(g), -(uint64_t)(h), \
     -(uint64_t)(a), -(uint64_t)(b), -(uint64_t)(c), -(uint64_t)(d), \
     -(uint64_t)(e), -(uint64_t)(f), -(uint64_t)(g), -(uint64_t)(h)}
const uint64_t bloomery_window_words[BLOOMERY_BLOCK_PROBES + 1][2 * BLOOMERY_BLOCK_WORDS]
    __attribute__((aligned(64))) = {
    ROW(0, 0, 0, 0, 0, 0, 0, 0),
    ROW(1, 0, 0, 0, 0, 0, 0, 0),
    ROW(1, 1, 0, 0, 0, 0, 0, 0),
    ROW(1, 1, 1, 0, 0, 0, 0, 0),
    ROW(1, 1, 1, 1, 0, 0, 0, 0),
    ROW(1, 1, 1, 1, 1, 0, 0, 0),
    ROW(1, 1, 1, 1, 1, 1, 0, 0),
    ROW(1, 1, 1, 1, 1, 1, 1, 0),
    ROW(1, 1, 1, 1, 1, 1, 1, 1),
};
#undef ROW
/* clang-format on */

/* k ones, rotated upwards by 0 to 7 of 8 bits. */
#define TURN(ones, first) (((ones) << (first) | (ones) >> (8 - (first))) & 0xff)
#define ROW(ones)                                                                                 \
    {                                                                                             \
        TURN(ones, 0), TURN(ones, 1), TURN(ones, 2), TURN(ones, 3), TURN(ones, 4), TURN(ones, 5), \
            TURN(ones, 6), TURN(ones, 7)                                                          \
    }
const uint8_t bloomery_window_bits[BLOOMERY_BLOCK_PROBES + 1][BLOOMERY_BLOCK_WORDS] = {
    ROW(0x00), ROW(0x01), ROW(0x03), ROW(0x07), ROW(0x0f),
    ROW(0x1f), ROW(0x3f), ROW(0x7f), ROW(0xff),
};
#undef ROW
#undef TURN
