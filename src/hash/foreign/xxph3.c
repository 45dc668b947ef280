/* SPDX-License-Identifier: Apache-2.0 */
/*
 * XXPH3: XXH3 with 64 bits as it was in its preview of 2019, which RocksDB has in files and so
 * keeps for ever. Another function than the XXH3 of today, though it has the same secret and the
 * same plan, by length (n; all words little-endian, all sums modulo 2^64; P1 .. P5 and Q1 .. Q3 are
 * the primes of XXH64 and XXH32, S(i) is the secret's word at byte i, and fold(a, b) both halves of
 * a 128-bit product XORed):
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
#include "base/bytes.h"
#include "hash/hashes.h"

#include <assert.h>

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

static bloomery_hash one(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    const uint8_t *data = key.data;
    (void)secret;
    const uint64_t lo = key.bytes <= 16    ? up_to_16(data, key.bytes)
                        : key.bytes <= 128 ? up_to_128(data, key.bytes)
                        : key.bytes <= 240 ? up_to_240(data, key.bytes)
                                           : of_stripes(data, key.bytes);
    return (bloomery_hash){.lo = lo};
}

const struct bloomery_hash_row bloomery_hash_xxph3 = {
    BLOOMERY_HASH_NAMED(xxph3),
    .available = true,
    .one = one,
};
