/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of bulk.h for x86-64. */
#include "bulk.h"

#include "base/cpu.h"

#if defined(__x86_64__)

#include "core/blocked.h"
#include "core/x86/line_avx2.h"
#include "core/x86/line_avx512.h"
#include "hash/x86/xxh3_groups.h"
#include "plan/blocked_rate.h"

#include <string.h>

enum { BULK_GROUP = 8, BULK_RING = 512, BULK_WORD = 64, BULK_LINES = 3, BULK_POSITIONS_MOST = 64 };

/*
 * How many keys are on their way. Measured (docs/benchmarks.md): a core has some 50 lines on order
 * at a time and needs about 128 keys ahead to keep them so; where the last cache answers, sooner and
 * in bursts, 256 are better by some per cent; in the second-level cache it makes no difference. Asking
 * line by line also keeps two words behind the window in the ring. Two groups are the least: lines
 * are ordered one group after their keys came in.
 */
static inline size_t bloomery_bulk_window(const struct bloomery_link *link, size_t count)
{
    const size_t window = link->lines == 1 && link->bytes <= (uint64_t)64 << 20 ? 256 : 128;
    const size_t groups = (count + BULK_GROUP - 1) / BULK_GROUP;
    if (groups * BULK_GROUP >= window)
        return window;
    return (groups < 2 ? 2 : groups) * BULK_GROUP; /* no empty rounds for a short batch */
}

/* ---- AVX-512 --------------------------------------------------------------------------------- */

static inline struct bloomery_xxh3_secret avx512_start(uint64_t seed)
{
    return bloomery_xxh3_secret_of(seed);
}

INLINE_AVX512 void hash_avx512(const struct bloomery_hash_secret *secret,
                               const struct bloomery_xxh3_secret *start, const bloomery_key *keys,
                               uint64_t *lo, uint64_t *hi)
{
    __m512i low, high;
    xxh3_group_avx512(secret, start, keys, &low, &high);
    _mm512_store_si512(lo, low);
    _mm512_store_si512(hi, high);
}

INLINE_AVX512 void split_avx512(const bloomery_hash *hashes, uint64_t *lo, uint64_t *hi)
{
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const __m512i odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    __m512i first = _mm512_loadu_si512(hashes);
    __m512i last = _mm512_loadu_si512(hashes + 4);
    _mm512_store_si512(lo, _mm512_permutex2var_epi64(first, even, last));
    _mm512_store_si512(hi, _mm512_permutex2var_epi64(first, odd, last));
}

/* fastrange(h, N) = h N >> 64 with N below 2^32: (h_high N + (h_low N >> 32)) >> 32. Times 64, the
 * bytes of a line. */
INLINE_AVX512 void offsets_avx512(const uint64_t *hi, uint64_t blocks, uint64_t *at)
{
    const __m512i count = _mm512_set1_epi64((long long)blocks);
    __m512i hash = _mm512_load_si512(hi);
    __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(hash, count), 32);
    __m512i high = _mm512_mul_epu32(_mm512_srli_epi64(hash, 32), count);
    __m512i index = _mm512_srli_epi64(_mm512_add_epi64(high, low), 32);
    _mm512_store_si512(at, _mm512_slli_epi64(index, 6));
}

/* x ^ (x >> shift) */
INLINE_AVX512 __m512i shifted_avx512(__m512i x, const unsigned shift)
{
    return _mm512_xor_si512(x, _mm512_srli_epi64(x, shift));
}

INLINE_AVX512 void mix_avx512(const uint64_t *from, uint64_t add, uint64_t *to)
{
    __m512i x = _mm512_add_epi64(_mm512_load_si512(from), _mm512_set1_epi64((long long)add));
    x = _mm512_mullo_epi64(shifted_avx512(x, 30),
                           _mm512_set1_epi64((long long)UINT64_C(0xBF58476D1CE4E5B9)));
    x = _mm512_mullo_epi64(shifted_avx512(x, 27),
                           _mm512_set1_epi64((long long)UINT64_C(0x94D049BB133111EB)));
    _mm512_store_si512(to, shifted_avx512(x, 31));
}

