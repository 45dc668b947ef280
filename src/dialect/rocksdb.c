/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RocksDB's full filters (rocksdb.BuiltinBloomFilter, 7.8). Bits, and a trailer of five bytes,
 * whose first one distinguishes the encodings:
 *
 *     fast (format_version 5 and later)         legacy (before)
 *     | bits: N blocks of 64 bytes |             | bits: N blocks of 64 bytes |
 *     | ff | 00 | k | 00 | 00 |                 | k | N: u32, little-endian |
 *
 *     00 .. of any size from 6 on: "maybe" to every key
 *     fe ..: a Ribbon filter, which is no Bloom filter
 *
 * Legacy filters have blocks as long as the machine's cache lines: 128 bytes on ARM and POWER, 256
 * on mainframes. Such are read, and recognised by their N.
 *
 *     fast      h = XXPH3 (hash/foreign/xxph3.c), whose low half chooses the block, and whose high
 *               half x has bit x g^i mod 2^32 >> 23 there
 *     legacy    h = 32 bits (hash/foreign/leveldb_hash.c, last bytes sign-extended); bit
 *               (h + i rotr32(h, 17)) mod 512 of block h mod N
 *
 * Sizing from n keys and b bits per key: b below 0.5 is no filter, below 1 it is 1, from 100 on
 * it is 100.
 *
 *     fast      M = trunc(1000 b + 0.500001);  ceil(n M / 8000) bytes, rounded up to blocks; k by a
 *               table
 *     legacy    M / 1000 rounded to a whole number;  ceil(n b / 512) blocks, one more if that is
 *               even; k = trunc(0.69 b), 1 to 30
 *
 * Without keys there is the trailer alone, and the answer is "no". RocksDB answers "maybe" for what
 * it does not know: other first bytes, k = 0 or above 30, N that does not divide the bits. These
 * are refused here.
 *
 * Known faults, of legacy filters: n keys share 2^32 hashes, so the rate is n / 2^32 at least. And
 * a walk in a block of 512 bits covers much of what others do (core/foreign/rotated_schemes.c).
 */
#include "dialect/storage.h"

#include "base/bytes.h"
#include "base/error.h"
#include "plan/foreign/scattered_rate.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>

enum {
    FAST = 0,
    LEGACY = 1,
    FAST_HASH = BLOOMERY_HASH_ID_xxph3,
    LEGACY_HASH = BLOOMERY_HASH_ID_rocksdb_legacy,
    TRAILER = 5,
    BLOCK = 64, /* bytes */
    BLOCK_BITS = BLOCK * 8,
    BLOCK_MAX = 256, /* bytes, of other machines */
    PROBES_MAX = 30,
    LEGACY_PROBES_MAX = 127, /* that can be read */
    DEFAULT_PROBES = 6,
    MARK_ANY_KEY = 0x00,
    MARK_FAST = 0xff,
    MARK_RIBBON = 0xfe,
};

static const char variants[] = "fast, legacy";

/* RocksDB counts bytes of fast filters and bits of legacy ones in 32 bits. */
static const uint64_t fast_blocks_max = UINT32_MAX / BLOCK;
static const uint64_t legacy_bits_max = UINT32_MAX;

static void lay_out(struct bloomery_design *design, int variant, uint64_t blocks,
                    uint16_t block_bits, uint32_t probes)
{
    struct bloomery_shape *shape = &design->shape;
    shape->kind = BLOOMERY_BLOCKED;
    shape->hash = variant == FAST ? FAST_HASH : LEGACY_HASH;
    shape->block_bits = block_bits;
    shape->block_scheme = variant == FAST ? BLOOMERY_BLOCKS_LOW_HALF : BLOOMERY_BLOCKS_MODULO;
    shape->probe_scheme =
        variant == FAST ? BLOOMERY_PROBES_GOLDEN_BLOCK : BLOOMERY_PROBES_ROTATED_BLOCK;
    shape->cell_bits = 1;
    shape->layer_count = 1;
    design->layers[0] =
        (struct bloomery_layer){.bits = blocks * block_bits, .probes = probes, .blocks_per_key = 1};
}

