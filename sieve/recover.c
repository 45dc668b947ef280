/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery as a whole: internal.h tells the order in which things are done, and why. */
#include "sieve/disk.h"
#include "sieve/internal.h"
#include "sieve/memory_engine.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/versioned.h"
#include "for_sieve.h"
#include "hash/hashes.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OWN = BLOOMERY_QUEUE_BODY_MAX + BLOOMERY_LOG_AREA };

/* What lies behind the counted bytes of a file that grows: a commit that is undone may have counted
 * it. */
static bloomery_status keep_rest(struct bloomery_recovery *recovery, enum bloomery_file_kind kind,
                                 uint64_t number, uint64_t generation, uint64_t counted,
                                 bloomery_error *error)
{
    struct bloomery_store_file file;
    uint64_t length = 0;
    bool headed = false;
    bloomery_status status = bloomery_store_open_any(&recovery->sieve->store, kind, number,
                                                     generation, &file, &length, &headed, error);
    if (status == BLOOMERY_OK && file.file >= 0 && length > counted)
        status = bloomery_recovery_keep_part(recovery, &file, counted, length, error);
    bloomery_store_close(&file);
    return status;
}

/* ---- The state --------------------------------------------------------------------------- */

/* What the walk relies on; opening checks the rest. */
static bool is_queue(const struct bloomery_queue_state *queue, uint64_t bytes)
{
    const uint64_t most = UINT64_C(1) << 62;
    return bytes >= BLOOMERY_QUEUE_STATE &&
           queue->leases <= (bytes - BLOOMERY_QUEUE_STATE) / BLOOMERY_LEASE_BYTES &&
           queue->head.segment >= 1 && queue->tail.segment < most &&
           queue->head.offset >= BLOOMERY_FILE_HEADER && queue->head.offset < most &&
           queue->tail.offset >= BLOOMERY_FILE_HEADER && queue->tail.offset < most &&
           !bloomery_place_before(queue->tail, queue->head) && queue->next < most &&
           queue->head_number >= 1 && queue->head_number <= queue->next &&
           queue->head_index < queue->head_number;
}

/* The parts of the image. */
struct parts {
    struct bloomery_manifest_parts in;
    struct bloomery_queue_state queue;
    struct bloomery_queue_position saved; /* memory engine: the filter holds what is before it */
};

static bloomery_status parse_image(bloomery_sieve *sieve, struct parts *parts,
                                   bloomery_error *error)
{
    const bool disk = sieve->settings.engine == BLOOMERY_SIEVE_DISK;
    const uint64_t wanted = disk ? (uint64_t)sieve->settings.partitions * BLOOMERY_PARTITION_STATE
                                 : BLOOMERY_MEMORY_STATE;
    const bool fits = bloomery_manifest_parts(sieve, &parts->in, NULL) == BLOOMERY_OK &&
                      parts->in.queue_bytes >= BLOOMERY_QUEUE_STATE &&
                      parts->in.engine_bytes == wanted;
    if (fits)
        bloomery_queue_state_load(parts->in.queue, &parts->queue);
    if (fits && is_queue(&parts->queue, parts->in.queue_bytes))
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_CORRUPT, BLOOMERY_MANIFEST_LENGTHS,
                         "%s cannot be recovered: what its manifest says of the queue does not add "
                         "up",
                         sieve->path);
}

/* Puts the queue's state back, which may be shorter; the bytes of the image that are used then. */
static size_t join_image(bloomery_sieve *sieve, struct parts *parts)
{
    uint8_t *image = sieve->manifest.image;
    const uint64_t bytes = BLOOMERY_QUEUE_STATE + parts->queue.leases * BLOOMERY_LEASE_BYTES;
    assert(bytes <= parts->in.queue_bytes); /* leases go, none comes */
    bloomery_queue_state_store(&parts->queue, parts->in.queue);
    memmove(parts->in.queue + bytes, parts->in.engine, parts->in.engine_bytes);
    bloomery_store_u64(image + BLOOMERY_MANIFEST_LENGTHS, bytes);
    return BLOOMERY_MANIFEST_STATE + bytes + parts->in.engine_bytes;
}

/* pushed = new + seen + pending + forced + marked, as ever: a push that was lost counts as dropped.
 * */
static void count_again(const struct bloomery_recovery *recovery)
{
    uint8_t *counters = recovery->sieve->manifest.image + BLOOMERY_MANIFEST_COUNTERS;
    const uint64_t before = bloomery_load_u64(counters + 24);
    const uint64_t now = recovery->pending < before ? recovery->pending : before;
    const uint64_t found = recovery->rolled < before - now ? recovery->rolled : before - now;
    bloomery_store_u64(counters + 8, bloomery_load_u64(counters + 8) + found);
    bloomery_store_u64(counters + 16, bloomery_load_u64(counters + 16) + before - now - found);
    bloomery_store_u64(counters + 24, now);
}