INLINE_AVX512 uint64_t hits_of_eight_avx512(const uint8_t *payload, const uint64_t *at,
                                            const uint64_t *words, uint32_t slots)
{
    uint8_t missed[8] __attribute__((aligned(8)));
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++)
        missed[j] = misses_avx512(payload + at[j], words[j], slots);
    __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)missed);
    return _mm_cmpeq_epi8_mask(bytes, _mm_setzero_si128()) & 0xff;
}

INLINE_AVX512 void positions_avx512(const uint64_t *words, uint32_t count, uint64_t *to)
{
    __m512i word = _mm512_load_si512(words);
#pragma GCC unroll 7
    for (uint32_t slot = 0; slot < count; slot++) {
        _mm512_store_si512(to + (size_t)8 * slot, _mm512_and_si512(word, _mm512_set1_epi64(511)));
        word = _mm512_srli_epi64(word, BLOOMERY_POSITION_BITS);
    }
}

INLINE_AVX512 void or_avx512(uint8_t *at, __m512i line)
{
    _mm512_store_si512(at, _mm512_or_si512(_mm512_load_si512(at), line));
}

#define BULK_NAME(name) avx512_##name
#define BULK_TARGET     TARGET_AVX512
#define BULK_START      struct bloomery_xxh3_secret
#define BULK_HASH       hash_avx512
#define BULK_SPLIT      split_avx512
#define BULK_OFFSETS    offsets_avx512
#define BULK_MIX        mix_avx512
#define BULK_POSITIONS  positions_avx512
#define BULK_MISSES     misses_avx512
#define BULK_HITS       hits_of_eight_avx512
#define BULK_LINE       __m512i
#define BULK_ZERO       _mm512_setzero_si512
#define BULK_SET        set_avx512
#define BULK_MERGE      merge_avx512
#define BULK_OR         or_avx512
#include "bulk_template.h"

/* ---- AVX2 ------------------------------------------------------------------------------------ */

static inline struct bloomery_xxh3_secret avx2_start(uint64_t seed)
{
    return bloomery_xxh3_secret_of(seed);
}

INLINE_AVX2 void hash_avx2(const struct bloomery_hash_secret *secret,
                           const struct bloomery_xxh3_secret *start, const bloomery_key *keys,
                           uint64_t *lo, uint64_t *hi)
{
    xxh3_group_avx2(secret, start, keys, lo, hi);
}

INLINE_AVX2 void split_avx2(const bloomery_hash *hashes, uint64_t *lo, uint64_t *hi)
{
    for (int j = 0; j < 8; j++) {
        lo[j] = hashes[j].lo;
        hi[j] = hashes[j].hi;
    }
}

INLINE_AVX2 void offsets_avx2(const uint64_t *hi, uint64_t blocks, uint64_t *at)
{
    const __m256i count = _mm256_set1_epi64x((long long)blocks);
    for (int half = 0; half < 8; half += 4) {
        __m256i hash = _mm256_load_si256((const __m256i *)(const void *)(hi + half));
        __m256i low = _mm256_srli_epi64(_mm256_mul_epu32(hash, count), 32);
        __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(hash, 32), count);
        __m256i index = _mm256_srli_epi64(_mm256_add_epi64(high, low), 32);
        _mm256_store_si256((__m256i *)(void *)(at + half), _mm256_slli_epi64(index, 6));
    }
}

INLINE_AVX2 __m256i shifted_avx2(__m256i x, const int shift)
{
    return _mm256_xor_si256(x, _mm256_srli_epi64(x, shift));
}

INLINE_AVX2 void mix_avx2(const uint64_t *from, uint64_t add, uint64_t *to)
{
    for (int half = 0; half < 8; half += 4) {
        __m256i x = _mm256_load_si256((const __m256i *)(const void *)(from + half));
        x = _mm256_add_epi64(x, _mm256_set1_epi64x((long long)add));
        x = times_avx2(shifted_avx2(x, 30),
                       _mm256_set1_epi64x((long long)UINT64_C(0xBF58476D1CE4E5B9)));
        x = times_avx2(shifted_avx2(x, 27),
                       _mm256_set1_epi64x((long long)UINT64_C(0x94D049BB133111EB)));
        _mm256_store_si256((__m256i *)(void *)(to + half), shifted_avx2(x, 31));
    }
}

