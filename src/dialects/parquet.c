/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Apache Parquet's split block Bloom filter, as it stands in a file at
 * ColumnMetaData.bloom_filter_offset (bloom_filter_length bytes):
 *
 *     | header | z blocks of 32 bytes: eight words of 32 bits, little-endian |
 *
 *     header    15 <32 z: zigzag, 7 bits a byte>  1c 1c 00 00  1c 1c 00 00  1c 1c 00 00  00
 *               numBytes                          BLOCK        XXHASH       UNCOMPRESSED
 *
 * which is Thrift's compact form of the only header that the specification allows. Variant "raw" is
 * the blocks alone.
 *
 *     x = XXH64 of the value's plain encoding, seed 0
 *     block floor(x >> 32 z / 2^32); in its word i bit (x mod 2^32 salt[i] mod 2^32) >> 27
 *
 * The specification takes any z from 1 on; what writers choose (our numbers: `bits`, any multiple
 * of 256):
 *
 *     bytes              parquet-java's constructor: at least 32, rounded up to a power of two,
 *                        at most 128 MiB
 *     keys, rate         its optimalNumOfBits: trunc(-8 n / ln(1 - p^(1/8))), at most 2^30, then
 *                        (bits + 255) & ~256, at least 256, an eighth of that for the constructor
 *     keys, bits_per_key ClickHouse: that many bits, rounded up to bytes and then to a power of two
 *
 * Known faults of parquet-java's sizing: its formula is that of a filter whose blocks all have the
 * same number of keys, which they do not. So if rounding adds no room the rate is higher than
 * planned. Nothing is larger than 128 MiB. The mask clears bit 8 instead of rounding to a multiple
 * of 256, which the power of two then hides.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/bytes.h"
#include "base/error.h"
#include "dialects/dialects.h"
#include "dialects/schemes.h"
#include "hash/hashes.h"
#include "kinds/blocked.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- The hash -------------------------------------------------------------------------------- */

/* XXH64: compiled in from libxxhash's header, as XXH3 is. */

static bloomery_hash hash_by_xxh64(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    if (key.data == NULL) /* the empty key may come so */
        return (bloomery_hash){.lo = XXH64("", 0, secret->seed)};
    return (bloomery_hash){.lo = XXH64(key.data, key.bytes, secret->seed)};
}

static const struct bloomery_hash_row xxh64 = {
    .id = BLOOMERY_HASH_XXH64,
    .name = "xxh64",
    .available = true,
    .one = hash_by_xxh64,
};

/* ---- Positions, and their rate --------------------------------------------------------------- */

/*
 * SALTED_WORDS: a key has one block of 32 bytes, eight words of 32 bits, and one bit in each:
 *
 *     | .1...... | ....1... | 1....... | ..  bit (x s_i mod 2^32) >> 27 of word i
 *
 * x is half of the hash, the other half chooses the block. So a block sees only 32 bits of a key: a
 * key shares its bits with every key that has the same x and the same block. Let j, the keys in a
 * block, be Binomial(n, 1/N), and let positions be as good as independent. Then an absent key is a
 * false positive with (1 - (31/32)^j)^8, and otherwise with probability n / N / 2^32 for its x.
 * That is all there is at the rates of a filter with more than some 40 bits a key.
 */

enum {
    WORDS = 8,
    WORD_BITS = 32,
    SALTED_BITS = WORDS * WORD_BITS,
    FULL_LOAD = 4096,  /* keys that leave no bit of a word 0 */
    SALTED_SHIFT = 27, /* 32 - log2(WORD_BITS) */
};

static const uint32_t salts[WORDS] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                      0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

static inline struct bloomery_steps salted_words_begin(const struct bloomery_layer *layer,
                                                       bloomery_hash hash)
{
    assert(layer->blocks > 0 && layer->blocks <= UINT32_MAX);
    return (struct bloomery_steps){
        .at = (uint32_t)hash.lo,
        .base = ((hash.lo >> 32) * layer->blocks >> 32) * SALTED_BITS,
    };
}

static inline uint64_t salted_words_next(const struct bloomery_layer *layer,
                                         struct bloomery_steps *steps, uint32_t i)
{
    (void)layer;
    assert(i < WORDS);
    return steps->base + (uint64_t)i * WORD_BITS + ((uint32_t)steps->at * salts[i] >> SALTED_SHIFT);
}

