/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of small checks, from the outside in. Nothing here trusts a number before the check that
 * bounds it, nothing is allocated, and what comes out is a shape that kinds/filter.c has approved.
 */
#include "format/format.h"
#include "format/layout.h"

#include "base/bytes.h"
#include "base/error.h"

#include <assert.h>
#include <string.h>

/* What the checks share. */
struct prefix {
    const uint8_t *bytes;
    size_t size;
    uint64_t file_bytes;
};

static bloomery_status check_magic(const struct prefix *prefix, bloomery_error *error)
{
    /* A short file that does not even begin like one of our files is not a filter, rather than cut
     * short. */
    size_t comparable = prefix->size < 8 ? prefix->size : 8;
    if (comparable == 0)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, 0, "the file is empty");
    if (memcmp(prefix->bytes, BLOOMERY_MAGIC, comparable) != 0)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0,
                             "not a Bloomery filter: it does not begin with the magic bytes");
    if (prefix->size < BLOOMERY_HEADER_BYTES)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, prefix->size,
                             "cut short: %llu bytes are less than a header of %d",
                             (unsigned long long)prefix->size, BLOOMERY_HEADER_BYTES);
    return BLOOMERY_OK;
}

static bloomery_status check_version(const struct prefix *prefix, bloomery_error *error)
{
    unsigned version = bloomery_load_u16(prefix->bytes + HEADER_VERSION);
    if (version > BLOOMERY_FORMAT_VERSION)
        return bloomery_fail(error, BLOOMERY_WRONG_VERSION, HEADER_VERSION,
                             "written in format version %u; this program reads version %d", version,
                             BLOOMERY_FORMAT_VERSION);
    if (version == 0)
        return bloomery_fail(error, BLOOMERY_CORRUPT, HEADER_VERSION,
                             "damaged: its format version is 0, and versions begin at 1");
    if (version < BLOOMERY_FORMAT_VERSION)
        return bloomery_fail(
            error, BLOOMERY_WRONG_VERSION, HEADER_VERSION,
            "written in format version %u, which was never released; in version %d "
            "keys set other bits: make the filter again from its keys "
            "(bloomery build)",
            version, BLOOMERY_FORMAT_VERSION);
    if (bloomery_load_u32(prefix->bytes + HEADER_BYTES) != BLOOMERY_HEADER_BYTES)
        return bloomery_fail(error, BLOOMERY_CORRUPT, HEADER_BYTES,
                             "damaged: a header of version 2 has 128 bytes");
    return BLOOMERY_OK;
}

static bloomery_status check_reserved(const struct prefix *prefix, bloomery_error *error)
{
    static const struct {
        unsigned offset;
        unsigned bytes;
    } zero[] = {{HEADER_RESERVED_A, 2},
                {HEADER_REQUIRED, 4},
                {HEADER_RESERVED_C, HEADER_CHECKSUM - HEADER_RESERVED_C}};
    for (size_t i = 0; i < sizeof zero / sizeof zero[0]; i++)
        for (unsigned at = zero[i].offset; at < zero[i].offset + zero[i].bytes; at++)
            if (prefix->bytes[at] != 0)
                return bloomery_fail(error, BLOOMERY_WRONG_VERSION, at,
                                     "byte %u of the header must be zero in this version: damaged, "
                                     "or it needs a later program",
                                     at);
    return BLOOMERY_OK;
}

