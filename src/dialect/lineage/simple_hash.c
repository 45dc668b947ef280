/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A crawler's filter that was posted widely (Java, class SimpleHash): a java.util.BitSet of 2^25
 * bits - its comment says 2^24, its code has 2^25. A key sets the seven, or six, that its
 * polynomials name (hash/foreign/simple_hash_seeds.c). It has no file format; the image is
 *
 *     m / 8 bytes; bit p is bit p & 7 of byte p >> 3
 *
 * Variants: "seven" has the seeds 5 7 11 13 31 37 61, "six" lacks the first. Other powers of two
 * than 2^25 are said as bits. Keys are UTF-8 (a single surrogate as its three bytes), hashed as
 * UTF-16.
 *
 * Faults, all of the hash. What has few units has few positions:
 *
 *     key                     its positions                    and so
 *     empty                   bit 0, seven times
 *     one unit c              bit c, seven times                  a rate of fill, not of fill^7
 *     two units c d           s c + d for each seed s          those of 95 printable characters lie
 *                                                              in bits 192 to 7812
 *     three units c d e       s^2 c + s d + e                  992 to 476,658
 *
 * so that filters of short keys are crowded at their beginning while the rest is empty. The
 * crowding is computed here. Bit b is reached by as many keys of l characters from 32 to 126 as
 * there are ways to write b in that form. They are counted by trying all last characters,
 *
 *     ways(b, 1) = 1 for 32 <= b <= 126, else 0
 *     ways(b, l) = sum over c = b mod s of ways((b - c) / s, l - 1)
 *
 * and with each key in with chance q the bit is set with 1 - (1 - q)^(sum of ways over seeds). The
 * rate is the product over a key's bits, averaged over keys. Several of its bits may come from one
 * other key. That is left out, since two keys of l characters share at most l - 1 polynomials.
 */
#include "dialect/dialects.h"

#include "base/error.h"
#include "hash/foreign/simple_hash_seeds.h"
#include "plan/classic_rate.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

enum {
    SEVEN_HASH = BLOOMERY_HASH_ID_simple_seven,
    DEFAULT_BITS = 1 << 25,
    FIRST_CHARACTER = 32,
    LAST_CHARACTER = 126
};
_Static_assert(BLOOMERY_HASH_ID_simple_six == SEVEN_HASH + 1, "a variant is added to the id");

static const char variants[] = "seven, six";

static bloomery_status plan(const bloomery_dialect_parameters *given,
                            struct bloomery_design *design, bloomery_error *error)
{
    const int variant = bloomery_dialect_choose(variants, given->variant, error);
    const uint64_t bits = given->bits > 0 ? given->bits : DEFAULT_BITS;
    if (variant < 0)
        return BLOOMERY_BAD_ARGUMENT;
    const uint32_t probes = (uint32_t)(BLOOMERY_SIMPLE_SEEDS - variant);
    if ((bits & (bits - 1)) != 0 || bits > UINT64_C(1) << 30)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "these filters have a power of two of bits, 2^30 at most, and 2^25 "
                             "where nothing is said");
    if (given->probes != 0 && given->probes != probes)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "this variant of simple-hash has %u probes", probes);
    bloomery_design_flat(design, (uint32_t)(SEVEN_HASH + variant), BLOOMERY_PROBES_POSITIONS, bits,
                         probes);
    return BLOOMERY_OK;
}

static uint64_t byte_count(uint64_t bits)
{
    return (bits + 7) / 8;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given,
                             struct bloomery_design *design, bloomery_error *error)
{
    bloomery_status status = plan(given, design, error);
    if (status != BLOOMERY_OK)
        return status;
    const uint64_t needed = byte_count(design->layers[0].bits);
    if (needed != bytes)
        return bloomery_fail(
            error, BLOOMERY_TRUNCATED, bytes, "%s: %llu bits take %llu bytes, there are %zu",
            needed > bytes ? "cut short" : "something follows the filter",
            (unsigned long long)design->layers[0].bits, (unsigned long long)needed, bytes);
    design->layout = BLOOMERY_LAYOUT_BYTES;
    design->bits[0] = data;
    design->bit_bytes[0] = bytes;
    return BLOOMERY_OK;
}

/* A file of ours may name this dialect and have any shape. The hashes take care of bits and
 * probes. */
static bloomery_status fits(const bloomery_filter *filter, bloomery_error *error)
{
    const struct bloomery_shape *shape = &filter->shape;
    if (shape->kind == BLOOMERY_CLASSIC && shape->seed == 0 &&
        (shape->hash == SEVEN_HASH || shape->hash == SEVEN_HASH + 1) &&
        shape->probe_scheme == BLOOMERY_PROBES_POSITIONS)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                         "its keys are hashed or placed in another way than by polynomials");
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    assert(fits(filter, NULL) == BLOOMERY_OK);
    return bloomery_emit_bits(emitter, filter->layers, byte_count(filter->layers->bits),
                              BLOOMERY_LAYOUT_BYTES);
}

/* ---- How crowded ----------------------------------------------------------------------------- */

