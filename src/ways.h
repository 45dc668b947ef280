/* SPDX-License-Identifier: Apache-2.0 */
/* From a shape to a filter whose keys take the shortest way that there is for them. */
#ifndef BLOOMERY_WAYS_H
#define BLOOMERY_WAYS_H

#include "batch/native.h"
#include "batch/static_batch.h"

/* bloomery_make, and the ways that the filter's keys take. */
bloomery_status bloomery_filter_make(const struct bloomery_shape *shape,
                                     const struct bloomery_traits *traits, const uint8_t *payload,
                                     uint64_t payload_bytes, struct bloomery_filter **out,
                                     bloomery_error *error);

/* Releases what a filter owns besides its own block (create.c). */
void bloomery_release_others(struct bloomery_filter *filter);

/* By the number that a filter has: those for the processors that this build knows. The first is
 * NULL. */
extern const struct bloomery_native *const bloomery_short_ways[];

/* The short ways of a filter's batches; NULL: there are none. */
static inline const struct bloomery_native *bloomery_native_of(const bloomery_filter *filter)
{
    return bloomery_short_ways[filter->short_ways];
}

/* The long way, for any filter (query.c, add.c). */
bloomery_native_query_key bloomery_query_key_any;
bloomery_native_add_key bloomery_add_key_any;

#endif
