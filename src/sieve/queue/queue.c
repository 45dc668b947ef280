/* SPDX-License-Identifier: Apache-2.0 */
/* The queue's tail: appending, sealing, going back. */
#include "base/error.h"
#include "sieve/queue/queue_inside.h"

#include <assert.h>

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

bloomery_status bloomery_queue_make(struct bloomery_store *store, uint32_t leases,
                                    uint64_t memory_max, struct bloomery_queue **made,
                                    bloomery_error *error)
{
    struct bloomery_queue *queue = bloomery_store_take(store, sizeof *queue);
    bool enough = queue != NULL;
    if (enough) {
        queue->store = store;
        begin(queue);
        queue->ring.most = memory_max;
        queue->buffer = bloomery_store_take(store, BLOOMERY_QUEUE_BUFFER);
        queue->arena = bloomery_store_take(store, BLOOMERY_QUEUE_BUFFER);
        enough = queue->buffer != NULL && queue->arena != NULL &&
                 bloomery_leases_make(store, &queue->leases, leases);
        if (enough && bloomery_queue_on_disk(queue)) {
            queue->area = bloomery_store_take(store, BLOOMERY_QUEUE_BUFFER);
            queue->kept = bloomery_store_take(store, leases * sizeof *queue->kept);
            enough = queue->area != NULL && queue->kept != NULL;
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
    bloomery_store_give(store, queue->kept, queue->leases.limit * sizeof *queue->kept);
    bloomery_leases_free(store, &queue->leases);
    bloomery_store_give(store, queue->held, queue->held_bytes);
    bloomery_store_give(store, queue->area, BLOOMERY_QUEUE_BUFFER);
    bloomery_store_give(store, queue->arena, BLOOMERY_QUEUE_BUFFER);
    bloomery_store_give(store, queue->buffer, BLOOMERY_QUEUE_BUFFER);
    bloomery_store_give(store, queue, sizeof *queue);
}

/* ---- Writing frames ---------------------------------------------------------------------- */

/* Leaves the segment, cut to its frames and on the disk: from now on its length says where it
 * ends. If that fails the segment just becomes longer. */
static void leave_segment(struct bloomery_queue *queue)
{
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

/* Whether the head is in the buffer and has taken all of it. */
static bool is_drained(const struct bloomery_queue *queue)
{
    return bloomery_place_same(queue->head, queue->tail) &&
           queue->head_index == queue->buffer_entries;
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
    const bool drained = is_drained(queue);
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
    uint8_t *body = bloomery_store_take(queue->store, room);
    if (body == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0, "no memory for an item of %zu bytes",
                             (size_t)room);
    const size_t bytes = bloomery_entry_put(body, entry);
    assert(bytes <= room && bytes <= BLOOMERY_QUEUE_BODY_MAX);
    status = put_frame(queue, body, (uint32_t)bytes, 1, 0, error);
    if (status == BLOOMERY_OK)
        queue->buffer_first++;
    bloomery_store_give(queue->store, body, room);
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
