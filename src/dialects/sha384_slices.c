/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter of the 20-million-ID experiment (Nyquest/bloom_filter, in Java): a java.util.BitSet of
 * 2^28 bits. A key sets the 12 that its SHA-384 names. The size is fixed and nothing is written but
 * bits, in one of three forms, the variants:
 *
 *     image      32 MiB; bit p is bit p & 7 of byte p >> 3
 *     trimmed    the same without the zero bytes at its end: BitSet.toByteArray()
 *     java       the BitSet as Java serialises it:
 *                  0  the class and its field (the constant below)
 *                 68  W, the number of 64-bit words that follow, big-endian, at most 2^22
 *                 72  the words, big-endian; bit p is bit p & 63 of word p >> 6
 *                      0x78
 *
 * None says which filter it is, and a `trimmed` that was cut short looks like a whole one if the
 * last byte is not zero.
 *
 * Keys are the UTF-8 of a string; Java's encoder makes "?" of a surrogate without its other half.
 *
 * Faults: the helper that rounds sizes up to a power of two compares with the number of keys
 * instead of the bits needed (dialects/sizing.h). For the experiment's 20,000,000 keys at 0.01 that
 * does no harm: 2^28 is right. But the filter takes 12 probes although its own formula has 10. It
 * has 1 in 551 instead of 1 in 624.
 */
#include "base/bytes.h"
#include "base/cpu.h"
#include "base/error.h"
#include "dialects/dialects.h"
#include "dialects/schemes.h"
#include "dialects/sizing.h"
#include "hash/digest.h"
#include "hash/hashes.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- The hash -------------------------------------------------------------------------------- */

/*
 * The 20-million-ID experiment's positions. SHA-384 has 48 bytes, twelve words of 32 bits, most
 * significant byte first. The low 28 bits of each are a position among 2^28.
 */

enum { PROBES = 12, WORD = 4, KEPT_BITS = 28 };

static void positions_of(const struct bloomery_hash_secret *secret, bloomery_key key,
                         uint64_t cells, uint32_t probes, uint64_t *positions)
{
    uint8_t digest[BLOOMERY_DIGEST_MAX];
    struct bloomery_digest message;
    (void)secret;
    assert(cells == UINT64_C(1) << KEPT_BITS && probes == PROBES);
    bloomery_digest_begin(&message, BLOOMERY_DIGEST_SHA384);
    bloomery_digest_add(&message, key.data, key.bytes);
    bloomery_digest_get(&message, digest);
    for (uint32_t i = 0; i < probes; i++)
        positions[i] =
            __builtin_bswap32(bloomery_load_u32(digest + (size_t)i * WORD)) & (cells - 1);
}

static bool is_only_size(uint64_t cells, uint32_t probes)
{
    return cells == UINT64_C(1) << KEPT_BITS && probes == PROBES;
}

static const struct bloomery_hash_row sha384_slices = {
    .id = BLOOMERY_HASH_SHA384_SLICES,
    .name = "sha384-slices",
    .available = BLOOMERY_DIGESTS_BUILT,
    .ready = bloomery_digest_ready,
    .positions = positions_of,
    .fits = is_only_size,
};

/* ---- The experiment's sizing ----------------------------------------------------------------- */

static const double bits_max = 4611686018427387904.0; /* 2^62 */

uint64_t bloomery_calc_bits(uint64_t n, double p)
{
    if (n == 0 || !(p > 0 && p < 1))
        return 0;
    const double bits = ceil(-(double)n * log(p) / pow(log(2), 2));
    return bits < bits_max ? (uint64_t)bits : 0;
}

uint64_t bloomery_calc_aligned(uint64_t n, double p)
{
    const uint64_t bits = bloomery_calc_bits(n, p);
    if (bits == 0)
        return 0;
    const uint64_t highest = UINT64_C(1) << (63 - __builtin_clzll(bits));
    assert(highest <= bits && bits < 2 * highest);
    return highest == n ? n : 2 * highest;
}

