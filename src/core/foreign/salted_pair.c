/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probe i is at H128(lo, salt i) mod m: ClickHouse's skip index. H128 is CityHash's way to make one
 * word of two, and the salts are fifteen constants. Every probe hashes anew. So positions are
 * independent of each other as far as two keys differ in their 64 bits, and the classic rate is the
 * rate.
 */
#include "core/foreign/schemes.h"

#include "core/foreign/steps.h"
#include "hash/foreign/city.h"

#include <assert.h>

/* Random numbers, the same ones in every index there is. */
static const uint64_t salts[BLOOMERY_SALTED_PAIR_PROBES] = {
    UINT64_C(13635471485423070496), UINT64_C(10336109063487487899), UINT64_C(17779957404565211594),
    UINT64_C(8988612159822229247),  UINT64_C(4954614162757618085),  UINT64_C(12980113590177089081),
    UINT64_C(9263883436177860930),  UINT64_C(3656772712723269762),  UINT64_C(10362091744962961274),
    UINT64_C(7582936617938287249),  UINT64_C(15033938188484401405), UINT64_C(18286745649494826751),
    UINT64_C(6852245486148412312),  UINT64_C(8886056245089344681),  UINT64_C(10151472371158292780),
};

static inline struct bloomery_steps salted_pair_begin(const struct bloomery_layer *layer,
                                                      bloomery_hash hash)
{
    (void)layer;
    return (struct bloomery_steps){.at = hash.lo};
}

static inline uint64_t salted_pair_next(const struct bloomery_layer *layer,
                                        struct bloomery_steps *steps, uint32_t i)
{
    assert(i < BLOOMERY_SALTED_PAIR_PROBES);
    return bloomery_city_mix(steps->at, salts[i]) % layer->bits;
}

#define SCHEME salted_pair
#include "core/foreign/scheme_template.h"
