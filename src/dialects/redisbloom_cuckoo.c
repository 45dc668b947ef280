/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RedisBloom's cuckoo filters (2.x, 8.x), as CF.SCANDUMP hands them out: its chunks, one behind the
 * other.
 *
 *     byte 0     keys                        u64, little-endian, packed, as all that follows
 *     byte 8     n, the buckets of a table   u64, a power of two: of the first table
 *     byte 16    removed                     u64: keys, since the last compaction
 *     byte 24    tables                      u64
 *     byte 32    b, the slots of a bucket    u16
 *     byte 34    most iterations             u16
 *     byte 36    E, expansion                u16: a power of two, or 0
 *     byte 38    the slots of the tables, the oldest first: n b, E n b, E^2 n b, ... bytes
 *
 * Keys are hashed by MurmurHash64A with seed 0. kinds/tables.c has the rest.
 *
 * Faults: a fingerprint has one byte, so the rate is 1.6 % for each full table of two slots a
 * bucket, and the tables' rates add up: half of all absent keys after 32 tables.
 */
#include "dialects/redisbloom.h"

#include "base/bits.h"
#include "base/bytes.h"
#include "base/error.h"
#include "dialects/schemes.h"
#include "kinds/tables.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

/* ---- The hash and the scheme ----------------------------------------------------------------- */

static bloomery_hash hash_plain(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    (void)secret;
    return (bloomery_hash){.lo = bloomery_murmur64a(0, key.data, key.bytes)};
}

static const struct bloomery_hash_row murmur64a_plain = {
    .id = BLOOMERY_HASH_MURMUR64A_PLAIN,
    .name = "murmur64a",
    .available = true,
    .one = hash_plain,
};

static const struct bloomery_kind_row tables = {
    .id = BLOOMERY_CUCKOO,
    .block_scheme = BLOOMERY_BLOCKS_CUCKOO,
    .probe_scheme = BLOOMERY_PROBES_SLOTS,
    .check = bloomery_table_check,
    .operations = bloomery_table_operations,
    BLOOMERY_ROW_RATES(bloomery_table),
    .next_layer = bloomery_table_next,
    .cell_sizes = 1 << 8,
    .probes_max = 2 * BLOOMERY_CUCKOO_SLOTS_MAX,
    .adds = true,
    .removes = true,
    .tables = true,
    .has_bits = true,
};

/* ---- Numbers and bytes ----------------------------------------------------------------------- */

enum { HEADER = BLOOMERY_CUCKOO_HEADER, GROWTH_USUAL = 1 };

static const uint64_t keys_usual = 1024;
static const uint64_t keys_max = UINT64_C(1) << 40;

/* The smallest power of two that is at least `number`; 0 for 0. */
static uint64_t power_of(uint64_t number)
{
    uint64_t power = 1;
    assert(number <= UINT64_C(1) << 62);
    if (number == 0)
        return 0;
    while (power < number)
        power *= 2;
    return power;
}

/* The tables of a filter. */
static bloomery_status begin(struct bloomery_design *design, uint64_t buckets, uint32_t count,
                             uint32_t slots, uint32_t iterations, uint32_t growth,
                             bloomery_error *error)
{
    struct bloomery_shape *shape = &design->shape;
    uint64_t bits;
    const bloomery_status status = bloomery_design_room(design, count, 0, error);
    if (status != BLOOMERY_OK)
        return status;
    bloomery_design_rows(design, &murmur64a_plain, &tables);
    shape->block_bits = (uint16_t)slots;
    shape->cell_bits = 8;
    shape->growth = growth;
    shape->layer_count = count;
    if (__builtin_mul_overflow(buckets, (uint64_t)slots, &bits))
        bits = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (bits >= BLOOMERY_TABLE_SLOTS)
            return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                                 "table %u would have %llu slots: a table has fewer than 2^32",
                                 i + 1, (unsigned long long)bits);
        design->layers[i] = (struct bloomery_layer){
            .bits = bits, .probes = slots, .blocks_per_key = 2, .iterations = iterations};
        bits *= growth; /* 2^32 times 2^16 at most */
    }
    return BLOOMERY_OK;
}

/* ---- Making ---------------------------------------------------------------------------------- */

