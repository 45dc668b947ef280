/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filters of github.com/bits-and-blooms/bloom (Go, 3.x), the bytes of its WriteTo, GobEncode and
 * MarshalBinary:
 *
 *     byte 0     m                          u64, big-endian
 *     byte 8     k                          u64, big-endian
 *     byte 16    L, the bitset's length in bits   u64
 *     byte 24    ceil(L / 64) words, bit p being bit p & 63 of word p >> 6
 *
 * L and the words are big-endian, unless the program called its bitset package's LittleEndian():
 * then they are little-endian, and m and k are not. Nothing in the bytes says so: variant
 * "little-endian".
 *
 * L is m but for two sorts of filters. Those made by New(0, k) have m = 1 and begin with L = 0,
 * which grows to 1 with the first key. Those of FromWithM have a bitset as long as its caller made
 * it, which grows with a key past its end. The missing words are zeros that we allocate, so a
 * handful of bytes could demand terabytes. More than MISSING_WORDS of them are refused as damage.
 * Sizing: m = ceil(-n ln p / ln(2)^2), k = ceil(m / n ln 2), both at least 1.
 */
#include "base/bits.h"
#include "base/bytes.h"
#include "base/error.h"
#include "dialects/dialects.h"
#include "dialects/schemes.h"
#include "hash/murmur3.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>

/* ---- The hash -------------------------------------------------------------------------------- */

/*
 * Four words of a key: murmur3 x64 128 of it, and of it with a byte 0x01 behind. bits-and-blooms
 * makes its positions of them. With h[0] and h[1] of the first and h[2] and h[3] of the second,
 * position i = 0 .. k-1 is
 *
 *     (h[i & 1] + i h[2 + (((i + (i & 1)) & 3) >> 1)]) mod 2^64 mod m
 *
 * whose second index runs through 2 3 3 2, again and again. The key is read once: both hashes go
 * the same way up to its last sixteen bytes.
 */

static void four_words(bloomery_key key, uint64_t words[4])
{
    const uint8_t *data = key.data;
    struct bloomery_murmur3 state = {0, 0};
    uint8_t tail[16] = {0};
    const size_t whole = key.bytes / 16 * 16;
    const size_t left = key.bytes - whole;
    for (size_t at = 0; at < whole; at += 16)
        bloomery_murmur3_block(&state, data + at);
    struct bloomery_murmur3 further = state;
    if (left > 0)
        memcpy(tail, data + whole, left);
    const bloomery_hash first = bloomery_murmur3_finish(&state, tail, left, key.bytes);
    tail[left] = 1;
    if (left + 1 == sizeof tail)
        bloomery_murmur3_block(&further, tail);
    const bloomery_hash second =
        bloomery_murmur3_finish(&further, tail, (left + 1) % sizeof tail, key.bytes + 1);
    words[0] = first.lo;
    words[1] = first.hi;
    words[2] = second.lo;
    words[3] = second.hi;
}

static void positions_of(const struct bloomery_hash_secret *secret, bloomery_key key,
                         uint64_t cells, uint32_t probes, uint64_t *positions)
{
    uint64_t words[4];
    (void)secret;
    four_words(key, words);
    for (uint32_t i = 0; i < probes; i++)
        positions[i] = (words[i & 1] + i * words[2 + (((i + (i & 1)) & 3) >> 1)]) % cells;
}

static const struct bloomery_hash_row murmur3_twice = {
    .id = BLOOMERY_HASH_MURMUR3_TWICE,
    .name = "bits-and-blooms",
    .available = true,
    .positions = positions_of,
};

/* ---- Numbers and bytes ----------------------------------------------------------------------- */

enum { HEADER = 24, EXTRA = 9, BIG_ENDIAN_WORDS = 0, LITTLE_ENDIAN_WORDS = 1 };
enum { MISSING_WORDS = 1024 };

