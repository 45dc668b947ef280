/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RocksDB's full filters (rocksdb.BuiltinBloomFilter, 7.8). Bits, and a trailer of five bytes,
 * whose first one distinguishes the encodings:
 *
 *     fast (format_version 5 and later)         legacy (before)
 *     | bits: N blocks of 64 bytes |             | bits: N blocks of 64 bytes |
 *     | ff | 00 | k | 00 | 00 |                 | k | N: u32, little-endian |
 *
 *     00 .. of any size from 6 on: "maybe" to every key
 *     fe ..: a Ribbon filter, which is not a Bloom filter
 *
 * Legacy filters have blocks as long as the machine's cache lines: 128 bytes on ARM and POWER, 256
 * on mainframes. Such are read, and recognised by their N.
 *
 *     fast      h = XXPH3, whose low half chooses the block, and whose high
 *               half x has bit x g^i mod 2^32 >> 23 there
 *     legacy    h = 32 bits (dialects/storage.h, last bytes sign-extended); bit
 *               (h + i rotr32(h, 17)) mod 512 of block h mod N
 *
 * Sizing from n keys and b bits per key: b below 0.5 makes no filter, below 1 it is 1, from 100 on
 * it is 100.
 *
 *     fast      M = trunc(1000 b + 0.500001);  ceil(n M / 8000) bytes, rounded up to blocks; k by a
 *               table
 *     legacy    M / 1000 rounded to a whole number;  ceil(n b / 512) blocks, one more if that is
 *               even; k = trunc(0.69 b), 1 to 30
 *
 * Without keys only the trailer is written, and no key is found. RocksDB answers "maybe" for what
 * it does not know: other first bytes, k = 0 or above 30, N that does not divide the bits. These
 * are refused here.
 *
 * Known faults, of legacy filters: n keys share 2^32 hashes, so the rate is n / 2^32 at least. And
 * a walk in a block of 512 bits covers much of what others do (dialects/storage.h).
 */
#include "base/bytes.h"
#include "base/error.h"
#include "dialects/schemes.h"
#include "dialects/storage.h"
#include "hash/hashes.h"
#include "kinds/blocked.h"
#include "kinds/derive.h"
#include "plan/blocked_rate.h"
#include "plan/classic_rate.h"
#include "plan/solve.h"

#include <assert.h>
#include <math.h>

/* ---- The hash of fast filters ---------------------------------------------------------------- */

/*
 * XXPH3: XXH3 with 64 bits as it was in its preview of 2019, which RocksDB has in files and so
 * always keeps. Another function than the XXH3 of today, though it has the same secret and the same
 * plan, by length (n; all words little-endian, all sums modulo 2^64; P1 .. P5 and Q1 .. Q3 are the
 * primes of XXH64 and XXH32, S(i) is the secret's word at byte i, and fold(a, b) both halves of a
 * 128-bit product XORed):
 *
 *     0          fold(S(0), P2); the preview itself has 0
 *     1 to 3     end((b0 + b[n/2] << 8 + b[n-1] << 16 + n << 24  ^  the low half of S(0)) P1)
 *     4 to 8     x = first four bytes + last four << 32  ^  S(0);  x = n + (x ^ x >> 51) Q1;
 *                end((x ^ x >> 47) P2)
 *     9 to 16    a = first word ^ S(0);  b = last word ^ S(8);  end(n + a + b + fold(a, b))
 *     17 to 128  end(n P1 + a fold of 16 bytes from both ends, and again 16 further in while they
 *                do not meet, each with 16 bytes of secret of its own)
 *     to 240     the same with pieces from the front: eight, an end(), and what follows, with the
 *                secret from byte 3 on, and the last 16 bytes with the secret at 119
 *     longer     stripes of 64 bytes in eight sums, sixteen stripes to a block, after which the
 *                sums are scrambled; then the last 64 bytes, if they are not a stripe by themselves
 *
 *     end(x):    x = (x ^ x >> 37) P3;  x ^ x >> 32
 *
 * It was written after these formulas, which the public history of xxHash shows, and compared with
 * values of RocksDB's (tests/dialect/test_rocksdb.py).
 */

enum {
    STRIPE = 64,
    SECRET = 192,
    SECRET_STEP = 8,
    BLOCK_STRIPES = (SECRET - STRIPE) / SECRET_STEP,
    SUMS = 8,
    FRONT_PIECES = 8,
};

static const uint64_t prime1 = UINT64_C(0x9e3779b185ebca87);
static const uint64_t prime2 = UINT64_C(0xc2b2ae3d27d4eb4f);
static const uint64_t prime3 = UINT64_C(0x165667b19e3779f9);
static const uint64_t prime4 = UINT64_C(0x85ebca77c2b2ae63);
static const uint64_t prime5 = UINT64_C(0x27d4eb2f165667c5);
static const uint32_t short_prime1 = UINT32_C(0x9e3779b1);
static const uint32_t short_prime2 = UINT32_C(0x85ebca77);
static const uint32_t short_prime3 = UINT32_C(0xc2b2ae3d);

