/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbloom's filters (github.com/jvirkki/libbloom). Release 1.6 has no file. Its bytes are the
 * bitmap alone, bit p being bit p & 7 of byte p >> 3, and keys and rate must be known. 2.0 saves
 * its struct as it lies in memory; on 64-bit little-endian machines:
 *
 *     byte 0     "libbloom2"
 *     byte 9     64, the size of the struct   u16
 *     byte 11    entries u32, 4 bytes of no meaning, bits u64, bytes u64, hashes u8, 7 bytes of no
 *                meaning, error f64, ready u8, major u8, minor u8, 5 bytes of no meaning, bits per
 *                entry f64, and an address in the memory of the process that wrote it
 *     byte 75    the bitmap
 *
 * It does not empty a file before it writes to it, so what a longer one had may follow. The bytes
 * without meaning are kept, to be written again.
 *
 * Keys are hashed by MurmurHash2 with 32 bits twice, the second time with the first hash as seed.
 * Positions: 1.6 lets a + i b wrap at 2^32, 2.0 does not. Sizing: dialects/sizing.h, bits =
 * trunc(entries b), which 2.0 computes with 64 bits of mantissa and 1.6 with 53; 2.0 keeps k in a
 * byte.
 *
 * Faults: the two releases place the same keys differently, and nothing tells each other's bitmaps
 * apart. From 2^26 bits on positions are spread less and less evenly. That costs a factor of 1.2 at
 * 2^33 bits, 3 at 2^34 and 18 at 2^35. A k above 255 loses its upper bits.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "dialects/dialects.h"
#include "dialects/rates.h"
#include "dialects/schemes.h"
#include "dialects/sizing.h"
#include "plan/classic_rate.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- The hash -------------------------------------------------------------------------------- */

/*
 * MurmurHash2 (Austin Appleby, public domain) with 32 bits, from its definition. Words are
 * little-endian:
 *
 *     begin                h = seed ^ length
 *     each word w          w *= m    w ^= w >> 24    w *= m    h = h m ^ w
 *     what is left, if any h = (h ^ rest) m
 *     end                  h ^= h >> 13    h *= m    h ^= h >> 15
 *
 * libbloom makes a pair of it: the hash of the key with a fixed seed, and once more with that hash
 * as the seed.
 */

static const uint32_t factor_32 = 0x5bd1e995;
static const uint32_t libbloom_seed = 0x9747b28c;

static uint32_t murmur2(uint32_t seed, const uint8_t *data, size_t bytes)
{
    const size_t whole = bytes / 4 * 4;
    uint32_t h = seed ^ (uint32_t)bytes;
    for (size_t at = 0; at < whole; at += 4) {
        uint32_t word = bloomery_load_u32(data + at) * factor_32;
        word = (word ^ word >> 24) * factor_32;
        h = h * factor_32 ^ word;
    }
    if (bytes > whole)
        h = (h ^ (uint32_t)bloomery_load_le(data + whole, (unsigned)(bytes - whole))) * factor_32;
    h = (h ^ h >> 13) * factor_32;
    return h ^ h >> 15;
}

static bloomery_hash pair_32(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    (void)secret;
    const uint32_t first = murmur2(libbloom_seed, key.data, key.bytes);
    return (bloomery_hash){.lo = first, .hi = murmur2(first, key.data, key.bytes)};
}

static const struct bloomery_hash_row murmur2_pair = {
    .id = BLOOMERY_HASH_MURMUR2,
    .name = "murmur2-pair",
    .available = true,
    .one = pair_32,
};

/* ---- Rates ----------------------------------------------------------------------------------- */

