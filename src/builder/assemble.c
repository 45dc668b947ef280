/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer by layer. A layer is divided into units, which are ranges of x: one or more whole sections,
 * of one heap of the spool, or of several, or of a part of one. A thread takes the next unit that
 * is free, gathers its hashes, solves its sections, and writes them to their places.
 *
 *     heaps      |    0    |    1    |    2    |    3    | ...     by the first byte of x
 *     sections   |    0    |    1    |    2    |    3    | ...     by the first q bits of x
 *     units      |    0    |    1    |    2    |    3    | ...     by the first u bits, u <= q
 *
 * How many distinct keys there are has to be known before the first section is solved. Of many keys
 * that is 256 times those of heap 0; it depends on nothing but the set, and an error of 0.2 % costs
 * nothing. Of fewer than 67 million all heaps are counted.
 */
#include "builder/assemble.h"
#include "base/error.h"
#include "base/io.h"
#include "base/memory.h"
#include "base/threads.h"
#include "builder/pairs.h"
#include "builder/section.h"
#include "kinds/static.h"

#include <assert.h>
#include <string.h>

enum {
    HEAP_BITS = 8,
    LAYERS_MAX = 16, /* chance does not get there; keys that were made to collide do */
    ESTIMATE_FROM = 1 << 18,
    BUMPED_RESERVE = 5 << 20, /* at least, of the memory allowed: for the next layer's pieces */
    ROOM_MIN = 8192,          /* hashes that a thread can gather at least */
};

/* What a thread has to itself. */
struct desk {
    struct bloomery_gathered gathered;
    void *section; /* bloomery_section_bytes */
};

/* The work on one layer, shared by threads. */
struct job {
    struct bloomery_assembly *assembly;
    struct bloomery_spool *from;
    struct bloomery_spool *next; /* for what is bumped */
    struct bloomery_layer *layer;
    uint8_t *thresholds; /* of the whole layer, in memory */
    uint32_t unit_bits;
    uint64_t units;
    uint64_t taken;    /* atomic */
    uint64_t distinct; /* atomic */
    struct desk *desks;
    uint64_t *counts; /* of heaps; where they are counted */
    struct bloomery_lock *lock;
    bool failed; /* atomic; `status` and `error` under the lock */
    bloomery_status status;
    bloomery_error error;
};

/* ---- Desks ----------------------------------------------------------------------------------- */

static void release_desks(struct job *job, uint32_t threads, size_t room, size_t section_bytes)
{
    const bloomery_allocator *allocator = job->assembly->allocator;
    for (uint32_t i = 0; i < threads && job->desks != NULL; i++) {
        bloomery_release(allocator, job->desks[i].gathered.hashes, room * sizeof(bloomery_hash),
                         64);
        bloomery_release(allocator, job->desks[i].gathered.piece, sizeof(struct bloomery_piece),
                         64);
        if (section_bytes > 0)
            bloomery_release(allocator, job->desks[i].section, section_bytes, 64);
    }
    bloomery_release(allocator, job->desks, threads * sizeof *job->desks, 64);
    job->desks = NULL;
}

static bloomery_status make_desks(struct job *job, uint32_t threads, size_t room,
                                  size_t section_bytes, bloomery_error *error)
{
    const bloomery_allocator *allocator = job->assembly->allocator;
    bool made =
        (job->desks = bloomery_allocate(allocator, threads * sizeof *job->desks, 64)) != NULL;
    for (uint32_t i = 0; i < threads && made; i++) {
        struct desk *desk = &job->desks[i];
        desk->gathered.room = room;
        desk->gathered.hashes = bloomery_allocate(allocator, room * sizeof(bloomery_hash), 64);
        desk->gathered.piece = bloomery_allocate(allocator, sizeof(struct bloomery_piece), 64);
        if (section_bytes > 0)
            desk->section = bloomery_allocate(allocator, section_bytes, 64);
        made = desk->gathered.hashes != NULL && desk->gathered.piece != NULL &&
               (section_bytes == 0 || desk->section != NULL);
    }
    if (made)
        return BLOOMERY_OK;
    release_desks(job, threads, room, section_bytes);
    return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                         "not enough memory to sort the hashes and solve their equations");
}