/* ---- Sizing ---------------------------------------------------------------------------------- */

static uint32_t fast_probes(uint32_t millibits)
{
    static const uint32_t up_to[] = {2080,  3580,  5100,  6640,  8300,  10070,
                                     11720, 14001, 16050, 18300, 22001, 25501};
    const uint32_t steps = sizeof up_to / sizeof up_to[0];
    for (uint32_t i = 0; i < steps; i++)
        if (millibits <= up_to[i])
            return i + 1;
    return millibits > 50000 ? 24 : (millibits - 1) / 2000 - 1;
}

/* The trailer that stands for a filter without keys. */
static void trailer_of(int variant, uint32_t probes, uint32_t blocks, uint8_t trailer[TRAILER])
{
    memset(trailer, 0, TRAILER);
    trailer[0] = variant == FAST ? MARK_FAST : (uint8_t)probes;
    if (variant == FAST)
        trailer[2] = (uint8_t)probes;
    else
        bloomery_store_u32(trailer + 1, blocks);
}

static bloomery_status too_large(bloomery_error *error)
{
    return bloomery_fail(
        error, BLOOMERY_BAD_ARGUMENT, 0,
        "RocksDB's filters have fewer than 2^32 bytes, legacy ones than 2^32 bits; "
        "these numbers make a larger one");
}

static bloomery_status plan_bits_per_key(const bloomery_dialect_parameters *given, int variant,
                                         struct bloomery_design *design, bloomery_error *error)
{
    if (!(given->bits_per_key >= 0.5))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "RocksDB takes keys and 0.5 or more bits_per_key, or bits and probes");
    const double bits_per_key = fmax(1, fmin(100, given->bits_per_key));
    const uint32_t millibits = (uint32_t)(bits_per_key * 1000 + 0.500001);
    const uint32_t whole = (millibits + 500) / 1000;
    const double legacy_probes = fmax(1, fmin(PROBES_MAX, trunc(whole * 0.69)));
    const uint32_t probes = variant == FAST ? fast_probes(millibits) : (uint32_t)legacy_probes;
    uint64_t blocks;
    if (given->keys > legacy_bits_max)
        return too_large(error);
    if (variant == FAST) {
        blocks = ((given->keys * millibits + 7999) / 8000 + BLOCK - 1) / BLOCK;
    } else {
        blocks = (given->keys * whole + BLOCK_BITS - 1) / BLOCK_BITS;
        blocks += blocks > 0 && blocks % 2 == 0;
    }
    if (blocks > (variant == FAST ? fast_blocks_max : legacy_bits_max / BLOCK_BITS))
        return too_large(error);
    lay_out(design, variant, blocks > 0 ? blocks : 1, BLOCK_BITS, probes);
    design->layers[0].keys = given->keys;
    if (blocks == 0) {
        uint8_t trailer[TRAILER];
        trailer_of(variant, probes, 0, trailer);
        bloomery_design_constant(design, false, trailer, sizeof trailer);
    }
    return BLOOMERY_OK;
}

