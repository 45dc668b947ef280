/* SPDX-License-Identifier: Apache-2.0 */
/* See options.h. */
#include "options.h"

#include "base/error.h"
#include "base/sized.h"
#include "format/format.h"

#include <string.h>

/* What version 0.1 has of each struct. A later version adds its fields behind these, and reads a
 * struct of this length all the same. */
enum {
    PLAN_BYTES_FIRST = sizeof(bloomery_plan_options),
    CREATE_BYTES_FIRST = sizeof(bloomery_create_options),
    OPEN_BYTES_FIRST = sizeof(bloomery_open_options),
    SOLVED_BYTES_FIRST = sizeof(bloomery_plan),
};

static bloomery_status check_allocator(const bloomery_allocator *allocator, bloomery_error *error)
{
    if ((allocator->allocate == NULL) != (allocator->release == NULL) ||
        (allocator->allocate == NULL && allocator->allocate_zeroed != NULL))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "an allocator needs both allocate and release");
    return BLOOMERY_OK;
}

bloomery_status bloomery_rule_check(const bloomery_key_rule *rule, bloomery_error *error)
{
    if (bloomery_rule_is_sound(rule))
        return BLOOMERY_OK;
    return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                         "no such key rule: of lower, upper, hex, int64 and int32 it has one at "
                         "most, utf16 only without the last three, a delimiter and CSV only with a "
                         "field, no field if the key lies elsewhere, bytes from 0 to 255, and "
                         "known flags (0x%x)",
                         rule->flags);
}

/* What a file keeps beside the bits. */
static bloomery_status check_remarks(const bloomery_key_rule *rule, const char *note,
                                     bloomery_error *error)
{
    const bloomery_status status = bloomery_rule_check(rule, error);
    if (status != BLOOMERY_OK)
        return status;
    if (note != NULL && strlen(note) > BLOOMERY_NOTE_BYTES)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "a note has at most %d bytes",
                             BLOOMERY_NOTE_BYTES);
    return BLOOMERY_OK;
}

bloomery_status bloomery_plan_options_read(const bloomery_plan_options *given,
                                           bloomery_plan_options *options, bloomery_error *error)
{
    bloomery_status status = bloomery_sized_read(given, PLAN_BYTES_FIRST, options, sizeof *options,
                                                 "BLOOMERY_PLAN_OPTIONS", error);
    if (status == BLOOMERY_OK)
        status = bloomery_sized_reserved(&options->reserved, sizeof options->reserved, error);
    return status;
}

bloomery_status bloomery_create_options_read(const bloomery_create_options *given,
                                             bloomery_create_options *options,
                                             bloomery_error *error)
{
    bloomery_status status = bloomery_sized_read(given, CREATE_BYTES_FIRST, options,
                                                 sizeof *options, "BLOOMERY_CREATE_OPTIONS", error);
    if (status == BLOOMERY_OK)
        status = check_allocator(&options->allocator, error);
    if (status == BLOOMERY_OK)
        status = check_remarks(&options->rule, options->note, error);
    if (status == BLOOMERY_OK)
        status = bloomery_sized_reserved(options->reserved, sizeof options->reserved, error);
    return status;
}

bloomery_status bloomery_open_options_read(const bloomery_open_options *given,
                                           bloomery_open_options *options, bloomery_error *error)
{
    bloomery_status status = bloomery_sized_read(given, OPEN_BYTES_FIRST, options, sizeof *options,
                                                 "BLOOMERY_OPEN_OPTIONS", error);
    if (status == BLOOMERY_OK)
        status = check_allocator(&options->allocator, error);
    if (status == BLOOMERY_OK)
        status = check_remarks(&options->rule, options->note, error);
    if (status == BLOOMERY_OK)
        status = bloomery_sized_reserved(options->reserved, sizeof options->reserved, error);
    return status;
}

bloomery_status bloomery_plan_read(const bloomery_plan *given, bloomery_plan *plan,
                                   bloomery_error *error)
{
    bloomery_status status =
        bloomery_sized_read(given, SOLVED_BYTES_FIRST, plan, sizeof *plan, "BLOOMERY_PLAN", error);
    if (status == BLOOMERY_OK)
        status = bloomery_sized_reserved(&plan->reserved, sizeof plan->reserved, error);
    return status;
}

void bloomery_plan_give(const bloomery_plan *plan, bloomery_plan *given)
{
    bloomery_sized_give(plan, sizeof *plan, given, SOLVED_BYTES_FIRST);
}
