/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filters of pybloom_live (Python), and of pybloom before it, as their tofile() writes them;
 * all numbers are little-endian. One filter, k slices of s bits:
 *
 *      0  rate, a double
 *      8  k, 8 bytes       16  s       24  n, the keys it is for       32  keys in it
 *     40  ceil(k s / 8) bytes; bit p is bit p & 7 of byte p >> 3
 *
 * and a chain of them that grows, ScalableBloomFilter:
 *
 *      0  how many times the keys each next filter is for, 4 bytes
 *      4  how many times the rate, a double   12  n of the first   20  the planned rate, a double
 *     28  F, how many filters there are, 4 bytes; 0 where no key was added
 *     32  F times the length of a filter in bytes, 8 bytes each
 *         the filters, as above
 *
 * The bytes show which of the two it is: in the place of a chain's ratio a filter has rate and k,
 * which read as a double are next to 0. They do not show the writer. The variants are "4" and "3"
 * after the version of pybloom_live, and "2" for pybloom 2.0, which hashes as 3 and differs in how
 * it sizes chains. Keys are counted if they set a bit.
 *
 * Keys are the UTF-8 of a str. Bytes are themselves in version 4, and under Python 3 the text of
 * their repr(), b'...', in version 3.
 *
 * Sizing: k = ceil(ln(1/p) / ln 2), s = ceil(n |ln p| / (k ln2^2)).
 *
 * Faults: pybloom_live plans the first filter of a chain for 0.9 p. The sum of all rates is p only
 * if it is 0.1 p, as in pybloom 2.0, so a chain ends at 9 p. Filters of versions 3 and 4 look alike
 * and differ if digests have 128 bits: read as the other, keys are missed.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "base/error.h"
#include "dialects/dialects.h"
#include "dialects/schemes.h"
#include "hash/digest.h"
#include "hash/hashes.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- The hash -------------------------------------------------------------------------------- */

/*
 * The positions of pybloom and pybloom_live. The filter is k slices of s bits, and slice j takes
 * number j of a stream of numbers, modulo s. The stream is cut out of salted digests:
 *
 *     salt i    = D(i as 4 bytes, little-endian)
 *     digest i  = D(salt i, key)
 *
 *     |    digest 0     |    digest 1     | ...
 *     | n0 | n1 | n2 | n3 | n4 | n5 | ...           2 bytes each if s < 2^15, 4 if s < 2^31, else 8
 *
 * D is the shortest digest that has all k numbers, 8 k w bits of w bytes each:
 *
 *     bits      up to 128     160      256       384       more
 *     D         MD5 or XXH3   SHA-1    SHA-256   SHA-384   SHA-512, as often as need be
 *
 * The shortest one is MD5 up to version 3 (and in pybloom 2.0). From version 4 on it is XXH3 with
 * 128 bits, most significant byte first.
 */

/* D: one of libcrypto's, or XXH3. */
struct chosen {
    bool xxh3;
    enum bloomery_digest_id id;
    size_t bytes;
};

static struct chosen choose(unsigned width, uint32_t probes, bool version_4)
{
    const uint64_t bits = (uint64_t)8 * probes * width;
    struct chosen chosen = {.id = BLOOMERY_DIGEST_MD5};
    if (bits > 384)
        chosen.id = BLOOMERY_DIGEST_SHA512;
    else if (bits > 256)
        chosen.id = BLOOMERY_DIGEST_SHA384;
    else if (bits > 160)
        chosen.id = BLOOMERY_DIGEST_SHA256;
    else if (bits > 128)
        chosen.id = BLOOMERY_DIGEST_SHA1;
    else
        chosen.xxh3 = version_4;
    chosen.bytes = bloomery_digest_bytes(chosen.id); /* MD5 and XXH3 are as long */
    return chosen;
}

/* D of one piece of bytes behind another. */
static void digest_of(const struct chosen *chosen, const uint8_t *salt, size_t salt_bytes,
                      const uint8_t *data, size_t bytes, uint8_t *result)
{
    struct bloomery_digest digest;
    if (chosen->xxh3) {
        const bloomery_hash hash = bloomery_xxh3_salted(salt, salt_bytes, data, bytes);
        bloomery_store_u64(result, __builtin_bswap64(hash.hi));
        bloomery_store_u64(result + 8, __builtin_bswap64(hash.lo));
        return;
    }
    bloomery_digest_begin(&digest, chosen->id);
    bloomery_digest_add(&digest, salt, salt_bytes);
    bloomery_digest_add(&digest, data, bytes);
    bloomery_digest_get(&digest, result);
}

