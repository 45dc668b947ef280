/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file's header, little-endian:
 *
 *     0    "BLMSIEVE"
 *     8    version          u32
 *     12   kind             u32
 *     16   number           u64
 *     24   generation       u64
 *     32   id of the sieve  16 bytes
 *     48   0                u64
 *     56   checksum of bytes 0 to 55, seed 0: tells a sound header of another file from a damaged
 *          one
 *
 * Nothing here remembers where a file ends: callers say where they write. So a write that failed
 * half way, on a full disk, needs no undoing; it is simply done again at the same place.
 */
#include "sieve/store.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/io.h"
#include "base/memory.h"
#include "hash/hashes.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static const uint8_t magic[8] = "BLMSIEVE";
static const size_t alignment = 64;

void *bloomery_store_allocate(struct bloomery_store *store, uint64_t bytes)
{
    assert(bytes > 0);
    if (bytes > SIZE_MAX)
        return NULL;
    void *memory = bloomery_allocate(store->allocator, (size_t)bytes, alignment);
    if (memory != NULL)
        store->memory += bytes;
    return memory;
}

void bloomery_store_release(struct bloomery_store *store, void *memory, uint64_t bytes)
{
    if (memory == NULL)
        return;
    assert(store->memory >= bytes);
    store->memory -= bytes;
    bloomery_release(store->allocator, memory, (size_t)bytes, alignment);
}

void bloomery_store_name(enum bloomery_file_kind kind, uint64_t number, uint64_t generation,
                         char name[BLOOMERY_FILE_NAME])
{
    switch (kind) {
    case BLOOMERY_FILE_SEEN:
        snprintf(name, BLOOMERY_FILE_NAME, "seen-%03" PRIu64 ".%" PRIu64, number, generation);
        return;
    case BLOOMERY_FILE_PENDING:
        snprintf(name, BLOOMERY_FILE_NAME, "pending-%03" PRIu64 ".%" PRIu64, number, generation);
        return;
    case BLOOMERY_FILE_QUEUE:
        snprintf(name, BLOOMERY_FILE_NAME, "queue-%012" PRIu64, number);
        return;
    case BLOOMERY_FILE_VERDICTS:
        snprintf(name, BLOOMERY_FILE_NAME, "verdicts");
        return;
    case BLOOMERY_FILE_DEAD:
        snprintf(name, BLOOMERY_FILE_NAME, "dead.%" PRIu64, generation);
        return;
    case BLOOMERY_FILE_FILTER:
        break;
    }
    snprintf(name, BLOOMERY_FILE_NAME, "filter.%" PRIu64, generation);
}

static void name_of(const struct bloomery_store_file *file, char name[BLOOMERY_FILE_NAME])
{
    bloomery_store_name(file->kind, file->number, file->generation, name);
}

bloomery_status bloomery_store_damaged(const struct bloomery_store *store,
                                       const struct bloomery_store_file *file, uint64_t offset,
                                       bloomery_error *error, const char *format, ...)
{
    char name[BLOOMERY_FILE_NAME];
    char what[192];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    name_of(file, name);
    return bloomery_fail(error, BLOOMERY_CORRUPT, offset, "%s/%s is damaged at %" PRIu64 ": %s",
                         store->path, name, offset, what);
}

/* ---- Making and opening ---------------------------------------------------------------------- */

static void describe(const struct bloomery_store *store, enum bloomery_file_kind kind,
                     uint64_t number, uint64_t generation, struct bloomery_store_file *file)
{
    /* The seed sets the checksums of one file apart from those of all others. */
    uint8_t bytes[24];
    bloomery_store_u64(bytes, (uint64_t)kind);
    bloomery_store_u64(bytes + 8, number);
    bloomery_store_u64(bytes + 16, generation);
    *file = (struct bloomery_store_file){
        .file = -1,
        .kind = kind,
        .number = number,
        .generation = generation,
        .seed = bloomery_checksum(bytes, sizeof bytes, store->seed),
    };
}

