/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which entries of a partition's log are new.
 *
 *     values     the fingerprints of the log, sorted, each once   (merging: all; asking: those not
 *                decided)
 *     index      where those with the same first bits begin: a value is found in about 5 steps
 *     marks      known already: in the decided part of the log, or in the seen-set
 *     verdicts   then, entry by entry in the order of the pushes: is it the first of its value, and
 *                that not marked?
 *
 * No order of entries is kept beside the values, which so take 8 bytes each and not 12. Instead the
 * log is read twice. What comes back in the second reading is in the order of the pushes by itself.
 *
 * All of it is done for a piece of the log (disk.h), which most times is the whole.
 */
#include "sieve/disk.h"
#include "sieve/internal.h"

#include "base/bits.h"
#include "base/bytes.h"
#include "base/error.h"

#include <assert.h>
#include <math.h>

/* Reads that find out whether one fingerprint is in a seen-set: two frames, sometimes three. */
static const double frames_asked = 2.5;

double bloomery_stage_cost(const struct bloomery_disk *disk,
                           const struct bloomery_partition *partition, bool merge)
{
    const double entries = (double)(partition->log_entries + partition->entries);
    const double log = 8 * entries;
    const double seen = (double)bloomery_seen_bytes(partition->seen_entries, disk->width);
    const double pieces = ceil(entries / (double)disk->batch);
    const double queried =
        partition->seen_entries == 0 ? 0 : frames_asked * (double)BLOOMERY_SEEN_FRAME;
    if (merge)
        return log + 2 * pieces * seen + log;
    return log + (double)bloomery_partition_waiting(partition) * queried;
}

struct batch {
    bloomery_sieve *sieve;
    struct bloomery_disk *disk;
    const struct bloomery_disk_piece *piece;
    uint32_t number;
    size_t count;   /* of values */
    size_t verdict; /* the bit of the next entry that is not decided */
};

static uint64_t greater(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/* ---- Pieces -------------------------------------------------------------------------------- */

struct bloomery_disk_piece bloomery_piece_begin(const struct bloomery_partition *partition,
                                                bool merge)
{
    assert(partition->entries == 0);
    return (struct bloomery_disk_piece){
        .to = merge ? BLOOMERY_FILE_HEADER : partition->decided_bytes,
        .before = partition->decided_entries,
    };
}

static bloomery_status other_count(const struct batch *batch, bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                         "%s is damaged: the manifest counts other pending keys in partition %u "
                         "than its log holds",
                         batch->sieve->path, batch->number);
}

/* Walks headers until the batch is full, but for a word: verdicts that are carried need room before
 * those of the piece. A batch has room for more than one frame. */
static bloomery_status walk(struct batch *batch, struct bloomery_disk_piece *piece,
                            bloomery_error *error)
{
    const struct bloomery_partition *partition = &batch->disk->partition[batch->number];
    const uint64_t most = batch->disk->batch - 64;
    uint64_t entries = 0;
    while (piece->to < partition->log_bytes) {
        struct bloomery_frame frame;
        const bloomery_status status =
            bloomery_log_header(batch->sieve, batch->number, piece->to, &frame, error);
        if (status != BLOOMERY_OK)
            return status;
        if (entries + frame.entries > most)
            break;
        entries += frame.entries;
        piece->waiting += piece->to >= partition->decided_bytes ? frame.entries : 0;
        piece->to += bloomery_frame_bytes(&frame);
    }
    assert(piece->to > piece->from && piece->to <= partition->log_bytes);
    piece->last = piece->to == partition->log_bytes;
    if (piece->waiting > partition->log_entries - piece->before ||
        (piece->last && piece->before + piece->waiting != partition->log_entries))
        return other_count(batch, error);
    return BLOOMERY_OK;
}

bloomery_status bloomery_piece_next(bloomery_sieve *sieve, uint32_t number,
                                    struct bloomery_disk_piece *piece, bloomery_error *error)
{
    const struct bloomery_partition *partition = &sieve->disk->partition[number];
    struct batch batch = {.sieve = sieve, .disk = sieve->disk, .number = number};
    assert(!piece->last);
    piece->before += piece->waiting;
    piece->waiting = 0;
    piece->from = piece->to;
    if (partition->log_entries > sieve->disk->batch)
        return walk(&batch, piece, error);
    piece->to = partition->log_bytes;
    piece->waiting = partition->log_entries - partition->decided_entries;
    piece->last = true;
    return BLOOMERY_OK;
}