uint32_t bloomery_calc_probes(uint64_t n, uint64_t bits)
{
    if (n == 0 || bits == 0)
        return 0;
    const double probes = ceil(log(2) * ((double)bits / (double)n));
    return probes < (double)UINT32_MAX ? (uint32_t)probes : UINT32_MAX;
}

double bloomery_calc_rate(uint64_t n, uint64_t bits, uint32_t probes)
{
    if (bits == 0)
        return 1;
    /* A power of the constant e, not exp(): they differ in the last digits. */
    const double missed = pow(M_E, -(double)probes * (double)n / (double)bits);
    return pow(1 - missed, probes);
}

/* ---- Numbers and bytes ----------------------------------------------------------------------- */

enum {
    IMAGE_BYTES = 1 << 25,
    WORDS_MAX = IMAGE_BYTES / 8,
    EXTRA_BYTES = 5, /* the form, and of `java` its W */
};

enum form { IMAGE, TRIMMED, JAVA, FORMS };

static const uint64_t bits_fixed = UINT64_C(1) << 28;

/* A stream with one object, of a class with one field, of an array type. Numbers are as in Java's
 * sources: the serialVersionUIDs of BitSet and of long[]. */
static const uint8_t java_begin[] = {
    0xac, 0xed, 0x00, 0x05, 's',  'r',  0x00, 0x10, 'j',  'a',  'v',  'a',  '.',  'u',
    't',  'i',  'l',  '.',  'B',  'i',  't',  'S',  'e',  't',  0x6e, 0xfd, 0x88, 0x7e,
    0x39, 0x34, 0xab, 0x21, 0x03, 0x00, 0x01, '[',  0x00, 0x04, 'b',  'i',  't',  's',
    't',  0x00, 0x02, '[',  'J',  'x',  'p',  'u',  'r',  0x00, 0x02, '[',  'J',  0x78,
    0x20, 0x04, 0xb5, 0x12, 0xb1, 0x75, 0x93, 0x02, 0x00, 0x00, 'x',  'p'};

enum { JAVA_WORDS_AT = sizeof java_begin, JAVA_HEADER = JAVA_WORDS_AT + 4, JAVA_END = 'x' };

static void lay_out(struct bloomery_design *design, enum form form, uint32_t words)
{
    bloomery_design_flat(design, &sha384_slices, &bloomery_scheme_positions, bits_fixed, PROBES);
    design->small[0] = (uint8_t)form;
    bloomery_store_u32(design->small + 1, words);
    design->extra = design->small;
    design->extra_bytes = EXTRA_BYTES;
}

static bloomery_status plan(const bloomery_dialect_parameters *given, int form,
                            struct bloomery_design *design, bloomery_error *error)
{
    if ((given->bits != 0 && given->bits != bits_fixed) ||
        (given->probes != 0 && given->probes != PROBES))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "these filters have 268,435,456 bits and 12 probes, and no others");
    if (!(given->rate >= 0 && given->rate < 1))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a rate is above 0 and below 1, if it is known");
    lay_out(design, (enum form)form, WORDS_MAX);
    design->layers[0].keys = given->keys;
    design->layers[0].rate = given->rate;
    return BLOOMERY_OK;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

static bloomery_status wrong_length(size_t bytes, uint64_t needed, bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                         "%s: %llu bytes are needed, there are %zu",
                         needed > bytes ? "cut short" : "something follows the filter",
                         (unsigned long long)needed, bytes);
}

