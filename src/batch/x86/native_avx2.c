/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__x86_64__)

#include "batch/native.h"

#include "core/blocked.h"
#include "core/x86/block_avx2.h"
#include "hash/xxh3.h"

#include <assert.h>
#include <string.h>

/* No LEVEL_EIGHTS: without products of 64 bits four lanes take as long as four keys one by one. */
#define LEVEL        avx2
#define LEVEL_TARGET TARGET_AVX2
#include "core/blocked_template.h"

#include "batch/native_template.h"

#endif