/* ---- Values -------------------------------------------------------------------------------- */

static bloomery_status take_values(void *context, const uint8_t *records, uint32_t count,
                                   bloomery_error *error)
{
    struct batch *batch = context;
    struct bloomery_disk *disk = batch->disk;
    if (count > disk->batch - batch->count)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                             "damaged: more pending keys in partition %u than its log says",
                             batch->number);
    for (uint32_t i = 0; i < count; i++)
        disk->values[batch->count + i] = bloomery_load_u64(records + (size_t)i * disk->stride);
    batch->count += count;
    return BLOOMERY_OK;
}

static size_t bucket(const struct bloomery_disk *disk, uint64_t value)
{
    return (size_t)((value << disk->partition_bits) >> (64 - disk->budget.bucket_bits));
}

static void make_index(struct batch *batch)
{
    struct bloomery_disk *disk = batch->disk;
    const size_t buckets = (size_t)1 << disk->budget.bucket_bits;
    size_t at = 0;
    for (size_t i = 0; i < batch->count; i++)
        while (at <= bucket(disk, disk->values[i]))
            disk->index[at++] = (uint32_t)i;
    while (at <= buckets)
        disk->index[at++] = (uint32_t)batch->count;
    assert(at == buckets + 1);
}

/* Where a value is; SIZE_MAX: nowhere. */
static size_t find(const struct batch *batch, uint64_t value)
{
    const struct bloomery_disk *disk = batch->disk;
    const size_t at = bucket(disk, value);
    size_t low = disk->index[at];
    assert(disk->index[at] <= disk->index[at + 1] && disk->index[at + 1] <= batch->count);
    size_t count = disk->index[at + 1] - low;
    if (count == 0)
        return SIZE_MAX;
    while (count > 1) {
        const size_t half = count / 2;
        low += disk->values[low + half] <= value ? half : 0;
        count -= half;
    }
    return disk->values[low] == value ? low : SIZE_MAX;
}

static bloomery_status mark_decided(void *context, const uint8_t *records, uint32_t count,
                                    bloomery_error *error)
{
    const struct batch *batch = context;
    (void)error;
    for (uint32_t i = 0; i < count; i++) {
        const size_t at = find(batch, bloomery_load_u64(records + (size_t)i * batch->disk->stride));
        if (at != SIZE_MAX)
            bloomery_word_bit_set(batch->disk->marks, at);
    }
    return BLOOMERY_OK;
}

/* The values of the piece, or, if nothing is merged, of what is not decided. What was decided and
 * is not in the seen-set is known: merging, that of the piece itself, since the pieces before are
 * merged. */
static bloomery_status load(struct batch *batch, bool merge, bloomery_error *error)
{
    struct bloomery_disk *disk = batch->disk;
    const struct bloomery_partition *partition = &disk->partition[batch->number];
    const struct bloomery_disk_piece *piece = batch->piece;
    bloomery_status status = bloomery_log_each(batch->sieve, batch->number, piece->from, piece->to,
                                               take_values, batch, error);
    if (status != BLOOMERY_OK)
        return status;
    bloomery_sort_fingerprints(disk->values, batch->count, disk->partition_bits);
    batch->count = bloomery_unique_fingerprints(disk->values, batch->count);
    make_index(batch);
    memset(disk->marks, 0, bloomery_sieve_bits_bytes(batch->count));
    const uint64_t decided =
        partition->decided_bytes < piece->to ? partition->decided_bytes : piece->to;
    return bloomery_log_each(batch->sieve, batch->number,
                             merge ? piece->from : BLOOMERY_FILE_HEADER, decided, mark_decided,
                             batch, error);
}

/* ---- The seen-set -------------------------------------------------------------------------- */

/* The seen-set that is staged, or else the one that counts; its entries. */
static uint64_t seen_entries(const struct bloomery_partition *partition)
{
    return partition->staged_generation > 0 ? partition->staged_seen : partition->seen_entries;
}

static uint64_t seen_generation(const struct bloomery_partition *partition)
{
    return partition->staged_generation > 0 ? partition->staged_generation
                                            : partition->seen_generation;
}

