/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate of a blocked filter: N blocks of eight words of 64 bits. A key picks L blocks, uniformly
 * and independently (they may coincide), and sets a bit in each of k cyclically consecutive words.
 *
 *     key ──┬─ block 0 of N:  │   1    │ 1      │      1 │        │ ..  k = 3, first word 0
 *           └─ block 1 of N:  │        │        │ 1      │     1  │ ..  first word 2
 *
 * L = 1. An absent key that comes to a block of j keys passes with a probability g(j)
 * (below), and j is Binomial(n, 1/N):
 *
 *     rate = sum over j of P(load = j) g(j)
 *
 * Sizing by the average load would be too optimistic. In the range of plans g is convex, so the
 * crowded blocks cost more than the empty ones save.
 *
 * L > 1. The T = nL picks of all keys spread over the blocks. Of the absent key's own blocks d are
 * different. A block that it tests i times passes with g_i(j) (below). The picks that
 * came to any of the d are S, Binomial(T, d/N), and each of those went to one of the d alike. So
 * with H_d(s) for the chance that all pass after s picks, summed over the ways to divide L into d,
 *
 *     rate = sum over d = 1 .. L of  N (N-1) .. (N-d+1) / N^L  E[H_d(S)]
 *
 *     L = 2   H_2 = g | g                     H_1 = g_2
 *     L = 3   H_3 = g | g | g                 H_2 = 3 g_2 | g                  H_1 = g_3
 *     L = 4   H_4 = g | g | g | g             H_3 = 6 g_2 | g | g
 *             H_2 = 3 g_2 | g_2 + 4 g_3 | g   H_1 = g_4
 *
 *     (a | b)(s) = sum over i of P(i) a(i) b(s - i),    i Binomial(s, the part of blocks in a)
 *
 * H knows neither N nor n: it is tabulated once for all sizes. In large filters, and in crowded
 * ones, the blocks' loads are taken as independent, with a first-order correction
 * (docs/mathematics.md, section 5). At small rates coincidences weigh far more than 1/N suggests.
 */
#ifndef BLOOMERY_PLAN_BLOCKED_RATE_H
#define BLOOMERY_PLAN_BLOCKED_RATE_H

#include <stdint.h>

enum {
    BLOOMERY_BLOCK_BITS = 512,
    BLOOMERY_BLOCK_BYTES = 64,
    BLOOMERY_BLOCKS_PER_KEY_MAX = 4,
    BLOOMERY_BLOCK_PROBES_MAX = 8, /* k of a block: one bit in each of its words at most */
};

/* ---- The chance of one block ----------------------------------------------------------------- */

/*
 * In a block of eight words each key sets one bit in each of k cyclically consecutive words. How
 * likely are k bits of an absent key all set after j keys?
 *
 * Mark one bit in each word of a set S, and let e(S) be the chance that all of them are set. A key
 * whose window of words is W hits the mark of a word in W with probability 1/64. The marks that it
 * does not hit, T of those in W and all outside, have to be set already:
 *
 *     e'(S) = mean over the 8 windows W of
 *                 sum over T in (W and S) of  (1/64)^(|W and S| - |T|) (63/64)^|T|  e((S - W) + T)
 *
 * No term is negative, so nothing cancels, however small the chance. All windows are alike, so e(S)
 * is the same for a set that was turned round the ring or mirrored. Of 256 sets only 30 differ, and
 * a key costs at most 465 multiplications. The wanted chance is e of k words in a row.
 *
 * The plain form of the same numbers, with g(S) the chance that a key leaves all marks of S alone,
 *
 *     sum over S in the window of (-1)^|S| g(S)^j,     g(S) = mean over W of (63/64)^|W and S|,
 *
 * cancels at small fills, and serves for full blocks. docs/mathematics.md, section 4.
 */

enum {
    BLOOMERY_RING_WORDS = 8,
    BLOOMERY_RING_SETS = 30, /* of 8 words on a ring, but for turning and mirroring */
};

struct bloomery_ring {
    uint32_t window;                   /* which of the sets is k words in a row */
    double chance[BLOOMERY_RING_SETS]; /* e, fewer words first */
    double step[BLOOMERY_RING_SETS * (BLOOMERY_RING_SETS + 1) / 2]; /* the factors */
    double missed[BLOOMERY_RING_SETS];                              /* ln g(S) */
    double sign[BLOOMERY_RING_SETS]; /* (-1)^|S| times the sets of the window that are alike */
};

/* No keys; probes (k) 1 to 8. */
void bloomery_ring_start(struct bloomery_ring *ring, uint32_t probes);

/* One key more. */
void bloomery_ring_step(struct bloomery_ring *ring);

/* The chance with the keys so far. */
double bloomery_ring_chance(const struct bloomery_ring *ring);

/* And with any number of keys, to an absolute error of 1e-13 only. O(1). */
double bloomery_ring_chance_at(const struct bloomery_ring *ring, double keys);

/* ---- The rate -------------------------------------------------------------------------------- */

enum {
    BLOOMERY_LOADS_MAX = 1024,
    BLOOMERY_JOINT_MAX = 1024,
};

