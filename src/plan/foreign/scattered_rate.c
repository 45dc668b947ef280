/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/foreign/scattered_rate.h"

#include "plan/blocked_rate.h"
#include "plan/classic_rate.h"

#include <assert.h>

/* A block is full, to double precision, after this many throws per bit. */
static const double full_load = 60;
/* Past this many throws the number of set bits hardly varies and its limit serves (error under
 * 3e-3 for 64 bits, 1e-5 for up to 8). */
static const uint64_t limit_throws = 2048;

struct scattered {
    uint32_t probes;
    uint32_t known; /* loads 0 to known - 1 */
    double rate[BLOOMERY_LOADS_MAX];
    struct bloomery_occupancy occupancy;
};

static double block_rate(void *context, uint64_t load)
{
    struct scattered *block = context;
    if (load >= BLOOMERY_LOADS_MAX || load * block->probes >= limit_throws)
        return bloomery_occupancy_limit(BLOOMERY_BLOCK_BITS, (double)load * block->probes,
                                        block->probes);
    while (block->known <= load) {
        block->rate[block->known++] = block->occupancy.moment[block->probes];
        bloomery_occupancy_throw(&block->occupancy, block->probes);
    }
    return block->rate[load];
}

double bloomery_scattered_rate(uint64_t blocks, uint32_t probes, uint64_t keys)
{
    struct scattered block = {.probes = probes};
    assert(blocks > 0 && probes >= 1 && probes <= BLOOMERY_MOMENTS_MAX);
    if (keys == 0)
        return 0;
    const double load = (double)keys / (double)blocks;
    if (load * probes > full_load * BLOOMERY_BLOCK_BITS)
        return 1;
    bloomery_occupancy_start(&block.occupancy, BLOOMERY_BLOCK_BITS, probes);
    const double rate = bloomery_expect_load((double)keys, 1 / (double)blocks, block_rate, &block);
    return rate < 1 ? rate : 1;
}
