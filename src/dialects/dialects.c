/* SPDX-License-Identifier: Apache-2.0 */
/* See dialects.h. */
#include "dialects/dialects.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/memory.h"
#include "dialects/schemes.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- Schemes --------------------------------------------------------------------------------- */

/* The largest number of probes that systems whose k is a byte can have. */
enum { BYTE_PROBES = 255, SIGNED_BYTE_PROBES = 127 };

#define FLAT(kind_, scheme, operations_, prefix, cells, max_probes)                      \
    {                                                                                    \
        .id = (kind_), .probe_scheme = (scheme), .check = bloomery_flat_check,           \
        .operations = operations_##_operations, .expected_rate = prefix##_expected_rate, \
        .estimate = prefix##_estimate, .scan = prefix##_scan, .cell_sizes = (cells),     \
        .probes_max = (max_probes), .adds = true, .merges = true, .has_bits = true,      \
    }

/* A walk, whose keys are counted as those of a classic filter. */
#define WALK(scheme, operations_, prefix)                                                     \
    {                                                                                         \
        .id = BLOOMERY_CLASSIC, .probe_scheme = (scheme), .check = bloomery_flat_check,       \
        .operations = operations_##_operations, .expected_rate = prefix##_expected_rate,      \
        .estimate = bloomery_classic_estimate, .scan = prefix##_scan, .cell_sizes = 1 << 1,   \
        .probes_max = BLOOMERY_POSITIONS_MAX, .adds = true, .merges = true, .has_bits = true, \
    }

#define SLICES(kind_, grows_)                                                                  \
    {                                                                                          \
        .id = (kind_), .probe_scheme = BLOOMERY_PROBES_SLICES, .check = bloomery_slices_check, \
        .operations = bloomery_positions_operations,                                           \
        .expected_rate = bloomery_slices_expected_rate, .estimate = bloomery_slices_estimate,  \
        .scan = bloomery_slices_scan, .next_layer = bloomery_slices_next_layer,                \
        .cell_sizes = 1 << 1, .probes_max = BLOOMERY_POSITIONS_MAX, .takes_positions = true,   \
        .adds = true, .merges = !(grows_), .grows = (grows_), .has_bits = true,                \
    }

/* A key has one block. */
#define BLOCKS(scheme, block_scheme_, prefix, estimate_, max_probes)                             \
    {                                                                                            \
        .id = BLOOMERY_BLOCKED, .block_scheme = (block_scheme_), .probe_scheme = (scheme),       \
        .check = prefix##_check, .operations = prefix##_operations,                              \
        .expected_rate = prefix##_expected_rate, .estimate = (estimate_), .scan = prefix##_scan, \
        .cell_sizes = 1 << 1, .probes_max = (max_probes), .adds = true, .merges = true,          \
        .has_bits = true,                                                                        \
    }

static const struct bloomery_kind_row schemes[] = {
    {
        .id = BLOOMERY_CLASSIC,
        .probe_scheme = BLOOMERY_PROBES_POSITIONS,
        .takes_positions = true,
        .check = bloomery_flat_check,
        .operations = bloomery_positions_operations,
        .expected_rate = bloomery_classic_expected_rate,
        .estimate = bloomery_classic_estimate,
        .scan = bloomery_classic_scan,
        .cell_sizes = 1 << 1,
        .probes_max = BLOOMERY_POSITIONS_MAX,
        .adds = true,
        .merges = true,
        .has_bits = true,
    },
    {
        .id = BLOOMERY_COUNTING,
        .probe_scheme = BLOOMERY_PROBES_POSITIONS,
        .takes_positions = true,
        .repeat_scheme = BLOOMERY_REPEATS_COUNT,
        .check = bloomery_flat_check,
        .operations = bloomery_counted_positions_operations,
        .expected_rate = bloomery_classic_expected_rate,
        .estimate = bloomery_classic_estimate,
        .scan = bloomery_counted_positions_scan,
        .cell_sizes = 1 << 4 | 1 << 8,
        .probes_max = BLOOMERY_POSITIONS_MAX,
        .adds = true,
        .removes = true,
        .merges = true,
        .has_bits = true,
    },
    SLICES(BLOOMERY_CLASSIC, false),
    SLICES(BLOOMERY_SCALABLE, true),
    FLAT(BLOOMERY_CLASSIC, BLOOMERY_PROBES_MASKED_DOUBLE, bloomery_masked_double, bloomery_double,
         1 << 1, BYTE_PROBES),
    FLAT(BLOOMERY_CLASSIC, BLOOMERY_PROBES_FLIPPED_DOUBLE_32, bloomery_flipped_double_32,
         bloomery_flipped_double_32, 1 << 1, BLOOMERY_POSITIONS_MAX),
    FLAT(BLOOMERY_CLASSIC, BLOOMERY_PROBES_DOUBLE, bloomery_double, bloomery_double, 1 << 1,
         BLOOMERY_POSITIONS_MAX),
    {
        .id = BLOOMERY_SCALABLE,
        .probe_scheme = BLOOMERY_PROBES_DOUBLE,
        .check = bloomery_flat_check,
        .operations = bloomery_double_operations,
        .expected_rate = bloomery_double_expected_rate,
        .estimate = bloomery_double_estimate,
        .scan = bloomery_double_scan,
        .next_layer = bloomery_tightened_next_layer,
        .cell_sizes = 1 << 1,
        .probes_max = BLOOMERY_POSITIONS_MAX,
        .adds = true,
        .grows = true,
        .has_bits = true,
    },
    {
        .id = BLOOMERY_CLASSIC,
        .probe_scheme = BLOOMERY_PROBES_DOUBLE_32,
        .check = bloomery_double_32_check,
        .operations = bloomery_double_32_operations,
        .expected_rate = bloomery_double_32_expected_rate,
        .estimate = bloomery_double_32_estimate,
        .scan = bloomery_double_32_scan,
        .cell_sizes = 1 << 1,
        .probes_max = BLOOMERY_POSITIONS_MAX,
        .adds = true,
        .merges = true,
        .has_bits = true,
    },
    FLAT(BLOOMERY_CLASSIC, BLOOMERY_PROBES_DOUBLE_HALVES, bloomery_double_halves,
         bloomery_double_halves, 1 << 1, BLOOMERY_POSITIONS_MAX),
    FLAT(BLOOMERY_CLASSIC, BLOOMERY_PROBES_MODULAR_CHAIN, bloomery_modular_chain,
         bloomery_modular_chain, 1 << 1, BLOOMERY_POSITIONS_MAX),
    FLAT(BLOOMERY_CLASSIC, BLOOMERY_PROBES_QUADRATIC, bloomery_quadratic, bloomery_quadratic,
         1 << 1, BLOOMERY_POSITIONS_MAX),
    FLAT(BLOOMERY_CLASSIC, BLOOMERY_PROBES_SALTED_PAIR, bloomery_salted_pair, bloomery_classic,
         1 << 1, BLOOMERY_SALTED_PAIR_PROBES),
    WALK(BLOOMERY_PROBES_FLIPPED_SUM_64, bloomery_flipped_sum_64, bloomery_flipped_sum_64),
    WALK(BLOOMERY_PROBES_FLIPPED_SUM_64_KEPT, bloomery_flipped_sum_64_kept,
         bloomery_flipped_sum_64),
    WALK(BLOOMERY_PROBES_ABSOLUTE_DOUBLE, bloomery_absolute_double, bloomery_absolute_double),
    FLAT(BLOOMERY_CLASSIC, BLOOMERY_PROBES_ROTATED_STEP, bloomery_rotated_step,
         bloomery_rotated_step, 1 << 1, SIGNED_BYTE_PROBES),
    BLOCKS(BLOOMERY_PROBES_SALTED_WORDS, BLOOMERY_BLOCKS_HIGH_HALF, bloomery_salted_words,
           bloomery_salted_words_estimate, 0),
    BLOCKS(BLOOMERY_PROBES_ROTATED_BLOCK, BLOOMERY_BLOCKS_MODULO, bloomery_rotated_block,
           bloomery_rotated_block_estimate, SIGNED_BYTE_PROBES),
    BLOCKS(BLOOMERY_PROBES_GOLDEN_BLOCK, BLOOMERY_BLOCKS_LOW_HALF, bloomery_golden_block,
           bloomery_golden_block_estimate, 0),
};