static void positions_of(bloomery_key key, uint64_t cells, uint32_t probes, bool version_4,
                         uint64_t *positions)
{
    const uint64_t slice = cells / probes;
    const unsigned width = slice < UINT64_C(1) << 15 ? 2 : slice < UINT64_C(1) << 31 ? 4 : 8;
    const struct chosen chosen = choose(width, probes, version_4);
    const uint32_t numbers = (uint32_t)(chosen.bytes / width);
    uint8_t number[4], salt[BLOOMERY_DIGEST_MAX], digest[BLOOMERY_DIGEST_MAX];
    for (uint32_t i = 0; i < probes; i++) {
        if (i % numbers == 0) {
            bloomery_store_u32(number, i / numbers);
            digest_of(&chosen, NULL, 0, number, sizeof number, salt);
            digest_of(&chosen, salt, chosen.bytes, key.data, key.bytes, digest);
        }
        positions[i] =
            bloomery_load_le(digest + (size_t)(i % numbers) * width, width) % slice + i * slice;
    }
}

static bool has_slices(uint64_t cells, uint32_t probes)
{
    return probes > 0 && cells >= probes && cells % probes == 0;
}

static void positions_3(const struct bloomery_hash_secret *secret, bloomery_key key, uint64_t cells,
                        uint32_t probes, uint64_t *positions)
{
    (void)secret;
    assert(has_slices(cells, probes));
    positions_of(key, cells, probes, false, positions);
}

static void positions_4(const struct bloomery_hash_secret *secret, bloomery_key key, uint64_t cells,
                        uint32_t probes, uint64_t *positions)
{
    (void)secret;
    assert(has_slices(cells, probes));
    positions_of(key, cells, probes, true, positions);
}

static const struct bloomery_hash_row hash_3 = {
    .id = BLOOMERY_HASH_PYBLOOM_3,
    .name = "pybloom-3",
    .available = BLOOMERY_DIGESTS_BUILT,
    .ready = bloomery_digest_ready,
    .positions = positions_3,
    .fits = has_slices,
};

static const struct bloomery_hash_row hash_4 = {
    .id = BLOOMERY_HASH_PYBLOOM_4,
    .name = "pybloom-4",
    .available = BLOOMERY_DIGESTS_BUILT,
    .ready = bloomery_digest_ready,
    .positions = positions_4,
    .fits = has_slices,
};

/* ---- Slices, and chains of them -------------------------------------------------------------- */

/*
 * Filters in slices: each of a key's k positions is in a slice of its own, of s = m/k bits.
 *
 *     |  slice 0  |  slice 1  | ... |  slice k-1  |        a key sets one bit in each
 *      0         s-1 s
 *
 * They come out of the hash as positions in the whole array, so that nothing is to be done here for
 * keys (dialects/schemes.c). Only the number of set bits differs: in each slice n keys make n
 * throws among s bits, whatever happens in the others. So the rate is exactly
 *
 *     (1 - (1 - 1/s)^n)^k
 *
 * where a flat array has a moment of kn throws among m. Of a filter as it is, it is the product of
 * the slices' fills.
 *
 * And chains of them. Each next layer is for `growth` times the keys of the one before, at
 * `tightening` times its rate, and has its own k and s (bloomery_slices_size).
 */

static bloomery_status slices_check(const struct bloomery_shape *shape,
                                    const struct bloomery_layer *layer, bloomery_error *error)
{
    if (layer->probes == 0 || layer->bits % layer->probes != 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "%llu bits are not %u slices of the same size",
                             (unsigned long long)layer->bits, layer->probes);
    return bloomery_classic_check(shape, layer, error);
}

static double slices_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    const uint64_t cells = layer->bits / layer->probes;
    const double slice = (double)cells;
    assert(cells * layer->probes == layer->bits);
    if (keys == 0)
        return 0;
    return pow(-expm1((double)keys * log1p(-1 / slice)), layer->probes);
}

static double slices_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    const uint64_t cells = layer->bits / layer->probes;
    const double slice = (double)cells;
    assert(cells * layer->probes == layer->bits);
    if (bits_set >= layer->bits)
        return INFINITY;
    if (slice <= 1)
        return 0;
    return log1p(-(double)bits_set / (double)layer->bits) / log1p(-1 / slice);
}

