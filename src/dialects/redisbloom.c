/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RedisBloom's filters (2.x, 8.x), as BF.SCANDUMP hands them out: its chunks, one behind the other.
 *
 *     byte 0     keys in all layers          u64, little-endian, packed, as all that follows
 *     byte 8     N, the number of layers     u32
 *     byte 12    options                    u32: 1 no rounding, 2 entries are bits, 4 hash of 64
 *                                           bits, 8 does not scale; 5 or 13 in filters of today
 *     byte 16    growth                     u32: EXPANSION
 *     byte 20    N layers of 53 bytes:       bytes u64, bits u64 (8 bytes), keys in it u64,
 *                                           error f64, bits per key f64, k u32, capacity u64,
 *                                           n2 u8 (0)
 *                the layers' bits, one behind the other, bit p being bit p & 7 of byte p >> 3
 *
 * Keys are hashed by MurmurHash64A twice, the second time with the first hash as seed; positions
 * are (a + i b) mod 2^64 mod m. A chain begins with a layer for the capacity at half the wanted
 * error, or at that error if it does not scale. The section on chains has how it goes on, and how
 * layers are sized. An error above 0.25 counts as 0.25. Keys are counted when they set a bit.
 *
 * Faults: the constants of the sizing are cut short, which gives a layer for error 2^-j a probe too
 * many. Few keys at a low error have a rate several times as high, since positions are steps of one
 * size (dialects/rates.c).
 *
 * The release after 8 has a seed: flag 2^31 of the options, and a u64 behind the layers of the
 * header. The seed of that release's filters that were made without one gives the hashes of today,
 * so those are read, and written as today's. Others are not read.
 *
 * What was written by old releases, with other options or n2, places keys in another way and is not
 * read.
 */
#include "dialects/redisbloom.h"

#include "base/bits.h"
#include "base/bytes.h"
#include "base/cpu.h"
#include "base/error.h"
#include "dialects/schemes.h"
#include "dialects/sizing.h"
#include "hash/hashes.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

/* ---- The hash -------------------------------------------------------------------------------- */

/*
 * MurmurHash2 (Austin Appleby, public domain) for 64 bits, known as MurmurHash64A, from its
 * definition. Words are little-endian:
 *
 *     begin                h = seed ^ length m
 *     each word w          w *= m    w ^= w >> 47    w *= m    h = (h ^ w) m
 *     what is left, if any h = (h ^ rest) m
 *     end                  h ^= h >> 47    h *= m    h ^= h >> 47
 *
 * RedisBloom makes a pair of it: the hash of the key with a fixed seed, and once more with that
 * hash as the seed. What becomes of a word before it meets h does not depend on the seed, so it is
 * computed once for both.
 */

static const uint64_t factor_64 = UINT64_C(0xc6a4a7935bd1e995);

static inline uint64_t murmur64a_word(const uint8_t *data)
{
    const uint64_t word = bloomery_load_u64(data) * factor_64;
    return (word ^ word >> 47) * factor_64;
}

/* The 1 to 7 bytes behind the whole words, read as the end of a word if the key has 8 bytes. */
static inline uint64_t murmur64a_rest(const uint8_t *data, size_t bytes)
{
    const unsigned left = bytes % 8;
    if (bytes >= 8)
        return bloomery_load_u64(data + bytes - 8) >> (64 - 8 * left);
    return bloomery_load_le(data, left);
}

static inline uint64_t murmur64a_end(uint64_t h)
{
    h = (h ^ h >> 47) * factor_64;
    return h ^ h >> 47;
}

enum { WORDS_KEPT = 6 };

