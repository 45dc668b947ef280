/* SPDX-License-Identifier: Apache-2.0 */
#include "sieve/disk.h"
#include "sieve/internal.h"

#include "base/bytes.h"
#include "base/error.h"
#include "hash/hashes.h"

#include <assert.h>

/* ---- Sorting --------------------------------------------------------------------------------- */

/* In place: a batch fills the memory that it has. Digits have up to ten bits, since 1024 places to
 * write at fit the translation buffers of all processors, and leave about eight values each: 9 and
 * 8 bits for 2^20 values, and what the second round moves stays in the nearest cache. */
#define SORT(name)                  fingerprints_##name
#define SORT_ELEMENT                uint64_t
#define SORT_WORDS                  1
#define SORT_WORD(element, with, n) (element)
#define SORT_DIGIT_BITS             10
#define SORT_MEAN_BITS              3
#include "base/sort_template.h"

void bloomery_sort_fingerprints(uint64_t *values, size_t count, unsigned skip_bits)
{
    uint64_t differ = 0;
    assert(skip_bits <= BLOOMERY_SORT_SKIP_MAX);
    assert(values != NULL || count == 0);
    /* Fingerprints of a damaged log may be of another partition. */
    for (size_t i = 1; skip_bits > 0 && i < count; i++)
        differ |= values[i] ^ values[0];
    const bool agree = skip_bits == 0 || differ >> (64 - skip_bits) == 0;
    fingerprints_all(values, count, 0, agree ? skip_bits : 0);
}

