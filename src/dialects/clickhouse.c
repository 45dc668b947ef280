/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ClickHouse's BloomFilter: what its indexes tokenbf_v1, ngrambf_v1 and sparse_grams are made of.
 * `bytes` bytes and no head; size, probes and seed are in the table's definition:
 *
 *     INDEX name column TYPE tokenbf_v1(BYTES, PROBES, SEED)
 *
 * m = 8 bytes, 1 to 2^30 of them. Two CityHash64 (1.0.2) of the key make all positions, one with
 * the seed and one with 845897321 seed + 217728422 mod 2^64. They are (a + i b + i^2 mod 2^64) mod
 * m for i = 0 .. k-1; position p is bit p & 7 of byte p >> 3. A key is a token: of tokenbf a run of
 * letters and digits and of bytes from 0x80 on, of ngrambf a fixed number of code points. A file
 * skp_idx_NAME.idx holds one filter for each granule, behind each other (the end of this file draws
 * it): `index` says which.
 *
 * From keys and rate: bits per key and probes as its bloom_filter index takes them
 * (dialects/clickhouse.h), and ceil(bits n / 8) bytes.
 */
#include "dialects/clickhouse.h"

#include "base/bytes.h"
#include "base/error.h"
#include "dialects/schemes.h"
#include "dialects/sizing.h"
#include "hash/city.h"
#include "plan/classic_rate.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- The hash -------------------------------------------------------------------------------- */

/* Two hashes that differ in their seeds alone; each seed is mixed with one hash of the key. Without
 * a seed the first of the empty key is 0. */
static bloomery_hash pair_one(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const uint64_t city = bloomery_city64(key.data, key.bytes) - BLOOMERY_CITY_K2;
    const uint64_t other_seed = UINT64_C(845897321) * secret->seed + UINT64_C(217728422);
    return (bloomery_hash){.lo = bloomery_city_mix(city, secret->seed),
                           .hi = bloomery_city_mix(city, other_seed)};
}

static const struct bloomery_hash_row city64_pair = {
    .id = BLOOMERY_HASH_CITY64_PAIR,
    .name = "city64-pair",
    .available = true,
    .one = pair_one,
};

/* ---- Rates ----------------------------------------------------------------------------------- */

/*
 * These are three effects that k independent positions do not have, each rare and each worth more
 * than it is rare. A filter at 1 in 10^13 by the classic formula can be one at 1 in 10^5.
 *
 * 1. A key's own positions coincide. i and j do if (j - i)(b + i + j) = 0 mod m. The chance is g/m,
 *    g the power of two in j - i and m, and not 1/m. The key then needs a bit less.
 * 2. A stored key hits two positions of the queried one, i to i' and j to j'. The chance is g/m^2,
 *    g the power of two in j - i, j' - i' and m, and not 1/m^2.
 * 3. A stored key lies on the queried one as on a ruler, shifted by s or turned round. Then r of k
 *    positions are the same at once, all of them for s = 0. Each of these has the chance 1/m^2,
 *    since a and b decide it, and not m^-r. There are two with r = k and four with every smaller r.
 *
 * Two of r positions that coincide were counted by 2 already. So 3 counts if three or more of the r
 * cells would otherwise be empty: e = 1 - fill, P(Bin(r, e) >= 3). The other k - r must be set
 * anyhow.
 *
 * All sums wrap at 2^64. If m is a power of two that changes nothing. Else two keys lie on each
 * other only if they wrap at the same steps, but for a linear term. Two linear terms chosen at
 * random do so at r steps with the chance agree(r): floor(x + i y) for uniform x, y, up to integer
 * a + i b.
 */

enum { AGREE_ROWS = 17 };

/* Exact to the digits given (tests/reference/lines_agree.py); from there on it falls as 2 / r^2. */
static double agree(uint32_t r)
{
    static const double chance[AGREE_ROWS] = {
        1,        1,        1,        0.375,    0.194444, 0.114583, 0.0758333, 0.0527778, 0.0387755,
        0.029635, 0.023281, 0.018668, 0.015352, 0.012774, 0.010805, 0.009259,  0.008006,
    };
    return r < AGREE_ROWS ? chance[r] : 2 / ((double)r * r);
}

/* P(Bin(trials, chance) >= 3). */
static double three_or_more(uint32_t trials, double chance)
{
    assert(trials >= 2 && chance >= 0 && chance <= 1);
    const double other = 1 - chance;
    const double none = pow(other, trials);
    const double one = trials * chance * pow(other, trials - 1);
    const double two = (double)trials * (trials - 1) / 2 * chance * chance * pow(other, trials - 2);
    return fmax(0, 1 - none - one - two);
}

