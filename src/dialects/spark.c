/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spark's BloomFilter (org.apache.spark.util.sketch), and the stream of its writeTo, all
 * big-endian:
 *
 *     version 1          version 2
 *     0  version, 1      0  version, 2
 *     4  k               4  k
 *                        8  seed, a signed number
 *     8  W               12 W, the number of 64-bit words, 1 to 2^31 - 1
 *     12 the words       16 the words; bit p is bit p & 63 of word p >> 6. m = 64 W
 *
 * Keys are hashed twice by a murmur3 of 32 bits, which gives h1 and h2. Texts are UTF-8, whole
 * numbers of any width 8 bytes, the least significant first. For i = 1 .. k, in signed numbers,
 *
 *     v1         c = h1 + i h2 in 32 bits                bit (c < 0 ? ~c : c) mod m; the seed is 0
 *     v2         c = h1 (2^31 - 1) + i h2 in 64 bits     the same
 *     v2-early   as v2, but a negative c is replaced by ~c before the next h2 is added
 *
 * Sizing: bits = trunc(-n ln p / (ln2 ln2)), W = ceil(bits / 64), k = max(1, round(bits / n ln2)).
 *
 * Known faults: v1 leaves all bits past 2^31 empty, the reason for v2. The first commits with a v2
 * (spring of 2025) wrote streams with other bits. Nothing distinguishes these from later ones, so
 * variant v2-early must be given.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "dialects/rates.h"
#include "dialects/schemes.h"
#include "dialects/sizing.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

/* ---- The hash -------------------------------------------------------------------------------- */

/*
 * Spark's pair of hashes of 32 bits: lo is the hash with the seed, lo >> 32 the one with the first
 * as its seed. The hash is MurmurHash3 x86 32 but for its tail:
 *
 *     h = seed
 *     4 bytes at a time as a little-endian word w, and then each of the last 0 to 3 bytes as a
 *     signed number w:
 *         h ^= rotl(w 0xcc9e2d51, 15) 0x1b873593      h = rotl(h, 13) 5 + 0xe6546b64
 *     h ^= length, finalised
 *
 * The original fills the tail up to one word, and leaves the second step out. A number is hashed as
 * 8 bytes, the least significant first.
 */

static uint32_t rotate(uint32_t value, unsigned bits)
{
    assert(bits > 0 && bits < 32);
    return value << bits | value >> (32 - bits);
}

static uint32_t mix(uint32_t h, uint32_t word)
{
    h ^= rotate(word * 0xcc9e2d51U, 15) * 0x1b873593U;
    return rotate(h, 13) * 5 + 0xe6546b64U;
}

static uint32_t finalise(uint32_t h)
{
    h = (h ^ (h >> 16)) * 0x85ebca6bU;
    h = (h ^ (h >> 13)) * 0xc2b2ae35U;
    return h ^ (h >> 16);
}

static uint32_t hash_32(uint32_t seed, bloomery_key key)
{
    const uint8_t *data = key.data;
    const size_t whole = key.bytes / 4 * 4;
    uint32_t h = seed;
    for (size_t at = 0; at < whole; at += 4)
        h = mix(h, bloomery_load_u32(data + at));
    for (size_t at = whole; at < key.bytes; at++)
        h = mix(h, (uint32_t)(int32_t)(int8_t)data[at]);
    return finalise(h ^ (uint32_t)key.bytes);
}

static bloomery_hash pair(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const uint32_t first = hash_32((uint32_t)secret->seed, key);
    const uint32_t second = hash_32(first, key);
    return (bloomery_hash){.lo = (uint64_t)second << 32 | first};
}

static const struct bloomery_hash_row spark_pair = {
    .id = BLOOMERY_HASH_SPARK_PAIR,
    .name = "spark-pair",
    .available = true,
    .one = pair,
};

/* ---- Positions ------------------------------------------------------------------------------- */

/*
 * Sums of 64 bits that Java takes for signed:
 *
 *     FLIPPED_SUM_64        c = s32(lo) (2^31 - 1) + (i + 1) s32(lo >> 32)     ~c if c < 0
 *     FLIPPED_SUM_64_KEPT   the same, but the next sum goes on from ~c
 *
 * They multiply so that sums of two numbers of 32 bits reach past 2^31, and almost never pass 0.
 * The positions of the first are those of a walk that nothing turns (dialects/rates.h). So are
 * those of the second, in which at most the first sum is negative.
 */

/* A number of 32 bits in two's complement, as one of 64. */
static inline uint64_t widened(uint64_t value)
{
    return (uint64_t)(int64_t)(int32_t)(uint32_t)value;
}

static inline struct bloomery_steps sum_begin(bloomery_hash hash)
{
    return (struct bloomery_steps){.at = widened(hash.lo) * INT32_MAX,
                                   .step = widened(hash.lo >> 32)};
}

static inline struct bloomery_steps flipped_sum_64_begin(const struct bloomery_layer *layer,
                                                         bloomery_hash hash)
{
    (void)layer;
    assert(layer->bits > 0);
    return sum_begin(hash);
}