/* ---- The disk engine ------------------------------------------------------------------------- */

/* Logs and seen-sets: what of them is whole goes into files of the next generation. */

enum { LATER = 64 }; /* generations that are looked for behind the one that is named */

static uint64_t less(uint64_t one, uint64_t other)
{
    return one > other ? one - other : 0;
}

static void name_of(const struct bloomery_store_file *file, char name[BLOOMERY_FILE_NAME])
{
    bloomery_store_name(file->kind, file->number, file->generation, name);
}

static bloomery_status keep_file(struct bloomery_recovery *recovery,
                                 const struct bloomery_store_file *file, bloomery_error *error)
{
    char name[BLOOMERY_FILE_NAME];
    name_of(file, name);
    return bloomery_recovery_keep(recovery, name, error);
}

/* ---- Logs -------------------------------------------------------------------------------- */

struct log {
    struct bloomery_recovery *recovery;
    struct bloomery_store_file old;
    struct bloomery_store_file new;
    unsigned stride;
    uint64_t end;                   /* of what is there of it */
    uint64_t decided;               /* where the first frame lies that is not decided */
    uint64_t at;                    /* where the next whole frame goes */
    struct bloomery_partition kept; /* what the whole frames add up to */
    uint64_t plain;                 /* pushes among those that are not decided */
    uint64_t damaged;               /* frames */
};

static bloomery_status fits_log(struct bloomery_frame_walk *walk,
                                const struct bloomery_frame *frame, bloomery_error *error)
{
    const struct log *log = walk->context;
    if (bloomery_log_is_frame(frame, log->stride))
        return BLOOMERY_OK;
    return bloomery_store_damaged(walk->store, walk->file, walk->at, error,
                                  "a frame of %" PRIu32 " pending keys that does not add up",
                                  frame->entries);
}

static bloomery_status damaged_log(struct bloomery_frame_walk *walk, bloomery_error *error)
{
    struct log *log = walk->context;
    log->damaged++;
    bloomery_recovery_report(log->recovery, "%s", error->text);
    return BLOOMERY_OK;
}

static uint64_t plain_pushes(const uint8_t *body, const struct bloomery_frame *frame)
{
    uint64_t plain = 0;
    uint32_t at = 0;
    for (uint32_t i = 0; i < frame->entries; i++) {
        struct bloomery_entry entry = {.flags = 0};
        at += (uint32_t)bloomery_entry_get(body + at, frame->body_bytes - at, &entry);
        plain += (entry.flags & BLOOMERY_ENTRY_VOID) == 0;
    }
    assert(at == frame->body_bytes); /* it has been looked at: bloomery_queue_is_body */
    return plain;
}

