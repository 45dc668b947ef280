/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets in the header and in records, for the parser and the writer. docs/format.md has the same
 * table. */
#ifndef BLOOMERY_FORMAT_LAYOUT_H
#define BLOOMERY_FORMAT_LAYOUT_H

#include <stdint.h>

/* As in PNG: a byte that is not text, a name, and a line end that text transfers would mangle. */
#define BLOOMERY_MAGIC \
    "\x89"             \
    "BLOOM\r\n"

enum {
    HEADER_MAGIC = 0,               /* 8 */
    HEADER_VERSION = 8,             /* u16 */
    HEADER_KIND = 10,               /* u16 */
    HEADER_BYTES = 12,              /* u32: 128 */
    HEADER_RECORD_BYTES = 16,       /* u32: the records that follow */
    HEADER_LAYERS = 20,             /* u32: 1 to 64 */
    HEADER_PAYLOAD_OFFSET = 24,     /* u64 */
    HEADER_PAYLOAD_BYTES = 32,      /* u64 */
    HEADER_SEED = 40,               /* u64 */
    HEADER_SECRET_FINGERPRINT = 48, /* u64 */
    HEADER_HASH = 56,               /* u16 */
    HEADER_RESERVED_A = 58,         /* u16, zero */
    HEADER_DIALECT = 60,            /* u32 */
    HEADER_BLOCK_BITS = 64,         /* u16 */
    HEADER_CELL_BITS = 66,          /* u8 */
    HEADER_BIT_ORDER = 67,          /* u8 */
    HEADER_BLOCK_SCHEME = 68,       /* u8 */
    HEADER_PROBE_SCHEME = 69,       /* u8 */
    HEADER_REPEAT_SCHEME = 70,      /* u8 */
    HEADER_COUNT_SCHEME = 71,       /* u8 */
    HEADER_REQUIRED = 72,           /* u32 of must-be-zero bits */
    HEADER_IGNORABLE = 76,          /* u32 of bits that a reader ignores */
    HEADER_RESERVED_C = 80,         /* 40 bytes, zero */
    HEADER_CHECKSUM = 120,          /* u64 */
};

enum {
    RECORD_TYPE = 0,  /* u16 */
    RECORD_FLAGS = 2, /* u16: bit 0 required */
    RECORD_BYTES = 4, /* u32: of the body, without the zeros that fill it up to a multiple of 8 */
    RECORD_BODY = 8,

    RECORD_REQUIRED = 1,

    RECORD_LAYER = 1,
    RECORD_KEY_RULE = 2,
    RECORD_SECRET = 3,
    RECORD_DIALECT = 4, /* of chains of another system how they grow; what else its bytes say */
    RECORD_NOTE = 5,
    RECORD_SOURCE = 6, /* reserved: where the keys came from */
    RECORD_RIBBON = 7, /* of a layer of a static filter, behind the layer's own record */
    RECORD_WANTED = 8, /* the rate that the plan was asked for */
    RECORD_CUCKOO = 9, /* of a cuckoo filter */
};

enum {
    LAYER_BITS = 0,            /* u64 */
    LAYER_PROBES = 8,          /* u32 */
    LAYER_BLOCKS_PER_KEY = 12, /* u32 */
    LAYER_KEYS = 16,           /* u64 */
    LAYER_RATE = 24,           /* f64 */
    LAYER_ADDS = 32,           /* u64 */
    LAYER_OFFSET = 40,         /* u64 */
    LAYER_BYTES = 48,          /* u64 */
    LAYER_RESERVED = 56,       /* u64, zero */
    LAYER_BODY_BYTES = 64,

    RIBBON_STARTS = 0,        /* u64: T */
    RIBBON_WIDE_FROM = 8,     /* u64: b0 */
    RIBBON_SECTION_BITS = 16, /* u32: q */
    RIBBON_COLUMNS = 20,      /* u32: r */
    RIBBON_WIDTH = 24,        /* u32: 64 */
    RIBBON_BUCKET = 28,       /* u32: 128 */
    RIBBON_BODY_BYTES = 32,

    DIALECT_TIGHTENING = 0, /* f64 */
    DIALECT_GROWTH = 8,     /* u32 */
    DIALECT_RESERVED = 12,  /* u32, zero */
    DIALECT_EXTRA = 16,     /* up to BLOOMERY_EXTRA_MAX bytes */

    RULE_FLAGS = 0,     /* u32 */
    RULE_DELIMITER = 4, /* u32 */
    RULE_FIELD = 8,     /* i32 */
    RULE_COMMENT = 12,  /* u32 */
    RULE_BODY_BYTES = 16,

    WANTED_BODY_BYTES = 8, /* f64 */

    CUCKOO_REMOVED = 0,    /* u64 */
    CUCKOO_ITERATIONS = 8, /* u32 */
    CUCKOO_RESERVED = 12,  /* u32, zero */
    CUCKOO_BODY_BYTES = 16,
};

#endif
