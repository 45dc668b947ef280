/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/blocked_rate.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>

/* A block is full, to double precision, after this many bits set per bit. */
static const double full_load = 60;
/* In more blocks than these the loads of a key's blocks are taken as independent, times a
 * first-order correction. The more blocks there are the less they share. */
static const uint64_t joint_blocks = 1024;
/* Loads further from the mean than this many standard deviations weigh nothing, even at rates of
 * 1e-15, to which only crowded blocks contribute. Some more loads above are added, for the long
 * tail at small means. */
static const double deviations_below = 7;
static const double deviations_above = 10;
static const double spare_loads = 30;

void bloomery_block_rates_start(struct bloomery_block_rates *rates, uint32_t blocks_per_key,
                                uint32_t probes)
{
    assert(blocks_per_key >= 1 && blocks_per_key <= BLOOMERY_BLOCKS_PER_KEY_MAX);
    assert(probes >= 1 && probes <= BLOOMERY_BLOCK_PROBES_MAX);
    rates->blocks_per_key = blocks_per_key;
    rates->probes = probes;
    rates->known = 0;
    for (size_t i = 0; i < BLOOMERY_BLOCKS_PER_KEY_MAX; i++)
        rates->joint_known[i] = 0;
    bloomery_ring_start(&rates->ring, probes);
}

/* ---- Loads ----------------------------------------------------------------------------------- */

/* Loads that matter: Binomial(trials, chance), from `first`, `weight` by ratios outwards from the
 * mode, so that no logarithm of a huge factorial is needed. */
struct loads {
    double trials;
    double odds; /* chance / (1 - chance) */
    uint64_t first, mode, last;
};

static struct loads loads_of(double trials, double chance)
{
    double mean = trials * chance;
    double deviation = sqrt(mean * (1 - chance));
    double below = deviations_below * deviation;
    double last = floor(mean + deviations_above * deviation + spare_loads);
    struct loads loads = {
        .trials = trials,
        .odds = chance / (1 - chance),
        .first = mean > below ? (uint64_t)(mean - below) : 0,
        .mode = (uint64_t)mean,
        .last = (uint64_t)(last < trials ? last : trials),
    };
    assert(loads.first <= loads.mode && loads.mode <= loads.last);
    return loads;
}

/* P(load + 1) / P(load) */
static double ratio(const struct loads *loads, uint64_t load)
{
    return (loads->trials - (double)load) / ((double)load + 1) * loads->odds;
}

/* Weights are relative to the mode's and normalised at the end. */
double bloomery_expect_load(double trials, double chance, bloomery_load_function *function,
                            void *context)
{
    if (chance >= 1) /* a single block gets everything */
        return function(context, (uint64_t)trials);
    struct loads loads = loads_of(trials, chance);
    double sum = 0;
    double weights = 0;
    double weight = 1;
    for (uint64_t load = loads.mode; load <= loads.last; load++) {
        sum += weight * function(context, load);
        weights += weight;
        weight *= ratio(&loads, load);
    }
    weight = 1;
    for (uint64_t load = loads.mode; load > loads.first; load--) {
        weight /= ratio(&loads, load - 1);
        sum += weight * function(context, load - 1);
        weights += weight;
    }
    return sum / weights;
}

/* ---- One block ------------------------------------------------------------------------------- */

/* E[f]^times times what f varies by. */
static double repeated(const struct bloomery_block_rates *rates, double once, uint32_t times,
                       uint64_t load)
{
    double rate = once;
    for (uint32_t i = 1; i < times; i++)
        rate *= once;
    if (times > 1 && load > 0)
        rate *= bloomery_coinciding(rates->probes, times, load);
    return rate < once ? rate : once;
}

/* Returns g_times: the chance that a block of this load passes `times` picks of an absent key. */
static double block_rate(struct bloomery_block_rates *rates, uint32_t times, uint64_t load)
{
    assert(times >= 1 && times <= rates->blocks_per_key);
    if (load >= BLOOMERY_LOADS_MAX)
        return repeated(rates, bloomery_ring_chance_at(&rates->ring, (double)load), times, load);
    while (rates->known <= load) {
        const double once = bloomery_ring_chance(&rates->ring);
        for (uint32_t i = 0; i < rates->blocks_per_key; i++)
            rates->rate[i][rates->known] = repeated(rates, once, i + 1, rates->known);
        rates->known++;
        bloomery_ring_step(&rates->ring);
    }
    return rates->rate[times - 1][load];
}

