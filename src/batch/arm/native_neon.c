/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#if defined(BLOOMERY_ARM_KERNELS)

#include "batch/native.h"

#include "core/arm/block_neon.h"
#include "core/blocked.h"
#include "hash/xxh3.h"

#include <assert.h>
#include <string.h>

#define LEVEL        neon
#define LEVEL_TARGET BLOOMERY_RACES_MEANT
#include "core/blocked_template.h"

#include "batch/native_template.h"

#endif
