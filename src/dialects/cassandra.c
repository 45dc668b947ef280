/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Bloom filters of Apache Cassandra's tables: Filter.db, big-endian.
 *
 *     0  k
 *     4  W, the number of 64-bit words, 1 to 2^31 - 1
 *     8  8 W bytes. m = 64 W
 *            new (4.0 and later)    bit p is bit p & 7 of byte p >> 3
 *            old (up to 3.x)        words, big-endian; bit p is bit p & 63 of word p >> 6
 *
 * Keys are hashed by a murmur3 x64 128 of Cassandra's own with seed 0. Probe i = 0 .. k-1 goes to
 * |base + i step| mod m, the sum in signed 64 bits. Old filters have base h1 and step h2, new ones
 * the reverse. Nothing in the bytes distinguishes the two, so the caller must say that one is old.
 * (Filters of versions before 1.2 are others again and not known here.)
 *
 * Sizing uses a table of rates (dialects/sizing.h), T[b][K] with b bits for a key and K probes. It
 * takes the least b from 2 on with min over K of T[b][K] <= p. Then it takes the least K reached by
 * going down from the best one while T[b][K] <= p still; m = 64 ceil((n b + 20) / 64).
 *
 * Known faults: if p is at least T[2][1] = 0.393, the original means 2 bits and 1 probe, and makes
 * 1 bit and 2 probes, of which keys are many. Rates under 6.71e-05 it has none; and for a rate of 1
 * it makes no filter but something that always says yes.
 */
#include "base/error.h"
#include "dialects/dialects.h"
#include "dialects/rates.h"
#include "dialects/schemes.h"
#include "dialects/sizing.h"
#include "hash/murmur3.h"

#include <assert.h>
#include <math.h>

/* ---- The hash -------------------------------------------------------------------------------- */

/*
 * MurmurHash3 x64 128 as Cassandra has it. The last 1 to 15 bytes are signed numbers that are
 * widened to 64 bits before they are shifted to their places and XORed together. So a byte from
 * 0x80 on there turns over all bits above it in its word. For others, and for whole blocks of 16,
 * nothing is different.
 *
 * Cassandra's filters up to 3.x begin at h1 and step by h2, later ones begin at h2 and step by h1:
 * two rows.
 */

/* Up to 8 bytes as a word. */
static uint64_t signed_word(const uint8_t *from, size_t bytes)
{
    uint64_t word = 0;
    assert(bytes > 0 && bytes <= 8);
    for (size_t i = 0; i < bytes; i++)
        word ^= (uint64_t)(int64_t)(int8_t)from[i] << (8 * i);
    return word;
}

static bloomery_hash one(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const uint8_t *data = key.data;
    const size_t whole = key.bytes / 16 * 16;
    const size_t left = key.bytes - whole;
    struct bloomery_murmur3 state = {secret->seed, secret->seed};
    uint8_t tail[16] = {0};
    for (size_t at = 0; at < whole; at += 16)
        bloomery_murmur3_block(&state, data + at);
    if (left > 0)
        bloomery_store_u64(tail, signed_word(data + whole, left < 8 ? left : 8));
    if (left > 8)
        bloomery_store_u64(tail + 8, signed_word(data + whole + 8, left - 8));
    return bloomery_murmur3_finish(&state, tail, left, key.bytes);
}

static bloomery_hash swapped(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const bloomery_hash hash = one(secret, key);
    return (bloomery_hash){.lo = hash.hi, .hi = hash.lo};
}

static const struct bloomery_hash_row old_hash = {
    .id = BLOOMERY_HASH_MURMUR3_CASSANDRA,
    .name = "murmur3-cassandra",
    .available = true,
    .one = one,
};

static const struct bloomery_hash_row new_hash = {
    .id = BLOOMERY_HASH_MURMUR3_CASSANDRA_SWAPPED,
    .name = "murmur3-cassandra-swapped",
    .available = true,
    .one = swapped,
};

