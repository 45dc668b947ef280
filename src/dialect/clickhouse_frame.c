/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file skp_idx_NAME.idx: granules, one behind the other, cut into blocks without regard to where
 * they end.
 *
 *     block    byte 0    CityHash128 (1.0.2) of all that follows: low word, high word, each
 *                        little-endian
 *              byte 16   method: 0x02 as it is; 0x82 LZ4, 0x90 ZSTD and others: compressed,
 *                        refused here
 *              byte 17   c, little-endian, 32 bits: the bytes from 16 on
 *              byte 21   u, little-endian, 32 bits: the bytes of payload, c - 9 if they are not
 *                        compressed
 *              byte 25   c - 9 bytes
 *
 * A caller with only the payload gives that, and nothing is kept if it is one filter. The checksum
 * distinguishes the two, which nothing but a block has by accident. If a first block is damaged in
 * its checksum or in one field of its head, the others still show it to be one.
 *
 * What is kept of the surroundings, in `extra`, little-endian:
 *
 *     byte 0    1
 *     byte 1    1: in blocks, 2: the others were not kept
 *     byte 8    the filter's number, 64 bits, and of how many, 64 bits
 *     byte 24   payload before it and after it, 64 bits each
 *     byte 40   the number of blocks, 32 bits, and u of each, 32 bits each
 *     then      those bytes before it and after it
 *
 * Files of ours have room for some thousand bytes of this. An index of many parts does not fit: one
 * of its filters can be queried then, but not written.
 */
#include "dialect/clickhouse_frame.h"

#include "base/bytes.h"
#include "base/error.h"
#include "hash/foreign/city.h"

#include <assert.h>
#include <string.h>

enum {
    CHECKSUM = 16,
    SIZES = 9, /* method and the two sizes, which c counts too */
    BLOCK = CHECKSUM + SIZES,
    METHOD_NONE = 0x02,
    METHOD_LZ4 = 0x82,
    METHOD_ZSTD = 0x90,
};

struct block {
    uint32_t method;
    uint32_t stored;  /* c */
    uint32_t payload; /* u */
};

static struct block read_block(const uint8_t *at)
{
    return (struct block){
        .method = at[CHECKSUM],
        .stored = bloomery_load_u32(at + CHECKSUM + 1),
        .payload = bloomery_load_u32(at + CHECKSUM + 5),
    };
}

static bool has_its_checksum(const uint8_t *at, uint32_t stored)
{
    const struct bloomery_city_piece all = {at + CHECKSUM, stored};
    const bloomery_hash hash = bloomery_city128(&all, 1);
    return hash.lo == bloomery_load_u64(at) && hash.hi == bloomery_load_u64(at + 8);
}

/* ---- Blocks that are read -------------------------------------------------------------------- */

static bool method_is_known(uint32_t method)
{
    return method == METHOD_NONE || method == METHOD_LZ4 || method == METHOD_ZSTD;
}

/* Two of three signs make a block of what has no checksum: a method, and sizes that fit the data or
 * each other. */
static bool begins_with_block(const uint8_t *data, size_t bytes)
{
    if (bytes < BLOCK)
        return false;
    const struct block block = read_block(data);
    const size_t rest = bytes - CHECKSUM;
    if (block.stored >= SIZES && block.stored <= rest && has_its_checksum(data, block.stored))
        return true;
    const bool fits = block.stored == rest || (uint64_t)block.payload + SIZES == rest;
    const bool agree = (uint64_t)block.payload + SIZES == block.stored;
    return method_is_known(block.method) + fits + agree >= 2;
}

