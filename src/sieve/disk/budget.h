/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the disk engine splits its memory: at opening, and in a plan.
 *
 *     fixed      tables of partitions, leases, areas to read and write frames in
 *     buffers    one a partition, where pending keys gather until they are written as a frame
 *     cache      fingerprints that were decided lately
 *     batch      what deciding a partition needs: its pending fingerprints sorted, two bits for
 *                each (known already; first of its key and new), and an index by their first bits
 *
 * Of what is not fixed, buffers get up to a quarter and the cache up to an eighth, both in powers
 * of two. The batch gets the rest, since all reading and writing of the seen-set is divided by it
 * (sieve_plan.c).
 */
#ifndef BLOOMERY_SIEVE_BUDGET_H
#define BLOOMERY_SIEVE_BUDGET_H

#include "base/bits.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    BLOOMERY_SIEVE_BUFFER_MIN = 4096,
    BLOOMERY_SIEVE_BUFFER_MAX = 65536,
    BLOOMERY_SIEVE_CACHE_BITS_MIN = 10,
    BLOOMERY_SIEVE_CACHE_BITS_MAX = 22,
    BLOOMERY_SIEVE_BATCH_MIN = 16384,
    BLOOMERY_SIEVE_PARTITIONS_MAX = 256,
};

struct bloomery_sieve_budget {
    uint32_t buffer_bytes; /* a partition's, a power of two */
    uint32_t cache_bits;   /* the cache has 2^cache_bits fingerprints of 8 bytes */
    uint32_t bucket_bits;  /* the index has 2^bucket_bits + 1 entries of 4 bytes */
    uint64_t batch; /* r: pending keys of one partition that can be decided at once, below 2^32 */
    uint64_t fixed; /* bytes */
    uint64_t total; /* bytes, all parts together */
};

/* Splits `memory` bytes for so many partitions (a power of two, 1 to 256) and leases. False: it is
 * less than `least`, the bytes that are needed (always set). Then `budget` is undefined. O(1). */
bool bloomery_sieve_split(uint64_t memory, uint32_t partitions, uint32_t leases,
                          struct bloomery_sieve_budget *budget, uint64_t *least);

/* Bytes of the batch's areas: one of fingerprints, two of bits (in words of 8 bytes), one of the
 * index. */
static inline uint64_t bloomery_sieve_batch_bytes(uint64_t batch)
{
    return batch * 8;
}
static inline uint64_t bloomery_sieve_bits_bytes(uint64_t batch)
{
    return bloomery_words_of(batch) * 8;
}
static inline uint64_t bloomery_sieve_index_bytes(uint32_t bucket_bits)
{
    return (((uint64_t)1 << bucket_bits) + 1) * 4;
}

/* The partitions for so many distinct keys, if the caller does not choose: about 2^24 keys each,
 * 16 to 256. */
uint32_t bloomery_sieve_partitions(uint64_t keys);

#endif
