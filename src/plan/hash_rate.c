/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/hash_rate.h"

#include <assert.h>

static const double hashes = 0x1p64;
static const double tolerated_part = 0.01; /* of the rate */

double bloomery_hash_rate(bloomery_hash_id hash, uint64_t keys)
{
    const bool narrow = hash == BLOOMERY_HASH_DEFAULT || hash == BLOOMERY_HASH_XXH3_64;
    return narrow ? (double)keys / hashes : 0;
}

double bloomery_rate_with_hash(bloomery_hash_id hash, uint64_t keys, double rate)
{
    const double same = bloomery_hash_rate(hash, keys);
    assert(rate >= 0 && rate <= 1 && same >= 0 && same <= 1);
    return rate + same * (1 - rate);
}

bloomery_hash_id bloomery_hash_for(uint64_t keys, double rate)
{
    const double same = bloomery_hash_rate(BLOOMERY_HASH_XXH3_64, keys);
    assert(same >= 0 && same <= 1);
    return rate > 0 && same > tolerated_part * rate ? BLOOMERY_HASH_XXH3_128
                                                    : BLOOMERY_HASH_XXH3_64;
}
