/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LevelDB's filters (leveldb.BuiltinBloomFilter2, 1.23), one by itself:
 *
 *     | bits: m / 8 bytes, bit p is bit p & 7 of byte p >> 3 | k |       k one byte, 1 to 30
 *
 * or one of those in the filter block of a table, which has one for each 2^base bytes of data:
 *
 *     | filter 0 | filter 1 | ... | offsets: u32 each | u32: where the offsets begin | base |
 *                                              base one byte: 11; all numbers little-endian
 *
 * where a filter ends where the next one begins, the last where the offsets do, and one of no bytes
 * has no keys. `index` says which; what is written again is that filter by itself.
 *
 *     h = LevelDB's hash of 32 bits (dialects/storage.h); bit i is (h + i rotr32(h, 17)
 *     mod 2^32) mod m
 *
 * Sizing: m = max(64, n b) rounded up to whole bytes, b a whole number of bits per key. k =
 * trunc(0.69 b), at least 1 and at most 30. LevelDB answers "maybe" for any key if k is 31 or more,
 * a room for other encodings, and "no" if there are fewer than 2 bytes. The latter are refused
 * here, since a file cut short looks like that. Zero probes, which LevelDB takes for "maybe", are
 * refused too.
 *
 * Known faults: n keys share 2^32 hashes, so the rate is n / 2^32 at least. And a walk with one
 * step is worse than k independent positions. That holds in the few hundred bits of the keys of 2
 * KiB, and in an array of 2^17 bits and more (dialects/storage.h).
 */
#include "base/bytes.h"
#include "base/error.h"
#include "dialects/schemes.h"
#include "dialects/storage.h"
#include "hash/hashes.h"
#include "kinds/derive.h"
#include "plan/blocked_rate.h"
#include "plan/classic_rate.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

/* ---- The hash -------------------------------------------------------------------------------- */

static bloomery_hash leveldb(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    (void)secret;
    return bloomery_storage_hash(bloomery_unsigned_byte, key);
}

static const struct bloomery_hash_row leveldb_hash = {
    .id = BLOOMERY_HASH_LEVELDB,
    .name = "leveldb",
    .available = true,
    .one = leveldb,
};

/* ---- Positions, and their rate --------------------------------------------------------------- */

enum { HASH_BITS = 32 };

static inline struct bloomery_steps rotated_step_begin(const struct bloomery_layer *layer,
                                                       bloomery_hash hash)
{
    const uint32_t h = (uint32_t)hash.lo;
    (void)layer;
    assert(layer->bits > 0);
    return (struct bloomery_steps){.at = h, .step = bloomery_rotate_right_32(h, BLOOMERY_ROTATION)};
}

static inline uint64_t rotated_step_next(const struct bloomery_layer *layer,
                                         struct bloomery_steps *steps, uint32_t i)
{
    const uint32_t at = (uint32_t)steps->at;
    (void)i;
    steps->at = at + (uint32_t)steps->step;
    return at % layer->bits;
}

#define SCHEME rotated_step
#include "dialects/scheme_template.h"

/* WALKS are tried. Arrays up to SMALL_BITS bits (64 KiB on the stack) are filled for it: several,
 * up to ARRAYS_MAX, while they take at most POSITIONS positions, and none that is fuller than
 * FULL. */
enum { WALKS = 1 << 17, SMALL_BITS = 1 << 19, POSITIONS = 1 << 18, ARRAYS_MAX = 64, FULL = 12 };

static bloomery_hash draw_hash(uint64_t *state)
{
    return (bloomery_hash){.lo = bloomery_storage_draw(state)};
}

/* How many of `walks` absent keys are taken for present ones. */
static uint64_t hits(const struct bloomery_layer *layer, const uint8_t *bits, uint64_t walks,
                     uint64_t *state)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < walks; i++)
        found += rotated_step_plain_may_contain(layer, bits, draw_hash(state));
    return found;
}

/* Positions end at 2^32: all there is beyond stays 0. */
static struct bloomery_layer reached(const struct bloomery_layer *layer)
{
    struct bloomery_layer lesser = *layer;
    if (lesser.bits > UINT64_C(1) << HASH_BITS)
        lesser.bits = UINT64_C(1) << HASH_BITS;
    return lesser;
}

/* Counted in arrays filled with `keys` keys. */
static double counted_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    uint8_t bits[SMALL_BITS / 8 + 1];
    uint64_t state = 0;
    uint64_t found = 0;
    const uint64_t fill = POSITIONS / (keys * layer->probes);
    const uint64_t arrays = fill < 1 ? 1 : fill < ARRAYS_MAX ? fill : ARRAYS_MAX;
    const uint64_t each = WALKS / arrays;
    assert(layer->bits <= SMALL_BITS);
    for (uint64_t array = 0; array < arrays; array++) {
        memset(bits, 0, (size_t)(layer->bits / 8 + 1));
        for (uint64_t key = 0; key < keys; key++)
            rotated_step_plain_add(layer, bits, draw_hash(&state));
        found += hits(layer, bits, each, &state);
    }
    const uint64_t walks = each * arrays;
    assert(found <= walks);
    return (double)found / (double)walks;
}

