/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys become hashes before there is a filter. Three parts stand here: a sample that tells how many
 * hashes are different, the store in which hashes wait, and the hasher, which knows what hashes a
 * filter to come may need.
 */
#include "filter/hasher.h"

#include "base/experimental.h"
#include "base/numbers.h"
#include "base/progress.h"
#include "base/system.h"
#include "key/rule.h"
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Different hashes ------------------------------------------------------------------------ */

/*
 * A sample of the distinct hashes: all whose lowest `level` bits are 0. The level rises until the
 * sample fits.
 *
 *     level 0   all hashes             up to 16,384 different ones
 *     level 1   ...0                   when there are more: half of those that are kept go
 *     level 2   ...00
 *
 * A hash that comes again falls on its own slot, so repeats count once. Each different hash is in
 * the sample of level s with a chance of 2^-s, independently. With c of them in the sample, c * 2^s
 * are estimated. The variance of c is n 2^-s (1 - 2^-s), so the standard deviation of the estimate
 * is 2^s sqrt(c (1 - 2^-s)). That is 0.78 % to 1.1 % while c is between half of the room and all
 * of it. At level 0 the count is exact.
 *
 * The level at which the sample fits depends on the set of hashes alone. Samples of several threads
 * are merged at the higher of their levels, and go up as one would. So the estimate is the same
 * whatever the threads and the order. (Wegman's adaptive sampling; Flajolet, "On adaptive
 * sampling", Computing 43, 1990.)
 */

enum { SLOTS = 2 * TOOL_DISTINCT_KEPT };

/* The low bits are 0 in a sample: high ones choose the slot. False if it is there already. */
static bool insert(uint64_t *slots, uint64_t hash)
{
    size_t slot = hash >> 40 & (SLOTS - 1);
    while (slots[slot] != 0) {
        if (slots[slot] == hash)
            return false;
        slot = (slot + 1) & (SLOTS - 1);
    }
    slots[slot] = hash;
    return true;
}

static void go_up(struct tool_distinct *distinct)
{
    uint64_t *old = distinct->slots;
    distinct->slots = tool_allocate(SLOTS * sizeof(uint64_t));
    memset(distinct->slots, 0, SLOTS * sizeof(uint64_t));
    distinct->level++;
    distinct->count = 0;
    const uint64_t mask = (UINT64_C(1) << distinct->level) - 1;
    for (size_t i = 0; i < SLOTS; i++)
        if (old[i] != 0 && (old[i] & mask) == 0)
            distinct->count += insert(distinct->slots, old[i]);
    free(old);
}

void tool_distinct_add_sampled(struct tool_distinct *distinct, uint64_t hash)
{
    if (hash == 0) {
        distinct->zero_seen = true;
        return;
    }
    if (distinct->slots == NULL) {
        distinct->slots = tool_allocate(SLOTS * sizeof(uint64_t));
        memset(distinct->slots, 0, SLOTS * sizeof(uint64_t));
    }
    distinct->count += insert(distinct->slots, hash);
    while (distinct->count > TOOL_DISTINCT_KEPT && distinct->level < 63)
        go_up(distinct);
    assert(distinct->count <= TOOL_DISTINCT_KEPT);
}

void tool_distinct_merge(struct tool_distinct *into, const struct tool_distinct *from)
{
    into->zero_seen = into->zero_seen || from->zero_seen;
    while (into->level < from->level && into->slots != NULL)
        go_up(into);
    if (into->level < from->level)
        into->level = from->level;
    for (size_t i = 0; i < SLOTS && from->slots != NULL; i++)
        if (from->slots[i] != 0)
            tool_distinct_add(into, from->slots[i]);
}

double tool_distinct_estimate(const struct tool_distinct *distinct, double *deviation)
{
    const double kept = (double)(distinct->count + distinct->zero_seen);
    const double each = ldexp(1, (int)distinct->level);
    *deviation = each * sqrt(kept * (1 - 1 / each));
    return kept * each;
}

void tool_distinct_free(struct tool_distinct *distinct)
{
    free(distinct->slots);
    *distinct = (struct tool_distinct){0};
}

/* ---- The store of hashes --------------------------------------------------------------------- */

