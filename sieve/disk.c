/* SPDX-License-Identifier: Apache-2.0 */
/* The disk engine's row of functions. disk.h tells how it works. */
#include "sieve/disk.h"
#include "sieve/internal.h"

#include "base/bytes.h"
#include "base/error.h"

#include <assert.h>
#include <fcntl.h>

/* ---- Memory ------------------------------------------------------------------------------ */

/* Places the next `bytes` bytes of the arena, at a multiple of 64: NULL while there is none, and
 * only `used` is reckoned. */
static void *place(const struct bloomery_disk *disk, uint64_t *used, uint64_t bytes)
{
    void *memory = disk->arena != NULL ? disk->arena + *used : NULL;
    *used += (bytes + 63) / 64 * 64;
    return memory;
}

/* Gives each part of the budget its place in the arena, and returns the bytes of all. */
static uint64_t lay_out(struct bloomery_disk *disk)
{
    const struct bloomery_sieve_budget *budget = &disk->budget;
    const uint64_t bits = bloomery_sieve_bits_bytes(disk->batch);
    uint64_t used = 0;
    disk->partition = place(disk, &used, disk->partitions * sizeof *disk->partition);
    disk->buffers = place(disk, &used, (uint64_t)disk->partitions * budget->buffer_bytes);
    disk->cache = place(disk, &used, (uint64_t)8 << budget->cache_bits);
    disk->values = place(disk, &used, bloomery_sieve_batch_bytes(disk->batch));
    disk->marks = place(disk, &used, bits);
    disk->verdicts = place(disk, &used, bits);
    disk->index = place(disk, &used, bloomery_sieve_index_bytes(budget->bucket_bits));
    disk->in = place(disk, &used, BLOOMERY_SEEN_AREA);
    disk->out = place(disk, &used, BLOOMERY_SEEN_AREA);
    disk->area = place(disk, &used, BLOOMERY_LOG_FRAME);
    disk->frame_values = place(disk, &used, BLOOMERY_VALUES_BYTES);
    assert(disk->arena == NULL || used == disk->arena_bytes);
    return used;
}

static void free_disk(bloomery_sieve *sieve)
{
    struct bloomery_disk *disk = sieve->disk;
    if (disk == NULL)
        return;
    for (uint32_t i = 0; disk->arena != NULL && i < disk->partitions; i++)
        bloomery_store_close(&disk->partition[i].log);
    bloomery_store_release(&sieve->store, disk->arena, disk->arena_bytes);
    bloomery_store_release(&sieve->store, disk, sizeof *disk);
    sieve->disk = NULL;
}

static bloomery_status make_disk(bloomery_sieve *sieve, bloomery_error *error)
{
    const struct bloomery_sieve_settings *settings = &sieve->settings;
    struct bloomery_sieve_budget budget;
    uint64_t least = 0;
    if (!bloomery_sieve_split(sieve->memory, settings->partitions, settings->leases, &budget,
                              &least))
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "a sieve of %u partitions and %u leases needs at least %llu bytes of memory, not %llu",
            settings->partitions, settings->leases, (unsigned long long)least,
            (unsigned long long)sieve->memory);
    struct bloomery_disk *disk = bloomery_store_allocate(&sieve->store, sizeof *disk);
    if (disk != NULL) {
        sieve->disk = disk;
        disk->budget = budget;
        disk->batch = budget.batch;
        disk->partitions = settings->partitions;
        disk->partition_bits = (unsigned)__builtin_ctz(settings->partitions);
        disk->width = settings->fingerprint_bits / 8;
        disk->stride = settings->ordered ? 12 : 8;
        disk->cache_mask = ((uint64_t)1 << budget.cache_bits) / BLOOMERY_CACHE_WAYS - 1;
        assert(settings->partitions == 1U << disk->partition_bits);
        disk->arena_bytes = lay_out(disk);
        disk->arena = bloomery_store_allocate(&sieve->store, disk->arena_bytes);
    }
    if (disk == NULL || disk->arena == NULL) {
        free_disk(sieve);
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "no memory for a sieve of %llu bytes",
                             (unsigned long long)budget.total);
    }
    (void)lay_out(disk);
    for (uint32_t i = 0; i < disk->partitions; i++) {
        disk->partition[i].log.file = -1;
        disk->partition[i].buffer = disk->buffers + (uint64_t)i * budget.buffer_bytes;
        disk->partition[i].body = bloomery_log_split(disk, 0, 0);
    }
    assert(sieve->store.memory <= budget.total && budget.total <= sieve->memory);
    return BLOOMERY_OK;
}

