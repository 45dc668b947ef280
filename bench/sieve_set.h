/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The peer that one writes first: a hash set of strings, as good as one is without effort. Open
 * addressing, linear probing, full by three quarters at most; a slot has the key's hash (XXH3-64)
 * and where its bytes are, 16 bytes together; the bytes lie one behind another in a region that
 * grows by mremap, behind a length of 4 bytes. No string is allocated by itself, and no key is
 * looked at whose hash differs.
 */
#ifndef BLOOMERY_BENCH_SIEVE_SET_H
#define BLOOMERY_BENCH_SIEVE_SET_H

#include <bloomery/bloomery.h>

struct sieve_set_slot {
    uint64_t hash;
    uint64_t place; /* 1 + where in the text; 0: free */
};

struct sieve_set {
    struct sieve_set_slot *slots;
    uint64_t room; /* a power of two */
    uint64_t count;
    char *text;
    uint64_t text_bytes;
    uint64_t text_room;
};

/* `room` slots to begin with, a power of two. */
void sieve_set_make(struct sieve_set *set, uint64_t room);
void sieve_set_free(struct sieve_set *set);
/* Whether it was new. */
bool sieve_set_add(struct sieve_set *set, bloomery_key key);
uint64_t sieve_set_bytes(const struct sieve_set *set);

#endif