/* Of a key with `whole` whole words, a constant wherever this is called. */
static inline __attribute__((always_inline)) bloomery_hash
pair_of_words(const uint8_t *data, size_t bytes, uint64_t rest, const size_t whole)
{
    uint64_t words[WORDS_KEPT];
    uint64_t seed = factor_64, hash[2];
    for (size_t i = 0; i < whole; i++)
        words[i] = murmur64a_word(data + 8 * i);
    for (int turn = 0; turn < 2; turn++) {
        uint64_t h = seed ^ (uint64_t)bytes * factor_64;
        for (size_t i = 0; i < whole; i++)
            h = (h ^ words[i]) * factor_64;
        if (bytes % 8 != 0)
            h = (h ^ rest) * factor_64;
        hash[turn] = seed = murmur64a_end(h);
    }
    return (bloomery_hash){.lo = hash[0], .hi = hash[1]};
}

uint64_t bloomery_murmur64a(uint64_t seed, const uint8_t *data, size_t bytes)
{
    uint64_t h = seed ^ (uint64_t)bytes * factor_64;
    for (size_t i = 0; i < bytes / 8; i++)
        h = (h ^ murmur64a_word(data + 8 * i)) * factor_64;
    if (bytes % 8 != 0)
        h = (h ^ murmur64a_rest(data, bytes)) * factor_64;
    return murmur64a_end(h);
}

static bloomery_hash pair_of_long(bloomery_key key)
{
    const uint64_t first = bloomery_murmur64a(factor_64, key.data, key.bytes);
    return (bloomery_hash){.lo = first, .hi = bloomery_murmur64a(first, key.data, key.bytes)};
}

static inline __attribute__((always_inline)) bloomery_hash pair_of(bloomery_key key)
{
    if (BLOOMERY_FOR_SIZE)
        return pair_of_long(key);
    const uint64_t rest = key.bytes % 8 != 0 ? murmur64a_rest(key.data, key.bytes) : 0;
    switch (key.bytes / 8) {
    case 0:
        return pair_of_words(key.data, key.bytes, rest, 0);
    case 1:
        return pair_of_words(key.data, key.bytes, rest, 1);
    case 2:
        return pair_of_words(key.data, key.bytes, rest, 2);
    case 3:
        return pair_of_words(key.data, key.bytes, rest, 3);
    case 4:
        return pair_of_words(key.data, key.bytes, rest, 4);
    case 5:
        return pair_of_words(key.data, key.bytes, rest, 5);
    default:
        return pair_of_long(key);
    }
}

static bloomery_hash pair_64(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    (void)secret;
    return pair_of(key);
}

static void pairs_64(const struct bloomery_hash_secret *secret, const bloomery_key *keys,
                     size_t count, bloomery_hash *hashes)
{
    (void)secret;
    for (size_t i = 0; i < count; i++)
        hashes[i] = pair_of(keys[i]);
}

static const struct bloomery_hash_row murmur64a_pair = {
    .id = BLOOMERY_HASH_MURMUR64A,
    .name = "murmur64a-pair",
    .available = true,
    .one = pair_64,
    .many = pairs_64,
};

/* ---- Chains ---------------------------------------------------------------------------------- */

/*
 * Chains of flat layers by double hashing, each sized with constants cut short (dialects/sizing.h):
 *
 *     layer      0         1            2
 *     keys      n         g n          g^2 n          g: growth
 *     rate      r         t r          t^2 r          t: tightening
 *     bits      trunc(keys bits-per-key), 1 if that is 0, rounded up to a multiple of 64
 *
 * With t = 1/2 all layers together stay below 2 r however many there are.
 */

