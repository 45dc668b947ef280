/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest, written and read. internal.h tells its layout, and why it has four copies. */
#include "sieve/disk.h"
#include "sieve/internal.h"
#include "sieve/memory_engine.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/io.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

const uint8_t bloomery_manifest_magic[8] = "BLMSIEVE";

enum { CHECKSUM = 40 };

/* A name that is_nameless of directory.c knows: what a crash leaves of it is removed. */
static const char unfinished[] = ".MANIFEST.new.tmp";

uint64_t bloomery_manifest_slot(const struct bloomery_sieve_settings *settings)
{
    const uint64_t page = BLOOMERY_MANIFEST_PAGE;
    const uint64_t engine = settings->engine == BLOOMERY_SIEVE_DISK
                                ? (uint64_t)settings->partitions * BLOOMERY_PARTITION_STATE
                                : BLOOMERY_MEMORY_STATE;
    const uint64_t bytes = BLOOMERY_MANIFEST_STATE + BLOOMERY_QUEUE_STATE +
                           (uint64_t)settings->leases * BLOOMERY_LEASE_BYTES + engine;
    assert(bytes <= BLOOMERY_MANIFEST_MAX - page); /* reading takes none that is longer */
    return (bytes + page - 1) / page * page;
}

/* ---- The image --------------------------------------------------------------------------- */

bloomery_status bloomery_manifest_image(bloomery_sieve *sieve, uint64_t bytes,
                                        bloomery_error *error)
{
    assert(sieve->manifest.image == NULL && bytes % BLOOMERY_MANIFEST_PAGE == 0);
    sieve->manifest.image = bloomery_store_allocate(&sieve->store, bytes);
    sieve->manifest.copy_bytes = bytes;
    if (sieve->manifest.image != NULL)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "no memory for a manifest of %llu bytes",
                         (unsigned long long)bytes);
}

void bloomery_manifest_seal(uint8_t *image, size_t used)
{
    assert(used >= BLOOMERY_MANIFEST_STATE);
    bloomery_store_u64(image + CHECKSUM, 0);
    bloomery_store_u64(image + CHECKSUM, bloomery_checksum(image, used, 0));
}

bool bloomery_manifest_is_sealed(uint8_t *image, size_t used)
{
    assert(used >= BLOOMERY_MANIFEST_STATE);
    const uint64_t checksum = bloomery_load_u64(image + CHECKSUM);
    bloomery_store_u64(image + CHECKSUM, 0);
    const bool sealed = bloomery_checksum(image, used, 0) == checksum;
    bloomery_store_u64(image + CHECKSUM, checksum);
    return sealed;
}

static void put_settings(const bloomery_sieve *sieve, uint8_t *image)
{
    const struct bloomery_sieve_settings *settings = &sieve->settings;
    memcpy(image + 48, sieve->store.id, sizeof sieve->store.id);
    bloomery_store_u32(image + 64, settings->engine);
    bloomery_store_u32(image + 68, settings->fingerprint_bits);
    bloomery_store_u32(image + 72, settings->partitions);
    bloomery_store_u32(image + 76, settings->full);
    bloomery_store_u32(image + 80, settings->leases);
    bloomery_store_u32(image + 84, settings->hash);
    bloomery_store_u32(image + 88, settings->ordered);
    bloomery_store_u32(image + BLOOMERY_MANIFEST_UNSYNCED, !sieve->store.syncs);
    bloomery_store_u64(image + 96, settings->keys);
    bloomery_store_f64(image + 104, settings->rate);
    memcpy(image + 112, settings->secret, sizeof settings->secret);
    memcpy(image + 128, settings->canon, sizeof settings->canon);
    memcpy(image + 160, settings->dialect, sizeof settings->dialect);
}

