/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules.h"

/* The largest number of probes that systems whose k is a byte can have. */
enum { BYTE_PROBES = 255 };

#define FLAT(kind_, rule, operations_, prefix, cells, most_probes)                       \
    {                                                                                    \
        .id = (kind_), .probe_rule = (rule), .check = bloomery_flat_check,               \
        .operations = operations_##_operations, .expected_rate = prefix##_expected_rate, \
        .estimate = prefix##_estimate, .scan = prefix##_scan, .cell_sizes = (cells),     \
        .probes_most = (most_probes),                                                    \
    }

static const struct bloomery_kind_row rows[] = {
    FLAT(BLOOMERY_CLASSIC, BLOOMERY_PROBES_POSITIONS, bloomery_positions, bloomery_classic, 1 << 1,
         BLOOMERY_POSITIONS_MAX),
    FLAT(BLOOMERY_CLASSIC, BLOOMERY_PROBES_MASKED_DOUBLE, bloomery_masked_double, bloomery_classic,
         1 << 1, BYTE_PROBES),
    FLAT(BLOOMERY_CLASSIC, BLOOMERY_PROBES_FLIPPED_DOUBLE_32, bloomery_flipped_double_32,
         bloomery_flipped_double_32, 1 << 1, BLOOMERY_POSITIONS_MAX),
    FLAT(BLOOMERY_CLASSIC, BLOOMERY_PROBES_DOUBLE, bloomery_double, bloomery_classic, 1 << 1,
         BLOOMERY_POSITIONS_MAX),
};

const struct bloomery_kind_row *bloomery_row_of(const struct bloomery_shape *shape)
{
    if (shape->block_rule == BLOOMERY_RULE_NATIVE && shape->probe_rule == BLOOMERY_RULE_NATIVE)
        return bloomery_kind_row(shape->kind);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((uint32_t)rows[i].id == shape->kind && rows[i].block_rule == shape->block_rule &&
            rows[i].probe_rule == shape->probe_rule)
            return &rows[i];
    return NULL;
}
