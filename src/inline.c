/* SPDX-License-Identifier: Apache-2.0 */
/* Which filters fit <bloomery/inline.h>. */
#include <bloomery/inline.h>

#include "core/filter.h"

#include "base/error.h"
#include "plan/blocked_rate.h"

#include <string.h>

bloomery_status bloomery_inline_of(const bloomery_filter *filter, bloomery_inline *taken,
                                   bloomery_error *error)
{
    const struct bloomery_shape *shape = &filter->shape;
    const struct bloomery_layer *layer = filter->layers;
    memset(taken, 0, sizeof *taken);
    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "inlined queries need a little-endian host");
    if (filter->foreign || shape->kind != BLOOMERY_BLOCKED)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "inlined queries are for blocked filters of Bloomery's own");
    if (shape->hash != BLOOMERY_HASH_XXH3_64)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "inlined queries are for filters with hash %s, not %s",
                             bloomery_hash_xxh3_64.name, filter->hash->name);
    if (filter->concurrent)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "inlined queries are not for filters to which several threads add");
    *taken = (bloomery_inline){
        .words = (const uint64_t *)(const void *)layer->payload,
        .count = layer->blocks,
        .seed = shape->seed,
        .blocks_per_key = layer->blocks_per_key,
        .probes = layer->probes,
    };
    return BLOOMERY_OK;
}
