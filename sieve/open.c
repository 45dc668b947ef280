/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening and closing a sieve. What is "kept" comes from the options when a sieve is made, and from
 * the manifest ever after. Options that are given then must say the same.
 */
#include "sieve/disk.h"
#include "sieve/internal.h"
#include "sieve/memory_engine.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/experimental.h"
#include "base/memory.h"
#include "base/versioned.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LEASES = 4096,
    LEASES_MAX = 1000000,
    KEYS = 1000000,
};
static const double rate_default = 1e-6;

/* ---- Options ----------------------------------------------------------------------------- */

static bloomery_status bad(bloomery_error *error, const char *text)
{
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "%s", text);
}

static bool power_of_two(uint32_t value)
{
    return value > 0 && (value & (value - 1)) == 0;
}

static bool is_none(const char *canon)
{
    return canon == NULL || strcmp(canon, "none") == 0 || canon[0] == '\0';
}

static bloomery_status check_ranges(const bloomery_sieve_options *options, bloomery_error *error)
{
    if (options->engine != BLOOMERY_SIEVE_DEFAULT && options->engine != BLOOMERY_SIEVE_MEMORY &&
        options->engine != BLOOMERY_SIEVE_DISK)
        return bad(error, "there is no such engine");
    if (options->engine == BLOOMERY_SIEVE_DISK && options->directory == NULL)
        return bad(error, "the disk engine needs a directory");
    if (options->read_only && options->directory == NULL)
        return bad(error, "only a sieve in a directory can be opened to be read");
    if (options->existing && options->directory == NULL)
        return bad(error, "a sieve that exists is in a directory: set `directory`");
    if ((unsigned)options->full > BLOOMERY_SIEVE_WARN)
        return bad(error, "a full sieve grows, stops or warns");
    if (!(options->rate >= 0 && options->rate < 1))
        return bad(error, "the rate is above 0 and below 1");
    if (options->fingerprint_bits != 0 && options->fingerprint_bits != 48 &&
        options->fingerprint_bits != 64)
        return bad(error, "fingerprints have 64 or 48 bits");
    if (options->partitions > BLOOMERY_SIEVE_PARTITIONS_MAX ||
        (options->partitions != 0 && !power_of_two(options->partitions)))
        return bad(error, "partitions are a power of two, 1 to 256");
    if ((unsigned)options->order > BLOOMERY_SIEVE_ORDER_FIFO)
        return bad(error, "keys come out by partition, or first in, first out");
    if ((unsigned)options->sync > BLOOMERY_SIEVE_SYNC_NEVER)
        return bad(error, "commits are timed, always or never made");
    if (!(options->sync_seconds >= 0) || isinf(options->sync_seconds))
        return bad(error, "sync_seconds is a number of seconds, or 0 for 1");
    if (!(options->lease >= 0 && options->lease < 1e12))
        return bad(error, "a lease is 0 (an hour) or a number of seconds");
    if (options->max_deliveries > BLOOMERY_SIEVE_DELIVERIES_MAX)
        return bad(error, "deliveries are limited to 1 to 65,535, or 0 for no limit");
    if (options->max_deliveries > 0 && options->directory == NULL)
        return bad(error, "only a sieve in a directory can put items aside");
    if (options->leases > LEASES_MAX)
        return bad(error, "at most 1,000,000 items can be leased");
    if (options->keys > (uint64_t)1 << 48)
        return bad(error, "at most 2^48 keys can be expected");
    return BLOOMERY_OK;
}

static bloomery_status check_names(const bloomery_sieve_options *options, bloomery_error *error)
{
    const bool own = !is_none(options->canon) && bloomery_canon_find(options->canon) == NULL;
    if (options->canon != NULL && strlen(options->canon) > BLOOMERY_SIEVE_CANON_NAME_BYTES)
        return bad(error, "the canonicaliser's name is longer than 31 bytes");
    if (own && options->canonicaliser == NULL)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "there is no canonicaliser '%s' here: none, url or url-query",
                             options->canon);
    if (!own && options->canonicaliser != NULL)
        return bad(error, "a canonicaliser of your own needs a name of its own");
    if (options->dialect != NULL &&
        strlen(options->dialect) >= sizeof((struct bloomery_sieve_settings *)NULL)->dialect)
        return bad(error, "there is no such dialect");
    if (options->dialect != NULL && options->full == BLOOMERY_SIEVE_GROW)
        return bad(error, "filters of other systems do not grow here: stop or warn when full");
    return BLOOMERY_OK;
}

