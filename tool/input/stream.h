/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of an open descriptor: read(2) that goes on after signals, counts, can be woken, and
 * reports when it waits. */
#ifndef BLOOMERY_TOOL_STREAM_H
#define BLOOMERY_TOOL_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tool_stream {
    int descriptor;
    int wake;            /* -1, or a descriptor: when it becomes readable, waiting ends */
    bool may_wait;       /* a pipe or a terminal, which may have nothing to say for hours */
    bool is_pipe;        /* what waits in it is read together */
    uint64_t bytes_read; /* so far, of all descriptors */

    /* Called if nothing came for so long, once for each time of waiting; NULL: nothing is. */
    void (*idle)(void *context);
    void *idle_context;
    int idle_milliseconds;
};

/*
 * Up to `room` bytes; 0 at the end; -1 with errno, ECANCELED if it was woken. It waits for the
 * first byte, and returns once no more input is waiting. So a flowing pipe yields as much at a time
 * as a file does. A line that nothing follows is there at once.
 */
ssize_t tool_stream_read(struct tool_stream *stream, void *buffer, size_t room);

#endif /* BLOOMERY_TOOL_STREAM_H */
