/* SPDX-License-Identifier: Apache-2.0 */
/* See spool.h. */
#include "builder/spool.h"

#include "base/error.h"
#include "base/io.h"
#include "base/memory.h"
#include "kinds/static.h"

#include <assert.h>
#include <string.h>

enum { SLAB_PIECES = 64, SORT_AT_ONCE = 1024 };

_Static_assert(sizeof(struct bloomery_piece) == BLOOMERY_PIECE_BYTES, "a piece fills its bytes");

struct bloomery_slab {
    struct bloomery_piece pieces[SLAB_PIECES];
    struct bloomery_slab *next;
};

/* ---- The pool -------------------------------------------------------------------------------- */

bool bloomery_pool_start(struct bloomery_pool *pool, const bloomery_allocator *allocator,
                         const char *directory, uint64_t limit)
{
    *pool = (struct bloomery_pool){
        .allocator = allocator, .directory = directory, .limit = limit, .file = -1};
    pool->lock = bloomery_locks_make(allocator, 2);
    return pool->lock != NULL;
}

static void release_slabs(struct bloomery_pool *pool, struct bloomery_slab *slab)
{
    while (slab != NULL) {
        struct bloomery_slab *next = slab->next;
        bloomery_release(pool->allocator, slab, sizeof *slab, 64);
        pool->bytes -= sizeof *slab;
        slab = next;
    }
}

void bloomery_pool_end(struct bloomery_pool *pool)
{
    release_slabs(pool, pool->slabs);
    pool->slabs = NULL;
    bloomery_locks_free(pool->allocator, pool->lock, 2);
    if (pool->file >= 0)
        bloomery_scratch_close(pool->file);
    pool->file = -1;
    pool->lock = NULL;
}

/* One more slab on the list of free pieces. */
static bool add_slab(struct bloomery_pool *pool)
{
    struct bloomery_slab *slab = bloomery_allocate(pool->allocator, sizeof *slab, 64);
    if (slab == NULL)
        return false;
    slab->next = pool->slabs;
    pool->slabs = slab;
    pool->bytes += sizeof *slab;
    if (pool->bytes > pool->max_bytes)
        pool->max_bytes = pool->bytes;
    for (size_t i = SLAB_PIECES; i-- > 0;) {
        slab->pieces[i].next = pool->free;
        pool->free = &slab->pieces[i];
    }
    pool->free_bytes += sizeof slab->pieces;
    return true;
}

uint64_t bloomery_pool_allow(struct bloomery_pool *pool, uint64_t more)
{
    assert(pool->free_bytes <= pool->bytes);
    const uint64_t wanted = pool->bytes - pool->free_bytes + more;
    pool->limit = wanted > pool->bytes ? wanted : pool->bytes;
    return pool->limit;
}

/* Returns an empty piece; NULL if memory ran out, or if the piece would pass the limit and is not
 * one that a spool needs in any case. */
static struct bloomery_piece *take_piece(struct bloomery_pool *pool, bool needed, bool *no_memory)
{
    struct bloomery_piece *piece = NULL;
    *no_memory = false;
    bloomery_lock(&pool->lock[0]);
    if (pool->free == NULL && (needed || pool->bytes + sizeof(struct bloomery_slab) <= pool->limit))
        *no_memory = !add_slab(pool);
    if (pool->free != NULL) {
        piece = pool->free;
        pool->free = piece->next;
        pool->free_bytes -= sizeof *piece;
        piece->next = NULL;
        piece->count = 0;
    }
    bloomery_unlock(&pool->lock[0]);
    return piece;
}

/* ---- Spools ---------------------------------------------------------------------------------- */

bool bloomery_spool_start(struct bloomery_spool *spool, struct bloomery_pool *pool, uint32_t layer)
{
    *spool = (struct bloomery_spool){.pool = pool, .layer = layer};
    spool->locks = bloomery_locks_make(pool->allocator, BLOOMERY_HEAPS);
    return spool->locks != NULL;
}

