/* SPDX-License-Identifier: Apache-2.0 */
/* What takes the place of schemes.c in a library without other systems' filters
 * (src/dialect/without.c): only our own kinds have rows. */
#ifdef BLOOMERY_NO_DIALECTS

#include "core/foreign/schemes.h"
#include "kinds/kinds.h"

const struct bloomery_kind_row *bloomery_row_of(const struct bloomery_shape *shape)
{
    return bloomery_is_foreign(shape) ? NULL : bloomery_kind_row(shape->kind);
}

#endif