#define SCHEME salted_words
#define SCHEME_BLOCKS
#include "dialects/scheme_template.h"

static bloomery_status salted_words_check(const struct bloomery_shape *shape,
                                          const struct bloomery_layer *layer, bloomery_error *error)
{
    if (layer->probes != WORDS)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a key sets 8 bits in filters of this scheme, not %u", layer->probes);
    return bloomery_blocks_check(shape, layer, SALTED_BITS, error);
}

static double salted_with(void *context, uint64_t load)
{
    (void)context;
    return pow(-expm1((double)load * log1p(-1.0 / WORD_BITS)), WORDS);
}

static double salted_words_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    if (keys == 0)
        return 0;
    if (bloomery_keys_of_a_block(layer, (double)keys) > FULL_LOAD)
        return 1;
    const double rate =
        bloomery_expect_load((double)keys, 1 / (double)layer->blocks, salted_with, NULL);
    return bloomery_rate_of_32_bits(rate, bloomery_keys_of_a_block(layer, (double)keys));
}

/* A key has a bit in every word of its block: it misses a given bit of a word with probability
 * 31/32. */
static double salted_words_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    if (bits_set >= layer->bits)
        return INFINITY;
    const double hit = 1.0 / WORD_BITS / (double)layer->blocks;
    return log1p(-(double)bits_set / (double)layer->bits) / log1p(-hit);
}

static void salted_words_scan(const struct bloomery_shape *shape,
                              const struct bloomery_layer *layer, const uint8_t *payload,
                              struct bloomery_scan *scan)
{
    double sum = 0;
    (void)shape;
    *scan = (struct bloomery_scan){.bits_set = 0};
    for (uint64_t block = 0; block < layer->blocks; block++) {
        double rate = 1;
        for (size_t i = 0; i < WORDS; i++) {
            uint32_t word;
            memcpy(&word, payload + block * (SALTED_BITS / 8) + i * sizeof word, sizeof word);
            const int set = __builtin_popcount(word);
            rate *= set / (double)WORD_BITS;
            scan->bits_set += (uint64_t)set;
        }
        sum += rate;
    }
    assert(scan->bits_set <= layer->bits);
    const double keys = salted_words_estimate(layer, scan->bits_set);
    scan->live_rate = bloomery_rate_of_32_bits(sum / (double)layer->blocks,
                                               bloomery_keys_of_a_block(layer, keys));
    assert(scan->live_rate >= 0 && scan->live_rate <= 1);
}

static const struct bloomery_kind_row salted_words = {
    BLOOMERY_BLOCKS_ROW(BLOOMERY_BLOCKS_HIGH_HALF, BLOOMERY_PROBES_SALTED_WORDS),
    .check = salted_words_check,
    .operations = salted_words_operations,
    BLOOMERY_ROW_RATES(salted_words),
};

/* ---- Numbers and bytes ----------------------------------------------------------------------- */

enum {
    WITH_HEADER = 0,
    RAW = 1,
    BLOCK = 32, /* bytes */
    BLOCK_BITS = 8 * BLOCK,
    PROBES = 8,
    FIELD_BYTES = 0x15, /* of the header: number 1, an i32 */
    VARINT_MAX = 5,
    ENDING = 13,
    HEADER_MAX = 1 + VARINT_MAX + ENDING,
};

static const uint8_t ending[ENDING] = {0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0};
static const uint8_t raw_mark = RAW; /* `extra` of raw filters; others have none */
static const uint64_t header_bytes_max = INT32_MAX;
static const uint64_t blocks_max = INT32_MAX;
static const double java_bytes_max = 128 * 1024 * 1024;
static const double java_bits_max = 1 << 30;

static void lay_out(struct bloomery_design *design, int variant, uint64_t blocks)
{
    bloomery_design_blocks(design, &xxh64, &salted_words, blocks, BLOCK_BITS, PROBES);
    design->extra = &raw_mark;
    design->extra_bytes = variant == RAW ? sizeof raw_mark : 0;
}

/* ---- Sizing ---------------------------------------------------------------------------------- */

/* A power of two that is not less; 32 at least. */
static double round_up(double bytes)
{
    double power = BLOCK;
    while (power < bytes)
        power *= 2;
    return power;
}

