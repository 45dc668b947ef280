/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A key in its lines, for a processor: a template, instantiated by defining before inclusion
 *
 *     LEVEL            the name that ends the functions of core/line.h and of these
 *     LEVEL_TARGET     attributes of functions for that processor
 *
 * Functions that set bits take `shared`: whether other threads write the filter meanwhile. It is a
 * constant wherever they are called, and leaves no branch behind.
 */
#include "core/line.h"

#define LEVEL_PASTE_(name, level) name##_##level
#define LEVEL_PASTE(name, level)  LEVEL_PASTE_(name, level)
#define OF_LEVEL(name)            LEVEL_PASTE(name, LEVEL)
#define LEVEL_INLINE              LEVEL_TARGET static inline __attribute__((always_inline))

/* Whether all bits of a key are set in its lines from `first` on. */
LEVEL_INLINE bool OF_LEVEL(holds)(const struct bloomery_link *link, const uint8_t *payload,
                                  bloomery_hash hash, uint32_t first)
{
    for (uint32_t line = first; line < link->lines; line++) {
        const struct bloomery_place place = bloomery_place_of(hash, line, link->blocks);
        if (!OF_LEVEL(hits)(payload + place.line * BLOOMERY_BLOCK_BYTES, place.word, link->probes))
            return false;
    }
    return true;
}

/* Sets line `line` of a key; how many bits were not set. */
LEVEL_INLINE uint32_t OF_LEVEL(put)(const struct bloomery_link *link, uint8_t *payload,
                                    bloomery_hash hash, uint32_t line, const bool shared)
{
    const struct bloomery_place place = bloomery_place_of(hash, line, link->blocks);
    uint8_t *at = payload + place.line * BLOOMERY_BLOCK_BYTES;
    assert(place.line < link->blocks);
    return shared ? OF_LEVEL(set_shared)(at, place.word, link->probes)
                  : OF_LEVEL(set)(at, place.word, link->probes);
}

LEVEL_INLINE uint32_t OF_LEVEL(put_all)(const struct bloomery_link *link, uint8_t *payload,
                                        bloomery_hash hash, const bool shared)
{
    uint32_t fresh = OF_LEVEL(put)(link, payload, hash, 0, shared);
    for (uint32_t line = 1; line < link->lines; line++)
        fresh += OF_LEVEL(put)(link, payload, hash, line, shared);
    return fresh;
}
