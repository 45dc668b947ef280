/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__x86_64__)

#include "batch/native.h"

#include "core/blocked.h"
#include "core/x86/block_avx512.h"
#include "hash/xxh3.h"

#include <assert.h>
#include <string.h>

/*
 * Eight integers in eight lanes: bloomery_xxh3_8, then block and w of core/derive.h. High halves of
 * products come from four products of 32 x 32 bits, as in school:
 *
 *     a b = (a1 2^32 + a0) (b1 2^32 + b0),    carries go over a1 b0 and a0 b1
 */
INLINE_AVX512 void eights_avx512(const struct bloomery_short_secret *secret, const uint8_t *words,
                                 uint64_t blocks, uint64_t *at, uint64_t *word, uint64_t *hi)
{
    const __m512i prime = _mm512_set1_epi64((long long)UINT64_C(0x9FB21C651E98DF25));
    const __m512i c1 = _mm512_set1_epi64((long long)BLOOMERY_MIX_1);
    const __m512i count = _mm512_set1_epi64((long long)blocks);
    const __m512i flip = _mm512_set1_epi64((long long)bloomery_rotate_left(secret->flip[0], 32));
    __m512i x = _mm512_xor_si512(_mm512_loadu_si512(words), flip);
    x = _mm512_ternarylogic_epi64(_mm512_rol_epi64(x, 32), _mm512_rol_epi64(x, 17),
                                  _mm512_rol_epi64(x, 56), 0x96); /* XOR of the three */
    x = _mm512_mullo_epi64(x, prime);
    x = _mm512_xor_si512(x, _mm512_add_epi64(_mm512_srli_epi64(x, 35), _mm512_set1_epi64(8)));
    x = _mm512_mullo_epi64(x, prime);
    x = _mm512_xor_si512(x, _mm512_srli_epi64(x, 28));
    _mm512_store_si512(hi, x);

    const __m512i x1 = _mm512_srli_epi64(x, 32);
    const __m512i low = _mm512_srli_epi64(_mm512_mul_epu32(x, count), 32);
    const __m512i block = _mm512_add_epi64(_mm512_mul_epu32(x1, count), low);
    _mm512_store_si512(at, _mm512_slli_epi64(_mm512_srli_epi64(block, 32), 6));

    const __m512i b1 = _mm512_srli_epi64(c1, 32);
    const __m512i lowest = _mm512_srli_epi64(_mm512_mul_epu32(x, c1), 32);
    const __m512i one = _mm512_add_epi64(_mm512_mul_epu32(x1, c1), lowest);
    const __m512i other = _mm512_add_epi64(_mm512_mul_epu32(x, b1),
                                           _mm512_and_si512(one, _mm512_set1_epi64(UINT32_MAX)));
    const __m512i high =
        _mm512_add_epi64(_mm512_add_epi64(_mm512_mul_epu32(x1, b1), _mm512_srli_epi64(one, 32)),
                         _mm512_srli_epi64(other, 32));
    _mm512_store_si512(word, _mm512_xor_si512(_mm512_mullo_epi64(x, c1), high));
}

#define LEVEL        avx512
#define LEVEL_TARGET TARGET_AVX512
#define LEVEL_EIGHTS eights_avx512
#include "core/blocked_template.h"

#include "batch/native_template.h"

#endif