/* The secret of XXH3, from its specification. */
static const uint8_t secret_bytes[SECRET] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};

static uint64_t secret_at(size_t at)
{
    assert(at + 8 <= SECRET);
    return bloomery_load_u64(secret_bytes + at);
}

static uint64_t fold(uint64_t a, uint64_t b)
{
    const bloomery_uint128 product = (bloomery_uint128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t end(uint64_t x)
{
    x = (x ^ x >> 37) * prime3;
    return x ^ x >> 32;
}

/* 16 bytes of the key with 16 of the secret. */
static uint64_t piece(const uint8_t *data, size_t secret)
{
    return fold(bloomery_load_u64(data) ^ secret_at(secret),
                bloomery_load_u64(data + 8) ^ secret_at(secret + 8));
}

/* ---- By length ------------------------------------------------------------------------------- */

static uint64_t up_to_16(const uint8_t *data, size_t bytes)
{
    assert(bytes <= 16);
    if (bytes == 0)
        return fold(secret_at(0), prime2);
    if (bytes < 4) {
        const uint32_t all = data[0] + ((uint32_t)data[bytes / 2] << 8) +
                             ((uint32_t)data[bytes - 1] << 16) + ((uint32_t)bytes << 24);
        return end((all ^ (uint32_t)secret_at(0)) * prime1);
    }
    if (bytes <= 8) {
        uint64_t x =
            bloomery_load_u32(data) + ((uint64_t)bloomery_load_u32(data + bytes - 4) << 32);
        x ^= secret_at(0);
        x = bytes + (x ^ x >> 51) * short_prime1;
        return end((x ^ x >> 47) * prime2);
    }
    const uint64_t a = bloomery_load_u64(data) ^ secret_at(0);
    const uint64_t b = bloomery_load_u64(data + bytes - 8) ^ secret_at(8);
    return end(bytes + a + b + fold(a, b));
}

/* From both ends inwards. */
static uint64_t up_to_128(const uint8_t *data, size_t bytes)
{
    uint64_t sum = bytes * prime1;
    const size_t pairs = (bytes - 1) / 32 + 1;
    assert(bytes > 16 && bytes <= 128);
    for (size_t i = 0; i < pairs; i++) {
        sum += piece(data + 16 * i, 32 * i);
        sum += piece(data + bytes - 16 * (i + 1), 32 * i + 16);
    }
    return end(sum);
}

static uint64_t up_to_240(const uint8_t *data, size_t bytes)
{
    uint64_t sum = bytes * prime1;
    assert(bytes > 128 && bytes <= 240);
    for (size_t i = 0; i < FRONT_PIECES; i++)
        sum += piece(data + 16 * i, 16 * i);
    sum = end(sum);
    for (size_t i = FRONT_PIECES; i < bytes / 16; i++)
        sum += piece(data + 16 * i, 16 * (i - FRONT_PIECES) + 3);
    return end(sum + piece(data + bytes - 16, 119));
}

/* ---- Stripes --------------------------------------------------------------------------------- */

static void add_stripe(uint64_t sums[SUMS], const uint8_t *data, size_t secret)
{
    for (size_t i = 0; i < SUMS; i++) {
        const uint64_t word = bloomery_load_u64(data + 8 * i);
        const uint64_t mixed = word ^ secret_at(secret + 8 * i);
        sums[i] += word + (uint32_t)mixed * (mixed >> 32);
    }
}

static void scramble(uint64_t sums[SUMS])
{
    for (size_t i = 0; i < SUMS; i++)
        sums[i] = (sums[i] ^ sums[i] >> 47 ^ secret_at(SECRET - STRIPE + 8 * i)) * short_prime1;
}

/* `data` has more than 240 bytes. */
static uint64_t of_stripes(const uint8_t *data, size_t bytes)
{
    uint64_t sums[SUMS] = {short_prime3, prime1,       prime2, prime3,
                           prime4,       short_prime2, prime5, short_prime1};
    const size_t stripes = bytes / STRIPE;
    assert(bytes > 240);
    for (size_t i = 0; i < stripes; i++) {
        add_stripe(sums, data + STRIPE * i, i % BLOCK_STRIPES * SECRET_STEP);
        if (i % BLOCK_STRIPES == BLOCK_STRIPES - 1)
            scramble(sums);
    }
    if (bytes % STRIPE != 0)
        add_stripe(sums, data + bytes - STRIPE, SECRET - STRIPE - 7);
    uint64_t whole = bytes * prime1;
    for (size_t i = 0; i < SUMS; i += 2)
        whole += fold(sums[i] ^ secret_at(11 + 8 * i), sums[i + 1] ^ secret_at(19 + 8 * i));
    return end(whole);
}

static bloomery_hash xxph3(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const uint8_t *data = key.data;
    (void)secret;
    const uint64_t lo = key.bytes <= 16    ? up_to_16(data, key.bytes)
                        : key.bytes <= 128 ? up_to_128(data, key.bytes)
                        : key.bytes <= 240 ? up_to_240(data, key.bytes)
                                           : of_stripes(data, key.bytes);
    return (bloomery_hash){.lo = lo};
}

static const struct bloomery_hash_row fast_hash = {
    .id = BLOOMERY_HASH_XXPH3,
    .name = "xxph3",
    .available = true,
    .one = xxph3,
};

/* ---- The hash of legacy filters -------------------------------------------------------------- */

static bloomery_hash rocksdb(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    (void)secret;
    return bloomery_storage_hash(bloomery_signed_byte, key);
}

static const struct bloomery_hash_row legacy_hash = {
    .id = BLOOMERY_HASH_ROCKSDB_LEGACY,
    .name = "rocksdb-legacy",
    .available = true,
    .one = rocksdb,
};

/* ---- The rate of blocks with k bits anywhere ------------------------------------------------- */

/*
 * The rate of blocks of 512 bits in which a key throws k bits anywhere, as other systems have them.
 * A block of j keys has seen jk throws, so
 *
 *     rate = sum over j of P(load = j) E[(X_jk / 512)^k],     load Binomial(n, 1/N)
 *
 * with the moments of plan/classic_rate.h. Our own blocks are plan/blocked_rate.h.
 */

/* A block is full, to double precision, after this many throws per bit. */
static const double full_load = 60;
/* Past this many throws the number of set bits hardly varies and its limit serves (error under
 * 3e-3 for 64 bits, 1e-5 for up to 8). */
static const uint64_t limit_throws = 2048;

struct scattered {
    uint32_t probes;
    uint32_t known; /* loads 0 to known - 1 */
    double rate[BLOOMERY_LOADS_MAX];
    struct bloomery_occupancy occupancy;
};

static double block_rate(void *context, uint64_t load)
{
    struct scattered *block = context;
    if (load >= BLOOMERY_LOADS_MAX || load * block->probes >= limit_throws)
        return bloomery_occupancy_limit(BLOOMERY_BLOCK_BITS, (double)load * block->probes,
                                        block->probes);
    while (block->known <= load) {
        block->rate[block->known++] = block->occupancy.moment[block->probes];
        bloomery_occupancy_throw(&block->occupancy, block->probes);
    }
    return block->rate[load];
}

static double scattered_rate(uint64_t blocks, uint32_t probes, uint64_t keys)
{
    struct scattered block = {.probes = probes};
    assert(blocks > 0 && probes >= 1 && probes <= BLOOMERY_MOMENTS_MAX);
    if (keys == 0)
        return 0;
    const double load = (double)keys / (double)blocks;
    if (load * probes > full_load * BLOOMERY_BLOCK_BITS)
        return 1;
    bloomery_occupancy_start(&block.occupancy, BLOOMERY_BLOCK_BITS, probes);
    const double rate = bloomery_expect_load((double)keys, 1 / (double)blocks, block_rate, &block);
    return rate < 1 ? rate : 1;
}

/* ---- Positions in fast filters --------------------------------------------------------------- */

/*
 * GOLDEN_BLOCK: 64 bytes, k bits anywhere:
 *
 *     | ..1......1.....................1..    bit x g^i mod 2^32 >> 23
 *
 * x is the high half of the hash, the low one chooses the block. What dialects/parquet.c says of
 * its blocks is true here too, with E[(X_jk / 512)^k] for a block of j keys.
 */

enum {
    BLOCK_BITS = BLOOMERY_BLOCK_BITS,
    GOLDEN_SHIFT = 23, /* 32 - log2(BLOCK_BITS) */
};

static inline struct bloomery_steps golden_block_begin(const struct bloomery_layer *layer,
                                                       bloomery_hash hash)
{
    assert(layer->blocks > 0 && layer->blocks <= UINT32_MAX);
    return (struct bloomery_steps){
        .at = hash.lo >> 32,
        .base = ((hash.lo & UINT32_MAX) * layer->blocks >> 32) * BLOCK_BITS,
    };
}

static inline uint64_t golden_block_next(const struct bloomery_layer *layer,
                                         struct bloomery_steps *steps, uint32_t i)
{
    const uint32_t at = (uint32_t)steps->at;
    const uint32_t next = at * UINT32_C(0x9e3779b9);
    (void)layer;
    (void)i;
    steps->at = next;
    return steps->base + (at >> GOLDEN_SHIFT);
}

#define SCHEME golden_block
#define SCHEME_BLOCKS
#include "dialects/scheme_template.h"

static bloomery_status golden_block_check(const struct bloomery_shape *shape,
                                          const struct bloomery_layer *layer, bloomery_error *error)
{
    return bloomery_blocks_check(shape, layer, BLOCK_BITS, error);
}

static double golden_block_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    const double rate = scattered_rate(layer->blocks, layer->probes, keys);
    return bloomery_rate_of_32_bits(rate, bloomery_keys_of_a_block(layer, (double)keys));
}

/* A given bit is missed by a key with probability 1 - q, q = (1 - (1-1/512)^k) / N, so
 * E[fill] = 1 - (1 - q)^n; solved for n. */
static double golden_block_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    if (bits_set >= layer->bits)
        return INFINITY;
    const double hit = -expm1(layer->probes * log1p(-1.0 / BLOCK_BITS)) / (double)layer->blocks;
    return log1p(-(double)bits_set / (double)layer->bits) / log1p(-hit);
}

