/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the manifest. manifest.h tells its layout, and why it has four copies; manifest_read.c
 * reads it. */
#include "sieve/manifest.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/io.h"
#include "sieve/disk/disk.h"
#include "sieve/filter_engine.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
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
    sieve->manifest.image = bloomery_store_take(&sieve->store, bytes);
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

static void put_counters(const struct bloomery_sieve_counters *counters, uint8_t *to)
{
    bloomery_store_u64(to, counters->pushed);
    bloomery_store_u64(to + 8, counters->new_keys);
    bloomery_store_u64(to + 16, counters->seen);
    bloomery_store_u64(to + 24, counters->pending);
    bloomery_store_u64(to + 32, counters->forced);
    bloomery_store_u64(to + 40, counters->marked);
    bloomery_store_f64(to + 48, counters->drops);
}

/* The state as it is now; the bytes that it takes. */
static size_t put_state(bloomery_sieve *sieve)
{
    uint8_t *image = sieve->manifest.image;
    uint8_t *state = image + BLOOMERY_MANIFEST_STATE;
    memset(image, 0, BLOOMERY_MANIFEST_STATE);
    const size_t queue = bloomery_queue_store(sieve->queue, state);
    const size_t engine = sieve->engine->store(sieve, state + queue);
    const size_t used = BLOOMERY_MANIFEST_STATE + queue + engine;
    assert(queue >= BLOOMERY_QUEUE_STATE && used <= sieve->manifest.copy_bytes);
    memcpy(image, bloomery_manifest_magic, sizeof bloomery_manifest_magic);
    put_settings(sieve, image);
    put_counters(&sieve->counters, image + BLOOMERY_MANIFEST_COUNTERS);
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

/* Within the directory that is open, wherever that has gone meanwhile. */
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
    bloomery_store_give(&sieve->store, sieve->manifest.image, sieve->manifest.copy_bytes);
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
    bloomery_store_give(&sieve->store, sieve->manifest.image, sieve->manifest.copy_bytes);
    sieve->manifest.image = NULL;
}
