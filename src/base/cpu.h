/* SPDX-License-Identifier: Apache-2.0 */
/* What this processor can do, asked once. */
#ifndef BLOOMERY_BASE_CPU_H
#define BLOOMERY_BASE_CPU_H

/* Levels in rising order: a kernel for one runs on all above it. */
enum bloomery_cpu {
    BLOOMERY_CPU_SCALAR,
    BLOOMERY_CPU_AVX2,   /* and BMI1, BMI2 */
    BLOOMERY_CPU_AVX512, /* F, BW, DQ, VL, and all of the above */
};

/* The level to use: the processor's, or a lower one that BLOOMERY_CPU=scalar|avx2|avx512 in the
 * environment names (not in release builds). Any thread. */
enum bloomery_cpu bloomery_cpu_level(void);

#endif
