/* SPDX-License-Identifier: Apache-2.0 */
/* The blocked operations in AVX-512: the answers of core/blocked.c, bit for bit. */
#if defined(__x86_64__)

#include "core/blocked.h"
#include "core/x86/block_avx512.h"

#include <assert.h>

#define LEVEL        avx512
#define LEVEL_NAME   "avx512"
#define LEVEL_TARGET TARGET_AVX512
#include "core/blocked_template.h"

#include "core/blocked_operations_template.h"

#endif