/* parquet-java's bits for n and p, its mask included. */
static uint32_t java_bits(uint64_t keys, double rate)
{
    const double bits = trunc(-8 * (double)keys / log(1 - pow(rate, 1.0 / 8)));
    const uint32_t most = (uint32_t)java_bits_max;
    const uint32_t masked =
        ((bits >= 0 && bits <= java_bits_max ? (uint32_t)bits : most) + 255) & ~UINT32_C(256);
    return masked < BLOCK_BITS ? BLOCK_BITS : masked;
}

static double java_bytes(double bytes)
{
    return fmin(java_bytes_max, round_up(bytes));
}

/* Bytes of the filter; 0: no numbers that make one. */
static double bytes_for(const bloomery_dialect_parameters *given)
{
    const bool rate = given->rate > 0 && given->rate < 1;
    if (given->bits > 0)
        return given->rate == 0 && given->bytes == 0 && given->bits_per_key == 0 &&
                       given->bits % BLOCK_BITS == 0
                   ? (double)given->bits / 8
                   : 0;
    if (given->bytes > 0)
        return given->rate == 0 && given->bits_per_key == 0 ? java_bytes((double)given->bytes) : 0;
    if (given->bits_per_key > 0)
        return given->rate == 0 ? round_up(ceil((double)given->keys * given->bits_per_key / 8)) : 0;
    return rate ? java_bytes(floor(java_bits(given->keys, given->rate) / 8.0)) : 0;
}

static bloomery_status plan(const bloomery_dialect_parameters *given, int variant,
                            struct bloomery_design *design, bloomery_error *error)
{
    const double bytes = bytes_for(given);
    if (bytes == 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "Parquet takes one of: keys and a rate above 0 and below 1, keys and "
                             "bits_per_key, bytes, or bits, a multiple of 256");
    if (!(bytes / BLOCK <= (double)blocks_max) ||
        (variant == WITH_HEADER && bytes > (double)header_bytes_max))
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "Parquet's filters have up to 2^31-1 blocks of 32 bytes, with a header "
            "up to 2^31-1 bytes; these numbers make a larger one");
    lay_out(design, variant, (uint64_t)bytes / BLOCK);
    design->layers[0].keys = given->keys;
    design->layers[0].rate = given->rate;
    return BLOOMERY_OK;
}

/* ---- The header ------------------------------------------------------------------------------ */

static size_t make_header(uint64_t bytes, uint8_t header[HEADER_MAX])
{
    size_t at = 0;
    uint64_t value = bytes * 2; /* zigzag */
    assert(bytes <= header_bytes_max);
    header[at++] = FIELD_BYTES;
    for (; value >= 0x80; value >>= 7)
        header[at++] = (uint8_t)(0x80 | (value & 0x7f));
    header[at++] = (uint8_t)value;
    memcpy(header + at, ending, sizeof ending);
    return at + sizeof ending;
}

/* Returns the number of bytes that a header names, 0 if it names none, and moves `at` behind it. */
static uint64_t read_number(const uint8_t *data, size_t bytes, size_t *at)
{
    uint64_t value = 0;
    if (bytes == 0 || data[0] != FIELD_BYTES)
        return 0;
    *at = 1;
    for (unsigned i = 0; i < VARINT_MAX && *at < bytes; i++) {
        const uint8_t byte = data[(*at)++];
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80)
            return value % 2 == 0 ? value / 2 : 0;
    }
    return 0;
}

static bool sniff(const uint8_t *data, size_t bytes)
{
    size_t at = 0;
    return read_number(data, bytes, &at) > 0 && bytes - at >= ENDING &&
           memcmp(data + at, ending, ENDING) == 0;
}

