/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys by their ids, and ids by their keys, so that a test can say of each item that comes out of a
 * sieve which push it belongs to, and whether one byte of it is wrong:
 *
 *     key of an id       some bytes of a pattern, then the id as 4 bytes, little-endian; id 0 is
 *                        the empty key, ids 1 to 3 are one byte
 *     payload of a push  every third push has none; else the push's number as 8 bytes, then some of
 *                        the pattern
 *
 * Lengths depend on the id or number alone. With `giants` some keys are of 70,000 bytes and of a
 * million, and some payloads of 66,000.
 */
#ifndef TESTS_STREAM_H
#define TESTS_STREAM_H

#include "../support/sieves.h"

enum { STREAM_MAX = 1000000, STREAM_IDS = 1 << 24, STREAM_AREA = 6 << 20 };

/* Where keys and payloads are written, one behind the other. */
struct stream_area {
    uint8_t *bytes;
    size_t used;
};
void stream_area_make(struct stream_area *area);
void stream_area_free(struct stream_area *area);
/* Whether a giant or two still fit. */
bool stream_area_room(const struct stream_area *area);

bloomery_key stream_key(struct stream_area *area, uint32_t id, bool giants);
bloomery_key stream_payload(struct stream_area *area, uint64_t push, bool giants);

/* The id of a key; false where no id has this key. */
bool stream_id(bloomery_key key, bool giants, uint32_t *id);
/* Whether this is the payload of that push. */
bool stream_payload_is(bloomery_key payload, uint64_t push, bool giants);

/* An allocator on top of test_allocator that knows the most bytes that there ever were. */
struct stream_memory {
    struct test_memory counts;
    bloomery_allocator under;
    uint64_t most;
};
bloomery_allocator stream_allocator(struct stream_memory *memory);

#endif
