/* SPDX-License-Identifier: Apache-2.0 */
#if defined(__x86_64__)

#include "native.h"

#include "core/blocked.h"
#include "core/x86/line_avx512.h"
#include "hash/xxh3_inline.h"

#include <assert.h>

#define LEVEL        avx512
#define LEVEL_TARGET TARGET_AVX512
#include "core/blocked_template.h"

#include "native_template.h"

#endif