static double rotated_step_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    const struct bloomery_layer lesser = reached(layer);
    double rate = bloomery_classic_rate(lesser.bits, lesser.probes, keys);
    if (keys > 0 && lesser.bits <= SMALL_BITS && keys <= lesser.bits * FULL / lesser.probes)
        rate = fmax(rate, counted_rate(&lesser, keys));
    return bloomery_rate_of_32_bits(rate, (double)keys);
}

static double rotated_step_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    const struct bloomery_layer lesser = reached(layer);
    return bloomery_classic_estimate(&lesser, bits_set);
}

static void rotated_step_scan(const struct bloomery_shape *shape,
                              const struct bloomery_layer *layer, const uint8_t *payload,
                              struct bloomery_scan *scan)
{
    const struct bloomery_layer lesser = reached(layer);
    uint64_t state = 0;
    bloomery_classic_scan(shape, layer, payload, scan);
    scan->live_rate = pow(fmin(1, (double)scan->bits_set / (double)lesser.bits), layer->probes);
    scan->live_rate =
        fmax(scan->live_rate, (double)hits(layer, payload, WALKS, &state) / (double)WALKS);
    assert(scan->live_rate >= 0 && scan->live_rate <= 1);
}

static const struct bloomery_kind_row rotated_step = {
    BLOOMERY_FLAT_ROW(BLOOMERY_PROBES_ROTATED_STEP),
    .check = bloomery_classic_check,
    .operations = rotated_step_operations,
    BLOOMERY_ROW_RATES(rotated_step),
    .probes_max = INT8_MAX, /* the number is a signed byte */
};

/* ---- Numbers and bytes ----------------------------------------------------------------------- */

enum {
    PROBES_MAX = 30,
    MIN_BITS = 64,
    FILTER = 0,
    BLOCK = 1,
    BLOCK_END = 5, /* bytes behind the offsets */
    OFFSET = 4,
};

/* Raw numbers, or LevelDB's from n and b. */
static bloomery_status plan(const bloomery_dialect_parameters *given, int variant,
                            struct bloomery_design *design, bloomery_error *error)
{
    double bits = (double)given->bits;
    uint32_t probes = given->probes;
    (void)variant;
    if (given->bits == 0 && given->probes == 0) {
        if (!(given->bits_per_key >= 1) || given->bits_per_key > INT32_MAX ||
            given->bits_per_key != trunc(given->bits_per_key))
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                                 "LevelDB takes keys and a whole number of bits_per_key, or bits "
                                 "and probes");
        bits = fmax(MIN_BITS, (double)given->keys * given->bits_per_key);
        probes = (uint32_t)fmax(1, fmin(PROBES_MAX, trunc(given->bits_per_key * 0.69)));
    } else if (given->bits_per_key > 0) {
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "bits and probes leave no room for bits_per_key");
    }
    if (!(bits >= 1 && bits <= ldexp(1, 50)) || probes < 1 || probes > PROBES_MAX)
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "LevelDB's filters have 1 to 30 probes, and here up to 2^50 bits; these "
            "numbers make another");
    bloomery_design_flat(design, &leveldb_hash, &rotated_step, ((uint64_t)bits + 7) / 8 * 8,
                         probes);
    design->layers[0].keys = given->keys;
    return BLOOMERY_OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bloomery_status parse_filter(const uint8_t *data, size_t bytes,
                                    struct bloomery_design *design, bloomery_error *error)
{
    if (bytes < 2)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: a filter of LevelDB's has 2 bytes or more, there %s %zu",
                             bytes == 1 ? "is" : "are", bytes);
    const uint32_t probes = data[bytes - 1];
    if (probes == 0)
        return bloomery_fail(error, BLOOMERY_CORRUPT, bytes - 1,
                             "damaged, or not LevelDB's: a filter without probes");
    if (probes <= PROBES_MAX) {
        bloomery_design_flat(design, &leveldb_hash, &rotated_step, (uint64_t)(bytes - 1) * 8,
                             probes);
        design->bits[0] = data;
        design->bit_bytes[0] = bytes - 1;
        return BLOOMERY_OK;
    }
    if (bytes > BLOOMERY_CONSTANT_MAX)
        return bloomery_fail(
            error, BLOOMERY_UNSUPPORTED, bytes - 1,
            "its last byte, %u, means an encoding that is not known: LevelDB would "
            "say \"maybe\" to every key",
            probes);
    bloomery_design_flat(design, &leveldb_hash, &rotated_step, MIN_BITS, 1);
    bloomery_design_constant(design, true, data, bytes);
    return BLOOMERY_OK;
}

