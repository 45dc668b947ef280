/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New entries to the queue, one partition after the other; in the order of the pushes over all of
 * them: decide_ordered.c.
 */
#include "sieve/disk/disk.h"

#include "base/bits.h"
#include "base/error.h"

#include <assert.h>

bloomery_status bloomery_settle(bloomery_sieve *sieve, struct bloomery_entry *entry, bool first,
                                struct bloomery_tally *tally, bloomery_error *error)
{
    const bool forced = (entry->flags & BLOOMERY_ENTRY_FORCED) != 0;
    const bool marked = (entry->flags & BLOOMERY_ENTRY_MARKED) != 0;
    tally->decided += !forced && !marked;
    tally->new_keys += !forced && !marked && first;
    if (marked || !(first || forced))
        return BLOOMERY_OK;
    entry->flags = 0;
    return bloomery_queue_append(sieve->queue, entry, error);
}

bloomery_status bloomery_entry_damaged(bloomery_sieve *sieve, uint32_t number, uint64_t offset,
                                       bloomery_error *error)
{
    return bloomery_store_damaged(&sieve->store, &sieve->disk->partition[number].log, offset, error,
                                  "an entry that does not fit in its frame of pending keys");
}

/* The next entry of a frame that was read whole, with its verdict. */
static bloomery_status settle(bloomery_sieve *sieve, uint32_t number,
                              const struct bloomery_log_frame *frame, size_t *place, bool first,
                              struct bloomery_tally *tally, bloomery_error *error)
{
    struct bloomery_entry entry;
    const size_t bytes =
        bloomery_entry_get(frame->body + *place, frame->frame.body_bytes - *place, &entry);
    if (bytes == 0 || !bloomery_entry_fits(&entry))
        return bloomery_entry_damaged(sieve, number, frame->offset, error);
    *place += bytes;
    return bloomery_settle(sieve, &entry, first, tally, error);
}

static bloomery_status emit(bloomery_sieve *sieve, uint32_t number,
                            const struct bloomery_disk_piece *piece, struct bloomery_tally *tally,
                            bloomery_error *error)
{
    struct bloomery_disk *disk = sieve->disk;
    const struct bloomery_partition *partition = &disk->partition[number];
    uint64_t at = piece->from > partition->decided_bytes ? piece->from : partition->decided_bytes;
    uint64_t entry = 0;
    bloomery_status status = BLOOMERY_OK;
    while (status == BLOOMERY_OK && at < piece->to) {
        struct bloomery_log_frame frame;
        size_t place = 0;
        status =
            bloomery_log_read(sieve, number, at, disk->area, BLOOMERY_LOG_FRAME, &frame, error);
        if (status != BLOOMERY_OK)
            return status;
        assert(entry + frame.frame.entries <= piece->waiting);
        for (uint32_t i = 0; status == BLOOMERY_OK && i < frame.frame.entries; i++)
            status = settle(sieve, number, &frame, &place,
                            bloomery_word_bit(disk->verdicts, entry++), tally, error);
        at += bloomery_frame_bytes(&frame.frame);
        bloomery_log_release(sieve, &frame);
    }
    assert(status != BLOOMERY_OK || entry == piece->waiting);
    return status;
}

void bloomery_tally_count(bloomery_sieve *sieve, const struct bloomery_tally *tally)
{
    struct bloomery_sieve_counters *counters = &sieve->counters;
    assert(tally->decided >= tally->new_keys);
    /* A manifest may have said that fewer are pending than there are. */
    counters->pending -= tally->decided < counters->pending ? tally->decided : counters->pending;
    counters->new_keys += tally->new_keys;
    counters->seen += tally->decided - tally->new_keys;
    sieve->changed = true;
}

bool bloomery_merges(const bloomery_sieve *sieve, uint32_t number, bool merge)
{
    const struct bloomery_disk *disk = sieve->disk;
    const struct bloomery_partition *partition = &disk->partition[number];
    return merge || partition->log_entries >= disk->batch / 4 * 3 ||
           bloomery_stage_cost(disk, partition, true) <=
               bloomery_stage_cost(disk, partition, false);
}

/* On failure the queue is as it was, and so is the partition. */
static bloomery_status decide_piece(bloomery_sieve *sieve, uint32_t number,
                                    const struct bloomery_disk_piece *piece, bool merge,
                                    bloomery_error *error)
{
    struct bloomery_queue_mark mark;
    struct bloomery_tally tally = {.decided = 0};
    bloomery_status status = bloomery_queue_seal(sieve->queue, error);
    if (status != BLOOMERY_OK)
        return status;
    bloomery_queue_mark(sieve->queue, &mark);
    status = bloomery_stage(sieve, number, piece, merge, error);
    if (status != BLOOMERY_OK)
        return status;
    status = emit(sieve, number, piece, &tally, error);
    /* Items that are given out can be committed only if the disk has room for all of them. */
    if (status == BLOOMERY_OK)
        status = bloomery_queue_seal(sieve->queue, error);
    if (status != BLOOMERY_OK) {
        bloomery_queue_rewind(sieve->queue, &mark);
        bloomery_stage_drop(sieve, number);
        return status;
    }
    bloomery_stage_adopt(sieve, number, piece, piece->waiting);
    bloomery_tally_count(sieve, &tally);
    return BLOOMERY_OK;
}

bloomery_status bloomery_decide(bloomery_sieve *sieve, uint32_t number, bool merge,
                                bloomery_error *error)
{
    const struct bloomery_partition *partition = &sieve->disk->partition[number];
    bloomery_status status = bloomery_log_seal(sieve, number, error);
    if (status != BLOOMERY_OK || partition->log_entries == 0)
        return status;
    const bool merges = bloomery_merges(sieve, number, merge);
    struct bloomery_disk_piece piece = bloomery_piece_begin(partition, merges);
    while (status == BLOOMERY_OK && !piece.last) {
        status = bloomery_piece_next(sieve, number, &piece, error);
        if (status == BLOOMERY_OK)
            status = decide_piece(sieve, number, &piece, merges, error);
    }
    return status;
}
