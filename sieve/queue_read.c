/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading frames by their place. What comes from a file is checked before anybody looks at it.
 * Checked are the header's checksum, the body's, that it has as many entries as it says, and that
 * they end where it ends. So code that walks a frame need not fear its bytes.
 */
#include "sieve/queue.h"

#include "base/error.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sys/stat.h>

void bloomery_queue_forget(struct bloomery_queue *queue)
{
    bloomery_store_release(queue->store, queue->long_body, queue->long_bytes);
    queue->long_body = NULL;
    queue->long_bytes = 0;
    queue->area_place.segment = 0;
}

void bloomery_queue_close_read(struct bloomery_queue *queue)
{
    bloomery_store_close(&queue->read_file);
}

/* What a message names, if the file is not open. */
static struct bloomery_store_file segment_named(uint64_t segment)
{
    return (struct bloomery_store_file){.file = -1, .kind = BLOOMERY_FILE_QUEUE, .number = segment};
}

/* The file of a segment, and where its frames end. */
static bloomery_status segment_file(struct bloomery_queue *queue, uint64_t segment,
                                    const struct bloomery_store_file **file, uint64_t *end,
                                    bloomery_error *error)
{
    if (segment >= queue->tail.segment) {
        const struct bloomery_store_file named = segment_named(segment);
        if (segment > queue->tail.segment || queue->tail.offset == BLOOMERY_FILE_HEADER)
            return bloomery_store_damaged(queue->store, &named, 0, error,
                                          "it is behind the end of the queue");
        *file = &queue->tail_file;
        *end = queue->tail.offset;
        return bloomery_queue_tail_file(queue, error);
    }
    if (queue->read_file.file < 0 || queue->read_file.number != segment) {
        bloomery_store_close(&queue->read_file);
        const bloomery_status status =
            bloomery_store_open(queue->store, BLOOMERY_FILE_QUEUE, segment, 0, BLOOMERY_FILE_HEADER,
                                false, &queue->read_file, error);
        if (status != BLOOMERY_OK)
            return status;
        queue->read_end = bloomery_queue_segment_bytes(queue, segment);
    }
    *file = &queue->read_file;
    *end = queue->read_end;
    return BLOOMERY_OK;
}

bool bloomery_queue_is_frame(const struct bloomery_frame *frame, uint64_t next)
{
    return frame->entries > 0 && frame->entries <= frame->body_bytes && frame->fixed_bytes == 0 &&
           frame->body_bytes <= BLOOMERY_QUEUE_BODY_MAX &&
           (frame->body_bytes <= BLOOMERY_QUEUE_BUFFER || frame->entries == 1) &&
           frame->first <= next && frame->entries <= next - frame->first;
}

/* The header of the frame at a place, into area_frame. */
static bloomery_status load_header(struct bloomery_queue *queue,
                                   struct bloomery_queue_position place,
                                   const struct bloomery_store_file **file, bloomery_error *error)
{
    struct bloomery_frame *frame = &queue->area_frame;
    uint64_t end = 0;
    bloomery_queue_forget(queue);
    queue->area_headed = false;
    bloomery_status status = segment_file(queue, place.segment, file, &end, error);
    if (status == BLOOMERY_OK)
        status = bloomery_frame_header(queue->store, *file, place.offset, end, frame, error);
    if (status != BLOOMERY_OK)
        return status;
    if (!bloomery_queue_is_frame(frame, queue->next))
        return bloomery_store_damaged(queue->store, *file, place.offset, error,
                                      "the header of a frame has numbers that cannot be");
    queue->area_headed = true;
    return BLOOMERY_OK;
}

bool bloomery_queue_is_body(const uint8_t *body, uint32_t bytes, uint32_t entries)
{
    struct bloomery_entry entry;
    uint32_t at = 0;
    for (uint32_t i = 0; i < entries; i++) {
        const size_t taken = bloomery_entry_get(body + at, bytes - at, &entry);
        if (taken == 0 || entry.key.bytes > BLOOMERY_SIEVE_ITEM_MAX ||
            entry.payload.bytes > BLOOMERY_SIEVE_ITEM_MAX - entry.key.bytes)
            return false;
        at += (uint32_t)taken;
    }
    return at == bytes;
}

