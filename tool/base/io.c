/* SPDX-License-Identifier: Apache-2.0 */
/* See io.h. */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int tool_open_regular(const char *path, const char **why)
{
    struct stat facts;
    /* O_NONBLOCK: a FIFO waits for its writer otherwise. It means nothing for regular files. */
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    const bool opened = file >= 0 && fstat(file, &facts) == 0;
    if (opened && S_ISREG(facts.st_mode))
        return file;
    if (opened)
        *why = S_ISDIR(facts.st_mode) ? "is a directory" : "is not a regular file";
    else
        *why = errno == ENXIO ? "is not a regular file" : strerror(errno); /* ENXIO: a socket */
    if (file >= 0)
        close(file);
    return -1;
}

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
