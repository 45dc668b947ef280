/* SPDX-License-Identifier: Apache-2.0 */
/* What creating a filter and building one have in common. */
#ifndef BLOOMERY_CREATE_H
#define BLOOMERY_CREATE_H

#include "core/filter.h"

/* The hash of the plan (`plain` if it has none), or the one that a secret requires, and its secret.
 */
bloomery_status bloomery_choose_hash(const bloomery_plan *plan, bloomery_hash_id plain,
                                     const bloomery_create_options *options,
                                     struct bloomery_shape *shape, struct bloomery_traits *traits,
                                     bloomery_error *error);

#endif
