/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue's head. A pop copies items into the arena, so that what it gave out stays while frames
 * come and go. First come those whose lease has ended, in the order of their numbers, then those
 * from the head on. An item longer than the arena comes alone, in the memory that its frame was
 * read into.
 */
#include "sieve/queue.h"

#include "base/bytes.h"
#include "base/error.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

struct popping {
    bloomery_sieve_item *items;
    size_t room;
    size_t count;
    double now;
    double until;          /* when their leases end */
    bool full;             /* no more this time */
    bloomery_error *aside; /* why something could not be put aside */
};

/* ---- Handing out ------------------------------------------------------------------------- */

static bloomery_key copied(struct bloomery_queue *queue, bloomery_key key)
{
    uint8_t *to = queue->arena + queue->arena_bytes;
    assert(key.bytes <= BLOOMERY_QUEUE_BUFFER - queue->arena_bytes);
    if (key.bytes > 0)
        memcpy(to, key.data, key.bytes);
    queue->arena_bytes += (uint32_t)key.bytes;
    return bloomery_key_of(to, key.bytes);
}

/* The only item of a long frame: takes over its memory, or copies it if that belongs to the
 * ring. */
static bloomery_status hold(struct bloomery_queue *queue, const struct bloomery_queue_view *view,
                            struct bloomery_entry *entry, bloomery_error *error)
{
    assert(queue->held == NULL);
    if (queue->long_body == view->body) {
        queue->held = queue->long_body;
        queue->held_bytes = queue->long_bytes;
        queue->long_body = NULL;
        queue->long_bytes = 0;
        bloomery_queue_forget(queue);
        return BLOOMERY_OK;
    }
    queue->held = bloomery_store_allocate(queue->store, view->bytes);
    if (queue->held == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "no memory for an item of %" PRIu32 " bytes", view->bytes);
    queue->held_bytes = view->bytes;
    memcpy(queue->held, view->body, view->bytes);
    bloomery_entry_get(queue->held, view->bytes, entry);
    return BLOOMERY_OK;
}

/* Hands out an entry as an item with these facts, unless there is no room for it: then `full`. */
static bloomery_status give(struct bloomery_queue *queue, struct popping *popping,
                            const struct bloomery_queue_view *view, struct bloomery_entry *entry,
                            const struct bloomery_sieve_item *facts, bloomery_error *error)
{
    const size_t bytes = entry->key.bytes + entry->payload.bytes;
    const bool alone = view->bytes > BLOOMERY_QUEUE_BUFFER;
    assert(popping->count <= popping->room && (!alone || view->entries == 1));
    if (popping->count == popping->room || (alone && popping->count > 0) ||
        (!alone && bytes > BLOOMERY_QUEUE_BUFFER - queue->arena_bytes)) {
        popping->full = true;
        return BLOOMERY_OK;
    }
    bloomery_sieve_item *item = &popping->items[popping->count];
    *item = *facts;
    if (alone) {
        const bloomery_status status = hold(queue, view, entry, error);
        if (status != BLOOMERY_OK)
            return status;
        item->key = entry->key;
        item->payload = entry->payload;
        popping->full = true;
    } else {
        item->key = copied(queue, entry->key);
        item->payload = copied(queue, entry->payload);
    }
    popping->count++;
    return BLOOMERY_OK;
}

/* ---- Again ------------------------------------------------------------------------------- */

