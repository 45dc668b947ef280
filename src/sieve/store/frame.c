/* SPDX-License-Identifier: Apache-2.0 */
/* Frames: what store.h says they are, written with one call and read part by part. */
#include "base/bytes.h"
#include "hash/hashes.h"
#include "sieve/store/store.h"
#include "sieve/store/store_write.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

/* Frames are told apart within their file by where they begin. */
static uint64_t seed_at(const struct bloomery_store_file *file, uint64_t offset)
{
    return file->seed + offset;
}

static void *unconst(const void *data)
{
    void *same;
    memcpy(&same, &data, sizeof data);
    return same;
}

void bloomery_frame_seal(struct bloomery_frame *frame, uint64_t seed, const void *fixed,
                         const void *body, uint8_t header[BLOOMERY_FRAME_HEADER])
{
    assert(fixed != NULL || frame->fixed_bytes == 0);
    frame->fixed_checksum = bloomery_checksum(fixed, frame->fixed_bytes, seed);
    frame->body_checksum = bloomery_checksum(body, frame->body_bytes, seed);
    bloomery_store_u32(header, frame->entries);
    bloomery_store_u32(header + 4, frame->fixed_bytes);
    bloomery_store_u32(header + 8, frame->body_bytes);
    bloomery_store_u32(header + 12, 0);
    bloomery_store_u64(header + 16, frame->first);
    bloomery_store_u64(header + 24, frame->fixed_checksum);
    bloomery_store_u64(header + 32, frame->body_checksum);
    bloomery_store_u64(header + 40, bloomery_checksum(header, 40, seed));
}

/* Whether a header is a sound one of this place, and then what it says. */
static bool take_header(const struct bloomery_store_file *file, uint64_t offset,
                        const uint8_t header[BLOOMERY_FRAME_HEADER], struct bloomery_frame *frame)
{
    if (bloomery_load_u32(header + 12) != 0 ||
        bloomery_load_u64(header + 40) != bloomery_checksum(header, 40, seed_at(file, offset)))
        return false;
    frame->entries = bloomery_load_u32(header);
    frame->fixed_bytes = bloomery_load_u32(header + 4);
    frame->body_bytes = bloomery_load_u32(header + 8);
    frame->first = bloomery_load_u64(header + 16);
    frame->fixed_checksum = bloomery_load_u64(header + 24);
    frame->body_checksum = bloomery_load_u64(header + 32);
    return true;
}

bloomery_status bloomery_frame_write(struct bloomery_store *store, struct bloomery_store_file *file,
                                     uint64_t offset, struct bloomery_frame *frame,
                                     const void *fixed, const void *body, bloomery_error *error)
{
    uint8_t header[BLOOMERY_FRAME_HEADER];
    assert(offset >= BLOOMERY_FILE_HEADER);
    bloomery_frame_seal(frame, seed_at(file, offset), fixed, body, header);
    /* What is written can be read. */
    assert(take_header(file, offset, header, &(struct bloomery_frame){.entries = 0}));
    struct iovec pieces[3] = {
        {.iov_base = header, .iov_len = sizeof header},
        {.iov_base = unconst(fixed), .iov_len = frame->fixed_bytes},
        {.iov_base = unconst(body), .iov_len = frame->body_bytes},
    };
    return bloomery_store_write_pieces(store, file, offset, pieces, 3, error);
}

bloomery_status bloomery_frame_header(struct bloomery_store *store,
                                      const struct bloomery_store_file *file, uint64_t offset,
                                      uint64_t end, struct bloomery_frame *frame,
                                      bloomery_error *error)
{
    uint8_t header[BLOOMERY_FRAME_HEADER];
    if (offset > end || end - offset < BLOOMERY_FRAME_HEADER)
        return bloomery_store_damaged(store, file, offset, error,
                                      "no whole frame begins there before byte %" PRIu64, end);
    const bloomery_status status =
        bloomery_store_read(store, file, offset, header, sizeof header, error);
    if (status != BLOOMERY_OK)
        return status;
    if (!take_header(file, offset, header, frame))
        return bloomery_store_damaged(store, file, offset, error, "the header of a frame");
    if (bloomery_frame_bytes(frame) > end - offset)
        return bloomery_store_damaged(store, file, offset, error,
                                      "a frame of %" PRIu32 " entries passes byte %" PRIu64
                                      ", where the file ends",
                                      frame->entries, end);
    return BLOOMERY_OK;
}

bloomery_status bloomery_frame_find(struct bloomery_store *store,
                                    const struct bloomery_store_file *file, uint64_t from,
                                    uint64_t end, uint64_t *offset, struct bloomery_frame *frame,
                                    bloomery_error *error)
{
    uint8_t window[16384];
    while (from < end && end - from >= BLOOMERY_FRAME_HEADER) {
        const size_t bytes = end - from < sizeof window ? (size_t)(end - from) : sizeof window;
        const bloomery_status status = bloomery_store_read(store, file, from, window, bytes, error);
        if (status != BLOOMERY_OK)
            return status;
        const size_t places = bytes - BLOOMERY_FRAME_HEADER + 1;
        for (size_t i = 0; i < places; i++)
            if (take_header(file, from + i, window + i, frame) && frame->entries > 0 &&
                bloomery_frame_bytes(frame) <= end - (from + i)) {
                *offset = from + i;
                return BLOOMERY_OK;
            }
        from += places;
    }
    *offset = end;
    return BLOOMERY_OK;
}

static bloomery_status read_part(struct bloomery_store *store,
                                 const struct bloomery_store_file *file, uint64_t offset,
                                 const struct bloomery_frame *frame, bool body, void *part,
                                 bloomery_error *error)
{
    const uint32_t bytes = body ? frame->body_bytes : frame->fixed_bytes;
    const uint64_t before = BLOOMERY_FRAME_HEADER + (body ? (uint64_t)frame->fixed_bytes : 0);
    const bloomery_status status =
        bloomery_store_read(store, file, offset + before, part, bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    if (bloomery_checksum(part, bytes, seed_at(file, offset)) !=
        (body ? frame->body_checksum : frame->fixed_checksum))
        return bloomery_store_damaged(store, file, offset, error,
                                      "the %s of a frame of %" PRIu32 " entries, number %" PRIu64
                                      " the first",
                                      body ? "keys" : "numbers", frame->entries, frame->first);
    return BLOOMERY_OK;
}

bloomery_status bloomery_frame_fixed(struct bloomery_store *store,
                                     const struct bloomery_store_file *file, uint64_t offset,
                                     const struct bloomery_frame *frame, void *fixed,
                                     bloomery_error *error)
{
    return read_part(store, file, offset, frame, false, fixed, error);
}

bloomery_status bloomery_frame_body(struct bloomery_store *store,
                                    const struct bloomery_store_file *file, uint64_t offset,
                                    const struct bloomery_frame *frame, void *body,
                                    bloomery_error *error)
{
    return read_part(store, file, offset, frame, true, body, error);
}