/* ---- A new sieve's settings -------------------------------------------------------------- */

static bloomery_status new_settings(bloomery_sieve *sieve, const bloomery_sieve_options *options,
                                    bloomery_error *error)
{
    struct bloomery_sieve_settings *settings = &sieve->settings;
    const bool disk = options->engine == BLOOMERY_SIEVE_DISK ||
                      (options->engine == BLOOMERY_SIEVE_DEFAULT && options->directory != NULL);
    const struct bloomery_hash_row *siphash = bloomery_hash_find(BLOOMERY_HASH_SIPHASH);
    settings->engine = disk ? BLOOMERY_SIEVE_DISK : BLOOMERY_SIEVE_MEMORY;
    settings->keys = options->keys > 0 ? options->keys : KEYS;
    settings->rate = options->rate > 0 ? options->rate : rate_default;
    settings->leases = options->leases > 0 ? options->leases : LEASES;
    snprintf(settings->canon, sizeof settings->canon, "%s",
             is_none(options->canon) ? "none" : options->canon);
    if (disk) {
        settings->fingerprint_bits = options->fingerprint_bits > 0 ? options->fingerprint_bits : 64;
        settings->partitions = options->partitions > 0 ? options->partitions
                                                       : bloomery_sieve_partitions(settings->keys);
        settings->ordered = options->order == BLOOMERY_SIEVE_ORDER_FIFO;
        settings->hash =
            bloomery_hash_usable(siphash) ? BLOOMERY_HASH_SIPHASH : BLOOMERY_HASH_XXH3_128;
    } else {
        settings->full = options->full;
        snprintf(settings->dialect, sizeof settings->dialect, "%s",
                 options->dialect != NULL ? options->dialect : "");
    }
    assert(settings->leases <= LEASES_MAX && settings->rate > 0 && settings->rate < 1);
    assert(!disk || (power_of_two(settings->partitions) &&
                     settings->partitions <= BLOOMERY_SIEVE_PARTITIONS_MAX));
    if (!bloomery_secret_draw(settings->secret) || !bloomery_secret_draw(sieve->store.id))
        return bloomery_fail(error, BLOOMERY_IO_FAILED, 0, "the system gives no random numbers");
    return BLOOMERY_OK;
}

/* ---- An old one's ------------------------------------------------------------------------ */

static bloomery_status differs(const bloomery_sieve *sieve, bloomery_error *error, const char *what,
                               const char *kept, const char *given)
{
    return bloomery_fail(error, BLOOMERY_MISMATCH, 0, "%s was made with %s %s, not %s", sieve->path,
                         what, kept, given);
}

static bloomery_status compare_canon(const bloomery_sieve *sieve,
                                     const bloomery_sieve_options *options, bloomery_error *error)
{
    const char *kept = sieve->settings.canon;
    const bool own = strcmp(kept, "none") != 0 && bloomery_canon_find(kept) == NULL;
    if (options->canon == NULL && !own)
        return BLOOMERY_OK;
    const char *given = is_none(options->canon) ? "none" : options->canon;
    return strcmp(kept, given) == 0 ? BLOOMERY_OK
                                    : differs(sieve, error, "the canonicaliser", kept, given);
}