double bloomery_quadratic_excess(uint64_t bits, uint32_t probes, double keys, double fill)
{
    const double m = (double)bits;
    const double empty = 1 - fill;
    const bool power_of_two = (bits & (bits - 1)) == 0;
    double excess = 0;
    assert(bits >= 1 && probes >= 1 && fill >= 0 && fill <= 1);
    for (uint32_t g = 2; g < probes && bits % g == 0; g *= 2) {
        /* How many pairs of probes are a multiple of g apart. */
        const uint32_t distances = (probes - 1) / g;
        const double count = distances;
        const double pairs = count * probes - g * count * (count + 1) / 2;
        excess += g / 2.0 * pairs * pow(fill, probes - 1) * empty / m;
        excess += (double)g * pairs * pairs * keys / m / m * pow(fill, probes - 2) * empty * empty;
    }
    for (uint32_t r = 3; r <= probes; r++)
        excess += (r == probes ? 2 : 4) * keys / m / m * pow(fill, probes - r) *
                  three_or_more(r, empty) * (power_of_two ? 1 : agree(r));
    return excess;
}

double bloomery_quadratic_rate(uint64_t bits, uint32_t probes, uint64_t keys, double classic_rate)
{
    if (keys == 0)
        return 0;
    const double throws = (double)probes * (double)keys;
    const double fill = bits > 1 ? -expm1(throws * log1p(-1 / (double)bits)) : 1;
    return fmin(1, classic_rate + bloomery_quadratic_excess(bits, probes, (double)keys, fill));
}

/* ---- Positions ------------------------------------------------------------------------------- */

/*
 * Probe i at (a + i b + i^2) mod 2^64 mod m, as ClickHouse's core filter has it. From one probe to
 * the next a step is added that grows by 2: 1 + b, 3 + b, 5 + b. So b = 0 still gives k positions.
 * Two words cannot give k independent ones: the rates above compute the cost.
 */

static inline struct bloomery_steps quadratic_begin(const struct bloomery_layer *layer,
                                                    bloomery_hash hash)
{
    (void)layer;
    assert(layer->bits > 0);
    return (struct bloomery_steps){.at = hash.lo, .step = hash.hi + 1};
}

static inline uint64_t quadratic_next(const struct bloomery_layer *layer,
                                      struct bloomery_steps *steps, uint32_t i)
{
    const uint64_t at = steps->at;
    (void)i;
    steps->at += steps->step;
    steps->step += 2;
    return at % layer->bits;
}

#define SCHEME quadratic
#include "dialects/scheme_template.h"

static double quadratic_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return bloomery_quadratic_rate(layer->bits, layer->probes, keys,
                                   bloomery_classic_rate(layer->bits, layer->probes, keys));
}

static void quadratic_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                           const uint8_t *payload, struct bloomery_scan *scan)
{
    bloomery_classic_scan(shape, layer, payload, scan);
    const double fill = (double)scan->bits_set / (double)layer->bits;
    assert(fill <= 1);
    if (scan->bits_set < layer->bits)
        scan->live_rate =
            fmin(1, scan->live_rate + bloomery_quadratic_excess(
                                          layer->bits, layer->probes,
                                          bloomery_classic_estimate(layer, scan->bits_set), fill));
    assert(scan->live_rate >= 0 && scan->live_rate <= 1);
}

static const struct bloomery_kind_row quadratic = {
    BLOOMERY_FLAT_ROW(BLOOMERY_PROBES_QUADRATIC),
    .check = bloomery_classic_check,
    .operations = quadratic_operations,
    .expected_rate = quadratic_expected_rate,
    /* A key's own positions coincide hardly more often than in a classic filter. */
    .estimate = bloomery_classic_estimate,
    .scan = quadratic_scan,
    .probes_max = BLOOMERY_POSITIONS_MAX,
};

/* ---- From a rate to bits and probes ---------------------------------------------------------- */

enum { ROWS = 20 }; /* of the table, the last one is left out */

static const struct bloomery_practice cheapest = {2, 2};
static const struct bloomery_practice dearest = {19, 13};

/* Whether an entry is above a rate. Decimal: parts > rate 1e7, where the product is not rounded -
 * what rounding takes from it is known, and decides where the rounded one is equal. */
