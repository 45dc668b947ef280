/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The static filter: a bumped ribbon, built once from all its keys. Each key is an equation over
 * 64 neighbouring rows of bits (kinds/static.h), and the builder (src/builder) has solved them
 * all. Keys that did not fit are bumped: their equations are in the next layer, which is 25 times
 * smaller.
 *
 *     rows          | 0 1 2 3 ...                                         | one bit in each column
 *     a key             |<----- 64 rows ----->|     XOR of the rows that c selects = f
 *     thresholds    | 0 | 0 | 2 | 0 | 1 | ...       of each 128 starts: how many are bumped
 *
 * kinds/static.h has the answer for one hash.
 */
#include "kinds/static.h"
#include "base/error.h"
#include "kinds/kinds.h"

#include <math.h>

bloomery_status bloomery_static_check(const struct bloomery_shape *shape,
                                      const struct bloomery_layer *layer, bloomery_error *error)
{
    if (shape->block_bits != 0)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "a static filter has no blocks of %u cells", shape->block_bits);
    if (shape->hash == BLOOMERY_HASH_XXH3_64)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a static filter needs a hash of 128 bits");
    if (layer->bits != bloomery_ribbon_blocks(&layer->ribbon) * BLOOMERY_RIBBON_WIDTH ||
        layer->blocks != 0 || layer->blocks_per_key != 0 ||
        layer->probes != layer->ribbon.columns + 1U)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "a layer of %llu rows and %u columns is not its ribbon's",
                             (unsigned long long)layer->bits, layer->probes);
    return BLOOMERY_OK;
}

bool bloomery_static_layer_bytes(const struct bloomery_layer *layer, uint64_t *bytes)
{
    if (!bloomery_ribbon_is_sound(&layer->ribbon))
        return false;
    *bytes = bloomery_ribbon_bytes(&layer->ribbon);
    return true;
}

/* ---- Answers --------------------------------------------------------------------------------- */

static bool may_contain(const struct bloomery_layer *layer, const uint8_t *payload,
                        bloomery_hash hash)
{
    (void)payload;
    return layer->keys > 0 && bloomery_static_from(layer, 0, hash);
}

static void prefetch(const struct bloomery_layer *layer, const uint8_t *payload,
                     const bloomery_hash *hashes, size_t count)
{
    (void)payload;
    for (size_t i = 0; i < count; i++) {
        const struct bloomery_equation equation =
            bloomery_equation_of(hashes[i], 0, &layer->ribbon);
        bloomery_static_request(layer, &equation);
    }
}

static uint64_t query_word(const struct bloomery_layer *layer, const uint8_t *payload,
                           const bloomery_hash *hashes, size_t count)
{
    uint64_t answers = 0;
    for (size_t i = 0; i < count; i++)
        answers |= (uint64_t)may_contain(layer, payload, hashes[i]) << i;
    return answers;
}

const struct bloomery_operations *bloomery_static_operations(uint32_t cell_bits, bool concurrent)
{
    static const struct bloomery_operations scalar = {
        .name = "scalar",
        .may_contain = may_contain,
        .prefetch_add = prefetch,
        .prefetch_query = prefetch,
        .query_word = query_word,
    };
    (void)cell_bits;
    (void)concurrent;
    return &scalar;
}

/* ---- Facts ----------------------------------------------------------------------------------- */

double bloomery_static_expected_rate(const struct bloomery_layer *layer, uint64_t keys)
{
    return keys > 0 ? bloomery_ribbon_rate(&layer->ribbon) : 0;
}

double bloomery_static_estimate(const struct bloomery_layer *layer, uint64_t bits_set)
{
    (void)bits_set; /* about half, whatever the keys are */
    return (double)layer->keys;
}

/* Every start is as likely as every other one, so the thresholds say how often a query ends here,
 * and among how many columns. No other byte is read. */
void bloomery_static_scan(const struct bloomery_shape *shape, const struct bloomery_layer *layer,
                          const uint8_t *payload, struct bloomery_scan *scan)
{
    const struct bloomery_ribbon *ribbon = &layer->ribbon;
    const uint8_t *thresholds = bloomery_static_thresholds(layer);
    const uint64_t section_blocks = bloomery_ribbon_section_blocks(ribbon);
    const uint64_t per_bucket = BLOOMERY_RIBBON_BUCKET / BLOOMERY_RIBBON_WIDTH;
    uint64_t kept[2] = {0, 0}; /* starts with r columns, and with r + 1 */
    uint64_t bucket = 0;
    (void)shape;
    (void)payload;
    for (uint64_t section = 0; section >> ribbon->section_bits == 0; section++)
        for (uint64_t block = 0; block + 1 < section_blocks; block++) {
            const uint32_t cut = bloomery_static_cut(thresholds, bucket);
            const bool wide = section * section_blocks + block >= ribbon->wide_from;
            /* Of the 64 starts of a block the filter keeps those from `cut` on, counted from the
             * bucket's first. */
            const uint64_t first = (block % per_bucket) * BLOOMERY_RIBBON_WIDTH;
            kept[wide] += cut <= first ? BLOOMERY_RIBBON_WIDTH
                                       : (cut - first < BLOOMERY_RIBBON_WIDTH
                                              ? BLOOMERY_RIBBON_WIDTH - (cut - first)
                                              : 0);
            if (block % per_bucket == per_bucket - 1 || block + 2 == section_blocks)
                bucket++;
        }
    const double all = ldexp(ribbon->starts, ribbon->section_bits);
    scan->bits_set = 0;
    scan->saturated = 0;
    scan->live_rate = ldexp((double)kept[0] + (double)kept[1] / 2, -(int)ribbon->columns) / all;
    scan->cascaded = 1 - (double)(kept[0] + kept[1]) / all;
}

/* What no key touches: the zeros behind each plane and behind the thresholds. */
bool bloomery_static_spare(const struct bloomery_layer *layer, uint64_t *at)
{
    const struct bloomery_ribbon *ribbon = &layer->ribbon;
    const uint64_t metadata = layer->bytes - bloomery_ribbon_metadata_bytes(ribbon);
    const uint64_t buckets = bloomery_ribbon_buckets(ribbon);
    uint64_t end = 0;
    for (uint32_t plane = 0; plane < BLOOMERY_RIBBON_PLANES_MAX; plane++) {
        *at = end + 8 * bloomery_ribbon_word(ribbon, plane, bloomery_ribbon_blocks(ribbon));
        end += bloomery_ribbon_plane_bytes(ribbon, plane);
        for (; *at < end; ++*at)
            if (layer->payload[*at] != 0)
                return false;
    }
    for (*at = metadata + (buckets + 3) / 4; *at < layer->bytes; ++*at)
        if (layer->payload[*at] != 0)
            return false;
    *at = metadata + buckets / 4;
    return buckets % 4 == 0 || layer->payload[*at] >> (2 * (buckets % 4)) == 0;
}
