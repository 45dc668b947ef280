/* SPDX-License-Identifier: Apache-2.0 */
/* All kernels in AVX-512. Their answers are those of kernels/scalar.c, bit for bit. */
#if defined(__x86_64__)

#include "base/bits.h"
#include "hash/xxh3.h"
#include "kernels/block_avx512.h"
#include "kernels/fast_path.h"
#include "kernels/lanes_avx512.h"
#include "kinds/blocked.h"
#include "kinds/chain.h"
#include "kinds/static.h"

#include <assert.h>
#include <immintrin.h>
#include <string.h>

/* ---- Blocked filters ------------------------------------------------------------------------- */

#define LEVEL avx512
#define LEVEL_HASHES
#define LEVEL_LANES     avx512
#define LEVEL_NAME      "avx512"
#define LEVEL_FAR_BYTES (UINT64_C(16) << 20) /* docs/results/filters.md */
#define LEVEL_TARGET    TARGET_AVX512
#include "kernels/block_template.h"

#include "kernels/fast_path_template.h"
#include "kernels/single_template.h"

/* ---- Static filters -------------------------------------------------------------------------- */

/* What both levels have: eight words in a register, eight thresholds at once. */

#define INTO_AVX512                                                             \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) static inline \
        __attribute__((always_inline))

/* (word of the block & first) ^ (word of the next one & second), of the words in the mask. */
INTO_AVX512 __m512i bloomery_selected_rows(const uint8_t *block, const uint8_t *next, uint32_t mask,
                                           uint64_t first, uint64_t second)
{
    const __m512i one = _mm512_maskz_loadu_epi64((__mmask8)mask, block);
    const __m512i two = _mm512_maskz_loadu_epi64((__mmask8)mask, next);
    const __m512i some = _mm512_and_si512(two, _mm512_set1_epi64((long long)second));
    return _mm512_ternarylogic_epi64(one, _mm512_set1_epi64((long long)first), some, 0x6a);
}

/* Eight bytes are gathered from each threshold's byte on: 64 bytes of zeros lie behind the last. */
INTO_AVX512 uint32_t bloomery_bumped_avx512(const uint8_t *thresholds, const uint64_t *starts)
{
    const __m512i start = _mm512_load_si512(starts);
    const __m512i bytes = _mm512_i64gather_epi64(_mm512_srli_epi64(start, 9), thresholds, 1);
    const __m512i turn = _mm512_and_si512(_mm512_srli_epi64(start, 6), _mm512_set1_epi64(6));
    const __m512i threshold =
        _mm512_and_si512(_mm512_srlv_epi64(bytes, turn), _mm512_set1_epi64(3));
    const __m512i cuts =
        _mm512_srlv_epi64(_mm512_set1_epi64(0x80201000), _mm512_slli_epi64(threshold, 3));
    return _mm512_cmplt_epu64_mask(_mm512_and_si512(start, _mm512_set1_epi64(127)),
                                   _mm512_and_si512(cuts, _mm512_set1_epi64(0xff)));
}

#undef INTO_AVX512

#undef LEVEL_TARGET
#define LEVEL_TARGET \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt")))

/* Each word is folded on itself down to four bits, whose parity is a bit of 0x6996. */
LEVEL_INLINE uint32_t parities_avx512(const uint8_t *block, const uint8_t *next, uint32_t mask,
                                      uint64_t first, uint64_t second)
{
    __m512i rows = bloomery_selected_rows(block, next, mask, first, second);
    rows = _mm512_xor_si512(rows, _mm512_srli_epi64(rows, 32));
    rows = _mm512_xor_si512(rows, _mm512_srli_epi64(rows, 16));
    rows = _mm512_xor_si512(rows, _mm512_srli_epi64(rows, 8));
    rows = _mm512_xor_si512(rows, _mm512_srli_epi64(rows, 4));
    rows = _mm512_and_si512(rows, _mm512_set1_epi64(15));
    return _mm512_test_epi64_mask(_mm512_srlv_epi64(_mm512_set1_epi64(0x6996), rows),
                                  _mm512_set1_epi64(1));
}

LEVEL_INLINE uint32_t bumped_avx512(const uint8_t *thresholds, const uint64_t *starts)
{
    return bloomery_bumped_avx512(thresholds, starts);
}

#include "kernels/static_template.h"

#undef LEVEL
#undef LEVEL_NAME
#undef LEVEL_TARGET
#define LEVEL      vpopcntdq
#define LEVEL_NAME "avx512-vpopcntdq"
#define LEVEL_TARGET \
    __attribute__((  \
        target("avx512vpopcntdq,avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt")))

/* A processor with VPOPCNTDQ counts the bits of each word by itself. */
LEVEL_INLINE uint32_t parities_vpopcntdq(const uint8_t *block, const uint8_t *next, uint32_t mask,
                                         uint64_t first, uint64_t second)
{
    const __m512i rows = bloomery_selected_rows(block, next, mask, first, second);
    return _mm512_test_epi64_mask(_mm512_popcnt_epi64(rows), _mm512_set1_epi64(1));
}

LEVEL_INLINE uint32_t bumped_vpopcntdq(const uint8_t *thresholds, const uint64_t *starts)
{
    return bloomery_bumped_avx512(thresholds, starts);
}

#include "kernels/static_template.h"

#endif
