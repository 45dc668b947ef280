/* SPDX-License-Identifier: Apache-2.0 */
/* What the code of the blocked kind shares, for all processors and with the counting kind. */
#ifndef BLOOMERY_CORE_BLOCKED_H
#define BLOOMERY_CORE_BLOCKED_H

#include "core/derive.h"
#include "core/kinds.h"
#include "plan/blocked_rate.h"

/* Keys in flight: the memory of so many is on its way while one is looked at. */
enum { BLOOMERY_AHEAD = 128 };

/* All lines of each key. */
void bloomery_blocked_prefetch(const struct bloomery_link *link, const uint8_t *payload,
                               const bloomery_hash *hashes, size_t count);

/* First lines only: for asking line by line. */
void bloomery_blocked_prefetch_first(const struct bloomery_link *link, const uint8_t *payload,
                                     const bloomery_hash *hashes, size_t count);

/* Line number `line` of each key. */
static inline __attribute__((always_inline)) void
bloomery_blocked_prefetch_line(const struct bloomery_link *link, const uint8_t *payload,
                               const bloomery_hash *hashes, size_t count, uint32_t line)
{
    for (size_t i = 0; i < count; i++)
        __builtin_prefetch(payload +
                           bloomery_line_of(hashes[i], line, link->blocks) * BLOOMERY_BLOCK_BYTES);
}

/* All lines of a key but its first. */
static inline __attribute__((always_inline)) void
bloomery_blocked_prefetch_rest(const struct bloomery_link *link, const uint8_t *payload,
                               bloomery_hash hash)
{
    for (uint32_t line = 1; line < link->lines; line++)
        bloomery_blocked_prefetch_line(link, payload, &hash, 1, line);
}

/* The chance that a key that comes to a line finds its k bits set there, from how many of its
 * words' bits are set. */
double bloomery_line_live_rate(const uint8_t set_in_word[8], uint32_t probes);

/* By core/line.h, plain and for several threads. Scalar code is the definition; the others run only
 * where base/cpu.h says so, and give the same answers. */
extern const struct bloomery_operations bloomery_blocked_scalar[2];
extern const struct bloomery_operations bloomery_blocked_avx2[2];
extern const struct bloomery_operations bloomery_blocked_avx512[2];
extern const struct bloomery_operations bloomery_blocked_neon[2];

#endif