/* The entry of a lease, which begins `from` bytes into its frame's body. */
static bloomery_status find_leased(struct bloomery_queue *queue, const struct bloomery_lease *lease,
                                   struct bloomery_queue_view *view, struct bloomery_entry *entry,
                                   uint32_t *from, bloomery_error *error)
{
    const struct bloomery_queue_position place = bloomery_lease_place(lease);
    const bloomery_status status = bloomery_queue_load(queue, place, view, error);
    if (status == BLOOMERY_CORRUPT)
        queue->broken = place;
    if (status != BLOOMERY_OK)
        return status;
    if (lease->number >= view->first && lease->number - view->first < view->entries) {
        const uint32_t at =
            bloomery_queue_walk(queue, place, view, (uint32_t)(lease->number - view->first));
        *from = at;
        if (bloomery_entry_get(view->body + at, view->bytes - at, entry) > 0 &&
            !(entry->flags & BLOOMERY_ENTRY_MARKED))
            return BLOOMERY_OK;
    }
    const struct bloomery_store_file named = {
        .file = -1, .kind = BLOOMERY_FILE_QUEUE, .number = place.segment};
    queue->broken = place;
    return bloomery_store_damaged(queue->store, &named, place.offset, error,
                                  "no item %" PRIu64 " is in the frame there, which is leased",
                                  lease->number);
}

static bloomery_status pop_lease(struct bloomery_queue *queue, struct popping *popping,
                                 uint32_t index, bloomery_error *error)
{
    struct bloomery_lease *lease = &queue->leases.list[index];
    const size_t before = popping->count;
    struct bloomery_queue_view view;
    struct bloomery_entry entry = {.flags = 0};
    uint32_t at = 0;
    bloomery_status status = find_leased(queue, lease, &view, &entry, &at, error);
    if (status == BLOOMERY_OK && queue->most_deliveries > 0 &&
        lease->deliveries >= queue->most_deliveries) {
        const size_t bytes = bloomery_entry_get(view.body + at, view.bytes - at, &entry);
        status =
            bloomery_dead_append(queue->dead, lease->number, view.body + at, bytes, popping->aside);
        if (status == BLOOMERY_OK)
            bloomery_queue_end_lease(queue, index);
        return status == BLOOMERY_IO_FAILED ? BLOOMERY_OK : status;
    }
    const uint32_t deliveries = (uint32_t)lease->deliveries + 1;
    const bloomery_sieve_item facts = {
        .number = lease->number, .again = true, .deliveries = deliveries};
    if (status == BLOOMERY_OK)
        status = give(queue, popping, &view, &entry, &facts, error);
    if (popping->count > before) {
        if (lease->deliveries < BLOOMERY_DELIVERIES_MAX)
            lease->deliveries = deliveries & BLOOMERY_DELIVERIES_MAX;
        bloomery_leases_extend(&queue->leases, index, popping->until);
    }
    return status;
}

static bloomery_status pop_ended(struct bloomery_queue *queue, struct popping *popping,
                                 bloomery_error *error)
{
    const struct bloomery_leases *leases = &queue->leases;
    uint32_t i = bloomery_leases_ended(leases, 0, popping->now);
    while (i < leases->count && !popping->full) {
        const uint64_t number = leases->list[i].number;
        const bloomery_status status = pop_lease(queue, popping, i, error);
        if (status != BLOOMERY_OK)
            return status;
        /* They may have moved. */
        if (!popping->full)
            i = bloomery_leases_ended(leases, bloomery_leases_from(leases, number + 1),
                                      popping->now);
    }
    return BLOOMERY_OK;
}

/* ---- New ones ---------------------------------------------------------------------------- */

/* The frame at the head, whose next entry begins at head_at. */
static bloomery_status load_head(struct bloomery_queue *queue, struct bloomery_queue_view *view,
                                 bloomery_error *error)
{
    const bloomery_status status = bloomery_queue_load(queue, queue->head, view, error);
    if (status != BLOOMERY_OK)
        return status;
    if (view->first != queue->head_number - queue->head_index ||
        queue->head_index > view->entries) {
        const struct bloomery_store_file named = {
            .file = -1, .kind = BLOOMERY_FILE_QUEUE, .number = queue->head.segment};
        return bloomery_store_damaged(queue->store, &named, queue->head.offset, error,
                                      "the frame of %" PRIu32 " entries there begins with number "
                                      "%" PRIu64 ", and %" PRIu64 " was expected",
                                      view->entries, view->first,
                                      queue->head_number - queue->head_index);
    }
    if (queue->head_at == UINT32_MAX)
        queue->head_at = bloomery_queue_walk(queue, queue->head, view, queue->head_index);
    return BLOOMERY_OK;
}

