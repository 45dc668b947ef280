/* SPDX-License-Identifier: Apache-2.0 */
/* The table of dialects, and what is found in it. Nothing below the entry points sees it: core and
 * format are handed the rows that they need. */
#include "dialects/dialects.h"

#include "base/error.h"
#include "base/memory.h"
#include "dialects/schemes.h"

#include <string.h>

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

/* ---- Their hashes and schemes ---------------------------------------------------------------- */

static const struct bloomery_hash_row *find_hash(uint32_t id)
{
    for (size_t i = 0; i < row_count; i++)
        for (size_t j = 0; rows[i]->hashes[j] != NULL; j++)
            if (rows[i]->hashes[j]->id == id)
                return rows[i]->hashes[j];
    return NULL;
}

static const struct bloomery_kind_row *find_scheme(const struct bloomery_shape *shape)
{
    for (size_t i = 0; i < row_count; i++)
        for (size_t j = 0; rows[i]->schemes[j] != NULL; j++) {
            const struct bloomery_kind_row *scheme = rows[i]->schemes[j];
            if ((uint32_t)scheme->id == shape->kind &&
                scheme->block_scheme == shape->block_scheme &&
                scheme->probe_scheme == shape->probe_scheme)
                return scheme;
        }
    return NULL;
}

static const struct bloomery_foreign_rows found = {find_scheme, find_hash};
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
    if (shape->dialect != 0 && traits->concurrent && bloomery_has_layers(shape->kind_row))
        return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                             bloomery_has_tables(shape->kind_row)
                                 ? "a cuckoo filter can't be added to by several threads at once"
                                 : "a chain of another system can't be added to by several "
                                   "threads");
    return BLOOMERY_OK;
}
