/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LevelDB's and RocksDB's filters have more in common than a hash: bytes that stand for "no key" or
 * for "any key" without a bit of their own, and a promise that is bits per key instead of a rate.
 *
 * A filter of ours has bits. If theirs has next to no bits, ours has as few as possible, none or
 * all of them set, and keeps their bytes. So they come back while nothing was added or cleared:
 *
 *     extra    1 byte: 1 no key, 2 any key    then their bytes
 */
#ifndef BLOOMERY_DIALECT_STORAGE_H
#define BLOOMERY_DIALECT_STORAGE_H

#include "dialect/dialects.h"

/* What is to be kept of such bytes at most. */
enum { BLOOMERY_CONSTANT_MAX = 1024 };

/* Gives a design, whose shape and layer are those of an empty filter of at most 4096 bits, one
 * answer for every key. The bytes are copied; BLOOMERY_CONSTANT_MAX of them at most. */
void bloomery_design_constant(struct bloomery_design *design, bool any_key, const uint8_t *bytes,
                              size_t count);

/* Whether a filter is still such a one; its bytes then. Whatever `extra` is, it is safe. O(1). */
bool bloomery_is_constant(const bloomery_filter *filter, const uint8_t **bytes, size_t *count);

/* A remark that the filter's rate is more than `factor` times that of the formula that such systems
 * give. The keys are those the filter was made for, or if unknown, as many as its probes tell, k
 * being bits per key times 0.69. */
bool bloomery_remark_promise(const bloomery_filter *filter,
                             double (*promised)(const struct bloomery_layer *layer, uint64_t keys),
                             double factor, char *text, size_t room);

#endif
