/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that lines are appended to holds whole lines at every moment that can be observed from
 * outside. A write that comes short (the disk is full) is cut back to its last whole line. A last
 * line that somebody left without an end gets one before the next is written, or two would become
 * one.
 */
#include "command/dedupe/locked_append.h"

#include "base/system.h"
#include "input/unpack.h"
#include "input/utf16.h"
#include "tool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool complain(const struct tool_appended *file, const char *why)
{
    tool_error("%s: %s", file->path, why);
    return false;
}

/* The descriptor of the file that has this name, locked; or -1 with errno. */
static int open_locked(const char *path, bool *made)
{
    while (true) {
        /* O_NONBLOCK: a FIFO given by mistake must not hang here. */
        const int flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
        int descriptor = open(path, flags | O_CREAT | O_EXCL, 0666);
        *made = descriptor >= 0;
        if (descriptor < 0 && errno == EEXIST)
            descriptor = open(path, flags | O_CREAT, 0666); /* also if a link leads nowhere */
        if (descriptor < 0)
            return -1;
        int locked;
        do
            locked = flock(descriptor, LOCK_EX);
        while (locked != 0 && errno == EINTR);
        struct stat held, named;
        bool same = locked == 0 && fstat(descriptor, &held) == 0 && stat(path, &named) == 0 &&
                    held.st_dev == named.st_dev && held.st_ino == named.st_ino;
        if (same)
            return descriptor;
        const int reason = errno;
        close(descriptor);
        errno = reason;
        if (locked != 0)
            return -1;
    }
}

/* Whether it can be appended to; and whether its last record is ended. */
static bool look_at(struct tool_appended *file)
{
    struct stat facts;
    unsigned char head[512], last;
    bool undecided;
    if (fstat(file->descriptor, &facts) != 0)
        return complain(file, strerror(errno));
    if (!S_ISREG(facts.st_mode))
        return complain(file, "is not a regular file, to which lines can be appended");
    file->bytes = (uint64_t)facts.st_size;
    if (file->bytes == 0)
        return true;
    uint64_t count = 0, one = 0;
    int reason = tool_read_at(file->descriptor, 0, head, sizeof(head), &count);
    if (reason == 0)
        reason = tool_read_at(file->descriptor, file->bytes - 1, &last, 1, &one);
    if (reason != 0 || one != 1)
        return complain(file, strerror(reason != 0 ? reason : EIO));
    enum tool_packing packing = tool_packing_of(head, (size_t)count, &undecided);
    if (packing == TOOL_FILTER)
        return complain(file, "is a filter; --append wants a file of lines, --state a filter");
    if (tool_packing_is_stream(packing))
        return complain(file, "is compressed; lines can be appended to a plain file only");
    if (packing != TOOL_PLAIN)
        return complain(file, "is no text; lines can be appended to a plain file only");
    if (tool_utf16_is_marked(head, (size_t)count))
        return complain(file, "is in UTF-16, and lines are appended in UTF-8");
    file->unended = last != file->delimiter;
    return true;
}

bool tool_appended_open(struct tool_appended *file, const char *path, unsigned char delimiter)
{
    *file = (struct tool_appended){.path = path, .delimiter = delimiter};
    file->descriptor = open_locked(path, &file->made);
    if (file->descriptor < 0)
        return complain(file, strerror(errno));
    return look_at(file);
}

/* The file as it is, after a write of `records` failed when `written` bytes of it were done. */
static bool cut_back(struct tool_appended *file, const unsigned char *records, size_t written,
                     int reason)
{
    const unsigned char *last = memrchr(records, file->delimiter, written);
    size_t whole = last == NULL ? 0 : (size_t)(last - records) + 1;
    const char *more = "";
    struct stat facts;
    /* If others have written too, what is to be cut off is not at its end. */
    if (whole < written &&
        (fstat(file->descriptor, &facts) != 0 || (uint64_t)facts.st_size != file->bytes + written ||
         ftruncate(file->descriptor, (off_t)(file->bytes + whole)) != 0))
        more = "; a line in it may be a part of one";
    file->bytes += whole;
    tool_error("%s: appending: %s%s", file->path, strerror(reason), more);
    return false;
}

static bool write_all(struct tool_appended *file, const unsigned char *records, size_t bytes)
{
    uint64_t written = 0;
    const int reason = tool_write_all(file->descriptor, records, bytes, &written);
    if (reason != 0)
        return cut_back(file, records, (size_t)written, reason);
    file->bytes += bytes;
    return true;
}

bool tool_appended_write(struct tool_appended *file, const void *records, size_t bytes)
{
    assert(file->descriptor >= 0);
    if (bytes == 0)
        return true;
    assert(((const unsigned char *)records)[bytes - 1] == file->delimiter);
    if (file->unended && !write_all(file, &file->delimiter, 1))
        return false;
    file->unended = false;
    return write_all(file, records, bytes);
}

bool tool_appended_close(struct tool_appended *file)
{
    if (file->descriptor < 0)
        return true;
    struct stat facts;
    if (file->made && fstat(file->descriptor, &facts) == 0 && facts.st_size == 0)
        unlink(file->path);
    /* Lines that are remembered as printed must not outlive it. */
    bool synced = file->bytes == 0 || fdatasync(file->descriptor) == 0 || errno == EINVAL ||
                  complain(file, strerror(errno));
    int closed = close(file->descriptor);
    file->descriptor = -1;
    return (closed == 0 || errno == EINTR || complain(file, strerror(errno))) && synced;
}