/* The state as it is now; the bytes that it takes. */
static size_t put_state(bloomery_sieve *sieve)
{
    const struct bloomery_sieve_counters *counters = &sieve->counters;
    uint8_t *image = sieve->manifest.image;
    uint8_t *state = image + BLOOMERY_MANIFEST_STATE;
    memset(image, 0, BLOOMERY_MANIFEST_STATE);
    const size_t queue = bloomery_queue_store(sieve->queue, state);
    const size_t engine = sieve->engine->store(sieve, state + queue);
    const size_t used = BLOOMERY_MANIFEST_STATE + queue + engine;
    assert(queue >= BLOOMERY_QUEUE_STATE && used <= sieve->manifest.copy_bytes);
    memcpy(image, bloomery_manifest_magic, sizeof bloomery_manifest_magic);
    put_settings(sieve, image);
    uint8_t *const to = image + BLOOMERY_MANIFEST_COUNTERS;
    bloomery_store_u64(to, counters->pushed);
    bloomery_store_u64(to + 8, counters->new_keys);
    bloomery_store_u64(to + 16, counters->seen);
    bloomery_store_u64(to + 24, counters->pending);
    bloomery_store_u64(to + 32, counters->forced);
    bloomery_store_u64(to + 40, counters->marked);
    bloomery_store_f64(to + 48, counters->drops);
    bloomery_store_u64(image + BLOOMERY_MANIFEST_LENGTHS, queue);
    bloomery_store_u64(image + BLOOMERY_MANIFEST_LENGTHS + 8, engine);
    bloomery_store_f64(image + BLOOMERY_MANIFEST_LONGEST, bloomery_queue_longest(sieve->queue));
    bloomery_dead_store(&sieve->dead, image + BLOOMERY_MANIFEST_DEAD);
    return used;
}

/* The image becomes a copy of this generation. */
static void put_generation(bloomery_sieve *sieve, uint64_t generation, size_t used)
{
    uint8_t *image = sieve->manifest.image;
    assert(generation > 0 && used <= sieve->manifest.copy_bytes);
    bloomery_store_u32(image + 8, BLOOMERY_MANIFEST_VERSION);
    bloomery_store_u32(image + 12, (uint32_t)(generation & 1));
    bloomery_store_u64(image + 16, sieve->manifest.copy_bytes);
    bloomery_store_u64(image + 24, used);
    bloomery_store_u64(image + 32, generation);
    bloomery_manifest_seal(image, used);
}

/* ---- Writing ----------------------------------------------------------------------------- */

static bloomery_status write_copy(bloomery_sieve *sieve, int file, uint64_t slot, uint64_t copy,
                                  size_t bytes, bloomery_error *error)
{
    const uint64_t offset = (slot * BLOOMERY_MANIFEST_COPIES + copy) * sieve->manifest.copy_bytes;
    assert(slot < 2 && copy < BLOOMERY_MANIFEST_COPIES && bytes <= sieve->manifest.copy_bytes);
    assert(!sieve->store.read_only);
    sieve->store.bytes_written += bytes;
    const int reason = bloomery_write_at(file, offset, sieve->manifest.image, bytes);
    return reason == 0 ? BLOOMERY_OK
                       : bloomery_fail_system(error, reason, "writing %s/MANIFEST", sieve->path);
}

bloomery_status bloomery_manifest_write(bloomery_sieve *sieve, bloomery_error *error)
{
    struct bloomery_manifest *manifest = &sieve->manifest;
    assert(manifest->file >= 0 && manifest->image != NULL);
    const uint64_t generation = manifest->generation + 1;
    const uint64_t slot = generation & 1;
    const uint32_t first = manifest->first[slot];
    const size_t used = put_state(sieve);
    put_generation(sieve, generation, used);
    const bloomery_status status = write_copy(sieve, manifest->file, slot, first, used, error);
    if (status != BLOOMERY_OK)
        return status;
    const int reason = sieve->store.syncs ? bloomery_sync_data(manifest->file) : 0;
    if (reason != 0) {
        /* Which state is on the disk is not known. */
        sieve->store.failed = true;
        return bloomery_fail_system(error, reason, "syncing %s/MANIFEST", sieve->path);
    }
    manifest->generation = generation;
    /* The commit is made. If the second copy fails, it is the one to be written first when its
     * turn comes. */
    manifest->first[slot] = !first;
    if (write_copy(sieve, manifest->file, slot, !first, used, NULL) == BLOOMERY_OK)
        manifest->first[slot] = 0;
    return BLOOMERY_OK;
}

