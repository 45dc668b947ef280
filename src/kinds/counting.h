/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single counters of 4 bits, two to a byte and the low half first, or of 8 bits. A counter at its
 * maximum is saturated: nothing moves it from there (kinds/counting.c).
 */
#ifndef BLOOMERY_KINDS_COUNTING_H
#define BLOOMERY_KINDS_COUNTING_H

#include "kinds/kinds.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

/* Returns the value at which a counter of `bits` bits saturates. */
INLINE uint32_t bloomery_counter_max(const uint32_t bits)
{
    assert(bits == 4 || bits == 8);
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

/* Relaxed order suffices: a counter publishes nothing but itself. */
INLINE bool bloomery_swap_byte(uint8_t *byte, uint8_t *before, uint32_t after, const bool atomic)
{
    if (atomic)
        return __atomic_compare_exchange_n(byte, before, (uint8_t)after, true, __ATOMIC_RELAXED,
                                           __ATOMIC_RELAXED);
    *byte = (uint8_t)after;
    return true;
}

/* Adds `times`, up to the maximum; returns the value before. */
INLINE uint32_t bloomery_counter_raise(uint8_t *cells, uint64_t position, uint32_t times,
                                       const uint32_t bits, const bool atomic)
{
    const uint32_t shift = bloomery_counter_shift(position, bits);
    const uint32_t max = bloomery_counter_max(bits);
    uint8_t *byte = cells + bloomery_counter_byte(position, bits);
    uint8_t now = atomic ? __atomic_load_n(byte, __ATOMIC_RELAXED) : *byte;
    for (;;) {
        const uint32_t value = (uint32_t)now >> shift & max;
        const uint32_t more = times < max - value ? times : max - value;
        assert(value + more <= max);
        if (more == 0 || bloomery_swap_byte(byte, &now, now + (more << shift), atomic)) {
            assert(atomic || bloomery_counter_get(cells, position, bits, false) == value + more);
            return value;
        }
    }
}

/* Takes `times` away unless the counter is saturated; returns the value before. If that is less
 * than `times`, nothing was changed. */
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

/* ---- As a blocked filter --------------------------------------------------------------------- */

/* What is done with counters besides the operations of their kind. */

/* Writes a bit for every counter of a layer, set if it is not 0: the payload of a blocked layer of
 * as many blocks. */
void bloomery_counting_drop(const struct bloomery_layer *layer, uint32_t cell_bits,
                            const uint8_t *payload, uint8_t *bits);

#endif /* BLOOMERY_KINDS_COUNTING_H */