size_t bloomery_unique_fingerprints(uint64_t *values, size_t count)
{
    size_t kept = count > 0;
    for (size_t i = 1; i < count; i++) {
        assert(values[i] >= values[kept - 1]);
        if (values[i] != values[kept - 1])
            values[kept++] = values[i];
    }
    return kept;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static unsigned per_frame(unsigned width)
{
    return (BLOOMERY_SEEN_FRAME - BLOOMERY_SEEN_CHECKSUM) / width;
}

uint64_t bloomery_seen_bytes(uint64_t entries, unsigned width)
{
    assert(entries <= UINT64_MAX / 16); /* it has been checked: the product below fits */
    const uint64_t full = entries / per_frame(width);
    const uint64_t rest = entries % per_frame(width);
    return BLOOMERY_FILE_HEADER + full * BLOOMERY_SEEN_FRAME +
           (rest > 0 ? BLOOMERY_SEEN_CHECKSUM + rest * width : 0);
}

/* Values of frame `frame` of a file of `entries`. */
static size_t values_of(uint64_t entries, unsigned width, uint64_t frame)
{
    const uint64_t before = frame * per_frame(width);
    const uint64_t rest = entries > before ? entries - before : 0;
    return rest < per_frame(width) ? (size_t)rest : per_frame(width);
}

/* Bytes that a frame of `count` values takes in the file. */
static size_t frame_bytes(size_t count, unsigned width)
{
    return count == per_frame(width) ? BLOOMERY_SEEN_FRAME : BLOOMERY_SEEN_CHECKSUM + count * width;
}

/* Fingerprints lie little-endian; of those of 6 bytes the lower 16 bits are left out. */
static void decode(const uint8_t *from, size_t count, unsigned width, uint64_t *values)
{
    if (width == 8)
        for (size_t i = 0; i < count; i++)
            values[i] = bloomery_load_u64(from + 8 * i);
    else
        for (size_t i = 0; i < count; i++)
            values[i] = bloomery_load_le(from + 6 * i, 6) << 16;
}

static uint8_t *encode(uint8_t *to, uint64_t value, unsigned width)
{
    if (width == 8)
        bloomery_store_u64(to, value);
    else
        bloomery_store_le(to, value >> 16, 6);
    return to + width;
}

/* Takes a frame of the file apart, which lies at `data`. */
static bloomery_status take_frame(const struct bloomery_store *store,
                                  const struct bloomery_store_file *file, const uint8_t *data,
                                  uint64_t offset, size_t count, unsigned width, uint64_t *values,
                                  bloomery_error *error)
{
    const size_t bytes = frame_bytes(count, width) - BLOOMERY_SEEN_CHECKSUM;
    assert(count > 0 && count <= per_frame(width));
    decode(data + BLOOMERY_SEEN_CHECKSUM, count, width, values);
    if (bloomery_load_u64(data) ==
        bloomery_checksum(data + BLOOMERY_SEEN_CHECKSUM, bytes, file->seed + offset))
        return BLOOMERY_OK;
    return bloomery_store_damaged(
        store, file, offset, error,
        "a frame of %zu fingerprints of seen keys, between about %016llx and %016llx", count,
        (unsigned long long)values[0], (unsigned long long)values[count - 1]);
}

/* ---- Reading front to back --------------------------------------------------------------- */

void bloomery_seen_begin(struct bloomery_seen_reader *reader, struct bloomery_store *store,
                         const struct bloomery_store_file *file, uint64_t entries, unsigned width,
                         uint8_t *area)
{
    assert(file->file >= 0 || entries == 0);
    assert(width == 6 || width == 8);
    *reader = (struct bloomery_seen_reader){
        .store = store,
        .file = file,
        .width = width,
        .entries = entries,
        .area = area,
    };
}

/* Brings the bytes at `offset` on into the area. */
static bloomery_status refill(struct bloomery_seen_reader *reader, uint64_t offset,
                              bloomery_error *error)
{
    const uint64_t end = bloomery_seen_bytes(reader->entries, reader->width);
    const uint64_t rest = end - offset;
    const size_t bytes = rest < BLOOMERY_SEEN_AREA ? (size_t)rest : BLOOMERY_SEEN_AREA;
    assert(offset < end);
    reader->area_bytes = 0;
    const bloomery_status status =
        bloomery_store_read(reader->store, reader->file, offset, reader->area, bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    reader->area_at = offset;
    reader->area_bytes = bytes;
    return BLOOMERY_OK;
}

bloomery_status bloomery_seen_next(struct bloomery_seen_reader *reader, uint64_t *values,
                                   size_t *count, bloomery_error *error)
{
    const size_t number = values_of(reader->entries, reader->width, reader->next);
    const uint64_t offset = BLOOMERY_FILE_HEADER + reader->next * BLOOMERY_SEEN_FRAME;
    const size_t bytes = frame_bytes(number, reader->width);
    *count = 0;
    if (number == 0)
        return BLOOMERY_OK;
    if (reader->area_bytes == 0 || offset < reader->area_at ||
        offset + bytes > reader->area_at + reader->area_bytes) {
        const bloomery_status status = refill(reader, offset, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    assert(offset + bytes <= reader->area_at + reader->area_bytes);
    reader->next++;
    *count = number;
    return take_frame(reader->store, reader->file, reader->area + (offset - reader->area_at),
                      offset, number, reader->width, values, error);
}

/* ---- Writing ----------------------------------------------------------------------------- */

void bloomery_seen_start(struct bloomery_seen_writer *writer, struct bloomery_store *store,
                         struct bloomery_store_file *file, unsigned width, uint8_t *area)
{
    assert(width == 6 || width == 8);
    *writer = (struct bloomery_seen_writer){
        .store = store,
        .file = file,
        .width = width,
        .area = area,
        .area_at = BLOOMERY_FILE_HEADER,
    };
}

static void seal(struct bloomery_seen_writer *writer)
{
    uint8_t *frame = writer->area + writer->area_bytes;
    assert(writer->in_frame > BLOOMERY_SEEN_CHECKSUM &&
           writer->area_bytes + writer->in_frame <= BLOOMERY_SEEN_AREA);
    bloomery_store_u64(
        frame,
        bloomery_checksum(frame + BLOOMERY_SEEN_CHECKSUM, writer->in_frame - BLOOMERY_SEEN_CHECKSUM,
                          writer->file->seed + writer->area_at + writer->area_bytes));
    writer->area_bytes += writer->in_frame;
    writer->in_frame = 0;
}

static bloomery_status drain(struct bloomery_seen_writer *writer, bloomery_error *error)
{
    const bloomery_status status = bloomery_store_write(
        writer->store, writer->file, writer->area_at, writer->area, writer->area_bytes, error);
    writer->area_at += writer->area_bytes;
    writer->area_bytes = 0;
    return status;
}

bloomery_status bloomery_seen_put(struct bloomery_seen_writer *writer, const uint64_t *values,
                                  size_t count, bloomery_error *error)
{
    const unsigned width = writer->width;
    const size_t full = BLOOMERY_SEEN_CHECKSUM + (size_t)per_frame(width) * width;
    size_t i = 0;
    while (i < count) {
        if (writer->in_frame == 0)
            writer->in_frame = BLOOMERY_SEEN_CHECKSUM;
        uint8_t *to = writer->area + writer->area_bytes + writer->in_frame;
        const size_t room = (full - writer->in_frame) / width;
        const size_t portion = count - i < room ? count - i : room;
        for (size_t j = 0; j < portion; j++)
            to = encode(to, values[i + j], width);
        assert(writer->entries + i == 0 || values[i] > writer->last);
        writer->last = values[i + portion - 1];
        i += portion;
        writer->in_frame += portion * width;
        if (writer->in_frame < full)
            break;
        /* Of 6 bytes, 681 leave two bytes of a frame over: they are zero. */
        memset(writer->area + writer->area_bytes + full, 0, BLOOMERY_SEEN_FRAME - full);
        writer->in_frame = BLOOMERY_SEEN_FRAME;
        seal(writer);
        if (writer->area_bytes == BLOOMERY_SEEN_AREA) {
            const bloomery_status status = drain(writer, error);
            if (status != BLOOMERY_OK)
                return status;
        }
    }
    writer->entries += count;
    return BLOOMERY_OK;
}

bloomery_status bloomery_seen_finish(struct bloomery_seen_writer *writer, bloomery_error *error)
{
    if (writer->in_frame > 0)
        seal(writer);
    const bloomery_status status = writer->area_bytes > 0 ? drain(writer, error) : BLOOMERY_OK;
    assert(status != BLOOMERY_OK ||
           writer->area_at == bloomery_seen_bytes(writer->entries, writer->width));
    return status;
}

/* ---- Asking for one ---------------------------------------------------------------------- */

void bloomery_seen_probe_begin(struct bloomery_seen_probe *probe, struct bloomery_store *store,
                               const struct bloomery_store_file *file, uint64_t entries,
                               unsigned width, unsigned skip_bits, uint8_t *area, uint64_t *values)
{
    assert((width == 6 || width == 8) && skip_bits <= 8);
    *probe = (struct bloomery_seen_probe){
        .store = store,
        .file = file,
        .width = width,
        .skip_bits = skip_bits,
        .entries = entries,
        .frame = UINT64_MAX,
        .values = values,
        .area = area,
    };
}

static bloomery_status fetch(struct bloomery_seen_probe *probe, uint64_t frame,
                             bloomery_error *error)
{
    if (frame == probe->frame)
        return BLOOMERY_OK;
    const uint64_t offset = BLOOMERY_FILE_HEADER + frame * BLOOMERY_SEEN_FRAME;
    const size_t count = values_of(probe->entries, probe->width, frame);
    assert(count > 0);
    probe->frame = UINT64_MAX;
    bloomery_status status = bloomery_store_read(probe->store, probe->file, offset, probe->area,
                                                 frame_bytes(count, probe->width), error);
    if (status == BLOOMERY_OK)
        status = take_frame(probe->store, probe->file, probe->area, offset, count, probe->width,
                            probe->values, error);
    if (status != BLOOMERY_OK)
        return status;
    probe->frame = frame;
    probe->count = count;
    return BLOOMERY_OK;
}

static bool among(const uint64_t *values, size_t count, uint64_t value)
{
    size_t low = 0;
    while (count > 1) {
        const size_t half = count / 2;
        low += values[low + half] <= value ? half : 0;
        count -= half;
    }
    return values[low] == value;
}

/* How many fingerprints lie between two that are so far apart, about. */
static uint64_t places(const struct bloomery_seen_probe *probe, uint64_t distance)
{
    return (uint64_t)(((bloomery_uint128)(distance << probe->skip_bits) * probe->entries) >> 64);
}

/* The frame it is guessed in, given that it is in frames low to high. The guess starts from the
 * frame read last, if there is one, since the error grows with the root of the way. */
static uint64_t guess(const struct bloomery_seen_probe *probe, uint64_t value, uint64_t low,
                      uint64_t high)
{
    const uint64_t first = probe->frame * per_frame(probe->width);
    uint64_t place = places(probe, value);
    if (probe->frame != UINT64_MAX && value > probe->values[probe->count - 1]) {
        place = first + probe->count + places(probe, value - probe->values[probe->count - 1]);
    } else if (probe->frame != UINT64_MAX && value < probe->values[0]) {
        const uint64_t back = places(probe, probe->values[0] - value) + 1;
        place = back < first ? first - back : 0;
    }
    const uint64_t frame = place / per_frame(probe->width);
    return frame < low ? low : frame > high ? high : frame;
}

/* What the frame read last says: the frames in which the value may be. False: in none. */
static bool narrow(const struct bloomery_seen_probe *probe, uint64_t value, uint64_t *low,
                   uint64_t *high)
{
    if (probe->frame == UINT64_MAX)
        return true;
    if (value < probe->values[0]) {
        *high = probe->frame - 1;
        return probe->frame > *low;
    }
    if (value > probe->values[probe->count - 1]) {
        *low = probe->frame + 1;
        return probe->frame < *high;
    }
    *low = *high = probe->frame;
    return true;
}

/* From the guess on it goes in growing steps to the side where it must be, then by halving. Damaged
 * or not, uniform or not, that ends after about 2 log2(frames) reads, most often after two. Of
 * values that rise, none is looked for before the frame of the one before. */
bloomery_status bloomery_seen_probe(struct bloomery_seen_probe *probe, uint64_t value, bool *found,
                                    bloomery_error *error)
{
    *found = false;
    if (probe->entries == 0)
        return BLOOMERY_OK;
    uint64_t low = 0;
    uint64_t high = (probe->entries - 1) / per_frame(probe->width);
    if (!narrow(probe, value, &low, &high))
        return BLOOMERY_OK;
    uint64_t at = guess(probe, value, low, high);
    for (uint64_t step = 1;; step *= 2) {
        assert(low <= at && at <= high);
        const bloomery_status status = fetch(probe, at, error);
        if (status != BLOOMERY_OK)
            return status;
        if (value < probe->values[0]) {
            if (at == low)
                return BLOOMERY_OK;
            high = at - 1;
            at = high - low < step ? low + (high - low) / 2 : high - (step - 1);
        } else if (value > probe->values[probe->count - 1]) {
            if (at == high)
                return BLOOMERY_OK;
            low = at + 1;
            at = high - low < step ? low + (high - low) / 2 : low + (step - 1);
        } else {
            *found = among(probe->values, probe->count, value);
            return BLOOMERY_OK;
        }
    }
}

/* ---- Logs ------------------------------------------------------------------------------------ */

/*
 * The logs of pending entries. A frame in a buffer:
 *
 *     0           records: fingerprint u64, and in ordered sieves the push's number less the
 *                 frame's first, u32
 *     body        entries (store.h), back to back
 *
 * One system call writes both. Where `body` is, is guessed from the entries of the frame before:
 * the frame is full when either part is.
 */

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

bool bloomery_log_is_frame(const struct bloomery_frame *frame, unsigned stride)
{
    return frame->entries > 0 && frame->fixed_bytes == (uint64_t)frame->entries * stride &&
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
    assert(bloomery_log_is_frame(frame, sieve->disk->stride));
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
    uint8_t *body = bloomery_store_allocate(&sieve->store, bound);
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
    bloomery_store_release(&sieve->store, body, bound);
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
    if (bloomery_log_is_frame(frame, disk->stride))
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

/* The frame's parts: in the area if both fit, else in memory of its own. */
static bloomery_status read_parts(bloomery_sieve *sieve, uint32_t number, uint8_t *area,
                                  size_t room, struct bloomery_log_frame *frame,
                                  bloomery_error *error)
{
    const struct bloomery_store_file *file = &sieve->disk->partition[number].log;
    const uint64_t bytes = (uint64_t)frame->frame.fixed_bytes + frame->frame.body_bytes;
    assert(frame->own == NULL && bloomery_log_is_frame(&frame->frame, sieve->disk->stride));
    frame->records = area;
    if (bytes > room) {
        frame->own = bloomery_store_allocate(&sieve->store, bytes);
        frame->own_bytes = bytes;
        frame->records = frame->own;
    }
    if (frame->records == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "no memory for a frame of %llu bytes", (unsigned long long)bytes);
    frame->body = frame->records + frame->frame.fixed_bytes;
    bloomery_status status = bloomery_frame_fixed(&sieve->store, file, frame->offset, &frame->frame,
                                                  frame->records, error);
    if (status == BLOOMERY_OK)
        status = bloomery_frame_body(&sieve->store, file, frame->offset, &frame->frame, frame->body,
                                     error);
    if (status != BLOOMERY_OK)
        bloomery_log_release(sieve, frame);
    return status;
}

bloomery_status bloomery_log_read(bloomery_sieve *sieve, uint32_t number, uint64_t offset,
                                  uint8_t *area, size_t room, struct bloomery_log_frame *frame,
                                  bloomery_error *error)
{
    *frame = (struct bloomery_log_frame){.offset = offset};
    const bloomery_status status = bloomery_log_header(sieve, number, offset, &frame->frame, error);
    return status == BLOOMERY_OK ? read_parts(sieve, number, area, room, frame, error) : status;
}

void bloomery_log_release(bloomery_sieve *sieve, struct bloomery_log_frame *frame)
{
    bloomery_store_release(&sieve->store, frame->own, frame->own_bytes);
    frame->own = NULL;
}

/* A walk through a log: by its records, or to verify all of it. */
struct log_walk {
    bloomery_sieve *sieve;
    uint32_t number;
    bloomery_status (*take)(void *context, const uint8_t *records, uint32_t count,
                            bloomery_error *error);
    void *context;
    struct bloomery_findings *findings;
    uint64_t entries; /* in frames whose header is sound */
};

static bloomery_status fits_log(struct bloomery_frame_walk *walk,
                                const struct bloomery_frame *frame, bloomery_error *error)
{
    const struct log_walk *log = walk->context;
    return check_frame(log->sieve, log->number, walk->at, frame, error);
}

static bloomery_status visit_records(struct bloomery_frame_walk *walk, struct bloomery_frame *frame,
                                     bloomery_error *error)
{
    const struct log_walk *log = walk->context;
    uint8_t *area = log->sieve->disk->area;
    const bloomery_status status =
        bloomery_frame_fixed(walk->store, walk->file, walk->at, frame, area, error);
    return status == BLOOMERY_OK ? log->take(log->context, area, frame->entries, error) : status;
}

static bloomery_status walk_log(struct log_walk *log, struct bloomery_frame_walk frames,
                                uint64_t from, uint64_t to, bloomery_error *error)
{
    const struct bloomery_partition *partition = &log->sieve->disk->partition[log->number];
    frames.store = &log->sieve->store;
    frames.file = &partition->log;
    frames.at = from;
    frames.to = to;
    frames.end = partition->log_bytes;
    frames.context = log;
    frames.fits = fits_log;
    return bloomery_frames_walk(&frames, error);
}

bloomery_status bloomery_log_each(bloomery_sieve *sieve, uint32_t number, uint64_t from,
                                  uint64_t to,
                                  bloomery_status (*take)(void *context, const uint8_t *records,
                                                          uint32_t count, bloomery_error *error),
                                  void *context, bloomery_error *error)
{
    struct log_walk log = {.sieve = sieve, .number = number, .take = take, .context = context};
    const struct bloomery_frame_walk frames = {.take = visit_records};
    return walk_log(&log, frames, from, to, error);
}

/* ---- Verifying ------------------------------------------------------------------------------- */

/* Every frame of the disk engine's files is read, and every fingerprint. */

static bloomery_status take_parts(struct bloomery_frame_walk *walk, struct bloomery_frame *frame,
                                  bloomery_error *error)
{
    struct log_walk *log = walk->context;
    struct bloomery_log_frame parts = {.offset = walk->at, .frame = *frame};
    log->entries += frame->entries;
    const bloomery_status status = read_parts(log->sieve, log->number, log->sieve->disk->area,
                                              BLOOMERY_LOG_FRAME, &parts, error);
    bloomery_log_release(log->sieve, &parts);
    return status;
}

static bloomery_status report_log(struct bloomery_frame_walk *walk, bloomery_error *error)
{
    const struct log_walk *log = walk->context;
    return bloomery_findings_add(log->findings, BLOOMERY_CORRUPT, error, NULL);
}

static bloomery_status verify_log(bloomery_sieve *sieve, uint32_t number,
                                  struct bloomery_findings *findings, bloomery_error *error)
{
    const struct bloomery_partition *partition = &sieve->disk->partition[number];
    struct log_walk log = {.sieve = sieve, .number = number, .findings = findings};
    const struct bloomery_frame_walk frames = {.take = take_parts, .damaged = report_log};
    bloomery_error found;
    if (partition->log_bytes == 0)
        return BLOOMERY_OK;
    bloomery_status status =
        walk_log(&log, frames, BLOOMERY_FILE_HEADER, partition->log_bytes, error);
    if (status != BLOOMERY_OK || log.entries == partition->log_entries)
        return status;
    status = bloomery_store_damaged(
        &sieve->store, &partition->log, 0, &found,
        "%llu pending keys of those that the manifest counts are not in whole frames",
        (unsigned long long)(partition->log_entries - log.entries));
    return bloomery_findings_add(findings, status, &found, error);
}

/* Reads the seen-set of a partition: `take`, unless NULL, has each fingerprint, and with `findings`
 * damage does not end it. */
static int read_seen(bloomery_sieve *sieve, uint32_t number,
                     int (*take)(void *context, uint64_t fingerprint), void *context,
                     struct bloomery_findings *findings, bloomery_error *error)
{
    struct bloomery_disk *disk = sieve->disk;
    const struct bloomery_partition *partition = &disk->partition[number];
    const uint64_t entries = partition->seen_entries;
    struct bloomery_store_file file;
    struct bloomery_seen_reader reader;
    bloomery_error found = {.text = ""};
    size_t count = 0;
    int ended = 0;
    if (entries == 0) /* there is no file */
        return BLOOMERY_OK;
    bloomery_status status =
        bloomery_store_open(&sieve->store, BLOOMERY_FILE_SEEN, number, partition->seen_generation,
                            bloomery_seen_bytes(entries, disk->width), false, &file, &found);
    if (status == BLOOMERY_WRONG_VERSION && findings != NULL)
        status = BLOOMERY_CORRUPT; /* its header: the other files can be read */
    if (status != BLOOMERY_OK)
        return bloomery_findings_add(findings, status, &found, error);
    bloomery_seen_begin(&reader, &sieve->store, &file, entries, disk->width, disk->in);
    do {
        status = bloomery_seen_next(&reader, disk->frame_values, &count, &found);
        const size_t sound = status == BLOOMERY_OK && take != NULL ? count : 0;
        for (size_t i = 0; ended == 0 && i < sound; i++)
            ended = take(context, disk->frame_values[i]);
        status = bloomery_findings_add(findings, status, &found, error);
    } while (status == BLOOMERY_OK && ended == 0 && count > 0);
    bloomery_store_close(&file);
    return ended != 0 ? ended : status;
}

bloomery_status bloomery_disk_verify(bloomery_sieve *sieve, struct bloomery_findings *findings,
                                     bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    for (uint32_t i = 0; status == BLOOMERY_OK && i < sieve->disk->partitions; i++) {
        status = bloomery_log_seal(sieve, i, error);
        if (status == BLOOMERY_OK)
            status = (bloomery_status)read_seen(sieve, i, NULL, NULL, findings, error);
        if (status == BLOOMERY_OK)
            status = verify_log(sieve, i, findings, error);
    }
    return status;
}

int bloomery_disk_each(bloomery_sieve *sieve, int (*take)(void *context, uint64_t fingerprint),
                       void *context, bloomery_error *error)
{
    int result = 0;
    for (uint32_t i = 0; result == 0 && i < sieve->disk->partitions; i++)
        result = read_seen(sieve, i, take, context, NULL, error);
    return result;
}