static void lease_out(struct bloomery_queue *queue, double until)
{
    const struct bloomery_lease lease = {.number = queue->head_number,
                                         .segment = queue->head.segment,
                                         .offset = queue->head.offset & bloomery_lease_offset_mask,
                                         .deliveries = 1,
                                         .ends = until};
    bloomery_leases_add(&queue->leases, &lease);
    if (bloomery_queue_on_disk(queue))
        return;
    if (bloomery_place_same(queue->head, queue->tail)) {
        queue->buffer_leases++;
        assert(queue->buffer_leases <= queue->buffer_entries);
        return;
    }
    struct bloomery_ring_frame *frame = bloomery_ring_find(&queue->ring, queue->head.segment);
    assert(frame != NULL && frame->leases < frame->entries);
    frame->leases++;
}

/* From the frame at the head, until that is taken or no more is wanted. */
static bloomery_status pop_frame(struct bloomery_queue *queue, struct popping *popping,
                                 const struct bloomery_queue_view *view, bloomery_error *error)
{
    while (queue->head_index < view->entries && !popping->full) {
        struct bloomery_entry entry = {.flags = 0};
        const size_t before = popping->count;
        assert(queue->head_number == view->first + queue->head_index);
        const size_t bytes =
            bloomery_entry_get(view->body + queue->head_at, view->bytes - queue->head_at, &entry);
        assert(bytes > 0);
        if (!(entry.flags & BLOOMERY_ENTRY_MARKED)) {
            if (queue->leases.live == queue->leases.limit)
                return BLOOMERY_OK;
            const bloomery_sieve_item facts = {.number = queue->head_number, .deliveries = 1};
            const bloomery_status status = give(queue, popping, view, &entry, &facts, error);
            if (status != BLOOMERY_OK || popping->count == before)
                return status;
            lease_out(queue, popping->until);
            queue->queued -= queue->queued > 0;
        }
        queue->head_index++;
        queue->head_at += (uint32_t)bytes;
        queue->head_number++;
    }
    return BLOOMERY_OK;
}

static bloomery_status pop_new(struct bloomery_queue *queue, struct popping *popping,
                               bloomery_error *error)
{
    for (;;) {
        struct bloomery_queue_view view;
        struct bloomery_queue_position place = queue->head;
        if (queue->queued == 0) {
            bloomery_queue_finish_head(queue);
            return BLOOMERY_OK;
        }
        if (popping->full || popping->count == popping->room)
            return BLOOMERY_OK;
        if (queue->leases.live == queue->leases.limit)
            return bloomery_fail(error, BLOOMERY_FULL, 0,
                                 "%" PRIu32
                                 " items are leased, which is the most: acknowledge or return "
                                 "some, or allow more leases",
                                 queue->leases.live);
        bloomery_status status = load_head(queue, &view, error);
        if (status == BLOOMERY_OK)
            status = pop_frame(queue, popping, &view, error);
        if (status != BLOOMERY_OK)
            return status;
        if (queue->head_index < view.entries)
            continue;
        if (bloomery_place_same(place, queue->tail)) {
            queue->queued = 0; /* damage took more items than were known */
            continue;
        }
        status = bloomery_queue_step(queue, &place, view.bytes, error);
        if (status != BLOOMERY_OK)
            return status;
        bloomery_queue_move_head(queue, place);
    }
}

/* If a frame's header is damaged, nobody has said yet how much went with it. */
static void append_loss(struct bloomery_queue *queue, bloomery_error *error)
{
    struct bloomery_queue_position place = queue->head;
    uint64_t number = queue->head_number;
    if (queue->area_headed || queue->broken.segment != 0 ||
        bloomery_place_same(queue->head, queue->tail))
        return;
    bloomery_queue_pass_damage(queue, &place, &number);
    const size_t used = strlen(error->text);
    snprintf(error->text + used, sizeof error->text - used,
             "; %" PRIu64 " items from number %" PRIu64 " on can't be read",
             number - queue->head_number, queue->head_number);
}

