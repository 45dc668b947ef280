/* SPDX-License-Identifier: Apache-2.0 */
/* See filter.h: what a filter has, read and given back. */
#include "core/filter.h"

#include "base/error.h"

#include "base/bytes.h"
#include "base/memory.h"

#include <assert.h>
#include <string.h>

const struct bloomery_rest bloomery_no_rest;

struct bloomery_traits bloomery_traits_of(const struct bloomery_filter *filter)
{
    const struct bloomery_rest *rest = bloomery_rest_in(filter);
    assert(rest->note_bytes == 0 || rest->note[rest->note_bytes] == '\0');
    struct bloomery_traits traits = {
        .allocator = filter->allocator,
        .secret = {.seed = filter->shape.seed},
        .secret_known = filter->secret_known,
        .secret_in_file = filter->secret_in_file,
        .of_our_file = filter->of_our_file,
        .rule = rest->rule,
        .note = rest->note,
        .note_bytes = rest->note_bytes,
        .extra = rest->extra,
        .extra_bytes = rest->extra_bytes,
        .add_failure = __atomic_load_n(&filter->add_failure, __ATOMIC_ACQUIRE),
        .failed_adds = __atomic_load_n(&rest->failed_adds, __ATOMIC_RELAXED),
    };
    if (!filter->foreign)
        traits.secret = *bloomery_secret_of(filter);
    return traits;
}

size_t bloomery_own_bytes(const struct bloomery_filter *filter)
{
    const struct bloomery_rest *rest = bloomery_rest_in(filter);
    const uint8_t *end = (const uint8_t *)&filter->own[filter->own_room];
    size_t bytes = (size_t)(end - bloomery_base_of(filter));
    if (filter->has_rest)
        bytes += sizeof *rest + rest->extra_bytes + rest->note_bytes + (rest->note_bytes > 0);
    if (rest->next != NULL)
        bytes += sizeof *rest->next;
    return bytes;
}

void bloomery_release_itself(struct bloomery_filter *filter)
{
    const bloomery_allocator allocator = filter->allocator;
    uint8_t *block = bloomery_base_of(filter);
    const size_t bytes = bloomery_own_bytes(filter);
    if (!filter->foreign) /* The secret must not be found in freed memory. */
        bloomery_wipe(bloomery_secret_of(filter), BLOOMERY_SECRET_BEFORE);
    bloomery_release(&allocator, block, bytes, BLOOMERY_PAYLOAD_UNIT);
}

/* ---- The room for layers --------------------------------------------------------------------- */

bool bloomery_make_room(struct bloomery_filter *filter, uint32_t layers)
{
    uint32_t room = bloomery_room(filter);
    uint32_t doublings = filter->doublings;
    if (layers <= room)
        return true;
    assert(layers <= BLOOMERY_LAYERS_MAX && !filter->concurrent);
    for (; room < layers; room *= 2)
        doublings++;
    struct bloomery_layer *now =
        bloomery_allocate(&filter->allocator, bloomery_room_bytes(room), BLOOMERY_ROOM_ALIGNMENT);
    if (now == NULL)
        return false;
    memcpy(now, filter->layers, bloomery_room_bytes(filter->shape.layer_count));
    bloomery_release_room(filter);
    filter->shape.layers = now;
    filter->doublings = (uint8_t)doublings;
    assert(bloomery_room(filter) == room);
    return true;
}

void bloomery_release_room(struct bloomery_filter *filter)
{
    if (bloomery_has_room_apart(filter))
        bloomery_release(&filter->allocator, filter->layers,
                         bloomery_room_bytes(bloomery_room(filter)), BLOOMERY_ROOM_ALIGNMENT);
    filter->shape.layers = filter->own;
    filter->doublings = 0;
}

static const char *why_refused(bloomery_status status)
{
    switch (status) {
    case BLOOMERY_FULL:
        return "the filter is full";
    case BLOOMERY_OUT_OF_MEMORY:
        return "there was no memory for another layer";
    case BLOOMERY_SECRET_NEEDED:
        return "the filter was opened without its secret";
    case BLOOMERY_READ_ONLY:
        return "the filter is read-only";
    default:
        return "this build can't hash keys for the filter, or its keys have no hash";
    }
}

bloomery_status bloomery_failed_adds_take(const bloomery_filter *filter, bloomery_error *error)
{
    bloomery_filter *changed = (bloomery_filter *)(uintptr_t)filter; /* never a caller's bytes */
    uint64_t keys = 0;
    if (__atomic_load_n(&filter->add_failure, __ATOMIC_RELAXED) == 0)
        return BLOOMERY_OK;
    const int failure = __atomic_exchange_n(&changed->add_failure, 0, __ATOMIC_ACQUIRE);
    if (failure == 0) /* another thread was faster */
        return BLOOMERY_OK;
    if (filter->has_rest)
        keys = __atomic_exchange_n(&bloomery_rest_of(changed)->failed_adds, 0, __ATOMIC_RELAXED);
    const bloomery_status status = (bloomery_status)-failure;
    const char *why = why_refused(status);
    static const char then[] = "bloomery_add was called without an error. The next call continues "
                               "without these keys";
    if (keys == 0) /* not counted in a filter of few bytes */
        return bloomery_fail(error, status, 0, "keys could not be added, since %s; %s", why, then);
    return bloomery_fail(error, status, 0, "%llu key%s could not be added, since %s; %s",
                         (unsigned long long)keys, keys == 1 ? "" : "s", why, then);
}
