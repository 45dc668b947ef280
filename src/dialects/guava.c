/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guava's BloomFilter (com.google.common.hash, 31.1 and before and after it), and the stream of its
 * writeTo:
 *
 *     byte 0    strategy: 0 MURMUR128_MITZ_32, 1 MURMUR128_MITZ_64
 *     byte 1    k, 1 to 255
 *     byte 2    W, the number of 64-bit words, big-endian, 1 to 2^31 - 1
 *     byte 6    the words, big-endian; bit p is bit p & 63 of word p >> 6. m = 64 W
 *
 * Keys are hashed by murmur3 x64 128 with seed 0, as the bytes that a funnel makes of an object.
 * Neither n nor p nor the funnel is in the stream.
 *
 * Sizing (31.1): bits = trunc(-n ln p / (ln2 ln2)), n = 0 counting as 1; W = ceil(bits / 64). k =
 * max(1, round(bits / n ln2)), from the bits before they are rounded up to words. Later releases
 * take k = max(1, round(-ln p / ln2)), another number for a handful of keys only; readers take what
 * the stream says.
 *
 * Known faults: MITZ_32 computes with 32 bits and leaves all bits past 2^31 empty. Both strategies
 * step through the array, so a few keys in m have a step that leads back to its beginning, and only
 * a few positions. Below rates of some 1/m that is most of the rate.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "dialects/schemes.h"
#include "dialects/sizing.h"

#include <assert.h>
#include <math.h>

enum { HEADER = 6, MITZ_32 = 0, MITZ_64 = 1, PROBES_MAX = 255 };

static const uint64_t words_max = INT32_MAX;

/* ---- Positions, by MITZ_64 ------------------------------------------------------------------- */

static inline struct bloomery_steps masked_double_begin(const struct bloomery_layer *layer,
                                                        bloomery_hash hash)
{
    (void)layer;
    assert(layer->bits > 0);
    return (struct bloomery_steps){.at = hash.lo, .step = hash.hi};
}

static inline uint64_t masked_double_next(const struct bloomery_layer *layer,
                                          struct bloomery_steps *steps, uint32_t i)
{
    const uint64_t at = steps->at;
    (void)i;
    steps->at += steps->step;
    return bloomery_modulo(at & INT64_MAX, layer->bits, layer->inverse);
}

#define SCHEME masked_double
#include "dialects/scheme_template.h"

static const struct bloomery_kind_row masked_double = {
    BLOOMERY_FLAT_ROW(BLOOMERY_PROBES_MASKED_DOUBLE),
    .check = bloomery_classic_check,
    .operations = masked_double_operations,
    BLOOMERY_ROW_RATES(bloomery_double),
    .probes_max = PROBES_MAX,
};

/* ---- Numbers and bytes ----------------------------------------------------------------------- */

/* By the number of the strategy. */
static const struct bloomery_kind_row *const strategies[] = {&bloomery_scheme_flipped_double_32,
                                                             &masked_double};

/* Raw numbers, or Guava's from n and p. */
static bloomery_status plan(const bloomery_dialect_parameters *given, int variant,
                            struct bloomery_design *design, bloomery_error *error)
{
    double bits = (double)given->bits;
    double probes = given->probes;
    if (given->bits == 0 && given->probes == 0) {
        const uint64_t keys = given->keys > 0 ? given->keys : 1;
        if (!(given->rate > 0 && given->rate < 1) || keys > INT64_MAX)
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                                 "Guava takes keys and a rate above 0 and below 1, or bits and "
                                 "probes");
        bits = bloomery_java_bits(keys, given->rate);
        probes = bloomery_java_probes(bits, keys);
    }
    const double words = ceil(bits / 64);
    bloomery_status status = bloomery_java_check("Guava", words, probes, PROBES_MAX, error);
    if (status != BLOOMERY_OK)
        return status;
    bloomery_design_flat(design, &bloomery_hash_murmur3, bloomery_dialect_guava.schemes[variant],
                         (uint64_t)words * 64, (uint32_t)probes);
    design->layers[0].keys = given->keys;
    design->layers[0].rate = given->rate;
    return BLOOMERY_OK;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given, int variant,
                             struct bloomery_design *design, bloomery_error *error)
{
    (void)given;
    (void)variant;
    if (bytes < HEADER)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: a stream of Guava's begins with 6 bytes, there are %zu",
                             bytes);
    const uint32_t strategy = data[0];
    const uint32_t probes = data[1];
    const uint64_t words = bloomery_load_be(data + 2, 4);
    if (strategy > 1)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0,
                             "not a stream of Guava's: strategy %u does not exist", strategy);
    if (probes == 0)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 1, "damaged: a filter without probes");
    if (words == 0 || words > words_max)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 2, "damaged: %llu words are not 1 to 2^31-1",
                             (unsigned long long)words);
    bloomery_status status = bloomery_dialect_length(words, HEADER, bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    bloomery_design_flat(design, &bloomery_hash_murmur3, strategies[strategy], words * 64, probes);
    design->layout = BLOOMERY_LAYOUT_BE_WORDS;
    design->bits[0] = data + HEADER;
    design->bit_bytes[0] = words * 8;
    assert(HEADER + design->bit_bytes[0] == bytes);
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    uint8_t header[HEADER];
    assert(bloomery_dialect_fits(&bloomery_dialect_guava, filter, NULL) == BLOOMERY_OK);
    assert(layer->probes <= PROBES_MAX && layer->bits % 64 == 0);
    header[0] = filter->kind == &masked_double ? MITZ_64 : MITZ_32;
    header[1] = (uint8_t)layer->probes;
    bloomery_store_be(header + 2, layer->bits / 64, 4);
    bloomery_status status = bloomery_emit(emitter, header, sizeof header);
    return status == BLOOMERY_OK
               ? bloomery_emit_bits(emitter, layer, layer->bits / 8, BLOOMERY_LAYOUT_BE_WORDS)
               : status;
}

const struct bloomery_dialect_row bloomery_dialect_guava = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_GUAVA,
            .name = "guava",
            .description = "Guava's BloomFilter, the stream of its writeTo",
            .variants = "mitz64, mitz32",
            .load_needs = "",
            .load_takes = "",
            .create_takes = "variant, keys, rate, bits, probes",
            .reads = true,
            .writes = true,
            .creates = true,
            .hashes = true,
        },
    .names = {"mitz64", "mitz32"},
    .hashes = {&bloomery_hash_murmur3},
    .schemes = {&masked_double, &bloomery_scheme_flipped_double_32},
    .others = "Guava hashes by murmur3 with seed 0 and steps by one of its two strategies",
    .unit_bits = 64,
    .units_max = INT32_MAX,
    .probes_max = PROBES_MAX,
    .sizes = "Guava's filters have whole words of 64 bits, 2^31-1 at most, and at most 255 probes",
    .plan = plan,
    .parse = parse,
    .write = write,
    .remarks = {bloomery_java_remark},
    .variants_by_scheme = true,
};