bloomery_status bloomery_queue_pop(struct bloomery_queue *queue, double now, double lease,
                                   bloomery_sieve_item *items, size_t room, size_t *count,
                                   bloomery_error *error)
{
    bloomery_error failure = {.text = ""};
    bloomery_error aside = {.status = BLOOMERY_OK};
    struct popping popping = {
        .items = items, .room = room, .now = now, .until = now + lease, .aside = &aside};
    assert(now >= 0 && lease >= 0);
    *count = 0;
    bloomery_store_release(queue->store, queue->held, queue->held_bytes);
    queue->held = NULL;
    queue->held_bytes = 0;
    queue->arena_bytes = 0;
    queue->broken.segment = 0;
    queue->longest = fmax(lease, queue->leases.live > 0 ? queue->longest : 0);
    bloomery_status status = pop_ended(queue, &popping, &failure);
    if (status == BLOOMERY_OK)
        status = pop_new(queue, &popping, &failure);
    *count = popping.count;
    assert(popping.count <= room && queue->leases.live <= queue->leases.limit);
    /* What failed after there were items fails again next time, when there are none. */
    if (status == BLOOMERY_OK && aside.status != BLOOMERY_OK) {
        status = aside.status;
        failure = aside;
    }
    if (status == BLOOMERY_OK || popping.count > 0)
        return BLOOMERY_OK;
    if (status == BLOOMERY_CORRUPT)
        append_loss(queue, &failure);
    if (error != NULL)
        *error = failure;
    return status;
}

bool bloomery_queue_ready(const struct bloomery_queue *queue, double now)
{
    return queue->queued > 0 || bloomery_leases_ended(&queue->leases, 0, now) < queue->leases.count;
}

/* ---- Ending leases ----------------------------------------------------------------------- */

void bloomery_queue_end_lease(struct bloomery_queue *queue, uint32_t index)
{
    const struct bloomery_queue_position place = bloomery_lease_place(&queue->leases.list[index]);
    bloomery_leases_kill(&queue->leases, index);
    if (bloomery_queue_on_disk(queue))
        return;
    if (bloomery_place_same(place, queue->tail)) {
        assert(queue->buffer_leases > 0);
        queue->buffer_leases--;
        return;
    }
    struct bloomery_ring_frame *frame = bloomery_ring_find(&queue->ring, place.segment);
    assert(frame != NULL && frame->leases > 0);
    if (--frame->leases == 0 && place.segment < queue->head.segment)
        bloomery_ring_drop(queue->store, &queue->ring, place.segment);
}

static void finish(struct bloomery_queue *queue, uint32_t index, bloomery_sieve_outcome outcome)
{
    struct bloomery_lease *lease = &queue->leases.list[index];
    assert(index < queue->leases.count);
    if (outcome == BLOOMERY_SIEVE_DONE) {
        bloomery_queue_end_lease(queue, index);
        queue->done++;
        return;
    }
    if (outcome == BLOOMERY_SIEVE_UNDO && lease->deliveries > 0)
        lease->deliveries--;
    bloomery_leases_extend(&queue->leases, index, 0);
}

size_t bloomery_queue_end(struct bloomery_queue *queue, const uint64_t *numbers, size_t count,
                          bloomery_sieve_outcome outcome)
{
    size_t leased = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t index = bloomery_leases_find(&queue->leases, numbers[i]);
        if (index == queue->leases.count)
            continue;
        finish(queue, index, outcome);
        leased++;
    }
    return leased;
}

size_t bloomery_queue_extend(struct bloomery_queue *queue, const uint64_t *numbers, size_t count,
                             double now, double lease)
{
    size_t leased = 0;
    assert(now >= 0 && lease >= 0);
    for (size_t i = 0; i < count; i++) {
        const uint32_t index = bloomery_leases_find(&queue->leases, numbers[i]);
        if (index == queue->leases.count)
            continue;
        bloomery_leases_extend(&queue->leases, index, now + lease);
        leased++;
    }
    if (leased > 0)
        queue->longest = fmax(lease, queue->longest);
    return leased;
}