/*
 * A number of 32 bits reduced to m cells is not spread evenly over them, unless m is small or
 * divides 2^32. It does not reach all of them if m is larger. Measure cells in units of 2^32: there
 * are M = m / 2^32 of them, and a, b are uniform in 0..1.
 *
 * Sums that wrap (m below 2^31): any two positions are independent and uniform in 0..1 before they
 * are reduced to M. Let q = floor(1 / M). A share s = 1/M - q of the cells is hit by q + 1 of the
 * 2^32 numbers, the others by q. The rate is that of an array of two densities:
 *
 *     |   s m cells: n k (q+1) / 2^32 hits    |   the others: n k q / 2^32    |
 *      a position comes here with chance s M (q+1)
 *
 * Sums that do not wrap: probe i is at (a + i b) mod M. If M is large the first probe never leaves
 * the first unit, the second never the first two. All of them meet if a and b are small:
 *
 *     M = 4, k = 4    |#################|#########|#####|##  |     hits by cell
 *                      0                 1         2     3
 *
 * The density is counted over points (a, b) that are spread evenly, in bins of the array. The rate
 * is the mean, over the same points, of the product of the shares of set bits at their probes.
 *
 *     1.9e10 bits for 2e9 keys, k = 7: 1 in 33 and not 1 in 100
 */

enum { BINS = 256, POINTS = 16384 };

static const double unit = 4294967296;
/* Up to 1/64 of a unit positions are as good as even. */
static const uint64_t even_bits = UINT64_C(1) << 26;

struct density {
    uint32_t bins;
    double cells[BINS]; /* in units */
    double hits[BINS];  /* of a key */
    double reach;       /* all of these cells; beyond there are none */
};

/* The share of set bits in a bin. */
static double fill_of(const struct density *density, uint32_t bin, double keys)
{
    assert(bin < density->bins && density->cells[bin] > 0);
    return -expm1(-keys * density->hits[bin] / (density->cells[bin] * unit));
}

/* The bin of probe i of a point. */
static uint32_t bin_of(const struct density *density, double range, uint32_t point, uint32_t i)
{
    assert(density->bins == BINS && density->reach > 0);
    const double golden = point * 0.6180339887498949;
    const double at = (point + 0.5) / POINTS + i * (golden - floor(golden));
    const double bin = fmod(at, range) / density->reach * BINS;
    return bin < BINS ? (uint32_t)bin : BINS - 1;
}

static void measure(struct density *density, uint64_t bits, uint32_t probes, bool wraps)
{
    if (wraps) {
        const double range = (double)bits / unit;
        const double whole = floor(1 / range);
        const double more = 1 / range - whole;
        density->bins = more > 0 ? 2 : 1;
        density->reach = range;
        density->cells[0] = (1 - more) * range;
        density->hits[0] = (1 - more) * range * whole * probes;
        density->cells[1] = more * range;
        density->hits[1] = more * range * (whole + 1) * probes;
    } else {
        const double range = (double)bits / unit;
        density->bins = BINS;
        density->reach = fmin(range, probes);
        for (uint32_t bin = 0; bin < BINS; bin++) {
            density->cells[bin] = density->reach / BINS;
            density->hits[bin] = 0;
        }
        for (uint32_t point = 0; point < POINTS; point++)
            for (uint32_t i = 0; i < probes; i++)
                density->hits[bin_of(density, range, point, i)] += 1.0 / POINTS;
    }
}

static double uneven_rate(uint64_t bits, uint32_t probes, double keys, bool wraps)
{
    struct density density;
    double fill[BINS] = {0};
    double sum = 0;
    measure(&density, bits, probes, wraps);
    for (uint32_t bin = 0; bin < density.bins; bin++)
        fill[bin] = fill_of(&density, bin, keys);
    if (wraps) {
        for (uint32_t bin = 0; bin < density.bins; bin++)
            sum += density.hits[bin] / probes * fill[bin];
        return pow(sum, probes);
    }
    for (uint32_t point = 0; point < POINTS; point++) {
        double chance = 1;
        for (uint32_t i = 0; i < probes; i++)
            chance *= fill[bin_of(&density, (double)bits / unit, point, i)];
        sum += chance;
    }
    return sum / POINTS;
}

