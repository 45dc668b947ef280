/* SPDX-License-Identifier: Apache-2.0 */
/* See forge.h. */
#define XXH_INLINE_ALL
#include "forge.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

uint64_t forge_get(const struct test_bytes *file, size_t at, unsigned bytes)
{
    uint64_t value = 0;
    assert_true(at + bytes <= file->bytes);
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)file->data[at + i] << (8 * i);
    return value;
}

void forge_put(struct test_bytes *file, size_t at, uint64_t value, unsigned bytes)
{
    assert_true(at + bytes <= file->bytes);
    for (unsigned i = 0; i < bytes; i++)
        file->data[at + i] = (uint8_t)(value >> (8 * i));
}

size_t forge_payload(const struct test_bytes *file)
{
    return (size_t)forge_get(file, FORGE_PAYLOAD_OFFSET, 8);
}

size_t forge_trailer(const struct test_bytes *file)
{
    return forge_payload(file) + (size_t)forge_get(file, FORGE_PAYLOAD_BYTES, 8);
}

bool forge_seal_header(struct test_bytes *file)
{
    if (file->bytes < FORGE_RECORDS)
        return false;
    uint64_t offset = forge_get(file, FORGE_PAYLOAD_OFFSET, 8);
    if (offset < FORGE_RECORDS || offset > file->bytes || offset > FORGE_PREFIX_MAX)
        return false;
    forge_put(file, FORGE_CHECKSUM, 0, 8);
    forge_put(file, FORGE_CHECKSUM, XXH3_64bits_withSeed(file->data, (size_t)offset, 0), 8);
    return true;
}

bool forge_seal(struct test_bytes *file)
{
    if (!forge_seal_header(file))
        return false;
    uint64_t seed = forge_get(file, FORGE_CHECKSUM, 8);
    uint64_t payload = forge_get(file, FORGE_PAYLOAD_OFFSET, 8);
    uint64_t bytes = forge_get(file, FORGE_PAYLOAD_BYTES, 8);
    if (bytes > file->bytes - payload)
        return false;
    uint64_t spans = (bytes + FORGE_SPAN - 1) / FORGE_SPAN;
    size_t trailer = (size_t)(payload + bytes);
    if ((spans + 1) * 8 > file->bytes - trailer)
        return false;
    for (uint64_t i = 0; i < spans; i++) {
        uint64_t left = bytes - i * FORGE_SPAN;
        const uint8_t *span = file->data + payload + i * FORGE_SPAN;
        size_t length = (size_t)(left < FORGE_SPAN ? left : FORGE_SPAN);
        forge_put(file, trailer + (size_t)i * 8, XXH3_64bits_withSeed(span, length, seed), 8);
    }
    uint64_t last = XXH3_64bits_withSeed(file->data + trailer, (size_t)spans * 8, seed);
    forge_put(file, trailer + (size_t)spans * 8, last, 8);
    return true;
}

void forge_add_record(struct test_bytes *file, unsigned type, unsigned flags, const void *body,
                      size_t bytes, uint32_t claimed)
{
    size_t records = (size_t)forge_get(file, FORGE_RECORD_BYTES, 4);
    size_t payload = forge_payload(file);
    size_t at = FORGE_RECORDS + records;
    size_t end = at + 8 + (bytes + 7) / 8 * 8;
    size_t moved = (end + 63) / 64 * 64;
    struct test_bytes longer = {.bytes = file->bytes - payload + moved};
    uint8_t *room = calloc(1, longer.bytes);
    assert_non_null(room);
    longer.data = room;
    memcpy(longer.data, file->data, at);
    memcpy(longer.data + moved, file->data + payload, file->bytes - payload);
    forge_put(&longer, at, type, 2);
    forge_put(&longer, at + 2, flags, 2);
    forge_put(&longer, at + 4, claimed, 4);
    if (bytes > 0)
        memcpy(longer.data + at + 8, body, bytes);
    forge_put(&longer, FORGE_RECORD_BYTES, end - FORGE_RECORDS, 4);
    forge_put(&longer, FORGE_PAYLOAD_OFFSET, moved, 8);
    test_bytes_free(file);
    *file = test_copy_bytes(longer.data, longer.bytes);
    free(room);
    assert_true(forge_seal(file));
}