/* If the second copy of the last commit is not there, the first one may not be durable. Its process
 * was killed in between, or its sync failed, after which the system takes for written what is not.
 * So it is written again. */
bloomery_status bloomery_manifest_settle(bloomery_sieve *sieve, bloomery_error *error)
{
    const struct bloomery_manifest *manifest = &sieve->manifest;
    const uint64_t slot = manifest->generation & 1;
    const size_t used = (size_t)bloomery_load_u64(manifest->image + 24);
    if (!sieve->store.syncs || !manifest->mends)
        return BLOOMERY_OK;
    bloomery_status status =
        write_copy(sieve, manifest->file, slot, !manifest->first[slot], used, error);
    const int reason = status == BLOOMERY_OK ? bloomery_sync_data(manifest->file) : 0;
    if (reason != 0)
        status = bloomery_fail_system(error, reason, "syncing %s/MANIFEST", sieve->path);
    return status;
}

void bloomery_manifest_mend(bloomery_sieve *sieve)
{
    struct bloomery_manifest *manifest = &sieve->manifest;
    const uint64_t slot = manifest->generation & 1;
    const size_t used = (size_t)bloomery_load_u64(manifest->image + 24);
    if (manifest->mends &&
        write_copy(sieve, manifest->file, slot, manifest->first[slot], used, NULL) == BLOOMERY_OK)
        manifest->first[slot] = 0;
    manifest->mends = false;
}

/* ---- Making ------------------------------------------------------------------------------ */

/* All four: both slots tell the same state, so that either may be lost. */
static bloomery_status write_copies(bloomery_sieve *sieve, int file, uint64_t generation,
                                    size_t used, bloomery_error *error)
{
    struct bloomery_manifest *manifest = &sieve->manifest;
    bloomery_status status = BLOOMERY_OK;
    assert(generation >= 2 && used <= manifest->copy_bytes);
    memset(manifest->image + used, 0, manifest->copy_bytes - used);
    for (uint64_t made = generation - 1; status == BLOOMERY_OK && made <= generation; made++) {
        put_generation(sieve, made, used);
        for (uint64_t copy = 0; status == BLOOMERY_OK && copy < BLOOMERY_MANIFEST_COPIES; copy++)
            status = write_copy(sieve, file, made & 1, copy, manifest->copy_bytes, error);
    }
    const int reason = status == BLOOMERY_OK ? bloomery_sync(file) : 0;
    if (reason != 0)
        status = bloomery_fail_system(error, reason, "syncing %s/MANIFEST", sieve->path);
    return status;
}

/* Within the directory that is open, wherever that has been moved to. */
static bloomery_status give_name(bloomery_sieve *sieve, bloomery_error *error)
{
    const int directory = sieve->store.directory;
    if (renameat(directory, unfinished, directory, "MANIFEST") != 0)
        return bloomery_fail_system(error, errno, "renaming %s/%s", sieve->path, unfinished);
    const int reason = bloomery_sync(directory);
    if (reason == 0 || reason == EINVAL || reason == ENOTSUP)
        return BLOOMERY_OK;
    sieve->store.failed = true;
    return bloomery_fail_system(error, reason, "syncing the directory %s", sieve->path);
}

/* For the owner alone, or for those who could read the one before. */
static int create_unfinished(const bloomery_sieve *sieve)
{
    struct stat facts;
    const int file = openat(sieve->store.directory, unfinished,
                            O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file >= 0 && sieve->manifest.file >= 0 && fstat(sieve->manifest.file, &facts) == 0)
        (void)!fchmod(file, facts.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO));
    return file;
}