/* A key's k bits are anywhere in its block: all set with probability (bits set there / 512)^k. */
static void golden_block_scan(const struct bloomery_shape *shape,
                              const struct bloomery_layer *layer, const uint8_t *payload,
                              struct bloomery_scan *scan)
{
    double sum = 0;
    (void)shape;
    scan->bits_set = 0;
    scan->saturated = 0;
    for (uint64_t block = 0; block < layer->blocks; block++, payload += BLOCK_BITS / 8) {
        const uint64_t set = bloomery_count_bits(payload, BLOCK_BITS / 64);
        scan->bits_set += set;
        sum += pow((double)set / BLOCK_BITS, layer->probes);
    }
    assert(scan->bits_set <= layer->bits);
    const double keys = golden_block_estimate(layer, scan->bits_set);
    scan->live_rate = bloomery_rate_of_32_bits(sum / (double)layer->blocks,
                                               bloomery_keys_of_a_block(layer, keys));
    assert(scan->live_rate >= 0 && scan->live_rate <= 1);
}

static const struct bloomery_kind_row golden_block = {
    BLOOMERY_BLOCKS_ROW(BLOOMERY_BLOCKS_LOW_HALF, BLOOMERY_PROBES_GOLDEN_BLOCK),
    .check = golden_block_check,
    .operations = golden_block_operations,
    BLOOMERY_ROW_RATES(golden_block),
};

