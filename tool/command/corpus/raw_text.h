/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document's text as it stands in its line of JSON, escapes and all, cut into paragraphs.
 * raw_text.c has the rules. Nothing is written, and every byte that stays is the one that was read.
 */
#ifndef BLOOMERY_TOOL_RAW_TEXT_H
#define BLOOMERY_TOOL_RAW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a text is read; begins with `at` at its first byte. */
struct tool_raw_text {
    const unsigned char *at, *end;
};

/* The bytes between two quotes: [begin, next paragraph's begin). */
struct tool_raw_paragraph {
    const unsigned char *begin;
    const unsigned char *content, *content_end; /* its first line that is not blank, without its
                                                   line end */
    bool escaped;                               /* the content has a backslash */
    bool ends_line;                             /* a line end follows the content */
};

/* The next paragraph; false if no further line has anything but white space. */
bool tool_raw_paragraph_next(struct tool_raw_text *text, struct tool_raw_paragraph *paragraph);

/* How many code points these bytes stand for. Of bytes that are no UTF-8, those count that could
 * begin a character. */
uint64_t tool_raw_code_points(const unsigned char *from, const unsigned char *end);

#endif /* BLOOMERY_TOOL_RAW_TEXT_H */
