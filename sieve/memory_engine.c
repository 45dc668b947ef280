/* SPDX-License-Identifier: Apache-2.0 */
/* The memory engine's row of functions. memory_engine.h tells how it works. */
#include "sieve/memory_engine.h"

#include <bloomery/dialect.h>

#include "base/bits.h"
#include "base/bytes.h"
#include "base/error.h"
#include "for_sieve.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

enum {
    SAVE_MIN = 64 << 20, /* bytes appended to the queue before it is worth saving the filter */
    SAVE_CLOSING = 4 << 20,
    RESERVED = BLOOMERY_QUEUE_BUFFER, /* of the queue, for the entries of a portion */
    PORTION = 1024,
    AGAIN = 512, /* keys that are added again at a time, when a sieve is opened */
};

/* ---- Making ------------------------------------------------------------------------------ */

static void free_filter(bloomery_sieve *sieve)
{
    if (sieve->filter == NULL)
        return;
    bloomery_free(sieve->filter->filter);
    bloomery_store_release(&sieve->store, sieve->filter, sizeof *sieve->filter);
    sieve->filter = NULL;
}

static bloomery_status make_filter(bloomery_sieve *sieve, bloomery_error *error)
{
    assert(sieve->filter == NULL);
    sieve->filter = bloomery_store_allocate(&sieve->store, sizeof *sieve->filter);
    if (sieve->filter == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "no memory for a sieve");
    const bloomery_status status = bloomery_filter_engine_create(sieve, error);
    if (status != BLOOMERY_OK) {
        free_filter(sieve);
        return status;
    }
    bloomery_fill_level_start(&sieve->filter->level, sieve->filter->filter, false);
    sieve->filter->saved_number = 1;
    return BLOOMERY_OK;
}

/* ---- Pushing ----------------------------------------------------------------------------- */

static void hash_filter(const bloomery_sieve *sieve, const bloomery_key *keys, size_t count,
                        bloomery_hash *hashes)
{
    const bloomery_keys list = bloomery_keys_of_list(keys, count);
    (void)bloomery_hash_keys(sieve->filter->filter, &list, hashes, NULL);
}

static void warn_over_capacity(bloomery_sieve *sieve)
{
    struct bloomery_filter_engine *engine = sieve->filter;
    if (engine->warned || sieve->settings.full != BLOOMERY_SIEVE_WARN ||
        engine->keys <= sieve->settings.keys)
        return;
    engine->warned = true;
    bloomery_sieve_warn(sieve,
                        "the sieve is past its capacity of %llu keys: from here on more new keys "
                        "are taken for seen ones",
                        (unsigned long long)sieve->settings.keys);
}

/* Queues an entry whose key has just been added, if there is a reason to. */
static bloomery_status keep(bloomery_sieve *sieve, const struct bloomery_entry *entry,
                            bloomery_error *error)
{
    struct bloomery_entry kept = *entry;
    const bool marked = (entry->flags & BLOOMERY_ENTRY_MARKED) != 0;
    if (marked && sieve->store.directory < 0)
        return BLOOMERY_OK;
    kept.flags = marked ? BLOOMERY_ENTRY_MARKED : 0;
    sieve->filter->appended += bloomery_entry_bound(entry);
    return bloomery_queue_append(sieve->queue, &kept, error);
}

static void count_one(bloomery_sieve *sieve, uint32_t flags, bool new)
{
    struct bloomery_sieve_counters *counters = &sieve->counters;
    counters->pushed++;
    if (flags & BLOOMERY_ENTRY_MARKED)
        counters->marked++;
    else if (flags & BLOOMERY_ENTRY_FORCED)
        counters->forced++;
    else if (new)
        counters->new_keys++;
    else
        counters->seen++;
    sieve->filter->keys += new;
}

static bloomery_status full(const bloomery_sieve *sieve, bloomery_error *error)
{
    if (sieve->settings.full == BLOOMERY_SIEVE_STOP)
        return bloomery_fail(error, BLOOMERY_FULL, 0,
                             "the sieve is full: it was made for %llu keys and to stop there",
                             (unsigned long long)sieve->settings.keys);
    return bloomery_fail(error, BLOOMERY_FULL, 0,
                         "the sieve is full: its filter would grow past the memory of %llu bytes",
                         (unsigned long long)sieve->memory);
}

