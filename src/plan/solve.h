/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two of keys, rate and bytes in, a whole plan out.
 *
 * All sizes are counted in units of 512 bits, the block of a blocked filter. A solver never trusts
 * a closed formula: it evaluates the exact rate of what would be built and searches
 *
 *     over L (1 to 4)    blocked only; classic is a family of its own
 *       over k           from few probes upwards, until memory only grows
 *         over units, or keys   by bisection: the rate falls with units and rises with keys
 *
 * and only then rounds: units up to a multiple of 16 from 256 on (so that the filter folds) or of
 * 2^folds, and k down again to the smallest that still meets the rate at the rounded size. If L is
 * free the first is taken whose memory is within 10 % of a classic filter's at the same rate. Else
 * (far below 1e-12) it is the one that takes the least memory. One block costs one cache miss, so
 * memory must pay for each block more.
 *
 * Eight bits in one block are the fastest, for no word of it has to be left out. So if k is free, k
 * = 8 is taken with L = 1 if it costs at most 2 % more memory than the best k. With memory given:
 * if its rate is no worse than that of the best k with 2 % more keys, or if it holds at most 2 %
 * fewer keys.
 *
 * The hash's own rate (plan/solve.h) is part of every rate. If the hash is free, a plan is
 * solved with 64 bits of it, and again with 128 if those were too few.
 */
#ifndef BLOOMERY_PLAN_SOLVE_H
#define BLOOMERY_PLAN_SOLVE_H

#include <bloomery/bloomery.h>

/* Limits of plans; shapes read from files have the same. */
#define BLOOMERY_KEYS_MAX ((uint64_t)1 << 48)
#define BLOOMERY_BITS_MAX ((uint64_t)1 << 50)
#define BLOOMERY_RATE_MIN 1e-15
enum {
    BLOOMERY_PROBES_MAX = 64,
    BLOOMERY_FOLDS_MAX = 30,
    BLOOMERY_CELL_BITS_MAX = 8,
    BLOOMERY_COUNTER_BITS = 4 /* unless others are wanted */
};

/* Whether a plan has two of keys, rate and bytes, or a rate alone, and each in its range. And
 * whether a rate is in its range. BLOOMERY_BAD_ARGUMENT. */
bloomery_status bloomery_plan_check_numbers(const bloomery_plan *plan, bloomery_error *error);
bloomery_status bloomery_plan_check_rate(double rate, bloomery_error *error);

/* Whether a plan that was checked is one for 0 keys: it has nothing but a rate. */
static inline bool bloomery_plan_is_of_none(const bloomery_plan *plan)
{
    return plan->keys == 0 && plan->bytes == 0;
}

/* As bloomery_plan_solve says: reads kind, cell_bits, keys, rate and bytes, fills the fields below
 * them. blocks, probes, hash: 0 to choose. */
bloomery_status bloomery_solve(bloomery_plan *plan, uint32_t blocks_per_key, uint32_t probes,
                               uint32_t folds, bloomery_hash_id hash, bloomery_error *error);

/* The bits of a plan's cells: as it says, or if it does not, as its kind has them. */
uint32_t bloomery_cell_bits(const bloomery_plan *plan);

/* The rate of a solved or hand-made plan's geometry with this many keys, the hash's own included; 1
 * for what is not a geometry. */
double bloomery_geometry_rate(bloomery_kind kind, uint64_t bits, uint32_t blocks_per_key,
                              uint32_t probes, bloomery_hash_id hash, uint64_t keys);

/* ---- What the hash adds to a rate ------------------------------------------------------------ */

/*
 * What 64 bits of hash cost. If one of n keys has all 64 bits of an absent key's hash, no
 * structure can distinguish the two: with probability
 *
 *     c = 1 - (1 - 2^-64)^n = n / 2^64
 *
 * (to n/2^65 of it, 8e-6 for the maximum number of keys). The rest of the rate, r, comes on top:
 *
 *     rate = r + c - r c
 *
 * For 1e9 keys c is 5.4e-11. A plan takes XXH3's 64 bits while that is at most 1 % of the rate, and
 * its 128 below. A hash of 128 bits adds nothing (1e-24 for the maximum number of keys).
 */

/* c of a hash; BLOOMERY_HASH_DEFAULT counts as XXH3_64. */
double bloomery_hash_rate(bloomery_hash_id hash, uint64_t keys);

/* A structure's rate with the hash's own. */
double bloomery_rate_with_hash(bloomery_hash_id hash, uint64_t keys, double rate);

/* XXH3_64 if its c is at most 1 % of the rate, or the rate is not known (0); else XXH3_128. */
bloomery_hash_id bloomery_hash_for(uint64_t keys, double rate);

#endif /* BLOOMERY_PLAN_SOLVE_H */
