/* SPDX-License-Identifier: Apache-2.0 */
/* All kernels in AVX2. Their answers are those of kernels/scalar.c, bit for bit. */
#if defined(__x86_64__)

#include "base/bits.h"
#include "hash/xxh3.h"
#include "kernels/block_avx2.h"
#include "kernels/fast_path.h"
#include "kernels/lanes_avx2.h"
#include "kinds/blocked.h"
#include "kinds/chain.h"
#include "kinds/static.h"

#include <assert.h>
#include <immintrin.h>
#include <string.h>

/* ---- Blocked filters ------------------------------------------------------------------------- */

#define LEVEL avx2
#define LEVEL_TALLIES
#define LEVEL_HASHES
#define LEVEL_LANES     avx2
#define LEVEL_NAME      "avx2"
#define LEVEL_FAR_BYTES (UINT64_C(32) << 20) /* docs/results/filters.md */
#define LEVEL_TARGET    TARGET_AVX2
#include "kernels/block_template.h"

#include "kernels/fast_path_template.h"
#include "kernels/single_template.h"

/* ---- Static filters -------------------------------------------------------------------------- */

#undef LEVEL_TARGET
#define LEVEL_TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))

/*
 * Eight words in two registers. The halves of each are folded into 32 bits, and those on themselves
 * down to four, whose parity is in a table:
 *
 *     low     | w0        | w1        | w2        | w3        |
 *     high    | w4        | w5        | w6        | w7        |
 *     halves  | w0  | w1  | w4  | w5  | w2  | w3  | w6  | w7  |     as shuffles leave them
 *     both    | w0  | w1  | w2  | w3  | w4  | w5  | w6  | w7  |
 *
 * No PDEP or PEXT puts bits into order: before Zen 3 each takes AMD's processors 20 to 300 cycles.
 */
/* The parities of 0 to 3, which are those of 12 to 15, and of 4 to 7, which are those of 8 to 11:
 * the highest bit of a byte for each. */
enum { ODD_12 = 0x00808000, ODD_4 = (int)0x80000080 };

LEVEL_INLINE uint32_t parities_avx2(const uint8_t *block, const uint8_t *next, uint32_t mask,
                                    uint64_t first, uint64_t second)
{
    const __m256i c1 = _mm256_set1_epi64x((long long)first);
    const __m256i c2 = _mm256_set1_epi64x((long long)second);
    const __m256i *one = (const __m256i *)(const void *)block;
    const __m256i *two = (const __m256i *)(const void *)next;
    (void)mask; /* what lies behind the words is the layer's as well */
    const __m256i low = _mm256_xor_si256(_mm256_and_si256(_mm256_loadu_si256(one), c1),
                                         _mm256_and_si256(_mm256_loadu_si256(two), c2));
    const __m256i high = _mm256_xor_si256(_mm256_and_si256(_mm256_loadu_si256(one + 1), c1),
                                          _mm256_and_si256(_mm256_loadu_si256(two + 1), c2));
    const __m256 some = _mm256_castsi256_ps(low);
    const __m256 others = _mm256_castsi256_ps(high);
    const __m256i halves = _mm256_castps_si256(
        _mm256_xor_ps(_mm256_shuffle_ps(some, others, _MM_SHUFFLE(2, 0, 2, 0)),
                      _mm256_shuffle_ps(some, others, _MM_SHUFFLE(3, 1, 3, 1))));
    __m256i both = _mm256_permute4x64_epi64(halves, _MM_SHUFFLE(3, 1, 2, 0));
    both = _mm256_xor_si256(both, _mm256_slli_epi32(both, 16));
    both = _mm256_xor_si256(both, _mm256_slli_epi32(both, 8)); /* the highest byte of each has it */
    both = _mm256_xor_si256(both, _mm256_srli_epi32(both, 4));
    const __m256i odd =
        _mm256_set_epi32(ODD_12, ODD_4, ODD_4, ODD_12, ODD_12, ODD_4, ODD_4, ODD_12);
    both = _mm256_shuffle_epi8(odd, _mm256_and_si256(both, _mm256_set1_epi8(15)));
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(both));
}

LEVEL_INLINE uint32_t bumped_avx2(const uint8_t *thresholds, const uint64_t *starts)
{
    return bloomery_static_bumped(thresholds, starts);
}

#include "kernels/static_template.h"

#endif
