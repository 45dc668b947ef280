/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/overlap.h"

#include "plan/blocked_rate.h"

#include <math.h>

/* The chances that one pick of a key hits a given cell, and that it hits one of two: of the same
 * block, or of different ones. */
struct pick {
    double cells;  /* m */
    double block;  /* the cells of a block */
    double count;  /* picks of a key */
    double hit;    /* q */
    double either; /* q2, of two cells of a block */
};

static struct pick pick_of(const struct bloomery_overlap *overlap)
{
    struct pick pick = {.cells = (double)overlap->bits};
    if (overlap->blocks > 0) {
        const double blocks = (double)overlap->blocks;
        pick.block = BLOOMERY_BLOCK_BITS;
        pick.count = overlap->lines;
        pick.hit = -expm1(overlap->probes * log1p(-1.0 / BLOOMERY_BLOCK_BITS)) / blocks;
        pick.either = -expm1(overlap->probes * log1p(-2.0 / BLOOMERY_BLOCK_BITS)) / blocks;
    } else {
        pick.block = pick.cells;
        pick.count = overlap->probes;
        pick.hit = 1 / pick.cells;
        pick.either = 2 / pick.cells;
    }
    return pick;
}

/* v: Var[Z] / E[Z]^2 after so many keys. Each of three sorts of pairs of cells - one cell twice, two
 * of a block, two of different blocks - has its own chance to stay 0, which is divided by the square
 * of a single cell's. They are all close to 1, so what is summed up is what they differ from it. */
static double spread(const struct pick *pick, double keys)
{
    const double picks = pick->count * keys;
    const double missed = log1p(-pick->hit);
    const double others = pick->cells - pick->block;
    if (!(picks > 0) || pick->cells < 2)
        return 0;
    double sum = expm1(-picks * missed);
    sum += (pick->block - 1) * expm1(picks * (log1p(-pick->either) - 2 * missed));
    if (others > 0) {
        /* (1 - 2q) / (1 - q)^2 = 1 - (q / (1 - q))^2 */
        const double ratio = pick->hit / (1 - pick->hit);
        sum += others * expm1(picks * log1p(-ratio * ratio));
    }
    return sum > 0 ? sum / pick->cells : 0;
}

double bloomery_overlap_jaccard(const struct bloomery_overlap *overlap)
{
    const struct pick pick = pick_of(overlap);
    const double all = overlap->union_keys;
    if (!(all < INFINITY))
        return INFINITY;
    if (pick.cells < 2 || !(all > 0))
        return 0;
    const double share = (overlap->keys[0] + overlap->keys[1]) / all;
    const double parts = spread(&pick, overlap->keys[0]) + spread(&pick, overlap->keys[1]);
    double variance = parts * (1 - 2 * share) + 2 * spread(&pick, overlap->common_keys) +
                      share * share * spread(&pick, all);
    return variance > 0 ? sqrt(variance) / (pick.count * -log1p(-pick.hit)) / all : 0;
}

double bloomery_overlap_deviation(const struct bloomery_overlap *overlap)
{
    const struct pick pick = pick_of(overlap);
    if (!(overlap->union_keys < INFINITY))
        return INFINITY;
    if (pick.cells < 2)
        return 0;
    double variance = spread(&pick, overlap->union_keys) - spread(&pick, overlap->keys[0]) -
                      spread(&pick, overlap->keys[1]) + 2 * spread(&pick, overlap->common_keys);
    return variance > 0 ? sqrt(variance) / (pick.count * -log1p(-pick.hit)) : 0;
}