const struct bloomery_kind_row *bloomery_scheme_row(const struct bloomery_shape *shape)
{
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++)
        if ((uint32_t)schemes[i].id == shape->kind &&
            schemes[i].block_scheme == shape->block_scheme &&
            schemes[i].probe_scheme == shape->probe_scheme)
            return &schemes[i];
    return NULL;
}

/* ---- The table ------------------------------------------------------------------------------- */

static const struct bloomery_dialect_row *const rows[] = {
#define ROW(row) &row,
    BLOOMERY_DIALECT_ROWS(ROW)
#undef ROW
};

static const size_t row_count = sizeof rows / sizeof rows[0];

/* ---- The table ------------------------------------------------------------------------------- */

const struct bloomery_dialect_row *bloomery_dialect_row(uint32_t id)
{
    for (size_t i = 0; i < row_count; i++)
        if (rows[i]->facts.id == id)
            return rows[i];
    return NULL;
}

const bloomery_dialect *bloomery_dialect_get(uint32_t id)
{
    const struct bloomery_dialect_row *row = bloomery_dialect_row(id);
    return row != NULL ? &row->facts : NULL;
}

const bloomery_dialect *bloomery_dialect_find(const char *name)
{
    for (size_t i = 0; i < row_count; i++)
        if (strcmp(rows[i]->facts.name, name) == 0)
            return &rows[i]->facts;
    return NULL;
}

const bloomery_dialect *bloomery_dialect_sniff(const void *data, size_t bytes)
{
    for (size_t i = 0; i < row_count; i++)
        if (rows[i]->sniff != NULL && rows[i]->sniff(data, bytes))
            return &rows[i]->facts;
    return NULL;
}

static const struct bloomery_hash_row *find_hash(uint32_t id)
{
    switch (id) { /* two rows of one id do not compile */
#define ROW(id_, variable, name) \
    case id_:                    \
        return &bloomery_hash_##variable;
        BLOOMERY_HASH_LIST(ROW)
#undef ROW
    default:
        return NULL;
    }
}

static const struct bloomery_foreign_rows found = {bloomery_scheme_row, find_hash};
const struct bloomery_foreign_rows *const bloomery_dialect_rows = &found;

bloomery_status bloomery_dialect_no_hash(const struct bloomery_hash_row *hash,
                                         bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                         hash->available
                             ? "hash %s needs libcrypto (package libssl3), which is not there"
                             : "this build has no hash %s: it was made without libcrypto",
                         hash->name);
}

bloomery_status bloomery_dialect_may_open(const struct bloomery_shape *shape,
                                          const struct bloomery_traits *traits,
                                          bloomery_error *error)
{
    if (shape->dialect != 0 && bloomery_dialect_row(shape->dialect) == NULL)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "dialect %u is not known to this version", shape->dialect);
    if (shape->dialect != 0 && traits->concurrent && shape->kind_row->grows)
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             "a chain of another system can't be added to by several threads");
    return BLOOMERY_OK;
}