/* The places of the parts, and that they fit each other and the file. */
static bloomery_status check_places(const struct prefix *prefix, struct bloomery_parsed *parsed,
                                    bloomery_error *error)
{
    uint64_t records = bloomery_load_u32(prefix->bytes + HEADER_RECORD_BYTES);
    uint64_t offset = bloomery_load_u64(prefix->bytes + HEADER_PAYLOAD_OFFSET);
    uint64_t bytes = bloomery_load_u64(prefix->bytes + HEADER_PAYLOAD_BYTES);
    if (offset > BLOOMERY_PREFIX_MAX || offset % BLOOMERY_PAYLOAD_UNIT != 0 || records % 8 != 0 ||
        records > BLOOMERY_PREFIX_MAX || BLOOMERY_HEADER_BYTES + records > offset)
        return bloomery_fail(
            error, BLOOMERY_CORRUPT, HEADER_PAYLOAD_OFFSET,
            "damaged: records of %llu bytes and a payload from byte %llu do not fit",
            (unsigned long long)records, (unsigned long long)offset);
    if (bytes == 0 || bytes % BLOOMERY_PAYLOAD_UNIT != 0)
        return bloomery_fail(error, BLOOMERY_CORRUPT, HEADER_PAYLOAD_BYTES,
                             "damaged: a payload of %llu bytes", (unsigned long long)bytes);
    uint64_t end = bytes / BLOOMERY_CHECKSUM_SPAN >= UINT64_MAX / 16 / BLOOMERY_CHECKSUM_SPAN
                       ? UINT64_MAX
                       : bloomery_checksums_bytes(bytes);
    if (__builtin_add_overflow(end, bytes, &end) || __builtin_add_overflow(end, offset, &end))
        end = UINT64_MAX;
    if (end != prefix->file_bytes)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, prefix->file_bytes,
                             "%s: the header names %llu bytes, there are %llu",
                             end > prefix->file_bytes ? "cut short"
                                                      : "something follows the filter",
                             (unsigned long long)end, (unsigned long long)prefix->file_bytes);
    assert(end == offset + bytes + bloomery_checksums_bytes(bytes));
    parsed->payload_offset = offset;
    parsed->payload_bytes = bytes;
    parsed->file_bytes = end;
    return BLOOMERY_OK;
}

static bloomery_status check_checksum(const struct prefix *prefix, struct bloomery_parsed *parsed,
                                      bloomery_error *error)
{
    uint8_t copy[BLOOMERY_PREFIX_MAX];
    size_t bytes = (size_t)parsed->payload_offset;
    assert(bytes <= prefix->size && bytes <= sizeof copy);
    memcpy(copy, prefix->bytes, bytes);
    memset(copy + HEADER_CHECKSUM, 0, 8);
    parsed->header_checksum = bloomery_load_u64(prefix->bytes + HEADER_CHECKSUM);
    uint64_t checksum = bloomery_checksum(copy, bytes, 0);
    bloomery_wipe(copy, bytes); /* a secret may be in it */
    if (checksum != parsed->header_checksum)
        return bloomery_fail(error, BLOOMERY_CORRUPT, HEADER_CHECKSUM,
                             "damaged: the checksum of the header does not match");
    return BLOOMERY_OK;
}

static void read_shape(const uint8_t *header, struct bloomery_parsed *parsed)
{
    parsed->shape = (struct bloomery_shape){
        .kind = bloomery_load_u16(header + HEADER_KIND),
        .hash = bloomery_load_u16(header + HEADER_HASH),
        .dialect = bloomery_load_u32(header + HEADER_DIALECT),
        .block_bits = bloomery_load_u16(header + HEADER_BLOCK_BITS),
        .cell_bits = header[HEADER_CELL_BITS],
        .block_scheme = header[HEADER_BLOCK_SCHEME],
        .probe_scheme = header[HEADER_PROBE_SCHEME],
        .bit_order = header[HEADER_BIT_ORDER],
        .repeat_scheme = header[HEADER_REPEAT_SCHEME],
        .count_scheme = header[HEADER_COUNT_SCHEME],
        .seed = bloomery_load_u64(header + HEADER_SEED),
        .secret_fingerprint = bloomery_load_u64(header + HEADER_SECRET_FINGERPRINT),
        .layer_count = 0,
        .layers = parsed->layers,
    };
}

