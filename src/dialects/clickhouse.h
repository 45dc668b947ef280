/* SPDX-License-Identifier: Apache-2.0 */
/* What ClickHouse's two dialects share (dialects/clickhouse.c). */
#ifndef BLOOMERY_DIALECTS_CLICKHOUSE_H
#define BLOOMERY_DIALECTS_CLICKHOUSE_H

#include "dialects/dialects.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- From a rate to bits and probes ---------------------------------------------------------- */

/*
 * How ClickHouse gets from a rate to bits and probes: by going through the table of
 * dialects/sizing.h, faults included. Numbers in, numbers out; O(1), any thread.
 *
 *     p of 0.283 or more: 2 bits, 2 probes
 *     the rows from 1 bit on, up to 19, whose lowest rate is p or less: from the probes of that
 *     lowest rate down, the first whose rate is above p; one probe more is the answer
 *     if no row has an answer: 19 bits, 13 probes
 *
 * The faults: a row whose rates are all p or less has no answer. From 0.221 up to 0.237 every row
 * has either only larger rates or only smaller ones, so the dearest answer is given. And a p below
 * 1.09e-4 gets that too, though it does not reach it. Row 20 is never looked at.
 */

struct bloomery_practice {
    uint32_t bits_per_key;
    uint32_t probes;
};

/* What 19 bits and 13 probes promise: the lowest rate in the rows that are looked at. */
#define BLOOMERY_PRACTICE_MIN 1.09e-4

/*
 * What a rate is compared with. It matters only if the rate is an entry of the table, for example
 * 0.237. A program that writes this number has the double next to it, which is a little less or
 * more.
 */
enum bloomery_practice_literals {
    BLOOMERY_PRACTICE_DECIMAL, /* the entries themselves (the long doubles of releases of today) */
    BLOOMERY_PRACTICE_DOUBLE,  /* the doubles next to them: older releases */
};

/* Rates below 0 are taken for 0, above 1 for 1; `rate` is a number. */
struct bloomery_practice bloomery_best_practice(double rate,
                                                enum bloomery_practice_literals literals);

/* The fewest bits, and for them the fewest probes, with which the table has this rate or a smaller
 * one: the answer without the faults. The dearest one if it has none. */
struct bloomery_practice bloomery_sound_practice(double rate);

/* ---- The rate of its quadratic scheme -------------------------------------------------------- */

/*
 * The rate of a flat filter whose positions are (a + i b + i^2) mod 2^64 mod m. Two words a and b
 * of a hash make all of a key's k positions (docs/mathematics.md, section 15).
 */

/*
 * The part to be added to fill^k, or to the classic rate, because a key's positions depend on each
 * other. The filter has `keys` keys and a share `fill` of its bits set. bits >= 1, probes >= 1,
 * fill 0 to 1. The rate is good to 4 per cent for up to 7 probes from 64 bits on, to a fifth
 * beyond. O(probes).
 */
double bloomery_quadratic_excess(uint64_t bits, uint32_t probes, double keys, double fill);

/* The whole: the classic rate, which must be known, and the excess. 0 keys: 0. */
double bloomery_quadratic_rate(uint64_t bits, uint32_t probes, uint64_t keys, double classic_rate);

/* ---- What both dialects plan and remark ------------------------------------------------------ */

/* Bits per key and probes: those of the rate, or those given, of which each may be 0. BAD_ARGUMENT
 * for both a rate and one of them, and for numbers out of range. */
bloomery_status bloomery_clickhouse_practice(const bloomery_dialect_parameters *given,
                                             bool old_literals, struct bloomery_practice *practice,
                                             bloomery_error *error);

/* ceil(bits_per_key keys / 8); false if that passes 2^64. */
bool bloomery_clickhouse_bytes(uint32_t bits_per_key, uint64_t keys, uint64_t *bytes);

/* The remarks on the table, on releases, and on the filter's place in an index. */
bloomery_remark bloomery_clickhouse_remark_gap;
bloomery_remark bloomery_clickhouse_remark_literals;
bloomery_remark bloomery_clickhouse_remark_place;

/* ---- The bytes around a filter --------------------------------------------------------------- */

/*
 * The bytes around ClickHouse's filters: the file of a skip index, or its content, of which a
 * filter is a part (dialects/clickhouse.c draws them). Reading finds a filter in its payload.
 * Everything around it is kept with the filter, so writing gives the same bytes, but for the
 * filter's own.
 */

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