/* What a status of the filter means for a push. */
static bloomery_status cannot_add(const bloomery_sieve *sieve, bloomery_status status,
                                  bloomery_error *error)
{
    if (status == BLOOMERY_FULL)
        return full(sieve, error);
    return status == BLOOMERY_OK ? BLOOMERY_OK
                                 : bloomery_fail(error, status, 0, "adding to the filter failed");
}

/* Adds hashes, the first of which are then in the filter: how many, `counts` says. */
static bloomery_status add(bloomery_sieve *sieve, const bloomery_hash *hashes, size_t count,
                           uint64_t *answers, bloomery_counts *counts)
{
    struct bloomery_filter_engine *engine = sieve->filter;
    const bloomery_keys keys = bloomery_keys_of_hashes(hashes, count);
    const bloomery_status status = bloomery_add_keys(engine->filter, &keys, answers, counts, NULL);
    bloomery_fill_level_add(&engine->level, engine->filter, counts->cells);
    return status;
}

/* The key of an entry, which the filter does not have. */
static bloomery_status add_one(bloomery_sieve *sieve, bloomery_hash hash, bloomery_error *error)
{
    bloomery_counts counts;
    return cannot_add(sieve, add(sieve, &hash, 1, NULL, &counts), error);
}

/* Queues an entry that is longer than what can be reserved, and adds its key: both, or neither. */
static bloomery_status add_long(bloomery_sieve *sieve, bloomery_hash hash,
                                const struct bloomery_entry *entry, bool seen,
                                bloomery_error *error)
{
    struct bloomery_queue_mark mark;
    bloomery_status status = bloomery_queue_seal(sieve->queue, error);
    if (status != BLOOMERY_OK)
        return status;
    bloomery_queue_mark(sieve->queue, &mark);
    status = keep(sieve, entry, error);
    if (status != BLOOMERY_OK || seen)
        return status;
    status = add_one(sieve, hash, error);
    if (status != BLOOMERY_OK)
        bloomery_queue_rewind(sieve->queue, &mark);
    return status;
}

static bloomery_status add_short(bloomery_sieve *sieve, bloomery_hash hash,
                                 const struct bloomery_entry *entry, bool seen,
                                 bloomery_error *error)
{
    bloomery_status status =
        bloomery_queue_reserve(sieve->queue, bloomery_entry_bound(entry), error);
    if (status == BLOOMERY_OK && !seen)
        status = add_one(sieve, hash, error);
    return status == BLOOMERY_OK ? keep(sieve, entry, error) : status;
}

/* One by one: near the capacity of a sieve that stops there, and entries that are longer than what
 * can be reserved. A key is never in the filter without being queued. */
static bloomery_status push_single(bloomery_sieve *sieve, bloomery_hash hash,
                                   const struct bloomery_entry *entry, uint8_t *result,
                                   bloomery_error *error)
{
    struct bloomery_filter_engine *engine = sieve->filter;
    bloomery_status status = BLOOMERY_OK;
    const bool forced = (entry->flags & BLOOMERY_ENTRY_FORCED) != 0;
    const bool seen = bloomery_may_contain_hash(engine->filter, hash);
    if (!seen && sieve->settings.full == BLOOMERY_SIEVE_STOP &&
        engine->keys >= sieve->settings.keys)
        return full(sieve, error);
    if (!seen || forced)
        status = (bloomery_entry_bound(entry) > RESERVED ? add_long : add_short)(sieve, hash, entry,
                                                                                 seen, error);
    if (status != BLOOMERY_OK)
        return status;
    count_one(sieve, entry->flags, !seen);
    *result = (uint8_t)(!seen || forced ? BLOOMERY_SIEVE_NEW : BLOOMERY_SIEVE_SEEN);
    return BLOOMERY_OK;
}

