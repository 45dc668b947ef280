/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The geometry of a static filter's layer, a bumped ribbon: how many rows there are for n keys, how
 * they are divided, and where they lie. Everything is integers, so that it is the same everywhere;
 * docs/format.md has it as part of the file format and docs/mathematics.md says why.
 *
 *     section   2^q of them: those keys whose hash begins with the section's number
 *     start     T in a section: the first row that a key's equation covers, of 64
 *     block     64 rows. K = T/64 + 1 in a section: one more, so that no equation leaves it
 *     bucket    128 starts, with a threshold: keys that start below it are bumped
 *     column    r of them in blocks below b0, r + 1 from there on: a bit of a row each
 *
 *     section 0                               section 1
 *     | block 0 | block 1 | ... | block K-1 | block K | ...
 *     |<------- T starts ------>|
 *
 * In memory eight columns are a plane, and the planes lie one behind the other, then the
 * thresholds. The words of a block, one for each column, lie side by side.
 *
 *     | plane 0: blocks 0, 1, .., N-1 | plane 1 | .. | thresholds, 2 bits a bucket | 64 zeros |
 */
#ifndef BLOOMERY_PLAN_RIBBON_H
#define BLOOMERY_PLAN_RIBBON_H

#include <assert.h>
#include <bloomery/bloomery.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    BLOOMERY_RIBBON_WIDTH = 64,   /* rows of an equation, and of a block */
    BLOOMERY_RIBBON_BUCKET = 128, /* starts with one threshold */
    BLOOMERY_RIBBON_STARTS_MAX = 131072,
    BLOOMERY_RIBBON_SECTION_BITS_MAX = 40,
    BLOOMERY_RIBBON_COLUMNS_MAX = 50, /* r: 2^-50 is below the lowest rate */
    BLOOMERY_RIBBON_PLANE = 8,        /* columns */
    BLOOMERY_RIBBON_PLANES_MAX = 7,
    BLOOMERY_RIBBON_UNIT = 64,  /* bytes: each part begins at a multiple */
    BLOOMERY_RIBBON_SPARE = 64, /* zeros at the end, which loads of whole vectors may reach */
};

/* The numbers that a file keeps; all others follow from them. */
struct bloomery_ribbon {
    uint64_t wide_from;    /* b0: 0 to N */
    uint32_t starts;       /* T */
    uint16_t section_bits; /* q */
    uint16_t columns;      /* r */
};

static inline uint64_t bloomery_ribbon_section_blocks(const struct bloomery_ribbon *ribbon)
{
    return ribbon->starts / BLOOMERY_RIBBON_WIDTH + 1;
}

static inline uint64_t bloomery_ribbon_section_buckets(const struct bloomery_ribbon *ribbon)
{
    return (ribbon->starts + BLOOMERY_RIBBON_BUCKET - 1) / BLOOMERY_RIBBON_BUCKET;
}

static inline uint64_t bloomery_ribbon_blocks(const struct bloomery_ribbon *ribbon)
{
    return bloomery_ribbon_section_blocks(ribbon) << ribbon->section_bits;
}

static inline uint64_t bloomery_ribbon_buckets(const struct bloomery_ribbon *ribbon)
{
    return bloomery_ribbon_section_buckets(ribbon) << ribbon->section_bits;
}

/* The words of a block in plane `plane`, if it has `columns` columns. */
static inline uint32_t bloomery_ribbon_words(uint32_t columns, uint32_t plane)
{
    const uint32_t before = plane * BLOOMERY_RIBBON_PLANE;
    return columns <= before                           ? 0
           : columns - before >= BLOOMERY_RIBBON_PLANE ? BLOOMERY_RIBBON_PLANE
                                                       : columns - before;
}

/* The number in plane `plane` of the first word of block `block`. */
static inline uint64_t bloomery_ribbon_word(const struct bloomery_ribbon *ribbon, uint32_t plane,
                                            uint64_t block)
{
    const uint64_t before = bloomery_ribbon_words(ribbon->columns, plane);
    const uint64_t after = bloomery_ribbon_words(ribbon->columns + 1U, plane);
    return before * block +
           (after - before) * (block > ribbon->wide_from ? block - ribbon->wide_from : 0);
}

static inline uint64_t bloomery_ribbon_up(uint64_t bytes)
{
    return (bytes + BLOOMERY_RIBBON_UNIT - 1) / BLOOMERY_RIBBON_UNIT * BLOOMERY_RIBBON_UNIT;
}

static inline uint64_t bloomery_ribbon_plane_bytes(const struct bloomery_ribbon *ribbon,
                                                   uint32_t plane)
{
    return bloomery_ribbon_up(8 *
                              bloomery_ribbon_word(ribbon, plane, bloomery_ribbon_blocks(ribbon)));
}

/* Where plane `plane` begins in the layer. */
static inline uint64_t bloomery_ribbon_plane(const struct bloomery_ribbon *ribbon, uint32_t plane)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < plane; i++)
        at += bloomery_ribbon_plane_bytes(ribbon, i);
    return at;
}

/* The bytes of thresholds, and of what lies behind them. */
static inline uint64_t bloomery_ribbon_metadata_bytes(const struct bloomery_ribbon *ribbon)
{
    return bloomery_ribbon_up((bloomery_ribbon_buckets(ribbon) + 3) / 4) + BLOOMERY_RIBBON_SPARE;
}

/* The first start of a bucket that is not bumped, by its threshold of two bits. */
static inline uint32_t bloomery_ribbon_cut(uint32_t threshold)
{
    assert(threshold < 4);
    return (uint32_t)(UINT32_C(0x80201000) >> (8 * threshold)) & 0xff;
}

/* Whether four numbers, of a file or of a plan, are those of a ribbon. */
bool bloomery_ribbon_is_sound(const struct bloomery_ribbon *ribbon);

/* The bytes of a layer; its offset is a multiple of 64, and so are they. */
uint64_t bloomery_ribbon_bytes(const struct bloomery_ribbon *ribbon);

/* The ribbon of a layer for `keys` distinct keys, whose rate is at most `rate` (1e-15 to below 1).
 */
struct bloomery_ribbon bloomery_ribbon_for(uint64_t keys, double rate);

/* How often an absent key that is not bumped here passes: the mean over all starts. */
double bloomery_ribbon_rate(const struct bloomery_ribbon *ribbon);

/* The starts of blocks below `block`, of all sections. */
uint64_t bloomery_ribbon_starts_below(const struct bloomery_ribbon *ribbon, uint64_t block);

/* ---- Solving a plan -------------------------------------------------------------------------- */

/* Plans of static filters: plan/ribbon.h has the geometry of one layer. */

/* As bloomery_plan_solve says, for BLOOMERY_STATIC: reads keys, rate and bytes, fills the fields
 * below them. */
bloomery_status bloomery_ribbon_solve(bloomery_plan *plan, const bloomery_plan_options *options,
                                      bloomery_error *error);

/* The bytes that a filter will have: exact but for how many keys of a layer are bumped. */
uint64_t bloomery_ribbon_expected_bytes(uint64_t keys, double rate);

#endif /* BLOOMERY_PLAN_RIBBON_H */