static bloomery_status wrong_size(const uint8_t *record, uint64_t at, bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_CORRUPT, at,
                         "damaged: a record of type %u at byte %llu has the wrong size or is twice "
                         "there",
                         bloomery_load_u16(record + RECORD_TYPE), (unsigned long long)at);
}

static bloomery_status read_layer(const uint8_t *body, uint64_t at, struct bloomery_parsed *parsed,
                                  bloomery_error *error)
{
    struct bloomery_shape *shape = &parsed->shape;
    if (shape->layer_count == BLOOMERY_CHAIN_MAX)
        return bloomery_fail(error, BLOOMERY_CORRUPT, at, "damaged: more than %d layers",
                             BLOOMERY_CHAIN_MAX);
    if (bloomery_load_u64(body + LAYER_RESERVED) != 0)
        return bloomery_fail(error, BLOOMERY_WRONG_VERSION, at + LAYER_RESERVED,
                             "reserved bytes of a layer must be zero in this version");
    struct bloomery_layer *layer = &parsed->layers[shape->layer_count++];
    *layer = (struct bloomery_layer){
        .bits = bloomery_load_u64(body + LAYER_BITS),
        .probes = bloomery_load_u32(body + LAYER_PROBES),
        .blocks_per_key = bloomery_load_u32(body + LAYER_BLOCKS_PER_KEY),
        .keys = bloomery_load_u64(body + LAYER_KEYS),
        .rate = bloomery_load_f64(body + LAYER_RATE),
        .adds = bloomery_load_u64(body + LAYER_ADDS),
        .offset = bloomery_load_u64(body + LAYER_OFFSET),
        .bytes = bloomery_load_u64(body + LAYER_BYTES),
    };
    layer->blocks = shape->block_bits > 0 ? layer->bits / shape->block_bits : 0;
    return BLOOMERY_OK;
}

/* Reads the ribbon of the layer whose record came last. Refuses numbers that do not fit into the
 * fields of a ribbon; bloomery_shape_check checks everything else. */
static bloomery_status read_ribbon(const uint8_t *body, uint64_t at, uint32_t *ribbons,
                                   struct bloomery_parsed *parsed, bloomery_error *error)
{
    const uint64_t starts = bloomery_load_u64(body + RIBBON_STARTS);
    const uint32_t section_bits = bloomery_load_u32(body + RIBBON_SECTION_BITS);
    const uint32_t columns = bloomery_load_u32(body + RIBBON_COLUMNS);
    if (parsed->shape.kind != BLOOMERY_STATIC || parsed->shape.layer_count != *ribbons + 1)
        return bloomery_fail(error, BLOOMERY_CORRUPT, at,
                             "damaged: a ribbon at byte %llu that belongs to no layer",
                             (unsigned long long)at);
    if (bloomery_load_u32(body + RIBBON_WIDTH) != BLOOMERY_RIBBON_WIDTH ||
        bloomery_load_u32(body + RIBBON_BUCKET) != BLOOMERY_RIBBON_BUCKET)
        return bloomery_fail(error, BLOOMERY_WRONG_VERSION, at + RIBBON_WIDTH,
                             "a ribbon of width %u with buckets of %u is not known to this version",
                             bloomery_load_u32(body + RIBBON_WIDTH),
                             bloomery_load_u32(body + RIBBON_BUCKET));
    if (starts > BLOOMERY_RIBBON_STARTS_MAX || section_bits > BLOOMERY_RIBBON_SECTION_BITS_MAX ||
        columns > BLOOMERY_RIBBON_COLUMNS_MAX)
        return bloomery_fail(error, BLOOMERY_CORRUPT, at,
                             "damaged: no ribbon has %llu starts, %u section bits and %u columns",
                             (unsigned long long)starts, section_bits, columns);
    parsed->layers[(*ribbons)++].ribbon = (struct bloomery_ribbon){
        .wide_from = bloomery_load_u64(body + RIBBON_WIDE_FROM),
        .starts = (uint32_t)starts,
        .section_bits = (uint16_t)section_bits,
        .columns = (uint16_t)columns,
    };
    return BLOOMERY_OK;
}