/* ---- Positions in legacy filters ------------------------------------------------------------- */

enum {
    MIN_SHIFT = 9, /* blocks of 512 */
    MAX_SHIFT = 11,
    BLOCK_MAX = 1 << MAX_SHIFT,
    BLOCK_WORDS = BLOCK_MAX / 64,
};

/* log2 of the bits of a block. */
static inline uint32_t block_shift(const struct bloomery_layer *layer)
{
    uint32_t shift = MIN_SHIFT;
    while (shift < MAX_SHIFT && layer->blocks << shift != layer->bits)
        shift++;
    assert(layer->blocks << shift == layer->bits);
    return shift;
}

static inline struct bloomery_steps rotated_block_begin(const struct bloomery_layer *layer,
                                                        bloomery_hash hash)
{
    const uint32_t h = (uint32_t)hash.lo;
    assert(layer->blocks > 0 && layer->blocks <= UINT32_MAX);
    return (struct bloomery_steps){
        .at = h,
        .step = bloomery_rotate_right_32(h, BLOOMERY_ROTATION),
        .base = h % layer->blocks << block_shift(layer),
    };
}

static inline uint64_t rotated_block_next(const struct bloomery_layer *layer,
                                          struct bloomery_steps *steps, uint32_t i)
{
    const uint64_t at = steps->at;
    (void)i;
    steps->at += steps->step;
    return steps->base + (at & ((UINT64_C(1) << block_shift(layer)) - 1));
}

#define SCHEME rotated_block
#define SCHEME_BLOCKS
#include "dialects/scheme_template.h"

static bloomery_status rotated_block_check(const struct bloomery_shape *shape,
                                           const struct bloomery_layer *layer,
                                           bloomery_error *error)
{
    for (uint32_t shift = MIN_SHIFT; shift <= MAX_SHIFT; shift++)
        if (shape->block_bits == 1u << shift)
            return bloomery_blocks_check(shape, layer, 1u << shift, error);
    return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                         "filters of this scheme have blocks of 512, 1024 or 2048 bits, not of %u",
                         shape->block_bits);
}

/* A block, twice over and a word more, so that no rotation of it runs past the end. */
struct doubled {
    uint64_t words[2 * BLOCK_WORDS + 1];
    size_t count; /* of the block itself */
};

