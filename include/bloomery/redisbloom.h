/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RedisBloom's BF.SCANDUMP and BF.LOADCHUNK, for programs that exchange filters with a Redis
 * server.
 *
 * RedisBloom gives a filter out, and takes one, in chunks: first the header, then the bits of the
 * layers. A chunk has at most 16 MiB and never bits of two layers. All chunks in a row are the
 * bytes that bloomery_dialect_load and _write of dialect "redisbloom" know (bloomery/dialect.h).
 *
 *     uint64_t iterator = 0;
 *     uint8_t *header = malloc(bloomery_redisbloom_header_bytes(filter));
 *     do {
 *         bloomery_redisbloom_scandump(filter, iterator, header, &data, &bytes, &iterator, &error);
 *         send BF.LOADCHUNK key iterator data                        unless iterator is 0
 *     } while (iterator != 0);
 *
 * Stable. Threads, ownership, errors and NULL are as bloomery.h says.
 */
#ifndef BLOOMERY_REDISBLOOM_H
#define BLOOMERY_REDISBLOOM_H

#include <bloomery/bloomery.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes: of the header of a chain of 64 layers, and of the longest chunk. */
enum { BLOOMERY_REDISBLOOM_HEADER = 3412, BLOOMERY_REDISBLOOM_CHUNK = 16777216 };

/* The bytes of a filter's header: 20, and 53 for each layer. Up to 64 layers that is
 * BLOOMERY_REDISBLOOM_HEADER at most; a chain that was loaded or has grown may have up to 65,536. 0
 * if the filter is not one of RedisBloom's. O(layers). */
BLOOMERY_PUBLIC size_t bloomery_redisbloom_header_bytes(const bloomery_filter *filter);

/*
 * The chunk with which BF.SCANDUMP replies to an iterator. Iterator 0 requests the header; the
 * value of `next` requests the chunk that follows. `next` is also the iterator that BF.LOADCHUNK
 * takes with this chunk. Past the end it is 0, with no bytes. `data` points to `header` or into the
 * filter and is valid until the filter is changed or freed.
 *
 * `header` has room for bloomery_redisbloom_header_bytes(filter) bytes; only iterator 0 uses it,
 * and for others it may be NULL. BLOOMERY_BAD_ARGUMENT if it is NULL with iterator 0.
 * BLOOMERY_MISMATCH if the filter is not one of RedisBloom's; the numbers of its layers are looked
 * at with iterator 0 alone: O(layers), and O(log layers) with any other.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_redisbloom_scandump(const bloomery_filter *filter,
                                                             uint64_t iterator, uint8_t *header,
                                                             const void **data, size_t *bytes,
                                                             uint64_t *next, bloomery_error *error);

/*
 * The effect of BF.LOADCHUNK. Iterator 1 is a header and makes a filter with all bits 0. *filter
 * must be NULL, and `options` are those of bloomery_dialect_load; a memory_limit, if not 0, is
 * kept. Any other iterator is bits that end at iterator - 1 and go into *filter. Any bytes are
 * safe, but a header alone decides how much memory is allocated. Keys that are added before all
 * chunks are loaded may be lost. Statuses are those of bloomery_dialect_load; BLOOMERY_BAD_ARGUMENT
 * if the iterator and the bytes do not fit each other; BLOOMERY_READ_ONLY.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_redisbloom_loadchunk(bloomery_filter **filter,
                                                              uint64_t iterator, const void *data,
                                                              size_t bytes,
                                                              const bloomery_open_options *options,
                                                              bloomery_error *error);

#ifdef __cplusplus
}
#endif

#endif /* BLOOMERY_REDISBLOOM_H */
