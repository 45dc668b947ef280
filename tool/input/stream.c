/* SPDX-License-Identifier: Apache-2.0 */
#include "input/stream.h"

#include "base/watched.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

static int wait_for_bytes(const struct tool_stream *stream)
{
    struct pollfd both[2] = {{.fd = stream->descriptor, .events = POLLIN},
                             {.fd = stream->wake, .events = POLLIN}};
    int patience = stream->idle != NULL ? stream->idle_milliseconds : -1;
    int ready;
    while ((ready = poll(both, 2, patience)) <= 0) {
        if (ready < 0 && errno != EINTR && errno != EAGAIN)
            return -1;
        if (ready == 0 && stream->idle != NULL) {
            stream->idle(stream->idle_context);
            patience = -1;
        }
    }
    if (both[1].revents != 0) {
        errno = ECANCELED;
        return -1;
    }
    return 0;
}

/* Reads of one call: a writer that is as fast as the reader keeps nobody waiting for longer. */
enum { READS_MAX = 64 };

static bool more_waits(const struct tool_stream *stream)
{
    struct pollfd one = {.fd = stream->descriptor, .events = POLLIN};
    return poll(&one, 1, 0) == 1 && (one.revents & POLLIN) != 0;
}

/* The bytes that already wait behind the first `count`. Its end, or an error, is left to the next
 * call, which meets it again: true of pipes, not of terminals. */
static size_t read_waiting(const struct tool_stream *stream, unsigned char *buffer, size_t count,
                           size_t room)
{
    for (int reads = 1; reads < READS_MAX && count < room && more_waits(stream); reads++) {
        ssize_t more = read(stream->descriptor, buffer + count, room - count);
        if (more <= 0)
            break;
        count += (size_t)more;
    }
    return count;
}

ssize_t tool_stream_read(struct tool_stream *stream, void *buffer, size_t room)
{
    if (stream->may_wait && stream->wake >= 0 && wait_for_bytes(stream) != 0)
        return -1;
    ssize_t count;
    do
        count = read(stream->descriptor, buffer, room);
    while (count < 0 && (errno == EINTR || (errno == EAGAIN && wait_for_bytes(stream) == 0)));
    if (stream->may_wait)
        tool_watched_check();
    if (count > 0 && stream->is_pipe)
        count = (ssize_t)read_waiting(stream, buffer, (size_t)count, room);
    if (count > 0)
        stream->bytes_read += (uint64_t)count;
    return count;
}
