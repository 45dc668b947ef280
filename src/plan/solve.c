/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/solve.h"
#include "base/bytes.h"
#include "base/error.h"
#include "plan/blocked_rate.h"
#include "plan/classic_rate.h"

#include <assert.h>
#include <math.h>

static const uint64_t unit_bits = BLOOMERY_BLOCK_BITS;
static const uint64_t block_bytes = 64; /* of memory, whatever a block of the filter takes */
/* Filters from this size on fold by themselves, down to multiples of this. */
static const uint64_t folding_from = 256;
static const uint64_t folding_unit = 16;
static const double tolerated_memory = 1.10;
/* Times the information limit: a filter that ORs bits takes at least 1 / ln 2 = 1.44 times that. */
static const double min_memory = 1.35;
/* What eight bits in one block, the fastest, may cost over the best number of them. */
static const double fastest_probes_cost = 1.02;
static const uint32_t fastest_probes = 8;
/* With bytes given, worse rates than this are refused: such a filter answers "possibly" for most
 * keys. */
static const double worst_rate = 0.5;

/* One choice of L and k, with its table of block rates. */
struct layout {
    uint32_t blocks_per_key; /* 0: classic */
    uint32_t probes;
    bloomery_hash_id hash;
    struct bloomery_block_rates table;
};

struct candidate {
    bool found;
    uint32_t blocks_per_key;
    uint32_t probes;
    uint64_t units;
    uint64_t keys;
    double rate;
};

/* What is wanted: one of units, keys, rate is unknown (0). */
struct wish {
    uint64_t keys;
    double rate;
    uint64_t units;
    uint32_t blocks_per_key; /* 0: search, or classic */
    uint32_t probes;         /* 0: search */
    uint64_t round;          /* units are a multiple of this */
    bool blocked;
    uint64_t unit_bytes; /* memory of a unit */
    bloomery_hash_id hash;
};

static void layout_start(struct layout *layout, const struct wish *wish, uint32_t blocks_per_key,
                         uint32_t probes)
{
    layout->blocks_per_key = blocks_per_key;
    layout->probes = probes;
    layout->hash = wish->hash;
    if (blocks_per_key > 0)
        bloomery_block_rates_start(&layout->table, blocks_per_key, probes);
}

static double layout_rate(struct layout *layout, uint64_t units, uint64_t keys)
{
    const double rate = layout->blocks_per_key > 0
                            ? bloomery_block_rates_expect(&layout->table, units, keys)
                            : bloomery_classic_rate(units * unit_bits, layout->probes, keys);
    return bloomery_rate_with_hash(layout->hash, keys, rate);
}

/* The classic filter's bits for this many keys at this rate, with the best whole k: the yardstick.
 */
static double classic_bits(double keys, double rate)
{
    double lowest = INFINITY;
    for (uint32_t probes = 1; probes <= BLOOMERY_PROBES_MAX; probes++) {
        double bits = -(double)probes * keys / log1p(-pow(rate, 1.0 / probes));
        if (bits < lowest)
            lowest = bits;
    }
    return lowest;
}

static uint64_t round_unit(const struct wish *wish, uint64_t units)
{
    bool folds = wish->blocked && units >= folding_from;
    assert(wish->round > 0);
    return folds && wish->round < folding_unit ? folding_unit : wish->round;
}

/* As many as fit into the memory that a filter can have. */
static uint64_t max_units(const struct wish *wish)
{
    return BLOOMERY_BITS_MAX / 8 / wish->unit_bytes;
}