size_t bloomery_queue_end_all(struct bloomery_queue *queue, bloomery_sieve_outcome outcome)
{
    const struct bloomery_leases *leases = &queue->leases;
    const size_t leased = leases->live;
    uint32_t i = bloomery_leases_next(leases, 0);
    while (i < leases->count) {
        const uint32_t before = leases->count;
        finish(queue, i, outcome);
        /* Those that are left may have moved together. */
        i = bloomery_leases_next(leases, leases->count == before ? i + 1 : 0);
    }
    assert(outcome != BLOOMERY_SIEVE_DONE || leases->live == 0);
    return leased;
}

int bloomery_queue_each_leased(struct bloomery_queue *queue, bloomery_sieve_visitor take,
                               void *context, bloomery_error *error)
{
    const struct bloomery_leases *leases = &queue->leases;
    for (uint32_t i = bloomery_leases_next(leases, 0); i < leases->count;
         i = bloomery_leases_next(leases, i + 1)) {
        const struct bloomery_lease *lease = &leases->list[i];
        struct bloomery_queue_view view;
        struct bloomery_entry entry = {.flags = 0};
        uint32_t at = 0;
        const bloomery_status status = find_leased(queue, lease, &view, &entry, &at, error);
        queue->broken.segment = 0;
        if (status != BLOOMERY_OK)
            return status;
        const bloomery_sieve_item item = {.key = entry.key,
                                          .payload = entry.payload,
                                          .number = lease->number,
                                          .again = lease->deliveries > 1,
                                          .deliveries = (uint32_t)lease->deliveries,
                                          .lease_ends = lease->ends};
        const int ended = take(context, &item);
        if (ended != 0)
            return ended;
    }
    return 0;
}

/* ---- Damage ------------------------------------------------------------------------------ */

/* Gives up the leased items of the frame that the last pop could not read. */
static uint64_t skip_leases(struct bloomery_queue *queue)
{
    struct bloomery_leases *leases = &queue->leases;
    uint64_t lost = 0;
    uint32_t i = bloomery_leases_next(leases, 0);
    while (i < leases->count) {
        const uint32_t before = leases->count;
        if (bloomery_place_same(bloomery_lease_place(&leases->list[i]), queue->broken)) {
            bloomery_queue_end_lease(queue, i);
            lost++;
        }
        /* They may have moved. */
        i = bloomery_leases_next(leases, leases->count == before ? i + 1 : 0);
    }
    queue->broken.segment = 0;
    return lost;
}

bloomery_status bloomery_queue_skip(struct bloomery_queue *queue, uint64_t *lost,
                                    bloomery_error *error)
{
    struct bloomery_queue_view view = {.first = 0};
    *lost = 0;
    if (queue->broken.segment != 0) {
        *lost = skip_leases(queue);
        return BLOOMERY_OK;
    }
    if (queue->queued == 0)
        return BLOOMERY_OK;
    const bloomery_status status = load_head(queue, &view, error);
    if (status != BLOOMERY_CORRUPT)
        return status;
    const uint64_t before = queue->head_number;
    if (bloomery_place_same(queue->head, queue->tail)) {
        queue->head_number = queue->buffer_first;
        queue->head_index = 0;
        queue->head_at = 0;
    } else if (queue->head_index == 0 && view.body != NULL && view.first > before) {
        queue->head_number = view.first; /* the frame is sound: what came before it is gone */
    } else {
        struct bloomery_queue_position place = queue->head;
        bloomery_queue_pass_damage(queue, &place, &queue->head_number);
        bloomery_queue_move_head(queue, place);
    }
    *lost = queue->head_number > before ? queue->head_number - before : 0;
    assert(queue->head_number <= queue->next);
    /* How many of them were marked ones is not known. */
    if (queue->queued > queue->next - queue->head_number)
        queue->queued = queue->next - queue->head_number;
    return BLOOMERY_OK;
}

