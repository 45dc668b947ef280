/* SPDX-License-Identifier: Apache-2.0 */
/* The rate of a table of fingerprints (kinds/tables.c), and plans of cuckoo filters. */
#ifndef BLOOMERY_PLAN_CUCKOO_RATE_H
#define BLOOMERY_PLAN_CUCKOO_RATE_H

#include <bloomery/bloomery.h>

/* A table has fewer slots than this: RedisBloom numbers them with 32 bits. */
#define BLOOMERY_TABLE_SLOTS ((uint64_t)1 << 32)

enum {
    BLOOMERY_PRINTS = 255,             /* fingerprints: 1 to 255, and 0 is a free slot */
    BLOOMERY_PLANNED_ITERATIONS = 500, /* of filters that are made of a plan */
    BLOOMERY_TABLE_RATE_INVERSE = 200, /* the lowest rate that is planned is 1 in this */
};

/* The rate of a table of this many buckets, a power of two, with this many distinct keys, all of
 * which are in it. */
double bloomery_table_rate(uint64_t buckets, uint64_t keys);

/* As bloomery_plan_solve says, for BLOOMERY_CUCKOO: a table with buckets of 4 or 8 slots that its
 * keys fit in. */
bloomery_status bloomery_table_solve(bloomery_plan *plan, const bloomery_plan_options *options,
                                     bloomery_error *error);

#endif /* BLOOMERY_PLAN_CUCKOO_RATE_H */
