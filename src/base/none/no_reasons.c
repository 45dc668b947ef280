/* SPDX-License-Identifier: Apache-2.0 */
/* What of base/io.h is needed where there are no files. */
#include "base/io.h"

#include <stdio.h>

const char *bloomery_reason(int error_number, char *room, size_t bytes)
{
    snprintf(room, bytes, "error %d", error_number);
    return room;
}