/* starts &= the block, rotated right by `by` bits; whether any is left. */
static bool keep_rotated(uint64_t *starts, const struct doubled *block, size_t by)
{
    const uint64_t *from = block->words + by / 64;
    const unsigned bits = by % 64;
    uint64_t any = 0;
    assert(by < 64 * block->count);
    for (size_t i = 0; i < block->count; i++) {
        const uint64_t word = bits == 0 ? from[i] : from[i] >> bits | from[i + 1] << (64 - bits);
        starts[i] &= word;
        any |= starts[i];
    }
    return any != 0;
}

/* The part of all walks, B starts by B steps, whose k positions in this block are all set. A walk
 * is the same backwards: half of the steps do. */
static double covered(const uint8_t *bytes, uint32_t shift, uint32_t probes)
{
    struct doubled block;
    uint64_t starts[BLOCK_WORDS];
    uint64_t count = 0;
    const size_t bits = (size_t)1 << shift;
    block.count = (size_t)1 << (shift - 6);
    assert(block.count <= BLOCK_WORDS);
    for (size_t i = 0; i < 2 * block.count + 1; i++)
        block.words[i] = bloomery_load_u64(bytes + i % block.count * 8);
    for (size_t step = 0; step <= bits / 2; step++) {
        bool any = true;
        memcpy(starts, block.words, block.count * sizeof *starts);
        for (uint32_t i = 1; i < probes && any; i++)
            any = keep_rotated(starts, &block, i * step % bits);
        for (size_t i = 0; any && i < block.count; i++)
            count += (uint64_t)__builtin_popcountll(starts[i]) << (step % (bits / 2) != 0);
    }
    return ldexp((double)count, -2 * (int)shift);
}

/* Blocks tried for each load: about as many in all for every filter, and one if a load is rare. */
struct blocks {
    uint32_t shift;
    uint32_t probes;
    double mean;
    uint64_t state;
};

enum { TRIES = 48, SELDOM = 3, CROWDED = 6 };

static double covered_with(void *context, uint64_t load)
{
    struct blocks *blocks = context;
    const double deviation = sqrt(blocks->mean);
    const uint32_t tries = fabs((double)load - blocks->mean) > SELDOM * deviation
                               ? 1
                               : (uint32_t)fmax(1, TRIES / fmax(1, deviation));
    double sum = 0;
    for (uint32_t i = 0; i < tries; i++) {
        uint8_t bytes[BLOCK_MAX / 8] = {0};
        for (uint64_t key = 0; key < load; key++) {
            uint32_t at = bloomery_storage_draw(&blocks->state);
            const uint32_t step = bloomery_storage_draw(&blocks->state);
            for (uint32_t probe = 0; probe < blocks->probes; probe++, at += step)
                bloomery_bit_set(bytes, at & ((1u << blocks->shift) - 1));
        }
        sum += load > 0 ? covered(bytes, blocks->shift, blocks->probes) : 0;
    }
    return sum / tries;
}

static double rotated_block_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    const double load = (double)keys / (double)layer->blocks;
    const double each = ldexp(load * layer->probes, -(int)block_shift(layer));
    struct blocks blocks = {.shift = block_shift(layer), .probes = layer->probes, .mean = load};
    if (keys == 0)
        return 0;
    if (each > CROWDED)
        return bloomery_rate_of_32_bits(pow(-expm1(-each), layer->probes), (double)keys);
    const double rate =
        bloomery_expect_load((double)keys, 1 / (double)layer->blocks, covered_with, &blocks);
    return bloomery_rate_of_32_bits(rate, (double)keys);
}

/* The cells that a walk of k steps touches: 2^t of them if the step has 2^t multiples, as 2^(t-1)
 * of B steps do, or k if those are fewer. */
static double cells_of_a_walk(uint32_t shift, uint32_t probes)
{
    double sum = 1;
    for (uint32_t t = 1; t <= shift; t++)
        sum += ldexp(fmin(probes, ldexp(1, (int)t)), (int)t - 1);
    return ldexp(sum, -(int)shift);
}

static double rotated_block_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    if (bits_set >= layer->bits)
        return INFINITY;
    const double hit = cells_of_a_walk(block_shift(layer), layer->probes) / (double)layer->bits;
    return log1p(-(double)bits_set / (double)layer->bits) / log1p(-hit);
}

enum { BLOCKS_TRIED = 256 };