static bloomery_status keep_frame(struct log *log, struct bloomery_frame *frame, bool decided,
                                  bloomery_error *error)
{
    struct bloomery_recovery *recovery = log->recovery;
    assert(bloomery_log_is_frame(frame, log->stride));
    if (log->new.file >= 0) {
        const bloomery_status status =
            bloomery_frame_write(&recovery->sieve->store, &log->new, log->at, frame,
                                 recovery->records, recovery->area, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    log->at += bloomery_frame_bytes(frame);
    log->kept.log_entries += frame->entries;
    log->kept.log_bytes = log->at;
    if (decided) {
        log->kept.decided_entries += frame->entries;
        log->kept.decided_bytes = log->at;
    } else {
        log->plain += plain_pushes(recovery->area, frame);
    }
    return BLOOMERY_OK;
}

/* Of a frame that is decided the fingerprints are enough. */
static bloomery_status take_log(struct bloomery_frame_walk *walk, struct bloomery_frame *frame,
                                bloomery_error *error)
{
    struct log *log = walk->context;
    struct bloomery_recovery *recovery = log->recovery;
    const bool decided = walk->at < log->decided;
    bloomery_status status =
        bloomery_frame_fixed(walk->store, walk->file, walk->at, frame, recovery->records, error);
    if (status != BLOOMERY_OK)
        return status;
    status = bloomery_frame_body(walk->store, walk->file, walk->at, frame, recovery->area, error);
    if (status == BLOOMERY_OK &&
        !bloomery_queue_is_body(recovery->area, frame->body_bytes, frame->entries))
        status = bloomery_store_damaged(walk->store, walk->file, walk->at, error,
                                        "the entries of a frame of %" PRIu32 " pending keys",
                                        frame->entries);
    if (status == BLOOMERY_CORRUPT && decided) {
        status = damaged_log(walk, error);
        frame->body_bytes = frame->entries;
        memset(recovery->area, BLOOMERY_ENTRY_VOID, frame->entries);
    }
    return status == BLOOMERY_OK ? keep_frame(log, frame, decided, error) : status;
}

/* All frames that are whole, into the new file if there is one. */
static bloomery_status take_frames(struct log *log, bloomery_error *error)
{
    struct bloomery_frame_walk walk = {
        .store = &log->recovery->sieve->store,
        .file = &log->old,
        .at = BLOOMERY_FILE_HEADER,
        .to = log->end,
        .end = log->end,
        .context = log,
        .fits = fits_log,
        .take = take_log,
        .damaged = damaged_log,
    };
    log->at = BLOOMERY_FILE_HEADER;
    log->kept = (struct bloomery_partition){.log_bytes = log->at, .decided_bytes = log->at};
    log->plain = 0;
    log->damaged = 0;
    const bloomery_status status = bloomery_frames_walk(&walk, error);
    assert(log->kept.log_entries == 0 || log->at <= log->end);
    return status;
}

/* The new file, which replaces the old one in the row; none if nothing is left. */
static bloomery_status write_log(struct log *log, struct bloomery_partition *row,
                                 bloomery_error *error)
{
    struct bloomery_store *store = &log->recovery->sieve->store;
    const uint64_t generation = row->log_generation + 1;
    const bloomery_sieve_report report = log->recovery->report;
    const uint64_t damaged = log->recovery->result.damaged;
    bloomery_status status = bloomery_store_create(store, BLOOMERY_FILE_PENDING, log->old.number,
                                                   generation, &log->new, error);
    log->recovery->report = NULL; /* it has been told */
    if (status == BLOOMERY_OK)
        status = take_frames(log, error);
    log->recovery->report = report;
    log->recovery->result.damaged = damaged;
    if (status == BLOOMERY_OK)
        status = bloomery_store_sync(store, &log->new, error);
    bloomery_store_close(&log->new);
    if (status != BLOOMERY_OK || log->kept.log_entries == 0)
        bloomery_store_remove(store, BLOOMERY_FILE_PENDING, log->old.number, generation);
    return status;
}

static void take_row(struct log *log, struct bloomery_partition *row)
{
    bloomery_sieve_recovery *result = &log->recovery->result;
    const bool any = log->kept.log_entries > 0;
    assert(log->kept.decided_entries <= log->kept.log_entries &&
           log->kept.decided_bytes <= log->kept.log_bytes);
    result->seen += less(row->decided_entries, log->kept.decided_entries);
    result->pending += less(row->log_entries - row->decided_entries,
                            log->kept.log_entries - log->kept.decided_entries);
    row->log_generation++;
    row->log_entries = log->kept.log_entries;
    row->decided_entries = log->kept.decided_entries;
    row->log_bytes = any ? log->kept.log_bytes : 0;
    row->decided_bytes = any ? log->kept.decided_bytes : 0;
    log->recovery->changed = true;
}

static bloomery_status recover_log(struct bloomery_recovery *recovery, uint32_t number,
                                   struct bloomery_partition *row, bloomery_error *error)
{
    const bool ordered = recovery->sieve->settings.ordered;
    struct log log = {.recovery = recovery,
                      .new.file = -1,
                      .stride = ordered ? 12 : 8,
                      .decided = row->decided_bytes};
    uint64_t length = 0;
    bool headed = false;
    if (row->log_bytes == 0)
        return BLOOMERY_OK;
    bloomery_status status =
        bloomery_store_open_any(&recovery->sieve->store, BLOOMERY_FILE_PENDING, number,
                                row->log_generation, &log.old, &length, &headed, error);
    if (status != BLOOMERY_OK)
        return status;
    log.end = length < row->log_bytes ? length : row->log_bytes;
    const bool there = log.old.file >= 0;
    if (!there || !headed || length < row->log_bytes) {
        char name[BLOOMERY_FILE_NAME];
        name_of(&log.old, name);
        bloomery_recovery_report(recovery, "%s/%s %s", recovery->sieve->path, name,
                                 !there    ? "is missing"
                                 : !headed ? "has no sound header"
                                           : "is cut short");
    }
    recovery->rolls = recovery->rolls || !there;
    if (there)
        status = take_frames(&log, error);
    if (status == BLOOMERY_OK &&
        (!there || !headed || log.damaged > 0 || log.kept.log_entries != row->log_entries)) {
        if (there)
            status = keep_file(recovery, &log.old, error);
        if (status == BLOOMERY_OK && there)
            status = write_log(&log, row, error);
        if (status == BLOOMERY_OK)
            take_row(&log, row);
    }
    recovery->pending += log.plain;
    bloomery_store_close(&log.old);
    return status;
}

/* ---- Seen-sets --------------------------------------------------------------------------- */

/* Fingerprints in the whole frames that `bytes` bytes have room for. */
static uint64_t entries_of(uint64_t bytes, unsigned width)
{
    const uint64_t per_frame = (BLOOMERY_SEEN_FRAME - BLOOMERY_SEEN_CHECKSUM) / width;
    if (bytes <= BLOOMERY_FILE_HEADER)
        return 0;
    const uint64_t full = (bytes - BLOOMERY_FILE_HEADER) / BLOOMERY_SEEN_FRAME;
    const uint64_t rest = (bytes - BLOOMERY_FILE_HEADER) % BLOOMERY_SEEN_FRAME;
    const uint64_t more =
        rest > BLOOMERY_SEEN_CHECKSUM ? (rest - BLOOMERY_SEEN_CHECKSUM) / width : 0;
    /* A frame with all of its fingerprints has all of its bytes, the two that say nothing too. */
    return full * per_frame + (more < per_frame ? more : per_frame - 1);
}

struct seen {
    struct bloomery_recovery *recovery;
    struct bloomery_store_file old;
    struct bloomery_store_file new;
    unsigned width;
    uint64_t entries; /* of the old one, as far as it goes */
    uint64_t whole;   /* fingerprints in whole frames */
    bool damaged;
};

/* Reads all of the old one; what is whole goes to the new one, if there is one. */
static bloomery_status take_seen(struct seen *seen, bloomery_error *error)
{
    struct bloomery_recovery *recovery = seen->recovery;
    struct bloomery_store *store = &recovery->sieve->store;
    const bool writes = seen->new.file >= 0;
    struct bloomery_seen_reader reader;
    struct bloomery_seen_writer writer;
    uint64_t values[BLOOMERY_SEEN_PER_FRAME];
    uint64_t last = 0;
    size_t count = 0;
    bloomery_seen_begin(&reader, store, &seen->old, seen->entries, seen->width, recovery->area);
    bloomery_seen_start(&writer, store, &seen->new, seen->width,
                        recovery->area + BLOOMERY_SEEN_AREA);
    seen->whole = 0;
    for (;;) {
        bloomery_error found = {.text = ""};
        bloomery_status status = bloomery_seen_next(&reader, values, &count, &found);
        if (status == BLOOMERY_OK && count == 0)
            break;
        bool rises = status == BLOOMERY_OK && (seen->whole == 0 || values[0] > last);
        for (size_t i = 1; rises && i < count; i++)
            rises = values[i] > values[i - 1];
        if (status == BLOOMERY_OK && !rises)
            status = bloomery_store_damaged(store, &seen->old, 0, &found,
                                            "its fingerprints do not rise");
        if (status == BLOOMERY_CORRUPT && count > 0) {
            seen->damaged = true;
            if (!writes)
                bloomery_recovery_report(recovery, "%s", found.text);
            continue;
        }
        if (status == BLOOMERY_OK && writes)
            status = bloomery_seen_put(&writer, values, count, &found);
        if (status != BLOOMERY_OK) {
            if (error != NULL)
                *error = found;
            return status;
        }
        assert(count > 0 && count <= BLOOMERY_SEEN_PER_FRAME);
        seen->whole += count;
        last = values[count - 1];
    }
    return writes ? bloomery_seen_finish(&writer, error) : BLOOMERY_OK;
}

static bloomery_status write_seen(struct seen *seen, uint64_t generation, bloomery_error *error)
{
    struct bloomery_store *store = &seen->recovery->sieve->store;
    bloomery_status status = bloomery_store_create(store, BLOOMERY_FILE_SEEN, seen->old.number,
                                                   generation, &seen->new, error);
    if (status == BLOOMERY_OK)
        status = take_seen(seen, error);
    if (status == BLOOMERY_OK)
        status = bloomery_store_sync(store, &seen->new, error);
    bloomery_store_close(&seen->new);
    if (status != BLOOMERY_OK || seen->whole == 0)
        bloomery_store_remove(store, BLOOMERY_FILE_SEEN, seen->old.number, generation);
    return status;
}

/* The file that the row names; if that is gone, one that a later commit made of it and of the
 * log. */
static bloomery_status find_seen(struct seen *seen, uint32_t number,
                                 const struct bloomery_partition *row, uint64_t *length,
                                 bool *headed, bloomery_error *error)
{
    struct bloomery_store *store = &seen->recovery->sieve->store;
    bloomery_status status = BLOOMERY_OK;
    seen->old.file = -1;
    if (row->seen_entries > 0)
        status = bloomery_store_open_any(store, BLOOMERY_FILE_SEEN, number, row->seen_generation,
                                         &seen->old, length, headed, error);
    for (uint64_t i = LATER; status == BLOOMERY_OK && seen->old.file < 0 && i > 0; i--)
        status =
            bloomery_store_open_any(store, BLOOMERY_FILE_SEEN, number, row->seen_generation + i,
                                    &seen->old, length, headed, error);
    return status;
}

/* `gone`: its log is gone, into a seen-set that the row does not name. */
static bloomery_status recover_seen(struct bloomery_recovery *recovery, uint32_t number,
                                    struct bloomery_partition *row, bool gone,
                                    bloomery_error *error)
{
    struct seen seen = {.recovery = recovery,
                        .new.file = -1,
                        .width = recovery->sieve->settings.fingerprint_bits / 8};
    char name[BLOOMERY_FILE_NAME];
    uint64_t length = 0;
    bool headed = false;
    if (row->seen_entries == 0 && !gone)
        return BLOOMERY_OK;
    bloomery_status status = find_seen(&seen, number, row, &length, &headed, error);
    if (status != BLOOMERY_OK)
        return status;
    const bool there = seen.old.file >= 0;
    const bool named =
        there && row->seen_entries > 0 && seen.old.generation == row->seen_generation;
    const uint64_t whole = named ? bloomery_seen_bytes(row->seen_entries, seen.width) : length;
    bloomery_store_name(BLOOMERY_FILE_SEEN, number, row->seen_generation, name);
    if (row->seen_entries > 0 && (!named || !headed || length < whole))
        bloomery_recovery_report(recovery, "%s/%s %s", recovery->sieve->path, name,
                                 !named    ? "is missing"
                                 : !headed ? "has no sound header"
                                           : "is cut short");
    seen.entries = entries_of(length < whole ? length : whole, seen.width);
    assert(seen.entries == 0 || bloomery_seen_bytes(seen.entries, seen.width) <= length);
    if (there)
        status = take_seen(&seen, error);
    if (status == BLOOMERY_OK && !(named && headed && !seen.damaged && length >= whole)) {
        const uint64_t generation = (there ? seen.old.generation : row->seen_generation) + 1;
        if (there)
            status = keep_file(recovery, &seen.old, error);
        if (status == BLOOMERY_OK && there)
            status = write_seen(&seen, generation, error);
        recovery->result.seen += less(row->seen_entries, seen.whole);
        row->seen_generation = generation;
        row->seen_entries = seen.whole;
        recovery->changed = true;
    }
    bloomery_store_close(&seen.old);
    return status;
}

/* The rows of the partitions, in the image. */
static bloomery_status recover_disk(struct bloomery_recovery *recovery, uint8_t *rows,
                                    bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    for (uint32_t i = 0; status == BLOOMERY_OK && i < recovery->sieve->settings.partitions; i++) {
        uint8_t *place = rows + (size_t)i * BLOOMERY_PARTITION_STATE;
        struct bloomery_partition row = {.entries = 0};
        bloomery_partition_load(place, &row);
        if (row.seen_entries > UINT64_MAX / 16 || row.log_entries > UINT64_MAX / 16 ||
            row.decided_entries > row.log_entries || row.log_generation > UINT64_MAX / 2 ||
            row.seen_generation > UINT64_MAX / 2)
            return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                                 "%s cannot be recovered: the manifest's row of partition %u does "
                                 "not add up",
                                 recovery->sieve->path, i);
        const bool logged = row.log_bytes > 0;
        status = recover_log(recovery, i, &row, error);
        if (status == BLOOMERY_OK)
            status = recover_seen(recovery, i, &row, logged && row.log_bytes == 0, error);
        bloomery_partition_store(&row, place);
    }
    return status;
}

/* ---- The memory engine's filter ---------------------------------------------------------- */

static bloomery_status filter_is_whole(const bloomery_sieve *sieve, uint64_t generation,
                                       bloomery_error *error)
{
    char name[BLOOMERY_FILE_NAME];
    char path[4096];
    const bloomery_filter *filter = NULL;
    bloomery_store_name(BLOOMERY_FILE_FILTER, 0, generation, name);
    const int bytes = snprintf(path, sizeof path, "%s/%s", sieve->real_path, name);
    if (bytes < 0 || (size_t)bytes >= sizeof path)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "the directory's path is too long");
    bloomery_status status = bloomery_map(path, NULL, &filter, error);
    if (status == BLOOMERY_OK)
        status = bloomery_verify_map(filter, error);
    bloomery_free(filter);
    return status;
}