static bloomery_status tightened_size(uint64_t keys, double rate, struct bloomery_layer *layer,
                                      bloomery_error *error)
{
    if (!(rate > 0 && rate < 1) || keys == 0 || keys > BLOOMERY_KEYS_MAX)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a layer is for 1 to 2^48 keys and a rate above 0 and below 1");
    const double bits_per_key = bloomery_short_bits_per_key(rate);
    const double probes = bloomery_short_probes(bits_per_key);
    const double bits = fmax(1, trunc((double)keys * bits_per_key));
    if (!(probes >= 1 && probes <= BLOOMERY_POSITIONS_MAX) ||
        !(bits <= (double)(BLOOMERY_BITS_MAX - 63)))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "%llu keys at such a rate take more than 2^50 bits, or 1024 probes",
                             (unsigned long long)keys);
    *layer = (struct bloomery_layer){
        .bits = bloomery_words_of((uint64_t)bits) * 64,
        .probes = (uint32_t)probes,
        .keys = keys,
        .rate = rate,
    };
    assert(layer->bits > 0 && layer->bits <= BLOOMERY_BITS_MAX && layer->bits % 64 == 0);
    return BLOOMERY_OK;
}

static bloomery_status next_layer(const struct bloomery_shape *shape,
                                  const struct bloomery_layer *newest, struct bloomery_layer *next,
                                  bloomery_error *error)
{
    uint64_t keys;
    assert(shape->growth > 0 && newest->keys > 0);
    if (__builtin_mul_overflow(newest->keys, (uint64_t)shape->growth, &keys))
        keys = UINT64_MAX;
    return tightened_size(keys, newest->rate * shape->tightening, next, error);
}

static const struct bloomery_kind_row chain = {
    .id = BLOOMERY_SCALABLE,
    .probe_scheme = BLOOMERY_PROBES_DOUBLE,
    .check = bloomery_classic_check,
    .operations = bloomery_double_operations,
    BLOOMERY_ROW_RATES(bloomery_double),
    .next_layer = next_layer,
    .cell_sizes = 1 << 1,
    .probes_max = BLOOMERY_POSITIONS_MAX,
    .adds = true,
    .grows = true,
    .has_bits = true,
};

/* ---- Numbers and bytes ----------------------------------------------------------------------- */

enum {
    HEADER = 20,
    LAYER = 53,
    OPTIONS = 5,    /* no rounding, 64 bits */
    NONSCALING = 8, /* and that */
    OPTIONS_KNOWN = 15,
    SEED = 8,       /* bytes, behind the layers if the options are seeded */
    EXTRA_HEAD = 8, /* of extra: options and growth; then the bits per key of each layer */
    GROWTH_MAX = 32768,
};

_Static_assert(BLOOMERY_REDISBLOOM_HEADER == HEADER + LAYER * BLOOMERY_CHAIN_MAX,
               "the public header has room for all layers of most chains");

static const uint64_t keys_max = UINT64_C(1) << 30; /* in releases from 8 on */
static const uint64_t keys_max_large = UINT64_C(1) << 40;
static const double rate_max = 0.25;
static const uint32_t seeded = UINT32_C(1) << 31;
static const uint64_t usual_seed = UINT64_C(0xc6a4a7935bd1e995);

static bloomery_status begin(struct bloomery_design *design, uint32_t options, uint32_t growth,
                             uint32_t layers, bloomery_error *error)
{
    struct bloomery_shape *shape = &design->shape;
    const size_t kept = EXTRA_HEAD + 8 * (size_t)layers;
    const bloomery_status status = bloomery_design_room(design, layers, kept, error);
    if (status != BLOOMERY_OK)
        return status;
    bloomery_design_rows(design, &murmur64a_pair, &chain);
    shape->count_scheme = BLOOMERY_COUNTS_NEW;
    shape->growth = (options & NONSCALING) != 0 ? 0 : growth;
    shape->tightening = 0.5;
    shape->layer_count = layers;
    bloomery_store_u32(design->kept, options);
    bloomery_store_u32(design->kept + 4, growth);
    design->extra = design->kept;
    design->extra_bytes = kept;
    return BLOOMERY_OK;
}

/* Options and growth of a filter that keeps none. */
static uint32_t usual_options(const struct bloomery_shape *shape)
{
    return shape->growth == 0 ? OPTIONS | NONSCALING : OPTIONS;
}

static uint32_t usual_growth(const struct bloomery_shape *shape)
{
    return shape->growth == 0 ? 2 : shape->growth;
}

