/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of keys that come as positions, in one flat array. Each position counts, so a key that
 * names a counter twice adds 2 to it, and takes 2 when it is removed:
 *
 *     positions 3 9 3      counter 3: +2      counter 9: +1
 *
 * All else is as in kinds/counting.c. Saturated counters stay so; below the maximum they are exact
 * sums. A removal is refused if a counter is less than what it would take, since the key is then
 * not in.
 *
 * A key has up to 1024 positions. How often one of them comes up is counted by looking at all
 * others: filters of counters have a handful.
 */
#include "core/foreign/schemes.h"

#include "base/bits.h"
#include "base/threads.h"
#include "kinds/counting.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* How often position i comes up; 0 if it came up before. */
static uint32_t times_of(const uint64_t *positions, uint32_t probes, uint32_t i)
{
    uint32_t times = 1;
    assert(i < probes && probes <= BLOOMERY_POSITIONS_MAX);
    for (uint32_t j = 0; j < i; j++)
        if (positions[j] == positions[i])
            return 0;
    for (uint32_t j = i + 1; j < probes; j++)
        times += positions[j] == positions[i];
    return times;
}

INLINE uint32_t add_with(const struct bloomery_layer *layer, uint8_t *payload,
                         const uint64_t *positions, const uint32_t bits, const bool atomic)
{
    uint32_t fresh = 0;
    for (uint32_t i = 0; i < layer->probes; i++) {
        assert(positions[i] < layer->bits);
        fresh += bloomery_counter_raise(payload, positions[i], 1, bits, atomic) == 0;
    }
    return fresh;
}

INLINE bool query_with(const struct bloomery_layer *layer, const uint8_t *payload,
                       const uint64_t *positions, const uint32_t bits, const bool atomic)
{
    for (uint32_t i = 0; i < layer->probes; i++) {
        assert(positions[i] < layer->bits);
        if (bloomery_counter_get(payload, positions[i], bits, atomic) == 0)
            return false;
    }
    return true;
}

/* Gives back what was taken for the first `count` positions: nothing to counters that were
 * saturated, whose bit in `saturated` is set. */
INLINE void put_back_with(const struct bloomery_layer *layer, uint8_t *payload,
                          const uint64_t *positions, const uint64_t *saturated, uint32_t count,
                          const uint32_t bits, const bool atomic)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t times = times_of(positions, layer->probes, i);
        if (times > 0 && (saturated[i / 64] >> i % 64 & 1) == 0)
            bloomery_counter_raise(payload, positions[i], times, bits, atomic);
    }
}

/* A counter that a key names more often than it can count is saturated if the key is in. */
INLINE uint32_t needed(uint32_t times, const uint32_t bits)
{
    const uint32_t max = bloomery_counter_max(bits);
    return times < max ? times : max;
}

INLINE bool remove_with(const struct bloomery_layer *layer, uint8_t *payload,
                        const uint64_t *positions, uint32_t *cleared, const uint32_t bits,
                        const bool atomic)
{
    uint64_t saturated[BLOOMERY_POSITIONS_MAX / 64] = {0};
    uint32_t zero = 0;
    *cleared = 0;
    for (uint32_t i = 0; i < layer->probes; i++)
        if (bloomery_counter_get(payload, positions[i], bits, atomic) <
            needed(times_of(positions, layer->probes, i), bits))
            return false;
    for (uint32_t i = 0; i < layer->probes; i++) {
        const uint32_t times = needed(times_of(positions, layer->probes, i), bits);
        if (times == 0)
            continue;
        const uint32_t before = bloomery_counter_lower(payload, positions[i], times, bits, atomic);
        assert(before >= times || atomic);
        if (before < times) { /* others were faster */
            put_back_with(layer, payload, positions, saturated, i, bits, atomic);
            return false;
        }
        if (before == bloomery_counter_max(bits))
            saturated[i / 64] |= (uint64_t)1 << i % 64;
        else
            zero += before == times;
    }
    assert(zero <= layer->probes);
    *cleared = zero;
    return true;
}

