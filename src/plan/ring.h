/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef BLOOMERY_PLAN_RING_H
#define BLOOMERY_PLAN_RING_H

#include <stdint.h>

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

#endif
