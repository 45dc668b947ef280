/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the entry points share: reading a caller's options. Each of the three copies what the caller
 * gave (NULL: defaults) into a struct of this version. Fields that the caller's struct does not
 * have are zero. BLOOMERY_BAD_ARGUMENT for a size that no version had, or for a value out of its
 * range; BLOOMERY_UNSUPPORTED if a field is set that this version does not know.
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

#endif