/* The smallest number of units whose rate is at most the wish's; 0 if there is none. */
static uint64_t min_units(struct layout *layout, const struct wish *wish)
{
    const uint64_t units_max = max_units(wish);
    double limit = (double)wish->keys * -log2(wish->rate) / (double)unit_bits;
    double lowest = min_memory * limit;
    uint64_t too_few = lowest < (double)units_max ? (uint64_t)lowest : units_max;
    uint64_t enough = too_few + 1;
    while (layout_rate(layout, enough, wish->keys) > wish->rate) {
        too_few = enough;
        enough *= 2;
        if (enough > units_max)
            return 0;
    }
    while (enough - too_few > 1) {
        uint64_t middle = too_few + (enough - too_few) / 2;
        if (layout_rate(layout, middle, wish->keys) > wish->rate)
            too_few = middle;
        else
            enough = middle;
    }
    return enough;
}

/* The largest number of keys whose rate is at most the wish's; 0 if not even one key is. */
static uint64_t max_keys(struct layout *layout, const struct wish *wish)
{
    uint64_t too_many = 1;
    while (too_many <= BLOOMERY_KEYS_MAX &&
           layout_rate(layout, wish->units, too_many) <= wish->rate)
        too_many *= 2;
    uint64_t fits = too_many / 2;
    while (too_many - fits > 1) {
        uint64_t middle = fits + (too_many - fits) / 2;
        if (layout_rate(layout, wish->units, middle) <= wish->rate)
            fits = middle;
        else
            too_many = middle;
    }
    return fits < BLOOMERY_KEYS_MAX ? fits : BLOOMERY_KEYS_MAX;
}

/* Fills in the unknown of the three for one L and k. */
static struct candidate solve_layout(const struct wish *wish, uint32_t blocks_per_key,
                                     uint32_t probes)
{
    struct layout layout;
    struct candidate found = {.blocks_per_key = blocks_per_key,
                              .probes = probes,
                              .units = wish->units,
                              .keys = wish->keys};
    layout_start(&layout, wish, blocks_per_key, probes);
    if (wish->units == 0)
        found.units = min_units(&layout, wish);
    else if (wish->keys == 0)
        found.keys = max_keys(&layout, wish);
    found.found = found.units > 0 && found.keys > 0;
    if (found.found)
        found.rate = layout_rate(&layout, found.units, found.keys);
    assert(!found.found || found.units <= max_units(wish));
    return found;
}

/* What k costs: the quantity that was unknown, so that less is better. */
static double cost(const struct wish *wish, const struct candidate *candidate)
{
    if (!candidate->found)
        return INFINITY;
    if (wish->units == 0)
        return (double)candidate->units;
    if (wish->keys == 0)
        return 1 / (double)candidate->keys;
    /* Below the lowest rate that can be planned, fewer probes are better than a lower rate. */
    return candidate->rate > BLOOMERY_RATE_MIN ? candidate->rate : BLOOMERY_RATE_MIN;
}

/* The best k for this L. The cost falls to one minimum and then rises, give or take rounding.
 */
static struct candidate solve_blocks(const struct wish *wish, uint32_t blocks_per_key)
{
    uint32_t max = blocks_per_key > 0 ? BLOOMERY_BLOCK_PROBES_MAX : BLOOMERY_PROBES_MAX;
    struct candidate best = {.found = false};
    double lowest = INFINITY;
    if (wish->probes > 0)
        return solve_layout(wish, blocks_per_key, wish->probes);
    /* Fewer probes than a quarter of the classic optimum never win, and cost astronomical sizes. */
    double classic =
        wish->rate > 0 ? -log2(wish->rate) / (blocks_per_key > 0 ? blocks_per_key : 1) : 1;
    uint32_t first = classic > 8 ? (uint32_t)(classic / 4) : 1;
    if (first > max)
        first = max;
    /* Up to half a fill, k probes of a key have a rate of at most about 2^-k. More than the classic
     * optimum never meet a rate that it misses, and cost time. */
    if (wish->rate > 0 && (double)max > classic + 3)
        max = (uint32_t)(classic + 3);
    for (uint32_t probes = first; probes <= max; probes++) {
        struct candidate next = solve_layout(wish, blocks_per_key, probes);
        double price = cost(wish, &next);
        if (price < lowest) {
            lowest = price;
            best = next;
        } else if (price > lowest * 1.5 && best.found) {
            break;
        }
    }
    return best;
}

