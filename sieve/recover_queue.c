/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery of the queue and of dead items; and what is set aside in a folder before it is
 * overwritten (internal.h). */
#include "sieve/internal.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/io.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FOLDERS = 10000, /* names that are tried */
    COPY = 65536,
};

void bloomery_recovery_report(struct bloomery_recovery *recovery, const char *format, ...)
{
    char text[240];
    va_list arguments;
    recovery->result.damaged++;
    if (recovery->report == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    recovery->report(recovery->context, text);
}

/* ---- What is set aside ------------------------------------------------------------------- */

static bloomery_status make_folder(struct bloomery_recovery *recovery, bloomery_error *error)
{
    const int directory = recovery->sieve->store.directory;
    char *name = recovery->result.folder;
    int made = -1;
    if (recovery->folder >= 0)
        return BLOOMERY_OK;
    for (int i = 1; i < FOLDERS && made != 0; i++) {
        snprintf(name, sizeof recovery->result.folder, "set-aside.%d", i);
        made = mkdirat(directory, name, 0777);
        if (made != 0 && errno != EEXIST)
            break;
    }
    if (made == 0)
        recovery->folder = openat(directory, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return recovery->folder >= 0
               ? BLOOMERY_OK
               : bloomery_fail_system(error, errno, "making %s/%s", recovery->sieve->path, name);
}

/* Bytes of an open file, up to `end` or as far as it goes, as `name` in the folder. */
static bloomery_status copy_bytes(struct bloomery_recovery *recovery, int from, uint64_t at,
                                  uint64_t end, const char *name, bloomery_error *error)
{
    /* As private as what it is copied from: MANIFEST has the secret of the hash. */
    struct stat facts;
    const mode_t mode = fstat(from, &facts) == 0 ? facts.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)
                                                 : S_IRUSR | S_IWUSR;
    assert(recovery->folder >= 0 && at <= end);
    const int to = openat(recovery->folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    int reason = to < 0 ? errno : 0;
    uint64_t done = 0, got = COPY;
    while (reason == 0 && got == COPY && at + done < end) {
        const uint64_t left = end - at - done;
        got = 0;
        reason = bloomery_read_at(from, at + done, recovery->area,
                                  left < COPY ? (size_t)left : COPY, &got);
        if (reason == 0)
            reason = bloomery_write_at(to, done, recovery->area, (size_t)got);
        done += got;
    }
    if (reason == 0)
        reason = bloomery_sync(to);
    if (to >= 0)
        close(to);
    recovery->result.aside += reason == 0;
    return reason == 0 ? BLOOMERY_OK
                       : bloomery_fail_system(error, reason, "copying to %s/%s/%s",
                                              recovery->sieve->path, recovery->result.folder, name);
}

bloomery_status bloomery_recovery_keep(struct bloomery_recovery *recovery, const char *name,
                                       bloomery_error *error)
{
    const int directory = recovery->sieve->store.directory;
    bloomery_status status = make_folder(recovery, error);
    if (status != BLOOMERY_OK)
        return status;
    if (linkat(directory, name, recovery->folder, name, 0) == 0) {
        recovery->result.aside++;
        return BLOOMERY_OK;
    }
    if (errno == EEXIST || errno == ENOENT)
        return BLOOMERY_OK;
    /* A file system without links. */
    const int from = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (from < 0)
        return bloomery_fail_system(error, errno, "opening %s/%s", recovery->sieve->path, name);
    status = copy_bytes(recovery, from, 0, UINT64_MAX, name, error);
    close(from);
    return status;
}

bloomery_status bloomery_recovery_keep_part(struct bloomery_recovery *recovery,
                                            const struct bloomery_store_file *file, uint64_t from,
                                            uint64_t end, bloomery_error *error)
{
    char name[BLOOMERY_FILE_NAME];
    char part[BLOOMERY_FILE_NAME + 32];
    bloomery_store_name(file->kind, file->number, file->generation, name);
    snprintf(part, sizeof part, "%s.from-%" PRIu64, name, from);
    const bloomery_status status = make_folder(recovery, error);
    return status == BLOOMERY_OK ? copy_bytes(recovery, file->file, from, end, part, error)
                                 : status;
}

/* ---- Entries of nothing ---------------------------------------------------------------------- */

/*
 * Entries of nothing, in place of those that were lost. In the middle of a segment frames of them
 * fill the range to the byte. The one entry with a key of zeros is for that. The entries that were
 * there took at least a byte each. At the end of a segment they take what they need.
 */

enum {
    DENSE = BLOOMERY_QUEUE_BUFFER,
    LONGEST = BLOOMERY_QUEUE_BODY_MAX - 1, /* an item's entry: prefixes of 4 and 3 bytes */
};

/* Where entries were lost: in which file, and which number comes next. */
struct gap {
    struct bloomery_recovery *recovery;
    struct bloomery_store_file *file; /* of the segment */
    uint64_t *number;                 /* of the next entry; rises with each that is put there */
    bool is_log;                      /* the queue is the memory engine's log */
};

/* A head that takes `prefix` bytes, for a key of `key` bytes. */
static bool put_head(uint8_t *to, uint64_t prefix, uint64_t key, uint32_t flags)
{
    uint8_t head[8];
    if (key > BLOOMERY_SIEVE_ITEM_MAX ||
        bloomery_varint_put(head, (uint32_t)key << 3 | flags) != prefix)
        return false;
    memcpy(to, head, prefix);
    return true;
}

/* One entry of `bytes` bytes, its key zeros. Where the length of a key's length jumps, a payload
 * takes what is left. */
static void put_void(uint8_t *to, uint64_t bytes)
{
    static const uint32_t payloads[] = {1, 128, 16384}; /* their lengths take 1, 2 and 3 bytes */
    memset(to, 0, bytes);
    for (uint64_t prefix = 1; prefix <= 4 && prefix <= bytes; prefix++)
        if (put_head(to, prefix, bytes - prefix, BLOOMERY_ENTRY_VOID))
            return;
    for (uint64_t i = 0; i < 3; i++)
        for (uint64_t prefix = 1; prefix <= 4; prefix++) {
            const uint64_t rest = prefix + i + 1 + payloads[i];
            if (rest <= bytes && bytes - rest <= BLOOMERY_SIEVE_ITEM_MAX - payloads[i] &&
                put_head(to, prefix, bytes - rest, BLOOMERY_ENTRY_VOID | BLOOMERY_ENTRY_PAYLOAD)) {
                bloomery_varint_put(to + prefix, payloads[i]);
                return;
            }
        }
}

/* A frame of `entries` entries of nothing, with a body of `bytes` bytes. */
static bloomery_status put_frame(struct gap gap, uint64_t *at, uint64_t entries, uint64_t bytes,
                                 bloomery_error *error)
{
    uint8_t *body = gap.recovery->area;
    struct bloomery_frame frame = {
        .entries = (uint32_t)entries, .body_bytes = (uint32_t)bytes, .first = *gap.number};
    assert(entries > 0 && entries <= bytes && bytes <= BLOOMERY_QUEUE_BODY_MAX);
    memset(body, BLOOMERY_ENTRY_VOID, entries - 1);
    put_void(body + entries - 1, bytes - (entries - 1));
    assert(bloomery_queue_is_body(body, frame.body_bytes, frame.entries));
    assert(bloomery_queue_is_frame(&frame, frame.first + entries));
    const bloomery_status status =
        bloomery_frame_write(&gap.recovery->sieve->store, gap.file, *at, &frame, NULL, body, error);
    if (status != BLOOMERY_OK)
        return status;
    *at += BLOOMERY_FRAME_HEADER + bytes;
    *gap.number += entries;
    if (gap.is_log) /* the queue is the memory engine's log */
        gap.recovery->result.seen += entries;
    return BLOOMERY_OK;
}

static bloomery_status no_fit(struct gap gap, uint64_t at, bloomery_error *error)
{
    return bloomery_store_damaged(&gap.recovery->sieve->store, gap.file, at, error,
                                  "the numbers of the items around it do not fit to the bytes "
                                  "between them, so that it cannot be recovered");
}

/* Bytes that frames of `entries` entries take at least. */
static uint64_t min_bytes(uint64_t entries)
{
    return entries + (entries + DENSE - 1) / DENSE * BLOOMERY_FRAME_HEADER;
}

/* Puts `entries` entries of nothing into exactly `bytes` bytes at `at`. BLOOMERY_CORRUPT if they
 * do not fit. There may be more bytes than frames of short entries take. Then one entry alone
 * takes what it can, and the others are left what they need. */
static bloomery_status fill_void(struct gap gap, uint64_t at, uint64_t bytes, uint64_t entries,
                                 bloomery_error *error)
{
    const uint64_t end = at + bytes;
    bloomery_status status = BLOOMERY_OK;
    while (status == BLOOMERY_OK && entries > 0) {
        assert(at <= end);
        const uint64_t left = end - at;
        const uint64_t rest = BLOOMERY_FRAME_HEADER + min_bytes(entries - 1);
        uint64_t some = entries;
        uint64_t body = left - BLOOMERY_FRAME_HEADER;
        if (left < min_bytes(entries))
            return no_fit(gap, at, error);
        if (entries > 1 && body > DENSE && left > rest) {
            some = 1;
            body = left - rest < LONGEST ? left - rest : LONGEST;
        } else if (entries > DENSE) {
            some = DENSE;
            body = DENSE;
        }
        if (body > (some > 1 ? DENSE : LONGEST))
            return no_fit(gap, at, error);
        status = put_frame(gap, &at, some, body, error);
        entries -= some;
    }
    return status == BLOOMERY_OK && at != end ? no_fit(gap, at, error) : status;
}

/* As many at the end of a segment, a byte each, and the file ends behind them. `at` moves there. */
static bloomery_status append_void(struct gap gap, uint64_t *at, uint64_t entries,
                                   bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    while (status == BLOOMERY_OK && entries > 0) {
        const uint64_t some = entries < DENSE ? entries : DENSE;
        status = put_frame(gap, at, some, some, error);
        entries -= some;
    }
    return status == BLOOMERY_OK
               ? bloomery_store_cut(&gap.recovery->sieve->store, gap.file, *at, error)
               : status;
}

/* ---- The queue ------------------------------------------------------------------------------- */

/*
 * The queue's segments, walked from the head to the tail. What cannot be read is a range of bytes
 * in a segment, and a range of numbers. The numbers are those between the last whole frame and the
 * next one.
 *
 *     | whole: 1 to 40 | damaged               | whole: 93 to 120 |  ...  | the segment ends
 *                      | 52 entries of nothing |                          | more of nothing, where
 *                                                       the next one begins with a later number
 *
 * In the middle of a segment frames of nothing fill the range to the byte. At the end of a segment
 * they take what they need ("Entries of nothing").
 */

struct walk {
    struct bloomery_recovery *recovery;
    struct bloomery_queue_state *queue;
    struct bloomery_queue_position *saved; /* NULL: the disk engine */
    struct bloomery_store_file file;       /* of the segment */
    struct bloomery_frame_walk frames;     /* through it */
    uint64_t segment;
    uint64_t length; /* of the file, when it was opened; behind its frames nothing was committed */
    uint64_t number; /* that comes next; 0: not known yet */
    uint64_t items;  /* not popped, in whole frames */
};

static struct gap gap_of(struct walk *walk)
{
    return (struct gap){.recovery = walk->recovery,
                        .file = &walk->file,
                        .number = &walk->number,
                        .is_log = walk->saved != NULL};
}

/* ---- What goes with a range -------------------------------------------------------------- */

static struct bloomery_queue_position lease_place(const uint8_t *lease)
{
    return (struct bloomery_queue_position){
        bloomery_load_u64(lease + 8), bloomery_load_u64(lease + 16) & bloomery_lease_offset_mask};
}

/* Forgets the leases in frames from `from` on, before `end`. */
static void drop_leases(struct bloomery_recovery *recovery, struct bloomery_queue_state *queue,
                        struct bloomery_queue_position from, struct bloomery_queue_position end)
{
    uint64_t left = 0;
    for (uint64_t i = 0; i < queue->leases; i++) {
        const uint8_t *lease = recovery->leases + i * BLOOMERY_LEASE_BYTES;
        const struct bloomery_queue_position place = lease_place(lease);
        if (!bloomery_place_before(place, from) && bloomery_place_before(place, end))
            continue;
        memmove(recovery->leases + left++ * BLOOMERY_LEASE_BYTES, lease, BLOOMERY_LEASE_BYTES);
    }
    recovery->result.queued += queue->leases - left;
    queue->leases = left;
}

/* The range of a segment was lost, with the numbers from `first` to those before walk->number. */
static void leave_range(struct walk *walk, uint64_t at, uint64_t next, uint64_t first)
{
    struct bloomery_queue_state *queue = walk->queue;
    const struct bloomery_queue_position from = {walk->segment, at};
    const struct bloomery_queue_position end = {walk->segment, next};
    assert(at < next);
    drop_leases(walk->recovery, queue, from, end);
    if (!bloomery_place_before(queue->head, from) && bloomery_place_before(queue->head, end)) {
        queue->head = end;
        queue->head_index = 0;
        queue->head_number = walk->number;
    }
    if (walk->saved != NULL && !bloomery_place_before(*walk->saved, from) &&
        bloomery_place_before(*walk->saved, end)) {
        *walk->saved = from;
        walk->recovery->saved_number = first;
    }
    walk->recovery->changed = true;
}

/* Where the filter was saved the log goes on with `number`: keys between are lost. */
static void forget_until(struct bloomery_recovery *recovery, uint64_t number)
{
    const uint64_t first = recovery->saved_number;
    recovery->result.seen += first > 0 && number > first ? number - first : 0;
    recovery->saved_number = number;
}

/* The walk has come to a frame of `bytes` bytes, whose entries are those from `number` on. A
 * recovery that was interrupted may have put it around the place where the filter was saved. */
static void meet_saved(struct walk *walk, struct bloomery_queue_position place, uint64_t bytes,
                       uint64_t number)
{
    struct bloomery_recovery *recovery = walk->recovery;
    const uint64_t expected = recovery->saved_number;
    const struct bloomery_queue_position end = {place.segment, place.offset + bytes};
    if (walk->saved == NULL)
        return;
    if (bloomery_place_before(place, *walk->saved) && bloomery_place_before(*walk->saved, end)) {
        *walk->saved = place;
        recovery->saved_number = number;
        recovery->changed = true;
    }
    if (!bloomery_place_same(place, *walk->saved) || number == recovery->saved_number)
        return;
    if (expected > 0) {
        bloomery_recovery_report(recovery,
                                 "%s: the saved filter has the keys before number %" PRIu64
                                 ", and the queue goes on behind them with number %" PRIu64,
                                 recovery->sieve->path, expected, number);
        recovery->changed = true;
    }
    forget_until(recovery, number);
}

/* ---- The walk ---------------------------------------------------------------------------- */

/* The number that the first sound frame behind this segment begins with. */
static bloomery_status number_behind(struct walk *walk, uint64_t *number, bloomery_error *error)
{
    struct bloomery_store *store = &walk->recovery->sieve->store;
    const struct bloomery_queue_position tail = walk->queue->tail;
    *number = walk->queue->next;
    for (uint64_t i = walk->segment + 1; i <= tail.segment; i++) {
        struct bloomery_store_file file;
        struct bloomery_frame frame = {.entries = 0};
        uint64_t length = 0;
        uint64_t at = BLOOMERY_FILE_HEADER;
        bool headed = false;
        bool found = false;
        bloomery_status status = bloomery_store_open_any(store, BLOOMERY_FILE_QUEUE, i, 0, &file,
                                                         &length, &headed, error);
        if (i == tail.segment && length > tail.offset)
            length = tail.offset;
        while (status == BLOOMERY_OK && file.file >= 0 && at < length && !found) {
            status = bloomery_frame_find(store, &file, at, length, &at, &frame, error);
            found = status == BLOOMERY_OK && at < length &&
                    bloomery_queue_is_frame(&frame, walk->queue->next) &&
                    frame.first >= walk->number;
            at++;
        }
        bloomery_store_close(&file);
        if (status != BLOOMERY_OK || found) {
            *number = frame.first;
            return status;
        }
    }
    return BLOOMERY_OK;
}

/* Items of the frame in the area that were not popped. */
static void count_items(struct walk *walk, const struct bloomery_frame *frame)
{
    const uint8_t *body = walk->recovery->area;
    uint32_t at = 0;
    for (uint32_t i = 0; i < frame->entries; i++) {
        struct bloomery_entry entry = {.flags = 0};
        at += (uint32_t)bloomery_entry_get(body + at, frame->body_bytes - at, &entry);
        walk->items +=
            !(entry.flags & BLOOMERY_ENTRY_MARKED) && frame->first + i >= walk->queue->head_number;
    }
    assert(at == frame->body_bytes); /* it has been looked at: bloomery_queue_is_body */
}

/* A recovery that was interrupted may have put a frame of nothing where leases are, or the head. */
static void leave_void(struct walk *walk, uint64_t at, const struct bloomery_frame *frame)
{
    struct bloomery_queue_state *queue = walk->queue;
    const struct bloomery_queue_position place = {walk->segment, at};
    const struct bloomery_queue_position end = {walk->segment, at + bloomery_frame_bytes(frame)};
    const uint64_t leases = queue->leases;
    struct bloomery_entry entry = {.flags = 0};
    bloomery_entry_get(walk->recovery->area, frame->body_bytes, &entry);
    if (entry.flags != BLOOMERY_ENTRY_VOID || bloomery_place_before(queue->head, place))
        return;
    drop_leases(walk->recovery, queue, place, end);
    const bool within = bloomery_place_before(queue->head, end) &&
                        (queue->head_index > 0 || !bloomery_place_same(queue->head, place));
    if (within) {
        queue->head = end;
        queue->head_index = 0;
        queue->head_number = frame->first + frame->entries;
    }
    walk->recovery->changed = walk->recovery->changed || within || queue->leases < leases;
}

/* The next frame behind `at` that may be whole: its place, or the end. */
static bloomery_status find_next(struct walk *walk, uint64_t at, uint64_t *next, uint64_t *number,
                                 bloomery_error *error)
{
    struct bloomery_store *store = &walk->recovery->sieve->store;
    const uint64_t end = walk->frames.end;
    assert(at < end);
    *next = at;
    do {
        struct bloomery_frame frame = {.entries = 0};
        const bloomery_status status =
            bloomery_frame_find(store, &walk->file, *next + 1, end, next, &frame, error);
        if (status != BLOOMERY_OK)
            return status;
        *number = frame.first;
        if (*next < end && bloomery_queue_is_frame(&frame, walk->queue->next) &&
            frame.first > walk->number)
            return BLOOMERY_OK;
    } while (*next < end);
    return BLOOMERY_OK;
}

/* Entries of nothing in place of what is damaged at `at`; `at` becomes what is behind it. */
static bloomery_status replace(struct walk *walk, uint64_t *at, bloomery_error *error)
{
    uint64_t next = 0;
    uint64_t number = 0;
    const uint64_t first = walk->number;
    const uint64_t begin = *at;
    const struct bloomery_queue_position head = walk->queue->head;
    bloomery_status status = find_next(walk, begin, &next, &number, error);
    /* Where the head is, the number is known. */
    if (first == 0 && head.segment == walk->segment && head.offset > begin && head.offset < next) {
        next = head.offset;
        number = walk->queue->head_number - walk->queue->head_index;
    }
    assert(status != BLOOMERY_OK || next > begin);
    const bool last = next >= walk->frames.end;
    if (status == BLOOMERY_OK && last)
        status = number_behind(walk, &number, error);
    if (status == BLOOMERY_OK)
        status = bloomery_recovery_keep_part(walk->recovery, &walk->file, begin,
                                             last ? UINT64_MAX : next, error);
    if (status != BLOOMERY_OK)
        return status;
    if (first == 0) {
        /* Popped long ago: only what was seen is lost with it, and the walk begins behind it. */
        *walk->saved = (struct bloomery_queue_position){walk->segment, next};
        walk->number = last ? 0 : number;
        if (!last)
            forget_until(walk->recovery, number);
        walk->recovery->changed = true;
        *at = next;
        return BLOOMERY_OK;
    }
    assert(number >= first);
    *at = next;
    if (last) {
        *at = begin;
        status = append_void(gap_of(walk), at, number - first, error);
        walk->frames.to = walk->frames.end = *at;
    } else {
        status = fill_void(gap_of(walk), begin, next - begin, number - first, error);
    }
    if (status == BLOOMERY_OK)
        leave_range(walk, begin, last ? UINT64_MAX : next, first);
    return status;
}

/* The file of the segment; made if it is missing. */
static bloomery_status open_segment(struct walk *walk, bloomery_error *error)
{
    struct bloomery_recovery *recovery = walk->recovery;
    struct bloomery_store *store = &recovery->sieve->store;
    const struct bloomery_queue_position tail = walk->queue->tail;
    uint64_t length = 0;
    bool headed = false;
    char name[BLOOMERY_FILE_NAME];
    bloomery_store_name(BLOOMERY_FILE_QUEUE, walk->segment, 0, name);
    bloomery_status status = bloomery_store_open_any(store, BLOOMERY_FILE_QUEUE, walk->segment, 0,
                                                     &walk->file, &length, &headed, error);
    if (status != BLOOMERY_OK)
        return status;
    if (walk->file.file < 0) {
        bloomery_recovery_report(recovery, "%s/%s is missing", recovery->sieve->path, name);
        status =
            bloomery_store_create(store, BLOOMERY_FILE_QUEUE, walk->segment, 0, &walk->file, error);
        length = BLOOMERY_FILE_HEADER;
        recovery->changed = true;
    } else if (!headed) {
        bloomery_recovery_report(recovery, "%s/%s has no sound header", recovery->sieve->path,
                                 name);
        status = bloomery_recovery_keep_part(recovery, &walk->file, 0, BLOOMERY_FILE_HEADER, error);
        if (status == BLOOMERY_OK)
            status = bloomery_store_write_header(store, &walk->file, error);
        length = length > BLOOMERY_FILE_HEADER ? length : BLOOMERY_FILE_HEADER;
        recovery->changed = true;
    }
    assert(status != BLOOMERY_OK || walk->file.file >= 0);
    walk->length = length;
    walk->frames.end = walk->segment == tail.segment && tail.offset < length ? tail.offset : length;
    return status;
}

/* The end of a segment: what comes next must begin with the number that comes next. */
static bloomery_status end_segment(struct walk *walk, uint64_t at, bloomery_error *error)
{
    struct bloomery_queue_state *queue = walk->queue;
    const uint64_t first = walk->number;
    const bool last = walk->segment == queue->tail.segment;
    uint64_t number = 0;
    bloomery_status status = number_behind(walk, &number, error);
    if (status != BLOOMERY_OK)
        return status;
    if (first > 0 && number > first) {
        bloomery_recovery_report(walk->recovery,
                                 "%s/queue-%012" PRIu64 " ends at %" PRIu64
                                 ", before the items %" PRIu64 " to %" PRIu64,
                                 walk->recovery->sieve->path, walk->segment, at, first, number - 1);
        const uint64_t begin = at;
        if (walk->length > at)
            status =
                bloomery_recovery_keep_part(walk->recovery, &walk->file, at, UINT64_MAX, error);
        if (status == BLOOMERY_OK)
            status = append_void(gap_of(walk), &at, number - first, error);
        leave_range(walk, begin, UINT64_MAX, first);
    }
    if (last)
        queue->tail.offset = at;
    /* A head at the end of a segment is at the beginning of the next one, its frame gone. */
    if (queue->head.segment == walk->segment && queue->head.offset >= at) {
        queue->head_index = 0;
        queue->head_number = walk->number > 0 ? walk->number : number;
        if (last)
            queue->head = queue->tail;
        else
            queue->head = (struct bloomery_queue_position){walk->segment + 1, BLOOMERY_FILE_HEADER};
    }
    if (walk->saved != NULL && walk->saved->segment == walk->segment && walk->saved->offset >= at) {
        if (walk->saved->offset > at) {
            bloomery_recovery_report(walk->recovery,
                                     "%s/queue-%012" PRIu64 " ends at %" PRIu64 ", before %" PRIu64
                                     ", up to where the filter was saved",
                                     walk->recovery->sieve->path, walk->segment, at,
                                     walk->saved->offset);
            walk->recovery->changed = true;
        }
        if (last)
            *walk->saved = queue->tail;
        else
            *walk->saved =
                (struct bloomery_queue_position){walk->segment + 1, BLOOMERY_FILE_HEADER};
    }
    return status;
}

/* Where the head is, the number that comes next is known. */
static void expect_head(struct walk *walk)
{
    const struct bloomery_queue_state *queue = walk->queue;
    const struct bloomery_queue_position place = {walk->segment, walk->frames.at};
    if (walk->number == 0 && bloomery_place_same(place, queue->head))
        walk->number = queue->head_number - queue->head_index;
}

static bloomery_status fits_queue(struct bloomery_frame_walk *frames,
                                  const struct bloomery_frame *frame, bloomery_error *error)
{
    struct walk *walk = frames->context;
    expect_head(walk);
    if (bloomery_queue_is_frame(frame, walk->queue->next) &&
        (walk->number == 0 || frame->first == walk->number))
        return BLOOMERY_OK;
    return bloomery_store_damaged(frames->store, frames->file, frames->at, error,
                                  "the frame there begins with number %" PRIu64 ", and %" PRIu64
                                  " was expected",
                                  frame->first, walk->number);
}

static bloomery_status take_queue(struct bloomery_frame_walk *frames, struct bloomery_frame *frame,
                                  bloomery_error *error)
{
    struct walk *walk = frames->context;
    uint8_t *area = walk->recovery->area;
    const bloomery_status status =
        bloomery_frame_body(frames->store, frames->file, frames->at, frame, area, error);
    if (status != BLOOMERY_OK)
        return status;
    if (!bloomery_queue_is_body(area, frame->body_bytes, frame->entries))
        return bloomery_store_damaged(frames->store, frames->file, frames->at, error,
                                      "the entries of a frame of %" PRIu32, frame->entries);
    leave_void(walk, frames->at, frame);
    meet_saved(walk, (struct bloomery_queue_position){walk->segment, frames->at},
               bloomery_frame_bytes(frame), frame->first);
    count_items(walk, frame);
    if (walk->recovery->first == 0)
        walk->recovery->first = frame->first;
    walk->number = frame->first + frame->entries;
    return BLOOMERY_OK;
}

static bloomery_status damaged_queue(struct bloomery_frame_walk *frames, bloomery_error *error)
{
    struct walk *walk = frames->context;
    expect_head(walk);
    bloomery_recovery_report(walk->recovery, "%s", error->text);
    return replace(walk, &frames->at, error);
}

static bloomery_status walk_segment(struct walk *walk, uint64_t at, bloomery_error *error)
{
    struct bloomery_frame_walk *frames = &walk->frames;
    assert(walk->file.file < 0);
    *frames = (struct bloomery_frame_walk){.store = &walk->recovery->sieve->store,
                                           .file = &walk->file,
                                           .context = walk,
                                           .fits = fits_queue,
                                           .take = take_queue,
                                           .damaged = damaged_queue};
    bloomery_status status = open_segment(walk, error);
    frames->to = frames->end;
    frames->at = at < frames->end ? at : frames->end;
    if (status == BLOOMERY_OK)
        status = bloomery_frames_walk(frames, error);
    if (status == BLOOMERY_OK)
        status = end_segment(walk, frames->at, error);
    if (status == BLOOMERY_OK)
        status = bloomery_store_sync(&walk->recovery->sieve->store, &walk->file, error);
    bloomery_store_close(&walk->file);
    return status;
}

/* ---- Behind the tail --------------------------------------------------------------------- */

/* Whether the next segment begins with the number that comes next. */
static bloomery_status continues(struct walk *walk, bool *does, bloomery_error *error)
{
    struct bloomery_store *store = &walk->recovery->sieve->store;
    struct bloomery_store_file file;
    struct bloomery_frame frame;
    uint64_t length = 0;
    bool headed = false;
    const bloomery_status status =
        bloomery_store_open_any(store, BLOOMERY_FILE_QUEUE, walk->queue->tail.segment + 1, 0, &file,
                                &length, &headed, error);
    *does = status == BLOOMERY_OK && headed &&
            bloomery_frame_header(store, &file, BLOOMERY_FILE_HEADER, length, &frame, NULL) ==
                BLOOMERY_OK &&
            frame.first == walk->queue->next;
    bloomery_store_close(&file);
    return status;
}

/* Whole frames behind the tail, which a commit wrote that cannot be read, or that nobody committed.
 * */
static bloomery_status roll_forward(struct walk *walk, bloomery_error *error)
{
    struct bloomery_queue_state *queue = walk->queue;
    struct bloomery_store *store = &walk->recovery->sieve->store;
    bloomery_status status = BLOOMERY_OK;
    for (bool more = true; status == BLOOMERY_OK && more;) {
        struct bloomery_frame frame;
        uint64_t length = 0;
        bool headed = false;
        more = false;
        status = bloomery_store_open_any(store, BLOOMERY_FILE_QUEUE, queue->tail.segment, 0,
                                         &walk->file, &length, &headed, error);
        while (status == BLOOMERY_OK && headed && queue->tail.offset < length &&
               bloomery_frame_header(store, &walk->file, queue->tail.offset, length, &frame,
                                     NULL) == BLOOMERY_OK &&
               frame.first == queue->next &&
               bloomery_queue_is_frame(&frame, queue->next + frame.entries) &&
               bloomery_frame_body(store, &walk->file, queue->tail.offset, &frame,
                                   walk->recovery->area, NULL) == BLOOMERY_OK &&
               bloomery_queue_is_body(walk->recovery->area, frame.body_bytes, frame.entries)) {
            const uint64_t before = walk->items;
            count_items(walk, &frame);
            walk->recovery->rolled += walk->items - before;
            walk->recovery->changed = true;
            queue->next += frame.entries;
            queue->tail.offset += bloomery_frame_bytes(&frame);
        }
        bloomery_store_close(&walk->file);
        /* A segment is left when it is full, or earlier: then the next one goes on. */
        if (status == BLOOMERY_OK && headed && queue->tail.offset >= length)
            status = continues(walk, &more, error);
        if (more)
            queue->tail =
                (struct bloomery_queue_position){queue->tail.segment + 1, BLOOMERY_FILE_HEADER};
    }
    return status;
}

/* ---- Leases ------------------------------------------------------------------------------ */

/* Whether entry `index` of the frame in the area is nothing, put there by a recovery that did not
 * come to its end. So are all others of its frame. */
static bool is_void(const struct bloomery_recovery *recovery, const struct bloomery_frame *frame,
                    uint64_t index)
{
    struct bloomery_entry entry = {.flags = 0};
    uint32_t at = 0;
    assert(index < frame->entries);
    for (uint64_t i = 0; i <= index; i++)
        at += (uint32_t)bloomery_entry_get(recovery->area + at, frame->body_bytes - at, &entry);
    return entry.flags == BLOOMERY_ENTRY_VOID;
}

static bloomery_status check_lease(struct bloomery_recovery *recovery,
                                   struct bloomery_queue_state *queue, const uint8_t *lease,
                                   bool *whole, bloomery_error *error)
{
    struct bloomery_store *store = &recovery->sieve->store;
    const struct bloomery_queue_position place = lease_place(lease);
    const uint64_t number = bloomery_load_u64(lease);
    struct bloomery_store_file file;
    struct bloomery_frame frame;
    uint64_t length = 0;
    bool headed = false;
    bloomery_status status = bloomery_store_open_any(store, BLOOMERY_FILE_QUEUE, place.segment, 0,
                                                     &file, &length, &headed, error);
    if (status != BLOOMERY_OK)
        return status;
    if (place.segment == queue->tail.segment && queue->tail.offset < length)
        length = queue->tail.offset;
    *whole =
        file.file >= 0 && headed &&
        bloomery_frame_header(store, &file, place.offset, length, &frame, NULL) == BLOOMERY_OK &&
        bloomery_queue_is_frame(&frame, queue->next) && frame.first <= number &&
        number - frame.first < frame.entries &&
        bloomery_frame_body(store, &file, place.offset, &frame, recovery->area, NULL) ==
            BLOOMERY_OK &&
        bloomery_queue_is_body(recovery->area, frame.body_bytes, frame.entries);
    char name[BLOOMERY_FILE_NAME];
    bloomery_store_name(BLOOMERY_FILE_QUEUE, place.segment, 0, name);
    if (*whole && is_void(recovery, &frame, number - frame.first)) {
        *whole = false;
        bloomery_recovery_report(
            recovery, "%s/%s: the leased items of the frame at %" PRIu64 " were lost before",
            recovery->sieve->path, name, place.offset);
    } else if (!*whole) {
        bloomery_recovery_report(
            recovery, "%s/%s: the frame at %" PRIu64 ", with leased items, is %s",
            recovery->sieve->path, name, place.offset, file.file >= 0 ? "damaged" : "missing");
        status = bloomery_recovery_keep(recovery, name, error);
    }
    bloomery_store_close(&file);
    return status;
}

/* After the walk, which need not come by their frames, and of which one before this may have
 * overwritten them. */
static bloomery_status check_leases(struct bloomery_recovery *recovery,
                                    struct bloomery_queue_state *queue, bloomery_error *error)
{
    struct bloomery_queue_position last = {0, 0};
    for (uint64_t i = 0; i < queue->leases;) {
        const uint8_t *lease = recovery->leases + i * BLOOMERY_LEASE_BYTES;
        const struct bloomery_queue_position place = lease_place(lease);
        bool whole = true;
        if (!bloomery_place_same(place, last)) {
            const bloomery_status status = check_lease(recovery, queue, lease, &whole, error);
            if (status != BLOOMERY_OK)
                return status;
        }
        last = place;
        if (whole) {
            i++;
            continue;
        }
        drop_leases(recovery, queue, place,
                    (struct bloomery_queue_position){place.segment, place.offset + 1});
        recovery->changed = true;
    }
    return BLOOMERY_OK;
}

bloomery_status bloomery_recovery_queue(struct bloomery_recovery *recovery,
                                        struct bloomery_queue_state *queue,
                                        struct bloomery_queue_position *saved,
                                        bloomery_error *error)
{
    const struct bloomery_queue_position first = {1, BLOOMERY_FILE_HEADER};
    const uint64_t before = queue->queued;
    const uint64_t found = recovery->result.damaged;
    struct walk walk = {.recovery = recovery, .queue = queue, .saved = saved, .file = {.file = -1}};
    struct bloomery_queue_position place = queue->head;
    if (saved != NULL && bloomery_place_before(*saved, place))
        place = *saved;
    if (bloomery_place_same(place, queue->head))
        walk.number = queue->head_number - queue->head_index;
    else if (bloomery_place_same(place, first))
        walk.number = 1;
    bloomery_status status = BLOOMERY_OK;
    for (walk.segment = place.segment; status == BLOOMERY_OK && walk.segment <= queue->tail.segment;
         walk.segment++) {
        if (walk.segment == queue->tail.segment && queue->tail.offset == BLOOMERY_FILE_HEADER)
            break;
        status = walk_segment(&walk, place.offset, error);
        place.offset = BLOOMERY_FILE_HEADER;
    }
    if (status == BLOOMERY_OK)
        status = check_leases(recovery, queue, error);
    if (status != BLOOMERY_OK)
        return status;
    meet_saved(&walk, queue->tail, 0, queue->next);
    const uint64_t lost = before > walk.items ? before - walk.items : 0;
    recovery->result.queued += lost;
    if (recovery->result.queued > 0 && recovery->result.damaged == found)
        bloomery_recovery_report(recovery,
                                 "%s: the queue counts %" PRIu64 " items that are not there: "
                                 "they were given up before, by a recovery that was interrupted",
                                 recovery->sieve->path, recovery->result.queued);
    if (recovery->rolls)
        status = roll_forward(&walk, error);
    if (queue->queued != walk.items)
        recovery->changed = true;
    queue->queued = walk.items;
    return status;
}

/* ---- Dead items ------------------------------------------------------------------------------ */

/*
 * The list of dead items (queue.h). Its frames do not depend on each other, so those that are
 * whole are copied to a file of the next generation, and the damaged file is set aside. Until the
 * manifest names the new file, the old one counts as before.
 */

struct list {
    struct bloomery_recovery *recovery;
    struct bloomery_dead old; /* as far as its file goes */
    struct bloomery_dead kept;
    bool copies; /* what is whole, to `kept`; otherwise it is only counted */
    bool damaged;
    uint64_t whole;
    bloomery_error error; /* of copying */
};

static int take_whole(void *context, const struct bloomery_entry *entry, uint64_t number)
{
    struct list *list = context;
    uint8_t *area = list->recovery->area;
    list->whole++;
    if (!list->copies)
        return 0;
    assert(bloomery_entry_bound(entry) <= BLOOMERY_QUEUE_BODY_MAX);
    return bloomery_dead_append(&list->kept, number, area, bloomery_entry_put(area, entry),
                                &list->error);
}

static bloomery_status damaged_list(void *context, bloomery_error *error)
{
    struct list *list = context;
    list->damaged = true;
    if (!list->copies)
        bloomery_recovery_report(list->recovery, "%s", error->text);
    return BLOOMERY_OK;
}

static bloomery_status walk_list(struct list *list, bool copies, bloomery_error *error)
{
    list->copies = copies;
    list->whole = 0;
    list->error.status = BLOOMERY_OK;
    const bloomery_status status =
        (bloomery_status)bloomery_dead_each(&list->old, take_whole, damaged_list, list, error);
    if (list->error.status != BLOOMERY_OK && error != NULL)
        *error = list->error;
    return status;
}

/* What is whole into a new file, which `state` names then. */
static bloomery_status renew(struct list *list, const char *name, uint64_t items, uint8_t *state,
                             bloomery_error *error)
{
    struct bloomery_recovery *recovery = list->recovery;
    bloomery_status status = bloomery_recovery_keep(recovery, name, error);
    bloomery_dead_start(&list->kept, &recovery->sieve->store);
    list->kept.generation = bloomery_load_u64(state) + 1;
    list->whole = 0;
    if (status == BLOOMERY_OK && list->old.file.file >= 0)
        status = walk_list(list, true, error);
    if (status == BLOOMERY_OK)
        status = bloomery_dead_sync(&list->kept, error);
    if (status == BLOOMERY_OK) {
        bloomery_dead_store(&list->kept, state);
        recovery->result.queued += items > list->whole ? items - list->whole : 0;
        recovery->changed = true;
    }
    bloomery_dead_close(&list->kept);
    return status;
}

bloomery_status bloomery_recovery_dead(struct bloomery_recovery *recovery, uint8_t *state,
                                       bloomery_error *error)
{
    struct bloomery_store *store = &recovery->sieve->store;
    struct list list = {.recovery = recovery};
    const uint64_t generation = bloomery_load_u64(state);
    const uint64_t bytes = bloomery_load_u64(state + 8);
    const uint64_t items = bloomery_load_u64(state + 16);
    char name[BLOOMERY_FILE_NAME];
    uint64_t length = 0;
    bool headed = false;
    if (bytes == 0)
        return BLOOMERY_OK;
    bloomery_dead_start(&list.old, store);
    bloomery_store_name(BLOOMERY_FILE_DEAD, 0, generation, name);
    bloomery_status status = bloomery_store_open_any(store, BLOOMERY_FILE_DEAD, 0, generation,
                                                     &list.old.file, &length, &headed, error);
    if (status != BLOOMERY_OK)
        return status;
    list.old.bytes = bytes < length ? bytes : length;
    if (!headed || length < bytes) {
        list.damaged = true;
        bloomery_recovery_report(recovery, "%s/%s, with dead items, %s", recovery->sieve->path,
                                 name,
                                 list.old.file.file < 0 ? "is missing"
                                 : !headed              ? "has no sound header"
                                                        : "is cut short");
    }
    status = walk_list(&list, false, error);
    if (status == BLOOMERY_OK && list.damaged)
        status = renew(&list, name, items, state, error);
    bloomery_store_close(&list.old.file);
    return status;
}