/* Without its filter, what the queue's segments still hold is all that is known. */
static bloomery_status recover_filter(struct bloomery_recovery *recovery, struct parts *parts,
                                      bool *lost, bloomery_error *error)
{
    bloomery_sieve *sieve = recovery->sieve;
    uint8_t *state = parts->in.engine;
    const uint64_t generation = bloomery_load_u64(state);
    char name[BLOOMERY_FILE_NAME];
    bloomery_error found = {.text = ""};
    struct bloomery_queue_position *saved = &parts->saved;
    saved->segment = bloomery_load_u64(state + 8);
    saved->offset = bloomery_load_u64(state + 16);
    recovery->saved_number = bloomery_load_u64(sieve->manifest.image + BLOOMERY_MANIFEST_SAVED);
    *lost = false;
    if (saved->segment == 0) /* it was never saved */
        *saved = (struct bloomery_queue_position){1, BLOOMERY_FILE_HEADER};
    if (bloomery_place_before(parts->queue.tail, *saved) || saved->offset < BLOOMERY_FILE_HEADER) {
        *saved = parts->queue.head;
        recovery->saved_number = 0;
    }
    const bloomery_status status =
        generation == 0 ? BLOOMERY_OK : filter_is_whole(sieve, generation, &found);
    if (status == BLOOMERY_OK || status == BLOOMERY_OUT_OF_MEMORY ||
        status == BLOOMERY_BAD_ARGUMENT) {
        if (status != BLOOMERY_OK && error != NULL)
            *error = found;
        return status;
    }
    *lost = true;
    recovery->changed = true;
    bloomery_recovery_report(recovery, "%s", found.text);
    bloomery_store_name(BLOOMERY_FILE_FILTER, 0, generation, name);
    bloomery_store_u64(state, 0);
    if (bloomery_place_before(parts->queue.head, *saved))
        *saved = parts->queue.head;
    for (struct stat facts; saved->segment > 1; saved->segment--) {
        char before[BLOOMERY_FILE_NAME];
        bloomery_store_name(BLOOMERY_FILE_QUEUE, saved->segment - 1, 0, before);
        if (fstatat(sieve->store.directory, before, &facts, AT_SYMLINK_NOFOLLOW) != 0)
            break;
    }
    saved->offset = BLOOMERY_FILE_HEADER;
    recovery->saved_number = 0;
    return bloomery_recovery_keep(recovery, name, error);
}