/* Rounds the size up and, if k is free, takes the smallest k up to the candidate's that meets the
 * rate there. */
static struct candidate round_candidate(const struct wish *wish, struct candidate candidate,
                                        bool fewer_probes)
{
    struct layout layout;
    if (!candidate.found || wish->units > 0)
        return candidate;
    uint64_t unit = round_unit(wish, candidate.units);
    candidate.found = bloomery_round_up(candidate.units, unit, &candidate.units) &&
                      candidate.units <= max_units(wish);
    if (!candidate.found)
        return candidate;
    uint32_t lowest = wish->probes > 0 || !fewer_probes ? candidate.probes : 1;
    for (uint32_t probes = lowest; probes <= candidate.probes; probes++) {
        layout_start(&layout, wish, candidate.blocks_per_key, probes);
        candidate.rate = layout_rate(&layout, candidate.units, candidate.keys);
        if (candidate.rate <= wish->rate) {
            candidate.probes = probes;
            break;
        }
    }
    assert(candidate.rate <= wish->rate * (1 + 1e-9));
    return candidate;
}

/* Whether the fastest k costs no more than it may, both being rounded. */
static bool is_cheap(const struct wish *wish, const struct candidate *fastest,
                     const struct candidate *best)
{
    if (!fastest->found)
        return false;
    if (wish->units == 0)
        return (double)fastest->units <= fastest_probes_cost * (double)best->units;
    if (wish->keys == 0)
        return (double)fastest->keys * fastest_probes_cost >= (double)best->keys;
    struct layout layout;
    layout_start(&layout, wish, best->blocks_per_key, best->probes);
    const double more = floor(fastest_probes_cost * (double)best->keys);
    const double rate = layout_rate(&layout, best->units, (uint64_t)more);
    return fastest->rate <= (rate > BLOOMERY_RATE_MIN ? rate : BLOOMERY_RATE_MIN);
}

/* Rounds the best k of an L, or takes the fastest one instead: of one block, for only there is it
 * faster than others. */
static struct candidate finish(const struct wish *wish, struct candidate best)
{
    struct candidate rounded = round_candidate(wish, best, true);
    if (!rounded.found || best.blocks_per_key != 1 || wish->probes > 0)
        return rounded;
    const struct candidate fastest =
        round_candidate(wish, solve_layout(wish, best.blocks_per_key, fastest_probes), false);
    return is_cheap(wish, &fastest, &rounded) ? fastest : rounded;
}

static bool within_tolerance(const struct wish *wish, const struct candidate *candidate)
{
    if (!candidate->found)
        return false;
    if (wish->rate <= 0 && candidate->rate <= BLOOMERY_RATE_MIN)
        return true; /* more memory than any rate needs */
    /* A classic filter has the same hash: what the two are compared by is the rest of the rate. */
    const double same = bloomery_hash_rate(wish->hash, candidate->keys);
    const double rest = (candidate->rate - same) / (1 - same);
    return rest > 0 && (double)candidate->units * (double)unit_bits <=
                           tolerated_memory * classic_bits((double)candidate->keys, rest);
}

/* If L is free, the first L within the tolerance, else the cheapest. */
static struct candidate solve_wish(const struct wish *wish)
{
    struct candidate best = {.found = false};
    if (!wish->blocked || wish->blocks_per_key > 0)
        return finish(wish, solve_blocks(wish, wish->blocks_per_key));
    for (uint32_t blocks_per_key = 1; blocks_per_key <= BLOOMERY_BLOCKS_PER_KEY_MAX;
         blocks_per_key++) {
        struct candidate next = solve_blocks(wish, blocks_per_key);
        struct candidate rounded = finish(wish, next);
        if (within_tolerance(wish, &next) && rounded.found)
            return rounded;
        if (cost(wish, &rounded) < cost(wish, &best))
            best = rounded;
    }
    return best;
}

