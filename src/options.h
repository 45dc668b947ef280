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

/* BLOOMERY_BAD_ARGUMENT, with what a rule may be, if this one contradicts itself. */
bloomery_status bloomery_rule_check(const bloomery_key_rule *rule, bloomery_error *error);

/* Copies a caller's plan into one of this version, likewise. `given` and `plan` are two structs. */
bloomery_status bloomery_plan_read(const bloomery_plan *given, bloomery_plan *plan,
                                   bloomery_error *error);
/* And back: as much of it as the caller's struct has room for. Its size stays what it was. */
void bloomery_plan_give(const bloomery_plan *plan, bloomery_plan *given);

/*
 * Copies a caller's plan from which a filter is to be made, and solves it if that was not done:
 * bits, probes and the like are known then. `kind` stands for BLOOMERY_KIND_DEFAULT. The caller's
 * plan stays as it is. BLOOMERY_BAD_ARGUMENT and BLOOMERY_UNSUPPORTED as bloomery_create says, also
 * if the plan was changed after it was solved.
 */
bloomery_status bloomery_plan_settle(const bloomery_plan *given, bloomery_kind kind,
                                     bloomery_plan *plan, bloomery_error *error);

/* The bytes of the filter's file, and all memory that was allocated for it. */
uint64_t bloomery_file_bytes(const bloomery_filter *filter);
uint64_t bloomery_memory(const bloomery_filter *filter);

#endif