static bool above(uint32_t bits, uint32_t probes, double rate,
                  enum bloomery_practice_literals literals)
{
    assert(bits < ROWS && bloomery_rate_table_parts(bits, probes) > 0); /* 0: no entry */
    if (literals == BLOOMERY_PRACTICE_DOUBLE)
        return bloomery_rate_table(bits, probes) > rate;
    const double parts = bloomery_rate_table_parts(bits, probes);
    const double product = rate * BLOOMERY_RATE_TABLE_UNITS;
    return parts > product ||
           (parts == product && fma(rate, BLOOMERY_RATE_TABLE_UNITS, -product) < 0);
}

struct bloomery_practice bloomery_best_practice(double rate,
                                                enum bloomery_practice_literals literals)
{
    assert(!isnan(rate));
    rate = fmin(1, fmax(0, rate));
    if (rate >= 0.283)
        return cheapest;
    for (uint32_t bits = 1; bits < ROWS; bits++) {
        const uint32_t best = bloomery_rate_table_best(bits);
        if (above(bits, best, rate, literals))
            continue;
        for (uint32_t probes = best; probes > 0; probes--)
            if (above(bits, probes, rate, literals))
                return (struct bloomery_practice){bits, probes + 1};
    }
    return dearest;
}

struct bloomery_practice bloomery_sound_practice(double rate)
{
    for (uint32_t bits = 2; bits < ROWS; bits++)
        for (uint32_t probes = 1; probes <= bloomery_rate_table_best(bits); probes++)
            if (!above(bits, probes, rate, BLOOMERY_PRACTICE_DOUBLE))
                return (struct bloomery_practice){bits, probes};
    return dearest;
}

/* ---- Numbers and bytes ----------------------------------------------------------------------- */

enum { DECIMAL = 0, DOUBLE = 1 };

static const uint64_t bytes_max = UINT64_C(1) << 30;

/* ---- What both dialects of ClickHouse plan and remark ---------------------------------------- */

bloomery_status bloomery_clickhouse_practice(const bloomery_dialect_parameters *given,
                                             bool old_literals, struct bloomery_practice *practice,
                                             bloomery_error *error)
{
    const double bits = given->bits_per_key;
    *practice = (struct bloomery_practice){0, given->probes};
    if (given->rate != 0) {
        if (!(given->rate > 0 && given->rate <= 1))
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                                 "a rate is above 0 and at most 1");
        if (given->probes != 0 || bits != 0)
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                                 "ClickHouse takes probes and bits per key from the rate: give one "
                                 "or the other");
        *practice = bloomery_best_practice(given->rate, old_literals ? BLOOMERY_PRACTICE_DOUBLE
                                                                     : BLOOMERY_PRACTICE_DECIMAL);
    } else if (bits != 0) {
        if (!(bits >= 1 && bits <= 1024 && bits == floor(bits)))
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                                 "ClickHouse's bits per key are whole, 1 to 1024");
        practice->bits_per_key = (uint32_t)bits;
    }
    return BLOOMERY_OK;
}

bool bloomery_clickhouse_bytes(uint32_t bits_per_key, uint64_t keys, uint64_t *bytes)
{
    uint64_t bits;
    if (__builtin_mul_overflow(keys, (uint64_t)bits_per_key, &bits) ||
        __builtin_add_overflow(bits, 7, &bits))
        return false;
    *bytes = bits / 8;
    return true;
}

/* Between the rates that 3 and 4 bits reach no row of the table qualifies. */
bool bloomery_clickhouse_remark_gap(const bloomery_filter *filter, char *text, size_t room)
{
    const double rate = filter->layers[0].rate;
    const struct bloomery_practice taken = bloomery_best_practice(rate, BLOOMERY_PRACTICE_DOUBLE);
    const struct bloomery_practice sound = bloomery_sound_practice(rate);
    struct bloomery_phrase queried;
    if (!(rate >= BLOOMERY_PRACTICE_MIN) || taken.bits_per_key <= sound.bits_per_key + 1)
        return false;
    snprintf(text, room,
             "for a rate of %s no row of ClickHouse's table qualifies, and it takes the dearest "
             "one, %u bits per key and %u probes, where %u and %u would do",
             bloomery_phrase_rate(&queried, rate), taken.bits_per_key, taken.probes,
             sound.bits_per_key, sound.probes);
    return true;
}