static double half_rate(uint64_t bits, uint32_t probes, uint64_t keys, bool wraps)
{
    assert(bits > 0 && probes > 0 && (!wraps || bits <= (uint64_t)unit));
    if (bits <= even_bits || keys == 0)
        return bloomery_step_rate(bits, probes, keys, wraps);
    const double fill = -expm1((double)probes * (double)keys * log1p(-1 / (double)bits));
    const uint64_t reached = bits < (uint64_t)unit ? bits : (uint64_t)unit;
    return fmin(1, uneven_rate(bits, probes, (double)keys, wraps) +
                       bloomery_step_excess(reached, probes, (double)keys, fill, wraps));
}

/* Returns the share of all bits that `keys` keys set. */
static double filled(const struct density *density, uint64_t bits, double keys)
{
    double cells = 0;
    for (uint32_t bin = 0; bin < density->bins; bin++)
        cells += density->cells[bin] * fill_of(density, bin, keys);
    return cells * unit / (double)bits;
}

static double half_keys(uint64_t bits, uint32_t probes, double fill, bool wraps)
{
    struct density density;
    assert(fill >= 0 && fill <= 1);
    if (fill <= 0)
        return 0;
    if (bits <= even_bits)
        return fill < 1 && bits > 1 ? log1p(-fill) / (probes * log1p(-1 / (double)bits)) : INFINITY;
    measure(&density, bits, probes, wraps);
    double low = 0;
    double high = fmax(1, fill * (double)bits / probes);
    while (filled(&density, bits, high) < fill) {
        high *= 2;
        if (high > 0x1p60)
            return INFINITY;
    }
    for (int step = 0; step < 60; step++) {
        const double middle = (low + high) / 2;
        if (filled(&density, bits, middle) < fill)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* ---- Positions ------------------------------------------------------------------------------- */

/*
 * Double hashing with two numbers a and b of 32 bits each, as libbloom has it: probe i at a + i b,
 * mod m. Its first releases let the sum wrap at 2^32 (DOUBLE_32), the later ones do not
 * (DOUBLE_HALVES). So the same keys set other bits once a sum passes 2^32.
 *
 * In arrays that are a large part of 2^32 bits neither spreads its positions evenly: see the rates.
 */

static inline struct bloomery_steps double_32_begin(const struct bloomery_layer *layer,
                                                    bloomery_hash hash)
{
    (void)layer;
    assert(layer->bits > 0);
    return (struct bloomery_steps){.at = hash.lo, .step = hash.hi};
}

static inline uint64_t double_32_next(const struct bloomery_layer *layer,
                                      struct bloomery_steps *steps, uint32_t i)
{
    const uint32_t at = (uint32_t)steps->at;
    (void)i;
    steps->at += steps->step;
    return at % layer->bits;
}

#define SCHEME double_32
#include "dialects/scheme_template.h"

static inline struct bloomery_steps double_halves_begin(const struct bloomery_layer *layer,
                                                        bloomery_hash hash)
{
    (void)layer;
    assert(layer->bits > 0);
    return (struct bloomery_steps){.at = (uint32_t)hash.lo, .step = (uint32_t)hash.hi};
}

static inline uint64_t double_halves_next(const struct bloomery_layer *layer,
                                          struct bloomery_steps *steps, uint32_t i)
{
    const uint64_t at = steps->at;
    (void)i;
    steps->at += steps->step;
    return at % layer->bits;
}

#define SCHEME double_halves
#include "dialects/scheme_template.h"

/* ---- Statistics ------------------------------------------------------------------------------ */

static double double_32_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return half_rate(layer->bits, layer->probes, keys, true);
}

static double double_halves_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return half_rate(layer->bits, layer->probes, keys, false);
}

static double double_32_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    return half_keys(layer->bits, layer->probes, (double)bits_set / (double)layer->bits, true);
}

