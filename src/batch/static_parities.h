/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of static filters share: thresholds of eight keys in plain C. */
#ifndef BLOOMERY_STATIC_PARITIES_H
#define BLOOMERY_STATIC_PARITIES_H

#include "core/static_query.h"

/* A start is 128 times its bucket's number and its offset there. The compiler makes vectors of it
 * where it can gather. */
static inline __attribute__((always_inline)) uint32_t
bloomery_static_bumped(const uint8_t *thresholds, const uint64_t starts[8])
{
    uint32_t bumped = 0;
    for (uint32_t j = 0; j < 8; j++) {
        const uint64_t bucket = starts[j] / BLOOMERY_RIBBON_BUCKET;
        const uint32_t offset = (uint32_t)(starts[j] % BLOOMERY_RIBBON_BUCKET);
        bumped |= (uint32_t)(offset < bloomery_static_cut(thresholds, bucket)) << j;
    }
    return bumped;
}

#endif