/* What is left of the memory allowed beside the pieces, those to come included. */
static uint64_t memory_left(const struct job *job)
{
    const uint64_t used = job->from->pool->limit;
    return job->assembly->memory > used ? job->assembly->memory - used : 0;
}

static void fail(struct job *job, bloomery_status status, const bloomery_error *error)
{
    bloomery_lock(job->lock);
    if (!job->failed) {
        job->status = status;
        job->error = *error;
    }
    __atomic_store_n(&job->failed, true, __ATOMIC_RELEASE);
    bloomery_unlock(job->lock);
}

/* The number of the next unit; false: there is none, or it is over. */
static bool take_unit(struct job *job, uint32_t worker, uint64_t *unit)
{
    const struct bloomery_assembly *assembly = job->assembly;
    bloomery_error error = {.status = BLOOMERY_OK};
    if (__atomic_load_n(&job->failed, __ATOMIC_ACQUIRE))
        return false;
    *unit = __atomic_fetch_add(&job->taken, 1, __ATOMIC_RELAXED);
    if (worker == 0 && assembly->progress != NULL &&
        assembly->progress(assembly->progress_context, *unit < job->units ? *unit : job->units,
                           job->units) != 0)
        fail(job, bloomery_fail(&error, BLOOMERY_IO_FAILED, 0, "the caller stopped the build"),
             &error);
    return *unit < job->units;
}

static bloomery_status run(struct job *job, void (*work)(void *context, uint32_t number),
                           uint32_t threads, bloomery_error *error)
{
    job->taken = 0;
    job->failed = false;
    job->lock = bloomery_locks_make(job->assembly->allocator, 1);
    if (job->lock == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "not enough memory for a lock");
    bloomery_workers_run(work, job, threads);
    bloomery_locks_free(job->assembly->allocator, job->lock, 1);
    if (!job->failed)
        return BLOOMERY_OK;
    if (error != NULL)
        *error = job->error;
    return job->status;
}

/* ---- Counting -------------------------------------------------------------------------------- */

static void count_work(void *context, uint32_t number)
{
    struct job *job = context;
    uint64_t unit;
    while (take_unit(job, number, &unit)) {
        bloomery_error error = {.status = BLOOMERY_OK};
        /* Heaps 0 and 128 come first. */
        const uint32_t heap =
            job->units == 2 ? (uint32_t)unit * (BLOOMERY_HEAPS / 2) : (uint32_t)unit;
        const bloomery_status status = bloomery_gather_count(
            job->from, heap, &job->desks[number].gathered, &job->counts[heap], &error);
        if (status != BLOOMERY_OK)
            fail(job, status, &error);
    }
}

static uint64_t fullest_heap(const struct bloomery_spool *spool)
{
    uint64_t max = 0;
    for (uint32_t i = 0; i < BLOOMERY_HEAPS; i++)
        max = spool->heaps[i].count > max ? spool->heaps[i].count : max;
    return max;
}

/* How many hashes each of `threads` can gather, with `other` bytes for each besides: those of the
 * unit, or as many as there is memory for. Fewer threads do it if all of them can't. */
static size_t room_for(const struct job *job, uint64_t hashes, size_t other, uint32_t *threads)
{
    const uint64_t left = memory_left(job);
    const uint64_t wanted = hashes + BLOOMERY_PIECE_HASHES;
    while (*threads > 1 && (wanted * sizeof(bloomery_hash) + other) * *threads > left)
        --*threads;
    const uint64_t fits = left > other ? (left - other) / *threads / sizeof(bloomery_hash) : 0;
    const uint64_t room = wanted < fits ? wanted : fits;
    return (size_t)(room > ROOM_MIN ? room : ROOM_MIN);
}

