/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The union of two chains. Layers of one shape become one where it stays below the mark at which a
 * layer is full (grow.c), as those of shards with one plan do. The others stand side by side:
 *
 *     into    a0  a1  a2          ┐
 *     from    b0  b1  b2          ┴──>    a0|b0  a1  b1  a2|b2
 *
 * An absent key is a false positive if it is one in some layer. So the rates of layers add up, and
 * each layer keeps its own: the rate that it is planned for holds up to the mark. Keys go on to the
 * last layer: of the two newest ones the larger is put there, and of equal ones the own. The layer
 * after it is planned from it. So the rate of the whole stays under the sum of the two chains'
 * planned rates: their layers so far are parts of the two sums, and layers to come are part of one.
 *
 * What a layer of the other has becomes known by counting: keys that both have are counted once. A
 * layer whose bits are all in the other's adds nothing, so there the mark does not matter: it may
 * be passed by the bits of one key.
 *
 * Layers that stay apart are copied, since the other chain remains, and all memory is taken before
 * anything changes.
 */
#include "chain/join.h"
#include "chain/grow.h"

#include "base/bits.h"
#include "base/error.h"
#include "base/memory.h"
#include "core/cells.h"
#include "plan/describe.h"

#include <assert.h>
#include <string.h>

/* ---- Which layers become one ---------------------------------------------------------------- */

enum {
    STRETCH = 4096,         /* bytes that pass over the stack */
    SAMPLE = 256 * STRETCH, /* after which it is plain whether a layer would be too full */
    APART = -1,
};

/* Where each layer of the other chain goes: into one of our layers, or beside them. */
struct joining {
    int into[BLOOMERY_CHAIN_MAX];
    uint32_t apart;
    uint64_t apart_bytes;
};

/* The bits of both layers in a stretch, and whether one of them has some that the other lacks. */
struct overlap {
    uint64_t bits;
    bool more, less;
};

static void look_at_stretch(const uint8_t *one, const uint8_t *other, size_t bytes,
                            struct overlap *overlap)
{
    uint8_t room[STRETCH];
    memcpy(room, one, bytes);
    bloomery_cells_unite(1, room, other, bytes);
    const uint64_t both = bloomery_count_payload(room, bytes / 8);
    overlap->bits += both;
    overlap->more = overlap->more || both > bloomery_count_payload(one, bytes / 8);
    overlap->less = overlap->less || both > bloomery_count_payload(other, bytes / 8);
}

/* Whether two layers of one shape may become one. Past the sample it need not read on if there are
 * a twentieth too many bits: keys lie alike in all of a layer. */
static bool may_unite(const struct bloomery_layer *one, const struct bloomery_layer *other)
{
    struct overlap overlap = {0, false, false};
    const uint64_t bytes = one->bytes;
    for (uint64_t at = 0; at < bytes; at += STRETCH) {
        const size_t now = bytes - at < STRETCH ? (size_t)(bytes - at) : STRETCH;
        const bool plain = at >= SAMPLE && (double)overlap.bits * (double)bytes >
                                               1.05 * (double)one->full_at * (double)at;
        if (overlap.more && overlap.less && (plain || overlap.bits > one->full_at))
            return false;
        look_at_stretch(one->payload + at, other->payload + at, now, &overlap);
    }
    return !overlap.more || !overlap.less || overlap.bits <= one->full_at;
}

static bool is_one_shape(const struct bloomery_layer *one, const struct bloomery_layer *other)
{
    return one->bits == other->bits && one->probes == other->probes &&
           one->blocks_per_key == other->blocks_per_key;
}

/* Each of our layers takes at most one of the other's. Those of one chain do not fit together, or
 * they would be one. */
static void find_places(const bloomery_filter *into, const bloomery_filter *from,
                        struct joining *joining)
{
    uint64_t taken = 0; /* a bit for each of our layers */
    _Static_assert(BLOOMERY_CHAIN_MAX <= 64, "a layer has a bit");
    *joining = (struct joining){.apart = 0};
    for (uint32_t i = 0; i < from->shape.layer_count; i++) {
        const struct bloomery_layer *other = &from->layers[i];
        uint32_t at = 0;
        while (at < into->shape.layer_count &&
               ((taken >> at & 1) != 0 || !is_one_shape(&into->layers[at], other) ||
                !may_unite(&into->layers[at], other)))
            at++;
        const bool unites = at < into->shape.layer_count;
        joining->into[i] = unites ? (int)at : APART;
        joining->apart += !unites;
        joining->apart_bytes += unites ? 0 : other->bytes;
        taken |= unites ? UINT64_C(1) << at : 0;
    }
}