static bloomery_status open_seen(struct batch *batch, struct bloomery_store_file *file,
                                 bloomery_error *error)
{
    const struct bloomery_partition *partition = &batch->disk->partition[batch->number];
    const uint64_t entries = seen_entries(partition);
    file->file = -1;
    if (entries == 0)
        return BLOOMERY_OK;
    return bloomery_store_open(
        &batch->sieve->store, BLOOMERY_FILE_SEEN, batch->number, seen_generation(partition),
        bloomery_seen_bytes(entries, batch->disk->width), false, file, error);
}

static bloomery_status query(struct batch *batch, bloomery_error *error)
{
    struct bloomery_disk *disk = batch->disk;
    const struct bloomery_partition *partition = &disk->partition[batch->number];
    struct bloomery_store_file file;
    struct bloomery_seen_probe probe;
    assert(partition->staged_generation == 0); /* what is looked up is the seen-set that counts */
    bloomery_status status = open_seen(batch, &file, error);
    bloomery_seen_probe_begin(&probe, &batch->sieve->store, &file, partition->seen_entries,
                              disk->width, disk->partition_bits, disk->in, disk->frame_values);
    for (size_t i = 0; status == BLOOMERY_OK && i < batch->count; i++) {
        bool found = false;
        if (!bloomery_word_bit(disk->marks, i))
            status = bloomery_seen_probe(&probe, disk->values[i], &found, error);
        if (found)
            bloomery_word_bit_set(disk->marks, i);
    }
    bloomery_store_close(&file);
    return status;
}

struct merged {
    struct bloomery_seen_writer writer;
    uint64_t values[512];
    size_t count;
};

static bloomery_status put(struct merged *merged, uint64_t value, bloomery_error *error)
{
    assert(merged->count < sizeof merged->values / sizeof merged->values[0]);
    merged->values[merged->count++] = value;
    if (merged->count < 512)
        return BLOOMERY_OK;
    merged->count = 0;
    return bloomery_seen_put(&merged->writer, merged->values, 512, error);
}

/* Both in order, each value once; those in both are marked. */
static bloomery_status merge_values(struct batch *batch, const struct bloomery_store_file *file,
                                    struct merged *merged, bloomery_error *error)
{
    struct bloomery_disk *disk = batch->disk;
    const struct bloomery_partition *partition = &disk->partition[batch->number];
    struct bloomery_seen_reader reader;
    bloomery_status status = BLOOMERY_OK;
    uint64_t last = 0;
    size_t at = 0;
    size_t count = 0;
    bloomery_seen_begin(&reader, &batch->sieve->store, file, seen_entries(partition), disk->width,
                        disk->in);
    do {
        status = bloomery_seen_next(&reader, disk->frame_values, &count, error);
        for (size_t i = 0; status == BLOOMERY_OK && i < count; i++) {
            const uint64_t seen = disk->frame_values[i];
            if (seen <= last && (reader.next > 1 || i > 0))
                return bloomery_store_damaged(&batch->sieve->store, file, 0, error,
                                              "its fingerprints do not rise");
            last = seen;
            while (status == BLOOMERY_OK && at < batch->count && disk->values[at] < seen)
                status = put(merged, disk->values[at++], error);
            if (at < batch->count && disk->values[at] == seen)
                bloomery_word_bit_set(disk->marks, at++);
            if (status == BLOOMERY_OK)
                status = put(merged, seen, error);
        }
    } while (status == BLOOMERY_OK && count > 0);
    while (status == BLOOMERY_OK && at < batch->count)
        status = put(merged, disk->values[at++], error);
    return status;
}

static bloomery_status merge_into(struct batch *batch, struct bloomery_store_file *old,
                                  struct bloomery_store_file *new, uint64_t *entries,
                                  bloomery_error *error)
{
    struct bloomery_disk *disk = batch->disk;
    struct merged merged = {.count = 0};
    bloomery_seen_start(&merged.writer, &batch->sieve->store, new, disk->width, disk->out);
    bloomery_status status = merge_values(batch, old, &merged, error);
    if (status == BLOOMERY_OK)
        status = bloomery_seen_put(&merged.writer, merged.values, merged.count, error);
    if (status == BLOOMERY_OK)
        status = bloomery_seen_finish(&merged.writer, error);
    if (status == BLOOMERY_OK)
        status = bloomery_store_sync(&batch->sieve->store, new, error);
    *entries = merged.writer.entries;
    return status;
}

