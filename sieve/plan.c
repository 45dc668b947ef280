/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sieve of n distinct keys costs, T pushes of them made. They are in P partitions that are
 * decided r pending keys at a time. The same derivation with numbers is in docs/sieve.md; disk.h
 * says where r comes from.
 *
 * Pushes. Of the T - n repeated ones the cache answers its share; T' = n + (T - n) (1 - share) are
 * pending for a time.
 *
 * Seen-set. New keys are taken to come evenly among the pushes. So after the share t of its pushes
 * the file of a partition has t of its n/P fingerprints. Merges at t1 < t2 < ... < 1, and by a
 * flush at 1, move (before + after each)
 *
 *     t1 + (t1 + t2) + ... + (t + 1)  =  2 (t1 + t2 + ...) + 1    times f n / P bytes
 *
 * for bytes f of a stored fingerprint. There are m = T' / (P r) batches in the pushes of a
 * partition, so merges are 1/m apart. The first one comes after a part of a batch. That part is
 * another one in each partition, evenly from 1/P to 1. Over all partitions sum(t) is then the
 * integral of t m dt, m/2 (and is added up here as it is), so
 *
 *     about  f n (m + 1):  f n T' / (P r) for merging as it goes, and f n for the flush
 *
 * Logs. Each of the T' pending keys is written with its fingerprint. Its fingerprint is read twice,
 * to be sorted and to be judged, and all of it once more to take the keys that are new.
 *
 * Queue. Each of the n items is written once and read once. Reading again after a lease has ended
 * is not counted.
 *
 * Not counted are decisions that a pop on an empty queue asks for before a partition has its r
 * keys. Nor are sieves that are ordered, and what the file system adds.
 */
#include "sieve/disk.h"
#include "sieve/queue.h"
#include "sieve/store.h"

#include "base/error.h"
#include "base/versioned.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

enum {
    LEASES = 4096, /* the default */
    FINGERPRINT = 8,
    KEYS_BITS_MAX = 48,
    MEMORY_ENGINE_BITS = 40, /* plans of filters end at 2^47 bytes: larger ones are scaled */
};

static uint64_t or_default(uint64_t value, uint64_t otherwise)
{
    return value != 0 ? value : otherwise;
}

/* What the caller left 0. */
static void take_defaults(bloomery_sieve_plan *plan)
{
    plan->pushes = or_default(plan->pushes, plan->keys);
    plan->memory = or_default(plan->memory, (uint64_t)64 << 20);
    plan->key_bytes = plan->key_bytes == 0 ? 50 : plan->key_bytes;
    plan->rate = plan->rate == 0 ? 1e-6 : plan->rate;
    plan->fingerprint_bits = (uint32_t)or_default(plan->fingerprint_bits, 64);
    plan->partitions =
        (uint32_t)or_default(plan->partitions, bloomery_sieve_partitions(plan->keys));
    plan->disk_speed = plan->disk_speed == 0 ? 500e6 : plan->disk_speed;
}

static bloomery_status check(const bloomery_sieve_plan *plan, bloomery_error *error)
{
    const char *wrong = NULL;
    if (plan->keys == 0 || plan->keys > (uint64_t)1 << KEYS_BITS_MAX)
        wrong = "a sieve is planned for 1 to 2^48 keys";
    else if (plan->pushes < plan->keys)
        wrong = "there are no fewer pushes than distinct keys";
    else if (!(plan->key_bytes > 0 && plan->key_bytes <= BLOOMERY_SIEVE_ITEM_MAX))
        wrong = "keys have over 0 to 1048576 bytes on average";
    else if (!(plan->rate > 0 && plan->rate < 1))
        wrong = "a rate is over 0 and below 1";
    else if (plan->fingerprint_bits != 64 && plan->fingerprint_bits != 48)
        wrong = "fingerprints have 64 or 48 bits";
    else if (plan->partitions > BLOOMERY_SIEVE_PARTITIONS_MAX ||
             (plan->partitions & (plan->partitions - 1)) != 0)
        wrong = "partitions are a power of two, 1 to 256";
    else if (!(plan->cache_hit >= 0 && plan->cache_hit <= 1))
        wrong = "the share that the cache answers is 0 to 1";
    else if (!(plan->disk_speed >= 1 && isfinite(plan->disk_speed)))
        wrong = "a disk moves at least 1 byte a second";
    if (wrong != NULL)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "%s", wrong);
    return BLOOMERY_OK;
}

/* Bytes of an average entry: its prefix and the key. */
static double entry_bytes(double key_bytes)
{
    uint8_t prefix[BLOOMERY_ENTRY_PREFIX_MAX];
    assert(key_bytes > 0 && key_bytes <= BLOOMERY_SIEVE_ITEM_MAX);
    return key_bytes + (double)bloomery_varint_put(prefix, (uint32_t)key_bytes << 3);
}

/* Shares of all fingerprints that are read and written, with `batches` batches in a partition's
 * pushes. It is the mean over partitions of 2 (t1 + t2 + ...) + 1. */
