/* SPDX-License-Identifier: Apache-2.0 */
/* See scratch.h. */
#include "base/scratch.h"

#include "base/error.h"
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bloomery_status bloomery_scratch_open(const char *directory, int *file, bloomery_error *error)
{
    char path[PATH_MAX];
    int reason = EOPNOTSUPP;
#if defined(O_TMPFILE)
    *file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (*file >= 0)
        return BLOOMERY_OK;
    reason = errno;
#endif
    /* Not every file system has unnamed files: there it gets a name, and loses it at once. */
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

void bloomery_scratch_close(int file)
{
    close(file);
}

static bloomery_status written(int reason, const char *directory, bloomery_error *error)
{
    return reason == 0
               ? BLOOMERY_OK
               : bloomery_fail_system(error, reason, "writing a temporary file in %s", directory);
}

bloomery_status bloomery_scratch_write(int file, uint64_t at, const void *data, size_t bytes,
                                       const char *directory, bloomery_error *error)
{
    return written(bloomery_write_at(file, at, data, bytes), directory, error);
}

bloomery_status bloomery_scratch_resize(int file, uint64_t bytes, const char *directory,
                                        bloomery_error *error)
{
    return written(ftruncate(file, (off_t)bytes) == 0 ? 0 : errno, directory, error);
}

int bloomery_scratch_read(int file, uint64_t at, void *to, size_t bytes)
{
    uint64_t moved = 0;
    const int reason = bloomery_read_at(file, at, to, bytes, &moved);
    return reason == 0 && moved < bytes ? EIO : reason;
}