/*
 * How hashes are kept until the filter can be made.
 *
 *     memory   | chunk 0 | chunk 1 | chunk 2 | ... | chunk n |     one piece of addresses
 *     thread 0  full       full                      filling
 *     thread 1                       filling
 *     file     | chunk | chunk | ...                               full ones, as they came
 *
 * Each thread fills a chunk of its own and takes the next free one when it is full. If there is
 * none left, it writes its chunk behind the end of the file, and fills it again. The first hashes
 * stay in memory, and the file is written from the front to the back in pieces of a MiB. It has no
 * name, so that nothing is left of it, however the process ends.
 *
 * In which order hashes are added does not matter to a filter of one layer, and so neither does
 * where they lie. At the end the last chunks fill the gaps of those that did not get full. The
 * hashes in memory are then one column, which all threads add together. The file comes after them,
 * in pieces that are read into their place.
 *
 * Memory is taken from the system as it is written to; of addresses there is enough from the
 * beginning. Past the first 2 MiB, enough for most inputs, it is requested in pages of that size.
 * Small pages took a tenth of the time of a build.
 */

enum {
    CHUNK_BYTES = 1 << 20,
    CHUNK_BYTES_MIN = 64,
    HUGE_PAGE_BYTES = 2 << 20,
    THREAD_BYTES = 12 << 20,
    PIECE_BYTES = 64 << 20, /* added, or read, at once: some tenths of a second of work */
};

/* What one thread fills: it alone writes here, so it shares no cache line with another. */
struct writer {
    _Alignas(64) size_t chunk;
    size_t used; /* bytes of it */
};

struct tool_hash_store {
    size_t hash_bytes;
    uint32_t threads;
    struct writer *writers;

    unsigned char *memory;
    size_t chunk_bytes;
    size_t chunk_count;
    atomic_size_t taken; /* chunks */

    pthread_mutex_t opening;
    int file; /* -1: not yet; set while `opening` is held, before file_bytes is more than 0 */
    _Atomic uint64_t file_bytes;
    atomic_int failure; /* the errno of the first; 0: none */
};

/* ---- The store: making it -------------------------------------------------------------------- */

/* If the process may not have that many addresses, fewer do. As many as the hashes take are left
 * for the filter, and some for each thread's stack and input, unless this is the least that will
 * do. */
static void take_memory(struct tool_hash_store *store)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t bytes, all;
    while (true) {
        const bool least = store->chunk_count / 2 < store->threads;
        bytes = store->chunk_count * store->chunk_bytes;
        all = least ? bytes : 2 * bytes + (size_t)store->threads * THREAD_BYTES;
        void *memory = mmap(NULL, all, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        store->memory = memory != MAP_FAILED ? memory : NULL;
        if (store->memory != NULL)
            break;
        if (least) {
            tool_error("not enough memory for %zu bytes", bytes);
            exit(TOOL_ERROR);
        }
        store->chunk_count /= 2;
    }
    const size_t kept = (bytes + page - 1) / page * page;
    if (all > kept)
        munmap(store->memory + kept, all - kept);
    if (bytes > HUGE_PAGE_BYTES)
        madvise(store->memory + HUGE_PAGE_BYTES, bytes - HUGE_PAGE_BYTES, MADV_HUGEPAGE);
}

struct tool_hash_store *tool_hash_store_new(size_t hash_bytes, uint32_t threads, size_t max_bytes)
{
    assert(hash_bytes == sizeof(uint64_t) || hash_bytes == sizeof(bloomery_hash));
    assert(threads > 0);
    struct tool_hash_store *store = tool_allocate(sizeof(*store));
    memset(store, 0, sizeof(*store));
    store->hash_bytes = hash_bytes;
    store->threads = threads;
    /* Two chunks a thread at least, so that no thread holds memory that others need. */
    store->chunk_bytes = max_bytes / threads / 2 / CHUNK_BYTES_MIN * CHUNK_BYTES_MIN;
    if (store->chunk_bytes > CHUNK_BYTES)
        store->chunk_bytes = CHUNK_BYTES;
    if (store->chunk_bytes < CHUNK_BYTES_MIN)
        store->chunk_bytes = CHUNK_BYTES_MIN;
    store->chunk_count = max_bytes / store->chunk_bytes;
    if (store->chunk_count < threads)
        store->chunk_count = threads;
    take_memory(store);

