/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the entry points share: reading a caller's options. Each of the three copies what the caller
 * gave (NULL: defaults) into a struct of this version. Fields that the caller's struct does not
 * have are zero. BLOOMERY_BAD_ARGUMENT for a size that no version had, or for a value out of its
 * range. BLOOMERY_UNSUPPORTED if a field is set that this version does not know.
 */
#ifndef BLOOMERY_OPTIONS_H
#define BLOOMERY_OPTIONS_H

#include "core/filter.h"

bloomery_status bloomery_plan_options_read(const bloomery_plan_options *given,
                                           bloomery_plan_options *options, bloomery_error *error);
bloomery_status bloomery_create_options_read(const bloomery_create_options *given,
                                             bloomery_create_options *options,
                                             bloomery_error *error);
bloomery_status bloomery_open_options_read(const bloomery_open_options *given,
                                           bloomery_open_options *options, bloomery_error *error);

/* Copies a caller's plan into one of this version. BLOOMERY_BAD_ARGUMENT and BLOOMERY_UNSUPPORTED
 * are as above, but for a size of 0, which is that of version 0.1. `given` and `plan` are two
 * structs. */
bloomery_status bloomery_plan_read(const bloomery_plan *given, bloomery_plan *plan,
                                   bloomery_error *error);
/* And back: as much of it as the caller's struct has room for. Its size stays what it was. */
void bloomery_plan_give(const bloomery_plan *plan, bloomery_plan *given);

/* Whether a struct to be filled begins with a size that it can have: what was never initialised
 * begins with anything. A plan may also have 0. */
bloomery_status bloomery_plan_check(const bloomery_plan *plan, bloomery_error *error);
bloomery_status bloomery_layer_info_check(const bloomery_layer_info *info);
bloomery_status bloomery_comparison_check(const bloomery_comparison *comparison,
                                          bloomery_error *error);

#endif
