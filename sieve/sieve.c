/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of sieve.h: one at a time under the sieve's lock, but for what needs only the key. */
#include "sieve/disk.h"
#include "sieve/internal.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/versioned.h"

#include <assert.h>
#include <time.h>

enum {
    PORTION = BLOOMERY_SIEVE_PORTION, /* keys that are hashed, then pushed under one lock */
    CANON_ROOM = BLOOMERY_CANON_ROOM,
    CANON_STACK = BLOOMERY_CANON_STACK,
};

static void lock(bloomery_sieve *sieve)
{
    pthread_mutex_lock(&sieve->mutex);
}

static void unlock(bloomery_sieve *sieve)
{
    pthread_mutex_unlock(&sieve->mutex);
}

double bloomery_sieve_now(void)
{
    struct timespec now;
#if defined(CLOCK_MONOTONIC_COARSE)
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- Commits ----------------------------------------------------------------------------- */

bloomery_status bloomery_sieve_usable(const bloomery_sieve *sieve, bloomery_error *error)
{
    if (sieve->store.read_only)
        return bloomery_fail(error, BLOOMERY_READ_ONLY, 0, "%s was opened to be read only",
                             sieve->path);
    if (!sieve->store.failed)
        return BLOOMERY_OK;
    return bloomery_fail(
        error, BLOOMERY_IO_FAILED, 0,
        "%s could not be synced, so what is on the disk is not known: close it and "
        "open it again, at the state of its last commit",
        sieve->path);
}

/* In this order: what the manifest will name is durable before the manifest is, and removed
 * after. */
static bloomery_status commit_steps(bloomery_sieve *sieve, bool closing, bloomery_error *error)
{
    assert(sieve->store.directory >= 0 && !sieve->store.read_only);
    bloomery_status status = bloomery_queue_seal(sieve->queue, error);
    if (status == BLOOMERY_OK)
        status = sieve->engine->prepare(sieve, closing, error);
    if (status == BLOOMERY_OK)
        status = bloomery_queue_sync(sieve->queue, error);
    if (status == BLOOMERY_OK)
        status = bloomery_dead_sync(&sieve->dead, error);
    if (status == BLOOMERY_OK)
        status = bloomery_store_sync_names(&sieve->store, error);
    /* A segment that was left on the way is synced then, and nobody hears of it. */
    if (status == BLOOMERY_OK)
        status = bloomery_sieve_usable(sieve, error);
    if (status == BLOOMERY_OK)
        status = bloomery_manifest_write(sieve, error);
    if (status != BLOOMERY_OK)
        return status;
    sieve->engine->committed(sieve);
    bloomery_dead_committed(&sieve->dead);
    bloomery_queue_tidy(sieve->queue, sieve->engine->keep_segment(sieve));
    return BLOOMERY_OK;
}

bloomery_status bloomery_sieve_commit_now(bloomery_sieve *sieve, bool closing,
                                          bloomery_error *error)
{
    bloomery_status status = bloomery_sieve_usable(sieve, error);
    if (status != BLOOMERY_OK)
        return status;
    if (sieve->store.directory >= 0 && sieve->changed)
        status = commit_steps(sieve, closing, error);
    if (status != BLOOMERY_OK)
        return status;
    sieve->commits += sieve->store.directory >= 0 && sieve->changed;
    sieve->changed = false;
    assert(sieve->durable <= sieve->counters.pushed);
    sieve->durable = sieve->counters.pushed;
    sieve->durable_done = bloomery_queue_done(sieve->queue);
    sieve->committed_at = bloomery_sieve_now();
    return BLOOMERY_OK;
}

bloomery_status bloomery_sieve_commit_due(bloomery_sieve *sieve, bloomery_error *error)
{
    const double seconds = sieve->sync == BLOOMERY_SIEVE_SYNC_TIMED ? sieve->sync_seconds : 1;
    const bloomery_status status = bloomery_sieve_usable(sieve, error);
    if (status != BLOOMERY_OK || sieve->store.directory < 0 || !sieve->changed ||
        sieve->sync == BLOOMERY_SIEVE_SYNC_ALWAYS ||
        bloomery_sieve_now() - sieve->committed_at < seconds)
        return status;
    return bloomery_sieve_commit_now(sieve, false, error);
}

/* After a change, if each is to be durable. */
static bloomery_status commit_always(bloomery_sieve *sieve, bloomery_error *error)
{
    sieve->changed = true;
    return sieve->sync == BLOOMERY_SIEVE_SYNC_ALWAYS
               ? bloomery_sieve_commit_now(sieve, false, error)
               : BLOOMERY_OK;
}

/* ---- Pushing ----------------------------------------------------------------------------- */

bloomery_status bloomery_sieve_check_lengths(const struct bloomery_entry *entry,
                                             bloomery_error *error)
{
    if (entry->key.bytes <= BLOOMERY_SIEVE_ITEM_MAX &&
        entry->payload.bytes <= BLOOMERY_SIEVE_ITEM_MAX - entry->key.bytes)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                         "a key of %zu bytes with %zu of payload: a sieve takes %u together",
                         entry->key.bytes, entry->payload.bytes, (unsigned)BLOOMERY_SIEVE_ITEM_MAX);
}

