/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the last commit says, beside a process that makes the next one. MANIFEST has each of the
 * last two commits twice, with checksums, and one copy is written at a time:
 *
 *     slot 0    | copy: generation 8 | copy: generation 8 |
 *     slot 1    | copy: 9, torn now  | copy: generation 7 |    the commit 9 is being written
 *
 * So a reader without a lock finds a whole copy of each slot. The newest of them is a commit, or
 * the reader was overtaken while it read. Then it reads again. No other file is opened: it may be
 * removed by the next commit.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "base/versioned.h"
#include "sieve/directory.h"
#include "sieve/disk/disk.h"
#include "sieve/filter_engine.h"
#include "sieve/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

enum {
    /* Every reading is overtaken with a small chance, if somebody commits without a pause. A
     * manifest that is damaged is so at all of them, which take a tenth of a second. */
    READINGS = 100,
    PAUSE_NANOSECONDS = 1000000,
};

static bloomery_status enter(bloomery_sieve *sieve, bloomery_error *error)
{
    struct stat facts;
    sieve->store.directory = open(sieve->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sieve->store.directory < 0 && errno == ENOENT)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0, "%s: there is no such sieve",
                             sieve->path);
    if (sieve->store.directory < 0)
        return bloomery_fail_system(error, errno, "opening the directory %s", sieve->path);
    if (fstatat(sieve->store.directory, "MANIFEST", &facts, AT_SYMLINK_NOFOLLOW) != 0 &&
        errno == ENOENT)
        return bloomery_directory_without_manifest(sieve, true, error);
    return BLOOMERY_OK;
}

static bloomery_status read_manifest(bloomery_sieve *sieve, bloomery_error *error)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NANOSECONDS};
    bloomery_status status = bloomery_manifest_open(sieve, error);
    for (int i = 1; i < READINGS && status == BLOOMERY_CORRUPT; i++) {
        bloomery_manifest_close(sieve);
        sieve->manifest = (struct bloomery_manifest){.file = -1};
        (void)nanosleep(&pause, NULL);
        status = bloomery_manifest_open(sieve, error);
    }
    return status;
}

/* ---- Files ------------------------------------------------------------------------------- */

struct sum {
    const bloomery_sieve *sieve;
    struct bloomery_queue_position tail;
    uint64_t generation; /* of the memory engine's filter */
    bloomery_sieve_info *info;
};