bloomery_status bloomery_manifest_replace(bloomery_sieve *sieve, size_t used, bloomery_error *error)
{
    struct bloomery_manifest *manifest = &sieve->manifest;
    const int directory = sieve->store.directory;
    const uint64_t generation = manifest->generation + 2;
    assert(directory >= 0 && !sieve->store.read_only);
    (void)!unlinkat(directory, unfinished, 0);
    const int file = create_unfinished(sieve);
    if (file < 0)
        return bloomery_fail_system(error, errno, "making %s/%s", sieve->path, unfinished);
    bloomery_status status = write_copies(sieve, file, generation, used, error);
    if (status == BLOOMERY_OK)
        status = give_name(sieve, error);
    if (status != BLOOMERY_OK) {
        close(file);
        (void)!unlinkat(directory, unfinished, 0);
        return status;
    }
    if (manifest->file >= 0)
        close(manifest->file);
    manifest->file = file;
    manifest->generation = generation;
    manifest->first[0] = 0;
    manifest->first[1] = 0;
    return BLOOMERY_OK;
}

bloomery_status bloomery_manifest_make(bloomery_sieve *sieve, bloomery_error *error)
{
    const bloomery_status status =
        bloomery_manifest_image(sieve, bloomery_manifest_slot(&sieve->settings), error);
    return status == BLOOMERY_OK ? bloomery_manifest_replace(sieve, put_state(sieve), error)
                                 : status;
}

bloomery_status bloomery_manifest_resize(bloomery_sieve *sieve, bloomery_error *error)
{
    const uint64_t bytes = bloomery_manifest_slot(&sieve->settings);
    bloomery_store_release(&sieve->store, sieve->manifest.image, sieve->manifest.copy_bytes);
    sieve->manifest.image = NULL;
    const bloomery_status status = bloomery_manifest_image(sieve, bytes, error);
    return status == BLOOMERY_OK ? bloomery_manifest_replace(sieve, put_state(sieve), error)
                                 : status;
}

void bloomery_manifest_close(bloomery_sieve *sieve)
{
    if (sieve->manifest.file >= 0)
        close(sieve->manifest.file);
    sieve->manifest.file = -1;
    bloomery_store_release(&sieve->store, sieve->manifest.image, sieve->manifest.copy_bytes);
    sieve->manifest.image = NULL;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Which of its copies are whole, and which counts. */

enum {
    SLOTS = 2,
    COPIES = BLOOMERY_MANIFEST_COPIES,
    ALL_COPIES = SLOTS * COPIES,
    CLOCK_SECONDS = 60, /* that a clock may be set back by */
};

/* What a copy is. */
struct copy {
    uint64_t offset;
    uint32_t slot;
    bool ours;
    bool sound;
    uint32_t version;
    uint64_t generation;
};

/* ---- One copy ---------------------------------------------------------------------------- */

static bloomery_status read_bytes(bloomery_sieve *sieve, uint64_t offset, void *data, size_t bytes,
                                  bloomery_error *error)
{
    uint64_t moved = 0;
    assert(sieve->manifest.file >= 0);
    const int reason = bloomery_read_at(sieve->manifest.file, offset, data, bytes, &moved);
    if (reason != 0)
        return bloomery_fail_system(error, reason, "reading %s/MANIFEST", sieve->path);
    if (moved < bytes)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, offset + moved, "%s/MANIFEST is cut short",
                             sieve->path);
    return BLOOMERY_OK;
}

