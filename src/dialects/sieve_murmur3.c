/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter of the crawler queue "Sieve" (tomfran/crawler, in Rust), which has no file format. Its
 * array as little-endian 128-bit words is bytes with the lowest bit first:
 *
 *     16 ceil(m / 128) bytes; bit p is bit p & 7 of byte p >> 3; what is past m is 0
 *
 * Keys are hashed by murmur3 x64 128 with seed 0; probe i is (h1 + i h2 mod 2^64) mod m.
 *
 * Sizing: m = trunc(-n ln p / (ln2 ln2)), k = ceil(-ln p / ln2), k as 32 bits. Neither m nor k is
 * in the words: to load them, give both, or the keys and the rate.
 *
 * Faults: m may be 0, which makes the original stop at the first key. k may be 0 (from rate 1 on),
 * which makes it answer yes to all. Both are refused here. It counts the bits that are set in 32
 * bits.
 */
#include "base/error.h"
#include "dialects/dialects.h"
#include "dialects/schemes.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

enum { WORD_BITS = 128, WORD_BYTES = 16 };

static uint64_t byte_count(uint64_t bits)
{
    return (bits / WORD_BITS + (bits % WORD_BITS != 0)) * WORD_BYTES;
}

/* Raw numbers, or Sieve's from n and p. */
static bloomery_status plan(const bloomery_dialect_parameters *given, int variant,
                            struct bloomery_design *design, bloomery_error *error)
{
    double bits = (double)given->bits;
    double probes = given->probes;
    (void)variant;
    const bool raw = given->bits > 0 && given->probes > 0;
    if (!raw) {
        const double ln2 = log(2);
        if (given->bits > 0 || given->probes > 0 || given->keys == 0 ||
            !(given->rate > 0 && given->rate < 1))
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                                 "Sieve takes keys and a rate above 0 and below 1, or bits and "
                                 "probes");
        bits = trunc(-(double)given->keys * log(given->rate) / (ln2 * ln2));
        probes = ceil(-log(given->rate) / ln2);
    }
    if (!(bits >= 1 && bits <= (double)BLOOMERY_BITS_MAX) ||
        !(probes >= 1 && probes <= BLOOMERY_POSITIONS_MAX))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             bits < 1 ? "so few keys at such a rate make a filter of 0 bits, with "
                                        "which the original stops"
                                      : "a filter has 1 to 2^50 bits and 1 to 1024 probes; these "
                                        "numbers make another");
    bloomery_design_flat(design, &bloomery_hash_murmur3, &bloomery_scheme_double,
                         raw ? given->bits : (uint64_t)bits, (uint32_t)probes);
    design->layers[0].keys = given->keys;
    design->layers[0].rate = given->rate;
    return BLOOMERY_OK;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given, int variant,
                             struct bloomery_design *design, bloomery_error *error)
{
    bloomery_status status = plan(given, variant, design, error);
    if (status != BLOOMERY_OK)
        return status;
    const uint64_t needed = byte_count(design->layers[0].bits);
    if (needed != bytes)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "%s: %llu bits take %llu bytes in words of 128 bits, there are %zu",
                             needed > bytes ? "cut short" : "something follows the filter",
                             (unsigned long long)design->layers[0].bits, (unsigned long long)needed,
                             bytes);
    design->layout = BLOOMERY_LAYOUT_BYTES;
    design->bits[0] = data;
    design->bit_bytes[0] = bytes;
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    assert(bloomery_dialect_fits(&bloomery_dialect_sieve, filter, NULL) == BLOOMERY_OK);
    return bloomery_emit_bits(emitter, layer, byte_count(layer->bits), BLOOMERY_LAYOUT_BYTES);
}

static bool remark_count(const bloomery_filter *filter, char *text, size_t room)
{
    const struct bloomery_layer *layer = filter->layers;
    const double bits = (double)layer->bits;
    if (layer->bits <= UINT32_MAX)
        return false;
    /* How many keys set 2^32 - 1 bits. */
    const double keys = log1p(-(double)UINT32_MAX / bits) / (layer->probes * log1p(-1 / bits));
    snprintf(text, room,
             "the original counts the bits that are set in 32 bits: of these %llu bits that many "
             "are set after %llu keys, and then it stops, or reports a wrong size",
             (unsigned long long)layer->bits, (unsigned long long)keys);
    return true;
}

const struct bloomery_dialect_row bloomery_dialect_sieve = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_SIEVE_MURMUR3,
            .name = "sieve-murmur3",
            .description = "the filter of the crawler queue Sieve (Rust), its words little-endian",
            .load_needs = "bits, probes",
            .load_takes = "keys, rate, bits, probes",
            .create_takes = "keys, rate, bits, probes",
            .reads = true,
            .writes = true,
            .creates = true,
            .hashes = true,
        },
    .hashes = {&bloomery_hash_murmur3},
    .schemes = {&bloomery_scheme_double},
    .others = "Sieve hashes by murmur3 with seed 0 and steps by h1 + i h2 modulo the bits",
    .plan = plan,
    .parse = parse,
    .write = write,
    .remarks = {bloomery_remark_rate, remark_count},
};