static void put_filter(struct bloomery_recovery *recovery, struct parts *parts, bool lost)
{
    uint8_t *state = parts->in.engine;
    const uint64_t keys = bloomery_load_u64(state + 24);
    assert(recovery->first <= parts->queue.next);
    const uint64_t left = recovery->first > 0 ? parts->queue.next - recovery->first : 0;
    bloomery_store_u64(state + 8, parts->saved.segment);
    bloomery_store_u64(state + 16, parts->saved.offset);
    bloomery_store_u64(recovery->sieve->manifest.image + BLOOMERY_MANIFEST_SAVED,
                       recovery->saved_number);
    if (!lost || left >= keys)
        return;
    recovery->result.seen += keys - left;
    bloomery_store_u64(state + 24, left);
}

/* ---- What the state before the last commit does not name --------------------------------- */

struct keeping {
    struct bloomery_recovery *recovery;
    const struct parts *parts;
    bloomery_status status;
    bloomery_error error;
};

static bool is_named(const struct keeping *keeping, enum bloomery_file_kind kind, uint64_t number,
                     uint64_t generation)
{
    const bloomery_sieve *sieve = keeping->recovery->sieve;
    const struct parts *parts = keeping->parts;
    const bool disk = sieve->settings.engine == BLOOMERY_SIEVE_DISK;
    const uint64_t head = parts->queue.head.segment;
    const uint64_t from = !disk && parts->saved.segment < head ? parts->saved.segment : head;
    if (kind == BLOOMERY_FILE_QUEUE)
        return number >= from && number <= parts->queue.tail.segment;
    if (kind == BLOOMERY_FILE_DEAD)
        return generation == bloomery_load_u64(sieve->manifest.image + BLOOMERY_MANIFEST_DEAD);
    if (kind == BLOOMERY_FILE_FILTER)
        return !disk && generation == bloomery_load_u64(parts->in.engine);
    if (!disk || number >= sieve->settings.partitions)
        return false;
    struct bloomery_partition row = {.entries = 0};
    bloomery_partition_load(parts->in.engine + number * BLOOMERY_PARTITION_STATE, &row);
    if (kind == BLOOMERY_FILE_PENDING)
        return generation == row.log_generation;
    return kind == BLOOMERY_FILE_SEEN && generation == row.seen_generation;
}

