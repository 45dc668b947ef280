/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SipHash-2-4 with 128 bits of output, of libsodium. Without the secret it is infeasible to choose
 * keys that collide, so filters whose keys come from strangers need it. In a build without
 * libsodium, keyed filters can only be opened for inspection.
 *
 * libsodium hashes a key at a time. Batches go through lanes of our own where the processor has
 * them, four keys in AVX2 and eight in AVX-512, to the same bytes.
 */
#include "hash/hashes.h"

#include "base/bytes.h"
#include "base/cpu.h"

#include <assert.h>

#ifdef BLOOMERY_HAVE_SODIUM

#include <sodium/crypto_shorthash_siphash24.h>

static bloomery_hash one(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    uint8_t output[crypto_shorthash_siphashx24_BYTES];
    crypto_shorthash_siphashx24(output, key.data, key.bytes, secret->siphash);
    return (bloomery_hash){.lo = bloomery_load_u64(output), .hi = bloomery_load_u64(output + 8)};
}

static const bool available = true;

#else

static bloomery_hash one(const struct bloomery_hash_secret *secret, bloomery_key key)
{
    (void)secret;
    (void)key;
    assert(false); /* the row says that it is not available */
    return (bloomery_hash){0, 0};
}

static const bool available = false;

#endif

#if defined(BLOOMERY_HAVE_SODIUM) && defined(__x86_64__)

#include <immintrin.h>

/* The bytes behind the whole words of a key, and its length modulo 256 in the highest byte. Nothing
 * past the key is read. */
static inline uint64_t last_word(bloomery_key key)
{
    const unsigned rest = key.bytes % 8;
    const uint8_t *end = (const uint8_t *)key.data + key.bytes;
    const uint64_t bytes = rest == 0        ? 0
                           : key.bytes >= 8 ? bloomery_load_u64(end - 8) >> (64 - 8 * rest)
                                            : bloomery_load_le(key.data, rest);
    return bytes | (uint64_t)key.bytes << 56;
}

typedef uint64_t lanes_4 __attribute__((vector_size(32)));
typedef uint64_t lanes_8 __attribute__((vector_size(64)));

/* By 16 and 32 bits a rotation is a shuffle, by others two shifts. */
__attribute__((target("avx2"))) static inline __attribute__((always_inline)) __m256i
rotate_avx2(__m256i x, const int bits)
{
    const __m256i by_16 = _mm256_setr_epi8(6, 7, 0, 1, 2, 3, 4, 5, 14, 15, 8, 9, 10, 11, 12, 13, 6,
                                           7, 0, 1, 2, 3, 4, 5, 14, 15, 8, 9, 10, 11, 12, 13);
    return bits == 32 ? _mm256_shuffle_epi32(x, 0xb1)
           : bits == 16
               ? _mm256_shuffle_epi8(x, by_16)
               : _mm256_or_si256(_mm256_slli_epi64(x, bits), _mm256_srli_epi64(x, 64 - bits));
}

#define LANES              4
#define LANES_TARGET       __attribute__((target("avx2")))
#define LANES_NAME(name)   name##_avx2
#define LANES_ROTATE(x, n) (lanes) rotate_avx2((__m256i)(x), n)
#define LANES_KEEP(old, new, count, step) \
    (lanes) _mm256_blendv_epi8(           \
        (__m256i)(new), (__m256i)(old),   \
        _mm256_cmpgt_epi64(_mm256_set1_epi64x((long long)(step)), (__m256i)(count)))
#define lanes lanes_4
#include "hash/siphash_template.h"
#undef lanes

#define LANES              8
#define LANES_TARGET       __attribute__((target("avx512f")))
#define LANES_NAME(name)   name##_avx512
#define LANES_ROTATE(x, n) (lanes) _mm512_rol_epi64((__m512i)(x), n)
#define LANES_KEEP(old, new, count, step)                                                \
    (lanes) _mm512_mask_mov_epi64(                                                       \
        (__m512i)(old),                                                                  \
        _mm512_cmpge_epu64_mask((__m512i)(count), _mm512_set1_epi64((long long)(step))), \
        (__m512i)(new))
#define lanes lanes_8
#include "hash/siphash_template.h"
#undef lanes

/* The last keys, too few for all lanes, are hashed with the last one again in the others, while
 * that takes fewer instructions than one by one. */
static void many(const struct bloomery_hash_secret *secret, const bloomery_key *keys, size_t count,
                 bloomery_hash *hashes)
{
    enum { WIDEST = 8 };
    const enum bloomery_cpu level = bloomery_cpu_level();
    const size_t width = level >= BLOOMERY_CPU_AVX512 ? 8 : level >= BLOOMERY_CPU_AVX2 ? 4 : 1;
    while (count > 1 && width > 1) {
        bloomery_key some[WIDEST];
        bloomery_hash made[WIDEST];
        const size_t now = count < width ? count : width;
        for (size_t i = 0; i < width; i++)
            some[i] = keys[i < now ? i : now - 1];
        if (width == WIDEST)
            siphash_avx512(secret, some, made);
        else
            siphash_avx2(secret, some, made);
        memcpy(hashes, made, now * sizeof *hashes);
        keys += now;
        hashes += now;
        count -= now;
    }
    for (size_t i = 0; i < count; i++)
        hashes[i] = one(secret, keys[i]);
}

#else

static void many(const struct bloomery_hash_secret *secret, const bloomery_key *keys, size_t count,
                 bloomery_hash *hashes)
{
    for (size_t i = 0; i < count; i++)
        hashes[i] = one(secret, keys[i]);
}

#endif

const struct bloomery_hash_row bloomery_hash_siphash = {
    .id = BLOOMERY_HASH_SIPHASH,
    .name = "siphash",
    .keyed = true,
    .available = available,
    .one = one,
    .many = many,
};
