/* SPDX-License-Identifier: Apache-2.0 */
/* The blocked operations for 64-bit ARM: the answers of core/blocked.c, bit for bit. */
#include "base/cpu.h"

#if defined(BLOOMERY_ARM_KERNELS)

#include "core/arm/block_neon.h"
#include "core/blocked.h"

#include <assert.h>

#define LEVEL        neon
#define LEVEL_NAME   "neon"
#define LEVEL_TARGET BLOOMERY_RACES_MEANT
#include "core/blocked_template.h"

#include "core/blocked_operations_template.h"

#endif