static bool keep_unnamed(void *context, const char *name)
{
    struct keeping *keeping = context;
    enum bloomery_file_kind kind;
    uint64_t number;
    uint64_t generation;
    if (bloomery_directory_parse_name(name, &kind, &number, &generation) &&
        !is_named(keeping, kind, number, generation))
        keeping->status = bloomery_recovery_keep(keeping->recovery, name, &keeping->error);
    return keeping->status == BLOOMERY_OK;
}

/* All that opening will remove or cut, and the manifest. */
static bloomery_status keep_undone(struct bloomery_recovery *recovery, const struct parts *parts,
                                   bloomery_error *error)
{
    const bloomery_sieve *sieve = recovery->sieve;
    struct keeping keeping = {.recovery = recovery, .parts = parts};
    bool all = true;
    bloomery_status status = bloomery_recovery_keep(recovery, "MANIFEST", error);
    if (status == BLOOMERY_OK)
        status = bloomery_directory_each(recovery->sieve, keep_unnamed, &keeping, &all, error);
    if (status == BLOOMERY_OK && keeping.status != BLOOMERY_OK) {
        if (error != NULL)
            *error = keeping.error;
        return keeping.status;
    }
    if (status == BLOOMERY_OK)
        status = keep_rest(recovery, BLOOMERY_FILE_QUEUE, parts->queue.tail.segment, 0,
                           parts->queue.tail.offset, error);
    const uint8_t *dead = sieve->manifest.image + BLOOMERY_MANIFEST_DEAD;
    if (status == BLOOMERY_OK)
        status = keep_rest(recovery, BLOOMERY_FILE_DEAD, 0, bloomery_load_u64(dead),
                           bloomery_load_u64(dead + 8), error);
    for (uint32_t i = 0; status == BLOOMERY_OK && sieve->settings.engine == BLOOMERY_SIEVE_DISK &&
                         i < sieve->settings.partitions;
         i++) {
        struct bloomery_partition row = {.entries = 0};
        bloomery_partition_load(parts->in.engine + (uint64_t)i * BLOOMERY_PARTITION_STATE, &row);
        status =
            keep_rest(recovery, BLOOMERY_FILE_PENDING, i, row.log_generation, row.log_bytes, error);
    }
    return status;
}

