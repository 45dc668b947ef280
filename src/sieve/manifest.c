/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MANIFEST: what counts. Two slots of one size, written in turn:
 *
 *     | slot 0                          | slot 1                          |
 *       header, settings, counters, queue, leases, engine, then anything
 *
 * A commit syncs all other files, then writes the slot that is not the newest, and syncs that. A slot that was torn by a
 * power cut has a wrong checksum, and the other one, whose files are all still there, counts. So a commit takes one
 * write in place and no renaming. A slot, little-endian:
 *
 *     0    "BLMSIEVE"
 *     8    version             u32
 *     12   number of the slot  u32
 *     16   bytes of a slot     u64
 *     24   bytes used          u64
 *     32   generation          u64    the greater one is the newer slot
 *     40   checksum            u64    XXH3-64 of the used bytes with zeros here, seed 0
 *     48   id                  16 bytes: drawn when the sieve was made; the seed of the other files' checksums
 *     64   engine, fingerprint bits, partitions, what to do when full, leases, hash, ordered, not synced    u32 each
 *     96   keys u64, rate f64
 *     112  secret key of the hash      16 bytes
 *     128  name of the canonicaliser   32 bytes
 *     160  name of the dialect         32 bytes
 *     192  pushed, new, seen, pending, forced, noted u64, expected drops f64
 *     248  bytes of the queue's state, bytes of the engine's    u64 each
 *     264  seconds of the longest lease that is out, or more    f64, 0: not known
 *     272  0, up to
 *     320  the queue's state, the engine's state
 */
#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "sieve/disk.h"
#include "sieve/memory.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const uint8_t magic[8] = "BLMSIEVE";

enum {
    CHECKSUM = 40,
    UNSYNCED = 92,
    COUNTERS = 192,
    LENGTHS = 248,
    LONGEST = 264,
    STATE = 320,
    PAGE = 4096,
    PAGES = 2 * PAGE,
    SLOT_MOST = 64 << 20,
    CLOCK_SECONDS = 60, /* that a clock may be set back by */
};

uint64_t bloomery_manifest_slot(const struct bloomery_sieve_settings *settings)
{
    const uint64_t engine = settings->engine == BLOOMERY_SIEVE_DISK
                                ? (uint64_t)settings->partitions * BLOOMERY_PARTITION_STATE
                                : BLOOMERY_MEMORY_STATE;
    const uint64_t bytes =
        STATE + BLOOMERY_QUEUE_STATE + (uint64_t)settings->leases * BLOOMERY_LEASE_BYTES + engine;
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* ---- Writing ----------------------------------------------------------------------------- */

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
    bloomery_store_u32(image + UNSYNCED, !sieve->store.syncs);
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
    bloomery_store_u64(to + 40, counters->noted);
    bloomery_store_f64(to + 48, counters->drops);
}

/* The slot of generation `generation`; its bytes used. */
static size_t put_slot(bloomery_sieve *sieve, uint64_t generation)
{
    uint8_t *image = sieve->manifest.image;
    memset(image, 0, STATE);
    const size_t queue = bloomery_queue_store(sieve->queue, image + STATE);
    const size_t engine = sieve->engine->store(sieve, image + STATE + queue);
    const size_t used = STATE + queue + engine;
    assert(used <= sieve->manifest.slot_bytes);
    memcpy(image, magic, sizeof magic);
    bloomery_store_u32(image + 8, BLOOMERY_SIEVE_VERSION);
    bloomery_store_u32(image + 12, (uint32_t)(generation & 1));
    bloomery_store_u64(image + 16, sieve->manifest.slot_bytes);
    bloomery_store_u64(image + 24, used);
    bloomery_store_u64(image + 32, generation);
    put_settings(sieve, image);
    put_counters(&sieve->counters, image + COUNTERS);
    bloomery_store_u64(image + LENGTHS, queue);
    bloomery_store_u64(image + LENGTHS + 8, engine);
    bloomery_store_f64(image + LONGEST, bloomery_queue_longest(sieve->queue));
    bloomery_store_u64(image + CHECKSUM, bloomery_checksum(image, used, 0));
    return used;
}

