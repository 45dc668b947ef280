/* SPDX-License-Identifier: Apache-2.0 */
/* What the filters of Guava, Spark and ORC have in common: one sizing, and one limit. */
#ifndef BLOOMERY_DIALECT_JAVA_H
#define BLOOMERY_DIALECT_JAVA_H

#include "dialect/dialects.h"

/* trunc(-n ln p / (ln2 ln2)), in doubles and in this order. n at most 2^63, 0 < p < 1. May be 0. */
double bloomery_java_bits(uint64_t keys, double rate);

/* max(1, round(bits / n ln2)), a half rounded up. n >= 1. */
double bloomery_java_probes(double bits, uint64_t keys);

/* The requested size in words, 1 to 2^31 - 1, and 1 to `most` probes: else says what is
 * wrong of `system`'s filters. */
bloomery_status bloomery_java_check(const char *system, double words, double probes, uint32_t most,
                                    bloomery_error *error);

/* Remark 0: the rate at this size, if it is not the planned one. If that is not known: that a
 * scheme whose numbers have 31 bits reaches no further. false for every other index. */
bool bloomery_java_remark(const bloomery_filter *filter, uint32_t index, char *text, size_t room);

#endif
