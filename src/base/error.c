/* SPDX-License-Identifier: Apache-2.0 */
/* See error.h. */
#include "base/error.h"

#include "base/io.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bloomery_status bloomery_fail(bloomery_error *error, bloomery_status status, uint64_t offset,
                              const char *format, ...)
{
    if (error != NULL) {
        va_list arguments;
        error->status = status;
        error->offset = offset;
        va_start(arguments, format);
        vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}

bloomery_status bloomery_fail_system(bloomery_error *error, int error_number, const char *format,
                                     ...)
{
    if (error != NULL) {
        va_list arguments;
        char reason[80];
        const char *text = bloomery_reason(error_number, reason, sizeof reason);
        error->status = BLOOMERY_IO_FAILED;
        error->offset = 0;
        va_start(arguments, format);
        int length = vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
        /* The reason stays whole: of a text that is too long the end goes. */
        const size_t most = sizeof error->text - 1 - 2 - strlen(text);
        const size_t kept = length < 0 ? 0 : (size_t)length < most ? (size_t)length : most;
        snprintf(error->text + kept, sizeof error->text - kept, ": %s", text);
    }
    return BLOOMERY_IO_FAILED;
}