/* Entries whose keys can be queued without fail: adds all, then queues the new ones. */
static bloomery_status push_portion(bloomery_sieve *sieve, const bloomery_hash *hashes,
                                    const struct bloomery_entry *entries, size_t count,
                                    uint8_t *results, size_t *done, bloomery_error *error)
{
    uint64_t answers[PORTION / 64];
    bloomery_counts counts;
    const bloomery_status added = add(sieve, hashes, count, answers, &counts);
    assert(count <= PORTION && counts.done <= count);
    assert((counts.done == count) == (added == BLOOMERY_OK));
    for (size_t i = 0; i < counts.done; i++) {
        const bool new = bloomery_word_bit(answers, i);
        const bool forced = (entries[i].flags & BLOOMERY_ENTRY_FORCED) != 0;
        if (new || forced) {
            const bloomery_status status = keep(sieve, &entries[i], error);
            assert(status == BLOOMERY_OK);
            if (status != BLOOMERY_OK)
                return status;
        }
        count_one(sieve, entries[i].flags, new);
        results[i] = (uint8_t)(new || forced ? BLOOMERY_SIEVE_NEW : BLOOMERY_SIEVE_SEEN);
        *done += 1;
    }
    return cannot_add(sieve, added, error);
}

/* How many entries from the first on fit in what can be reserved. */
static size_t portion(const struct bloomery_entry *entries, size_t count, size_t *bytes)
{
    size_t i = 0;
    *bytes = 0;
    while (i < count && i < PORTION && *bytes + bloomery_entry_bound(&entries[i]) <= RESERVED)
        *bytes += bloomery_entry_bound(&entries[i++]);
    return i;
}

/* What the pushes since `before` mean: expected drops, and whether the plan is passed. */
static void estimate_drops(bloomery_sieve *sieve, const struct bloomery_sieve_counters *before)
{
    struct bloomery_fill_level *level = &sieve->filter->level;
    struct bloomery_sieve_counters *counters = &sieve->counters;
    const uint64_t fresh = counters->new_keys - before->new_keys;
    const uint64_t pushes = fresh + counters->seen - before->seen;
    const double earlier = level->rate;
    const double rate =
        (earlier + bloomery_fill_level_rate_about(level, sieve->filter->filter)) / 2;
    const double drops = bloomery_drops_among(level, fresh, pushes, rate);
    counters->drops = fmin(counters->drops + drops, (double)counters->seen);
    warn_over_capacity(sieve);
}

static bloomery_status push_filter(bloomery_sieve *sieve, const bloomery_hash *hashes,
                                   const struct bloomery_entry *entries, size_t count,
                                   uint8_t *results, size_t *done, bloomery_error *error)
{
    const struct bloomery_filter_engine *engine = sieve->filter;
    size_t at = 0;
    bloomery_status status = BLOOMERY_OK;
    while (status == BLOOMERY_OK && at < count) {
        const struct bloomery_sieve_counters before = sieve->counters;
        size_t bytes = 0;
        size_t some = portion(entries + at, count - at, &bytes);
        size_t sure = 0;
        if (some <= 1 || (sieve->settings.full == BLOOMERY_SIEVE_STOP &&
                          engine->keys + some > sieve->settings.keys)) {
            status = push_single(sieve, hashes[at], &entries[at], &results[at], error);
            sure = status == BLOOMERY_OK;
        } else {
            status = bloomery_queue_reserve(sieve->queue, bytes, error);
            if (status == BLOOMERY_OK)
                status = push_portion(sieve, hashes + at, entries + at, some, results + at, &sure,
                                      error);
        }
        at += sure;
        *done += sure;
        estimate_drops(sieve, &before);
    }
    return status;
}

static bloomery_status contains_filter(bloomery_sieve *sieve, const bloomery_hash *hashes,
                                       size_t count, uint64_t *room, uint8_t *results,
                                       bloomery_error *error)
{
    (void)error;
    const bloomery_keys keys = bloomery_keys_of_hashes(hashes, count);
    (void)bloomery_may_contain_keys(sieve->filter->filter, &keys, room, NULL, NULL);
    for (size_t i = 0; i < count; i++)
        results[i] = bloomery_word_bit(room, i) ? BLOOMERY_SIEVE_SEEN : BLOOMERY_SIEVE_NEW;
    return BLOOMERY_OK;
}

