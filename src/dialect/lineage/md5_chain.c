/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Bloom filter among the examples of Python's bitarray (examples/bloom.py), whose positions are
 * the remainders of digests (hash/foreign/md5_chain_hash.c has the formulas). They changed with
 * releases: the variants.
 *
 *     a    February 2012, in no release   e    1.2.0 to 2.8.2, Debian 12 among them: the default
 *     b    0.5.0                          f    2.8.3 to 3.1.0
 *     c    0.5.1 to 1.0.1                 g    from 3.1.1 on
 *     d    1.1.0
 *
 * The bytes are those of bitarray's tofile(): ceil(m / 8) of them, no header,
 *
 *     bit p is bit 7 - (p & 7) of byte p >> 3; what is past m is 0
 *
 * and neither m, k nor the variant is in them. Keys are the UTF-8 of str(key): numbers in decimal.
 *
 * Sizing: up to d the caller says m and k; from e on k = ceil(-log2 p), m = ceil(-n log2(p) / ln
 * 2).
 *
 * Counters in the place of bits (cell_bits 4 or 8) were never among the examples. A key adds 1 for
 * each position, repeats included, and takes 1 for each when it is removed. There are no bytes for
 * them but ours.
 *
 * Faults: in b a digest is used up after 512 / log2(m) positions and all others are 0. c can't go
 * on under Python 3 if a second digest is needed. f and g pass over half of all draws if m is a
 * power of two, since they take the next one above it.
 */
#include "dialect/dialects.h"

#include "base/error.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

enum { FIRST_HASH = BLOOMERY_HASH_ID_md5_chain_a, FIRST_SIZED = 'e' - 'a', BIT_PER_CELL = 1 };
_Static_assert(BLOOMERY_HASH_ID_md5_chain_g == FIRST_HASH + 'g' - 'a', "a form is added to the id");

static const char variants[] = "e, a, b, c, d, f, g";

/* Which of a to g, as a number from 0 on; -1: none. */
static int choose(const char *wanted, bloomery_error *error)
{
    const int number = bloomery_dialect_choose(variants, wanted, error);
    return number < 0 ? -1 : variants[(size_t)number * 3] - 'a';
}

/* Whether m and k were said or could be computed; fills in what was not. */
static bloomery_status size(const bloomery_dialect_parameters *given, int form, double *bits,
                            double *probes, bloomery_error *error)
{
    *bits = (double)given->bits;
    *probes = given->probes;
    if (given->bits > 0 && given->probes > 0)
        return BLOOMERY_OK;
    if (given->bits > 0 || given->probes > 0 || form < FIRST_SIZED || given->keys == 0 ||
        !(given->rate > 0 && given->rate < 1))
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            form < FIRST_SIZED ? "variants a to d of md5-chain have no sizing: they take bits and "
                                 "probes"
                               : "md5-chain takes keys and a rate above 0 and below 1, or bits "
                                 "and probes");
    *probes = ceil(-log2(given->rate));
    *bits = ceil(-(double)given->keys * log2(given->rate) / log(2));
    return BLOOMERY_OK;
}

static bloomery_status plan(const bloomery_dialect_parameters *given,
                            struct bloomery_design *design, bloomery_error *error)
{
    const int form = choose(given->variant, error);
    const uint32_t cell_bits = given->cell_bits > 0 ? given->cell_bits : BIT_PER_CELL;
    double bits, probes;
    if (form < 0)
        return BLOOMERY_BAD_ARGUMENT;
    bloomery_status status = size(given, form, &bits, &probes, error);
    if (status != BLOOMERY_OK)
        return status;
    if (!(bits <= (double)BLOOMERY_BITS_MAX) || !(probes <= BLOOMERY_POSITIONS_MAX))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a filter has at most 2^50 bits and 1024 probes; these numbers make "
                             "another");
    bloomery_design_flat(design, (uint32_t)(FIRST_HASH + form), BLOOMERY_PROBES_POSITIONS,
                         given->bits > 0 ? given->bits : (uint64_t)bits, (uint32_t)probes);
    if (cell_bits != BIT_PER_CELL) {
        design->shape.kind = BLOOMERY_COUNTING;
        design->shape.cell_bits = bloomery_cell_bits_field(cell_bits);
        design->shape.repeat_scheme = BLOOMERY_REPEATS_COUNT;
    }
    design->layers[0].keys = given->keys;
    design->layers[0].rate = given->rate;
    return BLOOMERY_OK;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given,
                             struct bloomery_design *design, bloomery_error *error)
{
    bloomery_status status = plan(given, design, error);
    if (status != BLOOMERY_OK)
        return status;
    const uint64_t bits = design->layers[0].bits;
    const uint64_t needed = bits / 8 + (bits % 8 != 0);
    if (needed != bytes)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "%s: %llu bits take %llu bytes, there are %zu",
                             needed > bytes ? "cut short" : "something follows the filter",
                             (unsigned long long)bits, (unsigned long long)needed, bytes);
    design->layout = BLOOMERY_LAYOUT_MSB_FIRST;
    design->bits[0] = data;
    design->bit_bytes[0] = bytes;
    return BLOOMERY_OK;
}

