/* SPDX-License-Identifier: Apache-2.0 */
/*
 * New entries to the queue in the order of the pushes over all partitions.
 *
 * Each partition is staged by itself and leaves its verdicts in a file. The memory that they were
 * found in is needed for the next one. Then the logs are read side by side, and the entry with the
 * least push number comes next. Of each partition there are three windows:
 *
 *     verdicts   in the place of the values, which are done with, behind the table of partitions
 *     records    in the partition's buffer, which is empty
 *     body       behind them in the buffer
 *
 * A frame that fits in the buffer is read once and checked there. Another one, written when buffers
 * were larger, is checked first, in the area that all share, and then read window by window. An
 * entry that is longer than its window is read into that area. One that is longer than the area is
 * read into memory of its own, one at a time.
 */
#include "sieve/disk.h"
#include "sieve/internal.h"

#include "base/bytes.h"
#include "base/error.h"

#include <assert.h>

enum { RECORD_BYTES = 12 };

/* `count` bytes from `from` on of something larger, in memory. */
struct window {
    uint8_t *bytes;
    uint64_t from;
    uint32_t count;
    uint32_t room;
};

/* A log that is read beside others. */
struct cursor {
    struct bloomery_frame frame;
    struct window verdicts; /* of the file of verdicts */
    struct window records;  /* of the frame's fixed part */
    struct window body;
    uint64_t offset;  /* where the frame lies */
    uint64_t next;    /* where the next frame lies */
    uint64_t push;    /* number of the entry that comes next */
    uint64_t verdict; /* its verdict's bit in the file of verdicts */
    uint64_t waiting; /* entries to be decided yet */
    uint32_t place;   /* where it begins in the body */
    uint32_t record;
    uint32_t number;
};

