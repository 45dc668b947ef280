/* SPDX-License-Identifier: Apache-2.0 */
/* What the scalar code of the blocked kind and its kernels share. */
#ifndef BLOOMERY_CORE_BLOCKED_H
#define BLOOMERY_CORE_BLOCKED_H

#include "core/kinds.h"
#include "plan/blocked_rate.h"

/* All lines of each key. */
void bloomery_blocked_prefetch(const struct bloomery_link *link, const uint8_t *payload,
                               const bloomery_hash *hashes, size_t count);

/* First lines only: for asking line by line. */
void bloomery_blocked_prefetch_first(const struct bloomery_link *link, const uint8_t *payload,
                                     const bloomery_hash *hashes, size_t count);

/* Line number `line` of each key. */
void bloomery_blocked_prefetch_line(const struct bloomery_link *link, const uint8_t *payload,
                                    const bloomery_hash *hashes, size_t count, uint32_t line);

/* The rate of these very cells, and how many are not 0, from the number of lines with so many. */
double bloomery_blocked_live_rate(const struct bloomery_link *link,
                                  const uint64_t lines_with[BLOOMERY_BLOCK_BITS + 1],
                                  uint64_t *bits_set);

/* The definition. */
const struct bloomery_operations *bloomery_blocked_scalar(void);

/* Kernels; each runs only where base/cpu.h says so. */
extern const struct bloomery_operations bloomery_blocked_avx2_operations;
extern const struct bloomery_operations bloomery_blocked_avx512_operations;
extern const struct bloomery_operations bloomery_blocked_neon_operations;

#endif