/* ---- Positions ------------------------------------------------------------------------------- */

/*
 * ABSOLUTE_DOUBLE: c = lo + i hi in signed 64 bits, and the remainder by m without the sign of c.
 * It passes 0 and 2^63 all the time (dialects/rates.h).
 */

static inline struct bloomery_steps absolute_double_begin(const struct bloomery_layer *layer,
                                                          bloomery_hash hash)
{
    (void)layer;
    assert(layer->bits > 0);
    return (struct bloomery_steps){.at = hash.lo, .step = hash.hi};
}

/* Java's remainder has the sign of the dividend, and its size is that of sizes divided. The size of
 * -2^63 is 2^63, which is a number here. */
static inline uint64_t absolute_double_next(const struct bloomery_layer *layer,
                                            struct bloomery_steps *steps, uint32_t i)
{
    const uint64_t at = steps->at;
    (void)i;
    steps->at += steps->step;
    return ((at >> 63) != 0 ? 0 - at : at) % layer->bits;
}

#define SCHEME absolute_double
#include "dialects/scheme_template.h"

static double absolute_double_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return bloomery_turned_rate(BLOOMERY_TURN_ABSOLUTE, layer->bits, layer->probes, keys);
}

static void absolute_double_scan(const struct bloomery_shape *shape,
                                 const struct bloomery_layer *layer, const uint8_t *payload,
                                 struct bloomery_scan *scan)
{
    bloomery_classic_scan(shape, layer, payload, scan);
    scan->live_rate = bloomery_turned_live(BLOOMERY_TURN_ABSOLUTE, layer->bits, layer->probes,
                                           (double)scan->bits_set / (double)layer->bits);
    assert(scan->live_rate >= 0 && scan->live_rate <= 1);
}

static const struct bloomery_kind_row absolute_double = {
    BLOOMERY_FLAT_ROW(BLOOMERY_PROBES_ABSOLUTE_DOUBLE),
    .check = bloomery_classic_check,
    .operations = absolute_double_operations,
    .expected_rate = absolute_double_expected_rate,
    .estimate = bloomery_classic_estimate,
    .scan = absolute_double_scan,
    .probes_max = BLOOMERY_POSITIONS_MAX,
};

/* ---- Numbers --------------------------------------------------------------------------------- */

enum { NEW = 0, OLD = 1, HEADER = 8, EXCESS = 20 };

static const uint64_t words_max = INT32_MAX;

/* Bits for a key, and probes. 0.393 <= p: the two were meant the other way round. */
static bloomery_status specify(double rate, uint64_t *bits, uint32_t *probes, bloomery_error *error)
{
    const uint32_t last = BLOOMERY_RATE_TABLE_ROWS - 1;
    if (rate == 1)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "for a rate of 1 Cassandra makes no filter: it takes every key for "
                             "present");
    if (!(rate >= bloomery_rate_table(last, bloomery_rate_table_best(last)) && rate < 1))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "Cassandra's rates are 0.0000671 to 1; and it takes keys with a rate, "
                             "or bits and probes");
    *bits = 1;
    *probes = 2;
    if (rate >= bloomery_rate_table(2, 1))
        return BLOOMERY_OK;
    uint32_t row = 2;
    while (bloomery_rate_table(row, bloomery_rate_table_best(row)) > rate)
        row++;
    assert(row <= last);
    *bits = row;
    *probes = bloomery_rate_table_best(row);
    while (bloomery_rate_table(row, *probes - 1) <= rate)
        --*probes;
    assert(*probes > 0);
    return BLOOMERY_OK;
}

