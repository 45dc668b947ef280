/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ClickHouse's skip index bloom_filter(p), granule by granule, as it is or in its file
 * (dialects/clickhouse.c):
 *
 *     rows     7 bits a byte, low ones first, the top bit says that there are more; 1 or more
 *     then     for each column of the index B = ceil(bits_per_key rows / 8) bytes; bit p is bit
 *              p & 7 of byte p >> 3
 *
 * Rows are the distinct values of the column that has most of them (in older releases all rows, or
 * all elements of arrays). Bits per key and the k probes follow from p (dialects/clickhouse.h; 8
 * and 4 for the default p of 0.025). p is in the table's definition and not in the bytes, like the
 * number of columns. Filters are counted from 0 through all granules: `index` is granule times
 * columns plus column.
 *
 * A value has one hash: of strings (FixedString with its zeros) CityHash64, of numbers fmix64, of a
 * Float32 that of the double. Position i is H128(hash, salt i) mod 8 B, k at most 15. NULL counts
 * as the type's default value; a granule whose arrays are all empty has the hash 0, which is
 * fmix64's of an empty key.
 *
 * Known faults: 0.0 and -0.0, which are equal, have different hashes, so that a query for 0.0 loses
 * rows with -0.0. Of numbers of 256 bits the highest 64 are lost. And those of the table.
 */
#include "base/error.h"
#include "dialects/clickhouse.h"
#include "dialects/schemes.h"
#include "hash/city.h"
#include "hash/murmur3.h"

#include <assert.h>
#include <stdio.h>

/* ---- The hash of strings --------------------------------------------------------------------- */

static bloomery_hash of_string(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    (void)secret;
    return (bloomery_hash){.lo = bloomery_city64(key.data, key.bytes), .hi = 0};
}

static const struct bloomery_hash_row city64 = {
    .id = BLOOMERY_HASH_CITY64,
    .name = "city64",
    .available = true,
    .one = of_string,
};

/* ---- The hash of numbers --------------------------------------------------------------------- */

/*
 * ClickHouse's hash of a number: the finaliser of murmur3 of its value, taken as unsigned in its
 * own width (-1 in one byte is 255). A key is the number's bytes, little-endian, 1 to 8 of them. 16
 * bytes (128 bits, UUID, IPv6) are its two words XORed. 32 (256 bits) are its words XORed but for
 * the highest, which ClickHouse forgets. The empty key is 0, which is also what a part without
 * numbers hashes to.
 *
 * ClickHouse has no numbers of other lengths. Here they have zeros after them, and past 32 bytes
 * all words but the fourth count, so every key has a hash.
 */

enum { WORD = 8, FORGOTTEN = 3 };

static bloomery_hash of_number(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const uint8_t *data = key.data;
    uint64_t value = 0;
    (void)secret;
    for (size_t at = 0, word = 0; at < key.bytes; at += WORD, word++) {
        const size_t left = key.bytes - at;
        if (word != FORGOTTEN)
            value ^= bloomery_load_le(data + at, left < WORD ? (unsigned)left : WORD);
    }
    return (bloomery_hash){.lo = bloomery_fmix64(value), .hi = 0};
}

static const struct bloomery_hash_row fmix64 = {
    .id = BLOOMERY_HASH_FMIX64,
    .name = "fmix64",
    .available = true,
    .one = of_number,
};

/* ---- Positions ------------------------------------------------------------------------------- */

/*
 * Probe i is at H128(lo, salt i) mod m: ClickHouse's skip index. H128 is CityHash's way to make one
 * word of two, and the salts are fifteen constants. Every probe hashes anew. So positions are
 * independent of each other as far as two keys differ in their 64 bits, and the classic rate is the
 * rate.
 */

enum { SALTS = 15 };

/* Random numbers, the same ones in every index there is. */
static const uint64_t salts[SALTS] = {
    UINT64_C(13635471485423070496), UINT64_C(10336109063487487899), UINT64_C(17779957404565211594),
    UINT64_C(8988612159822229247),  UINT64_C(4954614162757618085),  UINT64_C(12980113590177089081),
    UINT64_C(9263883436177860930),  UINT64_C(3656772712723269762),  UINT64_C(10362091744962961274),
    UINT64_C(7582936617938287249),  UINT64_C(15033938188484401405), UINT64_C(18286745649494826751),
    UINT64_C(6852245486148412312),  UINT64_C(8886056245089344681),  UINT64_C(10151472371158292780),
};

