/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Union, intersection and folding: filters become filters without a key being seen.
 *
 *     bloomery_merge         from, folded to the size of into ──┐
 *                            into ──────────────────────────────┴ ∪ ──> into
 *     bloomery_merge_save    all, folded to the least size ──── ∪ ──> 64 KiB ──> a file
 *
 * Payloads that still have the checksums of their file are compared with them first. Bits that came
 * out of a damaged file would otherwise leave here in a filter whose checksums are right.
 */
#include "merge.h"
#include "chain/join.h"
#include "options.h"
#include "save.h"
#include "ways.h"

#include "base/bytes.h"
#include "base/error.h"
#include "plan/hash_rate.h"

#include <assert.h>
#include <string.h>

struct bloomery_cells bloomery_cells_at(const bloomery_filter *filter, uint64_t bits)
{
    uint32_t folds = 0;
    bool fits = bloomery_folds_between(filter->layers->bits, bits, &folds);
    assert(fits && filter->shape.layer_count == 1);
    (void)fits;
    return bloomery_cells_of(&filter->shape, filter->layers, folds);
}

static bloomery_status no_chain(const bloomery_filter *filter, const char *what,
                                bloomery_error *error)
{
    if (filter->foreign && filter->kind->grows)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0, "chains of other systems can't be %s",
                             what);
    if (filter->kind->hands_on)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "static filters can't be merged, intersected or folded: build one "
                             "from all keys");
    if (!filter->kind->grows)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0, "scalable filters can't be %s", what);
}

static uint64_t add_up(uint64_t one, uint64_t other)
{
    uint64_t sum;
    return __builtin_add_overflow(one, other, &sum) ? UINT64_MAX : sum;
}

static uint64_t adds_of(uint64_t one, uint64_t other, bool intersect)
{
    if (!intersect)
        return add_up(one, other);
    return one < other ? one : other;
}

/* ---- In memory ------------------------------------------------------------------------------ */

/* A stretch of `from` put together with the same stretch at `into`, which has the folded size. */
static void join(uint8_t *into, const struct bloomery_cells *from, uint64_t at, size_t bytes,
                 bool intersect)
{
    uint8_t room[BLOOMERY_STRETCH];
    for (size_t done = 0; done < bytes; done += BLOOMERY_STRETCH) {
        const size_t now = bytes - done < BLOOMERY_STRETCH ? bytes - done : BLOOMERY_STRETCH;
        const uint8_t *cells = bloomery_cells_read(from, at + done, now, room);
        if (intersect)
            bloomery_cells_intersect(from->cell_bits, into + done, cells, now);
        else
            bloomery_cells_unite(from->cell_bits, into + done, cells, now);
    }
}

/* What both directions need before anything changes. */
static bloomery_status check_join(const bloomery_filter *into, const bloomery_filter *from,
                                  bloomery_error *error)
{
    if (into->storage != BLOOMERY_OWNED)
        return bloomery_fail(error, BLOOMERY_READ_ONLY, 0,
                             "the filter is a map or a view: bloomery_open and bloomery_load make "
                             "filters that others can be merged into");
    bloomery_status status = bloomery_compatible(into, from, error);
    if (status == BLOOMERY_OK && !into->kind->grows && into->layers->bits > from->layers->bits)
        status = bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                               "the filter to merge into is the larger one: %llu cells, and %llu; "
                               "fold it first",
                               (unsigned long long)into->layers->bits,
                               (unsigned long long)from->layers->bits);
    if (status == BLOOMERY_OK)
        status = bloomery_verify(from, error);
    return status == BLOOMERY_OK ? bloomery_failed_adds_take(from, error) : status;
}

/* A filter that was opened without its key learns it from one that has it. */
static void learn_key(bloomery_filter *into, const bloomery_filter *from)
{
    if (into->secret_known || !from->secret_known)
        return;
    if (!into->foreign)
        *bloomery_secret_of(into) = *bloomery_secret_of(from);
    into->secret_known = true;
}

