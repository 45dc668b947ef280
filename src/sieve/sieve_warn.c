/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller should know though it is no failure. */
#include "sieve/engine.h"

#include <stdarg.h>
#include <stdio.h>

void bloomery_sieve_warn(bloomery_sieve *sieve, const char *format, ...)
{
    char text[240];
    va_list arguments;
    if (sieve->warning == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sieve->warning(sieve->warning_context, text);
}
