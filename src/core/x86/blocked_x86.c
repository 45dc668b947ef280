/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the blocked filter for x86-64: the answers of core/blocked.c, bit for bit. */
#if defined(__x86_64__)

#include "core/blocked.h"
#include "core/derive.h"
#include "core/x86/line_avx2.h"
#include "core/x86/line_avx512.h"
#include "plan/blocked_rate.h"

#define TEMPLATE_NAME(name) bloomery_blocked_avx512_##name
#define TEMPLATE_LABEL      "avx512"
#define TEMPLATE_TARGET     TARGET_AVX512
#define TEMPLATE_LINE       __m512i
#define TEMPLATE_ZERO       _mm512_setzero_si512
#define TEMPLATE_MARK       mark_avx512
#define TEMPLATE_MERGE      merge_avx512
#define TEMPLATE_FRESH      fresh_avx512
#define TEMPLATE_HITS       hits_avx512
#include "core/blocked_template.h"

#define TEMPLATE_NAME(name) bloomery_blocked_avx2_##name
#define TEMPLATE_LABEL      "avx2"
#define TEMPLATE_TARGET     TARGET_AVX2
#define TEMPLATE_LINE       struct line256
#define TEMPLATE_ZERO       zero_avx2
#define TEMPLATE_MARK       mark_avx2
#define TEMPLATE_MERGE      merge_avx2
#define TEMPLATE_FRESH      fresh_avx2
#define TEMPLATE_HITS       hits_avx2
#include "core/blocked_template.h"

#endif