    store->writers = aligned_alloc(_Alignof(struct writer), threads * sizeof(struct writer));
    if (store->writers == NULL) {
        tool_error("not enough memory for %zu bytes", threads * sizeof(struct writer));
        exit(TOOL_ERROR);
    }
    for (uint32_t i = 0; i < threads; i++)
        store->writers[i] = (struct writer){.chunk = i};
    atomic_init(&store->taken, threads);
    store->file = -1;
    pthread_mutex_init(&store->opening, NULL);
    return store;
}

void tool_hash_store_free(struct tool_hash_store *store)
{
    if (store == NULL)
        return;
    munmap(store->memory, store->chunk_count * store->chunk_bytes);
    if (store->file >= 0)
        close(store->file);
    pthread_mutex_destroy(&store->opening);
    free(store->writers);
    free(store);
}

/* ---- The store: its file --------------------------------------------------------------------- */

static const char *directory(void)
{
    const char *named = getenv("TMPDIR");
    return named != NULL && named[0] != '\0' ? named : "/tmp";
}

/* A file without a name, if the file system can make such, or one whose name is gone at once.
 * Returns the descriptor; -1 with errno. */
static int open_unnamed(void)
{
    char path[PATH_MAX];
    const char *among = directory();
    int file = open(among, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0)
        return file;
    int length = snprintf(path, sizeof(path), "%s/bloomery-hashes-XXXXXX", among);
    if (length < 0 || (size_t)length >= sizeof(path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0)
        unlink(path);
    return file;
}

static bool fail(struct tool_hash_store *store, int reason)
{
    int none = 0;
    atomic_compare_exchange_strong(&store->failure, &none, reason);
    return false;
}

bool tool_hash_store_failed(const struct tool_hash_store *store)
{
    return atomic_load(&store->failure) != 0;
}

void tool_hash_store_say(const struct tool_hash_store *store)
{
    const int reason = atomic_load(&store->failure);
    if (reason != 0)
        tool_error("hashes that do not fit in memory, in a file in %s: %s; set TMPDIR to another "
                   "directory, or give -n, which needs no such file",
                   directory(), strerror(reason));
}

static bool open_once(struct tool_hash_store *store)
{
    pthread_mutex_lock(&store->opening);
    if (store->file < 0 && atomic_load(&store->failure) == 0) {
        store->file = open_unnamed();
        if (store->file < 0)
            fail(store, errno);
    }
    const bool open = store->file >= 0;
    pthread_mutex_unlock(&store->opening);
    return open;
}

/* ---- The store: keeping ---------------------------------------------------------------------- */

static unsigned char *chunk_at(const struct tool_hash_store *store, size_t chunk)
{
    assert(chunk < store->chunk_count);
    return store->memory + chunk * store->chunk_bytes;
}

/* Room for a thread whose chunk is full: in the next one, or in the same once it is written. */
static bool next_chunk(struct tool_hash_store *store, struct writer *writer)
{
    size_t chunk = atomic_load(&store->taken);
    if (chunk < store->chunk_count)
        chunk = atomic_fetch_add(&store->taken, 1);
    if (chunk < store->chunk_count)
        writer->chunk = chunk;
    else {
        /* A whole chunk is written behind the others. */
        assert(writer->used == store->chunk_bytes);
        if (!open_once(store))
            return false;
        const uint64_t at = atomic_fetch_add(&store->file_bytes, store->chunk_bytes);
        const unsigned char *full = chunk_at(store, writer->chunk);
        const int reason = tool_write_at(store->file, at, full, store->chunk_bytes);
        if (reason != 0)
            return fail(store, reason);
    }
    writer->used = 0;
    return true;
}

bool tool_hash_store_keep(struct tool_hash_store *store, uint32_t thread,
                          const bloomery_hash *hashes, size_t count)
{
    assert(thread < store->threads);
    struct writer *writer = &store->writers[thread];
    while (count > 0) {
        if (atomic_load_explicit(&store->failure, memory_order_relaxed) != 0 ||
            (writer->used == store->chunk_bytes && !next_chunk(store, writer)))
            return false;
        const size_t room = (store->chunk_bytes - writer->used) / store->hash_bytes;
        const size_t now = count < room ? count : room;
        unsigned char *to = chunk_at(store, writer->chunk) + writer->used;
        if (store->hash_bytes == sizeof(bloomery_hash))
            memcpy(to, hashes, now * sizeof(*hashes));
        else
            for (size_t i = 0; i < now; i++)
                memcpy(to + i * sizeof(uint64_t), &hashes[i].hi, sizeof(uint64_t));
        writer->used += now * store->hash_bytes;
        assert(writer->used <= store->chunk_bytes);
        hashes += now;
        count -= now;
    }
    return true;
}

static size_t chunks_taken(const struct tool_hash_store *store)
{
    const size_t taken = atomic_load(&store->taken);
    return taken < store->chunk_count ? taken : store->chunk_count;
}

/* Bytes of hashes in memory: all chunks are full but those that threads were filling. */
static size_t bytes_in_memory(const struct tool_hash_store *store)
{
    size_t bytes = chunks_taken(store) * store->chunk_bytes;
    for (uint32_t i = 0; i < store->threads; i++)
        bytes -= store->chunk_bytes - store->writers[i].used;
    return bytes;
}

uint64_t tool_hash_store_count(const struct tool_hash_store *store)
{
    return (bytes_in_memory(store) + atomic_load(&store->file_bytes)) / store->hash_bytes;
}

uint64_t tool_hash_store_file_bytes(const struct tool_hash_store *store)
{
    return atomic_load(&store->file_bytes);
}

/* ---- The store: building --------------------------------------------------------------------- */

/* The hashes of the last chunks fill the gaps in those before. */
static void close_gaps(struct tool_hash_store *store)
{
    size_t end = chunks_taken(store), first = 0;
    size_t *used = tool_allocate(end * sizeof(*used));
    for (size_t i = 0; i < end; i++)
        used[i] = store->chunk_bytes;
    for (uint32_t i = 0; i < store->threads; i++)
        used[store->writers[i].chunk] = store->writers[i].used;
    while (first + 1 < end) {
        const size_t gap = store->chunk_bytes - used[first], last = end - 1;
        const size_t moved = gap < used[last] ? gap : used[last];
        used[last] -= moved;
        memcpy(chunk_at(store, first) + used[first], chunk_at(store, last) + used[last], moved);
        used[first] += moved;
        if (used[first] == store->chunk_bytes)
            first++;
        else
            end--;
    }
    free(used);
}

static bool add(const struct tool_hash_store *store, bloomery_filter *filter, const char *name,
                size_t from, size_t bytes)
{
    bloomery_keys keys = BLOOMERY_KEYS;
    bloomery_error error;
    keys.form =
        store->hash_bytes == sizeof(uint64_t) ? BLOOMERY_KEYS_HASHES64 : BLOOMERY_KEYS_HASHES128;
    keys.data = store->memory + from;
    keys.count = bytes / store->hash_bytes;
    keys.threads = store->threads;
    bloomery_status status = bloomery_add_keys(filter, &keys, NULL, NULL, &error);
    if (status == BLOOMERY_OUT_OF_MEMORY) { /* before anything was added: one thread needs less */
        keys.threads = 1;
        status = bloomery_add_keys(filter, &keys, NULL, NULL, &error);
    }
    if (status == BLOOMERY_OK)
        return true;
    tool_library_error(name, &error);
    return false;
}

bool tool_hash_store_build(struct tool_hash_store *store, bloomery_filter *filter, const char *name,
                           bool quiet)
{
    const size_t memory = bytes_in_memory(store);
    const size_t room = store->chunk_count * store->chunk_bytes;
    const uint64_t file = atomic_load(&store->file_bytes), all = memory + file;
    struct tool_progress progress;
    bool good = true;
    assert(atomic_load(&store->failure) == 0);
    tool_progress_start(&progress, "building", quiet);
    close_gaps(store);
    for (size_t from = 0, now; good && from < memory; from += now) {
        now = memory - from < PIECE_BYTES ? memory - from : PIECE_BYTES;
        tool_progress_update(&progress, from / store->hash_bytes, from, all);
        good = add(store, filter, name, from, now);
    }
    for (uint64_t from = 0, now; good && from < file; from += now) {
        now = room < PIECE_BYTES ? room : PIECE_BYTES;
        if (file - from < now)
            now = file - from;
        tool_progress_update(&progress, (memory + from) / store->hash_bytes, memory + from, all);
        uint64_t done = 0;
        const int reason = tool_read_at(store->file, from, store->memory, (size_t)now, &done);
        good = reason == 0 && done == now ? add(store, filter, name, 0, (size_t)now)
                                          : fail(store, reason == 0 ? EIO : reason);
    }
    tool_progress_stop(&progress);
    tool_hash_store_say(store);
    return good;
}

/* ---- The hasher ------------------------------------------------------------------------------ */

/*
 * Which hashes are kept.
 *
 * A keyed filter has SipHash. All others have XXH3-64, unless that is more than 1 % of their rate:
 * then the plan takes XXH3-128 (bloomery.h, bloomery_plan.hash). n keys share a hash of 64 bits
 * with n / 2^64 of all others. At a rate of 1e-7, 1 % of it are 18 billion keys, whose hashes would
 * fill 147 GB. From there up XXH3-64 is kept alone. Below, both are, and the plan chooses.
 *
 * If the memory is given and not the rate, few keys have a low one, and many do not. At 32 bits a
 * key no filter has less than 2e-7 (of a classic one, the best, 0.6185^32). So past this number of
 * keys the 128 bits are no longer needed. That holds for filters of up to 128 GiB: those are 34
 * billion keys, and at 2e-7 XXH3-64 serves 36 billion.
 */

#define RATE_FOR_NARROW 1e-7

enum { BYTES_PER_KEY_MIN = 4 };                     /* with a rate given by the memory */
#define MEMORY_WITH_LOW_RATES (UINT64_C(128) << 30) /* up to which that is so */
#define MEMORY_MAX            ((size_t)256 << 20)   /* of hashes; more go to a file */
#define MEMORY_MIN            ((size_t)1 << 20)
enum { PORTION = 512 }; /* keys hashed at once: their hashes stay in the first cache */

/* A quarter of what there is, where that is less than usual: the filter comes while the hashes are
 * still there. Tests want hashes that do not fit. */
static size_t memory_max(void)
{
    bloomery_limits limits = BLOOMERY_LIMITS;
#ifdef BLOOMERY_TOOL_SWITCH
    const char *text = getenv("BLOOMERY_HASH_BYTES");
    const size_t wanted = text != NULL ? strtoul(text, NULL, 10) : 0;
    if (wanted > 0 && wanted <= MEMORY_MAX)
        return wanted;
#endif
    bloomery_limits_get(&limits);
    if (limits.room / 4 >= MEMORY_MAX)
        return MEMORY_MAX;
    return limits.room / 4 > MEMORY_MIN ? (size_t)(limits.room / 4) : MEMORY_MIN;
}

static size_t hash_bytes(bloomery_hash_id hash)
{
    return hash == BLOOMERY_HASH_XXH3_64 ? sizeof(uint64_t) : sizeof(bloomery_hash);
}

bloomery_filter *tool_hasher_least(bloomery_hash_id hash, const bloomery_create_options *options)
{
    const bloomery_plan plan = {.kind = BLOOMERY_BLOCKED,
                                .hash = hash,
                                .blocks_per_key = 1,
                                .probes = 1,
                                .cell_bits = 1,
                                .bits = 512};
    bloomery_filter *filter = NULL;
    bloomery_error error;
    if (bloomery_create(&plan, options, &filter, &error) != BLOOMERY_OK)
        tool_library_error(NULL, &error);
    return filter;
}

static bool add_part(struct tool_hasher *hasher, const bloomery_create_options *options,
                     bloomery_hash_id hash, uint64_t keys_max)
{
    struct tool_hasher_part *part = &hasher->parts[hasher->count];
    assert(hasher->count < TOOL_HASHER_PARTS);
    *part = (struct tool_hasher_part){.hash = hash, .keys_max = keys_max};
    part->filter = tool_hasher_least(hash, options);
    hasher->count += part->filter != NULL;
    return part->filter != NULL;
}

bool tool_hasher_open(struct tool_hasher *hasher, bloomery_hash_id hash,
                      const bloomery_create_options *options, double rate, uint64_t memory)
{
    hasher->count = 0;
    hasher->threads = 0;
    hasher->counts_only = false;
    hasher->distinct = NULL;
    atomic_init(&hasher->keys, 0);
    if (hash != BLOOMERY_HASH_DEFAULT)
        return add_part(hasher, options, hash, UINT64_MAX);
    if (!add_part(hasher, options, BLOOMERY_HASH_XXH3_64, UINT64_MAX) || rate >= RATE_FOR_NARROW)
        return hasher->count > 0;
    const uint64_t most =
        rate > 0 || memory > MEMORY_WITH_LOW_RATES ? UINT64_MAX : memory / BYTES_PER_KEY_MIN;
    return add_part(hasher, options, BLOOMERY_HASH_XXH3_128, most);
}

void tool_hasher_start(struct tool_hasher *hasher, uint32_t threads)
{
    size_t bytes = 0;
    hasher->threads = threads;
    hasher->distinct = tool_allocate(threads * sizeof(*hasher->distinct));
    memset(hasher->distinct, 0, threads * sizeof(*hasher->distinct));
    for (size_t i = 0; i < hasher->count; i++)
        bytes += hash_bytes(hasher->parts[i].hash);
    for (size_t i = 0; i < hasher->count && !hasher->counts_only; i++) {
        const size_t own = hash_bytes(hasher->parts[i].hash);
        hasher->parts[i].store = tool_hash_store_new(own, threads, memory_max() / bytes * own);
    }
}

bool tool_hasher_take(struct tool_hasher *hasher, uint32_t thread, const bloomery_key *keys,
                      size_t count)
{
    bloomery_hash hashes[PORTION];
    const uint64_t before = atomic_fetch_add(&hasher->keys, count);
    const size_t parts = hasher->counts_only ? 1 : hasher->count; /* the first one is counted */
    for (size_t from = 0, now; from < count; from += now) {
        now = count - from < PORTION ? count - from : PORTION;
        for (size_t i = 0; i < parts; i++) {
            const struct tool_hasher_part *part = &hasher->parts[i];
            if (before > part->keys_max)
                continue;
            const bloomery_status status = tool_batch_hash(part->filter, keys + from, now, hashes);
            assert(status == BLOOMERY_OK);
            (void)status;
            for (size_t j = 0; i == 0 && j < now; j++)
                tool_distinct_add(&hasher->distinct[thread], hashes[j].hi);
            if (!hasher->counts_only && !tool_hash_store_keep(part->store, thread, hashes, now))
                return false;
        }
    }
    return true;
}

bool tool_hasher_failed(const struct tool_hasher *hasher)
{
    bool failed = false;
    for (size_t i = 0; i < hasher->count && !hasher->counts_only; i++)
        failed = failed || tool_hash_store_failed(hasher->parts[i].store);
    return failed;
}

void tool_hasher_say(const struct tool_hasher *hasher)
{
    for (size_t i = 0; i < hasher->count && !hasher->counts_only; i++)
        tool_hash_store_say(hasher->parts[i].store);
}

uint64_t tool_hasher_different_keys(struct tool_hasher *hasher)
{
    const uint64_t keys = atomic_load(&hasher->keys);
    double deviation = 0;
    for (uint32_t i = 1; i < hasher->threads; i++)
        tool_distinct_merge(&hasher->distinct[0], &hasher->distinct[i]);
    const double estimate = tool_distinct_estimate(&hasher->distinct[0], &deviation);
    const double above = estimate + 4 * deviation;
    return above < (double)keys ? (uint64_t)ceil(above) : keys;
}

bool tool_hasher_build(struct tool_hasher *hasher, bloomery_filter *filter, bloomery_hash_id hash,
                       const char *name, bool quiet)
{
    char number[TOOL_NUMBER_BYTES];
    const uint64_t keys = atomic_load(&hasher->keys);
    for (size_t i = 0; i < hasher->count; i++) {
        struct tool_hasher_part *part = &hasher->parts[i];
        if (part->hash == hash && tool_hash_store_count(part->store) == keys)
            return tool_hash_store_build(part->store, filter, name, quiet);
    }
    tool_error("%s keys need a hash of 128 bits, which was not expected; give their number with -n",
               tool_format_count(number, keys));
    return false;
}

void tool_hasher_close(struct tool_hasher *hasher)
{
    for (uint32_t i = 0; i < hasher->threads; i++)
        tool_distinct_free(&hasher->distinct[i]);
    free(hasher->distinct);
    hasher->distinct = NULL;
    hasher->threads = 0;
    for (size_t i = 0; i < hasher->count; i++) {
        tool_hash_store_free(hasher->parts[i].store);
        bloomery_free(hasher->parts[i].filter);
    }
    hasher->count = 0;
}
