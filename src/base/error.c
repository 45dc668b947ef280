/* SPDX-License-Identifier: Apache-2.0 */
/* See error.h. */
#include "base/error.h"

#include "base/io.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The bytes of the UTF-8 character that begins here; 1 if none does. */
static size_t utf8_bytes(const unsigned char *text)
{
    const size_t bytes = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc2 ? 2 : 1;
    for (size_t i = 1; i < bytes; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 1;
    return bytes;
}

/* The paths and names in a sentence come from others, and a terminal obeys control characters: each
 * becomes '?'. Those from 0x80 on are two bytes in UTF-8, or one of another encoding. */
static void make_printable(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at != '\0';) {
        const size_t bytes = utf8_bytes(at);
        const bool control =
            bytes == 1 ? *at < 0x20 || (*at >= 0x7f && *at < 0xa0) : at[0] == 0xc2 && at[1] < 0xa0;
        if (control)
            memset(at, '?', bytes);
        at += bytes;
    }
}

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
        make_printable(error->text);
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
        make_printable(error->text);
    }
    return BLOOMERY_IO_FAILED;
}
