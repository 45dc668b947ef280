/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A crawler's filter that was posted widely (Java, class SimpleHash): a java.util.BitSet of 2^25
 * bits - its comment says 2^24, its code has 2^25. A key sets the seven, or six, that its
 * polynomials name. It has no file format; the image is
 *
 *     m / 8 bytes; bit p is bit p & 7 of byte p >> 3
 *
 * Variants: "seven" has the seeds 5 7 11 13 31 37 61, "six" lacks the first. Powers of two other
 * than 2^25 are given as bits. Keys are UTF-8 (a single surrogate as its three bytes), hashed as
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
#include "base/error.h"
#include "dialects/dialects.h"
#include "dialects/schemes.h"
#include "plan/classic_rate.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

/* ---- The hash -------------------------------------------------------------------------------- */

/*
 * The hash of a widely posted Java class: seven polynomials over the UTF-16 units c of a string,
 *
 *     r = seed r + c mod 2^32, from 0 on;        position: the low bits of r
 *
 * with the seeds 5 7 11 13 31 37 61. Keys are UTF-8 here and decoded on the way; a character past
 * U+FFFF is two units. The empty string has position 0 seven times, and a string of one unit its
 * unit seven times.
 */

enum { REPLACEMENT = 0xfffd, LAST_PLANE_0 = 0xffff, SIZE_BITS_MAX = 30 };

enum { SEEDS = 7 };

/* The form with six has those from the second on. */
static const uint32_t simple_seeds[SEEDS] = {5, 7, 11, 13, 31, 37, 61};

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

/* What may follow a first byte: how many bytes, the range of the first of them, and what the first
 * byte itself gives. All others are 0x80 to 0xbf. */
struct lead {
    uint32_t follow;
    uint8_t min;
    uint8_t max;
    uint32_t value;
};

static struct lead lead_of(uint8_t byte)
{
    if (byte < 0x80)
        return (struct lead){0, 0, 0, byte};
    if (byte >= 0xc2 && byte <= 0xdf)
        return (struct lead){1, 0x80, 0xbf, byte & 0x1fu};
    if (byte >= 0xe0 && byte <= 0xef)
        return (struct lead){2, byte == 0xe0 ? 0xa0 : 0x80, 0xbf, byte & 0x0fu};
    if (byte >= 0xf0 && byte <= 0xf4)
        return (struct lead){3, byte == 0xf0 ? 0x90 : 0x80, byte == 0xf4 ? 0x8f : 0xbf,
                             byte & 0x07u};
    return (struct lead){0, 0, 0, REPLACEMENT};
}

/* The next character of a text in UTF-8, at `*at` < bytes, which is moved behind it: its number, or
 * that of a surrogate. Bytes that are not UTF-8 count as U+FFFD for each longest piece that could
 * have begun a character, as in Java's decoder. But three bytes that stand for a single surrogate
 * (WTF-8) are that, so every Java string can be a key. */
static uint32_t decode_utf8(const uint8_t *text, size_t bytes, size_t *at)
{
    assert(*at < bytes);
    const struct lead lead = lead_of(text[(*at)++]);
    uint32_t value = lead.value;
    for (uint32_t i = 0; i < lead.follow; i++) {
        const uint8_t min = i == 0 ? lead.min : 0x80;
        const uint8_t max = i == 0 ? lead.max : 0xbf;
        if (*at == bytes || text[*at] < min || text[*at] > max)
            return REPLACEMENT;
        value = value << 6 | (text[(*at)++] & 0x3fu);
    }
    return value;
}

/* ---- Seven polynomials ----------------------------------------------------------------------- */

static inline void step(uint32_t *sums, const uint32_t *seeds, uint32_t count, uint32_t unit)
{
    for (uint32_t i = 0; i < count; i++)
        sums[i] = seeds[i] * sums[i] + unit;
}

static void hash(bloomery_key key, const uint32_t *seeds, uint32_t count, uint64_t cells,
                 uint64_t *positions)
{
    uint32_t sums[SEEDS] = {0};
    for (size_t at = 0; at < key.bytes;) {
        const uint32_t character = decode_utf8(key.data, key.bytes, &at);
        if (character > LAST_PLANE_0) {
            step(sums, seeds, count, 0xd800 + ((character - 0x10000) >> 10));
            step(sums, seeds, count, 0xdc00 + ((character - 0x10000) & 0x3ff));
        } else {
            step(sums, seeds, count, character);
        }
    }
    for (uint32_t i = 0; i < count; i++)
        positions[i] = sums[i] & (cells - 1);
}

static bool is_size(uint64_t cells)
{
    return cells > 0 && (cells & (cells - 1)) == 0 && cells <= UINT64_C(1) << SIZE_BITS_MAX;
}

static bool fits_seven(uint64_t cells, uint32_t probes)
{
    return is_size(cells) && probes == SEEDS;
}

static bool fits_six(uint64_t cells, uint32_t probes)
{
    return is_size(cells) && probes == SEEDS - 1;
}

static void positions_seven(const struct bloomery_hash_secret *secret, bloomery_key key,
                            uint64_t cells, uint32_t probes, uint64_t *positions)
{
    (void)secret;
    assert(fits_seven(cells, probes));
    hash(key, simple_seeds, probes, cells, positions);
}

static void positions_six(const struct bloomery_hash_secret *secret, bloomery_key key,
                          uint64_t cells, uint32_t probes, uint64_t *positions)
{
    (void)secret;
    assert(fits_six(cells, probes));
    hash(key, simple_seeds + 1, probes, cells, positions);
}

