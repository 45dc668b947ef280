/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The query and the add of one key, compiled into the calling program: hash, block and bits,
 * without a call. For loops over single keys; a call for many keys (bloomery_may_contain_keys)
 * hides more of the memory's latency than any inlining.
 *
 *     bloomery_inline ids;
 *     if (bloomery_inline_of(filter, &ids, &error) != BLOOMERY_OK)
 *         return fail(error.text);
 *     ...
 *     if (bloomery_inline_may_contain(&ids, "850101312345", 12))
 *         ...
 *
 *     bloomery_inline_adder seen;
 *     if (bloomery_inline_adder_of(filter, &seen, &error) != BLOOMERY_OK)
 *         return fail(error.text);
 *     ...
 *     if (bloomery_inline_add(&seen, &number, sizeof number))
 *         puts("new");
 *
 * Answers, bits and counts are those of bloomery_may_contain and bloomery_add. Compiled for AVX-512
 * or AVX2 (-mavx512f, -mavx2, -march=...) the functions use vectors; else plain C, on any
 * processor. A copy of the struct in a local variable lets the compiler keep it in registers during
 * a loop. Keys of up to 16 bytes are hashed here. The header needs libxxhash's header, 0.8.0 or
 * later (Debian: libxxhash-dev), for longer ones, and nothing else of that library. C11 and C++17,
 * gcc and clang.
 *
 * src/kinds/derive.h and docs/format.md say what is computed here. It is a part of the file format,
 * and changes as little.
 */
#ifndef BLOOMERY_INLINE_H
#define BLOOMERY_INLINE_H

#include <bloomery/bloomery.h>

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
/* g++ 12 takes the vectors of its own header for uninitialised. */
#if defined(__AVX512F__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <xxhash.h>
#pragma GCC diagnostic pop
#else
#include <xxhash.h>
#endif

#if XXH_VERSION_NUMBER < 800
#error "bloomery/inline.h needs xxhash.h of xxHash 0.8.0 or later: XXH3 was another function before"
#endif

#if defined(__AVX512F__) || defined(__AVX2__)
#include <immintrin.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What the query reads of a filter. Plain numbers: copies are allowed, such as
 * one for each loop. It owns nothing and is never freed. It is valid as long as the filter is, and
 * sees what is added. */
typedef struct bloomery_inline {
    const uint64_t *words; /* of all blocks, eight each */
    uint64_t count;        /* N: blocks */
    uint64_t seed;
    uint32_t blocks_per_key; /* L */
    uint32_t probes;         /* k */
} bloomery_inline;

/* What the add writes of a filter, and a query of the same filter. Copies are allowed; it owns
 * nothing, is never freed, and is valid as long as the filter is. */
typedef struct bloomery_inline_adder {
    bloomery_inline query;
    uint64_t *words; /* those of the query */
    uint64_t *adds;  /* the filter's count of adds */
} bloomery_inline_adder;

/*
 * Takes it from a filter: blocked, of our own, with hash XXH3-64, and not made with
 * `concurrent_adds` (to which others write while it is read). BLOOMERY_UNSUPPORTED for any other,
 * with what is in the way, and on hosts whose byte order is not little-endian; the struct is zeroed
 * then.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_inline_of(const bloomery_filter *filter,
                                                   bloomery_inline *taken, bloomery_error *error);

/* The same to add keys. BLOOMERY_READ_ONLY for a map or a view, BLOOMERY_UNSUPPORTED as above. All
 * filters whose adds can fail are refused here, so that bloomery_inline_add cannot fail. */
BLOOMERY_PUBLIC bloomery_status bloomery_inline_adder_of(bloomery_filter *filter,
                                                         bloomery_inline_adder *taken,
                                                         bloomery_error *error);

#ifdef __cplusplus
}
#endif

/* The parts, then the functions. Parts have names that end in an underscore: they are not part of
 * the interface. All are inlined whatever the compiler thinks of their size: a call would cost as
 * much as a short hash. */

#define BLOOMERY_INLINE_ALWAYS_ __attribute__((always_inline))

