/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts fingerprints in place: a batch fills the memory it has, there is no room for a second
 * one. */
#ifndef BLOOMERY_SIEVE_SORT_H
#define BLOOMERY_SIEVE_SORT_H

#include <stddef.h>
#include <stdint.h>

enum { BLOOMERY_SORT_SKIP_MAX = 10 };

/* Sorts `count` values, rising, in O(count) for any values; meant for uniform ones. Takes no memory
 * but 60 KB of stack. `skip_bits` (to BLOOMERY_SORT_SKIP_MAX): so many of the first bits are the
 * same in all, as in one partition. It is a hint: the order is right even if it is wrong. */
void bloomery_sort_fingerprints(uint64_t *values, size_t count, unsigned skip_bits);

/* Keeps one of each value of a sorted array, in front; returns how many there are. What lies behind
 * them is undefined. */
size_t bloomery_unique_fingerprints(uint64_t *values, size_t count);

#endif