/* ---- Several blocks, jointly ----------------------------------------------------------------- */

static double joint_rate(struct bloomery_block_rates *rates, uint32_t different, uint64_t picks);

/* Of `picks` picks that came to the blocks of both parts, `load` came to the first. */
struct split {
    struct bloomery_block_rates *rates;
    uint64_t picks;
    uint32_t times[2]; /* a block that is tested so often; 0: two blocks, each once */
};

static double part_rate(const struct split *split, int part, uint64_t load)
{
    return split->times[part] > 0 ? block_rate(split->rates, split->times[part], load)
                                  : joint_rate(split->rates, 1, load);
}

static double split_rate(void *context, uint64_t load)
{
    const struct split *split = context;
    return part_rate(split, 0, load) * part_rate(split, 1, split->picks - load);
}

/* (a | b)(picks) */
static double both(struct bloomery_block_rates *rates, uint64_t picks, uint32_t one, uint32_t other)
{
    struct split split = {rates, picks, {one, other}};
    const double blocks[2] = {one > 0 ? 1 : 2, other > 0 ? 1 : 2};
    if (picks == 0)
        return split_rate(&split, 0);
    return bloomery_expect_load((double)picks, blocks[0] / (blocks[0] + blocks[1]), split_rate,
                                &split);
}

static double joint_of(struct bloomery_block_rates *rates, uint32_t different, uint64_t picks)
{
    if (different == 1)
        return both(rates, picks, 1, 1);
    if (different == rates->blocks_per_key)
        return different == 2   ? joint_rate(rates, 1, picks)
               : different == 3 ? both(rates, picks, 1, 0)
                                : both(rates, picks, 0, 0);
    if (different == 3)
        return 6 * both(rates, picks, 2, 0);
    if (rates->blocks_per_key == 3)
        return 3 * both(rates, picks, 2, 1);
    return 3 * both(rates, picks, 2, 2) + 4 * both(rates, picks, 3, 1);
}

/* H_different, from 2 different blocks on; of 1 block g | g. */
static double joint_rate(struct bloomery_block_rates *rates, uint32_t different, uint64_t picks)
{
    double *table = rates->joint[different - 1];
    uint32_t *known = &rates->joint_known[different - 1];
    assert(different <= rates->blocks_per_key && picks < BLOOMERY_JOINT_MAX);
    while (*known <= picks) {
        table[*known] = joint_of(rates, different, *known);
        (*known)++;
    }
    return table[picks];
}

struct tested {
    struct bloomery_block_rates *rates;
    uint32_t number; /* of different blocks, or how often the one is tested */
    uint32_t more;   /* picks than the load */
};

static double joint_with(void *context, uint64_t picks)
{
    const struct tested *tested = context;
    return joint_rate(tested->rates, tested->number, picks);
}

static double block_with(void *context, uint64_t load)
{
    const struct tested *tested = context;
    return block_rate(tested->rates, tested->number, load + tested->more);
}

/* N (N-1) .. (N-d+1) / N^L */
static double chance_of(uint64_t blocks, uint32_t different, uint32_t blocks_per_key)
{
    const double all = (double)blocks;
    double chance = 1;
    for (uint32_t i = 0; i < different; i++)
        chance *= (all - i) / all;
    for (uint32_t i = different; i < blocks_per_key; i++)
        chance /= all;
    return chance;
}

static double rate_jointly(struct bloomery_block_rates *rates, uint64_t blocks, double picks)
{
    double rate = 0;
    for (uint32_t different = 1; different <= rates->blocks_per_key && different <= blocks;
         different++) {
        struct tested tested = {rates, different == 1 ? rates->blocks_per_key : different, 0};
        rate += chance_of(blocks, different, rates->blocks_per_key) *
                bloomery_expect_load(picks, different / (double)blocks,
                                     different == 1 ? block_with : joint_with, &tested);
    }
    return rate;
}

