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
 * letters and digits and of bytes from 0x80 on, of ngrambf so many code points. A file
 * skp_idx_NAME.idx holds one filter for each granule, behind each other
 * (dialect/clickhouse_frame.c): `index` says which.
 *
 * From keys and rate: bits per key and probes as its bloom_filter index takes them
 * (plan/foreign/best_practice.h), and ceil(bits n / 8) bytes.
 */
#include "dialect/clickhouse.h"

#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

enum { HASH = BLOOMERY_HASH_ID_city64_pair, DECIMAL = 0, DOUBLE = 1 };

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
static bool remark_gap(const bloomery_filter *filter, char *text, size_t room)
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

static bool remark_literals(const bloomery_filter *filter, char *text, size_t room)
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

static bool remark_place(const bloomery_filter *filter, char *text, size_t room)
{
    uint64_t index, count;
    bloomery_clickhouse_place(filter, &index, &count);
    if (count < 2)
        return false;
    snprintf(text, room, "this is filter number %llu of the %llu of an index, counted from 0",
             (unsigned long long)index, (unsigned long long)count);
    return true;
}

bool bloomery_clickhouse_remark(const bloomery_filter *filter, uint32_t index, char *text,
                                size_t room)
{
    bool (*const remarks[])(const bloomery_filter *, char *, size_t) = {remark_gap, remark_literals,
                                                                        remark_place};
    if (bloomery_remark_rate(filter, 1.1, text, room) && index-- == 0)
        return true;
    for (size_t i = 0; i < sizeof remarks / sizeof remarks[0]; i++)
        if (remarks[i](filter, text, room) && index-- == 0)
            return true;
    return false;
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
    bloomery_design_flat(design, HASH, BLOOMERY_PROBES_QUADRATIC, bytes * 8, probes);
    design->shape.seed = given->seed;
    design->layers[0].keys = given->keys;
    design->layers[0].rate = given->rate;
}

static bloomery_status plan(const bloomery_dialect_parameters *given,
                            struct bloomery_design *design, bloomery_error *error)
{
    const int literals = bloomery_dialect_choose("decimal, double", given->variant, error);
    struct bloomery_practice practice;
    uint64_t bytes = given->bytes;
    if (literals < 0)
        return BLOOMERY_BAD_ARGUMENT;
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
                             const bloomery_dialect_parameters *given,
                             struct bloomery_design *design, bloomery_error *error)
{
    struct bloomery_clickhouse_payload payload;
    bloomery_status status = bloomery_clickhouse_open(data, data_bytes, &payload, error);
    if (status != BLOOMERY_OK)
        return status;
    const uint64_t bytes = given->bytes != 0 ? given->bytes : payload.bytes;
    if (payload.bytes == 0)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, 0, "cut short: there are no bytes");
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
                             "there is no filter number %llu: there are %llu, counted from 0",
                             (unsigned long long)given->index, (unsigned long long)count);
    lay_out(given, bytes, given->probes, design);
    bloomery_clickhouse_take(&payload, given->index * bytes, bytes, given->index, count, design);
    return BLOOMERY_OK;
}

static bloomery_status fits(const bloomery_filter *filter, bloomery_error *error)
{
    const struct bloomery_layer *layer = filter->layers;
    if (filter->shape.dialect != BLOOMERY_DIALECT_CLICKHOUSE || filter->shape.hash != HASH ||
        filter->shape.probe_scheme != BLOOMERY_PROBES_QUADRATIC)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                             "ClickHouse's filters are hashed by two CityHash64 and placed by a "
                             "quadratic scheme");
    if (layer->bits % 8 != 0 || layer->bits / 8 > bytes_max)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                             "ClickHouse's filters have whole bytes, 2^30 at most");
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    assert(fits(filter, NULL) == BLOOMERY_OK);
    return bloomery_clickhouse_write(filter, bloomery_rest_in(filter)->extra, 0, emitter);
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
    .plan = plan,
    .parse = parse,
    .write = write,
    .fits = fits,
    .remark = bloomery_clickhouse_remark,
};