static void slices_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                        const uint8_t *payload, struct bloomery_scan *scan)
{
    const uint64_t slice = layer->bits / layer->probes;
    (void)shape;
    *scan = (struct bloomery_scan){.live_rate = 1};
    for (uint32_t i = 0; i < layer->probes; i++) {
        /* The set bits of slice i: whole words at once, single bits at both ends. */
        uint64_t from = i * slice;
        const uint64_t to = (i + 1) * slice;
        uint64_t set = 0;
        assert(from <= to);
        for (; from < to && from % 64 != 0; from++)
            set += bloomery_bit_test(payload, from);
        if (from < to) {
            set += bloomery_count_payload(payload + from / 8, (size_t)((to - from) / 64));
            from += (to - from) / 64 * 64;
        }
        for (; from < to; from++)
            set += bloomery_bit_test(payload, from);
        scan->bits_set += set;
        scan->live_rate *= (double)set / (double)slice;
    }
    assert(scan->bits_set <= layer->bits);
    assert(scan->live_rate >= 0 && scan->live_rate <= 1);
}

/* The sums in the order of the system that does so, to the last bit: log2(1/p) is a quotient of
 * logarithms. */
static bloomery_status slices_size(uint64_t keys, double rate, struct bloomery_layer *layer,
                                   bloomery_error *error)
{
    const double ln2 = log(2);
    if (!(rate > 0 && rate < 1) || keys == 0 || keys > BLOOMERY_KEYS_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "slices are for 1 to 2^48 keys and a rate above 0 and below 1");
    const double probes = ceil(log(1 / rate) / ln2);
    const double slice = ceil((double)keys * fabs(log(rate)) / (probes * (ln2 * ln2)));
    if (!(probes >= 1 && probes <= BLOOMERY_POSITIONS_MAX) ||
        !(slice >= 1 && slice * probes <= (double)BLOOMERY_BITS_MAX))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "%llu keys at such a rate take more than 2^50 bits, or 1024 slices",
                             (unsigned long long)keys);
    *layer = (struct bloomery_layer){
        .bits = (uint64_t)slice * (uint64_t)probes,
        .probes = (uint32_t)probes,
        .keys = keys,
        .rate = rate,
    };
    assert(layer->bits > 0 && layer->bits % layer->probes == 0);
    return BLOOMERY_OK;
}

static bloomery_status slices_next_layer(const struct bloomery_shape *shape,
                                         const struct bloomery_layer *newest,
                                         struct bloomery_layer *next, bloomery_error *error)
{
    uint64_t keys;
    assert(shape->growth > 0 && newest->keys > 0);
    if (__builtin_mul_overflow(newest->keys, (uint64_t)shape->growth, &keys))
        keys = UINT64_MAX;
    return slices_size(keys, newest->rate * shape->tightening, next, error);
}

static const struct bloomery_kind_row slices = {
    BLOOMERY_FLAT_ROW(BLOOMERY_PROBES_SLICES),
    .takes_positions = true,
    .check = slices_check,
    .operations = bloomery_positions_operations,
    BLOOMERY_ROW_RATES(slices),
    .probes_max = BLOOMERY_POSITIONS_MAX,
};

static const struct bloomery_kind_row chain_of_slices = {
    .id = BLOOMERY_SCALABLE,
    .probe_scheme = BLOOMERY_PROBES_SLICES,
    .takes_positions = true,
    .check = slices_check,
    .operations = bloomery_positions_operations,
    BLOOMERY_ROW_RATES(slices),
    .next_layer = slices_next_layer,
    .cell_sizes = 1 << 1,
    .probes_max = BLOOMERY_POSITIONS_MAX,
    .adds = true,
    .grows = true,
    .has_bits = true,
};

/* ---- Numbers and bytes ----------------------------------------------------------------------- */

enum {
    HEADER = 40,
    CHAIN_HEADER = 32,
    /* The variant; of chains the n and rate of the header, and whether there is a first filter. */
    EXTRA_BYTES = 18,
};

enum variant { V4, V3, V2 };

static const double ratio_default = 0.9;
/* 32 bytes can name a first filter of any size; one of 64 MiB is believed. */
static const uint64_t empty_bits_max = UINT64_C(1) << 29;
static const double ratio_min = 1e-9; /* any less is a filter's k */

/* A shape without layers. */
static void begin(struct bloomery_design *design, enum variant variant, bool chain)
{
    bloomery_design_rows(design, variant == V4 ? &hash_4 : &hash_3,
                         chain ? &chain_of_slices : &slices);
    design->shape.count_scheme = BLOOMERY_COUNTS_NEW;
    design->layout = BLOOMERY_LAYOUT_BYTES;
    design->small[0] = (uint8_t)variant;
    design->extra = design->small;
    design->extra_bytes = EXTRA_BYTES;
}