/* g_1 to g_L by load and H by picks, filled as far as needed. 70 KiB: fit for the stack. */
struct bloomery_block_rates {
    uint32_t probes;         /* k */
    uint32_t blocks_per_key; /* L */
    uint32_t known;          /* loads 0 to known - 1 */
    uint32_t joint_known[BLOOMERY_BLOCKS_PER_KEY_MAX];
    struct bloomery_ring ring;
    double rate[BLOOMERY_BLOCKS_PER_KEY_MAX][BLOOMERY_LOADS_MAX];  /* g_1 to g_4 */
    double joint[BLOOMERY_BLOCKS_PER_KEY_MAX][BLOOMERY_JOINT_MAX]; /* g | g; H_2, H_3, H_4 */
};

/* blocks 1 to 4, probes 1 to 8. */
void bloomery_block_rates_start(struct bloomery_block_rates *rates, uint32_t blocks_per_key,
                                uint32_t probes);

/* The rate with `keys` keys in `blocks` >= 1 blocks. Microseconds once the tables are filled. */
double bloomery_block_rates_expect(struct bloomery_block_rates *rates, uint64_t blocks,
                                   uint64_t keys);

/* Both in one. */
double bloomery_blocked_rate(uint64_t blocks, uint32_t blocks_per_key, uint32_t probes,
                             uint64_t keys);

/* The chance q that one pick of a key sets a given bit of the filter: k / (512 N). */
double bloomery_blocked_hit(uint64_t blocks, uint32_t probes);

/* Returns the keys that set `bits_set` of `bits` bits on average: ln(1 - fill) / (L ln(1 - q)).
 * Infinite if all are set. */
double bloomery_blocked_estimate_keys(uint64_t bits, uint64_t blocks, uint32_t blocks_per_key,
                                      uint32_t probes, uint64_t bits_set);

/* The chance that a block passes a key, when `load` keys picked it. */
typedef double bloomery_load_function(void *context, uint64_t load);

/* E[function(load)], load being Binomial(trials, chance), trials >= 1: for blocks of other systems
 * too. Loads that weigh nothing are left out; O(sqrt(trials * chance)) calls. */
double bloomery_expect_load(double trials, double chance, bloomery_load_function *function,
                            void *context);

/* ---- What two filters have in common --------------------------------------------------------- */

/*
 * The number of common keys of two filters of one geometry is computed from their cells and those
 * of their union. How exact is it?
 *
 *     common = n(A) + n(B) - n(A or B),    n = ln(Z / m) / (L ln(1 - q))
 *
 * where Z are the cells that are 0. Let Z_S be those that a set S of keys leaves 0, and v(S) the
 * square of the relative error of Z_S, Var[Z_S] / E[Z_S]^2. A cell is 0 under S and under T if it
 * is 0 under all keys of both, and those in both count once. So, set against the product of the two
 * means, only the common keys leave a mark:
 *
 *     Cov[Z_S, Z_T] / (E[Z_S] E[Z_T])  =  v(S and T)
 *
 * Let C be the common keys and U all of them. A and B meet in C, A and U in A, B and U in B. Of the
 * nine terms of Var[ln Z_A + ln Z_B - ln Z_U] is left, to the first order,
 *
 *     Var[common]  =  (v(U) - v(A) - v(B) + 2 v(C)) / (L ln(1 - q))^2
 *
 * For A = B, all sets are one and it is v / (L ln(1 - q))^2, as for a single filter.
 * docs/mathematics.md, section 14, writes v out and has the intersection's rate too.
 */

struct bloomery_overlap {
    uint64_t bits;           /* m: cells */
    uint64_t blocks;         /* N; 0: flat */
    uint32_t blocks_per_key; /* L; not looked at in a flat array */
    uint32_t probes;         /* k */
    double keys[2];
    double union_keys;
    double common_keys;
};

/* The standard deviation of the Jaccard index: of (n(A) + n(B)) / n(U) - 1, to the first order. */
double bloomery_overlap_jaccard(const struct bloomery_overlap *overlap);

/* The standard deviation of the common keys. Infinite if the union is. */
double bloomery_overlap_deviation(const struct bloomery_overlap *overlap);

/* ---- Blocks that coincide -------------------------------------------------------------------- */

/*
 * Blocks of an absent key that are one block.
 *
 * Of a block that has j keys, let f be the share of the possible picks - a window of k words, a bit
 * in each - that find all their bits set. A block tested once passes with probability E[f], tested
 * 2, 3 or 4 times with E[f^2], E[f^3], E[f^4]. That is more than E[f] to that power, since f varies
 * from block to block. How much more,
 *
 *     E[f^i] = E[f]^i exp( i (i-1)/2 d_i(j) ),      d_i close to Var[f] / E[f]^2,
 *
 * is a table: exact values take sums of thousands of terms that cancel (docs/mathematics.md, 5.1).
 * They are computed once, as integers of any length, by tests/reference/rates.py --coinciding. d is
 * smooth: the values for up to 8 keys and four for each octave above are enough. What is between
 * them is right to 4e-6, and so E[f^i] to 3e-5.
 */

enum {
    BLOOMERY_COINCIDING_MAX = 4, /* i */
    BLOOMERY_COINCIDING_NODES = 36,
};

/* For k = 1 to 8 and i = 2 to 4: d at 1, 2, .. 8, 10, 12, 14, 16, 20, 24 .. 1024 keys. */
extern const float bloomery_coinciding_table[8][BLOOMERY_COINCIDING_MAX - 1]
                                            [BLOOMERY_COINCIDING_NODES];

/* E[f^times] / E[f]^times; times 1 to 4, probes 1 to 8, load >= 1. */
double bloomery_coinciding(uint32_t probes, uint32_t times, uint64_t load);

#endif /* BLOOMERY_PLAN_BLOCKED_RATE_H */