/* ---- Several blocks, one by one -------------------------------------------------------------- */

/* A way in which blocks of an absent key coincide: how many such ways, how often each is tested. */
struct coincidence {
    uint32_t blocks_per_key; /* L */
    uint32_t ways;
    uint32_t different;
    uint32_t times[BLOOMERY_BLOCKS_PER_KEY_MAX];
};

static const struct coincidence coincidences[] = {
    {1, 1, 1, {1}},          {2, 1, 2, {1, 1}}, {2, 1, 1, {2}},       {3, 1, 3, {1, 1, 1}},
    {3, 3, 2, {2, 1}},       {3, 1, 1, {3}},    {4, 6, 3, {2, 1, 1}}, {4, 3, 2, {2, 2}},
    {4, 1, 4, {1, 1, 1, 1}}, {4, 4, 2, {3, 1}}, {4, 1, 1, {4}},
};

/*
 * Different blocks as if their loads were independent, each Binomial(picks, 1/N), times
 *
 *     exp(-picks / N^2 * sum over pairs of r_i r_j),    r = E[g(load + 1)] / E[g(load)] - 1
 *
 * because a pick that one block takes is lost to the others: their loads have covariance
 * -picks/N^2.
 */
static double rate_apart(struct bloomery_block_rates *rates, uint64_t blocks, double picks)
{
    const double share = 1 / (double)blocks;
    double expected[BLOOMERY_BLOCKS_PER_KEY_MAX];
    double more[BLOOMERY_BLOCKS_PER_KEY_MAX]; /* r */
    double rate = 0;
    for (uint32_t i = 0; i < rates->blocks_per_key; i++) {
        struct tested tested = {rates, i + 1, 0};
        expected[i] = bloomery_expect_load(picks, share, block_with, &tested);
        tested.more = 1;
        more[i] = rates->blocks_per_key > 1 && expected[i] > 0
                      ? bloomery_expect_load(picks, share, block_with, &tested) / expected[i] - 1
                      : 0;
    }
    for (size_t c = 0; c < sizeof coincidences / sizeof coincidences[0]; c++) {
        const struct coincidence *now = &coincidences[c];
        if (now->blocks_per_key != rates->blocks_per_key || now->different > blocks)
            continue;
        double product = now->ways * chance_of(blocks, now->different, now->blocks_per_key);
        double sum = 0;
        double squares = 0;
        for (uint32_t i = 0; i < now->different; i++) {
            product *= expected[now->times[i] - 1];
            sum += more[now->times[i] - 1];
            squares += more[now->times[i] - 1] * more[now->times[i] - 1];
        }
        rate += product * exp(-picks * (sum * sum - squares) / 2 * share * share);
    }
    return rate;
}

double bloomery_block_rates_expect(struct bloomery_block_rates *rates, uint64_t blocks,
                                   uint64_t keys)
{
    assert(blocks > 0);
    if (keys == 0)
        return 0;
    const double picks = (double)keys * rates->blocks_per_key;
    const double load = picks / (double)blocks;
    if (load * rates->probes > full_load * BLOOMERY_BLOCK_BITS)
        return 1;
    const double together = rates->blocks_per_key * load;
    const double max = together + deviations_above * sqrt(together) + spare_loads;
    const bool few =
        (blocks <= joint_blocks && max < BLOOMERY_JOINT_MAX) || picks < BLOOMERY_JOINT_MAX;
    const double rate = few && rates->blocks_per_key > 1 ? rate_jointly(rates, blocks, picks)
                                                         : rate_apart(rates, blocks, picks);
    return rate < 1 ? rate : 1;
}

double bloomery_blocked_rate(uint64_t blocks, uint32_t blocks_per_key, uint32_t probes,
                             uint64_t keys)
{
    struct bloomery_block_rates rates;
    bloomery_block_rates_start(&rates, blocks_per_key, probes);
    return bloomery_block_rates_expect(&rates, blocks, keys);
}

/* ---- Set bits -------------------------------------------------------------------------------- */

double bloomery_blocked_hit(uint64_t blocks, uint32_t probes)
{
    assert(blocks > 0);
    return probes / ((double)BLOOMERY_BLOCK_BITS * (double)blocks);
}

