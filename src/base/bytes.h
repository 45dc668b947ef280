/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Little-endian loads and stores at any address, and sums that notice when they overflow. Files are
 * little-endian bytes on every host. Through these, no code depends on the host's order.
 */
#ifndef BLOOMERY_BASE_BYTES_H
#define BLOOMERY_BASE_BYTES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Products of two words. A compiler that is asked to be pedantic wants the extension marked. */
__extension__ typedef unsigned __int128 bloomery_uint128;

/* The upper half of a product. WebAssembly has no such instruction, and a compiler calls a function
 * that multiplies all of 128 bits by 128: four products of halves are enough. */
static inline uint64_t bloomery_multiply_high(uint64_t a, uint64_t b)
{
#ifdef __wasm__
    const uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX);
    const uint64_t one = (a >> 32) * (b & UINT32_MAX) + (low >> 32);
    const uint64_t other = (a & UINT32_MAX) * (b >> 32) + (one & UINT32_MAX);
    return (a >> 32) * (b >> 32) + (one >> 32) + (other >> 32);
#else
    return (uint64_t)((bloomery_uint128)a * b >> 64);
#endif
}

/* The upper half and the lower one, folded. */
static inline uint64_t bloomery_multiply_fold(uint64_t a, uint64_t b)
{
#ifdef __wasm__
    return bloomery_multiply_high(a, b) ^ (a * b);
#else
    const bloomery_uint128 product = (bloomery_uint128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#endif
}

/* Numbers of 1 to 8 bytes. */
static inline uint64_t bloomery_load_le(const uint8_t *from, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

static inline void bloomery_store_le(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

/* What lies in memory in the host's order as it is meant, and the reverse. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BLOOMERY_LITTLE(bits, value) __builtin_bswap##bits(value)
#else
#define BLOOMERY_LITTLE(bits, value) (value)
#endif

#define BLOOMERY_BYTES(bits)                                                  \
    static inline uint##bits##_t bloomery_load_u##bits(const void *from)      \
    {                                                                         \
        uint##bits##_t value;                                                 \
        memcpy(&value, from, sizeof value);                                   \
        return BLOOMERY_LITTLE(bits, value);                                  \
    }                                                                         \
    static inline void bloomery_store_u##bits(void *to, uint##bits##_t value) \
    {                                                                         \
        value = BLOOMERY_LITTLE(bits, value);                                 \
        memcpy(to, &value, sizeof value);                                     \
    }
BLOOMERY_BYTES(16)
BLOOMERY_BYTES(32)
BLOOMERY_BYTES(64)

#undef BLOOMERY_BYTES
#undef BLOOMERY_LITTLE

/* IEEE 754 bits, as files hold doubles. */
static inline double bloomery_load_f64(const uint8_t *from)
{
    uint64_t bits = bloomery_load_u64(from);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline void bloomery_store_f64(uint8_t *to, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bloomery_store_u64(to, bits);
}

/* Overwrites a secret with zeros. No optimiser leaves it out, though nobody reads the zeros. */
static inline void bloomery_wipe(void *memory, size_t bytes)
{
#if defined(__APPLE__) /* which has no explicit_bzero */
    memset(memory, 0, bytes);
    __asm__ __volatile__("" : : "r"(memory) : "memory");
#else
    explicit_bzero(memory, bytes);
#endif
}

/* value rounded up to a multiple of unit; false if that passes 2^64. */
static inline bool bloomery_round_up(uint64_t value, uint64_t unit, uint64_t *rounded)
{
    uint64_t rest = value % unit;
    return !__builtin_add_overflow(value, rest ? unit - rest : 0, rounded);
}

/* ---- Remainders without a division ----------------------------------------------------------- */

/*
 * The remainder by a divisor that is known beforehand, without a division: two products take a
 * third of its time, and the processor may do several at once.
 *
 * Let m be the divisor, v = floor((2^64 - 1) / m) its inverse, a any number of 64 bits. Then
 * q = floor(a v / 2^64) is the quotient or 1 less: 2^64 / m - v is at most 1, since m (v + 1) is
 * over 2^64 - 1. So
 *
 *     a / m - a v / 2^64  =  a (2^64 / m - v) / 2^64  <  1,
 *
 * and numbers that differ by less than 1 have whole parts that differ by 1 at most. a - q m is
 * below 2 m then, and m is below 2^63.
 */

static inline uint64_t bloomery_inverse(uint64_t divisor)
{
    assert(divisor > 0 && divisor >> 63 == 0);
    return UINT64_MAX / divisor;
}

/* a mod divisor. */
static inline uint64_t bloomery_modulo(uint64_t a, uint64_t divisor, uint64_t inverse)
{
    const uint64_t quotient = bloomery_multiply_high(a, inverse);
    const uint64_t rest = a - quotient * divisor;
    assert(rest < 2 * divisor);
    /* Without a branch: nobody can predict which it is. */
    return rest - (divisor & (0 - (uint64_t)(rest >= divisor)));
}

#endif /* BLOOMERY_BASE_BYTES_H */