static void fill_header(const struct bloomery_store *store, const struct bloomery_store_file *file,
                        uint8_t header[BLOOMERY_FILE_HEADER])
{
    memset(header, 0, BLOOMERY_FILE_HEADER);
    memcpy(header, magic, sizeof magic);
    bloomery_store_u32(header + 8, BLOOMERY_SIEVE_VERSION);
    bloomery_store_u32(header + 12, (uint32_t)file->kind);
    bloomery_store_u64(header + 16, file->number);
    bloomery_store_u64(header + 24, file->generation);
    memcpy(header + 32, store->id, sizeof store->id);
    bloomery_store_u64(header + 56, bloomery_checksum(header, 56, 0));
}

/* A new inode even if the name is taken: processes that have the old one open keep it whole. */
static int open_new(int directory, const char *name)
{
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
    int file = openat(directory, name, flags, 0666);
    if (file < 0 && errno == EEXIST && unlinkat(directory, name, 0) == 0)
        file = openat(directory, name, flags, 0666);
    return file;
}

bloomery_status bloomery_store_create(struct bloomery_store *store, enum bloomery_file_kind kind,
                                      uint64_t number, uint64_t generation,
                                      struct bloomery_store_file *file, bloomery_error *error)
{
    uint8_t header[BLOOMERY_FILE_HEADER];
    char name[BLOOMERY_FILE_NAME];
    assert(store->directory >= 0 && !store->read_only);
    describe(store, kind, number, generation, file);
    name_of(file, name);
    file->file = open_new(store->directory, name);
    if (file->file < 0)
        return bloomery_fail_system(error, errno, "making %s/%s", store->path, name);
    store->names_changed = true;
    if (kind == BLOOMERY_FILE_FILTER)
        return BLOOMERY_OK;
    fill_header(store, file, header);
    const bloomery_status status =
        bloomery_store_write(store, file, 0, header, sizeof header, error);
    if (status != BLOOMERY_OK) {
        bloomery_store_close(file);
        bloomery_store_remove(store, kind, number, generation);
    }
    return status;
}

static bloomery_status check_header(struct bloomery_store *store,
                                    const struct bloomery_store_file *file, bloomery_error *error)
{
    uint8_t found[BLOOMERY_FILE_HEADER];
    uint8_t wanted[BLOOMERY_FILE_HEADER];
    const bloomery_status status = bloomery_store_read(store, file, 0, found, sizeof found, error);
    if (status != BLOOMERY_OK)
        return status;
    if (memcmp(found, magic, sizeof magic) != 0 ||
        bloomery_load_u64(found + 56) != bloomery_checksum(found, 56, 0))
        return bloomery_store_damaged(store, file, 0, error, "its header");
    if (bloomery_load_u32(found + 8) != BLOOMERY_SIEVE_VERSION) {
        char name[BLOOMERY_FILE_NAME];
        name_of(file, name);
        return bloomery_fail(error, BLOOMERY_WRONG_VERSION, 8,
                             "%s/%s has version %" PRIu32 "; this program knows version %d",
                             store->path, name, bloomery_load_u32(found + 8),
                             BLOOMERY_SIEVE_VERSION);
    }
    fill_header(store, file, wanted);
    if (memcmp(found, wanted, sizeof found) != 0)
        return bloomery_store_damaged(store, file, 0, error,
                                      "its header is that of another file or another sieve");
    return BLOOMERY_OK;
}

static bloomery_status check_length(struct bloomery_store *store, struct bloomery_store_file *file,
                                    uint64_t bytes, uint64_t *length, bloomery_error *error)
{
    struct stat facts;
    char name[BLOOMERY_FILE_NAME];
    name_of(file, name);
    if (fstat(file->file, &facts) != 0)
        return bloomery_fail_system(error, errno, "%s/%s", store->path, name);
    if (!S_ISREG(facts.st_mode))
        return bloomery_store_damaged(store, file, 0, error, "it is not a regular file");
    *length = (uint64_t)facts.st_size;
    if (*length < bytes)
        return bloomery_store_damaged(store, file, *length, error,
                                      "it ends there, and %" PRIu64 " bytes are expected", bytes);
    return BLOOMERY_OK;
}