static bloomery_status decide_filter(bloomery_sieve *sieve, uint64_t wanted, bloomery_error *error)
{
    (void)sieve;
    (void)wanted;
    (void)error;
    return BLOOMERY_OK;
}

/* ---- State ------------------------------------------------------------------------------- */

/* By the path at opening: the process may have gone to another directory since. */
static bloomery_status path_of(const bloomery_sieve *sieve, uint64_t generation, char path[4096],
                               bloomery_error *error)
{
    char name[BLOOMERY_FILE_NAME];
    bloomery_store_name(BLOOMERY_FILE_FILTER, 0, generation, name);
    if ((unsigned)snprintf(path, 4096, "%s/%s", sieve->real_path, name) < 4096)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "the directory's path is too long");
}

/* What the manifest is to name must be there. */
static bloomery_status check_is_there(const bloomery_sieve *sieve, uint64_t generation,
                                      bloomery_error *error)
{
    char name[BLOOMERY_FILE_NAME];
    bloomery_store_name(BLOOMERY_FILE_FILTER, 0, generation, name);
    if (faccessat(sieve->store.directory, name, F_OK, 0) == 0)
        return BLOOMERY_OK;
    return bloomery_fail(
        error, BLOOMERY_IO_FAILED, 0,
        "%s is not where it was when it was opened: the filter was not saved in it", sieve->path);
}

static void saved_up_to_tail(bloomery_sieve *sieve)
{
    sieve->filter->saved = bloomery_queue_tail(sieve->queue);
    sieve->filter->saved_number = bloomery_queue_next(sieve->queue);
}

/* The queue has been sealed: its tail is where the saved filter ends. */
static bloomery_status prepare_filter(bloomery_sieve *sieve, bool closing, bloomery_error *error)
{
    struct bloomery_filter_engine *engine = sieve->filter;
    const uint64_t bytes = bloomery_filter_engine_bytes(engine->filter);
    char path[4096];
    assert(sieve->store.directory >= 0 && !sieve->store.read_only);
    if (engine->appended == 0 && engine->generation > 0) /* it needs no segment */
        saved_up_to_tail(sieve);
    if (engine->appended < (closing ? SAVE_CLOSING : bytes > SAVE_MIN ? bytes : SAVE_MIN))
        return BLOOMERY_OK;
    bloomery_status status = path_of(sieve, engine->generation + 1, path, error);
    if (status == BLOOMERY_OK)
        status = bloomery_save(engine->filter, path, error);
    if (status == BLOOMERY_OK)
        status = check_is_there(sieve, engine->generation + 1, error);
    if (status != BLOOMERY_OK)
        return status;
    if (engine->generation != engine->committed)
        bloomery_store_remove(&sieve->store, BLOOMERY_FILE_FILTER, 0, engine->generation);
    engine->generation++;
    assert(engine->generation > engine->committed); /* the one that counts is not overwritten */
    saved_up_to_tail(sieve);
    engine->appended = 0;
    sieve->store.bytes_written += bytes;
    return BLOOMERY_OK;
}

static size_t store_filter(const bloomery_sieve *sieve, uint8_t *to)
{
    const struct bloomery_filter_engine *engine = sieve->filter;
    bloomery_store_u64(to, engine->generation);
    bloomery_store_u64(to + 8, engine->saved.segment);
    bloomery_store_u64(to + 16, engine->saved.offset);
    bloomery_store_u64(to + 24, engine->keys);
    bloomery_store_u64(to + 32, engine->warned);
    bloomery_store_u64(sieve->manifest.image + BLOOMERY_MANIFEST_SAVED, engine->saved_number);
    return BLOOMERY_MEMORY_STATE;
}