/* Keeps nothing of a design that follows from its shape: small filters are as small as they can
 * be. */
static void keep_unusual(struct bloomery_design *design)
{
    const struct bloomery_shape *shape = &design->shape;
    if (bloomery_load_u32(design->kept) != usual_options(shape) ||
        bloomery_load_u32(design->kept + 4) != usual_growth(shape))
        return;
    for (uint32_t i = 0; i < shape->layer_count; i++) {
        uint8_t usual[8];
        bloomery_store_f64(usual, bloomery_short_bits_per_key(design->layers[i].rate));
        if (memcmp(usual, design->kept + EXTRA_HEAD + 8 * (size_t)i, sizeof usual) != 0)
            return;
    }
    design->extra_bytes = 0;
}

/* ---- Making ---------------------------------------------------------------------------------- */

static bloomery_status plan(const bloomery_dialect_parameters *given, int variant,
                            struct bloomery_design *design, bloomery_error *error)
{
    const bool scales = variant % 2 == 0;
    const bool is_large = variant >= 2;
    const uint64_t keys = given->keys > 0 ? given->keys : 100;
    const uint32_t growth = given->growth > 0 ? given->growth : 2;
    double rate = given->rate == 0 ? 0.01 : given->rate;
    if (!(rate > 0 && rate < 1) || keys > (is_large ? keys_max_large : keys_max) ||
        growth > GROWTH_MAX)
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "RedisBloom takes 1 to 2^30 keys (2^40 in the variants large-scaling and "
            "large-nonscaling, for releases before 8), a rate above 0 and below 1, and a growth "
            "of 1 to 32768");
    rate = fmin(rate, rate_max);
    bloomery_status status = begin(design, OPTIONS | (scales ? 0 : NONSCALING), growth, 1, error);
    if (status == BLOOMERY_OK)
        status = tightened_size(keys, scales ? rate * 0.5 : rate, &design->layers[0], error);
    if (status != BLOOMERY_OK)
        return status;
    bloomery_store_f64(design->kept + EXTRA_HEAD,
                       bloomery_short_bits_per_key(design->layers[0].rate));
    keep_unusual(design);
    return BLOOMERY_OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bloomery_status read_layer(const uint8_t *data, uint64_t at, struct bloomery_layer *layer,
                                  bloomery_error *error)
{
    const uint64_t bytes = bloomery_load_u64(data);
    const double bits_per_key = bloomery_load_f64(data + 32);
    *layer = (struct bloomery_layer){
        .bits = bloomery_load_u64(data + 8),
        .adds = bloomery_load_u64(data + 16),
        .rate = bloomery_load_f64(data + 24),
        .probes = bloomery_load_u32(data + 40),
        .keys = bloomery_load_u64(data + 44),
    };
    if (bytes == 0 || bytes > BLOOMERY_BITS_MAX / 8 || layer->bits != bytes * 8)
        return bloomery_fail(error, BLOOMERY_CORRUPT, at,
                             "damaged: a layer of %llu bytes and %llu bits",
                             (unsigned long long)bytes, (unsigned long long)layer->bits);
    if (!(layer->rate > 0 && layer->rate < 1) || layer->probes == 0 ||
        bloomery_short_probes(bits_per_key) != layer->probes)
        return bloomery_fail(error, BLOOMERY_CORRUPT, at,
                             "damaged: a layer's error, bits per key and %u probes do not belong "
                             "together",
                             layer->probes);
    if (data[52] != 0)
        return bloomery_fail(error, data[52] > 63 ? BLOOMERY_CORRUPT : BLOOMERY_UNSUPPORTED,
                             at + 52,
                             "a layer of 2^%u bits is one of an old release, which placed keys in "
                             "another way",
                             data[52]);
    return BLOOMERY_OK;
}

