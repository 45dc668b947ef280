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
 * Positions are core/foreign/half_schemes.c's: 1.6 lets a + i b wrap at 2^32, 2.0 does not. Sizing:
 * plan/foreign/short_sizing.h, bits = trunc(entries b), which 2.0 computes with 64 bits of mantissa
 * and 1.6 with 53; 2.0 keeps k in a byte.
 *
 * Faults: the two releases place the same keys differently, and nothing tells each other's bitmaps
 * apart. From 2^26 bits on positions are spread less and less evenly. That costs a factor of 1.2 at
 * 2^33 bits, 3 at 2^34 and 18 at 2^35 (plan/foreign/half_rate.c). A k above 255 loses its upper
 * bits.
 */
#include "dialect/dialects.h"

#include "base/bytes.h"
#include "base/error.h"
#include "plan/foreign/short_sizing.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    HASH = BLOOMERY_HASH_ID_murmur2,
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

static void lay_out(struct bloomery_design *design, int release, uint64_t bits, uint32_t probes)
{
    bloomery_design_flat(design, HASH,
                         release == RELEASE_1 ? BLOOMERY_PROBES_DOUBLE_32
                                              : BLOOMERY_PROBES_DOUBLE_HALVES,
                         bits, probes);
}

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

/* Bits and probes of libbloom's own sizing; 0 bits if there are none. */
static void size_of(int release, uint64_t entries, double rate, uint64_t *bits, uint32_t *probes)
{
    const double bits_per_entry = bloomery_short_bits_per_key(rate);
    const double wanted = bloomery_short_probes(bits_per_entry);
    const double product = (double)entries * bits_per_entry;
    *probes = release == RELEASE_1 ? (uint32_t)wanted : (uint32_t)wanted & 255;
    *bits = release == RELEASE_2   ? long_product(entries, bits_per_entry)
            : product <= INT32_MAX ? (uint64_t)product
                                   : 0;
}

static bloomery_status check_numbers(int release, uint64_t entries, double rate,
                                     bloomery_error *error)
{
    const uint64_t most = release == RELEASE_1 ? INT32_MAX : UINT32_MAX;
    if (entries < entries_min || entries > most || !(rate > 0 && rate < 1))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "libbloom %s takes 1000 to %llu keys and a rate above 0 and below 1",
                             release == RELEASE_1 ? "1.6" : "2.0", (unsigned long long)most);
    return BLOOMERY_OK;
}

static bloomery_status design_by_rate(int release, uint64_t entries, double rate,
                                      struct bloomery_design *design, bloomery_error *error)
{
    uint64_t bits;
    uint32_t probes;
    bloomery_status status = check_numbers(release, entries, rate, error);
    if (status != BLOOMERY_OK)
        return status;
    size_of(release, entries, rate, &bits, &probes);
    if (bits == 0 || probes == 0)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             release == RELEASE_1
                                 ? "libbloom 1.6 has no filters of more than 2^31 - 1 bits"
                                 : "libbloom 2.0 makes a filter without probes of these numbers");
    lay_out(design, release, bits, probes);
    design->layers[0].keys = entries;
    design->layers[0].rate = rate;
    return BLOOMERY_OK;
}

static bloomery_status plan(const bloomery_dialect_parameters *given,
                            struct bloomery_design *design, bloomery_error *error)
{
    const int release = bloomery_dialect_choose("2.0, 1.6", given->variant, error);
    if (release < 0)
        return BLOOMERY_BAD_ARGUMENT;
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
    lay_out(design, RELEASE_2, bits, probes);
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
    return BLOOMERY_OK;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given,
                             struct bloomery_design *design, bloomery_error *error)
{
    const int release = bloomery_dialect_choose("2.0, 1.6", given->variant, error);
    if (release < 0)
        return BLOOMERY_BAD_ARGUMENT;
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
    return filter->shape.probe_scheme == BLOOMERY_PROBES_DOUBLE_32;
}

static bloomery_status fits(const bloomery_filter *filter, bloomery_error *error)
{
    const struct bloomery_layer *layer = filter->layers;
    if (filter->shape.kind != BLOOMERY_CLASSIC || filter->shape.hash != HASH ||
        filter->shape.seed != 0 ||
        (!is_release_1(filter) && filter->shape.probe_scheme != BLOOMERY_PROBES_DOUBLE_HALVES))
        return bloomery_fail(
            error, BLOOMERY_MISMATCH, 0,
            "libbloom hashes by murmurhash2 and steps by one of its two releases' schemes");
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
    const bool kept = bloomery_rest_in(filter)->extra_bytes >= EXTRA;
    const uint64_t bitmap = (layer->bits + 7) / 8;
    uint8_t header[BITMAP] = {0};
    assert(fits(filter, NULL) == BLOOMERY_OK);
    if (is_release_1(filter))
        return bloomery_emit_bits(emitter, layer, bitmap, BLOOMERY_LAYOUT_BYTES);
    memcpy(header, magic, MAGIC_BYTES);
    bloomery_store_u16(header + MAGIC_BYTES, STRUCT_BYTES);
    if (kept) {
        memcpy(header + STRUCT, bloomery_rest_in(filter)->extra, STRUCT_BYTES);
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
        status = bloomery_emit(emitter, bloomery_rest_in(filter)->extra + EXTRA,
                               bloomery_rest_in(filter)->extra_bytes - EXTRA);
    return status;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static const char *variant(const bloomery_filter *filter)
{
    return is_release_1(filter) ? "1.6" : "2.0";
}

static bool remark_bytes(const bloomery_filter *filter, char *text, size_t room)
{
    if (bloomery_rest_in(filter)->extra_bytes <= EXTRA)
        return false;
    snprintf(text, room,
             "%zu bytes follow the bitmap: libbloom wrote over a longer file and left its end",
             bloomery_rest_in(filter)->extra_bytes - EXTRA);
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

static bool remark(const bloomery_filter *filter, uint32_t index, char *text, size_t room)
{
    bool (*const remarks[])(const bloomery_filter *, char *, size_t) = {remark_probes,
                                                                        remark_bytes};
    if (bloomery_remark_rate(filter, 1.1, text, room) && index-- == 0)
        return true;
    for (size_t i = 0; i < sizeof remarks / sizeof remarks[0]; i++)
        if (remarks[i](filter, text, room) && index-- == 0)
            return true;
    return false;
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
    .sniff = sniff,
    .plan = plan,
    .parse = parse,
    .write = write,
    .fits = fits,
    .remark = remark,
    .variant = variant,
};