/* The distinct hashes of the first layer, or a good estimate of many. */
static bloomery_status count_keys(struct job *job, uint64_t *keys, bloomery_error *error)
{
    uint64_t counts[BLOOMERY_HEAPS] = {0};
    uint32_t threads = job->assembly->threads;
    const size_t room = room_for(job, fullest_heap(job->from), 0, &threads);
    job->counts = counts;
    bloomery_status status = make_desks(job, threads, room, 0, error);
    if (status != BLOOMERY_OK)
        return status;
    job->units = 2;
    status = run(job, count_work, threads < 2 ? threads : 2, error);
    const uint64_t one = counts[0];
    const uint64_t other = counts[BLOOMERY_HEAPS / 2];
    const bool many = one >= ESTIMATE_FROM && other >= ESTIMATE_FROM &&
                      (one > other ? one - other : other - one) < one / 16;
    *keys = one * BLOOMERY_HEAPS;
    if (status == BLOOMERY_OK && !many) {
        job->units = BLOOMERY_HEAPS;
        status = run(job, count_work, threads, error);
        *keys = 0;
        for (uint32_t i = 0; i < BLOOMERY_HEAPS; i++)
            *keys += counts[i];
    }
    release_desks(job, threads, room, 0);
    return status;
}

/* ---- Sections -------------------------------------------------------------------------------- */

static bloomery_status write_at(const struct job *job, uint64_t at, const void *data, size_t bytes,
                                bloomery_error *error)
{
    const struct bloomery_layer *layer = job->layer;
    if (layer->payload != NULL) {
        memcpy(layer->payload + at, data, bytes);
        return BLOOMERY_OK;
    }
    return bloomery_scratch_write(job->assembly->file, layer->offset + at, data, bytes,
                                  job->from->pool->directory, error);
}

static bloomery_status write_section(const struct job *job, const struct bloomery_section *section,
                                     uint64_t number, bloomery_error *error)
{
    const struct bloomery_ribbon *ribbon = section->ribbon;
    const uint64_t buckets = bloomery_ribbon_section_buckets(ribbon);
    bloomery_status status = BLOOMERY_OK;
    for (uint64_t i = 0; i < buckets; i++) {
        const uint64_t bucket = number * buckets + i;
        if (section->thresholds[i] != 0) /* other sections may have a part of the byte */
            __atomic_fetch_or(&job->thresholds[bucket / 4],
                              (uint8_t)(section->thresholds[i] << 2 * (bucket % 4)),
                              __ATOMIC_RELAXED);
    }
    for (uint32_t plane = 0; plane < BLOOMERY_RIBBON_PLANES_MAX && status == BLOOMERY_OK; plane++) {
        const struct bloomery_section_run run = bloomery_section_run_of(ribbon, number, plane);
        if (run.words > 0)
            status = write_at(job, bloomery_ribbon_plane(ribbon, plane) + 8 * run.to,
                              section->words + run.from, 8 * run.words, error);
    }
    return status;
}

static bloomery_status solve_section(struct job *job, struct bloomery_section *section,
                                     uint64_t number, bloomery_hash *keys, size_t count,
                                     bloomery_error *error)
{
    bloomery_section_solve(section, number, keys, count);
    for (size_t i = section->bumped_count; i < count && !job->assembly->unchecked; i++)
        if (!bloomery_section_holds(section, number, keys[i]))
            return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                                 "a key is missing in what was built from it: the memory of this "
                                 "machine may be broken");
    const bloomery_status status = write_section(job, section, number, error);
    return status == BLOOMERY_OK ? bloomery_spool_add(job->next, keys, section->bumped_count, error)
                                 : status;
}

static bloomery_status solve_unit(struct job *job, struct desk *desk, uint64_t unit,
                                  bloomery_error *error)
{
    struct bloomery_section section;
    const struct bloomery_ribbon *ribbon = &job->layer->ribbon;
    struct bloomery_gathered *gathered = &desk->gathered;
    const uint32_t bits = job->unit_bits;
    const struct bloomery_x_range range = {bits == 0 ? 0 : unit << (64 - bits),
                                           bits == 0 ? UINT64_MAX
                                                     : (unit << (64 - bits)) | UINT64_MAX >> bits};
    bloomery_status status = bloomery_gather(job->from, range, gathered, error);
    if (status != BLOOMERY_OK)
        return status;
    __atomic_fetch_add(&job->distinct, gathered->count, __ATOMIC_RELAXED);
    bloomery_section_start(&section, ribbon, job->from->layer, desk->section);
    for (size_t from = 0, to; from < gathered->count && status == BLOOMERY_OK; from = to) {
        const uint64_t number = bloomery_equation_section(
            bloomery_equation_x(gathered->hashes[from], section.layer), ribbon->section_bits);
        for (to = from + 1; to < gathered->count; to++)
            if (bloomery_equation_section(bloomery_equation_x(gathered->hashes[to], section.layer),
                                          ribbon->section_bits) != number)
                break;
        status = solve_section(job, &section, number, gathered->hashes + from, to - from, error);
    }
    return status;
}

