/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether keys were seen, many at a time: in the order of their fingerprints, partition by
 * partition.
 *
 *     order    the first 48 bits of a fingerprint, then which of the hashes it is: a word a key
 *
 * Of a partition in which many are looked up, all frames are read front to back, each once. Of one
 * in which few are, those frames are read where they must be. Then the fingerprints that were
 * decided without a merge, which lie in the log yet, are looked up among those asked for, in one
 * pass.
 */
#include "sieve/disk/disk.h"
#include "sieve/disk/sort.h"

#include "base/bytes.h"

#include <assert.h>

enum {
    NUMBER_BITS = 16,
    /* Reading a frame along the way takes half of finding it alone, and less on a cold disk. */
    FRAMES_WALKED = 2,
};

static const uint64_t number_mask = ((uint64_t)1 << NUMBER_BITS) - 1;

/* What is asked of a partition, or of all. */
struct querying {
    bloomery_sieve *sieve;
    struct bloomery_disk *disk;
    const bloomery_hash *hashes;
    uint64_t *order;
    size_t count;
    uint8_t *results;
};

static uint64_t fingerprint_at(const struct querying *querying, size_t i)
{
    return bloomery_fingerprint_of(querying->disk,
                                   querying->hashes[querying->order[i] & number_mask]);
}

static void found_at(const struct querying *querying, size_t i)
{
    querying->results[querying->order[i] & number_mask] = BLOOMERY_SIEVE_SEEN;
}

/* By whole fingerprints: those of 64 bits that begin with the same 48 were in any order. */
static void sort(struct querying *querying)
{
    uint64_t *order = querying->order;
    bloomery_sort_fingerprints(order, querying->count, 0);
    for (size_t i = 1; i < querying->count; i++)
        for (size_t j = i; j > 0 && order[j - 1] >> NUMBER_BITS == order[j] >> NUMBER_BITS &&
                           fingerprint_at(querying, j - 1) > fingerprint_at(querying, j);
             j--) {
            const uint64_t other = order[j];
            order[j] = order[j - 1];
            order[j - 1] = other;
        }
}

/* ---- The seen-set -------------------------------------------------------------------------- */

/* Looks up those from `at` on that are not behind this frame; returns where the others begin. */
static size_t match(const struct querying *querying, size_t at, const uint64_t *values,
                    size_t count)
{
    size_t low = 0;
    assert(count > 0);
    for (; at < querying->count; at++) {
        const uint64_t wanted = fingerprint_at(querying, at);
        if (wanted > values[count - 1])
            break;
        for (size_t left = count - low; left > 1;) {
            const size_t half = left / 2;
            low += values[low + half] <= wanted ? half : 0;
            left -= half;
        }
        if (values[low] == wanted)
            found_at(querying, at);
    }
    return at;
}

static bloomery_status walk(const struct querying *querying, const struct bloomery_store_file *file,
                            uint64_t entries, bloomery_error *error)
{
    struct bloomery_disk *disk = querying->disk;
    struct bloomery_seen_reader reader;
    size_t at = 0;
    size_t count = 0;
    bloomery_seen_begin(&reader, &querying->sieve->store, file, entries, disk->width, disk->in);
    while (at < querying->count) {
        const bloomery_status status =
            bloomery_seen_next(&reader, disk->frame_values, &count, error);
        if (status != BLOOMERY_OK || count == 0)
            return status;
        at = match(querying, at, disk->frame_values, count);
    }
    return BLOOMERY_OK;
}

static bloomery_status probe(const struct querying *querying,
                             const struct bloomery_store_file *file, uint64_t entries,
                             bloomery_error *error)
{
    struct bloomery_disk *disk = querying->disk;
    struct bloomery_seen_probe probe;
    bloomery_seen_probe_begin(&probe, &querying->sieve->store, file, entries, disk->width,
                              disk->partition_bits, disk->in, disk->frame_values);
    for (size_t i = 0; i < querying->count; i++) {
        bool found = false;
        const bloomery_status status =
            bloomery_seen_probe(&probe, fingerprint_at(querying, i), &found, error);
        if (status != BLOOMERY_OK)
            return status;
        if (found)
            found_at(querying, i);
    }
    return BLOOMERY_OK;
}