static double power_sum(double base, uint32_t terms)
{
    double sum = 0;
    double power = 1;
    for (uint32_t i = 0; i < terms; i++, power *= base)
        sum += power;
    return sum;
}

uint32_t bloomery_cell_bits(const bloomery_plan *plan)
{
    if (plan->cell_bits != 0)
        return plan->cell_bits;
    return plan->kind == BLOOMERY_COUNTING ? BLOOMERY_COUNTER_BITS : 1;
}

/*
 * The cache lines that its k words are read from, one after the other, of the `parts` that a block
 * of eight words takes. Each is read with the chance `go_on` of the one before. They lie in k
 * consecutive words, so what counts is where the first is: the mean over all eight.
 */
static double parts_read(uint32_t parts, uint32_t probes, double go_on)
{
    double sum = 0;
    assert(parts > 0 && parts <= BLOOMERY_RING_WORDS);
    for (uint32_t first = 0; first < BLOOMERY_RING_WORDS; first++) {
        uint32_t seen = 0; /* a bit for each part */
        double reached = 1;
        for (uint32_t i = 0; i < probes; i++, reached *= go_on) {
            const uint32_t word = (first + i) % BLOOMERY_RING_WORDS;
            const uint32_t part = 1U << (word * parts / BLOOMERY_RING_WORDS);
            sum += (seen & part) == 0 ? reached : 0;
            seen |= part;
        }
    }
    return sum / BLOOMERY_RING_WORDS;
}

/*
 * The cache lines that are read to answer for a key. A block of an absent key says yes with
 * probability y, the L-th root of the rate, and the next is only read then. Of counters a block of
 * the filter is 4 or 8 cache lines. Its counters are read until one is 0: the next one with
 * probability y^(1/k) or a little less. docs/mathematics.md, section 10.
 */
static void count_reads(bloomery_plan *plan, double units)
{
    if (plan->blocks_per_key == 0) {
        double fill = pow(plan->planned_rate, 1.0 / plan->probes);
        plan->absent_cache_lines = power_sum(fill, plan->probes);
        /* How many of the lines are hit by k probes, on average. */
        plan->present_cache_lines =
            units > 1 ? -units * expm1(plan->probes * log1p(-1 / units)) : 1;
        return;
    }
    const uint32_t parts =
        (uint32_t)((uint64_t)BLOOMERY_BLOCK_BYTES * plan->cell_bits / block_bytes);
    const double yes = pow(plan->planned_rate, 1.0 / plan->blocks_per_key);
    const double all = parts * units;
    plan->absent_cache_lines = power_sum(yes, plan->blocks_per_key) *
                               parts_read(parts, plan->probes, pow(yes, 1.0 / plan->probes));
    /* Each cache line of the filter is touched by one block of the key with this probability. */
    const double touched = parts_read(parts, plan->probes, 1) / all;
    plan->present_cache_lines =
        touched < 1 ? -all * expm1(plan->blocks_per_key * log1p(-touched)) : all;
}

static void fill_plan(bloomery_plan *plan, const struct candidate *found, bloomery_hash_id hash)
{
    double keys = (double)found->keys;
    assert(found->found && found->rate >= 0 && found->rate <= 1);
    plan->cell_bits = bloomery_cell_bits(plan);
    plan->hash = hash;
    plan->blocks_per_key = found->blocks_per_key;
    plan->probes = found->probes;
    plan->planned_keys = found->keys;
    plan->planned_rate = found->rate;
    plan->planned_bytes = found->units * BLOOMERY_BLOCK_BYTES * plan->cell_bits;
    plan->bits = found->units * unit_bits;
    const double memory = (double)plan->bits * plan->cell_bits;
    plan->bits_per_key = keys > 0 ? memory / keys : 0;
    plan->limit_ratio = found->rate > 0 ? memory / (keys * -log2(found->rate)) : 0;
    count_reads(plan, (double)found->units);
}