/* A copy into the image. Other versions have the fields up to the checksum in the same places. */
static bloomery_status read_copy(bloomery_sieve *sieve, struct copy *copy, bloomery_error *error)
{
    const uint64_t bytes = sieve->manifest.copy_bytes;
    uint8_t *image = sieve->manifest.image;
    assert(image != NULL && bytes >= BLOOMERY_MANIFEST_PAGE); /* which is read first */
    bloomery_status status = read_bytes(sieve, copy->offset, image, BLOOMERY_MANIFEST_PAGE, error);
    copy->ours = false;
    copy->sound = false;
    if (status != BLOOMERY_OK ||
        memcmp(image, bloomery_manifest_magic, sizeof bloomery_manifest_magic) != 0)
        return status;
    copy->ours = true;
    copy->version = bloomery_load_u32(image + 8);
    copy->generation = bloomery_load_u64(image + 32);
    const uint64_t used = bloomery_load_u64(image + 24);
    if (bloomery_load_u64(image + 16) != bytes || used < BLOOMERY_MANIFEST_STATE || used > bytes ||
        bloomery_load_u32(image + 12) != copy->slot)
        return BLOOMERY_OK;
    if (used > BLOOMERY_MANIFEST_PAGE)
        status = read_bytes(sieve, copy->offset + BLOOMERY_MANIFEST_PAGE,
                            image + BLOOMERY_MANIFEST_PAGE, used - BLOOMERY_MANIFEST_PAGE, error);
    copy->sound = status == BLOOMERY_OK && bloomery_manifest_is_sealed(image, used);
    return status;
}

static bool counts(const struct copy *copy)
{
    return copy->sound && copy->version == BLOOMERY_MANIFEST_VERSION;
}

/* ---- Which one counts -------------------------------------------------------------------- */

/* Another version is believed if its checksum is right, or if there is nothing better. A byte that
 * is damaged in one copy must not keep the others from counting. */
static bloomery_status check_versions(const bloomery_sieve *sieve, const struct copy *copies,
                                      bloomery_error *error)
{
    bool any = false;
    bool ours = false;
    for (size_t i = 0; i < ALL_COPIES; i++) {
        any = any || counts(&copies[i]);
        ours = ours || copies[i].ours;
    }
    if (!ours)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0, "%s/MANIFEST is not that of a sieve",
                             sieve->path);
    for (size_t i = 0; i < ALL_COPIES; i++)
        if (copies[i].ours && copies[i].version != BLOOMERY_MANIFEST_VERSION &&
            (copies[i].sound || !any))
            return bloomery_fail(error, BLOOMERY_WRONG_VERSION, 8,
                                 "%s is of version %u, this program's is %u", sieve->path,
                                 copies[i].version, (unsigned)BLOOMERY_MANIFEST_VERSION);
    if (any)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_CORRUPT, 40,
                         "%s/MANIFEST is damaged: no copy of a state in it has its checksum",
                         sieve->path);
}

/* The best copy of each slot; NULL: none is whole. */
struct choice {
    const struct copy *best[SLOTS];
    uint64_t newest; /* the slot */
};

static struct choice choose(const struct copy *copies)
{
    struct choice choice = {.newest = 0};
    for (size_t i = 0; i < ALL_COPIES; i++) {
        const struct copy **best = &choice.best[i / COPIES];
        if (counts(&copies[i]) && (*best == NULL || copies[i].generation > (*best)->generation))
            *best = &copies[i];
    }
    const struct copy *const *best = choice.best;
    choice.newest =
        best[0] == NULL || (best[1] != NULL && best[1]->generation > best[0]->generation);
    return choice;
}

/* Whether the last commit may be one that cannot be read. */
static bloomery_status check_slots(const bloomery_sieve *sieve, const struct choice *choice,
                                   const struct copy *copies, bloomery_error *error)
{
    assert(choice->best[choice->newest] != NULL);
    assert(choice->best[choice->newest]->slot == choice->newest);
    if (choice->best[!choice->newest] != NULL)
        return BLOOMERY_OK;
    const uint64_t pushed = bloomery_load_u64(sieve->manifest.image + BLOOMERY_MANIFEST_COUNTERS);
    return bloomery_fail(error, BLOOMERY_CORRUPT, copies[COPIES * (uint64_t)!choice->newest].offset,
                         "%s/MANIFEST is damaged: neither copy of one of the last two commits is "
                         "whole. Nothing was changed. 'bloomery sieve recover %s' goes back to a "
                         "commit after %llu pushes",
                         sieve->path, sieve->path, (unsigned long long)pushed);
}

