/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paragraphs partition a text.
 *
 *     raw        \n  A first line.\n \t\nAnother, \u0022quoted\u0022.\r\nThe last
 *     paragraph  1111111111111111111111111222222222222222222222222222222233333333
 *     content        ^^^^^^^^^^^^^       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^    ^^^^^^^^
 *
 * A line ends with a line feed. A line of white space alone is blank, and belongs to the paragraph
 * before it, or before the first one to that. So a paragraph that is cut out takes the blank lines
 * behind it along, and what stays keeps its own. The content is what two paragraphs are compared
 * by.
 *
 * The text is walked as it stands in the line. Each step is a run of plain bytes or one escape. A
 * line feed is an escape always, since JSON allows no control character in a string.
 */
#include "command/corpus/raw_text.h"

#include <assert.h>
#include <string.h>

/* The bytes of the escape at a backslash. */
static size_t escape_bytes(const unsigned char *at)
{
    return at[1] == 'u' ? 6 : 2;
}

static unsigned digit_of(unsigned char byte)
{
    return byte <= '9' ? byte - 48U : (byte | 0x20U) - 87U; /* '0' is 48, 'a' is 97 */
}

static uint32_t code_of(const unsigned char *at)
{
    uint32_t code = 0;
    for (int i = 2; i < 6; i++)
        code = 16 * code + digit_of(at[i]);
    return code;
}

/* What an escape stands for, if that is below 0x80; 0x80 otherwise. */
static uint32_t escaped_ascii(const unsigned char *at)
{
    switch (at[1]) {
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    case 'f':
        return '\f';
    case 'b':
        return '\b';
    case 'u': {
        const uint32_t code = code_of(at);
        return code < 0x80 ? code : 0x80;
    }
    default:
        return at[1];
    }
}

static bool is_space(uint32_t code)
{
    return code == ' ' || (code >= '\t' && code <= '\r' && code != '\n');
}

/* Behind the blanks from `at` on: at the end, at a line end or at something else. */
static const unsigned char *skip_blanks(const unsigned char *at, const unsigned char *end)
{
    while (at < end) {
        if (*at == '\\') {
            if (!is_space(escaped_ascii(at)))
                break;
            at += escape_bytes(at);
        } else if (*at == ' ') {
            at++;
        } else {
            break;
        }
    }
    return at;
}

static bool is_line_end(const unsigned char *at, const unsigned char *end)
{
    return at < end && *at == '\\' && escaped_ascii(at) == '\n';
}

/* The first line end from the content on, or the end. */
static const unsigned char *find_line_end(struct tool_raw_paragraph *paragraph,
                                          const unsigned char *end)
{
    const unsigned char *at = paragraph->content, *carriage_return = NULL;
    paragraph->content_end = end;
    while ((at = memchr(at, '\\', (size_t)(end - at))) != NULL) {
        const uint32_t code = escaped_ascii(at);
        assert((size_t)(end - at) >= escape_bytes(at)); /* the line was checked */
        if (code == '\n') {
            const bool two =
                carriage_return != NULL && carriage_return + escape_bytes(carriage_return) == at;
            paragraph->ends_line = true;
            paragraph->content_end = two ? carriage_return : at;
            return at;
        }
        paragraph->escaped = true;
        carriage_return = code == '\r' ? at : NULL;
        at += escape_bytes(at);
    }
    return end;
}

bool tool_raw_paragraph_next(struct tool_raw_text *text, struct tool_raw_paragraph *paragraph)
{
    const unsigned char *const end = text->end, *line = text->at, *at;
    *paragraph = (struct tool_raw_paragraph){.begin = text->at};
    while (is_line_end(at = skip_blanks(line, end), end))
        line = at + escape_bytes(at);
    if (at == end)
        return false;
    paragraph->content = line;
    at = find_line_end(paragraph, end);
    while (at < end) { /* blank lines behind it */
        line = at + escape_bytes(at);
        at = skip_blanks(line, end);
        if (at == end) {
            paragraph->ends_line = line == end; /* or blanks are behind the last line end */
            line = end;
        } else if (!is_line_end(at, end)) {
            break;
        }
    }
    text->at = paragraph->ends_line ? line : end;
    return true;
}

uint64_t tool_raw_code_points(const unsigned char *from, const unsigned char *end)
{
    uint64_t count = 0;
    while (from < end) {
        if (*from != '\\') {
            count += (*from++ & 0xc0) != 0x80;
            continue;
        }
        const size_t bytes = escape_bytes(from);
        const bool high = bytes == 6 && (code_of(from) & 0xfc00) == 0xd800;
        from += bytes;
        if (high && end - from >= 6 && from[0] == '\\' && from[1] == 'u' &&
            (code_of(from) & 0xfc00) == 0xdc00)
            from += 6;
        count++;
    }
    return count;
}