static bloomery_status write_all(bloomery_sieve *sieve, const uint8_t *data, size_t bytes,
                                 uint64_t offset, bloomery_error *error)
{
    while (bytes > 0) {
        const ssize_t moved = pwrite(sieve->manifest.file, data, bytes, (off_t)offset);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved <= 0)
            return bloomery_fail_system(error, moved < 0 ? errno : EIO, "writing %s/MANIFEST",
                                        sieve->path);
        data += moved;
        bytes -= (size_t)moved;
        offset += (uint64_t)moved;
    }
    return BLOOMERY_OK;
}

bloomery_status bloomery_manifest_write(bloomery_sieve *sieve, bloomery_error *error)
{
    struct bloomery_manifest *manifest = &sieve->manifest;
    const uint64_t generation = manifest->generation + 1;
    const size_t used = put_slot(sieve, generation);
    const bloomery_status status =
        write_all(sieve, manifest->image, used, (generation & 1) * manifest->slot_bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    sieve->store.bytes_written += used;
    int result = 0;
    do
        result = sieve->store.syncs ? fdatasync(manifest->file) : 0;
    while (result != 0 && errno == EINTR);
    if (result != 0) {
        /* Which slot is on the disk is not known. */
        sieve->store.failed = true;
        return bloomery_fail_system(error, errno, "syncing %s/MANIFEST", sieve->path);
    }
    manifest->generation = generation;
    return BLOOMERY_OK;
}

static bloomery_status write_new(bloomery_sieve *sieve, const char *path, bloomery_error *error)
{
    struct bloomery_manifest *manifest = &sieve->manifest;
    struct bloomery_replacement replacement;
    bloomery_status status = bloomery_replacement_begin(&replacement, path, 0666, error);
    if (status != BLOOMERY_OK)
        return status;
    const size_t used = put_slot(sieve, 0);
    memset(manifest->image + used, 0, manifest->slot_bytes - used);
    status = bloomery_replacement_write(&replacement, manifest->image, manifest->slot_bytes, error);
    memset(manifest->image, 0, manifest->slot_bytes);
    if (status == BLOOMERY_OK)
        status =
            bloomery_replacement_write(&replacement, manifest->image, manifest->slot_bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_replacement_commit(&replacement, error);
    if (status != BLOOMERY_OK)
        bloomery_replacement_abandon(&replacement);
    return status;
}

static bloomery_status take_image(bloomery_sieve *sieve, uint64_t bytes, bloomery_error *error)
{
    sieve->manifest.image = bloomery_store_take(&sieve->store, bytes);
    sieve->manifest.slot_bytes = bytes;
    if (sieve->manifest.image != NULL)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "no memory for a manifest of %llu bytes",
                         (unsigned long long)bytes);
}

static bloomery_status path_of(const bloomery_sieve *sieve, char path[4096], bloomery_error *error)
{
    const int bytes = snprintf(path, 4096, "%s/MANIFEST", sieve->path);
    if (bytes > 0 && bytes < 4096)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "the directory's path is too long");
}

bloomery_status bloomery_manifest_make(bloomery_sieve *sieve, bloomery_error *error)
{
    char path[4096];
    bloomery_status status = path_of(sieve, path, error);
    if (status == BLOOMERY_OK)
        status = take_image(sieve, bloomery_manifest_slot(&sieve->settings), error);
    if (status == BLOOMERY_OK)
        status = write_new(sieve, path, error);
    if (status != BLOOMERY_OK)
        return status;
    sieve->manifest.file =
        openat(sieve->store.directory, "MANIFEST", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (sieve->manifest.file < 0)
        return bloomery_fail_system(error, errno, "opening %s", path);
    return BLOOMERY_OK;
}

void bloomery_manifest_close(bloomery_sieve *sieve)
{
    if (sieve->manifest.file >= 0)
        close(sieve->manifest.file);
    sieve->manifest.file = -1;
    bloomery_store_give(&sieve->store, sieve->manifest.image, sieve->manifest.slot_bytes);
    sieve->manifest.image = NULL;
}

/* ---- Reading ----------------------------------------------------------------------------- */

/* What a slot is. */
struct slot {
    bool ours;
    bool sound;
    uint32_t version;
    uint64_t generation;
};

static bloomery_status read_image(bloomery_sieve *sieve, uint64_t slot, bloomery_error *error)
{
    struct bloomery_manifest *manifest = &sieve->manifest;
    uint64_t done = 0;
    while (done < manifest->slot_bytes) {
        const ssize_t moved =
            pread(manifest->file, manifest->image + done, manifest->slot_bytes - done,
                  (off_t)(slot * manifest->slot_bytes + done));
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved < 0)
            return bloomery_fail_system(error, errno, "reading %s/MANIFEST", sieve->path);
        if (moved == 0)
            return bloomery_fail(error, BLOOMERY_TRUNCATED, done, "%s/MANIFEST is cut short",
                                 sieve->path);
        done += (uint64_t)moved;
    }
    return BLOOMERY_OK;
}