static int form_of(const bloomery_filter *filter)
{
    const int form = (int)filter->shape.hash - FIRST_HASH;
    return form >= 0 && form <= 'g' - 'a' ? form : -1;
}

static bloomery_status fits(const bloomery_filter *filter, bloomery_error *error)
{
    if (form_of(filter) < 0)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                             "bitarray's example takes positions off a chain of digests");
    if (filter->shape.kind != BLOOMERY_CLASSIC)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                             "it has counters, and bitarray's example knows bits only");
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    assert(fits(filter, NULL) == BLOOMERY_OK);
    assert(filter->shape.cell_bits == BIT_PER_CELL);
    return bloomery_emit_bits(emitter, layer, layer->bits / 8 + (layer->bits % 8 != 0),
                              BLOOMERY_LAYOUT_MSB_FIRST);
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static const char *variant(const bloomery_filter *filter)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
    const int form = form_of(filter);
    return form >= 0 ? names[form] : NULL;
}

/* b: m^i passes 2^512 with position i, from which on all are 0. */
static bool remark_exhausted(const struct bloomery_layer *layer, char *text, size_t room)
{
    const double digits = ceil(512 / log2((double)layer->bits));
    if (!(digits < layer->probes))
        return false;
    snprintf(
        text, room,
        "in these %llu bits a digest is used up after %u positions: the other %u of its %u are "
        "bit 0 for every key, and its rate is that of %u probes",
        (unsigned long long)layer->bits, (uint32_t)digits, layer->probes - (uint32_t)digits,
        layer->probes, (uint32_t)digits);
    return true;
}

/* c: a second digest is needed if the first, a number below 2^128, is less than m^k. */
static bool remark_stops(const struct bloomery_layer *layer, char *text, size_t room)
{
    struct bloomery_phrase phrase;
    const double share = exp2(fmin(0, layer->probes * log2((double)layer->bits) - 128));
    if (share < 1e-12)
        return false;
    snprintf(
        text, room,
        "the original stops with a TypeError under Python 3 where a key needs a second digest: "
        "in %llu bits with %u probes that is %s of all keys",
        (unsigned long long)layer->bits, layer->probes,
        share < 1 ? bloomery_phrase_rate(&phrase, share) : "all");
    return true;
}

static bool remark_own(const bloomery_filter *filter, char *text, size_t room)
{
    const struct bloomery_layer *layer = filter->layers;
    switch (form_of(filter)) {
    case 'b' - 'a':
        return remark_exhausted(layer, text, room);
    case 'c' - 'a':
        return remark_stops(layer, text, room);
    case 'f' - 'a':
    case 'g' - 'a':
        if ((layer->bits & (layer->bits - 1)) != 0)
            return false;
        snprintf(
            text, room,
            "with %llu bits, a power of two, the original passes over half of all it draws: %u "
            "draws for a key of %u probes",
            (unsigned long long)layer->bits, 2 * layer->probes, layer->probes);
        return true;
    default:
        return false;
    }
}

static bool remark(const bloomery_filter *filter, uint32_t index, char *text, size_t room)
{
    const bool rate = bloomery_remark_rate(filter, 1.1, text, room);
    if (rate && index == 0)
        return true;
    return index == (rate ? 1 : 0) && remark_own(filter, text, room);
}

const struct bloomery_dialect_row bloomery_dialect_md5_chain = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_MD5_CHAIN,
            .name = "md5-chain",
            .description = "the example filter of Python's bitarray, its bytes by tofile()",
            .variants = variants,
            .load_needs = "bits, probes",
            .load_takes = "variant, keys, rate, bits, probes",
            .create_takes = "variant, keys, rate, bits, probes, cell_bits",
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