/* ---- The others ----------------------------------------------------------------------------- */

static void release_copies(const bloomery_filter *into, struct bloomery_layer *copies,
                           uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        bloomery_release(&into->allocator, copies[i].payload, (size_t)copies[i].bytes,
                         BLOOMERY_PAYLOAD_UNIT);
}

/* Copies of the layers that stay apart; none if there is no memory. */
static bloomery_status copy_layers(const bloomery_filter *into, const bloomery_filter *from,
                                   const struct joining *joining, struct bloomery_layer *copies,
                                   bloomery_error *error)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < from->shape.layer_count; i++) {
        const struct bloomery_layer *layer = &from->layers[i];
        if (joining->into[i] != APART)
            continue;
        copies[count] = *layer;
        copies[count].payload =
            bloomery_allocate(&into->allocator, (size_t)layer->bytes, BLOOMERY_PAYLOAD_UNIT);
        if (copies[count].payload == NULL) {
            release_copies(into, copies, count);
            return bloomery_fail_memory(error, &into->allocator, "a copy of a layer", layer->bytes);
        }
        memcpy(copies[count++].payload, layer->payload, (size_t)layer->bytes);
    }
    assert(count == joining->apart);
    return BLOOMERY_OK;
}

static bloomery_status check_room(const bloomery_filter *into, const struct joining *joining,
                                  bloomery_error *error)
{
    const uint32_t layers = into->shape.layer_count + joining->apart;
    struct bloomery_phrase all = {{0}}, limit = {{0}};
    uint64_t bytes;
    if (layers > BLOOMERY_CHAIN_MAX)
        return bloomery_fail(
            error, BLOOMERY_FULL, 0,
            "the union would have %u layers, and a filter has %d at most; layers that "
            "are full stay apart. Merge fewer filters, or look keys up in each "
            "(dedupe --against, query -f)",
            layers, BLOOMERY_CHAIN_MAX);
    if (__builtin_add_overflow(bloomery_payload_bytes(into), joining->apart_bytes, &bytes) ||
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

/* Puts copies before our newest layer, or behind it if the newest of them is larger. */
static void insert_copies(bloomery_filter *into, const struct bloomery_layer *copies, uint32_t more)
{
    uint32_t count = into->shape.layer_count;
    const struct bloomery_layer newest = into->layers[count - 1];
    const bool own_last = newest.bits >= copies[more - 1].bits;
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
    assert(bloomery_payload_bytes(into) == end);
}

static void unite_layers(bloomery_filter *into, const bloomery_filter *from,
                         const struct joining *joining)
{
    for (uint32_t i = 0; i < from->shape.layer_count; i++) {
        if (joining->into[i] == APART)
            continue;
        struct bloomery_layer *layer = &into->layers[joining->into[i]];
        const struct bloomery_layer *other = &from->layers[i];
        bloomery_cells_unite(1, layer->payload, other->payload, (size_t)layer->bytes);
        if (__builtin_add_overflow(layer->adds, other->adds, &layer->adds))
            layer->adds = UINT64_MAX;
    }
}

bloomery_status bloomery_chain_join(bloomery_filter *into, const bloomery_filter *from,
                                    bloomery_error *error)
{
    struct bloomery_layer copies[BLOOMERY_CHAIN_MAX];
    struct joining joining;
    assert(into != from && into->kind->grows && from->kind->grows);
    assert(!into->foreign && into->storage == BLOOMERY_OWNED);
    assert(into->shape.layer_count > 0 && from->shape.layer_count > 0);
    find_places(into, from, &joining);
    const uint32_t count = into->shape.layer_count + joining.apart;
    bloomery_status status = check_room(into, &joining, error);
    if (status == BLOOMERY_OK && !bloomery_make_room(into, count))
        status = bloomery_fail(error, BLOOMERY_OUT_OF_MEMORY, 0,
                               "not enough memory for the records of %u layers", count);
    if (status == BLOOMERY_OK)
        status = copy_layers(into, from, &joining, copies, error);
    if (status != BLOOMERY_OK)
        return status;
    unite_layers(into, from, &joining);
    if (joining.apart > 0)
        insert_copies(into, copies, joining.apart);
    bloomery_chain_open(into);
    return BLOOMERY_OK;
}