/* ---- Dead items ------------------------------------------------------------------------------ */

static const uint64_t most = UINT64_C(1) << 62; /* of every number: sums do not overflow */

void bloomery_dead_start(struct bloomery_dead *dead, struct bloomery_store *store)
{
    *dead = (struct bloomery_dead){.store = store, .file = {.file = -1}};
}

void bloomery_dead_close(struct bloomery_dead *dead)
{
    if (dead->store != NULL)
        bloomery_store_close(&dead->file);
}

/* ---- State ------------------------------------------------------------------------------- */

void bloomery_dead_store(const struct bloomery_dead *dead, uint8_t to[BLOOMERY_DEAD_STATE])
{
    assert((dead->bytes == 0) == (dead->items == 0));
    bloomery_store_u64(to, dead->generation);
    bloomery_store_u64(to + 8, dead->bytes);
    bloomery_store_u64(to + 16, dead->items);
}

bloomery_status bloomery_dead_restore(struct bloomery_dead *dead,
                                      const uint8_t from[BLOOMERY_DEAD_STATE],
                                      bloomery_error *error)
{
    const uint64_t bytes = bloomery_load_u64(from + 8);
    const uint64_t items = bloomery_load_u64(from + 16);
    dead->generation = bloomery_load_u64(from);
    dead->committed = dead->generation;
    if (dead->generation >= most || bytes >= most || (bytes == 0) != (items == 0) ||
        items > bytes / BLOOMERY_FRAME_HEADER)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                             "%s: the state of the dead items is damaged: its numbers do not fit "
                             "together",
                             dead->store->path);
    if (bytes == 0)
        return BLOOMERY_OK;
    const bloomery_status status = bloomery_store_open(
        dead->store, BLOOMERY_FILE_DEAD, 0, dead->generation, bytes, true, &dead->file, error);
    if (status != BLOOMERY_OK)
        return status;
    dead->bytes = bytes;
    dead->items = items;
    return BLOOMERY_OK;
}

bool bloomery_dead_names(const struct bloomery_dead *dead, uint64_t generation)
{
    return dead->bytes > 0 && dead->generation == generation;
}

/* ---- Changes ----------------------------------------------------------------------------- */

/* Whether a frame may be one of the list. */
static bool is_frame(const struct bloomery_frame *frame)
{
    return frame->entries == 1 && frame->fixed_bytes == 0 && frame->body_bytes > 0 &&
           frame->body_bytes <= BLOOMERY_SIEVE_ITEM_MAX + BLOOMERY_ENTRY_PREFIX_MAX &&
           frame->first > 0 && frame->first < most;
}

bloomery_status bloomery_dead_append(struct bloomery_dead *dead, uint64_t number,
                                     const uint8_t *entry, size_t bytes, bloomery_error *error)
{
    struct bloomery_frame frame = {.entries = 1, .body_bytes = (uint32_t)bytes, .first = number};
    bloomery_status status = BLOOMERY_OK;
    assert(dead->store->directory >= 0 && is_frame(&frame));
    if (dead->file.file < 0)
        status = bloomery_store_create(dead->store, BLOOMERY_FILE_DEAD, 0, dead->generation,
                                       &dead->file, error);
    if (status != BLOOMERY_OK)
        return status;
    const uint64_t at = dead->bytes > 0 ? dead->bytes : BLOOMERY_FILE_HEADER;
    status = bloomery_frame_write(dead->store, &dead->file, at, &frame, NULL, entry, error);
    if (status != BLOOMERY_OK)
        return status;
    dead->bytes = at + bloomery_frame_bytes(&frame);
    dead->items++;
    return BLOOMERY_OK;
}

void bloomery_dead_empty(struct bloomery_dead *dead)
{
    if (dead->bytes == 0)
        return;
    bloomery_store_close(&dead->file);
    assert(dead->generation == dead->committed || dead->generation == dead->committed + 1);
    /* No commit has named it, so that no crash leads back to it. */
    if (dead->generation != dead->committed)
        bloomery_store_remove(dead->store, BLOOMERY_FILE_DEAD, 0, dead->generation);
    dead->generation = dead->committed + 1;
    dead->bytes = 0;
    dead->items = 0;
}

