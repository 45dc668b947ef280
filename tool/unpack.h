/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed input, recognised by its first bytes. gzip is unpacked by zlib, which compares every
 * member's checksum and length; libarchive's gzip reader does not. zstd, xz and zip go through
 * libarchive.
 */
#ifndef BLOOMERY_TOOL_UNPACK_H
#define BLOOMERY_TOOL_UNPACK_H

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

struct tool_unpack;

/* Begins to unpack. `descriptor` stays the caller's; its first `count` bytes, already read, are
 * `head`. Bytes read are added to `*bytes_read`. `delimiter`: ends each zip member that does not
 * end in it, so that its last record and the next member's first stay two. Never NULL. */
struct tool_unpack *tool_unpack_open(int descriptor, enum tool_packing packing,
                                     const unsigned char *head, size_t count, uint64_t *bytes_read,
                                     unsigned char delimiter);

/* Up to `room` bytes of the unpacked input; 0 at its end; -1 on failure: see tool_unpack_error. */
ssize_t tool_unpack_read(struct tool_unpack *unpack, unsigned char *buffer, size_t room);

/* Why the last read failed. */
const char *tool_unpack_error(const struct tool_unpack *unpack);

void tool_unpack_close(struct tool_unpack *unpack);

#endif /* BLOOMERY_TOOL_UNPACK_H */
