/* SPDX-License-Identifier: Apache-2.0 */
/* What the code of the blocked kind shares, for all processors and with the counting kind. */
#ifndef BLOOMERY_KINDS_BLOCKED_H
#define BLOOMERY_KINDS_BLOCKED_H

#include "base/threads.h"
#include "kinds/derive.h"
#include "kinds/kinds.h"
#include "plan/blocked_rate.h"

/* Keys in flight: the memory of this number of keys is on its way while one is looked at. */
enum { BLOOMERY_AHEAD = 128 };

/* All blocks of each key. */
void bloomery_blocked_prefetch(const struct bloomery_layer *layer, const uint8_t *payload,
                               const bloomery_hash *hashes, size_t count);

/* Block number `which` (0 to L-1) of each key. */
static inline __attribute__((always_inline)) void
bloomery_blocked_prefetch_block(const struct bloomery_layer *layer, const uint8_t *payload,
                                const bloomery_hash *hashes, size_t count, uint32_t which)
{
    for (size_t i = 0; i < count; i++)
        bloomery_request_line(payload + bloomery_block_of(hashes[i], which, layer->blocks) *
                                            BLOOMERY_BLOCK_BYTES,
                              layer->blocks * BLOOMERY_BLOCK_BYTES);
}

/* All blocks of a key but its first. */
static inline __attribute__((always_inline)) void
bloomery_blocked_prefetch_rest(const struct bloomery_layer *layer, const uint8_t *payload,
                               bloomery_hash hash)
{
    for (uint32_t which = 1; which < layer->blocks_per_key; which++)
        bloomery_blocked_prefetch_block(layer, payload, &hash, 1, which);
}

/* The chance that a key that comes to a block finds its k bits set there, from how many of its
 * words' bits are set. */
double bloomery_block_live_rate(const uint8_t set_in_word[8], uint32_t probes);

/* The masks of k = 0 to 8, by k and first word; and as bits, the lowest for word 0. */
#define BLOOMERY_HIDDEN __attribute__((visibility("hidden")))
extern BLOOMERY_HIDDEN const uint64_t
    bloomery_window_words[BLOOMERY_BLOCK_PROBES_MAX + 1][BLOOMERY_BLOCK_WORDS]
                         [BLOOMERY_BLOCK_WORDS];
extern BLOOMERY_HIDDEN const uint8_t
    bloomery_window_bits[BLOOMERY_BLOCK_PROBES_MAX + 1][BLOOMERY_BLOCK_WORDS];

/* By kernels/block.h, plain and for several threads. Scalar code is the definition; the others run
 * only if base/cpu.h says so, and give the same answers. */
extern const struct bloomery_operations bloomery_blocked_scalar[2];
extern const struct bloomery_operations bloomery_blocked_avx2[2];
extern const struct bloomery_operations bloomery_blocked_avx512[2];
extern const struct bloomery_operations bloomery_blocked_neon[2];

#endif /* BLOOMERY_KINDS_BLOCKED_H */