/* All walks in some blocks, and the fill of all blocks: the one corrects the other. */
static void rotated_block_scan(const struct bloomery_shape *shape,
                               const struct bloomery_layer *layer, const uint8_t *payload,
                               struct bloomery_scan *scan)
{
    const uint32_t shift = block_shift(layer);
    const size_t bytes = (size_t)1 << (shift - 3);
    const uint64_t tried = layer->blocks < BLOCKS_TRIED ? layer->blocks : BLOCKS_TRIED;
    double fills = 0;
    double tried_fills = 0;
    double tried_covered = 0;
    uint64_t next = 0;
    (void)shape;
    *scan = (struct bloomery_scan){.bits_set = 0};
    for (uint64_t block = 0; block < layer->blocks; block++) {
        const uint8_t *at = payload + block * bytes;
        const uint64_t set = bloomery_count_bits(at, bytes / 8);
        const double fill = pow(ldexp((double)set, -(int)shift), layer->probes);
        scan->bits_set += set;
        fills += fill;
        if (next < tried && block == next * layer->blocks / tried) {
            tried_fills += fill;
            tried_covered += covered(at, shift, layer->probes);
            next++;
        }
    }
    assert(next == tried && scan->bits_set <= layer->bits);
    const double rate = tried_fills > 0 ? fills / tried_fills * tried_covered : fills;
    scan->live_rate = bloomery_rate_of_32_bits(fmin(1, rate / (double)layer->blocks),
                                               rotated_block_estimate(layer, scan->bits_set));
    assert(scan->live_rate >= 0 && scan->live_rate <= 1);
}

static const struct bloomery_kind_row rotated_block = {
    BLOOMERY_BLOCKS_ROW(BLOOMERY_BLOCKS_MODULO, BLOOMERY_PROBES_ROTATED_BLOCK),
    .check = rotated_block_check,
    .operations = rotated_block_operations,
    BLOOMERY_ROW_RATES(rotated_block),
    .probes_max = INT8_MAX, /* the number is a signed byte */
};

/* ---- Numbers and bytes ----------------------------------------------------------------------- */

enum {
    FAST = 0,
    LEGACY = 1,
    TRAILER = 5,
    BLOCK = 64,              /* bytes */
    MACHINE_BLOCK_MAX = 256, /* bytes, of other machines */
    PROBES_MAX = 30,
    LEGACY_PROBES_MAX = 127, /* that can be read */
    DEFAULT_PROBES = 6,
    MARK_ANY_KEY = 0x00,
    MARK_FAST = 0xff,
    MARK_RIBBON = 0xfe,
};

/* RocksDB counts bytes of fast filters and bits of legacy ones in 32 bits. */
static const uint64_t fast_blocks_max = UINT32_MAX / BLOCK;
static const uint64_t legacy_bits_max = UINT32_MAX;

static void lay_out(struct bloomery_design *design, int variant, uint64_t blocks,
                    uint16_t block_bits, uint32_t probes)
{
    const struct bloomery_dialect_row *row = &bloomery_dialect_rocksdb;
    bloomery_design_blocks(design, row->hashes[variant], row->schemes[variant], blocks, block_bits,
                           probes);
}

/* ---- Sizing ---------------------------------------------------------------------------------- */

static uint32_t fast_probes(uint32_t millibits)
{
    static const uint32_t up_to[] = {2080,  3580,  5100,  6640,  8300,  10070,
                                     11720, 14001, 16050, 18300, 22001, 25501};
    const uint32_t steps = sizeof up_to / sizeof up_to[0];
    for (uint32_t i = 0; i < steps; i++)
        if (millibits <= up_to[i])
            return i + 1;
    return millibits > 50000 ? 24 : (millibits - 1) / 2000 - 1;
}

/* The trailer that stands for a filter without keys. */
static void trailer_of(int variant, uint32_t probes, uint32_t blocks, uint8_t trailer[TRAILER])
{
    memset(trailer, 0, TRAILER);
    trailer[0] = variant == FAST ? MARK_FAST : (uint8_t)probes;
    if (variant == FAST)
        trailer[2] = (uint8_t)probes;
    else
        bloomery_store_u32(trailer + 1, blocks);
}

static bloomery_status too_large(bloomery_error *error)
{
    return bloomery_fail(
        error, BLOOMERY_BAD_ARGUMENT, 0,
        "RocksDB's filters have fewer than 2^32 bytes, legacy ones than 2^32 bits; "
        "these numbers make a larger one");
}

static bloomery_status plan_bits_per_key(const bloomery_dialect_parameters *given, int variant,
                                         struct bloomery_design *design, bloomery_error *error)
{
    if (!(given->bits_per_key >= 0.5))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "RocksDB takes keys and 0.5 or more bits_per_key, or bits and probes");
    const double bits_per_key = fmax(1, fmin(100, given->bits_per_key));
    const uint32_t millibits = (uint32_t)(bits_per_key * 1000 + 0.500001);
    const uint32_t whole = (millibits + 500) / 1000;
    const double legacy_probes = fmax(1, fmin(PROBES_MAX, trunc(whole * 0.69)));
    const uint32_t probes = variant == FAST ? fast_probes(millibits) : (uint32_t)legacy_probes;
    uint64_t blocks;
    if (given->keys > legacy_bits_max)
        return too_large(error);
    if (variant == FAST) {
        blocks = ((given->keys * millibits + 7999) / 8000 + BLOCK - 1) / BLOCK;
    } else {
        blocks = (given->keys * whole + BLOCK_BITS - 1) / BLOCK_BITS;
        blocks += blocks > 0 && blocks % 2 == 0;
    }
    if (blocks > (variant == FAST ? fast_blocks_max : legacy_bits_max / BLOCK_BITS))
        return too_large(error);
    lay_out(design, variant, blocks > 0 ? blocks : 1, BLOCK_BITS, probes);
    design->layers[0].keys = given->keys;
    if (blocks == 0) {
        uint8_t trailer[TRAILER];
        trailer_of(variant, probes, 0, trailer);
        bloomery_design_constant(design, false, trailer, sizeof trailer);
    }
    return BLOOMERY_OK;
}

