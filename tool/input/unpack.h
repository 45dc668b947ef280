/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed input, recognised by its first bytes. gzip is unpacked by zlib, which compares every
 * member's checksum and length; libarchive's gzip reader does not. zstd, xz and zip go through
 * libarchive, which is loaded when the first of them comes (load.h).
 */
#ifndef BLOOMERY_TOOL_UNPACK_H
#define BLOOMERY_TOOL_UNPACK_H

#include "input/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum tool_packing {
    TOOL_PLAIN,
    TOOL_GZIP,
    TOOL_ZSTD,
    TOOL_XZ,
    TOOL_ZIP,
    /* What is recognised to be refused: as lines it would make a useless filter, silently. */
    TOOL_BZIP2,
    TOOL_FILTER,
};

/* How a file that begins with these bytes is packed. `undecided` is set where they are too few to
 * tell: they could be the beginning of a packed file's first bytes. */
enum tool_packing tool_packing_of(const unsigned char *bytes, size_t count, bool *undecided);

#define TOOL_LIBARCHIVE "libarchive.so.13" /* of all versions since 3.0 */

struct tool_unpack;

/* Begins to unpack. `stream` stays the caller's; its first `count` bytes (at most
 * TOOL_UNPACK_HEAD_MAX), already read, are `head`. `delimiter`: ends each zip member that does not
 * end in it, so that its last record and the next member's first stay two. Never NULL. */
enum { TOOL_UNPACK_HEAD_MAX = 1 << 20 };

struct tool_unpack *tool_unpack_open(struct tool_stream *stream, enum tool_packing packing,
                                     const unsigned char *head, size_t count,
                                     unsigned char delimiter);

/* Up to `room` bytes of the unpacked input; 0 at its end; -1 on failure: see tool_unpack_error. */
ssize_t tool_unpack_read(struct tool_unpack *unpack, unsigned char *buffer, size_t room);

/* Why the last read failed. */
const char *tool_unpack_error(const struct tool_unpack *unpack);

void tool_unpack_close(struct tool_unpack *unpack);

/* What libarchive says of itself. Static storage. */
const char *tool_unpack_version(void);

#endif /* BLOOMERY_TOOL_UNPACK_H */