/* How the header begins: what is not exactly that gets its own message. */
static bloomery_status check_header(const uint8_t *data, size_t bytes, uint64_t *number,
                                    size_t *header_bytes, bloomery_error *error)
{
    uint8_t header[HEADER_MAX];
    size_t at = 0;
    if (bytes >= 4 && memcmp(data, "PAR1", 4) == 0)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0,
                             "a whole Parquet file: the filters in it are at the "
                             "bloom_filter_offset of its columns");
    *number = read_number(data, bytes, &at);
    if (*number == 0 && bytes <= VARINT_MAX && (bytes == 0 || data[0] == FIELD_BYTES))
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: a filter of Parquet's begins with a header, there %s %zu "
                             "byte%s",
                             bytes == 1 ? "is" : "are", bytes, bytes == 1 ? "" : "s");
    if (*number == 0 || *number > header_bytes_max || *number % BLOCK != 0)
        return bloomery_fail(
            error, data[0] == FIELD_BYTES ? BLOOMERY_CORRUPT : BLOOMERY_NOT_A_FILTER, 0,
            "no header of a Parquet filter: it begins with 15 and a number of bytes, "
            "a multiple of 32; filters without a header are variant \"raw\"");
    *header_bytes = make_header(*number, header);
    if (memcmp(data, header, bytes < *header_bytes ? bytes : *header_bytes) != 0)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, at,
                             "the header names another algorithm, hash or compression than the "
                             "only ones of the specification: split blocks, XXH64, none");
    if (bytes < *header_bytes)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: the header has %zu bytes, there are %zu", *header_bytes,
                             bytes);
    return BLOOMERY_OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given, int variant,
                             struct bloomery_design *design, bloomery_error *error)
{
    (void)given;
    uint64_t number = bytes;
    size_t header_bytes = 0;
    if (variant == WITH_HEADER) {
        bloomery_status status = check_header(data, bytes, &number, &header_bytes, error);
        if (status != BLOOMERY_OK)
            return status;
    }
    const size_t left = bytes - header_bytes;
    if (number == 0 || number % BLOCK != 0 || number / BLOCK > blocks_max)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short, or not Parquet's: %llu bytes are not one or more blocks "
                             "of 32",
                             (unsigned long long)number);
    if (number != left)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "%s: the header speaks of %llu bytes, there are %zu",
                             number > left ? "cut short" : "something follows the filter",
                             (unsigned long long)number, left);
    lay_out(design, variant, number / BLOCK);
    design->bits[0] = data + header_bytes;
    design->bit_bytes[0] = number;
    return BLOOMERY_OK;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static bool is_raw(const bloomery_filter *filter)
{
    return filter->shape.dialect == BLOOMERY_DIALECT_PARQUET &&
           bloomery_cold_in(filter)->extra_bytes == 1 && bloomery_cold_in(filter)->extra[0] == RAW;
}

static bloomery_status fits(const bloomery_filter *filter, bloomery_error *error)
{
    if (filter->layers->bits / 8 > header_bytes_max && !is_raw(filter))
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                             "Parquet's filters with a header have at most 2^31-1 bytes");
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    uint8_t header[HEADER_MAX];
    assert(bloomery_dialect_fits(&bloomery_dialect_parquet, filter, NULL) == BLOOMERY_OK);
    bloomery_status status = BLOOMERY_OK;
    assert(layer->bits % BLOCK_BITS == 0 && layer->probes == PROBES);
    if (!is_raw(filter))
        status = bloomery_emit(emitter, header, make_header(layer->bits / 8, header));
    return status == BLOOMERY_OK
               ? bloomery_emit_bits(emitter, layer, layer->bits / 8, BLOOMERY_LAYOUT_BYTES)
               : status;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static int variant_of(const bloomery_filter *filter)
{
    return is_raw(filter) ? RAW : WITH_HEADER;
}

/* What parquet-java's sizing went through on its way to this filter. */
static bool remark_sizing(const bloomery_filter *filter, char *text, size_t room)
{
    const struct bloomery_layer *layer = filter->layers;
    if (!(layer->rate > 0 && layer->rate < 1))
        return false;
    const uint32_t bits = java_bits(layer->keys, layer->rate);
    if (bits % BLOCK_BITS == 0)
        return false;
    snprintf(text, room,
             "parquet-java's sizing says %u bits here, no multiple of 256, since it clears bit 8 "
             "where it was to clear the lowest 8; what counts is the power of two, %llu",
             bits, (unsigned long long)layer->bits);
    return true;
}

const struct bloomery_dialect_row bloomery_dialect_parquet = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_PARQUET,
            .name = "parquet",
            .description = "Parquet's split block filter, with its header or without",
            .variants = "header, raw",
            .load_needs = "variant",
            .load_takes = "variant",
            .create_takes = "variant, keys, rate, bits, bytes, bits_per_key",
            .reads = true,
            .writes = true,
            .creates = true,
            .magic = true,
            .hashes = true,
        },
    .names = {"header", "raw"},
    .hashes = {&xxh64},
    .schemes = {&salted_words},
    .others = "Parquet hashes by XXH64 with seed 0 into split blocks",
    .sniff = sniff,
    .plan = plan,
    .parse = parse,
    .write = write,
    .fits = fits,
    .remarks = {bloomery_remark_rate, remark_sizing},
    .variant = variant_of,
};
