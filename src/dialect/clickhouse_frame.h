/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes around ClickHouse's filters: the file of a skip index, or its content, of which a
 * filter is a part (dialect/clickhouse_frame.c draws them). Reading finds a filter in its payload.
 * Everything around it is kept with the filter, so writing gives the same bytes, but for the
 * filter's own.
 */
#ifndef BLOOMERY_DIALECT_CLICKHOUSE_FRAME_H
#define BLOOMERY_DIALECT_CLICKHOUSE_FRAME_H

#include "dialect/dialects.h"

/* A payload, in blocks or bare. */
struct bloomery_clickhouse_payload {
    const uint8_t *data; /* all that was given */
    size_t data_bytes;
    bool in_blocks;
    uint32_t block_count;
    uint64_t bytes; /* of the payload */
    /* The place of the last read: a block that begins there in the data, and its first byte of the
     * payload. */
    size_t block;
    uint64_t first;
};

/*
 * Whether the bytes are blocks, or the payload itself, and checks all blocks. O(data_bytes).
 * TRUNCATED, CORRUPT (a checksum, a size), UNSUPPORTED (compressed blocks).
 */
bloomery_status bloomery_clickhouse_open(const uint8_t *data, size_t data_bytes,
                                         struct bloomery_clickhouse_payload *payload,
                                         bloomery_error *error);

/* Copies bytes of the payload, which has them. O(bytes and the blocks between this and the last
 * read), and all blocks when it goes back. */
void bloomery_clickhouse_read(struct bloomery_clickhouse_payload *payload, uint64_t at, uint8_t *to,
                              size_t bytes);

/* The filter in the design is `bytes` bytes of the payload from byte `at` on, number `index` of
 * `count`. Sets the place of its bits and what to keep. */
void bloomery_clickhouse_take(struct bloomery_clickhouse_payload *payload, uint64_t at,
                              uint64_t bytes, uint64_t index, uint64_t count,
                              struct bloomery_design *design);

/* The other direction: all of the data that the filter came from, or, if it came from none, `head`
 * and its bits. UNSUPPORTED if it was one of many and the others could not be kept. */
bloomery_status bloomery_clickhouse_write(const bloomery_filter *filter, const uint8_t *head,
                                          size_t head_bytes, struct bloomery_emitter *emitter);

/* Which one of how many the filter was, if it was one of many; the count is 1 otherwise. */
void bloomery_clickhouse_place(const bloomery_filter *filter, uint64_t *index, uint64_t *count);

#endif