/* ---- State ------------------------------------------------------------------------------- */

/* Whether the numbers of a row add up. */
static bool is_sound(const struct bloomery_partition *partition)
{
    if (partition->seen_entries > UINT64_MAX / 16 || partition->log_entries > UINT64_MAX / 16)
        return false;
    if (partition->log_bytes == 0)
        return partition->log_entries == 0 && partition->decided_bytes == 0 &&
               partition->decided_entries == 0;
    return partition->log_bytes >= BLOOMERY_FILE_HEADER &&
           partition->decided_bytes >= BLOOMERY_FILE_HEADER &&
           partition->decided_bytes <= partition->log_bytes &&
           partition->decided_entries <= partition->log_entries &&
           partition->log_entries <= partition->log_bytes / 9;
}

void bloomery_partition_load(const uint8_t *from, struct bloomery_partition *partition)
{
    partition->log_generation = bloomery_load_u64(from);
    partition->log_bytes = bloomery_load_u64(from + 8);
    partition->log_entries = bloomery_load_u64(from + 16);
    partition->decided_bytes = bloomery_load_u64(from + 24);
    partition->decided_entries = bloomery_load_u64(from + 32);
    partition->seen_generation = bloomery_load_u64(from + 40);
    partition->seen_entries = bloomery_load_u64(from + 48);
}

void bloomery_partition_store(const struct bloomery_partition *partition, uint8_t *to)
{
    assert(partition->entries == 0); /* what is in the buffer is not in the row */
    assert(partition->decided_entries <= partition->log_entries);
    bloomery_store_u64(to, partition->log_generation);
    bloomery_store_u64(to + 8, partition->log_bytes);
    bloomery_store_u64(to + 16, partition->log_entries);
    bloomery_store_u64(to + 24, partition->decided_bytes);
    bloomery_store_u64(to + 32, partition->decided_entries);
    bloomery_store_u64(to + 40, partition->seen_generation);
    bloomery_store_u64(to + 48, partition->seen_entries);
}

static size_t store_disk(const bloomery_sieve *sieve, uint8_t *to)
{
    const struct bloomery_disk *disk = sieve->disk;
    for (uint32_t i = 0; i < disk->partitions; i++) {
        assert(is_sound(&disk->partition[i])); /* or it is refused when it is read again */
        bloomery_partition_store(&disk->partition[i], to + (size_t)i * BLOOMERY_PARTITION_STATE);
    }
    return (size_t)disk->partitions * BLOOMERY_PARTITION_STATE;
}

static bloomery_status open_files(bloomery_sieve *sieve, uint32_t number, bloomery_error *error)
{
    struct bloomery_partition *partition = &sieve->disk->partition[number];
    struct bloomery_store_file seen = {.file = -1};
    bloomery_status status = BLOOMERY_OK;
    assert(partition->log.file < 0);
    if (partition->seen_entries > 0)
        status = bloomery_store_open(
            &sieve->store, BLOOMERY_FILE_SEEN, number, partition->seen_generation,
            bloomery_seen_bytes(partition->seen_entries, sieve->disk->width), false, &seen, error);
    bloomery_store_close(&seen);
    if (status == BLOOMERY_OK && partition->log_bytes > 0)
        status = bloomery_store_open(&sieve->store, BLOOMERY_FILE_PENDING, number,
                                     partition->log_generation, partition->log_bytes, true,
                                     &partition->log, error);
    return status;
}