static double double_halves_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    return half_keys(layer->bits, layer->probes, (double)bits_set / (double)layer->bits, false);
}

/* The number of bits that lie so unevenly does not give the rate; the keys estimated from it do. */
static double live_rate(const struct bloomery_layer *layer, double keys, bool wraps)
{
    assert(keys >= 0);
    return keys < 0x1p60 ? half_rate(layer->bits, layer->probes, (uint64_t)llround(keys), wraps)
                         : 1;
}

static void double_32_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                           const uint8_t *payload, struct bloomery_scan *scan)
{
    bloomery_classic_scan(shape, layer, payload, scan);
    scan->live_rate = live_rate(layer, double_32_estimate(layer, scan->bits_set), true);
    assert(scan->live_rate >= 0 && scan->live_rate <= 1);
}

static void double_halves_scan(const struct bloomery_shape *shape,
                               const struct bloomery_layer *layer, const uint8_t *payload,
                               struct bloomery_scan *scan)
{
    bloomery_classic_scan(shape, layer, payload, scan);
    scan->live_rate = live_rate(layer, double_halves_estimate(layer, scan->bits_set), false);
    assert(scan->live_rate >= 0 && scan->live_rate <= 1);
}

static bloomery_status double_32_check(const struct bloomery_shape *shape,
                                       const struct bloomery_layer *layer, bloomery_error *error)
{
    if (layer->bits > UINT64_C(1) << 32)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "positions of 32 bits reach at most 2^32 bits, not %llu",
                             (unsigned long long)layer->bits);
    return bloomery_classic_check(shape, layer, error);
}

static const struct bloomery_kind_row double_32 = {
    BLOOMERY_FLAT_ROW(BLOOMERY_PROBES_DOUBLE_32),
    .check = double_32_check,
    .operations = double_32_operations,
    .expected_rate = double_32_expected_rate,
    .estimate = double_32_estimate,
    .scan = double_32_scan,
    .probes_max = BLOOMERY_POSITIONS_MAX,
};

static const struct bloomery_kind_row double_halves = {
    BLOOMERY_FLAT_ROW(BLOOMERY_PROBES_DOUBLE_HALVES),
    .check = bloomery_classic_check,
    .operations = double_halves_operations,
    BLOOMERY_ROW_RATES(double_halves),
    .probes_max = BLOOMERY_POSITIONS_MAX,
};

/* ---- Numbers and bytes ----------------------------------------------------------------------- */

enum {
    RELEASE_2 = 0,
    RELEASE_1 = 1,
    MAGIC_BYTES = 9,
    STRUCT = MAGIC_BYTES + 2, /* where it begins */
    STRUCT_BYTES = 64,
    BITMAP = STRUCT + STRUCT_BYTES,
    ENTRIES = STRUCT,
    BITS = STRUCT + 8,
    BYTES = STRUCT + 16,
    HASHES = STRUCT + 24,
    ERROR = STRUCT + 32,
    READY = STRUCT + 40,
    MAJOR = STRUCT + 41,
    BITS_PER_ENTRY = STRUCT + 48,
    EXTRA = STRUCT_BYTES, /* of extra: the struct; what follows the bitmap follows */
};

static const char magic[] = "libbloom2";
static const uint64_t entries_min = 1000;

/* ---- Sizing ---------------------------------------------------------------------------------- */

/* trunc(entries x), the product rounded to 64 bits of mantissa, as x87 does it. On every host: the
 * product of 53 and 32 bits is exact in 128. */