static const struct bloomery_hash_row seven = {
    .id = BLOOMERY_HASH_SIMPLE_SEVEN,
    .name = "simple-hash",
    .available = true,
    .positions = positions_seven,
    .fits = fits_seven,
};

static const struct bloomery_hash_row six = {
    .id = BLOOMERY_HASH_SIMPLE_SIX,
    .name = "simple-hash-six",
    .available = true,
    .positions = positions_six,
    .fits = fits_six,
};

/* ---- Numbers and bytes ----------------------------------------------------------------------- */

enum { DEFAULT_BITS = 1 << 25, FIRST_CHARACTER = 32, LAST_CHARACTER = 126 };

static bloomery_status plan(const bloomery_dialect_parameters *given, int variant,
                            struct bloomery_design *design, bloomery_error *error)
{
    const uint64_t bits = given->bits > 0 ? given->bits : DEFAULT_BITS;
    const uint32_t probes = (uint32_t)(SEEDS - variant);
    if ((bits & (bits - 1)) != 0 || bits > UINT64_C(1) << 30)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "these filters have a power of two of bits, 2^30 at most, and 2^25 if "
                             "none is given");
    if (given->probes != 0 && given->probes != probes)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "this variant of simple-hash has %u probes", probes);
    bloomery_design_flat(design, bloomery_dialect_simple_hash.hashes[variant],
                         &bloomery_scheme_positions, bits, probes);
    return BLOOMERY_OK;
}

static uint64_t byte_count(uint64_t bits)
{
    return (bits + 7) / 8;
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
        return bloomery_fail(
            error, BLOOMERY_TRUNCATED, bytes, "%s: %llu bits take %llu bytes, there are %zu",
            needed > bytes ? "cut short" : "something follows the filter",
            (unsigned long long)design->layers[0].bits, (unsigned long long)needed, bytes);
    design->layout = BLOOMERY_LAYOUT_BYTES;
    design->bits[0] = data;
    design->bit_bytes[0] = bytes;
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    assert(bloomery_dialect_fits(&bloomery_dialect_simple_hash, filter, NULL) == BLOOMERY_OK);
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

static bool remark_one(const bloomery_filter *filter, char *text, size_t room)
{
    const struct bloomery_layer *layer = filter->layers;
    struct bloomery_phrase one, all;
    snprintf(
        text, room,
        "a key of one UTF-16 unit has one position, not %u: where the filter is half full, %s of "
        "them seem to be in, not %s; and the empty key is bit 0",
        layer->probes, bloomery_phrase_rate(&one, 0.5),
        bloomery_phrase_rate(&all, pow(0.5, layer->probes)));
    return true;
}

static bool remark_crowd(const bloomery_filter *filter, uint32_t length, uint64_t keys, char *text,
                         size_t room)
{
    const struct bloomery_layer *layer = filter->layers;
    const uint32_t *seeds = simple_seeds + (filter->hash == &seven ? 0 : 1);
    const uint8_t first[] = {FIRST_CHARACTER, FIRST_CHARACTER, FIRST_CHARACTER};
    const uint8_t last[] = {LAST_CHARACTER, LAST_CHARACTER, LAST_CHARACTER};
    const uint64_t lowest = value_of(seeds[0], first, length);
    const uint64_t highest = value_of(seeds[layer->probes - 1], last, length);
    const double all = pow(LAST_CHARACTER - FIRST_CHARACTER + 1, length);
    const struct crowd crowd = {seeds, layer->probes, length, (double)keys / all};
    struct bloomery_phrase is, independent;
    if (highest >= layer->bits)
        return false;
    const double rate = bloomery_classic_rate(layer->bits, layer->probes, keys);
    snprintf(
        text, room,
        "the %llu keys of %u printable ASCII characters lie in bits %llu to %llu: with %llu of "
        "them in, about %s of the others seem to be in, where independent positions would "
        "have %s",
        (unsigned long long)all, length, (unsigned long long)lowest, (unsigned long long)highest,
        (unsigned long long)keys, bloomery_phrase_rate(&is, crowd_rate(&crowd)),
        rate < 1e-15 ? "fewer than 1 in 10^15" : bloomery_phrase_rate(&independent, rate));
    return true;
}

static bool remark_two(const bloomery_filter *filter, char *text, size_t room)
{
    return remark_crowd(filter, 2, 1000, text, room);
}

static bool remark_three(const bloomery_filter *filter, char *text, size_t room)
{
    return remark_crowd(filter, 3, 10000, text, room);
}

const struct bloomery_dialect_row bloomery_dialect_simple_hash = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_SIMPLE_HASH,
            .name = "simple-hash",
            .description = "a crawler's BitSet with seven or six polynomials (Java, SimpleHash)",
            .variants = "seven, six",
            .load_needs = "",
            .load_takes = "variant, bits, probes",
            .create_takes = "variant, bits, probes",
            .reads = true,
            .writes = true,
            .creates = true,
        },
    .names = {"seven", "six"},
    .hashes = {&seven, &six},
    .schemes = {&bloomery_scheme_positions},
    .others = "its keys are hashed or placed in another way than by polynomials",
    .plan = plan,
    .parse = parse,
    .write = write,
    .remarks = {remark_one, remark_two, remark_three},
    .variants_by_hash = true,
};