static bloomery_status read_rule(const uint8_t *body, uint64_t at, struct bloomery_parsed *parsed,
                                 bloomery_error *error)
{
    parsed->rule.flags = bloomery_load_u32(body + RULE_FLAGS);
    parsed->rule.delimiter = bloomery_load_u32(body + RULE_DELIMITER);
    parsed->rule.field = (int32_t)bloomery_load_u32(body + RULE_FIELD);
    parsed->rule.comment = bloomery_load_u32(body + RULE_COMMENT);
    if (!bloomery_rule_is_sound(&parsed->rule))
        return bloomery_fail(error, BLOOMERY_WRONG_VERSION, at,
                             "its keys were made by a rule (0x%x) that this version does not know",
                             parsed->rule.flags);
    return BLOOMERY_OK;
}

static bloomery_status read_dialect(const uint8_t *body, uint32_t bytes, uint64_t at,
                                    struct bloomery_parsed *parsed, bloomery_error *error)
{
    if (bloomery_load_u32(body + DIALECT_RESERVED) != 0)
        return bloomery_fail(error, BLOOMERY_WRONG_VERSION, at + DIALECT_RESERVED,
                             "reserved bytes of a dialect must be zero in this version");
    parsed->shape.tightening = bloomery_load_f64(body + DIALECT_TIGHTENING);
    parsed->shape.growth = bloomery_load_u32(body + DIALECT_GROWTH);
    assert(bytes >= DIALECT_EXTRA);
    parsed->extra = body + DIALECT_EXTRA;
    parsed->extra_bytes = bytes - DIALECT_EXTRA;
    return BLOOMERY_OK;
}

/* What was read so far. */
struct seen {
    uint32_t types; /* a bit for each type of record */
    uint32_t ribbons;
};

static bloomery_status read_record(const uint8_t *record, uint64_t at, struct seen *seen,
                                   struct bloomery_parsed *parsed, bloomery_error *error)
{
    assert(at % 8 == 0 && at >= BLOOMERY_HEADER_BYTES);
    const unsigned type = bloomery_load_u16(record + RECORD_TYPE);
    const unsigned flags = bloomery_load_u16(record + RECORD_FLAGS);
    const uint32_t bytes = bloomery_load_u32(record + RECORD_BYTES);
    const uint8_t *body = record + RECORD_BODY;
    const bool again = type < 32 && (seen->types >> type & 1) != 0;
    if (type < 32)
        seen->types |= 1u << type;
    switch (type) {
    case RECORD_LAYER:
        return bytes == LAYER_BODY_BYTES ? read_layer(body, at + RECORD_BODY, parsed, error)
                                         : wrong_size(record, at, error);
    case RECORD_RIBBON:
        return bytes == RIBBON_BODY_BYTES
                   ? read_ribbon(body, at + RECORD_BODY, &seen->ribbons, parsed, error)
                   : wrong_size(record, at, error);
    case RECORD_KEY_RULE:
        return bytes == RULE_BODY_BYTES && !again ? read_rule(body, at, parsed, error)
                                                  : wrong_size(record, at, error);
    case RECORD_SECRET:
        if (bytes != BLOOMERY_SECRET_BYTES || again)
            return wrong_size(record, at, error);
        parsed->has_secret = true;
        memcpy(parsed->secret, body, BLOOMERY_SECRET_BYTES);
        return BLOOMERY_OK;
    case RECORD_DIALECT:
        return bytes >= DIALECT_EXTRA && bytes <= DIALECT_EXTRA + BLOOMERY_EXTRA_MAX && !again
                   ? read_dialect(body, bytes, at + RECORD_BODY, parsed, error)
                   : wrong_size(record, at, error);
    case RECORD_NOTE:
        if (bytes > BLOOMERY_NOTE_BYTES || again)
            return wrong_size(record, at, error);
        parsed->note = (const char *)body;
        parsed->note_bytes = bytes;
        return BLOOMERY_OK;
    case RECORD_WANTED:
        if (bytes != WANTED_BODY_BYTES || again)
            return wrong_size(record, at, error);
        parsed->wanted = bloomery_load_f64(body);
        return BLOOMERY_OK;
    case RECORD_CUCKOO:
        if (!BLOOMERY_HAS_TABLES)
            return bloomery_fail(
                error, BLOOMERY_UNSUPPORTED, at,
                "this build has no cuckoo filters: the command and the Python package "
                "open this file");
        if (bytes != CUCKOO_BODY_BYTES || again || parsed->shape.kind != BLOOMERY_CUCKOO ||
            bloomery_load_u32(body + CUCKOO_RESERVED) != 0)
            return wrong_size(record, at, error);
        parsed->removed = bloomery_load_u64(body + CUCKOO_REMOVED);
        parsed->iterations = bloomery_load_u32(body + CUCKOO_ITERATIONS);
        return BLOOMERY_OK;
    default:
        if ((flags & RECORD_REQUIRED) != 0)
            return bloomery_fail(error, BLOOMERY_WRONG_VERSION, at,
                                 "it needs a part (record type %u) that this version does not know",
                                 type);
        return BLOOMERY_OK;
    }
}