static bloomery_status combine(bloomery_filter *into, const bloomery_filter *from, bool intersect,
                               bloomery_error *error)
{
    if (into->kind->hands_on)
        return no_chain(into, "merged", error);
    bloomery_status status = check_join(into, from, error);
    if (status != BLOOMERY_OK)
        return status;
    if (!into->kind->merges)
        return no_chain(into, "merged", error);
    if (into->kind->grows) {
        status = from == into ? BLOOMERY_OK : bloomery_chain_join(into, from, error);
    } else {
        const struct bloomery_cells cells = bloomery_cells_at(from, into->layers->bits);
        join(into->layers->payload, &cells, 0, (size_t)into->layers->bytes, intersect);
        into->layers->adds = adds_of(into->layers->adds, from->layers->adds, intersect);
    }
    if (status == BLOOMERY_OK)
        learn_key(into, from);
    return status;
}

bloomery_status bloomery_merge(bloomery_filter *into, const bloomery_filter *from,
                               bloomery_error *error)
{
    return combine(into, from, false, error);
}

bloomery_status bloomery_intersect(bloomery_filter *into, const bloomery_filter *from,
                                   bloomery_error *error)
{
    bloomery_status status = no_chain(into, "intersected", error);
    return status == BLOOMERY_OK ? combine(into, from, true, error) : status;
}

/* ---- Folding -------------------------------------------------------------------------------- */

/* The rate of a layer with its planned keys, as a plan has it. */
static double rate_of(const bloomery_filter *filter, const struct bloomery_layer *layer)
{
    const double rate = filter->kind->expected_rate(layer, layer->keys);
    return filter->foreign
               ? rate
               : bloomery_rate_with_hash((bloomery_hash_id)filter->shape.hash, layer->keys, rate);
}

/* The shape of a filter of `bits` cells, which `filter` folds to; its layer is `layer`. */
static struct bloomery_shape shape_at(const bloomery_filter *filter, uint64_t bits,
                                      struct bloomery_layer *layer, uint64_t *payload_bytes)
{
    struct bloomery_shape shape = filter->shape;
    *layer = *filter->layers;
    layer->bits = bits;
    layer->offset = 0;
    shape.layers = layer;
    bloomery_status status = bloomery_shape_lay_out(&shape, payload_bytes, NULL);
    assert(status == BLOOMERY_OK && *payload_bytes <= filter->layers->bytes);
    (void)status;
    if (bits != filter->layers->bits) /* 0: unknown, where the keys are */
        layer->rate = layer->keys > 0 ? rate_of(filter, layer) : 0;
    return shape;
}

static bloomery_status check_folds(const bloomery_filter *filter, uint32_t times,
                                   bloomery_error *error)
{
    const struct bloomery_layer *layer = filter->layers;
    const bool flat = bloomery_is_flat(&filter->shape);
    const uint64_t size = flat ? layer->bits : layer->blocks;
    const uint32_t most = (uint32_t)__builtin_ctzll(size);
    const char *unit = flat ? "bit" : "block";
    if (times < 1 || times > 30)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a filter is folded 1 to 30 times, not %u", times);
    if (times <= most)
        return BLOOMERY_OK;
    if (most == 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a filter of %llu %s%s can't be halved: the number is odd",
                             (unsigned long long)size, unit, size == 1 ? "" : "s");
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                         "a filter of %llu %ss can be halved %u time%s, not %u",
                         (unsigned long long)size, unit, most, most == 1 ? "" : "s", times);
}

bloomery_status bloomery_fold(const bloomery_filter *filter, uint32_t times,
                              const bloomery_open_options *given, bloomery_filter **folded,
                              bloomery_error *error)
{
    bloomery_open_options options;
    struct bloomery_layer layer;
    uint64_t payload_bytes;
    *folded = NULL;
    bloomery_status status = bloomery_open_options_read(given, &options, error);
    if (status == BLOOMERY_OK)
        status = no_chain(filter, "folded", error);
    if (status == BLOOMERY_OK && filter->foreign)
        status = bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                               "filters of other systems can't be halved: their positions are no "
                               "longer the same then");
    if (status == BLOOMERY_OK)
        status = check_folds(filter, times, error);
    if (status == BLOOMERY_OK)
        status = bloomery_verify(filter, error);
    if (status != BLOOMERY_OK)
        return status;
    const struct bloomery_shape shape =
        shape_at(filter, filter->layers->bits >> times, &layer, &payload_bytes);
    struct bloomery_traits traits = bloomery_traits_of(filter);
    traits.allocator = options.allocator;
    traits.concurrent = options.concurrent_adds;
    status = bloomery_filter_make(&shape, &traits, NULL, payload_bytes, folded, error);
    bloomery_wipe(&traits.secret, sizeof traits.secret);
    if (status != BLOOMERY_OK)
        return status;
    const struct bloomery_cells cells = bloomery_cells_of(&filter->shape, filter->layers, times);
    join((*folded)->layers->payload, &cells, 0, (size_t)payload_bytes, false);
    return BLOOMERY_OK;
}