static void solve_work(void *context, uint32_t number)
{
    struct job *job = context;
    uint64_t unit;
    while (take_unit(job, number, &unit)) {
        bloomery_error error = {.status = BLOOMERY_OK};
        const bloomery_status status = solve_unit(job, &job->desks[number], unit, &error);
        if (status != BLOOMERY_OK)
            fail(job, status, &error);
    }
}

/* The hashes of a unit of `bits` bits: at most those of its heaps, or the share of one that chance
 * hardly passes. */
static uint64_t unit_hashes(const struct bloomery_spool *spool, uint32_t bits)
{
    const uint64_t fullest = fullest_heap(spool);
    if (bits > HEAP_BITS)
        return (fullest >> (bits - HEAP_BITS)) + (fullest >> (bits - HEAP_BITS)) / 32 + 4096;
    uint64_t max = 0;
    const uint32_t together = (uint32_t)BLOOMERY_HEAPS >> bits;
    for (uint32_t i = 0; i < BLOOMERY_HEAPS; i += together) {
        uint64_t sum = 0;
        for (uint32_t j = 0; j < together; j++)
            sum += spool->heaps[i + j].count;
        max = sum > max ? sum : max;
    }
    return max;
}

static bloomery_status solve_layer(struct job *job, bloomery_error *error)
{
    const struct bloomery_ribbon *ribbon = &job->layer->ribbon;
    const size_t section_bytes = bloomery_section_bytes(ribbon);
    uint32_t threads = job->assembly->threads;
    uint32_t bits = ribbon->section_bits < HEAP_BITS ? ribbon->section_bits : HEAP_BITS;
    while (bits < ribbon->section_bits &&
           unit_hashes(job->from, bits) * sizeof(bloomery_hash) + section_bytes > memory_left(job))
        bits++;
    job->unit_bits = bits;
    job->units = UINT64_C(1) << bits;
    if (threads > job->units)
        threads = (uint32_t)job->units;
    const size_t room = room_for(job, unit_hashes(job->from, bits), section_bytes, &threads);
    bloomery_status status = make_desks(job, threads, room, section_bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    status = run(job, solve_work, threads, error);
    release_desks(job, threads, room, section_bytes);
    return status;
}

/* ---- Layers ---------------------------------------------------------------------------------- */

/* The layer's memory, or its place in the file, and its thresholds. */
static bloomery_status make_layer(struct job *job, uint64_t keys, bloomery_error *error)
{
    struct bloomery_assembly *assembly = job->assembly;
    struct bloomery_layer *layer = job->layer;
    *layer = (struct bloomery_layer){.offset = assembly->payload_bytes,
                                     .ribbon = bloomery_ribbon_for(keys, assembly->rate)};
    layer->bits = bloomery_ribbon_blocks(&layer->ribbon) * BLOOMERY_RIBBON_WIDTH;
    layer->bytes = bloomery_ribbon_bytes(&layer->ribbon);
    layer->probes = layer->ribbon.columns + 1U;
    layer->rate = bloomery_ribbon_rate(&layer->ribbon);
    assembly->payload_bytes += layer->bytes;
    const size_t metadata = (size_t)bloomery_ribbon_metadata_bytes(&layer->ribbon);
    if (assembly->file < 0) {
        layer->payload =
            bloomery_allocate(assembly->allocator, (size_t)layer->bytes, BLOOMERY_PAYLOAD_UNIT);
        job->thresholds =
            layer->payload != NULL ? layer->payload + (layer->bytes - metadata) : NULL;
    } else {
        job->thresholds = bloomery_allocate(assembly->allocator, metadata, BLOOMERY_PAYLOAD_UNIT);
    }
    if (job->thresholds == NULL)
        return bloomery_fail_memory(error, assembly->allocator, "a filter",
                                    assembly->payload_bytes);
    return BLOOMERY_OK;
}

static bloomery_status build_layer(struct job *job, bloomery_error *error)
{
    struct bloomery_layer *layer = job->layer;
    uint64_t keys = bloomery_spool_count(job->from);
    bloomery_status status = BLOOMERY_OK;
    if (job->from->layer == 0 && keys > 0)
        status = count_keys(job, &keys, error);
    if (status == BLOOMERY_OK)
        status = make_layer(job, keys, error);
    if (status != BLOOMERY_OK)
        return status;
    if (keys > 0)
        status = solve_layer(job, error);
    layer->keys = job->distinct;
    layer->adds = job->from->layer == 0 ? job->distinct : 0;
    if (job->assembly->file < 0)
        return status;
    const size_t metadata = (size_t)bloomery_ribbon_metadata_bytes(&layer->ribbon);
    if (status == BLOOMERY_OK)
        status = write_at(job, layer->bytes - metadata, job->thresholds, metadata, error);
    bloomery_release(job->assembly->allocator, job->thresholds, metadata, BLOOMERY_PAYLOAD_UNIT);
    return status;
}

void bloomery_assembly_free(struct bloomery_assembly *assembly)
{
    for (uint32_t i = 0; i < assembly->layer_count; i++)
        bloomery_release(assembly->allocator, assembly->layers[i].payload,
                         (size_t)assembly->layers[i].bytes, BLOOMERY_PAYLOAD_UNIT);
    assembly->layer_count = 0;
}

/* One spool is read while what is bumped goes into the other; then they change places. */
static bloomery_status build_layers(struct bloomery_assembly *assembly,
                                    struct bloomery_spool *spool, struct bloomery_spool *other,
                                    bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    for (uint32_t i = 0; status == BLOOMERY_OK && (i == 0 || bloomery_spool_count(spool) > 0);
         i++) {
        struct job job = {.assembly = assembly, .from = spool, .next = other};
        if (i == LAYERS_MAX)
            return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                                 "keys are still left after %d layers: their hashes were made to "
                                 "collide; build a filter with a secret",
                                 LAYERS_MAX);
        const uint64_t share = assembly->memory / 16;
        bloomery_pool_allow(spool->pool, share > BUMPED_RESERVE ? share : BUMPED_RESERVE);
        if (!bloomery_spool_start(other, spool->pool, i + 1))
            return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "not enough memory for locks");
        job.layer = &assembly->layers[assembly->layer_count++];
        status = build_layer(&job, error);
        bloomery_spool_end(spool);
        struct bloomery_spool *done = spool;
        spool = other;
        other = done;
    }
    return status;
}