/* The bytes of a header: more than there are addresses for no number of layers that is read. */
static uint64_t header_bytes_of(const uint8_t *data)
{
    const bool has_seed = (bloomery_load_u32(data + 12) & seeded) != 0;
    return HEADER + LAYER * (uint64_t)bloomery_load_u32(data + 8) + (has_seed ? SEED : 0);
}

static bloomery_status check_head(const uint8_t *data, size_t bytes, bloomery_error *error)
{
    if (bytes < HEADER)
        return bloomery_fail(
            error, BLOOMERY_TRUNCATED, bytes,
            "cut short: a header of RedisBloom's begins with 20 bytes, there are %zu", bytes);
    const uint32_t layers = bloomery_load_u32(data + 8);
    const uint32_t options = bloomery_load_u32(data + 12) & ~seeded;
    if (layers == 0 || (options & ~(uint32_t)OPTIONS_KNOWN) != 0)
        return bloomery_fail(error, BLOOMERY_CORRUPT, 8, "damaged: %u layers, options %u", layers,
                             bloomery_load_u32(data + 12));
    if ((options & ~(uint32_t)NONSCALING) != OPTIONS)
        return bloomery_fail(
            error, BLOOMERY_UNSUPPORTED, 12,
            "options %u are those of an old release, which placed keys in another way", options);
    if (layers > BLOOMERY_LAYERS_MAX)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 8,
                             "%u layers are more than the %d that a chain can have here", layers,
                             BLOOMERY_LAYERS_MAX);
    if (bytes < header_bytes_of(data))
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: a header of %u layers takes %llu bytes, there are %zu",
                             layers, (unsigned long long)header_bytes_of(data), bytes);
    return BLOOMERY_OK;
}

bloomery_status bloomery_redisbloom_parse_header(const uint8_t *data, size_t bytes,
                                                 struct bloomery_design *design,
                                                 size_t *header_bytes, bloomery_error *error)
{
    bloomery_status status = check_head(data, bytes, error);
    if (status != BLOOMERY_OK)
        return status;
    const uint32_t layers = bloomery_load_u32(data + 8);
    uint64_t adds = 0;
    status = begin(design, bloomery_load_u32(data + 12) & ~seeded, bloomery_load_u32(data + 16),
                   layers, error);
    if (status != BLOOMERY_OK)
        return status;
    for (uint32_t i = 0; i < layers; i++) {
        const size_t at = HEADER + LAYER * (size_t)i;
        status = read_layer(data + at, at, &design->layers[i], error);
        if (status != BLOOMERY_OK)
            return status;
        memcpy(design->kept + EXTRA_HEAD + 8 * (size_t)i, data + at + 32, 8);
        if (__builtin_add_overflow(adds, design->layers[i].adds, &adds) || adds > INT64_MAX)
            return bloomery_fail(error, BLOOMERY_CORRUPT, at + 16,
                                 "damaged: its layers have more than 2^63 - 1 keys");
    }
    if (adds != bloomery_load_u64(data))
        return bloomery_fail(error, BLOOMERY_CORRUPT, 0,
                             "damaged: %llu keys in all, %llu in its layers",
                             (unsigned long long)bloomery_load_u64(data), (unsigned long long)adds);
    keep_unusual(design);
    *header_bytes = (size_t)header_bytes_of(data);
    assert(*header_bytes <= bytes && design->shape.layer_count == layers);
    /* After the layers: another seed is only one if they are sound. */
    const size_t at = (size_t)header_bytes_of(data) - SEED;
    if ((bloomery_load_u32(data + 12) & seeded) == 0 || bloomery_load_u64(data + at) == usual_seed)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_UNSUPPORTED, at,
                         "of a later release of RedisBloom, with a seed (%llu), which is not read",
                         (unsigned long long)bloomery_load_u64(data + at));
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given, int variant,
                             struct bloomery_design *design, bloomery_error *error)
{
    size_t header = 0;
    uint64_t at;
    (void)given;
    (void)variant;
    bloomery_status status = bloomery_redisbloom_parse_header(data, bytes, design, &header, error);
    if (status != BLOOMERY_OK)
        return status;
    at = header;
    for (uint32_t i = 0; i < design->shape.layer_count; i++) {
        design->bit_bytes[i] = design->layers[i].bits / 8;
        at += design->bit_bytes[i]; /* 2^16 times 2^47 at most */
        if (at <= bytes)
            design->bits[i] = data + (size_t)(at - design->bit_bytes[i]);
    }
    if (at != bytes)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "%s: header and bits take %llu bytes, there are %zu",
                             at > bytes ? "cut short" : "something follows the filter",
                             (unsigned long long)at, bytes);
    design->layout = BLOOMERY_LAYOUT_BYTES;
    return BLOOMERY_OK;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* As it was read, where it was; layers that were added since follow from their rate. */
