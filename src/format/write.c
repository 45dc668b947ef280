/* SPDX-License-Identifier: Apache-2.0 */
/* See format.h. */
#include "format/format.h"
#include "format/layout.h"

#include "base/bytes.h"
#include "base/error.h"

#include <assert.h>
#include <string.h>

enum { PAYLOAD_PAGE = 4096 };

static size_t record_bytes(size_t body)
{
    return RECORD_BODY + (body + 7) / 8 * 8;
}

static bool has_rule(const struct bloomery_filter *filter)
{
    return bloomery_cold_in(filter)->rule.flags != 0 || bloomery_cold_in(filter)->rule.field != 0 ||
           bloomery_cold_in(filter)->rule.comment != 0;
}

static bool has_wanted(const struct bloomery_filter *filter)
{
    return bloomery_wanted_rate(filter) > 0;
}

static bool has_dialect(const struct bloomery_filter *filter)
{
    return filter->shape.growth != 0 || filter->shape.tightening != 0 ||
           bloomery_cold_in(filter)->extra_bytes > 0;
}

bloomery_status bloomery_format_check(const struct bloomery_filter *filter, bloomery_error *error)
{
    const uint32_t layers = bloomery_layer_count(filter);
    if (layers > BLOOMERY_CHAIN_MAX)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "the filter has %u layers, and our file format keeps at most %d: "
                             "write it in its own format",
                             layers, BLOOMERY_CHAIN_MAX);
    if (bloomery_cold_in(filter)->extra_bytes <= BLOOMERY_EXTRA_MAX)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                         "%llu bytes are attached to the filter, and our file format keeps at most "
                         "%d: write it in its own format",
                         (unsigned long long)bloomery_cold_in(filter)->extra_bytes,
                         BLOOMERY_EXTRA_MAX);
}

/* Begins a record and returns its body; `at` moves past it. The prefix is zeroed, so padding is
 * too. */
static uint8_t *begin_record(uint8_t *prefix, size_t *at, unsigned type, unsigned flags,
                             size_t bytes)
{
    uint8_t *record = prefix + *at;
    assert(*at % 8 == 0 && *at >= BLOOMERY_HEADER_BYTES);
    assert(*at + RECORD_BODY + bytes + 7 < BLOOMERY_PREFIX_MAX);
    bloomery_store_u16(record + RECORD_TYPE, (uint16_t)type);
    bloomery_store_u16(record + RECORD_FLAGS, (uint16_t)flags);
    bloomery_store_u32(record + RECORD_BYTES, (uint32_t)bytes);
    *at += record_bytes(bytes);
    return record + RECORD_BODY;
}

