/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a hash to an equation: what a key of a static filter demands of the rows. It is part of the
 * file format (docs/format.md), and is the same in core/x86 and core/arm, for several keys at once.
 *
 *     layer i    x = hi                                      i = 0
 *                x = mix64((hi XOR rotl64(lo, 32)) + i G)    i > 0
 *                c = mix64(lo + 2i G) | 1                    i = 0: lo | 1
 *                f = mix64(lo + (2i + 1) G)
 *
 * x says where the equation starts, the 64 bits of c say which of the 64 rows from there on take
 * part, and the XOR of their bits in column j has to be bit j of f. x of later layers takes both
 * halves: of keys with the same `hi`, which can be made for XXH3, each goes its own way there. A
 * mixed f is no linear function of c; otherwise equations would contradict each other too often.
 */
#ifndef BLOOMERY_CORE_EQUATION_H
#define BLOOMERY_CORE_EQUATION_H

#include "core/derive.h"
#include "core/shape.h"

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

#endif
