/* SPDX-License-Identifier: Apache-2.0 */
/* See sizing.h. */
#include "dialects/sizing.h"
#include "dialects/schemes.h"

#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

/* ---- Java ------------------------------------------------------------------------------------ */

double bloomery_java_bits(uint64_t keys, double rate)
{
    const double ln2 = log(2);
    assert(keys <= (uint64_t)1 << 63 && rate > 0 && rate < 1);
    return trunc(-(double)keys * log(rate) / (ln2 * ln2));
}

double bloomery_java_probes(double bits, uint64_t keys)
{
    assert(keys > 0 && bits >= 0);
    /* Java's Math.round, of numbers that are not negative: floor(value + 0.5), but without a sum
     * that is rounded itself. */
    const double value = bits / (double)keys * log(2);
    const double whole = floor(value);
    return fmax(1, value - whole >= 0.5 ? whole + 1 : whole);
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

bool bloomery_java_remark(const bloomery_filter *filter, char *text, size_t room)
{
    const struct bloomery_layer *layer = &filter->layers[0];
    const uint64_t reach = UINT64_C(1) << 31;
    if (bloomery_remark_rate(filter, text, room))
        return true;
    if (filter->kind != &bloomery_scheme_flipped_double_32 || layer->bits <= reach)
        return false;
    snprintf(
        text, room,
        "its positions have 31 bits: of these %llu bits only the first 2147483648 are ever set, "
        "and the rate is that of a filter with this number of bits",
        (unsigned long long)layer->bits);
    return true;
}

/* ---- Constants cut short --------------------------------------------------------------------- */

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

/* ---- A table of rates ------------------------------------------------------------------------ */

/*
 * Row b has the rates with b bits for a key and 0, 1, 2 .. probes, in units of 1e-7. An entry of
 * three digits like 8.89e-05 is a whole number of them. A quotient of two whole numbers that
 * doubles hold is the double next to it. 0: not in the table.
 */

static const uint32_t table[BLOOMERY_RATE_TABLE_ROWS][BLOOMERY_RATE_TABLE_COLUMNS] = {
    {10000000},
    {10000000, 10000000},
    {10000000, 3930000, 4000000},
    {10000000, 2830000, 2370000, 2530000},
    {10000000, 2210000, 1550000, 1470000, 1600000},
    {10000000, 1810000, 1090000, 920000, 920000, 1010000},
    {10000000, 1540000, 804000, 609000, 561000, 578000, 638000},
    {10000000, 1330000, 618000, 423000, 359000, 347000, 364000},
    {10000000, 1180000, 489000, 306000, 240000, 217000, 216000, 229000},
    {10000000, 1050000, 397000, 228000, 166000, 141000, 133000, 135000, 145000},
    {10000000, 952000, 329000, 174000, 118000, 94300, 84400, 81900, 84600},
    {10000000, 869000, 276000, 136000, 86400, 65000, 55200, 51300, 50900},
    {10000000, 800000, 236000, 108000, 64600, 45900, 37100, 32900, 31400},
    {10000000, 740000, 203000, 87500, 49200, 33200, 25500, 21700, 19900, 19400},
    {10000000, 689000, 177000, 71800, 38100, 24400, 17900, 14600, 12900, 12100, 12000},
    {10000000, 645000, 156000, 59600, 30000, 18300, 12800, 10000, 8520, 7750, 7440},
    {10000000, 606000, 138000, 50000, 23900, 13900, 9350, 7020, 5740, 5050, 4700, 4590},
    {10000000, 571000, 123000, 42300, 19300, 10700, 6920, 4990, 3940, 3350, 3020, 2870, 2840},
    {10000000, 540000, 111000, 36200, 15800, 8390, 5190, 3600, 2750, 2260, 1980, 1830, 1760},
    {10000000, 513000, 99800, 31200, 13000, 6630, 3940, 2640, 1940, 1550, 1320, 1180, 1110, 1090},
    {10000000, 488000, 90600, 27000, 10800, 5300, 3030, 1960, 1400, 1080, 889, 777, 712, 679, 671},
};

uint32_t bloomery_rate_table_parts(uint32_t bits_per_key, uint32_t probes)
{
    assert(bits_per_key < BLOOMERY_RATE_TABLE_ROWS);
    return probes < BLOOMERY_RATE_TABLE_COLUMNS ? table[bits_per_key][probes] : 0;
}

double bloomery_rate_table(uint32_t bits_per_key, uint32_t probes)
{
    return bloomery_rate_table_parts(bits_per_key, probes) / BLOOMERY_RATE_TABLE_UNITS;
}

uint32_t bloomery_rate_table_best(uint32_t bits_per_key)
{
    uint32_t best = 0;
    for (uint32_t probes = 1; bloomery_rate_table_parts(bits_per_key, probes) != 0; probes++)
        if (table[bits_per_key][probes] < table[bits_per_key][best])
            best = probes;
    return best;
}

/* ---- Its numbers ----------------------------------------------------------------------------- */