static double shares_moved(uint32_t partitions, double batches)
{
    double sum = 0;
    assert(partitions > 0 && batches > 0);
    for (uint32_t i = 0; i < partitions; i++) {
        const double first = (i + 1) / (double)partitions;
        const double merges = batches > first ? ceil(batches - first) : 0;
        sum += merges * first + merges * (merges - 1) / 2;
    }
    assert(sum >= 0);
    return 2 * sum / batches / partitions + 1;
}

static void plan_seen(bloomery_sieve_plan *plan, double pending_pushes)
{
    const double keys = (double)plan->keys;
    const double partitions = plan->partitions;
    const double width = plan->fingerprint_bits / 8.0;
    const double frame = floor((BLOOMERY_SEEN_FRAME - BLOOMERY_SEEN_CHECKSUM) / width);
    const double stored = BLOOMERY_SEEN_FRAME / frame;
    const double batches = pending_pushes / (partitions * (double)plan->batch);
    plan->seen_disk = keys * stored + partitions * BLOOMERY_FILE_HEADER;
    plan->seen_traffic = stored * keys * shares_moved(plan->partitions, batches);
    plan->flush_seconds = 2 * plan->seen_disk / plan->disk_speed;
    plan->wrong_drops = ldexp(keys * keys, -(int)plan->fingerprint_bits - 1);
}

static void plan_logs(bloomery_sieve_plan *plan, double pending_pushes, uint32_t buffer_bytes)
{
    const double entry = entry_bytes(plan->key_bytes);
    const double logged = FINGERPRINT + entry;
    const double header = BLOOMERY_FRAME_HEADER / floor(fmax(1, buffer_bytes / logged));
    const double most = (double)plan->partitions * (double)plan->batch;
    plan->pending_max = (uint64_t)fmin(pending_pushes, most);
    plan->pending_disk = (double)plan->pending_max * (logged + header) +
                         (double)plan->partitions * BLOOMERY_FILE_HEADER;
    plan->pending_traffic = pending_pushes * (2 * logged + 2 * FINGERPRINT + 4 * header);
    const double item = entry + BLOOMERY_FRAME_HEADER * fmin(1, entry / BLOOMERY_QUEUE_BUFFER);
    plan->queue_disk = (double)plan->keys * item;
    plan->queue_disk += ceil(plan->queue_disk / BLOOMERY_QUEUE_SEGMENT) * BLOOMERY_FILE_HEADER;
    plan->queue_traffic = 2 * plan->queue_disk;
}

/* The memory engine at the same rate, and what is possible at all. A filter takes the same bits for
 * each key however many there are. So what is too large for a plan is scaled from what is not. */
static bloomery_status plan_memory(bloomery_sieve_plan *plan, bloomery_error *error)
{
    const uint64_t most = (uint64_t)1 << MEMORY_ENGINE_BITS;
    bloomery_plan filter = {
        .keys = plan->keys < most ? plan->keys : most,
        .rate = plan->rate,
    };
    const bloomery_status status = bloomery_plan_solve(&filter, NULL, error);
    if (status != BLOOMERY_OK)
        return status;
    const double keys = (double)plan->keys;
    plan->filter_bytes = (double)filter.planned_bytes * (keys / (double)filter.keys);
    plan->limit_bytes = keys * -log2(plan->rate) / 8;
    plan->budget_rate = exp2(-8 * (double)plan->memory / keys);
    return BLOOMERY_OK;
}

bloomery_status bloomery_sieve_plan_solve(bloomery_sieve_plan *plan, bloomery_error *error)
{
    /* What version 0.1 has of the struct. */
    enum { PLAN_BYTES_FIRST = sizeof(bloomery_sieve_plan) };
    struct bloomery_sieve_budget budget;
    bloomery_sieve_plan solved;
    bloomery_status status = bloomery_versioned_read(plan, PLAN_BYTES_FIRST, &solved, sizeof solved,
                                                     "BLOOMERY_SIEVE_PLAN", error);
    if (status != BLOOMERY_OK)
        return status;
    take_defaults(&solved);
    status = check(&solved, error);
    if (status != BLOOMERY_OK)
        return status;
    if (!bloomery_sieve_split(solved.memory, solved.partitions, LEASES, &budget,
                              &solved.min_memory))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a sieve of %u partitions needs at least %llu bytes of memory",
                             solved.partitions, (unsigned long long)solved.min_memory);
    status = plan_memory(&solved, error);
    if (status != BLOOMERY_OK)
        return status;
    solved.batch = budget.batch;
    const double keys = (double)solved.keys;
    const double pending_pushes = keys + ((double)solved.pushes - keys) * (1 - solved.cache_hit);
    plan_seen(&solved, pending_pushes);
    plan_logs(&solved, pending_pushes, budget.buffer_bytes);
    solved.seconds =
        (solved.seen_traffic + solved.pending_traffic + solved.queue_traffic) / solved.disk_speed;
    bloomery_versioned_give(&solved, sizeof solved, plan, PLAN_BYTES_FIRST);
    return BLOOMERY_OK;
}

/* ---- The budget of the disk engine ----------------------------------------------------------- */

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
