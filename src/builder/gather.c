/* SPDX-License-Identifier: Apache-2.0 */
/* See gather.h. */
#include "builder/gather.h"

#include "base/error.h"
#include "builder/pairs.h"
#include "core/equation.h"

#include <string.h>

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

static bloomery_status no_room(bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_FULL, 0,
                         "the memory allowed is not enough to sort a part of the hashes: allow "
                         "more");
}

/* Takes those of a piece that are in the range. If there is no room, repeats make some. */
static bloomery_status take_piece(const struct bloomery_spool *spool, struct bloomery_x_range range,
                                  const bloomery_hash *hashes, size_t count,
                                  struct bloomery_gathered *gathered, bloomery_error *error)
{
    if (gathered->room - gathered->count < count) {
        put_in_order(spool, range, gathered);
        if (gathered->room - gathered->count < gathered->room / 8 ||
            gathered->room - gathered->count < count)
            return no_room(error);
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

/* Puts the sorted hashes back into the pieces of a heap that lies in memory. */
static void put_back(struct bloomery_heap *heap, const struct bloomery_gathered *gathered)
{
    size_t done = 0;
    for (struct bloomery_piece *piece = heap->pieces; piece != NULL; piece = piece->next) {
        const size_t left = gathered->count - done;
        piece->count = left < BLOOMERY_PIECE_HASHES ? left : BLOOMERY_PIECE_HASHES;
        memcpy(piece->hashes, gathered->hashes + done,
               (size_t)piece->count * sizeof *piece->hashes);
        done += (size_t)piece->count;
    }
    assert(done == gathered->count);
    heap->count = gathered->count;
    heap->sorted = true;
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
    if (halved == 0 && spool->heaps[heap].places_count == 0)
        put_back(&spool->heaps[heap], gathered);
    return BLOOMERY_OK;
}
