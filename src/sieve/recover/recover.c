/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery as a whole: recover.h tells the order in which things are done, and why. */
#include "sieve/recover/recover.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/versioned.h"
#include "hash/hashes.h"
#include "library.h"
#include "sieve/directory.h"
#include "sieve/disk/disk.h"
#include "sieve/filter_engine.h"
#include "sieve/manifest.h"

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

static void load_queue(uint8_t *from, struct bloomery_recovery_queue *queue)
{
    queue->head.segment = bloomery_load_u64(from);
    queue->head.offset = bloomery_load_u64(from + 8);
    queue->head_index = bloomery_load_u64(from + 16);
    queue->head_number = bloomery_load_u64(from + 24);
    queue->tail.segment = bloomery_load_u64(from + 32);
    queue->tail.offset = bloomery_load_u64(from + 40);
    queue->next = bloomery_load_u64(from + 48);
    queue->queued = bloomery_load_u64(from + 56);
    queue->done = bloomery_load_u64(from + 64);
    queue->leases = bloomery_load_u64(from + 72);
    queue->lease = from + BLOOMERY_QUEUE_STATE;
}

static void store_queue(const struct bloomery_recovery_queue *queue, uint8_t *to)
{
    bloomery_store_u64(to, queue->head.segment);
    bloomery_store_u64(to + 8, queue->head.offset);
    bloomery_store_u64(to + 16, queue->head_index);
    bloomery_store_u64(to + 24, queue->head_number);
    bloomery_store_u64(to + 32, queue->tail.segment);
    bloomery_store_u64(to + 40, queue->tail.offset);
    bloomery_store_u64(to + 48, queue->next);
    bloomery_store_u64(to + 56, queue->queued);
    bloomery_store_u64(to + 64, queue->done);
    bloomery_store_u64(to + 72, queue->leases);
}

/* What the walk relies on; opening checks the rest. */
static bool is_queue(const struct bloomery_recovery_queue *queue, uint64_t bytes)
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
    uint8_t *queue_state;
    uint64_t queue_bytes;
    uint8_t *engine_state;
    uint64_t engine_bytes;
    struct bloomery_recovery_queue queue;
    struct bloomery_queue_position saved; /* memory engine: the filter holds what is before it */
};

static bloomery_status take_apart(bloomery_sieve *sieve, struct parts *parts, bloomery_error *error)
{
    uint8_t *image = sieve->manifest.image;
    const bool disk = sieve->settings.engine == BLOOMERY_SIEVE_DISK;
    assert(bloomery_load_u64(image + 24) >= BLOOMERY_MANIFEST_STATE &&
           bloomery_load_u64(image + 24) <= sieve->manifest.copy_bytes);
    const uint64_t rest = bloomery_load_u64(image + 24) - BLOOMERY_MANIFEST_STATE;
    const uint64_t wanted = disk ? (uint64_t)sieve->settings.partitions * BLOOMERY_PARTITION_STATE
                                 : BLOOMERY_MEMORY_STATE;
    parts->queue_state = image + BLOOMERY_MANIFEST_STATE;
    parts->queue_bytes = bloomery_load_u64(image + BLOOMERY_MANIFEST_LENGTHS);
    parts->engine_bytes = bloomery_load_u64(image + BLOOMERY_MANIFEST_LENGTHS + 8);
    const bool fits = parts->queue_bytes <= rest && parts->queue_bytes >= BLOOMERY_QUEUE_STATE &&
                      parts->engine_bytes == rest - parts->queue_bytes &&
                      parts->engine_bytes == wanted;
    parts->engine_state = parts->queue_state + (fits ? parts->queue_bytes : 0);
    if (fits)
        load_queue(parts->queue_state, &parts->queue);
    if (fits && is_queue(&parts->queue, parts->queue_bytes))
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_CORRUPT, BLOOMERY_MANIFEST_LENGTHS,
                         "%s cannot be recovered: what its manifest says of the queue does not add "
                         "up",
                         sieve->path);
}

/* Puts the queue's state back, which may be shorter; the bytes of the image that are used then. */
static size_t put_together(bloomery_sieve *sieve, struct parts *parts)
{
    uint8_t *image = sieve->manifest.image;
    const uint64_t bytes = BLOOMERY_QUEUE_STATE + parts->queue.leases * BLOOMERY_LEASE_BYTES;
    assert(bytes <= parts->queue_bytes); /* leases go, none comes */
    store_queue(&parts->queue, parts->queue_state);
    memmove(parts->queue_state + bytes, parts->engine_state, parts->engine_bytes);
    bloomery_store_u64(image + BLOOMERY_MANIFEST_LENGTHS, bytes);
    return BLOOMERY_MANIFEST_STATE + bytes + parts->engine_bytes;
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
    uint8_t *state = parts->engine_state;
    const uint64_t generation = bloomery_load_u64(state);
    char name[BLOOMERY_FILE_NAME];
    bloomery_error found = {.text = ""};
    struct bloomery_queue_position *saved = &parts->saved;
    saved->segment = bloomery_load_u64(state + 8);
    saved->offset = bloomery_load_u64(state + 16);
    *lost = false;
    if (saved->segment == 0) /* it was never saved */
        *saved = (struct bloomery_queue_position){1, BLOOMERY_FILE_HEADER};
    if (bloomery_place_before(parts->queue.tail, *saved) || saved->offset < BLOOMERY_FILE_HEADER)
        *saved = parts->queue.head;
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
    bloomery_recovery_tell(recovery, "%s", found.text);
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
    return bloomery_recovery_keep(recovery, name, error);
}