void bloomery_sieve_canonicalise(const bloomery_sieve *sieve, uint8_t *room,
                                 struct bloomery_entry *entries, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t most = entries[i].key.bytes + CANON_ROOM;
        const size_t bytes =
            sieve->canonicaliser(sieve->canonicaliser_context, entries[i].key, room, most);
        if (bytes == SIZE_MAX || bytes > most)
            continue;
        entries[i].key = bloomery_key_of(room, bytes);
        room += bytes;
    }
}

size_t bloomery_sieve_fitting(const bloomery_sieve *sieve, const bloomery_key *keys, size_t count,
                              size_t *bytes)
{
    size_t i = 0;
    *bytes = 0;
    if (sieve->canonicaliser == NULL)
        return count < PORTION ? count : PORTION;
    while (i < count && i < PORTION && keys[i].bytes <= BLOOMERY_SIEVE_ITEM_MAX &&
           (i == 0 || *bytes + keys[i].bytes + CANON_ROOM <= CANON_STACK))
        *bytes += keys[i++].bytes + CANON_ROOM;
    assert(i <= 1 || *bytes <= CANON_STACK);
    return i;
}

/* Entries that have their final keys: hashed without the lock, pushed with it. */
static bloomery_status push_entries(bloomery_sieve *sieve, const struct bloomery_entry *entries,
                                    size_t count, uint8_t *results, bloomery_sieve_pushed *all,
                                    bloomery_error *error)
{
    bloomery_key keys[PORTION];
    bloomery_hash hashes[PORTION];
    bloomery_status status = BLOOMERY_OK;
    bloomery_status wrong = BLOOMERY_OK;
    size_t good = 0;
    size_t pushed = 0;
    assert(count <= PORTION);
    while (good < count &&
           (wrong = bloomery_sieve_check_lengths(&entries[good], error)) == BLOOMERY_OK) {
        keys[good] = entries[good].key;
        good++;
    }
    sieve->engine->hash(sieve, keys, good, hashes);
    lock(sieve);
    status = bloomery_sieve_commit_due(sieve, error);
    if (status == BLOOMERY_OK)
        status = sieve->engine->push(sieve, hashes, entries, good, results, &pushed, error);
    if (pushed > 0) {
        bloomery_error later;
        const bloomery_status synced = commit_always(sieve, &later);
        if (status == BLOOMERY_OK && synced != BLOOMERY_OK) {
            status = synced;
            if (error != NULL)
                *error = later;
        }
        all->last = sieve->counters.pushed;
    }
    unlock(sieve);
    assert(pushed <= good && (pushed == good || status != BLOOMERY_OK));
    all->done += pushed;
    return status == BLOOMERY_OK ? wrong : status;
}