/* ---- Sizing ---------------------------------------------------------------------------------- */

/* The first layer of a chain, which the original makes with the first key. */
static bloomery_status begin_chain(struct bloomery_design *design, uint64_t keys, double rate,
                                   bloomery_error *error)
{
    const double ratio = design->shape.tightening;
    const double first = design->small[0] == V2 ? rate * (1 - ratio) : rate * ratio;
    bloomery_store_u64(design->small + 1, keys);
    bloomery_store_f64(design->small + 9, rate);
    design->small[17] = 1;
    design->shape.layer_count = 1;
    return slices_size(keys, first, &design->layers[0], error);
}

static bloomery_status plan(const bloomery_dialect_parameters *given, int variant,
                            struct bloomery_design *design, bloomery_error *error)
{
    if (given->keys == 0 || !(given->rate > 0 && given->rate < 1))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "pybloom takes keys and a rate above 0 and below 1");
    if (given->growth > INT32_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "a chain grows by 1 to 2^31-1 times");
    begin(design, (enum variant)variant, given->growth > 0);
    if (given->growth > 0) {
        design->shape.growth = given->growth;
        design->shape.tightening = ratio_default;
        bloomery_status status = begin_chain(design, given->keys, given->rate, error);
        design->small[17] = 0;
        return status;
    }
    design->shape.layer_count = 1;
    return slices_size(given->keys, given->rate, &design->layers[0], error);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bloomery_status wrong_length(size_t bytes, uint64_t needed, bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                         "%s: %llu bytes are needed, there are %zu",
                         needed > bytes ? "cut short" : "something follows the filter",
                         (unsigned long long)needed, bytes);
}

/* One filter, which takes exactly these bytes, as layer number `layer`. */
static bloomery_status parse_layer(const uint8_t *data, size_t bytes,
                                   struct bloomery_design *design, uint32_t layer,
                                   bloomery_error *error)
{
    if (bytes < HEADER)
        return wrong_length(bytes, HEADER, error);
    const double rate = bloomery_load_f64(data);
    const uint64_t probes = bloomery_load_u64(data + 8);
    const uint64_t slice = bloomery_load_u64(data + 16);
    const uint64_t keys = bloomery_load_u64(data + 24);
    const uint64_t count = bloomery_load_u64(data + 32);
    uint64_t bits;
    if (!(rate > 0 && rate < 1))
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0,
                             "not a filter of pybloom: it begins with a rate above 0 and below 1");
    if (probes == 0 || probes > BLOOMERY_POSITIONS_MAX || slice == 0 ||
        __builtin_mul_overflow(probes, slice, &bits) || bits > BLOOMERY_BITS_MAX)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 8,
                             "damaged: %llu slices of %llu bits are not 1 to 1024 of up to 2^50 "
                             "bits together",
                             (unsigned long long)probes, (unsigned long long)slice);
    if (keys == 0 || keys > BLOOMERY_KEYS_MAX)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 24,
                             "damaged: a filter is for 1 to 2^48 keys, not %llu",
                             (unsigned long long)keys);
    if (bytes - HEADER != (bits + 7) / 8)
        return wrong_length(bytes, HEADER + (bits + 7) / 8, error);
    assert(layer < BLOOMERY_LAYERS_MAX && bits % probes == 0);
    design->layers[layer] = (struct bloomery_layer){
        .bits = bits, .probes = (uint32_t)probes, .keys = keys, .rate = rate, .adds = count};
    design->bits[layer] = data + HEADER;
    design->bit_bytes[layer] = bytes - HEADER;
    design->shape.layer_count = layer + 1;
    return BLOOMERY_OK;
}