static double bits_per_key_of(const bloomery_filter *filter, uint32_t layer)
{
    const size_t at = EXTRA_HEAD + 8 * (size_t)layer;
    if (bloomery_cold_in(filter)->extra_bytes >= at + 8) {
        const double kept = bloomery_load_f64(bloomery_cold_in(filter)->extra + at);
        if (bloomery_short_probes(kept) == filter->layers[layer].probes)
            return kept;
    }
    return bloomery_short_bits_per_key(filter->layers[layer].rate);
}

bloomery_status bloomery_redisbloom_is_chain(const bloomery_filter *filter, bloomery_error *error)
{
    if (!bloomery_dialect_is(&bloomery_dialect_redisbloom, filter))
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0, "%s", bloomery_dialect_redisbloom.others);
    return BLOOMERY_OK;
}

static bloomery_status fits(const bloomery_filter *filter, bloomery_error *error)
{
    for (uint32_t i = 0; i < filter->shape.layer_count; i++) {
        const struct bloomery_layer *layer = &filter->layers[i];
        if (layer->bits % 8 != 0 || !(layer->rate > 0 && layer->rate < 1) ||
            bloomery_short_probes(bits_per_key_of(filter, i)) != layer->probes)
            return bloomery_fail(
                error, BLOOMERY_MISMATCH, 0,
                "RedisBloom's layers have whole bytes and the number of probes that follows "
                "from their rate");
    }
    return BLOOMERY_OK;
}

size_t bloomery_redisbloom_header_size(const bloomery_filter *filter)
{
    return HEADER + LAYER * (size_t)filter->shape.layer_count;
}

/* The keys of a layer as they are written. A reader refuses more than 2^63 - 1 in all, so a hostile
 * count ends there, and what is written can be read. `all`: the keys of the layers before it. */
static uint64_t written_adds(const struct bloomery_layer *layer, uint64_t *all)
{
    const uint64_t left = INT64_MAX - *all;
    const uint64_t adds = layer->adds < left ? layer->adds : left;
    *all += adds;
    assert(*all <= INT64_MAX);
    return adds;
}

static void write_head(const bloomery_filter *filter, uint8_t head[HEADER])
{
    uint32_t options = usual_options(&filter->shape);
    uint32_t expansion = usual_growth(&filter->shape);
    uint64_t adds = 0;
    if (bloomery_cold_in(filter)->extra_bytes >= EXTRA_HEAD &&
        (bloomery_load_u32(bloomery_cold_in(filter)->extra) & ~(uint32_t)NONSCALING) == OPTIONS) {
        options = bloomery_load_u32(bloomery_cold_in(filter)->extra);
        expansion = bloomery_load_u32(bloomery_cold_in(filter)->extra + 4);
    }
    for (uint32_t i = 0; i < filter->shape.layer_count; i++)
        (void)written_adds(&filter->layers[i], &adds);
    bloomery_store_u64(head, adds);
    bloomery_store_u32(head + 8, filter->shape.layer_count);
    bloomery_store_u32(head + 12, options);
    bloomery_store_u32(head + 16, expansion);
}

