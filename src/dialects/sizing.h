/* SPDX-License-Identifier: Apache-2.0 */
/* How other systems get from keys and a rate to bits and probes: what several of them share, and
 * what the tests ask for alone. */
#ifndef BLOOMERY_DIALECTS_SIZING_H
#define BLOOMERY_DIALECTS_SIZING_H

#include "dialects/dialects.h"

#include <stdint.h>

/* ---- Java ------------------------------------------------------------------------------------ */

/* What the filters of Guava, Spark and ORC have in common: one sizing, and one limit. */

/* trunc(-n ln p / (ln2 ln2)), in doubles and in this order. n at most 2^63, 0 < p < 1. May be 0. */
double bloomery_java_bits(uint64_t keys, double rate);

/* max(1, round(bits / n ln2)), a half rounded up. n >= 1. */
double bloomery_java_probes(double bits, uint64_t keys);

/* The requested size in words, 1 to 2^31 - 1, and 1 to `most` probes: else says what is
 * wrong of `system`'s filters. */
bloomery_status bloomery_java_check(const char *system, double words, double probes, uint32_t most,
                                    bloomery_error *error);

/* The rate at this size, if it is not the planned one. If that is not known: that a scheme whose
 * numbers have 31 bits reaches no further. */
bloomery_remark bloomery_java_remark;

/* ---- Constants cut short --------------------------------------------------------------------- */

/*
 * Sizing with constants that were cut short, as RedisBloom and libbloom do it:
 *
 *     bits per key  b = -(ln p / 0.480453013918201)       ln(2)^2 = 0.4804530139182014...
 *     probes        k = ceil(0.693147180559945 b)         ln 2    = 0.6931471805599453...
 *
 * Both are a little too small, the first more so than the second. At p = 2^-j, whose b ln 2 is j,
 * the product passes it by some 1e-15 j and is rounded up to j + 1.
 */

/* rate above 0 and below 1. */
double bloomery_short_bits_per_key(double rate);
double bloomery_short_probes(double bits_per_key);

/* ---- A table of rates ------------------------------------------------------------------------ */

/*
 * The table of rates, to three digits, by which Cassandra and ClickHouse choose how many bits a key
 * gets and how many probes. It has (1 - e^(-k/b))^k with b bits for each key, for 2 to 20 bits and
 * as many probes as are worth having there, one more at times. It is copied from system to system
 * since the nineties.
 */

enum { BLOOMERY_RATE_TABLE_ROWS = 21, BLOOMERY_RATE_TABLE_COLUMNS = 15 };

/* Entries are whole numbers of 1 / this. */
#define BLOOMERY_RATE_TABLE_UNITS 1e7

/* An entry as such a number, exactly; 0 if the table has none. bits_per_key below the number of
 * rows. O(1). */
uint32_t bloomery_rate_table_parts(uint32_t bits_per_key, uint32_t probes);

/* The double next to it. */
double bloomery_rate_table(uint32_t bits_per_key, uint32_t probes);

/* The probes with the lowest rate of a row: 0 for 0 bits and for 1, 14 for 20. */
uint32_t bloomery_rate_table_best(uint32_t bits_per_key);

/* ---- Of one system alone (dialects/sha384_slices.c) ------------------------------------------ */

/*
 * The sizing of the 20-million-ID experiment (the CalcUtils of Nyquest/bloom_filter), with its
 * order of operations in doubles and with its fault: numbers in, numbers out. O(1), no state, any
 * thread.
 */

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