/* Why nothing was found, and what would do instead. */
static bloomery_status explain(const struct wish *wish, const bloomery_plan *plan,
                               bloomery_error *error)
{
    struct bloomery_phrase need = {{0}}, best = {{0}}, wanted = {{0}};
    const double same = bloomery_hash_rate(wish->hash, plan->keys);
    if (plan->bytes == 0 && bloomery_rate_with_hash(wish->hash, plan->keys, 0) >= plan->rate)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "among %llu keys one has all 64 bits of an absent key's XXH3-64 as "
                             "often as %s, and the wanted rate is %s: take XXH3-128, or leave "
                             "the hash to the plan",
                             (unsigned long long)plan->keys, bloomery_phrase_rate(&best, same),
                             bloomery_phrase_rate(&wanted, plan->rate));
    if (plan->bytes == 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "no filter of this kind with these probes reaches a rate of %s within "
                             "%llu bytes",
                             bloomery_phrase_rate(&wanted, plan->rate),
                             (unsigned long long)(BLOOMERY_BITS_MAX / 8));
    if (wish->units == 0 && wish->round > 1 && plan->bytes >= wish->unit_bytes)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a filter with this number of folds takes at least %llu bytes, and "
                             "%llu are given",
                             (unsigned long long)(wish->round * wish->unit_bytes),
                             (unsigned long long)plan->bytes);
    if (plan->keys == 0)
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0, "%llu bytes hold not a single key at a rate of %s",
            (unsigned long long)plan->bytes, bloomery_phrase_rate(&wanted, plan->rate));
    struct wish other = *wish;
    other.units = 0;
    other.rate = 0.01;
    struct candidate enough = solve_wish(&other);
    struct candidate tight = {.found = false};
    if (wish->units > 0)
        tight = solve_wish(wish);
    return bloomery_fail(
        error, BLOOMERY_BAD_ARGUMENT, 0,
        "%llu keys do not fit in %llu bytes: the best rate would be %s; for 1 in 100 they need %s",
        (unsigned long long)plan->keys, (unsigned long long)plan->bytes,
        bloomery_phrase_rate(&best, tight.found ? tight.rate : 1),
        enough.found ? bloomery_phrase_bytes(&need, enough.units * wish->unit_bytes)
                     : "more than a filter can have");
}

bloomery_status bloomery_plan_check_rate(double rate, bloomery_error *error)
{
    /* Written so that a rate that is not a number fails too. */
    return rate >= BLOOMERY_RATE_MIN && rate < 1
               ? BLOOMERY_OK
               : bloomery_fail(
                     error, BLOOMERY_BAD_ARGUMENT, 0,
                     "a rate must be at least 1e-15 and below 1, such as 0.01 for 1 in 100");
}

bloomery_status bloomery_plan_check_numbers(const bloomery_plan *plan, bloomery_error *error)
{
    const bloomery_status bad = BLOOMERY_BAD_ARGUMENT;
    const bool keys = plan->keys > 0, rate = plan->rate != 0, bytes = plan->bytes > 0;
    if (keys && rate && bytes)
        return bloomery_fail(error, bad, 0,
                             "a plan takes two of keys, rate and bytes, and all 3 are set: leave "
                             "one of them 0");
    if (!keys && !rate && !bytes)
        return bloomery_fail(error, bad, 0,
                             "a plan takes two of keys, rate and bytes, and none is set");
    if (!rate && keys != bytes)
        return bloomery_fail(error, bad, 0,
                             "a plan takes two of keys, rate and bytes, and %s alone are set: set "
                             "the rate or the %s too",
                             keys ? "keys" : "bytes", keys ? "bytes" : "keys");
    if (plan->keys > BLOOMERY_KEYS_MAX)
        return bloomery_fail(error, bad, 0, "keys must be at most 2^48");
    if (plan->bytes > BLOOMERY_BITS_MAX / 8)
        return bloomery_fail(error, bad, 0, "bytes must be 64 to 2^47");
    return rate ? bloomery_plan_check_rate(plan->rate, error) : BLOOMERY_OK;
}