/* The place of filter `index` of a block. */
static bloomery_status find_filter(const uint8_t *data, size_t bytes, uint64_t index, size_t *from,
                                   size_t *to, bloomery_error *error)
{
    if (bytes < BLOCK_END)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: a filter block of LevelDB's ends with 5 bytes, there are "
                             "%zu",
                             bytes);
    const size_t end = bytes - BLOCK_END;
    const size_t offsets = bloomery_load_u32(data + end);
    if (offsets > end || (end - offsets) % OFFSET != 0 || data[bytes - 1] >= 64)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, end,
                             "no filter block of LevelDB's, or cut short: offsets from byte %zu on "
                             "do not fit into %zu bytes",
                             offsets, bytes);
    const size_t count = (end - offsets) / OFFSET;
    if (index >= count)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "the block has %zu filter%s, counted from 0: index %llu does not "
                             "exist",
                             count, count == 1 ? "" : "s", (unsigned long long)index);
    const size_t at = offsets + OFFSET * (size_t)index;
    *from = bloomery_load_u32(data + at);
    *to = bloomery_load_u32(data + at + OFFSET);
    if (*from > *to || *to > offsets)
        return bloomery_fail(error, BLOOMERY_CORRUPT, at,
                             "damaged: filter %llu is from byte %zu to %zu of %zu",
                             (unsigned long long)index, *from, *to, offsets);
    return BLOOMERY_OK;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given, int variant,
                             struct bloomery_design *design, bloomery_error *error)
{
    size_t from = 0;
    size_t to = bytes;
    if (variant == FILTER && given->index > 0)
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "a filter by itself has no index: filter blocks are variant \"block\"");
    if (variant == BLOCK) {
        bloomery_status status = find_filter(data, bytes, given->index, &from, &to, error);
        if (status != BLOOMERY_OK)
            return status;
        if (from == to) { /* a range of data in which no key begins */
            bloomery_design_flat(design, &leveldb_hash, &rotated_step, MIN_BITS, 1);
            bloomery_design_constant(design, false, NULL, 0);
            return BLOOMERY_OK;
        }
    }
    assert(from <= to && to <= bytes);
    return parse_filter(data + from, to - from, design, error);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    const uint8_t probes = (uint8_t)layer->probes;
    const uint8_t *bytes;
    size_t count;
    assert(bloomery_dialect_fits(&bloomery_dialect_leveldb, filter, NULL) == BLOOMERY_OK);
    if (bloomery_is_constant(filter, &bytes, &count))
        return bloomery_emit(emitter, bytes, count);
    assert(layer->probes >= 1 && layer->probes <= PROBES_MAX && layer->bits % 8 == 0);
    bloomery_status status =
        bloomery_emit_bits(emitter, layer, layer->bits / 8, BLOOMERY_LAYOUT_BYTES);
    return status == BLOOMERY_OK ? bloomery_emit(emitter, &probes, 1) : status;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static double promised(const struct bloomery_layer *layer, uint64_t keys)
{
    return bloomery_classic_rate(layer->bits, layer->probes, keys);
}

static bool remark_promise(const bloomery_filter *filter, char *text, size_t room)
{
    return bloomery_remark_promise(filter, promised, 1.1, text, room);
}

/* From here on rates are not counted any more. */
static bool remark_step(const bloomery_filter *filter, char *text, size_t room)
{
    if (filter->layers->bits <= UINT64_C(1) << 19)
        return false;
    snprintf(
        text, room,
        "LevelDB's step is the hash itself, turned by 17 bits: in an array of %llu bits rates were "
        "measured that are 1.2 to 3 times those of the usual formula, which is what is expected "
        "here; the live rate is counted on the bits",
        (unsigned long long)filter->layers->bits);
    return true;
}

/* Of a filter block only one filter is kept. */
static int variant_of(const bloomery_filter *filter)
{
    (void)filter;
    return FILTER;
}

const struct bloomery_dialect_row bloomery_dialect_leveldb = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_LEVELDB,
            .name = "leveldb",
            .description = "LevelDB's filter, by itself or out of a table's filter block",
            .variants = "filter, block",
            .load_needs = "variant, index",
            .load_takes = "variant, index",
            .create_takes = "keys, bits, probes, bits_per_key",
            .reads = true,
            .writes = true,
            .creates = true,
            .hashes = true,
        },
    .names = {"filter", "block"},
    .hashes = {&leveldb_hash},
    .schemes = {&rotated_step},
    .others = "LevelDB has a hash of its own, and steps by its rotation",
    .unit_bits = 8,
    .probes_max = PROBES_MAX,
    .sizes = "LevelDB's filters have whole bytes and at most 30 probes",
    .plan = plan,
    .parse = parse,
    .write = write,
    .remarks = {remark_promise, remark_step},
    .variant = variant_of,
};
