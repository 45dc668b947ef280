/* SPDX-License-Identifier: Apache-2.0 */
#include "sieve/queue/dead.h"

#include "base/bytes.h"
#include "base/error.h"

#include <assert.h>
#include <inttypes.h>

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

bloomery_status bloomery_dead_append(struct bloomery_dead *dead, uint64_t number,
                                     const uint8_t *entry, size_t bytes, bloomery_error *error)
{
    struct bloomery_frame frame = {.entries = 1, .body_bytes = (uint32_t)bytes, .first = number};
    bloomery_status status = BLOOMERY_OK;
    assert(dead->store->directory >= 0 && bloomery_dead_is_frame(&frame));
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

bool bloomery_dead_is_frame(const struct bloomery_frame *frame)
{
    return frame->entries == 1 && frame->fixed_bytes == 0 && frame->body_bytes > 0 &&
           frame->body_bytes <= BLOOMERY_SIEVE_ITEM_MAX + BLOOMERY_ENTRY_PREFIX_MAX &&
           frame->first > 0 && frame->first < most;
}

/* The frame at a place, its body in memory of its own, frame->body_bytes long. */
static bloomery_status read_item(struct bloomery_dead *dead, uint64_t at,
                                 struct bloomery_frame *frame, uint8_t **body,
                                 struct bloomery_entry *entry, bloomery_error *error)
{
    struct bloomery_store *store = dead->store;
    bloomery_status status =
        bloomery_frame_header(store, &dead->file, at, dead->bytes, frame, error);
    if (status == BLOOMERY_OK && !bloomery_dead_is_frame(frame))
        status = bloomery_store_damaged(store, &dead->file, at, error,
                                        "the header of a frame has numbers that cannot be");
    if (status != BLOOMERY_OK)
        return status;
    *body = bloomery_store_take(store, frame->body_bytes);
    if (*body == NULL)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "no memory for an item of %" PRIu32 " bytes", frame->body_bytes);
    status = bloomery_frame_body(store, &dead->file, at, frame, *body, error);
    if (status == BLOOMERY_OK &&
        (bloomery_entry_get(*body, frame->body_bytes, entry) != frame->body_bytes ||
         !bloomery_entry_fits(entry)))
        status = bloomery_store_damaged(store, &dead->file, at, error,
                                        "the entry of dead item %" PRIu64, frame->first);
    if (status != BLOOMERY_OK)
        bloomery_store_give(store, *body, frame->body_bytes);
    return status;
}

int bloomery_dead_each(struct bloomery_dead *dead,
                       int (*take)(void *context, const struct bloomery_entry *entry,
                                   uint64_t number),
                       void *context, bloomery_error *error)
{
    int ended = 0;
    uint64_t at = BLOOMERY_FILE_HEADER;
    while (ended == 0 && at < dead->bytes) {
        struct bloomery_frame frame;
        struct bloomery_entry entry = {.flags = 0};
        uint8_t *body = NULL;
        const bloomery_status status = read_item(dead, at, &frame, &body, &entry, error);
        if (status != BLOOMERY_OK)
            return status;
        ended = take(context, &entry, frame.first);
        bloomery_store_give(dead->store, body, frame.body_bytes);
        at += bloomery_frame_bytes(&frame);
    }
    return ended;
}

bloomery_status bloomery_dead_verify(struct bloomery_dead *dead, bloomery_sieve_report report,
                                     void *context, uint64_t *damaged, bloomery_error *error)
{
    uint64_t at = BLOOMERY_FILE_HEADER;
    while (at < dead->bytes) {
        struct bloomery_frame frame = {.entries = 0};
        struct bloomery_entry entry = {.flags = 0};
        uint8_t *body = NULL;
        bloomery_error found = {.text = ""};
        bloomery_status status = read_item(dead, at, &frame, &body, &entry, &found);
        if (status == BLOOMERY_OK) {
            bloomery_store_give(dead->store, body, frame.body_bytes);
            at += bloomery_frame_bytes(&frame);
            continue;
        }
        if (status != BLOOMERY_CORRUPT) {
            if (error != NULL)
                *error = found;
            return status;
        }
        ++*damaged;
        if (report != NULL)
            report(context, found.text);
        status =
            bloomery_frame_find(dead->store, &dead->file, at + 1, dead->bytes, &at, &frame, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    return BLOOMERY_OK;
}