static bloomery_status check_block(const uint8_t *data, size_t at, size_t bytes,
                                   bloomery_error *error)
{
    if (bytes - at < BLOCK)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: a block begins with 25 bytes, there are %zu", bytes - at);
    const struct block block = read_block(data + at);
    if (block.method == METHOD_LZ4 || block.method == METHOD_ZSTD)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, at + CHECKSUM,
                             "its blocks are compressed by %s: unpack them first, by "
                             "clickhouse-compressor --decompress",
                             block.method == METHOD_LZ4 ? "LZ4" : "ZSTD");
    if (block.method != METHOD_NONE)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, at + CHECKSUM,
                             "its blocks are packed by method 0x%02x, which is not known",
                             block.method);
    if (block.stored > bytes - at - CHECKSUM)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: the block at byte %zu has %u bytes, there are %zu", at,
                             block.stored, bytes - at - CHECKSUM);
    if (block.payload == 0 || (uint64_t)block.payload + SIZES != block.stored)
        return bloomery_fail(error, BLOOMERY_CORRUPT, at + CHECKSUM,
                             "damaged: the sizes %u and %u of a block do not go together",
                             block.stored, block.payload);
    if (!has_its_checksum(data + at, block.stored))
        return bloomery_fail(error, BLOOMERY_CORRUPT, at,
                             "damaged: the block at byte %zu has another checksum", at);
    return BLOOMERY_OK;
}

bloomery_status bloomery_clickhouse_open(const uint8_t *data, size_t data_bytes,
                                         struct bloomery_clickhouse_payload *payload,
                                         bloomery_error *error)
{
    *payload = (struct bloomery_clickhouse_payload){
        .data = data, .data_bytes = data_bytes, .in_blocks = begins_with_block(data, data_bytes)};
    if (!payload->in_blocks) {
        payload->bytes = data_bytes;
        return BLOOMERY_OK;
    }
    for (size_t at = 0; at < data_bytes;) {
        bloomery_status status = check_block(data, at, data_bytes, error);
        if (status != BLOOMERY_OK)
            return status;
        if (payload->block_count == UINT32_MAX)
            return bloomery_fail(error, BLOOMERY_UNSUPPORTED, at, "more than 2^32 - 1 blocks");
        const struct block block = read_block(data + at);
        payload->block_count++;
        payload->bytes += block.payload;
        at += BLOCK + (size_t)block.payload;
    }
    return BLOOMERY_OK;
}

/* The place of a byte of the payload in the data, and how many follow it there, itself included. */
static const uint8_t *find(struct bloomery_clickhouse_payload *payload, uint64_t at, uint64_t *here)
{
    assert(at < payload->bytes);
    if (!payload->in_blocks) {
        *here = payload->bytes - at;
        return payload->data + at;
    }
    if (at < payload->first)
        payload->block = payload->first = 0;
    struct block block = read_block(payload->data + payload->block);
    while (at - payload->first >= block.payload) {
        payload->first += block.payload;
        payload->block += BLOCK + (size_t)block.payload;
        assert(payload->block < payload->data_bytes);
        block = read_block(payload->data + payload->block);
    }
    *here = block.payload - (at - payload->first);
    return payload->data + payload->block + BLOCK + (at - payload->first);
}

void bloomery_clickhouse_read(struct bloomery_clickhouse_payload *payload, uint64_t at, uint8_t *to,
                              size_t bytes)
{
    assert(at <= payload->bytes && bytes <= payload->bytes - at);
    while (bytes > 0) {
        uint64_t here;
        const uint8_t *from = find(payload, at, &here);
        const size_t now = here < bytes ? (size_t)here : bytes;
        memcpy(to, from, now);
        at += now;
        to += now;
        bytes -= now;
    }
}

/* ---- What is kept ---------------------------------------------------------------------------- */

enum {
    EXTRA_VERSION = 1,
    EXTRA_IN_BLOCKS = 1,
    EXTRA_PART = 2,
    EXTRA_INDEX = 8,
    EXTRA_COUNT = 16,
    EXTRA_BEFORE = 24,
    EXTRA_AFTER = 32,
    EXTRA_BLOCKS = 40,
    EXTRA_HEAD = 44,
};

/* What surrounds a filter. */
struct frame {
    uint64_t index;
    uint64_t count;
    bool in_blocks;
    bool part;
    uint32_t block_count;
    const uint8_t *blocks;
    struct bloomery_city_piece before;
    struct bloomery_city_piece after;
};

static void copy_bits(const struct bloomery_design *design, uint32_t layer, uint8_t *to)
{
    struct bloomery_clickhouse_payload payload;
    assert(layer == 0 && design->extra_bytes >= EXTRA_HEAD);
    (void)layer;
    /* The bits' own part of the data was checked when it was opened. */
    payload = (struct bloomery_clickhouse_payload){
        .data = design->bits[0], .data_bytes = SIZE_MAX, .in_blocks = true, .bytes = UINT64_MAX};
    bloomery_clickhouse_read(&payload, bloomery_load_u64(design->extra + EXTRA_BEFORE), to,
                             (size_t)design->bit_bytes[0]);
}

