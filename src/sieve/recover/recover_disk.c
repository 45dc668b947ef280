/* SPDX-License-Identifier: Apache-2.0 */
/* Logs and seen-sets: what of them is whole goes into files of the next generation. */
#include "sieve/recover/recover.h"

#include "base/bytes.h"
#include "base/error.h"
#include "sieve/disk/disk.h"

#include <assert.h>
#include <inttypes.h>

enum { LATER = 64 }; /* generations that are looked for behind the one that is named */

struct row {
    uint64_t log_generation;
    uint64_t log_bytes;
    uint64_t log_entries;
    uint64_t decided_bytes;
    uint64_t decided_entries;
    uint64_t seen_generation;
    uint64_t seen_entries;
};

static void load_row(const uint8_t *from, struct row *row)
{
    row->log_generation = bloomery_load_u64(from);
    row->log_bytes = bloomery_load_u64(from + 8);
    row->log_entries = bloomery_load_u64(from + 16);
    row->decided_bytes = bloomery_load_u64(from + 24);
    row->decided_entries = bloomery_load_u64(from + 32);
    row->seen_generation = bloomery_load_u64(from + 40);
    row->seen_entries = bloomery_load_u64(from + 48);
}

static void store_row(const struct row *row, uint8_t *to)
{
    assert(row->decided_entries <= row->log_entries);
    bloomery_store_u64(to, row->log_generation);
    bloomery_store_u64(to + 8, row->log_bytes);
    bloomery_store_u64(to + 16, row->log_entries);
    bloomery_store_u64(to + 24, row->decided_bytes);
    bloomery_store_u64(to + 32, row->decided_entries);
    bloomery_store_u64(to + 40, row->seen_generation);
    bloomery_store_u64(to + 48, row->seen_entries);
}

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
    uint64_t end;     /* of what is there of it */
    uint64_t at;      /* where the next whole frame goes */
    struct row kept;  /* what the whole frames add up to */
    uint64_t plain;   /* pushes among those that are not decided */
    uint64_t damaged; /* frames */
};

static bool is_log_frame(const struct log *log, const struct bloomery_frame *frame)
{
    return frame->entries > 0 && frame->fixed_bytes == (uint64_t)frame->entries * log->stride &&
           frame->fixed_bytes <= BLOOMERY_LOG_AREA && frame->body_bytes >= frame->entries &&
           (frame->body_bytes <= BLOOMERY_LOG_AREA || frame->entries == 1) &&
           frame->body_bytes <= BLOOMERY_QUEUE_BODY_MAX;
}