static uint64_t long_product(uint64_t entries, double x)
{
    int exponent;
    const uint64_t mantissa = (uint64_t)ldexp(frexp(x, &exponent), 53);
    const bloomery_uint128 product = (bloomery_uint128)mantissa * entries;
    const int down = 53 - exponent; /* the product is that many bits too large */
    int length = 0;
    assert(x >= 0 && exponent < 16 && entries >> 32 == 0);
    for (bloomery_uint128 rest = product; rest > 0; rest >>= 1)
        length++;
    if (down >= 128)
        return 0;
    if (length <= 64)
        return (uint64_t)(product >> down);
    const int lost = length - 64;
    const bloomery_uint128 half = (bloomery_uint128)1 << (lost - 1);
    const bloomery_uint128 tail = product & ((half << 1) - 1);
    bloomery_uint128 kept = product >> lost;
    if (tail > half || (tail == half && (kept & 1) != 0))
        kept++;
    return down > lost ? (uint64_t)(kept >> (down - lost)) : (uint64_t)(kept << (lost - down));
}

static bloomery_status design_by_rate(int release, uint64_t entries, double rate,
                                      struct bloomery_design *design, bloomery_error *error)
{
    uint64_t bits;
    uint32_t probes;
    const uint64_t most = release == RELEASE_1 ? INT32_MAX : UINT32_MAX;
    if (entries < entries_min || entries > most || !(rate > 0 && rate < 1))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "libbloom %s takes 1000 to %llu keys and a rate above 0 and below 1",
                             release == RELEASE_1 ? "1.6" : "2.0", (unsigned long long)most);
    /* libbloom's own sizing; 0 bits if they do not fit. */
    const double bits_per_entry = bloomery_short_bits_per_key(rate);
    const double wanted = bloomery_short_probes(bits_per_entry);
    const double product = (double)entries * bits_per_entry;
    probes = release == RELEASE_1 ? (uint32_t)wanted : (uint32_t)wanted & 255;
    bits = release == RELEASE_2   ? long_product(entries, bits_per_entry)
           : product <= INT32_MAX ? (uint64_t)product
                                  : 0;
    if (bits == 0 || probes == 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             release == RELEASE_1
                                 ? "libbloom 1.6 has no filters of more than 2^31 - 1 bits"
                                 : "libbloom 2.0 makes a filter without probes of these numbers");
    bloomery_design_flat(design, &murmur2_pair, bloomery_dialect_libbloom.schemes[release], bits,
                         probes);
    design->layers[0].keys = entries;
    design->layers[0].rate = rate;
    return BLOOMERY_OK;
}

static bloomery_status plan(const bloomery_dialect_parameters *given, int release,
                            struct bloomery_design *design, bloomery_error *error)
{
    return design_by_rate(release, given->keys, given->rate, design, error);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool sniff(const uint8_t *data, size_t bytes)
{
    return bytes >= MAGIC_BYTES && memcmp(data, magic, MAGIC_BYTES) == 0;
}

static bloomery_status read_bitmap(const uint8_t *data, size_t bytes,
                                   const bloomery_dialect_parameters *given,
                                   struct bloomery_design *design, bloomery_error *error)
{
    bloomery_status status = design_by_rate(RELEASE_1, given->keys, given->rate, design, error);
    if (status != BLOOMERY_OK)
        return status;
    const uint64_t wanted = (design->layers[0].bits + 7) / 8;
    if (bytes != wanted)
        return bloomery_fail(
            error, BLOOMERY_TRUNCATED, bytes,
            "%s: a bitmap for %llu keys at that rate has %llu bytes, there are %zu",
            bytes < wanted ? "cut short" : "something follows the bitmap",
            (unsigned long long)given->keys, (unsigned long long)wanted, bytes);
    design->bits[0] = data;
    design->bit_bytes[0] = wanted;
    return BLOOMERY_OK;
}

static bloomery_status check_struct(const uint8_t *data, size_t bytes, bloomery_error *error)
{
    if (!sniff(data, bytes) &&
        (bytes >= MAGIC_BYTES || (bytes > 0 && memcmp(data, magic, bytes) != 0)))
        return bloomery_fail(
            error, BLOOMERY_NOT_A_FILTER, 0,
            "no file of libbloom's: it does not begin with \"libbloom2\"; a bitmap of 1.6 is "
            "read as variant 1.6, with keys and rate");
    if (bytes < BITMAP)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: a file of libbloom's begins with 75 bytes, there are %zu",
                             bytes);
    if (bloomery_load_u16(data + MAGIC_BYTES) != STRUCT_BYTES)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, MAGIC_BYTES,
                             "saved on a machine whose struct has %u bytes and not 64",
                             bloomery_load_u16(data + MAGIC_BYTES));
    if (data[MAJOR] != 2)
        return bloomery_fail(error, BLOOMERY_WRONG_VERSION, MAJOR,
                             "saved by libbloom %u.%u, of which only 2 is known", data[MAJOR],
                             data[MAJOR + 1]);
    return BLOOMERY_OK;
}

