/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The union of two chains is a chain of the layers of both:
 *
 *     into    a0  a1  a2            ┐
 *     from        b0  b1            ┴──>    a0  a1  b0  b1  a2
 *
 * An absent key is a false positive if it is one in some layer. So the rates add up, and each layer
 * keeps its own. Keys go on to the last layer: of the two newest ones the larger is put there, and
 * of equal ones the own. The layer after it is planned from it. So the rate of the whole stays
 * under the sum of the two chains' planned rates: their layers so far are parts of the two sums,
 * and layers to come are part of one.
 *
 * Layers are copied, since the other chain remains, and all memory is taken before anything
 * changes.
 */
#include "chain/join.h"
#include "chain/grow.h"

#include "base/error.h"
#include "base/memory.h"
#include "plan/describe.h"

#include <assert.h>
#include <string.h>

static void release_copies(const bloomery_filter *into, struct bloomery_layer *copies,
                           uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        bloomery_release(&into->allocator, copies[i].payload, (size_t)copies[i].bytes,
                         BLOOMERY_PAYLOAD_UNIT);
}

/* Copies of all layers; none if there is no memory. */
static bloomery_status copy_layers(const bloomery_filter *into, const bloomery_filter *from,
                                   struct bloomery_layer *copies, bloomery_error *error)
{
    for (uint32_t i = 0; i < from->shape.layer_count; i++) {
        const struct bloomery_layer *layer = &from->layers[i];
        copies[i] = *layer;
        copies[i].payload =
            bloomery_allocate(&into->allocator, (size_t)layer->bytes, BLOOMERY_PAYLOAD_UNIT);
        if (copies[i].payload == NULL) {
            release_copies(into, copies, i);
            return bloomery_fail_memory(error, &into->allocator, "a copy of a layer", layer->bytes);
        }
        memcpy(copies[i].payload, layer->payload, (size_t)layer->bytes);
    }
    return BLOOMERY_OK;
}

static bloomery_status check_room(const bloomery_filter *into, const bloomery_filter *from,
                                  bloomery_error *error)
{
    const uint32_t layers = into->shape.layer_count + from->shape.layer_count;
    struct bloomery_phrase all = {{0}}, limit = {{0}};
    uint64_t bytes;
    if (layers > BLOOMERY_CHAIN_MAX)
        return bloomery_fail(error, BLOOMERY_FULL, 0,
                             "the two chains have %u and %u layers, and one has %d at most",
                             into->shape.layer_count, from->shape.layer_count, BLOOMERY_CHAIN_MAX);
    if (__builtin_add_overflow(bloomery_payload_bytes(into), bloomery_payload_bytes(from),
                               &bytes) ||
        bytes > SIZE_MAX)
        return bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "the layers of both would take more bytes than there are addresses");
    if (bloomery_rest_in(into)->memory_limit > 0 && bytes > bloomery_rest_in(into)->memory_limit)
        return bloomery_fail(error, BLOOMERY_FULL, 0,
                             "the layers of both would take %s, and the limit is %s",
                             bloomery_phrase_bytes(&all, bytes),
                             bloomery_phrase_bytes(&limit, bloomery_rest_in(into)->memory_limit));
    return BLOOMERY_OK;
}

bloomery_status bloomery_chain_join(bloomery_filter *into, const bloomery_filter *from,
                                    bloomery_error *error)
{
    struct bloomery_layer copies[BLOOMERY_CHAIN_MAX];
    const uint32_t more = from->shape.layer_count;
    uint32_t count = into->shape.layer_count;
    assert(into != from && into->kind->grows && from->kind->grows);
    assert(count > 0 && more > 0);
    bloomery_status status = check_room(into, from, error);
    if (status == BLOOMERY_OK && !bloomery_make_room(into, count + more))
        status = bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                               "not enough memory for the records of %u layers", count + more);
    if (status == BLOOMERY_OK)
        status = copy_layers(into, from, copies, error);
    if (status != BLOOMERY_OK)
        return status;
    const struct bloomery_layer newest = into->layers[count - 1];
    const bool own_last = newest.bits >= from->layers[more - 1].bits;
    if (own_last && into->first == count - 1)
        into->first = (uint16_t)(into->first + more);
    count -= own_last;
    memcpy(&into->layers[count], copies, more * sizeof copies[0]);
    count += more;
    if (own_last)
        into->layers[count++] = newest;
    into->shape.layer_count = count;
    uint64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        into->layers[i].offset = end;
        end += into->layers[i].bytes;
    }
    bloomery_chain_open(into);
    assert(bloomery_payload_bytes(into) == end);
    return BLOOMERY_OK;
}
