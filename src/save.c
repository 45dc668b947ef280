/* SPDX-License-Identifier: Apache-2.0 */
/* From a filter to bytes, and checking that they are still the ones that were written. */
#include "save.h"
#include "options.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/map.h"
#include "base/memory.h"
#include "format/format.h"

#include <assert.h>
#include <string.h>

uint64_t bloomery_file_bytes(const bloomery_filter *filter)
{
    const uint64_t payload_bytes = bloomery_payload_bytes(filter);
    return bloomery_format_payload_offset(filter) + payload_bytes +
           bloomery_checksums_bytes(payload_bytes);
}

/* A sink that takes bytes or reports why not. */
struct writer {
    bloomery_status (*write)(struct writer *writer, const void *data, size_t bytes);
    bloomery_sink sink;
    void *context;
    struct bloomery_replacement *replacement;
    bloomery_error *error;
};

static bloomery_status write_to_sink(struct writer *writer, const void *data, size_t bytes)
{
    if (writer->sink(writer->context, data, bytes) != 0)
        return bloomery_fail(writer->error, BLOOMERY_IO_FAILED, 0, "the receiver stopped");
    return BLOOMERY_OK;
}

static bloomery_status write_to_file(struct writer *writer, const void *data, size_t bytes)
{
    return bloomery_replacement_write(writer->replacement, data, bytes, writer->error);
}

/* Copies bytes of a layer, from byte `from` on. Those that are not in memory are zeros. */
static void copy_layer(const bloomery_filter *filter, const struct bloomery_layer *layer,
                       uint64_t from, uint8_t *to, size_t bytes)
{
    const uint64_t held = bloomery_held_bytes(filter, layer);
    const uint64_t left = from < held ? held - from : 0;
    const size_t there = left < bytes ? (size_t)left : bytes;
    memcpy(to, layer->payload + from, there);
    memset(to + there, 0, bytes - there);
}

/* If a span lies in one layer it is passed on as it is. If it passes the end of one, or of what is
 * in memory, it is put together. */
const uint8_t *bloomery_filter_spans(void *context, uint64_t at, size_t bytes, uint8_t *room)
{
    const bloomery_filter *filter = context;
    const struct bloomery_layer *layer = filter->layers;
    assert(bytes <= BLOOMERY_SPAN);
    while (at >= layer->offset + layer->bytes)
        layer++;
    assert(layer < filter->layers + filter->shape.layer_count);
    if (at + bytes <= layer->offset + bloomery_held_bytes(filter, layer))
        return layer->payload + (at - layer->offset);
    for (size_t done = 0; done < bytes; layer++) {
        assert(layer < filter->layers + filter->shape.layer_count);
        const uint64_t from = at + done - layer->offset, left = layer->bytes - from;
        const size_t now = left < bytes - done ? (size_t)left : bytes - done;
        copy_layer(filter, layer, from, room + done, now);
        done += now;
    }
    return room;
}

/* What is written: the head of a filter, and a payload. */
struct source {
    const bloomery_filter *filter;
    bloomery_spans *spans;
    void *context;
};

/* Each span is sent right after its checksum is taken, while it is still in the cache. `memory` has
 * room for the checksums and, behind them, for a span. */
static bloomery_status write_payload(const struct source *source, struct writer *writer,
                                     uint64_t seed, uint8_t *memory)
{
    const uint64_t payload_bytes = bloomery_payload_bytes(source->filter);
    uint8_t *room = memory + bloomery_checksums_bytes(payload_bytes);
    uint8_t *next = memory;
    _Static_assert((int)BLOOMERY_SPAN == (int)BLOOMERY_CHECKSUM_SPAN, "a span has a checksum");
    for (uint64_t at = 0; at < payload_bytes; at += BLOOMERY_SPAN) {
        uint64_t left = payload_bytes - at;
        size_t bytes = left < BLOOMERY_SPAN ? (size_t)left : BLOOMERY_SPAN;
        const uint8_t *span = source->spans(source->context, at, bytes, room);
        if (span == NULL)
            return bloomery_fail(writer->error, BLOOMERY_IO_FAILED, at,
                                 "reading a temporary file failed");
        bloomery_store_u64(next, bloomery_checksum(span, bytes, seed));
        next += 8;
        bloomery_status status = writer->write(writer, span, bytes);
        if (status != BLOOMERY_OK)
            return status;
    }
    bloomery_store_u64(next, bloomery_checksum(memory, (size_t)(next - memory), seed));
    assert(next + 8 == room);
    return writer->write(writer, memory, (size_t)(room - memory));
}

/* Whether it can be written at all. What was not read yet may be damaged, and would get good
 * checksums. */
static bloomery_status check_unread(const struct source *source, bloomery_error *error)
{
    const bloomery_filter *filter = source->filter;
    bloomery_status status = bloomery_format_check(filter, error);
    if (status == BLOOMERY_OK)
        status = bloomery_failed_adds_take(filter, error);
    if (status != BLOOMERY_OK)
        return status;
    if (source->spans != bloomery_filter_spans || bloomery_rest_in(filter)->checksums == NULL)
        return BLOOMERY_OK;
    return bloomery_verify(filter, error);
}