/* Extra: the byte order, and L. */
static void lay_out(struct bloomery_design *design, int order, uint64_t bits, uint32_t probes,
                    uint64_t length)
{
    bloomery_design_flat(design, &murmur3_twice, &bloomery_scheme_positions, bits, probes);
    design->layout =
        order == LITTLE_ENDIAN_WORDS ? BLOOMERY_LAYOUT_BYTES : BLOOMERY_LAYOUT_BE_WORDS;
    design->small[0] = (uint8_t)order;
    bloomery_store_u64(design->small + 1, length);
    design->extra = design->small;
    design->extra_bytes = EXTRA;
}

/* Keys and rate; or bits and probes, as for New(m, k), in which either may be 0 for 1. */
static bloomery_status plan(const bloomery_dialect_parameters *given, int order,
                            struct bloomery_design *design, bloomery_error *error)
{
    const double keys = (double)given->keys;
    const double ln2 = log(2);
    double bits = (double)given->bits;
    double probes = given->probes;
    if (given->bits == 0 && given->probes == 0 && given->keys > 0 && given->rate > 0 &&
        given->rate < 1) {
        bits = ceil(-1 * keys * log(given->rate) / (ln2 * ln2));
        probes = ceil(ln2 * bits / keys);
    }
    if ((bits == 0 && probes == 0) || !(bits >= 0 && bits <= (double)BLOOMERY_BITS_MAX) ||
        !(probes >= 0 && probes <= BLOOMERY_POSITIONS_MAX))
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "filters of bits-and-blooms take keys and a rate above 0 and below 1, or bits "
            "and probes, that make at most 2^50 bits and 1024 probes");
    lay_out(design, order, (uint64_t)fmax(1, bits), (uint32_t)fmax(1, probes), (uint64_t)bits);
    design->layers[0].keys = given->keys;
    design->layers[0].rate = given->rate;
    return BLOOMERY_OK;
}

static bloomery_status check_header(const uint8_t *data, size_t bytes, int order,
                                    bloomery_error *error)
{
    if (bytes < HEADER)
        return bloomery_fail(
            error, BLOOMERY_TRUNCATED, bytes,
            "cut short: a filter of bits-and-blooms begins with 24 bytes, there are %zu", bytes);
    const uint64_t bits = bloomery_load_be(data, 8);
    const uint64_t probes = bloomery_load_be(data + 8, 8);
    const uint64_t length = order == LITTLE_ENDIAN_WORDS ? bloomery_load_u64(data + 16)
                                                         : bloomery_load_be(data + 16, 8);
    const uint64_t other = order == LITTLE_ENDIAN_WORDS ? bloomery_load_be(data + 16, 8)
                                                        : bloomery_load_u64(data + 16);
    if (bits == 0 || probes == 0 || bits > BLOOMERY_BITS_MAX || probes > BLOOMERY_POSITIONS_MAX)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                             "damaged: %llu probes in %llu bits are not 1 to 1024 in 1 to 2^50",
                             (unsigned long long)probes, (unsigned long long)bits);
    if (length > bloomery_words_of(bits) * 64 || (bits - 1) / 64 > length / 64 + MISSING_WORDS)
        return bloomery_fail(error, other == bits ? BLOOMERY_BAD_ARGUMENT : BLOOMERY_CORRUPT, 16,
                             "%s: a bitset of %llu bits in a filter of %llu",
                             other == bits ? "this is the variant of the other byte order"
                                           : "damaged",
                             (unsigned long long)length, (unsigned long long)bits);
    const uint64_t words = bloomery_words_of(length);
    if ((bytes - HEADER) % 8 != 0 || (bytes - HEADER) / 8 != words)
        return bloomery_fail(
            error, BLOOMERY_TRUNCATED, bytes,
            "%s: a bitset of %llu bits takes %llu bytes, there are %zu",
            words > (bytes - HEADER) / 8 ? "cut short" : "something follows the filter",
            (unsigned long long)length, (unsigned long long)(words * 8), bytes - HEADER);
    return BLOOMERY_OK;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given, int order,
                             struct bloomery_design *design, bloomery_error *error)
{
    (void)given;
    bloomery_status status = check_header(data, bytes, order, error);
    if (status != BLOOMERY_OK)
        return status;
    const uint64_t length = order == LITTLE_ENDIAN_WORDS ? bloomery_load_u64(data + 16)
                                                         : bloomery_load_be(data + 16, 8);
    lay_out(design, order, bloomery_load_be(data, 8), (uint32_t)bloomery_load_be(data + 8, 8),
            length);
    design->bits[0] = data + HEADER;
    design->bit_bytes[0] = bloomery_words_of(length) * 8;
    assert(HEADER + design->bit_bytes[0] == bytes);
    /* The filter may have room past the bitset's end. No bit may be set there. */
    const uint8_t *last = data + HEADER + length / 64 * 8;
    if (length % 64 == 0)
        return BLOOMERY_OK;
    const uint64_t word =
        order == LITTLE_ENDIAN_WORDS ? bloomery_load_u64(last) : bloomery_load_be(last, 8);
    if (word >> length % 64 == 0)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_CORRUPT, HEADER + length / 64 * 8,
                         "damaged: a bit is set past the %llu of the bitset",
                         (unsigned long long)length);
}

