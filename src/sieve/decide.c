/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New entries to the queue: one partition after the other, or, ordered, all at once.
 *
 * Ordered, each partition is staged by itself and leaves its verdicts in a file, since the memory that they were found
 * in is needed for the next one. Then the logs are read side by side, each through the buffer of its partition, which is
 * empty, and the entry with the least push number comes next.
 */
#include "sieve/disk.h"

#include "base/bytes.h"
#include "base/error.h"

#include <assert.h>

/* What becomes of the counters where everything goes well. */
struct tally {
    uint64_t decided; /* pushes that were pending */
    uint64_t new_keys;
};

/* One entry of a log with its verdict. */
static bloomery_status settle(bloomery_sieve *sieve, struct bloomery_log_block *block,
                              size_t *place, bool first, struct tally *tally, bloomery_error *error)
{
    struct bloomery_entry entry;
    const size_t bytes =
        bloomery_entry_get(block->body + *place, block->block.body_bytes - *place, &entry);
    if (bytes == 0 || entry.key.bytes > BLOOMERY_SIEVE_ITEM_MAX ||
        entry.payload.bytes > BLOOMERY_SIEVE_ITEM_MAX - entry.key.bytes)
        return bloomery_fail(error, BLOOMERY_CORRUPT, block->offset,
                             "damaged: an entry that does not fit in its block of pending keys");
    *place += bytes;
    const bool forced = (entry.flags & BLOOMERY_ENTRY_FORCED) != 0;
    const bool noted = (entry.flags & BLOOMERY_ENTRY_NOTED) != 0;
    tally->decided += !forced && !noted;
    tally->new_keys += !forced && !noted && first;
    if (noted || !(first || forced))
        return BLOOMERY_OK;
    entry.flags = 0;
    return bloomery_queue_append(sieve->queue, &entry, error);
}

static bool verdict(const uint64_t *verdicts, uint64_t i)
{
    return verdicts[i >> 6] >> (i & 63) & 1;
}

static bloomery_status emit(bloomery_sieve *sieve, uint32_t number, struct tally *tally,
                            bloomery_error *error)
{
    struct bloomery_disk *disk = sieve->disk;
    const struct bloomery_partition *partition = &disk->partition[number];
    uint64_t entry = 0;
    bloomery_status status = BLOOMERY_OK;
    for (uint64_t at = partition->decided_bytes;
         status == BLOOMERY_OK && at < partition->log_bytes;) {
        struct bloomery_log_block block;
        size_t place = 0;
        status =
            bloomery_log_read(sieve, number, at, disk->area, BLOOMERY_LOG_BLOCK, &block, error);
        if (status != BLOOMERY_OK)
            return status;
        assert(entry + block.block.entries <= partition->log_entries - partition->decided_entries);
        for (uint32_t i = 0; status == BLOOMERY_OK && i < block.block.entries; i++)
            status = settle(sieve, &block, &place, verdict(disk->verdicts, entry++), tally, error);
        at += bloomery_block_bytes(&block.block);
        bloomery_log_release(sieve, &block);
    }
    return status;
}

static void count(bloomery_sieve *sieve, const struct tally *tally)
{
    struct bloomery_sieve_counters *counters = &sieve->counters;
    assert(tally->decided >= tally->new_keys);
    /* A manifest may have said that fewer are pending than there are. */
    counters->pending -= tally->decided < counters->pending ? tally->decided : counters->pending;
    counters->new_keys += tally->new_keys;
    counters->seen += tally->decided - tally->new_keys;
    sieve->changed = true;
}

static bool merges(const bloomery_sieve *sieve, uint32_t number, bool merge)
{
    const struct bloomery_disk *disk = sieve->disk;
    const struct bloomery_partition *partition = &disk->partition[number];
    return merge || partition->log_entries >= disk->batch / 4 * 3 ||
           bloomery_stage_cost(disk, partition, true) <=
               bloomery_stage_cost(disk, partition, false);
}