struct order {
    bloomery_sieve *sieve;
    struct cursor *cursors;
    uint32_t *heap; /* of cursors, that of the least push on top */
    uint32_t live;
    struct bloomery_store_file verdicts;
    uint64_t verdict_bytes; /* behind its header */
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

static const struct bloomery_store_file *log_of(const struct order *order,
                                                const struct cursor *cursor)
{
    return &order->sieve->disk->partition[cursor->number].log;
}

/* ---- Windows ------------------------------------------------------------------------------- */

/* Reads the window anew, from byte `at` on of `bytes` that begin at `origin` in a file. */
static bloomery_status reload(struct order *order, struct window *window,
                              const struct bloomery_store_file *file, uint64_t origin,
                              uint64_t bytes, uint64_t at, bloomery_error *error)
{
    assert(at <= bytes);
    const uint64_t left = bytes - at;
    const uint32_t count = left < window->room ? (uint32_t)left : window->room;
    window->from = at;
    window->count = 0;
    const bloomery_status status =
        bloomery_store_read(&order->sieve->store, file, origin + at, window->bytes, count, error);
    if (status == BLOOMERY_OK)
        window->count = count;
    return status;
}

/* Where byte `at` is in a window; NULL: it and `more` behind it are not. */
static const uint8_t *in_window(const struct window *window, uint64_t at, uint64_t more)
{
    return at >= window->from && at + more < window->from + window->count
               ? window->bytes + (at - window->from)
               : NULL;
}

static bloomery_status read_push(struct order *order, struct cursor *cursor, bloomery_error *error)
{
    const uint64_t at = (uint64_t)cursor->record * RECORD_BYTES;
    assert(cursor->record < cursor->frame.entries);
    struct window *window = &cursor->records;
    if (in_window(window, at, RECORD_BYTES - 1) == NULL) {
        const bloomery_status status =
            reload(order, window, log_of(order, cursor), cursor->offset + BLOOMERY_FRAME_HEADER,
                   cursor->frame.fixed_bytes, at, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    cursor->push = cursor->frame.first + bloomery_load_u32(in_window(window, at, 11) + 8);
    return BLOOMERY_OK;
}

static bloomery_status read_verdict(struct order *order, struct cursor *cursor, bool *first,
                                    bloomery_error *error)
{
    const uint64_t at = cursor->verdict / 64 * 8;
    assert(at < order->verdict_bytes);
    struct window *window = &cursor->verdicts;
    if (in_window(window, at, 7) == NULL) {
        const bloomery_status status = reload(order, window, &order->verdicts, BLOOMERY_FILE_HEADER,
                                              order->verdict_bytes, at, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    *first = bloomery_load_u64(in_window(window, at, 7)) >> (cursor->verdict & 63) & 1;
    cursor->verdict++;
    return BLOOMERY_OK;
}

/* ---- Frames -------------------------------------------------------------------------------- */

/* A single entry that is longer than the area: read, and checked, when its turn comes. */
static bool is_long(const struct bloomery_frame *frame)
{
    return frame->body_bytes > BLOOMERY_LOG_AREA;
}

/* Reads a frame whole, or checks it and leaves the windows empty. */
static bloomery_status load_frame(struct order *order, struct cursor *cursor, bloomery_error *error)
{
    bloomery_sieve *sieve = order->sieve;
    const struct bloomery_disk *disk = sieve->disk;
    const struct bloomery_frame *frame = &cursor->frame;
    uint8_t *buffer = disk->partition[cursor->number].buffer;
    const uint32_t room = disk->budget.buffer_bytes;
    const bool fits = (uint64_t)frame->fixed_bytes + frame->body_bytes <= room;
    const uint32_t share = fits ? frame->fixed_bytes : room / 8;
    uint8_t *records = fits ? buffer : disk->area;
    uint8_t *body = fits ? buffer + share : disk->area;
    cursor->records = (struct window){.bytes = buffer, .room = share};
    cursor->body = (struct window){.bytes = buffer + share, .room = room - share};
    bloomery_status status = bloomery_frame_fixed(&sieve->store, log_of(order, cursor),
                                                  cursor->offset, frame, records, error);
    if (status == BLOOMERY_OK && !is_long(frame))
        status = bloomery_frame_body(&sieve->store, log_of(order, cursor), cursor->offset, frame,
                                     body, error);
    if (status == BLOOMERY_OK && fits) {
        cursor->records.count = frame->fixed_bytes;
        cursor->body.count = frame->body_bytes;
    }
    return status;
}

/* To the next entry; `more` false: there is none. */
static bloomery_status advance(struct order *order, struct cursor *cursor, bool *more,
                               bloomery_error *error)
{
    const struct bloomery_partition *partition = &order->sieve->disk->partition[cursor->number];
    *more = true;
    if (cursor->record == cursor->frame.entries) {
        *more = cursor->next < partition->log_bytes;
        if (!*more)
            return BLOOMERY_OK;
        cursor->offset = cursor->next;
        cursor->record = 0;
        cursor->place = 0;
        bloomery_status status = bloomery_log_header(order->sieve, cursor->number, cursor->offset,
                                                     &cursor->frame, error);
        if (status == BLOOMERY_OK)
            status = load_frame(order, cursor, error);
        if (status != BLOOMERY_OK)
            return status;
        cursor->next += bloomery_frame_bytes(&cursor->frame);
        assert(cursor->next <= partition->log_bytes);
    }
    return read_push(order, cursor, error);
}

/* ---- Entries ------------------------------------------------------------------------------- */

static bloomery_status settle(struct order *order, struct cursor *cursor, const uint8_t *from,
                              size_t bytes, struct bloomery_tally *tally, bloomery_error *error)
{
    struct bloomery_entry entry;
    bool first = false;
    const size_t taken = bloomery_entry_get(from, bytes, &entry);
    if (taken == 0 || !bloomery_entry_fits(&entry) || cursor->waiting == 0)
        return bloomery_entry_damaged(order->sieve, cursor->number, cursor->offset, error);
    assert(cursor->record < cursor->frame.entries);
    cursor->place += (uint32_t)taken;
    cursor->record++;
    cursor->waiting--;
    const bloomery_status status = read_verdict(order, cursor, &first, error);
    return status == BLOOMERY_OK ? bloomery_apply_verdict(order->sieve, &entry, first, tally, error)
                                 : status;
}

static bloomery_status settle_long(struct order *order, struct cursor *cursor,
                                   struct bloomery_tally *tally, bloomery_error *error)
{
    struct bloomery_store *store = &order->sieve->store;
    const uint32_t bytes = cursor->frame.body_bytes;
    uint8_t *own = bloomery_store_allocate(store, bytes);
    if (own == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "no memory for an entry of %u bytes",
                             bytes);
    bloomery_status status = bloomery_frame_body(store, log_of(order, cursor), cursor->offset,
                                                 &cursor->frame, own, error);
    if (status == BLOOMERY_OK)
        status = settle(order, cursor, own, bytes, tally, error);
    bloomery_store_release(store, own, bytes);
    return status;
}

/* An entry of the body that begins at `place` and is whole in the window; `*bytes`: up to the
 * window's end. */
static const uint8_t *whole_entry(const struct cursor *cursor, size_t *bytes)
{
    const struct window *window = &cursor->body;
    struct bloomery_entry entry;
    const uint8_t *from = in_window(window, cursor->place, 0);
    *bytes = from == NULL ? 0 : (size_t)(window->from + window->count - cursor->place);
    return from != NULL && bloomery_entry_get(from, *bytes, &entry) > 0 ? from : NULL;
}

/* The entry that comes next: in the window as it is, or read anew from there on, or else in the
 * area. */
static bloomery_status settle_next(struct order *order, struct cursor *cursor,
                                   struct bloomery_tally *tally, bloomery_error *error)
{
    const struct bloomery_store_file *log = log_of(order, cursor);
    const uint64_t origin = cursor->offset + BLOOMERY_FRAME_HEADER + cursor->frame.fixed_bytes;
    bloomery_status status = BLOOMERY_OK;
    size_t bytes = 0;
    if (is_long(&cursor->frame))
        return settle_long(order, cursor, tally, error);
    const uint8_t *from = whole_entry(cursor, &bytes);
    if (from == NULL) {
        status = reload(order, &cursor->body, log, origin, cursor->frame.body_bytes, cursor->place,
                        error);
        from = whole_entry(cursor, &bytes);
    }
    if (status == BLOOMERY_OK && from == NULL) {
        uint8_t *area = order->sieve->disk->area;
        bytes = cursor->frame.body_bytes - cursor->place;
        status = bloomery_store_read(&order->sieve->store, log, origin + cursor->place, area, bytes,
                                     error);
        from = area;
    }
    return status == BLOOMERY_OK ? settle(order, cursor, from, bytes, tally, error) : status;
}

/* ---- Deciding ------------------------------------------------------------------------------ */

/* Stages a partition piece by piece, and keeps its verdicts: they begin at a whole word, `*at`
 * bytes behind the header of their file. */
static bloomery_status stage_partition(struct order *order, uint32_t number, bool merge,
                                       uint64_t *at, bloomery_error *error)
{
    bloomery_sieve *sieve = order->sieve;
    const struct bloomery_disk *disk = sieve->disk;
    struct bloomery_disk_piece piece = bloomery_piece_begin(&disk->partition[number], merge);
    bloomery_status status = BLOOMERY_OK;
    while (status == BLOOMERY_OK && !piece.last) {
        status = bloomery_piece_next(sieve, number, &piece, error);
        if (status == BLOOMERY_OK)
            status = bloomery_stage(sieve, number, &piece, merge, error);
        const uint64_t bits = piece.carried + piece.waiting;
        const uint64_t bytes = bloomery_sieve_bits_bytes(bits);
        if (status == BLOOMERY_OK && bytes > 0)
            status = bloomery_store_write(&sieve->store, &order->verdicts,
                                          BLOOMERY_FILE_HEADER + *at, disk->verdicts, bytes, error);
        piece.carried = bits % 64;
        piece.carry = piece.carried > 0 ? disk->verdicts[bits / 64] : 0;
        *at += bits / 64 * 8;
    }
    *at += piece.carried > 0 ? 8 : 0;
    assert(*at % 8 == 0); /* the verdicts of the next partition begin there */
    return status;
}

static bloomery_status stage_all(struct order *order, bool merge, bloomery_error *error)
{
    const struct bloomery_disk *disk = order->sieve->disk;
    bloomery_status status = BLOOMERY_OK;
    for (uint32_t i = 0; status == BLOOMERY_OK && i < disk->partitions; i++) {
        const struct bloomery_partition *partition = &disk->partition[i];
        if (partition->log_entries > 0 && (bloomery_partition_waiting(partition) > 0 || merge))
            status = stage_partition(order, i, bloomery_merges(order->sieve, i, merge),
                                     &order->verdict_bytes, error);
    }
    return status;
}

/* Cursors, the heap of them, and windows for verdicts, in the memory of the values. */
static void place_cursors(struct order *order)
{
    const struct bloomery_disk *disk = order->sieve->disk;
    const uint32_t partitions = disk->partitions;
    const uint64_t taken = partitions * (sizeof(struct cursor) + 2 * sizeof(uint32_t));
    const uint64_t room = (bloomery_sieve_batch_bytes(disk->batch) - taken) / partitions / 8 * 8;
    uint8_t *windows = (uint8_t *)disk->values + taken;
    uint64_t verdict = 0;
    assert(taken < bloomery_sieve_batch_bytes(disk->batch) && room >= 8 && taken % 8 == 0);
    order->cursors = (struct cursor *)disk->values;
    order->heap = (uint32_t *)(order->cursors + partitions);
    for (uint32_t i = 0; i < partitions; i++) {
        const struct bloomery_partition *partition = &disk->partition[i];
        const bool staged = partition->staged != BLOOMERY_STAGED_NOT;
        const uint64_t waiting = staged ? bloomery_partition_waiting(partition) : 0;
        order->cursors[i] = (struct cursor){
            .number = i,
            .next = partition->decided_bytes,
            .verdict = verdict,
            .waiting = waiting,
            .verdicts = {.bytes = windows + i * room,
                         .room = room < 65536 ? (uint32_t)room : 65536},
        };
        verdict += bloomery_sieve_bits_bytes(waiting) * 8;
    }
    assert(verdict == order->verdict_bytes * 8);
}

static bloomery_status emit_all(struct order *order, struct bloomery_tally *tally,
                                bloomery_error *error)
{
    struct bloomery_disk *disk = order->sieve->disk;
    bloomery_status status = BLOOMERY_OK;
    bool more = false;
    place_cursors(order);
    for (uint32_t i = 0; status == BLOOMERY_OK && i < disk->partitions; i++) {
        if (disk->partition[i].staged == BLOOMERY_STAGED_NOT)
            continue;
        status = advance(order, &order->cursors[i], &more, error);
        if (more)
            order->heap[order->live++] = i;
    }
    assert(order->live <= disk->partitions);
    for (uint32_t i = order->live; i-- > 0;)
        sink(order, i);
    while (status == BLOOMERY_OK && order->live > 0) {
        struct cursor *cursor = &order->cursors[order->heap[0]];
        status = settle_next(order, cursor, tally, error);
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
    struct bloomery_tally tally = {.decided = 0};
    bloomery_queue_mark(sieve->queue, &mark);
    bloomery_status status = stage_all(order, merge, error);
    if (status == BLOOMERY_OK)
        status = emit_all(order, &tally, error);
    /* Items that are given out can be committed only if the disk has room for all of them. */
    if (status == BLOOMERY_OK)
        status = bloomery_queue_seal(sieve->queue, error);
    if (status != BLOOMERY_OK)
        bloomery_queue_rewind(sieve->queue, &mark);
    for (uint32_t i = 0; i < disk->partitions; i++) {
        const struct bloomery_partition *partition = &disk->partition[i];
        const struct bloomery_disk_piece all = {.to = partition->log_bytes, .last = true};
        if (status != BLOOMERY_OK)
            bloomery_stage_drop(sieve, i);
        else if (partition->staged != BLOOMERY_STAGED_NOT)
            bloomery_stage_adopt(sieve, i, &all, bloomery_partition_waiting(partition));
    }
    if (status == BLOOMERY_OK)
        bloomery_tally_count(sieve, &tally);
    return status;
}

bloomery_status bloomery_decide_ordered(bloomery_sieve *sieve, bool merge, bloomery_error *error)
{
    const struct bloomery_disk *disk = sieve->disk;
    struct bloomery_store *store = &sieve->store;
    struct order order = {.sieve = sieve, .verdicts.file = -1};
    bloomery_status status = bloomery_queue_seal(sieve->queue, error);
    for (uint32_t i = 0; status == BLOOMERY_OK && i < disk->partitions; i++)
        status = bloomery_log_seal(sieve, i, error);
    if (status != BLOOMERY_OK)
        return status;
    status = bloomery_store_create(store, BLOOMERY_FILE_VERDICTS, 0, 0, &order.verdicts, error);
    if (status == BLOOMERY_OK)
        status = decide_all(&order, merge, error);
    bloomery_store_close(&order.verdicts);
    bloomery_store_remove(store, BLOOMERY_FILE_VERDICTS, 0, 0);
    return status;
}
