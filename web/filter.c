/* SPDX-License-Identifier: Apache-2.0 */
/* What the page asks of a filter that exists, and does with it (wasm.c says how calls work). */
#define BLOOMERY_EXPERIMENTAL

#include "json.h"

#include <bloomery/bloomery.h>
#include <bloomery/dialect.h>
#include <bloomery/experimental.h>
#include <bloomery/records.h>

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT(name) __attribute__((export_name(#name))) name

enum { PORTION = 1024, REMARK_BYTES = 600, SHOWN_LAYERS = 64 };

/* ---- Facts ----------------------------------------------------------------------------------- */

static void put_rule(const bloomery_key_rule *rule)
{
    json_open("rule", '{');
    json_number("flags", rule->flags);
    json_number("delimiter", rule->delimiter);
    json_number("field", rule->field);
    json_number("comment", rule->comment);
    json_close('}');
}

static void put_layers(const bloomery_filter *filter, uint32_t layers, bool scan)
{
    /* A chain of another system may have thousands: the newest are shown. */
    const uint32_t first = layers > SHOWN_LAYERS ? layers - SHOWN_LAYERS : 0;
    json_number("firstLayer", first);
    json_open("layerList", '[');
    for (uint32_t i = first; i < layers; i++) {
        bloomery_layer_info layer = BLOOMERY_LAYER_INFO;
        if (bloomery_layer_info_get(filter, i, scan, &layer) != BLOOMERY_OK)
            break;
        json_open(NULL, '{');
        json_number("bits", (double)layer.bits);
        json_number("probes", layer.probes);
        json_number("blocksPerKey", layer.blocks_per_key);
        json_number("plannedKeys", (double)layer.planned_keys);
        json_number("plannedRate", layer.planned_rate);
        json_number("adds", (double)layer.adds);
        json_number("bitsSet", (double)layer.bits_set);
        json_number("liveRate", layer.live_rate);
        json_close('}');
    }
    json_close(']');
}

static void put_numbers(const bloomery_info *info)
{
    json_number("kind", info->kind);
    json_text("kindName", bloomery_kind_name((int)info->kind));
    json_number("formatVersion", info->format_version);
    json_number("layers", info->layers);
    json_number("blocksPerKey", info->blocks_per_key);
    json_number("probes", info->probes);
    json_number("cellBits", info->cell_bits);
    json_number("counterMax", info->counter_max);
    json_number("bits", (double)info->bits);
    json_number("bytes", (double)info->bytes);
    json_number("fileBytes", (double)info->file_bytes);
    json_number("memoryBytes", (double)info->memory_bytes);
    json_number("plannedKeys", (double)info->planned_keys);
    json_number("plannedRate", info->planned_rate);
    json_number("growth", info->growth);
    json_number("tightening", info->tightening);
    json_number("adds", (double)info->adds);
}

/* What the cells say; zeros if they were not read. */
static void put_scan(const bloomery_filter *filter, bool scan)
{
    bloomery_scan_result result = BLOOMERY_SCAN_RESULT;
    if (scan)
        bloomery_scan(filter, &result);
    json_number("bitsSet", (double)result.bits_set);
    json_number("saturatedCells", (double)result.saturated_cells);
    json_number("fill", result.fill);
    json_number("liveRate", result.live_rate);
    json_number("estimatedKeys", result.estimated_keys);
    json_number("expectedRate", result.expected_rate);
}

const char *EXPORT(web_info)(const bloomery_filter *filter, int scan)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_info_get(filter, &info);
    const bloomery_dialect *dialect = bloomery_dialect_get(info.dialect);
    json_begin('{');
    put_numbers(&info);
    put_scan(filter, scan != 0);
    json_text("dialect", dialect != NULL ? dialect->name : NULL);
    json_text("variant", bloomery_dialect_variant(filter));
    json_text("hash", bloomery_hash_name(info.hash));
    json_hex("seed", info.seed);
    json_bool("keyed", info.secret_fingerprint != 0);
    json_bool("secretInFile", info.secret_in_file);
    json_bool("secretKnown", info.secret_known);
    json_bool("canAdd", info.can_add);
    json_bool("canRemove", info.can_remove);
    json_bool("canMerge", info.can_merge);
    json_bool("canGrow", info.can_grow);
    json_bool("hasBits", info.has_bits);
    json_text("note", info.note);
    put_rule(&info.rule);
    put_layers(filter, info.layers, scan != 0);
    char remark[REMARK_BYTES];
    json_open("remarks", '[');
    for (uint32_t i = 0; bloomery_dialect_remark(filter, i, remark, sizeof remark); i++)
        json_text(NULL, remark);
    json_close(']');
    return json_end('}');
}

double EXPORT(web_expected_rate)(const bloomery_filter *filter, double keys)
{
    return bloomery_expected_rate(filter, keys >= 1 ? (uint64_t)keys : 0);
}

/* {"status": 0}, or what is damaged and where. */
const char *EXPORT(web_verify)(const bloomery_filter *filter)
{
    bloomery_error error = {.status = BLOOMERY_OK};
    bloomery_verify(filter, &error);
    json_begin('{');
    json_number("status", error.status);
    if (error.status != BLOOMERY_OK) {
        json_text("error", error.text);
        json_number("offset", (double)error.offset);
    }
    return json_end('}');
}

/* ---- One key --------------------------------------------------------------------------------- */

/* 1: it was new; 0: it was possibly there; or a negative status. */
int EXPORT(web_add)(bloomery_filter *filter, const void *data, size_t bytes)
{
    return bloomery_add(filter, bloomery_key_of(data, bytes), &web_error) ? 1
                                                                          : (int)web_error.status;
}

/* 1: removed; 0: it was not there; or a negative status. */
int EXPORT(web_remove)(bloomery_filter *filter, const void *data, size_t bytes)
{
    return bloomery_remove(filter, bloomery_key_of(data, bytes), &web_error)
               ? 1
               : (int)web_error.status;
}

int EXPORT(web_may_contain)(const bloomery_filter *filter, const void *data, size_t bytes)
{
    return bloomery_may_contain(filter, bloomery_key_of(data, bytes));
}

double EXPORT(web_key_count)(const bloomery_filter *filter, const void *data, size_t bytes)
{
    return bloomery_key_count(filter, bloomery_key_of(data, bytes));
}

/* Writes the cells of a key in a layer, in the order in which they are touched; returns how many
 * there are, of which at most `room` are written. */
size_t EXPORT(web_positions)(const bloomery_filter *filter, int layer, const void *data,
                             size_t bytes, double *positions, size_t room)
{
    static uint64_t found[BLOOMERY_POSITIONS_MAX];
    const size_t count = bloomery_positions(filter, (uint32_t)layer, bloomery_key_of(data, bytes),
                                            found, BLOOMERY_POSITIONS_MAX);
    for (size_t i = 0; i < count && i < room; i++)
        positions[i] = (double)found[i];
    return count;
}

/* {"lo", "hi"} in hexadecimal digits, or null where positions are not a function of 128 bits. */
const char *EXPORT(web_hash)(const bloomery_filter *filter, const void *data, size_t bytes)
{
    bloomery_hash hash;
    if (bloomery_hash_key(filter, bloomery_key_of(data, bytes), &hash, NULL) != BLOOMERY_OK)
        return "null";
    json_begin('{');
    json_hex("lo", hash.lo);
    json_hex("hi", hash.hi);
    return json_end('}');
}

/* Makes the key of a record by a filter's rule. Returns BLOOMERY_RECORD_...; `out` has
 * BLOOMERY_RULE_ROOM(bytes) bytes and receives the key, `key_bytes` its length. */
int EXPORT(web_record)(const bloomery_filter *filter, const void *record, size_t bytes, void *out,
                       size_t room, size_t *key_bytes)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_key key = {NULL, 0};
    *key_bytes = 0;
    bloomery_info_get(filter, &info);
    /* Where the key lay in lines of a file does not matter: what is typed is its text. */
    info.rule.flags &= ~(uint32_t)BLOOMERY_RULE_ELSEWHERE;
    const bloomery_record found =
        bloomery_rule_apply(&info.rule, record, bytes, out, room, &key, NULL);
    if (key.data != NULL && key.bytes <= room) {
        memmove(out, key.data, key.bytes);
        *key_bytes = key.bytes;
    }
    return (int)found;
}

/* ---- Many keys: the whole numbers from `first` on, 8 bytes each, least significant first ------ */

static int64_t numbers[PORTION];

static bloomery_keys next_portion(uint64_t next, uint64_t end)
{
    size_t count = 0;
    for (; count < PORTION && next + count < end; count++)
        numbers[count] = (int64_t)(next + count);
    return bloomery_keys_of_integers(numbers, count);
}

int EXPORT(web_add_numbers)(bloomery_filter *filter, double first, double count)
{
    const uint64_t end = (uint64_t)first + (uint64_t)count;
    for (uint64_t next = (uint64_t)first; next < end;) {
        const bloomery_keys keys = next_portion(next, end);
        const bloomery_status status = bloomery_add_keys(filter, &keys, NULL, NULL, NULL);
        if (status != BLOOMERY_OK)
            return status;
        next += keys.count;
    }
    return BLOOMERY_OK;
}

/* How many of them are possibly in the filter. */
double EXPORT(web_count_numbers)(const bloomery_filter *filter, double first, double count)
{
    const uint64_t end = (uint64_t)first + (uint64_t)count;
    double found = 0;
    for (uint64_t next = (uint64_t)first; next < end;) {
        const bloomery_keys keys = next_portion(next, end);
        bloomery_counts counts = {0, 0, 0};
        bloomery_may_contain_keys(filter, &keys, NULL, &counts, NULL);
        found += (double)counts.positive;
        next += keys.count;
    }
    return found;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

/* Cells `first` to `first + count` of a layer, a byte for each. Returns how many there are. */
size_t EXPORT(web_cells)(const bloomery_filter *filter, int layer, double first, size_t count,
                         uint8_t *out)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_layer_info facts = BLOOMERY_LAYER_INFO;
    const void *memory;
    uint64_t bytes;
    bloomery_info_get(filter, &info);
    if (!info.has_bits || bloomery_layer_info_get(filter, (uint32_t)layer, false, &facts) != 0 ||
        bloomery_layer_span(filter, (uint32_t)layer, &memory, &bytes) != BLOOMERY_OK)
        return 0;
    const uint8_t *cells = memory;
    size_t done = 0;
    for (uint64_t at = (uint64_t)first; done < count && at < facts.bits; at++, done++) {
        const uint64_t bit = at * info.cell_bits;
        assert(bit / 8 < bytes);
        out[done] = (uint8_t)(cells[bit / 8] >> (bit & 7) & ((1u << info.cell_bits) - 1));
    }
    return done;
}

/* How many cells in these bytes are not 0. Bits are counted by words: a large filter has many. */
static uint64_t used(const uint8_t *cells, uint64_t from, uint64_t to, uint32_t cell_bits)
{
    uint64_t set = 0;
    for (uint64_t word; cell_bits == 1 && to - from >= sizeof word; from += sizeof word) {
        memcpy(&word, cells + from, sizeof word);
        set += (uint64_t)__builtin_popcountll(word);
    }
    for (uint64_t i = from; i < to; i++) {
        if (cell_bits == 1)
            set += (uint64_t)__builtin_popcount(cells[i]);
        else if (cell_bits == 4)
            set += ((cells[i] & 15) != 0) + (cells[i] > 15);
        else
            set += cells[i] != 0;
    }
    return set;
}

/* The share of the cells in these bytes that are set; of counters the share that is not 0. The last
 * byte may end with bits that are past the last of `count` cells, and are 0. */
static double share(const uint8_t *cells, uint64_t from, uint64_t to, uint32_t cell_bits,
                    uint64_t count)
{
    const uint64_t first = from * 8 / cell_bits;
    const uint64_t end = to * 8 / cell_bits;
    const double all = (double)((end < count ? end : count) - first);
    return to > from ? (double)used(cells, from, to, cell_bits) / all : 0;
}

/* Of each of `buckets` equal parts of a layer's bytes the share of its cells that are set. */
size_t EXPORT(web_fill)(const bloomery_filter *filter, int layer, size_t buckets, double *out)
{
    bloomery_info info = BLOOMERY_INFO;
    bloomery_layer_info facts = BLOOMERY_LAYER_INFO;
    const void *cells;
    uint64_t all;
    bloomery_info_get(filter, &info);
    if (!info.has_bits || bloomery_layer_info_get(filter, (uint32_t)layer, false, &facts) != 0 ||
        bloomery_layer_span(filter, (uint32_t)layer, &cells, &all) != BLOOMERY_OK)
        return 0;
    const uint64_t bytes = (facts.bits * info.cell_bits + 7) / 8;
    const size_t parts = bytes < buckets ? (size_t)bytes : buckets;
    for (size_t i = 0; i < parts; i++)
        out[i] =
            share(cells, bytes * i / parts, bytes * (i + 1) / parts, info.cell_bits, facts.bits);
    return parts;
}