static bloomery_status parse_java(const uint8_t *data, size_t bytes, struct bloomery_design *design,
                                  bloomery_error *error)
{
    const size_t first = bytes < sizeof java_begin ? bytes : sizeof java_begin;
    if (first > 0 && memcmp(data, java_begin, first) != 0)
        return bloomery_fail(error, BLOOMERY_NOT_A_FILTER, 0,
                             "not a java.util.BitSet as Java serialises it");
    if (bytes < JAVA_HEADER)
        return wrong_length(bytes, JAVA_HEADER + 1, error);
    const uint64_t words = bloomery_load_be(data + JAVA_WORDS_AT, 4);
    if (words > WORDS_MAX)
        return bloomery_fail(error, BLOOMERY_CORRUPT, JAVA_WORDS_AT,
                             "a set of %llu words of 64 bits: this filter has at most 4,194,304",
                             (unsigned long long)words);
    if (bytes != JAVA_HEADER + words * 8 + 1)
        return wrong_length(bytes, JAVA_HEADER + words * 8 + 1, error);
    if (data[bytes - 1] != JAVA_END)
        return bloomery_fail(error, BLOOMERY_CORRUPT, bytes - 1,
                             "damaged: the object does not end where its words do");
    lay_out(design, JAVA, (uint32_t)words);
    design->layout = BLOOMERY_LAYOUT_BE_WORDS;
    design->bits[0] = data + JAVA_HEADER;
    design->bit_bytes[0] = words * 8;
    return BLOOMERY_OK;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given, int form,
                             struct bloomery_design *design, bloomery_error *error)
{
    (void)given;
    if (form == JAVA)
        return parse_java(data, bytes, design, error);
    if (bytes > IMAGE_BYTES || (form == IMAGE && bytes < IMAGE_BYTES))
        return wrong_length(bytes, IMAGE_BYTES, error);
    if (form == TRIMMED && bytes > 0 && data[bytes - 1] == 0)
        return bloomery_fail(error, BLOOMERY_CORRUPT, bytes - 1,
                             "damaged: toByteArray() leaves no zero byte at the end; a whole image "
                             "is variant \"image\"");
    lay_out(design, (enum form)form, WORDS_MAX);
    design->layout = BLOOMERY_LAYOUT_BYTES;
    design->bits[0] = data;
    design->bit_bytes[0] = bytes;
    return BLOOMERY_OK;
}

