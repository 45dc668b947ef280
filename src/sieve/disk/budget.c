/* SPDX-License-Identifier: Apache-2.0 */
#include "sieve/disk/budget.h"

#include <assert.h>
#include <stddef.h>

enum {
    OWN_BYTES = 32 << 10,
    PARTITION_BYTES = 256,
    LEASE_BYTES = 3 * 32, /* held, and twice in the manifest that is being made */
    MANIFEST_BYTES = 4 << 10,
    AREA_BYTES =
        6 * (64 << 10) + 2 * (128 << 10), /* frames of queue and pending keys; seen files */
    BUCKET_KEYS = 16,
    BUCKET_BITS_MIN = 8,
    KEYS_BITS = 24, /* of a partition: 128 MiB of fingerprints */
    PARTITIONS_MIN = 16,
};

static uint32_t bucket_bits(uint64_t batch)
{
    uint32_t bits = BUCKET_BITS_MIN;
    while (batch / BUCKET_KEYS >> (bits + 1) != 0)
        bits++;
    return bits;
}

static uint64_t batch_cost(uint64_t batch)
{
    return bloomery_sieve_batch_bytes(batch) + 2 * bloomery_sieve_bits_bytes(batch) +
           bloomery_sieve_index_bytes(bucket_bits(batch));
}

/* The largest batch whose areas take at most `bytes`: by halves, since the cost rises with it.
 * Positions in it have 32 bits. */
static uint64_t largest_batch(uint64_t bytes)
{
    uint64_t low = 0;
    uint64_t high = bytes / 8 < UINT32_MAX ? bytes / 8 : UINT32_MAX;
    while (low < high) {
        const uint64_t middle = high - (high - low) / 2;
        if (batch_cost(middle) <= bytes)
            low = middle;
        else
            high = middle - 1;
    }
    assert(low <= UINT32_MAX && (low == 0 || batch_cost(low) <= bytes));
    return low;
}

static bool split(uint64_t memory, uint32_t partitions, struct bloomery_sieve_budget *budget)
{
    if (memory < budget->fixed)
        return false;
    const uint64_t free = memory - budget->fixed;
    uint32_t buffer = BLOOMERY_SIEVE_BUFFER_MIN;
    while (buffer < BLOOMERY_SIEVE_BUFFER_MAX && (uint64_t)partitions * buffer * 2 <= free / 4)
        buffer *= 2;
    uint32_t cache_bits = BLOOMERY_SIEVE_CACHE_BITS_MIN;
    while (cache_bits < BLOOMERY_SIEVE_CACHE_BITS_MAX && (uint64_t)16 << cache_bits <= free / 8)
        cache_bits++;
    const uint64_t taken = (uint64_t)partitions * buffer + ((uint64_t)8 << cache_bits);
    if (taken > free)
        return false;
    budget->buffer_bytes = buffer;
    budget->cache_bits = cache_bits;
    budget->batch = largest_batch(free - taken);
    if (budget->batch < BLOOMERY_SIEVE_BATCH_MIN)
        return false;
    budget->bucket_bits = bucket_bits(budget->batch);
    budget->total = budget->fixed + taken + batch_cost(budget->batch);
    assert(budget->total <= memory);
    return true;
}

bool bloomery_sieve_split(uint64_t memory, uint32_t partitions, uint32_t leases,
                          struct bloomery_sieve_budget *budget, uint64_t *least)
{
    assert(partitions >= 1 && partitions <= BLOOMERY_SIEVE_PARTITIONS_MAX &&
           (partitions & (partitions - 1)) == 0);
    *budget = (struct bloomery_sieve_budget){
        .fixed = OWN_BYTES + (uint64_t)partitions * PARTITION_BYTES +
                 (uint64_t)leases * LEASE_BYTES + MANIFEST_BYTES + AREA_BYTES,
    };
    /* By halves. The batch does not rise with the memory everywhere: if buffers or cache double
     * it shrinks. But that is where it has more than half of the memory, far more than the
     * least. */
    uint64_t low = budget->fixed;
    uint64_t high = low + 2 * (uint64_t)partitions * BLOOMERY_SIEVE_BUFFER_MIN + (1 << 20);
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (split(middle, partitions, budget))
            high = middle;
        else
            low = middle + 1;
    }
    *least = low;
    return memory >= low && split(memory, partitions, budget);
}

uint32_t bloomery_sieve_partitions(uint64_t keys)
{
    uint32_t partitions = PARTITIONS_MIN;
    while (partitions < BLOOMERY_SIEVE_PARTITIONS_MAX && keys > (uint64_t)partitions << KEYS_BITS)
        partitions *= 2;
    return partitions;
}
