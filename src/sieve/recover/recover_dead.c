/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of dead items (queue/dead.h). Its frames do not depend on each other, so those that are
 * whole are copied to a file of the next generation, and the damaged file is set aside. Until the
 * manifest names the new file, the old one counts as before.
 */
#include "sieve/recover/recover.h"

#include "base/bytes.h"

#include <assert.h>
#include <inttypes.h>

struct list {
    struct bloomery_recovery *recovery;
    struct bloomery_store_file file;
    uint64_t end; /* of its frames */
    struct bloomery_dead kept;
};

/* The frame at `at` into the area. */
static bloomery_status take_frame(struct list *list, uint64_t at, struct bloomery_frame *frame,
                                  bloomery_error *error)
{
    struct bloomery_store *store = &list->recovery->sieve->store;
    uint8_t *area = list->recovery->area;
    struct bloomery_entry entry = {.flags = 0};
    bloomery_status status = bloomery_frame_header(store, &list->file, at, list->end, frame, error);
    if (status == BLOOMERY_OK && !bloomery_dead_is_frame(frame))
        status = bloomery_store_damaged(store, &list->file, at, error,
                                        "the header of a frame has numbers that cannot be");
    if (status == BLOOMERY_OK)
        status = bloomery_frame_body(store, &list->file, at, frame, area, error);
    if (status == BLOOMERY_OK &&
        bloomery_entry_get(area, frame->body_bytes, &entry) != frame->body_bytes)
        status = bloomery_store_damaged(store, &list->file, at, error,
                                        "the entry of dead item %" PRIu64, frame->first);
    return status;
}

/* Copies what is whole, unless `copies` is false: then it is only counted. */
static bloomery_status walk(struct list *list, bool copies, uint64_t *whole, bool *damaged,
                            bloomery_error *error)
{
    struct bloomery_recovery *recovery = list->recovery;
    uint64_t at = BLOOMERY_FILE_HEADER;
    *whole = 0;
    while (at < list->end) {
        struct bloomery_frame frame = {.entries = 0};
        bloomery_error found = {.text = ""};
        bloomery_status status = take_frame(list, at, &frame, &found);
        if (status == BLOOMERY_OK) {
            if (copies)
                status = bloomery_dead_append(&list->kept, frame.first, recovery->area,
                                              frame.body_bytes, error);
            ++*whole;
            at += bloomery_frame_bytes(&frame);
        } else if (status == BLOOMERY_CORRUPT) {
            if (!copies)
                bloomery_recovery_tell(recovery, "%s", found.text);
            *damaged = true;
            status = bloomery_frame_find(&recovery->sieve->store, &list->file, at + 1, list->end,
                                         &at, &frame, error);
        } else if (error != NULL) {
            *error = found;
        }
        if (status != BLOOMERY_OK)
            return status;
    }
    return BLOOMERY_OK;
}

/* What is whole into a new file, which `state` names then. */
static bloomery_status renew(struct list *list, const char *name, uint64_t items, uint8_t *state,
                             bloomery_error *error)
{
    struct bloomery_recovery *recovery = list->recovery;
    uint64_t whole = 0;
    bool damaged = false;
    bloomery_status status = bloomery_recovery_keep(recovery, name, error);
    bloomery_dead_start(&list->kept, &recovery->sieve->store);
    list->kept.generation = bloomery_load_u64(state) + 1;
    if (status == BLOOMERY_OK && list->file.file >= 0)
        status = walk(list, true, &whole, &damaged, error);
    if (status == BLOOMERY_OK)
        status = bloomery_dead_sync(&list->kept, error);
    if (status == BLOOMERY_OK) {
        bloomery_dead_store(&list->kept, state);
        recovery->result.queued += items > whole ? items - whole : 0;
        recovery->changed = true;
    }
    bloomery_dead_close(&list->kept);
    return status;
}

bloomery_status bloomery_recovery_dead(struct bloomery_recovery *recovery, uint8_t *state,
                                       bloomery_error *error)
{
    struct bloomery_store *store = &recovery->sieve->store;
    struct list list = {.recovery = recovery};
    const uint64_t generation = bloomery_load_u64(state);
    const uint64_t bytes = bloomery_load_u64(state + 8);
    const uint64_t items = bloomery_load_u64(state + 16);
    char name[BLOOMERY_FILE_NAME];
    uint64_t length = 0;
    uint64_t whole = 0;
    bool headed = false;
    bool damaged = false;
    if (bytes == 0)
        return BLOOMERY_OK;
    bloomery_store_name(BLOOMERY_FILE_DEAD, 0, generation, name);
    bloomery_status status = bloomery_store_open_any(store, BLOOMERY_FILE_DEAD, 0, generation,
                                                     &list.file, &length, &headed, error);
    if (status != BLOOMERY_OK)
        return status;
    list.end = bytes < length ? bytes : length;
    if (!headed || length < bytes) {
        damaged = true;
        bloomery_recovery_tell(recovery, "%s/%s, with dead items, %s", recovery->sieve->path, name,
                               list.file.file < 0 ? "is missing"
                               : !headed          ? "has no sound header"
                                                  : "is cut short");
    }
    status = walk(&list, false, &whole, &damaged, error);
    if (status == BLOOMERY_OK && damaged)
        status = renew(&list, name, items, state, error);
    bloomery_store_close(&list.file);
    return status;
}