static bloomery_status check_ranges(const bloomery_plan *plan, uint32_t blocks_per_key,
                                    uint32_t probes, uint32_t folds, bloomery_error *error)
{
    const bloomery_status bad = BLOOMERY_BAD_ARGUMENT;
    const uint32_t cell_bits = bloomery_cell_bits(plan);
    const bloomery_status numbers = bloomery_plan_check_numbers(plan, error);
    if (numbers != BLOOMERY_OK)
        return numbers;
    if (blocks_per_key > BLOOMERY_BLOCKS_PER_KEY_MAX ||
        (blocks_per_key > 0 && plan->kind == BLOOMERY_CLASSIC))
        return bloomery_fail(
            error, bad, 0,
            "blocks per key must be 1 to 4, and a classic filter has none; %u are wanted",
            blocks_per_key);
    if (probes > BLOOMERY_BLOCK_PROBES_MAX && plan->kind != BLOOMERY_CLASSIC)
        return bloomery_fail(
            error, bad, 0,
            "a key sets 1 to 8 bits in a block, at most one in each word of it; %u are "
            "wanted (a classic filter can have up to 64)",
            probes);
    if (probes > BLOOMERY_PROBES_MAX)
        return bloomery_fail(error, bad, 0, "a key can set at most 64 bits; %u are wanted", probes);
    if (plan->kind == BLOOMERY_COUNTING ? cell_bits != 4 && cell_bits != 8 : cell_bits != 1)
        return bloomery_fail(
            error, bad, 0,
            "counters have 4 or 8 bits, and only a counting filter has them: cells "
            "of %u bits are not possible here",
            cell_bits);
    if (folds > BLOOMERY_FOLDS_MAX)
        return bloomery_fail(error, bad, 0, "folds must be 0 to 30");
    return BLOOMERY_OK;
}

/* Solves a wish with the hash given, or chosen and written into it. */
static struct candidate solve_with_hash(struct wish *wish)
{
    const bool chosen = wish->hash != BLOOMERY_HASH_DEFAULT;
    struct candidate found = {.found = false};
    if (!chosen)
        wish->hash = wish->keys > 0 && wish->rate > 0 ? bloomery_hash_for(wish->keys, wish->rate)
                                                      : BLOOMERY_HASH_XXH3_64;
    if (wish->keys > 0 && bloomery_rate_with_hash(wish->hash, wish->keys, 0) >= wish->rate &&
        wish->rate > 0)
        return found;
    found = solve_wish(wish);
    /* A plan solved for 64 bits of hash, if no hash was given, may need more of them. */
    const double needed = wish->rate > 0                   ? wish->rate
                          : found.rate > BLOOMERY_RATE_MIN ? found.rate
                                                           : BLOOMERY_RATE_MIN;
    const uint64_t stored = wish->keys > 0 ? wish->keys : found.keys;
    if (!chosen && wish->hash == BLOOMERY_HASH_XXH3_64 &&
        bloomery_hash_for(stored, needed) != BLOOMERY_HASH_XXH3_64) {
        wish->hash = BLOOMERY_HASH_XXH3_128;
        found = solve_wish(wish);
    }
    return found;
}

/* For 0 keys: the smallest filter that folds as it is wished. */
static struct candidate solve_none(struct wish *wish)
{
    const uint32_t probes = (uint32_t)fmin(fmax(round(-log2(wish->rate)), 1), BLOOMERY_PROBES_MAX);
    if (wish->hash == BLOOMERY_HASH_DEFAULT)
        wish->hash = BLOOMERY_HASH_XXH3_64;
    return (struct candidate){
        .found = wish->round <= max_units(wish),
        .blocks_per_key = wish->blocks_per_key > 0 ? wish->blocks_per_key : wish->blocked,
        .probes = wish->probes > 0 ? wish->probes
                  : wish->blocked  ? fastest_probes
                                   : probes,
        .units = wish->round,
    };
}