bloomery_status bloomery_store_open(struct bloomery_store *store, enum bloomery_file_kind kind,
                                    uint64_t number, uint64_t generation, uint64_t bytes, bool cut,
                                    struct bloomery_store_file *file, bloomery_error *error)
{
    const bool headed = kind != BLOOMERY_FILE_FILTER;
    char name[BLOOMERY_FILE_NAME];
    assert(store->directory >= 0);
    describe(store, kind, number, generation, file);
    name_of(file, name);
    if (headed && bytes < BLOOMERY_FILE_HEADER)
        return bloomery_store_damaged(store, file, bytes, error, "it has no room for its header");
    const int access = store->read_only ? O_RDONLY : O_RDWR;
    file->file = openat(store->directory, name, access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file->file < 0 && errno == ENOENT)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 0, "%s/%s is missing", store->path, name);
    if (file->file < 0)
        return bloomery_fail_system(error, errno, "opening %s/%s", store->path, name);
    /* Nothing is cut before the header has shown that it is the right file. */
    uint64_t length = 0;
    bloomery_status status = check_length(store, file, bytes, &length, error);
    if (status == BLOOMERY_OK && headed)
        status = check_header(store, file, error);
    if (status == BLOOMERY_OK && cut && !store->read_only && length > bytes)
        status = bloomery_store_cut(store, file, bytes, error);
    if (status != BLOOMERY_OK)
        bloomery_store_close(file);
    return status;
}

bloomery_status bloomery_store_open_any(struct bloomery_store *store, enum bloomery_file_kind kind,
                                        uint64_t number, uint64_t generation,
                                        struct bloomery_store_file *file, uint64_t *length,
                                        bool *headed, bloomery_error *error)
{
    char name[BLOOMERY_FILE_NAME];
    describe(store, kind, number, generation, file);
    name_of(file, name);
    *length = 0;
    *headed = false;
    file->file = openat(store->directory, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file->file < 0 && errno == ENOENT)
        return BLOOMERY_OK;
    if (file->file < 0)
        return bloomery_fail_system(error, errno, "opening %s/%s", store->path, name);
    bloomery_status status = check_length(store, file, 0, length, error);
    if (status == BLOOMERY_OK && *length >= BLOOMERY_FILE_HEADER) {
        bloomery_error found;
        const bloomery_status header = check_header(store, file, &found);
        *headed = header == BLOOMERY_OK;
        if (header != BLOOMERY_OK && header != BLOOMERY_CORRUPT) {
            status = header;
            if (error != NULL)
                *error = found;
        }
    }
    if (status != BLOOMERY_OK)
        bloomery_store_close(file);
    return status;
}

bloomery_status bloomery_store_write_header(struct bloomery_store *store,
                                            struct bloomery_store_file *file, bloomery_error *error)
{
    uint8_t header[BLOOMERY_FILE_HEADER];
    fill_header(store, file, header);
    return bloomery_store_write(store, file, 0, header, sizeof header, error);
}

void bloomery_store_close(struct bloomery_store_file *file)
{
    if (file->file >= 0)
        close(file->file);
    file->file = -1;
    file->dirty = false;
}

void bloomery_store_remove(struct bloomery_store *store, enum bloomery_file_kind kind,
                           uint64_t number, uint64_t generation)
{
    char name[BLOOMERY_FILE_NAME];
    if (store->directory < 0)
        return;
    assert(!store->read_only);
    bloomery_store_name(kind, number, generation, name);
    (void)!unlinkat(store->directory, name, 0);
}

/* ---- Reading and writing --------------------------------------------------------------------- */

/* Pieces of memory, one behind the other in the file, with one system call. They are used up. */
static bloomery_status write_pieces(struct bloomery_store *store, struct bloomery_store_file *file,
                                    uint64_t offset, struct iovec *pieces, int count,
                                    bloomery_error *error)
{
    assert(file->file >= 0 && !store->read_only);
    assert(offset <= INT64_MAX);
    file->dirty = true;
    const int reason =
        bloomery_write_pieces(file->file, offset, pieces, count, &store->bytes_written);
    if (reason != 0) {
        char name[BLOOMERY_FILE_NAME];
        name_of(file, name);
        return bloomery_fail_system(error, reason, "writing %s/%s", store->path, name);
    }
    return BLOOMERY_OK;
}