/* `stack` has CANON_STACK bytes. */
static bloomery_status push_canonical(bloomery_sieve *sieve, struct bloomery_entry *entries,
                                      size_t count, uint8_t *stack, size_t bytes, uint8_t *results,
                                      bloomery_sieve_pushed *all, bloomery_error *error)
{
    if (bytes <= CANON_STACK) {
        bloomery_sieve_canonicalise(sieve, stack, entries, count);
        return push_entries(sieve, entries, count, results, all, error);
    }
    /* One long key. Not counted in sieve->store, which the lock is for. */
    assert(count == 1);
    uint8_t *room = bloomery_allocate(&sieve->allocator, bytes, 64);
    if (room == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "no memory for a key of %zu bytes",
                             bytes);
    bloomery_sieve_canonicalise(sieve, room, entries, count);
    const bloomery_status status = push_entries(sieve, entries, count, results, all, error);
    bloomery_release(&sieve->allocator, room, bytes, 64);
    return status;
}

/* `results` may be NULL: those of a portion are then written over those of the one before. */
static bloomery_status push_many(bloomery_sieve *sieve, uint32_t flags, const bloomery_key *keys,
                                 const bloomery_key *payloads, size_t count, uint8_t *results,
                                 bloomery_sieve_pushed *all, bloomery_error *error)
{
    struct bloomery_entry entries[PORTION];
    uint8_t stack[CANON_STACK];
    uint8_t nowhere[PORTION];
    const bloomery_key nothing = bloomery_key_of("", 0);
    bloomery_status status = BLOOMERY_OK;
    while (status == BLOOMERY_OK && all->done < count) {
        const size_t at = all->done;
        uint8_t *to = results != NULL ? results + at : nowhere;
        size_t bytes = 0;
        const size_t some = bloomery_sieve_fitting(sieve, keys + at, count - at, &bytes);
        if (some == 0)
            return bloomery_sieve_check_lengths(&(struct bloomery_entry){keys[at], nothing, flags},
                                                error);
        assert(some <= PORTION);
        for (size_t i = 0; i < some; i++)
            entries[i] = (struct bloomery_entry){
                keys[at + i], payloads != NULL ? payloads[at + i] : nothing, flags};
        status = sieve->canonicaliser != NULL
                     ? push_canonical(sieve, entries, some, stack, bytes, to, all, error)
                     : push_entries(sieve, entries, some, to, all, error);
    }
    return status;
}

bloomery_status bloomery_sieve_push(bloomery_sieve *sieve, const bloomery_key *keys,
                                    const bloomery_key *payloads, size_t count,
                                    bloomery_sieve_push_mode mode, uint8_t *results,
                                    bloomery_sieve_pushed *pushed, bloomery_error *error)
{
    const uint32_t flags[] = {
        [BLOOMERY_SIEVE_PUSH] = 0,
        [BLOOMERY_SIEVE_PUSH_AGAIN] = BLOOMERY_ENTRY_FORCED,
        [BLOOMERY_SIEVE_PUSH_MARK] = BLOOMERY_ENTRY_MARKED,
    };
    bloomery_sieve_pushed all = {.done = 0};
    bloomery_status status = BLOOMERY_OK;
    if ((unsigned)mode >= sizeof flags / sizeof flags[0])
        status = bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                               "%d is not a mode of bloomery_sieve_push", (int)mode);
    else if (mode == BLOOMERY_SIEVE_PUSH_MARK && payloads != NULL)
        status = bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                               "a key that is only marked has no payload: payloads must be NULL");
    else
        status = push_many(sieve, flags[mode], keys, payloads, count, results, &all, error);
    assert(all.done <= count && (all.done == 0) == (all.last == 0));
    if (pushed != NULL)
        *pushed = all;
    return status;
}

/* ---- Deciding, committing ---------------------------------------------------------------- */

bloomery_status bloomery_sieve_flush(bloomery_sieve *sieve, bloomery_error *error)
{
    lock(sieve);
    bloomery_status status = bloomery_sieve_usable(sieve, error);
    if (status == BLOOMERY_OK)
        status = sieve->engine->decide(sieve, UINT64_MAX, error);
    if (status == BLOOMERY_OK)
        status = commit_always(sieve, error);
    unlock(sieve);
    return status;
}