static bloomery_status merge_seen(struct batch *batch, bloomery_error *error)
{
    struct bloomery_partition *partition = &batch->disk->partition[batch->number];
    struct bloomery_store *store = &batch->sieve->store;
    struct bloomery_store_file old;
    struct bloomery_store_file new = {.file = -1};
    const uint64_t generation = seen_generation(partition) + 1;
    uint64_t entries = 0;
    bloomery_status status = open_seen(batch, &old, error);
    if (status == BLOOMERY_OK)
        status = bloomery_store_create(store, BLOOMERY_FILE_SEEN, batch->number, generation, &new,
                                       error);
    if (status == BLOOMERY_OK) {
        status = merge_into(batch, &old, &new, &entries, error);
        if (status != BLOOMERY_OK)
            bloomery_store_remove(store, BLOOMERY_FILE_SEEN, batch->number, generation);
    }
    bloomery_store_close(&old);
    bloomery_store_close(&new);
    if (status != BLOOMERY_OK)
        return status;
    if (partition->staged_generation > 0)
        bloomery_store_remove(store, BLOOMERY_FILE_SEEN, batch->number,
                              partition->staged_generation);
    assert(entries >= seen_entries(partition) && entries >= batch->count);
    partition->staged_generation = generation;
    partition->staged_seen = entries;
    return BLOOMERY_OK;
}

/* ---- Verdicts ------------------------------------------------------------------------------ */

static bloomery_status judge(void *context, const uint8_t *records, uint32_t count,
                             bloomery_error *error)
{
    struct batch *batch = context;
    struct bloomery_disk *disk = batch->disk;
    const size_t end = batch->piece->carried + batch->piece->waiting;
    for (uint32_t i = 0; i < count; i++, batch->verdict++) {
        const size_t at = find(batch, bloomery_load_u64(records + (size_t)i * disk->stride));
        if (at == SIZE_MAX || batch->verdict >= end)
            return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                                 "the pending keys of partition %u changed while they were read",
                                 batch->number);
        if (bloomery_word_bit(disk->marks, at))
            continue;
        bloomery_word_bit_set(disk->marks, at);
        bloomery_word_bit_set(disk->verdicts, batch->verdict);
    }
    return BLOOMERY_OK;
}

static bloomery_status judge_all(struct batch *batch, bloomery_error *error)
{
    struct bloomery_disk *disk = batch->disk;
    const struct bloomery_disk_piece *piece = batch->piece;
    const size_t end = piece->carried + piece->waiting;
    assert(piece->carried < 64 && piece->waiting <= disk->batch);
    memset(disk->verdicts, 0, bloomery_sieve_bits_bytes(end));
    if (piece->carried > 0)
        disk->verdicts[0] = piece->carry;
    batch->verdict = piece->carried;
    const bloomery_status status =
        bloomery_log_each(batch->sieve, batch->number,
                          greater(piece->from, disk->partition[batch->number].decided_bytes),
                          piece->to, judge, batch, error);
    return status == BLOOMERY_OK && batch->verdict != end ? other_count(batch, error) : status;
}

bloomery_status bloomery_stage(bloomery_sieve *sieve, uint32_t number,
                               const struct bloomery_disk_piece *piece, bool merge,
                               bloomery_error *error)
{
    struct batch batch = {.sieve = sieve, .disk = sieve->disk, .piece = piece, .number = number};
    struct bloomery_partition *partition = &sieve->disk->partition[number];
    assert(partition->entries == 0 && (merge || partition->staged == BLOOMERY_STAGED_NOT));
    bloomery_status status = load(&batch, merge, error);
    if (status == BLOOMERY_OK)
        status = merge ? merge_seen(&batch, error) : query(&batch, error);
    if (status == BLOOMERY_OK) {
        partition->staged = merge ? BLOOMERY_STAGED_MERGE : BLOOMERY_STAGED_QUERY;
        status = judge_all(&batch, error);
    }
    if (status != BLOOMERY_OK)
        bloomery_stage_drop(sieve, number);
    return status;
}

void bloomery_stage_drop(bloomery_sieve *sieve, uint32_t number)
{
    struct bloomery_partition *partition = &sieve->disk->partition[number];
    if (partition->staged_generation > 0)
        bloomery_store_remove(&sieve->store, BLOOMERY_FILE_SEEN, number,
                              partition->staged_generation);
    partition->staged_generation = 0;
    partition->staged = BLOOMERY_STAGED_NOT;
}