/* A failure that is damage is counted and over. */
static bloomery_status took(struct log *log, bloomery_status status, const bloomery_error *found,
                            bloomery_error *error)
{
    if (status == BLOOMERY_CORRUPT) {
        log->damaged++;
        bloomery_recovery_tell(log->recovery, "%s", found->text);
        return BLOOMERY_OK;
    }
    if (status != BLOOMERY_OK && error != NULL)
        *error = *found;
    return status;
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
    assert(is_log_frame(log, frame));
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

/* A frame whose header is whole. Of one that is decided the fingerprints are enough. */
static bloomery_status take_frame(struct log *log, uint64_t at, struct bloomery_frame *frame,
                                  bool decided, bloomery_error *error)
{
    struct bloomery_recovery *recovery = log->recovery;
    struct bloomery_store *store = &recovery->sieve->store;
    bloomery_error found = {.text = ""};
    bloomery_status status =
        bloomery_frame_fixed(store, &log->old, at, frame, recovery->records, &found);
    if (status != BLOOMERY_OK)
        return took(log, status, &found, error);
    status = bloomery_frame_body(store, &log->old, at, frame, recovery->area, &found);
    if (status == BLOOMERY_OK &&
        !bloomery_queue_is_body(recovery->area, frame->body_bytes, frame->entries))
        status = bloomery_store_damaged(store, &log->old, at, &found,
                                        "the entries of a frame of %" PRIu32 " pending keys",
                                        frame->entries);
    if (status != BLOOMERY_OK) {
        status = took(log, status, &found, error);
        if (status != BLOOMERY_OK || !decided)
            return status;
        frame->body_bytes = frame->entries;
        memset(recovery->area, BLOOMERY_ENTRY_VOID, frame->entries);
    }
    return keep_frame(log, frame, decided, error);
}

/* All frames that are whole, into the new file if there is one. */
static bloomery_status take_frames(struct log *log, const struct row *row, bloomery_error *error)
{
    struct bloomery_store *store = &log->recovery->sieve->store;
    bloomery_status status = BLOOMERY_OK;
    log->at = BLOOMERY_FILE_HEADER;
    log->kept = (struct row){.log_bytes = log->at, .decided_bytes = log->at};
    log->plain = 0;
    log->damaged = 0;
    for (uint64_t at = BLOOMERY_FILE_HEADER; status == BLOOMERY_OK && at < log->end;) {
        struct bloomery_frame frame = {.entries = 0};
        bloomery_error found;
        status = bloomery_frame_header(store, &log->old, at, log->end, &frame, &found);
        if (status == BLOOMERY_OK && !is_log_frame(log, &frame))
            status = bloomery_store_damaged(
                store, &log->old, at, &found,
                "a frame of %" PRIu32 " pending keys that does not add up", frame.entries);
        if (status == BLOOMERY_OK) {
            const uint64_t next = at + bloomery_frame_bytes(&frame);
            status = take_frame(log, at, &frame, at < row->decided_bytes, error);
            at = next;
        } else {
            status = took(log, status, &found, error);
            if (status == BLOOMERY_OK)
                status =
                    bloomery_frame_find(store, &log->old, at + 1, log->end, &at, &frame, error);
        }
    }
    assert(log->kept.log_entries == 0 || log->at <= log->end);
    return status;
}

/* The new file, which replaces the old one in the row; none if nothing is left. */
static bloomery_status write_log(struct log *log, struct row *row, bloomery_error *error)
{
    struct bloomery_store *store = &log->recovery->sieve->store;
    const uint64_t generation = row->log_generation + 1;
    const bloomery_sieve_report report = log->recovery->report;
    const uint64_t damaged = log->recovery->result.damaged;
    bloomery_status status = bloomery_store_create(store, BLOOMERY_FILE_PENDING, log->old.number,
                                                   generation, &log->new, error);
    log->recovery->report = NULL; /* it has been told */
    if (status == BLOOMERY_OK)
        status = take_frames(log, row, error);
    log->recovery->report = report;
    log->recovery->result.damaged = damaged;
    if (status == BLOOMERY_OK)
        status = bloomery_store_sync(store, &log->new, error);
    bloomery_store_close(&log->new);
    if (status != BLOOMERY_OK || log->kept.log_entries == 0)
        bloomery_store_remove(store, BLOOMERY_FILE_PENDING, log->old.number, generation);
    return status;
}

static void take_row(struct log *log, struct row *row)
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
                                   struct row *row, bloomery_error *error)
{
    const bool ordered = recovery->sieve->settings.ordered;
    struct log log = {.recovery = recovery, .new.file = -1, .stride = ordered ? 12 : 8};
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
        bloomery_recovery_tell(recovery, "%s/%s %s", recovery->sieve->path, name,
                               !there    ? "is missing"
                               : !headed ? "has no sound header"
                                         : "is cut short");
    }
    recovery->rolls = recovery->rolls || !there;
    if (there)
        status = take_frames(&log, row, error);
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

/* Fingerprints in the whole frames that so many bytes have room for. */
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

static bool rises(const uint64_t *values, size_t count, uint64_t last, bool first)
{
    for (size_t i = 0; i < count; i++) {
        if (values[i] <= last && !(first && i == 0))
            return false;
        last = values[i];
    }
    return true;
}

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
        if (status == BLOOMERY_OK && !rises(values, count, last, seen->whole == 0))
            status = bloomery_store_damaged(store, &seen->old, 0, &found,
                                            "its fingerprints do not rise");
        if (status == BLOOMERY_CORRUPT && count > 0) {
            seen->damaged = true;
            if (!writes)
                bloomery_recovery_tell(recovery, "%s", found.text);
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
static bloomery_status find_seen(struct seen *seen, uint32_t number, const struct row *row,
                                 uint64_t *length, bool *headed, bloomery_error *error)
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
                                    struct row *row, bool gone, bloomery_error *error)
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
        bloomery_recovery_tell(recovery, "%s/%s %s", recovery->sieve->path, name,
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

bloomery_status bloomery_recovery_disk(struct bloomery_recovery *recovery, uint8_t *rows,
                                       bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    for (uint32_t i = 0; status == BLOOMERY_OK && i < recovery->sieve->settings.partitions; i++) {
        uint8_t *place = rows + (size_t)i * BLOOMERY_PARTITION_STATE;
        struct row row;
        load_row(place, &row);
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
        store_row(&row, place);
    }
    return status;
}