bloomery_status bloomery_store_write(struct bloomery_store *store, struct bloomery_store_file *file,
                                     uint64_t offset, const void *data, size_t bytes,
                                     bloomery_error *error)
{
    struct iovec piece;
    memcpy(&piece.iov_base, &data, sizeof data); /* it is not written to */
    piece.iov_len = bytes;
    return write_pieces(store, file, offset, &piece, 1, error);
}

bloomery_status bloomery_store_read(struct bloomery_store *store,
                                    const struct bloomery_store_file *file, uint64_t offset,
                                    void *data, size_t bytes, bloomery_error *error)
{
    uint64_t moved = 0;
    assert(file->file >= 0);
    assert(bytes <= INT64_MAX && offset <= INT64_MAX - bytes);
    const int reason = bloomery_read_at(file->file, offset, data, bytes, &moved);
    store->bytes_read += moved;
    if (reason != 0) {
        char name[BLOOMERY_FILE_NAME];
        name_of(file, name);
        return bloomery_fail_system(error, reason, "reading %s/%s", store->path, name);
    }
    if (moved < bytes)
        return bloomery_store_damaged(store, file, offset + moved, error,
                                      "it ends there, and %zu bytes more are expected",
                                      (size_t)(bytes - moved));
    assert(moved == bytes);
    return BLOOMERY_OK;
}

bloomery_status bloomery_store_cut(struct bloomery_store *store, struct bloomery_store_file *file,
                                   uint64_t bytes, bloomery_error *error)
{
    int result;
    assert(file->file >= 0 && !store->read_only && bytes >= BLOOMERY_FILE_HEADER);
    do
        result = ftruncate(file->file, (off_t)bytes);
    while (result != 0 && errno == EINTR);
    if (result != 0) {
        char name[BLOOMERY_FILE_NAME];
        const int reason = errno;
        name_of(file, name);
        return bloomery_fail_system(error, reason, "cutting %s/%s to %" PRIu64 " bytes",
                                    store->path, name, bytes);
    }
    file->dirty = true;
    return BLOOMERY_OK;
}

/* ---- Durability ------------------------------------------------------------------------------ */

/* After a failed sync the kernel may have dropped what it could not write: a second sync would
 * succeed and mean nothing. */
static bloomery_status refuse(const struct bloomery_store *store, bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_IO_FAILED, 0,
                         "%s: an earlier sync failed; close the sieve and open it again",
                         store->path);
}

bloomery_status bloomery_store_sync(struct bloomery_store *store, struct bloomery_store_file *file,
                                    bloomery_error *error)
{
    assert(file->file >= 0 || !file->dirty);
    if (!file->dirty || !store->syncs || file->file < 0)
        return BLOOMERY_OK;
    if (store->failed)
        return refuse(store, error);
    const int reason = bloomery_sync_data(file->file);
    if (reason != 0) {
        char name[BLOOMERY_FILE_NAME];
        store->failed = true;
        name_of(file, name);
        return bloomery_fail_system(error, reason, "syncing %s/%s", store->path, name);
    }
    file->dirty = false;
    return BLOOMERY_OK;
}

