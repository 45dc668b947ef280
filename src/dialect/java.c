/* SPDX-License-Identifier: Apache-2.0 */
/* See java.h. */
#include "dialect/java.h"

#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

double bloomery_java_bits(uint64_t keys, double rate)
{
    const double ln2 = log(2);
    assert(keys <= (uint64_t)1 << 63 && rate > 0 && rate < 1);
    return trunc(-(double)keys * log(rate) / (ln2 * ln2));
}

/* Java's Math.round, of numbers that are not negative: floor(value + 0.5), but without a sum that
 * is rounded itself. */
static double round_half_up(double value)
{
    const double whole = floor(value);
    return value - whole >= 0.5 ? whole + 1 : whole;
}

double bloomery_java_probes(double bits, uint64_t keys)
{
    assert(keys > 0);
    return fmax(1, round_half_up(bits / (double)keys * log(2)));
}

bloomery_status bloomery_java_check(const char *system, double words, double probes, uint32_t most,
                                    bloomery_error *error)
{
    if (words >= 1 && words <= INT32_MAX && probes >= 1 && probes <= most)
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                         "filters of %s have 1 to 137,438,953,408 bits and 1 to %u probes; these "
                         "numbers make another",
                         system, most);
}

bool bloomery_java_remark(const bloomery_filter *filter, uint32_t index, char *text, size_t room)
{
    const struct bloomery_layer *layer = &filter->layers[0];
    const uint64_t reach = UINT64_C(1) << 31;
    if (index > 0)
        return false;
    if (bloomery_remark_rate(filter, 1.1, text, room))
        return true;
    if (filter->shape.probe_scheme != BLOOMERY_PROBES_FLIPPED_DOUBLE_32 || layer->bits <= reach)
        return false;
    snprintf(
        text, room,
        "its positions have 31 bits: of these %llu bits only the first 2147483648 are ever set, "
        "and the rate is that of a filter of so many",
        (unsigned long long)layer->bits);
    return true;
}