/* Records in a fixed order, so that the same filter is always the same bytes. */
static size_t write_records(const struct bloomery_filter *filter, uint8_t *prefix)
{
    const bloomery_key_rule *rule = &bloomery_cold_in(filter)->rule;
    size_t at = BLOOMERY_HEADER_BYTES;
    assert(bloomery_cold_in(filter)->extra_bytes <= BLOOMERY_EXTRA_MAX &&
           bloomery_cold_in(filter)->note_bytes <= BLOOMERY_NOTE_BYTES);
    assert(!has_rule(filter) || bloomery_rule_is_sound(rule));
    for (uint32_t i = 0; i < filter->shape.layer_count; i++) {
        const struct bloomery_layer *layer = &filter->layers[i];
        uint8_t *body = begin_record(prefix, &at, RECORD_LAYER, RECORD_REQUIRED, LAYER_BODY_BYTES);
        assert(layer->bits > 0 && layer->bytes > 0 && layer->bytes % BLOOMERY_PAYLOAD_UNIT == 0);
        assert(layer->offset % BLOOMERY_PAYLOAD_UNIT == 0);
        bloomery_store_u64(body + LAYER_BITS, layer->bits);
        bloomery_store_u32(body + LAYER_PROBES, layer->probes);
        bloomery_store_u32(body + LAYER_BLOCKS_PER_KEY, layer->blocks_per_key);
        bloomery_store_u64(body + LAYER_KEYS, layer->keys);
        bloomery_store_f64(body + LAYER_RATE, layer->rate);
        bloomery_store_u64(body + LAYER_ADDS, layer->adds);
        bloomery_store_u64(body + LAYER_OFFSET, layer->offset);
        bloomery_store_u64(body + LAYER_BYTES, layer->bytes);
        if (filter->kind->cascades) {
            const struct bloomery_ribbon *ribbon = &layer->ribbon;
            body = begin_record(prefix, &at, RECORD_RIBBON, RECORD_REQUIRED, RIBBON_BODY_BYTES);
            assert(bloomery_ribbon_is_sound(ribbon));
            bloomery_store_u64(body + RIBBON_STARTS, ribbon->starts);
            bloomery_store_u64(body + RIBBON_WIDE_FROM, ribbon->wide_from);
            bloomery_store_u32(body + RIBBON_SECTION_BITS, ribbon->section_bits);
            bloomery_store_u32(body + RIBBON_COLUMNS, ribbon->columns);
            bloomery_store_u32(body + RIBBON_WIDTH, BLOOMERY_RIBBON_WIDTH);
            bloomery_store_u32(body + RIBBON_BUCKET, BLOOMERY_RIBBON_BUCKET);
        }
    }
    if (has_rule(filter)) {
        uint8_t *body =
            begin_record(prefix, &at, RECORD_KEY_RULE, RECORD_REQUIRED, RULE_BODY_BYTES);
        bloomery_store_u32(body + RULE_FLAGS, rule->flags);
        bloomery_store_u32(body + RULE_DELIMITER, rule->delimiter);
        bloomery_store_u32(body + RULE_FIELD, (uint32_t)rule->field);
        bloomery_store_u32(body + RULE_COMMENT, rule->comment);
    }
    if (filter->secret_in_file)
        memcpy(begin_record(prefix, &at, RECORD_SECRET, RECORD_REQUIRED, BLOOMERY_SECRET_BYTES),
               bloomery_secret_of(filter)->siphash, BLOOMERY_SECRET_BYTES);
    if (has_dialect(filter)) {
        uint8_t *body = begin_record(prefix, &at, RECORD_DIALECT, RECORD_REQUIRED,
                                     DIALECT_EXTRA + bloomery_cold_in(filter)->extra_bytes);
        bloomery_store_f64(body + DIALECT_TIGHTENING, filter->shape.tightening);
        bloomery_store_u32(body + DIALECT_GROWTH, filter->shape.growth);
        if (bloomery_cold_in(filter)->extra_bytes > 0)
            memcpy(body + DIALECT_EXTRA, bloomery_cold_in(filter)->extra,
                   bloomery_cold_in(filter)->extra_bytes);
    }
    if (bloomery_has_tables(filter->kind)) {
        uint8_t *body =
            begin_record(prefix, &at, RECORD_CUCKOO, RECORD_REQUIRED, CUCKOO_BODY_BYTES);
        bloomery_store_u64(body + CUCKOO_REMOVED, filter->layers[0].removed);
        bloomery_store_u32(body + CUCKOO_ITERATIONS, filter->layers[0].iterations);
    }
    if (bloomery_cold_in(filter)->note_bytes > 0)
        memcpy(begin_record(prefix, &at, RECORD_NOTE, 0, bloomery_cold_in(filter)->note_bytes),
               bloomery_cold_in(filter)->note, bloomery_cold_in(filter)->note_bytes);
    if (has_wanted(filter))
        bloomery_store_f64(begin_record(prefix, &at, RECORD_WANTED, 0, WANTED_BODY_BYTES),
                           bloomery_wanted_rate(filter));
    return at;
}

/* A static filter begins with a page of a map: what a query touches then lies in one page more
 * often. */
static size_t payload_offset_after(const struct bloomery_filter *filter, size_t records_end)
{
    const size_t unit = filter->kind->cascades ? PAYLOAD_PAGE : BLOOMERY_PAYLOAD_UNIT;
    return (records_end + unit - 1) / unit * unit;
}