static bloomery_status plan(const bloomery_dialect_parameters *given,
                            struct bloomery_design *design, bloomery_error *error)
{
    const int variant = bloomery_dialect_choose(variants, given->variant, error);
    if (variant < 0)
        return BLOOMERY_BAD_ARGUMENT;
    if (given->bits == 0 && given->probes == 0)
        return plan_bits_per_key(given, variant, design, error);
    const uint64_t blocks = given->bits / BLOCK_BITS;
    if (given->bits_per_key > 0 || blocks == 0 || given->bits % BLOCK_BITS != 0 ||
        given->probes < 1 || given->probes > PROBES_MAX)
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "RocksDB's filters have blocks of 512 bits and 1 to 30 probes: bits is a "
            "multiple of 512, and bits_per_key is not given besides");
    if (blocks > (variant == FAST ? fast_blocks_max : legacy_bits_max / BLOCK_BITS))
        return too_large(error);
    lay_out(design, variant, blocks, BLOCK_BITS, given->probes);
    design->layers[0].keys = given->keys;
    return BLOOMERY_OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bloomery_status parse_fast(const uint8_t *data, size_t bytes, struct bloomery_design *design,
                                  bloomery_error *error)
{
    const size_t end = bytes - TRAILER;
    const uint8_t *trailer = data + end;
    const uint32_t probes = trailer[2];
    if (trailer[1] != 0 || trailer[3] != 0 || trailer[4] != 0 || probes > PROBES_MAX)
        return bloomery_fail(
            error, BLOOMERY_WRONG_VERSION, end,
            "a trailer of %02x %02x %02x %02x %02x means an encoding that is not "
            "known, nor was to RocksDB 7.8, which says \"maybe\" to every key then",
            trailer[0], trailer[1], trailer[2], trailer[3], trailer[4]);
    if (probes == 0)
        return bloomery_fail(error, BLOOMERY_CORRUPT, end + 2, "damaged: a filter without probes");
    if (end % BLOCK != 0 || end / BLOCK > fast_blocks_max)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short, or something is before the filter: %zu bytes are no "
                             "multiple of 64, or 2^32 and more",
                             end);
    lay_out(design, FAST, end > 0 ? end / BLOCK : 1, BLOCK_BITS, probes);
    return BLOOMERY_OK;
}

static bloomery_status parse_legacy(const uint8_t *data, size_t bytes,
                                    struct bloomery_design *design, bloomery_error *error)
{
    const size_t end = bytes - TRAILER;
    const uint32_t probes = data[end];
    const uint64_t blocks = bloomery_load_u32(data + end + 1);
    const uint64_t block = blocks > 0 ? end / blocks : 0;
    if ((blocks == 0) != (end == 0))
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short, or not RocksDB's: %llu blocks in %zu bytes",
                             (unsigned long long)blocks, end);
    if (end > 0 && (block * blocks != end || (block & (block - 1)) != 0 || block < BLOCK ||
                    block > BLOCK_MAX || end > legacy_bits_max / 8))
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short, or not RocksDB's: %llu blocks of 64, 128 or 256 bytes are "
                             "not %zu bytes",
                             (unsigned long long)blocks, end);
    lay_out(design, LEGACY, end > 0 ? blocks : 1, end > 0 ? (uint16_t)(block * 8) : BLOCK_BITS,
            probes);
    return BLOOMERY_OK;
}

static bloomery_status parse_any_key(const uint8_t *data, size_t bytes,
                                     struct bloomery_design *design, bloomery_error *error)
{
    if (bytes == TRAILER)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 0, "damaged: a filter without probes");
    if (bytes > BLOOMERY_CONSTANT_MAX)
        return bloomery_fail(error, BLOOMERY_CORRUPT, bytes - TRAILER,
                             "damaged: no probes, which makes RocksDB say \"maybe\" to every key, "
                             "but %zu bytes of bits",
                             bytes - TRAILER);
    lay_out(design, FAST, 1, BLOCK_BITS, DEFAULT_PROBES);
    bloomery_design_constant(design, true, data, bytes);
    return BLOOMERY_OK;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given,
                             struct bloomery_design *design, bloomery_error *error)
{
    (void)given;
    if (bytes < TRAILER)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: a filter of RocksDB's ends with 5 bytes, there are %zu",
                             bytes);
    const uint8_t mark = data[bytes - TRAILER];
    bloomery_status status;
    if (mark == MARK_ANY_KEY)
        return parse_any_key(data, bytes, design, error);
    if (mark == MARK_RIBBON)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, bytes - TRAILER,
                             "a Ribbon filter of RocksDB's, which is no Bloom filter: it can't be "
                             "read here");
    if (mark == MARK_FAST)
        status = parse_fast(data, bytes, design, error);
    else if (mark <= LEGACY_PROBES_MAX)
        status = parse_legacy(data, bytes, design, error);
    else
        status = bloomery_fail(error, BLOOMERY_WRONG_VERSION, bytes - TRAILER,
                               "mark %02x means an encoding that is not known, nor was to RocksDB "
                               "7.8, which says \"maybe\" to every key then",
                               mark);
    if (status != BLOOMERY_OK)
        return status;
    if (bytes == TRAILER) {
        bloomery_design_constant(design, false, data, bytes);
    } else {
        design->bits[0] = data;
        design->bit_bytes[0] = bytes - TRAILER;
    }
    return BLOOMERY_OK;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static bool is_fast(const struct bloomery_shape *shape)
{
    return shape->hash == FAST_HASH && shape->block_scheme == BLOOMERY_BLOCKS_LOW_HALF &&
           shape->probe_scheme == BLOOMERY_PROBES_GOLDEN_BLOCK;
}

