/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that goes to stdout, or to a file instead: one buffer, and no write whose result is
 * not looked at. After a failed write the rest is dropped; producers of much output check
 * tool_out_failed() now and then. A reader that has gone away ends the program quietly by SIGPIPE.
 *
 *     struct tool_out out;
 *     tool_out_start(&out);
 *     tool_out_format(&out, "%s keys\n", tool_format_count(buffer, keys));
 *     return tool_out_finish(&out, TOOL_FOUND);
 */
#ifndef BLOOMERY_TOOL_OUT_H
#define BLOOMERY_TOOL_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TOOL_OUT_BYTES = 65536 };

struct tool_out {
    size_t used;
    int failure;      /* errno of the first write that failed, or 0 */
    uint64_t written; /* bytes that the system took */
    int descriptor;
    /* Takes what is flushed, in place of the descriptor; NULL: that does. Returns 0 or an errno. */
    int (*sink)(void *context, const void *data, size_t bytes);
    void *context;
    const char *said; /* what messages call it */
    unsigned char buffer[TOOL_OUT_BYTES];
};

void tool_out_start(struct tool_out *out);

/* All goes to another file from now on; before anything was written. */
void tool_out_redirect(struct tool_out *out, int descriptor, const char *said);

/* All goes through this function from now on; before anything was written. */
void tool_out_divert(struct tool_out *out,
                     int (*sink)(void *context, const void *data, size_t bytes), void *context);

void tool_out_bytes(struct tool_out *out, const void *data, size_t bytes);
void tool_out_text(struct tool_out *out, const char *text);

/* printf; a line of at most TOOL_OUT_BYTES - 1 bytes. */
void tool_out_format(struct tool_out *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A file's name in a text for people, by tool_printable. */
void tool_out_name(struct tool_out *out, const char *name);

/* Room for `bytes` (at most TOOL_OUT_BYTES) in the buffer, to be filled in place and then taken
 * with tool_out_take: for producers of many small records. */
unsigned char *tool_out_room(struct tool_out *out, size_t bytes);
void tool_out_take(struct tool_out *out, size_t bytes);

/* Writes out what is buffered; true so long as no write has failed. */
bool tool_out_flush(struct tool_out *out);
bool tool_out_failed(const struct tool_out *out);

/* Flushes. If any write failed it prints why and returns TOOL_ERROR, otherwise `code`. */
int tool_out_finish(struct tool_out *out, int code);

#endif /* BLOOMERY_TOOL_OUT_H */
