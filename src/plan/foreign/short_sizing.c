/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/foreign/short_sizing.h"

#include <assert.h>
#include <math.h>

static const double ln2_squared = 0.480453013918201;
static const double ln2 = 0.693147180559945;

double bloomery_short_bits_per_key(double rate)
{
    assert(rate > 0 && rate < 1);
    return -(log(rate) / ln2_squared);
}

double bloomery_short_probes(double bits_per_key)
{
    return ceil(ln2 * bits_per_key);
}
