/* SPDX-License-Identifier: Apache-2.0 */
/* The queue's tail: appending, sealing, going back. */
#include "sieve/queue.h"

#include "base/bytes.h"
#include "base/error.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>

/* ---- Making ------------------------------------------------------------------------------ */

static void begin(struct bloomery_queue *queue)
{
    queue->segment_bytes = BLOOMERY_QUEUE_SEGMENT;
    queue->idle_bytes = BLOOMERY_QUEUE_IDLE;
    queue->tail = (struct bloomery_queue_position){1, BLOOMERY_FILE_HEADER};
    queue->head = queue->tail;
    queue->tail_file.file = -1;
    queue->read_file.file = -1;
    queue->next = 1;
    queue->buffer_first = 1;
    queue->head_number = 1;
    queue->swept = 1;
    queue->ring.base = 1;
}

/* Buffer, arena and, to read frames of a file in, area. */
static uint64_t areas_bytes(const struct bloomery_queue *queue)
{
    return (uint64_t)(bloomery_queue_on_disk(queue) ? 3 : 2) * BLOOMERY_QUEUE_BUFFER;
}

bloomery_status bloomery_queue_make(struct bloomery_store *store, uint32_t leases,
                                    uint64_t memory_max, struct bloomery_queue **made,
                                    bloomery_error *error)
{
    struct bloomery_queue *queue = bloomery_store_allocate(store, sizeof *queue);
    bool enough = queue != NULL;
    if (enough) {
        queue->store = store;
        begin(queue);
        queue->ring.most = memory_max;
        queue->buffer = bloomery_store_allocate(store, areas_bytes(queue));
        enough = queue->buffer != NULL && bloomery_leases_make(store, &queue->leases, leases);
        if (enough && bloomery_queue_on_disk(queue)) {
            queue->kept = bloomery_store_allocate(store, leases * sizeof *queue->kept);
            enough = queue->kept != NULL;
        }
        if (enough) {
            queue->arena = queue->buffer + BLOOMERY_QUEUE_BUFFER;
            queue->area = queue->arena + BLOOMERY_QUEUE_BUFFER; /* with a directory alone */
        }
    }
    *made = queue;
    if (enough)
        return BLOOMERY_OK;
    bloomery_queue_free(queue);
    *made = NULL;
    return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                         "no memory for the buffers of a queue and %u leases", leases);
}

void bloomery_queue_free(struct bloomery_queue *queue)
{
    if (queue == NULL)
        return;
    struct bloomery_store *store = queue->store;
    bloomery_store_close(&queue->tail_file);
    bloomery_queue_close_read(queue);
    bloomery_queue_forget(queue);
    bloomery_ring_free(store, &queue->ring);
    bloomery_store_release(store, queue->kept, queue->leases.limit * sizeof *queue->kept);
    bloomery_leases_free(store, &queue->leases);
    bloomery_store_release(store, queue->held, queue->held_bytes);
    bloomery_store_release(store, queue->buffer, areas_bytes(queue));
    bloomery_store_release(store, queue, sizeof *queue);
}

/* ---- Writing frames ---------------------------------------------------------------------- */

/* Leaves the segment, cut to its frames and on the disk: from now on its length says where it
 * ends. If that fails the segment just becomes longer. */
static void leave_segment(struct bloomery_queue *queue)
{
    assert(queue->tail_file.file >= 0 && queue->tail_file.number == queue->tail.segment);
    if (queue->spoiled && bloomery_store_cut(queue->store, &queue->tail_file, queue->tail.offset,
                                             NULL) != BLOOMERY_OK)
        return;
    queue->spoiled = false;
    if (bloomery_store_sync(queue->store, &queue->tail_file, NULL) != BLOOMERY_OK)
        return;
    bloomery_store_close(&queue->tail_file);
    queue->closed_bytes += queue->tail.offset;
    queue->tail.segment++;
    queue->tail.offset = BLOOMERY_FILE_HEADER;
}

