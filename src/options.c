/* SPDX-License-Identifier: Apache-2.0 */
/* See options.h. */
#include "options.h"

#include "base/error.h"
#include "format/format.h"

#include <assert.h>
#include <string.h>

/* Larger than any version's struct will be: what is above is no size. */
enum { STRUCT_BYTES_MAX = 4096 };

/* What version 0.1 has of each struct. A later version adds its fields behind these, and reads a
 * struct of this length all the same. */
enum {
    PLAN_BYTES_FIRST = sizeof(bloomery_plan_options),
    CREATE_BYTES_FIRST = sizeof(bloomery_create_options),
    OPEN_BYTES_FIRST = sizeof(bloomery_open_options),
    SOLVED_BYTES_FIRST = sizeof(bloomery_plan),
    COMPARISON_BYTES_FIRST = sizeof(bloomery_comparison),
};

bool bloomery_struct_is_known(const void *given, size_t first_bytes, size_t bytes)
{
    size_t given_bytes;
    memcpy(&given_bytes, given, sizeof given_bytes);
    if (given_bytes < first_bytes || given_bytes > STRUCT_BYTES_MAX)
        return false;
    /* A later caller may have fields that this library does not know; they must be unused. */
    for (size_t i = bytes; i < given_bytes; i++)
        if (((const uint8_t *)given)[i] != 0)
            return false;
    return true;
}

/* Copies a struct that begins with its size, `given`, over a zeroed one of this version. */
static bloomery_status read_struct(const void *given, size_t first_bytes, void *options,
                                   size_t bytes, const char *name, bloomery_error *error)
{
    size_t given_bytes;
    assert(first_bytes >= sizeof given_bytes && first_bytes <= bytes);
    memset(options, 0, bytes);
    if (given != NULL) {
        memcpy(&given_bytes, given, sizeof given_bytes);
        if (given_bytes < first_bytes || given_bytes > STRUCT_BYTES_MAX)
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                                 "the struct does not begin with its size: initialise it with %s",
                                 name);
        if (!bloomery_struct_is_known(given, first_bytes, bytes))
            return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                                 "an option is set that this version of the library does not "
                                 "have");
        memcpy(options, given, given_bytes < bytes ? given_bytes : bytes);
    }
    memcpy(options, &bytes, sizeof bytes);
    return BLOOMERY_OK;
}

static bloomery_status check_allocator(const bloomery_allocator *allocator, bloomery_error *error)
{
    if ((allocator->allocate == NULL) != (allocator->release == NULL))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "an allocator needs both allocate and release");
    return BLOOMERY_OK;
}

/* What a file keeps beside the bits. */
static bloomery_status check_remarks(const bloomery_key_rule *rule, const char *note,
                                     bloomery_error *error)
{
    if (!bloomery_rule_is_sound(rule))
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "no such key rule: of lower, upper and hex it has one at most, a "
                             "delimiter and CSV only with a field, bytes from 0 to 255, and known "
                             "flags (0x%x)",
                             rule->flags);
    if (note != NULL && strlen(note) > BLOOMERY_NOTE_BYTES)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "a note has at most %d bytes",
                             BLOOMERY_NOTE_BYTES);
    return BLOOMERY_OK;
}

bloomery_status bloomery_plan_options_read(const bloomery_plan_options *given,
                                           bloomery_plan_options *options, bloomery_error *error)
{
    return read_struct(given, PLAN_BYTES_FIRST, options, sizeof *options, "BLOOMERY_PLAN_OPTIONS",
                       error);
}

bloomery_status bloomery_create_options_read(const bloomery_create_options *given,
                                             bloomery_create_options *options,
                                             bloomery_error *error)
{
    bloomery_status status = read_struct(given, CREATE_BYTES_FIRST, options, sizeof *options,
                                         "BLOOMERY_CREATE_OPTIONS", error);
    if (status == BLOOMERY_OK)
        status = check_allocator(&options->allocator, error);
    if (status == BLOOMERY_OK)
        status = check_remarks(&options->rule, options->note, error);
    return status;
}

bloomery_status bloomery_open_options_read(const bloomery_open_options *given,
                                           bloomery_open_options *options, bloomery_error *error)
{
    bloomery_status status = read_struct(given, OPEN_BYTES_FIRST, options, sizeof *options,
                                         "BLOOMERY_OPEN_OPTIONS", error);
    if (status == BLOOMERY_OK)
        status = check_allocator(&options->allocator, error);
    if (status == BLOOMERY_OK)
        status = check_remarks(&options->rule, options->note, error);
    if (status == BLOOMERY_OK &&
        (options->flags & ~(uint32_t)(BLOOMERY_OPEN_COPY | BLOOMERY_OPEN_INSPECT)) != 0)
        status = bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0, "unknown flags for opening: 0x%x",
                               options->flags);
    return status;
}

static size_t bytes_of_plan(const bloomery_plan *given)
{
    return given->struct_bytes == 0 ? SOLVED_BYTES_FIRST : given->struct_bytes;
}

bloomery_status bloomery_plan_read(const bloomery_plan *given, bloomery_plan *plan,
                                   bloomery_error *error)
{
    assert(given != plan);
    if (given->struct_bytes != 0)
        return read_struct(given, SOLVED_BYTES_FIRST, plan, sizeof *plan, "BLOOMERY_PLAN", error);
    memset(plan, 0, sizeof *plan);
    memcpy(plan, given, SOLVED_BYTES_FIRST);
    plan->struct_bytes = sizeof *plan;
    return BLOOMERY_OK;
}

void bloomery_plan_give(const bloomery_plan *plan, bloomery_plan *given)
{
    const size_t struct_bytes = given->struct_bytes;
    const size_t bytes = bytes_of_plan(given);
    assert(bytes >= SOLVED_BYTES_FIRST);
    memcpy(given, plan, bytes < sizeof *plan ? bytes : sizeof *plan);
    given->struct_bytes = struct_bytes;
}

bloomery_status bloomery_comparison_check(const bloomery_comparison *comparison,
                                          bloomery_error *error)
{
    if (comparison->struct_bytes < COMPARISON_BYTES_FIRST)
        return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                             "the struct does not begin with its size: initialise it with "
                             "BLOOMERY_COMPARISON");
    return BLOOMERY_OK;
}