static bloomery_status read_records(const struct prefix *prefix, struct bloomery_parsed *parsed,
                                    bloomery_error *error)
{
    uint64_t at = BLOOMERY_HEADER_BYTES;
    const uint64_t end = at + bloomery_load_u32(prefix->bytes + HEADER_RECORD_BYTES);
    struct seen seen = {0, 0};
    assert(end <= parsed->payload_offset && parsed->shape.layer_count == 0);
    while (at < end) {
        const uint8_t *record = prefix->bytes + at;
        uint64_t body = end - at >= RECORD_BODY ? bloomery_load_u32(record + RECORD_BYTES) : 0;
        uint64_t padded;
        if (end - at < RECORD_BODY || !bloomery_round_up(body, 8, &padded) ||
            padded > end - at - RECORD_BODY)
            return bloomery_fail(error, BLOOMERY_CORRUPT, at,
                                 "damaged: the record at byte %llu passes the end of the records",
                                 (unsigned long long)at);
        bloomery_status status = read_record(record, at, &seen, parsed, error);
        if (status != BLOOMERY_OK)
            return status;
        at += RECORD_BODY + padded;
    }
    if (parsed->shape.kind == BLOOMERY_STATIC && seen.ribbons != parsed->shape.layer_count)
        return bloomery_fail(error, BLOOMERY_CORRUPT, HEADER_LAYERS,
                             "damaged: %u layers of a static filter, and %u ribbons",
                             parsed->shape.layer_count, seen.ribbons);
    if (parsed->shape.dialect == 0 && (seen.types >> RECORD_DIALECT & 1) != 0)
        return bloomery_fail(error, BLOOMERY_CORRUPT, HEADER_DIALECT,
                             "damaged: a dialect's parameters in a filter of no dialect");
    if (parsed->shape.layer_count != bloomery_load_u32(prefix->bytes + HEADER_LAYERS))
        return bloomery_fail(error, BLOOMERY_CORRUPT, HEADER_LAYERS,
                             "damaged: the header names %u layers, there are %u",
                             bloomery_load_u32(prefix->bytes + HEADER_LAYERS),
                             parsed->shape.layer_count);
    return BLOOMERY_OK;
}

/* A secret in the file must be the one that the fingerprint names, and only keyed filters have
 * one. */