/* What the next commits have to know of the copies. */
static void learn_copies(bloomery_sieve *sieve, const struct choice *choice,
                         const struct copy *copies)
{
    struct bloomery_manifest *manifest = &sieve->manifest;
    for (uint64_t slot = 0; slot < SLOTS; slot++) {
        const struct copy *pair = &copies[COPIES * slot];
        assert(pair[0].slot == slot && pair[1].slot == slot);
        manifest->first[slot] = choice->best[slot] == &pair[0] ? 1 : 0;
        if (counts(&pair[0]) && counts(&pair[1]) && pair[0].generation == pair[1].generation)
            manifest->first[slot] = 0;
        else if (slot == choice->newest) {
            const struct copy *worse = &pair[manifest->first[slot]];
            manifest->mends = true;
            manifest->broken_at = worse->sound ? UINT64_MAX : worse->offset;
        }
    }
}

/* The state of the last commit into the image. `older`, unless NULL: a slot without a whole copy is
 * passed over, and it becomes whether there is one. */
static bloomery_status choose_state(bloomery_sieve *sieve, bool *older, bloomery_error *error)
{
    struct copy copies[ALL_COPIES];
    bloomery_status status = BLOOMERY_OK;
    for (size_t i = 0; status == BLOOMERY_OK && i < ALL_COPIES; i++) {
        copies[i] =
            (struct copy){.offset = i * sieve->manifest.copy_bytes, .slot = (uint32_t)(i / COPIES)};
        status = read_copy(sieve, &copies[i], error);
    }
    if (status == BLOOMERY_OK)
        status = check_versions(sieve, copies, error);
    if (status != BLOOMERY_OK)
        return status;
    const struct choice choice = choose(copies);
    const struct copy *best = choice.best[choice.newest];
    /* The next commit overwrites the other slot. */
    if (best == NULL || (best->generation & 1) != choice.newest || best->generation >> 62 != 0)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 32,
                             "%s/MANIFEST is damaged: a slot in the other's place", sieve->path);
    struct copy newest = *best;
    status = read_copy(sieve, &newest, error);
    if (status != BLOOMERY_OK)
        return status;
    /* A reader without a lock may meet a copy that is being written. */
    if (!newest.sound || newest.generation != best->generation)
        return bloomery_fail(error, BLOOMERY_CORRUPT, newest.offset,
                             "%s/MANIFEST was changed while it was read", sieve->path);
    status = check_slots(sieve, &choice, copies, error);
    if (older != NULL) {
        *older = status != BLOOMERY_OK;
        status = BLOOMERY_OK;
    }
    if (status != BLOOMERY_OK)
        return status;
    sieve->manifest.generation = newest.generation;
    learn_copies(sieve, &choice, copies);
    return BLOOMERY_OK;
}

/* ---- Opening ----------------------------------------------------------------------------- */

static bool terminated(const char *text, size_t room)
{
    return memchr(text, 0, room) != NULL;
}

static bloomery_status get_settings(bloomery_sieve *sieve, bloomery_error *error)
{
    struct bloomery_sieve_settings *settings = &sieve->settings;
    const uint8_t *image = sieve->manifest.image;
    memcpy(sieve->store.id, image + 48, sizeof sieve->store.id);
    settings->engine = bloomery_load_u32(image + 64);
    settings->fingerprint_bits = bloomery_load_u32(image + 68);
    settings->partitions = bloomery_load_u32(image + 72);
    settings->full = bloomery_load_u32(image + 76);
    settings->leases = bloomery_load_u32(image + 80);
    settings->hash = bloomery_load_u32(image + 84);
    settings->ordered = bloomery_load_u32(image + 88) == 1;
    settings->keys = bloomery_load_u64(image + 96);
    settings->rate = bloomery_load_f64(image + 104);
    memcpy(settings->secret, image + 112, sizeof settings->secret);
    memcpy(settings->canon, image + 128, sizeof settings->canon);
    memcpy(settings->dialect, image + 160, sizeof settings->dialect);
    const bool disk = settings->engine == BLOOMERY_SIEVE_DISK;
    const uint32_t partitions = settings->partitions;
    if ((disk || settings->engine == BLOOMERY_SIEVE_MEMORY) &&
        settings->full <= BLOOMERY_SIEVE_WARN && settings->leases >= 1 &&
        settings->leases <= 1000000 && terminated(settings->canon, sizeof settings->canon) &&
        terminated(settings->dialect, sizeof settings->dialect) &&
        bloomery_load_u32(image + 88) <= 1 &&
        (!disk || ((settings->fingerprint_bits == 64 || settings->fingerprint_bits == 48) &&
                   partitions >= 1 && partitions <= BLOOMERY_SIEVE_PARTITIONS_MAX &&
                   (partitions & (partitions - 1)) == 0)) &&
        bloomery_manifest_slot(settings) == sieve->manifest.copy_bytes)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_CORRUPT, 64,
                         "%s/MANIFEST is damaged: settings that no sieve has", sieve->path);
}