static inline uint64_t flipped_sum_64_next(const struct bloomery_layer *layer,
                                           struct bloomery_steps *steps, uint32_t i)
{
    (void)i;
    steps->at += steps->step;
    return bloomery_flip_64(steps->at) % layer->bits;
}

#define SCHEME flipped_sum_64
#include "dialects/scheme_template.h"

static inline struct bloomery_steps flipped_sum_64_kept_begin(const struct bloomery_layer *layer,
                                                              bloomery_hash hash)
{
    (void)layer;
    assert(layer->bits > 0);
    return sum_begin(hash);
}

static inline uint64_t flipped_sum_64_kept_next(const struct bloomery_layer *layer,
                                                struct bloomery_steps *steps, uint32_t i)
{
    (void)i;
    steps->at = bloomery_flip_64(steps->at + steps->step);
    return steps->at % layer->bits;
}

#define SCHEME flipped_sum_64_kept
#include "dialects/scheme_template.h"

static double flipped_sum_64_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return bloomery_step_rate(layer->bits, layer->probes, keys, false);
}

static void flipped_sum_64_scan(const struct bloomery_shape *shape,
                                const struct bloomery_layer *layer, const uint8_t *payload,
                                struct bloomery_scan *scan)
{
    bloomery_classic_scan(shape, layer, payload, scan);
    scan->live_rate =
        fmin(1, scan->live_rate +
                    bloomery_step_excess(layer->bits, layer->probes,
                                         bloomery_classic_estimate(layer, scan->bits_set),
                                         (double)scan->bits_set / (double)layer->bits, false));
    assert(scan->live_rate >= 0 && scan->live_rate <= 1);
}

static const struct bloomery_kind_row flipped_sum_64 = {
    BLOOMERY_FLAT_ROW(BLOOMERY_PROBES_FLIPPED_SUM_64),
    .check = bloomery_classic_check,
    .operations = flipped_sum_64_operations,
    .expected_rate = flipped_sum_64_expected_rate,
    .estimate = bloomery_classic_estimate,
    .scan = flipped_sum_64_scan,
    .probes_max = BLOOMERY_POSITIONS_MAX,
};

static const struct bloomery_kind_row flipped_sum_64_kept = {
    BLOOMERY_FLAT_ROW(BLOOMERY_PROBES_FLIPPED_SUM_64_KEPT),
    .check = bloomery_classic_check,
    .operations = flipped_sum_64_kept_operations,
    .expected_rate = flipped_sum_64_expected_rate,
    .estimate = bloomery_classic_estimate,
    .scan = flipped_sum_64_scan,
    .probes_max = BLOOMERY_POSITIONS_MAX,
};

/* ---- Numbers --------------------------------------------------------------------------------- */

enum { V2 = 0, V1 = 1, V2_EARLY = 2, HEADER_1 = 12, HEADER_2 = 16 };

static bloomery_status count(const bloomery_dialect_parameters *given, double *bits, double *probes,
                             bloomery_error *error)
{
    *bits = (double)given->bits;
    *probes = given->probes;
    if (given->bits == 0 && given->probes == 0) {
        if (!(given->rate > 0 && given->rate < 1) || given->keys == 0 || given->keys > INT64_MAX)
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                                 "Spark takes keys (1 at least) and a rate above 0 and below 1, "
                                 "or keys and bits, or bits and probes");
        *bits = bloomery_java_bits(given->keys, given->rate);
    }
    if (given->probes == 0 && given->keys > 0)
        *probes = bloomery_java_probes(*bits, given->keys);
    return BLOOMERY_OK;
}

static bloomery_status plan(const bloomery_dialect_parameters *given, int variant,
                            struct bloomery_design *design, bloomery_error *error)
{
    double bits;
    double probes;
    /* 32 bits; a negative one may be given as it is or with its sign on top. */
    const bool good_seed = given->seed <= UINT32_MAX || given->seed >= (uint64_t)INT32_MIN;
    if (!good_seed || (variant == V1 && given->seed != 0))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             variant == V1 ? "filters of version 1 have no seed"
                                           : "a seed of Spark's has 32 bits");
    bloomery_status status = count(given, &bits, &probes, error);
    const double words = status == BLOOMERY_OK ? ceil(bits / 64) : 0;
    if (status == BLOOMERY_OK)
        status = bloomery_java_check("Spark", words, probes, BLOOMERY_POSITIONS_MAX, error);
    if (status != BLOOMERY_OK)
        return status;
    bloomery_design_flat(design, &spark_pair, bloomery_dialect_spark.schemes[variant],
                         (uint64_t)words * 64, (uint32_t)probes);
    design->shape.seed = (uint32_t)given->seed;
    design->layers[0].keys = given->keys;
    design->layers[0].rate = given->rate;
    return BLOOMERY_OK;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