static void put_filter(struct bloomery_recovery *recovery, struct parts *parts, bool lost)
{
    uint8_t *state = parts->engine_state;
    const uint64_t keys = bloomery_load_u64(state + 24);
    assert(recovery->first <= parts->queue.next);
    const uint64_t left = recovery->first > 0 ? parts->queue.next - recovery->first : 0;
    bloomery_store_u64(state + 8, parts->saved.segment);
    bloomery_store_u64(state + 16, parts->saved.offset);
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
    const uint8_t *row = parts->engine_state + number * BLOOMERY_PARTITION_STATE;
    const bool disk = sieve->settings.engine == BLOOMERY_SIEVE_DISK;
    const uint64_t head = parts->queue.head.segment;
    const uint64_t from = !disk && parts->saved.segment < head ? parts->saved.segment : head;
    if (kind == BLOOMERY_FILE_QUEUE)
        return number >= from && number <= parts->queue.tail.segment;
    if (kind == BLOOMERY_FILE_DEAD)
        return generation == bloomery_load_u64(sieve->manifest.image + BLOOMERY_MANIFEST_DEAD);
    if (kind == BLOOMERY_FILE_FILTER)
        return !disk && generation == bloomery_load_u64(parts->engine_state);
    if (!disk || number >= sieve->settings.partitions)
        return false;
    if (kind == BLOOMERY_FILE_PENDING)
        return generation == bloomery_load_u64(row);
    return kind == BLOOMERY_FILE_SEEN && generation == bloomery_load_u64(row + 40);
}

static bool keep_unnamed(void *context, const char *name)
{
    struct keeping *keeping = context;
    enum bloomery_file_kind kind;
    uint64_t number;
    uint64_t generation;
    if (bloomery_directory_take_apart(name, &kind, &number, &generation) &&
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
        const uint8_t *row = parts->engine_state + (uint64_t)i * BLOOMERY_PARTITION_STATE;
        status = keep_rest(recovery, BLOOMERY_FILE_PENDING, i, bloomery_load_u64(row),
                           bloomery_load_u64(row + 8), error);
    }
    return status;
}

/* ---- All of it --------------------------------------------------------------------------- */

static bloomery_status recover_parts(struct bloomery_recovery *recovery, struct parts *parts,
                                     bloomery_error *error)
{
    const bool disk = recovery->sieve->settings.engine == BLOOMERY_SIEVE_DISK;
    bool lost = false;
    bloomery_status status = disk ? bloomery_recovery_disk(recovery, parts->engine_state, error)
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
    struct parts parts = {.queue_bytes = 0};
    bloomery_status status = bloomery_manifest_open_older(sieve, &recovery->result.older, error);
    if (status == BLOOMERY_OK)
        status = take_apart(sieve, &parts, error);
    if (status != BLOOMERY_OK)
        return status;
    sieve->store.seed = bloomery_checksum(sieve->store.id, sizeof sieve->store.id, 0);
    if (recovery->result.older)
        bloomery_recovery_tell(
            recovery,
            "%s/MANIFEST: no copy of what may be the last commit is whole; the "
            "one before it counts, after %" PRIu64 " pushes",
            sieve->path, bloomery_load_u64(sieve->manifest.image + BLOOMERY_MANIFEST_COUNTERS));
    if (sieve->manifest.mends && sieve->manifest.broken_at != UINT64_MAX)
        bloomery_recovery_tell(recovery,
                               "%s/MANIFEST is damaged at %" PRIu64 ": one of the two copies of "
                               "the last commit; the other one counts, and is copied there",
                               sieve->path, sieve->manifest.broken_at);
    assert(recovery->own == NULL && sieve->engine == NULL);
    recovery->own = bloomery_store_take(&sieve->store, OWN);
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
        status = bloomery_manifest_replace(sieve, put_together(sieve, &parts), error);
    return status;
}

/* Opened as ever, which removes and cuts what does not count, and read once more. `directory`: it,
 * locked all the time, or who waits for it would come between. */
static bloomery_status look_again(const bloomery_sieve_options *options, int directory,
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
        bloomery_store_give(&recovery.sieve->store, recovery.own, OWN);
        if (status == BLOOMERY_OK) {
            directory = recovery.sieve->store.directory;
            recovery.sieve->store.directory = -1;
        }
        bloomery_sieve_destroy(recovery.sieve);
    }
    if (status == BLOOMERY_OK)
        status = look_again(&plain, directory, &recovery, error);
    if (result != NULL)
        bloomery_sized_give(&recovery.result, sizeof recovery.result, result,
                            BLOOMERY_SIEVE_RECOVERY_BYTES_FIRST);
    return status;
}