bool bloomery_clickhouse_remark_literals(const bloomery_filter *filter, char *text, size_t room)
{
    const double rate = filter->layers[0].rate;
    if (!(rate > 0))
        return false;
    const struct bloomery_practice now = bloomery_best_practice(rate, BLOOMERY_PRACTICE_DECIMAL);
    const struct bloomery_practice old = bloomery_best_practice(rate, BLOOMERY_PRACTICE_DOUBLE);
    if (now.bits_per_key == old.bits_per_key && now.probes == old.probes)
        return false;
    snprintf(text, room,
             "releases of ClickHouse differ at this rate, which is an entry of its table: %u bits "
             "per key and %u probes today, %u and %u in older ones",
             now.bits_per_key, now.probes, old.bits_per_key, old.probes);
    return true;
}

bool bloomery_clickhouse_remark_place(const bloomery_filter *filter, char *text, size_t room)
{
    uint64_t index, count;
    bloomery_clickhouse_place(filter, &index, &count);
    if (count < 2)
        return false;
    snprintf(text, room, "this is filter number %llu of the %llu of an index, counted from 0",
             (unsigned long long)index, (unsigned long long)count);
    return true;
}

/* ---- The core filter ------------------------------------------------------------------------- */

static bloomery_status check_numbers(uint64_t bytes, uint32_t probes, bloomery_error *error)
{
    if (bytes >= 1 && bytes <= bytes_max && probes >= 1 && probes <= BLOOMERY_POSITIONS_MAX)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                         "ClickHouse's filters have 1 to 2^30 bytes, and at least 1 probe (here: "
                         "up to 1024), not %llu and %u",
                         (unsigned long long)bytes, probes);
}

static void lay_out(const bloomery_dialect_parameters *given, uint64_t bytes, uint32_t probes,
                    struct bloomery_design *design)
{
    bloomery_design_flat(design, &city64_pair, &quadratic, bytes * 8, probes);
    design->shape.seed = given->seed;
    design->layers[0].keys = given->keys;
    design->layers[0].rate = given->rate;
}

static bloomery_status plan(const bloomery_dialect_parameters *given, int literals,
                            struct bloomery_design *design, bloomery_error *error)
{
    struct bloomery_practice practice;
    uint64_t bytes = given->bytes;
    bloomery_status status =
        bloomery_clickhouse_practice(given, literals == DOUBLE, &practice, error);
    if (status != BLOOMERY_OK)
        return status;
    if ((bytes != 0) == (given->rate != 0) || (bytes == 0 && given->keys == 0))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "ClickHouse takes bytes and probes, or keys and a rate");
    if (bytes == 0 && !bloomery_clickhouse_bytes(practice.bits_per_key, given->keys, &bytes))
        bytes = UINT64_MAX;
    status = check_numbers(bytes, practice.probes, error);
    if (status == BLOOMERY_OK)
        lay_out(given, bytes, practice.probes, design);
    return status;
}

static bloomery_status parse(const uint8_t *data, size_t data_bytes,
                             const bloomery_dialect_parameters *given, int variant,
                             struct bloomery_design *design, bloomery_error *error)
{
    (void)variant;
    struct bloomery_clickhouse_payload payload;
    bloomery_status status = bloomery_clickhouse_open(data, data_bytes, &payload, error);
    if (status != BLOOMERY_OK)
        return status;
    const uint64_t bytes = given->bytes != 0 ? given->bytes : payload.bytes;
    if (payload.bytes == 0)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, 0, "cut short: the file is empty");
    status = check_numbers(bytes, given->probes, error);
    if (status != BLOOMERY_OK)
        return status;
    if (payload.bytes % bytes != 0)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, data_bytes,
                             "%s: a filter has %llu bytes, and there are %llu",
                             payload.bytes < bytes ? "cut short" : "something follows the filters",
                             (unsigned long long)bytes, (unsigned long long)payload.bytes);
    const uint64_t count = payload.bytes / bytes;
    if (given->index >= count)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "filter number %llu does not exist: the file has %llu, counted from 0",
                             (unsigned long long)given->index, (unsigned long long)count);
    lay_out(given, bytes, given->probes, design);
    bloomery_clickhouse_take(&payload, given->index * bytes, bytes, given->index, count, design);
    return BLOOMERY_OK;
}

/* What is around a filter is read off `extra`, which is another dialect's in another dialect. */
static bloomery_status fits(const bloomery_filter *filter, bloomery_error *error)
{
    if (filter->shape.dialect != BLOOMERY_DIALECT_CLICKHOUSE)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0, "%s", bloomery_dialect_clickhouse.others);
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    assert(bloomery_dialect_fits(&bloomery_dialect_clickhouse, filter, NULL) == BLOOMERY_OK);
    return bloomery_clickhouse_write(filter, bloomery_cold_in(filter)->extra, 0, emitter);
}

