/* SPDX-License-Identifier: Apache-2.0 */
/* What the probe schemes of other systems have in common: where a walk over positions stands. */
#ifndef BLOOMERY_CORE_STEPS_H
#define BLOOMERY_CORE_STEPS_H

#include "base/bits.h"
#include "base/threads.h"
#include "kinds/kinds.h"

#include <assert.h>

struct bloomery_steps {
    uint64_t at;
    uint64_t step;
    uint64_t base; /* of schemes with blocks: the first cell of the block */
};

enum {
    BLOOMERY_PREFETCHED = 8,       /* positions that are requested of a key on its own */
    BLOOMERY_FIRST = 2,            /* that are looked at first, of a key in a word */
    BLOOMERY_SECOND = 5,           /* and then, up to here */
    BLOOMERY_KEYS_AHEAD = 8,       /* whose memory is on its way */
    BLOOMERY_POSITIONS_AHEAD = 32, /* of each; if it has more, none is ahead */
};

/* A key that is looked up, and how far it is. */
struct bloomery_walking {
    struct bloomery_steps steps;
    bool there; /* as far as is known */
    uint64_t at[BLOOMERY_POSITIONS_AHEAD];
};

static inline uint32_t bloomery_rotate_right_32(uint32_t value, unsigned bits)
{
    assert(bits > 0 && bits < 32);
    return value >> bits | value << (32 - bits);
}

/* A signed number that is negative becomes its complement, which is not: -1 becomes 0. */
static inline uint64_t bloomery_flip_32(uint32_t value)
{
    return (value >> 31) != 0 ? (uint32_t)~value : value;
}

static inline uint64_t bloomery_flip_64(uint64_t value)
{
    return (value >> 63) != 0 ? ~value : value;
}

#endif
