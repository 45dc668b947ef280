/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef BLOOMERY_PLAN_HASH_RATE_H
#define BLOOMERY_PLAN_HASH_RATE_H

#include <bloomery/bloomery.h>

/* c of a hash; BLOOMERY_HASH_DEFAULT counts as XXH3_64. */
double bloomery_hash_rate(bloomery_hash_id hash, uint64_t keys);

/* A structure's rate with the hash's own. */
double bloomery_rate_with_hash(bloomery_hash_id hash, uint64_t keys, double rate);

/* XXH3_64 if its c is at most 1 % of the rate, or the rate is not known (0); else XXH3_128. */
bloomery_hash_id bloomery_hash_for(uint64_t keys, double rate);

#endif