/* A body as the frame at the tail; `leases` of its items are out. */
static bloomery_status put_frame(struct bloomery_queue *queue, const uint8_t *body, uint32_t bytes,
                                 uint32_t entries, uint32_t leases, bloomery_error *error)
{
    assert(entries > 0 && leases <= entries);
    if (!bloomery_queue_on_disk(queue)) {
        const struct bloomery_ring_frame facts = {
            .first = queue->buffer_first, .entries = entries, .bytes = bytes, .leases = leases};
        assert(queue->ring.base + queue->ring.count == queue->tail.segment);
        const bloomery_status status =
            bloomery_ring_add(queue->store, &queue->ring, &facts, body, error);
        if (status == BLOOMERY_OK)
            queue->tail.segment++;
        return status;
    }
    struct bloomery_frame frame = {
        .entries = entries, .body_bytes = bytes, .first = queue->buffer_first};
    assert(bloomery_queue_is_frame(&frame, queue->buffer_first + entries));
    bloomery_status status = bloomery_queue_tail_file(queue, error);
    if (status != BLOOMERY_OK)
        return status;
    status = bloomery_frame_write(queue->store, &queue->tail_file, queue->tail.offset, &frame, NULL,
                                  body, error);
    if (status != BLOOMERY_OK) {
        queue->spoiled = true;
        return status;
    }
    queue->tail.offset += bloomery_frame_bytes(&frame);
    if (queue->tail.offset >= queue->segment_bytes)
        leave_segment(queue);
    return BLOOMERY_OK;
}

void bloomery_queue_move_head(struct bloomery_queue *queue, struct bloomery_queue_position place)
{
    for (uint64_t i = queue->head.segment; !bloomery_queue_on_disk(queue) && i < place.segment;
         i++) {
        const struct bloomery_ring_frame *frame = bloomery_ring_find(&queue->ring, i);
        if (frame != NULL && frame->leases == 0)
            bloomery_ring_drop(queue->store, &queue->ring, i);
    }
    queue->head = place;
    queue->head_index = 0;
    queue->head_at = 0;
}

void bloomery_queue_finish_head(struct bloomery_queue *queue)
{
    bloomery_queue_move_head(queue, queue->tail);
    queue->head_index = queue->buffer_entries;
    queue->head_at = queue->buffer_bytes;
    queue->head_number = queue->next;
}

/* The buffer becomes the frame that it has been for its readers all the time. */
static bloomery_status seal(struct bloomery_queue *queue, bloomery_error *error)
{
    if (queue->buffer_entries == 0)
        return BLOOMERY_OK;
    assert(queue->buffer_first + queue->buffer_entries == queue->next);
    /* The head is in the buffer and has taken all of it. */
    const bool drained =
        bloomery_place_same(queue->head, queue->tail) && queue->head_index == queue->buffer_entries;
    /* In memory, what nobody can ask for any more need not become a frame. */
    if (bloomery_queue_on_disk(queue) || !drained || queue->buffer_leases > 0) {
        const bloomery_status status =
            put_frame(queue, queue->buffer, queue->buffer_bytes, queue->buffer_entries,
                      queue->buffer_leases, error);
        if (status != BLOOMERY_OK)
            return status;
    } else {
        queue->walk_place.segment = 0; /* another frame will have this place */
    }
    queue->buffer_first = queue->next;
    queue->buffer_entries = 0;
    queue->buffer_bytes = 0;
    queue->buffer_leases = 0;
    if (drained)
        bloomery_queue_finish_head(queue);
    return BLOOMERY_OK;
}

bloomery_status bloomery_queue_seal(struct bloomery_queue *queue, bloomery_error *error)
{
    /* In memory nothing is gained by frames that are not full. */
    if (!bloomery_queue_on_disk(queue))
        return BLOOMERY_OK;
    const bloomery_status status = seal(queue, error);
    if (status == BLOOMERY_OK && queue->queued == 0)
        bloomery_queue_finish_head(queue);
    /* What nobody needs any more must not keep its room until 64 MiB more have come. */
    if (status == BLOOMERY_OK)
        (void)bloomery_queue_leave_idle(queue, queue->idle_bytes);
    return status;
}