/* Whether everything around the filter fits into the room that there is. */
static bool fits(const struct bloomery_clickhouse_payload *payload, uint64_t around)
{
    const uint64_t room = BLOOMERY_DESIGN_EXTRA - EXTRA_HEAD;
    return around <= room && payload->block_count <= (room - around) / 4;
}

static void keep(struct bloomery_clickhouse_payload *payload, uint64_t before, uint64_t after,
                 struct bloomery_design *design)
{
    uint8_t *at = design->small + EXTRA_HEAD;
    if (payload->in_blocks)
        for (size_t block = 0; block < payload->data_bytes; at += 4) {
            const uint32_t bytes = read_block(payload->data + block).payload;
            bloomery_store_u32(at, bytes);
            block += BLOCK + (size_t)bytes;
        }
    bloomery_clickhouse_read(payload, 0, at, (size_t)before);
    at += before;
    bloomery_clickhouse_read(payload, payload->bytes - after, at, (size_t)after);
    design->extra_bytes = (size_t)(at + after - design->small);
    assert(design->extra_bytes <= BLOOMERY_DESIGN_EXTRA);
}

void bloomery_clickhouse_take(struct bloomery_clickhouse_payload *payload, uint64_t at,
                              uint64_t bytes, uint64_t index, uint64_t count,
                              struct bloomery_design *design)
{
    uint64_t here;
    assert(at <= payload->bytes && bytes <= payload->bytes - at && index < count);
    const uint64_t after = payload->bytes - at - bytes;
    const bool alone = count == 1 && !payload->in_blocks;
    const bool kept = fits(payload, at + after);
    design->layout = BLOOMERY_LAYOUT_BYTES;
    design->bits[0] = find(payload, at, &here);
    design->bit_bytes[0] = bytes;
    if (here < bytes) {
        design->bits[0] = payload->data;
        design->gather = copy_bits;
    }
    if (alone) /* what is before it is its own head */
        return;
    memset(design->small, 0, EXTRA_HEAD);
    design->small[0] = EXTRA_VERSION;
    design->small[1] =
        (uint8_t)((payload->in_blocks ? EXTRA_IN_BLOCKS : 0) | (kept ? 0 : EXTRA_PART));
    bloomery_store_u64(design->small + EXTRA_INDEX, index);
    bloomery_store_u64(design->small + EXTRA_COUNT, count);
    bloomery_store_u64(design->small + EXTRA_BEFORE, at);
    bloomery_store_u64(design->small + EXTRA_AFTER, after);
    bloomery_store_u32(design->small + EXTRA_BLOCKS, payload->block_count);
    design->extra = design->small;
    design->extra_bytes = EXTRA_HEAD;
    if (kept)
        keep(payload, at, after, design);
}

/* Reads it again, from a filter that may come from a file of ours. */
static bool read_frame(const bloomery_filter *filter, struct frame *frame)
{
    const uint8_t *extra = bloomery_rest_in(filter)->extra;
    if (bloomery_rest_in(filter)->extra_bytes < EXTRA_HEAD || extra[0] != EXTRA_VERSION ||
        extra[1] > (EXTRA_IN_BLOCKS | EXTRA_PART))
        return false;
    *frame = (struct frame){
        .index = bloomery_load_u64(extra + EXTRA_INDEX),
        .count = bloomery_load_u64(extra + EXTRA_COUNT),
        .in_blocks = (extra[1] & EXTRA_IN_BLOCKS) != 0,
        .part = (extra[1] & EXTRA_PART) != 0,
        .block_count = bloomery_load_u32(extra + EXTRA_BLOCKS),
        .blocks = extra + EXTRA_HEAD,
    };
    const uint64_t before = bloomery_load_u64(extra + EXTRA_BEFORE);
    const uint64_t after = bloomery_load_u64(extra + EXTRA_AFTER);
    const uint64_t room = bloomery_rest_in(filter)->extra_bytes - EXTRA_HEAD;
    if (frame->index >= frame->count || (!frame->in_blocks && frame->block_count != 0))
        return false;
    if (frame->part)
        return room == 0;
    if (before > room || after > room || before + after + 4 * (uint64_t)frame->block_count != room)
        return false;
    const uint8_t *around = frame->blocks + 4 * (size_t)frame->block_count;
    frame->before = (struct bloomery_city_piece){around, (size_t)before};
    frame->after = (struct bloomery_city_piece){around + before, (size_t)after};
    uint64_t left = before + filter->layers[0].bits / 8 + after;
    for (uint32_t i = 0; i < frame->block_count; i++) {
        const uint32_t bytes = bloomery_load_u32(frame->blocks + 4 * (size_t)i);
        if (bytes == 0 || bytes > left || bytes > UINT32_MAX - SIZES)
            return false;
        left -= bytes;
    }
    return !frame->in_blocks || left == 0;
}