static bloomery_status plan(const bloomery_dialect_parameters *given, int variant,
                            struct bloomery_design *design, bloomery_error *error)
{
    if (given->bits == 0 && given->probes == 0)
        return plan_bits_per_key(given, variant, design, error);
    const uint64_t blocks = given->bits / BLOCK_BITS;
    if (given->bits_per_key > 0 || blocks == 0 || given->bits % BLOCK_BITS != 0 ||
        given->probes < 1 || given->probes > PROBES_MAX)
        return bloomery_fail(
            error, BLOOMERY_BAD_ARGUMENT, 0,
            "RocksDB's filters have blocks of 512 bits and 1 to 30 probes: bits is a "
            "multiple of 512, and bits_per_key is not given besides");
    if (blocks > (variant == FAST ? fast_blocks_max : legacy_bits_max / BLOCK_BITS))
        return too_large(error);
    lay_out(design, variant, blocks, BLOCK_BITS, given->probes);
    design->layers[0].keys = given->keys;
    return BLOOMERY_OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bloomery_status parse_fast(const uint8_t *data, size_t bytes, struct bloomery_design *design,
                                  bloomery_error *error)
{
    const size_t end = bytes - TRAILER;
    const uint8_t *trailer = data + end;
    const uint32_t probes = trailer[2];
    if (trailer[1] != 0 || trailer[3] != 0 || trailer[4] != 0 || probes > PROBES_MAX)
        return bloomery_fail(
            error, BLOOMERY_WRONG_VERSION, end,
            "a trailer of %02x %02x %02x %02x %02x means an encoding that is not "
            "known, nor was to RocksDB 7.8, which says \"maybe\" to every key then",
            trailer[0], trailer[1], trailer[2], trailer[3], trailer[4]);
    if (probes == 0)
        return bloomery_fail(error, BLOOMERY_CORRUPT, end + 2, "damaged: a filter without probes");
    if (end % BLOCK != 0 || end / BLOCK > fast_blocks_max)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short, or something is before the filter: %zu bytes are not a "
                             "multiple of 64, or 2^32 and more",
                             end);
    lay_out(design, FAST, end > 0 ? end / BLOCK : 1, BLOCK_BITS, probes);
    return BLOOMERY_OK;
}

static bloomery_status parse_legacy(const uint8_t *data, size_t bytes,
                                    struct bloomery_design *design, bloomery_error *error)
{
    const size_t end = bytes - TRAILER;
    const uint32_t probes = data[end];
    const uint64_t blocks = bloomery_load_u32(data + end + 1);
    const uint64_t block = blocks > 0 ? end / blocks : 0;
    if ((blocks == 0) != (end == 0))
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short, or not RocksDB's: %llu blocks in %zu bytes",
                             (unsigned long long)blocks, end);
    if (end > 0 && (block * blocks != end || (block & (block - 1)) != 0 || block < BLOCK ||
                    block > MACHINE_BLOCK_MAX || end > legacy_bits_max / 8))
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short, or not RocksDB's: %llu blocks of 64, 128 or 256 bytes are "
                             "not %zu bytes",
                             (unsigned long long)blocks, end);
    lay_out(design, LEGACY, end > 0 ? blocks : 1, end > 0 ? (uint16_t)(block * 8) : BLOCK_BITS,
            probes);
    return BLOOMERY_OK;
}

