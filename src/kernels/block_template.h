/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A key in its blocks, for a processor: a template, instantiated by defining before inclusion
 *
 *     LEVEL            the name that ends the functions of kernels/block.h and of these
 *     LEVEL_TARGET     attributes of functions for that processor
 *
 * Functions that set bits take `shared`: whether other threads write to the filter at the same
 * time. It is a constant wherever they are called, and leaves no branch behind.
 */
#include "kernels/block.h"

#define LEVEL_PASTE_(name, level) name##_##level
#define LEVEL_PASTE(name, level)  LEVEL_PASTE_(name, level)
#define OF_LEVEL(name)            LEVEL_PASTE(name, LEVEL)
#define LEVEL_INLINE              LEVEL_TARGET static inline __attribute__((always_inline))

/* Batches (fast_path_template.h, static_template.h) pass through rings of 256 places, in groups of
 * eight keys. 128 keys are on their way, and answers leave by words of 64. */
enum { GROUP = 8, WORD = 64, WINDOW = 128, RING = WINDOW + 2 * WORD };

/* Whether all bits of a key are set in its blocks from `first` on. */
LEVEL_INLINE bool OF_LEVEL(holds)(const struct bloomery_layer *layer, const uint8_t *payload,
                                  bloomery_hash hash, uint32_t first)
{
    for (uint32_t which = first; which < layer->blocks_per_key; which++) {
        const struct bloomery_place place = bloomery_place_of(hash, which, layer->blocks);
        if (!OF_LEVEL(hits)(payload + place.block * BLOOMERY_BLOCK_BYTES, place.word,
                            layer->probes))
            return false;
    }
    return true;
}

/* Sets the bits of w in a block. Returns marks of the words in which one was not set, or if
 * `shared` how many there were. */
LEVEL_INLINE uint32_t OF_LEVEL(put_at)(uint8_t *at, uint64_t w, const uint32_t probes,
                                       const bool shared)
{
    assert((uintptr_t)at % BLOOMERY_BLOCK_BYTES == 0);
    const uint32_t marks =
        shared ? OF_LEVEL(set_shared)(at, w, probes) : OF_LEVEL(set)(at, w, probes);
    assert((shared ? marks : OF_LEVEL(count)(marks)) <= probes && OF_LEVEL(hits)(at, w, probes));
    return marks;
}

/* Sets block number `which` (0 to L-1) of a key; returns how many bits were not set. */
LEVEL_INLINE uint32_t OF_LEVEL(put)(const struct bloomery_layer *layer, uint8_t *payload,
                                    bloomery_hash hash, uint32_t which, const bool shared)
{
    const struct bloomery_place place = bloomery_place_of(hash, which, layer->blocks);
    assert(place.block < layer->blocks);
    const uint32_t marks = OF_LEVEL(put_at)(payload + place.block * BLOOMERY_BLOCK_BYTES,
                                            place.word, layer->probes, shared);
    return shared ? marks : OF_LEVEL(count)(marks);
}

LEVEL_INLINE uint32_t OF_LEVEL(put_all)(const struct bloomery_layer *layer, uint8_t *payload,
                                        bloomery_hash hash, const bool shared)
{
    uint32_t fresh = OF_LEVEL(put)(layer, payload, hash, 0, shared);
    for (uint32_t which = 1; which < layer->blocks_per_key; which++)
        fresh += OF_LEVEL(put)(layer, payload, hash, which, shared);
    return fresh;
}