static bloomery_status parse_chain_header(const uint8_t *data, size_t bytes,
                                          struct bloomery_design *design, bloomery_error *error)
{
    const uint32_t growth = bloomery_load_u32(data);
    const double ratio = bloomery_load_f64(data + 4);
    const uint64_t keys = bloomery_load_u64(data + 12);
    const double rate = bloomery_load_f64(data + 20);
    const uint32_t filters = bloomery_load_u32(data + 28);
    if (growth == 0 || growth > INT32_MAX || !(ratio >= ratio_min && ratio < 1) ||
        !(rate > 0 && rate < 1) || keys == 0 || keys > BLOOMERY_KEYS_MAX)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0,
                             "not a chain of pybloom: its growth, ratio, keys and rate are none");
    if (filters > BLOOMERY_LAYERS_MAX)
        return bloomery_fail(error, filters > INT32_MAX ? BLOOMERY_CORRUPT : BLOOMERY_UNSUPPORTED,
                             28, "a chain of %u filters: up to %d are served", filters,
                             BLOOMERY_LAYERS_MAX);
    if ((bytes - CHAIN_HEADER) / 8 < filters)
        return wrong_length(bytes, CHAIN_HEADER + (uint64_t)filters * 8, error);
    const bloomery_status status = bloomery_design_room(design, filters, 0, error);
    if (status != BLOOMERY_OK)
        return status;
    design->shape.growth = growth;
    design->shape.tightening = ratio;
    return begin_chain(design, keys, rate, error);
}