bloomery_status bloomery_sieve_commit(bloomery_sieve *sieve, bloomery_error *error)
{
    lock(sieve);
    const bloomery_status status = bloomery_sieve_commit_now(sieve, false, error);
    unlock(sieve);
    return status;
}

/* ---- The queue --------------------------------------------------------------------------- */

bloomery_status bloomery_sieve_commit_if_can(bloomery_sieve *sieve, bloomery_error *error)
{
    (void)bloomery_sieve_commit_due(sieve, NULL);
    return bloomery_sieve_usable(sieve, error);
}

bloomery_status bloomery_sieve_commit_where_room(bloomery_sieve *sieve, bloomery_error *error)
{
    (void)commit_always(sieve, NULL);
    return bloomery_sieve_usable(sieve, error);
}

/* Makes room on a full disk: a commit removes the segments of the queue whose items were all
 * acknowledged, and the last one too if nothing is queued. False: there is none to be made. */
static bool make_room(bloomery_sieve *sieve)
{
    if (sieve->store.failed || sieve->store.directory < 0)
        return false;
    const bool changed = sieve->changed;
    if (bloomery_queue_seal(sieve->queue, NULL) == BLOOMERY_OK)
        (void)bloomery_queue_leave_idle(sieve->queue, 0);
    sieve->changed = true; /* deciding may have left it before */
    if (bloomery_sieve_commit_now(sieve, false, NULL) == BLOOMERY_OK)
        return true;
    sieve->changed = changed;
    return false;
}

static bloomery_status decide_for_pop(bloomery_sieve *sieve, size_t room, bloomery_error *error)
{
    const bloomery_status status = sieve->engine->decide(sieve, room, error);
    return status == BLOOMERY_IO_FAILED && make_room(sieve)
               ? sieve->engine->decide(sieve, room, error)
               : status;
}

/* What is put aside on the way is a change, though nothing comes out. */
static bloomery_status pop_from_queue(bloomery_sieve *sieve, bloomery_sieve_item *items,
                                      size_t room, size_t *count, bloomery_error *error)
{
    const uint64_t dead = sieve->dead.items;
    const bloomery_status status = bloomery_queue_pop(sieve->queue, bloomery_sieve_wall_clock(),
                                                      sieve->lease, items, room, count, error);
    sieve->changed = sieve->changed || sieve->dead.items != dead;
    return status;
}

static bloomery_status pop(bloomery_sieve *sieve, bool decides, bloomery_sieve_item *items,
                           size_t room, size_t *count, bloomery_error *error)
{
    bloomery_status status = bloomery_sieve_commit_if_can(sieve, error);
    if (status == BLOOMERY_OK)
        status = pop_from_queue(sieve, items, room, count, error);
    /* There was no room to put an item aside. */
    if (status == BLOOMERY_IO_FAILED && make_room(sieve))
        status = pop_from_queue(sieve, items, room, count, error);
    if (status != BLOOMERY_OK || *count > 0 || !decides)
        return status;
    status = decide_for_pop(sieve, room, error);
    /* What was decided before a disk was full comes out; the next pop meets the full disk again. */
    if (status == BLOOMERY_IO_FAILED && bloomery_queue_queued(sieve->queue) > 0)
        status = bloomery_sieve_usable(sieve, error);
    return status == BLOOMERY_OK ? pop_from_queue(sieve, items, room, count, error) : status;
}

bloomery_status bloomery_sieve_pop(bloomery_sieve *sieve, bloomery_sieve_item *items, size_t room,
                                   bloomery_sieve_pop_mode mode, size_t *count,
                                   bloomery_error *error)
{
    *count = 0;
    if (mode != BLOOMERY_SIEVE_POP && mode != BLOOMERY_SIEVE_POP_QUEUED)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "%d is not a mode of bloomery_sieve_pop", (int)mode);
    if (room == 0)
        return BLOOMERY_OK;
    lock(sieve);
    const uint64_t dead = sieve->dead.items;
    bloomery_status status = pop(sieve, mode == BLOOMERY_SIEVE_POP, items, room, count, error);
    if (status == BLOOMERY_OK && (*count > 0 || sieve->dead.items != dead))
        status = bloomery_sieve_commit_where_room(sieve, error);
    unlock(sieve);
    assert(*count <= room);
    return status;
}