static bloomery_status compare_settings(const bloomery_sieve *sieve,
                                        const bloomery_sieve_options *options,
                                        bloomery_error *error)
{
    const struct bloomery_sieve_settings *kept = &sieve->settings;
    const char *const engines[] = {"", "memory", "disk"};
    const char *const fulls[] = {"grow", "stop", "warn"};
    assert(kept->engine < sizeof engines / sizeof engines[0]);
    assert(kept->full < sizeof fulls / sizeof fulls[0]);
    const bool disk =
        kept->engine == BLOOMERY_SIEVE_DISK; /* those of the other engine don't matter */
    if (options->engine != BLOOMERY_SIEVE_DEFAULT && options->engine != kept->engine)
        return differs(sieve, error, "the engine", engines[kept->engine], engines[options->engine]);
    const struct {
        const char *what;
        uint64_t kept;
        uint64_t given;
    } numbers[] = {
        {"a number of keys of", kept->keys, options->keys},
        {"fingerprint bits", kept->fingerprint_bits, disk ? options->fingerprint_bits : 0},
        {"partitions", kept->partitions, disk ? options->partitions : 0},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i].given != 0 && numbers[i].given != numbers[i].kept)
            return bloomery_fail(error, BLOOMERY_MISMATCH, 0, "%s was made with %s %llu, not %llu",
                                 sieve->path, numbers[i].what, (unsigned long long)numbers[i].kept,
                                 (unsigned long long)numbers[i].given);
    if (options->rate > 0 && options->rate != kept->rate)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0, "%s was made with another rate",
                             sieve->path);
    if (!disk && options->full != BLOOMERY_SIEVE_GROW && options->full != kept->full)
        return differs(sieve, error, "what it does when full:", fulls[kept->full],
                       fulls[options->full]);
    if (!disk && options->dialect != NULL && strcmp(options->dialect, kept->dialect) != 0)
        return differs(sieve, error, "a filter of", kept->dialect[0] ? kept->dialect : "Bloomery",
                       options->dialect);
    if (options->order == BLOOMERY_SIEVE_ORDER_FIFO &&
        bloomery_sieve_order_of(kept) != BLOOMERY_SIEVE_ORDER_FIFO)
        return differs(sieve, error, "an order", "by partition", "first in, first out");
    return compare_canon(sieve, options, error);
}

/* ---- Opening ----------------------------------------------------------------------------- */

/* What the process that was here last left to the system (BLOOMERY_SIEVE_SYNC_NEVER): later
 * commits build on it. */
static bloomery_status sync_before(const bloomery_sieve *sieve, bloomery_error *error)
{
    if (!sieve->store.syncs || !bloomery_manifest_unsynced(sieve))
        return BLOOMERY_OK;
#if defined(__linux__)
    if (syncfs(sieve->store.directory) == 0)
        return BLOOMERY_OK;
#else
    sync(); /* of all file systems: there is no call for one */
    return BLOOMERY_OK;
#endif
    return bloomery_fail_system(error, errno, "syncing what was written to %s without",
                                sieve->path);
}

static bloomery_status choose_hash(bloomery_sieve *sieve, bloomery_error *error)
{
    const struct bloomery_sieve_settings *settings = &sieve->settings;
    if (settings->engine == BLOOMERY_SIEVE_MEMORY)
        return BLOOMERY_OK;
    sieve->hash = bloomery_hash_find(settings->hash);
    if (sieve->hash == NULL ||
        (settings->hash != BLOOMERY_HASH_SIPHASH && settings->hash != BLOOMERY_HASH_XXH3_128))
        return bloomery_fail(error, BLOOMERY_CORRUPT, 84,
                             "%s/MANIFEST is damaged: it names no hash that a sieve has",
                             sieve->path);
    if (!bloomery_hash_usable(sieve->hash))
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "%s hashes with %s, which this build does not have", sieve->path,
                             sieve->hash->name);
    memcpy(sieve->secret.siphash, settings->secret, sizeof sieve->secret.siphash);
    sieve->secret.seed = bloomery_load_u64(settings->secret);
    return BLOOMERY_OK;
}

/* The disk engine's, if nobody says: half of what there is where that is less than usual, but
 * enough to work. */
static uint64_t default_memory(const struct bloomery_sieve_settings *settings)
{
    bloomery_limits limits = BLOOMERY_LIMITS;
    struct bloomery_sieve_budget budget;
    uint64_t least;
    bloomery_limits_get(&limits);
    if (limits.room / 2 >= BLOOMERY_SIEVE_BUDGET)
        return BLOOMERY_SIEVE_BUDGET;
    return bloomery_sieve_split(limits.room / 2, settings->partitions, settings->leases, &budget,
                                &least)
               ? limits.room / 2
               : least;
}