void bloomery_spool_end(struct bloomery_spool *spool)
{
    for (uint32_t i = 0; i < BLOOMERY_HEAPS; i++) {
        struct bloomery_heap *heap = &spool->heaps[i];
        for (struct bloomery_piece *piece = heap->pieces, *next; piece != NULL; piece = next) {
            next = piece->next;
            bloomery_lock(&spool->pool->lock[0]);
            piece->next = spool->pool->free;
            spool->pool->free = piece;
            spool->pool->free_bytes += sizeof *piece;
            bloomery_unlock(&spool->pool->lock[0]);
        }
        if (heap->places_room > 0)
            bloomery_release(spool->pool->allocator, heap->places,
                             heap->places_room * sizeof *heap->places, 8);
        *heap = (struct bloomery_heap){0};
    }
    bloomery_locks_free(spool->pool->allocator, spool->locks, BLOOMERY_HEAPS);
    spool->locks = NULL;
}

uint64_t bloomery_spool_count(const struct bloomery_spool *spool)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < BLOOMERY_HEAPS; i++)
        count += spool->heaps[i].count;
    return count;
}

/* Room for one more place. The allocator may not be one for several threads. */
static bool grow_places(struct bloomery_pool *pool, struct bloomery_heap *heap)
{
    if (heap->places_count < heap->places_room)
        return true;
    const size_t room = heap->places_room > 0 ? 2 * heap->places_room : 64;
    bloomery_lock(&pool->lock[0]);
    uint64_t *places = bloomery_allocate(pool->allocator, room * sizeof *places, 8);
    if (places != NULL && heap->places_room > 0) {
        memcpy(places, heap->places, heap->places_count * sizeof *places);
        bloomery_release(pool->allocator, heap->places, heap->places_room * sizeof *places, 8);
    }
    bloomery_unlock(&pool->lock[0]);
    if (places == NULL)
        return false;
    heap->places = places;
    heap->places_room = room;
    return true;
}

static bloomery_status no_memory(bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                         "not enough memory for the hashes that wait");
}

/* Writes a full piece of a heap whose lock is held; the piece stays the caller's. */
static bloomery_status write_piece(struct bloomery_spool *spool, struct bloomery_heap *heap,
                                   const struct bloomery_piece *piece, bloomery_error *error)
{
    struct bloomery_pool *pool = spool->pool;
    assert(piece->count == BLOOMERY_PIECE_HASHES && pool->file >= 0);
    if (!grow_places(pool, heap))
        return no_memory(error);
    const uint64_t place =
        __atomic_fetch_add(&pool->file_bytes, sizeof piece->hashes, __ATOMIC_RELAXED);
    const bloomery_status status = bloomery_scratch_write(
        pool->file, place, piece->hashes, sizeof piece->hashes, pool->directory, error);
    if (status != BLOOMERY_OK)
        return status;
    heap->places[heap->places_count++] = place;
    return BLOOMERY_OK;
}

/* ---- Spilling -------------------------------------------------------------------------------- */