static bloomery_status load_file(struct bloomery_queue *queue, struct bloomery_queue_position place,
                                 bloomery_error *error)
{
    const struct bloomery_store_file *file = NULL;
    const struct bloomery_frame *frame = &queue->area_frame;
    bloomery_status status = load_header(queue, place, &file, error);
    if (status != BLOOMERY_OK)
        return status;
    uint8_t *body = queue->area;
    assert(queue->long_body == NULL);
    if (frame->body_bytes > BLOOMERY_QUEUE_BUFFER) {
        body = queue->long_body = bloomery_store_allocate(queue->store, frame->body_bytes);
        if (body == NULL)
            return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                                 "no memory for an item of %" PRIu32 " bytes", frame->body_bytes);
        queue->long_bytes = frame->body_bytes;
    }
    status = bloomery_frame_body(queue->store, file, place.offset, frame, body, error);
    if (status == BLOOMERY_OK && !bloomery_queue_is_body(body, frame->body_bytes, frame->entries))
        status = bloomery_store_damaged(queue->store, file, place.offset, error,
                                        "the entries of a frame of %" PRIu32 ", number %" PRIu64
                                        " the first",
                                        frame->entries, frame->first);
    if (status == BLOOMERY_OK)
        queue->area_place = place;
    else
        bloomery_queue_forget(queue);
    return status;
}

