/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CityHash 1.0.2 (Google, 2011; later versions give other numbers). Short keys are hashed from
 * words that overlap in their middle. From 65 bytes on a state of seven words takes 64 bytes at a
 * time:
 *
 *     x, y, z, v = (v1, v2), w = (w1, w2)
 *     x = rotr(x + y + v1 + word 2, 37) k1      y = rotr(y + v2 + word 6, 42) k1
 *     x ^= w2    y ^= v1    z = rotr(z ^ w1, 33)
 *     v = weak(words 0-3; v2 k1, x + w1)        w = weak(words 4-7; z + w2, y)
 *     x and z change places
 *
 * 64 bits begin such a state from the last 64 bytes and so need no other end. 128 bits take their
 * state from the first 16 bytes, 128 bytes at a time. At the end come up to four pieces of 32
 * bytes, counted from the last byte, so that they reach back into earlier ones. Fewer than 128
 * bytes go another way.
 *
 * Words are 64 bits, little-endian.
 */
#include "hash/city.h"

#include "base/bytes.h"
#include "hash/hashes.h"

#include <assert.h>

static const uint64_t k0 = UINT64_C(0xc3a5c85c97cb3127);
static const uint64_t k1 = UINT64_C(0xb492b66fbe98f273);
static const uint64_t k2 = BLOOMERY_CITY_K2;
static const uint64_t k3 = UINT64_C(0xc949d7c7509e6557);

static inline uint64_t rotate(uint64_t value, size_t bits)
{
    assert(bits > 0 && bits < 64);
    return value >> bits | value << (64 - bits);
}

static inline uint64_t fold(uint64_t value)
{
    return value ^ value >> 47;
}

struct pair {
    uint64_t first;
    uint64_t second;
};

/* 32 bytes and two words become two words. */
static inline struct pair weak(const uint8_t *data, uint64_t a, uint64_t b)
{
    a += bloomery_load_u64(data);
    b = rotate(b + a + bloomery_load_u64(data + 24), 21);
    const uint64_t c = a;
    a += bloomery_load_u64(data + 8) + bloomery_load_u64(data + 16);
    b += rotate(a, 44);
    return (struct pair){a + bloomery_load_u64(data + 24), b + c};
}

struct state {
    uint64_t x;
    uint64_t y;
    uint64_t z;
    struct pair v;
    struct pair w;
};

static inline void take_64_bytes(struct state *state, const uint8_t *data)
{
    uint64_t x =
        rotate(state->x + state->y + state->v.first + bloomery_load_u64(data + 16), 37) * k1;
    uint64_t y = rotate(state->y + state->v.second + bloomery_load_u64(data + 48), 42) * k1;
    x ^= state->w.second;
    y ^= state->v.first;
    const uint64_t z = rotate(state->z ^ state->w.first, 33);
    state->v = weak(data, state->v.second * k1, x + state->w.first);
    state->w = weak(data + 32, z + state->w.second, y);
    state->x = z;
    state->y = y;
    state->z = x;
}

/* ---- 64 bits --------------------------------------------------------------------------------- */

static uint64_t up_to_16(const uint8_t *data, size_t bytes)
{
    if (bytes > 8) {
        const uint64_t a = bloomery_load_u64(data);
        const uint64_t b = bloomery_load_u64(data + bytes - 8);
        return bloomery_city_mix(a, rotate(b + bytes, bytes)) ^ b;
    }
    if (bytes >= 4)
        return bloomery_city_mix(bytes + ((uint64_t)bloomery_load_u32(data) << 3),
                                 bloomery_load_u32(data + bytes - 4));
    if (bytes == 0)
        return k2;
    const uint32_t y = data[0] + ((uint32_t)data[bytes / 2] << 8);
    const uint32_t z = (uint32_t)bytes + ((uint32_t)data[bytes - 1] << 2);
    return fold(y * k2 ^ z * k3) * k2;
}