bloomery_status bloomery_sieve_skip(bloomery_sieve *sieve, uint64_t *lost, bloomery_error *error)
{
    *lost = 0;
    lock(sieve);
    bloomery_status status = bloomery_sieve_usable(sieve, error);
    if (status == BLOOMERY_OK)
        status = bloomery_queue_skip(sieve->queue, lost, error);
    if (status == BLOOMERY_OK && *lost > 0)
        status = commit_always(sieve, error);
    unlock(sieve);
    return status;
}

/* ---- Facts ------------------------------------------------------------------------------- */

void bloomery_sieve_fill_info(const struct bloomery_sieve_settings *settings,
                              const struct bloomery_sieve_counters *counters,
                              bloomery_sieve_info *info)
{
    info->engine = (bloomery_sieve_engine)settings->engine;
    info->partitions = settings->partitions;
    info->fingerprint_bits = settings->fingerprint_bits;
    info->order = bloomery_sieve_order_of(settings);
    info->planned = settings->keys;
    info->leases = settings->leases;
    memcpy(info->canon, settings->canon, sizeof info->canon);
    info->pushed = counters->pushed;
    info->new_keys = counters->new_keys;
    info->seen = counters->seen;
    info->pending = counters->pending;
    info->forced = counters->forced;
    info->marked = counters->marked;
    info->expected_drops = counters->drops;
}

static void fill_info(bloomery_sieve *sieve, bloomery_sieve_info *info)
{
    bloomery_sieve_fill_info(&sieve->settings, &sieve->counters, info);
    info->durable = sieve->store.directory < 0 ? 0 : sieve->durable;
    info->queued = bloomery_queue_queued(sieve->queue);
    info->leased = bloomery_queue_leased(sieve->queue);
    info->done = bloomery_queue_done(sieve->queue);
    info->done_durable = sieve->store.directory < 0 ? 0 : sieve->durable_done;
    info->memory_budget = sieve->memory;
    info->memory = sieve->store.memory;
    info->queue_bytes = bloomery_queue_bytes(sieve->queue);
    assert(info->leased <= sieve->settings.leases);
    info->lease_bytes = info->leased * BLOOMERY_LEASE_BYTES;
    info->bytes_read = sieve->store.bytes_read;
    info->bytes_written = sieve->store.bytes_written;
    info->commits = sieve->commits;
    info->dead = sieve->dead.items;
    info->dead_bytes = sieve->dead.bytes;
    sieve->engine->info(sieve, info);
}

void bloomery_sieve_info_get(bloomery_sieve *sieve, bloomery_sieve_info *info)
{
    bloomery_sieve_info all;
    memset(&all, 0, sizeof all);
    lock(sieve);
    fill_info(sieve, &all);
    unlock(sieve);
    bloomery_versioned_give(&all, sizeof all, info, BLOOMERY_SIEVE_INFO_BYTES_FIRST);
}

bloomery_status bloomery_sieve_verify(bloomery_sieve *sieve, bloomery_sieve_report report,
                                      void *context, uint64_t *damaged, bloomery_error *error)
{
    struct bloomery_findings findings = {.report = report, .context = context};
    lock(sieve);
    bloomery_manifest_verify(sieve, &findings);
    bloomery_status status = sieve->engine->verify(sieve, &findings, error);
    if (status == BLOOMERY_OK)
        status = bloomery_queue_verify(sieve->queue, &findings, error);
    if (status == BLOOMERY_OK)
        status = bloomery_dead_verify(&sieve->dead, &findings, error);
    unlock(sieve);
    *damaged = findings.damaged;
    return status;
}

struct fingerprints {
    bloomery_sieve_fingerprint_visitor visit;
    void *context;
    int result; /* of the last visit: any number, a status among them */
};

