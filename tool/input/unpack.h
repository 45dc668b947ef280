/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packed input. Streams are decoded by their formats' own libraries where those are there
 * (decode.h). All others and archives go through libarchive, which is loaded when the first of them
 * comes. Of an archive the members' contents come one after the other.
 */
#ifndef BLOOMERY_TOOL_UNPACK_H
#define BLOOMERY_TOOL_UNPACK_H

#include "input/packing.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- Streams --------------------------------------------------------------------------------- */

/* Bytes of an open descriptor: read(2) that goes on after signals, counts, can be woken, and
 * reports when it waits. */

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

/* ---- Packed input ---------------------------------------------------------------------------- */

#define TOOL_LIBARCHIVE "libarchive.so.13" /* of all versions since 3.0 */

struct tool_unpack;

/* Begins to unpack a stream or an archive. `stream` stays the caller's; its first `count` bytes (at
 * most TOOL_UNPACK_HEAD_MAX), already read, are `head`. `delimiter`: added to each member that does
 * not end in it, so that its last record and the next member's first stay two. Never NULL. */
enum { TOOL_UNPACK_HEAD_MAX = 1 << 20 };

struct tool_unpack *tool_unpack_open(struct tool_stream *stream, enum tool_packing packing,
                                     const unsigned char *head, size_t count,
                                     unsigned char delimiter);

/* The same for an archive that is packed, such as a tar file in gzip. `inner` unpacks its bytes, of
 * which the first `count` are `head`. `inner` is closed with what is returned. */
struct tool_unpack *tool_unpack_archive(struct tool_unpack *inner, enum tool_packing packing,
                                        const unsigned char *head, size_t count,
                                        unsigned char delimiter);

/* How it is packed: what was asked for, or what follows the frames to be skipped. */
enum tool_packing tool_unpack_packing(const struct tool_unpack *unpack);

/* Up to `room` bytes of the unpacked input; 0 at its end; -1 on failure: see tool_unpack_error. */
ssize_t tool_unpack_read(struct tool_unpack *unpack, unsigned char *buffer, size_t room);

/* Why the last read failed. */
const char *tool_unpack_error(const struct tool_unpack *unpack);

void tool_unpack_close(struct tool_unpack *unpack);

/* libarchive's version, in its own words. Static storage. */
const char *tool_unpack_version(void);

#endif /* BLOOMERY_TOOL_UNPACK_H */
