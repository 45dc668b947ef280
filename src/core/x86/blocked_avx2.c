/* SPDX-License-Identifier: Apache-2.0 */
/* The blocked operations in AVX2: the answers of core/blocked.c, bit for bit. */
#if defined(__x86_64__)

#include "core/blocked.h"
#include "core/x86/block_avx2.h"

#include <assert.h>

#define LEVEL        avx2
#define LEVEL_NAME   "avx2"
#define LEVEL_TARGET TARGET_AVX2
#include "core/blocked_template.h"

#include "core/blocked_operations_template.h"

#endif
