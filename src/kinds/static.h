/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a hash to an equation: what a key of a static filter demands of the rows. It is part of the
 * file format (docs/format.md), and is the same in src/kernels, for several keys at once.
 *
 *     layer i    x = hi                                      i = 0
 *                x = mix64((hi XOR rotl64(lo, 32)) + i G)    i > 0
 *                c = mix64(lo + 2i G) | 1                    i = 0: lo | 1
 *                f = mix64(lo + (2i + 1) G)
 *
 * x says where the equation starts, the 64 bits of c say which of the 64 rows from there on take
 * part, and the XOR of their bits in column j has to be bit j of f. x of later layers takes both
 * halves: of keys with the same `hi`, which can be made for XXH3, each goes its own way there. A
 * mixed f is not a linear function of c; otherwise equations would contradict each other too often.
 */
#ifndef BLOOMERY_KINDS_STATIC_H
#define BLOOMERY_KINDS_STATIC_H

#include "base/bytes.h"
#include "kinds/derive.h"
#include "kinds/shape.h"

struct bloomery_equation {
    uint64_t block;  /* in which it starts */
    uint64_t bucket; /* to which that start belongs */
    uint32_t offset; /* in the bucket: 0 to 127 */
    uint32_t shift;  /* in the block: 0 to 63 */
    uint64_t coefficients;
    uint64_t fingerprint;
};

static inline uint64_t bloomery_equation_x(bloomery_hash hash, uint32_t layer)
{
    if (layer == 0)
        return hash.hi;
    return bloomery_mix64((hash.hi ^ (hash.lo << 32 | hash.lo >> 32)) + layer * BLOOMERY_GOLDEN);
}

static inline uint64_t bloomery_equation_c(uint64_t lo, uint32_t layer)
{
    return (layer == 0 ? lo : bloomery_mix64(lo + 2 * (uint64_t)layer * BLOOMERY_GOLDEN)) | 1;
}

static inline uint64_t bloomery_equation_f(uint64_t lo, uint32_t layer)
{
    return bloomery_mix64(lo + (2 * (uint64_t)layer + 1) * BLOOMERY_GOLDEN);
}

/* The section of x: its first q bits. */
static inline uint64_t bloomery_equation_section(uint64_t x, uint32_t section_bits)
{
    return section_bits == 0 ? 0 : x >> (64 - section_bits);
}

/* The start in the section: the bits after those, as a fraction of T. */
static inline uint32_t bloomery_equation_start(uint64_t x, const struct bloomery_ribbon *ribbon)
{
    assert(ribbon->section_bits < 64);
    return (uint32_t)bloomery_fastrange(x << ribbon->section_bits, ribbon->starts);
}

static inline struct bloomery_equation bloomery_equation_of(bloomery_hash hash, uint32_t layer,
                                                            const struct bloomery_ribbon *ribbon)
{
    const uint64_t x = bloomery_equation_x(hash, layer);
    const uint64_t section = bloomery_equation_section(x, ribbon->section_bits);
    const uint32_t start = bloomery_equation_start(x, ribbon);
    return (struct bloomery_equation){
        .block = section * bloomery_ribbon_section_blocks(ribbon) + start / BLOOMERY_RIBBON_WIDTH,
        .bucket =
            section * bloomery_ribbon_section_buckets(ribbon) + start / BLOOMERY_RIBBON_BUCKET,
        .offset = start % BLOOMERY_RIBBON_BUCKET,
        .shift = start % BLOOMERY_RIBBON_WIDTH,
        .coefficients = bloomery_equation_c(hash.lo, layer),
        .fingerprint = bloomery_equation_f(hash.lo, layer),
    };
}

/* ---- Answers --------------------------------------------------------------------------------- */

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

/* Where the thresholds of a layer begin. */
static inline const uint8_t *bloomery_static_thresholds(const struct bloomery_layer *layer)
{
    return layer->payload + (layer->bytes - bloomery_ribbon_metadata_bytes(&layer->ribbon));
}

static inline uint32_t bloomery_static_cut(const uint8_t *thresholds, uint64_t bucket)
{
    return bloomery_ribbon_cut((uint32_t)thresholds[bucket >> 2] >> (2 * (bucket & 3)) & 3);
}

/* Requests the threshold and the first plane: what nearly every query touches. A block and the next
 * one may begin in one cache line and end in the next but one. */
static inline __attribute__((always_inline)) void
bloomery_static_request(const struct bloomery_layer *layer,
                        const struct bloomery_equation *equation)
{
    const struct bloomery_ribbon *ribbon = &layer->ribbon;
    const uint8_t *first = layer->payload + 8 * bloomery_ribbon_word(ribbon, 0, equation->block);
    const uint8_t *end = layer->payload + 8 * bloomery_ribbon_word(ribbon, 0, equation->block + 2);
    __builtin_prefetch(bloomery_static_thresholds(layer) + (equation->bucket >> 2));
    __builtin_prefetch(first);
    __builtin_prefetch(first + 64);
    __builtin_prefetch(end - 1);
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
        if (!layer->cascades)
            return true;
    }
}

/* ---- Eight thresholds ------------------------------------------------------------------------ */

/* What the kernels of static filters share: thresholds of eight keys in plain C. */

/* A start is 128 times its bucket's number and its offset there. The compiler makes vectors of it
 * where it can gather. */
static inline __attribute__((always_inline)) uint32_t
bloomery_static_bumped(const uint8_t *thresholds, const uint64_t starts[8])
{
    uint32_t bumped = 0;
    for (uint32_t j = 0; j < 8; j++) {
        const uint64_t bucket = starts[j] / BLOOMERY_RIBBON_BUCKET;
        const uint32_t offset = (uint32_t)(starts[j] % BLOOMERY_RIBBON_BUCKET);
        bumped |= (uint32_t)(offset < bloomery_static_cut(thresholds, bucket)) << j;
    }
    return bumped;
}

#endif /* BLOOMERY_KINDS_STATIC_H */