static bloomery_status restore_partition(bloomery_sieve *sieve, uint32_t number,
                                         const uint8_t *from, bloomery_error *error)
{
    struct bloomery_disk *disk = sieve->disk;
    struct bloomery_partition *partition = &disk->partition[number];
    bloomery_partition_load(from, partition);
    partition->committed_log = partition->log_generation;
    partition->committed_seen = partition->seen_generation;
    if (!is_sound(partition))
        return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                             "%s is damaged: the manifest's row of partition %u does not add up",
                             sieve->path, number);
    disk->waiting += bloomery_partition_waiting(partition);
    return open_files(sieve, number, error);
}

static bloomery_status restore_disk(bloomery_sieve *sieve, const uint8_t *from, size_t bytes,
                                    bloomery_error *error)
{
    const uint32_t partitions = sieve->disk->partitions;
    if (bytes != (size_t)partitions * BLOOMERY_PARTITION_STATE)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                             "%s is damaged: its manifest has no rows for %u partitions",
                             sieve->path, partitions);
    for (uint32_t i = 0; i < partitions; i++) {
        const bloomery_status status =
            restore_partition(sieve, i, from + (size_t)i * BLOOMERY_PARTITION_STATE, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    return BLOOMERY_OK;
}

static bool names_disk(const bloomery_sieve *sieve, enum bloomery_file_kind kind, uint64_t number,
                       uint64_t generation)
{
    const struct bloomery_disk *disk = sieve->disk;
    if (number >= disk->partitions)
        return false;
    const struct bloomery_partition *partition = &disk->partition[number];
    if (kind == BLOOMERY_FILE_SEEN)
        return partition->seen_entries > 0 && generation == partition->seen_generation;
    return kind == BLOOMERY_FILE_PENDING && partition->log_bytes > 0 &&
           generation == partition->log_generation;
}

/* ---- Commits ----------------------------------------------------------------------------- */

/* Writing is begun in all files before the first is waited for. */
static bloomery_status prepare_disk(bloomery_sieve *sieve, bool closing, bloomery_error *error)
{
    struct bloomery_disk *disk = sieve->disk;
    bloomery_status status = BLOOMERY_OK;
    (void)closing;
    for (uint32_t i = 0; status == BLOOMERY_OK && i < disk->partitions; i++)
        status = bloomery_log_seal(sieve, i, error);
    for (uint32_t i = 0; sieve->store.syncs && i < disk->partitions; i++)
        if (disk->partition[i].log.file >= 0 && disk->partition[i].log.dirty)
            (void)sync_file_range(disk->partition[i].log.file, 0, 0, SYNC_FILE_RANGE_WRITE);
    for (uint32_t i = 0; status == BLOOMERY_OK && i < disk->partitions; i++)
        if (disk->partition[i].log.file >= 0)
            status = bloomery_store_sync(&sieve->store, &disk->partition[i].log, error);
    return status;
}

static void committed_disk(bloomery_sieve *sieve)
{
    struct bloomery_disk *disk = sieve->disk;
    for (uint32_t i = 0; i < disk->partitions; i++) {
        struct bloomery_partition *partition = &disk->partition[i];
        if (partition->committed_log != partition->log_generation)
            bloomery_store_remove(&sieve->store, BLOOMERY_FILE_PENDING, i,
                                  partition->committed_log);
        if (partition->committed_seen != partition->seen_generation)
            bloomery_store_remove(&sieve->store, BLOOMERY_FILE_SEEN, i, partition->committed_seen);
        partition->committed_log = partition->log_generation;
        partition->committed_seen = partition->seen_generation;
    }
}

/* ---- Pushing ----------------------------------------------------------------------------- */

static void hash_disk(const bloomery_sieve *sieve, const bloomery_key *keys, size_t count,
                      bloomery_hash *hashes)
{
    bloomery_hash_many(sieve->hash, &sieve->secret, keys, count, hashes);
}

/* Its middle bits: the first are the partition's, the last may be zero. */
static uint64_t *cache_set(const struct bloomery_disk *disk, uint64_t fingerprint)
{
    return disk->cache + ((fingerprint >> 16) & disk->cache_mask) * BLOOMERY_CACHE_WAYS;
}

/* Whether it is there; it is moved to the front then. 0 is an empty place, so that fingerprint is
 * never cached. */
static bool cached(const struct bloomery_disk *disk, uint64_t fingerprint)
{
    uint64_t *set = cache_set(disk, fingerprint);
    for (unsigned i = 0; i < BLOOMERY_CACHE_WAYS; i++)
        if (set[i] == fingerprint && fingerprint != 0) {
            for (; i > 0; i--)
                set[i] = set[i - 1];
            set[0] = fingerprint;
            return true;
        }
    return false;
}

static void remember(const struct bloomery_disk *disk, uint64_t fingerprint)
{
    uint64_t *set = cache_set(disk, fingerprint);
    if (set[0] == fingerprint)
        return;
    for (unsigned i = BLOOMERY_CACHE_WAYS - 1; i > 0; i--)
        set[i] = set[i - 1];
    set[0] = fingerprint;
}

/* First batches are of different sizes: partitions fill evenly, and would all be full at once. */
static bloomery_status make_room(bloomery_sieve *sieve, uint32_t number, bloomery_error *error)
{
    const struct bloomery_disk *disk = sieve->disk;
    const struct bloomery_partition *partition = &disk->partition[number];
    const bool ordered = disk->stride > 8;
    const uint64_t most = partition->seen_entries > 0 || ordered
                              ? disk->batch
                              : disk->batch / disk->partitions * (number + 1);
    if (partition->log_entries + partition->entries < most)
        return BLOOMERY_OK;
    return ordered ? bloomery_decide_ordered(sieve, true, error)
                   : bloomery_decide(sieve, number, true, error);
}

static bloomery_status push_one(bloomery_sieve *sieve, bloomery_hash hash,
                                const struct bloomery_entry *entry, uint8_t *result,
                                bloomery_error *error)
{
    struct bloomery_disk *disk = sieve->disk;
    struct bloomery_sieve_counters *counters = &sieve->counters;
    const uint64_t fingerprint = bloomery_fingerprint_of(disk, hash);
    const bool marked = (entry->flags & BLOOMERY_ENTRY_MARKED) != 0;
    const bool forced = (entry->flags & BLOOMERY_ENTRY_FORCED) != 0;
    if (!forced && cached(disk, fingerprint)) {
        disk->cache_hits++;
        counters->marked += marked;
        counters->seen += !marked;
        *result = BLOOMERY_SIEVE_SEEN;
        return BLOOMERY_OK;
    }
    const uint32_t number = bloomery_partition_of(disk, fingerprint);
    bloomery_status status = make_room(sieve, number, error);
    if (status == BLOOMERY_OK)
        status =
            bloomery_log_append(sieve, number, fingerprint, entry, counters->pushed + 1, error);
    if (status != BLOOMERY_OK)
        return status;
    remember(disk, fingerprint);
    counters->marked += marked;
    counters->forced += forced;
    counters->pending += !marked && !forced;
    *result = BLOOMERY_SIEVE_PENDING;
    return BLOOMERY_OK;
}

static bloomery_status push_disk(bloomery_sieve *sieve, const bloomery_hash *hashes,
                                 const struct bloomery_entry *entries, size_t count,
                                 uint8_t *results, size_t *done, bloomery_error *error)
{
    const struct bloomery_disk *disk = sieve->disk;
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(cache_set(disk, bloomery_fingerprint_of(disk, hashes[i])), 1);
    for (size_t i = 0; i < count; i++) {
        const bloomery_status status = push_one(sieve, hashes[i], &entries[i], &results[i], error);
        if (status != BLOOMERY_OK)
            return status;
        sieve->counters.pushed++;
        *done += 1;
    }
    return BLOOMERY_OK;
}

/* ---- Asking and deciding --------------------------------------------------------------------- */

/* What the cache remembers was pushed before; the others in the order of their fingerprints. */
static bloomery_status contains_disk(bloomery_sieve *sieve, const bloomery_hash *hashes,
                                     size_t count, uint64_t *room, uint8_t *results,
                                     bloomery_error *error)
{
    const struct bloomery_disk *disk = sieve->disk;
    size_t queried = 0;
    assert(count <= BLOOMERY_CONTAINS_MAX);
    for (size_t i = 0; i < count; i++) {
        const uint64_t fingerprint = bloomery_fingerprint_of(disk, hashes[i]);
        if (cached(disk, fingerprint))
            results[i] = BLOOMERY_SIEVE_SEEN;
        else
            room[queried++] = (fingerprint & ~(uint64_t)0xffff) | i;
    }
    return bloomery_disk_contains(sieve, hashes, room, queried, results, error);
}

/* Where the next decision costs least. */
static uint32_t cheapest(const struct bloomery_disk *disk)
{
    uint32_t best = UINT32_MAX;
    double least = 0;
    for (uint32_t i = 0; i < disk->partitions; i++) {
        const struct bloomery_partition *partition = &disk->partition[i];
        if (bloomery_partition_waiting(partition) == 0 || partition->damaged)
            continue;
        const double merging = bloomery_stage_cost(disk, partition, true);
        const double querying = bloomery_stage_cost(disk, partition, false);
        const double cost = merging < querying ? merging : querying;
        if (best == UINT32_MAX || cost < least) {
            best = i;
            least = cost;
        }
    }
    return best;
}

/* One partition. A damaged one does not keep the others from being decided: it is reported
 * afterwards. */
static bloomery_status decide_one(bloomery_sieve *sieve, uint32_t number, bool merge,
                                  bloomery_error *damage, bloomery_error *error)
{
    bloomery_error found;
    const bloomery_status status = bloomery_decide(sieve, number, merge, &found);
    if (status == BLOOMERY_CORRUPT) {
        sieve->disk->partition[number].damaged = true;
        if (damage->status == BLOOMERY_OK)
            *damage = found;
        return BLOOMERY_OK;
    }
    if (status != BLOOMERY_OK && error != NULL)
        *error = found;
    return status;
}

static bloomery_status decide_each(bloomery_sieve *sieve, uint64_t wanted, bloomery_error *damage,
                                   bloomery_error *error)
{
    struct bloomery_disk *disk = sieve->disk;
    bloomery_status status = BLOOMERY_OK;
    for (uint32_t i = 0; i < disk->partitions; i++)
        disk->partition[i].damaged = false;
    if (wanted == UINT64_MAX) {
        for (uint32_t i = 0; status == BLOOMERY_OK && i < disk->partitions; i++)
            status = decide_one(sieve, i, true, damage, error);
        return status;
    }
    while (status == BLOOMERY_OK && bloomery_queue_queued(sieve->queue) < wanted) {
        const uint32_t next = cheapest(disk);
        if (next == UINT32_MAX)
            break;
        status = decide_one(sieve, next, false, damage, error);
    }
    return status;
}

static bloomery_status decide_disk(bloomery_sieve *sieve, uint64_t wanted, bloomery_error *error)
{
    const bool everything = wanted == UINT64_MAX;
    bloomery_error damage = {.status = BLOOMERY_OK};
    bloomery_status status = BLOOMERY_OK;
    if (sieve->disk->stride > 8) {
        if (everything ||
            (sieve->disk->waiting > 0 && bloomery_queue_queued(sieve->queue) < wanted))
            status = bloomery_decide_ordered(sieve, everything, error);
        return status;
    }
    status = decide_each(sieve, wanted, &damage, error);
    if (status != BLOOMERY_OK || damage.status == BLOOMERY_OK ||
        (!everything && bloomery_queue_queued(sieve->queue) > 0))
        return status;
    if (error != NULL)
        *error = damage;
    return damage.status;
}

static uint64_t keep_segment(const bloomery_sieve *sieve)
{
    (void)sieve;
    return UINT64_MAX;
}

/* ---- Facts ------------------------------------------------------------------------------- */

static void add_partition(const struct bloomery_disk *disk,
                          const struct bloomery_partition *partition, bloomery_sieve_info *info)
{
    info->distinct += partition->seen_entries;
    if (partition->seen_entries > 0)
        info->seen_bytes += bloomery_seen_bytes(partition->seen_entries, disk->width);
    info->pending_bytes += partition->log_bytes;
    if (partition->log_entries + partition->entries > 0)
        info->flush_bytes += bloomery_stage_cost(disk, partition, true) +
                             (double)(partition->log_bytes - partition->decided_bytes);
    const double n = (double)info->distinct;
    /* Pairs of keys with one fingerprint. */
    info->expected_drops = n * n / 2 / (disk->width == 8 ? 0x1p64 : 0x1p48);
}

static void info_disk(bloomery_sieve *sieve, bloomery_sieve_info *info)
{
    const struct bloomery_disk *disk = sieve->disk;
    for (uint32_t i = 0; i < disk->partitions; i++)
        add_partition(disk, &disk->partition[i], info);
    info->cache_hits = disk->cache_hits;
    info->decisions = disk->decisions;
}

bool bloomery_disk_rows_info(const struct bloomery_sieve_settings *settings, uint64_t memory,
                             const uint8_t *rows, bloomery_sieve_info *info)
{
    struct bloomery_sieve_budget budget;
    uint64_t least = 0;
    if (!bloomery_sieve_split(memory, settings->partitions, settings->leases, &budget, &least))
        (void)bloomery_sieve_split(least, settings->partitions, settings->leases, &budget, &least);
    const struct bloomery_disk disk = {.batch = budget.batch,
                                       .width = settings->fingerprint_bits / 8};
    for (uint32_t i = 0; i < settings->partitions; i++) {
        struct bloomery_partition partition = {.log = {.file = -1}};
        bloomery_partition_load(rows + (size_t)i * BLOOMERY_PARTITION_STATE, &partition);
        if (!is_sound(&partition))
            return false;
        add_partition(&disk, &partition, info);
    }
    return true;
}

const struct bloomery_sieve_engine_row bloomery_sieve_disk = {
    .make = make_disk,
    .restore = restore_disk,
    .free = free_disk,
    .push = push_disk,
    .hash = hash_disk,
    .contains = contains_disk,
    .decide = decide_disk,
    .prepare = prepare_disk,
    .store = store_disk,
    .committed = committed_disk,
    .names = names_disk,
    .info = info_disk,
    .verify = bloomery_disk_verify,
    .keep_segment = keep_segment,
};

/* ---- Looking up ------------------------------------------------------------------------------ */

/*
 * Whether keys were seen, many at a time: in the order of their fingerprints, partition by
 * partition.
 *
 *     order    the first 48 bits of a fingerprint, then which of the hashes it is: a word a key
 *
 * Of a partition in which many are looked up, all frames are read front to back, each once. Of one
 * in which few are, those frames are read where they must be. Then the fingerprints that were
 * decided without a merge, which lie in the log yet, are looked up among the keys that were given,
 * in one pass.
 */

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

static bloomery_status find_decided(void *context, const uint8_t *records, uint32_t count,
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
    size_t found = 0;
    for (size_t i = 0; i < querying->count; i++)
        found += querying->results[querying->order[i] & number_mask] == BLOOMERY_SIEVE_SEEN;
    if (status == BLOOMERY_OK && partition->decided_entries > 0 && found < querying->count)
        status = bloomery_log_each(querying->sieve, number, BLOOMERY_FILE_HEADER,
                                   partition->decided_bytes, find_decided, querying, error);
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
