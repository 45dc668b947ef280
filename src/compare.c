/* SPDX-License-Identifier: Apache-2.0 */
/* What two filters have in common, read off their cells: plan/overlap.h says how exact that is. */
#include "merge.h"

#include "options.h"

#include "base/error.h"
#include "base/sized.h"
#include "plan/overlap.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* What version 0.1 has of the struct. */
enum { COMPARISON_BYTES_FIRST = sizeof(bloomery_comparison) };

/* Cells that are not 0, at the smaller of the two sizes. */
struct counts {
    uint64_t set[2];
    uint64_t either;
    bool equal;
};

static void count_all(const struct bloomery_cells *one, const struct bloomery_cells *other,
                      struct counts *counts)
{
    uint8_t room[2][BLOOMERY_STRETCH];
    const uint32_t cell_bits = one->cell_bits;
    const uint64_t end = bloomery_cells_bytes(one);
    assert(end == bloomery_cells_bytes(other));
    *counts = (struct counts){.equal = true};
    for (uint64_t at = 0; at < end; at += BLOOMERY_STRETCH) {
        const size_t bytes = end - at < BLOOMERY_STRETCH ? (size_t)(end - at) : BLOOMERY_STRETCH;
        const uint8_t *first = bloomery_cells_read(one, at, bytes, room[0]);
        const uint8_t *second = bloomery_cells_read(other, at, bytes, room[1]);
        counts->set[0] += bloomery_cells_count(cell_bits, first, bytes);
        counts->set[1] += bloomery_cells_count(cell_bits, second, bytes);
        counts->either += bloomery_cells_count_either(cell_bits, first, second, bytes);
        counts->equal = counts->equal && memcmp(first, second, bytes) == 0;
    }
}

/* `layer` has the size at which the cells were counted. */
static void estimate(const struct bloomery_kind_row *kind, const struct bloomery_layer *layer,
                     const struct counts *counts, bloomery_comparison *comparison)
{
    const double keys[2] = {kind->estimate(layer, counts->set[0]),
                            kind->estimate(layer, counts->set[1])};
    const double all = kind->estimate(layer, counts->either);
    const bool known = !isinf(all);
    const double common = known ? fmax(0, keys[0] + keys[1] - all) : NAN;
    const struct bloomery_overlap overlap = {
        .bits = layer->bits,
        .blocks = layer->blocks_per_key > 0 ? layer->blocks : 0,
        .blocks_per_key = layer->blocks_per_key,
        .probes = layer->probes,
        .keys = {keys[0], keys[1]},
        .union_keys = all,
        .common_keys = common,
    };
    *comparison = (bloomery_comparison){
        .keys = {keys[0], keys[1]},
        .union_keys = all,
        .common_keys = common,
        .jaccard = all > 0 ? common / all : 0,
        .deviation = bloomery_overlap_deviation(&overlap),
        .jaccard_deviation = bloomery_overlap_jaccard(&overlap),
        .within = {counts->either == counts->set[1], counts->either == counts->set[0]},
        .equal = counts->equal,
    };
}

bloomery_status bloomery_compare(const bloomery_filter *one, const bloomery_filter *other,
                                 bloomery_comparison *comparison, bloomery_error *error)
{
    struct counts counts;
    bloomery_comparison found;
    bloomery_status status = bloomery_compatible(one, other, error);
    if (status != BLOOMERY_OK)
        return status;
    if (one->foreign && !bloomery_is_flat(&one->shape))
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "filters of blocks of another system can't be compared");
    if (!one->kind->has_bits)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "static filters can't be compared: their bits depend on all keys");
    if (one->kind->grows)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "scalable filters can't be compared: the same keys in another order "
                             "lie in other layers");
    const struct bloomery_layer *lesser =
        one->layers->bits <= other->layers->bits ? one->layers : other->layers;
    const struct bloomery_cells first = bloomery_cells_at(one, lesser->bits);
    const struct bloomery_cells second = bloomery_cells_at(other, lesser->bits);
    count_all(&first, &second, &counts);
    estimate(one->kind, lesser, &counts, &found);
    bloomery_sized_give(&found, sizeof found, comparison, COMPARISON_BYTES_FIRST);
    return BLOOMERY_OK;
}