/* ---- All of it --------------------------------------------------------------------------- */

static bloomery_status recover_parts(struct bloomery_recovery *recovery, struct parts *parts,
                                     bloomery_error *error)
{
    const bool disk = recovery->sieve->settings.engine == BLOOMERY_SIEVE_DISK;
    bool lost = false;
    bloomery_status status = disk ? recover_disk(recovery, parts->in.engine, error)
                                  : recover_filter(recovery, parts, &lost, error);
    recovery->rolls = recovery->rolls && recovery->result.older;
    if (status == BLOOMERY_OK)
        status =
            bloomery_recovery_queue(recovery, &parts->queue, disk ? NULL : &parts->saved, error);
    if (status == BLOOMERY_OK)
        status = bloomery_recovery_dead(
            recovery, recovery->sieve->manifest.image + BLOOMERY_MANIFEST_DEAD, error);
    if (status == BLOOMERY_OK && recovery->result.older)
        status = keep_undone(recovery, parts, error);
    if (status != BLOOMERY_OK)
        return status;
    if (disk)
        count_again(recovery);
    else
        put_filter(recovery, parts, lost);
    recovery->result.pending -=
        recovery->rolled < recovery->result.pending ? recovery->rolled : recovery->result.pending;
    return BLOOMERY_OK;
}

