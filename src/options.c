/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include "base/error.h"
#include "format/format.h"

#include <string.h>

/* Version 0.1 had all fields up to and including `note`. */
static const size_t first_bytes = offsetof(bloomery_options, note) + sizeof(const char *);

static bloomery_status check(const bloomery_options *options, bloomery_error *error)
{
    const bloomery_status bad = BLOOMERY_BAD_ARGUMENT;
    const bloomery_allocator *allocator = &options->allocator;
    if ((allocator->allocate == NULL) != (allocator->release == NULL))
        return bloomery_fail(error, bad, 0, "an allocator needs both allocate and release");
    if ((options->open_flags & ~(uint32_t)(BLOOMERY_OPEN_COPY | BLOOMERY_OPEN_INSPECT)) != 0)
        return bloomery_fail(error, bad, 0, "unknown flags for opening: 0x%x", options->open_flags);
    if (!bloomery_rule_is_sound(&options->rule))
        return bloomery_fail(error, bad, 0,
                             "no such key rule: of lower, upper and hex it has one at most, a "
                             "delimiter and CSV only with a field, bytes from 0 to 255, and known "
                             "flags (0x%x)",
                             options->rule.flags);
    if (options->exactly_once && !options->concurrent_adds)
        return bloomery_fail(error, bad, 0,
                             "exactly_once is a promise to threads that add at once: it needs "
                             "concurrent_adds");
    if (options->note != NULL && strlen(options->note) > BLOOMERY_NOTE_BYTES)
        return bloomery_fail(error, bad, 0, "a note has at most %d bytes", BLOOMERY_NOTE_BYTES);
    return BLOOMERY_OK;
}

bloomery_status bloomery_options_read(const bloomery_options *given, bloomery_options *options,
                                      bloomery_error *error)
{
    memset(options, 0, sizeof *options);
    if (given != NULL) {
        size_t bytes = given->struct_bytes;
        /* A later caller may have fields that this library does not know; they must be unused. */
        if (bytes < first_bytes || bytes > 4096)
            return bloomery_fail(error, BLOOMERY_BAD_ARGUMENT, 0,
                                 "options begin with their size: initialise them with "
                                 "BLOOMERY_OPTIONS");
        for (size_t i = sizeof *options; i < bytes; i++)
            if (((const uint8_t *)given)[i] != 0)
                return bloomery_fail(error, BLOOMERY_UNSUPPORTED, 0,
                                     "an option is set that this version of the library does not "
                                     "have");
        memcpy(options, given, bytes < sizeof *options ? bytes : sizeof *options);
    }
    options->struct_bytes = sizeof *options;
    return check(options, error);
}
