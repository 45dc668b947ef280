/* SPDX-License-Identifier: Apache-2.0 */
/* From a filter to bytes, and checking that they are still the ones that were written. */
#include "options.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "format/format.h"

#include <assert.h>
#include <string.h>

uint64_t bloomery_bytes(const bloomery_filter *filter)
{
    return bloomery_format_payload_offset(filter) + filter->payload_bytes +
           bloomery_checksums_bytes(filter->payload_bytes);
}

/* A sink that takes a chunk or says why not. */
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

/* Each span is sent right after its checksum is taken, while it is still in the cache. */
static bloomery_status write_payload(const bloomery_filter *filter, struct writer *writer,
                                     uint64_t seed, uint8_t *checksums)
{
    uint8_t *next = checksums;
    for (uint64_t at = 0; at < filter->payload_bytes; at += BLOOMERY_CHECKSUM_SPAN) {
        uint64_t left = filter->payload_bytes - at;
        size_t bytes = left < BLOOMERY_CHECKSUM_SPAN ? (size_t)left : BLOOMERY_CHECKSUM_SPAN;
        bloomery_store_u64(next, bloomery_checksum(filter->payload + at, bytes, seed));
        next += 8;
        bloomery_status status = writer->write(writer, filter->payload + at, bytes);
        if (status != BLOOMERY_OK)
            return status;
    }
    bloomery_store_u64(next, bloomery_checksum(checksums, (size_t)(next - checksums), seed));
    assert(next + 8 == checksums + bloomery_checksums_bytes(filter->payload_bytes));
    return BLOOMERY_OK;
}

static bloomery_status write_all(const bloomery_filter *filter, struct writer *writer)
{
    uint8_t prefix[BLOOMERY_PREFIX_MAX];
    uint64_t seed;
    const size_t bytes = (size_t)bloomery_checksums_bytes(filter->payload_bytes);
    uint8_t *checksums = bloomery_allocate(&filter->allocator, bytes, 8);
    if (checksums == NULL)
        return bloomery_fail(writer->error, BLOOMERY_OUT_OF_MEMORY, 0,
                             "not enough memory for %llu bytes of checksums",
                             (unsigned long long)bytes);
    size_t prefix_bytes = bloomery_format_prefix(filter, prefix, &seed);
    bloomery_status status = writer->write(writer, prefix, prefix_bytes);
    if (status == BLOOMERY_OK)
        status = write_payload(filter, writer, seed, checksums);
    if (status == BLOOMERY_OK)
        status = writer->write(writer, checksums, bytes);
    bloomery_release(&filter->allocator, checksums, bytes, 8);
    explicit_bzero(prefix, sizeof prefix); /* it may hold the secret key */
    return status;
}

bloomery_status bloomery_write(const bloomery_filter *filter, bloomery_sink sink, void *context,
                               bloomery_error *error)
{
    struct writer writer = {
        .write = write_to_sink, .sink = sink, .context = context, .error = error};
    return write_all(filter, &writer);
}

bloomery_status bloomery_save(const bloomery_filter *filter, const char *path,
                              bloomery_error *error)
{
    struct bloomery_replacement replacement;
    bloomery_status status =
        bloomery_replacement_begin(&replacement, path, filter->key_in_file ? 0600 : 0666, error);
    if (status != BLOOMERY_OK)
        return status;
    struct writer writer = {.write = write_to_file, .replacement = &replacement, .error = error};
    status = write_all(filter, &writer);
    if (status == BLOOMERY_OK)
        status = bloomery_replacement_commit(&replacement, error);
    if (status != BLOOMERY_OK)
        bloomery_replacement_abandon(&replacement);
    return status;
}

bloomery_status bloomery_verify(const bloomery_filter *filter, bloomery_error *error)
{
    bloomery_status status = BLOOMERY_OK;
    if (filter->checksums != NULL) /* a filter of its own memory has none yet */
        status =
            bloomery_checksums_verify(filter->payload, filter->payload_bytes, filter->checksums,
                                      filter->checksum_seed, filter->payload_offset, error);
    if (status == BLOOMERY_OK)
        status = bloomery_spare_bits_check(&filter->shape, filter->payload, filter->payload_offset,
                                           error);
    return status;
}
