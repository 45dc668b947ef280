/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/kinds.h"

#include "hash/hashes.h"

#include <assert.h>
#include <string.h>

static const struct bloomery_kind_row rows[] = {
#define ROW(id_, prefix, block_bits_, cell_sizes_, removes_, grows_) \
    {                                                                \
        .id = (id_),                                                 \
        .check = prefix##_check,                                     \
        .operations = prefix##_operations,                           \
        .expected_rate = prefix##_expected_rate,                     \
        .estimate = prefix##_estimate,                               \
        .scan = prefix##_scan,                                       \
        .block_bits = (block_bits_),                                 \
        .cell_sizes = (cell_sizes_),                                 \
        .adds = true,                                                \
        .removes = (removes_),                                       \
        .merges = true,                                              \
        .grows = (grows_),                                           \
        .has_bits = true,                                            \
    },
    BLOOMERY_KINDS(ROW)
#undef ROW
        {
            .id = BLOOMERY_STATIC,
            .check = bloomery_static_check,
            .operations = bloomery_static_operations,
            .expected_rate = bloomery_static_expected_rate,
            .estimate = bloomery_static_estimate,
            .scan = bloomery_static_scan,
            .layer_bytes = bloomery_static_layer_bytes,
            .spare = bloomery_static_spare,
            .cell_sizes = 1 << 1,
            .cascades = true,
        },
};

const struct bloomery_kind_row *bloomery_kind_row(uint32_t kind)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((uint32_t)rows[i].id == kind)
            return &rows[i];
    return NULL;
}

void bloomery_shape_find_rows(struct bloomery_shape *shape,
                              const struct bloomery_foreign_rows *foreign)
{
    const bool ours = !bloomery_is_foreign(shape);
    shape->kind_row = ours              ? bloomery_kind_row(shape->kind)
                      : foreign != NULL ? foreign->kind(shape)
                                        : NULL;
    shape->hash_row = bloomery_hash_find(shape->hash);
    if (shape->hash_row == NULL && foreign != NULL)
        shape->hash_row = foreign->hash(shape->hash);
    assert(shape->kind_row == NULL || (uint32_t)shape->kind_row->id == shape->kind);
    assert(shape->hash_row == NULL || shape->hash_row->id == shape->hash);
}

/* By number, as in files. */
static const char *const names[] = {
    [BLOOMERY_BLOCKED] = "blocked",   [BLOOMERY_CLASSIC] = "classic",
    [BLOOMERY_COUNTING] = "counting", [BLOOMERY_SCALABLE] = "scalable",
    [BLOOMERY_STATIC] = "static",     [BLOOMERY_CUCKOO] = "cuckoo",
};
static const int name_count = sizeof names / sizeof names[0];

const char *bloomery_kind_name(int kind)
{
    return kind >= 0 && kind < name_count ? names[kind] : NULL;
}

bloomery_kind bloomery_kind_find(const char *name)
{
    for (int kind = 0; kind < name_count; kind++)
        if (names[kind] != NULL && strcmp(names[kind], name) == 0)
            return (bloomery_kind)kind;
    return BLOOMERY_KIND_DEFAULT;
}
