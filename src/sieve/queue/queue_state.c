/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the manifest holds of a queue, little-endian:
 *
 *     0    head: segment, offset of its frame   u64, u64
 *     16   entries of that frame taken          u64
 *     24   number of the next entry to come out u64
 *     32   tail: segment, offset                u64, u64
 *     48   number of the next entry to go in    u64
 *     56   items queued                         u64
 *     64   items acknowledged                   u64
 *     72   leases                               u64
 *     80   a lease: number u64, segment of its frame u64, offset of its frame in 48 bits and how
 *          often it was delivered in 16 (65,535: or more), when it ends f64
 *
 * Segments from the head's to the tail's are there, and before the head's those with leases in
 * them. All but the tail's end where their file ends; the tail's is cut to its offset. At offset 64
 * it need not exist.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "sieve/queue/queue_inside.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>

static const uint64_t most = UINT64_C(1) << 62; /* of every number: sums do not overflow */

/* ---- Store ------------------------------------------------------------------------------- */

size_t bloomery_queue_store(const struct bloomery_queue *queue, uint8_t *to)
{
    const struct bloomery_leases *leases = &queue->leases;
    assert(queue->buffer_entries == 0 && queue->buffer_first == queue->next);
    assert(!bloomery_place_before(queue->tail, queue->head) && queue->head_number <= queue->next);
    assert(leases->live <= leases->limit && leases->live <= leases->count);
    bloomery_store_u64(to, queue->head.segment);
    bloomery_store_u64(to + 8, queue->head.offset);
    bloomery_store_u64(to + 16, queue->head_index);
    bloomery_store_u64(to + 24, queue->head_number);
    bloomery_store_u64(to + 32, queue->tail.segment);
    bloomery_store_u64(to + 40, queue->tail.offset);
    bloomery_store_u64(to + 48, queue->next);
    bloomery_store_u64(to + 56, queue->queued);
    bloomery_store_u64(to + 64, queue->done);
    bloomery_store_u64(to + 72, leases->live);
    uint8_t *next = to + BLOOMERY_QUEUE_STATE;
    for (uint32_t i = bloomery_leases_next(leases, 0); i < leases->count;
         i = bloomery_leases_next(leases, i + 1)) {
        const struct bloomery_lease *lease = &leases->list[i];
        bloomery_store_u64(next, lease->number);
        bloomery_store_u64(next + 8, lease->segment);
        bloomery_store_u64(next + 16, lease->offset | (uint64_t)lease->deliveries
                                                          << BLOOMERY_LEASE_OFFSET_BITS);
        bloomery_store_f64(next + 24, lease->ends);
        next += BLOOMERY_LEASE_BYTES;
    }
    assert((size_t)(next - to) ==
           BLOOMERY_QUEUE_STATE + (size_t)leases->live * BLOOMERY_LEASE_BYTES);
    return (size_t)(next - to);
}

/* ---- Facts without a queue --------------------------------------------------------------- */

bool bloomery_queue_state_read(const uint8_t *from, size_t bytes,
                               struct bloomery_queue_facts *facts)
{
    if (bytes < BLOOMERY_QUEUE_STATE)
        return false;
    facts->tail.segment = bloomery_load_u64(from + 32);
    facts->tail.offset = bloomery_load_u64(from + 40);
    facts->queued = bloomery_load_u64(from + 56);
    facts->done = bloomery_load_u64(from + 64);
    facts->leased = bloomery_load_u64(from + 72);
    return facts->leased == (bytes - BLOOMERY_QUEUE_STATE) / BLOOMERY_LEASE_BYTES &&
           facts->queued < most && facts->done < most && facts->tail.segment < most &&
           facts->tail.offset < most;
}

/* ---- Restore ----------------------------------------------------------------------------- */

static bloomery_status wrong(const struct bloomery_queue *queue, const char *what,
                             bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                         "%s: the state of the queue is damaged: %s do not fit together",
                         queue->store->path, what);
}

static bool is_place(struct bloomery_queue_position place)
{
    return place.segment >= 1 && place.segment < most && place.offset >= BLOOMERY_FILE_HEADER &&
           place.offset < most;
}