bloomery_status bloomery_assemble(struct bloomery_assembly *assembly, struct bloomery_spool *spool,
                                  bloomery_error *error)
{
    struct bloomery_spool *other =
        bloomery_allocate(assembly->allocator, sizeof *other, BLOOMERY_PAYLOAD_UNIT);
    bloomery_status status =
        other == NULL ? bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "not enough memory")
                      : build_layers(assembly, spool, other, error);
    if (spool->locks != NULL)
        bloomery_spool_end(spool);
    if (other != NULL && other->locks != NULL)
        bloomery_spool_end(other);
    bloomery_release(assembly->allocator, other, sizeof *other, BLOOMERY_PAYLOAD_UNIT);
    if (status != BLOOMERY_OK)
        bloomery_assembly_free(assembly);
    return status;
}

/* ---- Gathering a section's keys -------------------------------------------------------------- */

enum { HALVED_MAX = 10 };

/* Sorts what there is and drops repeats, which only the first layer's can have. */
static void put_in_order(const struct bloomery_spool *spool, struct bloomery_x_range range,
                         struct bloomery_gathered *gathered)
{
    /* A unit is a range by the first bits of x. */
    const uint64_t differ = range.first ^ range.last;
    const uint32_t same = differ == 0 ? 64 : (uint32_t)__builtin_clzll(differ);
    bloomery_pairs_sort(gathered->hashes, gathered->count, spool->layer, same);
    if (spool->layer == 0)
        gathered->count = bloomery_pairs_distinct(gathered->hashes, gathered->count);
}

