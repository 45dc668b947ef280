/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of the blocked filter for 64-bit ARM: the answers of core/blocked.c, bit for bit. */
#include "base/cpu.h"

#if defined(BLOOMERY_ARM_KERNELS)

#include "core/arm/line_neon.h"
#include "core/blocked.h"
#include "plan/blocked_rate.h"

#define TEMPLATE_NAME(name) bloomery_blocked_neon_##name
#define TEMPLATE_LABEL      "neon"
#define TEMPLATE_TARGET
#define TEMPLATE_LINE  uint64x2x4_t
#define TEMPLATE_ZERO  zero_neon
#define TEMPLATE_MARK  mark_neon
#define TEMPLATE_MERGE merge_neon
#define TEMPLATE_FRESH fresh_neon
#define TEMPLATE_HITS  hits_neon
#include "core/blocked_template.h"

#endif