bloomery_status bloomery_decide(bloomery_sieve *sieve, uint32_t number, bool merge,
                                bloomery_error *error)
{
    const struct bloomery_partition *partition = &sieve->disk->partition[number];
    struct bloomery_queue_mark mark;
    struct tally tally = {.decided = 0};
    bloomery_status status = bloomery_log_seal(sieve, number, error);
    if (status == BLOOMERY_OK)
        status = bloomery_queue_seal(sieve->queue, error);
    if (status != BLOOMERY_OK || partition->log_entries == 0)
        return status;
    bloomery_queue_mark(sieve->queue, &mark);
    status = bloomery_stage(sieve, number, merges(sieve, number, merge), error);
    if (status != BLOOMERY_OK)
        return status;
    status = emit(sieve, number, &tally, error);
    if (status != BLOOMERY_OK) {
        bloomery_queue_rewind(sieve->queue, &mark);
        bloomery_stage_drop(sieve, number);
        return status;
    }
    bloomery_stage_adopt(sieve, number);
    count(sieve, &tally);
    return BLOOMERY_OK;
}

/* ---- In the order of the pushes ------------------------------------------------------------ */

/* A log that is read beside others. */
struct cursor {
    struct bloomery_log_block block;
    uint64_t next;    /* where the next block lies */
    uint64_t push;    /* number of the entry that comes next */
    uint64_t verdict; /* its verdict's bit among those of all partitions */
    size_t place;
    uint32_t record;
    uint32_t number;
};

struct order {
    bloomery_sieve *sieve;
    struct cursor *cursors;
    uint32_t *heap; /* of cursors, that of the least push on top */
    uint32_t live;
    struct bloomery_store_file verdicts;
};

static void sink(struct order *order, uint32_t at)
{
    const struct cursor *cursors = order->cursors;
    uint32_t *heap = order->heap;
    for (uint32_t child = 2 * at + 1; child < order->live; child = 2 * at + 1) {
        if (child + 1 < order->live && cursors[heap[child + 1]].push < cursors[heap[child]].push)
            child++;
        if (cursors[heap[at]].push <= cursors[heap[child]].push)
            return;
        const uint32_t other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
        at = child;
    }
}

static uint64_t push_of(const struct cursor *cursor)
{
    return cursor->block.block.first +
           bloomery_load_u32(cursor->block.records + (size_t)cursor->record * 12 + 8);
}

/* To the next entry; `more` false: there is none. */
static bloomery_status advance(struct order *order, struct cursor *cursor, bool *more,
                               bloomery_error *error)
{
    const struct bloomery_partition *partition = &order->sieve->disk->partition[cursor->number];
    *more = true;
    if (cursor->record == cursor->block.block.entries) {
        bloomery_log_release(order->sieve, &cursor->block);
        cursor->record = 0;
        cursor->place = 0;
        cursor->block.block.entries = 0;
        *more = cursor->next < partition->log_bytes;
        if (!*more)
            return BLOOMERY_OK;
        const bloomery_status status =
            bloomery_log_read(order->sieve, cursor->number, cursor->next, partition->buffer,
                              order->sieve->disk->budget.buffer_bytes, &cursor->block, error);
        if (status != BLOOMERY_OK) {
            cursor->block.block.entries = 0;
            return status;
        }
        cursor->next += bloomery_block_bytes(&cursor->block.block);
    }
    cursor->push = push_of(cursor);
    return BLOOMERY_OK;
}

/* Stages all, and keeps their verdicts: those of a partition begin at a whole word. */
static bloomery_status stage_all(struct order *order, bool merge, bloomery_error *error)
{
    bloomery_sieve *sieve = order->sieve;
    struct bloomery_disk *disk = sieve->disk;
    uint64_t at = 0;
    bloomery_status status = BLOOMERY_OK;
    for (uint32_t i = 0; status == BLOOMERY_OK && i < disk->partitions; i++) {
        const struct bloomery_partition *partition = &disk->partition[i];
        const uint64_t waiting = bloomery_partition_waiting(partition);
        const uint64_t bytes = bloomery_sieve_bits_bytes(waiting);
        order->cursors[i] =
            (struct cursor){.number = i, .next = partition->decided_bytes, .verdict = at * 8};
        if (partition->log_entries == 0 || (waiting == 0 && !merge))
            continue;
        status = bloomery_stage(sieve, i, merges(sieve, i, merge), error);
        if (status == BLOOMERY_OK && bytes > 0)
            status = bloomery_store_write(&sieve->store, &order->verdicts,
                                          BLOOMERY_FILE_HEADER + at, disk->verdicts, bytes, error);
        at += bytes;
    }
    /* Now the values are done with, and all verdicts fit in their place: a bit for 64. */
    assert(status != BLOOMERY_OK || at <= disk->batch * 8);
    if (status == BLOOMERY_OK && at > 0)
        status = bloomery_store_read(&sieve->store, &order->verdicts, BLOOMERY_FILE_HEADER,
                                     disk->values, at, error);
    return status;
}