/* Copies the hashes of a piece that are in the range. If the room is full, dropping repeats makes
 * some. */
static bloomery_status take_piece(const struct bloomery_spool *spool, struct bloomery_x_range range,
                                  const bloomery_hash *hashes, size_t count,
                                  struct bloomery_gathered *gathered, bloomery_error *error)
{
    if (gathered->room - gathered->count < count) {
        put_in_order(spool, range, gathered);
        if (gathered->room - gathered->count < gathered->room / 8 ||
            gathered->room - gathered->count < count)
            return bloomery_fail(
                error, BLOOMERY_FULL, 0,
                "the memory allowed is not enough to sort a part of the hashes: allow "
                "more");
    }
    bloomery_hash *to = gathered->hashes + gathered->count;
    if (range.first << 8 == 0 && range.last << 8 == UINT64_MAX << 8) { /* whole heaps */
        memcpy(to, hashes, count * sizeof *hashes);
        gathered->count += count;
        return BLOOMERY_OK;
    }
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t x = bloomery_equation_x(hashes[i], spool->layer);
        to[taken] = hashes[i];
        taken += x >= range.first && x <= range.last;
    }
    gathered->count += taken;
    return BLOOMERY_OK;
}

bloomery_status bloomery_gather(const struct bloomery_spool *spool, struct bloomery_x_range range,
                                struct bloomery_gathered *gathered, bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    bool sorted = range.first << 8 == 0;
    gathered->count = 0;
    for (uint32_t heap = (uint32_t)(range.first >> 56); heap <= range.last >> 56; heap++) {
        struct bloomery_walk_pieces walk;
        const bloomery_hash *hashes;
        size_t count;
        sorted = sorted && spool->heaps[heap].sorted;
        bloomery_spool_walk(spool, heap, &walk);
        while (status == BLOOMERY_OK &&
               (hashes = bloomery_spool_next(&walk, gathered->piece, &count)) != NULL)
            status = take_piece(spool, range, hashes, count, gathered, error);
        if (status == BLOOMERY_OK && walk.failed != 0)
            status = bloomery_fail_system(error, walk.failed, "reading a temporary file in %s",
                                          spool->pool->directory);
        if (status != BLOOMERY_OK)
            return status;
    }
    if (!sorted)
        put_in_order(spool, range, gathered);
    return BLOOMERY_OK;
}

bloomery_status bloomery_gather_count(struct bloomery_spool *spool, uint32_t heap,
                                      struct bloomery_gathered *gathered, uint64_t *count,
                                      bloomery_error *error)
{
    const uint64_t first = (uint64_t)heap << 56;
    uint32_t halved = 0; /* if the whole finds no room, halves do, or quarters, ... */
    *count = 0;
    for (uint64_t part = 0; part >> halved == 0;) {
        const uint64_t each = UINT64_C(1) << (56 - halved);
        const struct bloomery_x_range range = {first + part * each, first + part * each + each - 1};
        const bloomery_status status = bloomery_gather(spool, range, gathered, error);
        if (status == BLOOMERY_FULL && halved < HALVED_MAX) {
            halved++;
            part *= 2;
            continue;
        }
        if (status != BLOOMERY_OK)
            return status;
        *count += gathered->count;
        part++;
    }
    if (halved == 0 && spool->heaps[heap].places_count == 0) {
        /* The heap lies in memory: its pieces get the sorted hashes back. */
        size_t done = 0;
        for (struct bloomery_piece *piece = spool->heaps[heap].pieces; piece != NULL;
             piece = piece->next) {
            const size_t left = gathered->count - done;
            piece->count = left < BLOOMERY_PIECE_HASHES ? left : BLOOMERY_PIECE_HASHES;
            memcpy(piece->hashes, gathered->hashes + done,
                   (size_t)piece->count * sizeof *piece->hashes);
            done += (size_t)piece->count;
        }
        assert(done == gathered->count);
        spool->heaps[heap].count = gathered->count;
        spool->heaps[heap].sorted = true;
    }
    return BLOOMERY_OK;
}