void bloomery_clickhouse_place(const bloomery_filter *filter, uint64_t *index, uint64_t *count)
{
    struct frame frame;
    const bool known = read_frame(filter, &frame);
    *index = known ? frame.index : 0;
    *count = known ? frame.count : 1;
}

/* ---- Writing --------------------------------------------------------------------------------- */

enum { PIECES = 3 };

static bloomery_status emit_pieces(struct bloomery_emitter *emitter,
                                   const struct bloomery_city_piece *pieces, size_t count)
{
    bloomery_status status = BLOOMERY_OK;
    for (size_t i = 0; i < count && status == BLOOMERY_OK; i++)
        status = bloomery_emit(emitter, pieces[i].data, pieces[i].bytes);
    return status;
}

/* The next `bytes` bytes of the pieces, which become shorter by them. */
static bloomery_status emit_block(struct bloomery_emitter *emitter,
                                  struct bloomery_city_piece *pieces, uint32_t bytes)
{
    uint8_t head[BLOCK];
    struct bloomery_city_piece block[1 + PIECES] = {{head + CHECKSUM, SIZES}};
    size_t left = bytes;
    head[CHECKSUM] = METHOD_NONE;
    bloomery_store_u32(head + CHECKSUM + 1, bytes + SIZES);
    bloomery_store_u32(head + CHECKSUM + 5, bytes);
    for (size_t i = 0; i < PIECES; i++) {
        const size_t now = left < pieces[i].bytes ? left : pieces[i].bytes;
        block[1 + i] = (struct bloomery_city_piece){pieces[i].data, now};
        pieces[i].data += now;
        pieces[i].bytes -= now;
        left -= now;
    }
    assert(left == 0);
    const bloomery_hash checksum = bloomery_city128(block, 1 + PIECES);
    bloomery_store_u64(head, checksum.lo);
    bloomery_store_u64(head + 8, checksum.hi);
    bloomery_status status = bloomery_emit(emitter, head, CHECKSUM);
    return status == BLOOMERY_OK ? emit_pieces(emitter, block, 1 + PIECES) : status;
}

bloomery_status bloomery_clickhouse_write(const bloomery_filter *filter, const uint8_t *head,
                                          size_t head_bytes, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    struct frame frame = {.count = 1, .before = {head, head_bytes}};
    if (bloomery_rest_in(filter)->extra_bytes > 0 && !read_frame(filter, &frame))
        return bloomery_fail(emitter->error, BLOOMERY_CORRUPT, 0,
                             "what is attached to the filter does not fit it: its place in the "
                             "original's bytes is lost");
    if (frame.part)
        return bloomery_fail(emitter->error, BLOOMERY_UNSUPPORTED, 0,
                             "it is number %llu of the %llu filters of an index that was too large "
                             "to be kept with it: writing it alone would lose the others",
                             (unsigned long long)frame.index, (unsigned long long)frame.count);
    struct bloomery_city_piece pieces[PIECES] = {
        frame.before, {layer->payload, (size_t)(layer->bits / 8)}, frame.after};
    if (!frame.in_blocks)
        return emit_pieces(emitter, pieces, PIECES);
    bloomery_status status = BLOOMERY_OK;
    for (uint32_t i = 0; i < frame.block_count && status == BLOOMERY_OK; i++)
        status = emit_block(emitter, pieces, bloomery_load_u32(frame.blocks + 4 * (size_t)i));
    return status;
}
