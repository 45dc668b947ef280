/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text in UTF-16 as UTF-8, a buffer at a time. Only text that begins with a byte order mark is
 * known to be such; the mark comes out as that of UTF-8.
 */
#ifndef BLOOMERY_TOOL_UTF16_H
#define BLOOMERY_TOOL_UTF16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether text begins with a mark of UTF-16. */
bool tool_utf16_is_marked(const unsigned char *bytes, size_t count);

/* Recognises UTF-16 without a mark, as text of mostly Latin letters: every second byte is NUL. The
 * encoding's name, or NULL. */
const char *tool_utf16_seems(const unsigned char *bytes, size_t count);

/* Up to `room` bytes to be transcoded; 0 at its end, -1 on failure. */
typedef ssize_t tool_utf16_source(void *context, unsigned char *buffer, size_t room);

struct tool_utf16;

/* `head`: the first bytes, mark included, which were read already. Never NULL. */
struct tool_utf16 *tool_utf16_open(tool_utf16_source *read, void *context,
                                   const unsigned char *head, size_t count);

/* Up to `room` bytes of UTF-8; 0 at the end. -1 on failure: the source's, if the sentence in
 * tool_utf16_error is empty. */
ssize_t tool_utf16_read(struct tool_utf16 *text, unsigned char *buffer, size_t room);
const char *tool_utf16_error(const struct tool_utf16 *text);

void tool_utf16_close(struct tool_utf16 *text);

#endif /* BLOOMERY_TOOL_UTF16_H */
