/* SPDX-License-Identifier: Apache-2.0 */
/* See io.h. */
#include "base/io.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Of one call: not every system takes 2^31 bytes at once, and smaller pieces stay interruptible. */
static const size_t piece_max = (size_t)1 << 30;

/* Takes `moved` bytes off the front of the pieces that are still to be written. */
static int advance(struct iovec *pieces, int first, int count, size_t moved)
{
    while (first < count && moved >= pieces[first].iov_len)
        moved -= pieces[first++].iov_len;
    if (first < count) {
        pieces[first].iov_base = (uint8_t *)pieces[first].iov_base + moved;
        pieces[first].iov_len -= moved;
    }
    return first;
}

int bloomery_write_pieces(int file, uint64_t offset, struct iovec *pieces, int count,
                          uint64_t *moved)
{
    assert(file >= 0);
    for (int first = advance(pieces, 0, count, 0); first < count;) {
        const ssize_t now = pwritev(file, pieces + first, count - first, (off_t)offset);
        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0)
            return now < 0 ? errno : EIO;
        *moved += (uint64_t)now;
        offset += (uint64_t)now;
        first = advance(pieces, first, count, (size_t)now);
    }
    return 0;
}

int bloomery_write_at(int file, uint64_t offset, const void *data, size_t bytes)
{
    struct iovec piece;
    uint64_t moved = 0;
    int reason = 0;
    while (bytes > moved && reason == 0) {
        const uint8_t *next = (const uint8_t *)data + moved;
        memcpy(&piece.iov_base, &next, sizeof next); /* it is not written to */
        piece.iov_len = bytes - moved < piece_max ? (size_t)(bytes - moved) : piece_max;
        reason = bloomery_write_pieces(file, offset + moved, &piece, 1, &moved);
    }
    return reason;
}

int bloomery_read_at(int file, uint64_t offset, void *to, size_t bytes, uint64_t *moved)
{
    uint8_t *next = to;
    assert(file >= 0);
    while (bytes > 0) {
        const size_t piece = bytes < piece_max ? bytes : piece_max;
        const ssize_t now = pread(file, next, piece, (off_t)offset);
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

int bloomery_sync(int file)
{
    int result;
    do
#if defined(__APPLE__)
        result = fcntl(file, F_FULLFSYNC) == 0 ? 0 : fsync(file); /* not all file systems have it */
#else
        result = fsync(file);
#endif
    while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

int bloomery_sync_data(int file)
{
    int result;
    do
#if defined(__APPLE__)
        result = fcntl(file, F_FULLFSYNC) == 0 ? 0 : fsync(file);
#else
        result = fdatasync(file);
#endif
    while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

/* strerror_r has two forms. GNU's returns the text, which may lie outside the room. That of POSIX,
 * which musl and the BSDs have, fills the room and returns a number. */
static const char *reason_returned(const char *text, const char *room)
{
    (void)room;
    return text;
}

static const char *reason_in_room(int failed, const char *room)
{
    (void)failed; /* the room then has "Unknown error", or what fitted */
    return room;
}

const char *bloomery_reason(int error_number, char *room, size_t bytes)
{
    assert(bytes > 0);
    room[0] = '\0';
    return _Generic(strerror_r(error_number, room, bytes), int
                    : reason_in_room, default
                    : reason_returned)(strerror_r(error_number, room, bytes), room);
}