/* ---- To a file ------------------------------------------------------------------------------ */

struct stream {
    const bloomery_filter *const *filters;
    size_t count;
    uint64_t bits; /* of the result */
    bool intersect;
};

/* bloomery_spans: all filters' stretches, put together. */
static const uint8_t *stream_span(void *context, uint64_t at, size_t bytes, uint8_t *room)
{
    const struct stream *stream = context;
    struct bloomery_cells cells = bloomery_cells_at(stream->filters[0], stream->bits);
    const uint8_t *first = bloomery_cells_read(&cells, at, bytes, room);
    if (stream->count == 1)
        return first;
    if (first != room)
        memcpy(room, first, bytes);
    for (size_t i = 1; i < stream->count; i++) {
        cells = bloomery_cells_at(stream->filters[i], stream->bits);
        join(room, &cells, at, bytes, stream->intersect);
    }
    return room;
}

/* Checks all filters, and finds the smallest size and the adds of the result. */
static bloomery_status check_all(struct stream *stream, uint64_t *adds, bloomery_error *error)
{
    bloomery_error why = {.status = BLOOMERY_OK};
    bloomery_status status = BLOOMERY_OK;
    if (stream->count == 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "there is no filter to write");
    const bloomery_filter *first = stream->filters[0];
    status = no_chain(first, "merged on their way to a file: merge them in memory", error);
    stream->bits = first->layers->bits;
    *adds = first->layers->adds;
    for (size_t i = 1; i < stream->count && status == BLOOMERY_OK; i++) {
        const struct bloomery_layer *layer = stream->filters[i]->layers;
        if (bloomery_compatible(first, stream->filters[i], &why) != BLOOMERY_OK)
            return bloomery_fail(error, why.status, 0, "filter %zu does not fit the first: %s",
                                 i + 1, why.text);
        if (layer->bits < stream->bits)
            stream->bits = layer->bits;
        *adds = adds_of(*adds, layer->adds, stream->intersect);
    }
    for (size_t i = 0; i < stream->count && status == BLOOMERY_OK; i++)
        if (bloomery_verify(stream->filters[i], &why) != BLOOMERY_OK ||
            bloomery_failed_adds_take(stream->filters[i], &why) != BLOOMERY_OK)
            return bloomery_fail(error, why.status, why.offset, "filter %zu: %s", i + 1, why.text);
    return status;
}

static bloomery_status save_all(const bloomery_filter *const *filters, size_t count, bool intersect,
                                const char *path, bloomery_error *error)
{
    struct stream stream = {.filters = filters, .count = count, .intersect = intersect};
    struct bloomery_layer layer;
    bloomery_filter *head;
    uint64_t adds = 0, payload_bytes;
    bloomery_status status = check_all(&stream, &adds, error);
    if (status != BLOOMERY_OK)
        return status;
    const struct bloomery_shape shape = shape_at(filters[0], stream.bits, &layer, &payload_bytes);
    layer.adds = adds;
    struct bloomery_traits traits = bloomery_traits_of(filters[0]);
    /* What the file's head is written from: the payload that it views is not looked at. */
    status = bloomery_filter_make(&shape, &traits, filters[0]->layers->payload, payload_bytes,
                                  &head, error);
    bloomery_wipe(&traits.secret, sizeof traits.secret);
    if (status != BLOOMERY_OK)
        return status;
    status = bloomery_save_spans(head, stream_span, &stream, path, error);
    bloomery_free(head);
    return status;
}

bloomery_status bloomery_merge_save(const bloomery_filter *const *filters, size_t count,
                                    const char *path, bloomery_error *error)
{
    return save_all(filters, count, false, path, error);
}

bloomery_status bloomery_intersect_save(const bloomery_filter *const *filters, size_t count,
                                        const char *path, bloomery_error *error)
{
    return save_all(filters, count, true, path, error);
}
