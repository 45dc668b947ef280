/* SPDX-License-Identifier: Apache-2.0 */
/* Two loops over <bloomery/inline.h>, compiled several times (inline_loops.c), each time for
 * another processor. */
#ifndef BLOOMERY_BENCH_INLINE_H
#define BLOOMERY_BENCH_INLINE_H

#include "bench.h"

#include <bloomery/inline.h>

/* How many of the keys were found, and how many changed a bit. */
struct bench_inline_loops {
    const char *kernel;
    uint64_t (*query)(const bloomery_inline *taken, const struct bench_chunk *chunk);
    uint64_t (*add)(const bloomery_inline_adder *taken, const struct bench_chunk *chunk);
};

extern const struct bench_inline_loops bench_inline_plain, bench_inline_avx2, bench_inline_avx512;

#endif
