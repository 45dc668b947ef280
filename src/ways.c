/* SPDX-License-Identifier: Apache-2.0 */
/* See ways.h. */
#include "ways.h"

#include "core/blocked.h"
#include "hash/xxh3.h"

#include <assert.h>

const struct bloomery_native *const bloomery_short_ways[] = {
    NULL,
    &bloomery_native_scalar,
    &bloomery_static_scalar,
#if defined(__x86_64__)
    &bloomery_native_avx2,
    &bloomery_native_avx512,
    &bloomery_static_avx2,
    &bloomery_static_avx512,
    &bloomery_static_vpopcntdq,
#elif defined(BLOOMERY_ARM_KERNELS)
    &bloomery_native_neon,
    &bloomery_static_neon,
#endif
};

static uint8_t number_of(const struct bloomery_native *native)
{
    const uint8_t count = sizeof bloomery_short_ways / sizeof bloomery_short_ways[0];
    uint8_t number = 1;
    while (number < count && bloomery_short_ways[number] != native)
        number++;
    assert(number < count);
    return number;
}

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
        bloomery_secret_of(filter)->brief = bloomery_short_secret_of(shape->seed);
    if (blocked)
        filter->short_ways = number_of(bloomery_native_best());
    else if (filter->kind->hands_on)
        filter->short_ways = number_of(bloomery_static_best());
    filter->query_key = bloomery_query_key_any;
    filter->add_key = bloomery_add_key_any;
    if (one_by_one || filter->kind->hands_on)
        filter->query_key = bloomery_native_of(filter)->query_key;
    if (one_by_one && filter->storage == BLOOMERY_OWNED)
        filter->add_key = bloomery_native_of(filter)->add_key[filter->concurrent];
    return BLOOMERY_OK;
}
