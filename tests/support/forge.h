/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forging files: the bytes of a filter, changed at will and sealed again with valid checksums, so
 * that a reader gets past its first checks to those behind. Written from docs/format.md alone and
 * sharing no code with src/format, so that the two can disagree.
 */
#ifndef TESTS_FORGE_H
#define TESTS_FORGE_H

#include "support.h"

/* Offsets in the header. */
enum {
    FORGE_MAGIC = 0,
    FORGE_VERSION = 8,
    FORGE_KIND = 10,
    FORGE_HEADER_BYTES = 12,
    FORGE_RECORD_BYTES = 16,
    FORGE_LAYERS = 20,
    FORGE_PAYLOAD_OFFSET = 24,
    FORGE_PAYLOAD_BYTES = 32,
    FORGE_SEED = 40,
    FORGE_FINGERPRINT = 48,
    FORGE_HASH = 56,
    FORGE_RESERVED_A = 58,
    FORGE_DIALECT = 60,
    FORGE_BLOCK_BITS = 64,
    FORGE_CELL_BITS = 66,
    FORGE_BIT_ORDER = 67,
    FORGE_BLOCK_SCHEME = 68,
    FORGE_PROBE_SCHEME = 69,
    FORGE_REPEAT_SCHEME = 70,
    FORGE_COUNT_SCHEME = 71,
    FORGE_REQUIRED = 72,
    FORGE_IGNORABLE = 76,
    FORGE_RESERVED_C = 80,
    FORGE_CHECKSUM = 120,
    FORGE_RECORDS = 128,

    /* The first record is the layer; its body begins behind type, flags and size. */
    FORGE_LAYER = FORGE_RECORDS + 8,
    FORGE_LAYER_BITS = FORGE_LAYER,
    FORGE_LAYER_PROBES = FORGE_LAYER + 8,
    FORGE_LAYER_LINES = FORGE_LAYER + 12,
    FORGE_LAYER_KEYS = FORGE_LAYER + 16,
    FORGE_LAYER_RATE = FORGE_LAYER + 24,
    FORGE_LAYER_ADDS = FORGE_LAYER + 32,
    FORGE_LAYER_OFFSET = FORGE_LAYER + 40,
    FORGE_LAYER_BYTES = FORGE_LAYER + 48,
    FORGE_LAYER_RESERVED = FORGE_LAYER + 56,

    FORGE_SPAN = 65536,       /* of payload, under one checksum */
    FORGE_PREFIX_MAX = 16384, /* everything before the payload */
};

/* Little-endian numbers of 1 to 8 bytes. */
uint64_t forge_get(const struct test_bytes *file, size_t at, unsigned bytes);
void forge_put(struct test_bytes *file, size_t at, uint64_t value, unsigned bytes);

/* Where the payload and the checksums behind it begin. */
size_t forge_payload(const struct test_bytes *file);
size_t forge_trailer(const struct test_bytes *file);

/* Makes the checksum of the header right; false where the header's own sizes leave nothing to sum.
 */
bool forge_seal_header(struct test_bytes *file);

/* The same for the whole file, payload and trailer included. */
bool forge_seal(struct test_bytes *file);

/* Adds a record behind the others, which claims to have `claimed` bytes, and seals the file. */
void forge_add_record(struct test_bytes *file, unsigned type, unsigned flags, const void *body,
                      size_t bytes, uint32_t claimed);

#endif