static bloomery_status write_all(const struct source *source, struct writer *writer)
{
    uint8_t prefix[BLOOMERY_PREFIX_MAX];
    uint64_t seed;
    const bloomery_filter *filter = source->filter;
    /* A payload that lies in one piece needs no room to put spans together. */
    const bool whole = source->spans == bloomery_filter_spans && filter->shape.layer_count == 1 &&
                       bloomery_held_bytes(filter, filter->layers) == filter->layers->bytes;
    const size_t bytes = (size_t)bloomery_checksums_bytes(bloomery_payload_bytes(filter)) +
                         (whole ? 0 : BLOOMERY_SPAN);
    uint8_t *memory = bloomery_allocate(&filter->allocator, bytes, 8);
    if (memory == NULL)
        return bloomery_fail(writer->error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "not enough memory for %llu bytes of checksums",
                             (unsigned long long)bytes);
    size_t prefix_bytes = bloomery_format_prefix(filter, prefix, &seed);
    assert(prefix_bytes == bloomery_format_payload_offset(filter));
    bloomery_status status = writer->write(writer, prefix, prefix_bytes);
    if (status == BLOOMERY_OK)
        status = write_payload(source, writer, seed, memory);
    bloomery_release(&filter->allocator, memory, bytes, 8);
    bloomery_wipe(prefix, sizeof prefix); /* it may hold the secret */
    return status;
}

/* Sources take no const context, though ours only read. */
static struct source own_spans(const bloomery_filter *filter)
{
    return (struct source){filter, bloomery_filter_spans, (void *)(uintptr_t)filter};
}

bloomery_status bloomery_write(const bloomery_filter *filter, bloomery_sink sink, void *context,
                               bloomery_error *error)
{
    const struct source source = own_spans(filter);
    struct writer writer = {
        .write = write_to_sink, .sink = sink, .context = context, .error = error};
    bloomery_status status = check_unread(&source, error);
    return status == BLOOMERY_OK ? write_all(&source, &writer) : status;
}

static bloomery_status save(const struct source *source, const char *path, bloomery_error *error)
{
    struct bloomery_replacement replacement;
    bloomery_status status = check_unread(source, error);
    if (status == BLOOMERY_OK)
        status = bloomery_replacement_begin(&replacement, path,
                                            source->filter->secret_in_file ? 0600 : 0666, error);
    if (status != BLOOMERY_OK)
        return status;
    struct writer writer = {.write = write_to_file, .replacement = &replacement, .error = error};
    status = write_all(source, &writer);
    if (status == BLOOMERY_OK)
        status = bloomery_replacement_commit(&replacement, error);
    if (status != BLOOMERY_OK)
        bloomery_replacement_abandon(&replacement);
    return status;
}

bloomery_status bloomery_save(const bloomery_filter *filter, const char *path,
                              bloomery_error *error)
{
    const struct source source = own_spans(filter);
    return save(&source, path, error);
}

bloomery_status bloomery_save_spans(const bloomery_filter *filter, bloomery_spans *spans,
                                    void *context, const char *path, bloomery_error *error)
{
    const struct source source = {filter, spans, context};
    return save(&source, path, error);
}

bloomery_status bloomery_verify_map(const bloomery_filter *filter, bloomery_error *error)
{
    enum { SPANS = 16 };
    const uint64_t each = (uint64_t)SPANS * BLOOMERY_CHECKSUM_SPAN;
    const uint64_t bytes = bloomery_rest_in(filter)->payload_bytes;
    assert(bloomery_rest_in(filter)->checksums != NULL);
    for (uint64_t i = 0; i == 0 || i * each < bytes; i++) {
        const bloomery_status status = bloomery_checksums_verify_spans(
            bloomery_rest_in(filter)->payload, bytes, bloomery_rest_in(filter)->checksums,
            bloomery_rest_in(filter)->checksum_seed, bloomery_rest_in(filter)->payload_offset,
            i * SPANS, (i + 1) * SPANS, error);
        if (status != BLOOMERY_OK)
            return status;
        bloomery_map_forget(bloomery_rest_in(filter)->payload + i * each,
                            bloomery_rest_in(filter)->payload +
                                ((i + 1) * each < bytes ? (i + 1) * each : bytes));
    }
    return bloomery_spare_bits_check(filter, bloomery_rest_in(filter)->payload_offset, error);
}

bloomery_status bloomery_verify(const bloomery_filter *filter, bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    if (bloomery_rest_in(filter)->checksums != NULL) /* a filter of its own memory has none yet */
        status = bloomery_checksums_verify(
            bloomery_rest_in(filter)->payload, bloomery_rest_in(filter)->payload_bytes,
            bloomery_rest_in(filter)->checksums, bloomery_rest_in(filter)->checksum_seed,
            bloomery_rest_in(filter)->payload_offset, error);
    if (status == BLOOMERY_OK)
        status = bloomery_spare_bits_check(filter, bloomery_rest_in(filter)->payload_offset, error);
    return status;
}