static bloomery_status emit_all(struct order *order, struct tally *tally, bloomery_error *error)
{
    struct bloomery_disk *disk = order->sieve->disk;
    bloomery_status status = BLOOMERY_OK;
    bool more = false;
    order->live = 0;
    for (uint32_t i = 0; status == BLOOMERY_OK && i < disk->partitions; i++) {
        if (disk->partition[i].staged == BLOOMERY_STAGED_NOT)
            continue;
        status = advance(order, &order->cursors[i], &more, error);
        if (more)
            order->heap[order->live++] = i;
    }
    for (uint32_t i = order->live; i-- > 0;)
        sink(order, i);
    while (status == BLOOMERY_OK && order->live > 0) {
        struct cursor *cursor = &order->cursors[order->heap[0]];
        status = settle(order->sieve, &cursor->block, &cursor->place,
                        verdict(disk->values, cursor->verdict++), tally, error);
        cursor->record++;
        if (status == BLOOMERY_OK)
            status = advance(order, cursor, &more, error);
        if (!more)
            order->heap[0] = order->heap[--order->live];
        sink(order, 0);
    }
    return status;
}

static bloomery_status decide_all(struct order *order, bool merge, bloomery_error *error)
{
    bloomery_sieve *sieve = order->sieve;
    struct bloomery_disk *disk = sieve->disk;
    struct bloomery_queue_mark mark;
    struct tally tally = {.decided = 0};
    bloomery_queue_mark(sieve->queue, &mark);
    bloomery_status status = stage_all(order, merge, error);
    if (status == BLOOMERY_OK)
        status = emit_all(order, &tally, error);
    for (uint32_t i = 0; i < disk->partitions; i++)
        bloomery_log_release(sieve, &order->cursors[i].block);
    if (status != BLOOMERY_OK)
        bloomery_queue_rewind(sieve->queue, &mark);
    for (uint32_t i = 0; i < disk->partitions; i++)
        if (status != BLOOMERY_OK)
            bloomery_stage_drop(sieve, i);
        else if (disk->partition[i].staged != BLOOMERY_STAGED_NOT)
            bloomery_stage_adopt(sieve, i);
    if (status == BLOOMERY_OK)
        count(sieve, &tally);
    return status;
}

bloomery_status bloomery_decide_ordered(bloomery_sieve *sieve, bool merge, bloomery_error *error)
{
    struct bloomery_disk *disk = sieve->disk;
    struct bloomery_store *store = &sieve->store;
    const uint64_t bytes = (uint64_t)disk->partitions * (sizeof(struct cursor) + sizeof(uint32_t));
    struct order order = {.sieve = sieve, .verdicts.file = -1};
    bloomery_status status = bloomery_queue_seal(sieve->queue, error);
    for (uint32_t i = 0; status == BLOOMERY_OK && i < disk->partitions; i++)
        status = bloomery_log_seal(sieve, i, error);
    if (status != BLOOMERY_OK)
        return status;
    order.cursors = bloomery_store_take(store, bytes);
    if (order.cursors == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "no memory to read %u logs",
                             disk->partitions);
    order.heap = (uint32_t *)(order.cursors + disk->partitions);
    status = bloomery_store_create(store, BLOOMERY_FILE_VERDICTS, 0, 0, &order.verdicts, error);
    if (status == BLOOMERY_OK)
        status = decide_all(&order, merge, error);
    bloomery_store_close(&order.verdicts);
    bloomery_store_remove(store, BLOOMERY_FILE_VERDICTS, 0, 0);
    bloomery_store_give(store, order.cursors, bytes);
    return status;
}
