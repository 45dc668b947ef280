/* SPDX-License-Identifier: Apache-2.0 */
/* Debian's libbloom 1.6: a flat filter, one key per call; its sizes are ints, so 2^31 bits are the
 * most. */
#include "bench.h"

#ifdef BLOOMERY_HAVE_LIBBLOOM

#include <bloom.h>

#include <limits.h>
#include <math.h>
#include <stdlib.h>

static void *make(uint32_t variant, const struct bench_case *wanted, struct bench_facts *facts)
{
    (void)variant;
    double bits = (double)wanted->keys * -log(wanted->rate) / (log(2) * log(2));
    if (bits >= INT_MAX - 64 || wanted->keys > INT_MAX) {
        fprintf(stderr, "bench: libbloom has no filter as large as this\n");
        return NULL;
    }
    struct bloom *bloom = bench_allocate(sizeof *bloom);
    if (bloom_init(bloom, (int)wanted->keys, wanted->rate) != 0)
        bench_fail("bloom_init");
    snprintf(facts->layout, sizeof facts->layout, "flat");
    facts->lines = 0;
    facts->probes = (uint32_t)bloom->hashes;
    facts->bytes = (uint64_t)bloom->bytes;
    facts->planned = wanted->rate;
    facts->kernel = "scalar";
    return bloom;
}

static void clear(void *context)
{
    bloom_reset(context);
}

static void release(void *context)
{
    bloom_free(context);
    free(context);
}

static uint64_t add_one(void *context, const struct bench_chunk *chunk)
{
    uint64_t added = 0;
    for (size_t i = 0; i < chunk->count; i++)
        added += bloom_add(context, chunk->keys[i].data, (int)chunk->keys[i].bytes) == 0;
    return added;
}

static uint64_t query_one(void *context, const struct bench_chunk *chunk)
{
    uint64_t found = 0;
    for (size_t i = 0; i < chunk->count; i++)
        found += bloom_check(context, chunk->keys[i].data, (int)chunk->keys[i].bytes) == 1;
    return found;
}

const struct bench_contestant bench_libbloom[] = {
    {
        .name = "libbloom",
        .role = BENCH_PEER,
        .slow = true,
        .make = make,
        .clear = clear,
        .release = release,
        .operations = {add_one, NULL, query_one, NULL},
    },
    {.name = NULL},
};

#else

const struct bench_contestant bench_libbloom[] = {{.name = NULL}};

#endif