/* Keys of `length` printable characters whose polynomial has this value. */
static uint32_t ways(uint64_t value, uint32_t seed, uint32_t length)
{
    uint32_t count = 0;
    if (length == 1)
        return value >= FIRST_CHARACTER && value <= LAST_CHARACTER;
    const uint64_t first = FIRST_CHARACTER + (value + seed - FIRST_CHARACTER % seed) % seed;
    for (uint64_t last = first; last <= LAST_CHARACTER && last <= value; last += seed)
        count += ways((value - last) / seed, seed, length - 1);
    return count;
}

/* What is the same for all keys of a length. */
struct crowd {
    const uint32_t *seeds;
    uint32_t probes;
    uint32_t length;
    double chance; /* of a key to be in */
};

static uint64_t value_of(uint32_t seed, const uint8_t *text, uint32_t length)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < length; i++)
        sum = sum * seed + text[i];
    return sum;
}

/* The chance that a key which is not in seems to be. */
static double key_rate(const struct crowd *crowd, const uint8_t *text)
{
    double rate = 1;
    for (uint32_t i = 0; i < crowd->probes; i++) {
        const uint64_t bit = value_of(crowd->seeds[i], text, crowd->length);
        uint32_t others = 0;
        for (uint32_t j = 0; j < crowd->probes; j++)
            others += ways(bit, crowd->seeds[j], crowd->length);
        assert(others > 0);
        rate *= -expm1((others - 1) * log1p(-crowd->chance)); /* all but the key itself */
    }
    return rate;
}

/* Averaged over a thousand keys, drawn always alike. */
static double crowd_rate(const struct crowd *crowd)
{
    enum { SAMPLES = 1000 };
    const uint32_t characters = LAST_CHARACTER - FIRST_CHARACTER + 1;
    uint64_t state = 1;
    double sum = 0;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint8_t text[4];
        assert(crowd->length <= sizeof text);
        for (uint32_t j = 0; j < crowd->length; j++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
            text[j] = (uint8_t)(FIRST_CHARACTER + (state >> 33) % characters);
        }
        sum += key_rate(crowd, text);
    }
    return sum / SAMPLES;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static const char *variant(const bloomery_filter *filter)
{
    return filter->shape.hash == SEVEN_HASH ? "seven" : "six";
}

static bool remark_one(const struct bloomery_layer *layer, char *text, size_t room)
{
    struct bloomery_phrase one, all;
    snprintf(
        text, room,
        "a key of one UTF-16 unit has one position, not %u: where the filter is half full, %s of "
        "them seem to be in, not %s; and the empty key is bit 0",
        layer->probes, bloomery_phrase_rate(&one, 0.5),
        bloomery_phrase_rate(&all, pow(0.5, layer->probes)));
    return true;
}

static const char *independent_rate(struct bloomery_phrase *phrase, double rate)
{
    return rate < 1e-15 ? "fewer than 1 in 10^15" : bloomery_phrase_rate(phrase, rate);
}

static bool remark_crowd(const bloomery_filter *filter, uint32_t length, uint64_t keys, char *text,
                         size_t room)
{
    const struct bloomery_layer *layer = filter->layers;
    const uint32_t *seeds = bloomery_simple_seeds + (filter->shape.hash == SEVEN_HASH ? 0 : 1);
    const uint8_t first[] = {FIRST_CHARACTER, FIRST_CHARACTER, FIRST_CHARACTER};
    const uint8_t last[] = {LAST_CHARACTER, LAST_CHARACTER, LAST_CHARACTER};
    const uint64_t lowest = value_of(seeds[0], first, length);
    const uint64_t highest = value_of(seeds[layer->probes - 1], last, length);
    const double all = pow(LAST_CHARACTER - FIRST_CHARACTER + 1, length);
    const struct crowd crowd = {seeds, layer->probes, length, (double)keys / all};
    struct bloomery_phrase is, independent;
    if (highest >= layer->bits)
        return false;
    snprintf(
        text, room,
        "the %llu keys of %u printable ASCII characters lie in bits %llu to %llu: with %llu of "
        "them in, about %s of the others seem to be in, where independent positions would "
        "have %s",
        (unsigned long long)all, length, (unsigned long long)lowest, (unsigned long long)highest,
        (unsigned long long)keys, bloomery_phrase_rate(&is, crowd_rate(&crowd)),
        independent_rate(&independent, bloomery_classic_rate(layer->bits, layer->probes, keys)));
    return true;
}

static bool remark(const bloomery_filter *filter, uint32_t index, char *text, size_t room)
{
    if (fits(filter, NULL) != BLOOMERY_OK)
        return false;
    switch (index) {
    case 0:
        return remark_one(filter->layers, text, room);
    case 1:
        return remark_crowd(filter, 2, 1000, text, room);
    case 2:
        return remark_crowd(filter, 3, 10000, text, room);
    default:
        return false;
    }
}

const struct bloomery_dialect_row bloomery_dialect_simple_hash = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_SIMPLE_HASH,
            .name = "simple-hash",
            .description = "a crawler's BitSet with seven or six polynomials (Java, SimpleHash)",
            .variants = variants,
            .load_needs = "",
            .load_takes = "variant, bits, probes",
            .create_takes = "variant, bits, probes",
            .reads = true,
            .writes = true,
            .creates = true,
        },
    .plan = plan,
    .parse = parse,
    .write = write,
    .fits = fits,
    .remark = remark,
    .variant = variant,
};