static bool is_little_endian(const bloomery_filter *filter)
{
    return bloomery_cold_in(filter)->extra_bytes >= EXTRA &&
           bloomery_cold_in(filter)->extra[0] == LITTLE_ENDIAN_WORDS;
}

/* As long as it was, or longer if a key was added past that. */
static uint64_t length_of(const bloomery_filter *filter)
{
    const struct bloomery_layer *layer = filter->layers;
    const uint64_t kept = bloomery_cold_in(filter)->extra_bytes >= EXTRA
                              ? bloomery_load_u64(bloomery_cold_in(filter)->extra + 1)
                              : layer->bits;
    uint64_t last = layer->bits;
    if (kept >= layer->bits)
        return kept <= bloomery_words_of(layer->bits) * 64 ? kept : layer->bits;
    while (last > kept && !bloomery_bit_test(layer->payload, last - 1))
        last--;
    return last;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    const bool little = is_little_endian(filter);
    const uint64_t length = length_of(filter);
    uint8_t header[HEADER];
    assert(bloomery_dialect_fits(&bloomery_dialect_bits_and_blooms, filter, NULL) == BLOOMERY_OK);
    assert(length <= bloomery_words_of(layer->bits) * 64);
    bloomery_store_be(header, layer->bits, 8);
    bloomery_store_be(header + 8, layer->probes, 8);
    if (little)
        bloomery_store_u64(header + 16, length);
    else
        bloomery_store_be(header + 16, length, 8);
    bloomery_status status = bloomery_emit(emitter, header, sizeof header);
    return status == BLOOMERY_OK
               ? bloomery_emit_bits(emitter, layer, bloomery_words_of(length) * 8,
                                    little ? BLOOMERY_LAYOUT_BYTES : BLOOMERY_LAYOUT_BE_WORDS)
               : status;
}

static int variant_of(const bloomery_filter *filter)
{
    return is_little_endian(filter) ? LITTLE_ENDIAN_WORDS : BIG_ENDIAN_WORDS;
}

const struct bloomery_dialect_row bloomery_dialect_bits_and_blooms = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_BITS_AND_BLOOMS,
            .name = "bits-and-blooms",
            .description =
                "filters of the Go package bits-and-blooms/bloom, the bytes of its WriteTo",
            .variants = "big-endian, little-endian",
            .load_needs = "",
            .load_takes = "variant",
            .create_takes = "variant, keys, rate, bits, probes",
            .reads = true,
            .writes = true,
            .creates = true,
        },
    .names = {"big-endian", "little-endian"},
    .hashes = {&murmur3_twice},
    .schemes = {&bloomery_scheme_positions},
    .others = "bits-and-blooms takes four words of two murmur3 hashes of a key",
    .plan = plan,
    .parse = parse,
    .write = write,
    .remarks = {bloomery_remark_rate},
    .variant = variant_of,
};
