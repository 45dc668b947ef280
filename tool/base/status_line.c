/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status_line.h"

#include <stdbool.h>
#include <stdio.h>

static bool line_stands;

void tool_status_line_begin(void)
{
    line_stands = true;
}

void tool_status_line_wipe(void)
{
    if (line_stands)
        fputs("\r\x1b[K", stderr);
    line_stands = false;
}