const struct bloomery_dialect_row bloomery_dialect_clickhouse = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_CLICKHOUSE,
            .name = "clickhouse",
            .description =
                "ClickHouse's BloomFilter (tokenbf_v1, ngrambf_v1), its bytes or the index's "
                "file",
            .variants = "decimal, double",
            .load_needs = "probes",
            .load_takes = "bytes, probes, seed, index",
            .create_takes = "variant, keys, rate, bytes, probes, seed",
            .reads = true,
            .writes = true,
            .creates = true,
            .hashes = true,
        },
    .names = {"decimal", "double"},
    .hashes = {&city64_pair},
    .schemes = {&quadratic},
    .seeded = true,
    .others = "ClickHouse's filters are hashed by two CityHash64 and placed by a quadratic scheme",
    .unit_bits = 8,
    .units_max = UINT64_C(1) << 30,
    .sizes = "ClickHouse's filters have whole bytes, 2^30 at most",
    .plan = plan,
    .parse = parse,
    .write = write,
    .fits = fits,
    .remarks = {bloomery_remark_rate, bloomery_clickhouse_remark_gap,
                bloomery_clickhouse_remark_literals, bloomery_clickhouse_remark_place},
};

/* ---- The bytes around a filter --------------------------------------------------------------- */

/*
 * A file skp_idx_NAME.idx: granules, one behind the other, cut into blocks without regard to where
 * they end.
 *
 *     block    byte 0    CityHash128 (1.0.2) of all that follows: low word, high word, each
 *                        little-endian
 *              byte 16   method: 0x02 as it is; 0x82 LZ4, 0x90 ZSTD and others: compressed,
 *                        refused here
 *              byte 17   c, little-endian, 32 bits: the bytes from 16 on
 *              byte 21   u, little-endian, 32 bits: the bytes of payload, c - 9 if they are not
 *                        compressed
 *              byte 25   c - 9 bytes
 *
 * A caller with only the payload gives that, and nothing is kept if it is one filter. The checksum
 * distinguishes the two, which nothing but a block has by accident. If a first block is damaged in
 * its checksum or in one field of its head, the others still show it to be one.
 *
 * What is kept of the surroundings, in `extra`, little-endian:
 *
 *     byte 0    1
 *     byte 1    1: in blocks, 2: the others were not kept
 *     byte 8    the filter's number, 64 bits, and of how many, 64 bits
 *     byte 24   payload before it and after it, 64 bits each
 *     byte 40   the number of blocks, 32 bits, and u of each, 32 bits each
 *     then      those bytes before it and after it
 *
 * Our files have room for some thousand bytes of this. An index of many parts does not fit: one of
 * its filters can be queried then, but not written.
 */

enum {
    CHECKSUM = 16,
    SIZES = 9, /* method and the two sizes, which c counts too */
    BLOCK = CHECKSUM + SIZES,
    METHOD_NONE = 0x02,
    METHOD_LZ4 = 0x82,
    METHOD_ZSTD = 0x90,
};

struct block {
    uint32_t method;
    uint32_t stored;  /* c */
    uint32_t payload; /* u */
};

static struct block read_block(const uint8_t *at)
{
    return (struct block){
        .method = at[CHECKSUM],
        .stored = bloomery_load_u32(at + CHECKSUM + 1),
        .payload = bloomery_load_u32(at + CHECKSUM + 5),
    };
}

static bool has_its_checksum(const uint8_t *at, uint32_t stored)
{
    const struct bloomery_city_piece all = {at + CHECKSUM, stored};
    const bloomery_hash hash = bloomery_city128(&all, 1);
    return hash.lo == bloomery_load_u64(at) && hash.hi == bloomery_load_u64(at + 8);
}

/* ---- Blocks that are read -------------------------------------------------------------------- */

/* Two of three signs make a block of what has no checksum: a method, and sizes that fit the data or
 * each other. */
static bool begins_with_block(const uint8_t *data, size_t bytes)
{
    if (bytes < BLOCK)
        return false;
    const struct block block = read_block(data);
    const size_t rest = bytes - CHECKSUM;
    if (block.stored >= SIZES && block.stored <= rest && has_its_checksum(data, block.stored))
        return true;
    const bool fits_around = block.stored == rest || (uint64_t)block.payload + SIZES == rest;
    const bool agree = (uint64_t)block.payload + SIZES == block.stored;
    return (block.method == METHOD_NONE || block.method == METHOD_LZ4 ||
            block.method == METHOD_ZSTD) +
               fits_around + agree >=
           2;
}