static bloomery_status restore_ends(struct bloomery_queue *queue, const uint8_t *from,
                                    bloomery_error *error)
{
    const uint64_t index = bloomery_load_u64(from + 16);
    queue->head.segment = bloomery_load_u64(from);
    queue->head.offset = bloomery_load_u64(from + 8);
    queue->head_number = bloomery_load_u64(from + 24);
    queue->tail.segment = bloomery_load_u64(from + 32);
    queue->tail.offset = bloomery_load_u64(from + 40);
    queue->next = bloomery_load_u64(from + 48);
    queue->queued = bloomery_load_u64(from + 56);
    queue->done = bloomery_load_u64(from + 64);
    const bool empty = bloomery_place_same(queue->head, queue->tail);
    if (!is_place(queue->head) || !is_place(queue->tail) ||
        bloomery_place_before(queue->tail, queue->head))
        return wrong(queue, "its two ends", error);
    if (queue->next < 1 || queue->next >= most || queue->head_number < 1 ||
        queue->head_number > queue->next || index > BLOOMERY_QUEUE_BUFFER ||
        index >= queue->head_number || queue->queued > queue->next - queue->head_number ||
        queue->done >= most || (empty && (index > 0 || queue->head_number != queue->next)))
        return wrong(queue, "its counts", error);
    queue->head_index = (uint32_t)index;
    queue->head_at = index == 0 ? 0 : UINT32_MAX;
    queue->buffer_first = queue->next;
    return BLOOMERY_OK;
}

/* A lease, whose frame is where the head was before it. */
static bool is_lease(const struct bloomery_queue *queue, const struct bloomery_lease *lease,
                     const struct bloomery_lease *before)
{
    const uint64_t frame = queue->head_number - queue->head_index;
    const struct bloomery_queue_position place = bloomery_lease_place(lease);
    const bool in_head = bloomery_place_same(place, queue->head);
    return is_place(place) && lease->number >= 1 && isfinite(lease->ends) && lease->ends >= 0 &&
           lease->number < queue->head_number &&
           (in_head ? lease->number >= frame
                    : lease->number < frame && bloomery_place_before(place, queue->head)) &&
           (before == NULL || (before->number < lease->number &&
                               !bloomery_place_before(place, bloomery_lease_place(before))));
}

static bloomery_status restore_leases(struct bloomery_queue *queue, const uint8_t *from,
                                      uint64_t count, double latest, bool *ended,
                                      bloomery_error *error)
{
    struct bloomery_lease before;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *bytes = from + i * BLOOMERY_LEASE_BYTES;
        const uint64_t offset = bloomery_load_u64(bytes + 16);
        struct bloomery_lease lease = {
            .number = bloomery_load_u64(bytes),
            .segment = bloomery_load_u64(bytes + 8),
            .offset = offset & bloomery_lease_offset_mask,
            .deliveries = (uint16_t)(offset >> BLOOMERY_LEASE_OFFSET_BITS),
            .ends = bloomery_load_f64(bytes + 24),
        };
        if (!is_lease(queue, &lease, i == 0 ? NULL : &before))
            return wrong(queue, "its leases", error);
        const bool goes_on = lease.ends <= latest;
        lease.ends = goes_on ? lease.ends : 0;
        bloomery_leases_add(&queue->leases, &lease);
        *ended = *ended || !goes_on;
        before = lease;
    }
    return BLOOMERY_OK;
}

/* Keeps a segment behind the head for what is leased in it. */
static void keep_behind(struct bloomery_queue *queue, uint64_t segment)
{
    assert(queue->kept_count < queue->leases.limit);
    queue->kept[queue->kept_count++] = segment;
}