static inline struct bloomery_steps salted_pair_begin(const struct bloomery_layer *layer,
                                                      bloomery_hash hash)
{
    (void)layer;
    assert(layer->bits > 0);
    return (struct bloomery_steps){.at = hash.lo};
}

static inline uint64_t salted_pair_next(const struct bloomery_layer *layer,
                                        struct bloomery_steps *steps, uint32_t i)
{
    assert(i < SALTS);
    return bloomery_city_mix(steps->at, salts[i]) % layer->bits;
}

#define SCHEME salted_pair
#include "dialects/scheme_template.h"

static const struct bloomery_kind_row salted_pair = {
    BLOOMERY_FLAT_ROW(BLOOMERY_PROBES_SALTED_PAIR),
    .check = bloomery_classic_check,
    .operations = salted_pair_operations,
    BLOOMERY_ROW_RATES(bloomery_classic),
    .probes_max = SALTS,
};

/* ---- Numbers and bytes ----------------------------------------------------------------------- */

enum { COLUMNS_MAX = 65536, ROWS_BYTES = 9 };
enum { BITS_MIN = 2, BITS_MAX = 19 }; /* per key, by dialects/clickhouse.h */

/* By its number; from the third on with the doubles of older releases. */
enum { STRINGS, NUMBERS, STRINGS_DOUBLE, NUMBERS_DOUBLE };

static const uint64_t rows_max = UINT64_C(1) << 48;

static bloomery_status lay_out(int variant, double rate, uint64_t rows, uint64_t bytes,
                               uint32_t probes, struct bloomery_design *design,
                               bloomery_error *error)
{
    if (bytes < 1 || bytes > (UINT64_C(1) << 47))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a filter of an index has 1 to 2^47 bytes, not %llu",
                             (unsigned long long)bytes);
    if (probes < 1 || probes > SALTS)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "ClickHouse's index has 1 to 15 probes, not %u: give the probes, or "
                             "the rate of the index",
                             probes);
    bloomery_design_flat(design,
                         variant == NUMBERS || variant == NUMBERS_DOUBLE ? &fmix64 : &city64,
                         &salted_pair, bytes * 8, probes);
    design->layers[0].keys = rows;
    design->layers[0].rate = rate;
    return BLOOMERY_OK;
}

static bloomery_status plan(const bloomery_dialect_parameters *given, int variant,
                            struct bloomery_design *design, bloomery_error *error)
{
    struct bloomery_practice practice;
    uint64_t bytes = given->bytes;
    bloomery_status status =
        bloomery_clickhouse_practice(given, variant >= STRINGS_DOUBLE, &practice, error);
    if (status != BLOOMERY_OK)
        return status;
    if (given->keys == 0 || given->keys > rows_max || (bytes != 0) == (practice.bits_per_key != 0))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "ClickHouse's index takes keys (1 to 2^48) and a rate, or keys, "
                             "probes and one of bits_per_key and bytes");
    if (bytes == 0 && !bloomery_clickhouse_bytes(practice.bits_per_key, given->keys, &bytes))
        bytes = UINT64_MAX;
    return lay_out(variant, given->rate, given->keys, bytes, practice.probes, design, error);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* A granule, from its first byte on. */
struct granule {
    uint64_t at;
    uint64_t rows;
    uint64_t bits;         /* where its filters begin */
    uint64_t filter_bytes; /* of each of its columns */
};