/* Returns the form that a filter came in, and its W. Our files may hold anything in its place. */
static enum form form_of(const bloomery_filter *filter, uint32_t *words)
{
    *words = WORDS_MAX;
    if (bloomery_cold_in(filter)->extra_bytes != EXTRA_BYTES ||
        bloomery_cold_in(filter)->extra[0] >= FORMS)
        return IMAGE;
    const uint32_t kept = bloomery_load_u32(bloomery_cold_in(filter)->extra + 1);
    if (kept < WORDS_MAX)
        *words = kept;
    return (enum form)bloomery_cold_in(filter)->extra[0];
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    static const uint8_t zeros[512]; /* blocks first: an image has 32 MB, mostly of them */
    static const uint8_t end = JAVA_END;
    uint8_t count[4];
    uint32_t words;
    const enum form form = form_of(filter, &words);
    assert(bloomery_dialect_fits(&bloomery_dialect_sha384_slices, filter, NULL) == BLOOMERY_OK);
    if (form == IMAGE)
        return bloomery_emit_bits(emitter, layer, IMAGE_BYTES, BLOOMERY_LAYOUT_BYTES);
    _Static_assert(IMAGE_BYTES % sizeof zeros == 0, "an image has whole blocks");
    uint64_t used = IMAGE_BYTES;
    while (!BLOOMERY_FOR_SIZE && used > 0 &&
           memcmp(layer->payload + used - sizeof zeros, zeros, sizeof zeros) == 0)
        used -= sizeof zeros;
    while (used > 0 && layer->payload[used - 1] == 0)
        used--;
    if (form == TRIMMED)
        return bloomery_emit_bits(emitter, layer, used, BLOOMERY_LAYOUT_BYTES);
    const uint64_t used_words = (used + 7) / 8;
    if (words < used_words)
        words = (uint32_t)used_words;
    assert(words <= WORDS_MAX && used <= IMAGE_BYTES);
    bloomery_store_be(count, words, sizeof count);
    bloomery_status status = bloomery_emit(emitter, java_begin, sizeof java_begin);
    if (status == BLOOMERY_OK)
        status = bloomery_emit(emitter, count, sizeof count);
    if (status == BLOOMERY_OK)
        status = bloomery_emit_bits(emitter, layer, (uint64_t)words * 8, BLOOMERY_LAYOUT_BE_WORDS);
    return status == BLOOMERY_OK ? bloomery_emit(emitter, &end, 1) : status;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static int variant_of(const bloomery_filter *filter)
{
    uint32_t words;
    return (int)form_of(filter, &words);
}

static bool remark_rate(const bloomery_filter *filter, char *text, size_t room)
{
    return bloomery_remark_rate_above(filter, 1, text, room);
}

/* Whether it is known for what the filter is. */
static bool is_planned(const struct bloomery_layer *layer)
{
    return bloomery_calc_aligned(layer->keys, layer->rate) > 0;
}

/* If the helper that rounds up goes wrong for the filter's plan. */
static bool remark_helper(const bloomery_filter *filter, char *text, size_t room)
{
    const uint64_t keys = filter->layers[0].keys;
    const double rate = filter->layers[0].rate;
    struct bloomery_phrase queried, would_be;
    const uint64_t needed = bloomery_calc_bits(keys, rate);
    const uint64_t aligned = bloomery_calc_aligned(keys, rate);
    const uint32_t probes = bloomery_calc_probes(keys, aligned);
    if (!is_planned(filter->layers) || (aligned >= needed && needed != aligned / 2))
        return false;
    snprintf(
        text, room,
        "the original's helper rounds the %llu bits that %llu keys need at %s to %llu, since it "
        "compares with the keys; with those and %u probe%s its rate would be %s. This filter has "
        "268435456 bits in any case",
        (unsigned long long)needed, (unsigned long long)keys, bloomery_phrase_rate(&queried, rate),
        (unsigned long long)aligned, probes, probes == 1 ? "" : "s",
        bloomery_phrase_rate(&would_be, bloomery_calc_rate(keys, aligned, probes)));
    return true;
}

/* If another number of probes would be better by an amount that can be measured. */
static bool remark_probes(const bloomery_filter *filter, char *text, size_t room)
{
    const uint64_t keys = filter->layers[0].keys;
    struct bloomery_phrase better, is;
    const uint32_t probes = bloomery_calc_probes(keys, bits_fixed);
    const double rate = bloomery_calc_rate(keys, bits_fixed, PROBES);
    const double least = bloomery_calc_rate(keys, bits_fixed, probes);
    if (keys == 0 || rate < 1e-9 || least * 1.01 > rate)
        return false;
    snprintf(text, room,
             "12 probes are used for %llu keys where the original's own formula has %u, with which "
             "the rate would be %s, not %s",
             (unsigned long long)keys, probes, bloomery_phrase_rate(&better, least),
             bloomery_phrase_rate(&is, rate));
    return true;
}

/* If it is not known: for as many keys as there are bits the helper finds this very size. */
static bool remark_size(const bloomery_filter *filter, char *text, size_t room)
{
    struct bloomery_phrase queried, rate;
    if (is_planned(filter->layers))
        return false;
    snprintf(
        text, room,
        "the original's helper that rounds sizes up compares with the keys, not with the bits "
        "needed: for %llu keys at %s it finds this size enough, where %llu bits are needed and "
        "%s of absent keys would seem to be in",
        (unsigned long long)bits_fixed, bloomery_phrase_rate(&queried, 0.5),
        (unsigned long long)bloomery_calc_bits(bits_fixed, 0.5),
        bloomery_phrase_rate(&rate, bloomery_calc_rate(bits_fixed, bits_fixed, PROBES)));
    return true;
}

const struct bloomery_dialect_row bloomery_dialect_sha384_slices = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_SHA384_SLICES,
            .name = "sha384-slices",
            .description =
                "the BitSet of the 20-million-ID experiment (Java), 12 slices of SHA-384",
            .variants = "image, trimmed, java",
            .load_needs = "",
            .load_takes = "variant",
            .create_takes = "variant, keys, rate, bits, probes",
            .reads = true,
            .writes = true,
            .creates = true,
        },
    .names = {"image", "trimmed", "java"},
    .hashes = {&sha384_slices},
    .schemes = {&bloomery_scheme_positions},
    .others = "its keys are hashed or placed in another way than by 12 slices of SHA-384",
    .plan = plan,
    .parse = parse,
    .write = write,
    .remarks = {remark_rate, remark_helper, remark_probes, remark_size},
    .variant = variant_of,
};