/* Which of the three it is: the bytes say 1 or 2, and the caller which 2. */
static bloomery_status read_version(const uint8_t *data, size_t bytes, const char *wanted,
                                    int *variant, bloomery_error *error)
{
    const uint64_t version = bytes >= 4 ? bloomery_load_be(data, 4) : 0;
    if (bytes >= 4 && version != 1 && version != 2)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0,
                             "not a stream of Spark's: its version is %llu, not 1 or 2",
                             (unsigned long long)version);
    if (bytes < (version == 1 ? HEADER_1 : HEADER_2))
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: a stream of Spark's begins with %d bytes, there are %zu",
                             version == 1 ? HEADER_1 : HEADER_2, bytes);
    if (wanted == NULL)
        *variant = version == 1 ? V1 : V2;
    if ((*variant == V1) != (version == 1))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "the stream is of version %llu, which is not %s",
                             (unsigned long long)version, wanted);
    return BLOOMERY_OK;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given, int variant,
                             struct bloomery_design *design, bloomery_error *error)
{
    bloomery_status status = read_version(data, bytes, given->variant, &variant, error);
    if (status != BLOOMERY_OK)
        return status;
    const size_t header = variant == V1 ? HEADER_1 : HEADER_2;
    const uint64_t probes = bloomery_load_be(data + 4, 4);
    const uint64_t seed = variant == V1 ? 0 : bloomery_load_be(data + 8, 4);
    const uint64_t words = bloomery_load_be(data + header - 4, 4);
    if (probes == 0 || probes > INT32_MAX)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 4, "damaged: a filter without probes");
    if (probes > BLOOMERY_POSITIONS_MAX)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 4,
                             "%llu probes for a key are more than the %d that can be served here",
                             (unsigned long long)probes, BLOOMERY_POSITIONS_MAX);
    if (words == 0 || words > INT32_MAX)
        return bloomery_fail(error, BLOOMERY_CORRUPT, header - 4,
                             "damaged: %llu words are not 1 to 2^31-1", (unsigned long long)words);
    status = bloomery_dialect_length(words, header, bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    bloomery_design_flat(design, &spark_pair, bloomery_dialect_spark.schemes[variant], words * 64,
                         (uint32_t)probes);
    design->shape.seed = seed;
    design->layout = BLOOMERY_LAYOUT_BE_WORDS;
    design->bits[0] = data + header;
    design->bit_bytes[0] = words * 8;
    assert(header + design->bit_bytes[0] == bytes);
    return BLOOMERY_OK;
}

static bool is_first(const bloomery_filter *filter)
{
    return filter->kind == &bloomery_scheme_flipped_double_32;
}

static bloomery_status fits(const bloomery_filter *filter, bloomery_error *error)
{
    if (filter->shape.seed > UINT32_MAX || (is_first(filter) && filter->shape.seed != 0))
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0, "%s", bloomery_dialect_spark.others);
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    const bool first = is_first(filter);
    const size_t header = first ? HEADER_1 : HEADER_2;
    uint8_t bytes[HEADER_2];
    assert(bloomery_dialect_fits(&bloomery_dialect_spark, filter, NULL) == BLOOMERY_OK);
    assert(layer->bits % 64 == 0 && layer->bits / 64 <= INT32_MAX);
    assert(filter->shape.seed <= (first ? 0 : UINT32_MAX));
    bloomery_store_be(bytes, first ? 1 : 2, 4);
    bloomery_store_be(bytes + 4, layer->probes, 4);
    bloomery_store_be(bytes + 8, filter->shape.seed, 4); /* where version 1 has W */
    bloomery_store_be(bytes + header - 4, layer->bits / 64, 4);
    bloomery_status status = bloomery_emit(emitter, bytes, header);
    return status == BLOOMERY_OK
               ? bloomery_emit_bits(emitter, layer, layer->bits / 8, BLOOMERY_LAYOUT_BE_WORDS)
               : status;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

/* Filters from bytes do not know what they were planned for. */
static bool remark_early(const bloomery_filter *filter, char *text, size_t room)
{
    if (filter->kind != &flipped_sum_64 || filter->layers[0].keys > 0)
        return false;
    snprintf(
        text, room,
        "if a Spark built in the spring of 2025 wrote it, its bits are those of variant v2-early, "
        "read as which it misses none of its keys; nothing in the bytes shows it");
    return true;
}

const struct bloomery_dialect_row bloomery_dialect_spark = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_SPARK,
            .name = "spark",
            .description = "Spark's BloomFilter (sketch), the stream of its writeTo",
            .variants = "v2, v1, v2-early",
            .load_needs = "",
            .load_takes = "variant",
            .create_takes = "variant, keys, rate, bits, probes, seed",
            .reads = true,
            .writes = true,
            .creates = true,
            .hashes = true,
        },
    .names = {"v2", "v1", "v2-early"},
    .hashes = {&spark_pair},
    .schemes = {&flipped_sum_64, &bloomery_scheme_flipped_double_32, &flipped_sum_64_kept},
    .seeded = true,
    .others = "Spark hashes by its own murmur3 of 32 bits and steps by one of its versions",
    .unit_bits = 64,
    .units_max = INT32_MAX,
    .sizes = "Spark's filters have whole words of 64 bits, 2^31-1 at most",
    .plan = plan,
    .parse = parse,
    .write = write,
    .fits = fits,
    .remarks = {bloomery_java_remark, remark_early},
    .variants_by_scheme = true,
};
