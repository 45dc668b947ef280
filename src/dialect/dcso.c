/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DCSO's filters (github.com/DCSO/bloom, format version 1, which its Go, Python and C programs
 * share):
 *
 *     byte 0     1, the version; the other 7 bytes of the word are flags, 0 so far
 *     byte 8     n, the keys it is for        u64, little-endian as all that follows
 *     byte 16    p, the rate                  f64
 *     byte 24    k                            u64
 *     byte 32    m                            u64
 *     byte 40    keys that set a bit          u64
 *     byte 48    ceil(m / 64) words, bit p being bit p & 63 of word p >> 6
 *                what is left is data that somebody attached
 *
 * The whole may be compressed by gzip, which the bytes themselves do not say: the caller unpacks
 * it.
 *
 * Keys are hashed by FNV-1 (hash/foreign/fnv1.c), positions are a chain of products
 * (core/foreign/modular_chain.c). Sizing: m = |ceil(n ln p / ln(2)^2)|, which is the floor, since
 * what is rounded up is negative; k = ceil(m / n ln 2).
 *
 * Faults: if m = 2^j r with a small odd r, the positions of a key depend on each other, and the
 * rate is many times the planned one (plan/foreign/chain_rate.c). m = 0, which n = 1 and p = 0.9
 * make, is a filter that contains everything; it is refused here.
 */
#include "dialect/dialects.h"

#include "base/bits.h"
#include "base/bytes.h"
#include "base/error.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

enum { HASH = BLOOMERY_HASH_ID_fnv1_modulo, HEADER = 48, VERSION = 1 };

static bloomery_status wrong_numbers(bloomery_error *error)
{
    return bloomery_fail(
        error, BLOOMERY_BAD_ARGUMENT, 0,
        "DCSO's filters take keys and a rate above 0 and below 1, or bits and probes, that "
        "make 1 to 2^50 bits and 1 to 1024 probes");
}

static void lay_out(struct bloomery_design *design, uint64_t bits, uint32_t probes)
{
    bloomery_design_flat(design, HASH, BLOOMERY_PROBES_MODULAR_CHAIN, bits, probes);
    design->shape.count_scheme = BLOOMERY_COUNTS_NEW;
}

static bloomery_status plan(const bloomery_dialect_parameters *given,
                            struct bloomery_design *design, bloomery_error *error)
{
    const double ln2 = log(2);
    const double keys = (double)given->keys;
    double bits = (double)given->bits;
    double probes = given->probes;
    if (given->bits == 0 && given->probes == 0) {
        if (given->keys == 0 || !(given->rate > 0 && given->rate < 1))
            return wrong_numbers(error);
        bits = fabs(ceil(keys * log(given->rate) / (ln2 * ln2)));
        probes = ceil(ln2 * bits / keys);
    }
    if (!(bits >= 1 && bits <= (double)BLOOMERY_BITS_MAX) ||
        !(probes >= 1 && probes <= BLOOMERY_POSITIONS_MAX))
        return wrong_numbers(error);
    lay_out(design, (uint64_t)bits, (uint32_t)probes);
    design->layers[0].keys = given->keys;
    design->layers[0].rate = given->rate;
    return BLOOMERY_OK;
}