/* The number of rows, and moves past it. In its shortest form, as ClickHouse writes it. */
static bloomery_status read_rows(struct bloomery_clickhouse_payload *payload,
                                 struct granule *granule, bloomery_error *error)
{
    uint8_t byte = 0x80;
    granule->bits = granule->at;
    granule->rows = 0;
    for (unsigned i = 0; i < ROWS_BYTES && (byte & 0x80) != 0; i++) {
        if (granule->bits == payload->bytes)
            return bloomery_fail(error, BLOOMERY_TRUNCATED, 0,
                                 "cut short: the number of rows at byte %llu is missing",
                                 (unsigned long long)granule->at);
        bloomery_clickhouse_read(payload, granule->bits++, &byte, 1);
        granule->rows |= (uint64_t)(byte & 0x7f) << (7 * i);
    }
    if ((byte & 0x80) != 0 || (byte == 0 && granule->bits > granule->at + 1) ||
        granule->rows == 0 || granule->rows > rows_max)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                             "damaged: the number of rows at byte %llu is not 1 to 2^48, in as few "
                             "bytes as it needs",
                             (unsigned long long)granule->at);
    return BLOOMERY_OK;
}

/* There is only one granule. Its size must be that of some whole number of bits per key, and of one
 * that ClickHouse's table has. */
static bloomery_status size_of_only(const struct bloomery_clickhouse_payload *payload,
                                    uint32_t columns, struct granule *granule,
                                    bloomery_error *error)
{
    const uint64_t left = payload->bytes - granule->bits;
    granule->filter_bytes = left / columns;
    for (uint32_t bits = BITS_MIN; bits <= BITS_MAX && left % columns == 0; bits++) {
        uint64_t wanted;
        if (bloomery_clickhouse_bytes(bits, granule->rows, &wanted) &&
            wanted == granule->filter_bytes)
            return BLOOMERY_OK;
    }
    return bloomery_fail(error, BLOOMERY_TRUNCATED, 0,
                         "cut short, or not one granule: %llu bytes for %llu rows and %u column%s "
                         "are not 2 to 19 bits for each; for several granules give the "
                         "rate of the index, or bits_per_key",
                         (unsigned long long)left, (unsigned long long)granule->rows, columns,
                         columns == 1 ? "" : "s");
}

static bloomery_status size_of_one(const struct bloomery_clickhouse_payload *payload,
                                   uint32_t columns, uint32_t bits_per_key, struct granule *granule,
                                   bloomery_error *error)
{
    const uint64_t left = payload->bytes - granule->bits;
    uint64_t all;
    if (bloomery_clickhouse_bytes(bits_per_key, granule->rows, &granule->filter_bytes) &&
        !__builtin_mul_overflow(granule->filter_bytes, (uint64_t)columns, &all) && all <= left)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_TRUNCATED, 0,
                         "cut short, or not of such an index: the granule at byte %llu has %llu "
                         "rows with %u bits in each of %u column%s, and %llu bytes are left",
                         (unsigned long long)granule->at, (unsigned long long)granule->rows,
                         bits_per_key, columns, columns == 1 ? "" : "s", (unsigned long long)left);
}

/* Goes through all granules; `wanted` receives the one with that number, if there is one. */
static bloomery_status find_granule(struct bloomery_clickhouse_payload *payload, uint32_t columns,
                                    uint32_t bits_per_key, uint64_t number, struct granule *wanted,
                                    uint64_t *count, bloomery_error *error)
{
    struct granule granule = {.at = 0};
    *count = 0;
    do {
        bloomery_status status = read_rows(payload, &granule, error);
        if (status == BLOOMERY_OK)
            status = bits_per_key != 0
                         ? size_of_one(payload, columns, bits_per_key, &granule, error)
                         : size_of_only(payload, columns, &granule, error);
        if (status != BLOOMERY_OK)
            return status;
        if ((*count)++ == number)
            *wanted = granule;
        granule.at = granule.bits + granule.filter_bytes * columns;
        assert(granule.at <= payload->bytes);
    } while (granule.at < payload->bytes);
    return BLOOMERY_OK;
}