static bloomery_status read_file(const uint8_t *data, size_t bytes, struct bloomery_design *design,
                                 bloomery_error *error)
{
    bloomery_status status = check_struct(data, bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    const uint64_t bits = bloomery_load_u64(data + BITS);
    const uint64_t bitmap = bloomery_load_u64(data + BYTES);
    const double rate = bloomery_load_f64(data + ERROR);
    const uint32_t probes = data[HASHES];
    if (bits == 0 || probes == 0)
        return bloomery_fail(error, BLOOMERY_CORRUPT, BITS, "damaged: %u probes in %llu bits",
                             probes, (unsigned long long)bits);
    if (bits > BLOOMERY_BITS_MAX || bitmap != (bits + 7) / 8 || !(rate > 0 && rate < 1))
        return bloomery_fail(
            error, BLOOMERY_CORRUPT, BITS,
            "damaged: %llu bits in %llu bytes, or an error that is not between 0 and 1",
            (unsigned long long)bits, (unsigned long long)bitmap);
    if (bitmap > bytes - BITMAP)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: the bitmap has %llu bytes, there are %zu",
                             (unsigned long long)bitmap, bytes - BITMAP);
    bloomery_design_flat(design, &murmur2_pair, &double_halves, bits, probes);
    design->layers[0].keys = bloomery_load_u32(data + ENTRIES);
    design->layers[0].rate = rate;
    design->bits[0] = data + BITMAP;
    design->bit_bytes[0] = bitmap;
    /* The struct, and what a longer file left. They are not beside each other, so they are put
     * together. */
    const size_t stale = bytes - BITMAP - (size_t)bitmap;
    if (stale > sizeof design->small - EXTRA)
        return bloomery_fail(
            error, BLOOMERY_TRUNCATED, BITMAP + bitmap,
            "%zu bytes follow the filter: a longer file was there before; cut it to "
            "%llu bytes",
            stale, (unsigned long long)(BITMAP + bitmap));
    memcpy(design->small, data + STRUCT, STRUCT_BYTES);
    memcpy(design->small + EXTRA, data + BITMAP + (size_t)bitmap, stale);
    design->extra = design->small;
    design->extra_bytes = EXTRA + stale;
    assert(design->extra_bytes <= sizeof design->small && BITMAP + bitmap + stale == bytes);
    return BLOOMERY_OK;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given, int release,
                             struct bloomery_design *design, bloomery_error *error)
{
    if (release == RELEASE_1)
        return read_bitmap(data, bytes, given, design, error);
    if (given->keys != 0 || given->rate != 0)
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "a file of libbloom 2.0 says keys and rate itself; they are for bitmaps of "
            "variant 1.6");
    return read_file(data, bytes, design, error);
}

/* ---- Writing --------------------------------------------------------------------------------- */

static bool is_release_1(const bloomery_filter *filter)
{
    return filter->kind == &double_32;
}