static uint64_t up_to_32(const uint8_t *data, size_t bytes)
{
    const uint64_t a = bloomery_load_u64(data) * k1;
    const uint64_t b = bloomery_load_u64(data + 8);
    const uint64_t c = bloomery_load_u64(data + bytes - 8) * k2;
    const uint64_t d = bloomery_load_u64(data + bytes - 16) * k0;
    return bloomery_city_mix(rotate(a - b, 43) + rotate(c, 30) + d,
                             a + rotate(b ^ k3, 20) - c + bytes);
}

/* Half of what up_to_64 does, from 32 bytes, of which `at` are the first: z and a to begin with. */
static struct pair half_of_64(const uint8_t *at, uint64_t a, uint64_t z)
{
    uint64_t b = rotate(a + z, 52);
    uint64_t c = rotate(a, 37);
    a += bloomery_load_u64(at + 8);
    c += rotate(a, 7);
    a += bloomery_load_u64(at + 16);
    return (struct pair){a + z, b + rotate(a, 31) + c};
}

static uint64_t up_to_64(const uint8_t *data, size_t bytes)
{
    const uint8_t *last = data + bytes - 32;
    const struct pair v =
        half_of_64(data, bloomery_load_u64(data) + (bytes + bloomery_load_u64(last + 16)) * k0,
                   bloomery_load_u64(data + 24));
    const struct pair w = half_of_64(last, bloomery_load_u64(data + 16) + bloomery_load_u64(last),
                                     bloomery_load_u64(last + 24));
    const uint64_t r = fold((v.first + w.second) * k2 + (w.first + v.second) * k0);
    return fold(r * k0 + v.second) * k2;
}

uint64_t bloomery_city64(const uint8_t *data, size_t bytes)
{
    if (bytes <= 16)
        return up_to_16(data, bytes);
    if (bytes <= 32)
        return up_to_32(data, bytes);
    if (bytes <= 64)
        return up_to_64(data, bytes);
    const uint8_t *last = data + bytes - 64;
    struct state state = {.x = bloomery_load_u64(data),
                          .y = bloomery_load_u64(last + 48) ^ k1,
                          .z = bloomery_load_u64(last + 8) ^ k0};
    state.v = weak(last, bytes, state.y);
    state.w = weak(last + 32, bytes * k1, k0);
    state.z += fold(state.v.second) * k1;
    state.x = rotate(state.z + state.x, 39) * k1;
    state.y = rotate(state.y, 33) * k1;
    for (size_t at = 0; at < ((bytes - 1) & ~(size_t)63); at += 64)
        take_64_bytes(&state, data + at);
    return bloomery_city_mix(bloomery_city_mix(state.v.first, state.w.first) + fold(state.y) * k1 +
                                 state.z,
                             bloomery_city_mix(state.v.second, state.w.second) + state.x);
}

/* ---- 128 bits -------------------------------------------------------------------------------- */

enum { WINDOW = 128 };

struct source {
    const struct bloomery_city_piece *pieces;
    size_t count;
    size_t piece; /* where the last window began, and */
    size_t start; /* the first byte of that piece */
    uint8_t room[WINDOW];
};

/* `bytes` bytes from byte `at` on, copied together if they are in several pieces. */
static const uint8_t *window(struct source *source, size_t at, size_t bytes)
{
    assert(bytes <= WINDOW);
    if (at < source->start)
        source->piece = source->start = 0;
    while (at - source->start >= source->pieces[source->piece].bytes) {
        source->start += source->pieces[source->piece++].bytes;
        assert(source->piece < source->count);
    }
    const struct bloomery_city_piece *piece = &source->pieces[source->piece];
    size_t from = at - source->start;
    if (piece->bytes - from >= bytes)
        return piece->data + from;
    for (size_t done = 0; done < bytes; from = 0, piece++) {
        const size_t left = piece->bytes - from;
        const size_t now = left < bytes - done ? left : bytes - done;
        if (now > 0)
            memcpy(source->room + done, piece->data + from, now);
        done += now;
    }
    return source->room;
}