static void committed_filter(bloomery_sieve *sieve)
{
    struct bloomery_filter_engine *engine = sieve->filter;
    if (engine->committed != engine->generation)
        bloomery_store_remove(&sieve->store, BLOOMERY_FILE_FILTER, 0, engine->committed);
    engine->committed = engine->generation;
}

static bool names_filter(const bloomery_sieve *sieve, enum bloomery_file_kind kind, uint64_t number,
                         uint64_t generation)
{
    (void)number;
    return kind == BLOOMERY_FILE_FILTER && generation > 0 &&
           generation == sieve->filter->generation;
}

static uint64_t keep_segment(const bloomery_sieve *sieve)
{
    return sieve->filter->saved.segment;
}

/* Keys of the queue that go into the filter again, a portion at a time. */
struct adding {
    bloomery_sieve *sieve;
    bloomery_error *error;
    size_t count;
    bloomery_hash hashes[AGAIN];
};

static bloomery_status add_portion_again(struct adding *adding)
{
    const bloomery_sieve *sieve = adding->sieve;
    bloomery_counts counts;
    const bloomery_status status = add(adding->sieve, adding->hashes, adding->count, NULL, &counts);
    adding->count = 0;
    if (status != BLOOMERY_FULL)
        return cannot_add(sieve, status, adding->error);
    return bloomery_fail(adding->error, BLOOMERY_BAD_ARGUMENT, 0,
                         "%s was used with more memory: its filter does not fit in %llu bytes",
                         sieve->path, (unsigned long long)sieve->memory);
}

static int add_again(void *context, const struct bloomery_entry *entry, uint64_t number)
{
    struct adding *adding = context;
    struct bloomery_filter_engine *engine = adding->sieve->filter;
    (void)number;
    if (entry->flags == BLOOMERY_ENTRY_VOID)
        return 0;
    engine->appended += bloomery_entry_bound(entry);
    const bloomery_status status = bloomery_hash_key(
        engine->filter, entry->key, &adding->hashes[adding->count++], adding->error);
    return status == BLOOMERY_OK && adding->count == AGAIN ? add_portion_again(adding) : status;
}

/* A map of the saved filter, which takes no memory. */
static bloomery_status map_saved(const bloomery_sieve *sieve, const bloomery_filter **filter,
                                 bloomery_error *error)
{
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    char path[4096];
    options.allocator = sieve->allocator;
    const bloomery_status status = path_of(sieve, sieve->filter->generation, path, error);
    return status == BLOOMERY_OK ? bloomery_map(path, &options, filter, error) : status;
}

/* Whether the saved filter is one of this sieve and fits. */
static bloomery_status check_saved(const bloomery_sieve *sieve, bloomery_error *error)
{
    const bloomery_filter *filter = NULL;
    bloomery_status status = map_saved(sieve, &filter, error);
    if (status == BLOOMERY_OK)
        status = bloomery_compatible(sieve->filter->filter, filter, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_engine_fits(sieve, bloomery_filter_engine_bytes(filter), error);
    bloomery_free(filter);
    return status;
}

/* In the place of the empty one, which goes first: there is memory for one of them. */
static bloomery_status load_saved(bloomery_sieve *sieve, bloomery_error *error)
{
    struct bloomery_filter_engine *engine = sieve->filter;
    bloomery_open_options options = BLOOMERY_OPEN_OPTIONS;
    char path[4096];
    options.allocator = sieve->allocator;
    options.memory_limit = bloomery_filter_engine_limit(sieve);
    bloomery_status status = path_of(sieve, engine->generation, path, error);
    if (status == BLOOMERY_OK)
        status = check_saved(sieve, error);
    if (status == BLOOMERY_OK) {
        bloomery_free(engine->filter);
        engine->filter = NULL;
        status = bloomery_open(path, &options, &engine->filter, error);
    }
    if (status == BLOOMERY_OUT_OF_MEMORY || status == BLOOMERY_BAD_ARGUMENT)
        return status;
    if (status != BLOOMERY_OK)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                             "%s/filter.%llu is damaged, missing, or that of another sieve",
                             sieve->path, (unsigned long long)engine->generation);
    assert(engine->filter != NULL);
    bloomery_fill_level_start(&engine->level, engine->filter, true);
    return BLOOMERY_OK;
}

