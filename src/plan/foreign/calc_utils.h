/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sizing of the 20-million-ID experiment (the CalcUtils of Nyquest/bloom_filter), with its
 * order of operations in doubles and with its fault: numbers in, numbers out. O(1), no state, any
 * thread.
 */
#ifndef BLOOMERY_PLAN_CALC_UTILS_H
#define BLOOMERY_PLAN_CALC_UTILS_H

#include <stdint.h>

/* ceil(-n ln p / (ln 2)^2), the bits for n keys at rate p. 0 if n is 0, if p is not above 0 and
 * below 1, or if the number would pass 2^62. From there on the original's next step overflows. */
uint64_t bloomery_calc_bits(uint64_t n, double p);

/*
 * Those bits rounded up to a power of two, as the original does it. h is the highest power of two
 * in them, and the answer is n if h equals n, else 2 h. The comparison of h should be with the
 * bits, not with n. So an exact power of two is doubled for nothing. And if n is a power of two and
 * the bits are n to 2 n - 1 (rates from 0.383 to 0.619), n are returned, fewer than are needed. 0
 * if the bits are.
 */
uint64_t bloomery_calc_aligned(uint64_t n, double p);

/* ceil(ln 2 (m/n)), the probes for n keys in `bits` bits: rounded up, though the nearest would be
 * better. 0 if n or `bits` is 0; at most 2^32 - 1. */
uint32_t bloomery_calc_probes(uint64_t n, uint64_t bits);

/* (1 - e^(-k n / m))^k, the classic formula. 1 without bits; 1 without probes. */
double bloomery_calc_rate(uint64_t n, uint64_t bits, uint32_t probes);

#endif