double bloomery_blocked_estimate_keys(uint64_t bits, uint64_t blocks, uint32_t blocks_per_key,
                                      uint32_t probes, uint64_t bits_set)
{
    assert(bits > 0 && blocks_per_key > 0 && probes > 0);
    if (bits_set >= bits)
        return INFINITY;
    return log1p(-(double)bits_set / (double)bits) /
           (blocks_per_key * log1p(-bloomery_blocked_hit(blocks, probes)));
}

/* ---- The chance of one block ----------------------------------------------------------------- */

enum { WORDS = BLOOMERY_RING_WORDS, SETS = BLOOMERY_RING_SETS, MASKS = 1 << WORDS };

static const double hit = 1.0 / 64; /* the marked bit of a word, which a key sets a bit in */

static uint32_t turned(uint32_t set, uint32_t by)
{
    return (set << by | set >> (WORDS - by)) & (MASKS - 1);
}

static uint32_t mirrored(uint32_t set)
{
    uint32_t mirror = 0;
    for (uint32_t word = 0; word < WORDS; word++)
        mirror |= (set >> word & 1) << (WORDS - 1 - word);
    return mirror;
}

static uint32_t size_of(uint32_t set)
{
    return (uint32_t)__builtin_popcount(set);
}

/* The number of each of 256 sets among the 30, fewer words first; and which those are. */
static void number_sets(uint8_t number[MASKS], uint32_t sets[SETS])
{
    uint32_t alike[MASKS];
    uint32_t found = 0;
    for (uint32_t set = 0; set < MASKS; set++) {
        /* The least of all sets that are this one turned or mirrored. */
        uint32_t min = set;
        for (uint32_t by = 0; by < WORDS; by++) {
            const uint32_t one = turned(set, by);
            const uint32_t other = mirrored(one);
            min = one < min ? one : min;
            min = other < min ? other : min;
        }
        alike[set] = min;
    }
    for (uint32_t size = 0; size <= WORDS; size++)
        for (uint32_t set = 0; set < MASKS; set++)
            if (alike[set] == set && size_of(set) == size) {
                assert(found < SETS);
                number[set] = (uint8_t)found;
                sets[found++] = set;
            }
    assert(found == SETS);
    for (uint32_t set = 0; set < MASKS; set++)
        number[set] = number[alike[set]];
}

/* The factors of set i start here: it has i + 1 of them. */
static size_t row(uint32_t i)
{
    return (size_t)i * (i + 1) / 2;
}

/* What a key with this window does to the marks of a set. */
static void add_window(double *factor, const uint8_t number[MASKS], uint32_t set, uint32_t window)
{
    const uint32_t touched = set & window;
    uint32_t missed = touched; /* T: all subsets, down to none */
    for (;;) {
        const double chance =
            pow(hit, size_of(touched) - size_of(missed)) * pow(1 - hit, size_of(missed));
        factor[number[(set & ~window) | missed]] += chance / WORDS;
        if (missed == 0)
            break;
        missed = (missed - 1) & touched;
    }
}

void bloomery_ring_start(struct bloomery_ring *ring, uint32_t probes)
{
    uint8_t number[MASKS];
    uint32_t sets[SETS];
    assert(probes >= 1 && probes <= WORDS);
    const uint32_t window = (1U << probes) - 1;
    number_sets(number, sets);
    *ring = (struct bloomery_ring){.window = number[window]};
    ring->chance[0] = 1; /* of no marks */
    for (uint32_t i = 0; i < SETS; i++) {
        double missed = 0;
        for (uint32_t by = 0; by < WORDS; by++) {
            const uint32_t words = turned(window, by);
            add_window(ring->step + row(i), number, sets[i], words);
            missed += pow(1 - hit, size_of(sets[i] & words)) / WORDS;
        }
        ring->missed[i] = log(missed);
    }
    for (uint32_t set = 0; set <= window; set++)
        ring->sign[number[set]] += size_of(set) % 2 == 0 ? 1 : -1;
}