static bloomery_status restore_filter(bloomery_sieve *sieve, const uint8_t *from, size_t bytes,
                                      bloomery_error *error)
{
    struct bloomery_filter_engine *engine = sieve->filter;
    if (bytes != BLOOMERY_MEMORY_STATE)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                             "%s is damaged: its manifest does not say where its filter is",
                             sieve->path);
    engine->generation = bloomery_load_u64(from);
    engine->committed = engine->generation;
    engine->saved.segment = bloomery_load_u64(from + 8);
    engine->saved.offset = bloomery_load_u64(from + 16);
    engine->keys = bloomery_load_u64(from + 24);
    engine->warned = bloomery_load_u64(from + 32) != 0;
    engine->saved_number = bloomery_load_u64(sieve->manifest.image + BLOOMERY_MANIFEST_SAVED);
    if (engine->generation > 0) {
        const bloomery_status status = load_saved(sieve, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    struct adding adding = {.sieve = sieve, .error = error};
    bloomery_status status = (bloomery_status)bloomery_queue_each(
        sieve->queue, &engine->saved, engine->saved_number, add_again, &adding, error);
    if (status == BLOOMERY_OK && adding.count > 0)
        status = add_portion_again(&adding);
    (void)bloomery_fill_level_rate_about(&engine->level, engine->filter);
    bloomery_drops_start(&engine->level, (double)sieve->counters.new_keys + sieve->counters.drops,
                         (double)(sieve->counters.new_keys + sieve->counters.seen));
    return status;
}

/* ---- Facts ------------------------------------------------------------------------------- */

static void info_filter(bloomery_sieve *sieve, bloomery_sieve_info *info)
{
    const struct bloomery_filter_engine *engine = sieve->filter;
    bloomery_info filter = BLOOMERY_INFO;
    bloomery_info_get(engine->filter, &filter);
    const double estimate = bloomery_fill_level_keys(&engine->level, engine->filter);
    info->distinct = estimate < 0x1p63 ? (uint64_t)llrint(estimate) : UINT64_MAX;
    info->capacity = sieve->settings.full == BLOOMERY_SIEVE_GROW ? 0 : sieve->settings.keys;
    info->live_rate = bloomery_fill_level_rate(&engine->level, engine->filter);
    info->seen_bytes = filter.bytes;
    info->memory += filter.bytes;
    info->over_capacity = engine->warned;
}

/* Whatever keeps it from being read is a finding: a missing file, too. */
static bloomery_status verify_filter(bloomery_sieve *sieve, struct bloomery_findings *findings,
                                     bloomery_error *error)
{
    const bloomery_filter *filter = NULL;
    bloomery_error found;
    if (sieve->filter->generation == 0)
        return BLOOMERY_OK;
    bloomery_status status = map_saved(sieve, &filter, &found);
    if (status == BLOOMERY_OK)
        status = bloomery_verify_map(filter, &found);
    bloomery_free(filter);
    return status == BLOOMERY_OK ? BLOOMERY_OK
                                 : bloomery_findings_add(findings, BLOOMERY_CORRUPT, &found, error);
}

const struct bloomery_sieve_engine_row bloomery_sieve_memory = {
    .make = make_filter,
    .restore = restore_filter,
    .free = free_filter,
    .push = push_filter,
    .hash = hash_filter,
    .contains = contains_filter,
    .decide = decide_filter,
    .prepare = prepare_filter,
    .store = store_filter,
    .committed = committed_filter,
    .names = names_filter,
    .info = info_filter,
    .verify = verify_filter,
    .keep_segment = keep_segment,
};

/* ---- An empty filter ------------------------------------------------------------------------- */

/* An empty filter for the memory engine, within what the sieve may allocate. */

uint64_t bloomery_filter_engine_limit(const bloomery_sieve *sieve)
{
    const uint64_t fixed = (uint64_t)4 * BLOOMERY_QUEUE_BUFFER +
                           3 * (uint64_t)sieve->settings.leases * BLOOMERY_LEASE_BYTES;
    if (sieve->memory == 0)
        return 0;
    const uint64_t rest = sieve->memory > fixed ? sieve->memory - fixed : 1;
    /* Without a directory the queue is in memory too: half of the rest. */
    return sieve->store.directory >= 0 ? rest : rest / 2 + 1;
}

bloomery_status bloomery_filter_engine_fits(const bloomery_sieve *sieve, uint64_t bytes,
                                            bloomery_error *error)
{
    const uint64_t limit = bloomery_filter_engine_limit(sieve);
    if (limit == 0 || bytes <= limit)
        return BLOOMERY_OK;
    const uint64_t fixed = sieve->memory > limit ? sieve->memory - limit : 0;
    const uint64_t least = (sieve->store.directory >= 0 ? bytes : 2 * bytes) + fixed + 65536;
    return bloomery_fail(
        error, BLOOMERY_BAD_ARGUMENT, 0,
        "the filter, planned for %llu keys, takes %llu bytes, the sieve at least %llu, "
        "not %llu; the disk engine takes less",
        (unsigned long long)sieve->settings.keys, (unsigned long long)bytes,
        (unsigned long long)least, (unsigned long long)sieve->memory);
}

uint64_t bloomery_filter_engine_bytes(const bloomery_filter *filter)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    return info.file_bytes;
}

