/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of fingerprints: 64 or 128 bits of each key's hash instead of the key. fingerprints.c holds
 * the essay. One thread at a time.
 */
#ifndef BLOOMERY_TOOL_UNITS_FINGERPRINTS_H
#define BLOOMERY_TOOL_UNITS_FINGERPRINTS_H

#include <bloomery/bloomery.h>

#include <stddef.h>
#include <stdint.h>

struct tool_fingerprints;

/*
 * An empty set of fingerprints of `bits` bits, 64 or 128. It has room for `keys` of them before it
 * grows for the first time (0: little). It never takes more than `memory_limit` bytes; 0: no limit.
 * NULL if there is not so much memory, or if the limit is less than the room.
 */
struct tool_fingerprints *tool_fingerprints_new(uint32_t bits, uint64_t keys,
                                                uint64_t memory_limit);
void tool_fingerprints_free(struct tool_fingerprints *set);

/* The bytes that a set with room for `keys` takes. Infinite numbers of them are UINT64_MAX. */
uint64_t tool_fingerprints_bytes_for(uint32_t bits, uint64_t keys);

/*
 * Adds fingerprints of `count` hashes, one after the other. Bit i of `answers` (room for a bit
 * each) is set if number i was not there before. Returns how many were added: fewer than `count` if
 * the next new one found no room, and the set could not grow. More may be added all the same.
 */
size_t tool_fingerprints_add(struct tool_fingerprints *set, const bloomery_hash *hashes,
                             size_t count, uint64_t *answers);

/* Adds nothing; otherwise as above: bit i is set if number i is not there. */
void tool_fingerprints_query(const struct tool_fingerprints *set, const bloomery_hash *hashes,
                             size_t count, uint64_t *answers);

uint64_t tool_fingerprints_count(const struct tool_fingerprints *set);
uint64_t tool_fingerprints_bytes(const struct tool_fingerprints *set);

/*
 * How many keys are expected to have been taken for others while the set grew from `before` to
 * `after` fingerprints. Each new key is one that is there already with a chance of n / 2^bits.
 */
double tool_fingerprints_drops(uint32_t bits, uint64_t before, uint64_t after);

#endif /* BLOOMERY_TOOL_UNITS_FINGERPRINTS_H */