static bloomery_status plan(const bloomery_dialect_parameters *given, int variant,
                            struct bloomery_design *design, bloomery_error *error)
{
    uint64_t bits = given->bits;
    uint32_t probes = given->probes;
    bloomery_status status = BLOOMERY_OK;
    if (bits == 0 && probes == 0) {
        status = specify(given->rate, &bits, &probes, error);
        if (status != BLOOMERY_OK)
            return status;
        if (__builtin_mul_overflow(bits, given->keys, &bits) ||
            __builtin_add_overflow(bits, EXCESS, &bits))
            bits = UINT64_MAX;
    }
    const uint64_t words = bits / 64 + (bits % 64 != 0);
    if (words < 1 || words > words_max || probes < 1 || probes > BLOOMERY_POSITIONS_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "Cassandra's filters have 1 to 137,438,953,408 bits and here 1 to %d "
                             "probes; these numbers make another",
                             BLOOMERY_POSITIONS_MAX);
    bloomery_design_flat(design, bloomery_dialect_cassandra.hashes[variant], &absolute_double,
                         words * 64, probes);
    design->layers[0].keys = given->keys;
    design->layers[0].rate = given->rate;
    return BLOOMERY_OK;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given, int variant,
                             struct bloomery_design *design, bloomery_error *error)
{
    (void)given;
    if (bytes < HEADER)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: a Filter.db begins with 8 bytes, there are %zu", bytes);
    const uint64_t probes = bloomery_load_be(data, 4);
    const uint64_t words = bloomery_load_be(data + 4, 4);
    if (probes == 0 || probes > BLOOMERY_POSITIONS_MAX)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0,
                             "not a Filter.db: %llu probes are not 1 to %d",
                             (unsigned long long)probes, BLOOMERY_POSITIONS_MAX);
    if (words == 0 || words > words_max)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 4, "damaged: %llu words are not 1 to 2^31-1",
                             (unsigned long long)words);
    bloomery_status status = bloomery_dialect_length(words, HEADER, bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    bloomery_design_flat(design, bloomery_dialect_cassandra.hashes[variant], &absolute_double,
                         words * 64, (uint32_t)probes);
    design->layout = variant == OLD ? BLOOMERY_LAYOUT_BE_WORDS : BLOOMERY_LAYOUT_BYTES;
    design->bits[0] = data + HEADER;
    design->bit_bytes[0] = words * 8;
    assert(HEADER + design->bit_bytes[0] == bytes);
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    const enum bloomery_layout layout =
        filter->hash == &old_hash ? BLOOMERY_LAYOUT_BE_WORDS : BLOOMERY_LAYOUT_BYTES;
    uint8_t header[HEADER];
    assert(bloomery_dialect_fits(&bloomery_dialect_cassandra, filter, NULL) == BLOOMERY_OK);
    assert(layer->bits % 64 == 0 && layer->bits / 64 <= words_max);
    bloomery_store_be(header, layer->probes, 4);
    bloomery_store_be(header + 4, layer->bits / 64, 4);
    bloomery_status status = bloomery_emit(emitter, header, sizeof header);
    return status == BLOOMERY_OK ? bloomery_emit_bits(emitter, layer, layer->bits / 8, layout)
                                 : status;
}

const struct bloomery_dialect_row bloomery_dialect_cassandra = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_CASSANDRA,
            .name = "cassandra",
            .description = "the Filter.db of Apache Cassandra's tables",
            .variants = "new, old",
            .load_needs = "",
            .load_takes = "variant",
            .create_takes = "variant, keys, rate, bits, probes",
            .reads = true,
            .writes = true,
            .creates = true,
            .hashes = true,
        },
    .names = {"new", "old"},
    .hashes = {&new_hash, &old_hash},
    .schemes = {&absolute_double},
    .others = "Cassandra hashes by its own murmur3 and takes signs away",
    .unit_bits = 64,
    .units_max = INT32_MAX,
    .sizes = "Cassandra's filters have whole words of 64 bits, 2^31-1 at most",
    .plan = plan,
    .parse = parse,
    .write = write,
    .remarks = {bloomery_remark_rate},
    .variants_by_hash = true,
};