bloomery_status bloomery_dead_sync(struct bloomery_dead *dead, bloomery_error *error)
{
    return bloomery_store_sync(dead->store, &dead->file, error);
}

void bloomery_dead_committed(struct bloomery_dead *dead)
{
    if (dead->committed != dead->generation)
        bloomery_store_remove(dead->store, BLOOMERY_FILE_DEAD, 0, dead->committed);
    dead->committed = dead->generation;
}

/* ---- Reading ----------------------------------------------------------------------------- */

static bloomery_status fits_dead(struct bloomery_frame_walk *walk,
                                 const struct bloomery_frame *frame, bloomery_error *error)
{
    return is_frame(frame)
               ? BLOOMERY_OK
               : bloomery_store_damaged(walk->store, walk->file, walk->at, error,
                                        "the header of a frame has numbers that cannot be");
}

struct visiting {
    int (*take)(void *context, const struct bloomery_entry *entry, uint64_t number);
    bloomery_status (*damaged)(void *context, bloomery_error *error);
    void *context;
    int ended; /* what `take` returned */
};

/* Reads the item into memory of its own. */
static bloomery_status take_dead(struct bloomery_frame_walk *walk, struct bloomery_frame *frame,
                                 bloomery_error *error)
{
    struct visiting *visiting = walk->context;
    struct bloomery_store *store = walk->store;
    struct bloomery_entry entry = {.flags = 0};
    uint8_t *body = bloomery_store_allocate(store, frame->body_bytes);
    if (body == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "no memory for an item of %" PRIu32 " bytes", frame->body_bytes);
    bloomery_status status = bloomery_frame_body(store, walk->file, walk->at, frame, body, error);
    if (status == BLOOMERY_OK &&
        (bloomery_entry_get(body, frame->body_bytes, &entry) != frame->body_bytes ||
         !bloomery_entry_fits(&entry)))
        status = bloomery_store_damaged(store, walk->file, walk->at, error,
                                        "the entry of dead item %" PRIu64, frame->first);
    if (status == BLOOMERY_OK && visiting->take != NULL)
        visiting->ended = visiting->take(visiting->context, &entry, frame->first);
    bloomery_store_release(store, body, frame->body_bytes);
    walk->to = visiting->ended == 0 ? walk->to : walk->at;
    return status;
}

static bloomery_status damaged_dead(struct bloomery_frame_walk *walk, bloomery_error *error)
{
    const struct visiting *visiting = walk->context;
    return visiting->damaged(visiting->context, error);
}

int bloomery_dead_each(struct bloomery_dead *dead,
                       int (*take)(void *context, const struct bloomery_entry *entry,
                                   uint64_t number),
                       bloomery_status (*damaged)(void *context, bloomery_error *error),
                       void *context, bloomery_error *error)
{
    struct visiting visiting = {.take = take, .damaged = damaged, .context = context};
    struct bloomery_frame_walk walk = {
        .store = dead->store,
        .file = &dead->file,
        .at = BLOOMERY_FILE_HEADER,
        .to = dead->bytes,
        .end = dead->bytes,
        .context = &visiting,
        .fits = fits_dead,
        .take = take_dead,
        .damaged = damaged != NULL ? damaged_dead : NULL,
    };
    const bloomery_status status = bloomery_frames_walk(&walk, error);
    return visiting.ended != 0 ? visiting.ended : status;
}

static bloomery_status report_damage(void *context, bloomery_error *error)
{
    return bloomery_findings_add(context, BLOOMERY_CORRUPT, error, NULL);
}

bloomery_status bloomery_dead_verify(struct bloomery_dead *dead, struct bloomery_findings *findings,
                                     bloomery_error *error)
{
    return (bloomery_status)bloomery_dead_each(dead, NULL, report_damage, findings, error);
}