static bloomery_status fits(const bloomery_filter *filter, bloomery_error *error)
{
    const struct bloomery_layer *layer = filter->layers;
    if (layer->keys > UINT32_MAX || (!is_release_1(filter) && layer->probes > 255) ||
        !(layer->rate > 0 && layer->rate < 1))
        return bloomery_fail(
            error, BLOOMERY_MISMATCH, 0,
            "libbloom's filters have keys below 2^32, a rate, and at most 255 probes");
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    const bool kept = bloomery_cold_in(filter)->extra_bytes >= EXTRA;
    const uint64_t bitmap = (layer->bits + 7) / 8;
    uint8_t header[BITMAP] = {0};
    assert(bloomery_dialect_fits(&bloomery_dialect_libbloom, filter, NULL) == BLOOMERY_OK);
    if (is_release_1(filter))
        return bloomery_emit_bits(emitter, layer, bitmap, BLOOMERY_LAYOUT_BYTES);
    assert(layer->probes <= UINT8_MAX && layer->keys <= UINT32_MAX);
    memcpy(header, magic, MAGIC_BYTES);
    bloomery_store_u16(header + MAGIC_BYTES, STRUCT_BYTES);
    if (kept) {
        memcpy(header + STRUCT, bloomery_cold_in(filter)->extra, STRUCT_BYTES);
    } else {
        header[READY] = 1;
        bloomery_store_f64(header + BITS_PER_ENTRY, bloomery_short_bits_per_key(layer->rate));
    }
    header[MAJOR] = 2;
    bloomery_store_u32(header + ENTRIES, (uint32_t)layer->keys);
    bloomery_store_u64(header + BITS, layer->bits);
    bloomery_store_u64(header + BYTES, bitmap);
    header[HASHES] = (uint8_t)layer->probes;
    bloomery_store_f64(header + ERROR, layer->rate);
    bloomery_status status = bloomery_emit(emitter, header, sizeof header);
    if (status == BLOOMERY_OK)
        status = bloomery_emit_bits(emitter, layer, bitmap, BLOOMERY_LAYOUT_BYTES);
    if (status == BLOOMERY_OK && kept)
        status = bloomery_emit(emitter, bloomery_cold_in(filter)->extra + EXTRA,
                               bloomery_cold_in(filter)->extra_bytes - EXTRA);
    return status;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static bool remark_bytes(const bloomery_filter *filter, char *text, size_t room)
{
    if (bloomery_cold_in(filter)->extra_bytes <= EXTRA)
        return false;
    snprintf(text, room,
             "%zu bytes follow the bitmap: libbloom wrote over a longer file and left its end",
             bloomery_cold_in(filter)->extra_bytes - EXTRA);
    return true;
}

static bool remark_probes(const bloomery_filter *filter, char *text, size_t room)
{
    const struct bloomery_layer *layer = filter->layers;
    if (is_release_1(filter) || !(layer->rate > 0 && layer->rate < 1))
        return false;
    const double wanted = bloomery_short_probes(bloomery_short_bits_per_key(layer->rate));
    if (!(wanted > 255))
        return false;
    snprintf(text, room,
             "a rate that low takes %u probes; libbloom keeps their number in a byte, where %u is "
             "left of it",
             (unsigned)wanted, layer->probes);
    return true;
}

const struct bloomery_dialect_row bloomery_dialect_libbloom = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_LIBBLOOM,
            .name = "libbloom",
            .description = "libbloom's filters: the file of 2.0, the bitmap of 1.6",
            .variants = "2.0, 1.6",
            .load_needs = "variant, keys, rate",
            .load_takes = "variant, keys, rate",
            .create_takes = "variant, keys, rate",
            .reads = true,
            .writes = true,
            .creates = true,
            .magic = true,
            .hashes = true,
        },
    .names = {"2.0", "1.6"},
    .hashes = {&murmur2_pair},
    .schemes = {&double_halves, &double_32},
    .others = "libbloom hashes by murmurhash2 and steps by one of its two releases' schemes",
    .sniff = sniff,
    .plan = plan,
    .parse = parse,
    .write = write,
    .fits = fits,
    .remarks = {bloomery_remark_rate, remark_probes, remark_bytes},
    .variants_by_scheme = true,
};