/* Files that a commit counted stay until the next one. */
static void adopt_seen(bloomery_sieve *sieve, uint32_t number)
{
    struct bloomery_partition *partition = &sieve->disk->partition[number];
    /* A merge loses nothing. */
    assert(partition->staged_generation > partition->seen_generation &&
           partition->staged_seen >= partition->seen_entries);
    if (partition->seen_generation != partition->committed_seen)
        bloomery_store_remove(&sieve->store, BLOOMERY_FILE_SEEN, number,
                              partition->seen_generation);
    partition->seen_generation = partition->staged_generation;
    partition->seen_entries = partition->staged_seen;
    partition->staged_generation = 0;
}

static void forget_log(bloomery_sieve *sieve, uint32_t number)
{
    struct bloomery_partition *partition = &sieve->disk->partition[number];
    assert(partition->entries == 0); /* those in the buffer are not decided */
    bloomery_store_close(&partition->log);
    if (partition->log_generation != partition->committed_log)
        bloomery_store_remove(&sieve->store, BLOOMERY_FILE_PENDING, number,
                              partition->log_generation);
    partition->log_generation++;
    partition->log_bytes = 0;
    partition->log_entries = 0;
    partition->decided_bytes = 0;
    partition->decided_entries = 0;
}

void bloomery_stage_adopt(bloomery_sieve *sieve, uint32_t number,
                          const struct bloomery_disk_piece *piece, uint64_t decided)
{
    struct bloomery_partition *partition = &sieve->disk->partition[number];
    const bool merged = partition->staged == BLOOMERY_STAGED_MERGE;
    assert(partition->staged != BLOOMERY_STAGED_NOT &&
           decided <= bloomery_partition_waiting(partition));
    assert(decided <= sieve->disk->waiting);
    sieve->disk->waiting -= decided;
    if (merged)
        adopt_seen(sieve, number);
    if (merged && piece->last) {
        forget_log(sieve, number);
    } else {
        partition->decided_bytes = greater(partition->decided_bytes, piece->to);
        partition->decided_entries += decided;
    }
    partition->staged = BLOOMERY_STAGED_NOT;
    sieve->disk->decisions++;
    assert(!piece->last || bloomery_partition_waiting(partition) == 0);
}

/* ---- New entries to the queue ---------------------------------------------------------------- */

/*
 * New entries to the queue, one partition after the other; in the order of the pushes over all of
 * them: decide_ordered.c.
 */

bloomery_status bloomery_apply_verdict(bloomery_sieve *sieve, struct bloomery_entry *entry,
                                       bool first, struct bloomery_tally *tally,
                                       bloomery_error *error)
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

static bloomery_status emit(bloomery_sieve *sieve, uint32_t number,
                            const struct bloomery_disk_piece *piece, struct bloomery_tally *tally,
                            bloomery_error *error)
{
    struct bloomery_disk *disk = sieve->disk;
    const struct bloomery_partition *partition = &disk->partition[number];
    uint64_t at = piece->from > partition->decided_bytes ? piece->from : partition->decided_bytes;
    uint64_t verdict = 0;
    bloomery_status status = BLOOMERY_OK;
    while (status == BLOOMERY_OK && at < piece->to) {
        struct bloomery_log_frame frame;
        size_t place = 0;
        status =
            bloomery_log_read(sieve, number, at, disk->area, BLOOMERY_LOG_FRAME, &frame, error);
        if (status != BLOOMERY_OK)
            return status;
        assert(verdict + frame.frame.entries <= piece->waiting);
        for (uint32_t i = 0; status == BLOOMERY_OK && i < frame.frame.entries; i++, verdict++) {
            struct bloomery_entry entry;
            const size_t bytes =
                bloomery_entry_get(frame.body + place, frame.frame.body_bytes - place, &entry);
            place += bytes;
            status = bytes > 0 && bloomery_entry_fits(&entry)
                         ? bloomery_apply_verdict(sieve, &entry,
                                                  bloomery_word_bit(disk->verdicts, verdict), tally,
                                                  error)
                         : bloomery_entry_damaged(sieve, number, at, error);
        }
        at += bloomery_frame_bytes(&frame.frame);
        bloomery_log_release(sieve, &frame);
    }
    assert(status != BLOOMERY_OK || verdict == piece->waiting);
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