/* All full pieces of a heap go to the file; the one being filled moves to `kept`. */
static bloomery_status spill_heap(struct bloomery_spool *spool, struct bloomery_heap *heap,
                                  struct bloomery_piece *kept, bloomery_error *error)
{
    struct bloomery_piece *left = NULL;
    for (struct bloomery_piece *piece = heap->pieces; piece != NULL; piece = piece->next) {
        if (piece->count < BLOOMERY_PIECE_HASHES) {
            assert(left == NULL);
            left = piece;
            continue;
        }
        const bloomery_status status = write_piece(spool, heap, piece, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    kept->count = 0;
    kept->next = NULL;
    if (left != NULL) {
        kept->count = left->count;
        memcpy(kept->hashes, left->hashes, (size_t)left->count * sizeof *left->hashes);
    }
    heap->pieces = kept;
    return BLOOMERY_OK;
}

/* With all heaps locked: a piece for each in new slabs, and the old ones given back. */
static bloomery_status spill_locked(struct bloomery_spool *spool, bloomery_error *error)
{
    struct bloomery_pool *pool = spool->pool;
    bloomery_status status = BLOOMERY_OK;
    if (pool->file < 0)
        status = bloomery_scratch_open(pool->directory, &pool->file, error);
    if (status != BLOOMERY_OK || spool->layer > 0) {
        /* The first layer's pieces are in the same slabs and still being read: what is in memory
         * stays there. */
        __atomic_store_n(&spool->spilled, status == BLOOMERY_OK, __ATOMIC_RELEASE);
        return status;
    }
    struct bloomery_slab *old = pool->slabs;
    pool->slabs = NULL;
    pool->free = NULL;
    pool->free_bytes = 0;
    for (uint32_t i = 0; i < BLOOMERY_HEAPS && status == BLOOMERY_OK; i++) {
        bool none;
        struct bloomery_piece *piece = take_piece(pool, true, &none);
        status =
            piece != NULL ? spill_heap(spool, &spool->heaps[i], piece, error) : no_memory(error);
    }
    if (status == BLOOMERY_OK) {
        release_slabs(pool, old);
        __atomic_store_n(&spool->spilled, true, __ATOMIC_RELEASE);
        return BLOOMERY_OK;
    }
    /* The old pieces still belong to heaps: both lists stay. */
    struct bloomery_slab **last = &pool->slabs;
    while (*last != NULL)
        last = &(*last)->next;
    *last = old;
    return status;
}

static bloomery_status spill(struct bloomery_spool *spool, bloomery_error *error)
{
    struct bloomery_pool *pool = spool->pool;
    bloomery_status status = BLOOMERY_OK;
    if (pool->directory == NULL)
        return bloomery_fail(error, BLOOMERY_FULL, 0,
                             "the keys take more than the memory allowed for them: allow more, or "
                             "name a directory in which they can wait");
    bloomery_lock(&pool->lock[1]);
    for (uint32_t i = 0; i < BLOOMERY_HEAPS; i++)
        bloomery_lock(&spool->locks[i]);
    if (!spool->spilled)
        status = spill_locked(spool, error);
    for (uint32_t i = BLOOMERY_HEAPS; i-- > 0;)
        bloomery_unlock(&spool->locks[i]);
    bloomery_unlock(&pool->lock[1]);
    return status;
}

/* ---- Adding ---------------------------------------------------------------------------------- */

/* Makes room in the first piece of a heap whose lock is held. `full`: the memory is used up. */
static bloomery_status make_room(struct bloomery_spool *spool, struct bloomery_heap *heap,
                                 bool *full, bloomery_error *error)
{
    const bool spilled = __atomic_load_n(&spool->spilled, __ATOMIC_ACQUIRE);
    bool none = false;
    *full = false;
    if (heap->pieces != NULL && spilled) {
        const bloomery_status status = write_piece(spool, heap, heap->pieces, error);
        if (status == BLOOMERY_OK)
            heap->pieces->count = 0;
        return status;
    }
    /* Bumped keys without a directory are few, and have to stay somewhere. */
    const bool needed =
        heap->pieces == NULL || (spool->layer > 0 && spool->pool->directory == NULL);
    struct bloomery_piece *piece = take_piece(spool->pool, needed, &none);
    if (piece == NULL) {
        *full = !none;
        return none ? no_memory(error) : BLOOMERY_OK;
    }
    piece->next = heap->pieces;
    heap->pieces = piece;
    return BLOOMERY_OK;
}

/* As many of a heap's new hashes as find room; how many. */
static bloomery_status add_some(struct bloomery_spool *spool, uint32_t number,
                                const bloomery_hash *hashes, size_t count, size_t *added,
                                bloomery_error *error)
{
    struct bloomery_heap *heap = &spool->heaps[number];
    bloomery_status status = BLOOMERY_OK;
    bool full = false;
    bloomery_lock(&spool->locks[number]);
    for (*added = 0; *added < count && status == BLOOMERY_OK && !full;) {
        struct bloomery_piece *piece = heap->pieces;
        if (piece == NULL || piece->count == BLOOMERY_PIECE_HASHES) {
            status = make_room(spool, heap, &full, error);
            continue;
        }
        const size_t room = BLOOMERY_PIECE_HASHES - (size_t)piece->count;
        const size_t now = count - *added < room ? count - *added : room;
        memcpy(piece->hashes + piece->count, hashes + *added, now * sizeof *hashes);
        piece->count += now;
        heap->count += now;
        *added += now;
    }
    bloomery_unlock(&spool->locks[number]);
    return status;
}

static bloomery_status add_to_heap(struct bloomery_spool *spool, uint32_t number,
                                   const bloomery_hash *hashes, size_t count, bloomery_error *error)
{
    for (size_t added; count > 0; hashes += added, count -= added) {
        bloomery_status status = add_some(spool, number, hashes, count, &added, error);
        if (status == BLOOMERY_OK && added < count)
            status = spill(spool, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    return BLOOMERY_OK;
}

/* Adds a portion of hashes, small enough for its stack, so that one lock serves several of them. */
static bloomery_status add_portion(struct bloomery_spool *spool, const bloomery_hash *hashes,
                                   size_t count, bloomery_error *error)
{
    bloomery_hash sorted[SORT_AT_ONCE];
    uint8_t heap_of[SORT_AT_ONCE];
    uint32_t ends[BLOOMERY_HEAPS] = {0};
    uint32_t sum = 0;
    assert(count <= SORT_AT_ONCE);
    for (size_t i = 0; i < count; i++) {
        heap_of[i] = (uint8_t)(bloomery_equation_x(hashes[i], spool->layer) >> 56);
        ends[heap_of[i]]++;
    }
    for (uint32_t i = 0; i < BLOOMERY_HEAPS; i++) {
        const uint32_t held = ends[i];
        ends[i] = sum;
        sum += held;
    }
    for (size_t i = 0; i < count; i++)
        sorted[ends[heap_of[i]]++] = hashes[i];
    bloomery_status status = BLOOMERY_OK;
    for (uint32_t i = 0; i < BLOOMERY_HEAPS && status == BLOOMERY_OK; i++) {
        const uint32_t first = i > 0 ? ends[i - 1] : 0;
        if (ends[i] > first)
            status = add_to_heap(spool, i, sorted + first, ends[i] - first, error);
    }
    return status;
}

bloomery_status bloomery_spool_add(struct bloomery_spool *spool, const bloomery_hash *hashes,
                                   size_t count, bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    for (size_t i = 0; i < count && status == BLOOMERY_OK; i += SORT_AT_ONCE)
        status = add_portion(spool, hashes + i, count - i < SORT_AT_ONCE ? count - i : SORT_AT_ONCE,
                             error);
    return status;
}

/* ---- Reading --------------------------------------------------------------------------------- */

void bloomery_spool_walk(const struct bloomery_spool *spool, uint32_t heap,
                         struct bloomery_walk_pieces *walk)
{
    *walk = (struct bloomery_walk_pieces){
        .heap = &spool->heaps[heap], .piece = spool->heaps[heap].pieces, .file = spool->pool->file};
}

const bloomery_hash *bloomery_spool_next(struct bloomery_walk_pieces *walk,
                                         struct bloomery_piece *room, size_t *count)
{
    if (walk->piece != NULL) {
        const struct bloomery_piece *piece = walk->piece;
        walk->piece = piece->next;
        *count = (size_t)piece->count;
        return piece->hashes;
    }
    if (walk->place == walk->heap->places_count)
        return NULL;
    walk->failed = bloomery_scratch_read(walk->file, walk->heap->places[walk->place++],
                                         room->hashes, sizeof room->hashes);
    *count = BLOOMERY_PIECE_HASHES;
    return walk->failed == 0 ? room->hashes : NULL;
}
