/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of static filters: plan/ribbon.h has the geometry of one layer. */
#ifndef BLOOMERY_PLAN_RIBBON_SOLVE_H
#define BLOOMERY_PLAN_RIBBON_SOLVE_H

#include <bloomery/bloomery.h>

/* As bloomery_plan_solve says, for BLOOMERY_STATIC: reads keys, rate and bytes, fills the fields
 * below them. */
bloomery_status bloomery_ribbon_solve(bloomery_plan *plan, const bloomery_plan_options *options,
                                      bloomery_error *error);

/* The bytes that a filter will have: exact but for how many keys of a layer are bumped. */
uint64_t bloomery_ribbon_expected_bytes(uint64_t keys, double rate);

#endif