static bloomery_status parse(const uint8_t *data, size_t bytes,
                             const bloomery_dialect_parameters *given, int variant,
                             struct bloomery_design *design, bloomery_error *error)
{
    (void)given;
    (void)variant;
    if (bytes < TRAILER)
        return bloomery_fail(error, BLOOMERY_TRUNCATED, bytes,
                             "cut short: a filter of RocksDB's ends with 5 bytes, there are %zu",
                             bytes);
    const uint8_t mark = data[bytes - TRAILER];
    bloomery_status status;
    if (mark == MARK_ANY_KEY) {
        if (bytes == TRAILER)
            return bloomery_fail(error, BLOOMERY_CORRUPT, 0, "damaged: a filter without probes");
        if (bytes > BLOOMERY_CONSTANT_MAX)
            return bloomery_fail(
                error, BLOOMERY_CORRUPT, bytes - TRAILER,
                "damaged: no probes, which makes RocksDB say \"maybe\" to every key, "
                "but %zu bytes of bits",
                bytes - TRAILER);
        lay_out(design, FAST, 1, BLOCK_BITS, DEFAULT_PROBES);
        bloomery_design_constant(design, true, data, bytes);
        return BLOOMERY_OK;
    }
    if (mark == MARK_RIBBON)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, bytes - TRAILER,
                             "a Ribbon filter of RocksDB's, which is not a Bloom filter: it can't "
                             "be read here");
    if (mark == MARK_FAST)
        status = parse_fast(data, bytes, design, error);
    else if (mark <= LEGACY_PROBES_MAX)
        status = parse_legacy(data, bytes, design, error);
    else
        status = bloomery_fail(error, BLOOMERY_WRONG_VERSION, bytes - TRAILER,
                               "mark %02x means an encoding that is not known, nor was to RocksDB "
                               "7.8, which says \"maybe\" to every key then",
                               mark);
    if (status != BLOOMERY_OK)
        return status;
    if (bytes == TRAILER) {
        bloomery_design_constant(design, false, data, bytes);
    } else {
        design->bits[0] = data;
        design->bit_bytes[0] = bytes - TRAILER;
        assert(design->layers[0].bits == design->bit_bytes[0] * 8);
    }
    return BLOOMERY_OK;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static bool is_fast(const bloomery_filter *filter)
{
    return filter->hash == &fast_hash;
}

static bloomery_status fits(const bloomery_filter *filter, bloomery_error *error)
{
    const struct bloomery_layer *layer = filter->layers;
    if (is_fast(filter) != (filter->kind == &golden_block))
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0, "%s", bloomery_dialect_rocksdb.others);
    if (is_fast(filter) ? layer->blocks > fast_blocks_max || layer->probes > PROBES_MAX
                        : layer->bits > legacy_bits_max || layer->probes > LEGACY_PROBES_MAX)
        return bloomery_fail(error, BLOOMERY_MISMATCH, 0,
                             "RocksDB's filters have fewer than 2^32 bytes, legacy ones than 2^32 "
                             "bits, and at most 30 probes");
    return BLOOMERY_OK;
}

static bloomery_status write(const bloomery_filter *filter, struct bloomery_emitter *emitter)
{
    const struct bloomery_layer *layer = filter->layers;
    const int variant = is_fast(filter) ? FAST : LEGACY;
    uint8_t trailer[TRAILER];
    const uint8_t *bytes;
    size_t count;
    assert(bloomery_dialect_fits(&bloomery_dialect_rocksdb, filter, NULL) == BLOOMERY_OK);
    if (bloomery_is_constant(filter, &bytes, &count))
        return bloomery_emit(emitter, bytes, count);
    assert(layer->blocks <= UINT32_MAX && layer->probes <= LEGACY_PROBES_MAX);
    trailer_of(variant, layer->probes, (uint32_t)layer->blocks, trailer);
    bloomery_status status =
        bloomery_emit_bits(emitter, layer, layer->bits / 8, BLOOMERY_LAYOUT_BYTES);
    return status == BLOOMERY_OK ? bloomery_emit(emitter, trailer, sizeof trailer) : status;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

/* Of blocks with k independent bits for each key. */
static double promised(const struct bloomery_layer *layer, uint64_t keys)
{
    const uint64_t blocks = layer->bits / BLOCK_BITS;
    return scattered_rate(blocks, layer->probes < 64 ? layer->probes : 64, keys);
}

static bool remark_promise(const bloomery_filter *filter, char *text, size_t room)
{
    return fits(filter, NULL) == BLOOMERY_OK &&
           bloomery_remark_promise(filter, promised, 1.1, text, room);
}

const struct bloomery_dialect_row bloomery_dialect_rocksdb = {
    .facts =
        {
            .id = BLOOMERY_DIALECT_ROCKSDB,
            .name = "rocksdb",
            .description = "RocksDB's full Bloom filter, fast and legacy",
            .variants = "fast, legacy",
            .load_needs = "",
            .load_takes = "",
            .create_takes = "variant, keys, bits, probes, bits_per_key",
            .reads = true,
            .writes = true,
            .creates = true,
            .hashes = true,
        },
    .names = {"fast", "legacy"},
    .hashes = {&fast_hash, &legacy_hash},
    .schemes = {&golden_block, &rotated_block},
    .others =
        "RocksDB hashes by XXPH3, or by LevelDB's hash with signed bytes, into one block of a "
        "key",
    .plan = plan,
    .parse = parse,
    .write = write,
    .fits = fits,
    .remarks = {remark_promise},
    .variants_by_hash = true,
};
