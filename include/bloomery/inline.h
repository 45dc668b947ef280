/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The query of one key, compiled into the calling program: hash, block and test, without a call.
 * For loops over single keys; a call for many keys (bloomery_may_contain_keys) hides more of the
 * memory's latency than any inlining.
 *
 *     bloomery_inline ids;
 *     if (bloomery_inline_of(filter, &ids, &error) != BLOOMERY_OK)
 *         return fail(error.text);
 *     ...
 *     if (bloomery_inline_may_contain(&ids, "850101312345", 12))
 *         ...
 *
 * The answers are those of bloomery_may_contain. Compiled for AVX-512 or AVX2 (-mavx512f, -mavx2,
 * -march=...) it uses vectors; else plain C, on any processor. It needs libxxhash's header, 0.8.0
 * or later (Debian: libxxhash-dev), and nothing else of that library. C11 and C++17, gcc and clang.
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

/*
 * Takes it from a filter: blocked, of our own, with hash XXH3-64, and not made with
 * `concurrent_adds` (to which others write while it is read). BLOOMERY_UNSUPPORTED for any other,
 * with what is in the way, and on hosts whose byte order is not little-endian; the struct is zeroed
 * then.
 */
BLOOMERY_PUBLIC bloomery_status bloomery_inline_of(const bloomery_filter *filter,
                                                   bloomery_inline *taken, bloomery_error *error);

#ifdef __cplusplus
}
#endif

/* The parts, then the query. Parts have names that end in an underscore: they are not part of the
 * interface. */

static inline uint64_t bloomery_inline_high_(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)(((wide)a * b) >> 64);
}

static inline uint64_t bloomery_inline_fold_(uint64_t a, uint64_t b)
{
    return (a * b) ^ bloomery_inline_high_(a, b);
}

/* Whether the k bits of w are set in the block at `words`: one bit in each of k words from number
 * (w >> 48) & 7 on. That of word c is bit (w >> 6 c) & 63. */
static inline bool bloomery_inline_hits_(const uint64_t *words, uint64_t w, uint32_t probes)
{
    const uint32_t first = (uint32_t)(w >> 48) & 7;
#if defined(__AVX512F__)
    const uint32_t ones = (1u << probes) - 1;
    const __mmask8 window = (__mmask8)(probes == 8 ? ones : (ones << first | ones >> (8 - first)));
    /* With a mask of all ones these are the plain instructions, of which g++ 12 would warn. */
    const __mmask8 all = (__mmask8)-1;
    const __m512i turns = _mm512_maskz_srlv_epi64(all, _mm512_set1_epi64((long long)w),
                                                  _mm512_setr_epi64(0, 6, 12, 18, 24, 30, 36, 42));
    const __m512i turned = _mm512_maskz_rorv_epi64(all, _mm512_load_si512(words), turns);
    return _mm512_mask_testn_epi64_mask(window, turned, _mm512_set1_epi64(1)) == 0;
#elif defined(__AVX2__)
    const __m256i all = _mm256_set1_epi64x((long long)w);
    const __m256i low = _mm256_setr_epi64x(0, 1, 2, 3);
    const __m256i high = _mm256_setr_epi64x(4, 5, 6, 7);
    const __m256i start = _mm256_set1_epi64x((long long)first);
    const __m256i seven = _mm256_set1_epi64x(7);
    const __m256i count = _mm256_set1_epi64x((long long)probes);
    const __m256i mask = _mm256_set1_epi64x(63);
    const __m256i one = _mm256_set1_epi64x(1);
    const __m256i *halves = (const __m256i *)(const void *)words;
    __m256i bits[2];
    bits[0] = _mm256_and_si256(_mm256_srlv_epi64(all, _mm256_setr_epi64x(0, 6, 12, 18)), mask);
    bits[1] = _mm256_and_si256(_mm256_srlv_epi64(all, _mm256_setr_epi64x(24, 30, 36, 42)), mask);
    bits[0] = _mm256_andnot_si256(_mm256_load_si256(halves), _mm256_sllv_epi64(one, bits[0]));
    bits[1] = _mm256_andnot_si256(_mm256_load_si256(halves + 1), _mm256_sllv_epi64(one, bits[1]));
    if (probes < 8) { /* word c is the (c - first)th of the k, modulo 8 */
        const __m256i turns[2] = {_mm256_and_si256(_mm256_sub_epi64(low, start), seven),
                                  _mm256_and_si256(_mm256_sub_epi64(high, start), seven)};
        bits[0] = _mm256_and_si256(bits[0], _mm256_cmpgt_epi64(count, turns[0]));
        bits[1] = _mm256_and_si256(bits[1], _mm256_cmpgt_epi64(count, turns[1]));
    }
    bits[0] = _mm256_or_si256(bits[0], bits[1]);
    return _mm256_testz_si256(bits[0], bits[0]) != 0;
#else
    uint64_t all = 1;
    for (uint32_t i = 0; i < probes; i++) {
        const uint32_t word = (first + i) & 7;
        all &= words[word] >> ((w >> (6 * word)) & 63);
    }
    return all != 0;
#endif
}

/* Whether the block that x chooses has the bits that x chooses. */
static inline bool bloomery_inline_in_line_(const bloomery_inline *taken, uint64_t x)
{
    return bloomery_inline_hits_(taken->words + bloomery_inline_high_(x, taken->count) * 8,
                                 bloomery_inline_fold_(x, UINT64_C(0xBF58476D1CE4E5B9)),
                                 taken->probes);
}

/* The query by XXH3-64 of a key with `taken->seed`, for callers that have it already. */
static inline bool bloomery_inline_may_contain_hash(const bloomery_inline *taken, uint64_t hash)
{
    bool hit = bloomery_inline_in_line_(taken, hash);
    for (uint32_t block = 1; block < taken->blocks_per_key && hit; block++)
        hit = bloomery_inline_in_line_(
            taken, bloomery_inline_fold_(hash ^ block * UINT64_C(0x9E3779B97F4A7C15),
                                         UINT64_C(0x94D049BB133111EB)));
    return hit;
}

/* As bloomery_may_contain: false, the key was definitely never added; true, it possibly was.
 * `bytes` known to the compiler makes the hash short. */
static inline bool bloomery_inline_may_contain(const bloomery_inline *taken, const void *data,
                                               size_t bytes)
{
    return bloomery_inline_may_contain_hash(taken, XXH3_64bits_withSeed(data, bytes, taken->seed));
}

#endif /* BLOOMERY_INLINE_H */