/* Queue and engine, empty. */
static bloomery_status make_parts(bloomery_sieve *sieve, bloomery_error *error)
{
    const struct bloomery_sieve_settings *settings = &sieve->settings;
    const bool disk = settings->engine == BLOOMERY_SIEVE_DISK;
    assert(sieve->engine == NULL && sieve->queue == NULL);
    sieve->engine = disk ? &bloomery_sieve_disk : &bloomery_sieve_memory;
    sieve->store.seed = bloomery_checksum(sieve->store.id, sizeof sieve->store.id, 0);
    if (disk && sieve->memory == 0)
        sieve->memory = default_memory(settings);
    bloomery_status status = choose_hash(sieve, error);
    if (status == BLOOMERY_OK)
        status = sieve->engine->make(sieve, error);
    if (status == BLOOMERY_OK)
        status = bloomery_queue_make(&sieve->store, settings->leases,
                                     sieve->store.directory < 0 ? sieve->memory / 2 : 0,
                                     &sieve->queue, error);
    return status;
}

static bloomery_status make_new(bloomery_sieve *sieve, const bloomery_sieve_options *options,
                                bloomery_error *error)
{
    bloomery_status status = new_settings(sieve, options, error);
    if (status == BLOOMERY_OK)
        status = make_parts(sieve, error);
    if (status == BLOOMERY_OK && sieve->store.directory >= 0)
        status = bloomery_manifest_make(sieve, error);
    if (status == BLOOMERY_OK && sieve->store.directory >= 0 && sieve->store.syncs)
        status = bloomery_directory_sync_parent(sieve, error);
    if (status == BLOOMERY_OK && sieve->store.directory >= 0)
        bloomery_queue_put_aside(sieve->queue, &sieve->dead, options->max_deliveries);
    return status;
}

/* To the number in the options, unless more are out. */
static bloomery_status change_leases(bloomery_sieve *sieve, const bloomery_sieve_options *options,
                                     bloomery_error *error)
{
    const uint8_t *image = sieve->manifest.image;
    struct bloomery_queue_state queue = {.leases = 0};
    if (options->leases == 0 || options->leases == sieve->settings.leases || options->read_only)
        return BLOOMERY_OK;
    const uint64_t bytes = bloomery_load_u64(image + BLOOMERY_MANIFEST_LENGTHS);
    if (bytes <= sieve->manifest.copy_bytes - BLOOMERY_MANIFEST_STATE &&
        bloomery_queue_state_read(image + BLOOMERY_MANIFEST_STATE, bytes, &queue) &&
        queue.leases > options->leases)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                             "%s has %llu leased items, which is more than the %u leases asked "
                             "for: acknowledge or return some first",
                             sieve->path, (unsigned long long)queue.leases, options->leases);
    assert(options->leases <= LEASES_MAX);
    sieve->settings.leases = options->leases;
    return BLOOMERY_OK;
}

static bloomery_status open_old(bloomery_sieve *sieve, const bloomery_sieve_options *options,
                                bloomery_error *error)
{
    const bool writes = !options->read_only;
    bloomery_status status = bloomery_manifest_open(sieve, error);
    const uint32_t leases = sieve->settings.leases;
    if (status == BLOOMERY_OK)
        status = compare_settings(sieve, options, error);
    if (status == BLOOMERY_OK && writes)
        status = sync_before(sieve, error);
    if (status == BLOOMERY_OK && writes)
        status = bloomery_manifest_settle(sieve, error);
    if (status == BLOOMERY_OK)
        status = change_leases(sieve, options, error);
    if (status == BLOOMERY_OK)
        status = make_parts(sieve, error);
    if (status == BLOOMERY_OK)
        status = bloomery_manifest_restore(sieve, options->keep_leases, error);
    sieve->durable = sieve->counters.pushed;
    if (status == BLOOMERY_OK && writes)
        status = bloomery_directory_tidy(sieve, error);
    /* One damaged copy of two costs nothing, but the disk's owner should hear of it. */
    if (status == BLOOMERY_OK && writes && sieve->manifest.mends &&
        sieve->manifest.broken_at != UINT64_MAX)
        bloomery_sieve_warn(
            sieve,
            "one of the two copies of the last commit in MANIFEST was not whole, at "
            "byte %llu: torn by a power cut, or damaged; it was written again",
            (unsigned long long)sieve->manifest.broken_at);
    if (status == BLOOMERY_OK && writes)
        bloomery_manifest_mend(sieve);
    if (status == BLOOMERY_OK && sieve->settings.leases != leases)
        status = bloomery_manifest_resize(sieve, error);
    if (status == BLOOMERY_OK && writes)
        bloomery_queue_put_aside(sieve->queue, &sieve->dead, options->max_deliveries);
    return status;
}