static bloomery_status create_dialect(bloomery_sieve *sieve, const bloomery_create_options *options,
                                      bloomery_error *error)
{
    const struct bloomery_sieve_settings *settings = &sieve->settings;
    const bloomery_dialect *dialect = bloomery_dialect_find(settings->dialect);
    bloomery_dialect_parameters parameters = BLOOMERY_DIALECT_PARAMETERS;
    bloomery_hash hash;
    if (dialect == NULL || !dialect->creates)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "no filters of '%s' can be made",
                             settings->dialect);
    parameters.keys = settings->keys;
    parameters.rate = settings->rate;
    uint64_t bytes = 0;
    bloomery_status status =
        bloomery_dialect_create_bytes(dialect, &parameters, options, &bytes, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_engine_fits(sieve, bytes, error);
    if (status == BLOOMERY_OK)
        status =
            bloomery_dialect_create(dialect, &parameters, options, &sieve->filter->filter, error);
    if (status == BLOOMERY_OK)
        sieve->filter->filter->of_our_file = true;
    if (status == BLOOMERY_OK && bloomery_hash_key(sieve->filter->filter, bloomery_key_of("", 0),
                                                   &hash, NULL) != BLOOMERY_OK)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "filters of '%s' have positions and no hashes, which a sieve needs",
                             settings->dialect);
    return status == BLOOMERY_OK
               ? bloomery_filter_engine_fits(
                     sieve, bloomery_filter_engine_bytes(sieve->filter->filter), error)
               : status;
}

bloomery_status bloomery_filter_engine_create(bloomery_sieve *sieve, bloomery_error *error)
{
    const struct bloomery_sieve_settings *settings = &sieve->settings;
    bloomery_create_options options = BLOOMERY_CREATE_OPTIONS;
    options.allocator = sieve->allocator;
    options.memory_limit = bloomery_filter_engine_limit(sieve);
    if (settings->dialect[0] != '\0')
        return create_dialect(sieve, &options, error);
    options.seed = bloomery_load_u64(settings->secret);
    bloomery_plan plan = {
        .kind = settings->full == BLOOMERY_SIEVE_GROW ? BLOOMERY_SCALABLE : BLOOMERY_BLOCKED,
        .keys = settings->keys,
        .rate = settings->rate,
    };
    bloomery_status status = bloomery_plan_solve(&plan, NULL, error);
    if (status == BLOOMERY_OK)
        status = bloomery_filter_engine_fits(sieve, plan.planned_bytes, error);
    return status == BLOOMERY_OK ? bloomery_create(&plan, &options, &sieve->filter->filter, error)
                                 : status;
}
