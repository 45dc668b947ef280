/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__x86_64__)

#include "batch/static_batch.h"

#include "base/bits.h"

#include <string.h>

#define LEVEL      avx512
#define LEVEL_NAME "avx512"
#define LEVEL_TARGET \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt")))
#define INLINE LEVEL_TARGET static inline __attribute__((always_inline))

#include "batch/x86/static_parities_avx512.h"

/* Each word is folded on itself down to four bits, whose parity is a bit of 0x6996. */
INLINE uint32_t parities_avx512(const uint8_t *block, const uint8_t *next, uint32_t mask,
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

INLINE uint32_t bumped_avx512(const uint8_t *thresholds, const uint64_t *starts)
{
    return bloomery_bumped_avx512(thresholds, starts);
}

#include "batch/static_template.h"

#endif