/* A saturated counter says no more than "that often, or more". */
INLINE uint32_t count_with(const struct bloomery_layer *layer, const uint8_t *payload,
                           const uint64_t *positions, const uint32_t bits, const bool atomic)
{
    const uint32_t max = bloomery_counter_max(bits);
    uint32_t min = max;
    for (uint32_t i = 0; i < layer->probes; i++) {
        const uint32_t value = bloomery_counter_get(payload, positions[i], bits, atomic);
        const uint32_t times = times_of(positions, layer->probes, i);
        if (value != max && times > 0 && value / times < min)
            min = value / times;
    }
    return min;
}

/* ---- Four instances -------------------------------------------------------------------------- */

#define INSTANCE(prefix, bits, atomic, label)                                                  \
    static uint32_t prefix##_add(const struct bloomery_layer *layer, uint8_t *payload,         \
                                 const uint64_t *positions)                                    \
    {                                                                                          \
        return add_with(layer, payload, positions, bits, atomic);                              \
    }                                                                                          \
    static bool prefix##_query(const struct bloomery_layer *layer, const uint8_t *payload,     \
                               const uint64_t *positions)                                      \
    {                                                                                          \
        return query_with(layer, payload, positions, bits, atomic);                            \
    }                                                                                          \
    static bool prefix##_remove(const struct bloomery_layer *layer, uint8_t *payload,          \
                                const uint64_t *positions, uint32_t *cleared)                  \
    {                                                                                          \
        return remove_with(layer, payload, positions, cleared, bits, atomic);                  \
    }                                                                                          \
    static uint32_t prefix##_count(const struct bloomery_layer *layer, const uint8_t *payload, \
                                   const uint64_t *positions)                                  \
    {                                                                                          \
        return count_with(layer, payload, positions, bits, atomic);                            \
    }                                                                                          \
    static const struct bloomery_operations prefix##_operations = {                            \
        .name = label,                                                                         \
        .add_positions = prefix##_add,                                                         \
        .may_contain_positions = prefix##_query,                                               \
        .remove_positions = prefix##_remove,                                                   \
        .count_positions = prefix##_count,                                                     \
    };

INSTANCE(positions_nibbles, 4, false, "positions")
INSTANCE(positions_bytes, 8, false, "positions")
INSTANCE(positions_atomic_nibbles, 4, true, "positions-concurrent")
INSTANCE(positions_atomic_bytes, 8, true, "positions-concurrent")

const struct bloomery_operations *bloomery_counted_positions_operations(uint32_t cell_bits,
                                                                        bool concurrent)
{
    const bool shared = bloomery_is_shared(concurrent);
    assert(cell_bits == 4 || cell_bits == 8);
    if (cell_bits == 4)
        return shared ? &positions_atomic_nibbles_operations : &positions_nibbles_operations;
    return shared ? &positions_atomic_bytes_operations : &positions_bytes_operations;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

/* Whether a key may be in depends on which counters are 0: rates and estimates are those of
 * bits. */
void bloomery_counted_positions_scan(const struct bloomery_shape *shape,
                                     const struct bloomery_layer *layer, const uint8_t *payload,
                                     struct bloomery_scan *scan)
{
    const uint32_t max = bloomery_counter_max(shape->cell_bits);
    scan->bits_set = scan->saturated = 0;
    for (uint64_t i = 0; i < layer->bits; i++) {
        const uint32_t value = bloomery_counter_get(payload, i, shape->cell_bits, true);
        scan->bits_set += value != 0;
        scan->saturated += value == max;
    }
    assert(scan->saturated <= scan->bits_set && scan->bits_set <= layer->bits);
    scan->live_rate = pow((double)scan->bits_set / (double)layer->bits, layer->probes);
}