static bloomery_status open_in(bloomery_sieve *sieve, const bloomery_sieve_options *options,
                               bloomery_error *error)
{
    struct stat facts;
    bloomery_status status =
        bloomery_directory_enter(sieve, options->existing || options->read_only, error);
    if (status != BLOOMERY_OK)
        return status;
    if (fstatat(sieve->store.directory, "MANIFEST", &facts, AT_SYMLINK_NOFOLLOW) == 0)
        return open_old(sieve, options, error);
    if (errno != ENOENT)
        return bloomery_fail_system(error, errno, "looking for %s/MANIFEST", sieve->path);
    status =
        bloomery_directory_without_manifest(sieve, options->existing || options->read_only, error);
    return status == BLOOMERY_OK ? make_new(sieve, options, error) : status;
}

void bloomery_sieve_destroy(bloomery_sieve *sieve)
{
    const bloomery_allocator allocator = sieve->allocator;
    if (sieve->engine != NULL)
        sieve->engine->free(sieve);
    bloomery_queue_free(sieve->queue);
    bloomery_dead_close(&sieve->dead);
    bloomery_manifest_close(sieve);
    if (sieve->store.directory >= 0)
        close(sieve->store.directory);
    bloomery_store_release(&sieve->store, sieve->path, sieve->path_bytes);
    bloomery_store_release(&sieve->store, sieve->real_path, sieve->real_path_bytes);
    assert(sieve->store.memory == 0);
    pthread_mutex_destroy(&sieve->mutex);
    bloomery_release(&allocator, sieve, sizeof *sieve, 64);
}

bloomery_status bloomery_sieve_allocate(const bloomery_sieve_options *options,
                                        bloomery_sieve **made, bloomery_error *error)
{
    const char *path = options->directory != NULL ? options->directory : "the sieve";
    bloomery_sieve *sieve = bloomery_allocate(&options->allocator, sizeof *sieve, 64);
    *made = sieve;
    if (sieve == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "no memory for a sieve");
    bloomery_pages_hide(sieve, sizeof *sieve); /* it has the secret, and its settings too */
    pthread_mutex_init(&sieve->mutex, NULL);
    sieve->allocator = options->allocator;
    sieve->store.allocator = &sieve->allocator;
    sieve->store.directory = -1;
    bloomery_dead_start(&sieve->dead, &sieve->store);
    sieve->manifest.file = -1;
    sieve->memory = options->memory;
    sieve->sync = options->sync;
    sieve->sync_seconds = options->sync_seconds > 0 ? options->sync_seconds : 1;
    sieve->store.syncs = options->sync != BLOOMERY_SIEVE_SYNC_NEVER;
    sieve->store.read_only = options->read_only;
    sieve->lease = options->lease > 0 ? options->lease : BLOOMERY_SIEVE_LEASE_SECONDS;
    sieve->warning = options->warning;
    sieve->warning_context = options->warning_context;
    sieve->path_bytes = strlen(path) + 1;
    sieve->path = bloomery_store_allocate(&sieve->store, sieve->path_bytes);
    if (sieve->path == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "no memory for a sieve");
    memcpy(sieve->path, path, sieve->path_bytes);
    sieve->store.path = sieve->path;
    return BLOOMERY_OK;
}

bloomery_status bloomery_sieve_copy_options(const bloomery_sieve_options *options,
                                            bloomery_sieve_options *copy, bloomery_error *error)
{
    /* What version 0.1 has of the struct. */
    enum { OPTIONS_BYTES_FIRST = sizeof(bloomery_sieve_options) };
    bloomery_status status = bloomery_versioned_read(options, OPTIONS_BYTES_FIRST, copy,
                                                     sizeof *copy, "BLOOMERY_SIEVE_OPTIONS", error);
    if (status == BLOOMERY_OK)
        status = bloomery_versioned_reserved(copy->reserved, sizeof copy->reserved, error);
    if (status == BLOOMERY_OK &&
        ((copy->allocator.allocate == NULL) != (copy->allocator.release == NULL) ||
         (copy->allocator.allocate == NULL && copy->allocator.allocate_zeroed != NULL)))
        return bad(error, "an allocator needs both allocate and release");
    return status;
}