bloomery_status bloomery_queue_load(struct bloomery_queue *queue,
                                    struct bloomery_queue_position place,
                                    struct bloomery_queue_view *view, bloomery_error *error)
{
    if (bloomery_place_same(place, queue->tail)) {
        *view = (struct bloomery_queue_view){queue->buffer_first, queue->buffer_entries,
                                             queue->buffer_bytes, queue->buffer};
        return BLOOMERY_OK;
    }
    if (!bloomery_queue_on_disk(queue)) {
        const struct bloomery_ring_frame *frame = bloomery_ring_find(&queue->ring, place.segment);
        assert(frame != NULL);
        *view =
            (struct bloomery_queue_view){frame->first, frame->entries, frame->bytes, frame->body};
        return BLOOMERY_OK;
    }
    if (!bloomery_place_same(place, queue->area_place)) {
        const bloomery_status status = load_file(queue, place, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    const struct bloomery_frame *frame = &queue->area_frame;
    assert(bloomery_queue_is_frame(frame, queue->next));
    *view = (struct bloomery_queue_view){frame->first, frame->entries, frame->body_bytes,
                                         queue->long_body != NULL ? queue->long_body : queue->area};
    return BLOOMERY_OK;
}

uint32_t bloomery_queue_walk(struct bloomery_queue *queue, struct bloomery_queue_position place,
                             const struct bloomery_queue_view *view, uint32_t index)
{
    struct bloomery_entry entry;
    assert(index <= view->entries);
    if (!bloomery_place_same(place, queue->walk_place) || index < queue->walk_index) {
        queue->walk_place = place;
        queue->walk_index = 0;
        queue->walk_at = 0;
    }
    for (; queue->walk_index < index; queue->walk_index++) {
        const size_t taken =
            bloomery_entry_get(view->body + queue->walk_at, view->bytes - queue->walk_at, &entry);
        assert(taken > 0);
        queue->walk_at += (uint32_t)taken;
    }
    assert(queue->walk_index == index && queue->walk_at <= view->bytes);
    return queue->walk_at;
}

bloomery_status bloomery_queue_step(struct bloomery_queue *queue,
                                    struct bloomery_queue_position *place, uint32_t body_bytes,
                                    bloomery_error *error)
{
    struct bloomery_queue_position next = *place;
    assert(bloomery_place_before(*place, queue->tail));
    if (!bloomery_queue_on_disk(queue)) {
        place->segment++;
        return BLOOMERY_OK;
    }
    next.offset += BLOOMERY_FRAME_HEADER + (uint64_t)body_bytes;
    /* A segment without frames is what recovery leaves of one that is lost. One that can't be
     * opened is reported when its first frame is read. */
    for (bool same = true; next.segment < queue->tail.segment; same = false) {
        const struct bloomery_store_file *file = NULL;
        uint64_t end = 0;
        const bloomery_status status =
            segment_file(queue, next.segment, &file, &end, same ? error : NULL);
        if (status != BLOOMERY_OK && same)
            return status;
        if (status != BLOOMERY_OK || next.offset < end)
            break;
        next = (struct bloomery_queue_position){next.segment + 1, BLOOMERY_FILE_HEADER};
    }
    assert(!bloomery_place_before(queue->tail, next));
    *place = next;
    return BLOOMERY_OK;
}

/* ---- Behind damage ----------------------------------------------------------------------- */

/* The first frame from a place on, in its segment, that begins with `number` or a later one. */
static bool find_frame(struct bloomery_queue *queue, struct bloomery_queue_position *place,
                       uint64_t number)
{
    const struct bloomery_store_file *file = NULL;
    struct bloomery_frame frame;
    uint64_t end = 0;
    if (segment_file(queue, place->segment, &file, &end, NULL) != BLOOMERY_OK)
        return false;
    while (bloomery_frame_find(queue->store, file, place->offset, end, &place->offset, &frame,
                               NULL) == BLOOMERY_OK &&
           place->offset < end) {
        if (load_header(queue, *place, &file, NULL) == BLOOMERY_OK &&
            queue->area_frame.first >= number)
            return true;
        place->offset++;
    }
    return false;
}

void bloomery_queue_pass_damage(struct bloomery_queue *queue, struct bloomery_queue_position *place,
                                uint64_t *number)
{
    const struct bloomery_frame *frame = &queue->area_frame;
    struct bloomery_queue_position next = *place;
    assert(bloomery_place_before(*place, queue->tail));
    if (queue->area_headed && frame->first + frame->entries >= *number &&
        bloomery_queue_step(queue, &next, frame->body_bytes, NULL) == BLOOMERY_OK) {
        *number = frame->first + frame->entries;
    } else {
        /* Its header is what said where the next one begins. */
        next.offset++;
        while (bloomery_place_before(next, queue->tail) && !find_frame(queue, &next, *number))
            next = (struct bloomery_queue_position){next.segment + 1, BLOOMERY_FILE_HEADER};
        if (bloomery_place_before(next, queue->tail))
            *number = frame->first;
    }
    if (!bloomery_place_before(next, queue->tail)) {
        next = queue->tail;
        *number = queue->buffer_first;
    }
    assert(bloomery_place_before(*place, next)); /* so reading comes to its end */
    *place = next;
}

/* ---- All of it --------------------------------------------------------------------------- */

/* Whether a frame begins with the number that it should. */
static bloomery_status expect(const struct bloomery_queue *queue,
                              struct bloomery_queue_position place,
                              const struct bloomery_queue_view *view, uint64_t number,
                              bloomery_error *error)
{
    const struct bloomery_store_file named = segment_named(place.segment);
    if (view->first == number)
        return BLOOMERY_OK;
    return bloomery_store_damaged(queue->store, &named, place.offset, error,
                                  "the frame there begins with number %" PRIu64 ", and %" PRIu64
                                  " was expected",
                                  view->first, number);
}

/* From the frame at a place on, whose entry `index` is the first to be taken, to the tail.
 * `number`: with what the frame begins; 0: not known. Without `findings` damage ends it. */
static int walk_frames(struct bloomery_queue *queue, struct bloomery_queue_position place,
                       uint32_t index, uint64_t number,
                       int (*take)(void *context, const struct bloomery_entry *entry,
                                   uint64_t number),
                       void *context, struct bloomery_findings *findings, bloomery_error *error)
{
    for (;;) {
        const bool last = bloomery_place_same(place, queue->tail);
        struct bloomery_queue_view view;
        struct bloomery_entry entry;
        bloomery_error found = {.text = ""};
        bloomery_status status = bloomery_queue_load(queue, place, &view, &found);
        const bool loaded = status == BLOOMERY_OK;
        if (loaded && number > 0)
            status = expect(queue, place, &view, number, &found);
        status = bloomery_findings_add(findings, status, &found, error);
        if (status != BLOOMERY_OK)
            return status;
        if (!loaded) {
            bloomery_queue_pass_damage(queue, &place, &number);
            continue;
        }
        uint32_t at = 0;
        for (uint32_t i = 0; take != NULL && i < view.entries; i++) {
            at += (uint32_t)bloomery_entry_get(view.body + at, view.bytes - at, &entry);
            const int ended = i < index ? 0 : take(context, &entry, view.first + i);
            if (ended != 0)
                return ended;
        }
        assert(take == NULL || at == view.bytes);
        if (last)
            return BLOOMERY_OK;
        number = view.first + view.entries;
        index = 0;
        status = bloomery_queue_step(queue, &place, view.bytes, error);
        if (status != BLOOMERY_OK)
            return status;
    }
}

int bloomery_queue_each(struct bloomery_queue *queue, const struct bloomery_queue_position *from,
                        uint64_t number,
                        int (*take)(void *context, const struct bloomery_entry *entry,
                                    uint64_t number),
                        void *context, bloomery_error *error)
{
    if (from == NULL)
        return walk_frames(queue, queue->head, queue->head_index,
                           queue->head_number - queue->head_index, take, context, NULL, error);
    struct bloomery_queue_position place = *from;
    assert(bloomery_queue_on_disk(queue)); /* in memory what was popped is gone */
    /* Nothing was removed yet: if segment 1 is missing now, that is damage, and found. */
    if (place.segment == 0) {
        place = (struct bloomery_queue_position){1, BLOOMERY_FILE_HEADER};
        number = 1;
    }
    /* From the end of a segment that was left later on to the beginning of the next one. One that
     * was cut there looks the same, but numbers are missing. */
    const struct bloomery_store_file *file = NULL;
    uint64_t end = 0;
    if (place.segment < queue->tail.segment &&
        segment_file(queue, place.segment, &file, &end, NULL) == BLOOMERY_OK && place.offset == end)
        place = (struct bloomery_queue_position){place.segment + 1, BLOOMERY_FILE_HEADER};
    if (bloomery_place_before(queue->tail, place)) {
        const struct bloomery_store_file named = segment_named(place.segment);
        return bloomery_store_damaged(queue->store, &named, place.offset, error,
                                      "it is behind the end of the queue");
    }
    return walk_frames(queue, place, 0, number, take, context, NULL, error);
}

/* Frames before the head, if leases lie in them. */
static bloomery_status verify_leases(struct bloomery_queue *queue,
                                     struct bloomery_findings *findings, bloomery_error *error)
{
    struct bloomery_queue_position last = {0, 0};
    for (uint32_t i = 0;; i++) {
        i = bloomery_leases_next(&queue->leases, i);
        if (i >= queue->leases.count)
            return BLOOMERY_OK;
        const struct bloomery_lease *lease = &queue->leases.list[i];
        struct bloomery_queue_view view;
        bloomery_error found = {.text = ""};
        const struct bloomery_queue_position place = bloomery_lease_place(lease);
        if (bloomery_place_same(place, last) || !bloomery_place_before(place, queue->head))
            continue;
        last = place;
        bloomery_status status = bloomery_queue_load(queue, last, &view, &found);
        if (status == BLOOMERY_OK &&
            (lease->number < view.first || lease->number - view.first >= view.entries))
            status = expect(queue, last, &view, lease->number, &found);
        status = bloomery_findings_add(findings, status, &found, error);
        if (status != BLOOMERY_OK)
            return status;
    }
}

bloomery_status bloomery_queue_verify(struct bloomery_queue *queue,
                                      struct bloomery_findings *findings, bloomery_error *error)
{
    if (!bloomery_queue_on_disk(queue))
        return BLOOMERY_OK;
    const bloomery_status status = verify_leases(queue, findings, error);
    if (status != BLOOMERY_OK)
        return status;
    return (bloomery_status)walk_frames(
        queue, queue->head, 0, queue->head_number - queue->head_index, NULL, NULL, findings, error);
}

/* ---- Leases ---------------------------------------------------------------------------------- */

/*
 * Leases. What is asked of them, and what it costs with n of them:
 *
 *     append       amortised O(1): a quarter more room than leases, and moving together once that
 *                  is used up
 *     find, kill   O(log n): binary search by number, which the dead keep
 *     what ended   O(n / 256 + what is in chunks where something may have ended)
 */

static const double dead = -1;

static bool lives(const struct bloomery_leases *leases, uint32_t index)
{
    return leases->list[index].ends >= 0;
}

static uint64_t chunks_of(uint32_t capacity)
{
    return (uint64_t)capacity / BLOOMERY_LEASE_CHUNK + 1;
}

bool bloomery_leases_make(struct bloomery_store *store, struct bloomery_leases *leases,
                          uint32_t limit)
{
    assert(limit >= 1 && limit <= 1u << 30);
    *leases = (struct bloomery_leases){.limit = limit, .capacity = limit + limit / 4 + 64};
    leases->list = bloomery_store_allocate(store, leases->capacity * sizeof *leases->list);
    leases->least =
        bloomery_store_allocate(store, chunks_of(leases->capacity) * sizeof *leases->least);
    if (leases->list != NULL && leases->least != NULL)
        return true;
    bloomery_leases_free(store, leases);
    return false;
}

void bloomery_leases_free(struct bloomery_store *store, struct bloomery_leases *leases)
{
    bloomery_store_release(store, leases->list, leases->capacity * sizeof *leases->list);
    bloomery_store_release(store, leases->least,
                           chunks_of(leases->capacity) * sizeof *leases->least);
    leases->list = NULL;
    leases->least = NULL;
}

static void lower(const struct bloomery_leases *leases, uint32_t index, double ends)
{
    double *least = &leases->least[index / BLOOMERY_LEASE_CHUNK];
    if (index % BLOOMERY_LEASE_CHUNK == 0 && index + 1 == leases->count)
        *least = ends; /* the chunk begins here */
    else if (ends < *least)
        *least = ends;
}

/* Moves the living together. */
static void compact(struct bloomery_leases *leases)
{
    const uint32_t before = leases->count;
    leases->count = 0;
    for (uint32_t i = leases->first; i < before; i++) {
        if (!lives(leases, i))
            continue;
        leases->list[leases->count++] = leases->list[i];
        lower(leases, leases->count - 1, leases->list[leases->count - 1].ends);
    }
    leases->first = 0;
    assert(leases->count == leases->live);
}

void bloomery_leases_add(struct bloomery_leases *leases, const struct bloomery_lease *lease)
{
    assert(leases->live < leases->limit && lease->ends >= 0);
    if (leases->count == leases->capacity)
        compact(leases);
    assert(leases->count < leases->capacity);
    assert(leases->count == 0 ||
           !bloomery_place_before(bloomery_lease_place(lease),
                                  bloomery_lease_place(&leases->list[leases->count - 1])));
    assert(leases->count == 0 || leases->list[leases->count - 1].number < lease->number);
    leases->list[leases->count++] = *lease;
    leases->live++;
    lower(leases, leases->count - 1, lease->ends);
}

uint32_t bloomery_leases_from(const struct bloomery_leases *leases, uint64_t number)
{
    uint32_t low = leases->first;
    uint32_t high = leases->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (leases->list[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t bloomery_leases_find(const struct bloomery_leases *leases, uint64_t number)
{
    const uint32_t index = bloomery_leases_from(leases, number);
    return index < leases->count && leases->list[index].number == number && lives(leases, index)
               ? index
               : leases->count;
}

void bloomery_leases_kill(struct bloomery_leases *leases, uint32_t index)
{
    assert(index < leases->count && lives(leases, index) && leases->live > 0);
    leases->list[index].ends = dead;
    leases->live--;
    while (leases->first < leases->count && !lives(leases, leases->first))
        leases->first++;
    /* Moving costs what lives, and comes after three times as many deaths. */
    if (leases->live == 0 ||
        (leases->count > 4 * BLOOMERY_LEASE_CHUNK && leases->live < leases->count / 4))
        compact(leases);
}

void bloomery_leases_extend(struct bloomery_leases *leases, uint32_t index, double ends)
{
    assert(index < leases->count && lives(leases, index) && ends >= 0);
    leases->list[index].ends = ends;
    /* A later end leaves the chunk's bound too low, which is allowed. */
    if (ends < leases->least[index / BLOOMERY_LEASE_CHUNK])
        leases->least[index / BLOOMERY_LEASE_CHUNK] = ends;
}

uint32_t bloomery_leases_ended(const struct bloomery_leases *leases, uint32_t from, double now)
{
    uint32_t index = from < leases->first ? leases->first : from;
    while (index < leases->count) {
        const uint32_t chunk = index / BLOOMERY_LEASE_CHUNK;
        const uint32_t rest = leases->count - chunk * BLOOMERY_LEASE_CHUNK;
        const uint32_t end = chunk * BLOOMERY_LEASE_CHUNK +
                             (rest < BLOOMERY_LEASE_CHUNK ? rest : BLOOMERY_LEASE_CHUNK);
        const bool whole =
            index % BLOOMERY_LEASE_CHUNK == 0 || index == leases->first; /* the dead don't count */
        double least = INFINITY;
        if (leases->least[chunk] <= now) {
            for (; index < end; index++) {
                if (!lives(leases, index))
                    continue;
                if (leases->list[index].ends <= now)
                    return index;
                least = leases->list[index].ends < least ? leases->list[index].ends : least;
            }
            if (whole)
                leases->least[chunk] = least;
        }
        index = end;
    }
    return leases->count;
}

uint32_t bloomery_leases_next(const struct bloomery_leases *leases, uint32_t from)
{
    uint32_t index = from < leases->first ? leases->first : from;
    while (index < leases->count && !lives(leases, index))
        index++;
    return index;
}

bool bloomery_leases_in(const struct bloomery_leases *leases, uint64_t segment)
{
    uint32_t low = leases->first;
    uint32_t high = leases->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (leases->list[middle].segment < segment)
            low = middle + 1;
        else
            high = middle;
    }
    const uint32_t next = bloomery_leases_next(leases, low);
    return next < leases->count && leases->list[next].segment == segment;
}

/* ---- Frames in memory ------------------------------------------------------------------------ */

/* Frames of a queue without directory, by number, in a ring of pointers that doubles when it is
 * full. */

enum { SLOT_BYTES = sizeof(void *) };

static uint64_t bytes_of(uint32_t body)
{
    return sizeof(struct bloomery_ring_frame) + body;
}

static struct bloomery_ring_frame **slot(const struct bloomery_queue_ring *ring, uint64_t number)
{
    assert(ring->capacity > 0 && (ring->capacity & (ring->capacity - 1)) == 0);
    return &ring->slots[number & (ring->capacity - 1)];
}

static bloomery_status no_memory(bloomery_error *error, uint64_t bytes)
{
    return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                         "no memory for a frame of the queue of %" PRIu64 " bytes", bytes);
}

static bloomery_status grow(struct bloomery_store *store, struct bloomery_queue_ring *ring,
                            bloomery_error *error)
{
    struct bloomery_queue_ring larger = *ring;
    larger.capacity = ring->capacity == 0 ? 64 : 2 * ring->capacity;
    const uint64_t bytes = larger.capacity * SLOT_BYTES;
    larger.slots = bloomery_store_allocate(store, bytes);
    if (larger.slots == NULL)
        return no_memory(error, bytes);
    for (uint64_t i = 0; i < ring->count; i++)
        *slot(&larger, ring->base + i) = *slot(ring, ring->base + i);
    larger.bytes += (larger.capacity - ring->capacity) * SLOT_BYTES;
    bloomery_store_release(store, ring->slots, ring->capacity * SLOT_BYTES);
    *ring = larger;
    return BLOOMERY_OK;
}

bloomery_status bloomery_ring_add(struct bloomery_store *store, struct bloomery_queue_ring *ring,
                                  const struct bloomery_ring_frame *facts, const void *body,
                                  bloomery_error *error)
{
    const uint64_t bytes = bytes_of(facts->bytes);
    if (ring->most > 0 && (bytes > ring->most || ring->bytes > ring->most - bytes))
        return bloomery_fail(error, BLOOMERY_FULL, 0,
                             "the queue has used up its %" PRIu64
                             " bytes of memory: pop and acknowledge items first",
                             ring->most);
    if (ring->count == ring->capacity) {
        const bloomery_status status = grow(store, ring, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    struct bloomery_ring_frame *frame = bloomery_store_allocate(store, bytes);
    if (frame == NULL)
        return no_memory(error, bytes);
    assert(ring->count < ring->capacity && *slot(ring, ring->base + ring->count) == NULL);
    *frame = *facts;
    memcpy(frame->body, body, facts->bytes);
    *slot(ring, ring->base + ring->count++) = frame;
    ring->bytes += bytes;
    return BLOOMERY_OK;
}

struct bloomery_ring_frame *bloomery_ring_find(const struct bloomery_queue_ring *ring,
                                               uint64_t number)
{
    if (number < ring->base || number - ring->base >= ring->count)
        return NULL;
    return *slot(ring, number);
}

static void give(struct bloomery_store *store, struct bloomery_queue_ring *ring, uint64_t number)
{
    struct bloomery_ring_frame *frame = *slot(ring, number);
    if (frame == NULL)
        return;
    const uint64_t bytes = bytes_of(frame->bytes);
    assert(ring->bytes >= bytes);
    ring->bytes -= bytes;
    bloomery_store_release(store, frame, bytes);
    *slot(ring, number) = NULL;
}

void bloomery_ring_drop(struct bloomery_store *store, struct bloomery_queue_ring *ring,
                        uint64_t number)
{
    if (bloomery_ring_find(ring, number) == NULL)
        return;
    give(store, ring, number);
    while (ring->count > 0 && *slot(ring, ring->base) == NULL) {
        ring->base++;
        ring->count--;
    }
    assert(ring->count > 0 || ring->bytes == ring->capacity * SLOT_BYTES);
}

void bloomery_ring_cut(struct bloomery_store *store, struct bloomery_queue_ring *ring,
                       uint64_t number)
{
    while (ring->count > 0 && ring->base + ring->count > number) {
        give(store, ring, ring->base + ring->count - 1);
        ring->count--;
    }
    if (ring->count == 0)
        ring->base = number;
    assert(ring->count > 0 || ring->bytes == ring->capacity * SLOT_BYTES);
}

void bloomery_ring_free(struct bloomery_store *store, struct bloomery_queue_ring *ring)
{
    bloomery_ring_cut(store, ring, 0);
    bloomery_store_release(store, ring->slots, ring->capacity * SLOT_BYTES);
    ring->slots = NULL;
    ring->capacity = 0;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* The files of a queue: the one at the tail, and how long others are. */

bloomery_status bloomery_queue_tail_file(struct bloomery_queue *queue, bloomery_error *error)
{
    if (queue->tail_file.file >= 0)
        return BLOOMERY_OK;
    assert(bloomery_queue_on_disk(queue) && queue->tail.offset >= BLOOMERY_FILE_HEADER);
    if (queue->tail.offset == BLOOMERY_FILE_HEADER)
        return bloomery_store_create(queue->store, BLOOMERY_FILE_QUEUE, queue->tail.segment, 0,
                                     &queue->tail_file, error);
    const bloomery_status status =
        bloomery_store_open(queue->store, BLOOMERY_FILE_QUEUE, queue->tail.segment, 0,
                            queue->tail.offset, true, &queue->tail_file, error);
    queue->spoiled = false;
    return status;
}

uint64_t bloomery_queue_segment_bytes(const struct bloomery_queue *queue, uint64_t segment)
{
    char name[BLOOMERY_FILE_NAME];
    struct stat facts;
    bloomery_store_name(BLOOMERY_FILE_QUEUE, segment, 0, name);
    if (fstatat(queue->store->directory, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return 0;
    return (uint64_t)facts.st_size;
}
