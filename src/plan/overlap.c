/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/overlap.h"

#include "plan/blocked_rate.h"

#include <assert.h>
#include <math.h>

/* The other cells of a cell's block, by how far their word is from its word on the ring of eight.
 * In a flat array all are alike. */
struct neighbours {
    double cells;
    double either; /* the chance that a pick hits one of the two, or both */
};

struct pick {
    double cells; /* m */
    double block; /* the cells of a block */
    double count; /* picks of a key */
    double hit;   /* q, the chance that one pick hits a given cell */
    uint32_t groups;
    struct neighbours group[BLOOMERY_RING_WORDS];
};

/* How many of the eight windows of k words have both of two words that are so far apart. */
static uint32_t common_windows(uint32_t probes, uint32_t distance)
{
    const uint32_t other_way = BLOOMERY_RING_WORDS - distance;
    return (probes > distance ? probes - distance : 0) +
           (probes > other_way ? probes - other_way : 0);
}

static struct pick pick_of(const struct bloomery_overlap *overlap)
{
    struct pick pick = {.cells = (double)overlap->bits};
    if (overlap->blocks == 0) {
        pick.block = pick.cells;
        pick.count = overlap->probes;
        pick.hit = 1 / pick.cells;
        pick.groups = 1;
        pick.group[0] = (struct neighbours){pick.cells - 1, 2 / pick.cells};
        return pick;
    }
    const double blocks = (double)overlap->blocks;
    const double word = (double)BLOOMERY_BLOCK_BITS / BLOOMERY_RING_WORDS;
    pick.block = BLOOMERY_BLOCK_BITS;
    pick.count = overlap->blocks_per_key;
    pick.hit = bloomery_blocked_hit(overlap->blocks, overlap->probes);
    pick.groups = BLOOMERY_RING_WORDS;
    /* Of a word one bit at most is set, so no pick hits two. */
    pick.group[0] = (struct neighbours){word - 1, 2 * pick.hit};
    for (uint32_t distance = 1; distance < BLOOMERY_RING_WORDS; distance++) {
        const double windows = common_windows(overlap->probes, distance);
        const double both = windows / BLOOMERY_RING_WORDS / (word * word) / blocks;
        pick.group[distance] = (struct neighbours){word, 2 * pick.hit - both};
    }
    return pick;
}

/* v: Var[Z] / E[Z]^2 after so many keys. Pairs of cells come in three sorts: one cell twice, two of
 * a block by the distance of their words, two of different blocks. Each has its own chance to stay
 * 0, which is divided by the square of a single cell's. They are all close to 1, so what is summed
 * up is what they differ from it. */
static double spread(const struct pick *pick, double keys)
{
    const double picks = pick->count * keys;
    const double missed = log1p(-pick->hit);
    const double others = pick->cells - pick->block;
    if (!(picks > 0) || pick->cells < 2)
        return 0;
    assert(pick->hit > 0 && pick->hit < 1 && others >= 0);
    double sum = expm1(-picks * missed);
    for (uint32_t i = 0; i < pick->groups; i++) {
        const struct neighbours *group = &pick->group[i];
        sum += group->cells * expm1(picks * (log1p(-group->either) - 2 * missed));
    }
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
