/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single counters of 4 bits, two to a byte and the low half first, or of 8 bits. At its maximum a
 * counter no longer knows what it stands for, and nothing moves it from there (core/counting.c).
 */
#ifndef BLOOMERY_CORE_COUNTERS_H
#define BLOOMERY_CORE_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

/* A counter of so many bits stays at this. */
INLINE uint32_t bloomery_counter_max(const uint32_t bits)
{
    return (1u << bits) - 1;
}

/* `bits` and `atomic` are constants wherever these are called, and leave no branch behind. */

INLINE size_t bloomery_counter_byte(uint64_t position, const uint32_t bits)
{
    return (size_t)(bits == 4 ? position >> 1 : position);
}

INLINE uint32_t bloomery_counter_shift(uint64_t position, const uint32_t bits)
{
    return bits == 4 ? (uint32_t)(position & 1) * 4 : 0;
}

INLINE uint32_t bloomery_counter_get(const uint8_t *cells, uint64_t position, const uint32_t bits,
                                     const bool atomic)
{
    const uint8_t *byte = cells + bloomery_counter_byte(position, bits);
    const uint32_t value = atomic ? __atomic_load_n(byte, __ATOMIC_RELAXED) : *byte;
    return value >> bloomery_counter_shift(position, bits) & bloomery_counter_max(bits);
}

/* Relaxed order does: a counter publishes nothing but itself. */
INLINE bool bloomery_swap_byte(uint8_t *byte, uint8_t *before, uint32_t after, const bool atomic)
{
    if (atomic)
        return __atomic_compare_exchange_n(byte, before, (uint8_t)after, true, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED);
    *byte = (uint8_t)after;
    return true;
}

/* `times` more, the maximum at most. What it was before. */
INLINE uint32_t bloomery_counter_raise(uint8_t *cells, uint64_t position, uint32_t times,
                                       const uint32_t bits, const bool atomic)
{
    const uint32_t shift = bloomery_counter_shift(position, bits);
    const uint32_t most = bloomery_counter_max(bits);
    uint8_t *byte = cells + bloomery_counter_byte(position, bits);
    uint8_t now = atomic ? __atomic_load_n(byte, __ATOMIC_RELAXED) : *byte;
    for (;;) {
        const uint32_t value = (uint32_t)now >> shift & most;
        const uint32_t more = times < most - value ? times : most - value;
        if (more == 0 || bloomery_swap_byte(byte, &now, now + (more << shift), atomic))
            return value;
    }
}

/* `times` less, unless it is at its maximum. What it was before; where that is less than `times`,
 * nothing was changed. */
INLINE uint32_t bloomery_counter_lower(uint8_t *cells, uint64_t position, uint32_t times,
                                       const uint32_t bits, const bool atomic)
{
    const uint32_t shift = bloomery_counter_shift(position, bits);
    uint8_t *byte = cells + bloomery_counter_byte(position, bits);
    uint8_t now = atomic ? __atomic_load_n(byte, __ATOMIC_RELAXED) : *byte;
    for (;;) {
        const uint32_t value = (uint32_t)now >> shift & bloomery_counter_max(bits);
        if (value == bloomery_counter_max(bits) || value < times ||
            bloomery_swap_byte(byte, &now, now - (times << shift), atomic))
            return value;
    }
}

#undef INLINE

#endif