static bloomery_status open_manifest(bloomery_sieve *sieve, bool *older, bloomery_error *error)
{
    const int access = sieve->store.read_only ? O_RDONLY : O_RDWR;
    const uint64_t pages = ALL_COPIES * (uint64_t)BLOOMERY_MANIFEST_PAGE;
    struct stat facts;
    assert(sieve->manifest.file < 0 && sieve->manifest.image == NULL);
    /* O_NONBLOCK, here and of all files of a sieve: a FIFO waits for its writer otherwise. */
    sieve->manifest.file =
        openat(sieve->store.directory, "MANIFEST", access | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (sieve->manifest.file < 0 && errno == ENOENT)
        return bloomery_directory_without_manifest(sieve, true, error);
    if (sieve->manifest.file < 0 || fstat(sieve->manifest.file, &facts) != 0)
        return bloomery_fail_system(error, errno, "opening %s/MANIFEST", sieve->path);
    const uint64_t bytes = (uint64_t)facts.st_size;
    if (!S_ISREG(facts.st_mode))
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0, "%s/MANIFEST is not a regular file",
                             sieve->path);
    if (bytes < pages || bytes % pages != 0 || bytes / ALL_COPIES > BLOOMERY_MANIFEST_MAX)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0,
                             "%s/MANIFEST is not that of a sieve, or cut short", sieve->path);
    bloomery_status status = bloomery_manifest_image(sieve, bytes / ALL_COPIES, error);
    if (status == BLOOMERY_OK)
        status = choose_state(sieve, older, error);
    return status == BLOOMERY_OK ? get_settings(sieve, error) : status;
}

bloomery_status bloomery_manifest_open(bloomery_sieve *sieve, bloomery_error *error)
{
    sieve->manifest.broken_at = UINT64_MAX;
    return open_manifest(sieve, NULL, error);
}

bloomery_status bloomery_manifest_open_older(bloomery_sieve *sieve, bool *undone,
                                             bloomery_error *error)
{
    sieve->manifest.broken_at = UINT64_MAX;
    return open_manifest(sieve, undone, error);
}

/* ---- What it says ------------------------------------------------------------------------ */

bool bloomery_manifest_unsynced(const bloomery_sieve *sieve)
{
    assert(sieve->manifest.image != NULL);
    return bloomery_load_u32(sieve->manifest.image + BLOOMERY_MANIFEST_UNSYNCED) != 0;
}

/* The queue, whose leases go on if that is wished and can be. The longest lease that
 * is out, granted now, would end at `latest`. One that ends later was granted by a clock that ran
 * ahead. Some seconds are allowed for, so that a clock that is set right by them ends nothing. */
