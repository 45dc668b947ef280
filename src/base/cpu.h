/* SPDX-License-Identifier: Apache-2.0 */
/* What this processor can do, found out once. */
#ifndef BLOOMERY_BASE_CPU_H
#define BLOOMERY_BASE_CPU_H

/* NEON is part of 64-bit ARM; a compiler option switches it off. */
#if defined(__AARCH64EL__) && defined(__ARM_NEON)
#define BLOOMERY_ARM_KERNELS 1
#endif

/* With -Os and -Oz one loop serves the cases that otherwise have one each. */
#if defined(__OPTIMIZE_SIZE__)
enum { BLOOMERY_FOR_SIZE = 1 };
#else
enum { BLOOMERY_FOR_SIZE = 0 };
#endif

/* The page's module has no room for cuckoo filters: it refuses their files, and plans none. */
#if defined(__OPTIMIZE_SIZE__) && defined(__wasm__)
#define BLOOMERY_HAS_TABLES 0
#else
#define BLOOMERY_HAS_TABLES 1
#endif

/* Levels of an architecture are in rising order: a kernel for one runs on all above it. Every
 * architecture has the first; the others belong to one. */
enum bloomery_cpu {
    BLOOMERY_CPU_SCALAR,
    BLOOMERY_CPU_AVX2,      /* x86-64: and BMI1, BMI2, POPCNT */
    BLOOMERY_CPU_AVX512,    /* x86-64: F, BW, DQ, VL, and all of the above */
    BLOOMERY_CPU_VPOPCNTDQ, /* x86-64: and VPOPCNTDQ; static filters alone use it */
    BLOOMERY_CPU_NEON,      /* aarch64: always there */
};

/* The level to use: the processor's, or the one that BLOOMERY_CPU in the environment names (scalar,
 * avx2, avx512, avx512-vpopcntdq, neon; not in release builds). Any thread. */
enum bloomery_cpu bloomery_cpu_level(void);

/*
 * The level of that name if `best` includes it. Any other name, misspelt or of another machine, is
 * the scalar level. If it were ignored, the best level would be in use, and a test meant to run
 * below it would pass without having done so. So a caller that requested more finds "scalar" in
 * bloomery_info.kernel.
 */
enum bloomery_cpu bloomery_cpu_named(const char *name, enum bloomery_cpu best);

#endif