bloomery_status bloomery_solve(bloomery_plan *plan, uint32_t blocks_per_key, uint32_t probes,
                               uint32_t folds, bloomery_hash_id hash, bloomery_error *error)
{
    bloomery_status status = check_ranges(plan, blocks_per_key, probes, folds, error);
    if (status != BLOOMERY_OK)
        return status;
    struct wish wish = {
        .keys = plan->keys,
        .rate = plan->rate,
        .blocks_per_key = blocks_per_key,
        .probes = probes,
        .round = (uint64_t)1 << folds,
        .blocked = plan->kind != BLOOMERY_CLASSIC,
        .unit_bytes = (uint64_t)BLOOMERY_BLOCK_BYTES * bloomery_cell_bits(plan),
        .hash = hash,
    };
    wish.units = plan->bytes / wish.unit_bytes;
    struct candidate found = {.found = false};
    if (plan->bytes > 0)
        wish.units -= wish.units % round_unit(&wish, wish.units);
    if (bloomery_plan_is_of_none(plan))
        found = solve_none(&wish);
    else if (plan->bytes == 0 || wish.units > 0)
        found = solve_with_hash(&wish);
    if (!found.found || (plan->rate == 0 && found.rate > worst_rate))
        return explain(&wish, plan, error);
    fill_plan(plan, &found, wish.hash);
    assert(plan->planned_bytes > 0 && plan->probes > 0);
    return BLOOMERY_OK;
}

double bloomery_geometry_rate(bloomery_kind kind, uint64_t bits, uint32_t blocks_per_key,
                              uint32_t probes, bloomery_hash_id hash, uint64_t keys)
{
    double rate = 1;
    if (bits == 0 || bits > BLOOMERY_BITS_MAX || probes == 0 || probes > BLOOMERY_PROBES_MAX)
        return 1;
    if (kind == BLOOMERY_CLASSIC)
        rate = bloomery_classic_rate(bits, probes, keys);
    else if ((kind == BLOOMERY_BLOCKED || kind == BLOOMERY_COUNTING || kind == BLOOMERY_SCALABLE) &&
             blocks_per_key >= 1 && blocks_per_key <= BLOOMERY_BLOCKS_PER_KEY_MAX &&
             probes <= BLOOMERY_BLOCK_PROBES_MAX && bits % BLOOMERY_BLOCK_BITS == 0)
        rate = bloomery_blocked_rate(bits / BLOOMERY_BLOCK_BITS, blocks_per_key, probes, keys);
    return bloomery_rate_with_hash(hash, keys, rate);
}

/* ---- What the hash adds to a rate ------------------------------------------------------------ */

static const double hashes = 0x1p64;
static const double tolerated_part = 0.01; /* of the rate */

double bloomery_hash_rate(bloomery_hash_id hash, uint64_t keys)
{
    const bool narrow = hash == BLOOMERY_HASH_DEFAULT || hash == BLOOMERY_HASH_XXH3_64;
    return narrow ? (double)keys / hashes : 0;
}

double bloomery_rate_with_hash(bloomery_hash_id hash, uint64_t keys, double rate)
{
    const double same = bloomery_hash_rate(hash, keys);
    assert(rate >= 0 && rate <= 1 && same >= 0 && same <= 1);
    return rate + same * (1 - rate);
}

bloomery_hash_id bloomery_hash_for(uint64_t keys, double rate)
{
    const double same = bloomery_hash_rate(BLOOMERY_HASH_XXH3_64, keys);
    assert(same >= 0 && same <= 1);
    return rate > 0 && same > tolerated_part * rate ? BLOOMERY_HASH_XXH3_128
                                                    : BLOOMERY_HASH_XXH3_64;
}