static bool is_legacy(const struct bloomery_shape *shape)
{
    return shape->hash == LEGACY_HASH && shape->block_scheme == BLOOMERY_BLOCKS_MODULO &&
           shape->probe_scheme == BLOOMERY_PROBES_ROTATED_BLOCK;
}

static bloomery_status fits(const bloomery_filter *filter, bloomery_error *error)
{
    const struct bloomery_shape *shape = &filter->shape;
    const struct bloomery_layer *layer = filter->layers;
    if (shape->kind != BLOOMERY_BLOCKED || shape->seed != 0 ||
        (!is_fast(shape) && !is_legacy(shape)))
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                             "RocksDB hashes by XXPH3, or by LevelDB's hash with signed bytes, "
                             "into one block of a key");
    if (is_fast(shape) ? layer->blocks > fast_blocks_max || layer->probes > PROBES_MAX
                       : layer->bits > legacy_bits_max || layer->probes > LEGACY_PROBES_MAX)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                             "RocksDB's filters have fewer than 2^32 bytes, legacy ones than 2^32 "
                             "bits, and at most 30 probes");
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    const int variant = is_fast(&filter->shape) ? FAST : LEGACY;
    uint8_t trailer[TRAILER];
    const uint8_t *bytes;
    size_t count;
    assert(fits(filter, NULL) == BLOOMERY_OK);
    if (bloomery_is_constant(filter, &bytes, &count))
        return bloomery_emit(emitter, bytes, count);
    assert(layer->blocks <= UINT32_MAX && layer->probes <= LEGACY_PROBES_MAX);
    trailer_of(variant, layer->probes, (uint32_t)layer->blocks, trailer);
    bloomery_status status =
        bloomery_emit_bits(emitter, layer, layer->bits / 8, BLOOMERY_LAYOUT_BYTES);
    return status == BLOOMERY_OK ? bloomery_emit(emitter, trailer, sizeof trailer) : status;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static const char *variant(const bloomery_filter *filter)
{
    return is_fast(&filter->shape) ? "fast" : "legacy";
}

/* Of blocks with k independent bits for each key. */
static double promised(const struct bloomery_layer *layer, uint64_t keys)
{
    const uint64_t blocks = layer->bits / BLOCK_BITS;
    return bloomery_scattered_rate(blocks, layer->probes < 64 ? layer->probes : 64, keys);
}

static bool remark(const bloomery_filter *filter, uint32_t index, char *text, size_t room)
{
    return index == 0 && fits(filter, NULL) == BLOOMERY_OK &&
           bloomery_remark_promise(filter, promised, 1.1, text, room);
}

const struct bloomery_dialect_row bloomery_dialect_rocksdb = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_ROCKSDB,
            .name = "rocksdb",
            .description = "RocksDB's full Bloom filter, fast and legacy",
            .variants = variants,
            .load_needs = "",
            .load_takes = "",
            .create_takes = "variant, keys, bits, probes, bits_per_key",
            .reads = true,
            .writes = true,
            .creates = true,
            .hashes = true,
        },
    .plan = plan,
    .parse = parse,
    .write = write,
    .fits = fits,
    .remark = remark,
    .variant = variant,
};