bloomery_status bloomery_cuckoo_design(uint64_t keys, uint32_t slots, uint32_t iterations,
                                       uint32_t growth, struct bloomery_design *design,
                                       bloomery_error *error)
{
    if (slots > BLOOMERY_CUCKOO_SLOTS_MAX || iterations > BLOOMERY_CUCKOO_ITERATIONS_MAX ||
        growth > BLOOMERY_CUCKOO_GROWTH_MAX || keys > keys_max)
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "a cuckoo filter has 1 to %d slots a bucket, 1 to %d iterations, tables that grow by 0 "
            "to %d, and is made for at most 2^40 keys",
            BLOOMERY_CUCKOO_SLOTS_MAX, BLOOMERY_CUCKOO_ITERATIONS_MAX, BLOOMERY_CUCKOO_GROWTH_MAX);
    keys = keys > 0 ? keys : keys_usual;
    slots = slots > 0 ? slots : BLOOMERY_CUCKOO_SLOTS;
    const uint64_t buckets = keys / slots > 0 ? power_of(keys / slots) : 1;
    const bloomery_status status =
        begin(design, buckets, 1, slots, iterations > 0 ? iterations : BLOOMERY_CUCKOO_ITERATIONS,
              (uint32_t)power_of(growth), error);
    if (status != BLOOMERY_OK)
        return status;
    design->layers[0].keys = keys;
    design->layers[0].rate = bloomery_table_rate(buckets, keys);
    return BLOOMERY_OK;
}

static bloomery_status plan(const bloomery_dialect_parameters *given, int variant,
                            struct bloomery_design *design, bloomery_error *error)
{
    const uint32_t growth = given->growth > 0 ? given->growth : GROWTH_USUAL;
    return bloomery_cuckoo_design(given->keys, given->slots, given->iterations,
                                  variant == 0 ? growth : 0, design, error);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The numbers of a header, checked each for itself. */
struct numbers {
    uint64_t keys, buckets, removed, count;
    uint32_t slots, iterations, growth;
};

static bloomery_status read_numbers(const uint8_t *data, size_t bytes, struct numbers *found,
                                    bloomery_error *error)
{
    if (bytes < HEADER)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: a header of RedisBloom's cuckoo filters has %d bytes, "
                             "there are %zu",
                             HEADER, bytes);
    *found = (struct numbers){.keys = bloomery_load_u64(data),
                              .buckets = bloomery_load_u64(data + 8),
                              .removed = bloomery_load_u64(data + 16),
                              .count = bloomery_load_u64(data + 24),
                              .slots = bloomery_load_u16(data + 32),
                              .iterations = bloomery_load_u16(data + 34),
                              .growth = bloomery_load_u16(data + 36)};
    if (found->buckets == 0 || (found->buckets & (found->buckets - 1)) != 0 || found->slots == 0 ||
        found->slots > BLOOMERY_CUCKOO_SLOTS_MAX || found->iterations == 0)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 8,
                             "damaged: %llu buckets of %u slots, %u iterations",
                             (unsigned long long)found->buckets, found->slots, found->iterations);
    if (found->growth > BLOOMERY_CUCKOO_GROWTH_MAX || (found->growth & (found->growth - 1)) != 0 ||
        found->count == 0 || (found->growth == 0 && found->count > 1))
        return bloomery_fail(error, BLOOMERY_CORRUPT, 24, "damaged: %llu tables that grow by %u",
                             (unsigned long long)found->count, found->growth);
    if (found->count > BLOOMERY_LAYERS_MAX)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 24,
                             "%llu tables are more than the %d that a filter can have here",
                             (unsigned long long)found->count, BLOOMERY_LAYERS_MAX);
    if (found->keys > INT64_MAX || found->removed > INT64_MAX)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                             "damaged: more than 2^63 - 1 keys, or removed keys");
    return BLOOMERY_OK;
}

static bloomery_status design_of(const struct numbers *numbers, struct bloomery_design *design,
                                 bloomery_error *error)
{
    const bloomery_status status =
        begin(design, numbers->buckets, (uint32_t)numbers->count, numbers->slots,
              numbers->iterations, numbers->growth, error);
    if (status != BLOOMERY_OK)
        return status;
    design->layers[0].adds = numbers->keys;
    design->layers[0].removed = numbers->removed;
    return BLOOMERY_OK;
}

