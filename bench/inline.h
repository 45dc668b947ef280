/* SPDX-License-Identifier: Apache-2.0 */
/* One loop over <bloomery/inline.h>, compiled several times (inline_query.c), each time for another
 * processor. */
#ifndef BLOOMERY_BENCH_INLINE_H
#define BLOOMERY_BENCH_INLINE_H

#include "bench.h"

#include <bloomery/inline.h>

typedef uint64_t bench_inline_loop(const bloomery_inline *taken, const struct bench_chunk *chunk);

bench_inline_loop bench_inline_query_plain, bench_inline_query_avx2, bench_inline_query_avx512;

#endif