static bloomery_status restore_queue(bloomery_sieve *sieve, const uint8_t *from, size_t bytes,
                                     bool keep_leases, bloomery_error *error)
{
    const double stored = bloomery_load_f64(sieve->manifest.image + BLOOMERY_MANIFEST_LONGEST);
    const bool known = isfinite(stored) && stored > 0;
    const double longest = known ? stored : fmax(sieve->lease, BLOOMERY_SIEVE_LEASE_SECONDS);
    const double latest = bloomery_sieve_wall_clock() + longest + CLOCK_SECONDS;
    bool ended = false;
    const bloomery_status status = bloomery_queue_restore(sieve->queue, from, bytes, keep_leases,
                                                          fmax(latest, 0), &ended, error);
    bloomery_queue_set_longest(sieve->queue, longest);
    /* What comes again is to be so on the disk as well. */
    sieve->changed = sieve->changed || ended;
    sieve->durable_done = bloomery_queue_done(sieve->queue);
    return status;
}

bloomery_status bloomery_manifest_parts(const bloomery_sieve *sieve,
                                        struct bloomery_manifest_parts *parts,
                                        bloomery_error *error)
{
    uint8_t *image = sieve->manifest.image;
    const uint64_t used = bloomery_load_u64(image + 24);
    assert(used >= BLOOMERY_MANIFEST_STATE && used <= sieve->manifest.copy_bytes);
    const uint64_t rest = used - BLOOMERY_MANIFEST_STATE;
    parts->queue = parts->engine = image + BLOOMERY_MANIFEST_STATE;
    parts->queue_bytes = bloomery_load_u64(image + BLOOMERY_MANIFEST_LENGTHS);
    parts->engine_bytes = bloomery_load_u64(image + BLOOMERY_MANIFEST_LENGTHS + 8);
    if (parts->queue_bytes > rest || parts->engine_bytes != rest - parts->queue_bytes)
        return bloomery_fail(error, BLOOMERY_CORRUPT, BLOOMERY_MANIFEST_LENGTHS,
                             "%s/MANIFEST is damaged: its parts do not add up", sieve->path);
    parts->engine += parts->queue_bytes;
    return BLOOMERY_OK;
}

void bloomery_manifest_counters(const bloomery_sieve *sieve,
                                struct bloomery_sieve_counters *counters)
{
    const uint8_t *from = sieve->manifest.image + BLOOMERY_MANIFEST_COUNTERS;
    counters->pushed = bloomery_load_u64(from);
    counters->new_keys = bloomery_load_u64(from + 8);
    counters->seen = bloomery_load_u64(from + 16);
    counters->pending = bloomery_load_u64(from + 24);
    counters->forced = bloomery_load_u64(from + 32);
    counters->marked = bloomery_load_u64(from + 40);
    counters->drops = bloomery_load_f64(from + 48);
}

bloomery_status bloomery_manifest_restore(bloomery_sieve *sieve, bool keep_leases,
                                          bloomery_error *error)
{
    struct bloomery_manifest_parts parts;
    bloomery_status status = bloomery_manifest_parts(sieve, &parts, error);
    if (status != BLOOMERY_OK)
        return status;
    bloomery_manifest_counters(sieve, &sieve->counters);
    status = restore_queue(sieve, parts.queue, parts.queue_bytes, keep_leases, error);
    if (status == BLOOMERY_OK)
        status = bloomery_dead_restore(&sieve->dead, sieve->manifest.image + BLOOMERY_MANIFEST_DEAD,
                                       error);
    return status == BLOOMERY_OK
               ? sieve->engine->restore(sieve, parts.engine, parts.engine_bytes, error)
               : status;
}

void bloomery_manifest_verify(const bloomery_sieve *sieve, struct bloomery_findings *findings)
{
    const struct bloomery_manifest *manifest = &sieve->manifest;
    bloomery_error found;
    if (manifest->file < 0 || !manifest->mends || manifest->broken_at == UINT64_MAX)
        return;
    const bloomery_status status = bloomery_fail(
        &found, BLOOMERY_CORRUPT, manifest->broken_at,
        "%s/MANIFEST is damaged at %llu: one of the two copies of the last commit; the "
        "other one counts, and the next command that writes makes them alike",
        sieve->path, (unsigned long long)manifest->broken_at);
    (void)bloomery_findings_add(findings, status, &found, NULL);
}