/* ---- The hash -------------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 bloomery_inline_wide_;

/* WebAssembly has no wide product: a compiler would call a function for each. */
BLOOMERY_INLINE_ALWAYS_ static inline uint64_t bloomery_inline_high_(uint64_t a, uint64_t b)
{
#ifdef __wasm__
    const uint64_t one = (a >> 32) * (b & UINT32_MAX) + ((a & UINT32_MAX) * (b & UINT32_MAX) >> 32);
    const uint64_t other = (a & UINT32_MAX) * (b >> 32) + (one & UINT32_MAX);
    return (a >> 32) * (b >> 32) + (one >> 32) + (other >> 32);
#else
    return (uint64_t)(((bloomery_inline_wide_)a * b) >> 64);
#endif
}

/* By one product: of two the compiler would compute both. */
BLOOMERY_INLINE_ALWAYS_ static inline uint64_t bloomery_inline_fold_(uint64_t a, uint64_t b)
{
#ifdef __wasm__
    return bloomery_inline_high_(a, b) ^ a * b;
#else
    const bloomery_inline_wide_ product = (bloomery_inline_wide_)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
#endif
}

BLOOMERY_INLINE_ALWAYS_ static inline uint64_t bloomery_inline_turned_(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

BLOOMERY_INLINE_ALWAYS_ static inline uint32_t bloomery_inline_load32_(const unsigned char *bytes)
{
    uint32_t word;
    __builtin_memcpy(&word, bytes, sizeof word);
    return word;
}

BLOOMERY_INLINE_ALWAYS_ static inline uint64_t bloomery_inline_load64_(const unsigned char *bytes)
{
    uint64_t word;
    __builtin_memcpy(&word, bytes, sizeof word);
    return word;
}

/* XXH3-64 of 0 to 3 bytes. */
BLOOMERY_INLINE_ALWAYS_ static inline uint64_t
bloomery_inline_hash_to_3_(const unsigned char *data, size_t bytes, uint64_t seed)
{
    uint64_t x = seed ^ UINT64_C(0x8726f9105dc21ddc);
    if (bytes > 0) {
        const uint32_t all = (uint32_t)data[0] << 16 | (uint32_t)data[bytes / 2] << 24 |
                             (uint32_t)data[bytes - 1] | (uint32_t)bytes << 8;
        x = (UINT64_C(0x87275a9b) + seed) ^ all;
    }
    x = (x ^ x >> 33) * UINT64_C(0xC2B2AE3D27D4EB4F);
    x = (x ^ x >> 29) * UINT64_C(0x165667B19E3779F9);
    return x ^ x >> 32;
}

/* Of 4 to 8 bytes, as one word whose higher half comes first in memory. */
BLOOMERY_INLINE_ALWAYS_ static inline uint64_t
bloomery_inline_hash_4_to_8_(const unsigned char *data, size_t bytes, uint64_t seed)
{
    const uint64_t swapped = (uint64_t)__builtin_bswap32((uint32_t)seed) << 32;
    const uint64_t flip = UINT64_C(0xc73ab174c5ecd5a2) - (seed ^ swapped);
    uint64_t x;
    if (__builtin_constant_p(bytes) && bytes == 8) {
        /* One load. The halves change places on the way of the rotations. */
        x = bloomery_inline_load64_(data) ^ bloomery_inline_turned_(flip, 32);
        x = bloomery_inline_turned_(x, 32) ^ bloomery_inline_turned_(x, 17) ^
            bloomery_inline_turned_(x, 56);
    } else {
        x = ((uint64_t)bloomery_inline_load32_(data) << 32 |
             bloomery_inline_load32_(data + bytes - 4)) ^
            flip;
        x ^= bloomery_inline_turned_(x, 49) ^ bloomery_inline_turned_(x, 24);
    }
    x *= UINT64_C(0x9FB21C651E98DF25);
    x = (x ^ ((x >> 35) + bytes)) * UINT64_C(0x9FB21C651E98DF25);
    return x ^ x >> 28;
}

/* Of 9 to 16 bytes. */
BLOOMERY_INLINE_ALWAYS_ static inline uint64_t
bloomery_inline_hash_9_to_16_(const unsigned char *data, size_t bytes, uint64_t seed)
{
    const uint64_t a = bloomery_inline_load64_(data) ^ (UINT64_C(0x6782737bea4239b9) + seed);
    const uint64_t b =
        bloomery_inline_load64_(data + bytes - 8) ^ (UINT64_C(0xaf56bc3b0996523a) - seed);
    uint64_t x = bytes + __builtin_bswap64(a) + b + bloomery_inline_fold_(a, b);
    x = (x ^ x >> 37) * UINT64_C(0x165667919E3779F9);
    return x ^ x >> 32;
}

/* XXH3-64 of a key with a seed. Lengths that the compiler knows leave no branch behind. */
BLOOMERY_INLINE_ALWAYS_ static inline uint64_t bloomery_inline_hash_(const void *key, size_t bytes,
                                                                     uint64_t seed)
{
    const unsigned char *data = (const unsigned char *)key;
    if (bytes > 16)
        return XXH3_64bits_withSeed(data, bytes, seed);
    if (bytes > 8)
        return bloomery_inline_hash_9_to_16_(data, bytes, seed);
    return bytes >= 4 ? bloomery_inline_hash_4_to_8_(data, bytes, seed)
                      : bloomery_inline_hash_to_3_(data, bytes, seed);
}

/* ---- A block --------------------------------------------------------------------------------- */

/* The k bits of w in a block: one in each of k words from number (w >> 48) & 7 on. That of word c
 * is bit (w >> 6 c) & 63. In the functions below `probes` of 8, known to the compiler, is all
 * words. */

/* Which words have one of the k bits, the lowest bit for word 0. Bits from 8 on have no meaning. */
BLOOMERY_INLINE_ALWAYS_ static inline uint32_t bloomery_inline_window_(uint64_t w, uint32_t probes)
{
    const uint32_t ones = (1u << probes) - 1;
    return (ones | ones << 8) >> (8 - ((uint32_t)(w >> 48) & 7));
}

#if defined(__AVX512F__)
/* For word c w is turned down by 6 c: its lowest bits are the choice, to which rotations cut
 * themselves. With a mask of all ones these are the plain instructions, of which g++ 12 would
 * warn. */
BLOOMERY_INLINE_ALWAYS_ static inline __m512i bloomery_inline_turns_(uint64_t w)
{
    return _mm512_maskz_srlv_epi64((__mmask8)-1, _mm512_set1_epi64((long long)w),
                                   _mm512_setr_epi64(0, 6, 12, 18, 24, 30, 36, 42));
}
#elif defined(__AVX2__)
/* The choices of four words, whose `steps` are 6 times their numbers; `reverse`: subtracted from
 * 63. */
BLOOMERY_INLINE_ALWAYS_ static inline __m256i bloomery_inline_choices_(uint64_t w, __m256i steps,
                                                                       bool reverse)
{
    const __m256i turned = _mm256_srlv_epi64(_mm256_set1_epi64x((long long)w), steps);
    const __m256i mask = _mm256_set1_epi64x(63);
    return reverse ? _mm256_andnot_si256(turned, mask) : _mm256_and_si256(turned, mask);
}

/* The bits of four words, the first of which is number `from`. */
BLOOMERY_INLINE_ALWAYS_ static inline __m256i bloomery_inline_bits_(uint64_t w, __m256i steps,
                                                                    uint32_t from, uint32_t probes)
{
    const __m256i bits =
        _mm256_sllv_epi64(_mm256_set1_epi64x(1), bloomery_inline_choices_(w, steps, false));
    if (probes == 8)
        return bits;
    const __m256i words = _mm256_setr_epi64x(1, 2, 4, 8);
    const __m256i window =
        _mm256_set1_epi64x((long long)(bloomery_inline_window_(w, probes) >> from));
    return _mm256_and_si256(bits, _mm256_cmpeq_epi64(_mm256_and_si256(window, words), words));
}
#endif

/* Whether the k bits of w are set in the block at `words`. */
BLOOMERY_INLINE_ALWAYS_ static inline bool bloomery_inline_hits_(const uint64_t *words, uint64_t w,
                                                                 uint32_t probes)
{
#if defined(__AVX512F__)
    const __mmask8 window =
        probes == 8 ? (__mmask8)-1 : (__mmask8)bloomery_inline_window_(w, probes);
    const __m512i turned =
        _mm512_maskz_rorv_epi64((__mmask8)-1, _mm512_load_si512(words), bloomery_inline_turns_(w));
    return _mm512_mask_testn_epi64_mask(window, turned, _mm512_set1_epi64(1)) == 0;
#elif defined(__AVX2__)
    /* The block is shifted so that the bit of each word becomes its sign. Then one instruction
     * tests four of them, and leaves the answer in the carry, where a sum of answers needs it. */
    const __m256i *halves = (const __m256i *)(const void *)words;
    const __m256i low =
        _mm256_sllv_epi64(_mm256_load_si256(halves),
                          bloomery_inline_choices_(w, _mm256_setr_epi64x(0, 6, 12, 18), true));
    const __m256i high =
        _mm256_sllv_epi64(_mm256_load_si256(halves + 1),
                          bloomery_inline_choices_(w, _mm256_setr_epi64x(24, 30, 36, 42), true));
    if (probes == 8)
        return _mm256_testc_pd(_mm256_castsi256_pd(_mm256_and_si256(low, high)),
                               _mm256_castsi256_pd(_mm256_set1_epi64x(-1))) != 0;
    const uint32_t set = (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(low)) |
                         (uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(high)) << 4;
    return ((bloomery_inline_window_(w, probes) & ~set) & 0xff) == 0;
#else
    const uint32_t first = probes == 8 ? 0 : (uint32_t)(w >> 48) & 7;
    uint64_t all = 1;
    for (uint32_t i = 0; i < probes; i++) {
        const uint32_t word = (first + i) & 7;
        all &= words[word] >> ((w >> (6 * word)) & 63);
    }
    return all != 0;
#endif
}

/* Sets the k bits of w in the block at `words`; whether one of them was not set. */
BLOOMERY_INLINE_ALWAYS_ static inline bool bloomery_inline_set_(uint64_t *words, uint64_t w,
                                                                uint32_t probes)
{
#if defined(__AVX512F__)
    const __mmask8 window =
        probes == 8 ? (__mmask8)-1 : (__mmask8)bloomery_inline_window_(w, probes);
    const __m512i bits =
        _mm512_maskz_rolv_epi64(window, _mm512_set1_epi64(1), bloomery_inline_turns_(w));
    const __m512i now = _mm512_load_si512(words);
    _mm512_store_si512(words, _mm512_or_si512(now, bits));
    return _mm512_mask_testn_epi64_mask(window, now, bits) != 0;
#elif defined(__AVX2__)
    __m256i *halves = (__m256i *)(void *)words;
    const __m256i low = bloomery_inline_bits_(w, _mm256_setr_epi64x(0, 6, 12, 18), 0, probes);
    const __m256i high = bloomery_inline_bits_(w, _mm256_setr_epi64x(24, 30, 36, 42), 4, probes);
    const __m256i now[2] = {_mm256_load_si256(halves), _mm256_load_si256(halves + 1)};
    _mm256_store_si256(halves, _mm256_or_si256(now[0], low));
    _mm256_store_si256(halves + 1, _mm256_or_si256(now[1], high));
    const __m256i missing =
        _mm256_or_si256(_mm256_andnot_si256(now[0], low), _mm256_andnot_si256(now[1], high));
    return _mm256_testc_si256(_mm256_setzero_si256(), missing) == 0; /* by the carry, too */
#else
    const uint32_t first = probes == 8 ? 0 : (uint32_t)(w >> 48) & 7;
    uint64_t changed = 0;
    for (uint32_t i = 0; i < probes; i++) {
        const uint32_t word = (first + i) & 7;
        const uint64_t before = words[word];
        const uint64_t after = before | UINT64_C(1) << ((w >> (6 * word)) & 63);
        words[word] = after;
        changed |= before ^ after;
    }
    return changed != 0;
#endif
}

/* ---- A key ----------------------------------------------------------------------------------- */

/* Block number `which` (0 to L-1) of a key: x, from which block and bits come. */
BLOOMERY_INLINE_ALWAYS_ static inline uint64_t bloomery_inline_x_(uint64_t hash, uint32_t which)
{
    return which == 0 ? hash
                      : bloomery_inline_fold_(hash ^ which * UINT64_C(0x9E3779B97F4A7C15),
                                              UINT64_C(0x94D049BB133111EB));
}

/* Whether the block that x chooses has the bits that x chooses. */
BLOOMERY_INLINE_ALWAYS_ static inline bool bloomery_inline_in_block_(const bloomery_inline *taken,
                                                                     uint64_t x, uint32_t probes)
{
    return bloomery_inline_hits_(taken->words + bloomery_inline_high_(x, taken->count) * 8,
                                 bloomery_inline_fold_(x, UINT64_C(0xBF58476D1CE4E5B9)), probes);
}

/* Sets them there; whether one of them was not set. */
BLOOMERY_INLINE_ALWAYS_ static inline bool
bloomery_inline_to_block_(const bloomery_inline_adder *taken, uint64_t x, uint32_t probes)
{
    return bloomery_inline_set_(taken->words + bloomery_inline_high_(x, taken->query.count) * 8,
                                bloomery_inline_fold_(x, UINT64_C(0xBF58476D1CE4E5B9)), probes);
}

/* Whether a key has one block and eight bits in it, as in most filters. One test, which does not
 * change during a loop. */
BLOOMERY_INLINE_ALWAYS_ static inline bool bloomery_inline_is_usual_(const bloomery_inline *taken)
{
    return ((taken->blocks_per_key ^ 1) | (taken->probes ^ 8)) == 0;
}

/* The query by XXH3-64 of a key with `taken->seed`, for callers that have it already. */
BLOOMERY_INLINE_ALWAYS_ static inline bool
bloomery_inline_may_contain_hash(const bloomery_inline *taken, uint64_t hash)
{
    if (__builtin_expect(bloomery_inline_is_usual_(taken), 1))
        return bloomery_inline_in_block_(taken, hash, 8);
    bool hit = bloomery_inline_in_block_(taken, hash, taken->probes);
    for (uint32_t which = 1; which < taken->blocks_per_key && hit; which++)
        hit = bloomery_inline_in_block_(taken, bloomery_inline_x_(hash, which), taken->probes);
    return hit;
}

/* As bloomery_may_contain: false, the key was definitely never added; true, it possibly was.
 * `bytes` known to the compiler makes the hash short. */
BLOOMERY_INLINE_ALWAYS_ static inline bool
bloomery_inline_may_contain(const bloomery_inline *taken, const void *data, size_t bytes)
{
    return bloomery_inline_may_contain_hash(taken, bloomery_inline_hash_(data, bytes, taken->seed));
}

/* The add by XXH3-64 of a key with `taken->query.seed`. */
BLOOMERY_INLINE_ALWAYS_ static inline bool
bloomery_inline_add_hash(const bloomery_inline_adder *taken, uint64_t hash)
{
    ++*taken->adds;
    if (__builtin_expect(bloomery_inline_is_usual_(&taken->query), 1))
        return bloomery_inline_to_block_(taken, hash, 8);
    bool fresh = bloomery_inline_to_block_(taken, hash, taken->query.probes);
    for (uint32_t which = 1; which < taken->query.blocks_per_key; which++)
        fresh |=
            bloomery_inline_to_block_(taken, bloomery_inline_x_(hash, which), taken->query.probes);
    return fresh;
}

/*
 * As bloomery_add: sets the key's bits, counts the add, and returns whether the key is new. It
 * cannot fail: a blocked filter takes any number of keys, and its rate rises past the planned ones.
 * As with bloomery_add, no other thread may use the filter at the same time; a filter with
 * `concurrent_adds` needs that function. All calls of the library see what was added here.
 */
BLOOMERY_INLINE_ALWAYS_ static inline bool bloomery_inline_add(const bloomery_inline_adder *taken,
                                                               const void *data, size_t bytes)
{
    return bloomery_inline_add_hash(taken, bloomery_inline_hash_(data, bytes, taken->query.seed));
}

#endif /* BLOOMERY_INLINE_H */