static int visit_fingerprint(void *context, uint64_t fingerprint)
{
    struct fingerprints *visit = context;
    visit->result = visit->visit(visit->context, fingerprint);
    return visit->result != 0;
}

bloomery_status bloomery_sieve_each_seen(bloomery_sieve *sieve,
                                         bloomery_sieve_fingerprint_visitor visit, void *context,
                                         int *result, bloomery_error *error)
{
    struct fingerprints fingerprints = {.visit = visit, .context = context};
    int ended = 0;
    if (sieve->settings.engine != BLOOMERY_SIEVE_DISK) {
        ended =
            bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                          "the memory engine keeps no fingerprints: its filter does not tell what "
                          "is in it");
    } else {
        assert(sieve->disk != NULL);
        lock(sieve);
        ended = bloomery_disk_each(sieve, visit_fingerprint, &fingerprints, error);
        unlock(sieve);
    }
    if (result != NULL)
        *result = fingerprints.result;
    return ended < 0 ? (bloomery_status)ended : BLOOMERY_OK;
}

/* ---- Leases ---------------------------------------------------------------------------------- */

/* The calls of sieve.h about what was popped: ending and renewing leases, walking through items,
 * and those that were put aside. */

/* ---- Ending and renewing ----------------------------------------------------------------- */

/* Renewing is one more way to change leases. */
enum { EXTEND = BLOOMERY_SIEVE_UNDO + 1 };

/* Returns how many of these leases were out; of all: how many there are. */
static uint64_t change(bloomery_sieve *sieve, int how, const uint64_t *numbers, size_t count,
                       double lease)
{
    if (how == EXTEND)
        return bloomery_queue_extend(sieve->queue, numbers, count, bloomery_sieve_wall_clock(),
                                     lease > 0 ? lease : sieve->lease);
    return count == BLOOMERY_SIEVE_ALL
               ? bloomery_queue_end_all(sieve->queue, (bloomery_sieve_outcome)how)
               : bloomery_queue_end(sieve->queue, numbers, count, (bloomery_sieve_outcome)how);
}

static bloomery_status change_leases(bloomery_sieve *sieve, int how, const uint64_t *numbers,
                                     size_t count, double lease, uint64_t *changed,
                                     bloomery_error *error)
{
    uint64_t leased = 0;
    lock(sieve);
    bloomery_status status = bloomery_sieve_commit_if_can(sieve, error);
    if (status == BLOOMERY_OK) {
        leased = change(sieve, how, numbers, count, lease);
        if (leased > 0)
            status = bloomery_sieve_commit_where_room(sieve, error);
    }
    unlock(sieve);
    assert(leased <= count);
    if (changed != NULL)
        *changed = leased;
    return status;
}

bloomery_status bloomery_sieve_finish(bloomery_sieve *sieve, const uint64_t *numbers, size_t count,
                                      bloomery_sieve_outcome outcome, uint64_t *finished,
                                      bloomery_error *error)
{
    if (outcome != BLOOMERY_SIEVE_DONE && outcome != BLOOMERY_SIEVE_BACK &&
        outcome != BLOOMERY_SIEVE_UNDO) {
        if (finished != NULL)
            *finished = 0;
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "%d is not an outcome: BLOOMERY_SIEVE_DONE, _BACK or _UNDO",
                             (int)outcome);
    }
    return change_leases(sieve, (int)outcome, numbers, count, 0, finished, error);
}

bloomery_status bloomery_sieve_extend(bloomery_sieve *sieve, const uint64_t *numbers, size_t count,
                                      double lease, uint64_t *extended, bloomery_error *error)
{
    if (!(lease >= 0 && lease < 1e12)) {
        if (extended != NULL)
            *extended = 0;
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a lease is 0 (as at opening) or a number of seconds");
    }
    if (count == BLOOMERY_SIEVE_ALL) {
        if (extended != NULL)
            *extended = 0;
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "leases are renewed by their numbers: BLOOMERY_SIEVE_ALL is for "
                             "bloomery_sieve_finish");
    }
    return change_leases(sieve, EXTEND, numbers, count, lease, extended, error);
}

