/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed streams, decoded step by step by the library of their format. What a step has decoded
 * is there at once: a line of a slow pipe is answered when it has come, while libarchive fills a
 * block of 64 KiB or more first. These libraries also know what libarchive does not say: whether
 * data is damaged or needs more memory than there is. zlib is linked; libbz2, liblz4, liblzma and
 * libzstd are loaded if the build found their headers.
 */
#ifndef BLOOMERY_TOOL_DECODE_H
#define BLOOMERY_TOOL_DECODE_H

#include "input/packing.h"

#include <stdbool.h>
#include <stddef.h>

struct tool_decode;

enum tool_decoded {
    TOOL_DECODED_SOME, /* or nothing, if more input is needed */
    TOOL_DECODED_END,  /* the stream is complete, its checksums are right */
    TOOL_DECODE_FAILED,
};

/* The input and the room for output of a step, which moves both on. */
struct tool_decode_bytes {
    const unsigned char *in;
    size_t in_bytes;
    unsigned char *out;
    size_t out_room;
};

/* NULL if nothing decodes this format here: it is libarchive's. */
struct tool_decode *tool_decode_open(enum tool_packing packing);

/* Begins a stream: each of those in a file. False if it failed. */
bool tool_decode_begin(struct tool_decode *decode);

enum tool_decoded tool_decode_step(struct tool_decode *decode, struct tool_decode_bytes *bytes);

/* Whether another stream may begin with this byte. */
bool tool_decode_begins(const struct tool_decode *decode, unsigned char byte);

/* Why it failed. */
const char *tool_decode_error(const struct tool_decode *decode);

void tool_decode_close(struct tool_decode *decode);

#endif /* BLOOMERY_TOOL_DECODE_H */