/* A slot into the image. Later versions keep the fields up to the checksum where they are. */
static bloomery_status read_slot(bloomery_sieve *sieve, uint64_t number, struct slot *slot,
                                 bloomery_error *error)
{
    uint8_t *image = sieve->manifest.image;
    const bloomery_status status = read_image(sieve, number, error);
    *slot = (struct slot){.ours = false};
    if (status != BLOOMERY_OK || memcmp(image, magic, sizeof magic) != 0)
        return status;
    slot->ours = true;
    slot->version = bloomery_load_u32(image + 8);
    slot->generation = bloomery_load_u64(image + 32);
    const uint64_t used = bloomery_load_u64(image + 24);
    const uint64_t checksum = bloomery_load_u64(image + CHECKSUM);
    if (bloomery_load_u64(image + 16) != sieve->manifest.slot_bytes || used < STATE ||
        used > sieve->manifest.slot_bytes || bloomery_load_u32(image + 12) != number)
        return BLOOMERY_OK;
    bloomery_store_u64(image + CHECKSUM, 0);
    slot->sound = bloomery_checksum(image, used, 0) == checksum;
    return BLOOMERY_OK;
}

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
                   partitions >= 1 && partitions <= BLOOMERY_SIEVE_PARTITIONS_MOST &&
                   (partitions & (partitions - 1)) == 0)) &&
        bloomery_manifest_slot(settings) == sieve->manifest.slot_bytes)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_CORRUPT, 64,
                         "%s/MANIFEST is damaged: settings that no sieve has", sieve->path);
}

/* A later version is believed where its checksum is right, or where there is nothing better: a byte that is damaged in
 * the older slot must not keep the newer one from counting. */
static bloomery_status check_versions(const bloomery_sieve *sieve, const struct slot slots[2],
                                      bloomery_error *error)
{
    const bool any = (slots[0].sound && slots[0].version == BLOOMERY_SIEVE_VERSION) ||
                     (slots[1].sound && slots[1].version == BLOOMERY_SIEVE_VERSION);
    if (!slots[0].ours && !slots[1].ours)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0, "%s/MANIFEST is not that of a sieve",
                             sieve->path);
    for (int i = 0; i < 2; i++)
        if (slots[i].ours && slots[i].version != BLOOMERY_SIEVE_VERSION && (slots[i].sound || !any))
            return bloomery_fail(error, BLOOMERY_WRONG_VERSION, 8,
                                 "%s is of version %u, this program's is %u", sieve->path,
                                 slots[i].version, (unsigned)BLOOMERY_SIEVE_VERSION);
    if (any)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_CORRUPT, CHECKSUM,
                         "%s/MANIFEST is damaged: neither slot has its checksum", sieve->path);
}

/* The newer sound slot into the image. */
static bloomery_status choose_slot(bloomery_sieve *sieve, bloomery_error *error)
{
    struct slot slots[2];
    bloomery_status status = read_slot(sieve, 0, &slots[0], error);
    if (status == BLOOMERY_OK)
        status = read_slot(sieve, 1, &slots[1], error);
    if (status == BLOOMERY_OK)
        status = check_versions(sieve, slots, error);
    if (status != BLOOMERY_OK)
        return status;
    const bool first = slots[0].sound && slots[0].version == BLOOMERY_SIEVE_VERSION;
    const bool second = slots[1].sound && slots[1].version == BLOOMERY_SIEVE_VERSION;
    const uint64_t newer = !first || (second && slots[1].generation > slots[0].generation) ? 1 : 0;
    sieve->manifest.generation = slots[newer].generation;
    /* The next commit overwrites the other one. */
    if ((slots[newer].generation & 1) != newer)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 32,
                             "%s/MANIFEST is damaged: a slot in the other's place", sieve->path);
    return newer == 1 ? BLOOMERY_OK : read_slot(sieve, 0, &slots[0], error);
}