/* ---- Walking through --------------------------------------------------------------------- */

struct visit {
    bloomery_sieve_visitor visit;
    void *context;
    int result; /* of the last visit: any number, a status among them */
};

static int visit_leased(void *context, const bloomery_sieve_item *item)
{
    struct visit *visit = context;
    visit->result = visit->visit(visit->context, item);
    return visit->result != 0;
}

static int visit_entry(void *context, const struct bloomery_entry *entry, uint64_t number)
{
    const bloomery_sieve_item item = {
        .key = entry->key, .payload = entry->payload, .number = number};
    return (entry->flags & BLOOMERY_ENTRY_MARKED) != 0 ? 0 : visit_leased(context, &item);
}

/* Negative: a status. */
static int each(bloomery_sieve *sieve, bloomery_sieve_items which, struct visit *visit,
                bloomery_error *error)
{
    switch (which) {
    case BLOOMERY_SIEVE_QUEUED:
        return bloomery_queue_each(sieve->queue, NULL, 0, visit_entry, visit, error);
    case BLOOMERY_SIEVE_LEASED:
        return bloomery_queue_each_leased(sieve->queue, visit_leased, visit, error);
    case BLOOMERY_SIEVE_DEAD:
        return bloomery_dead_each(&sieve->dead, visit_entry, NULL, visit, error);
    }
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                         "%d are not items of a sieve: BLOOMERY_SIEVE_QUEUED, _LEASED or _DEAD",
                         (int)which);
}

bloomery_status bloomery_sieve_each(bloomery_sieve *sieve, bloomery_sieve_items which,
                                    bloomery_sieve_visitor visit, void *context, int *result,
                                    bloomery_error *error)
{
    struct visit all = {.visit = visit, .context = context};
    lock(sieve);
    const int ended = each(sieve, which, &all, error);
    unlock(sieve);
    if (result != NULL)
        *result = all.result;
    return ended < 0 ? (bloomery_status)ended : BLOOMERY_OK;
}

/* ---- Dead items -------------------------------------------------------------------------- */

struct queueing {
    struct bloomery_queue *queue;
    bloomery_error *error;
};

static int queue_again(void *context, const struct bloomery_entry *entry, uint64_t number)
{
    const struct queueing *queueing = context;
    (void)number;
    return bloomery_queue_append(queueing->queue, entry, queueing->error);
}

/* All of them to the end of the queue, or none. */
static bloomery_status queue_dead(bloomery_sieve *sieve, bloomery_error *error)
{
    struct queueing queueing = {sieve->queue, error};
    struct bloomery_queue_mark mark;
    bloomery_status status = bloomery_queue_seal(sieve->queue, error);
    if (status != BLOOMERY_OK)
        return status;
    bloomery_queue_mark(sieve->queue, &mark);
    status = (bloomery_status)bloomery_dead_each(&sieve->dead, queue_again, NULL, &queueing, error);
    if (status == BLOOMERY_OK)
        status = bloomery_queue_seal(sieve->queue, error);
    if (status != BLOOMERY_OK)
        bloomery_queue_rewind(sieve->queue, &mark);
    return status;
}

bloomery_status bloomery_sieve_end_dead(bloomery_sieve *sieve, bool again, uint64_t *count,
                                        bloomery_error *error)
{
    lock(sieve);
    const uint64_t items = sieve->dead.items;
    bloomery_status status = bloomery_sieve_commit_if_can(sieve, error);
    if (status == BLOOMERY_OK && again)
        status = queue_dead(sieve, error);
    if (status == BLOOMERY_OK && items > 0) {
        bloomery_dead_empty(&sieve->dead);
        status = bloomery_sieve_commit_where_room(sieve, error);
    }
    unlock(sieve);
    if (count != NULL)
        *count = status == BLOOMERY_OK ? items : 0;
    return status;
}

/* ---- Looking up ------------------------------------------------------------------------------ */

/*
 * Whether keys were seen: the calls. Keys are brought into their form and hashed without the lock,
 * in portions that fit on the stack. Then the engine answers all of them under one lock, so that
 * what it reads for one serves the others. The hashes of more than a portion lie in memory of their
 * own; if there is none, a portion at a time will do.
 */