static bloomery_status check_block(const uint8_t *data, size_t at, size_t bytes,
                                   bloomery_error *error)
{
    if (bytes - at < BLOCK)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: a block begins with 25 bytes, there are %zu", bytes - at);
    const struct block block = read_block(data + at);
    if (block.method == METHOD_LZ4 || block.method == METHOD_ZSTD)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, at + CHECKSUM,
                             "its blocks are compressed by %s: unpack them first, by "
                             "clickhouse-compressor --decompress",
                             block.method == METHOD_LZ4 ? "LZ4" : "ZSTD");
    if (block.method != METHOD_NONE)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, at + CHECKSUM,
                             "its blocks are packed by method 0x%02x, which is not known",
                             block.method);
    if (block.stored > bytes - at - CHECKSUM)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: the block at byte %zu has %u bytes, there are %zu", at,
                             block.stored, bytes - at - CHECKSUM);
    if (block.payload == 0 || (uint64_t)block.payload + SIZES != block.stored)
        return bloomery_fail(error, BLOOMERY_CORRUPT, at + CHECKSUM,
                             "damaged: the sizes %u and %u of a block do not go together",
                             block.stored, block.payload);
    if (!has_its_checksum(data + at, block.stored))
        return bloomery_fail(error, BLOOMERY_CORRUPT, at,
                             "damaged: the block at byte %zu has another checksum", at);
    return BLOOMERY_OK;
}

bloomery_status bloomery_clickhouse_open(const uint8_t *data, size_t data_bytes,
                                         struct bloomery_clickhouse_payload *payload,
                                         bloomery_error *error)
{
    *payload = (struct bloomery_clickhouse_payload){
        .data = data, .data_bytes = data_bytes, .in_blocks = begins_with_block(data, data_bytes)};
    if (!payload->in_blocks) {
        payload->bytes = data_bytes;
        return BLOOMERY_OK;
    }
    for (size_t at = 0; at < data_bytes;) {
        bloomery_status status = check_block(data, at, data_bytes, error);
        if (status != BLOOMERY_OK)
            return status;
        if (payload->block_count == UINT32_MAX)
            return bloomery_fail(error, BLOOMERY_UNSUPPORTED, at, "more than 2^32 - 1 blocks");
        const struct block block = read_block(data + at);
        payload->block_count++;
        payload->bytes += block.payload;
        at += BLOCK + (size_t)block.payload;
    }
    return BLOOMERY_OK;
}

/* The place of a byte of the payload in the data, and how many follow it there, itself included. */
static const uint8_t *find(struct bloomery_clickhouse_payload *payload, uint64_t at, uint64_t *here)
{
    assert(at < payload->bytes);
    if (!payload->in_blocks) {
        *here = payload->bytes - at;
        return payload->data + at;
    }
    if (at < payload->first)
        payload->block = payload->first = 0;
    struct block block = read_block(payload->data + payload->block);
    while (at - payload->first >= block.payload) {
        payload->first += block.payload;
        payload->block += BLOCK + (size_t)block.payload;
        assert(payload->block < payload->data_bytes);
        block = read_block(payload->data + payload->block);
    }
    *here = block.payload - (at - payload->first);
    return payload->data + payload->block + BLOCK + (at - payload->first);
}

void bloomery_clickhouse_read(struct bloomery_clickhouse_payload *payload, uint64_t at, uint8_t *to,
                              size_t bytes)
{
    assert(at <= payload->bytes && bytes <= payload->bytes - at);
    while (bytes > 0) {
        uint64_t here;
        const uint8_t *from = find(payload, at, &here);
        const size_t now = here < bytes ? (size_t)here : bytes;
        memcpy(to, from, now);
        at += now;
        to += now;
        bytes -= now;
    }
}

/* ---- What is kept ---------------------------------------------------------------------------- */

enum {
    EXTRA_VERSION = 1,
    EXTRA_IN_BLOCKS = 1,
    EXTRA_PART = 2,
    EXTRA_INDEX = 8,
    EXTRA_COUNT = 16,
    EXTRA_BEFORE = 24,
    EXTRA_AFTER = 32,
    EXTRA_BLOCKS = 40,
    EXTRA_HEAD = 44,
};

/* What surrounds a filter. */
struct frame {
    uint64_t index;
    uint64_t count;
    bool in_blocks;
    bool part;
    uint32_t block_count;
    const uint8_t *blocks;
    struct bloomery_city_piece before;
    struct bloomery_city_piece after;
};