bloomery_status bloomery_store_sync_names(struct bloomery_store *store, bloomery_error *error)
{
    assert(store->directory >= 0 || !store->names_changed);
    if (!store->names_changed || !store->syncs || store->directory < 0)
        return BLOOMERY_OK;
    if (store->failed)
        return refuse(store, error);
    const int reason = bloomery_sync(store->directory);
    /* Some file systems cannot sync directories and say EINVAL: nothing more can be done there. */
    if (reason != 0 && reason != EINVAL && reason != ENOTSUP) {
        store->failed = true;
        return bloomery_fail_system(error, reason, "syncing the directory %s", store->path);
    }
    store->names_changed = false;
    return BLOOMERY_OK;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

/* The seed of a frame's checksum: it differs with the place where the frame begins. */
static uint64_t seed_at(const struct bloomery_store_file *file, uint64_t offset)
{
    return file->seed + offset;
}

/* Fills in the checksums, and makes the header. */
static void seal(struct bloomery_frame *frame, uint64_t seed, const void *fixed, const void *body,
                 uint8_t header[BLOOMERY_FRAME_HEADER])
{
    assert(fixed != NULL || frame->fixed_bytes == 0);
    assert(body != NULL || frame->body_bytes == 0);
    frame->fixed_checksum = bloomery_checksum(fixed, frame->fixed_bytes, seed);
    frame->body_checksum = bloomery_checksum(body, frame->body_bytes, seed);
    bloomery_store_u32(header, frame->entries);
    bloomery_store_u32(header + 4, frame->fixed_bytes);
    bloomery_store_u32(header + 8, frame->body_bytes);
    bloomery_store_u32(header + 12, 0);
    bloomery_store_u64(header + 16, frame->first);
    bloomery_store_u64(header + 24, frame->fixed_checksum);
    bloomery_store_u64(header + 32, frame->body_checksum);
    bloomery_store_u64(header + 40, bloomery_checksum(header, 40, seed));
}

/* Whether a header is a sound one of this place, and then what it says. */
static bool take_header(const struct bloomery_store_file *file, uint64_t offset,
                        const uint8_t header[BLOOMERY_FRAME_HEADER], struct bloomery_frame *frame)
{
    if (bloomery_load_u32(header + 12) != 0 ||
        bloomery_load_u64(header + 40) != bloomery_checksum(header, 40, seed_at(file, offset)))
        return false;
    frame->entries = bloomery_load_u32(header);
    frame->fixed_bytes = bloomery_load_u32(header + 4);
    frame->body_bytes = bloomery_load_u32(header + 8);
    frame->first = bloomery_load_u64(header + 16);
    frame->fixed_checksum = bloomery_load_u64(header + 24);
    frame->body_checksum = bloomery_load_u64(header + 32);
    return true;
}

bloomery_status bloomery_frame_write(struct bloomery_store *store, struct bloomery_store_file *file,
                                     uint64_t offset, struct bloomery_frame *frame,
                                     const void *fixed, const void *body, bloomery_error *error)
{
    uint8_t header[BLOOMERY_FRAME_HEADER];
    assert(offset >= BLOOMERY_FILE_HEADER);
    seal(frame, seed_at(file, offset), fixed, body, header);
    /* What is written can be read. */
    assert(take_header(file, offset, header, &(struct bloomery_frame){.entries = 0}));
    struct iovec pieces[3] = {
        {.iov_base = header, .iov_len = sizeof header},
        {.iov_len = frame->fixed_bytes},
        {.iov_len = frame->body_bytes},
    };
    memcpy(&pieces[1].iov_base, &fixed, sizeof fixed); /* they are not written to */
    memcpy(&pieces[2].iov_base, &body, sizeof body);
    return write_pieces(store, file, offset, pieces, 3, error);
}

bloomery_status bloomery_frame_header(struct bloomery_store *store,
                                      const struct bloomery_store_file *file, uint64_t offset,
                                      uint64_t end, struct bloomery_frame *frame,
                                      bloomery_error *error)
{
    uint8_t header[BLOOMERY_FRAME_HEADER];
    if (offset > end || end - offset < BLOOMERY_FRAME_HEADER)
        return bloomery_store_damaged(store, file, offset, error,
                                      "no whole frame begins there before byte %" PRIu64, end);
    const bloomery_status status =
        bloomery_store_read(store, file, offset, header, sizeof header, error);
    if (status != BLOOMERY_OK)
        return status;
    if (!take_header(file, offset, header, frame))
        return bloomery_store_damaged(store, file, offset, error, "the header of a frame");
    if (bloomery_frame_bytes(frame) > end - offset)
        return bloomery_store_damaged(store, file, offset, error,
                                      "a frame of %" PRIu32 " entries passes byte %" PRIu64
                                      ", where the file ends",
                                      frame->entries, end);
    return BLOOMERY_OK;
}

bloomery_status bloomery_frame_find(struct bloomery_store *store,
                                    const struct bloomery_store_file *file, uint64_t from,
                                    uint64_t end, uint64_t *offset, struct bloomery_frame *frame,
                                    bloomery_error *error)
{
    uint8_t window[16384];
    while (from < end && end - from >= BLOOMERY_FRAME_HEADER) {
        const size_t bytes = end - from < sizeof window ? (size_t)(end - from) : sizeof window;
        const bloomery_status status = bloomery_store_read(store, file, from, window, bytes, error);
        if (status != BLOOMERY_OK)
            return status;
        const size_t places = bytes - BLOOMERY_FRAME_HEADER + 1;
        for (size_t i = 0; i < places; i++)
            if (take_header(file, from + i, window + i, frame) && frame->entries > 0 &&
                bloomery_frame_bytes(frame) <= end - (from + i)) {
                *offset = from + i;
                return BLOOMERY_OK;
            }
        from += places;
    }
    *offset = end;
    return BLOOMERY_OK;
}

static bloomery_status read_part(struct bloomery_store *store,
                                 const struct bloomery_store_file *file, uint64_t offset,
                                 const struct bloomery_frame *frame, bool body, void *part,
                                 bloomery_error *error)
{
    const uint32_t bytes = body ? frame->body_bytes : frame->fixed_bytes;
    const uint64_t before = BLOOMERY_FRAME_HEADER + (body ? (uint64_t)frame->fixed_bytes : 0);
    const bloomery_status status =
        bloomery_store_read(store, file, offset + before, part, bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    if (bloomery_checksum(part, bytes, seed_at(file, offset)) !=
        (body ? frame->body_checksum : frame->fixed_checksum))
        return bloomery_store_damaged(store, file, offset, error,
                                      "the %s of a frame of %" PRIu32 " entries, number %" PRIu64
                                      " the first",
                                      body ? "keys" : "numbers", frame->entries, frame->first);
    return BLOOMERY_OK;
}

bloomery_status bloomery_frame_fixed(struct bloomery_store *store,
                                     const struct bloomery_store_file *file, uint64_t offset,
                                     const struct bloomery_frame *frame, void *fixed,
                                     bloomery_error *error)
{
    return read_part(store, file, offset, frame, false, fixed, error);
}

bloomery_status bloomery_frame_body(struct bloomery_store *store,
                                    const struct bloomery_store_file *file, uint64_t offset,
                                    const struct bloomery_frame *frame, void *body,
                                    bloomery_error *error)
{
    return read_part(store, file, offset, frame, true, body, error);
}

/* ---- Walking through them -------------------------------------------------------------------- */

bloomery_status bloomery_frames_walk(struct bloomery_frame_walk *walk, bloomery_error *error)
{
    assert(walk->at >= BLOOMERY_FILE_HEADER && walk->to <= walk->end);
    while (walk->at < walk->to) {
        const uint64_t at = walk->at;
        struct bloomery_frame frame = {.entries = 0};
        bloomery_error found = {.text = ""};
        bloomery_status status =
            bloomery_frame_header(walk->store, walk->file, at, walk->end, &frame, &found);
        if (status == BLOOMERY_OK)
            status = walk->fits(walk, &frame, &found);
        /* Where the next one is, before `take` changes its frame; 0: no header says it. */
        uint64_t next = status == BLOOMERY_OK ? at + bloomery_frame_bytes(&frame) : 0;
        if (status == BLOOMERY_OK)
            status = walk->take(walk, &frame, &found);
        if (status == BLOOMERY_CORRUPT && walk->damaged != NULL) {
            status = walk->damaged(walk, &found);
            if (status == BLOOMERY_OK && walk->at == at && at < walk->to && next == 0)
                status = bloomery_frame_find(walk->store, walk->file, at + 1, walk->end, &next,
                                             &frame, &found);
        }
        if (status != BLOOMERY_OK) {
            if (error != NULL)
                *error = found;
            return status;
        }
        if (walk->at == at && at < walk->to) {
            assert(next > at && next <= walk->end);
            walk->at = next;
        }
    }
    return BLOOMERY_OK;
}

bloomery_status bloomery_findings_add(struct bloomery_findings *findings, bloomery_status status,
                                      const bloomery_error *found, bloomery_error *error)
{
    if (status != BLOOMERY_CORRUPT || findings == NULL) {
        if (status != BLOOMERY_OK && error != NULL)
            *error = *found;
        return status;
    }
    findings->damaged++;
    if (findings->report != NULL)
        findings->report(findings->context, found->text);
    return BLOOMERY_OK;
}
