/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the manifest: which of its copies are whole, and which counts. manifest.h tells why there
 * are four. */
#include "sieve/manifest.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/io.h"
#include "sieve/directory.h"
#include "sieve/disk/disk.h"
#include "sieve/filter_engine.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

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
    /* Whoever has no lock may meet a copy that is being written. */
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

bloomery_status bloomery_manifest_restore(bloomery_sieve *sieve, bool keep_leases,
                                          bloomery_error *error)
{
    struct bloomery_sieve_counters *counters = &sieve->counters;
    const uint8_t *image = sieve->manifest.image;
    const uint8_t *from = image + BLOOMERY_MANIFEST_COUNTERS;
    const uint8_t *state = image + BLOOMERY_MANIFEST_STATE;
    assert(bloomery_load_u64(image + 24) >= BLOOMERY_MANIFEST_STATE &&
           bloomery_load_u64(image + 24) <= sieve->manifest.copy_bytes);
    const uint64_t rest = bloomery_load_u64(image + 24) - BLOOMERY_MANIFEST_STATE;
    const uint64_t queue = bloomery_load_u64(image + BLOOMERY_MANIFEST_LENGTHS);
    const uint64_t engine = bloomery_load_u64(image + BLOOMERY_MANIFEST_LENGTHS + 8);
    if (queue > rest || engine != rest - queue)
        return bloomery_fail(error, BLOOMERY_CORRUPT, BLOOMERY_MANIFEST_LENGTHS,
                             "%s/MANIFEST is damaged: its parts do not add up", sieve->path);
    counters->pushed = bloomery_load_u64(from);
    counters->new_keys = bloomery_load_u64(from + 8);
    counters->seen = bloomery_load_u64(from + 16);
    counters->pending = bloomery_load_u64(from + 24);
    counters->forced = bloomery_load_u64(from + 32);
    counters->marked = bloomery_load_u64(from + 40);
    counters->drops = bloomery_load_f64(from + 48);
    bloomery_status status = restore_queue(sieve, state, queue, keep_leases, error);
    if (status == BLOOMERY_OK)
        status = bloomery_dead_restore(&sieve->dead, image + BLOOMERY_MANIFEST_DEAD, error);
    return status == BLOOMERY_OK ? sieve->engine->restore(sieve, state + queue, engine, error)
                                 : status;
}

bloomery_status bloomery_manifest_verify(bloomery_sieve *sieve, bloomery_sieve_report report,
                                         void *context, uint64_t *damaged, bloomery_error *error)
{
    const struct bloomery_manifest *manifest = &sieve->manifest;
    bloomery_error found;
    (void)error;
    if (manifest->file < 0 || !manifest->mends || manifest->broken_at == UINT64_MAX)
        return BLOOMERY_OK;
    *damaged += 1;
    bloomery_fail(&found, BLOOMERY_CORRUPT, manifest->broken_at,
                  "%s/MANIFEST is damaged at %llu: one of the two copies of the last commit; the "
                  "other one counts, and the next command that writes makes them alike",
                  sieve->path, (unsigned long long)manifest->broken_at);
    if (report != NULL)
        report(context, found.text);
    return BLOOMERY_OK;
}
