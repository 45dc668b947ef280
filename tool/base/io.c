/* SPDX-License-Identifier: Apache-2.0 */
/* See io.h. */
#include "base/io.h"

#include <errno.h>
#include <unistd.h>

int tool_write_all(int file, const void *data, size_t bytes, uint64_t *moved)
{
    const char *next = data;
    while (bytes > 0) {
        const ssize_t now = write(file, next, bytes);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return now < 0 ? errno : EIO;
        *moved += (uint64_t)now;
        next += now;
        bytes -= (size_t)now;
    }
    return 0;
}

int tool_write_at(int file, uint64_t offset, const void *data, size_t bytes)
{
    const char *next = data;
    while (bytes > 0) {
        const ssize_t now = pwrite(file, next, bytes, (off_t)offset);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return now < 0 ? errno : EIO;
        offset += (uint64_t)now;
        next += now;
        bytes -= (size_t)now;
    }
    return 0;
}

int tool_read_at(int file, uint64_t offset, void *to, size_t bytes, uint64_t *moved)
{
    char *next = to;
    while (bytes > 0) {
        const ssize_t now = pread(file, next, bytes, (off_t)offset);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return now < 0 ? errno : 0;
        *moved += (uint64_t)now;
        offset += (uint64_t)now;
        next += now;
        bytes -= (size_t)now;
    }
    return 0;
}