static bloomery_status parse(const uint8_t *data, size_t data_bytes,
                             const bloomery_dialect_parameters *given, int variant,
                             struct bloomery_design *design, bloomery_error *error)
{
    const uint32_t columns = given->columns != 0 ? given->columns : 1;
    struct bloomery_practice practice;
    struct bloomery_clickhouse_payload payload;
    struct granule granule = {.at = 0};
    uint64_t count;
    if (columns > COLUMNS_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "an index has 1 to 65536 columns");
    bloomery_status status =
        bloomery_clickhouse_practice(given, variant >= STRINGS_DOUBLE, &practice, error);
    if (status == BLOOMERY_OK)
        status = bloomery_clickhouse_open(data, data_bytes, &payload, error);
    if (status == BLOOMERY_OK)
        status = find_granule(&payload, columns, practice.bits_per_key, given->index / columns,
                              &granule, &count, error);
    if (status != BLOOMERY_OK)
        return status;
    if (given->index / columns >= count)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "filter number %llu does not exist: the file has %llu granules with "
                             "%u column%s, counted from 0",
                             (unsigned long long)given->index, (unsigned long long)count, columns,
                             columns == 1 ? "" : "s");
    assert(granule.rows > 0 && granule.bits + granule.filter_bytes * columns <= payload.bytes);
    status = lay_out(variant, given->rate, granule.rows, granule.filter_bytes, practice.probes,
                     design, error);
    if (status == BLOOMERY_OK)
        bloomery_clickhouse_take(&payload,
                                 granule.bits + granule.filter_bytes * (given->index % columns),
                                 granule.filter_bytes, given->index, count * columns, design);
    return status;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static bloomery_status fits(const bloomery_filter *filter, bloomery_error *error)
{
    const struct bloomery_layer *layer = filter->layers;
    if (filter->shape.dialect != BLOOMERY_DIALECT_CLICKHOUSE_INDEX)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0, "%s",
                             bloomery_dialect_clickhouse_index.others);
    if (layer->bits % 8 != 0 || layer->keys == 0 || layer->keys > rows_max)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                             "ClickHouse's index has whole bytes, and says for how many rows");
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    uint8_t head[ROWS_BYTES];
    size_t bytes = 0;
    uint64_t rows = filter->layers[0].keys;
    assert(bloomery_dialect_fits(&bloomery_dialect_clickhouse_index, filter, NULL) == BLOOMERY_OK);
    assert(rows > 0 && rows <= rows_max);
    for (; rows >= 0x80; rows >>= 7)
        head[bytes++] = (uint8_t)(rows | 0x80);
    head[bytes++] = (uint8_t)rows;
    return bloomery_clickhouse_write(filter, head, bytes, emitter);
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static bool remark_zeros(const bloomery_filter *filter, char *text, size_t room)
{
    snprintf(text, room,
             "0.0 and -0.0 are equal and have different hashes: queried for the one, ClickHouse "
             "loses rows with the other");
    return filter->hash == &fmix64;
}

static bool remark_wide(const bloomery_filter *filter, char *text, size_t room)
{
    snprintf(text, room,
             "of numbers of 256 bits the highest 64 are not hashed, and of 128 bits (UUID, IPv6) "
             "the two halves are only XORed: numbers that differ in those ways are one to this "
             "index");
    return filter->hash == &fmix64;
}

const struct bloomery_dialect_row bloomery_dialect_clickhouse_index = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_CLICKHOUSE_INDEX,
            .name = "clickhouse-index",
            .description = "ClickHouse's skip index bloom_filter, a granule of it or its file",
            .variants = "strings, numbers, strings-double, numbers-double",
            .load_needs = "probes",
            .load_takes = "variant, rate, probes, bits_per_key, columns, index",
            .create_takes = "variant, keys, rate, bytes, probes, bits_per_key",
            .reads = true,
            .writes = true,
            .creates = true,
            .hashes = true,
        },
    .names = {"strings", "numbers", "strings-double", "numbers-double"},
    .hashes = {&city64, &fmix64},
    .schemes = {&salted_pair},
    .seeded = true,
    .others = "ClickHouse's index has a hash and a scheme of its own",
    .plan = plan,
    .parse = parse,
    .write = write,
    .fits = fits,
    .remarks = {remark_zeros, remark_wide, bloomery_remark_rate, bloomery_clickhouse_remark_gap,
                bloomery_clickhouse_remark_literals, bloomery_clickhouse_remark_place},
    .variants_by_hash = true,
};