static bloomery_status recover(struct bloomery_recovery *recovery, bloomery_error *error)
{
    bloomery_sieve *sieve = recovery->sieve;
    struct parts parts = {.in.queue = NULL};
    bloomery_status status = bloomery_manifest_open_older(sieve, &recovery->result.older, error);
    if (status == BLOOMERY_OK)
        status = parse_image(sieve, &parts, error);
    if (status != BLOOMERY_OK)
        return status;
    sieve->store.seed = bloomery_checksum(sieve->store.id, sizeof sieve->store.id, 0);
    recovery->leases = parts.in.queue + BLOOMERY_QUEUE_STATE;
    if (recovery->result.older)
        bloomery_recovery_report(
            recovery,
            "%s/MANIFEST: no copy of what may be the last commit is whole; the "
            "one before it counts, after %" PRIu64 " pushes",
            sieve->path, bloomery_load_u64(sieve->manifest.image + BLOOMERY_MANIFEST_COUNTERS));
    if (sieve->manifest.mends && sieve->manifest.broken_at != UINT64_MAX)
        bloomery_recovery_report(recovery,
                                 "%s/MANIFEST is damaged at %" PRIu64 ": one of the two copies of "
                                 "the last commit; the other one counts, and is copied there",
                                 sieve->path, sieve->manifest.broken_at);
    assert(recovery->own == NULL && sieve->engine == NULL);
    recovery->own = bloomery_store_allocate(&sieve->store, OWN);
    if (recovery->own == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "no memory to recover a sieve");
    recovery->area = recovery->own;
    recovery->records = recovery->own + BLOOMERY_QUEUE_BODY_MAX;
    status = recover_parts(recovery, &parts, error);
    if (status == BLOOMERY_OK && recovery->folder >= 0 && fsync(recovery->folder) != 0)
        status = bloomery_fail_system(error, errno, "syncing %s/%s", sieve->path,
                                      recovery->result.folder);
    if (status == BLOOMERY_OK && recovery->changed && fsync(sieve->store.directory) != 0)
        status = bloomery_fail_system(error, errno, "syncing the directory %s", sieve->path);
    if (status == BLOOMERY_OK && (recovery->changed || recovery->result.older))
        status = bloomery_manifest_replace(sieve, join_image(sieve, &parts), error);
    return status;
}

/* Opened as ever, which removes and cuts what does not count, and read once more. `directory`: it,
 * locked all the time, or who waits for it would come between. */
static bloomery_status verify_again(const bloomery_sieve_options *options, int directory,
                                    struct bloomery_recovery *recovery, bloomery_error *error)
{
    bloomery_sieve *sieve = NULL;
    uint64_t damaged = 0;
    bloomery_status status = bloomery_sieve_open_locked(options, directory, &sieve, error);
    if (status != BLOOMERY_OK)
        return status;
    status = bloomery_sieve_verify(sieve, recovery->report, recovery->context, &damaged, error);
    recovery->result.damaged += damaged;
    if (status == BLOOMERY_OK && damaged > 0)
        status = bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                               "%s is still damaged: %" PRIu64 " frames could not be recovered",
                               options->directory, damaged);
    const bloomery_status closed =
        bloomery_sieve_close(sieve, status == BLOOMERY_OK ? error : NULL);
    return status == BLOOMERY_OK ? closed : status;
}

bloomery_status bloomery_sieve_recover(const bloomery_sieve_options *options,
                                       bloomery_sieve_report report, void *context,
                                       bloomery_sieve_recovery *result, bloomery_error *error)
{
    struct bloomery_recovery recovery = {.report = report, .context = context, .folder = -1};
    bloomery_sieve_options given;
    bloomery_sieve_options plain = BLOOMERY_SIEVE_OPTIONS;
    bloomery_status status = bloomery_sieve_copy_options(options, &given, error);
    if (status == BLOOMERY_OK && given.directory == NULL)
        status = bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                               "only a sieve in a directory can be recovered");
    if (status != BLOOMERY_OK)
        return status;
    plain.allocator = given.allocator;
    plain.directory = given.directory;
    plain.memory = given.memory;
    plain.canon = given.canon;
    plain.canonicaliser = given.canonicaliser;
    plain.canonicaliser_context = given.canonicaliser_context;
    plain.warning = given.warning;
    plain.warning_context = given.warning_context;
    plain.keep_leases = true;
    plain.existing = true;
    status = bloomery_sieve_allocate(&plain, &recovery.sieve, error);
    if (status == BLOOMERY_OK)
        status = bloomery_directory_enter(recovery.sieve, true, error);
    if (status == BLOOMERY_OK)
        status = recover(&recovery, error);
    if (recovery.folder >= 0)
        close(recovery.folder);
    int directory = -1;
    if (recovery.sieve != NULL) {
        bloomery_store_release(&recovery.sieve->store, recovery.own, OWN);
        if (status == BLOOMERY_OK) {
            directory = recovery.sieve->store.directory;
            recovery.sieve->store.directory = -1;
        }
        bloomery_sieve_destroy(recovery.sieve);
    }
    if (status == BLOOMERY_OK)
        status = verify_again(&plain, directory, &recovery, error);
    if (result != NULL)
        bloomery_versioned_give(&recovery.result, sizeof recovery.result, result,
                                BLOOMERY_SIEVE_RECOVERY_BYTES_FIRST);
    return status;
}
