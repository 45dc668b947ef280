/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a file that does not exist is an error whose text gives the system's reason, with any C
 * library. Silent if it is. Build: this file and the library. */
#include <bloomery/bloomery.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    const bloomery_filter *filter = NULL;
    bloomery_error error = {0};
    const bloomery_status status = bloomery_map("/nowhere/at-all", NULL, &filter, &error);
    if (status == BLOOMERY_IO_FAILED && filter == NULL &&
        strcmp(error.text, "/nowhere/at-all: No such file or directory") == 0)
        return 0;
    printf("status %d: %s\n", (int)status, error.text);
    return 1;
}
