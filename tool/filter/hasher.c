/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hashes are kept.
 *
 * A keyed filter has SipHash. All others have XXH3-64, unless that is more than 1 % of their rate:
 * then the plan takes XXH3-128 (bloomery.h, bloomery_plan.hash). n keys share a hash of 64 bits
 * with n / 2^64 of all others. At a rate of 1e-7, 1 % of it are 18 billion keys, whose hashes would
 * fill 147 GB. From there up XXH3-64 is kept alone. Below, both are, and the plan chooses.
 *
 * If the memory is given and not the rate, few keys have a low one, and many do not. At 32 bits a
 * key no filter has less than 2e-7 (of a classic one, the best, 0.6185^32). So past this number of
 * keys the 128 bits are no longer needed. That holds for filters of up to 128 GiB: those are 34
 * billion keys, and at 2e-7 XXH3-64 serves 36 billion.
 */
#include "filter/hasher.h"

#include "base/experimental.h"
#include "base/numbers.h"
#include "key/batch.h"
#include "tool.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATE_FOR_NARROW 1e-7

enum { BYTES_PER_KEY_MIN = 4 };                     /* with a rate given by the memory */
#define MEMORY_WITH_LOW_RATES (UINT64_C(128) << 30) /* up to which that is so */
#define MEMORY_MAX            ((size_t)256 << 20)   /* of hashes; more go to a file */
#define MEMORY_MIN            ((size_t)1 << 20)
enum { PORTION = 512 }; /* keys hashed at once: their hashes stay in the first cache */

/* A quarter of what there is, where that is less than usual: the filter comes while the hashes are
 * still there. Tests want hashes that do not fit. */
static size_t memory_max(void)
{
    bloomery_limits limits = BLOOMERY_LIMITS;
#ifdef BLOOMERY_TOOL_SWITCH
    const char *text = getenv("BLOOMERY_HASH_BYTES");
    const size_t wanted = text != NULL ? strtoul(text, NULL, 10) : 0;
    if (wanted > 0 && wanted <= MEMORY_MAX)
        return wanted;
#endif
    bloomery_limits_get(&limits);
    if (limits.room / 4 >= MEMORY_MAX)
        return MEMORY_MAX;
    return limits.room / 4 > MEMORY_MIN ? (size_t)(limits.room / 4) : MEMORY_MIN;
}

static size_t hash_bytes(bloomery_hash_id hash)
{
    return hash == BLOOMERY_HASH_XXH3_64 ? sizeof(uint64_t) : sizeof(bloomery_hash);
}

bloomery_filter *tool_hasher_least(bloomery_hash_id hash, const bloomery_create_options *options)
{
    const bloomery_plan plan = {.kind = BLOOMERY_BLOCKED,
                                .hash = hash,
                                .blocks_per_key = 1,
                                .probes = 1,
                                .cell_bits = 1,
                                .bits = 512};
    bloomery_filter *filter = NULL;
    bloomery_error error;
    if (bloomery_create(&plan, options, &filter, &error) != BLOOMERY_OK)
        tool_library_error(NULL, &error);
    return filter;
}

static bool add_part(struct tool_hasher *hasher, const bloomery_create_options *options,
                     bloomery_hash_id hash, uint64_t keys_max)
{
    struct tool_hasher_part *part = &hasher->parts[hasher->count];
    assert(hasher->count < TOOL_HASHER_PARTS);
    *part = (struct tool_hasher_part){.hash = hash, .keys_max = keys_max};
    part->filter = tool_hasher_least(hash, options);
    hasher->count += part->filter != NULL;
    return part->filter != NULL;
}

bool tool_hasher_open(struct tool_hasher *hasher, bloomery_hash_id hash,
                      const bloomery_create_options *options, double rate, uint64_t memory)
{
    hasher->count = 0;
    hasher->threads = 0;
    hasher->distinct = NULL;
    atomic_init(&hasher->keys, 0);
    if (hash != BLOOMERY_HASH_DEFAULT)
        return add_part(hasher, options, hash, UINT64_MAX);
    if (!add_part(hasher, options, BLOOMERY_HASH_XXH3_64, UINT64_MAX) || rate >= RATE_FOR_NARROW)
        return hasher->count > 0;
    const uint64_t most =
        rate > 0 || memory > MEMORY_WITH_LOW_RATES ? UINT64_MAX : memory / BYTES_PER_KEY_MIN;
    return add_part(hasher, options, BLOOMERY_HASH_XXH3_128, most);
}

