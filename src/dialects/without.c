/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What takes the place of the other systems' filters in a library compiled without them: the single
 * file that scripts/amalgamate makes, with BLOOMERY_NO_DIALECTS. The build of this tree always has
 * them, and nothing of this file.
 */
#ifdef BLOOMERY_NO_DIALECTS

#include "dialects/dialects.h"
#include "kinds/tables.h"

#include "base/error.h"

const struct bloomery_foreign_rows *const bloomery_dialect_rows = NULL;

bloomery_status bloomery_dialect_no_hash(const struct bloomery_hash_row *hash,
                                         bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0, "this build has no hash %s", hash->name);
}

static bloomery_status refuse(bloomery_error *error)
{
    return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                         "this build has no filters of other systems: it was made with "
                         "BLOOMERY_NO_DIALECTS");
}

bloomery_status bloomery_dialect_may_open(const struct bloomery_shape *shape,
                                          const struct bloomery_traits *traits,
                                          bloomery_error *error)
{
    (void)traits;
    if (shape->dialect == 0)
        return BLOOMERY_OK;
    return refuse(error);
}

/* No filter here has tables. */

bloomery_status bloomery_tables_add(struct bloomery_filter *filter, bloomery_hash hash, bool absent,
                                    uint32_t *fresh, bloomery_error *error)
{
    (void)filter;
    (void)hash;
    (void)absent;
    *fresh = 0;
    return refuse(error);
}

bool bloomery_tables_remove(struct bloomery_filter *filter, bloomery_hash hash)
{
    (void)filter;
    (void)hash;
    return false;
}

bloomery_status bloomery_cuckoo_of_plan(const bloomery_plan *plan,
                                        const bloomery_create_options *options,
                                        bloomery_filter **filter, bloomery_error *error)
{
    (void)plan;
    (void)options;
    *filter = NULL;
    return refuse(error);
}

/* The sieve calls these. */

const bloomery_dialect *bloomery_dialect_find(const char *name)
{
    (void)name;
    return NULL;
}

bloomery_status bloomery_dialect_create(const bloomery_dialect *dialect,
                                        const bloomery_dialect_parameters *parameters,
                                        const bloomery_create_options *options,
                                        bloomery_filter **filter, bloomery_error *error)
{
    (void)dialect;
    (void)parameters;
    (void)options;
    *filter = NULL;
    return refuse(error);
}

bloomery_status bloomery_dialect_create_bytes(const bloomery_dialect *dialect,
                                              const bloomery_dialect_parameters *given,
                                              const bloomery_create_options *options,
                                              uint64_t *bytes, bloomery_error *error)
{
    (void)dialect;
    (void)given;
    (void)options;
    *bytes = 0;
    return refuse(error);
}

#endif