bool bloomery_queue_leave_idle(struct bloomery_queue *queue, uint64_t at_least)
{
    const uint64_t segment = queue->tail.segment;
    assert(bloomery_queue_on_disk(queue) && queue->buffer_entries == 0);
    if (queue->queued > 0 || queue->tail.offset == BLOOMERY_FILE_HEADER ||
        queue->tail.offset < at_least || bloomery_leases_in(&queue->leases, segment) ||
        bloomery_queue_tail_file(queue, NULL) != BLOOMERY_OK)
        return false;
    leave_segment(queue);
    bloomery_queue_finish_head(queue);
    return queue->tail.segment > segment;
}

/* An entry that does not fit in the buffer, as a frame of its own. */
static bloomery_status append_long(struct bloomery_queue *queue, const struct bloomery_entry *entry,
                                   bloomery_error *error)
{
    const uint64_t room = bloomery_entry_bound(entry);
    bloomery_status status = seal(queue, error);
    if (status != BLOOMERY_OK)
        return status;
    uint8_t *body = bloomery_store_allocate(queue->store, room);
    if (body == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "no memory for an item of %zu bytes",
                             (size_t)room);
    const size_t bytes = bloomery_entry_put(body, entry);
    assert(bytes <= room && bytes <= BLOOMERY_QUEUE_BODY_MAX);
    status = put_frame(queue, body, (uint32_t)bytes, 1, 0, error);
    if (status == BLOOMERY_OK)
        queue->buffer_first++;
    bloomery_store_release(queue->store, body, room);
    return status;
}

bloomery_status bloomery_queue_append(struct bloomery_queue *queue,
                                      const struct bloomery_entry *entry, bloomery_error *error)
{
    const size_t bound = bloomery_entry_bound(entry);
    bloomery_status status = BLOOMERY_OK;
    assert(entry->key.bytes <= BLOOMERY_SIEVE_ITEM_MAX &&
           entry->payload.bytes <= BLOOMERY_SIEVE_ITEM_MAX - entry->key.bytes);
    if (bound > BLOOMERY_QUEUE_BUFFER) {
        status = append_long(queue, entry, error);
    } else {
        if (bound > BLOOMERY_QUEUE_BUFFER - queue->buffer_bytes)
            status = seal(queue, error);
        if (status == BLOOMERY_OK) {
            queue->buffer_bytes +=
                (uint32_t)bloomery_entry_put(queue->buffer + queue->buffer_bytes, entry);
            queue->buffer_entries++;
            assert(queue->buffer_bytes <= BLOOMERY_QUEUE_BUFFER);
        }
    }
    if (status != BLOOMERY_OK)
        return status;
    queue->next++;
    if (!(entry->flags & BLOOMERY_ENTRY_MARKED))
        queue->queued++;
    return BLOOMERY_OK;
}

bloomery_status bloomery_queue_reserve(struct bloomery_queue *queue, uint64_t bytes,
                                       bloomery_error *error)
{
    /* In memory too: there a frame that finds no room is a refusal. */
    if (bytes > BLOOMERY_QUEUE_BUFFER || queue->buffer_bytes + bytes <= BLOOMERY_QUEUE_BUFFER)
        return BLOOMERY_OK;
    return seal(queue, error);
}

/* ---- Going back -------------------------------------------------------------------------- */

void bloomery_queue_mark(const struct bloomery_queue *queue, struct bloomery_queue_mark *mark)
{
    assert(queue->buffer_entries == 0 || !bloomery_queue_on_disk(queue));
    assert(queue->buffer_first + queue->buffer_entries == queue->next);
    *mark = (struct bloomery_queue_mark){
        .segment = queue->tail.segment,
        .offset = queue->tail.offset,
        .next_number = queue->next,
        .queued = queue->queued,
        .buffer_bytes = queue->buffer_bytes,
    };
}

