/* SPDX-License-Identifier: Apache-2.0 */
/* What the process may use: memory, and how many threads are worth making. */
#include "base/experimental.h"
#include "base/limits.h"
#include "base/sized.h"
#include "base/workers.h"
#include "plan/describe.h"

/* What version 0.1 has of the struct. */
enum { LIMITS_BYTES_FIRST = sizeof(bloomery_limits) };

void bloomery_limits_get(bloomery_limits *limits)
{
    bloomery_limits all = BLOOMERY_LIMITS;
    bloomery_limits_read(bloomery_limits_root(), &all);
    bloomery_phrase_limits(&all);
    bloomery_sized_give(&all, sizeof all, limits, LIMITS_BYTES_FIRST);
}

/* What a thread may take: of addresses 8 MiB for its stack, and 128 MiB while the C library makes
 * an area of allocations for it; of a container's memory its buffers. */
static const uint64_t addresses = (uint64_t)136 << 20;
static const uint64_t buffers = (uint64_t)8 << 20;

uint32_t bloomery_threads(void)
{
    uint32_t threads = bloomery_processors();
    bloomery_limits limits = BLOOMERY_LIMITS;
    if (threads == 1)
        return threads;
    bloomery_limits_get(&limits);
    if (limits.process_left / addresses < threads)
        threads = (uint32_t)(limits.process_left / addresses);
    if (limits.container_left / buffers < threads)
        threads = (uint32_t)(limits.container_left / buffers);
    return threads > 0 ? threads : 1;
}