/* The last segment counts as far as the commit says, and later ones do not. */
static bool add_file(void *context, const char *name)
{
    const struct sum *sum = context;
    enum bloomery_file_kind kind;
    uint64_t number, generation;
    struct stat facts;
    if (!bloomery_directory_take_apart(name, &kind, &number, &generation) ||
        fstatat(sum->sieve->store.directory, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return true;
    if (kind == BLOOMERY_FILE_QUEUE && number < sum->tail.segment)
        sum->info->queue_bytes += (uint64_t)facts.st_size;
    else if (kind == BLOOMERY_FILE_QUEUE && number == sum->tail.segment)
        sum->info->queue_bytes += sum->tail.offset;
    else if (kind == BLOOMERY_FILE_FILTER && generation == sum->generation)
        sum->info->seen_bytes += (uint64_t)facts.st_size;
    return true;
}

/* ---- Facts ------------------------------------------------------------------------------- */

static bloomery_status wrong(const bloomery_sieve *sieve, bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_CORRUPT, BLOOMERY_MANIFEST_LENGTHS,
                         "%s/MANIFEST is damaged: its parts do not add up", sieve->path);
}

static void fill_settings(const struct bloomery_sieve_settings *settings, bloomery_sieve_info *info)
{
    info->engine = (bloomery_sieve_engine)settings->engine;
    info->partitions = settings->partitions;
    info->fingerprint_bits = settings->fingerprint_bits;
    info->order = bloomery_sieve_order_of(settings);
    info->planned = settings->keys;
    info->leases = settings->leases;
    memcpy(info->canon, settings->canon, sizeof info->canon);
}

static void fill_counters(const uint8_t *from, bloomery_sieve_info *info)
{
    info->pushed = bloomery_load_u64(from);
    info->durable = info->pushed;
    info->new_keys = bloomery_load_u64(from + 8);
    info->seen = bloomery_load_u64(from + 16);
    info->pending = bloomery_load_u64(from + 24);
    info->forced = bloomery_load_u64(from + 32);
    info->marked = bloomery_load_u64(from + 40);
    info->expected_drops = bloomery_load_f64(from + 48);
}

static bool fill_engine(const bloomery_sieve *sieve, const uint8_t *from, uint64_t bytes,
                        struct sum *sum)
{
    const struct bloomery_sieve_settings *settings = &sieve->settings;
    if (settings->engine == BLOOMERY_SIEVE_DISK)
        return bytes == (uint64_t)settings->partitions * BLOOMERY_PARTITION_STATE &&
               bloomery_disk_rows_info(settings, BLOOMERY_SIEVE_BUDGET, from, sum->info);
    if (bytes != BLOOMERY_MEMORY_STATE)
        return false;
    sum->generation = bloomery_load_u64(from);
    sum->info->over_capacity = bloomery_load_u64(from + 32) != 0;
    sum->info->capacity = settings->full == BLOOMERY_SIEVE_GROW ? 0 : settings->keys;
    sum->info->distinct = UINT64_MAX;
    sum->info->live_rate = 1;
    return true;
}

/* The image holds the last commit. */
static bloomery_status fill(const bloomery_sieve *sieve, bloomery_sieve_info *info,
                            bloomery_error *error)
{
    const uint8_t *image = sieve->manifest.image;
    const uint8_t *state = image + BLOOMERY_MANIFEST_STATE;
    const uint64_t rest = bloomery_load_u64(image + 24) - BLOOMERY_MANIFEST_STATE;
    const uint64_t queue = bloomery_load_u64(image + BLOOMERY_MANIFEST_LENGTHS);
    const uint64_t engine = bloomery_load_u64(image + BLOOMERY_MANIFEST_LENGTHS + 8);
    struct bloomery_queue_facts facts;
    struct sum sum = {.sieve = sieve, .info = info};
    bool all;
    if (queue > rest || engine != rest - queue || !bloomery_queue_state_read(state, queue, &facts))
        return wrong(sieve, error);
    fill_settings(&sieve->settings, info);
    fill_counters(image + BLOOMERY_MANIFEST_COUNTERS, info);
    info->queued = facts.queued;
    info->leased = facts.leased;
    info->lease_bytes = facts.leased * BLOOMERY_LEASE_BYTES;
    info->done = facts.done;
    info->done_durable = facts.done;
    info->dead_bytes = bloomery_load_u64(image + BLOOMERY_MANIFEST_DEAD + 8);
    info->dead = bloomery_load_u64(image + BLOOMERY_MANIFEST_DEAD + 16);
    sum.tail = facts.tail;
    return fill_engine(sieve, state + queue, engine, &sum)
               ? bloomery_directory_each(sieve, add_file, &sum, &all, error)
               : wrong(sieve, error);
}

bloomery_status bloomery_sieve_info_read(const bloomery_sieve_options *options,
                                         bloomery_sieve_info *info, bloomery_error *error)
{
    bloomery_sieve_options given;
    bloomery_sieve_info all;
    bloomery_sieve *sieve = NULL;
    bloomery_status status = bloomery_sieve_copy_options(options, &given, error);
    if (status != BLOOMERY_OK)
        return status;
    if (given.directory == NULL)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "only a sieve in a directory has a commit to be read");
    memset(&all, 0, sizeof all);
    given.read_only = true;
    status = bloomery_sieve_allocate(&given, &sieve, error);
    if (status == BLOOMERY_OK)
        status = enter(sieve, error);
    if (status == BLOOMERY_OK)
        status = read_manifest(sieve, error);
    if (status == BLOOMERY_OK)
        status = fill(sieve, &all, error);
    if (status == BLOOMERY_OK)
        bloomery_sized_give(&all, sizeof all, info, BLOOMERY_SIEVE_INFO_BYTES_FIRST);
    if (sieve != NULL)
        bloomery_sieve_destroy(sieve);
    return status;
}