bloomery_status bloomery_manifest_open(bloomery_sieve *sieve, bloomery_error *error)
{
    struct stat facts;
    sieve->manifest.file =
        openat(sieve->store.directory, "MANIFEST", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (sieve->manifest.file < 0 && errno == ENOENT)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0, "%s is no sieve: it has no MANIFEST",
                             sieve->path);
    if (sieve->manifest.file < 0 || fstat(sieve->manifest.file, &facts) != 0)
        return bloomery_fail_system(error, errno, "opening %s/MANIFEST", sieve->path);
    const uint64_t bytes = (uint64_t)facts.st_size;
    if (!S_ISREG(facts.st_mode) || bytes < PAGES || bytes % PAGES != 0 || bytes / 2 > SLOT_MOST)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0,
                             "%s/MANIFEST is not that of a sieve, or cut short", sieve->path);
    bloomery_status status = take_image(sieve, bytes / 2, error);
    if (status == BLOOMERY_OK)
        status = choose_slot(sieve, error);
    return status == BLOOMERY_OK ? get_settings(sieve, error) : status;
}

bool bloomery_manifest_unsynced(const bloomery_sieve *sieve)
{
    return bloomery_load_u32(sieve->manifest.image + UNSYNCED) != 0;
}

/* The queue, whose leases go on where that is wished and can be: one that ends later than the
 * longest that is out would, granted now, was granted by a clock that ran ahead. Some seconds
 * are allowed for, so that a clock that is set right by them ends nothing. */
static bloomery_status restore_queue(bloomery_sieve *sieve, const uint8_t *from, size_t bytes,
                                     bool keep_leases, bloomery_error *error)
{
    const double stored = bloomery_load_f64(sieve->manifest.image + LONGEST);
    const bool known = isfinite(stored) && stored > 0;
    const double longest = known ? stored : fmax(sieve->lease, BLOOMERY_SIEVE_LEASE_SECONDS);
    const double latest = bloomery_sieve_wall_clock() + longest + CLOCK_SECONDS;
    bool ended = false;
    const bloomery_status status = bloomery_queue_restore(sieve->queue, from, bytes, keep_leases,
                                                          fmax(latest, 0), &ended, error);
    bloomery_queue_set_longest(sieve->queue, longest);
    /* What comes again is to be so on the disk as well. */
    sieve->changed = sieve->changed || ended;
    sieve->synced_acked = bloomery_queue_acked(sieve->queue);
    return status;
}

bloomery_status bloomery_manifest_restore(bloomery_sieve *sieve, bool keep_leases,
                                          bloomery_error *error)
{
    struct bloomery_sieve_counters *counters = &sieve->counters;
    const uint8_t *image = sieve->manifest.image;
    const uint64_t used = bloomery_load_u64(image + 24);
    const uint64_t queue = bloomery_load_u64(image + LENGTHS);
    const uint64_t engine = bloomery_load_u64(image + LENGTHS + 8);
    if (queue > used - STATE || engine != used - STATE - queue)
        return bloomery_fail(error, BLOOMERY_CORRUPT, LENGTHS,
                             "%s/MANIFEST is damaged: its parts do not add up", sieve->path);
    counters->pushed = bloomery_load_u64(image + COUNTERS);
    counters->new_keys = bloomery_load_u64(image + COUNTERS + 8);
    counters->seen = bloomery_load_u64(image + COUNTERS + 16);
    counters->pending = bloomery_load_u64(image + COUNTERS + 24);
    counters->forced = bloomery_load_u64(image + COUNTERS + 32);
    counters->noted = bloomery_load_u64(image + COUNTERS + 40);
    counters->drops = bloomery_load_f64(image + COUNTERS + 48);
    const bloomery_status status = restore_queue(sieve, image + STATE, queue, keep_leases, error);
    return status == BLOOMERY_OK
               ? sieve->engine->restore(sieve, image + STATE + queue, engine, error)
               : status;
}