INLINE_AVX2 void positions_avx2(const uint64_t *words, uint32_t count, uint64_t *to)
{
    const __m256i mask = _mm256_set1_epi64x(511);
    for (int half = 0; half < 8; half += 4) {
        __m256i word = _mm256_load_si256((const __m256i *)(const void *)(words + half));
#pragma GCC unroll 7
        for (uint32_t slot = 0; slot < count; slot++) {
            _mm256_store_si256((__m256i *)(void *)(to + (size_t)8 * slot + half),
                               _mm256_and_si256(word, mask));
            word = _mm256_srli_epi64(word, BLOOMERY_POSITION_BITS);
        }
    }
}

/* Four keys: their lanes, 0 where nothing is missed, packed to four bytes a key in each half. */
INLINE_AVX2 uint64_t hits_of_four_avx2(const uint8_t *payload, const uint64_t *at,
                                       const uint64_t *words, uint32_t slots)
{
    __m256i missed[4];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++)
        missed[j] = missed_avx2(payload + at[j], words[j], slots);
    __m256i all = _mm256_packs_epi16(_mm256_packs_epi32(missed[0], missed[1]),
                                     _mm256_packs_epi32(missed[2], missed[3]));
    __m128i keys = _mm_or_si128(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
    __m128i whole = _mm_cmpeq_epi32(keys, _mm_setzero_si128());
    return (uint64_t)(uint32_t)_mm_movemask_ps(_mm_castsi128_ps(whole));
}

INLINE_AVX2 uint64_t hits_of_eight_avx2(const uint8_t *payload, const uint64_t *at,
                                        const uint64_t *words, uint32_t slots)
{
    return hits_of_four_avx2(payload, at, words, slots) |
           hits_of_four_avx2(payload, at + 4, words + 4, slots) << 4;
}

INLINE_AVX2 bool misses_avx2(const uint8_t *at, uint64_t word, uint32_t slots)
{
    return !hits_avx2(at, word, slots);
}

INLINE_AVX2 void or_avx2(uint8_t *at, struct line256 line)
{
    __m256i *halves = (__m256i *)(void *)at;
    for (int i = 0; i < 2; i++)
        _mm256_store_si256(halves + i,
                           _mm256_or_si256(_mm256_load_si256(halves + i), line.half[i]));
}

#define BULK_NAME(name) avx2_##name
#define BULK_TARGET     TARGET_AVX2
#define BULK_START      struct bloomery_xxh3_secret
#define BULK_HASH       hash_avx2
#define BULK_SPLIT      split_avx2
#define BULK_OFFSETS    offsets_avx2
#define BULK_MIX        mix_avx2
#define BULK_POSITIONS  positions_avx2
#define BULK_MISSES     misses_avx2
#define BULK_HITS       hits_of_eight_avx2
#define BULK_LINE       struct line256
#define BULK_ZERO       zero_avx2
#define BULK_SET        set_avx2
#define BULK_MERGE      merge_avx2
#define BULK_OR         or_avx2
#include "bulk_template.h"

const struct bloomery_bulk *bloomery_bulk_of(const bloomery_filter *filter)
{
    const struct bloomery_link *link = filter->links;
    if (filter->concurrent) /* first: its links may become more */
        return NULL;
    if (filter->shape.block_bits != BLOOMERY_BLOCK_BITS || filter->shape.cell_bits != 1 ||
        filter->shape.hash != BLOOMERY_HASH_XXH3 || filter->shape.dialect != 0 ||
        filter->shape.link_count != 1 || link->blocks > UINT32_MAX)
        return NULL;
    switch (bloomery_cpu_level()) {
    case BLOOMERY_CPU_AVX512:
        return &avx512_bulk;
    case BLOOMERY_CPU_AVX2:
        return &avx2_bulk;
    default:
        return NULL;
    }
}

#else

const struct bloomery_bulk *bloomery_bulk_of(const bloomery_filter *filter)
{
    (void)filter;
    return NULL;
}

#endif