/* Fewer than 128 bytes, in one piece. */
static bloomery_hash short_128(const uint8_t *data, size_t bytes, uint64_t a, uint64_t b)
{
    uint64_t c, d;
    if (bytes <= 16) {
        a = fold(a * k1) * k1;
        c = b * k1 + up_to_16(data, bytes);
        d = fold(a + (bytes >= 8 ? bloomery_load_u64(data) : c));
    } else {
        c = bloomery_city_mix(bloomery_load_u64(data + bytes - 8) + k1, a);
        d = bloomery_city_mix(b + bytes, c + bloomery_load_u64(data + bytes - 16));
        a += d;
        for (size_t at = 0; at + 16 < bytes; at += 16) {
            a = (a ^ fold(bloomery_load_u64(data + at) * k1) * k1) * k1;
            b ^= a;
            c = (c ^ fold(bloomery_load_u64(data + at + 8) * k1) * k1) * k1;
            d ^= c;
        }
    }
    a = bloomery_city_mix(a, c);
    b = bloomery_city_mix(d, b);
    return (bloomery_hash){.lo = a ^ b, .hi = bloomery_city_mix(b, a)};
}

/* `first` bytes of the source made the words x and y; what follows has at least 128. */
static bloomery_hash long_128(struct source *source, size_t first, size_t bytes, uint64_t x,
                              uint64_t y)
{
    const uint8_t *data = window(source, first, WINDOW);
    struct state state = {.x = x, .y = y, .z = bytes * k1};
    state.v.first = rotate(y ^ k1, 49) * k1 + bloomery_load_u64(data);
    state.v.second = rotate(state.v.first, 42) * k1 + bloomery_load_u64(data + 8);
    state.w.first = rotate(y + state.z, 35) * k1 + x;
    state.w.second = rotate(x + bloomery_load_u64(data + 88), 53) * k1;
    const size_t whole = bytes / WINDOW * WINDOW;
    for (size_t at = 0; at < whole; at += WINDOW) {
        data = window(source, first + at, WINDOW);
        take_64_bytes(&state, data);
        take_64_bytes(&state, data + 64);
    }
    state.y += rotate(state.w.first, 37) * k0 + state.z;
    state.x += rotate(state.v.first + state.z, 49) * k0;
    for (size_t done = 32; done < bytes - whole + 32; done += 32) {
        data = window(source, first + bytes - done, 32);
        state.y = rotate(state.y - state.x, 42) * k0 + state.v.second;
        state.w.first += bloomery_load_u64(data + 16);
        state.x = rotate(state.x, 49) * k0 + state.w.first;
        state.w.first += state.v.first;
        state.v = weak(data, state.v.first, state.v.second);
    }
    x = bloomery_city_mix(state.x, state.v.first);
    y = bloomery_city_mix(state.y, state.w.first);
    return (bloomery_hash){.lo = bloomery_city_mix(x + state.v.second, state.w.second) + y,
                           .hi = bloomery_city_mix(x + state.w.second, y + state.v.second)};
}

bloomery_hash bloomery_city128(const struct bloomery_city_piece *pieces, size_t count)
{
    struct source source = {.pieces = pieces, .count = count};
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += pieces[i].bytes;
    if (bytes == 0)
        return short_128(NULL, 0, k0, k1);
    const uint8_t *data = window(&source, 0, bytes < 16 ? bytes : 16);
    if (bytes < 8)
        return short_128(data, bytes, k0, k1);
    if (bytes < 16)
        return short_128(NULL, 0, bloomery_load_u64(data) ^ bytes * k0,
                         bloomery_load_u64(data + bytes - 8) ^ k1);
    const uint64_t x = bloomery_load_u64(data) ^ k3;
    const uint64_t y = bloomery_load_u64(data + 8);
    bytes -= 16;
    if (bytes >= WINDOW)
        return long_128(&source, 16, bytes, x, y);
    return short_128(bytes > 0 ? window(&source, 16, bytes) : NULL, bytes, x, y);
}