static void copy_bits(const struct bloomery_design *design, uint32_t layer, uint8_t *to)
{
    struct bloomery_clickhouse_payload payload;
    assert(layer == 0 && design->extra_bytes >= EXTRA_HEAD);
    (void)layer;
    /* The bits' own part of the data was checked when it was opened. */
    payload = (struct bloomery_clickhouse_payload){
        .data = design->bits[0], .data_bytes = SIZE_MAX, .in_blocks = true, .bytes = UINT64_MAX};
    bloomery_clickhouse_read(&payload, bloomery_load_u64(design->extra + EXTRA_BEFORE), to,
                             (size_t)design->bit_bytes[0]);
}

/* Whether everything around the filter fits_around into the room that there is. */
static bool fits_around(const struct bloomery_clickhouse_payload *payload, uint64_t around)
{
    const uint64_t room = BLOOMERY_DESIGN_EXTRA - EXTRA_HEAD;
    return around <= room && payload->block_count <= (room - around) / 4;
}

static void keep(struct bloomery_clickhouse_payload *payload, uint64_t before, uint64_t after,
                 struct bloomery_design *design)
{
    uint8_t *at = design->small + EXTRA_HEAD;
    if (payload->in_blocks)
        for (size_t block = 0; block < payload->data_bytes; at += 4) {
            const uint32_t bytes = read_block(payload->data + block).payload;
            bloomery_store_u32(at, bytes);
            block += BLOCK + (size_t)bytes;
        }
    bloomery_clickhouse_read(payload, 0, at, (size_t)before);
    at += before;
    bloomery_clickhouse_read(payload, payload->bytes - after, at, (size_t)after);
    design->extra_bytes = (size_t)(at + after - design->small);
    assert(design->extra_bytes <= BLOOMERY_DESIGN_EXTRA);
}

void bloomery_clickhouse_take(struct bloomery_clickhouse_payload *payload, uint64_t at,
                              uint64_t bytes, uint64_t index, uint64_t count,
                              struct bloomery_design *design)
{
    uint64_t here;
    assert(at <= payload->bytes && bytes <= payload->bytes - at && index < count);
    const uint64_t after = payload->bytes - at - bytes;
    const bool alone = count == 1 && !payload->in_blocks;
    const bool kept = fits_around(payload, at + after);
    design->layout = BLOOMERY_LAYOUT_BYTES;
    design->bits[0] = find(payload, at, &here);
    design->bit_bytes[0] = bytes;
    if (here < bytes) {
        design->bits[0] = payload->data;
        design->gather = copy_bits;
    }
    if (alone) /* what is before it is its own head */
        return;
    memset(design->small, 0, EXTRA_HEAD);
    design->small[0] = EXTRA_VERSION;
    design->small[1] =
        (uint8_t)((payload->in_blocks ? EXTRA_IN_BLOCKS : 0) | (kept ? 0 : EXTRA_PART));
    bloomery_store_u64(design->small + EXTRA_INDEX, index);
    bloomery_store_u64(design->small + EXTRA_COUNT, count);
    bloomery_store_u64(design->small + EXTRA_BEFORE, at);
    bloomery_store_u64(design->small + EXTRA_AFTER, after);
    bloomery_store_u32(design->small + EXTRA_BLOCKS, payload->block_count);
    design->extra = design->small;
    design->extra_bytes = EXTRA_HEAD;
    if (kept)
        keep(payload, at, after, design);
}