static bloomery_status query_seen(const struct querying *querying, uint32_t number,
                                  bloomery_error *error)
{
    const struct bloomery_partition *partition = &querying->disk->partition[number];
    const uint64_t bytes = bloomery_seen_bytes(partition->seen_entries, querying->disk->width);
    const bool walks = querying->count >= bytes / BLOOMERY_SEEN_FRAME / FRAMES_WALKED + 2;
    struct bloomery_store_file file;
    bloomery_status status =
        bloomery_store_open(&querying->sieve->store, BLOOMERY_FILE_SEEN, number,
                            partition->seen_generation, bytes, false, &file, error);
    if (status != BLOOMERY_OK)
        return status;
    status = (walks ? walk : probe)(querying, &file, partition->seen_entries, error);
    bloomery_store_close(&file);
    return status;
}

/* ---- The log ------------------------------------------------------------------------------- */

static size_t lower_bound(const struct querying *querying, uint64_t word)
{
    size_t low = 0;
    size_t high = querying->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (querying->order[middle] >> NUMBER_BITS < word >> NUMBER_BITS)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bloomery_status look(void *context, const uint8_t *records, uint32_t count,
                            bloomery_error *error)
{
    const struct querying *querying = context;
    (void)error;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t there = bloomery_load_u64(records + (size_t)i * querying->disk->stride);
        for (size_t at = lower_bound(querying, there);
             at < querying->count && querying->order[at] >> NUMBER_BITS == there >> NUMBER_BITS;
             at++)
            if (fingerprint_at(querying, at) == there)
                found_at(querying, at);
    }
    return BLOOMERY_OK;
}

/* ---- Answers ------------------------------------------------------------------------------- */

static size_t not_found(const struct querying *querying)
{
    size_t count = 0;
    for (size_t i = 0; i < querying->count; i++)
        count += querying->results[querying->order[i] & number_mask] != BLOOMERY_SIEVE_SEEN;
    return count;
}

static bloomery_status query_partition(struct querying *querying, uint32_t number,
                                       bloomery_error *error)
{
    const struct bloomery_partition *partition = &querying->disk->partition[number];
    const uint8_t unseen =
        bloomery_partition_waiting(partition) > 0 ? BLOOMERY_SIEVE_PENDING : BLOOMERY_SIEVE_NEW;
    bloomery_status status = BLOOMERY_OK;
    for (size_t i = 0; i < querying->count; i++)
        querying->results[querying->order[i] & number_mask] = unseen;
    if (partition->seen_entries > 0)
        status = query_seen(querying, number, error);
    if (status == BLOOMERY_OK && partition->decided_entries > 0 && not_found(querying) > 0)
        status = bloomery_log_each(querying->sieve, number, BLOOMERY_FILE_HEADER,
                                   partition->decided_bytes, look, querying, error);
    return status;
}

bloomery_status bloomery_disk_contains(bloomery_sieve *sieve, const bloomery_hash *hashes,
                                       uint64_t *order, size_t count, uint8_t *results,
                                       bloomery_error *error)
{
    struct querying all = {.sieve = sieve,
                           .disk = sieve->disk,
                           .hashes = hashes,
                           .order = order,
                           .count = count,
                           .results = results};
    bloomery_status status = BLOOMERY_OK;
    assert(count <= BLOOMERY_CONTAINS_MAX && BLOOMERY_CONTAINS_MAX <= number_mask + 1);
    sort(&all);
    for (size_t from = 0; status == BLOOMERY_OK && from < count;) {
        struct querying one = all;
        const uint32_t number = bloomery_partition_of(sieve->disk, order[from]);
        size_t to = from + 1;
        while (to < count && bloomery_partition_of(sieve->disk, order[to]) == number)
            to++;
        assert(from == 0 || order[from - 1] < order[from]);
        one.order = order + from;
        one.count = to - from;
        status = query_partition(&one, number, error);
        from = to;
    }
    return status;
}