static bloomery_status check_secret(const struct bloomery_parsed *parsed, bloomery_error *error)
{
    if (!parsed->has_secret)
        return BLOOMERY_OK;
    if (parsed->shape.secret_fingerprint == 0)
        return bloomery_fail(error, BLOOMERY_CORRUPT, HEADER_SECRET_FINGERPRINT,
                             "damaged: a secret in a filter that is not keyed");
    if (bloomery_hash_siphash.available &&
        bloomery_secret_fingerprint(parsed->secret) != parsed->shape.secret_fingerprint)
        return bloomery_fail(
            error, BLOOMERY_CORRUPT, HEADER_SECRET_FINGERPRINT,
            "damaged: the secret in the file is not the one the filter was made with");
    return BLOOMERY_OK;
}

/* Its tables know how many keys may move, the first what was removed. */
static void place_cuckoo(struct bloomery_parsed *parsed)
{
    if (!BLOOMERY_HAS_TABLES || parsed->shape.kind != BLOOMERY_CUCKOO)
        return;
    for (uint32_t i = 0; i < parsed->shape.layer_count; i++)
        parsed->layers[i].iterations = parsed->iterations;
    parsed->layers[0].removed = parsed->removed;
}

/* The rate that the plan was asked for is one of our own filters with one layer of cells. Records
 * come in any order, so it is put there when all were read. */
static bloomery_status place_wanted(struct bloomery_parsed *parsed, bloomery_error *error)
{
    const struct bloomery_shape *shape = &parsed->shape;
    const bool plain = shape->kind == BLOOMERY_BLOCKED || shape->kind == BLOOMERY_CLASSIC ||
                       shape->kind == BLOOMERY_COUNTING;
    /* So written, a value that is not a number fails too. */
    if (!(parsed->wanted >= 0 && parsed->wanted <= 1))
        return bloomery_fail(error, BLOOMERY_CORRUPT, BLOOMERY_HEADER_BYTES,
                             "damaged: the rate that was asked for is not between 0 and 1");
    if (plain && shape->dialect == 0 && shape->layer_count == 1)
        parsed->layers[0].wanted = parsed->wanted;
    return BLOOMERY_OK;
}

bloomery_status bloomery_format_parse(const uint8_t *prefix, size_t prefix_bytes,
                                      uint64_t file_bytes,
                                      const struct bloomery_foreign_rows *foreign,
                                      struct bloomery_parsed *parsed, bloomery_error *error)
{
    const struct prefix whole = {prefix, prefix_bytes, file_bytes};
    bloomery_status status;
    assert(prefix_bytes <= file_bytes);
    assert(prefix_bytes == file_bytes || prefix_bytes >= BLOOMERY_PREFIX_MAX);
    memset(parsed, 0, sizeof *parsed);
    if ((status = check_magic(&whole, error)) != BLOOMERY_OK ||
        (status = check_version(&whole, error)) != BLOOMERY_OK ||
        (status = check_reserved(&whole, error)) != BLOOMERY_OK ||
        (status = check_places(&whole, parsed, error)) != BLOOMERY_OK ||
        (status = check_checksum(&whole, parsed, error)) != BLOOMERY_OK)
        return status;
    read_shape(prefix, parsed);
    if ((status = read_records(&whole, parsed, error)) != BLOOMERY_OK ||
        (status = place_wanted(parsed, error)) != BLOOMERY_OK ||
        (status = check_secret(parsed, error)) != BLOOMERY_OK)
        return status;
    place_cuckoo(parsed);
    bloomery_shape_find_rows(&parsed->shape, foreign);
    status = bloomery_shape_check(&parsed->shape, parsed->payload_bytes, &parsed->checked, error);
    if (status == BLOOMERY_BAD_ARGUMENT) /* no argument of the caller: the file's own numbers */
        status = bloomery_fail(error, BLOOMERY_CORRUPT, BLOOMERY_HEADER_BYTES,
                               "damaged: its numbers describe no filter");
    return status;
}