/* Forms and hashes of the first keys, as many as are done together: `*done`. */
static bloomery_status hash_portion(const bloomery_sieve *sieve, const bloomery_key *keys,
                                    size_t count, bloomery_hash *hashes, size_t *done,
                                    bloomery_error *error)
{
    struct bloomery_entry entries[BLOOMERY_SIEVE_PORTION];
    bloomery_key forms[BLOOMERY_SIEVE_PORTION];
    uint8_t stack[BLOOMERY_CANON_STACK];
    uint8_t *own = NULL;
    size_t bytes = 0;
    *done = bloomery_sieve_fitting(sieve, keys, count, &bytes);
    assert(*done > 0 && *done <= BLOOMERY_SIEVE_PORTION); /* lengths have been checked */
    assert(sieve->canonicaliser == NULL || bytes <= sizeof stack || *done == 1);
    for (size_t i = 0; i < *done; i++)
        entries[i] = (struct bloomery_entry){keys[i], bloomery_key_of("", 0), 0};
    if (sieve->canonicaliser != NULL) {
        /* One long key. Not counted in sieve->store, which the lock is for. */
        if (bytes > sizeof stack && !(own = bloomery_allocate(&sieve->allocator, bytes, 64)))
            return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                                 "no memory for a key of %zu bytes", keys[0].bytes);
        bloomery_sieve_canonicalise(sieve, own != NULL ? own : stack, entries, *done);
    }
    for (size_t i = 0; i < *done; i++)
        forms[i] = entries[i].key;
    sieve->engine->hash(sieve, forms, *done, hashes);
    bloomery_release(&sieve->allocator, own, bytes, 64);
    return BLOOMERY_OK;
}

/* `most` keys at a time, for which there is room. */
static bloomery_status query(bloomery_sieve *sieve, const bloomery_key *keys, size_t count,
                             bloomery_hash *hashes, uint64_t *room, size_t most, uint8_t *results,
                             bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    size_t some = 0;
    for (size_t at = 0; status == BLOOMERY_OK && at < count; at += some) {
        some = count - at < most ? count - at : most;
        assert(some > 0 && some <= BLOOMERY_CONTAINS_MAX);
        for (size_t hashed = 0, more = 0; hashed < some; hashed += more) {
            status = hash_portion(sieve, keys + at + hashed, some - hashed, hashes + hashed, &more,
                                  error);
            if (status != BLOOMERY_OK)
                return status;
        }
        lock(sieve);
        status = sieve->engine->contains(sieve, hashes, some, room, results + at, error);
        unlock(sieve);
    }
    return status;
}

bloomery_status bloomery_sieve_contains(bloomery_sieve *sieve, const bloomery_key *keys,
                                        size_t count, uint8_t *results, bloomery_error *error)
{
    bloomery_hash few[BLOOMERY_SIEVE_PORTION];
    uint64_t few_words[BLOOMERY_SIEVE_PORTION];
    const size_t most = count < BLOOMERY_CONTAINS_MAX ? count : BLOOMERY_CONTAINS_MAX;
    const size_t bytes = most * (sizeof(bloomery_hash) + sizeof(uint64_t));
    bloomery_hash *many = NULL;
    /* All before the first: a key that is too long must not be found half way. */
    for (size_t i = 0; i < count; i++) {
        const struct bloomery_entry entry = {keys[i], bloomery_key_of("", 0), 0};
        const bloomery_status status = bloomery_sieve_check_lengths(&entry, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    if (count > BLOOMERY_SIEVE_PORTION)
        many = bloomery_allocate(&sieve->allocator, bytes, 64);
    if (many == NULL)
        return query(sieve, keys, count, few, few_words, BLOOMERY_SIEVE_PORTION, results, error);
    const bloomery_status status =
        query(sieve, keys, count, many, (uint64_t *)(many + most), most, results, error);
    bloomery_release(&sieve->allocator, many, bytes, 64);
    return status;
}
