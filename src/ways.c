/* SPDX-License-Identifier: Apache-2.0 */
/* See ways.h. */
#include "ways.h"

#include "batch/static_batch.h"
#include "core/blocked.h"
#include "hash/xxh3.h"

bloomery_status bloomery_filter_make(const struct bloomery_shape *shape,
                                     const struct bloomery_traits *traits, const uint8_t *payload,
                                     uint64_t payload_bytes, struct bloomery_filter **out,
                                     bloomery_error *error)
{
    const bloomery_status status = bloomery_make(shape, traits, payload, payload_bytes, out, error);
    if (status != BLOOMERY_OK)
        return status;
    struct bloomery_filter *filter = *out;
    const bool blocked = shape->block_bits == BLOOMERY_BLOCK_BITS && shape->cell_bits == 1 &&
                         !filter->foreign && !filter->kind->grows;
    const bool one_by_one = blocked && shape->hash == BLOOMERY_HASH_XXH3_64;
    if (shape->hash == BLOOMERY_HASH_XXH3_64)
        filter->secret.brief = bloomery_short_secret_of(filter->secret.seed);
    filter->native = blocked ? bloomery_native_best() : NULL;
    filter->add_key = bloomery_add_key_any;
    if (filter->kind->hands_on) {
        filter->native = bloomery_static_best();
        filter->query_key = filter->native->query_key;
        return BLOOMERY_OK;
    }
    filter->query_key = one_by_one ? filter->native->query_key : bloomery_query_key_any;
    if (one_by_one && filter->storage == BLOOMERY_OWNED)
        filter->add_key = filter->native->add_key[filter->concurrent];
    return BLOOMERY_OK;
}