static void write_layer(const bloomery_filter *filter, uint32_t index, uint64_t *adds,
                        uint8_t at[LAYER])
{
    const struct bloomery_layer *layer = &filter->layers[index];
    bloomery_store_u64(at, layer->bits / 8);
    bloomery_store_u64(at + 8, layer->bits);
    bloomery_store_u64(at + 16, written_adds(layer, adds));
    bloomery_store_f64(at + 24, layer->rate);
    bloomery_store_f64(at + 32, bits_per_key_of(filter, index));
    bloomery_store_u32(at + 40, layer->probes);
    bloomery_store_u64(at + 44, layer->keys);
    at[52] = 0;
}

void bloomery_redisbloom_write_header(const bloomery_filter *filter, uint8_t *header)
{
    uint64_t adds = 0;
    write_head(filter, header);
    for (uint32_t i = 0; i < filter->shape.layer_count; i++)
        write_layer(filter, i, &adds, header + HEADER + LAYER * (size_t)i);
}

/* The header in pieces: no memory is allocated. */
static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    uint8_t piece[LAYER];
    uint64_t adds = 0;
    write_head(filter, piece);
    bloomery_status status = bloomery_emit(emitter, piece, HEADER);
    for (uint32_t i = 0; i < filter->shape.layer_count && status == BLOOMERY_OK; i++) {
        write_layer(filter, i, &adds, piece);
        status = bloomery_emit(emitter, piece, LAYER);
    }
    for (uint32_t i = 0; i < filter->shape.layer_count && status == BLOOMERY_OK; i++)
        status = bloomery_emit_bits(emitter, &filter->layers[i], filter->layers[i].bits / 8,
                                    BLOOMERY_LAYOUT_BYTES);
    return status;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

static int variant_of(const bloomery_filter *filter)
{
    return filter->shape.growth == 0;
}

/* With all layers full. The planned rate is twice the first layer's if the chain scales. */
static bool remark_rate(const bloomery_filter *filter, char *text, size_t room)
{
    struct bloomery_phrase is, wanted;
    const double first = filter->layers[0].rate;
    const double queried = filter->shape.growth == 0 ? first : fmin(1, 2 * first);
    double none = 0;
    uint64_t keys = 0;
    for (uint32_t i = 0; i < filter->shape.layer_count; i++) {
        const struct bloomery_layer *layer = &filter->layers[i];
        none += log1p(-filter->kind->expected_rate(layer, layer->keys));
        keys += layer->keys;
    }
    const double rate = -expm1(none);
    if (!(rate > 1.1 * queried))
        return false;
    snprintf(
        text, room,
        "with the %llu keys it is for, this dialect's rate at this size is %s, not the %s it was "
        "asked for",
        (unsigned long long)keys, bloomery_phrase_rate(&is, rate),
        bloomery_phrase_rate(&wanted, queried));
    return true;
}

const struct bloomery_dialect_row bloomery_dialect_redisbloom = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_REDISBLOOM,
            .name = "redisbloom",
            .description =
                "RedisBloom's filters, the chunks of its BF.SCANDUMP one behind the other",
            .variants = "scaling, nonscaling, large-scaling, large-nonscaling",
            .load_needs = "",
            .load_takes = "",
            .create_takes = "variant, keys, rate, growth",
            .reads = true,
            .writes = true,
            .creates = true,
            .hashes = true,
        },
    .names = {"scaling", "nonscaling", "large-scaling", "large-nonscaling"},
    .hashes = {&murmur64a_pair},
    .schemes = {&chain},
    .counts_new = true,
    .others = "RedisBloom hashes by murmurhash64a and keeps chains of layers",
    .plan = plan,
    .parse = parse,
    .write = write,
    .fits = fits,
    .remarks = {remark_rate},
    .variant = variant_of,
};