size_t bloomery_format_payload_offset(const struct bloomery_filter *filter)
{
    size_t end = BLOOMERY_HEADER_BYTES;
    end += bloomery_layer_count(filter) * record_bytes(LAYER_BODY_BYTES);
    if (filter->kind->cascades)
        end += bloomery_layer_count(filter) * record_bytes(RIBBON_BODY_BYTES);
    end += has_rule(filter) ? record_bytes(RULE_BODY_BYTES) : 0;
    end += has_dialect(filter) ? record_bytes(DIALECT_EXTRA + bloomery_cold_in(filter)->extra_bytes)
                               : 0;
    end += bloomery_has_tables(filter->kind) ? record_bytes(CUCKOO_BODY_BYTES) : 0;
    end += filter->secret_in_file ? record_bytes(BLOOMERY_SECRET_BYTES) : 0;
    end += bloomery_cold_in(filter)->note_bytes > 0
               ? record_bytes(bloomery_cold_in(filter)->note_bytes)
               : 0;
    end += has_wanted(filter) ? record_bytes(WANTED_BODY_BYTES) : 0;
    return payload_offset_after(filter, end);
}

size_t bloomery_format_prefix(const struct bloomery_filter *filter, uint8_t *prefix,
                              uint64_t *header_checksum)
{
    const struct bloomery_shape *shape = &filter->shape;
    memset(prefix, 0, BLOOMERY_PREFIX_MAX);
    assert(shape->layer_count >= 1 && shape->layer_count <= BLOOMERY_CHAIN_MAX);
    size_t end = write_records(filter, prefix);
    size_t offset = payload_offset_after(filter, end);
    assert(offset <= BLOOMERY_PREFIX_MAX && offset == bloomery_format_payload_offset(filter));
    memcpy(prefix + HEADER_MAGIC, BLOOMERY_MAGIC, 8);
    bloomery_store_u16(prefix + HEADER_VERSION, BLOOMERY_FORMAT_VERSION);
    bloomery_store_u16(prefix + HEADER_KIND, (uint16_t)shape->kind);
    bloomery_store_u32(prefix + HEADER_BYTES, BLOOMERY_HEADER_BYTES);
    bloomery_store_u32(prefix + HEADER_RECORD_BYTES, (uint32_t)(end - BLOOMERY_HEADER_BYTES));
    bloomery_store_u32(prefix + HEADER_LAYERS, shape->layer_count);
    bloomery_store_u64(prefix + HEADER_PAYLOAD_OFFSET, offset);
    bloomery_store_u64(prefix + HEADER_PAYLOAD_BYTES, bloomery_payload_bytes(filter));
    bloomery_store_u64(prefix + HEADER_SEED, shape->seed);
    bloomery_store_u64(prefix + HEADER_SECRET_FINGERPRINT, shape->secret_fingerprint);
    bloomery_store_u16(prefix + HEADER_HASH, (uint16_t)shape->hash);
    bloomery_store_u32(prefix + HEADER_DIALECT, shape->dialect);
    bloomery_store_u16(prefix + HEADER_BLOCK_BITS, (uint16_t)shape->block_bits);
    prefix[HEADER_CELL_BITS] = (uint8_t)shape->cell_bits;
    prefix[HEADER_BIT_ORDER] = (uint8_t)shape->bit_order;
    prefix[HEADER_BLOCK_SCHEME] = (uint8_t)shape->block_scheme;
    prefix[HEADER_PROBE_SCHEME] = (uint8_t)shape->probe_scheme;
    prefix[HEADER_REPEAT_SCHEME] = (uint8_t)shape->repeat_scheme;
    prefix[HEADER_COUNT_SCHEME] = (uint8_t)shape->count_scheme;
    *header_checksum = bloomery_checksum(prefix, offset, 0);
    bloomery_store_u64(prefix + HEADER_CHECKSUM, *header_checksum);
    assert(end % 8 == 0 && offset % BLOOMERY_PAYLOAD_UNIT == 0);
    return offset;
}