void bloomery_ring_step(struct bloomery_ring *ring)
{
    /* From the largest down: a set needs the smaller ones of the key before. */
    for (uint32_t i = ring->window; i > 0; i--) {
        const double *factor = ring->step + row(i);
        double sum = 0;
        for (uint32_t s = 0; s <= i; s++)
            sum += factor[s] * ring->chance[s];
        ring->chance[i] = sum;
    }
}

double bloomery_ring_chance(const struct bloomery_ring *ring)
{
    return ring->chance[ring->window];
}

double bloomery_ring_chance_at(const struct bloomery_ring *ring, double keys)
{
    double sum = 0;
    for (uint32_t i = 0; i <= ring->window; i++)
        if (ring->sign[i] != 0)
            sum += ring->sign[i] * exp(keys * ring->missed[i]);
    return sum < 0 ? 0 : sum < 1 ? sum : 1;
}

/* ---- What two filters have in common --------------------------------------------------------- */

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
        /* How many of the eight windows of k words have both of two words at this distance. */
        const uint32_t other_way = BLOOMERY_RING_WORDS - distance;
        const double windows = (overlap->probes > distance ? overlap->probes - distance : 0) +
                               (overlap->probes > other_way ? overlap->probes - other_way : 0);
        const double both = windows / BLOOMERY_RING_WORDS / (word * word) / blocks;
        pick.group[distance] = (struct neighbours){word, 2 * pick.hit - both};
    }
    return pick;
}

/* v: Var[Z] / E[Z]^2 after `keys` keys. Pairs of cells come in three sorts: one cell twice, two of
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

/* ---- Blocks that coincide -------------------------------------------------------------------- */

enum {
    DENSE = 8,  /* up to here each load has a node */
    OCTAVE = 4, /* nodes of each octave after it */
    POINTS = 6, /* of a polynomial */
    LAST = 1024,
};

/* The load of a node. */
static double node_load(uint32_t node)
{
    if (node < DENSE)
        return node + 1;
    const uint32_t after = node - (DENSE - 1);
    const uint32_t octaves = after / OCTAVE;
    const uint32_t steps = (OCTAVE + after % OCTAVE) * (DENSE / OCTAVE);
    return (double)steps * (double)(1U << octaves);
}

/* The last node that is not past a load. */
static uint32_t node_of(uint64_t load)
{
    if (load <= DENSE)
        return (uint32_t)load - 1;
    const uint32_t octave = 63 - (uint32_t)__builtin_clzll(load / DENSE);
    const uint32_t part = (uint32_t)(load >> octave) * OCTAVE / DENSE - OCTAVE;
    return DENSE - 1 + octave * OCTAVE + part;
}

/* The polynomial through six nodes around the load (Lagrange). */
static double between(const float *table, uint64_t load)
{
    const uint32_t node = node_of(load);
    const double x = (double)load;
    uint32_t first = node < POINTS / 2 ? 0 : node - POINTS / 2 + 1;
    double sum = 0;
    assert(node < BLOOMERY_COINCIDING_NODES && node_load(node) <= x);
    if (node_load(node) >= x)
        return (double)table[node];
    if (first > BLOOMERY_COINCIDING_NODES - POINTS)
        first = BLOOMERY_COINCIDING_NODES - POINTS;
    for (uint32_t i = first; i < first + POINTS; i++) {
        double above = 1;
        double below = 1;
        for (uint32_t other = first; other < first + POINTS; other++)
            if (other != i) {
                above *= x - node_load(other);
                below *= node_load(i) - node_load(other);
            }
        sum += above / below * (double)table[i];
    }
    return sum;
}

double bloomery_coinciding(uint32_t probes, uint32_t times, uint64_t load)
{
    assert(probes >= 1 && probes <= 8 && load >= 1);
    assert(times >= 1 && times <= BLOOMERY_COINCIDING_MAX);
    if (times == 1)
        return 1;
    const float *table = bloomery_coinciding_table[probes - 1][times - 2];
    const double pairs = times * (times - 1) / 2.0;
    /* Past the table what varies falls with the bits that are still 0. */
    const double excess = load <= LAST ? between(table, load)
                                       : (double)table[BLOOMERY_COINCIDING_NODES - 1] *
                                             exp(((double)LAST - (double)load) * probes / 512);
    return exp(pairs * excess);
}