bloomery_status bloomery_cuckoo_parse_header(const uint8_t *data, size_t bytes,
                                             struct bloomery_design *design, bloomery_error *error)
{
    struct numbers numbers = {0};
    const bloomery_status status = read_numbers(data, bytes, &numbers, error);
    return status == BLOOMERY_OK ? design_of(&numbers, design, error) : status;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given, int variant,
                             struct bloomery_design *design, bloomery_error *error)
{
    struct numbers numbers = {0};
    (void)given;
    (void)variant;
    bloomery_status status = read_numbers(data, bytes, &numbers, error);
    /* A table has at least a slot: no memory is taken for tables that do not follow. */
    if (status == BLOOMERY_OK && numbers.count > bytes - HEADER)
        status = bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                               "cut short: %llu tables are not in the %zu bytes behind the header",
                               (unsigned long long)numbers.count, bytes - HEADER);
    if (status == BLOOMERY_OK)
        status = design_of(&numbers, design, error);
    if (status != BLOOMERY_OK)
        return status;
    uint64_t at = HEADER; /* 2^16 tables of 2^32 slots at most */
    for (uint32_t i = 0; i < design->shape.layer_count; i++) {
        design->bit_bytes[i] = design->layers[i].bits;
        at += design->bit_bytes[i];
        if (at <= bytes)
            design->bits[i] = data + (size_t)(at - design->bit_bytes[i]);
    }
    if (at != bytes)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "%s: header and slots take %llu bytes, there are %zu",
                             at > bytes ? "cut short" : "something follows the filter",
                             (unsigned long long)at, bytes);
    design->layout = BLOOMERY_LAYOUT_BYTES;
    return BLOOMERY_OK;
}

/* ---- Writing --------------------------------------------------------------------------------- */

void bloomery_cuckoo_write_header(const bloomery_filter *filter, uint8_t *header)
{
    const struct bloomery_layer *first = &filter->layers[0];
    assert(filter->kind->tables && first->adds <= INT64_MAX && first->removed <= INT64_MAX);
    bloomery_store_u64(header, first->adds);
    bloomery_store_u64(header + 8, first->blocks);
    bloomery_store_u64(header + 16, first->removed);
    bloomery_store_u64(header + 24, filter->shape.layer_count);
    bloomery_store_u16(header + 32, (uint16_t)first->probes);
    bloomery_store_u16(header + 34, (uint16_t)first->iterations);
    bloomery_store_u16(header + 36, (uint16_t)filter->shape.growth);
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    uint8_t header[HEADER];
    bloomery_cuckoo_write_header(filter, header);
    bloomery_status status = bloomery_emit(emitter, header, HEADER);
    for (uint32_t i = 0; i < filter->shape.layer_count && status == BLOOMERY_OK; i++)
        status = bloomery_emit_bits(emitter, &filter->layers[i], filter->layers[i].bits,
                                    BLOOMERY_LAYOUT_BYTES);
    return status;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static int variant_of(const bloomery_filter *filter)
{
    return filter->shape.growth == 0;
}

/* A table has a rate of its own, and each table adds its rate. */
static bool remark_tables(const bloomery_filter *filter, char *text, size_t room)
{
    const uint32_t count = filter->shape.layer_count;
    if (count == 1)
        return false;
    snprintf(text, room,
             "it has %u tables, whose rates add up; compact it after removals, or make one of %llu "
             "keys or more",
             count, (unsigned long long)bloomery_tables_slots(&filter->shape, count));
    return true;
}

const struct bloomery_dialect_row bloomery_dialect_redisbloom_cuckoo = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_REDISBLOOM_CUCKOO,
            .name = "redisbloom-cuckoo",
            .description =
                "RedisBloom's cuckoo filters, the chunks of its CF.SCANDUMP one behind the other",
            .variants = "scaling, nonscaling",
            .load_needs = "",
            .load_takes = "",
            .create_takes = "variant, keys, growth, slots, iterations",
            .reads = true,
            .writes = true,
            .creates = true,
            .hashes = true,
        },
    .names = {"scaling", "nonscaling"},
    .hashes = {&murmur64a_plain},
    .schemes = {&tables},
    .others = "RedisBloom's cuckoo filters hash by murmurhash64a and keep tables of fingerprints",
    .plan = plan,
    .parse = parse,
    .write = write,
    .remarks = {remark_tables},
    .variant = variant_of,
};