/* Looks that the segments named are there, and finds out which others are. */
static bloomery_status restore_segments(struct bloomery_queue *queue, bloomery_error *error)
{
    const struct bloomery_leases *leases = &queue->leases;
    const bool begun = queue->tail.offset > BLOOMERY_FILE_HEADER;
    /* Some that a caller wished to keep may be there before the head. */
    queue->swept = queue->head.segment;
    while (queue->swept > 1 && bloomery_queue_segment_bytes(queue, queue->swept - 1) > 0)
        queue->swept--;
    for (uint64_t i = queue->swept; i < queue->tail.segment; i++) {
        const uint64_t bytes = bloomery_queue_segment_bytes(queue, i);
        if (bytes < BLOOMERY_FILE_HEADER &&
            (i >= queue->head.segment || bloomery_leases_in(leases, i)))
            return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                                 "%s: segment %" PRIu64 " of the queue is missing or empty",
                                 queue->store->path, i);
        queue->closed_bytes += bytes;
    }
    uint64_t last = 0;
    for (uint32_t i = bloomery_leases_next(leases, 0); i < leases->count;
         i = bloomery_leases_next(leases, i + 1)) {
        const uint64_t segment = leases->list[i].segment;
        if (segment == last || segment >= queue->swept)
            continue;
        last = segment;
        const uint64_t bytes = bloomery_queue_segment_bytes(queue, segment);
        if (bytes < BLOOMERY_FILE_HEADER)
            return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                                 "%s: segment %" PRIu64 " of the queue is missing or empty",
                                 queue->store->path, segment);
        keep_behind(queue, segment);
        queue->closed_bytes += bytes;
    }
    return begun ? bloomery_queue_tail_file(queue, error) : BLOOMERY_OK;
}

bloomery_status bloomery_queue_restore(struct bloomery_queue *queue, const uint8_t *from,
                                       size_t bytes, bool keep_leases, double latest, bool *ended,
                                       bloomery_error *error)
{
    assert(bloomery_queue_on_disk(queue) && queue->next == 1 && queue->leases.live == 0);
    *ended = false;
    if (bytes < BLOOMERY_QUEUE_STATE)
        return wrong(queue, "its bytes", error);
    const uint64_t leases = bloomery_load_u64(from + 72);
    if (leases > queue->leases.limit ||
        bytes != BLOOMERY_QUEUE_STATE + leases * BLOOMERY_LEASE_BYTES)
        return wrong(queue, "its leases and their number", error);
    bloomery_status status = restore_ends(queue, from, error);
    if (status == BLOOMERY_OK)
        status = restore_leases(queue, from + BLOOMERY_QUEUE_STATE, leases,
                                keep_leases ? latest : 0, ended, error);
    if (status == BLOOMERY_OK)
        status = restore_segments(queue, error);
    assert(status != BLOOMERY_OK || queue->leases.live == leases);
    return status;
}

/* ---- Which segments ---------------------------------------------------------------------- */

bool bloomery_queue_has_segment(const struct bloomery_queue *queue, uint64_t number)
{
    const bool begun = queue->tail.offset > BLOOMERY_FILE_HEADER;
    if (number >= queue->head.segment)
        return number < queue->tail.segment || (number == queue->tail.segment && begun);
    return bloomery_leases_in(&queue->leases, number);
}

static void remove_segment(struct bloomery_queue *queue, uint64_t segment)
{
    const uint64_t bytes = bloomery_queue_segment_bytes(queue, segment);
    if (queue->read_file.file >= 0 && queue->read_file.number == segment)
        bloomery_queue_close_read(queue);
    queue->closed_bytes -= bytes < queue->closed_bytes ? bytes : queue->closed_bytes;
    bloomery_store_remove(queue->store, BLOOMERY_FILE_QUEUE, segment, 0);
}

void bloomery_queue_tidy(struct bloomery_queue *queue, uint64_t keep_segment)
{
    if (!bloomery_queue_on_disk(queue))
        return;
    const uint64_t end = keep_segment < queue->head.segment ? keep_segment : queue->head.segment;
    uint32_t left = 0;
    assert(queue->swept <= queue->head.segment);
    for (uint32_t i = 0; i < queue->kept_count; i++) {
        if (queue->kept[i] >= keep_segment || bloomery_leases_in(&queue->leases, queue->kept[i]))
            queue->kept[left++] = queue->kept[i];
        else
            remove_segment(queue, queue->kept[i]);
    }
    queue->kept_count = left;
    for (; queue->swept < end; queue->swept++) {
        if (bloomery_leases_in(&queue->leases, queue->swept))
            keep_behind(queue, queue->swept);
        else
            remove_segment(queue, queue->swept);
    }
}