/* The buffer as it was: its first entries are still there, in it or in the frame that it became. */
static void rewind_memory(struct bloomery_queue *queue, const struct bloomery_queue_mark *mark)
{
    struct bloomery_ring_frame *frame = bloomery_ring_find(&queue->ring, mark->segment);
    if (frame != NULL) {
        queue->buffer_first = frame->first;
        queue->buffer_leases = frame->leases;
        if (mark->next_number > frame->first)
            memcpy(queue->buffer, frame->body, mark->buffer_bytes);
    }
    bloomery_ring_cut(queue->store, &queue->ring, mark->segment);
    /* What was drained at the mark may have been let go since. */
    if (queue->buffer_first > mark->next_number)
        queue->buffer_first = mark->next_number;
    queue->buffer_entries = (uint32_t)(mark->next_number - queue->buffer_first);
    queue->buffer_bytes = queue->buffer_entries > 0 ? mark->buffer_bytes : 0;
}

static void rewind_files(struct bloomery_queue *queue, const struct bloomery_queue_mark *mark)
{
    struct bloomery_store *store = queue->store;
    assert(mark->segment <= queue->tail.segment);
    if (queue->tail.segment == mark->segment) {
        queue->spoiled = queue->spoiled || queue->tail.offset > mark->offset;
        return;
    }
    bloomery_store_close(&queue->tail_file);
    bloomery_queue_close_read(queue);
    for (uint64_t i = mark->segment; i < queue->tail.segment; i++) {
        const uint64_t bytes = bloomery_queue_segment_bytes(queue, i);
        queue->closed_bytes -= bytes < queue->closed_bytes ? bytes : queue->closed_bytes;
    }
    for (uint64_t i = queue->tail.segment; i > mark->segment; i--)
        bloomery_store_remove(store, BLOOMERY_FILE_QUEUE, i, 0);
}

void bloomery_queue_rewind(struct bloomery_queue *queue, const struct bloomery_queue_mark *mark)
{
    const struct bloomery_queue_position place = {mark->segment, mark->offset};
    assert(mark->next_number <= queue->next && !bloomery_place_before(queue->tail, place));
    queue->buffer_entries = 0;
    queue->buffer_bytes = 0;
    if (bloomery_queue_on_disk(queue)) {
        rewind_files(queue, mark);
        queue->buffer_first = mark->next_number;
    } else {
        rewind_memory(queue, mark);
    }
    queue->tail = place;
    queue->next = mark->next_number;
    assert(queue->buffer_first + queue->buffer_entries == queue->next);
    queue->queued = mark->queued;
    if (!bloomery_place_before(queue->area_place, place))
        bloomery_queue_forget(queue);
    queue->walk_place.segment = 0;
    /* If only marked keys came behind the mark, the head may have passed them. */
    if (queue->head_number >= queue->next && !bloomery_place_before(queue->head, place))
        bloomery_queue_finish_head(queue);
}

void bloomery_queue_put_aside(struct bloomery_queue *queue, struct bloomery_dead *dead,
                              uint32_t most_deliveries)
{
    assert(most_deliveries == 0 || bloomery_queue_on_disk(queue));
    queue->dead = dead;
    queue->most_deliveries = most_deliveries;
}

/* ---- Durability and facts ---------------------------------------------------------------- */

bloomery_status bloomery_queue_sync(struct bloomery_queue *queue, bloomery_error *error)
{
    return bloomery_store_sync(queue->store, &queue->tail_file, error);
}

struct bloomery_queue_position bloomery_queue_tail(const struct bloomery_queue *queue)
{
    return queue->tail;
}

uint64_t bloomery_queue_queued(const struct bloomery_queue *queue)
{
    return queue->queued;
}

uint64_t bloomery_queue_leased(const struct bloomery_queue *queue)
{
    return queue->leases.live;
}

uint64_t bloomery_queue_done(const struct bloomery_queue *queue)
{
    return queue->done;
}

uint64_t bloomery_queue_next(const struct bloomery_queue *queue)
{
    return queue->next;
}

double bloomery_queue_longest(const struct bloomery_queue *queue)
{
    return queue->leases.live > 0 ? queue->longest : 0;
}

void bloomery_queue_set_longest(struct bloomery_queue *queue, double seconds)
{
    queue->longest = seconds;
}