static bloomery_status check_header(const uint8_t *data, size_t bytes, bloomery_error *error)
{
    if (bytes >= 2 && data[0] == 0x1f && data[1] == 0x8b)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0,
                             "compressed by gzip: unpack it before it is read");
    if (bytes > 0 && data[0] != VERSION)
        return bloomery_fail(error, BLOOMERY_WRONG_VERSION, 0,
                             "filters of DCSO's begin with version 1, not %u", data[0]);
    if (bytes < HEADER)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: a filter of DCSO's begins with 48 bytes, there are %zu",
                             bytes);
    if (bloomery_load_u64(data) != VERSION)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 1,
                             "flags are set that version 1 does not have");
    return BLOOMERY_OK;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given,
                             struct bloomery_design *design, bloomery_error *error)
{
    (void)given;
    bloomery_status status = check_header(data, bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    const double rate = bloomery_load_f64(data + 16);
    const uint64_t probes = bloomery_load_u64(data + 24);
    const uint64_t bits = bloomery_load_u64(data + 32);
    const uint64_t words = bits / 64 + (bits % 64 != 0);
    if (probes == 0 || bits == 0)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 24,
                             "%llu probes in %llu bits: such a filter contains everything",
                             (unsigned long long)probes, (unsigned long long)bits);
    if (probes > BLOOMERY_POSITIONS_MAX || !(rate >= 0 && rate <= 1))
        return bloomery_fail(
            error, BLOOMERY_CORRUPT, 16,
            "damaged: %llu probes are more than 1024, or the rate is not between 0 and 1",
            (unsigned long long)probes);
    if (words > (bytes - HEADER) / 8)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: %llu bits take %llu words, there is room for %zu",
                             (unsigned long long)bits, (unsigned long long)words,
                             (bytes - HEADER) / 8);
    lay_out(design, bits, (uint32_t)probes);
    design->layers[0].keys = bloomery_load_u64(data + 8);
    design->layers[0].rate = rate;
    design->layers[0].adds = bloomery_load_u64(data + 40);
    design->bits[0] = data + HEADER;
    design->bit_bytes[0] = words * 8;
    design->extra = data + HEADER + (size_t)words * 8;
    design->extra_bytes = bytes - HEADER - (size_t)words * 8;
    return BLOOMERY_OK;
}

static bloomery_status fits(const bloomery_filter *filter, bloomery_error *error)
{
    if (filter->shape.kind != BLOOMERY_CLASSIC || filter->shape.hash != HASH ||
        filter->shape.seed != 0 || filter->shape.probe_scheme != BLOOMERY_PROBES_MODULAR_CHAIN)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                             "DCSO's filters hash by FNV-1 and step by products");
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    uint8_t header[HEADER];
    assert(fits(filter, NULL) == BLOOMERY_OK);
    bloomery_store_u64(header, VERSION);
    bloomery_store_u64(header + 8, layer->keys);
    bloomery_store_f64(header + 16, layer->rate);
    bloomery_store_u64(header + 24, layer->probes);
    bloomery_store_u64(header + 32, layer->bits);
    bloomery_store_u64(header + 40, layer->adds);
    bloomery_status status = bloomery_emit(emitter, header, sizeof header);
    if (status == BLOOMERY_OK)
        status = bloomery_emit_bits(emitter, layer, bloomery_words_of(layer->bits) * 8,
                                    BLOOMERY_LAYOUT_BYTES);
    if (status == BLOOMERY_OK)
        status = bloomery_emit(emitter, bloomery_rest_in(filter)->extra,
                               bloomery_rest_in(filter)->extra_bytes);
    return status;
}

/* If no rate was planned: the rate when half of the bits are set. */
static bool remark_half(const bloomery_filter *filter, char *text, size_t room)
{
    const struct bloomery_layer *layer = filter->layers;
    const double keys = floor(log(2) * (double)layer->bits / layer->probes);
    struct bloomery_phrase is, usual;
    if (layer->rate > 0 || keys < 1)
        return false;
    const double rate = filter->kind->expected_rate(layer, (uint64_t)keys);
    const double classic = exp2(-(double)layer->probes);
    if (!(rate > 1.5 * classic))
        return false;
    snprintf(text, room,
             "half full, with %llu keys, this dialect's rate at this size is %s, not the %s of the "
             "usual formula",
             (unsigned long long)keys, bloomery_phrase_rate(&is, rate),
             bloomery_phrase_rate(&usual, classic));
    return true;
}

static bool remark(const bloomery_filter *filter, uint32_t index, char *text, size_t room)
{
    return index == 0 &&
           (bloomery_remark_rate(filter, 1.1, text, room) || remark_half(filter, text, room));
}

const struct bloomery_dialect_row bloomery_dialect_dcso = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_DCSO,
            .name = "dcso",
            .description = "DCSO's filters, version 1, not compressed",
            .load_needs = "",
            .load_takes = "",
            .create_takes = "keys, rate, bits, probes",
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
};
