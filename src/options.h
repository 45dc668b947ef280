/* SPDX-License-Identifier: Apache-2.0 */
/* What the entry points share: reading a caller's options, whatever version of the struct he has.
 */
#ifndef BLOOMERY_OPTIONS_H
#define BLOOMERY_OPTIONS_H

#include "core/filter.h"

/* Copies the caller's options (NULL: defaults) into a struct of this version: fields that he does
 * not have are zero. BLOOMERY_BAD_ARGUMENT for a size that no version had, or for a value out of
 * range. */
bloomery_status bloomery_options_read(const bloomery_options *given, bloomery_options *options,
                                      bloomery_error *error);

#endif
