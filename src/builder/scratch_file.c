/* SPDX-License-Identifier: Apache-2.0 */
/* See scratch_file.h. */
#include "builder/scratch_file.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bloomery_status bloomery_scratch_open(const char *directory, int *file, bloomery_error *error)
{
    char path[PATH_MAX];
    *file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*file >= 0)
        return BLOOMERY_OK;
    /* Not every file system has unnamed files: there it gets a name, and loses it at once. */
    int reason = errno;
    if ((reason == EOPNOTSUPP || reason == EISDIR || reason == EINVAL) &&
        snprintf(path, sizeof path, "%s/.bloomery-XXXXXX", directory) < (int)sizeof path) {
        *file = mkostemp(path, O_CLOEXEC);
        if (*file >= 0) {
            unlink(path);
            return BLOOMERY_OK;
        }
        reason = errno;
    }
    return bloomery_fail_system(error, reason, "making a temporary file in %s", directory);
}