void tool_hasher_start(struct tool_hasher *hasher, uint32_t threads)
{
    size_t bytes = 0;
    hasher->threads = threads;
    hasher->distinct = tool_allocate(threads * sizeof(*hasher->distinct));
    memset(hasher->distinct, 0, threads * sizeof(*hasher->distinct));
    for (size_t i = 0; i < hasher->count; i++)
        bytes += hash_bytes(hasher->parts[i].hash);
    for (size_t i = 0; i < hasher->count; i++) {
        const size_t own = hash_bytes(hasher->parts[i].hash);
        hasher->parts[i].store = tool_hash_store_new(own, threads, memory_max() / bytes * own);
    }
}

bool tool_hasher_take(struct tool_hasher *hasher, uint32_t thread, const bloomery_key *keys,
                      size_t count)
{
    bloomery_hash hashes[PORTION];
    const uint64_t before = atomic_fetch_add(&hasher->keys, count);
    for (size_t from = 0, now; from < count; from += now) {
        now = count - from < PORTION ? count - from : PORTION;
        for (size_t i = 0; i < hasher->count; i++) {
            const struct tool_hasher_part *part = &hasher->parts[i];
            if (before > part->keys_max)
                continue;
            const bloomery_status status = tool_batch_hash(part->filter, keys + from, now, hashes);
            assert(status == BLOOMERY_OK);
            (void)status;
            for (size_t j = 0; i == 0 && j < now; j++)
                tool_distinct_add(&hasher->distinct[thread], hashes[j].hi);
            if (!tool_hash_store_keep(part->store, thread, hashes, now))
                return false;
        }
    }
    return true;
}

bool tool_hasher_failed(const struct tool_hasher *hasher)
{
    bool failed = false;
    for (size_t i = 0; i < hasher->count; i++)
        failed = failed || tool_hash_store_failed(hasher->parts[i].store);
    return failed;
}

void tool_hasher_say(const struct tool_hasher *hasher)
{
    for (size_t i = 0; i < hasher->count; i++)
        tool_hash_store_say(hasher->parts[i].store);
}

uint64_t tool_hasher_different_keys(struct tool_hasher *hasher)
{
    const uint64_t keys = atomic_load(&hasher->keys);
    double deviation = 0;
    for (uint32_t i = 1; i < hasher->threads; i++)
        tool_distinct_merge(&hasher->distinct[0], &hasher->distinct[i]);
    const double estimate = tool_distinct_estimate(&hasher->distinct[0], &deviation);
    const double above = estimate + 4 * deviation;
    return above < (double)keys ? (uint64_t)ceil(above) : keys;
}

bool tool_hasher_build(struct tool_hasher *hasher, bloomery_filter *filter, bloomery_hash_id hash,
                       const char *name, bool quiet)
{
    char number[TOOL_NUMBER_BYTES];
    const uint64_t keys = atomic_load(&hasher->keys);
    for (size_t i = 0; i < hasher->count; i++) {
        struct tool_hasher_part *part = &hasher->parts[i];
        if (part->hash == hash && tool_hash_store_count(part->store) == keys)
            return tool_hash_store_build(part->store, filter, name, quiet);
    }
    tool_error("%s keys need a hash of 128 bits, and that was not to be expected; say with -n how "
               "many they are",
               tool_format_count(number, keys));
    return false;
}

void tool_hasher_close(struct tool_hasher *hasher)
{
    for (uint32_t i = 0; i < hasher->threads; i++)
        tool_distinct_free(&hasher->distinct[i]);
    free(hasher->distinct);
    hasher->distinct = NULL;
    hasher->threads = 0;
    for (size_t i = 0; i < hasher->count; i++) {
        tool_hash_store_free(hasher->parts[i].store);
        bloomery_free(hasher->parts[i].filter);
    }
    hasher->count = 0;
}
