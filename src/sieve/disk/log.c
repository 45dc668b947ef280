/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logs of pending entries. A frame in a buffer:
 *
 *     0           records: fingerprint u64, and in ordered sieves the push's number less the
 *                 frame's first, u32
 *     body        entries (entry.h), back to back
 *
 * One system call writes both. Where `body` is, is guessed from the entries of the frame before:
 * the frame is full when either part is.
 */
#include "sieve/disk/disk.h"

#include "base/bytes.h"
#include "base/error.h"

#include <assert.h>

uint32_t bloomery_log_split(const struct bloomery_disk *disk, uint64_t body_bytes, uint64_t entries)
{
    const uint64_t room = disk->budget.buffer_bytes;
    const uint64_t mean = entries > 0 ? body_bytes / entries + 1 : 50;
    const uint64_t records = room / (mean + disk->stride) * disk->stride;
    const uint64_t least = room / 16;
    const uint64_t most = room / 2;
    const uint64_t body = records < least ? least : records > most ? most : records;
    assert(body >= disk->stride && body <= room - body);
    return (uint32_t)(body / disk->stride * disk->stride);
}

/* What a frame promises, beyond what store.h checks: records for each entry, in an area. */
static bool adds_up(const struct bloomery_disk *disk, const struct bloomery_frame *frame)
{
    return frame->entries > 0 && frame->fixed_bytes == (uint64_t)frame->entries * disk->stride &&
           frame->fixed_bytes <= BLOOMERY_LOG_AREA && frame->body_bytes >= frame->entries &&
           (frame->body_bytes <= BLOOMERY_LOG_AREA || frame->entries == 1) &&
           frame->body_bytes <= BLOOMERY_SIEVE_ITEM_MAX + BLOOMERY_ENTRY_PREFIX_MAX;
}

/* The file, made when the first frame is written. */
static bloomery_status log_file(bloomery_sieve *sieve, uint32_t number, bloomery_error *error)
{
    struct bloomery_partition *partition = &sieve->disk->partition[number];
    if (partition->log.file >= 0)
        return BLOOMERY_OK;
    assert(partition->log_bytes == 0);
    const bloomery_status status =
        bloomery_store_create(&sieve->store, BLOOMERY_FILE_PENDING, number,
                              partition->log_generation, &partition->log, error);
    if (status == BLOOMERY_OK) {
        partition->log_bytes = BLOOMERY_FILE_HEADER;
        partition->decided_bytes = BLOOMERY_FILE_HEADER;
    }
    return status;
}

static bloomery_status write_frame(bloomery_sieve *sieve, uint32_t number,
                                   struct bloomery_frame *frame, const void *records,
                                   const void *body, bloomery_error *error)
{
    struct bloomery_partition *partition = &sieve->disk->partition[number];
    assert(adds_up(sieve->disk, frame));
    bloomery_status status = log_file(sieve, number, error);
    if (status == BLOOMERY_OK)
        status = bloomery_frame_write(&sieve->store, &partition->log, partition->log_bytes, frame,
                                      records, body, error);
    if (status != BLOOMERY_OK)
        return status;
    partition->log_bytes += bloomery_frame_bytes(frame);
    partition->log_entries += frame->entries;
    return BLOOMERY_OK;
}

bloomery_status bloomery_log_seal(bloomery_sieve *sieve, uint32_t number, bloomery_error *error)
{
    struct bloomery_disk *disk = sieve->disk;
    struct bloomery_partition *partition = &disk->partition[number];
    if (partition->entries == 0)
        return BLOOMERY_OK;
    assert((size_t)partition->entries * disk->stride <= partition->body &&
           partition->body + partition->body_bytes <= disk->budget.buffer_bytes);
    struct bloomery_frame frame = {
        .entries = partition->entries,
        .fixed_bytes = partition->entries * disk->stride,
        .body_bytes = partition->body_bytes,
        .first = partition->first,
    };
    const bloomery_status status = write_frame(sieve, number, &frame, partition->buffer,
                                               partition->buffer + partition->body, error);
    if (status != BLOOMERY_OK)
        return status;
    partition->body = bloomery_log_split(disk, partition->body_bytes, partition->entries);
    partition->entries = 0;
    partition->body_bytes = 0;
    return BLOOMERY_OK;
}

static void put_record(const struct bloomery_disk *disk, uint8_t *to, uint64_t fingerprint,
                       uint64_t delta)
{
    assert(disk->stride == 8 || delta <= UINT32_MAX);
    bloomery_store_u64(to, fingerprint);
    if (disk->stride > 8)
        bloomery_store_u32(to + 8, (uint32_t)delta);
}

/* An entry that is longer than a buffer's part for entries: a frame of its own, past the buffer. */
static bloomery_status append_long(bloomery_sieve *sieve, uint32_t number, uint64_t fingerprint,
                                   const struct bloomery_entry *entry, uint64_t push,
                                   bloomery_error *error)
{
    uint8_t record[16];
    bloomery_status status = bloomery_log_seal(sieve, number, error);
    if (status != BLOOMERY_OK)
        return status;
    const uint64_t bound = bloomery_entry_bound(entry);
    uint8_t *body = bloomery_store_take(&sieve->store, bound);
    if (body == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "no memory for an entry of %llu bytes", (unsigned long long)bound);
    put_record(sieve->disk, record, fingerprint, 0);
    struct bloomery_frame frame = {
        .entries = 1,
        .fixed_bytes = sieve->disk->stride,
        .body_bytes = (uint32_t)bloomery_entry_put(body, entry),
        .first = push,
    };
    status = write_frame(sieve, number, &frame, record, body, error);
    bloomery_store_give(&sieve->store, body, bound);
    return status;
}