uint64_t bloomery_queue_bytes(const struct bloomery_queue *queue)
{
    if (!bloomery_queue_on_disk(queue))
        return queue->ring.bytes + BLOOMERY_QUEUE_BUFFER;
    const bool begun = queue->tail.offset > BLOOMERY_FILE_HEADER;
    return queue->closed_bytes + (begun ? queue->tail.offset : 0);
}

/* ---- The state ------------------------------------------------------------------------------- */

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

static const uint64_t most = UINT64_C(1) << 62; /* of every number: sums do not overflow */

void bloomery_queue_state_load(const uint8_t *from, struct bloomery_queue_state *state)
{
    state->head.segment = bloomery_load_u64(from);
    state->head.offset = bloomery_load_u64(from + 8);
    state->head_index = bloomery_load_u64(from + 16);
    state->head_number = bloomery_load_u64(from + 24);
    state->tail.segment = bloomery_load_u64(from + 32);
    state->tail.offset = bloomery_load_u64(from + 40);
    state->next = bloomery_load_u64(from + 48);
    state->queued = bloomery_load_u64(from + 56);
    state->done = bloomery_load_u64(from + 64);
    state->leases = bloomery_load_u64(from + 72);
}

void bloomery_queue_state_store(const struct bloomery_queue_state *state, uint8_t *to)
{
    /* What opening, and recovery, check of it when it is read again. */
    assert(state->head.segment >= 1 && state->head.offset >= BLOOMERY_FILE_HEADER);
    assert(!bloomery_place_before(state->tail, state->head) && state->tail.segment < most);
    assert(state->head_number >= 1 && state->head_number <= state->next && state->next < most);
    bloomery_store_u64(to, state->head.segment);
    bloomery_store_u64(to + 8, state->head.offset);
    bloomery_store_u64(to + 16, state->head_index);
    bloomery_store_u64(to + 24, state->head_number);
    bloomery_store_u64(to + 32, state->tail.segment);
    bloomery_store_u64(to + 40, state->tail.offset);
    bloomery_store_u64(to + 48, state->next);
    bloomery_store_u64(to + 56, state->queued);
    bloomery_store_u64(to + 64, state->done);
    bloomery_store_u64(to + 72, state->leases);
}

bool bloomery_queue_state_read(const uint8_t *from, size_t bytes,
                               struct bloomery_queue_state *state)
{
    if (bytes < BLOOMERY_QUEUE_STATE)
        return false;
    bloomery_queue_state_load(from, state);
    return state->leases == (bytes - BLOOMERY_QUEUE_STATE) / BLOOMERY_LEASE_BYTES &&
           state->queued < most && state->done < most && state->tail.segment < most &&
           state->tail.offset < most;
}

/* ---- Store ------------------------------------------------------------------------------- */

size_t bloomery_queue_store(const struct bloomery_queue *queue, uint8_t *to)
{
    const struct bloomery_leases *leases = &queue->leases;
    assert(queue->buffer_entries == 0 && queue->buffer_first == queue->next);
    assert(leases->live <= leases->limit && leases->live <= leases->count);
    const struct bloomery_queue_state state = {.head = queue->head,
                                               .head_index = queue->head_index,
                                               .head_number = queue->head_number,
                                               .tail = queue->tail,
                                               .next = queue->next,
                                               .queued = queue->queued,
                                               .done = queue->done,
                                               .leases = leases->live};
    bloomery_queue_state_store(&state, to);
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

static bloomery_status restore_ends(struct bloomery_queue *queue,
                                    const struct bloomery_queue_state *state, bloomery_error *error)
{
    const uint64_t index = state->head_index;
    queue->head = state->head;
    queue->head_number = state->head_number;
    queue->tail = state->tail;
    queue->next = state->next;
    queue->queued = state->queued;
    queue->done = state->done;
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
    struct bloomery_queue_state state;
    bloomery_queue_state_load(from, &state);
    const uint64_t leases = state.leases;
    if (leases > queue->leases.limit ||
        bytes != BLOOMERY_QUEUE_STATE + leases * BLOOMERY_LEASE_BYTES)
        return wrong(queue, "its leases and their number", error);
    bloomery_status status = restore_ends(queue, &state, error);
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