static bloomery_status parse_chain(const uint8_t *data, size_t bytes,
                                   struct bloomery_design *design, bloomery_error *error)
{
    if (bytes < CHAIN_HEADER)
        return wrong_length(bytes, CHAIN_HEADER, error);
    bloomery_status status = parse_chain_header(data, bytes, design, error);
    const uint32_t filters = bloomery_load_u32(data + 28);
    size_t at = CHAIN_HEADER + (size_t)filters * 8;
    for (uint32_t i = 0; i < filters && status == BLOOMERY_OK; i++) {
        const uint64_t length = bloomery_load_u64(data + CHAIN_HEADER + (size_t)i * 8);
        if (length > bytes - at)
            return wrong_length(bytes, length > UINT64_MAX - at ? UINT64_MAX : at + length, error);
        status = parse_layer(data + at, (size_t)length, design, i, error);
        at += (size_t)length;
    }
    if (status == BLOOMERY_OK && at != bytes)
        return wrong_length(bytes, at, error);
    if (status == BLOOMERY_OK && filters == 0 && design->layers[0].bits > empty_bits_max)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 12,
                             "a chain without filters, the first of which would be for %llu keys: "
                             "make it anew, from its keys and rate",
                             (unsigned long long)design->layers[0].keys);
    design->small[17] = filters > 0;
    return status;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given, int variant,
                             struct bloomery_design *design, bloomery_error *error)
{
    (void)given;
    const double ratio = bytes >= 12 ? bloomery_load_f64(data + 4) : 0;
    const bool chain = ratio >= ratio_min && ratio < 1;
    begin(design, (enum variant)variant, chain);
    return chain ? parse_chain(data, bytes, design, error)
                 : parse_layer(data, bytes, design, 0, error);
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* What the header of a chain needs. Our files may hold anything in its place. */
struct header {
    enum variant variant;
    uint64_t keys;
    double rate;
    uint32_t filters;
};

static struct header header_of(const bloomery_filter *filter)
{
    const bool four = filter->hash == &hash_4;
    const struct bloomery_layer *first = &filter->layers[0];
    struct header header = {
        .variant = four ? V4 : V3,
        .keys = first->keys,
        .rate = fmin(1, first->rate / filter->shape.tightening),
        .filters = bloomery_layer_count(filter),
    };
    if (bloomery_cold_in(filter)->extra_bytes != EXTRA_BYTES)
        return header;
    if (!four && bloomery_cold_in(filter)->extra[0] == V2)
        header.variant = V2;
    header.keys = bloomery_load_u64(bloomery_cold_in(filter)->extra + 1);
    header.rate = bloomery_load_f64(bloomery_cold_in(filter)->extra + 9);
    if (bloomery_cold_in(filter)->extra[17] == 0 && header.filters == 1 && first->adds == 0)
        header.filters = 0;
    return header;
}

static bloomery_status write_layer(const struct bloomery_layer *layer,
                                   struct bloomery_emitter *emitter)
{
    uint8_t bytes[HEADER];
    assert(layer->bits % layer->probes == 0);
    bloomery_store_f64(bytes, layer->rate);
    bloomery_store_u64(bytes + 8, layer->probes);
    bloomery_store_u64(bytes + 16, layer->bits / layer->probes);
    bloomery_store_u64(bytes + 24, layer->keys);
    bloomery_store_u64(bytes + 32, layer->adds);
    bloomery_status status = bloomery_emit(emitter, bytes, sizeof bytes);
    return status == BLOOMERY_OK
               ? bloomery_emit_bits(emitter, layer, (layer->bits + 7) / 8, BLOOMERY_LAYOUT_BYTES)
               : status;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct header header = header_of(filter);
    uint8_t bytes[CHAIN_HEADER];
    assert(bloomery_dialect_fits(&bloomery_dialect_pybloom, filter, NULL) == BLOOMERY_OK);
    if (!filter->kind->grows)
        return write_layer(&filter->layers[0], emitter);
    bloomery_store_u32(bytes, filter->shape.growth);
    bloomery_store_f64(bytes + 4, filter->shape.tightening);
    bloomery_store_u64(bytes + 12, header.keys);
    bloomery_store_f64(bytes + 20, header.rate);
    bloomery_store_u32(bytes + 28, header.filters);
    bloomery_status status = bloomery_emit(emitter, bytes, sizeof bytes);
    for (uint32_t i = 0; i < header.filters && status == BLOOMERY_OK; i++) {
        bloomery_store_u64(bytes, HEADER + (filter->layers[i].bits + 7) / 8);
        status = bloomery_emit(emitter, bytes, 8);
    }
    for (uint32_t i = 0; i < header.filters && status == BLOOMERY_OK; i++)
        status = write_layer(&filter->layers[i], emitter);
    return status;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static int variant_of(const bloomery_filter *filter)
{
    return (int)header_of(filter).variant;
}

/* What rates of layers, each `ratio` times the one before, add up to in the end. */
static bool remark_chain(const bloomery_filter *filter, char *text, size_t room)
{
    struct bloomery_phrase queried, sum, now;
    const struct header header = header_of(filter);
    const double end = filter->layers[0].rate / (1 - filter->shape.tightening);
    double none = 0;
    if (!filter->kind->grows || !(end > header.rate * 1.1))
        return false;
    for (uint32_t i = 0; i < filter->shape.layer_count; i++)
        none += log1p(-fmin(
            0.999999, filter->kind->expected_rate(&filter->layers[i], filter->layers[i].keys)));
    snprintf(text, room,
             "the chain was planned for %s, but the rates of its filters add up to %s: with %u of "
             "them, full, it is %s",
             bloomery_phrase_rate(&queried, header.rate), bloomery_phrase_rate(&sum, fmin(1, end)),
             filter->shape.layer_count, bloomery_phrase_rate(&now, -expm1(none)));
    return true;
}

/* Whether MD5 or XXH3 is the digest: if the numbers of a key fit in 128 bits. */
static bool remark_version(const bloomery_filter *filter, char *text, size_t room)
{
    const struct bloomery_layer *layer = &filter->layers[0];
    const uint64_t slice = layer->bits / layer->probes;
    const uint64_t width = slice < UINT64_C(1) << 15 ? 16 : slice < UINT64_C(1) << 31 ? 32 : 64;
    if (width * layer->probes > 128)
        return false;
    snprintf(
        text, room,
        "its bytes don't say which version wrote it, and where %u numbers of %u bits fit in a "
        "digest of 128 as here, 3 hashes by MD5 and 4 by XXH3: read as the other it would miss "
        "its keys",
        layer->probes, (uint32_t)width);
    return true;
}

static bool remark_one_more(const bloomery_filter *filter, char *text, size_t room)
{
    if (header_of(filter).variant != V2 || filter->shape.kind != BLOOMERY_CLASSIC)
        return false;
    snprintf(text, room, "pybloom 2.0 refuses only key %llu, one later than it was made for",
             (unsigned long long)filter->layers[0].keys + 2);
    return true;
}

static bool remark_rate(const bloomery_filter *filter, char *text, size_t room)
{
    return filter->shape.kind == BLOOMERY_CLASSIC && bloomery_remark_rate(filter, text, room);
}

const struct bloomery_dialect_row bloomery_dialect_pybloom = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_PYBLOOM_LIVE,
            .name = "pybloom-live",
            .description = "pybloom_live and pybloom (Python), the bytes of tofile()",
            .variants = "4, 3, 2",
            .load_needs = "",
            .load_takes = "variant",
            .create_takes = "variant, keys, rate, growth",
            .reads = true,
            .writes = true,
            .creates = true,
        },
    .names = {"4", "3", "2"},
    .hashes = {&hash_4, &hash_3},
    .schemes = {&slices, &chain_of_slices},
    .counts_new = true,
    .others = "its keys are hashed or placed in another way than in pybloom's slices",
    .plan = plan,
    .parse = parse,
    .write = write,
    .remarks = {remark_rate, remark_chain, remark_version, remark_one_more},
    .variant = variant_of,
};
