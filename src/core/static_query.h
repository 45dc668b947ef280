/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A static filter's answer for one hash, in plain C: the definition of the kind's answers.
 *
 *     layer 0 ── below the threshold of its bucket? ── yes ──> layer 1 ── ... ──> "possibly"
 *                   │ no
 *                   └─ every column's bit as in the fingerprint? "possibly", else "definitely not"
 *
 * Nothing in the payload is an index or a size: a threshold is one of four numbers, and blocks
 * follow from the hash and from numbers that were checked when the file was opened. So any bytes
 * are safe to query.
 */
#ifndef BLOOMERY_CORE_STATIC_QUERY_H
#define BLOOMERY_CORE_STATIC_QUERY_H

#include "base/bytes.h"
#include "core/equation.h"

/* Where the thresholds of a layer begin. */
static inline const uint8_t *bloomery_static_thresholds(const struct bloomery_layer *layer)
{
    return layer->payload + (layer->bytes - bloomery_ribbon_metadata_bytes(&layer->ribbon));
}

static inline uint32_t bloomery_static_cut(const uint8_t *thresholds, uint64_t bucket)
{
    return bloomery_ribbon_cut((uint32_t)thresholds[bucket >> 2] >> (2 * (bucket & 3)) & 3);
}

/* Whether the columns from plane `plane` on are as the fingerprint says. A plane is compared as a
 * whole: where an absent key's columns differ first is chance, and a branch on that would be
 * guessed wrongly half of the time. */
static inline __attribute__((always_inline)) bool
bloomery_static_fits(const struct bloomery_layer *layer, const struct bloomery_equation *equation,
                     uint32_t plane)
{
    const struct bloomery_ribbon *ribbon = &layer->ribbon;
    const uint32_t columns = ribbon->columns + (uint32_t)(equation->block >= ribbon->wide_from);
    const uint64_t first = equation->coefficients << equation->shift;
    const uint64_t second = equation->coefficients >> 1 >> (63 - equation->shift);
    uint64_t fingerprint = equation->fingerprint >> (plane * BLOOMERY_RIBBON_PLANE);
    const uint8_t *base = layer->payload + bloomery_ribbon_plane(ribbon, plane);
    for (uint32_t words; (words = bloomery_ribbon_words(columns, plane)) > 0; plane++) {
        const uint8_t *block = base + 8 * bloomery_ribbon_word(ribbon, plane, equation->block);
        const uint8_t *next = base + 8 * bloomery_ribbon_word(ribbon, plane, equation->block + 1);
        uint64_t differ = 0;
        for (uint32_t j = 0; j < words; j++, fingerprint >>= 1) {
            const uint64_t bits = (bloomery_load_u64(block + 8 * (size_t)j) & first) ^
                                  (bloomery_load_u64(next + 8 * (size_t)j) & second);
            differ |= (uint64_t)__builtin_parityll(bits) ^ fingerprint;
        }
        if ((differ & 1) != 0)
            return false;
        base += bloomery_ribbon_plane_bytes(ribbon, plane);
    }
    return true;
}

/* The answer from layer `number` on, which is `layer`. */
static inline __attribute__((always_inline)) bool
bloomery_static_from(const struct bloomery_layer *layer, uint32_t number, bloomery_hash hash)
{
    for (;; layer++, number++) {
        const struct bloomery_equation equation =
            bloomery_equation_of(hash, number, &layer->ribbon);
        const uint32_t cut =
            bloomery_static_cut(bloomery_static_thresholds(layer), equation.bucket);
        if (equation.offset >= cut)
            return bloomery_static_fits(layer, &equation, 0);
        if (!layer->hands_on)
            return true;
    }
}

#endif