static bloomery_status open_as(const bloomery_sieve_options *options, int directory,
                               bloomery_sieve **made, bloomery_error *error)
{
    bloomery_status status = check_ranges(options, error);
    if (status == BLOOMERY_OK)
        status = check_names(options, error);
    if (status == BLOOMERY_OK)
        status = bloomery_sieve_allocate(options, made, error);
    if (status != BLOOMERY_OK) {
        if (directory >= 0)
            close(directory);
        return status;
    }
    assert(*made != NULL && (*made)->store.directory < 0);
    (*made)->store.directory = directory;
    return options->directory != NULL ? open_in(*made, options, error)
                                      : make_new(*made, options, error);
}

bloomery_status bloomery_sieve_open(const bloomery_sieve_options *options, bloomery_sieve **sieve,
                                    bloomery_error *error)
{
    const bloomery_sieve_options none = BLOOMERY_SIEVE_OPTIONS;
    return bloomery_sieve_open_locked(options != NULL ? options : &none, -1, sieve, error);
}

bloomery_status bloomery_sieve_open_locked(const bloomery_sieve_options *options, int directory,
                                           bloomery_sieve **sieve, bloomery_error *error)
{
    bloomery_sieve_options given;
    *sieve = NULL;
    bloomery_sieve *made = NULL;
    bloomery_status status = bloomery_sieve_copy_options(options, &given, error);
    if (status == BLOOMERY_OK)
        status = open_as(&given, directory, &made, error);
    else if (directory >= 0)
        close(directory);
    if (status != BLOOMERY_OK) {
        /* Not even an empty directory stays of a sieve that was refused. */
        if (made != NULL && made->made_directory)
            (void)!rmdir(made->path);
        if (made != NULL)
            bloomery_sieve_destroy(made);
        return status;
    }
    assert(made->engine != NULL && made->queue != NULL);
    made->canonicaliser = given.canonicaliser != NULL ? given.canonicaliser
                                                      : bloomery_canon_find(made->settings.canon);
    made->canonicaliser_context = given.canonicaliser_context;
    made->committed_at = bloomery_sieve_now();
    *sieve = made;
    return BLOOMERY_OK;
}

bloomery_status bloomery_sieve_close(bloomery_sieve *sieve, bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    if (sieve == NULL)
        return BLOOMERY_OK;
    if (sieve->store.failed)
        status = bloomery_sieve_usable(sieve, error);
    else if (!sieve->store.read_only)
        status = bloomery_sieve_commit_now(sieve, true, error);
    bloomery_sieve_destroy(sieve);
    return status;
}

/* ---- The status of a sieve that is not opened ------------------------------------------------ */

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
    if (!bloomery_directory_parse_name(name, &kind, &number, &generation) ||
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
    const uint8_t *dead = sieve->manifest.image + BLOOMERY_MANIFEST_DEAD;
    struct bloomery_manifest_parts parts;
    struct bloomery_sieve_counters counters;
    struct bloomery_queue_state queue;
    struct sum sum = {.sieve = sieve, .info = info};
    bool all;
    const bloomery_status status = bloomery_manifest_parts(sieve, &parts, error);
    if (status != BLOOMERY_OK)
        return status;
    if (!bloomery_queue_state_read(parts.queue, parts.queue_bytes, &queue))
        return wrong(sieve, error);
    bloomery_manifest_counters(sieve, &counters);
    bloomery_sieve_fill_info(&sieve->settings, &counters, info);
    info->durable = info->pushed;
    info->queued = queue.queued;
    info->leased = queue.leases;
    info->lease_bytes = queue.leases * BLOOMERY_LEASE_BYTES;
    info->done = queue.done;
    info->done_durable = queue.done;
    info->dead_bytes = bloomery_load_u64(dead + 8);
    info->dead = bloomery_load_u64(dead + 16);
    sum.tail = queue.tail;
    return fill_engine(sieve, parts.engine, parts.engine_bytes, &sum)
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
        bloomery_versioned_give(&all, sizeof all, info, BLOOMERY_SIEVE_INFO_BYTES_FIRST);
    if (sieve != NULL)
        bloomery_sieve_destroy(sieve);
    return status;
}