bloomery_status bloomery_log_append(bloomery_sieve *sieve, uint32_t number, uint64_t fingerprint,
                                    const struct bloomery_entry *entry, uint64_t push,
                                    bloomery_error *error)
{
    struct bloomery_disk *disk = sieve->disk;
    struct bloomery_partition *partition = &disk->partition[number];
    const size_t bound = bloomery_entry_bound(entry);
    const size_t room = disk->budget.buffer_bytes;
    assert(number < disk->partitions && number == bloomery_partition_of(disk, fingerprint));
    if (bound > room - room / 2) {
        const bloomery_status status = append_long(sieve, number, fingerprint, entry, push, error);
        disk->waiting += status == BLOOMERY_OK;
        return status;
    }
    if (partition->entries > 0 &&
        ((size_t)(partition->entries + 1) * disk->stride > partition->body ||
         bound > room - partition->body - partition->body_bytes ||
         push - partition->first > UINT32_MAX)) {
        const bloomery_status status = bloomery_log_seal(sieve, number, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    if (partition->entries == 0)
        partition->first = push;
    assert((size_t)(partition->entries + 1) * disk->stride <= partition->body &&
           partition->body + partition->body_bytes + bound <= room);
    put_record(disk, partition->buffer + (size_t)partition->entries * disk->stride, fingerprint,
               push - partition->first);
    partition->body_bytes += (uint32_t)bloomery_entry_put(
        partition->buffer + partition->body + partition->body_bytes, entry);
    partition->entries++;
    disk->waiting++;
    return BLOOMERY_OK;
}

/* ---- Reading ----------------------------------------------------------------------------- */

static bloomery_status check_frame(bloomery_sieve *sieve, uint32_t number, uint64_t offset,
                                   const struct bloomery_frame *frame, bloomery_error *error)
{
    const struct bloomery_disk *disk = sieve->disk;
    if (adds_up(disk, frame))
        return BLOOMERY_OK;
    return bloomery_store_damaged(&sieve->store, &disk->partition[number].log, offset, error,
                                  "a frame of %u pending keys that does not add up",
                                  frame->entries);
}

bloomery_status bloomery_log_header(bloomery_sieve *sieve, uint32_t number, uint64_t offset,
                                    struct bloomery_frame *frame, bloomery_error *error)
{
    const struct bloomery_partition *partition = &sieve->disk->partition[number];
    const bloomery_status status = bloomery_frame_header(&sieve->store, &partition->log, offset,
                                                         partition->log_bytes, frame, error);
    return status == BLOOMERY_OK ? check_frame(sieve, number, offset, frame, error) : status;
}

bloomery_status bloomery_log_each(bloomery_sieve *sieve, uint32_t number, uint64_t from,
                                  uint64_t to,
                                  bloomery_status (*take)(void *context, const uint8_t *records,
                                                          uint32_t count, bloomery_error *error),
                                  void *context, bloomery_error *error)
{
    struct bloomery_disk *disk = sieve->disk;
    const struct bloomery_partition *partition = &disk->partition[number];
    struct bloomery_frame frame;
    assert(from >= BLOOMERY_FILE_HEADER && to <= partition->log_bytes);
    for (uint64_t at = from; at < to; at += bloomery_frame_bytes(&frame)) {
        bloomery_status status = bloomery_log_header(sieve, number, at, &frame, error);
        if (status == BLOOMERY_OK)
            status =
                bloomery_frame_fixed(&sieve->store, &partition->log, at, &frame, disk->area, error);
        if (status == BLOOMERY_OK)
            status = take(context, disk->area, frame.entries, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    return BLOOMERY_OK;
}

/* In the area if both parts fit, else in memory of its own. */
static bloomery_status find_room(bloomery_sieve *sieve, uint8_t *area, size_t room,
                                 struct bloomery_log_frame *frame, bloomery_error *error)
{
    const uint64_t bytes = (uint64_t)frame->frame.fixed_bytes + frame->frame.body_bytes;
    frame->records = area;
    if (bytes > room) {
        frame->own = bloomery_store_take(&sieve->store, bytes);
        frame->own_bytes = bytes;
        frame->records = frame->own;
    }
    if (frame->records == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "no memory for a frame of %llu bytes", (unsigned long long)bytes);
    frame->body = frame->records + frame->frame.fixed_bytes;
    return BLOOMERY_OK;
}

bloomery_status bloomery_log_read(bloomery_sieve *sieve, uint32_t number, uint64_t offset,
                                  uint8_t *area, size_t room, struct bloomery_log_frame *frame,
                                  bloomery_error *error)
{
    const struct bloomery_store_file *file = &sieve->disk->partition[number].log;
    *frame = (struct bloomery_log_frame){.offset = offset};
    bloomery_status status = bloomery_log_header(sieve, number, offset, &frame->frame, error);
    if (status == BLOOMERY_OK)
        status = find_room(sieve, area, room, frame, error);
    if (status == BLOOMERY_OK)
        status =
            bloomery_frame_fixed(&sieve->store, file, offset, &frame->frame, frame->records, error);
    if (status == BLOOMERY_OK)
        status =
            bloomery_frame_body(&sieve->store, file, offset, &frame->frame, frame->body, error);
    if (status != BLOOMERY_OK)
        bloomery_log_release(sieve, frame);
    return status;
}

void bloomery_log_release(bloomery_sieve *sieve, struct bloomery_log_frame *frame)
{
    bloomery_store_give(&sieve->store, frame->own, frame->own_bytes);
    frame->own = NULL;
}