/* Reads it again, from a filter that may come from one of our files. */
static bool read_frame(const bloomery_filter *filter, struct frame *frame)
{
    const uint8_t *extra = bloomery_cold_in(filter)->extra;
    if (bloomery_cold_in(filter)->extra_bytes < EXTRA_HEAD || extra[0] != EXTRA_VERSION ||
        extra[1] > (EXTRA_IN_BLOCKS | EXTRA_PART))
        return false;
    *frame = (struct frame){
        .index = bloomery_load_u64(extra + EXTRA_INDEX),
        .count = bloomery_load_u64(extra + EXTRA_COUNT),
        .in_blocks = (extra[1] & EXTRA_IN_BLOCKS) != 0,
        .part = (extra[1] & EXTRA_PART) != 0,
        .block_count = bloomery_load_u32(extra + EXTRA_BLOCKS),
        .blocks = extra + EXTRA_HEAD,
    };
    const uint64_t before = bloomery_load_u64(extra + EXTRA_BEFORE);
    const uint64_t after = bloomery_load_u64(extra + EXTRA_AFTER);
    const uint64_t room = bloomery_cold_in(filter)->extra_bytes - EXTRA_HEAD;
    if (frame->index >= frame->count || (!frame->in_blocks && frame->block_count != 0))
        return false;
    if (frame->part)
        return room == 0;
    if (before > room || after > room || before + after + 4 * (uint64_t)frame->block_count != room)
        return false;
    const uint8_t *around = frame->blocks + 4 * (size_t)frame->block_count;
    frame->before = (struct bloomery_city_piece){around, (size_t)before};
    frame->after = (struct bloomery_city_piece){around + before, (size_t)after};
    uint64_t left = before + filter->layers[0].bits / 8 + after;
    for (uint32_t i = 0; i < frame->block_count; i++) {
        const uint32_t bytes = bloomery_load_u32(frame->blocks + 4 * (size_t)i);
        if (bytes == 0 || bytes > left || bytes > UINT32_MAX - SIZES)
            return false;
        left -= bytes;
    }
    return !frame->in_blocks || left == 0;
}

void bloomery_clickhouse_place(const bloomery_filter *filter, uint64_t *index, uint64_t *count)
{
    struct frame frame;
    const bool known = read_frame(filter, &frame);
    *index = known ? frame.index : 0;
    *count = known ? frame.count : 1;
}

/* ---- Writing --------------------------------------------------------------------------------- */

enum { PIECES = 3 };

static bloomery_status emit_pieces(struct bloomery_emitter *emitter,
                                   const struct bloomery_city_piece *pieces, size_t count)
{
    bloomery_status status = BLOOMERY_OK;
    for (size_t i = 0; i < count && status == BLOOMERY_OK; i++)
        status = bloomery_emit(emitter, pieces[i].data, pieces[i].bytes);
    return status;
}

/* The next `bytes` bytes of the pieces, which become shorter by them. */
static bloomery_status emit_block(struct bloomery_emitter *emitter,
                                  struct bloomery_city_piece *pieces, uint32_t bytes)
{
    uint8_t head[BLOCK];
    struct bloomery_city_piece block[1 + PIECES] = {{head + CHECKSUM, SIZES}};
    size_t left = bytes;
    head[CHECKSUM] = METHOD_NONE;
    bloomery_store_u32(head + CHECKSUM + 1, bytes + SIZES);
    bloomery_store_u32(head + CHECKSUM + 5, bytes);
    for (size_t i = 0; i < PIECES; i++) {
        const size_t now = left < pieces[i].bytes ? left : pieces[i].bytes;
        block[1 + i] = (struct bloomery_city_piece){pieces[i].data, now};
        pieces[i].data += now;
        pieces[i].bytes -= now;
        left -= now;
    }
    assert(left == 0);
    const bloomery_hash checksum = bloomery_city128(block, 1 + PIECES);
    bloomery_store_u64(head, checksum.lo);
    bloomery_store_u64(head + 8, checksum.hi);
    bloomery_status status = bloomery_emit(emitter, head, CHECKSUM);
    return status == BLOOMERY_OK ? emit_pieces(emitter, block, 1 + PIECES) : status;
}

bloomery_status bloomery_clickhouse_write(const bloomery_filter *filter, const uint8_t *head,
                                          size_t head_bytes, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    struct frame frame = {.count = 1, .before = {head, head_bytes}};
    if (bloomery_cold_in(filter)->extra_bytes > 0 && !read_frame(filter, &frame))
        return bloomery_fail(emitter->error, BLOOMERY_CORRUPT, 0,
                             "what is attached to the filter does not fit it: its place in the "
                             "original's bytes is lost");
    if (frame.part)
        return bloomery_fail(emitter->error, BLOOMERY_UNSUPPORTED, 0,
                             "it is number %llu of the %llu filters of an index that was too large "
                             "to be kept with it: writing it alone would lose the others",
                             (unsigned long long)frame.index, (unsigned long long)frame.count);
    struct bloomery_city_piece pieces[PIECES] = {
        frame.before, {layer->payload, (size_t)(layer->bits / 8)}, frame.after};
    if (!frame.in_blocks)
        return emit_pieces(emitter, pieces, PIECES);
    bloomery_status status = BLOOMERY_OK;
    for (uint32_t i = 0; i < frame.block_count && status == BLOOMERY_OK; i++)
        status = emit_block(emitter, pieces, bloomery_load_u32(frame.blocks + 4 * (size_t)i));
    return status;
}
