/* SPDX-License-Identifier: Apache-2.0 */
/* See ribbon.h. */
#include "plan/ribbon.h"

#include "base/bytes.h"

#include <math.h>

/* Rows per key: 25/26, for more keys than rows leave hardly a row empty. Small layers would bump
 * too much, so they have a row for each key, and tiny ones two. */
static uint64_t starts_wanted(uint64_t keys)
{
    if (keys == 0)
        return 1;
    if (keys < 64)
        return 2 * keys;
    return keys < 4096 ? keys : (25 * keys + 25) / 26;
}

bool bloomery_ribbon_is_sound(const struct bloomery_ribbon *ribbon)
{
    return ribbon->starts >= BLOOMERY_RIBBON_WIDTH &&
           ribbon->starts <= BLOOMERY_RIBBON_STARTS_MAX &&
           ribbon->starts % BLOOMERY_RIBBON_WIDTH == 0 &&
           ribbon->section_bits <= BLOOMERY_RIBBON_SECTION_BITS_MAX &&
           ribbon->columns <= BLOOMERY_RIBBON_COLUMNS_MAX &&
           ribbon->wide_from <= bloomery_ribbon_blocks(ribbon);
}

uint64_t bloomery_ribbon_bytes(const struct bloomery_ribbon *ribbon)
{
    assert(bloomery_ribbon_is_sound(ribbon)); /* so at most 2^52 blocks of 51 words */
    return bloomery_ribbon_plane(ribbon, BLOOMERY_RIBBON_PLANES_MAX) +
           bloomery_ribbon_metadata_bytes(ribbon);
}

uint64_t bloomery_ribbon_starts_below(const struct bloomery_ribbon *ribbon, uint64_t block)
{
    const uint64_t blocks = bloomery_ribbon_section_blocks(ribbon);
    const uint64_t rest = BLOOMERY_RIBBON_WIDTH * (block % blocks);
    return block / blocks * ribbon->starts + (rest < ribbon->starts ? rest : ribbon->starts);
}

/*
 * The greatest b0 with (A 2^-r + (S - A) 2^-(r+1)) / S <= p (1 - guard), where A of the S starts
 * lie below b0; so A / S <= p (1 - guard) 2^(r+1) - 1. Which starts are bumped is chance, and with
 * two numbers of columns the rate of one filter strays with it. The guard is for that: measured
 * deviations are 0.06 / sqrt(buckets) of p at four standard deviations.
 */
static uint64_t wide_from(const struct bloomery_ribbon *ribbon, double rate)
{
    const double guard = 0.1 / sqrt((double)bloomery_ribbon_buckets(ribbon));
    const double share = ldexp(rate, ribbon->columns + 1) * (1 - guard); /* below 2 */
    const uint64_t one = UINT64_C(1) << 52;
    /* A product of doubles, made an integer without another rounding: no compiler can fuse it. */
    const uint64_t fixed = (uint64_t)ldexp(share, 52);
    const uint64_t all = (uint64_t)ribbon->starts << ribbon->section_bits;
    if (fixed <= one)
        return 0;
    const uint64_t narrow = (uint64_t)(((bloomery_uint128)all * (fixed - one)) >> 52);
    return narrow / ribbon->starts * bloomery_ribbon_section_blocks(ribbon) +
           narrow % ribbon->starts / BLOOMERY_RIBBON_WIDTH;
}

struct bloomery_ribbon bloomery_ribbon_for(uint64_t keys, double rate)
{
    struct bloomery_ribbon ribbon = {0, 0, 0, 0};
    const uint64_t wanted = starts_wanted(keys);
    assert(rate > 0 && rate < 1);
    while ((wanted + (UINT64_C(1) << ribbon.section_bits) - 1) >> ribbon.section_bits >
           BLOOMERY_RIBBON_STARTS_MAX)
        ribbon.section_bits++;
    const uint64_t together = (uint64_t)BLOOMERY_RIBBON_WIDTH << ribbon.section_bits;
    ribbon.starts = (uint32_t)((wanted + together - 1) / together) * BLOOMERY_RIBBON_WIDTH;
    while (ribbon.columns < BLOOMERY_RIBBON_COLUMNS_MAX && ldexp(1, -(ribbon.columns + 1)) >= rate)
        ribbon.columns++;
    ribbon.wide_from = wide_from(&ribbon, rate);
    assert(bloomery_ribbon_is_sound(&ribbon));
    return ribbon;
}

double bloomery_ribbon_rate(const struct bloomery_ribbon *ribbon)
{
    const double all = ldexp(ribbon->starts, ribbon->section_bits);
    const double narrow = (double)bloomery_ribbon_starts_below(ribbon, ribbon->wide_from);
    return ldexp(1 + narrow / all, -(ribbon->columns + 1));
}
