/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters whose keys come as positions. Their systems take more than 128 bits out of a key (slices
 * of a SHA-384 digest, seven seeded hashes, a chain of MD5 digests). The hash of such a system
 * gives k positions below m. All that is left here is to set and to test them. Several in flight
 * hide each other's way to memory; all of them are prefetched before the first is needed.
 */
#include "core/foreign/schemes.h"

#include "base/bits.h"
#include "base/threads.h"

#include <assert.h>

static inline void prefetch_all(const struct bloomery_layer *layer, const uint8_t *payload,
                                const uint64_t *positions)
{
    for (uint32_t i = 0; i < layer->probes; i++)
        __builtin_prefetch(payload + (positions[i] >> 3));
}

static inline __attribute__((always_inline)) uint32_t set_all(bloomery_bit_setter *set,
                                                              const struct bloomery_layer *layer,
                                                              uint8_t *payload,
                                                              const uint64_t *positions)
{
    uint32_t new_bits = 0;
    prefetch_all(layer, payload, positions);
    for (uint32_t i = 0; i < layer->probes; i++) {
        assert(positions[i] < layer->bits);
        new_bits += set(payload, positions[i]);
    }
    assert(new_bits <= layer->probes);
    return new_bits;
}

static inline __attribute__((always_inline)) bool test_all(bool (*test)(const uint8_t *, uint64_t),
                                                           const struct bloomery_layer *layer,
                                                           const uint8_t *payload,
                                                           const uint64_t *positions)
{
    for (uint32_t i = 0; i < layer->probes; i++) {
        assert(positions[i] < layer->bits);
        if (!test(payload, positions[i]))
            return false;
    }
    return true;
}

static uint32_t add_plain(const struct bloomery_layer *layer, uint8_t *payload,
                          const uint64_t *positions)
{
    return set_all(bloomery_bit_set, layer, payload, positions);
}

static bool may_contain_plain(const struct bloomery_layer *layer, const uint8_t *payload,
                              const uint64_t *positions)
{
    return test_all(bloomery_bit_test, layer, payload, positions);
}

static uint32_t add_atomic(const struct bloomery_layer *layer, uint8_t *payload,
                           const uint64_t *positions)
{
    return set_all(bloomery_bit_set_atomic, layer, payload, positions);
}

static bool may_contain_atomic(const struct bloomery_layer *layer, const uint8_t *payload,
                               const uint64_t *positions)
{
    return test_all(bloomery_bit_test_atomic, layer, payload, positions);
}

const struct bloomery_operations *bloomery_positions_operations(uint32_t cell_bits, bool concurrent)
{
    static const struct bloomery_operations plain = {
        .name = "positions",
        .add_positions = add_plain,
        .may_contain_positions = may_contain_plain,
    };
    static const struct bloomery_operations atomic = {
        .name = "positions-concurrent",
        .add_positions = add_atomic,
        .may_contain_positions = may_contain_atomic,
    };
    (void)cell_bits;
    return bloomery_is_shared(concurrent) ? &atomic : &plain;
}
